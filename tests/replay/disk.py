#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A disk that fails: each call of a small recipe on its folder fails once, in turn (tests/support/fault.c).

After each failure the exit code and one sentence report it, nobody was told "ok" about data that is not on the disk,
`show` reads everything that clients were told, and `--resume` ends well.
"""
import collections
import errno
import itertools
import json
import mmap
import os
import re
import struct
import time
from concurrent.futures import ThreadPoolExecutor

from kernel import Kernel
from sandbox import sandbox
from lossy import Lossy
from tap import BUILD, FIRESTEEL, SANITIZED, Skip, run, sh

FAULT = os.path.join(BUILD, "tests", "fault.so")
KINDS = ("open", "write", "fsync", "fdatasync", "rename", "ftruncate", "fallocate", "mkdir", "close")
ERRORS = {  # the real errors of such a call, used in turn
    "open": (errno.EACCES, errno.EIO, errno.EROFS, errno.ENOSPC), "write": (errno.ENOSPC, errno.EIO),
    "fsync": (errno.EIO, errno.ENOSPC), "fdatasync": (errno.EIO, errno.ENOSPC), "rename": (errno.EACCES, errno.EROFS, errno.EIO),
    "ftruncate": (errno.EIO, errno.EROFS), "fallocate": (errno.ENOSPC, errno.EIO),
    "mkdir": (errno.EACCES, errno.ENOSPC, errno.EROFS), "close": (errno.EIO, errno.ENOSPC)}
LINES = 12000
SPOOLED = "".join(f"line\t{i}\n" for i in range(1, LINES + 1))
RECIPE = f"""\
-- %% Says
print "said"

-- %% A file file="out/data.txt"
the data

-- %% Much
for i = 1, {LINES} do print("line", i) end

-- %% An effect
sh "echo done >> effect"

-- %% Last
print "last"
"""


class State:
    """struct state of fault.c."""
    SYNCED = 4 * (len(KINDS) + 1) + 256
    SIZE = SYNCED + 8

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as f:
            f.write(bytes(self.SIZE))

    def read(self):
        with open(self.path, "r+b") as f, mmap.mmap(f.fileno(), self.SIZE) as m:
            numbers = struct.unpack_from(f"{len(KINDS) + 1}i", m)
            path = m[4 * len(numbers):].split(b"\0")[0].decode()
        return dict(zip(KINDS, numbers)), bool(numbers[-1]), path

    def synced(self):
        """So many bytes of the journal are on the disk."""
        with open(self.path, "rb") as f:
            return struct.unpack_from("q", f.read(), self.SYNCED)[0]


class Place:
    """A working folder with the recipe, and a run in which one call fails."""

    def __init__(self, top, name):
        self.folder = os.path.join(top, name)
        os.mkdir(self.folder)
        with open(f"{self.folder}/recipe.lua", "w", encoding="utf-8") as f:
            f.write(RECIPE)
        self.state = State(os.path.join(top, name + ".state"))
        self.home = os.path.join(top, name + ".home")
        os.mkdir(self.home)

    def firesteel(self, *arguments, **env):
        return sh(FIRESTEEL, *arguments, cwd=self.folder, timeout=30,
                  env=dict({"HOME": self.home, "XDG_STATE_HOME": None, "XDG_DATA_HOME": None}, **env))

    def fault(self, kind="", number=0, code=errno.EIO, stays=False):
        """The environment in which this call fails."""
        env = {"LD_PRELOAD": FAULT, "FAULT_FOLDER": self.folder, "FAULT_STATE": self.state.path, "FAULT_KIND": kind,
               "FAULT_NUMBER": str(number), "FAULT_ERRNO": str(code)}
        if stays:
            env["FAULT_STAYS"] = "1"
        if SANITIZED:
            env["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
        return env

    def run(self, *fault, options=(), **more):
        return self.firesteel("run", "recipe.lua", "-o", "json", "--report", "report.md", *options, **self.fault(*fault), **more)

    def read(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return None


def told(done):
    """The events that a client has received."""
    return [json.loads(line) for line in done.out.splitlines()]


def text_told(place, events, cell):
    """The output of a cell according to these events, including spooled output."""
    text = ""
    run_name = next((e["run"] for e in events if e["type"] == "run"), None)
    for e in events:
        if e["type"] != "stream" or e["cell"] != cell:
            continue
        if "text" in e:
            text += e["text"]
        else:
            with open(f"{place.folder}/.firesteel/{run_name}/{e['spool']}", "rb") as f:
                f.seek(e["from"])
                text += f.read(e["to"] - e["from"]).decode()
    return text


def check_kept(place, events):
    """Checks that these are the journal's lines from the first on, each once."""
    if not events:
        return
    with open(f"{place.folder}/.firesteel/{events[0]['run']}.jsonl", encoding="utf-8") as f:
        kept = [json.loads(line) for line in f.read().splitlines()]
    for e, line in itertools.zip_longest(events, kept[:len(events)]):
        assert e == line, ("told and not kept", e, line)


def check_told(place, events):
    """Checks that all of it is in the journal, and that `show` prints it."""
    run_name = next((e["run"] for e in events if e["type"] == "run"), None)
    if not run_name:
        return None
    check_kept(place, events)
    shown = place.firesteel("show", run_name)
    assert shown.code == 0 and "damaged" not in shown.err, shown
    for cell in {e["cell"] for e in events if e["type"] == "stream"}:
        for line in text_told(place, events, cell).splitlines():
            if line and "firesteel:" not in line:
                assert f"    {line}\n" in shown.out, (line, shown.out[-500:])
                break
    much = [text_told(place, events, e["cell"]) for e in events if e["type"] == "stream" and "spool" in e][:1]
    assert not much or "firesteel:" in much[0] or SPOOLED.startswith(much[0]), much[0][-200:]
    return run_name


def check_ok(place, events):
    """Exit code 0: checks that everything is there."""
    assert events and events[-1]["type"] == "end" and events[-1]["exit"] == 0, events[-1:]
    assert place.read("out/data.txt") == "the data\n" and place.read("effect") == "done\n"
    report = place.read("report.md")
    assert report and "said\n" in report and f"line\t{LINES}\n" in report and "last\n" in report, report and report[-300:]


# These may fail silently: the index of a spool, which readers do not need; reserving blocks and
# giving them back; a close after a sync; a read that is not important. A folder that may not be read cannot be synced.
HARMLESS = {"write": r"\.idx$", "ftruncate": r"", "fallocate": r"", "close": r"", "open": r"^$|^recipe.lua$"}


def is_harmless(kind, code, path):
    return kind in HARMLESS and re.search(HARMLESS[kind], path) or (kind, code, path) == ("open", errno.EACCES, ".")


def hit_the_index(place, run_name):
    """The run has ended and left no entry in the index of runs, which lists do without."""
    said = place.read(".firesteel/runs.index")
    return run_name and (said is None or run_name not in said)


def says(text, code):
    return os.strerror(code) in text or (code == errno.ENOSPC and "no space left" in text)


def check(place, done, kind, code, path, stays):
    events = told(done)
    what = f"{kind} of {path}: {os.strerror(code)}"
    lines = done.err.strip().split("\n")
    ends = [e["exit"] for e in events if e["type"] == "end"]
    assert done.code in (0, 1, 2) and "Traceback" not in done.err, (what, done)
    run_name = check_told(place, events)
    if done.code == 0:
        assert is_harmless(kind, code, path) or (kind in ("open", "write") and hit_the_index(place, run_name)), (what, "and nobody was told")
        check_ok(place, events)
    else:
        assert all(re.match(r"firesteel(-kernel)?: |`firesteel show ", line) for line in lines), (what, done.err)
        assert says(lines[0], code), (what, done.err)
        assert 0 not in ends or "the report" in lines[0], (what, ends)
        if not stays:  # then there is room for last words, and one sentence is enough
            assert len(lines) == 1 and (ends or not run_name), (what, done.err)
    again = ("--resume", run_name) if run_name else ()
    second = place.firesteel("run", "recipe.lua", *again, "--report", "report.md")
    assert second.code == 0, (what, second)
    assert place.read("out/data.txt") == "the data\n" and "last\n" in place.read("report.md"), what


class Tally:
    """The attempt, and its result."""

    def __init__(self, top, stays):
        self.top, self.stays = top, stays
        self.problems, self.passed, self.missed = [], collections.Counter(), collections.Counter()

    def one(self, kind, number, code):
        here = Place(self.top, f"{kind}-{number}")
        done = here.run(kind, number, code, self.stays)
        _, failed, path = here.state.read()
        if not failed:  # syncs that are requested while one is under way become one
            self.missed[kind] += 1
            assert done.code == 0, done
            return
        check(here, done, kind, code, path, self.stays)
        self.passed[kind] += 1

    def guarded(self, job):
        try:
            self.one(*job)
        except Exception as problem:  # check all of them before the test fails
            self.problems.append(f"{job[0]} {job[1]} ({os.strerror(job[2])}): {problem!r}"[:700])

    def all(self, jobs):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(self.guarded, jobs))
        print("# failed: " + ", ".join(f"{n} {kind}" for kind, n in sorted(self.passed.items())))
        for kind, n in self.missed.items():
            print(f"# skipped: {n} {kind}, which came together with others this time")
        assert not self.problems, f"{len(self.problems)} of {len(jobs)}:\n" + "\n".join(self.problems)


def count(top):
    """The number of calls of each kind in a run without failures."""
    if not os.path.exists(FAULT):
        raise Skip("the library that lets calls fail is not built")
    place = Place(top, "count")
    done = place.run()
    if SANITIZED and done.code and "LD_PRELOAD" in done.err:
        raise Skip("the sanitizer does not let a library be preloaded")
    assert done.code == 0, done
    check_told(place, told(done))
    check_ok(place, told(done))
    return place.state.read()[0]


def test_each_call_fails_once(t):
    """With sanitizers a sample: they look at how it fails, and not whether something is lost."""
    top, step = os.path.realpath(t.dir()), 3 if SANITIZED else 1
    Tally(top, False).all([(kind, n, ERRORS[kind][n % len(ERRORS[kind])])
                           for kind, total in count(top).items() for n in range(1, total + 1, step)])


def test_all_calls_fail_from_one_on(t):
    """A sample: a disk that is full or broken stays so."""
    top = os.path.realpath(t.dir())
    Tally(top, True).all([(kind, n, ERRORS[kind][n // 3 % len(ERRORS[kind])])
                          for kind, total in count(top).items() for n in range(1, total + 1, 9 if SANITIZED else 3)])


# Each display is a line of the journal: together they need more than the blocks that are reserved at the start.
SEEN = """\
-- %% Shows
for i = 1, 200 do display.markdown(("x"):rep(4000)) end

-- %% Does
sh "true"
"""


def seen_by_a_person(t, place, *fault):
    """A run's events as a workbench gets them: each when it happens, and none from the journal."""
    kernel = Kernel(t, SEEN, headless=True, cwd=place.folder, hello=False, env=dict(place.fault(*fault), HOME=place.home))
    kernel.send(type="hello", version=1, owner=True, person=True)
    kernel.finish()
    return [e for e in kernel.events if "wall" in e]


def test_a_person_is_shown_nothing_that_is_not_kept(t):
    """Who only reads the journal cannot see more than it has; who looks at a screen is sent each event as it comes."""
    top = os.path.realpath(t.dir())
    if not os.path.exists(FAULT) or SANITIZED:
        raise Skip("the library that lets calls fail is not built, or must not be preloaded")
    place = Place(top, "all")
    assert seen_by_a_person(t, place)[-1]["type"] == "end"
    counts, failures = place.state.read()[0], 0
    for kind in ("write", "fdatasync", "fallocate"):
        for number in range(2, counts[kind] + 1, 1 + counts[kind] // 12):
            place = Place(top, f"{kind}-{number}")
            events = seen_by_a_person(t, place, kind, number, errno.ENOSPC, True)
            failures += place.state.read()[1]
            check_kept(place, events)
    assert failures > 10, failures


def test_a_journal_that_vanishes(t):
    top = os.path.realpath(t.dir())
    place = Place(top, "vanishes")
    with open(f"{place.folder}/recipe.lua", "w", encoding="utf-8") as f:
        f.write("-- %% Gone\nsh 'rm -rf .firesteel'\n\n-- %% An effect\nsh 'touch effect'\n")
    done = place.firesteel("run", "recipe.lua")
    assert done.code == 1 and "it was removed while the run went on" in done.err, done
    assert place.read("effect") is None and done.out.splitlines()[-1].startswith("failed: "), done
    assert place.firesteel("runs").out.count("recipe-") == 0


class Watched(Lossy):
    """What was on the disk when a request came that makes something."""

    def __init__(self, t, kubeconfig, state):
        self.state, self.synced = state, []
        super().__init__(t, kubeconfig)

    def fate(self, method, path):
        if method == "POST" and "configmaps" in path and "dryRun" not in path:  # the preflight asks, and makes nothing
            self.synced.append(self.state.synced())
        return super().fate(method, path)


def test_an_intent_is_on_the_disk_before_its_request(t):
    """Each sync takes a while: what does not wait for it is early."""
    place = Place(os.path.realpath(t.dir()), "slow")
    proxy = Watched(t, sandbox(t)["KUBECONFIG"], place.state)
    with open(f"{place.folder}/recipe.lua", "w", encoding="utf-8") as f:
        f.write("-- %% Local\nsh 'od -An -j $AT -N 8 -t d8 $STATE > seen'\n\n-- %% Elsewhere effects=\"cluster\"\n"
                'k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "x"}}\n')
    done = place.run(options=("--allow", "cluster"), FAULT_SLOW="300", KUBECONFIG=proxy.kubeconfig, STATE=place.state.path,
                     AT=str(State.SYNCED))
    if SANITIZED and done.code and "LD_PRELOAD" in done.err:
        raise Skip("the sanitizer does not let a library be preloaded")
    assert done.code == 0 and len(proxy.synced) == 1, (done, proxy.synced)
    run_name = told(done)[0]["run"]
    with open(f"{place.folder}/.firesteel/{run_name}.jsonl", "rb") as f:
        lines = f.read().splitlines(keepends=True)
    ends, at = {}, 0
    for line in lines:
        at += len(line)
        record = json.loads(line)
        if record["type"] == "ledger":
            ends[record["entry"], record["phase"]] = at
    assert ends[1, "intent"] <= int(place.read("seen")), (ends, place.read("seen"))
    assert ends[2, "partial"] <= proxy.synced[0], (ends, proxy.synced)


def test_digests_of_a_slow_disk_keep_no_stopped_cell(t):
    """8 MiB take 25 s to be read: three seconds after a stop the file is told by its size and date."""
    if not os.path.exists(FAULT) or SANITIZED:
        raise Skip("the library that lets calls fail is not built, or must not be preloaded")
    place = Place(os.path.realpath(t.dir()), "patience")
    with open(f"{place.folder}/n.lua", "w", encoding="utf-8") as f:
        f.write('-- %% Writes timeout="1s"\nlocal f = io.open("w.slow", "w")\nf:write(("x"):rep(1 << 23))\nf:close()\nsh "sleep 60"\n')
    began = time.monotonic()
    done = place.firesteel("run", "n.lua", "-o", "json", LD_PRELOAD=FAULT, FAULT_FOLDER=place.folder, FAULT_STATE=place.state.path,
                           FAULT_SLOW="200")
    assert done.code == 4 and time.monotonic() - began < 20, (time.monotonic() - began, done)
    left = [e for e in told(done) if e["type"] == "recorded" and e["name"].endswith("w.slow")]
    assert len(left) == 1 and left[0]["value"]["size"] == 1 << 23, left
    assert "mtime" in left[0]["value"] and "sha256" not in left[0]["value"], left


run(globals())
