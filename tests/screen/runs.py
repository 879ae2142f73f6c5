#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The runs of a notebook in the workbench: found by what they were about, opened, compared."""
import datetime
import os
import subprocess

from bench import folder, leave, text, workbench
from golden import golden
from journals import NOTEBOOK, many, state, stream, trials, write
from tap import FIRESTEEL, run


def listed(t, n, size="80x24", prepare=None, options=()):
    where = folder(t, NOTEBOOK)
    many(where, n)
    if prepare:
        prepare(where)
    s = workbench(where, *options, size=size, env={"TZ": "UTC"})
    s.keys("g h")
    s.wait(" runs ")
    s.wait("0001" if n < 20 else f"{n:04x}")
    return s


def rows(s):
    return [row.split()[0] for row in s.screen()[2:-1] if row.strip()]


def typed(s, words):
    s.keys("/")
    s.type(words)
    s.keys("Enter")


def test_it_looks_pleasant(t):
    for size in "80x24", "120x40":
        with listed(t, 12, size) as s:
            typed(s, "lr>0.04 and loss<3.4")
            s.gone("000c")
            s.keys("s s s s s j m j")
            golden(s, "runs-" + size.split("x")[0])
            s.keys("c")
            s.wait("Two runs")
            golden(s, "compare-" + size.split("x")[0])
            s.keys("q q q")
            s.exit()


def test_sources_and_outputs_of_cells_are_compared(t):
    """Two runs of a notebook that was edited between them, and showed something else."""
    def edited(where):
        changed = NOTEBOOK.replace("for i = 1, 3", "for i = 1, 2\t").replace("train()", "train()  -- wider")
        events = [(1, state("first", "running", count=1)), (2, stream("first", "part 1\npart two\n")), (3, state("first", "ok")),
                  (4, {"type": "end", "exit": 0, "outcome": "ok"})]
        write(where, "small-20260102-150000-00ff", events, began="2026-01-02T15:00:00", notebook=changed,
              path=os.path.join(where, "small.lua"), parameters={"lr": 0.5}, versions={"firesteel": "0.2"})
    for size in "80x24", "120x40":
        with listed(t, 2, size, prepare=edited) as s:
            s.keys("c")
            s.wait("Two runs")
            s.keys("G")
            s.wait("0.2")
            golden(s, "compare-cells-" + size.split("x")[0])
            s.keys("q q q")
            s.exit()


def test_a_run_is_removed_after_a_question(t):
    def left(where):
        """Another one, which left something on a cluster: prune keeps such."""
        write(where, "small-20260102-150000-00ee", [(1, state("first", "running", count=1)), (2, {
            "type": "ledger", "entry": 1, "phase": "intent", "cell": "first", "binding": "k8s.create", "effect": "cluster", "undo": True,
            "what": "create Job a"}), (2, {"type": "ledger", "entry": 1, "phase": "outcome", "result": {"uid": "1"}}),
            (3, state("first", "ok")), (4, {"type": "end", "exit": 0, "outcome": "ok"})],
            began="2026-01-02T15:00:00", path=os.path.join(where, "small.lua"))
    with listed(t, 3, prepare=left) as s:
        s.keys("j D")
        s.wait("Remove this run?")
        s.keys("n")
        s.gone("Remove this run?")
        assert "0003" in text(s)
        s.keys("D")
        s.wait("small-20260102-140300-0003")
        s.wait("Remove this run?")
        s.keys("y")
        s.wait("0003 is removed")
        assert rows(s) == ["00ee", "0002", "0001"], text(s)
        s.keys("k D")
        s.wait("Remove this run?")
        s.keys("y")
        s.wait("left something on a cluster")
        assert rows(s)[:3] == ["00ee", "0002", "0001"], text(s)
        s.keys("q q")
        s.exit()


def test_a_run_is_written_as_a_page(t):
    with listed(t, 2) as s:
        s.keys("e")
        s.wait("-0002.html is written")
        s.keys("q q")
        s.exit()


def test_read_only_removes_no_run(t):
    with listed(t, 2, options=("--read-only", "small.lua")) as s:
        s.keys("j D")
        s.wait("Remove this run?")
        s.keys("y")
        s.wait("this is only looked at (--read-only)")
        assert rows(s) == ["0002", "0001"], text(s)
        s.keys("q q")
        s.exit()


def test_a_run_that_goes_on_is_attached_to(t):
    where = folder(t, NOTEBOOK)
    with open(os.path.join(where, "long.lua"), "w", encoding="utf-8") as f:
        f.write("-- %% Waits\nprint 'it waits'\nsh 'sleep 60'\n")
    run = subprocess.run([FIRESTEEL, "run", "--detach", "long.lua"], cwd=where, capture_output=True, text=True, check=True).stdout.strip()
    try:
        with workbench(where, env={"TZ": "UTC"}) as s:
            s.keys("g h a")
            s.wait("running")
            s.keys("Enter")
            s.wait("it waits")
            s.wait("long.lua")
            s.keys("q")
            s.wait(" runs ")
            s.wait("running")
            subprocess.run([FIRESTEEL, "stop", run], cwd=where, check=True, stdout=subprocess.DEVNULL)
            s.keys("Enter")  # it has ended since the list was read
            s.wait("it waits")
            s.keys("q")
            s.wait(" runs ")
            s.keys("q q")
            s.exit()
    finally:
        subprocess.run([FIRESTEEL, "stop", run], cwd=where, check=False, stdout=subprocess.DEVNULL)


def test_conditions_texts_and_orders(t):
    with listed(t, 9) as s:
        typed(s, "lr>=0.03 and lr<0.06")
        s.gone("0009")
        assert rows(s) == ["0005", "0004", "0003"], text(s)
        s.keys("Esc")
        s.wait("0009")
        typed(s, "0007")
        s.gone("0009")
        assert rows(s) == ["0007"], text(s)
        s.keys("Esc s s s s s")
        s.wait("by ")
        names = s.screen()[1].split()
        assert names[:4] == ["RUN", "STATE", "STARTED", "TOOK"] and sorted(names[4:]) == ["loss", "lr"], names
        assert rows(s)[:3] == ["0001", "0002", "0003"], text(s)
        s.keys("S")
        s.wait("↓")
        assert rows(s)[0] == "0009", text(s)
        leave_twice(s)


def leave_twice(s):
    s.keys("q")
    s.wait("COMMAND")
    leave(s)


def test_a_run_is_opened_read_only_and_left_again(t):
    with listed(t, 3) as s:
        typed(s, "0002")
        s.keys("Enter")
        s.wait("part of 2")
        s.wait("ok after")
        s.keys("<")
        s.wait("● busy")
        s.keys("d d")
        s.wait("only looked at")
        s.keys("g h")  # from there to another one
        s.wait("Runs of small.lua")
        s.wait("0003")
        typed(s, "0003")
        s.keys("Enter")
        s.wait("part of 3")
        s.keys("q")
        s.wait("Runs of small.lua  /0002")
        leave_twice(s)


def test_the_kernel_goes_on_below(t):
    with listed(t, 2) as s:
        s.keys("q Enter")
        s.type('for i = 1, 3 do print("live " .. i) sh "sleep 0.4" end --')
        s.keys("C-e Esc g h")
        s.wait("0002")
        typed(s, "0002")
        s.keys("Enter")
        s.wait("part of 2")
        s.keys("q")
        s.wait("Runs of")
        s.keys("q")
        s.wait("live 3")
        s.keys("q")
        s.wait("Unsaved")
        s.keys("d")
        s.exit()


def test_what_is_open_or_runs_or_cannot_be_read_is_said(t):
    def prepare(where):
        path = write(where, "small-20260102-150000-dddd", [], path=os.path.join(where, "small.lua"))
        with open(path, "w", encoding="ascii") as f:
            f.write('{"type":"run","format":99}\n')
    with listed(t, 1, prepare=prepare) as s:
        assert rows(s) == ["0001"], text(s)  # not this session, in which nothing was run
        s.keys("q C-e")
        s.wait("part 3")
        s.keys("g h")
        s.wait("0001")
        s.keys("Enter")
        s.wait("the run that is open")
        s.keys("a")
        s.wait("unreadable")
        typed(s, "dddd")
        s.keys("Enter")
        s.wait("newer firesteel")
        leave_twice(s)


def test_other_notebooks_have_a_list_of_their_own(t):
    with listed(t, 2, prepare=lambda where: write(where, "other-20260102-150000-eeee", [(1, {"type": "end", "exit": 1, "outcome": "failed"})],
                                                  path=os.path.join(where, "other.lua"), parameters={"depth": 4})) as s:
        assert "eeee" not in text(s), text(s)
        assert "depth" not in text(s), text(s)  # nor columns of theirs
        s.keys("a")
        s.wait("other eeee")
        s.wait("all in ")
        s.keys("Right Right Right Right Right Right")
        s.wait("depth")
        s.keys("a")
        s.gone("eeee")
        s.gone("depth")
        s.wait("loss")
        leave_twice(s)


def test_a_run_of_today_has_the_time_alone(t):
    today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT16:56:07")
    with listed(t, 2, prepare=lambda where: write(where, "small-20260102-180000-ffff", [(1, state("first", "ok")), (2, {"type": "end", "exit": 0, "outcome": "ok"})],
                                                  began=today, path=os.path.join(where, "small.lua"))) as s:
        lines = {line.split()[0]: line.split() for line in s.screen()[2:-1] if line.strip()}
        assert lines["ffff"][2] == "16:56" and lines["0002"][2:4] == ["2026-01-02", "14:02:00"], text(s)
        leave_twice(s)


TRIED = "small-20260102-160000-abcd"


def tried(t, size="80x24"):
    return listed(t, 3, size=size, prepare=lambda where: trials(where, TRIED))


def test_trials_below_their_run(t):
    for size in "80x24", "120x40":
        with tried(t, size) as s:
            s.wait("abcd +4")
            s.keys("t")
            s.wait("rates/4")
            assert rows(s) == ["abcd", "rates/1", "rates/2", "rates/3", "rates/4", "0003", "0002", "0001"], text(s)
            s.keys("j j")
            golden(s, "runs-trials-" + size.split("x")[0])
            s.keys("t")  # from a trial to its run
            s.gone("rates/4")
            s.wait("abcd +4")
            s.keys("Enter")
            s.wait("ok after")
            s.keys("q")
            s.wait("Runs of small.lua")
            leave_twice(s)


def test_trials_are_found_sorted_and_compared(t):
    with tried(t) as s:
        typed(s, "of=rates and loss<0.1")
        s.gone("0003")
        assert rows(s) == ["abcd", "rates/2", "rates/4"], text(s)  # also of a run that is not open
        s.keys("t Esc")
        s.wait("0003")
        s.keys("s s s s s S")
        s.wait("by loss ↓")
        assert rows(s)[-5:] == ["abcd", "rates/1", "rates/2", "rates/4", "rates/3"], text(s)
        s.keys("G k k m")
        s.wait("*")
        s.keys("g G k k k c")
        for part in ("Two runs", "rates/1", "rates/2", "loss rates/2"):
            s.wait(part)
        s.keys("q")
        s.wait("Runs of small.lua")
        s.keys("g t")
        s.wait("it has no trials")
        leave_twice(s)


def test_thousands_are_there_at_once(t):
    where = folder(t, NOTEBOOK)
    many(where, 590)
    with workbench(where, env={"TZ": "UTC"}) as s:
        s.keys("g h")
        s.wait("024e")
        s.gone(" read")
        typed(s, "loss<1.5")
        s.gone("024e")
        assert rows(s)[0] == "0004", text(s)
        leave_twice(s)


run(globals())
