#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`:sandbox` in the workbench: a kernel gets a sandbox of its own, and nothing is between two clusters."""
import json
import os
import time

from bench import folder, kernels, kill_kernel, leave, opens, sandbox_of, workbench
from sandbox import sandbox
from tap import FIRESTEEL, eventually, run, sh

NOTEBOOK = """-- %% Where
print("sandbox", k8s.version().sandbox)

-- %% Make effects="cluster"
made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" } }

-- %% Table
k8s.watch("configmaps")

-- %% Slow
sh "sleep 60"
"""
THERE = "the sandbox is there: cells and tables go to it now"
NOWHERE = {"KUBECONFIG": "/nonexistent"}



def asked(s, *texts):
    """The question of a cell."""
    for part in ("may it do this?", *texts):
        s.wait(part)
    time.sleep(0.8)


def first_of(where):
    """The records of the newest run."""
    shown = sh(FIRESTEEL, "runs", "-o", "json", cwd=where)
    return json.loads(shown.out)[0]


def test_a_kernel_without_a_cluster_gets_one(t):
    where = folder(t, NOTEBOOK)
    with workbench(where, env=NOWHERE, seconds=8) as s:
        opens(s, "sandbox", THERE, "sandbox/default")
        opens(s, "sandbox", "this kernel has its sandbox already")
        assert sandbox_of(where) and "its sandbox" in kernels(where)[0]
        s.keys("C-r")
        s.wait("sandbox true")
        s.keys("C-e")
        asked(s, "create ConfigMap made", "(the run's own sandbox)")
        s.keys("y")
        s.wait("[2] Make")
        leave(s)
    with workbench(where, "--sandbox", "small.lua", env=NOWHERE) as s:  # it has what is asked for
        s.wait("[2] Make")
        s.wait("joined ")
        opens(s, "stop")
        s.exit()
    left = sh(FIRESTEEL, "clean", "--dry-run", cwd=where, env=NOWHERE)
    assert "ConfigMap" not in left.out, "it went with the sandbox: " + left.out
    assert '"sandbox":true' in json.dumps(first_of(where)).replace(" ", ""), first_of(where)


def test_a_restart_and_a_killed_kernel_keep_it(t):
    where = folder(t, NOTEBOOK)
    with workbench(where, env=NOWHERE, seconds=8) as s:
        opens(s, "sandbox processes", THERE)
        first = sandbox_of(where)
        s.keys("0 0")
        s.wait("restarted")
        s.keys("g g C-e")
        s.wait("sandbox true")
        second = eventually(lambda: sandbox_of(where))
        assert second != first
        s.keys("C-s")
        s.wait("saved /")
        kill_kernel(where)
        s.wait("● gone")
        s.keys("0 0")
        s.wait("● idle")
        s.keys("g g C-e")
        s.wait("sandbox true")
        s.keys("j C-e")
        asked(s, "firesteel-sandbox-processes")
        s.keys("n")
        leave(s)


def test_after_an_effect_elsewhere_the_kernel_stays_there(t):
    env = sandbox(t)
    where = folder(t, NOTEBOOK)
    with workbench(where, env=env, size="160x24", seconds=8) as s:
        s.keys("j C-e")
        asked(s, "create ConfigMap made")
        s.keys("y")
        s.wait("[1] Make")
        opens(s, "sandbox", "this kernel has had an effect elsewhere already (create ConfigMap made")
        assert sandbox_of(where) is None and "its sandbox" not in kernels(where)[0]
        s.keys("0 0")
        time.sleep(0.8)
        s.keys("y")
        s.wait("restarted")
        opens(s, "sandbox", THERE)
        s.keys("C-e")
        asked(s, "create ConfigMap made", "(the run's own sandbox)")  # the name is free there
        s.keys("n")
        leave(s)


def test_nothing_is_between_two_clusters(t):
    env = sandbox(t)
    where = folder(t, NOTEBOOK)
    with workbench(where, env=env, size="160x24", seconds=8) as s:
        s.keys("G C-e")
        s.wait("[*] Slow")
        opens(s, "sandbox", "a cell runs: a sandbox can be started when it has ended")
        s.keys("C-c")
        s.wait("● idle")
        s.keys("k C-e")
        s.wait("[●]")
        opens(s, "sandbox", "something is live from the cluster that the kernel has now")
        s.keys("D")
        s.gone("●] Table")
        opens(s, "pods", "pods in default")
        opens(s, "sandbox", "something is live from the cluster")
        s.keys("q")
        s.wait("COMMAND")
        opens(s, "sandbox", THERE)
        s.keys("g g C-e")
        s.wait("sandbox true")
        leave(s)


def test_who_may_make_no_namespaces_is_told_the_other_way(t):
    where, programs = folder(t, NOTEBOOK), t.dir()
    with open(os.path.join(programs, "bwrap"), "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\nexit 1\n")
    os.chmod(f.name, 0o755)
    env = dict(NOWHERE, PATH=programs + ":" + os.environ["PATH"])
    with workbench(where, env=env, size="160x24", seconds=8) as s:
        opens(s, "sandbox", ":sandbox processes runs pods as plain processes; pods of images do not run here")
        assert sandbox_of(where) is None
        opens(s, "sandbox processes", THERE)
        opens(s, "sandbox other", "sandbox, or sandbox processes")
        leave(s)


def test_who_only_looks_starts_none(t):
    where = folder(t, NOTEBOOK)
    with workbench(where, env=NOWHERE, seconds=8) as s:
        with workbench(where, "--read-only", "small.lua", env=NOWHERE, seconds=8) as other:
            other.wait("joined ")
            opens(other, "sandbox", "this is only looked at")
            other.keys("q")
            other.exit()
        assert sandbox_of(where) is None
        leave(s)


run(globals())
