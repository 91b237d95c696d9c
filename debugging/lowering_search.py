"""The op whose code is wrong, in programs that are right in numpy."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dialects.graph.interpreter import Recording
from ..dialects.locations import node_name
from ..mlir import ir
from .checks import Compiled
from .culprit import Culprit, Log, Program, first_wrong
from .programs import body, operations, part


class LoweringSearch:
    """Looks for what is wrong once compiled: first among the passes, then among the ops."""

    def __init__(self, programs: Sequence[Program], check: Compiled, log: Log):
        self._programs = programs
        self._check = check
        self._log = log

    def run(self) -> Culprit | None:
        """The first pass after which the code is wrong, and the first op in it that is."""
        problem = self._check(self._programs[-1].module)
        self._log(f"compiled: {problem or 'right'}")
        if problem is None:
            return None
        index, problem = first_wrong(
            self._programs, lambda each: self._check(each.module), self._log_program
        )
        program = self._programs[index]
        step = program.step
        op, alone, problem = self._first_op(program.module, problem)
        return Culprit(
            "lowering", problem, step.pass_.name if step else "", program.position,
            op=op.operation.name, nodes=node_name(op), alone=alone,
        )  # fmt: skip

    def _first_op(self, module: Any, problem: str) -> tuple[Any, bool, str]:
        """The first op of `module` with which its beginning is wrong."""
        ops = operations(module)
        values = self._values(module)

        def wrong(count: int) -> str | None:
            cut = part(module, range(count))
            return self._check.on(cut.module, [values[value] for value in cut.arguments])

        def log(count: int, found: str | None) -> None:
            self._log(f"the first {count} of {len(ops)} ops: {found or 'right'}")

        count, problem = first_wrong([*_computing(ops)], wrong, log)
        last = [*_computing(ops)][count] - 1
        single = part(module, [last])
        alone = self._check.on(single.module, [values[value] for value in single.arguments])
        self._log(f"{ops[last].operation.name} by itself: {alone or 'right'}")
        return ops[last], alone is not None, alone or problem

    def _values(self, module: Any) -> dict[ir.Value, np.ndarray]:
        evaluation = Recording(None)
        with module.context, ir.Location.unknown():
            evaluation.bind_arguments(body(module).arguments, self._check.inputs)
            evaluation.run(body(module))
        return dict(evaluation.values)

    def _log_program(self, program: Program, problem: str | None) -> None:
        name = program.step.pass_.name if program.step else "import"
        self._log(f"compiled after pass {program.position} ({name}): {problem or 'right'}")


def _computing(ops: Sequence[Any]) -> list[int]:
    """How many ops to take so that the last one computes something."""
    return [
        index + 1
        for index, op in enumerate(ops)
        if op.operation.name != "graph.constant" and len(op.operation.results)
    ]
