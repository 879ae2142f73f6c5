#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An open document has one kernel: others learn who has it, in whatever folder they work."""
import json
import os
import signal
import socket

from kernel import Kernel, cell
from tap import PATIENCE, eventually, run


def lock_of(path):
    folder, name = os.path.split(path)
    return os.path.join(folder, ".firesteel", name + ".lock")


def second(t, path, *options):
    """Starts another kernel for the document, in another folder; returns its exit code and its messages."""
    k = Kernel(t, None, "--notebook", path, *options, hello=False)
    code = k.process.wait(20 * PATIENCE)
    return code, k.process.stderr.read()


def test_a_second_kernel_is_told_who_has_it(t):
    k = Kernel(t, cell("print(1)"), "--run", "test-20260101-000000-abcd")
    assert k.pid()
    with open(lock_of(k.path), encoding="utf-8") as f:
        lock = json.load(f)
    assert lock["pid"] == k.pid() and lock["host"] == socket.gethostname() and lock["cwd"] == k.cwd, lock
    link = os.path.join(t.dir(), "link.lua")
    os.symlink(k.path, link)
    for path in (k.path, link):
        code, said = second(t, path)
        assert code not in (0, None), said
        for words in ("is open already", f"process {k.pid()} on {socket.gethostname()}", "run test-20260101-000000-abcd",
                      "firesteel attach test-20260101-000000-abcd"):
            assert words in said, said
    headless = Kernel(t, None, "--notebook", k.path, headless=True)
    assert headless.finish() == 0
    assert k.ask(type="shutdown")["ok"]
    k.finish()
    assert not os.path.exists(lock_of(k.path))
    again = Kernel(t, None, "--notebook", k.path)
    again.execute(0)


def test_a_killed_kernel_locks_nobody_out(t):
    k = Kernel(t, cell("print(1)"))
    assert k.pid()
    os.kill(k.pid(), signal.SIGKILL)
    k.process.wait(10 * PATIENCE)
    assert os.path.exists(lock_of(k.path))
    again = Kernel(t, None, "--notebook", k.path)
    again.execute(0)
    with open(lock_of(k.path), encoding="utf-8") as f:
        assert json.load(f)["pid"] == again.pid()


def test_a_restart_keeps_it(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, cell("print(1)"), "--socket", sock)
    before = k.pid()
    assert k.ask(type="restart")["ok"]

    def taken_over():
        try:
            with open(lock_of(k.path), encoding="utf-8") as f:
                return json.load(f)["pid"] != before
        except OSError:
            return False
    eventually(taken_over, 10)
    code, said = second(t, k.path)
    assert code and "is open already" in said, said


def test_saving_under_another_name_takes_that_document(t):
    one, two = Kernel(t, cell("print(1)")), Kernel(t, cell("print(2)"))
    assert one.pid() != two.pid()
    refused = one.ask(type="save", rev=1 << 40, path=two.path, force=True)
    assert not refused["ok"] and "is open already" in refused["error"]["message"], refused
    with open(two.path, encoding="utf-8") as f:
        assert "print(2)" in f.read()
    mine = os.path.join(one.cwd, "mine.lua")
    saved = one.ask(type="save", rev=1 << 40, path=mine)
    assert saved["ok"] and os.path.exists(lock_of(mine)) and not os.path.exists(lock_of(one.path)), saved
    free = Kernel(t, None, "--notebook", one.path)
    free.execute(0)
    assert one.ask(type="save", rev=1 << 40, path=mine)["ok"] and os.path.exists(lock_of(mine))


run(globals())
