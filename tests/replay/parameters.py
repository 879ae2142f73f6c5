#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Parameters that are lists and tables: from files, -y and -p, in the record, on a resume; --help-notebook."""
import json
import os

from tap import FIRESTEEL, run, sh

NOTEBOOK = """\
-- %% parameters tags=["parameters"]
lr = 0.1 -- the learning rate
sizes = {32, 16} -- of the layers
model = {
  name = "wide",
  login = { password = "none" },
}
-- %% Show
print(lr, #sizes, table.concat(sizes, "+"), model.name, model.deep and model.deep[2])
-- %% Config template="config.yaml"
name: ${model.name}
sizes: [${table.concat(sizes, ", ")}]
-- %% Maybe
local f = io.open "stop"
if f then error "told to" end
"""


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


def folder_with(t):
    folder = t.dir()
    write(folder, "n.lua", NOTEBOOK)
    write(folder, "usual.yaml", "lr: 0.5\nsizes: [1, 2, 3]\nmodel:\n  name: from a file\n  deep: [a, b]\n")
    return folder


def firesteel(folder, *arguments, **options):
    return sh(FIRESTEEL, *arguments, cwd=folder, **options)


def first_record(done):
    return json.loads(done.out.split("\n", maxsplit=1)[0])


def test_they_come_from_files_and_the_command_line(t):
    folder = folder_with(t)
    done = firesteel(folder, "run", "n.lua", "-f", "usual.yaml")
    assert done.code == 0 and "0.5\t3\t1+2+3\tfrom a file\tb" in done.out, done
    with open(folder + "/config.yaml", encoding="utf-8") as f:
        assert f.read() == "name: from a file\nsizes: [1, 2, 3]\n"
    done = firesteel(folder, "run", "n.lua", "-p", "sizes=[7]", "-p", "model={name: typed}")
    assert done.code == 0 and "0.1\t1\t7\ttyped\tnil" in done.out, done


def test_the_more_special_wins_as_with_papermill(t):
    folder = folder_with(t)
    done = firesteel(folder, "run", "n.lua", "-p", "lr=0.9", "-y", "{lr: 0.7, sizes: [5]}", "-f", "usual.yaml", "-o", "json")
    assert done.code == 0, done
    record = first_record(done)
    assert record["parameters"] == {"lr": 0.9, "sizes": [5], "model": {"name": "from a file", "deep": ["a", "b"]}}, record
    assert record["given"] == record["parameters"], record
    shown = firesteel(folder, "show").out
    assert "sizes = [5]" in shown, shown


def test_what_gives_them_is_not_counted_as_a_cell(t):
    folder = folder_with(t)
    ends = [json.loads(firesteel(folder, "run", "n.lua", "-o", "json", *given).out.splitlines()[-1]) for given in ((), ("-p", "lr=0.9"))]
    assert [end["type"] for end in ends] == ["end", "end"] and ends[0]["ok"] == ends[1]["ok"] > 0, ends


def test_a_resume_gives_them_again(t):
    folder = folder_with(t)
    write(folder, "stop", "")
    done = firesteel(folder, "run", "n.lua", "-p", "sizes=[7, 8]", "-o", "json")
    assert done.code == 1, done
    os.remove(folder + "/stop")
    done = firesteel(folder, "run", "n.lua", "--resume", first_record(done)["run"])
    assert done.code == 0 and "0.1\t2\t7+8\twide" in done.out, done


def test_what_does_not_fit_is_refused(t):
    folder = folder_with(t)
    write(folder, "wrong.yaml", "sizes: {a: 1}\n")
    for words, arguments in (("it is a list, as {32, 16}: write [1, 2]", ["-p", "sizes=3"]),
                             ("wrong.yaml: sizes: it is a list, as {32, 16}, not a mapping", ["-f", "wrong.yaml"]),
                             ("a null in it", ["-y", "{sizes: [null]}"]),
                             ("-y: it is no mapping", ["-y", "[1]"]),
                             ("-y: lr: it is a number, as 0.1, not a list", ["-y", "{lr: [1]}"])):
        done = firesteel(folder, "run", "n.lua", *arguments)
        assert done.code == 2 and words in done.err, done
    assert not os.path.exists(folder + "/.firesteel"), "nothing was run"


def test_a_secret_in_a_table_is_masked(t):
    folder = folder_with(t)
    done = firesteel(folder, "run", "n.lua", "-p", "model={name: hunter2-hunter2, login: {password: hunter2-hunter2}}", "-o",
                     "json", "--report", "out.html", "--report", "out.ipynb")
    assert done.code == 0, done
    assert "hunter2" not in done.out and first_record(done)["parameters"]["model"]["login"]["password"] == "[secret]", done
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), encoding="utf-8") as f:
                assert "hunter2" not in f.read() or name == "config.yaml", name


def test_a_secret_number_is_masked(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% parameters tags=["parameters"]\npin_token = 0\n-- %% Show\nprint("n" .. pin_token)\nerror "stop"\n')
    for number in "2002156", "9007199254740993":
        done = firesteel(folder, "run", "n.lua", "-p", f"pin_token={number}", "-o", "json")
        assert done.code == 1 and number not in done.out, done
        assert first_record(done)["parameters"] == first_record(done)["given"] == {"pin_token": "[secret]"}, done
        run_ = first_record(done)["run"]
        with open(f"{folder}/.firesteel/{run_}.jsonl", encoding="utf-8") as f:
            assert number not in f.read(), number
        assert "parameter pin_token" in firesteel(folder, "run", "n.lua", "--resume", run_).err
        again = firesteel(folder, "run", "n.lua", "--resume", run_, "-p", f"pin_token={number}")
        assert again.code == 1 and "parameter pin_token" not in again.err and "stop" in again.err, again


def test_help_notebook_lists_them(t):
    folder = folder_with(t)
    done = firesteel(folder, "run", "n.lua", "--help-notebook")
    assert done.code == 0 and done.out == """\
Parameters of n.lua, given with -p NAME=VALUE, -y YAML or -f FILE:
  lr: number (default 0.1)                    the learning rate
  sizes: list (default {32, 16})              of the layers
  model: table (default {"name":"wide","login":{"password":"[secret]"}})
""", done
    found = json.loads(firesteel(folder, "run", "n.lua", "--help-notebook", "-o", "json").out)
    assert found[1] == {"name": "sizes", "type": "list", "default": [32, 16], "help": "of the layers"}, found
    assert found[2]["default"] == {"name": "wide", "login": {"password": "[secret]"}}, found
    assert not os.path.exists(folder + "/.firesteel"), "nothing was run"
    write(folder, "none.lua", "-- %%\nprint(1)\n")
    done = firesteel(folder, "run", "none.lua", "--help-notebook")
    assert done.code == 0 and "none.lua has no parameters: no cell is tagged" in done.out, done
    assert firesteel(folder, "run", "nowhere.lua", "--help-notebook").code == 2


def test_help_notebook_hides_secrets(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% parameters tags=["parameters"]\ndb_password = "hunter2-hunter2" -- of the database\n'
          'api_token = ""\nlogins = { api_token = { "hunter2-a", "hunter2-b" } }\n')
    done = firesteel(folder, "run", "n.lua", "--help-notebook")
    assert done.code == 0 and "hunter2" not in done.out and "db_password: string (default [secret])" in done.out, done
    assert 'api_token: string (default "")' in done.out, done
    found = json.loads(firesteel(folder, "run", "n.lua", "--help-notebook", "-o", "json").out)
    assert [p["default"] for p in found][:2] == ["[secret]", ""] and "hunter2" not in str(found), found


def test_what_is_refused_hides_secrets(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% parameters tags=["parameters"]\ndb_password = "hunter2-hunter2"\nconf = { api_token = "hunter2-a" }\n'
          "pin_token = 20021\nkeys = { api_key = { 'hunter2-b' } }\n-- %%\nprint(1)\n")
    write(folder, "wrong.yaml", "db_password: 5\n")
    for words, arguments in (("-p conf: it is a table, as {\"api_token\":\"[secret]\"}: write", ["-p", "conf=x"]),
                             ("not a list", ["-p", "conf=[1]"]), ("write", ["-p", "keys=1"]), ("", ["-p", "conf={}", "-p", "conf=x"]),
                             ("-y: db_password: it is a string, as [secret], not a number", ["-y", "db_password: 5"]),
                             ("as [secret]", ["-f", "wrong.yaml"]),
                             ('pin_token: it is a number, as [secret], not "[secret]"', ["-p", "pin_token=hunter2"])):
        done = firesteel(folder, "run", "n.lua", *arguments)
        assert done.code == 2 and words in done.err and "hunter2" not in done.err and "20021" not in done.err, done


def test_control_characters_are_the_value(t):
    folder = t.dir()
    write(folder, "n.lua", '-- %% parameters tags=["parameters"]\nname = "\\27[0m \\x41\\9é"\n-- %% Show\nprint((("%q"):format(name)))\n')
    value = "a\tb\rc\x1b[1m\x7fd"
    done = firesteel(folder, "run", "n.lua", "-p", f"name={value}", "-o", "json")
    assert done.code == 0 and first_record(done)["parameters"]["name"] == value, done
    listed = json.loads(firesteel(folder, "runs", "-o", "json").out)
    assert listed[0]["params"]["name"] == value, listed
    again = firesteel(folder, "run", "--from", "newest")
    assert again.code == 0 and '"a\\9b\\13c\\27[1m\\127d"' in again.out, again
    stale = firesteel(folder, "run", "n.lua", "--stale", "-p", f"name={value}")
    assert stale.code == 0 and "round" not in stale.err, stale
    found = json.loads(firesteel(folder, "run", "n.lua", "--help-notebook", "-o", "json").out)
    assert found[0]["default"] == "\x1b[0m A\té", found


def test_a_number_that_no_journal_has_is_refused(t):
    folder = folder_with(t)
    for arguments in (["-p", "lr=1e400"], ["-p", "lr=inf"], ["-y", "lr: 1e400"], ["-y", "lr: .inf"]):
        done = firesteel(folder, "run", "n.lua", *arguments)
        assert done.code == 2 and not os.path.exists(folder + "/.firesteel"), (arguments, done)


run(globals())
