# SPDX-License-Identifier: MIT
"""Recipe 41: a pipeline that a schedule starts, with PySpark's gradient-boosted trees; and applications that leave when they
have ended."""
import json
import os
import re

from place import NODE, PLAIN, Place, with_spark
from tap import CACHE, SOURCE


def test_recipe_41(t):
    place = with_spark(Place(t, "default"))  # where the Spark operator looks
    place.env.update({"VIRTUAL_ENV": f"{CACHE}/pyspark", "SPARK_LOCAL_IP": NODE})
    place.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "refit"}},
                 {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "refit"},
                  "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
                  "subjects": [{"kind": "ServiceAccount", "name": "refit", "namespace": "default"}]})
    t.after(lambda: place.kubectl("delete", "serviceaccount/refit", "rolebinding/refit"))
    done = place.run(os.path.join(SOURCE, "recipes", "41-refit.lua"), "--cwd", place.dir, "--registry", f"http://{NODE}:{PLAIN}",
                     "-p", "account=refit", "-p", "iterations=3", "-p", "executors=1", "-p", "core_request=200m",
                     "-p", "schedule=@every 20s", timeout=900)
    assert done.code == 0, done
    assert re.search(r"fitted \d+ times, error 0\.\d+ each time", done.out), done
    left = place.kubectl("get", "cronworkflows,workflows,sparkapplications,pods", "-o", "name", "-l", "firesteel/pipeline=refit").out
    assert not left, left


def test_an_application_leaves_when_it_has_ended(t):
    """It need not run: its driver has no Spark, and fails."""
    place = Place(t, "default")
    app = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "brief"}, "spec": {
        "type": "Python", "mode": "cluster", "sparkVersion": "3.5.7", "image": "localhost/busybox:1", "timeToLiveSeconds": 2,
        "mainApplicationFile": "local:///x.py", "restartPolicy": {"type": "Never"},
        "driver": {"coreRequest": "100m", "memory": "512m", "serviceAccount": "spark"}, "executor": {"instances": 1}}}
    done = place.run(f"""
-- %% Create effects="cluster" timeout="4m"
app = k8s.create [[{json.dumps(app)}]]
ok, why = pcall(function() expect(app):reaches("COMPLETED", "3m") end)
print(why)
app:wait("delete", "1m")
print("gone", #k8s.list("sparkapplications", {{ selector = "firesteel/run=" .. firesteel.run }}))
""")
    assert done.code == 0 and "FAILED" in done.out and "gone\t0" in done.out, done
