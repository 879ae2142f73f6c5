#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Objects of operators that are not here, played with definitions of their kinds in the sandbox and statuses as the operators
write them: waits, trees, logs and tables know them by group and kind; and a person's file adds kinds."""
import json
import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from kernel import Kernel, cell  # noqa: E402  pylint: disable=wrong-import-position
from kinds_of import CLUSTER, DEFINE, cluster, ok  # noqa: E402  pylint: disable=wrong-import-position
from sandbox import sandbox  # noqa: E402  pylint: disable=wrong-import-position
from tap import run  # noqa: E402  pylint: disable=wrong-import-position


def test_ends_of_waits(t):
    k = cluster(t, "ray.io/RayJob/rayjobs", "batch.volcano.sh/Job/jobs", "jobset.x-k8s.io/JobSet/jobsets",
                "spark.apache.org/SparkApplication/sparkapplications")
    ok(k, 'expect(make("ray.io/v1", "RayJob", "good", {jobStatus = "SUCCEEDED", jobDeploymentStatus = "Complete"}))'
          ':reaches("SUCCEEDED", "20s")')
    begin = time.monotonic()
    done = k.run('expect(make("ray.io/v1", "RayJob", "bad", {jobStatus = "FAILED", message = "entrypoint failed with exit code 1"}))'
                 ':reaches("SUCCEEDED", "5m")', CLUSTER)
    assert done.state == "failed" and "entrypoint failed with exit code 1" in done.error["message"], done
    assert time.monotonic() - begin < 60
    ok(k, 'expect(make("batch.volcano.sh/v1", "Job", "vc", {state = {phase = "Completed"}})):reaches("Completed", "20s")')
    done = k.run('expect(make("batch.volcano.sh/v1", "Job", "vcbad", {state = {phase = "Failed", message = "a pod failed"}}))'
                 ':reaches("Completed", "5m")', CLUSTER)
    assert done.state == "failed" and "a pod failed" in done.error["message"], done
    ok(k, 'expect(make("jobset.x-k8s.io/v1", "JobSet", "js", {conditions = {{type = "Completed", status = "True"}}}))'
          ':reaches("Completed", "20s")')
    done = k.run('expect(k8s.get("jobset", "js")):reaches("Complete", "20s")', CLUSTER)
    assert "a JobSet has no state Complete; did you mean Completed?" in done.error["message"], done
    done = k.run('expect(make("spark.apache.org/v1", "SparkApplication", "ap", {currentState = {currentStateSummary = '
                 '"SchedulingFailure", message = "no rights"}})):reaches("Succeeded", "5m")', CLUSTER)
    assert done.state == "failed" and "no rights" in done.error["message"], done


OWNERS = """
tj = make("trainer.kubeflow.org/v1", "TrainJob", "ddp")
js = make("jobset.x-k8s.io/v1", "JobSet", "ddp", nil, { metadata = { ownerReferences = own(tj) } })
j = make("batch/v1", "Job", "ddp-node-0", nil, { metadata = { ownerReferences = own(js) },
  spec = { completions = 2, parallelism = 2, template = { spec = { restartPolicy = "Never",
    containers = { { name = "node", image = "host", command = { "sh", "-c", "echo one of the DDP" } } } } } } })
expect(j):reaches("Complete", "60s")
"""


def tree(k, source, *wanted):
    """The text of the tree, once it has these words."""
    k.start(k.insert(source, CLUSTER))
    return k.wait(lambda e: all(word in json.dumps(e) for word in wanted))["data"]["text/plain"]


def test_trees_and_logs_go_down_to_the_pods(t):
    k = cluster(t, "jobset.x-k8s.io/JobSet/jobsets", "trainer.kubeflow.org/TrainJob/trainjobs", "acme.io/Lab/labs",
                "acme.io/Bench/benches")
    ok(k, OWNERS)
    log = ok(k, "print(k8s.logs(tj))")
    assert log.count("one of the DDP") == 2, log
    for source in ("k8s.tree(tj)", 'k8s.tree("jobs.batch", "ddp-node-0")'):
        lines = tree(k, source, "|- pod/ddp-node-0", "`- pod/ddp-node-0").splitlines()
        assert [line.strip("`-| ").split()[0][:14] for line in lines[1:]] == [
            "trainjob/ddp", "jobset/ddp", "job/ddp-node-0", "pod/ddp-node-0", "pod/ddp-node-0"], lines
    # the Job controller deletes the pods of a Job that fails with restartPolicy OnFailure
    done = k.run('print(k8s.logs(make("trainer.kubeflow.org/v1", "TrainJob", "gone", {conditions = {{type = "Failed", status = "True"}}})))', CLUSTER)
    assert done.state == "ok" and "trainjob gone is Failed, and has no pod with a log" in done.err, (done, done.err)
    # kinds of which nothing is known
    ok(k, """
lab = make("acme.io/v1", "Lab", "l", {phase = "Open"})
bench = make("acme.io/v1", "Bench", "b", nil, { metadata = { ownerReferences = own(lab) } })
job = make("batch/v1", "Job", "deep", nil, { metadata = { ownerReferences = own(bench) },
  spec = { template = { spec = { restartPolicy = "Never", containers = { { name = "c", image = "host", command = { "echo", "deep" } } } } } } })
expect(job):reaches("Complete", "60s")""")
    lines = tree(k, "k8s.tree(lab)", "pod/deep", "job/deep", "bench/b", "lab/l").splitlines()
    assert [line.strip("`- ").split()[0][:5] for line in lines[1:]] == ["lab/l", "bench", "job/d", "pod/d"], lines


def test_tables_show_our_state(t):
    k = cluster(t, "trainer.kubeflow.org/TrainJob/trainjobs")
    ok(k, 'make("trainer.kubeflow.org/v1", "TrainJob", "runs", {jobsStatus = {{name = "node", active = 1}}, '
          'conditions = {{type = "Suspended", status = "False"}}}, {spec = {runtimeRef = {name = "torch"}}})')
    done = k.run('k8s.list "trainjobs"')
    assert [line.split() for line in done.value.splitlines()][:2] == [
        ["NAME", "AGE", "STATE", "RUNTIME"], ["runs", done.value.split()[5], "Running", "torch"]], done.value


def test_a_job_in_a_queue_of_kueue(t):
    k = cluster(t, "kueue.x-k8s.io/Workload/workloads", "kueue.x-k8s.io/LocalQueue/localqueues")
    ok(k, """
j = make("batch/v1", "Job", "queued", nil, { metadata = { labels = { ["kueue.x-k8s.io/queue-name"] = "mine" } },
  spec = { suspend = true, template = { spec = { restartPolicy = "Never", containers = { { name = "c", image = "host", command = { "true" } } } } } } })
make("kueue.x-k8s.io/v1", "LocalQueue", "mine", nil, { spec = { clusterQueue = "team" } })
w = make("kueue.x-k8s.io/v1", "Workload", "job-queued-1", { conditions = { { type = "QuotaReserved", status = "False", reason = "Pending",
  message = "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor any, 4 more needed" } } },
  { metadata = { ownerReferences = own(j), labels = { ["kueue.x-k8s.io/job-uid"] = j.uid } }, spec = { queueName = "mine" } })""")
    done = k.run('expect(j):reaches("Complete", "3s")', CLUSTER)
    assert "Job queued is held in queue mine (ClusterQueue team): couldn't assign flavors" in done.error["message"], done
    assert "4 more needed" in done.error["message"] and "it begins when others of its queue end" in done.error["message"], done
    assert "held in queue mine" in ok(k, "print(k8s.why(w))")
    tree(k, "k8s.tree(j)", "job/queued", "workload/job-queued-1", "Pending", "Suspended")


def test_what_an_object_leans_on_is_looked_at_before(t):
    env = sandbox(t)
    k = Kernel(t, "", "--allow", "cluster,destructive", env=env)
    done = k.run(DEFINE % "trainer.kubeflow.org/TrainJob/trainjobs trainer.kubeflow.org/TrainingRuntime/trainingruntimes "
                          "kueue.x-k8s.io/LocalQueue/localqueues", CLUSTER)
    assert done.state == "ok", done
    ok(k, 'make("kueue.x-k8s.io/v1", "LocalQueue", "mine") make("trainer.kubeflow.org/v1", "TrainingRuntime", "torch")')
    notebook = cell("""k8s.create { apiVersion = "trainer.kubeflow.org/v1", kind = "TrainJob", metadata = { name = "t",
  labels = { ["kueue.x-k8s.io/queue-name"] = "nowhere" } }, spec = { runtimeRef = { kind = "TrainingRuntime", name = "none" } } }""", CLUSTER)
    again = Kernel(t, notebook, "--allow", "cluster", headless=True, env=env)
    assert again.finish() == 1
    said = json.dumps(again.events)
    for part in ("has no queue nowhere: it would be held for ever", "queues that are there: mine", "there is no TrainingRuntime none",
                 "runtimes of this kind that are there: torch"):
        assert part in said, (part, said)


KINDS = """
kinds:
  Experiment.acme.io:
    words: status.stage
    good: Done
    bad: [Broken]
    message: status.note
    columns: {EPOCH: status.epoch}
"""


def test_a_person_adds_kinds(t):
    path = os.path.join(t.dir(), "kinds.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(KINDS)
    k = cluster(t, "acme.io/Experiment/experiments", FIRESTEEL_KINDS=path)
    done = k.run('expect(make("acme.io/v1", "Experiment", "e", {stage = "Broken", note = "no data", epoch = 3})):reaches("Done", "5m")',
                 CLUSTER)
    assert done.state == "failed" and "experiment e is Broken, and will not reach Done: no data" in done.error["message"], done
    assert ["e", "3"] == k.run('k8s.list "experiments"').value.splitlines()[1].split()[::2], k.of("display")
    with open(path, "a", encoding="utf-8") as f:
        f.write("    bda: X\n")
    k = Kernel(t, "", env={**sandbox(t), "FIRESTEEL_KINDS": path})
    done = k.run('k8s.list "pods"')
    assert f'{path}:9: Experiment.acme.io: there is no field "bda"; did you mean bad' in done.error["message"], done


run(globals())
