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
    at = starts[..., None] + np.arange(8)
    rows = state.known[memory].load(givers.reshape(-1), at.reshape(-1, 8))
    matrices = rows.reshape(-1, count, 8, 8)
    if transpose:
        matrices = matrices.swapaxes(2, 3)
    pairs = matrices.reshape(-1, count, WARP, 2)  # thread 4 r + c has columns 2 c, 2 c + 1 of row r
    return [pairs.swapaxes(1, 2).reshape(state.threads, count, 2)]


def _check_banks(vectors: Values) -> None:
    """The eight rows of each matrix must be in different banks of 16 bytes."""
    groups = (vectors % 8).reshape(-1, 8)
    if any(len(set(group)) != 8 for group in groups.tolist()):
        raise UndefinedBehaviour("threads of ldmatrix read the same bank")


@rule("nvgpu.mma.sync")
def _mma(state: Workgroup, op: ir.Operation) -> Sequence[Any]:
    state.all_active("mma.sync")
    a, b, c = (state.known[v].astype(np.float32).reshape(-1, WARP, *state.known[v].shape[1:])
               for v in op.operands)  # fmt: skip
    g, t = np.divmod(np.arange(WARP), 4)
    warps, pair = len(a), np.arange(2)
    left = np.zeros((warps, 16, 16), np.float32)
    for number, (row, column) in enumerate([(0, 0), (8, 0), (0, 8), (8, 8)]):
        left[:, (g + row)[:, None], (2 * t + column)[:, None] + pair] = a[:, :, number]
    right = np.zeros((warps, 16, 8), np.float32)
    for number in range(2):
        right[:, (2 * t + 8 * number)[:, None] + pair, g[:, None]] = b[:, :, number]
    result = left @ right
    for number in range(2):
        c[:, :, number] += result[:, (g + 8 * number)[:, None], (2 * t)[:, None] + pair]
    return [c.reshape(state.threads, 2, 2)]
