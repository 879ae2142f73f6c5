# SPDX-License-Identifier: MIT
"""Variables of the environment that cells set (%env, os.environ) are the same in cells in Lua and in Python."""
from __future__ import annotations

import json
import os
import re

OURS = {"FIRESTEEL_CALLS", "KUBECONFIG", "COLUMNS", "LINES"}  # firesteel's to say, for each process
SETS = re.compile(r"environ|putenv|dotenv|%(set_)?env")  # libraries that a cell loads set some, too: those stay here

_before = dict(os.environ)


def take(text: str) -> None:
    """Other cells have set these, {name: value, or None}."""
    for name, value in json.loads(text).items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    _before.update(os.environ)


def changes(source: str) -> dict[str, str | None]:
    """What the cell with this source, which has just run, has set and removed."""
    now = dict(os.environ)
    found: dict[str, str | None] = {}
    if SETS.search(source):
        found = {name: now.get(name) for name in {*_before, *now} - OURS if _before.get(name) != now.get(name)}
    _before.clear()
    _before.update(now)
    return found
