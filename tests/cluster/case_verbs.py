# SPDX-License-Identifier: MIT
"""Small verbs beside the real kubectl: what it says and what it finds afterwards is the measure."""
import json
import os
import signal
import subprocess

from place import KUBECONFIG, KUBECTL, Place

import images

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
