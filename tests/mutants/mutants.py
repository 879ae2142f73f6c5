#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Breaks the program at one promise after the other, and looks whether the nearest test notices (./check mutants).

    mutants.py [--wide] [NAME…]   all mutants, or these; --wide: what survives is tried on whole suites, too
    mutants.py --list             their names and promises

It works on a copy of the sources in build-mutants/, with a build of its own. First the named cases run as the program is:
all must pass. Then each mutant is put into the copy and built, its case runs alone, and the copy is put right again. Noticed
means that the very case which is named fails, or that its program dies; a build that fails is an error of the mutant.
"""
import argparse
import ctypes
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import table

ROOT = os.path.dirname(os.path.dirname(table.HERE))
WORK = os.path.join(ROOT, "build-mutants")
SOURCE = os.path.join(WORK, "source")
BUILD = os.path.join(SOURCE, "build")  # placed as for the real sources: so a compiler cache recognises it
SLACK = 40  # seconds beyond five times what the unchanged program takes; more where the machine is busy, as tests wait longer then
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
    """Takes what has ended; true when `wanted` is among it."""
    found = False
    try:
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return found
            found = found or pid == wanted
    except ChildProcessError:
        return found


def ends_within(process, seconds):
    """As process.wait(), but orphans are reaped meanwhile: tests look whether they are gone."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if reap(process.pid):
            process.returncode = 0  # unknown, and it does not matter
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

    def __init__(self, temporary):
        self.env = dict(os.environ, TMPDIR=temporary, FIRESTEEL_RUNTIME_DIR=os.path.join(temporary, "run"),
                        GIT_CEILING_DIRECTORIES=WORK)
        self.usual, self.tests, self.programs, self.suffix = {}, {}, [], []

    def prepare(self, names):
        if not os.path.isfile(os.path.join(BUILD, "build.ninja")):
            done = subprocess.run(["meson", "setup", "-Dwerror=false", BUILD, SOURCE], env=self.env, capture_output=True, text=True)
            if done.returncode:
                raise Failed("meson setup:\n" + done.stdout[-2000:] + done.stderr[-2000:])
        problem = self.ninja(["build.ninja"])
        if problem:
            raise Failed(problem)
        with open(os.path.join(BUILD, "meson-info", "intro-tests.json"), encoding="utf-8") as f:
            self.tests = {t["name"]: t for t in json.load(f)}
        with open(os.path.join(BUILD, "meson-info", "intro-targets.json"), encoding="utf-8") as f:
            targets = {t["id"]: t for t in json.load(f)}
        missing = [n for n in names if n not in self.tests]
        if missing:
            raise Failed("there is no test " + ", ".join(missing))
        # Programs are always built, since tests start them; of the test programs, only the named
        # ones are.
        wanted = {os.path.relpath(self.tests[n]["cmd"][0], BUILD) for n in names}
        outputs = [os.path.relpath(t["filename"][0], BUILD) for t in targets.values()
                   if t["type"] in ("executable", "shared library", "shared module")]
        self.programs = [o for o in outputs if o in wanted or not o.startswith(("tests/unit/", "tests/fuzz/", "tests/bench/"))]

    def ninja(self, targets):
        """Builds; the first error, or None."""
        done = subprocess.run(["ninja", "-C", BUILD, "--quiet", *targets], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode == 0:
            return None
        errors = [line for line in done.stdout.splitlines() if " error: " in line or "undefined reference" in line]
        return (errors or done.stdout.splitlines() or ["ninja failed"])[0]

    def build(self):
        return self.ninja(self.programs)

    def command(self, test, case):
        argv = list(self.tests[test]["cmd"])
        if argv[-1].endswith(".py"):
            argv.append("test_" + case)
        elif len(argv) == 1:
            argv.append(case)
        return argv

    def run(self, test, case, seconds):
        """"passed", "failed", "died", "hangs" or "skipped …", and what it printed."""
        output = tempfile.TemporaryFile(dir=self.env["TMPDIR"])
        process = subprocess.Popen(self.command(test, case), env=dict(self.env, **self.tests[test]["env"]),
                                   cwd=self.tests[test]["workdir"] or BUILD, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        late = not ends_within(process, seconds)
        sweep(0 if late else 3)
        process.returncode = 0
        output.seek(0)
        text = output.read().decode(errors="replace")
        output.close()
        for line in text.splitlines():
            said, _, rest = line.partition(" - ")
            name, _, skip = rest.partition(" # SKIP")
            if name.strip() == case and said.startswith("not ok"):
                return "failed", text
            if name.strip() == case and said.startswith("ok"):
                return f"skipped:{skip}" if "# SKIP" in rest else "passed", text
        return "hangs" if late else "died", text


def clean_run(runner, cases):
    """All named cases as the program is; returns those that cannot be judged, with the reason."""
    skipped, failed = {}, []
    for number, (test, case) in enumerate(cases, 1):
        say(f"\r{number}/{len(cases)} {test}: {case}\x1b[K" if sys.stdout.isatty() else "")
        begun = time.monotonic()
        how, text = runner.run(test, case, 300)
        runner.usual[test, case] = time.monotonic() - begun
        if how.startswith("skipped"):
            skipped[test, case] = how
        elif how != "passed":
            failed.append(f"{test}: {case} {how}, and nothing was changed:\n{text[-1500:]}")
    say("\r\x1b[K" if sys.stdout.isatty() else "")
    if failed:
        raise Failed("\n".join(failed))
    return skipped


def say(text):
    print(text, end="", flush=True)


def judge(runner, mutant, skipped):
    """(noticed or None for what cannot be judged, what is to be said)."""
    problem = runner.build()
    if problem:
        return False, "DOES NOT BUILD: " + problem
    said = "SURVIVED"
    for test, case in mutant.tests:
        if (test, case) in skipped:
            said = f"not judged: {test}: {case} is {skipped[test, case]}" if said == "SURVIVED" else said
            continue
        begun = time.monotonic()
        how, _ = runner.run(test, case, SLACK * busy() + 5 * runner.usual[test, case])
        took = f"{time.monotonic() - begun:.1f} s"
        if how in ("failed", "died") or how == "hangs" and mutant.hangs:
            return True, f"noticed by {test}: {case} ({'' if how == 'failed' else 'it ' + how + ', '}{took})"
        said = f"SURVIVED ({test}: {case} {'hangs, which is not expected of it' if how == 'hangs' else how}, {took})"
    return (None if said.startswith("not judged") else False), said


def try_wider(runner):
    """Which tests of the quick suites and of whole runs notice what the nearest did not."""
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


def one(runner, mutant, skipped, wide):
    path = os.path.join(SOURCE, mutant.file)
    with open(path, "rb") as f:
        original = f.read()
    try:
        write(path, mutant.apply(original.decode()).encode())
        noticed, said = judge(runner, mutant, skipped)
        if wide and noticed is False:
            said += "; " + try_wider(runner)
    finally:
        write(path, original)
    return noticed, said


def run(chosen, wide, temporary):
    begun = time.monotonic()
    copy_sources()
    runner = Runner(temporary)
    cases = list(dict.fromkeys(case for m in chosen for case in m.tests))
    runner.prepare({test for test, _ in cases})
    problem = runner.build()
    if problem:
        raise Failed("the sources do not build: " + problem)
    say(f"built in {time.monotonic() - begun:.0f} s\n")
    skipped = clean_run(runner, cases)
    say(f"{len(cases)} cases pass as the program is; {time.monotonic() - begun:.0f} s\n")
    width, noticed, unjudged = max(len(m.name) for m in chosen), 0, 0
    for mutant in chosen:
        say(f"{mutant.name:{width}}  ")
        result, said = one(runner, mutant, skipped, wide)
        noticed += result is True
        unjudged += result is None
        say(said + "\n")
    say(f"{noticed} of {len(chosen)} noticed" + (f", {unjudged} not judged" if unjudged else "") +
        f"; {(time.monotonic() - begun) / 60:.0f} min {(time.monotonic() - begun) % 60:.0f} s\n")
    return 0 if noticed + unjudged == len(chosen) and noticed else 1


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
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--wide", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if options.list:
        for m in table.mutants():
            print(f"{m.name:26} {m.promise}")
        return 0
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, ended)
    chosen = choose(options.names)
    return locked(lambda temporary: run(chosen, options.wide, temporary))


try:
    sys.exit(main())
except (Failed, table.Wrong) as problem:
    print(f"mutants: {problem}", file=sys.stderr)
    sys.exit(1)
except KeyboardInterrupt:
    print("\nmutants: interrupted; nothing is left changed", file=sys.stderr)
    sys.exit(130)
