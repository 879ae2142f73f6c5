# SPDX-License-Identifier: MIT
"""Debian's docker-registry on a port of loopback: plain, with a password, or on TLS with an authority
that openssl has made for the test alone."""
import json
import os
import shutil
import socket
import subprocess
import warnings

with warnings.catch_warnings():  # htpasswd files need bcrypt, which is nowhere else in the library
    warnings.simplefilter("ignore")
    import crypt

from tap import Skip, eventually, sh


def need(program):
    found = shutil.which(program)
    if not found:
        raise Skip(f"{program} is not installed")
    return found


def openssl(*argv):
    done = sh("openssl", *argv)
    assert done.code == 0, done


def make_certificates(folder):
    """An authority (ca.crt), and certificates of it for this machine and for a client."""
    need("openssl")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=an authority of a test",
            "-addext", "basicConstraints=critical,CA:TRUE", "-days", "2",
            "-keyout", f"{folder}/ca.key", "-out", f"{folder}/ca.crt")
    with open(f"{folder}/names", "w") as f:
        f.write("subjectAltName = IP:127.0.0.1, IP:0.0.0.0, DNS:localhost\n")
    for name in "server", "client":
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.csr")
        openssl("x509", "-req", "-in", f"{folder}/{name}.csr", "-CA", f"{folder}/ca.crt",
                "-CAkey", f"{folder}/ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", f"{folder}/names", "-out", f"{folder}/{name}.crt")


class Registry:
    """.host, .dir; with tls: .dir has ca.crt, client.crt and client.key. address "0.0.0.0" is this machine, too,
    but for programs no loopback."""

    def __init__(self, t, auth=False, tls=False, clients=False, address="127.0.0.1"):
        program = need("docker-registry")
        self.dir = t.dir()
        with socket.socket() as s:
            s.bind((address, 0))
            self.host = f"{address}:{s.getsockname()[1]}"
        self.log = f"{self.dir}/access.log"
        config = {"version": 0.1, "log": {"level": "error", "accesslog": {"disabled": False}},
                  "http": {"addr": self.host},
                  "storage": {"filesystem": {"rootdirectory": f"{self.dir}/data"}, "delete": {"enabled": True}}}
        if auth:
            with open(f"{self.dir}/htpasswd", "w") as f:
                f.write("ada:" + crypt.crypt("love:lace", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=16)) + "\n")
            config["auth"] = {"htpasswd": {"realm": "test", "path": f"{self.dir}/htpasswd"}}
        if tls or clients:
            make_certificates(self.dir)
            config["http"]["tls"] = {"certificate": f"{self.dir}/server.crt", "key": f"{self.dir}/server.key"}
        if clients:
            config["http"]["tls"]["clientcas"] = [f"{self.dir}/ca.crt"]
        with open(f"{self.dir}/config.yml", "w") as f:
            json.dump(config, f)  # JSON is YAML
        with open(self.log, "w") as log:
            self.process = subprocess.Popen([program, "serve", f"{self.dir}/config.yml"], stdout=log, stderr=log)
        t.after(lambda: (self.process.kill(), self.process.wait()))
        eventually(self.is_up)

    def is_up(self):
        """docker-registry listens"""
        host, port = self.host.split(":")
        with socket.socket() as s:
            return s.connect_ex((host, int(port))) == 0

    def has(self, name, tag):
        """Does the registry's own storage have this tag?"""
        return os.path.exists(f"{self.dir}/data/docker/registry/v2/repositories/{name}/_manifests/tags/{tag}")
