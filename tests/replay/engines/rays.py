#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""k8s.rayjob: the objects that are made of an entrypoint, what is refused and with which words, and ray_ranks.py by itself."""
import importlib.util
import os
import sys

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kernel import Kernel  # noqa: E402  pylint: disable=wrong-import-position
from sandbox import sandbox  # noqa: E402  pylint: disable=wrong-import-position
from tap import SOURCE, run  # noqa: E402  pylint: disable=wrong-import-position
import kinds_of  # noqa: E402  pylint: disable=wrong-import-position

KINDS = ("ray.io/RayJob/rayjobs", "networking.k8s.io/NetworkPolicy/networkpolicies")


def test_an_entrypoint_is_a_manifest(t):
    k = kinds_of.cluster(t, *KINDS)
    out = kinds_of.ok(k, """
io.open("train.py", "w"):write("print(1)\\n"):close()
job = k8s.create(k8s.rayjob { name = "train", entrypoint = "python train.py", image = "ray:1", files = { "train.py" }, workers = 2, cpu = 2, memory = "4Gi", gpu = 1,
  head_cpu = 1, queue = "team", env = { COLOUR = "red" }, runtime_env = { pip = { "requests" } }, ttl_seconds_after_finished = 60, backoff_limit = 2,
  active_deadline_seconds = "1h", ray_version = "2.46.0", template = { spec = { priorityClassName = "high" } } })
o = k8s.get(job)
s, c = o.spec, o.spec.rayClusterSpec
print(o.metadata.labels["kueue.x-k8s.io/queue-name"], s.submissionMode, s.shutdownAfterJobFinishes, s.ttlSecondsAfterFinished, s.backoffLimit, s.activeDeadlineSeconds, c.rayVersion)
print("runtime", s.runtimeEnvYAML)
w, h, u = c.workerGroupSpecs[1], c.headGroupSpec.template.spec, s.submitterPodTemplate.spec
print("workers", w.replicas, w.minReplicas, w.maxReplicas, w.template.spec.containers[1].resources.limits["nvidia.com/gpu"], w.template.spec.containers[1].resources.requests.cpu)
print("head", h.containers[1].resources.requests.cpu, h.containers[1].resources.limits["nvidia.com/gpu"], h.containers[1].env[1].value, h.priorityClassName, h.restartPolicy)
print("submitter", u.restartPolicy, u.containers[1].resources.requests.cpu, table.concat(u.containers[1].command, " "), u.priorityClassName)
map, policy = k8s.get("configmap/train-ray"), k8s.get("networkpolicy/train")
print("belongs", map.metadata.ownerReferences[1].uid == o.metadata.uid, policy.metadata.ownerReferences[1].kind, map.binaryData.file1)
print("ports", policy.spec.ingress[2].ports[1].port)
bare = k8s.get(k8s.create(k8s.rayjob { name = "bare", entrypoint = "true", image = "ray:1", workers = 0, network_policy = false })).spec
h = bare.rayClusterSpec.headGroupSpec.template.spec
print("bare", bare.rayClusterSpec.workerGroupSpecs, h.volumes, h.containers[1].env, h.containers[1].volumeMounts, bare.submitterPodTemplate.spec.containers[1].command)
""")
    for line in ("team\tK8sJobMode\ttrue\t60\t2\t3600\t2.46.0", 'runtime\t{"pip":["requests"]}', "workers\t2\t2\t2\t1\t2", "head\t1\tnil\tred\thigh\tnil",
                 "submitter\tNever\t100m\tpython3 /run/firesteel-ray/ray_ranks.py submit python train.py\thigh", "belongs\ttrue\tRayJob\tcHJpbnQoMSkK", "ports\t8265",
                 "bare\tnil\tnil\tnil\tnil\tnil"):
        assert line in out, (line, out)


def test_what_is_refused(t):
    k = Kernel(t, "", "--allow", "cluster", env=sandbox(t))
    for source, words in (
            ("k8s.create(k8s.rayjob { image = 'i' })", "entrypoint: the command that Ray runs"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x' })", "name: the RayJob's"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = ('n'):rep(48) })", "up to 47 characters, and this has 48"),
            ("k8s.create(k8s.rayjob { entrypoint = 'x', name = 'n' })", "image: an image with Ray"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = 'n', submission_mode = 'InteractiveMode' })",
             "submission_mode must be one of HTTPMode, K8sJobMode, SidecarMode, not InteractiveMode"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = 'n', submission_mode = 'HTTPMode', files = { 'a' } })", "files go to Ray by the submitter's pod"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = 'n', files = { '../a' } })", "files are below the working folder, not ../a"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = 'n', workers = -1 })", "workers must be an integer from 0 to 4096, not -1"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = 'n', cores = 2 })", "cores is for ranks"),
            ("k8s.create(k8s.rayjob { image = 'i', entrypoint = 'x', name = 'n', queue = 'q', shutdown_after_job_finishes = false })", "gives its cluster back"),
            ("k8s.create(k8s.jobs { image = 'i' })", "k8s.jobs is where hvd.run and torch.run run their ranks"),
            ("hvd.run(function() end, { np = 2, on = k8s.rayjob { image = 'i', entrypoint = 'x' } })", "entrypoint is for an entrypoint, which k8s.create takes"),
            ("hvd.run(function() end, { np = 2, min_np = 1, on = k8s.rayjob { image = 'i' } })", "a RayJob has a fixed number of workers"),
            ("hvd.run(function() end, { np = 2, on = k8s.rayjob { image = 'i', strategy = 'NEAR' } })", "strategy must be one of PACK, SPREAD, STRICT_PACK, STRICT_SPREAD, not NEAR"),
            ("k8s.rayjob { image = 'i', worker = 2 }", "workers")):
        done = k.run(source, 'effects="cluster"')
        assert done.state == "failed" and words in done.error["message"], (source, words, done)


def driver():
    spec = importlib.util.spec_from_file_location("ray_ranks", os.path.join(SOURCE, "script", "api", "engines", "ray_ranks.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fetched(node):
    """All that a node's command printed, and its exit code."""
    lines = []
    while True:
        more, code = node.fetch()
        lines += more
        if code is not None:
            return lines, code


def test_a_node_of_ray(t):
    """An actor's class needs no Ray: its command's lines, its end, what cannot be started, and what it left running."""
    ranks = driver()
    node = ranks.Node(0)
    assert node.start(["{python}", "-c", "import os, sys; print(os.environ['A'], os.environ.get('OMP_NUM_THREADS')); print('e', file=sys.stderr); sys.exit(3)"], {"A": "b"}) is None
    lines, code = fetched(node)
    assert code == 3 and sorted(lines) == [(1, b"b None\n"), (2, b"e\n")], (lines, code)
    assert "no-such-program cannot be started: No such file" in ranks.Node(1).start(["no-such-program"], {})
    node = ranks.Node(2)
    node.start(["sh", "-c", "sleep 60 & echo out"], {})
    lines, code = fetched(node)  # the sleep holds its output open
    assert code == 0 and lines == [(1, b"out\n")], (lines, code)
    node.stop()
    node = ranks.Node(3)
    node.start(["sh", "-c", "trap '' TERM; echo here; sleep 60"], {})
    assert node.fetch()[0] == [(1, b"here\n")]
    ranks.GRACE = 0.2
    node.stop()
    assert fetched(node)[1] == -9


run(globals())
