#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes golden.h: what Keras 3 computes for small models, for golden.c.

usage: golden.py > golden.h        (needs keras and jax: `./check peers` has them)

With KERAS_BACKEND=torch PyTorch computes the same, which `./check peers` compares.
"""
import math
import os

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras  # noqa: E402
import numpy as np  # noqa: E402

ROWS, STEPS = 8, 10


def numbers(rows, columns, f):
    return np.array([[f(i, k) for k in range(columns)] for i in range(rows)], "float32")


X = numbers(ROWS, 4, lambda i, k: math.sin(1 + 0.7 * i + 1.3 * k))
FIRST = numbers(4, 5, lambda k, u: 0.5 * math.sin(1 + 2 * k + 3 * u))
TARGETS = {
    "number": numbers(ROWS, 3, lambda i, j: math.cos(0.5 * i + j)),
    "count": numbers(ROWS, 3, lambda i, j: 1 + math.cos(0.5 * i + j)),
    "positive": numbers(ROWS, 3, lambda i, j: 2 + math.cos(0.5 * i + j)),
    "share": numbers(ROWS, 3, lambda i, j: 0.5 + 0.5 * math.cos(0.5 * i + j)),
    "one": numbers(ROWS, 3, lambda i, j: float(i % 3 == j)),
    "class": numbers(ROWS, 1, lambda i, _: float(i % 3)),
}


def trained(optimizer, loss, targets="number", last="linear", metrics=(), fit={}, evaluate={}):
    """Predictions for two rows after some steps on all rows, and what evaluate says then."""
    hidden = keras.layers.Dense(5, activation="tanh")
    out = keras.layers.Dense(3, activation=last)
    model = keras.Sequential([keras.Input((4,)), hidden, out])
    hidden.set_weights([FIRST, np.zeros(5, "float32")])
    out.set_weights([numbers(5, 3, lambda k, u: 0.5 * math.cos(k + 2 * u)), np.zeros(3, "float32")])
    model.compile(optimizer=optimizer, loss=loss, metrics=list(metrics))
    y = TARGETS[targets]
    model.fit(X, y, batch_size=ROWS, epochs=STEPS, shuffle=False, verbose=0, **fit)
    said = model.evaluate(X, y, batch_size=ROWS, verbose=0, return_dict=True, **evaluate)
    return model.predict(X[:2], verbose=0).flatten(), said


def c(value):
    return repr(float(value))


def listed(values):
    return "{" + ", ".join(c(v) for v in values) + "}"


NUMBERS = ("learning_rate momentum beta_1 beta_2 rho epsilon initial_accumulator_value weight_decay clipvalue clipnorm "
           "global_clipnorm").split()


def spec(optimizer):
    config = optimizer.get_config()
    kind = {"SGD": "SGD", "Adam": "ADAM", "AdamW": "ADAMW", "RMSprop": "RMSPROP", "Adagrad": "ADAGRAD"}[type(optimizer).__name__]
    fields = [f".kind = OPTIMIZER_{kind}"] + [f".{n} = {c(config[n])}" for n in NUMBERS if config.get(n)]
    fields += [f".{n} = true" for n in ("nesterov", "centered") if config.get(n)]
    return "{" + ", ".join(fields) + "}"


o = keras.optimizers
OPTIMIZERS = [
    lambda: o.SGD(0.1), lambda: o.SGD(0.1, momentum=0.9), lambda: o.SGD(0.1, momentum=0.9, nesterov=True),
    lambda: o.SGD(0.1, momentum=0.9, weight_decay=0.05), lambda: o.SGD(1.0, clipvalue=0.02),
    lambda: o.SGD(1.0, clipnorm=0.1), lambda: o.SGD(1.0, global_clipnorm=0.1), lambda: o.Adam(0.05),
    lambda: o.Adam(0.05, weight_decay=0.1), lambda: o.AdamW(0.05), lambda: o.AdamW(0.05, weight_decay=0.1, clipnorm=0.1),
    lambda: o.RMSprop(0.02), lambda: o.RMSprop(0.02, rho=0.5, momentum=0.5), lambda: o.RMSprop(0.02, centered=True),
    lambda: o.RMSprop(0.02, rho=0.5, momentum=0.5, centered=True), lambda: o.Adagrad(0.1),
    lambda: o.Adagrad(0.1, initial_accumulator_value=0.5, weight_decay=0.05),
]


k = keras.losses
# Keras's loss, the fields of our compile_spec, the last layer's activation, targets, metrics.
ERRORS = ["mean_squared_error", "mae", "mape"]
LOSSES = [
    (k.SparseCategoricalCrossentropy(), ".loss = LOSS_SPARSE_CATEGORICAL_CROSSENTROPY", "softmax", "class", ["accuracy"]),
    (k.SparseCategoricalCrossentropy(from_logits=True),
     ".loss = LOSS_SPARSE_CATEGORICAL_CROSSENTROPY, .from_logits = true", "linear", "class", ["accuracy"]),
    (k.CategoricalCrossentropy(), ".loss = LOSS_CATEGORICAL_CROSSENTROPY", "softmax", "one", ["accuracy", "mae"]),
    (k.CategoricalCrossentropy(label_smoothing=0.2), ".loss = LOSS_CATEGORICAL_CROSSENTROPY, .label_smoothing = 0.2",
     "softmax", "one", ["accuracy", "mae"]),
    (k.BinaryCrossentropy(), ".loss = LOSS_BINARY_CROSSENTROPY", "sigmoid", "share", ["mae"]),
    (k.BinaryCrossentropy(label_smoothing=0.2), ".loss = LOSS_BINARY_CROSSENTROPY, .label_smoothing = 0.2", "sigmoid",
     "share", ["mae"]),
    ("mse", ".loss = LOSS_MEAN_SQUARED_ERROR", "linear", "number", ERRORS),
    ("mae", ".loss = LOSS_MEAN_ABSOLUTE_ERROR", "linear", "number", ERRORS),
    ("mape", ".loss = LOSS_MEAN_ABSOLUTE_PERCENTAGE_ERROR", "linear", "positive", ERRORS),
    ("msle", ".loss = LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR", "linear", "count", ERRORS),
    (k.Huber(), ".loss = LOSS_HUBER", "linear", "number", ERRORS),
    (k.Huber(delta=0.3), ".loss = LOSS_HUBER, .delta = 0.3", "tanh", "number", ERRORS),
    ("log_cosh", ".loss = LOSS_LOG_COSH", "linear", "number", ERRORS),
    ("poisson", ".loss = LOSS_POISSON", "sigmoid", "count", ERRORS),
]


# How much the loss of a row counts, and that of a class.
ROW_WEIGHTS = np.array([0.25 + 0.3 * (i % 4) if i != 5 else 0 for i in range(ROWS)], "float32")
CLASS_WEIGHTS = {0: 0.5, 2: 3.0}
WEIGHTED = [
    (k.SparseCategoricalCrossentropy(), ".loss = LOSS_SPARSE_CATEGORICAL_CROSSENTROPY", "softmax", "class"),
    (k.CategoricalCrossentropy(), ".loss = LOSS_CATEGORICAL_CROSSENTROPY", "softmax", "one"),
    (k.BinaryCrossentropy(), ".loss = LOSS_BINARY_CROSSENTROPY", "sigmoid", "share"),
    ("mse", ".loss = LOSS_MEAN_SQUARED_ERROR", "linear", "number"),
    (k.Huber(delta=0.3), ".loss = LOSS_HUBER, .delta = 0.3", "tanh", "number"),
]

# Keras's options, ours: the areas under the curves of POINTS' outputs, in two batches.
POINTS = 50
AUCS = [
    ({}, "{0}"), ({"curve": "PR"}, "{.pr = true}"), ({"num_thresholds": 11}, "{.thresholds = 11}"),
    ({"num_thresholds": 7, "curve": "PR"}, "{.thresholds = 7, .pr = true}"),
    ({"from_logits": True}, "{.logits = true}"),
]


s = keras.optimizers.schedules
SCHEDULES = [
    (s.ExponentialDecay, "EXPONENTIAL", {}), (s.ExponentialDecay, "EXPONENTIAL", {"staircase": True}),
    (s.InverseTimeDecay, "INVERSE_TIME", {}), (s.InverseTimeDecay, "INVERSE_TIME", {"staircase": True}),
    (s.PolynomialDecay, "POLYNOMIAL", {}), (s.PolynomialDecay, "POLYNOMIAL", {"power": 0.5, "end_learning_rate": 0.01, "cycle": True}),
    (s.CosineDecay, "COSINE", {}), (s.CosineDecay, "COSINE", {"alpha": 0.1, "warmup_target": 0.4, "warmup_steps": 5}),
    (s.CosineDecayRestarts, "RESTARTS", {}), (s.CosineDecayRestarts, "RESTARTS", {"t_mul": 1.0, "m_mul": 0.7, "alpha": 0.05}),
    (s.PiecewiseConstantDecay, "PIECEWISE", {}),
]
STEPS_LOOKED_AT = [0, 1, 4, 5, 7, 9, 10, 11, 15, 20, 29, 30, 31, 65]


def scheduled(make, kind, options):
    """The fields of our schedule, and Keras's rates."""
    fields = f".kind = SCHEDULE_{kind}"
    if kind == "PIECEWISE":
        made = make([5, 10], [0.1, 0.05, 0.01])
        fields += ", .pieces = 3, .boundary = {5, 10}, .value = {0.1, 0.05, 0.01}"
    else:
        length = "first_decay_steps" if kind == "RESTARTS" else "decay_steps"
        given = {"initial_learning_rate": 0.1, length: 10, **options}
        given.update({"decay_rate": 0.5} if kind in ("EXPONENTIAL", "INVERSE_TIME") else {})
        made = make(**given)
        config = {name: value for name, value in made.get_config().items() if name != "name" and value is not None}
        if kind == "COSINE":
            config.setdefault("warmup_target", -1.0)
        fields += "".join(f", .{name} = {str(value).lower() if isinstance(value, bool) else float(value)}" for name, value in config.items())
    return fields, [float(made(step)) for step in STEPS_LOOKED_AT]


def area(options):
    i = np.arange(POINTS)
    y = (np.sin(3 * i) + 0.3 * np.cos(i) > 0).astype("float32").reshape(-1, 1)
    p = (0.5 + 0.5 * np.sin(3 * i + 0.8 * np.cos(2 * i))).astype("float32").reshape(-1, 1)
    auc = keras.metrics.AUC(**options)
    auc.update_state(y[:32], p[:32])
    auc.update_state(y[32:], p[32:])
    return auc.result()


def main():
    print("// SPDX-License-Identifier: MIT")
    print(f"// Made by golden.py with Keras {keras.__version__}, on JAX.")
    print("#pragma once\n#include \"trainer/logs.h\"\n#include \"trainer/nn/graph/model.h\"\n#include \"trainer/watch.h\"\n\n// clang-format off")
    print("static const optimizer_spec golden_defaults[] = {")
    for make in (o.SGD, o.Adam, o.AdamW, o.RMSprop, o.Adagrad):
        print(f"    {spec(make())},")
    print("};\n\nstatic const struct golden_optimizer {\n    optimizer_spec spec;\n    double predicted[6], loss;\n"
          "} golden_optimizers[] = {")
    for make in OPTIMIZERS:
        predicted, said = trained(make(), "mean_squared_error")
        print(f"    {{{spec(make())},\n        {listed(predicted)}, {c(said['loss'])}}},")
    print("};\n\nstatic const struct golden_loss {\n    compile_spec spec;\n    activation last;\n    const char *targets;\n"
          "    double predicted[6], loss;\n    struct {\n        size_t n;\n        struct {\n            const char *name;\n"
          "            double value;\n        } items[4];\n    } metrics;\n} golden_losses[] = {")
    for loss, fields, last, targets, metrics in LOSSES:
        root = [] if targets == "class" else [keras.metrics.RootMeanSquaredError()]
        predicted, said = trained(o.SGD(0.05), loss, targets, last, metrics + root)
        items = ", ".join(f'{{"{name}", {c(said[name])}}}' for name in said if name != "loss")
        print(f"    {{{{{fields}}}, ACTIVATION_{last.upper()}, \"{targets}\",\n        {listed(predicted)}, {c(said['loss'])},\n"
              f"        {{{len(said) - 1}, {{{items}}}}}}},")
    print("};\n\nstatic const struct golden_weighted {\n    compile_spec spec;\n    activation last;\n    const char *targets;\n"
          "    bool by_class;\n    double predicted[6], loss;\n} golden_weighted[] = {")
    rows = {"sample_weight": ROW_WEIGHTS}
    for loss, fields, last, targets in WEIGHTED:
        for by_class in (False, True) if targets in ("class", "one") else (False,):
            fit = {"class_weight": CLASS_WEIGHTS} if by_class else rows
            predicted, said = trained(o.SGD(0.05), loss, targets, last, fit=fit, evaluate={} if by_class else rows)
            print(f"    {{{{{fields}}}, ACTIVATION_{last.upper()}, \"{targets}\", {str(by_class).lower()},\n"
                  f"        {listed(predicted)}, {c(said['loss'])}}},")
    print(f"}};\n\nstatic const int golden_steps[] = {{{', '.join(map(str, STEPS_LOOKED_AT))}}};\n"
          f"static const struct golden_schedule {{\n    schedule spec;\n    double rate[{len(STEPS_LOOKED_AT)}];\n}} golden_schedules[] = {{")
    for schedule in SCHEDULES:
        fields, rates = scheduled(*schedule)
        print(f"    {{{{{fields}}},\n        {listed(rates)}}},")
    print("};\n\nstatic const struct golden_auc {\n    auc_spec spec;\n    double area;\n} golden_aucs[] = {")
    for options, fields in AUCS:
        print(f"    {{{fields}, {c(area(options))}}},")
    print("};\n// clang-format on")


main()
