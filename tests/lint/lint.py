#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rules of this project that a compiler does not know, as TAP: layers, headers, texts.

usage: lint.py SOURCE_ROOT BUILD_ROOT [CC…]
"""
import ast
import collections
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT, BUILD = sys.argv[1:3]
CC = sys.argv[3:] or ["cc"]
os.chdir(ROOT)

# folder -> the folders (longest prefix wins) it may include from, besides itself and base.
LAYERS = {
    "base": [],
    "base/loop": ["base"],
    "script/notebook": [],
    "script/journal": ["script/notebook"],
    "script/report": ["script/embed.h", "script/notebook", "script/journal"],
    "script/protocol": ["script/journal"],
    "script/kernel/port": ["base/loop", "script/notebook", "script/journal", "script/protocol"],
    "script/kernel/process": ["base/loop"],
    "script/kernel/effects": ["base/loop", "script/notebook", "script/journal", "script/protocol",
                              "script/kernel/port"],
    "script/kernel/cells": ["base/loop", "script/notebook", "script/journal", "script/protocol",
                            "script/kernel/port", "script/kernel/effects", "script/api/sources.h",
                            "script/pack"],
    "script/kernel/session": ["base/loop", "script/notebook", "script/journal", "script/protocol",
                              "script/kernel"],
    "script/api": ["base/loop", "script/embed.h", "script/kernel/effects/binding.h", "script/kernel/port/display.h",
                    "script/jupyter/spec.h", "k8s/net", "k8s/client", "k8s/manifest", "k8s/image"],
    "script/jupyter": [],
    "script/pack": [],
    "script/worker": ["base/loop", "script/embed.h", "script/pack", "trainer"],
    "k8s/net": ["base/loop"],
    "k8s/client": ["base/loop", "k8s/net", "k8s/manifest"],
    "k8s/manifest": [],
    "k8s/image": ["base/loop", "k8s/net"],
    "k8s/sandbox": ["base/loop", "k8s/sandbox/nodes", "k8s/sandbox/spark"],
    "k8s/sandbox/store": [],
    "k8s/sandbox/registry": ["k8s/image/store.h", "k8s/image/oci.h", "k8s/image/index.h"],
    "k8s/sandbox/api": ["base/loop", "k8s/sandbox/store", "k8s/sandbox/registry/registry.h"],
    "k8s/sandbox/nodes": ["base/loop", "k8s/sandbox/store", "k8s/sandbox/api", "k8s/image/store.h",
                          "k8s/image/unpack.h", "k8s/image/oci.h", "k8s/image/index.h"],
    "k8s/sandbox/spark": ["base/loop", "k8s/sandbox/store", "k8s/sandbox/api",
                          "k8s/sandbox/nodes"],
    "trainer": ["base/loop"],
    "tui/grid": [],
    "tui/edit": [],
    "tui/syntax": ["tui/grid"],
    "tui/picture": ["tui/grid"],
    "tui/config": ["tui/edit"],
    "tui/term": ["base/loop", "tui/grid", "tui/picture", "tui/edit/key.h", "tui/edit/mouse.h"],
    "tui/part": ["tui/grid", "tui/picture", "tui/edit", "tui/syntax", "script/journal/file/spool.h",
                 "script/journal/html_table.h", "script/journal/text.h"],
    "tui/bench": ["tui/grid", "tui/picture", "tui/config", "tui/edit", "tui/syntax", "tui/part", "script/notebook",
                  "script/journal", "script/protocol", "base/loop"],
    # of the bench, only the headers that tui/bench/view.h lists, never its private one
    "tui/view": ["tui/grid", "tui/picture", "tui/config", "tui/edit", "tui/syntax", "tui/part", "tui/bench/bench.h", "tui/bench/drawing.h", "tui/bench/view.h", "tui/bench/views.h",
                 "tui/bench/command.h", "tui/bench/desk.h", "tui/bench/document/problems.h", "tui/bench/find/head.h", "tui/bench/loss.h", "tui/bench/cluster/objectcommand.h", "tui/bench/cluster/objectedit.h", "tui/bench/cluster/objectlogs.h", "tui/bench/cluster/objectshell.h", "tui/bench/questions.h",
                 "tui/bench/remote.h", "tui/bench/slots.h", "tui/bench/structure.h", "script/notebook", "script/journal"],
}
# the client and server of the protocol use the loop
LAYERS["script/protocol"].append("base/loop")
# What a layer declares and leaves to one above it: the bench opens views, and each cell keeps its drawing.
PORTS = {"tui/bench": ("tui/bench/drawing.h", "tui/bench/views.h")}
# a library's header -> the one folder (or file) that may name it
OWNERS = {
    "uv.h": "base/loop/", "curl/curl.h": "k8s/net/", "mpi.h": "trainer/dist/", "dnnl.h": "trainer/dnn/",
    "yaml.h": "base/json/yaml.c", "microhttpd.h": ("k8s/sandbox/api/http.c", "trainer/serve/serve.c"), "curses.h": "tui/term/",
    "ncurses.h": "tui/term/", "utf8proc.h": "base/text/", "zmq.h": "script/jupyter/channels.c",
}
LUA_FOLDERS = ("script/kernel/cells/", "script/kernel/session/kernel.c", "script/pack/", "script/worker/", "cli/", "tests/", "script/embed.c")

tests = []


def tap(ok, name, details=()):
    tests.append(ok)
    print(f"{'ok' if ok else 'not ok'} {len(tests)} - {name}")
    for line in details:
        print(f"# {line}")


def files(*endings):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True,
                            text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [
        os.path.relpath(os.path.join(folder, name), ".")
        for folder, _, found in os.walk(".") for name in found]
    return sorted(n for n in names
                  if n.endswith(endings) and os.path.isfile(n) and not n.startswith("build"))


def layer_of(path):
    best = ""
    for layer in LAYERS:
        if path.startswith(layer + "/") and len(layer) > len(best):
            best = layer
    return best


def is_allowed(layer, target):
    if target.startswith("base/") and not target.startswith("base/loop/"):
        return True
    if layer_of(target) == layer:
        return True
    return any(target == a or target.startswith(a.rstrip("/") + "/") for a in LAYERS[layer])


def check_layers(sources):
    bad, owned, foreign_lua = [], [], []
    for path in sources:
        layer = layer_of(path)
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if not match:
                continue
            kind, target = match.groups()
            place = f"{path}:{number}: {target}"
            if kind == '"' and layer and not is_allowed(layer, target):
                bad.append(place)
            if kind == "<" and target in OWNERS and not path.startswith(OWNERS[target]) \
                    and not path.startswith("tests/"):
                owned.append(place)
            if kind == "<" and target in ("lua.h", "lauxlib.h", "lualib.h") \
                    and not path.startswith(LUA_FOLDERS):
                foreign_lua.append(place)
    tap(not bad, "includes follow the layers of doc/architecture.md", bad)
    tap(not owned, "each library's header is named in its one folder", owned)
    tap(not foreign_lua, "Lua is named in the kernel, the worker, and the tool that compiles their library", foreign_lua)


def objects():
    """(source, object file) of everything except the tests, from the build."""
    for entry in json.load(open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8")):
        source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        object_file = os.path.join(entry["directory"], entry["output"])
        if source.endswith(".c") and not source.startswith("tests/") and os.path.isfile(object_file):
            yield source, object_file


def symbols(object_files):
    """External symbols of each object: {file: (those it defines, those it uses)}."""
    found = {path: (set(), set()) for path in object_files}
    listed = subprocess.run(["nm", "-AgP", *object_files], capture_output=True, text=True, check=True)
    for line in listed.stdout.splitlines():
        path, words = line.split(": ", 1)
        name, kind = words.split()[:2]
        if kind in "TDBRVWU":
            found[path][kind == "U"].add(name)
    return found


def may_use(layer, source):
    """A symbol may be used wherever some header of its source's layer may be included."""
    theirs = layer_of(source)
    return theirs in (layer, "base") or any(
        source.startswith(a.rstrip("/") + "/") or "." in a and layer_of(a) == theirs for a in LAYERS[layer])


def check_symbols():
    """Finds what includes cannot show: a symbol of an upper layer that was declared by hand."""
    defined, used = {}, {}
    built = list(objects())
    found = symbols([path for _, path in built])
    for source, object_file in built:
        ours, theirs = found[object_file]
        used[source] = theirs
        for name in ours:
            defined.setdefault(name, set()).add(source)
    programs = ("main", "environ")
    twice = [f"{name}: {', '.join(sorted(where))}" for name, where in sorted(defined.items())
             if len(where) > 1 and name not in programs]
    upward = []
    ports = {layer: set(re.findall(r"\w+", " ".join(open(h, encoding="utf-8").read() for h in headers)))
             for layer, headers in PORTS.items()}
    for source, names in sorted(used.items()):
        layer = layer_of(source)
        names -= ports.get(layer, set())
        for name in sorted(names if layer else ()):
            upward += [f"{source}: {name} of {there}" for there in defined.get(name, ())
                       if layer_of(there) and not may_use(layer, there)]
    tap(used and not twice, f"none of {len(defined)} external symbols is defined twice", twice)
    tap(used and not upward, "no layer uses a symbol of one above it", upward)


def check_headers(headers):
    def compile_alone(path):
        done = subprocess.run(
            CC + ["-std=gnu17", "-D_GNU_SOURCE", "-I.", "-I/usr/include/lua5.4", "-fsyntax-only",
                  "-x", "c", path], capture_output=True, text=True)
        return None if done.returncode == 0 else f"{path}: {done.stderr.strip().splitlines()[0]}"
    with ThreadPoolExecutor(2) as pool:
        bad = [b for b in pool.map(compile_alone, headers) if b]
    tap(not bad, f"each of {len(headers)} headers compiles alone", bad)


def check_texts(paths):
    no_licence = [p for p in paths if p.endswith((".c", ".h", ".def", ".lua", ".py"))
                  and not p.startswith(("recipes/", "tests/fuzz/corpus", "tests/old/0."))
                  and "SPDX-License-Identifier: MIT" not in open(p, encoding="utf-8").read(300)]
    tap(not no_licence, "each source says its licence", no_licence)
    bad = []
    for path in paths:
        if path.startswith("tests/fuzz/corpus") or path == "tests/lint/lint.py":
            continue
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if re.search(r"/(root|home/[a-z]+|work/(main|shared|h))/[a-z]", line) \
                    or re.search(r"\b(TODO|FIXME|XXX|HACK)\b", line):
                bad.append(f"{path}:{number}: {line.strip()[:80]}")
            elif line.startswith(("<<<<<<< ", ">>>>>>> ")):
                bad.append(f"{path}:{number}: a merge left this")
    tap(not bad, "no path of a machine, no note to self, no mark of a merge", bad)


def check_format(sources):
    if not shutil.which("clang-format"):
        tap(True, "clang-format agrees # SKIP clang-format is not installed")
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror"] + sources, capture_output=True,
                          text=True)
    bad = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "error:" in line})
    tap(done.returncode == 0, "clang-format agrees", bad)


def check_prints(sources):
    bad = []
    for path in sources:
        if path.startswith(("cli/", "tests/")):
            continue
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if re.search(r"(?<![\w.>])(printf|puts|putchar|getenv|exit)\s*\(", line) \
                    and not line.lstrip().startswith(("//", "*")):
                bad.append(f"{path}:{number}: {line.strip()[:80]}")
    tap(not bad, "libraries do not print, exit or read the environment", bad)


# Who forks or becomes another program without base/os/spawn.c: the guard is no other program, a pod's first process and
# `clean` and `check` become theirs.
STARTERS = ("base/os/spawn.c", "process/guard.c", "podinit.c", "cli/verbs/become.c")


def check_starts(sources):
    bad = []
    for path in sources:
        if path.startswith("tests/") or path.endswith(STARTERS):
            continue
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if re.search(r"(?<![\w.>])(v?fork|exec[vl]\w*|posix_spawnp?|uv_spawn|popen|system)\s*\(", line) \
                    and not line.lstrip().startswith("//"):
                bad.append(f"{path}:{number}: {line.strip()[:80]}")
    tap(not bad, "children are started by base/os/spawn.c", bad)


def without_texts(text):
    """C without comments and literals, with its lines and columns."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def check_errors(sources):
    """Whoever calls may pass NULL for any `err *e`, so nobody reads or writes through one that no ERR_GUARD is before."""
    bad, looked = [], 0
    for path in sources:
        if path.startswith(("tests/", "base/err.")):
            continue
        text = without_texts(open(path, encoding="utf-8").read())
        kept = set(re.findall(r"(?<!const )\berr \*(\w+);", text))  # members
        uses = [(m.start(), m.group()) for name in kept for m in re.finditer(rf"(->|\.){name}->", text)]
        for function in re.finditer(r"^\w[^;{}#]*\(([^;{}]*)\)[^;{}()]*\n\{\n(.*?)^\}", text, re.M | re.S):
            for name in re.findall(r"(?<!const )\berr \*(\w+)", function.group(1)):
                looked += 1
                start, body = function.start(2), function.group(2)
                guard = body.find(f"ERR_GUARD({name});")
                for use in re.finditer(rf"(?<![\w>.]){name}->|(?<![\w)\]] )(?<![\w)\]])\*{name}\b", body):
                    if guard < 0 or use.start() < guard:
                        uses.append((start + use.start(), use.group()))
        bad += [f"{path}:{text.count(chr(10), 0, at) + 1}: {what}" for at, what in uses]
    tap(looked > 1000 and not bad, f"none of {looked} functions reads through an err * that may be NULL (base/err.h)", bad)


def check_views(sources):
    """A file that ends in a view's table counts as a view in any folder."""
    bad = []
    for path in sources:
        text = open(path, encoding="utf-8").read()
        if re.search(r"^(static )?const struct view_ops \w+ = \{", text, re.M) \
                and re.search(r'#\s*include\s*"[^"]*bench_private\.h"', text):
            bad.append(path)
    tap(not bad, "no view looks into the bench", bad)


# Programs whose output only other programs read: the worker's goes to its driver, the sandbox's to
# its log; firesteel-jupyter tells people only that it is not for them.
OTHER_MAINS = ("cli/worker/worker.c", "cli/worker/packages.c", "cli/worker/serving.c", "cli/sandboxd.c", "cli/jupyter.c")


def check_says(sources):
    bad = []
    for path in sources:
        if not path.startswith("cli/") or path in OTHER_MAINS or path == "cli/say.c":
            continue
        for number, line in enumerate(open(path, encoding="utf-8"), 1):
            if re.search(r"(?<![\w.>])(v?f?printf|f?puts|f?putc|putchar|fwrite)\s*\(", line):
                bad.append(f"{path}:{number}: {line.strip()[:80]}")
    tap(not bad, "what is said to people goes through cli/say.h", bad)


def check_names(sources):
    """Of two tests or texts of one name in a file only the last is there."""
    bad = []
    for path in sources:
        found = collections.Counter()
        for node in ast.parse(open(path, encoding="utf-8").read()).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                found[node.name] += 1
            elif isinstance(node, ast.Assign):
                found.update(target.id for target in node.targets if isinstance(target, ast.Name) and target.id.isupper())
        bad += [f"{path}: {name}" for name, count in found.items() if count > 1]
    tap(not bad, "no name of a test's file is given twice", bad)


def check_mutants():
    """A line that keeps a promise, and is changed by ./check mutants, is where the list has it."""
    sys.path.insert(0, os.path.join(os.getcwd(), "tests", "mutants"))
    import kept
    import table
    bad, count = table.faults(".")
    bad += kept.faults(table.mutants())
    tap(not bad, f"each of {count} mutants applies and has its case (tests/mutants/README.md)", bad)


def check_features():
    """What doc/clusters.md says is proved by a test has that test."""
    import table
    text = open("doc/clusters.md", encoding="utf-8").read()
    rows = re.findall(r"^\|[^|]*\|[^|]*\| ((?:unit|wire|cluster|replay|screen)/.*?) \|$", text, re.M)
    named = [case for row in rows for proof in row.split("; ") for case in proof.split(": ")[1].split(", ")]
    bad = [f"doc/clusters.md: no test has a case {case}" for case in named if not table.case_is_there(".", case)]
    tap(len(named) > 20 and not bad, f"each of {len(named)} cases that doc/clusters.md names is there", bad)


c_files = files(".c", ".h", ".def")
check_layers(c_files)
check_symbols()
check_headers([p for p in c_files if p.endswith(".h")])
check_texts(files(".c", ".h", ".def", ".lua", ".py", ".md", ".build", ".sh"))
check_format([p for p in c_files if not p.endswith(".def")])
check_prints([p for p in c_files if p.endswith(".c")])
check_starts([p for p in c_files if p.endswith(".c")])
check_errors([p for p in c_files if p.endswith(".c")])
check_views([p for p in c_files if p.endswith(".c")])
check_says([p for p in c_files if p.endswith(".c")])
check_names(files(".py"))
check_mutants()
check_features()
print(f"1..{len(tests)}")
sys.exit(0 if all(tests) else 1)
