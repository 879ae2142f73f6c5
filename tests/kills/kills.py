#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills runs at random points: their journals can be read, they resume to the end, each object exists once, and
no process of them is left.

usage: kills.py [ROUNDS [SEED]]      (1000 rounds; the seed is printed, and repeats the choice of points)

Every fourth run is a notebook in Python, where ipykernel is in the tests' cache; of these, firesteel-jupyter and ipykernel
die, too, and what was printed of the killed cell is in the journal.

The cluster is a sandbox that outlives the runs, behind a proxy that delays each piece of the traffic, so that kills
also fall between a request and its answer. Ends with a table and TAP: one case for each promise.
"""
import collections
import concurrent.futures
import contextlib
import glob
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from foreign import ENV, needs_kernels  # noqa: E402
from tap import FIRESTEEL, PATIENCE, Skip, sh  # noqa: E402

ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
AT_ONCE = 4
DELAY = 0.004  # seconds, for each piece in each direction
GONE_WITHIN = 5  # seconds after the kill, for everything that belongs to the run
MARK = "FIRESTEEL_KILLS_ROUND"

NOTEBOOK = """\
-- %% Note file="note.txt"
written by a cell

-- %% Shell language="bash" outputs=["made.txt"]
echo made > made.txt; for i in 1 2 3; do echo line $i; sleep 0.01; done

-- %% Named effects="cluster"
named = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = NAME .. "-named" }, data = { a = "1" } }

-- %% Generated effects="cluster"
for i = 1, 2 do -- two equal calls
  k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = NAME .. "-generated-" }, data = { a = "1" } }
end

-- %% Applied effects="cluster"
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = NAME .. "-applied" }, data = { a = "1" } }

-- %% Wait
for i = 1, 5 do print("waiting", i) firesteel.sleep(0.01) end

-- %% Job effects="cluster"
job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = NAME .. "-job" }, spec = {
  template = { spec = { restartPolicy = "Never", containers = {
    { name = "main", image = "host", command = { "sh", "-c", "echo done" } } } } } } }
expect(job):reaches("Complete", "60s")
"""
# The same objects, by `import firesteel`.
PYTHON = """\
# %% First
import time
from firesteel import expect, k8s
def config(name, **more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {**more, **name}, "data": {"a": "1"}}

# %% Named
named = k8s.create(config({"name": NAME + "-named"}))

# %% Lines
for i in range(40):
    print("line", i, flush=True)
    time.sleep(0.02)

# %% Generated
for i in range(2):
    k8s.create(config({"generateName": NAME + "-generated-"}))
    print("generated", i)

# %% Applied
k8s.apply(config({"name": NAME + "-applied"}))

# %% Job
job = k8s.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": NAME + "-job"}, "spec": {
    "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "host", "command": ["sh", "-c", "echo done"]}]}}}})
expect(job).reaches("Complete", "60s")
"""
EXPECTED = {"named": 1, "generated": 2, "applied": 1, "job": 1}
PROMISES = ["the round comes to its end", "the client ends", "nothing is left running", "the journal opens",
            "the run resumes to its end", "a run without a journal has done nothing", "each object is there once",
            "clean removes all of it", "what was printed of a killed cell is in the journal"]
VICTIMS = ("client", "kernel", "guard", "kernel and guard", "all")
OF_PYTHON = ("firesteel-jupyter", "ipykernel", "client", "kernel", "all")


class Proxy:
    """A TCP proxy that holds each piece back for a while, and passes it on as it is."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            ours, _ = self.listener.accept()
            try:
                theirs = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                ours.close()
                continue
            for a, b in ((ours, theirs), (theirs, ours)):
                threading.Thread(target=self.pump, args=(a, b), daemon=True).start()

    @staticmethod
    def pump(source, sink):
        try:
            while piece := source.recv(1 << 16):
                time.sleep(DELAY)
                sink.sendall(piece)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Cluster:
    """A sandbox for all rounds, and its objects."""

    def __init__(self, folder):
        self.env = dict(os.environ, HOME=folder, TMPDIR=folder, FIRESTEEL_RUNTIME_DIR=os.path.join(folder, "run"))
        for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
            self.env.pop(name, None)
        up = sh(FIRESTEEL, "sandbox", "up", env=self.env)
        assert up.code == 0, up
        with open(re.search(r"KUBECONFIG='?([^'\s]+)", up.out).group(1), encoding="utf-8") as f:
            text = f.read()
        server = urllib.parse.urlsplit(re.search(r'"?server"?: "?(https://[^"\s,]+)', text).group(1))
        self.token = re.search(r'"?token"?: "?([^"\s,}]+)', text).group(1)
        self.url = f"https://{server.netloc}"
        self.proxy = Proxy(server.port)
        self.kubeconfig = os.path.join(folder, "kubeconfig")
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            f.write(text.replace(server.netloc, f"{server.hostname}:{self.proxy.port}"))
        os.chmod(self.kubeconfig, 0o600)
        self.env["KUBECONFIG"] = self.kubeconfig

    def down(self):
        sh(FIRESTEEL, "sandbox", "down", env=self.env)

    def names(self, prefix):
        """The names of a round's objects that exist."""
        found = []
        for path in ("api/v1/namespaces/default/configmaps", "apis/batch/v1/namespaces/default/jobs"):
            request = urllib.request.Request(f"{self.url}/{path}", headers={"Authorization": f"Bearer {self.token}"})
            with urllib.request.urlopen(request, context=ssl._create_unverified_context(), timeout=60) as answer:
                found += [item["metadata"]["name"] for item in json.load(answer)["items"]]
        return [n[len(prefix) + 1:] for n in found if n.startswith(prefix + "-")]


def children(pid, name="firesteel-"):
    """The guards that a client has started, the kernels of a guard, and so on. Not the child that looks for leaks at the client's end: the
    client would wait for ever without it."""
    def is_ours(child):
        with open(f"/proc/{child}/comm", encoding="ascii", errors="replace") as f:
            return f.read().startswith(name)
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(child) for child in f.read().split() if is_ours(child)]
    except OSError:
        return []


def marked(mark):
    """Living processes that have the round's mark in their environment."""
    wanted, found = f"{MARK}={mark}".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if wanted not in f.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                if f.read().rsplit(")", 1)[1].split()[0] not in "ZX":
                    found.append(int(pid))
        except OSError:
            continue
    return found


def kill(process, victims):
    """Kills the parts of a run that it finds at that moment; the client where there is none. Returns whether there was one."""
    guards = children(process.pid)
    kernels = [pid for guard in guards for pid in children(guard)]
    bridges = [pid for kernel in kernels for pid in children(kernel)] if victims in OF_PYTHON else []
    chosen = {"firesteel-jupyter": bridges, "ipykernel": [pid for bridge in bridges for pid in children(bridge, "python")],
              "client": [process.pid], "kernel": kernels[:1], "guard": guards, "kernel and guard": kernels[:1] + guards,
              "all": [process.pid] + guards + kernels}[victims]
    for pid in chosen or [process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return bool(chosen)


class Round:
    def __init__(self, cluster, number, victims, delay, python=False):
        self.cluster, self.number, self.victims, self.delay, self.python = cluster, number, victims, delay, python
        self.name = f"round-{number}"
        self.problems, self.facts = [], collections.Counter()
        self.folder = tempfile.mkdtemp(prefix="firesteel-kills-")
        self.env = dict(cluster.env, **(ENV if python else {}), **{MARK: str(number)})
        self.notebook, self.printed = (os.path.join(self.folder, name) for name in ("kills.py" if python else "kills.lua", "printed"))
        with open(self.notebook, "w", encoding="utf-8") as f:
            f.write((PYTHON if python else NOTEBOOK).replace("NAME", f'"{self.name}"'))

    def firesteel(self, *argv):
        return sh(FIRESTEEL, *argv, cwd=self.folder, env=self.env, timeout=120)

    def check(self, promise, holds, why=""):
        """Notes a promise: `promise` is one of PROMISES, as a failure without a case would tell nobody."""
        assert promise in PROMISES, promise
        self.facts[promise] += 1
        if not holds:
            self.problems.append((promise, f"{self.name}, {self.victims} killed after {self.delay:.3f} s: {why}"))
        return holds

    def start(self):
        with open(self.printed, "w", encoding="utf-8") as out:
            return subprocess.Popen([FIRESTEEL, "run", self.notebook, "--allow", "cluster,destructive"], cwd=self.folder,
                                    env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True)

    def die(self):
        process = self.start()
        time.sleep(self.delay)
        self.facts["killed before its end"] += process.poll() is None
        if kill(process, self.victims):
            self.facts["victim " + self.victims] += 1
        try:
            process.wait((GONE_WITHIN + 60) * PATIENCE)
            self.check("the client ends", True)
        except subprocess.TimeoutExpired:
            self.check("the client ends", False, f"it waits; there are {[self.about(pid) for pid in marked(self.number)]}")
            process.kill()
            process.wait()
        until = time.monotonic() + GONE_WITHIN * PATIENCE
        while (left := marked(self.number)) and time.monotonic() < until:
            time.sleep(0.05)
        self.check("nothing is left running", not left, f"processes {left}")
        for pid in left:
            os.kill(pid, signal.SIGKILL)

    @staticmethod
    def about(pid):
        """What a process is and waits for: it is the client that hangs, or its kernel."""
        words = []
        for name in ("cmdline", "wchan"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as f:
                words.append(f.read(200).replace(b"\0", b" ").decode(errors="replace"))
        return f"{pid}: {' in '.join(words)}"

    def run(self):
        why = ""
        try:
            self.go()
        except Exception:  # of this script, or a program that takes minutes: of this round alone
            why = traceback.format_exc()
        self.check("the round comes to its end", not why, why)
        return self

    def check_printed(self, journal):
        """Lines are in the journal before a client hears of them."""
        with open(self.printed, encoding="utf-8", errors="replace") as f:
            seen = re.findall(r"(?m)^ +((?:line|generated|waiting)\s\d+)\n", f.read())
        with open(journal, encoding="utf-8", errors="replace") as f:
            kept = "".join(e.get("text", "") for e in map(json.loads, f.read().split("\n")[:-1]) if e.get("type") == "stream").split("\n")
        self.facts["lines"] += len(seen)
        self.check("what was printed of a killed cell is in the journal", set(seen) <= set(kept), f"{seen[-3:]} {kept[-3:]}")

    def go(self):
        self.die()
        journals = glob.glob(os.path.join(self.folder, ".firesteel", "*.jsonl"))
        name = os.path.basename(journals[0])[:-6] if journals and os.path.getsize(journals[0]) else None
        if name:
            shown = self.firesteel("show", name)
            self.check("the journal opens", shown.code == 0 and self.firesteel("runs").code == 0, shown)
            self.check_printed(journals[0])
            done = self.firesteel("run", self.notebook, "--resume", name, "--allow", "cluster,destructive")
            self.check("the run resumes to its end", done.code == 0, done)
        else:
            self.facts["killed before its journal"] += 1
            done = self.firesteel("run", self.notebook, "--allow", "cluster,destructive")
            self.check("a run without a journal has done nothing", done.code == 0, done)
            name = "last"
        there = collections.Counter(n.split("-")[0] for n in self.cluster.names(self.name))
        self.check("each object is there once", there == EXPECTED, f"{dict(there)} {done}")
        cleaned = self.firesteel("clean", name, "--yes")
        left = self.cluster.names(self.name)
        self.check("clean removes all of it", cleaned.code == 0 and not left, f"{left} {cleaned}")
        shutil.rmtree(self.folder, ignore_errors=True)


def has_python():
    try:
        needs_kernels()
    except Skip as why:
        print(f"# no rounds in Python: {why}")
        return False
    return True


def measure(cluster, python):
    """The seconds that a run takes if nobody kills it."""
    times = []
    for number in range(3):
        undisturbed = Round(cluster, f"undisturbed{number}", "nobody", 0, python)
        began = time.monotonic()
        assert undisturbed.start().wait(60 * PATIENCE) == 0, undisturbed.firesteel("show")
        times.append(time.monotonic() - began)
        undisturbed.firesteel("clean", "last", "--yes")
        shutil.rmtree(undisturbed.folder, ignore_errors=True)
    return sorted(times)[1]


def main():
    folder = tempfile.mkdtemp(prefix="firesteel-kills-home-")
    cluster = Cluster(folder)
    chance = random.Random(SEED)
    facts, problems = collections.Counter(), []
    try:
        python = has_python()
        length, longer = (measure(cluster, p) * 1.3 if python or not p else 0 for p in (False, True))  # several rounds run at the same time
        print(f"# {ROUNDS} rounds, seed {SEED}; each is killed within {length:.2f} s, in Python {longer:.2f} s", flush=True)
        rounds = [Round(cluster, i, chance.choice(OF_PYTHON), chance.uniform(0, longer), True) if python and i % 4 == 3
                  else Round(cluster, i, chance.choice(VICTIMS), chance.uniform(0, length)) for i in range(ROUNDS)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for number, done in enumerate(pool.map(Round.run, rounds), 1):
                facts += done.facts
                problems += done.problems
                for promise, why in done.problems:
                    print(f"# {promise}: {why}", flush=True)
                if number % 100 == 0:
                    print(f"# {number} rounds, {len(problems)} broken promises", flush=True)
    finally:
        cluster.down()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"# killed before their end: {facts['killed before its end']}, before their journal: "
          f"{facts['killed before its journal']}; lines of killed cells: {facts['lines']}")
    print("# killed: " + ", ".join(f"{what[7:]} {n}" for what, n in sorted(facts.items()) if what.startswith("victim ")))
    print(f"1..{len(PROMISES)}")
    broken = collections.Counter(promise for promise, _ in problems)
    for number, promise in enumerate(PROMISES, 1):
        good = facts[promise] - broken[promise]
        print(f"{'not ok' if broken[promise] else 'ok'} {number} - {promise}: {good} of {facts[promise]}")
    print(f"# {len(PROMISES) - len(broken)} passed, {len(broken)} failed")
    sys.exit(1 if problems else 0)


main()
