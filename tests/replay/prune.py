#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`firesteel prune`: which runs go by age, count, state and size, and which never do."""
import json
import os
import pty
import re
import subprocess

from tap import FIRESTEEL, eventually, run, sh

NOTEBOOK = """\
-- %% parameters tags=["parameters"]
fails = false
lines = 0
pinned = false
-- %% Work
if pinned then run.tag "pinned" end
for i = 1, lines do print(i, ("x"):rep(100)) end
if fails then error "as told" end
"""
WAITS = "-- %%\nprint 'begun'\nwhile not io.open 'go' do firesteel.sleep(0.05) end\n"


def folder_with(t):
    folder = t.dir()
    for name, text in (("n.lua", NOTEBOOK), ("other.lua", NOTEBOOK), ("waits.lua", WAITS)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    return folder


def go(folder, *arguments, name="n.lua"):
    done = sh(FIRESTEEL, "run", name, "-o", "json", *arguments, cwd=folder)
    return json.loads(done.out.split("\n", maxsplit=1)[0])["run"]


def prune(folder, *arguments, code=0):
    done = sh(FIRESTEEL, "prune", *arguments, cwd=folder)
    assert done.code == code, done
    return done


def runs(folder):
    return {row["run"] for row in json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=folder).out)}


def age(folder, name, days):
    """Sets the start of a run back."""
    path = os.path.join(folder, ".firesteel", name + ".jsonl")
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    lines[0] = re.sub(r'"wall":"\d{4}', '"wall":"' + str(2000 - days), lines[0])
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines))


def test_by_age_and_state(t):
    folder = folder_with(t)
    old, failed, new = go(folder), go(folder, "-p", "fails=true"), go(folder)
    age(folder, old, 1)
    shown = prune(folder, "--older-than", "30d", "--dry-run")
    assert old in shown.out and new not in shown.out and "1 run, " in shown.out and "would be removed" in shown.out, shown
    assert runs(folder) == {old, failed, new}, "a dry run removes nothing"
    prune(folder, "--older-than", "30d", code=3)  # nobody can be asked
    assert runs(folder) == {old, failed, new}
    prune(folder, "--older-than", "30d", "--yes")
    assert runs(folder) == {failed, new}
    prune(folder, "--state", "killed,failed", "--yes")
    assert runs(folder) == {new} and not [n for n in os.listdir(folder + "/.firesteel") if failed in n]
    for zone in ("UTC", "Asia/Tokyo", "UTC+11"):  # what was just begun is not an hour old anywhere
        done = sh(FIRESTEEL, "prune", "--older-than", "1h", "--yes", cwd=folder, env={**os.environ, "TZ": zone})
        assert done.code == 0 and "nothing to remove" in done.out, done
    prune(folder, "--where", "lines=0", "--yes")
    assert not runs(folder)


def test_by_count_for_each_notebook(t):
    folder = folder_with(t)
    mine, others = [go(folder) for _ in range(3)], [go(folder, name="other.lua") for _ in range(2)]
    prune(folder, "--keep", "1", "--yes")
    assert runs(folder) == {mine[-1], others[-1]}, (mine, others)


def test_by_size_the_oldest_go(t):
    folder = folder_with(t)
    big = [go(folder, "-p", "lines=20000") for _ in range(3)]
    sizes = subprocess.run(["du", "-sk", folder + "/.firesteel"], stdout=subprocess.PIPE, check=True).stdout.split()
    assert int(sizes[0]) > 3 * 2000, sizes
    shown = prune(folder, "--size", f"{int(sizes[0]) * 2 // 3 + 200}K", "--yes")
    assert runs(folder) == set(big[1:]), shown
    assert not os.path.exists(f"{folder}/.firesteel/{big[0]}"), "its spools go, too"


def test_what_never_goes(t):
    folder = folder_with(t)
    waiting = subprocess.Popen([FIRESTEEL, "run", "waits.lua"], cwd=folder, stdout=subprocess.DEVNULL)
    t.after(waiting.kill)
    assert eventually(lambda: runs(folder)), "it begins"
    lively = runs(folder)
    tagged, later = go(folder, "-p", "pinned=true"), go(folder)
    assert "is pinned" in prune(folder, "--pin", later).out
    left = go(folder)
    path = f"{folder}/.firesteel/{left}.jsonl"
    with open(path, encoding="utf-8") as f:
        lines = f.read().rstrip("\n").split("\n")
    end = json.loads(lines[-1])
    effect = {"type": "ledger", "seq": end["seq"], "wall": end["wall"], "mono": end["mono"], "entry": 1, "phase": "intent",
              "binding": "k8s.create", "effect": "cluster", "what": "create Pod a", "undo": True}
    lines[-1:] = [json.dumps(effect, separators=(",", ":")), json.dumps({**end, "seq": end["seq"] + 1}, separators=(",", ":"))]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    shown = prune(folder, "--older-than", "0s", "--yes")
    assert runs(folder) == lively | {tagged, later, left}, shown
    for words in ("it goes on", "it is pinned", "it left something on a cluster"):
        assert words in shown.out, (words, shown)
    for words in (["--keep", "0"], ["--yes"], ["--dry-run"]):
        assert "remove nothing" in sh(FIRESTEEL, "prune", "--pin", left, *words, cwd=folder).err
        assert prune(folder, "--unpin", left, *words, code=2) and not os.path.exists(path.replace(".jsonl", ".pin"))
    prune(folder, "--unpin", later)
    prune(folder, "--older-than", "0s", "--yes", "--force")
    assert runs(folder) == lively | {tagged}
    with open(folder + "/go", "w", encoding="utf-8"):
        pass
    assert waiting.wait(20) == 0


def test_wrong_usage(t):
    folder = folder_with(t)
    for arguments in ([], ["--older-than", "x"], ["--size", "big"], ["--keep", "-1"], ["--where", "x"], ["--where", "x!="], ["--where", "lines<2 and"], ["run"]):
        prune(folder, *arguments, code=2)
    wrong = prune(folder, "--state", "failed,bogus", "--yes", code=2)
    assert '--state: "bogus" is no state of a run' in wrong.err and "killed" in wrong.err, wrong


def test_a_misspelt_field_removes_nothing(t):
    folder = folder_with(t)
    made = go(folder)
    wrong = prune(folder, "--where", "lnes != 1", "--yes", code=2)
    assert 'no run has "lnes"' in wrong.err and runs(folder) == {made}, wrong
    none = prune(folder, "--where", "lnes = 1", "--yes")
    assert 'no run has "lnes"' in none.err and "nothing to remove" in none.out and runs(folder) == {made}, none
    prune(folder, "--where", "lines != 1", "--yes")
    assert not runs(folder)


def test_it_asks_with_number_and_size(t):
    folder = folder_with(t)
    made = go(folder)
    for answer, left in (("n\n", {made}), ("y\n", set())):
        ours, its = pty.openpty()
        t.after(lambda fd=ours: os.close(fd))
        os.write(ours, answer.encode())
        done = subprocess.run([FIRESTEEL, "prune", "--older-than", "0s"], cwd=folder, stdin=its, stdout=subprocess.PIPE, text=True, check=False)
        os.close(its)
        assert re.search(r"Remove 1 run, [\d.]+ [kM]B\? \[y/N\] ", done.stdout), done
        assert done.returncode == (3 if left else 0) and ("nothing was removed" in done.stdout) == bool(left), done
        assert runs(folder) == left, done


run(globals())
