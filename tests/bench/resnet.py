#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""resnet.py: ResNet-50, 224 x 224, in turn with PyTorch (channels_last, oneDNN) on one pinned core: images per second of a step of
training (forward, backward, update; batch 8) and of inference (batch 32), medians, and each process's peak memory.

usage: resnet.py [-n RUNS] [--threads N] [--size PIXELS]      PyTorch comes from $FIRESTEEL_CACHE/peers (tests/peers/install)
"""
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
PYTHON = os.path.join(CACHE, "peers", "bin", "python")

OURS = """
local nn, data = require "nn", require "data"
local size, threads, mode = tonumber(arg[1]), tonumber(arg[2]), arg[3]
local n = mode == "train" and 8 or 32
local function seconds() return tonumber(io.open("/proc/uptime"):read "n") end
local x, y = nn.ops.full({ n, size, size, 3 }, 0.5), {}
for i = 1, n do y[i] = i end
y = data.tensor(y, { dtype = "i64" })
local model = nn.applications.ResNet50 { variant = "torchvision", input_shape = { size, size, 3 }, classifier_activation = "softmax" }
model:compile { optimizer = nn.SGD { 0.001, momentum = 0.9 }, loss = "sparse_categorical_crossentropy", threads = threads }
local function step()
  if mode == "train" then model:train_on_batch(x, y) else model:predict(x, { batch_size = n }) end
end
step()
local began, steps = seconds(), 0
repeat
  step()
  steps = steps + 1
until seconds() - began > 4
print("images/s", steps * n / (seconds() - began))
print("MB", tonumber(io.open("/proc/self/status"):read "a":match "VmHWM:%s*(%d+)") / 1024)
"""

THEIRS = """
import resource, sys, time
sys.path.insert(0, sys.argv[4])
import torch
from resnet_torch import ResNet
size, threads, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(threads)
n = 8 if mode == "train" else 32
x = torch.full((n, 3, size, size), 0.5).to(memory_format=torch.channels_last)
y = torch.arange(n)
model = ResNet([3, 4, 6, 3], True, 1000).to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9)
loss = torch.nn.CrossEntropyLoss()
def step():
    if mode == "train":
        optimizer.zero_grad()
        loss(model(x), y).backward()
        optimizer.step()
    else:
        with torch.inference_mode():
            model(x)
model.train(mode == "train")
step()
began, steps = time.perf_counter(), 0
while not steps or time.perf_counter() - began < 4:
    step()
    steps += 1
print("images/s", steps * n / (time.perf_counter() - began))
print("MB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def figures(argv, cores):
    done = subprocess.run(["taskset", "-c", cores, *argv], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{argv[0]}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return [float(re.search(rf"{what}\s+([\d.]+)", done.stdout).group(1)) for what in ("images/s", "MB")]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--size", type=int, default=224)
    o = parser.parse_args()
    cores = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:o.threads])
    script = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"resnet-{os.getpid()}.lua")
    with open(script, "w", encoding="utf-8") as f:
        f.write(OURS)
    peer = os.path.exists(PYTHON)
    if not peer:
        print(f"no PyTorch at {PYTHON}: tests/peers/install makes it")
    try:
        for mode in ("train", "predict"):
            given = [str(o.size), str(o.threads), mode]
            a, b = [], []
            for _ in range(o.n):
                a.append(figures([os.path.join(BUILD, "cli", "firesteel-worker"), script, *given], cores))
                if peer:
                    b.append(figures([PYTHON, "-c", THEIRS, *given, PEERS], cores))
            for name, rows in (("firesteel", a), ("PyTorch", b)):
                if rows:
                    print(f"ResNet-50 {mode:8} {name:10} {statistics.median(r[0] for r in rows):8.2f} images/s {max(r[1] for r in rows):7.0f} MB")
            if b:
                print(f"ResNet-50 {mode:8} ratio      {statistics.median(p[0] / q[0] for p, q in zip(a, b)):8.2f}"
                      f"          {max(r[1] for r in a) / max(r[1] for r in b):7.2f}", flush=True)
    finally:
        os.unlink(script)


sys.exit(main())
