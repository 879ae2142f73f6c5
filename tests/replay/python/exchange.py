#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Values between cells in Lua and in Python, and cells in Lua in a notebook in Python."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import ENV, firesteel, ipynb, needs_kernels, write  # noqa: E402 (beside the tests above)
from kernel import Kernel  # noqa: E402
from tap import run  # noqa: E402


def test_values_pass_both_ways(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run('py.set { lr = 0.1, names = {"a", "ä\\"\'\\\\"}, deep = { n = {1, 2}, last = false } }').state == "ok"
    r = k.run("print(lr, names, deep, sep='|')\nx = {'a': [1, 2.5, None], 'b': (True, 'é')}\nnone = None", 'language="python"')
    assert r.out in ("0.1|['a', 'ä\"\\'\\\\']|{'n': [1, 2], 'last': False}\n", "0.1|['a', 'ä\"\\'\\\\']|{'last': False, 'n': [1, 2]}\n"), r
    r = k.run('print(py.x.a[1], py.x.a[2], py.x.b[2], py.get "sum(n for n in [1, 2])", py.none == nil)\npy.y = 7\nprint(py.y + 1)')
    assert r.out == "1\t2.5\té\t3\ttrue\n8\n", r
    r = k.run("print(py.get \"float('inf')\", py.get 'len(dir()) > 0 and get_ipython().execution_count')")
    assert r.out.startswith("inf\t") and r.state == "ok", r
    assert k.run("1 + 1", 'language="python"').value == "2"


def test_errors_are_python_s(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    for source, words in (("py.nothing", "NameError: name 'nothing' is not defined"), ('py.get "1 +"', "SyntaxError"),
                          ('py.get "object()"', "TypeError: firesteel takes numbers"), ('py.get "\'x\' * 5000000"', "ValueError: the value has 4 MiB"),
                          ('py.set { ["a b"] = 1 }', "a b is no name of a variable"), ("py.set { f = print }", "f: a function is not JSON")):
        r = k.run(source)
        assert r.state == "failed" and words in r.error["name"] + ": " + r.error["message"], (source, r)
    cell_id = k.insert("py.get \"__import__('time').sleep(60)\"")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "state" and e["cell"] == cell_id and e["state"] == "running")
    assert k.ask(type="interrupt")["ok"]
    assert k.done(cell_id, 10)["state"] == "cancelled"


def test_lua_in_a_notebook_in_python(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("x = 20", "%%lua\ny = py.x * 2\nprint(y + 2)\nerror 'here'", metadata={"kernelspec": {"name": "python3", "language": "python"}}))
    done = firesteel(folder, "run", "n.ipynb", "--report", "o.ipynb")
    assert done.code == 1 and "42" in done.out and "here" in done.out and "4: here" in done.err + done.out, done
    out = json.load(open(os.path.join(folder, "o.ipynb"), encoding="utf-8"))
    assert "".join(out["cells"][1]["source"]).startswith("%%lua\ny = py.x"), out
    write(folder, "n.py", "# %%\nx = 20\n\n# %% language=\"lua\"\n# print(py.x + 1)\n")
    done = firesteel(folder, "run", "n.py")
    assert done.code == 0 and "21" in done.out, done


ENVIRONMENT = """\
-- %% One
%env FROM_LUA=one
-- %% Two language="python"
-- import os
-- print("two", os.environ["FROM_LUA"])
-- os.environ["FROM_PYTHON"] = "set"
-- %env MAGIC=three
-- %env MY_TOKEN=quite-secret-value
-- %% Three
print("three", os.getenv "FROM_PYTHON", os.getenv "MAGIC")
sh "echo $FROM_PYTHON $MAGIC $MY_TOKEN"
%env FROM_LUA=again
-- %% Four language="python"
-- print("four", os.environ["FROM_LUA"], os.environ["FIRESTEEL_CALLS"])
-- del os.environ["FROM_PYTHON"]
-- os.environ["KUBECONFIG"] = "/nowhere"
-- %% Five
print("five", os.getenv "FROM_PYTHON", os.getenv "KUBECONFIG" ~= "/nowhere")
-- %% Six language="python"
-- def quietly(): getattr(os, "env" + "iron")["BY_A_LIBRARY"] = "1"
-- quietly()
-- %% Seven
print("seven", os.getenv "BY_A_LIBRARY")
"""


def test_the_environment_is_the_same_on_both_sides(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "n.lua", ENVIRONMENT)
    done = firesteel(folder, "run", "n.lua")
    assert done.code == 0, done
    for line in ("two one", "three set\tthree", "set three [secret]", "four again child", "five nil\ttrue", "seven nil"):
        assert line.replace("\t", " ") in done.out.replace("\t", " "), (line, done)
    assert "quite-secret" not in done.out, done


run(globals())
