#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tune: trials as child records of a run: grid, random, halving; resumed, stopped, done again to the same bits."""
import glob
import json
import math
import os
import re
import signal
import subprocess
import time

from tap import FIRESTEEL, eventually, run, sh

TRAINER = """
-- %% The trial file="trial.lua"
local nn, data = require "nn", require "data"
local args = require "args" { rate = 0.001, epochs = 1, weights = "trial.safetensors" }
local mnist = data.mnist()
local x, y = mnist.test.x, mnist.test.y
local model = nn.Sequential { nn.Flatten { 28, 28 }, nn.Dense { 16, activation = "relu" }, nn.Dense { 10, activation = "softmax" }, seed = 1 }
model:compile { optimizer = nn.Adam { learning_rate = args.rate }, loss = "sparse_categorical_crossentropy", metrics = { "accuracy" } }
model:fit { x, y, batch_size = 100, epochs = args.epochs, verbose = 2 }
model:save(args.weights)
"""


def cells(*sources):
    return "".join(f"-- %% cell {i}\n{s}\n" for i, s in enumerate(sources))


def notebook(t, text):
    cwd = t.dir()
    with open(os.path.join(cwd, "n.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    return cwd


def do(cwd, *options):
    return sh(FIRESTEEL, "run", "n.lua", *options, cwd=cwd, timeout=200)


def rows(cwd, *options):
    listed = json.loads(sh(FIRESTEEL, "runs", "--children", "-o", "json", *options, cwd=cwd).out)
    return {r["run"].split("/", 1)[1]: r for r in listed}


def text(cwd, name):
    with open(os.path.join(cwd, name), encoding="utf-8") as f:
        return f.read()


GRID = """ts = tune { "grid", over = { x = { 1, 2, 3 }, y = { "a", "b" }, steps = 4 }, by = "loss", at_once = 2, function(trial)
  for step = 1, trial.params.steps do
    trial:report { loss = trial.params.x / step + (trial.params.y == "a" and 0.5 or 0) }
  end
  fs.write(trial:path "sub/w.txt", trial.params.y)
  run.tag "tried"
  return { final = trial.params.x }
end }
print("best", ts:best().name, #ts, ts[6].params.y, ts:table()[1].loss)"""


def test_a_grid_has_every_combination_with_records_of_their_own(t):
    cwd = notebook(t, cells(GRID, "ts:best():run()\nrun.metric('own', 1)"))
    done = do(cwd)
    assert done.code == 0 and "best\tgrid/2\t6\tb\t0.25" in done.out, done
    assert "grid/2 again: the same bits as grid/2: 2 metrics, 4 values of curves, 1 file" in done.out, done.out
    all_of = rows(cwd)
    assert sorted(all_of) == ["grid/1", "grid/2", "grid/2 again", "grid/3", "grid/4", "grid/5", "grid/6"], all_of
    one = all_of["grid/5"]
    assert one["params"] == {"x": 3, "y": "a", "steps": 4} and one["state"] == "done" and one["of"] == "grid", one
    assert one["metrics"]["loss"] == {"value": 1.25, "step": 4, "n": 4, "min": 1.25, "max": 3.5}, one
    assert one["tags"] == {"tried": True} and one["artifacts"]["sub/w.txt"]["path"] == "grid.trials/5/sub/w.txt", one
    assert text(cwd, "grid.trials/5/sub/w.txt") == "a" and text(cwd, "grid.trials/2-again/sub/w.txt") == "b"
    parent, = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=cwd).out)
    assert set(parent["metrics"]) == {"own"} and not parent["tags"] and one["parent"] == parent["run"], parent
    # as a list, compared, shown
    listed = sh(FIRESTEEL, "runs", "--children", "--where", "y=b and of=grid", "--sort", "-loss", "--columns", "x,loss", cwd=cwd).out
    assert [line.split()[2] for line in listed.splitlines()[1:]][:2] == ["3", "2"], listed
    differs = json.loads(sh(FIRESTEEL, "diff", "newest/grid/1", "newest/grid/5", "-o", "json", cwd=cwd).out)
    assert differs["params"] == {"x": {"a": 1, "b": 3}} and differs["metrics"]["loss"]["a"] == 0.75 and "artifacts" not in differs, differs
    assert sh(FIRESTEEL, "diff", "newest/grid/2", "newest/grid/2 again", cwd=cwd).code == 0
    shown = sh(FIRESTEEL, "show", "newest/grid/1", cwd=cwd).out
    assert "loss = 0.75 (step 4; 4 values, 0.75 to 1.5)" in shown and "own" not in shown, shown
    gone = sh(FIRESTEEL, "diff", "newest/grid/1", "newest/grid/9", cwd=cwd)
    assert gone.code == 2 and 'has no child "grid/9"' in gone.err, gone


def test_a_name_is_taken_once_in_a_run(t):
    cwd = notebook(t, cells(*[f"""ts = tune {{ over = {{ x = {{ 1, 2 }} }}, by = "loss", function(t)
  fs.write(t:path "w", "{word}")
  if t.params.x == 2 then error "no {word}" end
  return t.params.x
end }}
s = study {{ "tune", over = {{ x = 1 }}, repeats = 1, warm_up = 0, function() return 1 end }}""" for word in ("first", "second")]))
    done = do(cwd)
    assert done.code == 0, done
    assert sorted(rows(cwd)) == sorted(["tune/1", "tune/2", "tune-2/1.1", "tune-3/1", "tune-3/2", "tune-4/1.1"]), rows(cwd)
    assert text(cwd, "tune.trials/1/w") == "first" and text(cwd, "tune-3.trials/1/w") == "second"
    assert done.out.count("TRIAL") == 2 and "STATE" in done.out and "INTERVAL" in done.out, done.out  # rows say what they are
    shown = sh(FIRESTEEL, "show", "newest/tune-3/2", cwd=cwd)
    assert "[1/" not in shown.out and "failed in " in shown.out and "no second" in shown.err and "cells ok" not in shown.out, shown
    resumed = do(cwd, "--resume", "last")
    assert resumed.code == 0 and resumed.out.count("done before") == 2, resumed
    kept = sh(FIRESTEEL, "show", "newest/tune-3/1", cwd=cwd).out
    assert "ok in " in kept and "[1/" not in kept, kept


RANDOM = """ts = tune { "r", over = { u = tune.uniform(-1, 1), l = tune.loguniform(1e-4, 1e-1), n = tune.randint(2, 5), c = tune.choice { "p", "q" }, v = { true, false } },
  search = "random", samples = 40, seed = %d, by = "u", mode = "max", function(t) return t.params.u end }"""


def test_a_report_has_the_trials_and_their_curves_side_by_side(t):
    cwd = notebook(t, cells("""ts = tune { "rates", over = { rate = { 4, 1, 2, "<b>" } }, by = "loss", function(trial)
  if trial.params.rate == "<b>" then error "no <i>such</i> rate" end
  for step = 1, 3 do trial:report { loss = trial.params.rate / step, other = step } end
end }""", 'study { "speed", over = { n = { 1, 2 } }, repeats = 2, warm_up = 1, function(p) return p.params.n end }',
                            """tune { "bad", over = { x = { 2, 1, 3 } }, by = "loss", function(trial)
  trial:report { loss = trial.params.x }
  if trial.params.x == 1 then error "no memory" end
end }"""))
    assert do(cwd, "--report", "r.html").code == 0
    page = text(cwd, "r.html")
    table = page[page.index("<h3>rates: 4 trials, the best first by loss</h3>"):]
    assert re.findall(r"<td>(rates/\d)</td>", table) == ["rates/2", "rates/3", "rates/1", "rates/4"], table[:2000]
    assert "<td>failed: cell 0:2: no &lt;i&gt;such&lt;/i&gt; rate</td>" in table and "&lt;b&gt;</td>" in table, table[:2000]
    figure = table[table.index("<figcaption>loss</figcaption>"):]
    figure = figure[:figure.index("</figure>")]
    assert re.findall(r'<li class="s(\d)"><span>([^<]*)</span></li>', figure) == [("0", "rates/2"), ("1", "rates/3"), ("2", "rates/1")], figure
    assert "<title>rates/1: 2 at 2</title>" in figure and "<figcaption>other</figcaption>" in table, figure
    assert "<h3>speed: 4 measurements</h3>" in page and page.count("<td>speed/") == 6  # two of them to warm up
    assert re.findall(r"<td>(bad/\d)</td>", page) == ["bad/1", "bad/3", "bad/2"], page[page.index("<h3>bad"):][:2000]
    one = sh(FIRESTEEL, "export", "newest/rates/1", "--to", "html", cwd=cwd).out
    assert "<h3>rates" not in one and "<td>loss</td>" in one, one


def test_a_log_has_a_line_when_a_trial_begins_and_when_it_ends(t):
    done = do(notebook(t, cells("""tune { "slow", over = { x = { 1, 2, 3 } }, by = "loss", function(trial)
  for step = 1, 4 do trial:report { loss = trial.params.x / step } firesteel.sleep "300ms" end
end }""", 'study { "s", over = { n = { 1, 2 } }, repeats = 2, warm_up = 0, function(p) return p.params.n end }')))
    assert done.code == 0 and "waiting" not in done.out and "0/2" not in done.out, done.out
    assert re.findall(r"[●✓] (\d) +\d +(\w+)", done.out) == [(i, s) for i in "123" for s in ("running", "done")], done.out


def test_samples_are_of_their_distributions_and_the_same_for_a_seed(t):
    cwd = notebook(t, cells(RANDOM % 7))
    assert do(cwd).code == 0
    tried = [r["params"] for r in rows(cwd).values()]
    assert len(tried) == 40 and all(-1 <= p["u"] < 1 and 1e-4 <= p["l"] <= 1e-1 for p in tried), tried
    assert {p["n"] for p in tried} == {2, 3, 4} and {p["c"] for p in tried} == {"p", "q"} and {p["v"] for p in tried} == {True, False}, tried
    logs = sorted(math.log10(p["l"]) for p in tried)
    assert -3.2 < logs[20] < -1.8, logs  # the median of a uniform on -4 … -1
    again = notebook(t, cells(RANDOM % 7))
    other = notebook(t, cells(RANDOM % 8))
    assert do(again).code == 0 and do(other).code == 0
    assert [r["params"] for r in rows(again).values()] == tried != [r["params"] for r in rows(other).values()]


HALVING = """ts = tune { "h", over = { x = { 1, 2, 3, 4, 5, 6, 7, 8 } }, search = "halving", max_t = 9, reduction_factor = 3, by = "loss", function(t)
  for i = 1, 100 do t:report { loss = t.params.x + 1 / i } end
end }
print(ts:best().name, ts:best().note)
ts[8]:run()"""


def test_halving_stops_the_weak_ones_at_their_rungs(t):
    cwd = notebook(t, cells(HALVING))
    done = do(cwd)
    # one after the other, the best first: at rung 1 the first goes on, all later ones are worse than a third of those before
    assert done.code == 0 and "h/1\treached max_t = 9" in done.out, done
    all_of = rows(cwd)
    assert all_of["h/1"]["state"] == "done" and all_of["h/1"]["metrics"]["loss"]["n"] == 9, all_of["h/1"]
    assert all(all_of[f"h/{i}"]["state"] == "stopped" and all_of[f"h/{i}"]["metrics"]["loss"]["n"] == 1 for i in range(2, 9)), all_of
    assert "h/8 again: the same bits as h/8: 1 values of curves" in done.out, done.out


def test_trainings_are_followed_by_epoch_stopped_and_repeated(t):
    cwd = notebook(t, TRAINER + cells("""ts = tune { "digits", over = { rate = { 0.003, 0.000001 } }, search = "halving", max_t = 40, reduction_factor = 2, grace_period = 2, by = "accuracy", function(t)
  local w = t:path "w.safetensors"
  return trainer.run { "trial.lua", args = { "--rate=" .. t.params.rate, "--epochs=" .. t.max_t, "--weights=" .. w }, outputs = { w } }
end }""", "ts:best():run()"))
    done = do(cwd)
    assert done.code == 0, done
    all_of = rows(cwd)
    good, weak = all_of["digits/1"], all_of["digits/2"]
    assert good["state"] == "done" and good["metrics"]["accuracy"]["n"] >= 40 and good["metrics"]["accuracy"]["value"] > 0.9, good
    assert weak["state"] == "stopped" and weak["metrics"]["accuracy"]["n"] < 40 and not weak["artifacts"], weak
    assert "digits/1 again: the same bits as digits/1:" in done.out and "1 file" in done.out, done.out


RESUMED = cells("""ts = tune { "r", over = { x = { 1, 2, 3, 4 } }, by = "loss", function(t)
  sh("echo " .. t.params.x .. " >> did")
  fs.write(t:path "w", tostring(t.params.x))
  if t.params.x == 3 and not fs.exists "go" then sh "touch waits; sleep 600" end
  t:report({ loss = t.params.x + 0.1 }, 5)
end }""", 'print("best", ts:best().name, ts:best().metrics.loss, ts[2].curves.loss.steps[1])')


def interrupted(t, how):
    cwd = notebook(t, RESUMED)
    child = subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: os.path.exists(os.path.join(cwd, "waits")))
    time.sleep(0.2)
    if how == signal.SIGKILL:
        journal, = glob.glob(os.path.join(cwd, ".firesteel", "*.jsonl"))
        os.kill(json.loads(text(cwd, journal).splitlines()[0])["pid"], signal.SIGKILL)
    else:
        child.send_signal(how)
    child.wait(60)
    states = {name: r["state"] for name, r in rows(cwd).items()}
    assert states == {"r/1": "done", "r/2": "done", "r/3": "interrupted"}, states
    with open(os.path.join(cwd, "go"), "w", encoding="utf-8"):
        pass
    return cwd


def test_a_resumed_run_goes_on_with_the_missing_ones(t):
    cwd = interrupted(t, signal.SIGINT)
    began = {name: r["began"] for name, r in rows(cwd).items()}
    done = do(cwd, "--resume", "last")
    assert done.code == 0 and "best\tr/1\t1.1\t5" in done.out and "done before" in done.out, done
    assert text(cwd, "did").split() == ["1", "2", "3", "3", "4"], text(cwd, "did")
    assert {name: r["state"] for name, r in rows(cwd).items()} == {f"r/{i}": "done" for i in (1, 2, 3, 4)}
    again = {name: r["began"] for name, r in rows(cwd).items()}
    assert again["r/1"] == began["r/1"] and again["r/2"] == began["r/2"] and again["r/3"] > began["r/3"], (began, again)
    assert rows(cwd)["r/1"]["metrics"]["loss"] == {"value": 1.1, "step": 5, "n": 1, "min": 1.1, "max": 1.1}
    # a file that has gone is made again, and only that trial
    os.remove(os.path.join(cwd, "r.trials", "2", "w"))
    assert do(cwd, "--resume", "last").code == 0
    assert text(cwd, "did").split() == ["1", "2", "3", "3", "4", "2"], text(cwd, "did")
    # another text of the cell is another experiment
    with open(os.path.join(cwd, "n.lua"), "w", encoding="utf-8") as f:
        f.write(RESUMED.replace("+ 0.1", "+ 0.2"))
    assert do(cwd, "--resume", "last").code == 0
    assert text(cwd, "did").split() == ["1", "2", "3", "3", "4", "2", "1", "2", "3", "4"], text(cwd, "did")


def test_a_killed_kernel_loses_no_trial_that_has_ended(t):
    cwd = interrupted(t, signal.SIGKILL)
    done = do(cwd, "--resume", "last")
    assert done.code == 0 and "best\tr/1\t1.1\t5" in done.out, done
    assert text(cwd, "did").split() == ["1", "2", "3", "3", "4"], text(cwd, "did")


def test_failures_and_ends(t):
    cwd = notebook(t, cells("""ts = tune { "f", over = { x = { 1, 2, 3 } }, by = "loss", at_once = 3, function(t)
  t:finally(function() print("removed " .. t.params.x) end)
  if t.params.x == 2 then error "no two" end
  return t.params.x
end }
print(ts[2].state, ts[2].error:match "no two", ts:best().name)""", """ts = tune { "s", over = { x = { 1, 2 } }, by = "loss", stop = { loss = 0.25 }, function(t)
  for i = 1, 50 do t:report { loss = t.params.x / i } end
end }
print(#ts[1].curves.loss.values, #ts[2].curves.loss.values, ts[1].state)""", """sh "rm -f late"
local ok, why = pcall(tune, { "ff", over = { x = { 1, 2 } }, by = "loss", at_once = 2, fail_fast = true, function(t)
  if t.params.x == 1 then error "at once" end
  firesteel.sleep "60s"
end })
print(ok, why:match "tune ff: ff/1 failed: [^\\n]*at once")
ok, why = pcall(tune, { over = { x = { 1 } }, by = "loss", timeout = "50ms", function() firesteel.sleep "60s" end })
print(why:match "it took longer than its timeout")"""))
    done = do(cwd)
    assert done.code == 0, done
    for said in ("failed\tno two\tf/1", "removed 1\n", "removed 2\n", "4\t8\tdone", "false\ttune ff: ff/1 failed", "it took longer than its timeout"):
        assert said in done.out, (said, done.out)
    assert {n: r["state"] for n, r in rows(cwd, "--where", "of=f").items()} == {"f/1": "done", "f/2": "failed", "f/3": "done"}


WRONG = {
    'over = {}, by = "l"': "over is empty",
    'over = { lr = {} }, by = "l"': "over.lr is an empty list",
    'over = { lr = { {} } }, by = "l"': "over.lr[1] must be a text, a number or a boolean",
    'over = { 1 }, by = "l"': "over has names",
    "over = { lr = { 1 } }": "by is the metric to go by",
    'over = { lr = { 1 } }, by = "los"': 'gave no metric "los"; it gave loss; did you mean loss?',
    'over = { lr = { 1 } }, by = "l", mode = "up"': 'mode is "max" or "min"',
    'over = { lr = { 1 } }, by = "l", search = "gird"': "did you mean grid?",
    'over = { lr = { 1 } }, by = "l", max_t = 3': 'max_t belongs to search = "halving"',
    'over = { lr = { 1 } }, by = "l", samples = 3': 'samples belongs to search = "random"',
    'over = { lr = tune.uniform(0, 1) }, by = "l"': "a grid has no values of",
    'over = { lr = { 1 } }, by = "l", at_once = 0': "at_once must be an integer from 1 on",
    'over = { lr = { 1 } }, by = "l", search = "halving", reduction_factor = 1': "reduction_factor is above 1",
    'over = { lr = { 1 } }, by = "l", stop = { l = "a" }': "stop has metrics with the value to reach",
    '"a/b", over = { lr = { 1 } }, by = "l"': "no slash",
    'over = { a = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, b = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, c = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, d = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 } }, by = "l"': "more than 10000 combinations",
}


def test_what_is_wrong_is_told(t):
    body = "".join(f"print(select(2, pcall(tune, {{ {options}, function() return {{ loss = 1 }} end }})))\n" for options in WRONG)
    body += """for _, f in ipairs { function() tune.uniform(1, 0) end, function() tune.loguniform(0, 1) end, function() tune.choice {} end, function() tune.randint(1.5, 3) end,
  function() tune { over = { x = { 1 } }, by = "l", function(t) t:report { l = "a" } end } end,
  function() tune { over = { x = { 1 } }, by = "l", function(t) t:path "../x" end } end,
  function() tune { over = { x = { 1 } }, by = "l", function(t) return math.random() end }:best():run() end } do print(select(2, pcall(f))) end"""
    done = do(notebook(t, cells(body)))
    for said in [*WRONG.values(), "upper bound 0 is not above", "lower bound is above 0", "at least one value", "bounds are integers",
                 "must be a number with a name", "in the trial's own folder", "/1: l: 0."]:
        assert said in done.out, (said, done.out)


if __name__ == "__main__":
    run(globals())
