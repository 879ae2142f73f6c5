# SPDX-License-Identifier: MIT
"""For the cases on the cluster: a namespace and a home of one's own, kubectl, and notebooks run there."""
import fcntl
import itertools
import json
import os
import shutil

import images
import layers
import objects
import tap
from cluster import BIN
from kubernetes import NODE, PLAIN, TLS  # for the cases
from operators import Spark, account

FOLDER = os.environ.get("FIRESTEEL_CLUSTER", "")
KUBECONFIG = f"{FOLDER}/kubeconfig"
KUBECTL = str(BIN / "kubectl") if (BIN / "kubectl").exists() else "kubectl"
numbers = itertools.count(1)
REGISTRY = f"http://{NODE}:{PLAIN}"
MADE = "jobs,services,secrets,pods,networkpolicies,pvc"
BY_OPERATORS = MADE + ",mpijobs,sparkapplications"
SPARK = "a namespace where the Spark operator looks"


def where_spark_runs(t):
    """One of these that no other case has now."""
    def free():
        for name in Spark.OWN:
            lock = open(f"{FOLDER}/{name}.lock", "w", encoding="utf-8")  # pylint: disable=consider-using-with
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                t.after(lock.close)
                return name
            except BlockingIOError:
                lock.close()
        return None
    free.__doc__ = "a namespace where the Spark operator looks is free"
    return tap.eventually(free, 600)


class Place:
    def __init__(self, t, namespace=None):
        self.dir = t.dir()
        self.namespace = where_spark_runs(t) if namespace == SPARK else namespace or f"case-{os.getpid()}-{next(numbers)}"
        self.env = {"KUBECONFIG": KUBECONFIG, "HOME": self.dir, "XDG_DATA_HOME": None, "XDG_STATE_HOME": None,
                    "XDG_CONFIG_HOME": None, "XDG_CACHE_HOME": None, "DOCKER_CONFIG": None, "JAVA_HOME": tap.QUICK_JAVA}
        layers.know_worker(f"{self.dir}/.local/share")
        if namespace == SPARK:  # the case before may have left what its cluster removes some minutes later
            served = self.kubectl("api-resources", "-o", "name").out
            kinds = [k for k in ("sparkapplications", "workflows", "deployments", "services", "jobs", "pods") if f"{k}." in served or f"\n{k}\n" in served]
            self.kubectl("delete", ",".join(kinds), "-l", "firesteel/run", "--ignore-not-found", timeout=120)
        if not namespace:
            self.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
            t.after(lambda: self.kubectl("delete", "namespace", self.namespace, "--wait=false"))
            tap.eventually(lambda: self.find("sa", "default") and self.find("cm", "kube-root-ca.crt"))

    def kubectl(self, *argv, input=None, code=0, timeout=60):
        done = tap.sh(KUBECTL, "-n", self.namespace, *argv, env={**self.env, "KUBECONFIG": KUBECONFIG}, input=input, timeout=timeout)
        assert code is None or done.code == code, (argv, done)
        return done

    @property
    def objects(self):
        return objects.objects(KUBECONFIG)

    def create(self, *things):
        for thing in things:
            self.objects.create(self.namespace, thing)

    def account(self, t, name):
        """A service account that may do here what pods of drivers and steps do."""
        self.create(*account(name, self.namespace))
        t.after(lambda: self.kubectl("delete", f"serviceaccount/{name}", f"rolebinding/{name}"))

    def find(self, kind, name):
        """The object, None when there is none."""
        return self.objects.get(self.namespace, kind, name)

    def get(self, kind, name):
        found = self.find(kind, name)
        assert found, f"there is no {kind} {name} in {self.namespace}"
        return found

    def narrow(self, context, verbs, resources):
        """From now on the user of this context may do nothing but that."""
        config = os.path.join(self.dir, "narrow")
        self.kubectl("create", "serviceaccount", "narrow")
        self.kubectl("create", "role", "narrow", f"--verb={verbs}", f"--resource={resources}")
        self.kubectl("create", "rolebinding", "narrow", "--role=narrow", f"--serviceaccount={self.namespace}:narrow")
        shutil.copy(KUBECONFIG, config)
        token = self.kubectl("create", "token", "narrow").out.strip()
        for words in (("set-credentials", "narrow", f"--token={token}"), ("set-context", context, "--cluster=test", "--user=narrow")):
            done = tap.sh(KUBECTL, "config", "--kubeconfig", config, *words)
            assert done.code == 0, done
        self.env["KUBECONFIG"] = config

    def ended(self, pod, seconds=60):
        """The phase in which the pod ended."""
        def phase():
            found = self.get("pod", pod)["status"]["phase"]
            return found if found in ("Succeeded", "Failed") else None
        phase.__doc__ = f"pod {pod} ends"
        return tap.eventually(phase, seconds)

    def run(self, notebook, *options, allow="cluster,destructive", timeout=300):
        """firesteel run of a notebook, given as a file or as its text."""
        if "\n" in notebook:
            path = os.path.join(self.dir, "notebook.lua")
            with open(path, "w", encoding="utf-8") as f:
                f.write(notebook)
            notebook = path
        context = ("--context", "admin", "-n", self.namespace)
        return tap.sh(tap.FIRESTEEL, "run", notebook, *context, "--allow", allow, *options, cwd=self.dir, env=self.env,
                      timeout=timeout)

    def build(self, name, base=None):
        """Builds and pushes an image with the worker; the name that pods pull it by."""
        more = f', from = "{base}"' if base else ""
        done = self.run(f'img = image.build {{ tag = "{name}"{more} }}:push()\nio.open("ref", "w"):write(img.ref):close()\n', "--registry", REGISTRY)
        assert done.code == 0, done
        with open(f"{self.dir}/ref", encoding="utf-8") as f:
            return f.read()

    def left(self, labels="", kinds=MADE):
        """What runs have made here and is there still: KIND/NAME of each."""
        return self.objects.names(self.namespace, kinds, labels)

    def nothing_left(self, labels="", kinds=MADE):
        def none():
            return not self.left(labels, kinds=kinds)
        none.__doc__ = f"all that runs have made in {self.namespace} goes"
        tap.eventually(none, 60)


def with_spark(place):
    """A home whose image store has the image with Spark, as a pull would bring it there: blobs never change, the index is replaced."""
    shutil.copytree(f"{tap.CACHE}/images/spark", f"{place.dir}/.local/share/firesteel/images", copy_function=os.link, dirs_exist_ok=True)
    return place


def pod(name, *command, **more):
    container = {"name": "main", "image": images.BUSYBOX, "command": list(command), **more}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}


BUSYBOX_POD = json.dumps(pod("sleeper", "sleep", "600"))
