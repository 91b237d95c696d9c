"""Matmuls on weights packed into panels for the registers of a CPU."""

from collections.abc import Mapping
from typing import Unpack

import ml_dtypes
import numpy as np

from .attributes import Int, Ints, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import KernelContraction, MatmulOp, require_equal_sizes
from .traits import ExcessPrecision, MixedPrecision
from .types import HALVES, TensorType
from .window import WindowAttrs, output_sizes, windows

BF16 = np.dtype(ml_dtypes.bfloat16)
K_STEPS = {"amx": 32, "avx512bf16": 2}
"""The alignment of K in a bf16 matmul, by the unit that multiplies: K is a multiple of it."""


class PackedMatmulOp(KernelContraction, name="packed_matmul"):
    """``x w`` with `w` in panels: `x` [..., K], `w` [panels, K, n], result [..., columns].

    A panel holds `n` columns side by side, so that the kernel reads it sequentially; the last one
    may be padded. `mr` is the number of rows of `x` per tile: a tile's accumulators and a panel's
    columns fill the registers, which hold vectors of `lanes`. For f32; `w` may be of f16 or bf16,
    which are widened in registers.
    """

    x: Tensor
    w: Tensor
    mr: Int
    columns: Int
    lanes: Int

    @staticmethod
    def infer(x: TensorType, w: TensorType, *, mr: int, columns: int, lanes: int) -> TensorType:
        if x.dtype != np.float32:
            raise TypeRuleError(f"is for f32, not for {x.dtype}")
        if w.dtype not in (np.float32, *HALVES) or w.rank != 3 or x.rank < 1 or mr < 1:
            raise TypeRuleError(f"cannot multiply {x} by panels {w}, {mr} rows at a time")
        require_equal_sizes(x.shape[-1], w.shape[1], "the contracted sizes")
        held = w.shape[0] * w.shape[2]
        if not isinstance(held, int) or not 0 < columns <= held:
            raise TypeRuleError(f"panels {w} do not hold {columns} columns")
        if lanes < 1 or (isinstance(w.shape[2], int) and w.shape[2] % lanes):
            raise TypeRuleError(f"panels {w} are not of vectors of {lanes}")
        return x.with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(x: np.ndarray, w: np.ndarray, *, mr: int, columns: int, lanes: int) -> np.ndarray:
        del mr, lanes
        matrix = unpack_weights(w)[:, :columns].astype(np.float32, copy=False)
        return MatmulOp.evaluate(np.atleast_2d(x), matrix).reshape(*x.shape[:-1], columns)


def pack_weights(w: np.ndarray, width: int) -> np.ndarray:
    """[K, N] as panels [N/width, K, width]; the last one is padded with zeros."""
    w = np.pad(w, [(0, 0), (0, -w.shape[1] % width)])
    k, columns = w.shape
    return np.ascontiguousarray(w.reshape(k, columns // width, width).transpose(1, 0, 2))


def unpack_weights(w: np.ndarray) -> np.ndarray:
    """Panels [N/width, K, width] as [K, N], padding included."""
    return w.transpose(1, 0, 2).reshape(w.shape[1], -1)


class Bf16MatmulOp(KernelContraction, name="bf16_matmul"):
    """``x w`` of bf16, accumulated in f32: `x` [..., K], `w` [panels, K/2, n, 2], result [...,
    columns].

    A panel holds `n` columns side by side, with two consecutive elements of each column adjacent
    (the VNNI layout); the last panel may be padded. `unit` names the instruction set: ``amx``,
    tiles of Intel's AMX (TDPBF16PS), where `K` is a multiple of 32, or ``avx512bf16``, vectors
    (VDPBF16PS), with the accumulators of `mr` rows in registers.
    """

    x: Tensor
    w: Tensor
    mr: Int
    columns: Int
    unit: Str

    @staticmethod
    def infer(x: TensorType, w: TensorType, *, mr: int, columns: int, unit: str) -> TensorType:
        if x.dtype != BF16 or w.dtype != BF16:
            raise TypeRuleError(f"is for bf16, not for {x.dtype} and {w.dtype}")
        require_grouped_panels(x, w, 2, mr, columns, unit, K_STEPS)
        return x.with_dtype(np.dtype(np.float32)).with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(x: np.ndarray, w: np.ndarray, *, mr: int, columns: int, unit: str) -> np.ndarray:
        del mr, unit
        matrix = _unpack_pairs(w)[:, :columns]
        y = MatmulOp.evaluate(np.atleast_2d(x.astype(np.float32)), matrix)
        return y.reshape(*x.shape[:-1], columns)


def require_grouped_panels(
    x: TensorType,
    w: TensorType,
    group: int,
    mr: int,
    columns: int,
    unit: str,
    k_steps: Mapping[str, int],
) -> None:
    """TypeRuleError unless `x` [..., K] can be multiplied by `columns` columns in panels `w`
    [panels, ceil(K/group), n, group], where K is a multiple of the step of `unit`."""
    if w.rank != 4 or x.rank < 1 or w.shape[3] != group or mr < 1:
        raise TypeRuleError(f"cannot multiply {x} by panels of groups of {group} {w}")
    panels, groups, width, _ = w.static_shape
    if unit not in k_steps:
        raise TypeRuleError(f"unit must be one of {', '.join(k_steps)}, not '{unit}'")
    k, step = x.shape[-1], k_steps[unit]
    if not isinstance(k, int) or -(-k // group) != groups:
        k = group * groups
        require_equal_sizes(x.shape[-1], k, "the contracted sizes")
    if not 0 < columns <= panels * width:
        raise TypeRuleError(f"panels {w} do not hold {columns} columns")
    if k % step:
        raise TypeRuleError(f"with {unit}, {k} is not a multiple of {step}")


def _unpack_pairs(w: np.ndarray) -> np.ndarray:
    """Panels [N/width, K/2, width, 2] as [K, N] of f32, padding included."""
    panels, pairs, width, _ = w.shape
    return w.astype(np.float32).transpose(1, 3, 0, 2).reshape(2 * pairs, panels * width)


def pack_pairs(w: np.ndarray, width: int) -> np.ndarray:
    """[K, N], `K` even, as panels [N/width, K/2, width, 2] of bf16; the last one is padded with
    zeros."""
    panels = pack_weights(w.astype(BF16), width)
    count, k, _ = panels.shape
    pairs = panels.reshape(count, k // 2, 2, width)
    return np.ascontiguousarray(pairs.transpose(0, 1, 3, 2))


class SplitHiLoOp(GraphOp, name="split_hi_lo"):
    """Each row of `x` [..., K] as two rows of bf16, [..., 2 K]: `x` rounded, then the rounding
    error.

    Their sum has 16 of the 24 bits of f32.
    """

    amp = MixedPrecision.KEEP

    x: Tensor

    @staticmethod
    def infer(x: TensorType) -> TensorType:
        if x.dtype != np.float32 or x.rank < 1:
            raise TypeRuleError(f"is for rows of f32, not for {x}")
        return x.with_dtype(BF16).with_shape((*x.shape[:-1], 2 * x.shape[-1]))

    @staticmethod
    def evaluate(x: np.ndarray) -> np.ndarray:
        return np.concatenate(hi_lo_terms(x), axis=-1)


class Bf16x3MatmulOp(KernelContraction, name="bf16x3_matmul"):
    """``x w`` as three bf16 matmuls, accumulated in f32: `x` [..., 2 K], `w` [panels, 2, K/2, n,
    2], both as terms (`graph.split_hi_lo`), result [..., columns].

    The product of the two small terms is left out (BF16_BF16_F32_X3 of
    XLA; Henry, Tang, Heinecke: Leveraging the bfloat16 Artificial Intelligence Datatype For
    Higher-Precision Computations, 2019). For the tiles of AMX: `K` is a multiple of 32.
    """

    x: Tensor
    w: Tensor
    columns: Int

    @staticmethod
    def infer(x: TensorType, w: TensorType, *, columns: int) -> TensorType:
        if x.dtype != BF16 or w.dtype != BF16:
            raise TypeRuleError(f"is for bf16, not for {x.dtype} and {w.dtype}")
        if w.rank != 5 or x.rank < 1 or (w.shape[1], w.shape[4]) != (2, 2):
            raise TypeRuleError(f"cannot multiply {x} by panels of terms of pairs {w}")
        panels, _, pairs, width, _ = w.static_shape
        require_equal_sizes(x.shape[-1], 4 * pairs, "the contracted sizes")
        if not 0 < columns <= panels * width:
            raise TypeRuleError(f"panels {w} do not hold {columns} columns")
        if 2 * pairs % (step := K_STEPS["amx"]):
            raise TypeRuleError(f"{2 * pairs} is not a multiple of {step}")
        return x.with_dtype(np.dtype(np.float32)).with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(x: np.ndarray, w: np.ndarray, *, columns: int) -> np.ndarray:
        k = x.shape[-1] // 2
        rows = np.atleast_2d(x.astype(np.float32))
        high, low = rows[..., :k], rows[..., k:]
        w_high, w_low = (_unpack_pairs(w[:, term])[:, :columns] for term in range(2))
        total = MatmulOp.evaluate(high, w_high)
        total = total + MatmulOp.evaluate(high, w_low) + MatmulOp.evaluate(low, w_high)
        return total.reshape(*x.shape[:-1], columns)


def hi_lo_terms(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`x` of f32 rounded to bf16, and the rounding error."""
    high = x.astype(BF16)
    wide = high.astype(np.float32)
    with np.errstate(invalid="ignore"):
        rest = np.where(x == wide, 0, x - wide)  # infinities have no rounding error
    return high, rest.astype(BF16)


def pack_hi_lo(w: np.ndarray, width: int) -> np.ndarray:
    """[K, N], `K` even, as panels [N/width, 2, K/2, width, 2] of the terms of f32."""
    return np.stack([pack_pairs(term, width) for term in hi_lo_terms(w)], axis=1)


class Im2colOp(GraphOp, name="im2col"):
    """Every window of an image as a row: [N, spatial..., C] to [N, out..., kernel... * C].

    Window attributes as for `conv`; the image is channels last and padded with zeros.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.FOLLOW

    x: Tensor
    kernel: Ints
    strides: Ints
    dilations: Ints
    low: Ints
    high: Ints

    @staticmethod
    def infer(x: TensorType, **window: Unpack[WindowAttrs]) -> TensorType:
        if x.rank < 3:
            raise TypeRuleError(f"{x} is not an image")
        out = output_sizes(x.shape[1:-1], **window)
        return x.with_shape((x.shape[0], *out, x.shape[-1] * int(np.prod(window["kernel"]))))

    @staticmethod
    def evaluate(x: np.ndarray, **window: Unpack[WindowAttrs]) -> np.ndarray:
        image = np.moveaxis(x, -1, 1)
        view = windows(image, **window, value=0)
        spatial = x.ndim - 2
        rows = np.moveaxis(view, 1, -1)  # [N, out..., kernel..., C]
        return rows.reshape(*rows.shape[: 1 + spatial], -1)


packed_matmul = builder(PackedMatmulOp)
bf16_matmul = builder(Bf16MatmulOp)
split_hi_lo = builder(SplitHiLoOp)
bf16x3_matmul = builder(Bf16x3MatmulOp)
im2col = builder(Im2colOp)
