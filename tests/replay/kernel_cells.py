#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cells in a kernel: Lua and its values, output in order, files and templates, shell, errors with their lines."""
import json
import os
import re

from kernel import Kernel, cell
from tap import SANITIZED, run


def read(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def test_value_of_the_last_expression(t):
    k = Kernel(t)
    assert k.run("1 + 2").value == "3"
    assert k.run("x = 5\nx").value == "5"
    assert k.run("local y = 4 -- why\ny * 2 -- this\n").value == "8"
    assert k.run('"text"').value == "text"
    assert k.run("{a = 1, 2, 'three'}").value == '{2, "three", a = 1}'
    assert k.run("{\n  1,\n  2,\n}").value == "{1, 2}"
    assert k.run("x = 1").value is None
    assert k.run("nil").value is None
    assert k.run("for i = 1, 2 do\n  print(i)\nend").value is None
    assert k.run("local function f() return 7 end\nf()").value == "7"
    assert k.run("return 9").value == "9"
    assert k.run("x = 3\n-1").state == "ok"  # one statement, x = 2, as Lua reads it
    assert k.run("x").value == "2"
    assert k.run("io.write 'shown'").value is None
    assert k.run("goto done\n::done::").state == "ok"


def test_several_values_of_the_last_line(t):
    k = Kernel(t)
    assert k.run('1, "two", {3}').value == '1, "two", {3}'
    assert k.run("x = 4\nreturn x, nil, x + 1").value == "4, nil, 5"
    assert k.run('io.open "/nope/x"').value == 'nil, "/nope/x: No such file or directory", 2'
    assert k.run("nil, nil").value is None
    r = k.run('"two\\nlines", 3')  # each by itself
    assert [d["data"]["text/plain"] for d in r.displays] == ["two\nlines", "3"], r.displays


def test_a_returned_call_keeps_its_line(t):
    k = Kernel(t)
    assert k.run("function broken() error 'why' end\nfunction quiet() local t = nil; return t.x end").state == "ok"
    for source in "x = 1\nreturn broken()", "x = 1\nbroken()":
        r = k.run(source)
        assert "in the cell" in r.error["traceback"][-1] and ":2:" in r.error["traceback"][-1], r.error
    r = k.run('\nreturn sh "exit 3"')
    assert r.error["line"] == 2 and "exited with 3" in r.error["message"], r.error


def test_output_keeps_its_order(t):
    k = Kernel(t)
    r = k.run('print("a", 1)\nio.write("b")\nio.stdout:write("c\\n", 2, "\\n")\nsh("echo d; echo e")\nprint "f"')
    assert r.out == "a\t1\nbc\n2\nd\ne\nf\n", r.out
    r = k.run('print "good" io.stderr:write("bad\\n")')
    assert (r.out, r.err) == ("good\n", "bad\n")
    events = [e for e in k.events if e["type"] in ("stream", "display")]
    r = k.run('print(1) display "x" print(2)')
    order = [e.get("text") or e["data"]["text/plain"] for e in k.events if e["type"] in ("stream", "display")]
    assert order[len(events):] == ["1\n", "x", "2\n"], order


def test_the_standard_streams_are_as_in_lua(t):
    """Each progress bar in Lua calls io.flush."""
    k = Kernel(t)
    r = k.run('for i = 1, 3 do io.write("\\r", i, "/3") io.flush() end io.stdout:flush() io.stderr:flush()')
    assert r.state == "ok" and r.out.endswith("3/3"), r
    assert k.run("io.flush()").value is None
    for name in "close flush input lines open output popen read stderr stdin stdout tmpfile type write".split():  # of Lua 5.4
        assert k.run(f"io.{name} ~= nil").value == "true", name


FITS = """local nn, data = require "nn", require "data"
local model = nn.Sequential { nn.Input { 1 }, nn.Dense(1) }
model:compile { optimizer = nn.SGD { 0.05 }, loss = "mse" }
model:fit { data.tensor { { 0 }, { 1 }, { 2 }, { 3 } }, data.tensor { { 0 }, { 2 }, { 4 }, { 6 } }, epochs = 3, validation_split = 0.25 }
"""


def test_a_job_says_what_it_was_and_draws_its_history(t):
    k = Kernel(t)
    for name, text in ("fits.lua", FITS), ("plain.lua", "print 'words'\n"), ("fails.lua", "os.exit(3)\n"):
        with open(os.path.join(k.cwd, name), "w", encoding="utf-8") as f:
            f.write(text)
    r = k.run('job = trainer.run { "fits.lua" }\njob')
    assert re.fullmatch(r"ok, 3 epochs, \d+\.\ds, loss [\d.]+, val_loss [\d.]+", r.value), r.value
    r = k.run("display.plot(job)")
    plot = r.displays[-1]["data"]["application/vnd.firesteel.plot+json"]
    assert plot["x"] == [1, 2, 3] and [s["name"] for s in plot["series"]] == ["loss", "val_loss"], plot
    assert all(len(s["y"]) == 3 and all(v > 0 for v in s["y"]) for s in plot["series"]), plot
    assert re.fullmatch(r"ok, \d+\.\ds", k.run('other = trainer.run { "plain.lua" }\nother').value)
    assert "no epochs" in k.run("display.plot(other)").error["message"]
    assert k.run('trainer.run { "fails.lua", check = false }').value.startswith("exited with 3")
    assert k.run("j = job").value is None


def test_output_that_is_not_utf8(t):
    k = Kernel(t)
    assert k.run(r'io.write("\xff\xc3") io.write("\xa4\n")').out == "\ufffdä\n"
    assert k.run(r"""sh [[printf 'a\303'; sleep 0.1; printf '\244b\377\n']]""").out == "aäb\ufffd\n"
    assert k.run(r"""sh [[printf 'a\000b\n']]""").out == "a\ufffdb\n"
    assert k.run(r'print("a\0b") print "c"').out == "a\ufffdb\nc\n"


def test_errors_that_are_not_utf8(t):
    """Lua's strings are bytes. What leaves the kernel is text: journal and clients read every line of it."""
    k = Kernel(t)
    assert k.run(r'error("caf\xe9")').error["message"] == "caf\ufffd"
    assert k.run(r'assert(io.open("caf\xe9"))').error["message"].startswith("caf\ufffd: No such file")
    long = k.run(r'firesteel.call("x" .. ("é"):rep(700), {})')  # is cut, and not within a character
    assert "é" * 400 in long.error["message"] and "\ufffd" not in long.error["message"], long.error
    assert k.run(r'error(setmetatable({}, {__tostring = function() return "\xff!" end}))').error["message"] == "\ufffd!"
    refused = k.run(r'sh("echo \xe9")').error["message"]
    assert "command" in refused and "is not UTF-8 text" in refused, refused
    assert "a key is not UTF-8 text" in k.run(r'firesteel.json{["\xe9"] = 1}').error["message"]
    name = os.fsencode(k.cwd) + b"/caf\xe9.txt"
    with open(name, "w", encoding="utf-8") as f:
        f.write("read")
    assert k.run(r'io.open("caf\xe9.txt"):read "a"').value == "read"
    assert k.run("sh 'ls caf*'").out == "caf\ufffd.txt\n"
    with open(k.journal(), encoding="utf-8") as f:
        lines = f.read().splitlines()
    assert all(json.loads(line)["type"] for line in lines) and len(lines) > 20


def test_shell(t):
    k = Kernel(t)
    r = k.run('r = sh("echo one; echo two >&2; exit 3", {check = false})\nprint(r.code, #r.output)')
    assert r.out == "one\n3\t8\n" and r.err == "two\n", r
    r = k.run('\nsh "exit 4"')
    assert r.state == "failed" and "`exit 4` exited with 4" in r.error["message"], r.error
    assert r.error["line"] == 2
    assert k.run('print(sh({"printf", "%s|", "a b", "$HOME"}, {quiet = true}).output)').out == "a b|$HOME|\n"
    assert k.run('sh("cat", {input = "given"})').out == "given"
    assert k.run('sh("echo $A", {env = {A = "x y"}})').out == "x y\n"
    r = k.run('sh {"no-such-program"}')
    assert "no-such-program" in r.error["message"], r.error
    assert k.run("x = 3\n!echo {x * 2} $x $HOME_NOT").out.startswith("6 3")
    assert k.run("%env FS_TEST=yes").state == "ok"
    assert k.run('!echo $FS_TEST\nprint(os.getenv "FS_TEST")').out == "yes\nyes\n"
    assert k.run("lines = !printf 'a\\nb\\n'\n#lines").value == "2"
    r = k.run("for i in 1 2; do echo n$i; done", 'language="bash"')
    assert r.out == "n1\nn2\n", r
    assert k.run("exit 5", 'language="bash"').state == "failed"


def test_stock_functions_know_the_cell(t):
    k = Kernel(t)
    for source, part in [("os.exit(1)", "os.exit would end the kernel"), ("io.read()", "no standard input"),
                         ("io.stdin:read()", "no standard input"), ("io.output('x')", "cannot be changed")]:
        r = k.run(source)
        assert r.state == "failed" and part in r.error["message"], r
    assert k.run('print(os.execute("exit 3"))').out == "nil\texit\t3\n"
    assert k.run('for l in io.popen("echo a; echo b"):lines() do io.write(l, ";") end').out == "a;b;"
    assert k.run('local f = io.open("w.txt", "w") f:write("hello\\n") f:close()\n'
                 'for l in io.lines "w.txt" do print(l) end').out == "hello\n"
    assert k.run('print(io.open "missing.txt")').out.startswith("nil\tmissing.txt: No such file")
    assert k.run('print(io.type(io.stdout), io.type(1))').out == "file\tnil\n"
    assert k.run("debug.sethook").value is None


def test_files_and_templates(t):
    k = Kernel(t)
    body = "local a = 1 -- ü\n\nprint(a)"
    r = k.run(body, 'The trainer file="sub/trainer.lua"')
    assert r.state == "ok" and r.out == "Wrote sub/trainer.lua (3 lines)\n", r
    assert read(k.cwd, "sub", "trainer.lua") == (body + "\n").encode()
    k.run("n = 3 img = {ref = 'host/x:1'}")
    r = k.run('image: ${img.ref}\nraw: $${x}\nn: ${n + 1}\nlist: ${ {1, "}", 2} }', 'language="yaml" template="a.yaml"')
    assert r.state == "ok", r
    assert read(k.cwd, "a.yaml") == b'image: host/x:1\nraw: ${x}\nn: 4\nlist: [1,"}",2]\n'
    r = k.run("a: 1\nb: ${nothing}\n", 'template="b.yaml"')
    assert (r.error["line"], r.error["message"]) == (2, "${nothing} is nil"), r.error
    assert not os.path.exists(os.path.join(k.cwd, "b.yaml"))
    r = k.run("a: ${1 +}\n", 'template="b.yaml"')
    assert r.error["line"] == 1 and "is not a Lua expression" in r.error["message"], r.error
    r = k.run("a: 1\n\nb: ${nothing.x}\n", 'template="b.yaml"')
    assert r.error["line"] == 3 and "index a nil value" in r.error["message"], r.error
    r = k.run("%%writefile c.txt\nplain\n")
    assert r.state == "ok" and read(k.cwd, "c.txt") == b"plain\n", r
    k.run("%%writefile -a c.txt\nmore\n")
    assert read(k.cwd, "c.txt") == b"plain\nmore\n"


def test_a_file_with_a_secret_is_private(t):
    k = Kernel(t, env={"DB_PASSWORD": "hunter2-hunter2"})
    k.run("p = os.getenv 'DB_PASSWORD'")
    r = k.run("password: ${p}\n", 'language="yaml" template="secret.yaml"')
    assert r.state == "ok" and b"hunter2-hunter2" in read(k.cwd, "secret.yaml"), r
    with open(os.path.join(k.cwd, "log.txt"), "w", encoding="utf-8"):
        os.chmod(f"{k.cwd}/log.txt", 0o644)
    k.run("user: ann\n", 'language="yaml" template="plain.yaml"')
    r = k.run("%%writefile -a log.txt\nhunter2-hunter2\n")
    assert r.state == "ok", r
    modes = {name: os.stat(os.path.join(k.cwd, name)).st_mode & 0o777 for name in ("secret.yaml", "log.txt", "plain.yaml")}
    umask = os.umask(0o22)
    os.umask(umask)
    assert modes == {"secret.yaml": 0o600, "log.txt": 0o600, "plain.yaml": 0o666 & ~umask}, modes


def test_a_capture_that_is_too_long_says_so(t):
    k = Kernel(t)
    r = k.run("local line = ('x'):rep(1023) for i = 1, (16 << 10) + 2 do print(line) end", 'capture="got"')
    assert r.state == "ok" and r.out == "" and r.err == "The capture holds the first 16 MiB; 2048 bytes after them are left out.\n", r
    assert k.run("#got").value == str(16 << 20)
    r = k.run("print 'short'", 'capture="got"')
    assert r.err == "" and k.run("got").value == "short\n", r


def test_the_output_of_a_program_is_whole(t):
    k = Kernel(t)
    r = k.run("lines = !seq 1 300000\nprint(#lines, lines[1], lines[150000], lines[300000])")
    assert r.out == "300000\t1\t150000\t300000\n", r
    r = k.run("got = sh([[head -c 2000000 /dev/zero | tr '\\0' x]], { quiet = true })\nprint(#got.output, got.output:find '[^x]')")
    assert r.out == "2000000\tnil\n", r


def test_the_output_of_a_trainer_is_whole(t):
    k = Kernel(t)
    k.run("for i = 1, 300000 do print(i) end", 'file="t.lua"')
    r = k.run("job = trainer.run 't.lua'\n_, n = job.output:gsub('\\n', '')\ndisplay.json { n, job.output:find('\\n150000\\n', 1, true) ~= nil, job.left_out == nil }")
    assert r.state == "ok" and r.displays[-1]["data"]["application/json"] == [300000, True, True], r


def test_an_output_above_the_limit_is_no_data(t):
    k = Kernel(t)
    flood = f"yes {'y' * 4000} | head -c 70000000"  # not a line for each two bytes
    r = k.run(f"got = sh('{flood}', {{ quiet = true }})\nprint(got.code, rawget(got, 'left_out'))")
    assert r.state == "ok" and r.out == "0\tnil\n", r
    message = "its output has 66 MiB, more than the 64 of a result: let the program write a file, or print less of it"
    again = [] if SANITIZED == "thread" else [f"lines = !{flood}"]  # a look at each byte takes half a minute there
    for use in "print(#got.output)", "print(got)", *again:
        r = k.run(use)
        assert r.state == "failed" and message in r.error["message"], r


def test_capture(t):
    k = Kernel(t)
    r = k.run('print "kept" sh "echo too"', 'capture="got"')
    assert r.out == "" and r.state == "ok"
    assert k.run("got").value == "kept\ntoo\n"
    r = k.run('print "why" error "that"', 'capture="got"')  # what explains a failure is shown
    assert r.out == "why\n" and r.state == "failed", r


def test_errors_have_their_place(t):
    k = Kernel(t)
    r = k.run("local x = 1\n\nx.y.z = 2", "Third")
    assert r.error["line"] == 3 and r.error["name"] == "error", r.error
    assert r.error["message"] == "attempt to index a nil value (field 'y')" or "index" in r.error["message"]
    r = k.run("local x = \n= 2", "Broken")
    assert (r.error["name"], r.error["line"]) == ("syntax", 2), r.error
    k.run("function fails()\n  error('inside')\nend", "Library")
    r = k.run("\nlocal function outer() fails() return 1 end\nouter()\n", "User")
    assert r.error["line"] == 2 and r.error["message"] == "Library:2: inside", r.error
    assert r.error["traceback"][0].startswith("Library:2: in function"), r.error
    assert r.error["traceback"][-1] == "User:3: in the cell", r.error
    assert not any("[C]" in f or "firesteel/" in f for f in r.error["traceback"]), r.error
    r = k.run('local nn = require "nn"\nnn.Dense { 1 }')
    assert r.error["line"] == 2 and "belongs to trainer files" in r.error["message"], r.error
    r = k.run("error({code = 5})")
    assert r.state == "failed"
    r = k.run("error(setmetatable({}, {__tostring = function() return 'mine' end}))")
    assert r.error["message"] == "mine"
    assert k.run("1 + 1").value == "2"  # the kernel goes on
    r = k.run("%nosuchmagic")
    assert r.state == "failed" and "nosuchmagic" in r.error["message"], r


def test_what_is_raised_is_shown_without_an_address(t):
    k = Kernel(t)
    for source, message in [
            ("error { code = 1, why = { 'a' } }", '{code = 1, why = {"a"}}'),
            ("error(nil)", "nil"), ("error(12)", "12"), ("error(function(a) end)", "function(a)"),
            ("error(setmetatable({}, { __tostring = function() return 'said' end }))", "said"),
            ("error(setmetatable({}, { __tostring = function() error 'no' end }))", "(the error is a table whose __tostring fails)"),
            ("error(setmetatable({}, { __tostring = function() return nil end }))", "(the error is a table)"),
            ("error(setmetatable({}, { __tostring = function() error(setmetatable({}, { __tostring = error })) end }))",
             "(the error is a table whose __tostring fails)"),
            ("parallel.map({ 1 }, function() error(setmetatable({}, { __tostring = error })) end)", "(the error is a table whose __tostring fails)"),
            ("parallel.map({ 1 }, function() error { code = 2 } end)", "{code = 2}")]:
        r = k.run("\n" + source)
        assert r.error["message"] == message, (source, r.error)
    long = k.run("error { text = ('ü'):rep(1000) }").error["message"]
    assert len(long) == 300 and long.startswith('{ text = "üü') and long.endswith("ü…"), long
    assert k.run("local ok, e = pcall(error, { code = 3 })\nprint(ok, e.code)").out == "false\t3\n"


def test_expectations_say_what_was_there(t):
    k = Kernel(t)
    assert k.run('expect("abc"):contains "b":lacks "x":matches "^a"\nexpect(0.5):at_least(0.5):near(0.5001, 1e-3)').state == "ok"
    for source, message in [
            ('expect("abc"):contains "x"', 'expected "abc" to contain "x"'),
            ("expect(0.3):at_least(0.9)", "expected at least 0.9, got 0.3"),
            ("expect({1, 2}):equals {1, 3}", "expected {1, 3}, got {1, 2}"),
            ("expect(7):lacks 'error'", "expect: a number contains nothing; a text or a list does"),
            ("expect({output = 'error: boom'}):lacks 'error'", 'expect: a table with names, as "output", is neither a text nor a list: expect one of its fields'),
            ("expect(nil):at_most(1)", "expected a number, got nil"),
            ("expect({ 7 }):reaches 'Ready'", "expect(…):reaches: item 1 of the list is no object of the cluster: 7"),
            ("expect(1):reaches('x')", "expect(…):reaches needs an object of the cluster or a list of them, got 1")]:
        r = k.run("\n" + source)
        assert r.error["message"] == message and r.error["line"] == 2, r.error
    assert r.error["name"] == "error"
    assert k.run("expect(1):equals(2)").error["name"] == "assertion"


def test_wrong_arguments_do_nothing(t):
    k = Kernel(t)
    assert k.run("expect({}):lacks 'x'\nexpect({ 1, 2 }):lacks(3):contains(2)\nexpect(sh('echo fine', { quiet = true })):lacks 'error'").state == "ok"
    for source, message in [
            ("sh { 'echo', 'src', nil, 'dst' }", "sh: word 3 of the command is nil"),
            ("k8s.exec('p', { 'echo', nil, 'dst' })", "k8s.exec: word 2 of the command is nil"),
            ("k8s.patch('configmaps/x', { data = {} }, { type = 'stratgic' })", 'k8s.patch: type is "merge", "strategic" or "json", not "stratgic"'),
            ("trainer.run { 'x.lua', np = 100000 }", "trainer.run: np must be from 1 to 4096, got 100000")]:
        r = k.run("\n" + source)
        assert r.error["message"] == message and r.out == "", r


def test_displays(t):
    k = Kernel(t)
    r = k.run('display.table({{name = "a", n = 1}, {name = "bc", n = 2.5}}, {columns = {"name", "n"}})')
    data = r.displays[0]["data"]
    assert data["text/plain"] == "name    n\na       1\nbc    2.5", data
    assert data["application/vnd.firesteel.table+json"] == {"columns": ["name", {"name": "n", "align": "right"}], "rows": [["a", "1"], ["bc", "2.5"]]}
    r = k.run('local p <close> = display.progress(100, "steps")\nfor i = 1, 100 do p:update(i, {loss = 1 / i}) end')
    shown = r.displays[0]
    updates = [e for e in k.events if e["type"] == "update" and e["id"] == shown["id"]]
    k.wait(lambda e: e["type"] == "update" and e["id"] == shown["id"] and e.get("closed"))
    updates = [e for e in k.events if e["type"] == "update" and e["id"] == shown["id"]]
    assert shown["live"] and len(updates) < 20 and "100/100" in updates[-1]["data"]["text/plain"], updates
    r = k.run("display.plot {loss = {3, 2, 1}}")
    assert r.displays[0]["data"]["application/vnd.firesteel.plot+json"]["series"][0] == {"name": "loss", "y": [3, 2, 1]}


def test_tables_show_all_columns_and_say_what_they_leave_out(t):
    k = Kernel(t)

    def shown(source):
        data = k.run(source).displays[0]["data"]
        return data["text/plain"], data["application/vnd.firesteel.table+json"]

    text, table = shown('display.table {{a = 1}, {b = {1, "x", {d = 2, c = 3}}, a = 20}, {c = print}}')
    assert table["columns"] == [{"name": "a", "align": "right"}, "b", "c"] and table["rows"][1] == ["20", '[1,"x",{"c":3,"d":2}]', ""], table
    assert text.split("\n")[1] == " 1" + " " * len('  [1,"x",{"c":3,"d":2}]') + "  " and "0x" not in text, text
    text, table = shown('local rows = {} for i = 1, 2500 do rows[i] = {i} end display.table(rows)')
    assert len(table["rows"]) == 1000 and table["more"] == 1500
    assert text.count("\n") == 200 and text.endswith("\n… and 2,300 more rows"), text[-50:]
    text, table = shown('display.table({{1}, {2}, {3}}, {limit = 2})')
    assert text == "1\n2\n… and 1 more row" and len(table["rows"]) == 2, text
    text, table = shown('display.table {{("é"):rep(500) .. "\\nsecond"}}')
    assert text == "é" * 119 + "…", text


def test_what_is_misspelt_is_said_at_its_line(t):
    k = Kernel(t)
    for source, message in [
            ('sh("true", {outpts = {"x"}})', "sh has no option outpts; did you mean outputs?"),
            ("display.table({{1}}, {colums = {}})", "display.table has no option colums; did you mean columns?"),
            ('k8s.get("pods", "x", {namespce = "a"})', "k8s.get has no option namespce; did you mean namespace?"),
            ('image.build {adds = {}, tag = "x"}', "image.build has no option adds; did you mean add?"),
            ('trainer.run {"x.lua", agrs = {}}', "trainer.run has no option agrs; did you mean args?"),
            ("expect(1):equal(1)", "expect(…) has no check equal; did you mean equals?"),
            ("firesteel.slep(1)", "firesteel has no function slep; did you mean sleep?"),
            ('display.plot {y = {1, "a"}}', "display.plot: y[2] is a string; a series is a list of numbers"),
            ("display.table(nil)", "display.table expects a list of rows, not nil"),
            ("display.table {1, 2}", "display.table: row 1 expects a list, or a table by column name, not a number"),
            ("display.progress()", "display.progress: total must be an integer, not nil"),
            ("firesteel.sleep(-1)", "a duration is 0 or more, not -1"),
            ("firesteel.sleep(0/0)", "a duration is 0 or more; the result of this calculation is no number (nan)"),
            ("firesteel.sleep {}", 'a duration is a number of seconds, or a text as "30s" or "10m", not a table')]:
        r = k.run("\n\n" + source)
        assert r.error["message"] == message and r.error["line"] == 3, (source, r.error)
    assert k.run("expect(nil):is_nil():equals(nil)").state == "ok"


def test_modules_and_functions_are_shown_without_addresses(t):
    k = Kernel(t)
    r = k.run("k8s")
    assert "\nk8s.get(kind, name, {…})  " in r.value and "The whole object as it is now" in r.value and "function: 0x" not in r.value, r
    assert k.run("{f = function(a, b) end}").value == "{f = function(a, b)}"
    r = k.run("firesteel.help(k8s.get)\nfiresteel.help 'k8s.get'")
    assert r.out.count("\n  namespace ") == 2 and "example:" in r.out, r
    assert k.run('f = io.open("x", "w")\nf:write "a"').value is None


def test_integers_keep_their_digits_or_say_that_they_cannot(t):
    k = Kernel(t)
    text = '{"12345678901234567890":1,"7":2,"a":9007199254740993,"b":-9223372036854775808,"c":9223372036854775807}'
    r = k.run(f"print(firesteel.json(firesteel.parse_json '{text}'))")
    assert json.loads(r.out) == json.loads(text), r
    r = k.run("firesteel.parse_json '{\"a\": [18446744073709551615]}'")
    assert "18446744073709551615 does not fit into 64 bits" in r.error["message"], r.error


def test_secrets_stay_out(t):
    k = Kernel(t, env={"DB_PASSWORD": "hunter2hunter2"})
    r = k.run('print(os.getenv "DB_PASSWORD")\ns = secret "DB_PASSWORD"\n#s')
    assert r.out == "[secret]\n" and r.value == "14", r
    assert k.run('sh [[printf hunter2; sleep 0.05; echo hunter2]]').out == "[secret]\n"
    assert b"hunter2hunter2" not in read(k.journal())


def test_parameters_are_injected(t):
    notebook = cell("epochs = 5\nname = 'x'", 'tags=["parameters"]') + cell("print(epochs, name)")
    k = Kernel(t, notebook, "--param", "epochs=7", "--param", "name=it's", headless=True)
    assert k.finish() == 0, k.stderr
    assert k.text() == "7\tit's\n"
    assert k.of("run")[0]["parameters"] == {"epochs": 7, "name": "it's"}
    k = Kernel(t, notebook, "--param", "epoch=7", headless=True)
    assert k.finish() == 2 and "epochs" in k.stderr, k.stderr


def completed(k, source, after="", **more):
    reply = k.ask(type="complete", source=source + after, cursor=len(source.encode()), **more)
    assert reply["ok"] and len(reply["matches"]) == len(reply["kinds"]), reply
    assert source.encode()[reply["start"]:reply["end"]].decode() == source[len(source) - (reply["end"] - reply["start"]):]
    return dict(zip(reply["matches"], reply["kinds"]))


def inspected(k, source, **more):
    reply = k.ask(type="inspect", source=source, cursor=len(source), **more)
    assert reply["ok"], reply
    return reply["data"]["text/plain"]


def test_complete_and_inspect(t):
    k = Kernel(t)
    k.run("training = {rate = 1, rank = 2, name = 'x', go = function(self, speed) end}")
    reply = k.ask(type="complete", source="x = training.ra", cursor=15)
    assert reply["matches"] == ["rank", "rate"] and (reply["start"], reply["end"]) == (13, 15), reply
    assert completed(k, "training.", "rest") == {"rank": "number", "rate": "number", "name": "string", "go": "function"}
    assert completed(k, "training:") == {"go": "method"}
    found = completed(k, "trai")
    assert found == {"training": "table", "trainer": "module"}, found
    assert completed(k, "k8s.li") == {"list": "function"} and completed(k, "x = k8") == {"k8s": "module"}
    assert completed(k, "training.name:up") == {"upper": "method"}
    assert "number" in inspected(k, "training.rate")
    assert inspected(k, "training:go").startswith("training:go(speed)\n")
    assert not k.ask(type="inspect", source="nothing", cursor=3)["ok"]


def test_a_file_that_a_lookup_reads_is_no_input(t):
    k = Kernel(t)
    with open(os.path.join(k.cwd, "data.txt"), "w", encoding="utf-8") as f:
        f.write("42 words")
    k.run("t = setmetatable({}, { __tostring = function() return io.open('data.txt'):read 'a' .. os.getenv 'HOME' end })")
    assert "42 words" in inspected(k, "t")
    k.run("print(t)")
    recorded = [e for e in k.events if e["type"] == "recorded"]
    assert [(e["kind"], e["name"]) for e in recorded] == [("input", "data.txt"), ("variable", "HOME")], recorded


def test_completion_knows_the_cell_and_the_api(t):
    k = Kernel(t)
    source = "local alpha, almost = 1, 2\nlocal function although(alarm) end\nfor album in pairs {} do\n  al"
    found = completed(k, source)
    assert found == {n: "local" for n in ("alpha", "almost", "although", "alarm", "album")}, found
    assert completed(k, "whi") == {"while": "keyword"}
    assert completed(k, "k8s.list('pods', { sel") == {"selector": "option", "select": "function"}
    assert "np" in completed(k, "trainer.run { 'trainer.lua', n") and "np" not in completed(k, "trainer.run { 'a', np = n")
    assert "selector" not in completed(k, "k8s.list('pods', { selector = sel")
    assert completed(k, "expect(1):at_l") == {"at_least": "method"}
    methods = completed(k, "k8s.get('pod', 'one'):")
    assert methods["describe"] == methods["delete"] == "method" and "__name" not in methods, methods
    assert completed(k, "print('k8s.") == {} and completed(k, "x = 1 -- tra") == {} and completed(k, "[[ tra") == {}
    assert completed(k, "print('it\\'s', tru") == {"true": "keyword"}
    shown = inspected(k, "k8s.list")
    assert shown.startswith("k8s.list(kind, {namespace=, all_namespaces=false") and "\n  all_namespaces  those of all" in shown, shown
    assert inspected(k, "trainer.run { 'trainer.lua', np = ").startswith("trainer.run{file, np=1, args={}")
    assert inspected(k, "expect(1):near").startswith("near(") or "near" in inspected(k, "expect(1):near")
    assert "library" in inspected(k, "string.format")
    assert k.run("app = setmetatable({}, {__index = function() error 'asked' end, __tostring = function() return 'an app' end})").state == "ok"
    assert completed(k, "app.") == {} and "an app" in inspected(k, "app")


TRAINER = """local nn, hvd = require "nn", require "hvd"
local args = require "args" { epochs = 5, name = "x" }
local digits = data.mnist()
local model = nn.Sequential { nn.Flatten { 28, 28 } }
local net = model
local history = model:fit { x, y }
"""


def test_names_of_the_worker_are_known_in_cells_that_write_trainers(t):
    k = Kernel(t, cell("", 'file="trainer.lua"') + cell("", "") + cell("%%writefile tt.lua\n", ""))
    here, lua, magic = [{"cell": c["id"]} for c in k.cells()]
    assert completed(k, "nn.", **lua) == {}
    for cell_id in (here, magic):
        assert completed(k, "nn.Den", **cell_id) == {"Dense": "function"}
    assert completed(k, "local hvd = require 'hvd'\nhvd.local_", **here) == {"local_rank": "function", "local_size": "function"}
    assert completed(k, "k8s.", **here) == {} and completed(k, "n", **here)["nn"] == "module"
    assert "tostring" in completed(k, "tos", **here) and "sh" not in completed(k, "s", **here)
    assert completed(k, "x = nn.Dense { 128, act", **here) == {"activation": "option"}
    assert completed(k, TRAINER + "model:co", **here) == {"compile": "method", "count_params": "method"}
    assert completed(k, TRAINER + "net:fi", **here) == {"fit": "method"}
    assert completed(k, TRAINER + "model:fit { x, y, batch", **here) == {"batch_size": "option"}
    assert completed(k, TRAINER + "digits.train.x:sh", **here) == {"shard": "method"}
    assert completed(k, TRAINER + "history.", **here) == {"epoch": "table", "history": "table"}
    assert completed(k, TRAINER + "args.", **here) == {"epochs": "number", "name": "string"}
    assert completed(k, "data.mnist().", **here) == {"test": "dataset split", "train": "dataset split"}
    assert completed(k, "model = model:fit()\nmodel:", **here) == {}
    shown = inspected(k, "nn.Dense", **here)
    assert shown.startswith("nn.Dense{units, activation=") and shown.split("\n")[1].startswith("A fully connected layer"), shown
    assert inspected(k, TRAINER + "model:compile { ", **here).startswith("model:compile{optimizer=")
    assert k.run("training = k8s").state == "ok" and completed(k, "training.li") == {"list": "function"}


def test_a_file_that_is_not_in_form_is_an_error_of_its_cell(t):
    k = Kernel(t)
    for option, body, line, words in [
            ('file="a.lua"', "a = 1\nx = = 1", 2, "a.lua: unexpected symbol near '='"),
            ("", "%%writefile b.lua\na = 1\nx = = 1", 3, "b.lua: unexpected symbol near '='"),
            ('template="c.lua"', "a = ${1}\nx = = ${2}", 2, "c.lua: unexpected symbol"),
            ('file="d.json" language="json"', '{"a": 1,\n  b}', 2, "d.json: "),
            ('file="e.yaml" language="yaml"', "a: 1\nb: [1,\nc: 2", 3, "e.yaml: "),
            ('template="f.yml" language="yaml"', "a: ${'|\\n x'}\nb: c: d", None, "f.yml: line 3"),
            ('file="g.lua"', "#!/usr/bin/lua\nx = = 1", 2, "g.lua: unexpected symbol")]:
        done = k.run(body, option)
        assert done.state == "failed", option
        assert done.error["name"] == "syntax" and done.error.get("line") == line and words in done.error["message"], done.error
        assert not any(name[1:2] == "." for name in os.listdir(k.cwd)), os.listdir(k.cwd)
    for option, body in [('file="a.lua"', "#!/usr/bin/lua\nlocal nn = {{1}}\nreturn nn"),
                         ('file="b.yaml" language="yaml"', "{{- if x }}\na: b: c"),
                         ('file="c.yaml" language="yaml"', "a: !Ref b\n---\nb: 1"),
                         ('file="d.yaml" language="yaml"', ""),
                         ("", "%%writefile -a b.lua\nx = = 1")]:
        done = k.run(body, option)
        assert done.state == "ok", (option, done.error)


def test_an_error_in_a_file_names_the_cell_that_wrote_it(t):
    k = Kernel(t)
    first = k.run("local x\nlocal y = 1\nprint(x.field)", 'file="tt.lua"')
    second = k.run("%%writefile ./lib.lua\nreturn {\n  go = function() error 'lib' end }")
    assert first.state == second.state == "ok"
    done = k.run("trainer.run 'tt.lua'")
    written = [e["cell"] for e in k.of("state", state="running")]
    assert done.error["message"] == "tt.lua exited with 1: cell [1] line 3 (tt.lua:3): attempt to index a nil value (local 'x')", done.error
    assert (done.error["origin"], done.error["origin_line"]) == (written[0], 3), done.error
    done = k.run("trainer.run { 'tt.lua', np = 2 }")
    assert "cell [1] line 3 (tt.lua:3): attempt to index" in done.error["message"], done.error
    k.run("dofile('lib.lua').go()", 'file="uses.lua"')
    done = k.run("trainer.run './uses.lua'")
    assert "cell [2] line 3 (lib.lua:2): lib" in done.error["message"] and done.error["origin"] == written[1], done.error
    done = k.run("dofile 'tt.lua'")
    assert "cell [1] line 3 (tt.lua:3)" in done.error["message"], done.error
    done = k.run("error('my-tt.lua:3: no, tt.lua: nor tt.lua:x, other/tt.lua:3', 0)")
    assert done.error["message"] == "my-tt.lua:3: no, tt.lua: nor tt.lua:x, other/tt.lua:3" and "origin" not in done.error, done.error
    done = k.run('error(\'Traceback File "tt.lua", line 2, in f\', 0)')
    assert done.error["message"] == 'Traceback cell [1] line 2 (tt.lua:2), in f', done.error


def test_names_cannot_be_looked_up_while_a_cell_runs(t):
    k = Kernel(t)
    busy = k.insert("firesteel.sleep '1m'")
    k.start(busy)
    for what in ("complete", "inspect"):
        reply = k.ask(type=what, source="k8s.", cursor=4)
        assert not reply["ok"] and "a cell is running" in reply["error"]["message"], reply
    assert k.ask(type="interrupt")["ok"]


def test_document_is_edited_by_two_clients(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    os.chmod(os.path.dirname(sock), 0o700)
    k = Kernel(t, cell("a = 1", "A") + cell("b = 2", "B"), "--socket", sock)
    from kernel import Connection
    first, second = [c["id"] for c in k.cells()]
    other = Connection.to(sock)
    other.send(type="hello", version=1)
    assert [c["id"] for c in other.wait(lambda e: e["type"] == "document")["cells"]] == [first, second]
    assert k.ask(type="edit", rev=1, cell=first, source="a = 10")["ok"]
    assert other.wait(lambda e: e["type"] == "edited")["source"] == "a = 10"
    refused = other.ask(type="edit", rev=1, cell=first, source="a = 11")
    assert not refused["ok"] and refused["error"]["code"] == "conflict", refused
    assert other.ask(type="edit", rev=1, cell=second, source="b = 20")["ok"]
    assert k.ask(type="move", rev=9, cell=second)["ok"]
    rev = k.ask(type="insert", rev=9, after=first, source="c = 3", marker="C")["rev"]
    assert k.ask(type="save", rev=rev)["ok"]
    assert read(k.path).decode() == cell("b = 20", "B") + cell("a = 10", "A") + cell("c = 3", "C").rstrip("\n") + "\n", read(k.path)
    with open(k.path, "a") as f:
        f.write("\n-- %% D\nd = 4\n")
    reloaded = k.wait(lambda e: e["type"] == "document" and e["rev"] > rev)
    assert [c["title"] for c in reloaded["cells"]] == ["B", "A", "C", "D"]
    k.ask(type="edit", rev=99, cell=reloaded["cells"][0]["id"], source="b = 21")
    with open(k.path, "a") as f:
        f.write("\n-- %% E\n")
    k.wait(lambda e: e["type"] == "touched")
    refused = k.ask(type="save", rev=99)
    assert not refused["ok"] and "has changed since" in refused["error"]["message"]
    assert k.ask(type="save", rev=99, force=True)["ok"]
    other.close()


def test_a_client_that_comes_later_overwrites_nothing_it_has_not_seen(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    os.chmod(os.path.dirname(sock), 0o700)
    k = Kernel(t, cell("a = 1", "A"), "--socket", sock)
    from kernel import Connection
    first = k.cells()[0]["id"]
    for text in ["a = 2", "a = 3"]:  # each by a client of its own, which knows what was before
        other = Connection.to(sock)
        other.send(type="hello", version=1)
        rev = other.wait(lambda e: e["type"] == "document")["rev"]
        refused = other.ask(type="edit", rev=0, cell=first, source="from the file")
        assert text == "a = 2" or refused["error"]["code"] == "conflict", refused
        if not refused["ok"]:
            assert other.ask(type="edit", rev=rev, cell=first, source=text)["ok"]
        assert other.ask(type="edit", rev=0, cell=first, source=text)["ok"], "one's own is no conflict"
        other.close()
    assert k.ask(type="edit", rev=0, cell=first, source="x")["error"]["code"] == "conflict"


def test_a_deleted_cell_comes_back_as_itself_and_saving_overwrites_no_other_file(t):
    k = Kernel(t, cell("a = 1", "A") + cell("b = 2", "B"))
    first, second = [c["id"] for c in k.cells()]
    assert k.ask(**{"type": "insert", "rev": 1, "source": "x", "as": second})["error"]["code"] == "exists"
    assert k.ask(type="delete", rev=1, cell=second)["ok"]
    back = {"type": "insert", "rev": 2, "after": first, "source": "b = 2", "marker": "B", "as": second}
    assert k.ask(**back)["cell"] == second
    other = os.path.join(os.path.dirname(k.path), "other.lua")
    assert k.ask(type="save", rev=3, path=other)["ok"]
    assert read(other).decode() == cell("a = 1", "A") + cell("b = 2", "B").rstrip("\n") + "\n"
    assert k.ask(type="save", rev=3, path=k.path)["error"]["code"] == "exists"
    assert k.ask(type="save", rev=3, path=k.path, force=True)["ok"]


def test_protocol_errors_are_answered(t):
    k = Kernel(t, hello=False)
    assert "first message must be hello" in k.ask(type="interrupt")["error"]["message"]
    assert "version" in k.ask(type="hello")["error"]["message"]
    assert k.ask(type="hello", version=1)["ok"]
    assert 'is it "edit"?' in k.ask(type="edits")["error"]["message"]
    assert '"rev"' in k.ask(type="edit", cell="x", source="")["error"]["message"]
    assert k.ask(type="execute", cells=["nope"])["error"]["code"] == "not_found"
    k.connection.sock.sendall(b"not json\n")
    k.wait(lambda e: e["type"] == "reply" and not e["ok"] and "line 1" in e["error"]["message"])
    assert k.run("1").value == "1"


def test_attaching_later_sees_everything(t):
    sock = os.path.join(t.dir(), "kernel.sock")
    k = Kernel(t, "", "--socket", sock)
    k.run("print 'before'")
    from kernel import Connection
    other = Connection.to(sock)
    other.send(type="hello", version=1, **{"from": 0})
    other.wait(lambda e: e["type"] == "stream" and e["text"] == "before\n")
    seqs = [e["seq"] for e in other.events if "seq" in e and e["type"] != "welcome"]
    assert seqs == list(range(1, len(seqs) + 1)), seqs
    late = Connection.to(sock)
    late.send(type="hello", version=1, **{"from": seqs[-1]})
    k.run("print 'after'")
    first = late.wait(lambda e: e["type"] not in ("welcome", "document", "reply"))
    assert first["seq"] == seqs[-1] + 1 or first["seq"] > seqs[-1], first
    with open(k.journal(), encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    assert [e["seq"] for e in lines] == list(range(1, len(lines) + 1))
    for connection in (other, late):
        connection.close()


HOSTILE = """\
-- ---
-- jupyter:
--   kernelspec: {name: firesteel}
-- ---

-- %% t {"a":1,"a":2,"id":"x","id":"y"} tags=["parameters"]
os.execute("touch opened"); io.open("opened", "w"):close()

-- %% file="opened" {"file":"opened","file":"opened2"}
text

-- %% {"template":"opened","file":"opened","effects":"destructive","effects":"cluster"}
{{ os.execute("touch opened") }}

-- %% language="bash" capture="x"
-- touch opened
"""


def test_opening_a_hostile_notebook_executes_nothing(t):
    k = Kernel(t, HOSTILE)
    assert len(k.cells()) >= 4
    assert k.ask(type="complete", source="os.", cursor=3)["ok"]
    assert not k.of("state") and not [n for n in os.listdir(k.cwd) if n.startswith("opened")]


run(globals())
