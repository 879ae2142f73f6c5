# SPDX-License-Identifier: MIT
"""An MPIJob and a SparkApplication through Kueue, with the operators that run them: held with queue and quota, then admitted, to
their ends. By ./check engines."""
import json
import threading

import images
from case_queued import queue
from place import SPARK, Place, with_spark
from tap import eventually

QUEUED = {"kueue.x-k8s.io/queue-name": "mine"}


def admitted_after(place, held, cpu):
    """Once the Workload waits, and the cell has had time to tell why, the ClusterQueue gets so much processor time."""
    def give():
        def waits():
            """a Workload waits for quota"""
            return [w for w in json.loads(place.kubectl("get", "workloads.kueue.x-k8s.io", "-o", "json").out)["items"]
                    if any(c["type"] == "QuotaReserved" and c["status"] == "False" for c in w.get("status", {}).get("conditions", []))]
        (workload,) = eventually(waits, 90, every=0.5)
        held.append([s["name"] for s in workload["spec"]["podSets"]])
        held.append(place.kubectl("get", "pods", "-o", "name").out)
        threading.Event().wait(12)
        place.kubectl("patch", "clusterqueue", place.namespace, "--type=json", "-p", json.dumps(
            [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": cpu}]))
    giver = threading.Thread(target=give)
    giver.start()
    return giver


def through(t, place, manifest, state, quota, enough):
    queue(t, place, quota)
    held = []
    giver = admitted_after(place, held, enough)
    done = place.run(f'''
-- %% In a queue timeout="8m"
job = k8s.create [[{json.dumps(manifest)}]]
expect(job):reaches("{state}", "7m")
print("state", job:state())
job:delete()
''', timeout=600)
    giver.join()
    assert done.code == 0 and f"state\t{state}" in done.out, done
    kind = manifest["kind"]
    assert f"why: {kind} " in done.out and f"is held in queue mine (ClusterQueue {place.namespace})" in done.out, done
    assert "insufficient quota for cpu" in done.out or "insufficient unused quota for cpu" in done.out, done
    return held


def test_an_mpijob_in_a_queue(t):
    place = Place(t)

    def replica(name, count, command):
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": {"terminationGracePeriodSeconds": 1, "containers": [{
            "name": name, "image": images.BUSYBOX, "imagePullPolicy": "Never", "command": ["sh", "-c", command],
            "resources": {"requests": {"cpu": "50m", "memory": "16Mi"}}}]}}}
    job = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "ranks", "labels": QUEUED},
           "spec": {"slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": {
               "Launcher": replica("launcher", 1, "sleep 2; echo launched"), "Worker": replica("worker", 2, "exec sleep 100")}}}
    sets, pods = through(t, place, job, "Succeeded", "100m", "1")
    assert sorted(sets) == ["launcher", "worker"] and pods == "", (sets, pods)


def test_a_sparkapplication_in_a_queue(t):
    place = with_spark(Place(t, SPARK))
    image = place.build("engines/queued:1", "apache/spark:3.5.7")
    pod = {"cores": 1, "coreRequest": "100m", "memory": "512m", "javaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
    app = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "queued", "labels": QUEUED},
           "spec": {"type": "Python", "mode": "cluster", "sparkVersion": "3.5.7", "image": image, "restartPolicy": {"type": "Never"},
                    "mainApplicationFile": "local:///opt/spark/examples/src/main/python/pi.py",
                    "driver": {**pod, "serviceAccount": "spark"}, "executor": {**pod, "instances": 1}}}
    sets, pods = through(t, place, app, "COMPLETED", "100m", "2")
    assert sorted(sets) == ["driver", "executor"] and pods == "", (sets, pods)
