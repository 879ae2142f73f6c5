#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run --from: a run again from its own record, and which of its results are the same."""
import json
import os

from tap import FIRESTEEL, run, sh

NOTEBOOK = """\
-- %% parameters tags=["parameters"]
lr = 0.1
-- %% Numbers
run.metric("loss", lr * 2)
print(math.random(1000000), run and "took 12ms", io.stdout)
io.open("m.bin", "w"):write("weights " .. lr):close()
made = run.artifact "m.bin"
"""


def put(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def folder_of(t, text=NOTEBOOK):
    folder = t.dir()
    put(folder, "n.lua", text)
    return folder


def firesteel(folder, *words, code=0, **options):
    done = sh(FIRESTEEL, *words, cwd=folder, **options)
    assert done.code == code, done
    return done


def compared(done):
    lines = done.out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("compared with"))
    return lines[at].split(": ", 1)[1], lines[at + 1:]


def rows(folder):
    return json.loads(firesteel(folder, "runs", "-o", "json").out)


def test_how_long_it_took_is_no_result(t):
    folder = folder_of(t, '-- %% Took\nprint(io.open("took.txt"):read "a")\n')

    def moves(before, after):
        put(folder, "took.txt", f"COMPLETED: {before}, as it is")
        firesteel(folder, "run", "n.lua")
        put(folder, "took.txt", f"COMPLETED: {after}, as it is")
        done = sh(FIRESTEEL, "run", "--from", "newest", cwd=folder)
        assert done.code in (0, 5) and (done.code == 5) == (" 1 moved" in done.out), done
        return done.code == 5

    for word in ("12ms", "1.5s", "4.7 s", "41 ms", "1m43s", "2h03m", "2h3m", "1h02m03s", "3 µs"):
        assert not moves(word, "59.9s"), word
    for word in ("12m", "1.5 sheep", "41 msx", "1m43st", "1h", "1 h", "v1m2s", "7.1m2s", "1. s", "1"):
        assert moves(word, word.replace("1", "8")), word


def test_the_same_bits(t):
    folder = folder_of(t)
    firesteel(folder, "run", "n.lua", "-p", "lr=0.5")
    first = rows(folder)[0]
    put(folder, "n.lua", "-- %%\nerror 'another notebook by now'\n")  # the record has its own source
    counts, moved = compared(firesteel(folder, "run", "--from", first["run"]))
    assert counts == "3 bit-equal, 0 within the tolerance, 0 moved, 0 not compared" and not moved, (counts, moved)
    second = rows(folder)[0]
    assert second["origin"]["from"] == first["run"] and second["origin"]["seed"] == first["origin"]["seed"], second
    assert second["params"] == {"lr": 0.5} and second["metrics"]["loss"]["value"] == 1, second
    counts, _ = compared(firesteel(folder, "run", "--from", second["run"]))  # and the copy of a copy
    assert counts.startswith("3 bit-equal"), counts


def test_the_folder_may_be_named_from_elsewhere(t):
    """The kernel works in another folder than the one that is typed in."""
    folder = folder_of(t)
    firesteel(folder, "run", "n.lua")
    below = os.path.join(folder, "a", "b")
    os.makedirs(below)
    for name in ("../..", os.path.relpath(folder, below), folder):
        done = sh(FIRESTEEL, "run", "--from", "newest", "--cwd", name, cwd=below)
        assert done.code == 0 and "3 bit-equal" in done.out, done


def test_what_moves_is_told_and_is_exit_5(t):
    folder = folder_of(t)
    firesteel(folder, "run", "n.lua", "-p", "lr=0.5")
    counts, moved = compared(firesteel(folder, "run", "--from", "newest", "-p", "lr=0.25", code=5))
    assert counts == "1 bit-equal, 0 within the tolerance, 2 moved, 0 not compared", counts
    assert moved[0] == "  moved: metric loss, 1 → 0.5" and moved[1].startswith("  moved: artifact m.bin, "), moved
    counts, moved = compared(firesteel(folder, "run", "--from", "-2", "--seed", "7", code=5))
    assert counts.startswith("2 bit-equal, 0 within the tolerance, 1 moved") and moved[0] == '  moved: output of "Numbers"', (counts, moved)


def test_tolerances(t):
    folder = folder_of(t, '-- %% Clock tolerance=1e-3\nlocal f = io.open "x"\nlocal x = tonumber(f:read "a")\nf:close()\n'
                       'run.metric("x", x)\nprint("x is", x, "and nan", 0 / 0)\n-- %% Exact\nprint(x)\n')
    for was, now, code, counts in ((1, 1.0005, 0, "1 bit-equal, 2 within the tolerance, 0 moved"), (1, 1.01, 5, "1 bit-equal, 0 within the tolerance, 2 moved"),
                                   (2000, 2001, 0, "1 bit-equal, 2 within the tolerance, 0 moved")):
        put(folder, "x", str(was))
        firesteel(folder, "run", "n.lua")
        put(folder, "x", str(now))
        found, _ = compared(firesteel(folder, "run", "--from", "newest", code=code))
        assert found.startswith(counts), (was, now, found)
    put(folder, "n.lua", "-- %% A tolerance=\"much\"\nprint(1)\n")
    done = firesteel(folder, "run", "n.lua", code=2)
    assert "tolerance: needs a number" in done.err, done


def test_a_tolerance_knows_tables(t):
    """Their text is as wide as the numbers are long."""
    folder = folder_of(t, '-- %% T tolerance=0.1\nlocal f = io.open "x"\nlocal x = tonumber(f:read "a")\nf:close()\n'
                       'display.table { { name = "one", a = x, b = "end" }, { name = "two", a = 2, b = "of it" } }\n')
    for was, now, code in ("1", "1.0125", 0), ("1.0125", "1", 0), ("0.99", "1", 0), ("1", "1.25", 5):
        put(folder, "x", was)
        firesteel(folder, "run", "n.lua")
        put(folder, "x", now)
        found, moved = compared(firesteel(folder, "run", "--from", "newest", code=code))
        assert ("1 within" in found) == (code == 0), (was, now, found, moved)


def test_a_tolerance_is_for_numbers_alone(t):
    folder = folder_of(t, '-- %% T tolerance=0.1\nlocal f = io.open "x"\nprint(f:read "a")\nf:close()\n')
    for was, now, code in (("ab 1", "a b 1", 5), ("1 2", "12", 5), ("a 1", "a 1 b", 5), ("a\n1", "a 1", 5), ("a", "a  ", 0),
                           (" 1 a", "1.01   a", 0)):
        put(folder, "x", was)
        firesteel(folder, "run", "n.lua")
        put(folder, "x", now)
        compared(firesteel(folder, "run", "--from", "newest", code=code))


BRANCHES = """\
-- %% Side by side
parallel.map({ "a", "b", "c" }, { at_once = 3 }, function(item)
  for line = 1, 2 do
    firesteel.sleep(item == os.getenv "FIRST" and "10ms" or item == os.getenv "LAST" and "300ms" or "150ms")
    print(item .. line .. (item == os.getenv "MOVED" and "!" or ""))
  end
end)
print "all"
"""


def test_branches_are_compared_each_by_itself(t):
    """Whoever was first this time: that is no result."""
    folder = folder_of(t, BRANCHES)
    said = firesteel(folder, "run", "n.lua", env={"FIRST": "a", "LAST": "c"}).out
    assert said.index("a1") < said.index("c1"), said
    first = rows(folder)[0]["run"]
    again = firesteel(folder, "run", "--from", first, env={"FIRST": "c", "LAST": "a"})
    assert again.out.index("c1") < again.out.index("a1"), again.out
    counts, moved = compared(again)
    assert counts == "4 bit-equal, 0 within the tolerance, 0 moved, 0 not compared", (counts, moved)
    second = rows(folder)[0]["run"]
    told = json.loads(sh(FIRESTEEL, "diff", first, second, "-o", "json", cwd=folder).out)
    assert "outputs" not in told, told
    moving = firesteel(folder, "run", "--from", first, code=5, env={"FIRST": "c", "LAST": "a", "MOVED": "b"})
    counts, moved = compared(moving)
    assert counts.startswith("3 bit-equal, 0 within the tolerance, 1 moved"), (counts, moved)
    assert any(line.strip() == 'moved: output of "Side by side: b"' for line in moved), moved
    told = json.loads(sh(FIRESTEEL, "diff", first, rows(folder)[0]["run"], "-o", "json", cwd=folder).out)
    assert len(told["outputs"]) == 1 and "+b1!" in told["outputs"][0]["diff"], told["outputs"]


TOLD = """\
-- %% Trials tolerance=1e-3
parallel.map({ "a", "b", "c" }, function(item)
  firesteel.sleep(item == os.getenv "FIRST" and "10ms" or item == os.getenv "LAST" and "300ms" or "150ms")
  run.metric("loss", ({ a = 3, b = 2, c = 1 })[item] + (item == os.getenv "MOVED" and 1 or 0), { step = 7 })
  run.param("item", item)
  local f = io.open(item, "w")
  f:write(item):close()
  run.artifact(item, { name = "weights" })
end)
-- %% Own
async("other", function() firesteel.sleep(os.getenv "FIRST" == "a" and "1ms" or "200ms"); run.metric("best", 9) end)
firesteel.sleep "100ms"
run.metric("best", 1)
"""


def test_what_branches_tell_is_compared_with_the_same_branch(t):
    folder = folder_of(t, TOLD)
    firesteel(folder, "run", "n.lua", env={"FIRST": "a", "LAST": "c"})
    counts, moved = compared(firesteel(folder, "run", "--from", "newest", env={"FIRST": "c", "LAST": "a"}))
    assert counts == "8 bit-equal, 0 within the tolerance, 0 moved, 0 not compared" and not moved, (counts, moved)
    second, first = rows(folder)
    assert (second["metrics"], second["params"], second["artifacts"]) == (first["metrics"], first["params"], first["artifacts"]), (first, second)
    loss = first["metrics"]["loss"]
    assert loss == {"value": 1, "step": 7, "n": 3, "min": 1, "max": 3} and first["params"] == {"item": "c"}, first
    assert first["metrics"]["best"]["value"] == 1, "what the cell tells itself counts more"
    same = sh(FIRESTEEL, "diff", cwd=folder)
    assert "metrics\n" not in same.out and "artifacts\n" not in same.out, same
    counts, moved = compared(firesteel(folder, "run", "--from", first["run"], code=5, env={"FIRST": "c", "LAST": "a", "MOVED": "b"}))
    assert counts.startswith("7 bit-equal, 0 within the tolerance, 1 moved"), (counts, moved)
    assert moved[0].strip() == "moved: metric loss of Trials: b, 2 → 3", moved
    told = json.loads(sh(FIRESTEEL, "diff", first["run"], "newest", "-o", "json", cwd=folder).out)
    assert told["metrics"] == {"loss of Trials: b": {"a": 2, "b": 3, "change": 1}}, told["metrics"]
    assert told["causes"]["loss of Trials: b"]["cell"] == "Trials", told["causes"]


def test_trainings_side_by_side_are_compared_each_by_itself(t):
    """Each has its own end: the metric of the run is that of the last one by name, not by time."""
    folder = folder_of(t, '-- %% Trainer file="t.lua"\nlocal nn, data = require "nn", require "data"\n'
                       'local args = require "args" { rate = 0.1, late = 0 }\n'
                       "local model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }\n"
                       'model:compile { optimizer = nn.SGD(args.rate), loss = "mean_squared_error" }\n'
                       "model:fit { data.tensor { { 1.0 }, { 2.0 } }, data.tensor { { 2.0 }, { 4.0 } }, epochs = 2 }\n"
                       '-- %% Train\nlocal late = os.getenv "LATE"\n'
                       'parallel.map({ "0.01", "0.1" }, function(rate)\n'
                       '  if rate == late then firesteel.sleep "1s" end\n'
                       '  trainer.run { "t.lua", args = { "--rate=" .. rate } }\nend)\n')
    firesteel(folder, "run", "n.lua", env={"LATE": "0.01"})
    counts, told = compared(firesteel(folder, "run", "--from", "newest", env={"LATE": "0.1"}))
    assert ", 0 moved, 0 not compared" in counts and "variable LATE" not in str(told), (counts, told)
    second, first = rows(folder)
    assert second["metrics"] == first["metrics"], (first, second)


def test_what_cannot_be_compared(t):
    folder = folder_of(t, '-- %% Time tags=["nbval-ignore-output"]\nprint(os.time(), firesteel.run)\n-- %% Name\nprint(firesteel.run)\n'
                       '-- %% Sometimes\nif not io.open "once" then io.open("once", "w"):close(); run.metric("first", 1) end\n')
    firesteel(folder, "run", "n.lua")
    counts, told = compared(firesteel(folder, "run", "--from", "newest"))
    assert counts == "1 bit-equal, 0 within the tolerance, 0 moved, 2 not compared", counts
    assert told == ["  not compared: metric first, it was not recorded again",
                    '  not compared: output of "Time", its tag says so', "  others than then: input once"], told


CLUSTER = """\
-- %% Make
map = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "map-" } }
print("made " .. map.name .. " with " .. map.uid .. " at " .. os.date("!%Y-%m-%dT%H:%M:%SZ"))
k8s.list("configmaps")
-- %% Say
for line in io.lines("said.txt") do print(line) end
"""


def test_what_a_cluster_gave_is_no_result(t):
    """Names, uids and times of a run's own objects are others each time. What else a cell prints counts as ever."""
    folder = folder_of(t, CLUSTER)
    allowed = ("--sandbox", "--allow", "cluster", "--no-preflight")
    was = "Normal  Added\nNormal  Running\nsha256:" + "1f" * 32 + "\nmap-12345678 is another's\n"
    put(folder, "said.txt", was)
    firesteel(folder, "run", "n.lua", *allowed)

    def again(text, code):
        put(folder, "said.txt", text)
        return firesteel(folder, "run", "--from", "newest", *allowed, code=code)

    counts, told = compared(again(was, 0))
    assert counts == "2 bit-equal, 0 within the tolerance, 0 moved, 1 not compared", counts
    assert "  not compared: display Make, it is as the cluster was" in told, told
    again("Normal  Running\nNormal Added\nsha256:" + "1f" * 32 + "\nmap-12345678 is another's\n", 0)
    for before, after in (("1f1f", "2f2f"), ("12345678", "87654321"), ("Added", "Lost")):
        put(folder, "said.txt", was)
        firesteel(folder, "run", "n.lua", *allowed)
        assert '  moved: output of "Say"' in again(was.replace(before, after), 5).out


def test_a_failure_counts_more_and_a_json_run_tells_on_stderr(t):
    folder = folder_of(t, '-- %% A\nif io.open "no" then error "no more" end\nprint(1)\n-- %% B\nprint(2)\n')
    firesteel(folder, "run", "n.lua")
    done = firesteel(folder, "run", "--from", "newest", "-o", "json")
    assert "compared with" in done.err and all(json.loads(line) for line in done.out.splitlines()), done
    put(folder, "no", "")
    done = firesteel(folder, "run", "--from", "-2", code=1)
    assert '  moved: cell A, failed' in done.out and 'output of "B", the cell did not run again' in done.out, done


def test_what_is_refused(t):
    folder = folder_of(t, '-- %% parameters tags=["parameters"]\ndb_password = "x"\n-- %% A\nprint(1)\n')
    firesteel(folder, "run", "n.lua", "-p", "db_password=hunter-alpha")
    put(folder, "s.lua", '-- %% A\nlocal token = "abcdef-secret"\nprint(1)\n')
    for words, text in ((("--from", "nope"), "no run nope"), (("--from", "newest", "n.lua"), "leave n.lua out"),
                        (("--from", "newest", "--detach"), "without --detach"), (("--from", "newest", "--resume", "newest"), "without --resume"),
                        (("--from", "newest"), "hides the value of parameter db_password"), (("--from", "newest", "-p", "lr=1"), "lr")):
        done = firesteel(folder, "run", *words, code=2)
        assert text in done.err, (words, done)
    firesteel(folder, "run", "--from", "newest", "-p", "db_password=hunter-beta")
    firesteel(folder, "run", "s.lua")
    done = firesteel(folder, "run", "--from", "s.lua", code=2)
    assert 'hides a secret in the source of "A"' in done.err, done


def test_a_training_is_the_same_to_the_bit(t):
    folder = folder_of(t, '-- %% Trainer file="t.lua"\nlocal nn, data = require "nn", require "data"\n'
                       "local model = nn.Sequential { nn.Dense { 4, input_dim = 1 }, nn.Dense { 1 } }\n"
                       'model:compile { optimizer = nn.SGD(0.1), loss = "mean_squared_error" }\n'
                       "model:fit { data.tensor { { 1.0 }, { 2.0 } }, data.tensor { { 2.0 }, { 4.0 } }, epochs = 3 }\n"
                       '-- %% Train\njob = trainer.run "t.lua"\n')
    firesteel(folder, "run", "n.lua")
    counts, told = compared(firesteel(folder, "run", "--from", "newest"))
    assert ", 0 moved, 0 not compared" in counts and not told, (counts, told)


run(globals())
