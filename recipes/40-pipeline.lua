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
-- and, with `--context NAME --registry HOST` instead of `--sandbox`, on a cluster.

-- %% tags=["parameters"]
samples = 200000                  -- points for pi, over all ranks
radius = 2                        -- what the service is asked for
executors = 2
core_request = "500m"             -- CPUs of each pod
tag = "firesteel/pipeline:latest" -- goes to --registry's or the context's
base = nil                        -- an image with Spark; nil: Apache's

-- %% [markdown]
-- ## The programs
-- Pi, by throwing points: each rank throws its share.

-- %% Pi file="pi.lua"
local hvd = require "hvd"
local args = require "args" { samples = 1000 }
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
print(("pi=%.5f"):format(hvd.run(throw, { args = { args.samples } })[1]))

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
-- The service answers one question: the area for a radius.

-- %% Serve file="serve.lua"
local args = require "args" { slope = 0.0, radius = 1.0 }
print(("answer=%.4f"):format(args.slope * args.radius ^ 2))

-- %% Build and push effects="cluster"
spark = base or not k8s.version().sandbox and "apache/spark:3.5.7" or nil
img = image.build { from = spark, add = { "pi.lua", "train.lua", "serve.lua" }, tag = tag }:push()

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
--     memory: 1g
--     serviceAccount: spark
--     annotations: {sidecar.istio.io/inject: "false"}
--   executor:
--     instances: ${executors}
--     cores: 1
--     coreRequest: "${core_request}"
--     memory: 1g
--     annotations: {sidecar.istio.io/inject: "false"}

-- %% [markdown]
-- ## The graph
-- `${prep.pi}` is the last `pi=...` of the step's log, so `train` comes after `prep` by itself.

-- %% The pipeline effects="cluster,destructive" timeout="20m"
flow = pipeline { "circle", timeout = "15m", steps = {
  prep  = { apply = "job.yaml", reaches = "COMPLETED", retries = 1,
            with = { main = "pi", argument = "--samples=" .. samples } },
  train = { apply = "job.yaml", reaches = "COMPLETED", retries = 1,
            with = { main = "train", argument = "--pi=${prep.pi}" },
            outputs = { slope = { log = "slope=(%S+)" }, loss = { log = "loss=(%S+)" } } },
  serve = { image = "${img.ref}", when = "${train.loss} < 0.001",
            command = { "/opt/firesteel/firesteel-worker", "serve.lua", "--slope=${train.slope}", "--radius=" .. radius },
            outputs = { answer = { log = "answer=(%S+)" } } },
  clean = { delete = { "prep", "train", "serve" }, when = "always" },
} }
flow:run()

-- %% What came out
expect(flow:output("train", "slope")):near(3.14, 0.05)
expect(flow:output("serve", "answer")):near(3.14 * radius ^ 2, 0.05 * radius ^ 2)
print(("a circle of radius %g has an area of %g"):format(radius, flow:output("serve", "answer")))

-- %% [markdown]
-- ## A step that fails
-- The pipeline ends at once with the step, its cause and its last words; `clean` has run, and nothing is left.

-- %% It fails effects="cluster,destructive" timeout="10m"
broken = pipeline { "broken", steps = {
  prep  = { image = "${img.ref}", command = { "/opt/firesteel/firesteel-worker", "serve.lua", "--slope=1" } },
  train = { image = "${img.ref}", command = { "/opt/firesteel/firesteel-worker", "serve.lua", "--slope=steep" }, after = "prep" },
  serve = { image = "${img.ref}", command = { "/opt/firesteel/firesteel-worker", "serve.lua" }, after = "train" },
  clean = { delete = { "prep", "train", "serve" }, when = "always" },
} }
ok, why = pcall(broken.run, broken)
print(why)
expect(ok):equals(false)
expect(why):contains "step train failed"

-- %% Nothing is left
expect(#k8s.list("jobs", { selector = "firesteel/pipeline in (circle, broken)" })):equals(0)
