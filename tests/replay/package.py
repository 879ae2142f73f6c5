#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""model.package and fn:verify: an image that predicts what its model did, checked here and under onnxruntime; what differs is named."""
import contextlib
import hashlib
import json
import os
import re
import subprocess
import urllib.request

from layers import know_worker
from tap import BUILD, CACHE, FIRESTEEL, PATIENCE, SANITIZED, SOURCE, Skip, eventually, run, sh

WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
PYTHON = os.path.join(CACHE, "onnx", "bin", "python")
TRAINER = """\
local nn, data = require "nn", require "data"
local line = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
line:set_weights { data.tensor { { 2 }, { 10 } }, data.tensor { 0.5 } }
line:save "line.safetensors"
local a, b = nn.Input { 1, name = "left" }, nn.Input { 2, name = "right" }
local both = nn.Concatenate {} { a, b }
nn.Model { inputs = { a, b }, outputs = nn.Dense { 3, name = "sum" } (both) }:save "both.safetensors"
nn.Sequential { nn.Dense { 3, activation = "softmax", input_dim = 2 } }:save "classes.safetensors"
data.save("rows.npy", data.tensor { { 1, 2 }, { 3, 4 } })
data.save("rows.npz", { left = data.tensor { { 1 }, { 2 } }, right = data.tensor { { 1, 2 }, { 3, 4 } } })
"""
PREDICT = """\
local known = { open = 1, closed = 0 }
function predict(inputs, model)
  local score, label = model:predict(inputs.x), {}
  for i, word in ipairs(inputs.word) do label[i] = known[word] and "known" or "unknown " .. word end
  print "a word of its own"
  return { score = score, label = label, n = { #label } }
end
"""


def put(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def made(t):
    folder = t.dir()
    put(folder, "trainer.lua", TRAINER)
    put(folder, "predict.lua", PREDICT)
    know_worker(folder)
    done = sh(WORKER, "trainer.lua", cwd=folder)
    assert done.code == 0, done
    return folder


def play(folder, text, *words):
    put(folder, "n.lua", text)
    return sh(FIRESTEEL, "run", "n.lua", *words, cwd=folder, env={"XDG_DATA_HOME": folder, "ONNX_PYTHON": PYTHON})


def test_a_package_predicts_what_its_model_did(t):
    folder = made(t)
    done = play(folder, """\
-- %% Package
fn = model.package { "line.safetensors", tag = "team/line:1", examples = { { 1, 2 }, { 3, 4 } }, labels = { team = "vision" } }
print(fn.name, fn.count, fn.image.ref, fn.examples[2].outputs[1].name, fn.examples[2].outputs[1].data[1])
again = model.package { "line.safetensors", tag = "team/line:1", examples = { { 1, 2 }, { 3, 4 } }, labels = { team = "vision" } }
print(again.digest == fn.digest, again.files["model.onnx"] == fn.files["model.onnx"])
-- %% Verify
print(fn:verify { runtime = false })
""")
    assert done.code == 0 and "line\t2\tteam/line:1\tdense\t46.5" in done.out and "true\ttrue" in done.out, done
    assert "here: 2 examples, 2 values, the greatest difference is 0" in done.out, done
    with open(os.path.join(folder, "firesteel", "images", "index.json"), encoding="utf-8") as f:
        tags = {m["annotations"]["org.opencontainers.image.ref.name"]: m["digest"] for m in json.load(f)["manifests"]}

    def blob(digest):
        with open(os.path.join(folder, "firesteel", "images", "blobs", *digest.split(":")), encoding="utf-8") as f:
            return json.load(f)
    config = blob(blob(tags["team/line:1"])["config"]["digest"])["config"]
    assert config["Labels"] == {"team": "vision"} and config["Cmd"] == ["serve", "."] and config["WorkingDir"] == "/work", config


def test_convolutions_take_onednn_along(t):
    if not os.path.exists(os.path.join(BUILD, "trainer", "dnn", "firesteel-dnn.so")):
        raise Skip("firesteel-dnn.so was not built (Debian: apt install libdnnl-dev)")
    folder = t.dir()
    put(folder, "trainer.lua", """\
local nn, data = require "nn", require "data"
nn.Sequential { nn.Input { 8, 8, 1 }, nn.Conv2D { 16, 3, activation = "relu" }, nn.Flatten {}, nn.Dense { 2 } }:save "cnn.safetensors"
data.save("rows.npy", nn.ops.full({ 2, 8, 8, 1 }, 0.5))
""")
    done = sh(WORKER, "trainer.lua", cwd=folder)
    assert done.code == 0, done
    done = play(folder, """\
fn = model.package { "cnn.safetensors", examples = "rows.npy" }
print(fn:verify { runtime = false })
print(fn.digest)
""")
    assert done.code == 0 and "here: 2 examples, 4 values, the greatest difference is 0" in done.out, done
    images = os.path.join(folder, "firesteel", "images")
    with open(os.path.join(images, "blobs", *re.search(r"sha256:[0-9a-f]{64}", done.out).group().split(":")), encoding="utf-8") as f:
        config = json.load(f)["config"]["digest"]
    with open(os.path.join(images, "blobs", *config.split(":")), encoding="utf-8") as f:
        assert "firesteel: oneDNN" in f.read()
    with subprocess.Popen([WORKER, "serve", "--port", "0", "cnn.safetensors"], cwd=folder, stdout=subprocess.PIPE, text=True) as server:
        t.after(server.kill)
        assert "serving cnn" in server.stdout.readline()
        with open(f"/proc/{server.pid}/maps", encoding="utf-8") as f:
            assert "libdnnl" in f.read()
        server.terminate()


def test_the_workers_image_is_small(t):
    """What a registry gets: the plain worker, and the one with oneDNN."""
    if SANITIZED or not os.path.exists(os.path.join(BUILD, "trainer", "dnn", "firesteel-dnn.so")):
        raise Skip("an ordinary build with oneDNN (Debian: apt install libdnnl-dev) is what has its size")
    folder = t.dir()
    put(folder, "plain.lua", "print(1)")
    put(folder, "cnn.lua", 'local nn = require "nn"\nprint(nn.Conv2D { 1, 3 })')
    done = play(folder, '''\
image.build { tag = "a/plain:1", add = { "plain.lua" } }
image.build { tag = "a/cnn:1", add = { "cnn.lua" } }
''')
    assert done.code == 0, done
    images, size = os.path.join(folder, "firesteel", "images"), {}
    with open(os.path.join(images, "index.json"), encoding="utf-8") as f:
        index = json.load(f)["manifests"]
    for m in index:
        with open(os.path.join(images, "blobs", *m["digest"].split(":")), encoding="utf-8") as f:
            size[m["annotations"]["org.opencontainers.image.ref.name"]] = sum(layer["size"] for layer in json.load(f)["layers"])
    assert 5e6 < size["a/plain:1"] < 25e6 and size["a/plain:1"] + 5e6 < size["a/cnn:1"] < 45e6, size


def test_examples_of_files_and_of_several_inputs(t):
    folder = made(t)
    done = play(folder, """\
a = model.package { "line.safetensors", examples = "rows.npy" }
b = model.package { "both.safetensors", examples = "rows.npz" }
c = model.package { "both.safetensors", examples = { { left = 1, right = { 1, 2 } }, { left = { 2 }, right = { { 3 }, { 4 } } } } }
assert(model.package { "classes.safetensors", examples = "rows.npy" }.count == 2) -- it was not compiled
print(a.count, b.count, b.files["examples.json"] == c.files["examples.json"], b:verify { runtime = false }.same)
""")
    assert done.code == 0 and "2\t2\ttrue\ttrue" in done.out, done


def test_another_runtime_computes_the_same(t):
    if not os.path.exists(PYTHON):
        raise Skip("there is no onnxruntime (tests/support/tool-onnx)")
    folder = made(t)
    done = play(folder, """\
plain = model.package { "both.safetensors", examples = "rows.npz" }
fn = model.package { "predict.lua", "line.safetensors", examples = { { x = { 1, 2 }, word = "open" }, { x = { 3, 4 }, word = "ajar" } } }
for _, f in ipairs { plain, fn } do
  local v = f:verify { python = os.getenv "ONNX_PYTHON" }
  print(v.same, v.here.values, v.onnxruntime.values, v.onnxruntime.version ~= nil)
end
""")
    assert done.code == 0 and "true\t6\t6\ttrue" in done.out and "true\t6\t2\ttrue" in done.out, done
    # An export that computes something else is seen there, and there alone.
    for name, weight in (("right", 2), ("wrong", 3)):
        put(folder, "t.lua", TRAINER.replace("{ 2 }, { 10 }", f"{{ {weight} }}, {{ 10 }}"))
        assert sh(WORKER, "t.lua", cwd=folder).code == 0
        done = sh(WORKER, "package", "--name", "line", "--model", "line.safetensors", "--examples", "rows.npy", name, cwd=folder)
        assert done.code == 0, done
    os.replace(os.path.join(folder, "wrong", "model.onnx"), os.path.join(folder, "right", "model.onnx"))
    check = os.path.join(SOURCE, "script", "api", "model", "onnxcheck.py")
    found = json.loads(sh(PYTHON, check, os.path.join(folder, "right"), "1e-5").out)
    assert not found["same"] and found["first"] == {"example": 1, "output": "dense[0]", "expected": "22.5", "got": "23.5"}, found
    done = sh(WORKER, "verify", "right", cwd=folder)
    assert done.code == 1 and "model.onnx is not the file that was packaged" in done.err, done


def test_a_difference_is_named(t):
    folder = made(t)
    assert sh(WORKER, "package", "--name", "line", "--model", "line.safetensors", "--examples", "rows.npy", "p", cwd=folder).code == 0
    # What was saved is another model than the one that the examples were predicted by.
    put(folder, "t.lua", TRAINER.replace("{ 2 }, { 10 }", "{ 2 }, { 11 }"))
    assert sh(WORKER, "t.lua", cwd=folder).code == 0
    os.replace(os.path.join(folder, "line.safetensors"), os.path.join(folder, "p", "model.safetensors"))
    about = os.path.join(folder, "p", "package.json")
    with open(about, encoding="utf-8") as f:
        package = json.load(f)
    with open(os.path.join(folder, "p", "model.safetensors"), "rb") as f:
        package["files"]["model.safetensors"] = hashlib.sha256(f.read()).hexdigest()
    put(folder, "p/package.json", json.dumps(package))
    done = sh(WORKER, "verify", "p", cwd=folder)
    assert done.code == 1 and done.out == "line: example 1: output dense[0] is 24.5, and 22.5 was expected\n", done
    done = sh(WORKER, "verify", "--json", "--tolerance", "0.1", "p", cwd=folder)
    assert done.code == 0 and json.loads(done.out)["same"] and 0.08 < json.loads(done.out)["apart"] < 0.09, done


@contextlib.contextmanager
def serving(folder, *options):
    """The worker that serves the package p; it is killed when the case fails."""
    with subprocess.Popen([WORKER, "serve", *options, "--port", "0", "p"], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def test_predict_lua_is_served(t):
    folder = made(t)
    put(folder, "e.json", json.dumps([{"x": [1, 2], "word": "open"}, {"inputs": {"x": [3, 4], "word": "ajar"}, "outputs": {"score": 46.5}}]))
    done = sh(WORKER, "package", "--name", "words", "--model", "line.safetensors", "--predict", "predict.lua", "--examples", "e.json", "p", cwd=folder)
    assert done.code == 0, done
    done = sh(WORKER, "verify", "--json", "p", cwd=folder)
    assert done.code == 0 and json.loads(done.out.splitlines()[-1])["values"] == 6, done
    with serving(folder) as process:
        port = int(process.stdout.readline().split()[-1])

        def ask(path, body=None):
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode() if body else None)
            try:
                with urllib.request.urlopen(request, timeout=20 * PATIENCE) as r:
                    return json.load(r)
            except urllib.error.HTTPError as e:
                return e.code, json.load(e)["error"]
        about = ask("/v2/models/words")
        assert [(p["name"], p["datatype"], p["shape"]) for p in about["inputs"]] == [("word", "BYTES", [-1]), ("x", "FP32", [-1, 2])], about
        x = {"name": "x", "datatype": "FP32", "shape": [2, 2], "data": [1, 2, 3, 4]}
        word = {"name": "word", "datatype": "BYTES", "shape": [2], "data": ["closed", "torn"]}
        answer = ask("/v2/models/words/infer", {"id": "7", "inputs": [word, x]})
        assert answer["id"] == "7" and {o["name"]: o["data"] for o in answer["outputs"]} == {
            "score": [22.5, 46.5], "label": ["known", "unknown torn"], "n": [2]}, answer
        for inputs, says in (([x], "no input word"), ([x, word, {**x, "name": "y"}], "has no input y"), ([x, {**word, "shape": [3]}], "data has 2"),
                             ([x, {**word, "data": [1, 2]}], "no text"), ([x, {**word, "datatype": "FP32"}], "shape is the number of rows"), ([x, x, word], "twice")):
            code, error = ask("/v2/models/words/infer", {"inputs": inputs})
            assert code == 400 and says in error, (inputs, error)
        process.terminate()
        assert process.wait(20 * PATIENCE) == 0


def test_an_endless_predict_lua_ends_with_the_server(t):
    folder = made(t)
    put(folder, "predict.lua", "function predict(inputs, model) while inputs.input:sum() > 100 do end return model:predict(inputs.input) end")
    done = sh(WORKER, "package", "--name", "p", "--model", "line.safetensors", "--predict", "predict.lua", "--examples", "rows.npy", "p", cwd=folder)
    assert done.code == 0, done
    with serving(folder, "--grace", "1") as process:
        port = int(process.stdout.readline().split()[-1])
        body = {"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 2], "data": [1000, 1]}]}
        with subprocess.Popen(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"http://127.0.0.1:{port}/v2/models/p/infer", "-d", json.dumps(body)],
                              stdout=subprocess.PIPE, text=True) as asked:
            eventually(lambda: sum(float(x) for x in open(f"/proc/{process.pid}/stat", encoding="utf-8").read().split()[13:14]) > 5, 20)
            process.terminate()
            assert process.wait(30 * PATIENCE) == 0 and asked.communicate()[0] == "503"


def test_whatever_predict_lua_raises_is_an_answer(t):
    folder = made(t)
    put(folder, "predict.lua", """\
local raised = { function() return nil end, function() error 'no' end, function(e) error(e) end, function() return "its words" end }
function predict(inputs, model)
  local number = inputs.input:sum()
  if number > 100 then error(setmetatable({}, { __tostring = raised[number - 100] })) end
  return model:predict(inputs.input)
end
""")
    done = sh(WORKER, "package", "--name", "p", "--model", "line.safetensors", "--predict", "predict.lua", "--examples", "rows.npy", "p", cwd=folder)
    assert done.code == 0, done
    with serving(folder) as process:
        port = int(process.stdout.readline().split()[-1])
        for number, says in ((101, "(the error is a table)"), (102, "whose __tostring fails"), (103, "whose __tostring fails"), (104, "its words")):
            body = {"inputs": [{"name": "input", "datatype": "FP32", "shape": [1, 2], "data": [number, 0]}]}
            answer = sh("curl", "-s", "-w", "%{http_code}", f"http://127.0.0.1:{port}/v2/models/p/infer", "-d", json.dumps(body))
            assert says in answer.out and answer.out.endswith("400"), answer
        process.terminate()
        assert process.wait(20 * PATIENCE) == 0
    put(folder, "predict.lua", "error(setmetatable({}, { __tostring = error }))")
    done = sh(WORKER, "package", "--name", "p", "--model", "line.safetensors", "--predict", "predict.lua", "--examples", "rows.npy", "q", cwd=folder)
    assert done.code == 1 and "predict.lua: (the error is a table whose __tostring fails)" in done.err, done


def test_what_is_wrong_is_told(t):
    folder = made(t)
    done = play(folder, """\
local function fails(...) local ok, problem = pcall(...) assert(not ok) print(problem) end
local two = { { 1, 2 } }
fails(model.package, { examples = two })
fails(model.package, { "line.safetensors" })
fails(model.package, { "none.safetensors", examples = two })
fails(model.package, { "trainer.lua", "line.safetensors", examples = two })
fails(model.package, { "line.safetensors", examples = { { 1, 2, 3 } } })
fails(model.package, { "line.safetensors", examples = {} })
fails(model.package, { "line.safetensors", examples = "none.npy" })
fails(model.package, { "both.safetensors", examples = two })
fails(model.package, { "line.safetensors", examples = { { inputs = { 1, 2 }, outputs = { 3 } } } })
fails(model.package, { "line.safetensors", examples = two, name = "a b" })
fails(model.package, { "line.safetensors", examples = two, labls = {} })
fn = model.package { "line.safetensors", examples = two }
fails(fn.verify, fn, { on = "mars" })
fails(fn.verify, fn, { python = "/none/python" })
""")
    said = [line.strip() for line in done.out.splitlines()]
    for text in ("expects a model that model:save has written", "needs examples", "none.safetensors: cannot read", "trainer.lua: it defines no function predict",
                 "example 1: dense expects 2 inputs, got 3", "a list of 1 to 1000", "cannot read none.npy", "example 1: the model has 2 inputs, so an example names them: { left",
                 "example 1: the packaged model does not predict what was given: output dense[0] is 22.5, and 3 was expected", 'not "a b"', "did you mean labels?",
                 '"here", "k8s" or "onnxruntime"', "/none/python has no onnxruntime"):
        assert any(text in line for line in said), (text, done)
    assert done.code == 0, done


def test_a_hostile_package_is_refused(t):
    """Wrong types, no digests, files elsewhere, examples that say nothing: an error, no crash, and nothing verified."""
    folder = made(t)
    put(folder, "rows.json", "[[1, 2]]")
    done = sh(WORKER, "package", "--name", "line", "--model", "line.safetensors", "--examples", "rows.json", "p", cwd=folder)
    assert done.code == 0, done
    with open(os.path.join(folder, "p", "package.json"), encoding="utf-8") as f:
        about = json.load(f)
    example = os.path.join(folder, "p", "examples.json")
    digest = about["files"]["examples.json"]
    for files in ([1, 2], "x", None, {}, {**about["files"], "../rows.json": digest}, {**about["files"], "model.onnx": 5}, {"examples.json": digest}):
        put(folder, "p/package.json", json.dumps({**about, "files": files}))
        for verb in (["verify"], ["serve", "--port", "0"]):
            done = sh(WORKER, *verb, "p", cwd=folder)
            assert done.code == 1 and "package.json" in done.err, (files, done)
    with open(example, encoding="utf-8") as f:
        inputs = json.load(f)[0]["inputs"]
    for text in ("[]", "{}", "null", json.dumps([{"inputs": inputs}]), json.dumps([{"inputs": inputs, "outputs": "x"}])):
        put(folder, "p/examples.json", text)
        put(folder, "p/package.json", json.dumps({**about, "files": {**about["files"], "examples.json": hashlib.sha256(text.encode()).hexdigest()}}))
        done = sh(WORKER, "verify", "p", cwd=folder)
        assert done.code == 1 and "no examples that say" in done.err, (text, done)


def test_a_resumed_run_makes_it_again_only_when_it_changed(t):
    folder = made(t)
    text = """\
-- %% Package
fn = model.package { "line.safetensors", examples = { { 1, 2 } } }
-- %% After
assert(os.getenv "GO", "not yet")
print("digest " .. fn.digest)
"""
    put(folder, "n.lua", text)
    env = {"XDG_DATA_HOME": folder}
    first = sh(FIRESTEEL, "run", "n.lua", cwd=folder, env=env)
    assert first.code == 1 and "built" in first.out, first
    run_name = first.out.split("(run ")[1].split(")")[0]
    again = sh(FIRESTEEL, "run", "n.lua", "--resume", run_name, cwd=folder, env={**env, "GO": "1"})
    assert again.code == 0 and "digest sha256:" in again.out and "verified" in again.out and "built" not in again.out, again


def test_a_resumed_run_packages_what_was_trained_in_the_same_cell(t):
    """What came out of a training that is verified, not repeated, has the same inputs as before: so the package has the same digest."""
    folder = t.dir()
    put(folder, "trainer.lua", TRAINER)
    put(folder, "rows.csv", "1,2\n")
    text = """\
-- %% Train and package
sh { "cp", "rows.csv", "copy.csv", inputs = { "rows.csv" }, outputs = { "copy.csv" } }
trainer.run { "trainer.lua", outputs = { "line.safetensors" } }
fn = model.package { "line.safetensors", examples = { { 1, 2 } } }
-- %% After
print("digest " .. fn.digest)
assert(os.getenv "GO", "not yet")
"""
    put(folder, "n.lua", text)
    env = {"XDG_DATA_HOME": folder}
    first = sh(FIRESTEEL, "run", "n.lua", cwd=folder, env=env)
    assert first.code == 1 and "built" in first.out, first
    run_name = first.out.split("(run ")[1].split(")")[0]
    for _ in range(2):  # also what was resumed once
        again = sh(FIRESTEEL, "run", "n.lua", "--resume", run_name, cwd=folder, env={**env, "GO": "1"})
        assert again.code == 0 and "built" not in again.out, again
        assert re.search(r"digest (\S+)", again.out)[1] == re.search(r"digest (\S+)", first.out)[1], (first, again)


SERVED = """\
-- %% Package
fn = model.package { "line.safetensors", tag = "team/line:1", examples = { { 1, 2 } } }
fn.image.pinned = true
-- %% Serve
live, wants, remembered, done = nil, true, 0, {}
local notes = { ["firesteel/digest"] = "old" }
local function deployment(object)
  object.metadata.namespace, object.namespace = "default", "default"
  function object:reaches() if self.metadata.annotations["firesteel/digest"] == fn.digest and not wants then error("no room", 0) end end
  return object
end
live = deployment { kind = "Deployment", apiVersion = "apps/v1", spec = {},
  metadata = { name = "line", annotations = notes, labels = { ["app.kubernetes.io/component"] = "model" } } }
function k8s.get() return live end
function k8s.apply(object)
  done[#done + 1] = object.kind .. " " .. ((object.metadata.annotations or {})["firesteel/digest"] == "old" and "old" or "new")
  object = deployment(object)
  if remembered > 0 then remembered = remembered - 1 -- as by a resumed run
  elseif object.kind == "Deployment" then live = object end
  return object
end
local function try(says, ready, before)
  wants, remembered, done = ready, before, {}
  local ok = pcall(fn.serve, fn, { port = 9090 })
  print(says, ok, table.concat(done, ", "), live.metadata.annotations["firesteel/digest"] == fn.digest)
end
try("refused", false, 0)
try("again", false, 1)
try("twice", false, 2)
try("ready", true, 3)
"""


MEMORY = SERVED[:SERVED.index("local function try(")] + """\
local function memory(options)
  local ok, why = pcall(fn.serve, fn, options)
  if not ok then print(why) return end
  local container = live.spec.template.spec.containers[1]
  local r = container.resources
  print((r.requests or {}).memory, (r.limits or {}).memory, (r.limits or {}).cpu, table.concat(container.args, " "):match "%-%-body%-size=(%d+)")
end
memory {}
memory { body_size = "64Mi", resources = { limits = { cpu = "2" } } }
memory { resources = { limits = { memory = "1Gi" } } }
memory { body_size = "64Ti" }
print(fn.memory)
"""


def test_a_servers_memory_is_asked_for_and_limited(t):
    """By the sizes of the model and of bodies; who says something of memory says all of it."""
    done = play(made(t), MEMORY, "--allow", "cluster")
    said = [line.strip() for line in done.out.splitlines()]
    for line in ("97Mi\t609Mi\tnil\t8388608", "321Mi\t1089Mi\t2\t67108864", "nil\t1Gi\tnil\t8388608", "6528"):
        assert line in said, (line, done)
    assert 'body_size is from "1Ki" to "1Gi", not "64Ti"' in done.out, done


def test_a_model_that_was_refused_is_tried_again(t):
    """What a server and a resumed run's ledger answer is made here; tests/cluster/case_model.py asks real ones."""
    done = play(made(t), SERVED, "--allow", "cluster")
    applied = "Deployment new, "
    for says, times in (("refused", 1), ("again", 2), ("twice", 3)):
        assert f"{says}\tfalse\t{applied * times}Deployment old\tfalse" in done.out, (says, done)
    assert f"ready\ttrue\t{applied * 4}Service new\ttrue" in done.out, done


def test_recipe_41_goes_as_far_as_the_sandbox(t):
    """Tables, networks side by side, the best one packaged and verified by a Job; tests/cluster/case_refit.py has the rest."""
    folder = t.dir()
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "41-refit.lua"), "--cwd", folder, "--sandbox", "--allow", "cluster,destructive",
              "-p", "pyspark=false", "-p", "epochs=20", env={"XDG_DATA_HOME": folder})
    assert done.code == 0 and "k8s: 2 examples, 2 values" in done.out, done
    assert float(re.search(r"the best network (0\.\d+)", done.out)[1]) < 0.1, done
    assert len(re.findall(r"^ +\S+ [1-4] .* done ", done.out, re.M)) >= 4, done


run(globals())
