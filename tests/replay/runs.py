#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What runs recorded: run.metric, run.param, run.tag, run.artifact, and a training's metrics; and `runs` by them."""
import glob
import json
import os
from concurrent.futures import ThreadPoolExecutor

from kernel import Kernel, cell
from tap import BUILD, FIRESTEEL, SANITIZED, Skip, run, sh

TRIAL = """\
-- %% parameters tags=["parameters"]
lr = 0.1
-- %% Trial
run.param { model = lr < 0.2 and "narrow" or "wide", units = 128 }
for step = 1, 3 do run.metric("loss", lr / step, { step = step }) end
run.metric { accuracy = 1 - lr, odd = lr > 0.4 and 0 / 0 or 1 / 0 }
run.tag "baseline"
run.tag("about", "trial and error")
"""
MADE = """\
-- %% Make
io.open("m.bin", "w"):write("abc"):close()
made = run.artifact("m.bin", { name = "model" })
print(made.name, made.size, made.sha256:sub(1, 8))
"""
TRAINER = """\
local nn, data = require "nn", require "data"
local model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }
model:compile { optimizer = nn.SGD(0.1), loss = "mean_squared_error" }
model:fit { data.tensor { { 1.0 }, { 2.0 } }, data.tensor { { 2.0 }, { 4.0 } }, epochs = 3 }
"""
WRONG = """\
-- %% Wrong
print(select(2, pcall(run.metric, "x", "y")))
print(select(2, pcall(run.metric, { y = 1, x = true })))
print(select(2, pcall(run.metric, "x", 1, { stp = 1 })))
print(select(2, pcall(run.metric, "x", 1, { step = 1.5 })))
print(select(2, pcall(run.metric, "", 1)))
print(select(2, pcall(run.param, "x", {})))
print(select(2, pcall(run.tag, "x\\n")))
print(select(2, pcall(run.artifact, "nowhere")))
print(select(2, pcall(run.artifact, ".")))
print(select(2, pcall(run.artifact, "/dev/null")))
print(select(2, pcall(function() return run.metrc end)))
"""


def notebook(t, text, name="n.lua"):
    folder = t.dir()
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return folder


def firesteel(folder, *arguments, **options):
    return sh(FIRESTEEL, *arguments, cwd=folder, **options)


def rows(folder, *arguments):
    return json.loads(firesteel(folder, "runs", "-o", "json", *arguments).out)


def trials(t):
    folder = notebook(t, TRIAL)
    for lr in ("0.1", "0.5", "0.01"):
        firesteel(folder, "run", "n.lua", "-p", "lr=" + lr)
    return folder


def learned(found):
    return [r["params"]["lr"] for r in found]


def test_a_notebook_that_was_only_opened_is_no_run_to_keep(t):
    k = Kernel(t, cell("run.metric('loss', 1)"), headless=True)
    assert k.finish() == 0
    opened = Kernel(t, None, cwd=k.cwd)
    opened.cells()
    opened.end()
    done, seen = sh(FIRESTEEL, "runs", cwd=k.cwd), sh(FIRESTEEL, "show", cwd=k.cwd)
    assert done.out.count("test-") == 2, done
    real = k.of("welcome")[0]["run"]
    assert f"run {real}" in seen.out, seen
    pruned = sh(FIRESTEEL, "prune", "--keep", "1", "--yes", cwd=k.cwd)
    assert pruned.code == 0 and real not in pruned.out, pruned
    left = sh(FIRESTEEL, "runs", cwd=k.cwd)
    assert real in left.out and left.out.count("test-") == 1, left
    gone = sh(FIRESTEEL, "show", "nope", cwd=k.cwd)
    assert gone.code == 2 and "there is no run nope" in gone.err, gone


def test_what_is_recorded_is_listed(t):
    folder = notebook(t, TRIAL)
    firesteel(folder, "run", "n.lua", "-p", "lr=0.5")
    row, = rows(folder)
    assert row["params"] == {"lr": 0.5, "model": "wide", "units": 128}, row
    assert row["tags"] == {"baseline": True, "about": "trial and error"}, row
    loss = row["metrics"]["loss"]
    assert (loss["step"], loss["n"], loss["max"]) == (3, 3, 0.5) and loss["value"] == loss["min"] == 0.5 / 3, loss
    assert row["metrics"]["odd"]["value"] == "nan" and "min" not in row["metrics"]["odd"], row
    assert row["notebook"] == os.path.join(folder, "n.lua") and row["cells"] == row["ok"] == 2, row


def test_a_run_that_compares_is_not_one_of_the_newest(t):
    folder = trials(t)
    with open(os.path.join(folder, "c.lua"), "w", encoding="utf-8") as f:
        f.write('-- %% Compare\nfor _, r in ipairs(runs.compare { "newest", "-2", "n.lua" }) do print(r.lr, r.state) end\n'
                'print(select(2, pcall(runs.compare, { "c.lua" })))\n')
    done = firesteel(folder, "run", "c.lua")
    assert [line.split() for line in done.out.splitlines()[1:4]] == [["0.01", "ok"], ["0.5", "ok"], ["0.01", "ok"]], done
    assert "has no run of c.lua" in done.out, done


def test_show_tells_it(t):
    folder = notebook(t, TRIAL + MADE)
    firesteel(folder, "run", "n.lua", "-p", "lr=0.5")
    out = firesteel(folder, "show").out
    for text in ('  lr = 0.5\n  model = "wide"\n  units = 128\n', "metrics\n  loss = 0.166667 (step 3; 3 values, 0.166667 to 0.5)\n",
                 "  odd = nan\n", "tags\n  baseline\n  about = trial and error\n", "artifacts\n  model: m.bin, 3 bytes, sha256:ba7816bf"):
        assert text in out, (text, out)


def test_runs_are_chosen_by_conditions(t):
    folder = trials(t)
    for condition, want in (("lr<0.2", [0.01, 0.1]), ("lr >= 0.1 and model = wide", [0.5]), ("params.lr != 0.1", [0.01, 0.5]),
                            ("metrics.loss<=0.04", [0.01, 0.1]), ("about ~ 'AND' and about ~ error", [0.01, 0.5, 0.1]), ("about !~ 'AND' and loss<1", []),
                            ("about = 'trial and error' AND lr > 0.3", [0.5]), ("odd = nan", [0.5]), ("odd > 5", [0.01, 0.1]),
                            ("odd != nan", [0.01, 0.1]), ("state = ok and tags.baseline = true", [0.01, 0.5, 0.1]),
                            ("nothing = 1", []), ("nothing != 1", [0.01, 0.5, 0.1])):
        assert sorted(learned(rows(folder, "--where", condition))) == sorted(want), condition
    assert learned(rows(folder, "--where", "lr > 0.05", "--where", "lr < 0.3")) == [0.1]
    none = firesteel(folder, "runs", "--where", "lr > 7")
    assert none.code == 0 and none.err == "None of the 3 runs in ./.firesteel is so\n", none


def test_runs_are_sorted_and_have_columns(t):
    folder = trials(t)
    assert learned(rows(folder, "--sort", "lr")) == [0.01, 0.1, 0.5]
    assert learned(rows(folder, "--sort", "-accuracy")) == [0.01, 0.1, 0.5]
    assert learned(rows(folder, "--sort", "-lr")) == [0.5, 0.1, 0.01]
    assert learned(rows(folder, "--sort", "-odd"))[2] == 0.5, "what is no number comes last"
    out = firesteel(folder, "runs", "--columns", "lr, accuracy,model", "--sort", "accuracy").out.splitlines()
    assert out[0].split() == ["RUN", "STATE", "lr", "accuracy", "model"], out
    assert [line.split()[2:] for line in out[1:]] == [
        ["0.5", "0.5", "wide"], ["0.1", "0.9", "narrow"], ["0.01", "0.99", "narrow"]], out
    for condition in ("lrr<0.2", "stat=ok and lr<1"):
        odd = firesteel(folder, "runs", "--where", condition)
        assert odd.code == 0 and f'no run has "{condition[:4].strip("<")}"' in odd.err, odd
    fine = firesteel(folder, "runs", "--where", "lr<0.05", "--columns", "lr")
    assert fine.code == 0 and fine.err == "", fine
    odd = firesteel(folder, "runs", "--columns", "lr,acuracy")
    assert odd.code == 0 and 'no run has "acuracy"' in odd.err, odd


def test_a_value_has_one_line_of_the_table(t):
    long = "é" * 5000
    folder = notebook(t, f"-- %% A\nrun.param {{ two = 'a\\nb\\tc', long = '{long}', red = '\\27[31mx' }}\n")
    assert firesteel(folder, "run", "n.lua").code == 0
    lines = firesteel(folder, "runs", "--columns", "two,red,long").out.splitlines()
    assert len(lines) == 2 and "  a\\nb\\tc  ^[[31mx  " in lines[1] and lines[1].endswith("  " + "é" * 79 + "…"), lines
    assert rows(folder)[0]["params"]["long"] == long and rows(folder)[0]["params"]["two"] == "a\nb\tc", "JSON has the whole"


def test_a_condition_that_is_none_is_refused(t):
    folder = notebook(t, TRIAL)
    for condition, why in (("lr", '"lr" is no condition'), ("=1", "has no name before ="),
                           ("lr<1 and loss", '"loss" is no condition'), ("lr<", '"lr<" has no value after <'),
                           ("lr= and loss<1", '"lr=" has no value after ='),
                           ("lr<2 and", '"lr<2 and": the value `2 and` has a blank; conditions are joined by `and`'),
                           ("lr=1 or lr=2", "the value `1 or lr=2` has a blank"), ("and lr<2", "the name `and lr` has a blank"),
                           ("lr=1 and and loss<1", "the name `and loss` has a blank"), ("lr=<2", "the value `<2` begins as an operator"),
                           ("model='wide", "the value `'wide` does not end with its quote"),
                           ("model='wide' or 1", "the value `'wide' or 1` does not end with its quote")):
        wrong = firesteel(folder, "runs", "--where", condition)
        assert wrong.code == 2 and why in wrong.err, (condition, wrong)
    assert firesteel(folder, "runs", "--where", "model=''").code == 0


def test_long_integers_are_compared_as_numbers(t):
    folder = notebook(t, "-- %% P tags=[\"parameters\"]\nn = 1\n-- %% A\nrun.metric('rows', n)\n")
    for n in "9007199254740993", "9007199254740992", "5":
        assert firesteel(folder, "run", "n.lua", "-p", f"n={n}").code == 0, n
    for condition, want in (("n<99", [5]), ("n>9007199254740992", [9007199254740993]), ("n=9007199254740993", [9007199254740993]),
                            ("rows>=9007199254740992", [9007199254740992, 9007199254740993])):
        assert sorted(r["params"]["n"] for r in rows(folder, "--where", condition)) == want, condition
    assert [r["params"]["n"] for r in rows(folder, "--sort", "-n")] == [9007199254740993, 9007199254740992, 5]


def test_a_long_integer_is_a_metric(t):
    folder = notebook(t, "-- %% A\nrun.metric('rows', 9007199254740993)\nrun.metric('rows', 7)\nrun.metric('id', 9007199254740993)\n")
    assert firesteel(folder, "run", "n.lua").code == 0
    shown = firesteel(folder, "show")
    assert shown.code == 0 and "  id = 9007199254740993\n" in shown.out and shown.err == "", shown
    rows_ = rows(folder)[0]["metrics"]["rows"]
    assert (rows_["value"], rows_["min"], rows_["max"]) == (7, 7, 9007199254740993), rows_
    for form in "md", "html":
        assert "9007199254740993" in firesteel(folder, "export", "--to", form).out, form
    assert firesteel(folder, "export", "--to", "mlflow", "-o", "ml").code == 0
    points = [open(p, encoding="utf-8").read() for p in glob.glob(f"{folder}/ml/**/metrics/id", recursive=True)]
    assert len(points) == 1 and points[0].split()[1] == "9007199254740992", points


def test_an_artifact_has_size_and_digest(t):
    folder = notebook(t, MADE)
    out = firesteel(folder, "run", "n.lua").out
    assert "model\t3\tba7816bf" in out, out
    made = rows(folder)[0]["artifacts"]["model"]
    assert made["path"] == "m.bin" and made["size"] == 3 and made["sha256"].startswith("ba7816bf8f01cfea"), made


def test_wrong_use_is_told(t):
    out = firesteel(notebook(t, WRONG), "run", "n.lua").out
    for line in ("run.metric: \"x\" must be a number, not a string", "run.metric: \"x\" must be a number, not a boolean",
                 "run.metric has no option stp; did you mean step?", "run.metric: step must be an integer, not 1.5",
                 "run.metric: a name has 1 to 250 bytes and no control characters",
                 "run.param: \"x\" must be a text, a number or a boolean, not a table",
                 "run.tag: a name has 1 to 250 bytes and no control characters",
                 "run.artifact nowhere: No such file or directory", "run.artifact .: it is a folder: name its files, or pack it",
                 "run.artifact /dev/null: it is no regular file", "run has no function metrc; did you mean metric?"):
        assert line in out, (line, out)


def test_a_secret_is_not_recorded(t):
    folder = notebook(t, '-- %% S\nrun.param("where", "at " .. secret "API_TOKEN" .. " it")\n')
    firesteel(folder, "run", "n.lua", env=dict(os.environ, API_TOKEN="sesame-open-1"))
    assert rows(folder)[0]["params"] == {"where": "at [secret] it"}


def test_a_trainings_metrics_come_by_themselves(t):
    folder = notebook(t, '-- %% Train\ntrainer.run { "trainer.lua" }\n')
    with open(os.path.join(folder, "trainer.lua"), "w", encoding="utf-8") as f:
        f.write(TRAINER)
    done = firesteel(folder, "run", "n.lua")
    assert done.code == 0, done
    loss = rows(folder)[0]["metrics"]["loss"]
    assert (loss["n"], loss["step"]) == (3, 3) and loss["value"] == loss["min"] < loss["max"], loss


EDITED = """\
-- %% Parameters tags=["parameters"]
lr = 0.9
-- %% Train
run.metric("loss", lr * 2)
"""


def edit(k, index, source):
    assert k.ask(type="edit", cell=k.cells()[index]["id"], rev=1 << 40, source=source)["ok"]


def test_parameters_are_those_with_which_cells_ran(t):
    """In the workbench their cell is edited: what it said when it ran last counts, also beside a -p of the start."""
    k = Kernel(t, EDITED)
    k.execute(0, 1)
    edit(k, 0, "lr = 0.2")
    k.execute(0, 1)
    edit(k, 0, "lr = 0.3")  # and never ran
    k.end()
    row, = rows(k.cwd)
    assert row["params"] == {"lr": 0.2} and row["metrics"]["loss"]["value"] == 0.4, row
    assert rows(k.cwd, "--where", "lr = 0.2") and not rows(k.cwd, "--where", "lr = 0.9"), row
    seen = firesteel(k.cwd, "show")
    assert "lr = 0.2" in seen.out and "0.9" not in seen.out, seen
    other = Kernel(t, EDITED, "--param", "lr=0.5")
    other.execute(0, 1, 2)
    edit(other, 1, "lr = 0.6")
    other.execute(0, 1, 2)
    other.end()
    row, = rows(other.cwd)
    assert row["params"] == {"lr": 0.6} and row["metrics"].get("loss", {}).get("value") == 1.2, row
    again = firesteel(other.cwd, "run", "--from", row["run"])
    assert again.code == 0 and "0 moved" in again.out, again
    same = firesteel(other.cwd, "diff", row["run"], "newest")
    assert "lr" not in same.out, same


def test_a_parameters_cell_that_was_repaired_has_parameters(t):
    k = Kernel(t, EDITED.replace("0.9", "= 0.9"))
    edit(k, 0, "lr = 0.7")
    k.execute(0, 1)
    edit(k, 0, "lr = 0.1\nerror 'no'")  # fails, so nothing has run with it
    k.execute(0)
    k.end()
    row, = rows(k.cwd)
    assert row["params"] == {"lr": 0.7} and row["metrics"]["loss"]["value"] == 1.4, row


def test_runs_that_begin_together_have_names_of_their_own(t):
    """Each draws the same digits first; from several folders, too, since they share a user's sockets. Those of one second are alive together."""
    folders = [notebook(t, "firesteel.sleep(1.2)\n") for _ in range(3)]
    unlucky = {"LD_PRELOAD": os.path.join(BUILD, "tests", "late.so"), "SAME_BYTES": "4"}
    with ThreadPoolExecutor(12) as pool:
        done = list(pool.map(lambda i: firesteel(folders[i % 3], "run", "n.lua", env=unlucky), range(12)))
    if SANITIZED and any(d.code and "LD_PRELOAD" in d.err for d in done):
        raise Skip("AddressSanitizer cannot be preloaded after another library")
    assert all(d.code == 0 for d in done), done
    names = [d.out.split("(run ")[1].split(")")[0] for d in done]
    assert len(set(names)) == 12 and any(name.endswith("-0000") for name in names), names


run(globals())
