-- ---
-- jupyter:
--   jupytext:
--     text_representation:
--       extension: .lua
--       format_name: percent
--       format_version: '1.3'
--       jupytext_version: 1.19.6
--   kernelspec:
--     display_name: Firesteel (Lua)
--     language: lua
--     name: firesteel
-- ---

-- %% [markdown]
-- # A pipeline: Spark jobs and a Job, as one graph
-- Pi on Spark, a training that uses it, a service that uses what was learnt, and a clean-up that always runs.
-- Steps that can run at once do, and a failure ends all of it at once, with its cause.
--
--     firesteel run recipes/40-pipeline.lua --sandbox --allow cluster,destructive
--
-- and, with `--context NAME --registry HOST` instead of `--sandbox`, on a cluster. With `-p through=argo` the cluster's Argo
-- drives the same graph, as a Workflow, with the same results; its pods run as the service account `workflow`.

-- %% tags=["parameters"]
samples = 200000                  -- points for pi, over all ranks
radius = 2                        -- what the service is asked for
executors = 2
through = "here"                  -- or "argo"
account = "workflow"              -- through Argo: as which the Workflow's pods run
core_request = "500m"             -- CPUs of each pod
model_tag = "firesteel/circle:latest"
tag = "firesteel/pipeline:latest" -- goes to --registry's or the context's
base = nil                        -- an image with Spark; nil: Apache's

-- %% [markdown]
-- ## The programs
-- Pi, by throwing points: each rank throws its share.

-- %% Pi file="pi.lua"
local hvd = require "hvd"
local args = require "args" { samples = 1000, to = "" } -- to: a file for the result
local function throw(n)
  hvd.init()
  math.randomseed(1 + hvd.rank())
  local mine, hits = n // hvd.size(), 0
  for _ = 1, mine do
    local x, y = math.random(), math.random()
    if x * x + y * y < 1 then hits = hits + 1 end
  end
  return 4 * hvd.allreduce(hits / mine)
end
local pi = ("%.5f"):format(hvd.run(throw, { args = { args.samples } })[1])
print("pi=" .. pi)
if args.to ~= "" then io.open(args.to, "w"):write(pi):close() end

-- %% [markdown]
-- The training learns how the area of a circle grows with the square of its radius.

-- %% Train file="train.lua"
local hvd = require "hvd"
local args = require "args" { pi = 3.0, rate = 0.2, epochs = 60 }
local function train(pi, rate, epochs)
  hvd.init()
  local slope, loss = 0, nil
  for _ = 1, epochs do
    local gradient, sum, n = 0, 0, 0
    for i = 1 + hvd.rank(), 20, hvd.size() do -- each rank has its points
      local square = (i / 20) ^ 2
      local miss = slope * square - pi * square
      gradient, sum, n = gradient + 2 * miss * square, sum + miss ^ 2, n + 1
    end
    slope = slope - rate * 5 * hvd.allreduce(gradient / n)
    loss = hvd.allreduce(sum / n)
  end
  return slope, loss
end
local slope, loss = hvd.run(train, { args = { args.pi, args.rate, args.epochs } }):rank(0)
print(("slope=%.5f loss=%.8f"):format(slope, loss))

-- %% [markdown]
-- What was learnt becomes a model of one weight, in a file that the worker can serve (`doc/serving.md`). The sandbox runs no
-- Deployments: there a Job asks the model.

-- %% Pack file="pack.lua"
local nn, data = require "nn", require "data"
local args = require "args" { slope = 0.0, to = "circle.ckpt" }
local circle = nn.Sequential { nn.Dense { 1, input_dim = 1, use_bias = false } }
circle:set_weights { data.tensor { { args.slope } } }
circle:compile { loss = "mse" }
circle:save(args.to)

-- %% Ask here file="ask.lua"
local nn, data = require "nn", require "data"
local args = require "args" { radius = 1.0 }
local area = nn.load "circle.ckpt":predict(data.tensor { { args.radius ^ 2 } })
print(("answer=%.4f"):format(area[0][0]))

-- %% Ask the service file="ask.py" language="python"
-- import json, sys, urllib.request  # ask.py ADDRESS RADIUS FILE
-- request = {"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 1], "data": [float(sys.argv[2]) ** 2]}]}
-- with urllib.request.urlopen(sys.argv[1], json.dumps(request).encode(), timeout=30) as reply:
--     answer = "%.4f" % json.load(reply)["outputs"][0]["data"][0]
-- print("answer=" + answer, file=sys.stderr)
-- open(sys.argv[3], "w").write(answer)

-- %% [markdown]
-- Argo knows no Lua functions and reads no logs. So there a notebook is a step, which reads what a Spark job has printed,
-- and the service packs its model itself, before it starts.

-- %% A notebook as a step file="read.lua"
for name, value in k8s.get("sparkapplication", os.getenv "APPLICATION"):logs():gmatch "(%w+)=([%d.]+)" do
  io.open("/tmp/" .. name, "w"):write(value):close()
end

-- %% A service file="serve.yaml" language="yaml"
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

-- %% A service that packs file="pack-and-serve.yaml" language="yaml"
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
--       volumes: [{name: model, emptyDir: {}}]
--       initContainers:
--       - name: pack
--         image: ${img.ref}
--         command: [/opt/firesteel/firesteel-worker, /work/pack.lua, "--slope=${slope}", --to=/model/circle.ckpt]
--         volumeMounts: [{name: model, mountPath: /model}]
--       containers:
--       - name: serve
--         image: ${img.ref}
--         command: [/opt/firesteel/firesteel-worker, serve, /model/circle.ckpt]
--         volumeMounts: [{name: model, mountPath: /model}]
--         readinessProbe: {httpGet: {path: /v2/health/ready, port: 8080}}

-- %% Build and push effects="cluster"
sandbox = k8s.version().sandbox
spark = base or not sandbox and "apache/spark:3.5.7" or nil
img = image.build { from = spark, add = { "pi.lua", "train.lua", "pack.lua", "ask.py", "read.lua" }, tag = tag,
  firesteel = through == "argo" }:push()

-- %% [markdown]
-- ## The Spark jobs
-- One manifest for both. `${main}` and `${argument}` are parameters of the step (`with`), `${img.ref}` and the others
-- are variables of the notebook.

-- %% A Spark job file="job.yaml" language="yaml"
-- apiVersion: sparkoperator.k8s.io/v1beta2
-- kind: SparkApplication
-- metadata: {generateName: "${main}-"}
-- spec:
--   type: Python
--   mode: cluster
--   image: ${img.ref}
--   sparkVersion: 3.5.7
--   mainApplicationFile: local:///opt/firesteel/spark.py
--   arguments: ["${main}.lua", "${argument}"]
--   restartPolicy: {type: Never}
--   driver:
--     cores: 1
--     coreRequest: "${core_request}"
--     javaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
--     memory: 1g
--     serviceAccount: spark
--     annotations: {sidecar.istio.io/inject: "false"}
--   executor:
--     instances: ${executors}
--     cores: 1
--     coreRequest: "${core_request}"
--     javaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
--     memory: 1g
--     annotations: {sidecar.istio.io/inject: "false"}

-- %% [markdown]
-- ## The graph
-- `${prep.pi}` is the last `pi=...` of the step's log, so `train` comes after `prep` by itself.

-- %% The pipeline effects="cluster,destructive" timeout="20m"
steps = {
  prep  = { apply = "job.yaml", reaches = "COMPLETED", retries = 1,
            with = { main = "pi", argument = "--samples=" .. samples } },
  train = { apply = "job.yaml", reaches = "COMPLETED", retries = 1,
            with = { main = "train", argument = "--pi=${prep.pi}" },
            outputs = { slope = { log = "slope=(%S+)" }, loss = { log = "loss=(%S+)" } } },
  pack  = { with = { slope = "${train.slope}" }, call = function(with)
              trainer.run { "pack.lua", args = { "--slope=" .. with.slope } }
              return { ref = image.build { add = { "circle.ckpt", "ask.lua" }, tag = model_tag }:push().ref }
            end },
  clean = { delete = { "prep", "train", "ask" }, when = "always" },
}
if sandbox then
  steps.ask = { image = "${pack.ref}", when = "${train.loss} < 0.001", outputs = { answer = { log = "answer=(%S+)" } },
                command = { "/opt/firesteel/firesteel-worker", "ask.lua", "--radius=" .. radius } }
else
  steps.serve = { apply = "serve.yaml", reaches = "Available", when = "${train.loss} < 0.001", with = { ref = "${pack.ref}" } }
  steps.ask = { image = "${img.ref}", after = "serve", when = "${train.loss} < 0.001", retries = 3, outputs = { answer = { file = "/tmp/answer" } },
                command = { "python3", "/work/ask.py", "http://circle:8080/v2/models/circle/infer", tostring(radius), "/tmp/answer" } }
  steps.clean.delete = { "prep", "train", "serve", "ask" }
end
if through == "argo" then
  local read = { "sh", "-c", "cp /work/read.lua /tmp && cd /tmp && HOME=/tmp exec /opt/firesteel/firesteel run read.lua" }
  steps.pi = { image = "${img.ref}", command = read, env = { APPLICATION = "${prep.name}" }, outputs = { pi = { file = "/tmp/pi" } } }
  steps.learnt = { image = "${img.ref}", command = read, env = { APPLICATION = "${train.name}" },
                   outputs = { slope = { file = "/tmp/slope" }, loss = { file = "/tmp/loss" } } }
  steps.train.with.argument, steps.train.outputs = "--pi=${pi.pi}", nil
  steps.serve = { apply = "pack-and-serve.yaml", reaches = "Available", when = "${learnt.loss} < 0.001", with = { slope = "${learnt.slope}" } }
  steps.ask.when, steps.pack = "${learnt.loss} < 0.001", nil
end
flow = pipeline { "circle", timeout = "15m", steps = steps }
if through == "argo" then flow:submit { account = account, ttl = "10m" } else flow:run() end

-- %% What came out
expect(flow:output(through == "argo" and "learnt" or "train", "slope")):near(3.14, 0.05)
expect(flow:output("ask", "answer")):near(3.14 * radius ^ 2, 0.05 * radius ^ 2)
print(("a circle of radius %g has an area of %g"):format(radius, flow:output("ask", "answer")))

-- %% [markdown]
-- ## A step that fails
-- The pipeline ends at once with the step, its cause and its last words; `clean` has run, and nothing is left.

-- %% It fails effects="cluster,destructive" timeout="10m"
tool = "/opt/firesteel/firesteel-worker"
broken = pipeline { "broken", steps = {
  prep  = { image = "${img.ref}", command = { tool, "pi.lua", "--to=/tmp/pi" }, outputs = { pi = { file = "/tmp/pi" } } },
  train = { image = "${img.ref}", command = { tool, "train.lua", "--pi=${prep.pi}.." } },
  serve = { image = "${img.ref}", command = { tool, "train.lua" }, after = "train" },
  clean = { delete = { "prep", "train", "serve" }, when = "always" },
} }
ok, why = pcall(function()
  if through == "argo" then broken:submit { account = account, ttl = "10m" } else broken:run() end
end)
print(why)
expect(ok):equals(false)
expect(why):contains "step train failed"
if through == "argo" then flow:clean() broken:clean() end -- the Workflows, with their pods

-- %% Nothing is left
kinds = { "jobs", "sparkapplications" }
if not sandbox then table.move({ "deployments", "services" }, 1, 2, 3, kinds) end
selector = "firesteel/run=" .. firesteel.run
if through == "argo" then
  kinds[#kinds + 1] = "workflows"
  selector = "firesteel/pipeline in (circle, broken)"
end
for _, kind in ipairs(kinds) do
  expect(#k8s.list(kind, { selector = selector })):equals(0)
end
