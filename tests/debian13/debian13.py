#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sources in a root of Debian 13, which mmdebstrap makes in the cache: with gcc 14, curl 8.14 and oneDNN 3.

    debian13.py           builds all, runs the suites unit and replay
    debian13.py --quick   builds the programs; recipe 10 in a sandbox, two ranks, convolutions by oneDNN and by own kernels

What is there is used again: the root, its ccache, its build folder. Needs root, and a mirror of Debian the first time.
"""
import fcntl
import hashlib
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("FIRESTEEL_SOURCE", os.getcwd())
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
ROOT = os.path.join(CACHE, "debian13")
MIRROR = os.environ.get("FIRESTEEL_DEBIAN", "http://deb.debian.org/debian")
ENVIRONMENT = {"HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", "CCACHE_DIR": "/ccache",
               "CCACHE_MAXSIZE": "500M", "FIRESTEEL_CACHE": "/cache", "FIRESTEEL_DATA": "/src/recipes/data", "FIRESTEEL_PATIENCE": os.environ.get("FIRESTEEL_PATIENCE", "2")}


def inside(*command, network=False, **environment):
    """Runs a command in the root. bubblewrap changes the root as containers do, so users can make namespaces there; /proc has
    nothing mounted over it, so they can mount another one for a pod."""
    argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
            "bwrap", "--cap-add", "ALL", "--bind", ROOT, "/", "--ro-bind", SOURCE, "/src", "--dev", "/dev", "--bind", "/proc", "/proc", "--ro-bind", "/sys", "/sys",
            "--tmpfs", "/run", "--tmpfs", "/dev/shm", "--unshare-ipc", "--die-with-parent", "--chdir", "/src", "--clearenv"]
    if network:
        argv += ["--ro-bind", os.path.realpath("/etc/resolv.conf"), "/etc/resolv.conf"]
    else:
        argv += ["--unshare-net"]
    for name, value in {**ENVIRONMENT, **environment}.items():
        argv += ["--setenv", name, value]
    return subprocess.run([*argv, *command], stdin=subprocess.DEVNULL, text=True, check=False,
                          stdout=None if network else subprocess.PIPE, stderr=None if network else subprocess.STDOUT)


def must(what, done, *wanted):
    out = done.stdout or ""
    missing = [w for w in wanted if not re.search(w, out)]
    if done.returncode or missing:
        print(out[-6000:])
        sys.exit(f"Debian 13: {what}: exit code {done.returncode}" + (f", and nothing like {missing[0]!r}" if missing else ""))
    print(f"Debian 13: {what}")
    return out


def make_root(kinds):
    """The root, with what .ci/packages has for these kinds, by the same .ci/install that ./demo calls."""
    if not os.path.exists(os.path.join(ROOT, "etc", "os-release")):
        subprocess.run(["rm", "-rf", ROOT], check=True)
        subprocess.run(["mmdebstrap", "--variant=apt", "--quiet", "--dpkgopt=force-unsafe-io", "--include=ca-certificates", "trixie", ROOT + ".new", MIRROR], check=True)
        os.rename(ROOT + ".new", ROOT)
    for name in ("src", "build", "ccache", "cache", "work"):
        os.makedirs(os.path.join(ROOT, name), exist_ok=True)
    digest = hashlib.sha256(" ".join(kinds).encode())
    for name in ("packages", "install"):
        with open(os.path.join(SOURCE, ".ci", name), "rb") as f:
            digest.update(f.read())
    mark = os.path.join(ROOT, "cache", "installed-" + "-".join(kinds))
    if os.path.exists(mark) and open(mark, encoding="ascii").read() == digest.hexdigest():
        return
    must("packages", inside(".ci/install", *kinds, network=True))
    must("ccache", inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", "ccache", network=True))
    inside("apt-get", "clean", network=True)
    with open(mark, "w", encoding="ascii") as f:
        f.write(digest.hexdigest())


def build(folder, *options):
    if not os.path.exists(f"{ROOT}{folder}/build.ninja"):
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
    with open(ROOT + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if "--quick" in sys.argv[1:]:
            make_root(["build", "run"])
            quick()
        else:
            make_root(["build", "run", "test"])
            all_tests()


if __name__ == "__main__":
    main()
