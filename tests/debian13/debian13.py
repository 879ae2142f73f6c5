#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sources in a root of Debian 13, which mmdebstrap makes in the cache: with gcc 14, curl 8.14 and oneDNN 3.

    debian13.py           builds all, runs the suites unit and replay
    debian13.py --quick   builds the programs; recipe 10 in a sandbox, two ranks, convolutions by oneDNN and by own kernels
"""
import fcntl
import os
import re
import sys

sys.path.insert(0, os.path.join(os.environ.get("FIRESTEEL_SOURCE", os.getcwd()), "tests", "support"))
from distroot import CACHE, Root  # noqa: E402

ROOT = Root("Debian 13", "debian13", "trixie")
inside, must = ROOT.inside, ROOT.must


def build(folder, *options):
    if not os.path.exists(f"{ROOT.path}{folder}/build.ninja"):
        must("meson setup", inside("meson", "setup", folder, "-Dwerror=true", *options, CC="ccache gcc"), r"oneDNN \(dnnl\) *: .*YES")
    must("build", inside("ninja", "-C", folder, "--quiet"))


def quick():
    build("/build/quick", "-Dtests=false")
    programs = "/build/quick/cli/"
    must("recipe 10", inside(programs + "firesteel", "run", "recipes/10-mnist.lua", "--cwd", "/work", "--sandbox", "--allow", "cluster,destructive",
                             "-p", "epochs=1"), r"ok: 12 cells ok")
    losses = []
    for use in ("1", "0"):
        out = must("two ranks with convolutions " + ("by oneDNN" if use == "1" else "by own kernels"),
                   inside(programs + "firesteel-worker", "tests/debian13/convolutions.lua", FIRESTEEL_DNN=use, ONEDNN_VERBOSE="1"), "2 ranks",
                   *(["oneDNN v3", "exec,cpu,convolution,"] if use == "1" else []))
        losses.append([float(x) for x in re.search(r"losses (.*)$", out, re.M).group(1).split()])
    far = max(abs(a - b) / abs(a) for a, b in zip(*losses))
    assert len(losses[0]) == 3 and far < 1e-5, losses
    print(f"Debian 13: both within {far:.1g}")


def all_tests():
    build("/build/tests")
    done = inside("meson", "test", "-C", "/build/tests", "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "6", "--suite", "unit", "--suite", "replay")
    must("unit and replay", done)
    print(done.stdout[-600:])


def main():
    if os.geteuid() != 0:
        sys.exit("./check debian13 makes a root of Debian 13, which only root can")
    os.makedirs(CACHE, exist_ok=True)
    with open(ROOT.path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if "--quick" in sys.argv[1:]:
            ROOT.make("build", "run")
            quick()
        else:
            ROOT.make("build", "run", "test")
            all_tests()


if __name__ == "__main__":
    main()
