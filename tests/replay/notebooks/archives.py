#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Notebooks of other programs: those in the source archives of jupytext, nbclient and papermill (PyPI), both ways, and
beside jupytext. `archives.py --compare FOLDER OUT` is run by the Python that has jupytext: FOLDER has pairs N.ipynb and
N.EXT (our text of it); OUT gets what jupytext makes and reads of them."""
import functools
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

EXTENSIONS = {"python": "py", "r": "R", "julia": "jl", "lua": "lua", "bash": "sh", "javascript": "js", "typescript": "ts",
              "rust": "rs", "scala": "scala", "java": "java", "go": "go", "c#": "cs", "f#": "fsx", "groovy": "groovy",
              "haskell": "hs", "powershell": "ps1", "scheme": "ss", "clojure": "clj", "sage": "sage", "tcl": "tcl",
              "xonsh": "xsh", "gnuplot": "gp", "coconut": "coco", "sos": "sos", "idl": "pro", "matlab": "m", "stata": "do",
              "q": "q", "logtalk": "lgt", "c++11": "cpp", "c++17": "cpp", "c++": "cpp"}


def extension(metadata):
    said = (metadata.get("kernelspec", {}).get("language") or metadata.get("language_info", {}).get("name") or
            metadata.get("jupytext", {}).get("main_language") or "python")
    return EXTENSIONS.get(said.lower())


def compare(folder, out):
    import warnings

    import jupytext
    warnings.simplefilter("ignore")
    found = []

    def cells(notebook):
        return [(c.cell_type, c.source) for c in notebook.cells]
    for path in sorted(glob.glob(folder + "/*.*")):
        stem, ext = path.rsplit(".", 1)
        form, source = ext + ":percent", stem + ".ipynb"
        if ext in ("ipynb", "theirs"):
            continue
        with open(path, encoding="utf-8", newline="") as f:
            ours = f.read()
        one = {"path": path, "read": cells(jupytext.reads(ours, fmt=form))}
        if os.path.exists(source):
            theirs = jupytext.writes(jupytext.read(source), fmt=form)
            one.update(same=theirs.rstrip("\n") == ours.rstrip("\n"), theirs=theirs,
                       reread=cells(jupytext.reads(theirs, fmt=form)))
        found.append(one)
    with open(out, "w", encoding="utf-8") as f:
        json.dump(found, f)


if len(sys.argv) == 4 and sys.argv[1] == "--compare":
    compare(*sys.argv[2:])
    sys.exit(0)

from tap import BUILD, CACHE, FIRESTEEL, Skip, run, sh  # noqa: E402

ARCHIVES = os.path.join(CACHE, "archives")
CONVERT = os.path.join(BUILD, "tests", "replay", "notebook-convert")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def read(path):
    with open(path, "rb") as f:
        return f.read()


@functools.cache
def notebooks():
    """Those that a reader can take: nbformat 4, and valid."""
    if not os.path.isdir(ARCHIVES):
        raise Skip("no archives in the cache: tests/support/tools CACHE fetches them")
    found = sorted(glob.glob(ARCHIVES + "/**/*.ipynb", recursive=True))
    assert len(found) > 100, len(found)
    return found


def lacks_ids(j):
    """nbformat 4.5 wants ids; a file without them gets some, so all of it changes."""
    return (j["nbformat"], j["nbformat_minor"]) >= (4, 5) and not all("id" in c for c in j["cells"])


def cells(j):
    return [[c["cell_type"], "".join(c["source"])] for c in j["cells"]]


def last_cell(text):
    """Where it begins in the text of an .ipynb."""
    at = text.index("[", text.index('"cells"')) + 1
    while True:
        start = at + len(text[at:]) - len(text[at:].lstrip())
        at = json.JSONDecoder().raw_decode(text, start)[1]
        rest = text[at:].lstrip()
        if rest[0] == "]":
            return start
        at = len(text) - len(rest) + 1


@functools.cache
def texts():
    """(what firesteel wrote of each notebook, what jupytext said of it, what firesteel said)"""
    folder, said = tempfile.mkdtemp(prefix="firesteel-test-"), {}
    for number, path in enumerate(notebooks()):
        j = load(path)
        ext = extension(j["metadata"])
        kernel = j["metadata"].get("kernelspec", {"name": "", "display_name": ""})
        if not ext or not {"name", "display_name"} <= set(kernel):
            continue  # a language whose comments have two ends; metadata that jupytext refuses
        text = f"{folder}/{number}.{ext}"
        done = sh(FIRESTEEL, "convert", path, "-o", text)
        if done.code == 2 and "does not say which language" in done.err:
            continue
        assert done.code == 0, (path, done)
        shutil.copy(path, f"{folder}/{number}.ipynb")
        said[text] = done.err
    subprocess.run([os.path.join(CACHE, "venv", "bin", "python"), __file__, "--compare", folder, folder + "/all.theirs"], check=True)
    return folder, load(folder + "/all.theirs"), said


def test_an_ipynb_that_is_saved_has_the_same_bytes(t):
    folder, same = t.dir(), 0
    for path in notebooks():
        done = sh(CONVERT, path, f"{folder}/x.ipynb")
        assert done.code == 0, (path, done)
        is_same = read(f"{folder}/x.ipynb") == read(path)
        assert is_same or lacks_ids(load(path)), path
        same += is_same
    print(f"# saved with the same bytes: {same} of {len(notebooks())}")


def test_an_edit_of_one_cell_changes_that_cell_alone(t):
    folder, copy = t.dir(), None
    for path in notebooks():
        was = load(path)
        if lacks_ids(was) or not was["cells"]:
            continue
        copy = f"{folder}/x.ipynb"
        assert sh(CONVERT, "--edit", path, copy).code == 0, path
        now = load(copy)
        last = was["cells"].pop(), now["cells"].pop()
        assert was == now and last[0] != last[1], path
        assert "".join(last[1]["source"]) == "".join(last[0]["source"]) + "\nmore", path
        before, after = (read(p).decode() for p in (path, copy))
        start = last_cell(before)
        assert before[:start] == after[:start], path
        rest = before[json.JSONDecoder().raw_decode(before, start)[1]:]
        assert after.endswith(rest), path


def test_texts_are_those_of_jupytext(t):
    _, theirs, _ = texts()
    same, count, equal = sum(one["same"] for one in theirs), 0, 0
    for one in theirs:
        count += len(one["reread"])
        equal += sum(a == b for a, b in zip(one["read"], one["reread"]))
    print(f"# text files with the bytes of jupytext's: {same} of {len(theirs)}; cells that jupytext reads in ours as in its own: {equal} of {count}")
    assert same >= 0.94 * len(theirs) and equal >= 0.995 * count


def test_texts_of_jupytext_are_read_as_jupytext_reads_them(t):
    folder, theirs, _ = texts()
    same = 0
    for one in theirs:
        path = os.path.join(folder, "theirs." + one["path"].rsplit(".", 1)[1])
        with open(path, "w", encoding="utf-8", newline="") as f:
            f.write(one["theirs"])
        done = sh(FIRESTEEL, "convert", path, "--to", "ipynb", "-o", "-")
        assert done.code == 0, (one["path"], done)
        same += cells(json.loads(done.out)) == one["reread"]
    print(f"# texts of jupytext read as it reads them: {same} of {len(theirs)}")
    assert same >= len(theirs) - 1  # gonb's %% is spelled otherwise


def test_sources_are_back_after_both_ways_or_it_is_said(t):
    folder, theirs, said = texts()
    for one in theirs:
        done = sh(FIRESTEEL, "convert", one["path"], "--to", "ipynb", "-o", "-")
        was, now = load(one["path"].rsplit(".", 1)[0] + ".ipynb"), json.loads(done.out)
        if cells(was) != cells(now):
            assert "otherwise" in said[one["path"]] or "marker" in said[one["path"]], (one["path"], said[one["path"]])


def test_percent_files_of_jupytext_are_read_as_jupytext_reads_them(t):
    notebooks()
    folder, same, count = t.dir(), 0, 0
    files = sorted(glob.glob(ARCHIVES + "/jupytext-*/tests/data/notebooks/outputs/ipynb_to_percent/*"))
    for number, path in enumerate(files):
        shutil.copy(path, f"{folder}/{number}{os.path.splitext(path)[1]}")
    subprocess.run([os.path.join(CACHE, "venv", "bin", "python"), __file__, "--compare", folder, folder + "/all.theirs"], check=True)
    for one in load(folder + "/all.theirs"):
        done = sh(FIRESTEEL, "convert", one["path"], "--to", "ipynb", "-o", "-")
        if done.code == 1 and "is not read; `jupytext" in done.err:
            continue
        assert done.code == 0, done
        count += 1
        is_same = cells(json.loads(done.out)) == one["read"]
        same += is_same
        if not is_same:
            print("# otherwise:", os.path.basename(files[int(os.path.basename(one["path"]).split(".")[0])]))
        again = sh(CONVERT, one["path"], folder + "/again" + os.path.splitext(one["path"])[1])
        assert again.code == 0 and read(folder + "/again" + os.path.splitext(one["path"])[1]) == read(one["path"]), one["path"]
    print(f"# percent files read as jupytext reads them: {same} of {count}, and saved with the same bytes")
    assert count > 50 and same >= count - 1


def test_what_was_made_is_removed(t):
    shutil.rmtree(texts()[0])


run(globals())
