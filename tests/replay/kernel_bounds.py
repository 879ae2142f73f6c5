#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers that send without end: what is kept, what is reported, and that an interrupt and a time-out take effect."""
import glob
import json
import os
import signal
import subprocess
import time

from badserver import Server
from tap import FIRESTEEL, PATIENCE, SANITIZED, eventually, run

MEGABYTE = 1 << 20
# Generous, for a busy machine: normally a request takes effect within a second.
SOON = 8 * PATIENCE


class Run:
    """`firesteel run` of one cell against the server."""

    def __init__(self, t, server, cell, *options):
        self.dir = t.dir()
        with open(f"{self.dir}/n.lua", "w") as f:
            f.write(f"-- %% watch\n{cell}\n")
        self.process = subprocess.Popen([FIRESTEEL, "run", "n.lua", *options], cwd=self.dir, text=True,
                                        env=dict(os.environ, **server.env), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        t.after(self.process.kill)

    def journal(self):
        return glob.glob(f"{self.dir}/.firesteel/*.jsonl")[0]

    def records(self):
        files = glob.glob(f"{self.dir}/.firesteel/*.jsonl")
        return [json.loads(line) for line in open(files[0]) if line.endswith("\n")] if files else []

    def kernel(self):
        return next(r["pid"] for r in self.records() if r["type"] == "run")

    def peak(self):
        """The peak of the kernel's memory so far, in bytes."""
        with open(f"/proc/{self.kernel()}/status") as f:
            return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM"))

    def not_shown(self):
        """The number of objects that are not shown, as the last table has it."""
        found = [x["table"]["more"] for x in self.records() if x["type"] == "update" and "more" in x.get("table", {})]
        return found[-1] if found else None

    def end(self, code):
        out, _ = self.process.communicate(timeout=SOON)
        assert self.process.returncode == code, (self.process.returncode, out)
        return out

    def table(self):
        """The last whole table below the cell, as text."""
        return [r["data"]["text/plain"] for r in self.records() if r["type"] == "update" and "data" in r][-1]


def flooded(t, ns):
    """A run that has read more than a table holds, four seconds ago."""
    server = Server(t)
    r = Run(t, server, f'k8s.watch("pods", {{ namespace = "{ns}" }})\nfiresteel.sleep(600)')
    many = 20000 if SANITIZED else 100000  # more than a table has in either case
    eventually(lambda: server.sent > many and server.asked["watch " + ns], 60)
    if ns == "flood":  # what was sent is not read yet
        eventually(lambda: r.not_shown(), 60, every=1)
    time.sleep(4)
    return r


def check_kept(r):
    size = os.path.getsize(r.journal())
    assert size < 30 * MEGABYTE, size
    assert SANITIZED or r.peak() < 150 * MEGABYTE, r.peak() // MEGABYTE
    return size


def test_a_flood_of_new_pods_is_bounded_and_an_interrupt_ends_it(t):
    r = flooded(t, "flood")
    check_kept(r)
    r.process.send_signal(signal.SIGINT)
    out = r.end(130)
    assert "more rows are not shown" in out, out[-2000:]


def test_a_flood_ends_by_its_timeout(t):
    for limit in 6, 24, 96:  # a busy machine takes longer until the table is full
        r = Run(t, Server(t), 'k8s.watch("pods", { namespace = "flood" })\nfiresteel.sleep(600)', "--timeout", f"{limit}s")
        time.sleep(limit)
        r.end(4)
        if r.not_shown():
            return
    raise AssertionError(f"within {limit} s the table was not full")


def test_pods_that_come_and_go_at_once_are_bounded_too(t):
    r = flooded(t, "churn")
    check_kept(r)
    r.process.send_signal(signal.SIGINT)
    r.end(130)


def more(table):
    lines = [line for line in table.splitlines() if line.startswith("…")]
    return int(lines[0].split()[2]) if lines else 0


def test_the_table_says_how_many_are_not_shown(t):
    server = Server(t)
    r = Run(t, server, 'k8s.watch("pods", { namespace = "many-12000" })\nfiresteel.sleep(600)')

    eventually(lambda: r.not_shown() == 2000)
    server.delete = 500  # of those that are shown
    time.sleep(1)
    assert r.not_shown() == 2000
    r.process.send_signal(signal.SIGINT)
    r.end(130)
    table = r.table()
    assert more(table) == 2000, table[-300:]
    assert len(table.splitlines()) == 1 + 9500 + 1


def test_a_list_of_many_pages_keeps_all_and_counts_the_rest(t):
    server = Server(t)
    r = Run(t, server, 'k8s.watch("pods", { namespace = "list-11000" })\nfiresteel.sleep(600)')
    eventually(lambda: server.asked["watch list-11000"] == 1)
    time.sleep(1)
    r.process.send_signal(signal.SIGINT)
    r.end(130)
    table = r.table()
    assert more(table) == 1000 and len(table.splitlines()) == 1 + 10000 + 1, table[-300:]


run(globals())
