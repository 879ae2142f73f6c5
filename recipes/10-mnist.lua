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
-- # MNIST with Horovod on Spark, from the trainer to the cluster
-- Train a small network on this machine, put it into an image, run it distributed as a SparkApplication,
-- and clean up. Every step is a cell; the whole of it runs with
--
--     firesteel run recipes/10-mnist.lua --sandbox --allow cluster,destructive
--
-- and, with `--context NAME --registry HOST` instead of `--sandbox`, on a cluster.

-- %% tags=["parameters"]
epochs = 5
executors = 2                     -- executor pods, one rank each
gpus = 0                          -- for each executor; its trainer uses none
driver_gpus = 0                   -- for the driver
core_request = "1"                -- CPUs of each pod; "500m" is half of one
tag = "firesteel/mnist:latest"    -- goes to --registry's or the context's
base = nil                        -- an image with Spark; nil: Apache's

-- %% [markdown]
-- ## The trainer
-- The file that every rank runs. The data is sharded by rank, the learning rate grows with the number of ranks,
-- gradients are averaged, and only rank 0 writes the checkpoint.

-- %% The trainer file="trainer.lua"
local hvd, nn, data = require "hvd", require "nn", require "data"
local args = require "args" { learning_rate = 0.001, batch_size = 64, epochs = 5 }

local function train(learning_rate, batch_size, epochs)
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

local test = data.mnist().test
print("Expected prediction for index 100: " .. test.y[100])
local history, checkpoint = hvd.run(train, { args = { args.learning_rate, args.batch_size, args.epochs } }):rank(0)
local model = nn.load(checkpoint)
model:evaluate { test.x, test.y, verbose = 2 }
print("Model prediction for index 100: " .. model:predict(test.x:slice(100, 101)):argmax())

-- %% [markdown]
-- ## What it runs with
-- The versions of everything that takes part, kept in a file beside the results.

-- %% Versions capture="versions"
print(firesteel.versions())

-- %% Requirements template="requirements.txt"
${versions}

-- %% [markdown]
-- ## Local mode
-- One process, one epoch: if this fails, no cluster is needed to find out.

-- %% Local mode
job = trainer.run { "trainer.lua", np = 1, args = { "--epochs=1" } }
expect(job.output):contains "Model prediction for index 100: 6"
expect(job.metrics.val_accuracy):at_least(0.94)

-- %% [markdown]
-- ## The image
-- Trainer and data go into the image, so it also runs where there is no network. A cluster's operator runs them
-- with the Spark of the base, which is pulled; the sandbox needs none.

-- %% Build and push effects="cluster"
spark = base or not k8s.version().sandbox and "apache/spark:3.5.7" or nil
img = image.build { from = spark, add = { "trainer.lua", "data/mnist" }, tag = tag }:push()

-- %% [markdown]
-- ## The job
-- Metrics of the JVMs for Prometheus: `add` the jar of its JMX exporter to the image, and this to the `spec` below. The
-- operator starts the exporter in driver and executors, and the pods' annotations say where it is.
--
--     monitoring:
--       exposeDriverMetrics: true
--       exposeExecutorMetrics: true
--       prometheus: {jmxExporterJar: /work/jmx_prometheus_javaagent.jar, port: 8090}

-- %% The manifest language="yaml" template="sparkapp.yaml"
-- apiVersion: sparkoperator.k8s.io/v1beta2
-- kind: SparkApplication
-- metadata: {generateName: mnist-}
-- spec:
--   type: Python
--   mode: cluster
--   image: ${img.ref}
--   sparkVersion: 3.5.7
--   mainApplicationFile: local:///opt/firesteel/spark.py
--   arguments: [trainer.lua, "--epochs=${epochs}"]
--   restartPolicy: {type: Never}
--   driver:
--     cores: 1
--     coreRequest: "${core_request}"
--     javaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
--     memory: 1g
--     serviceAccount: spark
--     annotations: {sidecar.istio.io/inject: "false"}
--     gpu: {name: nvidia.com/gpu, quantity: ${driver_gpus}}
--   executor:
--     instances: ${executors}
--     cores: 1
--     coreRequest: "${core_request}"
--     javaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
--     memory: 1g
--     annotations: {sidecar.istio.io/inject: "false"}
--     gpu: {name: nvidia.com/gpu, quantity: ${gpus}}

-- %% Deploy effects="cluster"
app = k8s.create "sparkapp.yaml"
app:watch()                               -- returns at once; the table below stays live

-- %% Running timeout="35m"
expect(app):reaches("RUNNING", "4m")      -- without what a node takes to pull it
k8s.list("pods", { selector = "sparkoperator.k8s.io/app-name=" .. app.name })

-- %% Wait timeout="45m"
expect(app):reaches("COMPLETED", "10m")   -- FAILED ends it at once, with the cause

-- %% What happened
print(app:describe())
result = app:logs { grep = "prediction" }
print(result)
expect(result):contains "Model prediction for index 100: 6"

-- %% Clean up effects="destructive"
app:delete()
