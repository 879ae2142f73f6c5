#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tests against a real cluster: starts one for all of them, and runs the cases of the files beside this in its network.

    suite.py [WORD…]          all cases, or those whose names contain a word

FIRESTEEL_CLUSTER=DIR takes the cluster that cluster.py has brought up there, and leaves it up. FIRESTEEL_REQUIRE=cluster
makes a failure of what is skipped else: a machine without root, Go's programs or Debian's. FIRESTEEL_CLUSTER_FILES names
other files than those of ./check.
"""
import importlib
import os
import pathlib
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cluster
import tap

# Several that run Spark are not begun together, and what takes long is not left for the end.
FILES = os.environ.get("FIRESTEEL_CLUSTER_FILES",
                       "refit rossmann argo pods desk daily ranks torch api notebooks engines verbs pipeline exec submit model describe trials recipe42 operators lifecycle "
                       "registries why rights faults recipe11 namespace cost").split()
AT_ONCE = 3  # files: most of their time is waiting
COMES_UP = "the_cluster_comes_up"  # when that has failed, it is to be run again with all cases


def cases(file):
    return {f"test_{file}_{name[5:]}": case for name, case in vars(importlib.import_module(f"case_{file}")).items()
            if name.startswith("test_")}


def is_wanted(name):
    words, named = sys.argv[1:], os.environ.get("FIRESTEEL_CASES", "").split()
    return (not words or any(word in name for word in words)) and (not named or name[5:] in named)


class Lanes:
    """Runs files side by side, each as a program of its own, and tells their cases as one program would."""
    def __init__(self):
        self.files = queue.SimpleQueue()
        self.lock, self.number, self.failed = threading.Lock(), 0, 0

    def line(self, file, text):
        case = re.match(r"(not )?ok \d+ - (.*)", text)
        if case:
            self.number += 1
            self.failed += bool(case[1])
            name = case[2].replace("nothing_left_running", f"{file}_nothing_left_running")
            text = f"{case[1] or ''}ok {self.number} - {name}\n"
        if case or text.startswith("#"):
            print(text, end="", flush=True)
        return bool(case and case[1])

    def run(self, file):
        child = subprocess.Popen([sys.executable, __file__, *sys.argv[1:]], stdout=subprocess.PIPE, text=True, errors="replace",
                                 env={**os.environ, "FIRESTEEL_CLUSTER_ENTERED": file})
        failed = 0
        for text in child.stdout:
            with self.lock:
                failed += self.line(file, text)
        if child.wait() not in (0, 1) or child.returncode and not failed:
            with self.lock:
                self.line(file, f"not ok 0 - {file} came to its end, with {child.returncode}\n")

    def lane(self):
        while True:
            try:
                file = self.files.get_nowait()
            except queue.Empty:
                return
            try:
                self.run(file)
            except Exception as problem:  # pylint: disable=broad-exception-caught
                with self.lock:
                    self.line(file, f"not ok 0 - {file} was run: {problem!r}\n")

    def all(self):
        for file in FILES:
            if any(map(is_wanted, cases(file))):
                self.files.put(file)
        lanes = [threading.Thread(target=self.lane) for _ in range(AT_ONCE)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        print(f"1..{self.number}", flush=True)
        return 1 if self.failed or not self.number else 0


# What cluster.py is told of operators: "--without spark --with engines".
UP = os.environ.get("FIRESTEEL_CLUSTER_UP", "").split()


def why_not():
    operators = [name for name in cluster.OPERATORS if name not in cluster.OPTIONAL and not UP]
    unbuilt = cluster.unbuilt(operators)
    if operators and not (cluster.CACHE / "images" / "spark").exists():
        unbuilt.append("the image with Spark")
    return cluster.needs(operators) or (
        f"tests/support/tool-cluster has not built {', '.join(unbuilt)}" if unbuilt else None)


def keep_logs(folder):
    kept = pathlib.Path(tap.BUILD, "meson-logs", "cluster")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for log in folder.glob("*.log"):
        shutil.copy(log, kept)
    print(f"# the cluster's logs are in {kept}", flush=True)


def in_its_network(folder):
    return subprocess.run([sys.executable, cluster.__file__, "enter", str(folder), sys.executable, __file__, *sys.argv[1:]],
                          env={**os.environ, "FIRESTEEL_CLUSTER": str(folder), "FIRESTEEL_CLUSTER_ENTERED": "all"}).returncode


def main():
    if COMES_UP in os.environ.get("FIRESTEEL_CASES", "").split():
        del os.environ["FIRESTEEL_CASES"]
    entered = os.environ.get("FIRESTEEL_CLUSTER_ENTERED")
    if entered == "all":
        return Lanes().all()
    if entered:
        tap.run(cases(entered))
    if os.environ.get("FIRESTEEL_CLUSTER"):
        return in_its_network(pathlib.Path(os.environ["FIRESTEEL_CLUSTER"]).resolve())
    reason = why_not()
    if reason and "cluster" in os.environ.get("FIRESTEEL_REQUIRE", "").split(","):
        print(f"1..1\nnot ok 1 - the cluster is required, but {reason}")
        return 1
    if reason:
        print(f"1..0 # SKIP {reason}")
        return 0
    folder = pathlib.Path(tempfile.mkdtemp(prefix="firesteel-cluster-"))
    try:
        # its output is not ours, which is TAP
        started = subprocess.run([sys.executable, cluster.__file__, "up", str(folder), "--owner", str(os.getpid()), *UP],
                                 stdout=sys.stderr)
        if started.returncode:
            print(f"1..1\nnot ok 1 - {COMES_UP}")
        code = started.returncode or in_its_network(folder)
        if code:
            keep_logs(folder)
        cluster.down(folder)
        return code
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
