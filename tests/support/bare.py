# SPDX-License-Identifier: MIT
"""Bare roots: what a bundle of firesteel is unpacked and run in, as an ordinary user without anything."""
import os
import shutil
import subprocess

from tap import BUILD, Skip, sh

USER = 1000


def busybox_root(folder, busybox=shutil.which("busybox")):
    """Nothing but a static busybox: no C library, no terminfo, no locale, no /etc."""
    if not busybox:
        raise Skip("busybox-static is not installed")
    os.makedirs(f"{folder}/bin")
    shutil.copy(busybox, f"{folder}/bin/busybox")
    for name in ("sh", "env", "cat", "sleep", "stty", "true", "tar"):
        os.symlink("busybox", f"{folder}/bin/{name}")
    return folder


def prepare(root):
    """What a root needs to be entered: mount points, and a home for the user."""
    for name in ("proc", "dev", "sys", "tmp", "joe"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    os.chmod(root, 0o755)
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    return os.path.join(root, "joe")


def enter(root, *command, linux=None, **environment):
    """The words that run a command there as an ordinary user in its home. /proc has nothing mounted over it, so a pod can have its own.
    linux: "4.18", "5.4": without the system calls that came later."""
    argv = [os.path.join(BUILD, "tests", "without"), f"after-{linux}", "ENOSYS"] if linux else []
    if os.geteuid() == 0:  # the folders above the root may be root's alone: the user sees it as /mnt
        subprocess.run(["chown", "-R", f"{USER}:{USER}", os.path.join(root, "joe")], check=True)
        argv += ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", 'mount --bind "$0" /mnt && exec "$@"', root,
                 "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--inh-caps=-all"]
        root = "/mnt"
    argv += ["bwrap", "--unshare-user", "--uid", str(USER), "--gid", str(USER), "--bind", root, "/", "--dev", "/dev", "--bind", "/proc", "/proc",
             "--ro-bind", "/sys", "/sys", "--unshare-net", "--die-with-parent", "--chdir", "/joe", "--clearenv"]
    for name, value in {"HOME": "/joe", "PATH": "/usr/bin:/bin", "TERM": "xterm-256color", "LANG": "C.UTF-8", **environment}.items():
        argv += ["--setenv", name, value]
    return [*argv, *command]


def inside(root, *command, timeout=300, linux=None, **environment):
    return sh(*enter(root, *command, linux=linux, **environment), timeout=timeout)


def unpack(folder, home, *parts):
    """The archives of a folder, in a home; returns the bundle's folder as the user sees it."""
    names = [name for name in os.listdir(folder) if name.endswith(".tar.zst")]
    base = min(names, key=len)[:-len(".tar.zst")]
    assert all(name.startswith(base) for name in names), names
    for part in ("", *parts):
        done = sh("tar", "--zstd", "-xf", f"{folder}/{base}{part}.tar.zst", "-C", home)
        assert done.code == 0, done
    return base
