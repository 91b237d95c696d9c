"""Compiling one graph, running it, and holding its results against what they must be."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import onnx

from graphc.compiler.compile import compile
from graphc.debugging.difference import difference
from graphc.debugging.onnx.reference import true_values
from graphc.errors import BackendTimeoutError, ReferenceRunError, UnsupportedModelError
from graphc.runtime import CompiledModel
from harness.variation import order_of_calls

from .draw import Case
from .outcome import FINDINGS, Status
from .rounds import Feeds, Inputs, is_unsteady, other_inputs

ONE_THREAD = ("--mlir-disable-threading",)
"""For the backend: there is a graph for each processor already."""
COMPILE: dict[str, Any] = {"cache": False, "threads": 1, "host": False}
ILL_CONDITIONED = 4.0
"""Results may lie as many times as far from float64 as those of the reference do."""


class Ending(NamedTuple):
    """How a graph ended, and with which of its inputs."""

    status: Status
    detail: str = ""
    inputs: int = 0
    """Their number; 0 are those that it was drawn with."""
    alone: bool = True
    """True if a model that was not called before ends the same way."""


def check_case(case: Case, timeout: float, **options: Any) -> Ending:
    """How `case` ends when it is compiled within `timeout` seconds, with further `options`, and
    called with its inputs and others, again and again."""
    settings = {**COMPILE, "extra_flags": ONE_THREAD, "timeout": timeout, **options}
    everything = inputs_of(case)
    try:
        with closing(compile(case.model, **settings)) as compiled:
            return _check_calls(case, compiled, everything, settings)
    except UnsupportedModelError as error:
        return Ending(Status.UNSUPPORTED, one_line(error))
    except BackendTimeoutError:
        return Ending(Status.HANG, f"not compiled after {timeout:g} s")
    except Exception as error:  # what graphc did not raise on purpose is a finding, too
        return Ending(Status.ERROR, error_text(error))


def inputs_of(case: Case) -> list[Inputs]:
    """The inputs that `case` was drawn with, and others."""
    random = np.random.default_rng([case.seed, case.index, 1])
    others = other_inputs(case.model, case.feeds, case.reference, random)
    return [Inputs(case.feeds, case.expected), *others]


def _check_calls(
    case: Case, compiled: CompiledModel, everything: Sequence[Inputs], settings: Mapping[str, Any]
) -> Ending:
    """The first call that ends otherwise than it should, by its first inputs rather than others."""
    worst, left = Ending(Status.PASS), set(range(len(everything)))
    for call, number in enumerate(order_of_calls(len(everything))):
        if number not in left:
            continue
        ending = _call(case, compiled, everything[number])
        if call and ending.status is not Status.PASS:
            ending = _explained(case, everything[number], ending, number, settings)
        if ending.status in FINDINGS:
            return ending
        if ending.status is not Status.PASS:
            worst = ending
            left.discard(number)
    return worst


def _call(case: Case, compiled: CompiledModel, inputs: Inputs) -> Ending:
    try:
        results = compiled.run(list(inputs.expected), dict(inputs.feeds))
    except Exception as error:
        return Ending(Status.ERROR, error_text(error))
    return _judge(case, inputs, results)


def _explained(
    case: Case, inputs: Inputs, ending: Ending, number: int, settings: Mapping[str, Any]
) -> Ending:
    """`ending` of a later call, by what a model gives that was not called before.

    What other inputs give than those that the graph was drawn with, rounding may decide: that is
    as good as ill-conditioned.
    """
    with closing(compile(case.model, **settings)) as compiled:
        alone = _call(case, compiled, inputs)
    if alone.status is Status.PASS:
        return ending._replace(
            detail=f"after other calls: {ending.detail}", inputs=number, alone=False
        )
    if number and alone.status is Status.WRONG:
        random = np.random.default_rng(case.index)
        if is_unsteady(case.model, inputs, case.tolerances, case.reference, random):
            return Ending(Status.ILL_CONDITIONED, alone.detail, number)
    return alone._replace(inputs=number)


def _judge(case: Case, inputs: Inputs, results: Sequence[np.ndarray]) -> Ending:
    have = dict(zip(inputs.expected, results, strict=True))
    problems = _problems(have, inputs.expected, case.tolerances)
    if not problems:
        return Ending(Status.PASS)
    text = "; ".join(problems.values())
    apart = [
        name
        for name in problems
        if (inputs.expected[name].dtype, inputs.expected[name].shape)
        == (have[name].dtype, have[name].shape)
    ]
    if len(apart) == len(problems) and _is_ill_conditioned(case.model, inputs, have, apart):
        return Ending(Status.ILL_CONDITIONED, text)
    return Ending(Status.WRONG, text)


def _problems(have: Feeds, expected: Feeds, tolerances: Mapping[str, float]) -> dict[str, str]:
    """What is wrong with each result that is beyond its tolerance."""
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
    """Whether the reference itself is not much nearer to float64 than the results are."""
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
    """The class of `error`, and its message in a line."""
    return f"{type(error).__name__}: {one_line(error)}"


def one_line(error: BaseException) -> str:
    """The message of `error` without what belongs to this machine."""
    text = " ".join(str(error).split())
    return text.partition(" reproducer: ")[0][:300]
