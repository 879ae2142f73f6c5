#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`firesteel cp` and k8s.cp out of a pod that answers with an archive of its own making; what unit image/treetar has, seen from outside."""
import io
import json
import os
import pty
import re
import signal
import subprocess
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from apichannel import STDOUT, Channel
from tap import FIRESTEEL, PATIENCE, run, sh

KINDS = {"f": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "l": tarfile.SYMTYPE, "h": tarfile.LNKTYPE, "p": tarfile.FIFOTYPE}
PODS = {
    "tree": [("d", "./out", ""), ("d", "./out/sub", ""), ("f", "./out/sub/f", "there"), ("l", "./out/latest", "sub")],
    "dot": [("d", "./out", ""), ("l", "./out/deep", "."), ("l", "./out/esc", "deep/deep/deep/../../victim/file"),
            ("l", "./out/escdir", "deep/deep/../../victim"), ("f", "./out/f", "x")],
    "toplink": [("l", "./out", "/etc")],
    "toppipe": [("p", "./out", "")],
    "moved": [("d", "./out", ""), ("l", "./out/latest", "other"), ("f", "./out/new", "x")],
}


def archive(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for kind, name, text in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode = KINDS[kind], 0o755
            info.linkname = text if kind in "lh" else ""
            info.size = len(text) if kind == "f" else 0
            tar.addfile(info, io.BytesIO(text.encode()) if kind == "f" else None)
    return out.getvalue()


class Pod(Channel):
    def command(self, name):
        if name == "endless":
            return self.send_slowly()
        self.say(STDOUT, archive(PODS[name]))
        self.end({"status": "Success"})
        self.wfile.flush()


    def send_slowly(self):
        """A folder with a file that is there whole, and one that takes minutes."""
        self.say(STDOUT, archive([("d", "./out", ""), ("f", "./out/whole", "there")])[:2560 - 1024])
        info = tarfile.TarInfo("./out/big")
        info.size = 1 << 24
        self.say(STDOUT, info.tobuf())
        try:
            for _ in range(info.size // 4096):
                self.say(STDOUT, b"x" * 4096)
                time.sleep(0.02)
        except OSError:
            pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, value):
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        parts = self.path.partition("?")[0].strip("/").split("/")
        if parts[-1] == "exec":
            self.server.commands.append(parse_qs(self.path.partition("?")[2])["command"])
            return Pod(self).serve(parts[-2], "exec")
        if parts[0] in ("api", "apis") and len(parts) == 1:
            pods = {"resource": "pods", "singularResource": "pod", "responseKind": {"kind": "Pod"}, "scope": "Namespaced", "verbs": ["get"]}
            items = [{"metadata": {"name": ""}, "versions": [{"version": "v1", "resources": [pods]}]}] if parts[0] == "api" else []
            return self.answer({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": items})
        if parts[-1] == "version":
            return self.answer({"major": "1", "minor": "34", "gitVersion": "v1.34.0"})
        self.answer({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": parts[-1], "namespace": "default", "uid": "u"},
                     "spec": {"containers": [{"name": "main", "image": "i"}]}, "status": {"phase": "Running"}})

    do_POST = do_GET


class Place:
    def __init__(self, t):
        self.dir = t.dir()
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.commands = self.commands = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        t.after(server.shutdown)
        with open(f"{self.dir}/kubeconfig", "w") as f:
            json.dump({"apiVersion": "v1", "kind": "Config", "current-context": "c",
                       "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}],
                       "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "users": [{"name": "u", "user": {}}]}, f)
        self.env = {"KUBECONFIG": f"{self.dir}/kubeconfig", "HOME": self.dir, "XDG_STATE_HOME": f"{self.dir}/state"}

    def cp(self, pod, to="out"):
        return sh(FIRESTEEL, "cp", f"{pod}:/tmp/out", to, cwd=self.dir, env=self.env)

    def at(self, name):
        return f"{self.dir}/{name}"


def test_a_tree_comes_twice(t):
    place = Place(t)
    for _ in range(2):
        done = place.cp("tree")
        assert done.code == 0 and done.err == "", done
        assert place.commands[-1] == ["tar", "cf", "-", "-C", "/tmp", "./out"], place.commands
        assert os.readlink(place.at("out/latest")) == "sub" and open(place.at("out/latest/f")).read() == "there"


def test_links_that_lead_out_are_named_and_lead_nowhere_later(t):
    place = Place(t)
    os.mkdir(place.at("victim"))
    done = place.cp("dot")
    assert done.code == 0 and "-- left out: out/esc and others" in done.err, done
    assert sorted(os.listdir(place.at("out"))) == ["deep", "f"]
    done = place.cp("tree", "out/escdir")
    assert done.code == 0 and os.listdir(place.at("victim")) == [] and os.path.isdir(place.at("out/escdir/sub")), done


def test_an_interrupt_leaves_no_half_file(t):
    place = Place(t)
    with open(place.at("n.lua"), "w") as f:
        f.write('-- %%\nk8s.cp("endless:/tmp/out", "out")\n')
    for argv in ([FIRESTEEL, "cp", "endless:/tmp/out", "out"], [FIRESTEEL, "run", "n.lua", "--no-preflight"]):
        ours, theirs = pty.openpty()
        p = subprocess.Popen(argv, cwd=place.dir, env=dict(os.environ, TERM="xterm", **place.env), stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        said = b""
        while b"KB/s" not in said:  # a terminal sees how far it is
            said += os.read(ours, 4096)
        assert re.search(rb"copy /tmp/out: [\d.]+ [KM]B, [\d.]+ KB/s", said), said
        assert os.path.exists(place.at("out/big")), os.listdir(place.at("out"))
        began = time.monotonic()
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60 * PATIENCE)
        assert p.returncode == 130 and time.monotonic() - began < PATIENCE + 0.5, (p.returncode, time.monotonic() - began)
        assert os.listdir(place.at("out")) == ["whole"], os.listdir(place.at("out"))
        os.close(ours)


def test_a_link_of_ours_stays(t):
    place = Place(t)
    os.mkdir(place.at("disk"))
    os.mkdir(place.at("out"))
    os.symlink(place.at("disk"), place.at("out/sub"))
    done = place.cp("tree")
    assert done.code == 1 and f"out/sub is a link to {place.at('disk')} here: it is neither replaced nor written through" in done.err, done
    assert os.readlink(place.at("out/sub")) == place.at("disk") and os.listdir(place.at("disk")) == []
    os.unlink(place.at("out/sub"))
    assert place.cp("tree").code == 0
    done = place.cp("moved")
    assert done.code == 1 and "out/latest is a link to sub here" in done.err and os.path.exists(place.at("out/new")), done
    # The place itself may be a link.
    os.symlink("disk", place.at("place"))
    assert place.cp("tree", "place").code == 0 and os.path.exists(place.at("disk/sub/f"))


def test_that_nothing_was_copied_is_an_error(t):
    place = Place(t)
    for pod in "toplink", "toppipe":
        done = place.cp(pod)
        assert done.code == 1 and "nothing was copied: ./out is no file, folder or link inside" in done.err, done
        assert not os.path.lexists(place.at("out"))
    os.mkfifo(place.at("pipe"))
    done = sh(FIRESTEEL, "cp", "pipe", "tree:/tmp/", cwd=place.dir, env=place.env)
    assert done.code == 1 and "nothing was copied: " in done.err, done


def test_notebooks_hear_the_same(t):
    place = Place(t)
    os.mkdir(place.at("out"))
    os.symlink("/", place.at("out/sub"))
    with open(place.at("n.lua"), "w") as f:
        f.write('-- %%\nprint(select(2, pcall(k8s.cp, "toplink:/tmp/out", "a")))\nprint(select(2, pcall(k8s.cp, "tree:/tmp/out", "out")))\n'
                'print(json.encode(k8s.cp("dot:/tmp/out", "b")))\n')
    done = sh(FIRESTEEL, "run", "n.lua", cwd=place.dir, env=place.env)
    assert done.code == 0 and "nothing was copied" in done.out and "out/sub is a link to / here" in done.out, done
    assert '"files":1' in done.out and "left out: out/esc and others" in done.out + done.err, done


run(globals())
