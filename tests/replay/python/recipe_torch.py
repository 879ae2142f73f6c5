#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recipe 15, here, by PyTorch: one rank, two ranks of the same accuracy, a rank that is lost, and the training that goes on."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from foreign import ENV, needs_kernels  # noqa: E402
from tap import CACHE, FIRESTEEL, SOURCE, Skip, run, sh  # noqa: E402


def with_torch():
    for one in ("/usr/bin/python3", os.path.join(CACHE, "peers", "bin", "python")):
        if os.path.exists(one) and sh(one, "-c", "import torch.distributed as d; assert d.is_available()").code == 0:
            return one
    raise Skip("PyTorch is not installed (python3-torch)")


def play(t, form, name):
    done = sh(FIRESTEEL, "run", os.path.join(SOURCE, "recipes", f"15-torch-trainjob.{form}"), "--cwd", t.dir(), "-p", f"{name}={with_torch()}",
              "-p", "epochs=2", "-p", "samples=15360", env=ENV, timeout=900)
    assert done.code == 0 and "rank 1 was ended by signal 9 (SIGKILL)" in done.out and "resumed after epoch 1" in done.out, done
    print("#", re.search("val_accuracy: one rank.*", done.out).group())


def test_in_lua(t):
    play(t, "lua", "python")


def test_in_python(t):
    needs_kernels()
    play(t, "py", "interpreter")


run(globals())
