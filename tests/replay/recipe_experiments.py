#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipe of experiments as a user runs it: trials side by side, recorded, compared, the best one again to the same bits."""
import glob
import json
import os
import re
import resource

from tap import FIRESTEEL, SANITIZED, SOURCE, run, sh

RECIPE = os.path.join(SOURCE, "recipes", "30-experiments.lua")


def recipe(cwd, *options):
    return sh(FIRESTEEL, "run", RECIPE, "--cwd", cwd, *options, timeout=200)


def listed(cwd, *options):
    return json.loads(sh(FIRESTEEL, "runs", *options, "-o", "json", cwd=cwd).out)


def records(cwd):
    newest = max(glob.glob(os.path.join(cwd, ".firesteel", "*.jsonl")), key=os.path.getmtime)
    with open(newest, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def test_three_trials_and_the_best_one_again(t):
    cwd = t.dir()
    with open(os.path.join(cwd, "other.lua"), "w", encoding="utf-8") as f:  # a run without an accuracy is there already
        f.write("-- %% A\nprint(1)\n")
    assert sh(FIRESTEEL, "run", "other.lua", cwd=cwd).code == 0
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = recipe(cwd)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.code == 0, done
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert SANITIZED or spent < 60, f"{spent:.1f} s of processor: with two processors that is more than 30 s"
    row, = [r for r in listed(cwd) if r["metrics"]]
    metrics = {name: m["value"] for name, m in row["metrics"].items()}
    assert 0.9 < metrics["best_accuracy"] < 1 and row["tags"] == {"experiment": "rate and units"}, row
    assert row["params"]["best_rate"] in (0.0001, 0.001) and row["params"]["best_units"] in (32, 64), row
    digest = row["artifacts"]["best"]["sha256"]
    assert f"the same bits: {digest}" in done.out, done.out
    shown = [float(a) for a in re.findall(r"^ +rate [\d.]+, \d+ units +([\d.]+) % ", done.out, re.M)]
    assert len(shown) == 3 and shown == sorted(shown, reverse=True), done.out
    # side by side: a trial began before another one had ended
    ledger = [r for r in records(cwd) if r["type"] == "ledger" and r["phase"] in ("intent", "outcome")]
    branches = {r["entry"] for r in ledger if r.get("branch")}
    phases = [r["phase"] for r in ledger if r["entry"] in branches]
    assert len(branches) == 3 and phases[:2] == ["intent", "intent"], phases
    # the same again: the best trial has the same weights in another run, and stands beside the first one
    second = recipe(cwd)
    assert second.code == 0, second
    assert [r["artifacts"]["best"]["sha256"] for r in listed(cwd) if r["metrics"]] == [digest, digest]
    assert row["run"] in second.out.split("Earlier runs", 1)[1], second.out
    differs = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=cwd).out)
    assert not differs.get("metrics") and not differs.get("artifacts"), differs
    # and from its record: what it lists of earlier runs is another list each time
    again = sh(FIRESTEEL, "run", "--from", row["run"], cwd=cwd, timeout=200)
    assert again.code == 0 and " 0 moved, 1 not compared" in again.out, again
    assert 'output of "Earlier runs", its tag says so' in again.out, again.out


def test_another_seed_gives_other_bits(t):
    cwd = t.dir()
    first, second = recipe(cwd, "-p", "seed=1"), recipe(cwd, "-p", "seed=2")
    assert first.code == 0 and second.code == 0, (first, second)
    a, b = (r["artifacts"]["best"]["sha256"] for r in listed(cwd))
    assert a != b


def test_a_trial_that_fails_ends_the_others(t):
    cwd = t.dir()
    done = recipe(cwd, "-p", "epochs=-1")
    assert done.code == 1 and "Again" not in done.out.split("failed", 1)[0], done


if __name__ == "__main__":
    run(globals())
