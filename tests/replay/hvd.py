#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hvd.run in a cell: the function travels, results and output come back by rank, and what cannot travel is refused."""
import os
import signal
import subprocess
import time

from tap import BUILD, FIRESTEEL, PATIENCE, eventually, processes, run, sh



def notebook(t, text, name="n.lua"):
    folder = t.dir()
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return folder


def play(folder, *options, **rest):
    return sh(FIRESTEEL, "run", "n.lua", *options, cwd=folder, **rest)


TRAVELS = """\
-- %% Names
scale = 10
function helper(x) return x * scale end
-- %% Ranks
local hvd = require "hvd"
local offset, unused = 5, nil
r = hvd.run(function(n, given)
  hvd.init()
  print("here is", hvd.rank())
  local sum = hvd.allreduce(hvd.rank() + 1, { op = hvd.Sum })
  return helper(n) + offset + hvd.rank(), { sum = sum, zeros = nn.ops.zeros { 2, 2 }, second = given.list[2], bytes = "\\0\\255" }
end, { args = { 4, firesteel.parse_json '{"list":[1,2]}' }, np = 2 })
print(table.concat(r:ranks(), " "), #r, r[2])
local _, more = r:rank(1)
print(more.sum, #more.zeros, more.zeros[1][1], more.second, #more.bytes)
print(pcall(r.rank, r, 2))
r
"""


def test_a_function_travels(t):
    done = play(notebook(t, TRAVELS))
    assert done.code == 0, done
    for line in ("Running 2 processes...", "[1,0]<stdout>:here is\t0", "[1,1]<stdout>:here is\t1", "45 46\t2\t46",
                 "3\t2\t0.0\t2\t2", "there is no rank 2: the ranks are 0 to 1", "rank 1: 46, a table"):
        assert line in done.out, (line, done)


REFUSED = """\
-- %% Names
co = coroutine.create(print)
app = setmetatable({ kind = "SparkApplication" }, getmetatable(k8s.create {
  apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c" } }))
-- %% Refused
local app, deep, file, got = app, { list = { app } }, io.tmpfile(), k8s.get
local job = async(function() end)
for _, fn in ipairs {
  function() return app end, function() return deep end, function() return file end, function() return co end,
  function() return k8s.list end, function() return got end, function() return sh "true" end, function() return job end,
  function() return firesteel.null end,
} do
  print(select(2, pcall(hvd.run, fn, { np = 1 })))
end
print(select(2, pcall(hvd.run, print, { np = 1, args = { app } })))
print(select(2, pcall(hvd.run, function() end, { np = 0 })))
print(select(2, pcall(hvd.run, function() end, { nps = 1 })))
print(select(2, pcall(hvd.run, function() end, { on = {} })))
print(select(2, pcall(hvd.run, 7)))
print(select(2, pcall(function() return hvd.rank() end)))
print(select(2, pcall(function() return require "nn".Dense end)))
"""


def test_what_cannot_travel_is_named(t):
    done = play(notebook(t, REFUSED), "--sandbox", "--allow", "cluster")
    assert done.code == 0, done
    for words in ("upvalue 'app' is a handle of a SparkApplication, which cannot travel",
                  "upvalue 'deep', field 'list', item 1 is a handle of a SparkApplication",
                  "upvalue 'file': file (0x", "global 'co' is a coroutine", "global 'k8s' is the kernel's module 'k8s'",
                  "upvalue 'got' is a function of the kernel's library", "global 'sh' is a function of the kernel's library",
                  "upvalue 'job' is a branch", "global 'firesteel'", "args, item 1 is a handle of a SparkApplication",
                  "np must be an integer from 1 on, not 0", "has no option nps; did you mean np?",
                  "on expects where the ranks shall run", "expects the function that the ranks call, not a number",
                  "hvd.rank is for ranks", "module 'nn' belongs to trainer files and to functions for ranks"):
        assert words in done.out, (words, done)
    assert "Running" not in done.out, done


FAILS = """\
-- %% Fails timeout="30s"
hvd.run(function()
  hvd.init()
  if hvd.rank() == 1 then error "no more disk" end
  hvd.barrier()
end, { np = 2 })
"""


def test_the_first_failing_rank_is_named(t):
    done = play(notebook(t, FAILS))
    assert done.code == 1, done
    assert "hvd.run: rank 1 failed: Fails:3: no more disk" in done.out + done.err, done
    assert "Fails:3: in function <Fails:1>" in done.out, done


def test_one_rank_fails_alike(t):
    done = play(notebook(t, '-- %% One\nhvd.run(function() error "boom" end, { np = 1 })\n'))
    assert done.code == 1 and "hvd.run: rank 0 failed: One:1: boom" in done.out + done.err, done


def test_results_that_are_too_large(t):
    done = play(notebook(t, '-- %% Large\nhvd.run(function() return ("x"):rep(5 << 20) end, { np = 1 })\n'))
    assert done.code == 1, done
    assert "has 5120 KiB, and a cell takes 4096: write it to a file" in done.out + done.err, done


MISTAKEN = """\
-- %% Mistaken
local function deep() local l for i = 1, 190000 do l = { l } end return l end
print(pcall(hvd.run, function() return 1 end, { np = 2, args = { n = 1 << 40 } }))
print(pcall(hvd.run, function() return 1 end, { np = 1, args = { n = -5 } }))
print(pcall(hvd.run, deep, { np = 1 }))
print(pcall(hvd.run, deep, { np = 2 }))
for np = 1, 2 do
  local args = setmetatable({}, { __len = function() error "no length" end })
  print(select(2, pcall(hvd.run, function() return 1 end, { np = np, args = args })))
end
"""


NILS = """\
-- %% Nils
local function last(a, b, c, ...) return tostring(b) .. " " .. tostring(c) .. " " .. select("#", ...) end
for np = 1, 2 do
  for _, args in ipairs { { 1, nil, 3 }, { [3] = 3 }, { n = 4, 1, nil, 3 } } do print(hvd.run(last, { np = np, args = args })[np]) end
end
print(select(2, pcall(hvd.run, last, { args = { a = 5 } })))
"""


def test_arguments_behind_a_nil_travel(t):
    done = play(notebook(t, NILS))
    said = [line.strip() for line in done.out.splitlines() if line.strip().startswith("nil ")]
    assert done.code == 0 and said == ["nil 3 0", "nil 3 0", "nil 3 1"] * 2, done
    assert "args is a list of arguments, so it cannot have the key 'a'" in done.out, done


def test_mistaken_arguments_and_results_end_no_process(t):
    done = play(notebook(t, MISTAKEN))
    assert done.code == 0 and "signal" not in done.out, done
    assert "args has n = 1099511627776, which is no number of arguments" in done.out, done
    assert "args has n = -5, which is no number of arguments" in done.out, done
    assert done.out.count("nested more than 180 deep") >= 2, done
    assert done.out.count("Mistaken:7: no length") >= 2, done


def test_a_large_result_comes_whole(t):
    done = play(notebook(t, '-- %% Large\nlocal r = hvd.run(function() return ("x"):rep(3 << 20) end, { np = 1 })\nprint(#r[1])\n'))
    assert done.code == 0 and str(3 << 20) in done.out, done


TRAINS = """\
-- %% Trains
r = hvd.run(function(epochs)
  hvd.init()
  local model = nn.Sequential { nn.Dense { 1, input_shape = { 2 } } }
  model:compile { optimizer = nn.SGD { learning_rate = 0.1 }, loss = "mse" }
  local x, y = data.tensor { { 0, 1 }, { 1, 0 } }, data.tensor { { 1 }, { 0 } }
  model:fit { x, y, epochs = epochs, verbose = 2 }
  return model
end, { np = 1, args = { 2 } })
print(#r.history, r.metrics.loss ~= nil, type(r[1]))
local again = hvd.run(function(bytes) return nn.load(bytes):predict(data.tensor { { 1, 1 } }):totable() end, { np = 1, args = { r[1] } })
print(type(again[1][1][1]))
"""


def test_progress_and_models(t):
    done = play(notebook(t, TRAINS))
    assert done.code == 0 and "2\ttrue\tstring" in done.out and "number" in done.out, done


OPTIONS = """\
-- %% Options
local r = hvd.run(function() hvd.init() hvd.barrier() return os.getenv "FLAVOUR" end,
  { np = 2, env = { FLAVOUR = "sour" }, timeline = "timeline.json", start_timeout = "30s" })
print(r[1], r[2])
-- %% Branches
local list = parallel.map({ 1, 2, 3 }, function(i) return hvd.run(function(n) return n * n end, { np = 1, args = { i } })[1] end)
print(table.concat(list, " "))
"""


def test_options_and_branches(t):
    folder = notebook(t, OPTIONS)
    done = play(folder)
    assert done.code == 0 and "sour\tsour" in done.out and "1 4 9" in done.out, done
    with open(os.path.join(folder, "timeline.json"), encoding="utf-8") as f:
        assert "BARRIER" in f.read().upper()


TIMELINES = """\
-- %% Real
hvd.run(function() hvd.init() for i = 1, 3 do hvd.allreduce(1, { op = hvd.Sum, name = "hits" }) end hvd.barrier() end,
  { np = 2, timeline = "timeline.json" })
t = hvd.timeline "timeline.json"
for _, one in ipairs(t) do print(one.name, one.kind, one.count, one.seconds >= 0 and one.waited >= 0) end
print(t.operations, t.events > 20, t.seconds > 0)
print(t)
-- %% Wrong
for _, text in ipairs {
  '{"traceEvents":[{"ph":"X","pid":0,"ts":1,"dur":2,"name":"a"}]}', "[]", "[", "7", '{"a":1}', '[{"pid":0,"ts":1,"name":"a"}]',
  '[{"ph":"B","ts":1,"name":"a"}]', '[{"ph":"X","pid":0,"ts":1,"name":"a"}]', '[{"ph":"E","pid":0,"ts":1}]',
  '[{"ph":"B","pid":4,"ts":1,"name":"a"}]', '[{"ph":"B","pid":4,"ts":9,"name":"a"},{"ph":"E","pid":4,"ts":8}]', '[{"ph":"B","pid":4,"ts":"1","name":"a"}]',
} do
  fs.write("wrong.json", text)
  print(select(2, pcall(hvd.timeline, "wrong.json")))
end
"""


def test_a_timeline_is_checked_and_summed_up(t):
    done = play(notebook(t, TIMELINES))
    assert done.code == 0, done
    for words in ("hits\tALLREDUCE\t3\ttrue", "true\ttrue", "3 × ALLREDUCE", "1 events, 0 operations, 0.000 s", "0 events, 0 operations",
                  "wrong.json: it is no list of events", "event 1: ph must be a phase", "event 1: pid must be an integer, not nil",
                  "event 1: dur must be a number of microseconds, not nil", "event 1: it ends what has not begun in process 0",
                  '"a" of process 4 never ends', "event 2: ts goes back from 9 to 8 in process 4", "event 1: ts must be a number of microseconds, not 1"):
        assert words in done.out, (words, done)
    assert done.out.count("wrong.json: it is no list of events") == 2, done


WRONG_ENGINES = """\
-- %% Engines
for _, on in ipairs {
  k8s.jobs { image = "i", volumes = { [1.5] = "/data" } }, k8s.mpijob { image = "i", volumes = { data = true } },
  k8s.sparkapp { image = "i", volumes = { { name = "data", emptyDir = {} } } }, k8s.mpijob { image = "i", memory = "600m" },
} do
  print(select(2, pcall(hvd.run, function() end, { np = 1, on = on })))
end
print(select(2, pcall(k8s.jobs, { image = "i", volumes = "data" })))
print(select(2, pcall(hvd.run, function() end, { np = 1, on = k8s.sparkapp { image = "i", gpu = { gpu = 1 } } })))
print(select(2, pcall(hvd.run, function() end, { np = 1, on = k8s.sparkapp { image = "i", gpu = 1, task_gpu = 0.7 } })))
print(select(2, pcall(spark.submit, { "local:///a.py", gpu = 1 })))
print(select(2, pcall(spark.submit, { "local:///a.py", master = "k8s", task_gpu = 1 })))
for _, on in ipairs {
  k8s.jobs { image = "i", priority = "high" }, k8s.jobset { image = "i", template = { priorityClassName = "high" } },
  k8s.mpijob { image = "i", template = { spec = { volumes = { { emptyDir = {} } } } } },
  k8s.sparkapp { image = "i", template = { spec = { containers = { "me" } } } },
} do
  print(select(2, pcall(hvd.run, function() end, { np = 1, on = on })))
end
print(select(2, pcall(hvd.run, function() end, { min_np = 1, np = 2, on = k8s.jobset { image = "i" } })))
"""


def test_what_an_engine_cannot_be_is_said_before(t):
    done = play(notebook(t, WRONG_ENGINES))
    assert done.code == 0, done
    for words in ("volumes expects the names of claims, not a number", "volumes expects the folder where a claim is mounted, not a boolean",
                  'k8s.sparkapp: volumes are claims and where they are mounted, { mnist = "/data" }', "k8s.jobs: volumes must be",
                  "k8s.jobs: priority is a WorkloadPriorityClass of Kueue, for jobs in a queue: queue = …",
                  'k8s.jobset: template is a patch of a pod, { spec = { priorityClassName = "high" } }: it has no priorityClassName',
                  "k8s.mpijob: template.spec.volumes[1] has no name", "k8s.sparkapp: template.spec.containers[1] must be a table",
                  "k8s.jobset: a JobSet has a fixed number of pods; elastic jobs run by k8s.jobs",
                  'k8s.sparkapp: gpu is how many GPUs, 1, or a device and how many, { ["amd.com/gpu"] = 1 }',
                  "k8s.sparkapp: task_gpu is a number of GPUs, or a part of one up to 0.5", "spark.submit: gpu is for drivers and executors elsewhere",
                  "spark.submit: task_gpu needs gpu, the GPUs of an executor",
                  'memory = "600m" is in thousandths of a byte, as Kubernetes reads it: "600Mi"'):
        assert words in done.out, (words, done)
    assert "Running" not in done.out, done


RESUMED = """\
-- %% First
local r = hvd.run(function(t) local f = io.open("count", "a") f:write "x" f:close() return t.b .. t.a .. t.c end,
  { np = 1, args = { { c = 3, a = 1, b = 2 } } })
print(r[1])
-- %% Second
if not io.open "go" then error "not yet" end
"""


def test_a_resumed_run_does_not_do_it_again(t):
    folder = notebook(t, RESUMED)
    assert play(folder).code == 1
    with open(os.path.join(folder, "go"), "w", encoding="utf-8"):
        pass
    done = sh(FIRESTEEL, "run", "n.lua", "--resume", "last", cwd=folder)
    assert done.code == 0, done
    with open(os.path.join(folder, "count"), encoding="utf-8") as f:
        assert f.read() == "x"
    assert "213" in done.out, done


SLEEPS = '-- %% Sleeps\nhvd.run(function() os.execute "sleep 300.25" end, { np = 2 })\n'


def test_an_interrupt_leaves_nothing(t):
    folder = notebook(t, SLEEPS)
    child = subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    eventually(lambda: len(processes("sleep 300.25")) >= 2)
    child.send_signal(signal.SIGINT)
    assert child.wait(20 * PATIENCE) == 130
    eventually(lambda: not processes("sleep 300.25"))


def test_a_timeout_ends_it(t):
    begun = time.monotonic()
    done = play(notebook(t, '-- %% Late timeout="1s"\nhvd.run(function() os.execute "sleep 300.5" end, { np = 1 })\n'))
    assert done.code == 4, done
    assert time.monotonic() - begun < 10 * PATIENCE, done
    eventually(lambda: not processes("sleep 300.5"))


run(globals())
