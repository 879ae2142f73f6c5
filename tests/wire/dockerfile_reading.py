#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dockerfiles and ignore files as we read them, beside BuildKit's parser, its lexer, and moby's pattern matcher: their own
tests' inputs, odd texts by the thousand, and the Dockerfiles of the Go modules that the suites fetch anyway."""
import glob
import itertools
import json
import os
import re
import subprocess

import reads
from tap import Skip, run


def modules():
    if not reads.has_go():
        raise Skip("no Go compiler")
    return subprocess.run(["go", "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip()


def put(folder, texts):
    paths = {}
    for i, text in enumerate(texts):
        paths[f"{folder}/{i}"] = text
        with open(f"{folder}/{i}", "w", newline="") as f:
            f.write(text)
    return paths


def step_of_theirs(step):
    line, name, flags, words, here, is_json = step
    if name in ("ENV", "LABEL") and words:  # name, value, separator; …
        words = [f"{words[i]}{words[i + 2] or ' '}{words[i + 1]}" for i in range(0, len(words), 3)]
    return [line, name, flags or [], [" ".join(w.split()) for w in words], here > 0, bool(is_json)]


def step_of_ours(step):
    line, name, flags, rest, words, here = step
    is_json = None
    if name not in ("ENV", "LABEL", "ARG", "FROM", "WORKDIR", "USER", "EXPOSE", "STOPSIGNAL", "MAINTAINER", "HEALTHCHECK", "ONBUILD"):
        try:
            is_json = json.loads(rest) if rest.startswith("[") else None
        except ValueError:
            pass
    if is_json is not None:
        return [line, name, flags, [" ".join(w.split()) for w in is_json], here, True]
    if name in ("CMD", "ENTRYPOINT", "RUN", "SHELL", "WORKDIR", "USER", "STOPSIGNAL", "MAINTAINER"):
        words = [rest]
    elif name in ("ENV", "LABEL") and words and "=" not in words[0]:
        words = [rest]
    elif name not in ("ENV", "LABEL", "ARG"):
        words = rest.split()
    return [line, name, flags, [" ".join(w.split()) for w in words], here, False]


def compare_dockerfiles(paths):
    theirs, ours = reads.both("dockerfile", paths)
    same, refused, differ = 0, 0, []
    for path in paths:
        their, our = theirs[path], ours[path]
        if "error" in their:  # many of these are refused when they are built
            refused += 1
            continue
        left = [step_of_theirs(s) for s in their["steps"] if s[1] not in ("HEALTHCHECK", "ONBUILD")]
        right = [step_of_ours(s) for s in our.get("steps", []) if s[1] not in ("HEALTHCHECK", "ONBUILD")]
        if left == right:
            same += 1
        else:
            differ.append((path, our.get("error") or next((a, b) for a, b in itertools.zip_longest(left, right) if a != b)))
    return same, refused, differ


LINES = ["ENV A=b", "ENV A b  c", "  LABEL a=\"b c\" d='e f'", "ENV A=b \\", "ENV A=b\\\\", "C=d", " C=d \\ ", "\\", "# comment", "   # comment \\", "", "  ", "RUN echo \\", "CMD [\"a\", \\", "\"b\"]",
         "COPY --chown=\"a:b\" x /y", "ENV A=\"b \\", "c\" D=e", "ENV A=b`", "RUN cat <<EOF", "EOF", "\tx\\"]
HEADS = ["", "# escape=`\n", "#syntax=x\n# escape = `\n", "\n# escape=`\n", "\ufeff", "# escape=\\\n\n"]


def test_lines_as_buildkit_reads_them(t):
    texts = [f"{head}FROM scratch\n{end.join(lines)}" for head, end in itertools.product(HEADS, ("\n", "\r\n"))
             for lines in itertools.chain(itertools.product(LINES, LINES), itertools.product(LINES[::3], LINES, LINES[1::4]))]
    paths = put(t.dir(), texts)
    same, refused, differ = compare_dockerfiles(paths)
    for path, why in differ[:20]:
        print(f"# {paths[path]!r}: {why}")
    print(f"# {len(paths)} Dockerfiles: {same} are read alike, {refused} refused by BuildKit, {len(differ)} differ")
    assert not differ, f"{len(differ)} differ"


def test_dockerfiles_of_other_people(t):
    cache = modules()
    reads.both("dockerfile", [])  # fetches BuildKit
    found = [p for name in ("Dockerfile", "Dockerfile.*", "*.Dockerfile", "*.dockerfile") for p in glob.glob(f"{cache}/**/{name}", recursive=True)]
    paths = sorted({p for p in found if os.path.isfile(p) and not p.endswith((".go", ".dockerignore", ".tmpl"))})
    same, refused, differ = compare_dockerfiles(paths)
    for one in differ[:20]:
        print("#", *one)
    print(f"# {len(paths)} Dockerfiles: {same} are read alike, {refused} refused by BuildKit, {len(differ)} differ")
    assert same and not differ, f"{len(differ)} differ"


def test_what_words_stand_for(t):
    cache = modules()
    reads.both("dockerfile", [])
    lines = []
    for name in ("envVarTest", "wordsTest"):
        for path in glob.glob(f"{cache}/github.com/moby/buildkit@*/frontend/dockerfile/shell/{name}"):
            with open(path) as f:
                lines += [line.split("|")[-2].strip("\n") if line.count("|") > 1 else line.split("|")[0].strip() for line in f if not line.startswith("#")]
    pieces = ["a", "$A", "${A}", "\\", "\"", "'", "${", "}", "$", ":-", "${NONE:-x}", "${NONE-${A}}", "${A:+y}", "${P%.*}", "${P%%.*}", "${P#*/}", "${P##*/}", "${P/y/Z}",
              "${P//[.x]/_}", "${P/*./q}", "${A/ /}", "${P%?z}", "${NONE?e}", "${EMPTY:?}", "$1", "$?", "${1}", "\\$A", "${KOREAN}", "${P/\\//_}", " "]
    lines += ["".join(p) for n in (1, 2, 3) for p in itertools.product(pieces, repeat=n)]
    path = f"{t.dir()}/lines"
    with open(path, "w") as f:
        f.write("".join(f"{line}\n" for line in lines))
    theirs, ours = reads.both("words", [path])
    their, our = theirs[path]["texts"], ours[path]["texts"]
    differ = [(lines[i], a, b) for i, (a, b) in enumerate(zip(their, our)) if a != b]
    for one in differ[:30]:
        print("#", *map(repr, one))
    print(f"# {len(lines)} texts: {sum(a is not None for a in their)} stand for something, the others are refused; {len(differ)} differ")
    assert len(their) == len(our) == len(lines) and not differ, f"{len(differ)} differ"


PATTERNS = ["a", "*", "**", "?", "a*", "*a", "**a", "**/a", "a/**", "a**", "a/**/b", "**/*.c", "a/*/b", "[ab]", "[^a]", "[a-c]x", "[!a]", "\\*", "a\\.c", "a?", "./a", "/a", "a/", "a//b", "a/../b", "../a", "!a", "!a/b",
            "! a", "!**/a", "#a", " a ", "é", "?é", "a.c", "a+", "(a)", "**/**", "*/**/a", "[", "[]", "[a-]", "[-a]", "[]a]", "a\\", "!", "!!a", "a/b", "**/a/b", ".", "..", "/", "**/.*", ".?*", "\ufeffa"]
NAMES = ["a", "b", "ab", "ba", "a/b", "b/a", "a/a/b", "a/x/y/b", "x/a", "x/ya", "a.c", "x/y.c", "ax", "bx", "*", "a+", "(a)", "é", "aé", ".a", "x/.a", "!a", "#a", "a/b/c", "abc"]


def test_ignore_files_as_moby_reads_them(t):
    cache, folder = modules(), t.dir()
    reads.both("dockerfile", [])
    cases = [("\n".join(pair), NAMES) for pair in itertools.product(PATTERNS, PATTERNS)] + [(p, NAMES) for p in PATTERNS]
    for path in glob.glob(f"{cache}/github.com/moby/patternmatcher@*/patternmatcher_test.go"):
        with open(path) as f:
            for pattern, name in re.findall(r'\{(?:pattern: )?"((?:[^"\\]|\\.)*)", (?:text: )?"((?:[^"\\]|\\.)*)"', f.read()):
                cases.append((pattern.replace('\\\\', '\\'), [name.replace('\\\\', '\\')]))
    paths = put(folder, [text for text, _ in cases])
    for i, (_, names) in enumerate(cases):
        with open(f"{folder}/{i}.names", "w") as f:
            f.write("".join(f"{n}\n" for n in names))
    theirs, ours = reads.both("ignore", paths)
    differ = [(paths[p], theirs[p], ours[p]) for p in paths if ("error" in theirs[p]) != ("error" in ours[p]) or theirs[p].get("ignored") != ours[p].get("ignored")]
    for text, their, our in differ[:30]:
        what = [n for n, a, b in zip(NAMES, their.get("ignored", []), our.get("ignored", [])) if a != b]
        print("#", repr(text), their.get("error"), our.get("error"), what)
    print(f"# {len(cases)} ignore files: {sum('error' in r for r in theirs.values())} refused, {len(differ)} differ")
    assert not differ, f"{len(differ)} differ"


run(globals())
