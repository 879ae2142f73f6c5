# SPDX-License-Identifier: MIT
"""The cluster desk on a real cluster: what pods and nodes use, beside `kubectl top`; families of what operators make."""
import os
import re
import sys
import time

import images
import tap
from case_argo import place_with_account
from place import SPARK, Place, pod, with_spark

sys.path.append(os.path.join(tap.SOURCE, "tests", "screen", "support"))
from bench import folder, opens, text, workbench

BUSY = "while :; do :; done & while :; do sleep 1; done"
IN_TOP = re.compile(r"(\d+)m +(\d+)Mi")
IN_DESK = re.compile(r"(\d+)m +(?:(?:\d+%|n/a) +)*(\d+)Mi")


def desk(t, place, context="admin", size="150x40", source="print(1)"):
    where = folder(t, f"-- %% Nothing\n{source}\n")
    return workbench(where, "--context", context, "-n", place.namespace, "small.lua", env=place.env, size=size, seconds=60)


def measured(place, *names):
    """What `kubectl top` says of each of these pods, when the server has measured all."""
    def top():
        """the server has measured the pods"""
        done = place.kubectl("top", "pods", "--no-headers", code=None)
        found = {line.split()[0]: IN_TOP.search(line).groups() for line in done.out.splitlines() if IN_TOP.search(line)}
        return found if done.code == 0 and set(names) <= set(found) else None
    return tap.eventually(top, 120)


def test_what_pods_and_nodes_use_is_as_kubectl_top_says(t):
    place = Place(t)
    place.create(pod("busy", "sh", "-c", BUSY, resources={"requests": {"cpu": "50m", "memory": "1Mi"}, "limits": {"cpu": "100m"}}),
                 pod("idle", "sleep", "600"))
    place.kubectl("wait", "--for=condition=Ready", "pod/busy", "pod/idle", "--timeout=60s")
    measured(place, "busy", "idle")
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "pods", "busy", "idle", " CPU ", " MEM ", "Mi")
        seen, said = {"busy": set(), "idle": set()}, {"busy": set(), "idle": set()}
        end = time.monotonic() + 60 * tap.PATIENCE

        def both():
            """a row of the desk says what kubectl says"""
            for name, numbers in measured(place, "busy", "idle").items():
                said[name].add(numbers)
            for row in s.screen():
                name, numbers = row.split()[:1], IN_DESK.search(row)
                if numbers and name and name[0] in seen:
                    seen[name[0]].add(numbers.groups())
            return all(seen[name] & said[name] for name in seen)
        tap.eventually(both, 90)
        # all that the desk showed was measured, but for what came between two looks of this test
        assert time.monotonic() < end and all(int(cpu) > 20 for cpu, _ in seen["busy"]), (seen, said)
        row = next(row for row in s.screen() if row.split()[:1] == ["busy"])
        found = re.search(r"(\d+)m +(\d+)% +(\d+)% +(\d+)Mi +(\d+)% +n/a( |$)", row)
        assert found, row
        cpu, of_requests, of_limits, memory, more = found.groups()[:5]
        assert (int(of_requests), int(of_limits)) == (2 * int(cpu), int(cpu)) and int(more) // 100 == int(memory), row
        row = next(row for row in s.screen() if row.split()[:1] == ["idle"])
        assert re.search(r"\d+m +n/a +n/a +\d+Mi +n/a +n/a ", row), row
        opens(s, "nodes", "node1", "%CPU", "%MEM")

        def of_the_node():
            """the table of nodes has what its node uses"""
            return next((row for row in s.screen() if row.split()[:1] == ["node1"] and "Mi" in row), None)
        row = tap.eventually(of_the_node, 90)
        assert re.search(r"\d+m +\d+% +\d+Mi +\d+%", row), row
        top = place.kubectl("top", "nodes", "--no-headers").out.split()
        memory = int(re.search(r"(\d+)Mi", row)[1])
        assert abs(memory - int(top[3][:-2])) < 0.2 * memory, (row, top)
        s.keys("q q")
        s.wait("COMMAND")
        s.resize("34x20")  # NAME to AGE fill it
        opens(s, "pods", "busy", "idle")
        assert "CPU" not in text(s), "there is no room: " + text(s)
        s.keys("q")
        s.wait("print(1)")
        s.resize("70x20")
        opens(s, "pods", "busy", "idle", " MEM ")
        assert "%MEM" not in text(s), "there is room for some only: " + text(s)
        s.keys("q")
        s.wait("print(1)")


def test_a_shell_in_the_chosen_container(t):
    place = Place(t)
    two = pod("two", "sleep", "600", env=[{"name": "PLACE", "value": "first"}])
    side = pod("side", "sleep", "600", env=[{"name": "PLACE", "value": "beside"}])["spec"]["containers"][0]
    two["spec"]["containers"].append({**side, "name": "side"})
    place.create(two)
    place.kubectl("wait", "--for=condition=Ready", "pod/two", "--timeout=60s")
    with desk(t, place) as s:
        s.wait("COMMAND")
        opens(s, "pods", "two", "2/2")
        s.keys("x")
        s.wait("containers of two")
        s.keys("Down x")
        s.wait("open a shell in container side of Pod two")
        time.sleep(0.8)
        s.keys("y")
        s.wait("/ #")
        s.type("echo it is $PLACE")
        s.keys("Enter")
        s.wait("it is beside")
        s.type("exit")
        s.keys("Enter")
        s.wait("the shell in two has ended")
        s.keys("q q q")


def test_a_cluster_that_refuses_tells_once(t):
    place = Place(t)
    place.create(pod("idle", "sleep", "600"))
    place.narrow("narrow", "get,list,watch", "pods")  # not what the pods use
    with desk(t, place, "narrow", size="190x40", source='k8s.watch "pods"\nfiresteel.sleep(3)\nprint "watched"') as s:
        s.wait("COMMAND")
        s.keys("C-e")
        s.wait("│ watched")  # a table below a cell tells nobody
        opens(s, "pods", "pods.metrics.k8s.io is forbidden")  # at once: it goes with the next word
        s.keys("Down")
        s.gone("no CPU")
        s.keys("q")
        s.wait("COMMAND")
        opens(s, "pods", "idle")
        time.sleep(2)
        assert "no CPU" not in text(s) and " CPU " not in text(s), text(s)
        s.keys("q q")


def family(place, code, timeout=400):
    """The lines of the last tree that a cell shows: the cell runs it with tree(NAME)."""
    done = place.run(f"""
-- %% Tree effects="cluster,destructive" timeout="6m"
local function tree(name) k8s.tree(name) firesteel.sleep(4) end
{code}
""", "--no-preflight", timeout=timeout)
    assert done.code == 0, done
    return done.out


def test_a_cron_job_with_its_jobs_and_their_pods(t):
    place = Place(t)
    template = pod("x", "sh", "-c", "sleep 300")["spec"]
    place.create({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": {
        "schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": template}}}}})
    # as its schedule would make it: kubectl sets the owner
    place.kubectl("create", "job", "first", "--from=cronjob/tick")
    place.kubectl("create", "job", "stranger", f"--image={images.BUSYBOX}", "--", "true")
    tap.eventually(lambda: place.left("job-name=first", "pods"), 60)
    name = place.left("job-name=first", "pods")[0]
    out = family(place, f'tree("{name}")')  # from a member up
    assert re.search(rf"cronjob/tick .*\n(.*\n)* *`- job/first .*\n(.*\n)*    *`- {name} ", out), out
    assert "stranger" not in out, out


def test_a_workflow_with_its_steps_and_their_pods(t):
    place = place_with_account(t)

    def step(name, *needs):
        return {"name": name, "template": "wait", "dependencies": list(needs)}
    place.create({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "flow"}, "spec": {
        "entrypoint": "main", "serviceAccountName": "workflow", "templates": [
            {"name": "main", "dag": {"tasks": [step("early"), step("late", "early")]}},
            {"name": "wait", "container": {"image": images.BUSYBOX, "imagePullPolicy": "Never", "command": ["sleep", "2"]}}]}})
    out = family(place, """
expect(k8s.get("workflow", "flow")):reaches("Succeeded", "3m")
tree("workflow/flow")
""")
    assert re.search(r"workflow/flow .*Succeeded", out), out
    assert re.search(r"\|- early .*\n(.*\n)*(.*\n)?.*`- pod/flow-wait-\d+ .*\n(.*\n)*.*`- late ", out), out


def test_a_spark_application_with_its_driver_and_executors(t):
    place = with_spark(Place(t, SPARK))
    image = place.build("desk/spark:1", "apache/spark:3.5.7")
    out = family(place, f"""
local on = k8s.sparkapp {{ image = "{image}", executors = 2, cpu = "100m", memory = "600m" }}
local job = async(function()
  return hvd.run(function() hvd.init() os.execute "sleep 20" hvd.barrier() return hvd.rank() end, {{ on = on }})
end)
local executors
repeat
  firesteel.sleep(1)
  executors = k8s.get("pods", {{ selector = "spark-role=executor" }})
until #executors == 2
tree("pods/" .. executors[1].metadata.name)
await(job)
""")
    app = re.search(r"sparkapplication/(\S+) ", out)
    assert app, out
    assert re.search(rf"sparkapplication/{app[1]} .*\n(.*\n)* *`- pod/{app[1]}-driver .*\n(.*\n)* +\|- pod/\S+-exec-1 .*\n(.*\n)* +`- pod/\S+-exec-2 ", out), out
