"""Values of rows that are needed both within a reduction over these and elsewhere."""

from dataclasses import dataclass
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import ops_within
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import readings, store


@register
@dataclass(frozen=True)
class StoreSharedRows(Pass):
    """Store values of rows that reductions over these rows read, and others too.

    %mean = linalg.generic {parallel} ... -> tensor<6xf32>
    %1 = linalg.generic {parallel, reduction} ins(%x, %mean : tensor<6x20xf32>, tensor<6xf32>)
    return %mean, %1
    -->
    %mean = linalg.generic {parallel} ... -> tensor<6xf32>
    %0 = iree_tensor_ext.compute_barrier.end %mean
    %1 = linalg.generic {parallel, reduction} ins(%x, %0 : tensor<6x20xf32>, tensor<6xf32>)
    return %0, %1

    The backend would compute them in the kernel of the reduction and write them there, by as many
    threads as share a row. For CUDA it fails at that: where they are computed from scalars, and
    where what they are computed from is written, too.
    """

    name = "store-shared-rows"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in list(ops_within(op.operation)):
            if _is_elementwise(each):
                for result in each.results:
                    if _is_shared(result):
                        store(result)


def _is_shared(x: ir.Value) -> bool:
    """Whether some readers of `x` spread it into a reduction, and some do not."""
    uses = list(readings(x))
    return len(uses) > 1 and len({_leads_to_reduction(use) for use in uses}) == 2


def _leads_to_reduction(use: ir.OpOperand) -> bool:
    """Whether what is read there ends in a reduction, by elementwise ops alone, and is spread along
    an axis before it or in it."""
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
    """Whether `generic` reads the same element of an operand all along one of its loops, one that
    is reduced if any is."""
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
