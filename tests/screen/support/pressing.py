# SPDX-License-Identifier: MIT
"""Presses keys and checks the result. With sanitizers one key stands for those that do the same: they look for other faults.

A case lists the keys that do the same, then the steps before the key is pressed, and after PRESS the
conditions for the screen:

    ("s C-s", "d d", lacks("Beta"), PRESS, sees("saved"))

A string is keys; typed("…") types; anything else is a condition, a function of the screen that must
become true. `cases` runs them all, each key on a screen of its own, and names those that failed.
"""
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

from golden import parse
from tap import BUILD, SANITIZED, eventually

PRESS = object()


class On:
    """The first item of a case that has a screen of its own; this function opens it."""

    def __init__(self, opened):
        self.opened = opened


def program_tables():
    """{place: [key, …]} as the program has them."""
    tables, place = {}, None
    out = subprocess.run([os.path.join(BUILD, "tests/screen/key-tables")], check=True, text=True,
                         stdout=subprocess.PIPE, encoding="utf-8").stdout
    for line in out.splitlines():
        if line.startswith("### "):
            place = tables.setdefault(line[4:], [])
        elif line.startswith("| line"):  # that are typed
            del tables[next(reversed(tables))]
            break
        elif line.startswith("| `"):
            place += line[3:line.index("` |")].replace("\\|", "|").split(", ")
    return tables


def condition(fn):
    """Describes a condition by its name and arguments, for a failure."""
    def made(*args):
        def holds(s):
            return fn(s, *args)
        holds.__name__ = holds.__doc__ = f"{fn.__name__}{args}"
        return holds
    return made


def typed(words):
    def do(s):
        s.type(words)
        return True
    do.__name__ = f"typed({words!r})"
    return do


def text(s):
    return "\n".join(s.screen()[:-1])


@condition
def sees(s, *words):
    return all(word in text(s) for word in words)


@condition
def lacks(s, *words):
    return not any(word in text(s) for word in words)


@condition
def status(s, *words):
    last = s.screen()[-1]
    return all(word in last for word in words)


@condition
def selected(s, *titles):
    """The bar is beside these titles, and beside no other."""
    rows = [row for row in s.screen() if re.match(r"▌(\[| *(# )?Alpha)", row)]
    return len(rows) == len(titles) and all(t in row for t, row in zip(titles, rows))


@condition
def titles(s, *words):
    """The titles of all cells, from above."""
    rows = [row for row in s.screen() if re.match(r"[▌ ](\[| *(# )?Alpha)", row)]
    return len(rows) == len(words) and all(w in row for w, row in zip(words, rows))


@condition
def row(s, y, words):
    """A row of the screen is exactly this, without its margin."""
    return s.screen()[y].strip("▌│ ") == words


@condition
def cursor(s, x, y):
    return s.cursor() == (x, y, True)


@condition
def reversed_text(s, words):
    """The reversed text above the status line, without blanks."""
    rows = parse(s.styles())[:-1]
    shown = "".join(c for r in rows for c, style in r if "reverse" in style)
    return shown.replace(" ", "") == words.replace(" ", "")


@condition
def chosen(s, words):
    """The reversed row has these words."""
    rows = parse(s.styles())[:-1]
    return any(words in "".join(c for c, _ in r) and any("reverse" in style for _, style in r) for r in rows)


@condition
def bold(s, words):
    rows = parse(s.styles())[:-1]
    return any("".join(c for c, style in r if "bold" in style).startswith(words) for r in rows)


@condition
def column(s, name):
    """Of the names of columns, the second row, this one is reversed."""
    return "".join(c for c, style in parse(s.styles())[1] if "reverse" in style).strip() == name


@condition
def chosen_row(s, y):
    rows = parse(s.styles())[:-1]
    return [i for i, r in enumerate(rows) if any("reverse" in style for _, style in r)] == [y % len(rows)]


@condition
def top(s, words):
    """The first row below the heading begins with this."""
    return s.screen()[1].strip().startswith(words)


def pid_of(s):
    """The program on the screen."""
    pid = str(s.process.pid)
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return int(f.read().split()[0])


def garbage(s):
    """Another program writes on the terminal, until that is visible: ours may be drawing."""
    with open(f"/proc/{pid_of(s)}/fd/0", "w", encoding="ascii") as tty:
        tty.write("\x1b[3;3H*garbage*")
    s.quiet(20)
    return "*garbage*" in "\n".join(s.screen())


REDRAWN = (garbage, PRESS, lacks("*garbage*"))


def press_one(opened, key, steps):
    if isinstance(steps[0], On):
        opened, steps = steps[0].opened, steps[1:]
    with opened() as s:
        for step in steps if PRESS in steps else (PRESS, *steps):
            if step is PRESS:
                s.keys(key)
            elif isinstance(step, str):
                s.keys(step)
            else:
                until(s, step)


def until(s, step):
    def holds():
        return step(s)
    holds.__doc__ = step.__name__
    try:
        eventually(holds, 10)
    except AssertionError as why:
        raise AssertionError("\n".join([str(why)] + [row for row in s.screen() if row])) from None


def attempt(place, opened, key, steps):
    try:
        press_one(opened, key, steps)
        return None
    except Exception as why:
        return f"{place}: {key}: {why}"


def cases(place, opened, table):
    """Presses every key; the table must have just those that the program has in this place."""
    lines = [(keys.split(", "), tuple(steps)) for keys, *steps in table]
    has, wanted = {key for keys, _ in lines for key in keys}, set(program_tables()[place])
    assert has == wanted, f"{place}: without a case {wanted - has}; not a key {has - wanted}"
    only = os.environ.get("KEY")
    chosen = [(key, steps) for keys, steps in lines for key in (keys[:1] if SANITIZED and not only else keys) if only in (None, key)]
    with ThreadPoolExecutor(3) as pool:
        failed = [why for why in pool.map(lambda job: attempt(place, opened, *job), chosen) if why]
    assert not failed, "\n" + "\n".join(failed)
