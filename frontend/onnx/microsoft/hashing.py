"""MurmurHash3 in its form for 32 bits."""

import numpy as np

from ....dialects import graph
from ....mlir import ir
from .registry import microsoft_op

_WORDS = {np.dtype(t): np.dtype(t).itemsize // 4 for t in (
    np.int32, np.uint32, np.float32, np.int64, np.uint64, np.float64)}  # fmt: skip
"""The number of 32-bit words in an element, by type."""


@microsoft_op("MurmurHash3")
def murmur_hash_3(x, *, positive=1, seed=0):
    """The hash of each element's bytes, as a number without sign if `positive`."""
    type_ = graph.type_of(x)
    if type_.dtype not in _WORDS:
        raise graph.TypeRuleError(f"no hash of {type_.dtype}")
    count = _WORDS[type_.dtype]
    bits = graph.bit_cast(x, to=np.dtype(f"u{4 * count}"))
    state = _number(seed & 0xFFFFFFFF)
    for index in range(count):
        word = bits if count == 1 else graph.shift_right(bits, graph.splat_like(32 * index, bits))
        state = _mixed(state, graph.cast(word, to=np.uint32))
    state = graph.bitwise_xor(state, _number(4 * count))
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = graph.bitwise_xor(state, graph.shift_right(state, _number(shift)))
        state = graph.mul(state, _number(factor))
    return state if positive else graph.bit_cast(state, to=np.int32)


def _mixed(state: ir.Value, word: ir.Value) -> ir.Value:
    """The state of the hash after one more word."""
    word = _rotated(graph.mul(word, _number(0xCC9E2D51)), 15)
    state = graph.bitwise_xor(state, graph.mul(word, _number(0x1B873593)))
    return graph.add(graph.mul(_rotated(state, 13), _number(5)), _number(0xE6546B64))


def _rotated(x: ir.Value, count: int) -> ir.Value:
    left = graph.shift_left(x, _number(count))
    return graph.bitwise_or(left, graph.shift_right(x, _number(32 - count)))


def _number(value: int) -> ir.Value:
    return graph.constant(value=np.array(value, np.uint32))
