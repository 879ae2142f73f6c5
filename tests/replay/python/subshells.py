#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""While a cell in Python runs, its kernel answers questions about names by a subshell, and the cell does not notice."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from foreign import ENV, needs_kernels  # noqa: E402 (beside the tests above)
from kernel import Kernel  # noqa: E402
from tap import PATIENCE, eventually, run  # noqa: E402

PYTHON = 'language="python"'
BUSY = """\
import threading, time
print('on', flush=True)
def talk():
    while not done:
        print('tick', flush=True)
        time.sleep(0.05)
done = []
talker = threading.Thread(target=talk)
talker.start()
time.sleep({seconds})
done.append(1)
talker.join()
print('hello', input('who? '))
"""


def started(k, source, marker=PYTHON):
    cell_id = k.insert(source, marker)
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "on" in e.get("text", ""), 60)
    return cell_id


def test_names_while_a_cell_runs(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("value_one = 1\ndef value_of(x):\n    'Tells the value.'", PYTHON).state == "ok"
    cell_id = started(k, BUSY.format(seconds=3))
    reply = eventually(lambda: (lambda r: r if r.get("ok") else None)(k.ask(type="complete", cell=cell_id, source="value_o", cursor=7)))
    assert sorted(reply["matches"]) == ["value_of", "value_one"], reply
    reply = k.ask(type="inspect", cell=cell_id, source="value_of", cursor=8)
    assert "Tells the value." in reply["data"]["text/plain"], reply
    assert not [e for e in k.of("state", cell=cell_id) if e["state"] == "ok"], "it runs still"
    k.connection.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "tick" in e.get("text", ""), since=len(k.connection.events))
    k.wait(lambda e: e["type"] == "ask", 60)
    k.ask(type="answer", ask=k.of("ask")[-1]["ask"], value="you")
    assert k.done(cell_id, 30)["state"] == "ok" and k.text(cell_id).endswith("hello you\n"), k.text(cell_id)
    assert k.run("value_one + 1", PYTHON).displays[0]["data"]["text/plain"] == "2"


def test_an_interrupt_meets_the_cell_alone(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("value_one = 1", PYTHON).state == "ok"
    cell_id = started(k, "import time\nprint('on', flush=True)\ntime.sleep(600)")
    assert eventually(lambda: k.ask(type="complete", cell=cell_id, source="value_o", cursor=7).get("matches"))
    assert k.ask(type="interrupt")["ok"] and k.done(cell_id, 20)["state"] == "cancelled"
    cell_id = started(k, "print('on', flush=True)\ntime.sleep(600)")
    assert k.ask(type="complete", cell=cell_id, source="value_o", cursor=7)["matches"] == ["value_one"]
    assert k.ask(type="interrupt")["ok"] and k.done(cell_id, 20)["state"] == "cancelled"


def test_a_question_that_hangs_hinders_nobody(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    assert k.run("import time\nvalue_one = 1\nclass Slow:\n    def __str__(self): time.sleep(600)\n    __repr__ = __str__\nslow = Slow()", PYTHON).state == "ok"
    cell_id = started(k, "print('on', flush=True)\ntime.sleep(60)")
    begun = time.monotonic()
    reply = k.ask(type="inspect", cell=cell_id, source="slow", cursor=4)
    assert not reply["ok"] and "no answer came in time" in reply["error"]["message"], reply
    assert time.monotonic() - begun < 10 * PATIENCE
    assert eventually(lambda: k.ask(type="complete", cell=cell_id, source="value_o", cursor=7).get("matches")) == ["value_one"]
    assert k.ask(type="interrupt")["ok"] and k.done(cell_id, 20)["state"] == "cancelled"
    assert k.run("value_one", PYTHON).state == "ok"


def test_a_kernel_without_subshells_says_so(t):
    needs_kernels()
    k = Kernel(t, env=ENV)
    cell_id = started(k, "echo on; sleep 60", 'language="bash" kernel="bash"')
    reply = k.ask(type="complete", cell=cell_id, source="ech", cursor=3)
    assert reply["error"] == {"code": "unavailable", "message": "bash is at a cell, and can be asked after it"}, reply
    assert k.ask(type="interrupt")["ok"]
    k.done(cell_id, 20)


run(globals())
