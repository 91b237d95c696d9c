"""If, Loop and Scan: operators with subgraphs."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from onnx import GraphProto

from ....dialects import graph
from ....dialects.symbolic import Dim, maximum
from ....errors import InvalidModelError
from ....mlir import ir
from ..importing.choices import is_contradiction
from ..importing.listed_sequences import declared_rank
from ..importing.registry import Node, UnsupportedError, onnx_op
from .evaluation import computed
from .shapes import normalize_axis, require_answer, require_sizes


@onnx_op("If")
def if_(condition, *, node, then_branch, else_branch):
    """A known condition selects its branch at import.

    A branch that cannot run for its operands' types is none: what takes it has no result. Nor is
    one whose results have a rank that what follows cannot take. Leading axes of size 1 that only
    the results of one branch have are dropped where nothing sees them.
    """
    condition = _scalar(condition)
    known = _known(condition)
    if known is not None:
        return node.import_subgraph(then_branch if known else else_branch)
    branches = {True: then_branch, False: else_branch}
    then_body, else_body = (partial(_branch, branches, at, node) for at in branches)
    try:
        return graph.if_(condition, then_body, else_body, node.fresh_name, _of_any_rank(node))
    except _BranchError as error:
        taken, reason = not error.at, f"the branch that is taken cannot run: {error.__cause__}"
    except graph.RankError as error:
        taken, reason = node.choose("the condition holds", _compared(condition)), str(error)
        if taken is None:
            raise UnsupportedError(reason) from error
        reason = f"{reason}, and what follows takes the one of the other branch alone"
    require_answer(condition, taken, reason)
    return node.import_subgraph(branches[taken])


_LOOP_INPUTS = 2
"""Inputs of a Loop, and of its body, before the carried values."""


def _of_any_rank(node: Node, body: GraphProto | None = None) -> graph.AnyRank:
    """Decides for results of `node` whether nothing sees their leading axes of size 1, in `body` of
    a Loop either, which carries them."""

    def any_rank(index: int, rank: int) -> bool:
        names = [] if body is None else [body.input[_LOOP_INPUTS + index].name]
        if node.wants(index):
            names.append(node.outputs[index])
        return not node.shows_rank(names, rank)

    return any_rank


def _compared(condition: ir.Value) -> tuple[int | Dim, int | Dim] | None:
    """Two sizes of which `condition` says that they are equal, if it is of this kind."""
    op = graph.graph_op(condition.owner)
    while isinstance(op, graph.ReshapeOp | graph.CastOp):
        op = graph.graph_op(op.x.owner)
    if op is None or not isinstance(op, graph.EqualOp):
        return None
    sides = [graph.known_sizes(each) for each in op.operation.operands]
    if any(side is None or len(side) != 1 for side in sides):
        return None
    (a,), (b,) = sides  # type: ignore[misc]
    return a, b


def _known(condition: ir.Value) -> bool | None:
    """The value of `condition` if sizes or constants determine it, else None."""
    sizes = graph.known_sizes(condition)
    if sizes is not None and not isinstance(sizes[0], Dim):
        return bool(sizes[0])
    array = computed(condition)
    return None if array is None else bool(array)


class _BranchError(Exception):
    """The branch that is taken where the condition is `at` cannot be right."""

    def __init__(self, at: bool):
        super().__init__(at)
        self.at = at


def _branch(branches: Mapping[bool, GraphProto], at: bool, node: Node) -> list[ir.Value]:
    told = node.answers_told()
    try:
        return node.import_subgraph(branches[at])
    except InvalidModelError as error:
        if not is_contradiction(error) or node.answers_told() > told:
            raise  # of a branch that an answer contradicts, the answer is wrong
        raise _BranchError(at) from error


@onnx_op("Loop")
def loop(trip_count=None, condition=None, *initial, node, body):
    """Inside an iteration the condition holds: it would not run otherwise."""
    if any(value is None for value in initial):
        raise graph.TypeRuleError("a loop-carried value is left out")
    limit = graph.UNLIMITED if trip_count is None else _trip_count(trip_count, node)

    def iterate(index: Dim, *carried: ir.Value) -> graph.Iteration:
        number = graph.size_scalar(index)
        if rank := declared_rank(body.input[0]):
            number = graph.reshape(number, shape=[1] * rank)
        holds = graph.constant(value=np.full([1] * declared_rank(body.input[1]), True))
        goes_on, *values = node.import_subgraph(body, [number, holds, *carried])
        count = len(carried)
        return graph.Iteration(_scalar(goes_on), values[:count], values[count:])

    condition = None if condition is None else _scalar(condition)
    known = condition is None or _known(condition)
    if known is not None:
        limit, condition = limit if known else 0, None
    any_rank = _of_any_rank(node, body)
    for number, step in _counter_steps(initial, node, body):
        if number not in node.loop_history.refuted:
            node.loop_history.steps.setdefault(number, step)
    with _of_one_rank():
        return graph.loop(
            initial, iterate, node.fresh_name, limit, condition, node.loop_history, any_rank
        )


def _counter_steps(
    initial: Sequence[ir.Value], node: Node, body: GraphProto
) -> Iterator[tuple[int, int]]:
    """Carried integers to which the `body` of a Loop adds a constant, by number, and that constant:
    what a first import that knows no counters would refuse may depend on them."""
    makers = {name: each for each in body.node for name in each.output}
    pairs = zip(body.input[_LOOP_INPUTS:], body.output[1:], strict=False)
    for number, (before, after) in enumerate(pairs):
        add = makers.get(after.name)
        if add is None or add.op_type != "Add" or before.name not in add.input:
            continue
        name = next((each for each in add.input if each != before.name), before.name)
        while name in makers and makers[name].op_type in ("Identity", "CastLike"):
            name = makers[name].input[0]
        type_ = graph.type_of(initial[number])
        if name in makers or type_.rank or not np.issubdtype(type_.dtype, np.integer):
            continue
        with contextlib.suppress(UnsupportedError):
            step = node.lookup(name)
            known = graph.known_sizes(step)
            if known is not None and isinstance(known[0], int) and not graph.type_of(step).rank:
                yield number, known[0]


@contextlib.contextmanager
def _of_one_rank() -> Iterator[None]:
    """Ranks that the run decides are ONNX, if not for tensor programs."""
    try:
        yield
    except graph.RankError as error:
        raise UnsupportedError(str(error)) from error


def _scalar(condition: ir.Value) -> ir.Value:
    type_ = graph.type_of(condition)
    if type_.dtype != np.bool_:
        raise graph.TypeRuleError(f"a condition is one bool, not {type_}")
    return graph.reshape(condition, shape=[]) if type_.rank else condition


def _trip_count(value: ir.Value, node: Node) -> int | Dim:
    """The number of iterations; below 0 it is 0."""
    known = graph.known_sizes(value)
    if known is None:
        value = graph.max_(value, graph.splat_like(0, value))
        known = require_sizes(value, node, "trip_count")
    return maximum(known[0], 0)


@onnx_op("ConcatFromSequence", since=11)
def concat_from_sequence(rounds, *, axis):
    """The tensors that a Loop appends to a sequence, joined along an axis; `rounds` are the results
    of its iterations, which stand for the sequence (`importing.stacked_sequences`)."""
    loop, (count, *shape) = graph.graph_op(rounds.owner), graph.type_of(rounds).shape
    inner = loop.own_names if isinstance(loop, graph.ForOp | graph.WhileOp) else frozenset()
    if any(isinstance(size, Dim) and size.symbols() & inner for size in shape):
        raise UnsupportedError("elements of the sequence may differ in size")
    axis = normalize_axis(axis, len(shape))
    shape[axis] = count * shape[axis]
    return graph.reshape(_arranged(rounds, axis, reverse=0), shape=shape)


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
    initial, scanned = _parted(inputs, num_scan_inputs)
    axes = [
        normalize_axis(axis, graph.type_of(x).rank)
        for x, axis in zip(scanned, scan_input_axes or [0] * len(scanned), strict=True)
    ]
    length = _scan_length(scanned, axes)
    slices = list(zip(scanned, axes, scan_input_directions or [0] * len(scanned), strict=True))
    results = _scanned(initial, slices, length, node, body)
    count = len(initial)
    stacks = results[count:]
    outputs = zip(
        stacks,
        scan_output_axes or [0] * len(stacks),
        scan_output_directions or [0] * len(stacks),
        strict=True,
    )
    return [*results[:count], *(_arranged(y, axis, reverse) for y, axis, reverse in outputs)]


def _parted(inputs: Sequence[ir.Value], scanned: int) -> tuple[list[ir.Value], list[ir.Value]]:
    """Split `inputs` into carried values and scanned ones."""
    count = len(inputs) - scanned
    if count < 0:
        raise graph.TypeRuleError(f"{scanned} scanned inputs of {len(inputs)}")
    return list(inputs[:count]), list(inputs[count:])


def _scanned(
    initial: Sequence[ir.Value],
    slices: Sequence[tuple[ir.Value, int, int]],
    length: int | Dim,
    node: Node,
    body: GraphProto,
) -> list[ir.Value]:
    """`length` iterations over `slices`: a value, its axis, and whether it is read backwards."""
    count = len(initial)

    def iterate(index: Dim, *carried: ir.Value) -> graph.Iteration:
        parts = [
            _part(x, axis, length - 1 - index if reverse else index) for x, axis, reverse in slices
        ]
        values = node.import_subgraph(body, [*carried, *parts])
        return graph.Iteration(None, values[:count], values[count:])

    return graph.loop(initial, iterate, node.fresh_name, length, history=node.loop_history)


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


def _arranged(y: ir.Value, axis: int, reverse: int) -> ir.Value:
    """Move the first axis of `y`, along which results were stacked, to `axis`; reverse it if
    asked."""
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

    Rows may be shorter, `lengths`; what they do not fill of the outputs is 0.
    """
    initial, scanned = _parted(inputs, num_scan_inputs)
    backwards = directions or [0] * len(scanned)
    longest = _scan_length(scanned, [1] * len(scanned))
    batch = graph.type_of(scanned[0]).shape[0]
    if lengths is not None:
        lengths = graph.cast(lengths, to=np.int64)
        fits = graph.less_or_equal(lengths, graph.size_scalar(longest))
        fits = graph.reduce_min(fits, axes=[0], keepdims=False)
        graph.require(fits, message=f"a sequence is longer than {longest}")

    def iterate(index: Dim) -> graph.Iteration:
        length = longest
        if lengths is not None:
            (length,) = require_sizes(_part(lengths, 0, index), node, "length")
        rows = [_part(x, 0, index) for x in scanned]
        slices = [(x, 0, reverse) for x, reverse in zip(rows, backwards, strict=True)]
        states = [_part(x, 0, index) for x in initial]
        values = _scanned(states, slices, length, node, body)
        count = len(states)
        stacks = [_filled(y, longest) for y in values[count:]]
        return graph.Iteration(None, [], [*values[:count], *stacks])

    return graph.loop([], iterate, node.fresh_name, batch)


def _filled(y: ir.Value, length: int | Dim) -> ir.Value:
    """`y` with zeros behind it, up to `length`."""
    first, *rest = graph.type_of(y).shape
    low, high = [0] * (len(rest) + 1), [length - first, *[0] * len(rest)]
    return y if first == length else graph.pad(y, graph.splat_like(0, y), low=low, high=high)
