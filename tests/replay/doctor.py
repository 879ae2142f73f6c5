#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`firesteel doctor`: what it finds, what it advises, that it ends in time and tells no secret."""
import json
import os
import pty
import re
import socket
import struct
import fcntl
import subprocess
import termios
import time

from tap import BUILD, FIRESTEEL, PATIENCE, Skip, run, sh

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: far
contexts:
- {name: far, context: {cluster: far, user: me, namespace: team}}
clusters:
- {name: far, cluster: {server: "http://127.0.0.1:%d"}}
users:
- {name: me, user: {token: hunter2-hunter2}}
"""


def environment(home, **more):
    names = ("PATH", "FIRESTEEL_RUNTIME_DIR", "FIRESTEEL_TEST_RUN", "LSAN_OPTIONS", "ASAN_OPTIONS")
    return {**{name: os.environ[name] for name in names if name in os.environ}, "HOME": home, "LC_ALL": "C.UTF-8", **more}


def doctor(t, *arguments, home=None, **more):
    home = home or t.dir()
    begun = time.monotonic()
    done = sh(FIRESTEEL, "doctor", "-o", "json", *arguments, env=environment(home, **more))
    took = time.monotonic() - begun
    assert done.code in (0, 1), done
    found = json.loads(done.out)
    for f in found:
        assert set(f) <= {"name", "state", "text", "remedy"} and f["state"] in ("ok", "warn", "fail"), f
        assert "\n" not in f.get("remedy", ""), f
        assert f["state"] == "ok" or f.get("remedy"), ("what is wrong has a remedy", f)
    assert (done.code == 1) == any(f["state"] == "fail" for f in found), done
    return {f["name"]: f for f in found}, took, done


def test_a_machine_without_a_cluster(t):
    found, took, done = doctor(t)
    assert re.search(r"a lock takes \d+\.\d ms, an fsync \d+\.\d ms", found["disk"]["text"]), found["disk"]
    for name in ("terminal", "locale", "folders", "disk", "linger", "mpi", "bubblewrap", "worker", "jupyter", "cluster", "registry"):
        assert name in found, (name, done)
    assert found["worker"]["state"] == "ok" and found["locale"]["text"] == "C.UTF-8, UTF-8", found
    assert found["cluster"]["state"] == "warn" and "sandbox" in found["cluster"]["remedy"], found["cluster"]
    assert done.code == 0 and took < 5 * PATIENCE, took


def test_the_kernel_of_python_is_named(t):
    if not os.path.exists(os.path.join(BUILD, "cli", "firesteel-jupyter")):
        raise Skip("built without libzmq")
    place = t.dir()
    found, _, _ = doctor(t, JUPYTER_PATH=place, VIRTUAL_ENV=place, PATH="/usr/bin:/bin")
    assert found["jupyter"]["state"] == "warn" and "pip install ipykernel" in found["jupyter"]["remedy"], found["jupyter"]
    os.makedirs(f"{place}/kernels/python3")
    for text, words in ((json.dumps({"argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3 (ipykernel)",
                                     "language": "python"}), f"python3: Python 3 (ipykernel), {place}"), ('{"argv": 1}', "there is no Jupyter kernel for Python")):
        with open(f"{place}/kernels/python3/kernel.json", "w", encoding="utf-8") as f:
            f.write(text)
        found, _, _ = doctor(t, JUPYTER_PATH=place, PATH="/usr/bin:/bin")
        assert words in found["jupyter"]["text"], found["jupyter"]
    assert found["jupyter"]["state"] == "warn", found["jupyter"]


def test_a_wrong_environment_is_told_with_its_remedy(t):
    found, _, _ = doctor(t, LC_ALL="xx_YY.UTF-8")
    assert found["locale"] == {"name": "locale", "state": "ok", "text": "C.UTF-8, since xx_YY.UTF-8 is not installed here"}, found["locale"]
    found, _, _ = doctor(t, LC_ALL="xx_YY.ISO-8859-1")
    assert found["locale"]["state"] == "warn" and "xx_YY" in found["locale"]["text"], found["locale"]
    found, _, _ = doctor(t, LC_ALL="C")
    assert found["locale"]["state"] == "warn" and "C.UTF-8" in found["locale"]["remedy"], found["locale"]
    found, _, done = doctor(t, FIRESTEEL_RUNTIME_DIR="/proc/nowhere")
    assert found["folders"]["state"] == "fail" and done.code == 1, found
    found, _, _ = doctor(t, PATH="/nonexistent")
    assert found["bubblewrap"]["state"] == "warn" and "install bubblewrap" in found["bubblewrap"]["remedy"], found
    found, _, done = doctor(t, "--context", "nowhere")
    assert found["cluster"]["state"] == "fail" and done.code == 1, found["cluster"]


def test_a_folder_that_takes_no_journal(t):
    """/proc takes no files."""
    done = sh(FIRESTEEL, "doctor", "-o", "json", cwd="/proc/self", env={**environment(t.dir())})
    found = {f["name"]: f for f in json.loads(done.out)}
    assert found["disk"]["state"] == "warn" and "--cwd" in found["disk"]["remedy"], found["disk"]


def test_a_run_that_could_not_end_does_not_begin(t):
    """Without bubblewrap no pod comes from an image: a run that builds one for a private sandbox says so at once."""
    cwd = t.dir()
    with open(f"{cwd}/n.lua", "w", encoding="utf-8") as f:
        f.write('-- %% First\nprint "first"\n-- %% Build\nimg = image.build { tag = "t/t:1" }\n')
    env = {**environment(t.dir()), "PATH": "/nonexistent"}
    done = sh(FIRESTEEL, "run", "n.lua", "--sandbox", "--allow", "cluster", cwd=cwd, env=env)
    assert done.code == 1 and done.out == "" and "cell 2 (Build) builds an image for the sandbox" in done.err and "bubblewrap is not installed" in done.err, done
    assert "--sandbox=processes" in done.err, done
    done = sh(FIRESTEEL, "run", "n.lua", "--sandbox", "--allow", "cluster", "--no-preflight", cwd=cwd, env=env)
    assert done.code == 0 and "first" in done.out, done


def test_a_server_that_says_nothing_is_not_waited_for(t):
    home = t.dir()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with open(os.path.join(home, "config"), "w", encoding="utf-8") as f:
            f.write(KUBECONFIG % port)
        found, took, done = doctor(t, "--registry", f"http://127.0.0.1:{port}", home=home, KUBECONFIG=home + "/config")
        assert took < 5 * PATIENCE, took
        assert found["cluster"]["state"] == "fail" and "far" in found["cluster"]["text"], found["cluster"]
        assert found["registry"]["state"] == "fail", found["registry"]
        assert "hunter2" not in done.out + done.err, done


def test_a_registrys_password_is_not_told(t):
    for name in ("http://user:pw12345678@127.0.0.1:1/x", "user:pw12345678@r.example", "https://u:pw1/2345678@r.example"):
        found, _, done = doctor(t, "--registry", name)
        assert found["registry"]["state"] == "fail" and "[secret]@" in found["registry"]["text"], done
        assert "no password" in found["registry"]["text"] and "cluster" in found, done
        plain = sh(FIRESTEEL, "doctor", "--registry", name, env=environment(t.dir()))
        folder = t.dir()
        with open(os.path.join(folder, "n.lua"), "w", encoding="utf-8") as f:
            f.write("-- %%\nprint(1)\n")
        refused = sh(FIRESTEEL, "run", "n.lua", "--registry", name, cwd=folder, env=environment(t.dir()))
        assert refused.code == 2 and "[secret]@" in refused.err, refused
        for text in (done, plain, refused):
            assert "pw1" not in text.out + text.err, text
        assert not sh("grep", "-r", "pw1", folder).out, "nor is it written down"


def test_a_sandbox_is_a_cluster_with_a_registry(t):
    home = t.dir()
    env = environment(home)
    up = sh(FIRESTEEL, "sandbox", "up", env=env)
    if up.code:
        raise Skip("no sandbox here: " + up.err)
    t.after(lambda: sh(FIRESTEEL, "sandbox", "down", env=env))
    kubeconfig = re.search(r"\S*kubeconfig\S*", up.out + up.err)
    assert kubeconfig, up
    path = kubeconfig.group().split("=")[-1].strip("'\".,:")
    found, _, done = doctor(t, home=home, KUBECONFIG=path)
    assert found["cluster"]["state"] == "ok" and "Kubernetes v1" in found["cluster"]["text"], (done, path)
    assert found["rights"]["state"] == "ok", done
    assert found["registry"]["state"] == "ok" and "answers" in found["registry"]["text"], done


def test_a_terminal_is_looked_at(t):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 70, 0, 0))
    for name, state, words in (("xterm-256color", "ok", "256"), ("vt100", "warn", "none, says terminfo"),
                               ("no-such-terminal", "fail", "does not know"), ("dumb", "fail", "cursor")):
        done = subprocess.run([FIRESTEEL, "doctor", "-o", "json"], stdout=theirs, stderr=subprocess.PIPE, check=False,
                              env=environment(t.dir(), TERM=name), timeout=60)
        text = b""
        while not text.rstrip().endswith(b"]"):
            text += os.read(ours, 65536)
        found = {f["name"]: f for f in json.loads(text)}
        at = "terminal" if state == "fail" else "colours"
        assert found[at]["state"] == state and words in found[at]["text"], (name, found)
        assert found["size"]["state"] == "warn" and found["size"]["text"] == "70x20", found
        assert done.returncode == (1 if state == "fail" else 0), done
    os.close(ours)
    os.close(theirs)


def test_the_table_for_people(t):
    done = sh(FIRESTEEL, "doctor", env=environment(t.dir()))
    assert re.search(r"^ok    worker       firesteel-worker ", done.out, re.M), done.out
    assert re.search(r"^warn  cluster      .*\n {19}→ get a kubeconfig", done.out, re.M), done.out
    assert sh(FIRESTEEL, "doctor", "--format", "yaml").code == 2


run(globals())
