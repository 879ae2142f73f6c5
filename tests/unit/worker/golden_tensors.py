#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the numbers of tensors.lua as NumPy has them: python3 golden_tensors.py (it needs numpy).

The tensors are a[i] = sin(0.3 + 0.7 i) as (4, 5), b[i] = cos(0.1 + 0.4 i) as (5), c as (4, 1), d as (2, 3, 4). A line is a
name, and what NumPy's result weighs: its numbers by 1, 2, 3, …, summed.
"""
import numpy as np


def wave(f, start, step, *shape):
    n = int(np.prod(shape))
    return f(start + step * np.arange(n)).astype("float32").reshape(shape)


A, B, C, D = wave(np.sin, 0.3, 0.7, 4, 5), wave(np.cos, 0.1, 0.4, 5), wave(np.cos, 0.2, 0.9, 4, 1), wave(np.sin, 0.5, 1.1, 2, 3, 4)
CASES = {
    "a + b": A + B, "a - c": A - C, "a * a": A * A, "b / c": B / C, "abs(a) ^ 1.5": np.abs(A) ** np.float32(1.5), "2 - a": 2 - A,
    "maximum": np.maximum(A, C), "less": np.less(A, C), "exp": np.exp(A), "log": np.log(np.abs(A)), "sqrt": np.sqrt(np.abs(A)),
    "tanh": np.tanh(A), "sigmoid": 1 / (1 + np.exp(-A)), "clip": np.clip(A, -0.5, 0.25), "a @ a.T": A @ A.T, "a @ b": A @ B, "b @ a.T": B @ A.T,
    "d.T": D.T, "d transposed 1 2 0": D.transpose(1, 2, 0), "d sum 1": D.sum(1), "d mean 0": D.mean(0), "d std 2": D.std(2), "d max 1": D.max(1),
    "d min -1": D.min(-1), "d argmax 1": D.argmax(1), "a std 0": A.std(0), "concatenate": np.concatenate([A, C, A * 2], axis=1),
    "columns": A[:, 1:3] * C, "d columns": D[:, 1:], "take": A[[3, 0, -1]], "std": A.std(), "d + row": D + wave(np.cos, 0.1, 0.4, 3, 1),
}

for name, value in CASES.items():
    flat = np.asarray(value, dtype="float64").reshape(-1)
    shape = "x".join(str(n) for n in np.shape(value))
    print(f'  ["{name}"] = {{ "{shape}", {np.dot(flat, np.arange(1, flat.size + 1)):.9g} }},')
