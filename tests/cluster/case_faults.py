# SPDX-License-Identifier: MIT
"""A notebook of one Job through a proxy in front of the real API server that answers one kind of its requests with an error,
or never (tests/faults): each kind once. What only adds to the work gets no answer; the others an error, in turn."""
import json
import os
import sys

from place import Place, pod

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import faults  # noqa: E402

NOTEBOOK = """
-- %% Job effects="cluster"
job = k8s.create [[{job}]]
job:watch()

-- %% Wait
expect(job):reaches("Complete", "{seconds}s")

-- %% What happened
print(job:describe())
print(job:logs())

-- %% Away effects="destructive"
job:delete()
"""


class Real:
    result = "its words"

    def __init__(self, place):
        self.place = place
        self.kubeconfig = place.env["KUBECONFIG"]
        self.env = {**os.environ, **{k: v for k, v in place.env.items() if v is not None}}
        self.options = ("--context", "admin", "-n", place.namespace)

    @staticmethod
    def notebook():
        job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "job-"},
               "spec": {"backoffLimit": 0, "template": {"spec": pod("x", "echo", Real.result)["spec"]}}}
        return NOTEBOOK.format(job=json.dumps(job), seconds=faults.CELL)

    def left_of(self, run):
        return self.place.left(f"firesteel/run={run}", kinds="jobs")


def test_each_kind_of_request_fails_once(t):
    real = Real(Place(t))
    well = faults.Case(real, None, None, False).go()
    assert not well.problems, well.problems
    kinds, problems = sorted(well.proxy.kinds), []
    for number, kind in enumerate(kinds):
        fault = faults.HANG if kind in faults.SIDE else faults.FAULTS[number % 4]
        case = faults.Case(real, kind, fault, number % 2 == 0)
        problems += case.go().problems
    assert len(kinds) > 10 and not problems, "\n".join(problems)
