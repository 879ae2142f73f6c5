#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sixels in a real xterm, on an X server without a screen: what is on its window, as pixels."""
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

from bench import folder
from picturetty import png
from tap import FIRESTEEL, PATIENCE, Skip, run

HERE = os.path.dirname(os.path.realpath(__file__))
RED, BLUE = (255, 0, 0), (0, 0, 255)
CELLS = '-- %% P\ndisplay.image "p.png"\n\n' + "".join(f"-- %% C{i}\nprint({i})\n\n" for i in range(30))


class Window:
    """An xterm that knows sixels, with a program in it."""

    def __init__(self, t, where, command):
        for program in ("Xvfb", "xterm"):
            if not shutil.which(program):
                raise Skip(f"{program} is not installed")
        self.dir = t.dir()
        self.pipe = f"{self.dir}/keys"
        os.mkfifo(self.pipe)
        number, self.x = self.server(t)
        env = {**os.environ, "DISPLAY": f":{number}", "LC_ALL": "C.UTF-8", "FIRESTEEL_ASK": "off"}
        self.xterm = subprocess.Popen(
            ["xterm", "-ti", "vt340", "-b", "0", "+sb", "-bg", "black", "-fg", "gray", "-geometry", "80x24+0+0", "-e",
             sys.executable, f"{HERE}/support/relay.py", self.pipe, *command],
            cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        t.after(lambda: self.stop(self.xterm))

    def server(self, t):
        """A server that says by which number it is called, and keeps its screen in a file."""
        read, write = os.pipe()
        x = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "900x500x24", "-fbdir", self.dir, "-nolisten", "tcp"],
                             pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        t.after(lambda: self.stop(x))
        with os.fdopen(read, encoding="ascii") as f:
            return f.readline().strip(), x

    @staticmethod
    def stop(process):
        process.send_signal(signal.SIGTERM)
        process.wait()

    def press(self, keys):
        fd = os.open(self.pipe, os.O_WRONLY)
        os.write(fd, keys.encode())
        os.close(fd)

    def pixels(self):
        """Where the window has red and blue pixels: {colour: [(x, y), …]}. The file is xwd's (XWDFile.h)."""
        with open(f"{self.dir}/Xvfb_screen0", "rb") as f:
            data = f.read()
        head = struct.unpack(">25I", data[:100])
        start, width, height, line = head[0] + head[19] * 12, head[4], head[5], head[12]
        found = {RED: [], BLUE: []}
        marks = {bytes([b, g, r]): (r, g, b) for r, g, b in found}
        for y in range(height):
            row = data[start + y * line:start + y * line + width * 4]
            for mark, colour in marks.items():
                at = row.find(mark)
                while at >= 0:
                    if at % 4 == 0:
                        found[colour].append((at // 4, y))
                    at = row.find(mark, at + 1)
        return found

    def until(self, condition, seconds=30):
        end = time.monotonic() + seconds * PATIENCE
        while not condition(self.pixels()):
            assert time.monotonic() < end, {colour: (len(at), at[:1], at[-1:]) for colour, at in self.pixels().items()}
            time.sleep(0.1)


def opened(t):
    where = folder(t, CELLS, "n.lua")
    with open(f"{where}/p.png", "wb") as f:
        f.write(png(200, 100, lambda x, y: RED if x < 100 else BLUE))
    w = Window(t, where, [FIRESTEEL, "n.lua"])
    time.sleep(1)
    w.press("\x05")
    w.until(is_whole)
    return w


def box(places):
    xs, ys = [x for x, _ in places], [y for _, y in places]
    return min(xs), min(ys), max(xs) + 1, max(ys) + 1


def is_whole(pixels):
    """Two halves side by side, each of as many pixels as its box has, about 100 × 100."""
    if not pixels[RED] or not pixels[BLUE]:
        return False
    left, right = box(pixels[RED]), box(pixels[BLUE])
    full = all(len(pixels[c]) == (b[2] - b[0]) * (b[3] - b[1]) for c, b in ((RED, left), (BLUE, right)))
    return full and left[2] == right[0] and left[1] == right[1] and left[3] == right[3] and 80 < right[2] - right[0] < 120


def nothing(pixels):
    return not pixels[RED] and not pixels[BLUE]


def test_a_picture_is_shown_scrolled_covered_and_taken_away(t):
    w = opened(t)
    before = w.pixels()
    w.press("G")
    w.until(nothing)
    w.press("gg")
    w.until(lambda now: now == before)
    w.press("?")
    w.until(nothing)
    w.press("\x1b")
    w.until(lambda now: now == before)
    w.press("\x1b[<65;10;10M" * 2)  # the wheel: six rows up, so that the upper ones are cut
    w.until(lambda now: now[RED] and box(now[RED])[1] < 3 and len(now[RED]) < len(before[RED]))
    w.press("gg")
    w.until(lambda now: now == before)
    w.press("jdd")  # text moves below the picture, which stays
    w.press("jdd")
    time.sleep(1)
    assert w.pixels() == before
    w.press("s")
    time.sleep(1)
    w.press("q")
    w.until(nothing)


run(globals())
