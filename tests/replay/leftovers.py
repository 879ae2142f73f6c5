#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is left after a kill: of the private sandbox during a wait, of a whole run at once, of a child that has become
another user's. Looks only at the case's own run-time folder and processes."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

from kernel import Kernel, cell
from tap import BUILD, FIRESTEEL, PATIENCE, Skip, eventually, run, sh

FACTS = os.path.join(BUILD, "tests", "replay", "facts")
ALLOW = ("--allow", "cluster,destructive")
POD = ('{apiVersion = "v1", kind = "Pod", metadata = {name = "p"}, spec = {terminationGracePeriodSeconds = 0, containers = {'
       '{name = "c", image = "host", command = {"sh", "-c", "sleep 4711 & setsid sleep 4712"}}}}}')


def parents():
    """{pid: parent} of the living processes."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rsplit(")", 1)[1].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(pid)] = int(parent)
    return found


def began(pid):
    """When a living process began, in ticks; None: it is gone. Its number alone may soon be another one's."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])


def descendants(pid):
    living, found = parents(), {pid}
    while True:
        more = {p for p, parent in living.items() if parent in found} - found
        if not more:
            return found - {pid}
        found |= more


def program(pid):
    with open(f"/proc/{pid}/cmdline", "rb") as f:
        return os.path.basename(f.read().split(b"\0")[0].decode())


def sandbox_of(k):
    return next(p for p in descendants(k.pid()) if program(p) == "firesteel-sandbox" and parents()[p] == k.pid())


def places(t):
    """A home and a run-time folder for this case alone."""
    home = t.dir()
    runtime = os.path.join(home, "run")
    return runtime, {"HOME": home, "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "FIRESTEEL_RUNTIME_DIR": runtime}


def test_a_wait_ends_when_the_private_sandbox_dies(t):
    runtime, env = places(t)
    k = Kernel(t, cell(f'p = k8s.create {POD}\nexpect(p):reaches("Succeeded", "10m")', 'effects="cluster"'), "--sandbox", *ALLOW,
               headless=True, env=env)
    k.wait(lambda e: e["type"] == "ledger" and e["phase"] == "outcome")
    time.sleep(0.2)
    os.kill(sandbox_of(k), signal.SIGKILL)
    assert k.finish(10) == 1
    message = k.of("error")[0]["message"]
    assert "private sandbox" in message and "died" in message and "signal 9" in message, message
    assert "died" in k.of("end")[0]["message"], k.of("end")
    assert k.of("cluster")[-1]["away"] in message
    assert os.listdir(runtime) == []


def test_every_later_call_says_that_the_sandbox_died(t):
    _, env = places(t)
    k = Kernel(t, "", "--sandbox", env=env)
    first = k.insert(f'pcall(function() k8s.get("pod", "x") end) k8s.list "pods" print "there"')
    k.start(first)
    assert k.done(first)["state"] == "ok", k.of("error")
    os.kill(sandbox_of(k), signal.SIGKILL)
    k.wait(lambda e: e["type"] == "cluster" and "died" in (e.get("away") or ""))
    for source in 'k8s.list "pods"', f'k8s.create {POD}', 'k8s.get("pod", "x")':
        r = k.run(source)
        assert r.state == "failed" and "private sandbox of this run has died" in r.error["message"], r
    r = k.run('print(pcall(k8s.list, "pods")) print(sh("echo still here", {quiet = true}).output)')
    assert r.state == "ok" and "has died" in r.out and "still here" in r.out, r


def test_nothing_is_left_of_a_run_that_is_killed_at_once(t):
    """Guard, kernel and sandbox get SIGKILL together: their children end, and the next verb clears their folders, temporary ones, too."""
    runtime, env = places(t)
    env["TMPDIR"] = os.path.join(env["HOME"], "tmp")
    env["PATH"] = os.path.join(env["HOME"], "bin") + ":" + os.environ["PATH"]
    for folder in "tmp", "bin":
        os.mkdir(os.path.join(env["HOME"], folder))
    with open(os.path.join(env["HOME"], "bin/buildah"), "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\ntouch '{env['HOME']}/begun'\nexec sleep 4713\n")
    os.chmod(f.name, 0o755)
    with open(os.path.join(env["HOME"], "Dockerfile"), "w", encoding="utf-8") as f:
        f.write("FROM scratch\nRUN true\n")
    with open(os.path.join(env["HOME"], "run.lua"), "w", encoding="utf-8") as f:
        f.write(cell(f'p = k8s.create({POD})\nexpect(p):reaches("Running", "30s")\nfs.write(fs.temp() .. "/x", "1")\n'
                     'image.build { dockerfile = "Dockerfile", tag = "t:1" }', 'effects="cluster"'))
    client = subprocess.Popen([FIRESTEEL, "run", "run.lua", "--sandbox", *ALLOW], cwd=env["HOME"], env=dict(os.environ, **env),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    t.after(client.kill)
    eventually(lambda: os.path.exists(os.path.join(env["HOME"], "begun")), 40)
    eventually(lambda: any(program(p) == "sleep" for p in descendants(client.pid)))
    ours = descendants(client.pid)
    began_at = {p: began(p) for p in ours}
    servers = [p for p in ours if program(p) in ("firesteel-kernel", "firesteel-sandbox")]
    assert len(servers) >= 3 and len(ours) > len(servers), [program(p) for p in ours]
    for pid in servers:
        os.kill(pid, signal.SIGSTOP) # nobody sees the other go
    for pid in servers:
        with contextlib.suppress(ProcessLookupError):  # it may have gone with its parent
            os.kill(pid, signal.SIGKILL)
    eventually(lambda: not [p for p, at in began_at.items() if at and began(p) == at])
    assert client.wait(10 * PATIENCE) != 0 and "the kernel ended before the run did" in client.stderr.read()
    client.stderr.close()
    left, temporary = sorted(os.listdir(runtime)), sorted(os.listdir(env["TMPDIR"]))
    assert [n[:16] for n in temporary] == ["firesteel-image-", "firesteel-temp-" + temporary[1][15]], temporary
    assert any(n.startswith("sandbox-") for n in left) and any(n.endswith(".sock") for n in left), left
    assert sh(FIRESTEEL, "runs", cwd=env["HOME"], env=env).code == 0
    assert os.listdir(runtime) == [] and os.listdir(env["TMPDIR"]) == []


def test_a_sweep_leaves_what_lives(t):
    runtime, env = places(t)
    k = Kernel(t, "", "--sandbox", "--socket", os.path.join(runtime, "k.sock"), env=env)
    r = k.run('k8s.list "pods" print "there"')
    assert r.state == "ok", r
    before = sorted(os.listdir(runtime))
    assert len(before) == 6, before  # socket, kubeconfig, sandbox, each with its owner
    assert sh(FIRESTEEL, "ls", cwd=env["HOME"], env=env).code == 0
    assert sorted(os.listdir(runtime)) == before
    assert k.run('k8s.list "pods"').state == "ok"
    k.send(type="shutdown")
    assert k.process.wait(10 * PATIENCE) == 0
    assert os.listdir(runtime) == []


def test_a_child_that_cannot_be_killed_does_not_hold_the_run(t):
    """A set-user-ID program is another user's process: the run ends without it, names it, and does not poll for it all the time."""
    if os.getuid() != 0:
        raise Skip("only root can make a program of root's")
    folder = t.dir()
    stubborn = os.path.join(folder, "stubborn")
    shutil.copy(FACTS, stubborn)
    os.chmod(stubborn, 0o4755)
    os.chown(folder, 65534, 65534)
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    if sh(*user, stubborn, "--stay", "0").code:
        raise Skip("this folder takes no set-user-ID programs")
    before = time.monotonic()
    k = Kernel(t, cell(f"sh {{{json.dumps(stubborn)}, '--stay', '60'}}"), "--timeout", "1s", headless=True, cwd=folder,
               env={"HOME": folder, "FIRESTEEL_RUNTIME_DIR": f"{folder}/run"}, starter=user)
    assert k.finish(30) == 4, k.of("error")
    left = [int(p) for p in parents() if os.path.exists(f"/proc/{p}/exe") and os.readlink(f"/proc/{p}/exe") == stubborn]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(left) == 1 and f"process {left[0]} (stubborn) could not be ended" in k.stderr, (left, k.stderr)
    assert time.monotonic() - before < 30 * PATIENCE


run(globals())
