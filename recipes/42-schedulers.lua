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
-- # Two schedulers: Spark standalone beside Spark on Kubernetes
-- The same job under both: `firesteel-worker` ranks classify synthetic pictures with ResNet-50, one rank for each
-- executor, with the driver here (client mode).
--
-- Images per second are compared with an interval, and once more while other work runs on the cluster. The original study
-- found both within about 1 %, and 3 % less beside other workloads.
--
-- It needs Java and a virtual environment with pyspark (`.venv` beside the notebook, or `$VIRTUAL_ENV`); for Kubernetes
-- a cluster whose pods reach this machine at `driver_host`:
--
--     firesteel run recipes/42-schedulers.lua --context NAME --registry HOST --allow cluster,destructive -p driver_host=10.0.0.5
--
-- A small form, without a cluster:
--
--     firesteel run recipes/42-schedulers.lua -p schedulers=local,standalone -p executors=1 -p repeats=1 -p model=small -p images=2000

-- %% tags=["parameters"]
schedulers = "standalone,k8s"     -- of these: local, standalone, k8s
executors = "1,2"                 -- numbers of executors, one rank each
repeats = 3
warm_up = 1
model = "ResNet50"                -- or ResNet18, or "small", a network of one convolution
images = 64                       -- that each rank classifies
batch = 8
memory = "1g"                     -- of each executor
threads = 1                       -- of each rank
beside = 0                        -- pods of other work on the cluster while it is measured again; 0: not measured
driver_host = nil                 -- an address of this machine that pods see
base = "apache/spark:3.5.7"       -- an image with Spark and Python
tag = "firesteel/schedulers:latest"
core_request = "1"                -- CPUs that each executor's pod asks for

-- %% Settings
function words(text)
  local list = {}
  for word in tostring(text):gmatch "[^,%s]+" do list[#list + 1] = tonumber(word) or word end
  return list
end
counts = words(executors)
on_k8s = schedulers:find "k8s" ~= nil

-- %% [markdown]
-- ## A rank
-- It makes the network and one batch of noise, classifies that once, and says that it is ready; when it is told to, it classifies.

-- %% The rank file="classify.lua"
local nn, data = require "nn", require "data"
local args = require "args" { model = "ResNet50", images = 64, batch = 8 }
local small = args.model == "small"
local size = small and 32 or 224
local network = not small and nn.applications[args.model] {} or nn.Sequential {
  nn.Input { size, size, 3 },
  nn.Conv2D { 8, 3, activation = "relu", padding = "same" }, nn.MaxPooling2D { 2 },
  nn.Flatten {}, nn.Dense { 10, activation = "softmax" },
}
local noise, n = {}, 1
for i = 1, args.batch * size * size * 3 do
  n = n * 1103515245 + 12345 & 0x7fffffff
  noise[i] = n / 0x7fffffff
end
local pictures = data.tensor(noise):reshape { args.batch, size, size, 3 }
network:predict_on_batch(pictures)
print "ready"
io.stdout:flush()
io.read()
for _ = 1, args.images // args.batch do network:predict_on_batch(pictures) end
print "done"

-- %% [markdown]
-- ## The job
-- Spark's driver starts a barrier stage: all ranks run at once. Each is timed from the moment at which all are ready to
-- its own end; what counts is the sum of their images per second. So starting JVMs and making networks is no part of it.

-- %% The driver file="schedulers.py" language="python"
-- import argparse
-- import os
-- import subprocess
-- import tempfile
-- import time
--
-- from pyspark import BarrierTaskContext
-- from pyspark.sql import SparkSession
--
-- parser = argparse.ArgumentParser()
-- parser.add_argument("--ranks", type=int, default=1)
-- parser.add_argument("--worker", default="/opt/firesteel/firesteel-worker")
-- parser.add_argument("--images", type=int, default=64)
-- parser.add_argument("--batch", type=int, default=8)
-- parser.add_argument("--threads", default="1")
-- parser.add_argument("--model", default="ResNet50")
-- parser.add_argument("--together", action="store_true")  # not in local mode: barrier() leaves a timer that keeps the JVM
-- args = parser.parse_args()
-- with open("classify.lua", encoding="utf-8") as file:
--     program = file.read()
--
--
-- def rank(_):
--     with tempfile.TemporaryDirectory() as folder:
--         path = os.path.join(folder, "classify.lua")
--         with open(path, "w", encoding="utf-8") as file:
--             file.write(program)
--         worker = subprocess.Popen(
--             [args.worker, path, f"--model={args.model}", f"--images={args.images}", f"--batch={args.batch}"],
--             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ, FIRESTEEL_THREADS=args.threads))
--         assert worker.stdout.readline() == "ready\n", "the worker did not begin"
--         if args.together:
--             BarrierTaskContext.get().barrier()
--         began = time.monotonic()
--         worker.stdin.write("go\n")
--         worker.stdin.flush()
--         assert worker.stdout.readline() == "done\n", "the worker did not end"
--         seconds = time.monotonic() - began
--         worker.wait()
--     yield args.images // args.batch * args.batch / seconds
--
--
-- spark = SparkSession.builder.appName("schedulers").getOrCreate()
-- began = time.monotonic()
-- rates = spark.sparkContext.parallelize(range(args.ranks), args.ranks).barrier().mapPartitions(rank).collect()
-- print(f"images per second: {sum(rates):.4f} on {args.ranks} ranks")
-- print(f"seconds of the job: {time.monotonic() - began:.3f}")
-- spark.stop()

-- %% [markdown]
-- ## Where it runs
-- A real master with a worker for each executor, for the time of this run; and an image with the ranks' program.

-- %% Standalone timeout="10m"
local most = 1
for _, n in ipairs(counts) do most = math.max(most, n) end
if schedulers:find "standalone" then
  cluster = spark.standalone { workers = most, memory = memory }
  print(cluster)
end

-- %% Kubernetes effects="cluster" timeout="20m"
if on_k8s then
  if not driver_host then error "driver_host is needed: an address of this machine that the cluster's pods see (-p driver_host=...)" end
  local made_of = { from = base, tag = tag } -- a table by itself: a preflight wants no registry where this cell makes nothing
  img = image.build(made_of):push()
end

-- %% [markdown]
-- ## One measurement

-- %% Measure
fast = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" -- the JVMs only hand out work
function submit(scheduler, n)
  local options = { "schedulers.py", executor_memory = memory, driver_java_options = fast,
    args = { "--ranks=" .. n, "--images=" .. images, "--batch=" .. batch, "--model=" .. model, "--threads=" .. threads },
    conf = { ["spark.executor.extraJavaOptions"] = fast, ["spark.ui.enabled"] = "false", ["spark.executor.cores"] = 1,
      -- a barrier stage asks once a second whether its executors are there, for ten minutes
      ["spark.scheduler.barrier.maxConcurrentTasksCheck.interval"] = "1s",
      ["spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures"] = 600 } }
  if scheduler == "k8s" then
    options.master, options.deploy_mode, options.name = "k8s", "client", "schedulers"
    options.conf["spark.kubernetes.container.image"] = img.ref
    options.conf["spark.executor.instances"] = n
    options.conf["spark.driver.host"] = driver_host
    options.conf["spark.kubernetes.executor.request.cores"] = core_request
    options.conf["spark.pyspark.python"] = "python3"
    table.insert(options.args, "--together")
  elseif scheduler == "standalone" then
    options.master, options.total_executor_cores = cluster.master, n
    table.insert(options.args, "--together")
    table.insert(options.args, "--worker=" .. firesteel.worker)
  else
    options.master = ("local[%d]"):format(n)
    table.insert(options.args, "--worker=" .. firesteel.worker)
  end
  local job = spark.submit(options)
  return { images_per_second = tonumber(job.output:match "images per second: ([%d.]+)"),
    job_seconds = tonumber(job.output:match "seconds of the job: ([%d.]+)") }
end

-- %% [markdown]
-- ## The study

-- %% The study effects="cluster" timeout="6h"
study_of = study { "schedulers", over = { scheduler = words(schedulers), executors = counts }, repeats = repeats, warm_up = warm_up,
  metric = "images_per_second", seed = 42, timeout = "20m",
  function(point) return submit(point.params.scheduler, point.params.executors) end }

-- %% Beside the original
local names = words(schedulers)
rows = {}
for _, n in ipairs(counts) do
  local r = study_of:ratio({ scheduler = names[#names], executors = n }, { scheduler = names[1], executors = n })
  rows[#rows + 1] = { what = ("%s / %s, %d executor%s"):format(names[#names], names[1], n, n == 1 and "" or "s"),
    original = "within 1 %", here = ("%+.1f %%"):format((r.ratio - 1) * 100),
    interval = ("%+.1f .. %+.1f %%"):format((r.low - 1) * 100, (r.high - 1) * 100), sure = r.confidence }
  run.metric(("ratio_%d"):format(n), r.ratio)
end

-- %% [markdown]
-- ## Beside other workloads
-- The same on Kubernetes, while pods that only compute run on the cluster.

-- %% Beside other work effects="cluster" timeout="3h"
if on_k8s and beside > 0 then
  other = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { generateName = "other-work-" },
    spec = { parallelism = beside, completions = beside, backoffLimit = 0, template = { spec = { restartPolicy = "Never",
      containers = { { name = "work", image = base, command = { "sh", "-c", "while :; do :; done" },
        resources = { requests = { cpu = "100m" } } } } } } } }
  k8s.wait { other, "jsonpath={.status.active}=" .. beside, timeout = "10m" }
  alone_and_beside = study { "beside", over = { executors = counts }, repeats = repeats, warm_up = 0, metric = "images_per_second",
    seed = 42, timeout = "20m", function(point) return submit("k8s", point.params.executors) end }
  for _, n in ipairs(counts) do
    local with, without = alone_and_beside:table(), study_of:table()
    local a, b
    for _, row in ipairs(with) do if row.executors == n then a = row.images_per_second end end
    for _, row in ipairs(without) do if row.executors == n and row.scheduler == "k8s" then b = row.images_per_second end end
    rows[#rows + 1] = { what = ("k8s beside other work, %d executor%s"):format(n, n == 1 and "" or "s"), original = "-3 %",
      here = ("%+.1f %%"):format((a / b - 1) * 100), interval = "", sure = nil }
  end
end

-- %% What came out
display.table(rows, { columns = { "what", "original", "here", "interval", "sure" }, types = { sure = "percent" } })

-- %% Clean up effects="destructive" when="always"
if other then other:delete() end
if cluster then cluster:stop() end
