#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Opening: notebooks that do not exist yet, and keys that come before the kernel is ready."""
import json
import os
import stat

from bench import kernels, kill_kernel
from screen import Screen
from tap import CACHE, FIRESTEEL, eventually, run, sh, stop_kernels

NOTEBOOK = "-- %% A\nx = 1\n\n-- %% B\nprint(x + 1)\n"


def folder(t, **files):
    where = t.dir()
    for name, text in files.items():
        with open(os.path.join(where, name + ".lua"), "w") as f:
            f.write(text)
    t.after(stop_kernels)
    return where


def read(where, name):
    with open(os.path.join(where, name)) as f:
        return f.read()


def test_a_notebook_that_is_not_there_yet(t):
    where = folder(t)
    with Screen([FIRESTEEL, "fresh.lua"], cwd=where) as s:
        s.wait("idle")
        s.keys("Enter")
        s.type("print(6 * 7)")
        s.keys("C-e")
        s.wait("│ 42")
        assert not os.path.exists(os.path.join(where, "fresh.lua")), "only saving makes it"
        s.keys("s")
        s.wait("saved")
        s.keys("q")
        assert s.exit() == "exit 0"
    assert "print(6 * 7)" in read(where, "fresh.lua")
    assert sh(FIRESTEEL, "run", "fresh.lua", cwd=where).code == 0


PYTHON = "#!/usr/bin/env python3\n# %% [markdown]\n# # Two of them\n\n# %% first\nx = 1  # -- %% not a cell\n# %%time\n\n# %%\nprint(x)\n"


def test_a_notebook_in_python_is_written_and_run(t):
    where = folder(t)
    venv = os.path.join(CACHE, "jupyter")
    there = os.path.exists(os.path.join(venv, "versions"))
    with open(os.path.join(where, "p.py"), "w") as f:
        f.write(PYTHON)
    with Screen([FIRESTEEL, "p.py"], cwd=where, size="80x30", env={"VIRTUAL_ENV": venv} if there else {"HOME": where, "VIRTUAL_ENV": None}) as s:
        s.wait("Two of them")
        s.keys("G")
        s.keys("Enter")
        s.keys("End")
        s.type(" + 1")
        s.keys("Esc")
        s.wait("p.py +")
        s.keys("s")
        s.wait("saved")
        s.keys("C-e")
        s.wait("NameError" if there else "no Jupyter kernel for python")
        if there:
            s.wait("----> 1 print(x) + 1")
        s.keys("q")
        assert s.exit() == "exit 0"
    assert read(where, "p.py") == PYTHON.replace("print(x)", "print(x) + 1"), read(where, "p.py")
    assert sh(FIRESTEEL, "convert", "p.py", "--to", "lua", cwd=where).code == 0
    with Screen([FIRESTEEL, "p.py"], cwd=where) as s:
        s.wait("Two of them")
        assert "p.py +" not in "\n".join(s.screen())
        s.keys("q")
        assert s.exit() == "exit 0"


def test_without_a_file_what_is_unsaved_is_discarded(t):
    where = folder(t, a="-- %% A\na = 1\n")
    for name, way in (("fresh.lua", ": q ! Enter"), ("a.lua", "q d")):
        with Screen([FIRESTEEL, name], cwd=where) as s:
            s.wait("idle")
            s.keys("Enter")
            s.type("unwanted = 1")
            s.keys("Esc")
            s.wait(f"{name} +")
            if name == "a.lua":
                os.unlink(os.path.join(where, name))
            s.keys(way.split()[0])
            s.wait("Unsaved" if way == "q d" else ":")
            s.quiet(700)  # for that time the dialog takes no key that loses something
            s.keys(way.split(" ", 1)[1])
            assert s.exit() == "exit 0"
            assert "goes on (idle;" in "".join(s.screen()), s.screen()
        stop_kernels()
    assert os.listdir(where) == [".firesteel"], os.listdir(where)
    with Screen([FIRESTEEL, "fresh.lua"], cwd=where) as s:
        s.wait("idle")
        assert "unwanted" not in "\n".join(s.screen()), s.screen()


def test_its_record_has_the_command_line(t):
    where = folder(t, a='-- %% tags=["parameters"]\nlr = 1\n-- %% A\nx = lr\n')
    with Screen([FIRESTEEL, "-p", "lr=2", "a.lua"], cwd=where) as s:
        s.wait("idle")
        s.keys("C-e")
        s.wait("[1]")
        s.keys("q")
        assert s.exit() == "exit 0"
    row, = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=where).out)
    assert row["origin"]["command"] == ["firesteel", "-p", "lr=2", "a.lua"], row["origin"]


def test_a_wrong_name_is_no_new_notebook(t):
    with Screen([FIRESTEEL, "nowhere/a.lua"], cwd=folder(t)) as s:
        assert s.exit() == "exit 1"
        assert "No such file" in "\n".join(s.screen())


def test_saving_keeps_mode_and_link(t):
    where = folder(t, real=NOTEBOOK)
    os.chmod(os.path.join(where, "real.lua"), 0o600)
    os.symlink("real.lua", os.path.join(where, "link.lua"))
    with Screen([FIRESTEEL, "link.lua"], cwd=where) as s:
        s.wait("idle")
        s.keys("d d")
        s.gone("x = 1")
        s.keys("s")
        s.wait("saved")
        s.keys("q")
        s.exit()
    assert os.path.islink(os.path.join(where, "link.lua"))
    assert stat.S_IMODE(os.stat(os.path.join(where, "real.lua")).st_mode) == 0o600
    assert read(where, "real.lua") == "-- %% B\nprint(x + 1)\n"


def test_keys_in_one_packet_wait_for_the_cell_they_are_meant_for(t):
    where = folder(t, small=NOTEBOOK)
    with Screen([FIRESTEEL, "small.lua"], cwd=where) as s:
        s.wait("idle")
        s.send(b"Gb\ry = 2\x1b[A")  # insert below, edit it, type, up
        s.wait("y = 2")
        s.keys("Esc")
        s.wait("COMMAND")
        s.send(b"ggddddbb\rz = 3")
        s.wait("z = 3")
        s.keys("Esc s")
        s.wait("saved")
        s.keys("q")
        assert s.exit() == "exit 0"
    assert read(where, "small.lua") == "-- %%\ny = 2\n\n-- %%\n\n-- %%\nz = 3\n", read(where, "small.lua")


def test_keys_before_the_kernel_answers_are_done(t):
    where = folder(t, small=NOTEBOOK)
    with Screen(["sh", "-c", f"sleep 0.3; exec {FIRESTEEL} --sandbox small.lua"], cwd=where) as s:
        s.keys("R")  # the terminal has it before the program reads
        s.wait("│ 2")
        s.keys("q")
        assert s.exit() == "exit 0"


def test_a_long_message_is_read_whole(t):
    where = folder(t, small=NOTEBOOK)
    deep = "a-folder-with-a-long-name/" * 3 + "copy.lua"
    with Screen([FIRESTEEL, "small.lua"], cwd=where, size="60x12") as s:
        s.wait("idle")
        s.keys(":")
        s.type(f"w {deep}")
        s.keys("Enter")
        s.wait("No such file")
        whole = "".join(row.strip() for row in s.screen())
        assert deep in whole and "small.lua" in s.screen()[-1], s.screen()
        s.keys("j")
        s.gone("No such file")
        s.keys("q")
        assert s.exit() == "exit 0"


def test_a_dead_kernel_takes_no_text_along_and_another_one_goes_on(t):
    where = folder(t, small=NOTEBOOK)
    with Screen([FIRESTEEL, "small.lua"], cwd=where) as s:
        s.wait("idle")
        s.keys("C-e G Enter")
        s.type("late = 5\n")
        kill_kernel(where)
        s.wait("● gone")
        s.type("later = 6\n")
        s.keys("Esc")
        s.wait("COMMAND")
        s.keys("0 0")
        s.wait("● idle")
        assert "late = 5" in "\n".join(s.screen()) and "later = 6" in "\n".join(s.screen())
        s.keys("R")
        s.wait("[2] B")
        s.keys("s")
        s.wait("saved")
        s.keys("q")
        assert s.exit() == "exit 0"
    assert "late = 5\nlater = 6" in read(where, "small.lua")


def test_without_a_kernel_the_text_can_be_saved(t):
    where = folder(t, small=NOTEBOOK)
    with Screen([FIRESTEEL, "small.lua"], cwd=where) as s:
        s.wait("idle")
        kill_kernel(where)
        s.wait("● gone")
        s.keys("Enter")
        s.type("kept = 1\n")
        s.keys("Esc")
        s.wait("COMMAND")
        s.keys("q")
        s.wait("Unsaved changes")
        s.keys("s")
        assert s.exit() == "exit 0"
    assert read(where, "small.lua").startswith("-- %% A\nkept = 1\nx = 1"), read(where, "small.lua")


def test_leaving_while_keys_wait(t):
    where = folder(t, small=NOTEBOOK)
    with Screen([FIRESTEEL, "small.lua"], cwd=where) as s:
        s.wait("idle")
        s.send(b"bq")
        s.wait("Unsaved changes")
        s.send(b"kxxx")
        assert s.exit() == "exit 0"


def test_the_language_of_an_ipynb_that_does_not_say_it_is_asked_for(t):
    where = folder(t)
    cell = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": [], "source": "print(6 * 7)"}
    with open(os.path.join(where, "bare.ipynb"), "w") as f:
        json.dump({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, f)
    refused = sh(FIRESTEEL, "run", "bare.ipynb", cwd=where)
    assert refused.code == 2 and 'write "language_info": {"name": "python"}' in refused.err, refused
    with Screen([FIRESTEEL, "bare.ipynb"], cwd=where) as s:
        s.wait("In which language are the cells of bare.ipynb?")
        s.keys("Down")
        s.keys("Enter")
        s.wait("idle")
        s.keys("C-e")
        s.wait("│ 42")
        s.keys("q")
        s.exit()
    saved = json.loads(read(where, "bare.ipynb"))
    assert saved["metadata"] == {"language_info": {"name": "lua"}} and saved["cells"] == [cell], saved


run(globals())
