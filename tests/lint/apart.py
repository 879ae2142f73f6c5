# SPDX-License-Identifier: MIT
"""Cases that do not run with sanitizers (tests/cover): they are there, they are chosen well, and only they are left out."""
import os
import re
import sys

from tap import BUILD, SOURCE, run, sh

os.environ.setdefault("FIRESTEEL_BUILD", BUILD)
os.environ.setdefault("FIRESTEEL_SOURCE", SOURCE)
sys.path.insert(0, os.path.join(SOURCE, "tests", "cover"))
import cover


def test_each_is_a_case(t):
    with open(cover.APART, encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
    assert len(lines) > 50
    gone = []
    for program, _, names in (line.partition(": ") for line in lines):
        with open(os.path.join(SOURCE, "tests", program), encoding="utf-8") as f:
            text = f.read()
        for name in names.split():
            if not re.search(rf"^def test_{name}\(", text, re.M):
                gone.append(f"{program}: {name}")
    assert not gone, f"{gone}: take them out of tests/cover/apart, or let `./check cover --record` do it"


def case(program, name, cost, **reached):
    return cover.Case(program, name, {(function, "0x1"): bits for function, bits in reached.items()}, cost)


def test_the_cheapest_that_reach_all_are_chosen(t):
    cases = [case(None, "", 9, f=0b0001), case("a.py", "", 9, f=0b0010),
             case("a.py", "nothing_new", 0.1, f=0b0011), case("a.py", "dear", 9, f=0b0100, g=0b1),
             case("b.py", "cheap", 1, f=0b0100, g=0b1), case("b.py", "alone", 50, h=0b1)]
    chosen, left, total, everything = cover.choose(cases)
    assert [c.name for c in chosen] == ["cheap", "alone"] and [c.name for c in left] == ["nothing_new", "dear"]
    assert total == everything == 5


def test_the_last_of_what_is_reached_is_not_paid_for(t):
    most = (1 << 1000) - 1
    chosen, left, total, everything = cover.choose([case("a.py", "most", 1, f=most), case("a.py", "last", 1, g=0b11)])
    assert [c.name for c in chosen] == ["most"] and [c.name for c in left] == ["last"] and (total, everything) == (1000, 1002)


def test_only_they_are_left_out(t):
    folder = t.dir()
    os.makedirs(f"{folder}/tests/replay")
    with open(f"{folder}/tests/replay/some.py", "w", encoding="utf-8") as f:
        f.write("from tap import run\ndef test_one(t): pass\ndef test_two(t): pass\nrun(globals())\n")
    with open(f"{folder}/apart", "w", encoding="utf-8") as f:
        f.write("# which\nreplay/other.py: one\nreplay/some.py: two three\n")
    def ran(**env):
        done = sh(sys.executable, f"{folder}/tests/replay/some.py", env={"FIRESTEEL_SOURCE": folder, **env})
        assert done.code == 0, done
        return re.findall(r"^ok \d+ - (\w+)", done.out, re.M)[:-1]
    assert ran() == ["one", "two"]
    assert ran(FIRESTEEL_APART=f"{folder}/apart") == ["one"]
    assert ran(FIRESTEEL_APART=f"{folder}/apart", FIRESTEEL_CASES="two") == ["two"], "a case that is named runs"


run(globals())
