# SPDX-License-Identifier: MIT
"""Recipe 42 on a real cluster: the same job under Spark standalone here and Spark on Kubernetes, with a small network."""
import json
import os
import re

import tap
from place import NODE, REGISTRY, Place, with_spark
from tap import CACHE, FIRESTEEL, SOURCE, Skip, eventually

VENV = os.path.join(CACHE, "pyspark")
SMALL = {"schedulers": "standalone,k8s", "executors": "1", "repeats": "1", "warm_up": "0", "model": "small", "images": "4000",
         "memory": "512m", "core_request": "100m", "beside": "1"}


def run_recipe(t, parameters, timeout):
    """The recipe with these; it has done what it should, and nothing is left on the cluster."""
    if not os.path.exists(f"{VENV}/bin/spark-submit"):
        raise Skip("there is no PySpark in the tests' cache")
    place = with_spark(Place(t))
    place.env.update({"VIRTUAL_ENV": VENV, "SPARK_LOCAL_IP": NODE})
    given = {"driver_host": NODE, "tag": "case/schedulers:1", **parameters}
    done = place.run(os.path.join(SOURCE, "recipes", "42-schedulers.lua"), "--cwd", place.dir, "--registry", REGISTRY,
                     *[word for name, value in given.items() for word in ("-p", f"{name}={value}")], timeout=timeout)
    assert done.code == 0 and "left over" not in done.out, done
    assert re.search(r"k8s / standalone, 1 executor +within 1 % +[+-][\d.]+ % ", done.out), done.out
    assert re.search(r"k8s beside other work, 1 executor +-3 % +[+-][\d.]+ %", done.out), done.out

    def clean():
        """what ran beside it, and its executors, are gone"""
        left = place.left(kinds="pods,jobs")
        return not [name for name in left if "other-work" in name or "schedulers" in name]
    eventually(clean, 60)
    return place, done


def trials(place):
    """The records of all that was measured."""
    rows = json.loads(tap.sh(FIRESTEEL, "runs", "--children", "-o", "json", cwd=place.dir, env=place.env).out)
    assert all(r["state"] == "done" and r["metrics"]["images_per_second"]["value"] > 0 for r in rows), rows
    return rows


def test_both_schedulers_and_beside_other_work(t):
    place, _ = run_recipe(t, SMALL, 900)
    assert len(trials(place)) == 3
