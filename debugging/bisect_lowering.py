"""Search for the op with wrong code, in programs that are right in numpy.

Compiled programs are as small as possible: some ops of a program, with inputs from the interpreter.
First the last program is bisected down to the fewest ops that are wrong in isolation. Then, of each
program in the search, only the ops for the same nodes of the model are compiled. If ops are wrong
only together with all others, whole programs are compiled.
"""

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..dialects.graph.interpreter import Recording
from ..dialects.locations import location_names, node_name
from ..mlir import ir
from .bisection_result import BisectionResult, Log, PassSnapshot, first_wrong
from .checks import Compiled
from .programs import body, operations, subprogram


class LoweringSearch:
    """Searches for an error in compiled code: first among the passes, then among the ops."""

    def __init__(self, programs: Sequence[PassSnapshot], check: Compiled, log: Log):
        self._programs = programs
        self._check = check
        self._log = log
        self._interpreted = lru_cache(maxsize=2)(self._interpret)

    def run(self) -> BisectionResult | None:
        """Find the first pass after which compiled code is wrong, and its first wrong op."""
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
        return BisectionResult(
            "lowering", problem, step.pass_.name if step else "", program.position,
            op=op.operation.name, nodes=node_name(op), alone=alone,
        )  # fmt: skip

    def _wrong_nodes(self, program: PassSnapshot) -> frozenset[str]:
        """The nodes of the shortest run of ops that is wrong in isolation; empty if only the whole
        program is wrong."""
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

    def _problem(self, program: PassSnapshot, nodes: Collection[str]) -> str | None:
        """The problem in the compiled code of the ops of `program` for `nodes`, or None."""
        return self._problem_of_ops(program, _computing(program, nodes))

    def _problem_of_ops(self, program: PassSnapshot, kept: Collection[int]) -> str | None:
        cut = subprogram(program.module, kept)
        values = self._interpreted(program)
        return self._check.on(cut.module, [values[value] for value in cut.arguments])

    def _first_op(self, program: PassSnapshot, among: Sequence[int]) -> tuple[Any, bool, str]:
        """The first of the ops `among` that makes the sequence up to it wrong, whether it is wrong
        alone, and the problem."""
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

    def _interpret(self, program: PassSnapshot) -> dict[ir.Value, np.ndarray]:
        evaluation, block = Recording(None), body(program.module)
        with program.module.context, ir.Location.unknown():
            evaluation.bind_arguments(block.arguments, self._check.inputs)
            evaluation.run(block)
        return dict(evaluation.values)

    def _log_program(self, program: PassSnapshot, problem: str | None) -> None:
        name = program.step.pass_.name if program.step else "import"
        self._log(f"compiled after pass {program.position} ({name}): {problem or 'right'}")


def _computing(program: PassSnapshot, nodes: Collection[str] = ()) -> list[int]:
    """The ops of `program` other than constants; with `nodes`, those for one of them, if any."""
    computing = {
        index: op.operation
        for index, op in enumerate(operations(program.module))
        if op.operation.name != "graph.constant" and len(op.operation.results)
    }
    chosen = [
        i for i, op in computing.items() if not set(nodes).isdisjoint(location_names(op.location))
    ]
    return chosen or list(computing)
