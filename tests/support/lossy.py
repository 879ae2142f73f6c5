# SPDX-License-Identifier: MIT
"""A proxy before a real API server that loses answers, or requests, as a network does.

    proxy = Lossy(t, kubeconfig)      proxy.kubeconfig leads through it
    proxy.lose("POST", "configmaps")  the next one is done, and its answer is lost
    proxy.lose("POST", "configmaps", before=True)  the next one never arrives
    proxy.lose("POST", "configmaps", before="late")  it arrives just before the next such request does
    proxy.lost.wait()                 until it was
    proxy.seen("POST", "configmaps")  how many came
"""
import http.client
import os
import re
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bearer import bearer_of


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def pass_on(self):
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fate = proxy.fate(self.command, self.path)
        self.close_connection = True
        if fate == "before":
            return proxy.lose_it()
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "accept-encoding", "connection")}
        request = (self.command, self.path, body or None, headers)
        if fate == "late":
            proxy.held = request
            return proxy.lose_it()
        if proxy.held and proxy.held[:2] == request[:2]:
            held, proxy.held = proxy.held, None
            proxy.send(*held)
        answer, data = proxy.send(*request)
        if fate == "after":
            return proxy.lose_it()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = pass_on


class Lossy:
    def __init__(self, t, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as f:
            text = f.read()
        server = re.search(r"https://([\d.]+:\d+)", text)
        self.bearer = bearer_of(text)
        self.host, self.requests, self.losses, self.lock = server[1], [], [], threading.Lock()
        self.lost = threading.Event()  # set when something was lost
        self.held = None  # a request that is held back
        self.hold = None  # an event: until then whoever lost something hears nothing, not even that the connection ended
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads, self.http.proxy = True, self
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        t.after(self.http.shutdown)
        self.kubeconfig = os.path.join(t.dir(), "lossy.kubeconfig")
        with open(self.kubeconfig, "w", encoding="utf-8") as f:
            f.write(text.replace(server[0], f"http://127.0.0.1:{self.http.server_address[1]}"))
        os.chmod(self.kubeconfig, 0o600)

    def lose_it(self):
        hold = self.hold
        self.lost.set()
        if hold:
            hold.wait(120)

    def send(self, method, path, body, headers):
        upstream = http.client.HTTPSConnection(self.host, context=self.tls, timeout=60)
        upstream.request(method, path, body, {**headers, **self.bearer})
        answer = upstream.getresponse()
        data = answer.read()
        upstream.close()
        return answer, data

    def lose(self, method, path, before=False):
        with self.lock:
            self.losses.append((method, path, {False: "after", True: "before"}.get(before, before)))

    def fate(self, method, path):
        with self.lock:
            self.requests.append((method, path))
            for loss in self.losses:
                if loss[0] == method and loss[1] in path and "dryRun" not in path:
                    self.losses.remove(loss)
                    return loss[2]
        return None

    def seen(self, method, path):
        return sum(m == method and path in p and "dryRun" not in p for m, p in self.requests)
