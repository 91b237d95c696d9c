"""Further inputs for a graph, beyond those that it was drawn with, and the expected outputs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import onnx

from graphc.debugging.difference import difference
from graphc.debugging.onnx.evaluators import arrays, open_runtime
from graphc.debugging.onnx.graphs import all_nodes
from graphc.debugging.onnx.nodes import by_nodes
from graphc.debugging.onnx.reference import true_values
from graphc.errors import ReferenceRunError
from harness.variation import Dims, other_sizes, other_values

from .drawn_values import FLOATS, is_float, is_sane

TRIES = 5
"""Number of attempts to draw inputs that the reference accepts without too large values."""
NUDGE = {"float64": 1e-11, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""Perturbation of inputs, relative to their values, that shows whether rounding decides."""

Feeds = Mapping[str, np.ndarray]
Reference = Callable[[Feeds], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Inputs:
    """Arrays for the inputs of a graph, and the expected outputs."""

    feeds: Feeds
    expected: Feeds


class ReferenceEvaluation:
    """Evaluation of a model by its reference: ``onnxruntime``, or ``nodes``."""

    def __init__(self, model: onnx.ModelProto, reference: str):
        self._model = model
        self._outputs = [info.name for info in model.graph.output]
        names = [name for node in model.graph.node for name in node.output if name]
        self._run: Reference | None = None
        self._open = partial(self._opened, reference, names)

    def _opened(self, reference: str, names: Sequence[str]) -> Reference:
        if reference != "onnxruntime":
            return lambda feeds: arrays(by_nodes(self._model, feeds, names))
        run = open_runtime(self._model, names, threads=1)
        return lambda feeds: arrays(run(feeds))

    def of(self, feeds: Feeds) -> Inputs | None:
        """`feeds` with the expected outputs; None if there are no meaningful ones.

        There are none if the reference refuses `feeds`, or if a value is not finite, too large, or
        outside the range of the integer type that it is cast to.
        """
        try:
            self._run = self._run or self._open()
            values = self._run(feeds)
        except ReferenceRunError:
            return None
        known = {**values, **feeds}
        if not all(map(is_sane, values.values())) or not _casts_fit(self._model, known):
            return None
        return Inputs(feeds, {name: values[name] for name in self._outputs})


def other_inputs(
    model: onnx.ModelProto, feeds: Feeds, reference: str, random: np.random.Generator
) -> list[Inputs]:
    """Inputs with other values, then with larger and with smaller sizes if `model` names sizes.

    Without named sizes, other values are drawn twice. Inputs for which the reference has no answer
    are left out.
    """
    return evaluated_inputs(model, feeds, ReferenceEvaluation(model, reference).of, random)


def evaluated_inputs(
    model: onnx.ModelProto,
    feeds: Feeds,
    evaluate: Callable[[Feeds], Inputs | None],
    random: np.random.Generator,
) -> list[Inputs]:
    """Inputs like those of `other_inputs`, with the outputs that `evaluate` expects."""
    found = (_first(way, evaluate) for way in _variations(model, feeds, random))
    return [inputs for inputs in found if inputs is not None]


def _variations(
    model: onnx.ModelProto, feeds: Feeds, random: np.random.Generator
) -> list[Callable[[], Feeds | None]]:
    """Functions that draw inputs like `feeds`."""
    dims = {info.name: _dims(info) for info in model.graph.input}
    named = any(isinstance(dim, str) for each in dims.values() for dim in each)

    def values() -> Feeds:
        return {name: other_values(array, random) for name, array in feeds.items()}

    def sizes(larger: bool) -> Feeds | None:
        return other_sizes(dims, feeds, random, larger)

    return [values, *([partial(sizes, True), partial(sizes, False)] if named else [values])]


def _first(
    draw: Callable[[], Feeds | None], evaluate: Callable[[Feeds], Inputs | None]
) -> Inputs | None:
    for _ in range(TRIES):
        feeds = draw()
        inputs = None if feeds is None else evaluate(feeds)
        if inputs is not None:
            return inputs
    return None


def _dims(info: onnx.ValueInfoProto) -> Dims:
    return [dim.dim_param or dim.dim_value for dim in info.type.tensor_type.shape.dim]


def is_unsteady(
    model: onnx.ModelProto,
    inputs: Inputs,
    tolerances: Mapping[str, float],
    reference: str,
    random: np.random.Generator,
) -> bool:
    """True if rounding decides the results for `inputs`.

    It does if the results change when floats are perturbed slightly or when they are computed in
    float64. The inputs that a graph is drawn with are chosen so that rounding does not decide.
    """
    evaluation = ReferenceEvaluation(model, reference)
    for found in (*_nudged(evaluation, inputs.feeds, random), _in_float64(model, inputs)):
        if found is None or any(
            name in found and difference(found[name], wanted).relative > tolerances[name]
            for name, wanted in inputs.expected.items()
        ):
            return True
    return False


def _nudged(
    evaluation: ReferenceEvaluation, feeds: Feeds, random: np.random.Generator
) -> Iterator[Feeds | None]:
    for _ in range(TRIES):
        inputs = evaluation.of({name: _moved(array, random) for name, array in feeds.items()})
        yield inputs and inputs.expected


def _moved(array: np.ndarray, random: np.random.Generator) -> np.ndarray:
    if array.dtype.name not in FLOATS:
        return array
    by = 1 + NUDGE[array.dtype.name] * random.uniform(-1, 1, array.shape)
    return np.asarray(array.astype(np.float64) * by).astype(array.dtype)


def _in_float64(model: onnx.ModelProto, inputs: Inputs) -> Feeds | None:
    try:
        return true_values(model, inputs.feeds, list(inputs.expected))
    except ReferenceRunError:
        return {}


def _casts_fit(model: onnx.ModelProto, values: Feeds) -> bool:
    """True if all floats that are cast to integers are in range; otherwise every result is
    valid."""
    for node in all_nodes(model.graph):
        if node.op_type not in ("Cast", "CastLike") or node.input[0] not in values:
            continue
        array = values[node.input[0]]
        result = values.get(node.output[0])
        if not is_float(array.dtype) or result is None or result.dtype.kind not in "iu":
            continue
        bounds, wide = np.iinfo(result.dtype), array.astype(np.float64)
        if not ((wide >= bounds.min) & (wide <= bounds.max)).all():
            return False
    return True
