# SPDX-License-Identifier: MIT
"""pretrained.py FOLDER: networks of Keras, and torchvision's ResNets in PyTorch, with random weights and statistics: leaves NAME.npz,
pictures NAME.x.npy and what they make of them, NAME.y.npy. pretrained.lua loads the weights and compares."""
import os
import sys

os.environ["KERAS_BACKEND"] = "jax"
import keras  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

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


class Block(torch.nn.Module):
    """BasicBlock or Bottleneck of torchvision/models/resnet.py, with its names."""

    def __init__(self, before, width, stride, deep):
        super().__init__()
        n = torch.nn
        sizes = [(before, width, 1, 1), (width, width, 3, stride), (width, 4 * width, 1, 1)] if deep else [
            (before, width, 3, stride), (width, width, 3, 1)]
        self.count, after = len(sizes), sizes[-1][1]
        for i, (a, b, size, step) in enumerate(sizes, 1):
            setattr(self, f"conv{i}", n.Conv2d(a, b, size, step, size // 2, bias=False))
            setattr(self, f"bn{i}", n.BatchNorm2d(b))
        self.downsample = None
        if stride > 1 or before != after:
            self.downsample = n.Sequential(n.Conv2d(before, after, 1, stride, bias=False), n.BatchNorm2d(after))

    def forward(self, x):
        h = x
        for i in range(1, self.count + 1):
            h = getattr(self, f"bn{i}")(getattr(self, f"conv{i}")(h))
            h = torch.relu(h) if i < self.count else h
        return torch.relu(h + (self.downsample(x) if self.downsample else x))


class ResNet(torch.nn.Module):
    def __init__(self, blocks, deep):
        super().__init__()
        n = torch.nn
        self.conv1, self.bn1 = n.Conv2d(3, 64, 7, 2, 3, bias=False), n.BatchNorm2d(64)
        before = 64
        for stage, count in enumerate(blocks, 1):
            rows = []
            for i in range(count):
                rows.append(Block(before, 32 << stage, 2 if i == 0 and stage > 1 else 1, deep))
                before = (32 << stage) * (4 if deep else 1)
            setattr(self, f"layer{stage}", n.Sequential(*rows))
        self.fc = n.Linear(before, CLASSES)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return torch.softmax(self.fc(x.mean((2, 3))), 1)


def of_torch(name, blocks, deep):
    torch.manual_seed(1)
    model = ResNet(blocks, deep).eval()
    for key, value in model.state_dict().items():
        if key.endswith(("running_var", "bn1.weight", "bn2.weight")):
            value.uniform_(0.5, 1.5)
        elif key.endswith(("running_mean", "bias")):
            value.normal_(0, 0.1)
    x = pictures()
    prepared = (x / 255 - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225]
    with torch.no_grad():
        y = model(torch.tensor(prepared.astype("float32")).permute(0, 3, 1, 2)).numpy()
    keep(name, {key: value.numpy() for key, value in model.state_dict().items()}, x, y)


def main():
    os.chdir(sys.argv[1])
    size = {"weights": None, "input_shape": (64, 64, 3), "classes": CLASSES}
    a = keras.applications
    of_keras("ResNet50", a.ResNet50(**size), a.resnet50.preprocess_input)
    of_keras("MobileNet", a.MobileNet(alpha=0.5, **size), a.mobilenet.preprocess_input)
    of_torch("ResNet18", [2, 2, 2, 2], False)
    of_torch("ResNet50-torchvision", [3, 4, 6, 3], True)


main()
