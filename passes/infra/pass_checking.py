"""Differential checks of whole passes: those whose rewrites are not checked one by one.

MLIR's own passes and ours that do not use the greedy driver are evaluated before and after.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dialects import graph
from ...dialects.graph.interpreter import Evaluation
from ...dialects.locations import node_name
from ...errors import GraphcError, RewriteCheckError
from .base import FUNCTION, Pass
from .checking import bound_of, evaluate_on, relative_difference
from .report import Report


class PassChecker:
    """Compares the functions of a program before and after each pass."""

    def __init__(self, report: Report):
        self._report = report
        self._checked, self._fired = self._counts()

    def check(self, pass_: Pass, before: Any, after: Any) -> None:
        """RewriteCheckError if `pass_` changed the results of a function beyond its bound.

        Nothing is done where its rewrites were checked when they fired.
        """
        checked, fired = self._counts()
        known, self._checked = checked > self._checked, checked
        fresh = {n: count - self._fired.get(n, 0) for n, count in fired.items()}
        fresh, self._fired = {n: count for n, count in fresh.items() if count}, fired
        if known:
            return
        previous = {_symbol(function): function for function in _functions(before)}
        for function in _functions(after):
            old = previous.get(_symbol(function))
            if old is not None and _is_graph(old) and _is_graph(function):
                self._compare(pass_, list(fresh), old, function)
        for name, count in fresh.items():
            if not self._report.rewrites[name].unchecked:
                self._report.rewrites[name].checked += count
        self._checked, _ = self._counts()

    def _counts(self) -> tuple[int, dict[str, int]]:
        rewrites = self._report.rewrites
        return sum(s.checked for s in rewrites.values()), {n: s.count for n, s in rewrites.items()}

    def _compare(self, pass_: Pass, rewrites: Sequence[str], old: Any, new: Any) -> None:
        pass_name = pass_.name
        types = [graph.type_of(argument) for argument in new.regions[0].blocks[0].arguments]
        statistics = self._report.statistics(rewrites[0] if rewrites else pass_name)
        try:
            before = evaluate_on(old, types)
        except GraphcError as error:
            reason = f"the program has no value on drawn inputs ({error})"
            statistics.unchecked.setdefault(reason, []).append(f"@{_symbol(new)}")
            return
        try:
            after = evaluate_on(new, types)
        except GraphcError as error:
            raise RewriteCheckError(
                f"after pass '{pass_name}' the program has no value on inputs drawn at random, "
                f"though it had: {error}",
                rewrite=pass_name, node=f"@{_symbol(new)}", difference=float("inf"),
            ) from error  # fmt: skip
        pairs = zip(_results(old, before), _results(new, after), strict=True)
        apart = [
            (relative_difference(was, now), pass_.bound or bound_of(was)) for was, now in pairs
        ]
        worst = max((moved for moved, bound in apart if moved > bound), default=None)
        if worst is not None:
            node = first_difference(old, before, new, after)
            by = f" (its rewrites: {', '.join(rewrites)})" if rewrites else ""
            raise RewriteCheckError(
                f"pass '{pass_name}'{by} changes the result by {worst:.2g} of its largest value, "
                f"evaluated with inputs drawn at random; the first op that differs is at '{node}'",
                rewrite=rewrites[0] if rewrites else pass_name, node=node, difference=worst,
            )  # fmt: skip


def first_difference(old: Any, before: Evaluation, new: Any, after: Evaluation) -> str:
    """The nodes of the first op of `new` that no op of these nodes in `old` agrees with."""
    known: dict[str, list[np.ndarray]] = {}
    for op in old.regions[0].blocks[0].operations:
        arrays = [before.values[result] for result in op.operation.results]
        known.setdefault(node_name(op), []).extend(arrays)
    for op in new.regions[0].blocks[0].operations:
        candidates = known.get(node_name(op), [])
        for result in op.operation.results:
            array = after.values[result]
            alike = [each for each in candidates if _alike(each, array)]
            if alike and all(relative_difference(e, array) > bound_of(array) for e in alike):
                return node_name(op)
    return node_name(list(new.regions[0].blocks[0].operations)[-1])


def _alike(a: np.ndarray, b: np.ndarray) -> bool:
    return (a.shape, a.dtype) == (b.shape, b.dtype)


def _results(function: Any, evaluation: Evaluation) -> list[np.ndarray]:
    *_, terminator = function.regions[0].blocks[0].operations
    return [evaluation.values[operand] for operand in terminator.operation.operands]


def _functions(module: Any) -> list[Any]:
    body = module.operation.regions[0].blocks[0]
    return [op for op in body.operations if op.operation.name == FUNCTION]


def _symbol(function: Any) -> str:
    return function.sym_name.value


def _is_graph(function: Any) -> bool:
    """Return whether `function` consists of graph ops, which can be evaluated in numpy."""
    if len(function.regions[0].blocks) != 1:
        return False
    *operations, _ = function.regions[0].blocks[0].operations
    return all(graph.graph_op(op) is not None for op in operations)
