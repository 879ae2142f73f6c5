#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opening without a name: lists of living kernels, notebooks and recipes."""
import os
import re

from golden import golden
from screen import Screen
from tap import FIRESTEEL, SOURCE, eventually, run, sh, stop_kernels

NOTEBOOK = "-- %% A\nfor i = 1, 1000 do print('line ' .. i) sh 'sleep 0.1' end\n"


def folder(t, *names):
    where = t.dir()
    for name in names:
        with open(os.path.join(where, name), "w") as f:
            f.write(NOTEBOOK)
    t.after(stop_kernels)
    return where


def leave_running(where, name):
    with Screen([FIRESTEEL, name], cwd=where) as s:
        s.wait("idle")
        s.keys("C-e")
        s.wait("line 1")
        s.keys("q")
        s.wait("goes on")
        s.exit()


def row_of(s, text):
    return next(row for row in s.screen() if text in row)


def test_attach_shows_a_list_when_several_are_alive_elsewhere(t):
    where, elsewhere = folder(t, "first.lua", "second.lua"), t.dir()
    leave_running(where, "first.lua")
    leave_running(where, "second.lua")
    with Screen([FIRESTEEL, "attach"], cwd=elsewhere, size="200x40") as s:
        s.wait("No kernel of this folder is alive; elsewhere there are")
        s.quiet()
        rows = [row for row in s.screen() if where in row and ", in " not in row]
        assert [row.split()[0] for row in rows] == ["second", "first"], rows
        assert all("busy" in row for row in rows), rows
        for _ in range(len(s.screen())):
            if "first" in selected(s) and where in selected(s):
                break
            s.keys("j")
            s.quiet(50)
        s.keys("Enter")
        s.wait("first.lua")
        s.wait("[*] A")
        s.keys("i i")
        s.wait("interrupted")
        s.keys("q")
        assert s.exit() == "exit 0"


def selected(s):
    row, rows = "", []
    for line in s.styles():
        if line.startswith("|"):
            row = line
        elif "reverse" in line:
            rows.append(row)
    return rows[0]


def test_how_the_list_of_kernels_looks(t):
    where, elsewhere = folder(t, "first.lua", "second.lua"), folder(t)
    leave_running(where, "first.lua")
    leave_running(where, "second.lua")
    masks = [(where + r" *", "FOLDER"), (r"\b\d+s ", "AGE "), (r" {2,}(?=AGE)", " ")]
    for name, size in {"80": "80x24", "120": "120x40"}.items():
        with Screen([FIRESTEEL, "attach"], cwd=elsewhere, size=size) as s:
            s.wait("elsewhere there are")
            golden(s, f"attach-list-{name}", masks)
            s.keys("q")
            assert s.exit() == "exit 0"


def test_attach_takes_the_only_one_of_this_folder(t):
    where, other = folder(t, "first.lua", "second.lua"), folder(t, "third.lua")
    leave_running(other, "third.lua")
    leave_running(where, "first.lua")
    with Screen([FIRESTEEL, "attach"], cwd=where) as s:
        s.wait("first.lua")
        s.keys("q")
        s.exit()
    leave_running(where, "second.lua")
    with Screen([FIRESTEEL, "attach"], cwd=where, size="200x40") as s:
        s.wait("Several kernels of this folder are alive")
        eventually(lambda: [row.split()[0] for row in s.screen() if where in row and ", in " not in row] == ["second", "first"])
        s.keys("q")
        assert s.exit() == "exit 0"


def test_attach_says_that_nothing_is_alive(t):
    none = sh(FIRESTEEL, "attach", cwd=folder(t))
    assert none.code == 1 and "no kernel is running" in none.err, none


def test_leaving_the_list_changes_nothing(t):
    with Screen([FIRESTEEL], cwd=folder(t, "first.lua")) as s:
        s.wait("Open a notebook")
        s.wait("first.lua")
        s.keys("q")
        assert s.exit() == "exit 0"


def test_a_recipe_is_copied_and_opened(t):
    where = folder(t)
    with Screen([FIRESTEEL, "--sandbox"], cwd=where) as s:
        s.wait("10-mnist.lua")
        s.quiet()
        assert "recipe" in row_of(s, "10-mnist.lua") and "MNIST with Horovod" in row_of(s, "10-mnist.lua"), s.screen()
        s.keys("/")
        s.type("horovod on spark")
        s.wait("Train a small network on this machine")
        s.wait("It needs a cluster")  # as its cells declare
        s.keys("Enter Enter")
        s.wait("MNIST with Horovod on Spark")
        s.wait("idle")
        s.keys("q")
        assert s.exit() == "exit 0"
    assert os.path.exists(os.path.join(where, "10-mnist.lua"))


def test_what_a_recipe_does_is_read_whole(t):
    with Screen([FIRESTEEL], cwd=folder(t), size="80x24") as s:
        s.wait("10-mnist.lua")
        s.quiet()
        for _ in range(17):
            rows = s.screen()
            rule = next(i for i, row in enumerate(rows) if row.startswith(" ───"))
            detail = [row for row in rows[rule + 1 : -1] if row]
            assert detail[-1].endswith(".") and not [row for row in detail if "…" in row], rows
            s.keys("j")
            s.quiet(50)
        s.keys("q")
        s.exit()


def test_a_long_list_says_that_it_goes_on_and_what_notebooks_are_about(t):
    where = folder(t, *(f"n{i}.lua" for i in range(20)))
    with open(os.path.join(where, "last.lua"), "w", encoding="utf-8") as f:
        f.write("-- %% [markdown]\n-- # The price of fish\n-- It is a study.\n\n-- %% A\nx = 1\n")
    with Screen([FIRESTEEL], cwd=where, size="80x24") as s:
        s.wait("last.lua")
        s.quiet()
        assert re.search(r"Open a notebook  1–\d+ of \d\d$", s.screen()[0]), s.screen()
        assert "The price of fish" in row_of(s, "last.lua"), s.screen()
        assert where not in row_of(s, "n19.lua"), s.screen()
        s.keys("G")
        s.wait("42-schedulers.lua")
        assert re.search(r"  \d+–(\d\d) of \1$", s.screen()[0]), s.screen()
        for _ in range(40):
            if "blank notebook" in "\n".join(s.screen()):
                break
            s.keys("k")
            s.quiet(50)
        assert "10-mnist.lua" in "\n".join(s.screen()), "it stands before the recipes: " + str(s.screen())
        s.keys("q")
        s.exit()


def test_two_kernels_of_one_notebook_are_told_apart(t):
    where = folder(t, "first.lua")
    with Screen([FIRESTEEL, "run", "first.lua"], cwd=where) as a, Screen([FIRESTEEL, "run", "first.lua"], cwd=where) as b:
        a.wait("line 2")
        b.wait("line 2")
        with Screen([FIRESTEEL, "attach"], cwd=where, size="80x24") as s:
            s.wait("Several kernels of this folder are alive")
            s.quiet()
            rows = [row for row in s.screen() if row.startswith(" first ")]
            assert len(rows) == 2 and len({re.search(r"run (\w{4}), in ", row)[1] for row in rows}) == 2, s.screen()
            s.keys("q")
            s.exit()
        a.signal("INT")
        b.signal("INT")
        a.exit()
        b.exit()


def test_a_blank_notebook_says_how_to_begin(t):
    where = folder(t, "untitled.lua")
    with Screen([FIRESTEEL], cwd=where) as s:
        s.wait("blank notebook")
        s.quiet()
        assert "starting" not in s.screen()[-1] and "Enter opens" in s.screen()[-1], s.screen()
        s.keys("/")
        s.type("blank")
        s.keys("Enter")
        s.wait("untitled-2.lua")  # the other one is there
        s.keys("Enter")
        s.wait("idle")
        s.wait("C-e    run it")
        s.keys("Enter")
        s.wait("Tab  complete a name")
        s.type("x")
        s.gone("Tab  complete")
        s.keys("C-s")
        s.wait("saved")
        s.keys("C-q")
        assert s.exit() == "exit 0"
    assert os.path.exists(os.path.join(where, "untitled-2.lua"))


def test_the_list_is_filtered(t):
    with Screen([FIRESTEEL], cwd=folder(t, "first.lua", "second.lua")) as s:
        s.wait("second.lua")
        s.keys("/")
        s.type("second.lua")
        s.wait("1 of ")
        assert not [row for row in s.screen() if "first.lua" in row], s.screen()
        s.keys("Enter Enter")
        s.wait("idle")
        assert "second.lua" in s.screen()[-1], s.screen()
        s.keys("q")
        assert s.exit() == "exit 0"


def test_what_recipes_need_is_said_as_on_their_page(t):
    """In a recipe's own words, else as its cells declare."""
    with open(os.path.join(SOURCE, "recipes", "README.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| \[(.*\.lua)\].* \| (.*) \|$", f.read(), re.M)
    listed = sh(FIRESTEEL, "new", cwd=folder(t)).out
    assert len(rows) > 10
    for name, needs in rows:
        needs = needs.split(";")[0]
        said = re.search(r"It needs (.*)", listed[listed.index(name) :].splitlines()[1])[1]
        assert ("nothing but this machine." == said) == (needs == "nothing"), (name, needs, said)
        for word in ("cluster", "PySpark", "Argo", "MPI operator", "TensorFlow"):
            assert word not in needs or needs.startswith("nothing") or word.lower() in said.lower(), (name, needs, said)


def test_before_a_notebook_is_open_only_what_works_is_offered(t):
    with Screen([FIRESTEEL], cwd=folder(t)) as s:
        s.wait("10-mnist.lua")
        s.keys(":")
        s.wait("palette")
        listed = [row.split()[0] for row in s.screen() if row.startswith("  ")]
        assert listed[:2] == ["open", "filter"], "what can be done here comes first: " + str(listed)
        for name, there in [("help", True), ("quit", True), ("run-all", False), ("restart", False), ("save", False),
                            ("answer", False)]:
            s.type(name)
            s.wait(":" + name)
            rows = [row for row in s.screen() if row.split()[:1] == [name] and "a live table" not in row]
            assert bool(rows) == there, (name, s.screen())
            s.keys("C-u")
        s.type("w here.lua")
        s.keys("Enter")
        s.wait("no notebook is open; Enter opens the selected one")
        s.keys("?")
        s.wait("Keys: open")
        s.keys("Tab Tab")
        s.wait(":q")
        assert not [row for row in s.screen() if ":w" in row or "answer" in row], s.screen()
        s.keys("q")
        s.keys("q")
        assert s.exit() == "exit 0"


def test_new_alone_lists_the_recipes(t):
    listed = sh(FIRESTEEL, "new", cwd=folder(t))
    assert listed.code == 0 and "10-mnist.lua  MNIST with Horovod on Spark" in listed.out, listed
    assert "and clean up. It needs a cluster, or --sandbox." in listed.out, listed


def test_new_copies_a_recipe_once(t):
    where = folder(t)
    made = sh(FIRESTEEL, "new", "mnist", cwd=where)
    assert made.code == 0 and "firesteel --sandbox 10-mnist.lua" in made.out, made
    again = sh(FIRESTEEL, "new", "mnist", cwd=where)
    assert again.code == 2 and "is there already" in again.err, again
    assert sh(FIRESTEEL, "new", "mnist", "mine.lua", cwd=where).code == 0
    wrong = sh(FIRESTEEL, "new", "nothing", cwd=where)
    assert wrong.code == 1 and "there are: 10-mnist.lua" in wrong.err, wrong


def test_without_a_terminal_it_is_usage(t):
    bare = sh(FIRESTEEL, cwd=folder(t))
    assert bare.code == 2 and "Usage: firesteel" in bare.err, bare


run(globals())
