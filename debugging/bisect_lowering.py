"""The op whose code is wrong, in programs that are right in numpy.

What is compiled is small wherever it can be: some ops of a program, on the values that the
interpreter gives them. First the last program is halved until few ops are left that are wrong by
themselves. Then, of each program that is looked at, only what stands for the same nodes of the
model is compiled. Where ops are wrong only together with all others, whole programs are.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..dialects.graph.interpreter import Recording
from ..dialects.locations import location_names, node_name
from ..mlir import ir
from .bisection_result import Culprit, Log, Program, first_wrong
from .checks import Compiled
from .programs import body, operations, part


class LoweringSearch:
    """Looks for what is wrong once compiled: first among the passes, then among the ops."""

    def __init__(self, programs: Sequence[Program], check: Compiled, log: Log):
        self._programs = programs
        self._check = check
        self._log = log
        self._interpreted = lru_cache(maxsize=2)(self._interpret)

    def run(self) -> Culprit | None:
        """The first pass after which the code is wrong, and the first op in it that is."""
        *_, last = self._programs
        problem = self._check(last.module)
        self._log(f"compiled: {problem or 'right'}")
        if problem is None:
            return None
        nodes = self._wrong_nodes(last)
        index, problem = first_wrong(
            self._programs, lambda each: self._problem(each, nodes), self._log_program
        )
        program = self._programs[index]
        step = program.step
        op, alone, problem = self._first_op(program, _computing(program, nodes))
        return Culprit(
            "lowering", problem, step.pass_.name if step else "", program.position,
            op=op.operation.name, nodes=node_name(op), alone=alone,
        )  # fmt: skip

    def _wrong_nodes(self, program: Program) -> frozenset[str]:
        """The nodes of the fewest ops in a row that are wrong by themselves; none where all are."""
        left = _computing(program)
        while len(left) > 1:
            middle = len(left) // 2
            halves = (left[:middle], left[middle:])
            wrong = next((half for half in halves if self._problem_of_ops(program, half)), None)
            if wrong is None:
                break
            left = wrong
            self._log(f"wrong among {len(left)} ops")
        ops = operations(program.module)
        nodes = frozenset(name for i in left for name in location_names(ops[i].operation.location))
        return nodes if self._problem(program, nodes) else frozenset()

    def _problem(self, program: Program, nodes: Collection[str]) -> str | None:
        """What is wrong with the code of those ops of `program` that stand for `nodes`."""
        return self._problem_of_ops(program, _computing(program, nodes))

    def _problem_of_ops(self, program: Program, kept: Collection[int]) -> str | None:
        cut = part(program.module, kept)
        values = self._interpreted(program)
        return self._check.on(cut.module, [values[value] for value in cut.arguments])

    def _first_op(self, program: Program, among: Sequence[int]) -> tuple[Any, bool, str]:
        """The first op of those `among` with which the ones before it are wrong."""
        ops = operations(program.module)

        def log(count: int, found: str | None) -> None:
            self._log(f"the first {count} of {len(among)} ops: {found or 'right'}")

        counts = range(1, len(among) + 1)
        index, problem = first_wrong(
            counts, lambda count: self._problem_of_ops(program, among[:count]), log
        )
        op = ops[among[index]]
        alone = self._problem_of_ops(program, [among[index]])
        self._log(f"{op.operation.name} by itself: {alone or 'right'}")
        return op, alone is not None, alone or problem

    def _interpret(self, program: Program) -> dict[ir.Value, np.ndarray]:
        evaluation, block = Recording(None), body(program.module)
        with program.module.context, ir.Location.unknown():
            evaluation.bind_arguments(block.arguments, self._check.inputs)
            evaluation.run(block)
        return dict(evaluation.values)

    def _log_program(self, program: Program, problem: str | None) -> None:
        name = program.step.pass_.name if program.step else "import"
        self._log(f"compiled after pass {program.position} ({name}): {problem or 'right'}")


def _computing(program: Program, nodes: Collection[str] = ()) -> list[int]:
    """The ops of `program` that compute something, for one of `nodes` where some are given."""
    computing = {
        index: op.operation
        for index, op in enumerate(operations(program.module))
        if op.operation.name != "graph.constant" and len(op.operation.results)
    }
    chosen = [
        i for i, op in computing.items() if not set(nodes).isdisjoint(location_names(op.location))
    ]
    return chosen or list(computing)
