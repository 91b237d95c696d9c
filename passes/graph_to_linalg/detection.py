"""Non-maximum suppression: boxes one after the other, each against those selected before."""

from typing import Any

import numpy as np

from ...cpu_model import CpuModel
from ...dialects import graph, iree
from ...dialects.symbolic import minimum
from ...mlir import arith, ir, tensor
from ..kernels.detection import CORNERS, PLANES, BoxList, BoxSuppression, corners_of
from .dispatch import materialized
from .generic import loop_index, parallel
from .kernel_calls import define
from .loops import for_each, for_range, while_
from .lowering import Lowering, lowers, plain_element, plain_type, scalar_constant
from .movement import extract_slice, reshape_tensor
from .overlaps import is_apart
from .scratch import floats, uses_scratch
from .suppression_rounds import suppress_in_rounds

_I64 = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)


@lowers(graph.NonMaxSuppressionOp)
def non_max_suppression(
    ctx: Lowering,
    op: graph.NonMaxSuppressionOp,
    boxes: ir.Value,
    order: ir.Value,
    candidates: ir.Value,
    limit: ir.Value,
    threshold: ir.Value,
) -> ir.Value:
    result = graph.type_of(op.result)
    if 0 in result.shape:
        return ctx.empty(result)
    boxes_type = graph.type_of(op.boxes)
    for axis, wanted in ((0, result.shape[0]), (1, result.shape[2])):
        have = boxes_type.shape[axis]
        ctx.require_equal(have, wanted, f"has {have} boxes for scores of {wanted}")
    if ctx.cpu.has_vectors:
        kernel = BoxSuppression(ctx.cpu.lanes, op.attrs["by_center"])
        return _suppress_by_kernel(
            ctx, kernel, boxes_type, boxes, order, candidates, limit, threshold, result
        )
    boxes = _corners(ctx, boxes, boxes_type, op.attrs["by_center"])
    boxes = materialized(ctx, boxes, boxes_type)
    order = materialized(ctx, order, result)
    candidates = materialized(ctx, candidates, graph.type_of(op.candidates))
    if ctx.gpu:
        return suppress_in_rounds(ctx, boxes, order, candidates, limit, threshold, result)
    scalars = tensor.extract(limit, []), tensor.extract(threshold, [])
    return _Suppression(ctx, boxes, order, candidates, *scalars, result).build()


@lowers(graph.ListBoxesOp)
def list_boxes(ctx: Lowering, op: graph.ListBoxesOp, selected: ir.Value) -> ir.Value:
    source, result = graph.type_of(op.selected), graph.type_of(op.result)
    if 0 in source.shape or 0 in result.shape:
        return ctx.empty(result)
    batches, classes, length = source.shape
    sizes = [batches * classes, classes, length, result.shape[0]]
    rows, _, row, count = range(len(sizes))
    element, kernel = plain_element(_I64), BoxList()
    memory = [iree.Buffer(element, 1, (rows, row)), iree.Buffer(element, 3, (count,))]

    def write(workgroup: ir.Value, *arguments: ir.Value) -> None:
        del workgroup
        kernel.write(*arguments)

    name = define(ctx, "list_boxes", kernel, memory, write, 0, len(sizes))
    scalars, plain = [ctx.index(size) for size in sizes], [plain_type(result)]
    return iree.run_kernel(name, 1, [selected], plain, scalars, ctx.dynamic_sizes(result))[0]


def _corners(ctx: Lowering, boxes: ir.Value, type_: graph.TensorType, by_center: bool) -> ir.Value:
    """`boxes` as lowest y, x and highest y, x."""

    two = ctx.index(2)

    def element() -> ir.Value:
        column = loop_index(2)
        axis = arith.remui(column, two)
        at = [loop_index(0), loop_index(1)]
        a, b = (tensor.extract(boxes, [*at, n]) for n in (axis, arith.addi(axis, two)))
        low, _, high, _ = corners_of([a, a, b, b], by_center)
        return arith.select(arith.cmpi(arith.CmpIPredicate.ult, column, two), low, high)

    return parallel([], [], ctx.empty(type_), element)


_WORKGROUPS = 8
"""At most, each of which has scratch memory for the boxes of a class."""


def _scratch(result: graph.TensorType, lanes: int) -> graph.TensorType:
    """Scratch memory of the kernel: see `BoxSuppression`."""
    batches, classes, count = result.shape
    workgroups = minimum(batches * classes, _WORKGROUPS)
    return floats(workgroups * (count + lanes) * PLANES)


@uses_scratch(graph.NonMaxSuppressionOp)
def suppression_scratch(op: graph.NonMaxSuppressionOp, cpu: CpuModel) -> list[graph.TensorType]:
    return [_scratch(graph.type_of(op.result), cpu.lanes)] if cpu.has_vectors else []


def _suppress_by_kernel(
    ctx: Lowering, kernel: BoxSuppression, boxes_type: graph.TensorType, *operands: Any
) -> ir.Value:
    *values, result = operands
    lanes, element = ctx.cpu.lanes, plain_element(_I64)
    batches, classes, count = result.shape
    rows = batches * classes
    sizes = [minimum(rows, _WORKGROUPS), rows, classes, count, count + lanes, batches]
    workgroups, row, _, box, room, batch = range(6)
    f32 = plain_element(boxes_type.dtype)
    memory = [
        iree.Buffer(f32, CORNERS, (batch, box)),
        iree.Buffer(element, 1, (row, box)),
        iree.Buffer(element, 1, (row,)),
        iree.Buffer(element, 1),
        iree.Buffer(f32, 1),
        iree.Buffer(element, 1, (row, box)),
        iree.Buffer(f32, PLANES, (workgroups, room)),
    ]

    def write(workgroup: ir.Value, *arguments: ir.Value) -> None:
        kernel.write(workgroup, *arguments[:batch], *arguments[batch + 1 :])

    name = define(ctx, "suppress_boxes", kernel, memory, write, None, len(sizes))
    flat = result.with_shape((graph.element_count(result.shape),))
    types = [flat, _scratch(result, lanes)]
    scalars = [ctx.index(size) for size in sizes]
    dynamic = [size for each in types for size in ctx.dynamic_sizes(each)]
    plain = list(map(plain_type, types))
    found, _ = iree.run_kernel(name, scalars[0], values, plain, scalars, dynamic)
    return reshape_tensor(ctx, found, flat, result)


class _Suppression:
    """Builds one dispatch, which lists the selected boxes in the result itself, then -1."""

    def __init__(
        self,
        ctx: Lowering,
        boxes: ir.Value,
        order: ir.Value,
        candidates: ir.Value,
        limit: ir.Value,
        threshold: ir.Value,
        result: graph.TensorType,
    ):
        self.ctx, self.boxes, self.order, self.candidates = ctx, boxes, order, candidates
        self.limit = arith.index_cast(ir.IndexType.get(), limit)
        self.threshold, self.result = threshold, result
        # Flat, and of more than one element: the backend collapses unit axes of what loops update,
        # outside of the loops.
        self.flat = result.with_shape((graph.element_count(result.shape) + 1,))
        self.sizes = ctx.mixed(self.flat.shape)
        self.batches, self.classes, self.count = map(ctx.index, result.shape)
        self.zero, self.one, self.corners = (
            ctx.index(0),
            ctx.index(1),
            list(map(ctx.index, range(4))),
        )

    def build(self) -> ir.Value:
        dynamic = [size for size in self.sizes if isinstance(size, ir.Value)]
        flat = iree.dispatch_region(plain_type(self.flat), dynamic, self._all)
        filled = self.flat.with_shape((graph.element_count(self.result.shape),))
        flat = extract_slice(self.ctx, flat, [0], filled.shape, [1], filled)
        return reshape_tensor(self.ctx, flat, filled, self.result)

    def _all(self) -> ir.Value:
        empty = tensor.empty(self.sizes, plain_element(_I64))
        return for_each([self.batches, self.classes], empty, self._class)

    def _class(self, outer: list[ir.Value], listed: ir.Value) -> ir.Value:
        """Visit the candidates of one batch and class."""
        batch, class_ = outer
        row = arith.addi(arith.muli(batch, self.classes), class_)
        first = arith.muli(row, self.count)
        looked_at = arith.index_cast(ir.IndexType.get(), tensor.extract(self.candidates, outer))
        looked_at = arith.minsi(looked_at, self.count)
        less = arith.CmpIPredicate.slt

        def more(listed: ir.Value, position: ir.Value, taken: ir.Value) -> ir.Value:
            left = arith.cmpi(less, position, looked_at)
            return arith.andi(left, arith.cmpi(less, taken, self.limit))

        def step(listed: ir.Value, position: ir.Value, taken: ir.Value) -> list[ir.Value]:
            box = tensor.extract(self.order, [*outer, position])
            free = self._is_free(listed, batch, box, first, taken)
            listed = tensor.insert(box, listed, [arith.addi(first, taken)])
            return [
                listed,
                arith.addi(position, self.one),
                arith.select(free, arith.addi(taken, self.one), taken),
            ]

        listed, _, taken = while_([listed, self.zero, self.zero], more, step)
        none = scalar_constant(-1, _I64)
        return for_range(
            self.count,
            listed,
            lambda slot, now: tensor.insert(none, now, [arith.addi(first, slot)]),
            start=taken,
        )

    def _is_free(
        self, listed: ir.Value, batch: ir.Value, box: ir.Value, first: ir.Value, taken: ir.Value
    ) -> ir.Value:
        """True (an i1) if `box` overlaps none of the `taken` boxes, listed from `first` on."""
        own = self._corners(batch, box)

        def more(slot: ir.Value, free: ir.Value) -> ir.Value:
            return arith.andi(free, arith.cmpi(arith.CmpIPredicate.slt, slot, taken))

        def step(slot: ir.Value, free: ir.Value) -> list[ir.Value]:
            del free
            other = self._corners(batch, tensor.extract(listed, [arith.addi(first, slot)]))
            return [arith.addi(slot, self.one), is_apart(own, other, self.threshold)]

        return while_([self.zero, scalar_constant(True, _BOOL)], more, step)[1]

    def _corners(self, batch: ir.Value, box: ir.Value) -> list[ir.Value]:
        number = arith.index_cast(ir.IndexType.get(), box)
        return [tensor.extract(self.boxes, [batch, number, corner]) for corner in self.corners]
