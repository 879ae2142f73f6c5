#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Chooses tests by names, by cases or by what changed, builds what they need, and runs them.

usage: choose.py BUILD NAME...           a test (trainer/fit, fit, kernel_cells), or a case, by its name in the source
       choose.py BUILD --changed [REV]   of what differs from a commit (HEAD): programs of unit and corpus that have it in them, tests in
                                         Python that are it or import it, and those cases of others that are nearest to it in their words
       choose.py BUILD --list ...        names them, and runs nothing
"""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(HERE, "..", "mutants"))
import mesontests  # noqa: E402
import near  # noqa: E402

NEAREST = 12  # cases of programs that start everything
CASE = {".c": re.compile(r"^TEST\((\w+)\)", re.M), ".py": re.compile(r"^def test_(\w+)", re.M)}
IMPORT = re.compile(r"^(?:from|import) (\w+)|\brequire \"(\w+)\"", re.M)


class Chosen:
    def __init__(self, build):
        self.build, self.known = os.path.abspath(build), mesontests.Tests(build)
        self.cases = {}  # test: the cases that are wanted; none: all

    def add(self, test, case=None):
        if case is None:
            self.cases[test] = set()
        elif self.cases.get(test, {case}):
            self.cases.setdefault(test, set()).add(case)

    def files(self, test):
        """The sources of a test's own, and what they import beside them."""
        found = {os.path.realpath(a) for a in self.known.tests[test]["cmd"] if os.path.isfile(a)}
        found |= {os.path.realpath(s) for target in self.known.tests[test]["depends"] for s in self.known.sources.get(target, ())
                  if f"{SOURCE}/tests/" in s}
        if test == "cluster":
            found |= set(glob.glob(os.path.join(SOURCE, "tests", "cluster", "case_*.py")))
        new = list(found)
        while new:
            path = new.pop()
            for names in IMPORT.findall(near.read(path)) if path.endswith((".py", ".lua")) else ():
                for folder in (os.path.dirname(path), HERE):
                    other = os.path.join(folder, "".join(names) + os.path.splitext(path)[1])
                    if os.path.isfile(other) and other not in found:
                        found.add(other)
                        new.append(other)
        return found

    def by_name(self, name):
        tests = [t for t in self.known.tests if name in (t, t.split("/")[-1])]
        found = [(t, None) for t in tests] or [(t, name) for t in self.known.tests if name in self.names(t)]
        for test, case in found:
            self.add(test, case)
        return len(found) > 0

    def names(self, test):
        """Those of a test's cases."""
        for path in self.files(test):
            of, ending = os.path.splitext(os.path.basename(path))
            for case in CASE[ending].findall(near.read(path)) if ending in CASE else ():
                yield f"{of[5:]}_{case}" if test == "cluster" else case

    def by_inputs(self, test, changed):
        """Does a program of a test have one of these files in it?"""
        outputs = self.known.wanted(test)
        said = subprocess.run(["ninja", "-C", self.build, "-t", "inputs", *outputs], capture_output=True, text=True, check=False).stdout
        inputs = {os.path.normpath(os.path.join(self.build, line)) for line in said.splitlines()} if outputs else set()
        return bool(inputs & changed)

    def headers(self, changed):
        """The objects into which a header among them went."""
        said = subprocess.run(["ninja", "-C", self.build, "-t", "deps"], capture_output=True, text=True, check=False).stdout
        found, into = set(), ""
        for line in said.splitlines():
            if line and not line.startswith(" "):
                into = line.split(":")[0]
            elif line and os.path.normpath(os.path.join(self.build, line.strip())) in changed:
                found.add(os.path.normpath(os.path.join(self.build, into)))
        return found

    def by_change(self, changed):
        changed = {os.path.join(SOURCE, f) for f in changed}
        reached = changed | self.headers({f for f in changed if f.endswith((".h", ".def", ".inc"))})
        alone = [t for t, of in self.known.tests.items() if of["suite"][0].split(":")[1] in ("unit", "corpus")]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for test, has in zip(alone, pool.map(lambda t: self.by_inputs(t, reached), alone)):
                if has:
                    self.add(test)
        for test in self.known.tests:
            if self.files(test) & changed:
                self.add(test)
        tests = near.Tests(self.known, SOURCE)
        for path in changed:
            file = os.path.relpath(path, SOURCE)
            if file.startswith("tests/") or not path.endswith((".c", ".lua", ".h")) or not os.path.isfile(path):
                continue
            cases = [n for n in tests.in_order(file, near.read(path), "") if n.cases]
            for one in cases[:NEAREST]:
                self.add(one.test, one.cases)

    def run(self):
        outputs = sorted({o for test in self.cases for o in self.known.wanted(test)})
        if subprocess.run(["ninja", "-C", self.build, "--quiet", *outputs], check=False).returncode:
            return 1
        failed = []
        for test, cases in self.cases.items():
            words = ["--test-args", " ".join(sorted(cases))] if cases else []
            name = f"{self.known.tests[test]['suite'][0].split(':')[0]}:{test}"
            done = subprocess.run(["meson", "test", "-C", self.build, "--no-rebuild", "--print-errorlogs", "--quiet",
                                   "--timeout-multiplier", os.environ.get("MULTIPLIER", "3"), *words, name],
                                  env={"FIRESTEEL_PATIENCE": "2", **os.environ}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  check=False)
            if done.returncode:
                print(done.stdout + done.stderr)
            print(f"{'FAILED' if done.returncode else 'ok    '} {test}{': ' + ', '.join(sorted(cases)) if cases else ''}", flush=True)
            failed += [test] if done.returncode else []
        print(f"{len(self.cases) - len(failed)} passed, {len(failed)} failed")
        return len(failed) > 0


def differing(rev):
    def git(*words):
        return subprocess.run(["git", "-C", SOURCE, *words], capture_output=True, text=True, check=True).stdout.split("\n")
    return {f for f in git("diff", "--name-only", rev) + git("ls-files", "--others", "--exclude-standard") if f}


def main():
    words = sys.argv[1:]
    if len(words) < 2 or words[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 2
    build, *words = words
    only_list = words[0] == "--list"
    words = words[only_list:]
    chosen = Chosen(build)
    if words[:1] == ["--changed"]:
        chosen.by_change(differing(words[1] if words[1:] else "HEAD"))
        if not chosen.cases:
            print("no test has anything of what changed in it")
            return 0
    for name in words if words[:1] != ["--changed"] else ():
        if not chosen.by_name(name):
            print(f"there is no test and no case {name}: meson test -C {build} --list has the tests")
            return 2
    if only_list:
        for test, cases in chosen.cases.items():
            print(test + (": " + ", ".join(sorted(cases)) if cases else ""))
        return 0
    return chosen.run()


if __name__ == "__main__":
    sys.exit(main())
