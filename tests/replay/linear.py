#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workbench as lines: through a pipe, and on a terminal."""
import os
import pty
import select
import subprocess
import time

from tap import FIRESTEEL, run, sh, stop_kernels

NOTEBOOK = """-- %% [markdown]
-- # A text

-- %% First
print("hello")
6 * 7

-- %% Broken
local x = nil
print(x.y)

-- %% Pods
k8s.apply { apiVersion = "v1", kind = "Pod", metadata = { name = "alpha" }, spec = { restartPolicy = "Never",
  containers = { { name = "c", image = "host", command = { "sh", "-c", "sleep 100" } } } } }
"""
SLOW = '-- %% Slow\nfor i = 1, 400 do print("line " .. i) sh "sleep 0.1" end\n'


def folder(t, text):
    where = t.dir()
    with open(os.path.join(where, "small.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    t.after(stop_kernels)
    return where


def script(where, *lines, options=()):
    return sh(FIRESTEEL, "--linear", *options, "small.lua", cwd=where, input="\n".join(lines) + "\n")


def in_order(text, *parts):
    at = 0
    for part in parts:
        found = text.find(part, at)
        assert found >= 0, f"{part!r} is missing, or too early, in\n{text}"
        at = found + len(part)


def test_a_script_through_a_pipe(t):
    where = folder(t, NOTEBOOK)
    out = script(where, "# a note", "list", "run 2", "run 3", "show 2", "new y = 2^10 print(y)", "run 5", "vars", "help save", "save other.lua", "stop")
    in_order(out.out, "small.lua, 4 cells.", "cell 1: text", "cell 2 First: has not run", "cell 2 First: running", "hello", "42",
             "cell 2 First: ok", "cell 3 Broken: running", "cell 3 Broken: failed", "attempt to index", "cell 2 First, its text:",
             "output 2 of 2:\n42", "cell 5 is new", "cell 5: running", "1024.0", "cell 5: ok", "y, float: 1024.0", "save: save the notebook", "saved", "the kernel is stopped")
    assert out.code == 0 and "\x1b" not in out.out and "\r" not in out.out, out
    with open(os.path.join(where, "other.lua"), encoding="utf-8") as f:
        assert "y = 2^10 print(y)" in f.read()


def test_the_cluster_and_questions(t):
    where = folder(t, NOTEBOOK)
    out = script(where, "run 4", "maybe", "y", "pods", "why pods/alpha", "why pods/none", "nonsense x", "stop", options=("--sandbox",))
    in_order(out.out, "question: ", "Pod alpha", "Type one of: yes, always, no", 'error: "maybe" is no answer', "cell 4 Pods: ok", "table pods, 1 row",
             "name alpha, ready 1/1, status Running", "no cause is known", "error: there is no such object", "error: there is no command nonsense")
    assert out.code == 1, out


def test_it_leaves_the_kernel_and_comes_back(t):
    where = folder(t, NOTEBOOK)
    out = script(where, "run 2")
    in_order(out.out, "cell 2 First: ok", "goes on; firesteel --linear")
    out = script(where, "list", "stop")
    in_order(out.out, "joined ", "cell 2 First: ok", "the kernel is stopped")
    assert script(where, "input", "x y", "stop").code == 1


class Terminal:
    def __init__(self, where, **env):
        self.master, slave = pty.openpty()
        self.child = subprocess.Popen([FIRESTEEL, "small.lua"], cwd=where, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
                                      preexec_fn=lambda: __import__("fcntl").ioctl(0, __import__("termios").TIOCSCTTY, 0), env={**os.environ, **env})
        os.close(slave)
        self.text = ""

    def wait(self, words, seconds=30):
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, f"{words!r} did not come:\n{self.text}"
            if select.select([self.master], [], [], 0.2)[0]:
                self.text += os.read(self.master, 4096).decode()

    def type(self, words):
        os.write(self.master, words.encode())


def test_on_a_terminal(t):
    s = Terminal(folder(t, SLOW + '\n-- %% Asks\nprint("got " .. input "name?")\n'), FIRESTEEL_LINEAR="1", TERM="dumb")
    s.wait("2 cells.")
    s.type("run 1\n")
    s.wait("line 2")
    s.type("\x03")
    s.wait("interrupting; once more says how to leave")
    s.wait("cell 1 Slow: cancelled")
    s.wait("the kernel is idle")
    s.type("\x03")
    s.wait("quit leaves, and the kernel goes on")
    s.type("run 2\n")
    s.wait("question: name?")
    s.type("somebody\n")
    s.wait("got somebody")
    s.wait("cell 2 Asks: ok")
    s.type("quit\n")
    s.wait("goes on; firesteel --linear")
    assert s.child.wait(20) == 0
    assert "\x1b" not in s.text, s.text
    os.close(s.master)


run(globals())
