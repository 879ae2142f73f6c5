# SPDX-License-Identifier: MIT
"""torchvision's ResNets with its names, without torchvision: their outputs before the softmax."""
import torch


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
    def __init__(self, blocks, deep, classes):
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
        self.fc = n.Linear(before, classes)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(torch.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))
