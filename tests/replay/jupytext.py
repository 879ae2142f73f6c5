#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jupytext and firesteel read and write the same notebooks: cells, options, bytes.

firesteel converts with `notebook-convert FROM TO`, a program of the tests. jupytext takes a second to
start, so it converts all samples at once, in four steps:

    samples ── jupytext ──> theirs/*.ipynb ── jupytext ──> theirs/*.lua ── firesteel ──> second/*.ipynb ── jupytext
       └───── firesteel ──> ours/*.ipynb ──── jupytext ──> ours/*.lua                        └──> second/*.lua
"""
import functools
import glob
import json
import os
import shutil
import tempfile

from tap import BUILD, CACHE, SOURCE, Skip, run, sh

JUPYTEXT = os.path.join(CACHE, "venv", "bin", "jupytext")
CONVERT = os.path.join(BUILD, "tests", "replay", "notebook-convert")
RECIPES = sorted(glob.glob(os.path.join(SOURCE, "recipes", "[0-9]*.lua")))
# jupytext never writes two attributes of one name, and it reads another one of the two than we do.
SAMPLES = [s for s in sorted(glob.glob(os.path.join(SOURCE, "tests", "fuzz", "corpus", "percent", "*.lua"))) + RECIPES
           if not s.endswith("/twice.lua")]


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def jupytext(folder, form, pattern):
    done = sh(JUPYTEXT, "--quiet", "--to", form, *glob.glob(os.path.join(folder, pattern)))
    assert done.code == 0, done


def convert(source, target, *options):
    done = sh(CONVERT, *options, source, target)
    assert done.code == 0, done
    return target


@functools.cache
def trips():
    """A folder with everything in the drawing above; made once."""
    if not os.path.exists(JUPYTEXT):
        raise Skip("no jupytext in the cache: tests/support/tools CACHE makes it")
    root = tempfile.mkdtemp(prefix="firesteel-test-")
    for name in ("theirs", "ours", "second"):
        os.mkdir(os.path.join(root, name))
    for sample in SAMPLES:
        shutil.copy(sample, os.path.join(root, "theirs"))
        convert(sample, place(root, "ours", sample, ".ipynb"))
    jupytext(root + "/theirs", "ipynb", "*.lua")
    for copy in glob.glob(root + "/theirs/*.lua"):
        os.remove(copy)  # jupytext keeps the line ends of a file that it replaces
    jupytext(root + "/theirs", "lua:percent", "*.ipynb")
    jupytext(root + "/ours", "lua:percent", "*.ipynb")
    for sample in SAMPLES:
        convert(place(root, "theirs", sample), place(root, "second", sample, ".ipynb"))
    jupytext(root + "/second", "lua:percent", "*.ipynb")
    return root


def place(root, trip, sample, form=".lua"):
    return os.path.join(root, trip, os.path.splitext(os.path.basename(sample))[0] + form)


def cells(path):
    with open(path, encoding="utf-8") as f:
        notebook = json.load(f)
    return [(c["cell_type"], "".join(c["source"]), c["metadata"]) for c in notebook["cells"]]


def test_both_make_the_same_ipynb(t):
    for sample in SAMPLES:
        ours, theirs = (place(trips(), trip, sample, ".ipynb") for trip in ("ours", "theirs"))
        assert cells(ours) == cells(theirs), sample


def test_both_write_the_same_lua_from_an_ipynb(t):
    for sample in SAMPLES:
        ours = convert(place(trips(), "theirs", sample, ".ipynb"), t.dir() + "/ours.lua")
        assert read(ours) == read(place(trips(), "theirs", sample)), sample


def test_jupytext_reads_our_ipynb_as_its_own(t):
    for sample in SAMPLES:
        assert read(place(trips(), "ours", sample)) == read(place(trips(), "theirs", sample)), sample


def test_from_the_second_trip_on_bytes_are_equal(t):
    for sample in SAMPLES:
        assert read(place(trips(), "second", sample)) == read(place(trips(), "theirs", sample)), sample


def test_shipped_recipes_are_as_jupytext_writes_them(t):
    assert RECIPES
    for recipe in RECIPES:
        assert read(place(trips(), "theirs", recipe)) == read(recipe), recipe


def test_an_edited_cell_is_spelled_as_jupytext_spells_it(t):
    for sample in SAMPLES:
        theirs = place(trips(), "theirs", sample)
        assert read(convert(theirs, t.dir() + "/again.lua", "--rewrite")) == read(theirs), sample


def test_what_a_cell_does_survives_the_trip(t):
    for sample in SAMPLES:
        before = sh(CONVERT, "--plan", sample)
        assert before.out == sh(CONVERT, "--plan", place(trips(), "theirs", sample, ".ipynb")).out, sample


def test_our_own_load_and_save_change_nothing(t):
    for sample in SAMPLES:
        assert read(convert(sample, t.dir() + "/copy.lua")) == read(sample), sample


def test_the_trips_are_cleaned_up(t):
    shutil.rmtree(trips())


run(globals())
