#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which globals cells read and write, as the journal has it; and which change reaches a metric by that."""
import json
import os

from sandbox import sandbox
from tap import FIRESTEEL, run, sh


def put(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def events(t, text, *words, folder=None):
    folder = folder or t.dir()
    put(folder, "n.lua", text)
    done = sh(FIRESTEEL, "run", "n.lua", "-o", "json", *words, cwd=folder)
    return [json.loads(line) for line in done.out.splitlines()]


def used(t, *cells):
    """Of each cell: (names read, names written, the rest)."""
    text = "".join(f"-- %%\n{cell}\n" for cell in cells)
    found = []
    for e in events(t, text):
        if e["type"] == "state" and e["state"] in ("ok", "failed"):
            u = e.get("used", {})
            found.append((sorted(u.get("reads", [])), sorted(u.get("writes", {})), {k: v for k, v in u.items() if k not in ("reads", "writes")}))
    return found


def printed(t, *cells):
    text = "".join(f"-- %%\n{cell}\n" for cell in cells)
    return "".join(e["text"] for e in events(t, text) if e["type"] == "stream")


def test_who_keeps_the_table_of_globals_sees_all_later(t):
    assert printed(t, "local g = _G function get(n) return rawget(g, n) end", "x = 5 print(get 'x')", "print(get 'x')") == "5\n5\n"


def test_a_secrets_digest_is_not_told(t):
    (writes,) = [e["used"]["writes"] for e in events(t, "-- %%\ndb_password = 4711\nplain = 4711\n") if e["type"] == "state" and e["state"] == "ok"]
    assert writes["db_password"] == "" and writes["plain"] != "", writes


def test_reads_and_writes(t):
    assert used(t, "x, y = 1, 'a'", "z = x + 1", "print(y, nowhere)", "x = 3", "print 'library only'", "local x = 1; print(x)") == [
        ([], ["x", "y"], {}), (["x"], ["z"], {}), (["nowhere", "y"], [], {}), ([], ["x"], {}), ([], [], {}), ([], [], {})]


def test_functions_read_what_they_read_when_they_are_called(t):
    found = used(t, "rate = 2\nfunction twice(x) count = (count or 0) + 1; return x * rate end", "y = twice(4)")
    assert found[0] == ([], ["rate", "twice"], {}) and found[1] == (["count", "rate", "twice"], ["count", "y"], {}), found


def test_tables_random_and_the_same_value(t):
    found = used(t, "t = { 1 }\nx = 5", "t[2] = 4", "x = x", "print(math.random(3))", "r = math.random")
    assert found[1] == (["t"], ["t"], {}), found
    assert found[2] == (["x"], [], {}), "nothing was changed"
    assert found[3] == ([], [], {"random": True}) and found[4] == ([], ["r"], {}), found


def test_what_is_in_a_plain_table_counts(t):
    found = used(t, "t = { lr = 0.1, sizes = { 1, 2 } }", "print(t.lr)", "t.sizes[2] = 3", "t = { sizes = { 1, 3 }, lr = 0.1 }",
                 "f = { go = function() end }", "print(f.go)", "loop = {} loop.self = loop", "print(loop.self)")
    assert found[1] == (["t"], [], {}), "it was only read: %s" % found
    assert found[2] == (["t"], ["t"], {}), "changed in place: %s" % found
    assert found[5] == (["f"], [], {"touched": ["f"]}), "nobody knows what is in a function: %s" % found
    assert found[7] == (["loop"], [], {"touched": ["loop"]}), found
    written = [e["used"]["writes"]["t"] for e in events(t, "-- %%\nt = { a = 1, b = 2 }\n-- %%\nt = { b = 2, a = 1 }\n-- %%\nt = { a = 1, b = 2.0 }\n") if e.get("used")]
    assert written[0] == written[1] != written[2] and len(written[0]) == 16, written


def test_globals_are_what_they_always_were(t):
    assert printed(t, "x = 1; gone = 2; flag = false", "gone = nil; flag = nil", "print(gone, flag, x)", "x = nil; print(x); x = 2; print(x)",
                   "print(x, rawequal(_G, _ENV), rawget(_G, 'x'))", "local n = 0; for name in pairs(_ENV) do if name == 'x' then n = n + 1 end end; print(n)",
                   "print = print; x = 9", "print(x)\nprint(load 'return x'())", "local c = coroutine.wrap(function() x = x + 1; coroutine.yield(x) end); print(c())") == (
        "nil\tnil\t1\nnil\n2\n2\ttrue\t2\n1\n9\n9\n10\n")


def test_what_stands_in_the_place_of_the_library(t):
    found = used(t, "print(math.floor(2.5), k8s ~= nil)", "tostring = function() return 'own' end", "print(tostring(1))", "print(type(type))",
                 "tostring = nil", "print(tostring == nil)")
    assert found[0] == found[3] == ([], [], {}), "the library is no global of the notebook: %s" % found
    assert found[1] == ([], ["tostring"], {}) and found[2] == (["tostring"], [], {}), found
    assert found[4] == ([], ["tostring"], {}) and found[5] == (["tostring"], [], {}), found
    assert printed(t, "tostring = function() return 'own' end", "print(tostring(1))\nprint(help 'sh' == nil, rawget(_G, 'sh') == sh)", "print(type(print))") == "own\n" + printed(
        t, "help 'sh'") + "true\ttrue\nfunction\n"


def test_a_value_that_is_not_equal_to_itself_is_not_changed_by_reading_it(t):
    found = used(t, "math.none, none = 0 / 0, 0 / 0", "print(math.floor(1.5), none)", "none = 1 math.none = 1")
    assert found[0] == ([], ["math.none", "none"], {}) and found[1] == (["none"], [], {}), found
    assert found[2] == ([], ["math.none", "none"], {}), found


def test_what_is_set_to_nil_is_written(t):
    found = used(t, "x, y = 7, 7", "local g = tostring(1) tostring = nil print(tostring)", "print(tostring)", "print(x) x = nil print(x)",
                 "y = nil print(y) y = 8", "x = 1 x = nil")
    assert found[1] == ([], ["tostring"], {}) and found[2] == (["tostring"], [], {}), found
    assert found[3] == (["x"], ["x"], {}) and found[4] == ([], ["y"], {}) and found[5] == ([], [], {}), found
    written = [e["used"]["writes"]["x"] for e in events(t, "-- %%\nx = 7\n-- %%\nx = nil\nx = 7\n") if e.get("used")]
    assert written[0] == written[1] != "", "nil for a while is not seen by others: %s" % written


def test_fields_that_are_set_past_the_name_of_their_table(t):
    found = used(t, 'getmetatable("").__index.zap = 1', "print(string.zap)", "s = string", "s.zip = 2", "print(string.zip)",
                 'function more() require("math").zop = 3 end', "more()", "print(math.zop)", "print(1)")
    assert found[0] == ([], ["string.zap"], {}) and found[1] == ([], [], {}), found
    assert found[3] == (["s"], ["string.zip"], {"touched": ["s"]}) and found[4] == ([], [], {}), found
    assert found[6] == (["more"], ["math.zop"], {}) and found[7] == found[8] == ([], [], {}), found


def test_the_table_itself_is_unknown(t):
    found = used(t, "x = 1", "_G.y = 2", "z = _ENV.x", "for n in pairs(_G) do end", "print(x)",
                 "local _ = setmetatable(_G, { __index = function(_, name) return 'no ' .. name end })", "v = undefined", "print(v)")
    assert found[0] == ([], ["x"], {}), found
    for i in range(1, 8):  # the first may have kept it
        assert found[i][2] == {"unknown": True}, (i, found)
    assert printed(t, "x = 1", "local _ = setmetatable(_G, { __index = function(_, name) return 'no ' .. name end })", "print(undefined, x)") == "no undefined\t1\n"


def test_errors_and_interrupts_keep_the_globals(t):
    text = "-- %%\nx = 1\n-- %% tags=[\"raises-exception\"]\ny = x\nerror 'no'\n-- %%\nprint(x, y)\n"
    assert "1\t1\n" in "".join(e.get("text", "") for e in events(t, text))


def test_secrets_have_no_digest(t):
    folder = t.dir()
    text = "-- %%\npassword = 'opensesame-1'\nother = 'x' .. password\nplain = 'x'\n"
    written = next(e["used"]["writes"] for e in events(t, text, folder=folder) if e.get("used"))
    assert written["password"] == "" and written["other"] == "" and len(written["plain"]) == 16, written
    (written,) = [e["used"]["writes"] for e in events(t, "-- %%\npassword = 'opensesame-1'\nt = { { 'x' .. password } }\n") if e.get("used")]
    assert written["t"] == "", written
    (written,) = [e["used"]["writes"] for e in events(t, "-- %%\nhosts = { { name = 'db', token = '12345' } }\nnames = { { name = 'db' } }\n") if e.get("used")]
    assert written["hosts"] == "" and len(written["names"]) == 16, "a short secret could be guessed: %s" % written


FLOW = """\
-- %% parameters tags=["parameters"]
lr = 0.1
units = 4
-- %% Helper
function rate() return lr * 2 end
-- %% Data
local f = io.open "data.txt"
rows = #f:read "a"
f:close()
parity = rows % 2
-- %% Trainer file="t.txt"
text
-- %% First
run.metric("first", rate())
-- %% Second
run.metric("second", rows * units)
run.metric("parity", parity + #io.open("t.txt"):read "a")
-- %% Third
run.metric("third", math.random())
"""


def causes(t, change, *words):
    folder = t.dir()
    put(folder, "data.txt", "abcd")
    events(t, FLOW, folder=folder)
    change(folder)
    with open(os.path.join(folder, "n.lua"), encoding="utf-8") as f:
        events(t, f.read(), *words, folder=folder)
    found = json.loads(sh(FIRESTEEL, "diff", "--format", "json", cwd=folder).out)
    text = sh(FIRESTEEL, "diff", cwd=folder).out
    return {name: (c.get("earliest"), c["all"]) for name, c in found["causes"].items()}, text


def test_the_earliest_change_that_reaches_a_metric(t):
    found, text = causes(t, lambda folder: None, "-p", "lr=0.5")
    assert found == {"first": ("parameter lr", ["parameter lr"]), "third": ("seed", ["seed"])}, found
    assert 'first (told by "First"): parameter lr\n' in text, text
    found, _ = causes(t, lambda folder: put(folder, "data.txt", "abcdef"), "--seed", "1")
    assert found["second"] == ("file data.txt", ["file data.txt"]) and "parity" not in found and "first" not in found, found
    found, text = causes(t, lambda folder: put(folder, "n.lua", FLOW.replace("lr * 2", "lr * 3").replace("\ntext\n", "\nlonger text\n")), "-p", "units=5")
    assert found["first"] == ('cell "Helper"', ['cell "Helper"']), found
    assert found["parity"] == ("parameter units", ["parameter units", 'cell "Trainer"']), found
    assert 'parity (told by "Second"): parameter units; also cell "Trainer"' in text, text


OUTSIDE = """\
-- %% Rate
rate = tonumber(os.getenv "RATE")
-- %% First
run.metric("first", rate)
-- %% Write
local f = io.open("rows.txt", "w")
f:write(data or "abc", rate)
f:close()
-- %% Other
%env SIZE=3
-- %% Second
for line in io.lines "rows.txt" do run.metric("second", #line) end
-- %% Third
run.metric("third", tonumber(os.getenv "SIZE"))
"""


def outside(folder, text, **env):
    put(folder, "n.lua", text)
    done = sh(FIRESTEEL, "run", "n.lua", "--no-git", cwd=folder, env=env)
    assert done.code == 0, done


def test_variables_and_files_that_cells_write_are_followed(t):
    folder = t.dir()
    outside(folder, OUTSIDE, RATE="1")
    outside(folder, OUTSIDE, RATE="1")
    assert sh(FIRESTEEL, "diff", cwd=folder).code == 0
    outside(folder, OUTSIDE, RATE="20")
    found = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=folder).out)
    assert list(found["variables"]) == ["RATE"] and "20" not in json.dumps(found["variables"]), found
    assert {name: c["all"] for name, c in found["causes"].items()} == {"first": ["variable RATE"], "second": ["variable RATE"]}, found
    outside(folder, OUTSIDE.replace("SIZE=3", "SIZE=4").replace("data or", "data or 'x' .."), RATE="20")
    found = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=folder).out)
    assert {name: c["all"] for name, c in found["causes"].items()} == {"second": ['cell "Write"'], "third": ['cell "Other"']}, found
    shown = sh(FIRESTEEL, "diff", "newest", "-3", cwd=folder)
    assert "variables\n  RATE: " in shown.out, shown


def test_changes_reach_cells_without_globals(t):
    text = ('-- %% f file="one.lua"\nprint(1)\n-- %% Module file="mod.lua"\nreturn 1\n-- %% r\nrun.metric("read", #fs.read "one.lua")\n'
            '-- %% m\nrun.metric("module", (require "mod"))\n-- %% n\nrun.metric("n", #fs.read "nn.txt")\n'
            '-- %% v\nrun.metric("v", #os.getenv "FLIP")\n-- %% Own\nrun.metric("own", 1)\n-- %% Clock\nrun.metric("clock", os.clock())\n')
    folder = t.dir()
    put(folder, "nn.txt", "abc")
    outside(folder, text, FLIP="1")
    put(folder, "nn.txt", "abcd")
    outside(folder, text.replace("print(1)", "print(12)").replace("return 1", "return 2").replace('"own", 1', '"own", 2'), FLIP="no")
    found = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=folder).out)
    assert {name: c["all"] for name, c in found["causes"].items()} == {
        "read": ['cell "f"'], "module": ['cell "Module"'], "n": ["file nn.txt"], "v": ["variable FLIP"], "own": ['cell "Own"'], "clock": []}, found
    assert "recorded no reads" not in sh(FIRESTEEL, "diff", cwd=folder).out


def test_what_a_trainer_file_changes_is_followed(t):
    text = ('-- %% f file="one.lua"\nlocal nn, data = require "nn", require "data"\nlocal model = nn.Sequential { nn.Dense { 1, input_dim = 1 }, seed = 1 }\n'
            'model:compile { optimizer = nn.SGD(0.1), loss = "mean_squared_error" }\n'
            'model:fit { data.tensor { { 1.0 } }, data.tensor { { 2.0 } }, epochs = 1 }\n-- %% r\ntrainer.run { "one.lua" }\n')
    folder = t.dir()
    outside(folder, text)
    outside(folder, text.replace("epochs = 1", "epochs = 3"))
    found = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=folder).out)
    assert found["causes"]["loss"]["earliest"] == 'cell "f"', found


def test_objects_of_a_cluster_are_followed(t):
    up = sandbox(t)
    kubectl = """k8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "settings" }, data = { size = "%d" } }"""
    text = """\
-- %% Get
size = tonumber(k8s.get("configmap/settings").data.size)
run.metric("got", size)
-- %% Each
local n = 0
for object in k8s.each("configmaps", { field_selector = "metadata.name=settings", limit = 1 }) do n = n + object.data.size end
run.metric("listed", n)
-- %% Make effects="cluster"
made = k8s.create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "own-" }, data = { a = tostring(factor or 1) } }
-- %% Own
run.metric("own", tonumber(k8s.get(made).data.a))
-- %% Away effects="destructive"
made:delete()
"""
    folder = t.dir()
    def go(text):
        put(folder, "n.lua", text)
        done = sh(FIRESTEEL, "run", "n.lua", "--no-git", "--no-preflight", "--allow", "cluster,destructive", cwd=folder, env=up)
        assert done.code == 0, done
    def found():
        difference = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=folder, env=up).out)
        return sorted(difference.get("objects", {})), {name: c["all"] for name, c in difference.get("causes", {}).items()}
    def change(size):
        place = t.dir()
        put(place, "m.lua", "-- %% effects=\"cluster\"\n" + kubectl % size)
        assert sh(FIRESTEEL, "run", "m.lua", "--allow", "cluster", cwd=place, env=up).code == 0
    change(1)
    go(text)
    go(text)
    assert found() == ([], {}), found()
    change(2)
    go(text)
    one, all_of = "ConfigMap settings in namespace default", "configmaps in namespace default, metadata.name=settings"
    assert found() == ([one, all_of], {"got": [f"object {one}"], "listed": [f"object {all_of}"]}), found()
    go(text.replace("factor or 1", "factor or 2"))
    assert found() == ([], {"own": ['cell "Make"']}), found()


def test_what_was_not_recorded_is_said(t):
    folder = t.dir()
    put(folder, "data.txt", "abcd")
    for words in (("-p", "lr=0.5"), ("-p", "lr=0.7")):
        events(t, FLOW, *words, folder=folder)
    for name in os.listdir(os.path.join(folder, ".firesteel")):
        path = os.path.join(folder, ".firesteel", name)
        if name.endswith(".jsonl"):
            with open(path, encoding="utf-8") as f:
                records = [json.loads(line) for line in f]
            for r in records:
                r.pop("used", None)
            put(os.path.dirname(path), name, "".join(json.dumps(r) + "\n" for r in records))
    found = json.loads(sh(FIRESTEEL, "diff", "--format", "json", cwd=folder).out)
    assert found["causes"]["first"]["unknown"] == "the cells of this run recorded no reads", found


HEARTS = """\
-- %% Node
run.metric("node", #k8s.get("node/host").status.conditions)
-- %% Lease
run.metric("lease", #k8s.get("lease/leader").spec.holderIdentity)
-- %% Leases
run.metric("leases", #k8s.list("leases", { field_selector = "metadata.name=leader" }))
"""


def test_a_heartbeat_is_no_change(t):
    up, folder = sandbox(t), t.dir()
    put(folder, "n.lua", HEARTS)
    def beat(second, holder="one"):
        place, at = t.dir(), f"2026-01-02T10:00:{second:02}"
        put(place, "m.lua", f"""-- %% effects="cluster"
k8s.apply {{ apiVersion = "coordination.k8s.io/v1", kind = "Lease", metadata = {{ name = "leader" }}, spec = {{ holderIdentity = "{holder}", renewTime = "{at}.000000Z" }} }}
k8s.apply {{ apiVersion = "v1", kind = "Node", metadata = {{ name = "host" }} }}
k8s.patch("node/host", {{ status = {{ conditions = {{ {{ type = "Ready", status = "True", lastHeartbeatTime = "{at}Z" }} }} }} }}, {{ subresource = "status" }})
print(k8s.get("node/host").status.conditions[1].lastHeartbeatTime, k8s.get("lease/leader").spec.renewTime)
""")
        done = sh(FIRESTEEL, "run", "m.lua", "--allow", "cluster", cwd=place, env=up)
        assert done.code == 0 and f"{at}Z\t{at}.000000Z" in done.out, done
        done = sh(FIRESTEEL, "run", "n.lua", "--no-git", cwd=folder, env=up)
        assert done.code == 0, done
    beat(1)
    beat(2)
    done = sh(FIRESTEEL, "diff", cwd=folder, env=up)
    assert done.code == 0 and "renewTime" not in done.out, done
    beat(2, "two")
    found = json.loads(sh(FIRESTEEL, "diff", "-o", "json", cwd=folder, env=up).out)
    assert sorted(found["objects"]) == ["Lease leader in namespace default", "leases in namespace default, metadata.name=leader"], found


if __name__ == "__main__":
    run(globals())
