#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes of lines by chance (tests/mutants/change.py, near.py, randomly.py): what is changed and what is not, which tests are
near, what the share's interval is, and that the files of results are in order."""
import os
import sys

from tap import SOURCE, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "mutants"))

import change
import near
import randomly


def changed(path, text):
    """{kind: [the changed lines]} of a source."""
    found = {}
    for place in change.places(path, text):
        before, after = change.difference(text, place)
        assert before != after and change.apply(text, place) != text, place
        found.setdefault(place.kind, []).append("\n".join(line.strip() for line in after))
    return found


def body(lines):
    return "#define SIZE 5\nenum { MOST = 7 };\nbool f(int a, int b)\n{\n" + lines + "}\n"


def test_conditions_in_c(t):
    found = changed("a.c", body("    if (a < 1 && b || g(a, \"x && y\")) // a == b\n        return true;\n"))
    assert found["negate a condition"] == ['if (!(a < 1 && b || g(a, "x && y"))) // a == b'], found
    assert found["drop what is before &&"] == ['if (b || g(a, "x && y")) // a == b'], found
    assert found["drop what is after &&"] == ['if (a < 1 || g(a, "x && y")) // a == b'], found
    assert found["drop what is before ||"] == ['if (g(a, "x && y")) // a == b'], found
    assert found["drop what is after ||"] == ['if (a < 1 && b) // a == b'], found
    assert found["< is <="] == ['if (a <= 1 && b || g(a, "x && y")) // a == b'], found
    assert found["1 is 0"] and found["1 is 2"] and found["return false"] == ["return false;"], found
    assert not any("5" in kind or "7" in kind for kind in found), "preprocessor lines and enumerations are left alone"


def test_statements_in_c(t):
    found = changed("a.c", body("    int *p = &a, q[3] = {0};\n    s->n += a;\n    g(a,\n        b);\n    free(p);\n    buf_done(&s);\n"
                                "    if (a)\n        h();\n    assert(a == b);\n    return a != b;\n"))
    assert found["delete a statement"] == [";", ";", ";"], found
    assert found["+= is -="] == ["s->n -= a;"] and found["return the opposite"] == ["return !(a != b);"], found
    assert "== is !=" not in found, "of an assertion"


def test_other_changes_in_c(t):
    found = changed("a.c", body("    static const char *const w[] = {\"a\", \"b\", \"c\"};\n    g(true, a ? b : a + 1, a * b);\n    p = (char *)q;\n"))
    assert found["drop an item"] == ['static const char *const w[] = {"b", "c"};', 'static const char *const w[] = {"a", "c"};'], found
    assert found["true is false"] and found["* is /"] == ["g(true, a ? b : a + 1, a / b);"], found
    assert found["swap what ?: chooses"] == ["g(true, a ? (a + 1) : (b), a * b);"], found


def test_changes_in_lua(t):
    found = changed("a.lua", 'local function f(a, b) -- a == b\n  if a ~= nil and not b then g(1) end\n  t.x = a or "or"\n  h(a,\n    b)\n  t[1] = true\nend\n')
    assert found["negate a condition"] == ["if not (a ~= nil and not b) then g(1) end"], found
    assert found["drop what is before and"] == ["if not b then g(1) end"], found
    assert found["drop what is after or"] == ["t.x = a"] and found["drop what is before or"] == ['t.x = "or"'], found
    assert found["~= is =="] and found["drop not"] and found["true is false"] == ["t[1] = false"], found
    assert found["delete a statement"] == ["", ""], "g(1) has no line for itself, h(…) has two"


def test_every_source_is_understood(t):
    files = randomly.sources(SOURCE)
    assert len(files) > 700 and any(f.endswith(".inc") for f in files) and any(f.endswith(".lua") for f in files), len(files)
    for file in files[::12]:
        change.places(file, near.read(os.path.join(SOURCE, file)))


def test_a_draw_can_be_repeated(t):
    draw = randomly.Draw(SOURCE, SOURCE)
    first = [draw.of(7, number)[::2] for number in range(5)]
    assert first == [randomly.Draw(SOURCE, SOURCE).of(7, number)[::2] for number in range(5)]
    assert draw.of(7, 0)[::2] != draw.of(7, 0, skip=1)[::2] and draw.of(8, 0)[::2] != first[0]


class Fake:
    """A runner of three tests, all of which have every source."""

    build = "."

    def __init__(self, folder):
        def test(suite, name, text):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            return {"suite": ["firesteel:" + suite], "cmd": ["x", path], "depends": []}
        self.tests = {"ropes": test("unit", "ropes.c", "TEST(a) { rope_cut(r); }"), "trees": test("unit", "trees.c", "tree_grow(t);"),
                      "whole": test("replay", "whole.py", "WORDS = 'the rope'\ndef test_knots(t):\n  cut(WORDS)\ndef test_leaves(t):\n  grow('tree')\n")}


def test_the_nearest_tests_have_the_words_of_the_source(t):
    tests = near.Tests(Fake(t.dir()), SOURCE)
    tests.has = lambda test, file: True
    source = "void rope_cut(rope *r)\n{\n    r->n--;\n}\n"
    first, second = tests.rings("base/rope.c", source, source, ((1, 1), (1, 1)))
    assert first == [("ropes", None), ("whole", ("knots",))], first
    assert second in ([], [("trees", None), ("whole", ("leaves",))]), second


def test_the_interval_is_wilson_s(t):
    low, high = randomly.wilson(180, 200)
    assert abs(low - 0.8507) < 1e-3 and abs(high - 0.9344) < 1e-3, (low, high)
    assert randomly.wilson(0, 0) == (0.0, 1.0) and randomly.wilson(5, 5)[1] > 0.9999


def test_what_makes_no_difference_does_not_count(t):
    path = os.path.join(t.dir(), "equivalent")
    with open(path, "w", encoding="utf-8") as f:
        f.write("# said\nfile a.c\n-    x = 1;\n+    ;\nreason It is 1 before.\n")
    equivalent = randomly.Equivalent(path)
    one = {"file": "a.c", "before": ["    x = 1;"], "after": ["    ;"], "verdict": "survived"}
    tried = [dict(one, verdict="noticed")] * 3 + [one, dict(one, file="b.c")]
    assert equivalent.reason(one) == "It is 1 before." and not equivalent.reason(tried[-1]) and not equivalent.faults()
    assert randomly.summary(tried, equivalent).startswith("3 of 4 noticed: 75 %"), randomly.summary(tried, equivalent)
    assert "1 more make" in randomly.summary(tried, equivalent)


def test_the_files_of_results_are_in_order(t):
    equivalent, tried = randomly.Equivalent(), randomly.read_tried()
    assert not equivalent.faults(), equivalent.faults()
    numbers = [(one["seed"], one["number"]) for one in tried]
    assert len(numbers) == len(set(numbers)), "a number was tried twice"
    unknown = [e["place"] for e in equivalent.entries if not any(
        (e["file"], e["before"], e["after"]) == (one["file"], one["before"], one["after"]) for one in tried)]
    assert not unknown, f"nobody has tried {unknown}"


run(globals())
