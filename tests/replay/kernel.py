# SPDX-License-Identifier: MIT
"""A kernel as a client sees it: starts firesteel-kernel, uses its protocol, collects its events.

It does not use our own client library, so the two are independent.
"""
import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import time

from tap import BUILD, PATIENCE

KERNEL = os.environ.get("FIRESTEEL_KERNEL", os.path.join(BUILD, "cli", "firesteel-kernel"))


def cell(source, marker=""):
    return f"-- %% {marker}\n{source}\n\n"


class Kernel:
    """headless: executes the notebook. Else nothing runs before `execute`. starter: a command that becomes the kernel."""

    def __init__(self, t, notebook="", *options, headless=False, cwd=None, env=None, hello=True, starter=()):
        self.cwd = cwd or t.dir()
        self.path = os.path.join(self.cwd, "test.lua")
        if notebook is not None:
            with open(self.path, "w", encoding="utf-8") as f:
                f.write(notebook)
        ours, theirs = socket.socketpair()
        theirs.set_inheritable(True)
        argv = [*starter, KERNEL, "--client-fd", str(theirs.fileno()), "--notebook", self.path, "--cwd", self.cwd, *options]
        if headless:
            argv.append("--headless")
        self.process = subprocess.Popen(argv, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, start_new_session=True,
                                        env=dict(os.environ, **(env or {})))
        theirs.close()
        self.connection = Connection(ours)
        self.events = self.connection.events
        t.after(self.end)
        if hello:
            with contextlib.suppress(BrokenPipeError):  # one that refuses what it was started with has gone
                self.send(type="hello", version=1, owner=True)

    def send(self, **message):
        self.connection.send(**message)

    def ask(self, **message):
        return self.connection.ask(**message)

    def wait(self, condition, seconds=20):
        return self.connection.wait(condition, seconds)

    def cells(self):
        return self.wait(lambda e: e["type"] == "document")["cells"]

    def pid(self):
        return self.wait(lambda e: e["type"] == "welcome")["pid"]

    def journal(self):
        return self.wait(lambda e: e["type"] == "welcome")["journal"]

    def kubeconfig(self):
        """The kubeconfig for children of cells that declare no cluster, while the kernel lives."""
        run = self.wait(lambda e: e["type"] == "welcome")["run"]
        folder = os.environ.get("FIRESTEEL_RUNTIME_DIR", f"/tmp/firesteel-{os.geteuid()}")
        return os.path.join(folder, f"{run}.kubeconfig")

    def finish(self, seconds=30):
        """Reads everything until the kernel is gone; returns its exit code."""
        self.connection.drain(seconds)
        self.code = self.process.wait(seconds * PATIENCE)
        self.stderr = self.process.stderr.read()
        return self.code

    def execute(self, *indexes):
        """Executes cells by their index; returns when all are done."""
        ids = [self.cells()[i]["id"] for i in indexes]
        begun = len(self.events)  # they may have run before
        reply = self.ask(type="execute", cells=ids)
        assert reply["ok"], reply
        for i in ids:
            self.done(i, since=begun)
        return self

    def run(self, source, marker=""):
        """Inserts a cell at the end, executes it, and returns its events."""
        cell_id = self.insert(source, marker)
        self.start(cell_id)
        self.done(cell_id)
        return Result(self, cell_id)

    def insert(self, source, marker=""):
        last = self.last if hasattr(self, "last") else (self.cells() or [{"id": None}])[-1]["id"]
        message = dict(type="insert", rev=1 << 40, source=source, marker=marker)
        if last:
            message["after"] = last
        reply = self.ask(**message)
        assert reply["ok"], reply
        self.last = reply["cell"]
        return self.last

    def start(self, cell_id):
        reply = self.ask(type="execute", cells=[cell_id])
        assert reply["ok"], reply

    def done(self, cell_id, seconds=20, since=0):
        return self.connection.wait(lambda e: e["type"] == "state" and e["cell"] == cell_id and
                                    e["state"] in ("ok", "failed", "cancelled"), seconds, since)

    def text(self, cell_id=None, name="stdout"):
        return "".join(e.get("text", "") for e in self.events if e["type"] == "stream" and e["name"] == name and
                       (cell_id is None or e["cell"] == cell_id))

    def of(self, kind, **fields):
        return [e for e in self.events if e["type"] == kind and all(e.get(k) == v for k, v in fields.items())]

    def end(self):
        self.connection.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10 * PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
        self.process.stderr.close()


class Result:
    def __init__(self, kernel, cell_id):
        events = [e for e in kernel.events if e.get("cell") == cell_id]
        self.state = [e["state"] for e in events if e["type"] == "state"][-1]
        self.out = kernel.text(cell_id)
        self.err = kernel.text(cell_id, "stderr")
        self.error = next((e for e in events if e["type"] == "error"), None)
        self.displays = [e for e in events if e["type"] == "display"]
        self.value = next((e["data"]["text/plain"] for e in self.displays if e.get("result")), None)
        self.ms = [e.get("ms") for e in events if e["type"] == "state"][-1]

    def __repr__(self):
        return f"{self.state}: {self.out!r} {self.error}"


class Connection:
    def __init__(self, sock):
        self.sock, self.rest, self.events, self.next_id, self.open = sock, b"", [], 1, True
        self.seen = 0

    @classmethod
    def to(cls, path):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        return cls(sock)

    def send(self, **message):
        self.sock.sendall(json.dumps(message).encode() + b"\n")

    def ask(self, **message):
        number, self.next_id = self.next_id, self.next_id + 1
        self.send(id=number, **message)
        return self.wait(lambda e: e["type"] == "reply" and e["to"] == number)

    def read(self, seconds):
        """Waits for more events; False when none come in time."""
        if not self.open or not select.select([self.sock], [], [], max(seconds, 0))[0]:
            return False
        try:
            data = self.sock.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        if not data:
            self.open = False
            return False
        *lines, self.rest = (self.rest + data).split(b"\n")
        self.events += [json.loads(line) for line in lines]
        return True

    def wait(self, condition, seconds=20, since=0):
        until, at = time.monotonic() + seconds * PATIENCE, since
        while True:
            while at < len(self.events):
                if condition(self.events[at]):
                    return self.events[at]
                at += 1
            if not self.read(until - time.monotonic()):
                short = [{k: v for k, v in e.items() if k in ("type", "state", "cell", "message", "text")}
                         for e in self.events[-8:]]
                raise AssertionError(f"not within {seconds} s (open: {self.open}); last events: {short}")

    def drain(self, seconds):
        until = time.monotonic() + seconds * PATIENCE
        while self.open and time.monotonic() < until:
            self.read(until - time.monotonic())
        assert not self.open, f"the kernel is still there after {seconds} s: {str(self.events[-5:])[-1000:]}"

    def close(self):
        self.open = False
        self.sock.close()
