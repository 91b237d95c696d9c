"""Heads of attention, sliced from a matmul whose last axis holds several parts.

    [B, S, 3 * H * D] -> 3 x (slice -> [B, S, H, D] -> [B, H, S, D])

copies each part twice, because slices of the last axis are not contiguous. Slices of the first are.
"""

from dataclasses import dataclass
from typing import Any

from ....dialects import graph
from ....dialects.locations import fuse_locations, node_name
from ....mlir import ir
from ...infra.query import has_one_use
from ...infra.report import RewriteStatistics

REWRITE = "heads-from-first-axis"


@dataclass(frozen=True)
class Heads:
    """``transpose(reshape(x, [..., count, size]), perm)``."""

    count: int
    size: int
    perm: tuple[int, ...]


def heads_of(x: ir.Value) -> Heads | None:
    """The split of `x` into heads, if that is its only use; else None."""
    reshape = _only_user(x, graph.ReshapeOp)
    transpose = None if reshape is None else _only_user(reshape.result, graph.TransposeOp)
    if reshape is None or transpose is None:
        return None
    *leading, count, size = graph.type_of(reshape.result).shape
    is_split = tuple(leading) == graph.type_of(x).shape[:-1]
    if not is_split or not isinstance(count, int) or not isinstance(size, int):
        return None
    return Heads(count, size, transpose.attrs["perm"])


@dataclass(frozen=True)
class HeadSlice:
    """A slice of the last axis, from `start` on, that is split into heads."""

    start: int
    heads: Heads
    result: ir.Value
    """The transposed heads."""


def take_heads(block: ir.Block, statistics: RewriteStatistics) -> None:
    """Split into heads and transpose all parts at once, then take each.

    ``transpose(reshape(slice(y)))  -->  slice(transpose(reshape(y)))``, for all slices of `y`:
    equal parts are taken from a new first axis, others from the axis of the heads. Exact.
    """
    sources: dict[ir.Value, list[graph.SliceOp]] = {}
    for operation in block.operations:
        op = graph.graph_op(operation)
        if isinstance(op, graph.SliceOp) and part_of_last_axis(op) is not None:
            sources.setdefault(op.x, []).append(op)
    for y, slices in sources.items():
        parts = [part for part in map(_part, slices) if part is not None]
        if not parts:
            continue
        name = "+".join(node_name(op) for op in slices)
        reason = _problem(y, slices, parts)
        if reason is None:
            statistics.record_fired(name)
            _take_parts(slices[0], y, parts)
        else:
            statistics.record_declined(name, reason)


def _part(op: graph.SliceOp) -> HeadSlice | None:
    run, heads = part_of_last_axis(op), heads_of(op.result)
    if run is None or heads is None:
        return None
    reshape = _only_user(op.result, graph.ReshapeOp)
    transpose = _only_user(reshape.result, graph.TransposeOp)
    return HeadSlice(run[0], heads, transpose.result)


def _problem(y: ir.Value, slices: list[graph.SliceOp], parts: list[HeadSlice]) -> str | None:
    if len(list(y.uses)) > len(slices):
        return "what the heads are taken from is used elsewhere"
    forms = {(part.heads.size, part.heads.perm) for part in parts}
    if len(parts) < len(slices) or len(forms) > 1:
        return "its parts are used in different ways"
    ((size, _),) = forms
    if any(part.start % size for part in parts) or graph.type_of(y).shape[-1] % size:
        return "its parts do not start at a head"
    return None


def _take_parts(first: graph.SliceOp, y: ir.Value, parts: list[HeadSlice]) -> None:
    replaced = [_chain(part) for part in parts]
    location = fuse_locations(op.location for chain in replaced for op in chain)
    with ir.InsertionPoint(first), location:
        taken = _equal_parts(y, parts) if _are_equal(y, parts) else _unequal_parts(y, parts)
    for part, value, chain in zip(parts, taken, replaced, strict=True):
        part.result.replace_all_uses_with(value)
        for op in chain:
            op.erase()


def _chain(part: HeadSlice) -> list[ir.OpView]:
    """The transpose, reshape and slice of a part, in this order (the last op first)."""
    transpose = ir.OpResult(part.result).owner
    reshape = ir.OpResult(transpose.operands[0]).owner
    return [transpose, reshape, ir.OpResult(reshape.operands[0]).owner]


def _are_equal(y: ir.Value, parts: list[HeadSlice]) -> bool:
    count = parts[0].heads.count
    width = count * parts[0].heads.size
    starts_fit = all(part.heads.count == count and part.start % width == 0 for part in parts)
    return starts_fit and graph.type_of(y).shape[-1] % width == 0


def _equal_parts(y: ir.Value, parts: list[HeadSlice]) -> list[ir.Value]:
    heads = parts[0].heads
    width = heads.count * heads.size
    *leading, total = graph.type_of(y).shape
    first = len(leading)  # the axis of the parts
    y = graph.reshape(y, shape=[*leading, total // width, heads.count, heads.size])
    y = graph.transpose(y, perm=[first, *(a if a < first else a + 1 for a in heads.perm)])
    taken = [_take(y, 0, part.start // width, 1) for part in parts]
    shape = graph.type_of(y).shape[1:]
    return [graph.reshape(value, shape=shape) for value in taken]


def _unequal_parts(y: ir.Value, parts: list[HeadSlice]) -> list[ir.Value]:
    heads = parts[0].heads
    *leading, total = graph.type_of(y).shape
    y = graph.reshape(y, shape=[*leading, total // heads.size, heads.size])
    y = graph.transpose(y, perm=heads.perm)
    axis = heads.perm.index(len(leading))
    return [_take(y, axis, part.start // heads.size, part.heads.count) for part in parts]


def part_of_last_axis(op: Any) -> tuple[int, int] | None:
    """The start and size of a slice of the last axis alone; None for other slices."""
    attrs = op.attrs
    *before, last = zip(
        attrs["starts"], attrs["sizes"], attrs["steps"], graph.type_of(op.x).shape, strict=True
    )
    start, size, step, extent = last
    whole = all((s, n, d) == (0, full, 1) for s, n, d, full in before)
    known = all(isinstance(v, int) for v in (start, size, extent))
    return (start, size) if whole and known and step == 1 else None


def _take(y: ir.Value, axis: int, start: int, size: int) -> ir.Value:
    shape = graph.type_of(y).shape
    starts = [start if i == axis else 0 for i in range(len(shape))]
    sizes = [size if i == axis else extent for i, extent in enumerate(shape)]
    return graph.slice_(y, starts=starts, sizes=sizes, steps=[1] * len(shape))


def _only_user(x: ir.Value, op_class: type[graph.GraphOp]) -> Any:
    uses = list(x.uses) if has_one_use(x) else []
    user = uses[0].owner.opview if uses else None
    return user if isinstance(user, op_class) else None
