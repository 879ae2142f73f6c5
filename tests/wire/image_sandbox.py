#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The sandbox's registry as skopeo sees it, and image.build and :push() as a notebook calls them."""
import base64
import json
import os
import re
import shutil
import ssl
import subprocess
import urllib.error
import urllib.request

from layers import know_worker
from tap import BUILD, FIRESTEEL, SANITIZED, Skip, run, sh

SANDBOX = os.path.join(BUILD, "cli", "firesteel-sandbox")
TOOL = os.path.join(BUILD, "tests", "wire", "image-tool")


class Sandbox:
    """A private sandbox, with the contents of its kubeconfig; images: its store."""

    def __init__(self, t):
        self.dir = t.dir()
        self.images = f"{self.dir}/images"
        read, write = os.pipe()
        keep_read, keep_write = os.pipe()
        process = subprocess.Popen([SANDBOX, "--dir", f"{self.dir}/run", "--images", self.images, "--notify-fd",
                                    str(write)], pass_fds=[write], stdin=keep_read, stdout=subprocess.DEVNULL)
        os.close(write)
        os.close(keep_read)
        t.after(lambda: (process.terminate(), process.wait(), os.close(keep_write)))
        with os.fdopen(read) as ready:
            self.kubeconfig = json.loads(ready.readline())["kubeconfig"]
        with open(self.kubeconfig) as f:
            text = f.read()
        self.token = re.search(r"token: \"?([^\"\s]+)", text).group(1)
        self.host = re.search(r"host: \"?([^\"\s]+)", text).group(1)
        ca = re.search(r"certificate-authority-data: \"?([^\"\s]+)", text).group(1)
        os.mkdir(f"{self.dir}/certs")
        with open(f"{self.dir}/certs/ca.crt", "wb") as f:
            f.write(base64.b64decode(ca))

    def ask(self, path, method="GET", token=None, **headers):
        """Status, headers and body of a request."""
        request = urllib.request.Request(f"https://{self.host}{path}", method=method, headers=headers)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        tls = ssl.create_default_context(cafile=f"{self.dir}/certs/ca.crt")
        try:
            with urllib.request.urlopen(request, context=tls) as r:
                return r.status, r.headers, r.read()
        except urllib.error.HTTPError as e:
            return e.code, e.headers, e.read()


def skopeo(*argv, code=0):
    if not shutil.which("skopeo"):
        raise Skip("skopeo is not installed")
    done = sh("skopeo", *argv)
    assert done.code == code, done
    return done


def image(t, store):
    """An image with two layers and a file, built into a store of its own."""
    top = t.dir()
    with open(f"{top}/trainer.lua", "w") as f:
        f.write("print 'hello'\n")
    done = sh(TOOL, "build", json.dumps({
        "store": store, "tag": "team/mine:1", "add": ["trainer.lua"], "dirs": [top],
        "worker": {"program": shutil.which("true")}}))
    assert done.code == 0, done
    return json.loads(done.out)


def test_skopeo_pushes_and_pulls(t):
    box, top = Sandbox(t), t.dir()
    built = image(t, f"{top}/store")
    creds, certs = f"anybody:{box.token}", f"{box.dir}/certs"
    to = f"docker://{box.host}/team/pushed:2"
    skopeo("copy", "--dest-creds", creds, "--dest-cert-dir", certs, f"oci:{top}/store:team/mine:1", to)
    seen = json.loads(skopeo("inspect", "--creds", creds, "--cert-dir", certs, to).out)
    assert seen["Digest"] == built["digest"] and seen["RepoTags"] == ["2"], seen
    # the pushed image is in the local store, under the same name
    here = json.loads(skopeo("inspect", f"oci:{box.images}:team/pushed:2").out)
    assert here["Digest"] == built["digest"], here
    skopeo("copy", "--src-creds", creds, "--src-cert-dir", certs, to, f"oci:{top}/back:x")
    assert json.loads(skopeo("inspect", f"oci:{top}/back:x").out)["Digest"] == built["digest"]
    skopeo("delete", "--creds", creds, "--cert-dir", certs, to)
    skopeo("inspect", "--creds", creds, "--cert-dir", certs, to, code=1)


def test_without_the_token_nothing(t):
    box, top = Sandbox(t), t.dir()
    image(t, f"{top}/store")
    status, headers, body = box.ask("/v2/")
    assert status == 401 and headers["WWW-Authenticate"].startswith("Basic"), (status, headers)
    assert json.loads(body)["errors"][0]["code"] == "UNAUTHORIZED", body
    done = skopeo("copy", "--dest-creds", "anybody:wrong", "--dest-cert-dir", f"{box.dir}/certs",
                  f"oci:{top}/store:team/mine:1", f"docker://{box.host}/a:1", code=1)
    assert "unauthorized" in done.err.lower(), done
    assert box.ask("/v2/", token=box.token)[0] == 200
    for near in (box.token[::-1], box.token[:-1], box.token + "x", ""):
        assert box.ask("/v2/", token=near)[0] == 401, near


def test_ranges_and_lists(t):
    box = Sandbox(t)
    built = image(t, box.images)
    layer = built["layers"][0]
    path = f"/v2/team/mine/blobs/{layer['digest']}"
    status, headers, whole = box.ask(path, token=box.token)
    assert status == 200 and len(whole) == layer["size"], (status, len(whole))
    status, headers, part = box.ask(path, token=box.token, Range="bytes=10-19")
    assert (status, part) == (206, whole[10:20]), (status, part)
    assert headers["Content-Range"] == f"bytes 10-19/{len(whole)}", headers
    status, headers, body = box.ask(path, method="HEAD", token=box.token)
    assert (status, headers["Content-Length"], body) == (200, str(len(whole)), b""), headers
    assert json.loads(box.ask("/v2/_catalog", token=box.token)[2]) == {"repositories": ["team/mine"]}
    assert json.loads(box.ask("/v2/team/mine/tags/list", token=box.token)[2])["tags"] == ["1"]
    status, _, body = box.ask("/v2/team/mine/manifests/2", token=box.token)
    assert status == 404 and json.loads(body)["errors"][0]["code"] == "MANIFEST_UNKNOWN", body


# In notebooks

def notebook(t, *cells, env=None, options=()):
    """Runs the cells; the folder has a trainer."""
    top = t.dir()
    with open(f"{top}/trainer.lua", "w") as f:
        f.write("print 'hello'\n")
    with open(f"{top}/n.lua", "w") as f:
        f.write("".join(f"-- %%\n{c}\n\n" for c in cells))
    know_worker(f"{top}/.local/share")
    home = {"HOME": top, "XDG_DATA_HOME": None, "KUBECONFIG": None, "DOCKER_CONFIG": None}
    return sh(FIRESTEEL, "run", f"{top}/n.lua", *options, env=dict(home, **(env or {})), timeout=120)


def test_a_bare_tag_goes_to_the_cluster(t):
    box = Sandbox(t)
    done = notebook(t, 'img = image.build { add = {"trainer.lua"}, tag = "team/nb" }:push()',
                    'print("at " .. img.ref, img.pinned == "%s/team/nb@" .. img.digest)' % box.host,
                    options=("--allow", "cluster"), env={"KUBECONFIG": box.kubeconfig})
    assert done.code == 0 and f"at {box.host}/team/nb@sha256:" in done.out and "\ttrue" in done.out, done
    assert "built team/nb:latest sha256:" in done.out and "4 of 4 blobs sent" in done.out, done
    assert box.token not in done.out
    assert box.ask("/v2/team/nb/manifests/latest", token=box.token)[0] == 200


def test_the_same_twice_is_the_same_digest(t):
    cell = 'img = image.build { add = {"trainer.lua", "data/mnist"}, tag = "a" } print(img.digest, img.size < %d)' % (200e6 if SANITIZED else 40e6)
    home = t.dir()
    lines = [re.findall(r"^\s*(sha256:\w+\ttrue)$", notebook(t, cell, env={"HOME": d}).out, re.M)
             for d in (home, home, t.dir())]
    assert len(lines[0]) == 1 and lines[0] == lines[1] == lines[2], lines


def test_what_is_wrong_is_said(t):
    for cell, text in {
        'image.build { add = {"trainer.lua"} }': "image.build expects a tag",
        'image.build { tag = "x", worker = false, firesteel = true }': "leave worker = false out",
        'image.build { add = {"nothing.lua"}, tag = "a" }': "add[1] “nothing.lua”: there is no such file or folder in",
        'image.build { ad = {}, tag = "a" }': "image.build has no option ad",
        'image.build { tag = "A" }': "“A” is not the name of an image",
        'image.build { from = "spark:3.5.7", tag = "a" }': "image spark:3.5.7 is not in the local store",
        'image.build { tag = "a" }:push()': "the image a:latest names no registry, and there is no cluster",
        'image.build { tag = "a" }:push("127.0.0.1:1/a")': "127.0.0.1:1: cannot connect",
    }.items():
        done = notebook(t, cell, options=("--allow", "cluster", "--no-preflight"))
        assert done.code == 1 and text in done.err, (cell, done)


def test_a_push_needs_to_be_allowed(t):
    done = notebook(t, 'image.build { tag = "a" }:push("127.0.0.1:1/a")')
    assert done.code == 3 and "push image 127.0.0.1:1/a" in done.err and "--allow cluster" in done.err, done


def test_list_and_remove(t):
    done = notebook(t, 'image.build { tag = "b:2" } image.build { tag = "a" }',
                    'for _, i in ipairs(image.list()) do print("has " .. i.ref) end', 'image.remove "b:2"',
                    'print(#image.list() .. " left")', 'image.remove "b:2"')
    assert done.code == 1 and "has a:latest" in done.out and "has b:2" in done.out and "1 left" in done.out, done
    assert "image b:2 is not in the local store (it has a:latest)" in done.err, done


run(globals())
