#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tables of doc/models.md. Layers, losses, optimizers, schedules and initializers are declared in trainer/nn, and told by a
tool of the build (trainer/words.c); metrics and callbacks that are classes in Lua in script/api/trainer/workerclasses.lua; metrics
and activations that are told by name above their code.

usage: formulapage.py    writes it

A table in a header is a line "// Losses:", and below it entries, indented by three spaces:

//   name, other name  the formula, which may
//                     go on  [its source]
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import BUILD, SOURCE  # noqa: E402 (beside this file)

PAGE = os.path.join(SOURCE, "doc", "models.md")
CLASSES = "script/api/trainer/workerclasses.lua"
# title: files, and the macro that has the names. No file: the tool of the build tells it.
TABLES = {
    "Layers": ([], None),
    "Activations": (["trainer/cpu/activation.h"], "ACTIVATIONS"),
    "Initializers": ([], None),
    "Regularizers": ([], None),
    "Losses": ([], None),
    "Metrics": (["trainer/nn/rule/metric.h", CLASSES], "METRICS"),
    "Optimizers": ([], None),
    "Schedules": ([], None),
    "Callbacks": ([CLASSES, "script/api/trainer/workerapi.lua"], None),
}
HEADINGS = {"Layers": "layer", "Activations": "activation", "Initializers": "initializer", "Regularizers": "regularizer", "Losses": "loss", "Metrics": "metric", "Optimizers": "optimizer",
            "Schedules": "schedule", "Callbacks": "callback"}
ENTRY = re.compile(r"^(?://|--)   (\w+(?:, \w+)*)(?:$|  +(.*)$)")
MORE = re.compile(r"^(?://|--)    +(\S.*)$")


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as f:
        return f.read()


def entries(title):
    """[(names, formula, source, file)] of a table, in its order"""
    found = []
    if not TABLES[title][0]:
        rows = subprocess.run([os.path.join(BUILD, "trainer", "words"), "table"], check=True, capture_output=True, text=True).stdout
        return [(names.split(", "), formula, source, "") for group, names, formula, source in (row.split("\t") for row in rows.splitlines()) if group == title]
    for path in TABLES[title][0]:
        if path.endswith(".lua"):
            found += declared(title, path)
            continue
        mine, inside = [], False
        for line in read(path).split("\n"):
            if line in (f"// {title}:", f"-- {title}:"):
                inside = True
            elif inside and ENTRY.match(line):
                names, text = ENTRY.match(line).groups()
                mine.append([names.split(", "), text or ""])
            elif inside and mine and MORE.match(line):
                mine[-1][1] = (mine[-1][1] + " " + MORE.match(line)[1]).strip()
            else:
                inside = False
        assert mine, f"{path} has no table \"{title}:\""
        for names, text in mine:
            formula, source = re.fullmatch(r"(.*?)(?:\s+\[([^][]*)\])?", text).groups()
            found.append((names, formula, source or "", path))
    return found


def declared(title, path):
    """The same of classes in Lua: those that return a metric; callbacks are named so, or return nothing."""
    rows, head = [], re.compile(r"^    (\w+)[{(](.*?)[)}](?: -> (\w+))? -- .*\n(?:      (?!formula|source).*\n)*      formula: (.*)\n      source: (.*)\n", re.M)
    for name, options, returns, formula, source in head.findall(read(path)):
        log = re.search(r'name="(\w+)"', options)
        if (title == "Metrics") if returns == "metric" else title == "Callbacks" and returns == "" and (path == CLASSES or name.endswith("Callback")):
            rows.append(([name] + ([log[1]] if log else []), formula, source, path))
    return rows


def names_in(macro, path):
    """The names of an X macro: [(name, other name or "", the name whose formula it has or "")]"""
    table = re.search(rf"#define {macro}\(X\)(.*?[^\\])\n", read(path), re.S)[1]
    rows = re.findall(r'X\((\w+),\s*"(\w*)"(?:,\s*\\?\s*(?:"([\w ]*)"|(\w+)))?', table)
    assert len(rows) == table.count("X("), (macro, rows)
    text = {row[0]: row[1] for row in rows}
    return [(row[1], "", text.get(row[3], "")) for row in rows if row[1]]


def problems():
    """What the tables lack, and what they have too much: a list of texts."""
    bad = []
    for title, (paths, macro) in TABLES.items():
        told = [name for names, *_ in entries(title) for name in names]
        bad += [f"{title}: {name} is told twice" for name in set(told) if told.count(name) > 1]
        bad += [f"{title}: {names[0]} has no formula" for names, formula, *_ in entries(title) if not formula]
        bad += [f"{title}: {names[0]} has no source" for names, _, source, _ in entries(title) if not source]
        if not paths:
            continue
        if macro:
            known = names_in(macro, paths[0])
            bad += [f"{paths[0]}: the table \"{title}:\" lacks {name}" for name, _, of in known if name not in told and of not in told]
            bad += [f"{path}: {names[0]} is not in {macro}" for names, _, _, path in entries(title)
                    if path == paths[0] and names[0] not in [name for name, *_ in known]]
    return bad


def other_names(title, names):
    """The names, and the short ones of the macro."""
    paths, macro = TABLES[title]
    more = []
    for name, other, of in names_in(macro, paths[0]) if macro else []:
        more += [other] if name in names and other else []
        more += [name] if of in names and name not in names else []
    return names + more


def table(title):
    found = entries(title)
    lines = [f"| {HEADINGS[title]} | | source |", "|---|---|---|"]
    for names, formula, source, _ in found:
        shown = ", ".join(f"`{name}`" for name in other_names(title, names))
        lines.append(f"| {shown} | {cell(formula)} | {cell(source)} |")
    return "\n".join(lines)


def cell(text):
    return re.sub(r"(?<!\\)\|", r"\\|", text)


def page(text):
    """doc/models.md with its tables made anew: each stands between two comments."""
    for title in TABLES:
        mark = re.compile(rf"(<!-- {title}: tests/support/formulapage.py -->\n).*?(\n<!-- end -->)", re.S)
        assert len(mark.findall(text)) == 1, f"doc/models.md has no place for \"{title}\""
        text = mark.sub(lambda m: m[1] + table(title) + m[2], text)  # noqa: B023 (called at once)
    return text


if __name__ == "__main__":
    with open(PAGE, encoding="utf-8") as old:
        made = page(old.read())
    with open(PAGE, "w", encoding="utf-8") as written:
        written.write(made)
