#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seconds per epoch of the MNIST model (784-128-10, Adam, batch 64), for firesteel and its peers.

usage: epoch.py [-n ROUNDS] [-e EPOCHS] [--reference FILE.c]

The contestants run in turn, round after round, because machines are noisy; the table has medians over
the rounds, and the median of the ratios round by round to the reference, one thread of hand-tuned C:
of seconds by the clock, of the processor's time, and of a step in µs where nobody disturbs (its
quickest twentieth), which on a busy machine is the one to look at.
"2 threads" depends on how far apart the host has put the two cores (65 to 370 ns), which changes by
the minute: compare it only within one run.
Peers: JAX from $FIRESTEEL_CACHE/bench-venv (`bench.py setup` makes it) or the python3 that runs this.
"""
import argparse
import gzip
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build"))
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
EPOCH = os.path.join(BUILD, "tests", "bench", "epoch")
DATA = os.path.join(ROOT, "recipes", "data", "mnist")


def unpack(folder):
    for name in os.listdir(DATA):
        if name.endswith(".gz"):
            with gzip.open(os.path.join(DATA, name)) as packed:
                with open(os.path.join(folder, name[:-3]), "wb") as raw:
                    raw.write(packed.read())


def compile_reference(source, folder):
    program = os.path.join(folder, "reference")
    for cc in (os.environ.get("CC", "gcc").split()[-1], "gcc", "clang"):
        built = subprocess.run([cc, "-O3", "-march=native", "-mprefer-vector-width=512", source, "-o",
                                program, "-lpthread", "-lm"], capture_output=True)
        if built.returncode == 0:
            return program
    return None


def jax_python():
    for python in (os.path.join(CACHE, "bench-venv", "bin", "python"), sys.executable):
        if os.path.exists(python) and subprocess.run([python, "-c", "import jax"],
                                                     capture_output=True).returncode == 0:
            return python
    return None


def contestants(folder, epochs, source):
    """name -> command that prints a line of JSON with "median" seconds; the first is the reference."""
    has_avx512 = "avx512bw" in open("/proc/cpuinfo", encoding="utf-8").read()
    found = {}
    reference = compile_reference(source, folder) if has_avx512 else None
    if reference:
        found["reference, dense"] = [reference, folder, str(epochs)]
    else:
        print("no reference: it needs AVX-512 and a C compiler")
    ours = [EPOCH, folder, "--epochs", str(epochs)]
    for cpu in ("avx512", "avx2", "plain"):
        for path in ("dense", "auto"):
            label = f"{cpu}, {'dense' if path == 'dense' else 'sparse input'}"
            found[label] = ours + ["--cpu", cpu, "--input", path]
    found["2 threads, dense"] = ours + ["--threads", "2", "--input", "dense"]
    found["2 threads, sparse input"] = ours + ["--threads", "2"]
    python = jax_python()
    if python:
        found["JAX, jitted scan"] = [python, os.path.join(HERE, "epoch_jax.py"), folder, str(epochs)]
    else:
        print("no JAX: `bench.py setup` installs it")
    return found


def run(name, command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{name}: {done.stderr.strip().splitlines()[-1] if done.stderr.strip() else done.returncode}")
        return None
    return json.loads(done.stdout.splitlines()[-1])


def compared(ours, others, digits):
    """The median, and the median of the ratios to the reference; blank for a program that does not measure it."""
    if None in ours or None in others:
        return " " * 17
    ratio = statistics.median(a / b for a, b in zip(ours, others))
    return f"{statistics.median(ours):9.{digits}f} {ratio:7.2f}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("-e", type=int, default=5)
    parser.add_argument("--reference", default=os.path.join(HERE, "reference.c"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="firesteel-epoch-") as folder:
        unpack(folder)
        field = contestants(folder, options.e, options.reference)
        seconds = {name: [] for name in field}
        busy = {name: [] for name in field}
        steps = {name: [] for name in field}
        accuracy = {}
        for _ in range(options.n):
            for name, command in list(field.items()):
                result = run(name, command)
                if result is None:
                    del field[name]
                    continue
                seconds[name].append(result["median"])
                busy[name].append(result.get("processor"))
                steps[name].append(result.get("step"))
                accuracy[name] = result[f"accuracy_{options.e}"]
    yardstick = next(iter(field))
    print(f"{'seconds per epoch':28} {'median':>8} {'least':>8} {'ratio':>7} {'processor':>9} {'ratio':>7} "
          f"{'step, µs':>9} {'ratio':>7}  accuracy after {options.e}")
    for name in field:
        ratio = statistics.median(a / b for a, b in zip(seconds[name], seconds[yardstick]))
        print(f"{name:28} {statistics.median(seconds[name]):8.4f} {min(seconds[name]):8.4f} {ratio:7.2f} "
              f"{compared(busy[name], busy[yardstick], 4)} {compared(steps[name], steps[yardstick], 1)}"
              f"  {accuracy[name]:.4f}")


main()
