# SPDX-License-Identifier: MIT
"""The same epoch in JAX: one jitted scan over all batches, without the time of compilation.

usage: epoch_jax.py FOLDER-OF-RAW-IDX EPOCHS
"""
import json
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 64


def load(folder, name, header, shape):
    return np.fromfile(f"{folder}/{name}", np.uint8, offset=header).reshape(shape)


def logits(params, x):
    hidden = jax.nn.relu(x @ params[0] + params[1])
    return hidden @ params[2] + params[3]


def loss(params, x, y):
    return -jnp.mean(jax.nn.log_softmax(logits(params, x))[jnp.arange(len(y)), y])


def adam(params, m, v, t, grads):
    rate = 1e-3 * jnp.sqrt(1 - 0.999 ** t) / (1 - 0.9 ** t)
    m = [0.9 * a + 0.1 * g for a, g in zip(m, grads)]
    v = [0.999 * a + 0.001 * g * g for a, g in zip(v, grads)]
    return [p - rate * a / (jnp.sqrt(b) + 1e-7) for p, a, b in zip(params, m, v)], m, v


@jax.jit
def epoch(state, images, labels, order):
    def step(state, rows):
        params, m, v, t = state
        x = images[rows].astype(jnp.float32) / 255
        grads = jax.grad(loss)(params, x, labels[rows])
        params, m, v = adam(params, m, v, t + 1, grads)
        return (params, m, v, t + 1), 0
    return jax.lax.scan(step, state, order)[0]


def main():
    folder, epochs = sys.argv[1], int(sys.argv[2])
    x = load(folder, "train-images-idx3-ubyte", 16, (60000, 784))
    y = load(folder, "train-labels-idx1-ubyte", 8, (60000,))
    test_x = load(folder, "t10k-images-idx3-ubyte", 16, (10000, 784)) / np.float32(255)
    test_y = load(folder, "t10k-labels-idx1-ubyte", 8, (10000,))
    random = np.random.default_rng(1)

    def glorot(a, b):
        limit = np.sqrt(6 / (a + b))
        return jnp.asarray(random.uniform(-limit, limit, (a, b)), jnp.float32)
    params = [glorot(784, 128), jnp.zeros(128), glorot(128, 10), jnp.zeros(10)]
    zeros = [jnp.zeros_like(p) for p in params]
    state = (params, zeros, zeros, jnp.float32(0))
    images, labels = jnp.asarray(x), jnp.asarray(y, jnp.int32)
    count = 60000 // BATCH * BATCH  # whole batches only: a scan has one shape
    seconds, accuracies = [], []
    shuffle = lambda: jnp.asarray(random.permutation(60000)[:count].reshape(-1, BATCH))
    jax.block_until_ready(epoch(state, images, labels, shuffle()))
    for _ in range(epochs):
        order = shuffle()
        began = time.perf_counter()
        state = jax.block_until_ready(epoch(state, images, labels, order))
        seconds.append(time.perf_counter() - began)
        accuracies.append(float(np.mean(np.argmax(logits(state[0], test_x), 1) == test_y)))
    print(json.dumps({"median": statistics.median(seconds), "min": min(seconds),
                      "accuracy_1": accuracies[0], f"accuracy_{epochs}": accuracies[-1]}))


main()
