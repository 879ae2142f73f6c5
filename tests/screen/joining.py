#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A document has one kernel: another path to it opens the same run, and with another working folder the message says who has it."""
import os
import re
import time

from bench import folder, kernels, leave, text, workbench
from screen import Screen
from tap import FIRESTEEL, eventually, run

ASKS = '-- %% Asks\nprint("got " .. input "your name")\n'


def test_another_path_leads_to_the_same_kernel(t):
    where, elsewhere = folder(t), t.dir()
    link = os.path.join(elsewhere, "by-another-name.lua")
    os.symlink(os.path.join(where, "small.lua"), link)
    with workbench(where) as s:
        s.keys("j C-e")
        s.wait("[1] First")
        with Screen([FIRESTEEL, link], cwd=elsewhere) as other:
            other.wait("[1] First")
            other.wait("│ 42")
            assert len(kernels(where)) == 1 and not kernels(elsewhere), (kernels(where), kernels(elsewhere))
            other.keys("q")
            assert other.exit() == "exit 0"
        s.keys("C-e")
        s.wait("[2] First")
        leave(s)


def test_another_folder_is_told_who_has_it(t):
    where, elsewhere = folder(t), t.dir()
    with workbench(where) as s:
        name = kernels(where)[0].split()[0]
        with Screen([FIRESTEEL, os.path.join(where, "small.lua"), "--cwd", elsewhere], cwd=elsewhere, size="160x24") as other:
            other.wait("is open already")
            shown = text(other)
            assert re.search(r"process \d+ on \S+", shown) and f"firesteel attach {name}" in shown, shown
            assert other.exit() == "exit 1"
        s.keys("j C-e")
        s.wait("[1] First")
        leave(s)


def test_the_time_goes_on_while_a_cell_asks(t):
    where = folder(t, ASKS)
    with workbench(where) as s:
        began = time.monotonic()
        s.keys("C-e")
        s.wait("your name")
        eventually(lambda: re.search(r"Asks ─.* ([2-9]|\d\d)\.0s", text(s)), 10)
        assert time.monotonic() - began >= 2
        with Screen([FIRESTEEL, "attach"], cwd=where) as other:
            other.wait("Asks asks")
            other.type("Ada")
            other.keys("Enter")
            other.wait("got Ada")
            s.wait("got Ada")
            took = re.search(r"Asks.* ([\d.]+)s", text(s))
            assert took and 2 <= float(took[1]) <= time.monotonic() - began + 0.1, text(s)
            other.keys("q")
            assert other.exit() == "exit 0"
        s.wait("waits for no answer any more")
        s.keys("Esc")
        s.wait("COMMAND")
        leave(s)


def test_a_client_that_came_later_can_restart(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("G C-e")
        s.wait("line 1")
        s.keys("q")
        s.wait("goes on")
        s.exit()
    with Screen([FIRESTEEL, "attach"], cwd=where) as s, Screen([FIRESTEEL, "attach"], cwd=where) as other:
        s.wait("● [")
        other.wait("● [")
        s.keys("0 0")
        for each in (s, other):
            each.wait("● idle")
            each.gone("[*] Slow")
        s.keys("g g j C-e")
        other.wait("[1] First")
        leave(other)
        leave(s)


def test_opening_while_the_last_kernel_is_ending(t):
    where = folder(t)
    for _ in range(5):  # it ends at some moment of the next one's start
        with Screen([FIRESTEEL, "small.lua", "--keep", "0"], cwd=where) as s:
            s.wait("● idle")
            s.keys("j C-e")
            s.wait("[1] First")
            s.keys("q")
            assert s.exit() == "exit 0"


def test_who_only_watches_a_run_does_not_end_it(t):
    where = folder(t, "for i = 1, 1000 do print('line ' .. i) sh 'sleep 0.05' end\n")
    with Screen([FIRESTEEL, "run", "small.lua"], cwd=where) as runs:
        runs.wait("line 2")
        with Screen([FIRESTEEL, "attach"], cwd=where) as s:
            s.wait("(watching)")
            for keys in ("C-c", "i i"):
                s.keys(keys)
                s.wait("only watched")
            s.keys("q")
            s.exit()
        seen = runs.screen()
        eventually(lambda: runs.screen() != seen)
        runs.signal("INT")
        assert runs.exit() == "exit 130"


run(globals())
