#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cells are stopped, or reported as wedged if they cannot be; time-outs, memory; and the kernel goes on."""
import json
import os
import time

from kernel import Connection, Kernel, cell
from tap import OWN, PATIENCE, eventually, processes, run


def interrupt(k, source, marker="", after='print "started"\n', seconds=3):
    """Runs a cell until it has printed, interrupts it, and returns how long that took, and the error."""
    cell_id = k.insert(after + source, marker)
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "started" in e.get("text", ""))
    time.sleep(0.05)
    began = time.monotonic()
    assert k.ask(type="interrupt")["ok"]
    state = k.done(cell_id, seconds)
    took = time.monotonic() - began
    error = k.of("error", cell=cell_id)[0]
    assert state["state"] == "cancelled" and error["name"] == "interrupted", (state, error)
    assert took < 1 * PATIENCE, took
    assert k.run("'still ' .. 'here'").value == "still here"
    return error


def test_loops(t):
    k = Kernel(t)
    error = interrupt(k, "while true do end")
    assert error["line"] == 2, error
    interrupt(k, "local function f() return f() end f()")
    interrupt(k, "repeat local x = 1 until false")
    interrupt(k, "for i = 1, math.huge do end")
    interrupt(k, "::again:: goto again")


def test_loops_that_catch_errors(t):
    k = Kernel(t)
    interrupt(k, "while true do pcall(function() while true do end end) end")
    interrupt(k, "while true do xpcall(function() while true do end end, function() while true do end end) end")
    interrupt(k, "pcall(function() pcall(function() while true do end end) while true do end end) while true do end")
    interrupt(k, "while true do pcall(error, 'x') end")


SLOW_TO_SHOW = """slow = setmetatable({}, {__tostring = function()
  local till = os.time() + 60 while os.time() < till do pcall(function() while true do end end) end end})"""


def ask_about_slow(k):
    """A lookup whose answer needs a user's __tostring that does not end by itself."""
    assert k.run(SLOW_TO_SHOW).state == "ok"
    k.send(type="inspect", id=990, source="slow", cursor=2)
    k.send(type="complete", id=991, source="slow.", cursor=5)
    time.sleep(0.1)


def test_an_interrupt_while_a_lookup_is_answered(t):
    k = Kernel(t)
    for _ in range(3):
        ask_about_slow(k)
        cell_id = k.insert("while true do end")
        # in one piece: so the kernel is told of the second before it knows that the lookup has ended
        k.connection.sock.sendall(b"".join(json.dumps(m).encode() + b"\n" for m in (
            {"type": "execute", "cells": [cell_id]}, {"type": "interrupt"})))
        assert k.done(cell_id, 5)["state"] == "cancelled"
    assert k.run("'still ' .. 'here'").value == "still here"


def test_a_timeout_while_a_lookup_is_answered(t):
    k = Kernel(t)
    ask_about_slow(k)
    cell_id = k.insert("while true do end", 'timeout="300ms"')
    k.start(cell_id)
    assert k.done(cell_id, 8)["state"] == "failed"
    assert k.of("error", cell=cell_id)[0]["name"] == "timeout"


def test_an_interrupt_of_one_cell_does_not_reach_the_next(t):
    k = Kernel(t)
    for _ in range(20):
        first = k.insert("print 'on' while true do end")
        k.start(first)
        k.wait(lambda e: e["type"] == "stream" and e["cell"] == first)
        k.send(type="interrupt")
        second = k.insert("local n = 0 for i = 1, 1e6 do n = n + 1 end return n")
        k.start(second)
        assert k.done(first)["state"] == "cancelled"
        assert k.done(second)["state"] == "ok"


def test_a_capture_that_does_not_fit_into_memory(t):
    k = Kernel(t, "", "--memory", "8M")
    r = k.run("local line = ('x'):rep(1023) for i = 1, 15 * 1024 do print(line) end", 'capture="all"')
    assert r.state == "failed" and r.error["name"] == "memory", r
    assert "--memory" in r.error["message"], r.error
    assert k.run("all").value is None and k.run("1 + 1").value == "2"


def test_coroutines(t):
    k = Kernel(t)
    interrupt(k, "coroutine.wrap(function() while true do end end)()")
    interrupt(k, "local co = coroutine.create(function() while true do end end) while true do coroutine.resume(co) end")
    interrupt(k, """local function nest(n)
        return coroutine.wrap(function() if n == 0 then while true do coroutine.yield() end end
          local inner = nest(n - 1) while true do pcall(inner) coroutine.yield() end end)
      end
      local outer = nest(5) while true do outer() end""")
    interrupt(k, "pcall(coroutine.wrap(function() pcall(function() while true do end end) end)) while true do end")
    interrupt(k, "for x in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end")
    interrupt(k, "local co = coroutine.wrap(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) end) co()")


def test_inside_functions_of_c(t):
    k = Kernel(t)
    interrupt(k, "table.sort({3, 2, 1, 5, 4}, function(a, b) while true do end end)")
    interrupt(k, "local s = ('x'):rep(100) s:gsub('x', function() while true do end end)")
    interrupt(k, "local t = setmetatable({}, {__index = function(t, k) while true do end end}) print(t.x)")
    interrupt(k, "while true do load(function() while true do end end) end")
    interrupt(k, "while true do tostring(setmetatable({}, {__tostring = function() while true do end end})) end")
    interrupt(k, "while true do local s = ('ab'):rep(1000):find('b.-c') end")


def test_waits_and_children(t):
    k = Kernel(t)
    interrupt(k, "firesteel.sleep '1h'")
    interrupt(k, "pcall(firesteel.sleep, 3600) while true do end")
    interrupt(k, "coroutine.wrap(function() pcall(firesteel.sleep, 3600) end)()")
    interrupt(k, f"sh 'echo waiting; sleep 3600.{OWN}'")
    interrupt(k, "table.sort({3, 2, 1}, function(a, b) sh 'sleep 3600.%s' end)" % OWN)
    interrupt(k, f"sleep 3600.{OWN}", 'language="bash"', after="echo started\n")
    eventually(lambda: not processes(OWN), 5)


def test_a_child_that_does_not_listen(t):
    k = Kernel(t)
    cell_id = k.insert(f"""sh [[trap '' INT TERM; echo started; while :; do sleep 1234.{OWN}; done]]""")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id)
    k.ask(type="interrupt")
    assert k.done(cell_id, 6)["state"] == "cancelled"
    eventually(lambda: not processes(OWN), 5)


def test_the_queue_is_forgotten(t):
    k = Kernel(t)
    first, second = k.insert("print 'started' while true do end"), k.insert("print 'second'")
    k.ask(type="execute", cells=[first, second])
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == first)
    k.ask(type="interrupt")
    assert k.done(first)["state"] == "cancelled"
    assert k.done(second)["state"] == "cancelled"
    assert not k.of("stream", cell=second)


def test_an_interrupt_too_late_harms_nothing(t):
    k = Kernel(t)
    for _ in range(30):
        cell_id = k.insert("local n = 0 for i = 1, 20000 do n = n + i end print(n)")
        k.start(cell_id)
        k.send(type="interrupt")
        k.done(cell_id)
        assert k.run("2 + 2").value == "4"


def wedge(t, source):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, cell("print 'one'", "One"), "--socket", sock)
    k.execute(0)
    k.ask(type="edit", rev=9, cell=k.cells()[0]["id"], source="print 'edited'")
    cell_id = k.insert("print 'started'\n" + source, "Wedged")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id)
    k.ask(type="interrupt")
    began = time.monotonic()
    k.wait(lambda e: e["type"] == "kernel" and e["state"] == "wedged", 15)
    assert time.monotonic() - began > 3
    return k, sock, cell_id


def test_wedged_in_a_pattern_and_restarted(t):
    k, sock, cell_id = wedge(t, "return (('a'):rep(5000)):find(('.-'):rep(20) .. 'b')")
    assert k.ask(type="execute", cells=[k.cells()[0]["id"]])["ok"]  # the loop still serves clients
    old_pid, old_journal = k.pid(), k.journal()
    assert k.ask(type="restart")["ok"]
    k.wait(lambda e: e["type"] == "end")
    eventually(lambda: not os.path.exists(f"/proc/{old_pid}"), 5)
    again = eventually(lambda: attach(sock), 10)
    t.after(again.close)
    welcome = again.wait(lambda e: e["type"] == "welcome")
    assert welcome["pid"] != old_pid and welcome["journal"] != old_journal
    document = again.wait(lambda e: e["type"] == "document")
    assert [c["source"] for c in document["cells"]][0] == "print 'edited'", document
    again.ask(type="execute", cells=[document["cells"][0]["id"]])
    again.wait(lambda e: e["type"] == "stream" and e["text"] == "edited\n")
    again.send(type="shutdown")
    assert k.process.wait(10 * PATIENCE) == 0


def attach(sock):
    try:
        connection = Connection.to(sock)
    except OSError:
        return None
    connection.send(type="hello", version=1)
    try:
        connection.wait(lambda e: e["type"] == "welcome", 2)
    except (AssertionError, OSError):
        return None
    return connection


def test_wedged_in_a_finalizer(t):
    k, _, _ = wedge(t, "setmetatable({}, {__gc = function() while true do end end}) collectgarbage()")
    assert k.ask(type="restart")["ok"]


def test_finalizers_do_not_keep_a_kernel(t):
    k = Kernel(t, cell("keep = setmetatable({}, {__gc = function() while true do end end})"), headless=True)
    began = time.monotonic()
    assert k.finish() == 0
    assert time.monotonic() - began < 6 * PATIENCE


def test_inspecting_what_does_not_end(t):
    k = Kernel(t)
    k.run("bad = setmetatable({}, {__tostring = function() while true do end end})")
    assert not k.ask(type="inspect", source="bad", cursor=3)["ok"]
    assert k.run("1 + 1").value == "2"


def test_time_out_of_a_cell(t):
    notebook = cell("print 'before' while true do pcall(function() while true do end end) end", 'Slow timeout="300ms"')
    k = Kernel(t, notebook + cell("print 'never'"), headless=True)
    began = time.monotonic()
    assert k.finish() == 4
    assert time.monotonic() - began < 3 * PATIENCE
    error = k.of("error")[0]
    assert (error["name"], error["exit"]) == ("timeout", 4), error
    assert error["message"] == 'the cell ran longer than its timeout="300ms"', error
    assert k.of("end")[0]["outcome"] == "timeout" and "never" not in k.text()
    k = Kernel(t, cell("sh 'sleep 60'", 'timeout="200ms"'), headless=True)
    assert k.finish() == 4


def test_time_out_of_the_run(t):
    k = Kernel(t, cell("while true do firesteel.sleep '50ms' end"), "--timeout", "400ms", headless=True)
    assert k.finish() == 4
    assert "--timeout of 400ms" in k.of("error")[0]["message"]


def test_time_out_of_a_wedged_cell(t):
    k = Kernel(t, cell("return (('a'):rep(5000)):find(('.-'):rep(20) .. 'b')", f'timeout="{round(100 * PATIENCE)}ms"'), headless=True)
    assert k.finish(15) == 4
    assert k.of("end")[0]["exit"] == 4
    (told,) = [e["message"] for e in k.of("kernel", state="wedged")]
    assert "the run ends without it" in told and "restart" not in told, told
    assert "timeout" in k.of("error")[0]["message"], k.of("error")


def test_memory_is_capped(t):
    k = Kernel(t, "", "--memory", "64M")
    r = k.run("t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1000) .. i end")
    assert r.error["name"] == "memory" and "64 MiB" in r.error["message"] and "--memory" in r.error["message"], r.error
    r = k.run("local s = ('x'):rep(1 << 40)")
    assert r.state == "failed"
    assert k.run("t = nil collectgarbage() return 'fine'").value == "fine"
    r = k.run("print(pcall(string.rep, 'x', 100 << 20))")
    assert r.out == "false\tnot enough memory\n", r


def test_interrupting_a_headless_run(t):
    k = Kernel(t, cell(f"print 'started' sh 'sleep 2345.{OWN}'"), headless=True)
    k.wait(lambda e: e["type"] == "stream")
    k.send(type="interrupt")
    assert k.finish() == 130
    assert k.of("end")[0]["outcome"] == "interrupted"
    assert not processes(OWN)


def test_deep_recursion_is_an_error(t):
    k = Kernel(t)
    r = k.run("local function f(n) return 1 + f(n + 1) end\nf(1)")
    assert r.state == "failed" and "stack overflow" in r.error["message"], r
    assert len(r.error["traceback"]) <= 32
    r = k.run("local t = {} t.t = t firesteel.json(t)")
    assert r.error["message"].endswith("t: it contains itself"), r
    r = k.run("local t = {} for i = 1, 300 do t = { t } end firesteel.json(t)")
    assert "nested too deeply" in r.error["message"], r
    assert k.run("1").value == "1"


def test_a_sleep_of_any_length_sleeps(t):
    for length in "1e10", "math.huge", "9.3e9":
        k = Kernel(t)
        interrupt(k, f"firesteel.sleep({length})\nerror('woke up')")
    for length in "-math.huge", "-1", "0/0", "'soon'":
        assert "duration" in Kernel(t).run(f"firesteel.sleep({length})").error["message"]


run(globals())
