#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests for predictions over HTTP, and onnxruntime on the same model, in turn.

usage: serve.py WORKER FOLDER [RUNS]     FOLDER: a package (firesteel-worker package)

Prints JSON: requests per second of 16 clients with one row each, from firesteel-worker serve and from onnxruntime (where this
Python has it) behind Python's http.server with the same JSON, both with batches of up to 64 rows and one by one; and what
onnxruntime does with one row per call from one thread, reading and writing the same JSON but without HTTP. The clients are two
processes that send the same bytes again and again, and look at the answer's status and length alone.
"""
import concurrent.futures
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import time

CLIENTS, PROCESSES, SECONDS = 16, 2, 2.0


def client(port, asked, end):
    """Seconds that each request took, on one connection."""
    took, at = [], socket.create_connection(("127.0.0.1", port))
    at.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while (began := time.perf_counter()) < end:
        at.sendall(asked)
        got = b""
        while (head := got.find(b"\r\n\r\n")) < 0:
            got += at.recv(65536)
        assert got.startswith(b"HTTP/1.1 200"), got[:300]
        length = int(re.search(rb"(?i)content-length: *(\d+)", got[:head])[1])
        while len(got) < head + 4 + length:
            got += at.recv(65536)
        took.append(time.perf_counter() - began)
    at.close()
    return took


def clients(port, asked, n):
    end = time.perf_counter() + SECONDS
    with concurrent.futures.ThreadPoolExecutor(n) as many:
        return [x for one in many.map(lambda _: client(port, asked, end), range(n)) for x in one]


def load(port, body, name):
    """Requests per second, and the median and the 99th percentile of their milliseconds."""
    asked = (f"POST /v2/models/{name}/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
             f"Content-Length: {len(body.encode())}\r\n\r\n{body}").encode()
    with concurrent.futures.ProcessPoolExecutor(PROCESSES) as pool:
        list(pool.map(time.sleep, [0.1] * PROCESSES))  # they are there before the time begins
        halves = [pool.submit(clients, port, asked, CLIENTS // PROCESSES) for _ in range(PROCESSES)]
        took = sorted(x for half in halves for x in half.result())
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


def served_by_onnxruntime(folder, body, name, rows):
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve_onnx.py")
    with subprocess.Popen([sys.executable, peer, folder, str(rows)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
        line = p.stdout.readline()
        found = load(int(line.split()[-1]), body, name) if line else None  # else: this Python has no onnxruntime
        p.kill()
        return found


def runtime(folder, body):
    try:
        import numpy
        import onnxruntime
    except ImportError:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
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
    found = {"batches": [], "one by one": [], "onnxruntime, batches": [], "onnxruntime, one by one": [], "onnxruntime, no HTTP": []}
    for _ in range(runs):
        found["batches"].append(served(worker, folder, body, name, 64))
        found["one by one"].append(served(worker, folder, body, name, 1))
        found["onnxruntime, batches"].append(served_by_onnxruntime(folder, body, name, 64))
        found["onnxruntime, one by one"].append(served_by_onnxruntime(folder, body, name, 1))
        found["onnxruntime, no HTTP"].append(runtime(folder, body))
    print(json.dumps({key: {field: statistics.median(one[field] for one in values) for field in values[0]} if values[0] else None
                      for key, values in found.items()}))


if __name__ == "__main__":
    main()
