#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kubeconfigs of all shapes, given to the real kubectl and to a notebook: both send the same request, or both refuse the file."""
import base64
import concurrent.futures
import http.server
import json
import os
import re
import shutil
import ssl
import tempfile
import threading

import reads as files
from tap import FIRESTEEL, SOURCE, Skip, run, sh

EXEC = "client.authentication.k8s.io/exec"
NOTEBOOK = '-- %%\nk8s.get "configmaps"\n'


def certificates(folder):
    """An authority, a server's certificate of it for this machine and for one name, a client's, and what is no use."""
    def openssl(*argv):
        done = sh("openssl", *argv, cwd=folder)
        assert done.code == 0, done
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    for name in "ca", "other":
        openssl("req", "-x509", *key, "-keyout", f"{name}.key", "-out", f"{name}.crt", "-days", "30", "-subj", f"/CN={name}")
    for name, subject, names in (("srv", "srv", "IP:127.0.0.1,DNS:localhost"), ("named", "named", "DNS:only.example.test"),
                                 ("cli", "ann", "DNS:ann")):
        openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={subject}")
        with open(f"{folder}/{name}.ext", "w") as f:
            f.write(f"subjectAltName={names}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
                "-extfile", f"{name}.ext", "-out", f"{name}.crt")
    openssl("pkcs8", "-topk8", "-in", "cli.key", "-out", "encrypted.key", "-passout", "pass:x")
    files = {"broken.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" + text(f"{folder}/ca.crt"),
             "words.crt": "# ours\n" + text(f"{folder}/other.crt") + "\nmore\n" + text(f"{folder}/ca.crt"),
             "bad.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "none.crt": "no certificate\n", "tok": "from-file\n", "empty": ""}
    for name, content in files.items():
        with open(f"{folder}/{name}", "w") as f:
            f.write(content)


def text(path):
    with open(path) as f:
        return f.read()


class Server:
    """API servers that answer what both clients ask first, and keep what the requests for configmaps looked like."""

    def __init__(self, folder):
        self.folder, self.seen, self.lock = folder, {}, threading.Lock()
        self.tls = self.listen("srv")
        self.named = self.listen("named")
        self.demanding = self.listen("srv", True)
        self.plain = self.listen(None)

    def listen(self, certificate, demands=False, case=None):
        """case: that of all its requests; else it is the first part of their paths."""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self, case)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.handle_error = lambda *_: None  # a client that does not trust us hangs up
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{self.folder}/{certificate}.crt", f"{self.folder}/{certificate}.key")
            context.load_verify_locations(f"{self.folder}/ca.crt")
            context.verify_mode = ssl.CERT_REQUIRED if demands else ssl.CERT_OPTIONAL
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"

    def answer(self, request, case):
        below = request.path.split("?")[0].lstrip("/")
        if not case:
            case, _, below = below.partition("/")
        agent = "kubectl" if "kubectl" in request.headers.get("User-Agent", "") else "firesteel"
        if below.endswith("/configmaps"):
            peer = getattr(request.connection, "getpeercert", lambda: None)()
            name = dict(pair[0] for pair in peer["subject"])["commonName"] if peer else None
            headers = sorted((k.title(), v) for k, v in request.headers.items()
                             if k.lower() == "authorization" or k.lower().startswith("impersonate"))
            with self.lock:
                self.seen[agent, case] = {"path": below, "headers": headers, "certificate": name}
        body = json.dumps(answer_to(below)).encode()
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)


def answer_to(path):
    if path == "version":
        return {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}
    if path == "api":
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
    if path == "apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": []}
    if path == "api/v1":
        return {"kind": "APIResourceList", "groupVersion": "v1", "resources": [
            {"name": "configmaps", "singularName": "configmap", "namespaced": True, "kind": "ConfigMap", "shortNames": ["cm"],
             "verbs": ["get", "list", "watch"]}]}
    return {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": [
        {"metadata": {"name": "cm-one", "namespace": "default", "uid": "u1"}}]}


class Bench:
    shared = None

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="firesteel-test-")
        certificates(self.dir)
        self.server = Server(self.dir)
        self.put("n.lua", NOTEBOOK)
        credential = '{"apiVersion":"client.authentication.k8s.io/%s","kind":"ExecCredential","status":{%s}}'
        self.script("plugin", "cat <<'X'\n" + credential % ("v1", '"token":"from-exec"') + "\nX")
        self.script("beta", "cat <<'X'\n" + credential % ("v1beta1", '"token":"from-beta"') + "\nX")
        self.script("info", "jq=$KUBERNETES_EXEC_INFO\ncat <<X\n" + credential % ("v1", '"token":"info"') + "\nX\n"
                    f'printf "%s\\n" "$jq" >>{self.dir}/info.log')
        self.script("config", f'cat <<X\n' + credential % ("v1", '"token":"at-${KUBECONFIG##*/}"') + "\nX")
        self.script("fails", "exit 3")

    @classmethod
    def get(cls):
        cls.shared = cls.shared or cls()
        return cls.shared

    @classmethod
    def clean(cls):
        if cls.shared:
            shutil.rmtree(cls.shared.dir, ignore_errors=True)
        cls.shared = None

    def put(self, name, content):
        with open(f"{self.dir}/{name}", "w", newline="") as f:
            f.write(content)
        return f"{self.dir}/{name}"

    def script(self, name, body):
        os.chmod(self.put(name, f"#!/bin/sh\n{body}\n"), 0o755)

    def data(self, name):
        return base64.b64encode(text(f"{self.dir}/{name}").encode()).decode()

    def config(self, name, case):
        """The text of a case's kubeconfig: a whole one, or its cluster's and its user's fields."""
        fields = {"S": f"{self.server.tls}/{name}", "NAMED": f"{self.server.named}/{name}", "HTTP": f"{self.server.plain}/{name}",
                  "DEMANDS": f"{self.server.demanding}/{name}", "CA": self.data("ca.crt"), "CERT": self.data("cli.crt"),
                  "KEY": self.data("cli.key"), "CAFILE": f"{self.dir}/ca.crt", "BARE": ""}
        if "@BARE@" in case[0] and not isinstance(case, str):
            fields["BARE"] = self.server.listen(None, case=name)[len("http://"):]
        whole = case if isinstance(case, str) else KUBECONFIG.replace("CLUSTER", case[0]).replace("USER", case[1])
        return re.sub(r"@([A-Z]+)@", lambda m: fields[m.group(1)], whole)


KUBECONFIG = """apiVersion: v1
kind: Config
current-context: x
clusters:
- name: c
  cluster: CLUSTER
users:
- name: u
  user: USER
contexts:
- name: x
  context: {cluster: c, user: u}
"""
SAFE = "{server: '@S@', certificate-authority-data: @CA@}"
MINE = "{server: '@DEMANDS@', certificate-authority-data: @CA@}"
V1 = "apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never"


def plugin(command, more=""):
    return f"{{exec: {{{V1}, command: ./{command}{more}}}}}"


def oidc(expires):
    """A user whose id-token is good until then (seconds since 1970); None: it has none."""
    def part(j):
        return base64.urlsafe_b64encode(json.dumps(j).encode()).decode().rstrip("=")
    claims = {"iss": "https://issuer.example", "exp": expires, "name": "ann?>~"}
    token = f", id-token: {part({'alg': 'none'})}.{part(claims)}.c2ln" if expires else ""
    return f"{{auth-provider: {{name: oidc, config: {{idp-issuer-url: 'https://issuer.example', client-id: c1{token}}}}}}}"


def credential_cases():
    """Users and clusters as people combine them: name → (cluster, user)."""
    cases = {
        "token": (SAFE, "{token: t1}"),
        "token-file": (SAFE, "{tokenFile: tok}"),
        "token-and-file": (SAFE, "{token: stale, tokenFile: tok}"),
        "token-and-no-file": (SAFE, "{token: stale, tokenFile: nowhere}"),
        "token-and-empty-file": (SAFE, "{token: stale, tokenFile: empty}"),
        "no-file": (SAFE, "{tokenFile: nowhere}"),
        "basic": (SAFE, "{username: u1, password: p1}"),
        "basic-alone": (SAFE, "{username: u1}"),
        "basic-and-token": (SAFE, "{username: u1, password: p1, token: t9}"),
        "basic-and-token-file": (SAFE, "{username: u1, password: p1, tokenFile: tok}"),
        "certificate-data": (MINE, "{client-certificate-data: @CERT@, client-key-data: @KEY@}"),
        "certificate-files": (MINE, "{client-certificate: cli.crt, client-key: cli.key}"),
        "certificate-mixed": (MINE, "{client-certificate: cli.crt, client-key-data: @KEY@}"),
        "certificate-twice": (MINE, "{client-certificate: cli.crt, client-key: cli.key, client-certificate-data: @CERT@, client-key-data: @KEY@}"),
        "certificate-and-token": (MINE, "{token: tt, client-certificate-data: @CERT@, client-key-data: @KEY@}"),
        "certificate-without-key": (MINE, "{client-certificate: cli.crt}"),
        "certificate-gone": (MINE, "{client-certificate: nowhere.crt, client-key: cli.key}"),
        "key-encrypted": (MINE, "{client-certificate: cli.crt, client-key: encrypted.key}"),
        "certificate-other-key": (MINE, "{client-certificate: cli.crt, client-key: ca.key}"),
        "key-alone": (SAFE, "{client-key: cli.key, token: t1}"),
        "impersonation": (SAFE, "{token: t1, as: bob, as-uid: '7', as-groups: [g1, g2], as-user-extra: {reason: [r1], 'a/b c': ['é']}}"),
        "groups-without-user": (SAFE, "{token: t1, as-groups: [g1]}"),
        "uid-without-user": (SAFE, "{token: t1, as-uid: '7'}"),
        "extra-without-user": (SAFE, "{token: t1, as-user-extra: {a: [b]}}"),
        "http": ("{server: '@HTTP@'}", "{}"),
        "http-token": ("{server: '@HTTP@'}", "{token: abc}"),
        "http-basic": ("{server: '@HTTP@'}", "{username: u1, password: p1}"),
        "http-token-file-gone": ("{server: '@HTTP@'}", "{tokenFile: nowhere}"),
        "http-plugin": ("{server: '@HTTP@'}", plugin("fails")),
        "http-as": ("{server: '@HTTP@'}", "{token: abc, as: bob}"),
        "no-scheme": ("{server: '@BARE@'}", "{token: abc}"),
        "no-scheme-ca": ("{server: '@BARE@', certificate-authority-data: @CA@}", "{token: abc}"),
        "no-scheme-path": ("{server: '@BARE@/x'}", "{token: abc}"),
        "exec": (SAFE, plugin("plugin")),
        "exec-beta": (SAFE, "{exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: ./beta}}"),
        "exec-alpha": (SAFE, "{exec: {apiVersion: client.authentication.k8s.io/v1alpha1, command: ./plugin}}"),
        "exec-no-mode": (SAFE, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin}}"),
        "exec-odd-mode": (SAFE, "{exec: {apiVersion: client.authentication.k8s.io/v1, command: ./plugin, interactiveMode: never}}"),
        "exec-and-token": (SAFE, plugin("fails")[:-1] + ", token: t-static}"),
        "exec-and-basic": (SAFE, plugin("fails")[:-1] + ", username: u1, password: p1}"),
        "exec-and-certificate": (MINE, plugin("fails")[:-1] + ", client-certificate: cli.crt, client-key: cli.key}"),
        "exec-no-command": (SAFE, f"{{exec: {{{V1}}}}}"),
        "exec-no-env-name": (SAFE, plugin("plugin", ", env: [{value: x}]")),
        "exec-nulls": (SAFE, plugin("plugin", ", args: null, env: null")),
        "exec-and-provider": (SAFE, plugin("plugin")[:-1] + ", auth-provider: {name: oidc}}"),
        "exec-kubeconfig": (SAFE, plugin("config")),
        "provider-gone": (SAFE, "{auth-provider: {name: gcp, config: {access-token: a}}}"),
        "oidc": (SAFE, oidc(4e9)),
        "oidc-expired": (SAFE, oidc(1e9)),
        "oidc-no-token": (SAFE, oidc(None)),
        "oidc-no-time": (SAFE, oidc("soon")),
        "oidc-no-issuer": (SAFE, oidc(4e9).replace("idp-issuer-url", "issuer")),
        "oidc-no-client": (SAFE, oidc(4e9).replace("client-id", "client")),
        "oidc-and-token": (SAFE, oidc(4e9)[:-1] + ", token: t1}"),
        "insecure": ("{server: '@S@', insecure-skip-tls-verify: true}", "{token: t1}"),
        "insecure-with-ca": ("{server: '@S@', insecure-skip-tls-verify: true, certificate-authority-data: @CA@}", "{token: t1}"),
        "ca-twice": ("{server: '@S@', certificate-authority: other.crt, certificate-authority-data: @CA@}", "{token: t1}"),
        "ca-file": ("{server: '@S@', certificate-authority: ca.crt}", "{token: t1}"),
        "ca-gone": ("{server: '@S@', certificate-authority: nowhere.crt}", "{token: t1}"),
        "ca-wrong": ("{server: '@S@', certificate-authority: other.crt}", "{token: t1}"),
        "ca-one-bad": ("{server: '@S@', certificate-authority: broken.crt}", "{token: t1}"),
        "ca-none-good": ("{server: '@S@', certificate-authority: none.crt}", "{token: t1}"),
        "ca-all-bad": ("{server: '@S@', certificate-authority: bad.crt}", "{token: t1}"),
        "ca-words": ("{server: '@S@', certificate-authority: words.crt}", "{token: t1}"),
        "named": ("{server: '@NAMED@', tls-server-name: only.example.test, certificate-authority: ca.crt}", "{token: t1}"),
        "not-named": ("{server: '@NAMED@', certificate-authority: ca.crt}", "{token: t1}"),
        "proxy-odd": ("{server: '@S@', proxy-url: '127.0.0.1:1', certificate-authority: ca.crt}", "{token: t1}"),
        "proxy-scheme": ("{server: '@S@', proxy-url: 'ftp://127.0.0.1:1', certificate-authority: ca.crt}", "{token: t1}"),
        "proxy-empty": ("{server: '@S@', proxy-url: '', certificate-authority: ca.crt}", "{token: t1}"),
        "query": ("{server: '@S@?x=1', certificate-authority: ca.crt}", "{token: t1}"),
    }
    return cases


REASONS = {"oidc-expired": "the id-token has expired (2001-09-09T01:46:40Z), and there is no refresh-token: log in again",
           "oidc-no-client": "auth-provider oidc: its config has no client-id",
           "provider-gone": "auth-provider gcp is no longer a part of Kubernetes: use an exec plugin",
           "key-encrypted": "user u: the client key is encrypted", "certificate-without-key": 'user "u": client-certificate has no key',
           "certificate-other-key": "the client key is not that of the client certificate",
           "ca-none-good": "the certificate authority is not PEM", "ca-all-bad": "has no certificate that can be read"}


def vendors():
    """What the programs of clusters and their sellers write: name → (cluster, user), or the whole text."""
    def command(name, version, *args, more=""):
        words = "".join(f"\n      - {a}" for a in args)
        return f"\n    exec:\n      apiVersion: client.authentication.k8s.io/{version}\n      command: {name}\n      args:{words}\n{more}"
    null_mode = "      env: null\n      interactiveMode: IfAvailable\n      provideClusterInfo: false\n"
    eks = KUBECONFIG.replace("- name: c\n", "- name: arn:aws:eks:eu-west-1:123456789012:cluster/ml\n").replace(
        "cluster: c,", "cluster: 'arn:aws:eks:eu-west-1:123456789012:cluster/ml',")
    eks = eks.replace("name: x\n", "name: arn:aws:eks:eu-west-1:123456789012:cluster/ml\n").replace(
        "current-context: x", "current-context: arn:aws:eks:eu-west-1:123456789012:cluster/ml") + "preferences: {}\n"
    aws = command("./beta", "v1beta1", "--region", "eu-west-1", "eks", "get-token", "--cluster-name", "ml", "--output", "json",
                  more="      env:\n      - name: AWS_PROFILE\n        value: ml\n")
    minikube = """
    certificate-authority: ca.crt
    extensions:
    - extension:
        last-update: Sat, 01 Nov 2025 10:00:00 UTC
        provider: minikube.sigs.k8s.io
        version: v1.36.0
      name: cluster_info
    server: @DEMANDS@"""
    rancher = "{server: '@S@/', certificate-authority-data: '@CA@'}"
    two_clusters = KUBECONFIG.replace("CLUSTER", rancher).replace("USER", "{token: 'kubeconfig-u-abcde:0123'}").replace(
        "users:", "- name: c-node1\n  cluster: {server: 'https://192.0.2.9:6443'}\nusers:")
    named = KUBECONFIG.replace("CLUSTER", SAFE).replace("USER", "{token: sha256~abcdef}")
    openshift = named.replace("name: u\n", "name: ann/api-example-test:6443\n").replace("user: u}", "user: ann/api-example-test:6443, namespace: team-a}")
    return {
        "eks": eks.replace("CLUSTER", SAFE).replace("USER", aws),
        "gke": (SAFE, command("./beta", "v1beta1", "x", more="      installHint: |\n        Install it: read\n        the pages\n"
                                                        "      provideClusterInfo: true\n")),
        "aks": (SAFE, command("./plugin", "v1", "get-token", "--environment", "AzurePublicCloud", "--server-id", "6dae42f8-4368-4678-94ff-3960e28e3630",
                              more=null_mode)),
        "oidc-login": (SAFE, command("./plugin", "v1", "oidc-login", "get-token", "--oidc-issuer-url=https://issuer.example", more=null_mode)),
        "rancher": two_clusters,
        "k3s": KUBECONFIG.replace("name: c\n", "name: default\n").replace("cluster: c", "cluster: default").replace("CLUSTER", MINE).replace(
            "USER", "{client-certificate-data: @CERT@, client-key-data: @KEY@}") + "preferences: {}\n",
        "kind": (MINE, "\n    client-certificate-data: @CERT@\n    client-key-data: @KEY@"),
        "minikube": (minikube, "\n    client-certificate: cli.crt\n    client-key: cli.key"),
        "openshift": openshift,
        "teleport": ("{server: '@S@', certificate-authority-data: @CA@, tls-server-name: localhost}",
                     command("./beta", "v1beta1", "kube", "credentials", "--kube-cluster=ml", more="      env: null\n      provideClusterInfo: false\n")),
        "numbers-for-names": KUBECONFIG.replace("CLUSTER", SAFE).replace("USER", "{token: t1}").replace("- name: u", "- name: 100000123456").replace(
            "user: u}", "user: 100000123456}"),
        "json": json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "x", "users": [{"name": "u", "user": {"token": "t1"}}],
                            "clusters": [{"name": "c", "cluster": {"server": "@S@", "certificate-authority-data": "@CA@"}}],
                            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}),
    }


# A value of each type that is wrong somewhere: numbers, booleans, lists and mappings for texts, and so on.
FIELDS = {
    "cluster": {"server": "text", "tls-server-name": "text", "insecure-skip-tls-verify": "bool", "certificate-authority": "text",
                "certificate-authority-data": "base64", "proxy-url": "text", "disable-compression": "bool", "extensions": "list"},
    "user": {"client-certificate": "text", "client-certificate-data": "base64", "client-key": "text", "client-key-data": "base64",
             "token": "text", "tokenFile": "text", "as": "text", "as-uid": "text", "as-groups": "texts", "as-user-extra": "lists",
             "username": "text", "password": "text", "auth-provider": "mapping", "exec": "mapping", "extensions": "list"},
    "exec": {"command": "text", "args": "texts", "env": "pairs", "apiVersion": "text", "installHint": "text",
             "provideClusterInfo": "bool", "interactiveMode": "text"},
    "context": {"cluster": "text", "user": "text", "namespace": "text", "extensions": "list"},
    "top": {"kind": "text", "apiVersion": "text", "preferences": "mapping", "clusters": "list", "users": "list", "contexts": "list",
            "current-context": "text", "extensions": "list"},
}
WRONG = {"text": ["1234567", "true", "1.5", "[x]", "{x: y}", "yes", "2024"], "bool": ["'true'", "1", "[x]"], "list": ["x", "{a: b}", "[x]", "1"],
         "base64": ["12345678", "'!x'", "[x]"], "texts": ["x", "[1]", "[[x]]", "{a: b}", "[true]"], "lists": ["{a: b}", "{a: [1]}", "x", "[x]"],
         "mapping": ["x", "[x]", "1"], "pairs": ["[x]", "[{name: 1}]", "[{name: a, value: 1}]", "{a: b}"]}


def wrong_types():
    """The whole table, in a second context's entries, too, which nobody uses: name → (kubeconfig, place of the field)."""
    base = KUBECONFIG.replace("CLUSTER", SAFE).replace("USER", "{token: t1}") + "- name: z\n  context: {cluster: c, user: u}\n"
    cases = {}
    for where, fields in FIELDS.items():
        for field, kind in fields.items():
            for i, value in enumerate(WRONG[kind] + ["null"]):
                pair = f"{field}: {value}"
                whole = {"cluster": base.replace("users:", f"- name: d\n  cluster: {{{pair}}}\nusers:"),
                         "user": base.replace("contexts:", f"- name: v\n  user: {{{pair}}}\ncontexts:"),
                         "exec": base.replace("contexts:", f"- name: v\n  user: {{exec: {{{pair}}}}}\ncontexts:"),
                         "context": f"{base}- name: w\n  context: {{{pair}}}\n",
                         "top": re.sub(rf"(?m)^{field}:.*(\n[- ] .*)*\n", "", base) + pair + "\n"}[where]
                cases[f"{where}-{field}-{i}"] = (whole, field)
        if where in ("cluster", "user", "context"):
            cases[f"{where}-name"] = (base.replace(f"- name: {where[0] if where != 'context' else 'z'}\n", "- name: 100000123456\n"), "name")
    return cases


def kubectl():
    done = sh(f"{SOURCE}/tests/support/kubectl")
    if done.code:
        raise Skip("no kubectl, and no Go compiler to build it")
    return done.out.strip().splitlines()[-1]


def both(bench, name, case):
    """What each of the two has sent for configmaps, or why it did not: (request or None, words)."""
    path = bench.put(f"config-{name}", bench.config(name, case))
    env = {"HOME": bench.dir, "KUBECONFIG": path, "HTTPS_PROXY": None, "HTTP_PROXY": None, "NO_PROXY": None}
    theirs = sh(bench.kubectl, "--request-timeout=20s", f"--cache-dir={bench.dir}/cache-{name}", "get", "configmaps", cwd=bench.dir, env=env)
    ours = sh(FIRESTEEL, "run", f"{bench.dir}/n.lua", "--no-preflight", "--cwd", f"{bench.dir}/cwd-{name}", cwd=bench.dir, env=env, timeout=60)
    seen = bench.server.seen
    return (seen.get(("kubectl", name)), theirs.out + theirs.err), (seen.get(("firesteel", name)), ours.out + ours.err)


def compare(cases):
    """{name: (theirs, ours)} of all cases, several at a time."""
    bench = Bench.get()
    bench.kubectl = kubectl()
    for name in cases:
        os.makedirs(f"{bench.dir}/cwd-{name}", exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip(cases, pool.map(lambda name: both(bench, name, cases[name]), cases)))


def test_the_same_request_as_kubectl(t):
    t.after(Bench.clean)
    cases = {**credential_cases(), **vendors()}
    found = compare(cases)
    differ = [f"{name}: kubectl {theirs}; we {ours}" for name, (theirs, ours) in found.items() if theirs[0] != ours[0]]
    assert not differ, "\n".join(differ)
    print(f"# {len(found)} kubeconfigs: {sum(1 for theirs, _ in found.values() if theirs[0])} are used, the others refused, as by kubectl")
    # what is refused is refused at once, with who and what is wrong
    for name, (_, (sent, words)) in found.items():
        assert sent or re.search(r'user "u"|cluster "c"|context x|users\[0\]|127\.0\.0\.1', words), (name, words)
        assert "trying again" not in words, (name, words)
    for name, reason in REASONS.items():
        assert reason in found[name][1][1], (name, found[name][1][1])


def test_a_wrong_type_is_refused_as_by_client_go(t):
    t.after(Bench.clean)
    bench, cases = Bench.get(), wrong_types()
    paths = {bench.put(f"config-{name}", bench.config(name, text)): name for name, (text, _) in cases.items()}
    theirs, ours = files.both("kubeconfig", paths)
    differ = [f"{name}: {theirs[path]} {ours[path]}" for path, name in paths.items() if ("error" in theirs[path]) != ("error" in ours[path])]
    assert not differ, "\n".join(differ)
    for path, name in paths.items():
        words = ours[path].get("error", f"{path}: line 1, column 1: {cases[name][1]}")
        assert re.match(rf"{re.escape(path)}: line \d+, column \d+: \S*{cases[name][1]}", words), (name, words)
    print(f"# {len(paths)} kubeconfigs: {sum('error' in r for r in theirs.values())} are refused, the others read, as by client-go")


def test_a_plugin_hears_of_its_cluster(t):
    t.after(Bench.clean)
    bench = Bench.get()
    cluster = SAFE[:-1] + ", disable-compression: true, extensions: [{name: %s, extension: {realm: r1, list: [1]}}]}" % EXEC
    user = plugin("info", ", provideClusterInfo: true")
    theirs, ours = compare({"info": (cluster, user)})["info"]
    assert theirs[0] == ours[0] and ours[0]["headers"] == [("Authorization", "Bearer info")], (theirs, ours)
    said = [json.loads(line)["spec"]["cluster"] for line in text(f"{bench.dir}/info.log").splitlines() if line.strip()]
    assert said[0]["config"] == {"realm": "r1", "list": [1]}, said
    for one in said:
        assert {k: v for k, v in one.items() if v} == {k: v for k, v in said[0].items() if v}, said


run(globals())
