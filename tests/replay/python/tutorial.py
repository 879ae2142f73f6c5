#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tutorial's notebook in Python, as a stranger's file, as Colab exports it, and through `import firesteel`: whole, detached, killed and resumed."""
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


def colab(folder):
    """The notebook as Colab exports it: nbformat 4.0, ids and more in the metadata of cells, outputs of another machine."""
    with open(KUBECTL_FORM, encoding="utf-8") as f:
        book = json.load(f)
    for i, cell in enumerate(book["cells"]):
        del cell["id"]
        cell["metadata"] = {"id": f"kY3x{i:02}Bq_tP"}
        if cell["cell_type"] == "code":
            cell["metadata"] |= {"colab": {"base_uri": "https://localhost:8080/", "height": 35}, "outputId": f"0c9e5f1a-9f0e-4f5c-f7a2-{i:012}"}
            cell |= {"execution_count": i, "outputs": [{"output_type": "stream", "name": "stdout", "text": ["of another machine\n"]}]}
    book |= {"nbformat_minor": 0, "metadata": {"accelerator": "GPU", "colab": {"name": "tutorial.ipynb", "provenance": [], "toc_visible": True, "gpuType": "T4"},
                                               "kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}}
    path = os.path.join(folder, "tutorial.ipynb")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(book, f, indent=2)
    return path


def test_as_colab_exports_it_detached_killed_and_resumed(t):
    env, folder = {**surroundings(t), **sandbox(t)}, t.dir()
    book = colab(folder)
    done = firesteel(folder, "run", book, *ALLOW, "--detach", "--report", "out.ipynb", env=env)
    assert done.code == 0, done
    name = done.out.strip()
    done = firesteel(folder, "wait", name, env=env)
    assert done.code == 0, done
    shown = firesteel(folder, "show", name, env=env).out
    assert "16 cells ok" in shown and "Model prediction for index 100: 6" in shown and "of another machine" not in shown, shown
    with open(os.path.join(folder, "out.ipynb"), encoding="utf-8") as f:
        saved = f.read()
    assert "Model prediction for index 100: 6" in saved and "of another machine" not in saved, saved
    folder, name = killed(t, book, env, "job state at attempt 0")
    done = firesteel(folder, "run", book, "--cwd", folder, "--resume", name, *ALLOW, env=env)
    assert done.code == 3 and "its programs have used the cluster" in done.out and "--redo" in done.out, done


def test_made_a_notebook_in_lua(t):
    folder = t.dir()
    done = firesteel(folder, "convert", KUBECTL_FORM, "--adopt", "-o", "lua.lua")
    assert done.code == 0 and "2 of 16 cells with code are Lua" in done.err, done
    done = firesteel(folder, "run", "lua.lua", "--sandbox", "--allow", "cluster", env=surroundings(t))
    assert done.code == 0 and "16 cells ok" in done.out and "Model prediction for index 100: 6" in done.out, done


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
