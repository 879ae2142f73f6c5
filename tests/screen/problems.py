#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is wrong with cells is marked as it is typed: line, range, words, list; and goes when it is mended."""
from bench import folder, workbench
from tap import run

NOTEBOOK = """-- %% Lua
x = 1
-- %% Job file="job.yaml"
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec:
  backoffLimit: "3"
  template:
    spec:
      containers: []
-- %% Python file="a.py"
def f():
    return 1
"""


def line_of(s, words):
    return next(row for row in s.screen() if words in row)


def test_mistakes_are_marked_and_mended(t):
    with workbench(folder(t, NOTEBOOK)) as s:
        s.wait("!  backoffLimit")
        assert "!" not in line_of(s, "x = 1"), s.screen()
        s.keys("M-n")
        s.wait("spec.backoffLimit must be an integer, and is a string")
        s.keys("End Backspace Backspace Backspace")
        s.type("3")
        s.gone("!  backoffLimit")
        s.keys("Esc")
        s.keys("g e")
        s.wait("nothing is wrong")
        s.keys("Esc")


def test_a_mistake_is_found_where_it_is_typed(t):
    with workbench(folder(t, NOTEBOOK)) as s:
        s.wait("idle")
        s.keys("G Enter End")
        s.type("(")
        s.wait("! ")
        s.wait("was never closed")
        s.keys("Home")
        s.keys("Down")
        s.keys("Esc g e")
        s.wait("Python:1")
        s.type("nothing like it")
        s.wait("no problem is like that")
        s.keys("Esc Esc")


def test_fields_of_a_manifest_are_completed(t):
    with workbench(folder(t, '-- %% Job file="job.yaml"\napiVersion: batch/v1\nkind: Job\nspec:\n  back\n')) as s:
        s.wait("idle")
        s.keys("Enter Down Down Down End Tab")
        s.wait("backoffLimit: ")
        s.type("3")
        s.keys("Enter")
        s.type("t")
        s.keys("Tab")
        s.wait("ttlSecondsAfterFinished:")
        s.keys("Esc")


def test_a_name_is_renamed_in_all_cells(t):
    names = "-- %% Set\nrate = 1\n-- %% Other\nx = {rate = 3, y = rate} -- rate\n-- %% Use\nprint(rate, 'rate')\n"
    with workbench(folder(t, names)) as s:
        s.wait("idle")
        s.keys("Enter C-p")
        s.type("rename speed")
        s.keys("Enter")
        s.wait("1 of 4")
        s.keys("y n y y")
        s.wait("3 places in 3 cells replaced")
        s.wait("x = {rate = 3, y = speed} -- rate")
        s.wait("print(speed, 'rate')")
        s.keys("Esc z")
        s.wait("print(rate, 'rate')")


run(globals())
