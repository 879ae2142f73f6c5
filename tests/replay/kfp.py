#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pipelines for Kubeflow: the golden text, what is refused, Kubeflow's own SDK loads it, and the steps' containers do with
Kubeflow's arguments what flow:run() does (on the sandbox, as processes; on the cluster: tests/cluster/case_pipeline.py)."""
import json
import os

from kernel import Kernel, cell
from sandbox import sandbox
from kfpdriver import Driver
from tap import CACHE, FIRESTEEL, SOURCE, Skip, run, sh

PYTHON = os.path.join(CACHE, "kfp", "bin", "python")
GOLDEN = os.path.join(SOURCE, "tests", "replay", "expected", "nightly.kfp.yaml")
with open(os.path.join(SOURCE, "tests", "replay", "expected", "nightly.lua"), encoding="utf-8") as f:
    NIGHTLY = f.read()
TOOL = 'tool = "%s"\n'
# What it comes to with samples = 30; fan's outputs are a list for sum, and JSON on the way there.
DONE = [("prep", 0), ("fan", 0), ("fan", 0), ("sum", 0), ("train", 0), ("never", "skipped"), ("serve", 0), ("clean", 0)]
OUTPUTS = {"prep": [{"rows": "34", "shards": '["x","y"]'}], "fan": [{"n": "x34"}, {"n": "y34"}], "sum": [{"all": "x34,y34"}],
           "train": [{"accuracy": "0.97", "done": "1"}], "serve": [{}], "clean": [{}]}
LOAD = """
import json, sys
import yaml
from google.protobuf import json_format
from kfp import compiler, components, dsl
from kfp.pipeline_spec import pipeline_spec_pb2
text = open(sys.argv[1]).read()
component = components.load_component_from_text(text)
spec = json_format.ParseDict(yaml.safe_load(text), pipeline_spec_pb2.PipelineSpec())
@dsl.pipeline(name="outer")
def outer():
    component(samples=3)
compiler.Compiler().compile(outer, sys.argv[2])
print(json.dumps({"name": component.name, "inputs": {n: i.default for n, i in component.component_spec.inputs.items()},
                  "tasks": sorted(spec.components["comp-exit-handler-1"].dag.tasks), "schema": spec.schema_version}))
"""


def text_of(t, tool="host", nightly=NIGHTLY):
    k = Kernel(t)
    r = k.run(TOOL % tool + nightly + "\nprint(flow:kfp { image = 'registry.example.org/steps:1', parameters = { samples = samples } })")
    assert r.state == "ok", r
    return r.out.rstrip("\n") + "\n"


def test_the_golden_text(t):
    text = text_of(t).replace(sh(FIRESTEEL, "--version").out.split()[1], "VERSION")
    if os.environ.get("FIRESTEEL_WRITE"):
        with open(GOLDEN, "w", encoding="utf-8") as f:
            f.write(text)
    with open(GOLDEN, encoding="utf-8") as f:
        assert text == f.read(), text


def test_kubeflow_loads_it(t):
    if not os.path.exists(PYTHON):
        raise Skip("no kfp in the cache: tests/support/tools CACHE makes it")
    folder = t.dir()
    path, outer = os.path.join(folder, "nightly.yaml"), os.path.join(folder, "outer.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text_of(t))
    done = sh(PYTHON, "-W", "ignore", "-c", LOAD, path, outer, timeout=120)
    assert done.code == 0, done
    about = json.loads(done.out.splitlines()[-1])
    assert about == {"name": "nightly", "inputs": {"samples": 20}, "schema": "2.1.0",
                     "tasks": ["fan", "never", "prep", "serve", "sum", "train"]}, about
    with open(outer, encoding="utf-8") as f:  # it is a part of another pipeline
        assert "comp-nightly" in f.read()


def test_what_kubeflow_cannot_say(t):
    k = Kernel(t)
    job = 'a = { image = "x", outputs = { n = { log = "n=(.)" } } }'
    for steps, says in (
            ("a = { call = print }", "step a: Kubeflow: it calls a function of this notebook"),
            ('a = { trainer = "t.lua" }', "step a: Kubeflow: it trains here"),
            ('a = { image = "x", when = "failed" }', 'step a: Kubeflow: when = "failed"'),
            ('a = { image = "x", outputs = { n = { file = "n.txt" } } }', "step a: Kubeflow: output n"),
            ('a = { image = "x", outputs = { n = { metric = "n" } } }', "step a: Kubeflow: output n"),
            (job + ', b = { image = "x", command = "${a.n .. word}" }', "step b: Kubeflow: ${a.n .. word} joins word"),
            (job + ', b = { image = "x", when = "#${a.n} > 1" }', "step b: Kubeflow: when: it has no way to say #"),
            (job + ', b = { image = "x", when = "${a.n}" }', "step b: Kubeflow: when: a.n stands alone"),
            (job + ', b = { image = "x", when = "${a.n} == 1", outputs = { m = "status" } }, c = { image = "x", command = "${b.m}" }',
             "step c: Kubeflow: it uses an output of b, which may be skipped"),
            (job + ', b = { image = "x", command = "${a.n}", when = "always" }', "step b: Kubeflow: it runs at the end, and uses"),
            ('a = { image = "x" }, A = { image = "x" }', "Kubeflow: its name there, a, is that of step A"),
            ('a = { apply = "metadata: {name: x}\\n" }, b = { delete = "a" }', "step a: Kubeflow: its manifest has no kind")):
        r = k.run(f'io.open("t.lua", "w"):close() word = "x"\npipeline {{ "bad", steps = {{ {steps} }} }}:kfp {{ image = "i" }}')
        assert r.state == "failed" and says in r.error["message"], (steps, r)
    for call, says in (("kfp()", "image is the image"), ('kfp { image = "i", parameters = { x = {} } }', "parameter x is a number"),
                       ('kfp { imag = "i" }', "did you mean image")):
        r = k.run('pipeline { "p", steps = { a = { image = "x" } } }:' + call)
        assert r.state == "failed" and says in r.error["message"], (call, r)
    r = k.run('pipeline { "p", timeout = "1h", steps = { a = { image = "x" } } }:kfp { image = "i" }')
    assert r.state == "failed" and "no time for a whole pipeline" in r.error["message"], r


def spec_of(t, **options):
    k = Kernel(t, "", env={"TEXT": text_of(t, **options)})
    r = k.run("print(json.encode(yaml.decode(os.getenv 'TEXT')))")
    assert r.state == "ok", r
    return json.loads(r.out)


def process(t, env, said):
    """Runs a container as a process here, against the sandbox."""
    def go(container, args, outputs):
        assert container["command"] == ["/opt/firesteel/firesteel"] and container["image"] == "registry.example.org/steps:1"
        folder = t.dir()
        done = sh(FIRESTEEL, *[a.replace("=/outputs/", f"={folder}/deep/") for a in args], env=env, cwd=folder, timeout=120)
        said.append(done.out + done.err)
        texts = {}
        for output in outputs if done.code == 0 else ():
            with open(os.path.join(folder, "deep", output), encoding="utf-8") as f:
                texts[output] = f.read()
        return done.code, texts
    return go


def objects(t, env):
    k = Kernel(t, "", env=env)
    r = k.run("for _, j in ipairs(k8s.list 'jobs') do print(j.metadata.name) end")
    assert r.state == "ok", r
    return r.out.split()


def test_its_containers_do_what_run_does(t):
    env, said = sandbox(t), []
    driver = Driver(spec_of(t), process(t, env, said), "run-1")
    driver.start(samples=30)
    assert driver.log == DONE and driver.outputs == OUTPUTS, (driver.log, driver.outputs, said)
    assert objects(t, env) == []


def test_a_container_that_fails(t):
    env, said = sandbox(t), []
    driver = Driver(spec_of(t, nightly=NIGHTLY.replace("echo accuracy=0.97", "exit 3")), process(t, env, said), "run-1")
    failed = None
    try:
        driver.start()
    except Exception as e:
        failed = str(e)
    assert failed == "train" and driver.log[-3:] == [("train", 1), ("train", 1), ("clean", 0)], (failed, driver.log, said)
    assert "step train failed: " in "".join(said) and objects(t, env) == [], said


def test_usage(t):
    for words, says in ((("step",), "which step"), (("step", "--step", "{"), "--step"), (("step", "--step", "{}", "--input", "x"), "NAME=VALUE"),
                        (("step", "--step", "{}", "more"), "more")):
        done = sh(FIRESTEEL, *words)
        assert done.code in (1, 2) and says in done.err, done
    done = sh(FIRESTEEL, "step", "--step", json.dumps({"pipeline": "p", "name": "a", "step": {"image": "x"}}), env=sandbox(t))
    assert done.code == 3, done  # nothing is granted by itself


def test_texts_that_look_like_numbers_stay_texts(t):
    """A tag 1.10, a commit 12e4567 and an item 007 are what they were, in a pod and here; a condition compares numbers."""
    k = Kernel(t)
    r = k.run("""
flow = pipeline { "p", steps = {
  a = { call = function() return { n = "12e4567", tag = "1.10", rows = 34, part = "0.970", item = "007" } end },
  b = { call = function(with) print(with.n, with.tag, math.type(with.rows), "${a.n}") end, with = { n = "${a.n}", tag = "${a.tag}", rows = "${a.rows}" } },
  c = { call = function() print "c" end, when = "${a.part} > 0.95 and ${a.part + 0 > 0.95 and a.part < 1} and ${a.tag} == '1.10'", after = "b" },
  d = { call = function() print "d" end, when = "${a.part} < 0.95 or '1.1' == ${a.tag} or ${a.tag} == '1.1'" } } }
flow:run()""")
    assert r.state == "ok" and [line for line in r.out.splitlines() if line in ("c", "d") or "12e" in line] == [
        "12e4567\t1.10\tinteger\t${a.n}", "c"], r
    env, k = sandbox(t), None
    k = Kernel(t, "", env=env)
    r = k.run("""
ver, whole, half, yes = "1.10", 20, 1.0, true
flow = pipeline { "p", steps = {
  z = { image = "host", command = "true", outputs = { sha = { log = "sha=(%S+)" } } },
  a = { image = "host", command = { "sh", "-c", "echo 'got=${ver},${whole + 1},${half},${yes},${z.sha},${item}'" },
        each = { "007", "1e3" }, outputs = { got = { log = "got=(%S+)" } } } } }
print(json.encode(yaml.decode(flow:kfp { image = "i", parameters = { ver = ver, whole = whole, half = half, yes = yes } })))""")
    assert r.state == "ok", r
    args = json.loads(r.out)["deploymentSpec"]["executors"]["exec-a"]["container"]["args"]
    step = args[args.index("--step") + 1]
    assert json.loads(step)["types"] == {"ver": "STRING", "whole": "NUMBER_INTEGER", "half": "NUMBER_DOUBLE", "yes": "BOOLEAN", "item": "STRING"}, step
    out = os.path.join(t.dir(), "got")
    inputs = {"ver": "1.10", "whole": "20", "half": "1", "yes": "true", "z.sha": "12e4567", "item": "007"}
    words = [w for name, value in inputs.items() for w in ("--input", f"{name}={value}")]
    done = sh(FIRESTEEL, "step", "--allow", "cluster,destructive", "--step", step, *words, "--output", "got=" + out, env=env, timeout=120)
    assert done.code == 0, done
    with open(out, encoding="utf-8") as f:
        assert f.read() == "1.10,21,1.0,true,12e4567,007"
    done = sh(FIRESTEEL, "step", "--allow", "cluster,destructive", "--step", step, *words, "--input", "whole=many", env=env, timeout=120)
    assert done.code == 1 and '--input whole: "many" is no NUMBER_INTEGER' in done.err, done


def test_values_are_no_code(t):
    """What is known now is not filled in again in the pod, and is a text to Kubeflow's conditions."""
    env = sandbox(t)
    k = Kernel(t, "", env=env)
    r = k.run(r"""
V, D, S, M = "${os.getenv('HOME')} x ${nothing", "cost$", "it's' || true || 'x\\", "kind: Job\n# ${M}"
flow = pipeline { "p", steps = {
  a = { image = "host", command = "echo n=1", outputs = { n = { log = "n=(.)" } } },
  b = { image = "host", command = { "sh", "-c", "printf '%s\n' \"got=$V:$D:$W\"" }, env = { V = "${V}", D = "${D}${a.n}", W = "$${V}$${no.thing}" },
        outputs = { got = { log = "got=([^\n]+)" } } },
  c = { image = "host", command = "true", when = "${a.n} == S" } } }
print(json.encode(yaml.decode(flow:kfp { image = "i" })))""")
    assert r.state == "ok", r
    spec = json.loads(r.out)
    condition = spec["root"]["dag"]["tasks"]["c"]["triggerPolicy"]["condition"]
    assert condition == r"(inputs.parameter_values['a-n']) == 'it\'s\' || true || \'x\\'", condition
    args = spec["deploymentSpec"]["executors"]["exec-b"]["container"]["args"]
    out = os.path.join(t.dir(), "got")
    done = sh(FIRESTEEL, "step", "--allow", "cluster,destructive", "--step", args[args.index("--step") + 1], "--input", "a.n=1",
              "--output", "got=" + out, env=env, timeout=120)
    assert done.code == 0, (done, args)
    with open(out, encoding="utf-8") as f:
        assert f.read() == "${os.getenv('HOME')} x ${nothing:cost$1:${V}${no.thing}"


def test_it_deletes_in_each_namespace(t):
    """Objects are deleted in the namespace in which they were made, which their step or their manifest names."""
    env = sandbox(t)
    k = Kernel(t, "", env=env)
    r = k.run(r"""
place, plain = "there", { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c", namespace = "else" } }
text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d, namespace: ${where}}\ndata: {n: '${a.name}'}\n"
function flow(where) return pipeline { "p", namespace = "own", steps = {
  a = { image = "host", command = "true" }, b = { image = "host", command = "true", namespace = "bs" }, c = { apply = plain },
  d = { apply = text, with = { where = where } }, z = { delete = { "a", "b", "c", "d" }, when = "always", namespace = "zs" } } } end
print(json.encode(yaml.decode(flow("${place}"):kfp { image = "i" })))
print(pcall(flow "${a.name}".kfp, flow "${a.name}", { image = "i" }))""")
    assert r.state == "ok", r
    args = json.loads(r.out.splitlines()[0])["deploymentSpec"]["executors"]["exec-z"]["container"]["args"]
    spec = json.loads(args[args.index("--step") + 1])
    assert [(d["step"], d["kind"], d["namespace"]) for d in spec["delete"]] == [
        ("a", "Job", "own"), ("b", "Job", "bs"), ("c", "ConfigMap", "else"), ("d", "ConfigMap", "there")], spec
    assert "step d: Kubeflow: the namespace of what it makes is known only when it runs" in r.out.splitlines()[1], r


run(globals())
