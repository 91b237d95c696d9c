"""Differential checks of rewrites: the same results before and after.

The function is evaluated in numpy on drawn inputs when the first rewrite fires in it: with sizes
that are all different, and, if sizes are symbolic, once more with all of them one, since many bugs
only show on axes that broadcast. From then on each firing costs the evaluation of the ops that it
built.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.interpreter import Evaluation, Recording, used_values
from ...dialects.graph.random_inputs import random_inputs, random_sizes
from ...dialects.locations import node_name
from ...errors import GraphcError, RewriteCheckError
from ...mlir import ir
from .report import RewriteStatistics
from .rewrite import Rewrite

BOUNDS = {"float64": 1e-11, "float32": 1e-5, "float16": 1e-2, "bfloat16": 6e-2}
"""Error bounds by rounding, relative to the largest value; other types must agree exactly."""

INSIDE = "it is inside a region that is not reached"


class RewriteChecker:
    """Evaluates the values that rewrites within `function` replace, and their replacements."""

    def __init__(self, function: Any):
        self.function = function
        self.evaluations: list[Evaluation] = []
        self.problem = ""
        """The reason why the function cannot be evaluated; empty if it can."""

    def check(
        self,
        rewrite: Rewrite,
        op: Any,
        values: Sequence[ir.Value],
        pending: ir.Location,
        statistics: RewriteStatistics,
    ) -> None:
        """RewriteCheckError unless `values`, which replace `op`, equal its results.

        The ops that the rewrite built are located at `pending`. If they cannot be checked,
        `statistics` gets the reason.
        """
        node, results = node_name(op), list(op.operation.results)
        self._begin()
        reached = [e for e in self.evaluations if all(result in e.values for result in results)]
        if not reached:
            statistics.unchecked.setdefault(self.problem or INSIDE, []).append(node)
            return
        built = list(_built(values, pending))
        for evaluation in reached:
            before = [evaluation.values[result] for result in results]
            _evaluate_built(evaluation, built, rewrite, node)
            for old, value in zip(before, values, strict=True):
                _compare(rewrite, node, old, evaluation.values[value])
        statistics.checked += 1

    def _begin(self) -> None:
        """Evaluate the function as it is when the first rewrite fires."""
        if self.evaluations or self.problem:
            return
        types = [graph.type_of(a) for a in self.function.regions[0].blocks[0].arguments]
        try:
            self.evaluations.append(evaluate_on(self.function, types))
        except GraphcError as error:
            self.problem = f"the program has no value on drawn inputs ({error})"
            return
        ones = dict.fromkeys(random_sizes(types), 1)
        if ones:
            with suppress(GraphcError):  # not every program takes every size
                self.evaluations.append(evaluate_on(self.function, types, ones))


def evaluate_on(
    function: Any, types: Sequence[graph.TensorType], sizes: Mapping[str, int] | None = None
) -> Recording:
    """An evaluation of `function`, which keeps all its values, on inputs drawn for `types`."""
    block = function.regions[0].blocks[0]
    evaluation = Recording(None)
    with function.operation.context, ir.Location.unknown():
        evaluation.bind_arguments(block.arguments, random_inputs(types, sizes=sizes))
        evaluation.run(block)
    return evaluation


def _evaluate_built(
    evaluation: Evaluation, built: Iterable[Any], rewrite: Rewrite, node: str
) -> None:
    try:
        for operation in built:
            evaluation.step(operation)
    except GraphcError as error:
        raise RewriteCheckError(
            f"rewrite '{rewrite.name}' at '{node}' builds what has no value on inputs drawn at "
            f"random, though what it replaces has: {error}",
            rewrite=rewrite.name, node=node, difference=float("inf"),
        ) from error  # fmt: skip


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
    if rewrite.rank is not None and isinstance(before, graph.Shards):
        before = before.on(rewrite.rank)
    bound = bound_of(before) if rewrite.bound is None else rewrite.bound
    difference = relative_difference(before, after)
    if difference > bound:
        raise RewriteCheckError(
            f"rewrite '{rewrite.name}' at '{node}' changes the result by {difference:.2g} of its "
            f"largest value (allowed: {bound:g}), evaluated with inputs drawn at random",
            rewrite=rewrite.name, node=node, difference=difference,
        )  # fmt: skip


def bound_of(array: np.ndarray) -> float:
    """The default error bound for the values of `array`."""
    return BOUNDS.get(array.dtype.name, 0.0)


def relative_difference(before: np.ndarray, after: np.ndarray) -> float:
    """The largest difference over the largest value; infinite where one is no number."""
    if before.size == 0 or np.array_equal(before, after):
        return 0.0
    if before.shape != after.shape:  # the parts of several ranks, and a whole
        return float("inf")
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
