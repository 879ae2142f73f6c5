#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Dockerfiles as notebooks build them: natively, as umoci then unpacks them; with RUN by a builder."""
import io
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tarfile

from tap import BUILD, FIRESTEEL, Skip, eventually, run, sh

TOOL = os.path.join(BUILD, "tests", "wire", "image-tool")


class Folder:
    def __init__(self, t):
        self.dir = f"{t.dir()}/A user's_"  # a builder cannot make a name of an image of it
        os.mkdir(self.dir)
        self.store = f"{self.dir}/share/firesteel/images"
        self.env = {"HOME": self.dir, "XDG_DATA_HOME": f"{self.dir}/share", "KUBECONFIG": None, "DOCKER_CONFIG": None,
                    "HTTPS_PROXY": "http://127.0.0.1:1", "TMPDIR": t.dir()}

    def put(self, name, content, mode=0o644):
        path = f"{self.dir}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)

    def build(self, dockerfile, options="", **env):
        self.put("Dockerfile", dockerfile)
        self.put("n.lua", f'-- %%\nimage.build {{ dockerfile = "Dockerfile", tag = "made:1", {options} }}\n')
        done = sh(FIRESTEEL, "run", f"{self.dir}/n.lua", env=dict(self.env, **env), timeout=120)
        assert not os.listdir(self.env["TMPDIR"]), os.listdir(self.env["TMPDIR"])
        return done

    def built(self, dockerfile, options="", **env):
        """The image's config, and its unpacked root."""
        done = self.build(dockerfile, options, **env)
        assert done.code == 0 and "built made:1 sha256:" in done.out, done
        with open(f"{self.store}/index.json") as f:
            index = json.load(f)
        entry = next(m for m in index["manifests"] if m["annotations"]["org.opencontainers.image.ref.name"] == "made:1")
        manifest = self.blob(entry["digest"])
        unpacked = sh(TOOL, "unpack", json.dumps({"store": self.store, "ref": "made:1", "cache": f"{self.dir}/roots"}))
        assert unpacked.code == 0, unpacked
        self.layers = [layer["digest"] for layer in manifest["layers"]]
        return self.blob(manifest["config"]["digest"]), json.loads(unpacked.out)["root"]

    def blob(self, digest):
        with open(f"{self.store}/blobs/sha256/{digest[7:]}") as f:
            return json.load(f)


def files(root):
    return sorted(os.path.relpath(os.path.join(top, name), root) for top, _, names in os.walk(root) for name in names)


def read(root, name):
    with open(f"{root}/{name}") as f:
        return f.read()


def test_the_instructions(t):
    f = Folder(t)
    for name in "train.py", "lib/a.py", "lib/b.pyc", "lib/deep/c.py", "one.conf", "two.conf", "secret":
        f.put(name, name)
    f.put(".dockerignore", "**/*.pyc\nsecret\n")
    config, root = f.built("""
        ARG VERSION=3
        FROM scratch
        ARG VERSION
        ARG COLOUR=red
        ENV HOME_OF=/srv/app-$VERSION PLAIN="a b" \\
            COLOUR_IS=${COLOUR:-none}
        ENV OLD the rest of it
        WORKDIR $HOME_OF
        WORKDIR sub
        COPY train.py .
        COPY lib ../app-3/sub/lib/
        """.replace("../app-3/sub/lib/", "lib/") + """
        COPY *.conf /etc/app/
        COPY --chmod=600 --chown=185:7 ["train.py", "/opt/renamed.py"]
        ADD lib/deep /
        USER 185
        EXPOSE 8080 53/udp
        LABEL who="a team" version=$VERSION
        ENTRYPOINT ["python3", "$NOT_A_VARIABLE"]
        CMD echo it's $COLOUR
        """, 'args = { COLOUR = "blue" }')
    assert files(root) == ["c.py", "etc/app/one.conf", "etc/app/two.conf", "opt/renamed.py",
                           "srv/app-3/sub/lib/a.py", "srv/app-3/sub/lib/deep/c.py", "srv/app-3/sub/train.py"], files(root)
    run_with = config["config"]
    assert run_with["Env"] == ["HOME_OF=/srv/app-3", "PLAIN=a b", "COLOUR_IS=blue", "OLD=the rest of it"], run_with
    assert run_with["WorkingDir"] == "/srv/app-3/sub" and run_with["User"] == "185", run_with
    assert run_with["ExposedPorts"] == {"8080/tcp": {}, "53/udp": {}}, run_with
    assert run_with["Labels"] == {"who": "a team", "version": "3"}, run_with
    assert run_with["Entrypoint"] == ["python3", "$NOT_A_VARIABLE"], run_with
    assert run_with["Cmd"] == ["/bin/sh", "-c", "echo it's $COLOUR"], run_with
    if shutil.which("umoci"):
        seen = sh("umoci", "list", "--layout", f.store)
        assert seen.code == 0 and "made:1" in seen.out, seen
    # who owns the renamed file is in the layer
    for digest in f.layers:
        with tarfile.open(f"{f.store}/blobs/sha256/{digest[7:]}") as tar:
            for member in tar:
                if member.name == "opt/renamed.py":
                    assert (member.uid, member.gid, member.mode & 0o777) == (185, 7, 0o600), member.get_info()
                    return
    raise AssertionError("opt/renamed.py is in no layer")


def owners(f, name):
    """Owner and mode of each entry of that name in the image's layers."""
    found = []
    for digest in f.layers:
        with tarfile.open(f"{f.store}/blobs/sha256/{digest[7:]}") as tar:
            found += [(m.uid, m.gid, m.mode & 0o777) for m in tar if m.name == name]
    return found


def test_instructions_mean_what_they_mean_to_buildkit(t):
    f, machine = Folder(t), {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    for name in "c/a", "c/dir/b":
        f.put(name, name)
    config, root = f.built("\ufeff# escape=`\n" + f"""ARG BASE=scratch
        FROM $BASE AS base-{machine}
        FROM base-${{TARGETARCH}}
        ARG BUILDPLATFORM
        ARG BUILDARCH
        ARG TARGETOS=mine
        ARG U=1000
        ARG G=100
        ARG M=0750
        ENV ON=$BUILDPLATFORM/$BUILDARCH/$TARGETOS WIN=C:\\dir CUT=`
${{U%00}}
        ENV OLD  two  words
        COPY --chown="${{U}}:${{G}}" a /own/
        COPY --chmod=$M a /mode/
        COPY --chown=root:root dir/../a /root/
        WORKDIR /x/y
        WORKDIR ../a dir
        COPY dir ../b/
        ARG PORTS="80 81/udp"
        EXPOSE $PORTS 82
        CMD ["a", ]
        """, 'context = "c"')
    assert files(root) == ["mode/a", "own/a", "root/a", "x/y/../b/b".replace("y/../", "")], files(root)
    assert owners(f, "own/a") == [(1000, 100, 0o644)] and owners(f, "mode/a") == [(0, 0, 0o750)] and owners(f, "root/a") == [(0, 0, 0o644)]
    run_with = config["config"]
    assert run_with["Env"] == [f"ON=linux/{machine}/{machine}/mine", "WIN=C:\\dir", "CUT=10", "OLD=two  words"], run_with
    assert run_with["WorkingDir"] == "/x/a dir" and run_with["ExposedPorts"] == {"80/tcp": {}, "81/udp": {}, "82/tcp": {}}, run_with
    assert run_with["Cmd"] == ["/bin/sh", "-c", '["a", ]'], run_with
    f.put("c/.dockerignore", "\ufeffa\n!dir/[\n")
    done = f.build("FROM scratch\nCOPY . /\n", 'context = "c"')
    assert done.code == 1 and "ignore file of Dockerfile: line 2: “!dir/[” is no pattern" in done.err, done


def test_the_same_file_gives_the_same_image(t):
    text = "FROM scratch\nCOPY a /x/\n"
    digests = []
    for _ in range(2):
        f = Folder(t)
        f.put("a", "a")
        f.built(text)
        with open(f"{f.store}/index.json") as index:
            digests.append(json.load(index)["manifests"][0]["digest"])
    assert digests[0] == digests[1], digests


def test_several_stages(t):
    f = Folder(t)
    f.put("src/app.py", "app")
    f.put("src/conf/x", "x")
    config, root = f.built("""
        FROM scratch AS build
        WORKDIR /out
        COPY src .
        FROM build AS more
        COPY src/app.py second.py
        FROM scratch
        COPY --from=build /out/conf /etc/conf
        COPY --from=1 /out/*.py /srv/
        COPY --from=MORE /out/app.py /srv/app
        """)
    assert files(root) == ["etc/conf/x", "srv/app", "srv/app.py", "srv/second.py"], files(root)
    _, root = f.built("FROM scratch AS a\nCOPY src/app.py /a\nFROM nobody/has:it\n", 'target = "a"')
    assert files(root) == ["a"], files(root)
    done = f.build("FROM scratch\nCOPY --from=nothing.example/x:1 /a /b\n")
    assert done.code == 1 and "Dockerfile:2: COPY: image nothing.example/x:1 is not in the local store" in done.err, done


def test_a_base_keeps_what_it_has(t):
    f = Folder(t)
    f.put("tool", "tool", 0o755)
    f.put("base.lua", '-- %%\nimage.build { tag = "base", add = {["tool"] = "/opt/tools/tool"}, worker = false,\n'
                      '  entrypoint = {"/opt/tools/tool"}, cmd = {"old"}, env = { A = 1 } }\n')
    assert sh(FIRESTEEL, "run", f"{f.dir}/base.lua", env=f.env).code == 0
    config, root = f.built('FROM base\nENV A=${A}2\nCOPY tool /opt/tools\nCOPY tool /opt/new\nCOPY tool /tmp/\n'
                           'ENTRYPOINT ["/opt/new"]\n')
    # /opt/tools is a folder of the base, so the file goes into it; /opt/new is none
    assert {"opt/tools/tool", "opt/new", "tmp/tool"} <= set(files(root)), files(root)
    assert os.stat(f"{root}/tmp").st_mode & 0o7777 == 0o1777, oct(os.stat(f"{root}/tmp").st_mode)
    assert config["config"]["Env"] == ["A=12"] and "Cmd" not in config["config"], config


def in_layers(f):
    """What each layer has, by name."""
    found = []
    for digest in f.layers:
        with tarfile.open(f"{f.store}/blobs/sha256/{digest[7:]}") as tar:
            found.append(sorted(member.name for member in tar))
    return found


def test_a_place_is_found_through_links_of_the_base(t):
    """A layer that had bin/tool would hide the link bin, and all behind it, wherever layers are unpacked one by one."""
    f = Folder(t)
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, to in {"bin": "usr/bin", "abs": "/usr/lib", "out": "../../../usr/lib", "loop": "loop", "file": "usr/bin/sh",
                         "usr/local": "./lib/../lib", "was": "usr/lib", "gap": "missing/deep"}.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, to
            tar.addfile(info)
        for name in "usr/bin/sh", "usr/lib/so":
            tar.addfile(tarfile.TarInfo(name))
    f.put("base.tar", content.getvalue())
    with tarfile.open(f"{f.dir}/over.tar", "w") as tar:
        for name in "was/real", "etc/x":
            tar.addfile(tarfile.TarInfo(name))
        info = tarfile.TarInfo("was")
        info.type = tarfile.DIRTYPE
        tar.addfile(info)
    f.put("a", "a")
    f.put("b", "b")
    base = "FROM scratch AS first\nADD base.tar /\nFROM first AS base\nADD over.tar /\nFROM base\n"
    for place, want in {"/bin/": "usr/bin/a", "/bin": "usr/bin/a", "/abs/x": "usr/lib/x", "/out/deep/x": "usr/lib/deep/x", "out": "usr/lib/a",
                        "/usr/local/x": "usr/lib/x", "/was": "was/a", "/file": "file", "/new/x": "new/x", "/gap/x": "missing/deep/x",
                        "/bin/sh": "usr/bin/sh", "/usr/local/new/": "usr/lib/new/a", "/etc": "etc/a"}.items():
        f.built(base + f"COPY a {place}\n")
        assert in_layers(f)[-1] == [want], (place, in_layers(f)[-1])
    f.built(base + "WORKDIR /bin\nCOPY a b .\nCOPY a c\n")
    assert in_layers(f)[-2:] == [["usr/bin/a", "usr/bin/b"], ["usr/bin/c"]], in_layers(f)
    done = f.build(base + "COPY a /loop/x\n")
    assert done.code == 1 and "Dockerfile:6: COPY: /loop/x leads through more than 40 links" in done.err, done
    # What was kept of the layers is used again.
    kept = f"{f.store}/.firesteel/names"
    assert os.listdir(kept)
    for name in os.listdir(kept):
        with open(f"{kept}/{name}", "wb") as kept_file:
            kept_file.write(b"lbin\0elsewhere\0" if name == f.layers[0][7:] else b"")
    f.built(base + "COPY a /bin/\n")
    assert in_layers(f)[-1] == ["elsewhere/a"], in_layers(f)


def test_archives_are_unpacked_by_add(t):
    f = Folder(t)
    for name, mode in ("plain.tar", "w"), ("zipped.tgz", "w:gz"):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode=mode) as tar:
            info = tarfile.TarInfo(f"in/{name}.txt")
            info.size = 2
            tar.addfile(info, io.BytesIO(b"hi"))
        f.put(name, content.getvalue())
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz") as tar:
        tar.addfile(tarfile.TarInfo("x"))
    f.put("x.tar.xz", content.getvalue())
    _, root = f.built("FROM scratch\nADD plain.tar zipped.tgz /data/\nCOPY plain.tar /kept/\n")
    assert files(root) == ["data/in/plain.tar.txt", "data/in/zipped.tgz.txt", "kept/plain.tar"], files(root)
    done = f.build("FROM scratch\nADD x.tar.xz /\n")
    assert done.code == 1 and "Dockerfile:2: ADD" in done.err and "archives of xz" in done.err, done


def link(f, name, to):
    os.makedirs(os.path.dirname(f"{f.dir}/{name}"), exist_ok=True)
    os.symlink(to, f"{f.dir}/{name}")


def context_with_links(t):
    """A folder ctx of somebody else, and victim beside it, which is ours."""
    f = Folder(t)
    f.put("victim/file", "SECRET")
    for name in "ctx/a/file", "ctx/a/deep/more", "ctx/b", "ctx/victim/own":
        f.put(name, name)
    for name, to in {"flink": "../victim/file", "vlink": "../victim", "abs": f"{f.dir}/victim", "up": "..", "dot": ".",
                     "sly": "dot/dot/dot/../victim/file", "own": f"{f.dir}/ctx/a", "loop": "loop", "one": "two", "two": "one",
                     "inside": "a/deep/../file", "folder": "a", "root": "/a/file", "a/deep/out": "../../../victim/file"}.items():
        link(f, f"ctx/{name}", to)
    return f


def test_links_lead_nowhere_out_of_the_context(t):
    f = context_with_links(t)
    for name, why in {"flink": "a link to ../victim/file, which is not in that folder", "abs": "is a link to", "abs/file": "abs/file",
                      "sly": "a link to dot/dot", "own": "is a link to", "own/file": "own/file", "loop": "a link to loop",
                      "one/x": "Too many levels of symbolic links", "flink/x": "flink/x"}.items():
        for step in "COPY", "ADD":
            done = f.build(f"FROM scratch\n{step} {name} /x\n", 'context = "ctx"')
            assert done.code == 1 and f"Dockerfile:2: {step}: " in done.err and why in done.err, (name, done)
            assert "SECRET" not in done.out + done.err
    # The context is the root of what links in it say.
    _, root = f.built("FROM scratch\nCOPY vlink /v/\nCOPY up /u/\nCOPY root /r\nCOPY up/up/b up/vlink/own /n/\n", 'context = "ctx"')
    assert read(root, "v/own") == "ctx/victim/own" and read(root, "r") == "ctx/a/file", files(root)
    assert {"u/b", "u/a/file", "n/b", "n/own"} <= set(files(root)) and "v/file" not in files(root), files(root)
    assert os.readlink(f"{root}/u/flink") == "../victim/file", "links in a folder stay links"


def test_a_link_that_is_named_is_followed_inside(t):
    f = context_with_links(t)
    _, root = f.built("FROM scratch\nCOPY inside /x/\nCOPY folder /c\nCOPY folder/deep /d/\nCOPY i*e f[o]lder/f* /w/\n", 'context = "ctx"')
    assert files(root) == ["c/deep/more", "c/deep/out", "c/file", "d/more", "d/out", "w/file", "w/inside", "x/inside"], files(root)
    for name in "x/inside", "c/file", "w/inside", "w/file":
        assert read(root, name) == "ctx/a/file" and not os.path.islink(f"{root}/{name}"), name
    # What a link leads to is ignored by its own name, and a link by either.
    f.put("ctx/.dockerignore", "a/file\nvlink\n")
    for name in "inside", "vlink", "folder/file":
        done = f.build(f"FROM scratch\nCOPY {name} /x\n", 'context = "ctx"')
        assert done.code == 1 and f"{name} in {f.dir}/ctx is ignored" in done.err, done
    _, root = f.built("FROM scratch\nCOPY folder /c\n", 'context = "ctx"')
    assert files(root) == ["c/deep/more", "c/deep/out"], files(root)


def test_the_context_itself_may_be_reached_through_links(t):
    f = context_with_links(t)
    link(f, "elsewhere", "ctx")
    _, root = f.built("FROM scratch\nCOPY a /x\n", 'context = "elsewhere"')
    assert "x/file" in files(root)


def test_what_patterns_match(t):
    f = Folder(t)
    for name in "c/.env", "c/a", "c/sub/.x", "c/sub/b*", "c/sub/bb":
        f.put(name, name)
    _, root = f.built("FROM scratch\nCOPY * /x/\nCOPY */b[*] /y/\nCOPY a nothing*.tx[t] /z/\nCOPY s?b/[.]x ./*a /w/\n", 'context = "c"')
    assert files(root) == ["w/.x", "w/a", "x/.env", "x/.x", "x/a", "x/b*", "x/bb", "y/b*", "z/a"], files(root)
    done = f.build("FROM scratch\nCOPY none* /x/\n", 'context = "c"')
    assert done.code == 1 and "Dockerfile:2: COPY: nothing in" in done.err, done
    done = f.build(f"FROM scratch\nCOPY {'a/' * 5000}* /x/\n", 'context = "c"')
    assert done.code == 1 and "too long for a name" in done.err, done


def test_what_is_no_file_is_refused_at_once(t):
    f = Folder(t)
    f.put("ctx/sub/a", "a")
    os.mkfifo(f"{f.dir}/ctx/pipe")
    os.mkfifo(f"{f.dir}/ctx/sub/pipe")
    link(f, "ctx/plink", "pipe")
    with socket.socket(socket.AF_UNIX) as s:
        os.chdir(f"{f.dir}/ctx")  # a short name
        s.bind("socket")
        os.chdir("/")
        for name in "pipe", "plink", "socket", "sub", ".", "*":
            for step in "COPY", "ADD":
                done = f.build(f"FROM scratch\n{step} {name} /x/\n", 'context = "ctx"')
                assert done.code == 1 and "is neither a file nor a folder: leave it out" in done.err, (name, done)
    f.put("ctx/.dockerignore", "**/pipe\nsocket\nplink")
    _, root = f.built("FROM scratch\nCOPY . /x/\n", 'context = "ctx"')
    assert files(root) == ["x/.dockerignore", "x/sub/a"], files(root)
    for name in "Dockerfile", "ctx/.dockerignore":
        f.put("Dockerfile", "FROM scratch\n")
        f.put("n.lua", '-- %%\nimage.build { dockerfile = "Dockerfile", tag = "made:1", context = "ctx" }\n')
        os.unlink(f"{f.dir}/{name}")
        os.mkfifo(f"{f.dir}/{name}")
        done = sh(FIRESTEEL, "run", f"{f.dir}/n.lua", env=f.env, timeout=60)
        assert done.code == 1 and f"{os.path.basename(name)} in " in done.err and "is no file" in done.err, done
        os.unlink(f"{f.dir}/{name}")


def test_a_stage_is_its_own_root(t):
    """A base or an archive of somebody else has links that mean this machine."""
    f = Folder(t)
    f.put("victim/file", "SECRET")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, to in {"app": f"{f.dir}/victim", "conf": "../../../../../../.." + f"{f.dir}/victim/file", "lib": "/usr/lib",
                         "dot": ".", "sly": "dot/dot/../.." + f"{f.dir}/victim"}.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, to
            tar.addfile(info)
        info = tarfile.TarInfo("usr/lib/own")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"own"))
    f.put("s.tar", content.getvalue())
    start = "FROM scratch AS s\nADD s.tar /\nFROM scratch\n"
    for name in "/app", "/app/", "app/file", "/conf", "/sly", "/sly/file", "a*", "sl*":
        done = f.build(f"{start}COPY --from=s {name} /x/\n")
        assert done.code == 1 and "Dockerfile:4: COPY: " in done.err and "SECRET" not in done.out + done.err, (name, done)
    _, root = f.built(start + "COPY --from=s /lib/own /a\nCOPY --from=s /lib /b/\nCOPY --from=s / /all/\n")
    assert read(root, "a") == "own" and read(root, "b/own") == "own" and read(root, "all/usr/lib/own") == "own", files(root)
    assert os.readlink(f"{root}/all/app") == f"{f.dir}/victim"


def test_what_stays_out(t):
    f = Folder(t)
    for name in "c/secret", "c/other", "c/x":
        f.put(name, name)
    text, options = "FROM scratch\nCOPY . /x/\n", 'context = "c"'
    f.put("c/.dockerignore", "other\n")
    f.put("Dockerfile.dockerignore", "secret\n*ignore")  # counts instead
    _, root = f.built(text, options)
    assert files(root) == ["x/other", "x/x"], files(root)
    os.unlink(f"{f.dir}/Dockerfile.dockerignore")
    f.put("c/rules", "secret\n*ignore\n")
    os.unlink(f"{f.dir}/c/.dockerignore")
    link(f, "c/.dockerignore", "rules")
    _, root = f.built(text, options)
    assert files(root) == ["x/other", "x/rules", "x/x"], files(root)
    # One that cannot be read lets nothing in.
    for to in "../Dockerfile", f"{f.dir}/c/rules", "nowhere", ".dockerignore":
        for name in "c/.dockerignore", "Dockerfile.dockerignore":
            path = f"{f.dir}/{name}"
            if os.path.lexists(path):
                os.unlink(path)
            link(f, name, to.replace("../Dockerfile", "../x" if name[0] == "D" else to))
            done = f.build(text, options)
            assert done.code == 1 and f"{os.path.basename(name)} in {f.dir}" in done.err and "is a link to" in done.err, done
            os.unlink(path)
    os.mkdir(f"{f.dir}/c/.dockerignore")
    done = f.build(text, options)
    assert done.code == 1 and ".dockerignore in" in done.err and "is no file" in done.err, done


def test_a_dockerfile_may_be_a_link_inside(t):
    f = Folder(t)
    f.put("victim/key", "SECRETKEY of somebody\n")
    f.put("c/sub/real", "FROM scratch\nCOPY a /a\n")
    f.put("c/a", "a")
    link(f, "c/Containerfile", "sub/real")
    link(f, "c/out", "../victim/key")
    f.put("n.lua", '-- %%\nimage.build { dockerfile = "c/Containerfile", tag = "made:1", context = "c" }\n')
    done = sh(FIRESTEEL, "run", f"{f.dir}/n.lua", env=f.env)
    assert done.code == 0, done
    for name in "c/out", "link":
        if name == "link":
            link(f, "link", "../victim/key")
        f.put("n.lua", f'-- %%\nimage.build {{ dockerfile = "{name}", tag = "made:1", context = "c" }}\n')
        done = sh(FIRESTEEL, "run", f"{f.dir}/n.lua", env=f.env)
        assert done.code == 1 and "is a link to ../victim/key, which is not in that folder" in done.err, done
        assert "SECRETKEY" not in done.out + done.err, done


def test_what_is_wrong_names_its_line(t):
    f = Folder(t)
    f.put("a", "a")
    for text, words in {
        "FROM scratch\nCOPY nothing /x\n": ("Dockerfile:2: COPY: there is no nothing in",),
        "FROM scratch\n\nCOPY ../a /x\n": ("Dockerfile:3: COPY", "leads out of the folder"),
        "COPY a /x\n": ("Dockerfile:1: COPY: before it a FROM is needed",),
        "FROM scratch\nADD https://example.org/x /\n": ("Dockerfile:2: ADD", "fetch it in a cell"),
        "FROM scratch\nCOPY --chown=app a /x\n": ("Dockerfile:2: COPY: --chown=app", "use numbers"),
        "FROM scratch\nCOPPY a /x\n": ("Dockerfile:2: “COPPY” is no instruction: did you mean COPY",),
        "FROM scratch\nENV A=\"x\n": ("Dockerfile:2: ENV: a quote is not closed",),
        "FROM scratch\nENV A\n": ("Dockerfile:2: ENV: it takes NAME=VALUE",),
        "FROM scratch\nENV =x\n": ("Dockerfile:2: ENV: a name is missing",),
        "FROM scratch\nCMD [\"a\", 1]\n": ("Dockerfile:2: CMD: a list takes texts",),
        "FROM scratch\nENV A=\"${B:?give it}\"\n": ("Dockerfile:2: ENV: B: give it",),
        "FROM scratch\nCOPY a/../../x /x\n": ("Dockerfile:2: COPY", "leads out of the folder"),
        "FROM nobody.example/x\n": ("Dockerfile:1: FROM: image nobody.example/x is not in the local store",),
    }.items():
        done = f.build(text)
        assert done.code == 1, (text, done)
        for word in words:
            assert word in done.err, (text, word, done)


def test_values_that_double_come_to_an_end(t):
    f = Folder(t)
    for word in "ENV", "ARG", "LABEL":
        lines = [f"{word} A0=0123456789"] + [f"{word} A{i + 1}=" + f"$A{i}" * 10 for i in range(12)]
        text = "\n".join(["FROM scratch"] + lines if word != "LABEL" else ["FROM scratch"] + lines).replace("LABEL A0", "ENV A0")
        done = f.build(text)
        if word == "LABEL":  # a label is no variable
            assert done.code == 0, done
            continue
        assert done.code == 1 and f"Dockerfile:7: {word}: with $A4, variables of this file stand for more than 1048576 bytes" in done.err, done
    done = f.build("ARG A=0123456789\n" + "".join(f"ARG A={'$A' * 10}\n" for _ in range(12)) + "FROM scratch\nRUN true\n", PATH=f"{f.dir}/bin")
    assert done.code == 1, done


def test_a_build_is_interrupted_between_steps(t):
    f = Folder(t)
    f.put("Dockerfile", "FROM scratch\n" + "".join(f"ENV A{i}=1\n" for i in range(300000)))
    f.put("n.lua", '-- %%\nprint "begins"\nimage.build { dockerfile = "Dockerfile", tag = "made:1" }\n')
    child = subprocess.Popen([FIRESTEEL, "run", f"{f.dir}/n.lua"], env={**{k: v for k, v in os.environ.items()}, **{k: v for k, v in f.env.items() if v}},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    t.after(child.kill)
    while "begins" not in child.stdout.readline():
        pass
    eventually(lambda: os.listdir(f.env["TMPDIR"]))
    child.send_signal(signal.SIGINT)
    out = child.communicate(timeout=60)[0]
    assert child.returncode == 130 and "interrupted: line 2" in out, (child.returncode, out)
    assert not os.listdir(f.env["TMPDIR"])


def test_run_needs_a_builder(t):
    f = Folder(t)
    f.put("a", "a")
    text = "FROM scratch\nCOPY a /x\nRUN pip install keras\n"
    path = t.dir()  # neither buildah nor podman
    done = f.build(text, PATH=path)
    assert done.code == 1, done
    assert "Dockerfile:3: RUN needs a builder: install buildah or podman" in done.err, done
    # A stand-in whose image is damaged.
    made = Folder(t)
    made.put("a", "made")
    made.built("FROM scratch\nCOPY a /made\n")
    f.put("bin/buildah", f"#!/bin/sh\n[ $1 = push ] || exit 0\nto=${{3#oci:}}\nmkdir \"${{to%%:*}}\"\ncd {shlex.quote(made.store)}\n"
          "cp -r blobs oci-layout \"${to%%:*}\"\nsed s,made:1,${to#*:}, index.json >\"${to%%:*}/index.json\"\n"
          f"cd \"${{to%%:*}}/blobs/sha256\"\nchmod u+w *\nprintf XX | dd of={made.layers[0][7:]} bs=1 seek=20 conv=notrunc\n", 0o755)
    done = f.build(text, PATH=f"{f.dir}/bin:/usr/bin:/bin")
    assert done.code == 1 and "Dockerfile: the content has digest" in done.err and f"instead of {made.layers[0]}" in done.err, done
    f.put("bin/buildah", "#!/bin/sh\nexit 3\n", 0o755)
    done = f.build(text, PATH=f"{f.dir}/bin:/usr/bin:/bin")
    assert done.code == 1 and "buildah build ended with 3" in done.err, done


def buildah(t):
    """Its own storage, and what it needs to work inside a container, too."""
    if not shutil.which("buildah"):
        raise Skip("buildah is not installed")
    if os.geteuid() != 0:
        raise Skip("buildah wants user namespaces here, or root")
    folder = t.dir()
    with open(f"{folder}/storage.conf", "w") as f:
        f.write(f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n')
    return {"CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf", "BUILDAH_ISOLATION": "chroot"}


def with_shell(f, name="team/base:1"):
    """A base that is in our store alone."""
    f.put("busybox", open("/bin/busybox", "rb").read(), 0o755)
    f.put("Dockerfile", "FROM scratch\nCOPY --chmod=755 busybox /bin/sh\nCOPY --chmod=755 busybox /bin/cat\nENV PATH=/bin\n")
    f.put("base.lua", f'-- %%\nprint(image.build {{ dockerfile = "Dockerfile", tag = "{name}" }}.digest)\n')
    done = sh(FIRESTEEL, "run", f"{f.dir}/base.lua", env=f.env)
    assert done.code == 0, done
    return re.search(r"^    (sha256:\w{64})$", done.out, re.M).group(1)


def tags(f):
    with open(f"{f.store}/index.json") as index:
        return sorted(m["annotations"]["org.opencontainers.image.ref.name"] for m in json.load(index)["manifests"])


def test_buildah_runs_what_we_cannot(t):
    f, env = Folder(t), buildah(t)
    digest = with_shell(f)
    f.put("words", "of the context")
    config, root = f.built(f"""
        ARG TAG=2
        FROM team/base:$TAG AS first
        ARG WHO=nobody
        RUN echo "made by $WHO" >/made
        RUN ["/bin/sh", "-c", "cat /made >/again"]
        FROM team/base@{digest}
        COPY --from=first /again /
        COPY --from=team/base:1 /bin/cat /bin/kitten
        COPY words /
        ENTRYPOINT ["/bin/cat", "/again"]
        """, 'args = { WHO = "me", TAG = 1 }', **env)
    assert read(root, "again") == "made by me\n" and read(root, "words") == "of the context", files(root)
    assert files(root) == ["again", "bin/cat", "bin/kitten", "bin/sh", "words"], files(root)
    assert config["config"]["Entrypoint"] == ["/bin/cat", "/again"] and config["config"]["Env"] == ["PATH=/bin"], config
    assert tags(f) == ["made:1", "team/base:1"], tags(f)
    # The next build of the tag takes the place of this one, also in buildah's storage.
    _, root = f.built("FROM team/base:1 AS t\nSHELL [\"/bin/sh\", \"-c\", \"echo shelled >/new; /bin/sh -c \\\"$0\\\"\"]\n"
                      "RUN echo new >>/new\nFROM scratch\nCOPY words /\n", 'target = "t"', **env)
    assert {"bin/cat", "bin/sh", "new"} <= set(files(root)) and "words" not in files(root), files(root)  # RUN needs /etc/hosts and the like
    assert read(root, "new") == "shelled\nnew\n"
    named = [name for name in sh("buildah", "images", "--format", "{{.Name}}:{{.Tag}}", env=env).out.split() if "firesteel-build" in name]
    assert len(named) == 1, named


def test_what_buildah_cannot(t):
    f, env = Folder(t), buildah(t)
    with_shell(f)
    done = f.build("FROM team/base:1\nRUN echo no more disk >&2; exit 3\n", **env)
    assert done.code == 1 and "no more disk" in done.out + done.err and "Dockerfile: buildah build ended with " in done.err, done
    done = f.build("FROM no.such.host.invalid/a:1\nRUN true\n", **env)
    assert done.code == 1 and "buildah build ended with " in done.err and "here image no.such.host.invalid/a:1 is not in the local store" in done.err, done
    assert tags(f) == ["team/base:1"], tags(f)


run(globals())
