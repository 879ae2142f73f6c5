#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the program at one promise after the other, and looks whether the nearest test notices (./check mutants).

    mutants.py                    those of which no result is kept (kept.py)
    mutants.py NAME…              these
    mutants.py --all              all, those that were run longest ago first
    mutants.py --minutes N        as many of them as can be begun in N minutes
    mutants.py --record           what is noticed is written into the file of kept results
    mutants.py --wide             what survives is tried on whole suites, too
    mutants.py --list             names, what is known of each, promises
    mutants.py --random N [SEED]  not the list: N lines by chance (randomly.py)

It works on a copy of the sources in build-mutants/, with a build of its own. Each case runs as the program is: it has to pass.
Then the mutant is put into the copy and built, and its case runs alone, twice, with a run of the program as it is in between.
Noticed means that the very case which is named fails, or that its program dies, both times, and that it passes in between;
a build that fails is an error of the mutant.
"""
import argparse
import contextlib
import ctypes
import datetime
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import kept
import randomly
import table

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import mesontests  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(table.HERE))
WORK = os.path.join(ROOT, "build-mutants")
SOURCE = os.path.join(WORK, "source")
BUILD = os.path.join(SOURCE, "build")  # placed as for the real sources: so a compiler cache recognises it
CLEAN = os.path.join(WORK, "clean")  # programs as they are without a mutant
SLACK = 40  # seconds beyond five times what the unchanged program takes; more where the machine is busy, as tests wait longer then
SLACK_OF_A_HANG = 15  # the same where the mutant may wait for ever; then a run of the unchanged program shows that it was long enough
PR_SET_CHILD_SUBREAPER = 36


class Failed(Exception):
    pass


def files():
    """The sources, as git sees them; without git, all but builds."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, text=True)
    names = listed.stdout.split("\0") if listed.returncode == 0 else [
        os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, found in os.walk(ROOT) for name in found]
    return {n for n in names if n and not n.startswith(("build", ".git/")) and os.path.isfile(os.path.join(ROOT, n))}


def copy_sources():
    """Makes the copy what the sources are; what is the same keeps its time, so that little is built again."""
    wanted = files()
    for folder, below, found in os.walk(SOURCE):
        if folder == SOURCE and "build" in below:
            below.remove("build")
        for name in found:
            path = os.path.join(folder, name)
            if os.path.relpath(path, SOURCE) not in wanted:
                os.remove(path)
    for name in sorted(wanted):
        source, target = os.path.join(ROOT, name), os.path.join(SOURCE, name)
        with open(source, "rb") as f:
            data = f.read()
        if os.path.isfile(target):
            with open(target, "rb") as f:
                if f.read() == data:
                    continue
        write(target, data)
        shutil.copymode(source, target)


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def descendants():
    """Processes below this one: all that tests leave comes to us, as we are their subreaper."""
    parents = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
                state, parent = f.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            parents[int(pid)] = int(parent)
    below, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        grown = bool(more)
        below |= more
    return below - {os.getpid()}


def reap(wanted=None):
    """Takes what has ended; the status of `wanted` when it is among it, else None."""
    found = None
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return found
            found = status if pid == wanted else found
    except ChildProcessError:
        return found


def ends_within(process, seconds):
    """Like process.wait(), but it also reaps orphans, since tests look whether these are gone."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        status = reap(process.pid)
        if status is not None:
            process.returncode = os.waitstatus_to_exitcode(status)
            return True
        time.sleep(0.01)
    return False


def sweep(patience=3.0):
    """Ends what a test has left running; what is killed may leave children, too."""
    until = time.monotonic() + patience
    while (left := descendants()) and time.monotonic() < until + 5:
        for pid in left if time.monotonic() >= until else ():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        reap()
    reap()


def busy():
    """What tests multiply their time-outs by (tests/support/tap.py)."""
    return min(10, max(1, os.getloadavg()[0] / (os.cpu_count() or 1)))


class Runner:
    """The build of the copy, and the cases of its tests."""

    def __init__(self, temporary, jobs=None):
        self.build, self.busy, self.jobs = BUILD, busy, ["-j", str(jobs)] if jobs else []
        self.env = dict(os.environ, TMPDIR=temporary, FIRESTEEL_RUNTIME_DIR=os.path.join(temporary, "run"),
                        GIT_CEILING_DIRECTORIES=WORK)
        self.usual, self.known, self.tests, self.sources, self.saved = {}, None, {}, {}, set()

    def prepare(self, names):
        if not os.path.isfile(os.path.join(BUILD, "build.ninja")):
            done = subprocess.run(["meson", "setup", "-Dwerror=false", BUILD, SOURCE], env=self.env, capture_output=True, text=True)
            if done.returncode:
                raise Failed("meson setup:\n" + done.stdout[-2000:] + done.stderr[-2000:])
        problem = self.ninja(["build.ninja"])
        if problem:
            raise Failed(problem)
        known = mesontests.Tests(BUILD)
        if known.twice.intersection(names):
            raise Failed("two tests are called " + ", ".join(sorted(known.twice.intersection(names))))
        self.known, self.tests, self.sources = known, known.tests, known.sources
        missing = [n for n in names if n not in self.tests]
        if missing:
            raise Failed("there is no test " + ", ".join(missing))

    def wanted(self, test):
        return self.known.wanted(test)

    def save(self, test):
        """Builds what a test wants as it is without a mutant, and keeps a copy."""
        missing = [o for o in self.wanted(test) if o not in self.saved]
        problem = self.ninja(missing) if missing else None
        if problem:
            raise Failed("the sources do not build: " + problem)
        for output in missing:
            os.makedirs(os.path.dirname(os.path.join(CLEAN, output)), exist_ok=True)
            shutil.copy2(os.path.join(BUILD, output), os.path.join(CLEAN, output))
            self.saved.add(output)

    @contextlib.contextmanager
    def as_it_is(self, test):
        """Puts the copies in the place of what is built; a program may name others by their paths."""
        moved = []
        try:
            for output in self.wanted(test):
                place = os.path.join(BUILD, output)
                os.rename(place, place + ".mutant")
                moved.append(place)
                shutil.copy2(os.path.join(CLEAN, output), place)
            yield
        finally:
            for place in moved:
                os.replace(place + ".mutant", place)

    def ninja(self, targets):
        """Builds; the first error, or None."""
        done = subprocess.run(["ninja", "-C", BUILD, "--quiet", *self.jobs, *targets], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode == 0:
            return None
        errors = [line for line in done.stdout.splitlines() if " error: " in line or "undefined reference" in line]
        return (errors or done.stdout.splitlines() or ["ninja failed"])[0]

    def command(self, test, case):
        argv = list(self.tests[test]["cmd"])
        if argv[-1].endswith(".py"):
            argv.append("test_" + case)
        elif len(argv) == 1:
            argv.append(case)
        return argv

    def started(self, test, argv, seconds, **env):
        """Runs a program of a test: (its status, or None when its time was over; what it printed)."""
        output = tempfile.TemporaryFile(dir=self.env["TMPDIR"])
        process = subprocess.Popen(argv, env=dict(self.env, **self.tests[test]["env"], **env),
                                   cwd=self.tests[test]["workdir"] or BUILD, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        late = not ends_within(process, seconds)
        sweep(0 if late else 3)
        status = None if late else process.returncode
        process.returncode = 0
        output.seek(0)
        text = output.read().decode(errors="replace")
        output.close()
        return status, text

    def program(self, test, cases, seconds):
        """A test as a whole, or these cases of it: (its status, cases that failed, was it too late?)."""
        status, text = self.started(test, self.tests[test]["cmd"], seconds, **({"FIRESTEEL_CASES": " ".join(cases)} if cases else {}))
        return status, re.findall(r"^not ok \d+ - (\w.*?)(?: #.*)?$", text, re.M), status is None

    def run(self, test, case, seconds):
        """"passed", "failed", "died", "hangs" or "skipped …", and what it printed."""
        status, text = self.started(test, self.command(test, case), seconds)
        late = status is None
        for line in text.splitlines():
            said, _, rest = line.partition(" - ")
            name, _, skip = rest.partition(" # SKIP")
            if name.strip() == case and said.startswith("not ok"):
                return "failed", text
            if name.strip() == case and said.startswith("ok"):
                return f"skipped:{skip}" if "# SKIP" in rest else "passed", text
        return "hangs" if late else "died", text


    def clean(self, test, case, seconds=300):
        """A run of the program as it is; a busy machine gets a second chance."""
        with self.as_it_is(test):
            begun = time.monotonic()
            how, text = self.run(test, case, seconds)
            if how != "passed" and not how.startswith("skipped"):
                begun = time.monotonic()
                how, text = self.run(test, case, seconds)
        self.usual.setdefault((test, case), time.monotonic() - begun)
        return how, text


def say(text):
    print(text, end="", flush=True)


def confirm(runner, mutant, test, case, limit):
    """Was it the mutant? The case has to pass without it now, and to fail with it again. None, or what else happened."""
    with without(mutant):
        how, text = runner.clean(test, case, limit)
    if how != "passed":
        return f"NOT JUDGED: {test}: {case} {how} with nothing changed, too\n{text[-1500:]}"
    how, _ = runner.run(test, case, limit)
    return None if how in noticing(mutant) else f"SURVIVED: {test}: {case} fails now and then, and {how} the second time"


def noticing(mutant):
    return ("failed", "died", "hangs") if mutant.hangs else ("failed", "died")


def judge(runner, mutant, skipped):
    """(was it noticed, or None if that cannot be judged; the message)."""
    said = "SURVIVED"
    for test, case in mutant.tests:
        if (test, case) in skipped:
            said = f"not judged: {test}: {case} is {skipped[test, case]}" if said == "SURVIVED" else said
            continue
        problem = runner.ninja(runner.wanted(test))
        if problem:
            return False, "DOES NOT BUILD: " + problem
        limit = 5 * runner.usual[test, case] + (SLACK_OF_A_HANG if mutant.hangs else SLACK * busy())
        begun = time.monotonic()
        how, _ = runner.run(test, case, limit)
        took = f"{time.monotonic() - begun:.1f} s"
        if how in noticing(mutant):
            otherwise = confirm(runner, mutant, test, case, limit)
            return not otherwise, otherwise or f"noticed by {test}: {case} ({'' if how == 'failed' else 'it ' + how + ', '}{took})"
        said = f"SURVIVED ({test}: {case} {'hangs, which is not expected of it' if how == 'hangs' else how}, {took})"
    return (None if said.startswith("not judged") else False), said


def try_wider(runner):
    """The tests of the quick suites and of whole runs that notice a mutant which the nearest test did not notice."""
    problem = runner.ninja([])
    if problem:
        return problem
    subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--suite", "unit", "--suite", "replay"], env=runner.env,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    sweep()
    with open(os.path.join(BUILD, "meson-logs", "testlog.json"), encoding="utf-8") as f:
        results = [json.loads(line) for line in f]
    bad = [r["name"] for r in results if r["result"] not in ("OK", "SKIP")]
    return "elsewhere: " + (", ".join(bad) if bad else "noticed by nothing in unit and replay")


def path_of(mutant):
    return os.path.join(SOURCE, mutant.file)


def text_of(path):
    with open(path, "rb") as f:
        return f.read()


@contextlib.contextmanager
def within(mutant):
    """Changes the line in the copy of the sources as long as the block runs."""
    original = text_of(path_of(mutant))
    mutant.original = original
    try:
        write(path_of(mutant), mutant.apply(original.decode()).encode())
        yield
    finally:
        write(path_of(mutant), original)


@contextlib.contextmanager
def without(mutant):
    """Within `within`: the copy is as it was meanwhile, for tests that read sources. What is built stays."""
    broken = text_of(path_of(mutant))
    try:
        write(path_of(mutant), mutant.original)
        yield
    finally:
        write(path_of(mutant), broken)


def as_it_is(runner, mutant, skipped):
    """The mutant's cases as the program is; what is wrong with one, or None. What skips is noted."""
    for test, case in mutant.tests:
        if (test, case) in runner.usual:
            continue
        runner.save(test)
        how, text = runner.clean(test, case)
        if how.startswith("skipped"):
            skipped[test, case] = how
        elif how != "passed":
            del runner.usual[test, case]
            return f"NOT JUDGED: {test}: {case} {how}, and nothing was changed:\n{text[-1500:]}"
    return None


def one(runner, mutant, skipped, wide):
    problem = as_it_is(runner, mutant, skipped)
    if problem:
        return False, problem
    with within(mutant):
        noticed, said = judge(runner, mutant, skipped)
        if wide and noticed is False:
            said += "; " + try_wider(runner)
    return noticed, said


def counts_here(mutant):
    """Has this CPU the flag that the mutant needs?"""
    if not mutant.needs:
        return True
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return re.search(rf"^(flags|Features)\s*:.*\b{mutant.needs}\b", f.read(), re.M) is not None


def in_order(chosen, results):
    """What was never run or has moved first, then by age; the quick suites first, and the cases of a program in a row."""
    suites = ["tests/unit", "tests/replay", "tests/screen"]
    def key(mutant):
        test, case = mutant.tests[0]
        file = os.path.relpath(results.sources.of_case(test, case)[0], SOURCE)
        rank = next((i for i, s in enumerate(suites) if file.startswith(s)), len(suites))
        return results.day(mutant.name) if results.is_known(mutant.name) else "", rank, test, case
    return sorted(chosen, key=key)


def run(mutants, options, temporary):
    begun = time.monotonic()
    copy_sources()
    results = kept.Kept(table.mutants(), SOURCE)
    anew = bool(options.names) or options.all
    kept_ones = 0 if anew else sum(results.is_known(m.name) for m in mutants)
    if kept_ones:
        say(f"{kept_ones} of {len(mutants)} were noticed before, and nothing has moved that decides it (--all runs them, too)\n")
    chosen = in_order([m for m in mutants if anew or not results.is_known(m.name)], results)
    for mutant in chosen:
        if not counts_here(mutant):
            say(f"{mutant.name} is left out: it counts on a CPU with {mutant.needs}, which this one has not\n")
    chosen = [m for m in chosen if counts_here(m)]
    if not chosen:
        return 0
    runner = Runner(temporary)
    runner.prepare({test for m in chosen for test, _ in m.tests})
    skipped, width, noticed, unjudged, ran = {}, max(len(m.name) for m in chosen), 0, 0, 0
    for mutant in chosen:
        if options.minutes is not None and time.monotonic() - begun >= 60 * options.minutes:
            break
        say(f"{mutant.name:{width}}  ")
        result, said = one(runner, mutant, skipped, options.wide)
        ran += 1
        noticed += result is True
        unjudged += result is None
        say(said + "\n")
        if options.record and result is not None:
            results.put(mutant.name, datetime.date.today().isoformat() if result else None)
            results.save()
    say(f"{noticed} of {ran} noticed" + (f", {unjudged} not judged" if unjudged else "") +
        (f", {len(chosen) - ran} left for another time" if ran < len(chosen) else "") +
        f"; {(time.monotonic() - begun) / 60:.0f} min {(time.monotonic() - begun) % 60:.0f} s\n")
    return 0 if noticed + unjudged == ran and (noticed or not ran) else 1


def run_randomly(options, temporary):
    begun = time.monotonic()
    copy_sources()
    runner = Runner(temporary, options.jobs)
    runner.prepare([])
    return randomly.run(runner, SOURCE, ROOT, options.random, int(options.names[0]) if options.names else None,
                        begun + 60 * options.minutes if options.minutes is not None else None, say)


def choose(names):
    known = table.mutants()
    unknown = [n for n in names if n not in {m.name for m in known}]
    if unknown:
        raise Failed(f"there is no mutant {', '.join(unknown)}: --list shows them")
    wrong, _ = table.faults(ROOT)
    if wrong:
        raise Failed("\n".join(wrong))
    return [m for m in known if m.name in names] if names else known


def locked(fn):
    """Calls fn(temporary folder) as the only one in build-mutants/; removes what a killed one left in /tmp."""
    os.makedirs(WORK, exist_ok=True)
    with open(os.path.join(WORK, "lock"), "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Failed("another ./check mutants is going on here") from None
        lock.seek(0)
        left = lock.read().strip()
        if os.path.basename(left).startswith("fsm-"):
            shutil.rmtree(left, ignore_errors=True)
        temporary = tempfile.mkdtemp(prefix="fsm-")
        os.chmod(temporary, 0o755)  # tests that become another user go through it
        lock.truncate(0)
        lock.write(temporary)
        lock.flush()
        try:
            return fn(temporary)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            sweep(0)
            shutil.rmtree(temporary, ignore_errors=True)


def ended(number, frame):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(prog="./check mutants")
    parser.add_argument("--all", action="store_true", help="also what was noticed before, and has not moved")
    parser.add_argument("--minutes", type=float, metavar="N", help="begin none after N minutes")
    parser.add_argument("--record", action="store_true", help="write what is noticed into tests/mutants/noticed")
    parser.add_argument("--wide", action="store_true", help="try what survives on all of unit and replay")
    parser.add_argument("--list", action="store_true", help="names, when each was noticed, promises")
    parser.add_argument("--random", type=int, metavar="N", help="change N lines by chance instead; behind it a seed")
    parser.add_argument("--jobs", type=int, metavar="N", help="of the build, with --random: so many at once")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.random and (len(options.names) > 1 or not all(n.isdigit() for n in options.names)):
        raise Failed("after --random N comes a number, the seed")
    mutants = choose([] if options.random else options.names)
    if options.list:
        results = kept.Kept(mutants, ROOT)
        for m in mutants:
            state = results.state(m.name)
            state += "" if results.is_known(m.name) or counts_here(m) else f", needs {m.needs}"
            print(f"{m.name:26} {state:24} {m.promise}")
        return 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, ended)
    if options.random:
        return locked(lambda temporary: run_randomly(options, temporary))
    return locked(lambda temporary: run(mutants, options, temporary))


try:
    sys.exit(main())
except (Failed, table.Wrong) as problem:
    print(f"mutants: {problem}", file=sys.stderr)
    sys.exit(1)
except KeyboardInterrupt:
    print("\nmutants: interrupted; nothing is left changed", file=sys.stderr)
    sys.exit(130)
