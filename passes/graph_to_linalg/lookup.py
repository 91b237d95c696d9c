"""Lookup in hash tables: each element asks one slot of either side."""

import numpy as np

from ...dialects import graph
from ...dialects.graph.cuckoo import MIX, key_dtype
from ...mlir import arith, ir, tensor
from ..kernels.byte_table import BYTE_SHUFFLES, look_up
from .conversion import convert_scalar
from .generic import parallel
from .lowering import Fusion, Lowering, lowers, plain_element, scalar_constant
from .scalar_rules import NOT_F32, scalar_rule

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


@scalar_rule(graph.TableOp, vector=NOT_F32, any_vector=True)
def table(op: graph.GraphOp, x: ir.Value, memory: ir.Value | None = None) -> ir.Value:
    """Look up one byte, or a vector of bytes in a kernel, which may read the table from the buffer
    `memory`."""
    elements = op.attrs["table"]
    if isinstance(x.type, ir.VectorType):
        return look_up(x, memory or elements, BYTE_SHUFFLES[op.attrs["unit"]])
    i8 = plain_element(op.attrs["to"])
    bytes_ = [ir.IntegerAttr.get(i8, n - 256 if n > 127 else n) for n in elements]
    type_ = ir.RankedTensorType.get([len(bytes_)], i8)
    memory = arith.constant(type_, ir.DenseElementsAttr.get(bytes_, type_))
    return tensor.extract(memory, [arith.index_castui(ir.IndexType.get(), x)])
