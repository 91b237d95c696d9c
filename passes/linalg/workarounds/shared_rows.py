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
        for each in list(ops_within(op.operation)):
            if _is_elementwise(each):
                for result in each.results:
                    if _is_shared(result):
                        insert_barrier(result)


def _is_shared(x: ir.Value) -> bool:
    """Return whether some readers of `x` broadcast it into a reduction, and some do not."""
    uses = list(readings(x))
    return len(uses) > 1 and len({_leads_to_reduction(use) for use in uses}) == 2


def _leads_to_reduction(use: ir.OpOperand) -> bool:
    """Return whether the value read by `use` reaches a reduction through elementwise ops alone, and
    is broadcast along an axis on the way or in the reduction."""
    waiting, seen = [(use, False)], set()
    while waiting:
        use, spread = waiting.pop()
        reader = use.owner.operation
        if reader.name != "linalg.generic":
            continue
        spread = spread or _is_spread_by(reader, use.operand_number)
        if not _is_elementwise(reader):
            if spread:
                return True
        elif (reader, spread) not in seen:
            seen.add((reader, spread))
            waiting += [(each, spread) for result in reader.results for each in readings(result)]
    return False


def _is_spread_by(generic: ir.Operation, operand: int) -> bool:
    """Return whether `generic` broadcasts an operand along one of its loops; along a reduction loop
    if it has any."""
    maps = ir.ArrayAttr(generic.attributes["indexing_maps"])
    read = ir.AffineMapAttr(maps[operand]).value
    kinds = _iterators(generic)
    own = {each.position for each in read.results if isinstance(each, ir.AffineDimExpr)}
    wanted = "reduction" if "reduction" in kinds else "parallel"
    return any(kind == wanted and loop not in own for loop, kind in enumerate(kinds))


def _is_elementwise(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and "reduction" not in _iterators(op)


def _iterators(generic: ir.Operation) -> list[str]:
    kinds = ir.ArrayAttr(generic.attributes["iterator_types"])
    return ["reduction" if "reduction" in str(kind) else "parallel" for kind in kinds]
