#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""As on an older Linux: the system calls that came after 4.18 and after 5.4 are not there."""
import os

from layers import know_worker
from tap import BUILD, FIRESTEEL, PATIENCE, SOURCE, run, sh

WITHOUT = os.path.join(BUILD, "tests", "without")
RANKS = """\
-- %% Ranks
r = hvd.run(function() require("hvd").init() return require("hvd").rank() end, { np = 2 })
print("ranks", table.concat(r:ranks(), " "))
-- %% A child
sh "sleep 0.1; echo child done"
"""


def older(linux, *argv, **rest):
    return sh(WITHOUT, "after-" + linux, "ENOSYS", FIRESTEEL, *argv, **rest)


def home(t):
    folder = t.dir()
    know_worker(f"{folder}/.local/share")
    return {"HOME": folder, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None, "XDG_CONFIG_HOME": None, "KUBECONFIG": None, "TMPDIR": t.dir()}


def goes(t, linux):
    cwd, env = t.dir(), home(t)
    done = older(linux, "doctor", env=env)
    assert done.code == 0, done
    with open(f"{cwd}/n.lua", "w", encoding="utf-8") as f:
        f.write(RANKS)
    done = older(linux, "run", "n.lua", cwd=cwd, env=env)
    assert done.code == 0 and "ranks\t0 1" in done.out and "child done" in done.out, done
    done = older(linux, "run", os.path.join(SOURCE, "recipes", "10-mnist.lua"), "--cwd", t.dir(), "--sandbox", "--allow", "cluster,destructive",
                 "-p", "epochs=1", env=env, timeout=400)
    assert done.code == 0 and "Model prediction for index 100: 6" in done.out, done


def test_what_is_without_is_told(t):
    """The filter does what it says: another program's call fails."""
    for linux in ("4.18", "5.4"):
        done = sh(WITHOUT, "after-" + linux, "ENOSYS", "python3", "-c", "import os, ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
                  "print([libc.syscall(n, -1, 0, 0, 0) and ctypes.get_errno() for n in (424, 437, 439)])")
        assert done.out == {"4.18": "[38, 38, 38]\n", "5.4": "[9, 38, 38]\n"}[linux], done


def test_on_linux_4_18(t):
    goes(t, "4.18")


def test_on_linux_5_4(t):
    goes(t, "5.4")


run(globals())
