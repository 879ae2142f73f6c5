#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The MNIST recipe as a user runs it: headless, in a sandbox, from the trainer to the clean-up."""
import glob
import json
import os
import re
import shutil
import subprocess

from layers import know_worker
from tap import BUILD, FIRESTEEL, PATIENCE, SANITIZED, SOURCE, Skip, eventually, processes, run, sh

RECIPE = os.path.join(SOURCE, "recipes", "10-mnist.lua")
ALLOW = ("--allow", "cluster,destructive")
QUICK = ("-p", "epochs=1", "-p", "executors=2")
OUTPUTS = {"trainer.lua", "requirements.txt", "checkpoint.safetensors", "sparkapp.yaml", ".firesteel"}


def recipe(cwd, *options, timeout=400, **rest):
    return sh(FIRESTEEL, "run", RECIPE, "--cwd", cwd, *options, timeout=timeout, **rest)


def home(test):
    """An environment for this test alone: it leaves nothing in the user's home."""
    folder = test.dir()
    know_worker(f"{folder}/.local/share")
    return {"HOME": folder, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None,
            "KUBECONFIG": None}


def journal_of(cwd):
    files = glob.glob(os.path.join(cwd, ".firesteel", "*.jsonl"))
    assert len(files) == 1, files
    return files[0]


def records(cwd):
    with open(journal_of(cwd), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def nothing_left(cwd):
    assert eventually(lambda: not processes(cwd), 5), processes(cwd)
    left = set(os.listdir(cwd)) - OUTPUTS
    assert not left, left


def test_from_the_trainer_to_the_clean_up(t):
    cwd, env = t.dir(), home(t)
    env["TMPDIR"], env["FIRESTEEL_RUNTIME_DIR"] = t.dir(), t.dir()
    done = recipe(cwd, "--sandbox", *ALLOW, *QUICK, env=env)
    assert done.code == 0, done
    for text in ("Expected prediction for index 100: 6", "Model prediction for index 100: 6",
                 "COMPLETED"):
        assert text in done.out, (text, done)
    line = re.search(r"938/938 - \d+s - loss: \d\.\d{4} - accuracy: \d\.\d{4} - val_loss: \d\.\d{4}"
                     r" - val_accuracy: (\d\.\d{4}) - lr: 0\.0010", done.out)
    assert line and float(line.group(1)) >= 0.945, done
    nothing_left(cwd)
    assert os.listdir(env["FIRESTEEL_RUNTIME_DIR"]) == []
    again = sh(FIRESTEEL, "run", "--from", "newest", *ALLOW, cwd=cwd, env=env, timeout=400)
    assert again.code == 0 and " 0 moved, " in again.out and '"What happened"' not in again.out.split("compared with")[1], again
    assert not os.listdir(env["TMPDIR"]), os.listdir(env["TMPDIR"])


def test_pods_as_plain_processes(t):
    """Where users may make no namespaces, as here, where there is no bubblewrap."""
    cwd, env, tools = t.dir(), home(t), t.dir()
    for name in ("sh", "uname", "env", "cat"):
        os.symlink(shutil.which(name), f"{tools}/{name}")
    env["PATH"] = tools
    done = recipe(cwd, "--sandbox", *ALLOW, *QUICK, env=env)
    assert done.code == 1 and done.out == "" and "bubblewrap is not installed" in done.err, done
    done = recipe(cwd, "--sandbox=processes", *ALLOW, *QUICK, env=env)
    assert done.code == 0 and "Model prediction for index 100: 6" in done.out and "of context firesteel-sandbox-processes" in done.out, done
    nothing_left(cwd)
    assert recipe(cwd, "--sandbox=pods", *ALLOW, env=env).code == 2


def test_without_allow_nothing_has_happened(t):
    cwd = t.dir()
    done = recipe(cwd, "--sandbox", *QUICK, env=home(t))
    assert done.code == 3, done
    assert "--allow" in done.err + done.out, done
    assert set(os.listdir(cwd)) <= {".firesteel"}, os.listdir(cwd)


def test_three_executors_and_a_report(t):
    cwd = t.dir()
    report = os.path.join(cwd, "out.ipynb")
    done = recipe(cwd, "--sandbox", *ALLOW, "-p", "executors=3", "-p", "epochs=1", "--report", report,
                  "-o", "json", env=home(t))
    assert done.code == 0, done
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events[0]["type"] == "run" and events[-1]["type"] == "end", (events[0], events[-1])
    with open(report, encoding="utf-8") as f:
        notebook = json.load(f)
    assert notebook["nbformat"] == 4
    text = json.dumps(notebook)
    assert "Model prediction for index 100: 6" in text
    token = [e for e in events if "token" in json.dumps(e).lower() and "client" in json.dumps(e)]
    assert not token, token


def test_two_at_once_in_their_own_folders(t):
    if SANITIZED:
        raise Skip("no fault of memory would show here that one run alone does not have")
    env = dict(os.environ, **{k: v for k, v in home(t).items() if v})
    env.pop("KUBECONFIG", None)
    started = []
    for _ in range(2):
        cwd = t.dir()
        started.append((cwd, subprocess.Popen(
            [FIRESTEEL, "run", RECIPE, "--cwd", cwd, "--sandbox", *ALLOW, *QUICK], env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)))
    for cwd, process in started:
        out, _ = process.communicate(timeout=600 * PATIENCE)
        assert process.returncode == 0, out
        nothing_left(cwd)


def test_as_an_ordinary_user_from_a_read_only_folder(t):
    if os.getuid() != 0:
        user = []
    else:
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    folder, own = t.dir(), t.dir()
    os.chmod(folder, 0o755)
    shutil.copy(RECIPE, folder)
    os.chmod(os.path.join(folder, "10-mnist.lua"), 0o444)
    os.chmod(folder, 0o555)
    if user:
        os.chown(own, 65534, 65534)
    env = {"HOME": own, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None, "KUBECONFIG": None,
           "TMPDIR": None, "FIRESTEEL_RUNTIME_DIR": f"{own}/run"}
    done = sh(*user, FIRESTEEL, "run", os.path.join(folder, "10-mnist.lua"), "--sandbox", *ALLOW, *QUICK,
              cwd="/", env=env, timeout=400)
    assert done.code == 0, done
    assert os.listdir(folder) == ["10-mnist.lua"]
    assert own in done.out + done.err, done  # the working folder is reported


def test_the_convolutional_network(t):
    cwd, steps, least = t.dir(), *((10, 20) if SANITIZED else (60, 85))
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "20-mnist-cnn.lua"), "--cwd", cwd, "-p", "epochs=1",
              "-p", f"steps={steps}", env=home(t), timeout=300)
    assert done.code == 0, done
    reached = re.search(r"(\d\d\.\d\d) % of the test set after 1 epochs", done.out)
    assert reached and float(reached.group(1)) > least, done
    assert re.search(r"conv2d_1 \(Conv2D\) +│ \(None, 11, 11, 64\) +│ +18,?496", done.out), done
    assert os.path.exists(os.path.join(cwd, "cnn.safetensors"))


def test_pictures_are_classified_on_one_rank_and_on_two(t):
    """Each of two ranks classifies its half; the classes come back in the order that one rank has."""
    small = ["-p", "network=ResNet18", "-p", "size=48", "-p", "images=10", "-p", "steps=1", "-p", "train_batch=2", "-p", "classes=7"]
    said = []
    for ranks in (1, 2):
        done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "22-resnet50.lua"), "--cwd", t.dir(), *small, "-p", f"np={ranks}",
                  env=home(t), timeout=300)
        assert done.code == 0, done
        assert re.search(r"inference: \d+\.\d\d images/s", done.out) and re.search(r"training: \d+\.\d\d images/s", done.out), done
        said.append(re.search(r"classes of the first pictures: ((\d+ ?){8})", done.out).group(1))
    assert said[0] == said[1], said


def test_training_that_survives(t):
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "23-elastic.lua"), "--cwd", t.dir(), env=home(t), timeout=400)
    assert done.code == 0, done
    sizes = re.search(r"ranks by epoch: ([\d ]+)", done.out).group(1)
    assert re.fullmatch("3 3 2( 2)*( 3)+", sizes.strip()) and len(sizes.split()) == 8, done
    assert re.search(r"accuracy: 0\.97\d+$", done.out, re.M), done


def test_the_sales_of_stores(t):
    if SANITIZED:
        raise Skip("frames, embeddings and fit have tests of their own; 3 epochs of it take ten minutes")
    cwd = t.dir()
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "21-sales.lua"), "--cwd", cwd, env=home(t), timeout=500)
    assert done.code == 0, done
    rmspe, mean = map(float, re.search(r"RMSPE (0\.\d+); mean of store and weekday (0\.\d+)", done.out).groups())
    assert 0.04 < rmspe < 0.9 * mean < 0.3, done
    assert re.search(r"emb_Store \(Embedding\) +│ \(None, 1, 10\) +│ +210", done.out), done
    with open(os.path.join(cwd, "tables", "test.csv"), encoding="utf-8") as f:
        wanted = [line.split(",")[0] for line in f.read().splitlines()]

    def predicted():
        with open(os.path.join(cwd, "submission.csv"), encoding="utf-8") as f:
            rows = [line.split(",") for line in f.read().splitlines()]
        assert [row[0] for row in rows] == wanted and rows[0][1] == "Sales", rows[:3]
        return [float(row[1]) for row in rows[1:]]
    first = predicted()
    assert all(500 < sales < 60000 for sales in first), first[:9]
    if not os.path.exists(os.path.join(BUILD, "trainer", "dist", "firesteel-mpi.so")):
        return
    worker = os.path.join(BUILD, "cli", "firesteel-worker")
    ranks = sh(worker, "--np", "2", "sales.lua", "--epochs=1", "--batch-size=500", cwd=cwd, timeout=200)
    assert ranks.code == 0 and "[1,0]<stdout>:15/15 - " in ranks.out, ranks
    assert predicted() != first


run(globals())
