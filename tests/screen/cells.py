#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The notebook view by keys: its structure with undo and redo, what is saved, completion, Markdown,
and what the gutter says. Every change is checked in the file that saving it leaves."""
import json
import os
import re
import time

from bench import kernels
from sandbox import sandbox
from screen import Screen
from tap import BUILD, FIRESTEEL, eventually, run, sh, stop_kernels

FACTS = os.path.join(BUILD, "tests", "replay", "facts")
CELLS = """-- %% [markdown]
-- # Title

-- %% One
a = 1

-- %% Two
b = 2

-- %% Three
c = 3
"""


def folder(t, text=CELLS, name="cells.lua"):
    where = t.dir()
    with open(os.path.join(where, name), "w") as f:
        f.write(text)
    t.after(stop_kernels)
    return where


def workbench(where, **options):
    s = Screen([FIRESTEEL, "cells.lua"], cwd=where, **options)
    s.wait("idle")
    return s


def text(s):
    return "\n".join(s.screen())


def read(where, name="cells.lua"):
    with open(os.path.join(where, name)) as f:
        return f.read()


def write(where, text, name="cells.lua"):
    with open(os.path.join(where, name), "w") as f:
        f.write(text)


def saved(s, where):
    """The file after saving, each cell as "marker|source", a list."""
    s.keys("Esc")
    s.gone("saved")
    s.keys("C-s")
    s.wait("saved")
    cells = re.split(r"^-- %% ?", read(where), flags=re.M)[1:]
    return ["|".join(cell.rstrip("\n").split("\n", 1)) for cell in cells]


def test_a_trainer_cell_has_help_and_its_errors(t):
    where = folder(t, '-- %% A file="tt.lua"\nlocal nn\nprint(nn.y)\n\n-- %% B\ntrainer.run "tt.lua"\n')
    with workbench(where) as s:
        s.keys("R")
        s.wait("cell [1] line 2 (tt.lua:2)")
        marked = [row.strip("▌ ") for row in s.screen() if row.strip("▌ ").startswith("✗")]
        assert marked == ["✗print(nn.y)", '✗trainer.run "tt.lua"'], s.screen()
        s.keys("g g Enter C-End Enter")
        s.type("nn.Den")
        s.keys("Tab")
        s.wait("nn.Dense")
        s.keys("S-Tab")
        s.wait("nn.Dense{units, activation=")
        s.wait("fully connected layer")
        s.keys("Esc Esc")
        assert not [row for row in s.screen() if row.strip("▌ ").startswith("✗print")]  # the text is another one


def leave(s):
    s.keys("q")
    code = s.exit()
    assert code == "exit 0", code


START = ["[markdown]|-- # Title", "One|a = 1", "Two|b = 2", "Three|c = 3"]


def there_and_back(t, keys, expected, text=CELLS, start=None):
    """Checks what keys do to the file, that z undoes it as one step, and that Z redoes it."""
    where = folder(t, text)
    start = start or START
    with workbench(where) as s:
        for batch in keys:
            s.keys(batch)
        got = saved(s, where)
        assert got == expected, got
        s.keys("z")
        s.wait("undone")
        got = saved(s, where)
        assert got == start, ("undone", got)
        s.keys("Z")
        s.wait("done again")
        got = saved(s, where)
        assert got == expected, ("done again", got)
        s.keys("z")
        s.wait("undone")
        got = saved(s, where)
        assert got == start, ("undone again", got)
        leave(s)


def test_insert_above_and_below(t):
    there_and_back(t, ["j a"], START[:1] + [""] + START[1:])
    there_and_back(t, ["j b"], START[:2] + [""] + START[2:])


def test_cut_and_paste(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("j x G v")
        got = saved(s, where)
        assert got == [START[0], START[2], START[3], START[1]], got
        s.keys("k k V")
        got = saved(s, where)
        assert got == [START[0], START[1], START[2], START[3], START[1]], got
        s.keys("z")
        s.wait("undone: paste")
        s.keys("z z")
        s.wait("undone: cut")
        got = saved(s, where)
        assert got == START, got
        s.keys("z")
        s.wait("no change of cells to undo")
        s.keys("Z Z Z")
        s.wait("done again: paste")
        got = saved(s, where)
        assert got == [START[0], START[1], START[2], START[3], START[1]], got
        leave(s)


def test_several_cells_are_cut_and_pasted(t):
    there_and_back(t, ["j J x"], [START[0], START[3]])
    there_and_back(t, ["j J c G v"], START + START[1:3])
    there_and_back(t, ["j J d d"], [START[0], START[3]])


def test_a_move_takes_the_whole_selection(t):
    there_and_back(t, ["j J M-Down"], [START[0], START[3], START[1], START[2]])
    there_and_back(t, ["G K M-Up"], [START[0], START[2], START[3], START[1]])
    where = folder(t)
    with workbench(where) as s:
        s.keys("j J M-Down M-Down M-Up M-Up M-Up M-Up")
        got = saved(s, where)
        assert got == [START[1], START[2], START[0], START[3]], got
        rows = [row for row in s.screen() if row.startswith("▌") and "]" in row]
        assert len(rows) == 2, rows
        leave(s)


def test_merge(t):
    there_and_back(t, ["j M"], [START[0], "One|a = 1\nb = 2", START[3]])
    there_and_back(t, ["j J J M"], [START[0], "One|a = 1\nb = 2\nc = 3"])


def test_split(t):
    there_and_back(t, ["j Enter C-End Left Left Left C-\\ Esc"],
                   [START[0], "One|a ", "|= 1", START[2], START[3]])
    two = "-- %% One\na = 1\nb = 2\n"
    there_and_back(t, ["Enter Down C-\\ Esc"], ["One|a = 1", "|b = 2"], two,
                   ["One|a = 1\nb = 2"])


def test_types(t):
    there_and_back(t, ["j m"], [START[0], "One [markdown]|-- a = 1"] + START[2:])
    there_and_back(t, ["j r"], [START[0], "One [raw]|-- a = 1"] + START[2:])
    there_and_back(t, ["y"], ["|# Title"] + START[1:])
    there_and_back(t, ["j J m"], [START[0], "One [markdown]|-- a = 1", "Two [markdown]|-- b = 2",
                                  START[3]])


def test_headings(t):
    where = folder(t)
    with workbench(where) as s:
        for level in range(1, 7):
            s.keys(str(level))
            got = saved(s, where)
            assert got[0] == "[markdown]|-- " + "#" * level + " Title", got
        s.keys("z z z z z")
        got = saved(s, where)
        assert got == START, got
        leave(s)
    there_and_back(t, ["j 2"], [START[0], "One [markdown]|-- ## a = 1"] + START[2:])


FILES = """-- %% Before
x = 1

-- %% Library file="lib.lua"
local lib = {}
function lib.go(t)
  return t.field.missing
end
return lib

-- %% Between
y = 2

-- %% Use
dofile("lib.lua").go {}
"""


def test_the_cell_that_wrote_a_file_is_found_from_the_one_that_failed_in_it(t):
    with workbench(folder(t, FILES)) as s:
        s.keys("R")
        s.wait("cell [2] line 3 (lib.lua:3)")
        s.wait("idle")
        s.keys("g g g f")
        s.wait("▌[2] Library")
        assert any(row.startswith("▌✗  return t.field.missing") for row in s.screen()), text(s)
        s.keys("g f")
        s.wait("▌[4] Use")
        s.keys("g f")  # around
        s.wait("▌[2] Library")
        s.keys("Enter C-Home Down Down End")
        s.type(" or 0")
        s.keys("Esc")
        s.gone("✗  return")  # what was changed since is no longer what failed
        s.keys("g f")
        s.wait("▌[4~] Use")
        leave_unsaved(s)


def test_an_editor_is_one_step(t):
    where = folder(t)
    with workbench(where, env={"VISUAL": None, "EDITOR": "sed -i s/1/42/"}) as s:
        s.keys("j e")
        s.wait("a = 42")
        assert saved(s, where)[1] == "One|a = 42"
        s.keys("z")
        s.wait("undone: editor")
        assert saved(s, where) == START
        leave(s)


def test_an_editor_has_the_terminal_and_nothing_else(t):
    where = folder(t)
    mess = [FACTS, "--mess", os.path.join(where, "lock"), "027", "--"]
    with Screen([*mess, FIRESTEEL, "small.lua"], cwd=where,
                env={"VISUAL": None, "EDITOR": f"{FACTS} --to facts.json"}) as s:
        s.wait("idle")
        s.keys("j e")
        eventually(lambda: os.path.exists(os.path.join(where, "facts.json")))
        with open(os.path.join(where, "facts.json"), encoding="utf-8") as f:
            facts = json.load(f)
        assert sorted(facts["fds"]) == ["0", "1", "2"], facts["fds"]
        assert len(set(facts["fds"].values())) == 1 and facts["terminal"], facts
        assert int(facts["ignored"], 16) & 0x7fffffff == 0 and int(facts["blocked"], 16) == 0, facts
        assert int(facts["umask"], 8) == 0o27 and "EDITOR=" in "".join(facts["env"]), facts
        leave(s)


def test_an_editor_that_fails_changes_nothing(t):
    where = folder(t)
    write(where, "#!/bin/sh\necho gone >$2; printf '\\033[2J\\033[31mmess'; exit 3\n", "mess")
    os.chmod(os.path.join(where, "mess"), 0o755)
    with workbench(where, env={"VISUAL": "./mess x",
                               "EDITOR": "true"}) as s:
        s.keys("j e")
        s.wait("the cell is as it was")
        rows = s.screen()
        assert any(row.startswith("▌ a = 1") for row in rows), rows
        assert not any("mess" in row for row in rows[:-1]), rows
        leave(s)
    assert read(where) == CELLS


def test_typed_ahead_keys_meet_the_cells_they_were_meant_for(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("j d d d d")
        got = saved(s, where)
        assert got == [START[0], START[3]], got
        s.keys("z z b Enter")
        s.type("new = 1")
        s.keys("Esc x j v")
        got = saved(s, where)
        assert got == START + ["|new = 1"], got
        leave(s)


def test_undo_of_text_survives_leaving_and_running(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("j Enter C-End")
        s.type("0 + 5")
        s.keys("Esc C-e")
        s.wait("[1]")
        s.keys("Enter M-z M-z M-z")
        s.wait("a = 1")
        s.keys("M-z Esc")
        assert saved(s, where) == START
        s.keys("Enter M-Z M-Z M-Z Esc")
        assert saved(s, where)[1] == "One|a = 10 + 5"
        leave(s)


def test_an_undo_that_does_not_fit_any_more_is_said(t):
    where = folder(t)
    with workbench(where) as a, Screen([FIRESTEEL, "cells.lua"], cwd=where) as b:
        b.wait("idle")
        a.keys("j M")
        a.gone("Two")
        b.gone("Two")
        b.keys("j Enter C-Home")
        b.type("z = 0\n")
        b.keys("Esc")
        a.wait("z = 0")
        a.keys("z")
        a.wait("cannot undo merge")
        got = saved(a, where)
        assert got == [START[0], "One|z = 0\na = 1\nb = 2", START[3]], got
        a.keys("z")
        a.wait("forgotten")
        a.keys("g g j M-Down")
        a.quiet()
        b.keys("g g j j d d")
        a.gone("z = 0")
        a.keys("z")
        a.wait("cannot undo move")
        assert saved(a, where) == [START[0], START[3]]
        leave(b)
        leave(a)



LUA = """-- %% One
for i, n in ipairs {"one", "two", "three"} do _G["alpha_" .. n] = i end
"""


def editing(t, text=LUA, **options):
    where = folder(t, text)
    s = workbench(where, **options)
    s.keys("C-e")
    s.wait("[1]")
    s.wait("idle")
    s.keys("Enter C-End Enter")
    s.wait("EDIT")
    return s


def test_completion_narrows_goes_round_and_is_accepted(t):
    with editing(t) as s:
        s.type("x = al\t")
        s.wait("alpha_three")
        assert "x = alpha_" in text(s), "what all names begin with is there at once"
        s.type("t")
        s.gone("alpha_one ")
        s.keys("Backspace")
        s.wait(" alpha_two")
        s.keys("Tab Tab Tab S-Tab Enter")
        s.wait("x = alpha_two")
        s.keys("Esc")
        s.wait("COMMAND")
        leave_unsaved(s)


def test_completion_of_one_name_and_of_none(t):
    with editing(t) as s:
        s.type("alpha_tw\t")
        s.wait("alpha_two")
        s.type(" = string.for\t")
        s.wait("alpha_two = string.format")
        s.type("('%d', 1)\nnope_\t")
        s.wait("no known name begins")
        s.type("\n\tindented\t")
        s.wait("  indented")
        s.keys("Esc")
        leave_unsaved(s)


def test_completion_closes_for_what_is_no_name(t):
    with editing(t) as s:
        s.type("alpha_\t")
        s.wait("alpha_three")
        s.keys("Esc")
        s.gone("alpha_three ")
        s.wait("EDIT")
        s.type("one + alpha_\t")
        s.wait(" alpha_three")
        s.type("two + 1")
        s.wait("alpha_one + alpha_two + 1")
        s.keys("C-e")
        s.wait("│ 4")
        s.keys("Esc")
        leave_unsaved(s)


def test_completion_on_small_screens_stays_within(t):
    with editing(t, LUA + "x = 0\n" * 30, size="40x10") as s:
        s.type(" " * 30 + "alpha_\t")
        s.wait("alpha_three")
        rows = s.screen()
        x, y, visible = s.cursor()
        assert visible
        at = next(i for i, row in enumerate(rows) if "alpha_three" in row)
        assert at < y, ("above the cursor, for there is no room below", at, y)
        s.keys("Esc Esc")
        leave_unsaved(s)


def test_documentation_of_a_name(t):
    with editing(t) as s:
        s.type("string.format")
        s.keys("S-Tab")
        s.wait("What it is")
        s.wait("function")
        s.type("(")
        s.gone("What it is")
        s.wait("string.format(")
        s.type("'', alpha_one")
        s.keys("S-Tab")
        s.wait("alpha_one: number")
        s.keys("Esc")
        s.gone("What it is")
        s.wait("EDIT")
        s.type("\n    x")
        s.keys("Home S-Tab")
        s.quiet()
        assert any(re.match(r"▌ ( {2})?x$", row) for row in s.screen()), s.screen()
        s.keys("Esc")
        leave_unsaved(s)


def test_no_completion_while_a_cell_runs(t):
    with editing(t, LUA + "\n-- %% Slow\nsh 'sleep 30'\n") as s:
        s.keys("Esc j C-e")
        s.wait("● [")
        s.keys("k Enter C-End Enter")
        s.type("alpha_\t")
        s.wait("no completion now: a cell is running")
        s.keys("Esc i i")
        s.wait("idle")
        leave_unsaved(s)



PROSE = """-- %% [markdown]
-- # Title
--
-- Some *words* and a [link](http://x).
--
-- - one
-- - two
--
-- | a | bb |
-- |--:|:--|
-- | 1 | 2 |

-- %% Long
x = "{long}"
y = {{ (1 + 2) }}

-- %% Wrong template="app.yaml"
a: 1
b: ${{nothing.here}}
""".format(long="x" * 100)


def test_text_cells_are_read_until_they_are_edited(t):
    with workbench(folder(t, PROSE)) as s:
        rows = s.screen()
        assert rows[:10] == ["▌ Title", "▌", "▌ Some words and a link (http://x).", "▌", "▌ • one",
                             "▌ • two", "▌", "▌ a │ bb", "▌ ──┼───", "▌ 1 │ 2"], rows
        s.keys("Enter")
        s.wait("# Title")
        s.wait("| 1 | 2 |")
        s.keys("Esc")
        s.gone("# Title")
        s.resize("40x10")
        s.wait("▌ • one")
        leave(s)


def test_long_lines_say_that_they_go_on(t):
    with workbench(folder(t, PROSE)) as s:
        row = next(row for row in s.screen() if "xxx" in row)
        assert row.endswith("x›") and len(row) == 80, row
        s.keys("j Enter End")
        s.wait("xxx\"")
        row = next(row for row in s.screen() if "xxx" in row)
        assert row.startswith("▌ ‹x"), row
        s.keys("Home")
        s.wait("x = \"xxx")
        s.keys("Esc")
        leave(s)
    with Screen(["env", "LC_ALL=C", FIRESTEEL, "cells.lua"], cwd=folder(t, PROSE)) as s:
        s.wait("idle")
        assert re.search(r"x\n?>", text(s)), text(s)
        leave(s)


def look_at(s, word):
    """The styles of the row with the word: [(from, to, names)…]"""
    lines = s.styles()
    at = next(i for i, line in enumerate(lines) if line.startswith("|") and word in line)
    runs = []
    for line in lines[at + 1:]:
        if line.startswith("|"):
            break
        where, names = line.split(maxsplit=1)
        runs.append(tuple(int(n) for n in where.split("-")) + (names,))
    return runs


def test_brackets_at_the_cursor_are_marked(t):
    with workbench(folder(t, PROSE)) as s:
        s.keys("j Enter Down End")
        s.wait("EDIT")
        row = next(row for row in s.screen() if "y = {" in row)
        opening, closing = row.index("{"), row.index("}")
        eventually(lambda: {(a, b) for a, b, names in look_at(s, "y = {") if "underline" in names}
                   == {(opening, opening), (closing, closing)})
        s.keys("Esc")
        leave(s)


def test_an_error_is_marked_until_the_line_changes(t):
    with workbench(folder(t, PROSE)) as s:
        s.keys("G C-e")
        s.wait("in line 2")
        s.wait("✗b: ${nothing.here}")
        assert any("underline" in names for _, _, names in look_at(s, "✗b:"))
        s.keys("Enter C-Home Enter")
        s.wait("EDIT")
        s.gone("✗b")
        s.keys("Esc")
        leave_unsaved(s)


def test_states_in_the_gutter(t):
    text = """-- %% A
sh "sleep 30"

-- %% B
input "name?"

-- %% C
1
"""
    with workbench(folder(t, text)) as s:
        s.keys("R")
        s.wait("● [")
        eventually(lambda: any("fg=3" in names for _, _, names in look_at(s, "] A")))
        rows = s.screen()
        assert any(row.startswith("▌[*] A") and re.search(r" \d+s$", row) for row in rows), rows
        assert any(row.startswith(" [*] C") and row.endswith("queued") for row in rows), rows
        assert not any("fg=3" in names for _, _, names in look_at(s, "] C"))
        s.keys("i i")
        s.wait("cancelled")
        s.wait("idle")
        s.keys("g g j C-e")
        s.wait("[?] B")
        s.wait("B asks")
        s.type("x")
        s.keys("Enter")
        s.wait("│ x")
        s.keys("j C-e")
        s.wait("[3] C")
        s.keys("Enter")
        s.type("1 + ")
        s.wait("[3~] C")
        s.keys("Esc D")
        s.gone("│ 1")
        s.keys(":")
        s.type("clear-all")
        s.keys("Enter")
        s.gone("│ x")
        leave_unsaved(s)


def test_a_result_is_read_beside_whatever_else_the_title_has(t):
    marker = 'effects=["local"] tags=["a-long-tag", "another-tag", "third"]'
    where = folder(t, f"-- %% {marker}\nerror 'x'\n\n-- %% {'A long title ' * 6}{marker}\nerror 'x'\n")
    with workbench(where, size="80x24") as s:
        s.keys("C-e")
        eventually(lambda: re.search(r"▌\[1\] ─+ local  #a-long-tag  #another-tag  #third  failed", chr(10).join(s.screen())))
        s.keys("G C-e")
        eventually(lambda: re.search(r"▌\[2\] A long title A.*… local  #a.*…  failed", chr(10).join(s.screen())))
        leave(s)


def test_what_a_cell_read_has_changed(t):
    with workbench(folder(t, "-- %% A\nx = 1\n\n-- %% B\nprint(x + 1)\n\n-- %% C\nprint 'c'\n")) as s:
        s.keys("R")
        s.wait("[3] C")
        s.keys("g g C-e")
        s.wait("[4] A")
        assert "[2] B" in text(s) and "has changed" not in text(s), text(s)  # the same value again
        s.keys("g g Enter End")
        s.type("7")
        s.keys("C-e")
        s.wait("[5] A")
        s.wait("[2~] B")
        assert "x has changed" in text(s) and "[3] C" in text(s), text(s)
        s.keys("g g j C-e")
        s.wait("[6] B")
        s.wait("│ 18")
        s.gone("x has changed")
        leave_unsaved(s)


def test_what_a_stale_cell_gave_is_stale(t):
    with workbench(folder(t, "-- %% A\nt = { n = 1 }\n\n-- %% B\ny = t.n + 1\n\n-- %%\nprint(y)\n\n-- %% D\nprint 'd'\n")) as s:
        s.keys("R")
        s.wait("[4] D")
        s.keys("g g Enter End Left Left")
        s.type("0")
        s.wait("[1~] A")
        shown = text(s)
        assert "A is stale" in shown and "B is stale" in shown and "its text has changed" in shown and "[4] D" in shown, shown
        s.keys("Backspace")
        s.gone("is stale")
        assert "[1] A" in text(s) and "[2] B" in text(s) and "[3]" in text(s), text(s)


def test_a_file_that_was_read_has_changed(t):
    path = folder(t, "-- %% A\nlocal f = io.open 'data.txt'\nn = #f:read 'a'\nf:close()\n\n-- %% B\nprint(n)\n")
    data = os.path.join(path, "data.txt")

    def write(words):
        with open(data, "w", encoding="utf-8") as f:
            f.write(words)

    write("abcd")
    with workbench(path) as s:
        s.keys("R")
        s.wait("[2] B")
        write("abcde")
        s.wait("[1~] A")
        s.wait("data.txt has changed")
        s.wait("A is stale")
        write("abcd")  # as it was
        s.gone("has changed")
        os.remove(data)
        s.wait("data.txt is gone")
        write("abcdef")
        s.wait("data.txt has changed")
        s.keys("g s")
        s.wait("│ 6")
        s.gone("A is stale")
        s.gone("has changed")


def test_a_file_that_a_cell_writes_anew_has_changed(t):
    with workbench(folder(t, '-- %% W\nfs.write("o.txt", "1")\n\n-- %% R\nprint(fs.read "o.txt")\n')) as s:
        s.keys("R")
        s.wait("[2] R")
        s.keys("g g C-e")
        s.wait("[3] W")
        assert "[2] R" in text(s), text(s)  # the same bytes again
        s.keys("g g Enter End Left Left")
        s.type("7")
        s.wait("[3~] W")
        s.keys("C-e")
        s.wait("[4] W")
        s.wait("[2~] R")
        s.wait("o.txt has changed")
        s.keys("g s")
        s.wait("│ 17")
        s.gone("has changed")
        leave_unsaved(s)


def test_what_a_cell_has_made_elsewhere_has_changed(t):
    env = sandbox(t)
    path = folder(t, """-- %% A effects="cluster"
c = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "limits" }, data = { cpu = "1" } }

-- %% B
print(c.name)
""")
    with open(os.path.join(path, "other.lua"), "w", encoding="utf-8") as f:
        f.write('-- %% tags=["parameters"]\ncpu = "2"\n'
                '-- %% Patch effects="cluster"\nk8s.patch("configmap", "limits", { data = { cpu = cpu } })\n')

    def change(cpu):
        done = sh(FIRESTEEL, "run", "other.lua", "--allow", "cluster", "-p", f"cpu={cpu}", cwd=path, env=env)
        assert done.code == 0, done

    with workbench(path, env=env, size="120x30", seconds=30) as s:
        s.keys("R")
        s.wait("may it do this?")
        s.keys("y")
        s.wait("[2] B")
        change(2)
        s.wait("ConfigMap limits has changed: data.cpu")
        s.wait("A is stale")
        change(1)
        s.gone("has changed")


def test_running_cells_are_followed_until_one_moves(t):
    cells = "".join(f"-- %% Cell {i}\nprint(string.rep('line {i}\\n', 12)) sh 'sleep 0.3'\n\n" for i in range(9))
    with workbench(folder(t, cells)) as s:
        s.keys("R")
        s.wait("▌[*] Cell 3")
        s.wait("▌[*] Cell 7")
        s.wait("idle")
        s.wait("▌[9] Cell 8")
        s.keys("g g R")
        s.wait("▌[*] Cell 2")
        s.keys("g g")
        s.wait("● idle")
        s.wait("▌[10] Cell 0")
        leave(s)


def test_search_marks_all_and_says_when_it_went_around(t):
    with workbench(folder(t, "-- %% A\none = 1\n\n-- %% B\ntwo = one + one\n")) as s:
        s.keys("/")
        s.type("ONE")
        s.keys("Enter")
        s.wait("“ONE” is nowhere")
        s.keys("/")
        s.type("one")
        s.keys("Enter")
        s.wait("“one” 1 of 3")  # what is in the selected cell counts
        marked = [names for _, _, names in look_at(s, "one = 1")]
        assert any("reverse" in names for names in marked), marked
        s.keys("n")
        s.wait("▌[ ] B")
        s.wait("“one” 2 of 3")
        s.keys("n n")
        s.wait("“one” 1 of 3")
        s.wait("went around to the start")
        s.wait("▌[ ] A")
        s.keys("N")
        s.wait("went around to the end")
        s.keys("Esc")
        eventually(lambda: not any("reverse" in names for _, _, names in look_at(s, "one = 1")))
        leave(s)


def test_folding_a_selection_and_back(t):
    with workbench(folder(t)) as s:
        s.keys("j J h")
        s.wait("a = 1 ⋯ 1 line")
        s.wait("b = 2 ⋯ 1 line")
        s.keys("h")
        s.gone("⋯")
        leave(s)


def answer(s, key):
    """Keys that were typed ahead decide nothing: a dialog is answered after a pause."""
    time.sleep(0.5)
    s.keys(key)


def test_saving_asks_before_it_overwrites(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("j d d")
        s.gone("One")
        write(where, CELLS + "\n-- %% From outside\n")
        s.wait("changed underneath")
        s.keys("s")
        s.wait("The file has changed")
        s.keys("Esc")
        assert "From outside" in read(where)
        s.keys("s")
        s.wait("The file has changed")
        answer(s, "o")
        s.gone("The file has changed")
        s.wait("saved")
        assert "From outside" not in read(where) and "One" not in read(where)
        s.keys("d d")
        s.gone("Two")
        write(where, CELLS + "\n-- %% From outside\n")
        s.wait("changed underneath")
        s.keys("s")
        s.wait("The file has changed")
        answer(s, "r")
        s.wait("From outside")
        s.wait("One")
        leave(s)


def test_saving_under_a_name(t):
    where = folder(t)
    write(where, "mine", "other.lua")
    with workbench(where) as s:
        s.keys("j d d :")
        s.type("w other.lua")
        s.keys("Enter")
        s.wait("is there already")
        answer(s, "n")
        s.wait(":w")
        s.type("third.lua")
        s.keys("Enter")
        s.wait("saved")
        assert read(where, "other.lua") == "mine" and read(where) == CELLS
        assert "One" not in read(where, "third.lua")
        s.keys(":")
        s.type("w! other.lua")
        s.keys("Enter")
        s.wait("other.lua  ")
        assert "Two" in read(where, "other.lua")
        leave(s)


def test_a_read_only_file_is_written_only_by_force(t):
    where = folder(t)
    os.chmod(os.path.join(where, "cells.lua"), 0o444)
    with workbench(where) as s:
        s.wait("the file is read-only")
        s.keys("j d d C-s")
        s.wait("is read-only; only")
        assert read(where) == CELLS
        s.keys(": w ! Enter")
        eventually(lambda: "One" not in read(where))
        s.gone("cells.lua +")
        leave(s)


def test_a_folder_is_no_name_to_save_under(t):
    where = folder(t)
    os.mkdir(os.path.join(where, "notebooks"))
    with workbench(where) as s:
        for line in ("w notebooks", "w! ."):
            s.keys(":")
            s.type(line)
            s.keys("Enter")
            s.wait("is a folder:")
            s.keys("g")
            s.gone("is a folder")
        leave(s)


def test_lines_as_vi_has_them(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys(": 3 Enter")
        s.wait("▌[ ] Two")
        s.keys("d d")
        s.gone("Two")
        s.keys(":")
        s.type("e")
        s.keys("Enter")
        s.wait(":e! loses them")
        s.keys(":")
        s.type("e!")
        s.keys("Enter")
        s.wait("Two")
        s.keys("d d :")
        s.type("q!")
        s.keys("Enter")
        assert s.exit() == "exit 0"
    assert read(where) == CELLS
    with workbench(where) as s:
        s.keys("j d d :")
        s.type("wq")
        s.keys("Enter")
        assert s.exit() == "exit 0"
    assert "One" not in read(where)
    with workbench(where) as s:
        s.keys(": x Enter")
        assert s.exit() == "exit 0"
    with workbench(where) as s:
        s.keys("d d :")
        s.type("stop!")
        s.keys("Enter")
        assert s.exit() == "exit 0"
    eventually(lambda: not kernels(where))


def test_leaving_discards_keeps_or_saves(t):
    where = folder(t, CELLS + "\n-- %% Slow\nsh 'sleep 60'\n")
    before = read(where)
    with workbench(where) as s:
        s.keys("G C-e")
        s.wait("● [")
        s.keys("g g j d d")
        s.gone("One")
        s.keys("q")
        s.wait("Unsaved")
        s.wait("Esc stays")
        s.resize("40x10")
        s.wait("k  leave")
        s.wait("Esc  stay")
        s.resize("80x24")
        s.keys("d")
        assert s.exit() == "exit 0"
        assert "goes on (a cell runs; kept for 24h)" in text(s), text(s)
    with Screen([FIRESTEEL, "cells.lua"], cwd=where) as s:
        s.wait("● [")
        s.wait("One")
        assert "cells.lua +" not in text(s)
        s.keys("g g j d d")
        s.gone("One")
        s.keys("q k")
        assert s.exit() == "exit 0"
        assert "a cell runs, unsaved changes" in text(s).replace("\n", ""), text(s)
    assert read(where) == before
    with Screen([FIRESTEEL, "cells.lua"], cwd=where) as s:
        s.wait("● [")
        s.wait("cells.lua +")
        s.keys("i i")
        s.wait("idle")
        s.keys("q s")
        assert s.exit() == "exit 0"
        assert "goes on (idle; kept for 24h)" in text(s), text(s)
    assert "One" not in read(where)


def test_the_palette_has_every_action_and_says_where_it_works(t):
    with workbench(folder(t)) as s:
        s.keys(":")
        s.type("logs")
        s.wait("the pod's log")
        s.keys("Enter")
        s.wait("logs works on a row of a table")
        s.keys(":")
        s.type("log-previous")
        s.keys("Enter")
        s.wait("works elsewhere")
        s.keys(":")
        s.type("above")
        s.wait("run-above")
        rows = [row for row in s.screen() if "-above" in row]
        assert rows, s.screen()
        s.keys("Esc :")
        s.type("rn-ab")
        s.wait("run-above")
        s.keys("Esc")
        leave(s)


def test_the_hidden_cursor_stands_at_what_is_selected(t):
    """Screen readers and magnifiers follow it."""
    cells = "".join(f"-- %% Cell {i}\nx = {i}\n\n" for i in range(1, 30))
    table = "-- %% Table\ndisplay.table { { A = 'one' }, { A = 'two' }, { A = 'three' } }\nprint 'A text'\n"

    def at(words, column=0):
        x, y, visible = s.cursor()
        return not visible and words in s.screen()[y] and x == column

    with workbench(folder(t, table + "\n" + cells)) as s:
        s.keys("C-e")
        s.wait("three")
        eventually(lambda: at("[1] Table"))
        s.keys("j")
        eventually(lambda: at("] Cell 1 "))
        s.keys("G")
        eventually(lambda: at("] Cell 29"))
        s.keys("k k")
        eventually(lambda: at("] Cell 27"))
        s.keys("g g O")
        s.wait("output ")
        eventually(lambda: at("A"))
        s.keys("Tab")
        s.wait("table ")
        eventually(lambda: at("one", 1))
        s.keys("j")
        eventually(lambda: at("two", 1))
        s.keys("G")
        eventually(lambda: at("three", 1))
        s.keys("q ?")
        s.wait("Keys: ")
        eventually(lambda: at("C-r, S-Enter", 1))
        s.keys("q j p Esc Enter")
        s.wait("EDIT")
        assert s.cursor()[2], "while a cell is edited it is seen"
        s.keys("Esc")
        leave(s)


def test_a_deleted_cell_comes_back_with_its_output(t):
    with workbench(folder(t, "-- %% A\nprint 'precious'\n\n-- %% B\n2\n")) as s:
        s.keys("C-e")
        s.wait("│ precious")
        s.keys("d d")
        s.gone("precious")
        s.keys("z")
        s.wait("│ precious")
        s.wait("▌[1] A")
        s.keys("M")
        s.gone("B")
        s.keys("z")
        s.wait("[ ] B")
        s.wait("│ precious")
        leave_unsaved(s)


def test_two_clients_in_one_cell_lose_nothing(t):
    where = folder(t)
    with workbench(where) as a, Screen([FIRESTEEL, "cells.lua"], cwd=where) as b:
        b.wait("idle")
        a.keys("j Enter C-End")
        b.keys("j Enter C-Home")
        a.wait("EDIT")
        b.wait("EDIT")
        a.type(" + 1")
        b.type("local ")  # before a's text is there
        a.wait("a = 1 + 1")
        b.keys("Esc")
        a.keys("Esc")
        a.quiet()
        eventually(lambda: row_of(a) == row_of(b))
        won = row_of(a)
        assert won in ("a = 1 + 1", "local a = 1"), won
        loser = b if won == "a = 1 + 1" else a
        loser.wait("another client has changed this cell")
        loser.keys("Enter M-z")
        loser.wait("local a = 1" if loser is b else "a = 1 + 1")
        loser.keys("Esc")
        eventually(lambda: row_of(a) == row_of(b) != won)
        loser.keys("C-s")
        loser.wait("saved")
        leave(a)
        leave(b)


def row_of(s):
    return next((row[1:].strip() for row in s.screen() if "a = 1" in row), None)


def test_what_is_typed_survives_that_its_cell_is_deleted(t):
    where = folder(t)
    with workbench(where) as a, Screen([FIRESTEEL, "cells.lua"], cwd=where) as b:
        b.wait("idle")
        a.keys("j Enter C-End")
        a.type(" + precious")
        b.wait("precious")
        b.keys("j d d")
        a.wait("is in a new one")
        a.type("xxdd")
        a.wait("a = 1 + preciousxxdd")
        a.wait("EDIT")
        a.keys("Esc")
        b.wait("preciousxxdd")
        assert saved(a, where) == [START[0], START[1] + " + preciousxxdd", START[2], START[3]]
        leave(b)
        leave(a)


def test_what_is_typed_at_a_restart_stays(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("j Enter C-End")
        s.type(" + 1")
        s.keys("Esc 0 0 Enter")
        s.type(" + 2")
        s.quiet(300)
        s.wait("a = 1 + 1 + 2")
        s.wait("idle")
        s.wait("EDIT")
        s.keys("Esc")
        assert saved(s, where)[1] == "One|a = 1 + 1 + 2"
        leave(s)


def test_without_a_kernel_everything_says_so(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("j b c")
        s.quiet()
        stop_kernels()
        s.wait("● gone")
        for keys in ["M-Enter", "a", "b", "x", "v", "V", "M", "z", "Z", "m", "1", "d d", "M-Up", "e",
                     "D", "R", "C-e", "i i"]:
            s.keys(keys)
            s.wait("there is no kernel")
            s.keys("Esc")
            s.gone("there is no kernel")
        s.keys("q")
        s.wait("Unsaved changes")
        s.keys("d")
        assert s.exit() == "exit 0"


def leave_unsaved(s):
    s.keys("q")
    s.wait("Unsaved")
    s.keys("d")
    assert s.exit() == "exit 0"


run(globals())
