#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input from outside: each answer says what, where and why, with the right exit code."""
import glob
import gzip
import json
import os
import shutil
import socket
import subprocess

from tap import FIRESTEEL, SOURCE, Skip, run, sh

MNIST = os.path.join(SOURCE, "recipes", "data", "mnist")
ALLOW = ("--allow", "cluster,destructive")


def notebook(cwd, text, name="n.lua"):
    path = os.path.join(cwd, name)
    with open(path, "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
    return path


def fails(t, text, *parts, options=(), code=1, env=None, cwd=None):
    """Runs a notebook that must fail with this exit code and all of these texts."""
    cwd = cwd or t.dir()
    own = dict({"HOME": cwd, "KUBECONFIG": None, "XDG_DATA_HOME": None}, **(env or {}))
    done = sh(FIRESTEEL, "run", notebook(cwd, text), *options, cwd=cwd, env=own)
    assert done.code == code, (code, done)
    for part in parts:
        assert part in done.out + done.err, (part, done)
    return done


def test_no_such_file(t):
    done = sh(FIRESTEEL, "run", "nowhere.lua", cwd=t.dir())
    assert done.code in (1, 2) and "nowhere.lua" in done.err and "No such file" in done.err, done


def test_not_a_notebook(t):
    cwd = t.dir()
    for text, why in ((b"-- %%\nprint(1)\0\n", "NUL"), (b"-- %%\nx = '\xff'\n", "UTF-8")):
        done = sh(FIRESTEEL, "run", notebook(cwd, text), cwd=cwd)
        assert done.code in (1, 2) and why in done.err, done
    done = sh(FIRESTEEL, "run", notebook(cwd, "{\"cells\": 5}", "n.ipynb"), cwd=cwd)
    assert done.code in (1, 2) and "ipynb" in done.err, done


def test_wrong_parameters(t):
    text = '-- %% tags=["parameters"]\nepochs = 5\ntag = "x"\n-- %%\nprint(epochs)\n'
    fails(t, text, "epoch", "epochs", "tag", options=("-p", "epoch=3"), code=2)
    fails(t, text, "epochs", "three", options=("-p", "epochs=three"), code=2)
    fails(t, "-- %%\nprint(1)\n", "parameters", options=("-p", "epochs=3"), code=2)


def test_lua_errors_have_cell_and_line(t):
    fails(t, "-- %% First\nprint(1)\n\n-- %% Second cell\nx = 1\ny = = 2\n", "n.lua:6: cell 2 (Second cell)", code=2)
    fails(t, "-- %% Adding\nlocal a\nlocal b = a + 1\n", "Adding", "2", "nil value (local 'a')")


def test_unknown_option_and_magic(t):
    fails(t, '-- %% file="a" langauge="yaml"\nx\n', "langauge", "language", "n.lua:1:", code=2)
    fails(t, "-- %%\n%%timeti\nprint(1)\n", "%%timeti", code=2)


def trainer(body):
    return ('-- %% file="t.lua"\nlocal nn, data = require "nn", require "data"\n' + body +
            '\n-- %%\ntrainer.run { "t.lua" }\n')


FIT = """local m = data.mnist()
local model = nn.Sequential { nn.Flatten { 28, 28 }, nn.Dense { 10, activation = "softmax" } }
model:compile { optimizer = nn.Adam {}, loss = "sparse_categorical_crossentropy", metrics = { "accuracy" } }
model:fit { m.train.x, m.train.y, batch_size = 64, epochs = 1 }"""


def broken_data(t, damage):
    folder = t.dir()
    copy = os.path.join(folder, "data", "mnist")
    shutil.copytree(MNIST, copy)
    damage(copy)
    return folder


def test_missing_and_corrupt_data(t):
    def remove(folder):
        os.remove(glob.glob(folder + "/t10k-labels*")[0])

    def cut(folder):
        path = glob.glob(folder + "/train-images*")[0]
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) // 2)

    def magic(folder):
        path = glob.glob(folder + "/train-labels*")[0]
        with gzip.open(path, "rb") as f:
            content = f.read()
        with gzip.open(path, "wb") as f:
            f.write(b"\1" + content[1:])

    for damage, name in ((remove, "t10k-labels"), (cut, "train-images"), (magic, "train-labels")):
        fails(t, trainer(FIT), name, cwd=broken_data(t, damage))


def test_corrupt_checkpoint(t):
    fails(t, trainer('nn.load("not a checkpoint")'), "checkpoint")
    cwd = t.dir()
    with open(os.path.join(cwd, "c.safetensors"), "wb") as f:
        f.write(b"\xff" * 7 + b"\x7f" + b"{}")
    fails(t, trainer('nn.load("c.safetensors")'), "c.safetensors", cwd=cwd)


def test_shapes_and_labels(t):
    fails(t, trainer("""local m = data.mnist()
local model = nn.Sequential { nn.Flatten { 28, 28 }, nn.Dense { 128, input_dim = 785 } }
model:compile { optimizer = nn.Adam {}, loss = "sparse_categorical_crossentropy" }"""), "784", "785")
    fails(t, trainer(FIT.replace("nn.Dense { 10", "nn.Dense { 5")), "label", "5")


MANIFEST = """-- %% language="yaml" file="a.yaml"
-- {yaml}

-- %%
k8s.create "a.yaml"
"""


def test_bad_yaml_and_unknown_kind(t):
    options = ("--sandbox",) + ALLOW
    fails(t, MANIFEST.format(yaml="a: [1, 2\n-- b: 3"), "n.lua:3: cell 1", "flow sequence", options=options, code=2)
    fails(t, MANIFEST.format(yaml="{apiVersion: v1, kind: Pood, metadata: {name: x}}"), "Pood", "Pod",
          options=options)
    fails(t, MANIFEST.format(yaml="{kind: Pod, metadata: {name: x}}"), "apiVersion", options=options)


def test_a_server_that_is_away(t):
    cwd = t.dir()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "c",
              "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
              "clusters": [{"name": "c", "cluster": {"server": f"https://127.0.0.1:{port}"}}],
              "users": [{"name": "u", "user": {"token": "a-secret-token"}}]}
    path = os.path.join(cwd, "config")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(config, f)
    done = fails(t, '-- %% timeout="20s"\nk8s.get("pods", "x")\n', f"127.0.0.1:{port}", "refused",
                 env={"KUBECONFIG": path}, code=1)
    assert "a-secret-token" not in done.out + done.err, done
    again = [line.split("; ")[-1] for line in done.out.splitlines() if "trying again" in line]
    assert again[-1].startswith("trying again for ") and not [line for line in again if line.endswith(" 0ms")], again


def test_ranks_need_no_program_in_path(t):
    bare = t.dir()
    for name in ("sh", "env"):
        os.symlink(shutil.which(name), os.path.join(bare, name))
    cell = trainer(FIT).replace('{ "t.lua" }', '{ "t.lua", np = 2 }').replace(
        FIT, 'local hvd = require "hvd"\nprint(#hvd.run(function() return 1 end))')
    cwd = t.dir()
    done = sh(FIRESTEEL, "run", notebook(cwd, cell), cwd=cwd, env={"PATH": bare})
    assert done.code == 0 and "\n    2\n" in done.out, done


def test_output_that_is_not_utf8(t):
    cwd = t.dir()
    path = notebook(cwd, "-- %%\nsh [[printf 'a\\377b\\n']]\n")
    done = sh(FIRESTEEL, "run", path, "-o", "json", cwd=cwd)
    assert done.code == 0, done
    text = "".join(json.loads(line).get("text", "") for line in done.out.splitlines())
    assert "a\ufffdb" in text, done


def test_a_journal_of_a_newer_version(t):
    cwd = t.dir()
    assert sh(FIRESTEEL, "run", notebook(cwd, "-- %%\nprint(1)\n"), cwd=cwd).code == 0
    path = glob.glob(cwd + "/.firesteel/*.jsonl")[0]
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    first = json.loads(lines[0])
    key = next(k for k in ("version", "format") if k in first)
    first[key] = 99
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([json.dumps(first)] + lines[1:]) + "\n")
    done = sh(FIRESTEEL, "show", os.path.basename(path)[:-6], cwd=cwd)
    assert done.code == 1 and "99" in done.err and "newer" in done.err, done


def test_no_space_left(t):
    if os.getuid() != 0:
        raise Skip("mounting a small file system needs root")
    cwd = t.dir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", cwd], check=False)
    if mounted.returncode:
        raise Skip("no tmpfs can be mounted here")
    t.cleanups.append(lambda: subprocess.run(["umount", "-l", cwd], check=False))
    done = sh(FIRESTEEL, "run", notebook(cwd, "-- %%\nfor i = 1, 1e6 do print(i) end\n"), cwd=cwd)
    assert done.code == 1 and "no space left" in (done.out + done.err).lower(), done


def test_a_port_in_use(t):
    home = t.dir()
    env = {"HOME": home, "XDG_STATE_HOME": None, "XDG_DATA_HOME": None}
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        done = sh(FIRESTEEL, "sandbox", "up", "--port", str(s.getsockname()[1]), env=env)
    assert done.code == 1 and "in use" in done.err, done
    sh(FIRESTEEL, "sandbox", "down", env=env)


run(globals())
