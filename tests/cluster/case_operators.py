# SPDX-License-Identifier: MIT
"""The real operators: recipe 10 on Spark, with its webhook; an MPIJob."""
import json
import os

import images
import tap
from place import REGISTRY, SPARK, Place, with_spark
from tap import SOURCE

RECIPE = os.path.join(SOURCE, "recipes", "10-mnist.lua")


def test_recipe_10_on_spark(t):
    place = with_spark(Place(t, SPARK))
    t.after(lambda: place.kubectl("delete", "sparkapplications", "--all", "--wait=false"))
    # three pods, on machines with two CPUs
    done = place.run(RECIPE, "--cwd", place.dir, "--registry", REGISTRY, "-p", "core_request=500m", timeout=400)
    assert done.code == 0, done
    for text in ("COMPLETED", "Model prediction for index 100: 6", "exec-2"):
        assert text in done.out, (text, done)
    assert "no Deployment of an operator" not in done.out, done
    assert not place.left(kinds="sparkapplications")


def test_doctor_names_operators(t):
    place = Place(t, SPARK)
    found = {f["name"]: f for f in json.loads(tap.sh(tap.FIRESTEEL, "doctor", "-o", "json", "-n", place.namespace, env=place.env).out)}["operators"]
    assert found["state"] == "ok", found
    for operator in ("SparkApplication: Deployment spark-operator-controller in namespace spark-operator is ready",
                     "MPIJob: Deployment mpi-operator in namespace mpi-operator is ready"):
        assert operator in found["text"], found
    found = {f["name"]: f for f in json.loads(tap.sh(tap.FIRESTEEL, "doctor", "-o", "json", "-n", "kube-system", env=place.env).out)}["operators"]
    assert found["state"] == "warn" and "watches default,spark-1,spark-2,spark-3 only" in found["text"], found


# A pod's environment is what only the webhook brings there.
def test_the_webhook_changes_drivers(t):
    place = Place(t, SPARK)
    app = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "hooked"},
           "spec": {"type": "Python", "mode": "cluster", "sparkVersion": "3.5.7", "image": images.BUSYBOX,
                    "mainApplicationFile": "local:///x.py", "restartPolicy": {"type": "Never"},
                    "driver": {"coreRequest": "100m", "memory": "512m", "serviceAccount": "spark",
                               "env": [{"name": "FROM_THE_WEBHOOK", "value": "yes"}]},
                    "executor": {"instances": 1}}}
    done = place.run(f"""
-- %% Create effects="cluster"
app = k8s.create [[{json.dumps(app)}]]
-- %% Wait timeout="10m"
expect(app):reaches("COMPLETED", "9m")
""")
    assert done.code == 1 and "FAILED" in done.out + done.err, done
    env = place.get("pod", "hooked-driver")["spec"]["containers"][0]["env"]
    assert {"name": "FROM_THE_WEBHOOK", "value": "yes"} in env, env
    place.kubectl("delete", "sparkapplication", "hooked", "--wait=false")


def test_an_mpijob(t):
    place = Place(t)

    def replica(name, count, command):
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": name, "image": images.BUSYBOX, "command": ["sh", "-c", command]}]}}}

    job = {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "metadata": {"name": "ranks"},
           "spec": {"slotsPerWorker": 1, "runPolicy": {"cleanPodPolicy": "Running"}, "mpiReplicaSpecs": {
               "Launcher": replica("launcher", 1, "cat /etc/mpi/hostfile; sleep 2; echo launched"),
               "Worker": replica("worker", 2, "echo worker $HOSTNAME; exec sleep 100")}}}
    done = place.run(f"""
-- %% Create effects="cluster"
job = k8s.create [[{json.dumps(job)}]]
job:watch()
-- %% Wait timeout="10m"
expect(job):reaches("Succeeded", "9m")
-- %% Logs
print(job:logs())
""")
    assert done.code == 0, done
    for text in ("ranks-worker-0.ranks", "ranks-worker-1.ranks", "launched", "Succeeded"):
        assert text in done.out, (text, done)
