# SPDX-License-Identifier: MIT
"""A program on an emulated terminal, driven from a test: see screen-run.c for the commands.

    with Screen([program, "notebook.lua"], term="screen", size="80x24") as s:
        s.wait("In [1]"); s.keys("Enter C-e"); print("\\n".join(s.screen()))
"""
import os
import signal
import subprocess
import time

# What dialogs say that take no key in their first half second.
DIALOGS = ("may it do", "asks", "Unsaved", "has changed", "is there already", "destructive", "Do this?", "leaving", "push image",
           "delete ", "Down Up", "Remove this run?", "Restart the kernel?")

from tap import PATIENCE

# Cases about other things restart and run again without a question; those about it have ASKED.
UNASKED, ASKED = {"FIRESTEEL_ASK": "off"}, {"FIRESTEEL_ASK": None}


class Failed(AssertionError):
    """A wait that failed, with the screen at that time."""


class Screen:
    def __init__(self, command, term="xterm-256color", size="80x24", seconds=20, env=None,
                 record=None, log=None, cwd=None, late=0):
        helper = os.path.join(os.environ["FIRESTEEL_BUILD"], "tests/screen/screen-run")
        options = ["-t", term, "-s", size, "-w", str(int(seconds * PATIENCE)), "-a", str(late)]
        options += (["-r", record] if record else []) + (["-l", log] if log else [])
        environment = {**os.environ, "LC_ALL": "C.UTF-8", **UNASKED, **(env or {})}
        self.cwd = cwd
        self.process = subprocess.Popen(
            [helper] + options + [str(word) for word in command], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, encoding="utf-8", cwd=cwd,
            env={name: value for name, value in environment.items() if value is not None})

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.stdin.close()
        code = self.process.wait(30 * PATIENCE)
        self.process.stdout.close()
        if code < 0 and -code != signal.SIGKILL and kind is None: # cases kill it themselves
            raise Failed(f"screen-run died of signal {-code}")

    def do(self, *words):
        """Sends a command; returns the answer as a list of lines."""
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            if line == ".\n":
                if lines and lines[0].startswith("failed:"):
                    raise Failed("\n".join(lines))
                return lines
            lines.append(line.rstrip("\n"))
        raise Failed("screen-run ended: " + "\n".join(lines))

    def keys(self, names):
        self.do("keys", names)

    def type(self, text):
        self.do("type", text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t"))

    def paste(self, text):
        self.do("paste", text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t"))

    def send(self, data):
        """Sends bytes as they are."""
        self.do("bytes", "".join(f"\\x{byte:02x}" for byte in data))

    def wait(self, text):
        self.do("wait", text)
        if any(part in text for part in DIALOGS):
            time.sleep(0.6)  # to read it: till then it takes no key

    def gone(self, text):
        self.do("gone", text)

    def quiet(self, milliseconds=100):
        self.do("quiet", str(milliseconds))

    def resize(self, size):
        self.do("resize", size)

    def signal(self, name):
        self.do("signal", name)

    def mark(self, name):
        """Puts a marker into the recording."""
        self.do("mark", name)

    def screen(self):
        """The rows, without trailing blanks."""
        return [row[1:] for row in self.do("screen")]

    def styles(self):
        """The rows, each after "|", and after a row its runs: "  0-4 fg=4 bold"."""
        return self.do("styles")

    def cursor(self):
        """(x, y, visible)"""
        _, x, y, visible = self.do("cursor")[0].split()
        return int(x), int(y), visible == "visible"

    def sent(self):
        """The number of bytes sent since the last call."""
        return int(self.do("sent")[0])

    def tty(self):
        """The state that a shell would find; it should be "cooked main paste-off keys-off"."""
        return self.do("tty")[0]

    def modes(self):
        """What the program has turned on: {"25", "1049", "2004", "keys=1", "titles=1"}."""
        return set(self.do("modes")[0].split())

    def exit(self):
        """Waits for the program's end: "exit 0", "signal 11"."""
        return self.do("exit")[-1]
