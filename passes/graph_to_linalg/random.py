"""Random bits: a counter-based generator, computed where the numbers are used."""

import numpy as np

from ...dialects import graph
from ...dialects.graph.random import MASK_32, PHILOX_MULTIPLIER, philox_keys
from ...mlir import arith, ir
from .generic import loop_index, parallel
from .lowering import Lowering, lowers, plain_element, scalar_constant
from .movement import reshape_tensor

_BITS = np.dtype(np.uint64)


@lowers(graph.RandomBitsOp)
def random_bits(ctx: Lowering, op: graph.RandomBitsOp) -> ir.Value:
    result = graph.type_of(op.result)
    flat = result.with_shape((graph.element_count(result.shape),))
    seed = op.attrs["seed"]

    def element() -> ir.Value:
        return _philox(arith.index_cast(plain_element(_BITS), loop_index(0)), seed)

    return reshape_tensor(ctx, parallel([], [], ctx.empty(flat), element), flat, result)


def _philox(counter: ir.Value, seed: int) -> ir.Value:
    """`graph.random.philox` of an i64. 32-bit words are held in 64 bits, as their products need."""
    half, mask, factor = (scalar_constant(v, _BITS) for v in (32, MASK_32, PHILOX_MULTIPLIER))
    low, high = arith.andi(counter, mask), arith.shrui(counter, half)
    for key in philox_keys(seed):
        product = arith.muli(low, factor)
        mixed = arith.xori(arith.shrui(product, half), scalar_constant(key, _BITS))
        low, high = arith.xori(mixed, high), arith.andi(product, mask)
    return arith.ori(arith.shli(high, half), low)
