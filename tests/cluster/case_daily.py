# SPDX-License-Identifier: MIT
"""A day at the cluster desk on a real cluster: revisions, schedules, nodes, rights, forwarded ports, logs of what crashed."""
import os
import re
import time
import urllib.request

import images
import tap
from case_desk import desk
from place import Place, pod

from bench import opens, text  # case_desk has set its path


def deployment(name, value, kind="Deployment"):
    container = {"name": "main", "image": images.BUSYBOX, "command": ["sleep", "600"], "env": [{"name": "VALUE", "value": value}]}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {
        "replicas": 1, "selector": {"matchLabels": {"app": name}}, **({"serviceName": name} if kind == "StatefulSet" else {}),
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]}}}}


def value_of(place, kind, name):
    return place.get(kind, name)["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"]


def asked(s, *texts):
    for part in ("May this be done?", *texts):
        s.wait(part)
    time.sleep(0.8)


def yes(s, *texts):
    asked(s, *texts)
    s.keys("y")
    s.gone("May this be done?")


def test_a_deployment_goes_back_to_a_revision(t):
    place = Place(t)
    place.create(deployment("web", "first"))
    place.kubectl("annotate", "deploy/web", "kubernetes.io/change-cause=the beginning")
    place.kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    place.kubectl("set", "env", "deploy/web", "VALUE=second")
    place.kubectl("annotate", "--overwrite", "deploy/web", "kubernetes.io/change-cause=a mistake")
    place.kubectl("rollout", "status", "deploy/web", "--timeout=60s")
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "deploy", "1/1")
        s.keys("h")
        s.wait("revisions of deployment web")
        shown = text(s)
        assert re.search(r"^ 2 +\* .*a mistake", shown, re.M) and re.search(r"^ 1 .*the beginning", shown, re.M), shown
        s.keys("j Enter")
        s.wait("value: first")
        assert "pod-template-hash" not in text(s), text(s)
        s.keys("q u")
        yes(s, "roll back Deployment web to revision 1", "value: second", "value: first")
        tap.eventually(lambda: value_of(place, "deployment", "web") == "first")
        said = place.kubectl("rollout", "history", "deploy/web").out
        assert re.search(r"^3 +the beginning", said, re.M) and not re.search(r"^1 ", said, re.M), said
        s.keys("q")
        opens(s, "rollout undo")
        yes(s, "roll back Deployment web to the revision before")
        tap.eventually(lambda: value_of(place, "deployment", "web") == "second")
        opens(s, "rollout undo 77", "has no revision 77")
        s.keys("q q")


def test_a_stateful_set_goes_back_to_a_revision(t):
    place = Place(t)
    place.create(deployment("db", "first", "StatefulSet"))
    place.kubectl("rollout", "status", "sts/db", "--timeout=60s")
    place.kubectl("set", "env", "sts/db", "VALUE=second")
    place.kubectl("rollout", "status", "sts/db", "--timeout=60s")
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "sts", "1/1")
        opens(s, "rollout history", "revisions of statefulset db")
        assert re.search(r"^ 2 +\* ", text(s), re.M), text(s)
        s.keys("q")
        opens(s, "rollout undo --to-revision=1")
        yes(s, "roll back StatefulSet db to revision 1")
        tap.eventually(lambda: value_of(place, "statefulset", "db") == "first")
        s.keys("q q")


def test_a_cron_job_is_started_and_suspended(t):
    place = Place(t)
    place.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": {
        "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": pod("x", "true")["spec"]}}}}})
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "cronjobs", "0 0 1 1 *")
        opens(s, "trigger")
        yes(s, "create Job tick-manual-")
        s.wait(" is made")
        job = tap.eventually(lambda: place.left("", "jobs"), 30)[0].split("/")[-1]
        made = place.get("job", job)
        assert job.startswith("tick-manual-") and made["metadata"]["ownerReferences"][0]["name"] == "tick", made["metadata"]
        assert made["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"] == "manual", made["metadata"]
        opens(s, "pause")
        yes(s, "suspend CronJob tick", "+  suspend: true")
        tap.eventually(lambda: place.get("cronjob", "tick")["spec"]["suspend"])
        opens(s, "resume")
        yes(s, "resume CronJob tick")
        tap.eventually(lambda: not place.get("cronjob", "tick")["spec"]["suspend"])
        s.keys("q q")


def test_a_node_is_cordoned_and_drained(t):
    place = Place(t)
    node = f"away-{os.getpid()}"  # no kubelet is there: the node of the other cases stays as it is
    place.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    t.after(lambda: place.kubectl("delete", "node", node))
    lonely = pod("lonely", "sleep", "600")
    lonely["spec"]["nodeName"] = node
    place.create(lonely)
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "nodes", node)
        s.keys("/")
        s.type(node)
        s.keys("Enter")
        opens(s, "cordon")
        yes(s, f"cordon Node {node}", "unschedulable: true")
        tap.eventually(lambda: place.get("node", node)["spec"].get("unschedulable"))
        opens(s, "uncordon")
        yes(s, f"uncordon Node {node}")
        tap.eventually(lambda: not place.get("node", node)["spec"].get("unschedulable"))
        opens(s, "drain", f"{place.namespace}/lonely (nothing makes it again: --force)")
        assert "May this be done?" not in text(s), text(s)
        opens(s, "drain --what", "--what: no such option of drain")
        opens(s, "drain --force --grace-period=0")
        yes(s, f"drain Node {node}", f"-{place.namespace}/lonely  evicted", "destructive")
        s.wait("1 pod evicted")
        tap.eventually(lambda: not place.find("pod", "lonely"))
        assert place.get("node", node)["spec"]["unschedulable"], "a node that is drained takes nothing new"
        s.keys("q q q")


def test_who_may(t):
    place = Place(t)
    place.create(pod("calm", "sleep", "600"))
    place.kubectl("create", "serviceaccount", "reader")
    place.kubectl("create", "role", "reading", "--verb=get,list", "--resource=pods")
    place.kubectl("create", "rolebinding", "readers", "--role=reading", f"--serviceaccount={place.namespace}:reader", "--group=looking")
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "pods", "calm")
        opens(s, "who", "who may do what to pod calm")
        shown = text(s)
        assert re.search(rf"{place.namespace}/reader +ServiceAccount +get list +RoleBinding/readers +Role/reading", shown), shown
        assert re.search(r"looking +Group +get list +RoleBinding/readers", shown) and re.search(r"system:masters +Group +\*", shown), shown
        s.keys("q")
        opens(s, "who delete", "who may delete pod calm")
        s.wait("system:masters")
        assert "reader" not in text(s), text(s)
        s.keys("q q q")


def test_ports_are_forwarded_by_keys(t):
    place = Place(t)
    served = pod("served", "sh", "-c", "echo here it is > /tmp/index.html; exec httpd -f -p 8080 -h /tmp",
                 ports=[{"containerPort": 8080, "name": "http"}])
    place.create(served, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "front"}, "spec": {
        "selector": {"app": "served"}, "ports": [{"port": 80, "targetPort": "http"}]}})
    place.kubectl("wait", "--for=condition=Ready", "pod/served", "--timeout=60s")

    def answer(address):
        with urllib.request.urlopen(f"http://{address}/", timeout=5) as got:
            return got.read().decode()
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "pods", "served", "1/1")
        s.keys("F")
        s.wait(":forward")
        s.keys("Enter")
        yes(s, "forward ports of this machine to Pod served")
        s.wait(" → 8080 of pod served")
        first = re.search(r"(127\.0\.0\.1:\d+) → 8080", text(s))[1]
        assert "here it is" in answer(first)
        opens(s, "services", "front")
        opens(s, "forward :80")
        yes(s, "forward :80 of this machine to Service front")
        s.wait("→ 8080 of pod served")
        second = re.search(r"(127\.0\.0\.1:\d+) → 8080", text(s))[1]
        assert "here it is" in answer(second)
        opens(s, "forward :81", '"81" is no port of service front')
        s.keys("f")
        s.wait("forwarded ports")
        s.wait(second)
        assert re.search(rf"{first} +8080 +served +{place.namespace}", text(s)), text(s)
        s.keys("Enter")
        s.wait(f"http://{first}")
        s.keys("C-d")
        s.gone(f"{first} ")
        try:
            answer(first)
            raise AssertionError("the port is still forwarded")
        except urllib.error.URLError:
            pass
        assert "here it is" in answer(second)
        s.keys("q q q q")


def test_the_log_before_a_crash(t):
    place = Place(t)
    falls = pod("falls", "sh", "-c", "echo the run of $(cat /proc/uptime | cut -d. -f1); sleep 1; exit 3")
    falls["spec"]["restartPolicy"] = "Always"
    place.create(falls, pod("stays", "sh", "-c", "echo it stays; exec sleep 600"))

    def restarted():
        return place.get("pod", "falls")["status"].get("containerStatuses", [{}])[0].get("restartCount", 0) > 0
    tap.eventually(restarted, 90)
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "pods", "falls", "stays")
        s.keys("p")
        s.wait("(of the container before it was started again)")
        s.wait("the run of")
        s.keys("q * l")
        s.wait("logs of 2 rows")
        s.wait("stays/main | it stays")
        s.wait("falls/main | the run of")
        s.keys("q q q")
