#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Images as other tools see them: skopeo and umoci read the store, Debian's docker-registry takes
pushes, and a registry of our own asks for tokens, mounts, redirects and fails on demand."""
import base64
import glob
import hashlib
import json
import os
import re
import shutil
import threading
import urllib.request
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


# Pulling

def blob_file(store, digest):
    return f"{store}/blobs/sha256/{digest[7:]}"


def pushed_image(t, registry, name="a", tag="1"):
    """An image that is in the registry; and an empty store."""
    top, store, image = built(t)
    tool("push", store=store, ref="firesteel/test:1", host=registry.host, name=name, tag=tag, plain=True)
    return image, f"{top}/fresh"


def test_pull_from_docker_registry(t):
    registry = Registry(t)
    image, store = pushed_image(t, registry)
    to = dict(store=store, ref="some/base:3", host=registry.host, name="a", tag="1", plain=True)
    pulled = tool("pull", **to)
    assert pulled["digest"] == pulled["manifest"] == image["digest"] and pulled["fetched"] == 4, pulled
    root = tool("unpack", store=store, ref="some/base:3", cache=f"{store}-roots")["root"]
    with open(f"{root}/work/trainer.lua") as f:
        assert f.read() == "print 'hello'\n"
    again = tool("pull", **to)
    assert (again["fetched"], again["present"], again["bytes"]) == (0, 4, 0), again
    pinned = tool("pull", **dict(to, tag=image["digest"], ref=None))
    assert pinned["digest"] == image["digest"], pinned
    error = fails("pull", **dict(to, tag="2"))
    assert error.startswith("not_found:") and f"{registry.host} has no image a:2" in error, error
    error = fails("pull", **dict(to, tag="sha256:" + "0" * 64))
    assert error.startswith("not_found:"), error


def test_layers_in_zstd_are_pulled_and_built_on(t):
    need("skopeo")
    need("zstd")
    registry = Registry(t)
    top, store, image = built(t)
    # skopeo 1.9 recompresses only what it decompresses itself, so the layers go through its folder
    copy = sh("skopeo", "copy", f"oci:{store}:firesteel/test:1", f"dir:{top}/plain", "--dest-decompress")
    assert copy.code == 0, copy
    copy = sh("skopeo", "copy", "--dest-compress-format", "zstd", "--dest-tls-verify=false", "--format", "oci", f"dir:{top}/plain",
              f"docker://{registry.host}/a/z:1")
    assert copy.code == 0, copy
    manifest = json.loads(urllib.request.urlopen(urllib.request.Request(
        f"http://{registry.host}/v2/a/z/manifests/1", headers={"Accept": "application/vnd.oci.image.manifest.v1+json"})).read())
    assert {layer["mediaType"] for layer in manifest["layers"]} == {"application/vnd.oci.image.layer.v1.tar+zstd"}, manifest
    away = f"{t.dir()}/images"
    pulled = tool("pull", store=away, ref="z:1", host=registry.host, name="a/z", tag="1", plain=True)
    assert pulled["fetched"] == 4, pulled
    ours, theirs = (tool("unpack", store=s, ref=r, cache=f"{s}-roots")["root"] for s, r in ((away, "z:1"), (store, "firesteel/test:1")))
    diff = sh("diff", "-r", "--no-dereference", ours, theirs)
    assert diff.code == 0, diff
    more = tool("build", store=away, tag="more", **{"from": "z:1"}, add=[], dirs=[top], worker={"program": WORKER})
    assert len(more["layers"]) == len(manifest["layers"]) + 2, more
    root = tool("unpack", store=away, ref="more", cache=f"{away}-roots")["root"]
    assert os.path.exists(f"{root}/work/trainer.lua")


def test_pull_chooses_the_platform(t):
    registry = Registry(t)
    image, store = pushed_image(t, registry)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)

    def put(tag, platforms, more=0):
        entry = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "digest": image["digest"],
                 "size": os.path.getsize(blob_file(f"{store[:-6]}/images", image["digest"])) + more}
        body = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                           "manifests": [dict(entry, platform=p) for p in platforms]}).encode()
        request = urllib.request.Request(f"http://{registry.host}/v2/a/manifests/{tag}", body, method="PUT", headers={
            "Content-Type": "application/vnd.oci.image.index.v1+json"})
        assert urllib.request.urlopen(request).status == 201
        return "sha256:" + hashlib.sha256(body).hexdigest()

    index = put("many", [{"os": "windows", "architecture": machine}, {"os": "linux", "architecture": machine}])
    to = dict(store=store, ref="b:many", host=registry.host, name="a", tag="many", plain=True)
    pulled = tool("pull", **to)
    assert pulled["digest"] == index and pulled["manifest"] == image["digest"], pulled
    tool("unpack", store=store, ref="b:many", cache=f"{store}-roots")
    tool("unpack", store=store, ref=f"b@{index}", cache=f"{store}-roots")
    put("other", [{"os": "linux", "architecture": "s390"}])
    error = fails("pull", **dict(to, tag="other"))
    assert "it has no variant for linux/" in error and "only linux/s390" in error, error
    put("larger", [{"os": "linux", "architecture": machine}], 1)
    error = fails("pull", **dict(to, tag="larger"))
    assert re.search(r"the index of a says that the manifest sha256:\w+ has \d+ bytes, and it has \d+", error), error


def test_what_is_not_what_its_digest_says_is_refused(t):
    registry = Registry(t)
    image, store = pushed_image(t, registry)
    layer = image["layers"][1]["digest"]
    stored = f"{registry.dir}/data/docker/registry/v2/blobs/sha256/{layer[7:9]}/{layer[7:]}/data"
    with open(stored, "r+b") as f:
        f.seek(100)
        f.write(b"XXXX")
    error = fails("pull", store=store, ref="x", host=registry.host, name="a", tag="1", plain=True)
    assert error.startswith("invalid:") and f"instead of {layer}" in error, error
    assert not os.path.exists(blob_file(store, layer)) and not glob.glob(f"{store}/.firesteel/partial-*")
    assert "is not in the local store" in fails("unpack", store=store, ref="x", cache=f"{store}-roots")


def test_a_pull_that_was_cut_goes_on(t):
    registry = Registry(t)
    image, store = pushed_image(t, registry)
    layer = image["layers"][1]
    half = layer["size"] // 2
    with open(blob_file(f"{store[:-6]}/images", layer["digest"]), "rb") as f:
        content = f.read()
    to = dict(store=store, ref="x", host=registry.host, name="a", tag="1", plain=True)
    assert "is not in the local store" in fails("unpack", store=store, ref="x", cache=f"{store}-roots")  # makes it
    partial = f"{store}/.firesteel/partial-{layer['digest'][7:]}"
    with open(partial, "wb") as f:
        f.write(content[:half])
    pulled = tool("pull", **to)
    whole = sum(one["size"] for one in image["layers"])
    assert whole - half < pulled["bytes"] < whole - half + 4096 and not os.path.exists(partial), pulled
    # what another registry left, or a disk spoiled, is seen by the digest, and begun again
    os.unlink(blob_file(store, layer["digest"]))
    for left in b"Y" * half, content + b"more":
        with open(partial, "wb") as f:
            f.write(left)
        tool("pull", **to)
        with open(blob_file(store, layer["digest"]), "rb") as f:
            assert f.read() == content
        os.unlink(blob_file(store, layer["digest"]))


def test_a_registry_that_cuts_and_sends_elsewhere(t):
    """Each answer of the storage is cut after some bytes; it gets no credentials; the pull ends all the same."""
    fake = Fake(t)
    top, store, image = built(t)
    tool("push", **push_to(fake, store))
    fake.cut, fake.elsewhere = image["layers"][1]["size"] // 3 + 1, True
    fake.seen.clear()
    pulled = tool("pull", **dict(push_to(fake, f"{top}/fresh"), ref="x"))
    assert pulled["manifest"] == image["digest"], pulled
    storage = [(path, auth, extent) for method, path, auth, extent in fake.seen if path.startswith("/storage/")]
    assert len([s for s in storage if s[2]]) >= 2, storage
    assert all(auth is None for _, auth, _ in storage), storage
    fake.ranges = False  # a storage without ranges: it sends all from the beginning, which must not be appended
    fake.cut = 0
    partial = f"{top}/third/.firesteel/partial-{image['layers'][1]['digest'][7:]}"
    fails("unpack", store=f"{top}/third", ref="x", cache=f"{top}/roots")
    with open(partial, "wb") as f:
        f.write(b"Z" * 100)
    pulled = tool("pull", **dict(push_to(fake, f"{top}/third"), ref="x"))
    assert pulled["manifest"] == image["digest"], pulled


def test_a_registry_that_cuts_and_knows_no_ranges_is_given_up(t):
    fake = Fake(t)
    top, store, image = built(t)
    tool("push", **push_to(fake, store))
    first = image["layers"][0]
    fake.cut, fake.ranges = first["size"] - 1, False
    error = fails("pull", **dict(push_to(fake, f"{top}/fresh"), ref="x"))
    assert error.startswith("unavailable:") and "closed with 1 bytes remaining" in error, error
    asked = [path for method, path, *_ in fake.seen if method == "GET" and path.endswith(first["digest"])]
    assert len(asked) == 4, asked


# A registry with tokens, which can misbehave on request

class Fake(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, t):
        super().__init__(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.blobs, self.manifests, self.seen, self.failures = {}, {}, [], 0
        self.refuse = None
        self.cut, self.elsewhere, self.ranges = 0, False, True  # of the answers with blobs
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
        server.seen.append((self.command, path, self.headers.get("Authorization"), self.headers.get("Range")))
        if path.startswith("/storage/"):
            return self.send_blob(server.blobs[path[9:]])
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
        if self.command == "GET":
            return self.get(path, path.rsplit("/", 1)[1])
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

    def get(self, path, last):
        if "/manifests/" in path:
            return self.answer(200, self.server.manifests[path],
                               Content_Type="application/vnd.oci.image.manifest.v1+json")
        if self.server.elsewhere:  # the same machine by another name
            return self.answer(307, Location=f"http://localhost:{self.server.server_address[1]}/storage/{last}")
        return self.send_blob(self.server.blobs[last])

    def send_blob(self, blob):
        """The blob, or the part that was asked for; cut after server.cut bytes, if so many are left."""
        extent = self.headers.get("Range") if self.server.ranges else None
        begin = int(re.match(r"bytes=(\d+)-$", extent).group(1)) if extent else 0
        rest = blob[begin:]
        self.send_response(206 if extent else 200)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        cut = self.server.cut
        self.wfile.write(rest[:cut] if cut else rest)
        if cut and cut < len(rest):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = handle_any


def push_to(fake, store, **more):
    return dict(dict(store=store, ref="firesteel/test:1", host=fake.host, name="a", tag="1", plain=True, user="ada",
                     password="love"), **more)


def test_tokens(t):
    fake = Fake(t)
    top, store, image = built(t)
    pushed = tool("push", **push_to(fake, store))
    assert pushed["sent"] == 4 and len(fake.blobs) == 4 and "/v2/a/manifests/1" in fake.manifests, pushed
    tokens = [path for _, path, *_ in fake.seen if path.startswith("/token")]
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
