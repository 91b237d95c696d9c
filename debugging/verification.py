"""Verification of a compiled model against a reference, as a whole and value by value."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from ..compiler.driver import compile_with, make_options
from ..compiler.options import Options
from ..errors import UnsupportedModelError
from ..frontend.onnx import ModelNode, list_nodes
from ..runtime import CompiledModel
from .comparison import ValueComparison
from .difference import difference, tolerance_of
from .onnx.reference import default_reference, reference_values, true_values
from .onnx.steps import in_steps, quantization_steps
from .surviving_values import find_surviving
from .verification_result import Verification

BATCH_BYTES = 256 << 20
"""Maximum total size of additional outputs in one compilation."""

ALLOWED_STEPS = 1.0
"""Quantisation steps by which values differ that are rounded the other way."""

Feeds = Mapping[str, Any] | Callable[[CompiledModel], Mapping[str, Any]]


def verify(
    model: Any,
    feeds: Feeds,
    target: str = "cpu",
    *,
    reference: str | None = None,
    tolerance: float | None = None,
    truth: bool = False,
    layers: bool = True,
    unfused: bool = False,
    batch_bytes: int = BATCH_BYTES,
    dims: Mapping[str, int] | None = None,
    threads: int | None = None,
    pipeline: str | None = None,
    **options: Any,
) -> Verification:
    """Compile an ONNX model and compare it with `reference`, ``onnxruntime`` or ``onnx``.

    `feeds` are arrays by input name, or a function that makes them for the compiled model. The
    model is compiled as usual, and compared; then with the values that survive the graph passes as
    additional outputs, in one or more compilations of at most `batch_bytes` of them. With `unfused`
    all values are outputs, and so additional uses, which prevent fusion. `tolerance` is relative to
    the largest magnitude of a value; the default is in `difference.TOLERANCES`, and one step for
    values that are quantised. With `truth` both
    are also compared with ONNX's evaluator in float64. Other arguments are those of
    `graphc.compile`.

    Raises ReferenceRunError if the reference cannot run the model, and the errors of
    `graphc.compile` and `CompiledModel.run`.
    """
    chosen = make_options(target, dims=dims, threads=threads, pipeline=pipeline, **options)
    with closing(compile_with(model, chosen)) as compiled:
        given = feeds(compiled) if callable(feeds) else feeds
        names = [spec.name for spec in compiled.outputs]
        found = dict(zip(names, compiled.run(None, given), strict=True))
        title, spelling = compiled.metadata.name, compiled.target
    run = _Reference(model, given, reference or default_reference(), tolerance, truth)
    outputs = run.rows(found)
    if not layers:
        return Verification(title, spelling, run.reference, outputs)
    inside, fused = _inside(model, chosen, run, unfused)
    rows: list[ValueComparison] = []
    for batch in _batches(inside, run.expected, batch_bytes):
        rows += run.rows(compute(model, chosen, given, batch, names), batch)
    return Verification(title, spelling, run.reference, outputs, tuple(rows), fused)


def compute(
    model: Any,
    options: Options,
    feeds: Mapping[str, Any],
    names: Sequence[str],
    outputs: Sequence[str],
) -> dict[str, np.ndarray]:
    """The values `names` of the model, compiled with its own `outputs` as well."""
    wanted = [*dict.fromkeys([*outputs, *names])]
    with closing(compile_with(model, replace(options, outputs=wanted))) as compiled:
        return dict(zip(wanted, compiled.run(None, feeds), strict=True))


class _Reference:
    """The reference values, and the rows of comparisons with them."""

    def __init__(
        self,
        model: Any,
        feeds: Mapping[str, Any],
        reference: str,
        tolerance: float | None,
        truth: bool,
    ):
        self.reference = reference
        self.nodes: dict[str, ModelNode] = {
            name: node for node in list_nodes(model) for name in node.outputs
        }
        self._tolerance = tolerance
        self.expected = reference_values(model, feeds, list(self.nodes), reference)
        self._steps = quantization_steps(model)
        self._truth = true_values(model, feeds, list(self.nodes)) if truth else {}

    def rows(
        self, found: Mapping[str, Any], names: Iterable[str] | None = None
    ) -> tuple[ValueComparison, ...]:
        wanted = found if names is None else names
        return tuple(self._row(name, found[name]) for name in wanted if name in self.expected)

    def _row(self, name: str, ours: np.ndarray) -> ValueComparison:
        theirs, true = self.expected[name], self._truth.get(name)
        node = self.nodes[name]
        truth = None
        if true is not None:
            truth = (difference(ours, true).relative, difference(theirs, true).relative)
        return ValueComparison(
            name, node.name, node.op_type, ours.dtype.name, ours.shape, difference(ours, theirs),
            tolerance_of(ours.dtype, self._tolerance), truth,
            in_steps(self._steps.get(name), ours, theirs),
            ALLOWED_STEPS if self._tolerance is None else 0.0,
        )  # fmt: skip


def _inside(
    model: Any, options: Options, run: _Reference, unfused: bool
) -> tuple[Sequence[str], Mapping[str, str]]:
    """The intermediate values to compare, and those that the program does not have."""
    if unfused:
        return list(run.expected), {}
    try:
        found = find_surviving(model, options)
    except UnsupportedModelError:  # a hybrid model
        return (), dict.fromkeys(run.expected, "a model of which some nodes run on the host")
    fused = {
        name: where
        for name, where in found.fused.items()
        if name in run.expected and run.nodes[name].op_type != "Constant"
    }
    return [name for name in found.surviving if name in run.expected], fused


def _batches(
    names: Iterable[str], values: Mapping[str, np.ndarray], limit: int
) -> Iterable[list[str]]:
    batch: list[str] = []
    size = 0
    for name in names:
        if batch and size + values[name].nbytes > limit:
            yield batch
            batch, size = [], 0
        batch.append(name)
        size += values[name].nbytes
    if batch:
        yield batch
