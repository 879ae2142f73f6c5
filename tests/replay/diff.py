#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How two runs differ: `firesteel diff`, and runs.compare in a cell."""
import json
import os
import shutil

from tap import FIRESTEEL, run, sh

NOTEBOOK = """\
-- %% parameters tags=["parameters"]
lr = 0.1
-- %% Data
local f = io.open "data.txt"
rows = #f:read "a"
f:close()
-- %% Train
run.metric("loss", lr * rows)
print("trained with", lr)
-- %% Note
print "nothing new"
"""


def put(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def folder_of(t, text=NOTEBOOK):
    folder = t.dir()
    put(folder, "n.lua", text)
    put(folder, "data.txt", "abcd")
    return folder


def firesteel(folder, *words, code=0):
    done = sh(FIRESTEEL, *words, cwd=folder)
    assert done.code == code, done
    return done.out


def made(folder, *words, name="n.lua", code=0):
    """The name of a new run."""
    firesteel(folder, "run", name, *words, code=code)
    return json.loads(firesteel(folder, "runs", "-o", "json"))[0]["run"]


def difference(folder, *words, code=1):
    return json.loads(firesteel(folder, "diff", *words, "--format", "json", code=code))


def test_equal_runs(t):
    folder = folder_of(t)
    a, b = made(folder, "--seed", "1"), made(folder, "--seed", "1")
    found = difference(folder, a, b, code=0)
    assert found["same"] is True and not {"params", "metrics", "cells", "outputs", "inputs"} & set(found), found
    assert [d["title"] for d in found["durations"]] == ["parameters", "Data", "Train", "Note"], found
    out = firesteel(folder, "diff")
    assert out.splitlines()[0].startswith(f"a  {a}, ok, started ") and out.splitlines()[1].startswith(f"b  {b}"), out
    assert out.endswith("Parameters, sources, inputs, metrics and outputs are the same.\n"), out


def test_where_the_progress_of_a_training_stands_is_no_difference(t):
    """It comes by another way than what the trainer prints, so before it or after it."""
    folder = folder_of(t, '-- %% Trainer file="t.lua"\nlocal nn, data = require "nn", require "data"\n'
                       'io.stdout:setvbuf(io.open "late" and "full" or "no")\nio.write "first\\n"\nwhile os.clock() < 0.3 do end\n'
                       "local model = nn.Sequential { nn.Dense { 1, input_dim = 1 } }\n"
                       'model:compile { optimizer = nn.SGD(0.1), loss = "mean_squared_error" }\n'
                       "model:fit { data.tensor { { 1.0 } }, data.tensor { { 2.0 } }, epochs = 2, verbose = 0 }\n"
                       'while os.clock() < 0.6 do end\n-- %% Train\ntrainer.run "t.lua"\n')
    a = made(folder)
    put(folder, "late", "")
    b = made(folder)
    orders = [[line for line in firesteel(folder, "show", name).splitlines() if "first" in line or "epoch 2/2" in line] for name in (a, b)]
    assert orders[0] == orders[1][::-1] and len(orders[0]) == 2, orders
    assert "outputs" not in difference(folder, a, b, code=0)


def test_everything_that_changed(t):
    folder = folder_of(t)
    a = made(folder)
    put(folder, "data.txt", "abcdefgh")
    put(folder, "n.lua", NOTEBOOK.replace('print "nothing new"', 'print "news"\nerror "no"') + "-- %% More\nprint(7)\n")
    b = made(folder, "-p", "lr=0.5", code=1)
    found = difference(folder, a, b)
    assert found["params"] == {"lr": {"a": 0.1, "b": 0.5}}, found
    assert found["metrics"]["loss"]["a"] == 0.4 and found["metrics"]["loss"]["b"] == 4 and found["metrics"]["loss"]["change"] == 3.6, found
    assert found["inputs"]["data.txt"]["a"]["size"] == 4 and found["inputs"]["data.txt"]["b"]["size"] == 8, found
    assert [(c["title"], c["change"]) for c in found["cells"]] == [("Note", "source"), ("More", "added")], found
    assert found["cells"][0]["diff"].endswith(' %% Note\n-print "nothing new"\n+print "news"\n+error "no"\n'), found
    assert found["states"] == [{"title": "Note", "a": "ok", "b": "failed"}], found
    assert [o["title"] for o in found["outputs"]] == ["Train", "Note"] and "-trained with\t0.1\n+trained with\t0.5\n" in found["outputs"][0]["diff"]
    assert found["a"]["state"] == "ok" and found["b"]["state"] == "failed" and found["same"] is False
    out = firesteel(folder, "diff", a, b, code=1)
    for text in ("params\n  lr: 0.1 → 0.5\n", "metrics\n  loss: 0.4 → 4 (+3.6)\n", 'cell "Note"\n', 'cell "More" was added\n',
                 'cell "Note": ok → failed\n', 'output of "Train"\n', "  -trained with\t0.1\n  +trained with\t0.5\n"):
        assert text in out, (text, out)


def test_cells_are_the_same_one_by_title_and_place(t):
    folder = t.dir()
    put(folder, "n.lua", "-- %%\nprint(1)\n-- %% Named\nprint(2)\n-- %%\nprint(3)\n")
    a = made(folder)
    put(folder, "n.lua", "-- %%\nprint(10)\n-- %%\nprint(3)\n-- %% Named\nprint(20)\n")
    found = difference(folder, a, made(folder))
    assert sorted((c["title"], c["change"]) for c in found["cells"]) == [("Named", "source"), ("cell 1", "source")], found


def test_a_cell_has_one_name(t):
    """An untitled cell is called the same by a run with and without given parameters, by reports, diff, and options."""
    folder = folder_of(t, """\
-- %% tags=["parameters"]
lr = 0.1
-- %% [markdown]
-- text
-- %%
print(lr)
-- %%
error "bad"
""")
    for words in (), ("-p", "lr=3"):
        done = sh(FIRESTEEL, "run", "n.lua", *words, "--report", "r.md", "--report", "r.xml", "--report", "r.html", cwd=folder)
        assert "[1/3] Parameters\n" in done.out and "[2/3] print(lr)" in done.out and "cell 3:1: in the cell" in done.out, done
        assert "cell 3, line 1: bad" in done.err and "failed: 2 cells ok, 1 failed" in done.out, done
        for name in "r.md", "r.xml", "r.html":
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = f.read()
            assert all(words in text for words in ("Parameters", "cell 2", "cell 3")) and "cell 4" not in text, (name, text)
    out = firesteel(folder, "diff", code=1)
    assert 'output of "cell 2"' in out and "cell 3" not in out, out
    done = sh(FIRESTEEL, "run", "n.lua", "--resume", out.split()[1], "--redo", "cell 4", cwd=folder)
    assert done.code == 2 and "has no cell of that title" in done.err, done
    assert [(r["ok"], r["failed"], r["cells"]) for r in json.loads(firesteel(folder, "runs", "-o", "json"))] == [(2, 1, 3)] * 2


def test_names_of_runs(t):
    folder = folder_of(t)
    put(folder, "o.lua", "-- %%\nprint(1)\n")
    os.mkdir(os.path.join(folder, "sub"))
    a, b, other = made(folder), made(folder, "-p", "lr=2"), made(folder, name="o.lua")
    for words, want in ((("-3", "-2"), (a, b)), (("n.lua", "newest"), (b, other)), ((a,), (a, other)), ((), (b, other)), (("n.lua", "-3"), (b, a))):
        found = difference(folder, *words)
        assert (found["a"]["run"], found["b"]["run"]) == want, (words, found)
    for words, text in ((("-9",), "there is no run -9 in ./.firesteel, which has 3 of them"), (("nope",), "no run nope"), (("x.lua",), "has no run of x.lua"),
                        (("sub/x.lua",), "has no run of sub/x.lua; runs stand where the notebook does: --cwd sub"), (("a", "b", "c"), "two runs")):
        done = sh(FIRESTEEL, "diff", *words, cwd=folder)
        assert done.code == 2 and text in done.err, (words, done)


def test_every_verb_knows_the_same_names(t):
    folder = folder_of(t)
    a, b = made(folder), made(folder, "-p", "lr=2")
    for word, run_ in (("last", b), ("newest", b), ("-1", b), ("-2", a), (a.rsplit("-", 1)[1], a), (a, a), ("n.lua", b)):
        assert firesteel(folder, "show", word).startswith(run_ + ","), word
        assert run_ in firesteel(folder, "wait", word), word
        assert firesteel(folder, "prune", "--pin", word) == f"{run_} is pinned\n", word
        assert run_ in firesteel(folder, "export", word, "--to", "md"), word
        done = sh(FIRESTEEL, "clean", word, "--dry-run", cwd=folder)
        assert done.code == 0 and done.out == "nothing is left\n", (word, done)
        firesteel(folder, "prune", "--unpin", run_)
    for word in ("-1", "last", "newest", b.rsplit("-", 1)[1]):
        assert b in firesteel(folder, "run", "n.lua", "--resume", word), word
    done = sh(FIRESTEEL, "run", "--from", a.rsplit("-", 1)[1], cwd=folder)
    assert done.code == 0 and a in done.err + done.out, done
    done = sh(FIRESTEEL, "show", "n-", cwd=folder)
    assert done.code == 2 and "3 runs start with n-" in done.err, done
    done = sh(FIRESTEEL, "runs", "-1", cwd=folder)
    assert done.code == 2 and "takes no argument but options: -1" in done.err, done


def test_a_notebook_of_another_folder_brings_its_own(t):
    above, word = t.dir(), "jobs/n.lua"
    folder = shutil.copytree(folder_of(t), os.path.join(above, "jobs"))
    a, b = made(folder), made(folder, "-p", "lr=2")
    assert firesteel(above, "show", word).startswith(b + ",")
    assert b in firesteel(above, "wait", word) and b in firesteel(above, "export", word, "--to", "md")
    found = difference(above, word, "-2")
    assert (found["a"]["run"], found["b"]["run"]) == (b, a), found
    assert firesteel(above, "prune", "--pin", word) == f"{b} is pinned\n"
    assert firesteel(above, "clean", word, "--dry-run") == "nothing is left\n"
    assert f"compared with {b}" in firesteel(above, "run", "--from", word)
    c = json.loads(firesteel(folder, "run", "n.lua", "--cwd", above, "-o", "json").splitlines()[0])["run"]
    assert firesteel(above, "show", word).startswith(c + ","), "it has a run here"


def test_a_folder_with_one_run(t):
    folder = folder_of(t)
    made(folder)
    done = sh(FIRESTEEL, "diff", cwd=folder)
    assert done.code == 2 and "without names, the last two runs: there is no run -2 in ./.firesteel, which has 1 of them" in done.err, done


def test_secrets_stay_hidden(t):
    folder = folder_of(t, '-- %% parameters tags=["parameters"]\ndb_password = "first-secret"\n-- %% A\nprint(db_password)\n')
    a, b = made(folder, "-p", "db_password=hunter-alpha"), made(folder, "-p", "db_password=hunter-beta")
    text = firesteel(folder, "diff", a, b) + firesteel(folder, "diff", a, b, "--format", "json")
    assert firesteel(folder, "diff", a, b, "-o", "json") == firesteel(folder, "diff", a, b, "--format", "json")
    assert "hunter" not in text, text


def test_runs_side_by_side_in_a_cell(t):
    folder = folder_of(t)
    for lr in ("0.1", "0.5", "0.3"):
        made(folder, "-p", "lr=" + lr)
    put(folder, "c.lua", '-- %% C\nbest = runs.compare { last = 3, by = "-loss" }\nprint(#best, best[1].lr, best[1].loss, best[3].loss)\nbest\n'
        '-- %% D\ntwo = runs.compare { "newest", "n.lua", columns = { "lr" } }\nprint(two[1].state, two[2].lr)\n'
        '-- %% E\nprint(select(2, pcall(runs.compare, { "nope" })))\nprint(select(2, pcall(runs.compare, { lst = 1 })))\n'
        'print(select(2, pcall(runs.compare, { by = "nix" })))\nprint(select(2, pcall(runs.compare, { last = 0 })))\n')
    out = firesteel(folder, "run", "c.lua")
    assert "3\t0.5\t2\t0.4\n" in out and "ok\t0.3\n" in out, out
    rows = [line.split() for line in out.splitlines() if line.startswith("    n-")]
    assert [row[1:] for row in rows] == [["ok", "0.5", "2"], ["ok", "0.3", "1.2"], ["ok", "0.1", "0.4"]], out
    assert "there is no run nope" in out and "did you mean last?" in out, out
    put(folder, "d.lua", '-- %% C\nprint("others", #runs.compare { last = 2, has = "loss", by = "-loss" }, #runs.compare { has = "nix", by = "-nix" })\n')
    firesteel(folder, "run", "d.lua")
    assert "others\t2\t0" in firesteel(folder, "run", "d.lua")  # its own runs, the newest, have no loss


run(globals())
