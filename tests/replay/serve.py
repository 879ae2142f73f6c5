#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel-worker serve: KServe's v2 REST protocol, asked by curl and by http.client; what is wrong; and its end."""
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
import zlib

from tap import BUILD, PATIENCE, SANITIZED, Skip, eventually, run, sh

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
TRAINER = """
local nn, data = require "nn", require "data"
local line = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
line:set_weights { data.tensor { { 2 }, { 10 } }, data.tensor { 0.5 } }
line:save "line.ckpt"
local a, b = nn.Input { 1, name = "left" }, nn.Input { 2, name = "right" }
local both = nn.Concatenate {} { a, b }
local graph = nn.Model { inputs = { a, b }, outputs = nn.Dense { 3, name = "sum" } (both) }
graph:set_weights { data.tensor { { 1, 0, 1 }, { 0, 1, 1 }, { 0, 0, 1 } }, data.tensor { 0, 0, 0 } }
graph:save "graph.ckpt"
nn.Sequential { nn.Dense { 1000, input_dim = 1 } }:save "wide.ckpt"
local x = nn.Input { 1, name = "x" }
local two = nn.Model { inputs = x, outputs = { nn.Dense { 1, name = "small" } (x), nn.Dense { 1, name = "great" } (x) } }
two:set_weights { data.tensor { { 1 } }, data.tensor { 0 }, data.tensor { { 100 } }, data.tensor { 0 } }
two:save "two.ckpt"
local store, rest = nn.Input { 2, name = "store" }, nn.Input { 1, name = "rest" }
local vectors = nn.Flatten {} (nn.Embedding { 10, 4, name = "stores" } (nn.Reshape { 2, 1 } (store)))
nn.Model { inputs = { store, rest }, outputs = nn.Dense { 1, name = "score" } (nn.Concatenate {} { vectors, rest }) }:save "stores.ckpt"
nn.Sequential { nn.Input { 2 }, nn.Embedding { 10, 3 } }:save "indices.ckpt"
nn.Sequential { nn.Dense { 1000, input_dim = 1 }, nn.Dense { 1000 }, nn.Dense { 1000 }, nn.Dense { 1 } }:save "deep.ckpt"
"""


class Server:
    def __init__(self, t, *words, files=None):
        self.dir = t.dir()
        with open(os.path.join(self.dir, "trainer.lua"), "w", encoding="utf-8") as f:
            f.write(TRAINER)
        done = sh(WORKER, "trainer.lua", cwd=self.dir)
        assert done.code == 0, done
        limit = ["prlimit", f"--nofile={files}"] if files else []
        with open(os.path.join(self.dir, "said"), "w", encoding="utf-8") as said:
            self.process = subprocess.Popen([*limit, WORKER, "serve", "--port", "0", *(w for w in words if w.startswith("--")), "line.ckpt", "g=graph.ckpt",
                                             *(w for w in words if not w.startswith("--"))], cwd=self.dir, stdout=subprocess.PIPE, stderr=said, text=True)
        t.after(self.process.kill)
        names = ["line", "g", *(word.removesuffix(".ckpt") for word in words if word.endswith(".ckpt"))]
        lines = [self.process.stdout.readline() for _ in names]
        self.port = int(lines[0].split()[-1])
        assert lines == [f"serving {name} on port {self.port}\n" for name in names], lines

    def said(self):
        with open(os.path.join(self.dir, "said"), encoding="utf-8") as f:
            return f.read()

    def ask(self, method, path, body=None):
        return self.ask_with_head(method, path, body)[:2]

    def ask_with_head(self, method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20 * PATIENCE)
        c.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body))
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, json.loads(text) if text else None, r.headers

    def begin(self, path, length):
        """A connection that has sent the head of a request whose body has so many bytes."""
        c = socket.create_connection(("127.0.0.1", self.port), timeout=20 * PATIENCE)
        c.sendall(b"POST %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % (path.encode(), length))
        return c

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30 * PATIENCE)


def fp32(data, *shape, name="input", datatype="FP32"):
    return {"name": name, "datatype": datatype, "shape": list(shape), "data": data}


def test_predictions(t):
    s = Server(t)
    url = f"http://127.0.0.1:{s.port}/v2/models/line/infer"
    done = sh("curl", "-s", "-f", url, "-d", json.dumps({"id": "7", "inputs": [fp32([1, 2, 3, 4], 2, 2)]}))
    assert done.code == 0 and json.loads(done.out) == {
        "model_name": "line", "model_version": "1", "id": "7",
        "outputs": [{"name": "dense", "datatype": "FP32", "shape": [2, 1], "data": [22.5, 46.5]}]}, done
    nested = {"inputs": [fp32([[1, 2], [0.1, 0]], 2, 2, datatype="FP64")]}
    status, answer = s.ask("POST", "/v2/models/line/versions/1/infer", nested)
    assert status == 200 and [round(y, 5) for y in answer["outputs"][0]["data"]] == [22.5, 0.7] and "id" not in answer, answer
    status, answer = s.ask("POST", "/v2/models/g/infer", {"inputs": [fp32([5, 6], 1, 2, name="right"), fp32([4], 1, 1, name="left")]})
    assert (status, answer["outputs"]) == (200, [{"name": "sum", "datatype": "FP32", "shape": [1, 3], "data": [4, 5, 15]}]), answer
    status, answer = s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([9007199254740994, 1 << 80], 1, 2, datatype="FP64")]})
    assert status == 200 and abs(answer["outputs"][0]["data"][0] / (10 * 2.0 ** 80) - 1) < 1e-6, answer  # exact integers beyond 2^53
    with concurrent.futures.ThreadPoolExecutor(16) as many:
        asked = [many.submit(s.ask, "POST", "/v2/models/line/infer", {"inputs": [fp32([i, 0], 1, 2)]}) for i in range(100)]
        assert [a.result()[1]["outputs"][0]["data"] for a in asked] == [[2 * i + 0.5] for i in range(100)]
    assert s.end() == 0


def test_the_outputs_that_are_asked_for(t):
    s = Server(t, "two.ckpt")
    for asked, want in ((None, ["small", "great"]), ([], ["small", "great"]), (["great"], ["great"]), (["great", "small"], ["great", "small"])):
        body = {"inputs": [fp32([3], 1, 1, name="x")]}
        if asked is not None:
            body["outputs"] = [{"name": name} for name in asked]
        status, answer = s.ask("POST", "/v2/models/two/infer", body)
        values = {"small": [3], "great": [300]}
        assert status == 200 and [(y["name"], y["data"]) for y in answer["outputs"]] == [(name, values[name]) for name in want], (asked, answer)


def test_what_it_tells(t):
    s = Server(t, "stores.ckpt", "indices.ckpt")
    assert s.ask("GET", "/v2/health/live") == (200, None) and s.ask("GET", "/v2/health/ready") == (200, None)
    assert s.ask("GET", "/v2/models/line/ready") == (200, None)
    assert s.ask("GET", "/v2")[1]["name"] == "firesteel-worker"
    assert s.ask("GET", "/v2/models/g") == (200, {
        "name": "g", "versions": ["1"], "platform": "firesteel",
        "inputs": [{"name": "left", "datatype": "FP32", "shape": [-1, 1]}, {"name": "right", "datatype": "FP32", "shape": [-1, 2]}],
        "outputs": [{"name": "sum", "datatype": "FP32", "shape": [-1, 3]}]})
    assert s.ask("GET", "/v2/models/stores")[1]["inputs"][0] == {"name": "store", "datatype": "FP32", "shape": [-1, 2]}
    assert s.ask("GET", "/v2/models/indices")[1]["inputs"][0] == {"name": "input", "datatype": "INT64", "shape": [-1, 2]}
    assert s.ask("GET", "/v2/models/indices/config")[1] == {
        "name": "indices", "platform": "firesteel", "backend": "", "max_batch_size": 64,
        "input": [{"name": "input", "data_type": "TYPE_INT64", "dims": [2]}], "output": [{"name": "embedding", "data_type": "TYPE_FP32", "dims": [2, 3]}],
        "dynamic_batching": {"max_queue_delay_microseconds": 0}}
    for rows in (1, 2):
        assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2] * rows, rows, 2)]})[0] == 200
    assert s.ask("POST", "/v2/models/line/infer", {"inputs": []})[0] == 400
    stats = s.ask("GET", "/v2/models/line/versions/1/stats")[1]["model_stats"]
    assert [(m["name"], m["version"], m["inference_count"], m["execution_count"]) for m in stats] == [("line", "1", 3, 2)], stats
    assert stats[0]["inference_stats"]["success"]["count"] == 2 and stats[0]["inference_stats"]["fail"]["count"] == 1, stats
    assert abs(stats[0]["last_inference"] / 1000 - time.time()) < 600 and stats[0]["inference_stats"]["success"]["ns"] > 0, stats
    assert [m["name"] for m in s.ask("GET", "/v2/models/stats")[1]["model_stats"]] == ["line", "g", "stores", "indices"]
    index = [{"name": name, "version": "1", "state": "READY", "reason": ""} for name in ("line", "g", "stores", "indices")]
    assert s.ask("POST", "/v2/repository/index") == (200, index) and s.ask("GET", "/v2/repository/index") == (200, index)
    for path, says in (("/v2/models/x/infer", "there is no model x; there is line, g, stores, indices"), ("/v2/models/line/versions/2/infer", "the model line has version 1 alone, no version 2"),
                       ("/v2/models/line/explain", "a model has no /explain; it has /infer, /ready, /config and /stats"), ("/v3", "there is no /v3; models are below /v2/models/"),
                       ("/v2/models/", "there is no /v2/models/;"), ("/v2/models/line/versions/", "no version")):
        status, answer = s.ask("POST" if path.endswith("infer") else "GET", path)
        assert status == 404 and says in answer["error"], (path, status, answer)
    assert s.ask("GET", "/v2/models/line")[1]["inputs"] == [{"name": "input", "datatype": "FP32", "shape": [-1, 2]}]


def test_what_is_wrong(t):
    s = Server(t)
    infer = "/v2/models/line/infer"
    good = fp32([1, 2], 1, 2)
    for body, says in (("{", "line 1"), ("[]", "1 inputs, the request 0"), ({"inputs": [good, good]}, "1 inputs, the request 2"),
                       ({"inputs": [fp32([1, 2, 3], 1, 3)]}, "2"), ({"inputs": [fp32([1], 1, 2)]}, "data has 1"),
                       ({"inputs": [fp32([4], 1)]}, "input input: shape is the number of rows, then"),
                       ({"inputs": [fp32([1, 2, 3], 1, 2)]}, "asks for 2 values, data has 3"), ({"inputs": [fp32(["a", 2], 1, 2)]}, "no number"),
                       ({"inputs": [fp32([1, 2], 1 << 40, 1 << 40)]}, "shape"), ({"inputs": [fp32([1, 2], 1 << 30, 2)]}, "data has 2"),
                       ({"inputs": [fp32([1, 2], 0, 2)]}, "shape"), ({"inputs": [fp32([], *[1] * 9)]}, "shape"),
                       ({"inputs": [fp32([1, 2], 1, 2, datatype="BYTES")]}, "BYTES"), ({"inputs": [{"name": "input"}]}, "datatype"),
                       ({"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 2]}]}, "no data"),
                       ({"inputs": [{**good, "name": "x"}]}, "the model has no input x; it has input"),
                       ({"inputs": [{k: v for k, v in good.items() if k != "name"}]}, "an input has no name; the model has input"),
                       ({"inputs": [good], "outputs": [{"name": "line"}]}, "the model has no output line; it has dense"),
                       ({"inputs": [good], "outputs": [{}]}, "an output has no name; the model has dense"),
                       ({"inputs": [good], "outputs": [{"name": "dense"}] * 2}, "output dense is asked for twice"),
                       ({"inputs": [good], "outputs": {"name": "dense"}}, "outputs is a list"), ({"id": 7, "inputs": [good]}, "id is a string")):
        status, answer = s.ask("POST", infer, body)
        assert status == 400 and says in answer["error"], (body, status, answer)
    status, answer = s.ask("POST", "/v2/models/g/infer", {"inputs": [fp32([1], 1, 1, name="left"), fp32([1, 2, 3, 4], 2, 2, name="right")]})
    assert status == 400 and "rows" in answer["error"], answer
    status, answer = s.ask("POST", "/v2/models/g/infer", {"inputs": [fp32([1], 1, 1, name="left"), fp32([1, 2], 1, 2, name="rite")]})
    assert status == 400 and "the model has no input rite; it has left, right" in answer["error"], answer
    status, answer = s.ask("POST", "/v2/models/g/infer", {"inputs": [fp32([1], 1, 1, name="left")] * 2})
    assert status == 400 and "input left is given twice" in answer["error"], answer
    for method, path, code in (("GET", infer, 405), ("POST", "/v2/models/line", 405), ("DELETE", "/v2", 405), ("GET", "/", 404),
                               ("GET", "/v2/models/lin", 404), ("GET", "/v2/models/line2/ready", 404), ("POST", "/v2/models/line/infer2", 404),
                               ("GET", "/v2/models/line/versions/2", 404)):
        status, answer = s.ask(method, path)
        assert status == code and answer["error"], (method, path, status)
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20 * PATIENCE)
    c.request("POST", infer, b"{}\0\0", {"Inference-Header-Content-Length": "2"})
    assert "binary data is not taken" in json.load(c.getresponse())["error"]
    c.close()
    status, answer = s.ask("POST", infer, " " * (65 << 20))
    assert status == 413, (status, answer)
    assert s.ask("POST", infer, {"inputs": [good]})[0] == 200  # it goes on


def test_the_size_of_an_answer(t):
    """A request of 400 kB would ask for 200 million numbers."""
    s = Server(t, "wide.ckpt")
    status, answer = s.ask("POST", "/v2/models/wide/infer", {"inputs": [fp32([0] * 200000, 200000, 1)]})
    assert status == 400 and "200000 rows" in answer["error"] and str(4 << 20) in answer["error"], answer
    assert s.ask("POST", "/v2/models/wide/infer", {"inputs": [fp32([0] * 4195, 4195, 1)]})[0] == 400  # 697 numbers too many
    status, answer = s.ask("POST", "/v2/models/wide/infer", {"inputs": [fp32([0] * 1000, 1000, 1)]})
    assert status == 200 and answer["outputs"][0]["data"] == [0] * 1000000, status
    assert s.end() == 0


def test_the_end(t):
    """A request that has begun is answered, new ones are not taken; a client that only waits does not keep it."""
    s = Server(t)
    idle = socket.create_connection(("127.0.0.1", s.port))
    body = json.dumps({"inputs": [fp32([1, 2], 1, 2)]}).encode()
    slow = socket.create_connection(("127.0.0.1", s.port))
    slow.sendall(b"POST /v2/models/line/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:10])
    time.sleep(0.3)
    s.process.send_signal(signal.SIGTERM)
    assert s.process.stdout.readline() == "ending\n"

    def is_closed():
        try:
            socket.create_connection(("127.0.0.1", s.port), timeout=1).close()
            return False
        except OSError:
            return True
    eventually(is_closed, 10)
    slow.sendall(body[10:])
    answer = b""
    while piece := slow.recv(4096):
        answer += piece
    assert answer.startswith(b"HTTP/1.1 200 ") and b"22.5" in answer and b"close" in answer, answer
    assert s.process.wait(10 * PATIENCE) == 0
    idle.close()
    s = Server(t)
    slow = socket.create_connection(("127.0.0.1", s.port))
    slow.sendall(b"POST /v2/models/line/infer HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
    time.sleep(0.3)
    s.process.send_signal(signal.SIGTERM)
    assert s.process.stdout.readline() == "ending\n"
    s.process.send_signal(signal.SIGTERM)  # who insists
    assert s.process.wait(5 * PATIENCE) == -signal.SIGTERM


def test_it_answers_until_nobody_asks_it_any_more(t):
    """Who sends it requests learns of its end a little later: until then it answers, and each answer closes its connection."""
    s = Server(t, "--drain=3")
    kept = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20 * PATIENCE)
    body = json.dumps({"inputs": [fp32([1, 2], 1, 2)]})

    def predict(connection):
        connection.request("POST", "/v2/models/line/infer", body)
        r = connection.getresponse()
        r.read()
        return r.status, r.headers["Connection"]
    assert predict(kept) == (200, None)
    began = time.monotonic()
    s.process.send_signal(signal.SIGTERM)
    eventually(lambda: s.ask("GET", "/v2/health/ready")[0] == 503, 2)
    assert predict(kept) == (200, "close")
    answers = 0
    while s.process.poll() is None and time.monotonic() - began < 2.5:
        status, _, head = s.ask_with_head("POST", "/v2/models/line/infer", body)
        assert (status, head["Connection"]) == (200, "close"), (status, head)
        answers += 1
    assert answers > 10 and s.process.wait(20 * PATIENCE) == 0 and time.monotonic() - began >= 3, answers


def waits(s, body):
    """A prediction that was asked for and has no answer after two seconds: it waits for another. None if it is answered."""
    c = s.begin("/v2/models/line/infer", len(body))
    c.sendall(body)
    c.settimeout(2 * PATIENCE)
    try:
        c.recv(4096)
    except TimeoutError:
        c.settimeout(20 * PATIENCE)
        return c
    c.close()
    return None


def test_predictions_take_turns(t):
    """While one goes on the server tells of itself; 64 may wait; at the end, those that are not ready are cancelled."""
    s = Server(t, "--grace=1", "deep.ckpt")
    with concurrent.futures.ThreadPoolExecutor(81) as many:
        rows, small = 2000000, {"inputs": [fp32([1, 2], 1, 2)]}
        long = many.submit(s.ask_with_head, "POST", "/v2/models/deep/infer", {"inputs": [fp32([0] * rows, rows, 1)]})
        first = eventually(lambda: waits(s, json.dumps(small).encode()), 60)
        others = [many.submit(s.ask_with_head, "POST", "/v2/models/line/infer", small) for _ in range(79)]
        eventually(lambda: sum(o.done() for o in others) >= 17, 30)
        for path in ("/v2/health/live", "/v2/health/ready", "/v2/models/deep", "/v2"):
            assert s.ask("GET", path)[0] == 200, path
        refused = [o.result() for o in others if o.done()]
        assert not long.done() and len(refused) == 17, (long, len(refused))
        assert all(r[0] == 503 and "64 predictions" in r[1]["error"] and r[2]["Retry-After"] == "1" for r in refused), refused
        s.process.send_signal(signal.SIGTERM)
        assert s.process.wait(60 * PATIENCE) == 0
        assert [f.result()[0] for f in (long, *others)] == [503] * 80
        assert first.recv(4096).startswith(b"HTTP/1.1 503 ")


def test_the_sum_of_bodies(t):
    """Bodies in memory are bounded together: slow ones that hold much go, short requests are answered meanwhile. What no model wants is not kept."""
    s = Server(t)
    part = b'{"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 2], "data": [' + b"0," * 4100000
    begun = [s.begin("/v2/models/line/infer", len(part) + 100) for _ in range(30)]  # of 16 MiB each, where 256 may be held

    def send(c):
        with contextlib.suppress(ConnectionError, TimeoutError):
            c.sendall(part)
    with concurrent.futures.ThreadPoolExecutor(30) as many:
        list(many.map(send, begun))
        assert s.ask("POST", "/v2/models/no/infer", " " * (7 << 20))[0] == 404
        for _ in range(20):
            assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2], 1, 2)]})[0] == 200

    def takes_a_long_one():
        rows = 1000000
        status, answer, head = s.ask_with_head("POST", "/v2/models/line/infer", {"inputs": [fp32([0] * rows * 2, rows, 2)]})
        assert status == 200 or (status == 503 and "memory" in answer["error"] and head["Retry-After"]), (status, answer)
        return status == 200
    eventually(takes_a_long_one, 30)
    held = numbers(s)[0]
    assert held["firesteel_held_bytes"] <= 256 << 20, held
    assert SANITIZED or memory(s) < 420 << 20, memory(s)  # what is held, and what 32 lanes read into
    for c in begun:
        c.close()
    eventually(lambda: numbers(s)[0]["firesteel_held_bytes"] == 0, 20)
    assert s.end() == 0


def ends(c, seconds, drip=None):
    """Whether the connection is closed within so many seconds, though it gets a byte now and then."""
    end = time.monotonic() + seconds
    c.settimeout(0.2)
    while time.monotonic() < end:
        try:
            if drip:
                c.sendall(drip)
            if not c.recv(65536):
                return True
        except TimeoutError:
            pass
        except OSError:
            return True
    return False


def test_heads_and_answers_have_their_time(t):
    """In total, however they come: a silent connection, a head that drips, one after an answer, an answer that nobody reads."""
    s = Server(t, "--head=2", "--answer=2", "wide.ckpt")

    def connect(*first):
        c = socket.create_connection(("127.0.0.1", s.port), timeout=20 * PATIENCE)
        for piece in first:
            c.sendall(piece)
        return c
    assert ends(connect(), 8 * PATIENCE)
    assert ends(connect(), 8 * PATIENCE, drip=b"G")
    assert ends(connect(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nX-a: "), 8 * PATIENCE, drip=b"a")
    c = connect(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
    assert c.recv(4096).startswith(b"HTTP/1.1 200 ") and ends(c, 8 * PATIENCE)
    body = json.dumps({"inputs": [fp32([0] * 4000, 4000, 1)]}).encode()
    c = socket.socket()
    c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    c.connect(("127.0.0.1", s.port))
    c.sendall(b"POST /v2/models/wide/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    eventually(lambda: numbers(s)[0]["firesteel_held_bytes"] > 1 << 20, 20)
    eventually(lambda: numbers(s)[0]["firesteel_held_bytes"] == 0, 20)
    assert numbers(s)[0]["firesteel_connections_shown_out_total"] >= 5
    c.close()
    assert s.end() == 0


def test_strangers_do_not_keep_others_out(t):
    """More slow connections than there is room for, of every kind; the room is what the limit of open files leaves."""
    s = Server(t, "wide.ckpt", files=400)
    assert "240 connections at a time, not 16384: it may have 400 open files" in s.said(), s.said()
    wide = json.dumps({"inputs": [fp32(list(range(200)), 200, 1)]}).encode()
    post = b"POST /v2/models/%s/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    kinds = (b"", b"G", b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nX-a: ", post % (b"line", 1000) + b'{"inputs": [',
             post % (b"line", 1000000) + b'{"inputs": [{"data": [' + b"0," * 30000, post % (b"wide", len(wide)) + wide)
    strangers = []

    def come(first):
        with contextlib.suppress(OSError):
            c = socket.create_connection(("127.0.0.1", s.port), timeout=20 * PATIENCE)
            strangers.append(c)
            c.sendall(first)
    for first in kinds:
        for _ in range(300):
            come(first)
        for _ in range(20):
            assert s.ask("GET", "/v2/health/live")[0] == 200, first
            if first is not kinds[-1]:
                assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2], 1, 2)]})[0] == 200, first
        # The last ones ask for predictions, too: more than 64 may wait for a moment.
        assert eventually(lambda: s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2], 1, 2)]})[0] == 200, 20)
    rows = 100000
    assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1] * rows * 2, rows, 2)]})[0] == 200  # a long one, too
    found = numbers(s)[0]
    assert found["firesteel_connections"] <= found["firesteel_connections_most"] == 240 and found["firesteel_connections_shown_out_total"] > 1000, found
    for c in strangers:
        c.close()
    eventually(lambda: numbers(s)[0]["firesteel_connections"] == 1, 20)
    assert s.end() == 0


def raw(s, *pieces, end=True):
    """What comes back on a connection that sends these pieces, to its end."""
    c = socket.create_connection(("127.0.0.1", s.port), timeout=20 * PATIENCE)
    for i, piece in enumerate(pieces):
        time.sleep(0.05 if i else 0)
        c.sendall(piece)
    if end:
        with contextlib.suppress(OSError):
            c.shutdown(socket.SHUT_WR)
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := c.recv(65536):
            got += piece
    c.close()
    return got


def test_how_requests_are_framed(t):
    """One way to say where a body ends; a length that is too great is refused before the body comes; pieces, HTTP/1.0, several at once."""
    s = Server(t, "--body-size=64k")
    body = json.dumps({"inputs": [fp32([1, 2], 1, 2)]}).encode()
    post = b"POST /v2/models/line/infer HTTP/1.1\r\nHost: x\r\n"
    sized = post + b"Content-Length: %d\r\n\r\n" % len(body) + body
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(body[i:i + 7]), body[i:i + 7]) for i in range(0, len(body), 7)) + b"0\r\n\r\n"
    metrics = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    for head, code in ((b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400), (b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
                       (b"Transfer-Encoding: gzip, chunked\r\n", 400), (b"Transfer-Encoding: identity\r\n", 400),
                       (b"Content-Length: 5\r\nContent-Length: 6\r\n", 400), (b"Content-Length: 65537\r\n", 413), (b"Content-Length: 70000000\r\n", 413)):
        got = raw(s, post + head + b"\r\n", end=False)  # it waits for no body
        assert got.startswith(b"HTTP/1.1 %d " % code) and b"Connection: close" in got, (head, got)
        got = raw(s, post + head + b"\r\n0\r\n\r\n" + metrics, end=False)
        assert got.startswith(b"HTTP/1.1 %d " % code) and got.count(b"HTTP/1.1") == 1, (head, got)  # what follows is no request
    assert b"HTTP/1.0 has no Transfer-Encoding" in raw(s, post.replace(b"1.1", b"1.0") + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    for pieces in ((sized,), (post + b"Transfer-Encoding: chunked\r\n\r\n" + chunks,), tuple(sized[i:i + 40] for i in range(0, len(sized), 40)),
                   (sized.replace(b"1.1", b"1.0"),)):
        got = raw(s, *pieces)
        assert got.startswith(b"HTTP/1.") and b" 200 " in got[:15] and b"22.5" in got, (pieces, got)
    got = raw(s, sized + metrics + sized + sized.replace(b"/line/", b"/no/") + metrics)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"200", b"200", b"200", b"404", b"200"], got
    waits = post + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    c = socket.create_connection(("127.0.0.1", s.port), timeout=20 * PATIENCE)
    c.sendall(waits % len(body))
    assert c.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    c.sendall(body)
    assert c.recv(4096).startswith(b"HTTP/1.1 200 ")
    c.close()
    assert raw(s, waits % 70000, end=False).startswith(b"HTTP/1.1 413 ")
    assert raw(s, (waits % 10).replace(b"/line/", b"/no/"), end=False).startswith(b"HTTP/1.1 404 ")  # it need not send it
    for head in (b"X-a: " + b"a" * 100000 + b"\r\n", b"X-a: b\r\n" * 20000):
        assert raw(s, post + head + b"Content-Length: 5\r\n\r\n")[9:12] == b"431", head[:20]
    long = {"inputs": [fp32([0] * 40000, 20000, 2)]}
    assert s.ask("POST", "/v2/models/line/infer", long)[0] == 413 and s.ask("POST", "/v2/models/line/infer", json.dumps(long)[:60000])[0] == 400
    assert s.ask("POST", "/v2/models/line/infer", body.decode())[0] == 200
    assert s.end() == 0


def test_packed_bodies(t):
    """gzip and deflate are unpacked, and what comes out has the limit of a body; other codings are refused by 415."""
    s = Server(t)
    body = json.dumps({"inputs": [fp32([1, 2], 1, 2)]}).encode()

    def ask(coding, bytes_):
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20 * PATIENCE)
        c.request("POST", "/v2/models/line/infer", bytes_, {"Content-Encoding": coding})
        r = c.getresponse()
        answer = json.load(r)
        c.close()
        return r.status, answer.get("error") or answer["outputs"][0]["data"], r.headers
    for coding, packed in (("gzip", gzip.compress(body)), ("x-gzip", gzip.compress(body)), ("deflate", zlib.compress(body)), ("GZIP", gzip.compress(body)),
                           ("gzip", gzip.compress(body[:9]) + gzip.compress(body[9:])), ("identity", body)):
        assert ask(coding, packed)[:2] == (200, [22.5]), coding
    for coding, packed, code, says in (("gzip", gzip.compress(body)[:-9], 400, "cut off"), ("gzip", body, 400, "damaged"), ("gzip", b"", 400, "cut off"),
                                       ("gzip", gzip.compress(body[:30]), 400, "not JSON"), ("br", body, 415, "br is not taken; gzip and deflate are"),
                                       ("gzip, gzip", body, 415, "not taken"), ("gzip", gzip.compress(b"[" + b" " * (40 << 20)), 400, "64 KiB"),
                                       ("gzip", gzip.compress(body[:-4] + b", " + b"0, " * (20 << 20)), 413, "8388608 bytes")):
        status, error, headers = ask(coding, packed)
        assert status == code and says in error, (coding, status, error)
        assert (status == 415) == (headers["Accept-Encoding"] == "gzip, deflate"), headers
    assert s.end() == 0


def test_what_a_body_says_it_has_to_hold(t):
    """What is left open elsewhere: twice the same, lists that are ragged, values that are not of their datatype, depth."""
    s = Server(t)
    good = json.dumps(fp32([1, 2], 1, 2))

    def data(text, shape="[1, 2]", datatype="FP32"):
        return '{"inputs": [{"name": "input", "datatype": "%s", "shape": %s, "data": %s}]}' % (datatype, shape, text)
    for body, says in ((data("[1, 2]").replace('"data"', '"data": [1, 2], "data"'), "data twice"), ('{"inputs": [%s], "inputs": [%s]}' % (good, good), "inputs is given twice"),
                       (data("[1, 2]").replace('"shape"', '"shape": [2, 1], "shape"'), "shape is given twice"), (data("[1, 2]").replace('"data"', '"d\\u0061ta"'), "no escapes"),
                       (data("[[1], [2, 3], [4]]", "[2, 2]"), "ragged"), (data("[[1, 2], [3], [4]]", "[2, 2]"), "ragged"), (data("[[1, 2], 3, 4]", "[2, 2]"), "ragged"), (data("[1, [2]]"), "ragged"),
                       (data("[[1, 2, 3], [4, 5, 6]]", "[3, 2]"), "nested as (2, 3), its shape is (3, 2)"), (data("[[[[1, 2]]]]"), "nested as (1, 1, 1, 2)"),
                       (data("[" * 9 + "1, 2" + "]" * 9), "deeper"), (data("[" * 100000), "deeper"), ("[" * 100000, "KiB"), ('{"a":' * 2000 + "1" + "}" * 2000, "nest"),
                       (data('["1", "2"]'), "number 0 of data (row 0) is no number"), (data("[1, null]"), "number 1 of data (row 0) is no number"),
                       (data("[1, {}]"), "no objects"), (data("[1, NaN]"), "no number"), (data("[1, 01]"), "no number"), (data("[1, .5]"), "no number"),
                       (data("[1 2]"), "out of place"), (data("[1, 2,]"), "out of place"), (data("[1,, 2]"), "out of place"), (data("[1, 2").rstrip("}]"), "ends within data"),
                       (data("[0, 0, 1, 1e999]", "[2, 2]"), "number 3 of data (row 1) is 1e999, beyond FP32"), (data("[0, -1e39]"), "beyond FP32"),
                       (data("[1, 2.5]", datatype="INT32"), "is 2.5, no INT32"), (data("[1, 300]", datatype="UINT8"), "is 300, beyond UINT8"),
                       (data("[-1, 2]", datatype="UINT64"), "is -1, beyond UINT64"), (data("[1, 2]", datatype="BOOL"), "is 2, beyond BOOL"),
                       (data("[1, %s]" % ("1" * 2000)), "1000 characters"), (data("[1, 2]") + "x", "around its data"), (data("[1, 2]")[:-1], "around its data"),
                       (data("[]"), "data has 0"), (data("[1, 2]", "[4294967296, 4294967296]"), "shape"), (data("[1, 2]", "[0, 2]"), "shape"), (data("[1, 2]", "[-1, 2]"), "shape"),
                       ('{"id": "%s", "inputs": [%s]}' % ("x" * 70000, good), "64 KiB"), ('{"inputs": [%s]}' % ", ".join([good] * 65), "up to 64 inputs"),
                       ("", "JSON"), ("null", "inputs"), ('{"inputs": [1]}', "an input has no name"), ('{"inputs": {"data": [1, 2]}}', "inputs")):
        status, answer = s.ask("POST", "/v2/models/line/infer", body)
        assert status == 400 and says in answer["error"], (body[:200], status, answer)
    for body in (data("[[1, 2]]"), data(" [\n1e0\t,\r2.0 ] "), data("[true, 2]"), data("[1, 2]", datatype="UINT8"),
                 '{"inputs": [{"data": [1, 2], "shape": [1, 2], "datatype": "FP32", "name": "input", "parameters": {"data": [7]}}], "parameters": {"inputs": [{"data": [1]}]}}'):
        status, answer = s.ask("POST", "/v2/models/line/infer", body)
        assert status == 200, (body, status, answer)
    assert s.end() == 0


def memory(s):
    """The most that the server has taken so far, in bytes."""
    with open(f"/proc/{s.process.pid}/status", encoding="utf-8") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read())[1]) << 10


def test_what_a_request_costs(t):
    """At most three times its tensor; its body is no part of that."""
    if SANITIZED:
        raise Skip("sanitizers keep what was freed")
    for size, number, n in (("8m", "0", 4000000), ("64m", "0.12345", 6000000)):
        s = Server(t, "--body-size=" + size)
        before = memory(s)
        body = '{"inputs": [{"name": "input", "datatype": "FP32", "shape": [%d, 2], "data": [%s]}]}' % (n // 2, ",".join([number] * n))
        assert s.ask("POST", "/v2/models/line/infer", body)[0] == 200
        assert memory(s) - before <= 3 * 4 * n, (size, memory(s) - before, 4 * n)
        assert s.end() == 0


def test_who_leaves_while_it_is_predicted(t):
    s = Server(t, "deep.ckpt")
    rows = 20000
    body = json.dumps({"inputs": [fp32([0] * rows, rows, 1)]}).encode()
    c = s.begin("/v2/models/deep/infer", len(body))
    c.sendall(body)
    eventually(lambda: numbers(s)[0]["firesteel_requests_waiting"] > 0, 20)
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
    c.close()
    assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2], 1, 2)]})[0] == 200
    eventually(lambda: numbers(s)[0]["firesteel_connections"] == 1 and numbers(s)[0]["firesteel_held_bytes"] == 0, 20)
    assert s.end() == 0


def test_a_body_that_drips(t):
    s = Server(t, "--body=2")
    slow = s.begin("/v2/models/line/infer", 1000)
    with contextlib.suppress(ConnectionError):
        for _ in range(200):
            slow.sendall(b" ")
            time.sleep(0.1)
        raise AssertionError("a body took 20 s")
    assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2], 1, 2)]})[0] == 200
    assert s.end() == 0


def numbers(s):
    """{name: value} of /metrics, and what each is."""
    c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=20 * PATIENCE)
    c.request("GET", "/metrics")
    r = c.getresponse()
    text = r.read().decode()
    assert r.headers["Content-Type"].startswith("text/plain; version=0.0.4"), r.headers
    lines = [line for line in text.splitlines() if line[:1] != "#"]
    kinds = {line.split()[2]: line.split()[3] for line in text.splitlines() if line.startswith("# TYPE")}
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}, kinds


def test_requests_are_predicted_together(t):
    """Those that wait while a prediction goes on are one batch, of the same bits; what does not fit is no part of it."""
    s = Server(t, "--max-latency=300", "--max-batch-size=40", "deep.ckpt")
    alone = Server(t, "--max-batch-size=1", "deep.ckpt")
    with concurrent.futures.ThreadPoolExecutor(40) as many:
        def ask(i):
            body = {"inputs": [fp32([i / 7, -i / 3], 2, 1)]}
            return s.ask("POST", "/v2/models/deep/infer", body)[1]["outputs"][0]["data"]
        got = list(many.map(ask, range(20)))  # 40 rows: a full batch does not wait
    want = [alone.ask("POST", "/v2/models/deep/infer", {"inputs": [fp32([i / 7, -i / 3], 2, 1)]})[1]["outputs"][0]["data"] for i in range(20)]
    assert all(abs(a - b) <= 1e-6 for x, y in zip(got, want) for a, b in zip(x, y)), (got, want)
    found, kinds = numbers(s)
    assert found['firesteel_rows_total{model="deep"}'] == 40 and found['firesteel_batched_requests_total{model="deep"}'] == 20, found
    assert found['firesteel_batches_total{model="deep"}'] < 20, found
    assert numbers(alone)[0]['firesteel_batches_total{model="deep"}'] == 20
    assert kinds["firesteel_request_duration_seconds"] == "histogram" and kinds["firesteel_requests_total"] == "counter", kinds
    # One that is wrong spoils no other.
    with concurrent.futures.ThreadPoolExecutor(8) as many:
        asked = [many.submit(s.ask, "POST", "/v2/models/line/infer", {"inputs": [fp32([i, 0], 1, 2 + (i == 3))]}) for i in range(8)]
        assert [a.result()[0] for a in asked] == [400 if i == 3 else 200 for i in range(8)]
    found, _ = numbers(s)
    assert found['firesteel_requests_total{model="line",code="200"}'] == 7 and found['firesteel_requests_total{model="line",code="400"}'] == 1, found
    buckets = [v for k, v in found.items() if k.startswith('firesteel_request_duration_seconds_bucket{model="line"')]
    assert buckets == sorted(buckets) and buckets[-1] == found['firesteel_request_duration_seconds_count{model="line"}'] == 8, found
    assert s.end() == 0


def test_a_value_that_a_table_has_not_fails_its_own_request(t):
    """An index outside of an Embedding is told with its row in the request, and those that wait beside it are predicted."""
    s = Server(t, "--max-latency=300", "--max-batch-size=17", "stores.ckpt")

    def ask(index):
        return s.ask("POST", "/v2/models/stores/infer", {"inputs": [fp32([3, 4, 0, index], 2, 2, name="store", datatype="INT64"),
                                                                    fp32([1, 2], 2, 1, name="rest")]})
    with concurrent.futures.ThreadPoolExecutor(8) as many:
        got = list(many.map(ask, (9, 0, 30, 5, -1, 1, 1.5, 2)))
    assert [status for status, _ in got] == [200, 200, 400, 200, 400, 200, 400, 200], got
    for i, value in ((2, "30"), (4, "-1")):
        assert got[i][1]["error"] == f"input store: stores expects indices from 0 to 9, but row 1 of x holds {value}", got[i]
    assert got[6][1]["error"] == "input store: number 3 of data (row 1) is 1.5, no INT64", got[6]
    assert s.end() == 0


def test_requests_are_recorded(t):
    """JSON lines of requests that were answered; a full file is followed by another, and the oldest goes."""
    s = Server(t, "--record=seen", "--record-size=1", "--record-files=2")
    pretty = json.dumps({"id": "a", "inputs": [fp32([1, 2], 1, 2)]}, indent=2)
    assert s.ask("POST", "/v2/models/line/infer", pretty)[0] == 200
    assert s.ask("POST", "/v2/models/line/infer", "{")[0] == 400
    folder = os.path.join(s.dir, "seen")

    def lines():
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                yield from map(json.loads, f)
    seen = list(lines())
    assert len(seen) == 1 and seen[0]["model"] == "line" and seen[0]["request"]["id"] == seen[0]["answer"]["id"] == "a", seen
    assert seen[0]["request"]["inputs"][0]["data"] == [1, 2] and seen[0]["answer"]["outputs"][0]["data"] == [22.5] and seen[0]["seconds"] < 60, seen
    rows = 20000
    for _ in range(12):  # of 0.2 MB each
        assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1] * rows * 2, rows, 2)]})[0] == 200
    names = sorted(os.listdir(folder))
    assert len(names) == 2 and names[0].endswith("-000002.jsonl"), names
    assert {os.stat(os.path.join(folder, n)).st_mode & 0o777 for n in names} == {0o600}
    assert all(os.path.getsize(os.path.join(folder, n)) <= 1 << 20 for n in names) and len(list(lines())) < 13
    assert numbers(s)[0]["firesteel_lost_records_total"] == 0
    assert s.end() == 0


def test_records_go_into_files_of_its_own(t):
    """Neither into a file that is there, nor through a link, nor past a number that is no number of ours."""
    folder = t.dir()
    host = socket.gethostname()[:64]
    elsewhere = os.path.join(t.dir(), "elsewhere")
    with open(elsewhere, "w", encoding="utf-8") as f:
        f.write("kept\n")
    os.symlink(elsewhere, os.path.join(folder, host + "-000001.jsonl"))
    for name in (f"{host}-9223372036854775807.jsonl", f"{host}-.jsonl", f"{host}--7.jsonl"):
        with open(os.path.join(folder, name), "w", encoding="utf-8"):
            pass
    both = [Server(t, "--record=" + folder), Server(t, "--record=" + folder)]
    for s in both:
        assert s.ask("POST", "/v2/models/line/infer", {"inputs": [fp32([1, 2], 1, 2)]})[0] == 200
    with open(elsewhere, encoding="utf-8") as f:
        assert f.read() == "kept\n"
    for number in (2, 3):
        with open(os.path.join(folder, f"{host}-{number:06d}.jsonl"), encoding="utf-8") as f:
            assert len(f.readlines()) == 1
    assert [s.end() for s in both] == [0, 0]


def test_usage(t):
    folder = t.dir()
    for words, code, says in (((), 2, "usage"), (("--prot", "1", "x"), 2, "unknown option"), (("--port", "x", "m"), 2, "0 to 65535"), (("--port",), 2, "0 to 65535"), (("--grace=-1", "m"), 2, "0 to"), (("--body", "0", "m"), 2, "1 to"), (("--body-size", "5x", "m"), 2, "as 512k or 64m"), (("--body-size=2g", "m"), 2, "1k to 1g"), (("--body-size=1", "m"), 2, "1k to 1g"),
                              (("no.ckpt",), 1, "no.ckpt"), (("--help",), 0, "usage")):
        done = sh(WORKER, "serve", *words, cwd=folder)
        assert done.code == code and says in done.out + done.err, (words, done)
    s = Server(t)
    done = sh(WORKER, "serve", "--port", str(s.port), "line.ckpt", cwd=s.dir)
    assert done.code == 1 and f"port {s.port}" in done.err, done
    done = sh(WORKER, "serve", "--port", "0", "a=line.ckpt", "a=graph.ckpt", cwd=s.dir, timeout=60)
    assert done.code == 1 and "a: two models have this name" in done.err and not done.out, done
    with open(os.path.join(folder, "serve"), "w", encoding="utf-8") as f:
        f.write("print 'a script'")
    assert sh(WORKER, "serve", cwd=folder).out == "a script\n"


run(globals())
