#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What keeps a notebook from being run is said before its first cell, by `run` and by `check`."""
import json
import os

from tap import BUILD, FIRESTEEL, run, sh

JUPYTER = os.path.exists(os.path.join(BUILD, "cli", "firesteel-jupyter"))

MISTAKES = """\
-- %% Good
print "one"

-- %% Option tmieout="1s"
x = 1

-- %% Lua
x = 1
y = = 2

-- %% File file="trainer.lua"
local a =

-- %% Template template="job.yaml"
fine: ${1 + 1} $${literal}
bad: ${1 + }

-- %% Written
%%writefile step.lua
#!/usr/bin/lua
print(1) print(
-- %% Magic
%tiem
-- %% Last
print "last"
"""
SAID = [
    "bad.lua:4: cell 2 (Option): unknown option tmieout; did you mean timeout?",
    "bad.lua:9: cell 3 (Lua): unexpected symbol near '='",
    "bad.lua:12: cell 4 (File): unexpected symbol near <eof>",
    "bad.lua:16: cell 5 (Template): ${1 + } is not a Lua expression",
    "bad.lua:21: cell 6 (Written): unexpected symbol near <eof>",
    "bad.lua:23: cell 7 (Magic): unknown magic %tiem",
]


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text if isinstance(text, str) else json.dumps(text))
    return name


def ipynb(sources, metadata):
    cells = [{"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
             for source in sources]
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 2}


def firesteel(folder, *arguments):
    return sh(FIRESTEEL, *arguments, cwd=folder)


def untouched(folder, names):
    assert sorted(os.listdir(folder)) == sorted(names), os.listdir(folder)


def test_check_tells_every_mistake_with_its_line(t):
    folder = t.dir()
    write(folder, "bad.lua", MISTAKES)
    done = firesteel(folder, "check", "bad.lua")
    lines = done.out.splitlines()
    assert done.code == 2 and len(lines) == len(SAID), done
    for line, said in zip(lines, SAID):
        assert line.startswith(said), (line, said)
    untouched(folder, ["bad.lua"])


def test_a_long_notebook_is_told_in_its_order(t):
    """Its halves are checked at once."""
    folder, cells = t.dir(), [f"x = {i}" for i in range(500)]
    cells[1], cells[249], cells[250], cells[499] = "one = = 1", "two = = 2", "three = = 3", "four = = 4"
    markers = ["-- %%"] * 500
    markers[400], cells[400] = '-- %% file="x.json"', '{"replicas": 3,}'
    write(folder, "long.lua", "".join(f"{marker}\n{cell}\n\n" for marker, cell in zip(markers, cells)))
    done = firesteel(folder, "check", "long.lua")
    places = [line.split(" (")[0].split(": ")[1] for line in done.out.splitlines()]
    assert done.code == 2 and places == ["cell 2", "cell 250", "cell 251", "cell 401", "cell 500"], done
    done = firesteel(folder, "run", "long.lua")
    assert done.code == 2 and "5 mistakes, so nothing was run" in done.err and "cell 250" in done.err, done
    untouched(folder, ["long.lua"])


DATA = """\
-- %% Parameters tags=["parameters"]
image, x = 1, 2
replicas = 3
title = "one: two: three"
-- %% Yaml file="a.yaml" language="yaml"
-- a: 1
-- b: [1,
-- c: 2
-- %% Json file="b.json" language="json"
-- {"a": 1,
--   b}
-- %% Magic
%%writefile c.yml
a: 1
  b: 2
-- %% Template template="d.yaml" language="yaml"
-- spec:
--   replicas: ${replicas * 2}
--     name: ${job.name}
-- %% Template template="e.json" language="json"
-- {"n": ${replicas},
--  "job" ${job.name}}
-- %% By a parameter template="f.yaml"
a: 1
title: ${title}
-- %% Moved template="g.yaml"
a: ${"|\\n  text"}
b: c: d
-- %% Path file="$PLACE" language="json"
-- {"a" 1}
"""
DATA_SAID = [
    "data.lua:8: cell 2 (Yaml): column 1: did not find expected ',' or ']'",
    "data.lua:11: cell 3 (Json): column ",
    "data.lua:15: cell 4 (Magic): column 4: mapping values are not allowed in this context",
    "data.lua:19: cell 5 (Template): mapping values are not allowed in this context",
    "data.lua:22: cell 6 (Template): ",
    "data.lua:25: cell 7 (By a parameter): mapping values are not allowed in this context",
    "data.lua:26: cell 8 (Moved): line 3 of the filled-in text, column 5: mapping values",
    "data.lua:30: cell 9 (Path): column 6: ",
]
GOOD_DATA = """\
-- %% Parameters tags=["parameters"]
image = "registry/app:1"
nothing = nil
-- %% Yaml file="a.yaml" language="yaml"
-- a: !Ref b
-- ---
-- b: 1
-- %% Another tool's template file="b.yaml"
{{- if x }}
a: b: c
-- %% Unknown values template="c.yaml"
image: ${image}
job: ${job.name}
${more}
env:
  - ${first}
  ${others}
labels: {a: ${a}, ${labels}}
k${a}: 1
k${b}: 1
"${c}": "${d}${e}"
none: ${nothing}
loop: ${(function() while true do end end)()}
loops: ${(function() while true do pcall(function() while true do end end) end end)()}
long: ${("x"):rep(1e9)}
literal: $${x}
-- %% Json template="d.json" language="json"
-- {"image": "${image}", "n": ${n}, ${fields}, "list": [${items}],
--  ${more}}
-- %% Part
%%writefile -a e.json
{"a":
-- %% Lines language="json" template="f.json"
-- {
--   ${fields}
-- }
"""


def test_a_cell_has_all_its_mistakes_told(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% A effecst="local" tags=["x"]\nx = = 3\n-- %% B tmieout="1s" file="a.lua"\ny = = 4\n-- %% C foo="x"\n%tiem\n'
          '-- %% D flie="a.yaml"\na: 1\n-- %% E langauge="yaml"\na: 1\n-- %% F a b c = d\na: 1\n')
    done = firesteel(folder, "check", "n.lua")
    lines = done.out.splitlines()
    assert done.code == 2 and [line.split(" ", 1)[0] for line in lines] == [f"n.lua:{n}:" for n in (1, 2, 3, 4, 5, 6, 7, 9, 11)], lines
    assert "unknown option effecst" in lines[0] and "unexpected symbol" in lines[1], lines
    assert "unexpected symbol" in lines[3] and "unknown magic %tiem" in lines[5], lines


def test_data_that_does_not_parse(t):
    folder = t.dir()
    write(folder, "data.lua", DATA)
    write(folder, "good.lua", GOOD_DATA)
    done = firesteel(folder, "check", "data.lua")
    lines = done.out.splitlines()
    assert done.code == 2 and len(lines) == len(DATA_SAID), done
    for line, said in zip(lines, DATA_SAID):
        assert line.startswith(said), (line, said)
    done = firesteel(folder, "run", "data.lua")
    assert done.code == 2 and DATA_SAID[0] in done.err, done
    untouched(folder, ["data.lua", "good.lua"])
    done = firesteel(folder, "check", "good.lua")
    assert done.code == 0 and done.out == "", done


def test_run_refuses_before_the_first_cell(t):
    folder = t.dir()
    write(folder, "bad.lua", MISTAKES)
    for options in ([], ["--detach"], ["-o", "json"]):
        done = firesteel(folder, "run", "bad.lua", *options)
        assert done.code == 2 and SAID[0] in done.err and SAID[4] in done.err, (options, done)
        assert "and 1 more: `firesteel check bad.lua`" in done.err and "one" not in done.out, done
        untouched(folder, ["bad.lua"])


def test_check_says_nothing_of_what_is_right(t):
    folder = t.dir()
    write(folder, "good.lua", "-- %% Last value\nx = 3\nx + 1\n-- %%\n!echo {x}\n-- %%\n%%bash\nif true; then echo; fi\n")
    write(folder, "bad.lua", MISTAKES)
    write(folder, "n.ipynb", ipynb(["x = 1", "x = 2\ny = = 3"], {"language_info": {"name": "lua"}}))
    done = firesteel(folder, "check", "good.lua")
    assert done.code == 0 and done.out == done.err == "", done
    done = firesteel(folder, "check", "good.lua", "n.ipynb", "none.lua")
    assert done.code == 2, done
    assert done.out.splitlines()[0] == "n.ipynb: cell 2, line 2: unexpected symbol near '='", done
    assert "none.lua" in done.out and len(done.out.splitlines()) == 2, done


def test_a_local_that_a_later_cell_reads_is_told(t):
    folder = t.dir()
    write(folder, "n.lua", "-- %% Make\nlocal rate, twice = 0.1\nlocal function half() end\nx = twice\nlocal json = json\n"
                           "-- %% Use\nprint(rate, x, json ~= nil)\nlocal t = {half = 1}\nfor twice = 1, 1 do end\n"
                           "-- %% Set\nhalf = 2\nprint(half)\n-- %% Fail\nprint(rate * 2)\n")
    done = firesteel(folder, "check", "n.lua")
    words = "rate is a local of cell 1 (Make), line 1, and ends with it: without `local` there"
    assert done.code == 2 and [line.split(": ")[0] for line in done.out.splitlines()] == ["n.lua:7", "n.lua:14"], done
    assert done.out.count(words) == 2, done
    done = firesteel(folder, "run", "n.lua")
    assert done.code == 1 and "rate is nil here: " + words in done.out, done
    assert "(global 'rate'): " + words in done.out, done


def test_a_notebook_of_another_language_needs_a_kernel_for_it(t):
    """One that nobody has; tests/replay/jupyter.py runs those that there are."""
    folder = t.dir()
    os.environ.update(HOME=folder, JUPYTER_PATH=folder)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "JUPYTER_DATA_DIR", "XDG_DATA_HOME"):
        os.environ.pop(name, None)
    python = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    cases = [
        ("a.ipynb", ipynb(["print(0 / 0)"], python), "for python"),
        ("b.ipynb", ipynb(["print(1)"], {"kernelspec": {"name": "python3"}}), "for python"),
        ("c.ipynb", ipynb(["print(1)"], {"language_info": {"name": "R"}}), "for R"),
        ("d.ipynb", ipynb(["print(1)"], {"jupytext": {"main_language": "julia"}}), "for julia"),
        ("e.py", "# %%\nprint(1)\n", "for python"),
        ("f.lua", "-- ---\n-- jupyter:\n--   kernelspec:\n--     language: python\n-- ---\n-- %%\nprint(1)\n", "for python"),
    ]
    for name, text, said in cases:
        write(folder, name, text)
        for verb in ("run", "check"):
            done = firesteel(folder, verb, name)
            words = (f"there is no Jupyter kernel {said}",) if JUPYTER else ("need firesteel-jupyter", said.replace("for ", "cells in "))
            assert done.code == 2 and all(w in done.out + done.err for w in words), (name, done)
    untouched(folder, [name for name, _, _ in cases])
    write(folder, "kept.lua", "-- %% A\nprint(6 * 7)\n")
    assert firesteel(folder, "convert", "kept.lua", "--to", "py").code == 0
    done = firesteel(folder, "run", "kept.py")
    assert done.code == 0 and "42" in done.out, ("Lua that a .py keeps in comments is run", done)
    for name, metadata in (("g.ipynb", {"jupytext": {"main_language": "lua"}}), ("h.ipynb", {"kernelspec": {"language": "Lua", "name": "lua"}})):
        write(folder, name, ipynb(["print(6 * 7)"], metadata))
        done = firesteel(folder, "run", name)
        assert done.code == 0 and "42" in done.out, done


def test_python_in_files_of_a_notebook_in_lua(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% file="a.py" language="python"\n-- print(6 * 7)\n-- %%\n!python3 a.py\n')
    done = firesteel(folder, "run", "n.lua")
    assert done.code == 0 and "42" in done.out, done


def test_what_has_nothing_to_run(t):
    folder = t.dir()
    write(folder, "empty.lua", "")
    write(folder, "mac.lua", "-- %% A\rprint(1)\r")
    for name, said in (("empty.lua", "it has no cells"), ("/dev/null", "it has no cells"), ("mac.lua", "CR alone")):
        done = firesteel(folder, "run", name, "--cwd", folder)
        assert done.code == 2 and said in done.err, done


run(globals())
