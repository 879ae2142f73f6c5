#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""JobSet, Kubeflow Trainer, KubeRay and Kueue on a real cluster: waits, trees, logs, tables and k8s.why of their
objects; jobs of hvd.run and torch.run by them, and entrypoints of Ray.

usage: engines.py [WORD...]     the cases whose names contain a word

Builds the engines from their Go modules (some ten minutes, once), installs Ray (PyPI), and starts a cluster that has them.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SUITE = os.path.join(HERE, "..", "cluster", "suite.py")
SUPPORT = os.path.join(HERE, "..", "support")
sys.path.append(SUPPORT)
from tap import CACHE  # noqa: E402


def run(*words, **env):
    """The cases on a cluster of their own, with all four beside Spark's operator and MPI's; its exit code."""
    ours = {"FIRESTEEL_CLUSTER_FILES": "situations queued trainers rays", "FIRESTEEL_CLUSTER_UP": "--without spark,mpi,argo,metrics --with engines",
            "FIRESTEEL_REQUIRE": "cluster"}
    return subprocess.run([sys.executable, SUITE, *words], check=False, env={**os.environ, **ours, **env}).returncode


def main():
    if sys.argv[1:2] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if not sys.argv[1:] or any("ray" in word for word in sys.argv[1:]):
        subprocess.run([os.path.join(SUPPORT, "rayenv"), str(CACHE)], check=False, stdout=sys.stderr)
    return run(*sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
