#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`import firesteel` in cells in Python: what it calls passes gate and ledger, shows below the cell, and is verified by a
resumed run."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import ENV, firesteel, needs_kernels, write  # noqa: E402 (beside the tests above)
from kernel import Kernel  # noqa: E402
from sandbox import sandbox  # noqa: E402
from tap import eventually, run  # noqa: E402

CONFIG = 'k8s.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}, "data": {"a": "b"}})'


def plain(text):
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def name_of(done):
    return re.search(r"\(run ([\w-]+)\)", done.out).group(1)


def test_what_takes_functions_of_lua_says_what_to_write(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", """\
# %%
import firesteel
from firesteel import tune, hvd
for call in (lambda: tune(over={}), lambda: firesteel.parallel.map([1], print), lambda: hvd.run(print), lambda: firesteel.k8s.each("pods"),
             lambda: firesteel.expect(1).raises("x"), lambda: firesteel.json.decode("1"), lambda: firesteel.display.table(print)):
    try:
        print("done", call())
    except Exception as e:
        print(type(e).__name__, e)
firesteel.study
""")
    done = firesteel(folder, "run", "n.py")
    assert done.code == 0 and "done" not in done.out, done
    lines = [line for line in map(str.strip, done.out.splitlines()) if re.match("(Attribute|Type)?Error ", line)]
    wanted = ["Error tune takes functions of Lua", "AttributeError parallel takes", "Error hvd.run takes", "Error k8s.each is an iterator",
              "Error expectation:raises takes", "AttributeError firesteel has no json for Python, which has json itself",
              "TypeError firesteel cannot take functions of Python"]
    assert len(lines) == len(wanted) and all(line.startswith(w) for line, w in zip(lines, wanted)), done
    assert "%%lua in its first line" in lines[0] and "hvd.run(fn, {" in lines[2] and "study takes functions of Lua" in done.out, done


def test_a_notebook_that_calls(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", f"""\
# %% Make
from firesteel import *
print("first")
display.table([{{"name": "a", "n": 1}}, {{"name": "b", "n": 2}}])
run.metric("loss", 0.25, step=1)
one = {CONFIG}
print(one, one.kind, one["kind"], sorted(dict(one))[0])
one

# %% See
maps = k8s.list("configmaps")
assert [m.metadata["name"] for m in maps if m.metadata["name"] == "one"] == ["one"] and len(maps) >= 1, maps
expect(one).is_a("table")
print(k8s.get("configmap", "one").data["a"], firesteel_data := k8s.get("configmap", "one", namespace="default").data)
print(sh("echo hello; exit 3", check=False).code, template("${{a}}", {{"a": "ä"}}))
maps

# %% Gone
one.delete()
try:
    k8s.get("configmap", "one")
except Error as e:
    print("gone:", e)
try:
    k8s.list("configmaps", namespce="x")
except TypeError as e:
    print(e)
""")
    done = firesteel(folder, "run", "n.py", "--sandbox", "--allow", "cluster,destructive", "--report", "out.ipynb")
    assert done.code == 0, done
    first, table, made = (done.out.index(word) for word in ("first\n", "a     1", "configmap/one ConfigMap ConfigMap"))
    assert first < table < made and "cluster: create ConfigMap one" in done.out, done
    assert "b {'a': 'b'}" in done.out and "3 ä" in done.out and re.search(r"one +1 +\d+s", done.out), done
    assert 'gone: get configmaps one in namespace default: configmaps "one" not found' in done.out, done
    assert "unexpected keyword argument 'namespce'" in done.out, done
    told = firesteel(folder, "runs", "-o", "json")
    assert '"loss"' in told.out and "0.25" in told.out, told
    out = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))
    assert any("text/plain" in o.get("data", {}) and "a     1" in "".join(o["data"]["text/plain"]) for o in out["cells"][0]["outputs"]), out


def test_what_is_not_granted(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", f"# %%\nfrom firesteel import k8s\nprint('on')\n{CONFIG}\n")
    done = firesteel(folder, "run", "n.py", "--sandbox")
    assert done.code == 3 and "the effect is cluster, which is not granted; add --allow cluster" in done.out, done
    assert "----> 3 k8s.create" in plain(done.out), done
    write(folder, "n.py", f"# %%\nimport firesteel\nfrom firesteel import k8s\ntry:\n    {CONFIG}\nexcept firesteel.Refused as e:\n    print('no:', e)\n")
    done = firesteel(folder, "run", "n.py", "--sandbox")
    assert done.code == 0 and "no: create ConfigMap one" in done.out, done
    write(folder, "n.py", f"# %% effects=\"local\"\nfrom firesteel import k8s\n{CONFIG}\n")
    done = firesteel(folder, "run", "n.py", "--sandbox", "--allow", "cluster")
    assert done.code == 3 and "which this cell does not declare" in done.out, done


def test_a_resumed_run_verifies_what_python_called(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.py", f"""\
# %% Make
import os
from firesteel import k8s, expect
one = {CONFIG}
open("uids", "a").write(k8s.get(one).metadata["uid"] + "\\n")
assert os.path.exists("go"), "not yet"

# %% After
print("reached", one.metadata["name"] if "metadata" in one.keys() else one.name)
""")
    env = sandbox(t, {})
    done = firesteel(folder, "run", "n.py", "--allow", "cluster", env=env)
    assert done.code == 1 and "AssertionError: not yet" in done.out, done
    write(folder, "go", "")
    done = firesteel(folder, "run", "n.py", "--resume", name_of(done), "--allow", "cluster", env=env)
    assert done.code == 0 and "reached one" in done.out and "repeated" in done.out, done
    uids = open(os.path.join(folder, "uids"), encoding="utf-8").read().split()
    assert len(uids) == 2 and uids[0] == uids[1], "it was not made twice"


def test_interrupts_end_a_call(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("import firesteel, threading, time", 'language="python"').state == "ok"
    for source in ("print('on', flush=True)\nfiresteel.sleep(60)",
                   "print('on', flush=True)\nt = threading.Thread(target=firesteel.sleep, args=(60,))\nt.start(); t.join()",
                   "try:\n    print('on', flush=True)\n    firesteel.sleep('1h')\nfinally:\n    try: firesteel.versions()\n    except firesteel.Interrupted as e: print('in finally:', e)"):
        cell_id = k.insert(source, 'language="python"')
        k.start(cell_id)
        k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "on" in e.get("text", ""))
        assert k.ask(type="interrupt")["ok"]
        state = k.done(cell_id, 10)
        assert state["state"] == "cancelled" and k.of("error", cell=cell_id)[0]["name"] == "interrupted", state
    assert "in finally: the cell was interrupted" in k.text(cell_id), k.text(cell_id)
    cell_id = k.insert("""\
try:
    print('on', flush=True)
    firesteel.sleep('1h')
except BaseException as e:
    print('ended by', type(e).__name__)
    raise
finally:
    for _ in range(300): time.sleep(0.001)
    print('tidied up')
""", 'language="python"')
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "on" in e.get("text", ""))
    assert k.ask(type="interrupt")["ok"]
    assert k.done(cell_id, 10)["state"] == "cancelled" and "ended by KeyboardInterrupt\ntidied up\n" in k.text(cell_id), k.text(cell_id)
    r = k.run("firesteel.sleep(0.01)\nprint('goes on')", 'language="python"')
    assert r.state == "ok" and r.out == "goes on\n", r
    r = k.run("firesteel.sleep(60)", 'language="python" timeout="1s"')
    assert r.state == "failed" and r.error["name"] == "timeout", r


def test_threads_and_children(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    r = k.run("""\
import firesteel, os, subprocess, sys, threading
def ask(i): firesteel.run.metric("m", i, step=i)
many = [threading.Thread(target=ask, args=(i,)) for i in range(20)]
for one in many: one.start()
for one in many: one.join()
open('child.py', 'w').write('import firesteel\\ntry: firesteel.versions()\\nexcept firesteel.Error as e: print(e)')
print(subprocess.run([sys.executable, 'child.py'], capture_output=True, text=True).stdout, end='')
os.system(sys.executable + ' child.py > said'); print(open('said').read(), end='')
if os.fork() == 0:
    try: firesteel.versions()
    except firesteel.Error as e: open('said', 'w').write(str(e))
    os._exit(0)
os.wait()
print(open('said').read())
late = threading.Thread(target=lambda: (go.wait(), ask_late()))
go = threading.Event()
def ask_late():
    try: firesteel.versions()
    except firesteel.Error as e: open('late', 'w').write(str(e))
late.start()
threading.Timer(0.5, go.set).start()
""", 'language="python"')
    assert r.state == "ok" and r.out.count("can only be called by the notebook's own Python process") == 3, r
    metrics = [e for e in k.of("recorded") if e["kind"] == "metric"]
    assert sorted(e["step"] for e in metrics) == list(range(20)), metrics
    late = os.path.join(k.cwd, "late")
    eventually(lambda: os.path.exists(late) and "no cell runs" in open(late, encoding="utf-8").read())


def test_a_secret_is_masked(t):
    needs_kernels()
    k = Kernel(t, env={**ENV, "HIDDEN_WORD": "quite-secret-value"})
    r = k.run("import firesteel\ns = firesteel.secret('HIDDEN_WORD')\nprint(len(s), s)", 'language="python"')
    assert r.out == "18 [secret]\n", r
    assert "quite-secret-value" not in json.dumps(k.events) + open(k.journal(), encoding="utf-8").read(), k.events


run(globals())
