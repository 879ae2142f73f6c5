#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other users of the machine: files that they plant are neither read, nor written, nor run."""
import glob
import json
import os
import shutil
import stat
import subprocess

from kernel import Kernel, cell
from tap import FIRESTEEL, PATIENCE, RUNTIME, Done, Skip, run, sh

HELLO = "-- %% Hello\nprint 'hello'\n"
VERBS = (("runs",), ("show",), ("export", "--to", "md"), ("clean", "--yes"))
NOBODY = 61184 + os.getpid() % 4096  # a user for this test, in a range that systemd leaves free


def notebook(folder, text=HELLO):
    path = os.path.join(folder, "nb.lua")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def firesteel(*arguments, **options):
    return sh(FIRESTEEL, *arguments, **options)


def as_nobody(t, *argv, cwd="/", env=None):
    """Runs a program as a user without an entry, with only these environment variables."""
    if os.geteuid() != 0:
        raise Skip("another user needs root")
    t.after(lambda: shutil.rmtree(f"/tmp/firesteel-{NOBODY}", ignore_errors=True))
    full = dict({"PATH": os.environ["PATH"]}, **(env or {}))
    done = subprocess.run(argv, cwd=cwd, env=full, user=NOBODY, group=NOBODY, extra_groups=[], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=120 * PATIENCE, check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def needs_access_for_nobody(t):
    if as_nobody(t, "test", "-x", FIRESTEEL).code:
        raise Skip("another user may not enter the build folder")


def tree(folder):
    return sorted(os.path.join(at, name) for at, folders, files in os.walk(folder) for name in folders + files)


def check_refused(done, *words, codes=(1, 2)):
    lines = done.err.strip().split("\n")
    assert done.code in codes and len(lines) == 1 and all(w in lines[0] for w in words), done


def test_a_planted_kubeconfig_is_not_believed(t):
    """Children of cells without the cluster get our kubeconfig, wherever another one may be planted."""
    cwd = t.dir()
    name = f"planted-20260102-030405-{os.getpid() % 65536:04x}"
    os.mkdir(f"{cwd}/.firesteel", 0o700)
    hostile = json.dumps({"users": [{"name": "x", "user": {"exec": {"command": f"{cwd}/hostile"}}}]})
    planted = [f"{cwd}/.firesteel/no-cluster.kubeconfig", f"{RUNTIME}/{name}.kubeconfig"]
    for path in planted:
        with open(path, "w", encoding="utf-8") as f:
            f.write(hostile)
    k = Kernel(t, cell('sh [[echo "$KUBECONFIG"; stat -c %a "$KUBECONFIG"; cat "$KUBECONFIG"]]'), "--run", name,
               headless=True, cwd=cwd)
    assert k.finish() == 0
    path, mode, text = k.text().split("\n", 2)
    assert path == planted[1] and mode == "600" and "hostile" not in text and "--refuse-credentials" in text, k.text()
    assert not os.path.exists(path)


def test_a_link_in_its_place_is_not_written_through(t):
    cwd = t.dir()
    name = f"linked-20260102-030405-{os.getpid() % 65536:04x}"
    with open(f"{cwd}/mine", "w", encoding="utf-8") as f:
        f.write("mine")
    os.symlink(f"{cwd}/mine", f"{RUNTIME}/{name}.kubeconfig")
    k = Kernel(t, cell("print 'hello'"), "--run", name, headless=True, cwd=cwd)
    assert k.finish() == 0 and k.text() == "hello\n"
    with open(f"{cwd}/mine", encoding="utf-8") as f:
        assert f.read() == "mine"


def test_a_folder_that_others_may_write(t):
    cwd = t.dir()
    path = notebook(cwd)
    assert firesteel("run", path).code == 0
    before = tree(cwd)
    os.chmod(f"{cwd}/.firesteel", 0o777)
    for verb in (("run", path), ("run", path, "--resume", "last"), *VERBS):
        check_refused(firesteel(*verb, cwd=cwd), ".firesteel", "can be written by others (mode 0777)", "chmod go-w")
    assert tree(cwd) == before
    os.chmod(f"{cwd}/.firesteel", 0o700)
    assert "hello" in firesteel("show", cwd=cwd).out
    os.chmod(cwd, 0o777)  # the working folder itself may belong to anybody
    assert firesteel("run", path).code == 0


def test_a_link_in_the_folders_place(t):
    cwd, elsewhere = t.dir(), t.dir()
    path = notebook(cwd)
    os.symlink(elsewhere, f"{cwd}/.firesteel")
    for verb in (("run", path), *VERBS):
        check_refused(firesteel(*verb, cwd=cwd), ".firesteel is a symbolic link, which is not followed")
    assert os.listdir(elsewhere) == []


def test_a_folder_of_somebody_else(t):
    cwd = t.dir()
    path = notebook(cwd)
    assert firesteel("run", path).code == 0
    if os.geteuid() != 0:
        raise Skip("a folder of somebody else needs root")
    before = tree(cwd)
    os.chown(f"{cwd}/.firesteel", NOBODY, NOBODY)
    for verb in (("run", path), ("run", path, "--resume", "last"), *VERBS):
        check_refused(firesteel(*verb, cwd=cwd), ".firesteel belongs to another user", f"(uid {NOBODY}; you are uid 0)",
                      "move it away")
    assert tree(cwd) == before


def test_a_spool_that_is_a_link(t):
    cwd = t.dir()
    with open(f"{cwd}/mine", "w", encoding="utf-8") as f:
        f.write("mine")
    k = Kernel(t, cell("for i = 1, 50000 do print('line', i) end"), "--run", "x-20260102-030405-0000", headless=True,
               cwd=cwd, hello=False)
    os.makedirs(f"{cwd}/.firesteel/x-20260102-030405-0000", 0o700)
    for n in range(30):
        os.symlink(f"{cwd}/mine", f"{cwd}/.firesteel/x-20260102-030405-0000/out-{n}-stdout")
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1 and "cannot open the spool" in k.of("end")[0]["message"], k.of("end")
    with open(f"{cwd}/mine", encoding="utf-8") as f:
        assert f.read() == "mine"


def test_state_and_images_are_checked(t):
    """Files below $XDG_STATE_HOME and $XDG_DATA_HOME, also if these folders are shared."""
    shared = t.dir()
    env = {"XDG_STATE_HOME": shared, "XDG_DATA_HOME": shared, "HOME": t.dir()}
    os.mkdir(f"{shared}/firesteel")
    os.chmod(f"{shared}/firesteel", 0o777)
    path = notebook(t.dir())
    for verb in (("sandbox", "up"), ("sandbox", "status"), ("run", path)):
        check_refused(firesteel(*verb, env=env), f"{shared}/firesteel", "can be written by others", "_HOME")
    os.chmod(f"{shared}/firesteel", 0o700)
    os.mkdir(f"{shared}/firesteel/sandbox")
    os.chmod(f"{shared}/firesteel/sandbox", 0o777)
    check_refused(firesteel("sandbox", "up", env=env), f"{shared}/firesteel/sandbox", "can be written by others")
    os.mkdir(f"{shared}/firesteel/images")
    os.chmod(f"{shared}/firesteel/images", 0o777)
    done = firesteel("run", notebook(t.dir(), "-- %% Images\nimage.list()\n"), env=env)
    assert done.code == 1 and f"{shared}/firesteel/images" in done.err and "written by others" in done.err, done


def test_without_a_home(t):
    """The user database has the home; a user without an entry gets a private folder in /tmp."""
    assert sh("env", "-i", FIRESTEEL, "run", notebook(t.dir())).code == 0
    needs_access_for_nobody(t)
    cwd = t.dir()
    path = notebook(cwd)
    os.chmod(cwd, 0o755)  # others may read, but not write
    done = as_nobody(t, FIRESTEEL, "run", path)
    own = f"/tmp/firesteel-{NOBODY}"
    assert done.code == 0 and f"working in {own}/.local/state/firesteel/nb-" in done.err, done
    assert stat.S_IMODE(os.stat(own).st_mode) == 0o700 and os.stat(own).st_uid == NOBODY
    (journal,) = glob.glob(f"{own}/.local/state/firesteel/nb-*/.firesteel/*.jsonl")
    assert os.stat(journal).st_uid == NOBODY


def test_a_home_that_cannot_be_written_is_none(t):
    """As of an arbitrary user in a container."""
    needs_access_for_nobody(t)
    cwd = t.dir()
    path = notebook(cwd)
    os.chmod(cwd, 0o755)
    for home in ("/", "/nonexistent"):
        done = as_nobody(t, FIRESTEEL, "run", path, env={"HOME": home})
        assert done.code == 0 and f"working in /tmp/firesteel-{NOBODY}/.local/state/firesteel/nb-" in done.err, done
        found = as_nobody(t, FIRESTEEL, "doctor", "-o", "json", env={"HOME": home}).out
        assert f"/tmp/firesteel-{NOBODY}/.local/share/firesteel/images" in found, found
    found = as_nobody(t, FIRESTEEL, "doctor", "-o", "json", env={"HOME": "/", "XDG_STATE_HOME": "/nonexistent"})
    assert found.code == 1 and "/nonexistent/firesteel can be neither made nor written" in found.out, found


def test_without_a_home_nothing_planted_is_used(t):
    needs_access_for_nobody(t)
    own = f"/tmp/firesteel-{NOBODY}"
    cwd = t.dir()
    path = notebook(cwd)
    os.chmod(cwd, 0o755)
    os.mkdir(own, 0o777)  # a folder of ours; we are somebody else to them
    done = as_nobody(t, FIRESTEEL, "run", path)
    check_refused(done, own, "belongs to another user", f"you are uid {NOBODY}")
    assert os.listdir(own) == []


def test_code_in_a_state_folder_of_somebody_else_is_not_run(t):
    needs_access_for_nobody(t)
    shared, cwd = t.dir(), t.dir()
    path = notebook(cwd, "-- %% Help\nrequire 'helper'\n")
    os.chmod(cwd, 0o755)
    os.chmod(shared, 0o777)
    env = {"XDG_STATE_HOME": shared, "HOME": "/"}
    done = as_nobody(t, FIRESTEEL, "run", path, env=env)
    assert done.code == 1 and "helper" in done.err, done  # there is none
    (state,) = glob.glob(f"{shared}/firesteel/nb-*")
    with open(f"{state}/helper.lua", "w", encoding="utf-8") as f:
        f.write("print 'code of somebody else'")
    assert "code of somebody else" in as_nobody(t, FIRESTEEL, "run", path, env=env).out  # it would be found
    os.chown(state, 0, 0)
    os.chmod(state, 0o755)
    done = as_nobody(t, FIRESTEEL, "run", path, env=env)
    assert done.code == 2 and "belongs to another user (uid 0;" in done.err and "code of" not in done.out, done


run(globals())
