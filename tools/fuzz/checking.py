"""Compiling one graph, running it, and holding its results against what they must be."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from ...compiling import compile
from ...debugging.difference import difference
from ...debugging.onnx.reference import true_values
from ...errors import (
    BackendTimeoutError,
    GraphcError,
    ReferenceRunError,
    UnsupportedModelError,
)
from .drawing import Case
from .outcome import Status

ONE_THREAD = ("--mlir-disable-threading",)
"""For the backend: there is a graph for each processor already."""
COMPILE = {"cache": False, "threads": 1, "host": False}
CALLS = 3
"""Of each graph: small ones know from the third on where their outputs go."""
ILL_CONDITIONED = 4.0
"""Results may lie as many times as far from float64 as those of the reference do."""


def check_case(case: Case, timeout: float, **options: Any) -> tuple[Status, str]:
    """How `case` ends when it is compiled within `timeout` seconds, with further `options`, and run
    some times; and what was said."""
    settings = {**COMPILE, "extra_flags": ONE_THREAD, "timeout": timeout, **options}
    try:
        with closing(compile(case.model, **settings)) as compiled:
            calls = [compiled.run(list(case.expected), dict(case.feeds)) for _ in range(CALLS)]
    except UnsupportedModelError as error:
        return Status.UNSUPPORTED, one_line(error)
    except BackendTimeoutError:
        return Status.HANG, f"not compiled after {timeout:g} s"
    except GraphcError as error:
        return Status.ERROR, f"{type(error).__name__}: {one_line(error)}"
    except Exception as error:  # what graphc did not raise on purpose is a finding, too
        return Status.ERROR, f"{type(error).__name__}: {one_line(error)}"
    found = [_judge(case, results) for results in calls]
    return next((each for each in found if each[0] is not Status.PASS), found[0])


def _judge(case: Case, results: Sequence[np.ndarray]) -> tuple[Status, str]:
    have = dict(zip(case.expected, results, strict=True))
    problems = _problems(have, case)
    if not problems:
        return Status.PASS, ""
    text = "; ".join(problems.values())
    apart = [
        name
        for name in problems
        if (case.expected[name].dtype, case.expected[name].shape)
        == (have[name].dtype, have[name].shape)
    ]
    if len(apart) == len(problems) and _is_ill_conditioned(case, have, apart):
        return Status.ILL_CONDITIONED, text
    return Status.WRONG, text


def _problems(have: Mapping[str, np.ndarray], case: Case) -> dict[str, str]:
    """What is wrong with each result that is beyond its tolerance."""
    found = {}
    for name, wanted in case.expected.items():
        given = have[name]
        if (given.dtype, given.shape) != (wanted.dtype, wanted.shape):
            found[name] = (
                f"'{name}' is {given.dtype}{list(given.shape)}, "
                f"not {wanted.dtype}{list(wanted.shape)}"
            )
            continue
        apart = difference(given, wanted)
        if apart.relative > case.tolerances[name]:
            found[name] = f"'{name}' is off by {apart.relative:.2e}: at {apart.place}"
    return found


def _is_ill_conditioned(case: Case, have: Mapping[str, np.ndarray], names: Sequence[str]) -> bool:
    """Whether the reference itself is not much nearer to float64 than the results are."""
    if any(case.expected[name].dtype.kind != "f" for name in names):
        return False
    try:
        truth = true_values(case.model, case.feeds, names)
    except ReferenceRunError:
        return False
    for name in names:
        if name not in truth or truth[name].shape != have[name].shape:
            return False
        ours = difference(have[name], truth[name]).relative
        theirs = difference(case.expected[name], truth[name]).relative
        if not ours <= ILL_CONDITIONED * theirs:
            return False
    return True


def one_line(error: BaseException) -> str:
    """The message of `error` without what belongs to this machine."""
    text = " ".join(str(error).split())
    return text.partition(" reproducer: ")[0][:300]
