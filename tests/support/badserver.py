# SPDX-License-Identifier: MIT
"""An API server over plain HTTP that floods, drips and never ends; the name of a namespace decides what its
pods do. For tests in Python that run whole notebooks against it:

    server = Server(t); server.env: where its kubeconfig is; server.asked: how often each thing was asked for

flood: new pods as fast as they can be made | churn: pods that come and go at once | many-N: N pods, and as many
deletions as `server.delete` says | list-N: the same, in a list | endless: a list whose token repeats | empty: a list
of empty pages | storm: every watch is too old | closing: every watch ends at once | drip: a list byte by byte
"""
import collections
import json
import os
import socketserver
import threading
import time

from tap import SANITIZED

POD = ('{"type":"%s","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p%d","namespace":"%s","uid":'
       '"0b7c4f0e-3d4c-4d7e-9f2e-%012d","resourceVersion":"%d","creationTimestamp":"2026-01-02T03:04:05Z"},'
       '"spec":{"containers":[{"name":"main"}]},"status":{"phase":"Running"}}}\n')
RATE, BATCH = 50000, 1000
ENOUGH = 60000   # for a sanitizer: it looks for other things than endurance


def frames(kind, ns, numbers):
    return "".join(POD % (kind, i, ns, i, 100 + i) for i in numbers)


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            while not self.server.stopping and self.one():
                pass
        except OSError:
            pass  # a client has gone away in the middle

    def one(self):
        line = self.rfile.readline().decode()
        while line and self.rfile.readline().strip():
            pass
        if not line:
            return False
        path, _, query = line.split()[1].partition("?")
        parts = path.strip("/").split("/")
        query = dict(q.split("=", 1) for q in query.split("&") if "=" in q)
        if "pods" in parts:
            ns = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
            what = "watch" if "watch" in query else "list"
            self.server.asked[what + " " + ns] += 1
            return getattr(self, what)(ns.partition("-")[0], ns, query)
        if path == "/api":
            pods = {"resource": "pods", "singularResource": "pod", "responseKind": {"kind": "Pod"},
                    "shortNames": ["po"], "scope": "Namespaced", "verbs": ["get", "list", "watch"]}
            return self.answer({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [
                {"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [pods]}]}]})
        if path == "/apis":
            return self.answer({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": []})
        return self.answer({"kind": "Namespace", "major": "1", "minor": "34", "metadata": {"uid": "the-cluster"}})

    def send(self, text):
        self.wfile.write(text if isinstance(text, bytes) else text.encode())

    def answer(self, value):
        body = json.dumps(value)
        self.send(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}")
        return True

    def chunk(self, text):
        self.send(f"{len(text):x}\r\n{text}\r\n")

    def page(self, items=(), **metadata):
        return self.answer({"kind": "PodList", "apiVersion": "v1", "items": list(items),
                            "metadata": {"resourceVersion": "10", **metadata}})

    def list(self, kind, ns, query):
        if kind == "list":
            first, n = int(query.get("continue", 0)), int(ns.partition("-")[2])
            last = min(n, first + int(query.get("limit", n)))
            more = {"continue": str(last)} if last < n else {}
            return self.page([json.loads(f)["object"] for f in frames("", ns, range(first, last)).splitlines()], **more)
        if kind == "endless":
            return self.page([json.loads(frames("", ns, [1]))["object"]], **{"continue": "again"})
        if kind == "empty":
            return self.page(**{"continue": str(time.monotonic())})
        if kind == "drip":
            self.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
            while not self.server.stopping:
                self.send(" ")
                time.sleep(0.05)
            return False
        return self.page()

    def watch(self, kind, ns, query):
        self.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        if kind == "storm":
            self.chunk(json.dumps({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired",
                                                               "message": "too old"}}) + "\n")
        elif kind in ("flood", "churn"):
            self.flood(kind, ns)
        elif kind == "many":
            n = int(ns.partition("-")[2])
            for i in range(0, n, BATCH):
                self.chunk(frames("ADDED", ns, range(i, min(n, i + BATCH))))
            gone = 0
            while not self.server.stopping:
                if gone < self.server.delete:
                    self.chunk(frames("DELETED", ns, range(gone, self.server.delete)))
                    gone = self.server.delete
                time.sleep(0.02)
        elif kind != "closing":
            while not self.server.stopping:
                time.sleep(0.05)
        self.send("0\r\n\r\n")
        return True

    def flood(self, kind, ns):
        start, n = time.monotonic(), 0
        while not self.server.stopping:
            self.chunk(frames("ADDED", ns, range(n, n + BATCH)))
            if kind == "churn":
                self.chunk(frames("DELETED", ns, range(n, n + BATCH)))
            n += BATCH
            self.server.sent = n
            time.sleep(max(0, start + n / RATE - time.monotonic()))
            while SANITIZED and n >= ENOUGH and not self.server.stopping:
                time.sleep(0.05)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, t):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked = collections.Counter()
        self.stopping, self.sent, self.delete = False, 0, 0
        self.dir = t.dir()
        path = os.path.join(self.dir, "kubeconfig")
        with open(path, "w") as f:
            json.dump({"current-context": "bad", "contexts": [{"name": "bad", "context": {"cluster": "bad", "user": "u"}}],
                       "clusters": [{"name": "bad", "cluster": {"server": f"http://127.0.0.1:{self.server_address[1]}"}}],
                       "users": [{"name": "u", "user": {}}]}, f)
        self.env = {"KUBECONFIG": path, "HOME": self.dir}
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        t.after(self.end)

    def end(self):
        self.stopping = True
        self.shutdown()
        self.server_close()
