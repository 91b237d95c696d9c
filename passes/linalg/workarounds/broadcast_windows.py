"""Workaround for IREE 3.13 on CPUs: a convolution or a pool that an elementwise op broadcasts over
two axes of dynamic sizes is fused into it, and these are not tiled. A compute barrier separates the
two. Remove when ``broadcast_windows`` (`test_faults.py`) compiles.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....mlir import ir, linalg
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import WINDOWED, has_reduction
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import insert_barrier, readings
from .loops import extents_of, loops_along


@register
@dataclass(frozen=True)
class WorkaroundBroadcastWindows(Pass):
    """Materialize convolutions and pools that are broadcast over axes of dynamic sizes.

    %pool = linalg.pooling_nhwc_sum ... -> tensor<1x?x?x1xf32>
    %1 = linalg.generic {(i, j, k, l) -> (i, j, k, l), (i, j, k, l) -> (j, k)} ins(%x, %pool)
    -->
    %pool = linalg.pooling_nhwc_sum ... -> tensor<1x?x?x1xf32>
    %0 = iree_tensor_ext.compute_barrier.end %pool
    %1 = linalg.generic {(i, j, k, l) -> (i, j, k, l), (i, j, k, l) -> (j, k)} ins(%x, %0)

    The backend would compute both in one dispatch, which it tiles along the loops of the pool. The
    other loops become vectors of the largest size that there is, which it rejects if two are
    dynamic; if one is, it computes the pool for each of its iterations.
    """

    name = "workaround-broadcast-windows"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if _has_window(each) and kernel_of(each) is None:
                for result in each.results:
                    if any(map(_is_broadcast, _readings_in_dispatch(result))):
                        insert_barrier(result)


def _has_window(op: ir.Operation) -> bool:
    """Return whether `op` is a convolution or a pool: a reduction of which an element is at a sum
    of loops."""
    if op.name.startswith(WINDOWED):
        return True
    return has_reduction(op) and any(
        not isinstance(index, ir.AffineDimExpr | ir.AffineConstantExpr)
        for map_ in linalg.get_indexing_maps(op) or ()
        for index in ir.AffineMapAttr(map_).value.results
    )


def _readings_in_dispatch(x: ir.Value) -> Iterator[ir.OpOperand]:
    """The operands of elementwise generics that read `x`, or what such generics make of it."""
    waiting, seen = [x], set[ir.Value]()
    while waiting:
        for use in readings(waiting.pop()):
            reader = use.owner.operation
            if reader.name == "linalg.generic" and not has_reduction(reader):
                yield use
                waiting += [each for each in reader.results if each not in seen]
                seen.update(reader.results)


def _is_broadcast(use: ir.OpOperand) -> bool:
    """Return whether the reader has a loop of dynamic size that the operand has no axis for."""
    along = loops_along(use)
    return any(
        size is None and loop not in along
        for loop, size in enumerate(extents_of(use.owner.operation))
    )
