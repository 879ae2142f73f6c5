# SPDX-License-Identifier: MIT
"""Pipelines on the cluster: recipe 40 with the operator's SparkApplications, clean-ups that leave nothing, and the containers of a
pipeline for Kubeflow, as Jobs with the arguments that Kubeflow's driver gives them."""
import json
import os
import re
import signal
import subprocess

import tap
from kfpdriver import Driver, Failed
from place import REGISTRY, SPARK, Place, with_spark
from tap import SOURCE



def left(place):
    """Names of all that pipelines make there."""
    return place.left("firesteel/run", "sparkapplications,jobs,deployments,services,configmaps,workflows")


def test_recipe_40(t):
    place = with_spark(Place(t, SPARK))
    done = place.run(os.path.join(SOURCE, "recipes", "40-pipeline.lua"), "--cwd", place.dir, "--registry", REGISTRY,
                     "-p", "radius=3", timeout=900)
    assert done.code == 0, done
    answer = re.search(r"a circle of radius 3 has an area of (\d+\.\d+)", done.out)
    assert answer and abs(float(answer[1]) - 9 * 3.1416) < 0.5, done
    # what the operator's objects tell: which states it writes down depends on how quick they come
    assert re.search(r"\d executors [A-Z]+", done.out) and "step train failed" in done.out, done
    tap.eventually(lambda: not left(place), 30)


def test_an_interrupt_leaves_nothing(t):
    place = Place(t)
    path = os.path.join(place.dir, "n.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write("""-- %% effects="cluster,destructive"
pipeline { "nightly", steps = {
  long  = { image = "localhost/busybox:1", command = "echo began; sleep 300", each = { "a", "b" } },
  clean = { delete = "long", when = "always" },
} }:run()
""")
    program = subprocess.Popen([tap.FIRESTEEL, "run", path, "--context", "admin", "-n", place.namespace, "--allow", "cluster,destructive"],
                               cwd=place.dir, env={k: v for k, v in (os.environ | place.env).items() if v is not None},
                               stdout=subprocess.PIPE, text=True)
    t.after(program.kill)
    tap.eventually(lambda: len(left(place)) == 2, 30)
    tap.eventually(lambda: len(place.left(kinds="pods")) == 2, 60)
    program.send_signal(signal.SIGINT)
    out = program.communicate(timeout=120)[0]
    assert program.returncode == 130 and "✓ clean" in out, (program.returncode, out)
    tap.eventually(lambda: not left(place), 30)


def as_job(place, name, container, args, outputs):
    """The container, and beside it a shell that prints what it has written."""
    files = {"name": "outputs", "mountPath": "/outputs"}
    show = "; ".join(["true", *(f"cat /outputs/{o}; echo" for o in outputs)])
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": {"backoffLimit": 0, "template": {"spec": {
        "restartPolicy": "Never", "serviceAccountName": "steps", "volumes": [{"name": "outputs", "emptyDir": {}}],
        "initContainers": [{"name": "step", "image": container["image"], "command": container["command"], "args": args, "volumeMounts": [files]}],
        "containers": [{"name": "show", "image": "localhost/busybox:1", "command": ["sh", "-c", show], "volumeMounts": [files]}]}}}}


def run_as_job(place, said):
    def go(container, args, outputs):
        name = f"kfp-{len(said)}"
        place.create(as_job(place, name, container, args, outputs))

        def ended():
            status = place.get("job", name).get("status", {})
            return "good" if status.get("succeeded") else "bad" if status.get("failed") else None
        ended.__doc__ = f"the Job {name} ends"
        how = tap.eventually(ended, 120)
        said.append(place.kubectl("logs", f"job/{name}", "-c", "step", code=None).out)
        if how == "bad":
            return 1, {}
        lines = place.kubectl("logs", f"job/{name}", "-c", "show").out.splitlines()
        return 0, dict(zip(outputs, lines))
    return go


def test_the_containers_of_a_pipeline_for_kubeflow(t):
    place, said = Place(t), []
    with open(os.path.join(SOURCE, "tests", "replay", "expected", "nightly.lua"), encoding="utf-8") as f:
        nightly = f.read()
    done = place.run(f"""-- %% effects="cluster"
tool = "localhost/busybox:1"
{nightly}
img = image.build {{ firesteel = true, tag = "test/steps:1" }}:push()
spec = yaml.decode(flow:kfp {{ image = img.ref, parameters = {{ samples = samples }} }})
io.open("spec.json", "w"):write(json.encode(spec)):close()

""", "--registry", REGISTRY)
    assert done.code == 0, done
    with open(os.path.join(place.dir, "spec.json"), encoding="utf-8") as f:
        spec = json.load(f)
    place.kubectl("create", "serviceaccount", "steps")
    place.kubectl("create", "rolebinding", "steps", "--clusterrole=edit", f"--serviceaccount={place.namespace}:steps")
    driver = Driver(spec, run_as_job(place, said), "run-1")
    try:
        driver.start(samples=30)
    except Failed as e:
        raise AssertionError((str(e), said)) from e
    assert [code for _, code in driver.log] == [0, 0, 0, 0, 0, "skipped", 0, 0], (driver.log, said)
    assert driver.outputs["sum"] == [{"all": "x34,y34"}] and driver.outputs["train"] == [{"accuracy": "0.97", "done": "1"}], driver.outputs
    tap.eventually(lambda: not left(place), 30)  # clean has deleted all that the steps have made
    spec = json.loads(json.dumps(spec).replace("echo accuracy=0.97", "exit 3"))
    driver = Driver(spec, run_as_job(place, said), "run-2")
    try:
        driver.start()
        raise AssertionError("train fails")
    except Failed as e:
        assert str(e) == "train"
    assert driver.log[-3:] == [("train", 1), ("train", 1), ("clean", 0)], driver.log
    tap.eventually(lambda: not left(place), 30)
    assert any("step train failed" in text for text in said), said


SERVED = """-- %% Pack file="pack.lua"
local nn, data = require "nn", require "data"
local args = require "args" { slope = 0.0 }
local circle = nn.Sequential { nn.Dense { 1, input_dim = 1, use_bias = false } }
circle:set_weights { data.tensor { { args.slope } } }
circle:save "circle.ckpt"
-- %% Service file="serve.yaml" language="yaml"
-- apiVersion: v1
-- kind: Service
-- metadata: {name: circle}
-- spec: {selector: {app: circle}, ports: [{port: 8080}]}
-- ---
-- apiVersion: apps/v1
-- kind: Deployment
-- metadata: {name: circle}
-- spec:
--   selector: {matchLabels: {app: circle}}
--   template:
--     metadata: {labels: {app: circle}}
--     spec:
--       containers:
--       - name: serve
--         image: ${ref}
--         args: [serve, circle.ckpt]
--         readinessProbe: {httpGet: {path: /v2/health/ready, port: 8080}}
-- %% effects="cluster,destructive"
flow = pipeline { "circle", steps = {
  pack  = { call = function()
              trainer.run { "pack.lua", args = { "--slope=3.5" } }
              return { ref = image.build { add = { "circle.ckpt" }, tag = "test/circle:1" }:push().ref }
            end },
  serve = { apply = "serve.yaml", reaches = "Available", with = { ref = "${pack.ref}" }, timeout = "3m" },
  ask   = { image = "localhost/busybox:1", after = "serve", retries = 3, outputs = { answer = { log = '"data":%[([%d.]+)%]' } },
            command = { "wget", "-q", "-O", "-", "http://circle:8080/v2/models/circle/infer", "--post-data",
                        '{"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 1], "data": [4]}]}' } },
  clean = { delete = { "serve", "ask" }, when = "always" },
} }
flow:run()
print("answer", flow:output("ask", "answer"))
"""


def test_a_model_is_served_by_a_deployment(t):
    place = Place(t)
    done = place.run(SERVED, "--registry", REGISTRY)
    assert done.code == 0 and "answer\t14" in done.out, done
    tap.eventually(lambda: not left(place), 30)
