#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resnet.py: networks for pictures in turn with PyTorch (channels_last, oneDNN, bf16 by autocast), pinned: images per second, medians,
the ratio pair by pair, and each process's peak memory. The rows "ranks" are two ranks of ours, a core for each, beside one rank on one
core, and then beside PyTorch's two threads with as many pictures. All rows take a quarter of an hour.

usage: resnet.py [-n RUNS] [-r ROW[,ROW…]] [--seconds S] [--size PIXELS] [--cpu]

-r: rows whose names begin so ("train8", "cnn-bf16"); default: all. --cpu counts seconds of the processor, not of the clock, for a machine
that does something else, too. PyTorch comes from $FIRESTEEL_PYTHON, or from $FIRESTEEL_CACHE/peers (tests/peers/install)."""
import argparse
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
PEERS = os.path.join(ROOT, "tests", "peers")
PYTHON = os.environ.get("FIRESTEEL_PYTHON", os.path.join(CACHE, "peers", "bin", "python"))
WORKER = os.path.join(BUILD, "cli", "firesteel-worker")

# name, what runs, batch, threads, type of numbers. cnn: MNIST 32-64-pool-128, an epoch has 60,000 images.
ROWS = [(f"{what}{batch}-{kind}-{threads}", what, batch, threads, kind)
        for what, batch, threads, kinds in [
            ("cnn", 64, 1, ("f32", "bf16")), ("cnn", 64, 2, ("f32", "bf16")),
            ("train", 8, 1, ("f32", "bf16")), ("train", 8, 2, ("f32", "bf16")), ("train", 32, 2, ("f32", "bf16")),
            ("ranks", 8, 2, ("f32", "bf16")), ("predict", 32, 1, ("f32", "bf16")), ("predict", 32, 2, ("f32", "bf16"))]
        for kind in kinds]

OURS = """
local hvd = require "hvd"
local function measure(size, threads, mode, n, kind, limit, clock)
local nn, data, hvd = require "nn", require "data", require "hvd"
hvd.init()
local dtype = kind == "bf16" and "mixed_bfloat16" or "float32"
local function seconds()
  return clock == "cpu" and os.clock() or tonumber(io.open("/proc/uptime"):read "n")
end
local y, x, model = {}
for i = 1, n do y[i] = i % 10 end
y = data.tensor(y, { dtype = "i64" })
if mode == "cnn" then
  x = nn.ops.full({ n, 28, 28, 1 }, 0.5)
  model = nn.Sequential { dtype = dtype, nn.Input { 28, 28, 1 }, nn.Conv2D { 32, 3, activation = "relu" }, nn.Conv2D { 64, 3, activation = "relu" },
    nn.MaxPooling2D { 2 }, nn.Flatten {}, nn.Dense { 128, activation = "relu" }, nn.Dense { 10, activation = "softmax" } }
  model:compile { optimizer = nn.Adam { 0.001 }, loss = "sparse_categorical_crossentropy", threads = threads }
else
  x = nn.ops.full({ n, size, size, 3 }, 0.5)
  model = nn.applications.ResNet50 { variant = "torchvision", input_shape = { size, size, 3 }, dtype = dtype }
  local sgd = nn.SGD { 0.001, momentum = 0.9 }
  model:compile { optimizer = hvd.size() > 1 and hvd.DistributedOptimizer(sgd) or sgd, loss = "sparse_categorical_crossentropy", threads = threads }
end
local function step()
  if mode == "predict" then model:predict(x, { batch_size = n }) else model:train_on_batch(x, y) end
end
step()
local began, steps = seconds(), 0
repeat
  step()
  steps = steps + 1
until hvd.broadcast_object(seconds() - began > limit, 0) -- all ranks make as many steps
return { steps * n * hvd.size() / (seconds() - began), tonumber(io.open("/proc/self/status"):read "a":match "VmHWM:%s*(%d+)") / 1024 }
end
local ranks = tonumber(arg[8])
local result = hvd.run(measure, { np = ranks, args = { tonumber(arg[1]), tonumber(arg[2]), arg[3], tonumber(arg[4]), arg[5], tonumber(arg[6]), arg[7] } })
local rate, memory = 0, 0
for i = 1, ranks do rate, memory = rate + result[i][1] / ranks, memory + result[i][2] end
print("images/s", rate)
print("MB", memory)
"""

THEIRS = """
import contextlib, resource, sys, time
sys.path.insert(0, sys.argv[8])
import torch
from resnet_torch import ResNet
size, threads, mode, n, kind, limit, clock = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), sys.argv[5], float(sys.argv[6]), sys.argv[7]
seconds = time.process_time if clock == "cpu" else time.perf_counter
torch.set_num_threads(threads)
nn = torch.nn
if mode == "cnn":
    x = torch.full((n, 1, 28, 28), 0.5)
    model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128),
                          nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), 0.001)
else:
    x = torch.full((n, 3, size, size), 0.5)
    model = ResNet([3, 4, 6, 3], True, 1000)
    optimizer = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9)
x, model = x.to(memory_format=torch.channels_last), model.to(memory_format=torch.channels_last)
y = torch.arange(n) % 10
loss = nn.CrossEntropyLoss()
def cast():
    return torch.autocast("cpu", torch.bfloat16) if kind == "bf16" else contextlib.nullcontext()
if mode == "predict":
    model.eval()
    with torch.inference_mode(), cast(), torch.jit.optimized_execution(True):
        try: # traced and frozen is its fastest
            model = torch.jit.freeze(torch.jit.trace(model, x))
        except Exception as problem:
            print("not traced:", problem, file=sys.stderr)
def step():
    if mode == "predict":
        with torch.inference_mode(), cast():
            model(x)
    else:
        optimizer.zero_grad()
        with cast():
            of = loss(model(x), y)
        of.backward()
        optimizer.step()
step()
if mode == "predict": # the first call of a frozen trace profiles, the second compiles
    step()
began, steps = seconds(), 0
while not steps or seconds() - began < limit:
    step()
    steps += 1
print("images/s", steps * n / (seconds() - began))
print("MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def figures(argv, threads):
    cores = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[-threads:])
    done = subprocess.run(["taskset", "-c", cores, *argv], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{argv[0]}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return [float(re.search(rf"{what}\s+([\d.]+)", done.stdout).group(1)) for what in ("images/s", "MB")]


def show(name, contestant, runs):
    rate, memory = statistics.median(r[0] for r in runs), max(r[1] for r in runs)
    epoch = f"{60000 / rate:7.1f} s an epoch" if name.startswith("cnn") else ""
    print(f"{name:18} {contestant:10} {rate:9.2f} images/s {memory:7.0f} MB {epoch}", flush=True)


def given(o, what, threads, batch, kind):
    return [str(o.size), str(threads), what, str(batch), kind, str(o.seconds), "cpu" if o.cpu else "clock"]


def measure(row, o, script, peer):
    name, what, batch, threads, kind = row
    ranks = 2 if what == "ranks" else 1
    ours, theirs, alone = [], [], []
    for _ in range(o.n):
        if ranks > 1:
            alone.append(figures([WORKER, script, *given(o, what, 1, batch, kind), "1"], 1))
        ours.append(figures([WORKER, script, *given(o, what, threads // ranks, batch, kind), str(ranks)], threads))
        if peer:
            theirs.append(figures([PYTHON, "-c", THEIRS, *given(o, what, threads, batch * ranks, kind), PEERS], threads))
    if alone:
        show(name, "one rank", alone)
        print(f"{name:18} {'ranks':10} {statistics.median(a[0] / b[0] for a, b in zip(ours, alone)):9.2f}", flush=True)
    show(name, "firesteel", ours)
    if not peer:
        return
    show(name, "PyTorch", theirs)
    ratio = statistics.median(a[0] / b[0] for a, b in zip(ours, theirs))
    print(f"{name:18} {'ratio':10} {ratio:9.2f}          {max(a[1] for a in ours) / max(b[1] for b in theirs):7.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("-r", default="")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--cpu", action="store_true")
    o = parser.parse_args()
    rows = [row for row in ROWS if row[0].startswith(tuple(o.r.split(",")))]
    if not rows:
        parser.error(f"no row begins with {o.r}; there are: {' '.join(row[0] for row in ROWS)}")
    peer = os.path.exists(PYTHON)
    if not peer:
        print(f"no PyTorch at {PYTHON}: tests/peers/install makes it")
    script = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"resnet-{os.getpid()}.lua")
    with open(script, "w", encoding="utf-8") as f:
        f.write(OURS)
    try:
        for row in rows:
            measure(row, o, script, peer)
    finally:
        os.unlink(script)


sys.exit(main())
