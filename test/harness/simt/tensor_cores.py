"""Rules of ``ldmatrix`` and ``mma.sync``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.mlir import ir

from .lock_step import element_dtype, rule
from .state import UndefinedBehaviour, Values, Workgroup

WARP = 32


@rule("nvgpu.ldmatrix")
def _ldmatrix(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("ldmatrix")
    memory, index = op.operands
    count = ir.IntegerAttr(op.attributes["numTiles"]).value
    transpose = ir.BoolAttr(op.attributes["transpose"]).value
    givers = np.arange(state.threads).reshape(-1, WARP)[:, : 8 * count]
    starts = state.known[index][givers]
    itemsize = element_dtype(op.results[0].type).itemsize
    if (starts * itemsize % 16).any():
        raise UndefinedBehaviour("a row of a matrix is not aligned")
    _check_banks(starts * itemsize // 16)
    vector = 16 // itemsize
    at = starts[..., None] + np.arange(vector)
    rows = state.known[memory].load(givers.reshape(-1), at.reshape(-1, vector))
    matrices = rows.reshape(-1, count, 8, vector)
    if transpose:
        if itemsize != 2:
            raise UndefinedBehaviour("ldmatrix transposes elements of 16 bits alone")
        matrices = matrices.swapaxes(2, 3)
    # thread 4 r + c has the four bytes with number c of row r
    words = matrices.reshape(-1, count, WARP, vector // 4)
    return [words.swapaxes(1, 2).reshape(state.threads, count, vector // 4)]


def _check_banks(vectors: Values) -> None:
    """The eight rows of each matrix must be in different banks of 16 bytes."""
    groups = (vectors % 8).reshape(-1, 8)
    if any(len(set(group)) != 8 for group in groups.tolist()):
        raise UndefinedBehaviour("threads of ldmatrix read the same bank")


@rule("nvgpu.mma.sync")
def _mma(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("mma.sync")
    tf32 = isinstance(ir.VectorType(op.operands[0].type).element_type, ir.F32Type)
    if tf32 != ("tf32Enabled" in op.attributes):
        raise UndefinedBehaviour("f32 is multiplied as TF32, and nothing else is")
    a, b, c = (state.known[v].astype(np.float32).reshape(-1, WARP, *state.known[v].shape[1:])
               for v in op.operands)  # fmt: skip
    c = c.astype(np.float64)
    if tf32:
        a, b = (_as_tf32(each) for each in (a, b))
    g, t = np.divmod(np.arange(WARP), 4)
    warps, width = len(a), a.shape[-1]
    within, half = np.arange(width), 4 * width
    left = np.zeros((warps, 16, 2 * half))
    for number, (row, column) in enumerate([(0, 0), (8, 0), (0, half), (8, half)]):
        left[:, (g + row)[:, None], (width * t + column)[:, None] + within] = a[:, :, number]
    right = np.zeros((warps, 2 * half, 8))
    for number in range(2):
        right[:, (width * t + half * number)[:, None] + within, g[:, None]] = b[:, :, number]
    result, pair = left @ right, np.arange(2)
    for number in range(2):
        c[:, :, number] += result[:, (g + 8 * number)[:, None], (2 * t)[:, None] + pair]
    return [truncated(c).reshape(state.threads, 2, 2)]


def truncated(x: Values) -> Values:
    """`x` rounded to f32 towards zero, as the sums of tensor cores are (Fasi et al., "Numerical
    behavior of NVIDIA tensor cores", 2021)."""
    nearest = x.astype(np.float32)
    return np.where(np.abs(nearest) > np.abs(x), np.nextafter(nearest, np.float32(0)), nearest)


def _as_tf32(x: Values) -> Values:
    """`x` without the 13 bits of its fraction that TF32 does not have."""
    return (x.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
