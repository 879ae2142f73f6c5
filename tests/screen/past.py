#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A run that has ended, opened read-only: as it ended, and as it was at any time before."""
import os

from bench import folder, kernels, leave, text
from golden import golden
from journals import PAST, state, write
from screen import Screen
from tap import FIRESTEEL, run, sh

RUN = "past-20260102-140300-7f3a"


def look(where, *argv, size="80x24", wait="● failed"):
    s = Screen([FIRESTEEL, "show", "--open", *argv], cwd=where, size=size, env={"TZ": "UTC"})
    s.wait(wait)
    return s


def past(t, events=PAST, **more):
    where = t.dir()
    write(where, RUN, events, **more)
    return where


def time_row(s):
    return s.screen()[-1]


def test_it_is_as_it_ended_and_as_it_was(t):
    where = past(t)
    with look(where) as s:
        assert "14:04:40" in time_row(s) and "1m40s of 1m40s" in time_row(s), text(s)
        assert "✗ bad" in text(s) or "✗ error" in text(s), text(s)
        s.keys("< < < <")
        s.wait("[*] Train")
        assert "14:03:06" in time_row(s), text(s)
        assert "epoch 1" not in text(s) and "queued" in text(s), text(s)
        s.wait("● [2] Train")
        s.keys(".")
        s.wait("1/3")
        s.keys(". .")
        s.wait("3/3")
        assert "14:04:20" in time_row(s), text(s)
        s.wait("1m14s")  # by its clock, not by ours
        s.keys(",")
        s.wait("2/3")
        s.keys(")")
        s.wait("✗ error in line 1")
        s.keys(".")
        s.wait("the run ends here")
        s.keys("( ,")
        s.wait("the run begins here")
        leave(s)


def test_it_looks_pleasant(t):
    for size in "80x24", "120x40":
        with look(past(t), size=size) as s:
            s.keys("< <")
            s.wait("3/3")
            golden(s, "past-" + size.split("x")[0])
            s.keys("?")
            s.wait("Through the time of a run")
            golden(s, "past-help-" + size.split("x")[0])
            s.keys("q q")
            s.exit()


def test_a_time_is_typed(t):
    with look(past(t)) as s:
        for words, shown in ("14:03", "14:03:00"), ("14:03:04", "14:03:04"), ("41s", "14:03:40"), ("50%", "14:03:40"), ("1m40s", "14:04:40"):
            s.keys(":")
            s.wait("palette")
            s.type("at " + words + "\n")
            s.wait(shown)
        s.keys(":")
        s.wait("palette")
        s.type("at noon\n")
        s.wait('"noon" is no time')
        for words, shown in ("at 13:00", "14:03:00"), ("at 15:00", "14:04:40"):
            s.keys(":")
            s.wait("palette")
            s.type(words + "\n")
            s.wait("the run was 14:03:00 to 14:04:40")
            assert shown in time_row(s), text(s)
            s.keys("l")
            s.gone("the run was")
        leave(s)


def test_a_time_of_the_next_day_is_found(t):
    with look(past(t, began="2026-01-02T23:59:00"), wait="00:00:40") as s:
        for words, shown in ("at 00:00:20", "00:00:20"), ("at 23:59:06", "23:59:06"), ("at 00:00:40", "00:00:40"):
            s.keys(":")
            s.wait("palette")
            s.type(words + "\n")
            s.gone("palette")
            s.wait(shown)
            assert "the run was" not in text(s), text(s)
        leave(s)


def test_a_click_on_the_time_line_goes_there(t):
    with look(past(t)) as s:
        row = time_row(s)
        s.send(f"\x1b[<0;{row.index('┷') + 2};24M\x1b[<0;{row.index('┷') + 2};24m".encode())
        s.wait("[*] First")
        s.send(f"\x1b[<0;{row.index('●') + 1};24M\x1b[<0;{row.index('●') + 1};24m".encode())
        s.wait("✗ error in line 1")
        leave(s)


def test_nothing_in_it_can_be_changed(t):
    where = past(t)
    before = open(os.path.join(where, ".firesteel", RUN + ".jsonl"), "rb").read()
    with look(where) as s:
        for keys in "Enter", "C-e", "R", "d d", "b", "x", "v", "D", "0 0", "s", "M", "y", "m", "z", "i i", "M-Up":
            s.keys("l")  # no key: hides what was said
            s.gone("only looked at")
            s.keys(keys)
            s.wait("only looked at")
        leave(s)
    assert open(os.path.join(where, ".firesteel", RUN + ".jsonl"), "rb").read() == before
    assert not kernels(where)


def test_all_views_go_through_its_time(t):
    table = {"application/vnd.firesteel.table+json": {"columns": ["NAME", "STATUS"], "rows": []}, "text/plain": ""}
    events = [
        (1, state("first", "running", count=1)),
        (2, {"type": "display", "cell": "first", "id": 1, "live": True, "data": table}),
        (3, {"type": "update", "id": 1, "rows": [{"uid": "a", "cells": ["pod-a", "Pending"]}]}),
        (4, {"type": "update", "id": 1, "rows": [{"uid": "a", "cells": ["pod-a", "Running"]}, {"uid": "b", "cells": ["pod-b", "Pending"]}]}),
        (5, {"type": "update", "id": 1, "rows": [{"uid": "a", "deleted": True}]}),
        (6, state("first", "ok")),
        (7, state("train", "running", count=2)),
        (8, {"type": "display", "cell": "train", "id": 2, "live": True, "data": {}}),
        (9, {"type": "stream", "cell": "fail", "name": "stdout", "spool": "log", "from": 0, "to": 6}),
        (10, {"type": "stream", "cell": "fail", "name": "stdout", "spool": "log", "from": 6, "to": 12}),
        (11, {"type": "end", "exit": 0, "outcome": "ok"})]
    where = past(t, events)
    os.makedirs(os.path.join(where, ".firesteel", RUN), mode=0o700)
    with open(os.path.join(where, ".firesteel", RUN, "log"), "w", encoding="ascii") as f:
        f.write("line1\nline2\n")
    open(os.path.join(where, ".firesteel", RUN, "log.idx"), "w", encoding="ascii").close()
    with look(where, wait="ok after") as s:
        s.keys("g g O")
        s.wait("pod-b")
        s.gone("pod-a")
        s.keys("( > . . .")
        s.wait("pod-a  Running")
        s.wait("pod-b  Pending")
        s.keys(",")
        s.wait("pod-a  Pending")
        s.gone("pod-b")
        s.keys(") q G O")
        s.wait("line2")
        s.keys(", ,")
        s.gone("line2")
        assert "line1" in text(s), text(s)
        s.keys("q q")
        s.exit()


def test_a_document_that_changed_is_as_it_was(t):
    events = [(1, state("first", "running", count=1)), (2, state("first", "ok")),
              (3, {"type": "edited", "rev": 2, "change": "edit", "cell": "first", "source": "print('another')"}),
              (4, {"type": "edited", "rev": 3, "change": "delete", "cell": "fail"}),
              (5, {"type": "end", "exit": 0, "outcome": "ok"})]
    with look(past(t, events), wait="ok after") as s:
        assert "another" in text(s) and "[ ] Fail" not in text(s), text(s)
        s.keys("< <")
        s.wait("[ ] Fail")
        assert "another" in text(s), text(s)
        s.keys("<")
        s.wait("for i = 1, 3")
        leave(s)


def test_damage_is_said_and_the_rest_is_shown(t):
    where = past(t)
    path = os.path.join(where, ".firesteel", RUN + ".jsonl")
    with open(path, encoding="utf-8") as f:
        rows = f.read().splitlines()
    rows[6] = rows[6][:30] + "\x01" + rows[6][40:]
    rows[7] = '{"type":"stream","cell":"first","text":'
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + '\n{"type":"stre')
    with look(where, wait="damaged and left out") as s:
        s.keys("g g")
        s.wait("part 1")
        assert "part 2" not in text(s) and "part 3" not in text(s), text(s)
        leave(s)


def test_a_journal_that_was_cut_ends_as_killed(t):
    with look(past(t, PAST[:9]), wait="● killed") as s:
        s.keys("<")
        s.wait("● busy")
        leave(s)


def test_other_formats_and_no_terminal_are_refused(t):
    where = past(t, format=2)
    r = sh(FIRESTEEL, "show", "--open", cwd=where)
    assert r.code != 0, r
    log = os.path.join(t.dir(), "bytes")
    with Screen([FIRESTEEL, "show", "--open"], cwd=where, log=log) as s:
        assert s.exit() == "exit 1"
        assert "newer firesteel" in text(s), text(s)
    with open(log, "rb") as f:  # the shell's screen stays
        assert b"\x1b[?1049h" not in f.read()
    r = sh(FIRESTEEL, "show", "--open", "--ledger", cwd=where)
    assert r.code == 2 and "--ledger is printed" in r.err, r


def test_a_run_that_goes_on_is_attached_to(t):
    where = folder(t, 'while not io.open("go") do print("waits") sh "sleep 0.1" end\n')
    assert sh(FIRESTEEL, "run", "--detach", "small.lua", cwd=where).code == 0
    with look(where, wait="waits") as s:
        s.wait("(watching)")
        open(os.path.join(where, "go"), "w", encoding="ascii").close()
        s.wait("[1]")
        s.keys("q")
        s.exit()


run(globals())
