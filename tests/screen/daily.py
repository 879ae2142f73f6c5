#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A day at the cluster desk, by keys, against a sandbox: logs of several pods, tables that were looked at, names."""
import base64
import glob
import os
import re

from bench import folder, leave, opens, text, workbench
from tap import run

PODS = """-- %% Made effects="cluster"
for _, n in ipairs { 1, 2, 10 } do
  k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "web-" .. n, labels = { app = "web" } }, spec = { restartPolicy = "Never",
    containers = { { name = "c", image = "host", command = { "sh", "-c", "echo start " .. n .. "; sleep 0.2; echo later " .. n .. "; exec sleep 300" } } } } }
end
for _, n in ipairs { 1, 2, 10 } do k8s.wait { k8s.get("pods", "web-" .. n), "jsonpath={.status.phase}=Running", timeout = "30s" } end
print("all" .. " made")
"""


def made(t, source=PODS, **options):
    where = folder(t, source)
    s = workbench(where, "--sandbox", "small.lua", seconds=10, **options)
    s.where = where
    s.keys("C-e")
    s.wait("may it do this?")
    s.keys("a")
    s.wait("│ all made")
    return s


def rows(s, pattern):
    """What the pattern finds, row by row."""
    return [found.group(0) for found in (re.search(pattern, row) for row in s.screen()) if found]


def test_names_are_in_natural_order(t):
    with made(t) as s:
        opens(s, "pods", "pods in default", "web-10")
        s.wait("3 rows")
        assert rows(s, r"web-\d+") == ["web-1", "web-2", "web-10"], text(s)
        s.keys("q q")


def test_logs_of_marked_pods_are_merged(t):
    with made(t) as s:
        opens(s, "pods", "pods in default", "web-10")
        s.keys("/")
        s.type("web-1")
        s.keys("Enter * l")
        s.wait("logs of 2 rows")
        for part in ("web-1/c | start 1", "web-1/c | later 1", "web-10/c | start 10", "web-10/c | later 10"):
            s.wait(part)
        seen = rows(s, r"\| (start|later) \d+")
        assert max(seen.index("| start 1"), seen.index("| start 10")) < min(seen.index("| later 1"), seen.index("| later 10")), \
            "by time: " + text(s)
        assert "web-2" not in text(s), text(s)
        s.keys("q")
        s.wait("2 marked")
        s.keys("q q")


def test_a_log_is_read_anew_with_other_options(t):
    with made(t) as s:
        opens(s, "pods", "pods in default", "web-10")
        s.keys("l")
        s.wait("later 1")
        s.keys("t")
        s.wait("Z start 1")
        assert rows(s, r"\d{4}-\d\d-\d\dT[\d:.]+Z later 1"), text(s)
        s.keys("t")
        s.gone("Z start 1")
        s.wait("later 1")
        s.keys("5")
        s.wait("web-1/c (since 30m)")
        s.wait("start 1")
        opens(s, "logs --tail=1", "(the last 1 lines)", "later 1")
        s.gone("start 1")
        s.keys("1")
        s.wait("start 1")
        s.gone("the last 1 lines")
        opens(s, "logs --tail=some", '--tail is a number of lines, and not "some"')
        opens(s, "logs --what", "--what: no such option")
        s.keys("p")
        s.wait("previous terminated container")  # there is none, which the server says
        s.keys("q q q")


def test_the_lines_that_are_shown_are_saved(t):
    with made(t) as s:
        opens(s, "pods", "pods in default", "web-10")
        s.keys("* l")
        s.wait("later 10")
        s.wait("later 2")
        s.keys("&")
        s.type("later")
        s.keys("Enter")
        s.wait("of 6")
        s.keys("S")
        s.wait("3 lines saved to logs-of-3-rows-")
        saved = glob.glob(os.path.join(s.where, "logs-of-3-rows-*.log"))
        assert len(saved) == 1 and os.stat(saved[0]).st_mode & 0o777 == 0o600, saved
        with open(saved[0], encoding="utf-8") as f:
            lines = sorted(line.split(" | ")[1].strip() for line in f)
        assert lines == ["later 1", "later 10", "later 2"], lines
        s.keys("q q q")


def test_back_and_forward_among_tables(t):
    with made(t) as s:
        opens(s, "pods", "pods in default", "web-10")
        s.keys("[")
        s.wait("no table was looked at before")
        s.keys("/")
        s.type("web-2")
        s.keys("Enter")
        opens(s, "cm kube-public", "configmaps in kube-public")
        opens(s, "nodes", "  nodes")
        s.keys("[")
        s.wait("configmaps in kube-public")
        s.keys("[")
        s.wait("pods in default")
        s.wait("3 rows")
        s.keys("]")
        s.wait("configmaps in kube-public")
        opens(s, "secrets", "secrets in default")
        s.keys("]")
        s.wait("no table comes after this one")
        s.keys("[ [")
        s.wait("pods in default")
        s.keys("q q q q q")


def test_names_are_copied(t):
    log = os.path.join(t.dir(), "sent")
    with made(t, log=log) as s:
        opens(s, "pods", "pods in default", "web-10")
        s.keys("j c")
        s.wait("copied the name (5 bytes)")
        s.keys("Space Space c")
        s.wait("copied the names (12 bytes)")
        s.keys("q")
        s.wait("COMMAND")
        leave(s)
    with open(log, "rb") as f:
        sent = f.read()
    both = [base64.b64encode(words) for words in (b"web-2\nweb-10", b"web-10\nweb-2")]
    assert b"\x1b]52;c;" + base64.b64encode(b"web-2") in sent and any(b"\x1b]52;c;" + words in sent for words in both)


run(globals())
