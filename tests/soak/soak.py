#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One kernel and one workbench under load for a long time: do they stay as large as they are?

usage: soak.py [TIME]      10m (the default), 90s, 2h

Each lap runs many cells, floods of output, objects made, watched and deleted, a Job with its log, and clients that come
and go, one of them a second workbench. The cluster is a private sandbox. After each lap, when all is quiet, it looks at
kernel, guard, sandbox and workbench: private memory, descriptors, threads; and at the files of the run-time and temporary
folders. Before the first lap the cells that use the cluster run alone, until the sandbox's history is full.

Memory: the first third of the laps is for warming up; over the others it may grow, for each lap, by
- NOISE_KIB: what the heap loses between pieces that are still used, and the files' pages;
- kernel and workbench: EFFECT_KIB for each effect, since the ledger of a run keeps each of its effects;
- sandbox: EVENT_KIB for each Event of a Job, since a namespace keeps the last 1,000.
Everything else may not grow at all: in the last third of the laps it is as in the middle one.
Exit 1 when something grew, with what it was.

Beside it, network.py follows logs and watches through a bad network, for the same time.
"""
import collections
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for support in ("../replay", "../screen/support", "../support"):
    sys.path.insert(0, os.path.join(HERE, support))
HOME = tempfile.mkdtemp(prefix="firesteel-soak-")
NETWORK = os.path.join(HOME, "network")
for name in ("tmp", "run", "network"):
    os.mkdir(os.path.join(HOME, name), 0o700)
os.environ.update(HOME=HOME, TMPDIR=os.path.join(HOME, "tmp"), FIRESTEEL_RUNTIME_DIR=os.path.join(HOME, "run"),
                  XDG_STATE_HOME="", XDG_DATA_HOME="")
from kernel import Connection, Kernel  # noqa: E402
from screen import Screen  # noqa: E402
from tap import FIRESTEEL, Test  # noqa: E402

LEAST_LAPS = 9
NOISE_KIB, EFFECT_KIB, EVENT_KIB = 16, 2.5, 7
HISTORY = 2048  # changes that a sandbox keeps
CELLS = [
    ("for i = 1, 20000 do print('line', i, ('x'):rep(i % 80)) end", ""),
    ("seq 1 200000; echo done >&2", 'language="bash"'),
    ("local t = {} for i = 1, 1000 do t[i] = { name = 'row ' .. i, value = i } end display(t)", ""),
    ("error 'as expected'", ""),
    ("k8s.watch('configmaps')", 'effects="cluster"'),
    ("""for i = 1, 20 do
  k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "soak-" .. i }, data = { a = ("b"):rep(i * 100) } }
end
for i = 1, 20 do k8s.delete("configmap", "soak-" .. i) end""", 'effects="cluster,destructive"'),
    ("""job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "soak" }, spec = { template = { spec = {
  restartPolicy = "Never", containers = { { name = "c", image = "host", command = { "seq", "1", "20000" } } } } } } }
k8s.wait { job, "condition=Complete", timeout = "2m" }
print(#k8s.logs("job/soak"))
k8s.delete("job", "soak")""", 'effects="cluster,destructive"'),
] + [(f"x = {i}; print(x)", "") for i in range(30)]


PROBE = """local made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "soak-probe" } }
k8s.delete("configmap", "soak-probe")
print("version " .. made.resourceVersion)"""
EVENTS = 6  # of the Job in CELLS and its pod


def seconds_of(text):
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if not match:
        sys.exit(f"soak: '{text}' is no time: 90s, 10m, 2h")
    return int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(child) for child in f.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as f:
        return f.read().strip()


def family(pid):
    """Our programs below a process, and itself, by what they are."""
    found = {}
    for number in [pid] + [c for a in children(pid) for c in [a] + children(a)]:
        try:
            if name_of(number).startswith("firesteel"):
                found[number] = name_of(number)
        except OSError:
            continue
    return found


def measure(pid):
    facts = {}
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        facts["MiB"] = sum(int(line.split()[1]) for line in f if line.startswith("Private_")) / 1024
    facts["descriptors"] = len(os.listdir(f"/proc/{pid}/fd"))
    facts["threads"] = len(os.listdir(f"/proc/{pid}/task"))
    return facts


def files(folder):
    return sum(len(names) for _, _, names in os.walk(folder))


class Soak:
    def __init__(self, t):
        self.t = t
        self.cwd = os.path.join(HOME, "work")
        os.mkdir(self.cwd)
        self.socket = os.path.join(os.environ["FIRESTEEL_RUNTIME_DIR"], "soak.sock")
        self.kernel = Kernel(t, "", "--sandbox", "--socket", self.socket, cwd=self.cwd)
        self.ids = [self.kernel.insert(source, marker) for source, marker in CELLS]
        self.run = self.kernel.wait(lambda e: e["type"] == "welcome")["run"]
        self.journal = self.kernel.journal()
        self.bench = self.workbench()
        self.samples = collections.defaultdict(list)
        self.probe = self.kernel.insert(PROBE, 'effects="cluster,destructive"')
        while self.version() < HISTORY * 1.1:
            for cell_id, (_, marker) in zip(self.ids, CELLS):
                if "cluster" in marker:
                    self.execute(cell_id)
        self.effects = -self.journaled()

    def workbench(self):
        s = Screen([FIRESTEEL, "attach", self.run], size="120x40", cwd=self.cwd, seconds=60)
        self.t.after(lambda: s.__exit__(None))
        s.wait(r"print")
        return s

    def execute(self, cell_id):
        """One cell to its end; questions are answered."""
        k = self.kernel
        del k.events[:]
        k.start(cell_id)
        while True:
            e = k.wait(lambda e: e["type"] == "ask" or (e["type"] == "state" and e["cell"] == cell_id and
                                                        e["state"] in ("ok", "failed", "cancelled")), 180)
            if e["type"] == "state":
                return e["state"]
            del k.events[:]
            assert k.ask(type="answer", ask=e["ask"], value="always")["ok"]

    def version(self):
        """The number of changes in the sandbox until now."""
        assert self.execute(self.probe) == "ok", self.kernel.of("error")
        return int(re.search(r"version (\d+)", "".join(e.get("text", "") for e in self.kernel.of("stream")))[1])

    def journaled(self):
        """The number of effects in the journal until now."""
        with open(self.journal, encoding="utf-8") as f:
            return sum('"phase":"intent"' in line for line in f)

    def visitors(self):
        """Clients that come and go: some say hello, one reads nothing, one is a workbench."""
        for number in range(10):
            c = Connection.to(self.socket)
            c.send(type="hello", version=1)
            if number % 2:
                c.wait(lambda e: e["type"] == "welcome")
            c.close()
        with Screen([FIRESTEEL, "attach", self.run], size="80x24", cwd=self.cwd, seconds=60) as s:
            s.wait(r"print")
            s.keys("G PgUp PgUp j k O q g g")
            s.keys("q")

    def lap(self):
        for cell_id, (source, _) in zip(self.ids, CELLS):
            state = self.execute(cell_id)
            assert state == ("failed" if source.startswith("error") else "ok"), (state, source, self.kernel.of("error"))
        self.visitors()
        self.bench.keys("G PgUp PgDn g g j j k")
        self.bench.quiet(300)

    def processes(self):
        found = family(self.kernel.process.pid)
        found.update(family(self.bench_pid()))
        return found

    def bench_pid(self):
        """Of the workbench behind the emulated terminal."""
        return children(self.bench.process.pid)[0]

    def look(self):
        time.sleep(0.5)
        # guard and kernel have one name: by their order
        for place, (pid, name) in enumerate(sorted(self.processes().items())):
            for what, value in measure(pid).items():
                self.samples[f"{place + 1} {name}", what].append(value)
        self.samples["files", "run-time"].append(files(os.environ["FIRESTEEL_RUNTIME_DIR"]))
        self.samples["files", "temporary"].append(files(os.environ["TMPDIR"]))


def allowed(who, effects):
    """KiB that the memory of a process may grow in a lap with that many effects."""
    name = who.split()[-1]
    if name == "firesteel-sandb":
        return NOISE_KIB + EVENT_KIB * EVENTS
    return NOISE_KIB + (0 if name == "firesteel-guard" else EFFECT_KIB * effects)


def growth(values):
    """The median of the slopes between two values that are far from each other: outliers do not count."""
    half = max(len(values) // 2, 1)
    return statistics.median((values[i + half] - values[i]) / half for i in range(len(values) - half))


def judge(samples, laps, effects):
    """Prints the table; what grew."""
    grown = []
    print(f"{'':22} {'':12} {'first':>8} {'middle':>8} {'last':>8}  KiB a lap")
    for (who, what), values in sorted(samples.items()):
        third, note = len(values) // 3, ""
        middle, last = statistics.median(values[third:2 * third]), statistics.median(values[-third:])
        worse = last > middle or len(values) != laps
        if what == "MiB":
            slope, bound = growth(values[third:]) * 1024, allowed(who, effects)
            worse = slope > bound or len(values) != laps
            note = f"{slope:9.1f}, allowed {bound:.1f}"
        print(f"{who:22} {what:12} {values[0]:8.1f} {middle:8.1f} {last:8.1f}  {note}{'  GREW' if worse else ''}")
        if worse:
            grown.append(f"{who}: {what} {middle:.1f} -> {last:.1f} in {len(values)} of {laps} laps")
    return grown


def main():
    total, began, laps = seconds_of(sys.argv[1] if len(sys.argv) > 1 else "10m"), time.monotonic(), 0
    t = Test()
    network = subprocess.Popen([sys.executable, os.path.join(HERE, "network.py"), f"{total}s"], stdin=subprocess.DEVNULL,
                               env=dict(os.environ, TMPDIR=NETWORK, FIRESTEEL_RUNTIME_DIR=NETWORK))
    t.after(lambda: network.kill() if network.poll() is None else None)
    # its cluster ends with it
    real = subprocess.Popen([sys.executable, os.path.join(HERE, "network.py"), "--cluster", f"{total}s"], stdin=subprocess.DEVNULL)
    t.after(lambda: real.kill() if real.poll() is None else None)
    try:
        soak = Soak(t)
        while laps < LEAST_LAPS or time.monotonic() - began < total:
            soak.lap()
            soak.look()
            laps += 1
            if laps % 10 == 0:
                print(f"# {laps} laps, {time.monotonic() - began:.0f} s", flush=True)
        grown = judge(soak.samples, laps, (soak.effects + soak.journaled()) / laps)
        print(f"{laps} laps of {len(CELLS)} cells in {time.monotonic() - began:.0f} s; "
              f"{len(soak.samples) - len(grown)} passed, {len(grown)} failed")
        code = 1 if network.wait(600) | real.wait(900) or grown else 0
    finally:
        for cleanup in reversed(t.cleanups):
            cleanup()
        shutil.rmtree(HOME, ignore_errors=True)
    sys.exit(code)


main()
