#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The whole recipe by keys is recorded, the recording plays to the same screens, and the still in the
README is what the program draws. FIRESTEEL_UPDATE=1 writes doc/recipe.cast and doc/workbench.svg anew."""
import difflib
import json
import os
import re
import shutil
import sys

from bench import leave
from screen import Screen
from still import svg
from tap import BUILD, FIRESTEEL, SOURCE, eventually, run, stop_kernels

CAST = os.path.join(BUILD, "tests/screen/recipe.cast")
STILL = os.path.join(SOURCE, "doc/workbench.svg")
KEPT = os.path.join(SOURCE, "doc/recipe.cast")
# Plays a recording up to the last marker of a name, as fast as it can, and waits.
PLAYER = """
import json, sys, tty
tty.setraw(0)
events = [json.loads(line) for line in list(open(sys.argv[1], encoding="utf-8"))[1:]]
end = max(i for i, (_, kind, text) in enumerate(events) if kind == "m" and text == sys.argv[2])
for _, kind, text in events[:end]:
    if kind == "o":
        sys.stdout.write(text)
sys.stdout.flush()
sys.stdin.read(1)
"""


def record():
    """Runs the recipe by keys; the screens at its markers, {name: answer to `styles`}."""
    screens = {}

    def mark(s, name):
        while True:
            s.quiet(300)
            screens[name] = s.styles()
            s.mark(name)
            if s.styles() == screens[name]:  # else an age has grown meanwhile
                return

    where = os.path.join(BUILD, "tests/screen/recipe")
    shutil.rmtree(where, ignore_errors=True)
    os.makedirs(where)
    shutil.copy(os.path.join(SOURCE, "recipes/10-mnist.lua"), where)
    with Screen([FIRESTEEL, "--sandbox", "10-mnist.lua"], cwd=where, seconds=90, record=CAST) as s:
        s.wait("idle")
        mark(s, "the notebook")
        for _ in range(6):
            s.keys("j")
            s.quiet(150)
        s.keys("R")
        s.wait("push image firesteel/mnist:latest?")
        mark(s, "a cell asks")
        s.keys("a")
        s.wait("delete SparkApplication mnist")
        mark(s, "before something is removed")
        s.keys("Esc")  # later
        s.quiet(300)
        s.keys("g g /")
        s.quiet(300)
        s.type("app:watch")
        s.quiet(300)
        s.keys("Enter")
        s.quiet(300)
        s.keys("Esc")
        for key, there in (("[", lambda rows: any("Deploy ──" in row for row in rows)), ("]", lambda rows: "Deploy" in rows[0])):
            while not there(s.screen()):
                s.keys(key)
                s.quiet(50)
        eventually(lambda: "exec-" not in "".join(s.screen()[:9]))  # the executors' pods go by themselves
        mark(s, "trained")
        s.keys("A")
        s.wait("delete SparkApplication mnist")
        s.quiet(300)
        s.keys("y")
        s.wait("● idle")
        s.keys("G")
        s.wait("[12] Clean up")
        s.wait("Model prediction for index 100: 6")
        mark(s, "the end")
        leave(s)
    return screens


def test_the_recording_plays_to_the_same_screens(t):
    t.after(stop_kernels)
    screens = record()
    with open(CAST, encoding="utf-8") as f:
        head, *events = [json.loads(line) for line in f]
    assert head["version"] == 2 and (head["width"], head["height"]) == (80, 24), head
    times = [event[0] for event in events]
    assert times == sorted(times) and {event[1] for event in events} <= {"o", "r", "m"}
    for name, drawn in screens.items():
        with Screen([sys.executable, "-c", PLAYER, CAST, name]) as s:
            eventually(lambda: any(line.strip() for line in s.screen()))  # the player has begun
            s.quiet(300)
            assert s.styles() == drawn, (name, s.screen())
    if os.environ.get("FIRESTEEL_UPDATE"):
        shutil.copy(CAST, KEPT)
        with open(STILL, "w", encoding="utf-8") as f:
            f.write(svg(screens["trained"], 80))
    the_still_is_of(screens["trained"])


def comparable(picture):
    """Its text without numbers and times, and without lines whose length depends on them."""
    words = re.findall(r">([^<>]*)</text>", picture)
    words = [re.sub(r"\bmnist-[0-9a-f]{8}\b", "mnist-", word) for word in words]  # a name for each run
    bare = [re.sub(r"\d[\d.]*(ms|[smhk])?(/s)?|[─█░▉-▏\u2800-\u28ff\s]+", "", word) for word in words]
    return [word for word in bare if word not in ("", "IP")]  # a column that comes where ages leave room


def the_still_is_of(drawn):
    with open(STILL, encoding="utf-8") as f:
        kept = comparable(f.read())
    now = comparable(svg(drawn, 80))
    assert kept == now, "doc/workbench.svg is not what the program draws\n" + "\n".join(difflib.unified_diff(kept, now, lineterm=""))


def test_the_kept_recording_is_whole_and_small(t):
    with open(KEPT, encoding="utf-8") as f:
        head, *events = [json.loads(line) for line in f]
    assert head["version"] == 2 and os.path.getsize(KEPT) < 200_000
    assert [event[2] for event in events if event[1] == "m"][-1] == "the end"


run(globals())
