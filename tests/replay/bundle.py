#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bundle, unpacked in a root that holds nothing but a static busybox, by an ordinary user."""
import os
import shutil

import bare
from tap import BUILD, FIRESTEEL, SANITIZED, Skip, run, sh

NOTEBOOK = """\
-- %% Two ranks
r = hvd.run(function() require("hvd").init() return require("hvd").rank() end, { np = 2 })
print("ranks", table.concat(r:ranks(), " "))
-- %% What a child gets
sh "env"
"""
BEFORE = {}


JUPYTER = os.path.exists(os.path.join(BUILD, "cli", "firesteel-jupyter"))
PARTS = ["-mpi", "-mnist"] + ["-jupyter"] * JUPYTER


def made():
    """The folder with the archives, made once. What is packed is compressed a little only."""
    if SANITIZED:
        raise Skip("a bundle is made of the ordinary build")
    if not shutil.which("meson") or not shutil.which("zstd"):
        raise Skip("meson or zstd is not there")
    if not BEFORE:
        folder = BEFORE["folder"] = os.path.join(os.environ["FIRESTEEL_RUNTIME_DIR"], "made")
        done = sh("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--strip", "--destdir", folder + "/root")
        assert done.code == 0, done
        for path, _, files in os.walk(folder + "/root"):
            if "firesteel" in files and os.path.basename(path) == "bin":
                BEFORE["program"] = path + "/firesteel"
        done = sh(BEFORE["program"], "bundle", folder + "/archives", "--level", "1")
        assert done.code == 0 and "no licence" not in done.err, done
    return BEFORE["folder"] + "/archives"


def home(t):
    root = t.dir()
    bare.busybox_root(root)
    return root, bare.prepare(root)


def test_it_runs_where_nothing_is(t):
    root, there = home(t)
    base = bare.unpack(made(), there)
    done = bare.inside(root, f"/joe/{base}/bin/firesteel", "doctor")
    assert done.code == 0 and "firesteel-dnn.so loads" in done.out and "pods of a sandbox are confined" in done.out, done
    assert "unpack the archive -mpi.tar.zst" in done.out, done
    with open(f"{there}/n.lua", "w", encoding="utf-8") as f:
        f.write(NOTEBOOK)
    # It is moved, and called by a link; a host's variables name what does not fit.
    os.rename(f"{there}/{base}", f"{there}/moved here")
    os.symlink("moved here/bin/firesteel", f"{there}/fs")
    done = bare.inside(root, "./fs", "run", "n.lua", LD_PRELOAD="/joe/nowhere.so", LD_LIBRARY_PATH="/nowhere", LC_ALL="de_DE.UTF-8")
    assert done.code == 0 and "ranks\t0 1" in done.out, done
    assert "cannot be preloaded" not in done.err.replace("of a child", ""), done
    env = dict(line.strip().split("=", 1) for line in done.out.splitlines() if line.startswith("    ") and "=" in line)
    assert env["LD_PRELOAD"] == "/joe/nowhere.so" and env["LD_LIBRARY_PATH"] == "/nowhere", env
    for name in ("LOCPATH", "TERMINFO", "TERMINFO_DIRS"):
        assert name not in env, env
    assert not [v for n, v in env.items() if "moved here" in v and not n.startswith(("FIRESTEEL", "KUBE"))], env


def test_recipe_10_in_its_sandbox(t):
    """On an older Linux, by pods of an image that the bundle builds of itself, with its own bubblewrap."""
    root, there = home(t)
    base = bare.unpack(made(), there, "-mnist", "-mpi")
    done = bare.inside(root, f"/joe/{base}/bin/firesteel", "run", f"/joe/{base}/share/firesteel/recipes/10-mnist.lua", "--cwd", "/joe",
                       "--sandbox", "--allow", "cluster,destructive", "-p", "epochs=1", linux="4.18")
    assert done.code == 0 and "Model prediction for index 100: 6" in done.out and "12 cells ok" in done.out, done


def test_what_is_in_it(t):
    folder, there = made(), t.dir()
    base = bare.unpack(folder, there, *PARTS)
    for name in ("README.txt", "share/man/man1/firesteel.1", "share/bash-completion/completions/firesteel", "share/firesteel/recipes/10-mnist.lua",
                 "share/doc/firesteel/LICENSE", "share/doc/firesteel/licenses/libc6", "share/terminfo/x/xterm-256color", "lib/locale/C.utf8/LC_CTYPE",
                 "libexec/firesteel/firesteel-mpi.so", "share/firesteel/data/mnist/NOTICE"):
        assert os.path.exists(f"{there}/{base}/{name}"), name
    done = sh("sha256sum", "-c", "SHA256SUMS", cwd=folder)
    assert done.code == 0, done
    # All libraries are the bundle's own.
    done = sh(f"{there}/{base}/bin/firesteel-worker", "--version", env={"LD_DEBUG": "libs"})
    assert done.out.startswith("firesteel-worker "), done
    if JUPYTER:
        root, there = home(t)
        bare.unpack(folder, there, *PARTS)
        done = bare.inside(root, f"/joe/{base}/libexec/firesteel/firesteel-jupyter", "--version", linux="4.18")
        assert done.out.startswith("firesteel-jupyter "), done


def test_the_same_bytes_again(t):
    folder, again = made(), t.dir()
    os.utime(BEFORE["program"])
    done = sh(BEFORE["program"], "bundle", again, "--level", "1")
    assert done.code == 0, done
    with open(f"{folder}/SHA256SUMS", encoding="ascii") as a, open(f"{again}/SHA256SUMS", encoding="ascii") as b:
        assert a.read() == b.read()
    # A bundle can be made of a bundle.
    there = t.dir()
    base = bare.unpack(folder, there, *PARTS)
    done = sh(f"{there}/{base}/bin/firesteel", "bundle", f"{there}/third", "--level", "1")
    assert done.code == 0, done
    third = t.dir()
    assert bare.unpack(f"{there}/third", third, *PARTS) == base
    assert sh("diff", "-r", f"{there}/{base}", f"{third}/{base}").code == 0


def test_what_cannot_be_packed(t):
    done = sh(FIRESTEEL, "bundle", t.dir() + "/x")
    assert done.code != 0 and "ninja bundle" in done.err, done
    done = sh(FIRESTEEL, "bundle")
    assert done.code == 2, done
    made()
    done = sh(BEFORE["program"], "bundle", t.dir() + "/x", env={"SOURCE_DATE_EPOCH": "soon"})
    assert done.code == 2 and "SOURCE_DATE_EPOCH" in done.err, done
    done = sh(BEFORE["program"], "bundle", t.dir() + "/x", "--level", "30")
    assert done.code == 2 and "from 1 to 22" in done.err, done


run(globals())
