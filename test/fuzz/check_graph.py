"""Compile one graph, run it, and compare its results with the expected ones."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import onnx

from graphc.compiler.compile import compile
from graphc.debugging.difference import difference
from graphc.debugging.onnx.reference import true_values
from graphc.errors import (
    BackendTimeoutError,
    ExecutionError,
    ReferenceRunError,
    UnsupportedModelError,
)
from graphc.runtime import CompiledModel
from harness.variation import order_of_calls

from .draw import DrawnGraph
from .graph_outcome import FINDINGS, GraphStatus
from .rounds import Feeds, Inputs, is_unsteady, other_inputs

ONE_THREAD = ("--mlir-disable-threading",)
"""Backend flags: one thread, because each core already compiles a graph of its own."""
COMPILE: dict[str, Any] = {"cache": False, "threads": 1, "host": False}
MEANINGLESS = re.compile(r"joins sizes (0 and \w+|\w+ and 0) of axis")
"""Errors of calls that ONNX Runtime answers with uninitialised elements: it joins an empty tensor
to one of other sizes."""
ILL_CONDITIONED = 4.0
"""Allowed error of the results against float64, as a multiple of the error of the reference."""


class CheckResult(NamedTuple):
    """The status of a graph, and the inputs that led to it."""

    status: GraphStatus
    detail: str = ""
    inputs: int = 0
    """Number of the inputs; 0 stands for the inputs that the graph was drawn with."""
    alone: bool = True
    """True if a model without earlier calls ends the same way."""


Check = Callable[[], CheckResult]
"""A check of a graph, or a part of it that can be made by itself."""


def first_problem(checks: Iterable[Check]) -> CheckResult:
    """The first result of `checks` that is not PASS; the later ones are not made."""
    results = (check() for check in checks)
    passed = CheckResult(GraphStatus.PASS)
    return next((each for each in results if each.status is not GraphStatus.PASS), passed)


def check_case(case: DrawnGraph, timeout: float, **options: Any) -> CheckResult:
    """Compile `case` within `timeout` seconds and call it repeatedly; return how it ends.

    `options` are further options of `compile`. The calls use the inputs of the case and others.
    """
    settings = {**COMPILE, "extra_flags": ONE_THREAD, "timeout": timeout, **options}
    everything = inputs_of(case)
    try:
        with closing(compile(case.model, **settings)) as compiled:
            return _check_calls(case, compiled, everything, settings)
    except UnsupportedModelError as error:
        return CheckResult(GraphStatus.UNSUPPORTED, one_line(error))
    except BackendTimeoutError:
        return CheckResult(GraphStatus.HANG, f"not compiled after {timeout:g} s")
    except Exception as error:  # an exception of any other class is a finding, too
        return CheckResult(GraphStatus.ERROR, error_text(error))


def inputs_of(case: DrawnGraph) -> list[Inputs]:
    """The inputs that `case` was drawn with, followed by others."""
    random = np.random.default_rng([case.seed, case.index, 1])
    others = other_inputs(case.model, case.feeds, case.reference, random)
    return [Inputs(case.feeds, case.expected), *others]


def _check_calls(
    case: DrawnGraph,
    compiled: CompiledModel,
    everything: Sequence[Inputs],
    settings: Mapping[str, Any],
) -> CheckResult:
    """Make all calls and return the first finding, or else the last ending that is not PASS.

    The inputs that the graph was drawn with are called first.
    """
    worst, left = CheckResult(GraphStatus.PASS), set(range(len(everything)))
    for call, number in enumerate(order_of_calls(len(everything))):
        if number not in left:
            continue
        ending = _call(case, compiled, everything[number])
        if call and ending.status is not GraphStatus.PASS:
            ending = _explained(case, everything[number], ending, number, settings)
        if ending.status in FINDINGS:
            return ending
        if ending.status is not GraphStatus.PASS:
            worst = ending
            left.discard(number)
    return worst


def _call(case: DrawnGraph, compiled: CompiledModel, inputs: Inputs) -> CheckResult:
    try:
        results = compiled.run(list(inputs.expected), dict(inputs.feeds))
    except UnsupportedModelError as error:  # of the program for weights that a call replaces
        return CheckResult(GraphStatus.UNSUPPORTED, one_line(error))
    except ExecutionError as error:
        meaningless = MEANINGLESS.search(str(error)) is not None
        return CheckResult(
            GraphStatus.UNSUPPORTED if meaningless else GraphStatus.ERROR, error_text(error)
        )
    except Exception as error:
        return CheckResult(GraphStatus.ERROR, error_text(error))
    return _judge(case, inputs, results)


def _explained(
    case: DrawnGraph, inputs: Inputs, ending: CheckResult, number: int, settings: Mapping[str, Any]
) -> CheckResult:
    """Explain `ending` of a later call by calling a freshly compiled model.

    Rounding may decide the results for inputs that the graph was not drawn with: such a case counts
    as ill-conditioned.
    """
    with closing(compile(case.model, **settings)) as compiled:
        alone = _call(case, compiled, inputs)
    if alone.status is GraphStatus.PASS:
        return ending._replace(
            detail=f"after other calls: {ending.detail}", inputs=number, alone=False
        )
    if number and alone.status is GraphStatus.WRONG:
        random = np.random.default_rng(case.index)
        if is_unsteady(case.model, inputs, case.tolerances, case.reference, random):
            return CheckResult(GraphStatus.ILL_CONDITIONED, alone.detail, number)
    return alone._replace(inputs=number)


def _judge(case: DrawnGraph, inputs: Inputs, results: Sequence[np.ndarray]) -> CheckResult:
    have = dict(zip(inputs.expected, results, strict=True))
    problems = _problems(have, inputs.expected, case.tolerances)
    if not problems:
        return CheckResult(GraphStatus.PASS)
    text = "; ".join(problems.values())
    apart = [
        name
        for name in problems
        if (inputs.expected[name].dtype, inputs.expected[name].shape)
        == (have[name].dtype, have[name].shape)
    ]
    if len(apart) == len(problems) and _is_ill_conditioned(case.model, inputs, have, apart):
        return CheckResult(GraphStatus.ILL_CONDITIONED, text)
    return CheckResult(GraphStatus.WRONG, text)


def _problems(have: Feeds, expected: Feeds, tolerances: Mapping[str, float]) -> dict[str, str]:
    """A description of the problem for each result that is beyond its tolerance."""
    found = {}
    for name, wanted in expected.items():
        given = have[name]
        if (given.dtype, given.shape) != (wanted.dtype, wanted.shape):
            found[name] = (
                f"'{name}' is {given.dtype}{list(given.shape)}, "
                f"not {wanted.dtype}{list(wanted.shape)}"
            )
            continue
        apart = difference(given, wanted)
        if apart.relative > tolerances[name]:
            found[name] = f"'{name}' is off by {apart.relative:.2e}: at {apart.place}"
    return found


def _is_ill_conditioned(
    model: onnx.ModelProto, inputs: Inputs, have: Feeds, names: Sequence[str]
) -> bool:
    """Return whether the error of the reference against float64 is not much smaller than that of
    the results."""
    if any(inputs.expected[name].dtype.kind != "f" for name in names):
        return False
    try:
        truth = true_values(model, inputs.feeds, names)
    except ReferenceRunError:
        return False
    for name in names:
        if name not in truth or truth[name].shape != have[name].shape:
            return False
        ours = difference(have[name], truth[name]).relative
        theirs = difference(inputs.expected[name], truth[name]).relative
        if not ours <= ILL_CONDITIONED * theirs:
            return False
    return True


def error_text(error: Exception) -> str:
    """The class of `error` and its message, on one line."""
    return f"{type(error).__name__}: {one_line(error)}"


def one_line(error: BaseException) -> str:
    """The message of `error` on one line, without details of this machine."""
    text = " ".join(str(error).split())
    return text.partition(" reproducer: ")[0][:300]
