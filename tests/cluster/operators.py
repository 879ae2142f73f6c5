# SPDX-License-Identifier: MIT
"""What a test cluster has beside Kubernetes itself. Operators are Deployments as their charts have them, but for what is in
their pods: the programs and files of this machine, its network, and the rights of the admin. The metrics-server is a
program beside the API server."""
import shutil

import images
from kubernetes import BIN, CACHE, HERE, NODE

NAMESPACE = "spark-operator"
WEBHOOK = "spark-operator-webhook"  # what the operator's chart calls it
WEBHOOK_PORT = 9443


class Operator:
    program = ""  # its controller
    programs = ()  # all that it needs

    def __init_subclass__(cls):
        cls.programs = cls.programs or (cls.program,)

    def __init__(self, cluster):
        self.cluster = cluster

    @staticmethod
    def lacks():
        """What the machine does not have and it needs, apart from its program."""
        return []

    def definitions(self):
        """kubectl's arguments that name the files with its kinds."""
        return [word for file in sorted((CACHE / "crd" / self.program).glob("*.yaml")) for word in ("-f", file)]

    def wait_for_kinds(self):
        """An operator looks for them once, when it starts."""
        # kubectl fails at once where there are no conditions yet
        self.cluster.wait(f"the kinds of {self.program}", lambda: self.cluster.asks(
            "wait", "--for=condition=Established", "--timeout=10s", *self.definitions()))

    def deployment(self, name, namespace, health, arguments, env):
        """One pod that runs the program in the machine's root; health is the port that says whether it is ready."""
        labels = {"app.kubernetes.io/name": self.program, "app.kubernetes.io/instance": name}
        words = [f"{key}={value}" for key, value in {"PATH": "/usr/bin:/bin", **env}.items()]
        container = {
            "name": name, "image": images.BUSYBOX, "imagePullPolicy": "Never", "args": arguments,
            "command": ["chroot", "/machine", "/usr/bin/env", *words, str(BIN / self.program)],
            "volumeMounts": [{"name": "machine", "mountPath": "/machine"}],
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": health}, "periodSeconds": 1, "timeoutSeconds": 20,
                               "failureThreshold": 60}}
        return {"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": name, "namespace": namespace, "labels": labels},
                "spec": {"selector": {"matchLabels": labels}, "strategy": {"type": "Recreate"}, "template": {
                    "metadata": {"labels": labels},
                    "spec": {"hostNetwork": True, "terminationGracePeriodSeconds": 1, "containers": [container],
                             "volumes": [{"name": "machine", "hostPath": {"path": "/"}}]}}}}

    def wait_for_deployment(self, name, namespace):
        self.cluster.wait(f"the Deployment {name}", lambda: self.cluster.asks(
            "get", "deployment", name, "--namespace", namespace, "-o", "jsonpath={.status.readyReplicas}"))


def account(name, namespace):
    """An account that may do there what pods of drivers and steps do."""
    return ({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name, "namespace": namespace},
             "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
             "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}]})


class Spark(Operator):
    """It watches the namespace default, as its chart has it, and three for the cases; the account "spark" may do there what
    drivers do."""
    program = "spark-operator"
    OWN = ("spark-1", "spark-2", "spark-3")
    WATCHED = ("default", *OWN)

    @staticmethod
    def home():
        return next((CACHE / "pyspark").glob("lib/python3*/site-packages/pyspark"), None)

    @staticmethod
    def lacks():
        return ([] if shutil.which("java") else ["java"]) + ([] if Spark.home() else ["pyspark (tests/support/tool-pyspark)"])

    def start(self):
        c = self.cluster
        self.wait_for_kinds()
        c.create(*({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (NAMESPACE, *self.OWN)))
        c.create(*(one for name in self.WATCHED for one in account("spark", name)))
        c.serve_from_node(f"{WEBHOOK}-svc", NAMESPACE, None, [("webhook", WEBHOOK_PORT, "TCP")])
        # spark-submit finds the server by these two, and its rights by the third
        env = {"SPARK_HOME": str(self.home()), "KUBERNETES_SERVICE_HOST": NODE, "KUBERNETES_SERVICE_PORT": "6443",
               "KUBECONFIG": str(c.config), "JAVA_HOME": str(HERE.parent / "support" / "java")}
        common = ["start", "--namespaces=" + ",".join(self.WATCHED), "--leader-election=false"]
        c.create(
            self.deployment("spark-operator-controller", NAMESPACE, 8081, [
                "controller", *common, "--enable-ui-service=false", "--enable-metrics=false"], env),
            self.deployment(WEBHOOK, NAMESPACE, 8083, [
                "webhook", *common, "--health-probe-bind-address=:8083", f"--webhook-cert-dir={c.folder}/webhook",
                f"--webhook-port={WEBHOOK_PORT}", f"--webhook-svc-name={WEBHOOK}-svc",
                f"--webhook-svc-namespace={NAMESPACE}", f"--mutating-webhook-name={WEBHOOK}",
                f"--validating-webhook-name={WEBHOOK}"], env),
            *self.webhooks())

    # As the chart has them. The operator fills in the authority of its certificate.
    def webhooks(self):
        def webhook(verb, name, path, group, version, kinds, operations, **more):
            return {"name": f"{verb}{name}.sparkoperator.k8s.io", "admissionReviewVersions": ["v1"],
                    "clientConfig": {"service": {"name": f"{WEBHOOK}-svc", "namespace": NAMESPACE, "port": WEBHOOK_PORT,
                                                 "path": f"/{verb}{path}"}},
                    "sideEffects": "NoneOnDryRun", "failurePolicy": "Fail", "timeoutSeconds": 10,
                    "namespaceSelector": {"matchExpressions": [
                        {"key": "kubernetes.io/metadata.name", "operator": "In", "values": list(self.WATCHED)}]},
                    "rules": [{"apiGroups": [group], "apiVersions": [version], "resources": [kinds],
                               "operations": operations}], **more}

        def of_kind(verb, kind):
            path = f"-sparkoperator-k8s-io-v1beta2-{kind}"
            return webhook(verb, path, path, "sparkoperator.k8s.io", "v1beta2", f"{kind}s", ["CREATE", "UPDATE"])

        kinds = ("sparkapplication", "scheduledsparkapplication")
        pods = webhook("mutate", "--v1-pod", "--v1-pod", "", "v1", "pods", ["CREATE"], objectSelector={
            "matchLabels": {"sparkoperator.k8s.io/launched-by-spark-operator": "true"}})
        for configuration, verb, first in (("Mutating", "mutate", [pods]), ("Validating", "validate", [])):
            yield {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{configuration}WebhookConfiguration",
                   "metadata": {"name": WEBHOOK}, "webhooks": first + [of_kind(verb, kind) for kind in kinds]}

    # Its webhooks have an authority by then, and a wrong application is refused, by a server that is there.
    def wait(self):
        self.wait_for_deployment("spark-operator-controller", NAMESPACE)
        self.wait_for_deployment(WEBHOOK, NAMESPACE)
        wrong = {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": "x"},
                 "spec": {"type": "Python", "sparkVersion": "3.5.7", "mainApplicationFile": "local:///x.py",
                          "nodeSelector": {"a": "b"}, "driver": {"nodeSelector": {"a": "b"}}, "executor": {}}}
        self.cluster.wait("the Spark operator's webhook",
                          lambda: "node selector cannot" in self.cluster.refusal(wrong, "--namespace=default"))


class Mpi(Operator):
    program = "mpi-operator"

    def start(self):
        self.wait_for_kinds()
        self.cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mpi-operator"}})
        self.cluster.create(self.deployment("mpi-operator", "mpi-operator", 8080, ["--lock-namespace=mpi-operator"],
                                            {"KUBECONFIG": str(self.cluster.config)}))

    # It follows only a lease that it took.
    def wait(self):
        self.wait_for_deployment("mpi-operator", "mpi-operator")
        self.cluster.wait("the MPI operator", lambda: self.cluster.asks(
            "get", "lease", "--namespace=mpi-operator", "mpi-operator", "-o", "jsonpath={.spec.holderIdentity}"))


class Argo(Operator):
    """Its controller sees all namespaces. A workflow's pods run as the account "workflow", which is in the namespace
    default and may do there what its steps' objects need; cases make one in namespaces of their own."""
    program = "workflow-controller"
    programs = (program, "argoexec")
    EXECUTOR = "localhost/argoexec:1"
    PLAIN_STATUS = 16 << 10  # bytes of a Workflow beyond which its status is compressed: 1 MiB unless it is said

    def start(self):
        c = self.cluster
        self.wait_for_kinds()
        # what its installation brings: who may edit a namespace may have workflows there
        c.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "argo"}},
                 {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                  "metadata": {"name": "argo-aggregate-to-edit",
                               "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
                  "rules": [{"apiGroups": ["argoproj.io"], "resources": ["*"], "verbs": ["*"]}]},
                 {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                  "metadata": {"name": "spark-aggregate-to-edit",
                               "labels": {"rbac.authorization.k8s.io/aggregate-to-edit": "true"}},
                  "rules": [{"apiGroups": ["sparkoperator.k8s.io"], "resources": ["*"], "verbs": ["*"]}]},
                 *account("workflow", "default"),
                 # how often resources are looked at: every 5 s unless it is said
                 {"apiVersion": "v1", "kind": "ConfigMap",
                  "metadata": {"name": "workflow-controller-configmap", "namespace": "argo"},
                  "data": {"metricsConfig": "enabled: false\n",
                           "executor": "env:\n- {name: RESOURCE_STATE_CHECK_INTERVAL, value: 1s}\n"}})
        names = "passwd: files\ngroup: files\nhosts: files dns\n"
        c.ctr("images", "import", images.small(c.folder / "images", "argoexec", self.EXECUTOR, {
            "bin/argoexec": (BIN / "argoexec").read_bytes(), "tmp": None, "etc/nsswitch.conf": names.encode()},
            {"Entrypoint": ["argoexec"], "Env": ["PATH=/bin"]}))
        # a step is noticed at the next look: after 10 s unless it is said
        c.create(self.deployment("workflow-controller", "argo", 6060, [
            "--kubeconfig", str(c.config), "--namespace=argo", "--executor-image", self.EXECUTOR,
            "--executor-image-pull-policy=Never"], {"LEADER_ELECTION_DISABLE": "true", "DEFAULT_REQUEUE_TIME": "1s",
                                                       "MAX_WORKFLOW_SIZE": str(self.PLAIN_STATUS)}))

    def wait(self):
        self.wait_for_deployment("workflow-controller", "argo")


class Metrics(Operator):
    """It serves metrics.k8s.io behind the API server, from what the kubelet measures."""
    program = "metrics-server"
    PORT = 4443

    def start(self):
        c = self.cluster
        c.start(self.program, BIN / self.program, "--kubeconfig", c.config, "--authentication-kubeconfig", c.config,
                "--authorization-kubeconfig", c.config, f"--secure-port={self.PORT}", f"--bind-address={NODE}",
                f"--cert-dir={c.folder}/metrics", "--kubelet-insecure-tls", "--kubelet-preferred-address-types=InternalIP",
                "--metric-resolution=10s", "--kubelet-request-timeout=9s")
        c.serve_from_node(self.program, "kube-system", None, [("https", self.PORT, "TCP")])
        c.create({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                  "metadata": {"name": "v1beta1.metrics.k8s.io"},
                  "spec": {"group": "metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100,
                           "versionPriority": 100, "insecureSkipTLSVerify": True,
                           "service": {"name": self.program, "namespace": "kube-system", "port": self.PORT}}})

    def wait(self):
        self.cluster.wait("metrics.k8s.io", lambda: self.cluster.asks(
            "wait", "--for=condition=Available", "--timeout=10s", "apiservice/v1beta1.metrics.k8s.io"))


class Late(Operator):
    """Engines, which need more of Python than the others (engines.py): found when they are asked for."""
    programs = ("jobset", "trainer", "kuberay", "kueue")

    def __new__(cls, cluster):
        from engines import Engines  # pylint: disable=import-outside-toplevel,cyclic-import
        return Engines(cluster)


OPERATORS = {"spark": Spark, "mpi": Mpi, "argo": Argo, "metrics": Metrics, "engines": Late}
