# SPDX-License-Identifier: MIT
"""Notebooks that tests open in the workbench, and steps that many tests need."""
import os
import time

from screen import Screen
from tap import FIRESTEEL, processes, sh, stop_kernels

# A text, a cell that prints and has a value, a cell that fails, and a cell that takes long.
NOTEBOOK = """-- %% [markdown]
-- # A small notebook

-- %% First
print("hello \\27[31mred\\27[0m \\27]0;title\\7world")
6 * 7

-- %% Broken
local x = nil
print(x.y)

-- %% Slow
for i = 1, 400 do print("line " .. i) sh "sleep 0.05" end
"""
RESTORED = "cooked main paste-off keys-off"


def folder(t, text=NOTEBOOK, name="small.lua"):
    """A new folder with a notebook; its kernels end with the case."""
    where = t.dir()
    with open(os.path.join(where, name), "w", encoding="utf-8") as f:
        f.write(text)
    t.after(stop_kernels)
    return where


def kernels(where):
    return [line for line in sh(FIRESTEEL, "ls").out.splitlines() if line.endswith(where)]


def kill_kernel(where):
    os.kill(int(kernels(where)[0].split()[1]), 9)


def workbench(where, *argv, **options):
    """The workbench on small.lua with an idle kernel; or another verb."""
    s = Screen([FIRESTEEL, *(argv or ["small.lua"])], cwd=where, **options)
    if not argv or argv[0] != "attach":
        s.wait("idle")
    return s


def text(s):
    return "\n".join(s.screen())


def opens(s, line, *texts):
    """A line in the palette, and what it shows."""
    s.keys(":")
    s.wait(" palette")
    s.type(line)
    s.keys("Enter")
    for part in texts:
        s.wait(part)


def asked(s, *texts):
    """The dialog with these texts, when it takes keys."""
    for part in ("May this be done?", *texts):
        s.wait(part)
    time.sleep(0.8)


def leave(s):
    s.keys("q")
    code = s.exit()
    assert code == "exit 0", code
    assert s.tty() == RESTORED, s.tty()


def sandbox_of(where):
    """The process id of the private sandbox of this folder's kernel: a descendant of its guard."""
    kernel = kernels(where)[0].split()[1]
    for line in processes("firesteel-sandbox"):
        pid = parent = line.split(":")[0]
        while parent not in ("0", "1", kernel):
            try:
                with open(f"/proc/{parent}/stat", encoding="ascii", errors="replace") as f:
                    parent = f.read().rpartition(")")[2].split()[1]
            except OSError:  # somebody else's, which has ended
                break
        if parent == kernel:
            return int(pid)
    return None
