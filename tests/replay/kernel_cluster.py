#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Effects on a cluster (a sandbox): refused, asked for, verified, undone, and left alone when they are a stranger's."""
import json
import os
import signal

from faulty import HANG, Faulty
from kernel import Kernel, cell
from sandbox import sandbox
from tap import FIRESTEEL, PATIENCE, run, sh

CREATE = cell('first = k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "first"}, data = {a = "1"}}\n'
              'print(first.uid)', 'First effects="cluster"')
SECOND = cell('second = k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "second"}, data = {a = "1"}}',
              'Second effects="cluster"')
STOP = cell("assert(io.open 'go')", "Stop")
GRANTED = ("--allow", "cluster,destructive")


def uids(t, env):
    """The cluster's objects, as a kernel sees them."""
    k = Kernel(t, "", env=env)
    r = k.run("for _, c in ipairs(k8s.list 'configmaps') do print(c.metadata.name, c.metadata.uid) end")
    assert r.state == "ok", r
    found = dict(line.split("\t") for line in r.out.splitlines())
    found.pop("kube-root-ca.crt", None)
    return found


def go(k):
    with open(os.path.join(k.cwd, "go"), "w", encoding="utf-8"):
        pass


def stopped_run(t, env, notebook):
    k = Kernel(t, notebook, *GRANTED, headless=True, env=env)
    assert k.finish() == 1 and "go: No such file" in k.of("error")[0]["message"], k.of("error")
    return k


def resume(t, k, env, notebook, *allow):
    again = Kernel(t, notebook, "--resume", k.of("welcome")[0]["run"], *allow, headless=True, env=env, cwd=k.cwd)
    again.finish()
    return again


def test_nothing_happens_without_a_grant(t):
    env = sandbox(t)
    k = Kernel(t, cell('k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "x"}}'), headless=True, env=env)
    assert k.finish() == 3
    assert "create ConfigMap x" in k.of("error")[0]["message"] and "add --allow cluster" in k.of("error")[0]["message"]
    k = Kernel(t, cell('k8s.delete("configmap", "kube-root-ca.crt")', 'effects="cluster"'), *GRANTED, headless=True, env=env)
    assert k.finish() == 3
    assert 'write effects="cluster,destructive" on its marker line' in k.of("error")[0]["message"], k.of("error")
    assert not uids(t, env)


def test_labels_are_set_removed_and_kept(t):
    env = sandbox(t)
    k = Kernel(t, "", *GRANTED, env=env)
    r = k.run("""
local o = k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "c", labels = {a = "1", b = "2"}}}
print(pcall(k8s.label, o, {a = "9"}))
o:label({a = "9", b = false, n = 7}, {overwrite = true})
o:annotate {["x-"] = true, note = "hello"}
local m = o:refresh().metadata
print(m.labels.a, m.labels.b, m.labels.n, m.annotations.note)
print(pcall(k8s.label, "cm/c", {a = "9", overwrite = {}}))
print(pcall(k8s.label, "cm/c", {}))
print(pcall(k8s.label, "cm", "c", "a=1", {overwritten = true}))
print(pcall(k8s.label, "cm/none", "a=1"))
print(pcall(k8s.scale, "cm/c", 2))
print(k8s.whoami())
""", 'effects="cluster"')
    assert r.state == "ok", r
    for text in ('configmap c: the label a already has the value "1"; overwrite = true changes it', "9\tnil\t7\thello",
                 "the value of overwrite is a table", "k8s.label expects what to change", "no option overwritten; did you mean overwrite?",
                 'configmaps "none" not found', "configmaps cannot be scaled: the kind has no subresource scale",
                 "ATTRIBUTE   VALUE\nUsername    firesteel\nGroups      [system:masters system:authenticated]"):
        assert text in r.out, (text, r.out)


JOB = """k8s.create {{apiVersion = "batch/v1", kind = "Job", metadata = {{name = "{name}"}}, spec = {{backoffLimit = 0,
  template = {{spec = {{restartPolicy = "Never", containers = {{{{name = "main", image = "host",
    command = {{"sh", "-c", "echo last words; exit {code}"}}}}}}}}}}}}}}"""


def reaching(t, job, state):
    cells = cell("job = " + job, 'Job effects="cluster"') + cell(f'expect(job):reaches("{state}", "1m")')
    k = Kernel(t, cells, *GRANTED, headless=True, env=sandbox(t))
    assert k.finish() == 1, k.of("error")
    return k.of("error")[0]["message"], k.text(name="stderr")


def test_a_failed_job_tells_its_exit_code_and_last_words(t):
    message, told = reaching(t, JOB.format(name="fails", code=7), "Complete")
    assert "container main of pod fails-" in message and "exited with 7" in message, message
    assert "last words" in told, told


STUCK = """k8s.create {{apiVersion = "batch/v1", kind = "Job", metadata = {{name = "{name}"}}, spec = {{backoffLimit = 0,
  template = {{spec = {{restartPolicy = "Never", containers = {{{{name = "main", image = "{image}",
    command = {{"sleep", "1"}}, resources = {{limits = {{{need}}}}}}}}}}}}}}}}}"""


def test_a_wait_that_lasts_says_why_once_and_so_does_its_timeout(t):
    cells = cell("job = " + STUCK.format(name="big", image="host", need='["nvidia.com/gpu"] = 1'), 'Job effects="cluster"')
    limit = 12 + 3 * PATIENCE  # it looks after 10 s
    # a preflight would have said it
    k = Kernel(t, cells + cell(f'expect(job):reaches("Complete", "{limit}s")'), *GRANTED, "--no-preflight", headless=True, env=sandbox(t))
    assert k.finish(limit + 20) == 1, k.code
    told, message = k.text(name="stderr"), k.of("error")[0]["message"]
    assert told.count("why: pod big-") == 1 and "waits for a node: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu" in told, told
    assert "no node has any nvidia.com/gpu" in told and "PodScheduled is False" in told, told
    assert "the time-out has passed" in message and "Insufficient nvidia.com/gpu" in message and "next: nvidia.com/gpu comes with nodes" in message, message


def test_an_object_tells_why_it_does_not_go_on(t):
    k = Kernel(t, "", "--allow", "cluster", env=sandbox(t))
    r = k.run("job = " + STUCK.format(name="none", image="nowhere.test/none:1", need=""), 'effects="cluster"')
    assert r.state == "ok", r
    r = k.run('repeat firesteel.sleep(0.1) until job:why().what\nprint(job:why())', 'timeout="1m"')
    assert "container main of pod none-" in r.out and "cannot start: " in r.out and "nowhere.test/none:1" in r.out, r
    assert "\n  seen: pod none-" in r.out, r
    assert k.run('print(k8s.why("configmap/kube-root-ca.crt"))').out == "it is without a state\n  looked at: its status, warnings about it\n"
    assert "is not there" in k.run('k8s.why("configmap/no")').error["message"] or "not found" in k.run(
        'k8s.why("configmap/no")').error["message"]


def test_nodes_tell_what_is_asked_of_them(t):
    k = Kernel(t, "", *GRANTED, env=sandbox(t))
    text = '''k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "asks" }, spec = { containers = { { name = "c", image = "host", command = { "sleep", "600" },
  resources = { requests = { cpu = "250m", memory = "64Mi" } } } } } }
expect(k8s.get("pod/asks")):reaches("Running", "1m")
nodes = k8s.nodes()
print(#nodes, nodes[1].cpu.asked, nodes[1].memory.asked, #nodes[1].holders, nodes[1].state)
print(nodes)'''
    r = k.run(text, 'effects="cluster" timeout="2m"')
    assert r.state == "ok" and r.out.startswith("1\t0.25\t67108864\t0\tReady\n"), r
    assert "CPU ASKED" in r.out and "HELD BY" in r.out and "0.25/" in r.out, r


def test_what_differs_from_the_last_good_run_is_told(t):
    """A job that ends well, and the same notebook with another parameter: its cell fails, and the card says what is different."""
    env, cwd = sandbox(t), t.dir()
    with open(f"{cwd}/n.lua", "w", encoding="utf-8") as f:
        f.write(cell('code = 0\nwho = "a"', 'tags=["parameters"]') + cell('who = who .. "!"', "Who") +
                cell('job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { generateName = "j-" }, spec = { backoffLimit = 0, template = { spec = { restartPolicy = "Never",'
                     ' containers = { { name = "c", image = "host", command = { "sh", "-c", "exit " .. code } } } } } } }\nexpect(job):reaches("Complete", "1m")', 'Job effects="cluster" timeout="2m"') +
                cell("print(job:why())", 'Why when="always"') + cell("print 'later'", "Later"))

    def play(*options):
        return sh(FIRESTEEL, "run", "n.lua", *GRANTED, *options, cwd=cwd, env=env, timeout=120)
    done = play("-p", "code=3")
    assert done.code == 1 and "differs" not in done.out, done  # there was no good one
    assert play().code == 0
    for options, says in ((("-p", "code=3"), "parameter code: 0 → 3"), ((), None)):
        done = play(*options)
        told = [line.strip() for line in done.out.splitlines() if "differs from the last good run" in line]
        assert done.code == (1 if says else 0) and bool(told) == bool(says), done
        assert not says or all(says in line and "n-20" in line and "Later" not in line for line in told) and len(told) == 2, told
    with open(f"{cwd}/n.lua", encoding="utf-8") as f:
        text = f.read()
    with open(f"{cwd}/n.lua", "w", encoding="utf-8") as f:
        f.write(text.replace('"!"', '"?"').replace("'later'", "'much later'").replace('"exit " ..', '"exit 4" ..'))
    done = play("-p", "code=")
    assert done.code == 2, done
    done = play("-p", "who=b")
    told = next(line for line in done.out.splitlines() if "differs from the last good run" in line)
    assert "cell Who was changed; cell Job was changed" in told and 'parameter who: a → b' in told and "Later" not in told, told


def behind_faults(t):
    env = sandbox(t)
    proxy = Faulty(env["KUBECONFIG"], t.dir())
    t.after(proxy.close)
    return proxy, dict(env, KUBECONFIG=proxy.kubeconfig)


def test_what_only_notes_something_ends_nothing(t):
    """The digests of images are noted when a wait is over, the cluster's name at the first request."""
    proxy, env = behind_faults(t)
    cells = cell("job = " + JOB.format(name="ends", code=0), 'Job effects="cluster" timeout="1m"')
    cells += cell('expect(job):reaches("Complete", "1m")\nprint(k8s.wait { job, "condition=Complete", timeout = "1m" }.kind)')
    for kind, fault in (("list pods", 403), ("list pods", 401), ("list pods", HANG), ("get namespaces", 500), ("get namespaces", HANG)):
        proxy.plan(kind, fault)
        k = Kernel(t, cells.replace('"ends"', f'"ends-{kind.split()[1]}-{fault}"'), *GRANTED, "--no-preflight", headless=True, env=env)
        assert k.finish(90 * PATIENCE) == 0 and "Job" in k.text(), (kind, fault, k.code, k.of("error"), k.stderr)
        assert proxy.faults, (kind, proxy.kinds)
        proxy.calm()


def test_a_preflight_that_has_no_answers_keeps_nobody_from_anything(t):
    proxy, env = behind_faults(t)
    proxy.plan("create selfsubjectaccessreviews", HANG)
    cells = cell("job = " + JOB.format(name="ends", code=0), 'Job effects="cluster"') + cell('expect(job):reaches("Complete", "1m")')
    k = Kernel(t, cells, *GRANTED, headless=True, env=env)
    assert k.finish(90 * PATIENCE) == 0 and proxy.faults, (k.code, k.of("error"), k.stderr, proxy.kinds)
    assert "check jobs" in proxy.kinds, proxy.kinds


def test_why_says_what_it_could_not_look_at(t):
    proxy, env = behind_faults(t)
    k = Kernel(t, "", "--allow", "cluster", env=env)
    r = k.run("job = " + STUCK.format(name="runs", image="host", need="").replace('"1"', '"60"'), 'effects="cluster"')
    assert r.state == "ok", r
    assert k.run('expect(job):reaches("Running", "1m")', 'timeout="1m"').state == "ok"
    r = k.run("print(job:why())")
    assert "no cause is known; it is Running\n  looked at: its status, 1 pod, warnings about it" in r.out, r
    assert "could not" not in r.out, r
    proxy.plan("list events", 403)
    r = k.run("print(job:why())")
    assert "looked at: its status, 1 pod" in r.out and "; could not look at warnings about it (list events in namespace default " in r.out, r
    assert "answers 403" in r.out, r


APP = """apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: app}
spec:
  type: Python
  image: ${img.ref}
  sparkVersion: 3.5.7
  mainApplicationFile: local:///opt/x.py
  imagePullSecrets: [login]
  driver: {cores: 1, memory: 512m, serviceAccount: ${account}}
  executor: {instances: 1, cores: 1, memory: 512m, gpu: {name: nvidia.com/gpu, quantity: ${gpus}}}
"""


def flown(t, account, gpus, more="", *options):
    cells = (cell(f'account = "{account}"\ngpus = {gpus}', 'tags=["parameters"]') + cell("print 'first'\nimg = {ref = 'x:1'}", "First") +
             cell("".join(f"-- {line}\n" for line in APP.splitlines()), 'language="yaml" template="app.yaml"') + more +
             cell('if go then k8s.create "app.yaml" end', 'effects="cluster"'))
    k = Kernel(t, cells, "--allow", "cluster", *options, headless=True, env=sandbox(t))
    k.finish()
    return k


def test_before_the_first_cell_a_preflight_says_all_that_stands_in_the_way(t):
    k = flown(t, "sparky", 1)
    told, message = k.text(name="stderr"), k.of("error")[0]["message"]
    for part in ["error: namespace default has no service account sparky, which the driver runs as",
                 "  next: kubectl create serviceaccount sparky --namespace=default",
                 "error: namespace default has no secret login", "error: no node is large enough for the executor",
                 "note: parts of SparkApplication are known when its cell runs"]:
        assert part in told, told
    assert k.code == 1 and message.startswith("3 things stand in the way; the first: namespace default has no") and "no cell was run" in message, message
    assert "first" not in k.text(), k.text()


def test_a_preflight_knows_what_the_notebook_makes_and_can_be_left_out(t):
    secret = cell('k8s.create {apiVersion = "v1", kind = "Secret", metadata = {name = "login"}}', 'Login effects="cluster"')
    k = flown(t, "spark", 0, secret)
    told = k.text(name="stderr")
    assert k.code == 0 and "note: namespace default has no secret login" in told and "error" not in told, (k.code, told)
    assert "first" in k.text()
    k = flown(t, "sparky", 1, cell('if go then k8s.account { "sparky", role = "edit" } end', 'effects="cluster"'))
    assert "preflight: note: namespace default has no service account sparky" in k.text(name="stderr"), k.text(name="stderr")
    # a pod that only needs a secret makes none
    k = flown(t, "spark", 0, cell('pod = { spec = { imagePullSecrets = { { name = "login" } } } }'))
    assert "error: namespace default has no secret login" in k.text(name="stderr") and k.code == 1, k.text(name="stderr")
    k = flown(t, "sparky", 1, "", "--no-preflight")
    assert k.code == 0 and "preflight" not in k.text(name="stderr") and "first" in k.text(), k.text(name="stderr")


def test_a_preflight_reads_objects_that_are_tables(t):
    """What the parameters determine is looked at whole, of others what is written out, and the rest is named."""
    table = 'k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = %s, namespace = "%s" },\n  spec = { serviceAccountName = "robot", containers = { { name = "c" } } } }\n'
    cells = (cell('who = "p"\nhost = "127.0.0.1:9/b:1"', 'tags=["parameters"]') + cell("print 'first'\nx = 'y'", "First") +
             cell(table % ('who .. "-1"', "default") + "later = " + table % ("x", "absent") +
                  'for i = 1, 2 do\n  k8s.apply { apiVersion = "v1", kind = "Secret", metadata = { name = "s" .. i } }\nend\n'
                  'k8s.create [[{"apiVersion": "nowhere.test/v1", "kind": "Text", "metadata": {"name": "t"}}]]\n'
                  'local made = pcall(k8s.create, {})\n'
                  'if x then k8s.create { apiVersion = "nothing/v1", kind = "Nothing" } end', 'effects="cluster"'))
    k = Kernel(t, cells, "--allow", "cluster", headless=True, env=sandbox(t))
    k.finish()
    told = k.text(name="stderr")
    for part in ["error: namespace default has no service account robot, which the pod runs as", "spec.containers[0].image: Required value",
                 "error: there is no namespace absent", "error: the cluster has no kind Text of nowhere.test/v1", "note: parts of Pod are known when its cell runs: kind, namespace and rights were checked",
                 "note: what 2 calls of k8s.create and k8s.apply make is known when their cells run"]:
        assert part in told, (part, told)
    assert "Nothing" not in told and "no service account default" not in told and k.code == 1 and "first" not in k.text(), told


def test_a_preflight_adds_up_what_all_objects_ask_for(t):
    """Each of the pods has room alone; the quota of each namespace is its own."""
    cpus = os.cpu_count() * 0.6
    pod = ('k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "%s" }, spec = { containers = { { name = "c", image = "host", '
           f'resources = {{ requests = {{ cpu = "{cpus:.1f}" }} }} }} }} }} }}\n')
    stop = cell("error 'that is all'", "Stop")
    for names, want in (("a", False), ("ab", True)):
        k = Kernel(t, stop + cell("".join(pod % n for n in names), 'effects="cluster"'), "--allow", "cluster", headless=True, env=sandbox(t))
        k.finish()
        told = k.text(name="stderr")
        assert (f"warning: now there is room for 0 of 1 pod pods ({cpus:g} CPU each)" in told) == want, told
        assert "no node is large enough" not in told, told


def test_expressions_before_the_first_cell_have_bounds(t):
    cells = (cell('n = 1', 'tags=["parameters"]') + cell("print 'first'\nerror 'that is all'", "First") +
             cell("-- apiVersion: v1\n-- kind: Pod\n-- metadata: {name: '${(function() while true do end end)()}'}", 'language="yaml" template="app.yaml"') +
             cell('if go then k8s.create "app.yaml" end', 'effects="cluster"'))
    k = Kernel(t, cells, "--allow", "cluster", headless=True, env=sandbox(t))
    k.finish()
    assert "first" in k.text() and "parts of Pod are known when its cell runs" in k.text(name="stderr"), k.text(name="stderr")


def test_a_preflight_asks_for_registries_and_bases(t):
    build = 'if go then image.build { from = base, tag = tag, add = {} }:push() end'
    cells = cell('base = "127.0.0.1:9/b:1"\ntag = "127.0.0.1:9/x:1"', 'tags=["parameters"]') + cell(build, 'effects="cluster"')
    k = Kernel(t, cells, "--allow", "cluster", headless=True, env=sandbox(t))
    k.finish()
    told = k.text(name="stderr")
    assert k.code == 1 and "error: the image cannot be pushed: 127.0.0.1:9: cannot connect" in told, told
    assert "error: the base image 127.0.0.1:9/b:1 is not here, and cannot be pulled" in told, told


def refused_in_advance(t, *cells, code=1):
    k = Kernel(t, cell('gpus = 1\nbase = nil\non = "jobs"', 'tags=["parameters"]') + "".join(cells), "--allow", "cluster", headless=True, env=sandbox(t))
    k.finish()
    assert k.code == code, (k.code, k.text(name="stderr"))
    return k.text(name="stderr")


def test_a_preflight_follows_variables_to_a_base_image(t):
    build = cell('if go then image.build { from = spark, tag = "x:1" } end', 'Build effects="cluster"')
    told = refused_in_advance(t, cell('host = "127.0.0.1:9"\nspark = base or k8s.version().sandbox and host .. "/spark:3" or nil'), build)
    assert "error: the base image 127.0.0.1:9/spark:3 is not here, and cannot be pulled" in told, told
    told = refused_in_advance(t, cell("spark = base or not k8s.version().sandbox and 'a/b' or nil"), build, code=0)
    assert "base image" not in told, told  # it is nil
    for unknown in ("spark = os.date()", "if base then\n  spark = 'a'\nend\nspark = 'b'"):
        told = refused_in_advance(t, cell(unknown), build, code=0)
        assert "note: whether the base image (from = spark) is to be had is known when cell 3 (Build) runs" in told, told


def test_a_preflight_counts_what_engines_ask_for(t):
    """No node of the sandbox has a GPU; a queue that is not there; an engine that is not chosen asks for nothing."""
    engine = 'engine = on == "%s" and k8s.jobs { image = img, executors = 3, cpu = "100m", gpu = gpus, network_policy = false } or nil'
    told = refused_in_advance(t, cell(engine % "jobs", 'Engine effects="cluster"'))
    assert "error: no node is large enough for the pod (0.1 CPU, 1 nvidia.com/gpu)" in told, told
    told = refused_in_advance(t, cell(engine % "mpijob", 'Engine effects="cluster"'), code=0)
    assert "nvidia" not in told, told
    told = refused_in_advance(t, cell('engine = k8s.mpijob { image = "x:1", executors = 1, cpu = 4000, service_account = "robot", network_policy = false }', 'Engine effects="cluster"'))
    assert "no node is large enough for the launcher (4000 CPU)" in told and "no service account robot, which the worker runs as" in told, told
    assert "note:" not in told, told


def test_what_a_preflight_refuses_has_nothing_to_clean_up(t):
    """Cells of when= run after failures of cells, not after one that came before the first."""
    k = Kernel(t, cell('gpus = 1', 'tags=["parameters"]') + cell('engine = k8s.jobs { image = "x:1", executors = 1, gpu = gpus, network_policy = false }', 'effects="cluster"') +
               cell("print 'cleaned'", 'when="always"') + cell("print 'failed'", 'when="failed"'), "--allow", "cluster", headless=True, env=sandbox(t))
    k.finish()
    assert k.code == 1 and "no cell was run" in k.of("error")[0]["message"], k.of("error")
    assert "cleaned" not in k.text() and "failed" not in k.text(), k.text()


def test_what_a_webhook_refuses_is_not_left_over(t):
    proxy, env = behind_faults(t)
    proxy.plan("create configmaps", "failed calling webhook")
    k = Kernel(t, cell('pcall(k8s.create, { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "m" } })', 'effects="cluster"'), *GRANTED, "--no-preflight",
               headless=True, env=env)
    assert k.finish(60 * PATIENCE) == 0 and proxy.faults, (k.code, proxy.kinds)
    assert [l["phase"] for l in k.of("ledger")][-1] == "failed", k.of("ledger")


def test_a_state_that_does_not_exist_is_refused_at_once(t):
    message, _ = reaching(t, JOB.format(name="works", code=0).replace("echo", "sleep 60; echo"), "COMPLETED")
    assert message == "a Job has no state COMPLETED; did you mean Complete?", message
    message, _ = reaching(t, JOB.format(name="also", code=0).replace("echo", "sleep 60; echo"), "Parked")
    assert message.startswith("a Job has no state Parked; it has Running, "), message


def test_a_state_of_a_pod_that_nobody_knows_is_waited_for_aloud(t):
    pod = """function pod(name) return k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = name }, spec = { containers = { {
  name = "main", image = "host", command = { "sleep", "600" } } } } } end
web, seen = pod "web", pod "seen"
seen:watch()"""
    k = Kernel(t, "", *GRANTED, env=sandbox(t))
    assert k.run(pod, 'effects="cluster"').state == "ok"
    assert k.run('expect(web):reaches "Runing"').error["message"] == "a Pod has no state Runing; did you mean Running?"
    limit = 31 + 3 * PATIENCE  # it says what it is after 30 s
    waits = k.insert(f'expect({{ web, seen }}):reaches("Parked", "{limit}s")')
    k.start(waits)
    k.done(waits, limit + 20)
    told = k.text(waits, "stderr")
    assert told.count("warning: Parked is no known state of a Pod; it is waited for all the same") == 2, told
    assert told.count("pod web is Running after 3") == 1 and "pod seen is" not in told, told  # a live table shows it


def test_copies_that_are_over_before_they_begin(t):
    k = Kernel(t, "", *GRANTED, env=sandbox(t))
    r = k.run("""
k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "hello" }, spec = { containers = { { name = "hello", image = "host",
  command = { "sleep", "600" } } } } }
k8s.wait { k8s.get("pods", "hello"), "jsonpath={.status.phase}=Running", timeout = "30s" }
io.open("here", "w"):write(("x"):rep(1 << 20)):close()
local late = 0
for i = 1, 60 do
  local fine, down = pcall(k8s.cp, "hello:/etc/hostname", "hostname", { timeout = "1ns" })
  local well, up = pcall(k8s.cp, "here", "hello:/tmp/", { timeout = "1ns" })
  for _, why in ipairs { down, up } do
    -- On a busy machine the server's answer may come first: the sandbox has no exec.
    if tostring(why):find "time%-out has passed" or tostring(why):find "could not find the requested resource" then late = late + 1 else print(why) end
  end
end
print(late)
""", 'effects="cluster,local" timeout="1m"')
    assert r.state == "ok" and r.out == "120\n", r


def test_a_person_is_asked(t):
    env = sandbox(t)
    k = Kernel(t, "", env=env)
    for name, answer, state in [("a", "no", "failed"), ("b", "yes", "ok"), ("c", "always", "ok"), ("d", None, "ok")]:
        cell_id = k.insert(f'k8s.create {{apiVersion = "v1", kind = "ConfigMap", metadata = {{name = "{name}"}}}}')
        k.start(cell_id)
        if answer:
            ask = k.wait(lambda e: e["type"] == "ask" and e["cell"] == cell_id)
            assert f"create ConfigMap {name}" in ask["question"] and ask["choices"] == ["yes", "always", "no"], ask
            assert k.ask(type="answer", ask=ask["ask"], value=answer)["ok"]
        assert k.done(cell_id)["state"] == state
    assert sorted(uids(t, env)) == ["b", "c", "d"]


def test_resume_verifies_by_uid(t):
    env = sandbox(t)
    k = stopped_run(t, env, CREATE + STOP + SECOND)
    before = uids(t, env)
    go(k)
    again = resume(t, k, env, CREATE + STOP + SECOND, *GRANTED)
    assert again.code == 0, again.of("error")
    after = uids(t, env)
    assert after["first"] == before["first"] and "second" in after
    assert set(again.text().split()) == {before["first"]}


def test_what_was_left_is_removed_before_it_is_made_again(t):
    env = sandbox(t)
    k = stopped_run(t, env, CREATE + SECOND + STOP)
    before = uids(t, env)
    go(k)
    edited = CREATE + SECOND.replace('a = "1"', 'a = "2"') + STOP
    refused = resume(t, k, env, edited, "--allow", "cluster")
    assert refused.code == 3, refused.of("error")
    message = refused.of("error")[-1]["message"]
    assert "create ConfigMap second" in message and "--allow destructive" in message, message
    assert uids(t, env) == before
    again = resume(t, k, env, edited, *GRANTED)
    assert again.code == 0, again.of("error")
    after = uids(t, env)
    assert after["first"] == before["first"] and after["second"] != before["second"]


def test_a_stale_cell_makes_its_objects_anew_and_others_keep_theirs(t):
    env, folder = sandbox(t), t.dir()

    def go_on(code, text, *words):
        with open(os.path.join(folder, "n.lua"), "w", encoding="utf-8") as f:
            f.write(text)
        done = sh(FIRESTEEL, "run", "n.lua", *words, cwd=folder, env=env)
        assert done.code == code, done
        return done.out

    go_on(0, CREATE + SECOND, *GRANTED)
    before = uids(t, env)
    out = go_on(0, CREATE + SECOND, "--stale", *GRANTED)
    assert "verifies  First   is what it made" in out and out.count(", verified") == 2, out
    assert uids(t, env) == before
    edited = CREATE + SECOND.replace('a = "1"', 'a = "2"')
    assert "runs      Second  its text has changed" in go_on(3, edited, "--stale", "--allow", "cluster"), "nothing is removed unasked"
    assert uids(t, env) == before
    go_on(0, edited, "--stale", *GRANTED)
    after = uids(t, env)
    assert after["first"] == before["first"] and after["second"] != before["second"], (before, after)


def test_an_object_that_is_gone_is_made_again(t):
    env = sandbox(t)
    k = stopped_run(t, env, CREATE + STOP)
    before = uids(t, env)
    other = Kernel(t, cell('k8s.delete("configmap", "first")', 'effects="destructive"'), *GRANTED, headless=True, env=env)
    assert other.finish() == 0, other.of("error")
    go(k)
    again = resume(t, k, env, CREATE + STOP, *GRANTED)
    assert again.code == 0, again.of("error")
    assert uids(t, env)["first"] != before["first"]


def test_clean(t):
    env = sandbox(t)
    k = stopped_run(t, env, CREATE + SECOND + STOP)
    name = k.of("welcome")[0]["run"]
    listed = sh(FIRESTEEL, "clean", name, "--dry-run", cwd=k.cwd, env=env)
    assert listed.code == 0 and listed.out.count("create ConfigMap") == 2, listed
    unasked = sh(FIRESTEEL, "clean", name, cwd=k.cwd, env=env)
    assert unasked.code == 3 and "--yes" in unasked.err, unasked
    stranger = sandbox(t)
    refused = sh(FIRESTEEL, "clean", name, "--yes", cwd=k.cwd, env=stranger)
    assert refused.code == 3, refused
    assert sorted(uids(t, env)) == ["first", "second"]
    done = sh(FIRESTEEL, "clean", name, "--yes", cwd=k.cwd, env=env)
    assert done.code == 0 and done.out.count("removed:") == 2, done
    assert not uids(t, env)
    again = sh(FIRESTEEL, "clean", name, cwd=k.cwd, env=env)
    assert again.code == 0 and "nothing is left" in again.out, again


def test_a_name_that_somebody_else_took_is_left_alone(t):
    env = sandbox(t)
    k = stopped_run(t, env, CREATE + STOP)
    script = cell('k8s.delete("configmap", "first")\n'
                  'k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "first"}}',
                  'effects="cluster,destructive"')
    other = Kernel(t, script, *GRANTED, headless=True, env=env)
    assert other.finish() == 0, other.of("error")
    theirs = uids(t, env)
    done = sh(FIRESTEEL, "clean", k.of("welcome")[0]["run"], "--yes", cwd=k.cwd, env=env)
    assert done.code == 0, done
    assert uids(t, env) == theirs


def test_a_run_that_is_alive_is_not_cleaned(t):
    env = sandbox(t)
    k = Kernel(t, CREATE + cell("firesteel.sleep '1m'"), *GRANTED, headless=True, env=env)
    k.wait(lambda e: e["type"] == "ledger" and e["phase"] == "outcome")
    name = k.of("welcome")[0]["run"]
    refused = sh(FIRESTEEL, "clean", name, "--yes", cwd=k.cwd, env=env)
    assert refused.code == 1 and "process" in refused.err, refused
    os.kill(k.pid(), signal.SIGKILL)
    k.process.wait(10 * PATIENCE)
    done = sh(FIRESTEEL, "clean", name, "--yes", cwd=k.cwd, env=env)
    assert done.code == 0 and not uids(t, env), done


def test_a_private_sandbox_goes_with_the_run(t):
    runtime = os.path.join(t.dir(), "run")
    env = {"HOME": t.dir(), "FIRESTEEL_RUNTIME_DIR": runtime}
    k = Kernel(t, CREATE, "--sandbox", *GRANTED, headless=True, env=env)
    assert k.finish() == 0, k.of("error")
    assert k.of("end")[0]["left"] == 0 and k.of("run")[0]["sandbox"]
    done = sh(FIRESTEEL, "clean", k.of("welcome")[0]["run"], cwd=k.cwd, env=env)
    assert done.code == 0 and "nothing is left" in done.out, done
    runs = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=k.cwd, env=env).out)
    assert [r["left"] for r in runs] == [0], runs
    k = Kernel(t, CREATE + STOP, "--sandbox", *GRANTED, headless=True, env=env)
    assert k.finish() == 1
    go(k)
    again = resume(t, k, env, CREATE + STOP, "--sandbox", *GRANTED)
    assert again.code == 0, again.of("error")
    with open(k.journal(), encoding="utf-8") as f:
        assert sum(json.loads(line).get("phase") == "intent" for line in f) == 2
    assert os.listdir(runtime) == []
    k = Kernel(t, CREATE + cell("firesteel.sleep '1m'"), "--sandbox", *GRANTED, headless=True, env=env)
    k.wait(lambda e: e["type"] == "ledger" and e["phase"] == "outcome")
    assert len(os.listdir(runtime)) == 4 # its folder, a kubeconfig, and whose they are
    os.kill(k.pid(), signal.SIGKILL)
    assert k.process.wait(10 * PATIENCE) == 128 + 9
    assert os.listdir(runtime) == []


def look(k):
    reply = k.ask(type="look")
    assert reply["ok"], reply
    return reply["found"]


def test_what_cells_have_made_is_looked_at(t):
    """Other kernels change and remove it; the looks say so, and leave nothing in the record."""
    env = sandbox(t)
    k, other = Kernel(t, "", *GRANTED, env=env), Kernel(t, "", *GRANTED, env=env)
    config = '{apiVersion = "v1", kind = "ConfigMap", metadata = {name = "%s"}, data = {a = "1"}}'
    cells = {}

    def make(title, source):
        made = k.run(source, f'{title} effects="cluster,destructive"')
        assert made.state == "ok", made
        cells[title] = k.last

    def elsewhere(source):
        done = other.run(source, 'x effects="cluster,destructive"')
        assert done.state == "ok", done

    make("Created", "first = k8s.create " + config % "first")
    make("Applied", "k8s.apply " + config % "second")
    make("Own", f"own = k8s.create {config % 'own'} k8s.patch(own, {{data = {{a = '2'}}}})")
    make("Gone", f"gone = k8s.create {config % 'gone'} gone:delete()")
    assert look(k) == {} and look(k) == {}
    events = len(k.events)
    elsewhere("k8s.patch('configmap', 'first', {data = {a = '2'}}) k8s.label('configmap', 'second', {tier = 'gpu'})")
    assert look(k) == {cells["Created"]: "ConfigMap first has changed: data.a"}, look(k)
    elsewhere("k8s.patch('configmap', 'first', {data = {a = '1'}}) k8s.delete('configmap', 'second')")
    assert look(k) == {cells["Applied"]: "ConfigMap second is gone"}, look(k)
    elsewhere("k8s.create " + config % "second")  # another one of its name
    assert look(k) == {cells["Applied"]: "ConfigMap second is gone"}, look(k)
    assert [e["type"] for e in k.events[events:]] == ["reply"] * (len(k.events) - events), k.events[events:]
    elsewhere("k8s.delete('configmap', 'second')")
    k.start(cells["Applied"])
    k.done(cells["Applied"])
    assert look(k) == {}, "what it made before does not count: %s" % look(k)
    headless = Kernel(t, cell("k8s.create " + config % "third", 'effects="cluster"') + cell("firesteel.sleep '1m'"), *GRANTED,
                      headless=True, env=env)
    headless.wait(lambda e: e["type"] == "ledger" and e["phase"] == "outcome")
    elsewhere("k8s.delete('configmap', 'third')")
    assert look(headless) == {}


def test_what_calls_have_set_is_looked_at(t):
    """Labels, annotations and patches: the fields that they set, and no others. What the run itself does later does not count."""
    env = sandbox(t)
    k, other = Kernel(t, "", *GRANTED, env=env), Kernel(t, "", *GRANTED, env=env)
    cells = {}

    def do(kernel, source, title="x"):
        made = kernel.run(source, f'{title} effects="cluster,destructive"')
        assert made.state == "ok", made
        cells[title] = kernel.last

    def stale():
        names = {i: title for title, i in cells.items()}
        return {names[i]: why for i, why in look(k).items()}

    do(other, """for _, name in ipairs { "one", "two", "three" } do
  k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name }, data = { a = "1", b = "1" } } end""")
    do(k, """k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "own", labels = { tier = "cpu" } },
  spec = { suspend = true, template = { spec = { restartPolicy = "Never", containers = { { name = "main", image = "x" } } } } } }""", "Made")
    do(k, 'k8s.patch("configmap", "one", { data = { a = "2", c = firesteel.null } })', "Merge")
    do(k, 'k8s.patch("configmap", "one", firesteel.array { { op = "replace", path = "/data/b", value = "2" } }, { type = "json" })', "Json")
    do(k, 'k8s.label("configmap", "two", { ["example.org/tier"] = "gpu" })', "Label")
    do(k, 'k8s.annotate("configmap", "two", { note = "seen" })', "Note")
    do(k, 'k8s.label("configmap", "three", { tier = "gpu" })', "First")
    do(k, 'k8s.label("configmap", "three", { tier = "cpu" }, { overwrite = true })', "Second")
    assert stale() == {} and stale() == {}, stale()
    do(other, """k8s.patch("configmap", "one", { data = { d = "1" } }) k8s.label("configmap", "two", { other = "1" })""")
    assert stale() == {}, "nobody set these: %s" % stale()
    do(other, """k8s.patch("configmap", "one", { data = { a = "3" } })
k8s.label("configmap", "two", { ["example.org/tier"] = "cpu" }, { overwrite = true })
k8s.label("job", "own", { tier = "gpu" }, { overwrite = true })
k8s.label("configmap", "three", { tier = "tpu" }, { overwrite = true })""")
    assert stale() == {"Made": "Job own has changed: metadata.labels.tier", "Merge": "ConfigMap one has changed: data.a",
                       "Label": "ConfigMap two has changed: metadata.labels.example.org/tier",
                       "Second": "ConfigMap three has changed: metadata.labels.tier"}, stale()
    do(other, 'k8s.patch("configmap", "one", { data = { a = "2", b = "3", c = "1" } }) k8s.delete("configmap", "two")')
    assert {"Merge": "ConfigMap one has changed: data.c", "Json": "ConfigMap one has changed: data.b",
            "Label": "ConfigMap two is gone", "Note": "ConfigMap two is gone"}.items() <= stale().items(), stale()
    do(k, 'k8s.delete("configmap", "one") k8s.delete("job", "own")', "Gone")
    assert set(stale()) == {"Label", "Note", "Second"}, "what the run itself removes is no change: %s" % stale()


def test_images_are_looked_at(t):
    env = sandbox(t)
    k, other = Kernel(t, "", *GRANTED, env=env), Kernel(t, "", *GRANTED, env=env)
    build = "image.build { tag = 'x:1', add = { 'f' }, worker = false }"
    for one, words in ((k, "a"), (other, "b")):
        with open(os.path.join(one.cwd, "f"), "w", encoding="utf-8") as f:
            f.write(words)
    r = k.run(build)
    assert r.state == "ok", r
    built = k.last
    assert look(k) == {}
    r = other.run(build)
    assert r.state == "ok", r
    assert look(k) == {built: "image x:1 has changed"}, look(k)
    assert other.run("image.remove 'x:1'").state == "ok"
    assert look(k) == {built: "image x:1 is gone"}, look(k)
    pushed = k.run(f"img = {build} print(img:push().ref)", 'effects="cluster"')
    assert pushed.state == "ok" and "x:1@sha256" in pushed.out, pushed
    assert look(k) == {}, look(k)
    here = k.last
    assert other.run(f"{build}:push()", 'effects="cluster"').state == "ok"
    assert look(k)[here] == "image x:1 has changed", look(k)  # here; the registry is asked once a minute
    answered = k.run("found = image.resolve 'x:1' print(found.digest)")
    assert answered.state == "ok" and k.last not in look(k), answered


run(globals())
