# SPDX-License-Identifier: MIT
"""Recipe 41: trees and networks that a schedule fits, and a served model that it replaces; and applications that leave when they
have ended."""
import base64
import concurrent.futures
import json
import os
import re
import threading

from asker import Asker
from place import NODE, PLAIN, REGISTRY, SPARK, Place, with_spark
from tap import CACHE, FIRESTEEL, SOURCE, eventually, sh


RECIPE = os.path.join(SOURCE, "recipes", "41-refit.lua")
NUMBERS = {"weekday": 1, "month": 6, "promo": 1}


def ask_through_it(place, ended):
    """A client that asks from the time on when the first model answers, until the recipe has ended. → what Asker.end gives"""
    def address():
        assert not ended.is_set(), "the recipe ended before a model answered"
        known = place.find("endpoints", "sales") or {}
        return any(s.get("addresses") for s in known.get("subsets", [])) and place.get("service", "sales")["spec"]["clusterIP"]
    asker = Asker(eventually(address, 600, every=1), 8080, "sales",
                  *({"name": name, "datatype": "FP32", "shape": [1, 1], "data": [n]} for name, n in NUMBERS.items())).start()
    ended.wait()
    return asker.end()


def test_recipe_41(t):
    """Trees and networks, here and twice by the schedule; the model that answers is replaced, and no request is lost."""
    place = with_spark(Place(t, SPARK))
    place.env.update({"VIRTUAL_ENV": f"{CACHE}/pyspark", "SPARK_LOCAL_IP": NODE})
    place.account(t, "refit")
    login = base64.b64encode(b"fitter:of-the-night").decode()
    place.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "refit"}, "type": "kubernetes.io/dockerconfigjson",
                  "stringData": {".dockerconfigjson": json.dumps({"auths": {f"{NODE}:{PLAIN}": {"auth": login}}})}})
    t.after(lambda: place.kubectl("delete", "secret/refit"))
    ended = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        told = beside.submit(ask_through_it, place, ended)
        try:
            done = place.run(RECIPE, "--cwd", place.dir, "--registry", REGISTRY, "-p", "account=refit", "-p", "push_secret=refit",
                             "-p", "iterations=3", "-p", "epochs=20", "-p", "executors=1", "-p", "core_request=100m", "-p", "schedule=@every 20s",
                             "-p", "keep=true", timeout=900)
        finally:
            ended.set()
    assert done.code == 0, done
    answers, troubles = told.result()
    assert answers > 1000 and not troubles, (answers, troubles)
    assert re.search(r"fitted \d+ times, error of the trees 0\.\d+ each time; sha256:\w+ answers now", done.out), done
    served = place.get("deployment", "sales")
    (container,) = served["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(served["metadata"]["annotations"]["firesteel/digest"]), container
    sets = json.loads(place.kubectl("get", "rs", "-l", "app.kubernetes.io/name=sales", "-o", "json").out)["items"]
    assert len(sets) >= 3, sets  # the one that was fitted here, and each night's
    assert login not in place.kubectl("get", "workflows,pods", "-o", "json").out
    run = done.out.split("(run ")[1].split(")")[0]
    cleaned = sh(FIRESTEEL, "clean", "--yes", run, cwd=place.dir, env=place.env, timeout=300)
    assert cleaned.code == 0, cleaned
    left = place.left(f"firesteel/run={run}", "cronworkflows,deployments,services")
    eventually(lambda: not place.left("firesteel/pipeline=refit", "workflows,sparkapplications,pods"), 120)
    assert not left, left


def test_an_application_leaves_when_it_has_ended(t):
    """It need not run: its driver has no Spark, and fails."""
    place = Place(t, SPARK)
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
