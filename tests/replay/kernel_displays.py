#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Displays below cells: they are cleared, they end, and the next execution removes them."""
from kernel import Connection, Kernel, cell
from tap import run


def test_clear_drops_what_cells_left(t):
    k = Kernel(t, cell("print 'one'") + cell("p = display.progress(3) print 'two'"))
    k.execute(0, 1)
    first, second = (c["id"] for c in k.cells())
    live = k.of("display", cell=second)[0]["id"]
    refused = k.ask(type="clear", cells=[first, "nobody"])
    assert not refused["ok"] and "nobody" in refused["error"]["message"] and not k.of("cleared"), refused
    assert k.ask(type="clear", cells=[first])["ok"]
    assert k.wait(lambda e: e["type"] == "cleared")["cell"] == first
    assert not k.of("update", id=live, closed=True)
    assert k.ask(type="clear")["ok"]
    k.wait(lambda e: e["type"] == "cleared" and e["cell"] == second)
    assert [e["cell"] for e in k.of("cleared")] == [first, first, second]
    k.wait(lambda e: e["type"] == "update" and e["id"] == live and e.get("closed"))
    assert k.run("p:update(1) p:close()").state == "ok"  # a closed one is left alone
    shown = k.ask(type="act", display=live, action="stop")
    assert not shown["ok"] and "not live any more" in shown["error"]["message"], shown


def test_the_next_execution_ends_what_the_last_left_live(t):
    k = Kernel(t, cell("p = display.progress(3)"))
    k.execute(0)
    first = k.of("display")[0]["id"]
    k.start(k.cells()[0]["id"])
    k.wait(lambda e: e["type"] == "update" and e["id"] == first and e.get("closed"))
    second = k.wait(lambda e: e["type"] == "display" and e["id"] != first)["id"]
    assert k.ask(type="act", display=second, action="stop")["ok"]
    k.wait(lambda e: e["type"] == "update" and e["id"] == second and e.get("closed"))


def test_a_full_progress_ends_with_its_cell(t):
    k = Kernel(t)
    assert k.run("local b = display.progress(5, 'e') for i = 1, 5 do b:update(i) end b:update(5, {loss = 1})").state == "ok"
    full = k.of("display")[0]["id"]
    last = k.wait(lambda e: e["type"] == "update" and e["id"] == full and e.get("closed"))
    assert "loss: 1" in last["data"]["text/plain"], last
    assert k.run("c = display.progress(5) c:update(5) c:update(2)").state == "ok"  # it begins anew
    begun = k.of("display")[1]["id"]
    assert k.run("c:update(5)").state == "ok"  # of another cell
    k.wait(lambda e: e["type"] == "update" and e["id"] == begun and e.get("closed"))
    assert len(k.of("update", id=begun, closed=True)) == 1


def test_clear_while_the_cell_runs(t):
    k = Kernel(t, cell("print 'before' firesteel.sleep '1s' print 'after'"))
    cell_id = k.cells()[0]["id"]
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and "before" in e["text"])
    assert k.ask(type="clear", cells=[cell_id])["ok"]
    k.done(cell_id)
    order = [e["type"] for e in k.events if e["type"] in ("stream", "cleared")]
    assert order == ["stream", "cleared", "stream"], order


run(globals())
