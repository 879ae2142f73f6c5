#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""YAML as we read it beside kubectl's reader: odd scalars by the thousand, and files of other people."""
import glob
import itertools
import json
import math
import os
import subprocess

import reads
from tap import SOURCE, Skip, run

SCALARS = """y Y n N yes Yes YES yEs no on Off OFF true True tRUE false ~ null Null NULL nULL .inf_ 0x 0x1 0X1F 0B101 0b2 0b 0o17 0O17 0o8 017 08 09 0_7 1_000
_1 1_ 1__0 +1 -1 +0x1f -0b11 +0b11 - + -- 00 -0 +0 1. .5 . .. ... 1.5 1.5.6 1e3 1E3 1e 1e+ 1e-3 1e3_0 .5e3 .e3 1.e5 -.5 +.5 0. 0.0 1e999 -1e999 .1e999 1e-999 4e-320
9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 18446744073709551615 18446744073709551616 +18446744073709551615
0xffffffffffffffff 0x10000000000000000 0b1111111111111111111111111111111111111111111111111111111111111111 01777777777777777777777
2001-1-1 2001-13-01 2001-01-01T00:00:00Z 2001-01-01t1:2:3Z 12:30 12:30:45 190:20:30.15 1,000 1g 0.1.2 0x1.8p3 1p3 Inf NaN inf nan infinity = << <<x a:b
123456789012345678901234567890 0.1234567890123456789 1.7976931348623157e308 2e308 5e-324 0777 0o777 -017 +017 1e1000000000 0e0 00e1 1_0.5 1_0e1_0""".split()
TAGS = ["", "!!str ", "! ", "!x ", "!!int ", "!!float ", "!!bool ", "!!null ", "!!timestamp ", "!!binary ", "!<tag:x,2000:y> ", "&a ", "&a ! ", "! &a "]
FORMS = ["v: {}\n", "[{}]\n", "{{{}: 1}}\n", "v: '{}'\n", "v: \"{}\"\n", "v: |\n  {}", "v: >-\n  {}\n", "- {}\n- é: {}\n"]
DOCUMENTS = ["", "\n", "---\n", "# x\n", "a: 1\n---\nb: 2\n", "---\n---\na: 1\n---\n", "a: |\n  x\n  y", "a: |+\n  x\n\n", "a: |-\n  x", "a: >\n  x\n  y\n\n  z", "\ufeffa: 1\n",
             "a: 1\r\nb: |\r\n  x\r\n  y\r\n", "x: &x {a: 1}\ny: {<<: *x, b: 2}\n", "x: &x {a: 1}\nz: {a: 2, <<: *x}\n", "x: &x {a: 1}\nz: {<<: [*x, {a: 2, b: 3}]}\n",
             "x: &x {a: 1}\nz: {'<<': *x}\n", "x: &x {a: 1}\nz:\n  <<: *x\n  <<: {b: 1}\n  a: 3\n", "z: {<<: 1}\n", "z: {<<: ~}\n", "z: {<<: [1]}\n", "a: &x [*x]\n", "a: *x\n", "- &x 1\n- &x 2\n- *x\n",
             "a: !!set {b, c}\n", "a: !!omap [b: 1]\n", "a: !!python/name:x.y \n", "a: !!map {b: 1}\n", "? a\n: b\n", "? [a]\n: b\n", "{a, b: , c}\n", "[a, [b, {c: d}], ]\n", "a: \"\\u00e9\\x41\\t\\e\"\n",
             "a: \"x\\\n  y\"\n", "a: 'it''s'\n", "a: b: c\n", "a:\tb\n", "a: 1\n...\n---\nb: 2\n", "a: [1, 2\nb: 3\n", "a: 1\n b: 2\n", "1: a\n1.5: b\ntrue: c\n~: d\n",
             "1.0e10: a\n3.14159265358979: b\n1e-7: c\n100000.0: d\n1234567.5: e\n", "18446744073709551615: a\n", "2001-01-01: a\n"]


def equal(a, b):
    """Numbers are equal as doubles; integers that fit into 64 bits exactly."""
    if isinstance(a, bool) or isinstance(b, bool) or type(a) is not type(b) and not all(isinstance(x, (int, float)) for x in (a, b)):
        return a is b
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-15) or a == b
    return a == b


def compare(paths):
    """How many are read alike, how many are refused by both, how many have a key twice; and those that differ."""
    theirs, ours = reads.both("yaml", paths)
    same, refused, twice, differ = 0, 0, 0, []
    for path in paths:
        their, our = theirs[path], ours[path]
        if their.get("twice") and "is there twice" in our.get("error", ""):
            twice += 1
        elif "error" in their and "error" in our:
            refused += 1
        elif "error" not in their and "error" not in our and equal(their["documents"], our["documents"]):
            same += 1
        else:
            differ.append((path, json.dumps(their)[:300], json.dumps(our)[:300]))
    return same, refused, twice, differ


def test_odd_scalars_and_documents(t):
    folder, texts = t.dir(), list(DOCUMENTS)
    texts += [form.replace("{}", tag + scalar, 1) for scalar, form in itertools.product(SCALARS, FORMS) for tag in TAGS if tag == "" or form in FORMS[:2]]
    texts = [text.replace("{}", "12").replace("{{", "{").replace("}}", "}") for text in texts]
    paths = {}
    for i, text in enumerate(texts):
        paths[f"{folder}/{i}"] = text
        with open(f"{folder}/{i}", "w", newline="") as f:
            f.write(text)
    same, refused, twice, differ = compare(paths)
    for path, their, our in differ:
        print(f"# {paths[path]!r}: kubectl {their}, we {our}")
    print(f"# {len(texts)} texts: {same} are read alike, {refused} refused by both, {twice} have a key twice, {len(differ)} differ")
    assert not differ, f"{len(differ)} differ"


def test_files_of_other_people(t):
    """The project's own, and those of the Go modules that the suites fetch anyway."""
    listed = subprocess.run(["git", "ls-files", "*.yaml", "*.yml"], cwd=SOURCE, capture_output=True, text=True, check=False).stdout.split()
    paths = [os.path.join(SOURCE, name) for name in listed if not name.startswith("tests/fuzz/")]
    modules = subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=False).stdout.strip() if reads.has_go() else ""
    for pattern in ("k8s.io/*", "sigs.k8s.io/*", "github.com/argoproj/*", "github.com/kubeflow/*"):
        for kind in ("yaml", "yml"):
            paths += sorted(glob.glob(f"{modules}/{pattern}/**/*.{kind}", recursive=True)) if modules else []
    if not paths:
        raise Skip("neither the repository's files are listed nor are there Go modules")
    same, refused, twice, differ = compare(paths)
    for one in differ:
        print("#", *one)
    print(f"# {len(paths)} files: {same} are read alike, {refused} refused by both, {twice} have a key twice, {len(differ)} differ")
    assert not differ, f"{len(differ)} of {len(paths)} differ"


run(globals())
