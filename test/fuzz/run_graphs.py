"""Check many graphs, each in a process of its own so that it cannot harm the others."""

import gc
import logging
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from harness.isolation import Lost, call_each

from .check_graph import CheckResult, check_case
from .draw import DrawnGraph, draw_case
from .draw_registry import QDQ, all_draws
from .graph_outcome import GraphOutcome, GraphStatus
from .qdq.check_qdq import check_qdq

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
    """Draw and check graphs of `seed`, `jobs` at a time; yield outcomes as they arrive.

    Each has `timeout` seconds for the backend. `options` are further options of `compile`. With
    `family`, all graphs are of that family.
    """
    all_draws()  # imported once, before the processes are forked
    check = partial(check_graph, seed, timeout, options or {}, family=family)
    for index, ended in call_each(check, indices, jobs=jobs, timeout=timeout + GRACE):
        if isinstance(ended, Lost):
            status = GraphStatus.CRASH if ended.crashed else GraphStatus.HANG
            ended = GraphOutcome(index, status, ended.detail)
        yield ended


def check_graph(
    seed: int, timeout: float, options: Mapping[str, Any], index: int, family: str | None = None
) -> GraphOutcome:
    """Draw and check graph `index` of `seed` in this process."""
    warnings.simplefilter("ignore")
    logging.getLogger("graphc").setLevel(logging.ERROR)
    start = time.perf_counter()
    case = draw_case(seed, index, family)
    check = check_qdq if case.family == QDQ else check_case
    ending = check(case, timeout, **options)
    gc.collect()
    return describe(case, ending, time.perf_counter() - start)


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
