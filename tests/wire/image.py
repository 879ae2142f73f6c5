#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images as other tools see them: skopeo and umoci read the store, Debian's docker-registry takes
pushes, and a registry of our own asks for tokens, mounts, redirects and fails on demand."""
import base64
import hashlib
import json
import os
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from registry import Registry, need
from tap import BUILD, run, sh

TOOL = os.path.join(BUILD, "tests", "wire", "image-tool")
WORKER = shutil.which("true")  # any program will do


def tool(command, **options):
    done = sh(TOOL, command, json.dumps(options))
    assert done.code == 0, done
    return json.loads(done.out)


def fails(command, **options):
    done = sh(TOOL, command, json.dumps(options))
    assert done.code == 1, done
    return done.err


def built(t, tag="firesteel/test:1", text="print 'hello'\n", **more):
    """A store with an image: the tool as the worker, and one file of a user."""
    top = t.dir()
    os.makedirs(f"{top}/cwd/data/mnist")
    for name, content in {"trainer.lua": text, "data/mnist/images": "digits\n"}.items():
        with open(f"{top}/cwd/{name}", "w") as f:
            f.write(content)
    store = f"{top}/images"
    image = tool("build", store=store, tag=tag, add=["trainer.lua", "data/mnist"], dirs=[f"{top}/cwd"],
                 worker={"program": WORKER}, **more)
    return top, store, image


def skopeo_inspect(*args):
    done = sh("skopeo", "inspect", *args)
    assert done.code == 0, done
    return json.loads(done.out)


# The layout

def test_skopeo_reads_the_store(t):
    need("skopeo")
    top, store, image = built(t)
    seen = skopeo_inspect(f"oci:{store}:firesteel/test:1")
    assert seen["Digest"] == image["digest"], seen
    assert seen["Created"] == "1970-01-01T00:00:00Z" and seen["Os"] == "linux", seen
    copy = sh("skopeo", "copy", f"oci:{store}:firesteel/test:1", f"dir:{top}/copy")
    assert copy.code == 0, copy


def test_umoci_unpacks_the_store_to_the_same_root(t):
    need("umoci")
    top, store, image = built(t)
    listed = sh("umoci", "list", "--layout", store)
    assert listed.code == 0 and listed.out.split() == ["firesteel/test:1"], listed
    done = sh("umoci", "raw", "unpack", "--rootless", "--image", f"{store}:firesteel/test:1", f"{top}/theirs")
    assert done.code == 0, done
    ours = tool("unpack", store=store, ref="firesteel/test:1", cache=f"{top}/cache")["root"]
    diff = sh("diff", "-r", "--no-dereference", ours, f"{top}/theirs")
    assert diff.code == 0, diff
    modes = [sh("find", ".", "!", "-type", "l", "-printf", "%p %m\n", cwd=root).out for root in (ours, f"{top}/theirs")]
    assert sorted(modes[0].split("\n"))[2:] == sorted(modes[1].split("\n"))[2:], modes


def test_a_base_that_skopeo_brought(t):
    need("skopeo")
    top, store, image = built(t)
    # As from a registry: Docker's media types, another tool's layout.
    copy = sh("skopeo", "copy", "--format=v2s2", f"oci:{store}:firesteel/test:1", f"dir:{top}/docker")
    assert copy.code == 0, copy
    copy = sh("skopeo", "copy", "--preserve-digests", f"dir:{top}/docker", f"oci:{top}/layout:example/base:3")
    # skopeo refuses to keep Docker's manifest in an OCI layout; people convert it
    copy = sh("skopeo", "copy", f"dir:{top}/docker", f"oci:{store}:example/base:3")
    assert copy.code == 0, copy
    more = tool("build", store=store, tag="more", **{"from": "example/base:3"}, add=[], dirs=[top],
                worker={"program": WORKER})
    assert len(more["layers"]) == 5, more
    inspected = skopeo_inspect(f"oci:{store}:more:latest")
    assert inspected["Digest"] == more["digest"]
    root = tool("unpack", store=store, ref="more", cache=f"{top}/cache")["root"]
    assert os.path.exists(f"{root}/work/trainer.lua")


def test_the_worker_runs_on_any_base(t):
    need("bwrap")
    top, store, image = built(t)
    os.makedirs(f"{top}/strange/lib64")
    os.makedirs(f"{top}/strange/usr/lib/x86_64-linux-gnu")
    for place in "lib64/ld-linux-x86-64.so.2", "usr/lib/x86_64-linux-gnu/libc.so.6":
        with open(f"{top}/strange/{place}", "w") as f:
            f.write("another system's")
    worker = os.path.join(BUILD, "cli", "firesteel-worker")
    tool("build", store=store, tag="mine", add=[], dirs=[top], worker={"program": worker})
    root = tool("unpack", store=store, ref="mine", cache=f"{top}/cache")["root"]
    for base in root, f"{top}/strange":
        for place in "opt/firesteel", "proc":
            os.makedirs(f"{base}/{place}", exist_ok=True)
        done = sh("bwrap", "--unshare-all", "--clearenv", "--ro-bind", base, "/", "--proc", "/proc", "--ro-bind",
                  f"{root}/opt/firesteel", "/opt/firesteel", "/opt/firesteel/firesteel-worker", "--version")
        assert done.code == 0 and done.out.startswith("firesteel-worker "), done


def test_collecting_leaves_what_skopeo_can_read(t):
    need("skopeo")
    top, store, image = built(t)
    assert tool("gc", store=store)["blobs"] == 0
    skopeo_inspect(f"oci:{store}:firesteel/test:1")


# docker-registry

def test_push_to_docker_registry(t):
    need("skopeo")
    registry = Registry(t)
    top, store, image = built(t)
    to = dict(store=store, ref="firesteel/test:1", host=registry.host, name="a/b", tag="1", plain=True)
    pushed = tool("push", **to)
    assert pushed["digest"] == image["digest"] and pushed["sent"] == 4, pushed
    again = tool("push", **to)
    assert again["sent"] == 0 and again["skipped"] == 4, again
    seen = skopeo_inspect("--tls-verify=false", f"docker://{registry.host}/a/b:1")
    assert seen["Digest"] == image["digest"], seen
    mounted = tool("push", **dict(to, name="c", mount_from="a/b"))
    assert mounted["mounted"] == 4 and mounted["sent"] == 0, mounted
    assert tool("head", host=registry.host, name="c", tag="1", plain=True)["digest"] == image["digest"]
    # back again, with another tool: the content is the same
    copy = sh("skopeo", "copy", "--src-tls-verify=false", f"docker://{registry.host}/c:1", f"oci:{top}/back:x")
    assert copy.code == 0, copy
    assert skopeo_inspect(f"oci:{top}/back:x")["Digest"] == image["digest"]


def test_docker_registry_wants_a_password(t):
    registry = Registry(t, auth=True)
    top, store, image = built(t)
    to = dict(store=store, ref="firesteel/test:1", host=registry.host, name="a", tag="1", plain=True)
    error = fails("push", **to)
    assert "unauthorized: push a:1: the registry" in error and "wants credentials" in error, error
    error = fails("push", **to, user="ada", password="wrong")
    assert "does not take these credentials" in error and ":wrong" not in error, error
    pushed = tool("push", **to, user="ada", password="love:lace")
    assert pushed["digest"] == image["digest"], pushed


def test_no_such_tag(t):
    registry = Registry(t)
    error = fails("head", host=registry.host, name="nobody", tag="1", plain=True)
    assert error.startswith("not_found:") and "404" in error, error


def test_a_registry_that_is_away(t):
    top, store, image = built(t)
    error = fails("push", store=store, ref="firesteel/test:1", host="127.0.0.1:1", name="a", tag="1", plain=True)
    assert error.startswith("unavailable: push a:1:") and "127.0.0.1:1" in error, error


def test_plain_is_never_chosen_by_itself(t):
    registry = Registry(t)
    top, store, image = built(t)
    error = fails("push", store=store, ref="firesteel/test:1", host=registry.host, name="a", tag="1")
    assert error.startswith("failed:") and f"{registry.host} speaks plain HTTP" in error, error
    assert f"--registry http://{registry.host}" in error and "insecure: true" in error, error
    assert not os.path.exists(f"{registry.dir}/data/docker/registry/v2/repositories/a")


# A registry with tokens, which can misbehave on request

class Fake(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, t):
        super().__init__(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.blobs, self.manifests, self.seen, self.failures = {}, {}, [], 0
        self.refuse = None
        threading.Thread(target=self.serve_forever, daemon=True).start()
        t.after(lambda: (self.shutdown(), self.server_close()))


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        server, path = self.server, self.path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server.seen.append((self.command, path, self.headers.get("Authorization")))
        if path.startswith("/token"):
            basic = "Basic " + base64.b64encode(b"ada:love").decode()
            if self.headers.get("Authorization") != basic:
                return self.answer(401)
            return self.answer(200, b'{"token": "t0ken"}')
        if not path.startswith("/upload/") and self.headers.get("Authorization") != "Bearer t0ken":
            return self.answer(401, WWW_Authenticate=f'Bearer realm="http://{server.host}/token?x=1",'
                                                     f'service="a service",scope="repository:a:pull"')
        if path == "/v2/":
            return self.answer(200, b"{}")
        if server.refuse and self.command == server.refuse[0]:
            return self.answer(*server.refuse[1:])
        if server.failures and self.command == "PUT":
            server.failures -= 1
            return self.answer(503, b"busy")
        if self.command == "HEAD":
            digest = path.rsplit("/", 1)[1]
            return self.answer(200 if digest in server.blobs else 404)
        if self.command == "POST":  # another host, absolute, with a query: all of these are allowed
            return self.answer(202, Location=f"http://{server.host}/upload/7?state=abc")
        if path.startswith("/upload/"):
            digest = re.search(r"[?&]digest=(sha256:[0-9a-f]+)$", path).group(1)
            assert "sha256:" + hashlib.sha256(body).hexdigest() == digest
            server.blobs[digest] = body
            return self.answer(201)
        server.manifests[path] = body
        return self.answer(201)

    do_GET = do_HEAD = do_POST = do_PUT = handle_any


def push_to(fake, store, **more):
    return dict(dict(store=store, ref="firesteel/test:1", host=fake.host, name="a", tag="1", plain=True, user="ada",
                     password="love"), **more)


def test_tokens(t):
    fake = Fake(t)
    top, store, image = built(t)
    pushed = tool("push", **push_to(fake, store))
    assert pushed["sent"] == 4 and len(fake.blobs) == 4 and "/v2/a/manifests/1" in fake.manifests, pushed
    tokens = [path for _, path, _ in fake.seen if path.startswith("/token")]
    assert tokens == ["/token?x=1&service=a%20service&scope=repository%3Aa%3Apull%2Cpush"], tokens
    error = fails("push", **push_to(fake, store, password="hate"))
    assert error.startswith("unauthorized:") and "hate" not in error, error


def test_a_busy_registry_is_tried_again(t):
    fake = Fake(t)
    fake.failures = 2
    top, store, image = built(t)
    assert tool("push", **push_to(fake, store))["sent"] == 4
    assert len(fake.blobs) == 4


def test_what_the_registry_says_is_told(t):
    fake = Fake(t)
    top, store, image = built(t)
    fake.refuse = ("POST", 403, b'{"errors": [{"code": "DENIED", "message": "quota is used up"}]}')
    error = fails("push", **push_to(fake, store))
    assert error.startswith("forbidden:") and "403 DENIED: quota is used up" in error, error
    fake.refuse = ("PUT", 413, b"<html>too large</html>")
    error = fails("push", **push_to(fake, store))
    assert "413" in error, error
    assert not fake.manifests


run(globals())
