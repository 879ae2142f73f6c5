#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The real workbench with a real kernel under random keys, pastes and sizes: it must draw on, answer a key
that is known, and leave in order. The input is the same every time; in the sanitized build this finds memory errors."""
import os
import random

from bench import RESTORED, folder, workbench
from pressing import program_tables
from tap import eventually, run

NOTEBOOK = """-- %% [markdown]
-- # Storm 漢字

-- %% Prints
for i = 1, 200 do print("line " .. i .. " 漢字 \\27[31mred\\27[0m") end
display.table { { NAME = "a", STATUS = "Running" } }

-- %% Shows
display.plot { { 1, 2, 3 }, title = "curve" }
error "no"

-- %% Waits
for i = 1, 20 do print(i) sh "sleep 0.02" end
"""
LEAVE = {"q", "C-q", "C-z", "C-\\"}  # other tests leave and stop
SIZES = ["80x24", "40x10", "1x1", "10x2", "200x60", "79x23"]


def hands(seed, count):
    """The steps: (how, what)."""
    chance = random.Random(seed)
    keys = sorted({key for table in program_tables().values() for key in table} - LEAVE - {"e"})
    for _ in range(count):
        kind = chance.random()
        if kind < 0.8:
            yield "keys", chance.choice(keys)
        elif kind < 0.9:
            yield "type", chance.choice(["x = 1", "漢", "print(1)", "j", "'", "e\u0301"])
        elif kind < 0.95:
            yield "resize", chance.choice(SIZES)
        else:
            yield "paste", chance.choice(["a\nb\n", "\t漢\n", "x" * 300])


def storm(t, seed, count):
    with workbench(folder(t, NOTEBOOK), env={"EDITOR": "true"}, log=os.path.join(t.dir(), "sent")) as s:
        for i, (how, what) in enumerate(hands(seed, count)):
            getattr(s, how)(what)
            if i % 10 == 0:
                s.quiet(2)
        s.resize("80x24")

        def among_cells():
            s.keys("Esc")
            s.quiet(100)
            return "COMMAND" in s.screen()[23] and "\x1b" not in "".join(s.screen())
        eventually(among_cells)
        s.signal("TERM")
        assert s.exit() == "exit 0", s.screen()
        assert s.tty() == RESTORED


def test_random_hands(t):
    for seed in range(4):
        storm(t, seed, 400)


run(globals())
