# SPDX-License-Identifier: MIT
"""The notebook's variables for whoever looks at them (:vars): of each its name, type and size, and how it begins.

Nothing is imported or copied for that, whatever a value holds: of arrays and tables only the first few entries are read. A value
of a class that nobody here knows is asked for its repr on another thread, for a moment.
"""
from __future__ import annotations

import collections
import ctypes
import itertools
import json
import re
import sys
import threading
import types
from typing import Any, Callable, Iterable, Iterator

PREVIEW, WHOLE = 160, 64 << 10  # characters of a value: in the list, and alone
ROWS = 2000
DEPTH = 8
FIRST = 6  # entries of an array, columns of a table
COLUMNS = 500  # of wider tables only the first ones are looked at
SECONDS, AT_ONCE, ALONE = 0.25, 1.0, 2.0  # for one repr in the list, for all of them, for one alone
DIGITS = 4000  # of a whole number; Python takes a time that grows with their square

_IPYTHON = re.compile(r"_+|_i*\d*|_[ido]h|In|Out|exit|quit|open|get_ipython")  # what IPython keeps for itself
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.MethodType, type)
_slow: set[str] = set()  # classes whose repr takes too long


class _Full(Exception):
    """There is no room for more."""


class _Text:
    """Words up to a length; what is cut ends in "…"."""

    def __init__(self, room: int) -> None:
        self.room, self.parts = room, list[str]()

    def put(self, words: str) -> None:
        if len(words) > self.room:
            self.parts.append(words[:self.room] + "…")
            raise _Full
        self.room -= len(words)
        self.parts.append(words)

    def __str__(self) -> str:
        return "".join(self.parts)


class _Late(BaseException):
    """Ends a thread whose answer nobody waits for any more."""


class _Clock:
    """How much time there is for the repr of classes that we do not know."""

    def __init__(self, one: float, all_: float) -> None:
        self.one, self.left = one, all_

    def call(self, what: str, fn: Callable[[], str]) -> str:
        if what in _slow:
            return "(its repr takes too long)"
        if self.left <= 0:
            return "(not looked at: others took too long)"
        answer: list[str] = []

        def work() -> None:
            try:
                answer.append(fn())
            except _Late:
                pass
            except BaseException as e:  # pylint: disable=broad-exception-caught  (also SystemExit: it is not ours)
                answer.append(f"(its repr raises {type(e).__name__})")

        thread = threading.Thread(target=work, daemon=True, name="firesteel: repr")
        wait = min(self.one, self.left)
        thread.start()
        thread.join(wait)
        if answer:
            return answer[0]
        self.left -= wait
        _slow.add(what)
        if thread.ident:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Late))
        return "(its repr takes too long)"


def _items(out: _Text, items: Iterable[Any], n: int, ends: str, clock: _Clock, depth: int) -> None:
    out.put(ends[0])
    for i, item in enumerate(items):
        out.put(", " if i else "")
        _write(out, item, clock, depth + 1)
    out.put(",)" if ends == "()" and n == 1 else ends[1])


def _mapping(out: _Text, value: Any, clock: _Clock, depth: int) -> None:
    out.put("{")
    for i, (key, item) in enumerate(dict.items(value)):
        out.put(", " if i else "")
        _write(out, key, clock, depth + 1)
        out.put(": ")
        _write(out, item, clock, depth + 1)
    out.put("}")


def _text(out: _Text, value: Any) -> None:
    words = repr(value[:out.room + 1])
    if len(value) > out.room + 1:
        words = words[:-1] + "…"
    out.put(words)


def _number(value: int) -> str:
    bits = value.bit_length()
    return repr(value) if bits < DIGITS * 3 else f"(a number of {bits} bits)"


def _code(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        version = vars(value).get("__version__")
        return f"module {value.__name__}" + (f" {version[:40]}" if isinstance(version, str) else "")
    if isinstance(value, type):
        return "class " + value.__name__
    code = getattr(value, "__code__", None)
    names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if isinstance(code, types.CodeType) else ("…",)
    return f"{getattr(value, '__qualname__', '?')}({', '.join(names)})"


def _write(out: _Text, value: Any, clock: _Clock, depth: int = 0) -> None:
    """What repr would write, as far as there is room."""
    of = type(value)
    if depth > DEPTH:
        out.put("…")
    elif of is int:
        out.put(_number(value))
    elif value is None or of in (bool, float, complex, range):
        out.put(repr(value))
    elif of in (str, bytes, bytearray):
        _text(out, value)
    elif of is list:
        _items(out, value, len(value), "[]", clock, depth)
    elif of is tuple:
        _items(out, value, len(value), "()", clock, depth)
    elif of in (set, frozenset) and value:
        _items(out, value, len(value), "{}", clock, depth)
    elif of in (dict, collections.OrderedDict, collections.Counter, collections.defaultdict):
        _mapping(out, value, clock, depth)
    elif of is collections.deque:
        out.put("deque(")
        _items(out, value, len(value), "[]", clock, depth)
        out.put(")")
    elif isinstance(value, _CODE):
        out.put(_code(value))
    else:
        seen = _seen(value)
        if seen:
            out.put(seen.preview)
        elif of.__repr__ is object.__repr__:
            out.put(f"<{of.__name__} object>")
        else:
            out.put(clock.call(_name(of), lambda: _short(repr(value), out.room)))


def _short(words: Any, room: int) -> str:
    return words if len(words) <= room else words[:room] + "…"


def _name(of: type) -> str:
    return f"{of.__module__}.{of.__qualname__}"


class _Seen:
    """Of an array, a table or the like: what it tells without being read."""

    def __init__(self, preview: str, shape: Any = None, size: int | None = None) -> None:
        self.preview, self.size = preview, size
        self.shape = "×".join(map(str, shape)) if isinstance(shape, tuple) else "" if shape is None else str(shape)


def _numpy(value: Any) -> _Seen | None:
    numpy = sys.modules["numpy"]
    if not isinstance(value, numpy.ndarray):
        return None
    preview = str(value.dtype)
    if type(value) in (numpy.ndarray, getattr(numpy, "memmap", None)) and not value.dtype.hasobject and value.ndim:
        first = [str(value.flat[i]) for i in range(min(FIRST, value.size))]
        preview += ": " + ", ".join(first) + (", …" if value.size > FIRST else "")
    elif type(value) is numpy.ndarray and not value.ndim and not value.dtype.hasobject:
        preview += f": {value[()]}"
    return _Seen(preview, value.shape, value.nbytes)


def _pandas(value: Any) -> _Seen | None:
    pandas = sys.modules["pandas"]
    if isinstance(value, pandas.DataFrame):
        n = value.shape[1]
        names = [str(name) for name in value.columns[:FIRST]]
        size = None
        if n <= COLUMNS:
            names = [f"{name} {kind}" for name, kind in zip(names, value.dtypes.iloc[:FIRST])]
            size = int(value.memory_usage(index=False, deep=False).sum())
        return _Seen(", ".join(names) + (", …" if n > FIRST else ""), value.shape, size)
    if isinstance(value, (pandas.Series, pandas.Index)):
        first = value.iloc[:FIRST] if isinstance(value, pandas.Series) else value[:FIRST]
        words = "" if value.dtype == object else ": " + ", ".join(map(str, first.tolist())) + (", …" if len(value) > FIRST else "")
        return _Seen(str(value.dtype) + words, value.shape, int(value.nbytes))
    return None


def _torch(value: Any) -> _Seen | None:
    torch = sys.modules["torch"]
    if isinstance(value, torch.Tensor):
        kind, words = str(value.dtype).replace("torch.", ""), ""
        if value.device.type == "cpu" and value.layout == torch.strided and value.is_contiguous() and type(value).__module__.startswith("torch"):
            first = value.detach().view(-1)[:FIRST].tolist()
            words = ": " + ", ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in first) + (", …" if value.numel() > FIRST else "")
        return _Seen(f"{kind} on {value.device}{', requires_grad' if value.requires_grad else ''}{words}", tuple(value.shape), value.numel() * value.element_size())
    if isinstance(value, torch.nn.Module):
        parameters = list(itertools.islice(value.parameters(), COLUMNS))
        return _Seen(f"{len(parameters)}{' or more' if len(parameters) == COLUMNS else ''} tensors of parameters"
                     + (f" on {parameters[0].device}" if parameters else ""), sum(p.numel() for p in parameters), sum(p.numel() * p.element_size() for p in parameters))
    return None


def _get(value: Any, name: str) -> Any:
    try:
        return getattr(value, name, None)
    except Exception:  # pylint: disable=broad-exception-caught  (what is computed may fail)
        return None


def _other(value: Any) -> _Seen | None:
    """Arrays and tables of further libraries, by the words that they have in common."""
    shape, kind = _get(value, "shape"), _get(value, "dtype")
    if shape is None:
        return None
    kind = _get(kind, "name") or kind
    try:
        shape = tuple(shape)
    except (TypeError, ValueError):  # TensorFlow's, of unknown rank
        shape = str(shape)
    columns = _get(value, "schema") if kind is None else None
    words = [str(kind)] if kind is not None else []
    device = _get(value, "device")
    if device:
        words.append(f"on {device}")
    if kind is None and columns is not None:
        names = _get(columns, "names") or columns
        names = list(names() if callable(names) else names)
        words = [", ".join(str(n) for n in names[:FIRST]) + (", …" if len(names) > FIRST else "")]
    size = _get(value, "nbytes")
    return _Seen(" ".join(words)[:PREVIEW], shape, int(size) if isinstance(size, int) else None)


_LIBRARIES = {"numpy": _numpy, "pandas": _pandas, "torch": _torch, "tensorflow": _other, "jax": _other, "jaxlib": _other, "cupy": _other,
              "polars": _other, "pyarrow": _other, "scipy": _other, "xarray": _other, "dask": _other}


def _seen(value: Any) -> _Seen | None:
    for of in type(value).__mro__:
        root = of.__module__.partition(".")[0] if isinstance(of.__module__, str) else ""
        look = _LIBRARIES.get(root) if root in sys.modules else None
        if look:
            try:
                return look(value)
            except Exception:  # pylint: disable=broad-exception-caught  (a value in an odd state)
                return None
    return None


def _size(value: Any) -> tuple[str, int | None]:
    of = type(value)
    if of in (str, list, tuple, set, frozenset, dict, range, collections.OrderedDict, collections.Counter, collections.defaultdict, collections.deque):
        return str(len(value)), sys.getsizeof(value)
    if of in (bytes, bytearray):
        return str(len(value)), len(value)
    return "", sys.getsizeof(value) if of in (int, float, complex, bool) else None


def _row(name: str, value: Any, clock: _Clock) -> dict[str, Any]:
    seen = None if isinstance(value, _CODE) else _seen(value)
    shape, size = (seen.shape, seen.size) if seen else _size(value)
    row: dict[str, Any] = {"name": name, "type": type(value).__name__, "shape": shape, "preview": _preview(value, PREVIEW, clock)}
    if size is not None:
        row["bytes"] = size
    if name.startswith("_") or isinstance(value, _CODE):
        row["hidden"] = True
    return row


def _preview(value: Any, room: int, clock: _Clock) -> str:
    out = _Text(room)
    try:
        _write(out, value, clock)
    except _Full:
        pass
    except Exception as e:  # pylint: disable=broad-exception-caught  (a list that another thread changes)
        out.parts.append(f"… ({type(e).__name__})")
    return str(out)


def _variables() -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(sys.modules["__main__"]).items()):
        if isinstance(name, str) and not name.startswith("__") and not _IPYTHON.fullmatch(name):
            yield name, value


def _table() -> dict[str, Any]:
    clock = _Clock(SECONDS, AT_ONCE)
    every = sorted(_variables(), key=lambda pair: isinstance(pair[1], _CODE) or pair[0].startswith("_"))
    return {"rows": [_row(name, value, clock) for name, value in every[:ROWS]], "more": max(0, len(every) - ROWS)}


def _whole(name: str) -> dict[str, Any]:
    space = vars(sys.modules["__main__"])
    if name not in space:
        return {"why": f"there is no variable {name}"}
    value, clock = space[name], _Clock(ALONE, ALONE)
    text = ""
    if type(value) is str:
        text = _short(value[:WHOLE + 1], WHOLE)
    elif _seen(value) and not isinstance(value, _CODE):  # their own repr leaves out the middle
        text = clock.call(_name(type(value)) + " alone", lambda: _short(repr(value), WHOLE))
    return {"kind": _name(type(value)), "text": text or _preview(value, WHOLE, clock)}


class told:
    """The answer to a wish: {} for the list, {"name"} for one value."""

    def __init__(self, wish: str) -> None:
        name = json.loads(wish).get("name")
        self.answer = _whole(name) if name else _table()

    def _repr_json_(self) -> Any:
        return self.answer

    def __repr__(self) -> str:
        return "variables"
