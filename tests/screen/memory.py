#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A notebook opens with what its earlier runs have left below its cells: dim, dated, and of the same parameters only."""
import contextlib
import json
import os
import shutil

from bench import folder, kill_kernel, leave, text, workbench
from golden import golden, parse
from journals import NOTEBOOK, PAST, state, stream, write
from tap import FIRESTEEL, eventually, run, sh

os.environ["FIRESTEEL_KEEP"] = "0"  # each opening has a kernel of its own, unless something runs

TWO = """-- %% tags=["parameters"]
lr = 0.1

-- %% One
print("one with " .. lr)

-- %% Two
print("two " .. 1 + 1)
"""
RUN = "small-20260102-140300-7f3a"


def ran(t, source=TWO, *options, name="small.lua"):
    where = folder(t, source, name=name)
    assert sh(FIRESTEEL, "run", name, *options, cwd=where).code in (0, 1)
    return where


def remembered(t, notebook, events, **head):
    """A folder with a notebook and the journal of a run of it."""
    where = folder(t, notebook)
    write(where, RUN, events, notebook=notebook, path=os.path.join(where, "small.lua"), parameters={}, **head)
    return where


def row_of(s, words):
    return next(row for row in s.screen() if words in row)


def test_what_a_headless_run_left_is_there_dim_and_dated(t):
    with workbench(ran(t)) as s:
        s.wait("one with 0.1")
        row = row_of(s, "[2] One")
        assert ", run " in row and "just now" in row, row
        s.keys("j O")
        s.wait("output ")
        assert s.screen()[1] == "one with 0.1", text(s)
        s.keys("q C-r")
        s.wait("[1] One")
        s.wait("● idle")
        assert "ago" not in row_of(s, "[1] One") and "now" not in row_of(s, "[1] One"), text(s)
        assert "just now" in row_of(s, "[3] Two") and "two 2" in text(s), text(s)
        leave(s)


def test_it_looks_pleasant(t):
    for size in "80x24", "120x40":
        where = remembered(t, NOTEBOOK, PAST)
        with workbench(where, size=size, env={"TZ": "UTC"}) as s:
            s.wait("fit 3/3")
            s.keys("G Enter End")
            s.type(" ")
            s.keys("Esc")
            s.wait("[3~]")
            golden(s, "memory-" + size.split("x")[0])
            s.keys("q")
            s.wait("Unsaved")
            s.keys("d")
            s.exit()


def test_after_a_restart_it_is_that_run_s(t):
    with workbench(folder(t, TWO)) as s:
        s.keys("R")
        s.wait("[3] Two")
        s.wait("● idle")
        s.keys("0 0")
        s.wait("restarted")
        s.wait("just now")
        assert "one with 0.1" in text(s) and "just now" in row_of(s, "[3] Two"), text(s)
        s.keys("C-e")
        s.wait("[1] ")
        leave(s)


def test_each_cell_has_what_ran_in_it_last(t):
    where = ran(t, '-- %% One\nprint("one")\n\n-- %% Two\nprint("of two")\n')
    older = sh(FIRESTEEL, "runs", cwd=where).out.splitlines()[1].split()[0][-4:]
    with workbench(where) as s:
        s.wait("[2] Two")
        s.keys("C-e")
        eventually(lambda: older not in row_of(s, "[1] One"))
        s.wait("● idle")
        leave(s)
    with workbench(where) as s:
        s.wait("[2] Two")
        assert older in row_of(s, "[2] Two") and "run " in row_of(s, "[1] One"), text(s)
        assert older not in row_of(s, "[1] One"), text(s)
        leave(s)


def test_what_does_not_hold_any_more_is_said(t):
    source = "-- %% A\nn = #fs.read 'data.txt'\n\n-- %% B\nlr = 0.1\n\n-- %% C\nprint(lr)\n\n-- %% D\nprint 'd'\n"
    where = folder(t, source)

    def put(name, words):
        with open(os.path.join(where, name), "w", encoding="utf-8") as f:
            f.write(words)

    put("data.txt", "abc")
    assert sh(FIRESTEEL, "run", "small.lua", cwd=where).code == 0
    put("data.txt", "abcd")
    put("small.lua", source.replace("0.1", "0.25"))
    with workbench(where, size="120x40") as s:
        s.wait("data.txt has changed")
        s.wait("B is stale")
        for row, why in ("[1~] A", "data.txt has changed"), ("[2~] B", "its text has changed"), ("[3~] C", "B is stale"):
            assert why in row_of(s, row) and "just now" in row_of(s, row), text(s)
        assert "just now" in row_of(s, "[4] D"), text(s)
        s.keys("g s")
        s.wait("│ 0.25")
        s.wait("● idle")
        assert "~]" not in text(s) and "just now" in row_of(s, "[4] D"), text(s)
        s.keys("g s")
        s.wait("no cell is stale")
        leave(s)


def test_what_did_not_hold_when_it_was_left_does_not_hold(t):
    where = folder(t, "-- %% A\nlr = 1\n\n-- %% K\nk = 3\n\n-- %% B\nprint(lr + k)\n\n-- %% C\nprint 'c'\n")
    with workbench(where) as s:
        s.keys("R")
        s.wait("[4] C")
        s.keys("g g Enter End")
        s.type("7")
        s.keys("C-e")
        s.wait("[3~] B")
        s.wait("lr has changed")
        s.keys("Esc s")
        s.wait("saved")
        s.keys("0 0")
        s.wait("restarted")
        s.wait("[3~] B")
        s.wait("lr has changed")
        leave(s)
    with workbench(where) as s:
        s.wait("[3~] B")
        s.wait("lr has changed")
        assert "[5] A" in text(s) and "[2] K" in text(s) and "[4] C" in text(s), text(s)
        s.keys("g s")  # with A and K, whose globals it needs
        s.wait("│ 20")
        s.wait("● idle")
        assert "~]" not in text(s) and "just now" in row_of(s, "[4] C"), text(s)
        leave(s)


def test_other_parameters_have_another_past(t):
    where = ran(t, TWO, "-p", "lr=0.5")
    with workbench(where) as s:
        s.quiet(300)
        assert "│ one" not in text(s), text(s)
        leave(s)
    with workbench(where, "small.lua", "-p", "lr=0.5") as s:
        s.wait("one with 0.5")
        leave(s)
    assert sh(FIRESTEEL, "run", "small.lua", cwd=where).code == 0
    with workbench(where) as s:
        s.wait("one with 0.1")
        assert "0.5" not in text(s), text(s)
        leave(s)


def test_a_parameter_that_was_changed_in_the_notebook_counts(t):
    where = folder(t, TWO)
    with workbench(where) as s:
        s.keys("Enter End Backspace")
        s.type("7")
        s.keys("Esc R")
        s.wait("one with 0.7")
        s.wait("● idle")
        s.keys("s")
        s.wait("saved")
        leave(s)
    with workbench(where) as s:
        s.wait("one with 0.7")
        leave(s)


def test_another_notebook_s_run_is_not_shown(t):
    where = ran(t)
    os.makedirs(os.path.join(where, "sub"))
    with open(os.path.join(where, "sub", "small.lua"), "w", encoding="utf-8") as f:
        f.write(TWO)
    with workbench(where, "sub/small.lua", "--cwd", ".") as s:
        s.quiet(300)
        assert "│ one" not in text(s), text(s)
        leave(s)


def test_it_can_be_left_out_and_cleared(t):
    where = ran(t)
    for argv, env in (("small.lua", "--no-outputs"), None), (("small.lua",), {"FIRESTEEL_OUTPUTS": "off"}):
        with workbench(where, *argv, env=env) as s:
            s.quiet(300)
            assert "│ one" not in text(s) and "just now" not in text(s), text(s)
            leave(s)
    with workbench(where) as s:
        s.wait("two 2")
        s.keys("j j D")
        s.gone("two 2")
        assert "one with" in text(s), text(s)
        leave(s)


def test_what_is_damaged_is_left_out(t):
    source = '-- %% A id="a"\n1\n\n-- %% B id="b"\n2\n'
    where = remembered(t, source, [
        (1, state("a", "running", count=1)), (2, stream("a", "of a, first\n")), (3, stream("a", "of a, then\n")),
        (4, state("a", "ok")), (5, state("b", "running", count=2)), (6, stream("b", "of b\n"))])
    path = os.path.join(where, ".firesteel", RUN + ".jsonl")
    with open(path, encoding="utf-8") as f:
        rows = f.read().splitlines()
    rows[2] = rows[2][:-9] + "\x01\x02"
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + '\n{"type":"stream","cell":"b","na')
    with workbench(where) as s:
        s.wait("of b")
        assert "of a, then" in text(s) and "of a, first" not in text(s), text(s)
        leave(s)
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"type":"run","format":99}\n')
    with workbench(where) as s:
        s.quiet(200)
        assert "[ ] A" in text(s), text(s)
        leave(s)


def test_of_much_output_the_end_is_shown_and_all_can_be_read(t):
    where = ran(t, '-- %% Much\nfor i = 1, 60000 do print("line " .. i) end\n')
    with workbench(where) as s:
        s.wait("59976 more lines above")
        s.keys("O")
        s.wait("of 60000 lines")
        s.keys("G")
        s.wait("line 60000")
        s.keys("q")
        leave(s)


def code(name, source, count, *outputs):
    return {"cell_type": "code", "id": name, "metadata": {}, "source": [source], "execution_count": count, "outputs": list(outputs)}


FROM_JUPYTER = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "lua", "display_name": "Lua", "language": "lua"}}, "cells": [
    code("one", 'print "now"', 4, {"output_type": "stream", "name": "stdout", "text": ["then\n", "and then\n"]}),
    code("two", "6 * 7", 5, {"output_type": "execute_result", "execution_count": 5, "metadata": {}, "data": {
        "text/plain": ["forty", "-two"], "image/png": "iVBORw0KGgo="}}),
    code("three", "error 'x'", 6, {"output_type": "error", "ename": "Broken", "evalue": "it broke", "traceback": ["line one"]}),
    code("four", "1", None),
    code("odd", "2", 7, None, 5, {"output_type": "display_data", "data": ["x"]}, {"output_type": "stream", "text": 5},
         {"output_type": "display_data", "data": {"text/plain": [1]}})]}


def test_a_newline_at_the_end_of_an_ipynb_s_text_is_no_change(t):
    cell = dict(code("one", "x = 5\n", 4), outputs=[{"output_type": "stream", "name": "stdout", "text": ["five\n"]}])
    where = folder(t, json.dumps({**FROM_JUPYTER, "cells": [cell]}), name="small.ipynb")
    with workbench(where, "small.ipynb") as s:
        s.wait("from the file")
        assert "its text has changed" not in text(s), text(s)
    assert sh(FIRESTEEL, "run", "small.ipynb", cwd=where).code == 0
    with workbench(where, "small.ipynb") as s:
        s.wait(", run ")
        assert "its text has changed" not in text(s), text(s)


def test_outputs_of_an_ipynb_are_shown_and_saved(t):
    where = folder(t, json.dumps(FROM_JUPYTER), name="small.ipynb")

    def saved(s):
        os.utime(os.path.join(where, "small.ipynb"), (0, 0))
        s.keys("C-s")
        eventually(lambda: os.stat(os.path.join(where, "small.ipynb")).st_mtime > 1000)
        with open(os.path.join(where, "small.ipynb"), encoding="utf-8") as f:
            return {c["id"]: (c["execution_count"], c["outputs"]) for c in json.load(f)["cells"]}

    was = {c["id"]: (c["execution_count"], c["outputs"]) for c in FROM_JUPYTER["cells"]}
    with workbench(where, "small.ipynb", size="100x40") as s:
        s.wait("it broke")
        shown = text(s)
        for part in "and then", "forty-two", "[4]", "[5]", "[6]", "[ ]", "from the file", "failed":
            assert part in shown, (part, shown)
        assert saved(s) == was
        s.keys("C-e")
        s.wait("│ now")
        s.gone("and then")
        now = saved(s)
        assert now["one"] == (1, [{"output_type": "stream", "name": "stdout", "text": ["now\n"]}]), now
        assert {**now, "one": was["one"]} == was, now
        s.keys("0 0")
        s.wait("restarted")
        s.wait("● idle")
        assert saved(s) == now
        s.keys("j C-e")
        s.wait("│ 42")
        after = saved(s)
        assert after["two"][1][0]["data"]["text/plain"] == ["42"] and after["two"][1][0]["output_type"] == "execute_result", after
        assert after["one"] == now["one"] and after["three"] == was["three"], after
        s.keys("j D")
        s.gone("it broke")
        cleared = saved(s)
        assert cleared["three"] == (None, []) and cleared["odd"] == was["odd"] and cleared["two"] == after["two"], cleared
        leave(s)
    with workbench(where, "small.ipynb", size="100x40") as s:
        s.wait("│ 42")
        assert "│ now" in text(s) and "it broke" not in text(s), text(s)
        leave(s)
    with workbench(where, "--no-outputs", "small.ipynb", size="100x40") as s:
        s.quiet(300)
        assert "│ 42" not in text(s), text(s)
        leave(s)


def shows_as(name, data):
    return code(name, "1", 1, {"output_type": "display_data", "metadata": {}, "data": data})


def test_outputs_of_an_ipynb_without_a_text_say_what_they_are(t):
    page = ["<style>p { color: red }</style>\n<h2>A &lt;heading&gt;</h2><script>bad()</script>\n",
            "<table>\n <tr><th>a</th><th>b</th></tr>\n <tr><td>1&nbsp;x</td><td>&#x6f22;</td></tr></table>"]
    cells = [shows_as("picture", {"image/png": "iVBORw0KGgo=" * 1024}), shows_as("page", {"text/html": page}),
             shows_as("empty", {"text/html": "<img src=x>"}), shows_as("formula", {"text/latex": ["$x^2$"]}),
             shows_as("json", {"application/json": {"a": 7}}), shows_as("words", {"text/markdown": "*some words*"})]
    where = folder(t, json.dumps({**FROM_JUPYTER, "cells": cells}), name="small.ipynb")
    with workbench(where, "small.ipynb", size="100x50") as s:
        s.wait("image/png, 9.0 KB")
        s.wait("some words")
        for part in ("A <heading>", "a  b", "1 x  漢", "text/html, 11 bytes", "$x^2$", '"a"'):
            assert f"│ {part}" in text(s) or part == '"a"' and part in text(s), (part, text(s))
        assert "bad()" not in text(s) and "color" not in text(s), text(s)
        s.keys("O")
        s.wait("image/png, 9.0 KB")
        s.keys("q")
        leave(s)


def test_what_only_an_ipynb_has_survives_restart_undo_and_a_lost_kernel(t):
    rich = json.loads(json.dumps(FROM_JUPYTER))
    rich["metadata"].update(language_info={"name": "lua"}, widgets={"w": {"x": 1}}, authors=[{"name": "n"}])
    rich["cells"][0]["metadata"]["mine"] = 1
    rich["cells"].insert(1, {"cell_type": "markdown", "id": "words", "metadata": {}, "source": ["%% of others"],
                             "attachments": {"x.png": {"image/png": "iVBORw0KGgo="}}})
    where = folder(t, json.dumps(rich), name="small.ipynb")
    path = os.path.join(where, "small.ipynb")

    def saved(s):
        os.utime(path, (1, 1))
        s.type(":w!")
        s.keys("Enter")
        eventually(lambda: os.stat(path).st_mtime > 1000)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    with workbench(where, "small.ipynb", size="100x40") as s:
        s.wait("it broke")
        want = saved(s)
        assert want["metadata"]["widgets"] == {"w": {"x": 1}} and want["cells"][1]["attachments"], want
        s.keys("0 0")
        s.wait("restarted")
        s.wait("● idle")
        assert "small.ipynb +" not in text(s), text(s)
        assert saved(s) == want
        s.keys("j d d")
        s.gone("of others")
        s.keys("z")
        s.wait("of others")
        assert saved(s) == want
        kill_kernel(where)
        s.wait("● gone")
        now = saved(s)
        s.wait("without a kernel")
        assert now == want, now
        leave(s)


def ipynb(path):
    with open(path, encoding="utf-8") as f:
        return {c["id"]: (c.get("execution_count"), c.get("outputs")) for c in json.load(f)["cells"]}


def write_out(s, path):
    os.utime(path, (1, 1))
    s.type(":w!")
    s.keys("Enter")
    eventually(lambda: os.stat(path).st_mtime > 1000)
    return ipynb(path)


NOW = (1, [{"output_type": "stream", "name": "stdout", "text": ["now\n"]}])


@contextlib.contextmanager
def first_cell_has_run(t):
    """The workbench on FROM_JUPYTER after its first cell; its folder, its file, and what that had before."""
    where = folder(t, json.dumps(FROM_JUPYTER), name="small.ipynb")
    path = os.path.join(where, "small.ipynb")
    was = ipynb(path)
    with workbench(where, "small.ipynb", size="100x40") as s:
        s.wait("it broke")
        s.keys("C-e")
        s.wait("│ now")
        yield s, where, path, was
        leave(s)


def journals(where):
    kept = os.path.join(where, ".firesteel")
    return [os.path.join(kept, n) for n in os.listdir(kept) if n.endswith(".jsonl")]


def restart(s):
    s.keys("0 0")
    s.wait("restarted")
    s.wait("● idle")


def test_unsaved_outputs_of_an_ipynb_survive_restarts(t):
    with first_cell_has_run(t) as (s, _, path, was):
        s.keys("j j D")
        s.gone("it broke")
        s.wait("small.ipynb +")  # the file still has what D removed
        for _ in range(2):
            restart(s)
            s.quiet(100)
            assert "│ now" in text(s) and "it broke" not in text(s) and "small.ipynb +" in text(s), text(s)
            assert ipynb(path) == was, "nothing was saved"
            s.keys("k")
            s.gone("restarted")  # so that the next line is not taken for this one
        now = write_out(s, path)
        assert now == {**was, "one": NOW, "three": (None, [])}, now
        restart(s)
        assert write_out(s, path) == now, "a save before the restart counts"


def test_a_cell_of_an_ipynb_deleted_before_a_restart_has_its_outputs_again(t):
    with first_cell_has_run(t) as (s, _, path, was):
        s.keys("d d")
        s.gone("│ now")
        s.keys("d d")
        s.gone("forty-two")
        restart(s)
        s.keys("z")
        s.wait("forty-two")
        s.keys("z")
        s.wait("│ now")
        assert write_out(s, path) == {**was, "one": NOW}


def test_without_a_kernel_an_ipynb_is_saved_as_it_is_shown(t):
    with first_cell_has_run(t) as (s, where, path, was):
        restart(s)
        s.keys("j C-e")
        s.wait("│ 42")
        s.keys("j D")
        s.gone("it broke")
        kill_kernel(where)
        s.wait("● gone")
        now = write_out(s, path)
        assert now["one"] == NOW and now["two"][1][0]["data"]["text/plain"] == ["42"] and now["three"] == (None, []), now
        assert now["odd"] == was["odd"] and now["four"] == was["four"], now


def test_another_kernel_saves_what_the_lost_one_has_left(t):
    with first_cell_has_run(t) as (s, where, path, was):
        kill_kernel(where)
        s.wait("● gone")
        s.keys("0 0")
        s.wait("● idle")
        s.quiet(100)
        assert "│ now" in text(s), text(s)
        assert write_out(s, path) == {**was, "one": NOW}


def test_outputs_without_an_execution_count_have_no_number(t):
    uncounted = json.loads(json.dumps(FROM_JUPYTER))
    uncounted["cells"][0]["execution_count"] = None
    where = folder(t, json.dumps(uncounted), name="small.ipynb")
    with workbench(where, "small.ipynb", size="100x40") as s:
        s.wait("and then")
        assert "[1]" not in text(s) and "[5]" in text(s), text(s)
        leave(s)


def test_a_save_says_when_the_runs_journal_cannot_be_read(t):
    with first_cell_has_run(t) as (s, where, path, was):
        (journal,) = journals(where)
        os.unlink(journal)
        now = write_out(s, path)
        s.wait("with the outputs that its file had")
        assert now == was, now


def test_a_saved_ipynb_hides_what_was_told_after_a_restart(t):
    cells = [code("say", 'print("the words are open-" .. "the-gate")', None), code("tell", 'secret "OPENING_PHRASE"', None)]
    where = folder(t, json.dumps({**FROM_JUPYTER, "cells": cells}), name="small.ipynb")
    path = os.path.join(where, "small.ipynb")
    hidden = (1, [{"output_type": "stream", "name": "stdout", "text": ["the words are [secret]\n"]}])
    with workbench(where, "small.ipynb", size="100x40", env={"OPENING_PHRASE": "open-the-gate"}) as s:
        s.keys("C-e")
        s.wait("│ the words are open-the-gate")
        restart(s)
        s.keys("j C-e")
        s.wait("│ [secret]")
        assert write_out(s, path)["say"] == hidden
        for journal in journals(where):
            os.unlink(journal)
        assert write_out(s, path)["say"] == hidden, "not even when no journal can be read"
        leave(s)


def without_spools(where):
    for journal in journals(where):
        shutil.rmtree(journal[:-len(".jsonl")])


def test_an_output_that_cannot_be_read_leaves_what_the_file_had(t):
    for lost in False, True:
        much = json.loads(json.dumps(FROM_JUPYTER))
        much["cells"][0]["source"] = ['for i = 1, 9000 do print("line number " .. i) end']
        where = folder(t, json.dumps(much), name="small.ipynb")
        path = os.path.join(where, "small.ipynb")
        was = ipynb(path)
        with workbench(where, "small.ipynb", size="100x40") as s:
            s.keys("C-e")
            s.wait("│ line number 9000")
            if lost:
                kill_kernel(where)
                s.wait("● gone")
                without_spools(where)
            else:
                without_spools(where)
                restart(s)
            assert write_out(s, path) == was
            s.wait("with the outputs that its file had")
            leave(s)


def test_restarts_in_which_nothing_ran_lose_nothing(t):
    with first_cell_has_run(t) as (s, _, path, was):
        for _ in range(9):
            restart(s)
            s.keys("k")
            s.gone("restarted")
        assert "│ now" in text(s), text(s)
        assert write_out(s, path) == {**was, "one": NOW}


run(globals())
