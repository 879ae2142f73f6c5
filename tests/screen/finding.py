#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finding one's way in a notebook of many cells: outline, sections, search, git's HEAD."""
import os
import subprocess

from bench import folder, leave, workbench
from golden import golden
from tap import FIRESTEEL, run, sh

PARTS = ("Data", "Training", "Evaluation", "Deployment", "Clean up")


def cells(parts=PARTS, each=6):
    """A notebook with sections, cells with and without titles, and one that fails."""
    out = ["-- %% [markdown]\n-- # A study of digits\n-- It trains a small network, and looks at what it learnt.\n"]
    for number, part in enumerate(parts):
        out.append(f"-- %% [markdown]\n-- ## {part}\n")
        for i in range(1, each + 1):
            title = f" Step {i} of {part.lower()}" if i < each else ""
            fails = (number, i) == (1, 2)
            out.append(f"-- %%{title}\n" + ('error "the gradient is not finite"\n' if fails else
                                            f'v{number}_{i} = {i}\nprint("loss " .. v{number}_{i} .. " here")\n'))
    return "\n".join(out)


LOOKS = {"80": {"size": "80x24"}, "120": {"size": "120x40"}, "60": {"size": "60x20"}, "mono": {"term": "vt100"}}


def ran(t, **options):
    """The notebook with three cells that have run, of which the last failed."""
    s = workbench(folder(t, cells()), **options)
    s.keys(": 1 1 Enter")
    s.wait("Step 2 of training")
    s.keys("K C-e")
    s.wait("failed")
    s.wait("idle")
    s.keys("Esc")
    return s


def test_how_the_outline_looks(t):
    for name, look in LOOKS.items():
        with ran(t, **look) as s:
            s.keys("T")
            s.wait("Outline")
            golden(s, f"outline-{name}")
            s.type("step 2")
            s.wait("5 of ")
            s.keys("Down Enter")
            s.wait("COMMAND")
            golden(s, f"outline-after-{name}")
            leave(s)


def test_how_folded_sections_look(t):
    for name, look in LOOKS.items():
        with ran(t, **look) as s:
            s.keys("g H")
            s.wait("⋯ 6 cells" if name != "mono" else "6 cells")
            golden(s, f"folded-{name}")
            leave(s)


def test_how_a_search_looks(t):
    for name, look in LOOKS.items():
        with ran(t, **look) as s:
            s.keys("g g /")
            s.type("loss [0-9]")
            s.wait("1 of ")
            golden(s, f"typed-search-{name}")
            s.keys("Esc")
            s.gone(" of 1")
            leave(s)


def test_three_hundred_cells_by_keys_alone(t):
    """Open, find, run a section, replace, go back: what a person does in a long notebook."""
    where = folder(t, cells(tuple(f"Part {i:02}" for i in range(40)), each=7))
    with workbench(where) as s:
        s.keys("T")
        s.wait("Outline")
        s.type("part 31")
        s.wait("7 of ")
        s.keys("Enter g c")
        s.wait("loss 7 here")
        s.keys("/")
        s.type("loss 5 h")  # it is in an output
        s.wait("1 of 1")
        s.keys("Enter")
        s.wait("▌[5] Step 5 of part 31")
        s.keys(":")
        s.type("%s/v([0-9]+)_([0-9])/x\\2_\\1/g")
        s.keys("Enter")
        s.wait("558 places in 279 cells replaced")
        s.wait('print("loss " .. x5_31 .. " here")')
        s.keys("z")
        s.wait('print("loss " .. v0_1 .. " here")')  # there it begins
        s.keys("C-o")
        s.wait("▌[5] Step 5 of part 31")
        s.keys("C-s")
        s.wait("saved")
        leave(s)
    assert "v31_5" in open(os.path.join(where, "small.lua"), encoding="utf-8").read()


def git(where, *argv):
    names = {"GIT_AUTHOR_NAME": "x", "GIT_AUTHOR_EMAIL": "x@example.org", "GIT_COMMITTER_NAME": "x",
             "GIT_COMMITTER_EMAIL": "x@example.org", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(["git", *argv], cwd=where, env={**os.environ, **names}, check=True, capture_output=True, text=True).stdout


def test_what_differs_from_head_is_marked(t):
    where = folder(t, cells())
    with workbench(where) as s:  # no repository
        s.keys("g d")
        s.wait("no cell differs from git's HEAD")
        leave(s)
    git(where, "init", "-q")
    git(where, "add", "small.lua")
    git(where, "commit", "-q", "-m", "one")
    with workbench(where) as s:
        s.keys("j j")
        s.wait("▌[ ] Step 1 of data")
        s.keys("Enter")
        s.type("y = 1 ")
        s.wait("≠")
        s.keys("Esc b")
        s.wait("▌[ ] ─")
        s.wait(" +")
        s.keys("g g g d")
        s.wait("▌[ ] Step 1 of data")
        s.keys("g d g d s")  # around
        s.wait("saved")
        git(where, "commit", "-q", "-a", "-m", "two")
        s.keys(":")
        s.type("e")
        s.keys("Enter")
        s.gone("≠")
        leave(s)


def test_git_compares_cells_of_an_ipynb(t):
    where = t.dir()
    path = os.path.join(where, "a.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write("-- %% One\nx = 1\n")
    assert sh(FIRESTEEL, "convert", "a.lua", "--to", "ipynb", cwd=where).code == 0
    git(where, "init", "-q")
    git(where, "config", "diff.firesteel.textconv", f"{FIRESTEEL} diff --textconv")
    with open(os.path.join(where, ".gitattributes"), "w", encoding="utf-8") as f:
        f.write("*.ipynb diff=firesteel\n")
    git(where, "add", ".")
    git(where, "commit", "-q", "-m", "one")
    with open(path, "w", encoding="utf-8") as f:
        f.write("-- %% One\nx = 2\n")
    assert sh(FIRESTEEL, "convert", "a.lua", "--to", "ipynb", "--force", cwd=where).code == 0
    shown = git(where, "diff", "a.ipynb")
    assert "-x = 1\n+x = 2\n" in shown and '"source"' not in shown, shown
    with open(os.path.join(where, "a.ipynb"), "w", encoding="utf-8") as f:
        f.write("{ half\n")
    assert "+{ half" in git(where, "diff", "a.ipynb")
    wrong = sh(FIRESTEEL, "diff", "--textconv", "nothing.ipynb", cwd=where)
    assert wrong.code == 2 and "nothing.ipynb" in wrong.err, wrong


ALIKE = """-- %% Alike
print("nee" .. "dle")
print("")
for i = 1, 15 do print("filler " .. i) end
print("nee" .. "dle")
"""


def test_of_lines_that_are_alike_the_one_that_is_meant_is_shown(t):
    with workbench(folder(t, ALIKE), size="80x12") as s:
        s.keys("C-e")
        s.wait("│ filler")
        s.keys("/")
        s.type("needle")
        s.wait("1 of 2")
        s.wait("│ filler 2")  # the first one, though an empty line stands behind it
        assert "filler 15" not in "\n".join(s.screen()), s.screen()
        s.keys("Esc")
        leave(s)


run(globals())
