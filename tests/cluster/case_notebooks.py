# SPDX-License-Identifier: MIT
"""Notebooks run headless against the cluster: what cells create, watch, read and delete is what kubectl sees."""
from place import Place

import images

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
    assert not place.kubectl("get", "jobs,pods", "-o", "name").out


def test_a_failed_job_tells_its_exit_code(t):
    place = Place(t)
    done = place.run(job("echo the reason; exit 7", """
-- %% Wait timeout="10m"
expect(job):reaches("Complete", "9m")
"""))
    assert done.code == 1 and "7" in done.out + done.err and "the reason" in done.out + done.err, done


def test_what_may_not_be_done(t):
    place = Place(t)
    done = place.run(job("true", ""), "--context", "user")
    assert done.code == 1 and "preflight: error: you may not create jobs.batch in namespace " + place.namespace in done.out, done
    done = place.run(job("true", ""), "--context", "user", "--no-preflight")
    assert done.code == 1 and "user" in done.out + done.err and "forbidden" in (done.out + done.err).lower(), done
    assert place.kubectl("get", "job", "count", code=None).code == 1
