"""Direct convolutions of 8-bit integers on weights packed for the integer dot products of a CPU."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .attributes import Int, Ints, Str
from .base import Tensor, TypeRuleError, builder
from .contraction import KernelContraction, require_equal_sizes
from .convolution import ConvOp
from .direct_convolution import pack_kernel, require_panels, side_by_side
from .int8_matmul import INT8_GROUP, INT8_K_STEPS, join_bytes, of_elements
from .types import TensorType
from .window import output_sizes

AMX_WIDTH = 32
"""Columns of two tiles of AMX."""


class Int8DirectConvOp(KernelContraction, name="int8_direct_conv"):
    """A convolution of 8-bit integers over one to three axes, accumulated in i32: `x` [N, H, W, C]
    of u8, `w` [panels, kernel H, kernel W, ceil(C/groups/4), n, 4] of i8, result [N, H', W',
    features], or all without H, or with a D before it. The image is padded with `border`; other
    attributes are those of `conv`.

    A panel holds `n` features of one group side by side, with four consecutive channels of each
    adjacent (the VNNI layout). Behind the channels of the only group there are zeros, and if panels
    do not fill its `features` evenly, the last one begins in that before it. In a depthwise
    convolution, `w` is [panels, kernel H, kernel W, 1, n, 1], and a panel holds `n` channels, each
    a group. `unit` names the instruction set: ``avx512vnni``, ``avxvnni`` and ``avx2``, vectors of
    `lanes` (see `int8_matmul`), with the accumulators of `tile_w` output positions along W in
    registers, or ``amx``, tiles of Intel's AMX (TDPBUSD), where the sizes are static, strides 1,
    groups 1, `C` a multiple of 64, `n` 32, of which the features are a multiple, and nothing is
    padded. Sums wrap around. For `x_bytes`, see `int8_matmul`; no depthwise convolution has two.
    """

    x: Tensor
    w: Tensor
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints
    border: Int
    groups: Int
    features: Int
    tile_w: Int
    lanes: Int
    unit: Str
    x_bytes: Int

    @staticmethod
    def infer(
        x: TensorType,
        w: TensorType,
        *,
        border: int,
        groups: int,
        features: int,
        tile_w: int,
        lanes: int,
        unit: str,
        x_bytes: int,
        **window: Any,
    ) -> TensorType:
        if x.dtype != np.uint8 or w.dtype != np.int8:
            raise TypeRuleError(f"convolves u8 with i8, not {x.dtype} with {w.dtype}")
        if x.rank not in (3, 4, 5) or w.rank != x.rank + 2 or not w.is_static or tile_w < 1:
            raise TypeRuleError(f"cannot convolve {x} with panels {w}, {tile_w} pixels at a time")
        panels, *kernel, quads, width, group = w.static_shape
        depthwise = group == quads == 1 and groups == features
        if min(lanes, width, groups) < 1 or not (
            depthwise or (group == INT8_GROUP and panels % groups == 0)
        ):
            raise TypeRuleError(
                f"panels {w} do not hold {groups} groups in groups of {INT8_GROUP} channels"
            )
        require_panels(w, panels, width, features, groups)
        if not 0 <= border < 256**x_bytes or (depthwise and x_bytes > 1):
            raise TypeRuleError(f"the border must be of {x_bytes} bytes, not {border}")
        x = of_elements(x, x_bytes, unit)
        channels, most = x.shape[-1], group * quads * groups
        ends_in_last = groups == 1 and isinstance(channels, int) and -(-channels // group) == quads
        if not ends_in_last:
            require_equal_sizes(channels, most, "the weights' and the input's channels")
        if unit not in INT8_K_STEPS:
            raise TypeRuleError(f"unit must be one of {', '.join(INT8_K_STEPS)}, not '{unit}'")
        if unit == "amx" and not is_regular(x, w, groups, window):
            raise TypeRuleError(f"{x}, panels {w} and {window} fill no tiles")
        out = output_sizes(x.shape[1:-1], kernel, **window)
        return x.with_dtype(np.dtype(np.int32)).with_shape((x.shape[0], *out, features))

    @staticmethod
    def evaluate(
        x: np.ndarray,
        w: np.ndarray,
        *,
        low: Sequence[int],
        high: Sequence[int],
        border: int,
        features: int,
        tile_w: int,
        lanes: int,
        unit: str,
        x_bytes: int,
        **options: Any,
    ) -> np.ndarray:
        del tile_w, lanes, unit
        x = join_bytes(x, x_bytes)
        channels = np.moveaxis(w, -1, -2)  # [panels, kernel..., C/4, 4, n]
        channels = channels.reshape(*w.shape[:-3], -1, w.shape[-2])
        channels = channels[..., : x.shape[-1], :]  # all of a group, if there are several
        matrix = side_by_side(channels, features)
        sides = [(0, 0), *zip(low, high, strict=True), (0, 0)]
        image = np.pad(x, sides, constant_values=border)
        none = [0] * len(low)
        return ConvOp.evaluate(
            image, matrix, low=none, high=none, layout="channels_last", **options
        )


def is_regular(x: TensorType, w: TensorType, groups: int, window: Mapping[str, Any]) -> bool:
    """Return whether the tiles of AMX convolve `x` with panels `w`."""
    channels, width = w.static_shape[-3] * INT8_GROUP, w.static_shape[-2]
    fills = channels % INT8_K_STEPS["amx"] == 0 and width == AMX_WIDTH and groups == 1
    steps = all(stride == 1 for stride in window["strides"])
    is_volume = x.rank > 4
    return (
        x.is_static
        and not is_volume
        and fills
        and steps
        and not any((*window["low"], *window["high"]))
    )


def pack_int8_kernel(w: np.ndarray, width: int, group: int = INT8_GROUP) -> np.ndarray:
    """[kernel..., C, F] of i8 as panels [ceil(F/width), kernel..., ceil(C/group), width, group].

    There are zeros behind the channels; the last panel ends with the features.
    """
    w = np.pad(w, [*[(0, 0)] * (w.ndim - 2), (0, -w.shape[-2] % group), (0, 0)])
    panels = pack_kernel(w, width)  # [panels, kernel..., C, n]
    groups = panels.reshape(*panels.shape[:-2], -1, group, width)
    return np.ascontiguousarray(np.moveaxis(groups, -1, -2))


int8_direct_conv = builder(Int8DirectConvOp)
