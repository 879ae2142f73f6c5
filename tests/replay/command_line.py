#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""firesteel run, runs, show, export, ls, stop, as a user meets them."""
import glob
import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import time
import xml.etree.ElementTree as xml

from tap import FIRESTEEL, PATIENCE, SOURCE, Skip, eventually, processes, run, sh

SAMPLE = """\
-- %% [markdown]
-- # Sample

-- %% Parameters tags=["parameters"]
epochs = 1
name = "ann"

-- %% Hello
print("hello " .. name, epochs)
for i = 1, 3 do io.write("step " .. i .. "\\r") end
io.write("all steps\\n")
6 * 7

-- %% Shell
!echo from $name

-- %% Note file="note.txt"
a note
"""
FAILS = """\
-- %% Fine
x = nil

-- %% Broken

x.y = 1

-- %% Never
print("never")
"""
SLOW = """\
-- %% Slow
print("started")
sh "sleep 60"
"""


def notebook(t, text, name="sample.lua"):
    folder = t.dir()
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def firesteel(*arguments, **options):
    return sh(FIRESTEEL, *arguments, **options)


def folder_of(path):
    return os.path.dirname(path)


def records(path):
    (journal,) = glob.glob(folder_of(path) + "/.firesteel/*.jsonl")
    with open(journal, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def start(path, *options, **rest):
    process = subprocess.Popen([FIRESTEEL, "run", path, *options], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True, **rest)
    line = ""
    while "started" not in line:
        line = process.stdout.readline()
        assert line, "it ended before it started"
    return process


def nothing_runs(path):
    eventually(lambda: not processes(folder_of(path)), 10)


def test_cell_by_cell_in_a_pipe(t):
    path = notebook(t, SAMPLE)
    done = firesteel("run", path)
    assert done.code == 0 and done.err == "", done
    lines = [line for line in done.out.splitlines() if not line.startswith("    ok")]
    assert lines[:-1] == ["[1/4] Parameters", "[2/4] Hello", "    hello ann\t1", "    all steps", "    42",
                          "[3/4] Shell", "    from ann", "[4/4] Note", "    Wrote note.txt (1 line)"], done
    assert lines[-1].startswith("ok: 4 cells ok in ") and "\033" not in done.out, done
    with open(folder_of(path) + "/note.txt", encoding="utf-8") as f:
        assert f.read() == "a note\n"


def test_what_a_cell_said_is_told_while_the_next_one_runs(t):
    path = notebook(t, "-- %%\nprint 'a word'\n-- %%\nwhile not fs.exists 'go' do firesteel.sleep(0.1) end\n")
    with subprocess.Popen([FIRESTEEL, "run", path], cwd=folder_of(path), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as process:
        t.after(lambda: process.poll() is None and process.kill())
        for line in process.stdout:
            if line == "    a word\n":
                break
        assert process.poll() is None and line == "    a word\n", line
        for line in process.stdout:
            if line.startswith("[2/2]"):
                break
        with open(folder_of(path) + "/go", "w", encoding="utf-8"):
            pass
        process.stdout.read()
        assert process.wait(30) == 0


def test_parameters(t):
    path = notebook(t, SAMPLE)
    done = firesteel("run", path, "-p", "epochs=3", "--param=name=b c")
    assert "hello b c\t3" in done.out and done.code == 0, done
    for wrong, said in [("epoch=1", "there are epochs (number), name (string)"),
                        ("epochs=x", "it is a number"), ("epochs", "NAME=VALUE")]:
        done = firesteel("run", path, "-p", wrong)
        assert done.code == 2 and said in done.err, done
    assert len(glob.glob(folder_of(path) + "/.firesteel/*.jsonl")) == 1  # nothing else was run


def test_parameters_from_a_file(t):
    path = notebook(t, SAMPLE)

    def given(text, *more, name="given.yaml", **options):
        with open(os.path.join(folder_of(path), name), "w", encoding="utf-8") as f:
            f.write(text)
        return firesteel("run", path, *more, **options)
    file = os.path.join(folder_of(path), "given.yaml")
    done = given("# nightly\nepochs: 3\nname: \"b; #\"\n", "-f", file)
    assert done.code == 0 and "hello b; #\t3" in done.out, done
    done = given("epochs: 3\nname: bob\n", "-p", "epochs=4", "--parameters", file)  # -p wins, wherever it stands
    assert done.code == 0 and "hello bob\t4" in done.out, done
    again = os.path.join(folder_of(path), "again.json")
    done = given('{"name": "carl"}', "-f", file, "-f", again, name="again.json")  # a later file wins
    assert done.code == 0 and "hello carl\t3" in done.out, done
    done = firesteel("run", path, "-f", "-", input="epochs: 8")
    assert done.code == 0 and "\t8" in done.out, done
    runs = len(glob.glob(folder_of(path) + "/.firesteel/*.jsonl"))
    for text, said in [("epoch: 3", f"{file}: epoch: no such parameter; there are epochs (number), name (string)"),
                       ("epochs: s3cret", f"{file}: epochs: it is a number, as 1, not a string"),
                       ("name: [1]", f"{file}: name: it is a string, as \"ann\", not a list"),
                       ("name: 7", f"{file}: name: it is a string"),
                       ("epochs: 1\nepochs: 2", f'{file}: line 2, column 1: the key "epochs" is there twice'),
                       ("- 3", f"{file}: it is no mapping of names to values"),
                       ("{", f"{file}: line 2, column 1: ")]:
        done = given(text, "-f", file)
        assert done.code == 2 and said in done.err and "s3cret" not in done.err, (text, done)
    done = firesteel("run", path, "-f", "/nope/x.yaml")
    assert done.code == 2 and done.err == "firesteel: cannot read /nope/x.yaml: No such file or directory\n", done
    assert len(glob.glob(folder_of(path) + "/.firesteel/*.jsonl")) == runs  # nothing was run
    done = firesteel("-f", file)
    assert done.code == 2 and "a notebook that is named" in done.err, done


def test_a_failure_has_its_cell_line_and_exit_code(t):
    path = notebook(t, FAILS)
    done = firesteel("run", path)
    assert done.code == 1, done
    assert "firesteel: cell 2 (Broken), line 2: attempt to index a nil value" in done.err, done
    assert "[3/3] Never" not in done.out and "1 cell ok, 1 failed, 1 not run" in done.out, done


def test_what_is_wrong_is_said_before_anything_runs(t):
    folder = t.dir()
    cases = [
        ("none.lua", None, "No such file"),
        ("nul.lua", "print(1)\0", "line 1 has a NUL byte"),
        ("latin.lua", "-- %% a\n-- caf\udce9\n", "line 2 is not UTF-8"),
        ("bad.ipynb", "{]", "is not a notebook"),
        ("option.lua", "-- %% a\nx = 1\n\n-- %% b tmieout=\"1s\"\n", "option.lua:4: cell 2 (b): unknown option tmieout; did you mean timeout?"),
        ("magic.lua", "-- %% a\n\n-- %%bsah\nls\n", "magic.lua:3: cell 1 (a): unknown magic %%bsah; did you mean %%bash?"),
    ]
    for name, text, said in cases:
        path = os.path.join(folder, name)
        if text is not None:
            with open(path, "wb") as f:
                f.write(text.encode("utf-8", "surrogateescape"))
        done = firesteel("run", path)
        assert done.code == 2 and said in done.err and name in done.err, (name, done)
    assert not os.path.exists(folder + "/.firesteel")


def test_wrong_usage(t):
    path = notebook(t, SAMPLE)
    for arguments, said in [
        (["rnu"], "did you mean `firesteel run`?"),
        (["run"], "which notebook?"),
        (["run", path, path], "one notebook at a time"),
        (["run", path, "--alow", "cluster"], "did you mean --allow?"),
        (["run", path, "--allow", "all"], "cluster, destructive"),
        (["run", path, "--timeout", "5"], "--timeout"),
        (["run", path, "--timeout", "0s"], "must be more than nothing"),
        (["wait", "--timeout", "0s"], "must be more than nothing"),
        (["run", path, "--redo", "Hello"], "--redo is for --resume or --stale"),
        (["run", path, "-o", "xml"], "plain, json or junit"),
        (["run", path, "--report", "x.pdf"], ".ipynb, .md, .html, .xml or .json"),
        (["run", path, "-p"], "needs a value"),
        (["run", path, "--sandbox=yes"], "it is --sandbox or --sandbox=processes"),
        (["run", path, "--no-git=yes"], "takes no value"),
        (["run", path, "--resume", "gone"], "there is no run gone"),
        (["run", path, "--cwd", path], "Not a directory"),
        (["export"], "to which format?"),
        (["show", "a", "b"], "one run"),
        ([path], "`firesteel run` needs none"),
        ([], "Usage: firesteel "),
    ]:
        done = firesteel(*arguments)
        assert done.code == 2 and said in done.err, (arguments, done)


def test_an_empty_name_is_no_run_and_no_pod(t):
    path = notebook(t, SAMPLE)
    folder = folder_of(path)
    assert firesteel("run", path).code == 0
    for words in (["wait"], ["show"], ["diff"], ["clean"], ["export", "--to", "md"], ["stop"], ["attach"], ["prune", "--pin"],
                  ["run", "sample.lua", "--resume"], ["run", "--from"]):
        done = firesteel(*words, "", cwd=folder)
        assert done.code == 2 and done.out == "" and "the name of a run is empty" in done.err, (words, done)
    for words in (["exec", "", "--", "ls"], ["exec", "deploy/", "--", "ls"], ["port-forward", "", "80"], ["lineage", ""], ["new", ""]):
        done = firesteel(*words, cwd=folder)
        assert done.code == 2 and "which " in done.err, (words, done)
    done = firesteel("cp", "ns/:x", "y", cwd=folder)
    assert done.code == 2 and "it is written POD:PATH" in done.err, done
    assert len(glob.glob(folder + "/.firesteel/*.jsonl")) == 1


def test_show_needs_no_terminal_without_open(t):
    folder = t.dir()
    with open(os.path.join(folder, "n.lua"), "w", encoding="utf-8") as f:
        f.write("-- %%\nprint(1)\n")
    assert sh(FIRESTEEL, "run", "n.lua", cwd=folder).code == 0
    done = sh(FIRESTEEL, "show", "--open", cwd=folder)
    assert done.code == 2 and "not a terminal; `firesteel show n-" in done.err and "firesteel run" not in done.err, done


def test_help_and_version(t):
    done = firesteel("--version")
    assert done.code == 0 and done.out.startswith("firesteel "), done
    done = firesteel("--help")
    assert done.code == 0 and "  run " in done.out and done.err == "", done
    for verb in ["run", "runs", "show", "export", "ls", "stop"]:
        done = firesteel(verb, "--help")
        assert done.code == 0 and f"Usage: firesteel {verb}" in done.out and "--help" in done.out, done
        assert firesteel("help", verb).out == done.out
    for verb in ["runs", "prune"]:  # characters of several bytes take one column
        options = [line for line in firesteel(verb, "--help").out.splitlines() if line.lstrip().startswith("-")]
        assert all(line[36] == " " and line[37] != " " for line in options if len(line) > 37), options


def test_json_is_the_journal(t):
    path = notebook(t, SAMPLE)
    done = firesteel("run", path, "-o", "json")
    assert done.code == 0, done
    events = [json.loads(line) for line in done.out.splitlines()]
    assert events == records(path)
    assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "run" and events[-1]["type"] == "end"


def test_junit(t):
    path = notebook(t, FAILS.replace("x = nil", "x = nil print '<&>'"))
    done = firesteel("run", path, "-o", "junit")
    assert done.code == 1, done
    suite = xml.fromstring(done.out).find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1"), done
    cases = suite.findall("testcase")
    assert cases[0].find("system-out").text == "<&>\n"
    assert "attempt to index" in cases[1].find("failure").get("message")
    assert cases[2].find("skipped") is not None


def test_reports_are_written_also_when_it_fails(t):
    path = notebook(t, FAILS)
    ipynb, md = folder_of(path) + "/r.ipynb", folder_of(path) + "/r.md"
    assert firesteel("run", path, "--report", ipynb).code == 1
    with open(ipynb, encoding="utf-8") as f:
        report = json.load(f)
    cells, metadata = report["cells"], report["metadata"]
    assert cells[1]["outputs"][0]["output_type"] == "error" and cells[1]["execution_count"] == 2
    assert cells[2]["execution_count"] is None and metadata["language_info"]["name"] == "lua", report
    run = metadata["firesteel"]
    assert run["run"] == records(path)[0]["run"] and run["state"] == "failed" and 0 < run["duration"] < 600, run
    assert firesteel("run", path, "--report", md).code == 1
    with open(md, encoding="utf-8") as f:
        text = f.read()
    assert "**failed**" in text and "attempt to index" in text and "*not run*" in text
    done = firesteel("run", path, "--report", "/nonexistent/r.md")
    assert done.code == 2 and "the report /nonexistent/r.md" in done.err, done


def test_secrets_reach_neither_output_nor_journal_nor_report(t):
    path = notebook(t, "-- %% a\nprint('x' .. os.getenv('API_TOKEN') .. 'x')\n!echo $API_TOKEN | base64\n")
    report = folder_of(path) + "/r.ipynb"
    done = firesteel("run", path, "--report", report, env={"API_TOKEN": "t0p-s3cret-t0p"})
    assert done.code == 0 and "x[secret]x" in done.out and "[secret]" in done.out.split("x[secret]x")[1], done
    for file in [report, *glob.glob(folder_of(path) + "/.firesteel/*.jsonl")]:
        with open(file, encoding="utf-8") as f:
            text = f.read()
        assert "t0p-s3cret" not in text and "dDBwLXMzY3JldC" not in text, file
    assert "t0p-s3cret" not in done.out


def test_a_secret_in_the_source_is_masked_and_its_cell_keeps_its_output(t):
    path = notebook(t, "-- %% a\n%env API_TOKEN=t0p-s3cret\n-- %% b\nprint 't0p-s3cret'\nprint 'done'\n")
    report = folder_of(path) + "/r.md"
    done = firesteel("run", path, "--report", report)
    assert done.code == 0 and "t0p-s3cret" not in done.out, done
    for file in [report, *glob.glob(folder_of(path) + "/.firesteel/*.jsonl")]:
        with open(file, encoding="utf-8") as f:
            text = f.read()
        assert "t0p-s3cret" not in text and "done\n" in text.replace("\\n", "\n"), (file, text)
    shown = firesteel("show", cwd=folder_of(path)).out
    assert "[2/2] b\n    [secret]\n    done\n    ok" in shown and "[0/" not in shown, shown


def test_working_folders(t):
    path = notebook(t, "-- %% a\nio.open('made.txt', 'w'):write('x'):close()\n")
    there = t.dir() + "/new/folder"
    assert firesteel("run", path, "--cwd", there).code == 0
    assert os.path.exists(there + "/made.txt") and not os.path.exists(folder_of(path) + "/.firesteel")
    done = firesteel("runs", "--cwd", there)
    assert "sample-" in done.out and "ok" in done.out, done
    assert oct(os.stat(there + "/.firesteel").st_mode & 0o777) == "0o700"


def test_kubeconfigs_are_found_from_where_one_is(t):
    """The notebook works in its own folder; files on the command line and in $KUBECONFIG are those of the shell's."""
    path, here = notebook(t, "print(k8s.whoami())"), os.path.realpath(t.dir())
    for given, env, named in ((("--kubeconfig", "mine"), {}, f"({here}/mine)"),
                              ((), {"KUBECONFIG": "a:/nowhere/b:"}, f"({here}/a:/nowhere/b:)")):
        done = firesteel("run", path, *given, cwd=here, env=env)
        assert done.code == (2 if given else 1) and f"there is no kubeconfig {named}" in done.err, done


def test_a_context_that_there_is_not_is_said_before_anything_runs(t):
    path, here = notebook(t, "print(6 * 7)"), os.path.realpath(t.dir())
    with open(f"{here}/config", "w", encoding="utf-8") as f:
        f.write("""{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}], users: [{name: u, user: {}}],
contexts: [{name: a, context: {cluster: c, user: u}}], current-context: gone}""")
    env = {"KUBECONFIG": "config"}
    for words in ((), ("--detach",), ("-o", "junit")):
        done = firesteel("run", path, "--context", "b", "--report", f"{here}/x.xml", *words, cwd=here, env=env)
        assert done.code == 2 and f'{here}/config: there is no context "b"; there are: a' in done.err and not done.out, done
    assert not os.path.exists(f"{here}/x.xml") and not os.path.exists(os.path.join(folder_of(path), ".firesteel")), os.listdir(here)
    for words in (("--context", "a"), ()):  # what is not named, and not used, is not missed
        done = firesteel("run", path, *words, cwd=here, env=env)
        assert done.code == 0 and "42" in done.out, done


def test_a_folder_that_cannot_be_written(t):
    if os.geteuid() == 0:
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    else:
        user = []
    folder, state = t.dir(), t.dir()
    path = folder + "/ro.lua"
    with open(path, "w", encoding="utf-8") as f:
        f.write("-- %% a\nprint(io.open('near.txt'):read('a'))\n")
    with open(folder + "/near.txt", "w", encoding="utf-8") as f:
        f.write("found it")
    os.chmod(folder, 0o555)
    os.chmod(state, 0o777)
    t.after(lambda: os.chmod(folder, 0o755))
    done = sh(*user, FIRESTEEL, "run", path, env={"XDG_STATE_HOME": state, "HOME": state,
                                                           "FIRESTEEL_RUNTIME_DIR": f"{state}/run"})
    if done.code in (126, 127) or "setpriv" in done.err:
        raise Skip("another user cannot reach the programs of this build folder")
    assert done.code == 0 and "cannot be written; working in " + state in done.err, done
    assert "found it" in done.out, done
    env = {"XDG_STATE_HOME": state, "HOME": state, "FIRESTEEL_RUNTIME_DIR": f"{state}/run"}

    def there(*words):
        return sh(*user, FIRESTEEL, *words, env=env, cwd=folder)
    done = there("runs", "-o", "json")
    listed = json.loads(done.out)
    assert done.code == 0 and [r["notebook"] for r in listed] == [path] and "its runs are in " + state in done.err, done
    for words in (("show",), ("export", "--to", "md"), ("run", "--from", "newest"), ("diff",), ("wait", "newest")):
        done = there(*words)
        assert done.code == 0 and "found it" in done.out + done.err or words[0] in ("wait", "diff"), (words, done)
        assert "There are no runs" not in done.err and done.code == 0, (words, done)
    outside = sh(*user, FIRESTEEL, "show", os.path.basename(folder) + "/ro.lua", env=env, cwd=os.path.dirname(folder))
    assert outside.code == 0 and "found it" in outside.out and "its runs are in " + state in outside.err, outside
    os.chmod(folder, 0o755)
    with open(folder + "/two.lua", "w", encoding="utf-8") as f:
        f.write("-- %%\nx = 1\n")
    os.chmod(folder, 0o555)
    assert there("run", "two.lua").code == 0
    done = there("runs")
    assert "There are no runs" in done.err and "the runs of its notebooks are in " in done.err and "--cwd says which" in done.err, done


def test_a_run_that_goes_on_is_not_resumed(t):
    path = notebook(t, SLOW)
    process = start(path)
    done = firesteel("run", path, "--resume", "last")
    name = records(path)[0]["run"]
    assert done.code == 2 and done.out == "" and "still going on" in done.err and f"firesteel wait {name}" in done.err, done
    assert not [r for r in records(path) if r["type"] == "resumed"]
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20 * PATIENCE)


def test_a_resumed_run_shows_only_what_is_new(t):
    path = notebook(t, "-- %% First\nprint 'one'\n-- %% Second\nerror 'not yet'\n")
    assert firesteel("run", path).code == 1
    with open(path, "w", encoding="utf-8") as f:
        f.write("-- %% First\nprint 'one'\n-- %% Second\nprint 'two'\n")
    done = firesteel("run", path, "--resume", "sample")
    lines = [line for line in done.out.splitlines() if not line.startswith("    ok")]
    assert done.code == 0 and lines[:-1] == ["[1/2] First", "    one", "[2/2] Second", "    two"], done
    assert lines[-1].startswith("ok: 2 cells ok") and "two" in firesteel("show", cwd=folder_of(path)).out, done
    events = firesteel("run", path, "--resume", "sample", "-o", "json").out.splitlines()
    assert [json.loads(e)["seq"] for e in events] == list(range(1, len(events) + 1)), events


def test_a_run_that_ended_before_does_not_hide_that_its_resumed_kernel_was_killed(t):
    path = notebook(t, "error 'not yet'\n")
    assert firesteel("run", path).code == 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(SLOW)
    process = start(path, "--resume", "last", "-o", "json")
    os.kill([record["pid"] for record in records(path) if "pid" in record][-1], signal.SIGKILL)
    out = process.communicate(timeout=20 * PATIENCE)[0]
    assert process.returncode not in (0, 130) and "the kernel ended before the run did" in out, out
    nothing_runs(path)


def test_runs_and_show(t):
    path = notebook(t, SAMPLE)
    folder = folder_of(path)
    empty = firesteel("runs", cwd=folder)
    assert empty.code == 0 and "no runs" in empty.err, empty
    printed = firesteel("run", path).out
    done = firesteel("runs", cwd=folder)
    header, row = done.out.splitlines()
    assert header.split()[:3] == ["RUN", "STATE", "STARTED"] and row.split()[1] == "ok" and "4/4" in row, done
    listed = json.loads(firesteel("runs", "-o", "json", cwd=folder).out)
    assert listed[0]["state"] == "ok" and listed[0]["ok"] == 4, listed
    for name in [[], ["sample"], [listed[0]["run"]]]:
        shown = firesteel("show", *name, cwd=folder)
        assert shown.code == 0 and printed in shown.out, (shown, printed)
    ledger = firesteel("show", "--ledger", cwd=folder)
    assert "local" in ledger.out and "write note.txt" in ledger.out, ledger
    none = firesteel("show", "other", cwd=folder)
    assert none.code == 2 and "there is no run other" in none.err, none


def test_export(t):
    path = notebook(t, SAMPLE)
    folder = folder_of(path)
    firesteel("run", path)
    md = firesteel("export", "--to", "md", cwd=folder)
    assert md.code == 0 and "hello ann\t1\nall steps\n42\n" in md.out, md
    done = firesteel("export", "sample", "-o", "out.ipynb", cwd=folder)
    assert done.code == 0 and done.out == "", done
    with open(folder + "/out.ipynb", encoding="utf-8") as f:
        cells = json.load(f)["cells"]
    assert cells[2]["outputs"][-1]["data"]["text/plain"] == ["42"], cells[2]
    again = firesteel("run", folder + "/out.ipynb", "--cwd", t.dir())
    assert again.code == 0 and "hello ann\t1" in again.out, again


def device(folder, name, minor):
    """A device of our own, if we might replace the system's."""
    path = f"{folder}/{name}"
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
        with open(path, "wb"):
            pass
    except OSError:
        if os.geteuid() == 0:
            raise Skip("no device can be made here") from None
        path = f"/dev/{name}"
    return path


def test_what_is_no_file_is_written_into(t):
    path = notebook(t, SAMPLE)
    folder = folder_of(path)
    firesteel("run", path)
    null = device(folder, "null", 3)
    done = firesteel("export", "--to", "md", "-o", null, cwd=folder)
    assert done.code == 0 and stat.S_ISCHR(os.stat(null).st_mode), done
    with open(folder + "/out.md", "w", encoding="utf-8") as f:
        f.write("before\n")
    done = sh("bash", "-c", '"$0" export --to md -o /dev/stdout >> out.md', FIRESTEEL, cwd=folder)
    assert done.code == 0, done
    with open(folder + "/out.md", encoding="utf-8") as f:
        text = f.read()
    assert text.startswith("before\n") and "hello ann\t1\n" in text, text
    done = sh("bash", "-c", '"$0" export --to md -o >(cat > piped.md; touch all)', FIRESTEEL, cwd=folder)
    eventually(lambda: os.path.exists(folder + "/all"), 10)
    with open(folder + "/piped.md", encoding="utf-8") as f:
        assert done.code == 0 and "hello ann\t1\n" in f.read(), done
    full = firesteel("export", "--to", "md", "-o", device(folder, "full", 7), cwd=folder)
    assert full.code == 1 and "No space left" in full.err, full


def test_a_report_goes_through_a_link_to_a_file(t):
    path = notebook(t, SAMPLE)
    folder = folder_of(path)
    os.mkdir(folder + "/reports")
    os.symlink("reports/real.md", folder + "/report.md")
    done = firesteel("run", path, "--report", folder + "/report.md")
    assert done.code == 2 and "a symbolic link to reports/real.md, which is not there" in done.err, done
    assert not os.path.exists(folder + "/.firesteel"), "nothing was run"
    assert os.path.islink(folder + "/report.md") and not os.listdir(folder + "/reports"), done
    with open(folder + "/reports/real.md", "w", encoding="utf-8"):
        pass
    done = firesteel("run", path, "--report", folder + "/report.md")
    assert done.code == 0 and os.path.islink(folder + "/report.md"), done
    with open(folder + "/reports/real.md", encoding="utf-8") as f:
        assert "hello ann\t1\n" in f.read()


def test_damage_and_newer_journals(t):
    path = notebook(t, SAMPLE)
    folder = folder_of(path)
    firesteel("run", path)
    (journal,) = glob.glob(folder + "/.firesteel/*.jsonl")
    with open(journal, "rb") as f:
        lines = f.read().splitlines(keepends=True)
    with open(journal, "wb") as f:
        f.writelines([lines[0], b"{damaged\n", *lines[2:-1], lines[-1][:20]])
    done = firesteel("show", cwd=folder)
    assert done.code == 1 and "1 line of the journal is damaged and left out: " in done.err and "line 2" in done.err, done
    assert "hello ann" in done.out, done
    assert "killed" in firesteel("runs", cwd=folder).out  # its end is torn
    with open(journal, "wb") as f:
        f.write(b"no journal\nat all\n")
    for verb in (["show"], ["export", "--to", "md"], ["diff", "last", "last"], ["runs"]):
        done = firesteel(*verb, cwd=folder)
        assert done.code in (1, 2) and "no line of this journal can be read; the first: " in done.err, (verb, done)
        assert "1970" not in done.out and "the same" not in done.out, (verb, done)
    assert "unreadable" in done.out, done
    with open(journal, "wb") as f:
        f.write(lines[0].replace(b'"format":1', b'"format":7'))
    for verb in (["show"], ["runs"], ["export", "--to", "md"]):
        done = firesteel(*verb, cwd=folder)
        assert done.code == 1 and "newer firesteel (journal format 7; this one reads 1)" in done.err, done


def test_signals_interrupt_and_stop(t):
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        path = notebook(t, SLOW)
        process = start(path)
        process.send_signal(signum)
        out = process.communicate(timeout=20 * PATIENCE)[0]
        assert process.returncode == 130, (signum, process.returncode, out)
        assert "interrupted: 0 cells ok, 1 interrupted in " in out, out
        nothing_runs(path)
        assert records(path)[-1]["exit"] == 130


def test_a_killed_client_takes_its_run_along(t):
    path = notebook(t, SLOW)
    process = start(path)
    process.kill()
    process.wait()
    nothing_runs(path)
    eventually(lambda: records(path)[-1]["type"] == "end", 10)
    process.stdout.close()


def test_a_reader_that_goes_interrupts(t):
    path = notebook(t, "-- %% a\nprint 'started'\nwhile true do print(('x'):rep(100)) end\n")
    process = start(path)
    process.stdout.close()
    assert process.wait(timeout=30 * PATIENCE) != 0
    nothing_runs(path)


def test_a_killed_kernel_is_told(t):
    path = notebook(t, SLOW + "-- %% Later\nprint 'later'\n")
    folder = folder_of(path)
    process = start(path, "--report", f"{folder}/r.xml", "--report", f"{folder}/r.md")
    shown = firesteel("show", cwd=folder)
    assert "\nrunning: 0 cells ok, 1 running, 1 not run" in shown.out and "killed" not in shown.out, shown
    time.sleep(1.2)  # its record says nothing meanwhile
    row, = json.loads(firesteel("runs", "-o", "json", cwd=folder).out)
    assert row["state"] == "running" and row["seconds"] > 1.1, row
    shown = firesteel("show", cwd=folder).out
    assert re.search(r"running: 0 cells ok, 1 running, 1 not run in [1-9][0-9.]*s ", shown), shown
    os.kill(records(path)[0]["pid"], signal.SIGKILL)
    out = process.communicate(timeout=20 * PATIENCE)[0]
    assert process.returncode not in (0, 130) and "the kernel ended before the run did" in out, out
    nothing_runs(path)
    listed = firesteel("runs", cwd=folder).out
    assert re.search(r" killed .* >[0-9.]+m?s ", listed), listed
    shown = firesteel("show", cwd=folder)
    assert re.search(r"killed: 0 cells ok, 1 killed, 1 not run in [0-9.]+m?s or more ", shown.out), shown
    assert "    started\n    killed\n" in shown.out and "    not run\n" in shown.out, shown
    assert "\nkilled: 0 cells ok, 1 killed, 1 not run" in shown.out and "running" not in shown.out, shown
    exported = firesteel("export", "--to", "md", cwd=folder)
    for text in exported.out, read_text(f"{folder}/r.md"):
        assert "**killed**, 0 of 2 cells passed, 1 killed, 1 not run" in text and "running" not in text, text
    for text in firesteel("export", "--to", "junit", cwd=folder).out, read_text(f"{folder}/r.xml"):
        assert 'message="the run was killed: its journal has no end"' in text, text


def read_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_timeouts(t):
    path = notebook(t, SLOW)
    done = firesteel("run", path, "--timeout", "1s")
    assert done.code == 4 and "timeout" in done.out, done
    done = firesteel("run", notebook(t, "-- %% a timeout=\"500ms\"\nwhile true do end\n"))
    assert done.code == 4, done


def test_effects_need_to_be_allowed(t):
    path = notebook(t, "-- %% a\nprint 'before'\n\n-- %% b effects=\"cluster\"\nk8s.create {}\n")
    done = firesteel("run", path)
    assert done.code == 3 and "--allow" in done.err + done.out and "before" not in done.out, done


def test_detached_runs_are_listed_and_stopped(t):
    path = notebook(t, SLOW)
    began = time.monotonic()
    done = firesteel("run", path, "--detach")
    name = done.out.strip()
    assert done.code == 0 and name.startswith("sample-") and "\n" not in name, done
    assert time.monotonic() - began < 10 * PATIENCE
    row = eventually(lambda: [r for r in firesteel("ls").out.splitlines() if name in r], 10)
    assert folder_of(path) in row[0] and "with its run" in row[0], row
    assert "running" in firesteel("runs", cwd=folder_of(path)).out
    patient = firesteel("wait", name, "--timeout", "100ms", cwd="/")
    assert patient.code == 4 and f"{name} goes on after 100ms" in patient.err, "it is alive in another folder"
    stopped = firesteel("stop", name)
    assert stopped.code == 0 and "stopped" in stopped.out, stopped
    nothing_runs(path)
    assert name not in firesteel("ls").out
    none = firesteel("stop", name)
    assert none.code == 1 and "no kernel runs" in none.err, none
    ended = firesteel("attach", name, cwd=folder_of(path))
    assert ended.code == 1 and f"no kernel runs {name} any more; `firesteel show --open {name}` opens it" in ended.err, ended
    elsewhere = firesteel("attach", name, cwd="/")
    assert elsewhere.code == 1 and "`firesteel ls` lists those" in elsewhere.err, elsewhere


def test_a_socket_whose_name_would_be_too_long_is_named_in_short(t):
    name = "train-resnet50-imagenet-distributed-on-eight-gpus-nightly-with-evaluation-and-export"
    path = notebook(t, SLOW, name + ".lua")
    parent = t.dir()
    env = {"FIRESTEEL_RUNTIME_DIR": parent + "/" + "r" * (88 - len(parent))}
    started = firesteel("run", path, "--detach", env=env)
    assert started.code == 0 and started.out.startswith(name), started
    listed = firesteel("ls", env=env)
    assert started.out.strip() in listed.out, listed
    assert max(len(f) for f in glob.glob(env["FIRESTEEL_RUNTIME_DIR"] + "/*.sock")) <= 107
    stopped = firesteel("stop", name, env=env)
    assert stopped.code == 0 and not glob.glob(env["FIRESTEEL_RUNTIME_DIR"] + "/*.sock"), stopped
    path = notebook(t, SAMPLE)
    env["FIRESTEEL_RUNTIME_DIR"] += "rr"
    for words in (["run", path], ["run", path, "--detach"], ["ls"]):
        done = firesteel(*words, env=env)
        assert done.code == 2 and "89 are the most; set FIRESTEEL_RUNTIME_DIR to a shorter one" in done.err, done
    assert not os.path.exists(env["FIRESTEEL_RUNTIME_DIR"]) and not os.path.exists(folder_of(path) + "/.firesteel")


def read_terminal(fd, process):
    out = b""
    while process.poll() is None or select.select([fd], [], [], 0.1)[0]:
        if not select.select([fd], [], [], 0.1)[0]:
            continue
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        out += piece
    return out.decode("utf-8", "replace")


def on_terminal(path, **env):
    ours, theirs = pty.openpty()
    full = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | env
    process = subprocess.Popen([FIRESTEEL, "run", path], stdin=theirs, stdout=theirs, stderr=theirs,
                               env=full, start_new_session=True)
    os.close(theirs)
    out = read_terminal(ours, process)
    process.wait()
    os.close(ours)
    return out


def test_a_terminal_has_colours_and_lines_redrawn(t):
    path = notebook(t, "-- %% Caf\u00e9\n!for i in 1 2 3; do printf \"at $i\\r\"; sleep 0.2; done; echo all\n")
    out = on_terminal(path, LC_ALL="C.UTF-8")
    assert "\033[1m[1/1] Caf\u00e9\033[0m" in out and "\r\033[2K    at " in out, out
    plain = on_terminal(path, NO_COLOR="1", LC_ALL="C")
    assert "\033[1m" not in plain and "\033[3" not in plain and "Caf?" in plain, plain


def test_output_that_is_not_utf8(t):
    path = notebook(t, "-- %% a\n!printf 'caf\\351\\n'\nio.write('\\xff\\n')\n")
    done = firesteel("run", path)
    assert done.code == 0 and "caf\ufffd" in done.out and "    \ufffd\n" in done.out, done
    assert all(e for e in records(path))


def test_a_full_disk(t):
    folder = t.dir()
    path = notebook(t, "-- %% a\nfor i = 1, 100000 do print(i, ('x'):rep(90)) end\n")
    script = f"mount -t tmpfs -o size=1M tmpfs {folder} && {FIRESTEEL} run {path} --cwd {folder}; " \
             f"{FIRESTEEL} show --cwd {folder}"
    done = sh("unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script)
    if "unshare" in done.err or "mount" in done.err:
        raise Skip("no mount namespaces here: " + done.err.splitlines()[0])
    assert done.out.count("No space left on device") >= 2, done.out[-3000:] + done.err
    assert "failed: 0 cells ok, 1 failed" in done.out, done.out[-3000:]


def test_clean_ups_run_when_a_full_disk_loses_output(t):
    folder, outside = t.dir(), t.dir() # A still prints when its loss is noticed
    path = notebook(t, "-- %% A\nfor i = 1, 100000 do print(i, ('x'):rep(90)) end\n-- %% B\nsh 'touch OUT/b'\n"
                       "-- %% C when=\"always\"\nprint('cleaning')\nsh 'echo c >> OUT/c'\n"
                       "-- %% D when=\"failed\"\nsh 'echo d >> OUT/c'\n".replace("OUT", outside))
    script = f"mount -t tmpfs -o size=1M tmpfs {folder} && {FIRESTEEL} run {path} --cwd {folder} -o json; code=$?; " \
             f"{FIRESTEEL} show --ledger --cwd {folder} >&2; exit $code"
    done = sh("unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script)
    if "unshare" in done.err or "mount" in done.err:
        raise Skip("no mount namespaces here: " + done.err.splitlines()[0])
    events = [json.loads(line) for line in done.out.splitlines()]
    states = [(e["cell"], e["state"]) for e in events if e["type"] == "state" and e["state"] in ("ok", "failed", "cancelled")]
    assert done.code == 1 and [s for _, s in states] == ["cancelled", "failed", "ok", "ok"], (states, done.err)
    assert "No space left" in events[-1]["message"] and events[-1]["exit"] == 1, events[-1]
    with open(outside + "/c", encoding="utf-8") as f:
        assert f.read() == "c\nd\n" and os.listdir(outside) == ["c"]
    assert done.err.count("echo c >>") == 1 and done.err.count("echo d >>") == 1, "what they did is journaled"


def test_a_limit_of_file_sizes(t):
    path = notebook(t, "-- %% a\nfor i = 1, 100000 do print(i, ('x'):rep(90)) end\n")
    done = sh("bash", "-c", f"ulimit -f 1024; {FIRESTEEL} run {path} | tail -c 1000; exit ${{PIPESTATUS[0]}}")
    assert done.code == 1 and "File too large" in done.out, done


def test_without_standard_output(t):
    path = notebook(t, "-- %% a\nprint 'x'\n!echo y > y.txt\n")
    done = sh("bash", "-c", '"$0" run "$1" <&- >&- 2>&-', FIRESTEEL, path)
    assert done.code == 0 and records(path)[-1]["exit"] == 0, done
    for verb in ["--version", "--help", "runs", "show"]:
        done = sh("bash", "-c", '"$0" "$1" > /dev/full', FIRESTEEL, verb, cwd=folder_of(path))
        assert done.code == 1 and "cannot write to standard output" in done.err, (verb, done)


def test_a_full_disk_behind_standard_output_is_what_the_run_fails_by(t):
    for more in ([], ["-o", "json"]):
        path = notebook(t, "-- %% Long\nfor i = 1, 600 do print(i, ('x'):rep(9000)) firesteel.sleep(0.1) end\n"
                           "-- %% Never\nx = 1\n-- %% Clean when=\"always\"\n!echo clean > clean\n")
        done = sh("bash", "-c", '"$0" run "$@" >/dev/full', FIRESTEEL, path, *more)
        said = "cannot write to standard output: No space left on device"
        assert done.code == 1 and re.fullmatch(rf"firesteel: (cell 1 \(Long\)(, line 1)?: )?{said}\n", done.err), done
        end = records(path)[-1]
        assert (end["type"], end["exit"], end["outcome"]) == ("end", 1, "failed") and said in end["message"], end
        assert more or os.path.exists(folder_of(path) + "/clean")  # as JSON it may fail before the first cell
        again = firesteel("wait", cwd=folder_of(path))
        assert again.code == 1 and said in again.err, again
    path = notebook(t, "-- %% Long\nfor i = 1, 600 do print(i, ('x'):rep(9000)) firesteel.sleep(0.1) end\n")
    done = sh("bash", "-c", '"$0" run "$1" | head -1; exit ${PIPESTATUS[0]}', FIRESTEEL, path)
    assert done.code == 130 and records(path)[-1]["outcome"] == "interrupted", done


def test_two_at_once(t):
    path = notebook(t, SAMPLE)
    both = [subprocess.Popen([FIRESTEEL, "run", path, "--cwd", t.dir()], stdout=subprocess.PIPE, text=True)
            for _ in range(2)]
    for process in both:
        out = process.communicate(timeout=60 * PATIENCE)[0]
        assert process.returncode == 0 and "4 cells ok" in out, out


def test_a_reader_that_pauses_gets_everything(t):
    """The kernel does not wait forever for a slow reader; events that it has not sent are in the journal."""
    folder = t.dir()
    with open(os.path.join(folder, "much.lua"), "w", encoding="utf-8") as f:
        f.write("-- %% Much\nfor i = 1, 3000 do display(('%05d '):format(i):rep(100)) end\n"
                "-- %% Last\nprint 'the end'\n")
    run_it = subprocess.Popen([FIRESTEEL, "run", "much.lua"], cwd=folder, stdout=subprocess.PIPE, text=True)
    t.after(run_it.kill)
    journal = eventually(lambda: next(iter(glob.glob(os.path.join(folder, ".firesteel", "much-*.jsonl"))), None))
    eventually(lambda: '"type":"end"' in open(journal, encoding="utf-8").read())
    time.sleep(3)  # longer than the kernel waits for its clients
    out, _ = run_it.communicate(timeout=60 * PATIENCE)
    assert run_it.returncode == 0, run_it.returncode
    assert all(f"{i:05d} {i:05d}" in out for i in range(1, 3001)) and "the end" in out


def test_a_name_that_is_empty_is_said_to_be(t):
    folder = t.dir()
    for verb, said in [(("run",), "the name of the file is empty"), (("run", "--help-notebook"), "the name of the file is empty"),
                       (("check",), "the name of the file is empty"), ((), "the name of the notebook or verb is empty")]:
        done = firesteel(*verb, "", cwd=folder)
        assert done.code == 2 and said in done.out + done.err and "cannot read" not in done.out + done.err, (verb, done)


def test_the_man_page_has_the_verbs_of_the_help(t):
    with open(os.path.join(SOURCE, "cli/install/firesteel.1"), encoding="utf-8") as f:
        page = f.read()
    synopsis = page[page.index(".Sh SYNOPSIS"):page.index(".Sh DESCRIPTION")]
    verbs = re.findall(r"^  ([a-z-]+) +\S", firesteel("--help").out, re.M)
    named = re.findall(r"^\.Nm\n\.Cm (\S+)", synopsis, re.M)
    assert len(verbs) > 20 and sorted(named) == sorted(verbs), (verbs, named)


run(globals())
