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
-- # Trials as tasks of Ray
-- A program of Ray's, as for `ray job submit`: trials of a small training, side by side. It runs as a RayJob of KubeRay's, and its
-- results come out of its log. Then one that fails says why.
--
--     firesteel run recipes/16-ray.lua -p python=.venv/bin/python
--     firesteel run recipes/16-ray.lua -p on=rayjob --context NAME --allow cluster,destructive
--
-- It needs Ray: here in a Python (`pip install ray`), on a cluster KubeRay and an image such as rayproject/ray. A script of PyTorch
-- whose ranks Ray starts is recipe 15 with `-p on=rayjob`.

-- %% tags=["parameters"]
on = "here"                         -- here or rayjob
python = "python3"                  -- an interpreter that has Ray
image = "rayproject/ray:2.46.0"     -- of head, workers and submitter; its Ray is that of ray_version
ray_version = "2.46.0"
workers = 2
trials = 6
cpu = "1"                           -- of head and workers each
memory = "2Gi"
queue = nil                         -- a LocalQueue of Kueue
namespace = nil                     -- nil: the context's
more = {}                           -- further options of k8s.rayjob, { pull_secrets = "registry" }

-- %% [markdown]
-- ## The program
-- Nothing in it is firesteel's. A trial is a task: Ray places it where a processor is free. It learns a line from points, in
-- Python alone, so that any image with Ray can run it.

-- %% The program file="trials.py" language="python"
-- import argparse
-- import json
-- import random
--
-- import ray
--
-- parser = argparse.ArgumentParser()
-- parser.add_argument("--trials", type=int, default=6)
-- parser.add_argument("--epochs", type=int, default=20)
-- parser.add_argument("--fail", action="store_true", help="the last trial has no data")
-- given = parser.parse_args()
--
--
-- @ray.remote(num_cpus=1, max_retries=0)
-- def train(rate, epochs, points):
--     """Slope and offset by stochastic gradient descent; the mean squared error of the last epoch."""
--     slope = offset = 0.0
--     for _ in range(epochs):
--         loss = 0.0
--         for x, y in points:
--             wrong = slope * x + offset - y
--             slope, offset, loss = slope - rate * wrong * x, offset - rate * wrong, loss + wrong * wrong
--     return {"rate": rate, "loss": loss / len(points), "slope": slope, "offset": offset, "node": ray.util.get_node_ip_address()}
--
--
-- ray.init()
-- draw = random.Random(1)
-- points = [(x, 3 * x + 1 + draw.gauss(0, 0.1)) for x in (draw.uniform(-1, 1) for _ in range(200))]
-- rates = [0.2 / 4 ** i for i in range(given.trials)]
-- begun = [train.remote(rate, given.epochs, [] if given.fail and rate == rates[-1] else points) for rate in rates]
-- for result in ray.get(begun):
--     print(json.dumps(result))

-- %% [markdown]
-- ## Where it runs
-- The record is where and how; with an entrypoint it is a manifest, too. `files` are the program's working folder, as
-- `--working-dir` of `ray job submit` makes it.

-- %% The job
function rayjob(name, entrypoint)
  local options = { name = name, entrypoint = entrypoint, files = { "trials.py" }, image = image, ray_version = ray_version, workers = workers, cpu = cpu,
    memory = memory, queue = queue, namespace = namespace }
  for key, value in pairs(more) do options[key] = value end
  return k8s.rayjob(options)
end

name = ("trials-%s"):format(firesteel.run:match "[^-]+$")
entrypoint = ("%s trials.py --trials=%d"):format(python, trials)

-- %% [markdown]
-- ## Trials
-- While it runs the RayJob's states stand below the cell: in a queue, KubeRay makes the cluster of Ray, the job runs. The log is the
-- submitter's, which has the program's output alone.

-- %% Trials timeout="20m"
if on == "here" then
  output = sh(entrypoint, { quiet = true, env = { RAY_USAGE_STATS_ENABLED = "0" } }).output
else
  job = k8s.create(rayjob(name, entrypoint))
  expect(job):reaches("SUCCEEDED", "15m")
  output = tostring(job:logs())
end

-- %% [markdown]
-- ## What came out
-- Each trial printed a line of JSON.

-- %% Results
results = {}
for line in output:gmatch "{[^\n]*}" do results[#results + 1] = firesteel.parse_json(line) end
table.sort(results, function(a, b) return a.loss < b.loss end)
for _, r in ipairs(results) do print(("rate %-10.4g loss %.4f  y = %.2f x + %.2f  on %s"):format(r.rate, r.loss, r.slope, r.offset, r.node)) end
run.metric("loss", results[1].loss)
expect(#results):equals(trials)
expect(results[1].loss):at_most(0.02)

-- %% [markdown]
-- ## One that fails
-- The error of a task ends the program, and the RayJob is FAILED with the program's last words.

-- %% Fails timeout="20m"
if on == "here" then
  why = sh(entrypoint .. " --fail 2>&1", { quiet = true, check = false, env = { RAY_USAGE_STATS_ENABLED = "0" } }).output
else
  failing = k8s.create(rayjob(name .. "-fails", entrypoint .. " --fail"))
  ok, why = pcall(function() expect(failing):reaches("SUCCEEDED", "15m") end)
  why = tostring(why)
  print(failing:state(), why)
  failing:why()
end
expect(why):contains "ZeroDivisionError"

-- %% [markdown]
-- ## What is left
-- KubeRay took the clusters of Ray away when the jobs had ended. The RayJobs, their submitters' logs, files and network policies go
-- with them.

-- %% Clean up
if on ~= "here" then
  job:delete()
  failing:delete()
end
