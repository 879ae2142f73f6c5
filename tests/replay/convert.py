#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`firesteel convert`: Lua, .ipynb and Python's percent format and back, to Markdown and HTML, and what it says is lost."""
import glob
import json
import os
import shutil

from tap import CACHE, FIRESTEEL, SOURCE, Skip, run, sh

JUPYTEXT = os.path.join(CACHE, "venv", "bin", "jupytext")
LUA = """\
-- %% [markdown]
-- # A title
--
-- words -- with dashes, # and marks

-- %% Numbers tags=["parameters"] timeout="10m"
x = 1 -- one
if x then

  print("# %% no marker")
end


-- %% A file file="a.yaml" language="yaml"
-- a: 1
-- # a comment of YAML

-- %%
!echo hi
"""
PYTHON = """\
#!/usr/bin/env python3
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#       jupytext_version: 1.19.6
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Title
#
# text with -- dashes

# %% Load tags=["parameters"]
lr = 0.1  # a comment
# a comment of its own
# %matplotlib inline

# %%
if lr:
    print("-- %% no marker")

# %% language="bash"
# echo hi
"""
PLAIN = "# %%\nimport os\n\n# %% [markdown]\n# plain\n"
OUTPUTS = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": [
    {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": ["print('<out>')"], "outputs": [
        {"output_type": "stream", "name": "stdout", "text": ["<out>\n", "more\n"]},
        {"output_type": "display_data", "metadata": {}, "data": {"text/plain": ["a dot"], "image/png": "iVBORw0KGgo="}},
        {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "by zero", "traceback": []}]},
    {"cell_type": "markdown", "id": "b", "metadata": {}, "attachments": {"x.png": {"image/png": "iVBORw0KGgo="}},
     "source": ["![x](attachment:x.png)"]}]}


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as f:
        f.write(text)


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
        return f.read()


def convert(folder, *arguments):
    done = sh(FIRESTEEL, "convert", *arguments, cwd=folder)
    assert done.code == 0, done
    return done.err


def test_there_and_back_is_the_same_file(t):
    folder = t.dir()
    samples = {"n.lua": LUA, "p.py": PYTHON, "plain.py": PLAIN, "crlf.lua": LUA.replace("\n", "\r\n")}
    for path in glob.glob(os.path.join(SOURCE, "recipes", "[0-9]*.lua")):
        with open(path, encoding="utf-8", newline="") as f:
            samples[os.path.basename(path)] = f.read()
    for name, text in samples.items():
        write(folder, name, text)
        stem, own = name.rsplit(".", 1)
        for form in {"lua", "ipynb", "py"} - {own}:
            if form == "ipynb" and name == "crlf.lua":
                continue  # an .ipynb has no line ends of its own
            said = convert(folder, name, "--to", form)
            assert said == "", (name, form, said)
            convert(folder, f"{stem}.{form}", "-o", f"back.{own}", "--force")
            assert read(folder, f"back.{own}") == text, (name, form)
            os.remove(f"{folder}/{stem}.{form}")


def test_what_is_lost_is_told(t):
    folder = t.dir()
    write(folder, "o.ipynb", json.dumps(OUTPUTS))
    said = convert(folder, "o.ipynb", "--to", "lua")
    assert "o.lua: it has not the outputs of 1 cell\n" in said and "the pictures attached to 1 cell\n" in said, said
    write(folder, "odd.lua", LUA.replace('tags=["parameters"] timeout', "tags=['parameters']   timeout"))
    said = convert(folder, "odd.lua", "--to", "ipynb")
    assert "all cells are there; converted back, the file's bytes are others" in said, said


def test_jupytext_reads_the_python_file_as_we_do(t):
    if not os.path.exists(JUPYTEXT):
        raise Skip("no jupytext in the cache: tests/support/tools CACHE makes it")
    folder = t.dir()
    write(folder, "p.py", PYTHON)
    write(folder, "n.lua", LUA)
    convert(folder, "n.lua", "--to", "py")
    for name in ("p", "n"):
        done = sh(JUPYTEXT, "--quiet", "--to", "ipynb", "-o", f"theirs-{name}.ipynb", f"{name}.py", cwd=folder)
        assert done.code == 0, done
        convert(folder, f"{name}.py", "-o", f"ours-{name}.ipynb")
    ours, theirs = (json.loads(read(folder, f"{who}-p.ipynb"))["cells"] for who in ("ours", "theirs"))
    assert [(c["cell_type"], c["source"], c["metadata"]) for c in ours] == [
        (c["cell_type"], c["source"], c["metadata"]) for c in theirs], (ours, theirs)
    theirs = json.loads(read(folder, "theirs-n.ipynb"))["cells"]
    assert theirs[0]["source"][0] == "# A title\n" and len(theirs) == 4, theirs
    assert "x = 1 -- one\n" in "".join(theirs[1]["source"]), "Lua is kept as another language"


def test_markdown_and_html_have_the_outputs(t):
    folder = t.dir()
    write(folder, "o.ipynb", json.dumps(OUTPUTS))
    convert(folder, "o.ipynb", "--to", "html")
    page = read(folder, "o.html")
    assert "&lt;out&gt;\nmore\n" in page and '<img src="data:image/png;base64,iVBORw0KGgo="' in page and "by zero" in page, page
    assert 'class="badge' not in page and "not run" not in page and "script-src" not in page, "it is no run"
    done = sh(FIRESTEEL, "convert", "o.ipynb", "--to", "md", "-o", "-", cwd=folder)
    assert done.code == 0 and done.out.startswith("```python\nprint('<out>')\n```\n\n```text\n<out>\nmore\n"), done
    assert "not run" not in done.out and "Run `" not in done.out, done


def test_files_are_not_replaced_by_chance(t):
    folder = t.dir()
    write(folder, "n.lua", LUA)
    write(folder, "n.py", "mine")
    done = sh(FIRESTEEL, "convert", "n.lua", "--to", "py", cwd=folder)
    assert done.code == 1 and "--force" in done.err and read(folder, "n.py") == "mine", done
    convert(folder, "n.lua", "--to", "py", "--force")
    assert read(folder, "n.py").startswith("# %% [markdown]\n"), "replaced"
    for arguments in (["n.lua"], ["n.lua", "--to", "pdf"], ["--to", "py"], ["n.lua", "n.lua", "-o", "x.py"]):
        assert sh(FIRESTEEL, "convert", *arguments, cwd=folder).code == 2, arguments
    assert sh(FIRESTEEL, "convert", "n.md", "--to", "lua", cwd=folder).code == 2
    shutil.copy(folder + "/n.lua", folder + "/m.lua")
    convert(folder, "n.lua", "m.lua", "--to", "ipynb")
    assert os.path.exists(folder + "/n.ipynb") and os.path.exists(folder + "/m.ipynb"), "several at once"


run(globals())
