"""Lookup in hash tables: each element asks one slot of either side."""

import numpy as np

from ...dialects import graph
from ...dialects.graph.cuckoo import MIX, key_dtype
from ...mlir import arith, ir, tensor
from .conversion import convert_scalar
from .generic import parallel
from .lowering import Fusion, Lowering, lowers, plain_element, scalar_constant

_I64 = np.dtype(np.int64)


@lowers(graph.HashLookupOp, fuses=Fusion.PRODUCER | Fusion.CONSUMER)
def hash_lookup(
    ctx: Lowering,
    op: graph.HashLookupOp,
    x: ir.Value,
    keys: ir.Value,
    values: ir.Value,
    default: ir.Value,
) -> ir.Value:
    source, result = graph.type_of(op.x), graph.type_of(op.result)
    slots = graph.static_size(graph.type_of(op.keys).shape[1])
    sides = [ctx.index(side) for side in range(len(op.multipliers))]

    def element(x: ir.Value) -> ir.Value:
        bits = key_bits(x, source.dtype)
        mixed, found = (
            _mixed(convert_scalar(bits, key_dtype(source.dtype), _I64)),
            tensor.extract(default, []),
        )
        for side, multiplier in reversed(list(zip(sides, op.multipliers, strict=True))):
            at = [side, _slot(mixed, multiplier, slots)]
            hit = arith.cmpi(arith.CmpIPredicate.eq, tensor.extract(keys, at), bits)
            found = arith.select(hit, tensor.extract(values, at), found)
        return found

    identity = ir.AffineMap.get_identity(source.rank)
    return parallel([x], [identity], ctx.empty(result), element)


def key_bits(x: ir.Value, dtype: np.dtype) -> ir.Value:
    """An integer, inside a body, that is equal for equal `x`: NaN equals NaN, and -0 equals 0."""
    bits = key_dtype(dtype)
    if not graph.is_float(dtype):
        return x if x.type == plain_element(bits) else arith.extui(plain_element(bits), x)
    wide = np.dtype(f"f{bits.itemsize}")
    x = convert_scalar(x, dtype, wide)
    nan = arith.cmpf(arith.CmpFPredicate.UNO, x, x)
    x = arith.addf(x, scalar_constant(0, wide))
    number = scalar_constant(int(np.array(np.nan, wide).view(bits)), bits)
    return arith.select(nan, number, arith.bitcast(plain_element(bits), x))


def _mixed(x: ir.Value) -> ir.Value:
    return arith.muli(_folded(x), scalar_constant(MIX, _I64))


def _folded(x: ir.Value) -> ir.Value:
    """The low half of `x` combined with the high half, by exclusive or."""
    return arith.xori(x, _high(x))


def _slot(mixed: ir.Value, multiplier: int, slots: int) -> ir.Value:
    """The slot, an index; see `cuckoo.slots_of`."""
    share = _high(arith.muli(_folded(mixed), scalar_constant(multiplier, _I64)))
    slot = _high(arith.muli(share, scalar_constant(slots, _I64)))
    return arith.index_cast(ir.IndexType.get(), slot)


def _high(x: ir.Value) -> ir.Value:
    return arith.shrui(x, scalar_constant(32, _I64))
