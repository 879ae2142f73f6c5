# SPDX-License-Identifier: MIT
"""Objects of the cluster, asked of its API server. Kinds are named as kubectl names them; kubectl itself takes a tenth of a second of
a processor for each question, and a case that waits asks often."""
import functools
import http.client
import json
import pathlib
import threading
import time
from urllib.parse import urlencode

import apicases
import images

IDLE = 5  # seconds: a connection that is older may have been closed by the server
BUSY = (429, 503)  # what kubectl asks again, too


class Objects:
    def __init__(self, kubeconfig):
        self.server = apicases.Server(json.loads(pathlib.Path(kubeconfig).read_text(encoding="utf-8")), images.BUSYBOX)
        self.turn, self.asked = threading.Lock(), 0
        self.kinds = {}  # by each of its names: path of its group, name there, whether it has a namespace, name of one

    def ask(self, method, path, body=None, **more):
        for _ in range(10):
            with self.turn:
                answer = self.once(method, path, body, **more)
            if answer.code not in BUSY:
                break
            time.sleep(float(answer.headers.get("Retry-After", 1)))
        return answer

    def once(self, method, path, body, **more):
        if self.server.line and time.monotonic() - self.asked > IDLE:
            self.server.line.close()
            self.server.line = None
        try:
            return self.server(method, path, body, **more)
        except (OSError, http.client.HTTPException):
            if method != "GET":
                raise
            return self.server(method, path, body, **more)
        finally:
            self.asked = time.monotonic()

    def find(self, name):
        if name not in self.kinds:  # perhaps it has just been defined
            self.discover()
        assert name in self.kinds, f"the cluster has no kind {name}"
        return self.kinds[name]

    def discover(self):
        for root in ("/apis", "/api"):  # what is named twice is the core's
            groups = self.ask("GET", root, Accept=apicases.DISCOVERY).json["items"]
            for group, version in ((g["metadata"].get("name"), v) for g in reversed(groups) for v in reversed(g["versions"])):
                place = "/".join(filter(None, (root, group, version["version"])))
                for found in version.get("resources", []):
                    one = found.get("singularResource") or found["responseKind"]["kind"].lower()
                    kind = (place, found["resource"], found["scope"] == "Namespaced", one)
                    whole = f"{place.removeprefix(root)[1:]}/{found['responseKind']['kind']}"
                    names = (found["resource"], one, whole, *found.get("shortNames", []))
                    self.kinds.update(dict.fromkeys(names, kind))

    def path(self, name, namespace):
        place, resource, inside, _ = self.find(name)
        return f"{place}/namespaces/{namespace}/{resource}" if inside else f"{place}/{resource}"

    def create(self, namespace, thing):
        at = self.path(f"{thing['apiVersion']}/{thing['kind']}", thing["metadata"].get("namespace", namespace))
        made = self.ask("POST", f"{at}?fieldValidation=Strict", thing)
        assert made.code == 201, (thing, made)

    def get(self, namespace, kind, name):
        """The object, None when there is none."""
        answer = self.ask("GET", f"{self.path(kind, namespace)}/{name}")
        assert answer.code in (200, 404), answer
        return answer.json if answer.code == 200 else None

    def list(self, namespace, kind, labels="", **more):
        answer = self.ask("GET", f"{self.path(kind, namespace)}?{urlencode({'labelSelector': labels})}", **more)
        assert answer.code == 200, answer
        return answer.json["items"] or []

    def names(self, namespace, kinds, labels=""):
        """KIND/NAME of each, of kinds that are separated by commas."""
        return [f"{self.find(kind)[3]}/{one['metadata']['name']}"
                for kind in kinds.split(",") for one in self.list(namespace, kind, labels, Accept=apicases.PARTIALS)]


@functools.cache
def objects(kubeconfig):
    return Objects(kubeconfig)
