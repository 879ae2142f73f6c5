#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spark.py under real PySpark, as an image holds it: the trainer in Spark's driver, ranks over MPI on the cores that
a barrier stage lends. Skipped where there is no spark-submit (tests/support/tool-pyspark) or no Java."""
import json
import os
import shutil

from tap import BUILD, CACHE, QUICK_JAVA, SOURCE, Skip, processes, run, sh

TOOL = os.path.join(BUILD, "tests", "wire", "image-tool")
TRAINER = """
local hvd = require "hvd"
local job = hvd.run(function() hvd.init() return hvd.rank(), hvd.size() end)
for rank = 0, 1 do print("rank and size", job:rank(rank)) end
print("argument", arg[1])
if arg[1] == "fail" then os.exit(3) end
"""


def spark_submit():
    candidates = [shutil.which("spark-submit"), os.path.join(CACHE, "pyspark", "bin", "spark-submit")]
    found = [c for c in candidates if c and os.path.exists(c)]
    for program in ["java", "bwrap"]:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    if not found:
        raise Skip("there is no spark-submit in PATH or the tests' cache")
    return found[0]


def submit(t, argument, *options):
    """The folder in which all its processes work, and how the application ended."""
    program, top = spark_submit(), t.dir()
    with open(f"{top}/trainer.lua", "w") as f:
        f.write(TRAINER)
    built = sh(TOOL, "build", json.dumps({"store": f"{top}/images", "tag": "t", "add": [], "dirs": [top], "worker": {
        "program": f"{BUILD}/cli/firesteel-worker", "plugin": f"{BUILD}/trainer/dist/firesteel-mpi.so",
        "spark_main": f"{SOURCE}/script/worker/job/spark.py"}}))
    assert built.code == 0, built
    root = sh(TOOL, "unpack", json.dumps({"store": f"{top}/images", "ref": "t", "cache": f"{top}/cache"}))
    image = json.loads(root.out)["root"]
    bin_dir = os.path.dirname(program)
    env = {"PATH": f"{bin_dir}:{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": QUICK_JAVA, "LD_LIBRARY_PATH": None}
    # this machine's root is the base: with its Java and Python, but our worker with its own C
    # library
    return top, sh("bwrap", "--dev-bind", "/", "/", "--tmpfs", "/opt", "--ro-bind", f"{image}/opt/firesteel", "/opt/firesteel",
              "--chdir", top, program, "--master", "local[2]", *options, "/opt/firesteel/spark.py", "trainer.lua", argument,
              env=env, timeout=200)


def workers_in(folder):
    return [p for p in processes("/opt/firesteel/firesteel-worker")
            if os.path.realpath(f"/proc/{p.split(':')[0]}/cwd") == folder]


def test_a_job_on_two_tasks(t):
    name = "spark.scheduler.barrier.maxConcurrentTasksCheck"
    folder, done = submit(t, "--epochs=1", "--conf", "spark.logConf=true", "--conf", f"{name}.maxFailures=7")
    assert done.code == 0, done
    # Executors that come late are looked for more often than each 15 s; what a person sets holds.
    assert f"{name}.interval=1s" in done.err and f"{name}.maxFailures=7" in done.err, done
    for text in "rank and size\t0\t2", "rank and size\t1\t2", "argument\t--epochs=1":
        assert text in done.out, (text, done)
    assert not workers_in(folder), workers_in(folder)


def test_the_exit_code_is_the_trainers(t):
    _, done = submit(t, "fail")
    assert done.code == 3, done


run(globals())
