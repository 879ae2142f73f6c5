#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Notebooks against a real kube-apiserver (tests/support/apiserver) and against the sandbox: what the Lua module k8s
does there, what kubectl sees afterwards, and what happens when the server goes away."""
import glob
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

from tap import BUILD, CACHE, FIRESTEEL, PATIENCE, SOURCE, Skip, eventually, run, sh

KUBECTL = shutil.which("kubectl")
SCRIPT = os.path.join(SOURCE, "tests/support/apiserver")


class Real:
    """One kube-apiserver for all cases; the tests act as its controllers, with kubectl."""
    folder = None

    @classmethod
    def up(cls):
        if not KUBECTL:
            raise Skip("kubectl is not installed")
        if not cls.folder:
            folder = tempfile.mkdtemp(prefix="firesteel-test-")
            done = cls.script("up", folder)
            if done.code == 77:
                shutil.rmtree(folder)
                raise Skip("no kube-apiserver in the cache: tests/support/apiserver build (a few minutes, once)")
            assert done.code == 0, done
            cls.folder = folder
            cls.kubectl("apply", "-f", os.path.join(SOURCE, "tests/support/sparkapplication-crd.yaml"))
            cls.kubectl("wait", "--for=condition=Established", "crd", "--all", f"--timeout={30 * PATIENCE:.0f}s")
            eventually(lambda: cls.kubectl("get", "sparkapp", code=None).code == 0)

    @classmethod
    def down(cls):
        if cls.folder:
            cls.script("down", cls.folder)
            shutil.rmtree(cls.folder, ignore_errors=True)

    @staticmethod
    def script(verb, folder):
        return sh(SCRIPT, verb, folder, env={"FIRESTEEL_CACHE": CACHE})

    @classmethod
    def kubectl(cls, *argv, input=None, code=0):
        done = sh(KUBECTL, *argv, env={"KUBECONFIG": f"{cls.folder}/kubeconfig", "HOME": cls.folder}, input=input)
        assert code is None or done.code == code, (argv, done)
        return done

    @classmethod
    def status(cls, name, **status):
        patch = json.dumps({"status": status})
        cls.kubectl("patch", "sparkapp", name, "--subresource=status", "--type=merge", "-p", patch)

    @classmethod
    def state(cls, name, state, message=""):
        cls.status(name, applicationState={"state": state, "errorMessage": message})


class Notebook:
    """A run of a notebook; `cells` is Lua code, in one cell to which everything is allowed."""

    def __init__(self, t, cells, *options, cluster=None):
        Real.up() if cluster is None else None
        self.dir = t.dir()
        self.options = options
        self.env = dict(os.environ, HOME=self.dir, KUBECONFIG=f"{Real.folder}/kubeconfig")
        with open(f"{self.dir}/n.lua", "w") as f:
            f.write('-- %% all effects="cluster,destructive"\n' + cells)
        with open(f"{self.dir}/app.yaml", "w") as f:
            f.write(APP)

    def argv(self):
        # this server has no nodes and no accounts, as a preflight would say
        return [FIRESTEEL, "run", "n.lua", "--no-preflight", "--allow", "cluster,destructive", *self.options]

    def run(self, code=0):
        self.done = sh(*self.argv(), cwd=self.dir, env=self.env)
        assert code is None or self.done.code == code, self.done
        return self.done

    def start(self):
        self.process = subprocess.Popen(self.argv(), cwd=self.dir, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def end(self, code=0):
        out, _ = self.process.communicate(timeout=60 * PATIENCE)
        assert self.process.returncode == code, out
        return out

    def journal(self):
        return [json.loads(line) for line in open(glob.glob(f"{self.dir}/.firesteel/*.jsonl")[0])]


APP = """\
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: NAME}
spec:
  type: Python
  mode: cluster
  image: x
  sparkVersion: 3.5.7
  mainApplicationFile: local:///opt/firesteel/spark.py
  driver: {cores: 1, memory: 1g}
  executor: {cores: 1, instances: 2, memory: 1g}
"""


def app(name):
    return f"app = k8s.create [[{APP.replace('NAME', name)}]]\n"


def test_tables_are_those_of_kubectl(t):
    n = Notebook(t, 'print(k8s.get("namespaces", {field_selector = "metadata.name=kube-system"}))\n'
                    'print(k8s.get("crd"))\nprint(k8s.get("services", {all_namespaces = true, wide = true}))')
    out = n.run().out
    for argv in (["ns", "kube-system"], ["crd"], ["services", "-A", "-o", "wide"]):
        want = Real.kubectl("get", *argv).out
        for line in want.splitlines():
            words = line.split()[:-1] if argv[0] != "services" else line.split()[:5]  # ages grow
            assert any(got.split()[:len(words)] == words for got in out.splitlines()), (line, out)


def test_what_is_used_is_asked_for_where_it_is_known_only(t):
    for what, words in (("pods", "the server has no metrics.k8s.io"), ("configmaps", "usage is known of pods and nodes, not of configmaps"),
                        ("namespaces/default", "usage of namespace default is not shown")):
        done = Notebook(t, f'k8s.watch("{what}", {{ usage = true }})').run(1)
        assert words in done.out + done.err, done


def test_lists_that_are_only_shown_are_those_of_kubectl(t):
    """A last line's list asks for rows alone: the same text as kubectl's, and rows that are known by their names."""
    kinds = (["namespaces"], ["crd"], ["services", "-A", "-o", "wide"], ["configmaps", "-A"])
    lua = ('k8s.get "namespaces"', 'k8s.get("crd")', 'k8s.list("services", { all_namespaces = true, wide = true })',
           'k8s.get("configmaps", { all_namespaces = true })')
    n = Notebook(t, "\n\n-- %%\n".join(lua))
    n.run()
    shown = [e for e in n.journal() if e["type"] == "display"]
    assert len(shown) == len(kinds), shown
    for argv, e in zip(kinds, shown):
        want = Real.kubectl("get", *argv).out.splitlines()
        got = e["data"]["text/plain"].splitlines()
        stable = [line.split()[:-1] if argv[0] != "services" else line.split()[:5] for line in want]  # ages grow
        assert [line.split()[:len(words)] for line, words in zip(got, stable)] == stable and len(got) == len(want), (want, got)
        rows = e["data"]["application/vnd.firesteel.table+json"]["rows"]
        spaces = "-A" in argv
        assert [r["uid"] for r in rows] == ["/".join(words[:2]) if spaces else words[0] for words in stable[1:]], rows


def test_each_reads_pages(t):
    n = Notebook(t, """
for i = 1, 7 do k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "page-" .. i, labels = { paged = "yes" } } } end
local names = {}
for c in k8s.each("configmaps", { selector = "paged=yes", limit = 3 }) do names[#names + 1] = c.metadata.name .. " " .. c.kind end
print(table.concat(names, ", "))
for c in k8s.each("configmaps", { selector = "paged=no" }) do error "none" end
for c in k8s.each("configmaps", { selector = "paged=yes" }) do c:delete() end
print(pcall(k8s.each, "configmaps", { limits = 3 }))
print(#k8s.list("configmaps", { selector = "paged=yes" }))
""")
    out = n.run().out
    assert ", ".join(f"page-{i} ConfigMap" for i in range(1, 8)) in out and "did you mean limit" in out, out
    assert re.search(r"^ *0$", out, re.M), out


WATCHED = """
for _, kind in ipairs { "jobs", "events", "sparkapp", "namespaces", "crd" } do k8s.watch(kind, { all_namespaces = true }) end
firesteel.sleep(1)
k8s.create { apiVersion = "v1", kind = "Event", metadata = { name = "live.1", namespace = "default" }, type = "Warning",
  reason = "Because", message = "it was so", involvedObject = { kind = "Pod", name = "some", namespace = "default", uid = "u-1" },
  firstTimestamp = "2026-01-02T03:04:05Z", lastTimestamp = "2026-01-02T03:04:05Z" }
k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "live" }, spec = { suspend = true, completions = 3, template = { spec = {
  restartPolicy = "Never", containers = { { name = "main", image = "host" } } } } } }
firesteel.sleep(1)
k8s.patch("events", "live.1", { message = "it is so" })
firesteel.sleep(2)
k8s.delete("jobs", "live")
k8s.delete("events", "live.1")
"""


def watched(n):
    """The live tables of a run as they were while it ran, by title: their columns, and their rows by name."""
    tables, titles = {}, {}
    for e in n.journal():
        if e["type"] == "display":
            table = e["data"]["application/vnd.firesteel.pods+json"]
            titles[e["id"]] = table["title"]
            tables[table["title"]] = {"rows": {}}
        table = tables[titles[e["id"]]] if e["type"] == "update" else {}
        table.update({k: v for k, v in e.get("table", {}).items() if v is not None})
        for row in e.get("rows", []):
            if not row.get("deleted"):
                table["rows"].setdefault(row["name"], []).append(row)
    return tables


def test_live_tables_have_the_server_s_columns(t):
    """The same of the real server and of the sandbox."""
    heads = {}
    Real.up()
    Real.kubectl("create", "job", "head", "--image=x", "--", "x")
    Real.kubectl("apply", "-f", "-", input=APP.replace("NAME", "head"))
    Real.kubectl("create", "-f", "-", input=json.dumps({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "head", "namespace": "default"},
        "involvedObject": {"namespace": "default"}}))
    for kind in ("job", "event", "sparkapplication"):
        heads[kind + "s in all namespaces"] = Real.kubectl("get", kind, "-A", "-o", "wide").out.splitlines()[0].split()
    Real.kubectl("delete", "job/head", "event/head", "sparkapp/head")
    for n in (Notebook(t, WATCHED), Notebook(t, WATCHED, "--sandbox", cluster="sandbox")):
        n.run()
        tables = watched(n)
        for title, head in heads.items():
            names = [c for c in columns_of(tables[title]) if c != "SUSPEND"]  # of an operator that is newer than the CRD
            assert " ".join(names).split() == head, (tables[title], head)
        assert tables["namespaces"]["columns"] == ["NAME", "STATUS", "AGE"], tables["namespaces"]
        row = tables["events in all namespaces"]["rows"]["live.1"][-1]
        event = dict(zip(columns_of(tables["events in all namespaces"]), row["cells"]))
        assert event["LAST SEEN"] == {"since": "2026-01-02T03:04:05Z"}, row
        assert (event["NAMESPACE"], event["REASON"], event["OBJECT"]) == ("default", "Because", "pod/some"), row
        assert row["about"]["name"] == "some" and row["about"]["kind"] == "Pod" and row["sick"], row
        assert event["MESSAGE"] == "it is so", "as the last frame of the watch has it: " + str(row)
        assert "0/3" in tables["jobs in all namespaces"]["rows"]["live"][-1]["cells"]
        assert tables["events in all namespaces"]["order"] == "LAST SEEN"


def columns_of(table):
    return [c if isinstance(c, str) else c["name"] for c in table["columns"]]


def test_objects_are_made_changed_and_removed(t):
    n = Notebook(t, """
local cm = k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" }, data = { a = "1" } }
print(cm, cm.created)
cm = k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" }, data = { a = "2" } }
print(cm.created, cm:refresh().data.a)
cm:patch { data = { b = "x" } }
print(cm:refresh().data.b)
print(cm:yaml())
local list = k8s.list("configmaps", { selector = "firesteel/run=" .. firesteel.run })
print(#list, list[1].metadata.name)
cm:delete()
print(pcall(k8s.get, "configmaps", "made"))
""")
    out = n.run().out
    for want in ("configmap/made\ttrue", "false\t2", "app.kubernetes.io/managed-by: firesteel", "1\tmade",
                 'configmaps "made" not found'):
        assert want in out, (want, out)
    assert Real.kubectl("get", "cm", "made", code=1)


def test_what_the_server_refuses_is_said_with_reason_and_remedy(t):
    Real.up()
    Real.kubectl("create", "configmap", "theirs", "--from-literal=a=1")
    n = Notebook(t, """
local pod = { apiVersion = "v1", kind = "Pod", metadata = { name = "UPPER" }, spec = { containers = { { name = "a", image = "b" } } } }
print(pcall(k8s.create, pod))
pod.metadata.name, pod.spec.containerz = "lower", {}
print(pcall(k8s.create, pod))
print(pcall(k8s.get, "podz", "x"))
print(pcall(k8s.create, { apiVersion = "apps/v1beta1", kind = "Deployment", metadata = { name = "x" } }))
print(pcall(k8s.create, { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "theirs" } }))
print(pcall(k8s.apply, { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "theirs" }, data = { a = "2" } }))
print(k8s.apply({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "theirs" }, data = { a = "2" } }, { force = true }))
print(pcall(k8s.create, { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x", namespace = "nowhere" } }))
print(pcall(k8s.patch, "sparkapp", "none", {}, { type = "strategic" }))
print(pcall(k8s.get, "pods", { selektor = "x" }))
""")
    out = n.run().out
    Real.kubectl("delete", "cm", "theirs")
    for want in ('Pod "UPPER" is invalid: metadata.name', 'unknown field "spec.containerz"', 'no kind "podz"; did you mean pods?',
                 "no Deployment of apiVersion apps/v1beta1; it has it in apps/v1", "already exists: delete it first",
                 '.data.a (conflict with "kubectl-create"', "force=true", "configmap/theirs",
                 'namespaces "nowhere" not found', "k8s.list has no option selektor; did you mean selector?"):
        assert want in out, (want, out)


def test_what_was_created_may_be_applied(t):
    """To the server, what we create is ours by another operation than what we apply."""
    n = Notebook(t, """
local function cm(a) return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "both", finalizers = firesteel.array {} }, data = { a = a } } end
k8s.create(cm "1")
print("now", k8s.apply(cm "2"):refresh().data.a)
k8s.delete("configmaps", "both")
print(pcall(k8s.create, { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "both", finalizers = {} } }))
""")
    out = n.run().out
    assert "now\t2" in out and "an empty list is firesteel.array{}, as {} is an object" in out, out


def test_a_deletion_that_hangs_names_the_finalizers(t):
    n = Notebook(t, """
local cm = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "held", finalizers = { "example.org/wait" } } }
print(pcall(cm.delete, cm, { timeout = "300ms" }))
cm:patch({ { op = "remove", path = "/metadata/finalizers" } }, { type = "json" })
k8s.create { apiVersion = "v1", kind = "Namespace", metadata = { name = "wide" } }
""")
    out = n.run().out
    assert "it is being deleted, and stays until somebody takes its finalizers away: example.org/wait" in out, out
    assert "create Namespace wide of context admin\n" in out, "no namespace is in a namespace: " + out


def test_what_went_with_the_definition_of_its_kind_is_not_left_over(t):
    n = Notebook(t, """
k8s.create { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition", metadata = { name = "widgets.gone.example.org" },
  spec = { group = "gone.example.org", scope = "Namespaced", names = { plural = "widgets", singular = "widget", kind = "Widget" },
    versions = { { name = "v1", served = true, storage = true, schema = { openAPIV3Schema = { type = "object" } } } } } }
for i = 1, 50 do
  if pcall(k8s.create, { apiVersion = "gone.example.org/v1", kind = "Widget", metadata = { name = "w" } }) then return "made" end
  firesteel.sleep "200ms"
end
""")
    assert "made" in n.run().out
    Real.kubectl("delete", "crd", "widgets.gone.example.org")
    done = sh(FIRESTEEL, "clean", "--yes", cwd=n.dir, env=n.env)
    assert done.code == 0 and "was not there: the server does not know its kind any more" in done.out + done.err, done


def test_a_dry_run_stores_nothing(t):
    n = Notebook(t, 'print(k8s.check { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "dry" } })\n'
                    'print(pcall(k8s.check, { apiVersion = "v1", kind = "Pod", metadata = { name = "dry" } }))')
    out = n.run().out
    assert "true" in out and "spec.containers: Required value" in out, out
    Real.kubectl("get", "cm", "dry", code=1)


def both(t, cells):
    """Runs the cells against the real API server and against the sandbox; yields their outputs and a kubectl for each."""
    out = Notebook(t, cells).run().out
    yield out, Real.kubectl
    kubeconfig = other_cluster(t)
    n = Notebook(t, cells, "--context", "firesteel-sandbox")
    n.env["KUBECONFIG"] = kubeconfig
    yield n.run().out, lambda *argv: sh(KUBECTL, *argv, env={"KUBECONFIG": kubeconfig, "HOME": n.dir})


def test_explain_and_whoami_are_those_of_kubectl(t):
    words = ("pods.spec.containers", "jobs.spec.template.spec.containers.env", "cm")
    cells = "".join(f'print(k8s.explain("{w}", {{ recursive = {r} }}))\n' for w in words for r in ("true", "false")) + "print(k8s.whoami())\n"
    for out, kubectl in both(t, cells):
        told = [kubectl("explain", w, f"--recursive={r}").out for w in words for r in ("true", "false")] + [kubectl("auth", "whoami").out]
        for text in told:
            assert "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines()) in re.sub(" +\n", "\n", out), (text, out)


def test_descriptions_are_those_of_kubectl(t):
    cells = """
k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "told", labels = { a = "b" }, annotations = { note = "x" } }, data = { a = "1" } }
k8s.create { apiVersion = "v1", kind = "Secret", metadata = { name = "kept" }, stringData = { password = "never-shown-here" } }
for _, name in ipairs { "cm/told", "secret/kept", "ns/default" } do print(k8s.describe(name)) end
"""
    for out, kubectl in both(t, cells):
        for name in ("cm/told", "secret/kept", "ns/default"):
            text = kubectl("describe", name).out
            if name.startswith("ns/"):
                text = text[:text.index("Annotations")]  # kubectl goes on with quotas
            # what kubectl calls nothing is written without a namespace, too
            lines = [line.rstrip() for line in text.splitlines()]
            told = [line.strip() if not line.strip() else line[4:].rstrip() for line in out.splitlines()]
            assert all(line in told for line in lines), (lines, told)
        assert "never-shown-here" not in out and "password:  16 bytes" in out, out


def test_diff_is_what_an_apply_would_change(t):
    cells = """
k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "differs" }, data = { a = "1", b = "2" } }
print("then", k8s.diff { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "differs" }, data = { a = "1", c = "3" } })
print("same", k8s.diff { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "differs" }, data = { a = "1", b = "2" } })
print("now", k8s.get("cm/differs").data.b)
print(pcall(k8s.diff, { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "x-" } }))
k8s.delete("cm", "differs")
"""
    for out, _ in both(t, cells):
        for text in ('     a: "1"\n    -  b: "2"\n    +  c: "3"\n     kind: ConfigMap\n', "then\ttrue", "same\tfalse", "now\t2",
                     "a ConfigMap needs metadata.name"):
            assert text in out, (text, out)


def test_a_client_certificate_is_shown_and_a_stranger_is_refused(t):
    out = Notebook(t, 'print(k8s.version().context, #k8s.list "namespaces" > 2)', "--context", "cert").run().out
    assert "cert\ttrue" in out, out
    n = Notebook(t, 'print(k8s.can_i("list", "pods"))\nprint(pcall(k8s.list, "pods"))\nk8s.create "app.yaml"',
                 "--context", "user")
    out = n.run(1).out
    for want in ("false", 'User "user" cannot list resource "pods"', "context user, user user", "ask for a role",
                 'User "user" cannot create resource "sparkapplications"'):
        assert want in out, (want, out)


def test_reaches_goes_through_the_states(t):
    n = Notebook(t, app("good") + 'app:watch()\nprint("made")\nexpect(app):reaches("RUNNING", "20s")\nprint("was RUNNING")\n'
                 'expect(app):reaches("COMPLETED", "20s")\nprint("was COMPLETED")\napp:delete()')
    n.start()
    eventually(lambda: Real.kubectl("get", "sparkapp", "good", code=None).code == 0)
    for state in ("SUBMITTED", "RUNNING", "COMPLETED"):
        Real.state("good", state)
        time.sleep(0.3)
    out = n.end()
    assert "was RUNNING" in out and "was COMPLETED" in out, out
    rows = [r for e in n.journal() if e["type"] == "update" for r in e.get("rows", [])]
    assert {"SUBMITTED", "RUNNING", "COMPLETED"} <= {r["cells"][2] for r in rows if "cells" in r}, rows


def test_failed_ends_a_wait_at_once_with_the_cause(t):
    n = Notebook(t, app("bad") + 'expect(app):reaches("COMPLETED", "50s")')
    n.start()
    eventually(lambda: Real.kubectl("get", "sparkapp", "bad", code=None).code == 0)
    Real.kubectl("create", "-f", "-", input=json.dumps({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "bad.1", "namespace": "default"}, "type": "Warning",
        "reason": "SparkApplicationFailed", "message": "SparkApplication bad failed", "lastTimestamp": "2026-01-02T03:04:05Z",
        "involvedObject": {"kind": "SparkApplication", "name": "bad", "namespace": "default",
                           "uid": Real.kubectl("get", "sparkapp", "bad", "-o", "jsonpath={.metadata.uid}").out}}))
    start = time.monotonic()
    Real.state("bad", "FAILED", "driver container failed with ExitCode: 3, Reason: Error")
    out = n.end(1)
    assert time.monotonic() - start < 10 * PATIENCE, out
    assert "sparkapplication bad is FAILED, and will not reach COMPLETED: driver container failed with ExitCode: 3" in out, out
    assert "SparkApplicationFailed: SparkApplication bad failed" in out, out
    Real.kubectl("delete", "sparkapp", "bad")


def test_a_wait_goes_on_when_the_server_comes_back(t):
    n = Notebook(t, app("away") + 'expect(app):reaches("COMPLETED", "50s")\nprint "through"')
    n.start()
    eventually(lambda: Real.kubectl("get", "sparkapp", "away", code=None).code == 0)
    time.sleep(0.5)
    Real.script("away", Real.folder)
    time.sleep(2)
    assert Real.script("back", Real.folder).code == 0
    eventually(lambda: Real.kubectl("get", "sparkapp", "away", code=None).code == 0)
    Real.state("away", "COMPLETED")
    out = n.end()
    assert "through" in out and "away for" in out and "the server is back" in out, out
    Real.kubectl("delete", "sparkapp", "away")


def test_a_wait_says_why_it_was_in_vain(t):
    n = Notebook(t, app("slow") + """
print(pcall(app.reaches, app, "COMPLETED", "300ms"))
print(pcall(app.wait, app, "condition=Ready", "300ms"))
print(app:wait("jsonpath={.spec.sparkVersion}=3.5.7", "5s").metadata.name)
app:delete { wait = false }
app:wait("delete", "5s")
print(pcall(app.reaches, app, "COMPLETED", "5s"))
""")
    out = n.run().out
    for want in ("wait for sparkapplication slow: the time-out has passed; it is without a state", "slow\n", "it is not there"):
        assert want in out, (want, out)


def test_neither_tokens_nor_secrets_reach_the_journal(t):
    n = Notebook(t, 's = k8s.create { apiVersion = "v1", kind = "Secret", metadata = { name = "s" }, stringData = { p = "correct-horse" } }\n'
                    'print(s:refresh().data.p, "correct-horse", "admin-token")\nprint(s:describe())\ns:delete()')
    out = n.run().out
    text = out + "".join(open(p).read() for p in glob.glob(f"{n.dir}/.firesteel/*.jsonl"))
    assert "p:  13 bytes" in out, out
    # Only the cell's own source has the two words; nothing that was printed or sent does.
    printed = out + json.dumps([e for e in n.journal() if e["type"] not in ("run", "document", "resumed")])
    for secret in ("correct-horse", "Y29ycmVjdC1ob3JzZQ", "admin-token"):
        assert secret not in printed, (secret, printed)
    assert "Y29ycmVjdC1ob3JzZQ" not in text


LEAVES = """
a = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "left" }, data = { a = "1" } }
b = k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "left-too" }, data = { a = "1" } }
c = k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "there-before" }, data = { b = "2" } }
-- %% stop
print(a:refresh().data.a)
error("stop here")
"""


def other_cluster(t):
    """A sandbox as another cluster than that of the run."""
    folder = t.dir()
    read, write = os.pipe()
    process = subprocess.Popen([os.path.join(BUILD, "cli/firesteel-sandbox"), "--private", "--dir", f"{folder}/s", "--images",
                                f"{folder}/i", "--notify-fd", str(write)], pass_fds=[write], stdin=subprocess.DEVNULL)
    os.close(write)
    t.after(lambda: (os.close(read), process.wait(20 * PATIENCE)))
    line = b""
    while not line.endswith(b"\n"):
        line += os.read(read, 1)
    return json.loads(line)["kubeconfig"]


def test_what_a_run_left_is_verified_by_resume_and_removed_by_clean_on_its_cluster(t):
    n = Notebook(t, LEAVES)
    Real.kubectl("create", "cm", "there-before", "--from-literal=a=1")
    assert "3 left over" in n.run(1).out, n.done
    run_name = os.path.basename(glob.glob(f"{n.dir}/.firesteel/*.jsonl")[0])[:-len(".jsonl")]
    uid = Real.kubectl("get", "cm", "left", "-o", "jsonpath={.metadata.uid}").out
    n.options = ("--resume", run_name)
    assert "verified" in n.run(1).out, n.done
    assert Real.kubectl("get", "cm", "left", "-o", "jsonpath={.metadata.uid}").out == uid
    other = dict(n.env, KUBECONFIG=other_cluster(t))
    # it continues in the run's context
    unknown = sh(FIRESTEEL, "clean", run_name, "--yes", cwd=n.dir, env=other)
    assert unknown.code == 1 and 'there is no context "admin"' in unknown.err, unknown
    elsewhere = sh(FIRESTEEL, "clean", run_name, "--yes", "--context", "firesteel-sandbox", cwd=n.dir, env=other)
    assert elsewhere.code == 3 and "another cluster" in elsewhere.err + elsewhere.out, elsewhere
    Real.kubectl("get", "cm", "left", "left-too")
    cleaned = sh(FIRESTEEL, "clean", run_name, "--yes", cwd=n.dir, env=n.env)
    assert cleaned.code == 0, cleaned
    Real.kubectl("get", "cm", "left", code=1)
    Real.kubectl("get", "cm", "left-too", code=1)
    Real.kubectl("delete", "cm", "there-before")  # it was not this run's: clean left it


SANDBOX_JOB = """
job = k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = "NAME" }, spec = { parallelism = PODS, completions = PODS,
  backoffLimit = 0, template = { spec = { restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "sh", "-c", [[SCRIPT]] } } } } } } }
"""


def job(name, script, pods=1):
    return SANDBOX_JOB.replace("NAME", name).replace("PODS", str(pods)).replace("SCRIPT", script)


def sandboxed(t, cells):
    n = Notebook(t, cells, "--sandbox", cluster="sandbox")
    n.env.pop("KUBECONFIG")
    return n


def test_a_job_s_log_is_read_filtered_and_followed(t):
    n = sandboxed(t, job("talk", "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done") + """
job:watch()
job:wait("jsonpath={.status.active}=1", "20s")
job:logs { follow = true }
expect(job):reaches("Complete", "30s")
print("[" .. job:logs() .. "]")
print("[" .. job:logs { grep = "[24]$" } .. "]")
print("[" .. job:logs { tail = 1 } .. "]")
print(#job:events() > 0, job:state())
job:delete()
""")
    out = n.run().out
    for want in ("[line 1", "[line 2", "line 4]", "[line 5]", "true\tComplete\ttrue"):
        assert want in out.replace("\n    ", "\n"), (want, out)
    told = "".join(e.get("text", "") for e in n.journal() if e["type"] == "stream")
    assert told.startswith("line 1\nline 2\nline 3\nline 4\nline 5\n"), told


def test_logs_of_many_pods_are_one_story(t):
    n = sandboxed(t, job("many", "for i in 1 2 3 4 5 6 7 8; do date +%s%N; sleep 0.05; done", 3) + """
expect(job):reaches("Complete", "40s")
print(job:logs { all = true })
job:delete()
""")
    out = n.run().out
    lines = [line.strip().split(" | ") for line in out.splitlines() if " | " in line]
    assert len(lines) == 24 and len({pod for pod, _ in lines}) == 3, out
    stamps = [int(stamp) for _, stamp in lines]
    late = [b - a for a, b in zip(stamps, stamps[1:]) if b < a]
    assert all(x > -200_000_000 for x in late), late  # lines are stamped after they were written; pods write for 400 ms


def test_pods_that_come_late_are_followed_too(t):
    n = sandboxed(t, 'k8s.logs("pods", { selector = "batch.kubernetes.io/job-name=late", follow = true })\n'
                  + job("late", "echo hello from late; sleep 1") + """
expect(job):reaches("Complete", "30s")
firesteel.sleep "1s"
job:delete()
""")
    n.run()
    told = "".join(e.get("text", "") for e in n.journal() if e["type"] == "stream")
    assert told == "hello from late\n", told


def streamed(n):
    return "".join(e.get("text", "") for e in n.journal() if e["type"] == "stream")


SEVERAL = """
p = k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "several" }, spec = { restartPolicy = "Never",
  initContainers = { { name = "first", image = "host", command = { "echo", "from first" } } },
  containers = { { name = "main", image = "host", command = { "echo", "from main" } },
                 { name = "side", image = "host", command = { "echo", "from side" } } } } }
p:logs { follow = true }
p:reaches("Succeeded", "20s")
firesteel.sleep "1s"
"""


def test_of_several_containers_one_is_read_and_the_others_are_named(t):
    n = sandboxed(t, SEVERAL + """
print("[" .. p:logs() .. "]")
print("[" .. p:logs { container = "side" } .. "]")
print("[" .. p:logs { all_containers = true } .. "]")
""")
    n.run()
    told, note = streamed(n), "container main of pod several, which also has first (init), side"
    assert "\nfrom main\n" in told and "\n[from main]\n" in told and told.count(note) == 2, told
    assert "[from side]\n" in told, told
    assert told.count("several/first | from first\n") == told.count("several/side | from side") == 1, told


DRIVER = app("again").replace("type: Python", "type: Python\n  suspend: true") + """
function driver(text)
  return k8s.create { apiVersion = "v1", kind = "Pod", metadata = { name = "again-driver",
    labels = { ["sparkoperator.k8s.io/app-name"] = "again", ["spark-role"] = "driver" },
    ownerReferences = { { apiVersion = "sparkoperator.k8s.io/v1beta2", kind = "SparkApplication", name = "again", uid = app.uid } } },
    spec = { restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "echo", text } } } } }
end
"""


def test_a_name_that_is_given_again_is_followed_on(t):
    """As the driver of an application that is tried again: by the application, and by the pod's own name."""
    n = sandboxed(t, DRIVER + """
app:logs { follow = true }
one = driver "first attempt"
k8s.logs("pods/again-driver", { follow = true })
one:reaches("Succeeded", "20s")
firesteel.sleep "1s"
one:delete()
two = driver "second attempt"
two:reaches("Succeeded", "20s")
firesteel.sleep "1s"
app:delete()
""")
    n.run()
    lines = [line for line in streamed(n).splitlines() if "started yet" not in line]
    assert sorted(lines) == sorted(2 * ["first attempt", "-- a new pod has this name --", "second attempt"]), lines


def test_pods_of_any_owner(t):
    """Of a kind that nobody here knows: its pods are those of its Jobs."""
    n = sandboxed(t, """
k8s.create { apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition", metadata = { name = "batches.example.org" },
  spec = { group = "example.org", scope = "Namespaced", names = { plural = "batches", singular = "batch", kind = "Batch" },
    versions = { { name = "v1", served = true, storage = true, schema = { openAPIV3Schema = { type = "object",
      ["x-kubernetes-preserve-unknown-fields"] = true } } } } } }
batch = k8s.create { apiVersion = "example.org/v1", kind = "Batch", metadata = { name = "b" } }
batch:logs { follow = true }
function job(name, owner)
  return k8s.create { apiVersion = "batch/v1", kind = "Job", metadata = { name = name, ownerReferences = owner and { { apiVersion = "example.org/v1",
    kind = "Batch", name = "b", uid = owner.uid } } }, spec = { template = { spec = { restartPolicy = "Never",
    containers = { { name = "main", image = "host", command = { "echo", "from " .. name } } } } } } }
end
theirs = job("theirs")
ours = job("ours", batch)
expect(theirs):reaches("Complete", "30s")
expect(ours):reaches("Complete", "30s")
firesteel.sleep "1s"
print("[" .. batch:logs() .. "]")
batch:delete()
""")
    n.run()
    assert streamed(n) == "from ours\n[from ours]\n", streamed(n)


def test_a_log_that_is_followed_in_the_last_cell_is_read_to_its_end(t):
    talk = "for i in 1 2 3 4 5 6; do echo line $i; sleep 0.3; done"
    n = sandboxed(t, job("last", talk) + "job:logs { follow = true }\n")
    n.run()
    assert streamed(n).endswith("".join(f"line {i}\n" for i in range(1, 7))), streamed(n)
    # what never ends is read to where it is; and a cell that has a time-out ends with it
    n = sandboxed(t, job("on", "i=0; while sleep 0.2; do i=$((i+1)); echo line $i; done") + """
job:wait("jsonpath={.status.active}=1", "20s")
firesteel.sleep "2s"
k8s.logs { selector = "batch.kubernetes.io/job-name=on", follow = true }
""")
    n.run()
    assert "line 5\n" in streamed(n), streamed(n)
    n = sandboxed(t, job("on", "i=0; while sleep 0.2; do i=$((i+1)); echo line $i; done") + """
-- %% timed timeout="3s"
job:logs { follow = true }
""")
    start = time.monotonic()
    n.run()
    assert "line 5\n" in streamed(n) and time.monotonic() - start > 2.5, streamed(n)


def test_a_log_that_is_too_large_for_a_text_is_below_the_cell(t):
    lines = 300000
    n = sandboxed(t, job("large", f"seq -f %060.0f 1 {lines}") + """
expect(job):reaches("Complete", "60s")
text = job:logs()
print(#text < 17 * 1024 * 1024, text:match "^[^\\n]*", text:match "[^\\n]*$")
""")
    n.run()
    head = [e for e in n.journal() if e["type"] == "update" and e.get("closed")][-1]
    log = head["data"]["application/vnd.firesteel.log+json"]
    spool = open(glob.glob(f"{n.dir}/.firesteel/**/{os.path.basename(log['spool'])}*", recursive=True)[0]).read()
    assert spool.splitlines() == [f"{i:060d}" for i in range(1, lines + 1)], (log, len(spool))
    assert re.search(r"true\t-- \d+ earlier lines are not in this text --", streamed(n)) and f"{lines:060d}\n" in streamed(n)
    told = re.search(r"all are below the cell, and in (.*) --\n", streamed(n))[1]
    assert open(told).read() == spool, told


def test_a_job_that_fails_shows_its_last_words(t):
    n = sandboxed(t, job("fail", "echo these are my last words; exit 3") + 'expect(job):reaches("Complete", "30s")')
    out = n.run(1).out
    assert "is Failed, and will not reach Complete" in out and "these are my last words" in out, out


try:
    run(globals())
finally:
    Real.down()
