#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole screens with their attributes, as tests/screen/expected has them (support/golden.py)."""
import os
import shutil

from bench import folder, workbench
from golden import golden
from tap import SOURCE, run

LOOKS = {  # name: how the terminal is
    "256": {},
    "16": {"term": "xterm-16color"},
    "linux": {"term": "linux"},
    "mono": {"term": "vt100"},
    "no-color": {"env": {"NO_COLOR": "1"}},
    # not xterm's: libvterm 0.1 misplaces what follows a repeated character (REP), which curses sends
    "ascii": {"env": {"LC_ALL": "C"}, "term": "screen-256color"},
    "small": {"size": "40x10"},
}
PLACES = """-- %% [markdown]
-- # Places

-- %% Error
local x = nil
print(x.y)

-- %% Table
display.table { { NAME = "alpha", STATUS = "Running", AGE = "3d" }, { NAME = "漢字", STATUS = "Failed", AGE = "1h" } }

-- %% Progress
local p = display.progress(4, "epoch")
p:update(2, { loss = 0.25 })
display.plot { { 4, 2, 1, 1 }, title = "loss" }

-- %% Effect
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "settings" } }

-- %% Output
for i = 1, 60 do print(("\\27[3%dmline %d\\27[0m"):format(i % 8, i)) end
"""


def recipe(t, **options):
    where = folder(t)
    shutil.copy(os.path.join(SOURCE, "recipes/10-mnist.lua"), where)
    return workbench(where, "10-mnist.lua", **options)


def each_look(opened, place, *steps):
    """Goes to a place under every look and compares what is there."""
    for name, options in LOOKS.items():
        with opened(**options) as s:
            for step in steps:
                if step.startswith("wait "):
                    s.wait(step[5:])
                    continue
                s.keys(step)
                s.quiet(50)  # so that every run draws, and scrolls, as often
            golden(s, f"{place}-{name}")


def again(n):
    """To the n-th cell from the top: where a cell that has run stands depends on when its output came."""
    return ["g g", "wait Places"] + ["j"] * n


def places(t):
    return lambda **options: workbench(folder(t, PLACES), "--sandbox", "small.lua", **options)


def test_first_screen_of_the_recipe(t):
    each_look(lambda **options: recipe(t, **options), "recipe")


def test_editing(t):
    each_look(places(t), "editing", "j Enter", "wait EDIT", "C-Home S-Right S-Right S-Right")


def test_an_error(t):
    each_look(places(t), "error", "j C-e", "wait failed", "wait idle", *again(1))


def test_a_table(t):
    each_look(places(t), "table", "j j C-e", "wait [1] Table")


def test_progress_and_curves(t):
    each_look(places(t), "progress", "j j j C-e", "wait ] Progress", "wait idle", *again(3))


def test_an_effect_is_asked_for(t):
    each_look(places(t), "effect", "j j j j C-e", "wait may it do")


def test_help(t):
    each_look(places(t), "help", "?", "wait Keys")


def test_palette(t):
    each_look(places(t), "palette", ":", "wait palette")


def test_output_on_the_full_screen(t):
    each_look(places(t), "output", "G C-e", "wait [1] Output", "O", "wait output ", "g", "wait line 1")


run(globals())
