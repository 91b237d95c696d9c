"""Workaround for IREE 3.13 on CPUs: a reduction whose result another reduction of the same rows
reads is computed again for every tile of the latter's loop, if the number of rows is dynamic. A
compute barrier separates the two. Remove when ``repeated_reductions`` (`test_faults.py`) is fast.
"""

from dataclasses import dataclass
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import has_reduction
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import insert_barrier, readings
from .row_values import is_spread_into_reduction


@register
@dataclass(frozen=True)
class WorkaroundRepeatedReductions(Pass):
    """Materialize reductions of a dynamic number of rows that only reductions of these rows read.

    %sum = linalg.generic {parallel, reduction} ins(%x : tensor<?x5000xf32>) -> tensor<?xf32>
    %1 = linalg.generic {parallel, reduction} ins(%x, %sum : tensor<?x5000xf32>, tensor<?xf32>)
    -->
    %sum = linalg.generic {parallel, reduction} ins(%x : tensor<?x5000xf32>) -> tensor<?xf32>
    %0 = iree_tensor_ext.compute_barrier.end %sum
    %1 = linalg.generic {parallel, reduction} ins(%x, %0 : tensor<?x5000xf32>, tensor<?xf32>)

    The backend would compute both in one dispatch, the first one in the innermost loop of the
    second. Measured: the variance of 5000x64 over the first axis takes 260 ms, and 0.5 ms behind a
    barrier. Where other ops read the first result as well, as in a softmax, the backend tiles for
    these, and computes each row once.
    """

    name = "workaround-repeated-reductions"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            if has_reduction(each) and kernel_of(each) is None:
                for result in each.results:
                    if _is_of_dynamic_rows(result) and _is_for_reductions(result):
                        insert_barrier(result)


def _is_of_dynamic_rows(x: ir.Value) -> bool:
    return isinstance(x.type, ir.RankedTensorType) and not x.type.has_static_shape


def _is_for_reductions(x: ir.Value) -> bool:
    uses = list(readings(x))
    return bool(uses) and all(map(is_spread_into_reduction, uses))
