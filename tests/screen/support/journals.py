# SPDX-License-Identifier: MIT
"""Journals of runs that never were: with times that are the same each time, so that screens are."""
import hashlib
import json
import os

BEGAN = "2026-01-02T14:03:00"

NOTEBOOK = """-- %% First id="first"
for i = 1, 3 do print("part " .. i) end

-- %% Train id="train"
train()

-- %% Fail id="fail"
error("bad")
"""


def state(cell, state, **more):
    return {"type": "state", "cell": cell, "state": state, **more}


def stream(cell, text):
    return {"type": "stream", "cell": cell, "name": "stdout", "text": text}


def first(run, notebook=NOTEBOOK, **more):
    return {"type": "run", "format": 1, "run": run, "headless": True, "notebook": notebook, "host": "here", **more}


def epoch(n, epochs=3):
    history = [{"epoch": i, "metrics": {"loss": round(1 / i, 3)}} for i in range(1, n + 1)]
    return {"text/plain": f"epoch {n}", "application/vnd.firesteel.progress+json": {
        "label": "fit", "done": n, "total": epochs, "epoch": n, "epochs": epochs, "history": history,
        "metrics": history[-1]["metrics"] if history else {}}}


# (seconds since it began, event)
PAST = [
    (1, state("first", "queued")), (1, state("train", "queued")), (1, state("fail", "queued")),
    (2, state("first", "running", count=1)),
    (3, stream("first", "part 1\n")), (4, stream("first", "part 2\n")), (5, stream("first", "part 3\n")),
    (5, state("first", "ok")),
    (6, state("train", "running", count=2)),
    (7, {"type": "display", "cell": "train", "id": 1, "live": True, "data": epoch(1)}),
    (40, {"type": "update", "id": 1, "data": epoch(2)}),
    (80, {"type": "update", "id": 1, "data": epoch(3)}),
    (80, {"type": "recorded", "cell": "train", "kind": "metric", "name": "loss", "value": 0.333, "step": 3}),
    (81, {"type": "update", "id": 1, "closed": True}),
    (81, state("train", "ok")),
    (90, state("fail", "running", count=3, hash=hashlib.sha256(b'error("bad")').hexdigest())),
    (100, {"type": "error", "cell": "fail", "name": "error", "message": "bad", "line": 1, "traceback": ["Fail:1"]}),
    (100, state("fail", "failed")),
    (100, {"type": "end", "exit": 1, "outcome": "failed", "message": "bad"}),
]


def lines(events, began=BEGAN):
    """The events as a journal's lines."""
    from datetime import datetime, timedelta
    start, out = datetime.fromisoformat(began), []
    for seq, (seconds, event) in enumerate(events, 1):
        wall = (start + timedelta(seconds=seconds)).isoformat(timespec="microseconds") + "Z"
        out.append(json.dumps({**event, "seq": seq, "wall": wall, "mono": int(seconds * 1e9) + 1000},
                              ensure_ascii=False, separators=(",", ":")))
    return out


def write(where, run, events, began=BEGAN, tail="", **head):
    """Writes the run's journal; returns its path. tail: bytes behind the last line."""
    folder = os.path.join(where, ".firesteel")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, run + ".jsonl")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines([(0, first(run, **head))] + events, began)) + "\n" + tail)
    os.chmod(path, 0o600)
    return path


def trials(where, run, path="small.lua"):
    """The journal of a run with four trials of "rates", of which the third has failed."""
    events = [(1, state("first", "running", count=1))]
    for i, rate in enumerate((0.1, 0.01, 5, 0.001), 1):
        own = {"type": "recorded", "cell": "first", "branch": f"rates/{i}"}
        value = {"of": "rates", "by": "loss", "mode": "min", "params": {"rate": rate}}
        events.append((10 * i, {**own, "kind": "child", "name": f"rates/{i}", "value": {**value, "state": "running"}}))
        events.append((10 * i, {**own, "kind": "param", "name": "rate", "value": rate}))
        if rate == 5:
            value["error"] = "loss is nan"
        else:
            events += [(10 * i + s, {**own, "kind": "metric", "name": "loss", "value": round(10 * rate / s, 4), "step": s}) for s in (1, 2, 3)]
        events.append((10 * i + 4 + i, {**own, "kind": "child", "name": f"rates/{i}", "value": {
            **value, "state": "failed" if rate == 5 else "done", "seconds": 4 + i}}))
    events += [(60, state("first", "ok")), (61, {"type": "end", "exit": 0, "outcome": "ok"})]
    write(where, run, events, began="2026-01-02T16:00:00", path=os.path.join(where, path))


def many(where, n, path="small.lua", parameters=0):
    """The journals of n runs of a notebook: run i began i minutes later, has lr = i / 100, and its loss went down."""
    for i in range(1, n + 1):
        more = {f"p{k}": k for k in range(parameters)}
        events = [(1, state("first", "running", count=1))]
        events += [(1 + s, {"type": "recorded", "cell": "first", "kind": "metric", "name": "loss", "value": i / s, "step": s})
                   for s in (1, 2, 3)]
        events += [(5, stream("first", f"part of {i}\n")), (9, state("first", "ok")), (10, {"type": "end", "exit": 0, "outcome": "ok"})]
        write(where, f"small-20260102-{14 + i // 60:02}{i % 60:02}00-{i:04x}", events, began=f"2026-01-02T{14 + i // 60:02}:{i % 60:02}:00",
              path=os.path.join(where, path), parameters={"lr": i / 100, **more})


def curves(where, path="small.lua"):
    """Nine runs with three learning rates and three seeds each: loss, val_loss and accuracy; one of them has a spike."""
    for i in range(9):
        lr, seed = (0.1, 0.03, 0.01)[i // 3], i % 3 + 1
        events = [(1, state("first", "running", count=1))]
        for step in range(1, 201):
            left = 2.718 ** (-step * lr / 3)
            noise = ((step * 7919 + i * 104729) % 97) / 97
            own = {"type": "recorded", "cell": "first", "kind": "metric", "step": step}
            loss = left + 0.1 + 0.05 * noise + (3 if step == 50 and i == 1 else 0)
            events.append((1 + step / 2, {**own, "name": "loss", "value": round(loss, 5)}))
            if step % 10 == 0:
                events.append((1 + step / 2, {**own, "name": "val_loss", "value": round(left * 1.1 + 0.12 + 0.02 * noise, 5)}))
                events.append((1 + step / 2, {**own, "name": "accuracy", "value": round(1 - left * 0.8 - 0.05 * noise, 5)}))
        events += [(102, state("first", "ok")), (103, {"type": "end", "exit": 0, "outcome": "ok"})]
        write(where, f"small-20260102-140{i + 1}00-{i + 1:04x}", events, began=f"2026-01-02T14:0{i + 1}:00",
              path=os.path.join(where, path), parameters={"lr": lr, "seed": seed, "units": 64})
