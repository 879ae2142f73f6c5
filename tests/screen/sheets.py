#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables by their columns, on the full screen: chosen, whole, hidden, sorted and filtered by conditions; how often a
value is there, statistics of all columns, a row as a form, CSV."""
import csv
import glob
import os

from bench import folder, leave, opens, text, workbench
from golden import golden
from screen import Screen
from tap import FIRESTEEL, eventually, run

WIDE = """-- %% Wide
local rows = {}
for i = 1, 200 do
  local row = {}
  for k = 0, 49 do row[("col%02d"):format(k)] = (i * (k + 1)) % 97 end
  row.col49 = "word " .. i % 3
  rows[i] = row
end
display.table(rows)
"""
DAYS = """-- %% Days
display.table {
  { day = "2026-01-02", state = "ok", seconds = "2m10s", note = "the first, and longer than what a column has on any screen, so that it is wrapped" },
  { day = "2026-01-09T08:00", state = "ok", seconds = "40s", note = "" },
  { day = "2026-02-01", state = "failed", seconds = "3s", note = 'say "no", twice' },
}
"""


WIDE_BELOW = "│ col00"


def shown(t, cells, below, **options):
    """The cell's table on the full screen; `below` is what stands below the cell."""
    where = folder(t, cells)
    s = workbench(where, **options)
    s.where = where
    s.keys("C-e")
    s.wait(below)
    s.keys("O")
    s.wait(" table ")
    return s


def names(s):
    return next(row for row in s.screen() if row.startswith(" col") or row.startswith(" day")).split()


def test_whole_columns_scroll(t):
    with shown(t, WIDE, WIDE_BELOW) as s:
        s.wait("of 50 columns")
        first = names(s)
        s.wait(f"{len(first)} of 50 columns, {50 - len(first)} more")
        assert first == [f"col{k:02}" for k in range(len(first))], first
        s.keys("$")
        eventually(lambda: names(s)[-1] == "col49")
        assert names(s)[0] == "col00", names(s)  # the first one stays
        golden(s, "sheet-last-80")
        s.keys("Left Left Left")
        s.styles()
        assert names(s)[-1] == "col49", names(s)  # all of them are in sight
        s.keys("^")
        eventually(lambda: names(s) == first)
        s.keys(" ".join(["Right"] * len(first)))  # from the first to the one after the last that is in sight
        eventually(lambda: names(s)[-1] == f"col{len(first):02}")
        assert all(len(name) == 5 for name in names(s)), names(s)
        s.keys("q q")


def first_cells(s):
    """The first entry of each row that is shown."""
    rows = s.screen()
    start = next(i for i, row in enumerate(rows) if i and row.startswith((" col", " day", " note"))) + 1
    return [row.split()[0] for row in rows[start:-1] if row.strip() and not row.startswith("/")]


def test_a_column_is_hidden_sorts_and_filters(t):
    with shown(t, WIDE, WIDE_BELOW) as s:
        s.wait("of 50 columns")
        s.keys("Right Right H")
        s.wait("1 hidden")
        assert "col01" not in names(s) and "col02" in names(s), names(s)
        s.keys("V")
        eventually(lambda: "col01" in names(s))
        s.keys("$ s")
        s.wait("by col49 ↑")
        s.keys("s")
        s.wait("by col49 ↓")  # once more: the other way round
        s.keys("^ Right |")
        s.wait("/col01")
        s.type(">9")
        s.type("0 and col49~^WORD")
        s.keys("Enter")
        s.wait("/col01>90 and col49~^WORD")
        for row in s.screen()[2:-1]:
            assert not row.strip() or 90 < int(row.split()[1]) < 97, row
        s.keys("Esc /")
        s.type("none>3")
        s.wait("there is no column none")
        s.keys("Esc")
        s.wait("200 rows")
        s.keys("q q")


def test_how_often_a_value_is_there(t):
    with shown(t, WIDE, WIDE_BELOW) as s:
        s.keys("$ #")
        s.wait("How often: col49")
        s.wait("3 values in 200 rows")
        golden(s, "sheet-frequency-80")
        s.keys("j Enter")
        s.wait("/col49='word 2'  67 of 200")
        s.keys("q q")


def test_all_columns_with_what_they_hold(t):
    with shown(t, DAYS, "│ ") as s:
        s.keys("C")
        s.wait("4 columns in 3 rows")
        s.resize("120x24")
        golden(s, "sheet-columns-120")
        s.keys("/")
        s.type("KIND=number")
        s.wait("/KIND=number")
        s.keys("Enter Enter")  # the only one that is left is chosen
        s.wait(" table ")
        s.keys("s")
        s.wait("by seconds ↑")
        s.keys("q q")


def test_a_row_as_a_form(t):
    with shown(t, DAYS, "│ ") as s:
        s.keys("Enter")  # these rows have nothing else to open
        s.wait("row 1 of 3")
        golden(s, "sheet-form-80")
        s.keys("Right Right")
        s.wait("row 3 of 3")
        s.wait('say "no", twice')
        s.keys("Right")
        s.wait("it is the last row")
        s.keys("/")
        s.type("state")
        s.gone("seconds")
        s.keys("Esc q")
        s.wait(" table ")
        s.keys("I")
        s.wait("row 3 of 3")  # the table went with it
        s.keys("q q q")


def test_what_is_shown_is_written_as_csv(t):
    with shown(t, DAYS, "│ ") as s:
        s.keys("/")
        s.type("state=ok or")
        s.wait("a condition that is not complete")
        s.keys("C-u")
        s.type("day>=2026-01-09")
        s.keys("Enter")
        s.wait("2 of 3")
        s.keys("^ Right H C-s")
        s.wait("2 rows written to table-")
        path, = glob.glob(os.path.join(s.where, "table-*.csv"))
        with open(path, newline="", encoding="utf-8") as f:
            rows = list(csv.reader(f))
        assert len(rows) == 3 and rows[0] == ["day", "seconds", "state"] or len(rows[0]) == 3, rows
        assert [row[rows[0].index("day")] for row in rows[1:]] == ["2026-01-09T08:00", "2026-02-01"], rows
        assert os.stat(path).st_mode & 0o777 == 0o600
        s.keys("q q")


def written(t, name, lines):
    where = t.dir()
    with open(os.path.join(where, name), "w", encoding="utf-8") as f:
        f.writelines(line + "\n" for line in lines)
    return where


def test_a_file_of_many_rows(t):
    where = written(t, "many.csv", ["id,name,loss,note"] + [f"{i},run-{i % 50},{i * 7919 % 100000 / 1000},\"a, b\"" for i in range(100000)])
    with Screen([FIRESTEEL, "view", "many.csv"], cwd=where) as s:
        s.wait("100000 rows")
        golden(s, "sheet-file-80")
        s.keys("G")
        s.wait("99999")
        s.keys("g Right Right Right s")
        s.wait("by loss ↑")
        s.gone("sorting")
        eventually(lambda: s.screen()[2].split()[2] == "0.0" and s.screen()[3].split()[2] == "0.001")
        s.keys("/")
        s.type("name=run-7 and loss>99")
        s.keys("Enter")
        n = sum(i % 50 == 7 and i * 7919 % 100000 > 99000 for i in range(100000))
        s.wait(f"{n} of 100000  by loss ↑")
        for row in s.screen()[2:-1]:
            assert not row.strip() or ("run-7 " in row and float(row.split()[2]) > 99), row
        s.keys("Left #")
        s.wait(f"1 value in {n} rows")
        s.keys("q Enter")
        s.wait(f"row 1 of {n}")
        s.keys("q W")
        s.wait(f"{n} rows written to many.csv-")
        s.keys("Esc")
        s.wait("100000 rows")
        s.keys("q")
        assert s.exit() == "exit 0"


def test_objects_on_lines_and_what_is_no_table(t):
    where = written(t, "log.jsonl", ['{"step": 1, "loss": 0.5}', '{"step": 2, "loss": null, "tags": ["a"]}', "cut sho"])
    with Screen([FIRESTEEL, "view", "log.jsonl"], cwd=where) as s:
        s.wait("3 rows")
        assert s.screen()[1].split() == ["step", "loss", "tags"], text(s)
        assert s.screen()[3].split() == ["2", '["a"]'] and s.screen()[4].split() == ["cut", "sho"], text(s)
        s.keys("q")
        assert s.exit() == "exit 0"
    for argv, words in ((["x.parquet"], ".csv, .tsv or .jsonl"), (["none.csv"], "No such file"), ([], "which file?")):
        with Screen([FIRESTEEL, "view", *argv], cwd=where) as s:
            assert s.exit() == ("exit 1" if argv == ["none.csv"] else "exit 2") and words in text(s), (s.exit(), text(s))


def test_a_file_over_a_notebook(t):
    where = folder(t)
    with open(os.path.join(where, "a.tsv"), "w", encoding="utf-8") as f:
        f.write("x\ty\n1\t2\n")
    with workbench(where) as s:
        opens(s, "view a.tsv", "a.tsv  1 row")
        s.keys("q")
        s.wait("COMMAND")
        opens(s, "view b.tsv", "No such file")
        leave(s)


run(globals())
