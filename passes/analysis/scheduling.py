"""Schedules of the ops of a block, and the peak memory of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...dialects import graph
from ...mlir import ir
from .liveness import Liveness, LivenessStep, operands_of


@dataclass(frozen=True)
class Problem:
    """The ops of a block by number: their dependences, and the buffers they read and write.

    `needed` are the ops that must come before each, in ascending order. Steps are those of
    `Liveness`; ops that only give another view of a tensor have empty ones.
    """

    ops: Sequence[ir.Operation]
    needed: Sequence[Sequence[int]]
    steps: Sequence[LivenessStep]
    sizes: Sequence[int]
    """Bytes by buffer, 0 for those that live the whole time: inputs and outputs."""
    held: int
    """Bytes of the outputs."""

    def peak(self, order: Sequence[int]) -> int:
        """The peak bytes of an order, outputs included."""
        left = _readers(self.steps, len(self.sizes))
        live, most = self.held, self.held
        for number in order:
            step = self.steps[number]
            live += sum(self.sizes[buffer] for buffer in step.writes)
            most = max(most, live + step.scratch)
            live -= _freed(step, left, self.sizes)
            for buffer in step.reads:
                left[buffer] -= 1
        return most


def make_problem(block: ir.Block, found: Liveness) -> Problem:
    """The ops of `block` without constants and terminator; `found` is its liveness."""
    steps = _steps_by_position(found)
    numbers: dict[ir.Value, int] = {}
    ops: list[ir.Operation] = []
    needed: list[list[int]] = []
    barrier = -1
    chosen: list[LivenessStep] = []
    for position, each in enumerate(list(block.operations)[:-1]):
        op = each.operation
        if op.name == "graph.constant":
            continue
        before = {numbers[value] for value in operands_of(op) if value in numbers}
        if barrier >= 0:
            before.add(barrier)
        if _is_barrier(op):
            before.update(range(barrier + 1, len(ops)))
            barrier = len(ops)
        numbers.update(dict.fromkeys(op.results, len(ops)))
        ops.append(op)
        needed.append(sorted(before))
        chosen.append(steps.get(position, LivenessStep("", position, (), ())))
    sizes = [buffer.bytes if buffer.kind == "intermediate" else 0 for buffer in found.buffers]
    held = sum(buffer.bytes for buffer in found.buffers if buffer.kind == "output")
    return Problem(ops, needed, chosen, sizes, held)


def _steps_by_position(found: Liveness) -> dict[int, LivenessStep]:
    """The step of each op; several steps of one op are merged."""
    steps: dict[int, LivenessStep] = {}
    for step in found.steps:
        before = steps.get(step.position)
        if before is not None:
            between = sum(found.buffers[number].bytes for number in before.writes)
            reads = sorted({*before.reads, *step.reads} - {*before.writes})
            step = replace(step, reads=tuple(reads), scratch=between + step.scratch)
        steps[step.position] = step
    return steps


def best_order(problem: Problem) -> tuple[list[int], int]:
    """The order with the lowest peak among those that are tried, and its peak."""
    candidates = [strategy(problem) for strategy in STRATEGIES]
    peaks = [problem.peak(order) for order in candidates]
    least = min(peaks)
    return candidates[peaks.index(least)], least


def as_it_stands(problem: Problem) -> list[int]:
    """The order of the program."""
    return list(range(len(problem.ops)))


def freeing_first(problem: Problem) -> list[int]:
    """Greedy: always run the ready op that increases the live set the least."""
    users: list[list[int]] = [[] for _ in problem.ops]
    waits = [len(needed) for needed in problem.needed]
    for number, needed in enumerate(problem.needed):
        for before in needed:
            users[before].append(number)
    left = _readers(problem.steps, len(problem.sizes))
    ready = [number for number, count in enumerate(waits) if not count]

    def growth(number: int) -> tuple[int, int]:
        step = problem.steps[number]
        written = sum(problem.sizes[buffer] for buffer in step.writes)
        return written - _freed(step, left, problem.sizes), number

    order: list[int] = []
    while ready:
        number = min(ready, key=growth)
        ready.remove(number)
        order.append(number)
        for buffer in problem.steps[number].reads:
            left[buffer] -= 1
        for user in users[number]:
            waits[user] -= 1
            if not waits[user]:
                ready.append(user)
    return order


def deepest_first(problem: Problem) -> list[int]:
    """Depth-first; visit first the operand whose peak exceeds its result size the most (Sethi and
    Ullman, 1970, for trees of any sizes)."""
    weight = [sum(problem.sizes[buffer] for buffer in step.writes) for step in problem.steps]
    most = [0] * len(weight)
    sorted_needs: list[list[int]] = []
    for number, needed in enumerate(problem.needed):
        first = sorted(needed, key=lambda before: weight[before] - most[before])
        sorted_needs.append(first)
        held = 0
        for before in first:
            most[number] = max(most[number], held + most[before])
            held += weight[before]
        most[number] = max(most[number], held + weight[number] + problem.steps[number].scratch)
    used = {before for needed in problem.needed for before in needed}
    order: dict[int, None] = {}
    for end in range(len(weight)):
        if end not in used:
            _visit(end, sorted_needs, order)
    return list(order)


def _visit(end: int, needed: Sequence[Sequence[int]], order: dict[int, None]) -> None:
    """Add `end` to `order`, after those of its dependences that are not there yet."""
    waiting = [(end, iter(needed[end]))]
    while waiting:
        number, rest = waiting[-1]
        following = next((before for before in rest if before not in order), None)
        if following is None:
            waiting.pop()
            order[number] = None
        else:
            waiting.append((following, iter(needed[following])))


STRATEGIES: tuple[Callable[[Problem], list[int]], ...] = (
    as_it_stands,
    freeing_first,
    deepest_first,
)


def _readers(steps: Sequence[LivenessStep], buffers: int) -> list[int]:
    """The number of steps that read each buffer."""
    count = [0] * buffers
    for step in steps:
        for buffer in step.reads:
            count[buffer] += 1
    return count


def _freed(step: LivenessStep, left: Sequence[int], sizes: Sequence[int]) -> int:
    """The bytes of the buffers that die at `step`, where `left` readers of each buffer remain."""
    freed = sum(sizes[buffer] for buffer in step.reads if left[buffer] == 1)
    return freed + sum(sizes[buffer] for buffer in step.writes if not left[buffer])


def _is_barrier(op: Any) -> bool:
    """Return whether `op` has side effects, or binds names of sizes that other ops use."""
    if not graph.GraphOp.op_classes[op.name].pure:
        return True
    return "names" in op.attributes and bool(op.regions)
