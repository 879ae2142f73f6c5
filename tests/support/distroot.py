# SPDX-License-Identifier: MIT
"""Roots of a release of Debian in the cache, made by mmdebstrap, in which the sources are /src. What is there is used again: the root, its
ccache, its build folders. Needs root, and a mirror of Debian the first time.
"""
import hashlib
import os
import re
import subprocess
import sys

SOURCE = os.environ.get("FIRESTEEL_SOURCE", os.getcwd())
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
MIRROR = os.environ.get("FIRESTEEL_DEBIAN", "http://deb.debian.org/debian")


class Root:
    """title: what its messages begin with. architecture: another one than this machine's, whose programs run here. same: folders that have
    their names inside, too."""

    def __init__(self, title, name, release, architecture=None, same=(), **environment):
        self.title, self.release, self.architecture, self.same = title, release, architecture, same
        self.path = os.path.join(CACHE, name)
        self.environment = {
            "HOME": "/root", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "TERM": "dumb", "CCACHE_DIR": "/ccache",
            "CCACHE_MAXSIZE": "500M", "FIRESTEEL_CACHE": "/cache", "FIRESTEEL_DATA": "/src/recipes/data",
            "FIRESTEEL_PATIENCE": os.environ.get("FIRESTEEL_PATIENCE", "2"), **environment}

    def inside(self, *command, network=False, timeout=None, **environment):
        """Runs a command in the root. bubblewrap changes the root as containers do, so users can make namespaces there; /proc has
        nothing mounted over it, so they can mount another one for a pod."""
        argv = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                "bwrap", "--cap-add", "ALL", "--bind", self.path, "/", "--ro-bind", SOURCE, "/src", "--dev", "/dev", "--bind", "/proc", "/proc",
                "--ro-bind", "/sys", "/sys", "--tmpfs", "/run", "--tmpfs", "/dev/shm", "--unshare-ipc", "--die-with-parent", "--chdir", "/src", "--clearenv"]
        for folder in self.same:
            argv += ["--bind", folder, folder]
        if network:
            argv += ["--ro-bind", os.path.realpath("/etc/resolv.conf"), "/etc/resolv.conf"]
        else:
            argv += ["--unshare-net"]
        for name, value in {**self.environment, **environment}.items():
            argv += ["--setenv", name, value]
        return subprocess.run([*argv, *command], stdin=subprocess.DEVNULL, text=True, errors="replace", check=False, timeout=timeout,
                              stdout=None if network else subprocess.PIPE, stderr=None if network else subprocess.STDOUT)

    def must(self, what, done, *wanted):
        """Ends the test if the command failed, or its output has nothing that matches one of the patterns."""
        out = done.stdout or ""
        missing = [w for w in wanted if not re.search(w, out)]
        if done.returncode or missing:
            print(out[-6000:])
            sys.exit(f"{self.title}: {what}: exit code {done.returncode}" + (f", and nothing like {missing[0]!r}" if missing else ""))
        print(f"{self.title}: {what}", flush=True)
        return out

    def make(self, *kinds):
        """The root, with what .ci/packages has for these kinds, by the same .ci/install that ./demo calls."""
        if not os.path.exists(os.path.join(self.path, "etc", "os-release")):
            self._unpack("--variant=apt", "--include=ca-certificates")
        digest = hashlib.sha256(" ".join(kinds).encode())
        for name in ("packages", "install"):
            with open(os.path.join(SOURCE, ".ci", name), "rb") as f:
                digest.update(f.read())
        mark = os.path.join(self.path, "cache", "installed-" + "-".join(kinds))
        if os.path.exists(mark) and open(mark, encoding="ascii").read() == digest.hexdigest():
            return
        self.must("packages", self.inside(".ci/install", *kinds, network=True))
        self.must("ccache", self.inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", "ccache", network=True))
        self.inside("apt-get", "clean", network=True)
        with open(mark, "w", encoding="ascii") as f:
            f.write(digest.hexdigest())

    def make_unpacked(self, packages):
        """The root of another architecture, with these packages, of which no script is run (that takes a quarter of an hour where each
        instruction is emulated)."""
        digest = hashlib.sha256(repr(packages).encode()).hexdigest()
        mark = os.path.join(self.path, "cache", "unpacked")
        if os.path.exists(mark) and open(mark, encoding="ascii").read() == digest:
            return
        self._unpack("--variant=extract", "--include=" + ",".join(packages))
        with open(mark, "w", encoding="ascii") as f:
            f.write(digest)

    def _unpack(self, *options):
        subprocess.run(["rm", "-rf", self.path, self.path + ".new"], check=True)
        subprocess.run(["mmdebstrap", *options, "--quiet", "--dpkgopt=force-unsafe-io", *([f"--architectures={self.architecture}"] if self.architecture else []),
                        self.release, self.path + ".new", MIRROR], check=True)
        os.rename(self.path + ".new", self.path)
        for name in ("src", "build", "ccache", "cache", "work"):
            os.makedirs(os.path.join(self.path, name), exist_ok=True)
