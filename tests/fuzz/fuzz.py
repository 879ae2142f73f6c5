#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the fuzz targets, as many beside one another as there are cores, with the libraries instrumented.

usage: fuzz.py [TIME [TARGET...]]      TIME for all of them together: 20m (the default), 90s, 1h

What they learn is kept in $FIRESTEEL_CACHE/fuzz/TARGET, so that the next run goes on from there. Ends with a table, and
for each crash with the command that repeats it; exit 1 if there was one.
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build-fuzz"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
CORES = len(os.sched_getaffinity(0))
LEAST = 5  # seconds for each target
REPORT = re.compile(r"^(?:==\d+==\s*)?(?:ERROR: |SUMMARY: |.*runtime error: ).*", re.M)


class Target:
    def __init__(self, name):
        self.name = name
        self.program = os.path.join(BUILD, "tests", "fuzz", "fuzz-" + name)
        self.corpus = os.path.join(HERE, "corpus", name)
        self.learned = os.path.join(CACHE, "fuzz", name)
        self.executions = self.edges = self.new = self.code = 0
        self.said = self.crash = ""

    def run(self, seconds, found):
        os.makedirs(self.learned, exist_ok=True)
        before = len(os.listdir(self.learned))
        artefacts = os.path.join(found, self.name + "-")
        argv = [self.program, f"-max_total_time={seconds}", f"-artifact_prefix={artefacts}", "-print_final_stats=1",
                "-timeout=20", "-rss_limit_mb=3000", "-reload=0", self.learned, self.corpus]
        log = os.path.join(found, self.name + ".log")
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with open(log, "wb") as out, tempfile.TemporaryDirectory(prefix="firesteel-fuzz-", dir=memory) as own:
            # the parsers' files are in a folder of this run
            self.code = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=own,
                                       env=dict(os.environ, TMPDIR=own, HOME=own)).returncode
        self.read(log)
        self.new = len(os.listdir(self.learned)) - before
        crashes = glob.glob(glob.escape(artefacts) + "*")
        if self.code:
            self.crash = " ".join([self.program] + (crashes or [f"  # {log}"]))
        return self

    def read(self, log):
        with open(log, encoding="utf-8", errors="replace") as f:
            text = f.read()
        done = re.findall(r"stat::number_of_executed_units:\s*(\d+)", text) or re.findall(r"^#(\d+)\t", text, re.M)
        edges = re.findall(r" cov: (\d+)", text)
        self.executions, self.edges = int(done[-1]) if done else 0, int(edges[-1]) if edges else 0
        self.said = "\n".join(line.strip() for line in REPORT.findall(text)[:3])


def seconds_of(text):
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if not match:
        sys.exit(f"fuzz: '{text}' is no time: 90s, 20m, 1h")
    return int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def targets(names):
    there = sorted(t.removeprefix(os.path.join(HERE, "corpus") + "/") for t in glob.glob(os.path.join(HERE, "corpus", "*")))
    for name in names:
        if name not in there:
            sys.exit(f"fuzz: no target '{name}'; there are: {' '.join(there)}")
    return [Target(name) for name in names or there]


def main():
    total = seconds_of(sys.argv[1] if len(sys.argv) > 1 else "20m")
    chosen = targets(sys.argv[2:])
    each = max(LEAST, total * min(CORES, len(chosen)) // len(chosen))
    found = tempfile.mkdtemp(prefix="firesteel-fuzz-found-")
    print(f"{len(chosen)} targets, {each} s each, {CORES} at once; what crashes and what was said is in {found}", flush=True)
    began = time.monotonic()
    row = "{:12} {:>12} {:>8} {:>8}  {}"
    print(row.format("target", "executions", "edges", "new", ""))
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for done in pool.map(lambda t: t.run(each, found), chosen):
            print(row.format(done.name, done.executions, done.edges, done.new, "CRASH" if done.code else ""), flush=True)
    crashed = [t for t in chosen if t.code]
    for target in crashed:
        print(f"\n{target.name}: exit {target.code}\n{target.said}\n  {target.crash}")
    print(f"\n{sum(t.executions for t in chosen)} executions in {time.monotonic() - began:.0f} s; "
          f"{len(chosen) - len(crashed)} passed, {len(crashed)} failed")
    sys.exit(1 if crashed else 0)


main()
