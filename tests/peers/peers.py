#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The trainer beside Keras, PyTorch and pandas, which it installs: golden numbers made again, three models step by step, tables.

usage: peers.py [golden] [tables] [models] [pretrained] [ranks] [recipes]

golden  runs what made tests/unit/trainer/golden*.h and tests/unit/worker/golden_examples.lua again, by Keras on JAX and on PyTorch:
        outputs and gradients of layers and activations, losses, optimizers, metrics, schedules. Both and the committed numbers, and those
        and our own, may be 1e-5 apart; 1e-4 for public examples, which train for a dozen steps.
tables  what pandas reads of the dialects in tests/replay/dialects.py is what stands there; scikit-learn's own files are read as pandas does.
models  an MLP, a CNN and a model for tables, from the same weights and with the same batches: losses of the first 10 steps may
        be 1e-4 apart, and after 100 steps our weights no further from Keras's than PyTorch's are.
pretrained  random weights of Keras's ResNet50 and MobileNet, and of torchvision's ResNets, loaded: outputs may be 1e-5 apart.
ranks   the same models on 1, 2, 3 and 4 ranks (the table's without BatchNormalization): 1e-4 apart.
recipes 20 in full: 98.5 % of the test set after two epochs at least; and 21: RMSPE below that of the mean of store and weekday.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.environ.get("FIRESTEEL_SOURCE", os.path.dirname(os.path.dirname(HERE)))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(SOURCE, "build"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
PYTHON = os.path.join(CACHE, "peers", "bin", "python")
FIRESTEEL = os.path.join(BUILD, "cli", "firesteel")
WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
UNIT = os.path.join(SOURCE, "tests", "unit")
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")
SECTIONS = ["golden", "tables", "models", "pretrained", "ranks", "recipes"]
failed = []


def row(what, figure, allowed, fine):
    print(f"{what:58} {figure:>10} {allowed:>10}  {'ok' if fine else 'FAILED'}", flush=True)
    if not fine:
        failed.append(what)


def difference(what, figure, allowed):
    row(what, f"{figure:.1e}", f"{allowed:.0e}", figure <= allowed)


def output(*argv, cwd=None, **more):
    done = subprocess.run(argv, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **more})
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def golden():
    for path, allowed in (("trainer/golden.h", 1e-5), ("trainer/golden_graph.h", 1e-5), ("worker/golden_examples.lua", 1e-4)):
        name = os.path.basename(path)
        with open(os.path.join(UNIT, path), encoding="utf-8") as f:
            committed = f.read()
        for backend, peer in (("jax", "Keras now"), ("torch", "Keras on PyTorch")):
            fresh = output(PYTHON, os.path.join(UNIT, os.path.splitext(path)[0] + ".py"), KERAS_BACKEND=backend)
            a, b = NUMBER.findall(committed), NUMBER.findall(fresh)
            row(f"{name}, {peer}: numbers, and what stands around", len(a), len(b), NUMBER.sub("#", committed) == NUMBER.sub("#", fresh))
            difference(f"{name}: committed, {peer}", max(abs(float(x) - float(y)) / (1 + abs(float(y))) for x, y in zip(a, b)), allowed)
    for name in ("golden", "graph_golden"):
        program = os.path.join(BUILD, "tests", "unit", "trainer", "test_trainer_" + name)
        said = subprocess.run([program], capture_output=True, text=True, check=False)
        cases = len(re.findall(r"^ok ", said.stdout, re.M))
        row(f"trainer/{name}: cases within 1e-5 of them", cases, len(re.findall(r"^(?:not )?ok ", said.stdout, re.M)), said.returncode == 0)


def tables():
    *wrong, count = output(PYTHON, os.path.join(HERE, "tables.py"), WORKER).splitlines()
    for line in wrong:
        print(line)
    row("tables: dialects and files that pandas reads the same", int(count) - len(wrong), count, not wrong)


def trained(kind, ranks, steps, folder):
    os.makedirs(folder)
    said = output(WORKER, os.path.join(HERE, "models.lua"), kind, str(ranks), str(steps), cwd=folder)
    with open(os.path.join(folder, "losses"), "w", encoding="ascii") as f:
        f.write(said)
    return [float(line) for line in said.split()]


def models(folder):
    for kind in ("mlp", "cnn", "table"):
        place = os.path.join(folder, kind)
        trained(kind, 1, 100, place)
        got = json.loads(output(PYTHON, os.path.join(HERE, "beside.py"), kind, place))
        first = {peer: max(abs(a - b) for a, b in zip(got["ours"][:10], got[peer][:10])) for peer in ("keras", "torch")}
        difference(f"{kind}: losses of 10 steps, Keras", first["keras"], 1e-4)
        difference(f"{kind}: losses of 10 steps, PyTorch", first["torch"], 1e-4)
        row(f"{kind}: weights after 100 steps, Keras (allowed: PyTorch's)", f"{got['ours_keras']:.1e}", f"{got['keras_torch']:.1e}",
            got["ours_keras"] <= got["keras_torch"] and got["ours_keras"] < 0.01 * got["moved"])


def pretrained(folder):
    os.makedirs(folder)
    output(PYTHON, os.path.join(HERE, "pretrained.py"), folder)
    for line in output(WORKER, os.path.join(HERE, "pretrained.lua"), cwd=folder).splitlines():
        name, apart = line.split("\t")
        difference(f"{name}: outputs with its weights", float(apart), 1e-5)


def ranks(folder):
    for kind in ("mlp", "cnn", "plain table"):
        one = trained(kind, 1, 20, os.path.join(folder, f"{kind} 1"))
        for n in (2, 3, 4):
            many = trained(kind, n, 20, os.path.join(folder, f"{kind} {n}"))
            difference(f"{kind}: losses of 20 steps, {n} ranks and 1", max(abs(a - b) for a, b in zip(one, many)), 1e-4)


def recipes(folder):
    def said(name):
        place = os.path.join(folder, name)
        os.makedirs(place)
        return output(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", name + ".lua"), "--cwd", place, XDG_STATE_HOME=place)

    share = float(re.search(r"([\d.]+) % of the test set", said("20-mnist-cnn"))[1])
    row("20-mnist-cnn: % of the test set after two epochs", share, 98.5, share >= 98.5)
    rmspe, mean = map(float, re.search(r"RMSPE (0\.\d+); mean of store and weekday (0\.\d+)", said("21-sales")).groups())
    row("21-sales: RMSPE, and that of the mean of store and weekday", rmspe, mean, rmspe < 0.9 * mean)


def main():
    wanted = sys.argv[1:] or SECTIONS
    if set(wanted) - set(SECTIONS):
        print(__doc__.strip())
        return 0 if wanted[0] in ("-h", "--help") else 2
    if set(wanted) - {"ranks", "recipes"} and subprocess.run([os.path.join(HERE, "install"), CACHE], check=False).returncode:
        print("the suite peers needs Keras, JAX, PyTorch and pandas, and they could not be installed (above)")
        return 1
    print(f"{'':58} {'found':>10} {'allowed':>10}")
    with tempfile.TemporaryDirectory() as folder:
        if "golden" in wanted:
            golden()
        if "tables" in wanted:
            tables()
        if "models" in wanted:
            models(os.path.join(folder, "models"))
        if "pretrained" in wanted:
            pretrained(os.path.join(folder, "pretrained"))
        if "ranks" in wanted:
            ranks(os.path.join(folder, "ranks"))
        if "recipes" in wanted:
            recipes(os.path.join(folder, "recipes"))
    print(f"{len(failed)} failed" if failed else "all within what is allowed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
