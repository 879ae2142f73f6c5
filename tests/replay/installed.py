#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An installed tree finds what belongs to it, below a DESTDIR and wherever it is moved to."""
import os
import shutil

from tap import BUILD, Skip, run, sh

CHECKS = """\
-- %% Trainer file="trainer.lua"
local data = require "data"
print("images", #data.mnist().test.y)

-- %% Data and worker
job = trainer.run { "trainer.lua" }
expect(job.output):contains "images\\t10000"

-- %% Image
img = image.build { add = { "trainer.lua", "data/mnist" }, tag = "installed:test" }
#img.layers
"""


def install(t):
    """The tree below a DESTDIR: (its bin, its prefix)."""
    if not shutil.which("meson"):
        raise Skip("meson is not there")
    folder = t.dir()
    done = sh("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", folder)
    assert done.code == 0, done
    for path, _, files in os.walk(folder):
        if "firesteel" in files and os.path.basename(path) == "bin":
            return path, os.path.dirname(path)
    raise AssertionError("no firesteel was installed")


def works(t, program):
    """Without the variables that tests have, and in a home of its own."""
    folder = t.dir()
    env = {"FIRESTEEL_DATA": None, "XDG_DATA_HOME": None, "HOME": folder}
    done = sh(program, "new", "mnist", "copy.lua", cwd=folder, env=env)
    assert done.code == 0 and os.path.getsize(folder + "/copy.lua") > 1000, done
    with open(folder + "/n.lua", "w", encoding="utf-8") as f:
        f.write(CHECKS)
    done = sh(program, "run", "n.lua", cwd=folder, env=env)
    assert done.code == 0 and "3 cells ok" in done.out, done


def test_below_a_destdir(t):
    programs, prefix = install(t)
    works(t, programs + "/firesteel")
    assert sorted(os.listdir(programs)) == ["firesteel", "firesteel-worker"], "only what people start is in PATH"
    installed = [os.path.join(path, name) for path, _, names in os.walk(prefix) for name in names]
    for name in ("spark.py", "python/firesteel/_api.py", "python/firesteel/__init__.py", "firesteel.1", "completions/firesteel", "vendor-completions/_firesteel", "vendor_completions.d/firesteel.fish",
                 "10-mnist.lua", "doc/firesteel/LICENSE"):
        assert any(path.endswith("/" + name) for path in installed), (name, installed)


def test_moved(t):
    _, prefix = install(t)
    moved = t.dir() + "/elsewhere"
    os.rename(prefix, moved)
    works(t, moved + "/bin/firesteel")
    link = t.dir() + "/fs"
    os.symlink(moved + "/bin/firesteel", link)
    works(t, link)


run(globals())
