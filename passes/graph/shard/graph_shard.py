"""The pass `graph-shard`."""

from dataclasses import dataclass
from typing import Any

from ....errors import PassError
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.greedy import apply_rewrites
from ...infra.registry import register
from .local_values import GatherResult
from .matmuls import GatherColumns, ReduceParts, RowParallel, report_whole
from .rules import forget_sections, note_sections
from .sharding import Mesh


@register
@dataclass(frozen=True)
class Shard(Pass):
    """Divide the weights among `ranks` that run the program together (tensor parallelism).

        %0 = graph.matmul(%x, %v)          %0 = graph.matmul(%x, all_slice(%v))   // columns
        %1 = graph.gelu(%0)          -->   %1 = graph.gelu(%0)                    // of a part
        %2 = graph.matmul(%1, %w)          %2 = graph.matmul(%1, all_slice(%w))   // rows
                                           %3 = graph.all_reduce(%2)

    Two matmuls make a block if each part of what the first one gives is enough for a part of what
    the second one sums: in feed-forward layers, with gates too, and in attention, whose heads are
    divided. Other weights of `gather-bytes` at least are divided by columns, and the results
    gathered: logits, and tables of embeddings. All else every rank computes as a whole; the report
    says why.

    Results with the names `local`, such as caches of keys and values, are gathered where ranks have
    parts of the weights that they come from.

    `axis` names the ranks. Each runs what `graph-specialize-rank` makes of the program.
    """

    name = "graph-shard"
    anchor = FUNCTION
    ranks: int = 2
    axis: str = "tensor"
    gather_bytes: int = 1 << 20
    local: tuple[str, ...] = ()

    def run(self, op: Any, state: PassState) -> None:
        if self.ranks < 1 or not self.axis:
            raise PassError(f"{self.ranks} ranks of axis '{self.axis}'", self.name)
        if self.ranks == 1:
            return
        mesh = Mesh(self.ranks, self.axis)
        blocks = [block for region in op.regions for block in region.blocks]
        for block in blocks:
            note_sections(block)
        # Of matmuls in a row the last two are a pair: before attention there may be another one.
        apply_rewrites(op, [RowParallel(mesh)], state, bottom_up=True)
        apply_rewrites(op, [ReduceParts(mesh)], state)
        if self.local:
            apply_rewrites(op, [GatherResult(mesh, {*self.local})], state)
        apply_rewrites(op, [GatherColumns(mesh, self.gather_bytes)], state)
        for block in blocks:
            report_whole(block, mesh, self.gather_bytes, state)
            forget_sections(block)
