# SPDX-License-Identifier: MIT
"""Recipe 24: PySpark prepares the tables on the cluster, ranks train from its Parquet on the same volume, predictions and a timeline come
back. And files that go into a claim's volume and out of it."""
import glob
import json
import os
import re

import images
import tap
from place import BY_OPERATORS, REGISTRY, SPARK, Place, with_spark

RECIPE = os.path.join(tap.SOURCE, "recipes", "24-rossmann.lua")
WORKER = os.path.join(tap.BUILD, "cli", "firesteel-worker")
# What one process predicts with the weights that the ranks have found; and what Spark has prepared beside recipe 21's preparation.
ALONE = """
local data, nn, hvd = require "data", require "nn", require "hvd"
local args = require "args" { place = "" }
local test = data.parquet(args.place .. "/test.parquet")
local categories, numbers = {}, {}
for _, name in ipairs(test.names) do
  if name ~= "Id" then table.insert(#categories < 18 and categories or numbers, name) end
end
local codes, inputs = test:codes(categories), {}
for i in ipairs(categories) do inputs[i] = codes:columns(i - 1, i) end
inputs[#inputs + 1] = test:numbers(numbers)
local sales = nn.load(args.place .. "/best.safetensors"):predict(inputs):reshape { -1 }:exp()
data.save("alone.csv", data.frame { { "Id", test.Id }, { "Sales", sales } })
local other = data.npy "features/test_numbers.npy", 0
local off = test:numbers(numbers) - other
print("numbers", #numbers, other.shape[1] == #test and other.shape[2] == #numbers, "differ by", math.sqrt((off * off):max()))
"""


def volume(t, place, name):
    """A folder of this machine, as a volume that any number of pods mount."""
    folder = t.dir()
    os.chmod(folder, 0o777)
    place.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteMany"], "storageClassName": "", "hostPath": {"path": folder}}})
    t.after(lambda: place.kubectl("delete", "pv", name, "--wait=false"))
    return folder


def with_pyarrow(place):
    """Puts a virtual environment with pyarrow beside the notebook: its packages, by a relative name."""
    os.symlink(f"{tap.CACHE}/tensorboard", f"{place.dir}/.venv")
    found = glob.glob(".venv/lib/python3*/site-packages/pyarrow", root_dir=place.dir)
    if not found:
        raise tap.Skip("there is no pyarrow in the tests' cache (tests/support/tool-tensorboard)")
    return os.path.dirname(found[0])


def sales(path):
    with open(path, encoding="utf-8") as f:
        rows = [line.split(",") for line in f.read().splitlines()]
    assert rows[0] == ["Id", "Sales"], rows[0]
    return [(int(row[0]), float(row[1])) for row in rows[1:]]


def trace(path):
    """The file by the Trace Event Format, read independently of firesteel: events of processes, each B with its E."""
    with open(path, encoding="utf-8") as f:
        events = json.load(f)
    open_, names = {}, set()
    for event in events:
        assert event["ph"] in "MBEX" and isinstance(event["pid"], int), event
        assert event["ph"] == "M" or isinstance(event["ts"], int), event
        assert event["ph"] != "X" or event["dur"] == 0, event
        if event["ph"] == "B":
            open_.setdefault(event["pid"], []).append(event["name"])
        if event["ph"] == "E":
            names.add(open_[event["pid"]].pop())
    assert not any(open_.values()), open_
    return names


def test_recipe_24(t):
    place = with_spark(Place(t, SPARK))
    packages = with_pyarrow(place)
    folder = volume(t, place, f"rossmann-{os.getpid()}")
    name = f"rossmann-{os.getpid()}"
    t.after(lambda: place.kubectl("delete", "pvc", name, "--ignore-not-found", "--wait=false"))
    done = place.run(RECIPE, "--cwd", place.dir, "--registry", REGISTRY, "-p", "on=jobs", "-p", f"packages={packages}", "-p", "stores=3",
                     "-p", "epochs=4", "-p", "batch_size=50", "-p", "core_request=100m", "-p", "tag=case/rossmann:1", "-p", f"claim={name}",
                     "-p", "storage_class=", "-p", f"volume={name}", "-p", "worst=1", timeout=900)
    assert done.code == 0 and "left over" not in done.out, done
    print("#", next(line.strip() for line in done.out.splitlines() if "RMSPE 0" in line))
    with open(f"{place.dir}/tables/test.csv", encoding="utf-8") as f:
        wanted = [int(line.split(",")[0]) for line in f.read().splitlines()[1:]]
    predicted = sales(f"{place.dir}/submission.csv")
    assert [row[0] for row in predicted] == wanted, (predicted[:3], wanted[:3])
    assert all(300 < row[1] < 60000 for row in predicted), predicted
    assert {"ALLREDUCE", "BROADCAST"} <= trace(f"{place.dir}/timeline.json")
    assert re.search(r"\d+ events, \d+ operations", done.out), done

    # Spark's preparation is that of recipe 21, in another language.
    os.mkdir(f"{place.dir}/features")
    with open(os.path.join(tap.SOURCE, "recipes", "21-sales.lua"), encoding="utf-8") as f:
        (features,) = re.findall(r'^-- %% The features file="features.lua"\n(.*?)^-- %%', f.read(), re.M | re.S)
    with open(f"{place.dir}/features.lua", "w", encoding="utf-8") as f:
        f.write(features)
    other = tap.sh(WORKER, "features.lua", cwd=place.dir, env=place.env)
    assert other.code == 0, other
    assert re.search(r"\d+ rows to train, \d+ to validate, \d+ to predict", done.out).group() in other.out, (other, done)
    mean = re.search(r"mean of store and weekday ([0-9.]+)", done.out).group(1)
    assert f"RMSPE of the mean of store and weekday: {mean}" in other.out, (mean, other)

    # What two ranks have predicted is what one process predicts with their weights, from what Spark has written.
    with open(f"{place.dir}/alone.lua", "w", encoding="utf-8") as f:
        f.write(ALONE)
    alone = tap.sh(WORKER, "alone.lua", f"--place={folder}", cwd=place.dir,
                   env={**place.env, "PATH": f"{place.dir}/.venv/bin:{os.environ['PATH']}"})
    assert alone.code == 0, alone
    assert float(re.search(r"numbers\t18\ttrue\tdiffer by\t([-+.e0-9]+)", alone.out).group(1)) < 1e-4, alone
    for (i, a), (k, b) in zip(predicted, sales(f"{place.dir}/alone.csv"), strict=True):
        assert i == k and abs(a - b) < 1e-4 * b, (i, a, b)
    for label in "firesteel/hvd", "spark-app-name=rossmann":
        place.nothing_left(label, kinds=BY_OPERATORS)
    assert place.find("pvc", name) is None


def test_ranks_of_operators_mount_a_claim(t):
    """volumes = { CLAIM = "/place" } of an MPIJob and of a SparkApplication, whose ranks write there."""
    place = with_spark(Place(t, "default"))
    name = f"mounted-{os.getpid()}"
    folder = volume(t, place, name)
    t.after(lambda: place.kubectl("delete", "pvc", name, "--ignore-not-found", "--wait=false"))
    done = place.run(f"""
-- %% Image
img = image.build {{ from = "apache/spark:3.5.7", tag = "case/mounted:1" }}:push()
k8s.claim {{ "{name}", size = "1Mi", access = "ReadWriteMany", storage_class = "", volume = "{name}" }}
-- %% Ranks timeout="9m"
for kind, engine in pairs {{ mpijob = k8s.mpijob, sparkapp = k8s.sparkapp }} do
  hvd.run(function()
    hvd.init()
    local f = assert(io.open(("/data/%s-%d"):format(kind, hvd.rank()), "w"))
    f:write(hvd.size())
    f:close()
    hvd.barrier()
  end, {{ on = engine {{ image = img, executors = 2, cpu = "100m", volumes = {{ ["{name}"] = "/data" }} }} }})
end
-- %% Back timeout="3m"
k8s.cp("pvc/{name}:sparkapp-1", "one", {{ image = img }})
print("size", fs.read "one")
""", "--registry", REGISTRY, timeout=600)
    assert done.code == 0 and "size\t2" in done.out, done
    assert sorted(os.listdir(folder)) == ["mpijob-0", "mpijob-1", "sparkapp-0", "sparkapp-1"], os.listdir(folder)


def test_files_into_a_volume_and_out_of_it(t):
    place = Place(t)
    name = f"{place.namespace}-pv"
    folder = volume(t, place, name)
    os.makedirs(f"{place.dir}/data/sub")
    for file in "a.txt", "sub/b.txt":
        with open(f"{place.dir}/data/{file}", "w", encoding="utf-8") as f:
            f.write(file)
    done = place.run(f"""
-- %% Claim timeout="5m"
k8s.claim {{ "things", size = "1Mi", access = "ReadWriteMany", storage_class = "", volume = "{name}" }}
-- %% Copy timeout="5m"
print(json.encode(k8s.cp("data", "pvc/things:/", {{ image = "{images.BUSYBOX}" }})))
k8s.cp("pvc/things:data/sub/b.txt", "back.txt", {{ image = "{images.BUSYBOX}" }})
print(fs.read "back.txt")
-- %% Wrong timeout="5m"
print(select(2, pcall(k8s.cp, "pvc/things:none", "x", {{ image = "{images.BUSYBOX}" }})))
print(select(2, pcall(k8s.cp, "pvc/things:data", "x")))
print(select(2, pcall(k8s.cp, "pvc/things:data", "x", {{ image = "localhost/none:1", timeout = "8s" }})))
""", "--no-preflight", allow="cluster")
    assert done.code == 0 and '"files":' in done.out and "sub/b.txt" in done.out, done
    assert "tar: ./none: No such file" in done.out and "localhost/none:1" in done.out and "a volume is reached by a pod: image = img" in done.out, done
    with open(f"{folder}/data/a.txt", encoding="utf-8") as f:
        assert f.read() == "a.txt"
    assert "1 left over" in done.out, done  # the claim; the Jobs have gone by themselves
    tap.eventually(lambda: not place.left(kinds="jobs,pods"), 60)
