"""If, Loop and Scan: operators with subgraphs."""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim, maximum
from ...mlir import ir
from .registry import Node, UnsupportedError, onnx_op
from .shapes import normalize_axis, require_sizes, size_scalar


@onnx_op("If")
def if_(condition, *, node, then_branch, else_branch):
    """A condition that is known selects its branch here and now."""
    condition = _scalar(condition)
    known = graph.known_sizes(condition)
    if known is not None and not isinstance(known[0], Dim):
        return node.import_subgraph(then_branch if known[0] else else_branch)
    with _of_one_rank():
        return graph.if_(
            condition,
            lambda: node.import_subgraph(then_branch),
            lambda: node.import_subgraph(else_branch),
            node.fresh_name,
        )


@onnx_op("Loop")
def loop(trip_count=None, condition=None, *initial, node, body):
    """Inside an iteration the condition holds: it would not run otherwise."""
    if any(value is None for value in initial):
        raise graph.TypeRuleError("a loop-carried value is left out")
    limit = graph.UNLIMITED if trip_count is None else _trip_count(trip_count, node)

    def iterate(index: Dim, *carried: ir.Value) -> graph.Iteration:
        holds = graph.constant(value=np.array(True))
        goes_on, *values = node.import_subgraph(body, [size_scalar(index), holds, *carried])
        count = len(carried)
        return graph.Iteration(_scalar(goes_on), values[:count], values[count:])

    condition = None if condition is None else _scalar(condition)
    if condition is not None and graph.known_sizes(condition) == (0,):
        limit = 0
    with _of_one_rank():
        return graph.loop(initial, iterate, node.fresh_name, limit, condition)


@contextlib.contextmanager
def _of_one_rank() -> Iterator[None]:
    """Ranks that the run decides are ONNX, if not for tensor programs."""
    try:
        yield
    except graph.RankError as error:
        raise UnsupportedError(str(error)) from error


def _scalar(condition: ir.Value) -> ir.Value:
    type_ = graph.type_of(condition)
    return graph.reshape(condition, shape=[]) if type_.rank else condition


def _trip_count(value: ir.Value, node: Node) -> int | Dim:
    """The number of iterations; below 0 it is 0."""
    known = graph.known_sizes(value)
    if known is None:
        value = graph.max_(value, graph.splat_like(0, value))
        known = require_sizes(value, node, "trip_count")
    return maximum(known[0], 0)


@onnx_op("Scan", since=9)
def scan(
    *inputs,
    node,
    body,
    num_scan_inputs,
    scan_input_axes=(),
    scan_input_directions=(),
    scan_output_axes=(),
    scan_output_directions=(),
):
    count = len(inputs) - num_scan_inputs
    if count < 0:
        raise graph.TypeRuleError(f"{num_scan_inputs} scanned inputs of {len(inputs)}")
    initial, scanned = list(inputs[:count]), list(inputs[count:])
    axes = [
        normalize_axis(axis, graph.type_of(x).rank)
        for x, axis in zip(scanned, scan_input_axes or [0] * len(scanned), strict=True)
    ]
    backwards = scan_input_directions or [0] * len(scanned)
    length = _scan_length(scanned, axes)

    def iterate(index: Dim, *carried: ir.Value) -> graph.Iteration:
        parts = [
            _part(x, axis, length - 1 - index if reverse else index)
            for x, axis, reverse in zip(scanned, axes, backwards, strict=True)
        ]
        values = node.import_subgraph(body, [*carried, *parts])
        return graph.Iteration(None, values[:count], values[count:])

    results = graph.loop(initial, iterate, node.fresh_name, length)
    stacks = results[count:]
    places = zip(
        stacks,
        scan_output_axes or [0] * len(stacks),
        scan_output_directions or [0] * len(stacks),
        strict=True,
    )
    return [*results[:count], *(_placed(y, axis, reverse) for y, axis, reverse in places)]


def _scan_length(scanned: Sequence[ir.Value], axes: Sequence[int]) -> int | Dim:
    sizes = [graph.type_of(x).shape[axis] for x, axis in zip(scanned, axes, strict=True)]
    known = sorted({size for size in sizes if isinstance(size, int)})
    if not sizes or len(known) > 1:
        raise graph.TypeRuleError(f"scans over axes of sizes {known}")
    return known[0] if known else sizes[0]


def _part(x: ir.Value, axis: int, at: int | Dim) -> ir.Value:
    """``x[..., at, ...]``."""
    shape = graph.type_of(x).shape
    starts: list[int | Dim] = [0] * len(shape)
    starts[axis] = at
    sizes = [1 if i == axis else size for i, size in enumerate(shape)]
    part = graph.slice_(x, starts=starts, sizes=sizes, steps=[1] * len(shape))
    return graph.reshape(part, shape=[size for i, size in enumerate(shape) if i != axis])


def _placed(y: ir.Value, axis: int, reverse: int) -> ir.Value:
    """What was stacked along the first axis, in the order and at the axis that are wanted."""
    type_ = graph.type_of(y)
    if reverse:
        starts: list[int | Dim] = [0] * type_.rank
        starts[0] = maximum(type_.shape[0] - 1, 0)
        steps = [-1] + [1] * (type_.rank - 1)
        y = graph.slice_(y, starts=starts, sizes=type_.shape, steps=steps)
    axis = normalize_axis(axis, type_.rank)
    perm = list(range(1, type_.rank))
    perm.insert(axis, 0)
    return graph.transpose(y, perm=perm)


@onnx_op("Scan", since=8)
def scan_8(lengths=None, *inputs, node, body, num_scan_inputs, directions=()):
    """A scan per row of a batch, which is the first axis of all inputs and outputs.

    Shorter rows, `lengths`, would leave part of the outputs undefined.
    """
    if lengths is not None:
        raise UnsupportedError("sequence_lens")
    batch = graph.type_of(inputs[0]).shape[0]

    def iterate(index: Dim) -> graph.Iteration:
        rows = [_part(x, 0, index) for x in inputs]
        values = scan(
            *rows,
            node=node,
            body=body,
            num_scan_inputs=num_scan_inputs,
            scan_input_directions=directions,
        )
        return graph.Iteration(None, [], values)

    return graph.loop([], iterate, node.fresh_name, batch)
