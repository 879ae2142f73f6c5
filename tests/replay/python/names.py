#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which names a cell in Python reads and sets, and what is stale by them."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import firesteel, needs_kernels, write  # noqa: E402 (beside the tests above)
from tap import BUILD, run, sh  # noqa: E402

ASK = """
import json, sys
sys.path.insert(0, sys.argv[1])
import importlib
names = importlib.import_module("firesteel._names")
for source in json.load(sys.stdin):
    try: exec(compile(source, "cell", "exec"), globals())
    except SyntaxError: pass
    print(json.dumps(names.of(source).told))
"""


def told(*sources):
    import json
    done = sh(sys.executable, "-c", ASK, os.path.join(BUILD, "script", "python"), input=json.dumps(sources))
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def test_what_a_cell_reads_and_sets(t):
    cells = {
        "a = 1\nb = [1, 2]\nimport math": ([], ["a", "b", "math"], []),
        "def f(x):\n    y = x + a\n    return y": (["a"], ["f"], []),
        "c = f(3) + sum(i for i in b)": (["a", "b", "f"], ["c"], []),
        "b.append(3)": (["b"], [], ["b"]),
        "total = len(b) + math.pi": (["b", "math"], ["total"], []),
        "for i in range(3): a += i": (["a"], ["a", "i"], []),
        "class K:\n    def m(self): return c\nk = K()": (["c"], ["K", "k"], []),
        "z = k.m()": (["c", "k"], ["z"], ["k"]),
        "def g():\n    global made\n    made = a\n": (["a"], ["g", "made"], []),
        "import os\nos.environ['X_TEST'] = '1'": ([], ["os"], []),
        "os.environ.pop('X_TEST')": (["os"], ["os"], []),
        "w = lambda q: q + total": (["total"], ["w"], []),
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    print\n": ([], ["e"], []),
        "h: int = a; (u := a)": (["a"], ["h", "u"], []),
    }
    for (source, (reads, sets, touched)), is_ in zip(cells.items(), told(*cells), strict=True):
        assert (is_["reads"], sorted(is_["writes"]), is_["touched"]) == (reads, sets, touched), (source, is_)
    same, other, again = told("n = {'a': [1]}", "n = {'a': [2]}", "n = {'a': [1]}")
    assert same["writes"] == again["writes"] != other["writes"], (same, other)


def test_what_a_tree_does_not_tell(t):
    for is_ in told("!ls", "%matplotlib inline", "exec('a = 1')", "globals()['b'] = 1", "from os import *", "def f(): return eval('1')"):
        assert is_["unknown"] and "writes" not in is_, is_


def test_only_what_follows_is_stale(t):
    needs_kernels()
    folder = t.dir()
    text = "# %% A\na = 1\n\n# %% B\ndef f(x): return x + a\n\n# %% C\nb = 10\n\n# %% D\nprint(f(1))\n\n# %% E\nprint(b)\n"
    write(folder, "n.py", text)
    assert firesteel(folder, "run", "n.py").code == 0
    write(folder, "n.py", text.replace("a = 1", "a = 2"))
    done = firesteel(folder, "run", "n.py", "--stale")
    assert done.code == 0 and "runs      D  A is stale" in done.out and "stays     E" in done.out and "    3\n" in done.out, done
    assert "stays     C" in done.out, done
    write(folder, "n.py", text.replace("a = 1", "a = 2").replace("print(b)", "print(b + 1)"))
    done = firesteel(folder, "run", "n.py", "--stale")
    assert done.code == 0 and "    11\n" in done.out and "stays     D" in done.out, ("the cell that it needs is done again", done)


run(globals())
