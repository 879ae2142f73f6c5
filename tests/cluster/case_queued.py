# SPDX-License-Identifier: MIT
"""hvd.run by a JobSet in a queue of Kueue: it is held as a whole, says why, and begins when there is room. By ./check engines."""
import json
import threading

from place import Place
from tap import eventually

V = "kueue.x-k8s.io/v1beta2"
HELD = """
-- %% In a queue timeout="5m"
on = k8s.jobset {{ image = "{image}", executors = 2, cpu = "100m", memory = "64Mi", queue = "mine", priority = "urgent" }}
r = hvd.run(function(n)
  hvd.init()
  return n * 10 + hvd.rank() + hvd.allreduce(0, hvd.Sum)
end, {{ args = {{ 42 }}, on = on }})
print("numbers", r[1], r[2])
"""


def queue(t, place, cpu):
    """A LocalQueue "mine" with so much processor time, and a priority "urgent"."""
    resources = [{"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "1Gi"}]
    for one in ({"apiVersion": V, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
                {"apiVersion": V, "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 1000}):
        place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(one))
    place.create({"apiVersion": V, "kind": "ClusterQueue", "metadata": {"name": place.namespace},
                  "spec": {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"],
                                                                        "flavors": [{"name": "any", "resources": resources}]}]}},
                 {"apiVersion": V, "kind": "LocalQueue", "metadata": {"name": "mine"}, "spec": {"clusterQueue": place.namespace}})
    t.after(lambda: place.kubectl("delete", "clusterqueue", place.namespace, "--wait=false"))


def test_a_jobset_is_held_as_a_whole(t):
    place = Place(t)
    queue(t, place, "250m")  # too little for a driver and two executors
    image = place.build("engines/magic:1")
    told = []

    def give_room():
        def is_held():
            """a Workload of the JobSet waits"""
            return [w for w in json.loads(place.kubectl("get", "workloads.kueue.x-k8s.io", "-o", "json").out)["items"]
                    if not any(c["type"] == "Admitted" and c["status"] == "True" for c in w.get("status", {}).get("conditions", []))]
        (workload,) = eventually(is_held, 60, every=0.5)
        told.append((workload["spec"]["queueName"], workload["spec"]["priorityClassRef"]["name"] if "priorityClassRef" in workload["spec"]
                     else workload["spec"].get("priorityClassName"), len(workload["spec"]["podSets"])))
        told.append(place.kubectl("get", "pods", "-o", "name").out)
        threading.Event().wait(6)  # the next look of the cell tells it
        place.kubectl("patch", "clusterqueue", place.namespace, "--type=json", "-p", json.dumps(
            [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "1"}]))
    giver = threading.Thread(target=give_room)
    giver.start()
    done = place.run(HELD.format(image=image))
    giver.join()
    assert told == [("mine", "urgent", 2), ""], told
    assert done.code == 0 and "Running 2 processes by a JobSet..." in done.out and "numbers\t420\t421" in done.out, done
    assert "why: " in done.out and "queue mine" in done.out, done
    place.nothing_left("firesteel/hvd", kinds="jobsets,jobs,pods,services,secrets,networkpolicies")
