#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which code do the tests reach, and which of their cases reach something that no cheaper one does?

usage: cover.py [--record]

Runs all tests of this machine in a build that counts (-Dcover=true), each case of a program in Python by itself. Prints
for each folder how many of its lines are reached, then how many cases it takes to reach all but LEFT of what all
reach; the C programs, which are cheap, always count. --record keeps the names of all other cases in tests/cover/apart:
`./check` does not run them with sanitizers, `./check sanitizers` does.
"""
import collections
import concurrent.futures
import hashlib
import heapq
import json
import os
import re
import subprocess
import sys
import tempfile

BUILD, SOURCE = os.environ["FIRESTEEL_BUILD"], os.environ["FIRESTEEL_SOURCE"]
SUITES = ("unit", "replay", "wire", "corpus", "screen")
PROGRAMS = [f"{BUILD}/cli/{name}" for name in ("firesteel", "firesteel-kernel", "firesteel-worker", "firesteel-sandbox")]
APART = f"{SOURCE}/tests/cover/apart"
LEFT = 0.003  # of what all reach
LAST = "nothing_left_running"  # of every program
START = 0.05  # seconds that a case costs, whatever it does


def run_tests(folder):
    """What meson has on record of each program."""
    log = "cover"
    path = f"{BUILD}/meson-logs/{log}-wrap.json"
    if os.path.exists(path):
        os.unlink(path)
    env = dict(os.environ, COVER_FOLDER=folder, FIRESTEEL_PATIENCE="4")
    subprocess.run(["meson", "test", "-C", BUILD, "--no-rebuild", "--logbase", log, "--wrapper", f"{SOURCE}/tests/cover/wrap",
                    "--timeout-multiplier", "6", "--num-processes", str(2 * (os.cpu_count() or 1)),
                    *(word for suite in SUITES for word in ("--suite", suite))], env=env, stdin=subprocess.DEVNULL, check=False)
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def tool(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def merged(profiles, out, *options):
    """One profile of several. Those of programs that were killed before they had one are empty."""
    profiles = [p for p in profiles if os.path.getsize(p)]
    if profiles:
        tool("llvm-profdata", "merge", "-failure-mode=all", *options, *profiles, "-o", out)
    return bool(profiles)


def reached(profile):
    """{(function, hash): bits of its counters that are not 0}, of functions that nothing has called only if it is not sparse"""
    found, name, number, first = {}, None, None, 0
    for line in tool("llvm-profdata", "show", "--all-functions", "--counts", profile).splitlines():
        if line.startswith("    Hash: "):
            number = line.split()[1]
        elif line.startswith("    Function count: "):
            first = int(line.split()[-1])
        elif line.startswith("    Block counts: "):
            counts = [first] + [int(n) for n in re.findall(r"\d+", line)]
            found[name, number] = sum(1 << i for i, n in enumerate(counts) if n)
        elif line.startswith("  ") and not line.startswith("   ") and line.endswith(":"):
            name = line[2:-1]
    return found


Case = collections.namedtuple("Case", "program name reached cost")


def program_of(command):
    """A program in Python as the list names it; None: one in C."""
    for word in command:
        if word.endswith(".py") and os.path.realpath(word).startswith(f"{SOURCE}/tests/"):
            return os.path.relpath(os.path.realpath(word), f"{SOURCE}/tests")
    return None


def profiles_of(folder):
    """The profiles of each case; "": those of what no case has started."""
    cases = collections.defaultdict(list)
    for name in os.listdir(folder):
        match = re.fullmatch(r"(?:(\w+)-)?\d+_\d+\.profraw", name)
        if match:
            cases[match[1] or ""].append(os.path.join(folder, name))
    return cases


def cases_of(folder, result):
    """A program's cases: what each reaches, and what it costs in processor time, by its share of the clock."""
    command = result["command"][result["command"].index(f"{SOURCE}/tests/cover/wrap") + 1:]
    here = f"{folder}/{hashlib.sha256(''.join(w + chr(10) for w in command).encode()).hexdigest()[:16]}"
    if not os.path.isdir(here):
        return []
    out = result.get("stdout") or ""
    took = {name: float(seconds) for name, seconds in re.findall(r"^# (\w+): ([\d.]+) s$", out, re.M)}
    worked = re.search(r"^# processor: ([\d.]+) s$", out, re.M)
    each = float(worked[1]) / (sum(took.values()) or 1) if worked else 0
    cases = []
    for name, profiles in profiles_of(here).items():
        if merged(profiles, f"{here}/{name}.profdata", "-sparse"):
            cases.append(Case(program_of(command), name, reached(f"{here}/{name}.profdata"), START + each * took.get(name, 0)))
    return cases


def ours(folder):
    """What the programs have: tests in C have functions of their own, too."""
    functions = set()
    for program in PROGRAMS:
        profile = f"{folder}/{os.path.basename(program)}"
        subprocess.run([program, "--version"], env=dict(os.environ, LLVM_PROFILE_FILE=profile + ".profraw"),
                       stdout=subprocess.DEVNULL, check=True)
        merged([profile + ".profraw"], profile + ".profdata")
        functions |= reached(profile + ".profdata").keys()
    return functions


def add(total, case):
    for function, bits in case.reached.items():
        total[function] = total.get(function, 0) | bits


def news(total, case):
    return sum((bits & ~total.get(function, 0)).bit_count() for function, bits in case.reached.items())


def size(total):
    return sum(bits.bit_count() for bits in total.values())


def choose(cases):
    """Those that add the most for what they cost, one after the other."""
    everything, total = {}, {}
    for case in cases:
        add(everything, case)
        if not case.program or not case.name:
            add(total, case)
    rest = [case for case in cases if case.program and case.name]
    heap = [(-news(total, case) / case.cost, i) for i, case in enumerate(rest)]
    heapq.heapify(heap)
    chosen, left, all_of_it = [], set(range(len(rest))), size(everything)
    while heap and all_of_it - size(total) > LEFT * all_of_it:
        worth, i = heapq.heappop(heap)
        now = -news(total, rest[i]) / rest[i].cost
        if now > worth:  # others have reached some of it meanwhile
            heapq.heappush(heap, (now, i))
            continue
        add(total, rest[i])
        chosen.append(rest[i])
        left.discard(i)
    return chosen, [rest[i] for i in sorted(left)], size(total), all_of_it


def print_lines(folder):
    """Lines reached, for each folder of sources."""
    merged([f"{at}/{name}" for at, _, names in os.walk(folder) for name in names if name.endswith(".profdata")], f"{folder}/all", "-sparse")
    objects = [word for program in PROGRAMS[1:] for word in ("-object", program)]
    files = json.loads(tool("llvm-cov", "export", "-summary-only", f"-instr-profile={folder}/all", PROGRAMS[0], *objects))
    lines = collections.Counter()
    for one in files["data"][0]["files"]:
        name = os.path.relpath(one["filename"], SOURCE)
        if name.startswith((".", "build", "tests")):
            continue
        place = os.path.dirname(name)
        for where in (place, "all"):
            lines[where, "all"] += one["summary"]["lines"]["count"]
            lines[where, "reached"] += one["summary"]["lines"]["covered"]
    for place in sorted({where for where, _ in lines}, key=lambda where: (where == "all", where)):
        count = lines[place, "all"]
        print(f"{place:24} {lines[place, 'reached']:7} of {count:6} lines reached, {100 * lines[place, 'reached'] / max(1, count):5.1f} %")


def record(left):
    programs = collections.defaultdict(list)
    for case in left:
        if case.name != LAST:
            programs[case.program].append(case.name)
    with open(APART, "w", encoding="utf-8") as f:
        f.write("# Cases that `./check` does not run with sanitizers: others reach what they reach (`./check cover --record`).\n")
        for program in sorted(programs):
            f.write(f"{program}: {' '.join(sorted(programs[program]))}\n")


def main():
    if sys.argv[1:] not in ([], ["--record"]):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="firesteel-cover-") as folder:
        results = run_tests(folder)
        failed = [r["name"] for r in results if r["result"] not in ("OK", "SKIP")]
        functions = ours(folder)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            cases = [case for some in pool.map(lambda r: cases_of(folder, r), results) for case in some]
        for case in cases:
            for function in [f for f, bits in case.reached.items() if not bits or f not in functions]:
                del case.reached[function]
        print_lines(folder)
    chosen, left, total, everything = choose(cases)
    cost = [sum(case.cost for case in some) for some in (chosen, left)]
    print(f"{len(chosen)} of {len(chosen) + len(left)} cases reach {total} of {everything} places, in {cost[0]:.0f} of {sum(cost):.0f} s of processors")
    if failed:
        print(f"failed here: {', '.join(failed)}")
    if sys.argv[1:]:
        record(left)


if __name__ == "__main__":
    main()
