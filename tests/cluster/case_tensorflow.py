# SPDX-License-Identifier: MIT
"""Recipe 11 as it is, with TensorFlow, Keras and Horovod (tests/tensorflow/install): not part of ./check."""
import glob
import os

from case_recipe11 import RECIPE, progress, run_recipe
from tap import CACHE

VENV = os.path.join(CACHE, "tensorflow")


def test_recipe_11(t):
    (packages,) = glob.glob("lib/python3*/site-packages", root_dir=VENV)
    with open(RECIPE, encoding="utf-8") as f:
        text = f.read()
    place, done = run_recipe(t, VENV, text, "-p", f"packages=.venv/{packages}", venv_beside=VENV)
    here, there = progress(place.dir)
    assert len(here["history"]) == 1 and here["evaluated"]["accuracy"] > 0.94, here
    assert [e["epoch"] for e in there["history"]] == [1, 2, 3, 4, 5] and there["evaluated"]["accuracy"] > 0.96, there
    print(f"# val_accuracy on the cluster {there['history'][-1]['metrics']['val_accuracy']}")
