#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A document has one kernel: another path to it opens the same run, and with another working folder the message says who has it."""
import os
import re
import subprocess
import sys
import threading
import time

from bench import folder, kernels, leave, text, workbench
from screen import Screen
from tap import FIRESTEEL, RUNTIME, eventually, run, sh

ASKS = '-- %% Asks\nprint("got " .. input "your name")\n'


def test_another_path_leads_to_the_same_kernel(t):
    where, elsewhere = folder(t), t.dir()
    link = os.path.join(elsewhere, "by-another-name.lua")
    os.symlink(os.path.join(where, "small.lua"), link)
    with workbench(where) as s:
        s.keys("j C-e")
        s.wait("[1] First")
        with Screen([FIRESTEEL, link], cwd=elsewhere) as other:
            other.wait("[1] First")
            other.wait("│ 42")
            assert len(kernels(where)) == 1 and not kernels(elsewhere), (kernels(where), kernels(elsewhere))
            other.keys("q")
            assert other.exit() == "exit 0"
        s.keys("C-e")
        s.wait("[2] First")
        leave(s)


def test_another_folder_is_told_who_has_it(t):
    where, elsewhere = folder(t), t.dir()
    with workbench(where) as s:
        name = kernels(where)[0].split()[0]
        with Screen([FIRESTEEL, os.path.join(where, "small.lua"), "--cwd", elsewhere], cwd=elsewhere, size="160x24") as other:
            other.wait("is open already")
            shown = text(other)
            assert re.search(r"process \d+ on \S+", shown) and f"firesteel attach {name}" in shown, shown
            assert other.exit() == "exit 1"
        s.keys("j C-e")
        s.wait("[1] First")
        leave(s)


def test_what_was_not_asked_for_then_is_asked_about(t):
    where = folder(t, '-- %% Parameters tags=["parameters"]\nlr = 0.01\n\n-- %% First\nx = lr\n')
    with workbench(where) as s:
        s.keys("R")
        s.wait("[2] First")
        leave(s)
    first = kernels(where)[0].split()[0]
    with Screen([FIRESTEEL, "small.lua", "-p", "lr=0.01"], cwd=where) as s:  # it has this value
        s.wait("joined " + first[-4:])
        leave(s)
    again = [FIRESTEEL, "small.lua", "-p", "lr=0.5", "--sandbox"]
    with Screen(again, cwd=where, size="120x24") as s:
        s.wait("small.lua is open in another kernel")
        s.wait("-p lr=0.5: it has 0.01, --sandbox: it has none")
        s.keys("q")  # nothing is done
        assert s.exit() == "exit 0" and len(kernels(where)) == 1
    with Screen(again, cwd=where) as s:
        s.wait("join it as it is")
        s.keys("Enter")
        s.wait("without -p lr=0.5: it has 0.01")
        s.wait("[2] First")
        leave(s)
    with Screen([FIRESTEEL, "small.lua", "-p", "lr=0.5"], cwd=where) as s:
        s.wait("on a copy, small-2.lua")
        s.keys("Down Enter")
        s.wait("lr = 0.5")
        s.wait("small-2.lua")
        leave(s)
    assert len(kernels(where)) == 2
    with Screen([FIRESTEEL, "small.lua", "-p", "lr=0.5"], cwd=where) as s:
        s.wait("its variables go with it")
        s.keys("G Enter")
        s.wait("lr = 0.5")
        s.wait("idle")
        leave(s)
    assert len(kernels(where)) == 2 and first not in "".join(kernels(where)), kernels(where)


# Holds the notebook's lock as a kernel does, and speaks the protocol's next version.
LATER = """
import json, os, signal, socket, sys
path, notebook = sys.argv[1:]
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
with open("/proc/self/stat") as f:
    start = int(f.read().rpartition(")")[2].split()[19])
os.makedirs(os.path.dirname(notebook) + "/.firesteel", exist_ok=True)
with open(os.path.dirname(notebook) + "/.firesteel/" + os.path.basename(notebook) + ".lock", "w") as f:
    json.dump({"host": socket.gethostname(), "pid": os.getpid(), "start": start, "run": "small-20300101-000000-ffff",
               "cwd": os.path.dirname(notebook), "socket": path}, f)
print("ready", flush=True)
while True:
    c, _ = listener.accept()
    c.recv(65536)
    c.sendall(b'{"type": "reply", "to": 0, "ok": false, "error": {"code": "invalid", "message": "this kernel speaks version 2 of the protocol"}}\\n')
    c.close()
"""


def test_a_kernel_that_does_not_start_says_why(t):
    with Screen([FIRESTEEL, "small.lua", "-p", "nope=1"], cwd=folder(t), size="120x24") as s:
        s.wait("-p nope: the notebook has no parameters")


def test_a_kernel_of_another_version_is_offered_an_end(t):
    where = folder(t)
    sock = os.path.join(RUNTIME, "small-20300101-000000-ffff.sock")
    later = subprocess.Popen([sys.executable, "-c", LATER, sock, os.path.join(where, "small.lua")], stdout=subprocess.PIPE, text=True)
    threading.Thread(target=later.wait, daemon=True).start()  # it is gone when somebody has waited for it
    t.after(later.kill)
    assert later.stdout.readline() == "ready\n"
    listed = sh(FIRESTEEL, "ls").out
    row = next(line.split() for line in listed.splitlines() if str(later.pid) in line)
    assert "another version" in listed and "?" in row, listed
    with Screen([FIRESTEEL, "small.lua"], cwd=where, size="120x24") as s:
        s.wait("small.lua is open in another kernel")
        s.wait("speaks version 2")
        assert "join it" not in text(s), text(s)
        s.keys("G Enter")
        s.wait("idle")
        eventually(lambda: later.returncode == -15)
        leave(s)
    os.unlink(sock)


def test_who_joins_sees_what_else_has_written_the_file(t):
    where = folder(t, "-- %% First\nx = 1\n")
    with workbench(where) as s:
        s.keys("Enter")
        s.type("mine = 1\n")
        s.keys("Esc")
        s.wait("small.lua +")
        s.keys("q")
        s.wait("Unsaved")
        s.keys("k")
        assert s.exit() == "exit 0"
    with open(os.path.join(where, "small.lua"), "w", encoding="utf-8") as f:
        f.write("-- %% First\nx = 1\ntheirs = 2\n")
    with Screen([FIRESTEEL, "small.lua"], cwd=where) as s:
        s.wait("what saving would change")
        s.wait("-theirs = 2")
        s.wait("+mine = 1")
        s.keys("q")
        s.wait("COMMAND")
        s.keys("s")
        s.wait("The file has changed")
        s.wait("d  show the difference")
        s.keys("d")
        s.wait("-theirs = 2")
        s.keys("q Esc q")
        s.wait("Unsaved")
        s.keys("k")
        assert s.exit() == "exit 0"
    with open(os.path.join(where, "small.lua"), encoding="utf-8") as f:
        assert "theirs" in f.read()


def test_the_time_goes_on_while_a_cell_asks(t):
    where = folder(t, ASKS)
    with workbench(where) as s:
        began = time.monotonic()
        s.keys("C-e")
        s.wait("your name")
        eventually(lambda: re.search(r"Asks ─.* ([2-9]|\d\d)\.0s", text(s)), 10)
        assert time.monotonic() - began >= 2
        with Screen([FIRESTEEL, "attach"], cwd=where) as other:
            other.wait("Asks asks")
            other.type("Ada")
            other.keys("Enter")
            other.wait("got Ada")
            s.wait("got Ada")
            took = re.search(r"Asks.* ([\d.]+)s", text(s))
            assert took and 2 <= float(took[1]) <= time.monotonic() - began + 0.1, text(s)
            other.keys("q")
            assert other.exit() == "exit 0"
        s.wait("waits for no answer any more")
        s.keys("Esc")
        s.wait("COMMAND")
        leave(s)


def test_a_client_that_came_later_can_restart(t):
    where = folder(t)
    with workbench(where) as s:
        s.keys("G C-e")
        s.wait("line 1")
        s.keys("q")
        s.wait("goes on")
        s.exit()
    with Screen([FIRESTEEL, "attach"], cwd=where) as s, Screen([FIRESTEEL, "attach"], cwd=where) as other:
        s.wait("● [")
        other.wait("● [")
        s.keys("0 0")
        for each in (s, other):
            each.wait("● idle")
            each.gone("[*] Slow")
        s.keys("g g j C-e")
        other.wait("[1] First")
        leave(other)
        leave(s)


def test_opening_while_the_last_kernel_is_ending(t):
    where = folder(t)
    for _ in range(5):  # it ends at some moment of the next one's start
        with Screen([FIRESTEEL, "small.lua", "--keep", "0"], cwd=where) as s:
            s.wait("● idle")
            s.keys("j C-e")
            s.wait("[1] First")
            s.keys("q")
            assert s.exit() == "exit 0"


def test_who_only_watches_a_run_does_not_end_it(t):
    where = folder(t, "for i = 1, 1000 do print('line ' .. i) sh 'sleep 0.05' end\n")
    with Screen([FIRESTEEL, "run", "small.lua"], cwd=where) as runs:
        runs.wait("line 2")
        with Screen([FIRESTEEL, "attach"], cwd=where) as s:
            s.wait("(watching)")
            for keys in ("C-c", "i i"):
                s.keys(keys)
                s.wait("only watched")
            s.keys("q")
            s.exit()
        seen = runs.screen()
        eventually(lambda: runs.screen() != seen)
        runs.signal("INT")
        assert runs.exit() == "exit 130"


run(globals())
