# SPDX-License-Identifier: MIT
"""The programs of a cluster: how cluster.py, inside its namespaces, starts them."""
import base64
import json
import os
import pathlib
import subprocess
import threading
import time

import images

NODE, SUBNET, BRIDGE = "10.88.7.1", "10.88.7.0/24", "node0"
SERVICES, API, DNS = "10.96.0.0/16", "10.96.0.1", "10.96.0.10"
PLAIN, TLS = 5000, 5443  # the registries' ports
HERE = pathlib.Path(__file__).resolve().parent
CACHE = pathlib.Path(os.environ.get("FIRESTEEL_CACHE") or
                     pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "firesteel")
BIN = CACHE / "bin"
BUILT = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns")
# The kubelet sets these for the whole machine; it is shown values that it likes instead.
KERNEL = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
          "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}


class Problem(Exception):
    """Something that the person who started this should read."""


def run(*command, input=None, **options):
    done = subprocess.run([str(c) for c in command], input=input, text=True, capture_output=True, **options)
    if done.returncode:
        raise Problem(f"{' '.join(map(str, command))}: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def wait_for(what, ready, seconds=600, alive=lambda: None):
    """Asks ready() until it says something true; alive() raises when it never will."""
    end = time.monotonic() + seconds
    while True:
        found = ready()
        if found:
            return found
        alive()
        if time.monotonic() > end:
            raise Problem(f"{what}: not ready after {seconds} s")
        time.sleep(0.1)


# ---- certificates: one CA for everything, since pods and Java accept nothing less than a proper one

def certificates(folder):
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run("openssl", "req", "-x509", *key, "-days", "2", "-keyout", "ca.key", "-out", "ca.crt",
        "-subj", "/CN=firesteel-test-ca", cwd=folder)

    def sign(name, subject, extensions):
        request = run("openssl", "req", *key, "-keyout", f"{name}.key", "-subj", subject, cwd=folder)
        (folder / "extensions").write_text(extensions)
        run("openssl", "x509", "-req", "-days", "2", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-extfile", "extensions", "-out", f"{name}.crt", input=request, cwd=folder)

    names = ",".join([f"IP:{NODE}", f"IP:{API}", "IP:127.0.0.1", "DNS:localhost", "DNS:kubernetes",
                      "DNS:kubernetes.default", "DNS:kubernetes.default.svc", "DNS:registry.test"])
    sign("server", "/CN=kube-apiserver", f"subjectAltName={names}")
    sign("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth")
    sign("front", "/CN=front-proxy", "extendedKeyUsage=clientAuth")  # the API server, before servers behind it
    run("openssl", "genrsa", "-out", "accounts.key", "2048", cwd=folder)


def write_kubeconfig(folder):
    def data(name):
        return base64.b64encode((folder / name).read_bytes()).decode()

    users = {"admin": {"token": "admin-token"}, "user": {"token": "user-token"},
             "cert": {"client-certificate-data": data("admin.crt"), "client-key-data": data("admin.key")}}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "admin",
        "clusters": [{"name": "test", "cluster": {"server": f"https://{NODE}:6443",
                                                  "certificate-authority-data": data("ca.crt")}}],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": "test", "user": name}} for name in users]}
    path = folder / "kubeconfig"
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    (folder / "tokens.csv").write_text("admin-token,admin,admin,system:masters\nuser-token,user,user\n")


class Cluster:
    def __init__(self, folder, cgroup):
        self.folder, self.cgroup = folder, cgroup
        self.config = folder / "kubeconfig"
        self.programs, self.commands, self.began = {}, {}, time.monotonic()
        self.socket = pathlib.Path("/run/containerd/containerd.sock")  # /run is of this mount namespace alone

    def start(self, name, *command, env=None):
        self.commands[name] = lambda: self.start(name, *command, env=env)
        with open(self.folder / f"{name}.log", "ab") as log:
            self.programs[name] = subprocess.Popen(
                [str(c) for c in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
                env={**os.environ, **(env or {})}, start_new_session=True)

    def alive(self):
        for name, process in self.programs.items():
            if process.poll() is not None:
                lines = (self.folder / f"{name}.log").read_text(errors="replace").splitlines()
                raise Problem(f"{name} ended with {process.returncode}: " + "\n".join(lines[-5:]))

    def note_end(self, pid, status):
        for name, process in self.programs.items():
            if process.pid == pid:
                print(f"{name} ended with {os.waitstatus_to_exitcode(status)}", flush=True)
                self.start_again(name)
                return

    def start_again(self, name):
        """What `cluster.py kill` ended, after as many seconds as that says."""
        mark = self.folder / f"{name}.again"
        if mark.exists():
            seconds = float(mark.read_text())
            mark.unlink()
            threading.Timer(seconds, self.commands[name]).start()

    def wait(self, what, ready):
        found = wait_for(what, ready, alive=self.alive)
        print(f"{time.monotonic() - self.began:5.1f} s: {what}", flush=True)
        return found

    def kubectl(self, *arguments, input=None):
        program = BIN / "kubectl"
        return run(program if program.exists() else "kubectl", "--kubeconfig", self.config, *arguments, input=input)

    def asks(self, *arguments):
        """What kubectl prints, "" while it fails."""
        try:
            return self.kubectl(*arguments)
        except Problem:
            return ""

    def create(self, *objects):
        # a validation would wait for the schema of all kinds, which the server makes as they come
        self.kubectl("create", "--validate=false", "-f", "-",
                     input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def define(self, files):
        """Kinds of operators are large: on a busy machine the server answers some of them too late, whether it made them or not."""
        for _ in range(5):
            try:
                self.kubectl("create", "--validate=false", *files)
                return
            except Problem as problem:
                told = [line for line in str(problem).splitlines() if "rror" in line]
                if told and all("AlreadyExists" in line or "already exists" in line for line in told):
                    return
                if not any(word in str(problem) for word in ("imeout", "timed out", "too long")):
                    raise
        self.kubectl("create", "--validate=false", *files)

    def refusal(self, object, *options):
        """What the server says to the creation of an object that it should refuse."""
        try:
            self.kubectl("create", "--validate=false", "--dry-run=server", *options, "-f", "-", input=json.dumps(object))
        except Problem as problem:
            return str(problem)
        return ""

    def ctr(self, *arguments):
        return run("ctr", "-a", self.socket, "-n", "k8s.io", *arguments)

    def up(self, operators):
        self.shield()
        self.network()
        self.stores()
        self.api_server()
        # the server takes longest over the operators' kinds
        definitions = [word for operator in operators for word in operator.definitions()]
        if definitions:
            self.define(definitions)
        self.controllers()
        self.node()
        self.names()
        for operator in operators:
            operator.start()
        self.wait("the node", lambda: " Ready" in self.asks("get", "nodes"))
        self.wait("the service account", lambda: self.asks("get", "sa/default", "cm/kube-root-ca.crt", "-o", "name"))
        for operator in operators:
            operator.wait()

    # What the kubelet and containerd write outside of their folders, and what the kubelet sets in the kernel.
    def shield(self):
        d = self.folder
        run("mount", "-t", "tmpfs", "tmpfs", "/run")
        for path in ("/var/lib", "/var/log"):
            own = d / path[1:].replace("/", "-")
            own.mkdir()
            run("mount", "--bind", own, path)
        for name, value in KERNEL.items():
            own = d / f"kernel-{name.replace('/', '-')}"
            own.write_text(f"{value}\n")
            if pathlib.Path("/proc/sys", name).exists():
                run("mount", "--bind", own, f"/proc/sys/{name}")

    def network(self):
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "addr", "add", f"{NODE}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        run("ip", "route", "add", "default", "via", "10.88.7.254")  # kubelet and DNS want one; it leads nowhere
        pathlib.Path("/proc/sys/net/ipv4/ip_forward").write_text("1")

    # What needs nobody else: etcd, containerd, the registries.
    def stores(self):
        d = self.folder
        self.start("etcd", BIN / "etcd", "--data-dir", d / "etcd", "--unsafe-no-fsync",
                   "--listen-client-urls", "http://127.0.0.1:2379", "--advertise-client-urls", "http://127.0.0.1:2379",
                   "--listen-peer-urls", "http://127.0.0.1:2380")
        self.write_containerd()
        self.start("containerd", "containerd", "-c", d / "containerd.toml")
        for name, port, tls in (("registry", PLAIN, {}), ("registry-tls", TLS, {
                "certificate": str(d / "server.crt"), "key": str(d / "server.key")})):
            path = d / f"{name}.json"  # JSON is YAML, too
            path.write_text(json.dumps({
                "version": 0.1, "http": {"addr": f"0.0.0.0:{port}", **({"tls": tls} if tls else {})},
                "storage": {"filesystem": {"rootdirectory": str(d / name)}, "delete": {"enabled": True}}}))
            self.start(name, "docker-registry", "serve", path)

    def api_server(self):
        self.start("apiserver", BIN / "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--secure-port=6443",
                   "--bind-address=0.0.0.0", f"--advertise-address={NODE}", "--tls-cert-file=server.crt",
                   "--tls-private-key-file=server.key", "--client-ca-file=ca.crt",
                   "--service-account-issuer=https://kubernetes.default.svc",
                   "--service-account-key-file=accounts.key", "--service-account-signing-key-file=accounts.key",
                   f"--service-cluster-ip-range={SERVICES}", "--token-auth-file=tokens.csv",
                   "--authorization-mode=Node,RBAC", "--allow-privileged=true",
                   "--kubelet-preferred-address-types=InternalIP",
                   "--requestheader-client-ca-file=ca.crt", "--requestheader-allowed-names=front-proxy",
                   "--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
                   "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                   "--proxy-client-cert-file=front.crt", "--proxy-client-key-file=front.key")
        self.wait("kube-apiserver", lambda: self.asks("get", "--raw", "/readyz"))

    def controllers(self):
        self.start("controllers", BIN / "kube-controller-manager", "--kubeconfig", self.config,
                   "--service-account-private-key-file=accounts.key", "--use-service-account-credentials",
                   "--root-ca-file=ca.crt", "--leader-elect=false", "--authentication-skip-lookup",
                   "--secure-port=0", "--allocate-node-cidrs=false")
        self.start("scheduler", BIN / "kube-scheduler", "--kubeconfig", self.config, "--leader-elect=false",
                   "--secure-port=0")

    def write_containerd(self):
        d = self.folder
        (d / "cni").mkdir()
        (d / "cni" / "10.conflist").write_text(json.dumps({
            "cniVersion": "0.4.0", "name": "pods", "plugins": [{
                "type": "bridge", "bridge": BRIDGE, "hairpinMode": True, "ipMasq": False,
                "ipam": {"type": "host-local", "dataDir": str(d / "cni-addresses"),
                         "ranges": [[{"subnet": SUBNET, "rangeStart": "10.88.7.10", "gateway": NODE}]],
                         "routes": [{"dst": "0.0.0.0/0"}]}}]}))
        for host, text in ((f"{NODE}:{PLAIN}", f'[host."http://{NODE}:{PLAIN}"]\n'),
                           (f"{NODE}:{TLS}", f'[host."https://{NODE}:{TLS}"]\n  ca = "{d}/ca.crt"\n')):
            (d / "certs.d" / host).mkdir(parents=True)
            (d / "certs.d" / host / "hosts.toml").write_text(text)
        cri = 'plugins."io.containerd.grpc.v1.cri"'
        (d / "containerd.toml").write_text(f"""version = 2
root = "{d}/containerd"
state = "/run/containerd"
disabled_plugins = ["io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{self.socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{d}/opt"
[{cri}]
  sandbox_image = "{images.PAUSE}"
  restrict_oom_score_adj = true
  [{cri}.registry]
    config_path = "{d}/certs.d"
  [{cri}.cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{d}/cni"
  [{cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
""")

    def write_kubelet(self):
        d = self.folder
        (d / "kubelet.json").write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
            "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{self.cgroup}", "failSwapOn": False,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"}, "readOnlyPort": 0, "protectKernelDefaults": True,
            "containerRuntimeEndpoint": f"unix://{self.socket}", "volumePluginDir": str(d / "volume-plugins"),
            "clusterDNS": [DNS], "clusterDomain": "cluster.local", "enforceNodeAllocatable": [],
            "localStorageCapacityIsolation": False, "oomScoreAdj": 0, "resolvConf": "",
            "evictionHard": {"memory.available": "50Mi"}, "imageMinimumGCAge": "24h"}))

    def node(self):
        d = self.folder
        self.write_kubelet()
        self.wait("containerd", self.socket.exists)
        for archive in images.of_node(d / "images"):
            self.ctr("images", "import", archive)
        self.start("kubelet", BIN / "kubelet", "--config", d / "kubelet.json", "--kubeconfig", self.config,
                   "--root-dir", d / "kubelet", "--cert-dir", d / "kubelet-pki", "--hostname-override", "node1",
                   "--node-ip", NODE)
        self.start("kube-proxy", BIN / "kube-proxy", "--kubeconfig", self.config, "--hostname-override", "node1",
                   "--cluster-cidr", SUBNET, "--conntrack-max-per-core", "0", "--proxy-mode", "iptables")

    def names(self):
        (self.folder / "Corefile").write_text(f""".:53 {{
  bind {NODE}
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {self.config} admin
    pods insecure
  }}
  cache 5
}}
""")
        self.start("coredns", BIN / "coredns", "-conf", self.folder / "Corefile")
        self.serve_from_node("kube-dns", "kube-system", DNS, [("dns", 53, "UDP"), ("dns-tcp", 53, "TCP")])

    def serve_from_node(self, name, namespace, address, ports):
        """A Service whose programs run here, beside the pods."""
        ports = [{"name": port, "port": number, "protocol": protocol} for port, number, protocol in ports]
        self.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": namespace},
                     "spec": {"ports": ports, **({"clusterIP": address} if address else {})}},
                    {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                     "metadata": {"name": f"{name}-node", "namespace": namespace,
                                  "labels": {"kubernetes.io/service-name": name}},
                     "addressType": "IPv4", "endpoints": [{"addresses": [NODE]}], "ports": ports})
