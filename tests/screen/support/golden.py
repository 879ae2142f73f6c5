# SPDX-License-Identifier: MIT
"""Whole screens compared as text, with their attributes.

    golden(s, "recipe")        # waits until the screen is as tests/screen/expected/recipe.screen

If a row has attributes, they are in the row below it, a letter for each column; the letters are explained
at the end. Parts that differ from run to run are masked on both sides. FIRESTEEL_UPDATE=1 writes the
files anew: read the difference before you commit it.

    |▌[1] Parameters ───────── TIME
    |a bbb cccccccccc aaaaaaaaaaaaa
"""
import difflib
import os
import re
import string
import time
import unicodedata

from screen import Failed
from tap import PATIENCE, SOURCE

FOLDER = os.path.join(SOURCE, "tests/screen/expected")
MASKS = [
    (r"\b\d+(\.\d+)?(ms|s|m|h)( \d+s)?$", "TIME"),
    (r"\b(\d+ (min|hours?|days?|months?|years?) ago|just now)\b", "AGO"),
    (r"[─-]{3,}(?= .*(TIME|AGO)$)", "──"),
    (r"(?<=│)─* *(?=TIME$)", " "),  # what a dialog leaves of it
    (r"[█▉▊▋▌▍▎▏─#=.-]{3,}(?= +\d+/\d+ )", "BAR"),  # its width depends on the speed behind it
    (r"\d+(\.\d+)?k?/s +\d+(\.\d+)?s left", "SPEED left"),
    (r"\b[0-9a-f]{12,}\b", "HASH"),
    (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} [+-]\d{4}", "DATE"),
    (r"\bmnist-[0-9a-f]{8}(-[0-9a-f]{16})?\b", "mnist-HASH"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:PORT"),
    (r"-\d{8}-\d{6}-[0-9a-f]{4}", "-RUN"),
    (r"/tmp/firesteel-test-\w+", "FOLDER"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?", "INSTANT"),
]


def width(character):
    if unicodedata.combining(character) or character in "\u200d\ufe0e\ufe0f":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def parse(lines):
    """The answer to `styles` as rows of (character, style), one for each column."""
    rows = []
    for line in lines:
        if line.startswith("|"):
            row = []
            for character in line[1:]:
                if width(character) == 0 and row:
                    row[-1][0] += character
                else:
                    row += [[character, ""]] + [["", ""]] * (width(character) - 1)
            rows.append(row)
        else:
            columns, _, style = line.strip().partition(" ")
            first, last = map(int, columns.split("-"))
            rows[-1] += [[" ", ""] for _ in range(last + 1 - len(rows[-1]))]
            for x in range(first, last + 1):
                rows[-1][x] = [rows[-1][x][0], style]
    return rows


def mask(row, masks):
    for pattern, stand_in in masks:
        text = "".join(character for character, _ in row)
        places = [x for x, (character, _) in enumerate(row) for _ in character] + [len(row)]
        for found in reversed(list(re.finditer(pattern, text))):
            first, after = places[found.start()], places[found.end()]
            row[first:after] = [[character, row[first][1]] for character in stand_in]
    return row


def written(lines, masks=()):
    """The screen as its file has it."""
    letters, out = {}, []
    for row in parse(lines):
        row = mask(row, MASKS + list(masks))
        out.append("|" + "".join(character for character, _ in row).rstrip())
        styles = ""
        for _, style in row:
            if style and style not in letters:
                letters[style] = string.ascii_letters[len(letters)]
            styles += letters.get(style, " ")
        if styles.strip():
            out.append("|" + styles.rstrip())
    return "\n".join(out + [f"{letter} {style}" for style, letter in letters.items()]) + "\n"


def golden(s, name, masks=(), seconds=10):
    path = os.path.join(FOLDER, name + ".screen")
    if os.environ.get("FIRESTEEL_UPDATE"):
        s.quiet(400)
        with open(path, "w", encoding="utf-8") as f:
            f.write(written(s.styles(), masks))
        return
    with open(path, encoding="utf-8") as f:
        expected = f.read()
    until = time.monotonic() + seconds * PATIENCE
    while (drawn := written(s.styles(), masks)) != expected:
        if time.monotonic() > until:
            raise Failed("\n".join(difflib.unified_diff(
                expected.splitlines(), drawn.splitlines(), "expected", "drawn", n=2, lineterm="")))
        s.quiet(50)
