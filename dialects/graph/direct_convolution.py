"""Direct convolutions on weights packed into panels for the registers of a CPU."""

from typing import Any, TypeGuard

import numpy as np

from .attributes import Int, Ints, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import KernelContraction, require_equal_sizes
from .convolution import ConvOp
from .types import TensorType, type_of
from .window import from_channels_first, output_sizes, split_layout, to_channels_first


class DirectConvOp(KernelContraction, name="direct_conv"):
    """A convolution over one to three axes with the weights in panels.

    `x` [N, H, W, C], or [N, C, H, W] with the `layout` ``channels_first``, `w`
    [panels, kernel H, kernel W, C/groups, n], result [N, H', W', features], or all without H, or
    with a D before it; the other attributes are those of `conv`. A panel holds `n` features of one
    group side by side, in vectors of `lanes`, of which the last may be partial. If panels do not
    fill the `features` of the only group evenly, the last one begins in that before it. `tile_w` is
    the number of output positions along W per tile: their accumulators and a panel fill the
    registers. In a depthwise convolution, a panel holds `n` channels, each a group.
    """

    x: Tensor
    w: Tensor
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    groups: Int
    features: Int
    tile_w: Int
    lanes: Int
    layout: Str

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        groups: int,
        features: int,
        tile_w: int,
        lanes: int,
        layout: str,
        **window: Any,
    ) -> TensorType:
        if x.dtype != np.float32 or w.dtype != np.float32:
            raise TypeRuleError(f"convolves f32, not {x.dtype} with {w.dtype}")
        if x.rank not in (3, 4, 5) or w.rank != x.rank + 1 or not w.is_static or tile_w < 1:
            raise TypeRuleError(f"cannot convolve {x} with panels {w}, {tile_w} pixels at a time")
        panels, *kernel, channels, width = w.static_shape
        depthwise = groups == features and channels == 1
        if min(lanes, width, groups) < 1 or (panels % groups and not depthwise):
            raise TypeRuleError(f"panels {w} do not hold {groups} groups in vectors of {lanes}")
        require_panels(w, panels, width, features, groups)
        if depthwise and layout != "channels_last":
            raise TypeRuleError("depthwise, vectors of channels are read, which must lie together")
        batch, input_channels, extents = split_layout(x.shape, layout)
        require_equal_sizes(
            input_channels, channels * groups, "the weights' and the input's channels"
        )
        out = output_sizes(extents, kernel, **window)
        return x.with_shape((batch, *out, features))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        features: int,
        tile_w: int,
        lanes: int,
        layout: str,
        **options: Any,
    ) -> np.ndarray:
        del tile_w, lanes
        matrix = side_by_side(w, features)
        image = from_channels_first(to_channels_first(x, layout), "channels_last")
        return ConvOp.evaluate(image, matrix, layout="channels_last", **options)


def require_panels(w: TensorType, panels: int, width: int, features: int, groups: int) -> None:
    """TypeRuleError unless `panels` of `width` features, those of `w`, hold `features`: evenly, or
    but for the last one if there is one group."""
    if features == panels * width:
        return
    if groups > 1 or width > features or panels != -(-features // width):
        raise TypeRuleError(f"panels {w} do not hold {features} features, or not evenly")


def side_by_side(panels: np.ndarray, features: int) -> np.ndarray:
    """Panels [panels, ..., n] as [..., features]; the last one ends with the features."""
    width = panels.shape[-1]
    joined = np.moveaxis(panels, 0, -2).reshape(*panels.shape[1:-1], -1)
    before, last = joined[..., :-width], joined[..., -width:]
    new = features - before.shape[-1]
    return np.concatenate([before, last[..., width - new :]], axis=-1)


def is_depthwise(op: GraphOp) -> TypeGuard[DirectConvOp]:
    """Return whether `op` is a `graph.direct_conv` in which each channel has one kernel of its
    own."""
    if not isinstance(op, DirectConvOp):
        return False
    channels = type_of(op.w).static_shape[-2]
    return channels == 1 and op.attrs["groups"] == op.attrs["features"] > 1


def pack_kernel(w: np.ndarray, width: int) -> np.ndarray:
    """[kernel..., C, F] as panels [ceil(F/width), kernel..., C, width], of which the last one ends
    with the features."""
    features = w.shape[-1]
    starts = [min(start, features - width) for start in range(0, features, width)]
    return np.stack([w[..., start : start + width] for start in starts])


direct_conv = builder(DirectConvOp)
