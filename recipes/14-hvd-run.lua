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
-- # A function on many ranks: the magic number
-- What `horovod.spark.run(fn, args)` does from a notebook, without a trainer file: a function of a cell is called on every rank,
-- and what it returned comes back in the order of the ranks. Here:
--
--     firesteel run recipes/14-hvd-run.lua
--
-- and on a cluster, by plain Jobs, the MPI operator, or Spark's barrier stage:
--
--     firesteel run recipes/14-hvd-run.lua -p on=jobs --context NAME --registry HOST --allow cluster

-- %% tags=["parameters"]
on = "here"                       -- here, jobs, mpijob or spark
ranks = 2
magic_number = 42
tag = "firesteel/ranks:latest"    -- goes to --registry's or the context's
base = nil                        -- for spark: an image with Spark; nil: Apache's
namespace = nil                   -- nil: the context's

-- %% [markdown]
-- ## The function
-- It travels with what it uses of the notebook: `magic_number` is a global, `greeting` an upvalue. `hvd` is Horovod's there.

-- %% The function
local greeting = "Hello from rank %d of %d, which is %d of %d on its host"

function magic(factor)
  hvd.init()
  print(greeting:format(hvd.rank(), hvd.size(), hvd.local_rank(), hvd.local_size()))
  local highest = hvd.allreduce(hvd.rank(), { op = hvd.Max })
  return magic_number * factor + hvd.rank(), highest
end

-- %% [markdown]
-- ## Where it runs
-- Pods need an image with the worker. Nothing of the notebook is in it: the function comes by a Secret of the job.

-- %% The image
if on ~= "here" then
  spark = on == "spark" and (base or "apache/spark:3.5.7") or nil
  img = image.build { from = spark, tag = tag }:push()
end

-- %% The engine
local image = img and img.ref
local engines = {
  here = function() return nil end,
  jobs = function() return k8s.jobs { image = image, executors = ranks, namespace = namespace, cpu = "100m" } end,
  mpijob = function() return k8s.mpijob { image = image, executors = ranks, namespace = namespace, cpu = "100m" } end,
  spark = function() return k8s.sparkapp { image = image, executors = ranks, namespace = namespace, cpu = "100m" } end,
}
engine = assert(engines[on], "on is here, jobs, mpijob or spark")()

-- %% Run timeout="40m"
result = hvd.run(magic, { args = { 10 }, np = ranks, on = engine, start_timeout = "5m" })
print(table.concat(result:ranks(), " "))

-- %% [markdown]
-- ## What came back
-- One value from each rank, in their order.

-- %% Check
for rank = 0, ranks - 1 do
  local number, highest = result:rank(rank)
  expect(number):equals(420 + rank)
  expect(highest):equals(ranks - 1)
end
