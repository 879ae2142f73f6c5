# SPDX-License-Identifier: MIT
"""The test notebooks of nbclient and papermill (their source archives): firesteel leaves the outputs that nbclient leaves, by the same
ipykernel (a case of kernels.py). `executed.py --theirs FOLDER` is run by the Python that has nbclient: it executes what is there, and writes N.theirs."""
import base64
import concurrent.futures
import glob
import json
import os
import re
import shutil
import subprocess
import sys

KERNEL = "python3"


def execute(path):
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, DeadKernelError
    print("#", path, flush=True)
    notebook, ended = nbformat.read(path, as_version=4), "ok"
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    try:
        NotebookClient(notebook, kernel_name=KERNEL, timeout=120, allow_errors=path.endswith("-allowed.ipynb"),
                       resources={"metadata": {"path": os.path.dirname(path)}}).execute()
    except CellExecutionError:
        ended = "error"
    except DeadKernelError:
        ended = "dead"
    except Exception as e:
        ended = repr(e)
    with open(path[:-6] + ".theirs", "w", encoding="utf-8") as f:
        json.dump({"ended": ended, "cells": notebook.cells}, f)


if len(sys.argv) == 3 and sys.argv[1] == "--theirs":
    for one in sorted(glob.glob(sys.argv[2] + "/*/*.ipynb")):
        if not one.endswith("-ours.ipynb"):
            execute(one)
    sys.exit(0)

from foreign import firesteel  # noqa: E402 (kernels.py has set the way)
from tap import CACHE, Skip  # noqa: E402

VENV = os.path.join(CACHE, "kernels", "nbclient")
ENV = {"VIRTUAL_ENV": VENV}
ARCHIVES = os.path.join(CACHE, "archives")
# What is left out, and why.
LEFT_OUT = {
    "Interrupt": "an endless loop, for the time-out that its test passes to nbclient's API",
    "Parallel Execute A": "it waits for B, which its test starts beside it by nbclient's API",
    "Parallel Execute B": "it waits for A, in the same way",
    "Check History in Memory": "its test passes settings for the history to nbclient's API",
    "Output": "an Output widget of ipywidgets catches messages, which only a program with widgets does",
    "notimplemented_translator": "for the refusal of papermill's API to translate parameters",
    "binder": "it runs papermill",
    "test_autosave": "half a minute of sleep, for a file that papermill's API writes meanwhile (test_a_report_is_saved_after_each_cell)",
}
ALLOWED = {"Skip Exceptions", "Disable Stdin"}  # their tests allow errors
DIFFERS = {
    "Disable Stdin": "the words of an input() that nobody answers are ours",
    "Autokill": "the report says how the kernel has ended",
    "Sleep1s": "it prints the time",
    "line_magic_error": "an error that only the reply has is in the report, too",
    "update-display-id": "a cell's value with a display id, which only raw messages have, is not updated",
}


def text(value):
    return "".join(value) if isinstance(value, list) else value


def plain(line):
    line = re.sub("\x1b\\[[0-9;]*m", "", line)
    line = re.sub(r"/\S*/ipykernel_\d+/\d+\.py|\b\d+\.py", "<cell>", line)
    return re.sub(r"0x[0-9a-f]{7,16}", "<address>", line)


def picture(value):
    try:
        return base64.b64encode(base64.b64decode(value)).decode()
    except ValueError:
        return value


def shown(kind, value):
    value = text(value)
    if "widget" in kind:
        return {**value, "model_id": ""}
    return picture(value) if kind.startswith("image/p") else plain(value) if isinstance(value, str) else value


def outputs(cell):
    """As nbclient's own tests compare them, with the metadata; neighbouring texts of a stream as one; an error last, where ours always is."""
    found = []
    for o in cell.get("outputs", []):
        if o["output_type"] == "stream":
            piece = plain(text(o["text"]))
            if found and found[-1][:2] == ["stream", o["name"]]:
                found[-1][2] += piece
            else:
                found.append(["stream", o["name"], piece])
        elif o["output_type"] == "error":
            found.append(["error", o["ename"], plain(o["evalue"]), [plain(line) for line in o["traceback"]]])
        else:
            found.append([o["output_type"], {kind: shown(kind, value) for kind, value in o["data"].items()}, o["metadata"]])
    return sorted(found, key=lambda one: one[0] == "error")


def counts(cells):
    return [c["execution_count"] for c in cells if c["cell_type"] == "code"]


def test_notebooks_of_nbclient_and_papermill(t):
    if not os.path.exists(os.path.join(VENV, "versions")):
        raise Skip("nbclient is not installed (tests/kernels/install)")
    if not os.path.isdir(ARCHIVES):
        raise Skip("no archives in the cache: tests/support/tools CACHE fetches them")
    folder, jobs, out = t.dir(), [], {}
    found = sorted(glob.glob(ARCHIVES + "/nbclient-*/tests/files/*.ipynb") + glob.glob(ARCHIVES + "/papermill-*/papermill/tests/notebooks/*.ipynb"))
    assert len(found) > 40, found
    for number, path in enumerate(found):
        name = os.path.basename(path)[:-6]
        with open(path, encoding="utf-8") as f:
            notebook = json.load(f)
        if name in LEFT_OUT:
            print(f"# left out: {name}: {LEFT_OUT[name]}")
            continue
        os.makedirs(f"{folder}/{number}")
        for beside in glob.glob(os.path.dirname(path) + "/*.png"):
            shutil.copy(beside, f"{folder}/{number}")
        copy = f"{folder}/{number}/n{'-allowed' if name in ALLOWED else ''}.ipynb"
        with open(copy, "w", encoding="utf-8") as f:
            json.dump(notebook, f)
        jobs.append((name, copy))

    def ours(job):
        name, path = job
        out[path] = firesteel(os.path.dirname(path), "run", path, path[:-6] + "-ours.ipynb", "--kernel", KERNEL, *(["--allow-errors"] if name in ALLOWED else []), env=ENV)

    theirs = subprocess.Popen([os.path.join(VENV, "bin", "python"), os.path.abspath(__file__), "--theirs", folder], env={**os.environ, **ENV},
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(ours, jobs))
    assert theirs.wait() == 0
    wrong = []
    for name, path in jobs:
        with open(path[:-6] + ".theirs", encoding="utf-8") as f:
            expected = json.load(f)
        done = out[path]
        if not os.path.exists(path[:-6] + "-ours.ipynb"):
            wrong.append((name, done))
            continue
        with open(path[:-6] + "-ours.ipynb", encoding="utf-8") as f:
            cells = json.load(f)["cells"]
        good = [counts(cells) == counts(expected["cells"]), (done.code == 0) == (expected["ended"] == "ok")]
        good += [outputs(a) == outputs(b) for a, b in zip(cells, expected["cells"])]
        if not all(good) and name not in DIFFERS:
            wrong.append((name, done.code, expected["ended"], counts(cells), counts(expected["cells"]),
                          [(outputs(a), outputs(b)) for a, b in zip(cells, expected["cells"]) if outputs(a) != outputs(b)][:1]))
    for one in wrong:
        print("#", str(one)[:1500])
    print(f"# the same: {len(jobs) - len(wrong)} of {len(jobs)}")
    assert not wrong, [one[0] for one in wrong]
