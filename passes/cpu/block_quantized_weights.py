"""Constant weights that a program dequantizes by blocks of K."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.query import constant_array, producer

MAX_BLOCK = 256
"""Maximum block: a longer one is cut into several with equal scales."""
MIN_BLOCK = 8
"""Minimum block: with shorter ones, scales take as much memory as weights."""
_MOVES = (graph.TransposeOp, graph.ReshapeOp, graph.SliceOp)


@dataclass(frozen=True)
class BlockQuantizedWeights:
    """Weights ``(q + offset - zero) * scale``, in f32: `q` [K, N] has integers of `bits` bits with
    sign, `scale` and `zero` are [K/block, N]. There is no `zero` if all zero points are `offset`.
    """

    q: np.ndarray
    bits: int
    block: int
    scale: np.ndarray
    zero: np.ndarray | None
    offset: int

    @staticmethod
    def of(
        value: ir.Value,
        matrix: Callable[[np.ndarray], np.ndarray] = lambda array: array,
        whole_columns: bool = False,
    ) -> "BlockQuantizedWeights | str | None":
        """The weights that `value` holds, if `matrix` brings them to [K, N]; the reason if it has
        others than the kernels multiply, None if it holds no dequantized constant. With
        `whole_columns` each has one scale, and is a block of any size."""
        source, moves = _source(value)
        op = producer(source, graph.DequantizeOp)
        if op is None:
            return None
        q, scale, zero = map(_known, (op.x, op.scale, op.zero_point))
        if q is None or scale is None or zero is None:
            return None
        if op.attrs["to"] != np.float32 or q.dtype.itemsize > 1 or scale.dtype.itemsize > 4:
            return "weights are wider than 8 bits, or not dequantized to f32"
        numbers = np.arange(scale.size, dtype=np.int32).reshape(scale.shape)
        places = matrix(_moved(np.broadcast_to(numbers, q.shape), moves))
        if places.ndim != 2:
            return "weights are not a matrix"
        block = len(places) if whole_columns else _block_of(places)
        if whole_columns and (places != places[:1]).any():
            return "scales vary within a column"
        if not block:
            return f"scales vary within {MIN_BLOCK} elements of a column"
        return _normalised(
            matrix(_moved(q, moves)), block, scale, np.broadcast_to(zero, scale.shape), places
        )


def _source(value: ir.Value) -> tuple[ir.Value, list[Any]]:
    """The tensor of which `value` is a part, or which it is in another shape, and the ops between,
    the last one first. A part of unknown size is seen as a tensor of its own."""
    moves = []
    while (op := graph.graph_op(value.owner)) is not None and isinstance(op, _MOVES):
        if not graph.type_of(op.result).is_static:
            break
        moves.append(op)
        value = op.x
    return value, moves


def _moved(array: np.ndarray, moves: list[Any]) -> np.ndarray:
    for move in reversed(moves):
        array = type(move).evaluate(array, **move.attrs)
    return array


def _known(value: ir.Value) -> np.ndarray | None:
    """The data of a constant, or of one that is moved: what others use, too, is not folded."""
    source, moves = _source(value)
    array = constant_array(source)
    return None if array is None else _moved(array, moves)


def _block_of(places: np.ndarray) -> int | None:
    """The largest block in which each column of `places` [K, N] is constant."""
    k, columns = places.shape
    if not k or not columns:
        return None
    for block in range(MAX_BLOCK, MIN_BLOCK - 1, -MIN_BLOCK):
        if k % block == 0:
            blocks = places.reshape(-1, block, columns)
            if (blocks == blocks[:, :1]).all():
                return block
    return None


def _normalised(
    q: np.ndarray, block: int, scale: np.ndarray, zero: np.ndarray, places: np.ndarray
) -> BlockQuantizedWeights:
    """Weights with scales at `places` [K, N] of `scale`, as integers with sign."""
    bits, middle = _width(q)
    signed = (q.astype(np.int16) - middle).astype(np.int8)
    first = places[::block]
    scales, zeros = scale.astype(np.float32).ravel()[first], zero.ravel()[first]
    if graph.is_float(zero.dtype):
        return BlockQuantizedWeights(
            signed, bits, block, scales, zeros.astype(np.float32), offset=middle
        )
    centred = zeros.astype(np.int32) - middle
    common = int(centred.flat[0])
    if (centred == common).all():
        return BlockQuantizedWeights(signed, bits, block, scales, None, offset=-common)
    return BlockQuantizedWeights(signed, bits, block, scales, centred.astype(np.float32), offset=0)


def _width(q: np.ndarray) -> tuple[int, int]:
    """The fewest bits that hold the integers of `q`, and the number to subtract for a sign."""
    low, high = int(q.min()), int(q.max())
    for bits in graph.NBITS:
        half = 1 << (bits - 1)
        if low >= -half and high < half:
            return bits, 0
        if low >= 0 and high < 2 * half:
            return bits, half
    raise AssertionError("integers of 8 bits have 8 bits")
