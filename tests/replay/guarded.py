#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""--read-only and protected contexts: what changes a cluster is refused, or asked for every time, and programs get no
credentials of it."""
import os
import pty
import subprocess

from kernel import cell
from tap import FIRESTEEL, run, sh

# Nobody listens there: what is refused is refused before a request, and what passes fails at the connection.
CONFIG = """apiVersion: v1
kind: Config
current-context: prod
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {}}]
contexts:
- {name: prod, context: {cluster: c, user: u, extensions: [{name: firesteel/protected, extension: {protected: true}}]}}
- {name: dev, context: {cluster: c, user: u}}
- {name: open, context: {cluster: c, user: u, extensions: [{name: firesteel/protected, extension: {protected: false}}]}}
"""
CREATE = 'k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x" } }'
EFFECT = cell(CREATE, 'Make effects="cluster"')


def configured(t):
    path = os.path.join(t.dir(), "config")
    with open(path, "w", encoding="utf-8") as f:
        f.write(CONFIG)
    return {"KUBECONFIG": path, "HOME": t.dir()}


def ran(t, text, *options):
    where, env = t.dir(), configured(t)
    with open(os.path.join(where, "n.lua"), "w", encoding="utf-8") as f:
        f.write(text)
    return sh(FIRESTEEL, "run", "n.lua", "--no-preflight", *options, cwd=where, env=env)


def test_a_read_only_run_is_refused_before_its_first_cell(t):
    result = ran(t, cell("print('never')") + EFFECT, "--read-only")
    assert result.code == 3 and "the run is read-only" in result.err and "cell 2 (Make)" in result.err, result
    assert "never" not in result.out, result
    result = ran(t, cell(CREATE), "--read-only")
    assert result.code == 3 and "the effect is cluster, and the run is read-only" in result.out + result.err, result
    result = ran(t, EFFECT, "--read-only", "--allow", "cluster")
    assert result.code == 2 and "exclude each other" in result.err, result
    result = ran(t, cell("sh 'echo here > made'; print(k8s.contexts()[1].name)"), "--read-only")
    assert result.code == 0 and "prod" in result.out, result


VERBS = {"exec": ("exec in web-0", ("web-0", "--", "ls")),
         "cp": ("copy to web-0", ("n.lua", "web-0:/tmp")),
         "port-forward": ("port-forward to web-0", ("web-0", ":80"))}


def test_verbs_without_a_terminal_need_the_name_of_a_protected_context(t):
    env = configured(t)
    for verb, (where, words) in VERBS.items():
        def go(*options):
            return sh(FIRESTEEL, verb, *options, *words, cwd=t.dir(), env=env)
        refused = f"firesteel: {where}: the context prod is protected; add --allow-protected prod"
        for options in ((), ("--allow-protected", "dev"), ("--context", "prod")):
            result = go(*options)
            assert result.code == 3 and result.err.strip() == refused, result
        result = go("--context", "dev", "--protect", "d*")
        assert result.code == 3 and "the context dev is protected" in result.err, result
        for options in (("--allow-protected", "prod"), ("--allow-protected", "dev", "--allow-protected", "prod"), ("--context", "dev")):
            result = go(*options)
            assert result.code not in (0, 3) and "127.0.0.1:9" in result.err, result
            result = go(*options, "--read-only")
            assert result.code == 3 and f"{where}: the effect is cluster, and this is read-only" in result.err, result
    result = sh(FIRESTEEL, "cp", "web-0:/tmp/x", "x", "--read-only", cwd=t.dir(), env=env)
    assert result.code not in (0, 3) and "127.0.0.1:9" in result.err, "what is copied here changes nothing there"


def test_verbs_on_a_terminal_ask_in_a_protected_context(t):
    env = {**os.environ, **{name: value for name, value in configured(t).items() if value is not None}}
    for answer, says, code in (("n", "you said no", 3), ("", "you said no", 3), ("y", "127.0.0.1:9", None)):
        master, slave = pty.openpty()
        child = subprocess.Popen([FIRESTEEL, "exec", "web-0", "--", "ls"], cwd=t.dir(), env=env, stdin=slave, stdout=slave, stderr=slave)
        seen = ""
        os.close(slave)
        while "[y/N]" not in seen:
            seen += os.read(master, 1000).decode()
        os.write(master, f"{answer}\n".encode())
        ended = child.wait(60)
        try:
            while True:
                seen += os.read(master, 1000).decode()
        except OSError:
            pass
        os.close(master)
        assert says in seen and (ended == code if code else ended not in (0, 3)), (answer, ended, seen)
        assert "firesteel: exec in web-0: the context prod is protected. Do it? [y/N]" in seen, seen


def test_places_of_cp(t):
    env = configured(t)
    for words, says in ((("a", "b"), "one of the two places is in a container"), (("x:/a", "y:/b"), "one of the two places"),
                        (("a", "web-0:"), "it is written POD:PATH"), (("a",), "from where to where?"),
                        (("none", "dev/web-0:/tmp", "--context", "dev"), "127.0.0.1:9")):
        result = sh(FIRESTEEL, "cp", *words, cwd=t.dir(), env=env)
        assert result.code not in (0, 3) and says in result.err, result


def test_a_protected_context_needs_its_name(t):
    result = ran(t, EFFECT, "--allow", "cluster")
    assert result.code == 3 and "the context prod is protected; add --allow-protected prod" in result.out + result.err, result
    result = ran(t, EFFECT, "--allow", "cluster", "--allow-protected", "dev")
    assert result.code == 3, result
    result = ran(t, EFFECT, "--allow", "cluster", "--allow-protected", "prod", "--timeout", "3s")
    assert result.code != 3 and "127.0.0.1:9" in result.out + result.err, result
    result = ran(t, EFFECT, "--allow-protected", "prod")
    assert result.code == 2 and "needs --allow" in result.err, result


def test_which_contexts_are_protected(t):
    for context, options, refused in (("dev", (), False), ("open", (), False), ("dev", ("--protect", "d*"), True),
                                      ("dev", ("--protect", "prod*"), False)):
        result = ran(t, EFFECT, "--allow", "cluster", "--context", context, "--timeout", "2s", *options)
        assert (result.code == 3) == refused, (context, options, result)
    result = ran(t, cell("for _, c in ipairs(k8s.contexts()) do print(c.name, c.guarded, c.current) end"))
    assert [line.split() for line in result.out.splitlines() if "\t" in line] == [
        ["prod", "true", "true"], ["dev", "false", "false"], ["open", "false", "false"]], result


def test_programs_get_no_credentials(t):
    show = 'sh "echo $KUBECONFIG; cat $KUBECONFIG"'
    for options, given in ((("--allow", "cluster"), False), (("--allow", "cluster", "--allow-protected", "prod"), True),
                           (("--allow", "cluster", "--context", "dev"), True)):
        result = ran(t, cell(show, 'Show effects="cluster"'), *options)
        assert result.code == 0 and ("127.0.0.1:9" in result.out) == given, (options, result)


run(globals())
