#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The builds that people make, none of which may give a warning: other optimizations, link-time optimization, no optional part.

usage: builds.py [NAME...]        (all; NAME is one of those below)

Each is a build without tests, in a folder of its own that goes when it is done; then the program says its version and what it is made of.
"""
import os
import subprocess
import sys
import tempfile

SOURCE = os.environ["FIRESTEEL_SOURCE"]
OFF = [f"-D{name}=disabled" for name in ("dnnl", "mpi", "images", "mimalloc", "jupyter")]
BUILDS = {
    "O0": ("gcc", ["-Doptimization=0"]),
    "release": ("gcc", ["-Dbuildtype=release"]),
    "lto": ("gcc", ["-Db_lto=true"]),
    "minimal": ("gcc", OFF),
    "clang-release": ("clang", ["-Dbuildtype=release"]),
}


def build(name, folder):
    compiler, options = BUILDS[name]
    env = dict(os.environ, CC=f"ccache {compiler}")
    for argv in (["meson", "setup", folder, SOURCE, "-Dwerror=true", "-Dtests=false", *options], ["ninja", "-k", "0", "-C", folder]):
        done = subprocess.run(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode:
            told = [line for line in done.stdout.splitlines() if "warning:" in line or "error:" in line.lower()]
            return "\n".join(told[:20]) or done.stdout[-2000:]
    for words in (["--version"], ["doctor", "-o", "json"]):
        done = subprocess.run([os.path.join(folder, "cli", "firesteel"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode not in (0, 1) or not done.stdout:
            return f"firesteel {' '.join(words)}: exit {done.returncode}\n{done.stdout}"
    return None


def main():
    names = sys.argv[1:] or list(BUILDS)
    unknown = [name for name in names if name not in BUILDS]
    if unknown:
        sys.exit(f"no build {unknown[0]}; there are: {' '.join(BUILDS)}")
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="firesteel-builds-") as folder:
            wrong = build(name, folder)
        print(f"{'not ' if wrong else ''}ok {name}" + ("".join(f"\n    {line}" for line in wrong.splitlines()) if wrong else ""), flush=True)
        failed += bool(wrong)
    print(f"{len(names) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
