#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The variables of cells as a table (:vars): values as a whole, what is hidden, their cells, after each cell anew."""
from bench import folder, leave, opens, text, workbench
from tap import run

CELLS = """-- %% Numbers
lr = 0.25
layers = { 64, 10, name = "dense" }
function double(x) return 2 * x end

-- %% Slow
sh "sleep 2"
epochs = 5
lr = 0.5
"""


def test_the_variables_of_lua(t):
    s = workbench(folder(t, CELLS), size="100x24")
    opens(s, "vars", "nothing here yet")
    s.keys("q")
    s.wait("[ ] Numbers")
    s.keys("C-e")
    s.wait("[1] Numbers")
    s.wait("idle")
    opens(s, "vars", "2 rows")
    rows = [row.split() for row in s.screen()[1:4]]
    assert rows[0] == ["NAME", "TYPE", "SHAPE", "BYTES", "VALUE", "CELL"], rows
    assert rows[1][:2] == ["layers", "table"] and rows[2][:3] == ["lr", "float", "0.25"] and rows[2][-1] == "Numbers", rows
    s.keys("a")
    s.wait("function from")
    assert "variables, all" in text(s) and "3 rows" in text(s), text(s)
    s.keys("a")
    s.wait("2 rows")
    s.keys("Enter")
    s.wait("5 lines")
    assert "layers  table" in text(s) and 'name = "dense"' in text(s), text(s)
    s.keys("q")
    s.wait("2 rows")
    s.keys("Down")
    s.keys("e")
    s.wait("[1] Numbers")
    assert "2 rows" not in text(s), text(s)
    leave(s)


def test_it_follows_each_cell(t):
    s = workbench(folder(t, CELLS), size="100x24")
    s.keys("C-e")
    s.wait("[1] Numbers")
    s.wait("idle")
    opens(s, "vars", "2 rows")
    s.keys("q")
    s.wait("[1] Numbers")
    s.keys("j C-e")
    s.wait("running")
    opens(s, "vars", "a cell runs, told after it")
    assert "0.25" in text(s), (text(s), "what was known stays")
    s.wait("3 rows")
    assert "0.5" in text(s) and "epochs" in text(s) and "told after it" not in text(s), text(s)
    s.keys("q")
    s.wait("[2] Slow")
    leave(s)


run(globals())
