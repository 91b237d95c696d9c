"""The pass `cpu-list-boxes`."""

from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import producer, splat_of
from ..infra.registry import register
from ..infra.rewrite import Rewrite


@register
@dataclass(frozen=True)
class CpuListBoxes(Pass):
    """List the boxes that a suppression selects by one kernel.

    %1 = "graph.greater_or_equal"(%selected, 0)
    %2 = "graph.transpose"("graph.non_zero"(%1))
    %3 = "graph.gather_nd"(%selected, %2)
    %4 = "graph.concat"("graph.slice"(%2), %3)
    -->
    %4 = "graph.list_boxes"(%selected)

    Exact. Eight dispatches of few elements took 5 of the 25 us of 100 boxes.
    """

    name = "cpu-list-boxes"
    anchor = FUNCTION
    only_rewrites = True
    optional = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [ToListBoxes], state)


class ToListBoxes(Rewrite):
    """``concat(positions, gather(selected, positions))  -->  list_boxes(selected)``."""

    name = "to-list-boxes"
    root = graph.ConcatOp

    def pattern(self, op: graph.ConcatOp) -> dict[str, Any] | None:
        if len(op.xs) != 2 or op.attrs["axis"] != 1:
            return None
        where, box = producer(op.xs[0], graph.SliceOp), producer(op.xs[1], graph.ReshapeOp)
        found = None if box is None else producer(box.x, graph.GatherNdOp)
        selected = None if found is None else producer(found.x, graph.NonMaxSuppressionOp)
        if where is None or found is None or selected is None or where.x != found.indices:
            return None
        positions = producer(found.indices, graph.TransposeOp)
        mask = None if positions is None else producer(positions.x, graph.NonZeroOp)
        taken = None if mask is None else producer(mask.x, graph.GreaterOrEqualOp)
        if mask is None or taken is None or taken.a != found.x or splat_of(taken.b) != 0:
            return None
        return {"selected": selected.result, "count": mask.attrs["count"]}

    def rewrite(self, op: graph.ConcatOp, selected: ir.Value, count: Any) -> ir.Value:
        return graph.list_boxes(selected, count=count)
