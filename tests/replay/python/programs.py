#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that cells in Python start, and the cluster: one kubeconfig, whose content follows the cell that runs. By kubectl."""
import contextlib
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import ENV, firesteel, ipynb, needs_kernels, write  # noqa: E402 (beside the tests above)
from kernel import Kernel  # noqa: E402
from sandbox import find_kubectl, sandbox  # noqa: E402
from tap import FIRESTEEL, eventually, run  # noqa: E402

MAKE = "!kubectl create configmap made --from-literal=a=b"


def kubectl(t):
    """A PATH with it."""
    needs_kernels()
    return {"PATH": os.path.dirname(find_kubectl()) + ":" + os.environ["PATH"]}


def name_of(done):
    return re.search(r"\(run ([\w-]+)\)", done.out).group(1)


def test_it_follows_the_cell(t):
    env = kubectl(t)
    folder = t.dir()
    write(folder, "n.py", f"""\
# %% First
import os, subprocess
path = os.environ["KUBECONFIG"]
!kubectl get configmaps

# %% Make effects="cluster"
{MAKE}
print(subprocess.run(["kubectl", "get", "configmap", "made", "-o", "name"], capture_output=True, text=True).stdout)
assert os.environ["KUBECONFIG"] == path and oct(os.stat(path).st_mode)[-3:] == "600"

# %% Shell effects="cluster"
%%sh
kubectl get configmap made -o jsonpath={{.data.a}}; echo

# %% Last
!kubectl delete configmap made
print("refuses" if "--refuse-credentials" in open(path).read() else "lends")
""")
    done = firesteel(folder, "run", "n.py", "--sandbox", "--allow", "cluster", env=env)
    assert done.code == 0, done
    first, make, shell, last = re.split(r"\[\d/4\]", done.out)[1:]
    assert "effects=" in first and "configmap/made created" in make and "configmap/made\n" in make and "\n    b\n" in shell, done
    assert "effects=" in last and "refuses" in last and "deleted" not in last, done


def test_a_notebook_from_elsewhere_needs_allow(t):
    env = {**kubectl(t), **sandbox(t)}
    folder = t.dir()
    write(folder, "n.ipynb", ipynb("open('ran', 'a').write('x')", MAKE, "import os\nassert os.path.exists('go')", "!kubectl get configmap made -o name"))
    done = firesteel(folder, "run", "n.ipynb", env=env)
    assert done.code == 1 and "--allow cluster" in done.out and "created" not in done.out, done
    done = firesteel(folder, "run", "n.ipynb", "--allow", "cluster", env=env)
    assert done.code == 1 and "configmap/made created" in done.out, done
    write(folder, "go", "")
    again = firesteel(folder, "run", "n.ipynb", "--resume", name_of(done), "--allow", "cluster", env=env)
    assert again.code == 3 and "its programs have used the cluster" in again.out and '--redo "' in again.out, again
    redo = re.search('--redo "([^"]+)"', again.out).group(1)
    again = firesteel(folder, "run", "n.ipynb", "--resume", name_of(done), "--allow", "cluster", "--redo", redo, env=env)
    assert again.code == 0 and "already exists" in again.out and "configmap/made\n" in again.out, again
    assert open(os.path.join(folder, "ran"), encoding="utf-8").read() == "xxxx", "the first cell used no cluster"


def test_a_cell_that_was_killed_is_not_repeated(t):
    """The journal knows that kubectl read the kubeconfig before the cell could end."""
    env = {**kubectl(t), **sandbox(t)}
    folder = t.dir()
    write(folder, "n.py", f"# %% Before effects=\"cluster\"\nprint('no program')\n\n# %% Deploy effects=\"cluster\"\n{MAKE}\n"
                          "import time\nopen('made', 'w').close()\ntime.sleep(60)\n")
    process = subprocess.Popen([FIRESTEEL, "run", "n.py", "--allow", "cluster"], cwd=folder, env={**os.environ, **ENV, **env},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    eventually(lambda: os.path.exists(os.path.join(folder, "made")))
    for pid in [int(n) for n in os.listdir("/proc") if n.isdigit()]:
        with contextlib.suppress(OSError):
            if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "firesteel-kernel" and os.readlink(f"/proc/{pid}/cwd") == folder:
                os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    name = sorted(n for n in os.listdir(os.path.join(folder, ".firesteel")) if n.endswith(".jsonl"))[0][:-6]
    done = firesteel(folder, "run", "n.py", "--resume", name, "--allow", "cluster", env=env)
    assert done.code == 3 and '--redo "Deploy"' in done.out and "no program" in done.out, done


def test_a_person_is_asked_once(t):
    env = {**kubectl(t), **sandbox(t), **ENV}
    folder = t.dir()
    path = os.path.join(folder, "n.ipynb")
    write(folder, "n.ipynb", ipynb("x = 1", MAKE, "!kubectl get configmap made -o name"))
    k = Kernel(t, None, "--notebook", path, cwd=folder, env=env)
    ids = [c["id"] for c in k.execute(0).cells()]
    k.start(ids[1])
    ask = k.wait(lambda e: e["type"] == "ask")
    assert "let programs of this notebook, which declares no effects, use the cluster" in ask["question"], ask
    assert k.ask(type="answer", ask=ask["ask"], value="yes")["ok"]
    k.done(ids[1])
    k.start(ids[2])
    k.done(ids[2])
    assert "configmap/made created" in k.text(ids[1]) and "configmap/made" in k.text(ids[2]) and len(k.of("ask")) == 1, k.events


run(globals())
