#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A person's own settings: keys, aliases, themes; a broken file keeps nobody from working."""
import os
import re

from bench import folder, leave, workbench
from golden import golden
from tap import FIRESTEEL, run, sh

CELLS = """-- %% [markdown]
-- # Alpha

-- %% Beta
x = "text" -- a comment
display.plot { a = { 1, 2, 3 }, b = { 3, 2, 2 }, c = { 2, 2, 1 } }

-- %% Gamma
error "no"
"""


def configured(t, text, **options):
    where = folder(t, CELLS)
    path = os.path.join(where, "own.yaml")
    if text is not None:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    env = {"FIRESTEEL_CONFIG": path, **options.pop("env", {})}
    return workbench(where, env=env, **options)


def test_keys_aliases_and_habits_count(t):
    with configured(t, "keys:\n  cells:\n    'F5': run-all\n    'g s': outline\n    q: none\naliases:\n  tw: pods -A\n  go: run-all\nline-numbers: true\n") as s:
        s.wait("1 x = ")
        s.keys("?")
        s.wait("Keys: notebook")
        s.keys("/")
        s.type("run all")
        s.keys("Enter")
        s.wait("F5")
        s.keys("Esc Esc q")
        s.wait("q means nothing here")
        s.keys("g s")
        s.wait("Outline")
        s.keys("Esc : g o")
        s.wait("run all cells")
        s.keys("Enter")
        s.wait("✗ error")
        s.keys("C-q")
        assert s.exit() == "exit 0"


def test_a_preset_brings_its_keys(t):
    with configured(t, "preset: vim\n") as s:
        s.keys("j i")
        s.wait("NORMAL")
        s.keys("Esc y y p u")
        s.wait("undone: paste")
        s.keys("Z Q")
        assert s.exit() == "exit 0"


def test_a_broken_file_keeps_nobody_from_working(t):
    with configured(t, "theme: dark\nkeys:\n  cells:\n    g: [\n") as s:
        s.wait("config.yaml line")
        s.wait(":config opens it")
        s.keys("j C-e")
        s.wait("[1] Beta")
        leave(s)
    with configured(t, "outline: true\ncolour: red\n", size="120x24") as s:
        s.wait('config.yaml line 2: there is no setting "colour"')
        s.wait("│ Outline")
        leave(s)
        told = sh(FIRESTEEL, "doctor", cwd=s.cwd, env={**os.environ, "FIRESTEEL_CONFIG": os.path.join(s.cwd, "own.yaml")})
        assert 'own.yaml: line 2: there is no setting "colour"' in told.out, told


def test_config_makes_the_file_and_takes_it(t):
    with configured(t, None, env={"EDITOR": "sed -i -e 's/^#line-numbers: false/line-numbers: true/' -e 's/^#preset: .*/preset: vim/'"}) as s:
        s.keys(":")
        s.type("config")
        s.keys("Enter")
        s.wait("your settings count now")
        s.keys("j i")
        s.wait("NORMAL")
        s.keys("Esc")
        leave(s)
        with open(os.path.join(s.cwd, "own.yaml"), encoding="utf-8") as f:
            assert "# One of: auto dark light high-contrast mono" in f.read()


THEMES = {"light": "theme: light\n", "contrast": "theme: high-contrast\n", "theme-mono": "theme: mono\n",
          "okabe": "palette: okabe-ito\n"}


def test_how_themes_look(t):
    for name, text in THEMES.items():
        with configured(t, text) as s:
            s.keys("R")
            s.wait("✗ error")
            s.wait("idle")
            golden(s, f"themed-{name}")
            leave(s)


def test_colorfgbg_tells_of_a_light_background(t):
    with configured(t, None, env={"COLORFGBG": "0;15"}) as s:
        s.keys("R")
        s.wait("✗ error")
        s.wait("idle")
        golden(s, "themed-light")
        leave(s)


LONG = "-- %% Long\nx = \"" + "".join(f"{i:04d}" for i in range(40)) + "\" -- the end\ny = 2\n"


def test_long_lines_go_on_in_the_next_row(t):
    where = folder(t, LONG)
    with workbench(where) as s:
        s.wait("›")
        assert "the end" not in "\n".join(s.screen())
        s.keys("W")
        s.wait("the end")
        text_rows = [row.rstrip() for row in s.screen() if re.search(r"\d{8}", row)]
        assert len(text_rows) == 3 and text_rows[0].startswith('▌ x = "0000') and re.match("▌   [0-9]", text_rows[1]), text_rows
        joined = text_rows[0][2:] + "".join(row[4:] for row in text_rows[1:])
        assert joined == LONG.splitlines()[1], "no character is lost: " + joined
        s.keys("Enter End")
        s.type("!")
        s.wait("the end!")
        column, row = s.cursor()[:2]
        assert s.screen()[row][column - 1] == "!", (column, row, s.screen()[row])
        s.keys("Home")
        s.type("z")
        s.wait('zx = "0000')
        s.keys("Esc L")
        s.wait('  1 zx = "0000')
        s.wait("the end!")
        s.keys("W")
        s.wait("›")
        leave_unsaved(s)
    with configured(t, "wrap: true\n") as s:
        s.wait("COMMAND")
        s.keys("W")


def leave_unsaved(s):
    s.keys(":")
    s.type("q!")
    s.keys("Enter")
    s.exit()


run(globals())
