#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the variables of cells hold, for clients that look (`:vars`): of Lua and of Python, while a cell of Python runs, too."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import ENV, needs_kernels, write  # noqa: E402 (beside the tests above)
from kernel import Kernel  # noqa: E402
from tap import FIRESTEEL, PATIENCE, run, sh  # noqa: E402

PYTHON = 'language="python"'
# an array of a library for GPUs: who reads it, or asks for its repr, fails
CUPY = """\
class ndarray:
    shape, dtype, nbytes, device = (100000, 25000), 'float32', 10_000_000_000, 'cuda:0'
    def __getattr__(self, name): raise SystemError(name)
    def __repr__(self): raise SystemError('read')
    def __len__(self): raise SystemError('read')
    __iter__ = __getitem__ = __array__ = __len__
"""


def told(k, of):
    reply = k.ask(type="variables")
    assert reply["ok"], reply
    return {v["name"]: v for v in reply["variables"] if v["of"] == of}, reply


def replies(k):
    return json.dumps([e for e in k.events if e["type"] == "reply"])


def whole(k, name, of):
    return k.ask(type="variables", name=name, of=of)


def test_of_lua(t):
    k = Kernel(t)
    r = k.run("x, _z, big = 3, 1, {}\nt = { 1, 2, a = 'ä' }\nfor i = 1, 100000 do big[i] = i end\nfunction f() end\npassword = 'hunter2-hunter2'\n"
              "wild = setmetatable({ 5 }, { __tostring = function() while true do end end, __index = error, __len = error, __pairs = error })\n"
              "raw = '\\xff'\nself = {}\nself.self = self\nafter = 7")
    assert r.state == "ok", r
    rows, reply = told(k, "lua")
    assert rows["x"]["type"] == "integer" and rows["x"]["preview"] == "3" and rows["x"]["cell"] == k.of("state")[-1]["cell"], rows["x"]
    assert rows["t"]["preview"] == '{1, 2, a = "ä"}' and rows["t"]["shape"] == "2" and "hidden" not in rows["t"], rows["t"]
    assert rows["big"]["shape"] == "100000" and rows["big"]["preview"].endswith("…") and len(rows["big"]["preview"]) < 200, rows["big"]
    assert rows["wild"]["preview"] == "{5}" and rows["self"]["preview"] == "{self = {…}}" and rows["raw"]["preview"] == '"\\xff"', rows
    assert rows["f"]["hidden"] and rows["_z"]["hidden"] and rows["password"]["preview"] == "[secret]" and "after" in rows, rows
    assert not {"print", "k8s", "_G", "help"} & set(rows) and reply["notes"] == [] and reply["more"] == 0, reply
    assert whole(k, "t", "lua")["text"] == '{\n  1,\n  2,\n  a = "ä"\n}' and whole(k, "password", "lua")["text"] == "[secret]"
    assert len(whole(k, "big", "lua")["text"].encode()) < (64 << 10) + 100
    assert "no variable nope" in whole(k, "nope", "lua")["error"]["message"] and whole(k, "x", "")["error"]["code"] == "not_found"
    assert "whose" in k.ask(type="variables", name="x")["error"]["message"]
    assert "hunter2" not in replies(k)
    cell_id = k.insert("print 'on'\nfiresteel.sleep(60)")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and "on" in e.get("text", ""))
    reply = k.ask(type="variables")
    assert reply["variables"] == [] and reply["notes"][0]["of"] == "lua" and "a cell runs" in reply["notes"][0]["why"], reply
    assert k.ask(type="interrupt")["ok"]


def test_of_python(t):
    needs_kernels()
    k = Kernel(t, env={**ENV, "MY_TOKEN": "quite-secret-value"})
    write(k.cwd, "cupy.py", CUPY)
    r = k.run("""\
import collections, cupy, os, time
class Raises:
    def __repr__(self): raise ValueError('no')
class Spins:
    def __repr__(self):
        while True: pass
class Sleeps:
    def __repr__(self): time.sleep(600)
class Leaves:
    def __repr__(self): raise SystemExit
class Huge:
    def __repr__(self): return 'h' * 10**7
class Lies(list):
    def __iter__(self): raise ValueError
    __len__ = __getitem__ = __repr__ = __iter__
class Plain: pass
raises, spins, sleeps, leaves, huge, lies, plain = Raises(), Spins(), Sleeps(), Leaves(), Huge(), Lies(), Plain()
array = cupy.ndarray()
text, many, number = 'x' * 10**7, list(range(10**6)), 10**5000
tree = {'a': [1, (2,), {3}], 'b': collections.deque([1])}
loop = []; loop.append(loop)
mine = os.environ['MY_TOKEN']
deep = {'x': 'z' * 140, 'key': os.environ['MY_TOKEN']}
db_password = 'hunter2-hunter2'
def f(x, *, y): pass
_under = 1
""", PYTHON)
    assert r.state == "ok", r
    begun = time.monotonic()
    rows, reply = told(k, "python3")
    assert time.monotonic() - begun < 5 * PATIENCE and reply["notes"] == [], reply["notes"]
    say = {name: row["preview"] for name, row in rows.items()}
    assert say["raises"] == "(its repr raises ValueError)" and say["leaves"] == "(its repr raises SystemExit)", say
    assert say["spins"] == say["sleeps"] == "(its repr takes too long)" and say["lies"] == "(its repr raises ValueError)", say
    assert say["plain"] == "<Plain object>" and say["huge"] == "h" * 160 + "…" and say["loop"].startswith("[[[") and len(say["loop"]) < 60, say
    assert say["tree"] == "{'a': [1, (2,), {3}], 'b': deque([1])}" and say["number"] == "(a number of 16610 bits)", say
    assert say["array"] == "float32 on cuda:0" and rows["array"]["shape"] == "100000×25000" and rows["array"]["bytes"] == 10**10, rows["array"]
    assert rows["text"]["shape"] == "10000000" and len(say["text"]) < 200 and rows["many"]["shape"] == "1000000", rows["text"]
    assert say["mine"] == "'[secret]'" and say["db_password"] == "[secret]" and "quite" not in say["deep"], say
    assert {n for n, row in rows.items() if row.get("hidden")} >= {"f", "_under", "os", "Plain"} and say["f"] == "f(x, y)", rows
    assert rows["tree"]["cell"] == k.of("state")[-1]["cell"] and not {"In", "Out", "_", "_i1", "get_ipython"} & set(rows), sorted(rows)
    assert whole(k, "tree", "python3")["text"] == say["tree"] and whole(k, "tree", "python3")["kind"] == "builtins.dict"
    assert len(whole(k, "text", "python3")["text"]) == (64 << 10) + 1 and len(whole(k, "huge", "python3")["text"]) == (64 << 10) + 1
    assert whole(k, "mine", "python3")["text"] == "[secret]" and "repr raises SystemError" in whole(k, "array", "python3")["text"]
    assert "no variable nope" in whole(k, "nope", "python3")["error"]["message"]
    assert "no cell has started a kernel other" in whole(k, "x", "other")["error"]["message"]
    assert "quite-secret" not in json.dumps(k.events) and "hunter2" not in replies(k)
    r = k.run("x = _\nlen(many)", PYTHON)
    assert r.state in ("ok", "failed"), "it goes on"


def test_while_a_cell_runs(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("before = 1", PYTHON).state == "ok"
    cell_id = k.insert("import time\nmeanwhile = [1, 2]\nprint('on', flush=True)\ntime.sleep(600)", PYTHON)
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and "on" in e.get("text", ""), 60)
    rows, reply = told(k, "python3")
    assert rows["before"]["preview"] == "1" and rows["meanwhile"]["preview"] == "[1, 2]", rows
    assert [n["of"] for n in reply["notes"]] == ["lua"], reply["notes"]
    assert whole(k, "meanwhile", "python3")["text"] == "[1, 2]"
    assert k.ask(type="interrupt")["ok"] and k.done(cell_id, 30)["state"] == "cancelled"
    assert k.run("echo 1", 'language="bash" kernel="bash"').state == "ok"
    notes = k.ask(type="variables")["notes"]
    assert [n["of"] for n in notes] == ["bash"] and "kernels for bash do not tell their variables" in notes[0]["why"], notes


def test_the_verb(t):
    runtime = t.dir()
    os.chmod(runtime, 0o700)
    k = Kernel(t, "", "--socket", os.path.join(runtime, "one.sock"))
    assert k.run("x, words = 3, { 'a', 'b' }\nfunction f() end\ndb_token = 'hunter2-hunter2'").state == "ok"
    name = k.wait(lambda e: e["type"] == "welcome")["run"]

    def verb(*words):
        return sh(FIRESTEEL, "vars", *words, env={"FIRESTEEL_RUNTIME_DIR": runtime})

    done = verb(name)
    rows = [line.split() for line in done.out.splitlines()]
    assert done.code == 0 and rows[0] == ["NAME", "IN", "TYPE", "SHAPE", "BYTES", "VALUE"], done
    assert ["x", "lua", "integer", "3"] in rows and ["words", "lua", "table", "2", '{"a",', '"b"}'] in rows and "f " not in done.out, done
    assert "hunter2" not in done.out and "function from" in verb(name, "-a").out
    found = json.loads(verb(name, "-o", "json").out)
    assert {v["name"] for v in found["variables"]} == {"x", "words", "f", "db_token"} and all(v["cell"] for v in found["variables"]), found
    assert verb(name, "words").out == '{\n  "a",\n  "b"\n}\n' and json.loads(verb(name, "x", "-o", "json").out) == {"kind": "integer", "text": "3"}
    missing = verb(name, "nope")
    assert missing.code == 1 and "has no variable nope" in missing.err, missing
    assert verb(name, "-o", "yaml").code == 2 and verb("a", "b", "c").code == 2


run(globals())
