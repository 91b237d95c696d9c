"""Model of the backend's schedule: fused ops form a dispatch, and dispatches run concurrently."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ...dialects import graph
from ...mlir import ir
from ..graph_to_linalg.concat_kernel import is_joined_by_kernel
from ..graph_to_linalg.lowering import Fusion, fusion_of
from .liveness import LiveBuffer, Liveness, LivenessStep

Key = tuple[int, int]
"""The index of a step, and that of a dispatch within it."""
K = TypeVar("K")


def dispatched_buffers(
    function: Any, found: Liveness, side_by_side: bool = True
) -> list[LiveBuffer]:
    """The buffers of `found`, the liveness of `function`, that the backend allocates.

    Values passed between ops within a dispatch have no buffer, nor have operands that are computed
    in place within the result of a concat. The steps of the result are stages of dispatches that
    run concurrently or, without `side_by_side`, those of `found`.
    """
    ops = [op.operation for op in function.regions[0].blocks[0].operations]
    fused, buffers = _in_place(_fused(found, ops), found.buffers, ops)
    steps = {
        (number, part): dispatch
        for number, step in fused.items()
        for part, dispatch in enumerate(_dispatches(step, graph.graph_op(ops[step.position])))
    }
    when = _concurrency_groups(steps) if side_by_side else {key: at for at, key in enumerate(steps)}
    ends: dict[int, int] = {}
    for key, step in steps.items():
        for read in step.reads:
            ends[read] = max(ends.get(read, 0), when[key])
    crowded = {at for at, count in Counter(when.values()).items() if count > 1}
    allocated: list[LiveBuffer] = []
    for number, buffer in buffers.items():
        if buffer.kind == "output":
            allocated.append(buffer)
        elif buffer.kind != "input" and (buffer.begin, 0) in when:
            begin = when[buffer.begin, 0]
            allocated.append(replace(buffer, begin=begin, end=max(begin, ends.get(number, 0))))

    def order(buffer: LiveBuffer) -> tuple[bool, int]:
        """The sort key of the backend: buffers that live in one stage of several dispatches come
        first."""
        momentary = buffer.begin == buffer.end and buffer.begin in crowded
        return not momentary, buffer.begin

    return sorted(allocated, key=order)


def _fused(found: Liveness, ops: Sequence[ir.Operation]) -> dict[int, LivenessStep]:
    """The steps by number, without those that are fused into their reader."""
    steps = dict(enumerate(found.steps))
    readers = _readers(steps)
    for number, step in enumerate(found.steps):
        if len(step.writes) != 1 or found.buffers[step.writes[0]].kind != "intermediate":
            continue
        users = readers.get(step.writes[0], set())
        if len(users) != 1:
            continue
        (user,) = users
        if not _joins(*(graph.graph_op(ops[each.position]) for each in (step, steps[user]))):
            continue
        moved = steps.pop(number).reads
        reads = {*steps[user].reads, *moved} - {step.writes[0]}
        steps[user] = replace(steps[user], reads=tuple(sorted(reads)))
        for read in moved:
            readers[read] = readers[read] - {number} | {user}
    return steps


def _in_place(
    steps: Mapping[int, LivenessStep], buffers: Sequence[LiveBuffer], ops: Sequence[ir.Operation]
) -> tuple[dict[int, LivenessStep], dict[int, LiveBuffer]]:
    """The steps and buffers, by number, where an operand that only a concat reads is written
    directly to the result of the concat, if its part of that is contiguous."""
    moved, kept = dict(steps), dict(enumerate(buffers))
    readers = _readers(steps)
    writers = {written: number for number, step in steps.items() for written in step.writes}
    for number, step in steps.items():
        if not _joins_concurrency_group(graph.graph_op(ops[step.position])):
            continue
        (result,) = step.writes
        for part in step.reads:
            writer = writers.get(part)
            if writer is None or readers[part] != {number} or buffers[part].kind == "output":
                continue
            if isinstance(graph.graph_op(ops[steps[writer].position]), graph.ConcatOp):
                continue  # it is copies
            writes = tuple(result if each == part else each for each in moved[writer].writes)
            moved[writer] = replace(moved[writer], writes=writes)
            moved[number] = replace(moved[number], reads=_without(moved[number].reads, part))
            kept[result] = replace(kept[result], begin=min(kept[result].begin, writer))
            del kept[part]
        if not moved[number].reads and len(step.reads) == len(ops[step.position].operands):
            del moved[number]
    return moved, kept


def _without(numbers: Sequence[int], one: int) -> tuple[int, ...]:
    return tuple(number for number in numbers if number != one)


def _joins_concurrency_group(op: graph.GraphOp | None) -> bool:
    """Return whether `op` is a concat of distinct operands, each a contiguous part of the
    result."""
    if not isinstance(op, graph.ConcatOp) or len(set(op.xs)) < len(op.xs):
        return False
    return all(size == 1 for size in graph.type_of(op.result).shape[: op.attrs["axis"]])


def _joins(op: graph.GraphOp | None, user: graph.GraphOp | None) -> bool:
    """Return whether the backend fuses `op` into the dispatch of `user`, its only reader."""
    if isinstance(user, graph.ConcatOp):
        return isinstance(op, graph.SliceOp) or (
            isinstance(op, graph.ConcatOp) and Fusion.PRODUCER in fusion_of(op)
        )
    return Fusion.PRODUCER in _fusion_of(op) and Fusion.CONSUMER in _fusion_of(user)


def _fusion_of(op: graph.GraphOp | None) -> Fusion:
    """How the backend fuses `op` with its neighbours."""
    if _is_elementwise(op):
        return Fusion.PRODUCER | Fusion.CONSUMER
    return Fusion.NONE if op is None else fusion_of(op)


def _is_elementwise(op: graph.GraphOp | None) -> bool:
    if isinstance(op, graph.FusedOp):
        return op.attrs["kind"] == "elementwise"
    return isinstance(op, graph.ElementwiseOp)


def _dispatches(step: LivenessStep, op: graph.GraphOp | None) -> list[LivenessStep]:
    """The dispatches of `step`, a step of `op`, in order: the copies of a concat without a kernel,
    each to its part of the result, or the fill of a border and the copy into its interior."""
    if isinstance(op, graph.ConcatOp) and step.reads and not is_joined_by_kernel(op):
        first, *others = step.reads
        copies = [replace(step, reads=(other, *step.writes)) for other in others]
        return [replace(step, reads=(first,)), *copies]
    if step.fills_border:
        return [replace(step, reads=()), replace(step, reads=(*step.reads, *step.writes))]
    return [step]


def _concurrency_groups(steps: dict[Key, LivenessStep]) -> dict[Key, int]:
    """The stage of each dispatch: the latest that the readers of its results allow."""
    readers = _readers(steps)
    left: dict[Key, int] = {}  # stages after that of a dispatch
    for key in reversed(steps):
        users = {user for written in steps[key].writes for user in readers.get(written, ())}
        left[key] = max((1 + left[user] for user in users if user > key), default=0)
    most = max(left.values(), default=0)
    return {key: most - behind for key, behind in left.items()}


def _readers(steps: Mapping[K, LivenessStep]) -> dict[int, set[K]]:
    """The steps that read each buffer."""
    readers: dict[int, set[K]] = {}
    for key, step in steps.items():
        for read in step.reads:
            readers.setdefault(read, set()).add(key)
    return readers
