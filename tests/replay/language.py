#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is wrong with texts of cells in other languages than Lua: told by `firesteel check` and to clients, in the same words."""
import json
import os

from kernel import Kernel, cell
from sandbox import sandbox
from tap import FIRESTEEL, run, sh

JOB = """apiVersion: batch/v1
kind: Job
metadata: {name: "${name}", lables: {a: b}}
spec:
  backoffLimit: "3"
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: ü main
          imagee: busybox
"""
FILES = f"""\
-- %% Job template="job.yaml"
{JOB}
---
apiVersion: example.com/v1
kind: Thing
metadata: {{name: x}}
---
not: a manifest
-- %% Filled in template="app.yaml"
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {{name: pi}}
spec:
  mode: ${{mode}}
  ${{more}}
-- %% Image file="Dockerfile"
FROM debian
RUNN true
-- %% Copies file="Dockerfile.two"
FROM debian
COPY x
-- %% Shell
%%bash
if true; then
  echo
-- %% Python file="x.py"
def f():
    return (1
-- %% Lua
x = = 1
"""
SAID = [
    'n.lua:4: cell 1 (Job): unknown field "lables" in metadata; did you mean "labels"?',
    "n.lua:6: cell 1 (Job): spec.backoffLimit must be an integer, and is a string",
    'n.lua:12: cell 1 (Job): unknown field "imagee" in spec.template.spec.containers[0]; did you mean "image"?',
    "n.lua:29: cell 3 (Image): “RUNN” is no instruction",
    "n.lua:32: cell 4 (Copies): COPY takes what to copy, and where to",
    "n.lua:36: cell 5 (Shell): ",
    "n.lua:39: cell 6 (Python): ",
    "n.lua:41: cell 7 (Lua): unexpected symbol near '='",
]
DEPLOYMENT = '-- %% D file="d.yaml"\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n'


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return name


def test_check_tells_what_is_wrong_in_every_language(t):
    folder = t.dir()
    write(folder, "n.lua", FILES)
    done = sh(FIRESTEEL, "check", "n.lua", cwd=folder)
    lines = done.out.splitlines()
    assert done.code == 2 and len(lines) == len(SAID), done
    for line, said in zip(lines, SAID):
        assert line.startswith(said), (line, said)
    assert os.listdir(folder) == ["n.lua"]


def test_findings_as_json_have_their_places(t):
    folder = t.dir()
    write(folder, "n.lua", FILES)
    done = sh(FIRESTEEL, "check", "-o", "json", "n.lua", cwd=folder)
    found = [json.loads(line) for line in done.out.splitlines()]
    text = FILES.encode().split(b"\n")
    assert done.code == 2 and len(found) == len(SAID), done
    words = [text[f["line"] - 1][f["column"] - 1:f["end_column"] - 1].decode() for f in found[:3]]
    assert words == ["lables", '"3"', "imagee"], words
    assert [f["source"] for f in found[:4]] == ["kubernetes"] * 3 + ["dockerfile"], found
    assert all(f["path"] == "n.lua" and f["severity"] == "error" and f["id"] for f in found), found
    done = sh(FIRESTEEL, "check", "-o", "xml", "n.lua", cwd=folder)
    assert done.code == 2 and "json" in done.err, done


def test_python_as_a_kernel_takes_it(t):
    folder = t.dir()
    write(folder, "good.py", "# %%\n%matplotlib inline\nx = !ls\nimport os; os.sep?\nawait f()\n# %%\n%%time\ny = 1\n# %%\n%%javascript\nlet x = ;\n"
                             "# %%\ns = '''\n%not magic ?\n!'''\nz = x % 3\nf(1,\n  !x)\n".replace("f(1,\n  !x)\n", "f(1,\n  2)\n"))
    write(folder, "bad.py", "# %%\nx = 1\nfor i in range(3) print(i)\n")
    done = sh(FIRESTEEL, "check", "-o", "json", "good.py", "bad.py", cwd=folder)
    found = [f for f in map(json.loads, done.out.splitlines()) if f["source"] == "python"]
    assert [(f["path"], f["line"]) for f in found] == [("bad.py", 3)], done


def test_a_server_says_which_kinds_there_are(t):
    folder, env = t.dir(), sandbox(t)
    write(folder, "n.lua", DEPLOYMENT)
    done = sh(FIRESTEEL, "check", "n.lua", cwd=folder, env=env)
    assert done.code == 0 and not done.out, ("no server is asked", done)
    done = sh(FIRESTEEL, "check", "--kubeconfig", env["KUBECONFIG"], "n.lua", cwd=folder, env=env)
    assert done.code == 2 and done.out == "n.lua:3: cell 1 (D): warning: the cluster has no kind Deployment in apps/v1\n", done
    write(folder, "dead", open(env["KUBECONFIG"], encoding="utf-8").read().replace("127.0.0.1:", "127.0.0.1:1"))
    done = sh(FIRESTEEL, "check", "--kubeconfig", "dead", "n.lua", cwd=folder, env=env)
    assert done.code == 1 and "the kinds of the cluster" in done.err, done


def test_clients_get_the_same(t):
    env = sandbox(t)
    k = Kernel(t, FILES + DEPLOYMENT, env=env)
    lines, last = [], None

    def found():
        reply = k.ask(type="check")
        assert reply["ok"], reply
        return reply["found"]
    cells = found()
    for one in cells.values():
        assert len(one["hash"]) == 64
        lines += [f["text"] for f in one["faults"]]
        last = one["faults"]
    assert len(lines) == len(SAID) and all(text in said + text for text, said in zip(lines, SAID)), lines
    for text, said in zip(lines, SAID):
        assert said.split("): ", 1)[1] in text, (text, said)
    assert last == [], last
    assert k.run("print(#k8s.list 'pods')").state == "ok"
    told = list(found().values())[-2]["faults"]
    assert [f["text"] for f in told] == ["the cluster has no kind Deployment in apps/v1"] and told[0]["severity"] == "warning", told
    one = k.ask(type="check", cells=[list(cells)[0]])["found"]
    assert list(one) == [list(cells)[0]], one


TYPED = """\
%%writefile job.yaml
apiVersion: batch/v1
kind: Job
metadata: {name: x}
spec:
  template:
    spec:
      containers:
      - name: a
        im
      - image: b
        name: b
        resources:
          limits: {cpu: 1}
      hostNetwork: t
      rest
"""


def test_fields_and_values_of_manifests_are_completed(t):
    k = Kernel(t, cell("-- nothing") + cell("print 'x'"))
    k.cells()
    one = k.insert(TYPED)

    def matches(words, source=TYPED, what="complete"):
        reply = k.ask(type=what, cell=one, source=source, cursor=source.index(words) + len(words))
        assert reply["ok"], reply
        return reply
    reply = matches("        im")
    assert reply["matches"] == ["image: ", "imagePullPolicy: "] and reply["kinds"][0] == "string", reply
    assert reply["start"] == TYPED.index("im\n") and len(reply["details"]) == 2, reply
    assert matches("  rest")["matches"] == ["restartPolicy: "]
    assert matches("hostNetwork: t")["matches"] == ["true"]
    assert matches("        resources:\n          l", TYPED.replace("limits", "l"))["matches"] == ["limits:"]
    assert matches("kind: J")["matches"] == ["Job"]
    assert "batch/v1" in matches("apiVersion: b")["matches"]
    assert matches("name: ")["matches"] == []
    told = matches("      conta", what="inspect")["data"]["text/plain"]
    assert told.startswith("Job.spec.template.spec.containers <[]Container>") and "image" not in told.split("Fields")[0], told


def test_names_of_objects_are_completed_where_a_cluster_is_used(t):
    k = Kernel(t, "", "--allow", "cluster", env=sandbox(t))
    made = k.run('k8s.create {apiVersion = "v1", kind = "ConfigMap", metadata = {name = "settings"}}', 'effects="cluster"')
    assert made.state == "ok", made
    source = "%%writefile p.yaml\napiVersion: v1\nkind: Pod\nspec:\n  volumes:\n  - configMap:\n      name: s\n"
    one = k.insert(source)
    reply = k.ask(type="complete", cell=one, source=source, cursor=len(source) - 1)
    assert reply["matches"] == ["settings"] and reply["kinds"] == ["ConfigMap"], reply


def test_shellcheck_is_asked_where_it_is(t):
    folder = t.dir()
    write(folder, "shellcheck", "#!/bin/sh\ncat >/dev/null\necho '{\"comments\": [{\"line\": 2, \"endLine\": 2, \"column\": 6, "
                                "\"endColumn\": 8, \"level\": \"warning\", \"code\": 2086, \"message\": \"Double quote.\"}]}'\nexit 1\n")
    os.chmod(os.path.join(folder, "shellcheck"), 0o755)
    write(folder, "n.lua", "-- %% S\n%%bash\nx=1\necho $x\n")
    done = sh(FIRESTEEL, "check", "n.lua", cwd=folder, env={"PATH": folder + ":" + os.environ["PATH"]})
    assert done.code == 2 and done.out == "n.lua:4: cell 1 (S): warning: Double quote. (SC2086)\n", done


run(globals())
