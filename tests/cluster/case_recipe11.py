# SPDX-License-Identifier: MIT
"""Recipe 11, step by step as it is written, with a trainer that needs only PySpark: real training, on fewer and smaller
images, whose lines are Keras's. (With Keras and Horovod themselves: `./check tensorflow`.)"""
import glob
import json
import os
import re

import tap
from place import NODE, REGISTRY, SPARK, Place, with_spark
from tap import CACHE, SOURCE, Skip

RECIPE = os.path.join(SOURCE, "recipes", "11-mnist-python.lua")
VENV = os.path.join(CACHE, "pyspark")
# Softmax regression on images of 7×7; the ranks are Spark's tasks, and the driver averages their weights.
TRAINER = """
import argparse
import gzip
import math
import os
import time


def images(folder, part, count):
    with gzip.open(os.path.join(folder, part + "-images-idx3-ubyte.gz")) as f:
        pixels = f.read(16 + count * 784)[16:]
    with gzip.open(os.path.join(folder, part + "-labels-idx1-ubyte.gz")) as f:
        labels = f.read(8 + count)[8:]
    rows = []
    for i in range(count):
        x = [sum(pixels[i * 784 + (4 * r + a) * 28 + 4 * c + b] for a in range(4) for b in range(4)) / 4080.0
             for r in range(7) for c in range(7)]
        rows.append((x + [1.0], labels[i]))
    return rows


def forward(weights, x):
    z = [sum(w * v for w, v in zip(row, x)) for row in weights]
    top = max(z)
    e = [math.exp(v - top) for v in z]
    total = sum(e)
    return [v / total for v in e]


def epoch(weights, rows):
    weights = [row[:] for row in weights]
    for _ in range(4):
        loss, good = 0.0, 0
        for x, y in rows:
            p = forward(weights, x)
            loss -= math.log(max(p[y], 1e-12))
            good += p.index(max(p)) == y
            for k in range(10):
                step = 0.5 * (p[k] - (k == y))
                weights[k] = [w - step * v for w, v in zip(weights[k], x)]
    return weights, loss, good, len(rows)


def judge(weights, rows):
    ps = [(forward(weights, x), y) for x, y in rows]
    return (-sum(math.log(max(p[y], 1e-12)) for p, y in ps) / len(ps), sum(p.index(max(p)) == y for p, y in ps) / len(ps))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--data", default="data/mnist")
    args = parser.parse_args()
    from pyspark.sql import SparkSession
    context = SparkSession.builder.appName("mnist").getOrCreate().sparkContext
    test = images(args.data, "t10k", 300)
    folder, ranks = os.path.abspath(args.data), args.ranks
    print("Expected prediction for index 100:", test[100][1])
    shards = context.parallelize(range(ranks), ranks).map(lambda rank: images(folder, "train", 1200)[rank::ranks]).cache()
    weights = [[0.0] * 50 for _ in range(10)]
    for number in range(1, args.epochs + 1):
        if args.epochs > 1:
            print(f"Epoch {number}/{args.epochs}")
        began = time.time()
        done = shards.map(lambda rows: epoch(weights, rows)).collect()
        weights = [[sum(d[0][k][i] for d in done) / ranks for i in range(50)] for k in range(10)]
        total = sum(d[3] for d in done)
        loss, accuracy = judge(weights, test)
        print(f"{total}/{total} - {time.time() - began:.0f}s - loss: {sum(d[1] for d in done) / total:.4f} - accuracy: "
              f"{sum(d[2] for d in done) / total:.4f} - val_loss: {loss:.4f} - val_accuracy: {accuracy:.4f}", flush=True)
    loss, accuracy = judge(weights, test)
    print(f"300/300 - 0s - loss: {loss:.4f} - accuracy: {accuracy:.4f}")
    p = forward(weights, test[100][0])
    print("Model prediction for index 100:", p.index(max(p)))


main()
"""


def with_trainer(text):
    """The recipe's text, with another program in its cell, and what that can reach."""
    body = "".join(f"-- {line}".rstrip() + "\n" for line in TRAINER.strip("\n").split("\n"))
    changed, n = re.subn(r'(-- %% The trainer .*\n)(--.*\n)+', lambda m: m.group(1) + body, text)
    assert n == 1
    changed, n = re.subn(r"at_least\(0\.94\)", "at_least(0.7)", changed)
    assert n == 1
    return changed


def progress(folder):
    """The last progress of each training in the journal."""
    (journal,) = glob.glob(f"{folder}/.firesteel/*.jsonl")
    last = {}
    with open(journal, encoding="utf-8") as f:
        for event in map(json.loads, f):
            data = (event.get("data") or {}).get("application/vnd.firesteel.progress+json")
            if data and data.get("label") == "epoch":  # a push has progress, too
                last[event["id"]] = data
    return [last[i] for i in sorted(last)]


def run_recipe(t, venv, text, *options, venv_beside=None):
    place = with_spark(Place(t, SPARK))
    if venv_beside:
        os.symlink(venv_beside, f"{place.dir}/.venv")
    t.after(lambda: tap.sh(tap.FIRESTEEL, "clean", "--yes", "--context", "admin", cwd=place.dir, env=place.env))
    place.env.update({"VIRTUAL_ENV": venv, "SPARK_LOCAL_IP": NODE, "FIRESTEEL_DATA": f"{SOURCE}/recipes/data"})
    done = place.run(text, "--cwd", place.dir, "--registry", REGISTRY, "-p", "core_request=300m", *options, timeout=1200)
    assert done.code == 0, done
    for text in ("COMPLETED", "Model prediction for index 100: 6"):
        assert text in done.out, (text, done)
    (name,) = re.findall(r"^ +sparkapplication\.sparkoperator\.k8s\.io/(mnist-python-\w+)$", done.out, re.M)
    assert place.find("sparkapplication", name) is None, done
    return place, done


def test_its_mechanics(t):
    if not os.path.exists(f"{VENV}/bin/spark-submit"):
        raise Skip("there is no PySpark in the tests' cache")
    with open(RECIPE, encoding="utf-8") as f:
        place, done = run_recipe(t, VENV, with_trainer(f.read()), "-p", "epochs=2")
    here, there = progress(place.dir)
    assert len(here["history"]) == 1 and here["evaluated"]["accuracy"] > 0.7, here
    assert [e["epoch"] for e in there["history"]] == [1, 2] and there["evaluated"]["accuracy"] > 0.7, there
