#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Typed text is never lost and never goes to a wrong place, whatever other clients and the
kernel do meanwhile: two workbenches on one kernel."""
import json
import os
import signal
import socket
import time

from bench import kernels, kill_kernel
from screen import Screen
from tap import FIRESTEEL, RUNTIME, eventually, run, sh, stop_kernels

NOTEBOOK = "-- %% One\na = 1\n\n-- %% Two\nb = 2\n"


def folder(t, text=NOTEBOOK):
    where = t.dir()
    with open(os.path.join(where, "a.lua"), "w") as f:
        f.write(text)
    t.after(stop_kernels)
    return where


def opened(where):
    s = Screen([FIRESTEEL, "a.lua"], cwd=where)
    s.wait("idle")
    return s


def text(s):
    return "\n".join(s.screen())


def save(s, where):
    """Saves as soon as there is a kernel that can."""
    was, deadline = read(where), time.monotonic() + 60
    while read(where) == was and time.monotonic() < deadline:
        s.keys("s")
        time.sleep(0.1)


def read(where):
    with open(os.path.join(where, "a.lua")) as f:
        return f.read()


def test_two_who_type_into_one_cell_lose_nothing(t):
    where = folder(t)
    with opened(where) as a, opened(where) as b:
        a.keys("Enter")
        b.keys("Enter C-End")
        b.type(" -- THEIRS")
        a.type("xy")  # not sent yet when the other client's edit arrives
        b.keys("Esc")
        a.wait("THEIRS")
        a.wait("another client has changed this cell")
        assert "xya" not in text(a), text(a)
        a.keys("M-z")
        a.wait("xya = 1")
        b.wait("xya = 1")  # A itself decided that


def test_restarting_while_typing_goes_on_in_the_same_cell(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("Enter")
        a.type("11")
        a.keys("Esc")
        a.wait("COMMAND")
        a.keys("0 0 Enter")
        a.type("xxdd")
        a.type("yy")
        a.wait("11xxddyya = 1")
        a.keys("Esc")
        a.wait("COMMAND")
        save(a, where)
    assert read(where) == "-- %% One\n11xxddyya = 1\n\n-- %% Two\nb = 2\n", read(where)


def test_undo_goes_on_after_a_restart(t):
    """A cell's marker is read in another order than it was written: `[markdown] Two`, `Two [markdown]`."""
    where = folder(t)
    for keys, what in (("1", "heading"), ("m", "change of type"), ("r", "change of type"), ("b", "insert"), ("d d", "delete"),
                       ("M-Up", "move"), ("k M", "merge")):
        with opened(where) as a:
            a.keys("j")
            a.quiet()
            a.keys(keys)
            a.wait("a.lua +")
            a.quiet()
            a.keys("0 0")
            a.wait("restarted")
            a.quiet()
            a.keys("z")
            a.wait("undone: " + what)
            a.wait("idle")
            a.keys("0 0")
            a.wait("restarted")
            a.quiet()
            a.keys("Z")
            a.wait("done again: " + what)
            a.keys("z")
            a.wait("undone: " + what)
            a.quiet()
            assert [row.strip("▌ ─") for row in a.screen()[:5]] == ["[ ] One", "a = 1", "", "[ ] Two", "b = 2"], (keys, a.screen())
            a.keys(":")
            a.type("stop!")
            a.keys("Enter")
            a.exit()


def test_the_edited_line_stays_where_it_is_while_output_grows_above(t):
    where = folder(t, "-- %% Grows\nfor i = 1, 300 do print('line ' .. i) sh 'sleep 0.02' end\n\n-- %% Mine\nx = 1\n")
    with opened(where) as a:
        a.keys("j Enter")
        a.wait("EDIT")
        a.keys("Esc k C-e j Enter")
        a.wait("EDIT")
        places = set()
        for word in "abcdefgh":
            a.type(word)
            a.wait(word + "x = 1")
            places.add(a.cursor()[1])
            a.wait("│ line ")
            number = max(int(row.split("line ")[1]) for row in a.screen() if "│ line " in row)
            a.wait(f"line {number + 2}")
        assert len(places) == 1, places
        a.keys("Esc i i")
        a.wait("interrupted")


class Cutter:
    """A third client, quicker than any person."""

    def __init__(self, where):
        run_name = kernels(where)[0].split()[0]
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(os.path.join(RUNTIME, run_name + ".sock"))
        self.lines = self.sock.makefile("r", encoding="utf-8")
        self.send(type="hello", version=1)
        self.ids = [c["id"] for c in self.wait(lambda m: m["type"] == "document")["cells"]]

    def send(self, **message):
        self.sock.sendall(json.dumps(message).encode() + b"\n")

    def wait(self, condition):
        return next(m for m in map(json.loads, self.lines) if condition(m))

    def cut(self, *ids):
        self.sock.sendall(b"".join(json.dumps({"type": "delete", "rev": 1 << 50, "cell": i}).encode() + b"\n" for i in ids))

    def cut_new(self):
        """Deletes the cell that is inserted next, as soon as it is there."""
        self.cut(self.wait(lambda m: m.get("change") == "insert")["cell"])


def test_what_is_typed_stays_when_its_new_cell_is_deleted_too(t):
    where = folder(t, "".join(f"-- %% {name}\n{name} = 1\n" for name in "ABCDE"))
    with opened(where) as a:
        a.keys("j Enter")
        a.type("mine")
        a.wait("mineB = 1")
        a.quiet(700)
        cutter = Cutter(where)
        cutter.cut(cutter.ids[1])
        for _ in range(4):
            cutter.cut_new()
        a.wait("is in a new one")
        a.type("xx")
        a.wait("minexxB = 1")
        a.wait("EDIT")
        cutter.cut(*reversed(cutter.ids[3:]))  # that one is not touched, nor taken for it
        a.gone("E = 1")
        a.type("yy")
        a.wait("minexxyyB = 1")
        a.keys("Esc")
        save(a, where)
    assert read(where).count("mine") == 1 and "C = 1" in read(where), read(where)


def test_what_is_typed_finds_a_place_when_the_cells_above_go(t):
    where = folder(t, "".join(f"-- %% {name}\n{name} = 1\n" for name in "ABCDE"))
    with opened(where) as a:
        a.keys("G Enter")
        a.type("mine")
        a.wait("mineE = 1")
        a.quiet(700)
        cutter = Cutter(where)
        with open(f"/proc/{a.process.pid}/task/{a.process.pid}/children", encoding="ascii") as f:
            workbench = int(f.read().split()[0])
        os.kill(workbench, signal.SIGSTOP)  # it hears of all at once
        cutter.cut(*reversed(cutter.ids[2:]))
        for _ in range(3):
            cutter.wait(lambda m: m.get("change") == "delete")
        os.kill(workbench, signal.SIGCONT)
        a.wait("is in a new one")
        a.wait("mineE = 1")
        a.type("zz")
        a.wait("minezzE = 1")
        a.keys("Esc")
        save(a, where)
    assert read(where).count("mine") == 1 and "D = 1" not in read(where), read(where)


REPLACED = "-- %% [markdown]\n-- # Alpha and alpha/beta\n\n-- %% A\nalpha = 1\n\n-- %% B\nprint(alpha + alpha) -- a.b\n"


def test_replacing_in_all_cells_is_one_step(t):
    where = folder(t, REPLACED)
    with opened(where) as s:
        def line(words, said):
            s.keys(":")
            s.type(words)
            s.keys("Enter")
            s.wait(said)

        s.wait("idle")
        line("%s/alpha/beta/g", "5 places in 3 cells replaced")  # in small letters: either case, as / finds it
        save(s, where)
        assert read(where) == REPLACED.replace("alpha", "beta").replace("Alpha", "beta"), read(where)
        s.keys("z")
        s.wait("alpha = 1")
        save(s, where)
        assert read(where) == REPLACED, read(where)
        for words, said, wanted in (
                ("%s/Alpha/X/g", "1 place in 1 cell replaced", REPLACED.replace("Alpha", "X")),
                (r"%s/alpha\/beta/a\/b/", "1 place in 1 cell replaced", REPLACED.replace("alpha/beta", "a/b")),
                ("%s/print(/log(/", "1 place in 1 cell replaced", REPLACED.replace("print(", "log(")),
                (r"%s#alpha/#\&", "1 place in 1 cell replaced", REPLACED.replace("alpha/", "&")),
                ("%s/ [+] .*$//", "1 place in 1 cell replaced", REPLACED.replace(" + alpha) -- a.b", "")),
                ("%s/x*/y/", "no cell has x*", REPLACED),
                ("%s/nothing/y/", "no cell has nothing", REPLACED),
                ("s/alpha", "puts new in the place of old", REPLACED),
                ("s/a/b/x", "puts new in the place of old", REPLACED)):
            line(words, said)
            if wanted != REPLACED:
                save(s, where)
                assert read(where) == wanted, (words, read(where))
                s.keys("z")
                s.wait("a.lua +")
                save(s, where)
            assert read(where) == REPLACED and "a.lua +" not in text(s), (words, read(where))
        s.keys("q")
        assert s.exit() == "exit 0"


def test_a_cell_that_comes_back_keeps_title_and_kind(t):
    where = folder(t, "-- %% Words [markdown]\n-- a\n\n-- %% Two\nb = 2\n")
    with opened(where) as a, opened(where) as b:
        a.keys("Enter")
        a.type("mine")
        b.wait("minea")
        b.send(b"dd")
        a.wait("is in a new one")
        a.keys("Esc s")
        a.wait("saved")
    assert read(where) == "-- %% Words [markdown]\n-- minea\n\n-- %% Two\nb = 2\n", read(where)


def test_text_typed_before_the_kernel_is_there_does_not_hide_what_it_holds(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("Enter C-End")
        a.type(" + PRECIOUS")
        a.keys("Esc")
        a.wait("COMMAND")
        a.keys("q")
        a.wait("Unsaved")
        a.keys("k")
        assert a.exit() == "exit 0"
    with Screen(["sh", "-c", f"sleep 0.3; exec {FIRESTEEL} a.lua"], cwd=where) as a:
        a.send(b"\rzz")  # the terminal has it before the program reads
        a.wait("idle")
        a.wait("PRECIOUS")
        a.keys("Esc s")
        a.wait("saved")
    assert "PRECIOUS" in read(where), read(where)


def leave_killed(s, where):
    """As after a power loss: kernel and workbench are killed; edits that were sent are in the journal."""
    s.keys("Esc")
    s.wait("COMMAND")
    s.wait("a.lua +")
    kill_kernel(where)
    s.wait("● gone")
    s.process.kill()
    s.process.wait()


def test_unsaved_text_of_a_killed_kernel_is_back(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("Enter")
        a.type("late = 5\n")
        leave_killed(a, where)
    with opened(where) as a:
        a.wait("late = 5")
        a.wait("are back; :e! drops them")
        a.keys("G Enter")
        a.type("z")
        a.wait("zb = 2")
        leave_killed(a, where)
    with opened(where) as a:  # killed once more
        a.wait("late = 5")
        a.wait("zb = 2")
        leave_killed(a, where)
    with opened(where) as a:  # and with nothing typed in between
        a.wait("zb = 2")
        a.keys("s")
        a.wait("saved")
        a.keys("q")
        a.exit()
    assert read(where) == "-- %% One\nlate = 5\na = 1\n\n-- %% Two\nzb = 2\n", read(where)
    with opened(where) as a:
        assert "are back" not in text(a) and "a.lua +" not in text(a), text(a)


def test_recovered_text_can_be_dropped(t):
    where = folder(t)
    with open(os.path.join(where, "a-b.lua"), "w") as f:
        f.write(NOTEBOOK)
    with opened(where) as a:
        a.keys("Enter")
        a.type("late = 5\n")
        leave_killed(a, where)
    with Screen([FIRESTEEL, "a-b.lua"], cwd=where) as other:
        other.wait("idle")
        assert "late = 5" not in text(other), text(other)
        other.keys("q")
        assert other.exit() == "exit 0"
    with opened(where) as a:
        a.wait("are back")
        a.keys(":")
        a.type("e!")
        a.keys("Enter")
        a.gone("late = 5")
        a.keys("q")
        assert a.exit() == "exit 0"
    with opened(where) as a:
        assert "late = 5" not in text(a), text(a)


def leave_stopped(s, where):
    """The workbench is left, with what is unsaved in the kernel; then that is stopped."""
    s.keys("Esc")
    s.wait("a.lua +")
    s.keys("q")
    s.wait("Unsaved")
    s.keys("k")
    assert s.exit() == "exit 0"
    listed = kernels(where)
    assert "idle, unsaved" in listed[0], listed
    stopped = sh(FIRESTEEL, "stop", listed[0].split()[0])
    assert stopped.code == 0 and "unsaved changes are back when" in stopped.out, stopped


def test_unsaved_text_of_a_stopped_kernel_is_back(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("Enter")
        a.type("precious = 5\n")
        leave_stopped(a, where)
    with opened(where) as a:
        a.wait("precious = 5")
        a.wait("are back; :e! drops them")
        leave_stopped(a, where)
    with opened(where) as a:  # once more, with nothing typed in between
        a.wait("precious = 5")
        a.keys(":")
        a.type("stop!")
        a.keys("Enter")
        assert a.exit() == "exit 0"
    eventually(lambda: not kernels(where))
    with opened(where) as a:  # these were given up
        assert "precious" not in text(a) and "a.lua +" not in text(a), text(a)
    assert read(where) == NOTEBOOK


def test_a_file_that_was_changed_beside_unsaved_text_is_told(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("Enter")
        a.type("precious = 5\n")
        a.keys("Esc")
        a.wait("a.lua +")
        with open(os.path.join(where, "a.lua"), "w") as f:
            f.write("-- %% One\nanother = 1\n")
        a.wait("changed underneath")
        leave_stopped(a, where)
    with opened(where) as a:
        a.wait("precious = 5")
        a.wait("the file was changed, too")
        a.keys(":")
        a.type("e!")
        a.keys("Enter")
        a.wait("another = 1")
        a.keys("q")
        assert a.exit() == "exit 0"


def test_a_file_newer_than_the_killed_run_stays(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("Enter")
        a.type("late = 5\n")
        leave_killed(a, where)
    with open(os.path.join(where, "a.lua"), "w") as f:
        f.write("-- %% One\nanother = 1\n")
    with opened(where) as a:
        a.wait("another = 1")
        assert "late = 5" not in text(a) and "are back" not in text(a), text(a)


def test_a_secret_is_not_replaced_by_its_mask(t):
    where = folder(t, '-- %% One\nkey = "hunter22hunter"\n\n-- %% Two\nb = 2\n')
    os.environ["A_TOKEN"] = "hunter22hunter"
    t.after(lambda: os.environ.pop("A_TOKEN"))
    with opened(where) as a:
        a.keys("Enter")
        a.type("late = 5\n")
        leave_killed(a, where)
    with opened(where) as a:
        a.wait("late = 5")
        a.wait("hunter22hunter")
        a.keys("s")
        a.wait("saved")
        a.keys("q")
        a.exit()
    assert read(where) == '-- %% One\nlate = 5\nkey = "hunter22hunter"\n\n-- %% Two\nb = 2\n', read(where)
    with opened(where) as a:
        a.keys("Enter Down End")
        a.type(" -- or hunter22hunter")
        leave_killed(a, where)
    with opened(where) as a:  # that line cannot be told from its mask: the cell is the file's
        a.wait("but in 1 cell")
        assert "[secret]" not in text(a) and '"hunter22hunter"' in text(a), text(a)


def test_a_file_that_is_written_under_the_cursor_leaves_one_cell_there(t):
    where = folder(t)
    with opened(where) as a:
        a.keys("G Enter")
        a.wait("EDIT")
        with open(os.path.join(where, "a.lua"), "w") as f:
            f.write("-- %% Zero\nz = 0\n\n" + NOTEBOOK.replace("b = 2", "b = 22") + "\n-- %% Three\nc = 3\n")
        a.wait("c = 3")
        a.quiet(200)
        assert text(a).count("] Two") == 1 and "EDIT" in text(a), text(a)
        a.type("-- typed ")
        a.wait("-- typed ")
        a.keys("Esc")
        a.wait("COMMAND")
        save(a, where)
        assert read(where).count("%%") == 4 and "-- typed " in read(where), read(where)
        a.keys("q")
        assert a.exit() == "exit 0"


run(globals())
