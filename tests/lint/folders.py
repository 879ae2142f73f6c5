#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders of sources: none is large, none comes back to itself along includes, and doc/architecture.md says of each what is in it."""
import collections
import os
import re
import subprocess

from tap import SOURCE, run

ROOMS = ("base", "cli", "k8s", "script", "trainer", "tui")
MOST = 30
ENDINGS = (".c", ".h", ".def", ".lua", ".py")


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *ROOMS], cwd=SOURCE, capture_output=True, text=True)
    found = collections.defaultdict(list)
    for path in listed.stdout.split():
        if path.endswith(ENDINGS) and os.path.isfile(os.path.join(SOURCE, path)):
            found[os.path.dirname(path)].append(path)
    return found


def text_of(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def rows():
    """{folder: its tests}, as the page has them."""
    page = text_of("doc/architecture.md").split("## Folders")[1].split("\n## ")[0]
    found = re.findall(r"^\| `([\w/]+)` \|[^|]+\|[^|]*\|([^|]*)\|$", page, re.M)
    return {folder: re.findall(r"`([\w./]+)`", tests) for folder, tests in found}


def test_no_folder_is_large(t):
    large = [f"{folder}: {len(files)} files" for folder, files in sorted(sources().items()) if len(files) > MOST]
    assert not large, f"more than {MOST} sources: make a folder of what belongs together: {large}"


def reached(knows, room, seen):
    for other in knows.get(room, set()) - seen:
        seen.add(other)
        reached(knows, other, seen)
    return seen


def test_no_folder_comes_back_to_itself_along_includes(t):
    knows = collections.defaultdict(set)
    for folder, files in sources().items():
        for path in files:
            if path.endswith((".c", ".h")):
                targets = re.findall(r'^\s*#\s*include\s*"([^"]+)"', text_of(path), re.M)
                knows[folder].update({os.path.dirname(target) for target in targets} - {folder})
    bad = sorted(room for room in list(knows) if room in reached(knows, room, set()))
    assert sum(map(len, knows.values())) > 100 and not bad, bad


def test_the_page_has_each_folder_and_its_tests(t):
    told, here = rows(), set(sources())
    assert len(told) > 50 and set(told) == here, f"doc/architecture.md lacks {here - set(told)}, and has {set(told) - here}"
    missing = [f"{folder}: {test}" for folder, tests in told.items() for test in tests if not os.path.exists(os.path.join(SOURCE, "tests", test))]
    assert not missing, missing


run(globals())
