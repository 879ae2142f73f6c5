#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Short cells of a headless run, which the Lua thread begins by itself: what is told, and what stops them, is as for any others."""
import itertools
import os
import signal
import time

from kernel import Kernel, cell
from tap import eventually, run

NOTE = 'local f = io.open("ran", "a") f:write({0}, "\\n") f:close()'  # in a file that no effect knows


def ran(k):
    path = os.path.join(k.cwd, "ran")
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as f:
        return [int(line) for line in f]


def states(k):
    """{cell: its states in order}, by the order of the cells."""
    found = {c["id"]: [] for c in k.cells()}
    for e in k.of("state"):
        found[e["cell"]].append(e["state"])
    return list(found.values())


def brief(told):
    """Neighbours that are equal as one, with their number."""
    return [(len(list(group)), value) for value, group in itertools.groupby(told)]


def test_each_cell_is_told_between_its_neighbours(t):
    k = Kernel(t, "".join(cell(f'print("out {i}") io.stderr:write("err {i}\\n") x = {i}\nx') for i in range(300)), headless=True)
    assert k.finish() == 0
    cells = [c["id"] for c in k.cells()]
    told = [e for e in k.events if e.get("cell") in cells]
    assert [e["cell"] for e in told] == sorted((e["cell"] for e in told), key=cells.index)
    for i, c in enumerate(cells):
        mine = [e for e in told if e["cell"] == c]
        assert [(e["type"], e.get("state", e.get("name"))) for e in mine] == [
            ("state", "running"), ("stream", "stdout"), ("stream", "stderr"), ("display", None), ("state", "ok")], mine
        assert mine[0]["count"] == i + 1 and mine[1]["text"] == f"out {i}\n" and mine[4]["used"]["writes"].keys() == {"x"}, mine
        assert 0 <= mine[4]["ms"] < 10000, mine
    end, = k.of("end")
    assert (end["ok"], end["failed"], end["cancelled"]) == (300, 0, 0), end


def test_nothing_follows_a_failure_but_clean_ups(t):
    for fails in 0, 1, 40, 99:
        notebook = "".join(cell(NOTE.format(i) + (" error 'why'" if i == fails else "")) for i in range(100))
        k = Kernel(t, notebook + cell(NOTE.format(100), 'when="always"') + cell(NOTE.format(101), 'when="failed"'), headless=True)
        assert k.finish() == 1
        assert ran(k) == [*range(fails + 1), 100, 101], ran(k)
        good, bad, none = ["running", "ok"], ["running", "failed"], ["cancelled"]
        assert states(k) == [good] * fails + [bad] + [none] * (99 - fails) + [good] * 2, brief(states(k))
        end, = k.of("end")
        assert (end["ok"], end["failed"], end["cancelled"]) == (fails + 2, 1, 99 - fails), end


def test_an_interrupt_ends_the_cell_that_runs(t):
    for after in 0, 1, 5, 20, 50, 100:
        k = Kernel(t, "".join(cell(NOTE.format(i)) for i in range(3000)) + cell("while true do end"), headless=True)
        eventually(lambda: len(ran(k)) > after)
        os.kill(k.pid(), signal.SIGINT)
        assert k.finish() == 130, (k.code, k.stderr, after, k.of("end"))
        done = ran(k)
        assert done == list(range(len(done))), done
        told = states(k)
        began = [s for s in told if s[0] == "running"]
        assert told == began + [["cancelled"]] * (len(told) - len(began)), brief(told)
        assert all(s == ["running", "ok"] for s in began[:-1]) and began[-1][1] in ("ok", "cancelled"), began[-1]
        assert len(began) - 1 <= len(done) <= len(began), (len(began), len(done))


def test_a_time_out_ends_the_cell_that_runs(t):
    k = Kernel(t, "".join(cell(f"x = {i}") for i in range(50)) + cell("while true do end") + cell(NOTE.format(51)),
               "--timeout", "2s", headless=True)
    assert k.finish() == 4
    assert states(k) == [["running", "ok"]] * 50 + [["running", "failed"], ["cancelled"]] and not ran(k), brief(states(k))


def test_what_is_changed_before_it_runs_is_what_runs(t):
    go = "local f repeat firesteel.sleep(0.02) f = io.open('go') until f f:close()"
    k = Kernel(t, cell("x = 1") + cell("print(x)") + cell(go) + "".join(cell(NOTE.format(i)) for i in range(5)), headless=True)
    cells = k.cells()
    k.wait(lambda e: e["type"] == "state" and e["cell"] == cells[2]["id"] and e["state"] == "running")
    assert k.ask(type="edit", cell=cells[3]["id"], rev=1 << 40, source=NOTE.format(10))["ok"]
    assert k.ask(type="delete", cell=cells[5]["id"], rev=1 << 40)["ok"]
    time.sleep(0.1)
    with open(os.path.join(k.cwd, "go"), "w", encoding="ascii"):
        pass
    assert k.finish() == 0
    assert ran(k) == [10, 1, 3, 4], ran(k)
    assert [e["count"] for e in k.of("state", state="running")] == list(range(1, 8))


def test_cells_with_options_are_among_them(t):
    k = Kernel(t, cell("n = 0") + cell("print 'kept'", 'capture="text"') + cell("print(text)") +
               cell("n = n + 1 if n < 3 then error 'again' end", "retries=3") + cell("error 'as it should'", 'tags=["raises-exception"]') +
               cell("skipped = true", 'when="n > 3"') + cell("firesteel.sleep '1h'", 'timeout="50ms"') + cell("print 'never'"), headless=True)
    assert k.finish() == 4
    assert states(k) == [["running", "ok"]] * 3 + [["running", "failed"] * 2 + ["running", "ok"], ["running", "ok"],
                                                   ["running", "idle"], ["running", "failed"], ["cancelled"]], states(k)
    assert k.text() == "kept\n\n", k.text()


run(globals())
