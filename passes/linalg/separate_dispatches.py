"""The pass `separate-dispatches`: each linalg op in a dispatch of its own."""

from dataclasses import dataclass
from typing import Any

from ...mlir import ir
from ..graph_to_linalg.aliasing import kernel_of, ops_within
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .workarounds.compute_barriers import insert_barrier

_FUSED = ("linalg.fill", "linalg.yield")
"""Ops that are part of others."""


@register
@dataclass(frozen=True)
class SeparateDispatches(Pass):
    """Materialize what every linalg op computes, but the fills that others accumulate into.

    %0 = linalg.generic ...
    %1 = linalg.generic ins(%0)
    -->
    %0 = linalg.generic ...
    %b = iree_tensor_ext.compute_barrier.end %0
    %1 = linalg.generic ins(%b)

    For programs that the backend fails to compile with dispatches of several ops: slower, but more
    programs.
    """

    name = "separate-dispatches"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in ops_within(op.operation):
            is_ours = each.name.startswith("linalg.") and each.name not in _FUSED
            if is_ours and kernel_of(each) is None:
                for result in each.results:
                    if isinstance(result.type, ir.RankedTensorType):
                        insert_barrier(result)
