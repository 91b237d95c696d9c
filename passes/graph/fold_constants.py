"""The pass `graph-fold-constants`."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.locations import fuse_locations, node_name
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import has_one_use, is_dead, producer
from ..infra.registry import register
from ..infra.report import RewriteStatistics

REWRITE = "fold-constants"

BROADCAST_BYTES = 4096
"""Larger results of `graph.expand` stay computed: broadcasting is free, reading memory is not."""


@register
@dataclass(frozen=True)
class FoldConstants(Pass):
    """Compute ops whose operands are all constants.

        %0 = graph.constant() {value = dense<[1.0, 4.0]>}
        %1 = graph.sqrt(%0)                               -->  %1 = graph.constant() {[1.0, 2.0]}

    A constant that is broadcast is one for what scatters others among its elements. What has no
    elements counts as a constant, and an op of which all results have none is computed whatever its
    operands are.

    Values are those of the ops' own numpy meanings. One fold makes the constants of the program
    larger by `max-bytes` at most: the result, less the operands that nothing else uses. Slices of
    one constant that nothing else uses free it together. Constants that are dequantized from
    `min-bits` to 8 bits, or cast to f32 for contractions, may grow, as kernels want weights that
    are constants. Ops with regions, and results with symbolic sizes, are left alone. One walk in
    program order suffices, since operands come before their uses.

    Data that was folded away leaves the program, but stays in memory as long as the context.
    """

    name = "graph-fold-constants"
    anchor = FUNCTION
    max_bytes: int = 8 << 20
    """More than the backend computes when a model is loaded, 1 MiB: a resampler's filter of 640x455
    sines would be computed in each call."""
    keep_quantized: bool = False
    """True if dequantized constants of several elements stay so, for kernels that multiply
    integers."""
    keep_blocks: bool = False
    """True if constants that are dequantized by blocks stay so, for kernels that widen them."""
    min_bits: int = 8
    """Minimum bits of constants whose dequantized values may take more memory."""
    max_result_bytes: int | None = None
    """Maximum size of what is computed; None: any. Weights that are mapped from a file stay so."""

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics(REWRITE)
        for region in op.regions:
            for block in region.blocks:
                self._fold_block(block, statistics)

    def _fold_block(self, block: ir.Block, statistics: RewriteStatistics) -> None:
        for operation in list(block.operations):
            for region in operation.operation.regions:
                for inner in region.blocks:
                    self._fold_block(inner, statistics)
            op = graph.graph_op(operation)
            if op is not None and _is_foldable(op):
                self._fold(op, statistics)

    def _fold(self, op: graph.GraphOp, statistics: RewriteStatistics) -> None:
        name = node_name(op)
        reason = self._growth_problem(op)
        if reason is not None:
            statistics.record_declined(name, reason)
            return
        try:
            arrays = _compute(op)
        except (ArithmeticError, LookupError, NotImplementedError, ValueError) as error:
            statistics.record_declined(name, f"cannot be computed: {error or type(error).__name__}")
            return
        _replace(op, arrays)
        statistics.record_fired(name)

    def _growth_problem(self, op: graph.GraphOp) -> str | None:
        if isinstance(op, graph.DequantizeOp) and graph.type_of(op.x).dtype.itemsize == 1:
            if math.prod(graph.type_of(op.result).static_shape) == 1:
                return None
            if self.keep_quantized or (self.keep_blocks and _is_by_blocks(op)):
                return "kernels multiply integers"
            if _is_gathered(op):
                return "its rows are gathered, and few read"
            if graph.bit_width(graph.type_of(op.x).dtype) >= self.min_bits:
                return None
        size = sum(map(_bytes, op.operation.results))
        if isinstance(op, graph.ExpandOp) and size > BROADCAST_BYTES:
            return "broadcasting is cheaper than reading the result"
        if self.max_result_bytes is not None and size > self.max_result_bytes:
            return f"the result would take {size:,} bytes"
        if isinstance(op, graph.CastOp) and _widens_weights(op):
            return None
        constants = {value for value in op.operation.operands if _is_constant(value)}
        growth = size - sum(_freed_bytes(op, value) for value in constants)
        if growth > self.max_bytes:
            return f"the constants would grow by {growth:,} bytes"
        return None


def _widens_weights(op: graph.CastOp) -> bool:
    """Return whether `op` makes f32 of fewer bits for contractions alone."""
    source, result = graph.type_of(op.x).dtype, graph.type_of(op.result).dtype
    return result == np.float32 and source.itemsize < result.itemsize and _is_contracted(op.result)


def _is_contracted(value: ir.Value) -> bool:
    """Return whether nothing but contractions reads `value`, as it is or transposed."""
    users = [graph.graph_op(use.owner) for use in value.uses]
    return all(
        _is_contracted(user.result)
        if isinstance(user, graph.TransposeOp)
        else isinstance(user, graph.Contraction)
        for user in users
    )


def _is_by_blocks(op: graph.DequantizeOp) -> bool:
    """Return whether scales vary along more than one axis."""
    return sum(size != 1 for size in graph.type_of(op.scale).shape) > 1


def _is_gathered(op: graph.DequantizeOp) -> bool:
    """Return whether all that uses `op` gathers some of its elements."""
    users = [graph.graph_op(use.owner) for use in op.result.uses]
    return all(isinstance(user, graph.GatherOp) and user.x == op.result for user in users)


def _is_foldable(op: graph.GraphOp) -> bool:
    operation = op.operation
    return (
        op.pure
        and not op.per_rank
        and not isinstance(op, graph.ConstantOp)
        and len(operation.regions) == 0
        and all(graph.type_of(result).is_static for result in operation.results)
        and (_gives_nothing(op) or _has_known_operands(op))
        and not any(map(_is_symbolic, op.attrs.values()))
    )


def _has_known_operands(op: graph.GraphOp) -> bool:
    """Return whether the operands are constants; what a scatter replaces elements of may be a
    constant that is broadcast."""
    operands = list(op.operation.operands)
    is_scatter = isinstance(op, graph.ScatterElementsOp | graph.ScatterNdOp)
    if is_scatter and _is_broadcast(operands[0]):
        operands = operands[1:]
    return all(map(_is_known, operands))


def _gives_nothing(op: graph.GraphOp) -> bool:
    """Return whether no result has an element."""
    return all(map(_is_empty, op.operation.results))


def _is_known(value: ir.Value) -> bool:
    return _is_constant(value) or _is_empty(value)


def _is_constant(value: ir.Value) -> bool:
    return producer(value, graph.ConstantOp) is not None


def _is_broadcast(value: ir.Value) -> bool:
    expand = producer(value, graph.ExpandOp)
    return expand is not None and _is_constant(expand.x) and graph.type_of(value).is_static


def _is_empty(value: ir.Value) -> bool:
    return 0 in graph.type_of(value).shape and graph.type_of(value).is_static


def _compute(op: graph.GraphOp) -> tuple[np.ndarray, ...]:
    """Compute the results of a foldable op."""
    if _gives_nothing(op):
        return tuple(map(_no_elements, op.operation.results))
    groups = op.operand_groups.values()
    return graph.evaluate_op(op, [graph.map_group(_array, group) for group in groups])


def _is_symbolic(attribute: Any) -> bool:
    parts = attribute if isinstance(attribute, tuple) else (attribute,)
    return any(isinstance(part, Dim) for part in parts)


def _array(value: ir.Value | None) -> np.ndarray | None:
    if value is None:
        return None
    expand = producer(value, graph.ExpandOp)
    if expand is not None:
        array = _array(expand.x)
        assert array is not None
        return np.broadcast_to(array, graph.type_of(value).static_shape)
    constant = producer(value, graph.ConstantOp)
    return _no_elements(value) if constant is None else constant.attrs["value"]


def _no_elements(value: ir.Value) -> np.ndarray:
    type_ = graph.type_of(value)
    return np.empty(type_.static_shape, type_.dtype)


def _bytes(value: ir.Value) -> int:
    type_ = graph.type_of(value)
    return math.prod(type_.static_shape) * type_.dtype.itemsize


def _freed_bytes(op: graph.GraphOp, value: ir.Value) -> int:
    """Bytes of the constant `value` that `op` frees when it is computed: all if nothing else uses
    it; its share if all that uses it are slices, which are computed one after the other."""
    if _dies_with(op, value):
        return _bytes(value)
    users = [graph.graph_op(use.owner) for use in value.uses]
    slices = [user for user in users if isinstance(user, graph.SliceOp) and _is_foldable(user)]
    if len(slices) < len(users):
        return 0
    total = sum(_bytes(each.result) for each in slices)
    return _bytes(value) * _bytes(op.operation.results[0]) // max(total, 1)


def _dies_with(op: graph.GraphOp, value: ir.Value) -> bool:
    return has_one_use(value) or all(use.owner == op.operation for use in value.uses)


def _replace(op: graph.GraphOp, arrays: tuple[np.ndarray, ...]) -> None:
    """Replace `op` by constants, and erase it and the constants that only it used."""
    operation = op.operation
    constants = {
        ir.OpResult(v).owner.operation: None for v in operation.operands if _is_constant(v)
    }
    dying = [c.location for c in constants if all(_dies_with(op, r) for r in c.results)]
    with ir.InsertionPoint(operation), fuse_locations([*dying, operation.location]):
        for result, array in zip(operation.results, arrays, strict=True):
            result.replace_all_uses_with(graph.constant(value=array))
    operation.erase()
    for constant in constants:
        if is_dead(constant):
            constant.erase()
