# SPDX-License-Identifier: MIT
"""Plain English in what is new: lines and commit subjects that the branch adds to main."""
import os
import re
import subprocess

from tap import SOURCE, Skip, run

SUBJECT_MOST = 72
KINDS = (".c", ".h", ".def", ".lua", ".md", ".py")
SELF = "tests/lint/words.py"
# A phrase that a reader has to solve, and what to write.
RIDDLES = {
    r"(it|which|that|what) (is|are|was) none\b": 'name the thing: "it is not a number"',
    r"(who|whoever) has none\b": 'name the thing: "a file without an owner"',
    r"(is|are) none of (ours|its|theirs|these|those|them)\b": '"does not belong to …"',
    r"of what (is|was|has been) (told|said|there)\b": "name the thing that was reported",
    r"so that it is known\b": "say who uses it, and for what",
    r"as good as none\b": '"counts as empty"',
    r"(goes|went) by itself\b": "say what happens to it",
    r"counts? for nothing\b": '"is ignored"',
    r"nobody (lets|knows whether)\b": "say what fails, and why",
    r"is another( one)? (now|today|each time|each run)\b": '"has changed", "differs each time"',
    r"what (has )?(become|became) of (it|them)\b": '"its result", "how it ended"',
}


def git(*words, cwd):
    done = subprocess.run(["git", *words], cwd=cwd, capture_output=True, text=True, errors="replace")
    return done.stdout.strip("\n") if done.returncode == 0 else None


def base_of(folder):
    """The commit at which this branch left main."""
    try:
        top = git("rev-parse", "--show-toplevel", cwd=folder)
    except FileNotFoundError:
        raise Skip("there is no git") from None
    if not top or not os.path.samefile(top, folder):
        raise Skip("this is not a git checkout")
    for main in ("main", "origin/main"):
        base = git("merge-base", main, "HEAD", cwd=folder)
        if base:
            return base
    raise Skip("there is no branch main to compare with")


def new_lines(folder, base):
    """(path, number, text) of lines that were added since, committed or not."""
    path, number = None, 0
    diff = git("-c", "core.quotePath=false", "diff", "-U0", "-M", "--no-color", "--no-ext-diff", base, "--", cwd=folder) or ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else ""
        elif line.startswith("@@"):
            number = int(re.search(r"\+(\d+)", line)[1])
        elif line.startswith("+"):
            if path.endswith(KINDS) and path != SELF:
                yield path, number, line[1:]
            number += 1


def riddles(folder, base):
    """What is wrong with the new lines. A line that the base has somewhere was moved and is not new."""
    for path, number, text in new_lines(folder, base):
        for phrase, better in RIDDLES.items():
            found = re.search(rf"\b{phrase}", text, re.I)
            if found and git("grep", "-qF", "-e", text.strip(), base, cwd=folder) is None:
                yield f"{path}:{number}: “{found[0]}”: {better}"


def long_subjects(folder, base):
    subjects = (git("log", "--no-merges", "--format=%s", f"{base}..HEAD", cwd=folder) or "").splitlines()
    return [f"{len(s)} characters: {s}" for s in subjects if len(s) > SUBJECT_MOST]


def test_new_lines_are_plain(t):
    found = list(riddles(SOURCE, base_of(SOURCE)))
    assert not found, "\n".join(found)


def test_new_subjects_are_short(t):
    found = long_subjects(SOURCE, base_of(SOURCE))
    assert not found, "\n".join(found)


def commit(folder, subject, **texts):
    for name, text in texts.items():
        with open(os.path.join(folder, f"{name}.c"), "w", encoding="utf-8") as f:
            f.write(text)
    assert git("add", "-A", cwd=folder) is not None
    assert git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", subject, cwd=folder) is not None


def test_a_branch_with_riddles_is_found(t):
    folder = t.dir()
    assert git("init", "-q", "-b", "main", cwd=folder) is not None
    commit(folder, "x" * 80, old="// 0: it is none\n", moved="// who has none\n")
    base = base_of(folder)
    assert git("checkout", "-q", "-b", "work", cwd=folder) is not None
    os.remove(os.path.join(folder, "moved.c"))
    commit(folder, "a: b", there="// who has none\n", new="int x;\n// Whoever has none is none of ours.\n")
    commit(folder, "c" * (SUBJECT_MOST + 1), more="int y;\n")
    assert base_of(folder) == base
    found = list(riddles(folder, base))
    assert len(found) == 2 and all(line.startswith("new.c:2: ") for line in found), found
    assert [line[:13] for line in long_subjects(folder, base)] == ["73 characters"]
    with open(os.path.join(folder, "new.c"), "a", encoding="utf-8") as f:
        f.write("// not committed: so that it is known\n")
    assert [line[:9] for line in riddles(folder, base)] == ["new.c:2: "] * 2 + ["new.c:3: "]


def test_outside_of_git_nothing_is_checked(t):
    try:
        base_of(t.dir())
    except Skip as why:
        assert "git" in str(why)
    else:
        raise AssertionError("a folder without git has a base")


run(globals())
