# SPDX-License-Identifier: MIT
"""Starts the ranks of one node, or of all nodes of this machine, as torchrun does: python3 launch.py SCRIPT ARGS...

What it is told stands in the environment (TORCH_RUN, a JSON object): nodes, nproc, and
  node      this node's number; null: all nodes are here
  node_of   the name of a variable that has it, with "plus" added
  address, port of rank 0; here they are chosen
  restarts  how often all ranks are started again after one has failed (here; a cluster restarts pods)
  tell      where events go: a descriptor's number, or null: marked lines of the output
A TrainJob's PET_* are used when they are there. Needs nothing but Python 3.6.
"""
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time

GRACE = 5  # seconds between SIGTERM and SIGKILL
BARS = 0.5  # seconds between two looks at a progress bar


def told():
    """What this node is to do."""
    job = {"nodes": 1, "nproc": 1, "node": None, "restarts": 0, "attempt": 0, "tell": None}
    job.update(json.loads(os.environ.pop("TORCH_RUN", "{}")))
    name = job.pop("node_of", None)
    if name:
        job["node"] = int(os.environ.get(name) or 0) + job.pop("plus", 0)
    if "PET_NNODES" in os.environ:
        job["nodes"] = int(os.environ["PET_NNODES"].split(":")[0])
        job["node"] = int(os.environ.get("PET_NODE_RANK") or 0)
        job["address"] = os.environ.get("PET_MASTER_ADDR", job.get("address"))
        job["port"] = int(os.environ.get("PET_MASTER_PORT") or job.get("port", 29500))
        nproc = os.environ.get("PET_NPROC_PER_NODE", "")
        if nproc.isdigit():
            job["nproc"] = int(nproc)
    attempt = job.pop("attempt_of", None)
    if attempt:
        job["attempt"] = int(os.environ.get(attempt) or 0)
    return job


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def environment(job, node, local, attempt):
    """torchrun's variables, and JAX's."""
    nproc, nodes = job["nproc"], job["nodes"]
    rank, size = node * nproc + local, nodes * nproc
    address, port = job.get("address"), job.get("port")
    env = dict(os.environ)
    ours = {"MASTER_ADDR": address, "MASTER_PORT": port, "RANK": rank, "LOCAL_RANK": local, "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": nproc,
            "NODE_RANK": node, "GROUP_RANK": node, "GROUP_WORLD_SIZE": nodes, "ROLE_NAME": "default", "ROLE_RANK": rank, "ROLE_WORLD_SIZE": size,
            "TORCHELASTIC_RESTART_COUNT": attempt, "TORCHELASTIC_MAX_RESTARTS": job["restarts"],
            "TORCHELASTIC_RUN_ID": job.get("name", "firesteel"),
            "JAX_COORDINATOR_ADDRESS": "%s:%s" % (address, port), "JAX_NUM_PROCESSES": size, "JAX_PROCESS_ID": rank, "PYTHONUNBUFFERED": 1}
    env.update({name: str(value) for name, value in ours.items()})
    if nproc > 1:
        env.setdefault("OMP_NUM_THREADS", "1")  # as torchrun: ranks of one node share its cores
    if job["node"] is None:
        env.setdefault("GLOO_SOCKET_IFNAME", "lo")
    return env


class Rank:
    """A process, and what it has printed that has no end yet."""

    def __init__(self, number, command, env, many):
        self.number = number
        self.mark = {1: "[%d]<stdout>:" % number, 2: "[%d]<stderr>:" % number} if many else {1: "", 2: ""}
        self.rest = {1: b"", 2: b""}
        self.bar = {1: 0.0, 2: 0.0}
        self.words = ""  # the last line of its standard error
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.open = {self.process.stdout: 1, self.process.stderr: 2}
        self.ended = None  # when it did
        threading.Thread(target=self.wait, daemon=True).start()

    def wait(self):
        """Ranks that end one after the other are told apart, however late we look."""
        self.process.wait()
        self.ended = time.monotonic()

    def write(self, fd, line):
        if fd == 2 and line.strip():
            self.words = line.decode("utf-8", "replace").strip()
        out = sys.stdout.buffer if fd == 1 else sys.stderr.buffer
        out.write(self.mark[fd].encode() + line + b"\n")
        out.flush()

    def take(self, fd, data):
        """Lines go on at once. What a return ends is a progress bar: rank 0's goes on now and then, as a line."""
        *lines, self.rest[fd] = (self.rest[fd] + data).split(b"\n")
        for line in lines:
            *bars, line = line.rstrip(b"\r").split(b"\r")
            if self.number == 0 or not bars:
                self.write(fd, line)
        if self.number == 0 and b"\r" in self.rest[fd]:
            *bars, self.rest[fd] = self.rest[fd].split(b"\r")
            now = time.monotonic()
            if bars[-1].strip() and now - self.bar[fd] >= BARS:
                self.bar[fd] = now
                self.write(fd, bars[-1])
            elif bars[-1].strip() and not self.rest[fd]:
                self.rest[fd] = bars[-1] + b"\r"  # it may be the last look
        elif b"\r" in self.rest[fd]:
            self.rest[fd] = b"\r" + self.rest[fd].rsplit(b"\r", 1)[1]

    def end(self, fd):
        *bars, rest = self.rest[fd].rstrip(b"\r").split(b"\r")
        self.rest[fd] = b""
        if rest.strip() and (self.number == 0 or not bars):
            self.write(fd, rest)

    def signal(self, number):
        if self.ended is None:
            self.process.send_signal(number)


def tell(job, event):
    line = json.dumps(event)
    if job["tell"] is None:
        sys.stdout.write("@firesteel " + line + "\n")
        sys.stdout.flush()
    else:
        os.write(job["tell"], (line + "\n").encode())


class Attempt:
    """All ranks of this launcher, from their start to the last one's end."""

    def __init__(self, job, command, number):
        nodes = range(job["nodes"]) if job["node"] is None else [job["node"]]
        many = job["nodes"] * job["nproc"] > 1
        self.failed, self.killing, self.ranks = None, 0.0, []
        if job["node"] is None:
            job["address"], job["port"] = "127.0.0.1", free_port()
        for node in nodes:
            for local in range(job["nproc"]):
                env = environment(job, node, local, number)
                self.ranks.append(Rank(int(env["RANK"]), command, env, many))

    def stop(self, number=signal.SIGTERM):
        self.killing = self.killing or time.monotonic() + GRACE
        for rank in self.ranks:
            rank.signal(number)

    def reap(self):
        """Have all ended? The first one that fails ends the others."""
        ended = sorted((rank for rank in self.ranks if rank.ended is not None), key=lambda rank: rank.ended)
        if self.failed is None and not self.killing:
            self.failed = next((rank for rank in ended if rank.process.returncode), None)
            if self.failed:
                self.stop()
        if self.killing and time.monotonic() > self.killing:
            self.stop(signal.SIGKILL)
        return len(ended) == len(self.ranks)

    def run(self):
        """The rank that failed first, or None."""
        with selectors.DefaultSelector() as selector:
            for rank in self.ranks:
                for stream, fd in rank.open.items():
                    selector.register(stream, selectors.EVENT_READ, (rank, fd))
            quiet = None  # a child of a rank may hold its output open
            while selector.get_map() or not self.reap():
                for key, _ in selector.select(0.1):
                    rank, fd = key.data
                    data = os.read(key.fileobj.fileno(), 65536)
                    if data:
                        rank.take(fd, data)
                    else:
                        rank.end(fd)
                        selector.unregister(key.fileobj)
                if self.reap():
                    quiet = quiet or time.monotonic() + 1
                    if time.monotonic() > quiet:
                        break
        for rank in self.ranks:
            for fd in (1, 2):
                rank.end(fd)
        return self.failed


def why(rank):
    code = rank.process.returncode
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = "signal"
        return "was ended by signal %d (%s)" % (-code, name)
    return "exited with %d%s" % (code, ": " + rank.words if rank.words else "")


def reachable(job):
    """Waits until the address of rank 0 has a meaning here: its pod may be later than this one, and not every library tries again."""
    until = time.monotonic() + 300
    while job["node"] and time.monotonic() < until:
        try:
            socket.getaddrinfo(job["address"], job["port"])
            return
        except OSError:
            time.sleep(0.5)


def main():
    job = told()
    command = [sys.executable] + sys.argv[1:]
    attempt, running, asked = job["attempt"], [], []

    def end(number, _):
        asked.append(number)
        for one in running:
            one.stop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    reachable(job)
    while True:
        one = Attempt(job, command, attempt)
        running[:] = [one]
        if asked:
            one.stop()
        failed = one.run()
        if asked:
            return 128 + asked[0]
        if failed is None:
            return 0
        again = attempt < job["restarts"]
        tell(job, {"event": "failed", "rank": failed.number, "why": why(failed), "again": again, "attempt": attempt, "at": time.time()})
        if not again or job["node"] is not None:  # pods are started again by who made them
            code = failed.process.returncode
            return code if code > 0 else 128 - code
        attempt += 1


if __name__ == "__main__":
    sys.exit(main())
