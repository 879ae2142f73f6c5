# SPDX-License-Identifier: MIT
"""Runs one command on each of several nodes of a Ray cluster, all at once: what a RayJob of torch.run or hvd.run does.

  python3 ray_ranks.py           the entrypoint: a placement group with a bundle a node, an actor in each, which starts the command
  python3 ray_ranks.py submit    the submitter: hands the entrypoint to the cluster and prints the job's log, and nothing else

What it is told stands in the environment (FIRESTEEL_RAY, a JSON object):
  nodes      how many
  bundle     what each of them takes, {"CPU": 1, "GPU": 2}
  strategy   of the placement group: STRICT_SPREAD, SPREAD, PACK or STRICT_PACK
  command    the words; {head} in them is the address of this process, {python} the interpreter that runs Ray
  env        variables of the commands
  launcher   of torch.run: what launch.py is told, a JSON object; each node's number and rank 0's address are added
  driver     of hvd.run: the words of a program that runs here; the job has its end, and the nodes' commands serve it
  restarts   how often all nodes start again after one has failed
  timeout    seconds until there must be room for all nodes
Needs Ray 2 and nothing else.
"""
import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

GRACE = 7  # seconds between SIGTERM and SIGKILL; launch.py takes 5 for its ranks
AT_ONCE = 1 << 20  # bytes of output that a node holds back at most, until they are fetched


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


class Node:
    """An actor: the command of one node, its output and its end. Its methods run side by side."""

    def __init__(self, number):
        self.number, self.process, self.lines, self.held, self.readers = number, None, [], 0, 0
        self.change = threading.Condition()

    def place(self):
        from ray.util import get_node_ip_address
        return get_node_ip_address(), free_port()

    def start(self, command, env):
        whole = dict(os.environ)
        if "OMP_NUM_THREADS" not in env:  # Ray's own, which is the number of CPUs of an actor
            whole.pop("OMP_NUM_THREADS", None)
        whole.update(env)
        try:
            command = [sys.executable if word == "{python}" else word for word in command]  # of the job's runtime environment
            self.process = subprocess.Popen(command, env=whole, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                            start_new_session=True)
        except OSError as problem:
            return "%s cannot be started: %s" % (command[0], problem.strerror)
        self.readers = 2
        for fd, stream in ((1, self.process.stdout), (2, self.process.stderr)):
            threading.Thread(target=self.read, args=(fd, stream), daemon=True).start()
        return None

    def read(self, fd, stream):
        for line in stream:
            with self.change:
                self.change.wait_for(lambda: self.held < AT_ONCE)
                self.lines.append((fd, line))
                self.held += len(line)
                self.change.notify_all()
        with self.change:
            self.readers -= 1
            self.change.notify_all()

    def fetch(self):
        """The next lines, and how the command ended when there are no more; waits for either. What it has left running
        may hold its output open: that is not waited for."""
        with self.change:
            had_ended = self.process.poll() is not None
            self.change.wait_for(lambda: self.lines or self.readers == 0, timeout=2)
            lines, self.lines, self.held = self.lines, [], 0
            ended = self.readers == 0 or had_ended
            self.change.notify_all()
        return lines, self.process.wait() if ended and not lines else None

    def signal(self, number):
        try:
            if self.process:
                os.killpg(self.process.pid, number)
        except OSError:
            pass

    def stop(self):
        self.signal(signal.SIGTERM)
        until = time.monotonic() + GRACE
        while self.process and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.05)
        self.signal(signal.SIGKILL)


def how(code):
    return "exited with %d" % code if code >= 0 else "was ended by signal %d" % -code


def lost(problem):
    return "was lost: " + str(problem).strip().split("\n", 1)[0]


def write(fd, line):
    out = sys.stdout.buffer if fd == 1 else sys.stderr.buffer
    out.write(line if line.endswith(b"\n") else line + b"\n")
    out.flush()


def say(text):
    write(2, ("ray: " + text).encode())


class Gang:
    """The nodes of a job, from the placement group to the last one's end."""

    def __init__(self, job):
        self.job, self.nodes, self.group, self.stopping, self.driver = job, [], None, False, None
        self.told = False  # has a launcher told which rank failed?

    def reserve(self):
        """Room for all nodes or for none, within the time."""
        import ray
        from ray.util.placement_group import placement_group
        job = self.job
        self.group = placement_group([job["bundle"]] * job["nodes"], strategy=job["strategy"])
        begun, told = time.monotonic(), False
        while not ray.wait([self.group.ready()], timeout=5)[0]:
            has = {name: n for name, n in ray.cluster_resources().items() if name in job["bundle"]}
            text = "no room for %d nodes with %s each (%s); the cluster's %d nodes have %s" % (
                job["nodes"], json.dumps(job["bundle"]), job["strategy"], len([n for n in ray.nodes() if n["Alive"]]), json.dumps(has))
            if time.monotonic() - begun > job["timeout"]:
                sys.exit("ray: " + text)
            if not told and time.monotonic() - begun > 20:
                say(text + ": waiting")
                told = True

    def make(self):
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
        bundle, actor = self.job["bundle"], ray.remote(Node)
        rest = {name: n for name, n in bundle.items() if name not in ("CPU", "GPU")}
        self.nodes = [actor.options(num_cpus=bundle.get("CPU", 0), num_gpus=bundle.get("GPU", 0), resources=rest, max_concurrency=4,
                                    scheduling_strategy=PlacementGroupSchedulingStrategy(placement_group=self.group, placement_group_bundle_index=i)
                                    ).remote(i) for i in range(self.job["nodes"])]

    def start(self, attempt):
        """Starts all commands. Returns the first node that could not, as `follow` does, or None."""
        import ray
        from ray.util import get_node_ip_address
        job, env = self.job, dict(self.job["env"])
        try:
            address, port = ray.get(self.nodes[0].place.remote())
        except ray.exceptions.RayError as problem:
            return 0, lost(problem), 137
        head = get_node_ip_address()
        starts = []
        for i, node in enumerate(self.nodes):
            if job["launcher"] is not None:
                env["TORCH_RUN"] = json.dumps(dict(job["launcher"], node=i, address=address, port=port, attempt=attempt))
            starts.append(node.start.remote([word.replace("{head}", head) for word in job["command"]], dict(env)))
        for i, one in enumerate(starts):
            try:
                problem = ray.get(one)
            except ray.exceptions.RayError as gone:
                return i, lost(gone), 137
            if problem:
                return i, problem, 127
        return None

    def show(self, lines):
        for fd, line in lines:
            self.told = self.told or (line.startswith(b"@firesteel ") and b'"event": "failed"' in line)
            write(fd, line)

    def follow(self):
        """Prints what the nodes print. Returns the first one that failed, (number, how, code), or None."""
        import ray
        failed, waiting = None, {node.fetch.remote(): i for i, node in enumerate(self.nodes)}
        while waiting and not (self.driver and self.driver.poll() is not None):
            for ref in ray.wait(list(waiting), timeout=0.5)[0]:
                i = waiting.pop(ref)
                try:
                    lines, code = ray.get(ref)
                except ray.exceptions.RayError as problem:
                    lines, code = [], -signal.SIGKILL
                    bad = (i, lost(problem), 137)
                else:
                    bad = (i, how(code), code if code > 0 else 128 - code) if code else None
                self.show(lines)
                if code is None:
                    waiting[self.nodes[i].fetch.remote()] = i
                elif bad and failed is None:
                    failed = bad
                    if not self.driver:
                        self.end([node for n, node in enumerate(self.nodes) if n != i])
            if failed and self.driver:
                return failed
        return failed

    def end(self, nodes):
        for node in nodes:
            try:
                node.stop.remote()
            except Exception:  # pylint: disable=broad-except
                pass  # it is gone

    def release(self):
        import ray
        from ray.util.placement_group import remove_placement_group
        for node in self.nodes:
            try:
                ray.get(node.stop.remote(), timeout=GRACE + 3)
            except ray.exceptions.RayError:
                pass
            ray.kill(node)
        if self.group:
            remove_placement_group(self.group)
        self.nodes, self.group = [], None


def tell(gang, job, failed, attempt):
    """Of a node that has failed without a word of launch.py: it was lost, or its command could not be started."""
    if gang.told or job["launcher"] is None:
        return
    number, text, _ = failed
    event = {"event": "failed", "rank": number * job["launcher"]["nproc"], "why": "went with node %d, which %s" % (number, text),
             "again": attempt < job["restarts"], "attempt": attempt, "at": time.time()}
    write(1, b"@firesteel " + json.dumps(event).encode())


def run_nodes(gang, job):
    """torch.run: the nodes' commands are the job."""
    attempt = 0
    while True:
        gang.told = False
        gang.reserve()
        gang.make()
        failed = gang.start(attempt) or gang.follow()
        if failed:
            tell(gang, job, failed, attempt)
        gang.release()
        if gang.stopping:
            return 143
        if not failed:
            return 0
        if attempt == job["restarts"]:
            return failed[2]
        attempt += 1


def run_driver(gang, job):
    """hvd.run: a program here is the job; the nodes' commands lend it their cores."""
    gang.reserve()
    gang.driver = driver = subprocess.Popen(job["driver"], env={**os.environ, **job["env"]}, stdin=subprocess.DEVNULL)
    gang.make()
    failed = gang.start(0) or gang.follow()
    try:
        driver.wait(GRACE if failed else None)  # it says why, when it can
    except subprocess.TimeoutExpired:
        say("node %d %s" % failed[:2])
        driver.terminate()
    code = driver.wait()
    gang.release()
    return code if code >= 0 else 128 - code


def told():
    job = {"bundle": {"CPU": 1}, "strategy": "STRICT_SPREAD", "env": {}, "launcher": None, "driver": None, "restarts": 0, "timeout": 600}
    job.update(json.loads(os.environ.pop("FIRESTEEL_RAY")))
    return job


def main():
    import ray
    job = told()
    gang = Gang(job)

    def end(*_):
        gang.stopping = True
        if gang.driver:
            gang.driver.terminate()
        gang.end(gang.nodes)
    ray.init(address="auto", log_to_driver=False, logging_level=logging.WARNING)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    return run_driver(gang, job) if job["driver"] else run_nodes(gang, job)


# ---- the submitter

def folder_of(files):
    """A copy of a mounted ConfigMap without the links and folders in which the kubelet keeps its versions."""
    copy = tempfile.mkdtemp(prefix="files-")
    shutil.copytree(files, copy, dirs_exist_ok=True, ignore=lambda _, names: [name for name in names if name.startswith("..")])
    return copy


def submit(entrypoint):
    """Does what KubeRay's own submitter does by Ray's command line, which cannot print the log alone. FIRESTEEL_SUBMIT has
    more for Ray: runtime_env, metadata, entrypoint_num_cpus …; working_dir is a folder here, which travels with the job."""
    from ray.job_submission import JobSubmissionClient
    address, job = os.environ["RAY_DASHBOARD_ADDRESS"], os.environ["RAY_JOB_SUBMISSION_ID"]
    more = json.loads(os.environ.pop("FIRESTEEL_SUBMIT", "{}"))
    logging.getLogger("ray").setLevel(logging.WARNING)  # what is uploaded is no part of the job's log
    client = JobSubmissionClient(address if "://" in address else "http://" + address)
    try:
        client.get_job_status(job)  # this pod is another one's successor
    except RuntimeError:
        files = more.pop("working_dir", None)
        if files:
            more["runtime_env"] = {"working_dir": folder_of(files), **(more.get("runtime_env") or {})}
        client.submit_job(entrypoint=entrypoint, submission_id=job, **more)

    async def follow():
        async for text in client.tail_job_logs(job):
            sys.stdout.write(text)
            sys.stdout.flush()
    asyncio.run(follow())
    return 0


if __name__ == "__main__":
    sys.exit(submit(" ".join(sys.argv[2:])) if sys.argv[1:2] == ["submit"] else main())
