#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing is lost when a terminal goes away: neither later output, nor typed text that was not saved."""
import json
import os
import signal
import time

from bench import folder, kernels, leave, text, workbench
from screen import Screen
from tap import FIRESTEEL, SANITIZED, SOURCE, eventually, run

EPOCHS = 4 if SANITIZED else 12

SMALL = '-- %% First\nx = 1\n\n-- %% Second\ny = 2\n'


def journal(where):
    name = next(f for f in sorted(os.listdir(os.path.join(where, ".firesteel"))) if f.endswith(".jsonl"))
    with open(os.path.join(where, ".firesteel", name), encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def training(where):
    """A notebook that has the recipe's trainer and trains for long enough to be left."""
    with open(os.path.join(SOURCE, "recipes/10-mnist.lua"), encoding="utf-8") as f:
        cells = f.read().split("-- %%")
    trainer = next(c for c in cells if 'file="trainer.lua"' in c)
    local = next(c for c in cells if c.startswith(" Local mode"))
    assert "--epochs=1" in local
    with open(os.path.join(where, "small.lua"), "w", encoding="utf-8") as f:
        f.write("-- %%" + trainer + "-- %%" + local.replace("--epochs=1", f"--epochs={EPOCHS}"))


def printed(where, cell):
    return "".join(e.get("text", "") for e in journal(where) if e["type"] == "stream" and e["cell"] == cell)


def test_attach_shows_every_line_that_was_printed_after_a_hang_up_in_mid_training(t):
    where = folder(t)
    training(where)
    with workbench(where) as s:
        s.keys("R G")
        s.wait(f"Epoch 2/{EPOCHS}")
        s.signal("HUP")
        s.exit()
    left = len(journal(where))
    eventually(lambda: any(e["type"] == "kernel" and e["state"] == "idle" for e in journal(where)[left:]), 60)
    cell = [e["cell"] for e in journal(where) if e["type"] == "state" and e["state"] == "ok"][-1]
    lines = [line for line in printed(where, cell).splitlines() if line]
    assert sum(line.endswith(f"/{EPOCHS}") for line in lines) == EPOCHS, lines
    with Screen([FIRESTEEL, "attach"], cwd=where, size="120x60") as s:
        s.wait("idle")
        s.keys("G")
        s.wait("Model prediction")
        s.keys("O")
        s.wait("1 of 2")  # the curves; the text is behind them
        s.keys("Tab")
        s.wait(" output ")
        s.keys("g")
        s.wait("  1–")
        shown = iter(s.screen()[1:-1])
        assert all(line in shown for line in lines), s.screen()  # each, in this order
        leave_page(s)


def leave_page(s):
    s.keys("q")
    s.wait("COMMAND")
    leave(s)


POD = """-- %% Pod effects="cluster"
made = k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "stays" }, spec = { containers = { { name = "main", image = "host",
  command = { "sleep", "600" } } } } }

-- %% Later
print("it is " .. made.name)
"""


def test_variables_and_the_private_sandbox_outlive_every_terminal(t):
    where = folder(t, POD)
    with workbench(where, "--sandbox", "small.lua") as s:
        s.keys("C-r")
        s.wait("may it do this")
        s.keys("y")
        s.wait("[1] Pod")
        s.keys("C-s")
        s.wait("saved /")
        s.keys("q")
        assert s.exit() == "exit 0"
        assert "kept for 24h" in text(s).replace("\n", ""), text(s)
    first = kernels(where)[0].split()[0]
    for how in "HUP", "KILL", "TERM":
        with workbench(where) as s:
            s.wait("joined " + first[-4:])
            s.keys("G C-e")
            s.wait("it is stays")
            s.signal(how)
            s.exit()
        assert kernels(where)[0].split()[0] == first and "its sandbox" in kernels(where)[0], how
    with workbench(where) as s:
        s.keys(":")
        s.type("pods")
        s.keys("Enter")
        s.wait("STATUS")
        s.wait("Running")
        s.keys("q")
        s.wait("COMMAND")
        s.keys(":")
        s.type("stop!")
        s.keys("Enter")
        assert s.exit() == "exit 0" and "goes on" not in text(s), text(s)
    eventually(lambda: not kernels(where))


def test_text_typed_just_before_a_hang_up_is_there(t):
    where = folder(t, SMALL)
    with workbench(where) as s:
        s.keys("Enter")
        s.wait("EDIT")
        s.keys("C-Home")
        s.type("just_typed = 1\n")
        s.wait("just_typed")
        s.signal("HUP")
        s.exit()
    assert kernels(where), "unsaved text keeps the kernel"
    with workbench(where, "attach") as s:
        s.wait("just_typed = 1")
        s.wait("small.lua +")


def test_a_killed_workbench_loses_no_more_than_half_a_second(t):
    where = folder(t, SMALL)
    with workbench(where) as s:
        s.keys("Enter")
        s.wait("EDIT")
        s.keys("C-Home")
        s.type("some_time_ago = 1\n")
        eventually(lambda: any("some_time_ago" in e.get("source", "") for e in journal(where)), 5)
        s.signal("KILL")
        assert s.exit() == f"signal {signal.SIGKILL}"
    with workbench(where, "attach") as s:
        s.wait("some_time_ago = 1")
        s.wait("small.lua +")


def test_what_is_typed_is_journaled_within_half_a_second(t):
    where = folder(t, SMALL)
    with workbench(where) as s:
        s.keys("Enter")
        s.wait("EDIT")
        started = time.time()
        s.type("z")
        eventually(lambda: any(e["type"] == "edited" for e in journal(where)), 5, every=0.01)
        edited = next(e for e in journal(where) if e["type"] == "edited")
        assert edited["source"].startswith(("z", "x = 1z")), edited
        assert time.time() - started < 1.5 * float(os.environ.get("FIRESTEEL_PATIENCE", "1"))


def test_two_clients_have_cursors_of_their_own(t):
    where = folder(t, SMALL)
    with workbench(where) as a, Screen([FIRESTEEL, "small.lua"], cwd=where) as b:
        b.wait("idle")
        a.keys("Enter C-End")
        b.keys("j Enter C-End")
        b.wait("EDIT")
        b.quiet()
        at = b.cursor()
        a.type(" -- from a")
        b.wait("x = 1 -- from a")
        eventually(lambda: b.cursor() == at)
        b.type(" -- from b")
        a.wait("y = 2 -- from b")
        assert "x = 1 -- from a" in text(a) and "x = 1 -- from a" in text(b)


def test_what_is_typed_stays_in_its_cell_when_another_client_inserts_one_above(t):
    where = folder(t, SMALL)
    with workbench(where) as a, Screen([FIRESTEEL, "small.lua"], cwd=where) as b:
        b.wait("idle")
        b.keys("j Enter C-End")
        b.wait("EDIT")
        b.type(" -- be")
        a.keys("a")
        b.wait("[ ] ─")
        b.type("fore")
        a.wait("y = 2 -- before")


def test_a_terminal_that_closes_is_a_hang_up(t):
    where = folder(t, "for i = 1, 400 do print('line ' .. i) sh 'sleep 0.05' end\n")
    with workbench(where) as s:
        s.keys("C-e")
        s.wait("line 2")
    eventually(lambda: any("busy" in line for line in kernels(where)))
    with workbench(where, "attach") as s:
        s.wait("● [")
        s.keys("i i")
        s.wait("idle")


run(globals())
