# SPDX-License-Identifier: MIT
"""Situations on a real cluster with JobSet, Trainer, KubeRay and Kueue: what k8s.why says of each. FIRESTEEL_RECORD=1 writes
objects, events and logs of each into tests/situations/recorded-*, with what is demanded here; client-situations replays them.

    ./check engines            all of them, on a cluster of their own
    ./check why --record       the same, recorded"""
import contextlib
import json
import os
import socket
import time

import images
from place import NODE, PLAIN, Place, pod
from tap import SOURCE, eventually

FOLDER = os.path.join(SOURCE, "tests", "situations")
KINDS = ("pods,events,jobs,jobsets,trainjobs,rayjobs,rayclusters,workloads.kueue.x-k8s.io,localqueues.kueue.x-k8s.io,"
         "persistentvolumeclaims,deployments,replicasets")
WIDE = "nodes,clusterqueues.kueue.x-k8s.io,storageclasses"
QUEUE = {"kueue.x-k8s.io/queue-name": "mine"}


def job(name, *command, labels=None, policy="Never", spec=None, **container):
    one = pod(name, *command, **container)["spec"]
    one["restartPolicy"] = policy
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"backoffLimit": 0, "template": {"spec": one}, **(spec or {})}}


def asks(cpu):
    return {"resources": {"requests": {"cpu": cpu, "memory": "16Mi"}}}


# ---- recording

def bare(one):
    meta = one["metadata"]
    meta.pop("managedFields", None)
    meta.get("annotations", {}).pop("kubectl.kubernetes.io/last-applied-configuration", None)
    if one["kind"] == "Node":
        one["status"].pop("images", None)
    if one["kind"] == "Pod":  # the token of each
        one["spec"]["volumes"] = [v for v in one["spec"].get("volumes", []) if "projected" not in v]
    return one


def logs(place, objects):
    for one in objects:
        # a pod whose container has ended at once may still be called Pending
        if one["kind"] == "Pod" and any("containerID" in c for c in one["status"].get("containerStatuses", [])):
            text = place.kubectl("logs", one["metadata"]["name"], "--all-containers", "--tail=50", code=None).out
            if text:
                yield one["metadata"]["name"], text


def answers(place):
    path = (f"/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/{place.namespace}/localqueues/mine/pendingworkloads?limit=1000")
    done = place.kubectl("get", "--raw", path, code=None)
    return {path: json.loads(done.out)} if done.code == 0 else {}


def family(objects, root):
    """The object, what it has made, what has made it, and what is said of any of them."""
    def owners(one):
        return {owner["uid"] for owner in one["metadata"].get("ownerReferences", [])}

    uids = {root["metadata"]["uid"]}
    while True:
        found = [one for one in objects if one["metadata"]["uid"] in uids or owners(one) & uids or
                 one.get("involvedObject", {}).get("uid") in uids or
                 any(one["metadata"]["uid"] in owners(other) for other in objects if other["metadata"]["uid"] in uids)]
        more = {one["metadata"]["uid"] for one in found if one["kind"] != "Event"} - uids
        if not more:
            return found
        uids |= more


def topic(one):
    if one["kind"] == "ClusterQueue" or QUEUE.keys() & one["metadata"].get("labels", {}).keys():
        return "recorded-queues"
    return "recorded-training" if one["kind"] in ("TrainJob", "JobSet", "RayJob") else "recorded-pods"


def record(place, name, ask, demands):
    objects = [bare(one) for one in json.loads(place.kubectl("get", KINDS, "-o", "json").out)["items"]]
    wide = [bare(one) for one in json.loads(place.kubectl("get", WIDE, "-o", "json").out)["items"]]
    (root,) = [one for one in objects + wide if [one["kind"], one["metadata"]["name"]] == ask.split()]
    wide = [one for one in wide if one["kind"] != "ClusterQueue" or one["metadata"]["name"] == place.namespace]
    kept = family(objects, root) + [one for one in objects if one["kind"] in ("LocalQueue", "PersistentVolumeClaim")] + wide
    situation = {"name": name, "from": "Kubernetes 1.34.4, Kueue 0.17.0, JobSet 0.11.1, Trainer 2.2.0, KubeRay 1.5.0",
                 "ask": ask, "now": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **demands,
                 "logs": dict(logs(place, kept)), "answers": answers(place)}
    head = json.dumps(situation, indent=1, sort_keys=True).removesuffix("\n}")
    lines = ",\n".join(json.dumps(one, sort_keys=True) for one in kept)
    os.makedirs(os.path.join(FOLDER, topic(root)), exist_ok=True)
    with open(os.path.join(FOLDER, topic(root), name.replace(" ", "-") + ".json"), "w", encoding="utf-8") as f:
        f.write(f'{head},\n "objects": [\n{lines}\n]}}\n')


def said_of(place, ask):
    kind, name = ask.split()
    return place.run(f'\n-- %% Why\nlocal w = k8s.why("{kind}/{name}")\nprint(w.what or "NOTHING", "\\n", w.seen or "", "\\n", w.next or "")\n').out


def check(place, situation, ask, seconds=60, **demands):
    """k8s.why says of an object what is demanded, at some time; then it is recorded."""
    said = ""

    def words(of):
        value = demands.get(of, [])
        return [value] if isinstance(value, str) else value

    def does():
        nonlocal said
        said = said_of(place, ask)
        if demands.get("well") or demands.get("unknown"):
            return "NOTHING" in said
        return all(word.lower() in said.lower() for of in ("names", "seen", "next") for word in words(of))
    does.__doc__ = f"k8s.why of {ask} has {demands}"
    try:
        eventually(does, seconds, every=1)
    except AssertionError as e:
        raise AssertionError(f"{e}\n{said}") from None
    assert not any(word.lower() in said.lower() for word in words("never")), said
    if os.environ.get("FIRESTEEL_RECORD"):
        record(place, situation, ask, demands)


# ---- pods

def test_images(t):
    place = Place(t)
    with contextlib.closing(socket.create_server((NODE, 0))) as silent:
        place.create(pod("slow", "true", image=f"{NODE}:{silent.getsockname()[1]}/large:1"))
        check(place, "an image that is being pulled", "Pod slow", names=["pulls its image"], seen=["event Pulling"], next="wait",
              never=["toleration"])
    place.create(pod("absent", "true", image=f"127.0.0.1:{PLAIN}/nobody/none:1"))
    check(place, "an image that is not there", "Pod absent", names=["cannot start", "not found"], next="push or make it")
    place.kubectl("delete", "pods", "--all", "--force")


def test_places(t):
    place = Place(t)
    place.create(pod("big", "true", resources={"requests": {"cpu": "100"}}))
    check(place, "no node is large enough", "Pod big", names=["waits for a node", "Insufficient cpu"], next="less CPU")
    gpu = {"nvidia.com/gpu": "1"}
    place.create(pod("gpu", "true", resources={"requests": gpu, "limits": gpu}))
    check(place, "no node has a GPU", "Pod gpu", names=["Insufficient nvidia.com/gpu", "no node has any nvidia.com/gpu"],
          next="device plugin")
    picky = pod("picky", "true")
    picky["spec"]["nodeSelector"] = {"disk": "fast"}
    place.create(picky)
    check(place, "labels that no node has", "Pod picky", names=["affinity/selector"], next="no node has these labels")


def claim(name, **spec):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}}


def uses(name, volume):
    one = pod(name, "true")
    one["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": volume}}]
    return one


def test_claims(t):
    place = Place(t)
    place.create(claim("data"), uses("waits", "data"), claim("named", storageClassName="fast"), uses("fast", "named"))
    check(place, "a claim without a class", "Pod waits", names=["waits for its volume", "claim data", "names no storage class"],
          next="storage class")
    check(place, "a class that is not there", "Pod fast", names=["claim named", "no storage class fast"])


TRACE = "echo 'Traceback (most recent call last):'; echo '  File \"train.py\", line 3, in <module>'; echo \"ValueError: no column 'price'\"; exit 1"


def test_ends(t):
    place = Place(t)
    place.create(job("raises", "sh", "-c", TRACE))
    check(place, "a program that raises", "Job raises", names=["exited with 1", "ValueError: no column 'price'"], seen=["its log"])
    place.create(job("greedy", "tail", "/dev/zero", resources={"limits": {"memory": "16Mi"}}))
    check(place, "killed for memory", "Job greedy", names=["more memory than its limit of 16Mi"], next="memory")
    place.create(job("lost", "sh", "-c", "exit 3", policy="OnFailure"))
    check(place, "a Job whose pods are gone", "Job lost", names=["backoff limit"], next="its pods are gone")
    place.create(job("late", "sleep", "600", spec={"activeDeadlineSeconds": 2}))
    check(place, "a deadline", "Job late", names=["longer than specified deadline"], next="activeDeadlineSeconds")
    place.create(job("wrong", "trian"))
    check(place, "a program that the image lacks", "Job wrong", names=["trian"], next="no such program")
    place.create(job("good", "true"))
    eventually(lambda: place.get("job", "good")["status"].get("succeeded"), 60)
    check(place, "a Job that is over", "Job good", well=True)
    place.create(job("works", "sleep", "600"))
    eventually(lambda: place.get("job", "works")["status"].get("ready"), 60)
    check(place, "a Job that runs", "Job works", well=True)
    place.create(job("still", "true", spec={"suspend": True}))
    check(place, "a Job that somebody has suspended", "Job still", names=["is suspended"], next="spec.suspend")


def test_starts(t):
    place = Place(t)
    mounts = pod("mounts", "true")
    mounts["spec"]["volumes"] = [{"name": "s", "secret": {"secretName": "login"}}]
    mounts["spec"]["containers"][0]["volumeMounts"] = [{"name": "s", "mountPath": "/s"}]
    place.create(mounts)
    check(place, "a secret that is not there", "Pod mounts", names=["does not start", 'secret "login" not found'], seen="FailedMount")
    crashes = pod("crashes", "sh", "-c", TRACE.replace("ValueError: no column 'price'", "ModuleNotFoundError: No module named 'torch'"))
    crashes["spec"]["restartPolicy"] = "Always"
    place.create(crashes)
    check(place, "a crash loop", "Pod crashes", names=["No module named 'torch'"], next="image lacks")
    deaf = pod("deaf", "sleep", "600", readinessProbe={"tcpSocket": {"port": 80}, "periodSeconds": 1})
    place.create(deaf)
    check(place, "a probe that fails", "Pod deaf", 90, names=["runs and is not ready", "Readiness probe failed"], next="probe")
    held = job("held", "true")
    held["metadata"]["finalizers"] = ["acme.io/keep"]
    place.create(held)
    place.kubectl("delete", "job", "held", "--wait=false")
    check(place, "a deletion that a finalizer holds", "Job held", names=["being deleted", "acme.io/keep"], next="controller")
    place.kubectl("patch", "job", "held", "--type=merge", "-p", '{"metadata": {"finalizers": []}}')


def test_what_keeps_pods_from_being_made(t):
    place = Place(t)
    nobody = job("nobody", "true")
    nobody["spec"]["template"]["spec"]["serviceAccountName"] = "nobody"
    place.create(nobody)
    check(place, "an account that is not there", "Job nobody", names=['serviceaccount "nobody" not found'], next="make the account")
    place.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tiny"}, "spec": {"hard": {"requests.cpu": "50m"}}})
    eventually(lambda: "hard" in place.get("quota", "tiny").get("status", {}))
    place.create(job("wide", "true", **asks("1")))
    check(place, "a quota", "Job wide", names=["exceeded quota: tiny"], next="quota is used up", never="bind a role")
    strict = Place(t)
    strict.kubectl("label", "namespace", strict.namespace, "pod-security.kubernetes.io/enforce=restricted")
    strict.create(job("root", "true"))
    check(strict, "Pod Security", "Job root", names=["violates PodSecurity"], next="securityContext", never="bind a role")


# ---- queues

def queue(place, cpu="300m"):
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}}))
    place.create({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": place.namespace},
                  "spec": {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [
                      {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "any", "resources": [
                          {"name": "cpu", "nominalQuota": cpu}, {"name": "memory", "nominalQuota": "300Mi"}]}]}]}},
                 {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "mine"},
                  "spec": {"clusterQueue": place.namespace}})
    return place


def held(name, cpu="200m", **more):
    return job(name, "sleep", "600", labels={**QUEUE, **more}, **asks(cpu))


def done_with(t, place):
    t.after(lambda: place.kubectl("delete", "clusterqueue", place.namespace, "--wait=false"))


def test_queues(t):
    place = queue(Place(t))
    done_with(t, place)
    place.create(held("first"))
    eventually(lambda: place.get("job", "first")["status"].get("ready"), 60)
    place.create(held("second"))
    check(place, "held for quota", "Job second", names=["held in queue mine", "number 1 of 1", "more needed"],
          seen=["QuotaReserved is False (Pending)"], next="wait")
    waits = place.run('\n-- %% Wait effects="cluster"\nexpect(k8s.get("jobs/second")):reaches("Complete", "14s")\n')
    assert "why: Job second is held in queue mine" in waits.out + waits.err, waits
    place.create(held("huge", "2"))
    check(place, "more than the queue can have", "Job huge", names=["maximum capacity"], next="more than the queue can ever have")
    nowhere = held("nowhere")
    nowhere["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "nowhere"}
    place.create(nowhere)
    check(place, "a queue that is not there", "Job nowhere", names=["LocalQueue nowhere doesn't exist"], next="mine")
    place.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(
        {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass", "metadata": {"name": "urgent"}, "value": 1000}))
    place.create(held("urgent", "250m", **{"kueue.x-k8s.io/priority-class": "urgent"}))
    check(place, "preempted", "Job first", names=["was preempted", "due to prioritization"], next="admitted again")
    place.kubectl("patch", "clusterqueue", place.namespace, "--type=merge", "-p", '{"spec": {"stopPolicy": "HoldAndDrain"}}')
    check(place, "a queue that was stopped", "Job second", names=["held in queue mine", "admits nothing"], next="stopPolicy")
    check(place, "the stopped queue itself", f"ClusterQueue {place.namespace}", names=["admits nothing"], next="stopPolicy")


def test_queues_and_devices(t):
    place = queue(Place(t))
    done_with(t, place)
    gpu = {"nvidia.com/gpu": "1"}
    place.create(job("gpu", "true", labels=QUEUE, resources={"requests": {"cpu": "10m", "memory": "16Mi", **gpu}, "limits": gpu}))
    check(place, "a queue without GPUs", "Job gpu", names=["nvidia.com/gpu unavailable"], next="no quota for this resource")
    place.create(held("off", "100m"))
    eventually(lambda: place.get("job", "off")["status"].get("ready"), 60)
    (workload,) = [w for w in place.kubectl("get", "workloads.kueue.x-k8s.io", "-o", "name").out.split() if "job-off" in w]
    place.kubectl("patch", workload, "--type=merge", "-p", '{"spec": {"active": false}}')
    check(place, "deactivated", "Job off", names=["was deactivated"], next="active = true")


# ---- training

def runtime(place, policy="OnFailure"):
    node = {"name": "node", "image": images.BUSYBOX, "command": ["sh", "-c", "env | grep PET_; sleep 2"], **asks("50m")}
    template = {"spec": {"backoffLimit": 0, "template": {"spec": {
        "terminationGracePeriodSeconds": 1, "restartPolicy": policy, "containers": [node]}}},
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}}
    place.create({"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime",
                  "metadata": {"name": "torch", "labels": {"trainer.kubeflow.org/framework": "torch"}},
                  "spec": {"mlPolicy": {"numNodes": 2, "torch": {}},
                           "template": {"spec": {"replicatedJobs": [{"name": "node", "template": template}]}}}})
    return place


def train(name, labels=None, **trainer):
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": name, "labels": labels or {}},
            "spec": {"runtimeRef": {"apiGroup": "trainer.kubeflow.org", "kind": "TrainingRuntime", "name": "torch"},
                     "trainer": {"numNodes": 2, **trainer}}}


def test_train_jobs(t):
    place = queue(runtime(Place(t), "Never"), "150m")
    done_with(t, place)
    place.create(train("good"))
    done = place.run("""
-- %% Wait effects="cluster"
job = k8s.get("trainjob", "good")
expect(job):reaches("Complete", "90s")
k8s.tree(job)
firesteel.sleep(3)
-- %% Logs
print(k8s.logs(job))
print(k8s.list "trainjobs")
""")
    assert done.code == 0, done
    assert done.out.count("PET_NODE_RANK=") == 2, done
    for line in ("trainjob/good", "jobset/good", "job/good-node-0", "pod/good-node-0-0"):
        assert line in done.out, (line, done)
    check(place, "a TrainJob that is over", "TrainJob good", well=True)
    place.create(train("fails", command=["sh", "-c", TRACE.replace("exit 1", "exit 3")]))
    check(place, "a TrainJob that failed", "TrainJob fails", names=["exited with 3", "ValueError: no column 'price'"])
    done = place.run('\n-- %% Wait effects="cluster"\nexpect(k8s.get("trainjob", "fails")):reaches("Complete", "5m")\n')
    assert done.code == 1 and "trainjob fails is Failed" in done.err, done
    place.create(train("image", image=f"127.0.0.1:{PLAIN}/nobody/torch:9"))
    check(place, "an image of a TrainJob", "TrainJob image", names=["node image-node-0-", "cannot start"], never=["no operator"])
    place.create(held("fills", "100m"), )
    eventually(lambda: place.get("job", "fills")["status"].get("ready"), 60)
    place.create(train("queued", QUEUE))
    check(place, "a TrainJob that is held", "TrainJob queued", names=["TrainJob queued is held in queue mine"], next="wait")


def test_job_sets(t):
    place = Place(t)

    def jobset(name, *command, **more):
        template = {"spec": {"parallelism": 2, "completions": 2, "completionMode": "Indexed", "backoffLimit": 0,
                             "template": {"spec": pod("x", *command)["spec"]}}}
        template["spec"]["template"]["spec"]["containers"][0].update(more)
        return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": name},
                "spec": {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]}}
    place.create(jobset("good", "sh", "-c", "echo rank $JOB_COMPLETION_INDEX; sleep 2"))
    done = place.run('\n-- %% Wait effects="cluster"\nset = k8s.get("jobset", "good")\nexpect(set):reaches("Completed", "90s")\n'
                     'print(k8s.logs(set, {all = true}))\n')
    assert done.code == 0 and "rank 0" in done.out and "rank 1" in done.out, done
    place.create(jobset("fails", "sh", "-c", TRACE))
    check(place, "a JobSet that failed", "JobSet fails", names=["exited with 1", "ValueError"])
    place.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "tiny"}, "spec": {"hard": {"requests.cpu": "50m"}}})
    eventually(lambda: "hard" in place.get("quota", "tiny").get("status", {}))
    place.create(jobset("quota", "true", **asks("1")))
    check(place, "a quota below a JobSet", "JobSet quota", names=["exceeded quota: tiny"], seen=["Job quota-workers-0"])


def ray(name, image=images.BUSYBOX, **spec):
    quick = {"exec": {"command": ["true"]}, "periodSeconds": 1}
    finished = {"submission_id": name, "job_id": "01000000", "type": "SUBMISSION", "status": "SUCCEEDED", "entrypoint": "x",
                "message": "Job finished successfully.", "start_time": int(time.time() * 1000) - 5000, "end_time": int(time.time() * 1000)}
    serve = (f"mkdir -p /tmp/w/api/jobs; echo '{json.dumps(finished)}' > /tmp/w/api/jobs/{name}; exec httpd -f -p 8265 -h /tmp/w")

    def of(container, command):
        return {"metadata": {"annotations": {"ray.io/overwrite-container-cmd": "true"}},
                "spec": {"terminationGracePeriodSeconds": 1, "containers": [
                    {"name": container, "image": image, "command": ["sh", "-c", command], "readinessProbe": quick, "livenessProbe": quick}]}}
    return {"apiVersion": "ray.io/v1", "kind": "RayJob", "metadata": {"name": name}, "spec": {
        "entrypoint": "python train.py", "jobId": name, "shutdownAfterJobFinishes": False,
        "submitterPodTemplate": {"spec": {"restartPolicy": "Never", "containers": [
            {"name": "ray-job-submitter", "image": images.BUSYBOX, "command": ["sh", "-c", "echo submitted; sleep 2"]}]}},
        "rayClusterSpec": {"rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": of("ray-head", serve)}}, **spec}}


def test_ray_jobs(t):
    """The API of a Ray that is none: a file that busybox serves says that the job has ended."""
    place = Place(t)
    place.create(ray("good"))
    done = place.run("""
-- %% Wait effects="cluster"
job = k8s.get("rayjob", "good")
expect(job):reaches("SUCCEEDED", "120s")
expect(job):reaches("Complete", "60s")
k8s.tree(job)
firesteel.sleep(3)
""")
    assert done.code == 0, done
    for line in ("rayjob/good", "raycluster/good-", "pod/good-"):
        assert line in done.out, (line, done)
    check(place, "a RayJob that is over", "RayJob good", well=True)
    place.create(ray("image", image=f"127.0.0.1:{PLAIN}/nobody/ray:9"))
    check(place, "the head of a RayJob has no image", "RayJob image", 90, names=["head image-", "cannot start"])
    place.create(ray("late", image=f"127.0.0.1:{PLAIN}/nobody/ray:9", activeDeadlineSeconds=2))
    begin = time.monotonic()
    done = place.run('\n-- %% Wait effects="cluster"\nexpect(k8s.get("rayjob", "late")):reaches("SUCCEEDED", "5m")\n')
    assert done.code == 1 and "activeDeadlineSeconds" in done.err and time.monotonic() - begin < 200, done
    check(place, "a RayJob that was too slow", "RayJob late", names=["head late-", "cannot start", "nobody/ray:9"])  # why it was
