#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A large cluster: a real API server with nodes and pods that kwok plays, and what firesteel does there beside kubectl and k9s.

usage: scale.py [--nodes N] [--pods N] [-n RUNS]        (1000 nodes, 20000 pods, 3 runs)

It brings a cluster up for it. Printed are times, CPU and memory of each, and ours as a share of the others'. Asserted is only that
what is shown is right: rows are counted, and a cause is named. kwok is built from its Go module; k9s is left out where
`bench.py setup` has not built it, which is said.
"""
import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path += [os.path.join(TESTS, "bench"), os.path.join(TESTS, "cluster"), os.path.join(TESTS, "support")]
import cluster as bench  # tests/bench/cluster.py
import manypods

CLUSTER = os.path.join(TESTS, "cluster", "cluster.py")
GPU = "nvidia.com/gpu"
SPACE, WORKERS = "scale", 4
FAKE = {"kwok.x-k8s.io/node": "fake"}


def node(i):
    size = {"cpu": "32", "memory": "256Gi", "pods": "110", **({GPU: "8"} if i % 4 == 0 else {})}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"kwok-{i:04d}", "annotations": FAKE, "labels": {"type": "kwok", "kubernetes.io/hostname": f"kwok-{i:04d}"}},
            "spec": {"taints": [{"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}]},
            "status": {"allocatable": size, "capacity": size}}


def pod(i, nodes, owner):
    """One in a hundred asks for GPUs; all are bound to a node, so that no scheduler is needed."""
    asks = {"cpu": "500m", "memory": "1Gi", **({GPU: "2"} if i % 100 == 0 else {})}
    limits = {"memory": "2Gi", **({GPU: "2"} if i % 100 == 0 else {})}
    at = i % nodes if i % 100 else i // 100 * 4 % nodes
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": f"trainer-{i:05d}", "namespace": SPACE, "labels": {"app": "many", "group": f"g{i % 100}"},
                         "ownerReferences": [{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "name": owner["name"], "uid": owner["uid"], "controller": True}]},
            "spec": {"nodeName": f"kwok-{at:04d}", "automountServiceAccountToken": False, "terminationGracePeriodSeconds": 1,
                     "containers": [{"name": "main", "image": "registry.example/team/trainer:2026.1", "resources": {"requests": asks, "limits": limits}}]}}


def in_threads(count, make):
    def work(first):
        server = manypods.Server(os.environ["KUBECONFIG"])
        for i in range(first, count, WORKERS):
            make(server, i)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(WORKERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


def fill(nodes, pods):
    started, server = time.monotonic(), manypods.Server(os.environ["KUBECONFIG"])
    server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": SPACE}}, good=(201, 409))
    server.ask("POST", f"/api/v1/namespaces/{SPACE}/serviceaccounts", {"metadata": {"name": "default"}}, good=(201, 409))
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases"  # of a kind that no controller makes pods for
    owners = [server.ask("POST", leases, {"metadata": {"name": f"owner-{n}"}})["metadata"] for n in range(20)]
    in_threads(nodes, lambda s, i: s.ask("POST", "/api/v1/nodes", node(i), good=(201, 409)))
    in_threads(pods, lambda s, i: s.ask("POST", f"/api/v1/namespaces/{SPACE}/pods", pod(i, nodes, owners[i % 20]), good=(201, 409)))
    print(f"{nodes} nodes and {pods} pods made in {time.monotonic() - started:.0f} s", flush=True)
    running, last, server = 0, time.monotonic(), manypods.Server(os.environ["KUBECONFIG"])  # the old connection has idled too long
    while running < pods and time.monotonic() - last < 1800:
        page = server.ask("GET", f"/api/v1/namespaces/{SPACE}/pods?fieldSelector=status.phase%3DRunning&limit=1")
        left = page["metadata"].get("remainingItemCount")
        if left is None:  # not counted with a selector
            page = server.ask("GET", f"/api/v1/namespaces/{SPACE}/pods/trainer-{pods - 1:05d}")
            running = pods if page["status"].get("phase") == "Running" else running
        else:
            running = left + len(page["items"])
        time.sleep(2)
    print(f"kwok runs them after {time.monotonic() - started:.0f} s", flush=True)


def measure(cwd, env, nodes, pods, runs):
    kubectl = bench.program("kubectl")
    bench.in_turn(f"list {pods} pods", {
        "firesteel": bench.notebook(cwd, "list", f'k8s.get("pods", {{ namespace = "{SPACE}" }})'),
        "kubectl": [kubectl, "-n", SPACE, "get", "pods"]}, cwd, env, runs)
    bench.in_turn(f"list {pods // 100} pods by a label", {
        "firesteel": bench.notebook(cwd, "label", f'k8s.get("pods", {{ namespace = "{SPACE}", selector = "group=g7" }})'),
        "kubectl": [kubectl, "-n", SPACE, "get", "pods", "-l", "group=g7"]}, cwd, env, runs)
    bench.in_turn(f"list {nodes} nodes", {
        "firesteel": bench.notebook(cwd, "nodes", 'k8s.get "nodes"'),
        "kubectl": [kubectl, "get", "nodes"]}, cwd, env, runs)
    bench.in_turn("describe a node", {
        "firesteel": bench.notebook(cwd, "describe", 'print(k8s.describe "node/kwok-0004")'),
        "kubectl": [kubectl, "describe", "node", "kwok-0004"]}, cwd, env, runs)
    for name, text, wanted in (
            ("who holds the GPUs", "print(k8s.nodes())", f"2/8 {GPU}   {SPACE}/trainer-00000 2 ("),
            ("the tree of one of 20 owners", f'k8s.tree("lease/owner-3", {{ namespace = "{SPACE}" }})\nfiresteel.sleep(10)', "trainer-00003"),
            ("why of a pod that no node takes", f'print(k8s.why("pod/waits", {{ namespace = "{SPACE}" }}))', "waits for a node")):
        alone(name, bench.notebook(cwd, "alone", text), cwd, env, wanted)
    watch = f'k8s.watch("pods", {{ namespace = "{SPACE}" }})\nfiresteel.sleep(600)'
    bench.live(f"live table of {pods} pods, firesteel", bench.notebook(cwd, "live", watch), cwd, env, min(pods, 1000))
    bench.live(f"live table of {pods} pods, kubectl -w", [kubectl, "-n", SPACE, "get", "pods", "-w"], cwd, env, pods)
    bench.notebook(cwd, "desk", "print(1)")
    bench.on_a_terminal(f"the desk's {pods} pods", [bench.FIRESTEEL, "desk.lua", "--context", "admin"], cwd, env, b"trainer-0",
                        f":pods -n {SPACE}\r".encode(), b"idle")
    if bench.program("k9s"):
        bench.on_a_terminal(f"live table of {pods} pods, k9s", [bench.program("k9s"), "-n", SPACE, "-c", "pods", "--readonly"], cwd, env, b"trainer-0")
    else:
        print("k9s is not there: left out")


def alone(name, argv, cwd, env, wanted):
    seconds, used, _ = bench.once(argv, cwd, env)
    with open(f"{cwd}/out", encoding="utf-8", errors="replace") as f:
        text = f.read()
    print(f"{name:44}{seconds:8.2f} s{used:8.2f} s CPU{bench.most_memory(argv, cwd, env):8.1f} MiB", flush=True)
    if wanted not in text:
        raise SystemExit(f"{name}: {wanted!r} is not in\n{text[:3000]}")


def inside(options):
    kwok = subprocess.Popen([bench.program("kwok"), "--kubeconfig", os.environ["KUBECONFIG"], "--manage-all-nodes=false",
                             "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--node-lease-duration-seconds=0"],
                            stdout=subprocess.DEVNULL, stderr=open(f"{options.folder}/kwok.log", "wb"))
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    try:
        fill(options.nodes, options.pods)
        waits = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "waits", "namespace": SPACE}, "spec": {
            "automountServiceAccountToken": False, "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "500"}}}]}}
        manypods.Server(os.environ["KUBECONFIG"]).ask("POST", f"/api/v1/namespaces/{SPACE}/pods", waits, good=(201, 409))
        time.sleep(5)
        os.kill(kwok.pid, signal.SIGSTOP)  # it would be measured with the others
        kwok_waits_apart(kwok)
        with tempfile.TemporaryDirectory(prefix="firesteel-scale-") as cwd:
            env = dict(os.environ, HOME=cwd, XDG_STATE_HOME=f"{cwd}/state", XDG_DATA_HOME=f"{cwd}/data", FIRESTEEL_KEEP="0")  # no kernel outlives its terminal
            measure(cwd, env, options.nodes, options.pods, options.n)
    finally:
        kwok.kill()
    return 0


def kwok_waits_apart(kwok):
    """What is measured are our children, and what has outlived its parent is waited for: kwok is neither."""
    real = bench.children
    bench.children = lambda pid: [p for p in real(pid) if p != kwok.pid]

    def reap():
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
                left = [p for p in bench.children(os.getpid())]
                if pid == 0 and not left:
                    break
                if pid == 0:
                    time.sleep(0.01)
            except ChildProcessError:
                break
        usage = bench.resource.getrusage(bench.resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    bench.reap = reap


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=20000)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        return inside(options)
    subprocess.run([os.path.join(TESTS, "support", "gotool"), bench.CACHE, "kwok"], check=True)
    with tempfile.TemporaryDirectory(prefix="firesteel-scale-") as folder:
        subprocess.run([sys.executable, CLUSTER, "up", folder, "--without", "spark,mpi,argo,metrics", "--owner", str(os.getpid())], check=True, stdout=subprocess.DEVNULL)
        try:
            return subprocess.run([sys.executable, CLUSTER, "enter", folder, sys.executable, __file__, *sys.argv[1:], "--folder", folder],
                                  env=dict(os.environ, KUBECONFIG=f"{folder}/kubeconfig"), check=False).returncode
        finally:
            subprocess.run([sys.executable, CLUSTER, "down", folder], check=False)


if __name__ == "__main__":
    sys.exit(main())
