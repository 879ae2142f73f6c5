#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures for firesteel and its peers, in one run: start, idle kernel, the workbench's answers, overhead per cell, training.

usage: bench.py [-n RUNS] [SECTION…]      sections: start screen idle cells python logs cluster epoch resnet tables local serve

Prints a table of medians and of ratios pair by pair (A B A B …), because machines are noisy. Peers are
used if they are installed: nbclient and JAX in $FIRESTEEL_CACHE/bench-venv, stern and k9s in $FIRESTEEL_CACHE/bin
(`bench.py setup` makes them), vis, vim, htop and lua from Debian (`.ci/install bench`). A missing peer is reported and
left out.
"""
import argparse
import ctypes
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
VENV = os.path.join(CACHE, "bench-venv")
FIRESTEEL = os.path.join(BUILD, "cli", "firesteel")
WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
PEERS = ["nbclient", "ipykernel", "jax==0.10.2", "pandas==2.3.3"]
GO_PEERS = ["stern", "k9s"]


def wall(argv, cwd):
    started = time.perf_counter()
    done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    seconds = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: exit {done.returncode}\n{done.stderr.decode()[-2000:]}")
    return seconds


def milliseconds(values):
    return f"{statistics.median(values) * 1e3:9.2f} ms  ({min(values) * 1e3:.2f}–{max(values) * 1e3:.2f})"


def pair(label, ours, theirs, cwd, runs):
    """Runs the two commands in turn; prints medians and the median of the ratios."""
    a, b = [], []
    wall(ours, cwd)
    wall(theirs[1], cwd)
    for _ in range(runs):
        a.append(wall(ours, cwd))
        b.append(wall(theirs[1], cwd))
    ratio = statistics.median(x / y for x, y in zip(a, b))
    print(f"{label:34}{milliseconds(a)}\n{'  ' + theirs[0]:34}{milliseconds(b)}   ratio {ratio:.3f}")
    return a, b


def notebook_lua(path, cells):
    with open(path, "w", encoding="utf-8") as f:
        for i in range(cells):
            f.write(f"-- %%\nx = {i}; print(x)\n\n")


def notebook_python(path, cells):
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"nbformat": 4, "nbformat_minor": 5, "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "cells": [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [],
                       "execution_count": None, "source": f"x = {i}; print(x)"}
                      for i in range(cells)]}, f)


def section_start(cwd, runs):
    pair("firesteel --version", [FIRESTEEL, "--version"], ("true", ["true"]), cwd, runs * 4)
    if shutil.which("lua5.4"):
        pair("firesteel-worker, empty script", [WORKER, "/dev/null"], ("lua5.4", ["lua5.4", "/dev/null"]),
             cwd, runs * 4)


def section_cells(cwd, runs):
    for cells in (1, 1000):
        notebook_lua(f"{cwd}/n{cells}.lua", cells)
        notebook_python(f"{cwd}/n{cells}.ipynb", cells)
    client = os.path.join(VENV, "bin", "jupyter-execute")
    if not os.path.exists(client):
        print("nbclient is not there: `bench.py setup`")
        return
    figures = {}
    for cells in (1, 1000):
        figures[cells] = pair(f"run, {cells} cells", [FIRESTEEL, "run", f"n{cells}.lua", "-o", "json"],
                              ("nbclient", [client, f"n{cells}.ipynb"]), cwd, runs)
    for name, index in (("firesteel", 0), ("nbclient", 1)):
        each = (statistics.median(figures[1000][index]) - statistics.median(figures[1][index])) / 999
        print(f"{'  per cell, ' + name:34}{each * 1e3:9.3f} ms")


BARE = """
import json, sys, time
from jupyter_client import KernelManager
manager = KernelManager(kernel_name="python3", transport="ipc")
began = time.perf_counter()
manager.start_kernel()
client = manager.blocking_client()
client.start_channels()
client.wait_for_ready(timeout=120)
def cell():
    mine, idle, reply = client.execute("y = 1"), False, False
    while not idle:
        m = client.get_iopub_msg(timeout=120)
        idle = m["parent_header"].get("msg_id") == mine and m["content"].get("execution_state") == "idle"
    while not reply:
        reply = client.get_shell_msg(timeout=120)["parent_header"].get("msg_id") == mine
cell()
first = time.perf_counter()
for _ in range(int(sys.argv[1]) - 1):
    cell()
print(json.dumps([first - began, time.perf_counter() - first]))
client.stop_channels()
manager.shutdown_kernel()
"""


def section_python(cwd, runs):
    """Cells in Python beside a bare client of Jupyter, by the same ipykernel: until the first cell is done, and each after it."""
    cells, venv = 1000, os.path.join(CACHE, "jupyter")
    if not os.path.exists(f"{venv}/versions"):
        print("ipykernel is not there: tests/support/tool-jupyter")
        return
    with open(f"{cwd}/y.ipynb", "w", encoding="utf-8") as f:
        json.dump({"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
                   "cells": [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": "y = 1"} for i in range(cells)]}, f)

    def output(*argv):
        return subprocess.run(argv, cwd=cwd, env={**os.environ, "VIRTUAL_ENV": venv}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True).stdout

    def ours():
        began = time.clock_gettime(time.CLOCK_MONOTONIC)
        ends = [json.loads(line)["mono"] / 1e9 for line in output(FIRESTEEL, "run", "y.ipynb", "-o", "json").splitlines() if '"state":"ok"' in line]
        return ends[0] - began, ends[-1] - ends[0]

    a, b = [], []
    for _ in range(runs):
        a.append(ours())
        b.append(json.loads(output(f"{venv}/bin/python", "-c", BARE, str(cells))))
    for label, part in (("start and one cell in Python", 0), (f"{cells - 1} more", 1)):
        ratio = statistics.median(x[part] / y[part] for x, y in zip(a, b))
        print(f"{label:34}{milliseconds([x[part] for x in a])}\n{'  a bare client':34}{milliseconds([y[part] for y in b])}   ratio {ratio:.3f}")


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        direct = [int(p) for p in f.read().split()]
    return direct + [c for p in direct for c in children(p)]


def private_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith("Private_"))


def switches(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as f:
            total += sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
    return total


def section_idle(cwd, runs):
    """A kernel that waits (for a cell's `sleep`): its private memory, and how often it wakes."""
    with open(f"{cwd}/idle.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nsh 'sleep 60'\n")
    run = subprocess.Popen([FIRESTEEL, "run", "idle.lua"], cwd=cwd, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, start_new_session=True)
    time.sleep(2)
    try:
        for line in subprocess.run(["pgrep", "-af", "firesteel-kernel.*idle"], capture_output=True,
                                   text=True).stdout.splitlines():
            pid = int(line.split()[0])
            before = switches(pid)
            time.sleep(5)
            print(f"{'firesteel-kernel ' + str(pid):34}{private_kib(pid) / 1024:9.2f} MiB private, "
                  f"{(switches(pid) - before) / 5:.1f} wake-ups a second")
    finally:
        run.terminate()
        run.wait(10)


LOGS_JOB = """{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "bench"}, "spec": {"parallelism": 10, "completions": 10,
"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "host",
"command": ["seq", "-f", "a line of a log, as long as they usually are, number %08.0f", "1", "20000"]}]}}}}"""


def cost(argv, cwd, env):
    """Seconds, CPU seconds of all processes that it starts, and the lines of its output."""
    def waited():
        while True:  # what outlives its parent comes to us
            try:
                os.wait()
            except ChildProcessError:
                return resource.getrusage(resource.RUSAGE_CHILDREN)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with open(f"{cwd}/out", "wb") as out:
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out)
        process.wait()
    seconds = time.perf_counter() - started
    after = waited()
    with open(f"{cwd}/out", "rb") as out:
        lines = sum(b"number" in line for line in out)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, lines


def section_logs(cwd, runs):
    """10 pods with 20,000 lines each in the sandbox, followed to the last, merged by time."""
    kubectl = subprocess.run([os.path.join(ROOT, "tests/support/kubectl")], capture_output=True, text=True).stdout.strip()
    env = dict(os.environ, HOME=cwd, XDG_STATE_HOME=f"{cwd}/state", XDG_DATA_HOME=f"{cwd}/data")
    up = subprocess.run([FIRESTEEL, "sandbox", "up"], env=env, capture_output=True, text=True, check=True)
    env["KUBECONFIG"] = up.stdout.split("'")[1]
    try:
        subprocess.run([kubectl, "create", "-f", "-"], env=env, input=LOGS_JOB, text=True, check=True, stdout=subprocess.DEVNULL)
        subprocess.run([kubectl, "wait", "--for=condition=complete", "job/bench", "--timeout=60s"], env=env, check=True, stdout=subprocess.DEVNULL)
        with open(f"{cwd}/logs.lua", "w", encoding="utf-8") as f:
            f.write('-- %%\nk8s.logs("job/bench", { follow = true, all = true })\n')
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
        for name, argv in (("firesteel", [FIRESTEEL, "run", "logs.lua"]),
                           ("kubectl", [kubectl, "logs", "-f", "--prefix", "-l", "job-name=bench", "--tail=-1", "--max-log-requests=10"])):
            got = [cost(argv, cwd, env) for _ in range(runs)]
            print(f"{'  ' * (name != 'firesteel') + name + ', 10 × 20,000 lines':34}"
                  f"{milliseconds([g[0] for g in got])}   CPU {statistics.median(g[1] for g in got):.3f} s   lines {set(g[2] for g in got)}")
    finally:
        subprocess.run([FIRESTEEL, "sandbox", "down"], env=env, check=False, stdout=subprocess.DEVNULL)


def section_cluster(cwd, runs):
    """Lists, live tables and logs on a real Kubernetes: $FIRESTEEL_CLUSTER, else one that is brought up for it."""
    tool, there = os.path.join(ROOT, "tests", "cluster", "cluster.py"), os.environ.get("FIRESTEEL_CLUSTER")
    place = there or f"{cwd}/cluster"
    env = dict(os.environ, FIRESTEEL_BUILD=BUILD, FIRESTEEL_CACHE=CACHE)
    if not there and subprocess.run([tool, "up", place, "--without", "spark,mpi", "--owner", str(os.getpid())], env=env,
                                    stdout=subprocess.DEVNULL, check=False).returncode:
        print("no cluster: left out")
        return
    try:
        subprocess.run([tool, "enter", place, sys.executable, os.path.join(HERE, "cluster.py"), "-n", str(runs)], env=env, check=False)
    finally:
        if not there:
            subprocess.run([tool, "down", place], env=env, stdout=subprocess.DEVNULL, check=False)


def section_screen(cwd, runs):
    subprocess.run([sys.executable, os.path.join(HERE, "screen.py"), "-n", str(runs)], check=False,
                   env=dict(os.environ, FIRESTEEL_BUILD=BUILD))


def section_epoch(cwd, runs):
    script = os.path.join(HERE, "epoch.py")
    subprocess.run([sys.executable, script, "-n", str(runs)], check=False,
                   env=dict(os.environ, FIRESTEEL_BUILD=BUILD, FIRESTEEL_CACHE=CACHE))


def section_resnet(cwd, runs):
    """Networks for pictures beside PyTorch; $ROWS (resnet.py -r) chooses some of them."""
    subprocess.run([sys.executable, os.path.join(HERE, "resnet.py"), "-n", str(min(runs, 3)), "-r", os.environ.get("ROWS", "")], check=False,
                   env=dict(os.environ, FIRESTEEL_BUILD=BUILD, FIRESTEEL_CACHE=CACHE))


def section_tables(cwd, runs):
    """Tables: training beside PyTorch, preparation beside pandas."""
    subprocess.run([sys.executable, os.path.join(HERE, "tables.py"), "-n", str(runs)], check=False,
                   env=dict(os.environ, FIRESTEEL_BUILD=BUILD, FIRESTEEL_CACHE=CACHE))


def whole(argv, cwd, env=None):
    """Seconds by the clock, and of the processor (all processes that it starts and reaps)."""
    started = time.perf_counter()
    process = subprocess.Popen(argv, cwd=cwd, env=dict(os.environ, **(env or {})), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{' '.join(argv)}: exit {process.returncode}\n{said[-2000:]}")
    return time.perf_counter() - started, used.ru_utime + used.ru_stime


STARTS = """local hvd = require "hvd"
hvd.run(function() hvd.init() hvd.barrier() end, { np = tonumber(arg[1]) })
"""


DEEP = """local hvd, nn = require "hvd", require "nn"
hvd.run(function()
  hvd.init()
  local layers = { seed = 1, nn.Input { 512 } }
  for i = 1, 8 do layers[i + 1] = nn.Dense { 1024, activation = "relu" } end
  layers[10] = nn.Dense { 10, activation = "softmax" }
  local model = nn.Sequential(layers)
  model:compile { optimizer = hvd.DistributedOptimizer(nn.SGD { learning_rate = 0.01 }), loss = "sparse_categorical_crossentropy", threads = 1 }
  model:fit { nn.ops.full({ 1280, 512 }, 0.5), nn.ops.full({ 1280 }, 3), batch_size = 32, verbose = 0 }
end, { np = 2 })
"""


def section_local(cwd, runs):
    """The tutorial's trainer as a process: start, load, five epochs (and one), evaluate, predict; how ranks start; and buckets."""
    recipe = open(os.path.join(ROOT, "recipes", "10-mnist.lua"), encoding="utf-8").read()
    body = recipe.split('file="trainer.lua"\n', 1)[1].split("\n-- %%", 1)[0]
    for name, text in (("trainer.lua", body), ("starts.lua", STARTS), ("deep.lua", DEEP)):
        with open(f"{cwd}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    mpi = {"HOROVOD_CPU_OPERATIONS": "MPI"}
    rows = [("1 rank, one epoch", ["trainer.lua", "--epochs=1"], None), ("1 rank", ["trainer.lua"], None),
            ("2 ranks", ["--np", "2", "trainer.lua"], None), ("2 ranks by MPI", ["--np", "2", "trainer.lua"], mpi)]
    rows += [(f"start of {np} ranks{' by MPI' * (env is not None)}", ["starts.lua", str(np)], env)
             for np in (2, 8, 64) for env in (None, mpi) if np < 64 or env is None]
    rows += [("7.9 M weights, 40 steps, 2 ranks", ["deep.lua"], None), ("  by MPI, in buckets", ["deep.lua"], mpi),
             ("  by MPI, behind backward", ["deep.lua"], dict(mpi, HOROVOD_FUSION_THRESHOLD="1000000000"))]
    found = {name: [] for name, _, _ in rows}
    for _ in range(runs):  # in turn: machines are noisy
        for name, argv, env in rows:
            found[name].append(whole([WORKER] + argv, cwd, env))
    for name, _, _ in rows:
        print(f"{name:34}{milliseconds([f[0] for f in found[name]])}   CPU {statistics.median(f[1] for f in found[name]):.3f} s")
    print(f"{'  Keras 2.12 + Horovod 0.28 + Spark':34}  20.7 s for one rank and one epoch, measured once elsewhere")


def section_serve(cwd, runs):
    """An MLP for MNIST behind HTTP, one picture a request, beside onnxruntime in a Python."""
    with open(f"{cwd}/make.lua", "w", encoding="utf-8") as f:
        f.write("local nn, data = require 'nn', require 'data'\nnn.Sequential { nn.Flatten { input_shape = { 28, 28 } }, "
                "nn.Dense { 128, activation = 'relu' }, nn.Dense { 10, activation = 'softmax' } }:save 'mlp.safetensors'\n"
                "local x = {} for i = 1, 784 do x[i] = (i % 256) / 255 end\ndata.save('rows.npy', data.tensor { x })\n")
    wall([WORKER, "make.lua"], cwd)
    wall([WORKER, "package", "--name", "mlp", "--model", "mlp.safetensors", "--examples", "rows.npy", "p"], cwd)
    tool = os.path.join(CACHE, "onnx", "bin", "python")
    done = subprocess.run([tool if os.path.exists(tool) else sys.executable, os.path.join(HERE, "serve.py"), WORKER, "p", str(runs)],
                          cwd=cwd, stdout=subprocess.PIPE, text=True, check=True)
    for name, found in json.loads(done.stdout).items():
        print(f"{name:34}" + ("it is not there" if found is None else ", ".join(f"{key} {value:.1f}" for key, value in found.items())))


SECTIONS = {"start": section_start, "screen": section_screen, "idle": section_idle, "cells": section_cells,
            "python": section_python, "logs": section_logs, "cluster": section_cluster,
            "epoch": section_epoch, "resnet": section_resnet, "tables": section_tables, "local": section_local, "serve": section_serve}


def setup():
    """The peers that Debian does not have: from PyPI, and from their Go modules (minutes, once)."""
    subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
    subprocess.run([os.path.join(VENV, "bin", "pip"), "install", "-q"] + PEERS, check=True)
    built = subprocess.run([os.path.join(ROOT, "tests", "support", "gotool"), CACHE, *GO_PEERS], check=False).returncode
    if built == 77:  # it has said so
        return
    if built:
        raise SystemExit(f"gotool could not build {' and '.join(GO_PEERS)}: exit {built}")
    for name in GO_PEERS:
        print(os.path.join(CACHE, "bin", name))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("sections", nargs="*", default=list(SECTIONS))
    options = parser.parse_args()
    if options.sections == ["setup"]:
        return setup()
    for name in options.sections:
        if name not in SECTIONS:
            parser.error(f"no section {name}; there are: {' '.join(SECTIONS)}")
        with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as cwd:
            print(f"== {name}", flush=True)
            SECTIONS[name](cwd, options.n)


main()
