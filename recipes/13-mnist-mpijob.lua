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
-- # MNIST by an MPIJob
-- The training of recipe 10 under the MPI operator (v2beta1). The operator makes the pods; the launcher is the driver, and the
-- workers lend their cores: ranks are started by firesteel-worker, so the image needs neither ssh nor mpirun nor keys.
-- It needs a cluster with the MPI operator.
--
--     firesteel run recipes/13-mnist-mpijob.lua --context NAME --registry HOST --allow cluster

-- %% tags=["parameters"]
ranks = 2                         -- workers, one rank each
epochs = 5
cpu = "500m"                      -- CPUs that each pod requests
gpus = nil                        -- GPUs of each pod
tag = "firesteel/mnist-mpijob:1"  -- goes to --registry's or the context's
namespace = nil                   -- nil: the context's

-- %% [markdown]
-- ## The training
-- The function that every rank calls. The data is sharded by rank, the learning rate grows with the number of ranks,
-- gradients are averaged, and rank 0 returns history and checkpoint.

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
-- ## The image
-- Worker and data; the function comes by the job's Secret.

-- %% Build and push
img = image.build { add = { "data/mnist" }, tag = tag }:push()

-- %% [markdown]
-- ## Training
-- A NetworkPolicy comes with the job, so that only its own pods reach its ranks. All of it is removed when the results are here.

-- %% Run timeout="45m"
engine = k8s.mpijob { image = img, executors = ranks, namespace = namespace, cpu = cpu, gpu = gpus }
result = hvd.run(train, { args = { 0.001, 64, epochs }, np = ranks, on = engine, start_timeout = "5m" })
history, checkpoint = result:rank(0)

-- %% [markdown]
-- ## What it has learnt
-- The checkpoint of rank 0 predicts here.

-- %% Check
function predict(checkpoint)
  local test = data.mnist().test
  print("Model prediction for index 100: " .. nn.load(checkpoint):predict(test.x:slice(100, 101)):argmax())
end
answer = hvd.run(predict, { args = { checkpoint }, np = 1 })
expect(answer.output):contains "Model prediction for index 100: 6"
expect(result.metrics.val_accuracy):at_least(epochs >= 5 and 0.97 or 0.9)
print(("val_accuracy %.4f with %d ranks"):format(result.metrics.val_accuracy, ranks))
