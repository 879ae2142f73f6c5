#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ledger tells the truth: answers are lost, objects are changed, and nothing is called verified or removed unseen."""
import http.client
import json
import os
import re
import signal
import ssl
import threading

from kernel import Kernel, cell
from sandbox import sandbox
from lossy import Lossy
from tap import FIRESTEEL, PATIENCE, run, sh

STOP = cell("assert(io.open 'go')", "Stop")
GRANTED = ("--allow", "cluster,destructive")
GENERATED = cell('made = k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {generateName = "g-"}}\n'
                 'print(made.name)', 'Make effects="cluster"')


def config_map(verb, name, data="1"):
    return cell(f'made = k8s.{verb} {{apiVersion = "v1", kind = "ConfigMap", metadata = {{name = "{name}"}}, '
                f'data = {{a = "{data}"}}}}', f'Make effects="cluster"')


def through(t, env):
    proxy = Lossy(t, env["KUBECONFIG"])
    return proxy, dict(env, KUBECONFIG=proxy.kubeconfig)


def names(t, env):
    k = Kernel(t, "", env=env)
    r = k.run("for _, c in ipairs(k8s.list 'configmaps') do print(c.metadata.name) end")
    assert r.state == "ok", r
    return sorted(n for n in r.out.split() if n != "kube-root-ca.crt")


def do(t, env, source):
    k = Kernel(t, cell(source, 'effects="cluster,destructive"'), *GRANTED, headless=True, env=env)
    assert k.finish() == 0, k.of("error")


def start(t, env, notebook, code=1, *options):
    k = Kernel(t, notebook, *GRANTED, *options, headless=True, env=env)
    assert k.finish() == code, (k.code, k.of("error"), k.stderr)
    return k


def start_and_lose(t, proxy, env, notebook, method, before=False):
    """A kernel that is killed as soon as its request, or the answer, was lost."""
    proxy.lost.clear()
    proxy.hold = threading.Event()  # so that it does not go on before it is killed
    proxy.lose(method, "configmaps", before)
    k = Kernel(t, notebook, *GRANTED, headless=True, env=env)
    k.journal()
    pid = k.pid()
    assert proxy.lost.wait(30 * PATIENCE)
    os.kill(pid, signal.SIGKILL)
    k.process.wait(30 * PATIENCE)
    proxy.hold.set()
    proxy.hold = None
    return k


def touch(k, name):
    with open(os.path.join(k.cwd, name), "a", encoding="utf-8") as f:
        f.write("x")


def resume(t, k, env, notebook, *options):
    again = Kernel(t, notebook, "--resume", k.of("welcome")[0]["run"], *GRANTED, *options, headless=True, env=env, cwd=k.cwd)
    again.finish()
    return again


def clean(k, env):
    return sh(FIRESTEEL, "clean", k.of("welcome")[0]["run"], "--yes", cwd=k.cwd, env=env)


def records(k, phase):
    with open(k.journal(), encoding="utf-8") as f:
        return [r for r in map(json.loads, f) if r["type"] == "ledger" and r["phase"] == phase]


def how(k):
    last = [e for e in k.events if e["type"] == "resumed"][-1]["seq"]
    return [e.get("how") for e in k.of("state", state="ok") if e["seq"] > last]


def test_a_generated_name_whose_answer_was_lost(t):
    env = sandbox(t)
    proxy, lossy = through(t, env)
    k = start_and_lose(t, proxy, lossy, GENERATED, "POST")
    assert proxy.seen("POST", "configmaps") == 1, proxy.requests
    before = names(t, env)
    assert len(before) == 1 and before[0].startswith("g-"), before
    assert not records(k, "failed")
    again = resume(t, k, lossy, GENERATED)
    assert again.code == 0, again.of("error")
    assert names(t, env) == before and again.text().split() == before
    assert how(again) == ["verified"]
    done = clean(k, lossy)
    assert done.code == 0 and f"removed: ConfigMap {before[0]}" in done.out, done
    assert not names(t, env)


def test_clean_after_lost_answers(t):
    env = sandbox(t)
    for notebook, method in [(GENERATED, "POST"), (config_map("create", "x"), "POST"), (config_map("apply", "x"), "PATCH")]:
        proxy, lossy = through(t, env)
        k = start_and_lose(t, proxy, lossy, notebook, method)
        assert len(names(t, env)) == 1
        done = clean(k, lossy)
        assert done.code == 0 and "removed: ConfigMap" in done.out and not names(t, env), done


def test_a_request_that_never_arrived(t):
    env = sandbox(t)
    for notebook in [GENERATED, config_map("create", "x")]:
        proxy, lossy = through(t, env)
        k = start_and_lose(t, proxy, lossy, notebook, "POST", before=True)
        assert not names(t, env)
        done = clean(k, lossy)
        assert done.code == 0 and "was not there" in done.out and "removed" not in done.out, done
        k = start_and_lose(t, proxy, lossy, notebook, "POST", before=True)
        again = resume(t, k, lossy, notebook)
        assert again.code == 0 and len(names(t, env)) == 1, again.of("error")
        assert clean(k, lossy).code == 0 and not names(t, env)


def test_a_request_that_arrived_behind_the_resume(t):
    """It was still on its way when the resume looked: what is there then is the run's own."""
    env = sandbox(t)
    proxy, lossy = through(t, env)
    notebook = config_map("create", "x")
    k = start_and_lose(t, proxy, lossy, notebook, "POST", before="late")
    assert not names(t, env)
    again = resume(t, k, lossy, notebook)
    assert again.code == 0 and not proxy.held and names(t, env) == ["x"], again.of("error")
    assert clean(k, lossy).code == 0 and not names(t, env)


def test_somebody_elses_object_of_the_name_stays(t):
    env = sandbox(t)
    proxy, lossy = through(t, env)
    k = start_and_lose(t, proxy, lossy, config_map("create", "x"), "POST", before=True)
    do(t, env, 'k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "x"}}')
    done = clean(k, lossy)
    assert done.code == 0 and "is not this run's" in done.out and "removed" not in done.out, done
    assert names(t, env) == ["x"]


def test_a_copy_of_the_runs_object_stays(t):
    """Somebody has taken the object away and put it back with all its labels: it is not the one that the run made."""
    env = sandbox(t)
    k = start(t, env, config_map("create", "x") + STOP)
    with open(env["KUBECONFIG"], encoding="utf-8") as f:
        text = f.read()
    host = re.search(r"https://([\d.]+:\d+)", text)[1]
    headers = {"Authorization": "Bearer " + re.search(r"token\"?: *\"?([\w.-]+)", text)[1], "Content-Type": "application/json"}
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE

    def request(method, path, body=None):
        connection = http.client.HTTPSConnection(host, context=tls, timeout=20 * PATIENCE)
        connection.request(method, "/api/v1/namespaces/default/configmaps" + path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        value = json.loads(answer.read())
        assert answer.status < 300, value
        return value
    copy = request("GET", "/x")
    request("DELETE", "/x")
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        del copy["metadata"][name]
    assert request("POST", "", copy)["metadata"]["labels"] == copy["metadata"]["labels"]
    done = clean(k, env)
    assert done.code == 0 and "another one has its name now" in done.out and "removed" not in done.out, done
    assert names(t, env) == ["x"]


def test_what_was_there_before_an_apply_stays(t):
    env = sandbox(t)
    do(t, env, 'k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "x"}}')
    k = start(t, env, config_map("apply", "x") + STOP)
    done = clean(k, env)
    assert done.code == 0 and "was there before; left as it is" in done.out and "removed" not in done.out, done
    assert names(t, env) == ["x"]


def test_what_cannot_be_looked_up_stays_unknown(t):
    env = sandbox(t)
    k = start(t, env, config_map("create", "x") + STOP)
    with open(env["KUBECONFIG"], encoding="utf-8") as f:
        text = f.read()
    wrong = os.path.join(t.dir(), "wrong")
    with open(wrong, "w", encoding="utf-8") as f:
        f.write(re.sub(r"token\"?: *\"?[\w.-]+", lambda m: m[0] + "x", text))
    done = clean(k, dict(env, KUBECONFIG=wrong))
    assert done.code != 0 and "still left" in done.out and "removed" not in done.out, done
    done = clean(k, env)
    assert done.code == 0 and "removed: ConfigMap x" in done.out and not names(t, env), done


def test_a_delete_whose_answer_was_lost(t):
    env = sandbox(t)
    do(t, env, 'k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "x"}}')
    proxy, lossy = through(t, env)
    notebook = cell('k8s.delete("configmap", "x")', 'effects="destructive"')
    k = start_and_lose(t, proxy, lossy, notebook, "DELETE")
    assert not names(t, env)
    again = resume(t, k, lossy, notebook)
    assert again.code == 0 and how(again) == ["verified"], again.of("error")


def test_a_create_whose_answer_was_lost_is_not_settled(t):
    env = sandbox(t)
    proxy, lossy = through(t, env)
    proxy.lose("POST", "configmaps")
    proxy.lose("GET", "configmaps/x", before=True)
    k = Kernel(t, config_map("create", "x"), *GRANTED, headless=True, env=lossy)
    k.finish()
    assert proxy.seen("POST", "configmaps") == 1, proxy.requests  # it is looked for, and not sent again
    assert not records(k, "failed") and names(t, env) == ["x"]


def test_a_create_whose_answer_stays_lost_is_left_open(t):
    """Its object cannot be looked for, either: nobody writes it off, and clean finds it."""
    env = sandbox(t)
    proxy, lossy = through(t, env)
    proxy.lose("POST", "configmaps")
    for _ in range(100):
        proxy.lose("GET", "configmaps/x", before=True)
    notebook = config_map("create", "x").replace('effects="cluster"', 'effects="cluster" timeout="2s"')
    k = Kernel(t, notebook, *GRANTED, headless=True, env=lossy)
    assert k.finish() != 0 and records(k, "unknown") and not records(k, "failed"), k.of("error")
    proxy.losses.clear()
    done = clean(k, lossy)
    assert done.code == 0 and "removed: ConfigMap x" in done.out and not names(t, env), done


def test_drift(t):
    env = sandbox(t)
    notebook = config_map("create", "x") + STOP
    k = start(t, env, notebook)
    do(t, env, 'k8s.patch("configmap", "x", {data = {a = "2"}})')
    touch(k, "go")
    stopped = resume(t, k, env, notebook)
    assert stopped.code == 3 and "data.a" in stopped.of("error")[-1]["message"], stopped.of("error")
    assert "--accept-drift" in stopped.of("error")[-1]["message"]
    assert records(k, "drift")[0]["fields"] == ["data.a"] and not records(k, "drift")[0]["accepted"]
    again = resume(t, k, env, notebook, "--accept-drift")
    assert again.code == 0 and records(k, "drift")[-1]["accepted"], again.of("error")
    assert names(t, env) == ["x"]


def test_what_the_run_changed_itself_is_no_drift(t):
    env = sandbox(t)
    notebook = config_map("create", "x") + cell('made:patch {data = {a = "2"}}', 'effects="cluster"') + STOP
    k = start(t, env, notebook)
    touch(k, "go")
    again = resume(t, k, env, notebook)
    assert again.code == 0 and not records(k, "drift"), again.of("error")


def test_undeclared_commands_are_repeated(t):
    notebook = cell("echo ran >> log", 'language="bash"') + cell("r = sh 'cat input'", "Read") + \
        cell("sh('echo ran >> made', {outputs = {'made'}})", "Made") + STOP
    notebook = notebook.replace("-- %% language", "-- %% Bash language").replace("echo ran >> log", "-- echo ran >> log")
    k = Kernel(t, notebook, headless=True, hello=False)
    touch(k, "input")
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1, k.of("error")
    touch(k, "go")
    again = resume(t, k, {}, notebook)
    assert again.code == 0 and how(again)[:3] == ["repeated", "repeated", "verified"], (how(again), again.of("error"))
    touch(k, "input")  # a changed result is a changed input for later cells
    again = resume(t, k, {}, notebook)
    assert again.code == 0 and how(again)[:3] == ["repeated", "repeated", "done"], (how(again), again.of("error"))


def test_a_label_is_looked_at_and_set_again(t):
    env = sandbox(t)
    notebook = config_map("create", "x") + cell('made:label {tier = "gpu", ["old-"] = true}', 'Label effects="cluster"') + STOP
    k = start(t, env, notebook)
    again = resume(t, k, env, notebook)
    assert how(again) == ["verified", "verified"], (how(again), again.of("error"))
    do(t, env, 'k8s.label("cm/x", {tier = false, old = 1})')
    again = resume(t, k, env, notebook)
    assert how(again)[1] != "verified", how(again)
    do(t, env, 'local l = k8s.get("cm/x").metadata.labels\nassert(l.tier == "gpu" and not l.old)')


def test_a_patch_is_looked_at_and_done_again(t):
    env = sandbox(t)
    do(t, env, 'k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x" }, data = { a = "1", b = "1" } }')
    notebook = cell('k8s.patch("cm/x", { data = { a = "2" } })', 'Patch effects="cluster"') + STOP
    k = start(t, env, notebook)
    do(t, env, 'k8s.patch("cm/x", { data = { b = "2" } })')
    again = resume(t, k, env, notebook)
    assert how(again) == ["verified"], (how(again), again.of("error"))
    do(t, env, 'k8s.patch("cm/x", { data = { a = "3" } })')
    again = resume(t, k, env, notebook)
    assert how(again)[0] != "verified", how(again)
    do(t, env, 'assert(k8s.get("cm/x").data.a == "2")')


def test_what_is_set_stands_in_no_journal(t):
    """A value from a file, a secret, and what others have put beside it: digests are kept, and a resume verifies them."""
    env = dict(sandbox(t), X_TOKEN="correct-horse-battery")
    do(t, env, """k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x", finalizers = { "example.org/others" } } }
k8s.create { apiVersion = "v1", kind = "Secret", metadata = { name = "s",
  annotations = { ["kubectl.kubernetes.io/last-applied-configuration"] = "applied" } }, stringData = { key = "deep" } }""")
    notebook = cell("""k8s.annotate("cm/x", { note = io.open("pw"):read "a" })
k8s.annotate("cm/x", { token = secret "X_TOKEN" })
k8s.patch("cm/x", { data = { a = io.open("pw"):read "a" } })
k8s.patch("cm/x", firesteel.array { { op = "add", path = "/metadata/finalizers/0", value = "example.org/own" } }, { type = "json" })
k8s.patch("secret/s", { metadata = { annotations = { note = "1" } } })
k8s.patch("secret/s", firesteel.array { { op = "replace", path = "/metadata/annotations", value = k8s.get("secret/s").metadata.annotations } }, { type = "json" })""",
                    'Set effects="cluster"') + STOP
    k = Kernel(t, notebook, *GRANTED, headless=True, env=env, hello=False)
    with open(os.path.join(k.cwd, "pw"), "w", encoding="utf-8") as f:
        f.write("hunter2-from-a-file")
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1, k.of("error")
    with open(k.journal(), encoding="utf-8") as f:
        journal = f.read()
    for value in ("hunter2", "horse", "example.org/others", "applied", "deep", "ZGVlc"):
        assert value not in journal, (value, [line for line in journal.split("\n") if value in line])
    fields = [field for r in records(k, "outcome") for field in r["result"]["set"]]
    assert fields == ["/metadata/annotations/note", "/metadata/annotations/token", "/data/a", "/metadata/finalizers", "/metadata/annotations/note"], fields
    again = resume(t, k, env, notebook)
    assert how(again) == ["verified"], (how(again), again.of("error"))
    do(t, env, 'k8s.annotate("cm/x", { token = false })')
    again = resume(t, k, env, notebook)
    assert how(again) == ["done"], (how(again), again.of("error"))


def test_a_key_with_a_dot_is_another_field(t):
    """The run's own label "tier" does not hide what others set in "tier.example.org/z"; nor does "app" hide "app.kubernetes.io/name"."""
    env = sandbox(t)
    notebook = config_map("create", "x") + cell('made:label { ["tier.example.org/z"] = "1" }', 'Zone effects="cluster"') + \
        cell('made:label { tier = "gpu" }', 'Tier effects="cluster"') + STOP
    k = start(t, env, notebook)
    do(t, env, 'k8s.label("cm/x", { ["tier.example.org/z"] = "2" }, { overwrite = true })')
    again = resume(t, k, env, notebook)
    assert how(again) == ["verified"] and "tier.example.org/z already has the value" in again.of("error")[-1]["message"], how(again)
    notebook = cell("""made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "y",
  labels = { ["app.kubernetes.io/name"] = "y" } } }""", 'Make effects="cluster"') + \
        cell('made:label { app = "y" }', 'Label effects="cluster"') + STOP
    k = start(t, env, notebook)
    do(t, env, 'k8s.label("cm/y", { ["app.kubernetes.io/name"] = "z" }, { overwrite = true })')
    stopped = resume(t, k, env, notebook)
    assert stopped.code == 3, (stopped.code, how(stopped))
    assert records(k, "drift")[0]["fields"] == ["metadata.labels.app.kubernetes.io/name"], records(k, "drift")


def test_what_a_run_has_set_and_deleted_stays_so(t):
    """A change of an object that the run has deleted itself is not made again; of one that others have deleted it is."""
    env = sandbox(t)
    made = """for _, name in ipairs { "own", "theirs" } do k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } } end"""
    do(t, env, made)
    notebook = cell('k8s.label("cm/own", { tier = "gpu" })', 'Label effects="cluster"') + \
        cell('k8s.delete("cm", "own")', 'Delete effects="destructive"') + \
        cell('k8s.label("cm/theirs", { tier = "gpu" })\nk8s.annotate("cm/theirs", { note = "1" })', 'Both effects="cluster"') + STOP
    k = start(t, env, notebook)
    again = resume(t, k, env, notebook)
    assert how(again) == ["verified"] * 3, (how(again), again.of("error"))
    do(t, env, 'k8s.delete("cm", "theirs")')
    again = resume(t, k, env, notebook)
    assert how(again) == ["verified"] * 2 and '"theirs" not found' in again.of("error")[-1]["message"], (how(again), again.of("error"))


def test_a_bash_cell_declares_its_files(t):
    notebook = cell("-- cat input > copy\n-- echo ran >> log", 'Fetch inputs=["input"] language="bash" outputs=["copy"]') + STOP
    k = Kernel(t, notebook, headless=True, hello=False)
    touch(k, "input")
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1 and os.path.exists(os.path.join(k.cwd, "copy")), k.of("error")
    touch(k, "go")
    assert how(resume(t, k, {}, notebook))[0] == "verified"
    os.remove(os.path.join(k.cwd, "copy"))
    assert how(resume(t, k, {}, notebook))[0] == "done"
    touch(k, "input")
    assert how(resume(t, k, {}, notebook))[0] == "done"
    wrong = Kernel(t, cell("x = 1", 'inputs=["a"]'), headless=True)
    assert wrong.finish() == 2 and "are for bash cells" in wrong.stderr, wrong.stderr


def test_a_command_beside_the_cluster_needs_redo(t):
    notebook = cell("sh 'echo ran >> log'", 'Deploy effects="cluster"') + STOP
    k = start(t, {}, notebook)
    touch(k, "go")
    stopped = resume(t, k, {}, notebook)
    assert stopped.code == 3 and '--redo "Deploy"' in stopped.of("error")[-1]["message"], stopped.of("error")
    again = resume(t, k, {}, notebook, "--redo", "Deploy")
    assert again.code == 0 and how(again)[0] == "repeated", (how(again), again.of("error"))


def test_a_refusal_that_is_caught_ends_all_effects(t):
    notebook = cell("pcall(sh, 'echo ran >> log')\npcall(sh, 'touch after', {outputs = {'after'}})", 'Deploy effects="cluster"') + STOP
    k = start(t, {}, notebook)
    os.remove(os.path.join(k.cwd, "after"))
    touch(k, "go")
    resume(t, k, {}, notebook)
    assert not os.path.exists(os.path.join(k.cwd, "after"))


def test_equal_calls_in_one_cell_are_told_apart(t):
    notebook = cell("for i = 1, 2 do pcall(sh, 'echo x >> log; wc -l < log', {outputs = {'log'}}) end", "Twice") + STOP
    k = start(t, {}, notebook)
    touch(k, "go")
    again = resume(t, k, {}, notebook)
    assert again.code == 0
    entries = [(r["entry"], r["ordinal"]) for r in records(k, "intent")]
    assert entries[:2] == [(1, 1), (2, 2)] and (3, 1) in entries, entries  # the first one's log has changed since
    assert not [r for r in records(k, "verified") if r["entry"] == 1]


def test_equal_calls_of_two_cells_are_told_apart(t):
    call = "sh('echo x >> log; wc -l < log', {outputs = {'log'}})"
    notebook = cell(call, "First") + cell(call + " -- again", "Second") + STOP
    k = start(t, {}, notebook)
    touch(k, "go")
    again = resume(t, k, {}, notebook)
    assert again.code == 0 and how(again)[0] == "done", how(again)  # the log is from the second one


def test_a_call_with_other_arguments_is_done(t):
    notebook = cell("local input = io.open 'input':read 'a'\nsh('echo ' .. input .. ' > made', {outputs = {'made'}})") + STOP
    k = Kernel(t, notebook, headless=True, hello=False)
    touch(k, "input")
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1
    touch(k, "input")
    touch(k, "go")
    again = resume(t, k, {}, notebook)
    assert again.code == 0 and how(again)[0] == "done", how(again)
    with open(os.path.join(k.cwd, "made"), encoding="utf-8") as f:
        assert f.read() == "xx\n"


def test_a_result_without_its_secret_is_not_handed_out(t):
    env = {"X_TOKEN": "correct-horse-battery"}
    notebook = cell("r = sh('echo $X_TOKEN; echo > f', {outputs = {'f'}})\nassert(#r.output == 22, #r.output)") + STOP
    k = start(t, env, notebook)
    touch(k, "go")
    again = resume(t, k, env, notebook)
    assert again.code == 0, again.of("error")


def test_the_journal_has_both_ends_of_a_long_output(t):
    notebook = cell("r = sh([[cat big; echo > f]], { inputs = { 'big' }, outputs = { 'f' }, quiet = true })") + STOP + cell("print(#r.output)")
    k = Kernel(t, notebook, headless=True, hello=False)
    big = "".join(f"{i}\n" for i in range(300000))
    with open(os.path.join(k.cwd, "big"), "w") as f:
        f.write(big)
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 1, k.of("error")
    done = records(k, "outcome")[0]["result"]
    left_out = done["left_out"]["output"]
    assert left_out == len(big) - (1 << 20) and f"[… {left_out} bytes left out, SHA-256 " in done["output"], done["output"][-100:]
    assert done["output"].startswith(big[:1000]) and done["output"].endswith(big[-1000:]) and len(done["output"]) < (1 << 20) + 256
    touch(k, "go")
    again = resume(t, k, {}, notebook)  # the command need not run again, and nobody takes what is left for the whole
    assert how(again)[0] == "verified" and "the journal has the beginning and the end" in again.of("error")[-1]["message"], again.of("error")


def test_a_repeated_command_is_compared_as_a_whole(t):
    notebook = cell("r = sh('cat input', { quiet = true })", "Read") + cell("sh('echo > made', { outputs = { 'made' } })", "Made") + STOP
    k = Kernel(t, notebook, headless=True, hello=False)
    text = "x" * 3_000_000
    for middle, expected in ("y", None), ("y", "verified"), ("z", "done"):
        with open(os.path.join(k.cwd, "input"), "w") as f:
            f.write(text[:1_500_000] + middle + text[1_500_000:])
        if expected is None:
            k.send(type="hello", version=1, owner=True)
            assert k.finish() == 1, k.of("error")
            touch(k, "go")
            continue
        again = resume(t, k, {}, notebook)
        assert again.code == 0 and how(again)[1] == expected, (how(again), again.of("error"))


def test_unknown_options_of_sh(t):
    r = Kernel(t).run("sh('true', {outpts = {'x'}})")
    assert "sh has no option outpts; did you mean outputs?" in r.error["message"], r


def test_parameters_are_those_of_the_run(t):
    notebook = cell("lr = 1\nn = 2", 'tags=["parameters"]') + cell("print(lr, n)") + STOP
    k = start(t, {}, notebook, 1, "--param", "lr=5")
    again = resume(t, k, {}, notebook)
    assert again.text().split()[-2:] == ["5", "2"], again.text()
    again = resume(t, k, {}, notebook, "--param", "lr=7")
    assert again.text().split()[-2:] == ["7", "2"], again.text()
    assert "lr = 7 (was 5)" in again.of("resumed")[-1]["message"], again.of("resumed")


run(globals())
