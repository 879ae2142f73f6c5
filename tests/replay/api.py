#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples of the API: each runs, and ends by printing what it says after -->. And help, and the checks of options."""
import os

from apipage import entries
from kernel import Kernel, Result
from sandbox import sandbox
from tap import run

# What examples speak of.
THERE = """
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "settings" }, data = { color = "blue" } }
k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "count" }, spec = { template = { spec = { restartPolicy = "Never",
  containers = { { name = "count", image = "host", command = { "seq", "3" } } } } } } }
k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "hello" }, spec = { restartPolicy = "Never",
  containers = { { name = "hello", image = "host", command = { "echo", "hello" } } } } }
k8s.create { apiVersion = "sparkoperator.k8s.io/v1beta2", kind = "ScheduledSparkApplication", metadata = { name = "nightly" },
  spec = { schedule = "0 3 * * *", template = { type = "Python", mode = "cluster", sparkVersion = "3.5.7", image = "spark", mainApplicationFile = "local:///main.py",
    driver = { cores = 1 }, executor = { cores = 1 } } } }
k8s.wait { k8s.get("pods", "hello"), "jsonpath={.status.phase}=Succeeded", timeout = "30s" }
"""

# Examples that need what the sandbox does not have, and what it says then. tests/cluster tries them.
ABSENT = {**{name: 'no kind "deployments"' for name in ("k8s.scale", "handle:scale", "k8s.restart", "handle:restart", "k8s.rollout_undo", "k8s.set_image")},
          **{name: 'no kind "cronjobs"' for name in ("k8s.suspend", "k8s.resume", "k8s.trigger")},
          **{name: 'nodes "node1" not found' for name in ("k8s.cordon", "k8s.uncordon", "k8s.drain")},
          "k8s.quota": 'no kind "ResourceQuota"', "k8s.claim": 'no kind "PersistentVolumeClaim"',
          **{name: "this server has no Deployments" for name in ("fn:serve", "served:url", "served:predict", "served:metadata", "served:metrics", "served:delete")},
          **{verb: "has ended (Succeeded)" for verb in ("k8s.exec", "handle:exec", "k8s.attach", "handle:attach", "k8s.cp", "k8s.port_forward",
                                                        "handle:port_forward")},
          "flow:submit": "no kind Workflow", "flow:template": "no kind WorkflowTemplate", "flow:cron": "no kind CronWorkflow"}

told, _ = entries()


def expected(example):
    return [line.split("--> ", 1)[1].strip() for line in example.splitlines() if "--> " in line]


def shown(result):
    """What an example printed, and the value of its last line."""
    return [line.rstrip() for line in (result.out + (result.value or "")).splitlines()]


def answered(k, example):
    """Runs an example; what it asks is answered."""
    cell = k.insert(example)
    k.start(cell)
    ended = ("ok", "failed")
    event = k.wait(lambda e: e.get("cell") == cell and (e["type"] == "ask" or e["type"] == "state" and e["state"] in ended))
    if event["type"] == "ask":
        k.send(type="answer", ask=event["ask"], value="0.1")
    k.done(cell)
    return Result(k, cell)


def check(entry, result, bad):
    want = expected(entry["example"])
    if entry["name"] in ABSENT:
        if not result.error or ABSENT[entry["name"]] not in result.error["message"]:
            bad.append(f"{entry['name']}: the sandbox has it: {result}")
        return
    if result.state != "ok" or (want and shown(result)[-len(want):] != want):
        bad.append(f"{entry['name']}: {result}, {shown(result)} for {want}")


def test_examples_of_cells_run(t):
    k = Kernel(t, "", "--allow", "cluster,destructive", env=sandbox(t))
    made = k.run(THERE)
    assert made.state == "ok", made
    bad, ran = [], 0
    for entry in told:
        if entry.get("example") and not entry["trainer"]:
            check(entry, answered(k, entry["example"]), bad)
            ran += 1
    assert not bad, "\n" + "\n".join(bad)
    assert ran == sum(1 for e in told if e.get("example") and not e["trainer"])


def test_examples_of_trainer_files_run(t):
    k = Kernel(t, "")
    bad = []
    for entry in told:
        if not entry.get("example") or not entry["trainer"]:
            continue
        with open(os.path.join(k.cwd, "trainer.lua"), "w", encoding="utf-8") as f:
            f.write('local nn, data, hvd = require "nn", require "data", require "hvd"\n' + entry["example"])
        check(entry, k.run('job = trainer.run { "trainer.lua" }'), bad)
    assert not bad, "\n" + "\n".join(bad)


def test_help_is_the_same_wherever_it_is_asked_for(t):
    k = Kernel(t, "")
    text = k.run("help(run.metric)").out
    assert text.startswith("run.metric(name, value, {step=})\nRecords a number") and "example:" in text, text
    assert k.run("help 'run.metric'").out == text and k.run("run.metric?").out == text and k.run("?run.metric").out == text
    assert k.run("m = run.metric\nhelp(m)").out == text
    assert k.run("nn.Adam??").out.startswith("nn.Adam{learning_rate=0.001")
    assert k.run("model:fit?").out.startswith("model:fit{x, y, batch_size=32")
    r = k.run("\nk8s.creat?")
    assert r.error["message"] == "nothing is told of k8s.creat; did you mean k8s.create?" and r.error["line"] == 2, r
    said = shown(k.run("run.metric"))
    assert said == text.splitlines()[:2] + ["help(run.metric) tells more"], said
    listed = k.run("help()").out
    assert "\n  run " in listed and "\n  sh " in listed and "k8s" in listed, listed
    assert "Only trainer cells and trainer files have nn, data and hvd" in listed, listed


def test_help_calls_things_by_their_names(t):
    k = Kernel(t, "")
    text = k.run("help(json)").out
    assert "\njson.array(table) " in text and "firesteel." not in text, text
    for kind, method in ("handle", "handle:reaches(state, timeout)  Waits "), ("expectation", "expectation:equals(other)  Equal"):
        text = k.run(f"help '{kind}'").out
        assert f"\n  {method}" in text, text
    assert k.run("help(print)").out.startswith("print(…)\n") and k.run("help(string.rep)").out.startswith("string.rep(…)\n")
    assert k.run("help { 1 }").out.startswith("value: ")
    for name in "nn", "data", "hvd":
        assert f"{name}." in k.run(f"help '{name}'").out, name


def wrong(k, source, message):
    r = k.run("\n" + source)
    assert r.error and r.error["message"] == message and r.error["line"] == 2, (source, r)


def test_options_have_types(t):
    k = Kernel(t, "")
    wrong(k, "run.metric('x', 1, { stp = 1 })", "run.metric has no option stp; did you mean step?")
    wrong(k, "run.metric('x', 1, { step = 'one' })", 'run.metric: step must be an integer, not "one"')
    wrong(k, "sh('true', { check = 'no' })", 'sh: check must be true or false, not "no"')
    wrong(k, "sh { 'true', env = 'A=b' }", 'sh: env must be a table, not "A=b"')
    wrong(k, "sh('true', true)", "sh expects its options in a table, not a boolean")


run(globals())
