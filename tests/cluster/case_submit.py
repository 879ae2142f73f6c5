# SPDX-License-Identifier: MIT
"""spark.submit to k8s://: driver and executors are pods, with the real spark-submit of the tests' cache."""
import glob
import json
import os
import re
import signal
import subprocess

from place import NODE, REGISTRY, Place, with_spark
from sparkdriver import Driver
from tap import CACHE, FIRESTEEL, PATIENCE, Skip, eventually, sh

VENV = os.path.join(CACHE, "pyspark")
PROGRAM = """
import os, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print("Epoch 1/1")
print("4/4 [=====] - 0s 3ms/step - loss: 0.2500 - accuracy: 0.91")
print("sum", spark.sparkContext.parallelize(range(10), 2).sum(), "of", sys.argv[1:], "in", os.environ.get("PLACE"))
if "wait" in sys.argv:
    print("waits", flush=True)
    time.sleep(600)
if "fail" in sys.argv:
    raise ValueError("no such data")
"""
MAKE = """
-- %% Make effects="cluster"
img = image.build { from = "apache/spark:3.5.7", add = { "sums.py" }, tag = "case/sums:1", worker = false }:push()
k8s.apply [[
{apiVersion: v1, kind: ServiceAccount, metadata: {name: driver}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: driver-edit}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects: [{kind: ServiceAccount, name: driver}]
]]
function submit(options)
  options[1] = "local:///work/sums.py"
  options.master, options.deploy_mode, options.name = "k8s", "cluster", "Sums_of mine"
  options.env = { PLACE = secret "TOKEN" }
  options.conf = {
    ["spark.kubernetes.container.image"] = img.ref, ["spark.executor.instances"] = 1,
    ["spark.kubernetes.authenticate.driver.serviceAccountName"] = "driver",
    ["spark.kubernetes.driver.request.cores"] = "100m", ["spark.kubernetes.executor.request.cores"] = "100m",
    ["spark.driver.memory"] = "512m", ["spark.executor.memory"] = "512m",
  }
  return spark.submit(options)
end
"""


def place_with_program(t):
    if not os.path.exists(f"{VENV}/bin/spark-submit"):
        raise Skip("there is no PySpark in the tests' cache")
    place = with_spark(Place(t))
    place.env.update({"VIRTUAL_ENV": VENV, "TOKEN": "hush-hush-hush", "SPARK_LOCAL_IP": NODE})
    with open(f"{place.dir}/sums.py", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    return place


def pods(place):
    return {p["metadata"]["name"]: p["status"]["phase"] for p in place.objects.list(place.namespace, "pods")
            if "deletionTimestamp" not in p["metadata"]}


def test_a_driver_in_a_pod(t):
    place = place_with_program(t)
    done = place.run(MAKE + """
-- %% Submit
job = submit { args = { "a b" } }
print(job.code, job.state, job.id, job.driver, job.metrics.accuracy, #job.history)
-- %% Fails
submit { args = { "fail" } }
""", "--registry", REGISTRY, timeout=400)
    assert done.code == 1 and "sum 45 of ['a b'] in ******" in re.sub(r"in \S+\n", "in ******\n", done.out), done
    assert "hush" not in done.out + done.err, done
    told = re.search(r"0\tCOMPLETED\t(spark-[0-9a-f]{32})\t(sums-of-mine-[0-9a-f]{8}-driver)\t0.91\t1\n", done.out)
    assert told and f"application {told.group(1)} on k8s://" in done.out and " INFO " not in done.out, done
    assert "local:///work/sums.py exited with 1: ValueError: no such data" in done.out + done.err, done
    assert pods(place)[told.group(2)] == "Succeeded", pods(place)
    env = next(c for c in place.get("pod", told.group(2))["spec"]["containers"])["env"]
    assert {"name": "PLACE", "value": "hush-hush-hush"} in env, env
    cost = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=place.dir, env=place.env).out)[0]
    assert cost["pod_count"] >= 3 and cost["cpu_hours"] > 0, cost  # two drivers, and an executor
    # the drivers that Spark leaves are this run's, and go with it
    cleaned = clean(place)
    assert cleaned.count("1 pod of the Spark application") == 2, cleaned
    assert eventually(lambda: not pods(place), 40), pods(place)


def driver_pod(place, port):
    """A pod as Spark's driver is one, which no node has and whose address is that of the tests' recorded driver."""
    place.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "inside-driver", "labels": {"spark-role": "driver"}},
                  "spec": {"schedulerName": "none", "containers": [{"name": "spark-kubernetes-driver", "image": "x:1", "ports": [
                      {"name": "spark-ui", "containerPort": port}]}]}})
    status = {"phase": "Running", "podIP": NODE, "podIPs": [{"ip": NODE}]}
    place.kubectl("patch", "pod", "inside-driver", "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def test_what_spark_does_inside_is_asked_through_the_api_server(t):
    place = Place(t)
    with Driver("3.5", host=NODE) as driver:
        driver_pod(place, int(driver.url.rsplit(":", 1)[1]))
        look = """
local driver = k8s.get "pods/inside-driver"
local ok, inside = pcall(driver.inside, driver)
print(ok, ok and inside.name, ok and inside.stages[2].done)
print(ok or inside)
driver:watch()
firesteel.sleep(4)
"""
        done = place.run(look)
        assert done.code == 0 and "true\tinside\t39" in done.out, done
        # beside the table of the pod, too
        assert "Spark inside: 0 of 1 job ended" in shown(place) and "executors of inside, 2 cores" in shown(place), shown(place)
        # without the right the table of the pod is there, and that it is not shown is told
        asked = len(driver.asked)
        place.narrow("admin", "get,list,watch", "pods")
        done = place.run(look)
        assert done.code == 0 and "false" in done.out and "pods/proxy" in done.out, done
        assert len(driver.asked) == asked and "what Spark does inside is not shown: " in shown(place), shown(place)


def shown(place):
    """The records of the place's last run."""
    journal = max(glob.glob(f"{place.dir}/.firesteel/*.jsonl"), key=os.path.getmtime)
    with open(journal, encoding="utf-8") as f:
        return f.read()


def clean(place):
    env = {k: v for k, v in {**os.environ, **place.env}.items() if v is not None}
    done = subprocess.run([FIRESTEEL, "clean", "--yes", "--context", "admin"], cwd=place.dir, env=env,
                          capture_output=True, text=True, timeout=120 * PATIENCE, check=False)
    assert done.returncode == 0, done
    return done.stdout + done.stderr


def test_an_interrupt_takes_driver_and_executors_along(t):
    place = place_with_program(t)
    with open(f"{place.dir}/nb.lua", "w", encoding="utf-8") as f:
        f.write(MAKE + '-- %% Submit\nsubmit { args = { "wait" } }\n')
    env = {k: v for k, v in {**os.environ, **place.env}.items() if v is not None}
    with open(f"{place.dir}/out", "wb") as out:
        process = subprocess.Popen([FIRESTEEL, "run", "nb.lua", "--context", "admin", "-n", place.namespace, "--allow", "cluster",
                                    "--registry", REGISTRY], cwd=place.dir, env=env, stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
    t.after(lambda: process.poll() is None and process.kill())

    def output():
        with open(f"{place.dir}/out", encoding="utf-8") as f:
            return f.read()

    def waits():
        assert process.poll() is None, output()
        return "waits\n" in output()
    eventually(waits, 200, 0.3)
    assert sorted(pods(place).values()) == ["Running", "Running"], pods(place)
    process.send_signal(signal.SIGINT)
    assert process.wait(60 * PATIENCE) == 130, output()
    assert "deleted 2 pods of the application" in output(), output()
    assert eventually(lambda: not pods(place), 60), pods(place)

    def gone():
        left = place.left(kinds="configmaps,services")
        return not [name for name in left if "sums" in name or "spark-" in name]
    gone.__doc__ = "what the driver's pod owned goes with it"
    eventually(gone, 60)


WITH_CLAIM = """
import os, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
def read(_):
    return [os.environ["HOSTNAME"] + ": " + open("/data/told").read().strip()]
print("executors read", sorted(set(spark.sparkContext.parallelize(range(4), 4).mapPartitions(read).collect())))
print("the driver is", os.getcwd())
if "fail" in sys.argv:
    raise ValueError("no such data")
"""


def test_a_driver_here_and_executors_with_a_claim(t):
    place = place_with_program(t)
    data = f"{place.dir}/data"
    os.mkdir(data)
    with open(f"{data}/told", "w", encoding="utf-8") as f:
        f.write("what the volume has")
    os.chmod(place.dir, 0o755)
    place.kubectl("create", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": place.namespace},
         "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": place.namespace,
                  "hostPath": {"path": data}}},
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "told"},
         "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": place.namespace, "resources": {"requests": {"storage": "1Gi"}}}}]}))
    t.after(lambda: place.kubectl("delete", "pv", place.namespace, "--wait=false"))
    with open(f"{place.dir}/reads.py", "w", encoding="utf-8") as f:
        f.write(WITH_CLAIM)
    done = place.run(MAKE + f"""
-- %% Submit
function reads(...)
  return spark.submit {{ "reads.py", args = {{ ... }}, master = "k8s", deploy_mode = "client", name = "reads", volumes = {{ told = "/data" }}, conf = {{
  ["spark.kubernetes.container.image"] = img.ref, ["spark.executor.instances"] = 1, ["spark.driver.host"] = "{NODE}",
  ["spark.kubernetes.executor.request.cores"] = "100m", ["spark.executor.memory"] = "512m", ["spark.pyspark.python"] = "python3" }} }}
end
job = reads()
print(job.code, job.state, job.driver)
print(pcall(reads, "fail"))
""", "--registry", REGISTRY, timeout=400)
    assert done.code == 0, done
    assert re.search(r"executors read \['reads-[0-9a-f-]+-exec-\d+: what the volume has'\]", done.out), done
    assert f"the driver is {place.dir}" in done.out and re.search(r"^\s*0\tCOMPLETED\tnil", done.out, re.M), done
    assert "reads.py exited with 1: ValueError: no such data" in done.out, done
    assert "\n2 left over" in done.out, done  # account and role binding: executors went with their drivers
    assert eventually(lambda: not pods(place), 60), pods(place)
