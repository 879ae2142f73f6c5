#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tables of a cluster as they look, of any kind, in a narrow and in a wide terminal: golden screens
(support/golden.py) of a sandbox that has pods in trouble, a job, events and custom resources."""
import os
import signal

from bench import folder, sandbox_of, workbench
from golden import golden
from tap import eventually, run

KINDS = """-- %% Make effects="cluster"
local function pod(name, script, policy, image)
  k8s.apply { apiVersion = "v1", kind = "Pod", metadata = { name = name },
    spec = { restartPolicy = policy, containers = { { name = "main", image = image or "host",
      command = { "sh", "-c", script } } } } }
end
for i = 1, 34 do pod(("web-%02d"):format(i), "while sleep 1; do :; done", "Never") end
pod("zz-fails", "exit 7", "Never")
pod("zz-image", "exit 3", "Never", "nowhere.example/none:1")
k8s.apply { apiVersion = "batch/v1", kind = "Job", metadata = { name = "train" }, spec = { suspend = true, completions = 3,
  template = { spec = { restartPolicy = "Never", containers = { { name = "main", image = "host" } } } } } }
local function event(name, type, reason, message, at)
  k8s.apply { apiVersion = "v1", kind = "Event", metadata = { name = name, labels = { own = "yes" } }, type = type,
    reason = reason, message = message, involvedObject = { kind = "Pod", name = "web-01", namespace = "default" },
    firstTimestamp = at, lastTimestamp = at }
end
event("a.1", "Warning", "Because", "it was so", "2026-01-02T03:04:05Z")
event("a.2", "Normal", "Thereafter", "and it went on like that, for a message that is longer than a narrow screen has room",
  os.date "!%Y-%m-%dT%H:%M:%SZ")
k8s.apply [[
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: app}
spec: {type: Python, mode: cluster, image: x, sparkVersion: 3.5.7, suspend: true, mainApplicationFile: "local:///x.py",
  driver: {cores: 1, memory: 1g}, executor: {cores: 1, instances: 2, memory: 1g}}
]]

-- %% Sick
k8s.watch("pods", { sick_first = true })

-- %% Jobs
k8s.watch("jobs", { all_namespaces = true })

-- %% Nodes
k8s.watch "nodes"

-- %% Applications
k8s.watch "sparkapp"

-- %% Events
k8s.watch("events", { selector = "own=yes" })
"""
MASKS = [
    (r"\b(\d+[smhd]){1,2} ?\b *", "AGE "),
    (r"firesteel-sandbox +", "NODE "),
    (r"\d{4}-\d\d-\d\dT[\d:]+Z?", "INSTANT"),
    (r"(?i)\buid: +[\w-]+( -(\w+-)*HASH)?", "uid: UID"),
    (r"(?<=ago) +|(?<=STATE) +|(?<=Age) +|(?<=----) +(?=----)", " "),  # as wide as ages are long
    (r"(?i)resource ?version: +\S+", "resourceVersion: N"),
    (r"controller-uid=\S+( …)?", "controller-uid=UID"),  # cut where ages are long
    (r"(?<=this machine  )\d\S*", "KERNEL"),
    (r"v\d\S*-firesteel\S*|v1\.\d+\S*", "VERSION"),
]


def made(t, size):
    where = folder(t, KINDS)
    s = workbench(where, "small.lua", "--sandbox", size=size, seconds=40)
    s.where = where
    s.keys("C-e")
    s.wait("may it do this?")
    s.keys("a")
    s.wait("[1] Make")
    s.wait("idle")
    return s


def opened(s, cell, *waits):
    """Runs the n-th cell after the first, and opens its table."""
    s.keys(" ".join(["g", "g", *["j"] * cell, "C-e"]))
    s.wait(waits[0])
    s.keys("O")
    s.wait("table ")
    for wait in waits:
        s.wait(wait)


def looks(t, size):
    columns = size.split("x")[0]

    def look(name):
        golden(s, f"{name}-{columns}", MASKS)

    with made(t, size) as s:
        s.keys("g g j C-e")
        for wait in ("ImagePullBackOff", "exit 7", *(["34 Running"] if columns == "120" else [])):
            s.wait(wait)  # the summary is below what 24 rows show
        look("sick")
        s.keys("O")
        s.wait("worst first: 1 ")
        look("worst")
        s.keys("/")
        s.type("^(web-0[1-3]|zz-.*)$")
        s.wait("5 of 36")
        look("filter")
        s.keys("C-u")
        s.type("(zz")
        s.wait("as it stands")
        look("filter-wrong")
        s.keys("C-u")
        s.type("zz-image")
        s.wait("1 of 36")
        s.keys("Enter l")
        s.wait("zz-image/main")  # whose log it is
        s.wait("it has not started yet: ImagePullBackOff: Back-off pulling image")
        look("peek-log")
        s.keys("q / C-u Up")
        s.wait("1 of 36")  # what was typed before
        s.keys("C-u")
        s.type("zz-fails")
        s.wait("1 of 36")
        s.keys("Enter d")
        s.wait("Why:          exit 7")
        look("describe")
        s.keys("q y")
        s.wait("kind: Pod")
        look("yaml")
        s.keys("/")
        s.type("image|name:")
        s.keys("Enter n")
        s.wait(" 2 of ")
        look("search")
        s.keys("q :")
        s.type("so")
        s.wait("sort-reverse")
        look("table-palette")
        s.keys("Esc q")  # at once, though a filter stands
        s.wait("COMMAND")
        opened(s, 2, "0/3")
        look("jobs")
        s.keys("q")
        opened(s, 3, "Ready")
        look("nodes")
        s.keys("q")
        opened(s, 4, "ATTEMPTS", "app")
        look("applications")
        s.keys("q")
        opened(s, 5, "it was so", "2 rows")
        look("events")
        s.keys("d")
        s.wait("describe a.2")
        s.wait("Name: ")
        s.keys("P")
        s.wait("it stays below the cell")
        s.keys("q q")
        s.wait("COMMAND")
        s.keys("PgDn PgDn PgDn")
        look("pinned")
        s.keys("O")
        s.wait("2 rows")
        os.kill(eventually(lambda: sandbox_of(s.where)), signal.SIGKILL)
        s.wait(" old")
        look("away")
        before = age_of(s)
        eventually(lambda: age_of(s) != before)  # ages go on while nobody answers
        s.keys("q q")


def age_of(s):
    return next(row.split()[0] for row in s.screen() if "Thereafter" in row)


def test_tables_in_80_columns(t):
    looks(t, "80x24")


def test_tables_in_120_columns(t):
    looks(t, "120x40")


run(globals())
