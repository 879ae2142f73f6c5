# SPDX-License-Identifier: MIT
"""beside.py KIND FOLDER: the model that models.lua has trained there, with Keras and with PyTorch, from the same weights and
with the same batches in the same order. Prints JSON: losses of each, and how far apart the weights are at the end."""
import json
import os
import struct
import sys

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

BATCH, ROWS = 48, 480
torch.set_num_threads(1)


def weights(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    head = json.loads(data[8:8 + size])
    head.pop("__metadata__")
    found = {}
    for name, of in head.items():
        start, end = (8 + size + n for n in of["data_offsets"])
        found[name] = np.frombuffer(data[start:end], "<f4").reshape(of["shape"])
    return found


def batches(x, y, steps):
    for step in range(steps):
        rows = slice(step * BATCH % ROWS, step * BATCH % ROWS + BATCH)
        yield [a[rows] for a in x], y[rows]


def keras_model(kind):
    k = keras.layers
    if kind == "mlp":
        made = keras.Sequential([keras.Input((20,)), k.Dense(64, activation="relu", name="a"), k.Dense(32, activation="tanh", name="b"),
                                 k.Dense(5, activation="softmax", name="out")])
        return made, keras.optimizers.SGD(0.05, momentum=0.9), "sparse_categorical_crossentropy"
    if kind == "cnn":
        made = keras.Sequential([keras.Input((10, 10, 2)), k.Conv2D(8, 3, padding="same", activation="relu", name="a"), k.MaxPooling2D(2),
                                 k.Conv2D(16, 3, activation="relu", name="b"), k.Flatten(), k.Dense(5, activation="softmax", name="out")])
        return made, keras.optimizers.Adam(0.002), "sparse_categorical_crossentropy"
    store, day, rest = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32"), keras.Input((6,))
    h = k.Concatenate()([k.Flatten()(k.Embedding(40, 8, name="store")(store)), k.Flatten()(k.Embedding(11, 4, name="day")(day)), rest])
    h = k.BatchNormalization(name="norm")(k.Dense(32, activation="relu", name="a")(h))
    made = keras.Model([store, day, rest], k.Dense(1, name="out")(k.Dense(16, activation="tanh", name="b")(h)))
    return made, keras.optimizers.Adam(0.002), "mse"


def with_keras(kind, x, y, start, steps):
    model, optimizer, loss = keras_model(kind)
    layers = {layer.name: layer for layer in model.layers}
    parts = [(name.split("/")[0], name) for name in start]
    for layer in dict.fromkeys(p[0] for p in parts):
        layers[layer].set_weights([start[name] for of, name in parts if of == layer])
    model.compile(optimizer=optimizer, loss=loss)
    losses = []
    for inputs, targets in batches(x, y, steps):
        model.reset_metrics()
        losses.append(float(model.train_on_batch(inputs if len(inputs) > 1 else inputs[0], targets)))
    end = {}
    for layer in dict.fromkeys(p[0] for p in parts):
        end.update(zip([name for of, name in parts if of == layer], layers[layer].get_weights()))
    return losses, end


class Torch(torch.nn.Module):
    """Kernels lie here as in PyTorch: (out, in), (out, in, height, width)."""

    def __init__(self, kind, start):
        super().__init__()
        self.kind = kind
        self.w = torch.nn.ParameterDict()
        for name, value in start.items():
            if "moving" not in name:
                self.w[name.replace("/", "_")] = torch.nn.Parameter(torch.tensor(self.turned(name, value)))

    @staticmethod
    def turned(name, value):
        return np.ascontiguousarray(np.transpose(value, (3, 2, 0, 1) if value.ndim == 4 else None) if name.endswith("kernel") else value)

    def end(self, names):
        return {n: np.transpose(v, (2, 3, 1, 0) if v.ndim == 4 else None) if n.endswith("kernel") else v
                for n in names if n.replace("/", "_") in self.w for v in [self.w[n.replace("/", "_")].detach().numpy()]}

    def dense(self, name, x):
        return torch.nn.functional.linear(x, self.w[name + "_kernel"], self.w[name + "_bias"])

    def forward(self, x):
        f, w = torch.nn.functional, self.w
        if self.kind == "mlp":
            return self.dense("out", torch.tanh(self.dense("b", torch.relu(self.dense("a", x[0])))))
        if self.kind == "cnn":
            h = f.max_pool2d(torch.relu(f.conv2d(x[0].permute(0, 3, 1, 2), w["a_kernel"], w["a_bias"], padding=1)), 2)
            h = torch.relu(f.conv2d(h, w["b_kernel"], w["b_bias"]))
            return self.dense("out", h.permute(0, 2, 3, 1).flatten(1))
        h = torch.cat([w["store_embeddings"][x[0][:, 0]], w["day_embeddings"][x[1][:, 0]], x[2]], 1)
        h = f.batch_norm(torch.relu(self.dense("a", h)), None, None, w["norm_gamma"], w["norm_beta"], training=True, eps=1e-3)
        return self.dense("out", torch.tanh(self.dense("b", h)))


def with_torch(kind, x, y, start, steps):
    model = Torch(kind, start)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9) if kind == "mlp" else torch.optim.Adam(model.parameters(), 0.002, eps=1e-7)
    loss = torch.nn.MSELoss() if kind == "table" else torch.nn.CrossEntropyLoss()
    losses = []
    for inputs, targets in batches(x, y, steps):
        optimizer.zero_grad()
        value = loss(model([torch.tensor(a) for a in inputs]), torch.tensor(targets))
        value.backward()
        optimizer.step()
        losses.append(float(value.detach()))
    return losses, model.end(start)


def apart(a, b):
    return max(float(np.abs(a[name] - b[name]).max()) for name in a if name in b and "moving" not in name)


def main():
    kind, folder = sys.argv[1:]
    start, end = (weights(os.path.join(folder, name + ".safetensors")) for name in ("start", "end"))
    x = [np.load(os.path.join(folder, f"x{k}.npy")) for k in range(3 if kind == "table" else 1)]
    y = np.load(os.path.join(folder, "y.npy"))
    with open(os.path.join(folder, "losses"), encoding="ascii") as f:
        ours = [float(line) for line in f]
    of_keras, keras_end = with_keras(kind, x, y, start, len(ours))
    of_torch, torch_end = with_torch(kind, x, y, start, len(ours))
    print(json.dumps({"ours": ours, "keras": of_keras, "torch": of_torch, "moved": apart(start, end), "ours_keras": apart(end, keras_end),
                      "keras_torch": apart(keras_end, torch_end), "ours_torch": apart(end, torch_end)}))


main()
