# SPDX-License-Identifier: MIT
"""Recipe 42 as it is, of which ./check runs a small form: for ./check studies."""
import json
import os

from case_recipe42 import run_recipe, trials

FULL = {"executors": "1,2", "repeats": "3", "warm_up": "1", "beside": "2", "core_request": "200m"}


def test_schedulers(t):
    parameters = {**FULL, **json.loads(os.environ.get("FIRESTEEL_STUDIES", "{}"))}
    place, done = run_recipe(t, parameters, 7200)
    print("# " + done.out[done.out.rindex("] What came out"):].replace("\n", "\n# "))
    rows = trials(place)
    counts, repeats, warm_up = len(parameters["executors"].split(",")), int(parameters["repeats"]), int(parameters["warm_up"])
    # two schedulers, then one of them beside other work, which has no warm-up
    assert len(rows) == counts * (2 * (warm_up + repeats) + repeats), rows
