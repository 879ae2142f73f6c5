#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""spark.submit with the real spark-submit: here, and on a standalone cluster of PySpark's own classes. Skipped where
there is no PySpark in the tests' cache (tests/support/tool-pyspark) or no Java."""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import urllib.request

from sandbox import Sandbox
from tap import BUILD, CACHE, FIRESTEEL, OWN, PATIENCE, QUICK_JAVA, SOURCE, Skip, eventually, processes, run, sh

VENV = os.path.join(CACHE, "pyspark")
# The program trains nothing: it prints what Keras prints, and computes its sum with Spark.
PROGRAM = """
import os, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.appName("sums").getOrCreate()
for epoch in 1, 2:
    print(f"Epoch {epoch}/2")
    for step in 1, 2, 3:
        print(f"{step}/4 [{step * '='}>...] - ETA: 0s - loss: {2 / epoch:.4f}")
    print(f"4/4 [=====] - 0s 3ms/step - loss: {1 / epoch:.4f} - accuracy: 0.9{epoch}")
print("2/2 - 0s - loss: 0.4000 - accuracy: 0.9300")
print("sum", spark.sparkContext.parallelize(range(10), 2).sum(), "of", sys.argv[1:], "in", os.environ.get("PLACE"))
if "fail" in sys.argv:
    spark.sparkContext.parallelize([0], 1).map(lambda x: 1 // x).collect()
if "wait" in sys.argv:
    print("waits", flush=True)
    time.sleep(600)
sys.exit(3 if "three" in sys.argv else 0)
"""
CONF = 'conf = { ["spark.ui.enabled"] = "false", ["spark.app.mark"] = "%s" }' % OWN


def needs():
    if not os.path.exists(f"{VENV}/bin/spark-submit"):
        raise Skip("there is no PySpark in the tests' cache")
    if not shutil.which("java"):
        raise Skip("java is not installed")


def environment(t):
    needs()
    home = t.dir()
    return {"HOME": home, "XDG_STATE_HOME": None, "XDG_DATA_HOME": None, "KUBECONFIG": None, "SPARK_HOME": None,
            "VIRTUAL_ENV": VENV, "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": QUICK_JAVA}


def notebook(t, *cells):
    """A folder with the program and a notebook of these cells."""
    folder = t.dir()
    with open(f"{folder}/sums.py", "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    with open(f"{folder}/nb.lua", "w", encoding="utf-8") as f:
        f.write("\n".join(f"-- %% {i}\n{c}\n" for i, c in enumerate(cells)))
    return folder


def firesteel(folder, *options, env, timeout=240):
    return sh(FIRESTEEL, "run", "nb.lua", *options, cwd=folder, env=env, timeout=timeout)


def events(folder):
    (journal,) = glob.glob(f"{folder}/.firesteel/*.jsonl")
    with open(journal, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def spooled(folder):
    """All that was spooled: the whole log of spark-submit is there."""
    text = ""
    for name in glob.glob(f"{folder}/.firesteel/*/log-*"):
        with open(name, encoding="utf-8", errors="replace") as f:
            text += f.read()
    return text


def javas():
    return [p for p in processes(OWN) if "java" in p]


def test_a_program_here(t):
    env = environment(t)
    folder = notebook(t, f"""
job = spark.submit {{ "sums.py", master = "local[1]", args = {{ "a b", 3 }}, {CONF}, env = {{ PLACE = "here" }} }}
print(job.code, job.state, #job.history, job.history[1].metrics.accuracy, job.metrics.accuracy)
expect(job.output):contains "sum 45"
""")
    done = firesteel(folder, env=env)
    assert done.code == 0, done
    assert "sum 45 of ['a b', '3'] in here" in done.out, done
    assert "0\tCOMPLETED\t2\t0.91\t0.93" in done.out, done
    # the cell has the ends of the epochs, but neither moments of them nor Spark's information
    assert "4/4 [=====]" in done.out and "ETA" not in done.out and " INFO " not in done.out, done
    log = spooled(folder)
    assert " INFO SparkContext: Running Spark version" in log and "1/4 [=>...] - ETA: 0s" in log, log[:2000]
    shown = [e["data"]["application/vnd.firesteel.progress+json"] for e in events(folder)
             if "application/vnd.firesteel.progress+json" in (e.get("data") or {})]
    assert len(shown[-1]["history"]) == 2 and shown[-1]["evaluated"]["loss"] == 0.4, shown[-1]
    # a resumed run knows that nothing has changed
    (run_name,) = [os.path.basename(j)[:-6] for j in glob.glob(f"{folder}/.firesteel/*.jsonl")]
    again = firesteel(folder, "--resume", run_name, env=env)
    assert again.code == 0 and "0\tCOMPLETED\t2" in again.out, again
    assert spooled(folder) == log


def test_what_spark_does_inside(t):
    env = environment(t)
    folder = notebook(t, """
job = spark.submit { "inside.py", master = "local[2,4]", args = { 20 }, driver_memory = "512m", env = { WORDS = secret "TOKEN" },
  ui = { skew_seconds = 1, spill = "1m", every = "500ms" },
  conf = { ["spark.shuffle.spill.numElementsForceSpillThreshold"] = 5000, ["spark.app.mark"] = "%s" } }
for _, f in ipairs(job.findings) do print(f.kind, f.what) end
local i = job:inside { spill = "1m" }
print(#i.jobs, #i.queries, i.executors[1].cores, i.executors[1].spilled > 1e6, i.executors[1].peak_heap > 1e6)""" % OWN)
    shutil.copy(f"{SOURCE}/tests/spark/inside.py", folder)
    with open(f"{folder}/inside.py", encoding="utf-8") as f:
        program = f.read()
    with open(f"{folder}/inside.py", "w", encoding="utf-8") as f: # a job's description may be a secret
        f.write(program.replace("n = int(sys.argv[1])", "import os\nsc.setJobDescription(os.environ['WORDS'])\nn = int(sys.argv[1])"))
    done = firesteel(folder, env={**env, "TOKEN": "hush-hush-hush"})
    assert done.code == 0, done
    for text in ("skew\tstage 1: one task of 20 took ", "): skew by key, it read ", "spill\texecutors spilled ",
                 ": 1 task failed and ran again: ValueError: the file part-2 is being written", " failed: 4 tasks failed: ValueError: bad record 17",
                 "\t2\ttrue\ttrue"):
        assert text in done.out, (text, done)
    titles = [table["title"] for e in events(folder) for kind, table in (e.get("data") or {}).items() if kind.endswith("table+json")]
    # It was looked at while it ran. Spark itself often counts a task that has begun before the one that has ended.
    assert any(re.search(r", [123] tasks? run on 2 cores$", title) for title in titles), titles
    assert "SparkListenerApplicationEnd" in spooled(folder)
    assert "hush" not in done.out + done.err + spooled(folder) + json.dumps(events(folder)), done
    (run_name,) = [os.path.basename(j)[:-6] for j in glob.glob(f"{folder}/.firesteel/*.jsonl")]
    again = firesteel(folder, "--resume", run_name, env={**env, "TOKEN": "hush-hush-hush"})
    assert again.code == 0 and "\t2\ttrue\ttrue" in again.out, again


def test_a_program_that_fails(t):
    env = environment(t)
    folder = notebook(t, f"""
local job = spark.submit {{ "sums.py", master = "local[1]", args = {{ "three" }}, {CONF}, check = false, info = true,
  env = {{ PLACE = secret "TOKEN" }} }}
print(job.code, job.state, job.cause)
spark.submit {{ "sums.py", master = "local[1]", args = {{ "fail" }}, {CONF} }}
""")
    done = firesteel(folder, env={**env, "TOKEN": "hush-hush-hush"})
    assert done.code == 1, done
    assert "3\tFAILED\t" in done.out and "sum 45 of ['three'] in" in done.out, done
    assert "hush" not in done.out + done.err + spooled(folder) + json.dumps(events(folder)), done
    # the exception of the task, through the JVM and Py4J, is the one line; frames are folded, information is asked for
    assert "sums.py exited with 1: ZeroDivisionError: integer division or modulo by zero" in done.out + done.err, done
    assert "\tat org.apache" not in done.out and " INFO SparkContext: Running Spark" in done.out, done


def test_what_cannot_begin(t):
    env = environment(t)
    folder = notebook(t, """
print(pcall(spark.submit, { "none.py" }))
print(pcall(trainer.run, "sums.py"))
print(pcall(spark.submit, { "sums.py", mater = "local" }))
print(pcall(spark.submit, { "sums.py", master = "local[1]", deploy_mode = "cluster" }))
print(pcall(spark.submit, { "sums.py", master = "spark://127.0.0.1:1", deploy_mode = "cluster" }))
print(pcall(spark.submit, { "sums.py", args = { secret "TOKEN" } }))
""")
    done = firesteel(folder, "--allow", "cluster", env={**env, "TOKEN": "hush-hush-hush"})
    for text in ("there is no file none.py", 'spark.submit { "sums.py"', "did you mean master?", "has no cluster mode",
                 "runs no drivers in Python", "give it in env"):
        assert text in done.out, (text, done)
    assert "hush" not in done.out, done
    folder = notebook(t, 'spark.submit { "sums.py", master = "spark://127.0.0.1:1" }')
    refused = firesteel(folder, env=env)
    assert refused.code == 3 and "submit sums.py to spark://127.0.0.1:1" in refused.out + refused.err, refused
    nowhere = {**env, "VIRTUAL_ENV": None, "PATH": "/usr/bin:/bin"}
    folder = notebook(t, 'spark.submit { "sums.py" }')
    done = firesteel(folder, env=nowhere)
    assert done.code == 1 and "there is no spark-submit" in done.out + done.err, done
    done = firesteel(folder, env={**nowhere, "SPARK_HOME": "/nowhere"})
    assert done.code == 1 and "SPARK_HOME is /nowhere, but" in done.out + done.err, done


def begun(t, folder, env, *options):
    """A run in the background, and what it has printed by then."""
    full = {k: v for k, v in {**os.environ, **env}.items() if v is not None}
    with open(f"{folder}/out", "wb") as out:
        process = subprocess.Popen([FIRESTEEL, "run", "nb.lua", *options], cwd=folder, env=full, stdout=out, stderr=out,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
    t.after(lambda: process.poll() is None and process.kill())

    def text():
        with open(f"{folder}/out", encoding="utf-8") as f:
            return f.read()
    return process, text


def started(t, folder, env, *options):
    """The run, when its program has begun to wait, and what tells what it has printed."""
    process, text = begun(t, folder, env, *options)

    def waits():
        assert process.poll() is None, text()
        return "waits\n" in text()
    eventually(waits, 120, 0.2)
    return process, text


# Instead of spark-submit: an executor that goes with its driver, or one that stays.
EXECUTOR = """#!/bin/sh
labels=$(printf '%s\\n' "$@" | sed -n 's/^spark.kubernetes.executor.label.//p' | paste -sd ,)
"$KUBECTL" run "executor-$PART" --image=host --restart=Never --labels="$labels" --command -- sleep 300 || exit 9
case $PART in stays) ;; *) "$KUBECTL" delete pod "executor-$PART" --now ;; esac
[ $PART != fails ]
"""
SENT = """
for _, part in ipairs { "goes", "fails", "stays" } do
  print(part, pcall(spark.submit, { "sums.py", master = "k8s", deploy_mode = "client", env = { PART = part } }))
end
"""


def test_an_application_whose_executors_have_gone_leaves_nothing(t):
    cluster = Sandbox()
    t.after(cluster.stop)
    folder = notebook(t, SENT)
    os.makedirs(f"{folder}/spark/bin")
    with open(f"{folder}/spark/bin/spark-submit", "w", encoding="utf-8") as f:
        f.write(EXECUTOR)
    os.chmod(f"{folder}/spark/bin/spark-submit", 0o755)
    done = firesteel(folder, "--allow", "cluster", env={**cluster.env, "KUBECTL": cluster.exe, "SPARK_HOME": f"{folder}/spark"})
    assert done.code == 0 and "goes\ttrue" in done.out and "fails\tfalse" in done.out and "stays\ttrue" in done.out, done
    assert "\n1 left over: " in done.out, done


SENT_TO_MASTER = """
for _, what in ipairs { "exit 0", "exit 7", "sleep 300" } do
  print(what, pcall(spark.submit, { "sums.py", master = "spark://127.0.0.1:1", env = { PART = what } }))
end
"""


def test_a_driver_here_leaves_nothing_on_a_standalone_cluster(t):
    folder = notebook(t, SENT_TO_MASTER)
    os.makedirs(f"{folder}/spark/bin")
    with open(f"{folder}/spark/bin/spark-submit", "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\necho begun $PART\nexec sh -c \"$PART\"\n")
    os.chmod(f"{folder}/spark/bin/spark-submit", 0o755)
    process, text = begun(t, folder, {"SPARK_HOME": f"{folder}/spark"}, "--allow", "cluster")
    eventually(lambda: "begun sleep 300" in text(), 30, 0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(30 * PATIENCE) == 130, text()
    assert "exit 0\ttrue" in text() and "exit 7\tfalse" in text(), text()
    assert "left over" not in text(), text()
    cleaned = sh(FIRESTEEL, "clean", "--yes", cwd=folder)
    assert cleaned.code == 0 and "sums.py" not in cleaned.out, cleaned


REFUSED = """
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "stays" } }
for _, what in ipairs { { "none.py" }, { "sums.py", args = { secret "TOKEN" } }, { "sums.py", deploy_mode = "far" }, { "sums.py" } } do
  what.master, what.deploy_mode = "k8s", what.deploy_mode or "client"
  print(pcall(spark.submit, what))
end
"""


def test_an_application_that_was_not_begun_leaves_nothing(t):
    cluster = Sandbox()
    t.after(cluster.stop)
    folder = notebook(t, REFUSED)
    done = firesteel(folder, "--allow", "cluster", env={**cluster.env, "SPARK_HOME": "/nowhere", "TOKEN": "hush-hush-hush"})
    for text in "there is no file none.py", "give it in env", "not far", "SPARK_HOME is /nowhere, but":
        assert text in done.out, (text, done)
    assert done.code == 0 and "\n1 left over: " in done.out, done


def test_an_interrupt_ends_it(t):
    env = environment(t)
    folder = notebook(t, f'spark.submit {{ "sums.py", master = "local[1]", args = {{ "wait" }}, {CONF} }}')
    process, _ = started(t, folder, env)
    assert javas()
    process.send_signal(signal.SIGINT)
    assert process.wait(30 * PATIENCE) == 130
    assert eventually(lambda: not javas(), 5), javas()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def standalone(t, env):
    """A master and a worker of a standalone cluster: its address, and what the master's page tells."""
    port, page, folder = free_port(), free_port(), t.dir()
    full = {k: v for k, v in {**os.environ, **env, "SPARK_WORKER_DIR": folder, "MARK": OWN,
                              "PATH": f"{VENV}/bin:{os.environ['PATH']}"}.items() if v is not None}

    def start(*words):
        log = open(f"{folder}/log", "ab")
        process = subprocess.Popen([f"{VENV}/bin/spark-class", *words], env=full, stdout=log, stderr=log, cwd=folder,
                                   stdin=subprocess.DEVNULL, start_new_session=True)
        log.close()

        def stop():
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        t.after(stop)
    address = f"spark://127.0.0.1:{port}"
    start("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page))
    start("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", str(free_port()), "--cores", "1",
          "--memory", "1g", address)

    def state():
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{page}/json/", timeout=5) as answer:
                return json.load(answer)
        except OSError:
            return None
    eventually(lambda: (state() or {}).get("aliveworkers") == 1, 120, 0.3)
    return address, state


def test_on_a_standalone_cluster(t):
    env = environment(t)
    address, state = standalone(t, env)
    conf = CONF.replace("{ ", '{ ["spark.executor.memory"] = "512m", ["spark.my.token"] = secret "TOKEN", ', 1)
    folder = notebook(t, f"""
job = spark.submit {{ "sums.py", master = "{address}", name = "a name", args = {{ "here" }}, {conf} }}
print(job.code, job.state, job.id)
""", f'spark.submit {{ "sums.py", master = "{address}", args = {{ "wait" }}, {conf} }}')
    env["TOKEN"] = "hush-hush-hush"
    env["TMPDIR"] = t.dir()
    process, told = started(t, folder, env, "--allow", "cluster")
    text = told()
    first = re.search(rf"0\tCOMPLETED\t(app-\d+-\d+)\n", text)
    assert first and "sum 45 of ['here']" in text, text
    assert f"application {first.group(1)} on {address}" in text, text
    second = re.findall(r"application (app-\S+) on", text)[-1]
    assert [a["id"] for a in state()["activeapps"]] == [second] and second != first.group(1), state()
    assert not processes("hush-hush"), "a secret stands in the list of processes"
    process.send_signal(signal.SIGINT)
    assert process.wait(40 * PATIENCE) == 130
    assert eventually(lambda: not state()["activeapps"], 20, 0.2)
    assert {a["id"]: a["state"] for a in state()["completedapps"]}.keys() == {first.group(1), second}
    assert not [name for name in os.listdir(env["TMPDIR"]) if name.startswith("firesteel-")], os.listdir(env["TMPDIR"])
    effects = [(e["phase"], e.get("effect"), e.get("binding")) for e in events(folder) if e["type"] == "ledger"]
    assert ("intent", "cluster", "spark.submit") in effects, effects
    cleaned = sh(FIRESTEEL, "clean", "--yes", cwd=folder, env=env)
    assert cleaned.code == 0 and "left over" not in told(), (told(), cleaned)


STANDALONE = """cluster = spark.standalone { workers = 2, memory = "600m" }
print("cluster", cluster.master, cluster.workers)
-- %% job
job = spark.submit { "sums.py", master = cluster.master, executor_memory = "512m", env = { PLACE = "there" }, ["conf"] = { ["spark.ui.enabled"] = "false" } }
print(job.code, job.state, job.id)
-- %% wait
if not fs.exists "go" then sh "touch waits; sleep 600" end
-- %% stop
cluster:stop()
local gone = pcall(spark.submit, { "sums.py", master = cluster.master })
print("stopped", gone)"""


def daemons(folder):
    return processes(f"{folder}/firesteel-standalone-")


def listeners(pids):
    """Addresses at which these processes listen."""
    inodes = set()
    for pid in pids:
        for fd in glob.glob(f"/proc/{pid.split(':')[0]}/fd/*"):
            with contextlib.suppress(OSError):
                inodes |= set(re.findall(r"socket:.(\d+)", os.readlink(fd)))
    found = set()
    for name in "tcp", "tcp6":
        with open(f"/proc/net/{name}", encoding="utf-8") as f:
            found |= {w[1].split(":")[0] for w in map(str.split, f) if w[3] == "0A" and w[9] in inodes}
    return found


def test_a_standalone_cluster_of_the_run(t):
    env = dict(environment(t), TMPDIR=t.dir())
    folder = notebook(t, STANDALONE)
    first, text = begun(t, folder, env)

    def waits():
        assert first.poll() is None, text()
        return os.path.exists(f"{folder}/waits")
    eventually(waits, 300, 0.3)
    pids = eventually(lambda: len(daemons(env["TMPDIR"])) == 3 and daemons(env["TMPDIR"]), 60)  # executors have ended
    loopback = {"0100007F", "0000000000000000FFFF00000100007F"}
    assert listeners(pids) and listeners(pids) <= loopback, listeners(pids)
    assert "sum 45 of [] in there" in text() and "0\tCOMPLETED\tapp-" in text(), text()
    # the secret stands nowhere but in files of our own
    (conf,) = glob.glob(f"{env['TMPDIR']}/firesteel-standalone-*/spark.conf")
    with open(conf, encoding="utf-8") as f:
        secret = re.search(r"authenticate.secret=(\w{48})\n", f.read()).group(1)
    assert os.stat(conf).st_mode & 0o777 == 0o600 and not processes(secret), conf
    with open(glob.glob(f"{folder}/.firesteel/*.jsonl")[0], encoding="utf-8") as f:
        assert secret not in f.read()
    # killed, it leaves nothing; resumed, it is there again at the same address and what was done there holds
    os.kill(events(folder)[0]["pid"], signal.SIGKILL)
    first.wait(60 * PATIENCE)
    eventually(lambda: not daemons(env["TMPDIR"]), 20, 0.2)
    eventually(lambda: not os.listdir(env["TMPDIR"]), 20, 0.2)
    with open(f"{folder}/go", "w", encoding="utf-8"):
        pass
    again = firesteel(folder, "--resume", "last", env=env)
    master = re.search(r"cluster\t(spark://127.0.0.1:\d+)\t2", text()).group(1)
    assert again.code == 0 and f"cluster\t{master}\t2" in again.out and "stopped\tfalse" in again.out, again
    phases = [e["phase"] for e in events(folder) if e["type"] == "ledger"]
    assert phases.count("verified") >= 2, phases
    assert not daemons(env["TMPDIR"]) and not os.listdir(env["TMPDIR"])


MARKS = """
import sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
spark.sparkContext.parallelize(range(10), 2).sum()
open(sys.argv[1], "w").close()
time.sleep(600)
"""
ENDS = """function together(...)
  parallel.map({ ... }, { name = function(_, i) return tostring(i) end }, function(fn) fn() end)
end
function wait_for(file) while not fs.exists(file) do firesteel.sleep "100ms" end end
function submit(cluster, file)
  local began = os.time()
  local ok, why = pcall(spark.submit, { "marks.py", master = cluster.master, args = { file }, executor_memory = "512m", conf = { ["spark.ui.enabled"] = "false" } })
  print(file, ok, why, os.time() - began < 300)
end
cluster = spark.standalone { workers = 2, memory = "600m" }
together(
  function() submit(cluster, "stopped") end,
  function()
    wait_for "stopped"
    together( function() cluster:stop() end, function() cluster:stop() end, function() cluster:stop() end)
    print("left", #glob_left())
  end)
-- %% Dies
cluster = spark.standalone { workers = 2, memory = "600m" }
together(
  function() submit(cluster, "died") end,
  function()
    wait_for "died"
    sh "touch go1; while [ ! -e gone1 ]; do sleep 0.1; done"
    print(pcall(spark.submit, { "marks.py", master = cluster.master }))
    sh "touch go2"
  end)"""


def test_a_cluster_that_is_stopped_or_dies_under_an_application(t):
    """Stops at the same time, a stop while an application runs, and workers that are killed, one and then the other."""
    env = dict(environment(t), TMPDIR=t.dir())
    folder = notebook(t, ENDS.replace('#glob_left()', '#fs.glob(os.getenv("TMPDIR") .. "/firesteel-standalone-*")'))
    with open(f"{folder}/marks.py", "w", encoding="utf-8") as f:
        f.write(MARKS)
    process, text = begun(t, folder, env)

    def workers():
        return [line for line in daemons(env["TMPDIR"]) if "worker.Worker" in line]

    def is_there(name):
        def there():
            assert process.poll() is None, text()
            return os.path.exists(f"{folder}/{name}")
        there.__doc__ = f"{name} is there: {text()[-2000:]}"
        return there

    def told(words):
        def found():
            return words in text()
        found.__doc__ = f"{words!r} is told: {text()[-2000:]}"
        return found
    eventually(is_there("go1"), 300, 0.3)
    assert re.search(r"stopped\tfalse\t\S*:? ?spark.submit: spark://\S+ is no master that this run has started, or it was stopped\ttrue", text()), text()
    assert "left\t0" in text(), text()
    first, second = workers()
    os.kill(int(first.split(":")[0]), signal.SIGKILL)
    eventually(told(": 1 of 2 workers; worker "), 10, 0.1)  # at once, below the cell that has started it
    open(f"{folder}/gone1", "w", encoding="utf-8").close()
    eventually(is_there("go2"), 60, 0.2)
    assert "1 of the 2 workers of spark://" in text(), text()
    assert "died\tfalse" not in text(), text()  # the application goes on with the other one
    os.kill(int(second.split(":")[0]), signal.SIGKILL)
    eventually(told("2 of the 2 workers of spark://"), 30, 0.1)
    assert process.wait(60 * PATIENCE) == 0 and re.search(r"died\tfalse\t.*2 of the 2 workers of spark://\S+ have died\ttrue", text()), text()
    assert ": 0 of 2 workers; worker " in text(), text()
    assert not daemons(env["TMPDIR"]) and not os.listdir(env["TMPDIR"])


def test_the_recipe_of_schedulers_in_its_small_form(t):
    env, folder = environment(t), t.dir()
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", "42-schedulers.lua"), "--cwd", folder, "--allow", "cluster,destructive",
              *[word for p in ("schedulers=local,standalone", "executors=1", "repeats=1", "warm_up=0", "model=small", "images=2000")
                for word in ("-p", p)], env=env, timeout=400)
    assert done.code == 0, done
    row = re.search(r"standalone / local, 1 executor +within 1 % +([+-][\d.]+) % ", done.out)
    assert row, done.out
    children = json.loads(sh(FIRESTEEL, "runs", "--children", "-o", "json", cwd=folder, env=env).out)
    assert len(children) == 2 and all(c["metrics"]["images_per_second"]["value"] > 0 for c in children), children


run(globals())
