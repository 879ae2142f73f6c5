#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Servers that send without end: what is kept, what is reported, and that an interrupt and a time-out take effect."""
import glob
import json
import os
import re
import resource
import signal
import subprocess
import time

from badserver import Server
from tap import FIRESTEEL, PATIENCE, SANITIZED, Skip, eventually, run

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


def test_a_kernel_that_is_killed_is_told_with_its_signal(t):
    folder = t.dir()
    with open(f"{folder}/n.lua", "w", encoding="utf-8") as f:
        f.write("-- %% p\nfiresteel.sleep(600)\n")
    client = subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    t.after(client.kill)
    eventually(lambda: any('"running"' in open(f).read() for f in glob.glob(f"{folder}/.firesteel/*.jsonl")), SOON)
    os.kill(journaled(folder)["pid"], signal.SIGKILL)
    said = client.communicate(timeout=30 * PATIENCE)[0]
    assert client.returncode == 137 and "the kernel ended before the run did (signal 9, Killed): somebody killed it" in said, (client.returncode, said)


def limited(t, kind, limit, cell, name="n.lua"):
    """A run with a limit as of ulimit: its exit code, and all that it says."""
    folder = t.dir()
    with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
        f.write(f"-- %% p\n{cell}\n")
    done = subprocess.run([FIRESTEEL, "run", name], cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=120 * PATIENCE, check=False,
                          preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)))
    return done.returncode, done.stdout


def test_a_limit_of_the_address_space_is_named(t):
    """Many threads and children, and one value that grows; wherever the memory ends, a sentence says why."""
    if SANITIZED:
        raise Skip("a sanitizer takes all address space there is")
    shells = 'r = parallel.map({' + ",".join(map(str, range(1, 31))) + '}, function(i) return #sh("sleep 0.5; echo " .. i) end)\nprint(#r)'
    grows = 'local t = {}\nfor i = 1, 1e5 do t[i] = ("x"):rep(1e5) .. i end'
    named = 0
    for cell in (shells, grows):
        for mib in (100, 200, 300, 450, 700, 1000):
            code, said = limited(t, resource.RLIMIT_AS, mib * MEGABYTE, cell)
            assert code in (0, 1), (mib, code, said)
            told = re.search(r"(limited to|ulimit -v|[Cc]annot allocate memory|not enough memory)", said)
            assert code == 0 or told, (mib, said)
            named += "(ulimit -v)" in said
    assert named >= 3, named


def test_a_limit_of_open_files_is_named(t):
    for limit in (12, 20, 32, 48, 64):
        code, said = limited(t, resource.RLIMIT_NOFILE, limit, "for i = 1, 100 do sh 'true' end\nlocal t = {}\nfor i = 1, 100 do t[i] = assert(io.open '/dev/null') end")
        assert code == 1, (limit, code, said)
        assert "Too many open files" in said and said.strip(), (limit, said)


def peak(pid):
    """The most that a process has had in memory, in KiB; 0 when it is over."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            found = re.search(r"VmHWM:\s+(\d+)", f.read())
        return int(found[1]) if found else 0
    except FileNotFoundError:
        return 0


def journaled(folder):
    """The first record of the one run in the folder."""
    with open(glob.glob(f"{folder}/.firesteel/*.jsonl")[0], encoding="utf-8") as f:
        return json.loads(f.readline())


def test_a_client_that_follows_a_long_line_stays_small(t):
    """200 MB without a newline: whoever prints them keeps a part of them."""
    size, most = (200, 150) if not SANITIZED else (20, 1500)
    for cell in (f'print(("x"):rep({size} * 1000000))', f'sh "head -c {size}000000 /dev/zero | tr \'\\\\0\' x"'):
        folder = t.dir()
        with open(f"{folder}/n.lua", "w", encoding="utf-8") as f:
            f.write(f"-- %% p\n{cell}\n")
        client = subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        t.after(client.kill)
        seen, largest, kernel = 0, 0, 0
        while piece := client.stdout.read(1 << 20):
            seen += piece.count(b"x")
            largest = max(largest, peak(client.pid))
            kernel = max(kernel, peak(journaled(folder)["pid"]))
        assert client.wait() == 0 and seen >= size * 1000000, (seen, client.returncode)
        assert largest < most << 10, f"{largest} KiB"
        assert kernel < 4 * most << 10, f"{kernel} KiB: more than the value, and the copy that rep makes"


run(globals())
