#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workbench on every kind of terminal, and inside the real tmux and the real GNU screen."""
import os
import subprocess

from bench import RESTORED, folder, kernels, leave, text, workbench
from screen import Screen
from tap import FIRESTEEL, eventually, run

NOTEBOOK = """-- %% First
print("red: \\27[31mred\\27[0m")

-- %% Second
print("the " .. "second")
"""
TERMS = ["xterm", "xterm-256color", "tmux", "tmux-256color", "screen", "screen-256color", "linux", "vt100"]


def session(s):
    """The first things that a person does, by keys that must work."""
    s.wait("idle")
    s.keys("C-e")
    s.wait("red: red")
    s.keys("Down C-r")
    s.wait("the second")
    s.keys("Up Up")
    s.keys("F1")
    s.wait("run the cell and go to the next")
    s.keys("Esc")
    s.gone("run the cell and go to the next")
    s.keys("Enter")
    s.wait("EDIT")
    s.keys("End Home Right Left C-Home")
    s.type("-- typed\n")
    s.wait("-- typed")
    s.paste("pasted = 1\npasted = 2\n")
    s.wait("pasted = 2")
    s.keys("Esc")
    s.wait("COMMAND")
    s.keys("M-Down")
    eventually(lambda: 0 <= text(s).find("the \" .. \"second") < text(s).find("pasted"))
    s.keys("PgDn PgUp")
    s.resize("60x12")
    s.wait("small.lua")
    s.resize("80x24")
    s.keys("C-s")
    s.wait("saved")
    s.keys("q")


def test_a_run_for_each_term(t):
    for term in TERMS:
        where = folder(t, NOTEBOOK)
        with Screen([FIRESTEEL, "small.lua"], cwd=where, term=term) as s:
            session(s)
            assert s.exit() == "exit 0", term
            assert s.tty() == RESTORED, (term, s.tty())
        with open(os.path.join(where, "small.lua"), encoding="utf-8") as f:
            assert "-- typed\npasted = 1\npasted = 2\n" in f.read(), term


def test_dumb_terminals_are_told(t):
    where = folder(t, NOTEBOOK)
    for term, words in (("dumb", "cannot place a cursor"), ("no-such-terminal", "is not known here")):
        with Screen([FIRESTEEL, "small.lua"], cwd=where, term=term, size="200x5") as s:
            s.wait(words)
            assert s.exit() == "exit 2" or s.exit() == "exit 1"
            assert s.tty() == RESTORED


def test_inside_tmux(t):
    for inner in ("screen", "screen-256color", "tmux", "tmux-256color"):
        where = folder(t, NOTEBOOK)
        config, socket = os.path.join(where, "tmux.conf"), os.path.join(where, "tmux")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"set -g default-terminal {inner}\nset -s escape-time 10\nset -g status off\n")
        tmux = ["tmux", "-S", socket, "-f", config]
        t.after(lambda argv=tmux + ["kill-server"]: subprocess.run(argv, stderr=subprocess.DEVNULL, check=False))
        with Screen(tmux + ["new-session", f"{FIRESTEEL} small.lua; echo left with $?; exec cat"], cwd=where) as s:
            s.wait("idle")
            pane = subprocess.run(tmux + ["capture-pane", "-p", "-e"], stdout=subprocess.PIPE, check=True,
                                  text=True, encoding="utf-8").stdout
            assert "7m COMMAND" in pane and "small.lua" in pane, (inner, pane)
            session(s)
            s.wait("left with 0")


def test_inside_gnu_screen(t):
    for inner in ("screen", "screen-256color"):
        where = folder(t, NOTEBOOK)
        config = os.path.join(where, "screenrc")
        with open(config, "w", encoding="ascii") as f:
            f.write(f"startup_message off\nterm {inner}\nmaptimeout 5\n")
        session_dir = t.dir()
        os.chmod(session_dir, 0o700)
        t.after(lambda env=dict(os.environ, SCREENDIR=session_dir): subprocess.run(  # it outlives its terminal
            ["screen", "-X", "quit"], env=env, stdout=subprocess.DEVNULL, check=False))
        command = ["screen", "-U", "-c", config, "sh", "-c", f"{FIRESTEEL} small.lua; echo left with $?; exec cat"]
        with Screen(command, cwd=where, env={"SCREENDIR": session_dir}) as s:
            session(s)
            s.wait("left with 0")


def test_a_shell_gets_its_terminal_back(t):
    """Ctrl-Z gives the terminal to the shell as it was; fg draws everything again."""
    shell = ["bash", "--norc", "--noprofile", "-i"]
    with Screen(shell, cwd=folder(t, NOTEBOOK), env={"PS1": "shell> "}) as s:
        s.wait("shell>")
        at_prompt = s.tty()
        s.type(f"{FIRESTEEL} small.lua\n")
        s.wait("idle")
        for _ in range(3):
            s.keys("C-z")
            s.wait("Stopped")
            eventually(lambda: s.tty() == at_prompt)
            assert s.cursor()[2]
            s.type("stty -a | grep -c 'icanon'; clear; fg\n")
            s.wait("COMMAND")
            s.gone("Stopped")
        s.keys("q")
        s.wait("shell>")
        eventually(lambda: s.tty() == at_prompt)


def test_restored_after_every_end(t):
    for name, how in (("TERM", "exit 0"), ("HUP", "exit 0"), ("INT", "exit 0"), ("SEGV", "signal 11"),
                      ("ABRT", "signal 6"),  # as when memory runs out
                      ("BUS", "signal 7"), ("QUIT", "signal 3")):
        where = folder(t, NOTEBOOK)
        with workbench(where) as s:
            assert s.tty() == "raw alternate paste-on keys-on"
            s.keys("Enter")
            s.wait("EDIT")
            s.signal(name)
            left = s.exit()
            sanitized = os.environ.get("FIRESTEEL_SANITIZED")
            assert left == how or sanitized, (name, left)
            assert s.tty() == RESTORED or (sanitized and name in ("SEGV", "BUS")), (name, s.tty())
            assert s.cursor()[2] or sanitized, name
        assert "idle" in kernels(where)[0], name


run(globals())
