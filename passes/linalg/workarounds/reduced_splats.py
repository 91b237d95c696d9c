"""Workaround for IREE 3.13 (DispatchCreation/ElementwiseOpFusion.cpp) and MLIR's
``FoldFillWithGenericOp``, which make a scalar of an operand whose elements are all equal. If no
other operand has a loop of a reduction, nothing tells its extent any more, and it runs once. IREE
also computes booleans and what extends them in the dispatch of their reduction; where these alone
have the extent of a loop, it cannot fuse them, and allocates memory for all of them on the stack.
Such operands are materialized behind a compute barrier. Remove when ``reduced_splat``,
``pooled_splat`` and ``reduced_broadcast`` (`test_faults.py`) compute the right values.
"""

from dataclasses import dataclass
from typing import Any

from ....dialects import iree
from ....mlir import ir
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import VIEWS
from ...graph_to_linalg.generic import linalg_inputs
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .row_values import iterators

_MOVEMENTS = (*VIEWS, "linalg.transpose", "tensor.extract_slice")
_SPLATS = ("linalg.fill", "tensor.empty", "tensor.splat")
_SUMS = ("linalg.pooling_nwc_sum", "linalg.pooling_nhwc_sum")


@register
@dataclass(frozen=True)
class WorkaroundReducedSplats(Pass):
    """Materialize tensors that are equal along an axis and alone give a reduction its extent.

    %ones = linalg.fill ins(%c1) -> tensor<5x7xf32>
    %sum = linalg.generic {parallel, reduction} ins(%ones : tensor<5x7xf32>) -> tensor<5xf32>
    -->
    %ones = linalg.fill ins(%c1) -> tensor<5x7xf32>
    %0 = iree_tensor_ext.compute_barrier.end %ones
    %sum = linalg.generic {parallel, reduction} ins(%0 : tensor<5x7xf32>) -> tensor<5xf32>

    The backend would add a single element, or fail to compile. Tensors are equal along an axis if
    they are broadcast along it, or computed from such, and where code gives the same for any
    operand, such as 0 times an integer.
    """

    name = "workaround-reduced-splats"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        axes = _EqualAxes()
        for each in ops_within(op.operation):
            position = _lost_operand(each, axes) if each.name.startswith("linalg.") else None
            if position is not None:
                x = each.operands[position]
                with ir.InsertionPoint(kernel_of(each) or each), each.location:
                    each.operands[position] = iree.compute_barrier(x, iree.dynamic_sizes(x))


def _lost_operand(op: ir.Operation, axes: "_EqualAxes") -> int | None:
    """The number of an operand that is equal along a loop whose extent no other operand has."""
    if op.name in _SUMS:
        x = op.operands[0]
        return 0 if len(axes.of(x)) == ir.RankedTensorType(x.type).rank else None
    if op.name != "linalg.generic":
        return None
    missing = {n for n, kind in enumerate(iterators(op)) if kind == "reduction"}
    equal: dict[int, set[int]] = {}
    for number, x in enumerate(linalg_inputs(op) if missing else ()):
        loops = _loops(op, number)
        equal[number] = {loops[axis] for axis in axes.of(x) if axis in loops}
        missing -= set(loops.values()) - equal[number]
    return next((number for number, loops in equal.items() if loops & missing), None)


def _loops(generic: ir.Operation, number: int) -> dict[int, int]:
    """The loops that axes of an operand of `generic` have the extents of."""
    access = ir.AffineMapAttr(ir.ArrayAttr(generic.attributes["indexing_maps"])[number]).value
    return {
        axis: each.position
        for axis, each in enumerate(access.results)
        if isinstance(each, ir.AffineDimExpr)
    }


class _EqualAxes:
    """The axes along which all elements of a tensor are equal as the code says, ignoring operands
    that are not read."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, frozenset[int]] = {}

    def of(self, x: ir.Value) -> frozenset[int]:
        waiting = [x]
        while waiting:
            if waiting[-1] in self._known:
                waiting.pop()
            elif unknown := [each for each in _sources(waiting[-1]) if each not in self._known]:
                waiting += unknown
            else:
                self._known[waiting[-1]] = self._of_op(waiting[-1])
        return self._known[x]

    def _of_op(self, x: ir.Value) -> frozenset[int]:
        if not isinstance(x.type, ir.RankedTensorType):
            return frozenset()
        every = frozenset(range(ir.RankedTensorType(x.type).rank))
        if isinstance(x.owner, ir.Block):
            return frozenset()
        op = x.owner.operation
        if op.name in _MOVEMENTS:
            source = op.operands[0]
            rank = ir.RankedTensorType(source.type).rank
            return every if len(self._known[source]) == rank else frozenset()
        if op.name == "arith.constant":
            value = op.attributes["value"]
            is_splat = isinstance(value, ir.DenseElementsAttr) and value.is_splat
            return every if is_splat else frozenset()
        if _is_computed_by_elements(op):
            return self._of_result(op, ir.OpResult(x).result_number)
        return every if op.name in _SPLATS else frozenset()

    def _of_result(self, generic: ir.Operation, number: int) -> frozenset[int]:
        varying: set[int] = set()
        for operand, x in _read_inputs(generic):
            loops, equal = _loops(generic, operand), self._known[x]
            varying |= {loop for axis, loop in loops.items() if axis not in equal}
        written = _loops(generic, len(linalg_inputs(generic)) + number)
        return frozenset(axis for axis, loop in written.items() if loop not in varying)


def _sources(x: ir.Value) -> list[ir.Value]:
    """The tensors that decide along which axes `x` is equal."""
    if isinstance(x.owner, ir.Block):
        return []
    op = x.owner.operation
    if op.name in _MOVEMENTS:
        return [op.operands[0]]
    return [each for _, each in _read_inputs(op)] if _is_computed_by_elements(op) else []


def _is_computed_by_elements(op: ir.Operation) -> bool:
    """Return whether elements of operands alone decide those of the results of `op`."""
    if op.name != "linalg.generic" or "reduction" in iterators(op):
        return False
    maps = (ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"]))
    simple = (ir.AffineDimExpr, ir.AffineConstantExpr)
    if not all(isinstance(each, simple) for access in maps for each in access.results):
        return False
    body = op.regions[0].blocks[0]
    return all(
        inner.operation.name not in ("linalg.index", "tensor.extract") for inner in body.operations
    )


def _read_inputs(generic: ir.Operation) -> list[tuple[int, ir.Value]]:
    """The tensors among the inputs of `generic` that its code reads, by number."""
    body = generic.regions[0].blocks[0]
    inputs = zip(linalg_inputs(generic), body.arguments, strict=False)
    return [
        (number, x)
        for number, (x, element) in enumerate(inputs)
        if isinstance(x.type, ir.RankedTensorType) and any(True for _ in element.uses)
    ]
