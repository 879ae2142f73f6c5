#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recipe 10 through a proxy that answers one kind of its requests with 403, 401, 429, 500, or never: the first of the kind
alone, or each. The run ends as the fault deserves: in time, with a documented exit code, with a sentence that names what was
refused; what only adds to the work ends nothing; and when the server is well again, --resume goes on to the end.

usage: faults.py [--sample] [KIND...]      all faults of these kinds ("list pods"), or of all; --sample: the twenty of SAMPLE

The requests are the recipe's: its cells are taken from its file, with a trainer that trains nothing. The cluster is a sandbox
that outlives the runs. Ends with TAP: a case for each kind.
"""
import base64
import collections
import concurrent.futures
import json
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from faulty import HANG, Faulty  # noqa: E402
from layers import know_worker  # noqa: E402
from tap import FIRESTEEL, PATIENCE, SOURCE, sh  # noqa: E402

FAULTS = (403, 401, 429, 500, HANG)
AT_ONCE = 3
CELL = int(20 * min(PATIENCE, 3))  # seconds that a cell may take; a request that hangs takes all of them
EXIT_CODES = (0, 1, 2, 3, 4)
TRAINER = """\
local hvd = require "hvd"
hvd.run(function() hvd.init() return hvd.rank() end)
print "Model prediction for index 100: 6"
"""
# What only notes, measures or explains: the run is as good without it.
SIDE = {"get namespaces", "create selfsubjectaccessreviews", "get serviceaccounts", "list nodes", "list events", "watch pods"}
SAMPLE = [("list pods", 403, False), ("list pods", HANG, True), ("list events", 500, False), ("list events", HANG, False),
          ("get namespaces", 403, False), ("get namespaces", 401, True), ("get namespaces", HANG, True),
          ("watch sparkapplications", 403, False), ("watch sparkapplications", 429, True), ("watch pods", 401, False),
          ("create sparkapplications", 403, False), ("create sparkapplications", 500, True), ("create sparkapplications", 429, True),
          ("delete sparkapplications", 500, False), ("get pods/log", 403, False), ("get pods/log", 500, True),
          ("get sparkapplications", 401, False), ("list nodes", HANG, False), ("create selfsubjectaccessreviews", 500, False),
          ("get /apis", 429, True)]


def notebook():
    """Recipe 10 without what takes long and asks no server."""
    with open(os.path.join(SOURCE, "recipes", "10-mnist.lua"), encoding="utf-8") as f:
        cells = re.split(r"^(?=-- %%)", f.read(), flags=re.M)
    kept = []
    for cell in cells:
        if 'file="trainer.lua"' in cell:
            cell = cell.split("\n", 1)[0] + "\n" + TRAINER + "\n"
        cell = re.sub(r'timeout="\d+m"', f'timeout="{CELL}s"', cell).replace(', "data/mnist"', "")
        cell = re.sub(r'"\d+m"\)', f'"{CELL}s")', cell)
        if not cell.startswith(("-- %% Local mode", "-- %% [markdown]")):
            kept.append(cell)
    assert len(kept) > 9, "recipe 10 has other cells than it had"
    return "".join(kept)


class Cluster:
    """A sandbox, what is run on it, and the line that tells its result."""
    notebook, result = staticmethod(notebook), "Model prediction for index 100: 6"
    options = ("-p", "epochs=1", "-p", "executors=1")

    def __init__(self, folder):
        self.env = dict(os.environ, HOME=folder, TMPDIR=folder, FIRESTEEL_RUNTIME_DIR=os.path.join(folder, "run"))
        know_worker(f"{folder}/.local/share")
        for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "KUBECONFIG"):
            self.env.pop(name, None)
        up = sh(FIRESTEEL, "sandbox", "up", env=self.env)
        assert up.code == 0, up
        self.kubeconfig = re.search(r"KUBECONFIG='?([^'\s]+)", up.out).group(1)
        self.log_in(folder)

    def log_in(self, folder):
        """The registry is the sandbox's own; the proxy is before the API server alone."""
        with open(self.kubeconfig, encoding="utf-8") as f:
            text = f.read()
        self.host = host = re.search(r"https://([\d.]+:\d+)", text)[1]
        self.token = token = re.search(r'"?token"?: "?([^"\s,}]+)', text)[1]
        os.makedirs(f"{folder}/.docker", exist_ok=True)
        with open(f"{folder}/.docker/config.json", "w", encoding="utf-8") as f:
            json.dump({"auths": {host: {"auth": base64.b64encode(f"token:{token}".encode()).decode()}}}, f)

    def left_of(self, run):
        """The applications that this run has made and that are there."""
        path = "apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications?labelSelector=firesteel/run%3D" + run
        request = urllib.request.Request(f"https://{self.host}/{path}", headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=60) as answer:
            return [item["metadata"]["name"] for item in json.load(answer)["items"]]

    def down(self):
        sh(FIRESTEEL, "sandbox", "down", env=self.env)


class Case:
    """One kind, one fault; `once`: of the first request alone."""

    def __init__(self, cluster, kind, fault, once):
        self.cluster, self.kind, self.fault, self.once = cluster, kind, fault, once
        self.folder = tempfile.mkdtemp(prefix="firesteel-faults-")
        self.proxy = Faulty(cluster.kubeconfig, self.folder)
        self.env = dict(cluster.env, KUBECONFIG=self.proxy.kubeconfig)
        self.notebook = os.path.join(self.folder, "recipe.lua")
        self.problems = []
        with open(self.notebook, "w", encoding="utf-8") as f:
            f.write(cluster.notebook())

    def run(self, *options):
        return sh(FIRESTEEL, "run", self.notebook, "--allow", "cluster,destructive", "--timeout", f"{CELL}s",
                  *self.cluster.options, *options, cwd=self.folder, env=self.env, timeout=10 * CELL)

    def check(self, holds, why, done):
        if not holds:
            self.problems.append(f"{self.kind}, {'the first' if self.once else 'all'} {self.fault}: {why}\n{done}")

    def says_why(self, done):
        """Is it said what was refused, or that nothing came?"""
        text = done.out + done.err
        if self.fault == HANG:
            return re.search(r"time-out|took longer|no answer|does not answer|within", text)
        return f"the proxy answers {self.fault} to {self.kind}" in text or re.search(r"refused|log in again|not allowed|may not", text)

    def go(self):
        try:
            self.try_it()
        except subprocess.TimeoutExpired as e:
            self.problems.append(f"{self.kind}, {self.fault}: it does not end: {e}")
        finally:
            self.proxy.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        return self

    def try_it(self):
        if self.kind:
            self.proxy.plan(self.kind, self.fault, self.once)
        done = self.run()
        met = self.proxy.faults
        self.proxy.calm()
        self.check(done.code in EXIT_CODES, f"exit {done.code} is none that is documented", done)
        self.check("ended before" not in done.err, "the kernel ended", done)
        self.check(not self.kind or met, "no such request was made", done)
        run = re.search(r"\(run ([\w.-]+)\)", done.out)
        left = self.cluster.left_of(run[1]) if run else []
        self.check(not left or "left over" in done.out + done.err, f"{left} is there, and nobody says so", done)
        if done.code == 0:
            self.check(self.cluster.result in done.out, "exit 0 without the result", done)
            return
        self.check(self.kind not in SIDE, "what only adds to the work has ended it", done)
        self.check(self.says_why(done), "the reason is not said", done)
        again = self.run("--resume", "newest")
        self.check(again.code == 0, "the resumed run does not come to its end", again)


def plan(kinds):
    return [(kind, fault, once) for kind in sorted(kinds) for fault in FAULTS for once in (True, False)]


def main():
    chosen = [a for a in sys.argv[1:] if not a.startswith("--")]
    folder = tempfile.mkdtemp(prefix="firesteel-faults-home-")
    cluster = Cluster(folder)
    problems, counts = collections.defaultdict(list), collections.Counter()
    total = 0
    try:
        well = Case(cluster, None, None, False).go()
        assert not well.problems, well.problems
        kinds = set(well.proxy.kinds)
        cases = SAMPLE if "--sample" in sys.argv else plan(chosen or kinds)
        print(f"# {len(cases)} faults of {len({case[0] for case in cases})} kinds of requests; the recipe makes {dict(well.proxy.kinds)}", flush=True)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for going in concurrent.futures.as_completed([pool.submit(Case(cluster, *case).go) for case in cases]):
                done = going.result()
                counts[done.kind] += 1
                total += 1
                if total % 50 == 0:
                    print(f"# {total} faults", flush=True)
                problems[done.kind] += done.problems
                for problem in done.problems:
                    print("# " + problem.replace("\n", "\n# "), flush=True)
    finally:
        cluster.down()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{len(counts)}")
    for number, kind in enumerate(sorted(counts), 1):
        print(f"{'not ok' if problems[kind] else 'ok'} {number} - {kind}: {counts[kind]} faults")
    sys.exit(1 if any(problems.values()) else 0)


if __name__ == "__main__":
    main()
