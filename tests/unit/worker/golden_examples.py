#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes golden_examples.lua: what Keras 3 computes for the public examples of examples.lua, written here as they are there.

usage: golden_examples.py > golden_examples.lua        (needs keras and jax: `./check peers` has them)

With KERAS_BACKEND=torch PyTorch computes the same, which `./check peers` compares. Data and weights come from formulas, and noise
(Dropout, shuffling) is left out. Where an example has a layer that the trainer lacks, the next one stands in its place, in both.
"""
import math
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras  # noqa: E402
import numpy as np  # noqa: E402

k = keras.layers
ROWS = 64


def numbers(a, *shape):
    i = np.arange(1, ROWS * math.prod(shape) + 1, dtype="float64")
    return np.sin(a * i + 0.0003 * i * i).astype("float32").reshape(ROWS, *shape)


def ids(step, entries, length=1):
    return (np.arange(1, ROWS * length + 1) * step % entries).astype("int32").reshape(ROWS, length)


def classes(n):
    i = np.arange(1, ROWS + 1)
    return i * i % 7 % n


def start(model):
    """Kernels and tables from a formula that knows the names of layer and weight."""
    for weight in model.weights:
        layer, name = weight.path.split("/")[-2:]
        if name.endswith(("kernel", "embeddings")):
            n = math.prod(weight.shape)
            seed = sum((layer + "/" + name).encode()) % 97
            value = np.sin(seed + 1.3 * np.arange(1, n + 1)) / math.sqrt(n / weight.shape[-1])
            weight.assign(value.astype("float32").reshape(weight.shape))


def mnist_convnet():
    model = keras.Sequential([
        keras.Input((14, 14, 1)), k.Conv2D(8, kernel_size=(3, 3), activation="relu", name="c1"), k.MaxPooling2D(pool_size=(2, 2)),
        k.Conv2D(16, kernel_size=(3, 3), activation="relu", name="c2"), k.MaxPooling2D(pool_size=(2, 2)), k.Flatten(),
        k.Dense(10, activation="softmax", name="out")])
    y = keras.utils.to_categorical(classes(5), 10)
    return model, numbers(1.1, 14, 14, 1), y, {"loss": "categorical_crossentropy", "optimizer": "adam", "metrics": ["accuracy"]}, {
        "validation_split": 0.25}


def small_resnet():
    inputs = keras.Input((8, 8, 3))

    def block(x, filters, strides, name):
        h = k.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False, name=name + "a")(x)
        h = k.Activation("relu")(k.BatchNormalization(name=name + "an")(h))
        h = k.BatchNormalization(name=name + "bn")(k.Conv2D(filters, 3, padding="same", use_bias=False, name=name + "b")(h))
        if strides > 1:
            x = k.BatchNormalization(name=name + "sn")(k.Conv2D(filters, 1, strides=strides, use_bias=False, name=name + "s")(x))
        return k.Activation("relu")(k.Add()([h, x]))
    h = k.Conv2D(8, 3, padding="same", activation="relu", name="stem")(inputs)
    h = block(block(h, 8, 1, "one"), 16, 2, "two")
    model = keras.Model(inputs, k.Dense(5, activation="softmax", name="out")(k.GlobalAveragePooling2D()(h)))
    rate = keras.optimizers.schedules.CosineDecay(0.05, 20)
    return model, numbers(0.7, 8, 8, 3), keras.utils.to_categorical(classes(5), 5), {
        "loss": keras.losses.CategoricalCrossentropy(label_smoothing=0.1), "metrics": ["accuracy"],
        "optimizer": keras.optimizers.SGD(rate, momentum=0.9, nesterov=True, weight_decay=5e-4)}, {}


def text_from_scratch():
    model = keras.Sequential([
        keras.Input((20,), dtype="int32"), k.Embedding(50, 8, name="words"), k.Conv1D(16, 7, padding="valid", activation="relu", strides=3, name="c1"),
        k.Conv1D(16, 3, padding="same", activation="relu", name="c2"), k.GlobalMaxPooling1D(), k.Dense(16, activation="relu", name="d"),
        k.Dense(1, activation="sigmoid", name="predictions")])
    return model, ids(7, 50, 20), classes(2), {"loss": "binary_crossentropy", "optimizer": "adam", "metrics": ["accuracy"]}, {}


def structured_data():
    numeric, kind = keras.Input((3,), name="numeric"), keras.Input((1,), name="kind", dtype="int32")
    x = 5 * numbers(1.3, 3) + np.array([3, 40, 500], "float32")
    normalize = k.Normalization()
    normalize.adapt(x)
    h = k.Concatenate()([normalize(numeric), k.Flatten()(k.Embedding(6, 4, name="table")(kind))])
    model = keras.Model([numeric, kind], k.Dense(1, activation="sigmoid", name="out")(k.Dense(32, activation="relu", name="d")(h)))
    return model, [x, ids(5, 6)], classes(2), {"loss": "binary_crossentropy", "optimizer": "rmsprop", "metrics": ["accuracy"]}, {}


def wide_and_deep():
    wide, deep = keras.Input((5,), name="wide"), keras.Input((6,), name="deep")
    h = k.Dense(30, activation="relu", name="d2")(k.Dense(30, activation="relu", name="d1")(deep))
    model = keras.Model([wide, deep], [k.Dense(1, name="main")(k.Concatenate()([wide, h])), k.Dense(1, name="aux")(h)])
    y = numbers(0.9, 1)
    return model, [numbers(1.7, 5), numbers(0.4, 6)], [y, y], {
        "loss": ["mse", "mse"], "loss_weights": [0.9, 0.1], "optimizer": keras.optimizers.SGD(0.01)}, {}


def siamese_contrastive():
    """The distance is computed by the loss: of the two halves of the output."""
    left, right = keras.Input((6, 6, 1)), keras.Input((6, 6, 1))
    layers = [k.Conv2D(4, 3, activation="tanh", name="c"), k.AveragePooling2D(2), k.Flatten(), k.Dense(8, activation="tanh", name="d")]

    def tower(x):
        for layer in layers:
            x = layer(x)
        return x
    model = keras.Model([left, right], k.Concatenate()([tower(left), tower(right)]))

    def contrastive(y, p):
        d = keras.ops.sqrt(keras.ops.sum((p[:, :8] - p[:, 8:]) ** 2, -1) + 1e-6)
        y = keras.ops.reshape(y, (-1,))
        return (1 - y) * d ** 2 + y * keras.ops.maximum(1 - d, 0) ** 2
    return model, [numbers(1.1, 6, 6, 1), numbers(0.6, 6, 6, 1)], classes(2).astype("float32").reshape(ROWS, 1), {
        "loss": contrastive, "optimizer": keras.optimizers.RMSprop(0.002)}, {}


def functional_guide():
    """Pooling stands where the guide has LSTM."""
    title, body, tags = keras.Input((8,), dtype="int32", name="title"), keras.Input((12,), dtype="int32", name="body"), keras.Input((4,), name="tags")
    h = k.Concatenate()([k.GlobalAveragePooling1D()(k.Embedding(30, 6, name="te")(title)),
                         k.GlobalMaxPooling1D()(k.Embedding(30, 6, name="be")(body)), tags])
    model = keras.Model([title, body, tags], [k.Dense(1, activation="sigmoid", name="priority")(h), k.Dense(4, name="department")(h)])
    return model, [ids(7, 30, 8), ids(11, 30, 12), numbers(1.9, 4)], [
        classes(2).astype("float32").reshape(ROWS, 1), keras.utils.to_categorical(classes(4), 4)], {
            "loss": [keras.losses.BinaryCrossentropy(), keras.losses.CategoricalCrossentropy(from_logits=True)], "loss_weights": [1.0, 0.2],
            "optimizer": keras.optimizers.RMSprop(1e-3)}, {}


def auto_mpg():
    x = 30 * numbers(0.8, 9) + np.arange(9, dtype="float32") * 100
    normalize = k.Normalization(axis=-1)
    normalize.adapt(x)
    model = keras.Sequential([keras.Input((9,)), normalize, k.Dense(64, activation="relu", name="d1"), k.Dense(64, activation="relu", name="d2"),
                              k.Dense(1, name="out")])
    return model, x, 8 * numbers(0.9, 1) + 23, {"loss": "mean_absolute_error", "optimizer": keras.optimizers.Adam(0.001)}, {"validation_split": 0.25}


def timeseries_fcn():
    inputs = h = keras.Input((24, 1))
    for name in "abc":
        h = k.Conv1D(filters=16, kernel_size=3, padding="same", use_bias=False, name="c" + name)(h)
        h = k.ReLU()(k.BatchNormalization(name="n" + name)(h))
    model = keras.Model(inputs, k.Dense(3, activation="softmax", name="out")(k.GlobalAveragePooling1D()(h)))
    return model, numbers(0.31, 24, 1), classes(3), {
        "loss": "sparse_categorical_crossentropy", "optimizer": "adam", "metrics": ["sparse_categorical_accuracy"]}, {}


def imbalanced():
    model = keras.Sequential([keras.Input((10,)), k.Dense(32, activation="relu", name="d1"), k.Dense(32, activation="relu", name="d2"),
                              k.Dense(1, activation="sigmoid", name="out")])
    m = keras.metrics
    return model, numbers(1.7, 10), (classes(5) == 4).astype("float32").reshape(ROWS, 1), {
        "loss": "binary_crossentropy", "optimizer": keras.optimizers.Adam(1e-2),
        "metrics": [m.FalseNegatives(name="fn"), m.FalsePositives(name="fp"), m.TrueNegatives(name="tn"), m.TruePositives(name="tp"),
                    m.Precision(name="precision"), m.Recall(name="recall")]}, {"class_weight": {0: 0.02, 1: 0.08}}


def mini_xception():
    inputs = keras.Input((16, 16, 3))
    h = k.Rescaling(1.0 / 255)(inputs)
    h = k.Conv2D(8, 3, strides=2, padding="same", use_bias=False, name="stem")(h)
    before = h = k.Activation("relu")(k.BatchNormalization(name="sn")(h))
    for name in "ab":
        h = k.SeparableConv2D(16, 3, padding="same", use_bias=False, name="s" + name)(k.Activation("relu")(h))
        h = k.BatchNormalization(name="n" + name)(h)
    h = k.MaxPooling2D(3, strides=2, padding="same")(h)
    h = k.Add()([h, k.Conv2D(16, 1, strides=2, padding="same", name="residual")(before)])
    model = keras.Model(inputs, k.Dense(1, name="out")(k.GlobalAveragePooling2D()(h)))
    x = np.floor(127.5 + 127 * numbers(0.9, 16, 16, 3)).astype("float32")
    return model, x, classes(2).astype("float32").reshape(ROWS, 1), {
        "loss": keras.losses.BinaryCrossentropy(from_logits=True), "optimizer": keras.optimizers.SGD(0.01, momentum=0.9),
        "metrics": [keras.metrics.BinaryAccuracy(threshold=0.0, name="acc")]}, {}


def fine_tuning():
    """A frozen base learns with a new head; then all of it, with BatchNormalization as it was."""
    layers = [k.Dense(12, activation="relu", name="base"), k.BatchNormalization(name="norm"), k.Dense(3, activation="softmax", name="head")]
    model = keras.Sequential([keras.Input((7,))] + layers)
    layers[0].trainable = layers[1].trainable = False
    x, y = numbers(1.7, 7), classes(3)
    start(model)
    model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(0.01))
    first = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    layers[0].trainable = True
    model.compile(loss="sparse_categorical_crossentropy", optimizer=keras.optimizers.Adam(0.001))
    second = model.fit(x, y, batch_size=16, epochs=2, shuffle=False, verbose=0)
    return model, x, {"first": first.history["loss"], "second": second.history["loss"]}


def trained(name, make):
    keras.utils.set_random_seed(1)
    keras.backend.clear_session()
    made = make()
    if len(made) == 3:
        model, x, history = made
    else:
        model, x, y, how, fit = made
        start(model)
        model.compile(**how)
        history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0, **fit).history
    said = model.predict(x, verbose=0)
    outputs = np.concatenate([o[:4].flatten() for o in (said if isinstance(said, list) else [said])])
    print(f"  {name} = {{")
    for key in sorted(history):
        print(f"    {key} = {{ {', '.join(f'{v:.7e}' for v in history[key])} }},")
    print(f"    outputs = {{ {', '.join(f'{v:.7e}' for v in outputs)} }},\n  }},")


def main():
    print("-- SPDX-License-Identifier: MIT\n-- Made by golden_examples.py: histories of three epochs, and outputs of four rows after them.\nreturn {")
    for make in (mnist_convnet, small_resnet, text_from_scratch, structured_data, wide_and_deep, siamese_contrastive, functional_guide, auto_mpg,
                 timeseries_fcn, imbalanced, mini_xception, fine_tuning):
        trained(make.__name__, make)
    print("}")


if __name__ == "__main__":
    main()
