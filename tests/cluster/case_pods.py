# SPDX-License-Identifier: MIT
"""The cluster itself: what pods find in it."""
import glob
import json

import tap
from place import Place, pod

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


def test_names_services_and_the_api_server(t):
    place = Place(t)
    place.create(
        pod("web", "sh", "-c", "echo here I am >/tmp/index.html; exec httpd -f -p 8080 -h /tmp"),
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
         "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]}})
    place.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=60s")
    place.create(pod("visitor", "sh", "-ec", f"""
        nslookup web.{place.namespace}.svc.cluster.local
        wget -q -O- http://web/
        wget -q -O- --header "Authorization: Bearer $(cat {ACCOUNT}/token)" https://kubernetes.default.svc/version
    """))
    end = place.ended("visitor")
    log = place.kubectl("logs", "visitor").out
    assert end == "Succeeded", log
    service = place.get("service", "web")["spec"]["clusterIP"]
    assert service in log and "here I am" in log and '"gitVersion": "v1.34' in log, log


def test_a_pod_that_fails(t):
    place = Place(t)
    place.create(pod("wrong", "sh", "-c", "echo no; exit 3"))
    assert place.ended("wrong") == "Failed"
    assert place.get("pod", "wrong")["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


def test_a_live_table_says_why_a_few_of_its_pods_are_sick(t):
    place = Place(t)
    crash = pod("crash", "sh", "-c", "exit 3")
    crash["spec"]["restartPolicy"] = "Always"
    place.create(crash, pod("noimage", "true", image="localhost/none:1", imagePullPolicy="Never"), *[pod(f"well-{i}", "sleep", "600") for i in range(3)])
    tap.eventually(lambda: any(c["restartCount"] for c in place.get("pod", "crash")["status"].get("containerStatuses", [])), 90)
    place.kubectl("wait", "--for=condition=Ready", *[f"pod/well-{i}" for i in range(3)], "--timeout=90s")
    tap.eventually(lambda: "ErrImageNeverPull" in place.kubectl("get", "pod", "noimage").out, 60)
    done = place.run('k8s.watch("pods")\nfiresteel.sleep(3)\n')
    assert done.code == 0, done
    (journal,) = glob.glob(f"{place.dir}/.firesteel/*.jsonl")
    with open(journal, encoding="utf-8") as f:
        tables = [(json.loads(line).get("data") or {}).get("application/vnd.firesteel.pods+json") for line in f]
    last = [table for table in tables if table][-1]
    columns = [c if isinstance(c, str) else c["name"] for c in last["columns"]]
    rows = {row["name"]: row for row in last["rows"]}
    why = {name: row["cells"][columns.index("WHY")] for name, row in rows.items()}
    assert why["crash"] == "exit 3 Error" and "localhost/none:1" in why["noimage"], why
    assert rows["crash"]["sick"] > rows["noimage"]["sick"] > 0, rows
    assert all(why[f"well-{i}"] == "" and "sick" not in rows[f"well-{i}"] for i in range(3)), rows
