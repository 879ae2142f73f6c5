# SPDX-License-Identifier: MIT
"""Changes lines by chance and looks whether the nearest tests notice (./check mutants --random N [SEED]).

Each try draws a line of production C or Lua, all with the same chance, and one of the changes that change.py knows for it. The
nearest tests run (near.py), then, when they pass, those of a second ring. A failure counts when the tests pass
without the change and fail with it once more. The tries of a seed are numbered: `tried` beside this file has a line for each,
and the next run goes on behind the last. Survivors that cannot be told from the program as it is are in `equivalent`, with reasons.
"""
import datetime
import json
import math
import os
import random
import subprocess
import time

import change
import near
import table

TRIED = os.path.join(table.HERE, "tried")
EQUIVALENT = os.path.join(table.HERE, "equivalent")
FOLDERS = ("base/", "cli/", "k8s/", "script/", "trainer/", "tui/")
WORDS = ("api.lua", "examples.lua", "formulas.lua")  # texts for help(), which say nothing of what happens
RINGS = ((4, 6), (4, 12))  # of each ring: so many programs in C, and cases in Python
SLACK = 20  # seconds for a test, on a quiet machine; more where it is busy
ATTEMPTS = 2000


class Equivalent:
    """The list of changes that make no difference which a test could see:
        file FILE
        -LINE
        +LINE
        reason SENTENCE
    """

    def __init__(self, path=EQUIVALENT):
        self.entries, entry = [], None
        if not os.path.isfile(path):
            return
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f.read().splitlines(), 1):
                word, _, rest = line.partition(" ")
                if word == "file":
                    entry = {"file": rest, "before": [], "after": [], "reason": "", "place": f"equivalent:{number}"}
                    self.entries.append(entry)
                elif line[:1] in "-+" and line and entry:
                    entry["before" if line[0] == "-" else "after"].append(line[1:])
                elif word == "reason" and entry and rest:
                    entry["reason"] = rest
                elif line and not line.startswith("#"):
                    raise table.Wrong(f"equivalent:{number}: not understood: {line}")

    def reason(self, one):
        return next((e["reason"] for e in self.entries if (e["file"], e["before"], e["after"]) == (
            one["file"], one["before"], one["after"])), "")

    def faults(self):
        return [f"{e['place']} lacks a reason" for e in self.entries if not e["reason"]] + [
            f"{e['place']} changes nothing" for e in self.entries if e["before"] == e["after"]]


def read_tried(path=TRIED):
    if not os.path.isfile(path):
        return []
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f if line.strip()]


def wilson(noticed, n, z=1.96):
    """The interval of 95 % for a share (Wilson 1927)."""
    if not n:
        return 0.0, 1.0
    share = noticed / n
    middle, half = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def summary(tried, equivalent):
    """The sentence with the share that was noticed."""
    judged = [t for t in tried if t["verdict"] in ("noticed", "survived")]
    alike = [t for t in judged if t["verdict"] == "survived" and equivalent.reason(t)]
    noticed, n = sum(t["verdict"] == "noticed" for t in judged), len(judged) - len(alike)
    low, high = wilson(noticed, n)
    left_out = len(tried) - len(judged)
    return (f"{noticed} of {n} noticed: {100 * noticed / max(1, n):.0f} % (95 % interval {100 * low:.0f} to {100 * high:.0f} %)"
            f"; {len(alike)} more make no difference" + (f", {left_out} could not be judged" if left_out else ""))


def sources(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", *FOLDERS], capture_output=True, text=True).stdout.split("\0")
    if listed == [""]:
        listed = [os.path.relpath(os.path.join(folder, name), root) for top in FOLDERS
                  for folder, _, names in os.walk(os.path.join(root, top)) for name in names]
    return sorted(n for n in listed if n.endswith((".c", ".inc", ".lua")) and not n.endswith(WORDS))


class Draw:
    """Draws lines of the sources, each with the same chance, and a change of it."""

    def __init__(self, source, root):
        self.source, self.files, self.ends, total = source, sources(root), [], 0
        for file in self.files:
            total += near.read(os.path.join(source, file)).count("\n")
            self.ends.append(total)
        self.total, self.places = total, {}

    def of(self, seed, number, skip=0):
        """The change of this number: (file, text, place). skip: so many before it were of no use."""
        chance = random.Random(f"{seed}:{number}")
        for _ in range(ATTEMPTS):
            at = chance.randrange(self.total)
            i = next(k for k, end in enumerate(self.ends) if at < end)
            line = at - (self.ends[i - 1] if i else 0)
            file = self.files[i]
            if file not in self.places:
                text = near.read(os.path.join(self.source, file))
                self.places[file] = text, change.places(file, text)
            text, all_of_them = self.places[file]
            there = [p for p in all_of_them if p.line == line]
            if not there:
                continue
            place = chance.choice(there)
            if skip == 0:
                return file, text, place
            skip -= 1
        raise table.Wrong("no line can be changed")


def function_around(text, place):
    """The text from the line without a blank at its beginning before a place to the next "}" or "end" like that."""
    lines = text.split("\n")
    first = last = place.line
    while first > 0 and not (lines[first][:1].isalpha() and not lines[first].endswith(";")):
        first -= 1
    while last < len(lines) - 1 and not lines[last].startswith(("}", "end")):
        last += 1
    return "\n".join(lines[first:last + 1])


class Judge:
    """Tries changes, one after the other, in the copy of the sources."""

    def __init__(self, runner, source, say):
        self.runner, self.source, self.say = runner, source, say
        self.tests = near.Tests(runner, source)

    def write(self, file, text):
        with open(os.path.join(self.source, file), "w", encoding="utf-8") as f:
            f.write(text)

    def run(self, one, seconds):
        """(what fails first: its case, "" for the program as a whole, None for nothing; seconds)."""
        begun = time.monotonic()
        status, bad, late = self.runner.program(one.test, one.cases, seconds)
        took = time.monotonic() - begun
        return (bad[0] if bad else "" if status or late else None), took

    def limit(self):
        return SLACK * (1 + self.runner.busy())

    def notices(self, one, file, changed, text):
        """Does this test notice? The failing case, None if not; a failure has to come again, and not without the change."""
        failed, took = self.run(one, self.limit())
        if failed is None:
            return None
        again = near.Near(one.test, (failed,)) if failed and one.cases else one
        self.write(file, text)
        problem = self.runner.ninja(self.runner.wanted(one.test))
        without, _ = self.run(again, max(self.limit(), 2 * took)) if not problem else ("", 0)
        self.write(file, changed)
        if without is not None:
            self.say(f"  ({one.test}: {without or 'as a whole'} fails with nothing changed, too)\n")
            return None
        if self.runner.ninja(self.runner.wanted(one.test)):
            return None
        failed, _ = self.run(again, self.limit())
        return None if failed is None else f"{one.test}: {failed}" if failed else one.test

    def judge(self, file, text, place):
        """("noticed", by), ("survived", tests that ran), ("does not build", why), ("unreached", "")."""
        changed, ran = change.apply(text, place), []
        rings = self.tests.rings(file, text, function_around(text, place), RINGS)
        self.write(file, changed)
        try:
            for one in (one for ring in rings for one in ring):
                problem = self.runner.ninja(self.runner.wanted(one.test))
                if problem:
                    return "does not build", problem
                by = self.notices(one, file, changed, text)
                if by is not None:
                    return "noticed", by
                ran.append(one.test + (f" ({len(one.cases)})" if one.cases else ""))
            return ("survived", ", ".join(ran)) if ran else ("unreached", "")
        finally:
            self.write(file, text)


def show(one):
    return "".join(f"  {sign}{line}\n" for sign, side in (("-", "before"), ("+", "after")) for line in one[side])


def run(runner, source, root, count, seed, until, say):
    """Brings the tries of a seed to that number; returns the exit code."""
    tried = read_tried()
    if seed is None:
        seed = tried[-1]["seed"] if tried else random.SystemRandom().randrange(1 << 30)
    ours = [t for t in tried if t["seed"] == seed]
    draw, judge, equivalent = Draw(source, root), Judge(runner, source, say), Equivalent()
    say(f"seed {seed}, {len(ours)} of {count} were tried before; lines of {len(draw.files)} files\n")
    for number in sorted(set(range(1, count + 1)) - {t["number"] for t in ours}):
        if until and time.monotonic() > until:
            break
        one = try_one(draw, judge, seed, number)
        reason = equivalent.reason(one)
        say(f"{number} {one['file']}:{one['line']} {one['kind']}: {one['verdict']} {one['by']} ({one['seconds']} s)"
            f"{'; it makes no difference: ' + reason if reason else ''}\n")
        if one["verdict"] != "noticed":
            say(show(one))
        tried.append(one)
        with open(TRIED, "a", encoding="utf-8") as f:
            f.write(json.dumps(one, ensure_ascii=False) + "\n")
    ours = [t for t in tried if t["seed"] == seed]
    survivors = [t for t in ours if t["verdict"] == "survived" and not equivalent.reason(t)]
    for one in survivors:
        say(f"\nsurvived: {one['number']} {one['file']}:{one['line']} {one['kind']}\n{show(one)}")
    say("\n" + summary(ours, equivalent) + "\n")
    return 1 if survivors else 0


def try_one(draw, judge, seed, number):
    begun = time.monotonic()
    for skip in range(20):
        file, text, place = draw.of(seed, number, skip)
        verdict, by = judge.judge(file, text, place)
        if verdict != "does not build":
            break
    before, after = change.difference(text, place)
    return {"seed": seed, "number": number, "file": file, "line": place.line + 1, "kind": place.kind, "before": before, "after": after,
            "verdict": verdict, "by": by, "seconds": round(time.monotonic() - begun), "day": datetime.date.today().isoformat()}
