#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sandbox's API server, driven by the real kubectl: reading, writing, watching, deleting, and what it
says when something is wrong."""
import base64
import json
import os
import re
import signal
import ssl
import time
import urllib.error
import urllib.request

from sandbox import Sandbox
from tap import PATIENCE, eventually, run

box = None
spaces = 0


def ns(t):
    """A namespace for this case, in the one sandbox of all cases."""
    global box, spaces
    box = box or Sandbox()
    spaces += 1
    name = f"case-{spaces}"
    box.kubectl("create", "namespace", name)
    return name


def k(*argv, **options):
    return box.kubectl(*argv, **options)


def pod(name, labels=None, **spec):
    """A pod that nobody runs: its node does not exist."""
    body = {"nodeName": "elsewhere", "containers": [{"name": "c", "image": "host"}]}
    body.update(spec)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels or {}},
            "spec": body}


def config(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def spark(name, **spec):
    body = {"type": "Python", "sparkVersion": "3.5.7", "mainApplicationFile": "local:///x.py",
            "suspend": True, "driver": {}, "executor": {}}
    body.update(spec)
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
            "metadata": {"name": name}, "spec": body}


def rows(text):
    return [re.split(r"\s{2,}", line.strip()) for line in text.strip().splitlines()]


class Http:
    """The API without kubectl."""

    def __init__(self):
        view = k("config", "view", "--raw", "-o", "json").out
        parsed = json.loads(view)
        cluster = parsed["clusters"][0]["cluster"]
        self.server = cluster["server"]
        self.token = parsed["users"][0]["user"]["token"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=ca)

    def __call__(self, method, path, body=None, token=None, timeout=20, **headers):
        request = urllib.request.Request(self.server + path, method=method, data=body)
        if token != "":
            request.add_header("Authorization", "Bearer " + (token or self.token))
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=timeout * PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()


# ---- reading

def test_the_server_is_known(t):
    ns(t)
    assert re.search(r"Server Version: v1\.33\.0\+firesteel-", k("version").out)
    kinds = k("api-resources", "-o", "name").out.split()
    for kind in ["pods", "jobs.batch", "events", "events.events.k8s.io", "configmaps", "secrets", "services",
                 "serviceaccounts", "namespaces", "nodes", "sparkapplications.sparkoperator.k8s.io",
                 "scheduledsparkapplications.sparkoperator.k8s.io", "mpijobs.kubeflow.org",
                 "leases.coordination.k8s.io", "customresourcedefinitions.apiextensions.k8s.io"]:
        assert kind in kinds, (kind, kinds)
    assert "sparkoperator.k8s.io/v1beta2" in k("api-versions").out.split()
    assert k("get", "--raw", "/readyz").out == "ok"
    assert k("cluster-info").out.count("is running at")


def test_a_cluster_is_born_with_its_objects(t):
    name = ns(t)
    names = k("get", "ns", "-o", "name").out.split()
    for wanted in ["namespace/default", "namespace/kube-system", "namespace/kube-public"]:
        assert wanted in names
    assert rows(k("get", "nodes").out)[1][:3] == ["firesteel-sandbox", "Ready", "control-plane"]
    accounts = k("get", "sa", "-n", name, "-o", "name").out.split()
    assert accounts == ["serviceaccount/default", "serviceaccount/spark"], accounts
    assert "BEGIN CERTIFICATE" in k("get", "cm", "kube-root-ca.crt", "-n", name, "-o", "yaml").out


def test_get_prints_tables(t):
    n = ns(t)
    box.create(pod("a", {"app": "x"}), pod("b"), ns=n)
    out = k("get", "pods", "-n", n).out
    assert rows(out)[0] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert rows(out)[1][:4] == ["a", "0/1", "Pending", "0"]
    wide = k("get", "pods", "-n", n, "-o", "wide").out
    assert rows(wide)[0][5:] == ["IP", "NODE", "NOMINATED NODE", "READINESS GATES"]
    assert rows(wide)[1][5:] == ["<none>", "elsewhere", "<none>", "<none>"]
    assert rows(k("get", "pods", "-n", n, "--show-labels").out)[1][-1] == "app=x"
    assert rows(k("get", "pods", "-n", n, "-L", "app").out)[0][-1] == "APP"
    assert k("get", "pods", "-n", n, "--no-headers", "-o", "custom-columns=N:.metadata.name").out == "a\nb\n"
    assert k("get", "pod/a", "-n", n, "-o", "jsonpath={.spec.nodeName}").out == "elsewhere"
    assert k("get", "pods", "-n", n, "-o", "name").out == "pod/a\npod/b\n"
    assert k("get", "pods", "-n", n, "-o", "json", "--sort-by", ".metadata.name").out.count('"kind": "Pod"') == 2
    everywhere = k("get", "pods", "-A").out
    assert rows(everywhere)[0][0] == "NAMESPACE" and n in everywhere
    assert k("get", "pods", "-n", "default").err == "No resources found in default namespace.\n"


def test_pod_status_words(t):
    """STATUS is computed as kube-apiserver does."""
    n = ns(t)
    box.create(pod("p"), ns=n)
    waiting = lambda reason: {"phase": "Pending", "containerStatuses": [
        {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": 0,
         "state": {"waiting": {"reason": reason}}}]}
    ended = lambda code, **more: {"phase": "Failed", "containerStatuses": [
        {"name": "c", "image": "", "imageID": "", "ready": False, "restartCount": 2,
         "state": {"terminated": dict(exitCode=code, **more)}}]}
    for status, words in [(waiting("ContainerCreating"), ["0/1", "ContainerCreating", "0"]),
                          (waiting("ImagePullBackOff"), ["0/1", "ImagePullBackOff", "0"]),
                          (ended(3, reason="Error"), ["0/1", "Error", "2"]),
                          (ended(3), ["0/1", "ExitCode:3", "2"]),
                          (ended(137, signal=9), ["0/1", "Signal:9", "2"]),
                          ({"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0"])]:
        k("patch", "pod", "p", "-n", n, "--subresource=status", "--type=json", "-p",
          json.dumps([{"op": "replace", "path": "/status", "value": status}]))
        assert rows(k("get", "pod", "p", "-n", n).out)[1][1:4] == words, words


def test_selectors(t):
    n = ns(t)
    box.create(pod("a", {"app": "web", "tier": "x"}), pod("b", {"app": "web"}), pod("c", {"app": "db"}), ns=n)
    get = lambda *argv: k("get", "pods", "-n", n, "-o", "jsonpath={.items[*].metadata.name}", *argv).out
    assert get("-l", "app=web") == "a b"
    assert get("-l", "app=web,tier=x") == "a"
    assert get("-l", "app!=web") == "c"
    assert get("-l", "app in (web, db),!tier") == "b c"
    assert get("-l", "app notin (db)") == "a b"
    assert get("-l", "tier") == "a"
    assert get("--field-selector", "metadata.name=b") == "b"
    assert get("--field-selector", "metadata.name!=b,spec.nodeName=elsewhere") == "a c"
    assert get("--field-selector", "status.phase=Running") == ""
    refused = k("get", "pods", "-n", n, "--field-selector", "spec.foo=1", code=1).err
    assert "field label not supported: spec.foo" in refused, refused
    assert "unable to parse requirement" in k("get", "pods", "-l", "a=(", code=1).err


def test_lists_come_in_pages(t):
    n = ns(t)
    box.create(*[config(f"c{i:03}") for i in range(25)], ns=n)
    assert len(rows(k("get", "cm", "-n", n, "--chunk-size=10", "--no-headers").out)) == 26
    http = Http()
    page = json.loads(http("GET", f"/api/v1/namespaces/{n}/configmaps?limit=10")[1])
    assert len(page["items"]) == 10 and page["metadata"]["remainingItemCount"] == 16
    k("delete", "cm", "c003", "-n", n)
    second = json.loads(http("GET", f"/api/v1/namespaces/{n}/configmaps?limit=100&continue="
                             + page["metadata"]["continue"])[1])
    assert len(second["items"]) == 16
    assert second["metadata"]["resourceVersion"] == page["metadata"]["resourceVersion"]
    assert http("GET", f"/api/v1/namespaces/{n}/configmaps?limit=1&continue=xyz")[0] == 400


def test_get_watches(t):
    n = ns(t)
    box.create(pod("a"), ns=n)
    watch = box.start("get", "pods", "-n", n, "-w", "--output-watch-events")
    t.after(watch.kill)
    header = watch.stdout.readline().split()
    assert header[:3] == ["EVENT", "NAME", "READY"], header
    assert watch.stdout.readline().split()[:2] == ["ADDED", "a"]
    box.create(pod("b"), ns=n)
    assert watch.stdout.readline().split()[:2] == ["ADDED", "b"]
    k("label", "pod", "b", "-n", n, "x=y")
    assert watch.stdout.readline().split()[:2] == ["MODIFIED", "b"]
    k("delete", "pod", "a", "-n", n, "--force", "--grace-period=0")
    seen = [watch.stdout.readline().split()[:2]]
    while seen[-1][0] == "MODIFIED":
        seen.append(watch.stdout.readline().split()[:2])
    assert seen[-1] == ["DELETED", "a"], seen


def test_explain(t):
    ns(t)
    out = k("explain", "pod.spec.containers.image").out
    assert "FIELD: image <string>" in out, out
    assert "executor" in k("explain", "sparkapplication.spec").out


# ---- writing

def test_create_and_its_refusals(t):
    n = ns(t)
    assert box.create(config("a", x="1"), ns=n).out == "configmap/a created\n"
    again = k("create", "-n", n, "-f", "-", input=json.dumps(config("a")), code=1).err
    assert again == ('Error from server (AlreadyExists): error when creating "STDIN": configmaps "a" already '
                     'exists\n'), again
    dry = k("create", "-n", n, "-f", "-", "--dry-run=server", input=json.dumps(config("b")))
    assert dry.out == "configmap/b created (server dry run)\n"
    k("get", "cm", "b", "-n", n, code=1)
    generated = dict(config("x"), metadata={"generateName": "run-"})
    assert re.fullmatch(r"configmap/run-[a-z0-9]{5} created\n", box.create(generated, ns=n).out)
    for kind in [("configmap", "m", "--from-literal=k=v"), ("secret", "generic", "s", "--from-literal=k=v"),
                 ("serviceaccount", "robot"), ("job", "j", "--image=nothing"),
                 ("role", "r", "--verb=get", "--resource=pods"),
                 ("rolebinding", "rb", "--role=r", f"--serviceaccount={n}:robot"),
                 ("service", "clusterip", "svc", "--tcp=80:8080")]:
        k("create", *kind, "-n", n)
    assert k("get", "secret", "s", "-n", n, "-o", "jsonpath={.data.k}").out == "dg=="
    service = rows(k("get", "svc", "svc", "-n", n).out)[1]
    assert service[1] == "ClusterIP" and service[3:5] == ["<none>", "80/TCP"], service
    assert k("get", "rolebinding", "rb", "-n", n, "-o", "wide").out.count(f"{n}/robot") == 1


def test_invalid_objects(t):
    n = ns(t)
    fail = lambda o, *argv: k("create", "-n", n, "-f", "-", *argv, input=json.dumps(o), code=1).err
    bad = pod("X", containers=[{"name": "c"}, {"name": "c", "image": "i"}])
    said = fail(bad)
    assert 'The Pod "X" is invalid:' in said, said
    assert "metadata.name: Invalid value: \"X\": a lowercase RFC 1123 subdomain must consist of" in said
    assert "spec.containers[0].image: Required value" in said
    assert 'spec.containers[1].name: Duplicate value: "c"' in said
    assert "spec.containers: Required value" in fail(pod("p", containers=[]))
    assert 'supported values: "Always", "OnFailure", "Never"' in fail(pod("p", restartPolicy="Maybe"))
    unknown = fail(pod("p", hostNetwrk=True))
    assert 'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field ' \
           '"spec.hostNetwrk"' in unknown, unknown
    assert 'must be of type array, not string' in fail(pod("p", containers="c"))
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"},
           "spec": {"template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}}
    assert 'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"' in fail(job)
    assert "error looking up service account" in fail(pod("p", serviceAccountName="nobody"))
    away = k("create", "-n", "nowhere", "-f", "-", input=json.dumps(config("c")), code=1).err
    assert 'namespaces "nowhere" not found' in away, away
    said = fail({"apiVersion": "v1", "kind": "Widget", "metadata": {"name": "w"}})
    assert 'no matches for kind "Widget"' in said, said


def test_spark_applications(t):
    n = ns(t)
    fail = lambda o: k("create", "-n", n, "-f", "-", input=json.dumps(o), code=1).err
    assert box.create(spark("app"), ns=n).out == "sparkapplication.sparkoperator.k8s.io/app created\n"
    spec = box.json("sparkapp", "app", "-n", n)["spec"]
    assert spec["mode"] == "cluster" and spec["restartPolicy"] == {"type": "Never"}
    assert spec["driver"]["cores"] == 1 and spec["executor"]["instances"] == 1
    assert rows(k("get", "sparkapp", "-n", n).out)[0] == ["NAME", "SUSPEND", "STATUS", "ATTEMPTS", "START",
                                                         "FINISH", "AGE"]
    assert 'spec.type: Unsupported value: "Perl"' in fail(spark("b", type="Perl"))
    without = spark("b")
    del without["spec"]["sparkVersion"]
    assert "spec.sparkVersion: Required value" in fail(without)
    assert "spec.executor.instances in body should be greater than or equal to 1" in \
        fail(spark("b", executor={"instances": 0}))
    assert 'invalid SparkApplication name "1b"' in fail(spark("1b"))
    assert 'strict decoding error: unknown field "spec.drivr"' in fail(spark("b", drivr={}))
    k("patch", "sparkapp", "app", "-n", n, "--type=merge", "-p", '{"spec": {"arguments": ["1"]}}')
    assert box.json("sparkapp", "app", "-n", n)["metadata"]["generation"] == 2
    strategic = k("patch", "sparkapp", "app", "-n", n, "--type=strategic", "-p", '{}', code=1).err
    assert "415" in strategic or "UnsupportedMediaType" in strategic or "strategic" in strategic, strategic


def test_patch(t):
    n = ns(t)
    two = [{"name": "a", "image": "one"}, {"name": "b", "image": "two"}]
    box.create(pod("p", {"x": "1"}, containers=two), ns=n)
    k("patch", "pod", "p", "-n", n, "-p", '{"spec": {"containers": [{"name": "b", "image": "three"}]}}')
    images = "jsonpath={.spec.containers[*].image}"
    assert k("get", "pod", "p", "-n", n, "-o", images).out == "one three"
    k("patch", "pod", "p", "-n", n, "--type=json", "-p",
      '[{"op": "test", "path": "/metadata/labels/x", "value": "1"},'
      ' {"op": "add", "path": "/metadata/labels/y~1z", "value": "2"}]')
    assert box.json("pod", "p", "-n", n)["metadata"]["labels"] == {"x": "1", "y/z": "2"}
    k("patch", "pod", "p", "-n", n, "--type=merge", "-p", '{"metadata": {"labels": {"x": null}}}')
    assert box.json("pod", "p", "-n", n)["metadata"]["labels"] == {"y/z": "2"}
    missing = k("patch", "pod", "p", "-n", n, "--type=json", "-p", '[{"op": "remove", "path": "/spec/x"}]', code=1)
    assert "doc is missing path: /spec/x" in missing.err, missing.err
    forbidden = k("patch", "pod", "p", "-n", n, "-p", '{"spec": {"restartPolicy": "Never"}}', code=1).err
    assert "spec: Forbidden: pod updates may not change fields other than" in forbidden
    assert k("patch", "pod", "p", "-n", n, "-p", "{}").out == "pod/p patched (no change)\n"
    assert k("label", "pod", "p", "-n", n, "q=r").out == "pod/p labeled\n"
    assert k("annotate", "pod", "p", "-n", n, "q=r").out == "pod/p annotated\n"
    assert "a valid label must be" in k("label", "pod", "p", "-n", n, "w=a b", code=1).err


def test_replace_conflicts(t):
    n = ns(t)
    box.create(config("a", x="1"), ns=n)
    old = box.json("cm", "a", "-n", n)
    k("patch", "cm", "a", "-n", n, "-p", '{"data": {"x": "2"}}')
    said = k("replace", "-f", "-", input=json.dumps(old), code=1).err
    assert "Error from server (Conflict)" in said and \
        'Operation cannot be fulfilled on configmaps "a": the object has been modified' in said, said
    del old["metadata"]["resourceVersion"]
    k("replace", "-f", "-", input=json.dumps(old))
    assert box.json("cm", "a", "-n", n)["data"] == {"x": "1"}


def test_apply_on_the_client(t):
    n = ns(t)
    apply = lambda o: k("apply", "-n", n, "-f", "-", input=json.dumps(o)).out
    assert apply(config("a", x="1", y="1")) == "configmap/a created\n"
    assert apply(config("a", x="1", y="1")) == "configmap/a unchanged\n"
    k("patch", "cm", "a", "-n", n, "-p", '{"data": {"z": "kept"}}')
    assert apply(config("a", x="2")) == "configmap/a configured\n"
    assert box.json("cm", "a", "-n", n)["data"] == {"x": "2", "z": "kept"}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {
        "suspend": True, "template": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "c", "image": "host", "command": ["true"]}]}}}}
    assert apply(job) == "job.batch/j created\n"
    assert apply(job) == "job.batch/j unchanged\n"
    job["spec"]["template"]["spec"]["containers"][0]["command"] = ["false"]
    said = k("apply", "-n", n, "-f", "-", input=json.dumps(job), code=1).err
    assert "field is immutable" in said
    assert apply(spark("s")) == "sparkapplication.sparkoperator.k8s.io/s created\n"
    assert apply(spark("s")) == "sparkapplication.sparkoperator.k8s.io/s unchanged\n"
    assert apply(spark("s", arguments=["x"])) == "sparkapplication.sparkoperator.k8s.io/s configured\n"
    assert k("diff", "-n", n, "-f", "-", input=json.dumps(spark("s", arguments=["x"]))).out == ""


def test_apply_on_the_server(t):
    n = ns(t)
    apply = lambda o, *argv, **more: k("apply", "--server-side", "-n", n, "-f", "-", *argv,
                                       input=json.dumps(o), **more)
    assert apply(config("a", x="1", y="1")).out == "configmap/a serverside-applied\n"
    version = box.json("cm", "a", "-n", n)["metadata"]["resourceVersion"]
    apply(config("a", x="1", y="1"))
    assert box.json("cm", "a", "-n", n)["metadata"]["resourceVersion"] == version
    clash = apply(config("a", x="2"), "--field-manager=other", code=1).err
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.x' in clash, clash
    apply(config("a", x="2"), "--field-manager=other", "--force-conflicts")
    apply(config("a", y="1"))                     # x is the other's now, so it stays
    assert box.json("cm", "a", "-n", n)["data"] == {"x": "2", "y": "1"}
    apply(config("a"))
    assert box.json("cm", "a", "-n", n)["data"] == {"x": "2"}
    owners = {m["manager"]: m for m in json.loads(
        k("get", "cm", "a", "-n", n, "-o", "json", "--show-managed-fields").out)["metadata"]["managedFields"]}
    assert owners["other"]["fieldsV1"] == {"f:data": {"f:x": {}}}, owners
    p = pod("p", containers=[{"name": "a", "image": "one"}])
    apply(p)
    k("patch", "pod", "p", "-n", n, "-p", '{"metadata": {"labels": {"mine": "1"}}}')
    apply(pod("p", {"l": "1"}, containers=[{"name": "a", "image": "two"}]))
    stored = box.json("pod", "p", "-n", n)
    assert stored["metadata"]["labels"] == {"l": "1", "mine": "1"}
    assert stored["spec"]["containers"][0]["image"] == "two"


# ---- deleting

def owned(name, owner, kind="ConfigMap", block=True, **more):
    made = config(name, **more)
    made["metadata"]["ownerReferences"] = [{
        "apiVersion": "v1", "kind": kind, "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": block}]
    return made


def test_delete_takes_dependents_along(t):
    n = ns(t)
    names = lambda: [m["metadata"]["name"] for m in box.json("cm", "-n", n)["items"]
                     if m["metadata"]["name"] != "kube-root-ca.crt"]
    for how, left in [("background", []), ("foreground", []), ("orphan", ["child", "grandchild"])]:
        box.create(config("owner"), ns=n)
        box.create(owned("child", box.json("cm", "owner", "-n", n)), ns=n)
        box.create(owned("grandchild", box.json("cm", "child", "-n", n)), ns=n)
        k("delete", "cm", "owner", "-n", n, "--cascade=" + how)
        assert names() == left, (how, names())
    assert "ownerReferences" not in box.json("cm", "child", "-n", n)["metadata"]


def test_delete_waits_for_finalizers(t):
    n = ns(t)
    made = config("a")
    made["metadata"]["finalizers"] = ["example.com/hold"]
    box.create(made, ns=n)
    waiting = box.start("delete", "cm", "a", "-n", n)
    t.after(waiting.kill)
    eventually(lambda: "deletionTimestamp" in box.json("cm", "a", "-n", n)["metadata"])
    assert waiting.poll() is None
    k("patch", "cm", "a", "-n", n, "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
    assert waiting.wait(20 * PATIENCE) == 0
    k("get", "cm", "a", "-n", n, code=1)


def test_delete_of_many_and_preconditions(t):
    n = ns(t)
    box.create(config("a"), config("b"), config("c"), ns=n)
    k("label", "cm", "a", "b", "-n", n, "go=1")
    out = k("delete", "cm", "-n", n, "-l", "go=1").out
    assert re.findall(r'configmap "(\w)" deleted', out) == ["a", "b"]
    http = Http()
    code, body = http("DELETE", f"/api/v1/namespaces/{n}/configmaps/c", json.dumps(
        {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "other"}}).encode(), Content_Type="application/json")
    assert code == 409 and "the UID in the precondition (other) does not match" in body, body
    missing = k("delete", "cm", "zzz", "-n", n, code=1).err
    assert missing == 'Error from server (NotFound): configmaps "zzz" not found\n', missing
    k("delete", "cm", "zzz", "-n", n, "--ignore-not-found")
    assert 'configmap "c" deleted' in k("delete", "cm", "--all", "-n", n).out


def test_pods_leave_in_time(t):
    n = ns(t)
    box.create(pod("p", terminationGracePeriodSeconds=7), ns=n)
    k("delete", "pod", "p", "-n", n, "--wait=false")
    p = box.json("pod", "p", "-n", n)["metadata"]
    assert p["deletionGracePeriodSeconds"] == 7 and p["deletionTimestamp"]
    assert rows(k("get", "pods", "-n", n).out)[1][2] == "Terminating"
    k("delete", "pod", "p", "-n", n, "--grace-period=0", "--force")
    k("get", "pod", "p", "-n", n, code=1)


def test_namespaces_go_with_all_in_them(t):
    n = ns(t)
    box.create(config("a"), spark("s"), ns=n)
    assert k("delete", "namespace", n).out == f'namespace "{n}" deleted\n'
    k("get", "ns", n, code=1)
    assert k("get", "cm", "-A", "-o", "name", "--field-selector", f"metadata.namespace={n}").out == ""


# ---- waiting, events, logs, access

def test_wait(t):
    n = ns(t)
    box.create(config("a", x="1"), pod("p"), ns=n)
    waits = [box.start("wait", "-n", n, f"--timeout={30 * PATIENCE:.0f}s", what, *which) for what, which in [
        ("--for=jsonpath={.data.x}=2", ["cm/a"]), ("--for=condition=Ready", ["pod/p"]),
        ("--for=delete", ["cm/a"]), ("--for=create", ["cm/later"])]]
    time.sleep(0.5)
    k("patch", "cm", "a", "-n", n, "-p", '{"data": {"x": "2"}}')
    k("patch", "pod", "p", "-n", n, "--subresource=status", "--type=merge", "-p",
      '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}')
    assert waits[0].communicate(timeout=30 * PATIENCE)[0] == "configmap/a condition met\n"
    assert waits[1].communicate(timeout=30 * PATIENCE)[0] == "pod/p condition met\n"
    k("delete", "cm", "a", "-n", n)
    assert waits[2].wait(30 * PATIENCE) == 0
    box.create(config("later"), ns=n)
    assert waits[3].wait(30 * PATIENCE) == 0, waits[3].stdout.read()
    late = k("wait", "-n", n, "--timeout=200ms", "--for=delete", "cm/later", code=1).err
    assert "timed out waiting for the condition" in late, late


def test_events_and_describe(t):
    n = ns(t)
    box.create(pod("p"), ns=n)
    uid = box.json("pod", "p", "-n", n)["metadata"]["uid"]
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e1"}, "type": "Warning",
             "reason": "BackOff", "message": "Back-off pulling image", "count": 3,
             "involvedObject": {"kind": "Pod", "namespace": n, "name": "p", "uid": uid, "apiVersion": "v1"},
             "source": {"component": "kubelet"},
             "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:00Z"}
    box.create(event, ns=n)
    assert "BackOff" in k("events", "-n", n).out
    assert "Back-off pulling image" in k("events", "-n", n, "--for", "pod/p").out
    table = rows(k("get", "events", "-n", n).out)
    assert table[0] == ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert table[1][1:] == ["Warning", "BackOff", "pod/p", "Back-off pulling image"]
    get = lambda what: k("get", "events", "-n", n, "--field-selector", what, "-o", "name").out
    assert get("involvedObject.name=p,involvedObject.kind=Pod,type=Warning") == "event/e1\n"
    assert get("involvedObject.uid=x") == ""
    newer = json.loads(k("get", "events.v1.events.k8s.io", "e1", "-n", n, "-o", "json").out)
    assert newer["note"] == "Back-off pulling image" and newer["regarding"]["name"] == "p"
    described = k("describe", "pod", "p", "-n", n).out
    assert re.search(r"Node:\s+elsewhere", described) and "Back-off pulling image" in described
    for kind in ["cm", "sa", "secret", "svc", "node", "ns"]:
        k("describe", kind, "-n", n)
    box.create(spark("s"), ns=n)
    assert "Spark Version" in k("describe", "sparkapp", "s", "-n", n).out


def test_logs(t):
    n = ns(t)
    lines = "for i in 1 2 3; do echo line $i; done; echo oops >&2; echo -n end"
    job = pod("p", restartPolicy="Never", containers=[
        {"name": "c", "image": "host", "command": ["sh", "-c", lines]}])
    del job["spec"]["nodeName"]
    box.create(job, ns=n)
    k("wait", "-n", n, "--for=jsonpath={.status.phase}=Succeeded", "pod/p", f"--timeout={30 * PATIENCE:.0f}s")
    whole = k("logs", "p", "-n", n).out
    assert sorted(whole.replace("end", "end\n").split("\n")[:5]) == ["end", "line 1", "line 2", "line 3", "oops"], whole
    assert k("logs", "p", "-n", n, "--tail=1").out.count("line 1") == 0
    stamped = k("logs", "p", "-n", n, "--timestamps", "--tail=2").out
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ", stamped), stamped
    assert k("logs", "p", "-n", n, "--since=1h").out == whole
    assert k("logs", "p", "-n", n, "--limit-bytes=4").out == whole[:4]
    assert k("logs", "p", "-n", n, "-f").out == whole
    assert "container d is not valid for pod p" in k("logs", "p", "-c", "d", "-n", n, code=1).err
    box.create(pod("two", containers=[{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]), ns=n)
    http = Http()
    code, body = http("GET", f"/api/v1/namespaces/{n}/pods/two/log")
    assert code == 400 and "a container name must be specified for pod two, choose one of: [a b]" in body, body
    assert 'pods "none" not found' in k("logs", "none", "-n", n, code=1).err


def test_logs_follow(t):
    n = ns(t)
    slow = pod("p", restartPolicy="Never", containers=[
        {"name": "c", "image": "host", "command": ["sh", "-c", "echo one; while [ ! -e $GO ]; do sleep 0.05; done; "
                                                   "echo two"],
         "env": [{"name": "GO", "value": os.path.join(box.dir, "go-on")}]}])
    del slow["spec"]["nodeName"]
    box.create(slow, ns=n)
    k("wait", "-n", n, "--for=condition=Ready", "pod/p", f"--timeout={30 * PATIENCE:.0f}s")
    follow = box.start("logs", "-f", "p", "-n", n)
    t.after(follow.kill)
    assert follow.stdout.readline() == "one\n"
    open(os.path.join(box.dir, "go-on"), "w").close()
    assert follow.stdout.readline() == "two\n"
    assert follow.wait(20 * PATIENCE) == 0


def test_access(t):
    ns(t)
    assert k("auth", "can-i", "create", "pods").out == "yes\n"
    assert "*.*" in k("auth", "can-i", "--list").out
    assert "firesteel" in k("auth", "whoami").out
    http = Http()
    for token in ["", "wrong"]:
        code, body = http("GET", "/api/v1/pods", token=token)
        status = json.loads(body)
        assert code == 401 and status["kind"] == "Status" and status["reason"] == "Unauthorized", body
    assert http("GET", "/v2/", token="")[0] == 401


def test_custom_resource_definitions(t):
    n = ns(t)
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": "widgets.example.com"}, "spec": {
               "group": "example.com", "scope": "Namespaced",
               "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"]},
               "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                             "additionalPrinterColumns": [
                                 {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
                                 {"name": "Ready", "type": "string",
                                  "jsonPath": '.status.conditions[?(@.type=="Ready")].status'}],
                             "schema": {"openAPIV3Schema": {
                                 "type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}
    k("apply", "-f", "-", input=json.dumps(crd))
    k("wait", "--for=condition=Established", "crd/widgets.example.com", f"--timeout={20 * PATIENCE:.0f}s")
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    assert k("apply", "-n", n, "-f", "-", input=json.dumps(widget)).out == "widget.example.com/w created\n"
    k("patch", "wd", "w", "-n", n, "--subresource=status", "--type=merge", "-p",
      '{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}')
    assert rows(k("get", "wd", "-n", n).out) == [["NAME", "SIZE", "READY"], ["w", "3", "True"]]
    k("delete", "crd", "widgets.example.com")
    k("get", "widgets", "-n", n, code=1)


# ---- the wire itself

def test_watches_resume_and_expire(t):
    n = ns(t)
    http = Http()
    box.create(config("a", x="0"), ns=n)
    listed = json.loads(http("GET", f"/api/v1/namespaces/{n}/configmaps")[1])["metadata"]["resourceVersion"]
    for i in range(3):
        k("patch", "cm", "a", "-n", n, "-p", json.dumps({"data": {"x": str(i + 1)}}))
    k("delete", "cm", "a", "-n", n)
    path = f"/api/v1/namespaces/{n}/configmaps?watch=1&timeoutSeconds=1&resourceVersion={listed}"
    events = [json.loads(line) for line in http("GET", path)[1].splitlines()]
    assert [e["type"] for e in events] == ["MODIFIED"] * 3 + ["DELETED"], events
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in events]
    assert versions == sorted(set(versions)) and versions[0] > int(listed)
    code, body = http("GET", f"/api/v1/namespaces/{n}/configmaps?watch=1&resourceVersion=999999")
    assert code == 504 and "Too large resource version" in body, body
    initial = http("GET", f"/api/v1/namespaces/{n}/configmaps?watch=1&sendInitialEvents=true&timeoutSeconds=1"
                   "&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")[1]
    last = json.loads(initial.splitlines()[-1])
    assert last["type"] == "BOOKMARK"
    assert last["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


def test_refusals_are_status_objects(t):
    n = ns(t)
    http = Http()
    path = f"/api/v1/namespaces/{n}/configmaps"
    json_type = {"Content_Type": "application/json"}
    for method, where, body, headers, code, reason in [
            ("GET", "/api/v1/nothing", None, {}, 404, "NotFound"),
            ("GET", path + "/x", None, {}, 404, "NotFound"),
            ("POST", path, b"{", json_type, 400, "BadRequest"),
            ("POST", path, b"[]", json_type, 400, "BadRequest"),
            ("POST", path, json.dumps(pod("p")).encode(), json_type, 400, "BadRequest"),
            ("POST", "/api/v1/configmaps", b"{}", json_type, 405, "MethodNotAllowed"),
            ("PUT", path, b"{}", json_type, 405, "MethodNotAllowed"),
            ("POST", path, b"x", {"Content_Type": "application/cbor"}, 415, "UnsupportedMediaType"),
            ("POST", path, b"k8s\0\xff\xff\xff", {"Content_Type": "application/vnd.kubernetes.protobuf"}, 400,
             "BadRequest"),
            ("GET", path, None, {"Accept": "application/vnd.kubernetes.protobuf"}, 406, "NotAcceptable"),
            ("POST", path, b" " * (4 << 20), json_type, 413, "RequestEntityTooLarge")]:
        got, text = http(method, where, body, **headers)
        status = json.loads(text)
        assert (got, status["kind"], status["reason"], status["code"]) == (code, "Status", reason, code), \
            (method, where, text)
    yaml = http("GET", path, Accept="application/yaml")
    assert yaml[0] == 200 and yaml[1].startswith("apiVersion: v1\nitems:\n"), yaml[1][:60]


def test_it_stops_cleanly(t):
    ns(t)
    watch = box.start("get", "pods", "-A", "-w")
    t.after(watch.kill)
    time.sleep(0.3)
    assert box.stop() == ""


run(globals())
