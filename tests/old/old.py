#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that earlier versions wrote (tests/old/README.md): today's programs open them, and they give what they gave then."""
import hashlib
import json
import os
import re
import shutil
import subprocess

from lossy import Lossy
from sandbox import sandbox
from tap import BUILD, FIRESTEEL, SOURCE, run, sh

RECORDED = os.path.join(SOURCE, "tests", "old", "0.1.0")
WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
FOLDERS = ("notes", "small", "cluster", "pods", "package", "images", "bench")
SECRETS = ("t0ken-of-old", "geheim-und-lang")


def copied(t, name):
    """A copy to work in: _firesteel is .firesteel there, which git would leave out."""
    folder = os.path.join(t.dir(), name)
    shutil.copytree(os.path.join(RECORDED, name), folder)
    for parent, folders, _ in os.walk(folder):
        if "_firesteel" in folders:
            os.rename(os.path.join(parent, "_firesteel"), os.path.join(parent, ".firesteel"))
    return folder


def expected(name):
    with open(os.path.join(RECORDED, name, "expected.json"), encoding="utf-8") as f:
        return json.load(f)


def home(t, **more):
    return {"HOME": t.dir(), "XDG_STATE_HOME": "", "XDG_DATA_HOME": "", "KUBECONFIG": "", "TZ": "UTC", **more}


def says(*arguments, cwd, code=0, env=None):
    done = sh(FIRESTEEL, *arguments, cwd=cwd, env={"TZ": "UTC", **(env or {})})
    assert done.code == code, done
    return done.out


def holds(got, wanted, at=""):
    """All that was there then is there, with its value; there may be more by now."""
    if isinstance(wanted, dict):
        assert isinstance(got, dict), (at, got)
        for key, value in wanted.items():
            assert key in got, f"{at}.{key} is gone"
            holds(got[key], value, f"{at}.{key}")
    elif isinstance(wanted, list):
        assert isinstance(got, list) and len(got) == len(wanted), (at, got, wanted)
        for i, value in enumerate(wanted):
            holds(got[i], value, f"{at}[{i}]")
    else:
        assert got == wanted, f"{at}: {got!r}, and it was {wanted!r}"


def short(text):
    text = "".join(text)
    return text if len(text) <= 1500 else f"{len(text)} characters, sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def output(one):
    kind = one["output_type"]
    if kind == "stream":
        return [one["name"], short(one["text"])]
    if kind == "error":
        return ["error", one["ename"], one["evalue"]]
    return [kind, sorted(one["data"]), short(one["data"].get("text/plain", ""))]


def cells(notebook):
    return [{"id": c["id"], "title": c["metadata"].get("title"), "status": c["metadata"].get("papermill", {}).get("status"),
             "outputs": [output(o) for o in c.get("outputs", [])]} for c in notebook["cells"] if c["cell_type"] == "code"]


def test_runs_are_listed(t):
    for name in FOLDERS:
        folder, wanted = copied(t, name), expected(name)
        index = os.path.join(folder, ".firesteel", "runs.index")
        assert os.path.getsize(index) > 100
        for _ in ("with the index that it had", "with one of today", "without"):
            holds(json.loads(says("runs", "-o", "json", cwd=folder)), wanted["runs"], name)
            holds(json.loads(says("runs", "--children", "-o", "json", cwd=folder)), wanted["children"], name)
        os.remove(index)
        holds(json.loads(says("runs", "-o", "json", cwd=folder)), wanted["runs"], name)


def test_runs_are_shown(t):
    for name in FOLDERS:
        folder, wanted = copied(t, name), expected(name)
        for one in wanted["runs"]:
            shown = says("show", one["run"], cwd=folder)
            titles = re.findall(r"^\[(\d+)/(\d+)\] (.*)$", shown, re.M)
            assert len({number for number, _, _ in titles}) == one["cells"] == int(titles[0][1]), (name, titles)
            assert re.search(rf"^{one['state']}: .*\(run {one['run']}\)$", shown, re.M), shown[-300:]
            for key, value in one["metrics"].items():
                assert value["value"] != value["value"] or f"{key} = " in shown, (key, shown)
            assert not any(secret in shown for secret in SECRETS)
            assert says("show", one["run"], "--ledger", cwd=folder).splitlines() == wanted["ledger"][one["run"]], one["run"]


def test_runs_are_exported(t):
    for name in FOLDERS:
        folder, wanted = copied(t, name), expected(name)
        for one in wanted["runs"]:
            notebook = json.loads(says("export", one["run"], "--to", "ipynb", cwd=folder))
            holds(cells(notebook), wanted["cells"][one["run"]], one["run"])
            for form in ("md", "html", "junit", "json"):
                text = says("export", one["run"], "--to", form, cwd=folder)
                assert len(text) > 200 and not any(secret in text for secret in SECRETS), (form, text)
        says("export", wanted["runs"][0]["run"], "--to", "mlflow", cwd=folder)


def test_runs_are_compared(t):
    folder, wanted = copied(t, "notes"), expected("notes")["diff"]
    got = json.loads(says("diff", wanted["a"]["run"], wanted["b"]["run"], "-o", "json", cwd=folder, code=1))
    titles = wanted.pop("outputs")
    assert [o["title"] for o in got["outputs"]] == titles, got["outputs"]
    holds(got, wanted)
    assert "rate" in says("diff", wanted["a"]["run"], wanted["b"]["run"], cwd=folder, code=1)


def test_a_secret_is_in_no_file(t):
    for parent, _, names in os.walk(RECORDED):
        for name in names:
            with open(os.path.join(parent, name), "rb") as f:
                text = f.read()
            assert not any(secret.encode() in text for secret in SECRETS), (parent, name)


def test_a_killed_run_goes_on(t):
    folder, wanted = copied(t, "small"), expected("small")
    killed = wanted["runs"][0]
    assert killed["state"] == "killed"
    with open(f"{folder}/go", "w", encoding="utf-8"):
        pass
    done = sh(FIRESTEEL, "run", "small.lua", "--resume", killed["run"], cwd=folder, env=home(t))
    assert done.code == 0 and "8 cells ok" in done.out, done
    listed = {c["run"]: c for c in json.loads(says("runs", "--children", "-o", "json", cwd=folder))}
    for number in (1, 2, 3):
        assert listed[f"{killed['run']}/rates/{number}"]["state"] == "done", listed
    for old in wanted["children"]:
        if old["run"].startswith(killed["run"]) and old["state"] == "done":
            holds(listed[old["run"]], old)  # taken over, not done again
    assert "rates/3 | Epoch" in done.out and "rates/2 | Epoch" not in done.out, done


def test_a_run_is_done_again(t):
    """In the folder where it is now. Whether its numbers are the same to the bit is said by the exit code, and depends on the CPU."""
    folder, wanted = copied(t, "small"), expected("small")
    assert not os.path.exists("/srv/small"), "the folder of then is not to be there"
    first = wanted["runs"][-1]
    assert first["state"] == "ok"
    done = sh(FIRESTEEL, "run", "--from", first["run"], cwd=folder, env=home(t))
    assert done.code in (0, 5) and f"compared with {first['run']}: " in done.out, done
    newest = json.loads(says("runs", "-o", "json", cwd=folder))[0]
    loss = first["metrics"]["loss"]["value"]
    assert newest["state"] == "ok" and abs(newest["metrics"]["loss"]["value"] - loss) < 1e-5 * loss, newest
    assert newest["params"] == first["params"]


class Renamed(Lossy):
    """A proxy behind which objects have the uids that they had then."""

    def __init__(self, t, kubeconfig, uids):
        super().__init__(t, kubeconfig)
        self.uids = uids  # of today: then

    def send(self, method, path, body, headers):
        for new, old in self.uids.items():
            body = body and body.replace(old.encode(), new.encode())
        answer, data = super().send(method, path, body, {**headers, **({"Content-Length": str(len(body))} if body else {})})
        for new, old in self.uids.items():
            data = data.replace(new.encode(), old.encode())
        return answer, data


def asked(env, method, path, body=None):
    """What the API server of a kubeconfig answers."""
    with open(env["KUBECONFIG"], encoding="utf-8") as f:
        text = f.read()
    done = sh("curl", "-sk", "-X", method, "-H", "Content-Type: application/json", "-d", json.dumps(body) if body else "",
              "-H", "Authorization: Bearer " + re.search(r'token: "?([^"\s]+)', text).group(1),
              re.search(r"https://[\d.:]+", text).group() + path)
    return json.loads(done.out)


def test_a_killed_run_finds_its_objects(t):
    """A sandbox has the objects; a proxy gives them, and the cluster, their uids of then."""
    folder, killed = copied(t, "cluster"), expected("cluster")["runs"][0]["run"]
    with open(f"{folder}/objects.json", encoding="utf-8") as f:
        objects = {o["metadata"]["name"]: o for o in json.load(f)}
    env = sandbox(t)
    system = asked(env, "GET", "/api/v1/namespaces/kube-system")
    uids = {system["metadata"]["uid"]: objects.pop("kube-system")["metadata"]["uid"]}
    for name, then in objects.items():
        metadata = {"name": name, "labels": then["metadata"]["labels"], "annotations": then["metadata"]["annotations"]}
        made = asked(env, "POST", "/api/v1/namespaces/default/configmaps",
                     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": then["data"]})
        uids[made["metadata"]["uid"]] = then["metadata"]["uid"]
    assert len(uids) == 3, uids
    renamed = dict(env, KUBECONFIG=Renamed(t, env["KUBECONFIG"], uids).kubeconfig)
    listed = says("clean", killed, "--dry-run", cwd=folder, env=renamed)
    assert "ConfigMap kept" in listed and "ConfigMap old-" in listed, listed
    with open(f"{folder}/go", "w", encoding="utf-8"):
        pass
    done = sh(FIRESTEEL, "run", "held.lua", "--resume", killed, "--allow", "cluster,destructive", cwd=folder, env=renamed)
    assert done.code == 0 and "verified" in done.out and "4 cells ok" in done.out, done
    left = {c["metadata"]["name"] for c in asked(env, "GET", "/api/v1/namespaces/default/configmaps")["items"]}
    assert not left & set(objects), left


def test_models_predict_what_they_did(t):
    done = sh(WORKER, os.path.join(SOURCE, "tests", "old", "models.lua"), os.path.join(RECORDED, "models"), cwd=t.dir())
    print(done.out, end="")
    assert done.code == 0, done


def test_a_model_is_saved_with_the_bits_that_it_had(t):
    """Weights and the optimizer's state, tensor by tensor."""
    folder = copied(t, "models")
    names = [n for n in sorted(os.listdir(folder)) if n.endswith(".safetensors")]
    with open(f"{folder}/again.lua", "w", encoding="utf-8") as f:
        f.write('local nn = require "nn"\nfor _, name in ipairs(arg) do nn.load(name):save("again-" .. name) end\n')
    done = sh(WORKER, "again.lua", *names, cwd=folder)
    assert done.code == 0, done
    for name in names:
        before, after = tensors(f"{folder}/{name}"), tensors(f"{folder}/again-{name}")
        assert before == after, name
    assert len(names) == 18


def tensors(path):
    with open(path, "rb") as f:
        data = f.read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    return {name: (one["dtype"], one["shape"], data[8 + size + one["data_offsets"][0]:8 + size + one["data_offsets"][1]])
            for name, one in header.items()}


def test_a_package_is_verified(t):
    folder = copied(t, "package")
    done = sh(WORKER, "verify", "rain", cwd=folder)
    assert done.code == 0 and "2 examples" in done.out, done


def test_images_are_there(t):
    folder = copied(t, "images")
    os.makedirs(f"{folder}/data/firesteel", 0o700)
    os.rename(f"{folder}/images", f"{folder}/data/firesteel/images")
    with open(f"{folder}/more.lua", "w", encoding="utf-8") as f:
        f.write("""\
for _, one in ipairs(image.list()) do print(one.name or one.ref, one.digest) end
more = image.build { from = "old/small:1", worker = false, add = { "more.lua" }, tag = "old/more:1" }
print(more.digest)
""")
    done = sh(FIRESTEEL, "run", "more.lua", cwd=folder, env={"XDG_DATA_HOME": f"{folder}/data"})
    assert done.code == 0 and "old/small:1\tsha256:800c169b9f22" in done.out and "built old/more:1" in done.out, done
    with open(f"{folder}/data/firesteel/images/index.json", encoding="utf-8") as f:
        digests = {m["annotations"]["org.opencontainers.image.ref.name"]: m["digest"] for m in json.load(f)["manifests"]}

    def blob(digest):
        with open(f"{folder}/data/firesteel/images/blobs/sha256/{digest[7:]}", encoding="utf-8") as f:
            return json.load(f)
    layers = [[layer["digest"] for layer in blob(digests[name])["layers"]] for name in ("old/small:1", "old/more:1")]
    assert layers[1][:len(layers[0])] == layers[0] and len(layers[1]) == len(layers[0]) + 1, layers
    assert blob(blob(digests["old/more:1"])["config"]["digest"])["config"]["Env"] == ["COLOUR=blue"]


def test_notebooks_that_the_workbench_saved(t):
    folder = copied(t, "bench")
    for name in ("saved.lua", "saved.py", "bench.ipynb"):
        says("check", name, cwd=folder)
        done = sh(FIRESTEEL, "run", name, cwd=folder, env=home(t))
        assert done.code == 0 and "units\t4" in done.out and "from the shell" in done.out and "as told" in done.out, done
    with open(f"{folder}/saved.lua", encoding="utf-8") as f:
        saved = f.read()
    for name in ("saved.py", "bench.ipynb"):
        says("convert", name, "--to", "lua", "-o", f"{name}.lua", cwd=folder)
        with open(f"{folder}/{name}.lua", encoding="utf-8") as f:
            got = f.read()
        assert got == saved, subprocess.run(["diff", f"{folder}/saved.lua", f"{folder}/{name}.lua"], capture_output=True, text=True, check=False).stdout
    says("convert", "bench.ipynb", "--to", "md", cwd=folder)
    with open(f"{folder}/bench.md", encoding="utf-8") as f:
        text = f.read()
    assert "units\t4" in text and "as told" in text, text  # the outputs that it was saved with


run(globals())
