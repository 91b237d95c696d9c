"""Networks for tasks on images of any size, in the style of those that people deploy.

Their blocks are those of the publications; nothing of them is trained.
"""

import torch
from torch import nn
from torch.nn import functional

CLASSES, BINS = 80, 16
"""Kinds of objects, and bins of the distribution that a side of a box has."""
CHARACTERS = 6625
"""The alphabet of a recognizer of Chinese and English text, with the blank."""


class _ConvUnit(nn.Sequential):
    """A convolution, its normalization and an activation."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int = 3, stride: int = 1, groups: int = 1,
        activation: type[nn.Module] = nn.SiLU,
    ):  # fmt: skip
        super().__init__(
            nn.Conv2d(
                inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False
            ),
            nn.BatchNorm2d(outputs),
            activation(),
        )  # fmt: skip


class _CrossStage(nn.Module):
    """Bottlenecks in a row on half of the channels; the results of all are joined (CSPNet,
    arXiv:1911.11929)."""

    def __init__(self, inputs: int, outputs: int, count: int, residual: bool):
        super().__init__()
        half = outputs // 2
        self.residual, self.half = residual, half
        self.first = _ConvUnit(inputs, outputs, 1)
        self.last = _ConvUnit((2 + count) * half, outputs, 1)
        self.blocks = nn.ModuleList(
            nn.Sequential(_ConvUnit(half, half), _ConvUnit(half, half)) for _ in range(count)
        )

    def forward(self, x):
        parts = list(self.first(x).split([self.half, self.half], 1))
        for block in self.blocks:
            y = block(parts[-1])
            parts.append(parts[-1] + y if self.residual else y)
        return self.last(torch.cat(parts, 1))


class _PyramidPool(nn.Module):
    """Three pools of 5x5 in a row, joined: windows of 5, 9 and 13 (SPP, arXiv:1406.4729)."""

    def __init__(self, channels: int):
        super().__init__()
        self.first = _ConvUnit(channels, channels // 2, 1)
        self.last = _ConvUnit(2 * channels, channels, 1)
        self.pool = nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(self.pool(parts[-1]))
        return self.last(torch.cat(parts, 1))


class _BoxHead(nn.Module):
    """Classes and boxes of each position, without anchors; a side is the mean of a distribution
    (generalized focal loss, arXiv:2006.04388)."""

    def __init__(self, channels: int):
        super().__init__()
        self.boxes = nn.Sequential(
            _ConvUnit(channels, 64), _ConvUnit(64, 64), nn.Conv2d(64, 4 * BINS, 1)
        )
        self.classes = nn.Sequential(
            _ConvUnit(channels, CLASSES), _ConvUnit(CLASSES, CLASSES),
            nn.Conv2d(CLASSES, CLASSES, 1),
        )  # fmt: skip

    def forward(self, x):
        return torch.cat([self.boxes(x).flatten(2), self.classes(x).flatten(2)], 1)


class Detector(nn.Module):
    """A detector of objects in one stage, of the size of YOLOv8n (3.2 million weights): a backbone
    of cross-stage blocks, features of three resolutions joined upwards and downwards (PANet,
    arXiv:1803.01534), and a head for each. The result has the sides of a box and the probabilities
    of the classes for each position: [batch, 4 + classes, positions]."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(_ConvUnit(3, 16, stride=2), _ConvUnit(16, 32, stride=2))
        self.stages = nn.ModuleList([
            nn.Sequential(_CrossStage(32, 32, 1, True), _ConvUnit(32, 64, stride=2),
                          _CrossStage(64, 64, 2, True)),
            nn.Sequential(_ConvUnit(64, 128, stride=2), _CrossStage(128, 128, 2, True)),
            nn.Sequential(_ConvUnit(128, 256, stride=2), _CrossStage(256, 256, 1, True),
                          _PyramidPool(256)),
        ])  # fmt: skip
        self.up = nn.ModuleList(
            [_CrossStage(256 + 128, 128, 1, False), _CrossStage(128 + 64, 64, 1, False)]
        )
        self.shrink = nn.ModuleList([_ConvUnit(64, 64, stride=2), _ConvUnit(128, 128, stride=2)])
        self.down = nn.ModuleList(
            [_CrossStage(64 + 128, 128, 1, False), _CrossStage(128 + 256, 256, 1, False)]
        )
        self.heads = nn.ModuleList(map(_BoxHead, (64, 128, 256)))
        self.register_buffer("bins", torch.arange(BINS, dtype=torch.float32))

    def forward(self, images):
        x, levels = self.stem(images), []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        fine, middle, coarse = levels
        middle = self.up[0](torch.cat([_doubled(coarse), middle], 1))
        fine = self.up[1](torch.cat([_doubled(middle), fine], 1))
        middle = self.down[0](torch.cat([self.shrink[0](fine), middle], 1))
        coarse = self.down[1](torch.cat([self.shrink[1](middle), coarse], 1))
        found = [head(x) for head, x in zip(self.heads, (fine, middle, coarse), strict=True)]
        boxes, classes = torch.cat(found, 2).split([4 * BINS, CLASSES], 1)
        shares = boxes.unflatten(1, (4, BINS)).softmax(2)
        sides = (shares * self.bins[:, None]).sum(2)
        return torch.cat([sides, classes.sigmoid()], 1)


def _doubled(x):
    return functional.interpolate(x, scale_factor=2.0, mode="nearest")


class _Excitation(nn.Module):
    """Weights of channels by their means (arXiv:1709.01507)."""

    def __init__(self, channels: int):
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, channels // 4, 1), nn.ReLU(),
            nn.Conv2d(channels // 4, channels, 1), nn.Hardsigmoid(),
        )  # fmt: skip

    def forward(self, x):
        return x * self.gate(x)


class _Inverted(nn.Module):
    """An inverted residual of MobileNetV3 (arXiv:1905.02244)."""

    def __init__(self, inputs: int, wide: int, outputs: int, kernel: int, stride: int):
        super().__init__()
        self.residual = stride == 1 and inputs == outputs
        self.layers = nn.Sequential(
            _ConvUnit(inputs, wide, 1, activation=nn.Hardswish),
            _ConvUnit(wide, wide, kernel, stride, wide, activation=nn.Hardswish),
            _Excitation(wide),
            nn.Conv2d(wide, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )

    def forward(self, x):
        y = self.layers(x)
        return x + y if self.residual else y


class TextDetector(nn.Module):
    """A detector of text by a map of probabilities (DB, arXiv:1911.08947), on a backbone like
    MobileNetV3: features of four resolutions, joined, and enlarged by transposed convolutions.
    The result has the size of the image: [batch, 1, height, width]."""

    WIDTHS = (16, 24, 56, 120)

    def __init__(self) -> None:
        super().__init__()
        self.stem = _ConvUnit(3, 16, stride=2, activation=nn.Hardswish)
        inputs, stages = 16, []
        for width, kernel in zip(self.WIDTHS, (3, 3, 5, 5), strict=True):
            first = _Inverted(inputs, 4 * inputs, width, kernel, 2)
            stages.append(nn.Sequential(first, _Inverted(width, 4 * width, width, kernel, 1)))
            inputs = width
        self.stages = nn.ModuleList(stages)
        self.lateral = nn.ModuleList(nn.Conv2d(width, 96, 1) for width in self.WIDTHS)
        self.smooth = nn.ModuleList(nn.Conv2d(96, 24, 3, padding=1) for _ in self.WIDTHS)
        self.head = nn.Sequential(
            _ConvUnit(96, 24, activation=nn.ReLU), nn.ConvTranspose2d(24, 24, 2, 2),
            nn.BatchNorm2d(24), nn.ReLU(), nn.ConvTranspose2d(24, 1, 2, 2), nn.Sigmoid(),
        )  # fmt: skip

    def forward(self, images):
        x, levels = self.stem(images), []
        for stage, lateral in zip(self.stages, self.lateral, strict=True):
            x = stage(x)
            levels.append(lateral(x))
        for coarser in (3, 2, 1):
            levels[coarser - 1] = levels[coarser - 1] + _doubled(levels[coarser])
        parts = []
        for number, (smooth, level) in enumerate(zip(self.smooth, levels, strict=True)):
            part = smooth(level)
            for _ in range(number):
                part = _doubled(part)
            parts.append(part)
        return self.head(torch.cat(parts, 1))


class _Attention(nn.Module):
    """A layer of attention among the columns, and one of each column by itself."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.joint, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, 2 * width), nn.SiLU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        joint = self.joint(self.norms[0](x)).unflatten(2, (3, self.heads, -1))
        query, keys, values = joint.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, keys, values)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.feed_forward(self.norms[1](x))


class TextRecognizer(nn.Module):
    """A recognizer of lines of text, 48 pixels high: convolutions down to one row, two layers of
    attention (SVTR, arXiv:2205.00159), and the probabilities of characters for each column of
    eight pixels: [batch, width / 8, characters]."""

    WIDTH = 120

    def __init__(self) -> None:
        super().__init__()
        self.stem = _ConvUnit(3, 16, stride=2, activation=nn.Hardswish)
        self.body = nn.Sequential(
            _Inverted(16, 64, 32, 3, 1), _Inverted(32, 128, 64, 3, 2), _Inverted(64, 256, 64, 3, 1),
            _Inverted(64, 256, 128, 5, 2), _Inverted(128, 512, 128, 5, 1),
            _Inverted(128, 512, 256, 5, 1), _Inverted(256, 512, 256, 5, 1),
        )  # fmt: skip
        self.mixed = _ConvUnit(256, self.WIDTH, 1)
        self.attention = nn.Sequential(_Attention(self.WIDTH, 8), _Attention(self.WIDTH, 8))
        self.head = nn.Linear(self.WIDTH, CHARACTERS)

    def forward(self, lines):
        x = self.mixed(self.body(self.stem(lines))).mean(2)
        return self.head(self.attention(x.transpose(1, 2))).softmax(2)
