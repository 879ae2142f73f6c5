# SPDX-License-Identifier: MIT
"""A proxy before an API server that answers some kinds of requests with an error, or never.

    proxy = Faulty(kubeconfig, folder)   proxy.kubeconfig leads through it (plain HTTP on loopback)
    proxy.plan("list pods", 403)         from now on each request of this kind is answered so; once=True: the first alone; a text: 500 with it
    proxy.calm()                         all goes through; who waits for an answer that never comes loses its connection
    proxy.kinds                          how many requests of each kind came: a Counter
    proxy.faults                         how many were answered by us

A kind is a verb with a resource: "list pods", "watch sparkapplications", "get pods/log", "create sparkapplications",
"check sparkapplications" (a dry run), "get /version", "put /v2/blobs".
"""
import collections
import json
import os
import re
import socket
import ssl
import threading
import urllib.parse

from bearer import bearer_of

HANG = "hang"
REASONS = {401: "Unauthorized", 403: "Forbidden", 429: "TooManyRequests", 500: "InternalError"}
RESOURCE = re.compile(r"/(?:api|apis/[^/]+)/[^/]+/(?:namespaces/[^/]+/)?(\w+)(?:/([^/]+))?(?:/(\w+))?$")
NAMESPACE = re.compile(r"/api/v1/namespaces/[^/]+$")
VERBS = {"POST": "create", "PUT": "replace", "PATCH": "patch", "DELETE": "delete"}


def kind_of(method, target):
    url = urllib.parse.urlsplit(target)
    query = urllib.parse.parse_qs(url.query)
    path = "/api/v1/namespaces" + url.path[url.path.rindex("/"):] if NAMESPACE.match(url.path) else url.path
    found = RESOURCE.match(path)
    if not found:
        registry = re.match(r"/v2/.*?(blobs|manifests)", path)
        return f"{method.lower()} {'/v2/' + registry[1] if registry else path}"
    plural, name, sub = found.groups()
    verb = VERBS.get(method) or ("watch" if "watch" in query else "get" if name else "list")
    return f"{'check' if 'dryRun' in query else verb} {plural}{'/' + sub if sub else ''}"


def refusal(fault, kind):
    code, message = (500, f'{fault} "w.test"') if isinstance(fault, str) else (fault, f"the proxy answers {fault} to {kind}")
    body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": REASONS[code],
                       "message": message}).encode()
    return (b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
            % (code, len(body))) + body


class Faulty:
    def __init__(self, kubeconfig, folder):
        with open(kubeconfig, encoding="utf-8") as f:
            text = f.read()
        server = re.search(r"https://([\d.]+):(\d+)", text)
        self.bearer = [f"{k}: {v}".encode() for k, v in bearer_of(text).items()]
        self.upstream = server[1], int(server[2])
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.lock, self.kinds, self.faults = threading.Lock(), collections.Counter(), 0
        self.kind = self.fault = None
        self.once, self.waiting = False, set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        port = self.listener.getsockname()[1]
        self.kubeconfig = os.path.join(folder, f"faulty-{port}.kubeconfig")
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            f.write(text.replace(server[0], f"http://127.0.0.1:{port}"))
        os.chmod(self.kubeconfig, 0o600)
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        self.calm()
        self.listener.close()

    def plan(self, kind, fault, once=False):
        with self.lock:
            self.kind, self.fault, self.once, self.faults = kind, fault, once, 0

    def calm(self):
        with self.lock:
            self.kind, waiting, self.waiting = None, self.waiting, set()
        for connection in waiting:
            self.end(connection)

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def fate(self, connection, kind):
        """What is done with a request: None, a status or HANG."""
        with self.lock:
            self.kinds[kind] += 1
            if kind != self.kind or (self.once and self.faults):
                return None
            self.faults += 1
            if self.fault == HANG:
                self.waiting.add(connection)
            return self.fault

    @staticmethod
    def end(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def serve(self, connection):
        try:
            self.exchange(connection)
        except OSError:
            pass

    def exchange(self, connection):
        """One request and its answer; a connection has no second one."""
        with connection:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(1 << 16)
                if not piece:
                    return
                data += piece
            head, rest = data.split(b"\r\n\r\n", 1)
            method, target = head.split(b" ", 2)[:2]
            kind = kind_of(method.decode(), target.decode())
            fate = self.fate(connection, kind)
            if fate == HANG:
                while connection.recv(1 << 16):
                    pass
                return
            if fate:
                self.read_body(connection, head.lower(), rest)
                connection.sendall(refusal(fate, kind))
                return
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            self.pass_on(connection, b"\r\n".join(lines + self.bearer) + b"\r\nConnection: close\r\n\r\n" + rest)

    @staticmethod
    def read_body(connection, head, body):
        """An answer before the end of the body would be lost with the connection."""
        length = re.search(rb"\r\ncontent-length: *(\d+)", head)
        chunked = b"\r\ntransfer-encoding: chunked" in head
        if b"\r\nexpect:" in head:
            return
        while not body.endswith(b"0\r\n\r\n") if chunked else length and len(body) < int(length[1]):
            piece = connection.recv(1 << 16)
            if not piece:
                return
            body += piece

    def pass_on(self, connection, request):
        with self.tls.wrap_socket(socket.create_connection(self.upstream)) as upstream:
            upstream.sendall(request)
            threading.Thread(target=self.pump, args=(connection, upstream), daemon=True).start()
            self.pump(upstream, connection)

    def pump(self, source, sink):
        """The rest of a request, or an answer; whoever leaves takes the other with it."""
        try:
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
        except OSError:
            pass
        self.end(sink)
