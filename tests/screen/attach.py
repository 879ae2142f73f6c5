#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Coming back to a kernel: which one, where one lands, what has happened meanwhile; and dialogs take no key that was
on its way before they could be read."""
import contextlib
import os
import re
import time

from bench import folder, kernels, kill_kernel, leave, text, workbench
from golden import golden
from screen import Screen
from tap import FIRESTEEL, eventually, run, sh, stop_kernels

LONG = "\n".join(f"-- %% Prose {i}\nx{i} = {i}\n" for i in range(20))
RUN = LONG + """
-- %% Load
print("loaded")

-- %% Train the network
while not io.open("go") do sh "sleep 0.05" end

-- %% Check
error("not good enough")

-- %% Deploy
input "which cluster?"
"""
ASKS = """-- %% Deploy
for _, name in ipairs { "one", "two" } do
  k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } }
end
"""


def connections(kernel):
    """How many a kernel's process has, within this machine."""
    links, held = f"/proc/{kernel}/fd", set()
    for fd in os.listdir(links):
        with contextlib.suppress(FileNotFoundError):  # closed by now
            held.add(os.readlink(os.path.join(links, fd)).strip("socket:[]"))
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as f:
        rows = [row.split() for row in f]
    return sum(row[5] == "03" and row[6] in held for row in rows)


def left_running(t, source, until, *options):
    """A folder whose notebook runs, and the kernel knows that nobody looks."""
    where = folder(t, source)
    with workbench(where, *(options + ("small.lua",))) as s:
        kernel = kernels(where)[0].split()[1]
        s.keys("R")
        s.wait(until)
        looked_at = connections(kernel)
        s.signal("HUP")
        s.exit()
    eventually(lambda: connections(kernel) < looked_at)
    return where


def selected_row(s):
    return next(row for row in s.screen() if row.startswith("▌"))


def test_it_lands_on_what_runs_and_names_it(t):
    where = left_running(t, RUN, "[*] Train")
    with workbench(where, "attach") as s:
        s.wait("[*] Train the network")
        assert "Train the network" in selected_row(s), text(s)
        s.wait("● [22] Train")
        assert "+2" in s.screen()[-1], text(s)
        s.resize("120x40")
        s.wait("● running [22] Train the network")
        assert "2 wait" in s.screen()[-1], text(s)
        s.keys("g g")
        s.wait("▌[1] Prose 0")
        s.keys("g r")
        s.wait("▌[*] Train the network")
        s.keys("g f")
        s.wait("no cell has failed")
        s.keys("i i")
        s.wait("interrupted")
        s.keys("g r")
        s.wait("nothing runs")
        leave(s)


def test_what_happened_meanwhile_is_said(t):
    where = left_running(t, RUN, "[*] Train")
    with open(os.path.join(where, "go"), "w"):
        pass
    eventually(lambda: not [line for line in kernels(where) if "busy" in line])
    with workbench(where, "attach") as s:
        s.wait("meanwhile: ")
        assert "meanwhile: [23] Check failed" in text(s) and "[22] Train the network ok" in text(s), text(s)
        assert "▌[23] Check" in text(s), "the last that ended: " + text(s)
        s.keys("j")
        s.gone("meanwhile")
        s.keys("g f")
        s.wait("▌[23] Check")
        s.resize("120x40")
        leave(s)
    with workbench(where, "small.lua") as s:  # all has been seen
        assert "meanwhile" not in text(s), text(s)
        leave(s)


def test_one_more_cell_that_ended_meanwhile_is_one_cell(t):
    where = left_running(t, '-- %% Wait\nwhile not io.open("go") do sh "sleep 0.05" end\n-- %% A\nx = 1\n-- %% B\ny = 2\n',
                         "[*] Wait")
    with open(os.path.join(where, "go"), "w"):
        pass
    eventually(lambda: not [line for line in kernels(where) if "busy" in line])
    with workbench(where, "attach", size="120x40") as s:
        s.wait("meanwhile: 1 cell ok, [2] A ok")
        leave(s)


WAITS = '-- %% Wait\nwhile not io.open("go") do sh "sleep 0.05" end\n'


def test_who_looks_elsewhere_is_told_of_end_failure_and_question(t):
    """Also when the cell was running before the workbench came."""
    ends, fails = left_running(t, WAITS, "[*] Wait"), left_running(t, WAITS + "error 'no'\n", "[*] Wait")
    asks = left_running(t, WAITS + "input 'which cluster?'\n", "[*] Wait")
    logs = {where: os.path.join(t.dir(), "sent") for where in (ends, fails, asks)}

    def attached(where, how):
        return workbench(where, "attach", f"--notify={how}", log=logs[where])

    def sent(where):
        with open(logs[where], "rb") as f:
            return f.read()
    with attached(ends, "osc9") as end, attached(fails, "osc777") as fail, attached(asks, "bell") as ask:
        for s in (end, fail, ask):
            s.wait("[*] Wait")
        time.sleep(10.2)
        for where in (ends, fails, asks):
            with open(os.path.join(where, "go"), "w"):
                pass
        end.wait("[1] Wait")
        fail.wait("failed")
        ask.wait("which cluster?")
        for s in (end, fail, ask):
            s.quiet(300)
            s.signal("HUP")
            s.exit()
    assert b"\x1b]9;small.lua: done after 1" in sent(ends), sent(ends)[-300:]
    assert b"\x1b]777;notify;small.lua;failed [1/1] after 1" in sent(fails), sent(fails)[-300:]
    assert b"\a" in re.sub(rb"\x1b\][^\a]*\a", b"", sent(asks)), sent(asks)[-300:]


def test_it_lands_on_the_question(t):
    where = left_running(t, LONG + "\n" + ASKS + "\n-- %% Last\nprint(1)\n", "may it do this?", "--sandbox")
    with workbench(where, "attach", size="120x40") as s:
        s.wait("y yes, once")
        s.send(b"yyyyyyy")  # typed ahead
        s.wait("Deploy: may it do this?")
        assert "[?] Deploy" in text(s), text(s)
        assert "● asking" in s.screen()[-1], text(s)
        s.keys("n")
        s.gone("may it do this?")
        leave(s)


def test_a_dialog_takes_no_key_in_its_first_half_second(t):
    where = folder(t, ASKS)
    with workbench(where, "--sandbox", "small.lua") as s:
        s.keys("C-e")
        s.wait("y yes, once")
        shown = time.monotonic()
        s.keys("y")
        s.keys("a")
        s.keys("Esc")
        if time.monotonic() - shown < 0.4:  # else the machine is too slow to tell
            s.quiet(100)
            assert "y yes, once" in text(s), "a key was taken that could not be meant: " + text(s)
            assert len(keys_row(s)) == 2, "only the frame has a colour: " + str(keys_row(s))
        time.sleep(1)
        assert len(keys_row(s)) > 3, keys_row(s)
        s.keys("n")
        s.gone("y yes, once")
        s.keys("Enter")
        s.type("-- changed")
        s.keys("Esc")
        s.wait("COMMAND")
        s.send(b"qdddd")  # the dialog, and what must not discard
        s.wait("Unsaved changes")
        s.keys("d")
        assert s.exit() == "exit 0"


READ_ONLY = """-- %% First
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "alpha" } }
print("there" .. " it is")

-- %% Second
print("typed" .. " elsewhere")
"""


def test_one_who_attaches_read_only_changes_nothing(t):
    where = folder(t, READ_ONLY)
    refused = "attached with --read-only: this is only looked at"
    with open(os.path.join(where, "other.lua"), "w", encoding="utf-8") as f:
        f.write("-- %% Words\nprint 'words'\n")
    assert sh(FIRESTEEL, "run", "other.lua", cwd=where).code == 0
    with workbench(where, "--sandbox", "small.lua", seconds=15) as first:
        first.keys("C-e")
        first.wait("y yes, once")
        with workbench(where, "attach", "--read-only", size="100x30", seconds=15) as s:
            s.wait("y yes, once")  # it sees the question, and cannot answer it
            s.keys("y")
            time.sleep(1)
            s.keys("Esc")
            assert "may it do this?" in text(first), text(first)
            first.keys("y")
            s.wait("│ there it is")
            s.wait("(read-only)")
            for key in ("C-e", "d d", "0 0", "R", "p"):
                s.keys(key)
                s.wait(refused)
                s.keys("k")
                s.gone(refused)
            s.keys(":")
            s.wait(" palette")
            s.type("cm")
            s.keys("Enter")
            s.wait("configmaps in default")
            s.wait("alpha")
            s.keys("C-d")
            s.wait("read-only")
            s.keys("q")
            first.keys("j C-e")
            s.wait("│ typed elsewhere")
            s.keys(":")
            s.wait(" palette")
            s.type("w")
            s.keys("Enter")
            s.wait(refused)
            s.keys("k g h a")
            s.wait("other")
            s.keys("j D")
            s.wait("Remove this run?")
            s.keys("y")
            s.wait("this is only looked at (--read-only)")
            s.keys("q")
            s.gone(" runs ")
            leave(s)
        with open(os.path.join(where, "small.lua"), encoding="utf-8") as f:
            assert f.read() == READ_ONLY
        leave(first)


def keys_row(s):
    """The style of the row that names the dialog's keys."""
    lines, found = s.styles(), []
    at = next(i for i, line in enumerate(lines) if line.startswith("|") and "y yes, once" in line)
    for line in lines[at + 1:]:
        if line.startswith("|"):
            break
        found.append(line)
    return found


def test_a_typed_answer_begins_when_it_can_be_read(t):
    with workbench(folder(t, 'print("<" .. input "name?" .. ">")\n')) as s:
        s.keys("C-e")
        s.wait("Enter answers")
        s.send(b"zzz\r")
        s.wait("cell 1 asks")
        assert "zzz" not in text(s), text(s)
        s.type("me")
        s.keys("Enter")  # the answer may have been "zzzme"
        s.wait("not in the answer")
        assert "> me" in text(s), text(s)
        s.keys("Enter")
        s.wait("<me>")
        leave(s)


def test_a_question_that_one_opens_oneself_takes_keys_at_once(t):
    with workbench(folder(t, 'print("<" .. input "name?" .. ">")\n')) as s:
        s.keys("C-e")
        s.wait("cell 1 asks")
        s.keys("Esc")
        s.wait("A asks again")
        s.send(b"Abob\r")
        s.wait("<bob>")
        leave(s)


def test_an_effect_that_was_put_off_takes_keys_at_once(t):
    with workbench(folder(t, ASKS), "--sandbox", "small.lua") as s:
        s.wait("idle")
        s.keys("C-e")
        s.wait("may it do this?")
        s.keys("Esc")
        s.wait("A asks again")
        s.send(b"Ay")
        s.wait("ConfigMap two")
        s.wait("may it do this?")
        s.keys("n")
        s.gone("y yes, once")
        leave(s)


def test_another_folders_kernel_is_never_taken_silently(t):
    where = left_running(t, RUN, "[*] Train")
    elsewhere = t.dir()
    printed = sh(FIRESTEEL, "attach", cwd=elsewhere)
    assert printed.code == 2 and "say which: firesteel attach RUN" in printed.err, printed
    assert [line for line in printed.err.splitlines() if line.startswith("  ") and line.endswith(where)], printed
    with Screen([FIRESTEEL, "attach"], cwd=elsewhere, size="200x40") as s:
        s.wait("No kernel of this folder is alive")
        assert where in text(s) and "starting" not in text(s), text(s)
        s.keys("q")
        assert s.exit() == "exit 0"


def test_a_cell_longer_than_the_screen_shows_the_line_that_failed(t):
    source = "-- %% Long\n" + "".join(f"a{i} = {i}\n" for i in range(60)) + "error 'here'\n" + \
             "".join(f"b{i} = {i}\n" for i in range(40))
    with workbench(folder(t, source)) as s:
        s.keys("C-e")
        s.wait("✗")
        assert any("error 'here'" in row and "✗" in row for row in s.screen()), text(s)
        leave(s)


def test_a_cell_without_a_title_is_called_as_its_title_row_says(t):
    where = folder(t, "-- %%\nx = 1\n\n-- %%\nlocal function f() error 'here' end\nf()\n")
    with workbench(where) as s:
        s.keys("C-r")
        s.wait("[1]")
        s.keys("C-e")
        s.wait("[2] ─")
        s.wait("failed")
        s.keys("O")
        s.wait("[2]:")
        assert "cell 2" not in text(s), text(s)
        s.keys("q")
        leave(s)
    stop_kernels()
    assert sh(FIRESTEEL, "runs", cwd=where).out.splitlines()[1].split()[1] == "failed"


def test_another_kernel_that_has_started_is_said(t):
    where = folder(t)
    with workbench(where) as s:
        kill_kernel(where)
        s.wait("● gone")
        s.keys("0 0")
        s.wait("another kernel has started")
        leave(s)


SIZES = {"80": "80x24", "120": "120x40"}
MASKS = [
    (r"\b\d+(\.\d+)?(ms|s|m \d+s)(?=,| \+| *$|  )", "TIME"),
    (r" +(?=● (running )?\[22\])", " "),  # as wide as the time is long
]


def test_how_coming_back_looks(t):
    running = left_running(t, RUN, "[*] Train")
    asking = left_running(t, LONG + "\n" + ASKS + "\n-- %% Last\nprint(1)\n", "may it do this?", "--sandbox")
    for name, size in SIZES.items():
        with workbench(running, "attach", size=size) as s:
            s.wait("[*] Train the network")
            golden(s, f"attach-running-{name}", MASKS)
            s.signal("HUP")
            s.exit()
        with workbench(asking, "attach", size=size) as s:
            s.wait("y yes, once")
            golden(s, f"attach-asks-{name}")
            s.signal("HUP")
            s.exit()
    for name, size in SIZES.items():
        ended = left_running(t, RUN, "[*] Train")
        with open(os.path.join(ended, "go"), "w"):
            pass
        eventually(lambda: not [line for line in kernels(ended) if "busy" in line])
        with workbench(ended, "attach", size=size) as s:
            s.wait("meanwhile: ")
            golden(s, f"meanwhile-{name}", MASKS + [(r" +(?=● idle)", " ")])  # the same
            leave(s)


run(globals())
