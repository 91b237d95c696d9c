"""Chains of window operators on images that have padding along some axes only."""

from typing import Any

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value
from .contraction import scaled

_LENGTHS = (1, 2, 3, 5, 6, 7, 8, 9, 13)


def _image(b: GraphBuilder) -> Value:
    rank = b.choose((1, 2, 2, 2, 3))
    extents = [b.choose(_LENGTHS[: 9 - 2 * rank]) for _ in range(rank)]
    return b.new([b.choose((1, 1, 1, 2)), b.choose((1, 2, 3, 4, 8)), *extents], "float32")


def _window(b: GraphBuilder, x: Value) -> dict[str, Any]:
    """Attributes of a window that fits without padding; padding is along one axis, often the last,
    or absent."""
    extents = x.shape[2:]
    rank, kernel = len(extents), [min(b.choose((1, 2, 3)), extent) for extent in extents]
    axis, pads = b.choose((rank - 1, rank - 1, 0, b.integer(0, rank - 1))), [0] * (2 * rank)
    if b.chance(0.8):
        pads[axis], pads[axis + rank] = (b.integer(0, kernel[axis] - 1) for _ in range(2))
    return {
        "kernel_shape": kernel,
        "strides": [b.choose((1, 1, 2, 3)) for _ in kernel],
        "pads": pads,
    }


def _pool(b: GraphBuilder, x: Value) -> None:
    op_type = b.choose(("MaxPool", "MaxPool", "AveragePool", "LpPool"))
    ceil = {"ceil_mode": 1} if op_type != "LpPool" and b.chance(0.3) else {}
    b.add(op_type, [x], exact=op_type == "MaxPool", **_window(b, x), **ceil)


def _conv(b: GraphBuilder, x: Value) -> None:
    channels, attributes = x.shape[1], _window(b, x)
    groups = b.choose((1, 1, channels))
    features = groups * b.choose((1, 1, 2)) if groups > 1 else b.choose((1, 2, 4, 5))
    shape = [features, channels // groups, *attributes["kernel_shape"]]
    w = scaled(b, shape, x.dtype, 9 * channels // groups, weight=True)
    b.add("Conv", [x, w], group=groups, **attributes)


def _pad(b: GraphBuilder, x: Value) -> None:
    low, high = [0] * x.rank, [0] * x.rank
    axis = b.choose((x.rank - 1, 1, b.integer(0, x.rank - 1)))
    low[axis], high[axis] = b.integer(0, 2), b.integer(0, 2)
    b.add("Pad", [x, b.ints([*low, *high])], exact=True)


@draws(weight=2, since=11)
def windows_in_a_row(b: GraphBuilder) -> None:
    """Two or three pools, convolutions and pads in sequence."""
    x = _image(b)
    for step in [
        b.choose((_pool, _conv)),
        *(b.choose((_pool, _pool, _conv, _pad)),) * b.integer(1, 2),
    ]:
        step(b, x)
        x = b.values[-1]


@draws(since=11)
def places_of_maxima(b: GraphBuilder) -> None:
    """MaxPool with indices; often an axis that is longer than the kernel has only one window."""
    x = _image(b)
    attributes = {**_window(b, x), "strides": [b.choose((1, 3, 5)) for _ in x.shape[2:]]}
    b.add("MaxPool", [x], 2, exact=True, storage_order=b.integer(0, 1), **attributes)


@draws(weight=0.7, since=11)
def conv_by_any_kernel(b: GraphBuilder) -> None:
    """A convolution with fed weights; their sizes may be named."""
    x, transposed = _image(b), b.chance(0.5)
    channels, attributes = x.shape[1], _window(b, x)
    kernel = attributes.pop("kernel_shape")
    groups = b.choose((1, 1, channels))
    features = b.integer(1, 3)
    shape = [channels, features] if transposed else [groups * features, channels // groups]
    w = scaled(b, [*shape, *kernel], x.dtype, 9 * channels // groups, weight=False)
    if transposed:
        del attributes["pads"]
    b.add("ConvTranspose" if transposed else "Conv", [x, w], group=groups, **attributes)
