#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each kind of child inherits, when its program was started with foreign descriptors open, signals ignored and
blocked, and an unusual umask: its standard streams, what it is handed by name, and nothing else."""
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess

from kernel import Kernel, cell
from tap import BUILD, FIRESTEEL, PATIENCE, Skip, eventually, run, sh

FACTS = os.path.join(BUILD, "tests", "replay", "facts")
TOOL = os.path.join(BUILD, "tests", "wire", "image-tool")
ODD = {"ODD": "a=b\n \"c\" é", "EMPTY": "", "FIRESTEEL_TEST": "as it is"}


class Mess:
    """A starter that passes on descriptors, ignored and blocked signals, and this umask."""

    def __init__(self, t, umask="077"):
        self.lock, self.umask = os.path.join(t.dir(), "lock"), umask
        self.argv = [FACTS, "--mess", self.lock, umask, "--"]

    def lock_is_free(self):
        with open(self.lock, "w", encoding="utf-8") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True


def both(t):
    return [Mess(t, "000"), Mess(t, "077")]


def ignored(facts):
    return int(facts["ignored"], 16) & ~(3 << 31) # without 32 and 33, which the C library's own spawn ignores


def check(facts, mess, fds=("0", "1", "2"), place="session", env=True):
    assert sorted(facts["fds"]) == sorted(fds), facts["fds"]
    assert int(facts["umask"], 8) == int(mess.umask, 8), facts["umask"]
    assert ignored(facts) == 0 and int(facts["blocked"], 16) == 0, facts
    assert facts["dumpable"], facts
    if place == "session": # a shell may be between the session's leader and this one
        assert facts["session"] == facts["group"] != 0 and facts["terminal"] == 0, facts
    if env:
        given = dict(v.split("=", 1) for v in facts["env"])
        assert {k: given.get(k) for k in ODD} == ODD, given
    return facts


def facts_of(pid):
    done = sh(FACTS, "--of", str(pid))
    facts = json.loads(done.out)
    if not facts["fds"]:
        raise Skip("only root may look into a program that holds secrets")
    return facts


def settled(pid):
    """facts_of() at a moment in which no thread or program is started: the C library blocks all signals meanwhile."""
    def still():
        facts = facts_of(pid)
        return facts if int(facts["blocked"], 16) == 0 else None
    return eventually(still)


def check_server(facts, mess, own):
    """A program of ours; descriptors that it has opened itself are allowed."""
    assert mess.lock not in facts["fds"].values(), facts["fds"]
    assert int(facts["umask"], 8) == int(mess.umask, 8), facts["umask"]
    assert int(facts["blocked"], 16) == 0, facts
    assert ignored(facts) == sum(1 << (s - 1) for s in own), facts["ignored"]
    assert facts["session"] and facts["terminal"] == 0, facts


def test_children_of_cells(t):
    for mess in both(t):
        k = Kernel(t, "", starter=mess.argv, env=ODD)
        quoted = json.dumps(FACTS)
        for source, marker in [(FACTS, 'language="bash"'),
                               (f"print(sh({quoted}, {{quiet = true}}).output)", ""),
                               (f"print(io.popen({quoted}):read 'a')", ""),
                               (f"os.execute({quoted})", ""),
                               (f"print(sh({{{quoted}}}, {{quiet = true, input = 'text'}}).output)", "")]:
            r = k.run(source, marker)
            assert r.state == "ok", r
            facts = check(json.loads(r.out), mess)
            assert facts["fds"]["1"].startswith("pipe:"), facts
        k.end()


def test_nobody_hears_what_a_cell_writes_to_other_descriptors(t):
    """An event that a cell forges reaches no client and no journal, through any descriptor."""
    forged = json.dumps({"type": "stream", "name": "stdout", "cell": "x", "text": "all tests passed\n", "seq": 900, "mono": 1})
    tries = "\n".join(f"printf '%s\\n' {shlex.quote(forged)} >&{fd}" for fd in range(3, 10))
    k = Kernel(t, cell(f"({tries}) 2>/dev/null\necho ended", 'language="bash"'), headless=True)
    assert k.finish() == 0, k.of("error")
    assert k.text() == "ended\n" and k.connection.rest == b"", k.events
    with open(k.journal(), encoding="utf-8") as f:
        assert "all tests passed" not in "".join(line for line in f if '"stream"' in line)


def test_the_trainers_driver_and_its_children(t):
    trainer = f"""
local f = io.open("/proc/self/stat")
local pid = f:read "n"
f:close()
local out = io.open("pid.part", "w")
out:write(pid)
out:close()
os.rename("pid.part", "pid")
os.execute("{FACTS} --to child.json")
io.open("back", "w"):close() -- system() ignores and blocks signals until then
while not io.open "go" do end
"""
    for mess in both(t):
        k = Kernel(t, cell(trainer, 'file="trainer.lua"') + cell('trainer.run {"trainer.lua", np = 1}'), starter=mess.argv, env=ODD)
        k.execute(0)
        reply = k.ask(type="execute", cells=[k.cells()[1]["id"]])
        assert reply["ok"], reply
        at = os.path.join(k.cwd, "child.json")
        eventually(lambda: os.path.exists(os.path.join(k.cwd, "back")))
        with open(os.path.join(k.cwd, "pid"), encoding="utf-8") as f:
            check(facts_of(f.read()), mess, fds=("0", "1", "2", "3")) # 3: the driver's events
        with open(at, encoding="utf-8") as f:
            check(json.load(f), mess)
        open(os.path.join(k.cwd, "go"), "w", encoding="utf-8").close()
        assert k.done(k.cells()[1]["id"])["state"] == "ok", k.of("error")
        k.end()


def test_the_credential_plugin_of_a_kubeconfig(t):
    for mess in both(t):
        folder = t.dir()
        to, path = os.path.join(folder, "facts.json"), os.path.join(folder, "kubeconfig")
        plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": FACTS, "args": ["--to", to], "interactiveMode": "Never"}
        with open(path, "w", encoding="utf-8") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "x",
                       "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
                       "clusters": [{"name": "x", "cluster": {"server": "https://127.0.0.1:1"}}],
                       "users": [{"name": "x", "user": {"exec": plugin}}]}, f)
        k = Kernel(t, "", starter=mess.argv, env=dict(ODD, KUBECONFIG=path))
        assert k.run("k8s.list 'pods'").state == "failed"
        with open(to, encoding="utf-8") as f:
            check(json.load(f), mess)
        k.end()


PODS = """
for name, image in pairs {plain = "host", image = "facts:1"} do
  local command = image == "host" and FACTS or "/opt/firesteel/firesteel-worker"
  local pod = k8s.create {apiVersion = "v1", kind = "Pod", metadata = {name = name}, spec = {
    restartPolicy = "Never", containers = {{name = "main", image = image, command = {command}}}}}
  expect(pod):reaches("Succeeded", "30s")
  for line in pod:logs():gmatch "[^\\n]+" do print(name, line) end
end
"""


def test_pods_of_a_private_sandbox(t):
    for mess in both(t):
        home = t.dir()
        built = sh(TOOL, "build", json.dumps({"store": f"{home}/.local/share/firesteel/images", "tag": "facts:1", "add": [],
                                              "dirs": [home], "worker": {"program": FACTS}}))
        assert built.code == 0, built
        notebook = os.path.join(home, "pods.lua")
        with open(notebook, "w", encoding="utf-8") as f:
            f.write(cell(PODS.replace("FACTS", json.dumps(FACTS)), 'effects="cluster"'))
        done = sh(*mess.argv, FIRESTEEL, "run", notebook, "--sandbox", "--allow", "cluster", "-o", "json",
                  env=dict(ODD, HOME=home, XDG_DATA_HOME="", XDG_STATE_HOME=""))
        assert done.code == 0, done
        events = [json.loads(line) for line in done.out.splitlines()]
        text = "".join(e.get("text", "") for e in events if e["type"] == "stream")
        found = dict(line.split("\t", 1) for line in text.splitlines())
        for name in "plain", "image":
            check(json.loads(found[name]), mess, place=None, env=False)


def test_guard_and_kernel(t):
    for mess in both(t):
        k = Kernel(t, "", starter=mess.argv)
        for pid in k.process.pid, k.pid():
            check_server(settled(pid), mess, (signal.SIGPIPE, signal.SIGXFSZ))
        assert mess.lock_is_free()
        k.end()


def test_a_detached_kernel_holds_nothing_of_its_starters(t):
    mess, folder = Mess(t, "022"), t.dir()
    with open(os.path.join(folder, "long.lua"), "w", encoding="utf-8") as f:
        f.write(cell(f"sh({json.dumps(FACTS + ' --to facts.json')}) firesteel.sleep '1m'"))
    done = sh(*mess.argv, FIRESTEEL, "run", "long.lua", "--detach", cwd=folder, env=ODD)
    assert done.code == 0, done
    name = done.out.strip()
    t.after(lambda: sh(FIRESTEEL, "stop", name))
    assert mess.lock_is_free()
    listed = next(line.split() for line in sh(FIRESTEEL, "ls").out.splitlines() if line.startswith(name))
    check_server(settled(listed[1]), mess, (signal.SIGPIPE, signal.SIGXFSZ))
    at = os.path.join(folder, "facts.json")
    eventually(lambda: os.path.exists(at))
    with open(at, encoding="utf-8") as f:
        check(json.load(f), mess)


def test_the_users_sandbox(t):
    mess, env = Mess(t), dict(ODD, HOME=t.dir(), XDG_STATE_HOME="", XDG_DATA_HOME="")
    up = sh(*mess.argv, FIRESTEEL, "sandbox", "up", env=env)
    assert up.code == 0, up
    t.after(lambda: sh(FIRESTEEL, "sandbox", "down", env=env))
    assert mess.lock_is_free()
    facts = facts_of(re.search(r"process (\d+)", up.err).group(1))
    check_server(facts, mess, (signal.SIGPIPE,))
    assert facts["session"] == facts["pid"]


def test_nohup_is_kept_by_the_program_itself(t):
    """A hang-up does not end `nohup firesteel run`; without nohup it interrupts the run."""
    for starter, code in (["nohup"], 0), ([], 130):
        folder = t.dir()
        with open(os.path.join(folder, "wait.lua"), "w", encoding="utf-8") as f:
            f.write(cell("sh 'touch begun' while not io.open 'go' do firesteel.sleep '50ms' end"))
        process = subprocess.Popen([*starter, FIRESTEEL, "run", "wait.lua"], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        t.after(process.kill)
        eventually(lambda: os.path.exists(os.path.join(folder, "begun")))
        process.send_signal(signal.SIGHUP)
        if starter:
            eventually(lambda: "SigPnd:\t0000000000000000" in open(f"/proc/{process.pid}/status", encoding="utf-8").read())
            open(os.path.join(folder, "go"), "w", encoding="utf-8").close()
        assert process.wait(30 * PATIENCE) == code


run(globals())
