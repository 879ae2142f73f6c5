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
-- # Experiments: trials side by side, compared, and the best one again
-- Three trainings of MNIST go on at the same time, each with its own learning rate and number of units. The run
-- remembers what was chosen and what came out, and the best trial gives the same bits when it is done again.
--
--     firesteel run recipes/30-experiments.lua
--     firesteel run recipes/30-experiments.lua -p epochs=3 -p seed=7
--     firesteel runs --sort -best_accuracy --columns seed,epochs,best_rate,best_units,best_accuracy

-- %% tags=["parameters"]
trials = { { rate = 0.0001, units = 32 }, { rate = 0.001, units = 32 }, { rate = 0.001, units = 64 } }
epochs = 1
seed = 1           -- of weights and shuffling, the same for all trials
at_once = 2        -- trials that go on at a time

-- %% [markdown]
-- ## A trial
-- A trainer file: what is to be tried are its arguments.

-- %% The trial file="trial.lua"
local nn, data = require "nn", require "data"
local args = require "args" { rate = 0.001, units = 32, epochs = 1, seed = 1, weights = "trial.safetensors" }
local mnist = data.mnist()
local model = nn.Sequential {
  nn.Flatten { 28, 28 },
  nn.Dense { args.units, activation = "relu" },
  nn.Dense { 10, activation = "softmax" },
  seed = args.seed,
}
model:compile { optimizer = nn.Adam { learning_rate = args.rate }, loss = "sparse_categorical_crossentropy",
  metrics = { "accuracy" } }
model:fit { mnist.train.x, mnist.train.y, batch_size = 128, epochs = args.epochs, verbose = 2,
  validation_data = { mnist.test.x, mnist.test.y } }
model:save(args.weights)

-- %% [markdown]
-- ## Side by side
-- Each trial is a branch of the cell, with its progress below its own name. If one fails, the others are stopped.

-- %% Trials effects="local" timeout="10m"
local function words(trial, weights)
  return { "--rate=" .. trial.rate, "--units=" .. trial.units, "--epochs=" .. epochs, "--seed=" .. seed,
    "--weights=" .. weights }
end
local function name(trial) return ("rate %g, %d units"):format(trial.rate, trial.units) end

function try(trial, weights)
  local job = trainer.run { "trial.lua", args = words(trial, weights), outputs = { weights } }
  return { trial = name(trial), rate = trial.rate, units = trial.units, accuracy = job.metrics.val_accuracy,
    loss = job.metrics.val_loss, weights = weights, sha256 = fs.sha256(weights) }
end
results = parallel.map(trials, { at_once = at_once, name = name }, function(trial, i)
  return try(trial, "trial-" .. i .. ".safetensors")
end)

-- %% [markdown]
-- ## What came out
-- What is recorded here outlives the notebook: `firesteel runs` lists, filters and sorts by it.

-- %% Results
table.sort(results, function(a, b) return a.accuracy > b.accuracy end)
best = results[1]
run.param { best_rate = best.rate, best_units = best.units }
run.metric { best_accuracy = best.accuracy, best_loss = best.loss }
run.artifact(best.weights, { name = "best" })
run.tag("experiment", "rate and units")
display.table(results, { columns = { "trial", "accuracy", "loss", "weights" }, types = { accuracy = "percent" } })
local names, accuracies = {}, {}
for i, r in ipairs(results) do names[i], accuracies[i] = r.trial, r.accuracy end
display.plot { accuracy = accuracies, x = names, kind = "bars", title = "accuracy by trial" }
expect(best.accuracy):at_least(0.9)

-- %% [markdown]
-- ## The best one again
-- With the same seed, arguments and data the weights are the same to the last bit, whatever else the machine does.

-- %% Again effects="local" timeout="10m"
again = try(best, best.weights) -- the same arguments: the file tells them
expect(again.sha256):equals(best.sha256)
expect(again.accuracy):equals(best.accuracy)
print("the same bits: " .. again.sha256)

-- %% [markdown]
-- ## Beside earlier runs
-- Those of this folder that have ended and have found an accuracy, the best first. The first time there are none. `firesteel diff` says what
-- differs between two of them, and `firesteel run --from RUN` does one again.

-- %% Earlier runs tags=["nbval-ignore-output"]
runs.compare { last = 5, has = "best_accuracy", by = "-best_accuracy",
  columns = { "run", "epochs", "seed", "best_rate", "best_units", "best_accuracy" } }
