#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Outputs on the full screen: large ones paged from the spool, searched, filtered, followed."""
import glob
import os
import re

from screen import Screen
from tap import FIRESTEEL, eventually, run, sh, stop_kernels

ROWS = 300000
MANY = f'for i = 1, {ROWS} do print("row " .. i .. (i % 1000 == 0 and " Mark" or "")) end\n'
GROWING = 'for i = 1, 1e9 do print("step " .. i); if i % 50 == 0 then sh "sleep 0.05" end end\n'


def opened(t, text, wait="idle", size="80x24", **options):
    where = t.dir()
    with open(os.path.join(where, "page.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    t.after(stop_kernels)
    s = Screen([FIRESTEEL, "page.lua"], cwd=where, size=size, **options)
    s.where = where
    s.wait("idle")
    s.keys("C-e")
    s.wait("[1]" if wait == "idle" else "[*]")
    s.wait(wait)
    return s


def title(s):
    """(first, last, count) of "Output  1–22 of 300000 lines"."""
    found = re.search(r"(\d+)–(\d+) of (\d+) lines", s.screen()[0])
    return tuple(int(n) for n in found.groups()) if found else (0, 0, 0)


def body(s):
    return s.screen()[1:-1]


def shows(s, *rows, at=0):
    """Waits until the body has these rows from row `at` on."""
    eventually(lambda: body(s)[at:at + len(rows)] == list(rows))


def line(s, words):
    """Types a search or a filter, whose key was pressed."""
    s.type(words)
    s.keys("Enter")


def leave(s):
    s.keys("q")
    leave_notebook(s)


def leave_notebook(s):
    s.wait("? help")
    s.keys("q")
    assert s.exit() == "exit 0"


def test_every_line_can_be_reached(t):
    with opened(t, MANY) as s:
        s.keys("O")
        s.wait(f"of {ROWS} lines")
        s.keys("g")
        s.wait("Output  1–22")
        shows(s, *[f"row {i}" for i in range(1, 23)])
        s.keys("G")
        s.wait(f"Output  {ROWS - 21}–{ROWS}")
        shows(s, f"row {ROWS} Mark", at=21)
        s.keys("j j")
        s.quiet()
        assert title(s) == (ROWS - 21, ROWS, ROWS), title(s)
        s.keys("PgUp")
        s.wait(f"Output  {ROWS - 42}–")
        s.keys("k")
        s.wait(f"Output  {ROWS - 43}–{ROWS - 22} ")
        shows(s, f"row {ROWS - 43}")
        s.keys("g PgDn Space")
        s.wait("Output  43–64 ")
        s.keys("L")
        s.wait("    43 row 43")
        leave(s)


def test_a_search_finds_what_is_far(t):
    with opened(t, MANY) as s:
        s.keys("O g /")
        line(s, "^r.w 123456$")
        s.wait("Output  123456–")
        shows(s, "row 123456")
        styles = s.styles()
        at = next(i for i, row in enumerate(styles) if row == "|row 123456")
        assert "0-9" in styles[at + 1] and "reverse" in styles[at + 1], styles[at:at + 2]
        s.wait("“^r.w 123456$” 1 of 1 line")
        s.keys("/")
        line(s, "mark")
        s.wait("Output  124000–")
        s.wait("“mark” 124 of 300 lines")
        s.keys("n")
        s.wait("Output  125000–")
        s.wait("“mark” 125 of 300 lines")
        s.keys("N N N")
        s.wait("Output  122000–")
        s.wait("“mark” 122 of 300 lines")
        s.keys("g N")
        s.wait(f"{ROWS} of {ROWS} lines")
        s.wait("“mark” 300 of 300 lines")
        s.keys("n")
        s.wait("Output  1000–")
        s.send(b"g/mark\rnn")  # one packet, as on a slow line
        s.wait("Output  3000–")
        s.wait("“mark” 3 of 300 lines")
        s.keys("j")  # what another key says is not overwritten
        s.gone("of 300 lines")
        s.keys("&")
        line(s, "5000")
        s.wait("of 60 lines with “5000”, of 300000")
        s.keys("g")
        s.wait("Output  1–")
        s.keys("N")
        s.wait("“mark” 33 of 33 lines")  # of those that are shown
        s.keys("Esc")
        s.keys("/")
        line(s, "not there")
        s.wait("“not there” is nowhere")
        leave(s)


def test_a_filter_shows_what_matches(t):
    with opened(t, MANY) as s:
        s.keys("O g &")
        s.type("7777")
        matching = [i for i in range(1, ROWS + 1) if "7777" in str(i)]
        s.wait(f"of {len(matching)} lines with “7777”, of {ROWS}")
        shows(s, *[f"row {i}" for i in matching[:21]])
        s.keys("Enter G")
        s.wait(f"–{len(matching)} of")
        shows(s, f"row {matching[-1]}", at=21)
        s.keys("/")
        line(s, "row 97777")
        shows(s, "row 97777")
        s.keys("g L")
        s.wait(f"  {matching[0]} row {matching[0]}")
        s.keys("j j")
        s.quiet()
        s.keys("Esc")  # all lines again, and the top line stays
        s.wait(f"Output  {matching[2]}–")
        s.keys("&")
        line(s, "!row 1")
        without = [i for i in range(1, ROWS + 1) if not str(i).startswith("1")]
        s.wait(f"of {len(without)} lines without “row 1”")
        s.keys("& C-u")
        s.type("x")
        s.wait("no line matches")
        s.keys("Esc")
        s.wait(f"of {ROWS} lines")
        leave(s)


def in_order(rows):
    numbers = [int(row.split()[1]) for row in rows]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_log_that_grows_is_followed(t):
    with opened(t, GROWING, wait="● [") as s:
        s.wait("more lines above")
        s.keys("O")
        s.wait("following")
        first = title(s)
        eventually(lambda: title(s)[1] > first[1] + 300)
        eventually(lambda: in_order([row for row in body(s) if row]))
        s.keys("g")
        s.gone("following")
        count = title(s)[2]
        eventually(lambda: title(s)[2] > count + 200)
        shows(s, "step 1", "step 2")
        s.keys("f &")
        line(s, "00")
        s.wait("with “00”")
        count = title(s)[2]
        eventually(lambda: title(s)[2] > count + 20)
        eventually(lambda: all("00" in row for row in body(s)) and title(s)[1] == title(s)[2])
        s.keys("Esc C-c")
        s.wait("idle")
        s.keys("G")
        s.wait("interrupted")
        leave(s)


def test_sizes_and_wide_characters(t):
    text = 'for i = 1, 3000 do print(i .. ("漢字é"):rep(20) .. " end " .. i) end\n' \
           'print("tab\\there")\n'
    with opened(t, text, size="40x10") as s:
        s.keys("O g")
        s.wait("end 2")
        s.quiet()
        rows = body(s)
        assert "".join(rows[:3]).replace(" ", "") == "1" + "漢字é" * 20 + "end1", rows
        s.keys("j")  # a row, within the first line
        shows(s, *rows[1:7])
        s.keys("k w")
        eventually(lambda: [row[:1] for row in body(s)] == [str(i) for i in range(1, 9)])
        eventually(lambda: all(row.endswith("›") for row in body(s)))
        s.keys("Right")  # by half a screen: 20 columns, of which é takes one and 漢 two
        shows(s, "é" + "漢字é" * 7 + "漢 ›")
        s.keys("Left G")
        eventually(lambda: body(s)[7].split() == ["tab", "here"])
        s.resize("130x30")
        s.wait("end 3000")
        eventually(lambda: title(s) == (2974, 3001, 3001))
        s.resize("40x10")
        eventually(lambda: title(s)[1:] == (2981, 3001))
        s.keys("w G")
        eventually(lambda: body(s)[7].split() == ["tab", "here"] and body(s)[6].endswith("end 3000"))
        leave(s)


def test_tabs_go_as_far_as_on_a_terminal(t):
    with opened(t, '''sh "printf 'PID\\tCOMMAND\\n1\\tinit\\n12345\\tbash\\n'"''') as s:
        s.wait("12345   bash")
        rows = [row.strip("▌│ ") for row in s.screen() if "│" in row and "printf" not in row]
        assert rows[:3] == ["PID     COMMAND", "1       init", "12345   bash"], text(s)
        s.keys("O")
        s.wait("of 3 lines")
        assert body(s)[:3] == rows[:3], text(s)
        leave(s)


def test_outputs_of_all_kinds_are_one_text(t):
    text = 'print("\\27[31mred\\27[0m\\27]0;x\\7!")\nsh "echo wrong >&2"\ndisplay { 1, 2 }\n' \
           f'{MANY}error "at the end"\n'
    with opened(t, text, wait="failed") as s:
        s.wait("idle")
        s.keys("O G")
        s.wait("line 5: ")
        s.keys("g")
        shows(s, "red!", "wrong", "{1, 2}", "row 1")
        assert any("0-2 fg=1" in row for row in s.styles()), s.styles()
        s.keys("/")
        line(s, "at the end")
        s.wait("at the end")
        s.keys("/")
        line(s, "row 299999")
        s.wait("row 299999")
        leave(s)


def test_lines_are_whole_where_the_spool_begins(t):
    with opened(t, 'sh "seq 1 200000"\n') as s:
        s.wait("200000")
        s.keys("O")
        s.wait("of 200000 lines")
        leave(s)


def test_below_the_cell_stands_the_end(t):
    with opened(t, MANY) as s:
        s.wait(f"⋮ {ROWS - 24} more lines above; O shows all")
        s.keys("PgDn")
        s.wait(f"│ row {ROWS} Mark")
        leave_notebook(s)
    with opened(t, 'for i = 1, 300 do print(i); display(i * 1000) end\n\n-- %%\n' * 2) as s:
        s.keys("g g G g g")  # what was drawn and forgotten is drawn again
        s.wait("⋮ ")
        s.wait("more outputs above; O shows all")
        for _ in range(30):
            if "│ 300000" in "\n".join(s.screen()):
                break
            s.keys("PgDn")
            s.quiet()
        s.wait("│ 300000")
        s.keys("PgUp " * 30)
        s.wait("more outputs above")
        leave_notebook(s)


def test_a_long_line_and_a_lost_spool(t):
    text = 'print(("x"):rep(400000) .. "END")\nprint "after"\n'
    with opened(t, text) as s:
        s.keys("O g w")
        shows(s, "after", at=1)
        assert title(s) == (1, 2, 2), s.screen()
        s.keys("w G")
        s.wait("KiB are left out")
        leave(s)
    with opened(t, MANY) as s:
        for file in glob.glob(os.path.join(s.where, ".firesteel", "*", "out-*")):
            os.remove(file)
        s.keys("O G")
        s.wait("cannot open the spool")
        leave(s)


BARS = """
for i = 1, 40 do print("before " .. i) end
io.write "layer a: waiting\\nlayer b: waiting\\n"
for i = 1, 60 do
  io.write(("\\27[2A\\27[2Klayer a: %d/60\\n\\27[2Klayer b: %d/60\\n"):format(i, i // 2))
  if i == 30 then while not io.open("go") do sh "sleep 0.02" end end
end
for i = 1, LINES do print("after " .. i) end
"""


def test_what_goes_up_is_as_it_became(t):
    """As docker and rich draw: the same lines as below the cell, in memory and in a spool."""
    for lines in (30, ROWS):
        with opened(t, BARS.replace("LINES", str(lines)), wait="│ before 19", seconds=60) as s:
            s.keys("O")
            s.wait("layer a: 30/60")
            eventually(lambda: title(s)[2] == 42)
            assert "layer b: 15/60" in body(s), s.screen()
            with open(os.path.join(s.where, "go"), "w"):
                pass
            eventually(lambda: title(s)[2] == 42 + lines)
            s.keys("g")
            s.keys("/")
            line(s, "layer b")
            s.wait("“layer b” 1 of 1 line")
            assert "layer b: 30/60" in body(s), s.screen()
            s.keys("&")
            line(s, "layer")
            shows(s, "layer a: 60/60", "layer b: 30/60", "")
            s.keys("Esc")
            s.wait("42 lines" if lines == 0 else f"of {42 + lines} lines")
            s.keys("G")
            s.wait(f"after {lines}")
            s.wait("100%")
            leave(s)


def test_the_palette_shows_only_keys_that_work_here(t):
    with opened(t, "print(1)\n") as s:
        s.keys("O")
        s.wait("100%")
        s.keys(": s a v e")
        s.wait("save-as")
        row = next(row for row in s.screen() if row.startswith("  save-as"))
        assert not row.endswith(" n"), row  # that is a key of a dialog
        s.keys("Esc")
        s.gone("save-as")
        s.keys(": f o l l o w")
        s.wait("  follow")
        assert next(row for row in s.screen() if row.startswith("  follow")).endswith(" f"), s.screen()
        s.keys("Esc q")
        s.wait("COMMAND")
        s.keys("Enter")
        s.wait("EDIT")
        s.keys("C-p")
        s.type("delete-cell")
        s.wait("Esc d d")  # d alone would be typed
        s.keys("Esc Esc")
        s.wait("COMMAND")
        leave_notebook(s)


run(globals())
