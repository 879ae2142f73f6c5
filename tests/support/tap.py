# SPDX-License-Identifier: MIT
"""TAP for tests in Python: functions named test_…, each a case; a failed assert prints its reason.

    from tap import run, sh
    def test_version(t): assert sh(FIRESTEEL, "--version").out == "…"
    run(globals())

Words on the command line choose the cases whose names contain one, FIRESTEEL_CASES those that have one of its names.
FIRESTEEL_APART is a file of cases that do not run unless they are named (tests/cover).
"""
import atexit
import fcntl
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.environ.get("FIRESTEEL_BUILD", os.path.join(os.getcwd(), "build"))
SOURCE = os.environ.get("FIRESTEEL_SOURCE", os.getcwd())
CACHE = os.environ.get("FIRESTEEL_CACHE", os.path.expanduser("~/.cache/firesteel"))
FIRESTEEL = os.path.join(BUILD, "cli", "firesteel")
QUICK_JAVA = os.path.join(SOURCE, "tests", "support", "java")  # JAVA_HOME for Spark on this machine
# Sanitizers and busy machines make everything slower: time-outs are so many times as long.
PATIENCE = float(os.environ.get("FIRESTEEL_PATIENCE", "1"))
PATIENCE *= min(10, max(1, min(20 / PATIENCE, os.getloadavg()[0] / (os.cpu_count() or 1))))
# Digits after the point of a sleep's seconds: its command line is unlike that of any other test on the machine.
OWN = f"{os.getpid():07d}"
# what we start has this in its environment, unless somebody on the way gave it one of its own
MARK = os.environ["FIRESTEEL_TEST_RUN"] = f"{os.getpid()}-{time.time_ns()}"
# kubectl spends a fifth of its moment on collecting garbage, the servers as much of theirs.
os.environ.setdefault("GOGC", "400")
SANITIZED = os.environ.get("FIRESTEEL_SANITIZED", "")  # "address,undefined", "thread"


def private_folder():
    """A new folder that goes with this program. Its path is short: names of sockets have at most 107 bytes."""
    parent = tempfile.gettempdir()
    path = tempfile.mkdtemp(prefix="fst-", dir=parent if len(parent) <= 40 else "/tmp")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


# Sockets, kubeconfigs and private sandboxes of what we start. So no list of kernels shows those of other tests, or the user's.
RUNTIME = os.environ["FIRESTEEL_RUNTIME_DIR"] = private_folder()
os.environ["FIRESTEEL_CONFIG"] = "off"  # a person's own keys and colours

# nohup, and a script's background, ignore these signals; the processes that we start must end by
# them
for ignored in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
    if signal.getsignal(ignored) == signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)

# A program without bounds shall end with an error of its own, and not take the machine or other
# tests with it.
if not SANITIZED:
    resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, resource.getrlimit(resource.RLIMIT_DATA)[1]))


class Skip(Exception):
    pass


class Done:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def sh(*argv, cwd=None, env=None, input=None, timeout=120):
    """Runs a program to its end; a time-out kills its whole group and fails."""
    full = dict(os.environ, **{k: v for k, v in (env or {}).items() if v is not None})
    for name in [k for k, v in (env or {}).items() if v is None]:
        full.pop(name, None)
    process = subprocess.Popen(argv, cwd=cwd, env=full, text=True, errors="replace",
                               stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        out, errors = process.communicate(input, timeout=timeout * PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, errors = process.communicate()
        raise AssertionError(f"{' '.join(argv)}: still running after {timeout} s\n{out}\n{errors}")
    return Done(process.returncode, out, errors)


def unplaced(text):
    """A trainer file's lines without the places of errors in it: the text of what pcall caught."""
    return re.sub(r"(?m)(^|\t)trainer\.lua:\d+: ", r"\1", text)


def eventually(condition, seconds=20, every=0.05):
    """The first true value of condition(), which is called until the time is over. One that works long, as kubectl does, rests
    three times as long, for others to get on."""
    until = time.monotonic() + seconds * PATIENCE
    while True:
        began = time.monotonic()
        value = condition()
        if value:
            return value
        ended = time.monotonic()
        if ended > until:
            raise AssertionError(f"not within {seconds} s: {condition.__doc__ or condition.__name__}")
        time.sleep(max(every, min(3 * (ended - began), 2)))


def is_anothers(pid):
    """Its own mark decides; pods and ranks have an environment without one: then that of the nearest ancestor with a mark."""
    while pid not in ("0", "1", str(os.getpid())):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                marks = [v for v in f.read().split(b"\0") if v.startswith(b"FIRESTEEL_TEST_RUN=")]
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                parent = f.read().rpartition(")")[2].split()[1]
        except OSError:
            return False
        if marks:
            return marks[-1] != f"FIRESTEEL_TEST_RUN={MARK}".encode()
        pid = parent
    return False


def processes(text):
    """Command lines of living processes (no zombies) that contain the text, without those of other tests."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                line = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and int(pid) != os.getpid() and not is_anothers(pid):
            found.append(f"{pid}: {line}")
    return found


def owned():
    """Names in the run-time folder whose owner lives: sockets of kernels, kubeconfigs, private sandboxes."""
    names = []
    for name in sorted(os.listdir(RUNTIME)):
        if not name.endswith(".owner"):
            continue
        try:
            with open(os.path.join(RUNTIME, name), "rb") as f:
                fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            names.append(name[:-len(".owner")])
        except FileNotFoundError:
            pass
    return names


def stop_kernels():
    """Ends those that this program has started. After a restart a kernel's run has another name than its socket."""
    if any(name.endswith(".sock") for name in owned()):
        for line in sh(FIRESTEEL, "ls").out.splitlines()[1:]:
            sh(FIRESTEEL, "stop", line.split()[0])


def nothing_left_running(t):
    """The last case of every program. Without the run-time folder nobody would find what is left."""
    t.after(stop_kernels)
    def gone():
        return not owned()
    gone.__doc__ = "no kernel is left running"
    try:
        eventually(gone, 10)
    except AssertionError as late:
        raise AssertionError(f"{late}: {', '.join(owned())}") from late


class Test:
    def __init__(self):
        self.cleanups = []

    def dir(self):
        """A new folder, removed after the case."""
        path = tempfile.mkdtemp(prefix="firesteel-test-")
        self.cleanups.append(lambda: shutil.rmtree(path, ignore_errors=True))
        return path

    def after(self, fn):
        self.cleanups.append(fn)


def apart():
    """Names of this program's cases that shall not run."""
    program = os.path.relpath(os.path.realpath(sys.argv[0]), os.path.realpath(os.path.join(SOURCE, "tests")))
    path = os.environ.get("FIRESTEEL_APART")
    if not path:
        return []
    with open(path, encoding="utf-8") as f:
        return next((line.split()[1:] for line in f if line.startswith(program + ": ")), [])


def run(namespace):
    cases = [(n, f) for n, f in namespace.items() if n.startswith("test_") and callable(f)]
    only, named = sys.argv[1:], os.environ.get("FIRESTEEL_CASES", "").split()
    cases = [(n, f) for n, f in cases if not only or any(o in n for o in only)]
    left_out = [] if only or named else apart()
    cases = [(n, f) for n, f in cases if not named or n[5:] in named]
    cases = [(n, f) for n, f in cases if n[5:] not in left_out]
    cases.append(("test_nothing_left_running", nothing_left_running))
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    for number, (name, fn) in enumerate(cases, 1):
        test, label, start = Test(), name[5:], time.monotonic()
        if "FIRESTEEL_COVER" in os.environ:  # what each case reaches (tests/cover)
            os.environ["LLVM_PROFILE_FILE"] = os.path.join(os.environ["FIRESTEEL_COVER"], label + "-%m%c.profraw")
        try:
            fn(test)
            print(f"ok {number} - {label}")
        except Skip as why:
            print(f"ok {number} - {label} # SKIP {why}")
        except BaseException:
            failed += 1
            print(f"not ok {number} - {label}")
            for line in traceback.format_exc().splitlines()[-60:]:
                print(f"# {line}")
            traceback.print_exc() # for runners that show only stderr of a failed program
        for cleanup in reversed(test.cleanups):
            try:
                cleanup()
            except BaseException as problem:
                print(f"# cleanup: {problem}")
        print(f"# {label}: {time.monotonic() - start:.1f} s")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
