#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests for predictions over HTTP, and onnxruntime on the same model, in turn.

usage: serve.py WORKER FOLDER [RUNS]     FOLDER: a package (firesteel-worker package)

Prints JSON: requests per second of many clients with one row each, with batches and without, and what onnxruntime (where this
Python has it) does with one row per call from one thread, reading and writing the same JSON but without HTTP.
"""
import concurrent.futures
import http.client
import json
import os
import statistics
import subprocess
import sys
import time

CLIENTS, SECONDS = 16, 2.0


def load(port, body, name):
    """Requests per second, and the median and the 99th percentile of their milliseconds."""
    def client(_):
        c, took, end = http.client.HTTPConnection("127.0.0.1", port), [], time.perf_counter() + SECONDS
        while (began := time.perf_counter()) < end:
            c.request("POST", f"/v2/models/{name}/infer", body)
            r = c.getresponse()
            text = r.read()
            assert r.status == 200, text
            took.append(time.perf_counter() - began)
        return took
    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as many:
        took = sorted(x for one in many.map(client, range(CLIENTS)) for x in one)
    return {"rate": len(took) / SECONDS, "median_ms": took[len(took) // 2] * 1e3, "p99_ms": took[len(took) * 99 // 100] * 1e3}


def served(worker, folder, body, name, rows):
    with subprocess.Popen([worker, "serve", "--port", "0", "--max-batch-size", str(rows), folder], stdout=subprocess.PIPE, text=True) as p:
        port = int(p.stdout.readline().split()[-1])
        found = load(port, body, name)
        c = http.client.HTTPConnection("127.0.0.1", port)
        c.request("GET", "/metrics")
        lines = dict(line.rsplit(" ", 1) for line in c.getresponse().read().decode().splitlines() if line[0] != "#")
        found["rows_a_batch"] = float(lines[f'firesteel_rows_total{{model="{name}"}}']) / float(lines[f'firesteel_batches_total{{model="{name}"}}'])
        p.terminate()
        return found


def runtime(folder, body):
    try:
        import numpy
        import onnxruntime
    except ImportError:
        return None
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), providers=["CPUExecutionProvider"])
    n, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        asked = json.loads(body)["inputs"][0]
        x = numpy.asarray(asked["data"], dtype="float32").reshape(asked["shape"])
        json.dumps({"outputs": [{"data": y.reshape(-1).tolist()} for y in session.run(None, {asked["name"]: x})]})
        n += 1
    return {"rate": n / SECONDS}


def main():
    worker, folder, runs = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 3
    with open(os.path.join(folder, "package.json"), encoding="utf-8") as f:
        name = json.load(f)["name"]
    with open(os.path.join(folder, "examples.json"), encoding="utf-8") as f:
        body = json.dumps({"inputs": json.load(f)[0]["inputs"]})
    found = {"batches": [], "one by one": [], "onnxruntime": []}
    for _ in range(runs):
        found["batches"].append(served(worker, folder, body, name, 64))
        found["one by one"].append(served(worker, folder, body, name, 1))
        found["onnxruntime"].append(runtime(folder, body))
    print(json.dumps({key: {field: statistics.median(one[field] for one in values) for field in values[0]} if values[0] else None
                      for key, values in found.items()}))


if __name__ == "__main__":
    main()
