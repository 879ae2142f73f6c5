# SPDX-License-Identifier: MIT
"""A notebook of one Job under a role that lacks one right, for each of its rights: the run ends with the Job's result, or with
a sentence that names the right; never in the middle."""
import json

from place import Place, pod
from tap import PATIENCE, eventually

RIGHTS = [("batch", "jobs", verb) for verb in ("create", "get", "list", "watch", "delete")] + [
    ("", "pods", verb) for verb in ("get", "list", "watch")] + [("", "pods/log", "get"), ("", "events", "list")]
# Without these the Job is made, waited for and removed as ever: they serve logs, causes, tables and digests.
ASIDE = ("pods", "pods/log", "events")
USER = "system:serviceaccount:{}:narrow"
NOTEBOOK = """
-- %% Job effects="cluster"
job = k8s.create [[{job}]]
job:watch()

-- %% Wait timeout="3m"
expect(job):reaches("Complete", "2m")

-- %% Log
ok, log = pcall(job.logs, job)
print("LOG", ok, log)

-- %% Away effects="destructive"
job:delete()
"""


def rules(without):
    return [{"apiGroups": [group], "resources": [resource], "verbs": [verb]} for group, resource, verb in RIGHTS
            if (group, resource, verb) != without]


def may(place, right):
    _, resource, verb = right
    name, _, sub = resource.partition("/")
    words = ["auth", "can-i", verb, name, "--as", USER.format(place.namespace)] + (["--subresource", sub] if sub else [])
    return place.kubectl(*words, code=None).out.strip() == "yes"


def test_each_right_is_missing_once(t):
    place = Place(t)
    place.narrow("admin", "get", "secrets")
    for number, right in enumerate([None, *RIGHTS]):
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "narrow"}, "rules": rules(right)}
        place.kubectl("apply", "-f", "-", input=json.dumps(role))
        eventually(lambda: [may(place, r) for r in RIGHTS] == [r != right for r in RIGHTS], 30)  # pylint: disable=cell-var-from-loop
        name = f"job-{number}"
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
               "spec": {"backoffLimit": 0, "template": {"spec": pod(name, "echo", "its words")["spec"]}}}
        done = place.run(NOTEBOOK.format(job=json.dumps(job)), timeout=300 * PATIENCE)
        said = done.out + done.err
        assert done.code in (0, 1, 3) and "kernel ended" not in said, (right, done)
        if not right or right[1] in ASIDE:
            assert done.code == 0 and "LOG" in done.out, (right, done)
        assert right or "its words" in done.out, done
        if done.code:
            plain = said.replace(".batch", "")
            assert f"{right[2]} {right[1]}" in plain or f'cannot {right[2]} resource "{right[1]}"' in plain, (right, done)
        assert bool(place.find("job", name)) == ("left over" in said), (right, done)
        place.kubectl("delete", "job", name, "--ignore-not-found")
