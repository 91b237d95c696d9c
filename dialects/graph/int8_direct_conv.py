"""Direct convolutions of 8-bit integers on weights packed for the integer dot products of a CPU."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .attributes import Int, Ints, Str
from .base import Tensor, TypeRuleError, builder
from .contraction import KernelContraction, require_equal_sizes
from .convolution import ConvOp
from .int8_matmul import INT8_GROUP, INT8_K_STEPS
from .types import TensorType
from .window import output_sizes

AMX_WIDTH = 32
"""Columns of two tiles of AMX."""


class Int8DirectConvOp(KernelContraction, name="int8_direct_conv"):
    """A convolution of 8-bit integers over one or two axes, accumulated in i32: `x` [N, H, W, C] of
    u8, `w` [panels, kernel H, kernel W, C/4, n, 4] of i8, result [N, H', W', panels * n], or all
    without H. Nothing is padded.

    A panel holds `n` features side by side, with four consecutive channels of each adjacent (the
    VNNI layout). `unit` names the instruction set: ``avx512vnni``, ``avxvnni`` and ``avx2``,
    vectors of `lanes` (see `int8_matmul`), with the accumulators of `tile_w` output positions along
    W in registers, or ``amx``, tiles of Intel's AMX (TDPBUSD), where the sizes are static, strides
    1, `C` a multiple of 64, and `n` 32. Sums wrap around.
    """

    x: Tensor
    w: Tensor
    strides: Ints
    dilations: Ints
    tile_w: Int
    lanes: Int
    unit: Str

    @staticmethod
    def infer(
        x: TensorType, w: TensorType, *, tile_w: int, lanes: int, unit: str, **window: Any
    ) -> TensorType:
        if x.dtype != np.uint8 or w.dtype != np.int8:
            raise TypeRuleError(f"convolves u8 with i8, not {x.dtype} with {w.dtype}")
        if x.rank not in (3, 4) or w.rank != x.rank + 2 or not w.is_static or tile_w < 1:
            raise TypeRuleError(f"cannot convolve {x} with panels {w}, {tile_w} pixels at a time")
        panels, *kernel, groups, width, group = w.static_shape
        if group != INT8_GROUP or min(lanes, width) < 1:
            raise TypeRuleError(f"panels {w} do not hold groups of {INT8_GROUP} channels")
        require_equal_sizes(
            x.shape[-1], INT8_GROUP * groups, "the weights' and the input's channels"
        )
        if unit not in INT8_K_STEPS:
            raise TypeRuleError(f"unit must be one of {', '.join(INT8_K_STEPS)}, not '{unit}'")
        if unit == "amx" and not is_regular(x, w, window["strides"]):
            raise TypeRuleError(f"{x}, panels {w} and strides {window['strides']} fill no tiles")
        none = [0] * len(kernel)
        out = output_sizes(x.shape[1:-1], kernel, low=none, high=none, **window)
        return x.with_dtype(np.dtype(np.int32)).with_shape((x.shape[0], *out, panels * width))

    @staticmethod
    def evaluate(
        x: np.ndarray, w: np.ndarray, *, tile_w: int, lanes: int, unit: str, **window: Any
    ) -> np.ndarray:
        del tile_w, lanes, unit
        channels = np.moveaxis(w, -1, -2)  # [panels, kernel..., C/4, 4, n]
        channels = channels.reshape(*w.shape[:-3], -1, w.shape[-2])
        matrix = np.moveaxis(channels, 0, -2).reshape(*channels.shape[1:-1], -1)
        none = [0] * (x.ndim - 2)
        return ConvOp.evaluate(
            x, matrix, low=none, high=none, groups=1, layout="channels_last", **window
        )


def is_regular(x: TensorType, w: TensorType, strides: Sequence[int]) -> bool:
    """Return whether the tiles of AMX convolve `x` with panels `w`."""
    channels, width = w.static_shape[-3] * INT8_GROUP, w.static_shape[-2]
    fills = channels % INT8_K_STEPS["amx"] == 0 and width == AMX_WIDTH
    return x.is_static and fills and all(stride == 1 for stride in strides)


def pack_int8_kernel(w: np.ndarray, width: int) -> np.ndarray:
    """[kernel..., C, F] of i8 as panels [F/width, kernel..., C/4, width, 4]."""
    *kernel, channels, features = w.shape
    groups = w.reshape(*kernel, channels // INT8_GROUP, INT8_GROUP, features // width, width)
    panels = np.moveaxis(groups, -2, 0)  # [panels, kernel..., C/4, 4, n]
    return np.ascontiguousarray(np.moveaxis(panels, -1, -2))


int8_direct_conv = builder(Int8DirectConvOp)
