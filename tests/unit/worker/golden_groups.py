#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the numbers of groups.lua: losses of six steps with groups of weights by PyTorch, and with a frozen layer by Keras.

Weight i of a model holds 0.8·sin(1 + i + 0.7·k) at its number k. x[k] = sin(0.9·k) as (8, 3), y[k] = cos(0.5·k) as (8, 1).
"""
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

STEPS = 6


def weight(i, *shape):
    return (0.8 * np.sin(1 + i + 0.7 * np.arange(int(np.prod(shape))))).astype("float32").reshape(shape)


X, Y = np.sin(0.9 * np.arange(24)).astype("float32").reshape(8, 3), np.cos(0.5 * np.arange(8)).astype("float32").reshape(8, 1)
SHAPES = [(3, 4), (4,), (4, 4), (4,), (4, 1), (1,)]


def by_torch(make, clip=None):
    w = [torch.nn.Parameter(torch.tensor(weight(i, *shape))) for i, shape in enumerate(SHAPES)]
    optimizer, losses = make(w), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        h = torch.tanh(torch.tensor(X) @ w[0] + w[1])
        h = torch.tanh(h @ w[2] + w[3])
        loss = torch.mean((h @ w[4] + w[5] - torch.tensor(Y)) ** 2)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_([p for group in optimizer.param_groups for p in group["params"]], clip)
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def by_keras():
    k = keras.layers
    model = keras.Sequential([keras.Input((3,)), k.Dense(4, activation="tanh"), k.BatchNormalization(trainable=False), k.Dense(1)])
    w = [weight(i, *s) for i, s in enumerate([(3, 4), (4,), (4,), (4,), (4,), (4,), (4, 1), (1,)])]
    w[5] = w[5] ** 2 + 0.1
    model.layers[0].set_weights(w[:2])
    model.layers[1].set_weights(w[2:6])
    model.layers[2].set_weights(w[6:])
    model.compile(optimizer=keras.optimizers.SGD(0.1, momentum=0.9), loss="mse")
    losses = []
    for _ in range(STEPS):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(X, Y)))
    return losses


CASES = {
    "SGD": by_torch(lambda w: torch.optim.SGD([{"params": w[:2], "lr": 0.025}, {"params": w[2:3] + w[4:]}], lr=0.1, momentum=0.9)),
    "AdamW": by_torch(lambda w: torch.optim.AdamW([{"params": w[:1], "lr": 0.04, "weight_decay": 0.3}, {"params": w[1:2], "lr": 0.04, "weight_decay": 0.0},
                                                   {"params": w[2:3] + w[4:5]}, {"params": [w[3], w[5]], "weight_decay": 0.0}],
                                                  lr=0.02, weight_decay=0.1, eps=1e-7)),
    "clipped": by_torch(lambda w: torch.optim.SGD(w[2:], lr=0.2), clip=0.3),
    "frozen": by_keras(),
}
for name, losses in CASES.items():
    print(f"  {name} = {{ {', '.join(f'{loss:.8g}' for loss in losses)} }},")
