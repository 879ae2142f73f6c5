# SPDX-License-Identifier: MIT
"""JobSet, Kubeflow Trainer, KubeRay and Kueue with their own manifests: accounts, rights, webhooks, certificates that they make
themselves. Their programs are of this machine, in pods of busybox. Not part of a cluster unless it is asked for (`--with
engines`): Kueue's webhooks stand before every Pod, Deployment and Job."""
import subprocess
import time

import yaml

import images
from kubernetes import BIN, CACHE
from operators import Operator

KUEUE = """apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: ":8081"}
metrics: {bindAddress: "0"}
webhook: {port: 9443}
leaderElection: {leaderElect: false}
integrations: {frameworks: [batch/job, kubeflow.org/mpijob, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob, ray.io/rayjob,
  ray.io/raycluster, sparkoperator.k8s.io/sparkapplication]}
featureGates: {SparkApplicationIntegration: true}
"""
# name: folder of its manifests, namespace, Deployment
ENGINES = {"jobset": ("default", "jobset-system", "jobset-controller-manager"),
           "trainer": ("overlays/manager", "kubeflow-system", "kubeflow-trainer-controller-manager"),
           "kuberay": ("default", "ray-system", "kuberay-operator"),
           "kueue": ("default", "kueue-system", "kueue-controller-manager")}


class Engines(Operator):
    programs = tuple(ENGINES)

    def definitions(self):
        return []  # they are made with the rest, below

    @staticmethod
    def manifests(name):
        """The objects of its kustomization; the one that fetches JobSet from elsewhere is left out."""
        folder = CACHE / "manifests" / name / ENGINES[name][0]
        kustomization = folder / "kustomization.yaml"
        text = kustomization.read_text(encoding="utf-8")
        kustomization.write_text("".join(line for line in text.splitlines(True) if "third-party/jobset" not in line), encoding="utf-8")
        done = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=True)
        return [one for one in yaml.safe_load_all(done.stdout) if one]

    @staticmethod
    def suit(name, one):
        """Its Deployment with the program of this machine, and without what a small node does not have."""
        home = ENGINES[name][1]
        if name == "kuberay":  # its manifests say namespace default
            for where in (one["metadata"], *one.get("subjects", [])):
                if "namespace" in where:
                    where["namespace"] = home
        if one["kind"] == "ConfigMap" and name == "kueue":
            one["data"] = {"controller_manager_config.yaml": KUEUE}
        if one["kind"] != "Deployment":
            return one
        one["spec"]["strategy"] = {"type": "Recreate"}
        spec = one["spec"]["template"]["spec"]
        container = spec["containers"][0]
        for field in ("resources", "livenessProbe"):
            container.pop(field, None)
        container.update(image=images.BUSYBOX, imagePullPolicy="Never", command=[f"/engines/{name}"])
        container["readinessProbe"].update(initialDelaySeconds=0, periodSeconds=1, timeoutSeconds=20, failureThreshold=60)
        container.setdefault("volumeMounts", []).append({"name": "engines", "mountPath": "/engines", "readOnly": True})
        spec.setdefault("volumes", []).append({"name": "engines", "hostPath": {"path": str(BIN)}})
        spec.setdefault("securityContext", {})["runAsUser"] = 65532
        spec["terminationGracePeriodSeconds"] = 1
        if name == "kuberay":
            container.setdefault("args", []).append("--enable-leader-election=false")
            container.setdefault("env", []).append({"name": "ENABLE_INIT_CONTAINER_INJECTION", "value": "false"})
        return one

    def start(self):
        all_of = [self.suit(name, one) for name in ENGINES for one in self.manifests(name)]
        homes = {one["metadata"]["name"] for one in all_of if one["kind"] == "Namespace"}
        all_of = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": home}}
                  for _, home, _ in ENGINES.values() if home not in homes] + all_of
        first = [one for one in all_of if one["kind"] in ("CustomResourceDefinition", "Namespace")]
        hooks = [one for one in all_of if one["kind"].endswith("WebhookConfiguration")]
        self.cluster.create(*first)
        self.cluster.wait("the kinds of the engines", lambda: self.cluster.asks(
            "wait", "--for=condition=Established", "--timeout=10s", "crd", "--all"))
        # Kueue's webhooks would refuse the Deployments of the others while it is not ready
        self.cluster.create(*(one for one in all_of if one not in first and one not in hooks), *hooks)

    def wait(self):
        for _, home, deployment in ENGINES.values():
            self.wait_for_deployment(deployment, home)
        # a webhook has its authority a moment after its pod is ready
        plain = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "x"}, "spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "x", "image": images.BUSYBOX}]}}}}
        self.cluster.wait("Kueue's webhooks", lambda: not self.cluster.refusal(plain, "--namespace=default"))
        time.sleep(1)
