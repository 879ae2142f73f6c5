#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel outlives those who use it: for its lifetime, and longer while something holds it. Who joins gives it their terminal."""
import json
import os
import time

from kernel import Connection, Kernel, cell
from sandbox import sandbox
from tap import PATIENCE, SANITIZED, Skip, eventually, run

PARAMETERS = cell('lr = 0.01\ntoken = "abcdefgh"', 'Parameters tags=["parameters"]')


def kept(t, notebook="", *options, **more):
    """A kernel with a socket, and that. It is a person's: what they grant ends with them."""
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, notebook, "--socket", sock, *options, hello=False, **more)
    k.send(type="hello", version=1, owner=True, person=True)
    k.pid()
    return k, sock


def join(sock, **fields):
    c = Connection.to(sock)
    c.send(type="hello", version=1, **fields)
    c.welcome = c.wait(lambda e: e["type"] == "welcome")
    return c


def ends(k, seconds=10):
    assert k.process.wait(seconds * PATIENCE) == 0
    with open(k.journal(), encoding="utf-8") as f:
        return f.read()


def stays(k, seconds):
    time.sleep(seconds)
    assert k.process.poll() is None


def test_it_stays_idle_and_saved_and_ends_after_its_lifetime(t):
    k, sock = kept(t, "", "--lifetime", "2s")
    k.run("x = 41")
    assert k.ask(type="save", rev=1 << 40)["ok"] and k.of("welcome")[0]["lifetime_ms"] == 2000
    k.connection.close()
    stays(k, 1)
    visitor = join(sock)  # it asks, as `firesteel ls` does, and is nobody who uses it
    assert 0 < visitor.welcome["unused_ms"] <= 2000 * PATIENCE and visitor.welcome["holds"]["variables"] == 1
    began = time.monotonic()
    visitor.close()
    assert '"nobody has used it for 2s"' in ends(k)
    assert time.monotonic() - began < 1.9 * PATIENCE  # the visitor has not begun it again


def test_who_comes_back_in_time_finds_what_was_there(t):
    k, sock = kept(t, "", "--lifetime", "1s")
    k.run("x = 41")
    k.connection.close()
    time.sleep(0.3)
    k.connection = join(sock, owner=True, person=True)
    k.events = k.connection.events
    assert "unused_ms" not in k.connection.welcome
    stays(k, 1.5)
    assert k.run("x + 1").value == "42"
    assert k.ask(type="save", rev=1 << 40)["ok"]
    k.connection.close()
    ends(k)


def test_a_longer_lifetime_can_be_given_later(t):
    k, sock = kept(t, "", "--lifetime", "200ms")
    again = join(sock, owner=True, person=True, lifetime_ms=60000)
    assert again.welcome["lifetime_ms"] == 60000
    k.connection.close()
    again.close()
    stays(k, 1)


def test_what_runs_or_asks_or_is_unsaved_holds_it(t):
    for source in "firesteel.sleep '2s'", "input 'your name'":
        k, sock = kept(t, "", "--lifetime", "100ms")
        k.start(k.insert(source))
        k.wait(lambda e: e["type"] == "kernel" and e["state"] in ("busy", "asking"))
        assert k.ask(type="save", rev=1 << 40)["ok"]
        k.connection.close()
        stays(k, 1)
        visitor = join(sock)
        assert visitor.welcome["held"] in ("a cell runs", "a question is open"), visitor.welcome
        visitor.close()
        if "sleep" in source:
            ends(k)  # the time counts from the end of what ran
        k.end()
    k, sock = kept(t, "", "--lifetime", "100ms")
    k.insert("x = 1")
    k.connection.close()
    stays(k, 1)
    assert join(sock).welcome["held"] == "there is unsaved text"


def test_without_a_lifetime_it_ends_with_its_last_client(t):
    k, _ = kept(t, "", "--lifetime", "0")
    k.run("x = 41")
    assert k.ask(type="save", rev=1 << 40)["ok"]
    k.connection.close()
    assert "nobody has used it" not in ends(k)


def test_what_was_asked_for_is_compared(t):
    k, sock = kept(t, PARAMETERS, "--memory", "1G", "--protect", "prod*")
    def differs(**wants):
        c = join(sock, wants=wants)
        c.close()
        return c.welcome["differs"]
    assert differs(parameters=["lr=0.01"], memory=1 << 30, protect=["prod*"]) == []
    found = differs(parameters=["lr=0.5", "token=hunter22", "nothing=1"], memory=2 << 30, protect=["live"], sandbox=True,
                    context="elsewhere", namespace="ml", registry="r.example", kubeconfig="/nowhere/config")
    assert "-p lr=0.5: it has 0.01" in found and "-p token: it has another value" in found, found
    assert "hunter22" not in str(found) and "abcdefgh" not in str(found)
    for part in ("-p nothing: ", "--memory: it has 1024M", "--protect live: ", "--sandbox: it has none", "--context elsewhere: ",
                 "--namespace ml: ", "--registry r.example: it has none", "--kubeconfig /nowhere/config: "):
        assert any(text.startswith(part) for text in found), (part, found)
    assert "differs" not in join(sock).welcome


def test_the_terminal_that_joins_replaces_the_one_that_left(t):
    k, sock = kept(t, "", "--lifetime", "60s", env={"SSH_AUTH_SOCK": "/tmp/first.sock", "KRB5CCNAME": "first"})
    assert k.run("print(os.getenv 'SSH_AUTH_SOCK', os.getenv 'KRB5CCNAME')").out == "/tmp/first.sock\tfirst\n"
    k.run("%env KRB5CCNAME=mine")
    second = {"environment": {"SSH_AUTH_SOCK": "/tmp/second.sock", "KRB5CCNAME": "second"}}
    beside = join(sock, owner=True, person=True, terminal=second)  # the first one is still there
    assert k.run("print(os.getenv 'SSH_AUTH_SOCK')").out == "/tmp/first.sock\n"
    beside.close()
    k.connection.close()
    time.sleep(0.2)
    k.connection = join(sock, owner=True, person=True, terminal=second)
    k.events = k.connection.events
    assert k.run("print(os.getenv 'SSH_AUTH_SOCK', os.getenv 'KRB5CCNAME')").out == "/tmp/second.sock\tmine\n"
    assert "/tmp/second.sock" in k.run("sh 'echo $SSH_AUTH_SOCK'").out
    k.connection.close()
    time.sleep(0.2)
    k.connection = join(sock, owner=True, person=True, terminal={"environment": {"SSH_AUTH_SOCK": None}})
    k.events = k.connection.events
    assert k.run("print(os.getenv 'SSH_AUTH_SOCK')").out == "nil\n"


def config(folder, name):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("{apiVersion: v1, kind: Config, current-context: %s, clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}], "
                "contexts: [{name: %s, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}]}" % (name, name))
    return path


def test_its_kubeconfig_is_the_joining_terminals(t):
    folder = t.dir()
    one, two = config(folder, "one"), config(folder, "two")
    k, sock = kept(t, "", "--lifetime", "60s", env={"KUBECONFIG": one})
    eventually(lambda: k.connection.read(0.1) or k.of("cluster", context="one"))
    k.start(k.insert("firesteel.sleep '1s'"))  # it changes when nothing runs
    k.connection.close()
    time.sleep(0.2)
    k.connection = join(sock, owner=True, person=True, terminal={"environment": {"KUBECONFIG": two}, "kubeconfig": two})
    k.events = k.connection.events
    k.wait(lambda e: e["type"] == "cluster" and e["context"] == "two")
    assert two in k.run("sh 'echo $KUBECONFIG'", 'effects="cluster"').out
    given, sock = kept(t, "", "--lifetime", "60s", "--kubeconfig", one, cwd=folder)
    given.connection.close()
    time.sleep(0.2)
    again = join(sock, owner=True, person=True, terminal={"environment": {"KUBECONFIG": two}, "kubeconfig": two})
    again.wait(lambda e: e["type"] == "cluster" and e["context"] == "one")
    assert not [e for e in again.events if e["type"] == "cluster" and e.get("context") == "two"]


def test_beyond_their_memory_the_longest_unused_end(t):
    if SANITIZED:
        raise Skip("a sanitizer takes memory of its own")
    folder = t.dir()
    os.chmod(folder, 0o700)
    env = {"FIRESTEEL_RUNTIME_DIR": folder, "FIRESTEEL_KEPT_MEMORY": "100M"}
    def one(name, unsaved=False):
        sock = os.path.join(folder, name + ".sock")
        k = Kernel(t, "", "--socket", sock, "--lifetime", "1h", env=env)
        k.run("blob = ('x'):rep(40 * 2^20)")  # three of them are too many
        if not unsaved:
            assert k.ask(type="save", rev=1 << 40)["ok"]
        return k
    kept, first, second = one("unsaved", unsaved=True), one("first"), one("second")
    time.sleep(3)  # all are used
    for k in kept, first, second:
        assert k.process.poll() is None
        k.connection.close()
        time.sleep(0.3)
    assert first.process.wait(20 * PATIENCE) == 0
    with open(first.journal(), encoding="utf-8") as f:
        assert "this one had been unused longest" in f.read()
    stays(second, 1)
    assert kept.process.poll() is None  # its text is unsaved


def journaled(k):
    with open(k.journal(), encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


PODS = """for i = 1, 30 do
  local p = k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "p" .. i },
    spec = { restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "true" } } } } }
  sh "sleep 0.1"
end"""


def test_a_live_table_is_recorded_in_few_updates_while_nobody_looks(t):
    env = sandbox(t)
    k, sock = kept(t, "", "--lifetime", "60s", env=env)
    assert k.run('k8s.watch "pods"').state == "ok"
    live = k.of("display")[-1]["id"]
    k.connection.close()
    time.sleep(0.3)
    changes = Kernel(t, "", "--allow", "cluster", env=env)
    assert changes.run(PODS, 'effects="cluster"').state == "ok"
    updates = [e for e in journaled(k) if e["type"] == "update" and e["id"] == live]
    assert len(updates) <= 3, len(updates)  # one in ten seconds; with somebody there, ten a second
    again = join(sock, owner=True, person=True)
    def all_there():
        again.read(0.1)
        rows = {r["uid"]: r for e in again.events if e["type"] == "update" and e["id"] == live for r in e.get("rows", [])}
        return len(rows) == 30
    eventually(all_there, 5)  # at once
    again.close()
    changes.end()


run(globals())
