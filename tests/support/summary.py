#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adds up the results recorded by `meson test`: summary.py BUILD[:LOG]… [-- FAILED-STEP…], where LOG is its --logbase.

Prints how long each suite took, on the clock and of processors (by tests/support/spent), the dearest programs, the failed, weak and skipped cases, then "N passed, N failed, N skipped"; exit 1 if any
failed. A case is weak that failed beside other tests, and whose program passed when it was run again, alone.

summary.py --failed BUILD[:LOG] prints a line for each program that failed: its name, a tab, the names of its failed cases.
"""
import collections
import glob
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree


DEAREST = 12
Program = collections.namedtuple("Program", "suite name start took worked output")


def is_failed(case):
    return case.find("failure") is not None or case.find("error") is not None


def log(results, prefix=""):
    """The path of these results without its ending."""
    build, _, name = results.partition(":")
    return f"{build}/meson-logs/{prefix}{name or 'testlog'}-spent"  # meson appends its wrapper's name


def recovered(results):
    """The programs whose failed cases passed when they were run again. Programs of two suites may share a name."""
    failed, passed = [], []
    for path in glob.glob(log(results, "again-*-") + ".json"):
        bad, good = programs(path[:-len(".json")])
        failed += bad
        passed += good
    return set(passed) - set(failed)


def cases(results):
    """Of each case: its name, that of its program, the element. Where a program told no cases, it is the case."""
    build = results.partition(":")[0]
    tree = ElementTree.parse(log(results) + ".junit.xml")
    for suite in tree.iter("testsuite"):
        for case in suite.iter("testcase"):
            name, program = case.get("name"), suite.get("name", "").partition(" / ")[2]
            if " / " in name:
                program = name = name.partition(" / ")[2]
            yield f"{build}: {name if name == program else f'{program}: {name}'}", program, case


def programs(path):
    """The names of the programs that failed, and of those that did not."""
    failed, passed = [], []
    if os.path.exists(path + ".json"):
        with open(path + ".json", encoding="utf-8") as f:
            for line in f:
                test = json.loads(line)
                fine = test["result"] in ("OK", "SKIP", "EXPECTEDFAIL")
                (passed if fine else failed).append(test["name"].partition(" / ")[2])
    return failed, passed


def print_failed(results):
    """A program that did not come to its end has no cases here: all of it is run again."""
    told = collections.defaultdict(list)
    for name, program, case in cases(results):
        if is_failed(case) and f"{program}: " in name:
            told[program].append(name.rpartition(" - ")[2])
    with open(log(results) + ".json", encoding="utf-8") as f:
        ended = {test["name"].partition(" / ")[2] for test in map(json.loads, f) if test["returncode"] == 1}
    for program in programs(log(results))[0]:
        print(f"{program}\t{' '.join(told[program] if program in ended else [])}")


def number(pattern, text):
    """The last one that a line of this pattern tells, or None."""
    found = re.findall(pattern, text, re.MULTILINE)
    return float(found[-1]) if found else None


def measured(results):
    """Of each program: suite, name, start and duration in seconds, its processor seconds, and its output."""
    with open(log(results) + ".json", encoding="utf-8") as f:
        for line in f:
            test = json.loads(line)
            suite, _, name = test["name"].removeprefix("firesteel:").partition(" / ")
            output = test.get("stdout") or ""
            yield Program(suite, name, test["starttime"], test["duration"], number(r"^# processor: ([\d.]+) s$", output) or 0, output)


def print_times(results):
    """A line for each suite: tests run beside one another, so their sum is more than what passed on the clock."""
    tests, build = collections.defaultdict(list), results.partition(":")[0]
    for program in measured(results):
        tests[program.suite].append(program)
    for suite, some in sorted(tests.items()):
        longest = max(some, key=lambda p: p.took)
        print(f"{build:12} {suite:8} {len(some):4} programs {sum(p.took for p in some):8.1f} s, of processors {sum(p.worked for p in some):7.1f} s, "
              f"the longest {longest.took:6.1f} s: {longest.name}")
    some = sum(tests.values(), [])
    clock = max(p.start + p.took for p in some) - min(p.start for p in some)
    if len(tests) > 1:
        print(f"{build:12} all      {len(some):4} programs {sum(p.took for p in some):8.1f} s, of processors {sum(p.worked for p in some):7.1f} s, "
              f"{clock:.1f} s on the clock")


def print_dearest(builds):
    """The programs that processors worked most for, and what the parts took of one that runs many (`# part NAME: N s`)."""
    every = [(program, build.partition(":")[0]) for build in builds if os.path.exists(log(build) + ".json") for program in measured(build)]
    every.sort(key=lambda one: -one[0].worked)
    for program, build in every[:DEAREST]:
        print(f"dear         {program.worked:7.1f} s of processors, {program.took:7.1f} s: {build}: {program.suite} / {program.name}")
    for program, build in every:
        parts = re.findall(r"^# part (\S+): ([\d.]+) s", program.output, re.MULTILINE)
        if parts:
            parts.sort(key=lambda part: -float(part[1]))
            print(f"parts of {program.name}, in seconds: {', '.join(f'{name} {float(took):.0f}' for name, took in parts)}")


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--failed":
        print_failed(arguments[1])
        return 0
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    builds, steps = arguments[:cut], arguments[cut + 1:]
    passed, failed, weak, skipped = 0, list(), list(), list()
    for build in builds:
        try:
            found, again = list(cases(build)), recovered(build)
            print_times(build)
        except (OSError, ElementTree.ParseError) as problem:
            failed.append(f"{build}: no results: {problem}")
            continue
        told = set()
        for name, program, case in found:
            if is_failed(case):
                told.add(program)
                (weak if program in again else failed).append(name)
            elif case.find("skipped") is not None:
                reason = case.find("skipped").get("message") or ""
                skipped.append(f"{name} {reason}")
            else:
                passed += 1
        for program in programs(log(build))[0]:  # it died, and all cases that it told had passed
            if program not in told:
                (weak if program in again else failed).append(f"{build}: {program}")
    print_dearest(builds)
    # a step whose tests failed is counted by its tests
    failed += [f"step: {s}" for s in steps if not (s.startswith("tests") and failed)]
    for name in failed:
        print(f"FAILED  {name}")
    for name in weak:
        print(f"WEAK    {name}: failed beside others, passed alone: mend it")
    for name in skipped:
        print(f"skipped {name}")
    print(f"{passed + len(weak)} passed, {len(failed)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failed or not passed else 0


sys.exit(main())
