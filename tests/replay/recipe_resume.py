#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The MNIST recipe when its kernel is killed: no process stays, clean lists what is left, resume continues."""
import glob
import json
import os
import shutil
import signal
import subprocess

from layers import know_worker
from sandbox import sandbox
from tap import FIRESTEEL, PATIENCE, SANITIZED, SOURCE, eventually, processes, run, sh

RECIPE = os.path.join(SOURCE, "recipes", "10-mnist.lua")
ALLOW = ("--allow", "cluster,destructive")
EPOCHS = 2 if SANITIZED else 5
KUBECTL = shutil.which("kubectl")


def home(t):
    folder = t.dir()
    know_worker(f"{folder}/.local/share")
    return {"HOME": folder, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None}


def environment(extra):
    full = dict(os.environ, **{k: v for k, v in extra.items() if v is not None})
    for name in [k for k, v in extra.items() if v is None]:
        full.pop(name, None)
    return full


def start(cwd, env, *options):
    return subprocess.Popen([FIRESTEEL, "run", RECIPE, "--cwd", cwd, *options], env=environment(env),
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, start_new_session=True)


def journal(cwd):
    files = glob.glob(os.path.join(cwd, ".firesteel", "*.jsonl"))
    return files[0] if files else None


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def kernels(cwd):
    return [int(line.split(":")[0]) for line in processes(cwd) if "firesteel-kernel" in line]


def kill_kernel(cwd):
    pids = kernels(cwd)
    assert pids, processes("firesteel")
    # the kernel itself is the guard's child: the guard stays to sweep
    children = [p for p in pids if int(text_of(f"/proc/{p}/stat").rsplit(")", 1)[1].split()[1]) in pids]
    for pid in children or pids:
        os.kill(pid, signal.SIGKILL)


def applications(env):
    done = sh(KUBECTL, "get", "sparkapp", "-A", "-o", "json", env=env)
    assert done.code == 0, done
    return json.loads(done.out)["items"]


def test_killed_after_the_deploy_cell_and_resumed(t):
    env, cwd = home(t), t.dir()
    env = sandbox(t, env)
    process = start(cwd, env, *ALLOW, "-p", f"epochs={EPOCHS}")

    def deployed():
        path = journal(cwd)
        return path and '"k8s.create"' in text_of(path) and applications(env)
    eventually(deployed, 200, 0.2)
    kill_kernel(cwd)
    process.communicate(timeout=30 * PATIENCE)
    assert process.returncode not in (0, None)
    assert eventually(lambda: not processes(cwd), 5)
    first = applications(env)
    assert len(first) == 1, first

    name = os.path.basename(journal(cwd))[:-len(".jsonl")]
    listed = sh(FIRESTEEL, "clean", name, "--dry-run", cwd=cwd, env=env)
    assert listed.code == 0 and "mnist" in listed.out, listed

    done = sh(FIRESTEEL, "run", RECIPE, "--cwd", cwd, "--resume", name, *ALLOW, "-p", f"epochs={EPOCHS}",
              env=env, timeout=400)
    assert done.code == 0, done
    assert "COMPLETED" in done.out and "Model prediction for index 100: 6" in done.out, done
    verified = [line for line in text_of(journal(cwd)).splitlines()
                if '"ledger"' in line and '"verified"' in line and first[0]["metadata"]["uid"] in line]
    assert verified, "the application that was resumed is the first one"
    assert not applications(env)
    empty = sh(FIRESTEEL, "clean", name, "--dry-run", cwd=cwd, env=env)
    assert empty.code == 0 and "SparkApplication" not in empty.out, empty


def test_killed_in_mid_training_leaves_no_process_and_a_journal_that_opens(t):
    env, cwd = home(t), t.dir()
    process = start(cwd, env, "--sandbox", *ALLOW)
    eventually(lambda: journal(cwd) and "/938 - loss" in text_of(journal(cwd)), 60, 0.01)
    kill_kernel(cwd)
    process.communicate(timeout=30 * PATIENCE)
    assert eventually(lambda: not processes(cwd), 5)
    shown = sh(FIRESTEEL, "show", os.path.basename(journal(cwd))[:-6], cwd=cwd, env=env)
    assert shown.code == 0 and "Local mode" in shown.out, shown
    assert sh(FIRESTEEL, "runs", cwd=cwd, env=env).code == 0


def test_clean_removes_what_a_killed_run_left_but_not_from_another_cluster(t):
    env, cwd = home(t), t.dir()
    env = sandbox(t, env)
    process = start(cwd, env, *ALLOW)
    eventually(lambda: applications(env), 200, 0.2)
    kill_kernel(cwd)
    process.communicate(timeout=30 * PATIENCE)
    name = os.path.basename(journal(cwd))[:-len(".jsonl")]

    other = home(t)
    other = sandbox(t, other)
    refused = sh(FIRESTEEL, "clean", name, "--yes", cwd=cwd, env=other)
    assert refused.code == 3, refused
    assert applications(env)

    done = sh(FIRESTEEL, "clean", name, "--yes", cwd=cwd, env=env)
    assert done.code == 0, done
    eventually(lambda: not applications(env), 20)


run(globals())
