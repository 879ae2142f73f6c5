# SPDX-License-Identifier: MIT
"""What goes into pods, beside the real kubectl: exec, attach, port-forward, cp."""
import fcntl
import json
import os
import pathlib
import random
import select
import signal
import struct
import subprocess
import termios
import time

from case_verbs import cell
from place import Place, pod

import hidden_cases
import tap

SERVER = "mkdir -p /www; echo from the pod >/www/index.html; while true; do echo tick; sleep 0.2; done & exec httpd -f -p 8080 -h /www"


def running(place, *pods):
    place.create(*pods)
    for one in pods:
        place.kubectl("wait", "--for=condition=Ready", f"pod/{one['metadata']['name']}", "--timeout=60s")
    return place


def test_commands_in_a_container(t):
    place = running(Place(t), pod("box", "sleep", "600"))
    out = cell(place, r"""
local r = k8s.exec("box", { "sh", "-c", "echo out; echo err >&2; exit 3" }, { check = false })
print(r.code, #r.stdout, #r.stderr)
print(select(2, pcall(k8s.exec, "box", { "false" })))
print(k8s.get("pods", "box"):exec({ "wc", "-c" }, { stdin = ("x"):rep(300000), quiet = true }).stdout:match "%d+")
print(#k8s.exec("pod/box", "seq 1 30000", { quiet = true }).stdout)
print(k8s.exec("box", { "printf", "%s|", "a b", "", "c" }, { quiet = true }))
k8s.exec("box", "tty; stty size", { tty = true })
print(select(2, pcall(k8s.exec, "box", { "nosuch" })))
print(select(2, pcall(k8s.exec, "box", { "ls" }, { container = "other" })))
print(select(2, pcall(k8s.exec, "box", { "sleep", "60" }, { timeout = "0.5s" })))
print(select(2, pcall(k8s.exec, "none", { "ls" })))
""")
    assert "3\t4\t4" in out, out
    assert "`false` in pod box in namespace" in out and "exited with 1" in out, out
    assert "\n    300000\n" in out and "\n    168894\n" in out and "a b||c|" in out, out
    assert "/dev/pts/" in out, out
    assert "nosuch" in out and "not found" in out, out
    assert "pod box has no container other; it has main" in out, out
    assert "nobody listens to it any more" in out, out
    assert 'pods "none" not found' in out, out
    kubectl = place.kubectl("exec", "box", "--", "sh", "-c", "exit 3", code=3)
    assert "exit code 3" in kubectl.err, kubectl


def test_a_command_is_done_once(t):
    place = running(Place(t), pod("box", "sleep", "600"))
    text = """-- %% First effects="cluster"
k8s.exec("box", "echo once >>/tmp/log")
k8s.exec("box", "echo again >>/tmp/log", { again = true })
-- %% Second
error "stop"
"""
    first = place.run(text, "--no-preflight")
    assert first.code == 1, first
    resumed = place.run(text.replace('error "stop"', 'print "on"'), "--no-preflight", "--resume", "last")
    assert resumed.code == 3 and "cannot tell whether" in resumed.err + resumed.out and '--redo "First"' in resumed.err + resumed.out, resumed
    assert place.kubectl("exec", "box", "--", "cat", "/tmp/log").out == "once\nagain\n"
    alone = place.run(text.replace('k8s.exec("box", "echo once >>/tmp/log")\n', ""), "--no-preflight")
    assert alone.code == 1, alone


def test_a_pod_that_goes_meanwhile(t):
    place = running(Place(t), pod("box", "sleep", "600"))
    out = cell(place, """
k8s.exec("box", "echo here")
local kill = async(function() wait(1) k8s.delete("pods", "box", { grace = 0, wait = false }) end)
print(select(2, pcall(k8s.exec, "box", { "sleep", "60" })))
""".replace("wait(1)", 'sh "sleep 1"'))
    assert "here" in out and ("exited with 137" in out or "pod box" in out), out


def test_attach_to_what_runs(t):
    reader = pod("reader", "sh", "-c", "while read line; do echo got $line; test $line = end && exit 0; done", stdin=True)
    place = running(Place(t), reader, pod("box", "sleep", "600"))
    out = cell(place, r"""
local r = k8s.attach("reader", { stdin = "one\nend\n", timeout = "30s" })
print("code", r.code)
print(select(2, pcall(k8s.attach, "box", { stdin = "x" })))
""")
    assert "got one" in out and "got end" in out and "code\t0" in out, out
    assert "reads no input" in out, out


def test_ports_of_this_machine_lead_into_pods(t):
    web = pod("web", "sh", "-c", SERVER, ports=[{"name": "http", "containerPort": 8080}])
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
               "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": "http"}]}}
    place = running(Place(t), web)
    place.create(service)
    out = cell(place, r"""
local f = k8s.port_forward("web", ":http")
local url = "http://127.0.0.1:" .. f.port
print(http.get(url).body)
print(#k8s.forwards(), k8s.forwards()[1].pod)
print(select(2, pcall(k8s.port_forward, "web", f.port .. ":8080")))
print(select(2, pcall(k8s.port_forward, "web", ":nosuch")))
local s <close> = k8s.port_forward("svc/web", ":80")
for i = 1, 3 do assert(http.get("http://127.0.0.1:" .. s.port).status == 200) end
local none = k8s.port_forward("web", ":9")
print(pcall(http.get, "http://127.0.0.1:" .. none.port))
f:close()
print(pcall(http.get, url))
print(#k8s.forwards())
""")
    assert out.count("from the pod") == 1, out
    assert "1\tweb" in out and "is taken" in out and '"nosuch" is no port' in out, out
    assert "onnection refused" in out, out
    assert "\n    2\n" in out, out


def tree(folder):
    """Names, kinds, modes and contents below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder", path.stat().st_mode & 0o777)
        else:
            found[name] = (path.stat().st_mode & 0o777, path.read_bytes())
    return found


def test_files_go_in_and_come_out(t):
    place = running(Place(t), pod("box", "sleep", "600"))
    source = pathlib.Path(place.dir, "data")
    (source / "deep" / ("long" * 40)).mkdir(parents=True)
    (source / "deep" / ("long" * 40) / ("name" * 30)).write_bytes(b"long")
    (source / "empty").mkdir(mode=0o755)
    (source / "run.sh").write_text("#!/bin/sh\n")
    (source / "run.sh").chmod(0o755)
    (source / "Ä b\n").write_bytes(os.urandom(3000))
    (source / "big").write_bytes(os.urandom(20 << 20))
    (source / "link").symlink_to("run.sh")
    out = cell(place, """
print(json.encode(k8s.cp("data", "box:/tmp/in")))
k8s.cp("data", "box:/tmp")
k8s.cp("box:/tmp/in", "back")
k8s.cp("box:/tmp/in/run.sh", "one.sh")
k8s.cp("pod/box:/tmp/in/big", "back/empty")
print(select(2, pcall(k8s.cp, "nothing", "box:/tmp")))
print(select(2, pcall(k8s.cp, "box:/tmp/nothing", "x")))
for i = 1, 8 do print(select(2, pcall(k8s.cp, "data", "box:/proc/none/x", { timeout = "20s" }))) end
k8s.exec("box", "cd /tmp; mkdir bad; ln -s /etc bad/out; ln -s ../.. bad/up; echo x >bad/file")
k8s.cp("box:/tmp/bad", "bad")
k8s.exec("box", [[rm /bin/tar; printf '#!/bin/sh\\nbusybox tar "$@"; sleep 0.5; echo tar: broken >&2; exit 2\\n' >/bin/tar; chmod +x /bin/tar]])
print("then", select(2, pcall(k8s.cp, "box:/tmp/in/run.sh", "two.sh")))
""")
    assert "tar: broken" in out.split("then")[-1], out
    assert '"files":4' in out, out
    place.kubectl("exec", "box", "--", "sh", "-c", "cmp /tmp/in/big /tmp/data/big && test -x /tmp/in/run.sh && test -L /tmp/in/link")
    place.kubectl("cp", "box:/tmp/in", f"{place.dir}/kubectl")
    ours, theirs = (tree(pathlib.Path(place.dir, name)) for name in ("back", "kubectl"))
    assert ours.pop("empty/big") == (ours["big"][0], ours["big"][1]), ours.keys()
    assert ours == tree(source), (ours.keys(), tree(source).keys())
    assert {n: c[1] for n, c in ours.items() if c[0] not in ("link", "folder")} == \
        {n: c[1] for n, c in theirs.items() if c[0] not in ("link", "folder")}, theirs.keys()
    assert pathlib.Path(place.dir, "one.sh").stat().st_mode & 0o777 == 0o755
    assert "there is no " in out and out.count("'/proc/none': No such file or directory") == 8, out
    assert "left out: ./bad/" in out and sorted(tree(pathlib.Path(place.dir, "bad"))) == ["file"], out


def test_a_shell_on_this_terminal(t):
    place = running(Place(t), pod("box", "sleep", "600"))
    argv = [tap.FIRESTEEL, "exec", "--context", "admin", "-n", place.namespace]
    done = tap.sh(*argv, "box", "--", "sh", "-c", "echo out; echo err >&2; exit 7", env=place.env)
    assert (done.code, done.out, done.err) == (7, "out\n", "err\n"), done
    done = tap.sh(*argv, "-i", "pod/box", "--", "wc", "-c", env=place.env, input="x" * 500000)
    assert (done.code, done.out.strip()) == (0, "500000"), done
    done = tap.sh(*argv, "box", "--", "nosuch", env=place.env)
    assert done.code == 1 and "nosuch" in done.err, done
    done = tap.sh(*argv, "none", "--", "ls", env=place.env)
    assert done.code == 1 and 'pods "none" not found' in done.err, done
    shell = Shell([*argv, "-it", "box", "--", "sh"], {**os.environ, **{k: v for k, v in place.env.items() if v}})
    shell.resize(33, 101)
    shell.type("stty size; tty\n")
    shell.wait_for("33 101", "/dev/pts/")
    shell.resize(20, 60)
    time.sleep(0.5)
    shell.type("stty size\n")
    shell.wait_for("20 60")
    shell.type("sleep 100\n")
    time.sleep(0.5)
    shell.type("\x03")
    shell.type("echo again $((6*7)); exit 5\n")
    shell.wait_for("again 42")
    assert shell.end() == 5, shell.seen
    assert shell.is_cooked(), "the terminal is as it was"
    shell = Shell([*argv, "-i", "--protect", "admin", "box", "--", "sh", "-c", "read it; echo got $it"],
                  {**os.environ, **{k: v for k, v in place.env.items() if v}})
    shell.wait_for("[y/N]")
    shell.type("yes, and more than is looked at\n")
    shell.type("hello\n")
    shell.wait_for("got hello")  # an answer is no input of the command
    assert shell.end() == 0, shell.seen


class Shell:
    """A program on a terminal of its own."""

    def __init__(self, argv, env):
        self.master, self.slave = os.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.seen = ""
        self.child = subprocess.Popen(argv, stdin=self.slave, stdout=self.slave, stderr=self.slave, env=env, start_new_session=True,
                                      preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, *words):
        end = time.monotonic() + 20
        while not all(word in self.seen for word in words):
            assert time.monotonic() < end, (words, self.seen)
            if select.select([self.master], [], [], 1)[0]:
                self.seen += os.read(self.master, 4096).decode(errors="replace")

    def end(self):
        return self.child.wait(20)

    def is_cooked(self):
        return termios.tcgetattr(self.slave) == self.before


def acts(place):
    path = pathlib.Path(place.dir, ".local/state/firesteel/acts.jsonl")
    assert path.stat().st_mode & 0o777 == 0o600
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def random_secrets_are_hidden(place, options):
    """Not even 12 bytes of them, in what is written down and in what these verbs say themselves. FIRESTEEL_SEED takes others."""
    seed = int(os.environ.get("FIRESTEEL_SEED") or 42)
    rng = random.Random(seed)
    for _ in range(8):
        data = hidden_cases.secret(rng)
        word, search = os.fsdecode(data), hidden_cases.Search([data])
        text = "x" * max(0, rng.choice(hidden_cases.LIMITS) - rng.randrange(14)) + word
        env = {**place.env, **hidden_cases.variables([data])}
        for words in (["exec", "web", "--", "true", text], ["exec", "web", "--", text], ["exec", "web", "--", "env", f"PASSWORD={text}", "false"],
                      ["exec", "web", "-c", text, "--", "true"], ["port-forward", "web", f":{text}"],
                      ["cp", f"web:/tmp/{text}", "back-again"], ["cp", "data", f"web:/proc/{text}/x"]):
            done = tap.sh(tap.FIRESTEEL, words[0], *options, *words[1:], env=env, cwd=place.dir)
            part = search.found(done.out + done.err)
            assert part is None, (seed, words[0], part)
        path = pathlib.Path(place.dir, ".local/state/firesteel/acts.jsonl")
        assert search.found(path.read_bytes()) is None, (seed, acts(place))


def test_verbs_copy_and_forward_as_kubectl_does(t):
    web = pod("web", "sh", "-c", SERVER, ports=[{"name": "http", "containerPort": 8080}])
    place = running(Place(t), web)
    options = ["--context", "admin", "-n", place.namespace]
    data = pathlib.Path(place.dir, "data")
    (data / "deep").mkdir(parents=True)
    (data / "deep" / "file").write_bytes(os.urandom(200000))

    def cp(*words, code=0):
        done = tap.sh(tap.FIRESTEEL, "cp", *options, *words, cwd=place.dir, env=place.env)
        assert done.code == code, done
        return done.err
    cp("data", "web:/tmp/ours")
    place.kubectl("cp", str(data), "web:/tmp/theirs")
    place.kubectl("exec", "web", "--", "cmp", "/tmp/ours/deep/file", "/tmp/theirs/deep/file")
    cp(f"{place.namespace}/web:/tmp/theirs", "back", "-c", "main")
    assert tree(pathlib.Path(place.dir, "back")) == tree(data)
    assert "'/proc/none': No such file or directory" in cp("data", "web:/proc/none/x", code=1)
    assert "there is no " in cp("nothing", "web:/tmp", code=1)
    log = acts(place)
    assert [line["verb"] for line in log if "verb" in line] == ["cp"] * 4, log
    assert [line["effect"] for line in log if "effect" in line] == ["cluster", "local", "cluster", "cluster"], log
    assert log[0]["pod"] == "web" and log[0]["what"].endswith("/data to /tmp/ours") and log[1]["code"] == 0, log
    assert "/proc/none" in log[5]["error"] and log[5]["id"] == log[4]["id"] != log[0]["id"], log
    forward = subprocess.Popen([tap.FIRESTEEL, "port-forward", *options, "pod/web", ":http", ":8080"], cwd=place.dir, stdout=subprocess.PIPE,
                               env={**os.environ, **{k: v for k, v in place.env.items() if v}}, text=True)
    lines = [forward.stdout.readline() for _ in range(2)]
    for line in lines:
        where = line.split()[2]
        assert line == f"Forwarding from {where} -> 8080\n", lines
        assert tap.sh("busybox", "wget", "-q", "-O-", f"http://{where}/").out == "from the pod\n"
    forward.send_signal(signal.SIGINT)
    assert forward.wait(20) == 130
    assert acts(place)[-2]["verb"] == "port-forward" and acts(place)[-1]["code"] == 0
    forward = subprocess.Popen(["nohup", tap.FIRESTEEL, "port-forward", *options, "pod/web", ":http"], cwd=place.dir, text=True,
                               stdout=subprocess.PIPE, env={**os.environ, **{k: v for k, v in place.env.items() if v}})
    where = forward.stdout.readline().split()[2]
    forward.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert tap.sh("busybox", "wget", "-q", "-O-", f"http://{where}/").out == "from the pod\n", "it goes on, as nohup wants"
    forward.send_signal(signal.SIGTERM)
    assert forward.wait(20) == 143
    done = tap.sh(tap.FIRESTEEL, "exec", *options, "web", "--", "sh", "-c", "exit 7", env=place.env)
    assert done.code == 7 and acts(place)[-2]["what"] == "run `sh -c exit 7`" and acts(place)[-1]["code"] == 7, acts(place)
    done = tap.sh(tap.FIRESTEEL, "port-forward", *options, "web", ":nosuch", env=place.env)
    assert done.code == 2 and '"nosuch" is no port of pod web' in done.err, done
    done = tap.sh(tap.FIRESTEEL, "exec", *options, "web", "--", "env", "PGPASSWORD=hunter2", "echo", "x" * 20, "postgres://u:hunter3@db",
                  env=place.env)
    assert done.code == 0 and "hunter3" in done.out, done
    assert acts(place)[-2]["what"].startswith("run `env PGPASSWORD=[secret] echo x"), acts(place)
    assert not any("hunter" in json.dumps(line) for line in acts(place)), acts(place)
    random_secrets_are_hidden(place, options)
    long = subprocess.Popen([tap.FIRESTEEL, "exec", *options, "web", "--", "sh", "-c", "echo there; sleep 60"], stdout=subprocess.PIPE,
                            env={**os.environ, **{k: v for k, v in place.env.items() if v}}, text=True)
    assert long.stdout.readline() == "there\n"
    long.send_signal(signal.SIGINT)
    assert long.wait(20) == 130 and "signal 2" in acts(place)[-1]["error"], acts(place)
    place.kubectl("exec", "web", "--", "sh", "-c", "rm /bin/tar; printf '#!/bin/sh\\nsleep 60\\n' >/bin/tar; chmod +x /bin/tar")
    begun = len(acts(place))
    long = subprocess.Popen([tap.FIRESTEEL, "cp", *options, "web:/tmp/ours", "again"], cwd=place.dir,
                            env={**os.environ, **{k: v for k, v in place.env.items() if v}})
    tap.eventually(lambda: len(acts(place)) > begun)
    time.sleep(1)
    long.send_signal(signal.SIGINT)
    assert long.wait(20) == 130 and len(acts(place)) == begun + 2 and "error" in acts(place)[-1], acts(place)
    state = pathlib.Path(place.dir, "state/firesteel")
    state.mkdir(parents=True)
    os.mkfifo(state / "acts.jsonl", 0o600)
    planted = {**place.env, "XDG_STATE_HOME": f"{place.dir}/state"}
    done = tap.sh(tap.FIRESTEEL, "exec", *options, "web", "--", "true", env=planted)
    assert done.code == 1 and "cannot write" in done.err, done
    state.chmod(0o777)
    done = tap.sh(tap.FIRESTEEL, "exec", *options, "web", "--", "true", env=planted)
    assert done.code == 1 and "can be written by others" in done.err, done
    pathlib.Path(place.dir, "file").touch()
    done = tap.sh(tap.FIRESTEEL, "exec", *options, "web", "--", "true", env={**place.env, "XDG_STATE_HOME": f"{place.dir}/file"})
    assert done.code == 1 and "what is done is written down first" in done.err, "what cannot be written down is not done"
