#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole screens with their attributes, compared with tests/screen/expected (support/golden.py)."""
import os
import re
import shutil

from bench import folder, workbench
from golden import golden
from screen import Screen
from tap import FIRESTEEL, SOURCE, eventually, run

LOOKS = {  # name: the settings of the terminal
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


def each_look(opened, place, *steps, looks=LOOKS, masks=(), after=()):
    """Goes to a place under every look and compares what is there; after: steps that end it."""
    def take(s, steps):
        for step in steps:
            if step.startswith("wait "):
                s.wait(step[5:])
                continue
            if step.startswith("match "):
                eventually(lambda: re.search(step[6:], "\n".join(s.screen())))
                continue
            s.keys(step)
            s.quiet(50)  # so that every run draws, and scrolls, as often
    for name, options in looks.items():
        with opened(**options) as s:
            take(s, steps)
            golden(s, f"{place}-{name}", masks)
            take(s, after)


def again(n):
    """Goes to the n-th cell from the top: the place of a cell on the screen depends on when its output came."""
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
    each_look(places(t), "progress", "j j j C-e", r"match \] Progress \S* \d", "wait idle", *again(3))


def test_an_effect_is_asked_for(t):
    each_look(places(t), "effect", "j j j j C-e", "wait may it do")


SIZES = {"80": {}, "120": {"size": "120x40"}}
TRAINED = """-- %% Trained
local h = {}
for i = 1, 12 do
  h[i] = { epoch = i, metrics = { loss = 0.9 / i, val_loss = 1.0 / i + 0.03, accuracy = 1 - 0.5 / i,
    val_accuracy = 1 - 0.6 / i, lr = 0.001 / i } }
end
display { ["text/plain"] = "x", ["application/vnd.firesteel.progress+json"] = {
  label = "epoch", epoch = 12, epochs = 12, done = 10, total = 10, elapsed = 3, metrics = { loss = 0.075 }, history = h } }
"""


def each_size(opened, place, *steps):
    each_look(opened, place, *steps, looks=SIZES)


MEASURED = """-- %% Measured
display.plot { median = { 10, 14, 12, 9 }, ["repeat 1"] = { 9, 13, 12.5, 9.5 }, x = { 1, 2, 3, 4 }, kind = "scatter", title = "speed",
  x_label = "combination", error = { median = { { 8, 11 }, { 13, 16 }, { 11, 12.6 }, { 7, 9.5 } } } }
"""


def test_error_bars(t):
    def measured(**options):
        return workbench(folder(t, MEASURED), **options)

    each_size(measured, "error-bars", "C-e", "wait [1] Measured", "wait ● idle", "wait combination")


def test_curves_of_a_training(t):
    def trained(**options):
        return workbench(folder(t, TRAINED), **options)

    each_size(trained, "curves", "C-e", "wait [1] Trained", "wait ● idle")
    each_size(trained, "chart", "C-e", "wait [1] Trained", "wait ● idle", "O", "wait chart ", "Right Right", "wait at epoch 2")
    each_size(trained, "chart-one", "C-e", "wait [1] Trained", "wait ● idle", "O", "wait chart ", "m l", "wait log scale", "Left", "+",
              "wait enlarged")


ASKED = """-- %% Settings
rate = input "learning rate?"

-- %% Push
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "settings" } }
"""


def test_questions(t):
    def asked(**options):
        return workbench(folder(t, ASKED), "--sandbox", "small.lua", **options)

    each_size(asked, "question", "C-e", "wait Settings asks", "0 . 0 1", "wait 0.01")
    each_size(asked, "question-effect", "j C-e", "wait may it do")


def test_where_one_begins(t):
    runtime = t.dir()
    os.chmod(runtime, 0o700)

    def begun(**options):
        where = os.path.join(t.dir(), "work")
        os.mkdir(where)
        s = Screen([FIRESTEEL], cwd=where, env={"FIRESTEEL_RUNTIME_DIR": runtime}, **options)
        s.wait("10-mnist.lua")
        return s

    each_size(begun, "start", "wait goes on, in a folder of its own")
    each_size(begun, "blank", "/ b l a n k Enter Enter", "wait idle", "wait run it")


REDRAWN = r"""-- %% Redrawn
sh [[
printf 'loading 40 MB'; printf '\r\033[2Kloaded\n'
printf 'first 10%%\nsecond 20%%\n\033[2A\033[2Kfirst 100%%\n\033[2Ksecond 100%%\n'
printf 'outer 1/2\n\r  inner 3/9\033[A\router 2/2\n\r  inner 9/9\n'
]]

-- %% [markdown]
-- # What is said of it

-- %% Joined
print("e\u{301}t\u{e9}  \u{6f22}\u{5b57}  \u{1f469}\u{200d}\u{1f467}  \u{1f1e9}\u{1f1ea}  \u{915}\u{94d}\u{937}")
"""


def test_programs_that_redraw(t):
    def redrawn(**options):
        return workbench(folder(t, REDRAWN), **options)

    each_size(redrawn, "redrawn", "R", "wait ] Joined", "wait ● idle")


PROSE = "\n".join(f"-- %% Part {i}\nrate_{i} = {i}\n" for i in range(30))


def test_a_search_among_cells(t):
    def prose(**options):
        return workbench(folder(t, PROSE), **options)

    each_size(prose, "found", "/", "wait search", *"rate_1[0-9]", "Enter", "wait 1 of 10", "n", "wait 2 of 10")


def test_help(t):
    each_look(places(t), "help", "?", "wait Keys")


def test_palette(t):
    each_look(places(t), "palette", ":", "wait palette")


def test_output_on_the_full_screen(t):
    each_look(places(t), "output", "G C-e", "wait [1] Output", "O", "wait output ", "g", "wait line 1")


PIPELINE = """-- %% Nightly effects="cluster,destructive"
flow = pipeline { "nightly", timeout = "1h", steps = {
  prep  = { call = function() return { rows = 1234 } end },
  fit   = { call = function(with, item) if item == "c" then firesteel.sleep(600) end end, each = { "a", "b", "c" }, after = "prep" },
  train = { image = "host", command = "echo read ${rows} rows; sleep 600", with = { rows = "${prep.rows}" } },
  serve = { image = "host", command = "true", after = { "fit", "train" }, when = "${train.accuracy} > 0.95" },
  clean = { delete = { "train" }, when = "always" },
} }
flow:run()
"""


def test_a_pipeline(t):
    """Its graph below the cell, and on the full screen."""
    def nightly(**options):
        return workbench(folder(t, PIPELINE), "--sandbox", "small.lua", **options)

    sizes, times = {"80": {}, "120": {"size": "120x40"}}, [(r"\b\d+(\.\d+)?s +", "TIME "), (r"\+\d+$", "")]
    running = ["C-e", "wait may it do", "a", "wait 1 active"]
    each_look(nightly, "pipeline", *running, looks=sizes, masks=times, after=["C-c", "wait delete Job", "y", "wait ● idle"])
    each_look(nightly, "pipeline-full", *running, "O", "wait  rows", looks=sizes, masks=times, after=["C-c", "wait delete Job", "y", "wait ● idle"])


DESK = """-- %% Made
for _, name in ipairs { "alpha", "beta", "gamma" } do
  k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name, labels = { of = "desk" } },
    data = { level = "1" } }
end
print("all" .. " made")
"""
DESK_SIZES = {"60": {"size": "60x20"}, "80": {}, "120": {"size": "120x40"}, "mono": {"term": "vt100"}}


def test_the_desk(t):
    def desk(**options):
        return workbench(folder(t, DESK), "--sandbox", "small.lua", **options)

    made = ["C-e", "wait may it do", "a", "wait │ all made"]
    opened = [*made, ":", "wait palette", *"cm", "Enter", "wait configmaps in default", "wait alpha"]
    sizes, ages = {"80": {}, "120": {"size": "120x40"}}, [(r"\b\d+s +$", "TIME")]  # the cursor's row is as wide as the screen
    each_look(desk, "desk", *opened, "Space", "wait 1 marked", looks=sizes, masks=ages)
    each_look(desk, "desk-tree", *opened, "t", "wait tree of configmap", looks=sizes, masks=ages)
    each_look(desk, "desk-line", *made, ":", "wait palette", *"cm", "wait a live table", looks=DESK_SIZES)


run(globals())
