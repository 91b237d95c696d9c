"""Findings that one build of a loop leaves to the next: loops are built several times."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...mlir import ir
from ..symbolic import Dim
from .base import GraphOp, graph_op
from .casts import CastOp
from .shapes import BindSizesOp
from .symbolic_values import EXACT, known_sizes, may_hold_sizes
from .trip_count import InductionVariable, Size, first_bounds, induction_variables
from .types import is_integer, type_of

IterationFacts = Callable[[Dim], list[Size]]
"""Sizes that are 0 at least in an iteration, given its number."""


@dataclass
class LoopHistory:
    """Findings about a loop that hold for all builds of it."""

    varying: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    """Sizes that change between iterations, each as the number of a carried value and an axis, -1
    being the last one."""
    steps: dict[int, int] = field(default_factory=dict[int, int])
    """By how much each induction variable grows in an iteration."""
    dtype: np.dtype | None = None
    """The float type in which positions are computed, if there is one."""
    refuted: set[int] = field(default_factory=set[int])
    """Carried values that were taken for induction variables, and are none in every build."""

    def variables(self, initial: Sequence[ir.Value]) -> dict[int, InductionVariable]:
        """The induction variables of a loop that starts with `initial`, by number."""
        starts = {number: known_sizes(initial[number]) for number in self.steps}
        return {
            number: InductionVariable(start[0], self.steps[number])
            for number, start in starts.items()
            if start is not None
        }

    def note_steps(
        self,
        block: ir.Block,
        initial: Sequence[ir.Value],
        yielded: Sequence[ir.Value],
        expected: Mapping[int, InductionVariable],
        iteration: Dim,
        count: Size | None,
    ) -> bool:
        """Note the induction variables of `block`, in which the `expected` ones are computed from
        the number of the iteration, of `count` (None: any number). Return whether one of them is
        none."""
        wrong = {
            number
            for number, variable in expected.items()
            if known_sizes(yielded[number]) != (variable.at(iteration + 1),)
        }
        self.refuted |= wrong
        for number in wrong:
            del self.steps[number]
        for number, variable in induction_variables(block, initial, yielded, count).items():
            if number not in self.refuted:
                self.steps[number] = variable.step
        return bool(wrong)


def guessed_facts(
    history: LoopHistory, initial: Sequence[ir.Value], condition: ir.Value | None
) -> IterationFacts | None:
    """Facts of iterations while the `condition` of the first one continues to hold for an induction
    variable that grows or falls: exporters write it twice."""
    steps = {abs(variable.step) for variable in history.variables(initial).values()}
    bounds = first_bounds(condition)
    if len(steps) != 1 or 0 in steps or not bounds:
        return None
    (step,) = steps
    bounds = [bound.computed_in(history.dtype) for bound in bounds]
    return lambda iteration: [fact for bound in bounds for fact in bound.facts(step, iteration)]


def binds_sizes(block: ir.Block) -> bool:
    """Return whether ops in `block` name sizes that are computed from data."""
    return any(isinstance(op, BindSizesOp) for op in _ops_in(block))


def dtype_of_positions(block: ir.Block) -> np.dtype | None:
    """The float type from which ops in `block` convert a few numbers to integers; None if they
    convert none."""
    for op in _ops_in(block):
        if isinstance(op, CastOp) and is_integer(op.to):
            type_ = type_of(op.x)
            if type_.dtype in EXACT and may_hold_sizes(type_):
                return type_.dtype
    return None


def _ops_in(block: ir.Block) -> Iterator[GraphOp | None]:
    for operation in block.operations:
        yield graph_op(operation)
        for region in operation.operation.regions:
            for inner in region.blocks:
                yield from _ops_in(inner)
