# SPDX-License-Identifier: MIT
"""model.package on a cluster: a Job of the image checks it, a Deployment serves it, and it answers through the API server."""
import json
import os
import threading

import tap
from asker import Asker
from place import NODE, PLAIN, REGISTRY, Place
from tap import FIRESTEEL, sh

NOTEBOOK = """\
-- %% Trainer file="trainer.lua"
local nn, data = require "nn", require "data"
local line = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
line:set_weights { data.tensor { { 2 }, { 10 } }, data.tensor { 0.5 } }
line:save "line.safetensors"
-- %% Predict file="predict.lua"
function predict(inputs, model)
  local label = {}
  for i, word in ipairs(inputs.word) do label[i] = word:upper() end
  return { score = model:predict(inputs.x), label = label }
end
-- %% Package effects="cluster"
trainer.run { "trainer.lua", outputs = { "line.safetensors" } }
fn = model.package { "predict.lua", "line.safetensors", name = "line", tag = "case/line:1",
  examples = { { x = { 1, 2 }, word = "open" }, { x = { 3, 4 }, word = "ajar" } } }
-- %% Verify effects="cluster"
v = fn:verify { on = "k8s", runtime = false, timeout = "3m" }
print("verified", v.same, v.k8s.examples, v.k8s.values, fn.image.ref)
-- %% Serve effects="cluster"
served = fn:serve { replicas = 2, max_latency = "2ms", record = "/seen", timeout = "3m",
  resources = { requests = { cpu = "10m", memory = "32Mi" } }, pod = { terminationGracePeriodSeconds = 5 } }
local answer = served:predict { x = { { 5, 6 }, { 0, 0 } }, word = { "shut", "torn" } }
print("answer", answer.score[1], answer.score[2], answer.label[2], served:metadata().inputs[1].name)
local ok, why = pcall(served.predict, served, { x = { { 5, 6 } } })
print("wrong", ok, why)
local counted = 0
for _ = 1, 40 do counted = math.max(counted, tonumber(served:metrics():match 'requests_total{model="line",code="200"} (%d+)' or 0)) end
print("counted", counted)
print("lineage", k8s.get(served.deployment).metadata.annotations["firesteel/digest"] == fn.digest)
-- %% Again effects="cluster"
plain = model.package { "line.safetensors", name = "line", tag = "case/line:2", examples = { { 1, 2 } } }
again = plain:serve { replicas = 2, timeout = "3m", pod = { terminationGracePeriodSeconds = 5 } }
for i = 1, 20 do assert(again:predict({ { i, 0 } }).dense[1] == 2 * i + 0.5) end
print("replaced")
"""
DELETE = """
-- %% Delete effects="destructive"
served:delete()
print("gone", #k8s.list("deployments"), #k8s.list("services"))
"""


def test_a_packaged_model_is_verified_and_served(t):
    place = Place(t)
    place.kubectl("label", "namespace", place.namespace, "pod-security.kubernetes.io/enforce=baseline")
    done = place.run(NOTEBOOK + DELETE, "--registry", REGISTRY)
    assert done.code == 0, done
    for says in ("verified\ttrue\t2\t4\t" + f"{NODE}:{PLAIN}/case/line:1@sha256:", "answer\t70.5\t0.5\tTORN\tword", "there is no input word",
                 "lineage\ttrue", "replaced", "gone\t0\t0"):
        assert says in done.out, (says, done)
    run = done.out.split("(run ")[1].split(")")[0]
    graph = json.loads(sh(FIRESTEEL, "lineage", "deploy/line", "-o", "json", cwd=place.dir, env=place.env).out)
    assert any(e["from"] == f"run:{run}" and e["to"] == graph["subject"] for e in graph["edges"]), graph
    text = sh(FIRESTEEL, "lineage", "case/line:1", cwd=place.dir, env=place.env).out
    assert f"made by run {run}" in text and "cell Package" in text and f"firesteel.run = {run}" in text, text


REPLACED = """\
-- %% Trainer file="trainer.lua"
local nn, data = require "nn", require "data"
local args = require "args" { slope = 2.0 }
local line = nn.Sequential { nn.Dense { 1, input_dim = 1, use_bias = false } }
line:set_weights { data.tensor { { args.slope } } }
line:save(("line-%g.safetensors"):format(args.slope))
-- %% First effects="cluster"
function packaged(slope)
  local file = ("line-%g.safetensors"):format(slope)
  trainer.run { "trainer.lua", args = { "--slope=" .. slope }, outputs = { file } } -- else a resumed run does it, and what follows, anew
  return model.package { file, name = "line", tag = "case/replaced:" .. slope, examples = { { 1 } } }
end
options = { replicas = 1, timeout = "3m", resources = { requests = { cpu = "10m", memory = "32Mi" } }, pod = { terminationGracePeriodSeconds = 15 } }
first = packaged(2)
served = first:serve(options)
fs.write("served", "yes")
while not fs.exists "asked" do firesteel.sleep(0.2) end
-- %% The next effects="cluster"
for _, slope in ipairs { 4, 5 } do
  next_one = packaged(slope):serve(options)
  print("after", k8s.get(served.deployment).metadata.annotations["firesteel/digest"] == next_one.digest, next_one:predict({ { 1 } }).dense[1])
end
-- %% Not ours effects="cluster"
k8s.apply { apiVersion = "apps/v1", kind = "Deployment", metadata = { name = "web" }, spec = { replicas = 0, selector = { matchLabels = { app = "web" } },
  template = { metadata = { labels = { app = "web" } }, spec = { containers = { { name = "main", image = "localhost/busybox:1" } } } } } }
print("not ours", pcall(first.serve, first, { name = "web" }))
-- %% Where there is room effects="cluster"
last = packaged(6):serve { replicas = 1, timeout = os.getenv "LIMIT" or "8s", pod = { nodeSelector = { ["case-replaced"] = "yes" } } }
print("resumed", k8s.get(served.deployment).metadata.annotations["firesteel/digest"] == last.digest, last:predict({ { 1 } }).dense[1])
"""


def test_the_next_model_takes_its_place(t):
    """A client asks all the time: no request is lost, whether the next model gets ready or not."""
    place = Place(t)
    asker = []

    def ask():
        if not asker:
            tap.eventually(lambda: os.path.exists(os.path.join(place.dir, "served")), 240)
            service = place.get("service", "line")["spec"]
            one = {"name": "input", "datatype": "FP32", "shape": [1, 1], "data": [1]}
            asker.append(Asker(service["clusterIP"], service["ports"][0]["port"], "line", one).start())
            tap.eventually(lambda: asker[0].answers > 5, 30)
            with open(os.path.join(place.dir, "asked"), "w", encoding="utf-8") as f:
                f.write("yes")
    beside = threading.Thread(target=ask)
    beside.start()
    done = place.run(REPLACED, "--registry", REGISTRY, timeout=600)
    beside.join()
    assert done.code == 1 and asker, done
    assert "does not take the place of the model before" in done.err and "waits for a node" in done.err and "answers as it did" in done.err, done
    assert "after\ttrue\t4" in done.out and "after\ttrue\t5" in done.out, done
    assert "not ours\tfalse" in done.out and "there is a Deployment web" in done.out, done
    first = place.get("deployment", "line")
    assert first["status"]["availableReplicas"] == 1 and "case-replaced" not in json.dumps(first["spec"]), first
    # what did not get ready is tried again by the resumed run, and gets there
    run = done.out.split("(run ")[1].split(")")[0]
    refused = place.run(os.path.join(place.dir, "notebook.lua"), "--resume", run, "--registry", REGISTRY)
    assert refused.code == 1 and "answers as it did" in refused.err, refused
    place.kubectl("label", "nodes", "--all", "case-replaced=yes")
    t.after(lambda: place.kubectl("label", "nodes", "--all", "case-replaced-"))
    place.env["LIMIT"] = "3m"
    again = place.run(os.path.join(place.dir, "notebook.lua"), "--resume", run, "--registry", REGISTRY)
    assert again.code == 0 and "resumed\ttrue\t6" in again.out, again
    answers, troubles = asker[0].end()
    assert answers > 200 and not troubles, (answers, troubles, done, again)
    tap.sh(FIRESTEEL, "clean", "--yes", run, cwd=place.dir, env=place.env)
    assert not place.left("app.kubernetes.io/name=line", "deployments,services")


OTHER_PORT = REPLACED[:REPLACED.index('fs.write("served"')] + """\
-- %% Another port effects="cluster"
print("refused", pcall(function()
  packaged(4):serve { port = 9090, timeout = "8s", pod = { nodeSelector = { ["case-replaced"] = "never" } } }
end))
print("asked", k8s.get("services", "line").spec.ports[1].port, served:predict({ { 1 } }).dense[1])
"""


def test_a_model_that_is_refused_with_another_port_takes_no_address(t):
    done = Place(t).run(OTHER_PORT, "--registry", REGISTRY, timeout=600)
    assert done.code == 0 and "refused\tfalse" in done.out and "asked\t8080\t2" in done.out, done
