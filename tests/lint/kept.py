# SPDX-License-Identifier: MIT
"""Results of mutants are kept as long as nothing moves that decides them (tests/mutants/kept.py)."""
import os
import sys

from tap import SOURCE, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "mutants"))
import kept
import table

FILES = {
    "base/a.c": "int a = 1;\nint b = 2;\n",
    "base/other.c": "int c = 3;\n",
    "tests/support/fake.h": "int fake(void);\n",
    "tests/support/fake.c": "int fake(void) { return 1; }\n",
    "tests/support/tap.py": "patience = 1\n",
    "tests/unit/test_a.c": '#include "tests/support/fake.h"\n\nTEST(one)\n{\n    CHECK(a == 1);\n}\n\nTEST(two)\n{\n    CHECK(b == 2);\n}\n',
    "tests/replay/kernel.py": "def helper():\n    return 1\n",
    "tests/replay/a.py": "from kernel import helper\nfrom tap import run\n\ndef test_three(t):\n    assert helper()\n\ndef test_four(t):\n"
                         "    test_three(t)\n\ndef test_five(t):\n    pass\n",
    "tests/unit/loops.lua": 'local cases = require "cases"\ntest("six", function()\n  same(1, 1)\nend)\ntest("seven", function()\n  same(2, 2)\nend)\n',
    "tests/unit/cases.lua": "return {}\n",
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as f:
        f.write(text)


def mutant(test, case):
    m = table.Mutant("m", "here")
    m.file, m.before, m.after, m.tests = "base/a.c", ["int a = 1;"], ["int a = 2;"], [(test, case)]
    return m


def moves(t, test, case, path, old, new):
    """Does the digest become another one when the text of a file changes?"""
    root, m = t.dir(), mutant(test, case)
    for name, text in FILES.items():
        write(root, name, text)
    before = kept.Sources(root).digest(m)
    assert before == kept.Sources(root).digest(mutant(test, case))
    assert old in FILES[path], (path, old)
    write(root, path, FILES[path].replace(old, new))
    return before != kept.Sources(root).digest(m)


def test_what_decides_a_result_moves_it(t):
    assert moves(t, "a", "one", "base/a.c", "b = 2", "b = 3")
    assert moves(t, "a", "one", "tests/unit/test_a.c", "a == 1", "a <= 1")
    assert moves(t, "a", "one", "tests/support/fake.h", "int", "long")
    assert moves(t, "a", "one", "tests/support/fake.c", "return 1", "return 2")
    assert moves(t, "a", "three", "tests/replay/kernel.py", "return 1", "return 2")
    assert moves(t, "a", "four", "tests/replay/a.py", "assert helper()", "assert True")
    assert moves(t, "loops", "six", "tests/unit/loops.lua", "same(1, 1)", "same(1, 2)")
    assert moves(t, "loops", "six", "tests/unit/cases.lua", "{}", "nil")


def test_nothing_else_moves_it(t):
    assert not moves(t, "a", "one", "base/other.c", "3", "4")
    assert not moves(t, "a", "one", "tests/unit/test_a.c", "b == 2", "b >= 2")
    assert not moves(t, "a", "one", "tests/unit/test_a.c", "TEST(two)", "TEST(new)\n{\n    CHECK(1);\n}\n\nTEST(two)")
    assert not moves(t, "a", "three", "tests/replay/a.py", "    pass\n", "    pass\n\ndef test_eight(t):\n    pass\n")
    assert not moves(t, "a", "three", "tests/support/tap.py", "1", "2")
    assert not moves(t, "loops", "six", "tests/unit/loops.lua", "same(2, 2)", "same(2, 1)")


def test_the_mutant_is_part_of_it(t):
    root, other, hangs = t.dir(), mutant("a", "one"), mutant("a", "one")
    for name, text in FILES.items():
        write(root, name, text)
    other.after, hangs.hangs = ["int a = 0;"], True
    digests = {kept.Sources(root).digest(m) for m in (mutant("a", "one"), mutant("a", "two"), other, hangs)}
    assert len(digests) == 4, digests


def test_what_is_kept_is_read_again(t):
    root, kept.PATH = t.dir(), os.path.join(t.dir(), "noticed")
    for name, text in FILES.items():
        write(root, name, text)
    m = mutant("a", "one")
    results = kept.Kept([m], root)
    assert results.state("m") == "never run"
    results.put("m", "2026-01-02")
    results.save()
    assert kept.Kept([m], root).state("m") == "2026-01-02" and kept.Kept([m], root).is_known("m")
    write(root, "base/a.c", "int a = 1;\n")
    assert kept.Kept([m], root).state("m") == "moved since 2026-01-02"
    assert not kept.faults([m]) and "remove the line" in kept.faults([])[0]
    results.put("m", None)
    results.save()
    assert kept.Kept([m], root).state("m") == "never run"


run(globals())
