#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""doc/ci.md: its YAML parses, its scripts too, and each option that it names is one; the pre-commit hook finds mistakes."""
import os
import re

from tap import BUILD, FIRESTEEL, SOURCE, run, sh

with open(os.path.join(SOURCE, "doc", "ci.md"), encoding="utf-8") as f:
    PAGE = f.read()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.M | re.S)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def test_its_yaml_parses(t):
    blocks = [text for kind, text in BLOCKS if kind == "yaml"]
    assert len(blocks) == 4, len(blocks)
    folder = t.dir()
    for i, text in enumerate(blocks):
        plain = re.sub(r"\{\{[^{}]*\}\}", "x", text)  # what the CI fills in; check takes it for another tool's template
        body = "".join("-- " + line + "\n" for line in plain.split("\n"))
        write(folder, "n.lua", f'-- %% file="ci-{i}.yaml" language="yaml"\n{body}')
        done = sh(FIRESTEEL, "check", "n.lua", cwd=folder)
        assert done.code == 0, (text, done)


def test_its_scripts_parse(t):
    scripts = [text for kind, text in BLOCKS if kind == "bash"]
    scripts += [re.sub(r"\{\{.*?\}\}", "x", re.sub(r"^ +", "", text, flags=re.M))
                for _, block in BLOCKS for text in re.findall(r"\|\n((?: {10,}.*\n)+)", block) if "firesteel" in text]
    assert len(scripts) >= 4, scripts
    for script in scripts:
        done = sh("bash", "-n", input=script)
        assert done.code == 0, (script, done)


def test_each_option_is_one(t):
    lines = PAGE.replace("\\\n", " ").replace("\n      --report", " --report")
    commands = re.findall(r"firesteel ((?:run|check|clean|doctor|export|prune|wait|convert) [^`#;|&\n)]*)", lines)
    assert len(commands) >= 18, commands
    known = {}
    for command in commands:
        verb, *words = command.split()
        if verb not in known:
            known[verb] = set(re.findall(r"^ *(?:(-\w), )? *(--[a-z-]+)", sh(FIRESTEEL, verb, "--help").out, re.M))
        options = {name for pair in known[verb] for name in pair if name}
        for word in words:
            if word.startswith("-"):
                assert word.split("=")[0] in options, (command, word, options)


def test_the_hook_finds_a_mistake(t):
    with open(os.path.join(SOURCE, ".pre-commit-hooks.yaml"), encoding="utf-8") as f:
        hook = dict(re.findall(r"^[- ] (\w+): (.*)$", f.read(), re.M))
    assert hook["id"] == "firesteel-check" and hook["language"] == "system", hook
    assert re.search(hook["files"], "a/b.lua") and re.search(hook["files"], "b.ipynb") and not re.search(hook["files"], "b.luac")
    folder = t.dir()
    write(folder, "good.lua", "-- %%\nprint(1)\n")
    write(folder, "bad.lua", "-- %% Broken\nx = = 1\n")
    env = {**os.environ, "PATH": os.path.join(BUILD, "cli") + ":" + os.environ["PATH"]}
    entry = hook["entry"].split()
    assert sh(*entry, "good.lua", cwd=folder, env=env).code == 0
    done = sh(*entry, "good.lua", "bad.lua", cwd=folder, env=env)
    assert done.code == 2 and "bad.lua:2: cell 1 (Broken)" in done.out, done


run(globals())
