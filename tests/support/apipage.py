#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of the Lua API, made of what the functions tell of themselves (script/api/core/api.lua).

usage: apipage.py    writes doc/api.md
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import FIRESTEEL, SOURCE, private_folder, sh  # noqa: E402 (beside this file)

PAGE = os.path.join(SOURCE, "doc", "api.md")
HEAD = """\
# The Lua API

What cells can call, and what trainer files can. `help(k8s.create)`, `help "k8s.create"` and the line `k8s.create?` show the same in a
cell, Tab and Shift-Tab where it is typed. Each example is run by a test. This page is made of the texts beside the functions
([adding-a-binding.md](adding-a-binding.md)): `tests/support/apipage.py` writes it, and the test `lint/api` fails when it is old.

An option that a function does not have, or of another type, is an error at the line of the call. Types: `duration` is a number of seconds or a
text such as `"30s"`, `"10m"`; `list` is `{a, b}`; several types have a `|` between them. Lua's own library is there, too: `io` and `os` without what would end
or block the kernel.
"""


def entries():
    """(what is told, the names of public functions of which nothing is told)"""
    folder = private_folder()
    with open(os.path.join(folder, "api.lua"), "w", encoding="utf-8") as f:
        f.write('local told, untold = firesteel.api()\n'
                'io.open("api.json", "w"):write(firesteel.json { told = told, untold = firesteel.array(untold) }):close()\n')
    done = sh(FIRESTEEL, "run", "api.lua", cwd=folder, env={"XDG_STATE_HOME": folder})
    assert done.code == 0, done
    with open(os.path.join(folder, "api.json"), encoding="utf-8") as f:
        found = json.load(f)
    return found["told"], found["untold"]


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def section_of(entry):
    return entry["name"].replace(":", ".").split(".")[0]


def function(e):
    lines = [f"### `{e['signature']}`" + (f" → {e['returns']}" if e.get("returns") else ""), "", e.get("words", "")]
    told = [o for o in e["options"] if o.get("words")]
    if told:
        lines += ["", "| option | type | default | |", "|---|---|---|---|"]
        for o in told:
            default = f"`{cell(o['default'])}`" if o.get("default") else ""
            lines.append(f"| `{o['name']}` | {cell(o['kind'])} | {default} | {cell(o['words'])} |")
    for key in ("formula", "source", "result", "errors", "effect"):
        if e.get(key):
            lines += ["", f"{key.capitalize()}: {e[key].rstrip('.')}."]
    if e.get("example"):
        lines += ["", "```lua", e["example"], "```"]
    return lines + [""]


def section(name, told):
    head = next((e for e in told if e["name"] == name and e["kind"] in ("module", "type")), None)
    lines = [f"## {name}" + (" (type)" if head and head["kind"] == "type" else ""), ""]
    if head and head.get("words"):
        lines += [head["words"], ""]
    values = [e for e in told if e["kind"] not in ("module", "type", "function")]
    if values:
        lines += ["| value | type | |", "|---|---|---|"]
        lines += [f"| `{e['name']}` | {e['kind']} | {cell(e.get('words', ''))} |" for e in values] + [""]
    for e in told:
        if e["kind"] == "function":
            lines += function(e)
    return lines


def part(title, told):
    names = list(dict.fromkeys(section_of(e) for e in told))
    alone = [n for n in names if all(e["name"] == n and e["kind"] == "function" for e in told if section_of(e) == n)]
    lines = [f"# {title}", ""]
    for e in told:
        if section_of(e) in alone:
            lines += function(e)
    for name in names:
        if name not in alone:
            lines += section(name, [e for e in told if section_of(e) == name])
    return lines


def page(told):
    lines = part("Cells", [e for e in told if not e["trainer"]]) + part("Trainer files", [e for e in told if e["trainer"]])
    return HEAD + "\n" + "\n".join(lines).rstrip("\n") + "\n"


if __name__ == "__main__":
    with open(PAGE, "w", encoding="utf-8") as page_file:
        page_file.write(page(entries()[0]))
