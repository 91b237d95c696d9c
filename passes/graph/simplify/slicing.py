"""Slices, concats and pads that do nothing, and two in a row that become one. All are exact."""

from typing import Any

from ....dialects import graph
from ....dialects.graph.base import MAX_TENSORS
from ....dialects.symbolic import Dim
from ...infra.query import has_one_use, producer, same_type
from ...infra.rewrite import rewrite

Size = int | Dim


@rewrite(graph.SliceOp)
def full_slice(op: graph.SliceOp) -> Any:
    """``x[0:n:1, ...]`` of the whole of ``x``  -->  ``x``."""
    attrs = op.attrs
    whole = all(start == 0 for start in attrs["starts"]) and all(s == 1 for s in attrs["steps"])
    return op.x if whole and same_type(op.x, op.operation.results[0]) else None


@rewrite(graph.SliceOp)
def slice_of_slice(op: graph.SliceOp) -> Any:
    """``slice(slice(x))  -->  slice(x)``."""
    inner_op = producer(op.x, graph.SliceOp)
    if inner_op is None:
        return None
    inner, outer = inner_op.attrs, op.attrs
    starts = [
        start + offset * step
        for start, offset, step in zip(
            inner["starts"], outer["starts"], inner["steps"], strict=True
        )
    ]
    steps = [a * b for a, b in zip(inner["steps"], outer["steps"], strict=True)]
    return graph.slice_(inner_op.x, starts=starts, sizes=outer["sizes"], steps=steps)


@rewrite(graph.SliceOp)
def slice_of_concat(op: graph.SliceOp) -> Any:
    """``slice(concat(a, b))  -->  slice(b)``, of rows that are all in one operand."""
    concat = producer(op.x, graph.ConcatOp)
    if concat is None:
        return None
    axis, starts = concat.axis, list(op.attrs["starts"])
    first, size, step = starts[axis], op.attrs["sizes"][axis], op.attrs["steps"][axis]
    begin: Size = 0
    for x in concat.operand_groups["xs"]:
        width = graph.type_of(x).shape[axis]
        if (first, size, step) == (begin, width, 1) or _is_within(
            (first, size, step), (begin, width)
        ):
            starts[axis] = first - begin
            return graph.slice_(x, starts=starts, sizes=op.attrs["sizes"], steps=op.attrs["steps"])
        begin = begin + width
    return None


def _is_within(taken: tuple[Size, Size, int], rows: tuple[Size, Size]) -> bool:
    """Return whether the `taken` rows, by start, size and step, are among `rows`, by start and
    size; False where a size has a name."""
    numbers = [each for each in (*taken, *rows) if isinstance(each, int)]
    if len(numbers) < 5:
        return False
    start, size, step, begin, width = numbers
    ends = (start, start + (size - 1) * step)
    return size > 0 and all(begin <= row < begin + width for row in ends)


@rewrite(graph.ConcatOp)
def concat_of_one(op: graph.ConcatOp) -> Any:
    """``concat(x)  -->  x``; empty operands are dropped."""
    axis = op.attrs["axis"]
    operands = op.operand_groups["xs"]
    kept = [x for x in operands if graph.type_of(x).shape[axis] != 0] or operands[:1]
    if len(kept) == 1 and same_type(kept[0], op.operation.results[0]):
        return kept[0]
    return _joined(op, kept) if len(kept) < len(operands) else None


@rewrite(graph.ConcatOp)
def concat_of_concat(op: graph.ConcatOp) -> Any:
    """``concat(concat(a, b), c)  -->  concat(a, b, c)`` along one axis, as long as one op can
    take all operands."""
    axis = op.attrs["axis"]
    flat: list[Any] = []
    operands = op.operand_groups["xs"]
    for x in operands:
        inner = producer(x, graph.ConcatOp)
        if inner is not None and inner.attrs["axis"] == axis and has_one_use(x):
            flat += inner.operand_groups["xs"]
        else:
            flat.append(x)
    if len(flat) == len(operands) or len(flat) > MAX_TENSORS:
        return None
    return _joined(op, flat)


def _joined(op: Any, operands: list[Any]) -> Any:
    """The concat of `operands` in place of `op`; None if symbolic sizes would change name."""
    attrs = op.attrs
    type_ = graph.ConcatOp.infer([graph.type_of(x) for x in operands], **attrs)
    same = type_ == graph.type_of(op.operation.results[0])
    return graph.concat(operands, **attrs) if same else None


@rewrite(graph.PadOp)
def pad_by_nothing(op: graph.PadOp) -> Any:
    """``pad(x) {low = 0, high = 0}  -->  x``."""
    return op.x if all(size == 0 for size in (*op.attrs["low"], *op.attrs["high"])) else None


REWRITES = (
    full_slice, slice_of_slice, slice_of_concat, concat_of_one, concat_of_concat, pad_by_nothing,
)  # fmt: skip
