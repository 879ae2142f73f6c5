# SPDX-License-Identifier: MIT
"""The list of mutants, in the *.mutants files beside this one, and what is done to a source with one of them.

    mutant watch-bookmark
    promise A watch goes on from where its last bookmark was.
    file k8s/client/watch/watch.c
         if (version)
    -        set_version(w, version);
    +        set_version(w, w->version);
    test client-streams: a_watch_goes_on_from_its_bookmark

The lines of a hunk are as in a diff: what begins with a blank or "-" must be in the file, whole lines in a row and exactly
once, but for comments at their ends; what begins with a blank or "+" takes their place. A blank and "…" stand for any
lines in between. "hangs" on a line of its own: the program may wait for ever. "needs FLAG": the case can notice it on a CPU
with that flag only.
"""
import glob
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ELLIPSIS = "…"


class Wrong(Exception):
    pass


def bare(line):
    return re.sub(r"\s*//.*", "", line)


def parts(lines):
    """What lies between the lines that are no more than an ellipsis."""
    found = [[]]
    for line in lines:
        found = found + [[]] if line == ELLIPSIS else found[:-1] + [found[-1] + [line]]
    return found


class Mutant:
    def __init__(self, name, place):
        self.name, self.place = name, place
        self.promise = self.file = ""
        self.before, self.after, self.tests, self.hangs, self.needs = [], [], [], False, ""

    def faults(self):
        """What the entry itself lacks."""
        lacks = [what for what in ("promise", "file", "before", "tests") if not getattr(self, what)]
        if self.before == self.after:
            lacks.append("a change")
        return [f"mutant {self.name} ({self.place}) lacks {what}" for what in lacks]

    def apply(self, text):
        """The text of its file with the mutant in it. Comments at the ends of lines do not matter."""
        for before, after in zip(parts(self.before), parts(self.after)):
            text = self.replace(text, before, after)
        return text

    def replace(self, text, before, after):
        lines, wanted, n = text.split("\n"), [bare(line) for line in before], len(before)
        code = [bare(line) for line in lines]
        found = [i for i in range(len(code) - n + 1) if code[i:i + n] == wanted]
        if not found:
            raise Wrong(f"mutant {self.name}: its line is not in {self.file} any more ({self.place}): "
                        f"{before[0].strip()}")
        if len(found) > 1:
            raise Wrong(f"mutant {self.name}: its lines are {len(found)} times in {self.file} ({self.place}): "
                        "add lines around them")
        return "\n".join(lines[:found[0]] + after + lines[found[0] + n:])


def read(path, mutants):
    name, mutant = os.path.basename(path), None
    for number, line in enumerate(open(path, encoding="utf-8").read().splitlines(), 1):
        place = f"{name}:{number}"
        word, _, rest = line.partition(" ")
        if line[:1] in (" ", "-", "+") and mutant:
            mutant.before += [line[1:]] if line[0] != "+" else []
            mutant.after += [line[1:]] if line[0] != "-" else []
        elif word == "mutant" and rest:
            mutant = Mutant(rest, place)
            mutants.append(mutant)
        elif word in ("promise", "file") and rest and mutant and not getattr(mutant, word):
            setattr(mutant, word, rest)
        elif word == "test" and mutant and re.fullmatch(r"\S+: \w.*", rest):
            mutant.tests.append(tuple(rest.split(": ", 1)))
        elif word == "needs" and mutant and re.fullmatch(r"\w+", rest):
            mutant.needs = rest
        elif line == "hangs" and mutant:
            mutant.hangs = True
        elif line and not line.startswith("#"):
            raise Wrong(f"{place}: not understood: {line}")


def mutants():
    found = []
    for path in sorted(glob.glob(os.path.join(HERE, "*.mutants"))):
        read(path, found)
    return found


def cases_of(text):
    """Names of the cases in a test's source."""
    names = set(re.findall(r"^(?:TEST\(|def test_)(\w+)", text, re.M))
    names.update(re.findall(r"^(?:case|test)\(\"([^\"]+)\"", text, re.M))
    for macro, before, after in re.findall(r"#define (\w+)\(.*\n\s*TEST\((\w+)##\w+##(\w+)\)", text):
        names.update(before + n + after for n in re.findall(rf"^{macro}\((\w+)", text, re.M))
    return names


def case_is_there(source, case):
    """Is there a case of that name in any test?"""
    if not hasattr(case_is_there, "names"):
        names = case_is_there.names = set()
        for folder, _, files in os.walk(os.path.join(source, "tests")):
            for file in files:
                if file.endswith((".c", ".py", ".lua")):
                    names |= cases_of(open(os.path.join(folder, file), encoding="utf-8").read())
    return case_is_there.names and case in case_is_there.names


def faults(source):
    """What is wrong with the list, a sentence each."""
    found, all_of_them = [], mutants()
    names = [m.name for m in all_of_them]
    found += [f"two mutants are called {n}" for n in sorted({n for n in names if names.count(n) > 1})]
    for m in all_of_them:
        found += m.faults()
        found += [f"mutant {m.name} ({m.place}): no test has a case {case}" for _, case in m.tests
                  if not case_is_there(source, case)]
        try:
            with open(os.path.join(source, m.file), encoding="utf-8") as f:
                m.apply(f.read())
        except (OSError, Wrong) as problem:
            found.append(str(problem))
    return found, len(all_of_them)
