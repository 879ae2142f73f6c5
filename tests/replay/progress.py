#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far long work is, as `firesteel run` and other verbs say it: on a terminal, without one, as JSON; what takes no second says
nothing; and interrupts end it at once, with nothing half-written left. The registry is Debian's, behind a slow line."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from registry import Registry
from tap import FIRESTEEL, PATIENCE, eventually, run, sh
from throttle import Throttle

HUGE = 64 << 30  # a file without blocks: reading it takes long, and no room


class Place:
    def __init__(self, t, *cells):
        self.dir = t.dir()
        self.env = {"HOME": self.dir, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None, "KUBECONFIG": None, "DOCKER_CONFIG": None,
                    "CONTAINERS_REGISTRIES_CONF": None}
        self.path = os.path.join(self.dir, "n.lua")
        with open(self.path, "w") as f:
            f.write("".join(f"-- %%\n{c}\n\n" for c in cells))

    def file(self, name, size=None, data=None):
        with open(os.path.join(self.dir, name), "wb") as f:
            f.truncate(size) if size else f.write(data)

    def cluster(self, server):
        self.env["KUBECONFIG"] = os.path.join(self.dir, "kubeconfig")
        with open(self.env["KUBECONFIG"], "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": server}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}, f)

    def argv(self, *more):
        return [FIRESTEEL, "run", self.path, "--allow", "cluster", "--no-preflight", *more]

    def run(self, *more, timeout=120):
        return sh(*self.argv(*more), env=self.env, timeout=timeout)

    def full_env(self):
        return {k: v for k, v in dict(os.environ, TERM="xterm", **self.env).items() if v is not None}

    def start(self, *more, argv=None):
        return subprocess.Popen(argv or self.argv(*more), env=self.full_env(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def on_terminal(self, *more, columns=80, argv=None, until=None, then=None):
        """What it writes on a terminal. As soon as `until` is there, `then` happens."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        p = subprocess.Popen(argv or self.argv(*more), cwd=self.dir, env=self.full_env(), stdin=theirs, stdout=theirs, stderr=theirs,
                             start_new_session=True)
        os.close(theirs)
        out, end = b"", time.monotonic() + 120 * PATIENCE
        while time.monotonic() < end:
            if not select.select([ours], [], [], 1)[0]:
                continue
            try:
                piece = os.read(ours, 65536)
            except OSError:
                piece = b""
            if not piece:
                break
            out += piece
            if until and until in out:
                until = None
                then(p)
        os.close(ours)
        p.wait(30 * PATIENCE)
        return p.returncode, out.decode(errors="replace")

    def journal(self):
        folder = os.path.join(self.dir, ".firesteel")
        name = next(n for n in os.listdir(folder) if n.endswith(".jsonl") and n.startswith("n-"))
        with open(os.path.join(folder, name)) as f:
            return f.read()

    def store(self):
        """What is in the store of images, but locks and caches."""
        top = os.path.join(self.dir, ".local/share/firesteel/images")
        return [os.path.join(d, f)[len(top) + 1:] for d, _, fs in os.walk(top) for f in fs]


def noise(n):
    return os.urandom(n)


def pushes(t, n, rate):
    """Its image has two layers: a root, and n bytes that nothing compresses."""
    registry = Registry(t)
    line = Throttle(t, registry.host, rate)
    place = Place(t, f'image.build {{ add = {{"data.bin"}}, worker = false, tag = "a" }}:push("{line.host}/team/a:1")')
    place.file("data.bin", data=noise(n))
    return registry, line, place


def test_quick_work_says_nothing(t):
    _, _, place = pushes(t, 10_000, 1 << 30)
    done = place.run()
    assert done.code == 0 and "blobs sent" in done.out and done.err == "", done
    assert '"type":"progress"' not in place.journal()
    done = place.run("-o", "json")
    assert all("seq" in json.loads(line) for line in done.out.splitlines()), done


def test_a_push_on_a_terminal(t):
    _, _, place = pushes(t, 12_000_000, 1_800_000)
    code, out = place.on_terminal(columns=100)
    assert code == 0, out
    bars = re.findall(r"\r\x1b\[2K\[[=> ]{6,20}\] +(\d+)% push 127\.0\.0\.1:\d+/team/a:1: ([^\r\n]*)", out)
    assert len(bars) > 3 and [int(p) for p, _ in bars] == sorted(int(p) for p, _ in bars), out
    assert re.match(r"\d+\.\d/12\.0 MB, \d+\.\d [KM]B/s", bars[0][1]), bars
    assert any("left" in words for _, words in bars), bars
    assert re.search(r"\x1b\[2K    pushed \S+ \(3 of 3 blobs sent, 12\.0 MB, \d", out), out  # the bar is gone, the line stays
    assert max(len(line) for line in re.split(r"\r\x1b\[2K|\r\n", out) if "% push" in line) < 100, out
    assert '"type":"progress"' not in place.journal()


def test_on_a_narrow_terminal_words_come_first(t):
    place = Place(t, 'fs.sha256 "big"')
    place.file("big", HUGE)
    code, out = place.on_terminal(columns=44, until=b"hashing", then=lambda p: os.kill(p.pid, signal.SIGINT))
    assert code == 130 and re.search(r"\r\x1b\[2K\d+% read big: hashing \d", out), out
    assert max(len(line) for line in re.split(r"\r\x1b\[2K|\r\n", out) if "hashing" in line) < 44, out


def test_without_a_terminal_a_line_now_and_then(t):
    place = Place(t, 'fs.sha256 "big"')
    place.file("big", HUGE)
    p = place.start()
    line = p.stderr.readline()
    p.send_signal(signal.SIGINT)
    out, rest = p.communicate(timeout=60 * PATIENCE)
    assert re.match(r"read big: hashing \d+\.\d\d/68\.72 GB, \d+\.\d+ .B/s", line), line
    assert p.returncode == 130 and "\x1b" not in line + rest + out, rest
    assert float(re.search(r"cancelled (\d+\.?\d*)s", out)[1]) < 10 + 20 * PATIENCE, out


def test_events_as_json(t):
    _, _, place = pushes(t, 12_000_000, 2_500_000)
    done = place.run("-o", "json")
    events = [json.loads(line) for line in done.out.splitlines()]
    told = [e for e in events if e["type"] == "progress" and e["what"].startswith("push ")]
    assert done.code == 0 and 2 <= len(told) < 12 * PATIENCE and all("seq" not in e for e in told), told
    first, last = told[0], told[-1]
    assert first["unit"] == "bytes" and 0 < first["done"] < first["total"], first
    assert first["parts"] == 2 and first["noun"] == "layers", first
    assert last["ended"] and (last["cell"], last["id"], last["what"]) == (first["cell"], first["id"], first["what"]), last
    assert re.fullmatch(r"12\.0 MB in [\d.]+m?s(\d+s)?, 2 layers", last["text"]), last
    assert done.err == "", done


def test_what_is_there_is_said_to_be(t):
    registry, line, place = pushes(t, 12_000_000, 1 << 30)
    assert place.run().code == 0
    line.rate = 2_500_000
    with open(place.path, "w") as f:
        f.write(f'-- %%\nimage.build {{ add = {{"data.bin", "more.bin"}}, worker = false, tag = "a" }}\n'
                f'image.build {{ add = {{"more.bin"}}, from = "a", worker = false, tag = "b" }}:push("{line.host}/team/a:2")\n')
    place.file("more.bin", data=noise(12_000_000))
    code, out = place.on_terminal()
    assert code == 0 and re.search(r"push \S+/team/a:2: [^\r]*, \d/\d layers, [1-9] cached", out), out


def interrupted(place, ready, verb=None):
    """Seconds from an interrupt, once ready() is true, to the end of the run."""
    p = place.start(argv=verb)
    eventually(ready)
    time.sleep(0.3)
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    out, errors = p.communicate(timeout=60 * PATIENCE)
    took = time.monotonic() - began
    assert p.returncode == 130, (p.returncode, out, errors)
    assert took < 1 * PATIENCE + 0.5, (took, out, errors)
    return out


def reads(name):
    """Does a kernel read this file? Its descriptors say so."""
    def look():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if any(os.readlink(f"/proc/{pid}/fd/{fd}") == name for fd in os.listdir(f"/proc/{pid}/fd")):
                    return True
            except OSError:
                pass
        return False
    return look


def test_an_interrupt_ends_reading_a_large_file(t):
    for cell in 'fs.sha256 "big"', 'run.artifact "big"', 'image.build { add = {"big"}, worker = false, tag = "a" }', \
                'sh("true", { inputs = {"big"} })':
        place = Place(t, cell)
        place.file("big", HUGE)
        interrupted(place, reads(os.path.join(place.dir, "big")))
        assert not [f for f in place.store() if "upload" in f], place.store()


def test_an_interrupt_ends_a_push(t):
    registry, line, place = pushes(t, 12_000_000, 500_000)
    interrupted(place, lambda: line.passed > 1_000_000)
    assert not registry.has("team/a", "1")


def test_an_interrupt_ends_a_pull_which_goes_on_later(t):
    registry, line, place = pushes(t, 12_000_000, 1 << 30)
    assert place.run().code == 0
    line.rate, line.passed = 2_000_000, 0
    other = Place(t, f'print(image.pull("{line.host}/team/a:1"))')
    interrupted(other, lambda: line.passed > 2_000_000)
    left = other.store()
    assert not [f for f in left if "upload" in f] and len([f for f in left if "partial" in f]) == 1, left
    assert not os.path.exists(os.path.join(other.dir, ".local/share/firesteel/images/index.json")) or \
        "team/a" not in open(os.path.join(other.dir, ".local/share/firesteel/images/index.json")).read()
    line.rate = 1 << 30
    done = other.run()
    assert done.code == 0 and "blobs fetched" in done.out, done
    fetched = re.search(r"fetched, (\d+\.\d) MB", done.out)
    assert float(fetched[1]) < 11 and "partial" not in "".join(other.store()), (done, other.store())


def test_an_interrupt_ends_the_wait_for_a_slow_api_server(t):
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server:  # connections are taken, and nothing is answered
        def take():
            while True:
                try:
                    heard.append(server.accept())
                except OSError:
                    return
        threading.Thread(target=take, daemon=True).start()
        place = Place(t, 'k8s.get("pods", "a")')
        place.cluster(f"http://127.0.0.1:{server.getsockname()[1]}")
        interrupted(place, lambda: heard)
        server.shutdown(socket.SHUT_RDWR)


POD = {"apiVersion": "v1", "kind": "Pod",
       "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1", "creationTimestamp": "2026-01-02T03:04:05Z"},
       "spec": {"nodeName": "n1", "containers": [{"name": "main", "image": "host/big:1"}]},
       "status": {"phase": "Pending", "containerStatuses": [{"name": "main", "ready": False, "restartCount": 0, "image": "host/big:1",
                                                            "imageID": "", "state": {"waiting": {"reason": "ContainerCreating"}}}]}}


class Pulls(BaseHTTPRequestHandler):
    """A cluster with a pod whose node has pulled its image for two minutes."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, value, status=200):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        path, _, query = self.path.partition("?")
        parts = path.strip("/").split("/")
        if parts[0] in ("api", "apis") and len(parts) == 1:
            kinds = [("pods", "pod", "Pod"), ("events", "event", "Event")]
            resources = [{"resource": r, "singularResource": s, "responseKind": {"kind": k}, "scope": "Namespaced",
                          "verbs": ["get", "list", "watch"]} for r, s, k in kinds]
            items = [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": resources}]}] if parts[0] == "api" else []
            return self.answer({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
        if parts[-1] == "version":
            return self.answer({"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
        if "watch=" in query:
            time.sleep(60)
        elif parts[-1] == "a":
            self.answer(POD)
        elif parts[-1] == "pods":
            self.answer({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [POD]})
        elif parts[-1] == "events":
            since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 120))
            pull = {"metadata": {"name": "e", "namespace": "default", "uid": "e"}, "reason": "Pulling", "type": "Normal", "lastTimestamp": since,
                    "message": 'Pulling image "host/big:1"',
                    "involvedObject": {"kind": "Pod", "name": "a", "namespace": "default", "uid": "u"}}
            self.answer({"kind": "EventList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"},
                         "items": [pull] if "Pulling" in query else []})
        else:
            self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404, "message": "none"}, 404)


def test_a_wait_shows_which_image_a_node_pulls_and_since_when(t):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Pulls)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    t.after(server.shutdown)
    place = Place(t, 'k8s.wait { k8s.get("pods", "a"), "condition=Ready", timeout = "5m" }')
    place.cluster(f"http://127.0.0.1:{server.server_address[1]}")
    code, out = place.on_terminal(until=b"pulls its image host/big:1: for", then=lambda p: os.kill(p.pid, signal.SIGINT))
    assert code == 130 and re.search(r"\x1b\[2K\S*pod a pulls its image host/big:1: for 2m\d\ds", out, re.I), out


def test_verbs_say_nothing_when_they_are_quick(t):
    place = Place(t, "print(1)")
    assert place.run().code == 0
    for argv in ([FIRESTEEL, "export", "--to", "html"], [FIRESTEEL, "export", "--to", "mlflow"],
                 [FIRESTEEL, "convert", "n.lua", "--to", "md", "-o", "-"], [FIRESTEEL, "clean"]):
        code, out = place.on_terminal(argv=argv)
        assert code == 0 and "\x1b[2K" not in out, (argv, out)


if __name__ == "__main__":
    run(globals())
