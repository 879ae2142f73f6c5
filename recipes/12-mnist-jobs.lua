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
-- # MNIST by plain Jobs
-- The training of recipe 10, as a function of a cell, on ranks that are pods of two Jobs: no operator, no Spark, and an
-- image with the worker and the data alone. The job's Service, Secret and Jobs are made and removed by the kernel.
-- It needs a cluster, or with `-p on=here` nothing but this machine.
--
--     firesteel run recipes/12-mnist-jobs.lua --context NAME --registry HOST --allow cluster
--
-- Without a cluster, `-p on=here` trains on ranks of this machine.

-- %% tags=["parameters"]
on = "jobs"                       -- jobs, or here
ranks = 2
epochs = 5
cpu = "500m"                      -- CPUs that each pod requests
gpus = nil                        -- GPUs of each pod
tag = "firesteel/mnist-jobs:1"    -- goes to --registry's or the context's
namespace = nil                   -- nil: the context's

-- %% [markdown]
-- ## The training
-- The function that every rank calls. `hvd`, `nn` and `data` are the worker's. The data is sharded by rank, the learning rate
-- grows with the number of ranks, gradients are averaged, and rank 0 returns history and checkpoint.

-- %% Train
function train(learning_rate, batch_size, epochs)
  hvd.init()
  local mnist = data.mnist { rank = hvd.rank(), size = hvd.size() }     -- x: (n, 28, 28) in [0, 1]; y: (n)
  local model = nn.Sequential {
    nn.Flatten { 28, 28 },
    nn.Dense { 128, activation = "relu" },
    nn.Dense { 10, activation = "softmax" },
  }
  learning_rate = learning_rate * hvd.size()
  model:compile {
    optimizer = hvd.DistributedOptimizer(nn.Adam { learning_rate = learning_rate }),
    loss = "sparse_categorical_crossentropy",
    metrics = { "accuracy" },
  }
  local callbacks = {
    hvd.BroadcastGlobalVariablesCallback(0),
    hvd.MetricAverageCallback(),
    hvd.LearningRateWarmupCallback { initial_lr = learning_rate, warmup_epochs = 3, verbose = 1 },
  }
  if hvd.rank() == 0 then                 -- only rank 0 writes
    table.insert(callbacks, nn.ModelCheckpoint { "checkpoint.safetensors", monitor = "accuracy", save_best_only = true })
  end
  local history = model:fit {
    mnist.train.x, mnist.train.y, batch_size = batch_size, epochs = epochs, callbacks = callbacks,
    validation_data = { mnist.test.x, mnist.test.y }, verbose = hvd.rank() == 0 and 2 or 0,
  }
  if hvd.rank() == 0 then return history, nn.read_checkpoint "checkpoint.safetensors" end
end

-- %% [markdown]
-- ## The prediction
-- Another function, on one rank here, as Horovod's driver does it: the checkpoint of rank 0 is its argument.

-- %% Predict
function predict(checkpoint)
  local test = data.mnist().test
  local model = nn.load(checkpoint)
  print("Expected prediction for index 100: " .. test.y[100])
  print("Model prediction for index 100: " .. model:predict(test.x:slice(100, 101)):argmax())
  return model:evaluate { test.x, test.y, verbose = 2 }
end

-- %% [markdown]
-- ## The image
-- Worker and data. The functions are not in it: they come by a Secret of each job.

-- %% Build and push
if on == "jobs" then
  img = image.build { add = { "data/mnist" }, tag = tag }:push()
  -- what a node has to pull is pulled before anything is timed
  hvd.run(function() return data.mnist().test.y[100] end, { np = 1, on = k8s.jobs { image = img, namespace = namespace, cpu = cpu } })
end

-- %% [markdown]
-- ## Training
-- Output comes by rank, progress and curves stand below the cell. The time is that from the first object to the results.

-- %% Run timeout="45m"
engine = on == "jobs" and k8s.jobs { image = img, executors = ranks, namespace = namespace, cpu = cpu, gpu = gpus } or nil
result = hvd.run(train, { args = { 0.001, 64, epochs }, np = ranks, on = engine, start_timeout = "5m" })
seconds = result.seconds
print(("create -> COMPLETED: %.1f s, %d ranks, %d epochs"):format(seconds, ranks, epochs))
history, checkpoint = result:rank(0)

-- %% [markdown]
-- ## What it has learnt

-- %% Check
expect(result.metrics.val_accuracy):at_least(epochs >= 5 and 0.97 or 0.9)
answer = hvd.run(predict, { args = { checkpoint }, np = 1 })
expect(answer.output):contains "Model prediction for index 100: 6"
