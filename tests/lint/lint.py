#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rules of the house that a compiler does not know, as TAP: layers, headers, texts.

usage: lint.py SOURCE_ROOT [CC…]
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = sys.argv[1]
CC = sys.argv[2:] or ["cc"]
os.chdir(ROOT)

# folder -> the folders (longest prefix wins) it may include from, besides itself and base.
LAYERS = {
    "base": [],
    "base/loop": ["base"],
    "script/notebook": [],
    "script/journal": ["script/notebook"],
    "script/protocol": ["script/journal"],
    "script/kernel": ["base/loop", "script/embed.h", "script/notebook", "script/journal", "script/protocol"],
    "script/bind": ["base/loop", "script/kernel/effects/binding.h", "k8s/net", "k8s/client", "k8s/manifest",
                    "k8s/image"],
    "script/lib": [],
    "script/worker": ["base/loop", "script/embed.h", "trainer"],
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
    "k8s/sandbox/spark": ["base/loop", "k8s/sandbox/store", "k8s/sandbox/nodes"],
    "trainer": ["base/loop"],
    "tui/grid": [],
    "tui/edit": ["tui/grid/utf8.h"],
    "tui/syntax": ["tui/grid"],
    "tui/term": ["base/loop", "tui/grid", "tui/edit/key.h"],
    "tui/part": ["tui/grid", "tui/edit", "tui/syntax", "script/journal/spool.h",
                 "script/journal/text.h"],
    "tui/view": ["tui/grid", "tui/edit", "tui/syntax", "tui/part", "script/notebook", "script/journal",
                 "script/protocol", "base/loop"],
}
# protocol's client and server speak over the loop
LAYERS["script/protocol"].append("base/loop")
# a library's header -> the one folder (or file) that may name it
OWNERS = {
    "uv.h": "base/loop/", "curl/curl.h": "k8s/net/", "mpi.h": "trainer/dist/",
    "yaml.h": "base/yaml.c", "microhttpd.h": "k8s/sandbox/api/http.c", "curses.h": "tui/term/",
    "ncurses.h": "tui/term/",
}
LUA_FOLDERS = ("script/kernel/", "script/worker/", "script/lib/", "cli/", "tests/")

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
    tap(not foreign_lua, "Lua is named in the kernel and the worker only", foreign_lua)


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
                  and not p.startswith(("recipes/", "tests/fuzz/corpus", "tests/data/"))
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
    tap(not bad, "no path of a machine, no note to self", bad)


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


c_files = files(".c", ".h", ".def")
print("1..8")
check_layers(c_files)
check_headers([p for p in c_files if p.endswith(".h")])
check_texts(files(".c", ".h", ".def", ".lua", ".py", ".md", ".build", ".sh"))
check_format([p for p in c_files if not p.endswith(".def")])
check_prints([p for p in c_files if p.endswith(".c")])
sys.exit(0 if all(tests) else 1)
