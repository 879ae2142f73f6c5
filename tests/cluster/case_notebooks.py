# SPDX-License-Identifier: MIT
"""Notebooks run headless against the cluster: what cells create, watch, read and delete is what kubectl sees."""
import os
import sys

import images
from place import Place
from tap import SOURCE, eventually

JOB = f"""
-- %% Create effects="cluster"
job = k8s.create {{
  apiVersion = "batch/v1", kind = "Job", metadata = {{ name = "count" }},
  spec = {{ backoffLimit = 0, template = {{ spec = {{
    restartPolicy = "Never", terminationGracePeriodSeconds = 1,
    containers = {{ {{ name = "main", image = "{images.BUSYBOX}", command = {{ "sh", "-c", COMMAND }} }} }},
  }} }} }},
}}
"""


def job(command, rest):
    return JOB.replace("COMMAND", f"[[{command}]]") + rest


def test_a_job_from_create_to_delete(t):
    place = Place(t)
    done = place.run(job("for i in 1 2 3; do echo line $i; sleep 1; done", """
job:watch()
job:logs { follow = true }
-- %% Wait timeout="10m"
expect(job):reaches("Complete", "9m")
-- %% Logs
print("read:", job:logs())
-- %% Pods
print(k8s.list("pods", { selector = "job-name=count" }))
"""), allow="cluster")
    assert done.code == 0, done
    for text in "line 1", "line 3", "Completed", "job/count     Complete", "read:\tline 1":
        assert text in done.out, (text, done)
    assert place.get("job", "count")["status"]["succeeded"] == 1
    labels = place.get("job", "count")["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "firesteel", labels
    done = place.run("""
-- %% Delete effects="destructive"
k8s.delete("job", "count")
""")
    assert done.code == 0, done
    assert not place.left(kinds="jobs")
    place.nothing_left(kinds="pods")


def test_a_failed_job_tells_its_exit_code(t):
    place = Place(t)
    done = place.run(job("echo the reason; exit 7", """
-- %% Wait timeout="10m"
expect(job):reaches("Complete", "9m")
"""))
    assert done.code == 1 and "7" in done.out + done.err and "the reason" in done.out + done.err, done


def test_a_wait_for_what_a_failed_job_never_is_ends_with_it(t):
    place = Place(t)
    done = place.run(job("exit 7", """
-- %% Waits timeout="5m"
for _, words in ipairs { "condition=Complete", "jsonpath={.status.succeeded}=1" } do
  print(pcall(k8s.wait, { job, words, timeout = "4m" }))
end
k8s.wait { job, "condition=Failed", timeout = "4m" }
job:delete()
print(pcall(k8s.wait, { job, "condition=Failed", timeout = "4m" }))
"""), timeout=120)
    assert done.code == 0 and "it was deleted" in done.out, done
    for words in ("condition=Complete", "jsonpath={.status.succeeded}=1"):
        assert f"is Failed, and will not come to {words}: " in done.out, done
    assert "container main of pod " in done.out and "exited with 7" in done.out, done


def test_what_may_not_be_done(t):
    place = Place(t)
    done = place.run(job("true", ""), "--context", "user")
    assert done.code == 1 and "preflight: error: you may not create jobs.batch in namespace " + place.namespace in done.out, done
    done = place.run(job("true", ""), "--context", "user", "--no-preflight")
    assert done.code == 1 and "user" in done.out + done.err and "forbidden" in (done.out + done.err).lower(), done
    assert place.find("job", "count") is None


def test_what_a_cell_has_made_is_looked_at(t):
    """What controllers and the API server write is no change; what somebody changes, and removes, is one."""
    sys.path.append(os.path.join(SOURCE, "tests", "replay"))
    from kernel import Kernel
    place = Place(t)
    k = Kernel(t, "", "--context", "admin", "--namespace", place.namespace, "--allow", "cluster",
               env={name: value or "" for name, value in place.env.items()})

    def look():
        reply = k.ask(type="look")
        assert reply["ok"], reply
        return reply["found"]

    def make(source):
        done = k.run(source, 'effects="cluster"')
        assert done.state == "ok", done
        return k.last

    job_cell = make(job("sleep 600", "").partition("\n")[2].partition("\n")[2])
    web = make(f"""k8s.apply {{ apiVersion = "apps/v1", kind = "Deployment", metadata = {{ name = "web" }},
  spec = {{ replicas = 1, selector = {{ matchLabels = {{ app = "web" }} }}, template = {{ metadata = {{ labels = {{ app = "web" }} }},
    spec = {{ containers = {{ {{ name = "main", image = "{images.BUSYBOX}", command = {{ "sleep", "600" }} }} }} }} }} }} }}""")
    make('k8s.apply { apiVersion = "v1", kind = "Service", metadata = { name = "web" }, '
         'spec = { selector = { app = "web" }, ports = { { port = 80 } } } }')
    make('k8s.apply { apiVersion = "v1", kind = "ServiceAccount", metadata = { name = "trainer" } }')
    eventually(lambda: place.get("deployment", "web")["status"].get("availableReplicas") == 1 and
               place.get("job", "count")["status"].get("active") == 1, 60)
    assert look() == {} and look() == {}, look()
    place.kubectl("scale", "deployment/web", "--replicas=2")
    place.kubectl("annotate", "job/count", "note=seen")  # no spec
    assert look() == {web: "Deployment web has changed: spec.replicas"}, look()
    place.kubectl("scale", "deployment/web", "--replicas=1")
    assert look() == {}, look()
    place.kubectl("patch", "job/count", "-p", '{"spec": {"suspend": true}}')
    assert look() == {}, "the manifest says nothing of it: %s" % look()
    place.kubectl("delete", "job/count", "--wait=false")
    assert look() == {job_cell: "Job count is gone"}, look()
    patched = make(f"""k8s.patch("deployment", "web", {{ spec = {{ template = {{ spec = {{ containers = {{
  {{ name = "main", image = "{images.BUSYBOX}", resources = {{ requests = {{ cpu = "1000m" }} }} }} }} }} }} }} }}, {{ type = "strategic" }})""")
    scaled = make('k8s.scale("deployment", "web", 0)')
    labelled = make('k8s.label("deployment", "web", { tier = "gpu" })')
    assert look() == {job_cell: "Job count is gone"}, "the run's own changes: %s" % look()
    place.kubectl("scale", "deployment/web", "--replicas=1")
    place.kubectl("set", "env", "deployment/web", "A=1")  # the container, but nothing that the patch has set
    place.kubectl("label", "deployment/web", "other=1")
    gone = {job_cell: "Job count is gone", scaled: "Deployment web has changed: spec.replicas"}
    assert look() == gone, look()
    place.kubectl("set", "resources", "deployment/web", "--requests=cpu=2")
    place.kubectl("label", "deployment/web", "tier-")
    assert look() == {**gone, labelled: "Deployment web has changed: metadata.labels.tier",
                      patched: "Deployment web has changed: spec.template.spec.containers[0].resources.requests.cpu"}, look()
    place.kubectl("delete", "deployment/web")
    assert {title for title, why in look().items() if why == "Deployment web is gone"} == {web, scaled, labelled, patched}, look()
