"""Workaround for IREE 3.13 (DispatchCreation/ElementwiseOpFusion.cpp) and MLIR's
``FoldFillWithGenericOp``, which make a scalar of an operand whose elements are all equal. If no
other operand has a loop of a reduction, nothing tells its extent any more, and it runs once. Such
an operand is materialized behind a compute barrier. Remove when ``reduced_splat`` and
``pooled_splat`` (`test_faults.py`) compute the right values.
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
    """Materialize tensors of equal elements that alone give a reduction the extent of a loop.

    %ones = linalg.fill ins(%c1) -> tensor<5x7xf32>
    %sum = linalg.generic {parallel, reduction} ins(%ones : tensor<5x7xf32>) -> tensor<5xf32>
    -->
    %ones = linalg.fill ins(%c1) -> tensor<5x7xf32>
    %0 = iree_tensor_ext.compute_barrier.end %ones
    %sum = linalg.generic {parallel, reduction} ins(%0 : tensor<5x7xf32>) -> tensor<5xf32>

    The backend would add a single element. The elements of what is computed from such tensors are
    equal, too, and where code gives the same for any operand, such as 0 times an integer.
    """

    name = "workaround-reduced-splats"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            position = _lost_operand(each) if each.name.startswith("linalg.") else None
            if position is not None:
                x = each.operands[position]
                with ir.InsertionPoint(kernel_of(each) or each), each.location:
                    each.operands[position] = iree.compute_barrier(x, iree.dynamic_sizes(x))


def _lost_operand(op: ir.Operation) -> int | None:
    """The number of an operand of equal elements, without which `op` would lack a loop."""
    if op.name in _SUMS:
        return 0 if _is_splat(op.operands[0]) else None
    if op.name != "linalg.generic":
        return None
    missing = {n for n, kind in enumerate(iterators(op)) if kind == "reduction"}
    splats: dict[int, set[int]] = {}
    for number, x in enumerate(linalg_inputs(op) if missing else ()):
        loops = _loops(op, number)
        if _is_splat(x):
            splats[number] = loops
        else:
            missing -= loops
    return next((number for number, loops in splats.items() if loops & missing), None)


def _loops(generic: ir.Operation, number: int) -> set[int]:
    """The loops that an operand of `generic` has the extent of."""
    access = ir.AffineMapAttr(ir.ArrayAttr(generic.attributes["indexing_maps"])[number]).value
    return {each.position for each in access.results if isinstance(each, ir.AffineDimExpr)}


def _is_splat(x: ir.Value) -> bool:
    """Return whether all elements of `x` are equal as the code says, ignoring operands that are not
    read."""
    if not isinstance(x.type, ir.RankedTensorType):
        return True  # a scalar, which all elements are computed with
    if isinstance(x.owner, ir.Block):
        return False
    op = x.owner.operation
    if op.name in _MOVEMENTS:
        return _is_splat(op.operands[0])
    if op.name == "arith.constant":
        value = op.attributes["value"]
        return isinstance(value, ir.DenseElementsAttr) and value.is_splat
    if op.name != "linalg.generic" or "reduction" in iterators(op):
        return op.name in _SPLATS
    body = op.regions[0].blocks[0]
    if any(inner.operation.name in ("linalg.index", "tensor.extract") for inner in body):
        return False
    inputs = zip(linalg_inputs(op), body.arguments, strict=False)
    return all(_is_splat(each) for each, element in inputs if any(True for _ in element.uses))
