#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What slow strangers cost those who ask a server of models properly.

usage: strangers.py WORKER [STRANGERS] [SECONDS]

Serves a small model, and has so many strangers (10000) hold connections in one way after another; one that is closed connects
again. Meanwhile four clients ask for a prediction of one row, each time by a new connection, a fifth by one that it keeps, and
health is asked for ten times a second. A request counts as answered when it has its 200 within five seconds. Prints JSON: by
kind of strangers, the share of requests that were answered, the median and the 99th percentile of their milliseconds, the same of health, how
many strangers were in at the end, and the server's memory.
"""
import concurrent.futures
import http.client
import json
import os
import re
import resource
import select
import socket
import subprocess
import sys
import tempfile
import time

WORKER = os.path.abspath(sys.argv[1])
STRANGERS = int(sys.argv[2]) if len(sys.argv) > 2 else 10000
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 10.0
PATIENCE, CLIENTS = 5.0, 4
MODELS = """
local nn = require "nn"
nn.Sequential { nn.Dense { 1, input_dim = 2 } }:save "line.ckpt"
nn.Sequential { nn.Dense { 1000, input_dim = 1 } }:save "wide.ckpt"
"""
GOOD = json.dumps({"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}]})
WIDE = json.dumps({"inputs": [{"name": "input", "datatype": "FP32", "shape": [200, 1], "data": list(range(200))}]})
POST = "POST /v2/models/%s/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
# name: (what a stranger sends at first, what it sends each second, the part of them that do so at a time)
KINDS = {
    "none": None,
    "silent": (b"", b""),
    "heads": (b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nX-a: ", b"a"),
    "bodies": ((POST % ("line", 100000)).encode() + b'{"inputs": [', b" "),
    "great bodies": ((POST % ("line", 8000000)).encode() + b'{"inputs": [{"data": [' + b"0," * 30000, b"0,"),
    "readers": ((POST % ("wide", len(WIDE)) + WIDE).encode(), None),
    "garbage": (b"\x16\x03\x01\x02\x00\x01\x00\x01" * 40, b"\x00"),
}


def strangers(port, kind, stop):
    """Until stop is there: connections that never end what they begin."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    first, later = KINDS[kind]
    poll, there, turn = select.epoll(), {}, 0
    while not os.path.exists(stop):
        began = time.monotonic()
        for _ in range(min(500, STRANGERS - len(there))):
            s = socket.socket()
            s.setblocking(False)
            if later is None:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect_ex(("127.0.0.1", port))
            there[s.fileno()] = [s, first]
            poll.register(s.fileno(), select.EPOLLOUT | select.EPOLLHUP)
        for fd, events in poll.poll(0.02, 2000):
            s, left = there[fd]
            try:
                if events & (select.EPOLLHUP | select.EPOLLERR):
                    raise ConnectionError
                left = left[s.send(left):] if left else left
                there[fd][1] = left
                if not left:
                    poll.modify(fd, select.EPOLLHUP)
            except BlockingIOError:
                pass
            except OSError:
                s.close()
                del there[fd]
        fds = list(there)
        for fd in fds[turn % 50::50] if later else ():  # each about every second
            s, left = there[fd]
            try:
                if not left:
                    s.send(later)
            except BlockingIOError:
                pass
            except OSError:
                s.close()
                del there[fd]
        turn += 1
        time.sleep(max(0, 0.02 - (time.monotonic() - began)))
    print(len(there))
    os._exit(0)


def ask(port, kept=None):
    c = kept or http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    c.request("POST", "/v2/models/line/infer", GOOD)
    status = c.getresponse()
    status.read()
    if not kept:
        c.close()
    return status.status == 200


def health(port):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    c.request("GET", "/v2/health/live")
    good = c.getresponse().status == 200
    c.close()
    return good


def repeat(end, fn, pause):
    """[(whether it was answered, milliseconds)]"""
    found = []
    while time.monotonic() < end:
        began = time.perf_counter()
        try:
            good = fn()
        except OSError:
            good = False
        except http.client.HTTPException:
            good = False
        found.append((good, (time.perf_counter() - began) * 1e3))
        time.sleep(pause)
    return found


def kept(port):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def once():
        try:
            return ask(port, c)
        except Exception:
            c.close()
            raise
    return once


def figures(found):
    took = sorted(ms for good, ms in found if good) or [float("nan")]
    return {"asked": len(found), "answered": sum(good for good, _ in found) / len(found), "median_ms": round(took[len(took) // 2], 2),
            "p99_ms": round(took[len(took) * 99 // 100], 1)}


def memory(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) // 1024


def measure(kind, folder):
    server = subprocess.Popen([WORKER, "serve", "--port", "0", "line.ckpt", "wide.ckpt"], cwd=folder, stdout=subprocess.PIPE, text=True)
    port = int(server.stdout.readline().split()[-1])
    stop, crowd = os.path.join(folder, "stop-" + kind), None
    if KINDS[kind]:
        crowd = subprocess.Popen([sys.executable, __file__, WORKER, str(STRANGERS), "0", kind, str(port), stop], stdout=subprocess.PIPE, text=True)
        time.sleep(5)
    end = time.monotonic() + SECONDS
    with concurrent.futures.ThreadPoolExecutor(CLIENTS + 2) as many:
        new = [many.submit(repeat, end, lambda: ask(port), 0) for _ in range(CLIENTS)]
        one = many.submit(repeat, end, kept(port), 0)
        alive = many.submit(repeat, end, lambda: health(port), 0.1)
        got = {"new": figures([x for f in new for x in f.result()]), "kept": figures(one.result()), "health": figures(alive.result())}
    with open(stop, "w", encoding="utf-8"):
        pass
    got["in"] = int(crowd.communicate()[0]) if crowd else 0
    got["memory_mb"] = memory(server.pid)
    server.kill()
    server.wait()
    return got


def main():
    if len(sys.argv) > 4:
        strangers(int(sys.argv[5]), sys.argv[4], sys.argv[6])
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "models.lua"), "w", encoding="utf-8") as f:
            f.write(MODELS)
        subprocess.run([WORKER, "models.lua"], cwd=folder, check=True)
        for kind in KINDS:
            print(json.dumps({kind: measure(kind, folder)}), flush=True)


main()
