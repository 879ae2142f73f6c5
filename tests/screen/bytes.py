#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Only sequences of a known list reach the terminal, whatever outputs, logs, files and names contain."""
import os
import re

from bench import folder, leave, text, workbench
from tap import eventually, run

# The sequences that curses and we send: placing, colours, setting and resetting modes, line
# drawing, scrolling.
KNOWN = re.compile(rb"""
    \x1b\[ [0-9;]* [ABCDGHJKLMPSTXZ@dfhlmr]      # move, erase, insert, delete, style, scroll region
  | \x1b\[ [0-9]* b                               # repeat a character
  | \x1b\[ \? (1|7|12|25|1000|1004|1006|1034|1049|2004|2026) (;\d+)* [hl]
  | \x1b\[ \? 2026 \$ p                           # asks whether pictures can be whole
  | \x1b\] 11;\? \x1b\\                          # asks for the background's colour
  | \x1b\] 2; (?: [^\x00-\x1f\x7f\xc2\xe2] | \xc2[\xa0-\xbf] | \xe2[^\x80].)* \x07  # the title
  | \x1b\[ > 4 (;1)? m                            # modifyOtherKeys
  | \x1b\[ (22|23) ;0;0t                          # xterm's title stack, part of its smcup
  | \x1b [()] [0AB] | \x1b [=>78M] | [\x08\x0e\x0f]  # character sets, keypad, cursor, reverse index
""", re.X)
EVIL = "\\x1b]0;title\\x07 \\x1b[2J \\x1bP0;1|17/ab\\x1b\\\\ \\x9b31m \\xc2\\x9b1m \\x07\\x08\\x0b\\x7f \\x1b[6n \\x1bc \\xe2\\x80\\xae"


def unknown(log):
    """Control bytes outside of known sequences, with the bytes around them."""
    with open(log, "rb") as f:
        sent = KNOWN.sub(b"", f.read())
    return [sent[max(0, m.start() - 20):m.end() + 20]
            for m in re.finditer(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]", sent)]


def recorded(t, notebook, keys, *argv, until="idle", **options):
    """Runs all of the notebook and presses keys; the program's bytes must all be known."""
    where = folder(t, notebook)
    log = os.path.join(t.dir(), "sent")
    with workbench(where, *argv, log=log, **options) as s:
        s.keys("R")
        s.wait(until)
        s.quiet()
        for names in keys:
            s.keys(names)
            s.quiet(30)
        s.signal("HUP")
        s.exit()
    assert not unknown(log), unknown(log)[:5]


def test_outputs_and_errors(t):
    recorded(t, f'''-- %% Out
print("{EVIL} wide 漢字 e\\u{{301}} \\u{{1F469}}\\u{{200D}}\\u{{1F467}} \\u{{1F1E9}}\\u{{1F1EA}} end")
io.stderr:write("{EVIL}\\n")
display.table {{ {{ NAME = "{EVIL}", ["{EVIL}"] = "x" }} }}
display.plot {{ {{ 1, 2 }}, title = "{EVIL}" }}
"{EVIL}"

-- %% Bad
error("{EVIL}")
''', ["g g", "O", "Tab", "Tab", "Esc", "j", "j", "L", "?"], until="Bad")


def test_names_titles_and_text(t):
    raw = EVIL.encode().decode("unicode_escape").encode("latin-1").decode("utf-8", "replace").replace("\n", "")
    recorded(t, f'-- %% {raw} file="a{raw[:6]}.txt"\nx = 1 -- {raw}\n\n-- %% [markdown]\n-- # {raw}\n',
             ["g g", "Enter", "Right Right Right", "C-End", "Esc", "j", "L", "/"])


def test_questions_objects_and_the_kernels_replies(t):
    recorded(t, f'''-- %% Ask
k8s.create {{ apiVersion = "v1", kind = "ConfigMap", metadata = {{ name = "{EVIL.replace(chr(92) + "x9b31m", "")}" }} }}
''', ["y"], "--sandbox", "small.lua", until="may it do")


def test_logs_of_pods(t):
    recorded(t, '''-- %% Pods
k8s.apply { apiVersion = "v1", kind = "Pod", metadata = { name = "evil" }, spec = { restartPolicy = "Never",
  containers = { { name = "c", image = "host", command = { "printf", [[\\033]0;t\\007 \\033[2J \\033c \\x9b1m line\\n]] } } } } }
k8s.watch "pods"
''', ["a", "j k", "O", "l", "Esc", "d", "Esc"], "--sandbox", "small.lua", until="may it do")


def test_pasted_control_bytes(t):
    where, log = folder(t, "x = 1\n"), os.path.join(t.dir(), "sent")
    with workbench(where, log=log) as s:
        s.keys("Enter C-Home")
        s.wait("EDIT")
        s.send(b"\x1b[200~a\x1b[2Jb\x07\x00c\r\nd\te\x9b\xff\x1b[201~")
        s.wait("d")
        s.keys("Esc C-s")
        s.wait("saved")
        leave(s)
    assert not unknown(log), unknown(log)[:5]
    with open(os.path.join(where, "small.lua"), "rb") as f:
        saved = f.read()
    assert b"\x1b" not in saved and b"\x07" not in saved and b"\nd\te" in saved, saved


def test_a_paste_of_a_megabyte(t):
    where = folder(t, "x = 1\n")
    line = "-- " + "m" * 76
    with workbench(where, seconds=60) as s:
        s.keys("Enter C-Home")
        s.wait("EDIT")
        s.send(b"\x1b[200~")
        for _ in range(128):
            s.do("type", "\\n".join([line] * 110) + "\\n")
        s.send(b"\x1b[201~")
        s.keys("C-End")
        s.type(" -- the end")
        s.wait("-- the end")
        s.keys("Esc C-s")
        s.wait("saved")
        leave(s)
    assert os.path.getsize(os.path.join(where, "small.lua")) > 1 << 20


def test_resizes_at_any_moment(t):
    where = folder(t, 'for i = 1, 100 do print("line " .. i) sh "sleep 0.01" end\n')
    with workbench(where) as s:
        s.keys("C-e")
        for size in ("1x1", "10x2", "300x100", "2x30", "120x1", "9x9", "40x10", "80x24", "11x3", "80x24"):
            s.resize(size)
            s.quiet(5)
        s.wait("more lines above")
        s.wait("idle")
        eventually(lambda: "COMMAND" in s.screen()[23])
        s.keys("O")
        for size in ("1x1", "300x100", "20x2", "80x24"):
            s.resize(size)
        s.wait("line 22")
        s.keys("q")
        s.wait("COMMAND")
        leave(s)


def test_wide_and_combining_characters(t):
    flag, family = "\U0001F1E9\U0001F1EA", "\U0001F469\u200d\U0001F467"
    where = folder(t, f'-- %% 題名 e\u0301\nprint("漢字 {flag} {family} e\u0301 " .. "end|")\n')
    with workbench(where) as s:
        s.keys("C-e")
        s.wait("end|")
        eventually(lambda: any(row.startswith("▌ │ 漢字 DE \U0001F469\U0001F467 ") and row.endswith(" end|")
                               for row in s.screen()))  # nothing that a terminal could join
        assert "題名" in text(s)
        s.keys("Enter C-Home End Left Left Left")
        s.type("X")
        s.wait("endX|")
        s.keys("C-Home" + " Right" * 9 + " Backspace")
        s.wait('print("漢 ')
        s.keys("Right Delete Right Delete")  # a flag, and a family
        s.wait('print("漢   e')
        s.keys("Esc C-s")
        s.wait("saved")
        leave(s)


run(globals())
