#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a run's record says of where it came from: commit, command, seed, inputs, versions; and of no secret."""
import hashlib
import json
import os
import pwd
import shutil
import subprocess
import tarfile
import time

from tap import BUILD, FIRESTEEL, RUNTIME, Skip, run, sh

NOTEBOOK = """\
-- %% parameters tags=["parameters"]
lr = 0.1
-- %% Work
print(math.random(), math.random(1000))
run.metric("m", lr * 2)
"""
READS = """\
-- %% Reads
local f = io.open "data.txt"
print(f:read "a")
f:close()
for line in io.lines "data.txt" do print(line) end
print(require "helper")
io.open("made.txt", "w"):write("x"):close()
sh("cat table.csv", { inputs = { "table.csv" } })
%env FOO=bar
"""
GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}


def put(folder, name, text, mode=0o644):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def git(folder, *words):
    if not shutil.which("git"):
        raise Skip("git is not installed")
    done = sh("git", *words, cwd=folder, env=GIT)
    assert done.code == 0, done
    return done.out.strip()


def repository(t, notebook=NOTEBOOK, **files):
    folder = t.dir()
    put(folder, "n.lua", notebook)
    for name, text in files.items():
        put(folder, name.replace("_", "."), text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "one")
    return folder, git(folder, "rev-parse", "HEAD")


def firesteel(folder, *words, **options):
    done = sh(FIRESTEEL, *words, cwd=folder, **options)
    assert done.code == 0, done
    return done


def origin(folder, *words, **options):
    """Of a new run."""
    firesteel(folder, "run", "n.lua", *words, **options)
    rows = json.loads(sh(FIRESTEEL, "runs", "-o", "json", cwd=folder).out)
    return rows[0]["origin"]


def test_commit_and_changes(t):
    folder, commit = repository(t)
    assert origin(folder)["git"] == {"commit": commit, "branch": "main", "root": folder, "dirty": False}
    put(folder, "untracked.txt", "x")
    os.utime(os.path.join(folder, "n.lua"))  # the same content
    assert origin(folder)["git"]["dirty"] is False
    put(folder, "n.lua", NOTEBOOK + "-- more\n")
    changed = origin(folder)["git"]
    assert (changed["dirty"], changed["files"], len(changed["diff"])) == (True, 1, 64), changed
    assert origin(folder)["git"]["diff"] == changed["diff"]
    put(folder, "n.lua", NOTEBOOK + "-- other\n")
    git(folder, "add", "n.lua")  # what is only in the index counts, too
    assert origin(folder)["git"]["diff"] != changed["diff"]
    out = firesteel(folder, "show").out
    assert f"  commit       {commit[:12]} on branch main, changed files: 1 (" in out, out
    columns = firesteel(folder, "runs", "--columns", "commit,dirty,branch", "--where", "commit ~ " + commit[:10]).out.splitlines()
    assert columns[1].split()[2:] == [commit, "true", "main"], columns


def test_detached_head_worktree_and_bare_folder(t):
    folder, commit = repository(t)
    git(folder, "checkout", "-q", "--detach")
    assert origin(folder)["git"] == {"commit": commit, "root": folder, "dirty": False}
    linked = os.path.join(t.dir(), "w")
    git(folder, "worktree", "add", "-q", "-b", "side", linked)
    put(linked, "n.lua", NOTEBOOK + "-- side\n")
    found = origin(linked)["git"]
    assert (found["commit"], found["branch"], found["dirty"]) == (commit, "side", True), found
    bare = os.path.join(folder, "sub", "bare")
    git(folder, "init", "-q", "--bare", bare)
    put(bare, "n.lua", NOTEBOOK)
    assert origin(bare)["git"]["root"] == folder, "a bare folder inside is no working tree"
    git(folder, "gc", "-q")  # refs and objects are packed
    assert origin(folder)["git"]["dirty"] is False


def test_no_repository_no_commit_and_none_wanted(t):
    folder = t.dir()
    put(folder, "n.lua", NOTEBOOK)
    assert "git" not in origin(folder)
    git(folder, "init", "-q", "-b", "main")
    assert origin(folder)["git"] == {"branch": "main", "root": folder}
    folder, _ = repository(t)
    assert "git" not in origin(folder, "--no-git")


def test_without_git_the_commit_is_known(t):
    folder, commit = repository(t)
    tools = t.dir()
    for name in ("sh", "bash"):
        os.symlink(shutil.which(name), os.path.join(tools, name))
    found = origin(folder, env={"PATH": tools})["git"]
    assert (found["commit"], found["unknown"]) == (commit, "git is not installed"), found


def hostile(folder, marks):
    """Everything in a repository that makes git run a program."""
    touch = put(folder, ".evil/touch", f"#!/bin/sh\ntouch {marks}/$(basename $0)-$$\ncat\n", 0o755)
    for key in ("core.fsmonitor", "diff.external", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv",
                "diff.evil.command", "core.pager", "pager.diff", "core.sshCommand", "core.gitProxy", "credential.helper"):
        git(folder, "config", key, touch)
    git(folder, "config", "filter.evil.required", "true")
    git(folder, "config", "core.hooksPath", os.path.join(folder, ".evil/hooks"))
    git(folder, "config", "remote.origin.url", f"ext::{touch}")
    for hook in ("post-index-change", "pre-commit", "post-checkout"):
        for place in (".evil/hooks", ".git/hooks"):
            put(folder, os.path.join(place, hook), f"#!/bin/sh\ntouch {marks}/{hook}\n", 0o755)
    put(folder, ".git/info/attributes", "* filter=evil diff=evil\n")
    put(folder, ".gitattributes", "* filter=evil diff=evil\n")


def test_a_hostile_repository_runs_nothing(t):
    folder, commit = repository(t)
    marks = t.dir()
    hostile(folder, marks)
    put(folder, "n.lua", NOTEBOOK + "-- changed\n")
    subprocess.run(["git", "status"], cwd=folder, env=dict(os.environ, **GIT), capture_output=True, check=False)
    assert os.listdir(marks), "git itself runs them, so the test can fail"
    for name in os.listdir(marks):
        os.unlink(os.path.join(marks, name))
    found = origin(folder)["git"]
    assert (found["commit"], found["dirty"], found["files"]) == (commit, True, 1), found
    assert not os.listdir(marks), os.listdir(marks)
    # objects that are missing are fetched from nowhere
    git(folder, "config", "extensions.partialClone", "origin")
    tree = git(folder, "rev-parse", "HEAD^{tree}")
    for name in os.listdir(marks):
        os.unlink(os.path.join(marks, name))
    os.unlink(os.path.join(folder, ".git", "objects", tree[:2], tree[2:]))
    assert origin(folder)["git"]["unknown"].startswith("git: "), "the tree is gone"
    assert not os.listdir(marks), os.listdir(marks)


def test_a_git_that_hangs_does_not_keep_the_run(t):
    folder, _ = repository(t, NOTEBOOK + "-- %% Wait\nfiresteel.sleep(3)\n")
    tools = t.dir()
    put(tools, "git", "#!/bin/sh\nexec sleep 60\n", 0o755)
    began = time.monotonic()
    found = origin(folder, env={"PATH": tools + ":" + os.environ["PATH"]})["git"]
    assert found["unknown"] == "git took longer than 2 seconds", found
    assert time.monotonic() - began < 20, "it waits for git"
    assert not [n for n in os.listdir(RUNTIME) if n.startswith("git-")], os.listdir(RUNTIME)


def test_seed_repeats_the_numbers(t):
    folder = t.dir()
    put(folder, "n.lua", NOTEBOOK)

    def numbers(*words):
        return firesteel(folder, "run", "n.lua", *words).out.splitlines()[3]
    first = numbers()
    seed = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]["origin"]["seed"]
    assert numbers() != first, "each run has another one"
    assert numbers("--seed", str(seed)) == first
    for words, text in ((("--seed", "x"), "it is an integer"), (("--seed", "1", "--resume", "n"), "keeps its own")):
        done = sh(FIRESTEEL, "run", "n.lua", *words, cwd=folder)
        assert done.code == 2 and text in done.err, done


def test_command_and_its_secrets(t):
    folder = t.dir()
    put(folder, "n.lua", '-- %% parameters tags=["parameters"]\nlr = 0.1\ndb_password = "x"\nurl = "u"\n')
    found = origin(folder, "-p", "lr=0.5", "-p", "db_password=hunter22-long", "-p", "url=http://me:opensesame1@host/x", "--allow", "cluster")
    assert found["command"] == ["firesteel", "run", "n.lua", "-p", "lr=0.5", "-p", "db_password=[secret]", "-p",
                                "url=http://me:[secret]@host/x", "--allow", "cluster"], found
    assert found["allow"] == "cluster", found
    for words in (("-pdb_password=abc",), ("--param=db_password=abc",), ("--param", "db_password=abc")):
        assert "abc" not in json.dumps(origin(folder, *words)["command"]), "also a short one"
    text = "".join(open(os.path.join(folder, ".firesteel", n), encoding="utf-8").read()
                   for n in os.listdir(os.path.join(folder, ".firesteel")) if n.endswith(".jsonl"))
    assert "hunter22" not in text and "opensesame" not in text


def test_inputs_environment_and_versions(t):
    folder = t.dir()
    put(folder, "n.lua", READS)
    put(folder, "data.txt", "hello\n")
    put(folder, "table.csv", "1,2\n")
    put(folder, "helper.lua", "return 7\n")
    firesteel(folder, "run", "n.lua", env={"OMP_NUM_THREADS": "3", "TF_TOKEN": "verysecret1"})
    row = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]
    digests = {name: i["sha256"] for name, i in row["inputs"].items()}
    assert digests == {name: hashlib.sha256(text.encode()).hexdigest() for name, text in (
        ("data.txt", "hello\n"), ("table.csv", "1,2\n"), ("./helper.lua", "return 7\n"))}, row["inputs"]
    assert row["environment"]["OMP_NUM_THREADS"] == "4e07408562bedb8b" and row["environment"]["TF_TOKEN"] == "[secret]", row
    assert row["environment"]["FOO"] == "fcde2b2edba56bf4", row["environment"]
    assert row["versions"]["firesteel"] and row["versions"]["lua"].startswith("Lua 5.4"), row
    assert row["origin"]["machine"]["arch"] == os.uname().machine, row
    assert row["origin"]["user"] == pwd.getpwuid(os.geteuid()).pw_name, row
    out = firesteel(folder, "show").out
    for line in ("input        data.txt sha256:5891b5b522d5", "variable     FOO fcde2b2edba56bf4"):
        assert line in out, out
    text = firesteel(folder, "export", "--to", "md").out
    assert "### Made by" in text and "input        data.txt sha256:5891b5b522d5" in text, text


def test_files_of_an_image_are_inputs(t):
    folder = t.dir()
    put(folder, "n.lua", '-- %% Build\nimg = image.build { add = { "a.lua", { from = "b.txt", to = "/b" }, "dir" }, exclude = { "**/*.tmp" }, worker = false, tag = "r:1" }\n'
        '-- %% Other\nrun.metric("n", #io.open("b.txt"):read "a")\n')
    put(folder, "a.lua", "return 1\n")
    put(folder, "b.txt", "b")
    put(folder, "dir/deep/c.txt", "c")
    put(folder, "dir/deep/d.tmp", "d")
    def inputs():
        return {name: i["sha256"] for name, i in json.loads(firesteel(folder, "runs", "-o", "json").out)[0]["inputs"].items()}
    firesteel(folder, "run", "n.lua")
    assert inputs() == {name: hashlib.sha256(text).hexdigest() for name, text in (("a.lua", b"return 1\n"), ("b.txt", b"b"), ("dir/deep/c.txt", b"c"))}, inputs()
    for name, text in (("dir/deep/d.tmp", "other"), ("dir/deep/c.txt", "other"), ("a.lua", "return 2\n")):
        put(folder, name, text)
        out = firesteel(folder, "run", "n.lua", "--stale", "--list").out
        assert f"runs      Build  {name} has changed" in out or name.endswith(".tmp"), out
        assert "stays     Other" in out and "d.tmp" not in out, out
    firesteel(folder, "run", "n.lua")
    out = sh(FIRESTEEL, "diff", cwd=folder).out
    assert "  a.lua: " in out and "  dir/deep/c.txt: " in out, out


def test_what_pods_ran_is_recorded(t):
    """A manifest names an image by a tag; which one that was, only the node knows."""
    folder = t.dir()
    store = {"XDG_DATA_HOME": folder + "/data"}
    put(folder, "build.lua", '-- %% Build\nimage.build { add = { "a.lua" }, tag = "tool:1" }\n')
    put(folder, "job.lua", """-- %% Job effects="cluster"
job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { generateName = "j-" }, spec = { backoffLimit = 0, template = {
  spec = { restartPolicy = "Never", containers = { { name = "main", image = "tool:1", args = { "a.lua" } } } } } } }
job:reaches("Complete", "1m")
""")
    digests = []
    for source in "print(1)", "print(2)":
        put(folder, "a.lua", source)
        built = firesteel(folder, "run", "build.lua", env=store).out
        firesteel(folder, "run", "job.lua", "--sandbox", "--allow", "cluster", env=store)
        digests.append(json.loads(firesteel(folder, "runs", "-o", "json").out)[0]["images"]["tool:1"])
        assert f"built tool:1 {digests[-1][:19]}" in built, (digests, built)
    assert digests[0] != digests[1], digests
    runs = [r["run"] for r in json.loads(firesteel(folder, "runs", "-o", "json").out) if r["run"].startswith("job-")]
    out = sh(FIRESTEEL, "diff", runs[1], runs[0], cwd=folder).out
    assert f"tool:1: {digests[0][:19]}" in out and digests[1][:19] in out, out


def test_files_that_a_dockerfile_copies_are_inputs(t):
    folder = t.dir()
    for name, text in (("app/a.lua", "return 1\n"), ("app/b.tmp", ""), (".dockerignore", "**/*.tmp\n"),
                       ("Dockerfile", "FROM scratch AS first\nCOPY app /app\nFROM scratch\nCOPY --from=first /app /other\nADD c.tar /c/\n")):
        put(folder, name, text)
    with tarfile.open(folder + "/c.tar", "w") as tar:
        tar.add(folder + "/app/a.lua", "in/a.lua")
    put(folder, "n.lua", '-- %% Build\nimage.build { dockerfile = "Dockerfile", tag = "r:1" }\n')
    firesteel(folder, "run", "n.lua")
    row = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]
    assert set(row["inputs"]) == {"Dockerfile", "app/a.lua", "c.tar"}, row["inputs"]
    put(folder, "app/a.lua", "return 2\n")
    out = firesteel(folder, "run", "n.lua", "--stale", "--list").out
    assert "runs      Build  app/a.lua has changed" in out, out


def test_a_training_says_its_worker(t):
    folder = t.dir()
    put(folder, "n.lua", '-- %% Trainer file="t.lua"\nlocal nn, data = require "nn", require "data"\n'
        "local model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }\n"
        'model:compile { optimizer = nn.SGD(0.1), loss = "mean_squared_error" }\n'
        "model:fit { data.tensor { { 1.0 } }, data.tensor { { 2.0 } }, epochs = 1 }\n-- %% Train\ntrainer.run \"t.lua\"\n")
    firesteel(folder, "run", "n.lua")
    row = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]
    worker = row["versions"]["worker"]
    assert worker["kernels"] in ("avx512", "avx2", "plain") and worker["ranks"] == 1, worker
    assert worker["deterministic"] == "for any number of threads", worker
    assert ", deterministic for any number of threads" in firesteel(folder, "show").out
    assert row["inputs"]["t.lua"]["sha256"], row["inputs"]


PICTURES = '''\
-- %% Trainer file="t.lua"
local nn = require "nn"
local model = nn.Sequential { nn.Input { 8, 8, 16 }, nn.Conv2D { 16, 3 }, nn.Flatten {}, nn.Dense { 1 }, seed = 1, dtype = "mixed_bfloat16" }
model:compile { optimizer = "sgd", loss = "mse" }
model:fit { nn.ops.full({ 2, 8, 8, 16 }, 0.5), nn.ops.full({ 2, 1 }, 1), epochs = 1 }
-- %% Train
trainer.run "t.lua"
'''


def test_a_record_says_how_bf16_was_multiplied(t):
    folder = t.dir()
    put(folder, "n.lua", PICTURES)
    ways = set()
    for env in ({}, {"FIRESTEEL_DNN": "0"}):
        firesteel(folder, "run", "n.lua", env=env)
        row = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]
        how = row["versions"]["worker"]["bf16"]
        assert how in ("bf16 multiplied as bf16", "bf16 multiplied as float32", "mixed_bfloat16 in float32"), row
        assert how in firesteel(folder, "show").out, how
        ways.add(how)
    assert how == "mixed_bfloat16 in float32" and len(ways) == (2 if " avx512_bf16" in open("/proc/cpuinfo", encoding="ascii").read() else 1), ways


READER = """\
-- %% Trainer file="t.lua"
local data = require "data"
local x = data.csv "rows.csv"
data.csv "rows.csv"
data.save("own.npy", data.tensor { 1, 2 })
data.npy "own.npy"
data.mnist()
print(#x.a)
-- %% Train
trainer.run "t.lua"
"""


def test_what_a_trainer_reads_is_recorded(t):
    """Once for each file, not what it has written itself; runs are compared by it, and cells are stale when it changes."""
    folder = t.dir()
    put(folder, "n.lua", READER)
    put(folder, "rows.csv", "a,b\n1,2\n3,4\n")
    assert firesteel(folder, "run", "n.lua").code == 0
    row = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]
    assert row["inputs"]["rows.csv"] == {"size": 12, "sha256": hashlib.sha256(b"a,b\n1,2\n3,4\n").hexdigest()}, row["inputs"]
    images = [i for name, i in row["inputs"].items() if name.endswith("/train-images-idx3-ubyte.gz")]
    assert len(images) == 1 and images[0]["sha256"] and "own.npy" not in row["inputs"], row["inputs"]
    journal = open(os.path.join(folder, ".firesteel", row["run"] + ".jsonl"), encoding="utf-8").read()
    assert journal.count('"name":"rows.csv"') == 1, journal
    assert "nothing is stale" in firesteel(folder, "run", "n.lua", "--stale", "--list").out
    put(folder, "rows.csv", "a,b\n1,2\n5,4\n")
    assert "rows.csv has changed" in firesteel(folder, "run", "n.lua", "--stale", "--list").out
    again = firesteel(folder, "run", "--from", row["run"])
    assert "bit-equal" in again.out and "  others than then: input rows.csv\n" in again.out, again
    assert "inputs\n  rows.csv: " in sh(FIRESTEEL, "diff", cwd=folder).out


FUNCTION = """\
-- %% Train
r = hvd.run(function()
  local data = require "data"
  return #data.csv("rows.csv").a
end, { np = 2 })
"""


def test_what_a_function_on_ranks_here_reads_is_recorded(t):
    folder = t.dir()
    put(folder, "n.lua", FUNCTION)
    put(folder, "rows.csv", "a,b\n1,2\n")
    assert firesteel(folder, "run", "n.lua").code == 0
    row = json.loads(firesteel(folder, "runs", "-o", "json").out)[0]
    assert row["inputs"] == {"rows.csv": {"size": 8, "sha256": hashlib.sha256(b"a,b\n1,2\n").hexdigest()}}, row["inputs"]
    put(folder, "rows.csv", "a,b\n1,3\n")
    assert "rows.csv has changed" in firesteel(folder, "run", "n.lua", "--stale", "--list").out


def outputs(t, *cells, codes=(0,)):
    """Of each cell: the files that it has left; and all that are there."""
    folder = t.dir()
    put(folder, "n.lua", "".join(f"-- %%{cell}\n" for cell in cells))
    done = sh(FIRESTEEL, "run", "n.lua", "-o", "json", cwd=folder)
    assert done.code in codes, done
    events = [json.loads(line) for line in done.out.splitlines()]
    ids = [e["cell"] for e in events if e["type"] == "state" and e["state"] == "running"]
    found = [{e["name"]: e["value"] for e in events if e["type"] == "recorded" and e["kind"] == "output" and e["cell"] == cell} for cell in ids]
    assert len(found) == len(cells), events
    return found, sorted(name for name in os.listdir(folder) if name not in ("n.lua", ".firesteel"))


def test_a_number_is_the_name_of_a_file(t):
    found, _ = outputs(t, '\nio.open(2026, "w"):close() io.open("a", "w"):close()', '\nassert(os.rename(2026, 2027))', '\nprint "nothing"')
    assert [sorted(one) for one in found] == [["2026", "a"], ["2027"], []], found


LARGE = 'for i = 1, 20 do local f = io.open(("%02d"):format(i), "w") f:seek("set", (16 << 20) - 1) f:write("x") f:close() end'


def test_a_cell_that_is_stopped_has_left_its_files(t):
    (found,), there = outputs(t, f' timeout="3s"\n{LARGE} firesteel.sleep(60)', codes=(4,))
    assert sorted(found) == there != [], (found, there)
    (found,), _ = outputs(t, ' timeout="1s"\nlocal f = io.open("a", "w") f:write("x") while true do end', codes=(4,))
    assert found == {"a": {"size": 1, "sha256": hashlib.sha256(b"x").hexdigest()}}, found


def test_the_digests_of_a_cells_files_are_bounded(t):
    found, _ = outputs(t, "\n" + LARGE, '\nio.open("a", "w"):close()')
    assert ["sha256" in found[0][f"{i:02d}"] for i in range(1, 21)] == [True] * 16 + [False] * 4, found
    assert found[0]["20"]["mtime"] and found[1]["a"]["sha256"], found


def test_who_only_reads_a_file_that_could_be_written_has_not_left_it(t):
    found, _ = outputs(t, '\nio.open("a", "w"):write("abc"):close() firesteel.sleep(0.05)', '\nlocal f = io.open("a", "r+") print(f:read "a") f:close()',
                       '\nkept = io.open("a", "r+")', '\nfiresteel.sleep(0.05) kept:write("b")', '\nio.open("a", "r+"):write("c"):close()',
                       '\nfiresteel.sleep(0.05) kept:write("d") kept:flush() firesteel.sleep(0.05) io.open("a", "r+"):read()',
                       '\nfiresteel.sleep(0.05) io.open("a", "r+"):write("e"):close() firesteel.sleep(0.05) io.open("a", "r+"):read()')
    assert [sorted(one) for one in found] == [["a"], [], [], ["a"], ["a"], ["a"], ["a"]], found


def test_a_pipe_that_nobody_reads_blocks_no_other_cell(t):
    found, _ = outputs(t, '\nsh "mkfifo p" kept = io.open("p", "r+")\nsh("dd if=/dev/zero of=p bs=4096 oflag=nonblock", { check = false })\nkept:write "x"',
                       '\nio.open("a", "w"):close()', '\nsh("dd if=p of=/dev/null bs=4096 iflag=nonblock", { check = false }) kept:close()')
    assert [sorted(one) for one in found] == [[], ["a"], []], found


def test_another_worker_makes_a_training_stale(t):
    folder, programs = t.dir(), t.dir()
    for name in ("firesteel", "firesteel-kernel", "firesteel-worker"):
        shutil.copy(os.path.join(BUILD, "cli", name), programs)
    put(folder, "n.lua", '-- %% Trainer file="t.lua"\nprint "trained"\n-- %% Train\ntrainer.run "t.lua"\n')
    def go(*words):
        done = sh(os.path.join(programs, "firesteel"), "run", "n.lua", *words, cwd=folder)
        assert done.code == 0, done
        return done.out
    assert "trained" in go() and "nothing is stale" in go("--stale", "--list")
    worker = os.path.join(programs, "firesteel-worker")
    os.utime(worker, (0, 0))  # another one of the same size
    assert f"runs      Train    {worker} has changed" in go("--stale", "--list")
    assert "trained" in go("--stale") and "nothing is stale" in go("--stale", "--list")


SUBMITS = """-- %% Submit
spark.submit { "a.py", master = "local[1]", args = { os.getenv "WORD" }, py_files = "b.py, https://x/c.py , c.py", archives = { "d.zip#d" },
  files = "file:FOLDER/e.txt", properties_file = "f.conf", conf = { ["spark.jars"] = "g.jar,file://FOLDER/h.jar", ["spark.files"] = "unused.txt" } }
"""


def test_what_goes_with_a_spark_program_makes_it_stale(t):
    """By option and by setting; an option stands in the place of its setting."""
    folder, home = t.dir(), t.dir()
    put(home, "bin/spark-submit", "#!/bin/sh\necho submitted\n", 0o755)
    put(folder, "n.lua", SUBMITS.replace("FOLDER", folder))
    sent = ["a.py", "b.py", "c.py", "d.zip", f"{folder}/e.txt", "f.conf", "g.jar", f"{folder}/h.jar"]
    for name in [*sent, "unused.txt"]:
        put(folder, name, "1")
    def go(*words):
        done = sh(FIRESTEEL, "run", "n.lua", *words, cwd=folder, env={"SPARK_HOME": home, "WORD": "x"})
        assert done.code == 0, done
        return done.out
    assert "submitted" in go()
    assert sorted(json.loads(firesteel(folder, "runs", "-o", "json").out)[0]["inputs"]) == sorted(sent)
    put(folder, "unused.txt", "2")
    assert "nothing is stale" in go("--stale", "--list")
    for name in sent:
        put(folder, name, "2")
        assert f"runs      Submit  {name} has changed" in go("--stale", "--list")
        put(folder, name, "1")
    put(folder, "a.py", "2")
    assert "submitted" in go("--stale") and "nothing is stale" in go("--stale", "--list")


def test_opening_a_notebook_asks_no_git(t):
    """In the workbench git is asked when something is run."""
    folder, commit = repository(t)
    tools = t.dir()
    put(tools, "git", f"#!/bin/sh\ntouch {tools}/asked\nexit 0\n", 0o755)
    environment = dict(os.environ, PATH=tools + ":" + os.environ["PATH"])
    kernel = subprocess.Popen([os.path.join(BUILD, "cli", "firesteel-kernel"), "--notebook", "n.lua", "--socket", os.path.join(RUNTIME, "g.sock")],
                              cwd=folder, env=environment, stderr=subprocess.DEVNULL)
    try:
        journals = os.path.join(folder, ".firesteel")
        for _ in range(200):
            names = [n for n in os.listdir(journals) if n.endswith(".jsonl")] if os.path.isdir(journals) else []
            if names and os.path.getsize(os.path.join(journals, names[0])):
                break
            time.sleep(0.05)
        time.sleep(0.3)
        with open(os.path.join(journals, names[0]), encoding="utf-8") as f:
            assert json.loads(f.readline())["git"]["commit"] == commit
        assert not os.path.exists(os.path.join(tools, "asked")), "git was started"
    finally:
        kernel.terminate()
        kernel.wait()


run(globals())
