"""Examples of simplifications, each of which must fire and keep what the program computes.

`exact` examples agree bit for bit, signs of zeros, infinities and NaNs included; the others within
the rounding that the rewrite's docstring allows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from graph_programs import build_module, main_of, op_names, tensor_type

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.dialects.symbolic import Dim
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report

FIRST, LAST = "channels_first", "channels_last"
N = Dim.symbol("n")
INT = ("4x3xi32",)
SPECIAL = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-40, 0.5, 7.25]


def c(value: Any, dtype: Any = np.float32) -> Any:
    return graph.constant(value=np.asarray(value, dtype))


def counted(size: Any) -> Any:
    """0, 1, 2, ... as many as `size`."""
    return graph.range_(c(0, np.int64), c(1, np.int64), size=size)


def column(size: Any) -> Any:
    return graph.reshape(counted(size), shape=[size, 1])


def window(kernel, low=None, high=None):
    zeros = [0] * len(kernel)
    steps = {"strides": [1] * len(kernel), "dilations": [1] * len(kernel)}
    return {"kernel": kernel, "low": low or zeros, "high": high or zeros, **steps}


@dataclass(frozen=True)
class Example:
    """A program on which `rewrite` fires, leaving `ops`."""

    rewrite: str
    body: Callable[..., Any]
    ops: list[str]
    types: tuple[str, ...] = ("4x3xf32",)
    exact: bool = True


def check_example(example: Example, passes: str = "graph-simplify") -> None:
    """Run `passes` on the program of `example` and compare the results before and after."""
    module = build_module(example.body, *example.types)
    inputs = [_feed(text, {"n": 5}, seed) for seed, text in enumerate(example.types)]
    (before,) = evaluate_function(main_of(module), inputs)
    report = Report()
    run_pipeline(module, f"{passes},canonicalize", report=report)
    assert report.statistics(example.rewrite).count >= 1, f"{example.rewrite} did not fire"
    assert op_names(module) == example.ops
    (after,) = evaluate_function(main_of(module), inputs)
    assert before.dtype == after.dtype
    if example.exact:
        assert _same_bits(before, after)
    else:
        finite = np.isfinite(before)  # an intermediate overflow may disappear, none may appear
        np.testing.assert_allclose(after[finite], before[finite], rtol=3e-7, atol=1e-44)


def _feed(text: str, sizes: dict[str, int], seed: int = 0) -> np.ndarray:
    type_ = tensor_type(text)
    shape = tuple(size if isinstance(size, int) else size.evaluate(sizes) for size in type_.shape)
    rng = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if type_.dtype == np.float32:
        values = np.array(SPECIAL, np.float32)[rng.permutation(max(count, len(SPECIAL))) % 12]
        return values[:count].reshape(shape)
    if type_.dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(np.bool_)
    return rng.integers(-(2**31), 2**31, shape).astype(type_.dtype)


def _same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal values and signs; NaNs are all alike."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    numbers = ~np.isnan(a)
    return (
        np.array_equal(numbers, ~np.isnan(b))
        and np.array_equal(a[numbers], b[numbers])
        and np.array_equal(np.signbit(a[numbers]), np.signbit(b[numbers]))
    )
