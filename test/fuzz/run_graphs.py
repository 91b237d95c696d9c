"""Check many graphs, batch by batch, in processes that may crash."""

import gc
import logging
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from graphc.errors import BackendError
from harness.compiled_together import in_place, run_together
from harness.isolation import Lost, call_each
from harness.waiting_call import WaitingCall

from .backend_failures import kept_failures
from .batches import Batch, BatchEnding, in_batches
from .check_graph import Check, CheckResult, check_case, error_text, first_problem
from .draw import DrawnGraph, draw_case
from .draw_registry import QDQ, all_draws
from .graph_outcome import GraphOutcome, GraphStatus
from .qdq import check_qdq

MOST = 12
"""Maximum number of programs in a module."""
WINDOW = 400
"""Number of graphs after which those that are checked alone have had their turn, too."""
GRACE = 15.0
"""Seconds that a graph has beyond the backend timeout, for drawing and running it."""


def check_graphs(
    seed: int,
    indices: Iterable[int],
    *,
    jobs: int,
    timeout: float,
    options: Mapping[str, Any] | None = None,
    family: str | None = None,
) -> Iterator[GraphOutcome]:
    """Draw and check graphs of `seed` in batches, `jobs` at a time; yield outcomes as they arrive.

    Each graph has `timeout` seconds for the backend. `options` are further options of `compile`.
    With `family`, all graphs are of that family.
    """
    all_draws()  # imported once, before the processes are forked
    check = partial(check_batch, seed, timeout, options or {}, family=family)
    left = iter(indices)
    while chosen := list(islice(left, WINDOW)):
        yield from _check_window(check, chosen, jobs, timeout)


def _check_window(
    check: Callable[[Batch], BatchEnding], indices: Sequence[int], jobs: int, timeout: float
) -> Iterator[GraphOutcome]:
    """The outcomes of `indices`, checked in batches, and then alone where that is called for."""
    unclear: list[BatchEnding] = []
    for ended in _check_each(check, in_batches(indices, jobs), jobs, timeout):
        yield from ended.settled()
        if ended.suspects:
            unclear.append(ended)
    alone = [(index,) for ended in unclear for index in ended.suspects]
    found: dict[int, GraphOutcome] = {}
    for ended in _check_each(check, alone, jobs, timeout):
        found |= {each.index: each for each in ended.settled()}
    for ended in unclear:
        yield from ended.explained(found)


def _check_each(
    check: Callable[[Batch], BatchEnding], batches: Iterable[Batch], jobs: int, timeout: float
) -> Iterator[BatchEnding]:
    """Call `check` with `batches` in `jobs` processes."""
    by_size: dict[int, list[Batch]] = {}
    for batch in batches:
        by_size.setdefault(len(batch), []).append(batch)
    for size, alike in by_size.items():
        limit = size * (timeout + GRACE)
        for batch, ended in call_each(check, alike, jobs=jobs, timeout=limit):
            if isinstance(ended, Lost):
                status = GraphStatus.CRASH if ended.crashed else GraphStatus.HANG
                ended = BatchEnding(batch, (), status, ended.detail)
            yield ended


def check_graph(
    seed: int, timeout: float, options: Mapping[str, Any], index: int, family: str | None = None
) -> GraphOutcome:
    """Draw and check graph `index` of `seed` in this process."""
    (outcome,) = check_batch(seed, timeout, options, (index,), family).outcomes
    return outcome


@kept_failures()
def check_batch(
    seed: int, timeout: float, options: Mapping[str, Any], batch: Batch, family: str | None = None
) -> BatchEnding:
    """Draw and check the graphs of `batch` in this process; one graph is checked alone."""
    warnings.simplefilter("ignore")
    logging.getLogger("graphc").setLevel(logging.ERROR)
    start = time.perf_counter()
    cases = [draw_case(seed, index, family) for index in batch]
    checks = [checks_of(case, timeout, options) for case in cases]
    errors: list[BackendError] = []
    if len(batch) > 1:
        waiting = [[WaitingCall(check) for check in each] for each in checks]
        with in_place():
            errors = run_together([call for each in waiting for call in each], MOST)
        checks = [[call.result for call in each] for each in waiting]
    endings = [first_problem(each) for each in checks]
    gc.collect()
    seconds = (time.perf_counter() - start) / len(batch)
    outcomes = [describe(*each, seconds) for each in zip(cases, endings, strict=True)]
    if not errors:
        return BatchEnding(batch, outcomes)
    return BatchEnding(batch, outcomes, GraphStatus.ERROR, f"joint module: {error_text(errors[0])}")


def checks_of(case: DrawnGraph, timeout: float, options: Mapping[str, Any]) -> Iterable[Check]:
    """The checks of `case`, each by itself. The first problem is how the graph ends."""
    if case.family == QDQ:
        return check_qdq.checks_of(case, timeout, **options)
    return [partial(check_case, case, timeout, **options)]


def describe(case: DrawnGraph, ending: CheckResult, seconds: float) -> GraphOutcome:
    """The outcome of `case`, with its operators, types and rejected draws."""
    nodes = list(case.nodes())
    arrays = [*case.feeds.values(), *case.expected.values()]
    return GraphOutcome(
        case.index,
        ending.status,
        ending.detail,
        len(nodes),
        sorted({node.op_type for node in nodes}),
        sorted({array.dtype.name for array in arrays}),
        case.model.opset_import[0].version,
        case.reference,
        case.rejected,
        seconds,
        ending.inputs,
        ending.alone,
    )
