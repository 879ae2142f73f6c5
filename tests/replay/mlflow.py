#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`export --to mlflow`: the file store's layout, and what MLflow's own client reads in it."""
import glob
import json
import os
import re

from tap import CACHE, FIRESTEEL, Skip, run, sh

PYTHON = os.path.join(CACHE, "mlflow", "bin", "python")
NOTEBOOK = """\
-- %% parameters tags=["parameters"]
lr = 0.1
sizes = {32, 16}
fails = false
-- %% Work
for step = 1, 3 do run.metric({ loss = 1 / step, ["val/loss"] = 2 / step }, { step = step * 10 }) end
run.metric("odd", 0 / 0)
run.metric("a?b", 1)
run.metric("ünï", 1)
run.metric("önö", 2)
run.metric("a!b", 3)
run.metric("a_b_2", 4)
run.metric("weiß/ε²", 5)
run.tag "baseline"
run.tag("about", "two\\nlines")
run.param { model = "wide" }
io.open("m.bin", "w"):write("abc"):close()
run.artifact("m.bin", { name = "model/m.bin" })
io.open("late.bin", "w"):write("abc"):close()
run.artifact "late.bin"
io.open("late.bin", "w"):write("changed"):close()
if fails then error "as told" end
"""
READER = """\
import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient("file://" + sys.argv[1])
found = []
for experiment in client.search_experiments():
    for run in client.search_runs([experiment.experiment_id]):
        history = {name: [(m.value, m.step) for m in client.get_metric_history(run.info.run_id, name)] for name in run.data.metrics}
        found.append({"experiment": experiment.name, "name": run.info.run_name, "status": run.info.status,
                      "took": run.info.end_time - run.info.start_time, "params": run.data.params, "tags": run.data.tags,
                      "history": history, "uri": run.info.artifact_uri,
                      "artifacts": [a.path for a in client.list_artifacts(run.info.run_id)]
                      + [a.path for a in client.list_artifacts(run.info.run_id, "model")]})
best = client.search_runs([e.experiment_id for e in client.search_experiments()], "metrics.loss < 0.5 and params.lr = '0.5'")
print(json.dumps({"runs": found, "best": [r.info.run_name for r in best]}))
"""


def folder_with(t):
    folder = t.dir()
    with open(os.path.join(folder, "train.lua"), "w", encoding="utf-8") as f:
        f.write(NOTEBOOK)
    return folder


def go(folder, *arguments):
    done = sh(FIRESTEEL, "run", "train.lua", "-o", "json", *arguments, cwd=folder)
    return json.loads(done.out.split("\n", maxsplit=1)[0])["run"]


def export(folder, *arguments):
    done = sh(FIRESTEEL, "export", "--to", "mlflow", *arguments, cwd=folder)
    assert done.code == 0, done
    return done


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as f:
        return f.read()


def test_the_layout(t):
    folder = folder_with(t)
    name = go(folder)
    done = export(folder)
    place = done.out.strip()
    assert re.fullmatch(re.escape(folder) + r"/mlruns/\d{18}/[0-9a-f]{32}", place), place
    assert read(place, "params", "lr") == "0.1" and read(place, "params", "sizes") == "[32,16]", "a list is JSON"
    assert read(place, "params", "model") == "wide"
    assert re.fullmatch(r"\d{13} 1 10\n\d{13} 0.5 20\n\d{13} 0.33333333333333331 30\n", read(place, "metrics", "loss"))
    assert read(place, "metrics", "val", "loss").count("\n") == 3 and " nan 0\n" in read(place, "metrics", "odd")
    assert read(place, "tags", "baseline") == "true" and read(place, "tags", "mlflow.runName") == name
    assert read(place, "artifacts", "model", "m.bin") == "abc" and "<!DOCTYPE html>" in read(place, "artifacts", "report.html")
    assert not os.path.exists(place + "/artifacts/late.bin"), "it is not what was recorded"
    assert "the artifact late.bin is left out" in done.err and '"a?b" is called "a_b"' in done.err, done
    assert '"a!b" is called "a_b_3" there' in done.err and "ünï" not in done.err and "weiß" not in done.err, done
    assert [read(place, "metrics", name).split()[1] for name in ("ünï", "önö", "a_b", "a_b_2", "a_b_3", "weiß/ε²")] == \
        ["1", "2", "1", "4", "3", "5"], "no two names become one"
    experiment = read(os.path.dirname(place), "meta.yaml")
    assert "name: train\n" in experiment and "lifecycle_stage: active\n" in experiment, experiment
    again = export(folder)
    assert again.out == done.out and len(glob.glob(folder + "/mlruns/*/*/meta.yaml")) == 1, "again is the same run"
    assert sh(FIRESTEEL, "export", "--to", "md", "--experiment", "x", cwd=folder).code == 2


def test_a_store_is_made_and_no_folder_above_it(t):
    folder = folder_with(t)
    go(folder)
    done = sh(FIRESTEEL, "export", "--to", "mlflow", "-o", "typo/x", cwd=folder)
    assert done.code == 1 and "the folder typo is not there; make it" in done.err and not os.path.exists(folder + "/typo"), done
    assert export(folder, "-o", "store/").out.startswith(folder + "/store/")


def test_mlflow_reads_it(t):
    if not os.path.exists(PYTHON):
        raise Skip("no mlflow-skinny in the cache: tests/support/tools CACHE makes it")
    folder = folder_with(t)
    first, second = go(folder), go(folder, "-p", "lr=0.5", "-p", "fails=true")
    for name in (first, second):
        export(folder, name, "-o", "the store", "--experiment", "nightly & more")
    done = sh(PYTHON, "-c", READER, os.path.join(folder, "the store"),
              env={**os.environ, "MLFLOW_ALLOW_FILE_STORE": "true", "GIT_PYTHON_REFRESH": "quiet"})
    assert done.code == 0, done
    answer = json.loads(done.out)
    runs = {r["name"]: r for r in answer["runs"]}
    assert set(runs) == {first, second} and answer["best"] == [second], answer
    one, other = runs[first], runs[second]
    assert one["experiment"] == "nightly & more" and (one["status"], other["status"]) == ("FINISHED", "FAILED"), answer
    assert one["params"] == {"lr": "0.1", "sizes": "[32,16]", "model": "wide", "fails": "false"}, one
    assert one["history"]["loss"] == [[1.0, 10], [0.5, 20], [1 / 3, 30]], one["history"]
    assert one["history"]["val/loss"] == [[2.0, 10], [1.0, 20], [2 / 3, 30]], one["history"]
    assert {name: one["history"][name][0][0] for name in ("ünï", "önö", "a_b", "a_b_2", "a_b_3", "weiß/ε²")} == \
        {"ünï": 1, "önö": 2, "a_b": 1, "a_b_2": 4, "a_b_3": 3, "weiß/ε²": 5}, one["history"]
    assert one["tags"]["baseline"] == "true" and one["tags"]["firesteel.run"] == first, one["tags"]
    assert one["tags"]["mlflow.source.type"] == "NOTEBOOK" and one["took"] >= 0, one
    assert sorted(one["artifacts"]) == ["model", "model/m.bin", "notebook.lua", "report.html"], one


run(globals())
