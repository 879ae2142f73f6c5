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
-- # MNIST in Python: Keras and Horovod on Spark
-- The same network as in recipe 10, as a program of Keras and Horovod: written here, tried here with the real
-- spark-submit, put into an image, and run by the Spark operator. It needs a cluster, Java, and a virtual environment
-- with pyspark, tensorflow and horovod.
--
-- That environment is `.venv` beside the notebook, or `$VIRTUAL_ENV`:
--
--     firesteel run recipes/11-mnist-python.lua --context NAME --registry HOST --allow cluster,destructive \
--         -p packages=.venv/lib/python3.11/site-packages

-- %% tags=["parameters"]
epochs = 5
executors = 2                     -- executor pods, one rank each
gpus = 0                          -- for each executor
core_request = "1"                -- CPUs of each pod; "500m" is half of one
tag = "firesteel/mnist-python:latest"
base = "apache/spark:3.5.7"       -- an image with Spark and Python
claim = nil                       -- a claim that has the data (k8s.claim fills one); nil: it goes into the image
packages = nil                    -- a folder of Python packages for the image; nil: the base has TensorFlow and Horovod

-- %% [markdown]
-- ## The trainer
-- Spark's driver runs `main`, and Horovod runs `train` in each of Spark's tasks. The data is sharded by rank, the
-- learning rate grows with the number of ranks, gradients are averaged, and only rank 0 prints and keeps the best weights.

-- %% The trainer file="mnist.py" language="python"
-- import argparse
-- import gzip
-- import os
-- import sys
-- import tempfile
--
-- import numpy as np
--
--
-- def idx(folder, name):
--     """The array in a file of MNIST's: a magic number, sizes, bytes."""
--     with gzip.open(os.path.join(folder, name + ".gz")) as f:
--         data = f.read()
--     dimensions = data[3]
--     shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(dimensions)]
--     return np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape)
--
--
-- def mnist(folder, rank=0, size=1):
--     parts = []
--     for part in "train", "t10k":
--         x, y = idx(folder, part + "-images-idx3-ubyte"), idx(folder, part + "-labels-idx1-ubyte")
--         parts.append((x[rank::size] / 255.0, y[rank::size]))
--     return parts
--
--
-- def train(learning_rate, batch_size, epochs, folder):
--     import horovod.tensorflow.keras as hvd
--     import tensorflow as tf
--
--     hvd.init()
--     gpus = tf.config.list_physical_devices("GPU")
--     for gpu in gpus:
--         tf.config.experimental.set_memory_growth(gpu, True)
--     if gpus:
--         tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
--
--     (x_train, y_train), (x_test, y_test) = mnist(folder, hvd.rank(), hvd.size())
--     model = tf.keras.Sequential([
--         tf.keras.layers.Flatten(input_shape=(28, 28)),
--         tf.keras.layers.Dense(128, activation="relu"),
--         tf.keras.layers.Dense(10, activation="softmax"),
--     ])
--     learning_rate *= hvd.size()
--     model.compile(
--         optimizer=hvd.DistributedOptimizer(tf.keras.optimizers.Adam(learning_rate)),
--         loss="sparse_categorical_crossentropy", metrics=["accuracy"])
--     callbacks = [
--         hvd.callbacks.BroadcastGlobalVariablesCallback(0),
--         hvd.callbacks.MetricAverageCallback(),
--         hvd.callbacks.LearningRateWarmupCallback(initial_lr=learning_rate, warmup_epochs=3, verbose=1),
--     ]
--     checkpoint = os.path.join(tempfile.mkdtemp(), "checkpoint.h5")
--     if hvd.rank() == 0:
--         callbacks.append(tf.keras.callbacks.ModelCheckpoint(checkpoint, monitor="accuracy", save_best_only=True))
--     history = model.fit(
--         x_train, y_train, batch_size=batch_size, epochs=epochs, callbacks=callbacks,
--         validation_data=(x_test, y_test), verbose=2 if hvd.rank() == 0 else 0)
--     if hvd.rank() == 0:
--         with open(checkpoint, "rb") as f:
--             return history.history, f.read()
--
--
-- def main():
--     parser = argparse.ArgumentParser()
--     parser.add_argument("--learning-rate", type=float, default=0.001)
--     parser.add_argument("--batch-size", type=int, default=64)
--     parser.add_argument("--epochs", type=int, default=5)
--     parser.add_argument("--ranks", type=int, default=1)
--     parser.add_argument("--data", default="data/mnist")
--     args = parser.parse_args()
--
--     import horovod.spark
--     import tensorflow as tf
--     from pyspark.sql import SparkSession
--
--     SparkSession.builder.appName("mnist").getOrCreate()
--     _, (x_test, y_test) = mnist(args.data)
--     print("Expected prediction for index 100:", y_test[100])
--     folder = os.path.abspath(args.data)
--     _, best = horovod.spark.run(  # without stdout the ranks' lines stay in the logs of their executors
--         train, args=(args.learning_rate, args.batch_size, args.epochs, folder), num_proc=args.ranks, verbose=0,
--         stdout=sys.stdout, stderr=sys.stderr)[0]
--
--     path = os.path.join(tempfile.mkdtemp(), "best.h5")
--     with open(path, "wb") as f:
--         f.write(best)
--     model = tf.keras.models.load_model(path, compile=False)
--     model.compile(loss="sparse_categorical_crossentropy", metrics=["accuracy"])
--     model.evaluate(x_test, y_test, verbose=2)
--     print("Model prediction for index 100:", model.predict(x_test[100:101], verbose=0).argmax())
--
--
-- if __name__ == "__main__":
--     main()

-- %% [markdown]
-- ## Local mode
-- One task, one epoch: if this fails, no cluster is needed to find out. What Keras prints becomes progress and curves.

-- %% Local mode timeout="10m"
job = spark.submit { "mnist.py", master = "local[1]", args = { "--epochs=1", "--data=" .. firesteel.data "mnist" },
  env = { TF_CPP_MIN_LOG_LEVEL = 2 } }
expect(job.output):contains "Model prediction for index 100: 6"
expect(job.metrics.accuracy):at_least(0.94)

-- %% [markdown]
-- ## The image
-- Program, data and packages go into the image, so it also runs where there is no network. Data that is too large for
-- that is in a volume, which driver and executors mount.

-- %% Build and push effects="cluster"
add = { "mnist.py", not claim and "data/mnist" or nil }
if packages then add[packages] = "/opt/packages" end
img = image.build { from = base, add = add, tag = tag, worker = false,
  env = { PYTHONPATH = packages and "/opt/packages" or nil, TF_CPP_MIN_LOG_LEVEL = 2 },
  exclude = { "**/__pycache__", "**/*.pyc", "**/jaxlib", "**/cmake", "**/clang", "**/pyspark", "**/tensorflow/include" } }:push()

-- %% [markdown]
-- ## The job

-- %% The manifest language="yaml" template="sparkapp-python.yaml"
-- apiVersion: sparkoperator.k8s.io/v1beta2
-- kind: SparkApplication
-- metadata: {generateName: mnist-python-}
-- spec:
--   type: Python
--   pythonVersion: "3"
--   mode: cluster
--   image: ${img.ref}
--   sparkVersion: 3.5.7
--   mainApplicationFile: local:///work/mnist.py
--   arguments: ["--epochs=${epochs}", "--ranks=${executors}", "--data=${claim and "/data" or "data/mnist"}"]
--   restartPolicy: {type: Never}
--   volumes: ${claim and "[{name: data, persistentVolumeClaim: {claimName: " .. claim .. "}}]" or "[]"}
--   driver:
--     cores: 1
--     coreRequest: "${core_request}"
--     javaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
--     memory: 1g
--     memoryOverhead: 1g
--     serviceAccount: spark
--     annotations: {sidecar.istio.io/inject: "false"}
--     volumeMounts: ${claim and "[{name: data, mountPath: /data}]" or "[]"}
--   executor:
--     instances: ${executors}
--     cores: 1
--     coreRequest: "${core_request}"
--     javaOptions: "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
--     memory: 1g
--     memoryOverhead: 1g
--     annotations: {sidecar.istio.io/inject: "false"}
--     volumeMounts: ${claim and "[{name: data, mountPath: /data}]" or "[]"}
--     gpu: {name: nvidia.com/gpu, quantity: ${gpus}}

-- %% Deploy effects="cluster"
app = k8s.create "sparkapp-python.yaml"
app:watch()                               -- returns at once; pods, progress and curves below stay live

-- %% Wait timeout="20m"
expect(app):reaches("COMPLETED", "18m")   -- FAILED ends it at once, with the cause

-- %% What happened
result = app:logs { grep = "val_accuracy|prediction" }
print(result)
expect(result):contains "Model prediction for index 100: 6"

-- %% Clean up effects="destructive"
app:delete()
