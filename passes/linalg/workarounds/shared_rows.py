"""Workaround for IREE 3.13 IREEComprehensiveBufferize on CUDA: it fails at per-row values that a
dispatch both returns and reads in a reduction of the rows. A compute barrier separates the two.
Remove when ``shared_rows`` (`test_faults.py`) compiles.
"""

from dataclasses import dataclass
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import ops_within
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import insert_barrier, readings
from .row_values import is_elementwise, is_spread_into_reduction


@register
@dataclass(frozen=True)
class WorkaroundSharedRows(Pass):
    """Materialize per-row values that both reductions over these rows and other ops read.

    %mean = linalg.generic {parallel} ... -> tensor<6xf32>
    %1 = linalg.generic {parallel, reduction} ins(%x, %mean : tensor<6x20xf32>, tensor<6xf32>)
    return %mean, %1
    -->
    %mean = linalg.generic {parallel} ... -> tensor<6xf32>
    %0 = iree_tensor_ext.compute_barrier.end %mean
    %1 = linalg.generic {parallel, reduction} ins(%x, %0 : tensor<6x20xf32>, tensor<6xf32>)
    return %0, %1

    The backend would compute and write them in the kernel of the reduction, on all threads that
    share a row. On CUDA that fails if they are computed from scalars, or if their operands are
    results of the kernel, too.
    """

    name = "workaround-shared-rows"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if is_elementwise(each):
                for result in each.results:
                    if _is_shared(result):
                        insert_barrier(result)


def _is_shared(x: ir.Value) -> bool:
    """Return whether some readers of `x` broadcast it into a reduction, and some do not."""
    uses = list(readings(x))
    return len(uses) > 1 and len({is_spread_into_reduction(use) for use in uses}) == 2
