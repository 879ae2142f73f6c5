#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes golden_graph.h: what Keras 3 computes for the models of graph_golden.c: outputs, gradients, what six steps learn.

usage: golden_graph.py > golden_graph.h        (needs keras and jax: `./check peers` has them)

With KERAS_BACKEND=torch PyTorch computes the same, which `./check peers` compares.
"""
import math
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras  # noqa: E402
import numpy as np  # noqa: E402

ROWS, STEPS = 8, 6
called = []


class Layers:
    """keras.layers, but what is called is noted: gradients come in this order, which is that of graph_golden.c."""

    def __getattr__(self, name):
        def make(*arguments, **options):
            layer = getattr(keras.layers, name)(*arguments, **options)

            def call(inputs):
                if layer not in called:
                    called.append(layer)
                return layer(inputs)
            return call
        return make


k = Layers()


def numbers(shape, a, b):
    """sin(a + b·i) for the i-th number, as in graph_golden.c."""
    return np.sin(a + b * np.arange(math.prod(shape))).astype("float32").reshape(shape)


X = numbers((ROWS, 4), 1, 0.7)
PICTURES = numbers((ROWS, 6, 7, 2), 2, 1.1)
SERIES = numbers((ROWS, 9, 4), 1, 0.7)
INDICES = (np.arange(ROWS * 2) * 5 % 7).astype("int32").reshape(ROWS, 2)
Y = numbers((ROWS, 3), 0.5, 0.9)


def trained(inputs, outputs, x, y):
    """All outputs before training, one after the other; the gradients; the first output's rows and the loss after it."""
    model = keras.Model(inputs, outputs)
    for weight in model.weights:
        if len(weight.shape) > 1:
            weight.assign(0.4 * numbers(tuple(weight.shape), 1, 1.3))
    start = model.get_weights()
    said = model.predict(x, verbose=0)
    before = np.concatenate([o.flatten() for o in (said if isinstance(said, list) else [said])])
    gradients = gradients_of(model, x, y)
    model.set_weights(start)
    model.compile(optimizer=keras.optimizers.SGD(0.1), loss="mse")
    model.fit(x, y, batch_size=ROWS, epochs=STEPS, shuffle=False, verbose=0)
    said = model.evaluate(x, y, batch_size=ROWS, verbose=0)
    got = model.predict(x, verbose=0)
    first = got[0] if isinstance(got, list) else got
    return before, gradients, first[:2].flatten(), said[0] if isinstance(said, list) else said


def gradients_of(model, x, y):
    """By one step that is so long that what the weights were before is lost in its rounding."""
    rate = 1e4
    start = weights_of(model)
    model.compile(optimizer=keras.optimizers.SGD(rate), loss="mse")
    model.train_on_batch(x, y)
    return (start - weights_of(model)) / rate


def weights_of(model):
    """The trained ones of the layers that were called for this model, one after the other."""
    ours = [layer for layer in called if layer in model.layers]
    weights = [w for layer in ours for w in layer.trainable_weights]
    return np.concatenate([keras.ops.convert_to_numpy(w).astype("float64").flatten() for w in weights])


def activation(name):
    x = keras.Input((4,))
    return trained(x, k.Dense(3)(k.Dense(5, activation=name)(x)), X, Y)


def table():
    indices, rest = keras.Input((2,), dtype="int32"), keras.Input((4,))
    h = k.Concatenate()([k.Flatten()(k.Embedding(7, 3)(indices)), rest])
    h = k.BatchNormalization()(k.Dense(5, activation="gelu")(h))
    return trained([indices, rest], k.Dense(3)(h), [INDICES, X], Y)


def residual():
    x = keras.Input((4,))
    h = k.LayerNormalization()(k.Dense(6, activation="tanh")(x))
    h = k.Activation("silu")(k.Add()([h, k.Dense(6)(x)]))
    return trained(x, k.Dense(3)(h), X, Y)


def pictures():
    x = keras.Input((6, 7, 2))
    h = k.Conv2D(3, 3, padding="same", activation="tanh")(x)
    h = k.MaxPooling2D(2, padding="same")(h)
    h = k.Conv2D(4, (2, 3), activation="elu", use_bias=False)(h)
    h = k.AveragePooling2D(2, padding="same")(h)
    return trained(x, k.Dense(3)(k.Flatten()(h)), PICTURES, Y)


def strides():
    x = keras.Input((6, 7, 2))
    h = k.Conv2D(20, 3, strides=2, padding="same")(x)
    h = k.Activation("relu")(k.BatchNormalization(momentum=0.8, epsilon=0.01)(h))
    return trained(x, k.Dense(3)(k.GlobalAveragePooling2D()(h)), PICTURES, Y)


def pixels():
    x = keras.Input((6, 7, 2))
    h = k.Rescaling(1.5, offset=-0.25)(x)
    h = k.Normalization(mean=[0.3, -0.2], variance=[0.2, 1.7])(h)
    h = k.Conv2D(3, 2, activation="sigmoid")(k.CenterCrop(4, 5)(h))
    return trained(x, k.Dense(3)(k.Flatten()(h)), PICTURES, Y)


def pool():
    x = keras.Input((6, 7, 2))
    h = k.MaxPooling2D(3, strides=2)(k.Conv2D(5, (1, 2), strides=(1, 1), activation="gelu")(x))
    h = k.LayerNormalization(axis=[2, 3])(k.LayerNormalization()(h))
    return trained(x, k.Dense(3)(k.Reshape((-1,))(h)), PICTURES, Y)


def gaps():
    x = keras.Input((6, 7, 2))
    h = k.ZeroPadding2D(((1, 0), (2, 1)))(x)
    h = k.Conv2D(4, (2, 3), dilation_rate=(3, 2), activation="tanh")(h)
    h = k.Conv2D(6, 3, groups=2, strides=2, padding="same")(h)
    h = k.ReLU(max_value=0.9, negative_slope=0.1, threshold=0.05)(h)
    return trained(x, k.Dense(3)(k.Flatten()(h)), PICTURES, Y)


def depthwise():
    x = keras.Input((6, 7, 2))
    h = k.DepthwiseConv2D((2, 3), depth_multiplier=3, activation="elu")(x)
    h = k.ReLU(6)(k.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(h))
    return trained(x, k.Dense(3)(k.GlobalMaxPooling2D()(h)), PICTURES, Y)


def separable():
    x = keras.Input((6, 7, 2))
    twice = k.SeparableConv2D(2, 3, padding="same", activation="tanh")
    h = k.SeparableConv2D(5, (2, 3), dilation_rate=(2, 1), depth_multiplier=3, activation="elu")(twice(twice(x)))
    h = k.SeparableConv2D(4, 2, strides=2, padding="same", use_bias=False)(h)
    h = k.Conv2D(3, 1)(k.GlobalAveragePooling2D(keepdims=True)(h))
    return trained(x, k.Dense(3)(k.Flatten()(h)), PICTURES, Y)


def heads():
    x = keras.Input((4,))
    h = k.Dense(6, activation="tanh")(x)
    return trained(x, [k.Dense(3)(h), k.Dense(3, activation="sigmoid")(h)], X, [Y, Y])


def shared():
    a, b, x = keras.Input((2,), dtype="int32"), keras.Input((2,), dtype="int32"), keras.Input((4,))
    e, d, n = k.Embedding(7, 3), k.Dense(4, activation="tanh"), k.LayerNormalization()
    h = k.Concatenate()([k.Flatten()(e(a)), k.Flatten()(e(b)), n(d(n(d(d(x)))))])
    return trained([a, b, x], k.Dense(3)(h), [INDICES, INDICES, X], Y)


def chained():
    x = keras.Input((4,))
    h = k.Dense(6, activation="tanh")(x)
    p = k.Dense(3, activation="sigmoid")(x)
    q = k.Dense(3, activation="tanh")(k.Concatenate()([p, h]))
    return trained(x, [p, q, k.Dense(3)(k.Add()([p, q]))], X, [Y, Y, Y])


def steps():
    x = keras.Input((9, 4))
    h = k.Conv1D(6, 3, dilation_rate=2, padding="causal", activation="tanh")(x)
    a = k.Conv1D(6, 3, strides=2, groups=2, padding="same", activation="silu")(h)
    b = k.Dense(6, activation="gelu")(k.AveragePooling1D(3, strides=2, padding="same")(h))
    joined = k.Concatenate(axis=1)([k.Conv1D(6, 2, use_bias=False)(a), b])
    flat = k.Flatten()(k.GlobalAveragePooling1D(keepdims=True)(k.Dense(5)(joined)))
    h = k.Concatenate()([flat, k.GlobalMaxPooling1D()(h), k.Flatten()(k.MaxPooling1D(2, strides=3)(h))])
    return trained(x, k.Dense(3)(h), SERIES, Y)


def regular():
    l1, l2, both = keras.regularizers.L1, keras.regularizers.L2, keras.regularizers.L1L2
    indices, x = keras.Input((2,), dtype="int32"), keras.Input((6, 7, 2))
    h = k.Conv2D(4, 3, activation="tanh", kernel_regularizer=l1(0.003), bias_regularizer=l2(0.1))(x)
    h = k.DepthwiseConv2D(2, depthwise_regularizer=both(0.002, 0.01))(h)
    h = k.SeparableConv2D(5, 2, depthwise_regularizer=l2(0.02), pointwise_regularizer=l1(0.004))(h)
    e = k.Flatten()(k.Embedding(7, 3, embeddings_regularizer=both(0.001, 0.02))(indices))
    h = k.Concatenate()([e, k.GlobalAveragePooling2D()(k.BatchNormalization(gamma_regularizer=l2(0.05))(h))])
    return trained([indices, x], k.Dense(3, kernel_regularizer=l2(0.01), bias_regularizer=l2(0.2))(h), [INDICES, PICTURES], Y)


def enlarged():
    x = keras.Input((6, 7, 2))
    h = k.UpSampling2D((2, 3))(k.Conv2D(3, 3, activation="tanh")(x))
    h = k.Conv2D(4, 3, strides=2, activation="elu")(h)
    h = k.UpSampling2D((3, 2), interpolation="bilinear")(h)
    h = k.Concatenate()([h, k.UpSampling2D((3, 2), interpolation="bilinear")(k.Conv2D(2, (4, 1))(x))])
    return trained(x, k.Dense(3)(k.Flatten()(k.Conv2D(2, 3, strides=3)(h))), PICTURES, Y)


def c(values):
    return "{" + ", ".join(f"{v:.7e}" for v in values) + "}"


def lines(values):
    """Eight numbers a line."""
    for i in range(0, len(values), 8):
        print("    " + " ".join(f"{v:.7e}," for v in values[i:i + 8]))


def main():
    print("// SPDX-License-Identifier: MIT")
    print(f"// Made by golden_graph.py with Keras {keras.__version__}, on JAX.")
    print("#pragma once\n#include <stddef.h>\n\n// clang-format off")
    made = [(name, activation(name)) for name in ACTIVATIONS] + [(make.__name__, make()) for make in GRAPHS]
    for name, (before, gradients, _, _) in made:
        print(f"static const double golden_{name}[] = {{ // outputs, gradients")
        lines(before)
        lines(gradients)
        print("};")
    print("\nstatic const struct golden_graph {\n    const char *name;\n    size_t outputs, gradients; // numbers of them\n"
          "    const double *at;\n    double predicted[6], loss; // after training\n} golden_graphs[] = {")
    for name, (before, gradients, predicted, loss) in made:
        print(f"    {{\"{name}\", {len(before)}, {len(gradients)}, golden_{name}, {c(predicted)}, {float(loss):.7e}}},")
    print("};\n// clang-format on")


ACTIVATIONS = ("relu", "sigmoid", "tanh", "softmax", "gelu", "silu", "elu", "selu", "leaky_relu", "softplus")
GRAPHS = (table, residual, pictures, strides, pixels, pool, gaps, enlarged, depthwise, separable, steps, regular, heads, shared, chained)

main()
