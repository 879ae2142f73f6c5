# SPDX-License-Identifier: MIT
"""What a team's namespace needs: quota, accounts, bindings, a claim that is filled; applied again; cleaned."""
import json
import os

import images
from place import Place
from tap import FIRESTEEL, eventually, sh

MAKE = """
-- %% Make effects="cluster"
function make()
  local limits = { cpu = 4, memory = "8Gi", pods = 9, gpus = 0, hard = { ["count/jobs.batch"] = 5 } }
  local team = k8s.namespace { "NAME", labels = { team = "a" }, quota = limits, account = "spark" }
  k8s.account { "reader", namespace = "NAME", pull_secrets = "registry", role = "view" }
  k8s.role_binding { "people", namespace = "NAME", role = "view", user = { "ann", "bob" }, group = "team", account = "default/default" }
  return team
end
print(make())
-- %% Again effects="cluster"
make()
-- %% Checks
print(pcall(k8s.quota, { "x" }))
print(pcall(k8s.role_binding, { "x", role = "edit" }))
print(pcall(k8s.account, { "x", rol = "edit" }))
print(pcall(k8s.claim, { "x" }))
"""


def test_made_applied_again_and_removed(t):
    place = Place(t)
    name = f"{place.namespace}-team"
    t.after(lambda: place.kubectl("delete", "namespace", name, "--wait=false", code=None))
    done = place.run(MAKE.replace("NAME", name), allow="cluster")
    assert done.code == 0 and f"namespace/{name}" in done.out, done
    for text in ("limits nothing", "to somebody", "did you mean role?", "needs a size"):
        assert text in done.out, (text, done)
    found = json.loads(place.kubectl("get", "-n", name, "quota", name, "-o", "json").out)["spec"]["hard"]
    assert found == {"requests.cpu": "4", "requests.memory": "8Gi", "pods": "9", "requests.nvidia.com/gpu": "0",
                     "count/jobs.batch": "5"}, found

    def may(who, verb, what):
        return place.kubectl("auth", "can-i", verb, what, "-n", name, "--as", who, code=None).out.strip() == "yes"
    spark, reader = (f"system:serviceaccount:{name}:{account}" for account in ("spark", "reader"))
    assert may(spark, "create", "pods") and may(reader, "list", "pods") and not may(reader, "create", "pods")
    assert may("ann", "list", "pods") and not may("cid", "list", "pods")
    assert may("system:serviceaccount:default:default", "list", "pods")
    secrets = json.loads(place.kubectl("get", "-n", name, "sa", "reader", "-o", "json").out)["imagePullSecrets"]
    assert secrets == [{"name": "registry"}], secrets
    cleaned = sh(FIRESTEEL, "clean", "--yes", "--context", "admin", cwd=place.dir, env=place.env)
    assert cleaned.code == 0 and f"removed: Namespace {name}" in cleaned.out + cleaned.err, cleaned
    assert "left as it is" in cleaned.out + cleaned.err, cleaned  # what was applied again
    eventually(lambda: place.find("namespace", name) is None, 60)


def test_a_claim_is_filled_and_mounted(t):
    place = Place(t)
    folder, volume = t.dir(), f"{place.namespace}-pv"
    os.chmod(folder, 0o777)
    place.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume}, "spec": {
        "capacity": {"storage": "1Mi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "",
        "hostPath": {"path": folder}}})
    t.after(lambda: place.kubectl("delete", "pv", volume, "--wait=false"))
    done = place.run(f"""
-- %% Claim effects="cluster" timeout="5m"
claim = k8s.claim {{ "things", size = "1Mi", access = "ReadWriteMany", storage_class = "", volume = "{volume}",
  fill = {{ image = "{images.BUSYBOX}", path = "/bin", timeout = "3m" }} }}
print(claim)
-- %% Again effects="cluster"
k8s.claim {{ "things", size = "1Mi", access = "ReadWriteMany", storage_class = "", volume = "{volume}" }}
print(pcall(spark.submit, {{ "local:///x.py", master = "local[1]", volumes = {{ things = "/data" }} }}))
""", allow="cluster")
    assert done.code == 0 and "persistentvolumeclaim/things" in done.out, done
    assert "volumes are Kubernetes'" in done.out, done
    assert place.get("pvc", "things")["status"]["phase"] == "Bound"
    assert "busybox" in os.listdir(folder), os.listdir(folder)
