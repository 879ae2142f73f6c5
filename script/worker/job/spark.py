#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The main file of a Spark application that runs a Firesteel trainer.

    spark-submit … /opt/firesteel/spark.py trainer.lua --epochs=5

The trainer runs here, in the driver, from top to bottom. The executors lend their cores: one task of a
barrier stage for each, so that all run at once or none does, and each task is a worker that waits
for ranks that the driver's hvd.run starts. Spark only schedules; the ranks talk to each other directly.
"""
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading

from pyspark import SparkConf, SparkContext

WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "firesteel-worker")


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def secret_pipe(secret):
    """A descriptor from which to read it: other users can see environments and command lines."""
    read, write = os.pipe()
    os.write(write, secret.encode())
    os.close(write)
    return read


def lend(driver, secret):
    """A task: a worker that lends one core to the driver until the driver has no more work."""
    def task(_):
        read = secret_pipe(secret)
        worker = subprocess.Popen([WORKER, "--executor", driver], pass_fds=[read],
                                  env=dict(os.environ, FIRESTEEL_SECRET_FD=str(read)))
        os.close(read)
        yield worker.wait()
    return task


def slots(conf):
    """The number of tasks that run at once when all executors are there; 0: the settings do not say."""
    executors = int(conf.get("spark.executor.instances", "0"))
    cores = int(conf.get("spark.executor.cores", "1")) // int(conf.get("spark.task.cpus", "1"))
    return executors * max(cores, 1)


def settings(name):
    """A barrier stage needs all executors, but Spark lets a job begin with four fifths of them, and then looks each 15 s,
    40 times, whether there are enough. That may take most of the time of a short job."""
    SparkContext._ensure_initialized()  # else spark-submit's own settings are not known yet
    conf = SparkConf().setAppName(name)
    conf.setIfMissing("spark.scheduler.barrier.maxConcurrentTasksCheck.interval", "1s")
    conf.setIfMissing("spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures", "600")
    return conf


class Trainer:
    """The trainer's process. Its address and secret are for the executors."""

    def __init__(self, argv, conf, n):
        secret, port = secrets.token_hex(32), free_port()
        read = secret_pipe(secret)
        env = dict(os.environ, FIRESTEEL_EXECUTORS=str(n), FIRESTEEL_EXECUTOR_CORES="1", FIRESTEEL_DRIVER_PORT=str(port),
                   FIRESTEEL_SECRET_FD=str(read))
        env.setdefault("FIRESTEEL_EVENTS", "stdout")  # metrics come as marked lines in the driver's log
        self.n, self.secret, self.address = n, secret, f"{conf.get('spark.driver.host')}:{port}"
        self.process = subprocess.Popen([WORKER] + argv, env=env, pass_fds=[read])
        os.close(read)
        signal.signal(signal.SIGTERM, lambda *_: self.process.terminate())


def start(argv, conf):
    """Spark and the trainer. What the trainer does before it needs ranks goes on while executors start, where the settings
    tell how many there will be, and whom they can call."""
    n = conf.contains("spark.driver.host") and slots(conf)
    trainer = Trainer(argv, conf, n) if n else None
    try:
        spark = SparkContext.getOrCreate(conf)  # a session would load Spark's SQL, for seconds
    except BaseException:
        if trainer:
            trainer.process.kill()
        raise
    return spark, trainer or Trainer(argv, spark.getConf(), slots(spark.getConf()) or spark.defaultParallelism)


def main(argv):
    if not argv:
        sys.exit("spark.py: the trainer's file is missing: spark.py TRAINER.lua [ARGUMENT...]")
    spark, trainer = start(argv, settings("hvd.run" if argv[0] == "--function" else os.path.basename(argv[0])))

    def lend_all():
        tasks = spark.parallelize(range(trainer.n), trainer.n).barrier()
        try:
            tasks.mapPartitions(lend(trainer.address, trainer.secret)).collect()
        except Exception as problem:  # the trainer would wait for its executors forever
            if trainer.process.poll() is None:
                print(f"spark.py: {problem}", file=sys.stderr, flush=True)
                trainer.process.terminate()

    lending = threading.Thread(target=lend_all, daemon=True)
    if trainer.process.poll() is None:  # else nobody would answer the executors
        lending.start()
    code = trainer.process.wait()
    if code:  # a stage whose task was lost would begin again, for a driver that is gone
        spark.cancelAllJobs()
    if lending.ident:
        lending.join(30)  # the tasks now end by themselves
    spark.stop()
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(sys.argv[1:])
