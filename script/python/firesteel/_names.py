# SPDX-License-Identifier: MIT
"""Which of the notebook's names a cell in Python reads and sets, by its syntax tree and by what these names are.

A name that is read counts with all that its functions read in turn. What a tree does not tell (eval, magics, shell lines)
makes the cell one that may have read and set anything.
"""
from __future__ import annotations

import ast
import builtins
import json
import sys
import types
from typing import Any, Iterator

from . import _environ

MOST = 16 << 10  # characters of a value whose content is compared
HIDDEN = {"eval", "exec", "globals", "locals", "vars", "get_ipython", "__import__", "compile", "setattr", "delattr"}
STATEFUL = {"seed", "set_seed", "manual_seed", "update", "setdefault", "pop", "putenv", "chdir", "set_option", "use", "reload", "append", "insert"}
CLIENTS = ("kubernetes", "kubernetes_asyncio", "lightkube", "pykube", "kr8s", "openshift")

_left: dict[str, str | None] = {}  # what was in a name when a cell left it


class _Scope(ast.NodeVisitor):
    """Names of one scope, in order: those that are read before they are set here, those that are set; and of scopes below."""

    def __init__(self, top: bool = True) -> None:
        self.top = top
        self.reads: set[str] = set()
        self.sets: dict[str, ast.AST | None] = {}
        self.changed: set[str] = set()  # modules in which something is set
        self.globals: set[str] = set()
        self.hidden = False

    def read(self, name: str) -> None:
        if name not in self.sets:
            self.reads.add(name)

    def bind(self, name: str, node: ast.AST | None = None) -> None:
        self.sets[name] = node

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read(node.id)
            self.hidden = self.hidden or node.id in HIDDEN
        else:
            self.bind(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        for part in (node.annotation, node.value, node.target if node.value else None):
            if part:
                self.visit(part)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            self.read(node.target.id)
        self.visit(node.target)

    def root(self, node: ast.AST) -> str | None:
        while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
            node = node.func if isinstance(node, ast.Call) else node.value
        return node.id if isinstance(node, ast.Name) else None

    def change(self, node: ast.AST) -> None:
        name = self.root(node)
        if name:
            self.changed.add(name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.change(node)
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.change(node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr in STATEFUL:
            self.change(node.func)
        self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.bind(alias.asname or alias.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            self.hidden = self.hidden or alias.name == "*"
            self.bind(alias.asname or alias.name)

    def visit_Global(self, node: ast.Global) -> None:
        self.globals.update(node.names)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bind(node.name)
        self.generic_visit(node)

    def inner(self, parts: list[Any], arguments: ast.arguments | None = None) -> None:
        below = _Scope(False)
        for one in _arguments(arguments):
            below.bind(one)
        for part in parts:
            below.visit(part)
        own = set(below.sets) - below.globals
        # a function reads its names when it is called; a name that it sets somewhere is its own everywhere
        for name in below.reads - own:
            self.read(name)
        for name in below.globals & set(below.sets):
            self.bind(name)
        self.changed |= below.changed - own
        self.hidden = self.hidden or below.hidden

    def function(self, node: Any) -> None:
        for part in [*node.decorator_list, *node.args.defaults, *[d for d in node.args.kw_defaults if d]]:
            self.visit(part)
        self.bind(node.name, None if node.decorator_list else node)
        self.inner(node.body, node.args)

    visit_FunctionDef = visit_AsyncFunctionDef = function

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in [*node.decorator_list, *node.bases, *[k.value for k in node.keywords]]:
            self.visit(part)
        self.bind(node.name, None if node.decorator_list else node)
        self.inner(node.body)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.inner([node.body], node.args)

    def comprehension(self, node: Any) -> None:
        self.visit(node.generators[0].iter)
        self.inner([*[part for g in node.generators for part in (g.target, g.iter, *g.ifs)],
                    *([node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt])])

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = comprehension


def _arguments(arguments: ast.arguments | None) -> Iterator[str]:
    if arguments:
        for one in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]:
            if one:
                yield one.arg


def _codes(value: Any) -> Iterator[types.CodeType]:
    """The code that using this value may run: a function's, that of the methods of a class of the notebook."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType) and value.__module__ == "__main__":
        yield value.__code__
        return
    of = value if isinstance(value, type) else type(value)
    for one in getattr(of, "__mro__", ()):
        if one.__module__ == "__main__":
            for member in vars(one).values():
                yield from _codes(member) if isinstance(member, types.FunctionType) else ()


def _called(names: set[str], space: dict[str, Any]) -> set[str]:
    """With what the functions among them read."""
    found, waiting = set(names), list(names)
    while waiting:
        name = waiting.pop()
        codes = list(_codes(space[name])) if name in space else []
        while codes:
            code = codes.pop()
            codes += [c for c in code.co_consts if isinstance(c, types.CodeType)]
            for one in code.co_names:
                if one in space and one not in found:
                    found.add(one)
                    waiting.append(one)
    return found


def _content(value: Any, node: ast.AST | None = None) -> str | None:
    """A text that is the same for the same value; None: nobody can tell."""
    if node is not None:
        return "def " + ast.dump(node)
    if isinstance(value, types.ModuleType):
        return "module " + value.__name__
    if isinstance(value, (set, frozenset)):
        value = sorted(value, key=repr)
    try:
        text = type(value).__name__ + " " + json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return None
    return text if len(text) <= MOST else None


def _fixed(value: Any) -> bool:
    return isinstance(value, (type(None), bool, int, float, complex, str, bytes, type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType))


class of:
    """What the cell with this source, which has just run, has read and set."""

    def __init__(self, source: str) -> None:
        main = sys.modules["__main__"]
        self.space = vars(main)
        self.told: dict[str, Any] = {"client": any(name in sys.modules for name in CLIENTS)}
        changes = _environ.changes(source)
        if changes:
            self.told["environ"] = changes
        try:
            tree = ast.parse(source)
        except SyntaxError:  # a magic, a line for the shell
            tree = None
        scope = _Scope()
        if tree:
            scope.visit(tree)
        if not tree or scope.hidden:
            self.told["unknown"] = True
            _left.clear()
            return
        self.tell(scope)

    def mine(self, name: str) -> bool:
        return name in self.space and not (hasattr(builtins, name) and self.space[name] is getattr(builtins, name))

    def tell(self, scope: _Scope) -> None:
        known = {name for name in scope.reads if self.mine(name) or not hasattr(builtins, name)}
        reads = _called(known, self.space)
        writes: dict[str, str | None] = {}
        touched = []
        for name, node in scope.sets.items():
            writes[name] = _left[name] = _content(self.space.get(name), node)
        for name in reads - set(writes):
            value = self.space.get(name)
            if name in scope.changed and isinstance(value, types.ModuleType):
                writes[name] = None
            elif name in self.space and not _fixed(value):
                now = _content(value)
                if now is None or now != _left.get(name):
                    touched.append(name)
                _left[name] = now
        self.told.update(reads=sorted(reads), writes=writes, touched=sorted(touched))

    def _repr_json_(self) -> Any:
        return self.told

    def __repr__(self) -> str:
        return "the names of a cell"
