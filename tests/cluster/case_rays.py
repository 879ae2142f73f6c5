# SPDX-License-Identifier: MIT
"""k8s.rayjob on a real cluster with KubeRay and Kueue, with a real Ray of this machine (tests/support/rayenv) in the pods: an entrypoint
by k8s.create, ranks of torch.run and hvd.run. By ./check engines."""
import json
import os
import threading

import tap
from case_queued import queue
from images import BUSYBOX
from kubernetes import CACHE
from place import MADE, Place
from scripts import MEET, MOUNTED, with_python
from tap import eventually

RAY = CACHE / "ray"
KINDS = MADE + ",rayjobs,rayclusters,configmaps"
# Ray runs in bash and is looked after by wget; on a busy machine it takes its time.
FOLDERS = {**{name: f"/{name}" for name in (*MOUNTED, "bin")}, "ray": str(RAY), "alternatives": "/etc/alternatives"}
POD = {"spec": {"volumes": [{"name": n, "hostPath": {"path": p}} for n, p in FOLDERS.items()],
                "containers": [{"volumeMounts": [{"name": n, "mountPath": p, "readOnly": True} for n, p in FOLDERS.items()]}]}}
TEMPLATE = "{ spec = { volumes = { " + ", ".join(f'{{ name = "{n}", hostPath = {{ path = "{p}" }} }}' for n, p in FOLDERS.items()) + \
    " }, containers = { { volumeMounts = { " + ", ".join(f'{{ name = "{n}", mountPath = "{p}", readOnly = true }}' for n, p in FOLDERS.items()) + " } } } } }"
VARIABLES = {"PATH": f"{RAY}/bin:/usr/bin:/bin", "HOME": "/tmp", "RAY_USAGE_STATS_ENABLED": "0"}
ENV = "{ " + ", ".join(f'{name} = "{value}"' for name, value in VARIABLES.items()) + " }"
SMALL = '{ ["object-store-memory"] = "80000000" }'


def on(image=BUSYBOX, pull="Never", **more):
    rest = "".join(f", {name} = {value}" for name, value in more.items())
    return f"""k8s.rayjob {{ image = "{image}", pull_policy = "{pull}", ray_version = "2.40.0", cpu = "50m", memory = "1Gi", head_memory = "2Gi",
  env = {ENV}, ray_start_params = {SMALL}, template = {TEMPLATE}{rest} }}"""


def with_ray(t):
    if not (RAY / "version").exists():
        raise tap.Skip("there is no Ray (tests/support/rayenv)")
    return with_python(Place(t))


def write(place, name, text):
    with open(f"{place.dir}/{name}", "w", encoding="utf-8") as f:
        f.write(text)


TRAIN = """\
import os, sys, ray
import more.own
ray.init(address="auto")
@ray.remote
def square(i):
    import more.own
    return i * i, more.own.NAME
print("squares", ray.get([square.remote(i) for i in range(4)]), sys.argv[1:], os.environ.get("COLOUR"))
if "--fail" in sys.argv:
    raise ValueError("no such column")
"""


def test_an_entrypoint_by_a_rayjob(t):
    """Its files travel, its log is the submitter's, a queue holds it, and it goes with what belongs to it."""
    place = with_ray(t)
    queue(t, place, "10m")  # too little for anything
    write(place, "train.py", TRAIN)
    more = {"name": '"good"', "entrypoint": "\"python3 train.py 'a b'\"", "files": '{ "train.py", "more/own.py" }', "queue": '"mine"',
            "runtime_env": '{ env_vars = { COLOUR = "red" } }', "workers": "1", "ttl_seconds_after_finished": "600"}

    def give_room():
        eventually(lambda: json.loads(place.kubectl("get", "workloads.kueue.x-k8s.io", "-o", "json").out)["items"], 60, every=0.5)
        threading.Event().wait(8)
        place.kubectl("patch", "clusterqueue", place.namespace, "--type=json", "-p", json.dumps(
            [{"op": "replace", "path": "/spec/resourceGroups/0/flavors/0/resources", "value": [
                {"name": "cpu", "nominalQuota": "1"}, {"name": "memory", "nominalQuota": "8Gi"}]}]))
    giver = threading.Thread(target=give_room)
    giver.start()
    done = place.run(f"""
-- %% Make
job = k8s.create({on(**more)})
print("made", job.kind, job.name)
-- %% Held
firesteel.sleep(4)
print("state", (job:state()))
job:why()
-- %% Wait timeout="8m"
expect(job):reaches("SUCCEEDED", "7m")
-- %% Look
print(job:logs())
job:tree()
-- %% Gone effects="destructive"
job:delete()
""", timeout=560)
    giver.join()
    assert done.code == 0 and "made\tRayJob\tgood" in done.out and "state\tSuspended" in done.out and "queue mine" in done.out, done
    assert "squares [(0, 'own'), (1, 'own'), (4, 'own'), (9, 'own')] ['a b'] red" in done.out, done
    assert "rayjob/good" in done.out and "raycluster/good-" in done.out, done
    place.nothing_left("firesteel/ray", kinds=KINDS)


def test_an_entrypoint_fails(t):
    """As KubeRay says it, with the script's last words; nothing is tried again, and clean removes what there is."""
    place = with_ray(t)
    write(place, "train.py", TRAIN)
    done = place.run(f"""
-- %% Make
job = k8s.create({on(name='"bad"', entrypoint='"python3 train.py --fail"', files='{ "train.py", "more/own.py" }', workers="0")})
-- %% Wait timeout="8m"
print("ended", pcall(function() expect(job):reaches("SUCCEEDED", "7m") end))
print("state", (job:state()))
job:why()
print("log", job:logs())
""", timeout=560)
    assert done.code == 0 and "ended\tfalse" in done.out and done.out.count("no such column") >= 3 and "state\tFAILED" in done.out, done
    cleaned = tap.sh(tap.FIRESTEEL, "clean", "--yes", "--context", "admin", cwd=place.dir, env=place.env, timeout=120)
    assert cleaned.code == 0, cleaned
    place.nothing_left("firesteel/ray", kinds=KINDS)


def test_a_script_by_a_rayjob(t):
    place = with_ray(t)
    write(place, "train.py", MEET)
    done = place.run(f"""
-- %% Ranks timeout="8m"
on = {on()}
job = torch.run {{ "train.py", nodes = 2, nproc = 2, args = {{ lr = 0.1 }}, env = {{ COLOUR = "red" }}, files = {{ "more/own.py" }}, on = on }}
print("loss", job.metrics.loss, #job.history, job.restarts)
job
-- %% Again timeout="8m"
job = torch.run {{ "train.py", nodes = 2, args = {{ "--fail" }}, restarts = 1, files = {{ "more/own.py" }}, on = on }}
print("loss", job.metrics.loss, "restarts", job.restarts)
-- %% Fails timeout="8m"
print(select(2, pcall(torch.run, {{ "train.py", nodes = 2, args = {{ "--fail" }}, files = {{ "more/own.py" }}, on = on }})))
""", timeout=580)
    assert done.code == 0 and "Running train.py on 4 ranks by a RayJob..." in done.out, done
    for rank in range(4):
        assert f"[{rank}]<stdout>:here rank {rank} of 4, local {rank % 2} of 2, node {rank // 2}, ['--lr=0.1'], red, own" in done.out, (rank, done)
    assert "loss\t0.5\t2\t0" in done.out and "loss\t0.5\trestarts\t1" in done.out, done
    assert "rank 1 exited with 1: RuntimeError: no more disk: all ranks are started again" in done.out, done
    assert "torch.run: train.py: rank 1 exited with 1: RuntimeError: no more disk" in done.out, done
    place.nothing_left("firesteel/torch", kinds=KINDS)


def test_a_function_by_a_rayjob(t):
    place = with_ray(t)
    image = place.build("engines/magic:1")
    done = place.run(f"""
-- %% A function timeout="8m"
on = {on(image=image, pull="IfNotPresent", workers=2, cores=2)}
r = hvd.run(function(n)
  hvd.init()
  print("Hello from rank", hvd.rank(), hvd.local_rank())
  return n * 10 + hvd.rank() + hvd.allreduce(0, hvd.Sum)
end, {{ args = {{ 42 }}, on = on }})
print("numbers", table.concat(r:ranks(), " "))
-- %% Fails timeout="8m"
print(select(2, pcall(hvd.run, function()
  hvd.init()
  if hvd.rank() == 3 then error "no more disk" end
  hvd.barrier()
end, {{ on = on }})))
""", timeout=580)
    assert done.code == 0 and "Running 4 processes by a RayJob..." in done.out and "numbers\t420 421 422 423" in done.out, done
    assert "[1,3]<stdout>:Hello from rank\t3\t1" in done.out, done
    assert "hvd.run: rank 3 failed: " in done.out and "no more disk" in done.out, done
    place.nothing_left("firesteel/hvd", kinds=KINDS)


def test_pods_fit_a_restricted_namespace(t):
    """The server would refuse each pod that does not. And a resumed run knows the RayJob again, though KubeRay has written into it."""
    place = Place(t)
    place.kubectl("label", "namespace", place.namespace, "pod-security.kubernetes.io/enforce=restricted")
    done = place.run(f"""
-- %% Make
job = k8s.create(k8s.rayjob {{ name = "small", entrypoint = "true", image = "{BUSYBOX}", pull_policy = "Never", cpu = "10m", workers = 1, env = {{ A = "b" }} }})
-- %% Then
if not io.open "go" then error "not yet" end
""")
    assert done.code == 1 and "not yet" in done.out, done

    def pods():
        return len(place.left("firesteel/ray=small", kinds="pods")) == 2
    pods.__doc__ = "KubeRay makes head and worker"
    eventually(pods, 60)
    write(place, "go", "")
    again = tap.sh(tap.FIRESTEEL, "run", "--resume", "last", "notebook.lua", "--allow", "cluster", cwd=place.dir, env=place.env, timeout=60)
    assert again.code == 0 and "verified" in again.out, again


def test_recipe_16_by_a_rayjob(t):
    place = with_ray(t)
    more = {"env": VARIABLES, "template": POD, "pull_policy": "Never", "head_memory": "2Gi", "ray_start_params": {"object-store-memory": "80000000"}}
    done = place.run(os.path.join(tap.SOURCE, "recipes", "16-ray.lua"), "--cwd", place.dir, "-p", "on=rayjob", "-p", f"image={BUSYBOX}", "-p", "ray_version=2.40.0",
                     "-p", "cpu=50m", "-p", "memory=1Gi", "-y", json.dumps({"more": more}), timeout=560)
    assert done.code == 0 and "ZeroDivisionError" in done.out and done.out.count("rate ") == 6, done
    place.nothing_left("firesteel/ray", kinds=KINDS)
