# SPDX-License-Identifier: MIT
"""Pipelines through a real Argo: its texts are accepted, it gives what flow:run gives, failures end it with their cause, a
resumed run attaches, templates are used by reference, and schedules fire."""
import datetime
import glob
import json
import os
import re
import signal
import subprocess
import time
import zoneinfo

import tap
from place import KUBECONFIG, REGISTRY, SPARK, Place, with_spark
from tap import SOURCE

FOLDER = os.path.join(SOURCE, "tests", "replay", "argo")


def flow():
    with open(os.path.join(FOLDER, "flow.lua"), encoding="utf-8") as f:
        return "\n-- %% The pipeline\n" + f.read()


def place_with_account(t, namespace=None):
    place = Place(t, namespace)
    place.account(t, "workflow")
    return place


def test_its_texts_are_accepted(t):
    place = Place(t)
    for name in ("workflow", "template", "cron"):
        place.kubectl("create", "--dry-run=server", "--validate=strict", "-f", os.path.join(FOLDER, f"{name}.yaml"))


def test_the_same_as_here(t):
    place = place_with_account(t)
    show = """
for _, step in ipairs { "prep", "fan", "train", "serve" } do
  for name in pairs(flow.steps[step].outputs) do print("RESULT", step, name, json.encode(flow:output(step, name))) end
end
"""
    text = flow().replace("parallelism: ${prep.rows}", "parallelism: 1")
    done = place.run(f"""{text}
-- %% Here effects="cluster,destructive" timeout="4m"
flow:run()
{show}
-- %% Argo effects="cluster,destructive" timeout="4m"
print "THERE"
flow:submit {{ account = "workflow" }}
{show}
""")
    assert done.code == 0, done
    results = [line.split("RESULT", 1)[1].split() for line in done.out.splitlines() if "RESULT" in line]
    assert results[:4] == results[4:] and len(results) == 8, done
    assert ["serve", "got", '"1', "of", '34"'] in results, done
    assert ["fan", "word", '["34-x","34-y"]'] in results, done
    there = done.out.split("THERE")[1]
    for text in ("✓ prep", "- never", "✓ clean", "- alarm"):
        assert text in there, (text, done)
    assert not place.left("firesteel/workflow", "jobs")  # clean deleted it


def test_recipe_40(t):
    """SparkApplications as steps, notebooks that read their logs, a service; then a step that fails."""
    place = with_spark(place_with_account(t, SPARK))
    done = place.run(os.path.join(SOURCE, "recipes", "40-pipeline.lua"), "--cwd", place.dir, "--registry", REGISTRY,
                     "-p", "through=argo", "-p", "radius=3", "-p", "executors=1", "-p", "core_request=100m", timeout=900)
    assert done.code == 0, done
    answer = re.search(r"a circle of radius 3 has an area of (\d+\.\d+)", done.out)
    assert answer and abs(float(answer[1]) - 9 * 3.1416) < 0.5, done
    for text in ("executors RUNNING", "✓ learnt", "✓ serve", "step train failed", "'3.10000..' is not a number"):
        assert text in done.out, (text, done)
    made = "firesteel/pipeline in (circle, broken)"
    left = place.left(made, "workflows,sparkapplications,deployments,services")
    assert not left, left
    place.nothing_left(made, "pods")


def test_failures_have_their_cause(t):
    place = place_with_account(t)
    text = """
-- %% It fails effects="cluster,destructive" timeout="4m"
flow = pipeline { "broken", steps = {
  prep  = { image = "localhost/busybox:1", command = "true" },
  train = { image = "localhost/busybox:1", command = "echo first words; echo the last words; exit 3", after = "prep" },
  serve = { image = "localhost/busybox:1", command = "true", after = "train" },
  alarm = { image = "localhost/busybox:1", command = "true", when = "failed" },
} }
flow:submit { account = "workflow" }
"""
    done = place.run(text)
    said = done.out + done.err
    assert done.code == 1, done
    for words in ("pipeline broken: step train failed: ", "exit code 3", "the last words", "✗ train", "! serve", "✓ alarm"):
        assert words in said, (words, done)
    # before anything is submitted: an account that may not do what workflows' pods do, a template that is not there
    refused = place.run(text.replace('account = "workflow"', 'account = "default"'))
    assert refused.code == 1 and "the account default may not make workflowtaskresults" in refused.err, refused
    refused = place.run(text.replace("serve = {", 'other = { use = "refit/train" }, serve = {'))
    assert refused.code == 1 and "there is no step refit/train" in refused.err, refused
    assert len(place.left(kinds="workflows")) == 1


def kill_all(pid):
    """A program with its children, at once, so that none of them can clean up."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
        children = f.read().split()
    os.kill(pid, signal.SIGKILL)
    for child in children:
        kill_all(int(child))


def test_a_resumed_run_attaches(t):
    place = place_with_account(t)
    path = os.path.join(place.dir, "notebook.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write("""
-- %% Submit effects="cluster,destructive" timeout="4m"
flow = pipeline { "long", steps = {
  wait = { image = "localhost/busybox:1", command = "sleep 12; echo 7 > /tmp/n", outputs = { n = { file = "/tmp/n" } } } } }
flow:submit { account = "workflow" }
print("n is", flow:output("wait", "n"))
""")
    first = subprocess.Popen([tap.FIRESTEEL, "run", path, "--context", "admin", "-n", place.namespace, "--allow", "cluster,destructive"],
                             cwd=place.dir, env={**os.environ, "KUBECONFIG": KUBECONFIG, "HOME": place.dir}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tap.eventually(lambda: "●" in first.stdout.readline(), 60)
    kill_all(first.pid)
    first.communicate()
    (journal,) = glob.glob(f"{place.dir}/.firesteel/*.jsonl")
    name = os.path.basename(journal)[:-len(".jsonl")]
    done = place.run(path, "--resume", name)
    assert done.code == 0 and "n is\t7" in done.out, done
    assert len(place.left(kinds="workflows")) == 1
    cleaned = tap.sh(tap.FIRESTEEL, "clean", name, "--yes", "--context", "admin", cwd=place.dir, env=place.env)
    assert cleaned.code == 0 and not place.left(kinds="workflows"), cleaned
    place.nothing_left(kinds="pods")


def test_templates_and_schedules(t):
    place = place_with_account(t)
    done = place.run("""
-- %% A template effects="cluster,destructive" timeout="4m"
refit = pipeline { "refit", steps = {
  train = { image = "localhost/busybox:1", command = "echo $((${rows} * 2)) > /tmp/auc", with = { rows = 4 }, outputs = { auc = { file = "/tmp/auc" } } } } }
refit:template("refit", { account = "workflow" })
user = pipeline { "user", steps = {
  prep  = { image = "localhost/busybox:1", command = "echo 21 > /tmp/n", outputs = { n = { file = "/tmp/n" } } },
  model = { use = "refit/train", with = { rows = "${prep.n}" } },
  check = { image = "localhost/busybox:1", command = "test ${model.auc} = 42" },
} }
user:submit { account = "workflow" }
user:run()
-- %% A schedule effects="cluster,destructive" timeout="4m"
s = refit:cron("@every 10s", { account = "workflow", ttl = "1m", keep = 2, concurrency = "Allow" })
expect(s):fires(2, "2m")
next = s:next_run()
expect(next - time.now()):at_most(11)
s:suspend()
at, why = s:next_run()
print(at, why)
ok, message = pcall(function() expect(s):fires(50, "1m") end)
print(message)
run = s:trigger()
expect(run):reaches("Succeeded", "1m")
history = s:history()
print(history)
expect(#history):at_least(2)
s:delete()
""")
    assert done.code == 0, done
    for text in ("nil\tit is suspended", "times, and is suspended", "Succeeded"):
        assert text in done.out, (text, done)


def test_a_large_status_is_read(t):
    """Beyond a size Argo compresses a Workflow's nodes: 1 MiB, and here 16 KiB."""
    place = place_with_account(t)
    done = place.run("""
-- %% Large effects="cluster,destructive" timeout="4m"
flow = pipeline { "large", steps = {
  fan = { image = "localhost/busybox:1", each = { "a", "b", "c", "d" }, command = "yes ${item} | tr -d '\\n' | head -c 4000 > /tmp/w", outputs = { w = { file = "/tmp/w" } } },
} }
flow:submit { account = "workflow" }
for i, text in ipairs(flow:output("fan", "w")) do print("PART", i, #text, text:sub(1, 2)) end
print("CHILDREN", #k8s.get(flow.workflow).status.nodes[flow.workflow.name].children)
""")
    assert done.code == 0, done
    for i, item in enumerate("abcd"):
        assert f"PART\t{i + 1}\t4000\t{item * 2}\n" in done.out, (item, done)
    assert "    CHILDREN\t1\n" in done.out and "4/4" in done.out, done
    assert place.kubectl("get", "workflows", "-o", "jsonpath={.items[*].status.compressedNodes}").out.startswith("H4sI")


def next_in(zone, hour, minute):
    """When clocks of that zone show a time next, in seconds since 1970."""
    at = int(time.time()) // 60 * 60 + 60
    while (there := datetime.datetime.fromtimestamp(at, zoneinfo.ZoneInfo(zone))) and (there.hour, there.minute) != (hour, minute):
        at += 60
    return at


def test_next_runs_in_time_zones(t):
    place = Place(t)
    zones = {"berlin": "Europe/Berlin", "newyork": "America/New_York", "kolkata": "Asia/Kolkata"}
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "localhost/busybox:1"}]}
    place.create(*({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": name},
                    "spec": {"schedule": "30 3 * * *", "timeZone": zone, "jobTemplate": {"spec": {"template": {"spec": pod}}}}}
                   for name, zone in zones.items()))
    done = place.run("\n".join(f"print('NEXT', '{name}', k8s.get('cronjobs', '{name}'):next_run())" for name in zones))
    said = {line.split()[1]: float(line.split()[2]) for line in done.out.splitlines() if line.startswith("    NEXT")}
    assert said == {name: next_in(zone, 3, 30) for name, zone in zones.items()}, (said, done)


def test_a_scheduled_spark_application(t):
    """The schedule makes an application when it is due, and reports that its run failed: the driver has no image."""
    place = Place(t, SPARK)
    app = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "ScheduledSparkApplication", "metadata": {"name": "scheduled"},
           "spec": {"schedule": "@every 10s", "concurrencyPolicy": "Forbid", "successfulRunHistoryLimit": 2, "failedRunHistoryLimit": 2, "template": {
               "type": "Python", "mode": "cluster", "sparkVersion": "3.5.7", "image": "localhost/busybox:1", "timeToLiveSeconds": 60,
               "mainApplicationFile": "local:///x.py", "restartPolicy": {"type": "Never"},
               "driver": {"coreRequest": "100m", "memory": "512m", "serviceAccount": "spark"}, "executor": {"instances": 1}}}}
    t.after(lambda: place.kubectl("delete", "scheduledsparkapplications", "--all", "--wait=false"))
    done = place.run(f"""
-- %% Create effects="cluster,destructive" timeout="8m"
s = k8s.create [[{json.dumps(app)}]]
expect(s):fires(1, "1m")
print(s:next_run() - time.now() < 11)
ok, why = pcall(function() expect(s):fires(9, "5m") end)
print(why)
print(s:history())
s:delete()
""", timeout=600)
    assert done.code == 0, done
    for text in ("true\n", "scheduledsparkapplication.sparkoperator.k8s.io/scheduled: its run scheduled-", " FAILED"):
        assert text in done.out, (text, done)
