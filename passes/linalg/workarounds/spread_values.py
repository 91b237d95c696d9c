"""Values of unknown size that are needed both spread over several axes and otherwise."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ....mlir import ir
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import has_reduction
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register
from .compute_barriers import readings, store


@register
@dataclass(frozen=True)
class StoreSpreadValues(Pass):
    """Store values of unknown size that are spread over several axes, if results are not.

    %mean = linalg.generic ... -> tensor<?xf32>
    %1 = linalg.generic {(i, j, k) -> (i, j, k), (i, j, k) -> (i)} ins(%x, %mean)
    return %mean, %1
    -->
    %mean = linalg.generic ... -> tensor<?xf32>
    %0 = iree_tensor_ext.compute_barrier.end %mean
    %1 = linalg.generic {(i, j, k) -> (i, j, k), (i, j, k) -> (i)} ins(%x, %0)
    return %0, %1

    The backend would compute both in one kernel, and make one axis of those that come together:
    j and k. For the size of that it takes the sizes of its first result for those of the second,
    and writes beyond the memory that it allocates (IREE 3.13, ``CollapseDimensions.cpp``, where
    reshapes leave a dispatch). Sizes of the second that are those of the first do no harm.
    """

    name = "store-spread-values"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for each in list(ops_within(op.operation)):
            if each.name.startswith("linalg.") and kernel_of(each) is None:
                for result in each.results:
                    if _is_of_unknown_size(result) and _is_spread_by_some(result):
                        store(result)


def _is_of_unknown_size(x: ir.Value) -> bool:
    return isinstance(x.type, ir.RankedTensorType) and not x.type.has_static_shape


def _is_spread_by_some(x: ir.Value) -> bool:
    """Whether an elementwise op spreads `x` over several axes, and `x`, or what comes of it and is
    not spread so, may be a result of the same kernel."""
    return (
        sum(1 for _ in readings(x)) > 1
        and any(spread for _, spread in _coming_of(x, with_reductions=False))
        and any(not spread and _may_be_result(each) for each, spread in _coming_of(x))
    )


def _coming_of(x: ir.Value, *, with_reductions: bool = True) -> Iterator[tuple[ir.Value, bool]]:
    """What is computed from `x` by generic ops, and whether it is spread over several axes."""
    waiting, seen = [(x, False)], set()
    while waiting:
        value, spread = found = waiting.pop()
        if found in seen:
            continue
        seen.add(found)
        yield found
        for use in readings(value):
            reader = use.owner.operation
            if reader.name != "linalg.generic":
                continue
            is_reduction = has_reduction(reader)
            if with_reductions or not is_reduction:
                wide = not is_reduction and (spread or _spreads(use))
                waiting += [(result, wide) for result in reader.results]


def _may_be_result(x: ir.Value) -> bool:
    """Whether somebody reads `x` who may be no part of its kernel."""
    return any(
        use.owner.operation.name != "linalg.generic" or not (_is_in_step(use) or _spreads(use))
        for use in readings(x)
    )


def _is_in_step(use: ir.OpOperand) -> bool:
    """Whether an elementwise op reads one element after the other."""
    reader = use.owner.operation
    own, extents = _loops_along(use), _extents(reader)
    long = [loop for loop, extent in enumerate(extents) if extent != 1]
    return not has_reduction(reader) and [loop for loop in own if extents[loop] != 1] == long


def _spreads(use: ir.OpOperand) -> bool:
    """Whether two loops of the reader, one after the other and of more than one round, do not run
    along the operand, and it has other sizes to be found out than the operand."""
    own, extents = _loops_along(use), _extents(use.owner.operation)
    long = [loop for loop, extent in enumerate(extents) if extent != 1]
    together = any(first not in own and second not in own for first, second in pairwise(long))
    unknown = [loop for loop, extent in enumerate(extents) if extent is None]
    return together and unknown != [loop for loop in own if extents[loop] is None]


def _loops_along(use: ir.OpOperand) -> list[int]:
    """The loops of the reader that run along the axes of the operand."""
    map_ = _maps(use.owner.operation)[use.operand_number]
    return [each.position for each in map_.results if isinstance(each, ir.AffineDimExpr)]


def _extents(generic: ir.Operation) -> list[int | None]:
    """How many rounds each loop has, None where only the run knows."""
    maps = _maps(generic)
    extents: list[int | None] = [None] * maps[0].n_dims
    for x, map_ in zip(generic.operands, maps, strict=True):
        if not isinstance(x.type, ir.RankedTensorType):
            continue
        for axis, each in enumerate(map_.results):
            if isinstance(each, ir.AffineDimExpr) and not x.type.is_dynamic_dim(axis):
                extents[each.position] = x.type.get_dim_size(axis)
    return extents


def _maps(generic: ir.Operation) -> list[ir.AffineMap]:
    return [
        ir.AffineMapAttr(each).value for each in ir.ArrayAttr(generic.attributes["indexing_maps"])
    ]
