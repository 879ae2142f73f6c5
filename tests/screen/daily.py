#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A day at the cluster desk, by keys, against a sandbox: logs of several pods, tables that were looked at, names."""
import base64
import glob
import os
import re

from bench import asked, folder, leave, opens, text, workbench
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


THINGS = """-- %% Made effects="cluster"
k8s.apply { apiVersion = "v1", kind = "Secret", metadata = { name = "login" }, stringData = { user = "somebody", word = "open" .. "-sesame", lines = "one\\ntwo\\n" } }
k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "box" }, spec = { restartPolicy = "Never",
  volumes = { { name = "work", emptyDir = { sizeLimit = "1Mi" } } },
  containers = { { name = "main", image = "host", command = { "sleep", "300" }, ports = { { containerPort = 8080, name = "web" } },
    env = { { name = "LEVEL", value = "3" }, { name = "PASSWORD", value = "not-shown" },
            { name = "WORD", valueFrom = { secretKeyRef = { name = "login", key = "word" } } } },
    volumeMounts = { { name = "work", mountPath = "/work", readOnly = true } } } } } }
k8s.wait { k8s.get("pods", "box"), "jsonpath={.status.phase}=Running", timeout = "30s" }
print("all" .. " made")
"""


def test_what_is_in_a_pod(t):
    with made(t, THINGS) as s:
        opens(s, "pods", "pods in default", "1/1")
        s.keys("i")
        s.wait("containers of box")
        assert rows(s, "main +true +Running"), text(s)
        s.keys("i")
        s.wait("container main of box")
        shown = text(s)
        for pattern in ("command +sleep 300", "port +web +8080/TCP", "env +LEVEL +3", r"env +PASSWORD +\[secret\]",
                        "env +WORD +secret login, key word", r"volume +work +/work \(read-only\) +emptyDir"):
            assert re.search(pattern, shown), (pattern, shown)
        assert "open-sesame" not in shown and "not-shown" not in shown, shown
        s.keys("q q q q")


def test_the_values_of_a_secret_are_shown_after_a_question_and_kept_nowhere(t):
    with made(t, THINGS) as s:
        opens(s, "secrets", "Opaque")
        s.keys("X")
        asked(s, "show the values of Secret login")
        s.keys("n")
        s.wait("● idle")
        assert "open-sesame" not in text(s), text(s)
        s.keys("X")
        asked(s, "show the values of")
        s.keys("y")
        s.wait("values of secret login")
        for part in ("user: somebody", "word: open-sesame", "lines: |", "  two"):
            s.wait(part)
        s.keys("q")
        s.gone("open-sesame")
        s.keys("q q")
    for root, _, names in os.walk(os.path.join(s.where, ".firesteel")):
        for name in names:
            with open(os.path.join(root, name), "rb") as f:
                assert b"open-sesame" not in f.read(), name


def test_nodes_are_cordoned_and_jobs_suspended(t):
    with made(t, """-- %% Made effects="cluster"
k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "pi" }, spec = { template = { spec = { restartPolicy = "Never",
  containers = { { name = "c", image = "host", command = { "sleep", "300" } } } } } } }
print("all" .. " made")
""") as s:
        opens(s, "jobs", "jobs in default", "pi")
        opens(s, "pause")
        asked(s, "suspend Job pi in namespace default", "+  suspend: true")
        s.keys("y")
        s.gone("May this be done?")
        s.wait("Suspended")
        opens(s, "pause", "nothing was changed")
        opens(s, "resume")
        asked(s, "resume Job pi")
        s.keys("n")
        s.gone("May this be done?")
        opens(s, "cordon", "this table has no cordon")
        s.keys("q q")


def test_images_are_set(t):
    with made(t) as s:
        opens(s, "pods", "pods in default", "web-10")
        opens(s, "set image x=other:2", "pod web-1 has no container x; it has c=host")
        opens(s, "set image c=other:2")
        asked(s, "set the image of Pod web-1 to c=other:2", "-    image: host", "+    image: other:2")
        s.keys("n")
        s.gone("May this be done?")
        s.keys("* :")
        s.type("set image other:3")
        s.keys("Enter")
        asked(s, "set the image of 3 objects", "Pod default/web-10")
        s.keys("n")
        s.gone("May this be done?")
        opens(s, "set volume", "set image CONTAINER=IMAGE")
        s.keys("q q")


def test_a_command_of_ones_own(t):
    config = os.path.join(t.dir(), "own.yaml")
    with open(config, "w", encoding="utf-8") as f:
        f.write("commands:\n  shown:\n    run: [echo, 'it is $NAME of $NAMESPACE', '${KIND}', $$HOME]\n    kinds: pods\n    key: D\n"
                "  wrong: { run: 'echo $WHAT' }\n  fails: { run: 'sh -c exit${NAMESPACE}' }\n")
    with made(t, env={"FIRESTEEL_CONFIG": config}) as s:
        opens(s, "pods", "pods in default", "web-10")
        opens(s, "shown")
        asked(s, "run `echo it is web-1 of default Pod $HOME` for Pod web-1 in")
        s.keys("y")
        s.wait("it is web-1 of default Pod $HOME")
        s.wait("-- Enter goes back --")
        s.keys("Enter")
        s.wait("echo has ended")
        s.keys("j D")
        asked(s, "run `echo it is web-2")
        s.keys("n")
        s.gone("May this be done?")
        opens(s, "wrong", "there are $NAME, $NAMESPACE")
        opens(s, "cm", "configmaps in default")
        opens(s, "shown", "shown is for other rows")
        s.keys("q q")


def test_what_a_sandbox_cannot_do_is_said_before_it_is_asked(t):
    with made(t, THINGS) as s:
        opens(s, "pods", "pods in default", "1/1")
        s.keys("F")
        s.wait(":forward")
        s.keys("Enter")
        s.wait("forwards no ports of pods")
        assert "May this be done?" not in text(s), text(s)
        s.keys("f")
        s.wait("forwarded ports")
        s.wait("nothing here yet")
        s.keys("q")
        opens(s, "who", "roles and their bindings are read")
        s.keys("q q")


run(globals())
