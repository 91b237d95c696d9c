"""Rewrites held to what they claim: the same results before and after.

The function is evaluated in numpy on drawn inputs, once, when the first rewrite fires in it. From
then on each firing costs the evaluation of what it built.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dialects import graph
from ..dialects.graph.drawing import draw_inputs
from ..dialects.graph.interpreter import Evaluation, used_values
from ..dialects.locations import node_name
from ..errors import GraphcError, RewriteCheckError
from ..mlir import ir
from .report import RewriteStatistics
from .rewrite import Rewrite

BOUNDS = {"float64": 1e-11, "float32": 1e-5, "float16": 1e-2, "bfloat16": 6e-2}
"""How far results may move by rounding, relative to the largest; other types must agree."""

INSIDE = "it is inside a region"


class RewriteChecker:
    """Evaluates what rewrites within `function` replace, and what they replace it by."""

    def __init__(self, function: Any):
        self.function = function
        self.evaluation: Evaluation | None = None
        self.problem = ""
        """Why the function cannot be evaluated."""

    def check(
        self,
        rewrite: Rewrite,
        op: Any,
        values: Sequence[ir.Value],
        pending: ir.Location,
        statistics: RewriteStatistics,
    ) -> None:
        """RewriteCheckError unless `values`, which replace `op`, are what its results are.

        What the rewrite built is located at `pending`. Where nothing can be said, `statistics`
        gets the reason.
        """
        node, results = node_name(op), list(op.operation.results)
        evaluation = self._begin()
        reason = self.problem
        if evaluation is not None and any(result not in evaluation.values for result in results):
            reason = INSIDE
        if evaluation is None or reason:
            statistics.unchecked.setdefault(reason, []).append(node)
            return
        before = [evaluation.values[result] for result in results]
        for built in _built(values, pending):
            evaluation.step(built)
        for old, value in zip(before, values, strict=True):
            _compare(rewrite, node, old, evaluation.values[value])
        statistics.checked += 1

    def _begin(self) -> Evaluation | None:
        """The evaluation of the function as it was when the first rewrite fired."""
        if self.evaluation is None and not self.problem:
            try:
                self.evaluation = _evaluate(self.function)
            except GraphcError as error:
                self.problem = f"the program has no value on drawn inputs ({error})"
        return self.evaluation


def _evaluate(function: Any) -> Evaluation:
    block = function.regions[0].blocks[0]
    evaluation = Evaluation(None)
    evaluation.bind_arguments(block.arguments, draw_inputs(map(graph.type_of, block.arguments)))
    evaluation.run(block)
    return evaluation


def _built(values: Iterable[ir.Value], pending: ir.Location) -> Iterator[Any]:
    """The ops behind `values` that the rewrite built, operands before users."""
    done: set[ir.Value] = set()

    def visit(value: ir.Value) -> Iterator[Any]:
        owner = value.owner
        if isinstance(owner, ir.Block) or owner.operation.location != pending:
            return
        operation = owner.operation
        if operation.results[0] in done:
            return
        done.add(operation.results[0])
        for operand in used_values(operation):
            yield from visit(operand)
        yield operation

    for value in values:
        yield from visit(value)


def _compare(rewrite: Rewrite, node: str, before: np.ndarray, after: np.ndarray) -> None:
    bound = BOUNDS.get(before.dtype.name, 0.0) if rewrite.bound is None else rewrite.bound
    difference = _difference(before, after)
    if difference > bound:
        raise RewriteCheckError(
            f"rewrite '{rewrite.name}' at '{node}' changes the result by {difference:.2g} of its "
            f"largest value (allowed: {bound:g}), evaluated with inputs drawn at random",
            rewrite=rewrite.name, node=node, difference=difference,
        )  # fmt: skip


def _difference(before: np.ndarray, after: np.ndarray) -> float:
    """The largest difference over the largest value; infinite where one is no number."""
    if before.size == 0 or np.array_equal(before, after):
        return 0.0
    kind = np.complex128 if np.iscomplexobj(before) else np.float64
    old, new = before.astype(kind), after.astype(kind)
    finite = np.isfinite(old)
    if not (
        np.array_equal(old[~finite], new[~finite], equal_nan=True)
        and np.isfinite(new[finite]).all()
    ):
        return float("inf")
    scale = np.abs(old[finite]).max(initial=0.0)
    return float(np.abs(old - new)[finite].max(initial=0.0) / (scale or 1.0))
