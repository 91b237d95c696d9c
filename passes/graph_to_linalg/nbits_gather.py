"""Reads of columns of weights of few bits from panels."""

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .generic import loop_index, parallel, projection
from .indexing import IndexedAxis
from .lowering import Fusion, Lowering, lowers, plain_element, scalar_constant


@lowers(graph.NbitsGatherOp, fuses=Fusion.PRODUCER)
def nbits_gather(
    ctx: Lowering, op: graph.NbitsGatherOp, panels: ir.Value, indices: ir.Value
) -> ir.Value:
    """Compute each element by itself: a column is short beside the weights of a model."""
    given, result = graph.type_of(op.indices), graph.type_of(op.operation.results[0])
    along = IndexedAxis(ctx, op.columns, given.dtype, graph.element_count(result.shape))
    reader = _ColumnReader(graph.NbitsFormat(op.bits, op.block, op.nr, op.scales), panels)
    zero = scalar_constant(0, result.dtype)
    before = list(range(given.rank))

    def element(index: ir.Value) -> ir.Value:
        position = along.position(index)
        k: ir.Value = arith.constant(ir.IndexType.get(), 0)
        for axis, size in enumerate(op.slice):
            loop = loop_index(given.rank + axis)
            k = arith.addi(arith.muli(k, _index(size)), loop)
        integer = reader.integer(along.clamped(position), k)
        integer = arith.addi(integer, arith.constant(integer.type, op.middle))
        type_ = plain_element(result.dtype)
        found = arith.trunci(type_, integer) if type_ != integer.type else integer
        return arith.select(along.holds(position), found, zero)

    map_ = projection(result.rank, before)
    return parallel([indices], [map_], ctx.empty(result), element)


class _ColumnReader:
    """Reads integers from `panels` of `layout`, in the body of an op."""

    def __init__(self, layout: graph.NbitsFormat, panels: ir.Value):
        self._layout, self._panels = layout, panels

    def integer(self, column: ir.Value, k: ir.Value) -> ir.Value:
        """The integer in row `k` of `column`, as an i32 with sign."""
        layout = self._layout
        panel, within = _divided(column, layout.nr)
        block, element = _divided(k, layout.block)
        line, number = _divided(element, layout.per_word)
        at = arith.addi(arith.muli(line, _index(layout.nr)), within)
        word = tensor.extract(self._panels, [panel, block, at])
        above = arith.constant(word.type, graph.WORD_BITS - layout.bits)
        field = arith.shli(word, arith.subi(above, self._bit(number, word.type)))
        return arith.shrsi(field, above)

    def _bit(self, number: ir.Value, type_: ir.Type) -> ir.Value:
        """The lowest bit of integer `number` of a word (`NbitsFormat.bit`)."""
        group, byte = _divided(number, 4)
        bits = arith.addi(arith.muli(byte, _index(8)), arith.muli(group, _index(self._layout.bits)))
        return arith.index_cast(type_, bits)


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _divided(value: ir.Value, by: int) -> tuple[ir.Value, ir.Value]:
    divisor = _index(by)
    return arith.divui(value, divisor), arith.remui(value, divisor)
