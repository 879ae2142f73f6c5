#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Effects: the gate refuses before anything happens, the ledger records what was done, a resumed run verifies it."""
import json
import os
import shutil
import signal

from kernel import Kernel, cell
from tap import PATIENCE, Skip, eventually, run


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def exists(k, name):
    return os.path.exists(os.path.join(k.cwd, name))


def test_declared_effects_are_granted_before_cell_1(t):
    notebook = cell("sh 'touch happened'") + cell("print 'never'", 'Deploy effects="cluster"') + \
        cell("print 'never'", 'Clean up effects="destructive"')
    k = Kernel(t, notebook, headless=True)
    assert k.finish() == 3
    error = k.of("error")[0]
    assert error["name"] == "refused" and "cell 2 (Deploy), cell 3 (Clean up)" in error["message"], error
    assert error["message"].endswith("add --allow cluster,destructive"), error
    assert not exists(k, "happened") and not k.of("state")
    assert k.of("end")[0]["outcome"] == "refused"
    k = Kernel(t, notebook, "--allow", "cluster", headless=True)
    assert k.finish() == 3 and "cell 3" in k.of("error")[0]["message"] and not exists(k, "happened")
    k = Kernel(t, notebook, "--allow", "cluster,destructive", headless=True)
    assert k.finish() == 0 and exists(k, "happened")
    k = Kernel(t, notebook, "--allow", "clusters", headless=True)
    assert k.finish() == 2 and "no such effect" in k.stderr


def test_a_declaration_narrows(t):
    k = Kernel(t, cell("sh 'touch x'", 'Quiet effects="pure"'), headless=True)
    assert k.finish() == 3 and not exists(k, "x")
    assert 'write effects="local" on its marker line' in k.of("error")[0]["message"], k.of("error")
    k = Kernel(t, cell("io.open('x', 'w')", 'effects="pure"'), headless=True)
    assert k.finish() == 3 and not exists(k, "x")
    k = Kernel(t, cell("x: 1", 'file="x" effects="pure"'), headless=True)
    assert k.finish() == 3 and not exists(k, "x")
    k = Kernel(t, cell("pcall(sh, 'touch x') os.remove 'x'", 'effects="pure"'), headless=True)
    assert k.finish() == 3 and not exists(k, "x")


def test_children_cannot_use_the_cluster_unless_declared(t):
    kubeconfig = os.path.join(t.dir(), "config")
    with open(kubeconfig, "w", encoding="utf-8") as f:
        f.write("{}")
    k = Kernel(t, "", env={"KUBECONFIG": kubeconfig})
    r = k.run("!echo $KUBECONFIG")
    assert r.out != kubeconfig + "\n", r
    refusing = json.loads(read(r.out.strip()))
    plugin = refusing["users"][0]["user"]["exec"]
    r = k.run(f"sh {{'{plugin['command']}', '{plugin['args'][0]}', check = false}}")
    assert 'write effects="cluster" on its marker line' in r.err, r
    assert k.run("!echo $KUBECONFIG", 'effects="cluster"').out == kubeconfig + "\n"
    if not shutil.which("kubectl"):
        raise Skip("kubectl is not here")
    r = k.run("sh('kubectl get pods', {check = false})")
    assert 'write effects="cluster"' in r.err, r


def test_ledger_has_intent_and_outcome(t):
    k = Kernel(t)
    k.run("sh 'echo hi'")
    intent, outcome = k.of("ledger")
    assert (intent["phase"], intent["binding"], intent["effect"]) == ("intent", "sh", "local")
    assert intent["what"] == "run `echo hi`" and outcome["result"] == {"code": 0, "output": "hi\n", "files": {}}
    k.run("pcall(sh, 'exit 3')")
    assert [e["phase"] for e in k.of("ledger")[2:]] == ["intent", "failed"]


def test_unknown_bindings_and_wrong_arguments(t):
    k = Kernel(t)
    assert 'there is no binding "nope"' in k.run("firesteel.call('nope', {})").error["message"]
    assert "a function is not JSON" in k.run("firesteel.call('sh', {words = {print}})").error["message"]
    assert "no NaN" in k.run("firesteel.call('sh', {x = 0/0})").error["message"]
    assert "sh expects a command" in k.run("sh(nil)").error["message"]
    assert k.run("trainer.run 'nope.lua'").error["message"].endswith("there is no file nope.lua in the working folder")
    assert "no option lr" in k.run("trainer.run {'nope.lua', lr = 1}").error["message"]


NOTEBOOK = (cell("sh('echo ran >> first.log')", "First") +
            cell("a = 1\n", 'file="f.txt"') +
            cell("r = sh('echo ran >> second.log; cat input', {inputs = {'input'}, outputs = {'second.log'}})\nprint('got ' .. r.output)",
                 "Second") +
            cell("sh('echo ran >> third.log; test -e go')", "Third"))


def first_part(t, notebook=NOTEBOOK):
    k = Kernel(t, notebook, headless=True, hello=False)
    with open(os.path.join(k.cwd, "input"), "w", encoding="utf-8") as f:
        f.write("one")
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1
    return k


def resume(t, k, notebook=NOTEBOOK):
    name = k.of("welcome")[0]["run"]
    again = Kernel(t, notebook, "--resume", name, headless=True, cwd=k.cwd)
    again.finish()
    return again


def count(k, name):
    return read(k.cwd, name).count("ran")


def test_resume_verifies_instead_of_repeating(t):
    k = first_part(t)
    open(os.path.join(k.cwd, "go"), "w").close()
    again = resume(t, k)
    assert again.code == 0, again.stderr + str(again.of("error"))
    # a command that declares no files is repeated
    assert (count(k, "first.log"), count(k, "second.log"), count(k, "third.log")) == (2, 1, 2)
    assert "got one" in again.text() and again.journal() == k.journal()
    assert [e.get("resumed", False) for e in again.of("state", state="ok") if e["seq"] > k.events[-1]["seq"]] == [False, True, True, False]
    lines = [json.loads(line) for line in read(again.journal()).splitlines()]
    assert [e["seq"] for e in lines] == list(range(1, len(lines) + 1))
    assert sum(e["type"] == "resumed" for e in lines) == 1
    assert [e["entry"] for e in lines if e["type"] == "ledger" and e["phase"] == "verified"] == [2, 3]
    once_more = resume(t, again)
    assert once_more.code == 0 and count(k, "third.log") == 3


def test_resume_does_again_from_the_first_that_changed(t):
    k = first_part(t)
    with open(os.path.join(k.cwd, "input"), "w", encoding="utf-8") as f:
        f.write("two")
    open(os.path.join(k.cwd, "go"), "w").close()
    again = resume(t, k)
    assert again.code == 0 and "got two" in again.text()
    assert (count(k, "first.log"), count(k, "second.log"), count(k, "third.log")) == (2, 2, 2)
    k = first_part(t)
    os.remove(os.path.join(k.cwd, "f.txt"))
    open(os.path.join(k.cwd, "go"), "w").close()
    again = resume(t, k)
    assert (count(k, "first.log"), count(k, "second.log"), exists(k, "f.txt")) == (2, 2, True)
    k = first_part(t)
    open(os.path.join(k.cwd, "go"), "w").close()
    edited = NOTEBOOK.replace("a = 1", "a = 2")
    again = resume(t, k, edited)
    assert again.code == 0 and read(k.cwd, "f.txt") == "a = 2\n"
    assert (count(k, "first.log"), count(k, "second.log")) == (2, 2)


def test_resume_after_kill_9(t):
    notebook = cell("sh 'echo ran >> a.log'") + cell("sh 'echo ran >> b.log; test -e go || sleep 60'")
    k = Kernel(t, notebook, headless=True)
    eventually(lambda: exists(k, "b.log"), 10)
    os.kill(k.pid(), signal.SIGKILL)
    k.process.wait(5 * PATIENCE)
    with open(k.journal(), "a", encoding="utf-8") as f:
        f.write('{"type":"torn')
    open(os.path.join(k.cwd, "go"), "w").close()
    again = resume(t, k, notebook)
    assert again.code == 0, again.stderr
    assert (count(k, "a.log"), count(k, "b.log")) == (2, 2)  # an intent without an outcome is no success


def test_resume_needs_its_journal(t):
    k = Kernel(t, NOTEBOOK, "--resume", "no-such-run", headless=True)
    assert k.finish() == 2 and "no-such-run" in k.stderr, k.stderr


def test_asking_and_answering(t):
    k = Kernel(t)
    cell_id = k.insert("name = input 'who?'\nprint('hello ' .. name)")
    k.start(cell_id)
    ask = k.wait(lambda e: e["type"] == "ask")
    assert ask["question"] == "who?" and ask["cell"] == cell_id
    k.wait(lambda e: e["type"] == "kernel" and e["state"] == "asking")
    assert not k.ask(type="answer", ask=99, value="x")["ok"]
    assert k.ask(type="answer", ask=ask["ask"], value="you")["ok"]
    assert k.done(cell_id)["state"] == "ok" and k.text() == "hello you\n"
    cell_id = k.insert("s = secret 'NO_SUCH_SECRET'\nprint(s)")
    k.start(cell_id)
    ask = k.wait(lambda e: e["type"] == "ask" and e.get("secret"))
    k.ask(type="answer", ask=ask["ask"], value="verysecret")
    k.done(cell_id)
    assert "verysecret" not in read(k.journal()) and "[secret]" in k.text(cell_id)
    cell_id = k.insert("input 'never answered'")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "ask" and e["question"] == "never answered")
    k.ask(type="interrupt")
    assert k.done(cell_id)["state"] == "cancelled"
    k = Kernel(t, cell("input 'x'"), headless=True)
    assert k.finish() == 3 and "nobody can be asked" in k.of("error")[0]["message"]


run(globals())
