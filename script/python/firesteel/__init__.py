# SPDX-License-Identifier: MIT
"""What cells in Lua can call, from cells in Python: the cluster, images, runs, displays.

    from firesteel import k8s, expect
    app = k8s.create("sparkapp.yaml")
    expect(app.watch()).reaches("COMPLETED", "10m")

Each call passes the gate and the ledger of the notebook's run, shows below the cell that runs, and is verified by a
resumed run, as a call of a cell in Lua is. help(firesteel.k8s.create) tells what it takes.
"""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._link import _link as _way
from ._link import Error, Failed, Interrupted, Refused, TimedOut, Value

if TYPE_CHECKING:
    from ._api import *  # noqa: F403

_HERE = ["Error", "Failed", "Interrupted", "Refused", "TimedOut", "Value"]


def __getattr__(name: str) -> Any:
    if name.startswith("_") and name != "__all__":
        raise AttributeError(name)
    _api = import_module("._api", __name__)
    if name == "__all__":
        return [*_HERE, *_api.__all__]
    if name in _api._left:  # firesteel.tune
        return _api._left[name]
    if name in _api._values:  # firesteel.worker
        return _way.ask({"deed": "value", "name": "firesteel." + name})
    try:
        value = getattr(_api, name)
    except AttributeError:
        raise AttributeError(f"firesteel has no {name}; it has {', '.join(_api.__all__)}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__getattr__("__all__"))
