"""Findings as folders, each with the smallest model that reproduces it."""

import json
import re
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from graphc.debugging import bisect, reduce
from graphc.debugging.checks import Command
from graphc.debugging.difference import tolerance_of
from graphc.debugging.onnx.graphs import all_nodes
from graphc.debugging.onnx.test_case import ReductionCase, reduction_case
from graphc.debugging.reduction import Reduced
from graphc.errors import GraphcError
from harness.isolation import Lost, call_each

from .backend_failures import kept_failures
from .check_graph import COMPILE, ONE_THREAD, inputs_of, one_line
from .draw import DrawnGraph, draw_case
from .draw_registry import QDQ
from .graph_outcome import GraphOutcome, GraphStatus
from .qdq.check_qdq import quantized_inputs
from .rounds import Inputs
from .survival import LIVING_SECONDS

ALIKE = 3
"""Number of findings reduced per group of similar errors."""
REDUCTION_SECONDS = 400


def reduce_findings(
    outcomes: Iterable[GraphOutcome],
    seed: int,
    folder: Path,
    *,
    jobs: int,
    options: Mapping[str, Any] | None = None,
    arguments: Iterable[str] = (),
    family: str | None = None,
) -> Iterator[str]:
    """Write a folder in `folder` for each finding that has none yet; yield a message for each.

    `options` are the options that the graphs were compiled with beyond the usual ones; `arguments`
    are the same options as command-line arguments. `family` is that of the graphs, if given.
    """
    found = {
        each.index: each
        for each in chosen(outcomes)
        if not (folder / draw_name(seed, each.index) / "finding.json").exists()
    }
    call = partial(_reduce, found, seed, folder, dict(options or {}), list(arguments), family)
    for index, said in call_each(call, found, jobs=jobs, timeout=REDUCTION_SECONDS):
        if isinstance(said, Lost):  # the whole graph is saved already
            path = folder / draw_name(seed, index)
            said = _write(path, found[index], f"not reduced: {said.detail}")
        yield f"{draw_name(seed, index)}: {said}"


def draw_name(seed: int, index: int) -> str:
    """The folder name of a finding: ``7-000123``."""
    return f"{seed}-{index:06}"


def chosen(outcomes: Iterable[GraphOutcome]) -> Iterator[GraphOutcome]:
    """The findings. Of similar errors, only the first `ALIKE` are included."""
    counts: Counter[tuple[GraphStatus, str]] = Counter()
    for outcome in sorted(outcomes, key=lambda each: each.index):
        if outcome.is_finding:
            kind = outcome.status, signature(outcome)
            counts[kind] += 1
            if outcome.status is GraphStatus.WRONG or counts[kind] <= ALIKE:
                yield outcome


def signature(outcome: GraphOutcome) -> str:
    """The detail of `outcome` without names and numbers, which distinguishes kinds of findings."""
    return re.sub(r"'[^']*'|<[^>]*>|\S*\d\S*", "_", outcome.detail)


def _reduce(
    found: Mapping[int, GraphOutcome],
    seed: int,
    folder: Path,
    options: dict[str, Any],
    arguments: list[str],
    family: str | None,
    index: int,
) -> str:
    warnings.simplefilter("ignore")
    outcome, case = found[index], draw_case(seed, index, family)
    case = _with_inputs(case, outcome.inputs)
    path = folder / case.name
    _save_whole(case, path / "whole")
    try:
        reduced = _reduced(case, outcome, options)
    except GraphcError as error:
        return _write(path, outcome, f"not reduced: {one_line(error)}")
    reference = [f"--reference={case.reference}"]
    reduced.save(path, ["--threads=1", *arguments], reference, _predicate(case, outcome))
    bisection = ""
    if outcome.status is GraphStatus.WRONG and outcome.alone and case.family != QDQ:
        bisection = _bisect_case(reduced.subject, case, options)
    return _write(path, outcome, str(reduced), bisection, reduced.subject)


@kept_failures()
def _reduced(case: DrawnGraph, outcome: GraphOutcome, options: dict[str, Any]) -> Reduced:
    settings = _settings(case, options)
    survives = outcome.status not in (GraphStatus.CRASH, GraphStatus.HANG)
    if not survives or not outcome.alone or case.family == QDQ:
        settings["command"] = Command(_predicate(case, outcome))
    return reduce(case.model, case.feeds, **settings)


def _settings(case: DrawnGraph, options: dict[str, Any]) -> dict[str, Any]:
    usual = {name: value for name, value in COMPILE.items() if name != "host"}
    return {**usual, "extra_flags": ONE_THREAD, "timeout": LIVING_SECONDS,
            "reference": case.reference, "tolerance": _tolerance(case), **options}  # fmt: skip


def _tolerance(case: DrawnGraph) -> float | None:
    """The tolerance for a reduction: None if the types of the results determine it."""
    own = all(case.tolerances[name] == tolerance_of(array.dtype, None)
              for name, array in case.expected.items())  # fmt: skip
    return None if own else max(case.tolerances.values())


def _with_inputs(case: DrawnGraph, number: int) -> DrawnGraph:
    """`case` as if it had been drawn with inputs number `number`."""
    inputs = _all_inputs(case)[number] if number else case
    return replace(case, feeds=inputs.feeds, expected=inputs.expected)


def _all_inputs(case: DrawnGraph) -> list[Inputs]:
    return quantized_inputs(case) if case.family == QDQ else inputs_of(case)


def _predicate(case: DrawnGraph, outcome: GraphOutcome) -> str:
    """The predicate command for test case reduction.

    It exits with 0 if a model crashes or hangs, if its results depend on earlier calls, or if its
    judgement as a QDQ graph ends as before.
    """
    python = f"{shlex.quote(sys.executable)} -m fuzz"
    if case.family == QDQ and outcome.status in (GraphStatus.WRONG, GraphStatus.ERROR):
        known = 2 if outcome.status == GraphStatus.ERROR else 1
        beginning = ": ".join(outcome.detail.split(": ")[:known])
        ending = shlex.join([outcome.status, beginning])
        return f"{python}.qdq.same_ending {ending} {{}}"
    if outcome.alone:
        return f"{python}.survival {LIVING_SECONDS:g} {{}}"
    return f"{python}.history {{}}"


def _bisect_case(subject: ReductionCase, case: DrawnGraph, options: dict[str, Any]) -> str:
    """Find out whether a pass, a rewrite, or the generated code is at fault."""
    try:
        return str(bisect(subject.model, subject.feeds, **_settings(case, options)))
    except GraphcError as error:
        return f"not known: {one_line(error)}"


def _save_whole(case: DrawnGraph, path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    reduction_case(case.model, case.feeds).save(path)


def _write(
    path: Path,
    outcome: GraphOutcome,
    said: str,
    bisection: str = "",
    subject: ReductionCase | None = None,
) -> str:
    """Write ``finding.json``, which marks this finding as processed; return `said`."""
    path.mkdir(parents=True, exist_ok=True)
    operators = [] if subject is None else [n.op_type for n in all_nodes(subject.model.graph)]
    written = {
        "index": outcome.index,
        "status": outcome.status,
        "detail": outcome.detail,
        "reduction": said,
        "operators": operators,
        "bisection": bisection,
    }
    (path / "finding.json").write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return said
