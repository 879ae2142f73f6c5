# SPDX-License-Identifier: MIT
"""A terminal that shows pictures, for tests: it understands kitty's graphics protocol (with placeholders and without), sixels and
iTerm2's protocol, as far as its `knows` says, and keeps the pixels that lie over each cell.

    with PictureTerminal([program, "n.lua"], cwd, knows="sixel") as tty:
        tty.until(lambda: tty.picture())     # {(column, row): the average colour of the pixels over that cell}
        tty.press("j"); tty.rest(); print(tty.rows(), tty.sent)
"""
import base64
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
import unicodedata
import zlib

from tap import PATIENCE

NAMES = {"kitty": "kitty(0.36.2)", "placed": "Konsole 24.02", "sixel": "XTerm(390)", "iterm2": "iTerm2 3.5.2", "": "VTE(7600)"}
KEYS = {"Enter": "\r", "Esc": "\x1b", "C-e": "\x05", "C-l": "\x0c", "C-z": "\x1a", "Down": "\x1b[B", "PgDn": "\x1b[6~"}
PLACEHOLDER = "\U0010eeee"
# The marks of the first rows and columns, as kitty's rowcolumn-diacritics.txt has them.
MARKS = [0x305, 0x30d, 0x30e, 0x310, 0x312, 0x33d, 0x33e, 0x33f, 0x346, 0x34a, 0x34b, 0x34c, 0x350, 0x351, 0x352, 0x357, 0x35b,
         *range(0x363, 0x370), *range(0x483, 0x488), *range(0x592, 0x596), *range(0x597, 0x59a), *range(0x59c, 0x5a2), 0x5a8, 0x5a9,
         0x5ab, 0x5ac, 0x5af, 0x5c4, *range(0x610, 0x618), *range(0x657, 0x65c), 0x65d, 0x65e, *range(0x6d6, 0x6dd)]


def png(width, height, colour):
    """A PNG of RGB; colour(x, y)."""
    rows = b"".join(b"\0" + b"".join(bytes(colour(x, y)) for x in range(width)) for y in range(height))

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Image:
    """Pixels by (x, y); what is not there is transparent."""

    def __init__(self, width, height):
        self.width, self.height, self.pixels = width, height, {}

    def average(self, x, y, w, h):
        """Of an area; None: no pixel is there."""
        found = [self.pixels[i, j] for j in range(int(y), int(y + h)) for i in range(int(x), int(x + w)) if (i, j) in self.pixels]
        return tuple(sum(c) // len(found) for c in zip(*found)) if found else None


def read_png(data):
    assert data[:8] == b"\x89PNG\r\n\x1a\n", data[:20]
    at, body, header = 8, b"", None
    while at < len(data):
        n, name = struct.unpack(">I4s", data[at:at + 8])
        if name == b"IHDR":
            header = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + n])
        elif name == b"IDAT":
            body += data[at + 8:at + 8 + n]
        at += 12 + n
    width, height, depth, kind = header[:4]
    assert (depth, kind) == (8, 2), header
    image, raw, stride, before = Image(width, height), zlib.decompress(body), width * 3, bytes(width * 3)
    for y in range(height):
        how, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i, _ in enumerate(line):
            left, up, corner = line[i - 3] if i > 2 else 0, before[i], before[i - 3] if i > 2 else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            line[i] = (line[i] + [0, left, up, (left + up) // 2, paeth][how]) & 255
        before = bytes(line)
        for x in range(width):
            image.pixels[x, y] = tuple(line[3 * x:3 * x + 3])
    return image


def read_sixels(data):
    """The body of "ESC P … q body ESC \\"."""
    image, palette, x, y, colour = Image(0, 0), {}, 0, 0, 0
    for mark, numbers, run, count in re.findall(r"([\"#$\-])([\d;]*)|(?:!(\d+))?([?-~])", data):
        if mark == '"':
            image.width, image.height = map(int, numbers.split(";")[2:])
        elif mark == "#":
            words = [int(n) for n in numbers.split(";")]
            colour = words[0]
            if len(words) == 5:
                assert words[1] == 2 and max(words[2:]) <= 100, numbers
                palette[colour] = tuple(round(n * 2.55) for n in words[2:])
        elif mark in "$-" and mark:
            x, y = 0, y + (6 if mark == "-" else 0)
        else:
            for _ in range(int(run or 1)):
                for bit in range(6):
                    if (ord(count) - 63) >> bit & 1:
                        image.pixels[x, y + bit] = palette[colour]
                x += 1
    assert all(i < image.width and j < image.height for i, j in image.pixels), "pixels outside of what the picture says it has"
    return image


class PictureTerminal:
    TOKEN = re.compile(rb"\x1b\[([<=>?]?)([\d;:]*)([ -/]*)([@-~])|\x1b\](.*?)(?:\x07|\x1b\\)|\x1bP(.*?)\x1b\\|\x1b_(.*?)\x1b\\"
                       rb"|\x1b([ -/]*[0-OQ-Z\\^`-~])|([\x00-\x1a\x1c-\x1f\x7f])|([^\x00-\x1f\x7f]+)", re.S)

    def __init__(self, command, cwd, knows="", columns=80, lines=24, cell=(10, 20), term="xterm-256color", env=None, answers=True):
        self.knows, self.answers, self.cell, self.columns, self.lines = knows, answers, cell, columns, lines
        self.sent, self.bytes, self.rest_of, self.asked = 0, b"", b"", 0
        self.images, self.virtual, self.placed, self.loading = {}, {}, {}, None
        self.x = self.y = self.colour = 0
        self.saved, self.last, self.region = (0, 0, 0), " ", (0, lines)
        self.clear()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            environment = {**os.environ, "TERM": term, "LC_ALL": "C.UTF-8", "FIRESTEEL_ASK": "off", **(env or {})}
            os.execvpe(command[0], command, environment)
        self.size(columns, lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.kill(self.pid, signal.SIGHUP)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)

    # What the program sees

    def size(self, columns, lines):
        self.columns, self.lines, self.region = columns, lines, (0, lines)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, columns * self.cell[0], lines * self.cell[1]))

    def resize(self, columns, lines):
        self.cells = [(row + [(" ", 0)] * columns)[:columns] for row in (self.cells + [[] for _ in range(lines)])[:lines]]
        self.over = {place: colour for place, colour in self.over.items() if place[0] < columns and place[1] < lines}
        self.size(columns, lines)

    def type(self, text):
        os.write(self.fd, text.encode())

    def press(self, *keys):
        for key in keys:
            self.type(KEYS.get(key, key))

    def answer(self, text):
        if self.answers:
            os.write(self.fd, text.encode())

    # What a person sees

    def rows(self):
        return ["".join(c[0] for c, _ in row).rstrip() for row in self.cells]

    def text(self):
        return "\n".join(self.rows())

    def picture(self):
        """The average colour of the pixels over each cell that has some."""
        shown = dict(self.over)
        for y, row in enumerate(self.cells):
            for x, (character, colour) in enumerate(row):
                if character[0] == PLACEHOLDER and len(character) > 2:
                    down, across = MARKS.index(ord(character[1])), MARKS.index(ord(character[2]))
                    number = colour | (MARKS.index(ord(character[3])) << 24 if len(character) > 3 else 0)
                    image, size = self.images.get(number), self.virtual.get(number)
                    if image and size and across < size[0] and down < size[1]:
                        w, h = image.width / size[0], image.height / size[1]
                        shown[x, y] = image.average(across * w, down * h, w, h)
        for (number, _), (x, y, part, columns, rows) in self.placed.items():
            w, h = part[2] / columns, part[3] / rows
            for j in range(rows):
                for i in range(columns):
                    shown[x + i, y + j] = self.images[number].average(part[0] + i * w, part[1] + j * h, w, h)
        return {(x, y): colour for (x, y), colour in shown.items() if colour and x < self.columns and y < self.lines}

    # Reading

    def pump(self, seconds=0.05):
        """Reads what comes within that time; False: nothing did."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            time.sleep(seconds)
            return False
        self.sent += len(data)
        self.bytes += data
        self.feed(data)
        return True

    def until(self, condition, seconds=20):
        end = time.monotonic() + seconds * PATIENCE
        while not condition():
            assert time.monotonic() < end, self.text() + f"\n{len(self.picture())} cells with pixels"
            self.pump()

    def see(self, text):
        self.until(lambda: text in self.text())

    def rest(self, seconds=0.4):
        """Reads until nothing has come for that long; returns how many bytes came."""
        before, quiet = self.sent, time.monotonic()
        while time.monotonic() - quiet < seconds:
            if self.pump():
                quiet = time.monotonic()
        return self.sent - before

    def end(self):
        """Waits for the program's end; returns its exit code."""
        while True:
            done, status = os.waitpid(self.pid, os.WNOHANG)
            if done:
                while self.pump(0.05):
                    pass
                return os.waitstatus_to_exitcode(status)
            self.pump()

    def feed(self, data):
        data = self.rest_of + data
        at = 0
        while at < len(data):
            found = self.TOKEN.match(data, at)
            text = found and found.lastindex == 10
            if not found or (text and found.end() == len(data) and self.cut(data[at:])):
                break
            at = found.end()
            self.token(found)
        self.rest_of = data[at:]
        assert len(self.rest_of) < 1 << 22, "a sequence without an end"

    @staticmethod
    def cut(data):
        try:
            data.decode()
        except UnicodeDecodeError as error:
            return len(data) - error.start < 4
        return False

    def token(self, found):
        private, numbers, middle, final, osc, dcs, apc, escape, control, text = found.groups()
        if final:
            self.csi(private.decode(), numbers.decode(), middle.decode(), final.decode())
        elif osc is not None:
            self.osc(osc.decode())
        elif dcs is not None:
            self.dcs(dcs)
        elif apc is not None:
            self.kitty(apc.decode())
        elif escape:
            self.escape(escape.decode())
        elif control:
            self.control(control)
        else:
            for character in text.decode():
                self.put(character)

    # Cells

    def clear(self):
        self.cells = [[(" ", 0)] * self.columns for _ in range(self.lines)]
        self.over = {}
        self.placed = {}

    def blank(self, x, y):
        if 0 <= x < self.columns and 0 <= y < self.lines:
            self.cells[y][x] = (" ", 0)
            self.over.pop((x, y), None)

    def put(self, character):
        if unicodedata.combining(character) or unicodedata.category(character) == "Mn":
            x = max(0, self.x - 1)
            self.cells[self.y][x] = (self.cells[self.y][x][0] + character, self.cells[self.y][x][1])
            return
        if self.x >= self.columns:
            self.x = 0
            self.down()
        self.blank(self.x, self.y)
        self.cells[self.y][self.x] = (character, self.colour)
        self.last = character
        self.x += 2 if unicodedata.east_asian_width(character) in "WF" else 1

    def scroll(self, top, bottom, n):
        """Moves rows [top, bottom) up by n, with what lies over them."""
        blank = [[(" ", 0)] * self.columns for _ in range(abs(n))]
        part = self.cells[top:bottom]
        self.cells[top:bottom] = (part[n:] + blank) if n > 0 else (blank + part[:n])
        moved = {}
        for (x, y), colour in self.over.items():
            inside = top <= y < bottom
            if not inside or top <= y - n < bottom:
                moved[x, y - n if inside else y] = colour
        self.over = moved

    def down(self):
        if self.y + 1 == self.region[1]:
            self.scroll(*self.region, 1)
        else:
            self.y = min(self.y + 1, self.lines - 1)

    def control(self, byte):
        if byte == b"\r":
            self.x = 0
        elif byte == b"\n":
            self.down()
        elif byte == b"\b":
            self.x = max(0, self.x - 1)
        elif byte == b"\t":
            self.x = min(self.columns - 1, (self.x // 8 + 1) * 8)

    def escape(self, word):
        if word == "7":
            self.saved = (self.x, self.y, self.colour)
        elif word == "8":
            self.x, self.y, self.colour = self.saved
        elif word == "M":
            if self.y == self.region[0]:
                self.scroll(*self.region, -1)
            else:
                self.y -= 1

    def csi(self, private, numbers, middle, final):
        n = [int(part) if part.isdigit() else 0 for part in numbers.split(";")] if numbers else [0]
        one = max(1, n[0])
        if private == ">" and final == "q":
            self.asked += 1
            self.answer(f"\x1bP>|{NAMES[self.knows]}\x1b\\")
        elif final == "c" and not private:
            self.answer("\x1b[?62;4;22c" if self.knows == "sixel" else "\x1b[?62;22c")
        elif final == "S" and private == "?":
            self.answer("\x1b[?1;0;256S" if self.knows == "sixel" else "")
        elif final == "t" and n[0] == 16:
            self.answer(f"\x1b[6;{self.cell[1]};{self.cell[0]}t")
        elif final == "p" and middle == "$":
            self.answer(f"\x1b[?{n[0]};0$y")
        elif final in "hl" and private == "?" and 1049 in n:
            self.clear()
        elif final == "H":
            self.y, self.x = one - 1, max(1, n[1] if len(n) > 1 else 1) - 1
        elif final in "ABCDGd" and not private:
            self.x += {"C": one, "D": -one}.get(final, 0)
            self.y += {"B": one, "A": -one}.get(final, 0)
            self.x = one - 1 if final == "G" else self.x
            self.y = one - 1 if final == "d" else self.y
        elif final in "JKX" and not private:
            self.erase(final, n[0], one)
        elif final in "LM" and not private:
            self.scroll(self.y, self.region[1], one if final == "M" else -one)
        elif final in "ST" and not private:
            self.scroll(*self.region, one if final == "S" else -one)
        elif final in "@P" and not private:
            row = self.cells[self.y]
            moved = row[self.x:]
            self.cells[self.y] = row[:self.x] + (moved[one:] + [(" ", 0)] * one if final == "P" else ([(" ", 0)] * one + moved)[:len(moved)])
            assert not any(y == self.y and x >= self.x for x, y in self.over), "pixels were shifted"
        elif final == "b":
            for _ in range(one):
                self.put(self.last)
        elif final == "r" and not private:
            self.region = (one - 1, n[1] if len(n) > 1 and n[1] else self.lines)
            self.x = self.y = 0
        elif final == "m" and not private:
            self.select(numbers)

    def erase(self, final, how, count):
        if final == "J" and how == 2:
            self.clear()
            return
        ends = {"J": (self.lines - 1, self.columns), "K": (self.y, self.columns), "X": (self.y, self.x + count)}[final]
        first = self.x if how == 0 or final == "X" else 0
        last = ends[1] if how in (0, 2) or final == "X" else self.x + 1
        places = [(x, self.y) for x in range(first, last)] + [(x, y) for y in range(self.y + 1, ends[0] + 1) for x in range(self.columns)]
        # xterm takes the pixels away, but shows them again when it scrolls text
        assert not self.over.keys() & set(places), "pixels are erased without a character"
        for x, y in places:
            self.blank(x, y)

    def select(self, numbers):
        found = re.search(r"38[;:]5[;:](\d+)", numbers)
        if found:
            self.colour = int(found[1])
        elif numbers in ("", "0") or "39" in numbers.split(";"):
            self.colour = 0

    # Pictures

    def lay(self, image, columns=None, rows=None):
        """Pixels over the cells from the cursor on."""
        w, h = self.cell
        across = columns or -(-image.width // w)
        down = rows or -(-image.height // h)
        assert self.y + down < self.lines, "a picture in the last row: the terminal would scroll"
        for j in range(down):
            for i in range(across):
                part = (image.width / columns, image.height / rows) if columns else (w, h)
                colour = image.average(i * part[0], j * part[1], *part)
                if colour:
                    self.over[self.x + i, self.y + j] = colour

    def dcs(self, data):
        if data.startswith(b"tmux;"):
            self.feed(data[5:].replace(b"\x1b\x1b", b"\x1b"))
            return
        assert self.knows == "sixel" and re.match(rb"[\d;]*q", data), ("sixels", self.knows, data[:40])
        self.lay(read_sixels(data.decode().split("q", 1)[1]))
        self.x, self.y = 0, self.y + 1  # where it is now nobody should rely on

    def osc(self, data):
        if not data.startswith("1337;File="):
            return
        assert self.knows == "iterm2", self.knows
        options, _, content = data[10:].partition(":")
        words = dict(word.split("=", 1) for word in options.split(";"))
        body = base64.b64decode(content)
        assert words["inline"] == "1" and int(words["size"]) == len(body), words
        self.lay(read_png(body), int(words["width"]), int(words["height"]))
        if words.get("doNotMoveCursor") != "1":
            self.y += 1

    def kitty(self, data):
        assert data[0] == "G", data
        keys, _, payload = data[1:].partition(";")
        words = dict(word.split("=", 1) for word in keys.split(","))
        action = words.get("a", "")
        if action == "q":
            if self.knows in ("kitty", "placed"):
                self.answer(f"\x1b_Gi={words['i']};OK\x1b\\")
            return
        assert self.knows in ("kitty", "placed") and words["q"] == "2", (self.knows, words)
        number = int(words.get("i", 0))
        if action == "t" or self.loading:
            assert len(payload) <= 4096
            self.loading = self.loading or (number, [])
            self.loading[1].append(payload)
            if words.get("m") == "0":
                self.images[self.loading[0]] = read_png(base64.b64decode("".join(self.loading[1])))
                self.loading = None
        elif action == "p" and words.get("U") == "1":
            assert self.knows == "kitty"
            self.virtual[number] = (int(words["c"]), int(words["r"]))
        elif action == "p":
            part = [int(words[key]) for key in "xywh"]
            self.placed[number, words["p"]] = (self.x, self.y, part, int(words["c"]), int(words["r"]))
        elif action == "d":
            gone = [place for place in self.placed if place[0] == number and words.get("p", place[1]) == place[1]]
            for place in gone:
                del self.placed[place]
            if words["d"] == "I":
                self.images.pop(number, None)
                self.virtual.pop(number, None)
