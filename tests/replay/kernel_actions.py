#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Actions of a client on the rows of a table, while cells run: describe, print, follow the log, delete."""
import json
import os
import re
import socket
import threading
import time

from kernel import Connection, Kernel, cell
from sandbox import sandbox
from tap import FIRESTEEL, PATIENCE, eventually, run, sh

LOG = "application/vnd.firesteel.log+json"
PODS = "application/vnd.firesteel.pods+json"


def pod(name, script="exec sleep 600", **more):
    """A cell that makes a pod with this machine's root."""
    spec = dict({"restartPolicy": "Never",
                 "containers": [{"name": "main", "image": "host", "command": ["sh", "-c", script]}]}, **more)
    manifest = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"of": "test"}},
                           "spec": spec})
    return cell(f"k8s.create [==[{manifest}]==]", f'Make {name} effects="cluster"')


WATCH = cell('k8s.watch("pods", {selector = "of=test"})', "Watch")


class Table:
    """The table below a kernel's last cell, and the actions on it."""

    def __init__(self, kernel, connection=None):
        self.connection = connection or kernel.connection
        self.id = self.connection.wait(lambda e: e["type"] == "display" and PODS in e["data"])["id"]

    def shown(self):
        rows = {}
        for e in self.connection.events:
            if e.get("id") != self.id or e["type"] not in ("display", "update"):
                continue
            if "data" in e:
                rows = {r["uid"]: r for r in e["data"][PODS]["rows"]}
            for r in e.get("rows", []):
                rows.pop(r["uid"], None)
                if not r.get("deleted"):
                    rows[r["uid"]] = r
        return rows

    def row(self, name, status=None):
        """The uid of a row, when the row exists (with this status)."""
        def there(_):
            return any(r["name"] == name and (not status or status in r["cells"]) for r in self.shown().values())
        self.connection.wait(there)
        return next(uid for uid, r in self.shown().items() if r["name"] == name)

    def act(self, action, row=None, **more):
        return self.connection.ask(type="act", display=self.id, action=action, **({"row": row} if row else {}), **more)

    def start(self, action, row, words=None):
        """Does not wait; returns a function that gives the reply."""
        return self.start_all(action, row, words, 1)[0]

    def start_all(self, action, row, words, n):
        """The same n times at once: the kernel reads all of them before it has carried out one."""
        c = self.connection
        numbers = range(c.next_id, c.next_id + n)
        c.next_id += n
        asked = [dict({"id": number, "type": "act", "display": self.id, "action": action, "row": row}, **({"words": words} if words else {}))
                 for number in numbers]
        c.sock.sendall(b"".join(json.dumps(message).encode() + b"\n" for message in asked))
        return [lambda number=number: c.wait(lambda e: e["type"] == "reply" and e["to"] == number) for number in numbers]


def granted(k):
    """Runs cells and answers yes to all their questions."""
    for c in k.cells():
        k.start(c["id"])
    seen = set()
    for c in k.cells():
        def over(e):
            if e["type"] == "ask" and e["ask"] not in seen:
                seen.add(e["ask"])
                k.send(type="answer", ask=e["ask"], value="yes")
            return e["type"] == "state" and e["cell"] == c["id"] and e["state"] in ("ok", "failed", "cancelled")
        done = k.wait(over)
        assert done["state"] == "ok", k.of("error")
    return k


def log_of(connection, number):
    return [e["data"][LOG] for e in connection.events
            if e["type"] in ("display", "update") and e.get("id") == number and "data" in e]


def spooled(k, number):
    log = log_of(k.connection, number)[-1]
    reply = k.ask(type="read", stream=log["spool"], **{"from": log["from"]}, to=log["to"])
    assert reply["ok"], reply
    return reply["text"]


def test_describe_and_yaml_while_a_cell_runs(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("one", "Running")
    shown = [e["data"][PODS] for e in k.of("display") if PODS in e["data"]][0]
    assert shown["actions"] == ["describe", "why", "logs", "yaml", "tree", "edit", "delete", "explain", "label", "annotate", "who", "shell", "inside", "forward", "set-image",
                                    "command", "edit-text"], shown
    busy = k.insert("firesteel.sleep '1m'")
    k.start(busy)
    k.wait(lambda e: e["type"] == "state" and e["cell"] == busy and e["state"] == "running")
    described = table.act("describe", row)
    assert described["ok"] and described["title"] == "describe one", described
    assert re.search(r"^Name: +one$", described["text"], re.M) and "Events:" in described["text"], described["text"]
    why = table.act("why", row)
    assert why["ok"] and why["title"] == "why one" and why["text"].startswith("no cause is known; it is Running\n  looked at: its status"), why
    yaml = table.act("yaml", row)
    assert yaml["ok"] and "kind: Pod" in yaml["text"] and "uid: " + row in yaml["text"], yaml
    assert "managedFields" not in yaml["text"]
    assert k.ask(type="interrupt")["ok"] and k.done(busy)["state"] == "cancelled"


def test_labels_are_typed(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("one")

    def answered(action, words, answer="yes"):
        reply, seen = table.start(action, row, words), len(k.of("ask"))
        ask = k.wait(lambda e: e["type"] == "ask" and len(k.of("ask")) > seen) if len(k.of("ask")) == seen else k.of("ask")[-1]
        k.send(type="answer", ask=ask["ask"], value=answer)
        return ask, reply()

    ask, done = answered("label", "tier=gpu rank=3")
    assert done["ok"] and "label Pod one (tier=gpu rank=3) in namespace default" in json.dumps(ask), (ask, done)
    ask, done = answered("label", "tier=cpu rank-")
    assert done["ok"], done
    ask, done = answered("annotate", "note=some words")
    assert done["ok"], done
    _, refused = answered("label", "no", "no")
    assert not refused["ok"] and "you said no" in refused["error"]["message"], refused
    _, wrong = answered("label", "tier")
    assert '"tier" is neither key=value nor key-' in wrong["error"]["message"], wrong
    assert "label needs to be told what" in table.act("label", row)["error"]["message"]
    assert "do not take \"scale\"" in table.act("scale", row, words="3")["error"]["message"]
    meta = table.act("yaml", row)["text"]
    assert "tier: cpu" in meta and "note: some words" in meta and "rank:" not in meta, meta
    explained = table.act("explain", row, words="spec.containers")
    assert "FIELD: containers <[]Container>" in explained["text"], explained
    assert "KIND:       Pod" in table.act("explain", row)["text"]
    assert "pods.spec has no field \"contaners\"; did you mean containers?" in table.act("explain", row, words="spec.contaners")["error"]["message"]


def test_what_cannot_be_done_is_refused_with_the_reason(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("one")

    def refused(words, **message):
        reply = k.ask(type="act", **message)
        assert not reply["ok"] and words in reply["error"]["message"], reply

    refused("no action \"dance\"", display=table.id, action="dance", row=row)
    refused("takes no actions", display=9999, action="describe", row=row)
    refused("not in the table any more", display=table.id, action="describe", row="no-such-uid")
    refused("Its uid is needed", display=table.id, action="describe")
    watch = k.cells()[1]["id"]
    events = len(k.events)
    k.start(watch)
    k.wait(lambda e: e["type"] == "state" and e["cell"] == watch and e["state"] == "ok" and e not in k.events[:events])
    refused("its cell ran again", display=table.id, action="describe", row=row)
    assert k.ask(type="clear", cells=[watch])["ok"]
    latest = [e for e in k.of("display") if PODS in e["data"]][-1]["id"]
    refused("was cleared", display=latest, action="describe", row=row)


def test_a_watch_is_closed_by_nobody_else(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("one")
    assert k.run(f"p = display.progress(3) p.id = {table.id} p:update(1) p:close()").state == "ok"
    assert k.ask(type="act", display=table.id, action="stop")["ok"]
    last = k.wait(lambda e: e["type"] == "update" and e["id"] == table.id and e.get("closed"))
    assert row in [r["uid"] for r in last["data"][PODS]["rows"]], last
    assert len(k.of("update", id=table.id, closed=True)) == 1


def test_an_action_outlives_the_watch_but_not_the_object(t):
    env = sandbox(t)
    k = granted(Kernel(t, pod("one") + WATCH, env=env))
    table = Table(k)
    row = table.row("one", "Running")
    assert table.act("stop")["ok"]
    k.wait(lambda e: e["type"] == "update" and e["id"] == table.id and e.get("closed"))
    assert table.act("describe", row)["ok"]
    again = k.insert('k8s.delete("pod", "one", {grace = 0})')
    k.start(again)
    k.send(type="answer", ask=k.wait(lambda e: e["type"] == "ask" and e["cell"] == again)["ask"], value="yes")
    assert k.done(again)["state"] == "ok", k.of("error")
    gone = table.act("describe", row)
    assert not gone["ok"] and "not found" in gone["error"]["message"] and "one" in gone["error"]["message"], gone
    other = granted(Kernel(t, pod("one"), env=env))
    stranger = table.act("yaml", row)
    assert not stranger["ok"] and "another one of its name" in stranger["error"]["message"], stranger
    kept = table.start("delete", row)
    k.send(type="answer", ask=k.wait(lambda e: e["type"] == "ask" and "one" in e["question"] and
                                     e.get("cell") == k.cells()[1]["id"])["ask"], value="yes")
    assert not kept()["ok"], kept()
    assert other.run("print(k8s.get('pod', 'one').status.phase)").state == "ok"


def test_the_rows_of_an_object_and_its_pods(t):
    job = json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "host",
                                                  "command": ["sh", "-c", "echo from the job; exec sleep 600"]}]}}}})
    k = granted(Kernel(t, cell(f'job = k8s.create [==[{job}]==]\njob:watch()', 'effects="cluster"'), env=sandbox(t)))
    table = Table(k)
    owner = table.row("work")
    described = table.act("describe", owner)
    assert described["ok"] and "Backoff Limit:" in described["text"] and "kind: Job" in table.act("yaml", owner)["text"], described
    k.wait(lambda e: len(table.shown()) == 2)
    one = next(r for uid, r in table.shown().items() if uid != owner)
    assert re.search(rf"^Name: +{one['name']}$", table.act("describe", one["uid"])["text"], re.M)
    opened = table.act("logs", owner)
    assert opened["ok"], opened
    k.wait(lambda e: log_of(k.connection, opened["display"])[-1]["to"] > 0)
    assert "from the job" in spooled(k, opened["display"])
    reply = table.start("delete", owner)
    ask = k.wait(lambda e: e["type"] == "ask" and "delete Job work" in e["question"])
    k.send(type="answer", ask=ask["ask"], value="yes")
    assert reply()["ok"], reply()
    k.wait(lambda e: e["type"] == "update" and e["id"] == table.id and e.get("closed"))
    gone = table.act("describe", owner)
    assert not gone["ok"] and "work" in gone["error"]["message"] and "not found" in gone["error"]["message"], gone


def test_values_that_are_tables_take_actions_too(t):
    k = granted(Kernel(t, pod("one", "echo hello"), env=sandbox(t)))
    kind = "application/vnd.firesteel.table+json"
    eventually(lambda: "Completed" in k.run("print(k8s.list 'pods')").out, 20)
    for source in ("k8s.list 'pods'", "k8s.events('pod', 'one')"):
        shown = [d for d in k.run(source).displays if kind in d["data"]][-1]
        table, rows = shown["data"][kind], shown["data"][kind]["rows"]
        assert rows and "describe" in table["actions"], table

        def act(action):
            return k.ask(type="act", display=shown["id"], action=action, row=rows[0]["uid"])

        described = act("describe")
        assert described["ok"] and re.search(r"^Name: +one$", described["text"], re.M), described
        assert "kind: Pod" in act("yaml")["text"]
        number = act("logs")["display"]
        k.wait(lambda e: e["type"] == "update" and e["id"] == number and e.get("closed"))
        assert spooled(k, number) == "hello\n"
    refused = act("delete")
    assert not refused["ok"] and "do not take \"delete\"" in refused["error"]["message"], refused


def test_a_log_grows_and_ends(t):
    stop = os.path.join(t.dir(), "stop")
    k = granted(Kernel(t, pod("talks", f"i=0; while [ ! -e {stop} ]; do i=$((i+1)); echo tick $i; sleep 0.05; done; echo bye") +
                       WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("talks", "Running")
    first, twice = table.start_all("logs", row, None, 2)
    number = first()["display"]
    assert twice()["display"] == number  # asked for twice before it was there
    display = k.of("display", id=number)[0]
    watch = k.cells()[1]["id"]
    assert display["cell"] == watch and display["live"] and display["data"][LOG]["title"] == "talks/main", display
    assert "seq" not in display, display
    assert k.ask(type="act", display=number, action="pin")["ok"]
    pinned = k.wait(lambda e: e["type"] == "display" and e["id"] == number and "seq" in e)
    assert pinned["cell"] == watch and pinned["live"] and pinned["data"][LOG]["title"] == "talks/main", pinned
    k.wait(lambda e: len({log["to"] for log in log_of(k.connection, number)}) >= 5)
    assert spooled(k, number).startswith("tick 1\ntick 2\n")
    assert not k.of("stream", cell=watch)
    with open(stop, "w", encoding="utf-8"):
        pass
    closed = k.wait(lambda e: e["type"] == "update" and e["id"] == number and e.get("closed"))
    text = spooled(k, number)
    assert text.endswith("\nbye\n") and [line for line in text.split("\n")[:-2]] == \
        [f"tick {i + 1}" for i in range(text.count("\n") - 1)], text
    plain = closed["data"]["text/plain"]
    assert plain.startswith("talks/main: ") and plain.endswith(text[-200:].split("\n", 1)[1]) and len(plain.split("\n")) <= 22, plain
    assert "seq" in closed, closed
    name, cwd = k.of("welcome")[0]["run"], k.cwd
    assert k.ask(type="shutdown")["ok"]
    k.finish()
    for kind in ("md", "ipynb"):
        exported = sh(FIRESTEEL, "export", name, "--to", kind, cwd=cwd)
        assert exported.code == 0 and "bye" in exported.out and "tick" in exported.out, exported


def journal_of(k):
    with open(k.of("welcome")[0]["journal"], encoding="utf-8") as f:
        return f.read()


def spools(k):
    folder = k.of("welcome")[0]["journal"][:-len(".jsonl")]
    return sorted(name for name in os.listdir(folder) if name.startswith("log-")) if os.path.isdir(folder) else []


def test_what_is_only_looked_at_leaves_no_trace(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = granted(Kernel(t, pod("talks", "while :; do echo tick; sleep 0.05; done") + WATCH, "--socket", sock, env=sandbox(t)))
    table = Table(k)
    row = table.row("talks", "Running")
    other = Connection.to(sock)
    other.send(type="hello", version=1)
    for action in ("describe", "yaml"):
        assert table.act(action, row)["display"]
    number = table.act("logs", row)["display"]
    k.wait(lambda e: log_of(k.connection, number) and log_of(k.connection, number)[-1]["to"] > 20)
    assert len(spools(k)) == 2, spools(k)  # and its index
    theirs = other.ask(type="act", display=number, action="stop")
    assert not theirs["ok"] and theirs["error"]["code"] == "not_found", theirs
    assert not other.ask(type="act", display=number, action="pin")["ok"]
    assert k.ask(type="act", display=number, action="stop")["ok"]
    eventually(lambda: not spools(k))
    journaled = [json.loads(line) for line in journal_of(k).splitlines()]
    assert not [e for e in journaled if e["type"] in ("display", "update") and e["id"] >= number], journaled
    assert not [e for e in other.events if e.get("id") == number], other.events
    told = len(log_of(k.connection, number))
    assert k.run("firesteel.sleep '300ms'").state == "ok"
    assert len(log_of(k.connection, number)) == told, "it streams no more"


def test_a_text_is_pinned_as_it_was(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("one", "Running")
    described = table.act("describe", row)
    gone = k.insert("k8s.delete('pod', 'one', {grace = 0})")
    k.start(gone)
    k.send(type="answer", ask=k.wait(lambda e: e["type"] == "ask" and e["cell"] == gone)["ask"], value="yes")
    assert k.done(gone)["state"] == "ok"
    assert k.ask(type="act", display=described["display"], action="pin")["ok"]
    pinned = k.wait(lambda e: e["type"] == "display" and e["id"] == described["display"])
    assert pinned["cell"] == k.cells()[1]["id"] and "live" not in pinned, pinned
    assert pinned["data"]["text/plain"] == "describe one\n" + described["text"], pinned
    again = k.ask(type="act", display=described["display"], action="pin")
    assert not again["ok"] and "look at alone" in again["error"]["message"], again


def test_a_live_tree_is_pinned_as_it_is_by_then(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    number = table.act("tree", table.row("one", "Running"))["display"]
    k.wait(lambda e: e.get("id") == number and "Running" in json.dumps(e))  # all of it is told
    assert k.run("firesteel.sleep '300ms'").state == "ok"
    assert k.ask(type="act", display=number, action="pin")["ok"]
    pinned = k.wait(lambda e: e["type"] == "display" and e["id"] == number and "seq" in e)
    assert pinned["live"] and "pod/one" in pinned["data"]["text/plain"] and "Running" in pinned["data"]["text/plain"], pinned


def test_what_is_cleared_while_a_run_waits_for_its_last_log(t):
    follows = cell('k8s.watch("pods")\nk8s.watch("configmaps")\nk8s.logs("one", { follow = true })', "Look")
    k = Kernel(t, pod("one", "echo hello; exec sleep 600") + follows, "--allow", "cluster", headless=True, env=sandbox(t))
    last = k.wait(lambda e: e["type"] == "state" and e.get("title") == "Look")["cell"]
    k.wait(lambda e: e["type"] == "state" and e["cell"] == last and e["state"] == "ok")
    k.send(type="clear", cells=[last])
    assert k.finish(60) == 0, k.stderr
    events = [json.loads(line) for line in journal_of(k).splitlines()]
    assert events[-1]["type"] == "end" and "cleared" in [e["type"] for e in events], [e["type"] for e in events[-8:]]
    assert not [e for e in events if e["type"] == "update" and e["seq"] > [c for c in events if c["type"] == "cleared"][0]["seq"]], events[-8:]


def test_what_one_looks_at_goes_with_the_client(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = granted(Kernel(t, pod("talks", "while :; do echo tick; sleep 0.05; done") + WATCH, "--socket", sock, env=sandbox(t)))
    row = Table(k).row("talks", "Running")
    other = Connection.to(sock)
    other.send(type="hello", version=1)
    theirs = Table(k, other)
    assert theirs.row("talks") == row
    number = theirs.act("logs", row)["display"]
    other.wait(lambda e: log_of(other, number) and log_of(other, number)[-1]["to"] > 20)
    assert len(spools(k)) == 2
    other.close()
    eventually(lambda: not spools(k))
    assert not k.of("display", id=number)


def test_so_many_can_be_looked_at_at_once(t):
    k = granted(Kernel(t, pod("one") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("one", "Running")
    numbers = [table.act("describe", row)["display"] for _ in range(17)]
    pins = [k.ask(type="act", display=n, action="pin")["ok"] for n in numbers]
    assert pins == [False] + [True] * 16, pins


def test_a_log_is_stopped_and_opened_again(t):
    k = granted(Kernel(t, pod("talks", "while :; do echo tick; sleep 0.05; done") + WATCH, env=sandbox(t)))
    table = Table(k)
    row = table.row("talks", "Running")
    number = table.act("logs", row)["display"]
    assert k.ask(type="act", display=number, action="pin")["ok"]
    assert k.ask(type="act", display=number, action="stop")["ok"]
    k.wait(lambda e: e["type"] == "update" and e["id"] == number and e.get("closed"))
    again = table.act("logs", row)["display"]
    assert again != number
    assert k.ask(type="act", display=again, action="pin")["ok"]
    k.wait(lambda e: log_of(k.connection, again)[-1]["to"] > 0)
    assert k.ask(type="shutdown")["ok"]
    k.finish()
    assert k.of("update", id=again, closed=True) and k.of("end")


def test_the_logs_of_all_containers(t):
    say = [{"name": name, "image": "host", "command": ["sh", "-c", f"echo from {name}"]} for name in ("left", "right")]
    k = granted(Kernel(t, pod("two", containers=say) + WATCH, env=sandbox(t)))
    table = Table(k)
    number = table.act("logs", table.row("two", "Completed"))["display"]
    k.wait(lambda e: e["type"] == "update" and e["id"] == number and e.get("closed"))
    assert sorted(spooled(k, number).splitlines()) == ["two/left | from left", "two/right | from right"]


def test_deleting_asks_and_is_in_the_ledger(t):
    env = sandbox(t)
    k = granted(Kernel(t, pod("one") + pod("two") + WATCH, env=env))
    table = Table(k)
    one, two = table.row("one", "Running"), table.row("two", "Running")
    watch = k.cells()[2]["id"]

    def ask(reply, answer):
        seen = {e["ask"] for e in k.of("answered")}
        question = k.wait(lambda e: e["type"] == "ask" and e["ask"] not in seen)
        assert k.ask(type="answer", ask=question["ask"], value=answer)["ok"]
        return question, reply()

    question, reply = ask(table.start("delete", one), "no")
    assert question["choices"] == ["yes", "no"] and question["cell"] == watch, question
    assert question["question"] == "delete Pod one in namespace default of context firesteel-sandbox? (destructive)", question
    assert question["effect"] == {"class": "destructive", "context": "firesteel-sandbox", "namespace": "default",
                                  "sandbox": False, "objects": ["Pod one"]}, question
    assert not reply["ok"] and "you said no" in reply["error"]["message"], reply
    assert not [e for e in k.of("ledger") if e.get("binding") == "k8s.delete"]
    busy = k.insert("firesteel.sleep '1m'")
    k.start(busy)
    _, reply = ask(table.start("delete", one), "yes")
    assert reply["ok"], reply
    k.wait(lambda e: any(r["uid"] == one and r.get("deleted") for r in e.get("rows", [])))
    intent = next(e for e in k.of("ledger") if e.get("binding") == "k8s.delete")
    assert intent["cell"] == watch and intent["effect"] == "destructive" and "delete Pod one" in intent["what"], intent
    phases = [e["phase"] for e in k.of("ledger", entry=intent["entry"])]
    assert phases[0] == "intent" and phases[-1] == "outcome" and "failed" not in phases, phases
    made = next(e for e in k.of("ledger", phase="outcome") if e.get("result", {}).get("uid") == one)
    assert [e["phase"] for e in k.of("ledger", entry=made["entry"])][-1] == "undone"
    assert k.ask(type="interrupt")["ok"]
    k.done(busy)
    # "always" said to a cell is not an answer to a key.
    cell_id = k.insert('k8s.delete("pod", "nobody")')
    k.start(cell_id)
    k.send(type="answer", ask=k.wait(lambda e: e["type"] == "ask" and e["cell"] == cell_id)["ask"], value="always")
    k.done(cell_id)
    question, reply = ask(table.start("delete", two), "no")
    assert "Pod two" in question["question"] and not reply["ok"], reply
    assert k.run("print(k8s.get('pod', 'two').metadata.uid)").out.strip() == two
    with open(k.journal(), encoding="utf-8") as f:
        journaled = [json.loads(line) for line in f]
    assert [e["phase"] for e in journaled if e.get("entry") == intent["entry"]] == phases


def test_two_clients(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = granted(Kernel(t, pod("one", "echo hello; exec sleep 600") + WATCH, "--socket", sock, env=sandbox(t)))
    table = Table(k)
    row = table.row("one", "Running")
    other = Connection.to(sock)
    other.send(type="hello", version=1)
    theirs = Table(k, other)
    assert theirs.row("one", "Running") == row
    both = [c.act("describe", row)["text"] for c in (theirs, table)]  # above the name and in the events stand ages
    first, second = (text[text.index("Name:"):text.index("Events:")] for text in both)
    assert first == second, both
    mine, number = table.act("logs", row)["display"], theirs.act("logs", row)["display"]
    assert mine != number, "each looks on his own"
    other.wait(lambda e: log_of(other, number)[-1]["to"] > 0 if log_of(other, number) else False)
    # The first answer counts; the question of a client that has gone is taken back.
    reply = table.start("delete", row)
    ask = other.wait(lambda e: e["type"] == "ask" and "delete Pod one" in e["question"])
    assert other.ask(type="answer", ask=ask["ask"], value="no")["ok"]
    assert not reply()["ok"]
    late = k.ask(type="answer", ask=ask["ask"], value="yes")
    assert not late["ok"] and "no question" in late["error"]["message"], late
    theirs.start("delete", row)
    ask = k.wait(lambda e: e["type"] == "ask" and e["ask"] > ask["ask"])
    other.close()
    taken = k.wait(lambda e: e["type"] == "answered" and e["ask"] == ask["ask"])
    assert "value" not in taken, taken
    k.wait(lambda e: e["type"] == "kernel" and e["state"] == "idle" and e["seq"] > taken["seq"])
    assert k.run("print(k8s.get('pod', 'one').metadata.uid)").out.strip() == row


def test_a_headless_run_is_only_watched(t):
    env = sandbox(t)
    script = pod("one") + cell('k8s.watch("pods", {selector = "of=test"}) firesteel.sleep "5m"')

    def attach(*allow):
        sock = os.path.join(t.dir(), "kernel.sock")
        if os.path.exists(sock):
            os.unlink(sock)
        k = Kernel(t, script, "--socket", sock, *allow, headless=True, env=env)
        k.wait(lambda e: e["type"] == "display" and PODS in e["data"])
        watcher = Connection.to(sock)
        watcher.send(type="hello", version=1)
        table = Table(k, watcher)
        return k, table, table.row("one", "Running")

    k, table, row = attach("--allow", "cluster")
    assert table.act("describe", row)["ok"]
    refused = table.act("delete", row)
    assert not refused["ok"] and "--allow destructive" in refused["error"]["message"], refused
    assert not k.of("ask")
    k.process.terminate()
    k.process.wait(20 * PATIENCE)
    sh_delete = Kernel(t, cell('k8s.delete("pod", "one", {grace = 0})', 'effects="destructive"'), "--allow", "destructive",
                       headless=True, env=env)
    assert sh_delete.finish() == 0, sh_delete.of("error")
    k, table, row = attach("--allow", "cluster,destructive")
    reply = table.start("delete", row)
    ask = table.connection.wait(lambda e: e["type"] == "ask")
    table.connection.send(type="answer", ask=ask["ask"], value="yes")
    assert reply()["ok"], reply()


def test_secrets_are_masked(t):
    secret = json.dumps({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "labels": {"of": "test"}},
                         "stringData": {"password": "correct-horse-battery"}})
    k = granted(Kernel(t, cell(f"k8s.create [==[{secret}]==]", 'effects="cluster"') +
                       cell('k8s.watch("secrets", {selector = "of=test"})'), env=sandbox(t)))
    table = Table(k)
    row = table.row("key")
    yaml = table.act("yaml", row)
    assert yaml["ok"] and "kind: Secret" in yaml["text"] and "[secret]" in yaml["text"], yaml
    assert "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5" not in yaml["text"] and "correct-horse" not in yaml["text"], yaml
    logs = table.act("logs", row)
    assert not logs["ok"] and "leads to no pods" in logs["error"]["message"], logs


class Wire:
    """A connection to a server that can be cut, and restored."""

    def __init__(self, port):
        self.to, self.open, self.listener = port, set(), None
        self.port = self.mend(0)

    def mend(self, port=None):
        self.listener = socket.create_server(("127.0.0.1", self.port if port is None else port))
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()
        return self.listener.getsockname()[1]

    def accept(self, listener):
        while True:
            try:
                here = listener.accept()[0]
            except OSError:
                return
            there = socket.create_connection(("127.0.0.1", self.to))
            self.open |= {here, there}
            for a, b in ((here, there), (there, here)):
                threading.Thread(target=self.carry, args=(a, b), daemon=True).start()

    def carry(self, a, b):
        try:
            while data := a.recv(1 << 16):
                b.sendall(data)
        except OSError:
            pass
        self.hang_up(a, b)

    def hang_up(self, *ends):
        for end in ends:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.hang_up(*self.open)
        self.open.clear()


def test_the_cluster_goes_away_and_comes_back(t):
    env = sandbox(t)
    with open(env["KUBECONFIG"], encoding="utf-8") as f:
        config = f.read()
    wire = Wire(int(re.search(r"https://127.0.0.1:(\d+)", config)[1]))
    t.after(wire.cut)
    wired = os.path.join(t.dir(), "kubeconfig")
    with open(wired, "w", encoding="utf-8") as f:
        f.write(re.sub(r"https://127.0.0.1:\d+", f"https://127.0.0.1:{wire.port}", config))
    k = granted(Kernel(t, pod("one") + WATCH, env=dict(env, KUBECONFIG=wired)))
    table = Table(k)
    row = table.row("one", "Running")
    began = time.time_ns()
    wire.cut()
    away = k.wait(lambda e: e["type"] == "cluster" and "away" in e)
    assert away["context"] == "firesteel-sandbox" and str(wire.port) in away["server"], away
    assert 0 < away["heard"] < time.time_ns() and away["heard"] > began - 60 * 10**9, away
    reply = table.act("describe", row)
    assert not reply["ok"] and reply["error"]["code"] == "unavailable", reply
    wire.mend()
    back = k.wait(lambda e: e["type"] == "cluster" and e["seq"] > away["seq"], 15)
    assert "away" not in back and back["heard"] >= away["heard"], back
    assert table.act("describe", row)["ok"]
    assert [("away" in e) for e in k.of("cluster")] == [False, True, False], k.of("cluster")


def test_a_private_sandbox_is_said_to_be_one(t):
    k = Kernel(t, cell('k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "x"}}'), "--sandbox",
               env={"HOME": t.dir()})
    k.start(k.cells()[0]["id"])
    ask = k.wait(lambda e: e["type"] == "ask")
    assert ask["effect"] == {"class": "cluster", "context": "firesteel-sandbox", "namespace": "default", "sandbox": True,
                             "objects": ["ConfigMap x"]}, ask
    cluster = k.of("cluster")
    assert len(cluster) == 1 and cluster[0]["sandbox"] and cluster[0]["context"] == "firesteel-sandbox", cluster


def test_the_status_line_knows_the_cluster(t):
    env = sandbox(t)
    k = Kernel(t, pod("one") + WATCH, env=env)
    first = k.wait(lambda e: e["type"] == "cluster")
    assert first["context"] == "firesteel-sandbox" and first["namespace"] == "default", first
    assert first["server"].startswith("https://127.0.0.1:") and not first["sandbox"] and "away" not in first, first
    granted(k)
    table = Table(k)
    row = table.row("one", "Running")
    assert len(k.of("cluster")) == 1, k.of("cluster")
    assert sh(FIRESTEEL, "sandbox", "down", env=env).code == 0
    away = k.wait(lambda e: e["type"] == "cluster" and "away" in e)
    assert away["context"] == "firesteel-sandbox" and away["heard"] > 0 and away["away"], away
    reply = table.act("describe", row)
    assert not reply["ok"] and reply["error"]["code"] == "unavailable", reply
    assert len(k.of("cluster")) == 2, k.of("cluster")
    other = Kernel(t, cell("print 'no cluster here'"), env={"HOME": t.dir(), "KUBECONFIG": os.path.join(t.dir(), "none")})
    other.execute(0)
    assert not other.of("cluster")


run(globals())
