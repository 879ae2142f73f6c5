#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recipe 11 with the stack that it is written for: TensorFlow, Keras, Horovod and PySpark, on a real cluster.

usage: tensorflow.py

Installs the stack into the cache of the tests (3 GB, and Horovod is compiled: some ten minutes, once), starts a cluster
and runs the recipe there: program, local mode, image, Spark operator, curves. Says what is missing where that cannot be.
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))


def missing():
    """What the stack needs of the machine."""
    version = "{}.{}".format(*sys.version_info[:2])
    if version not in ("3.8", "3.9", "3.10", "3.11"):
        return f"Python 3.11 (TensorFlow 2.12 has no packages for {version})"
    programs = [name for name in ("g++", "make", "java") if not shutil.which(name)]
    return ", ".join(programs) or None


def main():
    if len(sys.argv) > 1:
        print(__doc__.strip())
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    lacks = missing()
    if lacks:
        print(f"the suite tensorflow needs {lacks}")
        return 1
    if subprocess.run([os.path.join(HERE, "install"), CACHE], check=False).returncode:
        print("the suite tensorflow needs TensorFlow, Horovod and PySpark, and they could not be installed (above)")
        return 1
    return subprocess.run([sys.executable, os.path.join(HERE, "..", "cluster", "suite.py")], check=False,
                          env={**os.environ, "FIRESTEEL_CLUSTER_FILES": "tensorflow", "FIRESTEEL_REQUIRE": "cluster"}).returncode


if __name__ == "__main__":
    sys.exit(main())
