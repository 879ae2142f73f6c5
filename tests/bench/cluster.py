#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lists, live tables and logs on a real Kubernetes, beside kubectl, stern and k9s, in turn.

usage: cluster.py [-n RUNS] [--pods N]        in a cluster's network (`cluster.py enter DIR …`), KUBECONFIG set

`./check bench cluster` brings a cluster up for it. CPU is user and system time of all processes; memory is the most
that they have together at one time (PSS, so that what they share counts once), from a run of its own. Pods are those of
manypods.py. Peers that are not there are named and left out; `bench.py setup` builds stern and k9s. k9s needs a terminal,
so it gets one.
"""
import argparse
import ctypes
import fcntl
import os
import pty
import re
import resource
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIRESTEEL = os.path.join(os.environ.get("FIRESTEEL_BUILD", os.path.join(ROOT, "build")), "cli", "firesteel")
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
TICK = os.sysconf("SC_CLK_TCK")
LIVE_S = 30
ESCAPES = re.compile(rb"\x1b(\[[0-9;:?]*[A-Za-z]|[()][A-Z0-9])")


def program(name):
    cached = os.path.join(CACHE, "bin", name)
    return cached if os.path.exists(cached) else shutil.which(name)


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as f:
            direct = [int(p) for p in f.read().split()]
    except OSError:
        return []
    return direct + [c for p in direct for c in children(p)]


def pss(pid):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("Pss:")) / 1024
    except (OSError, StopIteration):
        return 0


def cpu(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
            fields = f.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return (int(fields[11]) + int(fields[12])) / TICK


def reap():
    """Waits for what has outlived its parent, which comes to us, and returns what all have used."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            usage = resource.getrusage(resource.RUSAGE_CHILDREN)
            return usage.ru_utime + usage.ru_stime


def once(argv, cwd, env):
    """Seconds, CPU seconds and lines of output of a command."""
    before, started = reap(), time.perf_counter()
    with open(f"{cwd}/out", "wb") as out:
        code = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL).wait()
    seconds = time.perf_counter() - started
    used = reap() - before
    with open(f"{cwd}/out", "rb") as out:
        lines = sum(1 for _ in out)
    if code:
        raise SystemExit(f"{' '.join(argv)}: exit {code}")
    return seconds, used, lines


def most_memory(argv, cwd, env):
    most, stop = 0, threading.Event()

    def look():
        nonlocal most
        while not stop.wait(0.003):
            most = max(most, sum(pss(p) for p in children(os.getpid())))
    looker = threading.Thread(target=look)
    looker.start()
    once(argv, cwd, env)
    stop.set()
    looker.join()
    return most


def in_turn(what, commands, cwd, env, runs):
    """commands: {name: argv}, ours first. A B A B …, then one run each for memory."""
    got = {name: [] for name in commands}
    for argv in commands.values():
        once(argv, cwd, env)
    for _ in range(runs):
        for name, argv in commands.items():
            got[name].append(once(argv, cwd, env))
    ours = next(iter(commands))
    memory = {name: most_memory(argv, cwd, env) for name, argv in commands.items()}
    for name in commands:
        seconds, used = (statistics.median(g[i] for g in got[name]) for i in (0, 1))
        text = f"{what + ', ' + name:44}{seconds:8.2f} s{used:8.2f} s CPU{memory[name]:8.1f} MiB   lines {sorted({g[2] for g in got[name]})}"
        if name != ours:
            wall, work = (statistics.median(a[i] / b[i] for a, b in zip(got[ours], got[name])) for i in (0, 1))
            text += f"   ours: {wall:.2f} of the time, {work:.2f} of the CPU, {memory[ours] / memory[name]:.2f} of the memory"
        print(text, flush=True)


def notebook(cwd, name, text):
    with open(f"{cwd}/{name}.lua", "w", encoding="utf-8") as f:
        f.write(f"-- %%\n{text}\n")
    return [FIRESTEEL, "run", f"{name}.lua", "--context", "admin"]


def told(name, processes, idle, opening=0):
    print(f"{name:44}{sum(cpu(p) for p in processes) - idle - opening:8.2f} s CPU at the start{sum(pss(p) for p in processes):8.1f} MiB   "
          f"{idle:.2f} s CPU in {LIVE_S // 2} s of idleness", flush=True)


def live(name, argv, cwd, env, wanted):
    """A live table for LIVE_S seconds in which nothing changes; it has begun when `wanted` rows are printed."""
    with open(f"{cwd}/out", "wb") as out:
        process = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
    started = time.monotonic()
    while time.monotonic() - started < LIVE_S:
        time.sleep(0.5)
        with open(f"{cwd}/out", "rb") as out:
            if sum(1 for _ in out) >= wanted:
                break
    else:
        print(f"{name:44} has not shown {wanted} rows in {LIVE_S} s")
    time.sleep(2)
    processes = children(os.getpid())
    before = sum(cpu(p) for p in processes)
    time.sleep(LIVE_S / 2)
    told(name, processes, sum(cpu(p) for p in processes) - before)
    process.send_signal(signal.SIGINT)
    process.wait()
    reap()


def on_a_terminal(name, argv, cwd, env, wanted, typed=None, after=b""):
    """The same for what needs a terminal: it has begun when `wanted` is on its screen. What is typed, once `after` is
    there, begins it; what came before does not count."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execvpe(argv[0], argv, dict(env, TERM="xterm-256color"))
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen, started, shown, before, opening = b"", time.monotonic(), None, 0, 0
    while time.monotonic() - started < LIVE_S * 2:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                seen = (seen + os.read(fd, 65536))[-200000:]
            except OSError:
                break
        if typed and after in seen and time.monotonic() - started > 2:
            opening, started = sum(cpu(p) for p in children(os.getpid())), time.monotonic()
            os.write(fd, typed)
            seen, typed = b"", None
        if after and not typed and not shown:
            os.write(fd, b"\x0c")  # all of the screen, not what has changed of it
            time.sleep(0.3)
        if not shown and not typed and wanted in ESCAPES.sub(b"", seen):
            shown, before = time.monotonic(), None
        if shown and before is None and time.monotonic() - shown > 2:
            before = sum(cpu(p) for p in children(os.getpid()))
        if shown and time.monotonic() - shown > 2 + LIVE_S / 2:
            break
    processes = children(os.getpid())
    if shown:
        told(f"{name} (first rows after {shown - started:.1f} s)", processes, sum(cpu(p) for p in processes) - (before or 0), opening)
    else:
        print(f"{name:44} has not shown {wanted.decode()} in {LIVE_S * 2} s")
    os.kill(pid, signal.SIGKILL)
    os.close(fd)
    reap()


LOGS = """{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "lines"}, "spec": {"parallelism": 10, "completions": 10,
"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "localhost/busybox:1", "resources": {},
"command": ["sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo a line of a log, as long as they usually are, number $i; done"]}]}}}}"""


def logs(cwd, env, kubectl, runs):
    """10 pods with 20,000 lines each, which are all there, read to the last."""
    subprocess.run([kubectl, "create", "namespace", "lines"], env=env, check=False, capture_output=True)
    subprocess.run([kubectl, "-n", "lines", "delete", "job", "lines", "--ignore-not-found"], env=env, check=True, capture_output=True)
    time.sleep(2)  # for the account
    subprocess.run([kubectl, "-n", "lines", "create", "-f", "-"], env=env, input=LOGS, text=True, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([kubectl, "-n", "lines", "wait", "--for=condition=complete", "job/lines", "--timeout=300s"], env=env, check=True,
                   stdout=subprocess.DEVNULL)
    commands = {
        "firesteel": notebook(cwd, "logs", 'k8s.logs("job/lines", { namespace = "lines", follow = true, all = true })'),
        "kubectl": [kubectl, "-n", "lines", "logs", "-f", "--prefix", "-l", "job-name=lines", "--tail=-1", "--max-log-requests=10"]}
    if program("stern"):
        commands["stern"] = [program("stern"), "-n", "lines", "-l", "job-name=lines", "--no-follow", "--color=never",
                             "--max-log-requests=10"]
    else:
        print("stern is not there: left out")
    in_turn("10 × 20,000 lines", commands, cwd, env, runs)


def tables(cwd, env, kubectl, runs, pods):
    for state in ("pending", "running"):
        space = f"bench-{state}"
        print(subprocess.run([sys.executable, f"{HERE}/manypods.py", str(pods), space, state], env=env, check=True,
                             capture_output=True, text=True).stdout.strip(), flush=True)
        in_turn(f"list {pods} {state} pods", {
            "firesteel": notebook(cwd, f"list-{state}", f'k8s.get("pods", {{ namespace = "{space}" }})'),
            "kubectl": [kubectl, "-n", space, "get", "pods"]}, cwd, env, runs)
        watch = f'k8s.watch("pods", {{ namespace = "{space}" }})\nfiresteel.sleep(600)'
        live(f"live table of {pods} {state} pods, firesteel", notebook(cwd, f"live-{state}", watch), cwd, env, pods)
        live(f"live table of {pods} {state} pods, kubectl -w", [kubectl, "-n", space, "get", "pods", "-w"], cwd, env, pods)
        notebook(cwd, "desk", "print(1)")
        on_a_terminal(f"the desk's {pods} {state} pods", [FIRESTEEL, "desk.lua", "--context", "admin"], cwd, env,
                      f"{pods} rows".encode(), f":pods -n {space}\r".encode(), b"idle")
        if program("k9s"):
            # it shows rows once it has all; of the title it writes only what changes from "[0]" to "[5000]"
            on_a_terminal(f"live table of {pods} {state} pods, k9s", [program("k9s"), "-n", space, "-c", "pods", "--readonly"], cwd, env,
                          b"trainer-0")
        else:
            print("k9s is not there: left out")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", type=int, default=5)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("what", nargs="*", default=["tables", "logs"])
    options = parser.parse_args()
    kubectl = program("kubectl")
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    print(f"{model}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {time.strftime('%Y-%m-%d', time.gmtime())}")
    with tempfile.TemporaryDirectory(prefix="firesteel-bench-") as cwd:
        env = dict(os.environ, HOME=cwd, XDG_STATE_HOME=f"{cwd}/state", XDG_DATA_HOME=f"{cwd}/data")
        if "tables" in options.what:
            tables(cwd, env, kubectl, options.n, options.pods)
        if "logs" in options.what:
            logs(cwd, env, kubectl, options.n)


if __name__ == "__main__":
    main()
