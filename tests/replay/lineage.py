#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel lineage: back to runs, code, parameters and data, forward to what was made, over several runs; and what things say themselves."""
import glob
import hashlib
import json
import os
import resource
import sys
import time
import uuid

from layers import know_worker
from tap import BUILD, FIRESTEEL, PATIENCE, SOURCE, run, sh

TRAINER = """\
local nn, data = require "nn", require "data"
local line = nn.Sequential { nn.Dense { 1, input_dim = 2 } }
line:set_weights { data.tensor { { 2 }, { 10 } }, data.tensor { 0.5 } }
line:save "line.safetensors"
"""
PREPARE = """\
-- %% Prepare
fs.write("rows.csv", "1,2\\n")
"""
TRAIN = """\
-- %% parameters tags=["parameters"]
lr = 0.1
-- %% Read
for line in io.lines "rows.csv" do print(line) end
-- %% Train
trainer.run { "t.lua", args = { "--lr=" .. lr }, inputs = { "rows.csv" }, outputs = { "line.safetensors" } }
run.artifact "line.safetensors"
"""
PACKAGE = """\
-- %% Package
fn = model.package { "line.safetensors", tag = "team/line:1", examples = { { 1, 2 } } }
-- %% Deploy effects="cluster"
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "model" }, data = { image = fn.digest } }
"""


def put(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def play(folder, name, text, *words):
    put(folder, name, text)
    know_worker(folder)
    done = sh(FIRESTEEL, "run", name, *words, cwd=folder, env={"XDG_DATA_HOME": folder})
    assert done.code == 0, done
    return done.out.split("(run ")[1].split(")")[0]


def lineage(folder, *words, code=0):
    done = sh(FIRESTEEL, "lineage", *words, cwd=folder, env={"XDG_DATA_HOME": folder})
    assert done.code == code, done
    return done.err if code else done.out


def three_runs(t):
    folder = t.dir()
    put(folder, "t.lua", TRAINER)
    return (folder, play(folder, "prepare.lua", PREPARE), play(folder, "train.lua", TRAIN, "-p", "lr=0.25"),
            play(folder, "package.lua", PACKAGE, "--sandbox", "--allow", "cluster"))


def test_back_and_forward_over_runs(t):
    folder, prepared, trained, packaged = three_runs(t)
    text = lineage(folder, "team/line:1")
    order = [text.index(part) for part in (f"firesteel.run = {packaged}", f"made by run {packaged}", "notebook package.lua", "used file line.safetensors",
                                           f"made by run {trained}", "parameter lr = 0.25", "cell Train", "used file rows.csv", f"made by run {prepared}")]
    assert order == sorted(order), text
    graph = json.loads(lineage(folder, "rows.csv", "-o", "json"))
    edges = {(e["from"], e["to"], e["kind"]) for e in graph["edges"]}
    image = next(x["key"] for x in graph["things"] if x["kind"] == "image")
    model = next(x["key"] for x in graph["things"] if x["name"] == "line.safetensors")
    object_ = next(x["key"] for x in graph["things"] if x["kind"] == "object")
    for edge in ((f"run:{prepared}", graph["subject"], "made"), (graph["subject"], f"run:{trained}", "used"), (f"run:{trained}", model, "made"),
                 (model, image, "part"), (model, f"run:{packaged}", "used"), (f"run:{packaged}", image, "made"), (f"run:{packaged}", object_, "made")):
        assert edge in edges, (edge, edges)
    for name in ("configmap/model", "ConfigMap model", image, image[7:20], f"any/name@{image}"):
        assert f"made by run {packaged}" in lineage(folder, name), name
    assert f"run {trained}, ok" in lineage(folder, trained) and "made file line.safetensors" in lineage(folder, trained)
    dot = lineage(folder, "rows.csv", "--dot")
    assert dot.startswith("digraph lineage {") and f'"run:{prepared}" -> "{graph["subject"]}" [label=made]' in dot, dot


def test_without_the_journal(t):
    folder, _, _, packaged = three_runs(t)
    os.rename(os.path.join(folder, ".firesteel"), os.path.join(folder, "away"))
    text = lineage(folder, "team/line:1")
    assert f"firesteel.run = {packaged}" in text and "no run of this folder knows it" in text and "nothing is known to be made of it" in text, text
    text = lineage(folder, "line.safetensors")
    assert "firesteel.trainer = t.lua" in text and 'firesteel.args = ["--lr=0.25"]' in text and '"rows.csv":"' in text, text


def test_a_saved_model_is_the_same_again(t):
    folder, *_ = three_runs(t)
    with open(os.path.join(folder, "line.safetensors"), "rb") as f:
        first = f.read()
    play(folder, "train.lua", TRAIN, "-p", "lr=0.25")
    with open(os.path.join(folder, "line.safetensors"), "rb") as f:
        assert f.read() == first
    alone = sh(os.path.join(BUILD, "cli", "firesteel-worker"), "t.lua", cwd=folder)
    assert alone.code == 0, alone
    assert "firesteel.trainer" not in lineage(folder, "line.safetensors")


def test_where_a_model_is_saved_is_not_in_it(t):
    """Two trainings that differ in their declared output give the same bytes; so does the same function of hvd.run."""
    folder = t.dir()
    put(folder, "t.lua", TRAINER.replace('"line.safetensors"', '(require "args" { save = "x", lr = 0.5 }.save)'))
    play(folder, "two.lua", """\
-- %% Two
for _, to in ipairs { "a.safetensors", "b.safetensors" } do
  trainer.run { "t.lua", args = { "--save=" .. to, "--lr=0.25" }, outputs = { to } }
end
for _, to in ipairs { "c.safetensors", "d.safetensors" } do
  hvd.run(function() require "nn".Sequential { require "nn".Dense { 1, input_dim = 2 }, seed = 1 }:save "h.safetensors" end, { np = 1 })
  os.rename("h.safetensors", to)
end
""")
    found = {}
    for name in "abcd":
        with open(os.path.join(folder, name + ".safetensors"), "rb") as f:
            found[name] = f.read()
    assert found["a"] == found["b"] and found["c"] == found["d"]
    assert 'firesteel.args = ["--save=[output]","--lr=0.25"]' in lineage(folder, "b.safetensors")
    assert "firesteel.trainer = hvd.run" in lineage(folder, "d.safetensors")


def test_openlineage(t):
    """Events as the schema of OpenLineage 2-0-2 has them: what it requires, and how runs end."""
    folder, _, trained, _ = three_runs(t)

    def events(name):
        run = sh(FIRESTEEL, "export", name, "--to", "json", cwd=folder)
        assert run.code == 0, run
        done = sh(sys.executable, os.path.join(SOURCE, "script/report/openlineage.py"), input=run.out)
        assert done.code == 0, done
        return [json.loads(line) for line in done.out.splitlines()]
    start, end = events(trained)
    assert (start["eventType"], end["eventType"]) == ("START", "COMPLETE") and start["eventTime"] < end["eventTime"], (start, end)
    assert start["run"]["runId"] == end["run"]["runId"] == events(trained)[0]["run"]["runId"] == str(uuid.UUID(end["run"]["runId"]))
    for event in (start, end):
        assert event["schemaURL"].endswith("OpenLineage.json#/$defs/RunEvent") and ":" in event["producer"] and event["job"]["namespace"].startswith("firesteel://"), event
        for facets in (event["run"]["facets"], event["job"]["facets"], *(d["facets"] for d in event["inputs"] + event["outputs"])):
            assert all(f["_producer"] == event["producer"] and "#/$defs/" in f["_schemaURL"] for f in facets.values()), facets
    assert end["job"]["name"] == os.path.join(folder, "train.lua") and "lr = 0.25" in end["job"]["facets"]["sourceCode"]["sourceCode"], end["job"]
    assert end["run"]["facets"]["firesteel_run"]["parameters"] == {"lr": 0.25}, end["run"]
    inputs = {(d["namespace"], d["name"]): d["facets"]["version"]["datasetVersion"] for d in end["inputs"]}
    assert inputs["file", os.path.join(folder, "rows.csv")].startswith("sha256:"), inputs
    assert [d["name"] for d in end["outputs"]] == [os.path.join(folder, "line.safetensors")] and start["outputs"] == [], end["outputs"]
    put(folder, "bad.lua", "error 'no such data'\n")
    assert sh(FIRESTEEL, "run", "bad.lua", cwd=folder).code == 1
    _, end = events("bad")
    assert end["eventType"] == "FAIL" and "no such data" in end["run"]["facets"]["errorMessage"]["message"], end["run"]["facets"]


def safetensors(folder, name, metadata):
    header = json.dumps({"__metadata__": metadata} if isinstance(metadata, dict) else metadata).encode() if not isinstance(metadata, bytes) else metadata
    with open(os.path.join(folder, name), "wb") as f:
        f.write(len(header).to_bytes(8, "little") + header)


def test_what_strangers_made_is_bounded_and_shown_as_text(t):
    """Annotations that would move the cursor, look like our own lines, or fill the screen."""
    folder = t.dir()
    forged = "x\n  made by run mine-20260102-030405-abcd, ok\r\x1b[2J\u202e\x9b31m"
    safetensors(folder, "forged.safetensors", {"firesteel.args": forged, "firesteel.run\n  made by": "y", "other": "z"})
    text = lineage(folder, "forged.safetensors")
    assert "firesteel.args = x\\n  made by run mine" in text and "firesteel.run\\n  made by = y" in text and "other" not in text, text
    assert not [c for c in text if ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0 or c == "\u202e"] and "^[[2J<U+202E><U+009B>31m" in text, text
    assert text.count("made by: no run of this folder knows it") == 1 and "\n  made by run" not in text, text
    assert json.loads(lineage(folder, "forged.safetensors", "-o", "json"))["notes"]["firesteel.args"] == forged
    safetensors(folder, "many.safetensors", {**{f"firesteel.{i}": "v" for i in range(5000)}})
    safetensors(folder, "long.safetensors", {"firesteel.long": "v" * 5000000, "firesteel.short": "w"})
    many, long = lineage(folder, "many.safetensors"), lineage(folder, "long.safetensors")
    assert many.count("firesteel.") == 256 and "4744 notes are not shown" in many, many[-300:]
    assert len(long) < 1000 and "firesteel.short = w" in long and "1 notes are not shown" in long, long[:2000]
    safetensors(folder, "deep.safetensors", b'{"__metadata__":' + b'{"firesteel.a":' * 200000 + b"1" + b"}" * 200000 + b"}")
    safetensors(folder, "odd.safetensors", {"firesteel.n": 3, "firesteel.l": ["a"]})
    with open(os.path.join(folder, "vast.safetensors"), "wb") as f:
        f.write((1 << 60).to_bytes(8, "little") + b"{}")
    for name in ("deep", "odd", "vast"):
        assert "no run of this folder knows it" in lineage(folder, f"{name}.safetensors"), name


def test_an_image_of_strangers(t):
    folder = t.dir()
    blobs = os.path.join(folder, "firesteel", "images", "blobs", "sha256")
    os.makedirs(blobs)
    manifest = json.dumps({"schemaVersion": 2, "annotations": {"a\x1b]0;t\x07": "b\n  made by run x", "long": "v" * 3000000, "n": 1}}).encode()
    digest = hashlib.sha256(manifest).hexdigest()
    with open(os.path.join(blobs, digest), "wb") as f:
        f.write(manifest)
    put(folder, "firesteel/images/index.json", json.dumps({"schemaVersion": 2, "manifests": [
        {"digest": f"sha256:{digest}", "annotations": {"org.opencontainers.image.ref.name": "evil:1"}}]}))
    text = lineage(folder, "evil:1")
    assert "a^[]0;t^G = b\\n  made by run x" in text and "1 notes are not shown" in text and len(text) < 1000 and "\x1b" not in text, text[:2000]


MADE = """-- %% Make effects="cluster"
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made", annotations = { own = "kept" } } }
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "applied" } }
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "applied" }, data = { again = "1" } }
for _, name in ipairs { "made", "applied" } do
  local notes = k8s.get("configmap", name).metadata.annotations or {}
  print(name, notes["firesteel/notebook"], notes["firesteel/commit"], notes.own)
end
"""


def test_objects_say_where_they_come_from(t):
    folder = t.dir()
    put(folder, "made.lua", MADE)
    git = {"GIT_AUTHOR_NAME": "n", "GIT_AUTHOR_EMAIL": "e", "GIT_COMMITTER_NAME": "n", "GIT_COMMITTER_EMAIL": "e", "XDG_DATA_HOME": folder}
    done = sh("sh", "-c", "git init -q . && git add made.lua && git commit -qm one && git rev-parse HEAD", cwd=folder, env=git)
    assert done.code == 0, done
    commit = done.out.strip()
    for more, told in (((), commit), (("--no-git",), "nil")):
        ran = sh(FIRESTEEL, "run", "made.lua", "--sandbox", "--allow", "cluster", *more, cwd=folder, env=git)
        assert ran.code == 0 and f"made\tmade.lua\t{told}\tkept" in ran.out and f"applied\tmade.lua\t{told}\tnil" in ran.out, ran


def many_runs(folder, n):
    """The journals of n runs that read one file and have made another one each."""
    hidden = os.path.join(folder, ".firesteel")
    os.makedirs(hidden, mode=0o700)
    for i in range(n):
        name = f"n-20260102-{10 + i // 3600:02}{i // 60 % 60:02}{i % 60:02}-{i:04x}"
        at = {"wall": "2026-01-02T10:00:00Z", "mono": 1000}
        recorded = {"type": "recorded", "cell": "a", **at}
        events = [{"type": "run", "format": 1, "run": name, "headless": True, "notebook": "-- %% A id=\"a\"\nprint(1)\n", "host": "h", "path": f"{folder}/n.lua", "seq": 1, **at},
                  {"type": "state", "cell": "a", "state": "running", "count": 1, "seq": 2, **at},
                  {**recorded, "kind": "input", "name": "data.csv", "value": {"size": 3, "sha256": "ab" * 32}, "seq": 3},
                  {**recorded, "kind": "artifact", "name": "m", "value": {"path": "m", "size": 3, "sha256": f"{i:064x}"}, "seq": 4},
                  {"type": "stream", "cell": "a", "name": "stdout", "text": "line\n" * 2000, "seq": 5, **at},
                  {"type": "state", "cell": "a", "state": "ok", "seq": 6, **at}, {"type": "end", "exit": 0, "outcome": "ok", "seq": 7, **at}]
        path = os.path.join(hidden, name + ".jsonl")
        put(folder, path, "".join(json.dumps(e) + "\n" for e in events))
        os.chmod(path, 0o600)
        os.utime(path, (1767348000, 1767348000))


def processor_seconds(fn):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    value = fn()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return value, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_thousand_runs_are_not_read_again(t):
    folder = t.dir()
    many_runs(folder, 1000)
    time.sleep(2.1)  # an index does not believe what was changed just now
    read, slow = processor_seconds(lambda: lineage(folder, f"sha256:{7:064x}"))
    known, fast = processor_seconds(lambda: lineage(folder, f"sha256:{7:064x}"))
    everything, whole = processor_seconds(lambda: lineage(folder, "data.csv"))
    print(f"# 1,000 runs: {slow:.3f} s of processor when read, {fast:.3f} s by the index, {whole:.3f} s for all of them")
    assert known == read and "n-20260102-100007-0007" in known and "used file data.csv" in known, known
    assert everything.count("used by run") == 1000 and everything.count("made file m") == 1000, everything[:500]
    assert fast < slow / 3 and (fast < 0.1 or PATIENCE > 1), (fast, slow)
    # a journal that has changed is read again
    newest, = glob.glob(os.path.join(folder, ".firesteel", "*-0007.jsonl"))
    put(folder, newest, open(newest, encoding="utf-8").read().replace("data.csv", "other.csv"))
    assert "used file other.csv" in lineage(folder, f"sha256:{7:064x}")


def test_what_is_wrong(t):
    folder = t.dir()
    for words, code, says in (((), 2, "of what?"), (("a", "b"), 2, "of what?"), (("x", "-o", "svg"), 2, "json or dot"), (("x", "--json", "--dot"), 2, "json or dot"),
                              (("nothing:1",), None, "is no file, no run of this folder, no image")):
        done = sh(FIRESTEEL, "lineage", *words, cwd=folder, env={"XDG_DATA_HOME": folder})
        assert (done.code == code if code else done.code) and says in done.err, (words, done)
    put(folder, "cut.safetensors", "\0" * 8)
    put(folder, "odd.safetensors", "\x08\0\0\0\0\0\0\0{\"a\":1}")
    for name in ("cut.safetensors", "odd.safetensors"):
        assert "no run of this folder knows it" in lineage(folder, name)


run(globals())
