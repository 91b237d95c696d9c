"""Convolutions and pooling."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value
from .contraction import scaled

_CHANNELS = (1, 2, 3, 4, 6, 8, 15, 16, 17, 24, 32, 33)


def image(b: GraphBuilder, types: tuple[str, ...] = ("float32", "float64", "float16")) -> Value:
    """An existing or new batch of features over one to three spatial dimensions."""
    shaped = b.find(lambda v: 3 <= v.rank <= 5 and v.dtype.name in types and 0 < v.size <= 8192)
    if shaped is not None and b.chance(0.5):
        return shaped
    rank = b.choose((1, 2, 2, 2, 3))
    extents = [b.choose((1, 3, 5, 7, 8, 9, 13, 16)) for _ in range(rank)]
    if rank == 3:
        extents = [min(size, 5) for size in extents]
    kind = b.float_type.name if b.float_type.name in types else types[0]
    return b.new([b.choose((1, 1, 2)), b.choose(_CHANNELS), *extents], kind)


def window(b: GraphBuilder, x: Value, dilated: bool = True) -> dict[str, Any]:
    """Kernel, strides, dilations and padding that fit `x`; the padding is smaller than the
    kernel."""
    found: dict[str, list[int]] = {"kernel_shape": [], "strides": [], "dilations": []}
    low, high = [], []
    for extent in x.shape[2:]:
        dilation = b.choose((1, 1, 1, 2)) if dilated else 1
        kernel = b.choose((1, 2, 3, 3, 3, 5))
        before, after = (b.integer(0, kernel - 1) if b.chance(0.6) else 0 for _ in range(2))
        while (kernel - 1) * dilation + 1 > extent + before + after:
            kernel, before, after = kernel - 1, min(before, kernel - 2), min(after, kernel - 2)
            before, after = max(before, 0), max(after, 0)
        found["kernel_shape"].append(kernel)
        found["strides"].append(b.choose((1, 1, 2, 3)))
        found["dilations"].append(dilation)
        low.append(before)
        high.append(after)
    if not dilated:
        del found["dilations"]
    return {**found, "pads": low + high}


def _same(b: GraphBuilder, attributes: dict[str, Any]) -> dict[str, Any]:
    """Occasionally replace the padding with ``auto_pad``. Drop dilations then, because runtimes
    disagree about the combination."""
    if b.chance(0.15):
        attributes = {k: v for k, v in attributes.items() if k not in ("pads", "dilations")}
        attributes["auto_pad"] = b.choose(("SAME_UPPER", "SAME_LOWER"))
    return attributes


@draws(weight=7)
def conv(b: GraphBuilder) -> None:
    """Dense, grouped and depthwise convolutions, often with the operators that follow them in
    networks."""
    x = image(b)
    channels = x.shape[1]
    attributes = _same(b, window(b, x))
    groups = b.choose([g for g in (1, 1, 1, 2, channels) if channels % g == 0])
    features = groups * (b.integer(1, 2) if groups == channels else b.choose((1, 3, 4, 8, 16, 17)))
    kernel = attributes["kernel_shape"]
    k = channels // groups * int(np.prod(kernel))
    shape = [features, channels // groups, *kernel]
    w = scaled(b, shape, x.dtype, k, weight=b.chance(0.9), named=False)
    bias = [b.new([features], x.dtype, weight=True)] if b.chance(0.5) else []
    (y,) = b.add("Conv", [x, w, *bias], group=groups, **attributes)
    if b.chance(0.3):
        batch_norm(b, y)
    if b.chance(0.3):
        b.add(b.choose(("Relu", "Sigmoid", "LeakyRelu", "Tanh")), [b.values[-1]])


def batch_norm(b: GraphBuilder, x: Value) -> None:
    """A batch normalization with new weights."""
    n = x.shape[1]
    bounds = ((0.5, 1.5), (-1, 1), (-1, 1), (0.5, 2))
    parts = [b.new([n], x.dtype, low, high, exact=False, weight=True) for low, high in bounds]
    b.add("BatchNormalization", [x, *parts], epsilon=1e-5)


@draws(weight=1.5)
def normalized(b: GraphBuilder) -> None:
    """A batch normalization on its own."""
    batch_norm(b, b.take((2, 4), ("float32",), empty=False))


@draws(weight=2, since=11)
def conv_transpose(b: GraphBuilder) -> None:
    """Transposed convolution with strides, groups and output padding."""
    x = image(b, ("float32",))
    channels, rank = x.shape[1], x.rank - 2
    groups = b.choose([g for g in (1, 1, 2) if channels % g == 0])
    kernel = [b.integer(1, 3) for _ in range(rank)]
    strides = [b.integer(1, 2) for _ in range(rank)]
    w = scaled(b, [channels, b.integer(1, 4), *kernel], x.dtype, channels, named=False)
    extra = [b.integer(0, s - 1) for s in strides]
    pads = [b.integer(0, (k - 1) // 2) for k in kernel]
    b.add("ConvTranspose", [x, w], group=groups, kernel_shape=kernel, strides=strides,
          pads=pads * 2, output_padding=extra)  # fmt: skip


@draws(weight=0.7, since=10)
def conv_integer(b: GraphBuilder) -> None:
    """Convolution of 8-bit integers."""
    x = b.new([1, b.integer(1, 5), b.integer(3, 9), b.integer(3, 9)], "uint8", 0, 9)
    w = b.new([b.integer(1, 9), x.shape[1], 3, 3], "uint8", 0, 9, weight=True)
    points = [b.known(np.array(b.integer(0, 3), np.uint8))] if b.chance(0.5) else []
    b.add("ConvInteger", [x, w, *points], pads=[b.integer(0, 1)] * 4)


@draws(weight=3, since=11)
def pooling(b: GraphBuilder) -> None:
    """The maximum, the mean, or a norm of each window."""
    x = image(b, ("float32",))
    op_type = b.choose(("MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool"))
    dilated = b.opset >= {"MaxPool": 10, "AveragePool": 19}.get(op_type, 99)
    attributes = window(b, x, dilated=dilated)
    if op_type != "LpPool" and b.chance(0.3):
        attributes["ceil_mode"] = 1
    if op_type == "AveragePool":
        attributes["count_include_pad"] = b.integer(0, 1)
    if op_type == "LpPool":
        attributes["p"] = b.integer(1, 3)
    b.add(op_type, [x], exact=op_type == "MaxPool", **attributes)


@draws(weight=1.5)
def global_pooling(b: GraphBuilder) -> None:
    """Pooling over all positions."""
    b.add(b.choose(("GlobalAveragePool", "GlobalMaxPool")), [image(b, ("float32",))])
