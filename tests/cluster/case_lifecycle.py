# SPDX-License-Identifier: MIT
"""A second cluster beside the first: it comes up, and leaves nothing behind, however it ends."""
import os
import pathlib
import signal
import subprocess
import sys

import cluster
from kubernetes import BRIDGE
from place import BUSYBOX_POD, KUBECTL
from tap import eventually, sh


def left_of(folder):
    """What a cluster could leave behind on the machine, apart from processes: mounts below its folder, its bridge."""
    mounts = pathlib.Path("/proc/1/mounts").read_text(encoding="utf-8").splitlines()
    links = sh("nsenter", "--net=/proc/1/ns/net", "ip", "-o", "link").out.splitlines()
    return [line for line in mounts if str(folder) in line] + [line for line in links if f" {BRIDGE}" in line]


def processes_of(space):
    """Processes in that pid namespace."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/ns/pid") == space:
                found.append(pid)
        except OSError:
            pass
    return found


def second(t, *options):
    folder = pathlib.Path(t.dir(), "second")
    done = sh(sys.executable, cluster.__file__, "up", str(folder), "--without", "spark,mpi", *options, timeout=200)
    assert done.code == 0, done
    t.after(lambda: cluster.down(folder))
    top = cluster.top_pid(folder)
    space = os.readlink(f"/proc/{top}/ns/pid_for_children")
    assert len(processes_of(space)) > 10 and list(cluster.cgroup_folders(f"firesteel-test-{top}"))
    return folder, top, space


def assert_gone(folder, top, space):
    def gone():
        """no process and no cgroup of the cluster is left"""
        return not processes_of(space) and not any(f.exists() for f in cluster.cgroup_folders(f"firesteel-test-{top}"))
    eventually(gone, 30)
    assert not left_of(folder), left_of(folder)


def test_down_leaves_nothing(t):
    """And what is killed meanwhile is started again."""
    folder, top, space = second(t)
    run = [sys.executable, cluster.__file__, "enter", str(folder), KUBECTL]
    made = sh(*run, "create", "-f", "-", input=BUSYBOX_POD)
    assert made.code == 0, made
    assert sh(*run, "wait", "--for=condition=Ready", "pod/sleeper", "--timeout=60s").code == 0
    assert sh(sys.executable, cluster.__file__, "kill", str(folder), "kubelet").code == 0
    log = pathlib.Path(folder, "inside.log")
    eventually(lambda: "kubelet ended with -9" in log.read_text(encoding="utf-8"))
    eventually(lambda: any(pathlib.Path(f"/proc/{p}/comm").read_text(encoding="utf-8") == "kubelet\n" for p in processes_of(space)), 30)
    assert "second" not in sh(KUBECTL, "get", "ns", "-o", "name").out
    assert not sh(KUBECTL, "get", "pods", "sleeper", "--ignore-not-found").out  # the first cluster's
    assert sh(sys.executable, cluster.__file__, "down", str(folder)).code == 0
    assert_gone(folder, top, space)


def test_killed_with_its_owner(t):
    owner = subprocess.Popen(["sleep", "600"])
    t.after(owner.kill)
    folder, top, space = second(t, "--owner", str(owner.pid))
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    assert_gone(folder, top, space)
