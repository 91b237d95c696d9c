"""The effect of a pass on a program, and a check that the results stay the same.

outcome = rewrite(build(body, "2x3xf32"), "graph-recognize")
assert outcome.ops == {"gelu": 1}
assert outcome.counts == {"recognize-gelu": 1}
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from graph_programs import build_module, main_of

from graphc.dialects import graph
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.mlir import create_context, ir
from graphc.passes.infra.pipeline import run_pipeline
from graphc.passes.infra.report import Report

TOLERANCE = {"float64": 1e-12, "float32": 3e-6, "float16": 4e-3, "bfloat16": 3e-2}
"""Relative and absolute tolerance, by element type; values of other types must be equal."""


@dataclass(frozen=True)
class RewriteOutcome:
    """The program after a pipeline, and the report."""

    module: ir.Module
    report: Report

    @property
    def counts(self) -> dict[str, int]:
        """Number of times that each rewrite fired, without those that did not."""
        return {name: s.count for name, s in self.report.rewrites.items() if s.count}

    @property
    def reasons(self) -> set[str]:
        """The reasons for which rewrites declined."""
        return {reason for s in self.report.rewrites.values() for reason in s.declined}

    @property
    def ops(self) -> dict[str, int]:
        """Number of graph ops of each kind, without constants."""
        names = [op.operation.name for op in main_of(self.module).entry_block.operations]
        kept = [name for name in names if name not in ("graph.constant", "func.return")]
        return dict(Counter(name.removeprefix("graph.") for name in kept))

    def attributes(self, name: str) -> dict[str, Any]:
        """The attributes of the only op called `name`."""
        block = main_of(self.module).entry_block
        (op,) = [op for op in block.operations if op.operation.name == f"graph.{name}"]
        return op.attrs


def rewrite(
    body: Callable[..., Any],
    *types: str,
    passes: str,
    inputs: Sequence[np.ndarray] | None = None,
    tolerance: float | None = None,
) -> RewriteOutcome:
    """Run `passes` on the program that `body` builds, and remove dead code.

    It must still compute the same: it is evaluated in numpy before and after, on `inputs` or on
    random ones.
    """
    with create_context(), ir.Location.unknown():
        graph.Graph.load()
        module = build_module(body, *types)
    inputs = random_inputs(module) if inputs is None else inputs
    before = evaluate_function(main_of(module), inputs)
    report = Report()
    run_pipeline(module, f"{passes},canonicalize", report=report)
    after = evaluate_function(main_of(module), inputs)
    for want, have in zip(before, after, strict=True):
        assert_close(have, want, tolerance)
    return RewriteOutcome(module, report)


def assert_close(have: np.ndarray, want: np.ndarray, tolerance: float | None = None) -> None:
    """Check type, shape, and values up to a relative and absolute tolerance."""
    assert (have.dtype, have.shape) == (want.dtype, want.shape)
    tolerance = TOLERANCE.get(want.dtype.name, 0.0) if tolerance is None else tolerance
    if tolerance:
        have, want = have.astype(np.float64), want.astype(np.float64)
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(have, want)


def random_inputs(module: ir.Module, **sizes: int) -> list[np.ndarray]:
    """Inputs for the function: normally distributed floats, booleans, small integers.

    `sizes` gives symbolic dimensions a size; 3 where it does not.
    """
    random = np.random.default_rng(1)
    inputs = []
    for argument in main_of(module).entry_block.arguments:
        type_ = graph.type_of(argument)
        shape = [s if isinstance(s, int) else sizes.get(str(s), 3) for s in type_.shape]
        if type_.dtype == np.bool_:
            inputs.append(random.random(shape) < 0.7)
        elif graph.is_float(type_.dtype):
            inputs.append(np.asarray(random.standard_normal(shape)).astype(type_.dtype))
        else:
            inputs.append(random.integers(0, 4, shape).astype(type_.dtype))
    return inputs


def number(value: float, like: ir.Value) -> ir.Value:
    """A scalar constant of `like`'s element type."""
    return graph.splat_like(value, like)


def weights(*shape: int, dtype: Any = np.float32, seed: int = 0) -> ir.Value:
    """A normally distributed constant."""
    array = np.random.default_rng(seed).standard_normal(shape)
    return graph.constant(value=np.asarray(array).astype(dtype))
