# SPDX-License-Identifier: MIT
"""Why something is stuck, in the words of the real scheduler, kubelet, controllers and operator; and what a preflight sees
of it before."""
import json
import re
import socket
import threading
import time

import images
from place import NODE, PLAIN, SPARK, TLS, Place, pod
from tap import eventually


def why(place, target, *parts, seconds=40):
    """What k8s.why of an object says when it has all parts, at some time."""
    said = ""

    def has():
        nonlocal said
        said = place.run(f"""
-- %% Why
print(k8s.why("{target}"))
""").out
        return all(part in said for part in parts)
    has.__doc__ = f"k8s.why of {target} has {parts}"
    try:
        eventually(has, seconds, every=1)
        return said
    except AssertionError as e:
        raise AssertionError(f"{e}\n{said}") from None


def job(name, template, **spec):
    template["spec"]["containers"][0].setdefault("name", "main")
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": {"spec": template["spec"]}, **spec}}


def app(name, **more):
    spec = {"type": "Python", "mode": "cluster", "sparkVersion": "3.5.7", "image": images.BUSYBOX,
            "mainApplicationFile": "local:///x.py", "restartPolicy": {"type": "Never"},
            "driver": {"coreRequest": "100m", "memory": "512m", "serviceAccount": "spark"}, "executor": {"instances": 1}}
    spec.update(more)
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": name}, "spec": spec}


def test_no_node_takes_it(t):
    place = Place(t)
    place.create(job("big", pod("big", "true", resources={"requests": {"cpu": "100"}})))
    why(place, "job/big", "waits for a node: 0/1 nodes are available: 1 Insufficient cpu", "PodScheduled is False",
        "next: ask for less CPU")
    picky = pod("picky", "true")
    picky["spec"]["nodeSelector"] = {"disk": "fast"}
    place.create(picky)
    why(place, "pod/picky", "didn't match Pod's node affinity/selector", "next: no node has these labels")


def test_a_node_that_is_down(t):
    """It never had a kubelet; its controllers do not know that."""
    place = Place(t)
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": place.namespace, "labels": {"mine": place.namespace}}}
    t.after(lambda: place.kubectl("delete", "node", place.namespace, "--ignore-not-found"))
    place.kubectl("create", "-f", "-", input=json.dumps(node))
    silent = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "Kubelet stopped posting node status.",
              "lastTransitionTime": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 45))}
    place.kubectl("patch", "node", place.namespace, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"conditions": [silent]}}))
    wants = pod("wants", "true")
    wants["spec"]["nodeSelector"] = {"mine": place.namespace}
    bound = pod("bound", "true")
    bound["spec"]["nodeName"] = place.namespace
    place.create(wants, bound)
    place.kubectl("patch", "pod", "bound", "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"phase": "Running"}}))
    said = why(place, "pod/bound", f"pod bound is on node {place.namespace}, which is not ready (Kubelet stopped posting node status)",
               "Ready is Unknown for ", f'next: look at the node: k8s.describe("nodes/{place.namespace}")')
    assert "add a toleration" not in said, said
    said = why(place, "pod/wants", "pod wants waits for a node: ", "untolerated taint", f"; node {place.namespace} is not ready",
               "next: look at the node")
    assert "add a toleration" not in said, said
    place.kubectl("delete", "pod", "bound", "wants", "--force")


def test_an_image_that_is_being_pulled(t):
    place = Place(t)
    silent = socket.create_server((NODE, 0))  # a registry that is very slow
    t.after(silent.close)
    slow = pod("slow", "true", image=f"{NODE}:{silent.getsockname()[1]}/large:1")
    place.create(job("slow", slow))
    why(place, "job/slow", f"pulls its image {NODE}:{silent.getsockname()[1]}/large:1", "event Pulling of Pod slow-", "next: wait: a node pulls an image once")


def test_a_pull_is_waited_for(t):
    """Beyond the time-out, for as long as it goes on; and then the time-out counts."""
    place = Place(t)
    silent = socket.create_server((NODE, 0))
    t.after(silent.close)
    image = f"{NODE}:{silent.getsockname()[1]}/large:1"
    place.create(job("slow", pod("slow", "true", image=image)))
    eventually(lambda: "Pulling" in place.kubectl("get", "events").out, 60)
    stop = threading.Timer(25, silent.close)
    t.after(stop.cancel)
    stop.start()
    done = place.run('''
-- %% Wait timeout="4m"
started = os.time()
print(pcall(function() expect(k8s.get("job/slow")):reaches("Complete", "5s") end))
print("waited", os.time() - started)
''', timeout=300)
    assert "the time-out has passed; an image is being pulled, so the wait goes on" in done.out, done
    assert "the time-out has passed; it is" in done.out and 20 <= int(re.search(r"waited\s+(\d+)", done.out)[1]) < 200, done


def test_images_that_cannot_be_had(t):
    place = Place(t)
    for name, image, part, advice in [
            ("absent", f"127.0.0.1:{PLAIN}/nobody/none:1", "not found", "push or make it first"),
            ("plain", f"{NODE}:{PLAIN}/x:1", "server gave HTTP response to HTTPS client", "the image is not there, or the nodes do not know"),
            ("private", f"{NODE}:{TLS}/x:1", "x509: ", "does not trust the registry's certificate"),
            ("silent", "127.0.0.1:9/x:1", "connection refused", "nothing listens there"),
            ("bad", "UPPER:1", "InvalidImageName", "correct the image's name")]:
        p = pod(name, "true")
        p["spec"]["containers"][0]["image"] = image
        place.create(job(name, p))
        why(place, f"job/{name}", "cannot start: ", part, advice)


def test_what_keeps_pods_from_being_made(t):
    place = Place(t)
    nobody = pod("nobody", "true")
    nobody["spec"]["serviceAccountName"] = "nobody"
    place.create(job("nobody", nobody))
    why(place, "job/nobody", 'serviceaccount "nobody" not found', "event FailedCreate of Job nobody", "make the account")
    place.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
                  "spec": {"hard": {"requests.cpu": "50m"}}})
    eventually(lambda: "hard" in place.get("quota", "small").get("status", {}))
    wide = pod("wide", "true", resources={"requests": {"cpu": "1"}})
    place.create(job("wide", wide))
    why(place, "job/wide", "exceeded quota: small", "quota is used up")
    wide = pod("wide", "true", resources={"requests": {"cpu": "1"}})
    place.create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "wide"},
                  "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}},
                           "template": {"metadata": {"labels": {"a": "b"}},
                                        "spec": {"containers": wide["spec"]["containers"]}}}})
    why(place, "deployment/wide", "exceeded quota: small", "condition ReplicaFailure is True")


def test_containers_that_end_badly(t):
    place = Place(t)
    place.create(job("exits", pod("exits", "sh", "-c", "exit 7")))
    why(place, "job/exits", "container main of pod exits-", "exited with 7")
    # more than 32 MiB in memory, which is the limit
    hungry = pod("hungry", "sh", "-c", "x=$(head -c 100000000 /dev/zero | tr '\\0' x); echo ${#x}",
                 resources={"limits": {"memory": "32Mi"}})
    place.create(job("hungry", hungry))
    why(place, "job/hungry", "needed more memory than its limit of 32Mi (OOMKilled)", "give it more memory")


def test_a_namespace_that_the_operator_does_not_watch(t):
    place = Place(t)
    place.create(app("unseen"))
    why(place, "sparkapplication/unseen", "no operator has looked at it", "let it watch namespace " + place.namespace)


def test_a_submission_that_fails(t):
    place = Place(t, SPARK)
    t.after(lambda: place.kubectl("delete", "sparkapplications", "--all", "--wait=false"))
    driver = {"coreRequest": "100m", "memory": "512m", "serviceAccount": "nobody"}
    done = place.run(f"""
-- %% Create effects="cluster"
app = k8s.create [[{json.dumps(app("fails", driver=driver))}]]
-- %% Wait timeout="3m"
expect(app):reaches("COMPLETED", "2m")
""", "--no-preflight")  # which would say it
    assert done.code == 1 and 'serviceaccount "nobody" not found' in done.err, done
    assert "\n    next: make the account" in done.out or "next: make the account" in done.out, done
    assert "\tat io.fabric8" not in done.out + done.err and len(done.out.splitlines()) < 60, done


def test_a_preflight_on_a_real_cluster(t):
    place = Place(t)
    driver = {"cores": 1, "memory": "512m", "serviceAccount": "nobody"}
    executor = {"instances": 1, "coreRequest": "100", "memory": "1g"}
    place.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"}, "spec": {"hard": {"pods": "1"}}})
    eventually(lambda: "hard" in place.get("quota", "small").get("status", {}))
    said = place.run(f"""
-- %% Preflight
print(k8s.preflight [[{json.dumps(app("x", driver=driver, executor=executor, imagePullSecrets=["login"]))}]])
""").out
    for part in [f"error: namespace {place.namespace} has no service account nobody",
                 f"error: namespace {place.namespace} has no secret login",
                 "error: no node is large enough for the executor (100 CPU, 1433 MiB)",
                 f"error: quota small of namespace {place.namespace} leaves 1 of 1 pods, and 2 are asked for"]:
        assert part in said, said
    place.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "weak"}})
    said = place.run(f"""
-- %% Preflight
print(k8s.preflight [[{json.dumps(app("x", driver=dict(driver, serviceAccount="weak")))}]])
""").out
    assert f"error: the account weak may not make pods in namespace {place.namespace}" in said, said
    assert "kubectl create rolebinding weak-edit --clusterrole=edit" in said, said
    fine = Place(t, SPARK)
    said = fine.run(f"""
-- %% Preflight
print(k8s.preflight [[{json.dumps(app("fine", driver=dict(driver, serviceAccount="spark", env=[{"name": "A", "value": "b"}])))}]])
""").out
    assert "error" not in said, said
