#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run --stale: only what no longer holds runs again, and what it needs; the rest is the record's."""
import json
import os

from sandbox import sandbox
from tap import FIRESTEEL, run, sh

NOTEBOOK = """\
-- %% Settings tags=["parameters"]
lr = 0.1
-- %% Helper
function rate() return lr * 2 end
-- %% Data
local f = io.open "data.txt"
rows = #f:read "a"
f:close()
-- %% Heavy
big = sh "echo heavy >>log; cat seed.txt"
-- %% First
run.metric("first", rate())
-- %% Second
print(rows, "rows")
-- %% Third
print "third"
"""


def put(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def get(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


def firesteel(folder, *words, code=0):
    done = sh(FIRESTEEL, *words, cwd=folder)
    assert done.code == code, done
    return done


def recorded(t, text=NOTEBOOK):
    folder = t.dir()
    put(folder, "n.lua", text)
    put(folder, "data.txt", "abcd")
    put(folder, "seed.txt", "42")
    firesteel(folder, "run", "n.lua")
    return folder


def plan(folder, *words):
    cells = json.loads(firesteel(folder, "run", "n.lua", "--stale", "--list", "-o", "json", *words).out)["cells"]
    return {c["title"]: (c["does"], c["why"]) for c in cells}


def moved(folder, *words):
    return {title: (does, why) for title, (does, why) in plan(folder, *words).items() if does != "keep"}


def ran(folder, *words, code=0):
    """The titles of the cells that a run executes."""
    run_of, titles = None, []
    before = journal(folder)
    firesteel(folder, "run", "n.lua", "--stale", *words, code=code)
    for e in journal(folder)[len(before):]:
        if e["type"] == "state" and e["state"] == "running":
            titles.append(e["title"])
    return titles


def journal(folder):
    (name,) = [n for n in os.listdir(os.path.join(folder, ".firesteel")) if n.endswith(".jsonl")]
    return [json.loads(line) for line in get(folder, os.path.join(".firesteel", name)).splitlines()]


def test_nothing_is_stale(t):
    folder = recorded(t)
    put(folder, "data.txt", "abcd")  # written again, with the same bytes
    assert moved(folder) == {}, moved(folder)
    done = firesteel(folder, "run", "n.lua", "--stale")
    assert done.out.endswith("nothing is stale\n") and "stays     Heavy     it holds" in done.out, done
    assert ran(folder) == [] and get(folder, "log") == "heavy\n"


def test_a_file(t):
    folder = recorded(t)
    put(folder, "data.txt", "abcde")
    assert moved(folder) == {"Data": ("anew", "data.txt has changed"), "Second": ("anew", "Data is stale")}, moved(folder)
    assert ran(folder) == ["Data", "Second"]
    assert "5\trows" in firesteel(folder, "show").out and "third" in firesteel(folder, "show").out
    assert moved(folder) == {} and get(folder, "log") == "heavy\n"
    os.remove(os.path.join(folder, "data.txt"))
    assert moved(folder)["Data"] == ("anew", "data.txt is gone"), moved(folder)


def test_a_source_and_what_it_needs(t):
    folder = recorded(t)
    put(folder, "n.lua", NOTEBOOK.replace("lr * 2", "lr * 3"))
    assert moved(folder) == {"Settings": ("rebuild", "Helper needs lr"), "Helper": ("anew", "its text has changed"),
                             "First": ("anew", "Helper is stale")}, moved(folder)
    assert ran(folder) == ["Settings", "Helper", "First"]
    shown = firesteel(folder, "runs", "-o", "json").out
    assert abs(json.loads(shown)[0]["metrics"]["first"]["value"] - 0.3) < 1e-9, shown
    assert moved(folder) == {}


def test_a_parameter(t):
    folder = recorded(t)
    found = moved(folder, "-p", "lr=0.5")
    assert found["First"] == ("anew", "lr has changed") and found["Helper"][0] == "rebuild" and "Data" not in found, found
    titles = ran(folder, "-p", "lr=0.5")
    assert titles == ["Settings", "Parameters given", "Helper", "First"], titles
    assert json.loads(firesteel(folder, "runs", "-o", "json").out)[0]["metrics"]["first"]["value"] == 1
    assert moved(folder) == {}, "the run has the parameter now: %s" % moved(folder)


def test_a_new_cell_and_one_that_is_gone(t):
    folder = recorded(t)
    put(folder, "n.lua", NOTEBOOK.replace("-- %% Third", "-- %% New\nprint(rows + 1)\n-- %% Third"))
    assert moved(folder) == {"Data": ("rebuild", "New needs rows"), "New": ("anew", "it has not run yet")}, moved(folder)
    assert ran(folder) == ["Data", "New"]
    put(folder, "n.lua", NOTEBOOK.replace('-- %% Data\nlocal f = io.open "data.txt"\nrows = #f:read "a"\nf:close()\n', ""))
    assert moved(folder)["Second"][0] == "anew", "what it read is gone: %s" % moved(folder)
    assert ran(folder, code=0) == ["Second"]
    assert "nil\trows" in firesteel(folder, "show").out


def test_what_is_needed_is_verified_not_repeated(t):
    text = NOTEBOOK.replace('big = sh "echo heavy >>log; cat seed.txt"', 'big = sh("echo heavy >>log; cat seed.txt >out.txt; cat out.txt", { inputs = { "seed.txt" }, outputs = { "out.txt" } })')
    text = text.replace('print "third"', 'print("third", big)')
    folder = recorded(t, text)
    put(folder, "n.lua", text.replace('"third"', '"3rd"'))
    assert moved(folder) == {"Heavy": ("rebuild", "Third needs big"), "Third": ("anew", "its text has changed")}, moved(folder)
    assert ran(folder) == ["Heavy", "Third"] and get(folder, "log") == "heavy\n"
    assert "3rd\t42" in firesteel(folder, "show").out
    put(folder, "out.txt", "spoiled")
    assert moved(folder)["Heavy"] == ("anew", "out.txt has changed"), moved(folder)
    assert ran(folder) == ["Heavy", "Third"] and get(folder, "log") == "heavy\nheavy\n" and get(folder, "out.txt") == "42"


def test_files_of_a_command_elsewhere(t):
    text = '-- %% A\nsh("cat in.txt >out.txt", { cwd = "sub", inputs = { "in.txt" }, outputs = { "out.txt" } })\n'
    folder = t.dir()
    os.mkdir(os.path.join(folder, "sub"))
    put(folder, "n.lua", text)
    put(folder, "sub/in.txt", "1")
    firesteel(folder, "run", "n.lua")
    assert moved(folder) == {}
    put(folder, "sub/out.txt", "spoiled")
    assert moved(folder) == {"A": ("anew", "sub/out.txt has changed")}, moved(folder)
    assert ran(folder) == ["A"] and moved(folder) == {}
    put(folder, "sub/in.txt", "2")
    assert moved(folder) == {"A": ("anew", "sub/in.txt has changed")}, moved(folder)


def test_what_a_rebuilt_cell_finds_to_be_another_is_followed(t):
    text = NOTEBOOK.replace('print "third"', 'print("third", big)').replace('print(rows, "rows")', 'print(rows, "rows", big)')
    folder = recorded(t, text)
    put(folder, "seed.txt", "43")  # no cell has declared it
    put(folder, "n.lua", text.replace('"third"', '"3rd"'))
    assert sorted(moved(folder)) == ["Heavy", "Third"], moved(folder)
    titles = ran(folder)
    assert titles[:2] == ["Heavy", "Third"] and "Second" in titles[2:], titles
    assert "rows\t43" in firesteel(folder, "show").out and moved(folder) == {}


def test_files_that_cells_write_by_themselves(t):
    text = ('-- %% Open\nkept = io.open("log.txt", "w")\n-- %% Write\nlocal f = io.open("rows.part", "w")\nf:write("1")\nf:close()\n'
            'os.rename("rows.part", "rows.txt")\n-- %% Log\nkept:write("a line")\n-- %% Bytes\nfs.write("bytes", "\\xff\\0")\n'
            '-- %% Scratch\nlocal name = os.tmpname()\nlocal f = io.open(name, "w")\nf:write("x")\nf:close()\n'
            'io.open("scratch", "w"):close()\nos.remove("scratch")\n-- %% Read\nprint(#fs.read "rows.txt")\n-- %% Other\nprint "other"\n')
    folder = recorded(t, text)
    assert get(folder, "log.txt") == "a line" and moved(folder) == {}, moved(folder)
    put(folder, "rows.txt", "2")
    assert moved(folder) == {"Write": ("anew", "rows.txt has changed"), "Read": ("anew", "rows.txt has changed")}, moved(folder)
    assert ran(folder) == ["Write", "Read"] and get(folder, "rows.txt") == "1" and moved(folder) == {}, moved(folder)
    os.remove(os.path.join(folder, "bytes"))
    put(folder, "log.txt", "b")
    assert moved(folder) == {"Open": ("rebuild", "Log needs kept"), "Log": ("anew", "log.txt has changed"),
                             "Bytes": ("anew", "bytes is gone")}, moved(folder)
    ran(folder)
    assert get(folder, "log.txt") == "a line" and moved(folder) == {}, moved(folder)
    put(folder, "n.lua", text.replace('write("1")', 'write("12")'))
    assert moved(folder) == {"Write": ("anew", "its text has changed"), "Read": ("anew", "Write is stale")}, moved(folder)


def test_files_that_a_stale_cell_leaves(t):
    text = ('-- %% Write\nfs.write("a.txt", "1")\n-- %% Command\nsh("echo 1 >b.txt", { outputs = { "b.txt" } })\n'
            '-- %% Bash language="bash" outputs=["c.txt"]\necho 1 >c.txt\n-- %% Module file="mod.lua"\nreturn 1\n'
            '-- %% A\nprint("a", fs.read "a.txt")\n-- %% B\nprint("b", fs.read "./b.txt")\n-- %% C\nprint("c", fs.read "c.txt")\n'
            '-- %% D\nprint("d", require "mod")\n-- %% Other\nprint "other"\n')
    folder = recorded(t, text)
    assert moved(folder) == {}, moved(folder)
    put(folder, "n.lua", text.replace("echo 1", "echo 2").replace('"1"', '"2"').replace("return 1", "return 2"))
    edited = ("anew", "its text has changed")
    assert moved(folder) == {"Write": edited, "Command": edited, "Bash": edited, "Module": edited,
                             "A": ("anew", "Write is stale"), "B": ("anew", "Command is stale"), "C": ("anew", "Bash is stale"),
                             "D": ("anew", "Module is stale")}, moved(folder)
    ran(folder)
    shown = firesteel(folder, "show").out
    assert moved(folder) == {} and all(f"{name}\t2" in shown for name in "abcd"), shown


def test_what_a_new_cell_loads_may_use_any_variable(t):
    for how in ("require", "dofile", "loadfile"):
        load = {"require": 'require "mod"', "dofile": 'dofile "mod.lua"', "loadfile": 'loadfile("mod.lua")()'}[how]
        folder = t.dir()
        put(folder, "mod.lua", "return size")
        put(folder, "n.lua", "-- %% Size\nsize = 3\n")
        firesteel(folder, "run", "n.lua")
        put(folder, "n.lua", f'-- %% Size\nsize = 3\n-- %% Use\nprint("got", {load})\n')
        assert ran(folder) == ["Size", "Use"], (how, moved(folder))
        assert "got\t3" in firesteel(folder, "show").out, how


def test_objects_and_variables_that_a_stale_cell_leaves(t):
    up = sandbox(t)
    text = ('-- %% Make effects="cluster"\nk8s.apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "settings" }, data = { size = "1" } }\n'
            '-- %% Read\nprint("size", k8s.get("configmap/settings").data.size)\n-- %% Env\n%env SIZE=1\n-- %% Use\nprint("env", os.getenv "SIZE")\n'
            '-- %% Other\nprint "other"\n')
    folder = t.dir()

    def go(text, *words):
        put(folder, "n.lua", text)
        done = sh(FIRESTEEL, "run", "n.lua", "--allow", "cluster,destructive", *words, cwd=folder, env=up)
        assert done.code == 0, done
        return done.out

    def planned(text):
        return {c["title"]: (c["does"], c["why"]) for c in json.loads(go(text, "--stale", "--list", "-o", "json"))["cells"]}

    go(text)
    cells = planned(text)
    assert cells["Make"][0] == "verify" and all(cells[title][0] == "keep" for title in ("Read", "Use", "Other")), cells
    other = text.replace('size = "1"', 'size = "2"').replace("SIZE=1", "SIZE=2")
    cells = planned(other)
    assert cells["Read"] == ("anew", "Make is stale") and cells["Use"] == ("anew", "Env is stale") and cells["Other"][0] == "keep", cells
    go(other, "--stale")
    shown = sh(FIRESTEEL, "show", cwd=folder, env=up).out
    assert "size\t2" in shown and "env\t2" in shown, shown
    place = t.dir()
    put(place, "m.lua", '-- %% effects="cluster"\nk8s.patch("configmap/settings", { data = { size = "3" } })\n')
    assert sh(FIRESTEEL, "run", "m.lua", "--allow", "cluster", cwd=place, env=up).code == 0
    go(other, "--stale", "--accept-drift")
    shown = sh(FIRESTEEL, "show", cwd=folder, env=up).out
    assert "size\t3" in shown and planned(other)["Read"][0] == "keep", shown


def test_what_the_branches_of_a_stale_cell_had_made_is_removed(t):
    up = sandbox(t)
    folder = t.dir()
    text = ('-- %% Make effects="cluster"\nparallel.map({{ {names} }}, function(name)\n  return k8s.create {{ apiVersion = "v1", kind = "ConfigMap",\n'
            '    metadata = {{ name = name }}, data = {{ size = "{size}" }} }}\nend)\n-- %% Count effects="pure"\n'
            'local n = 0\nfor _, c in ipairs(k8s.list "configmaps") do n = n + (c.data and c.data.size == "{size}" and 1 or 0) end\nprint("there", n)\n')

    def go(names, size, *words):
        put(folder, "n.lua", text.format(names=", ".join(f'"{name}"' for name in names), size=size))
        done = sh(FIRESTEEL, "run", "n.lua", "--allow", "cluster,destructive", *words, cwd=folder, env=up)
        assert done.code == 0, done
        return done.out

    def ledger():
        return [e for e in journal(folder) if e["type"] == "ledger"]

    assert "there\t3" in go("abc", 1)
    assert "there\t3" in go("abc", 2, "--stale"), "the same branches"
    assert sum(e["phase"] == "undone" for e in ledger()) == 3, [e["phase"] for e in ledger()]
    assert "there\t2" in go("de", 3, "--stale"), "branches with other names"
    assert sum(e["phase"] == "undone" for e in ledger()) == 6, [e["phase"] for e in ledger()]
    assert "there\t2" in go("de", 4, "--stale"), "and what came of these is known, too"


def test_a_file_that_several_cells_write(t):
    text = ('-- %% First\nfs.write("f.txt", "1")\n-- %% Read\nprint("read", fs.read "f.txt")\n'
            '-- %% Last\nfs.write("f.txt", "x")\n-- %% End\nprint("end", fs.read "f.txt")\n')
    folder = recorded(t, text)
    assert moved(folder) == {}, "what a later cell writes does not count: %s" % moved(folder)
    put(folder, "n.lua", text.replace('"1"', '"2"'))
    assert ran(folder) == ["First", "Read", "Last", "End"] and get(folder, "f.txt") == "x" and moved(folder) == {}, moved(folder)
    assert "read\t2" in firesteel(folder, "show").out


def test_fields_of_luas_own_tables(t):
    text = ('-- %% Trim\nfunction string.trim(s) return (s:match "^%s*(.-)%s*$") end\n-- %% Half\nmath.half = 0.5\n-- %% Use\nprint((" a "):trim())\n'
            '-- %% Other\nprint(("a"):upper())\n-- %% Sum\nprint(math.half * 2)\n')
    folder = recorded(t, text)
    assert moved(folder) == {}, moved(folder)
    put(folder, "n.lua", text.replace('" a "', '" b "'))
    assert moved(folder) == {"Trim": ("rebuild", "Use needs string.trim"), "Use": ("anew", "its text has changed")}, moved(folder)
    assert ran(folder) == ["Trim", "Use"] and moved(folder) == {}, moved(folder)
    put(folder, "n.lua", text.replace('" a "', '" b "').replace("= 0.5", "= 1.5").replace('(.-)', '(.*)'))
    assert moved(folder) == {"Trim": ("anew", "its text has changed"), "Half": ("anew", "its text has changed"),
                             "Use": ("anew", "Trim is stale"), "Sum": ("anew", "Half is stale")}, moved(folder)
    ran(folder)
    assert "3.0" in firesteel(folder, "show").out and moved(folder) == {}, moved(folder)


def test_what_later_cells_do_does_not_count(t):
    text = "-- %% A\nx, t = 1, {}\n-- %% B\nprint(x, #t)\n-- %% C\nx = x + 1; t[1] = x\n-- %% D\nprint(x, t[1])\n"
    folder = recorded(t, text)
    assert moved(folder) == {}, moved(folder)
    put(folder, "n.lua", text.replace("x + 1", "x + 2"))
    assert moved(folder) == {"A": ("rebuild", "C needs t"), "C": ("anew", "its text has changed"), "D": ("anew", "C is stale")}, moved(folder)
    assert ran(folder) == ["A", "C", "D"] and "3\t3" in firesteel(folder, "show").out and moved(folder) == {}


def test_tables_and_random_numbers(t):
    text = "-- %% A\nt = { n = 1 }\n-- %% B\nprint(t.n)\n-- %% C\nprint(math.random(100))\n-- %% D\nprint(math.random(100))\n"
    folder = recorded(t, text)
    drawn = [e["text"] for e in journal(folder) if e["type"] == "stream"][1:]
    put(folder, "n.lua", text.replace("n = 1", "n = 2"))
    assert moved(folder) == {"A": ("anew", "its text has changed"), "B": ("anew", "A is stale")}, moved(folder)
    ran(folder)
    put(folder, "n.lua", text.replace("n = 1", "n = 2").replace("print(math.random(100))\n", "print(math.random(100), 'x')\n", 2).replace(", 'x')", ")", 1))
    assert moved(folder) == {"C": ("rebuild", "D needs the order of math.random"), "D": ("anew", "its text has changed")}, moved(folder)
    ran(folder)
    assert drawn[1].strip() + "\tx" in firesteel(folder, "show").out, "the same number as then"


def test_a_stale_cell_that_fails_is_stale_the_next_time(t):
    folder = recorded(t)
    put(folder, "n.lua", NOTEBOOK.replace("lr * 2", "lr * 3").replace("print(rows,", "error(rows,"))
    assert ran(folder, code=1) == ["Settings", "Helper", "Data", "First", "Second"]
    put(folder, "n.lua", NOTEBOOK.replace("lr * 2", "lr * 3").replace("print(rows,", "print(1, rows,"))
    found = moved(folder)
    assert found.pop("Second")[0] == "anew" and found == {"Data": ("rebuild", "Second needs rows")}, found
    assert ran(folder) == ["Data", "Second"] and get(folder, "log") == "heavy\n"


def test_a_round_that_failed_forgets_no_effects(t):
    text = ('-- %% A\nx = 1\n-- %% Pure\nz = 3\n-- %% B\nsh("echo B >>log; echo o >out", { inputs = {}, outputs = { "out" } })\ny = 2\n'
            '-- %% C\nprint(y, z)\n')
    folder = recorded(t, text)
    edited = text.replace("print(y, z)", "print(y, z, 'c')")
    for again in range(2):
        put(folder, "n.lua", edited.replace("x = 1", "error 'no %d'" % again))
        assert ran(folder, code=1) == ["A"]
    put(folder, "n.lua", edited)
    found = plan(folder)
    assert found["B"] == ("verify", "the run ended before it") and found["C"][0] == "anew", found
    assert ran(folder) == ["A", "Pure", "B", "C"] and get(folder, "log") == "B\n" and moved(folder) == {}
    put(folder, "n.lua", edited.replace("x = 1", "error 'no'").replace("'c'", "'d'"))
    ran(folder, code=1)
    put(folder, "n.lua", edited.replace("z = 3", "z = 4").replace("'c'", "'d'"))
    found = plan(folder)
    assert found["B"] == ("anew", "it has not run yet"), "a cell above it is stale now: %s" % found


def test_a_rebuilt_cell_that_failed_keeps_its_effects(t):
    text = '-- %% B\nsh("echo B >>log; echo o >out", { inputs = {}, outputs = { "out" } })\nassert(not os.rename("stop", "stop"))\ny = 2\n-- %% C\nprint(y)\n'
    folder = recorded(t, text)
    put(folder, "n.lua", text.replace("print(y)", "print(y, 'c')"))
    put(folder, "stop", "")
    assert ran(folder, code=1) == ["B"]
    os.remove(os.path.join(folder, "stop"))
    assert plan(folder)["B"] == ("verify", "it failed"), plan(folder)
    assert ran(folder) == ["B", "C"] and get(folder, "log") == "B\n" and moved(folder) == {}


def test_what_was_changed_by_another_name_is_made_again(t):
    for change, first, shown, *cells in (
            ('print("x"', 'print("c"', "c\t5", "a = {} b = a", "a.x = 5", 'print("x", b.x)'),
            ('print("x"', 'print("c"', "c\t3", "n = 0 function count() n = n + 1 return n end", "count() count()", 'print("x", count())'),
            ('print("x"', 'print("c"', "c\t3", "local n = 0 function count() n = n + 1 return n end", "count() count()", 'print("x", count())'),
            ('print("x"', 'print("c"', "c\t5", "n = 0", "function get() return n end", "n = 5", 'print("x", get())')):
        text = "".join(f"-- %% {name}\n{cell}\n" for name, cell in zip("ABCD", cells))
        folder = recorded(t, text)
        put(folder, "n.lua", text.replace(change, first))
        assert [does for does, _ in plan(folder).values()] == ["rebuild"] * (len(cells) - 1) + ["anew"], plan(folder)
        ran(folder)
        assert shown in firesteel(folder, "show").out and moved(folder) == {}, moved(folder)
    text = "-- %% A\nt, n = { 1 }, 2\n-- %% B\nprint(t[1], n)\n-- %% C\nprint(t[1])\n"
    folder = recorded(t, text)
    put(folder, "n.lua", text.replace("-- %% C\nprint(t[1])", "-- %% C\nprint('c', t[1])"))
    assert sorted(moved(folder)) == ["A", "C"], "what was only read has not changed: %s" % moved(folder)


def test_another_value_each_time_settles_in_two_rounds(t):
    text = ('-- %% A\nsh("echo A >>made; echo o >out", { inputs = {}, outputs = { "out" } })\nt = os.clock()\n-- %% B\nprint("B", t > 0)\n'
            '-- %% C\nif t > 0 then sh "echo C >>log" end\n')
    folder = recorded(t, text)
    put(folder, "n.lua", text.replace('"B"', '"b"'))
    assert ran(folder) == ["A", "B", "A", "B", "C"]
    assert get(folder, "log") == "C\nC\n" and get(folder, "made") == "A\n" and moved(folder) == {}, moved(folder)
    put(folder, "n.lua", text)
    assert moved(folder)["A"] == ("rebuild", "it leaves another value each time") and ran(folder) == ["A", "B", "C"] and moved(folder) == {}


def test_what_is_still_stale_after_all_rounds_is_said(t):
    text = "".join(f"-- %% A{i}\na{i} = os.clock()\n" for i in range(8)) + "".join(f"-- %% B{i}\nprint(a{i}, a{i + 1})\n" for i in range(7))
    folder = recorded(t, text)
    put(folder, "n.lua", text.replace("print(a0, a1)", "print('x', a0, a1)"))
    done = firesteel(folder, "run", "n.lua", "--stale", code=1)
    assert "after 4 rounds" in done.err and "still stale" in done.err and moved(folder), done
    firesteel(folder, "run", "n.lua", "--stale")
    assert moved(folder) == {}, moved(folder)


def test_wrong_usage(t):
    folder = t.dir()
    put(folder, "n.lua", "-- %%\nerror 'no'\n")
    firesteel(folder, "run", "n.lua", code=1)
    assert "has no run of this notebook in which all cells passed" in firesteel(folder, "run", "n.lua", "--stale", code=2).err
    assert "--list is for --stale" in firesteel(folder, "run", "n.lua", "--list", code=2).err
    assert "without --resume" in firesteel(folder, "run", "n.lua", "--stale", "--resume", "n", code=2).err
    put(folder, "n.lua", "-- %%\nx = 1\n")
    firesteel(folder, "run", "n.lua")
    put(folder, "n.lua", "-- %%\nerror 'no'\n")
    firesteel(folder, "run", "n.lua", "--stale", code=1)


run(globals())
