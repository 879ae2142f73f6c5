# SPDX-License-Identifier: MIT
"""tune whose trials are Jobs, ranks in Jobs and SparkApplications: three at once; what is stopped leaves no pod; resumed."""
import glob
import json
import os
import re
import signal
import subprocess

import images
import tap
from place import BY_OPERATORS, REGISTRY, SPARK, Place, with_spark

# Epochs as a trainer tells them; the loss of trial x is x at first, and falls.
EPOCHS = """for i in $(seq 1 {n}); do echo '@firesteel {{"event":"epoch","epoch":'$i',"epochs":{n},"metrics":{{"loss":'$X.$((100-i))'}}}}'; sleep {pause}; done"""


def trials(place):
    listed = tap.sh(tap.FIRESTEEL, "runs", "--children", "-o", "json", cwd=place.dir, env=place.env).out
    return {r["run"].split("/", 1)[1]: r for r in json.loads(listed)}


JOBS = """
-- %% Trials effects="cluster,destructive"
function manifest(x)
  return {{ apiVersion = "batch/v1", kind = "Job", metadata = {{ name = "trial-" .. x }}, spec = {{ backoffLimit = 0, template = {{ spec = {{
    restartPolicy = "Never", terminationGracePeriodSeconds = 1, containers = {{ {{ name = "main", image = "{image}",
      env = {{ {{ name = "X", value = tostring(x) }} }}, command = {{ "sh", "-c", [[{script}]] }} }} }} }} }} }} }}
end
ts = tune {{ "jobs", over = {{ x = {{ 1, 2, 3, 4 }} }}, by = "loss", at_once = 3, {more} function(trial)
  local job = k8s.create(manifest(trial.params.x))
  trial:finally(function() job:delete() end)
  k8s.watch(job)
  expect(job):reaches("Complete", "5m")
end }}
print("best", ts:best().name, ts:best().metrics.loss)
"""


def jobs(script, more=""):
    return JOBS.format(image=images.BUSYBOX, script=script, more=more)


def test_jobs_that_halving_stops_leave_no_pod(t):
    """The first one goes on to its end; the others come later, are worse, and would stay for ten minutes."""
    place = Place(t)
    done = place.run(jobs("[ $X = 1 ] || sleep 2; " + EPOCHS.format(n=6, pause=0.5) + "; [ $X = 1 ] || sleep 600",
                          'search = "halving", max_t = 7, grace_period = 2, reduction_factor = 4,'), timeout=200)
    assert done.code == 0 and "best\tjobs/1\t1.94" in done.out, done
    found = trials(place)
    assert {name: r["state"] for name, r in found.items()} == {"jobs/1": "done", **{f"jobs/{i}": "stopped" for i in (2, 3, 4)}}, found
    assert all(found[f"jobs/{i}"]["seconds"] < 60 for i in (2, 3, 4)), found
    assert len(re.findall(r"- [234] .*stopped .* \d\.9\d? at 2; \d\.\d+ goes on", done.out)) == 3, done.out
    place.nothing_left()


def kernel_of(place):
    journal, = glob.glob(os.path.join(place.dir, ".firesteel", "*.jsonl"))
    with open(journal, encoding="utf-8") as f:
        return json.loads(f.readline())["pid"]


def test_a_killed_run_goes_on_with_its_jobs(t):
    """Trials that have ended stay; the Jobs of those that were under way are found again, not made twice."""
    place = Place(t)
    with open(f"{place.dir}/notebook.lua", "w", encoding="utf-8") as f:
        f.write(jobs("[ $X = 1 ] || sleep 12; " + EPOCHS.format(n=3, pause=0.2)))
    env = {k: v for k, v in {**os.environ, **place.env}.items() if v is not None}
    with open(f"{place.dir}/out", "wb") as out:
        process = subprocess.Popen([tap.FIRESTEEL, "run", "notebook.lua", "--context", "admin", "-n", place.namespace,
                                    "--allow", "cluster,destructive"], cwd=place.dir, env=env, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
    t.after(lambda: process.poll() is None and process.kill())

    def under_way():
        return len(place.left(kinds="jobs")) == 3 and trials(place).get("jobs/1", {}).get("state") == "done"
    tap.eventually(under_way, 60, 0.2)
    os.kill(kernel_of(place), signal.SIGKILL)
    process.wait(60)
    uids = {name: place.get("job", name)["metadata"]["uid"] for name in ("trial-2", "trial-3")}
    assert {trials(place)[f"jobs/{i}"]["state"] for i in (2, 3)} == {"interrupted"}, trials(place)
    began = trials(place)["jobs/1"]["began"]
    again = place.run(f"{place.dir}/notebook.lua", "--resume", "last", timeout=200)
    assert again.code == 0 and "best\tjobs/1\t1.97" in again.out and "done before" in again.out, again
    found = trials(place)
    assert {r["state"] for r in found.values()} == {"done"} and len(found) == 4 and found["jobs/1"]["began"] == began, found
    known = tap.sh(tap.FIRESTEEL, "lineage", "newest", cwd=place.dir, env=place.env).out
    assert all(f"Job {name} in {place.namespace} uid:{uid[:12]}" in known for name, uid in uids.items()), (uids, known)
    place.nothing_left()


RANKS = """
-- %% Trials effects="cluster,destructive"
function train(rate, epochs)
  local nn, data = require "nn", require "data"
  hvd.init()
  local x, y = {{}}, {{}}
  for i = 1, 64 do x[i], y[i] = {{ i / 64 }}, {{ 2 * i / 64 }} end
  local model = nn.Sequential {{ nn.Input {{ 1 }}, nn.Dense {{ 1 }}, seed = 1 }}
  model:compile {{ optimizer = nn.SGD {{ learning_rate = rate }}, loss = "mse" }}
  model:fit {{ data.tensor(x), data.tensor(y), batch_size = 16, epochs = epochs, verbose = hvd.rank() == 0 and 2 or 0,
    callbacks = {{ {{ on_epoch_end = function() local later = os.clock() + 0.1 while os.clock() < later do end end }} }} }}
  model:save "/tmp/line.safetensors"
  local file = io.open("/tmp/line.safetensors", "rb")
  return file:read((string.unpack("<I8", file:read(8)))):match '"firesteel.trainer":"hvd.run"'
end
ts = tune {{ "ranks", over = {{ rate = {{ 0.3, 1e-6, 2e-6 }} }}, by = "loss", at_once = 3, stop = function(trial, metrics, step)
  return trial.params.rate < 0.1 and step >= 3
end, function(trial)
  local saved = hvd.run(train, {{ np = 1, args = {{ trial.params.rate, trial.params.rate < 0.1 and 3000 or 6 }}, on = k8s.jobs {{ image = "{image}", cpu = "100m" }} }})
  print("says", saved[1])
end }}
print("best", ts:best().name, #ts:best().curves.loss.values, ts[2].note, ts[3].note)
"""


def test_ranks_that_are_stopped_end(t):
    """hvd.run of three trials at once, each a driver and its executors; two of them would train for five minutes."""
    place = Place(t)
    done = place.run(RANKS.format(image=place.build("trials/ranks:1")), timeout=200)
    assert done.code == 0 and "best\tranks/1\t6\tstop said so\tstop said so" in done.out, done
    assert "left over" not in done.out, done
    assert 'says\t"firesteel.trainer":"hvd.run"' in done.out, done  # where it came from, as a model that is saved here
    place.nothing_left()


APPLICATIONS = """
-- %% Image effects="cluster"
img = image.build {{ from = "apache/spark:3.5.7", add = {{ "trial.py" }}, tag = "trials/spark:1", worker = false }}:push()
-- %% Trials effects="cluster,destructive" timeout="10m"
ts = tune {{ "apps", over = {{ x = {{ 1, 2, 3 }} }}, by = "loss", at_once = 3, stop = {{ loss = 0.5 }}, function(trial)
  local app = k8s.create {{ apiVersion = "sparkoperator.k8s.io/v1beta2", kind = "SparkApplication", metadata = {{ name = "{name}-" .. trial.params.x }},
    spec = {{ type = "Python", mode = "cluster", sparkVersion = "3.5.7", image = img.ref, mainApplicationFile = "local:///work/trial.py",
      arguments = {{ tostring(trial.params.x) }}, restartPolicy = {{ type = "Never" }},
      driver = {{ coreRequest = "100m", memory = "512m", serviceAccount = "spark" }}, executor = {{ instances = 1 }} }} }}
  trial:finally(function() app:delete() end)
  k8s.watch(app)
  expect(app):reaches("COMPLETED", "8m")
end }}
print("best", ts:best().name)
for i = 1, 3 do print(ts[i].name, ts[i].state, ts[i].note) end
"""
TRIAL = """
import sys, time
x = int(sys.argv[1])
for epoch in range(1, 5 if x < 3 else 600):
    print(f"Epoch {epoch}/4")
    print(f"4/4 [=====] - 0s 3ms/step - loss: {x - 0.6 if x == 1 else (6 - epoch) / 4 if x == 3 else x / epoch:.4f}", flush=True)
    time.sleep(0.2)
"""


def test_spark_applications(t):
    """Drivers of three trials; that of the third reaches what it was asked for, and would go on for two minutes."""
    place = with_spark(Place(t, SPARK))
    name = f"trial-{os.getpid()}"
    with open(f"{place.dir}/trial.py", "w", encoding="utf-8") as f:
        f.write(TRIAL)
    done = place.run(APPLICATIONS.format(name=name), "--registry", REGISTRY, timeout=500)
    assert done.code == 0 and len(re.findall(r"apps/[13]\tdone\treached loss = 0.5", done.out)) == 2, done
    assert re.search(r"apps/2\tdone\treached loss = 0.5|apps/2\tdone\tnil", done.out), done

    def none():
        return not [one for one in place.left(kinds=BY_OPERATORS) if name in one]
    none.__doc__ = "applications and their pods go with their trials"
    tap.eventually(none, 60)
