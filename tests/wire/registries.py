#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Where notebooks push, whom they trust there and how they log in: Debian's docker-registry, plain and on
TLS with an authority of its own, and the settings of the kubeconfig, the command line, docker and containers."""
import base64
import email.utils
import http.client
import http.server
import json
import os
import re
import shutil
import threading
import time
import urllib.parse

from layers import know_worker
from registry import Registry
from tap import FIRESTEEL, run, sh

ELSEWHERE = "0.0.0.0"  # reaches this machine, and is no loopback address
# without a worker: its libraries are large, and it is all the same to a registry
PUSH = 'img = image.build { add = {"trainer.lua"}, worker = false, tag = "team/nb" }:push()\nprint("at " .. img.ref)'


class Home:
    """A home folder with a trainer, whose store, settings and logins are the test's."""

    def __init__(self, t):
        self.dir = t.dir()
        self.put("trainer.lua", "print 'hello'\n")
        self.env = {"HOME": self.dir}
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "KUBECONFIG", "DOCKER_CONFIG",
                     "REGISTRY_AUTH_FILE", "CONTAINERS_REGISTRIES_CONF", "SSL_CERT_FILE", "HTTPS_PROXY", "https_proxy"):
            self.env[name] = None

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def certs(self, registry, files, where=".config/containers/certs.d"):
        folder = f"{self.dir}/{where}/{registry.host}"
        os.makedirs(folder)
        for to, of in files.items():
            shutil.copy(f"{registry.dir}/{of}", f"{folder}/{to}")

    def kubeconfig(self, extension):
        return self.put("kube/config", json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
            "contexts": [{"name": "here", "context": {"cluster": "c", "extensions": [
                {"name": "firesteel/registry", "extension": extension}]}}]}))

    def run(self, *cells, options=(), **env):
        path = self.put("n.lua", "".join(f"-- %%\n{c}\n\n" for c in cells))
        # these are the words of pulls and pushes; a preflight would have its own before
        return sh(FIRESTEEL, "run", path, "--allow", "cluster", "--no-preflight", *options, env=dict(self.env, **env))


class Front:
    """In front of a registry: .ask(request) may answer itself, and returns whether it did. It has a host of its own."""

    def __init__(self, t, registry, ask):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def handle_all(self):
                self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if not ask(self):
                    self.pass_on()

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = handle_all

            def reply(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in {"Content-Length": len(body), **headers}.items():
                    self.send_header(name.replace("_", "-"), value)
                self.end_headers()
                self.wfile.write(body)

            def pass_on(self):
                to = http.client.HTTPConnection(registry.host)
                to.request(self.command, self.path, self.body, {k: v for k, v in self.headers.items() if k != "Authorization"})
                answer = to.getresponse()
                body = answer.read()
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() != "transfer-encoding":
                        self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        self.host = f"127.0.0.1:{server.server_port}"
        outer.has = registry.has
        threading.Thread(target=server.serve_forever, daemon=True).start()
        t.after(server.server_close)
        t.after(server.shutdown)


def pushed(done, registry, name="team/nb"):
    assert done.code == 0 and f"at {registry.host}/{name}" in done.out, done
    assert registry.has(name, "latest"), done


def refused(done, *texts):
    """The texts are said before the first cell, or in the cell's error."""
    assert done.code == 1, done
    for text in texts:
        assert text in done.out + done.err, (text, done)


def test_the_command_line_chooses(t):
    registry, home = Registry(t), Home(t)
    pushed(home.run(PUSH, options=("--registry", registry.host)), registry)
    pushed(home.run(PUSH, options=("--registry", f"{registry.host}/some/team")), registry, "some/team/team/nb")
    done = home.run(PUSH, options=("--registry", "nexus/team"))
    assert done.code == 2 and "“nexus/team” is not a registry" in done.err and "HOST:PORT" in done.err, done
    done = home.run(PUSH, options=("--registry", registry.host, "--sandbox"))
    assert done.code == 2 and "--sandbox has a registry of its own" in done.err, done
    refused(home.run(PUSH), "the image team/nb", "names no registry", "--registry HOST")


def test_the_command_line_is_stronger_than_the_kubeconfig(t):
    registry, home = Registry(t), Home(t)
    config = home.kubeconfig({"host": "127.0.0.1:1"})
    refused(home.run(PUSH, KUBECONFIG=config), "127.0.0.1:1")
    pushed(home.run(PUSH, options=("--registry", registry.host), KUBECONFIG=config), registry)


def test_a_resumed_run_keeps_its_registry(t):
    registry, home = Registry(t), Home(t)
    done = home.run(PUSH, "error 'stop'", options=("--registry", registry.host))
    assert done.code == 1 and registry.has("team/nb", "latest"), done
    home.put("n.lua", f"-- %%\n{PUSH}\n")
    done = sh(FIRESTEEL, "run", f"{home.dir}/n.lua", "--resume", "n", "--allow", "cluster", env=home.env)
    assert done.code == 0 and f"at {registry.host}/team/nb" in done.out, done


def test_plain_http_is_recognised(t):
    registry, home = Registry(t, address=ELSEWHERE), Home(t)
    refused(home.run(PUSH, options=("--registry", registry.host)), f"the registry {registry.host} speaks plain HTTP",
            f"--registry http://{registry.host}", "`insecure: true` in the kubeconfig's extension firesteel/registry")
    assert not registry.has("team/nb", "latest")
    pushed(home.run(PUSH, options=("--registry", f"http://{registry.host}")), registry)


def test_the_extension_says_insecure(t):
    for tls in False, True:
        registry, home = Registry(t, address=ELSEWHERE, tls=tls), Home(t)
        config = home.kubeconfig({"host": registry.host, "insecure": True})
        pushed(home.run(PUSH, KUBECONFIG=config), registry)


def test_the_extension_has_the_authority(t):
    registry, home = Registry(t, address=ELSEWHERE, tls=True), Home(t)
    with open(f"{registry.dir}/ca.crt") as f:
        pem = f.read()
    os.makedirs(f"{home.dir}/kube/pki")
    shutil.copy(f"{registry.dir}/ca.crt", f"{home.dir}/kube/pki/ca.crt")
    for ca in ({"ca": "pki/ca.crt"}, {"ca": f"{registry.dir}/ca.crt"}, {"ca": pem},
               {"ca-data": base64.b64encode(pem.encode()).decode()}):
        config = home.kubeconfig(dict(ca, host=f"{registry.host}/{len(ca)}"))
        pushed(home.run(PUSH, KUBECONFIG=config), registry, "1/team/nb")
    config = home.kubeconfig({"host": registry.host, "ca": "pki/absent"})
    refused(home.run(PUSH, KUBECONFIG=config), "kube/pki/absent", "the extension firesteel/registry")


def test_an_unknown_authority_names_where_to_put_it(t):
    registry, home = Registry(t, address=ELSEWHERE, tls=True), Home(t)
    done = home.run(PUSH, options=("--registry", registry.host))
    refused(done, "its certificate is not to be trusted", f"~/.config/containers/certs.d/{registry.host}/ca.crt",
            "`ca` in the kubeconfig's extension firesteel/registry")
    home.certs(registry, {"ca.crt": "ca.crt"})
    pushed(home.run(PUSH, options=("--registry", registry.host)), registry)


def test_another_authority_is_not_enough(t):
    registry, home = Registry(t, tls=True), Home(t)
    home.certs(registry, {"ca.crt": "client.crt"})
    done = home.run(PUSH, options=("--registry", registry.host))
    refused(done, "is not to be trusted", f"certs.d/{registry.host}; it belongs into ")
    assert not registry.has("team/nb", "latest")


def test_a_registry_that_wants_our_certificate(t):
    registry, home = Registry(t, tls=True, clients=True), Home(t)
    home.certs(registry, {"ca.crt": "ca.crt"})
    done = home.run(PUSH, options=("--registry", registry.host))
    assert done.code == 1 and not registry.has("team/nb", "latest"), done
    home.certs(registry, {"client.cert": "client.crt", "client.key": "client.key", "ca.crt": "ca.crt"},
               "xdg/containers/certs.d")
    pushed(home.run(PUSH, options=("--registry", registry.host), XDG_CONFIG_HOME=f"{home.dir}/xdg"), registry)


def test_ssl_cert_file(t):
    registry, home = Registry(t, address=ELSEWHERE, tls=True), Home(t)
    pushed(home.run(PUSH, options=("--registry", registry.host), SSL_CERT_FILE=f"{registry.dir}/ca.crt"), registry)
    # where the whole machine has that variable, it says nothing about a registry that may be insecure
    for plain in Registry(t), Registry(t, tls=True):
        pushed(home.run(PUSH, options=("--registry", plain.host), SSL_CERT_FILE=f"{registry.dir}/ca.crt"), plain)


def test_registries_conf(t):
    registry, home = Registry(t, address=ELSEWHERE), Home(t)
    home.put(".config/containers/registries.conf", f'[[registry]]\nlocation = "{registry.host}"\ninsecure = true\n')
    pushed(home.run(PUSH, options=("--registry", registry.host)), registry)


def test_mirrors_are_asked_first(t):
    """Here the mirror has the image under another name, and a registry that is away stands before it."""
    registry, home = Registry(t), Home(t)
    done = home.run(PUSH.replace("team/nb", f"{registry.host}/near/team/nb"))
    assert done.code == 0 and registry.has("near/team/nb", "latest"), done
    home = Home(t)
    home.put(".config/containers/registries.conf", '[[registry]]\nlocation = "far.example.test"\nblocked = true\n')
    home.put(".config/containers/registries.conf.d/10-mirrors.conf",
             '[[registry]]\nlocation = "far.example.test"\n[[registry.mirror]]\nlocation = "127.0.0.1:1"\n'
             f'[[registry.mirror]]\nlocation = "{registry.host}/near"\ninsecure = true\n'
             '[[registry]]\nprefix = "far.example.test/shut"\nblocked = true\n'
             f'[[registry]]\nprefix = "moved.example.test"\nlocation = "{registry.host}/near"\n'
             f'[[registry]]\nprefix = "digests.example.test"\nlocation = "127.0.0.1:1"\n[[registry.mirror]]\n'
             f'location = "{registry.host}/near"\npull-from-mirror = "digest-only"\n')
    done = home.run('a = image.pull "far.example.test/team/nb"', 'print("is " .. a.digest .. " from " .. a.from)')
    assert re.search(rf"pulled far\.example\.test/team/nb:latest sha256:\w+ \(from {registry.host}/near/team/nb, ", done.out), done
    digest = re.search(r"is (\S+) from far\.example\.test/team/nb", done.out).group(1)
    done = home.run('image.pull "moved.example.test/team/nb"')
    assert done.code == 0 and f"from {registry.host}/near/team/nb" in done.out, done
    done = home.run('image.pull "far.example.test/shut/nb"')
    assert done.code == 1 and "registries.conf blocks images of far.example.test/shut" in done.err, done
    done = home.run(f'image.pull "digests.example.test/team/nb@{digest}"')
    assert done.code == 0 and f"from {registry.host}/near/team/nb" in done.out, done
    done = home.run('image.pull "digests.example.test/team/nb"')
    assert done.code == 1 and "127.0.0.1:1" in done.err and registry.host not in done.err, done
    done = home.run('image.pull "far.example.test/team/none"')
    assert done.code == 1 and "mirror 127.0.0.1:1" in done.err and f"mirror {registry.host}" in done.err, done


def test_where_a_login_goes_is_told(t):
    registry, seen = Registry(t), []
    front, tokens = with_tokens(t, registry, seen), []
    server = Front(t, registry, lambda request: tokens.append(request.headers.get("Authorization")) or request.reply(
        200, b'{"token": "x"}', Content_Type="application/json") or True)
    elsewhere = Front(t, registry, lambda request: not request.headers.get("Authorization") and (request.reply(
        401, b"{}", WWW_Authenticate=f'Bearer realm="http://{server.host}/token",service="s"') or True))
    for at, told in (front, False), (elsewhere, True):
        home = Home(t)
        home.put(".docker/config.json", json.dumps({"auths": {at.host: {"username": "ann", "password": "love"}}}))
        done = home.run(PUSH, options=("--registry", f"http://{at.host}"))
        assert done.code == 0, done
        words = f"the login for {at.host}, of {home.dir}/.docker/config.json, goes to {server.host}, which the registry names for tokens"
        assert (words in done.out) == told and ("goes to" in done.out) == told, done
    assert tokens and all(t == "Basic " + base64.b64encode(b"ann:love").decode() for t in tokens), tokens


def test_logins(t):
    registry, home = Registry(t, auth=True), Home(t)
    options = ("--registry", registry.host)
    refused(home.run(PUSH, options=options), "wants credentials", f"docker login {registry.host}")
    login = json.dumps({"auths": {registry.host: {"auth": base64.b64encode(b"ada:love:lace").decode()}}})
    for place in ".docker/config.json", ".config/containers/auth.json":
        path = home.put(place, login)
        pushed(home.run(PUSH, options=options), registry)
        os.unlink(path)
    pushed(home.run(PUSH, options=options, REGISTRY_AUTH_FILE=home.put("elsewhere.json", login)), registry)
    wrong = json.dumps({"auths": {registry.host: {"auth": base64.b64encode(b"ada:hate-him").decode()}}})
    home.put("docker/config.json", wrong)
    done = home.run(PUSH, options=options, DOCKER_CONFIG=f"{home.dir}/docker")
    refused(done, "does not take these credentials, which are from ", "docker/config.json", f"`docker login {registry.host}`")
    assert "hate-him" not in done.out + done.err, done


def test_credential_helpers(t):
    registry, home = Registry(t, auth=True), Home(t)
    options = ("--registry", registry.host)
    home.put("bin/docker-credential-vault", "#!/bin/sh\nread host\n[ \"$1 $host\" = \"get %s\" ] || exit 1\n"
             "echo 'a newer version is there' >&2\n"
             "echo '{\"Username\": \"ada\", \"Secret\": \"love:lace\"}'\n" % registry.host, 0o755)
    path = f"{home.dir}/bin:{os.environ['PATH']}"
    for config in {"credHelpers": {registry.host: "vault"}}, {"credsStore": "vault"}:
        home.put(".docker/config.json", json.dumps(config))
        done = home.run(PUSH, options=options, PATH=path)
        pushed(done, registry)
        assert "love:lace" not in done.out + done.err, done
    home.put("bin/docker-credential-vault", "#!/bin/sh\necho 'the vault is locked'\nexit 1\n", 0o755)
    refused(home.run(PUSH, options=options, PATH=path), "wants credentials", "docker-credential-vault of ", " failed: the vault is locked")
    home.put("bin/docker-credential-vault", "#!/bin/sh\necho 'credentials not found in native keychain'\nexit 1\n", 0o755)
    done = home.run(PUSH, options=options, PATH=path)
    refused(done, "wants credentials")
    assert "native keychain" not in done.out + done.err, done
    home.put("bin/docker-credential-vault", "#!/bin/sh\necho '{\"Username\": \"ada\", \"Secret\": \"love:lace\"}'\necho 'no audit' >&2\nexit 1\n", 0o755)
    done = home.run(PUSH, options=options, PATH=path)
    refused(done, "wants credentials", " failed: no audit")
    assert "love:lace" not in done.out + done.err, done
    home.put(".docker/config.json", json.dumps({"credHelpers": {registry.host: "absent"}}))
    refused(home.run(PUSH, options=options), "docker-credential-absent", ".docker/config.json")


def test_a_busy_registry_is_asked_again(t):
    registry, home, seen = Registry(t), Home(t), []

    def ask(request):
        if "/manifests/" not in request.path or request.command == "HEAD":
            return False
        seen.append((request.command, time.monotonic()))
        number = sum(1 for command, _ in seen if command == request.command)
        if number == 1:
            request.reply(429, b"{}", Retry_After="1")
        elif number == 2:
            request.reply(503, b"{}", Retry_After=email.utils.formatdate(time.time() + 2, usegmt=True))
        return number <= 2

    front = Front(t, registry, ask)
    options = ("--registry", front.host)
    pushed(home.run(PUSH, options=options), front)
    puts = [at for command, at in seen if command == "PUT"]
    assert len(puts) == 3 and puts[1] - puts[0] > 0.9, puts
    done = Home(t).run(f'print(image.pull("{front.host}/team/nb").digest)')
    assert done.code == 0 and [command for command, _ in seen].count("GET") == 3, (done, seen)
    # one that is busy for longer than anybody waits says so at once
    for answer in {"Retry_After": "3600"}, {}:
        seen.clear()
        busy = Front(t, registry, lambda r, answer=answer: "/manifests/" in r.path and (seen.append((r.command, 0)) or r.reply(429, b"{}", **answer) or True))
        done = Home(t).run(f'image.pull "{busy.host}/team/nb"')
        assert done.code == 1 and f"the registry {busy.host} refuses the manifest of team/nb: 429" in done.err, done
        assert len(seen) == (1 if answer else 4), seen


def with_tokens(t, registry, seen):
    """A registry that wants a bearer token, which its token server gives to those whose request it likes."""
    def ask(request):
        path, _, query = request.path.partition("?")
        if path == "/token":
            form = dict(urllib.parse.parse_qsl(request.body.decode() or query))
            seen.append((request.command, request.headers.get("Authorization"), form))
            request.reply(200, json.dumps({"access_token": f"given-{len(seen)}"}).encode(), Content_Type="application/json")
            return True
        if not request.headers.get("Authorization", "").startswith("Bearer "):
            request.reply(401, b"{}", WWW_Authenticate=f'Bearer realm="http://{front.host}/token",service="registry.example"')
            return True
        return False
    front = Front(t, registry, ask)
    return front


def test_every_form_of_a_login(t):
    registry, seen = Registry(t), []
    front = with_tokens(t, registry, seen)
    ada = "Basic " + base64.b64encode(b"ada:love").decode()
    secret = base64.b64encode(b"ada:love").decode()
    for auths, command, login in (
            ({front.host: {"auth": secret}}, "GET", ada),
            ({front.host: {"username": "ada", "password": "love"}}, "GET", ada),
            ({f"{front.host}/other": {"auth": "eDp5"}, f"{front.host}/team/nb": {"auth": secret}, front.host: {"auth": "eDp5"}}, "GET", ada),
            ({f"{front.host}/other": {"auth": secret}}, "GET", None),
            ({front.host: {"auth": base64.b64encode(b"00000000-0000-0000-0000-000000000000:").decode(), "identitytoken": "id-tok"}}, "POST", None)):
        seen.clear()
        home = Home(t)
        home.put(".docker/config.json", json.dumps({"auths": auths}))
        done = home.run(PUSH, options=("--registry", front.host))
        pushed(done, front)
        assert seen[0][:2] == (command, login), (auths, seen)
        if command == "POST":
            form = seen[0][2]
            assert form["grant_type"] == "refresh_token" and form["refresh_token"] == "id-tok" and form["service"] == "registry.example", form
            assert form["scope"] == "repository:team/nb:pull,push" and form["client_id"], form
        assert "love" not in done.out + done.err and "id-tok" not in done.out + done.err, done


# Bases

def with_base(t, **options):
    """A registry that has apache/spark:3.5.7, as a test's notebook made it."""
    registry, home = Registry(t, **options), Home(t)
    home.put("spark.txt", "the base's")
    know_worker(f"{home.dir}/.local/share")
    done = home.run(f'image.build {{ add = {{"spark.txt"}}, tag = "{registry.host}/apache/spark:3.5.7" }}:push()')
    assert done.code == 0 and registry.has("apache/spark", "3.5.7"), done
    return registry


ON_BASE = ('img = image.build { from = "%s", add = {"trainer.lua"}, worker = false, tag = "team/nb" }:push()\n'
           'print("at " .. img.ref .. " with " .. #img.digest)')


def test_a_base_is_pulled_and_its_layers_are_mounted(t):
    registry, home = with_base(t), Home(t)
    options = ("--registry", registry.host)
    done = home.run(ON_BASE % "apache/spark:3.5.7", options=options)
    pushed(done, registry)
    assert re.search(rf"pulled {registry.host}/apache/spark:3\.5\.7 sha256:\w+ \(4 of 4 blobs fetched", done.out), done
    assert "the base's layers were there" in done.out, done
    with open(registry.log) as f:
        log = f.read()
    assert len(re.findall(r'"POST /v2/team/nb/blobs/uploads/\?mount=\S+ HTTP/1.1" 201', log)) >= 3, log
    again = home.run(ON_BASE % "apache/spark:3.5.7", options=options)
    assert again.code == 0 and "pulled" not in again.out, again
    # a second home, through a prefix: a registry with a mirror below a name
    mirror = Home(t)
    done = mirror.run(ON_BASE % "spark:3.5.7", options=("--registry", f"{registry.host}/apache"))
    pushed(done, registry, "apache/team/nb")
    # by its host, and by its digest
    digest = re.search(r"pulled \S+ (sha256:\w+)", done.out).group(1)
    listed = Home(t).run(f'base = image.pull "{registry.host}/apache/spark:3.5.7"', 'print("is " .. base.digest)',
                         'img = image.build { from = base, tag = "a", worker = false }',
                         'print(#image.list() .. " images, first " .. image.list()[1].ref)')
    whole = re.search(rf"is ({digest}\w+)", listed.out).group(1)
    assert f"2 images, first {registry.host}/apache/spark:3.5.7" in listed.out, listed
    named = Home(t).run('base = image.pull "spark:3.5.7"', "print('from ' .. base.from)", options=("--registry", f"{registry.host}/apache"))
    assert f"from {registry.host}/apache/spark:3.5.7\n" in named.out, named
    done = Home(t).run(ON_BASE % f"{registry.host}/apache/spark@{whole}", options=options)
    pushed(done, registry)


def test_a_base_with_a_login_and_an_authority(t):
    registry = Registry(t, auth=True, tls=True, address=ELSEWHERE)
    first, second = Home(t), Home(t)
    for home in first, second:
        home.certs(registry, {"ca.crt": "ca.crt"})
        home.put(".docker/config.json",
                 json.dumps({"auths": {registry.host: {"auth": base64.b64encode(b"ada:love:lace").decode()}}}))
    know_worker(f"{first.dir}/.local/share")
    done = first.run(f'image.build {{ add = {{"trainer.lua"}}, tag = "{registry.host}/base" }}:push()')
    assert done.code == 0, done
    pushed(second.run(ON_BASE % f"{registry.host}/base", options=("--registry", registry.host)), registry)


def test_a_base_that_is_nowhere(t):
    registry, home = Registry(t), Home(t)
    late = ("--no-preflight",)  # else it is said before the first cell, in other words
    refused(home.run(ON_BASE % f"{registry.host}/nothing:1", options=late), f"base image {registry.host}/nothing:1",
            "is not in the local store, and cannot be pulled", f"the registry {registry.host} has no image nothing:1")
    # a name without a registry is looked for in the chosen one, then on Docker Hub
    done = home.run(ON_BASE % "nobody/nothing:1", options=("--registry", registry.host, *late),
                    HTTPS_PROXY="http://127.0.0.1:1")
    refused(done, f"the registry {registry.host} has no image nobody/nothing:1", "then: registry-1.docker.io")


def test_a_reused_tag_never_runs_an_old_image(t):
    registry, home = Registry(t), Home(t)
    template = '-- %% The pod language="yaml" template="pod.yaml"\n-- image: ${img.ref}\n'
    cell = 'img = image.build { add = {"trainer.lua"}, worker = false, tag = "team/nb%s" }:push()\nprint(img.tagged, img.pinned)'
    seen = set()
    for tag, trainer in (":1", "print 1"), (":1", "print 2"), ("", "print 2"):
        home.put("trainer.lua", trainer)
        path = home.put("n.lua", f"-- %%\n{cell % tag}\n\n{template}")
        done = sh(FIRESTEEL, "run", path, "--allow", "cluster", "--registry", registry.host, env=home.env)
        assert done.code == 0 and f"{registry.host}/team/nb{tag or ':latest'}\t" in done.out, done
        with open(f"{home.dir}/pod.yaml") as f:
            line = f.read().strip()
        assert re.fullmatch(rf"image: {registry.host}/team/nb{tag}@sha256:[0-9a-f]{{64}}", line), line
        seen.add(line)
    assert len(seen) == 3, seen


def test_targets_excludes_and_what_it_runs_with(t):
    home = Home(t)
    for name in "conf/app.yaml", "conf/notes.bak":
        home.put(name, name)
    done = home.run('img = image.build { tag = "plain", worker = false, add = {"trainer.lua", ["conf"] = "/etc/app"},\n'
                    '  exclude = {"**/*.bak"}, env = { B = 2, A = "x y" }, user = 185, workdir = "/srv",\n'
                    '  entrypoint = {"/bin/app"}, cmd = "serve" }', 'print("first " .. img.digest)',
                    'image.build { tag = "plain", workdir = "srv" }')
    assert done.code == 1 and "workdir is a folder in the image" in done.err, done
    store = f"{home.dir}/.local/share/firesteel/images"
    listing = sh("sh", "-c", f"for f in {store}/blobs/sha256/*; do tar tzf $f 2>/dev/null; done")
    assert "srv/trainer.lua" in listing.out and "etc/app/app.yaml" in listing.out, listing
    assert "notes.bak" not in listing.out and "opt/firesteel" not in listing.out, listing
    found = sh("grep", "-rlh", "Entrypoint", f"{store}/blobs")
    with open(found.out.strip()) as f:
        config = json.load(f)["config"]
    assert config == {"Env": ["A=x y", "B=2"], "Entrypoint": ["/bin/app"], "Cmd": ["serve"], "User": "185",
                      "WorkingDir": "/srv"}, config


run(globals())
