# SPDX-License-Identifier: MIT
"""The way from a cell in Python to firesteel: a socket in a descriptor that the kernel's process has inherited.

A call is one line of JSON, and so is its answer (script/api/python/serve.lua has their members). Calls of several threads take
turns. The socket is closed in children: it belongs to the kernel's own process.
"""
from __future__ import annotations

import inspect
import itertools
import json
import os
import socket
import sys
import textwrap
import threading
import types
from typing import Any, Iterator

VARIABLE = "FIRESTEEL_CALLS"
IN_A_CHILD = ("firesteel can only be called by the notebook's own Python process. This one is a child of it (a fork, a "
              "multiprocessing worker, a subprocess): call firesteel in the cell, and hand the result on")
NOT_HERE = ("this Python was not started by a firesteel notebook, so there is nothing to call: run the notebook with "
            "`firesteel run` or open it with `firesteel`")


class Error(RuntimeError):
    """A call has failed."""


class Refused(Error):
    """An effect was not granted: by the cell's effects=, by --allow, or by a person."""


class Failed(Error, AssertionError):
    """An expectation does not hold."""


class TimedOut(Error, TimeoutError):
    """The time for a call is over."""


class Interrupted(Error):
    """The cell has to end."""


_ERRORS = {"refused": Refused, "assertion": Failed, "timeout": TimedOut, "interrupted": Interrupted}


class _Link:
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.socket: socket.socket | None = None
        self.why = NOT_HERE
        self.numbers = itertools.count(1)
        self.read = self.unsent = b""
        self.dropped: list[int] = []
        given = os.environ.get(VARIABLE, "")
        if given == "child":
            self.why = IN_A_CHILD
        elif given.isdigit():
            os.environ[VARIABLE] = "child"  # what is started from now on
            os.set_inheritable(int(given), False)
            self.socket = socket.socket(fileno=int(given))
            os.register_at_fork(after_in_child=self.leave)

    def leave(self) -> None:
        """In a forked child: another thread may have held the lock, and the socket is the parent's."""
        self.lock = threading.RLock()
        if self.socket:
            self.socket.close()
        self.socket, self.why = None, IN_A_CHILD

    def line(self) -> bytes:
        assert self.socket
        while b"\n" not in self.read:
            more = self.socket.recv(1 << 16)
            if not more:
                raise Error("firesteel does not answer any more: restart the kernel")
            self.read += more
        line, _, self.read = self.read.partition(b"\n")
        return line

    def ask(self, request: dict[str, Any]) -> Any:
        __tracebackhide__ = True  # the line of the cell is what helps
        if not self.socket:
            raise Error(self.why)
        _flush()
        with self.lock:
            number = next(self.numbers)
            dropped, self.dropped = self.dropped, []
            text = json.dumps({**request, "id": number, "dropped": dropped}, allow_nan=False).encode() + b"\n"
            self.unsent += text
            while self.unsent:  # an interrupt may have left a part of the last one
                self.unsent = self.unsent[self.socket.send(self.unsent):]
            while True:  # an answer to an earlier call was given up by an interrupt
                answer = json.loads(self.line())
                if answer.get("id") == number:
                    break
        error = answer.get("error")
        if error:
            raise _ERRORS.get(error["kind"], Error)(error["message"]) from None
        return _taken(answer.get("value"))


def _flush() -> None:
    """What was printed before a call stands before what the call shows."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass


class Value:
    """A value that stays in firesteel: a handle of an object of the cluster, a display, an image, …

    Its fields are attributes and items; its methods are those that firesteel's API tells of its type.
    """
    _kind = "value"
    _shown: Any = None

    def __init__(self, told: dict[str, Any]) -> None:
        self._number = told["$ref"]
        self._kind = told["kind"]
        self._text = told["text"]
        self._fields = {name: _taken(value) for name, value in (told.get("fields") or {}).items()}
        self._items = [_taken(item) for item in told.get("items") or []]

    def __del__(self) -> None:
        try:
            _link.dropped.append(self._number)
        except AttributeError:  # it was never made, or Python ends
            pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._fields:
            return self._fields[name]
        value = _link.ask({"deed": "get", "of": {"$ref": self._number}, "name": name})
        if value is None:
            raise AttributeError(f"{self._kind} has no {name}")
        return value

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self._items[key]
        return self._fields[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items if self._items or not self._fields else self._fields)

    def keys(self) -> Any:
        """The names of its fields, so that dict(value) has them."""
        return self._fields.keys()

    def __len__(self) -> int:
        return len(self._items) or len(self._fields)

    def __bool__(self) -> bool:
        return True

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self._fields]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{self._kind} {self._text}>"

    def _ipython_display_(self) -> None:
        """Of a value that shows nothing (an expectation) nothing is shown; others go on to the bundle."""
        self._shown = _link.ask({"deed": "show", "of": {"$ref": self._number}})
        if self._shown:
            raise NotImplementedError

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return self._shown or {}


class _Left:
    """A name of the API that Python does not have: says what to write instead."""

    def __init__(self, words: str) -> None:
        self._words = words

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        raise Error(self._words)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name if name.startswith("_") else self._words)

    def __repr__(self) -> str:
        return self._words


_types: dict[str, type] = {}


def _taken(value: Any) -> Any:
    """What came as JSON."""
    if isinstance(value, list):
        return [_taken(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _types.get(value["kind"], Value)(value)
    if "$number" in value:
        return float(value["$number"])
    return {name: _taken(item) for name, item in value.items()}


def _given(value: Any) -> Any:
    """A value as JSON has it: with what pandas and NumPy have for rows and numbers."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else {"$number": repr(value)}
    if isinstance(value, Value):
        return {"$ref": value._number}
    if isinstance(value, dict):
        return {str(name): _given(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return [_given(item) for item in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, types.FunctionType):
        return _source(value)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return _given(value.to_dict("records"))
    for name in ("tolist", "item", "isoformat"):
        if hasattr(value, name):
            return _given(getattr(value, name)())
    if callable(value):
        raise TypeError("firesteel cannot take functions of Python: call what takes a function in a cell in Lua, with %%lua in "
                        "its first line (in a notebook in Lua: in a cell without language=)")
    raise TypeError(f"firesteel takes numbers, texts, lists, dicts and its own values, not {type(value).__name__}")


def _source(fn: types.FunctionType) -> dict[str, str]:
    """A function that goes to other processes, as its text: it imports what it needs itself."""
    try:
        source = textwrap.dedent(inspect.getsource(fn))
    except (OSError, TypeError):
        raise TypeError(f"the source of {fn.__name__} is not known: define it in a cell or a file") from None
    if not source.startswith(f"def {fn.__name__}("):
        raise TypeError(f"{fn.__qualname__} cannot go to other processes: take a function that is written with def, without decorators")
    if fn.__closure__:
        raise TypeError(f"{fn.__name__} uses {', '.join(fn.__code__.co_freevars)} of a function around it: pass such values by args")
    return {"$function": fn.__name__, "source": source}


def _options(options: dict[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): _given(value) for name, value in options.items() if value is not None}


def _call(deed: str, name: str, arguments: Any, options: dict[str, Any] | None = None, at: int | None = None,
          of: Value | None = None, table: bool = False) -> Any:
    """Calls a function. Options stand in a table at the place `at` of its arguments (None: behind them); `table`: the
    arguments themselves are in this table."""
    __tracebackhide__ = True
    given = [_given(argument) for argument in arguments]
    named = _options(options or {})
    if name == "display.table" and "columns" not in named and isinstance(given[0], list):  # Lua's tables have no order
        columns = dict.fromkeys(key for row in given[0] if isinstance(row, dict) for key in row)
        named.update({"columns": list(columns)} if columns else {})
    if table:
        while given and given[-1] is None:
            given.pop()
        given = [{"$options": named, "list": given}]
    elif named:
        place = len(given) if at is None else at
        given[place:place] = [named]
    request: dict[str, Any] = {"deed": deed, "name": name, "arguments": given, "count": len(given)}
    if of is not None:
        request["of"] = {"$ref": of._number}
    return _link.ask(request)


def _listen() -> None:
    """While a cell runs, subshells of ipykernel tell the variables on this way."""
    manager = getattr(sys.modules.get("comm"), "get_comm_manager", None)

    def opened(comm: Any, message: dict[str, Any]) -> None:
        from ._vars import told
        comm.send(told(message["content"]["data"]["wish"]).answer)
        comm.close()

    if manager:
        manager().register_target("firesteel.variables", opened)


_link = _Link()
if _link.socket:
    from . import _environ  # noqa: F401  (it remembers how the environment is before the first cell)
    _listen()
