#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel sandbox up|down|status, and the private sandbox, which ends with its starter."""
import json
import os
import re
import shutil
import socket
import stat
import subprocess

from sandbox import PROGRAM, find_kubectl
from tap import BUILD, FIRESTEEL, OWN, PATIENCE, Skip, eventually, processes, run, sh


class User:
    """A user with folders of their own."""

    def __init__(self, t):
        self.home = t.dir()
        self.env = {"HOME": self.home, "XDG_STATE_HOME": self.home + "/state", "XDG_DATA_HOME": self.home + "/data",
                    "KUBECONFIG": None}
        t.after(lambda: self("down"))

    def __call__(self, *argv):
        return sh(FIRESTEEL, "sandbox", *argv, env=self.env)

    def running(self):
        return processes(self.home + "/state")


def test_up_status_down(t):
    user = User(t)
    assert user("status").code == 1
    up = user("up")
    assert up.code == 0, up
    config = re.fullmatch(r"export KUBECONFIG='(.*)'\n", up.out).group(1)
    assert stat.S_IMODE(os.stat(config).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(config)).st_mode) == 0o700
    got = sh(find_kubectl(), "get", "nodes", "-o", "name", env={"KUBECONFIG": config, "HOME": user.home})
    assert got.out == "node/firesteel-sandbox\n", got
    again = user("up")
    assert again.out == up.out and user("status").out == up.out
    assert len(user.running()) == 1, user.running()
    down = user("down")
    assert down.code == 0 and "images stay" in down.err
    assert not user.running() and not os.path.exists(config)
    assert os.path.isdir(user.home + "/data/firesteel/images")
    assert user("down").code == 0


def test_two_at_once(t):
    user = User(t)
    both = [subprocess.Popen([FIRESTEEL, "sandbox", "up"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             env={k: v for k, v in dict(os.environ, **user.env).items() if v})
            for _ in range(2)]
    said = [b.communicate(timeout=60 * PATIENCE)[0] for b in both]
    assert [b.returncode for b in both] == [0, 0] and said[0] == said[1], said
    assert len(user.running()) == 1, user.running()


def test_pods_end_with_it(t):
    user = User(t)
    config = re.search("'(.*)'", user("up").out).group(1)
    kubectl = lambda *argv: sh(find_kubectl(), *argv, env={"KUBECONFIG": config, "HOME": user.home})
    kubectl("run", "p", "--image=host", "--restart=Never", "--command", "--", "sleep", f"98765.{OWN}")
    eventually(lambda: processes(OWN))
    user("down")
    eventually(lambda: not processes(OWN))


def test_a_pod_that_is_being_set_up_ends_with_it(t):
    """bwrap's inner process is in a session of its own before it asks to die with its parent."""
    bwrap = shutil.which("bwrap")
    if not bwrap:
        raise Skip("no bwrap")
    user = User(t)
    with open(user.home + "/bwrap", "w", encoding="utf-8") as f:
        f.write(f'#!/bin/sh\nLD_PRELOAD={BUILD}/tests/late.so LATE_SESSION_MS=3000 exec {bwrap} "$@"\n')
    os.chmod(user.home + "/bwrap", 0o755)
    user.env["PATH"] = user.home + ":" + os.environ["PATH"]
    config = re.search("'(.*)'", user("up").out).group(1)
    sh(find_kubectl(), "run", "p", "--image=host", "--restart=Never", "--command", "--", "sleep", f"98764.{OWN}",
       env={"KUBECONFIG": config, "HOME": user.home})

    def inner():
        """a process that leads a session below another one of the pod"""
        pids = [int(line.split(":")[0]) for line in processes(f"98764.{OWN}")]
        return [pid for pid in pids if os.getsid(pid) == pid and parent(pid) in pids]
    eventually(inner)
    assert user("down").code == 0
    eventually(lambda: not processes(f"98764.{OWN}"), 8)


def parent(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return int(f.read().rsplit(")", 1)[1].split()[1])


def test_after_a_kill_it_comes_up_again(t):
    user = User(t)
    user("up")
    pid = int(user.running()[0].split(":")[0])
    os.kill(pid, 9)
    eventually(lambda: not user.running())
    assert user("status").code == 1
    assert user("up").code == 0


def test_a_port_in_use(t):
    user = User(t)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        up = user("up", "--port", str(port))
        assert up.code == 1 and f"port {port} on 127.0.0.1 is in use" in up.err, up
    assert user("up", "--port", str(port)).code == 0
    assert f":{port} " in user("status").err
    assert user("up", "--port", "many").code == 2
    assert user("sideways").code == 2


def test_private_dies_with_its_pipe(t):
    home = t.dir()
    read, write = os.pipe()
    private = subprocess.Popen([PROGRAM, "--private", "--dir", home + "/run", "--images", home + "/images",
                                "--notify-fd", str(write)], pass_fds=[write])
    t.after(private.kill)
    os.close(write)
    with os.fdopen(read) as ready:
        assert json.loads(ready.readline())["kubeconfig"] == home + "/run/kubeconfig"
        assert private.poll() is None
    assert private.wait(20 * PATIENCE) == 0
    assert not os.path.exists(home + "/run/kubeconfig")


def test_wrong_usage(t):
    assert sh(PROGRAM).code == 2
    assert sh(PROGRAM, "--dir", t.dir(), "--images", t.dir(), "--private").code == 2
    broken = sh(PROGRAM, "--dir", "/dev/null/x", "--images", t.dir())
    assert broken.code == 1 and "firesteel-sandbox: " in broken.err, broken


run(globals())
