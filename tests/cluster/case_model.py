# SPDX-License-Identifier: MIT
"""model.package on a cluster: a Job of the image checks it, a Deployment serves it, and it answers through the API server."""
import json

from place import NODE, PLAIN, Place
from tap import FIRESTEEL, sh

REGISTRY = f"http://{NODE}:{PLAIN}"
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
