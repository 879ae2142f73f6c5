#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The recipes that need no cluster, each twice in one folder, in an order drawn from the seed.

usage: recipes.py [SEED] [RECIPE...]      of all, or of these by the beginnings of their names ("20"); prints the seed that it has drawn

Each ends with 0, and the losses at the ends of its epochs are the same in both runs to the last bit. Ends with TAP: a case for each run.
"""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("FIRESTEEL_SOURCE", os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(SOURCE, "build"))
FIRESTEEL = os.path.join(BUILD, "cli", "firesteel")
OPTIONS = {
    "10": ["--sandbox", "--allow", "cluster,destructive"], "14": [], "20": [], "21": [], "22": [], "23": [], "30": [],
    "40": ["--sandbox", "--allow", "cluster,destructive"],
}


def progress_of(event):
    return (event.get("data") or {}).get("application/vnd.firesteel.progress+json") or {}


def losses(journal):
    """{(display, epoch, name): loss} of all trainings that a run has shown, at the ends of their epochs."""
    found, display = {}, 0
    with open(journal, encoding="utf-8") as f:
        for event in map(json.loads, f):
            display = event.get("id") if event["type"] in ("display", "update") else display
            progress = progress_of(event)
            ends = [(one["epoch"], one["metrics"]) for one in progress.get("history") or ()]
            if progress.get("total") and progress["done"] == progress["total"]:
                ends.append((progress.get("epoch"), progress.get("metrics") or {}))
            found.update({(display, epoch, name): value for epoch, metrics in ends for name, value in metrics.items() if "loss" in name})
    return found


def main():
    seed = int(sys.argv.pop(1)) if sys.argv[1:2] and len(sys.argv[1]) > 2 and sys.argv[1].isdigit() else random.randrange(100, 10 ** 6)
    names = [n for n in OPTIONS if not sys.argv[1:] or n in sys.argv[1:]]
    turns, before, failed = names * 2, {}, 0
    random.Random(seed).shuffle(turns)
    print(f"# seed {seed}: {' '.join(turns)}\n1..{len(turns)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for path in glob.glob(os.path.join(SOURCE, "recipes", "*.lua")):
            shutil.copy(path, folder)
        env = {**os.environ, "FIRESTEEL_DATA": os.path.join(SOURCE, "recipes", "data"), "XDG_STATE_HOME": os.path.join(folder, "state")}
        for number, name in enumerate(turns, 1):
            path = os.path.basename(glob.glob(os.path.join(folder, name + "-*.lua"))[0])
            known = set(glob.glob(os.path.join(folder, ".firesteel", path[:-4] + "-*.jsonl")))
            done = subprocess.run([FIRESTEEL, "run", path, *OPTIONS[name]], cwd=folder, env=env, capture_output=True, text=True, check=False)
            journal = (set(glob.glob(os.path.join(folder, ".firesteel", path[:-4] + "-*.jsonl"))) - known).pop()
            told = losses(journal)
            problem = f"exit {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}" if done.returncode else ""
            if not problem and before.setdefault(name, told) != told:
                problem = "other losses than before: " + str(sorted(set(before[name].items()) ^ set(told.items()), key=str)[:4])
            failed += bool(problem)
            print(f"{'not ok' if problem else 'ok'} {number} - {path}: {len(told)} losses", flush=True)
            if problem:
                print("# " + problem.replace("\n", "\n# "))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
