#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A small API server that misbehaves on demand: the name of an object decides what happens.

    apifake.py DIR [--legacy]     writes certificates, tokens and DIR/kubeconfig, prints "ready PORT"

GET …/pods/NAME: ok | e403 … e503 (that status) | html502 | cut | cut-once-X | truncated | stall |
flaky-N-X (N times 503, then it works) | big. Watches and logs follow scripts, see WATCHES and LOGS.
"""
import base64
import collections
import gzip
import json
import os
import pathlib
import socket
import ssl
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from apichannel import Channel

DIR = pathlib.Path(sys.argv[1])
LEGACY = "--legacy" in sys.argv
SEEN = collections.Counter()  # how often each thing was requested
WATCHED = collections.defaultdict(list)  # namespace: versions from which it was watched
LOG = []  # requests as (method, path, headers), for /_seen
REASONS = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
           409: "Conflict", 410: "Expired", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
           503: "ServiceUnavailable"}
RESOURCES = [  # group, version, plural, singular, kind, short names, namespaced
    ("", "v1", "pods", "pod", "Pod", ["po"], True),
    ("", "v1", "events", "event", "Event", ["ev"], True),
    ("", "v1", "namespaces", "namespace", "Namespace", ["ns"], False),
    ("", "v1", "secrets", "secret", "Secret", [], True),
    ("", "v1", "configmaps", "configmap", "ConfigMap", ["cm"], True),
    ("apps", "v1", "deployments", "deployment", "Deployment", ["deploy"], True),
    ("batch", "v1", "jobs", "job", "Job", [], True),
    ("events.k8s.io", "v1", "events", "event", "Event", ["ev"], True),
    ("sparkoperator.k8s.io", "v1beta2", "sparkapplications", "sparkapplication", "SparkApplication",
     ["sparkapp"], True),
    ("metrics.k8s.io", "v1beta1", "pods", "pod", "PodMetrics", [], True),
    ("metrics.k8s.io", "v1beta1", "nodes", "node", "NodeMetrics", [], False),
]


def pod(name, ns="default", rv="10", **status):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": ns, "uid": "uid-" + name, "resourceVersion": rv,
                         "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"app": name}},
            "spec": {"containers": [{"name": "main", "image": "host"}]},
            "status": {"phase": "Running", **status}}


def status(code, message=None, reason=None, **details):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "reason": reason or REASONS.get(code, ""), "message": message or f"the fake says {code}", "details": details}


def event(kind, obj):
    return {"type": kind, "object": obj}


def bookmark(rv):
    return event("BOOKMARK", {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": rv}})


# As the server prints rows. Only the first frame of a watch has the columns.
COLUMNS = [{"name": "Name", "type": "string", "priority": 0}, {"name": "Word", "type": "string", "priority": 0}]
OTHER_COLUMNS = COLUMNS + [{"name": "More", "type": "string", "priority": 1}]


def table(columns, *objects, rv=None):
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": rv or "10"},
            "columnDefinitions": columns,
            "rows": [{"cells": [o["metadata"]["name"], "v" + o["metadata"]["resourceVersion"]],
                      "object": {k: v for k, v in o.items() if k not in ("kind", "apiVersion")}} for o in objects]}


# Lists of rows with metadata alone: the names of each page. Those with an "s" are to be looked at.
SICK = {"w-sick": [["a", "s1", "s-gone"], ["b", "s2"]], "w-ill": [["a"] + [f"s{i}" for i in range(17)], ["b", "s17"]],
        "w-busy": [["a", "s1"], ["b", "s-once"]], "w-torn-look": [["a"], ["s-once"]], "w-barred": [["a"], ["b", "s1"]],
        "w-whole": [["a", "b"], ["c", "s1"]]}

# Namespace → what each watch in turn does: frames to send, then how it ends ("close", "cut", "hang").
WATCHES = {
    "w-resume": [([event("ADDED", pod("b", "w-resume", "11")), bookmark("15")], "close"),
                 ([event("MODIFIED", pod("a", "w-resume", "16"))], "hang")],
    "w-gone": [([event("ERROR", status(410, "too old resource version"))], "close"),
               ([event("ADDED", pod("c", "w-gone", "21"))], "hang")],
    "w-again": [([event("ERROR", status(410, "too old resource version"))], "close"), ([], "hang")],
    "w-refill": [([event("ERROR", status(410, "too old resource version"))], "close"), ([], "hang")],
    "w-cut": [([event("ADDED", pod("b", "w-cut", "11"))], "cut"),
              ([event("DELETED", pod("a", "w-cut", "12"))], "hang")],
    "w-most": [([event("ADDED", pod("b", "w-most", "11")), event("ADDED", pod("c", "w-most", "12")),
                 event("ADDED", pod("d", "w-most", "13")), event("MODIFIED", pod("c", "w-most", "14")),
                 event("DELETED", pod("a", "w-most", "15")), event("MODIFIED", pod("c", "w-most", "16")),
                 event("DELETED", pod("d", "w-most", "17"))], "hang")],
    "w-table": [([event("ADDED", table(COLUMNS, pod("b", "w-table", "11"))),
                  event("MODIFIED", table(None, pod("a", "w-table", "12"))),
                  event("BOOKMARK", table(None, rv="15"))], "close"),
                 ([event("DELETED", table(COLUMNS, pod("b", "w-table", "16")))], "hang")],
    "w-other": [([event("MODIFIED", table(OTHER_COLUMNS, pod("a", "w-other", "11")))], "hang")],
    "w-sick": [([event("MODIFIED", table(None, pod("b", "w-sick", "11")))], "hang")],
    "w-plain": [([event("ADDED", pod("b", "w-plain", "11"))], "hang")],
    "w-torn": [([event("ADDED", pod("b", "w-torn", "11")), "{\"type\":\"MOD"], "close"),
               ([event("DELETED", pod("b", "w-torn", "12"))], "hang")],
}


def line(second, nano, text):
    return f"2026-01-02T03:04:{second:02d}.{nano:09d}Z {text}\n"


# What a kubelet says instead of a log, with status 200.
EXCUSE = "unable to retrieve container logs for containerd://2595f837"
LOG_FILE = "/var/log/pods/default_swept_uid/main/0.log"
# Pod → the result of each reading of its log in turn: text, then how it ends; or a status and its message. The log of
# the container's run before is at "POD previous".
LOGS = {
    # with its stamp, of exactly two times the longest line that is told in one piece
    "mebibytes": [(line(5, 1, "x" * ((2 << 20) - len(line(5, 1, "")) + 1)) + line(5, 2, "two"), "close")],
    "plain": [(line(5, 1, "one") + line(5, 2, "two") + line(5, 3, "three"), "close")],
    "resume": [(line(5, 1, "one") + line(5, 2, "two"), "cut"),
               (line(5, 1, "one") + line(5, 2, "two") + line(5, 2, "two again") + line(6, 0, "three"), "close")],
    "reread": [(line(5, 1, "one") + line(5, 2, "two"), "cut"), (line(5, 2, "two") + line(6, 0, "three"), "close")],
    "gap": [(line(5, 1, "one"), "cut"), (line(9, 1, "five"), "close")],
    "fresh": [(404, "the server could not find the requested resource ( pods/log fresh)"),
              (400, 'container "main" in pod "fresh" is waiting to start: ContainerCreating'),
              (500, "rpc error: code = NotFound desc = container not found"), (line(5, 1, "one"), "close")],
    "late": [(404, "the server could not find the requested resource ( pods/log late)"), (line(5, 1, "one"), "close")],
    "half": [(line(5, 1, "one") + line(5, 2, "two")[:-3], "close"), (line(5, 1, "one") + line(5, 2, "two"), "close")],
    "endless": [(line(5, 1, "one")[:-1], "close")],
    "stump": [(line(5, 1, "one") + line(5, 2, "two")[:12], "close")],
    "dies": [(line(5, 1, "one"), "close"), (line(5, 1, "one") + line(5, 2, "two") + line(9, 0, "three"), "close")],
    "mixed": [(line(5, 10, "a") + line(5, 5, "b"), "cut"),
              (line(5, 10, "a") + line(5, 5, "b") + line(5, 7, "c") + line(6, 0, "d"), "close")],
    "runs": [(line(5, 1, "one"), "cut"), (line(7, 1, "three"), "close")],
    "runs previous": [(line(5, 1, "one") + line(5, 2, "two"), "close")],
    "restarted": [(line(7, 1, "three"), "close")],
    "restarted previous": [(line(5, 1, "one") + line(5, 2, "two"), "close")],
    "renamed": [(line(5, 1, "one"), "cut"), (line(7, 1, "another pod's"), "close")],
    # It is deleted when it is read once more, and that answer breaks off.
    "told": [(line(5, 1, "one") + line(5, 2, "two") + line(5, 3, "three"), "cut"), (line(5, 1, "one") + line(5, 2, "two")[:-2], "close")],
    "several": [(line(5, 1, "one"), "close")],
    "swept": [(line(5, 1, "one"), "cut"), (line(7, 1, "three"), "close")],
    "swept previous": [(f"failed to try resolving symlinks in path \"{LOG_FILE}\": lstat {LOG_FILE}: no such file or directory", "close")],
    # Their pods say late that the container was started again, at 7.
    "ahead": [(line(7, 1, "three") + line(7, 2, "four"), "cut"), (line(7, 2, "four") + line(8, 1, "five"), "close")],
    "ahead previous": [(line(5, 1, "one") + line(5, 2, "two"), "close")],
    "ahead-swept": [(line(7, 1, "three") + line(9, 2, "four"), "cut"), (line(9, 2, "four") + line(9, 3, "five"), "close")],
    "ahead-swept previous": [(EXCUSE, "close")],
    "not-ahead": [(line(7, 1, "one"), "cut"), (line(7, 4, "three"), "close")],
    "not-ahead previous": [(line(7, 1, "one") + line(7, 2, "two"), "close")],
    "part-ahead": [(line(5, 1, "one"), "cut"), (line(8, 3, "three"), "cut"), (line(8, 3, "three") + line(8, 4, "four"), "close")],
    "part-ahead previous": [(line(5, 1, "one") + line(5, 2, "two"), "close")],
    # Its kubelet has just been started when it is first asked for the run before.
    "part-late": [(line(5, 1, "one"), "cut"), (line(8, 3, "three") + line(8, 4, "four"), "close")],
    "part-late previous": [(400, 'previous terminated container "main" in pod "part-late" not found'),
                           (line(5, 1, "one") + line(5, 2, "two"), "cut"), (line(5, 2, "two") + line(6, 2, "more"), "close")],
    # Its run before was removed by then.
    "part-swept": [(line(5, 1, "one"), "cut"), (line(8, 3, "three"), "cut"), (line(8, 3, "three"), "cut"),
                   (line(8, 3, "three") + line(8, 4, "four"), "close")],
    "part-swept previous": [(400, 'previous terminated container "main" in pod "part-swept" not found')],
    # The run before is not that of which lines were told: this one's were removed.
    "older": [(line(5, 1, "one"), "cut"), (line(9, 1, "five"), "close")],
    "older previous": [(line(2, 1, "older") + line(2, 2, "still older"), "close")],
    # The same a moment after a restart.
    "rotated": [(line(5, 1, "one"), "cut"), (line(5, 9, "two"), "cut"), (line(9, 9, "five"), "close")],
    "rotated previous": [(line(5, 1, "one"), "close")],
    "end-late": [(line(7, 1, "three"), "close")],
    "end-late previous": [(line(5, 1, "one") + line(5, 2, "two"), "close")],
    # Its first run was over before its first line could be read.
    "missed": [(400, 'container "main" in pod "missed" is waiting to start: ContainerCreating'), (line(7, 1, "three"), "close")],
    "missed previous": [(line(5, 1, "one") + line(5, 2, "two"), "close")],
    "excuse": [(line(5, 1, "one"), "cut"), (EXCUSE, "close"), (line(5, 1, "one") + "container status is nil", "close"),
               (line(5, 1, "one") + line(5, 2, "two"), "close")],
    "removed": [(EXCUSE, "close")],
    "hasty": [(line(5, 1, "one"), "close"), (line(5, 1, "one") + line(5, 2, "two"), "close")],
    "blank": [(line(7, 1, "three"), "close")],
    "blank previous": [("", "close"), (line(5, 1, "one"), "close")],
    "silent": [("", "close")],
    "endings": [(line(5, 1, "one"), "close")],
    "pieces": [(line(5, 1, "one") + line(5, 2, "xy"), "close")],
    "unfinished": [(line(5, 1, "one") + line(5, 2, "two")[:-2], "close"), (line(5, 1, "one") + line(5, 2, "two"), "close")],
    "again": [(line(5, 1, "one") + line(5, 2, "two"), "cut"), (line(5, 1, "one") + line(5, 2, "two")[:-2], "close"),
              (line(5, 1, "one") + line(5, 2, "two") + line(5, 3, "three"), "close")],
    "straddle": [(line(7, 999999999, "long") + line(9, 1, "two"), "cut"),
                 (line(8, 1, "ng") + line(9, 1, "two") + line(10, 1, "three"), "close")],
}
# Pod without a log → what the server says when the pod is asked for again.
UNSEEN = {"unseen": 503, "unseen-token": 401}
for unseen in UNSEEN:
    LOGS[unseen] = [(404, f"the server could not find the requested resource ( pods/log {unseen})")]

# Pod → the answers to the questions for its last line, where they are not the last of the last reading; the last one for ever.
LAST = {
    "excuse": ["container status is nil", line(5, 2, "two")],
    "hasty": [EXCUSE, line(5, 2, "two")],
    "blank previous": ["", line(5, 1, "one")],
    "endings": [line(5, 2, "two")],
    "unfinished": [line(5, 2, "two")[:-2], line(5, 2, "two")],
    "again": [line(5, 2, "two")[:-2]] * 3 + [line(5, 3, "three")],
    "pieces": [line(5, 3, "y"), line(5, 2, "xy")],  # a kubelet counts what the runtime has cut
}
# Pod → what it is each time it is asked for; the last for ever. Others in LOGS have succeeded.
RUNNING, OVER = {"phase": "Running"}, {"phase": "Succeeded"}


def runs(restarts, **more):
    return {**more, "containerStatuses": [{"name": "main", "restartCount": restarts, "state": {"running": {}}}]}


def late_runs(before, second=7):
    """The state so many times as if there had been no restart, which was at that second."""
    began = f"2026-01-02T03:04:{second:02}Z"
    after = {"containerStatuses": [{"name": "main", "restartCount": 1, "state": {"running": {"startedAt": began}}}]}
    return [runs(0)] * before + [after] * 3 + [{**after, "phase": "Succeeded"}]


STATES = {
    "fresh": [{"phase": "Pending"}] * 4 + [RUNNING, OVER],
    "half": [RUNNING] * 3 + [OVER],
    "runs": [runs(0)] * 3 + [runs(1)] * 2 + [runs(1, phase="Succeeded")],
    "swept": [runs(0)] * 3 + [runs(1)] * 2 + [runs(1, phase="Succeeded")],
    "blank": [runs(0)] + [runs(1)] * 2 + [runs(1, phase="Succeeded")],
    "restarted": [runs(1)] * 3 + [runs(1, phase="Succeeded")],
    "ahead": late_runs(3),
    "ahead-swept": late_runs(3),
    "not-ahead": late_runs(3),
    "part-ahead": late_runs(4),
    "part-late": late_runs(5),
    "part-swept": late_runs(5),
    "rotated": late_runs(2, 5),
    "older": [runs(1)] * 4 + [runs(1, phase="Succeeded")],
    "end-late": [runs(0)] * 2 + late_runs(0)[-1:],
    "missed": [{"phase": "Pending"}] * 2 + [runs(1)] * 2 + [runs(1, phase="Succeeded")],
    "told": [RUNNING] * 4 + [{"uid": "another"}],
    "renamed": [RUNNING] * 3 + [{"uid": "another"}],
}
# It comes while others are followed, and is known only when its container has been started again.
LATE = pod("restarted", "l-late", "11", **runs(1))
LATE["metadata"]["uid"] = "uid-restarted"
WATCHES["l-late"] = [([event("ADDED", LATE)], "hang")]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, code, value, kind="application/json", headers=()):
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for k, v in headers:
            self.send_header(k, v)
        self.end_headers()
        self.wfile.write(data)

    def cut(self):
        self.wfile.flush()
        socket.socket.shutdown(self.connection, socket.SHUT_RDWR)  # without TLS's closing message
        self.close_connection = True

    def hang(self):
        while not self.server.stopping:
            time.sleep(0.05)

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, parts, end, kind="application/json"):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for p in parts:
            self.chunk(p)
        if end == "close":
            self.wfile.write(b"0\r\n\r\n")
        elif end == "cut":
            self.cut()
        else:
            self.hang()
            self.close_connection = True

    # The requests of the tests of k8s/net, without a token.
    def _seen(self):
        self.answer(200, LOG)

    def _counts(self):
        self.answer(200, {**SEEN, **{"from " + str(k): ",".join(v) for k, v in WATCHED.items()}})

    def _echo(self):
        self.answer(200, {"method": self.command, "host": self.headers.get("Host"), "type": self.headers.get("Content-Type"),
                          "agent": self.headers.get("User-Agent"), "body": self.body.decode()})

    def _redirect(self):
        self.answer(302, b"elsewhere", "text/plain", [("Location", "https://example.invalid/")])

    def _gzip(self):
        self.answer(200, gzip.compress(b"plain " * 1000), "text/plain", [("Content-Encoding", "gzip")])

    def _large(self):
        self.answer(200, b"0123456789abcdef" * (4 << 16), "application/octet-stream")

    def _drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        while not self.server.stopping:
            self.wfile.write(b"x")
            self.wfile.flush()
            time.sleep(0.02)

    def _silent(self):
        self.hang()

    def _garbage(self):
        self.wfile.write(b"SSH-2.0-OpenSSH_9.2p1\r\nhello\r\n" * 20)
        self.close_connection = True

    def _silent(self):
        self.hang()
        self.close_connection = True

    def authorized(self):
        want = (DIR / "accept-token").read_text().strip()
        return self.headers.get("Authorization") == "Bearer " + want

    def handle_any(self):
        n = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(n) if n else b""
        path, _, query = self.path.partition("?")
        self.query = dict(q.split("=", 1) for q in query.split("&") if "=" in q)
        if path.startswith("/_"):
            return getattr(self, path[1:].replace("-", "_"))()
        LOG.append([self.command, self.path, dict(self.headers), self.body.decode("utf-8", "replace")])
        if not self.authorized():
            return self.answer(401, status(401, "Unauthorized"))
        parts = path.strip("/").split("/")
        if parts[:2] == ["api", "v1"] and len(parts) > 2:
            return self.resource("", parts[2:])
        if parts[0] == "apis" and len(parts) > 3:
            return self.resource(parts[1], parts[3:])
        self.discovery(path)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def discovery(self, path):
        if path == "/version":
            return self.answer(200, {"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
        groups = collections.OrderedDict()
        for g, v, *rest in RESOURCES:
            groups.setdefault((g, v), []).append(rest)
        if LEGACY:
            if path == "/api":
                return self.answer(200, {"kind": "APIVersions", "versions": ["v1"]})
            if path == "/apis":
                listed = [(f"{what}.example", "v1") for what in ("refused", "html", "away")] + list(groups)
                return self.answer(200, {"kind": "APIGroupList", "groups": [
                    {"name": g, "versions": [{"groupVersion": f"{g}/{v}", "version": v}],
                     "preferredVersion": {"version": v}} for (g, v) in listed if g]})
            if path == "/apis/refused.example/v1":
                return self.answer(403, status(403, "no"))
            if path == "/apis/html.example/v1":
                return self.answer(200, b"<html>log in</html>", "text/html")
            if path == "/apis/away.example/v1":
                return self.answer(503, status(503, "the server is currently unable to handle the request"))
            want = tuple(path.split("/")[2:]) if path.startswith("/apis/") else ("", path.split("/")[-1])
            return self.answer(200, {"kind": "APIResourceList", "resources": [
                {"name": p, "singularName": s, "kind": k, "shortNames": sh, "namespaced": ns, "verbs": ["get"]}
                for p, s, k, sh, ns in groups.get(want, [])]})
        items = [{"metadata": {"name": g}, "versions": [{"version": v, "resources": [
            {"resource": p, "singularResource": s, "responseKind": {"kind": k}, "shortNames": sh,
             "scope": "Namespaced" if ns else "Cluster", "verbs": ["get", "list"]} for p, s, k, sh, ns in rs]}]}
            for (g, v), rs in groups.items() if bool(g) == (path == "/apis")]
        if path not in ("/api", "/apis"):
            return self.answer(404, b"404 page not found\n", "text/plain")
        self.answer(200, {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})

    def resource(self, group, parts):
        ns = None
        if parts[0] == "namespaces" and len(parts) > 2:
            ns, parts = parts[1], parts[2:]
        if parts[0] == "selfsubjectaccessreviews":
            verb = json.loads(self.body)["spec"]["resourceAttributes"]["verb"]
            return self.answer(201, {"status": {"allowed": verb != "delete", "reason": f"the fake on {verb}"}})
        if parts[0] == "services" and parts[2:3] == ["proxy"]:
            return self.service(parts[1].split(":")[0])
        if parts[-1] == "log":
            return self.logs(parts[1])
        if parts[-1] in ("exec", "attach", "portforward"):
            return self.channel(parts[1], parts[-1])
        if group == "metrics.k8s.io":
            return self.usage(ns)
        if len(parts) == 1:
            return self.collection(ns, parts[0])
        self.one(ns, parts[1])

    def channel(self, name, verb):
        if name == "plain":
            return self.answer(200, b"hello", "text/plain")
        if name == "html502":
            return self.answer(502, b"<html>\n<h1>Bad Gateway</h1>", "text/html")
        if name[0] == "e" and name[1:].isdigit():
            return self.answer(int(name[1:]), status(int(name[1:])))
        Channel(self).serve(name, verb)

    def service(self, name):
        """One that has endpoints at the third question, one that never has, one that is broken, one known at the second."""
        SEEN["service " + name] += 1
        if name == "broken":
            return self.answer(503, {"error": "the model is gone"})
        if name == "new" and SEEN["service " + name] < 2:
            return self.answer(404, dict(status(404, f'services "{name}" not found'), details={"name": name, "kind": "services"}))
        if name == "never" or SEEN["service " + name] < 3 and name != "new":
            return self.answer(503, status(503, f'no endpoints available for service "{name}"'))
        self.answer(200, {"answers": name})

    def usage(self, ns):
        """What pods use: in u-busy it changes at each question; u-away answers the second, u-barred refuses."""
        SEEN["usage " + str(ns)] += 1
        turn = SEEN["usage " + str(ns)]
        if ns == "u-barred":
            return self.answer(403, status(403, "pods.metrics.k8s.io is forbidden"))
        if ns == "u-away" and turn == 1:
            return self.answer(503, status(503, "error trying to reach service"))
        names = ["a", "b", "c", "stranger"] if turn < 3 else ["a", "c"]
        items = [{"metadata": {"name": name, "namespace": ns}, "containers": [
            {"name": "x", "usage": {"cpu": f"{turn * 1000000 + 1}n", "memory": "20479Ki"}},
            {"name": "y", "usage": {"cpu": "1u", "memory": "0"}}]} for name in names]
        self.answer(200, {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items})

    def one(self, ns, name):
        SEEN[name] += 1
        if name == "kube-system":
            return self.answer(200, {"kind": "Namespace", "metadata": {"name": name, "uid": "the-cluster"}})
        if name[0] == "e" and name[1:].isdigit():
            code = int(name[1:])
            return self.answer(code, status(code))
        if name == "later":
            return self.answer(503, status(503), headers=[("Retry-After", "9000000000000000000")])
        if name == "html502":
            return self.answer(502, b"<html>\n<h1>Bad Gateway</h1>", "text/html")
        if name == "stall":
            return self.hang()
        once = ns in SICK and name == "s-once"
        if once:
            SEEN[ns + name] += 1
            once = SEEN[ns + name] == 1
        if once and ns == "w-busy":
            return self.answer(503, status(503, "the server is busy"))
        if once or name == "cut" or (name.startswith("cut-once") and SEEN[name] == 1):
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b'{"kind":')
            return self.cut()
        if name == "truncated":
            return self.answer(200, b'{"kind": "Pod", "metadata": {"na')
        if name == "big":
            return self.answer(200, b'"' + b"x" * (8 << 20) + b'"')
        if name.startswith("flaky-") and SEEN[name] <= int(name.split("-")[1]):
            return self.answer(503, status(503), headers=[("Retry-After", "0")])
        if name in UNSEEN and SEEN[name] > 1:
            return self.answer(UNSEEN[name], status(UNSEEN[name]))
        if ns == "w-barred":
            return self.answer(403, status(403, "pods is forbidden"))
        if ns in SICK:
            gone = name == "s-gone"
            return self.answer(404, status(404, f'pods "{name}" not found')) if gone else self.answer(200, table(COLUMNS, pod(name, ns)))
        if name == "missing":
            return self.answer(404, status(404, f'pods "{name}" not found', name=name, kind="pods"))
        if self.command == "PATCH" and name == "owned":
            return self.answer(409, status(409, "Apply failed with 1 conflict", causes=[
                {"reason": "FieldManagerConflict", "message": 'conflict with "kubectl"', "field": ".spec.replicas"}]))
        if self.command == "DELETE":
            uid = (json.loads(self.body or b"{}").get("preconditions") or {}).get("uid")
            if uid and uid != "uid-" + name:
                return self.answer(409, status(409, f"the UID in the precondition ({uid}) does not match"))
            return self.answer(200, {"kind": "Status", "status": "Success"})
        if name == "nobody":
            return self.answer(404, status(404, f'pods "{name}" not found', name=name, kind="pods"))
        states = STATES.get(name, [OVER if name in LOGS else {}])
        state = dict(states[min(SEEN[name], len(states)) - 1])
        uid = state.pop("uid", "uid-" + name)
        found = pod(name, ns or "default", **state)
        found["metadata"]["uid"] = uid
        if name == "several":
            found["spec"]["containers"] = [{"name": "side"}, {"name": "main"}]
            found["metadata"]["annotations"] = {"kubectl.kubernetes.io/default-container": "main"}
        self.answer(200, found)

    def rows_of_sick(self, ns):
        include, page = self.query["includeObject"], int(self.query.get("continue") or 0)
        SEEN[f"{include} {ns}"] += 1
        assert self.query["limit"] == ("50" if include == "Metadata" and page == 0 else "500"), self.query
        answer = table(COLUMNS, *[pod(name, ns) for name in SICK[ns][page]])
        for row in answer["rows"] if include == "Metadata" else []:
            row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": row["object"]["metadata"]}
        if page == 0:
            answer["metadata"]["continue"] = "1"
        self.answer(200, answer)

    def collection(self, ns, plural):
        if self.command == "POST":
            obj = json.loads(self.body)
            name = obj["metadata"].get("name") or obj["metadata"]["generateName"]
            SEEN["post " + name] += 1
            if name == "taken":
                return self.answer(409, status(409, 'pods "taken" already exists', "AlreadyExists"))
            if name == "invalid":
                return self.answer(422, status(422, 'Pod "invalid" is invalid: spec.containers: Required value'))
            if name == "post-cut":
                return self.cut()
            obj["metadata"].update(uid="uid-" + name, resourceVersion="30", namespace=ns)
            return self.answer(201, obj)
        if self.query.get("watch"):
            return self.watch(ns)
        SEEN["list " + str(ns)] += 1
        if ns == "again":
            return self.page(ns, [pod("a", ns)], "the-same")
        if ns == "forbidden":
            return self.answer(403, status(403, "pods is forbidden"))
        if ns == "l-late":
            return self.page(ns, [], None)
        if ns == "empty":
            return self.page(ns, [], str(time.monotonic()))
        if ns == "w-refused" and "as=Table" in self.headers.get("Accept", ""):
            return self.answer(406, status(406, "only the following media types are accepted", "NotAcceptable"))
        if ns in ("w-table", "w-other") and "as=Table" in self.headers.get("Accept", ""):
            columns = OTHER_COLUMNS if ns == "w-other" and SEEN["list w-other"] > 1 else COLUMNS
            return self.answer(200, table(columns, pod("a", ns)))
        if ns in SICK:
            return self.rows_of_sick(ns)
        if ns == "w-paged":
            page = int(self.query.get("continue") or 0)
            items = [pod(f"p{i}", ns) for i in range(page, page + 2)]
            return self.page(ns, items, str(page + 2) if page < 4 else None)
        if ns in ("t-paged", "t-gone"): # a Table of 7 rows; its second page is cut the first time, or forgotten
            page = int(self.query.get("continue") or 0)
            answer = table(COLUMNS, *[pod(f"p{i}", ns) for i in range(page, min(page + 3, 7))])
            assert self.query["includeObject"] == "None" and self.query["limit"], self.query
            for row in answer["rows"]:
                row["object"] = None
            if page + 3 < 7:
                answer["metadata"].update({"continue": str(page + 3), "remainingItemCount": 7 - page - 3})
            SEEN[f"{ns} {page}"] += 1
            if ns == "t-gone" and page == 3 and SEEN[f"{ns} {page}"] == 1:
                return self.answer(410, status(410, "The provided continue parameter is too old", "Expired"))
            if ns == "t-paged" and page == 3 and SEEN[f"{ns} {page}"] == 1:
                text = json.dumps(answer).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text[:-20])
                return self.cut()
            return self.answer(200, answer)
        if ns == "paged":
            page = int(self.query.get("continue") or 0)
            items = [pod(f"p{i}", ns) for i in range(page, min(page + 2, 5))]
            more = {"continue": str(page + 2)} if page + 2 < 5 else {}
            return self.answer(200, {"kind": "PodList", "metadata": {"resourceVersion": "9", **more}, "items": items})
        if ns == "large":  # its second page is forgotten three times
            if "continue" not in self.query:
                answer = {"kind": "PodList", "metadata": {"continue": "1"}, "items": [pod("p0", ns)]}
                return self.answer(200, json.dumps(answer).encode() + b" " * (70 << 20))
            SEEN["large 1"] += 1
            if SEEN["large 1"] <= 3:
                return self.answer(410, status(410, "The provided continue parameter is too old", "Expired"))
            return self.page(ns, [pod("p1", ns)], None)
        items = [pod("a", ns)]
        if ns == "w-gone" and SEEN["list w-gone"] > 1:
            items = [pod("b", ns, "20")]
        if ns == "w-again" and SEEN["list w-again"] > 1:
            items = [pod("a", ns, "20")]
            items[0]["metadata"]["uid"] = "uid-of-another"
        if ns == "w-refill":
            items = [pod(name, ns) for name in ("abc" if SEEN["list w-refill"] == 1 else "c")]
        if plural == "events":
            items = []
        self.answer(200, {"kind": "PodList", "metadata": {"resourceVersion": "10"}, "items": items})

    def page(self, ns, items, more):
        metadata = {"resourceVersion": "10", **({"continue": more} if more else {})}
        self.answer(200, {"kind": "PodList", "metadata": metadata, "items": items})

    def watch(self, ns):
        WATCHED[ns].append(self.query.get("resourceVersion"))
        if ns == "w-storm":
            return self.stream([json.dumps(event("ERROR", status(410, "too old resource version"))) + "\n"], "close")
        if ns == "w-closing":
            return self.stream([], "close")
        turn = SEEN["watch " + str(ns)]
        SEEN["watch " + str(ns)] += 1
        script = WATCHES.get(ns, [([], "hang")])
        frames, end = script[min(turn, len(script) - 1)]
        if turn >= len(script):
            frames, end = [], "hang"
        self.stream([f if isinstance(f, str) else json.dumps(f) + "\n" for f in frames], end)

    def logs(self, name):
        if name == "several" and self.query.get("container") != "main":
            return self.answer(400, status(400, "a container name must be specified for pod several"))
        name += " previous" if "previous" in self.query else ""
        if name not in LOGS:
            return self.answer(404, status(404, f'pods "{name}" not found'))
        if "tailLines" in self.query and name in LAST:
            turn = SEEN["last " + name]
            SEEN["last " + name] += 1
            return self.answer(200, LAST[name][min(turn, len(LAST[name]) - 1)].encode(), "text/plain")
        if "tailLines" in self.query:
            return self.answer(200, LOGS[name][-1][0].splitlines(True)[-1:][0].encode() if LOGS[name][-1][0] else b"", "text/plain")
        turn = SEEN["log " + name]
        SEEN["log " + name] += 1
        text, end = LOGS[name][min(turn, len(LOGS[name]) - 1)]
        if isinstance(text, int):
            return self.answer(text, status(text, end))
        self.stream([text] if text else [], end, "text/plain")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    stopping = False

    def handle_error(self, request, client_address):
        pass  # the tests let clients go away in the middle


def main():
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, stderr=subprocess.DEVNULL)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl("req", "-x509", *key, "-days", "2", "-subj", "/CN=fake", "-keyout", f"{DIR}/tls.key", "-out",
            f"{DIR}/tls.crt", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:fake.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(DIR / "tls.crt", DIR / "tls.key")
    server = Server(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    port = server.server_address[1]
    ca = base64.b64encode((DIR / "tls.crt").read_bytes()).decode()
    (DIR / "accept-token").write_text("good-token")
    (DIR / "kubeconfig").write_text(json.dumps({
        "current-context": "fake",
        "clusters": [{"name": "fake", "cluster": {"server": f"https://127.0.0.1:{port}", "certificate-authority-data": ca}}],
        "users": [{"name": "tester", "user": {"token": "good-token"}}],
        "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "tester"}}]}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("ready", port, flush=True)
    sys.stdin.read()  # until the test has ended
    server.stopping = True
    os._exit(0)


main()
