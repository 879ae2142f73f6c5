#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The properties of a cell as a form: a notebook of all kinds of cells is written by keys alone and
runs; what is wrong is told at once; undo, other clients, small screens."""
import os
import re

from golden import golden
from screen import Screen
from tap import FIRESTEEL, eventually, run, sh, stop_kernels


def folder(t, text=None):
    where = t.dir()
    if text is not None:
        write(where, text)
    t.after(stop_kernels)
    return where


def write(where, text, name="form.lua"):
    with open(os.path.join(where, name), "w") as f:
        f.write(text)


def read(where, name="form.lua"):
    with open(os.path.join(where, name)) as f:
        return f.read()


def workbench(where, **options):
    s = Screen([FIRESTEEL, "form.lua"], cwd=where, **options)
    s.wait("idle")
    return s


def saved(s, where):
    s.gone("saved")
    s.keys("C-s")
    s.wait("saved")
    return re.split(r"^-- %%", read(where), flags=re.M)[1:]


def form(s):
    s.keys("p")
    s.wait("Properties of the cell")


def take(s):
    s.keys("Enter")
    s.gone("Properties of the cell")


def go(s, name):
    """The cursor to a field, from the first one."""
    for _ in range(12):
        if any(re.search(rf"│ {name}\b", row) and row_has_cursor(s, y) for y, row in enumerate(s.screen())):
            return
        s.keys("Down")
        s.quiet()
    raise AssertionError((name, s.screen()))


def row_has_cursor(s, y):
    return s.cursor()[1] == y


def fill(s, name, words):
    go(s, name)
    s.keys("C-u")
    s.type(words)


def choose(s, name, choice):
    go(s, name)
    for _ in range(14):
        if f"< {choice} >" in "\n".join(s.screen()):
            return
        s.keys("Right")
        s.quiet()
    raise AssertionError((choice, s.screen()))


def body(s, words):
    """Types a cell's text: each line by keys, none indented by itself."""
    s.keys("Enter")
    s.wait("EDIT")
    s.paste(words)
    s.keys("Esc")
    s.wait("COMMAND")


def test_a_notebook_of_all_kinds_is_written_by_keys_alone_and_runs(t):
    where = folder(t)
    with workbench(where) as s:
        body(s, "name = 'pi'\nreplicas = 2")
        form(s)
        fill(s, "title", "Parameters")
        fill(s, "tags", "para")
        s.keys("Tab")  # completes
        take(s)
        s.keys("b")
        form(s)
        fill(s, "title", "Look around")
        choose(s, "kind", "bash")
        fill(s, "timeout", "30s")
        fill(s, "outputs", "made.txt")
        take(s)
        body(s, "echo from bash > made.txt\n-- %% no cell\necho done")
        s.keys("b")
        form(s)
        choose(s, "kind", "YAML template")
        s.wait("app.yaml")  # suggested
        fill(s, "file", "out/job.yaml")
        take(s)
        body(s, "kind: Job\nname: ${name}\nreplicas: ${replicas}")
        s.keys("b")
        form(s)
        fill(s, "title", "The trainer")
        choose(s, "kind", "trainer")
        fill(s, "file", "tt.lua")
        take(s)
        body(s, "-- %% not a cell\nprint('I am trained')")
        s.keys("b")
        form(s)
        fill(s, "title", "Train")
        choose(s, "effects", "local")
        fill(s, "capture", "log")
        take(s)
        body(s, "j = trainer.run { 'tt.lua', np = 1 }")
        s.keys("b")
        form(s)
        choose(s, "kind", "markdown")
        take(s)
        body(s, "The end\n%% of it")
        cells = saved(s, where)
        s.keys("q")
        assert s.exit() == "exit 0"
    assert cells == [
        ' Parameters tags=["parameters"]\nname = \'pi\'\nreplicas = 2\n\n',
        ' Look around outputs=["made.txt"] timeout="30s" language="bash"\n'
        '-- echo from bash > made.txt\n-- -- -- %% no cell\n-- echo done\n\n',
        ' language="yaml" template="out/job.yaml"\n-- kind: Job\n-- name: ${name}\n-- replicas: ${replicas}\n\n',
        ' The trainer file="tt.lua"\n-- -- %% not a cell\nprint(\'I am trained\')\n\n',
        ' Train capture="log" effects="local"\nj = trainer.run { \'tt.lua\', np = 1 }\n\n',
        ' [markdown]\n-- The end\n-- -- %% of it\n'], cells
    done = sh(FIRESTEEL, "run", "form.lua", "-p", "name=e", cwd=where)
    assert done.code == 0, done
    assert read(where, "out/job.yaml") == "kind: Job\nname: e\nreplicas: 2\n"
    assert read(where, "made.txt") == "from bash\n"
    assert read(where, "tt.lua") == "-- %% not a cell\nprint('I am trained')\n"


def test_a_kind_changes_and_z_brings_the_old_back(t):
    where = folder(t, '-- %% T file="a.lua" slideshow={ "x":1} tags=["k"]\nx = 1\n')
    with workbench(where) as s:
        form(s)
        choose(s, "kind", "YAML file")
        fill(s, "file", "a.yaml")
        take(s)
        s.wait("a.yaml")
        assert saved(s, where) == [' T file="a.yaml" language="yaml" slideshow={ "x":1} tags=["k"]\n-- x = 1\n']
        s.keys("z")
        s.wait("undone: properties")
        assert saved(s, where) == [' T file="a.lua" slideshow={ "x":1} tags=["k"]\nx = 1\n']
        s.keys("Z")
        s.wait("done again: properties")
        form(s)
        fill(s, "title", "lost")
        s.keys("Esc")
        s.gone("Properties of the cell")
        assert "lost" not in read(where)


def test_what_is_wrong_is_told_at_once_and_is_not_taken(t):
    where = folder(t, "-- %% A\nx = 1\n")
    with workbench(where) as s:
        form(s)
        fill(s, "timeout", "5x")
        s.wait('the duration "5x" has no unit')
        s.keys("Up Up Up Up Up Enter")
        s.quiet()
        assert "Properties" in "\n".join(s.screen())
        s.keys("C-u")  # the field that is wrong has the cursor
        s.type("5m")
        s.gone("has no unit")
        s.keys("Up Up Up Up Up")
        choose(s, "kind", "Dockerfile template")
        go(s, "file")
        s.keys("C-u")
        s.wait("needs the name of the file")
        s.type("../Dockerfile")
        s.wait("outside of the notebook's folder")
        take(s)
        assert saved(s, where) == [' A language="dockerfile" template="../Dockerfile" timeout="5m"\n-- x = 1\n']


def test_files_and_tags_are_completed(t):
    where = folder(t, '-- %% A tags=["nightly"]\nx = 1\n\n-- %% B\n')
    os.mkdir(os.path.join(where, "data"))
    write(where, "", "data/train.csv")
    write(where, "", "data/test.csv")
    with workbench(where) as s:
        s.keys("j")
        form(s)
        choose(s, "kind", "bash")
        fill(s, "tags", "slow, ni")
        s.keys("Tab")
        s.wait("slow, nightly")
        fill(s, "inputs", "da")
        s.keys("Tab")
        s.wait("data/")
        s.keys("Tab")
        s.wait("data/test.csv  data/train.csv")
        s.type("r")
        s.keys("Tab")
        s.wait("data/train.csv")
        take(s)
        assert saved(s, where)[1] == ' B inputs=["data/train.csv"] tags=["slow", "nightly"] language="bash"\n--\n'


def test_another_client_sets_another_property(t):
    where = folder(t, "-- %% A\nx = 1\n")
    with workbench(where) as s, workbench(where) as other:
        form(s)
        fill(s, "tags", "mine")
        form(other)
        fill(other, "timeout", "1m")
        take(other)
        s.wait("1m")
        form(other)
        fill(other, "tags", "theirs")
        take(other)
        s.wait("another client has set it to “theirs”")
        take(s)
        other.wait("#mine")
        assert saved(s, where) == [' A tags=["mine"] timeout="1m"\nx = 1\n']
        form(s)
        other.keys("b")
        other.wait("[ ] ─")
        other.keys("k d d")
        s.wait("another client has deleted this cell")
        s.keys("Enter")
        s.gone("Properties of the cell")


def test_the_first_steps_know_the_kind_of_the_cell(t):
    with workbench(folder(t, "-- %%\n")) as s:
        s.wait("edit the cell, which is Lua")
        form(s)
        choose(s, "kind", "YAML template")
        take(s)
        s.gone("which is Lua")
        s.wait("Enter  edit the cell")
        s.keys("s")
        s.wait("saved")
        s.keys("q")
        s.exit()


def test_it_fits_a_small_screen(t):
    where = folder(t, "-- %% A\nx = 1\n")
    with workbench(where, size="40x10") as s:
        form(s)
        choose(s, "kind", "bash")
        fill(s, "outputs", "a.txt")
        fill(s, "title", "T")
        fill(s, "timeout", "5x")
        s.wait("known: write")  # the whole of it, wrapped
        s.keys("C-u")
        take(s)
        assert saved(s, where) == [' T outputs=["a.txt"] language="bash"\n-- x = 1\n']


def test_a_pasted_marker_is_text_and_outputs_stay_with_their_cells(t):
    where = folder(t)
    with workbench(where) as s:
        body(s, 'print("from the first")\n-- %% T language="yaml"\ny = 2')
        s.keys("C-e")
        s.wait("│ from the first")
        assert saved(s, where) == ['\nprint("from the first")\n-- -- %% T language="yaml"\ny = 2\n']
        with open(os.path.join(where, "form.lua"), "a") as f:
            f.write("\n-- %% B\n\n-- %%\n")
        eventually(lambda: "B" in "\n".join(s.screen()))
        rows = [row.strip("▌ ") for row in s.screen()]
        assert "-- %% T language=\"yaml\"" in rows, rows
        first = [i for i, row in enumerate(rows) if row.startswith("[1]")]
        out = [i for i, row in enumerate(rows) if row.startswith("│ from the first")]
        second = [i for i, row in enumerate(rows) if row.startswith("[ ] B")]
        assert len(first) == len(out) == len(second) == 1 and first < out < second, rows


SIZES = {"80": "80x24", "120": "120x40"}
LOOK = """-- %% [markdown]
-- # Train

-- %% Settings tags=["parameters"]
epochs = 3

-- %% Prepare language="bash" effects="local" inputs=["data/train.csv"] outputs=["data/clean.csv"] timeout="5m"
-- grep -v '^#' data/train.csv > data/clean.csv

-- %% The job
kind: Job
"""


def test_how_the_form_looks(t):
    for name, size in SIZES.items():
        where = folder(t, LOOK)
        os.mkdir(os.path.join(where, "data"))
        for file in ("train.csv", "test.csv", "labels.csv"):
            write(where, "", f"data/{file}")
        with workbench(where, size=size) as s:
            s.keys("j j")
            form(s)
            golden(s, f"properties-{name}")
            s.keys("Esc j")
            form(s)
            choose(s, "kind", "YAML template")
            fill(s, "timeout", "5x")
            s.wait("has no unit")
            golden(s, f"properties-wrong-{name}")
            s.keys("Esc k")
            form(s)
            go(s, "inputs")
            s.keys("C-u")
            s.type("data/")
            s.keys("Tab")
            s.wait("data/labels.csv")
            golden(s, f"properties-files-{name}")



run(globals())
