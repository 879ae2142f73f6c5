#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The index of runs (script/journal/runs/runs_index.h): lists are the same with the index, without it, and when it is damaged."""
import array
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import termios
import time

from tap import FIRESTEEL, SANITIZED, eventually, run, sh

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

def begin(t, *arguments, index=False):
    """A folder with a run, and the text of its journal; no index, if it shall not have the one that the run left."""
    folder = t.dir()
    with open(folder + "/n.lua", "w", encoding="utf-8") as f:
        f.write(NOTEBOOK)
    done = sh(FIRESTEEL, "run", "n.lua", "-o", "json", *arguments, cwd=folder)
    name = json.loads(done.out.split("\n", maxsplit=1)[0])["run"]
    if not index:
        os.remove(index_of(folder))
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

def until_now(said):
    """The same without how long a run has been going on, which is longer each time."""
    def rest(out):
        if out.startswith("["):
            return [dict(row, seconds=None) if row["state"] == "running" else row for row in json.loads(out)]
        return re.sub(" +", " ", re.sub(r"( running .*?:\d\d:\d\d) +\S+", r"\1", out))
    return [(code, rest(out), err) for code, out, err in said]

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
        f.write(text.replace('"value":0.5', '"value":7.5'))
    os.utime(journal, ns=(1, 1))
    assert lists(folder) == truth(folder) != before
    time.sleep(SETTLED)
    lists(folder)
    assert b'"value":7.5' in read_index(folder), "it is read once more, and no more than that"
    os.remove(journal)
    killed = sorted(n for n in os.listdir(folder + "/.firesteel") if n.endswith(".jsonl"))[1]
    with open(os.path.join(folder, ".firesteel", killed), encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)  # somebody resumes it, and has written nothing yet
        assert "running" in sh(FIRESTEEL, "runs", cwd=folder).out
        assert until_now(lists(folder)) == until_now(truth(folder))
    shown = sh(FIRESTEEL, "runs", cwd=folder).out
    assert "running" not in shown and name not in shown, shown
    with open(index_of(folder), "rb") as f:
        assert name.encode() not in f.read(), "a run that is gone is gone from the index, too"

def read_index(folder):
    with open(index_of(folder), "rb") as f:
        return f.read()

def test_a_run_that_was_just_written_is_not_believed(t):
    """A clock of a file system is coarse: who reads a journal in the moment of its last change may miss another one."""
    folder, name, text = begin(t)
    with open(journal_of(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    lists(folder)
    assert not os.path.exists(index_of(folder)) or name.encode() not in read_index(folder)
    time.sleep(SETTLED)
    lists(folder)
    assert name.encode() in read_index(folder)

def test_a_run_that_ends_leaves_its_own_entry(t):
    """So the first list after many runs reads no journals: it finds nothing to add."""
    folder, name, _ = begin(t, index=True)
    assert name.encode() in read_index(folder), "before any list"
    with open(folder + "/bad.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nrun.metric('loss', 2)\nerror 'no'\n-- %%\nprint(1)\n")
    sh(FIRESTEEL, "run", "bad.lua", cwd=folder)
    resumed = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=folder).out)[0]["run"]
    with open(folder + "/bad.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nrun.metric('loss', 2)\nprint 'yes'\n-- %%\nprint(1)\n")
    sh(FIRESTEEL, "run", "bad.lua", "--resume", resumed, cwd=folder)
    several = [subprocess.Popen([FIRESTEEL, "run", "n.lua"], cwd=folder, stdout=subprocess.DEVNULL) for _ in range(6)]
    assert [p.wait() for p in several] == [0] * 6
    time.sleep(SETTLED)
    before, expected = read_index(folder), truth(folder)
    assert lists(folder) == expected and read_index(folder) == before, "all of them are believed, so none is read again"
    assert before.count(b"\0n-20") == 7 and before.count(b"\0bad-20") == 2, "the last entry of a resumed run counts"
    with open(index_of(folder), "wb") as f:
        f.write(before.replace(b"firesteel runs 6 ", b"firesteel runs 4 "))
    sh(FIRESTEEL, "run", "n.lua", cwd=folder)
    said = read_index(folder)
    assert said.startswith(b"firesteel runs 6 ") and said.count(b"\0n-20") == 1, "another version's is begun anew"
    os.remove(index_of(folder))
    os.mkdir(index_of(folder))
    assert sh(FIRESTEEL, "run", "n.lua", cwd=folder).code == 0, "where none can be written, the run ends as ever"

def test_a_killed_kernel_leaves_no_entry(t):
    folder, _, _ = begin(t, index=True)
    with open(folder + "/long.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nprint 'begun'\nsh 'kill -9 $PPID; sleep 60'\n")
    sh(FIRESTEEL, "run", "long.lua", cwd=folder)
    assert b"\0long-20" not in read_index(folder)
    assert "killed" in sh(FIRESTEEL, "runs", cwd=folder).out

def test_another_file_than_what_was_heard_gets_no_entry(t):
    """The client of a headless run makes the entry of what it has heard: only for the journal that says the same."""
    folder, _, _ = begin(t, index=True)
    with open(folder + "/moved.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nsh 'f=$(echo .firesteel/moved-*.jsonl); mv $f aside; cp aside $f'\n")
    assert sh(FIRESTEEL, "run", "moved.lua", cwd=folder).code == 0
    assert b"\0moved-20" not in read_index(folder)
    assert "killed" in sh(FIRESTEEL, "runs", cwd=folder).out, "as the file in its place says"

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
        f.write(good.replace(b"firesteel runs 6 ", b"firesteel runs 4 ").replace(b"baseline", b"baseless"))
    assert lists(folder) == expected
    with open(index_of(folder), "rb") as f:
        assert f.read().startswith(b"firesteel runs 6 ")

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

def test_what_another_list_has_added_is_not_added_again(t):
    """Both read the same journal; the slower one has yet to write when the other one is done."""
    folder, name, text = begin(t)
    multiply(folder, name, text, 200)
    time.sleep(SETTLED)
    lists(folder)
    with open(journal_of(folder, name), "w", encoding="utf-8") as f:
        f.write(text.replace('"value":0.5', '"value":7.5'))
    time.sleep(SETTLED)
    slow = subprocess.Popen([FIRESTEEL, "runs", "-o", "json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    filled = array.array("i", [0])
    eventually(lambda: fcntl.ioctl(slow.stdout, termios.FIONREAD, filled) == 0 and filled[0] == 1 << 16)  # it waits for a reader
    assert read_index(folder).count(b'"value":7.5') == 0
    lists(folder)
    assert read_index(folder).count(b'"value":7.5') == 1
    slow.communicate()
    assert read_index(folder).count(b'"value":7.5') == 1

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

def bytes_read(folder, *options):
    """How much a list reads of files, and what it says."""
    with open(folder + "/said", "wb") as said:
        list_ = subprocess.Popen([FIRESTEEL, "runs", *options], cwd=folder, stdin=subprocess.DEVNULL, stdout=said,
                                 stderr=subprocess.DEVNULL)
        os.waitid(os.P_PID, list_.pid, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{list_.pid}/io", encoding="utf-8") as f:
            read = int(re.search(r"rchar: (\d+)", f.read())[1])
        assert list_.wait() in (0, 1)  # 1: one is unreadable
    with open(folder + "/said", encoding="utf-8") as f:
        return read, f.read()

def turned(index):
    """The index with its entries in the opposite order, as runs leave them that end one after the other."""
    at = index.index(b"\n") + 1
    head, entries = index[:at], []
    while at < len(index):
        line = index[at:index.index(b"\n", at) + 1]
        _, brief, *rest = (int(word, 16) for word in line.split())
        parts = rest[:len(rest) // 2]  # their sizes, and then their digests
        entries.append(index[at:at + len(line) + brief + sum(parts) + len(parts) + 1])
        at += len(entries[-1])
    return head + b"".join(reversed(entries))

def test_journals_are_not_read(t):
    folder, name, text = begin(t)
    multiply(folder, name, text, 2500)
    time.sleep(SETTLED)
    options = ("--where", "loss<2", "--sort", "-loss", "--columns", "lr,loss")
    _, recorded = bytes_read(folder, *options)
    os.remove(index_of(folder))
    all_of_them, first = bytes_read(folder)
    index = read_index(folder)
    for order in index, turned(index):
        with open(index_of(folder), "wb") as f:
            f.write(order)
        none_of_them, second = bytes_read(folder)
        assert first == second and none_of_them < len(index) * 1.2 < all_of_them, (all_of_them, none_of_them, len(index))
        asked, again = bytes_read(folder, *options)
        # once for what is known of each run, once for what they recorded
        assert recorded == again and asked < len(index) * 2.2, (asked, len(index))

if __name__ == "__main__":
    run(globals())
