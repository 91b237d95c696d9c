"""Long chains of elementwise ops, cut into parts that are computed one after the other."""

from dataclasses import dataclass
from typing import Any

from ...mlir import ir
from ..graph_to_linalg.aliasing import kernel_of, ops_within
from ..graph_to_linalg.dispatch import has_reduction
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .workarounds.compute_barriers import insert_barrier, readings

MOST_OPS = 512
"""Operations of elementwise ops that are computed together. Chains of 500 and 1,000 cheap ops run
in 0.89 to 0.93 of the time of one kernel (64 to 65,536 rows of 64, two threads of a Zen 4)."""


@register
@dataclass(frozen=True)
class LongChains(Pass):
    """Materialize a value in a chain of elementwise ops after some hundred operations.

    %0 = linalg.generic ...
    ...
    %511 = linalg.generic ins(%510)
    %512 = linalg.generic ins(%511)
    -->
    %0 = linalg.generic ...
    ...
    %511 = linalg.generic ins(%510)
    %1 = iree_tensor_ext.compute_barrier.end %511
    %512 = linalg.generic ins(%1)

    The backend would compute all of them in one dispatch, whose compilation takes time that grows
    with the second power of their number: 3,000 nodes, of which two in five were sigmoids and
    hyperbolic tangents, took 26 s. The parts of a regular chain are equal, so that they share one
    kernel.
    """

    name = "linalg-long-chains"
    anchor = FUNCTION
    most: int = MOST_OPS
    """Operations that are computed together, at most."""

    def run(self, op: Any, state: PassState) -> None:
        del state
        sizes: dict[ir.Operation, int] = {}
        for each in ops_within(op.operation):
            if each.name != "linalg.generic" or has_reduction(each) or kernel_of(each) is not None:
                continue
            makers = {x.owner.operation for x in each.operands if not isinstance(x.owner, ir.Block)}
            size = len(each.regions[0].blocks[0].operations)
            size += sum(sizes[maker] for maker in makers if maker in sizes and _is_read_once(maker))
            if size > self.most:
                for result in each.results:
                    if isinstance(result.type, ir.RankedTensorType):
                        insert_barrier(result)
                size = 0
            sizes[each] = size


def _is_read_once(op: ir.Operation) -> bool:
    return sum(1 for result in op.results for _ in readings(result)) == 1
