#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A pipeline as texts for Argo, against those in argo/ (FIRESTEEL_GOLDEN=write writes them); and what Argo cannot say, which
is refused by name. tests/cluster/case_argo.py has a real Argo run it."""
import json
import os

from kernel import Kernel, cell
from sandbox import sandbox
from tap import SOURCE, run

FOLDER = os.path.join(SOURCE, "tests", "replay", "argo")
TEXTS = {"workflow": "", "template": "template = 'circle'", "cron": "cron = '0 3 * * *', keep = 2, timezone = 'Etc/UTC'"}


def flow():
    with open(os.path.join(FOLDER, "flow.lua"), encoding="utf-8") as f:
        return f.read()


def test_texts(t):
    k = Kernel(t)
    assert k.run(flow()).state == "ok"
    for name, options in TEXTS.items():
        r = k.run(f"io.write(flow:argo {{ account = 'workflow', ttl = '10m', {options} }})")
        assert r.state == "ok", r
        path = os.path.join(FOLDER, f"{name}.yaml")
        if os.environ.get("FIRESTEEL_GOLDEN") == "write":
            with open(path, "w", encoding="utf-8") as f:
                f.write(r.out)
        with open(path, encoding="utf-8") as f:
            assert r.out == f.read(), (name, r.out)


def test_it_is_yaml_that_means_the_same(t):
    k = Kernel(t)
    assert k.run(flow()).state == "ok"
    r = k.run("""
doc = yaml.decode(flow:argo())
by = {}
for _, one in ipairs(doc.spec.templates) do by[one.name] = one end
print(by.prep.container.command[3], by.fan.container.env[1].value, by.prep.activeDeadlineSeconds)
manifest = by.train.resource.manifest
print(manifest:match "parallelism: (%S+)", manifest:match "completions: (%S+)", manifest:match 'value: (%S+)')
print(by.serve.container.command[3])""")
    assert r.state == "ok" and r.out.splitlines() == [
        "echo start; echo 34 > /tmp/rows\t{{inputs.parameters.prep-rows}}\t120",
        '{{inputs.parameters.prep-rows}}\t1\t"{{inputs.parameters.rows}}"',
        "echo {{inputs.parameters.train-ok}} of {{inputs.parameters.prep-rows}} > /tmp/got"], r


def test_a_secret_stands_in_no_text(t):
    k = Kernel(t, env={"API_TOKEN": "hunter22secret"})
    k.run('token = secret "API_TOKEN"')
    for step in ('image = "x", command = "true", env = { T = "${token}" }', 'image = "x", command = "echo ${token}"',
                 'apply = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c" }, data = { t = "${token}" } }'):
        for text in (":argo()", ':argo { template = "t" }', ':kfp { image = "i" }'):
            r = k.run(f'pipeline {{ "p", steps = {{ other = {{ image = "x", command = "true" }}, a = {{ {step} }} }} }}{text}')
            assert r.error and "pipeline p: step a: a secret would stand in its text" in r.error["message"], (step, text, r)


def test_text_that_others_would_break(t):
    k = Kernel(t)
    for text in (r"a\n\u{2028}  evil: 1\n", r"a\u{85}b", r"a\n\u{2029}b", "=", "<<"):
        r = k.run(f'return yaml.decode(pipeline {{ "p", steps = {{ a = {{ image = "x", command = "{text}" }} }} }}:argo()).spec.templates[2].container.command[3] == "{text}"')
        assert r.value == "true", (text, r)


def test_what_argo_cannot_say(t):
    k = Kernel(t)
    a = 'a = { image = "x", command = "true", outputs = { n = { file = "/tmp/n" } } }'
    job = '{ apiVersion = "batch/v1", kind = "Job", metadata = { %s }, spec = { template = {} } }'
    for steps, says in (
            ("a = print", "step a: Argo cannot run a Lua function; write it as a trainer file"),
            ('a = { image = "x", command = "true", outputs = { n = { log = "n=(%d+)" } } }', "step a: Argo cannot read the output n from a log; let it write a file, "
             'and say outputs = { n = { file = "/tmp/n" } }'),
            ('a = { image = "x", command = "true" }, b = { image = "x", command = "echo ${a.n}" }', "step a: Argo cannot find the output n in a log"),
            ('a = { trainer = "t.lua", outputs = { n = { metric = "n" } } }', "step a: Argo cannot read the metric n"),
            ('a = { trainer = "t.lua" }', "step a: Argo cannot run a trainer without an image; build one with the trainer in it, and say flow:submit { image = img.ref }"),
            ('a = { trainer = { "t.lua", np = 2 } }', "step a: Argo cannot give a trainer np; apply an MPIJob"),
            ('a = { image = "x", command = "true", outputs = { n = { file = "n.txt" } } }', "step a: Argo cannot read the file n.txt; name it with its whole path"),
            ('a = { image = "x", command = "true", outputs = { n = "status.x" } }', "step a: Argo cannot read the field status.x: the step is a pod there"),
            (f'{a}, b = {{ image = "x", command = "echo ${{a.n + 1}}" }}', "step b: Argo cannot compute ${a.n + 1}; let the step compute it"),
            (f'{a}, b = {{ image = "x", command = "echo ${{a.n}}", when = "always" }}', "step b: Argo cannot give ${a.n} to a step of the end"),
            ('a = { image = "x", command = "echo {{item}}" }', 'step a: Argo cannot keep "{{" as it is'),
            ('a = { image = "x", command = "true", each = { 1, 2 }, at_once = 1 }', "step a: Argo cannot limit how many of its items run at once"),
            ('a = { apply = ' + job % 'name = "j"' + ', retries = 1 }', "step a: Argo cannot try Job j again: it would apply the object that failed; give it a generateName"),
            ('a = { apply = ' + job % 'name = "j"' + ', reaches = "Suspended" }', "step a: Argo cannot wait until a Job is Suspended"),
            (f'{a}, b = {{ apply = ' + job % 'name = "j-${a.n}"' + ', retries = 1 }', "step b: Argo cannot try Job j-${a.n} again"),
            ('a = { image = "x", command = "true", namespace = "third" }', "step a: Argo cannot run a pod in the namespace third; apply a Job there"),
            (f'{a}, b = {{ apply = ' + job % 'name = "j", namespace = "${a.n}"' + ' }, c = { delete = "b", when = "always" }', "step c: Argo cannot delete what step b makes: its namespace"),
            ('main = { image = "x", command = "true" }', "step main: Argo cannot have a step called main"),
            ('a = { image = "x", command = "true", when = "always" }', "pipeline p: Argo needs a step that does not run at the end")):
        r = k.run(f'pipeline {{ "p", steps = {{ {steps} }} }}:argo()')
        assert r.state == "failed" and says in r.error["message"], (steps, r)


def test_volumes(t):
    k = Kernel(t)
    r = k.run("""doc = yaml.decode(pipeline { "p", steps = { a = { image = "x", command = "true", outputs = { n = { file = "/tmp/n" } } },
  b = { image = "x", command = "true", volumes = { ["/run/registry"] = "secret/login", ["/data"] = "pvc/sales-${a.n}" } } } }:argo())
for _, template in ipairs(doc.spec.templates) do if template.name == "b" then print(json.encode { template.volumes, template.container.volumeMounts }) end end""")
    assert r.state == "ok", r
    volumes, mounts = json.loads(r.out)
    assert {v["name"]: v for v in volumes} == {"volume-1": {"name": "volume-1", "persistentVolumeClaim": {"claimName": "sales-{{inputs.parameters.a-n}}"}},
                                               "volume-2": {"name": "volume-2", "secret": {"secretName": "login"}}}, volumes
    assert mounts == [{"name": "volume-1", "mountPath": "/data"}, {"name": "volume-2", "mountPath": "/run/registry"}], mounts


NEEDED = 'a = { image = "x", command = "true", outputs = { s = { file = "/tmp/s" }, n = { file = "/tmp/n" } } }'


def conditions(k, when, more=""):
    r = k.run(f"""{more}
doc = yaml.decode(pipeline {{ "p", steps = {{ {NEEDED}, b = {{ image = "x", command = "true", {when} }} }} }}:argo())
for _, task in ipairs(doc.spec.templates[1].dag.tasks) do if task.name == "b" then print(task.when) end end""")
    return r.out.rstrip("\n") if r.state == "ok" else r.error["message"]


def test_conditions(t):
    k = Kernel(t)
    n, s = "{{tasks.a.outputs.parameters.n}}", "{{tasks.a.outputs.parameters.s}}"
    for when, says in (('when = "${par} > 2"', "nil"), ('when = "${par} > 3"', "false"), ('when = "${p} == 7", with = { p = 7 }', "nil"),
                       ('when = "${a.n} > 1e-3 and not (${a.s} == \'yes\')"', f"{n} > 1e-3 && !('{s}' == 'yes')"),
                       ("when = [[${a.s} ~= 'it\\'s']]", f"'{s}' != 'it\\'s'"), ("when = [[\"it's\" == ${a.s}]]", f"'it\\'s' == '{s}'"),
                       ("when = '${a.s} == word'", f"'{s}' == 'x\\' == \\'x'"), ("when = '${a.s} == ${word}'", f"'{s}' == 'x\\' == \\'x'"),
                       ("when = '${a.s} == ${p}', with = { p = [[c:\\d]] }", f"'{s}' == 'c:\\\\d'"),
                       ("when = '${a.n} == ${par}'", f"{n} == 3"), ("when = '${p} == word', with = { p = 'v${a.n}' }", f"'v{n}' == 'x\\' == \\'x'"),
                       ("when = '${a.s} == braces'", 'step b: Argo cannot keep "{{" as it is'), ("when = '${a.s} == ${braces}'", 'step b: Argo cannot keep "{{" as it is'),
                       ("when = [[${a.s} == 'a\\nb']]", "step b: Argo cannot compare with a text of several lines"),
                       ("when = '${a.s} .. word == word'", "step b: Argo cannot say .. word == word in `when`")):
        got = conditions(k, when, "par, word, braces = 3, \"x' == 'x\", '{{workflow.name}}'")
        assert got == says or says.startswith("step") and says in got, (when, got)


def test_variables_of_argo_stay_texts(t):
    """Whatever way "{{" comes in."""
    k = Kernel(t)
    config = '{ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c" }, data = { v = %s } }'
    for step in ('image = "x", command = "echo ${V}"', 'image = "x", command = { "echo", "${V}" }', 'image = "x", env = { V = "${V}" }', 'image = "x:${V}"',
                 'image = "x", command = "echo ${v}", with = { v = "{{workflow.parameters.x}}" }', 'image = "x", command = "echo ${v}", with = { v = "${V}" }',
                 'image = "x", command = "echo ${v}", with = { v = "${a.n} ${V}" }', 'image = "x", command = "echo ${item}", each = { "{{workflow.uid}}" }',
                 'image = "x", command = "echo ${item}", each = { "${V}" }', 'image = "x", command = "echo {${half}workflow.name}}"',
                 'image = "x", command = "echo {${a.n}}"', 'image = "x", command = "true", outputs = { o = { file = "/tmp/{{x}}" } }',
                 'apply = ' + config % "V", 'apply = ' + config % '"${V}"',
                 'apply = [[{kind: ConfigMap, apiVersion: v1, metadata: {name: c},\n data: {v: "\\x7b{workflow.name}}"}}]]',
                 'use = "t/s", with = { v = "${V}" }'):
        r = k.run(f'V, half = "{{{{workflow.name}}}}", "{{"\npipeline {{ "p", steps = {{ {NEEDED}, b = {{ {step} }} }} }}:argo()')
        assert r.state == "failed" and 'step b: Argo cannot keep "{{" as it is' in r.error["message"], (step, r)


def test_objects_of_other_namespaces_are_deleted(t):
    k = Kernel(t)
    r = k.run("""
local function config(namespace) return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c", namespace = namespace } } end
doc = yaml.decode(pipeline { "p", namespace = "here", steps = {
  a = { apply = config() }, b = { apply = config "other" }, c = { apply = config(), namespace = "third" }, d = { apply = config "other" },
  some = { delete = "c", when = "always" }, all = { delete = { "a", "b", "c", "d" }, when = "always" } } }:argo())
by = {}
for _, one in ipairs(doc.spec.templates) do by[one.name] = one end
print(table.concat(by.some.resource.flags, " "))
for _, one in ipairs(by.all.steps[1]) do print(one.template, table.concat(by[one.template].resource.flags, " ")) end""")
    by = "configmap --selector=firesteel/workflow={{workflow.name}},firesteel/step in"
    assert r.state == "ok" and r.out.splitlines() == [
        f"{by} (c) --namespace=third", f"all-1\t{by} (a)", f"all-2\t{by} (b,d) --namespace=other", f"all-3\t{by} (c) --namespace=third"], r


def test_texts_stay_texts(t):
    k = Kernel(t)
    r = k.run("""
function data(as)
  local doc = yaml.decode(pipeline { "p", steps = { prep = { image = "x", command = "true", outputs = { n = { file = "/tmp/n" } } },
    a = { apply = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c" }, data = { w = "${p}", y = "${q}", n = "${n}", m = "${m}" } },
      with = { p = "007", q = "yes", n = 7, m = "0${prep.n}" } } } }:argo(as))
  for _, one in ipairs(doc.spec.templates) do if one.name == "a" then return one.resource.manifest:match "\\ndata:\\n(.*)" end end
end
print(data {}) print(data { template = "t" })""")
    assert r.state == "ok" and r.out.split() == [
        "m:", '"{{inputs.parameters.m}}"', '"n":', "7", "w:", '"007"', '"y":', '"yes"', "m:", '"{{inputs.parameters.m}}"',
        '"n":', "{{inputs.parameters.n}}", "w:", '"{{inputs.parameters.p}}"', '"y":', '"{{inputs.parameters.q}}"'], r.out or r


def test_how_many_replicas(t):
    k = Kernel(t)
    for count, says in (('"${prep.n}"', "status.availableReplicas == {{inputs.parameters.prep-n}}"), ("0", "nil"), ("2", "status.availableReplicas == 2")):
        r = k.run(f"""
doc = yaml.decode(pipeline {{ "p", steps = {{ prep = {{ image = "x", command = "true", outputs = {{ n = {{ file = "/tmp/n" }} }} }},
  a = {{ apply = {{ apiVersion = "apps/v1", kind = "Deployment", metadata = {{ name = "d" }}, spec = {{ replicas = {count} }} }} }} }} }}:argo())
for _, one in ipairs(doc.spec.templates) do if one.name == "a" then print(one.resource.successCondition) end end""")
        assert r.state == "ok" and r.out == says + "\n", (count, r)


def test_conditions_come_from_the_table_of_kinds(t):
    """Of kinds of other groups with the same name, of a person's own kinds, and of those whose state is not in a field."""
    kinds = os.path.join(t.dir(), "kinds.yaml")
    with open(kinds, "w", encoding="utf-8") as f:
        f.write("kinds:\n  Experiment.acme.io:\n    words: status.stage\n    good: Done\n    bad: [Broken, Lost]\n")
    k = Kernel(t, env={"FIRESTEEL_KINDS": kinds})
    for version, kind, reaches, good, bad in (
            ("batch.volcano.sh/v1alpha1", "Job", None, "status.state.phase == Completed", "status.state.phase in (Failed, Terminated, Aborted)"),
            ("batch/v1", "Job", None, "status.completionTime", "status.conditions.0.type in (FailureTarget, Failed),status.conditions.1.type in (FailureTarget, Failed)"),
            ("sparkoperator.k8s.io/v1beta2", "SparkApplication", "RUNNING", "status.applicationState.state == RUNNING", "status.applicationState.state == FAILED"),
            ("acme.io/v1", "Experiment", None, "status.stage == Done", "status.stage in (Broken, Lost)"),
            ("apps/v1", "StatefulSet", None, "status.availableReplicas == 1", "nil"),
            ("ray.io/v1", "RayCluster", None, "status.state == ready", "nil"),
            ("v1", "ConfigMap", None, "nil", "nil")):
        wanted = f', reaches = "{reaches}"' if reaches else ""
        r = k.run(f"""
doc = yaml.decode(pipeline {{ "p", steps = {{ a = {{ apply = {{ apiVersion = "{version}", kind = "{kind}", metadata = {{ name = "d" }}, spec = {{}} }}{wanted} }} }} }}:argo())
for _, one in ipairs(doc.spec.templates) do if one.name == "a" then print(one.resource.successCondition) print(one.resource.failureCondition) end end""")
        assert r.state == "ok" and r.out == f"{good}\n{bad}\n", (version, kind, r)
    for version, kind, state in (("kubeflow.org/v2beta1", "MPIJob", "Succeeded"), ("jobset.x-k8s.io/v1alpha2", "JobSet", "Completed"),
                                 ("spark.apache.org/v1", "SparkApplication", "Succeeded")):
        r = k.run(f'pipeline {{ "p", steps = {{ a = {{ apply = {{ apiVersion = "{version}", kind = "{kind}", metadata = {{ name = "d" }}, spec = {{}} }} }} }} }}:argo()')
        assert r.state == "failed" and f"Argo cannot wait until a {kind} is {state}" in r.error["message"], (kind, r)


def test_all_that_is_refused_is_told_at_once(t):
    k = Kernel(t)
    r = k.run('pipeline { "p", steps = { a = print, b = print } }:submit()')
    assert r.state == "failed" and r.error["message"].count("cannot run a Lua function") == 2, r


def test_trainers_are_containers(t):
    k = Kernel(t)
    r = k.run("""
doc = yaml.decode(pipeline { "p", steps = { a = { trainer = { "t.lua", args = { "--epochs=2" }, env = { X = 1 } }, outputs = { n = { file = "/tmp/n" } } } } }:argo { image = "r/t:1" })
c = doc.spec.templates[2].container
print(c.image, table.concat(c.command, " "), c.env[1].name, c.env[1].value)""")
    assert r.out == "r/t:1\t/opt/firesteel/firesteel-worker t.lua --epochs=2\tX\t1\n", r


def test_several_objects_are_steps_of_their_own(t):
    k = Kernel(t)
    r = k.run("""
doc = yaml.decode(pipeline { "p", steps = { a = { apply = [[
{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {n: "${with_n}"}}
---
{apiVersion: v1, kind: Pod, metadata: {generateName: p-}, spec: {containers: []}}
]], with = { with_n = "${b.n}" }, outputs = { node = "spec.nodeName" } }, b = { image = "x", command = "true", outputs = { n = { file = "/tmp/n" } } } } }:argo())
by = {}
for _, one in ipairs(doc.spec.templates) do by[one.name] = one end
print(#by.a.steps, by.a.steps[2][1].template, by.a.outputs.parameters[1].valueFrom.parameter)
print(by["a-1"].resource.action, by["a-1"].resource.successCondition, by["a-2"].resource.action, by["a-2"].resource.successCondition)""")
    assert r.out.splitlines() == ["2\ta-2\t{{steps.a-2.outputs.parameters.node}}", "apply\tnil\tcreate\tstatus.phase == Succeeded"], r


def test_a_file_of_a_pod_is_an_output_here(t):
    """The same steps by flow:run, on the sandbox."""
    env = sandbox(t)
    k = Kernel(t, cell(flow().replace("localhost/busybox:1", "host").replace("/tmp/", t.dir() + "/").replace("parallelism: ${prep.rows}", "parallelism: 1") +
                       "flow:run()\nprint(flow:output('serve', 'got'), flow:output('fan', 'word')[2])", 'effects="cluster,destructive"'),
               "--allow", "cluster,destructive", headless=True, env=env)
    assert k.finish(90) == 0, (k.of("error"), k.stderr)
    assert k.text().endswith("1 of 34\t34-y\n"), k.text()


CRD = """
k8s.create { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition", metadata = { name = "workflows.argoproj.io" }, spec = {
  group = "argoproj.io", scope = "Namespaced", names = { kind = "Workflow", plural = "workflows", singular = "workflow" }, versions = { {
    name = "v1alpha1", served = true, storage = true, schema = { openAPIV3Schema = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } } } } } }
"""
# What Argo's controller writes into a Workflow's status: nodes by id, a step's children below it.
CONTROLLER = """
function node(wf, nodes, path, phase, more)
  local name = path == "" and wf or path:find "^%." and wf .. path or wf .. "." .. path
  local hash = 0
  for i = 1, #name do hash = (hash * 31 + name:byte(i)) % 4294967296 end
  local n = { id = path == "" and wf or wf .. "-" .. hash, name = name, displayName = path:match "[^.]*$", phase = phase,
    type = "Pod", templateName = path:match "[^.(]*", boundaryID = wf, startedAt = "2026-01-01T00:00:00Z",
    finishedAt = phase ~= "Running" and "2026-01-01T00:00:07Z" or nil }
  for key, value in pairs(more or {}) do n[key] = value end
  nodes[n.id] = n
  return n
end
function packed(nodes) -- as its controller does beyond 1 MiB
  return sh({ "sh", "-c", "gzip -c | base64 -w0" }, { input = json.encode(nodes), quiet = true }).output
end
function controlled(flow, stages, options)
  local ok, why
  parallel.map({ "flow", "controller" }, function(who)
    if who == "flow" then
      ok, why = pcall(flow.submit, flow, options)
      return
    end
    local wf
    repeat firesteel.sleep(0.1) wf = k8s.list "workflows.argoproj.io"[1] until wf
    for i, stage in ipairs(stages) do
      local nodes = {}
      node(wf.metadata.name, nodes, "", stage.phase, { type = "DAG", templateName = "main", boundaryID = firesteel.null })
      nodes[wf.metadata.name].boundaryID = nil
      stage.fill(wf.metadata.name, nodes)
      k8s.patch(wf, { status = { phase = stage.phase, nodes = not stage.packed and nodes or nil, message = stage.message,
        compressedNodes = stage.packed and packed(nodes) or nil } })
      firesteel.sleep(2.5)
    end
  end)
  return ok, why
end
"""
STEPS = """
flow = pipeline { "p", steps = {
  a = { image = "x", command = "true", retries = 1, outputs = { n = { file = "/tmp/n" } } },
  b = { image = "x", command = "echo ${item}", each = { "u", "v" }, after = "a", outputs = { w = { file = "/tmp/w" } } },
  c = { image = "x", command = "true", when = "${a.n} > 5" },
  clean = { image = "x", command = "true", when = "always" },
} }
"""


def played(t, stages, after=""):
    env = sandbox(t)
    k = Kernel(t, cell(CRD + CONTROLLER + STEPS, 'effects="cluster"') + cell(f"ok, why = controlled(flow, {{ {stages} }})\n{after}", 'effects="cluster,destructive"'),
               "--allow", "cluster,destructive", headless=True, env=env)
    code = k.finish(60)
    rows = {}
    for e in k.of("display") + k.of("update"):
        table = e.get("data", {}).get("application/vnd.firesteel.table+json")
        for row in table["rows"] if table and table.get("title", "").startswith("p:") else []:
            rows[row["uid"]] = row
    return k, code, rows


def test_its_status_is_the_graph(t):
    k, code, rows = played(t, """
  { phase = "Running", fill = function(wf, nodes)
    local pod = node(wf, nodes, "a(0)", "Failed", { templateName = "a" })
    local again = node(wf, nodes, "a(1)", "Running", { templateName = "a" })
    node(wf, nodes, "a", "Running", { type = "Retry", children = { pod.id, again.id } })
  end },
  { phase = "Succeeded", fill = function(wf, nodes)
    local function out(name, value) return { outputs = { parameters = { { name = name, value = value } } }, templateName = name == "w" and "b" or "a" } end
    local pod = node(wf, nodes, "a(1)", "Succeeded", out("n", "3"))
    node(wf, nodes, "a", "Succeeded", { type = "Retry", children = { pod.id }, outputs = pod.outputs })
    local u, v = node(wf, nodes, "b(0:u)", "Succeeded", out("w", "1")), node(wf, nodes, "b(1:v)", "Succeeded", out("w", "two"))
    node(wf, nodes, "b", "Succeeded", { type = "TaskGroup", children = { v.id, u.id } })
    node(wf, nodes, "c", "Skipped", { type = "Skipped", message = "when '3 > 5' evaluated false" })
    local exit = node(wf, nodes, ".onExit", "Succeeded", { type = "Steps", templateName = "at-the-end" })
    nodes[exit.id].boundaryID = nil
    node(wf, nodes, "onExit[0].clean", "Succeeded", { boundaryID = exit.id, templateName = "clean" })
  end }""", """print(ok, json.encode(flow:output("a", "n")), json.encode(flow:output("b", "w")))
flow:clean()
print(#k8s.list "workflows.argoproj.io")""")
    assert code == 0, (k.of("error"), k.text())
    assert 'true\t3\t[1,"two"]\n0\n' in k.text(), k.text()
    states = {name: row["cells"][1] for name, row in rows.items()}
    assert states == {"a": "done", "b": "done", "b/1": "done", "b/2": "done", "c": "skipped", "clean": "done"}, states
    assert rows["b"]["cells"][3] == "2/2" and rows["b/2"]["cells"][0] == "    ✓ v" and rows["b/2"]["cells"][2] == "7.0s", rows
    assert rows["b/1"]["about"]["kind"] == "Pod" and rows["b/1"]["name"] != rows["b/2"]["name"], rows
    assert rows["a"]["about"]["kind"] == "Pod" and "-a-" in rows["a"]["name"] and rows["a"]["cells"][2] == "7.0s", rows["a"]


def test_its_failures_have_step_and_cause(t):
    k, code, rows = played(t, """
  { phase = "Failed", message = "child failed", fill = function(wf, nodes)
    node(wf, nodes, "a", "Failed", { message = "main: Error (exit code 3)" })
    node(wf, nodes, "b", "Omitted", { type = "Skipped", message = "omitted: depends condition not met" })
    node(wf, nodes, "c", "Omitted", { type = "Skipped", message = "omitted: depends condition not met" })
  end }""", "print(ok, why)")
    assert code == 0 and ": pipeline p: step a failed: main: Error (exit code 3)\n" in k.text(), (k.of("error"), k.text())
    states = {name: (row["cells"][1], row["cells"][3]) for name, row in rows.items()}
    assert states["a"][0] == "failed" and states["b"] == ("cancelled", "not run"), states


def test_a_failure_stops_the_other_steps(t):
    """As flow:run does. What was stopped is told apart from what failed by itself."""
    k, code, rows = played(t, """
  { phase = "Running", fill = function(wf, nodes)
    node(wf, nodes, "a", "Failed", { message = "main: Error (exit code 3)" })
    node(wf, nodes, "c", "Running", {})
  end },
  { phase = "Failed", message = "Stopped with strategy 'Stop'", fill = function(wf, nodes)
    node(wf, nodes, "a", "Failed", { message = "main: Error (exit code 3)" })
    node(wf, nodes, "c", "Failed", { message = "workflow shutdown with strategy:  Stop" })
  end }""", "print(ok, why)\nprint(k8s.list 'workflows.argoproj.io'[1].spec.shutdown)")
    assert code == 0 and ": pipeline p: step a failed: main: Error (exit code 3)\n" in k.text() and k.text().endswith("\nStop\n"), (k.of("error"), k.text())
    states = {name: (row["cells"][1], row["cells"][3]) for name, row in rows.items()}
    assert states["a"][0] == "failed" and states["c"] == ("cancelled", "it was cancelled"), states


def test_a_compressed_status_is_read(t):
    k, code, rows = played(t, """
  { phase = "Succeeded", packed = true, fill = function(wf, nodes)
    node(wf, nodes, "a", "Succeeded", { outputs = { parameters = { { name = "n", value = "3" } } } })
  end }""", "print(ok, flow:output('a', 'n'))")
    assert code == 0 and "true\t3\n" in k.text() and rows["a"]["cells"][1] == "done", (k.of("error"), k.text(), rows)


def test_an_interrupt_while_the_workflow_is_made_leaves_none(t):
    """The object is there, and flow:submit has no answer yet. One that was submitted before stays."""
    env = sandbox(t)
    k = Kernel(t, cell(CRD, 'effects="cluster"') + cell("""
flow = pipeline { "p", steps = { a = { image = "x", command = "true" } } }
k8s.create { apiVersion = "argoproj.io/v1alpha1", kind = "Workflow", metadata = { name = "before", labels = { ["firesteel/pipeline"] = "p" } } }
local create = k8s.create
function k8s.create(...) create(...) print "made" firesteel.sleep(60) end
flow:submit()""", 'effects="cluster,destructive"') +
               cell("for _, one in ipairs(k8s.list 'workflows.argoproj.io') do print('left', one.metadata.name) end", 'effects="cluster" when="always"'),
               "--allow", "cluster,destructive", headless=True, env=env)
    k.wait(lambda e: e["type"] == "stream" and "made" in e["text"])
    assert k.ask(type="interrupt")["ok"]
    assert k.finish(40) == 130 and k.text() == "made\nleft\tbefore\n", (k.text(), k.of("error"), k.stderr)


def test_steps_of_other_pipelines_run_here(t):
    k = Kernel(t)
    r = k.run("""
inner = pipeline { "inner", steps = { double = { call = function(with) return { n = with.n * 2 } end, with = { n = 1 } } } }
outer = pipeline { "outer", steps = { a = { use = "refit/double", with = { n = 21 } } } }
outer:run()""")
    assert r.state == "failed" and "there is no step refit/double in this notebook" in r.error["message"], r
    r = k.run('pipeline { "p", steps = { a = { use = "refit" } } }')
    assert r.state == "failed" and 'use is a template and one of its steps: "refit/train"' in r.error["message"], r


run(globals())
