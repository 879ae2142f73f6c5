#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jupytext and firesteel read and write the same notebooks: cells, options, bytes.

firesteel converts with `notebook-convert FROM TO`, a program of the tests.
"""
import glob
import json
import os
import shutil

from tap import BUILD, CACHE, SOURCE, Skip, run, sh

JUPYTEXT = os.path.join(CACHE, "venv", "bin", "jupytext")
CONVERT = os.path.join(BUILD, "tests", "replay", "notebook-convert")
SAMPLES = sorted(glob.glob(os.path.join(SOURCE, "tests", "fuzz", "corpus", "percent", "*.lua")))
RECIPES = sorted(glob.glob(os.path.join(SOURCE, "recipes", "*.lua")))


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return f.read()


def jupytext(source, target):
    if not os.path.exists(JUPYTEXT):
        raise Skip("no jupytext in the cache: tests/support/tools CACHE makes it")
    form = "ipynb" if target.endswith(".ipynb") else "lua:percent"
    done = sh(JUPYTEXT, "--quiet", "--to", form, "-o", target, source)
    assert done.code == 0, done
    return target


def convert(source, target, *options):
    done = sh(CONVERT, *options, source, target)
    assert done.code == 0, done
    return target


def cells(path):
    with open(path, encoding="utf-8") as f:
        notebook = json.load(f)
    return [(c["cell_type"], "".join(c["source"]), c["metadata"]) for c in notebook["cells"]]


def each(t, check):
    assert SAMPLES and RECIPES
    for sample in SAMPLES + RECIPES:
        folder = t.dir()
        check(sample, folder + "/jupytext.ipynb", folder + "/firesteel.ipynb", folder)


def test_both_make_the_same_ipynb(t):
    def check(sample, theirs, ours, folder):
        assert cells(jupytext(sample, theirs)) == cells(convert(sample, ours)), sample
    each(t, check)


def test_both_write_the_same_lua_from_an_ipynb(t):
    def check(sample, theirs, ours, folder):
        jupytext(sample, theirs)
        a = jupytext(theirs, folder + "/a.lua")
        b = convert(theirs, folder + "/b.lua")
        assert read(a) == read(b), sample
    each(t, check)


def test_jupytext_reads_our_ipynb_as_its_own(t):
    def check(sample, theirs, ours, folder):
        jupytext(sample, theirs)
        convert(sample, ours)
        a = jupytext(theirs, folder + "/a.lua")
        b = jupytext(ours, folder + "/b.lua")
        assert read(a) == read(b), sample
    each(t, check)


def test_from_the_second_trip_on_bytes_are_equal(t):
    def check(sample, theirs, ours, folder):
        once = jupytext(jupytext(sample, theirs), folder + "/once.lua")
        twice = jupytext(convert(once, ours), folder + "/twice.lua")
        assert read(once) == read(twice), sample
    each(t, check)


def test_an_edited_cell_is_spelled_as_jupytext_spells_it(t):
    def check(sample, theirs, ours, folder):
        once = jupytext(jupytext(sample, theirs), folder + "/once.lua")
        again = convert(once, folder + "/again.lua", "--rewrite")
        assert read(once) == read(again), sample
    each(t, check)


def test_shipped_recipes_are_as_jupytext_writes_them(t):
    for recipe in RECIPES:
        folder = t.dir()
        back = jupytext(jupytext(recipe, folder + "/a.ipynb"), folder + "/a.lua")
        assert read(back) == read(recipe), recipe


def test_our_own_load_and_save_change_nothing(t):
    for sample in SAMPLES + RECIPES:
        copy = t.dir() + "/copy.lua"
        assert read(convert(sample, copy)) == read(sample), sample


def test_what_a_cell_does_survives_the_trip(t):
    def check(sample, theirs, ours, folder):
        jupytext(sample, theirs)
        plans = [sh(CONVERT, "--plan", path).out for path in (sample, theirs)]
        assert plans[0] == plans[1], (sample, *plans)
        shutil.copy(sample, folder)
    each(t, check)


run(globals())
