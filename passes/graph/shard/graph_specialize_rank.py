"""The pass `graph-specialize-rank`."""

from dataclasses import dataclass
from typing import Any

from ....dialects import graph
from ....errors import PassError
from ....mlir import ir
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.query import constant_array
from ...infra.registry import register
from ...infra.rewrite import Rewrite
from .local_values import keep_parts


class PartOfRank(Rewrite):
    """``all_slice(x)  -->  slice(x)``, the part of one rank; a constant, if `x` is one."""

    name = "part-of-rank"
    root = graph.AllSliceOp

    def __init__(self, rank: int):
        self.rank = self._rank = rank

    def pattern(self, op: graph.AllSliceOp):
        return {"array": constant_array(op.x)}

    def rewrite(self, op: graph.AllSliceOp, *, array: Any):
        if not 0 <= self._rank < op.ranks:
            raise PassError(f"there is no rank {self._rank} of {op.ranks}", "graph-specialize-rank")
        if array is not None:
            part = graph.part_of_rank(array, op.axis, op.sections, op.ranks, self._rank)
            return graph.constant(value=part)
        return graph.concat([*map(self._slicer(op), self._ranges(op))], axis=op.axis)

    def _ranges(self, op: graph.AllSliceOp) -> list[tuple[int, int]]:
        return graph.ranges_of_rank(op.sections, op.ranks, self._rank)

    def _slicer(self, op: graph.AllSliceOp) -> Any:
        shape = graph.type_of(op.x).shape

        def part(range_: tuple[int, int]) -> ir.Value:
            start, size = range_
            starts = [start if axis == op.axis else 0 for axis in range(len(shape))]
            sizes = [size if axis == op.axis else n for axis, n in enumerate(shape)]
            return graph.slice_(op.x, starts=starts, sizes=sizes, steps=[1] * len(shape))

        return part


@register
@dataclass(frozen=True)
class SpecializeRank(Pass):
    """Make the program of one `rank` of a program that `graph-shard` divided.

        %0 = graph.all_slice(%w) {axis = 1, ranks = 2}   -->   %0 = graph.constant()  // columns

    The ops `all_reduce` and `all_gather` stay, as the rank needs the others for them. Inputs and
    results with the names `local` are the rank's parts, if all that uses them takes parts, or if
    they are gathered.
    """

    name = "graph-specialize-rank"
    anchor = FUNCTION
    rank: int = 0
    local: tuple[str, ...] = ()

    def run(self, op: Any, state: PassState) -> None:
        if self.local:
            keep_parts(op, self.local)
        apply_rewrites(op, [PartOfRank(self.rank)], state)
