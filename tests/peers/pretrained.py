# SPDX-License-Identifier: MIT
"""pretrained.py FOLDER: networks of Keras, and torchvision's ResNets in PyTorch, with random weights and statistics: leaves NAME.npz,
pictures NAME.x.npy and what they make of them, NAME.y.npy. pretrained.lua loads the weights and compares."""
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from resnet_torch import ResNet  # noqa: E402

CLASSES = 10
random = np.random.default_rng(1)


def keep(name, weights, x, y):
    np.savez(name + ".npz", **weights)
    np.save(name + ".x.npy", x)
    np.save(name + ".y.npy", y)


def pictures():
    return random.uniform(0, 255, (4, 64, 64, 3)).astype("float32")


def of_keras(name, model, prepare):
    for w in model.weights:
        if w.path.endswith(("moving_variance", "gamma")):
            w.assign(random.uniform(0.5, 1.5, w.shape))
        elif w.path.endswith(("moving_mean", "beta", "bias")):
            w.assign(random.normal(0, 0.1, w.shape))
    x = pictures()
    keep(name, {w.path: w.numpy() for w in model.weights}, x, model.predict(prepare(x.copy()), verbose=0))


def of_torch(name, blocks, deep):
    torch.manual_seed(1)
    model = ResNet(blocks, deep, CLASSES).eval()
    for key, value in model.state_dict().items():
        if key.endswith(("running_var", "bn1.weight", "bn2.weight")):
            value.uniform_(0.5, 1.5)
        elif key.endswith(("running_mean", "bias")):
            value.normal_(0, 0.1)
    x = pictures()
    prepared = (x / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    with torch.no_grad():
        y = torch.softmax(model(torch.tensor(prepared.astype("float32")).permute(0, 3, 1, 2)), 1).numpy()
    keep(name, {key: value.numpy() for key, value in model.state_dict().items()}, x, y)


def of_flatten():
    """A small network whose Linear follows a Flatten of pictures."""
    torch.manual_seed(2)
    layers = {"conv": torch.nn.Conv2d(3, 8, 5, 4), "relu": torch.nn.ReLU(), "flatten": torch.nn.Flatten(), "fc": torch.nn.Linear(8 * 15 * 15, CLASSES)}
    model = torch.nn.Sequential()
    for name, layer in layers.items():
        model.add_module(name, layer)
    x = pictures() / 255
    with torch.no_grad():
        y = model(torch.tensor(x).permute(0, 3, 1, 2)).numpy()
    keep("Flatten", {key: value.numpy() for key, value in model.state_dict().items()}, x, y)


def main():
    os.chdir(sys.argv[1])
    size = {"weights": None, "input_shape": (64, 64, 3), "classes": CLASSES}
    a = keras.applications
    of_keras("ResNet50", a.ResNet50(**size), a.resnet50.preprocess_input)
    of_keras("MobileNet", a.MobileNet(alpha=0.5, **size), a.mobilenet.preprocess_input)
    of_keras("MobileNetV2", a.MobileNetV2(alpha=0.5, **size), a.mobilenet_v2.preprocess_input)
    of_torch("ResNet18", [2, 2, 2, 2], False)
    of_torch("ResNet50-torchvision", [3, 4, 6, 3], True)
    of_flatten()


main()
