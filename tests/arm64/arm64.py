#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel for arm64 on a machine with another processor: cross-compiled against a root of this machine's release of Debian for arm64, and run in it
by qemu: the suite unit, a notebook, two ranks, recipe 10, and a bundle in a root that holds nothing but a static busybox.

qemu runs a program's instructions; its system calls are this machine's. So nothing here tells how fast anything is, and what qemu does
not emulate (EMULATED) is not tried. Needs root, and a mirror of Debian the first time.
"""
import fcntl
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys

SOURCE = os.environ.get("FIRESTEEL_SOURCE", os.getcwd())
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import bare  # noqa: E402
from distroot import CACHE, Root  # noqa: E402

BINFMT = "/proc/sys/fs/binfmt_misc"
FORMAT = "qemu-aarch64"
BUILD = os.path.join(CACHE, "arm64-build")
ROOT = Root("arm64", "arm64", platform.freedesktop_os_release()["VERSION_CODENAME"], "arm64", (SOURCE, BUILD), FIRESTEEL_PATIENCE="8",
            FIRESTEEL_SOURCE=SOURCE, FIRESTEEL_BUILD=BUILD)
WRAPPER = ["qemu-aarch64-static", "-L", ROOT.path]
CROSS = """\
[binaries]
c = ['ccache', 'aarch64-linux-gnu-gcc']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
pkg-config = 'pkg-config'
exe_wrapper = {wrapper}
[properties]
sys_root = '{root}'
pkg_config_libdir = ['{root}/usr/lib/aarch64-linux-gnu/pkgconfig', '{root}/usr/share/pkgconfig']
[built-in options]
c_args = ['--sysroot={root}']
c_link_args = ['--sysroot={root}']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
"""
# What qemu, or this root, does not do, by test and case; "*": all of them.
EMULATED = {
    "base": ["without_memory_a_program_ends_with_the_limit_in_its_words"],  # qemu needs address space of its own
    "files": ["a_device_is_written_into"],  # devices of the root
    "lock": ["many_at_once_are_one_after_another"],  # locks that belong to an open file
    "loop-before-4.19": "*", "processes-before-4.19": "*", "inside-without-openat2": "*",  # filters of system calls
}


# What a system has that no package of ours names.
SYSTEM = ["base-files", "bash", "busybox-static", "coreutils", "dash", "findutils", "git", "grep", "libc-bin", "libvterm-dev", "ncurses-base", "openssl", "procps", "python3", "sed", "tar",
          "util-linux", "zstd"]


def packages():
    """What the build needs of libraries, and what programs run with."""
    named = subprocess.check_output([f"{SOURCE}/.ci/install", "--all-names", "build", "run"], text=True).split()
    return [name.rstrip("?") for name in named if name.startswith("lib") or "-dev" in name or name in ("bubblewrap", "ca-certificates")] + SYSTEM


def finish_root():
    """What the packages' scripts would have made."""
    for link, to in {"bin/sh": "dash", "usr/bin/python3": os.path.basename(glob.glob(f"{ROOT.path}/usr/bin/python3.*[0-9]")[0])}.items():
        if not os.path.lexists(f"{ROOT.path}/{link}"):
            os.symlink(to, f"{ROOT.path}/{link}")
    ROOT.must("root", ROOT.inside("/sbin/ldconfig"))


def emulate():
    """Lets Linux start programs of arm64, in roots, too. Returns whether that is to be undone."""
    if not os.path.exists(f"{BINFMT}/register"):
        subprocess.run(["mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT], check=True)
    if os.path.exists(f"{BINFMT}/{FORMAT}"):
        return False
    with open(f"/usr/lib/binfmt.d/{FORMAT}.conf", encoding="ascii") as given, open(f"{BINFMT}/register", "w", encoding="ascii") as register:
        register.write(given.read().strip())
    return True


def build():
    cross = f"{BUILD}/cross.ini"
    text = CROSS.format(root=ROOT.path, wrapper=WRAPPER)
    with open(cross, "w", encoding="utf-8") as f:
        f.write(text)
    if not os.path.exists(f"{BUILD}/build.ninja"):
        subprocess.run(["meson", "setup", BUILD, SOURCE, "--cross-file", cross, "-Dwerror=true"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", BUILD, "--quiet"], check=True)
    print("arm64: built", flush=True)


def unit():
    tests = json.loads(subprocess.check_output(["meson", "introspect", BUILD, "--tests"], text=True))
    failed, ran, left = [], 0, 0
    for test in tests:
        if not any(suite.endswith("unit") for suite in test["suite"]):
            continue
        command = ["python3" if os.path.basename(word).startswith("python3") else word
                   for word in test["cmd"] if word not in WRAPPER and os.path.basename(word) != WRAPPER[0]]
        environment = {name: value for name, value in test["env"].items() if name.startswith("FIRESTEEL_")}
        try:
            done = ROOT.inside("env", "--chdir", test["workdir"] or SOURCE, *command, timeout=600, **environment)
            out = done.stdout
        except subprocess.TimeoutExpired:
            out = "not ok 1 - it ends"
        cases = [line for line in out.split("\n") if line.startswith(("ok ", "not ok "))]
        bad = [line.split(" - ", 1)[-1] for line in cases if line.startswith("not ok ")] or ([] if done.returncode == 0 else ["it ends well"])
        emulated = [case for case in bad if case in EMULATED.get(test["name"], {}) or "*" in EMULATED.get(test["name"], {})]
        ran, left = ran + len(cases) - len(emulated), left + len(emulated)
        if len(emulated) < len(bad):
            failed.append((test["name"], sorted(set(bad) - set(emulated))))
            print(out[-3000:], flush=True)
    for name, cases in failed:
        print(f"arm64: {name}: {', '.join(cases)}")
    if failed:
        sys.exit(f"arm64: {len(failed)} of the tests fail")
    print(f"arm64: unit: {ran} cases pass, {left} need what qemu does not emulate", flush=True)


def programs():
    firesteel = f"{BUILD}/cli/firesteel"
    with open(f"{ROOT.path}/cache/n.lua", "w", encoding="utf-8") as f:
        f.write('-- %% One\nprint(1 + 1)\nsh "uname -m"\n')
    ROOT.must("a notebook", ROOT.inside(firesteel, "run", "/cache/n.lua", "--cwd", "/cache"), "aarch64", "ok: 1 cell ok")
    losses = []
    for use in ("1", "0"):
        out = ROOT.must("two ranks with convolutions", ROOT.inside(f"{BUILD}/cli/firesteel-worker", "tests/debian13/convolutions.lua", FIRESTEEL_DNN=use), "2 ranks")
        losses.append([float(x) for x in re.search(r"losses (.*)$", out, re.M).group(1).split()])
    assert max(abs(a - b) / abs(a) for a, b in zip(*losses)) < 1e-5, losses
    ROOT.must("recipe 10 to its image", ROOT.inside(firesteel, "run", "recipes/10-mnist.lua", "--cwd", "/work", "--sandbox=processes", "--allow", "cluster,destructive",
                                                    "-p", "epochs=1"), r"ok: 12 cells ok")


def bundle():
    """Made in the root, and run in another one that has nothing but a static busybox."""
    shutil.rmtree(f"{ROOT.path}/made", ignore_errors=True)
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--strip", "--destdir", f"{ROOT.path}/made/tree"], check=True)
    ROOT.must("the bundle is made", ROOT.inside("/made/tree/usr/local/bin/firesteel", "bundle", "/made"), "tar.zst")
    bare_root = os.path.join(CACHE, "bare-arm64")
    shutil.rmtree(bare_root, ignore_errors=True)
    os.makedirs(bare_root)
    bare.busybox_root(bare_root, f"{ROOT.path}/bin/busybox")
    home = bare.prepare(bare_root)
    base = "/joe/" + bare.unpack(f"{ROOT.path}/made", home, "-mpi")
    shutil.copy(f"{ROOT.path}/cache/n.lua", f"{home}/n.lua")
    done = bare.inside(bare_root, base + "/bin/firesteel", "run", "n.lua")
    assert done.code == 0 and "aarch64" in done.out, done
    print("arm64: a bundle runs a notebook where there is nothing else")


def main():
    if os.geteuid() != 0:
        sys.exit("./check arm64 makes a root of Debian for arm64, which only root can")
    os.makedirs(BUILD, exist_ok=True)
    subprocess.run([f"{SOURCE}/.ci/install", "cross"], check=True)
    with open(ROOT.path + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ours = emulate()
        try:
            ROOT.make_unpacked(packages())
            finish_root()
            build()
            programs()
            bundle()
            unit()
        finally:
            if ours:
                with open(f"{BINFMT}/{FORMAT}", "w", encoding="ascii") as f:
                    f.write("-1")


if __name__ == "__main__":
    main()
