# SPDX-License-Identifier: MIT
"""Descriptions compared with those of the real kubectl: ours contain its text, letter by letter, below a summary."""
import os
import re
import time

from case_verbs import CRD, FLEET, cell
from place import Place, pod

import images
import tap

AGE = re.compile(r"\b\d+[smhd](\d+[smh])?\b")

RICH = f"""
apiVersion: v1
kind: Pod
metadata:
  name: rich
  labels: {{app: rich, zone: "1"}}
  annotations: {{note: "short", long: "{'word ' * 40}", lines: "one\\ntwo\\n"}}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  nodeSelector: {{kubernetes.io/os: linux}}
  topologySpreadConstraints:
  - {{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {{matchLabels: {{app: rich}}}}}}
  tolerations:
  - {{key: gpu, operator: Exists, effect: NoSchedule}}
  - {{key: a, value: b, effect: NoExecute, tolerationSeconds: 30}}
  initContainers:
  - {{name: first, image: "{images.BUSYBOX}", command: [sh, -c, "exit 0"]}}
  containers:
  - name: main
    image: "{images.BUSYBOX}"
    command: [sh, -c, "echo a\\nsleep 600"]
    args: [x, "y z"]
    ports: [{{containerPort: 80}}, {{containerPort: 443}}]
    resources: {{limits: {{cpu: 200m, memory: 64Mi}}, requests: {{cpu: 10m, memory: 16Mi}}}}
    livenessProbe: {{exec: {{command: [sh, -c, "true"]}}, periodSeconds: 60}}
    readinessProbe: {{httpGet: {{path: /ready, port: 80}}, initialDelaySeconds: 100}}
    startupProbe: {{tcpSocket: {{port: 443}}, failureThreshold: 100}}
    envFrom: [{{configMapRef: {{name: settings}}, prefix: X_}}, {{secretRef: {{name: none, optional: true}}}}]
    env:
    - {{name: A, value: "1"}}
    - {{name: LINES, value: "one\\ntwo"}}
    - {{name: EMPTY}}
    - {{name: NAME, valueFrom: {{fieldRef: {{fieldPath: metadata.name}}}}}}
    - {{name: IP, valueFrom: {{fieldRef: {{fieldPath: status.podIP}}}}}}
    - {{name: CPU, valueFrom: {{resourceFieldRef: {{resource: limits.cpu}}}}}}
    - {{name: MEMORY, valueFrom: {{resourceFieldRef: {{resource: requests.memory, divisor: 1Mi}}}}}}
    - {{name: SECRET, valueFrom: {{secretKeyRef: {{name: s, key: k, optional: true}}}}}}
    - {{name: SETTING, valueFrom: {{configMapKeyRef: {{name: settings, key: a}}}}}}
    volumeMounts: [{{name: work, mountPath: /work}}, {{name: map, mountPath: /map, readOnly: true, subPath: sub}}]
  - {{name: side, image: "{images.BUSYBOX}", command: [sleep, "600"]}}
  volumes:
  - {{name: work, emptyDir: {{sizeLimit: 1Gi}}}}
  - {{name: map, configMap: {{name: settings}}}}
  - {{name: host, hostPath: {{path: /tmp}}}}
  - {{name: hidden, secret: {{secretName: none, optional: true}}}}
  - {{name: down, downwardAPI: {{items: [{{path: labels, fieldRef: {{fieldPath: metadata.labels}}}}]}}}}
"""

OWNERS = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}, matchExpressions: [{{key: app, operator: In, values: [web, other]}}]}}
  template: &template
    metadata: {{labels: {{app: web}}, annotations: {{a: b}}}}
    spec:
      terminationGracePeriodSeconds: 1
      initContainers: [{{name: init, image: "{images.BUSYBOX}", command: ["true"]}}]
      containers: [{{name: main, image: "{images.BUSYBOX}", command: [sleep, "600"], ports: [{{containerPort: 80}}]}}]
      volumes: [{{name: v, emptyDir: {{}}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: stateful}}
spec:
  serviceName: none
  selector: {{matchLabels: {{app: stateful}}}}
  template: {{metadata: {{labels: {{app: stateful}}}}, spec: {{terminationGracePeriodSeconds: 1, containers: [{{name: main, image: "{images.BUSYBOX}", command: [sleep, "600"]}}]}}}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: everywhere}}
spec:
  selector: {{matchLabels: {{app: daemon}}}}
  template: {{metadata: {{labels: {{app: daemon}}}}, spec: {{nodeSelector: {{none: here}}, containers: [{{name: main, image: "{images.BUSYBOX}"}}]}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, type: NodePort, ports: [{{name: http, port: 80, targetPort: 8080}}, {{name: other, port: 81, targetPort: web}}]}}
---
apiVersion: v1
kind: Service
metadata: {{name: headless}}
spec: {{clusterIP: None, selector: {{app: stateful}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: texts}}
data: {{file: "one\\n\\ntwo\\n"}}
binaryData: {{b: AAEC}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data, labels: {{a: b}}}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: none, resources: {{requests: {{storage: 1Gi}}}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: done}}
spec:
  completions: 2
  completionMode: Indexed
  activeDeadlineSeconds: 600
  template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: "{images.BUSYBOX}", command: ["true"]}}]}}}}
---
apiVersion: batch/v1
kind: Job
metadata: {{name: failed}}
spec:
  backoffLimit: 0
  template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: "{images.BUSYBOX}", command: [sh, -c, "exit 7"]}}]}}}}
"""

# CronJobs, autoscalers, Ingresses, volumes, and what a namespace has.
OTHERS = f"""
apiVersion: batch/v1
kind: CronJob
metadata: {{name: idle, labels: {{a: b}}}}
spec:
  schedule: "0 3 * * 1"
  suspend: true
  startingDeadlineSeconds: 60
  jobTemplate:
    spec:
      completions: 2
      activeDeadlineSeconds: 90
      template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: "{images.BUSYBOX}", command: ["true"]}}]}}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {{name: busy}}
spec:
  schedule: "* * * * *"
  failedJobsHistoryLimit: 0
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: main, image: "{images.BUSYBOX}", command: [sleep, "600"]}}]}}}}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template: {{metadata: {{labels: {{app: web}}}}, spec: {{terminationGracePeriodSeconds: 1, containers: [{{name: main, image: "{images.BUSYBOX}", command: [sleep, "600"]}}]}}}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, ports: [{{name: http, port: 80, targetPort: 8080}}, {{name: other, port: 81, targetPort: 8081}}]}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: all, annotations: {{note: x}}}}
spec:
  ingressClassName: none
  defaultBackend: {{service: {{name: web, port: {{number: 80}}}}}}
  tls: [{{hosts: [a.example.com, b.example.com], secretName: cert}}, {{hosts: [c.example.com]}}]
  rules:
  - host: a.example.com
    http:
      paths:
      - {{path: /, pathType: Prefix, backend: {{service: {{name: web, port: {{name: other}}}}}}}}
      - {{path: /files, pathType: Exact, backend: {{resource: {{apiGroup: example.com, kind: Bucket, name: files}}}}}}
  - http: {{paths: [{{path: /x, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 81}}}}}}}}]}}
  - host: nothing.example.com
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: plain, labels: {{a: b}}}}
spec: {{defaultBackend: {{service: {{name: web, port: {{name: http}}}}}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: scaler}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}
  minReplicas: 1
  maxReplicas: 3
  metrics:
  - {{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 80}}}}}}
  - {{type: Resource, resource: {{name: memory, target: {{type: AverageValue, averageValue: 100Mi}}}}}}
  - {{type: ContainerResource, containerResource: {{name: cpu, container: main, target: {{type: Utilization, averageUtilization: 50}}}}}}
  - {{type: Pods, pods: {{metric: {{name: asked}}, target: {{type: AverageValue, averageValue: "5"}}}}}}
  - {{type: Object, object: {{metric: {{name: hits}}, describedObject: {{apiVersion: v1, kind: Service, name: web}}, target: {{type: Value, value: "7"}}}}}}
  - {{type: External, external: {{metric: {{name: queue}}, target: {{type: AverageValue, averageValue: "30"}}}}}}
  behavior:
    scaleUp: {{stabilizationWindowSeconds: 30, policies: [{{type: Pods, value: 2, periodSeconds: 60}}]}}
    scaleDown: {{selectPolicy: Disabled}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: many}}
spec: {{hard: {{pods: "50", requests.cpu: "20"}}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {{name: best}}
spec: {{hard: {{pods: "40"}}, scopes: [BestEffort]}}
---
apiVersion: v1
kind: LimitRange
metadata: {{name: limits}}
spec: {{limits: [{{type: Container, max: {{cpu: "4"}}, default: {{cpu: 100m}}, defaultRequest: {{cpu: 1m}}, maxLimitRequestRatio: {{cpu: "1000"}}}}]}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {{name: puller}}
imagePullSecrets: [{{name: pull}}, {{name: missing}}]
secrets: [{{name: pull}}]
---
apiVersion: v1
kind: Secret
metadata: {{name: token, annotations: {{kubernetes.io/service-account.name: puller}}}}
type: kubernetes.io/service-account-token
---
apiVersion: v1
kind: Secret
metadata: {{name: pull}}
stringData: {{a: b}}
"""

# They belong to no namespace, so their names carry that of the case.
VOLUMES = """
apiVersion: v1
kind: PersistentVolume
metadata: {{name: "{0}-host", labels: {{a: b}}}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce, ReadOnlyMany]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: "{0}"
  hostPath: {{path: /tmp, type: Directory}}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{{key: zone, operator: In, values: [a, b]}}, {{key: disk, operator: Exists}}]
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: "{0}-nfs"}}
spec: {{capacity: {{storage: 2Gi}}, accessModes: [ReadWriteMany], nfs: {{server: files.example.com, path: /x}}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: "{0}-csi"}}
spec: {{capacity: {{storage: 3Gi}}, accessModes: [ReadWriteOncePod], volumeMode: Block, csi: {{driver: d.example.com, volumeHandle: h, volumeAttributes: {{a: b, c: d}}}}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: bound}}
spec: {{accessModes: [ReadWriteOnce], storageClassName: "{0}", resources: {{requests: {{storage: 1Gi}}}}}}
"""


def described(place, names):
    """Ours of each object, in one run."""
    cell(place, "\n".join(f'local f = io.open("{i}", "w") f:write(k8s.describe("{name}")) f:close()' for i, name in enumerate(names)))
    return [open(os.path.join(place.dir, str(i)), encoding="utf-8").read() for i in range(len(names))]


def parts(text):
    """The lines before the events, and the events without ages and widths: they are another second's."""
    text = re.sub("    (ConfigMapOptional: +<nil>|Optional: +false)", "    Optional: false", text)  # the first: kubectl before 1.34
    head, mark, events = text.partition("\nEvents:")
    return head, mark, sorted(re.sub(" +", " ", re.sub(r"x\d+ over", "xN over", AGE.sub("AGE", line))).replace("---", "") for line in events.splitlines())


def same(place, names):
    """Each object as kubectl describes it, and what stands before that: while both look, the cluster may go on."""
    heads = {}

    def equal():
        for name, ours in zip(names, described(place, names)):
            kubectl = place.kubectl("describe", name).out.rstrip("\n")
            start = ours.find("Name:")
            if name.startswith("daemonset/"):  # kubectl before 1.34 leaves its namespace out
                ours, kubectl = (re.sub(r"\nNamespace: .*", "", text) for text in (ours, kubectl))
            if name.startswith("node/"):  # ages of pods, times of heartbeats
                ours, kubectl = (re.sub(r"\d\d:\d\d:\d\d|" + AGE.pattern, "T", text) for text in (ours, kubectl))
                ours, kubectl = (re.sub(r"  +", "  ", text) for text in (ours, kubectl))
                start = ours.find("Name:")
            assert start >= 0 and parts(ours[start:].rstrip("\n")) == parts(kubectl), (name, difference(ours[start:], kubectl))
            heads[name] = ours[:start]
        return True

    for attempt in range(5):
        try:
            equal()
            return heads
        except AssertionError:
            if attempt == 4:
                raise
            time.sleep(1)


def difference(ours, kubectl):
    a, b = ours.splitlines(), kubectl.splitlines()
    return [pair for pair in zip(a, b) if pair[0] != pair[1]][:12] + [len(a), len(b)]


def test_pods(t):
    place = Place(t)
    place.kubectl("create", "configmap", "settings", "--from-literal=a=1")
    place.kubectl("create", "-f", "-", input=RICH)
    place.create(pod("crash", "sh", "-c", "exit 3") | {"spec": pod("crash", "sh", "-c", "exit 3")["spec"] | {"restartPolicy": "Always"}},
                 pod("over", "sh", "-c", "exit 9"), pod("noimage", "true", image="localhost/none:1", imagePullPolicy="Never"),
                 pod("large", "true", resources={"requests": {"cpu": "1000"}}))
    place.ended("over")

    def waits_again():  # not in the moment in which it runs
        status = place.get("pod", "crash")["status"]["containerStatuses"][0]
        return status["restartCount"] >= 2 and "waiting" in status["state"]
    tap.eventually(waits_again, 90)
    place.kubectl("wait", "--for=condition=PodScheduled", "pod/rich", "--timeout=60s")
    tap.eventually(lambda: "running" in str(place.get("pod", "rich")["status"].get("containerStatuses")), 60)
    heads = same(place, ["pod/rich", "pod/crash", "pod/over", "pod/noimage", "pod/large"])
    crash = heads["pod/crash"]
    assert "CrashLoopBackOff" in crash or "Error" in crash, crash
    assert re.search(r"main +.*no +[2-9] +exit 3 Error, \d+s ago", crash) and "Last warning: BackOff" in crash, crash
    assert re.search(r"main +exit 9 Error, \d+s ago", heads["pod/over"]), heads
    assert "ErrImageNeverPull" in heads["pod/noimage"] and "Insufficient cpu" in heads["pod/large"], heads


def test_owners_of_pods_and_what_they_use(t):
    place = Place(t)
    place.kubectl("create", "-f", "-", input=OWNERS)
    place.create(pod("user", "sleep", "600") | {"spec": pod("user", "sleep", "600")["spec"] | {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}})
    place.kubectl("create", "secret", "generic", "hidden", "--from-literal=password=never-shown-here")
    place.kubectl("wait", "--for=condition=Available", "deploy/web", "--timeout=90s")
    place.kubectl("wait", "--for=condition=Complete", "job/done", "--timeout=90s")
    place.kubectl("wait", "--for=condition=Failed", "job/failed", "--timeout=90s")
    place.kubectl("set", "env", "deploy/web", "A=2")
    place.kubectl("rollout", "status", "deploy/web", "--timeout=90s")
    place.kubectl("rollout", "status", "statefulset/stateful", "--timeout=90s")
    tap.eventually(lambda: len(place.left("app=web", "pods")) == 2, 60)
    sets = place.left(kinds="rs")
    heads = same(place, ["deploy/web", *sets, "statefulset/stateful", "daemonset/everywhere", "service/web", "service/headless", "cm/texts",
                         "pvc/data", "pod/user", "job/done", "job/failed", "secret/hidden"])
    assert "Failed" in heads["job/failed"] and "BackoffLimitExceeded" in heads["job/failed"], heads
    assert "Complete" in heads["job/done"] and "never-shown" not in "".join(heads.values()), heads
    assert "password:  16 bytes" in described(place, ["secret/hidden"])[0]


def test_nodes_and_kinds_of_one_s_own(t):
    place = Place(t)
    place.create(pod("asks", "sleep", "600", resources={"requests": {"cpu": "150m", "memory": "100Mi"}, "limits": {"memory": "1Gi"}}))
    place.kubectl("wait", "--for=condition=Ready", "pod/asks", "--timeout=60s")
    place.kubectl("apply", "-f", "-", input=CRD)
    t.after(lambda: place.kubectl("delete", "crd", "fleets.tests.example.com", "--wait=false"))
    tap.eventually(lambda: place.kubectl("create", "-f", "-", input=FLEET.replace("{ships: 1}", "{ships: 1, colour: red, flags: {aB: x}}"),
                                         code=None).code == 0, 60)
    same(place, ["node/node1", "fleet/f", "crd/fleets.tests.example.com", "ns/default"][:3])


def test_other_kinds(t):
    place = Place(t)
    volumes = [f"pv/{place.namespace}-{kind}" for kind in ("host", "nfs", "csi")]
    t.after(lambda: place.kubectl("delete", *volumes, "--wait=false", code=None))
    place.kubectl("create", "-f", "-", input=OTHERS)
    place.kubectl("create", "-f", "-", input=VOLUMES.format(place.namespace))
    place.kubectl("rollout", "status", "deploy/web", "--timeout=120s")
    tap.eventually(lambda: place.get("pvc", "bound")["status"].get("phase") == "Bound", 90)
    tap.eventually(lambda: place.get("hpa", "scaler").get("status", {}).get("conditions"), 90)
    tap.eventually(lambda: place.get("cronjob", "busy")["status"].get("active"), 150)
    place.kubectl("patch", "cronjob", "busy", "-p", '{"spec": {"suspend": true}}')
    same(place, ["cronjob/idle", "cronjob/busy", "ingress/all", "ingress/plain", "hpa/scaler", f"ns/{place.namespace}", "sa/puller", "sa/default",
                 *volumes, "pvc/bound"])
    assert "pull" in described(place, ["sa/puller"])[0]
