#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The life and end of kernels: nothing is left of them, no client slows them or makes them grow, idling costs nothing."""
import json
import os
import signal
import subprocess
import time

from kernel import KERNEL, Connection, Kernel, cell
from tap import OWN, PATIENCE, SANITIZED, Skip, eventually, processes, run



def status(pid, field, base=10):
    with open(f"/proc/{pid}/status", encoding="utf-8") as f:
        return int(next(line for line in f if line.startswith(field)).split()[1], base)


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
        return f.read().rpartition(")")[2].split()[0] == "T"


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int((f.read().split() or [0])[0])


def catches(pid, signum):
    return status(pid, "SigCgt", 16) >> (signum - 1) & 1


def test_kill_9_leaves_nothing(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, cell(f"sh [[sleep 3456.{OWN} & setsid sh -c 'sleep 3457.{OWN}; sleep 3458' & setsid setsid sleep 3459.{OWN} & "
                       "echo started; wait]]"),
               "--socket", sock, headless=True)
    k.wait(lambda e: e["type"] == "stream")
    eventually(lambda: len(processes(OWN)) >= 3, 5)
    began = time.monotonic()
    os.kill(k.pid(), signal.SIGKILL)
    assert k.process.wait(5 * PATIENCE) == 128 + 9
    assert time.monotonic() - began < 3 * PATIENCE
    assert not processes(OWN), processes(OWN)
    assert not os.path.exists(sock)
    with open(k.journal(), encoding="utf-8") as f:  # every line is whole, or the last one is torn
        lines = f.read().split("\n")
    assert all(json.loads(line) for line in lines[:-1])


def test_a_killed_guard_takes_the_kernel_with_it(t):
    k = Kernel(t, cell(f"print 'started' sh 'sleep 4567.{OWN}'"), headless=True)
    k.wait(lambda e: e["type"] == "stream")
    pid = k.pid()
    k.process.kill()
    eventually(lambda: not os.path.exists(f"/proc/{pid}"), 8)
    assert not processes(OWN)
    assert not os.path.exists(k.kubeconfig())


def test_a_kernel_that_is_ended_while_it_restarts_does_not_come_back(t):
    k = Kernel(t, cell("print 'one'"))
    k.execute(0)
    pid = k.pid()
    os.kill(pid, signal.SIGSTOP)  # so it finds both at once, and the client comes before the signal
    eventually(lambda: is_stopped(pid), 5)
    k.send(id=99, type="restart")
    k.process.terminate()
    eventually(lambda: status(pid, "ShdPnd", 16) >> (signal.SIGTERM - 1) & 1, 5)
    os.kill(pid, signal.SIGCONT)
    assert k.process.wait(10 * PATIENCE) == 128 + signal.SIGTERM
    assert k.wait(lambda e: e["type"] == "reply" and e["to"] == 99)["ok"]


def test_the_owner_goes_and_the_run_stops(t):
    k = Kernel(t, cell(f"print 'started' sh 'sleep 5678.{OWN}'"), headless=True)
    k.wait(lambda e: e["type"] == "stream")
    journal = k.journal()
    k.connection.close()
    assert k.process.wait(10 * PATIENCE) == 130
    assert not processes(OWN)
    with open(journal, encoding="utf-8") as f:
        last = json.loads(f.read().rstrip("\n").split("\n")[-1])
    assert (last["type"], last["exit"], last["outcome"]) == ("end", 130, "interrupted")


def test_a_detached_run_goes_on(t):
    k = Kernel(t, cell("firesteel.sleep '500ms' print 'done'"), "--detach", headless=True)
    k.wait(lambda e: e["type"] == "welcome")
    journal = k.journal()
    k.connection.close()
    assert k.process.wait(10 * PATIENCE) == 0
    with open(journal, encoding="utf-8") as f:
        assert any(json.loads(line).get("text") == "done\n" for line in f)


def test_signals_stop_a_run(t):
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        k = Kernel(t, cell("print 'started' while true do end"), headless=True)
        k.wait(lambda e: e["type"] == "stream")
        k.process.send_signal(signum)
        assert k.finish(10) == 130
        assert k.of("end")[0]["exit"] == 130


def test_a_signal_before_the_hello(t):
    """When a run is ending, no further cell begins."""
    for _ in range(4):
        k = Kernel(t, cell(f"sh 'sleep 6789.{OWN}'") + cell("print 'second'"), headless=True, hello=False)
        kernel = eventually(lambda: child_of(k.process.pid))
        eventually(lambda: catches(kernel, signal.SIGTERM))
        os.kill(kernel, signal.SIGSTOP)
        os.kill(kernel, signal.SIGTERM)
        k.send(type="hello", version=1, owner=True)
        os.kill(kernel, signal.SIGCONT)
        assert k.finish(10) == 130
        assert not k.of("stream") and not processes(OWN)


def test_leaves_no_socket_and_no_temporary_file(t):
    folder, temporary, runtime = t.dir(), t.dir(), os.path.join(t.dir(), "run")
    sock = os.path.join(folder, "kernel.sock")
    k = Kernel(t, cell("print(1) sh 'ls $KUBECONFIG'"), "--socket", sock, headless=True, hello=False,
               env={"TMPDIR": temporary, "FIRESTEEL_RUNTIME_DIR": runtime})
    eventually(lambda: os.path.exists(sock), 5)
    assert os.stat(sock).st_mode & 0o077 == 0
    k.send(type="hello", version=1, owner=True)
    assert k.finish() == 0
    assert not os.path.exists(sock)
    assert os.path.join(runtime, "") in k.text() and k.text().endswith(".kubeconfig\n"), k.text()
    assert os.listdir(folder) == os.listdir(temporary) == os.listdir(runtime) == []
    assert sorted(os.listdir(k.cwd)) == [".firesteel", "test.lua"]


def test_a_socket_folder_others_may_enter_is_refused(t):
    folder = t.dir()
    os.chmod(folder, 0o755)
    k = Kernel(t, "", "--socket", os.path.join(folder, "kernel.sock"), hello=False)
    assert k.process.wait(10 * PATIENCE) == 1
    assert "chmod 700" in k.process.stderr.read()


def test_an_interactive_kernel_goes_with_its_last_client(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, "", "--socket", sock)
    k.pid()
    other = Connection.to(sock)
    other.send(type="hello", version=1, owner=True)
    other.wait(lambda e: e["type"] == "welcome")
    k.connection.close()
    visitor = Connection.to(sock)
    visitor.send(type="hello", version=1, **{"from": -1})
    visitor.wait(lambda e: e["type"] == "welcome")
    visitor.close()
    time.sleep(0.3)
    assert k.process.poll() is None
    other.close()
    assert k.process.wait(5 * PATIENCE) == 0


def test_an_owner_that_never_says_hello(t):
    for headless, code in ((True, 130), (False, 0)):
        k = Kernel(t, "1\n", headless=headless, hello=False)
        time.sleep(0.2)
        k.connection.close()
        assert k.process.wait(5 * PATIENCE) == code


def test_it_stays_while_something_runs(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, "", "--socket", sock)
    k.start(k.insert("print 'started' firesteel.sleep '1s' print 'ended'"))
    k.wait(lambda e: e["type"] == "stream")
    k.connection.close()
    time.sleep(1.5)
    assert k.process.poll() is None
    other = Connection.to(sock)
    other.send(type="hello", version=1)
    other.wait(lambda e: e["type"] == "stream" and e["text"] == "ended\n")
    other.send(type="shutdown")
    assert k.process.wait(5 * PATIENCE) == 0


def test_a_client_that_does_not_read(t):
    """1 GB is printed while one client sleeps: the kernel stays small, and the client loses nothing."""
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, "", "--socket", sock)
    k.run("collectgarbage()")
    sleepy = Connection.to(sock)
    sleepy.send(type="hello", version=1)
    cell_id = k.insert("local line = ('x'):rep(1023) .. '\\n' for i = 1, 1 << 20 do io.write(line) end")
    k.start(cell_id)
    peak = 0
    while not k.of("state", cell=cell_id, state="ok"):
        k.connection.read(0.1)
        peak = max(peak, status(k.pid(), "RssAnon"))
    assert peak < 50 << 10 or SANITIZED, peak
    spooled = [e for e in k.events if e["type"] == "stream" and "spool" in e]
    shown = sum(len(e["text"]) for e in k.events if e["type"] == "stream" and "text" in e)
    assert shown + sum(e["to"] - e["from"] for e in spooled) == 1 << 30
    assert shown <= 64 << 10 and len(spooled) < 1000, len(spooled)
    reply = k.ask(type="read", stream=spooled[0]["spool"], **{"from": 0, "to": 2048})
    assert reply["text"] == ("x" * 1023 + "\n") * 2
    sleepy.wait(lambda e: e["type"] == "state" and e["cell"] == cell_id and e["state"] == "ok")
    ours = [e["seq"] for e in k.events if "mono" in e]
    theirs = [e["seq"] for e in sleepy.events if "mono" in e]
    assert theirs[:len(ours)] == ours[:len(theirs)]
    sleepy.close()


def test_many_events_while_a_client_does_not_read(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, "", "--socket", sock)
    k.run("collectgarbage()")
    sleepy = Connection.to(sock)
    sleepy.send(type="hello", version=1)
    before = status(k.pid(), "RssAnon")
    cell_id = k.insert("for i = 1, 100000 do display(('y'):rep(200)) end")
    k.start(cell_id)
    k.done(cell_id, 60)
    grown = status(k.pid(), "RssAnon") - before
    assert grown < 30 << 10 or SANITIZED, grown
    sleepy.wait(lambda e: e["type"] == "state" and e["cell"] == cell_id and e["state"] == "ok", 60)
    assert sum(e["type"] == "display" and e["cell"] == cell_id for e in sleepy.events) == 100000
    sleepy.close()


def test_idle_costs_nothing(t):
    k = Kernel(t)
    k.run("print 'warm'")
    time.sleep(0.5)
    pid = k.pid()

    def switches():
        total = 0
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status", encoding="utf-8") as f:
                total += sum(int(line.split()[1]) for line in f if "voluntary_ctxt_switches" in line)
        return total

    before = switches()
    time.sleep(2)
    assert switches() - before <= 2, switches() - before
    private = status(pid, "RssAnon") # smaps are root's alone: a kernel holds secrets
    print(f"# idle: {private} kB private")
    assert private < 10 << 10 or SANITIZED, private


def test_what_a_run_does_not_need_is_not_loaded(t):
    def loaded():
        try:
            with open(f"/proc/{k.pid()}/maps", encoding="utf-8") as f:
                text = f.read()
        except PermissionError: # a kernel holds secrets
            raise Skip("needs root") from None
        return [name for name in ("libcurl", "libgnutls", "libarchive", "libxml2", "libkrb5") if name in text]

    k = Kernel(t, "", "--sandbox", "--allow", "cluster")
    k.run("print(1)")
    assert loaded() == [], loaded()
    with open(os.path.join(k.cwd, "Dockerfile"), "w", encoding="utf-8") as f:
        f.write(f"FROM scratch\nCOPY Dockerfile /\nLABEL folder={k.cwd}\n") # a layer that no earlier image has
    built = k.run("image.build { tag = 'x:1', dockerfile = 'Dockerfile' }", 'effects="cluster"')
    assert built.state == "ok", built
    assert "libarchive" in loaded() and "libcurl" not in loaded(), loaded()
    listed = k.run("k8s.list 'pods'", 'effects="cluster"')
    assert listed.state == "ok" and "libcurl" in loaded(), (listed, loaded())


def small_disk(t, size):
    small = t.dir()
    if subprocess.call(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", small], stderr=subprocess.DEVNULL):
        raise Skip("needs the right to mount")
    t.after(lambda: subprocess.call(["umount", "-l", small]))
    return small


def test_no_space_for_a_journal(t):
    k = Kernel(t, cell("print(1)"), headless=True, cwd=small_disk(t, "128k"))
    assert k.finish() == 1
    assert "no space left" in k.stderr, k.stderr


def test_no_space_left_in_mid_run(t):
    """The run ends with the reason, in the journal too: last words are longer than the output that finds no room."""
    k = Kernel(t, cell("for i = 1, 100000 do display 'z' end"), headless=True, cwd=small_disk(t, "4m"))
    assert k.finish() == 1
    assert "no space left" in k.of("error")[0]["message"], k.of("error")
    assert "no space left" in k.of("end")[0]["message"] and k.of("end")[0]["exit"] == 1
    with open(k.journal(), encoding="utf-8") as f:
        assert json.loads(f.read().splitlines()[-1])["type"] == "end"


run(globals())
