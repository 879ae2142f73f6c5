#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every key of the help is pressed, and the visible effect is checked. The program's own tables
say which keys there are: a key without a case fails."""
import os
import time

from bench import folder, workbench
from journals import NOTEBOOK, PAST, many, write as write_journal
from pressing import (On, PRESS, REDRAWN, bold, cases, chosen, chosen_row, column, cursor, lacks, program_tables, reversed_text,
                      row, sees, selected, status, titles, top, typed)
from screen import ASKED, Screen
from tap import FIRESTEEL, run

CELLS = """-- %% [markdown]
-- # Alpha

-- %% Beta
print("out" .. " beta")

-- %% Gamma
print("out" .. " gamma")

-- %% Delta
print("out" .. " delta")
"""
WIDE = "-- %% Long\nx = '" + "a" * 100 + "END'\n"
SECTIONS = "-- %% [markdown]\n-- # One\n\n-- %% In one\nx = 1\n\n-- %% [markdown]\n-- # Two\n\n-- %% In two\nx = 2\n"
LONG = "\n".join(f"-- %% Cell {i}\nx = {i}\n" for i in range(1, 21))
SLOW = '-- %% Slow\nfor i = 1, 400 do print("line " .. i) sh "sleep 0.05" end\n'
CODE = """-- %% Beta
print("out" .. " beta")
  two = "words here"
last = 1

-- %% Gamma
print("out" .. " gamma")
"""
OUTPUT = """-- %% Long
print("begin " .. ("x"):rep(200) .. " finish")
for i = 2, 200 do print(i % 50 == 0 and "mark " .. i or "line " .. i) end
display.table { { NAME = "a", STATUS = "Running" } }
"""
TABLE = """-- %% Table
display.plot { { 1, 2, 3 }, title = "curve" }
local rows = {}
for i = 1, 40 do
  rows[i] = { A = "row " .. i, Z = "end " .. (50 - i) }
  for c in ("BCDEFGHIJK"):gmatch "." do rows[i][c] = c:rep(12) end
end
display.table(rows)
"""
PODS = """-- %% Pods
for _, name in ipairs { "alpha", "beta" } do
  k8s.apply { apiVersion = "v1", kind = "Pod", metadata = { name = name }, spec = { restartPolicy = "Never",
    containers = { { name = "c", image = "host", command = { "sh", "-c", "echo words of $HOSTNAME; sleep 100" } } } } }
end
k8s.watch "pods"
"""
MAPS = """-- %% Two maps
for _, name in ipairs { "first", "second" } do
  k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } }
end
print("made " .. "both")
"""
ASKS = 'print("be" .. "fore")\ninput "name?"\n'
WRONG = "-- %% Good\nx = 1\n-- %% Bad\nlocal a =\n  = 1\n-- %% Job file=\"job.yaml\"\n" \
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec: {templat: {}}\n"
NAMES = "-- %% Set\n-- rate is set\nrate = 1\n-- %% Other\nx = {rate = 3, rate}\n-- %% Use\nprint(rate)\n"
TRACE = "-- %% File file=\"t.lua\"\nlocal x = 1\nerror 'no'\n-- %% Run\nprint 't.lua:2: no'\n"
HELP = (status(" help"), sees("Keys"))


def READ(s):
    """A dialog: till then it takes no key."""
    time.sleep(0.6)
    return True


def go(s, keys):
    """Presses keys, or waits for texts, to get to a place."""
    for key in keys:
        s.wait(key[5:]) if key.startswith("wait ") else s.keys(key)
    return s


def opened(t, text, *keys, sandbox=False, **options):
    """A function that opens a notebook and goes to a place in it."""
    argv = ["--sandbox", "small.lua"] if sandbox else ["small.lua"]
    return lambda: go(workbench(folder(t, text), *argv, **options), keys)


def suspended(t, text, place, *keys, program="small.lua", prepare=None, env=None, begins=None):
    """The same from a shell: Ctrl-Z gives the terminal to it, and fg returns."""
    def begin():
        shell = ["bash", "--norc", "--noprofile", "-i"]
        where = folder(t, text)
        if prepare:
            prepare(where)
        s = Screen(shell, cwd=where, env={"PS1": "shell> ", **(env or {})})
        s.wait("shell>")
        s.type(f"{FIRESTEEL} {program}\n")
        s.wait(begins or ("idle" if program.endswith(".lua") else "NOTEBOOK"))
        go(s, keys).wait(place)
        return s
    return begin


def shelled(place):
    """After C-z: the shell has the terminal; fg returns to the place."""
    def stopped(s):
        return "Stopped" in "\n".join(s.screen()) and s.tty() == "raw main paste-on keys-off"

    return (PRESS, stopped, typed("fg\n"), status(place))


def test_every_place_is_here(t):
    places = {name[5:].replace("_", " ") for name in globals() if name.startswith("test_")}
    wanted = {"".join(c for c in place.lower() if c.isalnum() or c == " ") for place in program_tables()}
    assert wanted <= places, wanted - places


def test_among_cells(t):
    begin = opened(t, CELLS, "j", "wait ▌[ ] Beta")
    cases("Among cells", begin, [
        ("C-r, S-Enter", sees("out beta"), selected("Gamma")),
        ("C-e, C-Enter", sees("out beta"), selected("Beta")),
        ("M-Enter", sees("out beta"), titles("Alpha", "Beta", "[ ] ─", "Gamma", "Delta")),
        ("R", sees("out beta", "out gamma", "out delta")),
        ("g s", status("no cell is stale")),
        ("g a", "j", selected("Gamma"), PRESS, sees("out beta"), lacks("out gamma")),
        ("g b", "j", selected("Gamma"), PRESS, sees("out gamma", "out delta"), lacks("out beta")),
        ("0 0", "C-e", sees("out beta"), PRESS, sees("just now"), status("idle")),
        ("Enter", status("EDIT"), cursor(2, 3)),
        ("j, Down", selected("Gamma")),
        ("k, Up", selected("Alpha")),
        ("g g, Home", "j", selected("Gamma"), PRESS, selected("Alpha")),
        ("G, End", selected("Delta")),
        ("g r", On(opened(t, LONG + SLOW, "G C-e", "wait line 2", "g g")), PRESS, selected("Slow")),
        ("g h", PRESS, status(" runs"), sees("Runs of small.lua")),
        ("g p", PRESS, status(" metrics"), sees("no metrics yet")),
        ("g c", "j", selected("Gamma"), PRESS, sees("out beta", "out gamma", "out delta")),
        ("T", PRESS, status(" outline"), sees("Outline", "Gamma")),
        ("H", PRESS, sees("⋯ 3 cells"), lacks("Beta")),
        ("g H", On(opened(t, SECTIONS, "j")), PRESS, sees("⋯ 1 cell\n"), lacks("In two")),
        ("C-o", "G", selected("Delta"), PRESS, selected("Beta")),
        ("Tab", "G", selected("Delta"), "C-o", selected("Beta"), PRESS, selected("Delta")),
        ("g m", PRESS, sees("A letter for this cell"), "x", sees("'x")),
        ("'", "g m x", sees("'x"), "G", selected("Delta"), PRESS, sees("x  Beta"), "x", selected("Beta")),
        ("g d", PRESS, status("no cell differs from git's HEAD")),
        ("g e", On(opened(t, WRONG)), PRESS, status(" problems"), sees("Bad:2", "Job:4")),
        ("g n, M-n", On(opened(t, WRONG, "wait !")), PRESS, status("unexpected symbol near '='"), status("EDIT"), "M-n", status("spec.template is missing")),
        ("g N, M-p", On(opened(t, WRONG, "wait !")), PRESS, status("unknown field \"templat\"")),
        ("g f", On(opened(t, CELLS + "\n-- %% Fails\nerror 'x'\n", "G C-e", "wait ✗", "g g")), PRESS, selected("Fails")),
        ("J, S-Down", selected("Beta", "Gamma")),
        ("K, S-Up", selected("Alpha", "Beta")),
        ("S-Home", "j", PRESS, selected("Alpha", "Beta", "Gamma")),
        ("S-End", selected("Beta", "Gamma", "Delta")),
        ("a", titles("Alpha", "[ ] ─", "Beta", "Gamma", "Delta")),
        ("b", titles("Alpha", "Beta", "[ ] ─", "Gamma", "Delta")),
        ("x", titles("Alpha", "Gamma", "Delta"), "v", titles("Alpha", "Gamma", "Beta", "Delta")),
        ("c", PRESS, "j v", titles("Alpha", "Beta", "Gamma", "Beta", "Delta")),
        ("v", "c G", PRESS, titles("Alpha", "Beta", "Gamma", "Delta", "Beta")),
        ("V", "c G", PRESS, titles("Alpha", "Beta", "Gamma", "Beta", "Delta")),
        ("d d", titles("Alpha", "Gamma", "Delta")),
        ("z", "d d", titles("Alpha", "Gamma", "Delta"), PRESS, titles("Alpha", "Beta", "Gamma", "Delta")),
        ("W", On(opened(t, WIDE, "wait Long")), lacks("END"), PRESS, sees("END"), PRESS, lacks("END")),
        ("Z", "d d", lacks("Beta"), "z", sees("Beta"), PRESS, titles("Alpha", "Gamma", "Delta")),
        ("M-Up, C-S-Up", titles("Beta", "Alpha", "Gamma", "Delta"), selected("Beta")),
        ("M-Down, C-S-Down", titles("Alpha", "Gamma", "Beta", "Delta"), selected("Beta")),
        ("M", titles("Alpha", "Beta", "Delta"), sees("out\" .. \" beta", "out\" .. \" gamma")),
        ("y", "m", lacks("] Beta"), PRESS, sees("] Beta")),
        ("m", lacks("] Beta")),
        ("r", sees("raw")),
        ("1", lacks("] Beta"), "Enter", sees(" # print")), ("2", lacks("] Beta"), "Enter", sees(" ## print")), ("3", lacks("] Beta"), "Enter", sees(" ### print")),
        ("4", lacks("] Beta"), "Enter", sees(" #### print")), ("5", lacks("] Beta"), "Enter", sees(" ##### print")), ("6", lacks("] Beta"), "Enter", sees(" ###### print")),
        ("p", sees("Properties of the cell")),
        ("h", sees("⋯")),
        ("o", "C-e", sees("out beta"), PRESS, lacks("out beta")),
        ("O", "C-e", sees("out beta"), PRESS, status(" output"), sees("out beta")),
        ("D", "C-e", sees("out beta"), PRESS, lacks("out beta")),
        ("Y", status("copied the cell")),
        ("g y", "C-e", sees("out beta"), PRESS, status("copied the output (9 bytes)")),
        ("L", sees("1 print")),
        ("s, C-s", "d d", lacks("Beta"), PRESS, status("saved")),
        ("/, C-f", typed("delta"), "Enter", selected("Delta")),
        ("n", "/", typed("out"), "Enter", selected("Beta"), PRESS, selected("Gamma")),
        ("N", "G /", typed("out"), "Enter", PRESS, selected("Gamma")),
        (":, C-p", status(" palette"), sees("run-all")),
        ("?, F1", *HELP),
        ("q, C-q", lambda s: s.exit() == "exit 0"),
        ("Esc", "/", typed('gamma"'), "Enter", reversed_text('gamma"'), PRESS, reversed_text("")),
        ("C-l", *REDRAWN),
        ("i i, C-c", On(opened(t, SLOW, "C-e", "wait line 2")), sees("interrupted")),
        ("PgDn, Space", On(opened(t, LONG)), lacks("Cell 1 ")),
        ("PgUp, S-Space", On(opened(t, LONG, "G", "wait Cell 20")), lacks("Cell 20")),
        ("]", On(opened(t, LONG)), lacks("Cell 1 "), sees("x = 1")),
        ("[", On(opened(t, LONG, "] ]")), lacks("x = 1\n"), PRESS, sees("x = 1\n")),
        ("e", On(opened(t, CELLS, "j", env={"EDITOR": "sed -i s/beta/edited/"})), sees("out\" .. \" edited")),
        ("A", On(opened(t, "input 'name?'\n", "C-e", "wait asks", "Esc")), lacks(">"), PRESS, sees("asks")),
        ("C-z", On(suspended(t, CELLS, "COMMAND")), *shelled("COMMAND")),
    ])


def test_while_editing_a_cell(t):
    # row 1: print("out" .. " beta")    row 2:   two = "words here"    row 3: last = 1
    first, second = 'print("out" .. " beta")', 'two = "words here"'
    begin = opened(t, CODE, "Enter", "wait EDIT", "C-Home")
    cases("While editing a cell", begin, [
        ("C-r, S-Enter", sees("out beta"), selected("Gamma"), status("COMMAND")),
        ("C-e, C-Enter", sees("out beta"), selected("Beta"), status("COMMAND")),
        ("M-Enter", sees("out beta"), titles("Beta", "[ ] ─", "Gamma")),
        ("C-c", On(opened(t, SLOW, "C-e", "wait line 2", "Enter")), sees("interrupted")),
        ("Esc", status("COMMAND")),
        ("M-Down, C-S-Down", titles("Gamma", "Beta")),
        ("M-Up, C-S-Up", "Esc j Enter", status("EDIT"), PRESS, titles("Gamma", "Beta")),
        ("C-\\, C-S--", "Down", PRESS, titles("Beta", "[ ] ─", "Gamma"), row(4, second)),
        ("Enter", "Down End", PRESS, typed("new"), row(3, "new"), cursor(7, 3)),
        ("Tab", typed("prin"), PRESS, sees("print")),
        ("S-Tab", "Down", cursor(2, 2), PRESS, row(2, second), cursor(2, 2)),
        ("Backspace", "Right Right", PRESS, row(1, "p" + first[2:]), cursor(3, 1)),
        ("Delete, C-d", row(1, first[1:]), cursor(2, 1)),
        ("C-w, M-Backspace", "Down End", PRESS, row(2, 'two = "words')),
        ("C-Delete, M-d", row(1, first[5:])),
        ("C-k", "Right Right", PRESS, row(1, "pr")),
        ("C-u", "Right Right", PRESS, row(1, first[2:])),
        ("C-x", "S-Right S-Right", PRESS, row(1, first[2:]), "C-v", row(1, first)),
        ("M-c", "S-Right S-Right", PRESS, "Home C-v", row(1, "pr" + first)),
        ("C-v", "C-k", row(1, ""), PRESS, row(1, first), PRESS, row(1, first + first)),
        ("C-_, M-z", typed("x"), row(1, "x" + first), PRESS, row(1, first)),
        ("C-y, M-Z", typed("x"), "C-_", row(1, first), PRESS, row(1, "x" + first)),
        ("C-a", PRESS, reversed_text(first + "  " + second + "last = 1")),
        ("C-Space", PRESS, "Right Right", reversed_text("pr"), PRESS, reversed_text("")),
        ("C-/, M-/", PRESS, row(1, "-- " + first), PRESS, row(1, first)),
        ("Left", "Right Right", PRESS, cursor(3, 1)),
        ("Right", cursor(3, 1)),
        ("Up", "Down", PRESS, cursor(2, 1)),
        ("Down", cursor(2, 2)),
        ("C-Left, M-b", "End", cursor(25, 1), PRESS, cursor(19, 1)),
        ("C-Right, M-f", cursor(7, 1)),
        ("Home", "Right Right", PRESS, cursor(2, 1)),
        ("End", cursor(25, 1)),
        ("C-Home, M-<", "Down Down Right", cursor(3, 3), PRESS, cursor(2, 1)),
        ("C-End, M->", cursor(10, 3)),
        ("PgUp", "Down Down", PRESS, cursor(2, 1)),
        ("PgDn", cursor(2, 3)),
        ("S-Left", "Right Right", PRESS, reversed_text("r"), cursor(3, 1)),
        ("S-Right", reversed_text("p"), cursor(3, 1)),
        ("S-Up", "Down", PRESS, reversed_text(first)),
        ("S-Down", reversed_text(first)),
        ("C-S-Left", "End", PRESS, reversed_text('beta")')),
        ("C-S-Right", reversed_text("print")),
        ("S-Home", "Right Right", PRESS, reversed_text("pr")),
        ("S-End", reversed_text(first)),
        ("C-s", typed("x"), PRESS, status("saved")),
        ("C-f", typed("last"), "Enter", cursor(6, 3)),
        ("C-p", status(" palette"), sees("run-all")),
        ("M-.", On(opened(t, NAMES, "G", "Enter")), "End Left", PRESS, status("EDIT"), selected("Set"), cursor(2, 2)),
        ("M-,", On(opened(t, NAMES, "G", "Enter")), "End Left M-.", selected("Set"), PRESS, selected("Use"), status("EDIT")),
        ("M-n", On(opened(t, WRONG, "Enter", "wait !")), PRESS, status("unexpected symbol near '='")),
        ("M-p", On(opened(t, WRONG, "Enter", "wait !")), PRESS, status("unknown field \"templat\"")),
        ("F1", *HELP),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, CODE, "EDIT", "Enter")), *shelled("EDIT")),
        ("C-q", lambda s: s.exit() == "exit 0"),
    ])


def test_in_a_cells_output_on_the_full_screen(t):
    begin = opened(t, OUTPUT, "C-e", "wait │ line 19", "O", "wait output ", "g", "wait begin")
    cases("In a cell's output on the full screen", begin, [
        ("/", typed("line 77"), "Enter", sees("line 77\n")),
        ("n", "/", typed("mark"), "Enter", sees("mark 50"), PRESS, sees("mark 100")),
        ("N", "/", typed("mark"), "Enter", sees("mark 50"), "n", sees("mark 100"), PRESS, sees("mark 50")),
        ("&", typed("mark"), "Enter", sees("mark 50\n", "mark 100\n"), lacks("line 2\n")),
        ("f", lacks("following"), PRESS, sees("following", "line 199")),
        ("w", sees("finish"), PRESS, lacks("finish"), PRESS, sees("finish")),
        ("L", sees("1 begin", "2 line 2")),
        ("P", status("stands below its cell already")),
        (":", status(" palette"), sees("follow the end of the log"), "Esc", status(" output")),
        ("Y", status("copied the lines on the screen")),
        ("S", status("lines saved to ")),
        ("Enter", On(opened(t, TRACE, "G C-e", "wait │ t.lua", "O", "wait output ")), PRESS, selected("File"), status("EDIT"), cursor(2, 2)),
        *[(key, status("only the log of a table's row is read anew")) for key in "0123456tp"],
        ("Right", "w", lacks("finish"), PRESS, lacks("begin")),
        ("Left", "w Right", lacks("begin"), PRESS, sees("begin")),
        ("Tab", status(" table"), sees("NAME")),
        ("S-Tab", "Tab", status(" table"), PRESS, status(" output")),
        ("C-c", On(opened(t, SLOW, "C-e", "wait line 2", "O", "wait output ")), PRESS, "q", sees("interrupted")),
        ("j, Down", "w", PRESS, top("line 2")),
        ("k, Up", "w j", top("line 2"), PRESS, top("begin")),
        ("Space, PgDn", lacks("line 30"), PRESS, sees("line 30"), lacks("begin")),
        ("b, PgUp", "Space", lacks("begin"), PRESS, sees("begin")),
        ("g, Home", "G", lacks("begin"), PRESS, sees("begin")),
        ("G, End", sees("line 199")),
        ("A", On(opened(t, ASKS, "C-e", "wait asks", "Esc", "O", "wait output ")), lacks("asks"), PRESS, sees("asks")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, OUTPUT, " output", "C-e", "wait │ line 19", "O")), *shelled(" output")),
        ("?, F1", *HELP),
        ("q, Esc", status("COMMAND")),
    ])


OF_COLUMNS = [
    ("^", "$", column("Z"), PRESS, column("A")),
    ("$", PRESS, column("Z")),
    ("C", PRESS, sees("columns in 40 rows"), status(" columns")),
    ("H", PRESS, status("chooses the column first"), "$", PRESS, sees("1 hidden"), lacks("end 49")),
    ("V", "$ H", sees("1 hidden"), PRESS, lacks("hidden"), "$", sees("end 49")),
    ("|", "$", PRESS, sees("/Z"), typed("=\'end 49\'"), "Enter", sees("1 of 40")),
    ("#", "$", PRESS, sees("How often: Z", "40 values")),
    ("I", PRESS, sees("row 1 of 40"), status(" row")),
]


def test_in_the_values_or_the_columns_of_a_table(t):
    begin = opened(t, TABLE, "C-e", "wait │ row 1", "O", "wait chart ", "Tab", "wait table ", "#", "wait 40 values")
    cases("In the values or the columns of a table", begin, [
        ("Enter", chosen("row 1 "), PRESS, status(" table"), sees("/A='row 1'", "1 of 40")),
        ("Right", sees("COUNT"), PRESS, PRESS, "s", sees("by COUNT ↑")),
        ("Left", "$", PRESS, PRESS, "s", sees("by COUNT ↑")),
        ("^", "$", PRESS, "s", sees("by A ↑")),
        ("$", PRESS, PRESS, "Left", "s", sees("by % ↑")),
        ("C", PRESS, sees("4 columns in 40 rows")),
        ("H", "Right Right", PRESS, lacks("COUNT"), sees("1 hidden")),
        ("V", "Right Right H", lacks("COUNT"), PRESS, sees("COUNT")),
        ("|", "Right Right", PRESS, sees("/COUNT"), typed(">1"), "Enter", lacks("row 1 ")),
        ("#", "Right Right", PRESS, sees("How often: COUNT")),
        ("I", PRESS, sees("row 1 of 40")),
        ("W", PRESS, status("40 rows written to A-")),
        ("/", typed("row 7"), "Enter", chosen("row 7"), lacks("row 1 ")),
        ("s", PRESS, sees("by A ↑")),
        ("S", "s", PRESS, sees("by A ↓")),
        (":", status(" palette"), "Esc", status(" columns")),
        ("j, Down", chosen("row 2 ")),
        ("k, Up", "j j", chosen("row 3 "), PRESS, chosen("row 2 ")),
        ("Space, PgDn", lacks("row 40"), PRESS, PRESS, sees("row 40")),
        ("b, PgUp", "G", lacks("row 1 "), PRESS, PRESS, sees("row 1 ")),
        ("g, Home", "G", chosen("row 40"), PRESS, chosen("row 1 ")),
        ("G, End", chosen("row 40")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, TABLE, " columns", "C-e", "wait │ row 1", "O", "Tab", "wait table ", "#")), *shelled(" columns")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status(" table")),
    ])


FIELDS = """local row = {}
for i = 10, 49 do row["field" .. i] = "value " .. i end
display.table { row, { field10 = "other" } }
"""


def test_in_a_table_of_a_file(t):
    columns = "A" + "".join("," + c * 12 for c in "BCDEFGHIJK") + ",Z"
    rows = "\n".join(f"row {i}" + "".join("," + c * 12 for c in "bcdefghijk") + f",end {50 - i}" for i in range(1, 41))

    def data(where):
        with open(os.path.join(where, "data.csv"), "w", encoding="utf-8") as f:
            f.write(columns + "\n" + rows + "\n")

    def begin():
        where = folder(t, NOTEBOOK)
        data(where)
        return go(workbench(where), (":", "wait palette", *"view", "Space", *"data.csv", "Enter", "wait 40 rows"))
    cases("In a table of a file", begin, [
        ("Enter", PRESS, sees("row 1 of 40"), status(" row")),
        ("Y", PRESS, status("copied the row")),
        ("/", typed("row 7"), "Enter", chosen("row 7"), lacks("row 1 ")),
        ("s", PRESS, sees("by A ↑")),
        ("S", "s", PRESS, sees("by A ↓")),
        ("Right", PRESS, column("A"), PRESS, column("B" * 12)),
        ("Left", "$", column("Z"), PRESS, column("K" * 12)),
        ("^", "$", column("Z"), PRESS, column("A")),
        ("$", PRESS, column("Z")),
        *OF_COLUMNS[2:],
        ("W", PRESS, status("40 rows written to ")),
        (":", status(" palette"), "Esc", status(" file")),
        ("j, Down", chosen("row 2 ")),
        ("k, Up", "j j", chosen("row 3 "), PRESS, chosen("row 2 ")),
        ("Space, PgDn", lacks("row 25"), PRESS, PRESS, sees("row 25")),
        ("b, PgUp", "G", lacks("row 5 "), PRESS, PRESS, sees("row 5 ")),
        ("g, Home", "G", chosen("row 40"), PRESS, chosen("row 1 ")),
        ("G, End", chosen("row 40")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, " file", prepare=data, program="view data.csv", begins="40 rows")), *shelled(" file")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status("COMMAND")),
    ])


def test_in_a_row_as_a_form(t):
    begin = opened(t, FIELDS, "C-e", "wait │ value 10", "O", "wait table ", "I", "wait row 1 of 2")
    cases("In a row as a form", begin, [
        ("Right", PRESS, sees("row 2 of 2")),
        ("Left", "Right", sees("row 2 of 2"), PRESS, sees("row 1 of 2")),
        ("Y", PRESS, status("copied the form")),
        ("/", typed("value 33"), "Enter", sees("field33"), lacks("field10")),
        (":", status(" palette"), "Esc", status(" row")),
        ("j, Down", lacks("field32"), PRESS, sees("field32")),
        ("k, Up", "j", sees("field32"), PRESS, lacks("field32")),
        ("Space, PgDn", lacks("field49"), PRESS, sees("field49")),
        ("b, PgUp", "G", lacks("field11"), PRESS, sees("field11")),
        ("g, Home", "G", lacks("field11"), PRESS, sees("field11")),
        ("G, End", PRESS, sees("field49")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, FIELDS, " row", "C-e", "wait │ value 10", "O", "wait table ", "I")), *shelled(" row")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status(" table")),
    ])


def test_in_a_table_on_the_full_screen(t):
    begin = opened(t, TABLE, "C-e", "wait │ row 1", "O", "wait chart ", "Tab", "wait table ")
    pods = On(opened(t, PODS, "C-e", "wait may it do", "a", "wait beta   1/1", "O", "wait table ", sandbox=True))
    cases("In a table on the full screen", begin, [
        ("Enter, l", pods, sees("words of alpha"), status(" output")),
        ("d", pods, sees("describe alpha", "Namespace:")),
        ("W", pods, sees("why alpha", "looked at:")),
        ("y", pods, sees("apiVersion: v1")),
        ("Y", status("copied the row")),
        ("c", pods, status("copied the name")),
        ("p", pods, sees("previous terminated container")),
        ("i", pods, sees("containers of alpha")),
        ("h", pods, status("this table has no history")),
        ("u", pods, status("this table has no undo")),
        ("X", pods, status("this table has no decode")),
        ("F", pods, sees(":forward")),
        ("f", pods, sees("forwarded ports")),
        ("[", status("no table was looked at before")),
        ("]", status("no table comes after this one")),
        ("C-d", pods, sees("delete Pod alpha"), READ, "y", lacks("alpha")),
        ("e", On(opened(t, PODS, "C-e", "wait may it do", "a", "wait beta   1/1", "O", "wait table ", sandbox=True,
                        env={"EDITOR": "true"})), status("nothing was changed")),
        ("R", pods, status("this table has no restart")),
        ("x", pods, sees("it has no exec")),
        ("t", pods, sees("tree of pod alpha", "pod/alpha")),
        ("a", On(opened(t, PODS, "C-e", "wait may it do", "a", "wait beta   1/1", ":", "wait palette", *"pods", "Enter",
                        "wait pods in default", "wait beta ", sandbox=True)), sees("pods in all namespaces")),
        ("Space", pods, sees("1 marked")),
        ("*", pods, PRESS, sees("2 marked"), PRESS, lacks("marked")),
        ("w", sees("worst first")),
        (":", status(" palette"), sees("the pod's log", "describe the object", "edit the object"), "Esc", status(" table")),
        ("/", typed("row 7"), "Enter", chosen("row 7"), lacks("row 1")),
        ("s", chosen("row 1 "), *[PRESS] * 12, "g", chosen("row 40")),
        ("S", "s s", PRESS, sees("A")),
        ("Right", PRESS, column("A"), PRESS, column("B")),
        ("Left", "$", column("Z"), PRESS, lambda s: not column("Z")(s)),
        *OF_COLUMNS,
        ("C-s", PRESS, status("40 rows written to ")),
        ("Tab", status(" output")),
        ("S-Tab", status(" chart")),
        ("C-c", On(opened(t, TABLE + SLOW[SLOW.index("for"):], "C-e", "wait │ row 1", "O", "wait chart ", "Tab", "wait table ")), "q", sees("✗for")),
        ("j, Down", chosen("row 2")),
        ("k, Up", "j j", chosen("row 3"), PRESS, chosen("row 2")),
        ("PgDn", lacks("row 25"), PRESS, PRESS, sees("row 25")),
        ("b, PgUp", "G", lacks("row 5 "), PRESS, PRESS, sees("row 5 ")),
        ("g, Home", "G", chosen("row 40"), PRESS, chosen("row 1")),
        ("G, End", chosen("row 40")),
        ("A", On(opened(t, TABLE + ASKS, "C-e", "wait asks", "Esc", "O", "wait chart ", "Tab", "wait table ")), lacks("asks"), PRESS, sees("asks")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, TABLE, " table", "C-e", "wait │ row 1", "O", "Tab")), *shelled(" table")),
        ("?, F1", *HELP),
        ("q, Esc", status("COMMAND")),
    ])


def test_in_progress_and_curves_on_the_full_screen(t):
    chart = 'display.plot { a = { 1, 2, 3 }, b = { 3, 2, 1 }, title = "curve" }\ndisplay.table { { NAME = "a" } }\n'
    begin = opened(t, chart, "C-e", "wait │ NAME", "O", "wait chart ")
    cases("In progress and curves on the full screen", begin, [
        ("Right", sees("at 1\n")),
        ("Left", sees("at 3\n")),
        ("Home", "Left", sees("at 3\n"), PRESS, sees("at 1\n")),
        ("End", "Right", sees("at 1\n"), PRESS, sees("at 3\n")),
        ("+", sees("enlarged")),
        ("-", "+", sees("enlarged"), PRESS, lacks("enlarged")),
        ("l", sees("log scale")),
        ("m", sees("ended  a\n")),
        ("r", status(" metrics"), sees("no metrics yet")),
        (":", status(" palette"), "Esc", status(" chart")),
        ("Tab", status(" table")),
        ("S-Tab", status(" output")),
        ("C-c", On(opened(t, chart + SLOW[SLOW.index("for"):], "C-e", "wait line 2", "O", "wait chart ")), "q", sees("interrupted")),
        ("A", On(opened(t, chart + ASKS, "C-e", "wait asks", "Esc", "O", "wait chart ")), lacks("asks"), PRESS, sees("asks")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, chart, " chart", "C-e", "wait │ NAME", "O")), *shelled(" chart")),
        ("?, F1", *HELP),
        ("q, Esc", status("COMMAND")),
    ])


def test_in_the_palette_and_the_search(t):
    begin = opened(t, CELLS, "j", ":", "wait palette")
    cases("In the palette and the search", begin, [
        ("Tab, Down", PRESS, chosen("run "), PRESS, chosen("run-advance")),
        ("S-Tab, Up", "Down Down Down", chosen("run-insert"), PRESS, chosen("run-advance")),
        ("C-c", status("COMMAND")),
    ])


def test_in_the_outline(t):
    long = "\n".join(f"-- %% Cell {i:02}\nx = {i}\n" for i in range(1, 61))
    begin = opened(t, long, "T", "wait Outline")
    cases("In the outline", begin, [
        ("Down, Tab", chosen("Cell 01"), PRESS, chosen("Cell 02")),
        ("Up, S-Tab", "Down Down", chosen("Cell 03"), PRESS, chosen("Cell 02")),
        ("PgDn", chosen("Cell 01"), PRESS, chosen("Cell 21")),
        ("PgUp", "PgDn PgDn", lacks("Cell 02"), PRESS, PRESS, chosen("Cell 01")),
        ("C-c", status("COMMAND")),
    ])


def test_in_the_list_of_problems(t):
    many = "-- %% Many file=\"a.yaml\"\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n" + "".join(f"  key{i:02}: {i}\n" for i in range(60))
    begin = opened(t, many, "g e", "wait data.key00")
    cases("In the list of problems", begin, [
        ("Down, Tab", chosen("key00"), PRESS, chosen("key01")),
        ("Up, S-Tab", "Down Down", chosen("key02"), PRESS, chosen("key01")),
        ("PgDn", chosen("key00"), PRESS, chosen("key20")),
        ("PgUp", "PgDn PgDn", lacks("key00"), PRESS, PRESS, chosen("key00")),
        ("C-c", status("COMMAND")),
    ])


def test_when_a_cell_gets_or_has_a_letter(t):
    begin = opened(t, CELLS, "j", "g m", "wait A letter")
    cases("When a cell gets or has a letter", begin, [
        ("Esc, C-c", status("COMMAND"), lacks("A letter")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, CELLS, "letters", "g m")), *shelled("letters")),
    ])


def test_when_places_are_replaced_one_by_one(t):
    ask = ":", "wait palette", *"%s/out/in/gc", "Enter", "wait Replace with"
    begin = opened(t, CELLS, *ask)
    cases("When places are replaced one by one", begin, [
        ("y", sees("1 of 3"), PRESS, sees("2 of 3"), "q", sees('print("in" .. " beta")', 'print("out" .. " gamma")')),
        ("n", PRESS, sees("2 of 3"), "y", "q", sees('print("out" .. " beta")', 'print("in" .. " gamma")')),
        ("a", "n", PRESS, sees('print("out" .. " beta")', 'print("in" .. " gamma")', 'print("in" .. " delta")')),
        ("l", PRESS, sees('print("in" .. " beta")', 'print("out" .. " gamma")'), status("1 place in 1 cell")),
        ("Esc, q, C-c", PRESS, status("nothing was replaced")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, CELLS, "replace", *(key for key in ask if not key.startswith("wait p")))), *shelled("replace")),
    ])


def test_when_a_cell_asks(t):
    begin = opened(t, MAPS, "C-e", "wait may it do this?", sandbox=True)
    small = On(opened(t, MAPS, "C-e", "wait may it do", sandbox=True, size="40x10"))
    cases("When a cell asks", begin, [
        ("y", sees("ConfigMap first"), PRESS, sees("ConfigMap second")),
        ("a", sees("made both")),
        ("n", sees("said no")),
        ("j, Down", small, lacks("objects"), PRESS, PRESS, PRESS, PRESS, sees("objects")),
        ("k, Up", small, "j j j j", lacks("create"), PRESS, PRESS, PRESS, PRESS, sees("create")),
        ("PgDn", small, lacks("objects"), PRESS, sees("objects")),
        ("PgUp", small, "PgDn", lacks("create"), PRESS, sees("create")),
        ("Esc", lacks("may it do this?"), status("A asks again")),
        ("C-c", sees("interrupted")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, MAPS, "question", "C-e", program="--sandbox small.lua")), *shelled("question")),
    ])


def test_in_the_list_of_names_while_completing(t):
    begin = opened(t, "x = 1\n", "Enter C-End Enter s t r i n g . Tab", "wait byte")
    cases("In the list of names while completing", begin, [
        ("Tab, Down", bold("byte"), PRESS, bold("char")),
        ("S-Tab, Up", "Down", bold("char"), PRESS, bold("byte")),
        ("PgDn", bold("byte"), PRESS, bold("len")),
        ("PgUp", "PgDn", bold("len"), PRESS, bold("byte")),
        ("Enter", row(2, "string.byte")),
        ("Backspace", row(2, "string")),
        ("Esc, C-c", lacks("byte"), status("EDIT")),
    ])


def test_in_the_documentation_of_a_name(t):
    begin = opened(t, "k8s.wait\n", "Enter C-End Left Left S-Tab", "wait What it is", size="40x10")
    cases("In the documentation of a name", begin, [
        ("Down", sees("k8s.wait{handle"), PRESS, lacks("k8s.wait{handle")),
        ("Up", "Down", lacks("k8s.wait{handle"), PRESS, sees("k8s.wait{handle")),
        ("PgDn", sees("k8s.wait{handle"), PRESS, lacks("k8s.wait{handle")),
        ("PgUp", "PgDn", lacks("k8s.wait{handle"), PRESS, sees("k8s.wait{handle")),
        ("Esc, C-c", lacks("What it is"), status("EDIT")),
    ])


def test_in_the_properties_of_a_cell(t):
    begin = opened(t, CELLS, "j p", "wait Properties of the cell")
    cases("In the properties of a cell", begin, [
        ("C-s", typed("!"), sees("Beta!"), PRESS, lacks("Properties"), sees("] Beta!")),
        ("Tab", PRESS, typed("b"), sees("< bash >")),
        ("Down", PRESS, typed("b"), sees("< bash >")),
        ("Up, S-Tab", "Down", PRESS, typed("!"), sees("Beta!")),
        ("C-c", lacks("Properties"), status("COMMAND")),
    ])


def test_when_something_would_be_lost(t):
    asks = "j C-e", "wait out beta", "0 0", "wait Restart the kernel?"
    begin = opened(t, CELLS, *asks, env=ASKED)
    small = On(opened(t, CELLS, *asks, env=ASKED, size="40x6"))
    cases("When something would be lost", begin, [
        ("y", sees("just now"), status("idle")),
        ("Esc, n, C-c", PRESS, status("COMMAND"), lacks("Restart the kernel?")),
        ("Down, PgDn", small, lacks("Esc  leave"), PRESS, PRESS, sees("Esc  leave"), lacks("the values")),
        ("Up, PgUp", small, "Down Down", lacks("the values"), PRESS, PRESS, sees("the values")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, CELLS, "question", "j C-e", "wait out beta", "0 0", env=ASKED)), *shelled("question")),
    ])


def test_when_something_is_unsaved(t):
    unsaved = "j d d", "wait small.lua +", "q", "wait leaving"
    begin = opened(t, CELLS, *unsaved)
    small = On(opened(t, CELLS, *unsaved, size="40x6"))
    cases("When something is unsaved", begin, [
        ("s", lambda s: s.exit() == "exit 0"),
        ("d", lambda s: s.exit() == "exit 0"),
        ("k", lambda s: s.exit() == "exit 0"),
        ("Down, PgDn", small, lacks("Esc  stay"), PRESS, sees("Esc  stay"), lacks("s  save")),
        ("Up, PgUp", small, "Down", lacks("s  save"), PRESS, sees("s  save")),
        ("Esc, C-c", status("COMMAND")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, CELLS, "leaving", "d d", "wait small.lua +", "q")), *shelled("leaving")),
    ])


def test_when_the_file_has_changed(t):
    def changed(s):
        """Saves a file that somebody else has written meanwhile."""
        with open(os.path.join(s.cwd, "small.lua"), "a", encoding="utf-8") as f:
            f.write("\n-- %% Other\n")
        s.keys("s")
        s.wait("has changed")
        time.sleep(0.5)  # keys that come at once are typed ahead and decide nothing
        return s

    unsaved = "j d d", "wait small.lua +"
    small = On(lambda: changed(opened(t, CELLS, *unsaved, size="60x7")()))
    cases("When the file has changed", lambda: changed(opened(t, CELLS, *unsaved)()), [
        ("d", sees("what saving would change")),
        ("o", status("saved")),
        ("r", titles("Alpha", "Beta", "Gamma", "Delta", "Other")),
        ("n", typed("other.lua"), "Enter", status("saved", "other.lua")),
        ("Down, PgDn", small, lacks("Esc  later"), PRESS, sees("Esc  later"), lacks("show the difference")),
        ("Up, PgUp", small, "Down", lacks("show the difference"), PRESS, sees("show the difference")),
        ("Esc, q, C-c", lacks("has changed"), status("COMMAND", "small.lua +")),
        ("C-l", *REDRAWN),
        ("C-z", On(lambda: changed(suspended(t, CELLS, "COMMAND", *unsaved)())), *shelled("saving")),
    ])


def test_in_a_line_that_is_typed_a_filter_an_answer(t):
    def line(after, before=()):
        """The line's text after the key and an X."""
        return (*before, PRESS, typed("X"), sees("> " + after))

    begin = opened(t, 'print("<" .. input "name?" .. ">")\n', "C-e", "wait asks", "o n e Space t w o", "wait > one two")
    cases("In a line that is typed: a filter, an answer", begin, [
        ("Enter", sees("<one two>")),
        ("Left", *line("one twXo")),
        ("Right", *line("one twoX", ("Left",))),
        ("C-Left, M-b", *line("one Xtwo")),
        ("C-Right, M-f", *line("oneX two", ("Home",))),
        ("Home, C-a", *line("Xone two")),
        ("End, C-e", *line("one twoX", ("Home",))),
        ("Backspace", *line("one twX")),
        ("Delete, C-d", *line("Xne two", ("Home",))),
        ("C-w, M-Backspace", *line("one X")),
        ("M-d", *line("X two", ("Home",))),
        ("C-u", *line("X")),
        ("C-k", *line("X", ("Home",))),
        ("C-v, C-y", *line("one twoX", ("C-u", lacks("> one")))),
        ("C-_", *line("one twoX", ("C-u",))),
        ("Up", *line("one twoX")),
        ("Down", *line("one twoX")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, "input 'name?'\n", "question", "C-e")), *shelled("question")),
        ("Esc", lacks("> one"), status("A asks again")),
    ])


def test_in_a_list_of_notebooks_and_kernels(t):
    for where in (folder(t, SLOW), folder(t, SLOW)):
        with workbench(where) as s:
            s.keys("C-e")
            s.wait("line 2")
            s.signal("HUP")
            s.exit()

    def begin():
        s = Screen([FIRESTEEL, "attach"], cwd=t.dir())
        s.wait("busy")
        return s

    cases("In a list of notebooks and kernels", begin, [
        ("/", typed("no such thing"), "Enter", sees("0 of")),
        (":", status(" palette"), "Esc", status(" open")),
        ("Enter", status("COMMAND")),
        ("C-c, q, Esc", lambda s: s.exit() == "exit 0"),
        ("j, Down", chosen_row(2), PRESS, chosen_row(3)),
        ("k, Up", "j", chosen_row(3), PRESS, chosen_row(2)),
        ("Space, PgDn", chosen_row(2), PRESS, lambda s: not chosen_row(2)(s)),
        ("b, PgUp", "G", lambda s: not chosen_row(2)(s), PRESS, chosen_row(2)),
        ("g, Home", "G", lambda s: not chosen_row(2)(s), PRESS, chosen_row(2)),
        ("G, End", lambda s: not chosen_row(2)(s)),
        ("A", status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, SLOW, " open", program="attach")), *shelled(" open")),
        ("?, F1", *HELP),
    ])


def with_runs(t, *keys, **options):
    """The list of forty runs of a notebook, which has none of its own yet but the open one."""
    def begin():
        where = folder(t, NOTEBOOK)
        many(where, 40, parameters=30)
        s = go(workbench(where, env={"TZ": "UTC"}, **options), ("g h", "wait 0028"))
        s.gone(" read")
        return go(s, keys)
    return begin


LISTED = [
    (":", status(" palette"), "Esc", status(" runs")),
    ("j, Down", chosen("0028"), PRESS, chosen("0027")),
    ("k, Up", "j", chosen("0027"), PRESS, chosen("0028")),
    ("Space, PgDn", chosen("0028"), PRESS, lambda s: not chosen("0028")(s)),
    ("b, PgUp", "G", chosen("0001"), PRESS, lambda s: not chosen("0001")(s)),
    ("g, Home", "G", chosen("0001"), PRESS, chosen("0028")),
    ("G, End", PRESS, chosen("0001")),
]


def test_in_the_list_of_runs(t):
    cases("In the list of runs", with_runs(t), [("PgDn" if row[0] == "Space, PgDn" else row[0], *row[1:]) for row in LISTED] + [
        ("Enter", chosen("0028"), PRESS, sees("part of 40"), status("10.0s of 10.0s")),
        ("m", chosen("0028"), PRESS, sees("*0028"), chosen("0027")),
        ("Space", chosen("0028"), PRESS, sees("*0028"), chosen("0027")),
        ("*", PRESS, sees("*0028", "*0027")),
        ("p", "m m", PRESS, status(" metrics"), sees("loss  2 runs")),
        ("c", "m j", chosen("0026"), PRESS, status(" compare"), sees("0028", "0026")),
        ("t", PRESS, status("it has no trials")),
        ("D", PRESS, sees("Remove this run?"), "Esc"),
        ("e", PRESS, status("0028.html is written")),
        ("a", PRESS, sees("all in ")),
        ("/", typed("lr<0.035"), "Enter", sees("0003", "0001"), lacks("0004")),
        ("s", PRESS, sees("by RUN ↑")),
        ("S", "s s s", sees("by STARTED ↑"), PRESS, sees("by STARTED ↓")),
        ("Right", sees("STARTED"), *[PRESS] * 20, lacks("STARTED")),
        ("Left", "$", lacks("STARTED"), *[PRESS] * 40, sees("STARTED")),
        ("^", "$", lacks("STARTED"), PRESS, sees("STARTED")),
        ("$", sees("STARTED"), PRESS, lacks("STARTED")),
        ("C", PRESS, sees("columns in 40 rows")),
        ("H", "Right Right", PRESS, sees("1 hidden")),
        ("V", "Right Right H", sees("1 hidden"), PRESS, lacks("hidden")),
        ("|", "Right Right", PRESS, sees("/STATE")),
        ("#", "Right Right", PRESS, sees("How often: STATE")),
        ("I", PRESS, sees("row 1 of 40")),
        ("W", PRESS, status("40 rows written to runs-")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, " runs", "g h")), *shelled(" runs")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status("COMMAND")),
    ])


def test_when_a_run_is_to_be_removed(t):
    begin = with_runs(t, "D", "wait Remove this run?")
    small = On(with_runs(t, "D", "wait Remove this run?", size="60x6"))
    cases("When a run is to be removed", begin, [
        ("y", PRESS, status("0028 is removed"), chosen("0027")),
        ("Down, PgDn", small, lacks("Esc  keep"), PRESS, sees("Esc  keep"), lacks("0028")),
        ("Up, PgUp", small, "PgDn", lacks("0028"), PRESS, sees("0028")),
        ("Esc, n, C-c", PRESS, status(" runs"), chosen("0028")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, "removing", "g h", "wait 0028", "D", prepare=lambda where: many(where, 40))), *shelled("removing")),
    ])


def test_in_two_runs_side_by_side(t):
    begin = with_runs(t, "j", "c", "wait Two runs")
    cases("In two runs side by side", begin, [
        ("m", PRESS, status("there is one curve")),
        ("p", PRESS, status(" metrics"), sees("loss  2 runs")),
        (":", status(" palette"), "Esc", status(" compare")),
        ("j, Down", sees(" started"), PRESS, lacks(" started")),
        ("k, Up", "j", lacks(" started"), PRESS, sees(" started")),
        ("Space, PgDn", sees(" started"), PRESS, lacks(" started")),
        ("b, PgUp", "Space", lacks(" started"), PRESS, sees(" started")),
        ("g, Home", "G", lacks(" started"), PRESS, sees(" started")),
        ("G, End", PRESS, lacks(" started")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, " compare", "g h", "wait 0028", "j", "c", prepare=lambda where: many(where, 40))), *shelled(" compare")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status(" runs")),
    ])


def test_in_the_table_of_several_runs(t):
    begin = with_runs(t, "m m m m", "c", "wait 4 runs")
    cases("In the table of several runs", begin, [
        ("Enter, I", PRESS, sees("row 1 of 4")),
        ("Space", chosen("0028"), PRESS, sees("*0028"), chosen("0027")),
        ("p", PRESS, status(" metrics"), sees("loss  4 runs")),
        ("c", "Space Space", PRESS, status(" compare"), sees("0028", "0027")),
        ("B", "Right Right Right Right", PRESS, status("the largest is the best")),
        (":", status(" palette"), "Esc", status(" runs table")),
        ("j, Down", chosen("0028"), PRESS, chosen("0027")),
        ("k, Up", "j", chosen("0027"), PRESS, chosen("0028")),
        ("PgDn", chosen("0028"), PRESS, chosen("0025")),
        ("b, PgUp", "G", chosen("0025"), PRESS, chosen("0028")),
        ("g, Home", "G", chosen("0025"), PRESS, chosen("0028")),
        ("G, End", PRESS, chosen("0025")),
        ("/", typed("lr<0.38"), "Enter", sees("0025"), lacks("0028")),
        ("s", PRESS, sees("by RUN ↑")),
        ("S", "s", sees("by RUN ↑"), PRESS, sees("by RUN ↓")),
        ("Right", PRESS, PRESS, "s", sees("by STATE ↑")),
        ("Left", "$", PRESS, "s", sees("by loss ↑")),
        ("^", "$", PRESS, "s", sees("by RUN ↑")),
        ("$", PRESS, "s", sees("by min loss ↑")),
        ("C", PRESS, sees("columns in 4 rows")),
        ("H", "Right Right", PRESS, sees("1 hidden")),
        ("V", "Right Right H", sees("1 hidden"), PRESS, lacks("hidden")),
        ("|", "Right Right", PRESS, sees("/STATE")),
        ("#", "Right Right", PRESS, sees("How often: STATE")),
        ("W", PRESS, status("4 rows written to runs-")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, " runs table", "g h", "wait 0028", "m m m", "c", prepare=lambda where: many(where, 40))), *shelled(" runs table")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status(" runs  ")),
    ])


def test_in_the_chart_of_metrics(t):
    begin = with_runs(t, "m m", "p", "wait loss  2 runs")
    cases("In the chart of metrics", begin, [
        ("Right", sees("at step 1 ")),
        ("Left", sees("at step 3 ")),
        ("Home", "Left", sees("at step 3 "), PRESS, sees("at step 1 ")),
        ("End", "Right", sees("at step 1 "), PRESS, sees("at step 3 ")),
        ("+", sees("enlarged")),
        ("-", "+", sees("enlarged"), PRESS, lacks("enlarged")),
        ("[", "+", sees("enlarged"), "Right", sees("at step 2"), PRESS, sees("enlarged")),
        ("]", status("all of it is shown")),
        ("m", sees("loss  2 runs")),
        ("M", sees("Metrics  1 of 1 marked")),
        ("R", sees("Runs  2 of 2 marked")),
        ("o", sees("loss  2 runs")),
        ("x", status("x: time since it began")),
        ("l", sees("log scale")),
        ("L", sees("log x")),
        ("y", sees("without outliers")),
        ("s", sees("smooth 0.3")),
        ("S", "s s", sees("smooth 0.6"), PRESS, sees("smooth 0.3")),
        ("b", status("no two of the runs")),
        ("t", status(" runs table"), sees("0028", "0027")),
        ("W", status("6 values written to loss-")),
        ("P", status("the chart is written to loss-")),
        (":", status(" palette"), "Esc", status(" metrics")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, " metrics", "g h", "wait 0028", "p", prepare=lambda where: many(where, 40))), *shelled(" metrics")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status(" runs  ")),
    ])


def test_in_the_list_of_what_a_chart_shows(t):
    begin = with_runs(t, "m m m", "p", "wait loss  3 runs", "R", "wait 3 of 3")
    cases("In the list of what a chart shows", begin, [
        ("Space", PRESS, sees("2 of 3 marked")),
        ("*", PRESS, sees("0 of 3 marked")),
        ("=", PRESS, sees("1 of 3 marked")),
        ("Enter", "Space", sees("2 of 3 marked"), PRESS, status(" metrics"), sees("2 of 3 runs")),
        ("/", typed("0.39"), "Enter", sees("lr=0.39"), lacks("lr=0.4")),
        ("j, Down", chosen("* lr=0.4"), PRESS, chosen("* lr=0.39")),
        ("k, Up", "j", chosen("* lr=0.39"), PRESS, chosen("* lr=0.4")),
        ("PgDn", PRESS, chosen("* lr=0.38")),
        ("b, PgUp", "G", chosen("* lr=0.38"), PRESS, chosen("* lr=0.4")),
        ("g, Home", "G", chosen("* lr=0.38"), PRESS, chosen("* lr=0.4")),
        ("G, End", PRESS, chosen("* lr=0.38")),
        (":", status(" palette"), "Esc", status(" choose")),
        ("A", PRESS, status("no question")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, NOTEBOOK, " choose", "g h", "wait 0028", "p", "wait loss", "R", prepare=lambda where: many(where, 40))), *shelled(" choose")),
        ("?, F1", *HELP),
        ("q, Esc", PRESS, status(" metrics")),
    ])


def test_in_a_run_that_has_ended(t):
    def begin():
        where = t.dir()
        write_journal(where, "past-20260102-140300-7f3a", PAST)
        s = Screen([FIRESTEEL, "show", "--open"], cwd=where, env={"TZ": "UTC"})
        s.wait("failed after")
        return s
    cases("In a run that has ended", begin, [
        ("Left, ,", "Left Left", sees("✗ error"), PRESS, lacks("✗ error"), sees("[*] Fail")),
        ("Right, .", "(", sees("[ ] First"), PRESS, sees("[*] First")),
        ("S-Left, <", PRESS, sees("● busy")),
        ("S-Right, >", "(", PRESS, sees("[*] First")),
        ("(", PRESS, sees("[ ] First"), status("14:03:00")),
        (")", "(", sees("[ ] First"), PRESS, sees("[3] Fail")),
    ])


def test_in_the_help(t):
    begin = opened(t, CELLS, "?", "wait help ")
    cases("In the help", begin, [
        ("/", typed("merge"), "Enter", sees("merge the selected"), lacks("undo a change")),
        ("n", "/", typed("redo"), "Enter", lacks("undo a change"), chosen("Z"), PRESS, chosen("C-y, M-Z")),
        ("N", "/", typed("redo"), "Enter", lacks("undo a change"), "n", chosen("C-y, M-Z"), PRESS, chosen("Z")),
        ("Tab", PRESS, sees("[Tasks]", "inserts one below.")),
        ("S-Tab", PRESS, sees("[Settings]", "usually")),
        ("Enter", "G Up", PRESS, status("COMMAND")),
        ("?, F1, q, Esc", status("COMMAND")),
        (":", status(" palette"), "Esc", status("help ")),
        ("j, Down", chosen("C-r, S-Enter"), PRESS, chosen("C-e, C-Enter")),
        ("k, Up", "j", chosen("C-e, C-Enter"), PRESS, chosen("C-r, S-Enter")),
        ("Space, PgDn", lacks("run the cell and go")),
        ("b, PgUp", "Space", lacks("run the cell and go"), PRESS, sees("run the cell and go")),
        ("g, Home", "G", lacks("run the cell and go"), PRESS, sees("run the cell and go")),
        ("G, End", lacks("run the cell and go")),
        ("A", On(opened(t, ASKS, "C-e", "wait asks", "Esc", "?", "wait help ")), lacks("name?"), PRESS, sees("name?")),
        ("C-l", *REDRAWN),
        ("C-z", On(suspended(t, CELLS, "help ", "?")), *shelled("help ")),
    ])


run(globals())
