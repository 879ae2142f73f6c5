# SPDX-License-Identifier: MIT
"""What the pods of a run asked for and used, as the real metrics-server measures it."""
import json

import images
import tap
from place import Place, pod


def job(seconds, cpu, memory):
    return json.dumps({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "burn-"}, "spec": {"backoffLimit": 0, "template": {"spec": {
        "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "main", "image": images.BUSYBOX, "imagePullPolicy": "Never", "resources": {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}},
            "command": ["sh", "-c", f"end=$(($(date +%s)+{seconds})); while [ $(date +%s) -lt $end ]; do usleep 200000; done"]}]}}}})


def test_a_run_records_what_its_pods_cost(t):
    place = Place(t)
    done = place.run(f"""
-- %% Job timeout="5m"
job = k8s.create [[{job(45, "100m", "64Mi")}]]
expect(job):reaches("Complete", "4m")
job:delete()
""")
    assert done.code == 0, done
    runs = tap.sh(tap.FIRESTEEL, "runs", "-o", "json", cwd=place.dir, env=place.env)
    run = json.loads(runs.out)[0]
    assert run["pod_count"] == 1 and run["asked_cpu"] == 0.1 and run["asked_memory"] == 64 << 20, run
    assert 40 / 3600 * 0.1 < run["cpu_hours"] < 1 and 0 < run["peak_cpu"] < 2 and 0 < run["peak_memory"] < 64 << 20, run
    shown = tap.sh(tap.FIRESTEEL, "show", cwd=place.dir, env=place.env).out
    assert "pods\n  1 Job pod: asked for 0.1 CPU and 64 MiB, used 0." in shown and " CPU hours, " in shown, shown
    table = tap.sh(tap.FIRESTEEL, "runs", "--columns", "cpu_hours,peak_memory", "--sort", "-cpu_hours", cwd=place.dir, env=place.env).out
    assert "cpu_hours  peak_memory" in table and " MiB\n" in table, table


def test_who_may_not_look_at_pods_records_nothing(t):
    """And is told nothing of it: the run goes on as if nobody had asked."""
    place = Place(t)
    place.narrow("jobs", "create,get,list,watch,delete", "jobs")
    done = place.run(f"""
-- %% Job timeout="2m"
job = k8s.create [[{job(1, "10m", "16Mi")}]]
expect(job):reaches("Complete", "1m")
job:delete()
""", "--context", "jobs", "--no-preflight")
    assert done.code == 0, done
    run = json.loads(tap.sh(tap.FIRESTEEL, "runs", "-o", "json", cwd=place.dir, env=place.env).out)[0]
    assert "cpu_hours" not in run, run


def test_who_holds_the_gpus(t):
    """Of nodes that no kubelet runs; GPUs are an extended resource in their status."""
    place = Place(t)
    name = place.namespace
    size = {"cpu": "8", "memory": "32Gi", "pods": "10", "nvidia.com/gpu": "8"}
    t.after(lambda: place.kubectl("delete", "node", name, "--ignore-not-found"))
    place.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"mine": name}}}))
    place.kubectl("patch", "node", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": {"capacity": size, "allocatable": size}}))
    trains = pod("trains", "sleep", "600", resources={"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": "6"}})
    trains["spec"]["nodeName"] = name
    t.after(lambda: place.kubectl("delete", "pod", "trains", "--force", "--ignore-not-found"))
    place.create(trains)
    done = place.run(f'''
-- %% Nodes
nodes = k8s.nodes {{ selector = "mine={name}" }}
gpu = nodes[1].devices["nvidia.com/gpu"]
print("gpus", #nodes, gpu.asked, gpu.all, nodes[1].holders[1].name, nodes[1].cpu.asked, nodes[1].state)
print(nodes)
''')
    assert done.code == 0 and "gpus\t1\t6\t8\ttrains\t2\tNotReady" in done.out, done
    assert "6/8 nvidia.com/gpu" in done.out and f"{name}/trains 6" in done.out, done
