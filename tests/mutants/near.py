# SPDX-License-Identifier: MIT
"""Which tests are near to a line of a source: those whose programs have that source in them, in the order of the words that they
have in common with it. A rare word counts more than one that many tests have, a name of the file more than one of the function.

A unit test or the replay of a corpus is one thing; of tests in Python, which start whole programs, each case is.
"""
import ast
import collections
import math
import os
import re
import subprocess

Near = collections.namedtuple("Near", "test cases")  # cases: None: all of them
WORD = re.compile(r"[A-Za-z_]\w+")
ENDING = re.compile(r"(?<=...)(?:ing|ed|es|s)$")


def words_of(text):
    """Names in a text and their parts, in small letters, without the endings of English."""
    found = set()
    for word in set(WORD.findall(text)):
        found.add(word.lower())
        found.update(ENDING.sub("", part) for part in word.lower().split("_") if len(part) > 2)
    return found


def read(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def cases_of_python(path):
    """(case, its text with what it uses of its file) of each case."""
    text = read(path)
    top = {}
    for node in ast.parse(text).body:
        names = [node.name] if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else [
            t.id for t in getattr(node, "targets", []) if isinstance(t, ast.Name)]
        top.update({name: node for name in names})
    uses = {name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & set(top) for name, node in top.items()}
    said = {name: ast.get_source_segment(text, node) or "" for name, node in top.items()}
    for name in top:
        if name.startswith("test_"):
            nearer = {other for used in uses[name] for other in uses[used]} | uses[name]
            yield name[5:], "\n".join(said[n] for n in sorted(nearer | {name}) if n == name or not n.startswith("test_"))


class Tests:
    """All tests that can be near, and what is built for them."""

    def __init__(self, runner, source):
        self.runner, self.source = runner, source
        self.inputs, self.included, self.words, self.common = {}, {}, {}, collections.Counter()
        for name, test in runner.tests.items():
            suite, argv = test["suite"][0].split(":")[1], test["cmd"]
            if suite in ("unit", "corpus") and not argv[-1].endswith(".py"):
                self.put(Near(name, None), " ".join([name.replace("/", " ")] + [read(p) for p in self.sources_of(test)]))
            elif suite in ("unit", "replay", "screen") and argv[-1].endswith(".py"):
                for case, text in cases_of_python(argv[-1]):
                    self.put(Near(name, case), f"{name} {text}")

    def put(self, near, text):
        self.words[near] = words_of(text)
        self.common.update(self.words[near])

    def sources_of(self, test):
        return [a for a in test["cmd"][1:] if os.path.isfile(a)] + [
            s for target in test["depends"] for s in self.runner.sources.get(target, [])]

    def includers(self, file):
        """The sources in C that take an .inc."""
        if not self.included:
            for folder, _, names in os.walk(os.path.join(self.source, os.path.dirname(file))):
                for name in names:
                    if name.endswith((".c", ".inc")):
                        for taken in re.findall(r'#include "([^"]+\.inc)"', read(os.path.join(folder, name))):
                            self.included.setdefault(taken, set()).add(
                                os.path.relpath(os.path.join(folder, name), self.source))
        return {c for f in self.included.get(file, ()) for c in ([f] if f.endswith(".c") else self.includers(f))}

    def has(self, test, file):
        """Is this source in a program of the test?"""
        if test not in self.inputs:
            outputs = self.runner.wanted(test)
            said = subprocess.run(["ninja", "-C", self.runner.build, "-t", "inputs", *outputs], capture_output=True, text=True)
            self.inputs[test] = {os.path.normpath(line) for line in said.stdout.splitlines()} if outputs else set()
        return any(os.path.join("..", f) in self.inputs[test] for f in (self.includers(file) if file.endswith(".inc") else [file]))

    def in_order(self, file, text, around):
        """Tests with the file in them, the nearest first. `around`: the function that changes."""
        stem = os.path.splitext(os.path.basename(file))[0]
        public = " ".join(re.findall(r"^(?!static)(?:function )?[\w *.:]*?(\w+)\(", text, re.M))
        weights = {}
        for weight, words in ((1, words_of(around)), (2, words_of(public)), (4, words_of(stem))):
            for word in words:
                weights[word] = max(weight, weights.get(word, 0))
        count = len(self.words)
        def score(near):
            own = self.words[near]
            return sum(w * math.log(count / self.common[word]) ** 2 for word, w in weights.items() if word in own) / math.sqrt(50 + len(own))
        return [n for n in sorted(self.words, key=lambda n: (-score(n), n.test, n.cases or "")) if score(n) > 0]

    def rings(self, file, text, around, sizes):
        """Rings of tests, the nearest first: of each ring so many programs in C, then so many cases in Python."""
        programs, cases = [], []
        wanted = [sum(s) for s in zip(*sizes)]
        for near in self.in_order(file, text, around):
            into, most = (cases, wanted[1]) if near.cases else (programs, wanted[0])
            if near.test.startswith("screen/") and not file.startswith(("tui/", "cli/")):
                continue
            if len(into) < most and self.has(near.test, file):
                into.append(near)
            if len(programs) == wanted[0] and len(cases) == wanted[1]:
                break
        rings = []
        for n, m in sizes:
            rings.append(programs[:n] + self.together(cases[:m]))
            programs, cases = programs[n:], cases[m:]
        return rings

    def together(self, cases):
        """Cases of one program run in a row."""
        by_test = {}
        for near in cases:
            by_test.setdefault(near.test, []).append(near.cases)
        return [Near(test, tuple(names)) for test, names in by_test.items()]
