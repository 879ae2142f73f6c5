#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tutorial's notebook in Python, as a stranger's file and through `import firesteel`: whole, killed and resumed."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import ENV, firesteel, needs_kernels  # noqa: E402 (beside the tests above)
from sandbox import find_kubectl, sandbox  # noqa: E402
from tap import FIRESTEEL, SOURCE, eventually, run  # noqa: E402

KUBECTL_FORM, OUR_FORM = (os.path.join(SOURCE, "recipes", f"11-tutorial{form}.ipynb") for form in ("", "-2"))
ALLOW = ("--allow", "cluster,destructive")


def surroundings(t):
    needs_kernels()
    return {**ENV, "PATH": os.path.dirname(find_kubectl()) + ":" + os.environ["PATH"], "HOME": t.dir()}


def journal(folder):
    return os.path.join(folder, ".firesteel", sorted(n for n in os.listdir(os.path.join(folder, ".firesteel")) if n.endswith(".jsonl"))[0])


def killed(t, book, env, words):
    """A run whose kernel is killed when its journal has these words: (its folder, its name)."""
    folder = t.dir()
    process = subprocess.Popen([FIRESTEEL, "run", book, "--cwd", folder, *ALLOW], env={**os.environ, **env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def said():
        with contextlib.suppress(OSError, IndexError), open(journal(folder), encoding="utf-8") as f:
            return re.search(words, f.read())
    assert eventually(said, 60)
    for pid in [int(n) for n in os.listdir("/proc") if n.isdigit()]:
        with contextlib.suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "firesteel-kernel" and folder.encode() in open(f"/proc/{pid}/cmdline", "rb").read():
                os.kill(pid, signal.SIGKILL)
    process.wait(60)
    return folder, os.path.basename(journal(folder))[:-6]


def test_as_it_was_written(t):
    folder = t.dir()
    env = surroundings(t)
    with open(KUBECTL_FORM, encoding="utf-8") as f:
        assert not any(c["metadata"] for c in json.load(f)["cells"]), "nothing of ours"
    done = firesteel(folder, "run", KUBECTL_FORM, "--cwd", folder, "--sandbox", "--allow", "cluster", "--report", "out.ipynb", env=env)
    assert done.code == 0 and "16 cells ok" in done.out, done
    for words in ("job state at attempt 0:", ": COMPLETED", "SparkApplicationCompleted", "Model prediction for index 100: 6", '" deleted'):
        assert words in done.out, (words, done)
    done = firesteel(folder, "run", KUBECTL_FORM, "--cwd", folder, "--sandbox", env=env)
    assert done.code == 3 and "--allow cluster" in done.out, done


def test_through_firesteel(t):
    folder = t.dir()
    done = firesteel(folder, "run", OUR_FORM, "--cwd", folder, "--sandbox", *ALLOW, env=surroundings(t))
    assert done.code == 0 and "7 cells ok" in done.out and "expectation" not in done.out, done
    assert done.out.count("Model prediction for index 100: 6") == 2, done


def test_a_killed_run_does_not_create_twice(t):
    env = {**surroundings(t), **sandbox(t)}
    folder, name = killed(t, KUBECTL_FORM, env, "job state at attempt 0")
    done = firesteel(folder, "run", KUBECTL_FORM, "--cwd", folder, "--resume", name, *ALLOW, env=env)
    assert done.code == 3 and "its programs have used the cluster" in done.out and "--redo" in done.out, done


def test_a_killed_run_through_firesteel_goes_on(t):
    env = {**surroundings(t), **sandbox(t)}
    folder, name = killed(t, OUR_FORM, env, '"k8s.create".*"outcome"|"binding":"k8s.create"(.|\n)*"phase":"outcome"')
    done = firesteel(folder, "run", OUR_FORM, "--cwd", folder, "--resume", name, *ALLOW, env=env)
    assert done.code == 0 and "Model prediction for index 100: 6" in done.out, done
    with open(journal(folder), encoding="utf-8") as f:
        effects = [e for e in map(json.loads, f) if e.get("type") == "ledger" and e.get("binding") == "k8s.create"]
    assert len(effects) == 1, effects


run(globals())
