#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A real Kubernetes of one node on this machine, for tests.

    cluster.py up DIR [--without spark,mpi,argo,metrics] [--with engines] [--owner PID]   starts it and returns when it is ready
    cluster.py enter DIR COMMAND…      runs a command in its network, with KUBECONFIG set
    cluster.py down DIR                ends it, and all that runs in it

etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubelet on containerd and runc, kube-proxy, CoreDNS, and
Debian's docker-registry twice: over plain HTTP, and over TLS with a CA of its own; unless --without leaves them out, the
Spark operator with its webhook, the MPI operator, Argo Workflows and the metrics-server. tests/support/gotool builds what Debian does not
have (`up` calls it; many minutes, once). It needs root.

All of it lives in a network, a process and a mount namespace of its own:

    unshare ── cluster.py inside (1) ── etcd, kube-apiserver, …
       │                              └ containerd ── shims ── containers
       └ a watcher, outside: removes the cgroups when the rest has ended, ends the rest when the owner has ended

When one of the first two ends, by `down` or by SIGKILL, the system ends every other process and takes mounts and network
away. What stays is DIR: logs, certificates. Several clusters do not meet, though their addresses are the same.

DIR/kubeconfig has the contexts admin, cert (a client certificate) and user (no rights); DIR/ca.crt is the CA of the API
server and of the registry over TLS. Inside, the node is 10.88.7.1: its port 5000 is the plain registry, 5443 that over
TLS. Images on the node: localhost/busybox:1 (Debian's busybox-static).
"""
import argparse
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import time

from kubernetes import BIN, BUILT, CACHE, HERE, Cluster, Problem, certificates, wait_for, write_kubeconfig
from operators import OPERATORS

OPTIONAL = ("engines",)  # what is not there unless it is asked for

PROGRAMS = ("containerd", "runc", "docker-registry", "iptables", "ip", "unshare", "nsenter", "openssl", "busybox")
CGROUPS = pathlib.Path("/sys/fs/cgroup")


def needs(operators):
    """Why there can be no cluster here, or None: what no build can mend."""
    if os.geteuid():
        return "a cluster needs root"
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"a cluster needs these programs: {', '.join(missing)}"
    missing = [name for operator in operators for name in OPERATORS[operator].lacks()]
    return f"the cluster's operators need {', '.join(missing)}" if missing else None


def unbuilt(operators):
    wanted = BUILT + tuple(program for operator in operators for program in OPERATORS[operator].programs)
    return [name for name in wanted if not (BIN / name).exists()]


# ---- the watcher, and what it removes

def cgroup_folders(name):
    if (CGROUPS / "cgroup.controllers").exists():
        return [CGROUPS / name]
    return [controller / name for controller in CGROUPS.iterdir() if (controller / "cgroup.procs").exists()]


def remove_cgroups(name):
    """True when none is left: processes that are about to end may still be in them."""
    for top in cgroup_folders(name):
        for path, _, _ in os.walk(top, topdown=False):
            try:
                os.rmdir(path)
            except OSError:
                pass
    return not any(top.exists() for top in cgroup_folders(name))


def remove_left_cgroups():
    """Those of clusters whose every process was killed, the watcher, too."""
    for path in cgroup_folders(""):
        for left in path.glob("firesteel-test-*"):
            if not pathlib.Path("/proc", left.name.rpartition("-")[2]).exists():
                remove_cgroups(left.name)


def ended(pidfd, milliseconds):
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(milliseconds))


def watch(top, owner, name):
    os.setsid()
    top_fd, owner_fd = os.pidfd_open(top), None
    try:
        owner_fd = os.pidfd_open(owner) if owner else None
    except ProcessLookupError:
        os.kill(top, signal.SIGKILL)
    while not ended(top_fd, 500 if owner_fd else None):
        if owner_fd and ended(owner_fd, 0):
            os.kill(top, signal.SIGKILL)
    for _ in range(300):
        if remove_cgroups(name):
            break
        time.sleep(0.1)
    os._exit(0)


def hold(folder, operators, owner):
    """Becomes unshare, the process whose id stands for the cluster."""
    name = f"firesteel-test-{os.getpid()}"
    top = os.getpid()
    if os.fork() == 0:
        watch(top, owner, name)
    (folder / "pid").write_text(str(top))
    os.execvp("unshare", ["unshare", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", sys.executable,
                          __file__, "inside", str(folder), ",".join(operators), name])


def inside(folder, operators, cgroup):
    """The first process of the namespaces: starts everything, says so, and waits for its end."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    cluster = Cluster(folder, cgroup)
    try:
        for path in cgroup_folders(cgroup):
            path.mkdir()
        cluster.up([OPERATORS[operator](cluster) for operator in operators])
        (folder / "ready").touch()
    except (Problem, OSError) as problem:
        (folder / "failed").write_text(str(problem))
        return 1
    while True:  # also the parent of all orphans
        pid, status = os.wait()
        cluster.note_end(pid, status)


# ---- the verbs

def up(folder, operators, owner):
    why_not = needs(operators)
    if why_not:
        print(f"cluster.py: {why_not}", file=sys.stderr)
        return 77
    missing = unbuilt(operators)
    if missing:
        print(f"cluster.py: building {', '.join(missing)}: many minutes, once", file=sys.stderr)
        subprocess.run([HERE.parent / "support" / "gotool", CACHE, *missing], check=True)
    if (folder / "pid").exists() and top_pid(folder):
        raise Problem(f"the cluster of {folder} is up already")
    remove_left_cgroups()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    certificates(folder)
    write_kubeconfig(folder)
    with open(folder / "inside.log", "wb") as log:
        command = [sys.executable, __file__, "hold", str(folder), ",".join(operators), str(owner)]
        outer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    def failed():
        if (folder / "failed").exists():
            raise Problem((folder / "failed").read_text())
        if outer.poll() is not None:
            raise Problem((folder / "inside.log").read_text()[-2000:])
    try:
        wait_for("the cluster", (folder / "ready").exists, 900, failed)
    except (Problem, KeyboardInterrupt) as problem:
        down(folder)
        print(f"cluster.py: {problem}; its logs are in {folder}", file=sys.stderr)
        return 1
    print(folder / "kubeconfig")
    return 0


def top_pid(folder):
    """The id of the process that stands for the cluster, or None: it does not run."""
    try:
        pid = int((folder / "pid").read_text())
        line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return pid if str(folder).encode() in line.split(b"\0") else None


def enter(folder, command):
    pid = top_pid(folder)
    if not pid:
        raise Problem(f"the cluster of {folder} is not up")
    os.environ["KUBECONFIG"] = str(folder / "kubeconfig")
    os.execvp("nsenter", ["nsenter", f"--net=/proc/{pid}/ns/net", *command])


def down(folder):
    pid = top_pid(folder)
    if not pid:
        return 0
    fds = []
    # its children are the first process inside, which ends after all others there, and the watcher, which ends last
    for process in [str(pid), *pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]:
        try:
            fds.append(os.pidfd_open(int(process)))
        except ProcessLookupError:
            pass
    os.kill(pid, signal.SIGKILL)
    if not all(ended(fd, 60_000) for fd in fds):
        raise Problem(f"the cluster of {folder} does not end")
    (folder / "pid").unlink(missing_ok=True)
    return 0


def kill(folder, name, seconds):
    """Ends a program of the cluster at once (SIGKILL); after some seconds it is started again, where it was."""
    space = os.readlink(f"/proc/{top_pid(folder)}/ns/pid_for_children")
    program = {"apiserver": "kube-apiserver"}.get(name, name)
    (folder / f"{name}.again").write_text(str(seconds))
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(process / "ns/pid") == space and (process / "comm").read_text().strip() == program[:15]:
                os.kill(int(process.name), signal.SIGKILL)
                return 0
        except OSError:
            pass
    raise Problem(f"{name} does not run in the cluster of {folder}")


def names(text):
    return [name for name in text.split(",") if name]


def main():
    if sys.argv[1:2] == ["hold"]:
        return hold(pathlib.Path(sys.argv[2]), names(sys.argv[3]), int(sys.argv[4]))
    if sys.argv[1:2] == ["inside"]:
        return inside(pathlib.Path(sys.argv[2]), names(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="up|enter|kill|down")
    for verb in ("up", "enter", "kill", "down"):
        verbs.add_parser(verb).add_argument("dir", type=lambda text: pathlib.Path(text).resolve())
    verbs.choices["up"].add_argument("--without", type=names, default=[], help="what is not started: spark,mpi,argo,metrics")
    verbs.choices["up"].add_argument("--with", dest="more", type=names, default=[], help="what is started, too: engines")
    verbs.choices["up"].add_argument("--owner", type=int, default=0, help="the cluster ends with this process")
    verbs.choices["kill"].add_argument("program", help="apiserver, kubelet, …: ended at once, and started again")
    verbs.choices["kill"].add_argument("--for", dest="seconds", type=float, default=0, help="seconds until then")
    verbs.choices["enter"].add_argument("command", nargs=argparse.REMAINDER)
    o = parser.parse_args()
    try:
        if o.verb == "up":
            chosen = [name for name in OPERATORS if name not in o.without and (name not in OPTIONAL or name in o.more)]
            return up(o.dir, chosen, o.owner)
        if o.verb == "enter":
            return enter(o.dir, o.command or [os.environ.get("SHELL", "/bin/sh")])
        if o.verb == "kill":
            return kill(o.dir, o.program, o.seconds)
        return down(o.dir)
    except (Problem, subprocess.CalledProcessError) as problem:
        print(f"cluster.py: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
