# SPDX-License-Identifier: MIT
"""What a Kubernetes API server answers, case by case: the same of the sandbox (tests/wire/api.py) and of the real one
(tests/cluster/case_api.py). What is here for one of them only is the image of a pod, and how a server gets old.

    cases(server) -> {"test_…": case}; server: a Server, made when the first case asks for it
"""
import base64
import http.client
import itertools
import json
import os
import re
import ssl
import time
import types
from urllib.parse import quote, urlsplit

from tap import PATIENCE, eventually

JSON_PATCH, MERGE = "application/json-patch+json", "application/merge-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
FUTURE = 99999999999
numbers = itertools.count(1)


class Answer:
    def __init__(self, code, headers, text):
        self.code, self.headers, self.text = code, headers, text

    @property
    def json(self):
        return json.loads(self.text)

    @property
    def events(self):
        return [json.loads(line) for line in self.text.splitlines()]

    def __repr__(self):
        return f"{self.code} {self.text[:1500]}"


class Server:
    """HTTP to the API server of a kubeconfig, as `kubectl config view --raw -o json` prints it."""

    def __init__(self, config, image, forget=lambda: None):
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls, self.address = ssl.create_default_context(cadata=ca), urlsplit(cluster["server"]).netloc
        self.token, self.image, self.forget = user["token"], image, forget
        self.line = None

    def __call__(self, method, path, body=None, type="application/json", **headers):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        headers = {"Authorization": f"Bearer {self.token}", **headers}
        if body is not None:
            headers["Content-Type"] = type
        self.line = self.line or http.client.HTTPSConnection(self.address, context=self.tls, timeout=30 * PATIENCE)
        try:
            self.line.request(method, path, body, headers)
            answer = self.line.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())
        except (OSError, http.client.HTTPException):
            self.line = None
            raise


class Place:
    """A namespace of one's own, with its account."""

    def __init__(self, t, server):
        self.server, self.name = server, f"api-{os.getpid()}-{next(numbers)}"
        made = server("POST", "/api/v1/namespaces", {"metadata": {"name": self.name}})
        assert made.code == 201, made
        t.after(lambda: server("DELETE", f"/api/v1/namespaces/{self.name}"))
        self.maps, self.pods = self.of("configmaps"), self.of("pods")
        self.jobs = f"/apis/batch/v1/namespaces/{self.name}/jobs"
        eventually(lambda: server("GET", self.of("serviceaccounts") + "/default").code == 200)
        eventually(lambda: server("GET", self.maps + "/kube-root-ca.crt").code == 200)

    def of(self, resource):
        return f"/api/v1/namespaces/{self.name}/{resource}"

    def __call__(self, method, path, body=None, code=None, **more):
        answer = self.server(method, path, body, **more)
        assert code is None or answer.code == code, (method, path, answer)
        return answer

    def make(self, path, *objects):
        return [self("POST", path, o, 201).json for o in objects]

    def get(self, path):
        return self("GET", path, code=200).json

    def gone(self, path, seconds=60):
        def check():
            return self("GET", path).code == 404
        check.__doc__ = f"{path} is gone"
        eventually(check, seconds)

    def until(self, path, what, seconds=90):
        """The object, as soon as what(object) is true."""
        def check():
            found = self.get(path)
            return found if what(found) else None
        check.__doc__ = f"{path} is as it should become"
        return eventually(check, seconds, every=0.2)

    def refused(self, method, path, body, code, reason, *words, **more):
        """The Status of a refusal, in all its parts."""
        answer = self(method, path, body, code, **more)
        status = answer.json
        assert (status["kind"], status["apiVersion"], status["status"], status["code"]) == ("Status", "v1", "Failure", code), answer
        assert status.get("reason") == reason, answer
        for word in words:
            assert word in status["message"], (word, answer)
        return status

    def pod(self, name, *command, **spec):
        container = {"name": "main", "image": self.server.image, "command": list(command)}
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}},
                "spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container], **spec}}

    def job(self, name, *command, **spec):
        pod = self.pod(name, *command)["spec"]
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
                "spec": {"backoffLimit": 0, "template": {"spec": pod}, **spec}}


def config(name, labels=None, **data):
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **({"data": data} if data else {})}


def fields(status):
    return [(c.get("field"), c["reason"]) for c in status["details"]["causes"]]


def managers(object):
    return {(m["manager"], m["operation"]) for m in object["metadata"].get("managedFields", [])}


# ---- what the server is, and who asks

def test_discovery(t, p):
    version = p.get("/version")
    assert version["major"] == "1" and version["gitVersion"].startswith("v1."), version
    assert p.get("/api")["versions"] == ["v1"]
    groups = {g["name"]: g for g in p.get("/apis")["groups"]}
    assert groups["batch"]["preferredVersion"] == {"groupVersion": "batch/v1", "version": "v1"}, groups["batch"]
    core = {r["name"]: r for r in p.get("/api/v1")["resources"]}
    assert core["pods"]["shortNames"] == ["po"] and core["pods"]["namespaced"] and core["pods"]["kind"] == "Pod"
    assert set(core["pods"]["verbs"]) == {"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
    assert core["pods/log"]["verbs"] == ["get"] and set(core["pods/status"]["verbs"]) == {"get", "patch", "update"}
    assert "deletecollection" not in core["namespaces"]["verbs"] and not core["namespaces"]["namespaced"]
    for path, group, resource, kind in (("/api", None, "pods", "Pod"), ("/apis", "batch", "jobs", "Job")):
        answer = p("GET", path, code=200, Accept=DISCOVERY)
        assert "as=APIGroupDiscoveryList" in answer.headers["Content-Type"], answer.headers
        found = [(v["version"], r) for g in answer.json["items"] if g["metadata"].get("name") == group
                 for v in g["versions"] for r in v["resources"] if r["resource"] == resource]
        assert found and found[0][0] == "v1" and found[0][1]["scope"] == "Namespaced", found
        assert found[0][1]["responseKind"] == {"group": "", "version": "", "kind": kind}, found
        assert "status" in [s["subresource"] for s in found[0][1]["subresources"]], found
    assert p("GET", "/readyz").text == "ok"
    assert "components" in p.get("/openapi/v3/api/v1")


def test_reviews_of_oneself(t, p):
    reviews, auth = "/apis/authorization.k8s.io/v1", "authorization.k8s.io/v1"
    who = p("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, 201).json
    assert who["kind"] == "SelfSubjectReview" and who["status"]["userInfo"]["username"], who
    assert "system:masters" in who["status"]["userInfo"]["groups"], who
    attributes = {"verb": "create", "resource": "pods", "namespace": p.name}
    access = p("POST", f"{reviews}/selfsubjectaccessreviews", {"spec": {"resourceAttributes": attributes}}, 201).json
    assert (access["apiVersion"], access["kind"]) == (auth, "SelfSubjectAccessReview"), access
    assert access["status"]["allowed"] is True and access["spec"]["resourceAttributes"] == attributes, access
    rules = p("POST", f"{reviews}/selfsubjectrulesreviews", {"spec": {"namespace": p.name}}, 201).json
    assert rules["kind"] == "SelfSubjectRulesReview" and not rules["status"]["incomplete"], rules
    assert any("*" in r["verbs"] and "*" in r["resources"] for r in rules["status"]["resourceRules"]), rules
    p.refused("POST", f"{reviews}/selfsubjectaccessreviews", {"spec": {}}, 422, "Invalid", "exactly one of")
    both = {"spec": {"resourceAttributes": attributes, "nonResourceAttributes": {"verb": "get", "path": "/"}}}
    p.refused("POST", f"{reviews}/selfsubjectaccessreviews", both, 422, "Invalid", "cannot be specified in combination")
    p.refused("POST", f"{reviews}/selfsubjectrulesreviews", {"spec": {}}, 400, "BadRequest", "no namespace on request")
    p.refused("GET", f"{reviews}/selfsubjectaccessreviews", None, 405, "MethodNotAllowed")
    p.refused("GET", p.maps, None, 401, "Unauthorized", "Unauthorized", Authorization="Bearer wrong")


# ---- reading

def test_forms_of_an_answer(t, p):
    p.make(p.maps, config("a", {"app": "x"}, k="1"))
    one = p.get(p.maps + "/a")
    assert (one["kind"], one["apiVersion"], one["data"]) == ("ConfigMap", "v1", {"k": "1"}), one
    listed = p.get(p.maps + "?labelSelector=app")
    assert (listed["kind"], len(listed["items"])) == ("ConfigMapList", 1), listed
    assert "kind" not in listed["items"][0] and "apiVersion" not in listed["items"][0], "the list says it"
    assert p.get(p.maps + "?labelSelector=none")["items"] == []
    yaml = p("GET", p.maps + "/a", Accept="application/yaml")
    assert yaml.headers["Content-Type"] == "application/yaml" and "\nkind: ConfigMap\n" in yaml.text, yaml
    partial = p("GET", p.maps + "/a", Accept=PARTIAL).json
    assert partial["kind"] == "PartialObjectMetadata" and "data" not in partial and partial["metadata"]["name"] == "a"
    partials = p("GET", p.maps + "?labelSelector=app", Accept=PARTIALS).json
    assert [i["metadata"]["name"] for i in partials["items"]] == ["a"] and "data" not in partials["items"][0], partials
    p.refused("GET", p.maps, None, 406, "NotAcceptable", "the requested object is a list", Accept=PARTIAL)
    table = p("GET", p.maps + "/a", Accept=TABLE).json
    assert [(c["name"], c["type"]) for c in table["columnDefinitions"]] == \
        [("Name", "string"), ("Data", "string"), ("Age", "string")], table
    assert table["rows"][0]["cells"][:2] == ["a", 1] and table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
    assert p("GET", p.maps + "?includeObject=None", Accept=TABLE).json["rows"][0]["object"] is None
    whole = p("GET", p.maps + "/a?includeObject=Object", Accept=TABLE).json
    assert whole["rows"][0]["object"]["data"] == {"k": "1"}, whole
    p.refused("GET", p.maps + "?includeObject=Some", None, 400, "BadRequest", "includeObject", Accept=TABLE)
    p.refused("GET", p.maps, None, 406, "NotAcceptable", Accept="application/nothing")
    assert p("HEAD", p.maps + "/a").code == 405


def test_selectors(t, p):
    p.make(p.maps, config("a", {"app": "web", "tier": "x"}), config("b", {"app": "web"}), config("c", {"app": "db"}))

    def names(**query):
        found = p.get(p.maps + "?" + "&".join(f"{k}={quote(v)}" for k, v in query.items()))["items"]
        return " ".join(i["metadata"]["name"] for i in found if i["metadata"]["name"] != "kube-root-ca.crt")
    for selector, want in [("app=web", "a b"), ("app==web,tier=x", "a"), ("app!=web", "c"), ("app in (web, db),!tier", "b c"),
                           ("app notin (db)", "a b"), ("tier", "a"), ("!app", "")]:
        assert names(labelSelector=selector) == want, selector
    assert names(fieldSelector="metadata.name=b") == "b"
    assert names(fieldSelector=f"metadata.name!=b,metadata.namespace={p.name}") == "a c"
    assert names(labelSelector="app=web", fieldSelector="metadata.name=c") == ""
    p.refused("GET", p.maps + "?labelSelector=a%3D(", None, 400, "BadRequest", "unable to parse requirement: found ")
    p.refused("GET", p.maps + "?fieldSelector=foo", None, 400, "BadRequest", "invalid selector: 'foo'; can't understand 'foo'")
    p.refused("GET", p.maps + "?fieldSelector=spec.foo%3D1", None, 400, "BadRequest",
              '"spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace"')
    p.refused("GET", p.pods + "?fieldSelector=spec.foo%3D1", None, 400, "BadRequest", "field label not supported: spec.foo")


def test_lists_come_in_pages(t, p):
    p.make(p.maps, *[config(f"c{i}", {"p": "y"}) for i in range(7)])
    first = p.get(p.maps + "?limit=3")
    assert len(first["items"]) == 3 and first["metadata"]["remainingItemCount"] == 5, first["metadata"]
    assert "remainingItemCount" not in p.get(p.maps + "?limit=3&labelSelector=p")["metadata"], "nobody counts selected ones"
    token = quote(first["metadata"]["continue"])
    rest = p.get(p.maps + "?limit=100&continue=" + token)
    assert [i["metadata"]["name"] for i in rest["items"]] == ["c3", "c4", "c5", "c6", "kube-root-ca.crt"], rest
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert not rest["metadata"].get("continue") and "remainingItemCount" not in rest["metadata"], rest["metadata"]
    rows = p("GET", p.maps + "?limit=2", Accept=TABLE).json
    assert len(rows["rows"]) == 2 and rows["metadata"]["remainingItemCount"] == 6 and rows["metadata"]["continue"], rows
    p.refused("GET", p.maps + "?continue=xyz", None, 400, "BadRequest", "continue key is not valid")
    p.refused("GET", p.maps + f"?continue={token}&resourceVersion=5", None, 400, "BadRequest",
              "specifying resource version is not allowed when using continue")


def test_versions_of_a_list(t, p):
    p.make(p.maps, config("a"))
    version = p.get(p.maps)["metadata"]["resourceVersion"]
    for query in (f"resourceVersion={version}", "resourceVersion=0", f"resourceVersion={version}&resourceVersionMatch=NotOlderThan",
                  f"resourceVersion={version}&resourceVersionMatch=Exact"):
        assert "a" in [i["metadata"]["name"] for i in p.get(f"{p.maps}?{query}")["items"]], query
    for path in (p.maps, p.maps + "/a"):
        status = p.refused("GET", f"{path}?resourceVersion={FUTURE}", None, 504, "Timeout", "Too large resource version: ")
        assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge", status
        assert status["details"]["retryAfterSeconds"] == 1, status
    p.refused("GET", p.maps + "?resourceVersion=abc", None, 400, "BadRequest", "invalid resource version", "invalid syntax")
    for query, why in [("resourceVersionMatch=Exact", "is forbidden unless resourceVersion is provided"),
                       ("resourceVersion=0&resourceVersionMatch=Exact", 'forbidden for resourceVersion "0"'),
                       ("resourceVersion=1&resourceVersionMatch=Some", 'Unsupported value: "Some"'),
                       ("sendInitialEvents=true", "sendInitialEvents is forbidden for list"),
                       ("watch=1&sendInitialEvents=true", "requires setting resourceVersionMatch to NotOlderThan"),
                       ("watch=1&resourceVersionMatch=NotOlderThan", "forbidden for watch unless sendInitialEvents")]:
        status = p.refused("GET", f"{p.maps}?{query}", None, 422, "Invalid", 'ListOptions.meta.k8s.io "" is invalid', why)
        assert (status["details"]["kind"], status["details"]["group"]) == ("ListOptions", "meta.k8s.io"), status
    for name in ("limit", "timeoutSeconds"):
        p.refused("GET", f"{p.maps}?{name}=x", None, 400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax')
    p.refused("GET", p.maps + "?watch=1&resourceVersion=abc", None, 500, None, "invalid syntax")


# ---- watching

def seen(events):
    return [(e["type"], e["object"]["metadata"].get("name")) for e in events]


def test_watches(t, p):
    since = p.get(p.maps)["metadata"]["resourceVersion"]
    p.make(p.maps, config("a", {"x": "1"}, k="1"))
    p("PATCH", p.maps + "/a", {"data": {"k": "2"}}, 200, type=MERGE)
    p("PATCH", p.maps + "/a", {"metadata": {"labels": {"x": "2"}}}, 200, type=MERGE)
    p("DELETE", p.maps + "/a", code=200)
    watch = f"{p.maps}?watch=1&timeoutSeconds=1"
    answer = p("GET", f"{watch}&resourceVersion={since}", code=200)
    assert answer.headers["Transfer-Encoding"] == "chunked" and answer.headers["Content-Type"] == "application/json"
    assert seen(answer.events) == [("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("DELETED", "a")], answer
    versions = [int(e["object"]["metadata"]["resourceVersion"]) for e in answer.events]
    assert versions == sorted(set(versions)) and versions[0] > int(since), versions
    assert all(e["object"]["kind"] == "ConfigMap" for e in answer.events), answer
    # a selector: what ceases to match is deleted, as it was when it matched, at the change's version
    chosen = p("GET", f"{watch}&resourceVersion={since}&labelSelector=x%3D1").events
    assert seen(chosen) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")], chosen
    assert chosen[2]["object"]["metadata"]["labels"] == {"x": "1"}, chosen[2]
    assert int(chosen[2]["object"]["metadata"]["resourceVersion"]) == versions[2], (chosen[2], versions)
    rows = p("GET", f"{watch}&resourceVersion={since}", Accept=TABLE).events
    assert [e["type"] for e in rows] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"], rows
    assert rows[0]["object"]["columnDefinitions"] and not rows[1]["object"]["columnDefinitions"], "the first has the columns"
    assert [e["object"]["rows"][0]["cells"][:2] for e in rows] == 4 * [["a", 1]], rows
    assert p("GET", f"{watch}&resourceVersion={versions[-1]}").text == ""
    for query in ("", "&resourceVersion=0"):
        assert seen(p("GET", watch + query).events) == [("ADDED", "kube-root-ca.crt")], query


def test_a_watch_that_begins_with_what_is_there(t, p):
    p.make(p.maps, config("a"))
    watch = f"{p.maps}?watch=1&timeoutSeconds=3&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
    events = p("GET", watch + "&allowWatchBookmarks=true").events
    assert seen(events)[:2] == [("ADDED", "a"), ("ADDED", "kube-root-ca.crt")], events
    # a server has another one before a watch's end, now and then
    assert len(events) >= 3 and all(e["type"] == "BOOKMARK" for e in events[2:]), events
    mark = events[2]["object"]
    assert events[2]["type"] == "BOOKMARK" and mark["kind"] == "ConfigMap", events[2]
    assert mark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}, mark
    assert int(mark["metadata"]["resourceVersion"]) >= int(events[0]["object"]["metadata"]["resourceVersion"]), mark
    assert len(p("GET", watch).events) == 2, "no bookmark that nobody asked for"
    last = next(e for e in p("GET", watch + "&allowWatchBookmarks=true", Accept=TABLE).events if e["type"] == "BOOKMARK")
    assert (last["type"], last["object"]["kind"]) == ("BOOKMARK", "Table"), last
    row = last["object"]["rows"][0]["object"]["metadata"]
    assert row["annotations"] == {"k8s.io/initial-events-end": "true"} and row["resourceVersion"], last


def widgets(name, **version):
    """A kind that nobody has seen before, for a case."""
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"widgets.{name}.example.com"},
            "spec": {"group": f"{name}.example.com", "scope": "Namespaced", "names": {
                "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"]},
                "versions": [{"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}, **version}]}}


def add_widgets(t, p, **version):
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    p.make(crds, widgets(p.name, **version))
    t.after(lambda: p("DELETE", f"{crds}/widgets.{p.name}.example.com"))
    p.until(f"{crds}/widgets.{p.name}.example.com", lambda o: any(
        c["type"] == "Established" and c["status"] == "True" for c in o.get("status", {}).get("conditions") or []))
    path = f"/apis/{p.name}.example.com/v1/namespaces/{p.name}/widgets"
    eventually(lambda: p("GET", path).code == 200)
    return path


def test_a_watch_from_before_the_history(t, p):
    """The history of a new kind begins with it; that of the sandbox holds 2,048 changes."""
    path = add_widgets(t, p)
    p.server.forget()
    answer = p("GET", f"{path}?watch=1&timeoutSeconds=5&resourceVersion=1", code=200)
    assert [e["type"] for e in answer.events] == ["ERROR"], answer
    status = answer.events[0]["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired"), status
    assert "too old resource version: 1 (" in status["message"], status


# ---- writing

def test_create(t, p):
    made = p("POST", p.maps + "?fieldManager=me", config("a", {"app": "x"}, k="1"), 201).json
    meta = made["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", meta["uid"]) and meta["namespace"] == p.name, meta
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", meta["creationTimestamp"]) and int(meta["resourceVersion"]) > 0
    assert managers(made) == {("me", "Update")}, meta
    assert p.get(p.maps + "/a") == made
    status = p.refused("POST", p.maps, config("a"), 409, "AlreadyExists", 'configmaps "a" already exists')
    assert (status["details"]["name"], status["details"]["kind"]) == ("a", "configmaps"), status
    named = p("POST", p.maps, {"metadata": {"generateName": "run-"}}, 201).json["metadata"]
    assert re.fullmatch("run-[a-z0-9]{5}", named["name"]) and named["generateName"] == "run-", named
    assert p("POST", p.maps + "?dryRun=All", config("dry"), 201).json["metadata"]["name"] == "dry"
    p.refused("GET", p.maps + "/dry", None, 404, "NotFound", 'configmaps "dry" not found')
    yaml = p("POST", p.maps, "metadata: {name: of-yaml}\ndata: {a: b}\n", 201, type="application/yaml").json
    assert yaml["data"] == {"a": "b"}, yaml


def test_what_is_not_created(t, p):
    object = config("r")
    for change, code, reason, words in [
            ({"metadata": {"name": "A_b"}}, 422, "Invalid", 'ConfigMap "A_b" is invalid: metadata.name: Invalid value: "A_b": a lower'),
            ({"metadata": {}}, 422, "Invalid", "metadata.name: Required value: name or generateName is required"),
            ({"metadata": {"name": "r", "labels": {"a b": "c"}}}, 422, "Invalid", "metadata.labels: Invalid value: \"a b\": name part"),
            ({"metadata": {"name": "r", "resourceVersion": "5"}}, 500, None, "resourceVersion should not be set on objects to be created"),
            ({"metadata": {"name": "r", "namespace": "default"}}, 400, "BadRequest", "does not match the namespace sent on the request"),
            ({"metadata": {"name": "r", "finalizers": ["wait"]}}, 422, "Invalid", "neither a standard finalizer name nor is it fully"),
            ({"metadata": {"name": "r", "ownerReferences": [{"kind": "x"}]}}, 422, "Invalid", "ownerReferences.uid: Invalid value: \"\""),
            ({"kind": "Pod"}, 400, "BadRequest", 'Pod in version "v1" cannot be handled as a ConfigMap'),
            ({"apiVersion": "v2"}, 400, "BadRequest", "v2"), ({"data": {"a": 1}}, 400, "BadRequest", "cannot be handled as a ConfigMap")]:
        p.refused("POST", p.maps, {**object, **change}, code, reason, words)
    for body in ("", "{", "[]"):
        p.refused("POST", p.maps, body, 400, "BadRequest", "the object provided is unrecognized (must be of type ConfigMap)")
    p.refused("POST", p.maps, "x", 415, "UnsupportedMediaType", "accepted media types include: application/json", type="text/x")
    p.refused("POST", "/api/v1/namespaces/nowhere-at-all/configmaps", object, 404, "NotFound", 'namespaces "nowhere-at-all" not found')
    for name, value, kind in (("dryRun", "all", "CreateOptions"), ("fieldValidation", "Loud", "CreateOptions")):
        status = p.refused("POST", f"{p.maps}?{name}={value}", object, 422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {name}: ')
        assert fields(status) == [(name, "FieldValueNotSupported")], status
    unknown = {**object, "dta": {}}
    p.refused("POST", p.maps + "?fieldValidation=Strict", unknown, 400, "BadRequest", 'strict decoding error: unknown field "dta"')
    warned = p("POST", p.maps + "?fieldValidation=Warn&dryRun=All", unknown, 201)
    assert warned.headers["Warning"] == '299 - "unknown field \\"dta\\""', warned.headers.items()
    assert p("POST", p.maps + "?fieldValidation=Ignore&dryRun=All", unknown, 201).headers["Warning"] is None
    p.refused("GET", p.maps + "/r", None, 404, "NotFound")


def test_there_is_no_such_thing(t, p):
    p.make(p.maps, config("a"))
    p.refused("PUT", p.maps, {}, 405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
    p.refused("POST", p.maps + "/a", config("a"), 405, "MethodNotAllowed")
    p.refused("POST", "/api/v1/configmaps", config("a"), 405, "MethodNotAllowed")
    p.refused("DELETE", "/api/v1/namespaces", None, 405, "MethodNotAllowed")
    for path in (p.of("nothing"), p.maps + "/a/what", p.maps + "/a/status"):
        p.refused("GET", path, None, 404, "NotFound", "the server could not find the requested resource")
    for path in ("/apis/nothing.io/v1/things", "/foo"):
        assert (p("GET", path).code, p("GET", path).text) == (404, "404 page not found\n"), path


def test_replace(t, p):
    old, = p.make(p.maps, config("a", k="1"))
    same = p("PUT", p.maps + "/a", old, 200).json
    assert same["metadata"]["resourceVersion"] == old["metadata"]["resourceVersion"], "nothing has changed"
    new = p("PUT", p.maps + "/a?fieldManager=you", {**old, "data": {"k": "2"}}, 200).json
    assert int(new["metadata"]["resourceVersion"]) > int(old["metadata"]["resourceVersion"]) and ("you", "Update") in managers(new)
    p.refused("PUT", p.maps + "/a", {**old, "data": {"k": "3"}}, 409, "Conflict",
              'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest')
    assert p("PUT", p.maps + "/a", config("a", k="4"), 200).json["data"] == {"k": "4"}, "a version need not be named"
    p("PUT", p.maps + "/a?dryRun=All", config("a", k="5"), 200)
    assert p.get(p.maps + "/a")["data"] == {"k": "4"}
    p.refused("PUT", p.maps + "/a", config("b"), 400, "BadRequest", "the name of the object (b) does not match the name on the URL (a)")
    p.refused("PUT", p.maps + "/a", {"metadata": {"name": "a", "uid": "b0a9a2f4-0000-0000-0000-000000000000"}}, 409, "Conflict",
              "Precondition failed: UID in precondition: b0a9a2f4-0000-0000-0000-000000000000")


def test_patches(t, p):
    p.make(p.maps, config("a", {"l": "1"}, k="1"))
    a, patched = p.maps + "/a", lambda body, type, code=200: p("PATCH", p.maps + "/a", body, code, type=type).json
    assert patched([{"op": "test", "path": "/data/k", "value": "1"}, {"op": "add", "path": "/data/y", "value": "1"},
                    {"op": "replace", "path": "/data/z", "value": "2"}], JSON_PATCH)["data"] == {"k": "1", "y": "1", "z": "2"}
    assert patched([{"op": "remove", "path": "/data/z"}], JSON_PATCH)["data"] == {"k": "1", "y": "1"}
    rejected = "the server rejected our request due to an error in our request"
    for operation in ({"op": "test", "path": "/data/y", "value": "2"}, {"op": "remove", "path": "/data/none"},
                      {"op": "add", "path": "/nothing/none", "value": "x"}, {"op": "what", "path": "/data/none"}):
        p.refused("PATCH", a, [operation], 422, "Invalid", rejected, type=JSON_PATCH)
    for type, body in ((JSON_PATCH, "["), (JSON_PATCH, {"op": "add"}), (MERGE, "{")):
        p.refused("PATCH", a, body, 400, "BadRequest", "error decoding patch: ", type=type)
    merged = patched({"data": {"y": None, "z": "1"}}, MERGE)
    assert merged["data"] == {"k": "1", "z": "1"}
    assert patched({"data": {"z": "1"}}, MERGE)["metadata"]["resourceVersion"] == merged["metadata"]["resourceVersion"]
    assert patched({"data": {"z": "2"}}, STRATEGIC)["data"]["z"] == "2"
    for body, code, reason, word in [
            ({"metadata": {"name": "b"}}, 400, "BadRequest", "does not match the name on the URL (a)"),
            ({"metadata": {"namespace": "default"}}, 400, "BadRequest", "namespace"),
            ({"metadata": {"resourceVersion": "1"}}, 409, "Conflict", "the object has been modified"),
            ({"metadata": {"uid": "x"}}, 422, "Invalid", 'metadata.uid: Invalid value: "x": field is immutable'),
            ({"data": "x"}, 422, "Invalid", "patch: Invalid value: ")]:
        p.refused("PATCH", a, body, code, reason, word, type=MERGE)
    status = p.refused("PATCH", a + "?fieldValidation=Strict", {"dta": {}}, 422, "Invalid", 'unknown field "dta"', type=MERGE)
    assert fields(status) == [("patch", "FieldValueInvalid")], status
    p.refused("PATCH", a + "?force=true", {}, 422, "Invalid", "force: Forbidden: may not be specified for non-apply patch", type=MERGE)
    p.refused("PATCH", a, {}, 415, "UnsupportedMediaType", type="application/json")
    p.refused("PATCH", p.maps + "/none", {}, 404, "NotFound", 'configmaps "none" not found', type=MERGE)


def test_apply(t, p):
    def apply(manager, object, code=200, query=""):
        return p("PATCH", f"{p.maps}/a?fieldManager={manager}{query}", object, code, type=APPLY).json
    made = apply("m1", config("a", a="1", b="1"), 201)
    assert managers(made) == {("m1", "Apply")}, made
    assert apply("m1", config("a", a="1", b="1"))["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    one = apply("m2", config("a", a="2"), 409)
    assert (one["reason"], one["message"]) == ("Conflict", 'Apply failed with 1 conflict: conflict with "m1": .data.a'), one
    assert fields(one) == [(".data.a", "FieldManagerConflict")], one
    two = apply("m2", config("a", a="2", b="2"), 409)
    assert two["message"] == 'Apply failed with 2 conflicts: conflicts with "m1":\n- .data.a\n- .data.b', two
    assert managers(apply("m2", config("a", a="1"))) == {("m1", "Apply"), ("m2", "Apply")}, "who agrees owns, too"
    assert apply("m2", config("a", a="2"), query="&force=true")["data"] == {"a": "2", "b": "1"}
    assert apply("m1", config("a", c="1"))["data"] == {"a": "2", "c": "1"}, "what m1 alone had is gone, what m2 has stays"
    assert apply("m1", config("a", d="1"), query="&dryRun=All")["data"] == {"a": "2", "d": "1"}
    p("PUT", p.maps + "/a?fieldManager=put", config("a", c="9"), 200)
    other = apply("m1", config("a", c="1"), 409)
    assert other["message"] == 'Apply failed with 1 conflict: conflict with "put" using v1: .data.c', other
    a = p.maps + "/a"
    status = p.refused("PATCH", a, config("a"), 422, "Invalid", 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required', type=APPLY)
    assert fields(status) == [("fieldManager", "FieldValueRequired")], status
    for path, body, code, reason, word in [
            (a, config("other"), 400, "BadRequest", "the name of the object (other) does not match the name on the URL (a)"),
            (a, {"metadata": {"name": "a"}}, 400, "BadRequest", "invalid object type: /, Kind="),
            (a, {**config("a"), "metadata": {"name": "a", "managedFields": [{"manager": "x"}]}}, 400, "BadRequest", "must be nil"),
            (a, {**config("a"), "metadata": {"name": "a", "resourceVersion": "1"}}, 409, "Conflict", "the object has been modified"),
            (p.maps + "/n", {**config("n"), "metadata": {"name": "n", "uid": "12"}}, 409, "Conflict", "no existing object was found"),
            (a, "a: [", 400, "BadRequest", "")]:
        p.refused("PATCH", path + "?fieldManager=m1", body, code, reason, word, type=APPLY)


# ---- deleting

def test_delete(t, p):
    old, = p.make(p.maps, config("a"))
    a = p.maps + "/a"
    p("DELETE", a + "?dryRun=All", code=200)
    p.refused("DELETE", a, {"preconditions": {"uid": "x"}}, 409, "Conflict", "the UID in the precondition (x) does not match the UID in record")
    p.refused("DELETE", a, {"preconditions": {"resourceVersion": "1"}}, 409, "Conflict", "the ResourceVersion in the precondition (1)")
    status = p.refused("DELETE", a + "?propagationPolicy=Some", None, 422, "Invalid", 'DeleteOptions.meta.k8s.io "" is invalid')
    assert fields(status) == [("propagationPolicy", "FieldValueNotSupported")], status
    p.refused("DELETE", a + "?gracePeriodSeconds=x", None, 400, "BadRequest", 'strconv.ParseInt: parsing "x"')
    p.get(a)
    done = p("DELETE", a, {"preconditions": {"uid": old["metadata"]["uid"]}}, 200).json
    assert done["status"] == "Success" and done["details"] == {"name": "a", "kind": "configmaps", "uid": old["metadata"]["uid"]}, done
    p.refused("DELETE", a, None, 404, "NotFound", 'configmaps "a" not found')
    p.make(p.maps, *[config(f"m{i}", {"many": "y"}) for i in range(3)])
    gone = p("DELETE", p.maps + "?labelSelector=many%3Dy", code=200).json
    assert gone["kind"] == "ConfigMapList" and len(gone["items"]) == 3, gone
    assert [i["metadata"]["name"] for i in p.get(p.maps)["items"]] == ["kube-root-ca.crt"]


def test_finalizers(t, p):
    p.make(p.maps, {"metadata": {"name": "f", "finalizers": ["example.org/wait"]}})
    f = p.maps + "/f"
    waiting = p("DELETE", f, code=200).json
    assert waiting["metadata"]["deletionTimestamp"] and waiting["metadata"]["deletionGracePeriodSeconds"] == 0, waiting
    again = p("DELETE", f, code=200).json
    assert again["metadata"]["resourceVersion"] == waiting["metadata"]["resourceVersion"], again
    p.refused("PATCH", f, {"metadata": {"finalizers": ["example.org/wait", "example.org/b"]}}, 422, "Invalid",
              'no new finalizers can be added if the object is being deleted, found new finalizers []string{"example.org/b"}', type=MERGE)
    p("PATCH", f, {"metadata": {"finalizers": None}}, 200, type=MERGE)
    p.refused("GET", f, None, 404, "NotFound")


def test_owners_and_what_they_own(t, p):
    def family(**more):
        own, = p.make(p.maps, config("own"))
        p.make(p.maps, {"metadata": {"name": "dep", "ownerReferences": [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": "own", "uid": own["metadata"]["uid"], **more}]}})
        return p.maps + "/own", p.maps + "/dep"
    own, dep = family(blockOwnerDeletion=True)
    first = p("DELETE", own + "?propagationPolicy=Foreground", code=200).json
    assert first["metadata"]["finalizers"] == ["foregroundDeletion"] and first["metadata"]["deletionTimestamp"], first
    p.gone(dep)
    p.gone(own)
    own, dep = family()
    p("DELETE", own, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}, 200)
    p.gone(own)
    assert not p.get(dep)["metadata"].get("ownerReferences"), "an orphan"
    p("DELETE", dep, code=200)
    own, dep = family()
    assert p("DELETE", own + "?propagationPolicy=Background", code=200).json["status"] == "Success"
    p.gone(dep)


# ---- pods, logs, jobs

def test_a_pod_from_its_creation_to_its_log(t, p):
    made, = p.make(p.pods, p.pod("p", "sh", "-c", "for i in 1 2 3; do echo line $i; done; printf end"))
    assert made["status"]["phase"] == "Pending" and made["spec"]["serviceAccountName"] == "default", made
    pod = p.until(p.pods + "/p", lambda o: o["status"]["phase"] == "Succeeded")
    container = pod["status"]["containerStatuses"][0]
    assert container["state"]["terminated"]["exitCode"] == 0 and container["state"]["terminated"]["reason"] == "Completed", container
    assert container["restartCount"] == 0 and container["ready"] is False and pod["spec"]["nodeName"], pod
    conditions = {c["type"]: c["status"] for c in pod["status"]["conditions"]}
    assert conditions["PodScheduled"] == "True" and conditions["Ready"] == "False", conditions
    row = p("GET", p.pods + "/p", Accept=TABLE).json
    assert [c["name"].upper() for c in row["columnDefinitions"]] == [
        "NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP", "NODE", "NOMINATED NODE", "READINESS GATES"], row["columnDefinitions"]
    assert row["rows"][0]["cells"][:4] == ["p", "0/1", "Completed", "0"], row["rows"]
    log, whole = p.pods + "/p/log", "line 1\nline 2\nline 3\nend"
    answer = p("GET", log, code=200)
    assert answer.text == whole and answer.headers["Content-Type"] == "text/plain", answer
    for query, want in [("tailLines=2", "line 3\nend"), ("tailLines=0", ""), ("limitBytes=4", "line"), ("sinceSeconds=3600", whole),
                        ("follow=true", whole), ("follow=true&tailLines=1", "end"), ("sinceTime=2020-01-01T00:00:00Z", whole)]:
        assert p("GET", f"{log}?{query}", code=200).text == want, query
    stamped = p("GET", log + "?timestamps=true").text.splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z ", s) for s in stamped) and len(stamped) == 4, stamped
    for query, field in [("tailLines=-1", "tailLines"), ("limitBytes=0", "limitBytes"), ("sinceSeconds=0", "sinceSeconds"),
                         ("sinceSeconds=5&sinceTime=2026-01-01T00:00:00Z", "[]")]:
        status = p.refused("GET", f"{log}?{query}", None, 422, "Invalid", f'PodLogOptions "p" is invalid: {field}: ')
        assert [c[0] for c in fields(status)] == [field], status
    p.refused("GET", log + "?tailLines=x", None, 400, "BadRequest", 'strconv.ParseInt: parsing "x": invalid syntax')
    p.refused("GET", log + "?sinceTime=yesterday", None, 400, "BadRequest", 'parsing time "yesterday"')
    p.refused("GET", log + "?container=zz", None, 400, "BadRequest", "container zz is not valid for pod p")
    p.refused("GET", log + "?previous=true", None, 400, "BadRequest", 'previous terminated container "main" in pod "p" not found')
    p.refused("GET", p.pods + "/none/log", None, 404, "NotFound", 'pods "none" not found')
    p.refused("POST", log, {}, 405, "MethodNotAllowed")


def test_a_pod_of_several_containers(t, p):
    two = p.pod("two", "echo", "x")
    image = {"image": p.server.image}
    two["spec"]["containers"].append({"name": "side", "command": ["sh", "-c", "echo side; exit 3"], **image})
    two["spec"]["initContainers"] = [{"name": "first", "command": ["echo", "init"], **image}]
    p.make(p.pods, two)
    pod = p.until(p.pods + "/two", lambda o: o["status"]["phase"] == "Failed")
    codes = {c["name"]: c["state"]["terminated"]["exitCode"] for c in pod["status"]["containerStatuses"]}
    assert codes == {"main": 0, "side": 3}, codes
    p.refused("GET", p.pods + "/two/log", None, 400, "BadRequest",
              "a container name must be specified for pod two, choose one of: [first main side]")
    for name, want in (("main", "x\n"), ("side", "side\n"), ("first", "init\n")):
        assert p("GET", f"{p.pods}/two/log?container={name}", code=200).text == want, name
    assert p("GET", p.pods + "/two", Accept=TABLE).json["rows"][0]["cells"][:3] == ["two", "0/2", "Completed"], "the state of the first"
    found = p.get(p.pods + "?fieldSelector=status.phase%3DFailed")["items"]
    assert [i["metadata"]["name"] for i in found] == ["two"], found


def test_a_pod_without_a_node(t, p):
    p.make(p.pods, p.pod("nowhere", "true", nodeSelector={"no": "where"}))
    nowhere = p.pods + "/nowhere"
    pod = p.until(nowhere, lambda o: o["status"].get("conditions"))
    condition = pod["status"]["conditions"][0]
    assert (condition["type"], condition["status"], condition["reason"]) == ("PodScheduled", "False", "Unschedulable"), condition
    for query in ("", "?follow=true"):
        assert (p("GET", nowhere + "/log" + query).code, p("GET", nowhere + "/log" + query).text) == (204, ""), query
    p("PATCH", nowhere, {"spec": {"containers": [{"name": "main", "image": "other"}]}}, 200, type=STRATEGIC)
    p.refused("PATCH", nowhere, {"spec": {"nodeName": "x"}}, 422, "Invalid", "pod updates may not change fields other than", type=MERGE)
    said = p("PATCH", nowhere + "/status", {"status": {"message": "hm"}}, 200, type=MERGE).json
    assert said["status"]["message"] == "hm", said
    assert p("PATCH", nowhere, {"status": {"message": "no"}}, 200, type=MERGE).json["status"]["message"] == "hm"
    p("DELETE", nowhere, code=200)
    p.gone(nowhere)


def test_a_pod_that_is_deleted_while_it_runs(t, p):
    p.make(p.pods, p.pod("run", "sleep", "600"))
    p.until(p.pods + "/run", lambda o: o["status"]["phase"] == "Running")
    ending = p("DELETE", p.pods + "/run", code=200).json
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 1 and ending["metadata"]["deletionTimestamp"], ending
    p.gone(p.pods + "/run")


def test_pods_that_are_not_made(t, p):
    container = {"name": "a", "image": "i"}
    for spec, code, word in [
            ({"containers": []}, 422, "spec.containers: Required value"),
            ({"containers": [{"name": "A", "image": "i"}]}, 422, 'spec.containers[0].name: Invalid value: "A"'),
            ({"containers": [{"name": "a"}]}, 422, "spec.containers[0].image: Required value"),
            ({"containers": [container, container]}, 422, 'spec.containers[1].name: Duplicate value: "a"'),
            ({"containers": [container], "restartPolicy": "Maybe"}, 422, 'Unsupported value: "Maybe": supported values: "Always", "OnFailure"'),
            ({"containers": [{**container, "env": [{"name": ""}]}]}, 422, "spec.containers[0].env[0].name: Required value"),
            ({"containers": [{**container, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}, 422, 'volumeMounts[0].name: Not found: "v"'),
            ({"containers": "c"}, 400, "cannot be handled as a Pod"),
            ({"containers": [container], "serviceAccountName": "nobody"}, 403, f"error looking up service account {p.name}/nobody")]:
        p.refused("POST", p.pods, {"metadata": {"name": "b"}, "spec": spec}, code, {422: "Invalid", 400: "BadRequest", 403: "Forbidden"}[code], word)


def ended(type):
    return lambda job: any(c["type"] == type and c["status"] == "True" for c in job.get("status", {}).get("conditions", []))


def test_jobs(t, p):
    p.make(p.jobs, p.job("good", "echo", "done"), p.job("bad", "sh", "-c", "exit 3"))
    good = p.until(p.jobs + "/good", ended("Complete"))
    assert good["status"]["succeeded"] == 1 and good["status"]["startTime"] and good["status"]["completionTime"], good["status"]
    assert good["spec"]["completions"] == good["spec"]["parallelism"] == 1 and good["metadata"]["generation"] == 1, good
    pods = p.get(p.pods + "?labelSelector=batch.kubernetes.io%2Fjob-name%3Dgood")["items"]
    owner = pods[0]["metadata"]["ownerReferences"][0]
    assert len(pods) == 1 and (owner["kind"], owner["name"], owner["controller"]) == ("Job", "good", True), pods
    assert owner["uid"] == good["metadata"]["uid"] and pods[0]["metadata"]["generateName"] == "good-", pods
    cells = p("GET", p.jobs + "/good", Accept=TABLE).json["rows"][0]["cells"]
    assert cells[:3] == ["good", "Complete", "1/1"], cells
    bad = p.until(p.jobs + "/bad", ended("Failed"))
    why = [c for c in bad["status"]["conditions"] if c["type"] == "Failed"][0]
    assert bad["status"]["failed"] == 1 and why["reason"] == "BackoffLimitExceeded", bad["status"]
    p.refused("PATCH", p.jobs + "/good", {"spec": {"completions": 5}}, 422, "Invalid", "spec.completions: Invalid value: 5: field is immutable", type=MERGE)
    spec = p.job("x", "true")["spec"]
    del spec["template"]["spec"]["restartPolicy"]
    p.refused("POST", p.jobs, {"metadata": {"name": "b"}, "spec": spec}, 422, "Invalid",
              'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"')

    def reasons(name):
        found = p.get(p.of("events") + f"?fieldSelector=involvedObject.name%3D{name}")["items"]
        return {(e["involvedObject"]["kind"], e["type"], e["reason"]) for e in found}
    eventually(lambda: {("Job", "Normal", "SuccessfulCreate"), ("Job", "Normal", "Completed")} <= reasons("good"))
    eventually(lambda: ("Job", "Warning", "BackoffLimitExceeded") in reasons("bad"))
    eventually(lambda: {("Pod", "Normal", "Scheduled"), ("Pod", "Normal", "Started")} <= reasons(pods[0]["metadata"]["name"]))
    newer = p.get(f"/apis/events.k8s.io/v1/namespaces/{p.name}/events")["items"]
    assert any(e["regarding"]["name"] == "good" and e["reason"] == "Completed" for e in newer), newer


def test_indexed_jobs(t, p):
    """Each index has a pod; an index whose pod failed gets another one, and those that succeeded none."""
    name = "batch.kubernetes.io/job-completion-index"
    p.make(p.jobs, p.job("ranks", "sh", "-c", "echo rank $JOB_COMPLETION_INDEX", completions=4, parallelism=2, completionMode="Indexed"))
    done = p.until(p.jobs + "/ranks", ended("Complete"))
    assert done["status"]["completedIndexes"] == "0-3" and done["status"]["succeeded"] == 4, done["status"]
    pods = p.get(p.pods + "?labelSelector=batch.kubernetes.io%2Fjob-name%3Dranks")["items"]
    assert sorted(pod["metadata"]["annotations"][name] for pod in pods) == list("0123"), pods
    for pod in pods:
        index, meta = pod["metadata"]["labels"][name], pod["metadata"]
        assert meta["generateName"] == f"ranks-{index}-" and meta["name"].startswith(f"ranks-{index}-"), meta
        assert pod["spec"]["hostname"] == f"ranks-{index}", pod["spec"]
        log = p("GET", f"{p.pods}/{meta['name']}/log").text
        assert log == f"rank {index}\n", log
    p.make(p.jobs, p.job("gaps", "sh", "-c", "[ $JOB_COMPLETION_INDEX != 1 ]", completions=3, parallelism=1, completionMode="Indexed"))
    gaps = p.until(p.jobs + "/gaps", ended("Failed"))
    assert gaps["status"]["succeeded"] == 1 and gaps["status"]["completedIndexes"] == "0", gaps["status"]
    spec = p.job("x", "true", completionMode="Indexed")["spec"]
    spec.pop("completions", None)
    spec["parallelism"] = 2
    p.refused("POST", p.jobs, {"metadata": {"name": "b"}, "spec": spec}, 422, "Invalid",
              "spec.completions: Required value: when completion mode is Indexed")


# ---- kinds that are added

def test_custom_resources(t, p):
    path = add_widgets(t, p, additionalPrinterColumns=[{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}])
    api = f"{p.name}.example.com/v1"
    widget = {"apiVersion": api, "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}, "status": {"x": 1}}
    group = p.get(f"/apis/{api}")
    assert {"widgets", "widgets/status"} == {r["name"] for r in group["resources"]}, group
    made, = p.make(path, widget)
    assert made["metadata"]["generation"] == 1 and "status" not in made, "only /status writes it"
    p.refused("POST", path, {"metadata": {"name": "v"}}, 400, "BadRequest", "Object 'Kind' is missing in '")
    p.refused("PUT", path + "/w", widget, 422, "Invalid", "metadata.resourceVersion: Invalid value: 0: must be specified for an update")
    assert p("PATCH", path + "/w", {"spec": {"size": 4}}, 200, type=MERGE).json["metadata"]["generation"] == 2
    after = p("PATCH", path + "/w/status", {"status": {"ready": True}, "spec": {"size": 9}}, 200, type=MERGE).json
    assert after["status"] == {"ready": True} and after["spec"] == {"size": 4} and after["metadata"]["generation"] == 2, after
    p.refused("PATCH", path + "/w", {}, 415, "UnsupportedMediaType", type=STRATEGIC)
    p.refused("GET", path + "?fieldSelector=spec.size%3D1", None, 400, "BadRequest", "field label not supported: spec.size")
    p.refused("POST", path, {**widget, "metadata": {"name": "W"}}, 422, "Invalid", 'metadata.name: Invalid value: "W"')
    table = p("GET", path, Accept=TABLE).json
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size"] and table["rows"][0]["cells"] == ["w", 4], table
    items = p.get(path)["items"]
    assert (items[0]["kind"], items[0]["apiVersion"]) == ("Widget", api), "the items of a kind that was added say what they are"
    p("DELETE", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{p.name}.example.com", code=200)
    p.gone(path)


def test_spark_applications_are_checked(t, p):
    """In the namespace that the operator's webhook is asked about."""
    path, name = "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications", p.name
    spec = {"type": "Python", "sparkVersion": "3.5.7", "mainApplicationFile": "local:///x.py", "suspend": True, "driver": {}, "executor": {}}

    def app(name=name, **more):
        return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication", "metadata": {"name": name},
                "spec": {k: v for k, v in {**spec, **more}.items() if v is not None}}
    t.after(lambda: p("DELETE", f"{path}/{name}"))
    made, = p.make(path, app())
    assert made["spec"]["mode"] == "cluster" and made["spec"]["restartPolicy"] == {"type": "Never"}, made
    assert made["spec"]["driver"]["cores"] == 1 and made["spec"]["executor"]["instances"] == 1, made
    for more, word in [({"type": "Perl"}, 'spec.type: Unsupported value: "Perl"'),
                       ({"executor": {"instances": 0}}, "spec.executor.instances in body should be greater than or equal to 1")]:
        p.refused("POST", path, app("b", **more), 422, "Invalid", word)
    p.refused("POST", path + "?fieldValidation=Strict", app("b", drivr=1), 400, "BadRequest", 'strict decoding error: unknown field "spec.drivr"')
    hook = 'admission webhook "validate-sparkoperator-k8s-io-v1beta2-sparkapplication.sparkoperator.k8s.io" denied the request: '
    p.refused("POST", path, app("1b"), 403, "Forbidden", hook + 'invalid SparkApplication name "1b": a DNS-1035 label')
    both = app("b", nodeSelector={"a": "b"}, driver={"nodeSelector": {"a": "b"}})
    p.refused("POST", path, both, 403, "Forbidden", hook + "node selector cannot be defined at both SparkApplication and Driver/Executor")
    table = p("GET", path, Accept=TABLE).json
    assert {"Name", "Status", "Attempts", "Start", "Finish", "Age"} <= {c["name"] for c in table["columnDefinitions"]}, table
    p("DELETE", f"{path}/{name}", code=200)


def cases(server):
    """server() makes the Server when the first case begins."""
    def bind(case):
        return lambda t: case(t, Place(t, server()))
    return {name: bind(case) for name, case in globals().items()
            if name.startswith("test_") and isinstance(case, types.FunctionType)}
