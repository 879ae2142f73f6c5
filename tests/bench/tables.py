#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tables.py: tables, in turn with PyTorch and pandas on one pinned core: seconds of user time, medians, the median of the ratios of
the pairs, and each process's peak memory.

usage: tables.py [-n RUNS] [--stores N] [train | prepare]      peers: the python that has them, of $FIRESTEEL_CACHE/peers (tests/peers/install),
                                                               $FIRESTEEL_CACHE/bench-venv (bench.py setup) and $BENCH_PYTHON

train    an epoch of 48,000 rows, batch 64, Adam: 9 Embeddings of 8 numbers, 6 numbers, 128 and 64 units with relu, 2 classes
prepare  recipe 21's features of 1,115 stores, 1,050,330 rows: joins, days since events, categories, standardising
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
EPOCHS = 3

OURS = """
local nn, data = require "nn", require "data"
local n, sizes = 48000, { 1000, 7, 12, 31, 52, 24, 300, 4, 100 }
local codes, numbers, y, state = {}, {}, {}, 12345
local function random(most)
  state = (state * 1103515245 + 12345) % 2147483648
  return state // 65536 % most
end
for i = 1, n do
  local c, x, sum = {}, {}, 0
  for k, size in ipairs(sizes) do
    c[k] = random(size)
    sum = sum + math.sin(c[k] * k)
  end
  for k = 1, 6 do
    x[k] = random(1000) / 500 - 1
    sum = sum + x[k] * k / 3
  end
  codes[i], numbers[i], y[i] = c, x, sum > 0 and 1 or 0
end
codes, numbers, y = data.tensor(codes, { dtype = "i32" }), data.tensor(numbers), data.tensor(y, { dtype = "i64" })
local inputs, nodes = {}, {}
local xs = {}
for k, size in ipairs(sizes) do
  inputs[k] = nn.Input { 1 }
  nodes[k] = nn.Flatten {} (nn.Embedding { size, 8 } (inputs[k]))
  xs[k] = codes:columns(k - 1, k):copy()
end
inputs[10] = nn.Input { 6 }
nodes[10], xs[10] = inputs[10], numbers
local h = nn.Dense { 128, activation = "relu" } (nn.Concatenate {} (nodes))
h = nn.Dense { 64, activation = "relu" } (h)
local m = nn.Model { inputs = inputs, outputs = nn.Dense { 2, activation = "softmax" } (h) }
m:compile { optimizer = "adam", loss = "sparse_categorical_crossentropy", metrics = { "accuracy" }, threads = 1 }
local function fit(epochs) return m:fit { xs, y, batch_size = 64, epochs = epochs, verbose = 0 } end
fit(1)
local began = os.clock()
local h = fit(tonumber(arg[1]))
print("seconds", (os.clock() - began) / tonumber(arg[1]))
print("accuracy", h.history.accuracy[#h.history.accuracy])
"""

THEIRS = """
import sys, time
import torch
torch.set_num_threads(1)
n, sizes, epochs = 48000, [1000, 7, 12, 31, 52, 24, 300, 4, 100], int(sys.argv[1])
torch.manual_seed(1)
codes = torch.stack([torch.randint(0, s, (n,)) for s in sizes], 1)
numbers = torch.rand(n, 6) * 2 - 1
score = sum(torch.sin(codes[:, k].float() * (k + 1)) for k in range(9)) + (numbers * torch.arange(1, 7) / 3).sum(1)
y = (score > 0).long()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = torch.nn.ModuleList([torch.nn.Embedding(s, 8) for s in sizes])
        self.net = torch.nn.Sequential(torch.nn.Linear(78, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    def forward(self, c, x):
        return self.net(torch.cat([t(c[:, k]) for k, t in enumerate(self.tables)] + [x], 1))
net = Net()
optimizer, loss = torch.optim.Adam(net.parameters(), fused=True), torch.nn.CrossEntropyLoss()
def epoch():
    order, right = torch.randperm(n), 0
    for at in range(0, n, 64):
        rows = order[at:at + 64]
        optimizer.zero_grad()
        p = net(codes[rows], numbers[rows])
        loss(p, y[rows]).backward()
        optimizer.step()
        right += (p.argmax(1) == y[rows]).sum()
    return float(right) / n
epoch()
began = time.process_time()
for _ in range(epochs):
    accuracy = epoch()
print("seconds", (time.process_time() - began) / epochs)
print("accuracy", accuracy)
"""


def python_with(module):
    for python in (os.environ.get("BENCH_PYTHON"), os.path.join(CACHE, "peers", "bin", "python"),
                   os.path.join(CACHE, "bench-venv", "bin", "python"), sys.executable):
        if python and os.path.exists(python) and subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def run(argv, cwd):
    """The lines "name number" that it prints, its user seconds and its peak memory."""
    with open(os.path.join(cwd, "out"), "w+", encoding="utf-8") as out:
        process = subprocess.Popen(argv, cwd=cwd, stdout=out, preexec_fn=lambda: os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}))
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    assert process.returncode == 0, text
    found = {name: float(value) for name, value in re.findall(r"^(\w+)\s+([\d.e+-]+)$", text, re.M)}
    found.update(MiB=used.ru_maxrss / 1024, user=used.ru_utime, whole=used.ru_utime + used.ru_stime)
    return found


def in_turn(what, ours, theirs, cwd, runs, key):
    seconds = {"firesteel": [], theirs[0]: []}
    last = {}
    for _ in range(runs):
        for name, argv in (("firesteel", ours), (theirs[0], theirs[1:])):
            if len(argv) and argv[0]:
                last[name] = run(argv, cwd)
                seconds[name].append(last[name][key])
    for name, all_of in seconds.items():
        if not all_of:
            print(f"{what}: no {name} was found")
            continue
        more = "".join(f"  {k} {last[name][k]:.3f}" for k in ("accuracy",) if k in last[name])
        ratio = statistics.median(a / b for a, b in zip(all_of, seconds["firesteel"]))
        print(f"{what + ', ' + name:34}{statistics.median(all_of):9.3f} s  {ratio:6.2f} x ours  {last[name]['MiB']:7.0f} MiB{more}", flush=True)


def train(cwd, options):
    for name, text in (("ours.lua", OURS), ("theirs.py", THEIRS)):
        with open(os.path.join(cwd, name), "w", encoding="utf-8") as f:
            f.write(text)
    in_turn("epoch", [WORKER, "ours.lua", str(EPOCHS)], ["PyTorch", python_with("torch"), "theirs.py", str(EPOCHS)], cwd, options.n, "seconds")


def prepare(cwd, options):
    with open(os.path.join(ROOT, "recipes", "21-sales.lua"), encoding="utf-8") as f:
        cell = f.read().split('file="features.lua"\n', 1)[1].split("\n-- %%", 1)[0]
    with open(os.path.join(cwd, "features.lua"), "w", encoding="utf-8") as f:
        f.write(cell)
    for folder in ("tables", "ours", "theirs"):
        os.makedirs(os.path.join(cwd, folder))
    subprocess.run([WORKER, os.path.join(ROOT, "recipes", "data", "sales", "tables.lua"), f"--stores={options.stores}", "--seed=1"], cwd=cwd,
                   check=True, stdout=subprocess.DEVNULL)
    in_turn("preparation", [WORKER, "features.lua", "--from=tables", "--out=ours"],
            ["pandas", python_with("pandas"), os.path.join(HERE, "tables_pandas.py"), "tables", "theirs"], cwd, options.n, "whole")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("--stores", type=int, default=1115)
    parser.add_argument("what", nargs="*", default=["train", "prepare"])
    options = parser.parse_args()
    for what in options.what:
        with tempfile.TemporaryDirectory(prefix="firesteel-tables-") as cwd:
            {"train": train, "prepare": prepare}[what](cwd, options)


main()
