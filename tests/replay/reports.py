#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports of runs: JUnit as dashboards read it, reports of detached runs, and `firesteel wait`."""
import json
import os
import signal
import xml.etree.ElementTree as xml

from tap import FIRESTEEL, PATIENCE, eventually, run, sh

MIXED = """\
-- %% tags=["parameters"]
rows = 1
db_password = "none"

-- %% Same
print("out <&>", rows)
io.stderr:write("err\\n")

-- %% Same

local x = rows
x.y = 1

-- %%
print("never")
"""
WAITS = """\
-- %% Begin
print "begun"
-- %% Wait
print "waiting"
for i = 1, 600 do
  local f = io.open "go"
  if f then f:close() error "as told" end
  firesteel.sleep(0.1)
end
"""


def firesteel(folder, *arguments, **options):
    return sh(FIRESTEEL, *arguments, cwd=folder, **options)


def write(folder, name, text=""):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)
    return name


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as f:
        return f.read()


# Attributes and children, in order, as the schemas of Jenkins' xUnit plug-in and of Ant have them.
SHAPE = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped", "time"}, ["testsuite"]),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname", "id", "package"},
                  ["properties", "testcase", "system-out", "system-err"]),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": ({"name", "classname", "time", "file", "line"},
                 ["skipped", "error", "failure", "system-out", "system-err"]),
    "skipped": ({"message"}, []),
    "error": ({"message", "type"}, []),
    "failure": ({"message", "type"}, []),
    "system-out": (set(), []),
    "system-err": (set(), []),
}


def check_shape(element):
    attributes, children = SHAPE[element.tag]
    assert set(element.attrib) <= attributes, element.attrib
    order = [children.index(child.tag) for child in element]
    assert order == sorted(order), [child.tag for child in element]
    for child in element:
        check_shape(child)


def suite_of(text):
    root = xml.fromstring(text)
    check_shape(root)
    suite = root.find("testsuite")
    cases = suite.findall("testcase")
    for name, found in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(name)) == len(suite.findall(f"testcase/{found}")), name
    assert int(suite.get("tests")) == len(cases)
    names = [case.get("name") for case in cases]
    assert len(set(names)) == len(names), names
    return suite, cases


def properties(suite):
    return {p.get("name"): p.get("value") for p in suite.iter("property")}


def test_junit_is_the_same_from_run_to_run(t):
    folder = t.dir()
    write(folder, "mixed.lua", MIXED)
    done = firesteel(folder, "run", "mixed.lua", "-o", "junit")
    other = firesteel(folder, "run", "mixed.lua", "-o", "junit", "-p", "rows=7", "-p", "db_password=opensesame")
    assert done.code == other.code == 1, (done, other)
    (suite, cases), (again, others) = suite_of(done.out), suite_of(other.out)
    assert suite.get("name") == again.get("name") == "mixed.lua"
    seen = [[(c.get("classname"), c.get("name"), c.get("file"), c.get("line")) for c in all] for all in (cases, others)]
    assert seen[0] == seen[1] == [
        ("mixed", "Parameters", "mixed.lua", "1"), ("mixed", "Same", "mixed.lua", "5"),
        ("mixed", "Same (2)", "mixed.lua", "12"), ("mixed", "cell 4", "mixed.lua", "14")], seen
    assert cases[1].find("system-out").text == "out <&>\t1\n" and cases[1].find("system-err").text == "err\n"
    assert "attempt to index" in cases[2].find("failure").get("message")
    assert "attempt to index" in cases[3].find("skipped").get("message")
    told = properties(again)
    assert told["parameter.rows"] == "7" and told["parameter.db_password"] == "[secret]", told
    assert told["run"].startswith("mixed-") and told["version.lua"].startswith("Lua 5.4"), told
    assert "opensesame" not in other.out and told["run"] not in other.out.replace(f'value="{told["run"]}"', "")


def test_junit_has_what_cells_recorded_and_why_a_cell_was_left_out(t):
    folder = t.dir()
    write(folder, "p.lua", '-- %% tags=["parameters"]\nlr = 1\nn = 2\n-- %% Set\nrun.param("lr", 7)\n'
          '-- %% Left tags=["skip-execution"]\nx = 1\n-- %% Bad\nerror "bad"\n-- %% Rest\nx = 2\n')
    done = firesteel(folder, "run", "p.lua", "-o", "junit")
    suite, cases = suite_of(done.out)
    told = properties(suite)
    assert (told["parameter.lr"], told["parameter.n"]) == ("7", "2"), told
    assert cases[2].find("skipped").get("message") == 'not run: tags=["skip-execution"]', done.out
    assert "bad" in cases[4].find("skipped").get("message"), done.out


def test_junit_has_only_what_xml_can_say(t):
    folder = t.dir()
    write(folder, "odd.lua", '-- %% Odd\nodd = utf8.char(0xFFFD, 0xFFFE, 0xFFFF, 0x10FFFF)\nprint(odd)\nrun.tag("odd", odd)\nerror(odd)\n')
    done = firesteel(folder, "run", "odd.lua", "-o", "junit")
    suite, cases = suite_of(done.out)
    odd = "\ufffd\ufffd\ufffd\U0010ffff"
    assert cases[0].find("system-out").text == odd + "\n" and odd in cases[0].find("failure").get("message"), done
    assert properties(suite)["tag.odd"] == odd, done


def test_what_when_left_out_says_so(t):
    folder = t.dir()
    write(folder, "w.lua", '-- %% A\nx = 1\n-- %% B when="x > 3"\nprint(2)\n-- %% C when="failed"\nprint(3)\n'
          '-- %% Bad\nif fail then error "bad" end\n-- %% D\nprint(4)\n')
    done = firesteel(folder, "run", "w.lua")
    at = done.out.splitlines().index("[2/5] B")
    assert done.out.splitlines()[at + 1] == '    not run: when="x > 3"', done
    shown = firesteel(folder, "show", done.out.rsplit("(run ", 1)[1].split(")")[0]).out
    assert shown.count("not run: when=") == 2 and '    not run: when="failed"' in shown, shown
    done = firesteel(folder, "run", "w.lua", "-o", "junit")
    _, cases = suite_of(done.out)
    told = [c.find("skipped").get("message") if c.find("skipped") is not None else None for c in cases]
    assert told == [None, 'not run: when="x > 3"', 'not run: when="failed"', None, None], told
    told = firesteel(folder, "export", "newest", "--to", "md").out + firesteel(folder, "export", "newest", "--to", "html").out
    assert "| 2 | B | not run |" in told and '<span class="badge not run">not run</span>' in told and ">idle<" not in told, told
    write(folder, "w.lua", read(folder, "w.lua").replace("if fail", "if true"))
    done = firesteel(folder, "run", "w.lua", "-o", "junit")
    _, cases = suite_of(done.out)
    told = [c.find("skipped").get("message") for c in cases if c.find("skipped") is not None]
    assert told[0] == 'not run: when="x > 3"' and told[-1] == "not run: bad", told


def test_a_refusal_is_an_error(t):
    folder = t.dir()
    write(folder, "deploy.lua", '-- %% A\nprint(1)\n-- %% Deploy effects="cluster"\nk8s.create "x.yaml"\n')
    done = firesteel(folder, "run", "deploy.lua", "-o", "junit")
    suite, cases = suite_of(done.out)
    assert done.code == 3 and suite.get("errors") == "1" and suite.get("skipped") == "1", done
    assert "--allow cluster" in cases[1].find("error").get("message"), done
    write(folder, "undeclared.lua", '-- %% B\nk8s.delete("pods", "x")\n')
    done = firesteel(folder, "run", "undeclared.lua", "-o", "junit")
    suite, cases = suite_of(done.out)
    assert done.code == 3 and cases[0].find("error").get("type") == "refused", done


def test_a_report_that_cannot_be_written_is_said_first(t):
    folder = t.dir()
    write(folder, "n.lua", MIXED)
    os.mkdir(folder + "/d.md")
    for path, said in (("/nonexistent/r.md", "No such file"), ("d.md", "folder"), ("r.pdf", ".xml")):
        for more in ([], ["--detach"]):
            done = firesteel(folder, "run", "n.lua", "--report", path, *more)
            assert done.code == 2 and said in done.err and path in done.err, done
    assert not os.path.exists(folder + "/.firesteel")


def test_reports_of_a_detached_run_and_waiting(t):
    folder = t.dir()
    write(folder, "waits.lua", WAITS)
    os.mkdir(folder + "/out")
    done = firesteel(folder, "run", "waits.lua", "--detach", "-o", "json", "--report", "out/r.xml",
                     "--report", "out/r.ipynb")
    name = json.loads(done.out)["run"]
    late = firesteel(folder, "wait", name, "--timeout", "200ms")
    # a report for Jupyter is written after each cell, others at the end
    assert late.code == 4 and "goes on" in late.err and set(os.listdir(folder + "/out")) <= {"r.ipynb"}, late
    write(folder, "go")
    done = firesteel(folder, "wait", name)
    assert done.code == 1 and "1 cell ok, 1 failed" in done.out and "as told" in done.err, done
    suite, cases = suite_of(read(folder, "out/r.xml"))
    assert suite.get("failures") == "1" and properties(suite)["run"] == name
    assert json.loads(read(folder, "out/r.ipynb"))["cells"][1]["outputs"][-1]["output_type"] == "error"
    assert firesteel(folder, "wait", name).code == 1  # long after, too
    assert firesteel(folder, "wait", "nobody").code != 0


def pid_of(folder, name):
    with open(f"{folder}/.firesteel/{name}.jsonl", encoding="utf-8") as f:
        return json.loads(f.readline())["pid"]


def test_reports_of_a_killed_kernel(t):
    folder = t.dir()
    write(folder, "waits.lua", WAITS)
    name = firesteel(folder, "run", "waits.lua", "--detach", "--report", "r.xml").out.strip()
    eventually(lambda: '"text":"waiting' in read(folder, f".firesteel/{name}.jsonl"))
    os.kill(pid_of(folder, name), signal.SIGKILL)
    done = firesteel(folder, "wait", name, timeout=60 * PATIENCE)
    assert done.code == 1 and "killed" in done.err, done
    suite, cases = suite_of(read(folder, "r.xml"))
    assert suite.get("errors") == "1" and "killed" in cases[1].find("error").get("message")


def test_a_detached_run_prints_no_junit(t):
    folder = t.dir()
    write(folder, "n.lua", MIXED)
    done = firesteel(folder, "run", "n.lua", "--detach", "-o", "junit")
    assert done.code == 2 and "--report FILE.xml" in done.err, done


def test_junit_has_what_was_recorded(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% A\nrun.metric("loss", 0.5)\nrun.metric("loss", 0.25)\nrun.tag("data", "<new>")\n')
    assert firesteel(folder, "run", "n.lua", "--report", "out.xml").code == 0
    told = properties(suite_of(read(folder, "out.xml"))[0])
    assert told["metric.loss"] == "0.25" and told["tag.data"] == "<new>", told


def test_wait_for_several(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% tags=["parameters"]\nfails = false\n-- %% A\n'
          'while not io.open "go" do firesteel.sleep(0.05) end\nif fails then error "as told" end\n')
    names = [firesteel(folder, "run", "n.lua", "--detach", "-p", f"fails={fails}").out.strip() for fails in ("true", "false")]
    done = firesteel(folder, "wait", *names, "--timeout", "300ms")
    assert done.code == 4 and all(f"{name} goes on after 300ms" in done.err for name in names), done
    write(folder, "go")
    done = firesteel(folder, "wait", *names)
    assert done.code == 1 and done.out.count("(run n-") == 2, done
    assert firesteel(folder, "wait", names[1]).code == 0


SHOWS = """\
-- %% Shows
print "before"
display.plot { title = "A & <b>", y = { 1, 3, 2 }, ["z\\27[1m"] = { 2, 2, 1 } }
display.table { { a = 1, b = "x|y" }, { a = 2, b = "p\\\\|<b> *q* snake_case\\27[1m" } }
display.markdown "# hi\\n\\n```\\nx\\n```"
display.html("<b>bold</b> ```", { text = "bold" })
display.table({ { 1 }, { 2, 3 }, { 4 } }, { limit = 2 })
display.plot { y = { 0 / 0 } }
display.table { { key = os.getenv "API_TOKEN" } }
display.plot { title = os.getenv "API_TOKEN", y = { 1, 2 } }
print "after"
"""


def shown(t, *names):
    folder = t.dir()
    write(folder, "n.lua", SHOWS)
    reports = [word for name in names for word in ("--report", name)]
    done = firesteel(folder, "run", "n.lua", *reports, env={"API_TOKEN": "t0p|s3cret<t0p>"})
    assert done.code == 0, done
    for name in names:
        text = read(folder, name)
        assert "s3cret" not in text and "[secret]" in text.replace("\\", "") and "\33" not in text, text
    return folder


def test_ipynb_has_images_of_plots_and_tables_as_html(t):
    folder = shown(t, "r.ipynb", "r.html")
    outputs = json.loads(read(folder, "r.ipynb"))["cells"][0]["outputs"]
    plot, first, _, html, limited, nothing, masked, secret = [
        {kind: "".join(value) if isinstance(value, list) else value for kind, value in o["data"].items()}
        for o in outputs if o["output_type"] == "display_data"]
    image = xml.fromstring(plot["image/svg+xml"])
    space = "{http://www.w3.org/2000/svg}"
    texts = [element.text for element in image.iter(space + "text")]
    assert texts[0] == "A & <b>" and texts[-2:] == ["y", "z^[[1m"], texts
    line = image.find(f"{space}g/{space}polyline").get("points")
    assert f'<polyline points="{line}"/>' in read(folder, "r.html"), "the line of the page"
    assert ".s0 { color" in image.find(space + "style").text, "its colours are in it"
    assert "application/vnd.firesteel.plot+json" in plot and "text/plain" in plot and "image/svg+xml" not in nothing
    table = xml.fromstring(first["text/html"])
    assert [cell.text for cell in table.iter("th")] == ["a", "b"], first
    assert [cell.text for cell in table.iter("td")] == ["1", "x|y", "2", "p\\|<b> *q* snake_case^[[1m"], first
    assert "application/vnd.firesteel.table+json" in first and "x|y" in "".join(first["text/plain"])
    assert "… and 1 more row is not shown" in limited["text/html"] and html["text/html"] == "<b>bold</b> ```"
    assert "<td>[secret]</td>" in masked["text/html"] and ">[secret]</text>" in secret["image/svg+xml"]


def test_an_ipynb_of_a_report_shows_the_same_when_it_is_read_back(t):
    folder = shown(t, "r.ipynb")
    page, text = (firesteel(folder, "convert", "r.ipynb", "--to", form, "-o", "-").out for form in ("html", "md"))
    assert page.count('<figure class="chart">') == 3 and page.count("<svg ") == 2 and "<td>x|y</td>" in page, page
    assert "image/svg+xml" not in page and "| 1 | x\\|y |" in text, text
    again = json.loads(firesteel(folder, "convert", "r.ipynb", "--to", "ipynb", "-o", "-").out)
    assert [c.get("outputs") for c in again["cells"]] == [c.get("outputs") for c in json.loads(read(folder, "r.ipynb"))["cells"]]


def test_markdown_has_tables_and_texts_as_markdown(t):
    text = read(shown(t, "r.md"), "r.md")
    text = text[text.index('print "after"'):]
    table = "| a | b |\n|---:|---|\n| 1 | x\\|y |\n| 2 | p\\\\\\|\\<b> \\*q\\* snake_case^[\\[1m |\n\n"
    for words in ("\n```text\nbefore\n", "```\n\n" + table + "# hi\n\n```\nx\n```\n\n````html\n<b>bold</b> ```\n````\n\n|  |\n|---|\n| 1 |\n| 2 |\n\n"
                  "… and 1 more row is not shown\n\n```text\n", "| key |\n|---|\n| \\[secret\\] |\n", "after\n```\n"):
        assert words in text, (words, text)


run(globals())
