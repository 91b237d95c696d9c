"""Matmuls of 8-bit integers on weights packed for the integer dot products of a CPU."""

import numpy as np

from .attributes import Int, Str
from .base import GraphOp, Tensor, TypeRuleError, builder
from .contraction import KernelContraction, MatmulOp
from .packed_matmul import pack_weights, require_grouped_panels
from .traits import MixedPrecision
from .types import TensorType

INT8_GROUP = 4
"""Adjacent 8-bit factors whose products one instruction adds to an accumulator."""
INT8_K_STEPS = {"amx": 64, **dict.fromkeys(("avx512vnni", "avxvnni", "avx2"), 1)}
"""The alignment of K in a matmul of 8-bit integers, by the unit that multiplies: K is a multiple of
it."""


class Int8MatmulOp(KernelContraction, name="int8_matmul"):
    """``x w`` of 8-bit integers, accumulated in i32: `x` [..., K] of u8, `w`
    [panels, ceil(K/4), n, 4] of i8, result [..., columns].

    A panel holds `n` columns side by side, with four consecutive elements of each column adjacent
    (the VNNI layout); the last panel may be padded, and the last group has zeros behind K. `unit`
    names the instruction set: ``amx``, tiles of Intel's AMX (TDPBUSD), where `K` is a multiple of
    64, or vectors with the accumulators of `mr` rows in registers: ``avx512vnni`` and ``avxvnni``
    (VPDPBUSD on 512 and 256 bits) or ``avx2`` (VPMADDUBSW and VPMADDWD). Sums wrap around.

    Elements of `x` with 2 `x_bytes` are of u16, on vectors, as `split_bytes` gives them: [..., 2K].
    """

    x: Tensor
    w: Tensor
    mr: Int
    columns: Int
    unit: Str
    x_bytes: Int

    @staticmethod
    def infer(
        x: TensorType, w: TensorType, *, mr: int, columns: int, unit: str, x_bytes: int
    ) -> TensorType:
        if x.dtype != np.uint8 or w.dtype != np.int8:
            raise TypeRuleError(f"multiplies u8 by i8, not {x.dtype} by {w.dtype}")
        elements = of_elements(x, x_bytes, unit)
        require_grouped_panels(elements, w, INT8_GROUP, mr, columns, unit, INT8_K_STEPS)
        return x.with_dtype(np.dtype(np.int32)).with_shape((*x.shape[:-1], columns))

    @staticmethod
    def evaluate(
        x: np.ndarray, w: np.ndarray, *, mr: int, columns: int, unit: str, x_bytes: int
    ) -> np.ndarray:
        del mr, unit
        x = join_bytes(x, x_bytes)
        panels, groups, width, group = w.shape
        matrix = w.transpose(1, 3, 0, 2).reshape(groups * group, panels * width)[:, :columns]
        y = MatmulOp.evaluate(np.atleast_2d(x), matrix[: x.shape[-1]])
        return y.reshape(*x.shape[:-1], columns)


class SplitBytesOp(GraphOp, name="split_bytes"):
    """The low bytes of each row of `x` [..., C] of u16, then the high ones: [..., 2C] of u8."""

    amp = MixedPrecision.KEEP

    x: Tensor

    @staticmethod
    def infer(x: TensorType) -> TensorType:
        if x.dtype != np.uint16 or x.rank < 1:
            raise TypeRuleError(f"splits rows of u16, not {x}")
        return x.with_dtype(np.dtype(np.uint8)).with_shape((*x.shape[:-1], 2 * x.shape[-1]))

    @staticmethod
    def evaluate(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x & 255, x >> 8], axis=-1).astype(np.uint8)


def join_bytes(x: np.ndarray, x_bytes: int) -> np.ndarray:
    """The elements of `x_bytes` bytes that `x` holds."""
    if x_bytes == 1:
        return x
    low, high = np.split(x.astype(np.uint16), 2, axis=-1)
    return low + 256 * high


def of_elements(x: TensorType, x_bytes: int, unit: str) -> TensorType:
    """The type `x` of bytes with the number of elements, of `x_bytes` each, along the last axis."""
    size = x.shape[-1]
    if x_bytes == 1:
        return x
    if x_bytes != 2 or unit == "amx" or not isinstance(size, int) or size % 2:
        raise TypeRuleError(f"{x} holds no elements of {x_bytes} bytes for {unit}")
    return x.with_shape((*x.shape[:-1], size // 2))


def pack_int8(w: np.ndarray, width: int) -> np.ndarray:
    """[K, N] of i8 as panels [N/width, ceil(K/4), width, 4]; the last one, and the last group, are
    padded with zeros."""
    return in_int8_groups(pack_weights(w, width))


def in_int8_groups(panels: np.ndarray) -> np.ndarray:
    """Panels [panels, K, n] of i8 as [panels, ceil(K/4), n, 4], with zeros behind K."""
    count, k, width = panels.shape
    filled = np.pad(panels, [(0, 0), (0, -k % INT8_GROUP), (0, 0)])
    groups = filled.reshape(count, -1, INT8_GROUP, width)
    return np.ascontiguousarray(groups.transpose(0, 1, 3, 2))


class PackInt8Op(GraphOp, name="pack_int8"):
    """The panels of `w` [K, N] of i8 that `int8_matmul` multiplies: [ceil(N/width), ceil(K/4),
    width, 4], with zeros behind K and N. Of constants, they are computed at compile time."""

    amp = MixedPrecision.KEEP

    w: Tensor
    width: Int

    @staticmethod
    def infer(w: TensorType, *, width: int) -> TensorType:
        if w.dtype != np.int8 or w.rank != 2 or not w.is_static or width < 1:
            raise TypeRuleError(f"packs matrices of i8 of known sizes, not {w} by {width} columns")
        k, columns = w.static_shape
        return w.with_shape((-(-columns // width), -(-k // INT8_GROUP), width, INT8_GROUP))

    @staticmethod
    def evaluate(w: np.ndarray, *, width: int) -> np.ndarray:
        return pack_int8(w, width)


int8_matmul = builder(Int8MatmulOp)
pack_int8_at_run_time = builder(PackInt8Op)
split_bytes = builder(SplitBytesOp)
