"""The pass `graph-merge-matmuls`."""

from dataclasses import dataclass
from typing import Any

from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from . import heads, matmuls


@register
@dataclass(frozen=True)
class MergeMatmuls(Pass):
    """Merge the matmuls of one value by several constant matrices into one matmul.

        %q = graph.matmul(%x, %w_q)                 %0 = graph.matmul(%x, %w)
        %k = graph.matmul(%x, %w_k)       -->       %q = graph.slice(%0) {columns of q}
                                                    %k = graph.slice(%0) {columns of k}

    Only where the parts need no copies: where they are split into heads of attention, which are
    then taken from the front of one transposed tensor, or where elementwise ops read them.
    """

    name = "graph-merge-matmuls"
    anchor = FUNCTION
    optional = True

    def run(self, op: Any, state: PassState) -> None:
        for region in op.regions:
            for block in region.blocks:
                matmuls.merge_matmuls(block, state.statistics(matmuls.REWRITE))
                heads.take_heads(block, state.statistics(heads.REWRITE))
