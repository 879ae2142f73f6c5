#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workbench by keys, on an emulated terminal: what is drawn, what runs, how it is left."""
import os
import re
import shutil
import time

from bench import NOTEBOOK, RESTORED, folder, kernels, leave, text, workbench
from golden import parse
from screen import Screen
from tap import FIRESTEEL, SOURCE, eventually, run, stop_kernels


def test_opens_a_notebook_and_gives_the_terminal_back(t):
    where = folder(t)
    with workbench(where) as s:
        rows = s.screen()
        assert rows[0] == "▌ A small notebook", rows[0]
        assert rows[2].startswith(" [ ] First ───"), rows[2]
        assert "small.lua" in rows[23] and "COMMAND" in rows[23], rows[23]
        leave(s)
        assert "goes on (idle; kept for 24h)" in text(s), text(s)


def test_edits_and_runs_a_cell(t):
    with workbench(folder(t)) as s:
        s.keys("j Enter")
        s.wait("EDIT")
        s.keys("C-Home")
        s.type('print("typed " .. 2^10)\n')
        s.keys("C-e")
        s.wait("typed 1024.0")
        s.wait("hello red world")
        s.wait("│ 42")
        s.wait("[1] First")
        assert any("fg=1" in line for line in s.do("styles")), "the program's red is shown"
        assert "small.lua +" in text(s)
        s.keys("C-s")
        s.wait("saved")
        leave(s)


def test_saves_what_was_typed_and_nothing_else(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("G Enter")
        s.wait("EDIT")
        s.keys("C-Home")
        s.type("-- x\n")
        s.keys("Esc")
        s.wait("COMMAND")
        s.keys("C-s")
        s.wait("saved")
        leave(s)
    with open(os.path.join(where, "small.lua")) as f:
        assert f.read() == NOTEBOOK.replace("for i", "-- x\nfor i")


def test_an_error_is_marked_at_its_line(t):
    with workbench(folder(t)) as s:
        s.keys("j j C-r")
        s.wait("error in line 2")
        s.wait("failed")
        rows = s.screen()
        assert " ✗print(x.y)" in rows, rows
        assert any("failed" in row and "Broken" in row for row in rows)
        leave(s)


ENDLESS = """-- %% Lua
print "in it" while true do end

-- %% Bash
%%bash
echo in it
sleep 600
"""


def test_an_interrupt_is_told_once_below_its_cell(t):
    with workbench(folder(t, ENDLESS)) as s:
        for keys, name in ("g g C-e", "Lua"), ("j C-e", "Bash"):
            s.keys(keys)
            s.wait(f"[*] {name}")
            s.wait("│ in it")  # before, no line could be named
            s.keys("i i")
            s.gone("[*]")
            s.wait("● idle")
        said = [row.strip("▌│ ") for row in s.screen()[:-1] if "interrupted" in row and "──" not in row]
        assert said == ["✗ interrupted in line 1", "✗ interrupted"], said
        leave(s)


def test_long_work_has_a_row_below_its_cell_that_goes_with_it(t):
    where = folder(t, '-- %% Read\nfs.sha256 "huge"\n\n-- %% Next\nprint "after"\n')
    with open(os.path.join(where, "huge"), "w") as f:
        f.truncate(64 << 30)  # without blocks
    for size in "80x24", "120x40":
        with workbench(where, size=size) as s:
            s.keys("g g C-e")
            s.wait("│ read huge")
            s.wait("s left")
            row = next(row for row in s.screen() if "│ read huge" in row)
            assert re.search(r"│ read huge [█▉▊▋▌▍▎▏░ ━╸─]+ hashing \d+\.\d\d/68\.72 GB, \d+\.\d MB/s, \w+ left", row), row
            s.keys("i i")
            s.gone("read huge")
            s.wait("✗ interrupted")
            s.keys("j C-e")
            s.wait("│ after")
            leave(s)


def test_interrupt_and_run_all(t):
    with workbench(folder(t)) as s:
        s.keys("G C-e")
        s.wait("line 3")
        assert "[*] Slow" in text(s)
        s.keys("i i")
        s.wait("interrupted")
        s.wait("idle")
        assert "interrupted" in s.screen()[-1] and "interrupting" not in text(s), s.screen()
        s.keys("i i")
        s.wait("nothing runs")
        s.keys("R")
        s.wait("cancelled")
        leave(s)


def test_cells_come_go_move_and_come_back(t):
    with workbench(folder(t)) as s:
        s.keys("j b")
        s.quiet()
        s.keys("Enter")
        s.wait("EDIT")
        s.type("new = 1")
        s.keys("Esc")
        s.wait("COMMAND")
        s.keys("d d")
        s.gone("new = 1")
        s.keys("z")
        s.wait("new = 1")
        s.keys("g g j d d")
        s.gone("First")
        s.keys("z")
        s.wait("First")
        s.keys("M-Down")
        s.quiet()
        rows = s.screen()
        first = next(i for i, row in enumerate(rows) if "] First" in row)
        new = next(i for i, row in enumerate(rows) if "new = 1" in row)
        assert new < first, rows
        s.keys("m")
        s.quiet()
        s.keys("y q")
        s.wait("Unsaved")
        s.keys("d")
        assert s.exit() == "exit 0"
        assert s.tty() == RESTORED


def test_restart_forgets_values_and_goes_on(t):
    with workbench(folder(t, "x = (x or 0) + 1\nx\n")) as s:
        s.keys("C-e")
        s.wait("│ 1")
        s.keys("C-e")
        s.wait("│ 2")
        s.keys("0 0")
        s.wait("restarted: nothing has run yet")
        s.wait("just now")  # what the run before has left stays, with its date
        s.wait("idle")
        s.keys("C-e")
        s.wait("│ 1")
        leave(s)


def test_help_palette_and_search(t):
    with workbench(folder(t)) as s:
        s.keys("?")
        s.wait("run the cell and go to the next")
        s.keys("q")
        s.gone("[Keys")
        s.keys(":")
        s.type("run-a")
        s.wait("run-all")
        s.keys("Esc")
        s.gone("run-all")
        s.keys("/")
        s.type("sleep")
        s.keys("Enter")
        s.quiet()
        row = next(r for r in s.screen() if "Slow" in r)
        assert row.startswith("▌"), row
        s.keys(": q Enter")
        assert s.exit() == "exit 0"


def by_task():
    """{title: sentences}, as the page has them, which a test compares with the program."""
    with open(os.path.join(SOURCE, "doc/workbench.md"), encoding="utf-8") as f:
        rows = f.read().split("### By task")[1].splitlines()
    return {title: " ".join(words.split()) for title, words in (row[2:-2].split(" | ", 1) for row in rows[4:] if row)}


def chosen_words(s):
    rows = parse(s.styles())[1:-1]
    return " ".join("".join(c for r in rows for c, style in r + [(" ", "reverse")] if "reverse" in style).split())


def test_help_by_task_is_whole_on_small_screens(t):
    tasks = by_task()
    for size in "80x24", "60x20", "40x12":
        with workbench(folder(t), size=size) as s:
            s.keys("? Tab")
            s.wait("[Tasks]")
            seen = []
            for _ in tasks:
                s.quiet(20)
                seen.append(chosen_words(s))
                s.keys("n")
            assert seen == [f"{title} {words}" for title, words in tasks.items()], (size, seen)
            s.keys("q")
            leave(s)


def test_help_is_searched_and_does_what_it_says(t):
    with workbench(folder(t)) as s:
        s.keys("?")
        s.wait("[Keys: notebook]")
        s.keys("/")
        s.type("k8s.des")
        s.wait("k8s.describe")
        s.keys("Enter n Enter")
        s.wait("What `kubectl describe` prints")
        s.keys("q")
        s.wait("Help with /k8s.des")
        s.keys("/ C-u")
        s.type("okabe")
        s.wait("okabe-ito: colours")
        s.keys("C-u")
        s.type("headings and titles")
        s.wait("Find one's way")
        s.keys("Enter Enter")
        s.wait(" outline ")
        s.keys("Esc")
        s.wait("COMMAND")
        s.keys(":")
        s.wait(" palette")
        s.type("help no such thing")
        s.keys("Enter")
        s.wait("nothing in the help says that")
        s.keys("Esc")
        s.wait("[Keys: notebook]")
        s.keys("/")
        s.type("restart the kernel")
        s.wait("0 0")
        s.keys("Enter n Enter")  # the key's entry: what ends something is typed first
        s.wait(":restart")
        s.keys("Esc")
        s.wait("COMMAND")
        leave(s)


def test_messages_can_be_read_whole(t):
    with workbench(folder(t), size="40x12") as s:
        s.keys("@")
        s.wait("means nothing here")
        s.keys(":")
        s.wait(" palette")
        s.type("messages")
        s.keys("Enter")
        s.wait("Messages  ")
        s.wait("@ means nothing here; ? shows")
        s.keys("q")
        leave(s)


def test_output_on_the_full_screen(t):
    with workbench(folder(t, 'for i = 1, 200 do print("line " .. i) end\n')) as s:
        s.keys("C-e")
        s.wait("more lines above")
        s.keys("O g")
        s.wait("Output  1–")
        eventually(lambda: "line 1" in s.screen()[1])
        s.keys("/")
        s.type("line 77")
        s.keys("Enter")
        s.wait("Output  77")
        s.keys("G")
        s.wait("line 200")
        s.keys("q")
        s.gone("of 200 lines")
        leave(s)


def test_an_editor_of_ones_own(t):
    with workbench(folder(t, "x = 1\n"), env={"EDITOR": "sed -i s/1/23/"}) as s:
        s.keys("e")
        s.wait("x = 23")
        s.keys("C-s")
        s.wait("saved")
        leave(s)


def test_a_question_of_a_cell(t):
    with workbench(folder(t, 'input "your name?"\n')) as s:
        s.keys("C-e")
        s.wait("cell 1 asks")
        s.type("Ada")
        s.keys("Enter")
        s.wait("│ Ada")
        leave(s)


def test_a_hang_up_loses_nothing(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("G C-e")
        s.wait("line 2")
        s.keys("j a")
        s.quiet(50)
        s.keys("Enter")
        s.type("unsaved = 1")
        s.wait("unsaved = 1")
        s.signal("HUP")
        s.exit()
    time.sleep(0.3)
    assert "busy" in kernels(where)[0]
    with workbench(where, "attach") as s:
        s.wait("unsaved = 1")
        s.keys("G O g")
        s.wait("Output  1–")
        eventually(lambda: any(row.startswith("line 1") for row in s.screen()))
        s.keys("q i i")
        s.wait("interrupted")
        s.keys("C-s")
        s.wait("saved /")
        s.wait("idle")
        s.quiet()
        leave(s)
    assert "idle" in kernels(where)[0]


def test_opening_again_finds_the_kernel_and_its_output(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("G C-e")
        s.wait("line 2")
        s.keys("q")
        s.wait("goes on")
        s.exit()
    with Screen([FIRESTEEL, "small.lua"], cwd=where) as s:
        s.wait("● [")
        s.wait("[*] Slow")
        s.keys("G")
        s.wait("line")
        s.keys("i i")
        s.wait("idle")
        leave(s)


def test_two_clients_see_the_same_document(t):
    where = folder(t)
    with workbench(where) as a, Screen([FIRESTEEL, "small.lua"], cwd=where) as b:
        b.wait("idle")
        a.keys("j Enter C-Home")
        a.type("-- from a\n")
        b.wait("-- from a")
        a.keys("C-e")
        b.wait("│ 42")
        a.keys("C-s")
        a.wait("saved")
        leave(a)
        leave(b)


def test_terminals_and_sizes(t):
    where = folder(t)
    for term, size in [("vt100", "80x24"), ("linux", "80x24"), ("screen", "40x10"),
                       ("xterm-256color", "132x50"), ("tmux-256color", "40x10")]:
        with workbench(where, term=term, size=size) as s:
            s.keys("g g j C-e")  # who comes back is at the cell that ended last
            s.wait("hello red world")
            s.resize("60x12")
            s.quiet()
            s.wait("small.lua")
            leave(s)


def test_the_whole_recipe_by_keys(t):
    where = t.dir()
    shutil.copy(os.path.join(SOURCE, "recipes/10-mnist.lua"), where)
    t.after(stop_kernels)
    with Screen([FIRESTEEL, "--sandbox", "10-mnist.lua"], cwd=where, seconds=90) as s:
        s.wait("idle")
        s.keys("R")
        s.wait("push image firesteel/mnist:latest?")
        s.keys("a")
        s.wait("delete SparkApplication mnist")
        s.keys("y")
        s.wait("● idle")
        s.keys("G")
        s.wait("[12] Clean up")
        assert "Model prediction for index 100: 6" in text(s)
        leave(s)


run(globals())
