# SPDX-License-Identifier: MIT
"""A firesteel-sandbox with a folder of its own, and the real kubectl for it, for tests in Python."""
import atexit
import json
import os
import re
import shutil
import subprocess
import tempfile

from tap import BUILD, FIRESTEEL, PATIENCE, SOURCE, Skip, sh

PROGRAM = os.path.join(BUILD, "cli", "firesteel-sandbox")


def find_kubectl():
    done = sh(os.path.join(SOURCE, "tests", "support", "kubectl"), timeout=900)
    if done.code:
        raise Skip(done.err.strip())
    return done.out.strip()


def sandbox(t, env=None):
    """Starts one that outlives kernels, as `firesteel sandbox up` does; the environment for using it."""
    env = env or {"HOME": t.dir(), "XDG_STATE_HOME": "", "XDG_DATA_HOME": ""}
    up = sh(FIRESTEEL, "sandbox", "up", env=env)
    assert up.code == 0, up
    t.after(lambda: sh(FIRESTEEL, "sandbox", "down", env=env))
    return dict(env, KUBECONFIG=re.search(r"KUBECONFIG='?([^'\s]+)", up.out).group(1))


class Sandbox:
    def __init__(self):
        self.exe = find_kubectl()
        self.dir = tempfile.mkdtemp(prefix="firesteel-test-")
        read, write = os.pipe()
        self.log = open(os.path.join(self.dir, "log"), "w")
        self.process = subprocess.Popen(
            [PROGRAM, "--dir", os.path.join(self.dir, "run"), "--images",
             os.path.join(self.dir, "images"), "--notify-fd", str(write)],
            pass_fds=[write], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        atexit.register(self.kill)
        os.close(write)
        with os.fdopen(read) as ready:
            line = ready.readline()
        if not line:
            raise AssertionError(open(self.log.name).read())
        self.kubeconfig = json.loads(line)["kubeconfig"]
        # kubectl keeps its discovery cache in the home folder
        self.env = dict(os.environ, KUBECONFIG=self.kubeconfig, HOME=self.dir)

    def kubectl(self, *argv, input=None, code=0):
        """Runs kubectl to its end; fails if the exit code is not `code` (None: any)."""
        done = sh(self.exe, *argv, env={"KUBECONFIG": self.kubeconfig, "HOME": self.dir},
                  input=input, timeout=60)
        assert code is None or done.code == code, (argv, done)
        return done

    def start(self, *argv):
        """Starts kubectl in the background; its stdout is a file."""
        return subprocess.Popen([self.exe, *argv], env=self.env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def create(self, *objects, ns=None):
        argv = ["create", "-f", "-"] + (["-n", ns] if ns else [])
        return self.kubectl(*argv, input="\n---\n".join(map(json.dumps, objects)))

    def json(self, *argv):
        return json.loads(self.kubectl("get", *argv, "-o", "json").out)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def stop(self):
        """Ends it and returns its output."""
        self.process.terminate()
        code = self.process.wait(30 * PATIENCE)
        said = open(self.log.name).read()
        shutil.rmtree(self.dir, ignore_errors=True)
        assert code == 0, (code, said)
        return said
