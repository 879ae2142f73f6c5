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
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import cluster
import tap

FILES = os.environ.get("FIRESTEEL_CLUSTER_FILES",
                       "api pods notebooks verbs exec describe registries operators why lifecycle namespace submit pipeline ranks recipe11 recipe42 argo refit model engines").split()


def cases():
    return {f"test_{file}_{name[5:]}": case for file in FILES
            for name, case in vars(importlib.import_module(f"case_{file}")).items() if name.startswith("test_")}


def why_not():
    operators = list(cluster.OPERATORS)
    unbuilt = cluster.unbuilt(operators)
    if not (cluster.CACHE / "images" / "spark").exists():
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
                          env={**os.environ, "FIRESTEEL_CLUSTER": str(folder), "FIRESTEEL_CLUSTER_ENTERED": "1"}).returncode


def main():
    if os.environ.get("FIRESTEEL_CLUSTER_ENTERED"):
        tap.run(cases())
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
        started = subprocess.run([sys.executable, cluster.__file__, "up", str(folder), "--owner", str(os.getpid())],
                                 stdout=sys.stderr)
        if started.returncode:
            print("1..1\nnot ok 1 - the cluster comes up")
        code = started.returncode or in_its_network(folder)
        if code:
            keep_logs(folder)
        cluster.down(folder)
        return code
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
