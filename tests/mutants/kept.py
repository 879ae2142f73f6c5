# SPDX-License-Identifier: MIT
"""Which mutants were noticed, for as long as nothing has moved that decides it: the file `noticed` beside this one.

Each of its lines has a mutant's name, a digest and the day of the last run. The digest covers
* the mutant: its lines, its file, its cases;
* the whole file that it changes;
* the files that have its cases, without their other cases, and what these files take from tests/ (modules in Python,
  headers with their sources, Lua).
It covers neither the rest of the program nor the test runner: the README says what follows from that.
"""
import ast
import hashlib
import os
import re

import table

PATH = os.path.join(table.HERE, "noticed")
RUNNER = {"tap.py", "tap.h", "tap.c"}  # what says how cases are run, and nothing about one of them
C_CASE = re.compile(r"^TEST\((\w+)\).*?^}\n", re.M | re.S)
LUA_CASE = re.compile(r"^(?:case|test)\(\"([^\"]+)\".*?^end\)\n", re.M | re.S)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def other_cases_in_python(text, case):
    """(first line, line after the last) of each case except this one and those that it calls."""
    cases = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    kept = {"test_" + case}
    while more := {name for node in cases if node.name in kept for name in (
            n.id for n in ast.walk(node) if isinstance(n, ast.Name)) if name.startswith("test_")} - kept:
        kept |= more
    return [(node.lineno - 1, node.end_lineno) for node in cases if node.name not in kept]


def without_others(path, case):
    """The text of a test's file with this case as the only one."""
    text = read(path)
    if path.endswith(".py"):
        lines = text.split("\n")
        for first, behind in reversed(other_cases_in_python(text, case)):
            del lines[first:behind]
        text = "\n".join(lines)
    else:
        text = (C_CASE if path.endswith(".c") else LUA_CASE).sub(lambda m: m[0] if m[1] == case else "", text)
    return re.sub(r"\n\s*\n+", "\n", text)


class Sources:
    """The sources below a folder, as digests need them."""

    def __init__(self, root):
        self.root, self.cases, self.files, self.texts = root, {}, {}, {}
        for folder, _, names in os.walk(os.path.join(root, "tests")):
            for name in names:
                self.files.setdefault(name, []).append(os.path.join(folder, name))
        for path in (p for name, paths in self.files.items() if name.endswith((".c", ".py", ".lua")) for p in paths):
            for case in table.cases_of(read(path)):
                self.cases.setdefault(case, []).append(path)

    def of_case(self, test, case):
        """Files that have it; where several do, those that are called like the test."""
        paths = sorted(self.cases.get(case, []))
        like = [p for p in paths if re.sub(r"^test_|\.\w+$", "", os.path.basename(p)) in test.replace("-", "_")]
        return like or paths

    def taken(self, path, text):
        """Files of tests/ that one takes."""
        if path.endswith(".py"):
            names = [name + ".py" for name in re.findall(r"^\s*(?:import|from) (\w+)", text, re.M)]
        elif path.endswith(".lua"):
            names = [name + ".lua" for name in re.findall(r"\brequire \"(\w+)\"", text)]
        else:
            names = [os.path.basename(name) for name in re.findall(r"^#include \"([^\"]+)\"", text, re.M)]
            names += [name[:-1] + "c" for name in names]
        near = os.path.dirname(path)
        return [p for name in names if name not in RUNNER for p in self.files.get(name, [])
                if os.path.dirname(p) == near or os.path.basename(os.path.dirname(p)) == "support"]

    def of_test(self, test, case):
        """(path, text) of all that a case has below tests/."""
        texts = {path: without_others(path, case) for path in self.of_case(test, case)}
        ahead = list(texts.items())
        while ahead:
            for path in self.taken(*ahead.pop()):
                if path not in texts:
                    texts[path] = read(path)
                    ahead.append((path, texts[path]))
        return sorted((os.path.relpath(path, self.root), text) for path, text in texts.items())

    def digest(self, mutant):
        said = [mutant.file, mutant.before, mutant.after, mutant.hangs, read(os.path.join(self.root, mutant.file))]
        for test, case in mutant.tests:
            if (test, case) not in self.texts:
                self.texts[test, case] = self.of_test(test, case)
            said.append([test, case, self.texts[test, case]])
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


class Kept:
    """The file; `source`: the sources that its digests are compared with."""

    def __init__(self, mutants, source):
        self.lines, self.sources = {}, Sources(source)
        self.digests = {m.name: self.sources.digest(m) for m in mutants}
        if os.path.isfile(PATH):
            for number, line in enumerate(read(PATH).splitlines(), 1):
                if not re.fullmatch(r"\S+ [0-9a-f]{16} \d{4}-\d\d-\d\d", line):
                    raise table.Wrong(f"noticed:{number}: not \"NAME DIGEST DAY\": {line}")
                name, digest, day = line.split()
                self.lines[name] = digest, day

    def day(self, name):
        """When it was noticed last, as it was then; "" for never."""
        return self.lines.get(name, ("", ""))[1]

    def is_known(self, name):
        return self.lines.get(name, ("", ""))[0] == self.digests[name]

    def state(self, name):
        return (self.day(name) if self.is_known(name) else f"moved since {self.day(name)}") if self.day(name) else "never run"

    def put(self, name, day):
        """Noticed on that day; None: not noticed."""
        self.lines.pop(name, None)
        if day:
            self.lines[name] = self.digests[name], day

    def save(self):
        """Mutants that are gone are left out."""
        with open(PATH + ".new", "w", encoding="utf-8") as f:
            f.writelines(f"{name} {digest} {day}\n" for name, (digest, day) in sorted(self.lines.items()) if name in self.digests)
        os.replace(PATH + ".new", PATH)


def faults(mutants):
    """Lines of the file that no mutant has."""
    if not os.path.isfile(PATH):
        return []
    names = {m.name for m in mutants}
    return [f"noticed:{n}: there is no mutant {line.split()[0]}; remove the line" for n, line in enumerate(read(PATH).splitlines(), 1)
            if line.split()[0] not in names]
