#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`firesteel convert`: Lua, .ipynb and Python's percent format and back, to Markdown and HTML, and what it says is lost."""
import glob
import json
import os
import shutil

from foreign import PYTHON as PYTHON_METADATA
from foreign import firesteel, ipynb, needs_kernels
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


def test_notebooks_of_other_times_and_with_odd_characters(t):
    folder = t.dir()
    old = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"metadata": {}, "cells": [
        {"cell_type": "code", "collapsed": False, "input": "1+1", "language": "python", "outputs": [], "prompt_number": 1}]}]}
    write(folder, "old.ipynb", json.dumps(old))
    assert "it is nbformat 4; old.ipynb has an older one" in convert(folder, "old.ipynb", "-o", "new.ipynb")
    assert json.loads(read(folder, "new.ipynb"))["cells"][0]["source"] == ["1+1"]
    odd = json.dumps({**OUTPUTS, "metadata": {**OUTPUTS["metadata"], "papermill": {"parameters": {"lr": float("nan")}}}}, indent=3)
    write(folder, "odd.ipynb", odd.replace("more", "m\\u0000re"))
    convert(folder, "odd.ipynb", "-o", "same.ipynb")
    assert read(folder, "odd.ipynb") == read(folder, "same.ipynb")
    assert "m\ufffdre" in sh(FIRESTEEL, "convert", "odd.ipynb", "--to", "md", "-o", "-", cwd=folder).out


def test_documents_have_tracebacks_tags_and_closed_fences(t):
    folder = t.dir()
    trace = ["\x1b[0;31mValueError\x1b[0m  Traceback (most recent call last)", "\x1b[0;31mValueError\x1b[0m: too far"]
    write(folder, "e.ipynb", json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {"language_info": {"name": "python"}}, "cells": [
        {"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": "f()", "outputs": [
            {"output_type": "error", "ename": "ValueError", "evalue": "too far", "traceback": trace}]},
        {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "```python\nx = 1"},
        {"cell_type": "markdown", "id": "c", "metadata": {}, "source": "one<br>two $a*b*c$\n\n| a |\n|-|\n| 1 |"}]}))
    text = sh(FIRESTEEL, "convert", "e.ipynb", "--to", "md", "-o", "-", cwd=folder).out
    assert "ValueError  Traceback (most recent call last)\n  ValueError: too far\n```\n" in text and "\x1b" not in text, text
    assert "```python\nx = 1\n```\n\none" in text, text
    page = sh(FIRESTEEL, "convert", "e.ipynb", "--to", "html", "-o", "-", cwd=folder).out
    assert "</span>: too far" in page and "one<br>\ntwo $a*b*c$" in page and "<table>" in page, page


def test_an_error_that_a_run_writes_is_told_by_jupyter_s_tools(t):
    """They show the traceback, and nothing else of an error."""
    folder = t.dir()
    write(folder, "f.lua", "-- %% A\nlocal x = nil + 1\n")
    assert sh(FIRESTEEL, "run", "f.lua", "--report", "r.ipynb", cwd=folder).code == 1
    (error,) = json.loads(read(folder, "r.ipynb"))["cells"][0]["outputs"]
    assert error["traceback"][0] == f"error: {error['evalue']}" and len(error["traceback"]) > 1, error
    text = sh(FIRESTEEL, "convert", "r.ipynb", "--to", "md", "-o", "-", cwd=folder).out
    assert text.count("attempt to perform arithmetic") == 1, text


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


def metadata_of(folder, name):
    j = json.loads(read(folder, name))
    return j["metadata"], [(c["cell_type"], "".join(c["source"]), c["metadata"]) for c in j["cells"]]


def test_the_encoding_of_a_python_file_stays_in_python(t):
    """The bytes stay the same; jupytext reads the .ipynb and writes those bytes, too, and reads the file as we do."""
    coding, code = "# -*- coding: utf-8 -*-\n", '# %%\nx = "ünï"\n'
    kernel = "# ---\n# jupyter:\n#   kernelspec:\n#     display_name: Python 3\n#     language: python\n#     name: python3\n# ---\n\n"
    samples = {"none": code, "coding": coding + code, "vim": "# vim: set fileencoding=utf-8 :\n" + code, "shebang": "#!/usr/bin/env python3\n" + code,
               "both": "#!/usr/bin/env python3\n" + coding + code, "header": coding + kernel + code, "unmarked": coding + 'y = "é"\n\n' + code,
               "comment": "# about decoding things\n\n" + code, "front": "# ---\n# title: x\n# ---\n\n" + code}
    more = {"header", "unmarked", "comment"}  # after an .ipynb: what jupytext writes of itself; a marker for every cell
    folder, theirs = t.dir(), t.dir()
    for stem, text in samples.items():
        write(folder, stem + ".py", text)
        write(theirs, stem + ".py", text)
        for form in ("ipynb", "lua"):
            convert(folder, stem + ".py", "--to", form)
            convert(folder, f"{stem}.{form}", "-o", "back.py", "--force")
            if form == "lua" or stem not in more:
                assert read(folder, "back.py") == text, (stem, form, read(folder, "back.py"))
    assert metadata_of(folder, "coding.ipynb")[0]["jupytext"]["encoding"] == coding.strip()
    assert read(folder, "coding.lua").startswith("-- -*- coding: utf-8 -*-\n-- ---\n"), read(folder, "coding.lua")
    if not os.path.exists(JUPYTEXT):
        raise Skip("no jupytext in the cache: tests/support/tools CACHE makes it")
    done = sh(JUPYTEXT, "--quiet", "--to", "ipynb", *[s + ".py" for s in samples], cwd=theirs)
    assert done.code == 0, done
    for stem in samples:
        (ours, our_cells), (their, their_cells) = metadata_of(folder, stem + ".ipynb"), metadata_of(theirs, stem + ".ipynb")
        assert our_cells == their_cells and ours == their, (stem, ours, their, our_cells, their_cells)
    for stem in samples:
        os.remove(f"{folder}/{stem}.py")
    done = sh(JUPYTEXT, "--quiet", "--to", "py:percent", *[s + ".ipynb" for s in samples], cwd=folder)
    assert done.code == 0, done
    for stem in set(samples) - more:
        assert read(folder, stem + ".py") == samples[stem], (stem, read(folder, stem + ".py"))


def test_metadata_of_cells_is_left_out_as_jupytext_leaves_it_out(t):
    folder = t.dir()
    cell = {"cell_type": "code", "source": ["x = 1"], "outputs": [], "execution_count": None, "id": "a",
            "metadata": {"papermill": {"duration": 0.5, "status": "completed"}, "tags": ["parameters"], "collapsed": True,
                         "scrolled": True, "ExecuteTime": {"start": 1}, "execution": {"shell.execute_reply": "2026"}, "slideshow": {"slide_type": "slide"}}}
    filters = {"none": None, "tags": "tags,-all", "minus": "-papermill", "all": "all", "but": "all,-papermill", "kept": "collapsed,-slideshow"}
    for name, value in filters.items():
        metadata = {"kernelspec": {"display_name": "Lua", "language": "lua", "name": "lua"}}
        if value is not None:
            metadata["jupytext"] = {"cell_metadata_filter": value}
        write(folder, name + ".ipynb", json.dumps({"cells": [cell], "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, sort_keys=True))
        convert(folder, name + ".ipynb", "-o", f"ours-{name}.lua")
    tags = [line for line in read(folder, "ours-tags.lua").split("\n") if line.startswith("-- %%")]
    assert tags == ['-- %% tags=["parameters"]'], tags
    convert(folder, "tags.ipynb", "-o", "same.ipynb")
    assert json.loads(read(folder, "same.ipynb"))["cells"][0]["metadata"] == cell["metadata"], "an .ipynb keeps it"
    if not os.path.exists(JUPYTEXT):
        raise Skip("no jupytext in the cache: tests/support/tools CACHE makes it")
    done = sh(JUPYTEXT, "--quiet", "--to", "lua:percent", *[name + ".ipynb" for name in filters], cwd=folder)
    assert done.code == 0, done
    for name in filters:
        ours, theirs = ([line for line in read(folder, f).split("\n") if line.startswith("-- %%")] for f in (f"ours-{name}.lua", f"{name}.lua"))
        assert ours == theirs, (name, ours, theirs)


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


STRANGER = ["import os\nimport json", ("# how it learns\nlr = 0.1  # rate\nlayers = [64, {'units': 10}]\nname: str = 'a name'\nfast = True", {"tags": ["parameters"]}),
            "!echo {name} $HOME\nfiles = !ls", "%%writefile job.yaml\nkind: Job", "%%writefile tool.py\nprint('tool')",
            "x = json.dumps(layers)\nprint('python', x)", "print(x)", "%%bash\necho from bash", 'print("done")\nlr', "y = None",
            "for i in range(3):\n    print(i)", "n = 3", "n += 1", "!ls {n}", "%%time\nz, w = 2, 'two'\nz",
            "%env ONE=1\n%env TWO=2", "%%bash\necho ${ONE} $TWO", "%env ONE=one {x}", "import os\nos.environ['THREE'] = '3'", "!echo $THREE $FOUR",
            'PATH_OF = "named.cfg"', "%%writefile $PATH_OF\na = 1"]


def test_adopt_makes_lua_of_python_as_far_as_it_can(t):
    needs_kernels()
    folder = t.dir()
    write(folder, "x.ipynb", json.dumps(ipynb(*STRANGER, metadata=PYTHON_METADATA)))
    done = sh(FIRESTEEL, "convert", "x.ipynb", "--adopt", cwd=folder)
    assert done.code == 0, done
    left = [line.removeprefix("firesteel: x.lua: ") for line in done.err.splitlines()]
    assert left == ["cell 1 stays in Python: cells in Python need its imports", "cell 6 stays in Python: line 1: x = json.dumps(layers)",
                    "cell 7 stays in Python: x is a variable of Python's", "cell 10 stays in Python: line 1: y = None",
                    "cell 11 stays in Python: line 1: for i in range(3):", "cell 12 stays in Python: a cell in Python sets n, too",
                    "cell 13 stays in Python: line 1: n += 1", "cell 14 stays in Python: n is a variable of Python's",
                    "cell 16 stays in Python: a cell in Python uses $ONE", "cell 17 stays in Python: $ONE is Python's",
                    "cell 18 stays in Python: x is a variable of Python's",
                    "cell 19 stays in Python: line 2: os.environ['THREE'] = '3'", "cell 20 stays in Python: $THREE is Python's",
                    "9 of 22 cells with code are Lua"], left
    with open(os.path.join(folder, "x.lua"), encoding="utf-8") as f:
        lua = f.read()
    for words in ('lr = 0.1  -- rate\n', 'layers = {64, {units = 10}}', 'name = "a name"', "fast = true", 'tags=["parameters"]', "py.set { layers = layers }",
                  'file="job.yaml" language="yaml"', '-- %% language="bash"\n-- echo from bash', "-- how it learns"):
        assert words in lua, (words, lua)
    done = firesteel(folder, "run", "x.lua", "-p", "layers=[1, 2]", env={"VIRTUAL_ENV": os.path.join(CACHE, "jupyter")})
    assert done.code == 0, done
    for words in (f"a name {os.environ['HOME']}", "python [1, 2]", "from bash", "done", "0.1", "Wall time"):
        assert words in done.out, (words, done)
    with open(os.path.join(folder, "named.cfg"), encoding="utf-8") as f:
        assert f.read() == "a = 1\n"
    with open(os.path.join(folder, "tool.py"), encoding="utf-8") as f:
        assert f.read() == "print('tool')\n"


def test_adopt_of_what_uses_the_cluster(t):
    folder = t.dir()
    write(folder, "x.py", "# %% [markdown]\n# # The job\n\n# %%\nimport os\n\n# %%\n# !kubectl apply -f job.yaml\n\n# %%\n# !kubectl get pods -o wide\n\n# %% The end\n# !echo $USER\n")
    done = sh(FIRESTEEL, "convert", "x.py", "--adopt", "-o", "-", cwd=folder)
    assert done.code == 0 and 'cell 3 has effects="cluster"' in done.err and "4 of 4 cells" in done.err, done
    assert '\nk8s.apply "job.yaml"\n' in done.out and '-- %% effects=["cluster"]\n!kubectl get pods -o wide' in done.out, done
    assert "-- import os" in done.out and "-- %% The end\n!echo $USER" in done.out and "-- # The job" in done.out, done
    for words, said in ((("--to", "py"), "--adopt makes a .lua or an .ipynb"), (("-o", "y.md"), "--adopt makes")):
        done = sh(FIRESTEEL, "convert", "x.py", "--adopt", *words, cwd=folder)
        assert done.code == 2 and said in done.err, done
    write(folder, "l.lua", "x = 1\n")
    done = sh(FIRESTEEL, "convert", "l.lua", "--adopt", "-o", "m.lua", cwd=folder)
    assert done.code == 2 and "l.lua is no notebook in Python" in done.err and not os.path.exists(os.path.join(folder, "m.lua")), done


run(globals())
