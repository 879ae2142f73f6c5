#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Branches with effects on a cluster (the sandbox, with real pods): side by side, resumed after a kill, and nothing left."""
import os
import signal

from kernel import Kernel, cell
from sandbox import sandbox
from tap import PATIENCE, eventually, run

GRANTED = ("--allow", "cluster,destructive")
JOB = """function job(name, command)
  return { apiVersion = "batch/v1", kind = "Job", metadata = { name = name }, spec = { backoffLimit = 0, template = { spec = {
    restartPolicy = "Never", containers = { { name = "main", image = "host", command = { "sh", "-c", command } } } } } } }
end"""
CONFIG = """function config(name) return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name }, data = { a = "1" } } end"""


def start(t, env, notebook, *options, cwd=None):
    return Kernel(t, notebook, *GRANTED, *options, headless=True, env=env, cwd=cwd)


def made(t, env):
    """The config maps that are there, with their uids."""
    k = Kernel(t, "", env=env)
    r = k.run("for _, c in ipairs(k8s.list 'configmaps') do print(c.metadata.name, c.metadata.uid) end")
    assert r.state == "ok", r
    return {name: uid for name, uid in (line.split() for line in r.out.splitlines()) if name != "kube-root-ca.crt"}


def test_jobs_side_by_side(t):
    env = sandbox(t)
    meet = "touch $D/%s; for i in $(seq 400); do test -e $D/%s && exit 0; sleep 0.1; done; exit 9"
    folder = t.dir()
    k = start(t, env, cell(JOB + f"""
local meet = ("{meet}"):gsub("%$D", "{folder}")
local jobs = parallel.map({{ 1, 2, 3 }}, function(i)
  local j = k8s.create(job("j" .. i, meet:format(i, i % 3 + 1)))
  j:reaches("Complete", "2m")
  print("done")
  return j
end)
expect(jobs):reaches("Complete", "1m")
parallel.map(jobs, function(j) j:delete() end)""", 'effects="cluster,destructive"'))
    assert k.finish(120) == 0, (k.of("error"), k.stderr)
    assert sorted(e["branch"] for e in k.of("stream") if e["text"] == "done\n") == ["1", "2", "3"], k.of("stream")
    intents = [e for e in k.of("ledger") if e["phase"] == "intent"]
    assert sorted(e["branch"] for e in intents) == ["1", "2", "3", "j1 (2)", "j2 (2)", "j3 (2)"], intents


def test_the_first_that_fails_ends_the_wait(t):
    env = sandbox(t)
    k = start(t, env, cell(JOB + """
local jobs = { k8s.create(job("long", "sleep 300")), k8s.create(job("bad", "sleep 0.5; exit 3")), k8s.create(job("good", "true")) }
expect(jobs):reaches("Complete", "4m")""", 'effects="cluster"'))
    assert k.finish(60) == 1
    assert "(in branch bad)" in k.of("error")[0]["message"], k.of("error")


HALF = CONFIG + """
parallel.map({ "a", "b", "c" }, function(x)
  while x ~= "a" and not io.open "look" do firesteel.sleep(0.05) end
  k8s.create(config(x .. "-first"))
  if x == "b" then
    while not io.open "go" do firesteel.sleep(0.05) end
  end
  k8s.create(config(x .. "-second"))
end)
k8s.create(config "joined")"""


def killed_half_way(t, env):
    notebook = cell(HALF, 'effects="cluster"')
    folder = t.dir()
    open(os.path.join(folder, "look"), "w", encoding="utf-8").close()
    k = start(t, env, notebook, cwd=folder)
    eventually(lambda: len(made(t, env)) == 5, 30)
    eventually(lambda: open(k.journal(), encoding="utf-8").read().count('"phase":"outcome"') == 5, 10)
    os.kill(k.pid(), signal.SIGKILL)
    k.process.wait(10 * PATIENCE)
    open(os.path.join(k.cwd, "go"), "w").close()
    return k, notebook


def test_resume_after_kill_9(t):
    env = sandbox(t)
    k, notebook = killed_half_way(t, env)
    before = made(t, env)
    again = start(t, env, notebook, "--resume", k.of("welcome")[0]["run"], cwd=k.cwd)
    assert again.finish(60) == 0, (again.of("error"), again.stderr)
    after = made(t, env)
    assert set(after) == set(before) | {"b-second", "joined"} and all(after[n] == before[n] for n in before), (before, after)


def test_a_branch_that_is_made_again_leaves_its_siblings(t):
    env = sandbox(t)
    k, notebook = killed_half_way(t, env)
    with_kubectl = Kernel(t, "", "--allow", "cluster,destructive", env=env)
    cell_id = with_kubectl.insert("k8s.delete('configmaps/a-first')", 'effects="destructive"')
    with_kubectl.start(cell_id)
    if with_kubectl.wait(lambda e: e["type"] == "ask" or e["type"] == "state" and e["state"] == "ok")["type"] == "ask":
        with_kubectl.ask(type="answer", ask=with_kubectl.of("ask")[0]["ask"], value="yes")
    with_kubectl.done(cell_id)
    before = made(t, env)
    assert "a-first" not in before and len(before) == 4
    for name in "look", "go":
        os.remove(os.path.join(k.cwd, name))
    again = start(t, env, notebook, "--resume", k.of("welcome")[0]["run"], cwd=k.cwd)

    def comes_to(outcomes, verified, go):
        def is_there():
            with open(again.journal(), encoding="utf-8") as f:
                text = f.read()
            too_many = text.count('"phase":"undone"') > 2  # those two of a are all
            return too_many or text.count('"phase":"outcome"') >= outcomes and text.count('"phase":"verified"') >= verified
        eventually(is_there, 20)
        open(os.path.join(k.cwd, go), "w", encoding="utf-8").close()
    comes_to(6, 0, "look")  # a has removed what was its, and does it anew, when the others look at what is theirs
    comes_to(7, 3, "go")  # and b does something new when they have
    assert again.finish(60) == 0, (again.of("error"), again.stderr)
    after = made(t, env)
    kept = [n for n in before if after.get(n) == before[n]]
    assert sorted(kept) == ["b-first", "c-first", "c-second"], (before, after)  # a-second came after a-first: it is made anew
    assert len(after) == 7, after


def test_an_interrupt_in_the_midst(t):
    env = sandbox(t)
    k = Kernel(t, "", "--allow", "cluster,destructive", env=env)
    cell_id = k.insert(JOB + """
parallel.map({ 1, 2, 3 }, function(i)
  local j = k8s.create(job("j" .. i, "sleep 300"))
  print "started"
  j:reaches("Complete", "4m")
end)""")
    k.start(cell_id)
    k.wait(lambda e: [s["text"] for s in k.of("stream")].count("started\n") == 3, 60)
    assert k.ask(type="interrupt")["ok"]
    assert k.done(cell_id, 10)["state"] == "cancelled"
    assert k.run("1 + 1").value == "2"


run(globals())
