#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Branches of a cell (parallel.map, async, await): they wait side by side, are told apart, stop together, and are resumed."""
import os
import signal
import time

from kernel import Kernel, cell
from tap import OWN, PATIENCE, SANITIZED, eventually, processes, run


def read(k, name):
    path = os.path.join(k.cwd, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


def touch(k, name):
    open(os.path.join(k.cwd, name), "w").close()


def branch_texts(k):
    """What each branch wrote, by its name; "" is the cell itself."""
    texts = {}
    for e in k.of("stream"):
        texts[e.get("branch", "")] = texts.get(e.get("branch", ""), "") + e["text"]
    return texts


# Each of three waits for a file that the next one makes, so none ends unless all run at once.
TOGETHER = """await_file = "for i in $(seq 600); do test -e %s && exit 0; sleep 0.05; done; exit 9"
function meet(i, n)
  sh("touch " .. prefix .. i)
  sh(await_file:format(prefix .. (i % n + 1)))
  return i
end"""


def test_side_by_side(t):
    k = Kernel(t)
    k.run(TOGETHER)
    r = k.run("prefix = 'm' r = parallel.map({1, 2, 3}, function(i) return meet(i, 3) end)\nprint(table.concat(r, ' '))")
    assert r.out == "1 2 3\n", r
    r = k.run("prefix = 'a' local a, b = async(meet, 1, 3), async(meet, 2, 3)\nmeet(3, 3)\nprint(await(a), await(b))")
    assert r.out == "1\t2\n", r  # the cell itself waits, and they go on
    r = k.run("prefix = 'n' local l = await { async(meet, 1, 2), async(meet, 2, 2) }\nprint(#l, l[1], l[2])")
    assert r.out == "2\t1\t2\n", r


def test_many_stop_at_once(t):
    many = 300 if SANITIZED else 16000
    k = Kernel(t, cell(f"local l = {{}} for i = 1, {many} do l[i] = i end\nparallel.map(l, function(i) if i == {many} then print 'waits' end firesteel.sleep '600s' end)"),
               headless=True)
    k.wait(lambda e: e["type"] == "stream", 60)
    k.send(type="interrupt")
    assert k.finish(30) == 130, k.of("error")
    assert SANITIZED or not k.of("kernel", state="wedged")  # ThreadSanitizer holds signals back


def test_names_are_told_apart(t):
    k = Kernel(t)
    r = k.run("for _, n in ipairs { 'a', 'a', 'a (2)' } do await(async(n, print, n)) end")
    names = [e["branch"] for e in k.of("stream")]
    assert r.state == "ok" and len(set(names)) == 3, names


def test_at_once(t):
    k = Kernel(t)
    r = k.run("""now, most = 0, 0
r = parallel.map({1, 2, 3, 4, 5, 6, 7}, { at_once = 3 }, function(i)
  now = now + 1
  most = math.max(most, now)
  firesteel.sleep(0.02)
  now = now - 1
  return i * i
end)
print(most, table.concat(r, " "))""")
    assert r.out == "3\t1 4 9 16 25 36 49\n", r
    for wrong, says in (("parallel.map(nil, print)", "a list"), ("parallel.map({}, { at_one = 1 }, print)", "did you mean at_once"),
                        ("parallel.map({}, { at_once = 0 }, print)", "from 1 on"), ("parallel.map({1})", "a function"),
                        ("async()", "a function"), ("await(3)", "not a number"), ("await { 1 }", "item 1")):
        r = k.run(wrong)
        assert r.state == "failed" and says in r.error["message"], (wrong, r)


def test_output_is_told_apart(t):
    k = Kernel(t)
    k.run("""parallel.map({ "east", "west" }, function(name)
  io.write(name .. " half ")
  firesteel.sleep(0.05)
  io.write("a line\\n")
  sh("echo from " .. name)
  if name == "east" then display.table { { a = 1 } } end
end)
print "the cell"
async("third", function() print "unfinished"; io.write "no newline" end)""")
    texts = branch_texts(k)
    assert texts == {"east": "east half a line\nfrom east\n", "west": "west half a line\nfrom west\n", "": "the cell\n",
                     "third": "unfinished\nno newline"}, texts
    for e in k.of("stream"):
        assert not e.get("branch") or e["text"].endswith("\n") or e["text"] == "no newline", e  # whole lines
    assert [e.get("branch") for e in k.of("display")] == ["east"], k.of("display")
    r = k.run("parallel.map({1, 1, 1}, function(x) print(x) end)\nparallel.map({ { name = 'pod' } }, function() print 'p' end)")
    assert set(branch_texts(k)) >= {"1", "1 (2)", "1 (3)", "pod"}, branch_texts(k)
    r = k.run("parallel.map({1, 2}, function(x) print(x) end)", 'capture="both"')
    assert r.out == "" and k.run("#both").value == "4"


def test_a_generator_in_a_branch_sees_nothing_of_it(t):
    k = Kernel(t)
    r = k.run("""local function numbers(n)
  return coroutine.wrap(function()
    for i = 1, n do
      sh("true")
      firesteel.sleep(0.001)
      local ok = pcall(function() sh("true") coroutine.yield(i) end)
      if not ok then error "a yield in pcall" end
    end
  end)
end
local r = parallel.map({1, 2, 3, 4}, function(x)
  local sum = 0
  for v in numbers(x) do sum = sum + v end
  local co = coroutine.create(function(a)
    local inner = coroutine.wrap(function(b) sh("true") return coroutine.yield(b + 1) .. "!" end)
    local n = inner(a)
    return inner(n)
  end)
  local ok, text = coroutine.resume(co, x)
  assert(ok and coroutine.status(co) == "dead", text)
  return sum .. text
end)
print(table.concat(r, " "))""")
    assert r.out == "12! 33! 64! 105!\n", r


def test_where_lua_cannot_yield(t):
    k = Kernel(t)
    r = k.run("""parallel.map({1}, function()
  local l = {3, 1, 2}
  table.sort(l, function(a, b) sh("true") firesteel.sleep(0) return a < b end)
  print(table.concat(l, " "))
  local f = async(function() return 1 end)
  print(select(2, pcall(table.sort, {2, 1}, function(a, b) return await(f) < 2 end)))
  print(await(f))
end)""")
    lines = r.out.splitlines()
    assert lines[0] == "1 2 3" and "await cannot wait here" in lines[1] and lines[2] == "1", r


def test_a_coroutine_that_another_branch_waits_in(t):
    k = Kernel(t)
    r = k.run("""local shared = coroutine.create(function() firesteel.sleep(0.2) return "through" end)
local a = async(function() return select(2, coroutine.resume(shared)) end)
local b = async(function()
  firesteel.sleep(0.05)
  print(coroutine.status(shared), coroutine.resume(shared))
  print(pcall(coroutine.close, shared))
end)
await(b)
print(await(a))""")
    lines = r.out.splitlines()
    assert lines[0] == "normal\tfalse\tcannot resume a coroutine that another branch waits in", r
    assert lines[1].startswith("false") and lines[2] == "through", r
    r = k.run("await(async(function() coroutine.yield(1) end))")
    assert r.state == "failed" and "yielded, but is no coroutine" in r.error["message"], r


def test_one_failure_cancels_the_rest(t):
    k = Kernel(t)
    began = time.monotonic()
    r = k.run(f"""closed = {{}}
parallel.map({{ "slow", "wait", "bad", "never" }}, {{ at_once = 3 }}, function(x)
  local mark <close> = setmetatable({{}}, {{ __close = function() closed[#closed + 1] = x end }})
  if x == "slow" then sh "sleep 60.{OWN}" end
  if x == "wait" then pcall(firesteel.sleep, 60) print "caught" end
  if x == "never" then print "never" end
  firesteel.sleep(0.2)
  error("it is " .. x)
end)""")
    assert r.state == "failed" and time.monotonic() - began < 15 * PATIENCE, r
    assert r.error["message"] == "it is bad (in branch bad)" and r.error["line"] == 8, r.error
    assert any("in branch bad" in line for line in r.error["traceback"]), r.error
    assert r.out == "", r  # an interrupt is not caught, and the last one did not begin
    eventually(lambda: not processes(f"sleep 60.{OWN}"), 5)
    assert k.run("table.sort(closed) return table.concat(closed, ' ')").value == "bad slow wait"


def test_failures_are_collected(t):
    k = Kernel(t)
    r = k.run("""local r, errors = parallel.map({1, 2, 3, 4}, { collect = true }, function(x)
  firesteel.sleep(0.01)
  if x % 2 == 0 then error("no " .. x, 0) end
  return x * 10
end)
print(r[1], r[2], r[3], r[4])
print(errors[1], errors[2], errors[3], errors[4])""")
    assert r.out == "10\tnil\t30\tnil\nnil\tno 2 (in branch 2)\tnil\tno 4 (in branch 4)\n", r
    r = k.run("""local ok, e = pcall(parallel.map, {1, 2}, function(x) firesteel.sleep(x / 20) error({ code = x }) end)
print(ok, type(e), e.code)""")
    assert r.out == "false\ttable\t1\n", r  # two fail: the first counts, and an error may be a table


def test_nobody_waits_for_it(t):
    k = Kernel(t)
    r = k.run("async(function() firesteel.sleep(0.1) print 'late' end)\nprint 'first'")
    assert r.state == "ok" and branch_texts(k) == {"async": "late\n", "": "first\n"}, r
    r = k.run("async('lost', function() sh 'exit 3' end)\nfiresteel.sleep(0.2)\nprint 'end'")
    assert r.state == "failed" and "(in branch lost)" in r.error["message"] and r.out == "end\n", r
    r = k.run("local f = async(function() error 'x' end)\nprint(pcall(await, f))")
    assert r.state == "ok" and "x (in branch async)" in r.out, r
    r = k.run(f"async(function() sh 'sleep 61.{OWN}' end)\nfiresteel.sleep(0.2)\nerror 'the cell'")
    assert r.state == "failed" and r.error["message"] == "the cell", r
    eventually(lambda: not processes(f"sleep 61.{OWN}"), 5)
    r = k.run("local a, b\na = async('a', function() return await(b) end)\nb = async('b', function() return await(a) end)\nawait(a)")
    assert r.state == "failed" and "wait for one another" in r.error["message"], r


def test_nested(t):
    k = Kernel(t)
    r = k.run("""r = parallel.map({ "a", "b" }, function(x)
  local inner = parallel.map({1, 2}, function(y) firesteel.sleep(0.01) print(y) return x .. y end)
  async("loose", function() firesteel.sleep(0.02) print "loose" end)
  return table.concat(inner, "+")
end)
print(table.concat(r, " "))""")
    assert r.out.endswith("a1+a2 b1+b2\n"), r
    assert set(branch_texts(k)) == {"", "a/1", "a/2", "b/1", "b/2", "a/loose", "b/loose"}, branch_texts(k)
    r = k.run("""parallel.map({ "x" }, function()
  parallel.map({1, 2}, function(y) if y == 1 then error "deep" end firesteel.sleep(60) end)
end)""")
    assert r.error["message"] == "deep (in branch x/1) (in branch x)" and r.error["line"] == 2, r.error


def interrupted(k, source):
    cell_id = k.insert(source)
    k.start(cell_id)
    k.wait(lambda e: e["type"] == "stream" and e["cell"] == cell_id and "started" in e.get("text", ""))
    time.sleep(0.1)
    began = time.monotonic()
    assert k.ask(type="interrupt")["ok"]
    state = k.done(cell_id, 10)
    assert state["state"] == "cancelled" and k.of("error", cell=cell_id)[0]["name"] == "interrupted", state
    assert time.monotonic() - began < 4 * PATIENCE
    assert k.run("'still ' .. 'here'").value == "still here"


def test_an_interrupt_reaches_all(t):
    k = Kernel(t)
    interrupted(k, f"""parallel.map({{1, 2, 3}}, function(x)
  if x == 3 then print "started" end
  if x == 1 then sh "sleep 62.{OWN}" end
  firesteel.sleep(60)
end)""")
    eventually(lambda: not processes(f"sleep 62.{OWN}"), 5)
    interrupted(k, "parallel.map({1, 2}, function(x) if x == 2 then print 'started' end while true do pcall(firesteel.sleep, 0) end end)")
    if "thread" not in SANITIZED:  # there signals wait for a system call
        interrupted(k, "print 'started'\nparallel.map({1, 2}, function(x) while true do end end)")
    interrupted(k, "local a = async(function() firesteel.sleep(60) end)\nprint 'started'\nawait(a)")
    interrupted(k, "async(function() parallel.map({1}, function() print 'started' input 'x' end) end)")
    interrupted(k, "parallel.map({1}, function() print 'started' coroutine.wrap(function() firesteel.sleep(60) end)() end)")


def test_timeouts(t):
    k = Kernel(t, cell(f"parallel.map({{1, 2}}, function(x) sh 'sleep 63.{OWN}' end)", 'timeout="300ms"'), headless=True)
    assert k.finish() == 4 and "timeout" in k.of("error")[0]["message"], k.of("error")
    assert not processes(f"sleep 63.{OWN}")
    k = Kernel(t)
    r = k.run("""local r, errors = parallel.map({ 0.01, 30 }, { timeout = "300ms", collect = true }, function(s) firesteel.sleep(s) return s end)
print(r[1], r[2], errors[2])""")
    assert r.out.startswith("0.01\tnil\t") and "branch 30 took longer than its timeout" in r.out, r
    r = k.run(f"parallel.map({{ 1 }}, {{ timeout = 0.2 }}, function(s) sh 'sleep 64.{OWN}' end)")
    assert r.error["name"] == "timeout" and "branch 1 took longer than its timeout" in r.error["message"], r
    assert not processes(f"sleep 64.{OWN}")
    late = "parallel.map({ 1 }, { timeout = 0.2 }, function() firesteel.sleep(30) end)"
    r = k.run(f"print(pcall(function() {late} end))\nprint(pcall(parallel.map, {{ 1 }}, {{ timeout = 2 }}, function() {late} end))")
    assert r.state == "ok" and r.out.count("took longer than its timeout") == 2, r
    k = Kernel(t, cell(late, 'tags=["raises-exception"]') + cell("print 'on'"), headless=True)
    assert k.finish() == 0, k.of("error")
    for source, marker in (late, ""), ("firesteel.sleep(30)", 'timeout="0.2s" tags=["raises-exception"]'):
        k = Kernel(t, cell(source, marker), headless=True)
        assert k.finish() == 4, k.of("error")


def test_the_environment_is_that_of_the_call(t):
    k = Kernel(t)
    r = k.run("""%env V=one
local a = async(function() return sh("echo $V", { quiet = true }).output end)
firesteel.sleep(0.3)
firesteel.magic.env("V", "two")
local b = sh("echo $V", { quiet = true }).output
print(await(a) .. b)""")
    assert "one\ntwo\n" in r.out, r


RESUMED = """local items = { "a", "b", "c" }
if io.open "reorder" then items = { "c", "b", "a" } end
parallel.map(items, function(x)
  sh("echo " .. x .. " >> first.log; touch out-" .. x, { inputs = {}, outputs = { "out-" .. x } })
  if x == "b" then sh("for i in $(seq 1200); do test -e go && exit 0; sleep 0.05; done; exit 9") end
  sh("echo " .. x .. " >> second.log; touch end-" .. x, { inputs = {}, outputs = { "end-" .. x } })
end)
sh("echo joined >> joined.log; touch joined", { inputs = {}, outputs = { "joined" } })"""


def resumed(t, k, notebook):
    name = k.of("welcome")[0]["run"]
    again = Kernel(t, notebook, "--resume", name, headless=True, cwd=k.cwd)
    again.finish(60)
    return again


def test_resume_after_kill_9_with_branches_half_done(t):
    notebook = cell(RESUMED)
    k = Kernel(t, notebook, headless=True)
    eventually(lambda: len(read(k, "second.log").split()) == 2 and len(read(k, "first.log").split()) == 3, 20)
    time.sleep(0.2)  # their outcomes are on the disk
    os.kill(k.pid(), signal.SIGKILL)
    k.process.wait(5 * PATIENCE)
    touch(k, "go")
    touch(k, "reorder")  # matched by item, not by place
    again = resumed(t, k, notebook)
    assert again.code == 0, again.stderr
    assert sorted(read(k, "first.log").split()) == ["a", "b", "c"], read(k, "first.log")  # verified in each branch
    assert sorted(read(k, "second.log").split()) == ["a", "b", "c"], read(k, "second.log")
    assert read(k, "joined.log") == "joined\n"
    once_more = resumed(t, again, notebook)  # all was done: only what declares nothing is repeated
    assert once_more.code == 0 and len(read(k, "first.log").split()) == 3 and read(k, "joined.log") == "joined\n"
    assert [e["how"] for e in once_more.of("state", state="ok")][-1] == "repeated", once_more.of("state")


def test_what_one_branch_does_anew_leaves_its_siblings(t):
    notebook = cell(RESUMED)
    k = Kernel(t, notebook, headless=True)
    touch(k, "go")
    assert k.finish(60) == 0
    os.remove(os.path.join(k.cwd, "out-a"))
    again = resumed(t, k, notebook)
    assert again.code == 0, again.stderr
    assert sorted(read(k, "first.log").split()) == ["a", "a", "b", "c"]
    assert sorted(read(k, "second.log").split()) == ["a", "a", "b", "c"]  # what follows in that branch
    assert read(k, "joined.log") == "joined\njoined\n"  # and what follows all of them


def test_equal_calls_of_branches_are_told_apart(t):
    notebook = cell("""sh "touch const"
local n = {}
parallel.map({ 1, 2, 3 }, function(x)
  n[x] = sh("date +%N", { quiet = true, inputs = {}, outputs = { "const" } }).output
end)
print(table.concat(n))""")
    k = Kernel(t, notebook, headless=True)
    assert k.finish() == 0 and len(set(k.text().split())) == 3, k.text()
    again = resumed(t, k, notebook)
    assert again.code == 0 and again.text() == 2 * k.text(), again.text()  # each has its own result


def test_the_ledger_names_branches(t):
    k = Kernel(t)
    k.run("parallel.map({ 'x' }, function() parallel.map({ 'y', 'y' }, function() sh 'true' end) end)")
    intents = [e for e in k.of("ledger") if e["phase"] == "intent"]
    assert sorted(e["branch"] for e in intents) == ["x/y", "x/y (2)"] and len({e["branch_key"] for e in intents}) == 2, intents
    assert all(e["branch_key"].count("/") == 1 for e in intents), intents


def test_thousands(t):
    k = Kernel(t)
    # ThreadSanitizer keeps a stack for what a coroutine left by longjmp: its time and memory grow with the square
    many = 500 if SANITIZED == "thread" else 5000
    r = k.run("""local list = {}
for i = 1, MANY do list[i] = i end
local r = parallel.map(list, function(x)
  firesteel.sleep(0.1)
  if x % 100 == 0 then print(x) end
  return firesteel.call("k8s.manifest", { text = "apiVersion: v1\\nkind: Pod\\nmetadata: {name: p" .. x .. "}" })[1].metadata.name
end)
print(#r, r[1], r[MANY])""".replace("MANY", str(many)))
    assert r.out.endswith(f"{many}\tp1\tp{many}\n"), r
    assert r.ms < 20000 * PATIENCE, r.ms


def test_a_question_of_a_branch(t):
    k = Kernel(t)
    cell_id = k.insert("local r = parallel.map({1, 2}, function(x) return input('which ' .. x) end)\nprint(table.concat(r, ' '))")
    k.start(cell_id)
    for n in (1, 2):
        ask = k.wait(lambda e: e["type"] == "ask" and e["question"] == f"which {n}")
        assert k.ask(type="answer", ask=ask["ask"], value=f"answer{n}")["ok"]
    assert k.done(cell_id)["state"] == "ok" and k.text(cell_id) == "answer1 answer2\n"


run(globals())
