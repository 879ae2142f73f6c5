#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pipelines on the sandbox, with real pods: steps at once, outputs as inputs, failures, clean-up, resume; and bad graphs."""
import os
import re
import signal
import subprocess
import time

from kernel import Kernel, cell
from sandbox import sandbox
from layers import know_worker
from tap import FIRESTEEL, PATIENCE, SOURCE, eventually, run, sh

GRANTED = ("--allow", "cluster,destructive")
TRAIN = """apiVersion: batch/v1
kind: Job
metadata: {name: train-job}
spec:
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: main, image: host, command: [sh, -c, "echo rows were ${rows}; echo accuracy=0.97"]}"""


def headless(t, env, notebook, *options, cwd=None, seconds=90):
    k = Kernel(t, notebook, *GRANTED, *options, headless=True, env=env, cwd=cwd)
    k.finish(seconds)
    return k


def jobs(t, env):
    k = Kernel(t, "", env=env)
    r = k.run("for _, j in ipairs(k8s.list 'jobs') do print(j.metadata.name) end")
    assert r.state == "ok", r
    return sorted(r.out.split())


def graph(k):
    """The last rows of the pipeline's table: {step: (state, what)}."""
    rows = {}
    for e in k.of("display") + k.of("update"):
        table = e.get("data", {}).get("application/vnd.firesteel.table+json")
        for row in (table or {}).get("rows", []) if table and table.get("title", "").count(":") else []:
            rows[row["uid"]] = (row["cells"][1], row["cells"][3])
    return rows


def test_deep_graphs_are_drawn_at_once(t):
    """16 layers of two: 65,536 ways lead through it."""
    k = Kernel(t, cell("""local steps = {}
for i = 1, 16 do
  for j = 1, 2 do steps[("s%d_%d"):format(i, j)] = { call = print, after = i > 1 and { ("s%d_1"):format(i - 1), ("s%d_2"):format(i - 1) } or nil } end
end
pipeline { "deep", steps = steps }:run()"""), headless=True)
    assert k.finish(20) == 0, k.of("error")
    assert len(graph(k)) == 32 and all(state == "done" for state, _ in graph(k).values()), graph(k)


def test_refusals_and_time_outs_stay_what_they_are(t):
    k = Kernel(t, cell("""n = 0
pcall(function() pipeline { "p", steps = { a = { retries = 2, call = function() n = n + 1 http.post "http://127.0.0.1:1/x" end } } }:run() end)
print(n)
pipeline { "p", steps = { a = { call = function() http.post "http://127.0.0.1:1/x" end } } }:run()"""), headless=True)
    assert k.finish() == 3 and k.text() == "1\n", (k.text(), k.of("error"))
    k = Kernel(t, cell("""pipeline { "p", timeout = "300ms", steps = { a = { call = function() firesteel.sleep "60s" end } } }:run()"""), headless=True)
    assert k.finish() == 4, k.of("error")


def test_outputs_are_inputs(t):
    env = sandbox(t)
    k = headless(t, env, cell(TRAIN, 'file="train.yaml"') + cell("""
flow = pipeline { "nightly", timeout = "3m", steps = {
  prep  = { image = "host", command = "echo start; echo rows=1234" },
  other = { call = function() run.metric("size", 3) return { list = { "a", "bb" } } end },
  fan   = { call = function(with, item) return { len = #item * with.size } end, each = "${other.list}", with = { size = "${other.size}" } },
  host  = { image = "host", command = { "sh", "-c", "echo $WHAT of ${item}" }, env = { WHAT = "${other.size}" }, each = { "x", "y" } },
  train = { apply = "train.yaml", reaches = "Complete", with = { rows = "${prep.rows}" } },
  serve = { image = "host", command = { "sh", "-c", "echo 'got=${train.accuracy}'" }, when = "${train.accuracy} > 0.95",
            outputs = { got = { log = "got=(%S+)" }, ok = "status.succeeded" } },
  never = { image = "host", command = "exit 1", when = "${train.accuracy} > 0.99" },
  clean = { delete = { "prep", "train", "serve", "host" }, when = "always" },
  alarm = { call = function() error "it must not run" end, when = "failed" },
} }
flow:run()
print(flow:output("fan", "len")[1], flow:output("fan", "len")[2], flow:output("serve", "got"), flow:output("serve", "ok"))""",
                                                                      'effects="cluster,destructive"'))
    assert k.code == 0, (k.of("error"), k.stderr)
    assert k.text().endswith("3\t6\t0.97\t1\n"), k.text()
    states = {step: state for step, (state, _) in graph(k).items() if "/" not in step}
    assert states == dict.fromkeys(("prep", "other", "fan", "host", "train", "serve", "clean"), "done") | {"never": "skipped", "alarm": "skipped"}, states
    assert jobs(t, env) == []
    by_step = {e["branch"] for e in k.of("ledger") if e["phase"] == "intent" and e["binding"] != "file.write"}
    assert by_step == {"nightly/prep", "nightly/train", "nightly/serve", "nightly/clean", "nightly/host/x", "nightly/host/y"}, by_step
    tables = [e["data"]["application/vnd.firesteel.table+json"] for e in k.of("update") if "data" in e]
    row = next(r for table in tables for r in table["rows"] if r["uid"] == "train" and r.get("name"))
    assert row["name"] == "train-job" and row["about"]["kind"] == "Job", row  # Enter describes it


def test_a_step_waits_for_what_its_kind_comes_to(t):
    """An MPIJob, which nothing runs here, ends well when its operator says so; then the step is done."""
    k = headless(t, sandbox(t), cell('''job = { apiVersion = "kubeflow.org/v2beta1", kind = "MPIJob", metadata = { name = "m" }, spec = { mpiReplicaSpecs = {} } }
flow = pipeline { "ranks", timeout = "1m", steps = {
  run = { apply = job },
  operator = { call = function()
    firesteel.sleep(2)
    print "it succeeds"
    k8s.patch("mpijob/m", { status = { conditions = { { type = "Succeeded", status = "True" } } } }, { subresource = "status" })
  end },
  next = { call = function() print "and the next" end, after = "run" },
} }
flow:run()''', 'effects="cluster"'))
    assert k.code == 0 and k.text().index("it succeeds") < k.text().index("and the next"), (k.of("error"), k.text())


def test_a_step_in_a_queue_with_a_patched_pod(t):
    k = headless(t, sandbox(t), cell("""flow = pipeline { "patched", steps = {
  prep = { call = function() return { name = "team" } end },
  look = { image = "host", command = "echo colour=$COLOUR", queue = "${prep.name}-a", priority = "urgent",
           template = { metadata = { labels = { cost = "${prep.name}" } }, spec = { containers = { { env = { { name = "COLOUR", value = "red" } } } } } },
           outputs = { colour = { log = "colour=(%S+)" } } },
} }
flow:run()
expect(flow:output("look", "colour")):equals "red"
job = k8s.list("jobs", { selector = "firesteel/step=look" })[1]
print(job.metadata.labels["kueue.x-k8s.io/queue-name"], job.metadata.labels["kueue.x-k8s.io/priority-class"],
  job.spec.template.metadata.labels["kueue.x-k8s.io/queue-name"], job.spec.template.metadata.labels.cost)
print(select(2, pcall(function() flow:argo() end)))
print(select(2, pcall(pipeline, { "wrong", steps = { one = { call = print, queue = "mine" } } })))""", 'effects="cluster"'))
    assert k.code == 0 and "team-a\turgent\tnil\tteam" in k.text(), (k.of("error"), k.text())
    assert "give the pod of a step its queue" in k.text() and "queue is for steps with an image" in k.text(), k.text()


def test_a_step_sees_volumes(t):
    k = headless(t, sandbox(t), cell("""k8s.apply { apiVersion = "v1", kind = "Secret", metadata = { name = "login" }, stringData = { word = "open" } }
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "rates" }, data = { rate = "0.5" } }
place = fs.temp()
flow = pipeline { "seen", steps = {
  what = { call = function() return { name = "login" } end },
  look = { image = "host", command = "echo word=$(cat $AT/secret/word) rate=$(cat $AT/map/rate)", env = { AT = place },
           volumes = { [place .. "/secret"] = "secret/${what.name}", [place .. "/map"] = "configmap/rates" },
           outputs = { word = { log = "word=(%S+)" }, rate = { log = "rate=(%S+)" } } },
} }
flow:run()
expect(flow:output("look", "word")):equals "open"
expect(flow:output("look", "rate")):equals(0.5)""", 'effects="cluster"'))
    assert k.code == 0, (k.of("error"), k.text())


def test_steps_that_can_run_at_once_do(t):
    k = Kernel(t)
    r = k.run("""local now, most = 0, 0
local function work() now = now + 1 most = math.max(most, now) firesteel.sleep(0.1) now = now - 1 end
pipeline { "wide", steps = { a = work, b = work, c = { call = work, after = { "a", "b" } }, d = { call = work, after = "a" } } }:run()
print(most)""")
    assert r.state == "ok" and r.out.endswith("2\n"), r


def test_a_failing_step_ends_it(t):
    env = sandbox(t)
    began = time.monotonic()
    k = headless(t, env, cell("""
flow = pipeline { "nightly", steps = {
  prep  = { image = "host", command = "echo ok" },
  long  = { image = "host", command = "sleep 300" },
  train = { image = "host", command = "echo first words; echo the last words; exit 3", after = "prep", retries = 1 },
  serve = { image = "host", command = "true", after = "train" },
  clean = { delete = { "prep", "long", "train" }, when = "always" },
  alarm = { call = function() print "alarm" end, when = "failed" },
} }
flow:run()""", 'effects="cluster,destructive"'))
    assert k.code == 1 and time.monotonic() - began < 60 * PATIENCE
    message = k.of("error")[0]["message"]
    assert message.startswith("pipeline nightly: step train failed: ") and "the last words" in message and "Job" in message, message
    states = {step: state for step, (state, _) in graph(k).items()}
    assert states == {"prep": "done", "long": "cancelled", "train": "failed", "serve": "cancelled", "clean": "done", "alarm": "done"}, states
    assert jobs(t, env) == []  # of each attempt
    attempts = [e["branch"] for e in k.of("ledger") if e["phase"] == "intent" and e["binding"] == "k8s.create"]
    assert {"nightly/train", "nightly/train (2)"} < set(attempts), attempts
    assert "alarm\n" in k.text()


def test_times(t):
    k = Kernel(t)
    r = k.run("""f = pipeline { "slow", steps = { a = { call = function() firesteel.sleep(60) end, timeout = "200ms" } } } f:run()""")
    assert r.state == "failed" and "step a failed: it took longer than its timeout of 200ms" in r.error["message"], r
    r = k.run("""f = pipeline { "slow", timeout = "300ms", steps = { a = function() firesteel.sleep(60) end,
  b = { call = function() print "cleaned" end, when = "always" } } } f:run()""")
    assert r.state == "failed" and "took longer than its timeout" in r.error["message"] and r.out.endswith("cleaned\n"), r


def test_bad_graphs(t):
    k = Kernel(t)
    good = 'one = { call = print }'
    for steps, says in (
            ('a = { call = print, after = "b" }, b = { call = print, after = "a" }', "steps wait for one another: a -> b -> a"),
            ('a = { call = print, after = "a" }', "step a: it waits for itself"),
            (f'{good}, two = {{ call = print, after = "on" }}', "step two: after: there is no step on; did you mean one?"),
            (f'{good}, two = {{ image = "host", command = "echo ${{oen.x}}" }}', "step two: ${oen.x}: there is no step oen; did you mean one?"),
            (f'{good}, two = {{ image = "host", command = "echo ${{rows}}" }}', "step two: ${rows}: it is neither a parameter of with nor a variable"),
            ('one = { image = "host", outputs = { rows = { log = "(.)" } } }, two = { image = "host", command = "echo ${one.row}" }',
             "step two: ${one.row}: step one has no output row; did you mean rows?"),
            (f'{good}, two = {{ image = "host", command = "true", with = {{ x = 1 }} }}', "step two: nothing uses its parameter x"),
            (f'{good}, two = {{ image = "host", comand = "true" }}', "step two: there is no option comand; did you mean command?"),
            ('two = { image = "host", call = print }', "step two: it has both image and call"),
            ("two = {}", "step two: it does nothing"),
            (f'{good}, two = {{ delete = "one" }}', "step two: delete: step one makes no object"),
            (f'{good}, two = {{ delete = "three" }}', "step two: delete: there is no step three"),
            ('one = { call = print, when = "always" }, two = { call = print, after = "one" }', "step two: it waits for one, which runs at the end"),
            ('two = { apply = "no-such.yaml" }', "step two: no-such.yaml"),
            ('two = { call = print, timeout = "soon" }', "step two: timeout"),
            ('two = { call = print, retries = -1 }', "step two: retries"),
            (f'{good}, two = {{ call = print, when = "${{one.s}} == \'yes\')" }}', "step two: when: "),
            (f'{good}, two = {{ call = print, when = "one.s == \'yes\'" }}', "step two: when: one.s is an output: write ${one.s}"),
            (f'{good}, two = {{ call = print, when = "\'${{one.s}}\' == \'yes\'" }}', "step two: when: ${one.s} is within quotes, where it is only a text; write ${one.s} without them"),
            (f'{good}, two = {{ call = print, when = "oen == 1" }}', "step two: when: oen is neither a parameter of with nor a variable"),
            ('two = { call = print, with = { n = "${1 +}" } }', "step two: ${1 +}: unexpected symbol near <eof>"),
            ('two = { call = print, each = 3 }', 'step two: each is a list, or an output that is one: "${prep.shards}"'),
            ('two = { call = print, each = "abc" }', 'step two: each is a list, or'),
            ('two = { call = print, each = { 1 }, at_once = 0 }', "step two: at_once is a number from 1 on"),
            ('two = { call = print, outputs = "x" }', 'step two: outputs is a table: { rows = "status.rows" }'),
            ('two = { image = "host", volumes = { ["/data"] = "disk/sales" } }', 'step two: volumes: a place in the container, and what is seen there: { ["/data"] = "pvc/NAME" }'),
            ('two = { image = "host", volumes = { data = "pvc/sales" } }', "step two: volumes: a place in the container"),
            ('two = { image = "host", volumes = { ["/data"] = "pvc/${nobody}" } }', "step two: ${nobody}: it is neither a parameter"),
            ('two = { apply = "x.yaml", volumes = {} }', "step two: volumes are for steps with an image"),
            ('two = { image = 3 }', "step two: image is the name of an image")):
        r = k.run(f'pipeline {{ "bad", steps = {{ {steps} }} }}')
        assert r.state == "failed" and "pipeline bad: " in r.error["message"] and says in r.error["message"], (steps, r)
    for source, says in (("pipeline 'x'", "a name and steps"), ('pipeline { "Bad Name", steps = { a = print } }', "small letters"),
                         ('pipeline { "x", step = {}, steps = {} }', "did you mean steps")):
        r = k.run(source)
        assert r.state == "failed" and says in r.error["message"], (source, r)


def test_nothing_starts_without_the_file_of_a_trainer(t):
    k = Kernel(t)
    r = k.run('pipeline { "p", steps = { a = { call = function() print "began" end }, b = { trainer = "no.lua", after = "a" } } }:run()')
    assert r.state == "failed" and "pipeline p: step b: no.lua: " in r.error["message"] and "began" not in r.out, r


def test_conditions_that_are_good(t):
    k = Kernel(t)
    r = k.run("""word, s = "it's", function() return { s = "one.s" } end
for _, when in ipairs { "${one.s} == 'one.s'", "'one.s' == ${one.s}", "math.max(1e3, 2) > 2 and word == [[it's]]", '${p} == 1', "p == 1" } do
  local flow = pipeline { "p", steps = { one = s, two = { call = function() print "ran" end, when = when, with = { p = 1 }, after = "one" } } }
  flow:run()
end""")
    assert r.state == "ok" and r.out.count("ran\n") == 5, r


RESUMED = cell("""
flow = pipeline { "nightly", steps = {
  a = { image = "host", command = "echo n=1" },
  b = { image = "host", command = "for i in $(seq 600); do test -e " .. firesteel.cwd .. "/go && exit 0; sleep 0.1; done; exit 9" },
  c = { image = "host", command = "echo ${a.n}", after = { "a", "b" } },
} }
flow:run()""", 'effects="cluster,destructive"')


def test_resume_goes_on_at_the_first_step_that_is_not_done(t):
    env = sandbox(t)
    k = Kernel(t, RESUMED, *GRANTED, headless=True, env=env)
    eventually(lambda: len(jobs(t, env)) == 2, 30)
    eventually(lambda: open(k.journal(), encoding="utf-8").read().count('"phase":"outcome"') == 2, 10)
    os.kill(k.pid(), signal.SIGKILL)
    k.process.wait(10 * PATIENCE)
    before = jobs(t, env)
    open(os.path.join(k.cwd, "go"), "w").close()
    again = headless(t, env, RESUMED, "--resume", k.of("welcome")[0]["run"], cwd=k.cwd)
    assert again.code == 0, (again.of("error"), again.stderr)
    after = jobs(t, env)
    assert set(before) < set(after) and len(after) == 3, (before, after)
    verified = [e for e in again.of("ledger") if e["phase"] == "verified"]
    assert len(verified) == 2, again.of("ledger")


def test_an_interrupt_runs_the_steps_of_the_end(t):
    env = sandbox(t)
    k = Kernel(t, cell("""
flow = pipeline { "nightly", steps = {
  long  = { image = "host", command = "sleep 300" },
  after = { call = print, after = "long" },
  clean = { delete = "long", when = "always" },
  alarm = { call = function() print "alarm" end, when = "failed" },
} }
flow:run()""", 'effects="cluster,destructive"') + cell("print 'never'") + cell("flow:clean()", 'when="always"'), *GRANTED, headless=True, env=env)
    eventually(lambda: len(jobs(t, env)) == 1, 30)
    assert k.ask(type="interrupt")["ok"]
    assert k.finish(40) == 130 and jobs(t, env) == [] and k.text().count("alarm\n") == 1 and "never" not in k.text(), (k.text(), k.stderr)
    states = {step: state for step, (state, _) in graph(k).items()}
    assert states == {"long": "cancelled", "after": "cancelled", "clean": "done", "alarm": "done"}, states
    assert k.of("error")[0]["message"] == "interrupted", k.of("error")


ENDLESS = """pipeline { "p", steps = { a = function() print "began" firesteel.sleep(60) end,
  clean = { call = function() %s end, when = "always"%s } } }:run()"""


def test_a_time_out_of_the_cell_or_the_run_does_too(t):
    for options, arguments, says in (('timeout="400ms"', (), "the cell ran longer"), ("", ("--timeout", "900ms"), "the run took longer")):
        k = Kernel(t, cell(ENDLESS % ('firesteel.sleep "100ms" print "cleaned"', ""), options), *arguments, headless=True)
        assert k.finish(20) == 4 and k.text() == "began\ncleaned\n", (k.text(), k.of("error"))
        assert says in k.of("error")[0]["message"], k.of("error")


def test_the_steps_of_the_end_end(t):
    """In spite of a wait and of a loop that never ends, and at once when somebody insists."""
    for endless in ("firesteel.sleep(60)", "while true do end"):
        k = Kernel(t, cell(ENDLESS % (endless, ', timeout = "500ms"'), 'timeout="400ms"'), headless=True)
        assert k.finish(20) == 4, (endless, k.of("error"))
    k = Kernel(t, cell(ENDLESS % ('print "cleaning" firesteel.sleep(60) print "never"', "")) + cell("print 'never'"), headless=True)
    for word in ("began", "cleaning"):
        k.wait(lambda e: e["type"] == "stream" and word in e["text"])
        assert k.ask(type="interrupt")["ok"]
    began = time.monotonic()
    assert k.finish(20) == 130 and "never" not in k.text() and time.monotonic() - began < 5 * PATIENCE, k.text()


def test_the_one_who_waits_is_patient(t):
    """firesteel run insists after ten seconds, but not while the steps of the end have time."""
    path = os.path.join(t.dir(), "n.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write(cell(ENDLESS % ('firesteel.sleep "11s" print "cleaned"', "")))
    program = subprocess.Popen([FIRESTEEL, "run", path], stdout=subprocess.PIPE, text=True)
    while not program.stdout.readline().endswith("| began\n"):
        pass
    program.send_signal(signal.SIGINT)
    out = program.communicate(timeout=40 * PATIENCE)[0]
    assert program.returncode == 130 and "cleaned" in out, (program.returncode, out)


def test_an_interrupt_of_a_step_of_the_end(t):
    """The first interrupt finds a pipeline that cleans up: it does so once more, from that step on."""
    k = Kernel(t)
    cell_id = k.insert("""n = 0
pipeline { "p", steps = { a = function() end, before = { call = function() print "before" end, when = "always" },
  clean = { call = function() n = n + 1 print("clean " .. n) if n == 1 then firesteel.sleep(60) end end, when = "always", after = "before" } } }:run()""")
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and "clean 1" in e["text"])
    k.ask(type="interrupt")
    assert k.done(cell_id, 10)["state"] == "cancelled" and k.text() == "before\nclean 1\nclean 2\n", k.text()
    assert k.run("'here'").value == "here"  # the kernel goes on, and owes nothing
    assert k.text() == "before\nclean 1\nclean 2\n"


def test_steps_of_the_end_have_attempts(t):
    k = Kernel(t, cell("""n = 0
pipeline { "p", steps = { clean = { call = function() n = n + 1 if n < 3 then error "busy" end print("clean", n) end, when = "always", retries = 2 } } }:run()"""),
               headless=True)
    assert k.finish(20) == 0 and k.text() == "clean\t3\n" and graph(k)["clean"][0] == "done", (k.text(), k.of("error"))
    k = Kernel(t, cell("""pipeline { "p", steps = { clean = { call = function() error "busy" end, when = "always", retries = 1 }, more = { call = print, when = "always" } } }:run()"""),
               headless=True)
    assert k.finish(20) == 1 and "step clean failed: " in k.of("error")[0]["message"], k.of("error")
    assert {step: state for step, (state, _) in graph(k).items()} == {"clean": "failed", "more": "done"}


def test_parts_of_a_fan_out(t):
    k = Kernel(t, cell("""tries = {}
flow = pipeline { "p", steps = {
  fan  = { each = { "x", "y", "z" }, retries = 1, outputs = { n = "n" }, call = function(_, item)
             tries[item] = (tries[item] or 0) + 1
             firesteel.sleep(item == "x" and 0.05 or item == "y" and 0.3 or tries.z == 1 and 60 or 0)
             if item == "y" and tries.y == 1 then error "not yet" end
             return { n = tries[item] }
           end },
  many = { each = "${numbers}", call = function() end },
} }""").replace("tries = {}", "tries, numbers = {}, {} for i = 1, 40 do numbers[i] = i end") +
               cell("flow:run() print(table.concat(flow:output('fan', 'n'), ' '))"), headless=True)
    assert k.finish(20) == 0 and k.text() == "1 2 2\n", (k.text(), k.of("error"))  # what was done stays done
    rows = graph(k)
    assert rows["fan"] == ("done", "3/3") and rows["fan/2"][0] == "done" and rows["many"] == ("done", "40/40") and "many/1" not in rows, rows
    k = Kernel(t, cell("""pipeline { "p", steps = { fan = { each = { "x", "y" }, call = function(_, item) if item == "y" then error "bad" end firesteel.sleep(60) end } } }:run()"""),
               headless=True)
    assert k.finish(20) == 1
    rows = graph(k)
    assert rows["fan"][1].startswith("0/2, y: ") and rows["fan/1"][0] == "cancelled" and rows["fan/2"][0] == "failed", rows
    last = [e["data"]["application/vnd.firesteel.table+json"]["rows"] for e in k.of("update") if "data" in e][-1]
    assert all(isinstance(row["cells"][2], str) for row in last), last  # no clock goes on


def test_the_examples_of_the_page(t):
    """As printed, but that `busybox` is this machine. flow:submit and what follows it need a real Argo: tests/cluster/case_argo.py."""
    with open(os.path.join(SOURCE, "doc", "pipelines.md"), encoding="utf-8") as f:
        blocks = re.findall(r"^```lua\n(.*?)^```$", f.read().replace("busybox", "host"), re.M | re.S)
    last = next(i for i, block in enumerate(blocks) if "flow:submit" in block)
    assert last == 4, blocks
    k = headless(t, sandbox(t), "".join(cell(block, 'effects="cluster,destructive"') for block in blocks[:last] + ["flow:run()"]))
    assert k.code == 0, (k.of("error"), k.stderr)
    assert {step: state for step, (state, _) in graph(k).items()} == dict.fromkeys(("prep", "train", "serve", "clean"), "done"), graph(k)
    assert "kind: Workflow" in k.text() and "firesteel/step in (prep,train)" in k.text(), k.text()
    with open(os.path.join(k.cwd, "weekly.yaml"), encoding="utf-8") as f:
        assert "triggerPolicy" in f.read()


def test_what_was_read_is_a_number_for_who_computes(t):
    k = Kernel(t)
    r = k.run("""
      for name, text in pairs { m = "0.9500", v = "1.10", id = "007", sha = "12e4567", n = "34" } do
        local f = io.open(name, "w") f:write(text) f:close()
      end
      flow = pipeline { "numbers", steps = {
        a = { call = function() return { told = "1.10" } end, outputs = { m = { file = "m" }, v = { file = "v" }, id = { file = "id" },
              sha = { file = "sha" }, n = { file = "n" }, told = "told" } },
        b = { call = function(with)
          print(with.m > 0.9, with.id, with.sha, math.type(with.n), type(with.told))
        end, with = { m = "${a.m}", id = "${a.id}", sha = "${a.sha}", n = "${a.n}", told = "${a.told}" }, when = "${a.m} > 0.9" },
        c = { apply = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c" }, data = { v = "v-${a.v}" } }, after = "b", when = "${a.m} > 1" },
      } }
      flow:run()
      print(flow:output("a", "m") + 0.05, flow:output("a", "told"), flow:output("a", "v"))""")
    assert "true\t007\t12e4567\tinteger\tstring" in r.out and "1.0\t1.10\t1.1" in r.out, r


def test_the_recipe(t):
    cwd, home = t.dir(), t.dir()
    know_worker(f"{home}/.local/share")
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "40-pipeline.lua"), "--cwd", cwd, "--sandbox", *GRANTED, "-p", "radius=3",
              env={"HOME": home, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None, "KUBECONFIG": None}, timeout=200)
    assert done.code == 0, done
    answer = re.search(r"a circle of radius 3 has an area of (\d+\.\d+)", done.out)
    assert answer and abs(float(answer[1]) - 9 * 3.1416) < 0.5, done
    assert "step train failed" in done.out and re.search(r"option --pi: '\d[.\d]*\.\.' is not a number", done.out), done


run(globals())
