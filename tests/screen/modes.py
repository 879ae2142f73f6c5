#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the workbench turns on in a terminal, it turns off whenever somebody else has the terminal: the shell after any
end and after Ctrl-Z, and $EDITOR. When the workbench has it again, all is on again."""
import os
import signal

from bench import folder, leave, text, workbench
from journals import PAST, write
from screen import Screen
from tap import FIRESTEEL, eventually, run

CURSOR, MOUSE, FOCUS, PASTE, ALTERNATE = "25", {"1000", "1006"}, "1004", "2004", "1049"
TAKEN = {*MOUSE, FOCUS, PASTE, ALTERNATE, "keys=1", "keypad", "titles=1"}
FRESH = {CURSOR, "titles=0"}  # as a terminal is when nobody has asked it for anything
EDITOR = """#!/bin/sh
echo the editor is here
read answer
sed -i "s/x = 1/x = $answer/" "$1"
"""


def taken(s):
    """The workbench has the terminal; what curses sets besides (1: cursor keys; 7: wrapping) is its own affair."""
    assert TAKEN <= s.modes(), TAKEN - s.modes()
    assert s.tty().startswith("raw alternate"), s.tty()


def given_back(s, before=frozenset(FRESH)):
    """Wrapping at the right edge (7) is how a terminal begins. A shell sets its own modes with its next prompt."""
    try:
        eventually(lambda: s.modes() - {"7"} == set(before) - {"7"}, 5)
    except AssertionError:
        raise AssertionError((s.modes(), before)) from None
    assert s.cursor()[2]


def shell(t, where, **options):
    s = Screen(["bash", "--norc", "--noprofile", "-i"], cwd=where, env={"PS1": "shell> ", **options})
    s.wait("shell>")
    return s


def test_after_each_signal_that_ends_it(t):
    for name in ("TERM", "HUP", "INT", "QUIT", "ABRT"):
        with workbench(folder(t, "x = 1\n")) as s:
            taken(s)
            s.signal(name)
            s.exit()
            given_back(s)
            assert s.tty() == "cooked main paste-off keys-off", (name, s.tty())


def test_after_leaving(t):
    with workbench(folder(t, "x = 1\n")) as s:
        taken(s)
        leave(s)
        given_back(s)


def test_no_answer_of_the_terminal_is_left_to_the_shell(t):
    """Also when it comes after the workbench had to end at once."""
    where = t.dir()
    write(where, "past-20260102-140300-7f3a", PAST, format=2)
    with Screen(["sh", "-c", f"{FIRESTEEL} show --open; sleep 1; echo ended"], cwd=where, late=200) as s:
        s.wait("ended")
        assert "newer firesteel" in text(s), text(s)
        assert "?2026" not in text(s), text(s)


def test_while_it_is_stopped_and_when_it_goes_on(t):
    where = folder(t, "x = 1\n")
    with shell(t, where) as s:
        before = s.modes()
        s.type(f"{FIRESTEEL} small.lua\n")
        s.wait("idle")
        taken(s)
        for turn in (1, 2):
            s.keys("C-z")
            s.wait("Stopped")
            s.wait("shell>")
            given_back(s, before)
            s.type(f"clear; echo turn $(({turn} + 10))\n")
            s.wait(f"turn {turn + 10}")
            s.type("fg\n")
            s.wait("● idle")
            taken(s)
            s.keys("Enter")  # and it hears keys
            s.wait("EDIT")
            s.keys("Esc")
            s.wait("COMMAND")
        s.keys("q")
        s.wait("shell>")
        given_back(s, before)


def test_a_stop_that_it_cannot_answer(t):
    """After SIGSTOP the shell takes the terminal as it is; fg gives it back, with all that was on."""
    where = folder(t, "x = 1\n")
    with shell(t, where) as s:
        before = s.modes()
        s.type(f"sh -c 'echo $$ >pid; exec {FIRESTEEL} small.lua'\n")
        s.wait("idle")
        with open(os.path.join(where, "pid"), encoding="utf-8") as f:
            pid = int(f.read())
        for turn in (1, 2):
            os.kill(pid, signal.SIGSTOP)
            s.wait("Stopped")
            s.type(f"clear; echo turn $(({turn} + 10))\n")
            s.wait(f"turn {turn + 10}")
            s.type("fg\n")
            s.wait("● idle")
            eventually(lambda: TAKEN <= s.modes())
            taken(s)
            s.keys("Enter")
            s.wait("EDIT")
            s.keys("Esc")
            s.wait("COMMAND")
        s.keys("q")
        s.wait("shell>")
        given_back(s, before)


def test_a_stop_in_the_middle_of_editing(t):
    with shell(t, folder(t, "x = 1\n")) as s:
        s.type(f"{FIRESTEEL} small.lua\n")
        s.wait("idle")
        s.keys("Enter C-End")
        s.type("2")
        s.keys("C-z")
        s.wait("Stopped")
        s.type("fg\n")
        s.wait("x = 12")
        s.wait("EDIT")
        taken(s)
        assert CURSOR in s.modes() and s.cursor()[2], "the cursor is where one types"
        s.paste("3\n4")  # still one event, in which no line runs or leaves
        s.wait("x = 123")
        s.keys("Esc C-s")
        s.wait("saved")
        s.keys("q")
        s.wait("shell>")


def test_around_the_editor(t):
    where = folder(t, "x = 1\n")
    editor = os.path.join(where, "editor")
    with open(editor, "w", encoding="utf-8") as f:
        f.write(EDITOR)
    os.chmod(editor, 0o755)
    with workbench(where, env={"VISUAL": None, "EDITOR": editor}) as s:
        taken(s)
        s.keys("e")
        s.wait("the editor is here")
        given_back(s)
        assert s.tty() == "cooked main paste-off keys-off", s.tty()
        s.type("42\n")
        s.wait("x = 42")
        taken(s)
        assert "the editor" not in text(s)
        s.keys("C-s")
        s.wait("saved")
        leave(s)
        given_back(s)


def test_what_was_never_taken_is_not_given_back_twice(t):
    """The mouse stays off where it was switched off, also after fg."""
    with shell(t, folder(t, "x = 1\n")) as s:
        s.type(f"{FIRESTEEL} --no-mouse small.lua\n")
        s.wait("idle")
        for _ in range(2):
            assert not MOUSE & s.modes() and FOCUS in s.modes(), s.modes()
            s.keys("C-z")
            s.wait("Stopped")
            s.type("clear; fg\n")
            s.wait("● idle")
        s.keys("q")
        s.wait("shell>")
        assert "titles=0" in s.modes(), s.modes()


run(globals())
