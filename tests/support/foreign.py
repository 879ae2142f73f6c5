# SPDX-License-Identifier: MIT
"""Notebooks with cells in Python, for the tests that run real kernels of Jupyter."""
import json
import os

from tap import CACHE, FIRESTEEL, Skip, sh

VENV = os.path.join(CACHE, "jupyter")
ENV = {"VIRTUAL_ENV": VENV}
PYTHON = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def needs_kernels():
    if not os.path.exists(os.path.join(VENV, "versions")):
        raise Skip("ipykernel is not in the cache (tests/support/tool-jupyter)")
    if not os.path.exists(os.path.join(os.path.dirname(FIRESTEEL), "firesteel-jupyter")):
        raise Skip("firesteel was built without libzmq")


def python(text):
    """A cell in Python of a notebook in Lua."""
    return '-- %% language="python"\n' + "".join(f"-- {line}\n" for line in text.splitlines()) + "\n"


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text if isinstance(text, str) else json.dumps(text))


def ipynb(*cells, metadata=PYTHON):
    """Each cell: its source, or (source, metadata)."""
    pairs = [c if isinstance(c, tuple) else (c, {}) for c in cells]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": [
        {"cell_type": "code", "id": f"c{i}", "metadata": m, "execution_count": None, "outputs": [], "source": s}
        for i, (s, m) in enumerate(pairs, 1)]}


def firesteel(folder, *words, env=None):
    return sh(FIRESTEEL, *words, cwd=folder, env={**ENV, **(env or {})})
