#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Metrics of many runs in one chart and one table, from journals and while they train."""
import os
import subprocess
import time

from bench import folder, leave, text, workbench
from golden import golden
from journals import NOTEBOOK, curves, trials
from tap import FIRESTEEL, PATIENCE, run, sh

NINE = "Space " * 9


def charted(t, keys, size="80x24", config=None, prepare=curves, env=None, **options):
    where = folder(t, NOTEBOOK)
    prepare(where)
    env = {"TZ": "UTC", **(env or {})}
    if config:
        env["FIRESTEEL_CONFIG"] = os.path.join(where, "own.yaml")
        with open(env["FIRESTEEL_CONFIG"], "w", encoding="utf-8") as f:
            f.write(config)
    s = workbench(where, size=size, env=env, **options)
    s.keys("g h")
    s.wait(" runs ")
    s.wait("0009" if prepare is curves else "00aa")
    s.gone(" read")
    s.keys(keys)
    return s


def closed(s, views=3):
    s.keys("q " * views)
    assert s.exit() == "exit 0"


def test_nine_runs_look_pleasant(t):
    for size in "80x24", "120x40", "200x55":
        with charted(t, NINE + "p", size) as s:
            s.wait("×3")
            golden(s, "chart-bands-" + size.split("x")[0])
            s.keys("b b s s s Left Left")
            s.wait("smooth 0.8")
            golden(s, "chart-each-" + size.split("x")[0])
            s.keys("Esc m m m b")
            s.wait("Metrics  9 runs")
            golden(s, "chart-all-" + size.split("x")[0])
            s.keys("t")
            s.wait("all: units=64")
            golden(s, "chart-table-" + size.split("x")[0])
            closed(s, 4)


def test_curves_differ_without_colours_and_on_light(t):
    with charted(t, NINE + "p", config="theme: light\npalette: okabe-ito\n") as s:
        s.wait("×3")
        golden(s, "chart-light")
        closed(s)
    with charted(t, "Space Space p", config="theme: mono\n") as s:
        s.wait("2 runs")
        golden(s, "chart-mono")
        closed(s)
    with charted(t, NINE + "p", term="vt100", env={"LC_ALL": "C"}) as s:
        s.wait("x3")
        golden(s, "chart-vt100")
        closed(s)


def test_a_small_screen_has_it_too(t):
    with charted(t, NINE + "p", size="40x10") as s:
        s.wait("lr=0.1 ×3")
        golden(s, "chart-40")
        closed(s)


def test_axes_zoom_and_outliers(t):
    with charted(t, NINE + "p") as s:
        s.wait("×3")
        s.keys("y")
        s.wait("without outliers")
        assert "2.5 ┤" not in text(s), text(s)
        s.keys("L")
        s.wait("log x")
        s.wait("10 ")
        s.keys("L x")
        s.wait("1m30s")
        s.keys("x")
        s.wait("14:04")
        s.keys("x + +")
        s.wait("enlarged")
        s.wait("180")
        s.gone(" 50 ")
        s.keys("[")
        s.wait("150")
        s.keys("Esc")
        s.gone("enlarged")
        closed(s)


def test_trials_of_a_run(t):
    with charted(t, "p", prepare=lambda where: trials(where, "small-20260102-160000-00aa")) as s:
        s.wait("loss  3 runs")
        for name in "rate=0.1 ", "rate=0.01 ", "rate=0.001 ":
            s.wait(name)
        s.keys("t")
        s.wait("rates/4")
        s.wait("3.3e-05*" if "3.3e-05*" in text(s) else "*")
        closed(s, 4)


def test_files_of_the_chart(t):
    with charted(t, "Space Space p") as s:
        s.wait("2 runs")
        s.keys("W")
        s.wait("400 values written to loss-")
        s.keys("P")
        s.wait("the chart is written to loss-")
        files = {name.rsplit(".")[-1]: os.path.join(s.cwd, name) for name in os.listdir(s.cwd) if name.startswith("loss-")}
        with open(files["csv"], encoding="utf-8") as f:
            rows = f.read().splitlines()
        assert rows[0] == "run,trial,branch,metric,step,time,value" and len(rows) == 401, rows[:2]
        assert rows[1].startswith("small-20260102-140900-0009,,,loss,1,2026-01-02T14:09:01.5"), rows[1]
        with open(files["svg"], encoding="utf-8") as f:
            svg = f.read()
        assert svg.startswith("<svg") and "seed=3" in svg, svg[:200]
        closed(s)


LIVE = """-- %% Parameters tags=["parameters"]
lr = 0.1

-- %% Train
for i = 1, 2000 do
  run.metric("loss", 1 / (i * lr), { step = i })
  sh "sleep 0.02"
end
"""


def test_a_run_that_trains_is_followed(t):
    """One detached run, and one in the open notebook."""
    where = folder(t, LIVE)
    other = subprocess.run([FIRESTEEL, "run", "--detach", "small.lua", "-p", "lr=0.5"], cwd=where, capture_output=True, text=True, check=True).stdout.strip()
    try:
        with workbench(where) as s:
            s.keys("R g p")
            s.wait(" loss 0.")
            s.wait("step")
            s.keys("q g h")
            s.wait(other[-4:])
            s.wait("running")
            s.keys("Space Space p")
            s.wait("loss  2 runs")
            s.wait("lr=0.5")
            s.wait("lr=0.1")
            seen, until = set(), time.monotonic() + 20 * PATIENCE
            while len(seen) < 4 and time.monotonic() < until:  # values that change while nobody presses a key
                seen.add(next((row for row in s.screen() if "lr=0.5" in row), ""))
                time.sleep(0.2)
            assert len(seen) >= 4, seen
            s.keys("t")
            s.wait("running")
            s.wait("*")
            s.keys("q q q q")
            s.exit()
    finally:
        subprocess.run([FIRESTEEL, "stop", other], cwd=where, check=False, stdout=subprocess.DEVNULL)


def test_runs_beside_one_another_without_a_screen(t):
    where = folder(t, NOTEBOOK)
    curves(where)
    told = sh(FIRESTEEL, "runs", "--compare", "0001", "0004", "0007", cwd=where)
    rows = told.out.splitlines()
    assert rows[0].split() == ["RUN", "lr", "loss", "min", "loss", "val_loss", "min", "val_loss", "accuracy", "max", "accuracy"], rows
    assert rows[1].startswith("small-20260102-140100-0001  0.1 ") and rows[1].count("*") == 6 and "*" not in rows[2] + rows[3], rows
    assert rows[4] == "all: seed=1 units=64", rows
    told = sh(FIRESTEEL, "runs", "--compare", "0001", "0002", "--best", "loss=max", "-o", "json", cwd=where)
    assert '"best": "max"' in told.out and '"params": [' in told.out, told.out
    told = sh(FIRESTEEL, "runs", "--compare", "0001", "0002", "-o", "csv", cwd=where)
    assert told.out.splitlines()[0] == "RUN,seed,loss,min loss,val_loss,min val_loss,accuracy,max accuracy" and "*" not in told.out, told.out
    for wrong, why in ((["0001"], "two runs or more"), (["0001", "zzz"], "there is no run zzz"), (["0001", "0002", "--best", "loss"], "METRIC=min"),
                       (["0001", "0002", "--where", "lr<1"], "takes runs")):
        told = sh(FIRESTEEL, "runs", "--compare", *wrong, cwd=where)
        assert told.code == 2 and why in told.err, told


run(globals())
