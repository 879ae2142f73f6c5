#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The index of runs (script/journal/runs_index.h): lists say the same with it, without it, and whatever became of it."""
import fcntl
import json
import os
import random
import re
import resource
import signal
import subprocess
import time

from tap import FIRESTEEL, SANITIZED, run, sh

NOTEBOOK = """\
-- %% parameters tags=["parameters"]
lr = 0.1
api_token = "none"
-- %% Trial
run.metric("loss", 0.5)
run.tag "baseline"
print(api_token)
"""
SETTLED = 2.1  # seconds until a journal that nobody writes may be in the index
LISTS = ([], ["--where", "loss<0.5 and baseline=true"], ["--sort", "-loss", "--columns", "lr,loss,host"], ["-o", "json"])

def index_of(folder):
    return os.path.join(folder, ".firesteel", "runs.index")

def journal_of(folder, name):
    return os.path.join(folder, ".firesteel", name + ".jsonl")

def begin(t, *arguments):
    """A folder with a run, and the text of its journal."""
    folder = t.dir()
    with open(folder + "/n.lua", "w", encoding="utf-8") as f:
        f.write(NOTEBOOK)
    done = sh(FIRESTEEL, "run", "n.lua", "-o", "json", *arguments, cwd=folder)
    name = json.loads(done.out.split("\n", maxsplit=1)[0])["run"]
    with open(journal_of(folder, name), encoding="utf-8") as f:
        return folder, name, f.read()

def multiply(folder, name, text, n):
    """So many more runs like it, of some of which not all was written."""
    for i in range(n):
        other = f"n-2026{1 + i // 3000:02d}{1 + i // 200 % 15:02d}-{i // 60 % 24:02d}{i % 60:02d}{i % 7:02d}-{i % 65536:04x}"
        mine = text.replace(name, other).replace('"value":0.5', f'"value":{random.randrange(1, 999) / 1000}')
        lines = mine.splitlines(keepends=True)
        if i % 10 == 1:
            mine = "".join(lines[:-1])  # killed
        elif i % 10 == 2:
            mine = mine[:-9]
        elif i % 10 == 3:
            mine = "".join(lines[:3] + ["{damaged\n"] + lines[4:])
        elif i == 4:
            mine = mine.replace('"format":1', '"format":99')
        with open(journal_of(folder, other), "w", encoding="utf-8") as f:
            f.write(mine)

def lists(folder):
    return [(d.code, d.out, d.err) for d in (sh(FIRESTEEL, "runs", *a, cwd=folder) for a in LISTS)]

def truth(folder):
    """What lists say without an index, which is put back."""
    aside, index = folder + "/aside", index_of(folder)
    if os.path.lexists(index):
        os.rename(index, aside)
    os.mkdir(index)  # so none can be made
    said = lists(folder)
    os.rmdir(index)
    if os.path.lexists(aside):
        os.rename(aside, index)
    return said

def test_the_same_with_and_without(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 100)
    time.sleep(SETTLED)
    expected = truth(folder)
    assert not os.path.exists(index_of(folder)) and "unreadable" in expected[0][1] and "killed" in expected[0][1], expected[0]
    assert lists(folder) == expected, "the first one reads journals"
    assert os.stat(index_of(folder)).st_mode & 0o777 == 0o600
    assert lists(folder) == expected, "the next ones read the index"
    zone = {"TZ": "Asia/Tokyo"}
    assert sh(FIRESTEEL, "runs", cwd=folder, env=zone).out != expected[0][1], "times are local"

def test_a_changed_journal_is_read_again(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 30)
    time.sleep(SETTLED)
    lists(folder)
    journal, before = journal_of(folder, name), lists(folder)
    with open(journal, "w", encoding="utf-8") as f:  # of the same size, with the old time
        f.write(text.replace('"value":0.5', '"value":0.7'))
    os.utime(journal, ns=(1, 1))
    assert lists(folder) == truth(folder) != before
    os.remove(journal)
    killed = sorted(n for n in os.listdir(folder + "/.firesteel") if n.endswith(".jsonl"))[1]
    with open(os.path.join(folder, ".firesteel", killed), encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)  # somebody resumes it, and has written nothing yet
        assert "running" in sh(FIRESTEEL, "runs", cwd=folder).out
        assert lists(folder) == truth(folder)
    shown = sh(FIRESTEEL, "runs", cwd=folder).out
    assert "running" not in shown and name not in shown, shown
    with open(index_of(folder), "rb") as f:
        assert name.encode() not in f.read(), "a run that is gone is gone from the index, too"

def test_a_run_that_was_just_written_is_not_believed(t):
    """A clock of a file system is coarse: who reads a journal in the moment of its last change may miss another one."""
    folder, name, _ = begin(t)
    lists(folder)
    assert not os.path.exists(index_of(folder)) or name.encode() not in open(index_of(folder), "rb").read()
    time.sleep(SETTLED)
    lists(folder)
    assert name.encode() in open(index_of(folder), "rb").read()

def test_any_damage(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 12)
    time.sleep(SETTLED)
    expected = lists(folder)
    with open(index_of(folder), "rb") as f:
        good = f.read()
    digits = [m.start() for m in re.finditer(rb"[0-9]", good)]
    rng = random.Random(1)
    for i in range(60):
        bad = bytearray(good)
        if i % 5 == 0:
            bad = bad[:rng.randrange(len(bad))]
        elif i % 5 == 1:
            bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        elif i % 5 == 2:
            bad += b"half of an entry"
        else:  # another number, that could be one
            for at in rng.sample(digits, 12):
                bad[at] = rng.choice(b"123456789")
        which = i % len(LISTS)
        for _ in range(2):
            with open(index_of(folder), "wb") as f:
                f.write(bad)
            done = sh(FIRESTEEL, "runs", *LISTS[which], cwd=folder)
            assert (done.code, done.out, done.err) == expected[which], (i, done)
    with open(index_of(folder), "wb") as f:  # numbers of all entries alone
        f.write(re.sub(rb'"value":0\.\d', b'"value":0.9', good))
    assert lists(folder) == expected
    with open(index_of(folder), "wb") as f:  # each of 13 cells more
        f.write(re.sub(rb" 2 2 0 0\0", b" 9 8 7 6\0", good))
    assert lists(folder) == expected
    lists(folder)
    with open(index_of(folder), "rb") as f:
        assert sorted(f.read().split(b"\n")) == sorted(good.split(b"\n")), "it was mended"
    with open(index_of(folder), "wb") as f:  # one of another version is written anew
        f.write(good.replace(b"firesteel runs 4 ", b"firesteel runs 3 ").replace(b"baseline", b"baseless"))
    assert lists(folder) == expected
    with open(index_of(folder), "rb") as f:
        assert f.read().startswith(b"firesteel runs 4 ")

def size_of(path):
    """0 where there is none: it may get its real name at any moment."""
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0

def test_kill_9_while_it_is_written(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 200 if SANITIZED else 700)  # it takes long enough to be killed meanwhile
    time.sleep(SETTLED)
    expected = sh(FIRESTEEL, "runs", cwd=folder)
    size, cut = os.path.getsize(index_of(folder)), 0
    rng = random.Random(2)
    for i in range(30):
        if i % 2 and os.path.exists(index_of(folder)):
            os.truncate(index_of(folder), rng.randrange(size))  # it will be written anew
        elif os.path.exists(index_of(folder)):
            os.remove(index_of(folder))
        process = subprocess.Popen([FIRESTEEL, "runs"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 5
        while process.poll() is None and time.monotonic() < until:
            if size_of(index_of(folder) + ".new") > rng.randrange(size):
                break
        process.send_signal(signal.SIGKILL)
        cut += process.wait() == -signal.SIGKILL
        if i % 5 == 0:
            done = sh(FIRESTEEL, "runs", cwd=folder)
            assert (done.out, done.err) == (expected.out, expected.err), i
    assert cut > 0, "none was killed in the middle"
    done = sh(FIRESTEEL, "runs", cwd=folder)
    assert (done.out, done.err) == (expected.out, expected.err)
    assert os.path.getsize(index_of(folder)) == size and not os.path.exists(index_of(folder) + ".new")

def test_several_at_once(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 200)
    time.sleep(SETTLED)
    expected = truth(folder)[0][1]
    for _ in range(3):
        several = [subprocess.Popen([FIRESTEEL, "runs"], cwd=folder, text=True, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL) for _ in range(6)]
        assert [p.communicate()[0] for p in several] == [expected] * 6
        with open(index_of(folder), "rb") as f:
            said = f.read().count(b"\0n-2026")
        assert said == 200, f"each of 201 runs once, but the one that cannot be read: {said}"
        os.remove(index_of(folder))

def test_where_none_can_be_written(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 20)
    time.sleep(SETTLED)
    expected = truth(folder)
    os.mkdir(index_of(folder))
    assert lists(folder) == expected
    os.rmdir(index_of(folder))
    os.symlink(folder + "/elsewhere", index_of(folder))
    assert lists(folder) == expected and not os.path.exists(folder + "/elsewhere"), "links are not followed"
    os.remove(index_of(folder))
    if os.getuid():
        os.chmod(folder + "/.firesteel", 0o500)
        assert lists(folder) == expected
        os.chmod(folder + "/.firesteel", 0o700)

def test_it_has_no_secret_and_forgets(t):
    folder, name, _ = begin(t, "-p", "api_token=hush-hush-hush")
    time.sleep(SETTLED)
    sh(FIRESTEEL, "runs", "-o", "json", cwd=folder)
    with open(index_of(folder), "rb") as f:
        said = f.read()
    assert b"hush-hush" not in said and name.encode() in said and b"[secret]" in said, said
    assert sh(FIRESTEEL, "prune", "--where", "lr=0.1", "--yes", cwd=folder).code == 0
    with open(index_of(folder), "rb") as f:
        assert name.encode() not in f.read()

def spent(folder, *options):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = sh(FIRESTEEL, "runs", *options, cwd=folder)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.out

def test_journals_are_not_read(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 2500)
    time.sleep(SETTLED)
    slow, first = spent(folder)
    quick, second = min(spent(folder) for _ in range(3))
    assert first == second and (SANITIZED or quick * 4 < slow), f"{slow:.2f} s of processor without an index, {quick:.2f} s with it"
    asked, _ = min(spent(folder, "--where", "loss<2", "--sort", "-loss", "--columns", "lr,loss") for _ in range(5))
    quick = min(quick, min(spent(folder) for _ in range(3))[0])
    assert SANITIZED or asked < quick * 2.3, (asked, quick)  # each row is read once

if __name__ == "__main__":
    run(globals())
