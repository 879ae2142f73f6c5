#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recipe 42 in its full form on a real cluster: ResNet-50 under Spark standalone and on Kubernetes, one and two executors,
three repeats, then beside other work; prints what the original study found beside what it got here.

usage: studies.py [NAME=VALUE...]    parameters of the recipe: repeats=5 images=256

It wants a machine that does nothing else, and takes some twenty minutes where there are two cores.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    given = dict(word.partition("=")[::2] for word in sys.argv[1:])
    if any("=" not in word for word in sys.argv[1:]):
        print(__doc__.strip())
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    return subprocess.run([sys.executable, os.path.join(HERE, "..", "cluster", "suite.py")], check=False, env={
        **os.environ, "FIRESTEEL_CLUSTER_FILES": "studies", "FIRESTEEL_REQUIRE": "cluster", "FIRESTEEL_STUDIES": json.dumps(given),
        "FIRESTEEL_PATIENCE": os.environ.get("FIRESTEEL_PATIENCE", "3")}).returncode


if __name__ == "__main__":
    sys.exit(main())
