# SPDX-License-Identifier: MIT
"""torch.run and hvd.run by JobSet, Kubeflow's Trainer and KubeRay, in queues of Kueue. By ./check engines."""
import json
import os
import threading

import tap
from case_queued import V, queue
from images import BUSYBOX
from place import MADE, REGISTRY, Place
from scripts import MEET, MOUNTED, ON, with_python
from tap import eventually

KINDS = MADE + ",jobsets,trainjobs"
API = "trainer.kubeflow.org/v1alpha1"


def play(place, script, cells, **rest):
    with open(f"{place.dir}/train.py", "w", encoding="utf-8") as f:
        f.write(script)
    return place.run(cells, **rest)


def runtime(place, name="torch", policy=None, mounts=None):
    """A TrainingRuntime as Kubeflow's own are, of this machine's busybox; with folders of this machine."""
    folders = [(f"at{i}", *pair) for i, pair in enumerate((mounts or {}).items())]
    place.create({"apiVersion": API, "kind": "TrainingRuntime", "metadata": {"name": name, "labels": {"trainer.kubeflow.org/framework": "torch"}},
                  "spec": {"mlPolicy": {"numNodes": 1, **({"torch": {}} if policy is None else policy)}, "template": {"spec": {"replicatedJobs": [{
                      "name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                                                   "spec": {"backoffLimit": 0, "template": {"spec": {
                                                       "restartPolicy": "Never", "terminationGracePeriodSeconds": 1,
                                                       "volumes": [{"name": n, "hostPath": {"path": path}} for n, _, path in folders],
                                                       "containers": [{"name": "node", "image": BUSYBOX, "volumeMounts": [
                                                           {"name": n, "mountPath": at} for n, at, _ in folders]}]}}}}}]}}}})


def test_a_script_by_a_jobset_starts_again(t):
    place = with_python(Place(t))
    done = play(place, MEET, f"""
-- %% Restarts
job = torch.run {{ "train.py", nodes = 2, args = {{ "--fail" }}, restarts = 1, files = {{ "more/own.py" }}, on = k8s.jobset {{ {ON} }} }}
print("loss", job.metrics.loss, "restarts", job.restarts)
-- %% Fails
torch.run {{ "train.py", nodes = 2, args = {{ "--fail" }}, files = {{ "more/own.py" }}, on = k8s.jobset {{ {ON} }} }}
""")
    assert "Running train.py on 2 ranks by a JobSet..." in done.out and "loss\t0.5\trestarts\t1" in done.out, done
    assert "rank 1 exited with 1: RuntimeError: no more disk: all ranks are started again" in done.out, done
    assert done.code == 1 and "torch.run: train.py: rank 1 exited with 1: RuntimeError: no more disk" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_a_script_by_a_trainjob(t):
    place = with_python(Place(t))
    runtime(place)
    on = ON.replace('pull_policy = "Never", ', "")
    done = play(place, MEET.replace("import more.own", "import more.own; print('PET', os.environ['PET_NNODES'], os.environ['MASTER_ADDR'])"), f"""
-- %% Ranks
on = k8s.trainjob {{ runtime = "torch", runtime_kind = "TrainingRuntime", {on} }}
job = torch.run {{ "train.py", nodes = 2, nproc = 2, files = {{ "more/own.py" }}, env = {{ COLOUR = "red" }}, on = on }}
print("loss", job.metrics.loss)
-- %% Fails
print(select(2, pcall(torch.run, {{ "train.py", nodes = 2, args = {{ "--fail" }}, files = {{ "more/own.py" }}, on = on }})))
-- %% Refused
print(select(2, pcall(torch.run, {{ "train.py", on = k8s.trainjob {{ runtime = "none" }} }})))
print(select(2, pcall(torch.run, {{ "train.py", on = k8s.trainjob {{ image = "i" }} }})))
print(select(2, pcall(torch.run, {{ "train.py", on = k8s.trainjob {{ runtime = "torch", template = {{ spec = {{ priorityClassName = "p" }} }} }} }})))
""")
    assert done.code == 0 and "Running train.py on 4 ranks by a TrainJob..." in done.out and "loss\t0.5" in done.out, done
    assert "[3]<stdout>:here rank 3 of 4, local 1 of 2, node 1, [], red, own" in done.out and "[3]<stdout>:PET 2 torch-" in done.out, done
    assert "torch.run: train.py: rank 1 exited with 1: RuntimeError: no more disk" in done.out, done
    assert "none" in done.out and "runtime: the name of a ClusterTrainingRuntime" in done.out, done
    assert "a TrainJob cannot change template.spec.priorityClassName of its runtime" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_a_function_by_a_trainjob(t):
    place = Place(t)
    runtime(place, policy={})
    image = place.build("engines/magic:1")
    done = place.run(f"""
-- %% A function
on = k8s.trainjob {{ runtime = "torch", runtime_kind = "TrainingRuntime", image = "{image}", executors = 2, cores = 2, cpu = "100m" }}
r = hvd.run(function(n)
  hvd.init()
  print("Hello from rank", hvd.rank(), hvd.local_rank())
  return n * 10 + hvd.rank() + hvd.allreduce(0, hvd.Sum)
end, {{ args = {{ 42 }}, on = on }})
print("numbers", table.concat(r:ranks(), " "))
-- %% One rank
print("one", hvd.run(function() return os.getenv "HOSTNAME" end, {{ np = 1, on = k8s.trainjob {{ runtime = "torch", runtime_kind = "TrainingRuntime",
  image = "{image}", cpu = "100m" }} }})[1])
-- %% Fails
print(select(2, pcall(hvd.run, function()
  hvd.init()
  if hvd.rank() == 3 then error "no more disk" end
  hvd.barrier()
end, {{ on = on }})))
""")
    assert done.code == 0 and "Running 4 processes by a TrainJob..." in done.out and "numbers\t420 421 422 423" in done.out, done
    assert "[1,3]<stdout>:Hello from rank\t3\t1" in done.out and "one\thvd-" in done.out, done
    assert "hvd.run: rank 3 failed: " in done.out and "no more disk" in done.out, done
    place.nothing_left("firesteel/hvd", kinds=KINDS)


def test_the_time_in_a_queue_is_no_start(t):
    """start_timeout counts from the moment at which the queue lets the job in."""
    place = with_python(Place(t))
    queue(t, place, "50m")  # too little for two nodes

    def give_room():
        eventually(lambda: json.loads(place.kubectl("get", "workloads.kueue.x-k8s.io", "-o", "json").out)["items"], 60, every=0.5)
        threading.Event().wait(14)
        place.kubectl("patch", "clusterqueue", place.namespace, "--type=json", "-p", json.dumps(
            [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources/0/nominalQuota", "value": "1"}]))
    giver = threading.Thread(target=give_room)
    giver.start()
    done = play(place, "print('loss=0.5')\n", f"""
-- %% Held timeout="3m"
job = torch.run {{ "train.py", nodes = 2, start_timeout = "10s", on = k8s.jobset {{ {ON}, queue = "mine" }} }}
print("loss", job.metrics.loss)
""")
    giver.join()
    assert V and done.code == 0 and "queue mine" in done.out and "loss\t0.5" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_recipe_15_by_a_trainjob(t):
    """With PyTorch, data and checkpoints of this machine in the runtime's pods."""
    if tap.sh("/usr/bin/python3", "-c", "import torch").code != 0:
        raise tap.Skip("Debian's python3-torch is not installed")
    place = Place(t)
    os.chmod(place.dir, 0o755)
    os.makedirs(f"{place.dir}/checkpoints", mode=0o777)
    runtime(place, mounts={"/data/mnist": f"{tap.SOURCE}/recipes/data/mnist", "/checkpoints": f"{place.dir}/checkpoints", "/etc/alternatives": "/etc/alternatives",
                           **{f"/{name}": f"/{name}" for name in MOUNTED}})
    done = place.run(os.path.join(tap.SOURCE, "recipes", "15-torch-trainjob.lua"), "--cwd", place.dir, "--registry", REGISTRY, "-p", "on=trainjob", "-p", "runtime=torch",
                     "-p", "runtime_kind=TrainingRuntime", "-p", "python=/usr/bin/python3", "-p", "cpu=100m", "-p", "epochs=2", "-p", "samples=15360", timeout=560)
    assert done.code == 0 and "Running mnist_ddp.py on 2 ranks by a TrainJob..." in done.out, done
    assert "rank 1 was ended by signal 9 (SIGKILL)" in done.out and "resumed after epoch 1" in done.out, done
    print("#", next(line.strip() for line in done.out.splitlines() if "val_accuracy: " in line))
    place.nothing_left("firesteel/torch", kinds=KINDS)
