#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Watches and followed logs through a bad network (tests/support/badnet.py), for a time: is anything lost, or told twice?

usage: network.py [--cluster] [TIME [SEED]]      60s (the default), 1h

Logs: pods of the sandbox write numbered lines, at once or slowly, short and long; some are started again. All are followed
by one selector. Each line has to be told once, in order within its pod, and no gap is marked, since nothing is missing.
Watches: ConfigMaps of a real kube-apiserver are made, changed and deleted, while it is killed and started again. What is
told has to have existed, in an order that is possible; in the end what is known is what a fresh list has.

--cluster: both against a real Kubernetes (tests/cluster; root), whose API server and kubelet are killed and started again.
"""
import collections
import http.client
import json
import os
import random
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
from badnet import BadNet  # noqa: E402
from tap import BUILD, CACHE, SOURCE, sh  # noqa: E402

READER = os.path.join(BUILD, "tests/soak/reader")
STARTING = 300  # seconds for the last pods to come to their end
SETTLE = 90  # seconds for the reader to come to the end in a calm network
PODS = 6     # at a time


def seconds_of(text):
    match = re.fullmatch(r"(\d+)([smh]?)", text)
    if not match:
        sys.exit(f"network: '{text}' is no time: 60s, 1h")
    return int(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


class Server:
    """Requests to a server behind a kubeconfig, past the bad network."""

    def __init__(self, kubeconfig):
        with open(kubeconfig, encoding="utf-8") as f:
            text = f.read()
        self.host = re.search(r"https://([\d.]+:\d+)", text)[1]
        self.token = re.search(r"""["']?token["']?: *["']?([\w.-]+)""", text)[1]
        self.tls = ssl.create_default_context()
        self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        self.connection = None

    def __call__(self, method, path, body=None, kind="application/json"):
        """The answer as JSON, with its status."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPSConnection(self.host, context=self.tls, timeout=20)
            self.connection.request(method, path, json.dumps(body) if body else None,
                                    {"Authorization": "Bearer " + self.token, "Content-Type": kind})
            answer = self.connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text or b"{}") if answer.headers.get_content_type() == "application/json" else text.decode()
        except (OSError, http.client.HTTPException):
            self.connection = None
            raise


class Reader:
    def __init__(self, *argv):
        self.lines = []
        self.process = subprocess.Popen([READER, *argv], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace")
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def end(self):
        """Its exit code."""
        self.process.stdin.close()
        code = self.process.wait(30)
        self.thread.join()
        return code


def wait_until(fn, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        got = fn()
        if got:
            return got
        time.sleep(0.2)
    return fn()


class Logs:
    """Pods of the sandbox, and a reader that follows them all."""
    PATH = "/api/v1/namespaces/default/pods"
    # $1: the first number, $2: the last; a number is followed by as many letters as it says
    WRITE = """i=$1; while [ $i -le $2 ]; do
case $((i % 97)) in 7) printf "$NAME $i "; head -c $((i * 37 % 30000)) /dev/zero | tr '\\0' x; echo;; *) echo "$NAME $i";; esac
[ $((i % EVERY)) = 0 ] && sleep 0.$((i % 7)); i=$((i + 1)); done"""

    IMAGE, MORE, MOUNT = "host", {}, {}
    may_lose = False

    def __init__(self, folder, seed):
        self.random = random.Random(seed + 1)
        kubeconfig = self.up(folder)
        self.server = Server(kubeconfig)
        self.net = BadNet(kubeconfig, f"{folder}/logs.kubeconfig", seed)
        self.reader = Reader(f"{folder}/logs.kubeconfig", "logs", "soak=logs")
        self.pods = {}  # name: how many lines it writes
        self.living, self.again, self.lost = [], set(), set()
        self.asked = None  # the pod whose making was not answered yet, as it may have been made

    def up(self, folder):
        read, write = os.pipe()
        self.sandbox = subprocess.Popen(
            [os.path.join(BUILD, "cli/firesteel-sandbox"), "--dir", f"{folder}/run", "--images", f"{folder}/images",
             "--notify-fd", str(write)], pass_fds=[write], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as ready:
            return json.loads(ready.readline())["kubeconfig"]

    def make(self):
        self.asked = self.asked or self.invent()
        name, lines, again, body = self.asked
        status, answer = self.server("POST", self.PATH, body)
        assert status == 201 or answer.get("reason") == "AlreadyExists", answer
        self.asked = None
        self.pods[name] = lines
        if again:
            self.again.add(name)
        self.living.append(name)

    def invent(self):
        name = f"pod-{len(self.pods)}"
        lines, pause = self.random.choice([(3, 2), (100, 2), (300, 2), (2000, 40), (2000, 10000), (9000, 10000)])
        again = self.random.random() < 0.15  # it fails in the middle, and is started again
        half = lines // 2
        script = f"run() {{ set -- $1 $2; {self.WRITE}\n}}; "
        script += (f"if [ -e $HOME/{name} ]; then run {half + 1} {lines}; else : >$HOME/{name}; run 1 {half}; exit 1; fi"
                   if again else f"run 1 {lines}")
        env = {"NAME": name, "EVERY": str(pause), "HOME": self.home()}
        return name, lines, again, {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"soak": "logs"}},
            "spec": {"restartPolicy": "OnFailure" if again else "Never", **self.MORE, "containers": [
                {"name": "main", "image": self.IMAGE, **self.MOUNT, "command": ["sh", "-c", script],
                 "env": [{"name": k, "value": v} for k, v in env.items()]}]}}

    def home(self):
        return os.environ["TMPDIR"]

    def told(self):
        """Per pod the numbers that were told, and what else was."""
        numbers, others = collections.defaultdict(list), []
        self.lost = set()  # pods of which a mark says that their first run cannot be read
        for line in self.reader.lines:
            match = re.fullmatch(r"(pod-\d+) \| \1 (\d+)(?: x*)?", line)
            if match:
                numbers[match[1]].append(int(match[2]))
            elif self.may_lose and "-- gap: the log of the run before cannot be read any more --" in line:
                self.lost.add(line.split()[0])
            # a pod is deleted as soon as it was told whole, which its reader may not know yet
            elif "started again" not in line and not re.search(r"\| -- (read the log of|a new pod|gap: the pod is gone: )", line):
                others.append(line[:300])
        return numbers, others

    def lap(self):
        try:
            self.turn_over()
        except (OSError, http.client.HTTPException):  # the server is away
            time.sleep(0.5)

    def turn_over(self):
        """Makes pods as others come to their end; those are deleted only when they were told whole."""
        numbers, _ = self.told()
        for name in list(self.living):
            if not self.is_told(name, numbers[name]):
                continue
            phase = self.phase(name)
            if phase == "Succeeded":
                self.server("DELETE", f"{self.PATH}/{name}")
            if phase in ("Succeeded", "gone"):  # gone: the answer to its deletion was lost
                self.living.remove(name)
        while len(self.living) < PODS:
            self.make()

    def is_told(self, name, numbers):
        return len(numbers) >= self.pods[name] or (name in self.lost and self.pods[name] in numbers)

    def phase(self, name):
        status, pod = self.server("GET", f"{self.PATH}/{name}")
        return "gone" if status == 404 else pod.get("status", {}).get("phase") if status == 200 else None

    def end(self):
        """What is wrong."""
        self.net.calm = True

        def whole():
            numbers, _ = self.told()
            return all(self.is_told(n, numbers[n]) for n in self.pods)
        wait_until(lambda: whole() or self.have_ended(), STARTING)
        wait_until(whole, SETTLE)
        time.sleep(2)
        code, (numbers, others) = self.reader.end(), self.told()
        wrong = [f"the reader of logs ended with {code}"] if code else []
        for name, lines in self.pods.items():
            if name in self.lost and name in self.again:  # what is missing is of the first run, and its end
                half = lines // 2
                first = [n for n in numbers[name] if n <= half]
                if first == list(range(1, len(first) + 1)) and numbers[name][len(first):] == list(range(half + 1, lines + 1)):
                    continue
            if numbers[name] != list(range(1, lines + 1)):
                seen = collections.Counter(numbers[name])
                missing = [i for i in range(1, lines + 1) if not seen[i]]
                twice = [i for i in seen if seen[i] > 1]
                text = (f"{name} of {lines} lines: {len(missing)} missing {missing[:5]}, {len(twice)} twice {twice[:5]}, "
                        f"{'in' if numbers[name] == sorted(numbers[name]) else 'not in'} order")
                self.explain(name)
                if self.has_more(name, numbers[name]):
                    wrong.append(text)
                else:
                    print(f"# the server itself has no more: {text}")
        wrong += [f"told: {line}" for line in others]
        for name in {line.split()[0] for line in others}:
            self.explain(name)
        print(f"logs: {sum(self.pods.values())} lines of {len(self.pods)} pods; {len(wrong)} wrong, {len(self.lost)} first runs removed by the kubelet; {dict(self.net.fates)}")
        return wrong

    def have_ended(self):
        """Do all pods write no more? The last of them may have waited long for their node."""
        try:
            return all(self.phase(name) in ("Succeeded", "Failed", "gone") for name in self.living)
        except (OSError, http.client.HTTPException):
            self.server.connection = None
            return False

    def has_more(self, name, numbers):
        """Does the server, asked past the bad network, have other lines than were told? A node may lose a log."""
        def ask(what):
            self.server.connection = None  # the server may have been killed since the last request
            try:
                return self.server("GET", f"{self.PATH}/{name}{what}")
            except (OSError, http.client.HTTPException):
                return None
        status, pod = wait_until(lambda: ask(""), SETTLE) or (0, {})
        answers = {str(wait_until(lambda: ask("/log"), SETTLE)) for _ in range(3)}
        found = [int(n) for n in re.findall(rf"\b{name} (\d+)(?: x*)?\\n", "".join(answers))]
        print(f"# {name}: {status} {json.dumps(pod.get('status', {}))}")
        print("\n".join(f"#   {answer[:300]}" for answer in answers))
        return status != 200 or len(answers) != 1 or not next(iter(answers)).startswith("(200,") or found != numbers

    def explain(self, name):
        """What was told of a pod beside its lines, and the answers about it."""
        others = [line for line in self.reader.lines if line.startswith(name + " |") and " | " + name not in line]
        answers = [a for a in self.net.answers if re.search(rf"/pods/{name}\b", a[1])]
        print(f"# {name}{', which is started again' * (name in self.again)}: {others[:20]}")
        for at, path, fate, status, passed in answers[-80:]:
            print(f"#   {at} {path.split('/pods/')[1]} {fate} {status} {passed} bytes")

    def stop(self):
        self.reader.process.kill()
        self.net.close()
        self.down()

    def down(self):
        self.sandbox.terminate()
        self.sandbox.wait(20)


CLUSTER = os.environ.get("FIRESTEEL_CLUSTER_ENTERED", "")
CLUSTER_PY = os.path.join(SOURCE, "tests/cluster/cluster.py")


def kill_in_cluster(program, seconds):
    done = sh(CLUSTER_PY, "kill", CLUSTER, program, "--for", f"{seconds:.1f}")
    assert done.code == 0, done


class ClusterLogs(Logs):
    """Pods of a real kubelet, which is killed now and then."""
    IMAGE = "localhost/busybox:1"
    MORE = {"terminationGracePeriodSeconds": 1, "volumes": [{"name": "home", "emptyDir": {}}]}
    MOUNT = {"volumeMounts": [{"name": "home", "mountPath": "/home"}]}
    AWAY_EVERY = 45
    may_lose = True  # a kubelet removes the log of a run before once a minute; then that is told

    def up(self, folder):
        self.kubelets, self.back = 0, time.monotonic()
        return f"{CLUSTER}/kubeconfig"

    def home(self):
        return "/home"

    def turn_over(self):
        super().turn_over()
        if time.monotonic() - self.back > self.AWAY_EVERY:
            kill_in_cluster("kubelet", self.random.random() * 8)
            self.kubelets += 1
            self.back = time.monotonic()

    def end(self):
        print(f"# the kubelet was killed {self.kubelets} times")
        return super().end()

    def down(self):
        pass


class Watches:
    """ConfigMaps of a real API server, and a reader that watches them."""
    PATH = "/api/v1/namespaces/default/configmaps"
    AWAY_EVERY = 20  # seconds

    def __init__(self, folder, seed):
        self.random = random.Random(seed + 2)
        kubeconfig = self.up(folder)
        self.there = kubeconfig is not None
        if not self.there:
            return
        self.server = Server(kubeconfig)
        self.net = BadNet(kubeconfig, f"{folder}/watch.kubeconfig", seed)
        self.reader = Reader(f"{folder}/watch.kubeconfig", "watch", "configmaps", "soak=watch")
        self.versions = collections.defaultdict(set)  # name: those that it had
        self.names, self.made, self.changes, self.killed = [], 0, 0, 0
        self.back = time.monotonic()

    def up(self, folder):
        self.folder = f"{folder}/apiserver"
        done = sh(os.path.join(SOURCE, "tests/support/apiserver"), "up", self.folder, env={"FIRESTEEL_CACHE": CACHE}, timeout=120)
        if done.code == 77:
            return None
        assert done.code == 0, done
        return f"{self.folder}/kubeconfig"

    def note(self, status, answer, name):
        self.changes += status // 100 == 2
        if status in (200, 201) and answer.get("kind") == "ConfigMap":
            self.versions[name].add(answer["metadata"]["resourceVersion"])

    def change(self):
        die = self.random.random()
        if die < 0.3 or len(self.names) < 5:
            name = f"map-{self.made % 40}"  # names come again
            self.made += 1
            status, answer = self.server("POST", self.PATH, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b" * self.random.randrange(9000)},
                                                             "metadata": {"name": name, "labels": {"soak": "watch"}}})
            if status == 201:
                self.names.append(name)
            self.note(status, answer, name)
        elif die < 0.75:
            name = self.random.choice(self.names)
            self.note(*self.server("PATCH", f"{self.PATH}/{name}", {"data": {"n": str(self.changes)}}, "application/merge-patch+json"), name)
        else:
            name = self.names.pop(self.random.randrange(len(self.names)))
            self.note(*self.server("DELETE", f"{self.PATH}/{name}"), name)

    def kill(self):
        sh(os.path.join(SOURCE, "tests/support/apiserver"), "away", self.folder)
        self.killed += 1
        time.sleep(self.random.random() * 3)
        done = sh(os.path.join(SOURCE, "tests/support/apiserver"), "back", self.folder, timeout=120)
        assert done.code == 0, done
        self.back = time.monotonic()

    def lap(self):
        for _ in range(10):
            try:
                self.change()
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
        if time.monotonic() - self.back > self.AWAY_EVERY:
            self.kill()

    def known(self):
        """What the reader's words come to, and which of them cannot be."""
        known, wrong, newest = {}, [], {}
        for line in self.reader.lines:
            if line == "synced":
                continue
            sign, name, version = line.split()
            if (sign == "+") == (name in known):
                wrong.append(f"'{line}' while it is {known.get(name, 'not known')}")
            if sign != "-" and version not in self.versions[name]:
                wrong.append(f"'{line}', which never was")
            if sign != "-" and int(version) <= newest.get(name, 0):
                wrong.append(f"'{line}' after version {newest[name]}")
            newest[name] = newest.get(name, 0) if sign == "-" else int(version)
            known.pop(name, None)
            if sign != "-":
                known[name] = version
        return known, wrong

    def listed(self):
        try:
            items = self.server("GET", f"{self.PATH}?labelSelector=soak%3Dwatch")[1]["items"]
        except (OSError, http.client.HTTPException):  # the connection is one of before it was killed
            items = self.server("GET", f"{self.PATH}?labelSelector=soak%3Dwatch")[1]["items"]
        return {o["metadata"]["name"]: o["metadata"]["resourceVersion"] for o in items}

    def end(self):
        if not self.there:
            print("watches: skipped: no kube-apiserver in the cache (tests/support/apiserver build)")
            return []
        self.net.calm = True
        want = self.listed()
        wait_until(lambda: self.known()[0] == want, SETTLE)
        code, (known, wrong) = self.reader.end(), self.known()
        wrong += [f"the reader of watches ended with {code}"] if code else []
        wrong += [f"{n} is {known.get(n, 'not known')}, and should be {want.get(n, 'gone')}"
                  for n in sorted(known.keys() | want.keys()) if known.get(n) != want.get(n)]
        print(f"watches: {self.changes} changes, {len(self.reader.lines)} told, the server killed {self.killed} times; "
              f"{len(wrong)} wrong; {dict(self.net.fates)}")
        return wrong

    def stop(self):
        if self.there:
            self.reader.process.kill()
            self.net.close()
            self.down()

    def down(self):
        sh(os.path.join(SOURCE, "tests/support/apiserver"), "down", self.folder)


class ClusterWatches(Watches):
    """The same of the cluster's API server."""
    AWAY_EVERY = 30

    def up(self, folder):
        return f"{CLUSTER}/kubeconfig"

    def kill(self):
        kill_in_cluster("apiserver", self.random.random() * 6)
        self.killed += 1
        time.sleep(1)
        self.server.connection = None
        assert wait_until(self.answers, 120), "the API server is not back after two minutes"
        self.back = time.monotonic()

    def answers(self):
        try:
            return self.server("GET", self.PATH + "?limit=1")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def down(self):
        pass


def on_a_cluster():
    """Starts one, runs this program in its network, and ends it."""
    missing = [p for p in ("kubelet", "kube-apiserver", "etcd") if not os.path.exists(os.path.join(CACHE, "bin", p))]
    if os.geteuid() != 0 or missing:
        print(f"on a cluster: skipped: {'no ' + ', '.join(missing) + ' in the cache (tests/support/tool-cluster)' if missing else 'not root'}")
        return 0
    folder = tempfile.mkdtemp(prefix="firesteel-soak-")
    try:
        up = subprocess.run([CLUSTER_PY, "up", folder, "--without", "spark,mpi,metrics", "--owner", str(os.getpid())], stdout=sys.stderr)
        if up.returncode:
            return up.returncode
        return subprocess.run([CLUSTER_PY, "enter", folder, sys.executable, __file__, *sys.argv[2:]],
                              env=dict(os.environ, FIRESTEEL_CLUSTER_ENTERED=folder)).returncode
    finally:
        sh(CLUSTER_PY, "down", folder)
        shutil.rmtree(folder, ignore_errors=True)


def work(part, until, problems):
    try:
        while time.monotonic() < until and not problems:
            part.lap()
            time.sleep(0.2)
    except Exception as e:  # what was done by then is looked at; the other part ends, too
        problems.append(f"{type(part).__name__}: {e!r}")
        print(f"# {problems[-1]}", flush=True)


def main():
    if sys.argv[1:2] == ["--cluster"]:
        sys.exit(on_a_cluster())
    kinds = (ClusterLogs, ClusterWatches) if CLUSTER else (Logs, Watches)
    total = seconds_of(sys.argv[1] if len(sys.argv) > 1 else "60s")
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 30)
    folder, wrong, parts = tempfile.mkdtemp(prefix="firesteel-network-"), [], []
    os.environ["TMPDIR"] = folder
    print(f"# network.py {total}s {seed}: the seed does it again, but for the time that things take", flush=True)
    try:
        parts = [kind(folder, seed) for kind in kinds]
        began = time.monotonic()
        until = began + total
        threads = [threading.Thread(target=work, args=(p, until, wrong)) for p in parts if getattr(p, "there", True)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for p in parts:
            wrong += p.end()
    finally:
        for p in parts:
            p.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for line in wrong[:40]:
        print("wrong:", line)
    print(f"{'not ' if wrong else ''}ok: {len(wrong)} wrong in {time.monotonic() - began:.0f} s (seed {seed})")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
