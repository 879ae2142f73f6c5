#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes pods that nothing runs on a real API server, with specs and states as running pods have them.

usage: manypods.py COUNT NAMESPACE running|pending   on the cluster of $KUBECONFIG (tests/cluster/cluster.py enter DIR …)

Their scheduler does not exist, so no kubelet sees them and nothing but us changes them. A running one has the
state that a kubelet would write; as JSON it takes 10 KB, a pending one 4 KB.
"""
import base64
import http.client
import json
import os
import ssl
import sys
import threading
import urllib.parse

import yaml

WORKERS = 4
STARTED = "2026-01-02T03:04:05Z"


class Server:
    """One connection to the server of the kubeconfig's current context, with a token."""
    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            config = yaml.safe_load(f)

        def named(kind, name):
            return next(x[kind] for x in config[kind + "s"] if x["name"] == name)
        context = named("context", config["current-context"])
        cluster = named("cluster", context["cluster"])
        trust = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
        where = urllib.parse.urlparse(cluster["server"])
        self.token = named("user", context["user"])["token"]
        self.http = http.client.HTTPSConnection(where.hostname, where.port, context=trust, timeout=60)

    def ask(self, method, path, body=None, kind="application/json", good=(200, 201, 202)):
        self.http.request(method, path, json.dumps(body) if body else None,
                          {"Authorization": f"Bearer {self.token}", "Content-Type": kind})
        answer = self.http.getresponse()
        text = answer.read()
        if answer.status not in good:
            raise SystemExit(f"{method} {path}: {answer.status} {text.decode()[:500]}")
        return json.loads(text)


def pod(i):
    labels = {"app": "many", "group": f"g{i % 10}", "spark-role": "executor", "spark-exec-id": str(i)}
    container = {"name": "main", "image": "registry.example/team/trainer:2026.1", "args": ["executor", "--id", str(i)],
                 "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}},
                 "ports": [{"containerPort": 7079, "name": "blocks"}]}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"trainer-{i:05d}", "labels": labels, "annotations": {"sidecar.istio.io/inject": "false"}},
            "spec": {"schedulerName": "nobody", "containers": [container]}}


def status(i):
    state = {"name": "main", "image": "registry.example/team/trainer:2026.1", "ready": True, "started": True, "restartCount": i % 3,
             "imageID": f"registry.example/team/trainer@sha256:{i:064x}", "containerID": f"containerd://{i:064x}",
             "state": {"running": {"startedAt": STARTED}}}
    if i % 3:
        state["lastState"] = {"terminated": {"exitCode": 1, "reason": "Error", "startedAt": STARTED, "finishedAt": STARTED}}
    conditions = [{"type": t, "status": "True", "lastTransitionTime": STARTED}
                  for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    return {"status": {"phase": "Running", "startTime": STARTED, "podIP": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}",
                       "hostIP": "10.88.7.1", "qosClass": "Burstable", "containerStatuses": [state], "conditions": conditions}}


def make(numbers, namespace, running, path):
    server, base = Server(path), f"/api/v1/namespaces/{namespace}/pods"
    for i in numbers:
        server.ask("POST", base, pod(i), good=(201, 409))
        if running:
            server.ask("PATCH", f"{base}/trainer-{i:05d}/status", status(i), "application/merge-patch+json")


def there(server, namespace):
    page = server.ask("GET", f"/api/v1/namespaces/{namespace}/pods?limit=1")
    return len(page["items"]) + page["metadata"].get("remainingItemCount", 0)


def main():
    count, namespace, state = sys.argv[1:]
    path = os.environ["KUBECONFIG"]
    if there(Server(path), namespace) == int(count):
        print(f"{count} pods in namespace {namespace}, from before")
        return
    Server(path).ask("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}}, good=(201, 409))
    account = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    Server(path).ask("POST", account, {"metadata": {"name": "default"}}, good=(201, 409))
    threads = [threading.Thread(target=make, args=(range(n, int(count), WORKERS), namespace, state == "running", path)) for n in range(WORKERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(f"{there(Server(path), namespace)} pods in namespace {namespace}")


if __name__ == "__main__":
    main()
