# SPDX-License-Identifier: MIT
"""What cells in Lua take from Python and give to it: py.x, py.get "expression", py.set { name = value }."""
from __future__ import annotations

import json
from typing import Any

from ._link import _given, _taken

MOST = 4 << 20  # bytes of JSON: Lua's values are copies


class give:
    """A value on its way to Lua."""

    def __init__(self, value: Any) -> None:
        self.value = _given(value)
        size = len(json.dumps(self.value, allow_nan=False))
        if size > MOST:
            raise ValueError(f"the value has {size >> 20} MiB as JSON; py.get takes {MOST >> 20} MiB: write it to a file "
                             "(numpy.save, to_parquet), and give its name")

    def _repr_json_(self) -> Any:
        return {"value": self.value}

    def __repr__(self) -> str:
        return "a value for Lua"


def take(text: str) -> Any:
    """The values that Lua gives, by name."""
    return _taken(json.loads(text))
