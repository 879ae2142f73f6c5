#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the results recorded by `meson test`: summary.py BUILD… [-- FAILED-STEP…].

Prints how long each suite took, the failed and the skipped cases, then "N passed, N failed, N skipped"; exit 1 if any
failed.
"""
import collections
import json
import sys
import xml.etree.ElementTree as ElementTree


def cases(build):
    tree = ElementTree.parse(f"{build}/meson-logs/testlog.junit.xml")
    for suite in tree.iter("testsuite"):
        for case in suite.iter("testcase"):
            name = case.get("name")
            owner = suite.get("name", "")
            label = name if name == owner.split(".")[-1] else f"{owner.split('.')[-1]}: {name}"
            yield f"{build}: {label}", case


def print_times(build):
    """A line for each suite: tests run beside one another, so their sum is more than what passed on the clock."""
    tests = collections.defaultdict(list)
    with open(f"{build}/meson-logs/testlog.json", encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            suite, _, name = test["name"].removeprefix("firesteel:").partition(" / ")
            tests[suite].append((test["duration"], test["starttime"], name))
    for suite, times in sorted(tests.items()):
        longest = max(times)
        print(f"{build:12} {suite:8} {len(times):4} programs {sum(t[0] for t in times):8.1f} s, "
              f"the longest {longest[0]:6.1f} s: {longest[2]}")
    times = sum(tests.values(), [])
    clock = max(start + took for took, start, _ in times) - min(start for _, start, _ in times)
    print(f"{build:12} all      {len(times):4} programs {sum(t[0] for t in times):8.1f} s, {clock:.1f} s on the clock")


def main():
    arguments = sys.argv[1:]
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    builds, steps = arguments[:cut], arguments[cut + 1:]
    passed, failed, skipped = 0, list(), list()
    for build in builds:
        try:
            found = list(cases(build))
            print_times(build)
        except (OSError, ElementTree.ParseError) as problem:
            failed.append(f"{build}: no results: {problem}")
            continue
        for name, case in found:
            if case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            elif case.find("skipped") is not None:
                reason = case.find("skipped").get("message") or ""
                skipped.append(f"{name} {reason}")
            else:
                passed += 1
    # a step whose tests failed is counted by its tests
    failed += [f"step: {s}" for s in steps if not (s.startswith("tests") and failed)]
    for name in failed:
        print(f"FAILED  {name}")
    for name in skipped:
        print(f"skipped {name}")
    print(f"{passed} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


sys.exit(main())
