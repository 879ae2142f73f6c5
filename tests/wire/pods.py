#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pods, Jobs and SparkApplications of the sandbox, driven by the real kubectl: as the machine's own root, in
an image's root, as an ordinary user; and what is left when the sandbox is killed."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

from tap import BUILD, PATIENCE, Skip, eventually, processes, run, sh

SANDBOX = os.path.join(BUILD, "cli", "firesteel-sandbox")
WORKER = os.path.join(BUILD, "cli", "firesteel-worker")
PLUGIN = os.path.join(BUILD, "trainer", "dist", "firesteel-mpi.so")
TOOL = os.path.join(BUILD, "tests", "wire", "image-tool")
KUBECTL = shutil.which("kubectl")


class Sandbox:
    """A sandbox with a folder of its own, as the user `user`, and kubectl for it."""

    def __init__(self, user=None, env=None):
        if not KUBECTL:
            raise Skip("kubectl is not installed")
        self.dir = tempfile.mkdtemp(prefix="firesteel-test-")
        self.images = os.path.join(self.dir, "images")
        as_user = {}
        if user:
            account = pwd.getpwnam(user)
            os.chown(self.dir, account.pw_uid, account.pw_gid)
            as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        read, write = os.pipe()
        self.log = open(os.path.join(self.dir, "log"), "w")
        self.process = subprocess.Popen(
            [SANDBOX, "--dir", os.path.join(self.dir, "run"), "--images", self.images,
             "--notify-fd", str(write)],
            pass_fds=[write], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            env=dict(os.environ, **(env or {})), **as_user)
        os.close(write)
        with os.fdopen(read) as ready:
            line = ready.readline()
        if not line:
            raise AssertionError(open(self.log.name).read())
        self.kubeconfig = json.loads(line)["kubeconfig"]

    def kubectl(self, *argv, input=None, code=0):
        done = sh(KUBECTL, *argv, env={"KUBECONFIG": self.kubeconfig, "HOME": self.dir}, input=input)
        assert code is None or done.code == code, (argv, done)
        return done

    def create(self, *objects):
        self.kubectl("create", "-f", "-", input="\n---\n".join(map(json.dumps, objects)))

    def get(self, kind, name):
        return json.loads(self.kubectl("get", kind, name, "-o", "json").out)

    def wait(self, kind, name, path, value, seconds=20):
        """The object, once the field has that value."""
        def reached():
            seen = self.get(kind, name)
            at = seen
            for key in path.split("."):
                at = at[int(key)] if isinstance(at, list) else (at or {}).get(key)
            return seen if at == value else None
        reached.__doc__ = f"{kind} {name}: {path} is {value}"
        return eventually(reached, seconds)

    def events(self, name):
        items = json.loads(self.kubectl("get", "events", "-o", "json").out)["items"]
        return [(e["reason"], e["message"]) for e in items if e["involvedObject"]["name"] == name]

    def logs(self, *argv, **options):
        return self.kubectl("logs", *argv, **options).out

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(20 * PATIENCE)

    def remove(self):
        if self.process.poll() is None:
            self.stop()
        self.log.close()
        shutil.rmtree(self.dir, ignore_errors=True)


def pod(name, *containers, **spec):
    spec.setdefault("restartPolicy", "Never")
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": dict(spec, containers=list(containers))}


def config(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def shell(script, name="main", **more):
    return dict({"name": name, "image": "host", "command": ["sh", "-c", script]}, **more)


def job(name, script, **spec):
    spec["template"] = {"spec": {"restartPolicy": "Never", "containers": [shell(script)]}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec}


def app(name, image, arguments, instances=2, **spec):
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
            "metadata": {"name": name},
            "spec": dict({"type": "Python", "mode": "cluster", "sparkVersion": "3.5.7",
                          "image": image, "mainApplicationFile": "local:///opt/firesteel/spark.py",
                          "arguments": arguments, "restartPolicy": {"type": "Never"},
                          "driver": {"cores": 1, "memory": "1g"},
                          "executor": {"cores": 1, "memory": "1g", "instances": instances}}, **spec)}


TRAINER = """
local hvd = require "hvd"
if arg and arg[1] == "fail" then os.exit(3) end
local ranks = hvd.run(function(x) hvd.init() return hvd.rank() + x end, { args = { 10 } })
print("rank 0 said " .. ranks:rank(0))
"""


def build_image(images):
    """firesteel/test:latest in a store: the worker and a trainer."""
    if os.path.exists(images + ".built"):
        return
    folder = os.path.dirname(images)
    with open(os.path.join(folder, "trainer.lua"), "w") as f:
        f.write(TRAINER)
    worker = {"program": WORKER, "plugin": PLUGIN}
    done = sh(TOOL, "build", json.dumps({"store": images, "dirs": [folder], "add": ["trainer.lua"],
                                         "tag": "firesteel/test:latest", "worker": worker}))
    assert done.code == 0, done
    open(images + ".built", "w").close()


_shared = None


def shared():
    global _shared
    if not _shared:
        _shared = Sandbox()
        # started here and checked by a later case: its pods wait 10 s between them
        _shared.create(job("tries", "exit 4", backoffLimit=1))
    return _shared


def test_exit_code_and_events(t):
    s = shared()
    s.create(pod("three", shell("echo out; echo err >&2; echo why > /dev/termination-log; exit 3")))
    seen = s.wait("pod", "three", "status.phase", "Failed")
    end = seen["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"], end["message"]) == (3, "Error", "why\n"), end
    assert seen["spec"]["nodeName"] and seen["status"]["podIP"] == "127.0.0.1"
    reasons = [reason for reason, _ in s.events("three")]
    assert sorted(reasons) == ["Created", "Pulled", "Scheduled", "Started"], reasons
    assert ("Started", "Started container main") in s.events("three")
    row = s.kubectl("get", "pod", "three").out.splitlines()[1].split()
    assert row[:4] == ["three", "0/1", "Error", "0"], row
    assert sorted(s.logs("three").split()) == ["err", "out"]


def test_logs_follow_to_the_end(t):
    s = shared()
    s.create(pod("talks", shell("for i in 1 2 3 4; do echo line $i; sleep 0.2; done; printf last")))
    eventually(lambda: s.get("pod", "talks").get("status", {}).get("phase") in ("Running", "Succeeded"), 20)  # it is short
    assert s.logs("-f", "talks") == "line 1\nline 2\nline 3\nline 4\nlast"
    stamped = s.logs("talks", "--timestamps", "--tail=2").splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line 4", stamped[0]), stamped
    since = stamped[0].split()[0]  # kubectl sends whole seconds
    recent = s.logs("talks", f"--since-time={since}")
    assert recent.endswith("line 4\nlast"), recent
    assert s.logs("talks", "--since-time=2200-01-01T00:00:00Z") == ""


def test_logs_of_a_pod_that_waits(t):
    s = shared()
    s.create(pod("waits", {"name": "main", "image": "no/such:1"}))
    s.wait("pod", "waits", "status.containerStatuses.0.state.waiting.reason", "ImagePullBackOff")
    refused = s.kubectl("logs", "waits", code=1).err
    assert 'container "main" in pod "waits" is waiting to start: trying and failing to pull image' in refused
    events = s.events("waits")
    assert any(r == "Failed" and m.startswith('Failed to pull image "no/such:1": ') for r, m in events)
    assert ("BackOff", 'Back-off pulling image "no/such:1"') in events
    s.kubectl("delete", "pod", "waits", "--wait=true")


def test_environment_and_volumes(t):
    s = shared()
    s.create(config("settings", colour="red"),
             dict(config("login"), kind="Secret", stringData={"pass": "hunter2"}))
    main = shell('echo "$NAME $(cat /tmp/v/c/colour) $PASS $1 $GREET"; cat /tmp/v/p/name; cat /tmp/v/e/made',
                 env=[{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                      {"name": "PASS", "valueFrom": {"secretKeyRef": {"name": "login", "key": "pass"}}},
                      {"name": "GREET", "value": "hi $(NAME)"}],
                 volumeMounts=[{"name": n, "mountPath": f"/tmp/v/{n}"} for n in "cpe"])
    main["command"] += ["--", "$(GREET)!"]
    first = shell("echo made > /tmp/v/e/made", name="first",
                  volumeMounts=[{"name": "e", "mountPath": "/tmp/v/e"}])
    s.create(pod("sees", main, initContainers=[first], volumes=[
        {"name": "c", "configMap": {"name": "settings"}},
        {"name": "p", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "e", "emptyDir": {}}]))
    s.wait("pod", "sees", "status.phase", "Succeeded")
    assert s.logs("sees", "-c", "main") == "sees red hunter2 hi sees! hi sees\nseesmade\n"


def test_waits_for_its_config_map(t):
    s = shared()
    s.create(pod("early", shell("echo $V", envFrom=[{"configMapRef": {"name": "late"}}])))
    seen = s.wait("pod", "early", "status.containerStatuses.0.state.waiting.reason",
                  "CreateContainerConfigError")
    waiting = seen["status"]["containerStatuses"][0]["state"]["waiting"]
    assert waiting["message"] == 'configmap "late" not found', waiting
    s.create(config("late", V="there"))
    s.wait("pod", "early", "status.phase", "Succeeded", 5)
    assert s.logs("early") == "there\n"


def test_restarts_and_previous_log(t):
    s = shared()
    s.create(pod("loops", shell("echo run; exit 1"), restartPolicy="Always"))
    seen = s.wait("pod", "loops", "status.containerStatuses.0.state.waiting.reason", "CrashLoopBackOff")
    status = seen["status"]["containerStatuses"][0]
    assert status["restartCount"] == 1 and status["lastState"]["terminated"]["exitCode"] == 1, status
    assert status["state"]["waiting"]["message"].startswith("back-off 10s restarting failed container=main")
    assert s.logs("loops", "--previous") == "run\n"
    assert any(r == "BackOff" for r, _ in s.events("loops"))
    s.kubectl("delete", "pod", "loops", "--wait=true")


def test_program_that_is_not_there(t):
    s = shared()
    s.create(pod("lost", {"name": "main", "image": "host", "command": ["no-such-program"]}))
    seen = s.wait("pod", "lost", "status.phase", "Failed")
    end = seen["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (end["exitCode"], end["reason"]) == (128, "StartError"), end
    assert 'exec: "no-such-program": executable file not found in $PATH' in end["message"]


def test_deletion_is_graceful_then_not(t):
    s = shared()
    s.create(pod("polite", shell("trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.05; done")),
             pod("rude", shell("trap '' TERM; while :; do sleep 0.05; done"),
                 terminationGracePeriodSeconds=1))
    for name in "polite", "rude":
        s.wait("pod", name, "status.phase", "Running")
    follow = subprocess.Popen([KUBECTL, "logs", "-f", "polite"], text=True, stdout=subprocess.PIPE,
                              env=dict(os.environ, KUBECONFIG=s.kubeconfig))
    assert follow.stdout.readline() == "hello\n"
    start = time.monotonic()
    s.kubectl("delete", "pod", "polite", "--wait=true")
    polite = time.monotonic() - start
    s.kubectl("delete", "pod", "rude", "--wait=true")
    rude = time.monotonic() - start - polite
    assert polite < rude and rude > 0.9, (polite, rude)
    assert "bye" in follow.communicate(timeout=20 * PATIENCE)[0]
    assert ("Killing", "Stopping container main") in s.events("polite")


def test_a_finalizer_holds_a_pod_back_quietly(t):
    s = shared()
    held = pod("held", shell("sleep 100"), terminationGracePeriodSeconds=1)
    held["metadata"]["finalizers"] = ["example.org/hold"]
    s.create(held)
    s.wait("pod", "held", "status.phase", "Running")
    s.kubectl("delete", "pod", "held", "--wait=false")
    eventually(lambda: not s.get("pod", "held")["status"]["containerStatuses"][0]["state"].get("running"))
    time.sleep(0.3)
    version = s.get("pod", "held")["metadata"]["resourceVersion"]
    time.sleep(0.5)
    # nothing rewrites it again and again
    assert s.get("pod", "held")["metadata"]["resourceVersion"] == version
    s.kubectl("patch", "pod", "held", "-p", '{"metadata":{"finalizers":null}}')
    assert "NotFound" in s.kubectl("get", "pod", "held", code=1).err


def test_deadline_of_a_pod(t):
    s = shared()
    s.create(pod("slow", shell("sleep 4321"), activeDeadlineSeconds=1, terminationGracePeriodSeconds=1))
    seen = s.wait("pod", "slow", "status.phase", "Failed")
    assert seen["status"]["reason"] == "DeadlineExceeded", seen["status"]


def test_device_that_is_not_there(t):
    s = shared()
    s.create(pod("wants", shell("true", resources={"limits": {"nvidia.com/gpu": "1"}})))
    def refused():
        return [m for r, m in s.events("wants") if r == "FailedScheduling"]
    message = eventually(refused)[0]
    assert message.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu"), message
    assert s.get("pod", "wants")["status"]["phase"] == "Pending"


def test_job_completes(t):
    s = shared()
    s.create(job("five", "sleep 0.1", completions=5, parallelism=2))
    s.kubectl("wait", "--for=condition=complete", "job/five", f"--timeout={30 * PATIENCE:.0f}s")
    status = s.get("job", "five")["status"]
    assert status["succeeded"] == 5 and status.get("failed", 0) == 0, status
    reasons = [r for r, _ in s.events("five")]
    assert reasons.count("SuccessfulCreate") == 5 and "Completed" in reasons, reasons
    s.kubectl("delete", "job", "five", "--wait=true")
    eventually(lambda: not s.kubectl("get", "pods", "-l", "job-name=five", "-o", "name").out)


def test_job_suspends_and_expires(t):
    s = shared()
    s.create(job("rests", "true", suspend=True))
    eventually(lambda: ("Suspended", "Job suspended") in s.events("rests"))
    assert not s.kubectl("get", "pods", "-l", "job-name=rests", "-o", "name").out
    s.kubectl("patch", "job", "rests", "-p", '{"spec":{"suspend":false}}')
    s.kubectl("wait", "--for=condition=complete", "job/rests", f"--timeout={30 * PATIENCE:.0f}s")
    s.kubectl("patch", "job", "rests", "-p", '{"spec":{"ttlSecondsAfterFinished":0}}')
    eventually(lambda: s.kubectl("get", "job", "rests", code=None).code == 1)


def test_job_gives_up(t):
    s = shared()
    s.kubectl("wait", "--for=condition=failed", "job/tries", f"--timeout={60 * PATIENCE:.0f}s")
    status = s.get("job", "tries")["status"]
    failed = [c for c in status["conditions"] if c["type"] == "Failed"][0]
    assert (failed["reason"], failed["message"]) == (
        "BackoffLimitExceeded", "Job has reached the specified backoff limit"), failed
    assert status["failed"] == 2, status


def test_spark_application_runs_to_the_end(t):
    s = shared()
    build_image(s.images)
    s.create(app("good", "firesteel/test:latest", ["trainer.lua"]))
    seen = s.wait("sparkapplication", "good", "status.applicationState.state", "COMPLETED", 60)
    status = seen["status"]
    assert status["driverInfo"]["podName"] == "good-driver" and status["executionAttempts"] == 1
    assert len(status["executorState"]) == 2, status
    assert "rank 0 said 10" in s.logs("good-driver")
    driver = s.get("pod", "good-driver")
    assert driver["metadata"]["annotations"]["firesteel/mode"] == "processes"
    assert driver["spec"]["containers"][0]["name"] == "spark-kubernetes-driver"
    assert "rank 0" not in json.dumps(driver) and "hunter2" not in json.dumps(driver)
    reasons = [r for r, _ in s.events("good")]
    for reason in ("SparkApplicationAdded", "SparkApplicationSubmitted", "SparkDriverRunning",
                   "SparkExecutorPending", "SparkExecutorRunning", "SparkDriverCompleted",
                   "SparkApplicationCompleted"):
        assert reason in reasons, (reason, reasons)
    s.kubectl("delete", "sparkapplication", "good", "--wait=true")
    eventually(lambda: not s.kubectl("get", "pods,secrets", "-o", "name").out.count("good"))


def test_spark_application_fails_with_its_cause(t):
    s = shared()
    build_image(s.images)
    s.create(app("bad", "firesteel/test:latest", ["trainer.lua", "fail"]))
    seen = s.wait("sparkapplication", "bad", "status.applicationState.state", "FAILED", 60)
    why = "driver container failed with ExitCode: 3, Reason: Error"
    assert seen["status"]["applicationState"]["errorMessage"] == why, seen["status"]
    assert ("SparkApplicationFailed", f"SparkApplication bad failed: {why}") in s.events("bad")
    executors = "spark-role=executor,sparkoperator.k8s.io/app-name=bad"
    eventually(lambda: not s.kubectl("get", "pods", "-l", executors, "-o", "name").out)


def test_spark_application_is_tried_again(t):
    s = shared()
    build_image(s.images)
    s.create(app("again", "firesteel/test:latest", ["trainer.lua", "fail"], restartPolicy={
        "type": "OnFailure", "onFailureRetries": 1, "onFailureRetryInterval": 1}))
    seen = s.wait("sparkapplication", "again", "status.applicationState.state", "FAILED", 60)
    assert seen["status"]["executionAttempts"] == 2, seen["status"]
    assert "SparkApplicationPendingRerun" in [r for r, _ in s.events("again")]


def test_spark_application_suspends_and_resumes(t):
    s = shared()
    build_image(s.images)
    s.create(app("pause", "firesteel/test:latest", ["trainer.lua"], suspend=True))
    s.wait("sparkapplication", "pause", "status.applicationState.state", "SUSPENDED")
    s.kubectl("patch", "sparkapplication", "pause", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    s.wait("sparkapplication", "pause", "status.applicationState.state", "COMPLETED", 60)


def test_spark_submit_that_is_not_installed(t):
    s = shared()
    if shutil.which("spark-submit") or os.environ.get("SPARK_HOME"):
        raise Skip("spark-submit is installed")
    s.create(app("spark", "host", [], mainApplicationFile="local:///pi.py"))
    seen = s.wait("sparkapplication", "spark", "status.applicationState.state", "FAILED")
    why = seen["status"]["applicationState"]["errorMessage"]
    assert why.startswith("failed to submit spark application: failed to run spark-submit: "), why
    assert "spark-submit" in why.split(": ", 2)[2], why


def with_spark_submit(t, script='case "$*" in *slow*) sleep 60 ;; *bad*) exit 3 ;; esac'):
    """A sandbox whose spark-submit runs no Spark, but this: a program slow.py takes a minute, bad.py fails."""
    home = t.dir()
    os.mkdir(os.path.join(home, "bin"))
    submit = os.path.join(home, "bin", "spark-submit")
    with open(submit, "w") as f:
        f.write(f"#!/bin/sh\n{script}\n")
    os.chmod(submit, 0o755)
    os.chmod(home, 0o755)
    s = Sandbox(env={"SPARK_HOME": home})
    t.after(s.remove)
    return s


def test_spark_submit_runs_other_main_files(t):
    s = with_spark_submit(t, 'echo "submitted $@"\necho "$COLOUR"')
    s.create(app("pi", "host", ["10"], mainApplicationFile="local:///examples/pi.py",
                 sparkConf={"spark.ui.enabled": "false"},
                 driver={"memory": "512m", "env": [{"name": "COLOUR", "value": "red"}]}))
    s.wait("sparkapplication", "pi", "status.applicationState.state", "COMPLETED")
    assert s.logs("pi-driver") == ("submitted --master local[*] --name pi --driver-memory 512m "
                                   "--conf spark.ui.enabled=false /examples/pi.py 10\nred\n")
    mode = s.get("pod", "pi-driver")["metadata"]["annotations"]["firesteel/mode"]
    assert mode == "spark-submit", mode


def schedule(name, every, program, **spec):
    template = app("x", "host", [], mainApplicationFile=f"local:///{program}.py")["spec"]
    return {"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "ScheduledSparkApplication", "metadata": {"name": name, "labels": {"team": "a"}},
            "spec": {"schedule": every, "template": template, **spec}}


def runs_of(s, name):
    found = s.kubectl("get", "sparkapplications", "-l", f"sparkoperator.k8s.io/scheduled-app-name={name}", "-o", "json")
    return sorted(json.loads(found.out)["items"], key=lambda one: one["metadata"]["name"])


def test_a_schedule_makes_applications(t):
    s = with_spark_submit(t)
    s.create(schedule("good", "@every 1s", "pi", concurrencyPolicy="Forbid", successfulRunHistoryLimit=2),
             schedule("bad", "@every 1s", "bad", concurrencyPolicy="Forbid"))

    def status(name):
        return s.get("scheduledsparkapplication", name).get("status", {})
    eventually(lambda: len(status("good").get("pastSuccessfulRunNames", [])) == 2 and status("bad").get("pastFailedRunNames"))
    now = status("good")
    assert now["scheduleState"] == "Scheduled" and now["lastRun"] <= now["nextRun"], now
    last = runs_of(s, "good")[-1]
    owner = last["metadata"]["ownerReferences"][0]
    assert re.fullmatch(r"good-\d{19}", last["metadata"]["name"]) and last["metadata"]["labels"]["team"] == "a", last
    assert owner["kind"] == "ScheduledSparkApplication" and "controller" not in owner, owner
    eventually(lambda: status("bad")["lastRunName"] not in status("bad")["pastFailedRunNames"])
    assert len(status("bad")["pastFailedRunNames"]) == 1 and status("bad")["pastSuccessfulRunNames"] == [], status("bad")
    s.kubectl("patch", "scheduledsparkapplication", "good", "--type=merge", "-p", '{"spec":{"suspend":true}}')
    suspended = status("good")
    kept = [one["metadata"]["name"] for one in runs_of(s, "good")]
    assert len(kept) == 3, kept  # two of the history, and the last, which nobody has looked at yet
    time.sleep(2.5)
    assert status("good") == suspended and [one["metadata"]["name"] for one in runs_of(s, "good")] == kept
    s.kubectl("patch", "scheduledsparkapplication", "good", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    eventually(lambda: status("good")["lastRunName"] != suspended["lastRunName"])
    s.kubectl("patch", "scheduledsparkapplication", "good", "--type=merge", "-p", '{"spec":{"schedule":"0 0 30 2 *"}}')
    eventually(lambda: "nextRun" not in status("good"))  # no February has that day: what was due is the last
    last = status("good")
    time.sleep(1.5)
    assert status("good") == last, (status("good"), last)
    s.kubectl("delete", "scheduledsparkapplication", "good")
    eventually(lambda: not runs_of(s, "good"))


def test_schedules_whose_runs_take_long(t):
    s = with_spark_submit(t)
    s.create(*(schedule(policy.lower(), "@every 1s", "slow", concurrencyPolicy=policy) for policy in ("Allow", "Forbid", "Replace")),
             schedule("none", "@every 1s", "slow"), schedule("wrong", "61 * * * *", "pi"), schedule("later", "0 3 * * *", "pi"))
    eventually(lambda: len(runs_of(s, "allow")) >= 3)
    first = runs_of(s, "replace")
    eventually(lambda: runs_of(s, "replace") and runs_of(s, "replace")[0]["metadata"]["name"] > first[0]["metadata"]["name"])
    assert [len(runs_of(s, name)) for name in ("forbid", "none", "wrong", "later")] == [1, 1, 0, 0]
    wrong = s.get("scheduledsparkapplication", "wrong")["status"]
    assert wrong == {"scheduleState": "FailedValidation", "reason": "end of range (61) above maximum (59): 61"}, wrong
    assert s.get("scheduledsparkapplication", "later")["status"]["nextRun"].endswith(":00:00Z")


def leaves_nothing(user=None, env=None):
    """Kills a sandbox with SIGKILL while a pod with daemons runs: no process of it stays."""
    s = Sandbox(user, env)
    mark = f"5{os.getpid()}"
    try:
        s.create(pod("forks", shell(f"setsid sleep {mark}1 & (sleep {mark}2 &); sleep {mark}3")))
        s.wait("pod", "forks", "status.phase", "Running")
        eventually(lambda: all(processes(f"sleep {mark}{i}") for i in (1, 2, 3)))
        s.stop(signal.SIGKILL)
        eventually(lambda: not processes(f"sleep {mark}"), 5)
    finally:
        s.remove()


def test_killed_sandbox_leaves_no_process(t):
    leaves_nothing()


def test_killed_sandbox_leaves_no_process_without_bubblewrap(t):
    bin = t.dir()
    for name in ("sh", "sleep", "setsid"):
        os.symlink(shutil.which(name), os.path.join(bin, name))
    os.chmod(bin, 0o755)
    leaves_nothing(env={"PATH": bin})


def test_stopped_sandbox_leaves_no_process_and_no_folder(t):
    s = Sandbox()
    t.after(s.remove)
    mark = f"6{os.getpid()}"
    s.create(pod("stays", shell(f"trap '' TERM; sleep {mark}")))
    s.wait("pod", "stays", "status.phase", "Running")
    eventually(lambda: processes(f"sleep {mark}"))
    s.stop()
    assert not processes(f"sleep {mark}")
    left = set(os.listdir(os.path.join(s.dir, "run"))) - {"pid"}
    assert not left, left


def test_ordinary_user(t):
    if os.geteuid() != 0:
        raise Skip("all cases of this program run as an ordinary user already")
    if sh("setpriv", "--reuid=nobody", "--clear-groups", "test", "-x", SANDBOX).code:
        raise Skip("nobody may not enter the build folder")
    s = Sandbox("nobody")
    t.after(s.remove)
    build_image(shared().images)
    sh("cp", "-r", shared().images + "/.", s.images)
    sh("chown", "-R", "nobody", s.images)
    s.create(pod("who", shell("id -u; touch /made 2> /dev/null || echo read-only")),
             pod("image", {"name": "main", "image": "firesteel/test", "command": ["/opt/firesteel/firesteel-worker"],
                           "args": ["--version"]}))
    s.wait("pod", "who", "status.phase", "Succeeded")
    assert s.logs("who") == f"{pwd.getpwnam('nobody').pw_uid}\nread-only\n"
    s.wait("pod", "image", "status.phase", "Succeeded")
    s.create(app("mpi", "firesteel/test:latest", ["trainer.lua"]))
    s.wait("sparkapplication", "mpi", "status.applicationState.state", "COMPLETED", 60)
    assert "rank 0 said 10" in s.logs("mpi-driver")


try:
    run(globals())
finally:
    if _shared:
        _shared.remove()
