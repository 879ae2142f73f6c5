#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The workbench on a pseudo-terminal, compared with vis, vim and htop: first screen, idling, memory, answers
to keys, bytes. Prints a table: ours, the peers', the limit. A missing peer is reported and left out.

usage: screen.py [-n RUNS] [first] [idle] [memory] [keys]      FIRESTEEL_BUILD says where the programs are
"""
import argparse
import fcntl
import os
import pty
import select
import shutil
import signal
import statistics
import struct
import subprocess
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build"))
FIRESTEEL = os.path.join(BUILD, "cli", "firesteel")
VIM = ["vim", "-u", "NONE", "-i", "NONE", "-n"]
LINES = 1000000
CELLS = 2000


class Program:
    """A program on a terminal of 80x24; its bytes since the last key are counted and kept."""

    def __init__(self, argv, cwd):
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            os.execvp(argv[0], argv)
        os.set_blocking(self.fd, False)
        self.got, self.last = b"", self.started

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        try:
            os.kill(self.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)

    def read(self, seconds):
        """The next bytes, if any come in that time."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        while True:
            try:
                chunk = os.read(self.fd, 1 << 16)
            except (BlockingIOError, OSError):
                return True
            self.got += chunk
            self.last = time.perf_counter()

    def until(self, text, seconds=120):
        """Reads until `text` has come; returns the seconds since the start, or since the last key."""
        end = time.perf_counter() + seconds
        while text.encode() not in self.got:
            if time.perf_counter() > end:
                raise SystemExit(f"no {text!r} came in {seconds} s; the last: {self.got[-300:]!r}")
            self.read(0.5)
        return self.last - self.started

    def quiet(self, seconds=0.2):
        while self.read(seconds):
            pass

    def key(self, keys, quiet=0.06):
        """Seconds from the write of a key to the last byte of its answer."""
        self.got = b""
        self.started = self.last = time.perf_counter()
        os.write(self.fd, keys.encode())
        self.read(1)
        while self.read(quiet):
            pass
        return self.last - self.started

    def send(self, keys):
        self.got = b""
        self.started = time.perf_counter()
        os.write(self.fd, keys.encode())


def descendants(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        direct = [int(child) for child in f.read().split()]
    return [pid] + [d for child in direct for d in descendants(child)]


def private_mib(pid):
    total = 0
    for each in descendants(pid):
        with open(f"/proc/{each}/smaps_rollup", encoding="utf-8") as f:
            total += sum(int(line.split()[1]) for line in f if line.startswith("Private_"))
    return total / 1024


def switches(pid):
    total = 0
    for each in descendants(pid):
        for task in os.listdir(f"/proc/{each}/task"):
            with open(f"/proc/{each}/task/{task}/status", encoding="utf-8") as f:
                total += sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
    return total


def median(values):
    return statistics.median(values)


def row(what, ours, peers, limit):
    print(f"{what:44}{ours:>14}   {peers:32}{limit}", flush=True)


def ms(seconds):
    return f"{seconds * 1e3:.2f} ms"


def have(program):
    if shutil.which(program):
        return True
    print(f"{program} is not there and is left out")
    return False


def first_screen(cwd, runs):
    """Both show the file's name in their last row: with it the screen is whole."""
    def once(argv):
        with Program(argv + ["10-mnist.lua"], cwd) as p:
            seconds = p.until("10-mnist.lua", 10)
            p.quiet(0.3 if argv == [FIRESTEEL] else 0.05)
            return seconds

    ours, theirs = [], []
    vis = have("vis")
    for i in range(runs * 4 + 1):
        a, b = once([FIRESTEEL]), once(["vis"]) if vis else None
        if i:
            ours.append(a)
            theirs.append(b)
    if vis:
        ratio = median([a / b for a, b in zip(ours, theirs)])
        row("first screen of recipes/10-mnist.lua", ms(median(ours)), f"vis {ms(median(theirs))}",
            f"ratio {ratio:.2f}, limit 3")
    else:
        row("first screen of recipes/10-mnist.lua", ms(median(ours)), "", "")


def idle(cwd, runs):
    """The smallest of three: a `firesteel ls` elsewhere wakes every kernel."""
    def wakes(argv, ready):
        counts = []
        with Program(argv, cwd) as p:
            p.until(ready, 20)
            p.quiet(0.7)
            for _ in range(3):
                before = switches(p.pid)
                time.sleep(5)
                counts.append(switches(p.pid) - before)
        return min(counts)

    peers = []
    if have("vim"):
        peers.append(f"vim {wakes(VIM + ['10-mnist.lua'], 'mnist')}")
    if have("htop"):
        peers.append(f"htop {wakes(['htop'], 'CPU')}")
    row("context switches in 5 s, idle", str(wakes([FIRESTEEL, "10-mnist.lua"], "idle")), ", ".join(peers),
        "limit 0")


def memory(cwd, runs):
    with open(f"{cwd}/cells200.lua", "w", encoding="utf-8") as f:
        for i in range(200):
            f.write(f'-- %% Cell {i}\nfor k = 1, 5 do print("cell {i} line " .. k) end\n{i} * 2\n\n')
    with Program([FIRESTEEL, "cells200.lua"], cwd) as p:
        p.until("idle", 20)
        p.send("R")
        p.quiet(1.5)
        for keys in ("G", "g", "g") + (" ",) * 60:
            p.key(keys, 0.01)
        row("private memory, 200 cells that have run", f"{private_mib(p.pid):.1f} MiB", "", "limit 12")


def answers(p, keys, runs, quiet=0.06):
    """Milliseconds, the median over some runs of each of the keys in turn."""
    return ms(median([p.key(key, quiet) for _ in range(runs) for key in keys]))


MOVES = {"a row down and up": ["j", "j", "k", "j"]}
FIRESTEEL_PAGES = {"a screen down and up": [" ", " ", "\x1b[5~", " "]}
VIM_PAGES = {"a screen down and up": ["\x06", "\x06", "\x02", "\x06"]}
LIMIT = "limit 5 ms"


def big_files(cwd):
    line = "2026-01-01T00:00:00Z worker-{} step {} loss 0.123456 accuracy 0.98"
    with open(f"{cwd}/big.log", "w", encoding="utf-8") as f:
        f.writelines(line.format(i % 7, i) + "\n" for i in range(1, LINES + 1))
    with open(f"{cwd}/big.lua", "w", encoding="utf-8") as f:
        lua = line.format('" .. i % 7 .. "', '" .. i .. "')
        f.write(f'-- %% Log\nfor i = 1, {LINES} do print("{lua}") end\n\n'
                '-- %% More\nfor i = 1, 1e9 do\n    print("more " .. i)\n'
                '    if i % 20 == 0 then sh "sleep 0.01" end\nend\n\n')
        for i in range(CELLS - 2):
            f.write(f'-- %% Cell {i}\n-- some words\nx{i} = {i}\nprint("cell {i}")\n\n')


def vim(cwd, runs):
    """The time that vim takes for the same, on the same lines."""
    figures = {}
    if not have("vim"):
        return figures
    with Program(VIM + ["big.log"], cwd) as p:
        p.quiet(0.5)
        for name, keys in {**MOVES, **VIM_PAGES, "to the end and the start": ["G", "gg"]}.items():
            figures[name] = "vim " + answers(p, keys, runs)
        p.key("i")
        figures["type"] = "vim " + answers(p, "x", runs * 4)
        figures["bytes"] = f"vim {len(p.got)}"
    return figures


def among_cells(p, peer, runs):
    for name, keys in {**MOVES, **FIRESTEEL_PAGES, "to the end and the start": ["G", "gg"]}.items():
        row(f"{CELLS} cells: {name}", answers(p, keys, runs), peer.get(name, ""), LIMIT)
    row(f"{CELLS} cells: insert one, delete it", answers(p, ["b", "dd"], runs), "", LIMIT)
    p.key("gg")
    for _ in range(5):
        p.key("j")
    p.key("\r")
    row(f"{CELLS} cells: type a character", answers(p, "x", runs * 4), peer.get("type", ""), LIMIT)
    row("  bytes sent for it", str(len(p.got)), peer.get("bytes", ""), "limit 100")
    p.key("\x1b", 0.2)


def in_the_log(p, peer, runs):
    p.key("gg")
    p.key("O", 0.3)
    for name, keys in {**MOVES, **FIRESTEEL_PAGES, "to the end and the start": ["G", "g"]}.items():
        row(f"{LINES} lines: {name}", answers(p, keys, runs), peer.get(name, ""), LIMIT)
    searches, filters = [], []
    for _ in range(runs):
        p.key("g")
        p.key("/")
        p.key(f"step {LINES} loss")
        searches.append(p.key("\r", 0.3))
        p.key("g")
        filters.append(p.key("&worker-3", 0.3))
        p.key("\x1b")
    row(f"{LINES} lines: search the last", ms(median(searches)), "", "limit 100 ms")
    row(f"{LINES} lines: filter, eight letters typed", ms(median(filters)), "", "")
    p.key("q")


def in_a_log_that_grows(p, runs):
    p.key("j")
    p.key("\x05", 0.05)
    p.send("O")
    p.until("following", 10)
    wraps = []
    for _ in range(runs * 2):
        p.send("w")
        time.sleep(0.1)
        p.read(0)
        p.send("w")
        wraps.append(p.until("wrapped", 5))
    row("a log that grows, followed: wrap", ms(median(wraps)), "", LIMIT)
    row("a log that grows: a screen up and down", answers(p, ["\x1b[5~", " "], runs * 2, 0.008), "", LIMIT)
    p.key("\x03")


def keys_and_bytes(cwd, runs):
    big_files(cwd)
    peer = vim(cwd, runs)
    with Program([FIRESTEEL, "big.lua"], cwd) as p:
        p.until("idle", 20)
        p.quiet(0.5)
        p.send("\x05")
        p.quiet(1.5)
        among_cells(p, peer, runs)
        in_the_log(p, peer, runs)
        in_a_log_that_grows(p, runs)


def stop_kernels(cwd):
    listed = subprocess.run([FIRESTEEL, "ls"], capture_output=True, text=True).stdout
    for line in listed.splitlines():
        if cwd in line:
            subprocess.run([FIRESTEEL, "stop", line.split()[0]], check=False, capture_output=True)


PARTS = {"first": first_screen, "idle": idle, "memory": memory, "keys": keys_and_bytes}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("parts", nargs="*")
    options = parser.parse_args()
    row("", "firesteel", "peers", "")
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as cwd:
        shutil.copy(os.path.join(ROOT, "recipes", "10-mnist.lua"), cwd)
        try:
            for name in options.parts or PARTS:
                PARTS[name](cwd, options.n)
        finally:
            stop_kernels(cwd)


main()
