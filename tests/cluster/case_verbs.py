# SPDX-License-Identifier: MIT
"""Small verbs beside the real kubectl: what it says and what it finds afterwards is the measure."""
import json
import os
import re
import signal
import subprocess

from place import KUBECONFIG, KUBECTL, Place

import images
import tap

DEPLOYMENT = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, labels: {{tier: cpu, old: x}}}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{{name: main, image: "{images.BUSYBOX}", command: [sleep, "600"]}}]
"""


def cell(place, code, allow="cluster,destructive", status=0, options=()):
    """What a cell prints, without the marks of the run around it."""
    done = place.run(f'-- %% Verbs effects="cluster,destructive"\n{code}\n', "--no-preflight", *options, allow=allow)
    assert done.code == status, done
    return done.out


def managed(place, kind, name):
    """The object with who changed which field."""
    return json.loads(place.kubectl("get", kind, name, "-o", "json", "--show-managed-fields").out)


def test_labels_and_annotations(t):
    place = Place(t)
    place.kubectl("create", "-f", "-", input=DEPLOYMENT)
    out = cell(place, """
local web = k8s.get("deploy", "web")
print(pcall(k8s.label, web, { tier = "gpu" }))
print(k8s.label(web, { tier = "gpu", rank = 3, old = false }, { overwrite = true }))
k8s.label("deploy/web", { "team=train", "none-" })
web:annotate { note = "it's x=y", ["kubectl.kubernetes.io/none-"] = true }
print(pcall(k8s.label, "deploy/web", { ["a-"] = true, a = "1" }))
""")
    kubectl = place.kubectl("label", "deploy/web", "tier=other", code=1).err
    assert "'tier' already has a value (gpu), and --overwrite is false" in kubectl, kubectl
    assert 'the label tier already has the value "cpu"; overwrite = true changes it' in out, out
    assert "a is named twice" in out, out
    meta = managed(place, "deploy", "web")["metadata"]
    assert meta["labels"] == {"tier": "gpu", "rank": "3", "team": "train"}, meta
    assert meta["annotations"]["note"] == "it's x=y", meta
    assert [m["manager"] for m in meta["managedFields"] if "f:tier" in str(m)] == ["firesteel"], meta["managedFields"]


def test_a_label_meets_another_writer(t):
    """Somebody changes the object all the time: each label is set on the object as it is then, and nothing is lost."""
    place = Place(t)
    place.kubectl("create", "configmap", "busy")
    writer = subprocess.Popen(["sh", "-c", f"while :; do {KUBECTL} -n {place.namespace} annotate cm busy --overwrite n=$RANDOM$(date +%N); done"],
                              env={**os.environ, "KUBECONFIG": KUBECONFIG}, stdout=subprocess.DEVNULL, start_new_session=True)
    t.after(lambda: (os.killpg(writer.pid, signal.SIGKILL), writer.wait()))
    out = cell(place, """
for i = 1, 60 do k8s.label("cm/busy", { ["l" .. i] = "x" }) end
print(pcall(k8s.label, "cm/busy", { l1 = "y" }))
""")
    assert "already has the value" in out, out
    meta = place.get("cm", "busy")["metadata"]
    assert set(meta["labels"]) == {f"l{i}" for i in range(1, 61)} and "n" in meta["annotations"], meta


def test_scale_goes_through_the_subresource(t):
    place = Place(t)
    place.kubectl("create", "-f", "-", input=DEPLOYMENT)
    out = cell(place, """
local web = k8s.scale("deploy/web", 2, { current_replicas = 1 })
print(web, pcall(k8s.scale, web, 5, { current_replicas = 7 }))
expect(web):reaches("Available", "60s")
print("now", #k8s.list("pods", { selector = "app=web" }))
print(pcall(k8s.scale, "cm/kube-root-ca.crt", 1))
print(pcall(k8s.scale, "deploy/none", 1))
""")
    refused = place.kubectl("scale", "cm/kube-root-ca.crt", "--replicas=1", code=1).err
    assert "could not find the requested resource" in refused, refused  # ours says more
    for text in ("deployment.apps/web", "deployment web has 2 replicas, not 7", "now\t2",
                 "configmaps cannot be scaled: the kind has no subresource scale; these have: replicationcontrollers, "
                 "deployments.apps, replicasets.apps, statefulsets.apps", 'deployments.apps "none" not found'):
        assert text in out, (text, out)
    web = managed(place, "deploy", "web")
    assert web["spec"]["replicas"] == 2
    assert [m.get("subresource") for m in web["metadata"]["managedFields"] if m["manager"] == "firesteel"] == ["scale"]


def test_scale_needs_rights_on_the_subresource_only(t):
    """Also where a resume looks at what was set."""
    place = Place(t)
    place.kubectl("create", "-f", "-", input=DEPLOYMENT)
    place.narrow("admin", "get,patch", "deployments/scale")
    notebook = '-- %% Scale effects="cluster"\nk8s.scale("deploy/web", 2)\n-- %% Stop\nassert(io.open "go")\n'
    stopped = place.run(notebook, "--no-preflight")
    assert stopped.code == 1 and "forbidden" not in stopped.out + stopped.err, stopped
    with open(os.path.join(place.dir, "go"), "w", encoding="utf-8"):
        pass
    resumed = place.run(notebook, "--no-preflight", "--resume", "last")
    assert resumed.code == 0 and "verified" in resumed.out + resumed.err, resumed


def test_items_that_a_patch_sets_are_looked_at(t):
    """A mount is known by its path, and a list from which a patch takes something counts as a whole."""
    place = Place(t)
    place.kubectl("create", "-f", "-", input=DEPLOYMENT)
    place.kubectl("set", "env", "deploy/web", "A=1", "PASSWORD=not-for-journals", "B=2")

    def names():
        return [e["name"] for e in place.get("deploy", "web")["spec"]["template"]["spec"]["containers"][0]["env"]]

    notebook = """-- %% Patch effects="cluster"
k8s.patch("deploy/web", { spec = { template = { spec = { volumes = { { name = "data", emptyDir = {} } }, containers = { { name = "main",
  volumeMounts = { { name = "data", mountPath = "/a" }, { name = "data", mountPath = "/b" } },
  env = { { ["$patch"] = "delete", name = "A" } } } } } } } }, { type = "strategic" })
-- %% Json effects="cluster"
k8s.patch("deploy/web", firesteel.array { { op = "remove", path = "/spec/template/spec/containers/0/env/1" } }, { type = "json" })
-- %% Stop
assert(io.open "go")
"""
    assert place.run(notebook, "--no-preflight").code == 1
    assert names() == ["PASSWORD"], names()
    found = tap.sh("grep", "-rl", "not-for-journals", place.dir)
    assert found.code == 1, found
    resumed = place.run(notebook, "--no-preflight", "--resume", "last")
    assert (resumed.out + resumed.err).count("verified") >= 2, resumed
    place.kubectl("set", "env", "deploy/web", "C=3")
    place.run(notebook, "--no-preflight", "--resume", "last")
    assert names() == ["PASSWORD"], "done again: %s" % names()


def test_a_restart_makes_the_pods_anew(t):
    """As kubectl rollout restart: the same time in the template, by the same rules."""
    place = Place(t)
    place.kubectl("create", "-f", "-", input=DEPLOYMENT)
    out = cell(place, """
local web = k8s.get("deploy", "web")
expect(web):reaches("Available", "60s")
k8s.restart("deploy/web")
expect(web):reaches("Available", "60s")
print(pcall(k8s.restart, "cm/kube-root-ca.crt"))
k8s.patch(web, { spec = { paused = true } })
print(pcall(k8s.restart, web))
""")
    for text in ("configmaps are not restarted: deployments, statefulsets and daemonsets are", "is paused"):
        assert text in out, (text, out)
    name = "kubectl.kubernetes.io/restartedAt"
    ours = managed(place, "deploy", "web")
    assert name in ours["spec"]["template"]["metadata"]["annotations"], ours
    assert ours["metadata"]["generation"] == 3, ours["metadata"]  # made, restarted, paused
    place.kubectl("patch", "deploy", "web", "-p", '{"spec":{"paused":false}}')
    place.kubectl("rollout", "restart", "deploy/web")
    theirs = managed(place, "deploy", "web")
    assert len(theirs["spec"]["template"]["metadata"]["annotations"][name]) == len(ours["spec"]["template"]["metadata"]["annotations"][name])


def test_a_resource_of_one_s_own_is_scaled(t):
    """A CRD says in which fields its scale is: only the subresource knows."""
    place = Place(t)
    place.kubectl("apply", "-f", "-", input=CRD)
    t.after(lambda: place.kubectl("delete", "crd", "fleets.tests.example.com", "--wait=false"))
    place.kubectl("wait", "--for=condition=Established", "crd/fleets.tests.example.com", "--timeout=60s")
    place.kubectl("create", "-f", "-", input=FLEET)
    cell(place, 'k8s.scale("fleet/f", 4)')
    assert place.get("fleet", "f")["spec"] == {"ships": 4}


def test_what_has_no_grant_and_no_right(t):
    place = Place(t)
    place.kubectl("create", "-f", "-", input=DEPLOYMENT)
    cell(place, 'k8s.scale("deploy/web", 0)', allow="local", status=3)
    cell(place, 'k8s.label("deploy/web", { a = "b" })', allow="local", status=3)
    out = cell(place, 'print(pcall(k8s.scale, "deploy/web", 0))\nprint(pcall(k8s.label, "deploy/web", "a=b"))',
               options=("--context", "user"))
    assert out.count("forbidden") == 2 and 'cannot get resource "deployments/scale"' in out, out
    web = place.get("deploy", "web")
    assert web["spec"]["replicas"] == 1 and "a" not in web["metadata"]["labels"], web


def test_whoami(t):
    place = Place(t)
    for context in ("admin", "cert", "user"):
        out = cell(place, 'print(k8s.whoami())\nprint("I am " .. k8s.whoami().username)', options=("--context", context))
        kubectl = place.kubectl("--context", context, "auth", "whoami").out
        for line in kubectl.splitlines():
            assert f"    {line}\n" in out, (kubectl, out)
        name = next(line.split()[1] for line in kubectl.splitlines() if line.startswith("Username"))
        assert f"I am {name}\n" in out, out


FLEET = """
apiVersion: tests.example.com/v1
kind: Fleet
metadata: {name: f}
spec: {ships: 1}
"""

CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fleets.tests.example.com}
spec:
  group: tests.example.com
  scope: Namespaced
  names: {plural: fleets, singular: fleet, kind: Fleet}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.ships, statusReplicasPath: .status.ships}}
    schema:
      openAPIV3Schema:
        type: object
        description: Ships that sail together.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [ships]
            properties:
              ships: {type: integer, description: How many ships there are.}
              colour: {type: string, enum: [red, blue, green, white, black]}
              flags: {type: object, additionalProperties: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
"""

FIELDS = ("pods", "pods.spec.containers", "pods.spec.containers.livenessProbe.httpGet.port", "pods.spec.dnsPolicy",
          "pods.spec.containers.resources.limits", "deploy.spec.strategy", "deployments.apps.spec.template.spec.volumes", "po.metadata.labels",
          "jobs.spec.template.spec.tolerations", "hpa.spec.metrics", "events.eventTime", "crd.spec.versions.schema.openAPIV3Schema",
          "sparkapplication.spec.driver", "sparkapp.spec.restartPolicy", "mpijobs.spec.runPolicy", "fleets", "fleet.spec.colour", "fleet.spec.flags",
          "fleet.status")


def explained(place, calls):
    """What k8s.explain returns for each call, unchanged."""
    cell(place, "\n".join(f'local f = io.open("{i}", "w") f:write(k8s.explain({call})) f:close()' for i, call in enumerate(calls)))
    return [open(os.path.join(place.dir, str(i)), encoding="utf-8").read() for i in range(len(calls))]


def test_explain_is_that_of_kubectl(t):
    place = Place(t)
    place.kubectl("apply", "-f", "-", input=CRD)
    t.after(lambda: place.kubectl("delete", "crd", "fleets.tests.example.com", "--wait=false"))
    tap.eventually(lambda: place.kubectl("explain", "fleets", code=None).code == 0, 60)
    asked = [(words, recursive) for words in FIELDS for recursive in (False, True)]
    texts = explained(place, [f'"{words}", {{ recursive = {str(recursive).lower()} }}' for words, recursive in asked])
    for (words, recursive), text in zip(asked, texts):
        kubectl = place.kubectl("explain", words, f"--recursive={str(recursive).lower()}").out
        assert text + "\n" == kubectl, (words, recursive, text, kubectl)
    one, = explained(place, ['"hpa.spec", { api_version = "autoscaling/v1" }'])
    assert one + "\n" == place.kubectl("explain", "hpa.spec", "--api-version=autoscaling/v1").out


def test_explain_of_what_is_not_there(t):
    place = Place(t)
    out = cell(place, """
for _, words in ipairs { "pods.spec.contaners", "podz", "sparkapp.spec.driver.corez", "pods.spec.nodeName.x" } do
  print(pcall(k8s.explain, words))
end
print(pcall(k8s.explain, "pods", { api_version = "v9" }))
print((k8s.get("sa/default"):explain "secrets.name"):match "FIELD[^\\n]*")
""")
    assert 'field "contaners" does not exist' in place.kubectl("explain", "pods.spec.contaners", code=1).err
    for text in ('pods.spec has no field "contaners"; did you mean containers?: it has activeDeadlineSeconds, affinity,', "did you mean pods?",
                 'sparkapplications.spec.driver has no field "corez"; did you mean cores?',
                 'pods.spec.nodeName has no field "x", and no fields that are described', 'has no kind "pods" in v9', "FIELD: name <string>"):
        assert text in out, (text, out)


SCALARS = ["-c", "-", "- x", "?x", "? x", ":x", "a: b", "a:", "a #b", "#a", "'q'", '"d"', "it's", "*", "&a", "!x", "|", "> y", "%a", "@a", "`a",
           "{a}", "[a]", "a, b", "yes", "No", "on", "y", "~", "null", "1", "1.0", "1e3", "0x1f", "0o17", "017", "1_000", "12:30", "8080:80",
           "190:20:30", "2020-01-02", "2020-01-02T03:04:05Z", "1234-abcd", "2020-1-2 x", ".inf", ".nan", "", "  lead", "trail ", "a\tb", "=", "<<",
           "<", "---", "--- a", "...", "é ü", "a\nb", "a\nb\n", "a\n\nb\n\n", " a\nb", "a \nb", "0", "+1", "-1", "+x", "1.2.3", "0b11",
           "1e", "e1", ".5", "5.", "true", "tRue", "x" * 200 + " y" * 100, ": " + "ab " * 90, "say \"x\"\t" + "some words  and more " * 20, "a\\b", "a'b\"c: d"]


def test_yaml_is_that_of_kubectl(t):
    """What has to be quoted, and how. Ours quotes two texts more, which readers of YAML 1.1 take for a merge and a default."""
    place = Place(t)
    place.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scalars"},
                  "data": {f"k{i:02}": value for i, value in enumerate(SCALARS)}})
    cell(place, 'local f = io.open("ours", "w") f:write(k8s.get("cm/scalars"):yaml(), "\\n") f:close()')
    with open(os.path.join(place.dir, "ours"), encoding="utf-8") as f:
        ours = f.read()
    kubectl = place.kubectl("get", "cm/scalars", "-o", "yaml").out
    expected = re.sub(r"^(  k\d+: )(=|<<)$", r'\1"\2"', kubectl, flags=re.MULTILINE)
    assert ours == expected, [pair for pair in zip(ours.splitlines(), expected.splitlines()) if pair[0] != pair[1]]


def hunks(text):
    """A difference without what kubectl cannot know or we do not print: folders, and when files were written."""
    return [re.sub(r"^(---|\+\+\+|diff -u -N).*/", r"\1 ", line).split("\t")[0] for line in text.splitlines()]


CHANGES = ("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {tier: gpu}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: side, image: "localhost/busybox:2"}
      - {name: main, image: "localhost/busybox:1", command: [sleep, "60"], env: [{name: A, value: "1"}, {name: B, value: "2"}]}
      volumes: [{name: v, emptyDir: {}}]
""", """
apiVersion: v1
kind: ConfigMap
metadata: {name: text}
data:
  file: |
    one
    two and more
    three
    five
""", """
apiVersion: v1
kind: Secret
metadata: {name: hidden}
stringData: {same: as-before-and-long, other: the-new-value, more: nobody-sees-it}
""")


def test_diff_is_that_of_kubectl(t):
    place = Place(t)
    before = "---".join((DEPLOYMENT.replace("tier: cpu, old: x", "tier: cpu"), CHANGES[1].replace("two and more", "two").replace("five", "four"),
                         CHANGES[2].replace("the-new-value", "the-old-value").replace(", more: nobody-sees-it", "")))
    cell(place, f"k8s.apply [[{before}]]")
    place.kubectl("rollout", "status", "deployment/web", "--timeout=120s")  # its status moves until then
    after = "---".join(CHANGES)
    with open(os.path.join(place.dir, "after.yaml"), "w", encoding="utf-8") as f:
        f.write(after)
    # firesteel's marks are no part of the manifest; kubectl would take those away that an apply of ours sets
    theirs = "---".join(marked(text, place.get(kind, name)["metadata"])
                        for text, kind, name in zip(CHANGES, ("deploy", "cm", "secret"), ("web", "text", "hidden")))
    out = cell(place, f"""
local differs, text = k8s.diff "after.yaml"
local f = io.open("ours", "w") f:write(text, "\\n") f:close()
print("differs", differs, (k8s.diff [[{before}]]))
""")
    kubectl = place.kubectl("diff", "--server-side", "--field-manager=firesteel", "-f", "-", input=theirs, code=1).out
    with open(os.path.join(place.dir, "ours"), encoding="utf-8") as f:
        ours = f.read()
    assert hunks(ours) == hunks(kubectl), (ours, kubectl)
    assert "differs\ttrue\tfalse" in out and "+  other: '*** (after)'" in ours and "+  more: '***'" in ours, out
    assert not any(word in out + ours for word in ("the-new-value", "the-old-value", "nobody-sees", "dGhlL")), out
    assert place.get("deploy", "web")["spec"]["replicas"] == 1


def marked(manifest, metadata):
    """The manifest with the labels and annotations by which we know our objects."""
    def own(what):
        return ", ".join(f"{k}: {json.dumps(v)}" for k, v in metadata.get(what, {}).items() if k.startswith(("firesteel/", "app.kubernetes.io/")))
    manifest = re.sub(r"metadata: \{(.*)\}", rf"metadata: {{\1, annotations: {{{own('annotations')}}}}}", manifest, count=1)
    if "labels: {tier" in manifest:
        return manifest.replace("labels: {tier", f"labels: {{{own('labels')}, tier", 1)
    return re.sub(r"metadata: \{(.*)\}", rf"metadata: {{\1, labels: {{{own('labels')}}}}}", manifest, count=1)


def test_diff_of_new_objects_and_conflicts(t):
    place = Place(t)
    place.kubectl("apply", "-f", "-", input=CHANGES[1])
    out = cell(place, f"""
print(k8s.diff({{ apiVersion = "v1", kind = "ConfigMap", metadata = {{ name = "new" }}, data = {{ a = "1" }} }}))
local changed = [[{CHANGES[1].replace("three", "3")}]]
print(pcall(k8s.diff, changed))
print(k8s.diff(changed, {{ force = true }}))
""")
    kubectl = place.kubectl("diff", "--server-side", "-f", "-", code=1, input="""
apiVersion: v1
kind: ConfigMap
metadata: {name: new}
data: {a: "1"}
""").out
    volatile = re.compile(r"(uid|creationTimestamp): .*")
    for line in hunks(volatile.sub(r"\1", kubectl)):
        assert line in [text.strip(" ") for text in hunks(volatile.sub(r"\1", out.replace("\n    ", "\n")))] or not line.strip(), (line, out)
    assert 'conflict with "kubectl-client-side-apply"' in out and "force=true" in out, out
    assert "-    three\n" in out.replace("\n    ", "\n") and "+    3\n" in out.replace("\n    ", "\n"), out
    assert place.kubectl("get", "cm/new", code=1)
