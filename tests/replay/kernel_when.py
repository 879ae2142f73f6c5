#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cells that run again after a failure (retries), after the failure of others (when), or not at all (tags of nbclient)."""
import os
import signal
import time

from kernel import Kernel, cell
from tap import FIRESTEEL, OWN, PATIENCE, eventually, processes, run, sh

CLEAN = cell('print("clean", firesteel.failure() and firesteel.failure().name)', 'Clean when="always"')


def headless(t, notebook, *options):
    k = Kernel(t, notebook, *options, headless=True)
    k.finish(60)
    return k


def states(k):
    """The last state of each cell, in the order in which they were reached."""
    last = {}
    for e in k.of("state"):
        last.pop(e["cell"], None)
        last[e["cell"]] = e["state"]
    return list(last.values())


def test_retries(t):
    flaky = 'n = (n or 0) + 1\nprint("try " .. n)\nif n < 3 then error "not yet" end'
    k = headless(t, cell(flaky, "Flaky retries=2") + cell("print 'next'"))
    assert k.code == 0 and k.text() == "try 1\ntry 2\ntry 3\nnext\n", k.text()
    assert [e["state"] for e in k.of("state")][:6] == ["running", "failed", "running", "failed", "running", "ok"]
    assert k.text(name="stderr") == "attempt 2 of 3, after: line 3: not yet\nattempt 3 of 3, after: line 3: not yet\n" and len(k.of("error")) == 2
    end = k.of("end")[0]
    assert (end["ok"], end["failed"]) == (2, 0), end
    k = headless(t, cell(flaky, "Flaky retries=1") + cell("print 'next'"))
    assert k.code == 1 and k.text() == "try 1\ntry 2\n" and k.of("end")[0]["failed"] == 1
    k = headless(t, cell("n = (n or 0) + 1\nprint(n)\nif n < 2 then firesteel.sleep(60) end", 'retries=3 timeout="300ms"'))
    assert k.code == 0 and k.text() == "1\n2\n", k.text()  # a time-out is a failed attempt
    k = headless(t, cell("k8s.create { apiVersion = 'v1', kind = 'ConfigMap', metadata = { name = 'x' } }", "retries=5"))
    assert k.code == 3 and len(k.of("error")) == 1  # what was refused is refused again
    k = Kernel(t)
    cell_id = k.insert("print 'started'\nfiresteel.sleep(60)", "retries=5")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream")
    k.ask(type="interrupt")
    assert k.done(cell_id, 5)["state"] == "cancelled"  # a person has ended it
    assert k.run("'here'").value == "here" and len(k.of("error")) == 1


def test_what_an_attempt_said_stays(t):
    flaky = 'n = (n or 0) + 1\nif n < 2 then error("no " .. os.getenv "DB_PASSWORD" .. "\\nmore") end'
    k = Kernel(t, cell(flaky, "Flaky retries=1"), headless=True, env={"DB_PASSWORD": "open\nsesame street"})
    k.finish(60)
    assert k.code == 0 and k.text(name="stderr") == "attempt 2 of 2, after: line 2: no [secret]\n", k.text(name="stderr")
    k = headless(t, cell("n = (n or 0) + 1\nif n < 2 then firesteel.sleep(60) end", 'retries=1 timeout="300ms"'))
    assert k.text(name="stderr").startswith("attempt 2 of 2, after: line 2: the cell ran longer than its timeout"), k.text(name="stderr")


def test_when_nothing_fails(t):
    k = headless(t, cell("x = 4") + cell("print 'one'", 'when="x > 3"') + cell("print 'two'", 'when="x == 3"') +
                 cell("print 'three'", 'when="failed"') + CLEAN + cell("print 'five'", 'when="not failed and x"'))
    assert k.code == 0 and k.text() == "one\nclean\tnil\nfive\n", k.text()
    assert sorted(states(k)) == ["idle", "idle", "ok", "ok", "ok", "ok"], states(k)
    end = k.of("end")[0]
    assert (end["ok"], end["failed"], end["cancelled"]) == (4, 0, 0), end


def test_after_a_failure(t):
    k = headless(t, cell("x = 4") + cell("error 'first'", "Bad") + cell("print 'never'") + cell("print 'never'", 'when="x > 3"') +
                 cell('print(firesteel.failure().cell, firesteel.failure().message)\nerror "second"', 'when="always"') +
                 CLEAN + cell("print 'report'", 'when="failed and x == 4"'))
    assert k.code == 1 and k.text() == "Bad\tfirst\nclean\terror\nreport\n", k.text()
    end = k.of("end")[0]
    assert end["message"] == "first" and (end["ok"], end["failed"], end["cancelled"]) == (3, 2, 2), end
    k = headless(t, cell("k8s.create { apiVersion = 'v1', kind = 'ConfigMap', metadata = { name = 'x' } }") + CLEAN)
    assert k.code == 3 and k.text() == "clean\trefused\n", k.text()  # the exit code stays that of the first


def test_a_when_that_is_wrong(t):
    k = headless(t, cell("print(1)", 'when="no_such.field"') + CLEAN)
    assert k.code == 1 and k.text() == "clean\terror\n", (k.text(), k.of("error"))
    path = os.path.join(t.dir(), "n.lua")
    for marker, says in (('when="x >"', "neither"), ('when="allways"', 'did you mean "always"?'), ("retries=-1", "from 0 to 100"), ('retries="2"', "from 0 to 100"), ("when=3", "a text"),
                         ("[markdown] retries=1", "for code cells")):
        with open(path, "w", encoding="utf-8") as f:
            f.write(cell("print(1)", marker))
        checked = sh(FIRESTEEL, "check", path)
        assert checked.code == 2 and says in checked.err + checked.out, (marker, checked)


def test_after_an_interrupt(t):
    k = Kernel(t, cell(f"sh 'echo started; sleep 66.{OWN}'") + cell("print 'never'") + CLEAN +
               cell("firesteel.sleep(60)", 'when="always" timeout="300ms"') + CLEAN.replace("Clean", "Again"), headless=True)
    k.wait(lambda e: e["type"] == "stream" and "started" in e["text"])
    assert k.ask(type="interrupt")["ok"]
    k.finish(30)
    assert k.code == 130 and k.text().count("clean\tinterrupted\n") == 2, (k.code, k.text())
    assert not processes(f"sleep 66.{OWN}")
    limits = [e["limit"] for e in k.of("state", state="running") if "limit" in e]
    assert limits == [60000, 300, 60000], limits  # bounded


def test_who_insists_gets_no_clean_up(t):
    k = Kernel(t, cell("print 'started'\nfiresteel.sleep(60)") + cell("print 'cleaning'\nfiresteel.sleep(60)", 'when="always"') + CLEAN,
               headless=True)
    k.wait(lambda e: e["type"] == "stream" and "started" in e["text"])
    assert k.ask(type="interrupt")["ok"]
    k.wait(lambda e: e["type"] == "stream" and "cleaning" in e["text"])
    began = time.monotonic()
    assert k.ask(type="interrupt")["ok"]
    k.finish(20)
    assert k.code == 130 and "clean\t" not in k.text() and time.monotonic() - began < 10 * PATIENCE


def test_a_clean_up_that_runs_outlives_the_runs_time(t):
    folder = t.dir()
    path = os.path.join(folder, "n.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write(cell("error 'first'") + cell("firesteel.sleep(1.5) print 'cleaned'", 'when="always"') + cell("print 'more'", 'when="always"'))
    done = sh(FIRESTEEL, "run", path, "--timeout", "1s", cwd=folder)
    assert done.code == 1 and "    cleaned\n" in done.out and "    more\n" in done.out, done
    with open(path, "w", encoding="utf-8") as f:
        f.write(cell("error 'first'") + cell("firesteel.sleep(60)", 'when="always" timeout="1500ms"'))
    done = sh(FIRESTEEL, "run", path, "--timeout", "1s", cwd=folder)
    assert done.code == 1 and 'longer than its timeout="1.5s"' in done.out, done


def test_after_the_runs_time_and_a_signal(t):
    folder = t.dir()
    path = os.path.join(folder, "n.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write(cell("io.open('started', 'w'):close() firesteel.sleep(60)") + cell("io.open('cleaned', 'a'):write(firesteel.failure().name)", 'when="always"'))
    done = sh(FIRESTEEL, "run", path, "--timeout", "1s", cwd=folder)
    cleaned = os.path.join(folder, "cleaned")
    assert done.code == 4 and open(cleaned, encoding="utf-8").read() == "timeout", done
    os.remove(cleaned)
    os.remove(os.path.join(folder, "started"))
    detached = sh(FIRESTEEL, "run", path, "--detach", cwd=folder)
    assert detached.code == 0, detached
    eventually(lambda: os.path.exists(os.path.join(folder, "started")), 10)
    k = sh(FIRESTEEL, "ps", "-o", "json", cwd=folder)
    pid = next((int(p) for p in os.listdir("/proc") if p.isdigit() and is_kernel_of(p, path)), None)
    assert pid, k
    os.kill(pid, signal.SIGTERM)
    eventually(lambda: os.path.exists(cleaned) and open(cleaned, encoding="utf-8").read() == "interrupted", 10)
    eventually(lambda: not os.path.exists(f"/proc/{pid}"), 10)


def is_kernel_of(pid, path):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
    except OSError:
        return False
    return words[0].endswith(b"firesteel-kernel") and path.encode() in words


def test_tags_of_nbclient(t):
    k = headless(t, cell("error 'as expected'", 'tags=["raises-exception"]') + cell("error 'never'", 'tags=["skip-execution"]') +
                 cell("error 'never'", 'tags=["skip"]') + cell("print 'end'"))
    assert k.code == 0 and k.text() == "end\n" and [e["message"] for e in k.of("error")] == ["as expected"]
    assert k.of("end")[0]["ok"] == 2 and [e["state"] for e in k.of("state") if e["state"] in ("ok", "failed")] == ["ok", "ok"]
    k = headless(t, cell("firesteel.sleep(60)", 'tags=["raises-exception"] timeout="200ms"'))
    assert k.code == 4  # that is no exception


def test_in_the_workbench(t):
    k = Kernel(t, cell("print 'alone'", 'when="failed"') + cell("error 'x'") + cell("print 'never'") + CLEAN + cell("print 'skip'", 'tags=["skip"]'))
    ids = [c["id"] for c in k.cells()]
    k.execute(0)
    assert k.text() == "alone\n"  # who asks for one cell gets it
    k.execute(4)
    assert k.text().endswith("skip\n")
    assert k.ask(type="execute", cells=ids[1:4])["ok"]
    assert k.done(ids[3])["state"] == "ok" and k.text(ids[3]) == "clean\terror\n" and not k.text(ids[2])
    k.wait(lambda e: e["type"] == "kernel" and e["state"] == "idle")
    assert k.ask(type="execute", cells=[ids[3], ids[0]])["ok"]
    k.wait(lambda e: e["type"] == "state" and e["cell"] == ids[0] and e["state"] == "idle")
    assert k.text(ids[3]).endswith("clean\tnil\n")  # what failed before is over


run(globals())
