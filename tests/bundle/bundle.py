#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bundle as it is given away: made in a root of Debian 13, twice, to the same bytes; then run by an ordinary user in bare roots of
Debian 11 and 13 and in one that holds nothing but a static busybox, as this Linux is, and without the system calls that came after 4.18
and 5.4. Ends with its figures. Roots are kept in the cache. Needs root, and a mirror of Debian the first time.
"""
import fcntl
import glob
import os
import pty
import re
import select
import shutil
import statistics
import struct
import subprocess
import sys
import termios
import time

sys.path[:0] = [os.path.join(os.environ.get("FIRESTEEL_SOURCE", os.getcwd()), "tests", name) for name in ("support", "debian13")]
import bare
import debian13
import distroot

MOST = 22_000_000  # bytes of the archive that everybody needs; 20 are wanted
MNIST = "share/firesteel/recipes/10-mnist.lua"
RANKS = """\
-- %% Two ranks
r = hvd.run(function() require("hvd").init() return require("hvd").rank() end, { np = 2 })
print("ranks " .. table.concat(r:ranks(), " "))
"""


def make():
    """The folder with the archives."""
    debian13.ROOT.make("build", "run")
    debian13.build("/build/quick", "-Dtests=false")
    made = f"{debian13.ROOT.path}/build/quick/bundle"
    sums = []
    for _ in range(2):
        done = debian13.inside("ninja", "-C", "/build/quick", "bundle")
        debian13.must("the bundle", done, "SHA256SUMS|tar.zst")
        assert "no licence" not in done.stdout, done.stdout
        with open(f"{made}/SHA256SUMS", encoding="ascii") as f:
            sums.append(f.read())
    assert sums[0] == sums[1], sums
    print("bundle: twice the same bytes")
    return made


def root_of(name):
    """A bare root, in the cache."""
    root = os.path.join(distroot.CACHE, "bare-" + name)
    if name == "busybox":
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        return bare.busybox_root(root)
    if not os.path.exists(root):
        subprocess.run(["mmdebstrap", "--variant=minbase", "--quiet", "--dpkgopt=force-unsafe-io", name, root + ".new", distroot.MIRROR], check=True)
        os.rename(root + ".new", root)
    shutil.rmtree(os.path.join(root, "joe"), ignore_errors=True)
    return root


def must(what, done, *wanted):
    missing = [w for w in wanted if not re.search(w, done.out)]
    if done.code or missing:
        sys.exit(f"{done}\nbundle: {what}: exit code {done.code}" + (f", and nothing like {missing[0]!r}" if missing else ""))
    print(f"bundle: {what}", flush=True)


def runs(made, name):
    root = root_of(name)
    home = bare.prepare(root)
    base = "/joe/" + bare.unpack(made, home, "-mpi", "-mnist")
    program = base + "/bin/firesteel"
    with open(f"{home}/n.lua", "w", encoding="utf-8") as f:
        f.write(RANKS)
    must(f"{name}: doctor", bare.inside(root, program, "doctor"), "pods of a sandbox are confined", "firesteel-mpi.so loads", "firesteel-dnn.so loads")
    for linux in (None, "4.18", "5.4"):
        as_of = f"{name}, Linux {linux}" if linux else name
        must(f"{as_of}: two ranks", bare.inside(root, program, "run", "n.lua", linux=linux), "ranks 0 1")
        # Debian 13's bubblewrap needs Linux 5.6.
        sandbox = "--sandbox=processes" if linux else "--sandbox"
        must(f"{as_of}: recipe 10 with {sandbox}",
             bare.inside(root, program, "run", f"{base}/{MNIST}", "--cwd", "/joe/r", sandbox, "--allow", "cluster,destructive", "-p", "epochs=1",
                         linux=linux), "ok: 12 cells ok", "Model prediction for index 100: 6")
    return root, program


def screen(root, program, seconds=6):
    """What the workbench draws where terminal and locale are known to the bundle alone."""
    argv = bare.enter(root, program, "n.lua", LANG="de_DE.UTF-8", TERM="xterm-256color")
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    out, until = b"", time.monotonic() + seconds
    while time.monotonic() < until and "Two ranks" not in out.decode("utf-8", "replace"):
        if select.select([fd], [], [], 0.3)[0]:
            try:
                out += os.read(fd, 1 << 16)
            except OSError:
                break
            if b"\x1b[c" in out:
                os.write(fd, b"\x1b[?1;2c")
    os.write(fd, b"q")
    time.sleep(0.5)
    os.close(fd)
    os.waitpid(pid, 0)
    text = out.decode("utf-8", "replace")
    assert "Two ranks" in text and any("─" <= c <= "╿" for c in text), text[-2000:]
    print("bundle: busybox: the workbench draws lines")


def cost(*argv, times=30):
    """Processor milliseconds and peak memory in MiB of a program's run."""
    spent, peak = [], 0
    for _ in range(times):
        pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)])
        _, _, used = os.wait4(pid, 0)
        spent.append((used.ru_utime + used.ru_stime) * 1000)
        peak = max(peak, used.ru_maxrss / 1024)
    return statistics.median(spent), peak


def figures(made):
    """Beside kubectl, and euporie and k9s where they are installed: what is fetched, and what --version costs."""
    folder = os.path.join(distroot.CACHE, "bare-figures")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    program = f"{folder}/{bare.unpack(made, folder)}/bin/firesteel"
    print("| program | fetched, MB | start, ms of processor | peak memory, MiB |\n|---|---|---|---|")
    main = os.path.getsize(program.split("/bin/")[0].replace(folder, made) + ".tar.zst")
    rows = [("firesteel", program, ["--version"], main), ("kubectl", shutil.which("kubectl"), ["version", "--client"], None),
            ("k9s", shutil.which("k9s"), ["version"], None), ("euporie", shutil.which("euporie"), ["--version"], None)]
    for name, path, words, size in rows:
        if path:
            size = size or len(subprocess.run(["zstd", "-19", "-c", os.path.realpath(path)], capture_output=True, check=True).stdout)
            print("| {} | {:.1f} | {:.1f} | {:.0f} |".format(name, size / 1e6, *cost(path, *words)))
    shutil.rmtree(folder)
    return main


if os.geteuid() != 0:
    sys.exit("./check bundle makes roots of Debian, which only root can")
os.makedirs(distroot.CACHE, exist_ok=True)
with open(debian13.ROOT.path + ".lock", "w", encoding="ascii") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    archives = make()
for path in sorted(glob.glob(archives + "/*.tar.zst")):
    print(f"bundle: {os.path.basename(path)}: {os.path.getsize(path) / 1e6:.1f} MB")
for root_name in ("bullseye", "trixie", "busybox"):
    entered = runs(archives, root_name)
screen(*entered)
size_of_main = figures(archives)
if size_of_main >= MOST:
    sys.exit(f"bundle: the archive has {size_of_main / 1e6:.1f} MB, {MOST / 1e6:.0f} are the most")
print("bundle: all is well")
