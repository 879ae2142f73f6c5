#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ready cells by `:insert`: how they come into notebooks in Lua and in Python, and that each of them runs in the sandbox, headless."""
import os
import re
import sys

from bench import folder, leave, opens, text, workbench
from foreign import ENV, needs_kernels
from screen import Screen
from tap import FIRESTEEL, SOURCE, run, sh

CELLS = os.path.join(SOURCE, "recipes", "cells")
ALLOW = ("--sandbox", "--allow", "cluster,destructive")
COMMENT = {"lua": "--", "python": "#"}
ENDING = {"lua": ".lua", "python": ".py"}


def entries(language):
    """{name: the lines at the top of its file}, in their order."""
    found = {}
    for file in sorted(os.listdir(os.path.join(CELLS, language))):
        name = re.fullmatch(r"\d\d-(.+)" + re.escape(ENDING[language]), file)
        assert name, f"{file} is no name of ready cells"
        with open(os.path.join(CELLS, language, file), encoding="utf-8") as f:
            head = re.match(rf"(?:{COMMENT[language]} (?!%%).*\n)+", f.read())
        assert head, f"{file} does not begin with what it is"
        found[name[1]] = head[0].splitlines()
    return found


def needed(language, name, have):
    """The name with those before it that make what it uses, in order."""
    head = entries(language)[name]
    for line in head[1:]:
        key, _, names = line.removeprefix(COMMENT[language]).strip().partition(": ")
        for other in names.split() if key == "after" else []:
            needed(language, other, have)
    if name not in have:
        have.append(name)
    return have


def inserted(t, language, *names, env=None):
    """A notebook that was blank, with these ready cells, saved: its folder and its file's name."""
    where, file = folder(t, ""), "small" + ENDING[language]
    if language == "python":
        with open(os.path.join(where, file), "w", encoding="utf-8") as f:
            f.write("# %%\n")
    os.remove(os.path.join(where, "small.lua")) if language == "python" else None
    with Screen([FIRESTEEL, file], cwd=where, size="120x40", seconds=15, env=env) as s:
        s.wait("idle")
        for name in names:
            s.keys("G")
            opens(s, "insert " + name, "C-r runs one and goes on")
        s.keys("C-s")
        s.wait("saved /")
        leave(s)
    return where, file


def runs(where, file, env=None):
    done = sh(FIRESTEEL, "run", file, *ALLOW, cwd=where, env=env, timeout=150)
    assert done.code == 0, done
    return done.out


def test_s1_runs_in_lua_from_a_blank_file(t):
    where, file = inserted(t, "lua", "s1")
    out = runs(where, file)
    assert "9 cells ok" in out and "Model prediction for index 100: 6" in out, out
    assert "destructive: delete SparkApplication" in out, out


def test_s1_runs_in_python_from_a_blank_file(t):
    needs_kernels()
    where, file = inserted(t, "python", "s1", env=ENV)
    with open(os.path.join(where, file), encoding="utf-8") as f:
        assert "from firesteel import k8s" in f.read()
    out = runs(where, file, ENV)
    assert "9 cells ok" in out and "Model prediction for index 100: 6" in out, out


def each(t, language, env=None):
    rest = [name for name in entries(language) if name not in needed(language, "delete", ["s1"])]
    assert len(rest) >= 8, rest
    tried = set(needed(language, "delete", ["s1", "local", "expect", "logs"]))
    for name in rest:
        if name in tried:
            continue
        names = needed(language, name, [])
        where, file = inserted(t, language, *names, env=env)
        out = runs(where, file, env)
        assert "failed" not in out.splitlines()[-1], (name, out)
        tried.update(names)
    assert tried >= set(entries(language)), set(entries(language)) - tried


def test_all_others_run_in_lua(t):
    each(t, "lua")


def test_all_others_run_in_python(t):
    needs_kernels()
    each(t, "python", ENV)


def test_both_languages_have_the_same_names(t):
    lua, python = entries("lua"), entries("python")
    assert list(lua) == list(python)
    for name, head in lua.items():
        assert len(head[0]) < 90 and head[0].startswith("-- ") and not head[0].endswith("."), head


def test_the_list_completes_and_says_what_cells_do(t):
    with workbench(folder(t, ""), "new.lua", size="100x30", seconds=3) as s:
        s.wait(":insert s1")  # a blank notebook says so
        opens(s, "insert", "insert s1 ", "insert deploy", "create what a manifest says")
        s.type("dep")
        s.wait("create what a manifest says")
        s.gone("insert trainer")
        s.wait("insert s1")  # it says deploy, too
        s.keys("Esc")
        s.wait("COMMAND")
        opens(s, "insert curves", "insert torch ")  # words of what they do: Tab chooses
        s.keys("Tab Enter")
        s.wait("[ ] Torch")
        opens(s, "insert nowhere", "there are no ready cells nowhere; there are: s1, parameters")
        s.keys("q")
        s.wait("Unsaved changes")
        s.keys("d")
        s.exit()


def test_what_is_inserted_is_one_step(t):
    where = folder(t, "-- %% Own\nmine = 1\n")
    with workbench(where, size="100x40", seconds=3) as s:
        opens(s, "insert s1", "9 cells: C-r runs one and goes on")
        s.wait("[ ] Parameters")
        assert s.screen()[0].startswith(" [ ] Own"), "below the selected cell: " + text(s)
        s.keys("z")
        s.gone("[ ] Parameters")
        s.wait("undone: insert")
        leave_unsaved(s)
    with workbench(folder(t, ""), "new.lua", size="100x40", seconds=3) as s:
        opens(s, "insert watch", "1 cell: C-r runs one")
        s.wait("k8s.watch(\"pods\")")
        assert s.screen()[0].startswith("▌[ ] Watch"), "the empty cell is replaced: " + text(s)
        s.keys("z")
        s.wait(":insert s1")
        leave_unsaved(s)


def leave_unsaved(s):
    s.keys("q")
    s.wait("Unsaved changes")
    s.keys("d")
    s.exit()


USED = """-- %% Mine tags=["parameters"]
epochs = 3
name = "x"

-- %% Writes file="trainer.lua"
print "mine"

-- %% Sets
app = 1
"""


def test_what_the_notebook_has_is_kept_and_said(t):
    with workbench(folder(t, USED), size="160x60", seconds=3) as s:
        s.keys("G")
        opens(s, "insert trainer", "nothing is inserted; trainer.lua is written already by Writes")
        opens(s, "insert parameters", "Mine has got executors, gpus")
        s.wait('epochs = 3\n')
        s.wait("core_request = ")
        assert text(s).count("epochs = ") == 1, text(s)
        s.keys("z")
        s.gone("core_request = ")
        s.keys("G")
        opens(s, "insert deploy", "before it belongs: insert manifest; app is set, too, by Sets")
        leave_unsaved(s)


def test_a_notebook_in_another_language_is_told(t):
    where = folder(t, "")
    with open(os.path.join(where, "small.R"), "w", encoding="utf-8") as f:
        f.write("# %%\nx <- 1\n")
    with Screen([FIRESTEEL, "small.R"], cwd=where, size="120x30", seconds=3) as s:
        s.wait("idle")
        opens(s, "insert s1", "there are ready cells in Lua and Python, none in R")
        s.keys("q")
        s.exit()


run(globals())
