#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels of Jupyter by other people: what each of them does below firesteel, the same cases for all.

usage: kernels.py [--here] [WORD…]    --here: installs nothing, and tries the kernels that the tests have anyway

Installs ipykernel 6, xeus-python, bash_kernel and nbclient; IRkernel is tried where Debian's r-cran-irkernel is installed. WORD chooses cases whose
names contain it (xeus, interrupt).
"""
import contextlib
import glob
import json
import os
import subprocess
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", name) for name in ("support", "replay")]
from foreign import firesteel, ipynb, needs_kernels, write  # noqa: E402
from kernel import Kernel, Result  # noqa: E402
from tap import CACHE, Skip, eventually, run  # noqa: E402

HERE = "--here" in sys.argv[1:]
sys.argv = [word for word in sys.argv if word != "--here"]
PYTHON = {
    "language": "python", "print": "print('ä', end='')\nx = 6", "value": ("x * 7", "42"), "display": ("from IPython.display import HTML\nHTML('<b>x</b>')", "text/html"),
    "error": ("1 / 0", "ZeroDivisionError", "division by zero"), "wait": "print('started', flush=True)\nimport time; time.sleep(60)",
    "ask": "print('hello', input('who? '))", "name": ("value_o", "value_one = 1\ndef value_of(x):\n    'Tells the value.'", {"value_one", "value_of"}, "Tells the value."),
    "die": "import os; os._exit(3)", "api": "from firesteel import run\nrun.metric('a', 1)", "names": (["x"], ["y"], "y = x + 1"),
}
BASH = {
    "language": "bash", "print": "printf ä; x=6", "value": None, "display": None, "error": ("false", "", ""), "wait": "echo started; sleep 60",
    "ask": None, "name": ("value_o", "value_one=1; value_of() { :; }", {"value_of"}, None), "die": "kill -9 $PPID",
}
R = {
    "language": "R", "print": "cat('ä'); x <- 6", "value": ("x * 7", "42"), "display": ("IRdisplay::display_html('<b>x</b>')", "text/html"),
    "error": ("stop('so it is')", "", "so it is"), "wait": "cat('started\\n'); flush(stdout()); Sys.sleep(60)", "ask": "cat('hello', readline('who? '))",
    "name": ("value_o", "value_one <- 1; value_of <- function(x) x", {"value_one", "value_of"}, None), "die": "tools::pskill(Sys.getpid(), 9); Sys.sleep(60)",
}
# XEUS ends at an interrupt, as it does in JupyterLab.
XEUS = {**PYTHON, "forgets": True}
# name: its folder (None: the system's), its kernelspec, what its language does, how many TCP ports it opens
KERNELS = {
    "ipykernel7": (os.path.join(CACHE, "jupyter"), "python3", PYTHON, 1),
    "ipykernel6": (os.path.join(CACHE, "kernels", "ipykernel6"), "python3", PYTHON, 1),
    "xeus": (os.path.join(CACHE, "kernels", "xeus"), "xpython", XEUS, 0),
    "bash": (os.path.join(CACHE, "jupyter" if HERE else "kernels/bash"), "bash", BASH, 1),
    "irkernel": (None, "ir", R, 0),
}


class Tried:
    """A kernel of Jupyter, and a kernel of ours to run its cells."""

    def __init__(self, t, name):
        needs_kernels()
        place, self.spec, self.does, self.ports = KERNELS[name]
        if place and not os.path.exists(os.path.join(place, "versions")):
            raise Skip(f"{name} is not installed (tests/kernels/install)")
        if not place and not glob.glob("/usr/share/jupyter/kernels/ir/kernel.json"):
            raise Skip("IRkernel is not installed: apt install r-cran-irkernel")
        self.t, self.env = t, {"VIRTUAL_ENV": place} if place else {}
        self.marker = f'language="{self.does["language"]}" kernel="{self.spec}"'
        self.kernel = Kernel(t, env=self.env)

    def run(self, source):
        cell_id = self.kernel.insert(source, self.marker)
        self.kernel.start(cell_id)
        self.kernel.done(cell_id, 60)
        return Result(self.kernel, cell_id)

    def started(self, source, seen):
        """A cell that waits, when it has said so."""
        cell_id = self.kernel.insert(source, self.marker)
        self.kernel.start(cell_id)
        self.kernel.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and seen in e.get("text", ""), 60)
        return cell_id

    def what(self, part):
        if not self.does.get(part):
            raise Skip(f"{self.does['language']} has no {part}")
        return self.does[part]


def shown(r):
    """What a cell has shown as text: IRkernel shows results as displays."""
    assert r.state == "ok", r
    return "".join(d["data"]["text/plain"] for d in r.displays)


def case_outputs(t, name):
    """What it prints, a value, a display, an error; in a notebook of its own, too."""
    k = Tried(t, name)
    r = k.run(k.what("print"))
    assert r.out.strip() == "ä", r
    source, error, message = k.what("error")
    r = k.run(source)
    assert r.state == "failed" and error in r.error["name"] and message in r.error["message"], r
    folder = t.dir()
    write(folder, "n.ipynb", ipynb(k.what("print"), (source, {"tags": ["raises-exception"]}), *([k.does["value"][0]] if k.does["value"] else []),
                                   metadata={"kernelspec": {"name": k.spec, "language": k.does["language"], "display_name": k.spec}}))
    done = firesteel(folder, "run", "n.ipynb", "out.ipynb", env=k.env if k.env else {"VIRTUAL_ENV": None})
    assert done.code == 0, done
    cells = json.load(open(os.path.join(folder, "out.ipynb"), encoding="utf-8"))["cells"]
    assert "".join(cells[0]["outputs"][0]["text"]).strip() == "ä", cells
    assert not error or cells[1]["outputs"][-1]["output_type"] == "error", cells  # bash_kernel only replies that it has failed
    if k.does["value"]:
        source, value = k.does["value"]
        assert value in shown(k.run(source)) and value in "".join(cells[2]["outputs"][0]["data"]["text/plain"]), cells[2]
    if k.does["display"]:
        source, kind = k.does["display"]
        assert any(kind in d["data"] for d in k.run(source).displays)


def case_interrupt(t, name):
    """It ends the cell, and leaves the variables, unless that ends the kernel itself."""
    k = Tried(t, name)
    k.run(k.what("print"))
    cell_id = k.started(k.what("wait"), "started")
    assert k.kernel.ask(type="interrupt")["ok"]
    state = k.kernel.done(cell_id, 30)
    assert state["state"] == "cancelled", state
    if k.does["value"] and not k.does.get("forgets"):
        assert k.does["value"][1] in shown(k.run(k.does["value"][0]))
    else:
        assert k.run(k.what("print")).out.strip() == "ä"


def case_question(t, name):
    """In the workbench it is asked; headless it is an error."""
    k = Tried(t, name)
    cell_id = k.kernel.insert(k.what("ask"), k.marker)
    k.kernel.start(cell_id)
    ask = k.kernel.wait(lambda e: e["type"] == "ask" and e["question"] == "who? ", 60)
    assert k.kernel.ask(type="answer", ask=ask["ask"], value="Ada")["ok"]
    k.kernel.done(cell_id)
    assert "hello Ada" in k.kernel.text(cell_id)


def case_names(t, name):
    """Tab and Shift-Tab."""
    k = Tried(t, name)
    typed, source, names, words = k.what("name")
    assert k.run(source).state == "ok"
    cell_id = k.kernel.insert("", k.marker)
    reply = eventually(lambda: (lambda r: r if r.get("ok") and names <= set(r["matches"]) else None)(
        k.kernel.ask(type="complete", cell=cell_id, source=typed, cursor=len(typed))))
    assert reply["start"] == 0 and reply["end"] == len(typed), reply
    if words:
        assert words in k.kernel.ask(type="inspect", cell=cell_id, source="value_of", cursor=8)["data"]["text/plain"]


def case_names_meanwhile(t, name):
    """While a cell runs, a kernel with subshells answers; another one says why not."""
    k = Tried(t, name)
    typed, source, names, _ = k.what("name")
    assert k.run(source).state == "ok"
    cell_id = k.started(k.what("wait"), "started")
    reply = k.kernel.ask(type="complete", cell=cell_id, source=typed, cursor=len(typed))
    if name == "ipykernel7":
        assert names <= set(reply["matches"]), reply
    else:
        assert "is at a cell, and can be asked after it" in reply["error"]["message"], reply
    assert k.kernel.ask(type="interrupt")["ok"]
    k.kernel.done(cell_id, 30)


def case_death(t, name):
    """The cell fails and says so; the next one starts another kernel."""
    k = Tried(t, name)
    k.run(k.what("print"))
    r = k.run(k.what("die"))
    assert r.state == "failed" and "has ended" in r.error["message"], r
    r = k.run(k.what("print"))
    assert r.state == "ok" and "was started anew" in r.err, r


def descendants(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        direct = f.read().split()
    return direct + [p for one in direct for p in descendants(one)]


def listeners(pid):
    """TCP ports on which processes below this one listen."""
    rows = []
    for kind in ("tcp", "tcp6"):
        with open(f"/proc/net/{kind}", encoding="ascii") as f:
            rows += [line.split() for line in f.read().splitlines()[1:]]
    ports = {f"socket:[{row[9]}]": row[1] for row in rows if row[3] == "0A"}
    found = []
    for fd in (fd for p in descendants(pid) for fd in glob.glob(f"/proc/{p}/fd/*")):
        with contextlib.suppress(OSError):
            found += [ports[os.readlink(fd)]] if os.readlink(fd) in ports else []
    return found


def case_ports(t, name):
    """Which of them listen is what doc/python.md says; on loopback alone, and one port."""
    k = Tried(t, name)
    k.run(k.what("print"))
    found = listeners(k.kernel.process.pid)
    assert len(found) == k.ports and all(address.startswith("0100007F:") for address in found), (found, k.ports)


def case_calls(t, name):
    """`import firesteel`, and the names that a cell reads and sets."""
    k = Tried(t, name)
    k.run(k.what("print"))
    r = k.run(k.what("api"))
    assert r.state == "ok" and "a" in [e["name"] for e in k.kernel.of("recorded") if e["kind"] == "metric"], r
    reads, writes, source = k.what("names")
    cell_id = k.kernel.insert(source, k.marker)
    k.kernel.start(cell_id)
    used = k.kernel.done(cell_id)["used"]
    assert used["reads"] == reads and list(used["writes"]) == writes, used


def install():
    done = subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "install"), CACHE], check=False)
    if done.returncode:
        print("# some kernels could not be installed", flush=True)


def case(aspect, kernel):
    def test(t):
        aspect(t, kernel)
    test.__doc__ = aspect.__doc__
    return test


if not HERE:
    install()
CASES = {f"test_{kernel}_{aspect.__name__[5:]}": case(aspect, kernel) for kernel in KERNELS if not HERE or kernel in ("ipykernel7", "bash")
         for aspect in (case_outputs, case_interrupt, case_question, case_names, case_names_meanwhile, case_death, case_ports, case_calls)}
if not HERE:
    from executed import test_notebooks_of_nbclient_and_papermill
    CASES["test_notebooks_of_nbclient_and_papermill"] = test_notebooks_of_nbclient_and_papermill
run(CASES)
