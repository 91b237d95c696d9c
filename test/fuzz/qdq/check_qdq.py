"""Judgement of QDQ graphs, in both precisions that compute in f32.

With ``precision="strict"`` every quantised result is one of the right answers of
`layer_evaluation`: that of the graph evaluated op by op, and a neighbouring one only where rounding
of a sum leaves it open.

By default a sum may be computed by fewer multiplications and a scale may be applied to the sum, so
that an element may go to the neighbouring step if its quotient lies near the middle between two.
With an error of 5e-4 of a step, which is that of Winograd for the largest result of 8 bits, one in
a thousand elements does. So in a layer of n elements the number of such elements is at most the
quantile of the binomial distribution of n and 1e-3 that chance exceeds once in a million layers:
1 of 1, 4 of 100, 9 of 1,000, 45 of 20,000. None is off by more than one step.

A step in one layer changes what the next layers get. So a graph whose outputs are all as expected
passes; another one is compiled again with all its quantised values as outputs, and each layer is
judged for the values that the layers before it gave. That explains the outputs of the first program
only if both programs give the same ones.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any

import numpy as np
import onnx
from lowering_digests import digest, normalised

from graphc.compiler.compile import compile
from graphc.compiler.driver import begin, make_options
from graphc.compiler.options import Options
from graphc.debugging.difference import difference, tolerance_of
from graphc.errors import BackendTimeoutError, UnsupportedModelError
from graphc.runtime import CompiledModel
from harness.variation import order_of_calls

from ..check_graph import (
    COMPILE,
    ONE_THREAD,
    CheckResult,
    error_text,
    one_line,
)
from ..draw import DrawnGraph
from ..graph_outcome import GraphStatus
from ..rounds import Feeds, Inputs, evaluated_inputs
from .layer_evaluation import JudgedLayer, LayerEvaluation, expected_outputs
from .quantized_values import is_quantized_type

PRECISIONS = ("strict", "f32")
UNITS = ("cpu:znver4", "cpu:sapphirerapids")
"""Targets with units that multiply 8-bit integers, of which this machine may have none: the graph
that the passes for one of them make is interpreted."""
RARE = 1e-3
"""Largest share of the elements of a layer that may be one step off by default."""
SIGNIFICANCE = 1e-6
"""Probability that more are, by chance."""


def check_qdq(case: DrawnGraph, timeout: float, **options: Any) -> CheckResult:
    """Compile `case` in each precision, call it repeatedly and judge its results.

    Each precision has half of `timeout` seconds. `options` are further options of `compile`.
    """
    units = UNITS[case.index % len(UNITS) :][:1]
    return check_inputs(case.model, quantized_inputs(case), timeout, units, **options)


def check_inputs(
    model: onnx.ModelProto,
    everything: Sequence[Inputs],
    timeout: float,
    units: Sequence[str] = UNITS,
    only: str = "",
    **options: Any,
) -> CheckResult:
    """`check_qdq` of a model and its inputs: in each precision, and for each of `units`, or in
    `only` one of these ways. One that gives the program of an earlier one is left out."""
    settings = {**COMPILE, "extra_flags": ONE_THREAD, "timeout": timeout / 2, **options}
    programs: set[str] = set()
    for name, way in _ways(settings, units).items():
        if only not in ("", name):
            continue
        try:
            program = _program(model, way)
            found = CheckResult(GraphStatus.PASS)
            if program not in programs:
                found = _check(model, everything, way)
        except UnsupportedModelError as error:
            return CheckResult(GraphStatus.UNSUPPORTED, one_line(error))
        except BackendTimeoutError:
            return CheckResult(GraphStatus.HANG, f"not compiled after {timeout / 2:g} s")
        except Exception as error:  # an exception of any class is a finding
            return CheckResult(GraphStatus.ERROR, f"{name}: {error_text(error)}")
        if found.status is not GraphStatus.PASS:
            return found._replace(detail=f"{name}: {found.detail}")
        programs.add(program)
    return CheckResult(GraphStatus.PASS)


def _ways(settings: Mapping[str, Any], units: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The settings of each precision, and those that interpret the passes for `units`."""
    found = {each: {**settings, "precision": each} for each in PRECISIONS}
    for target in units if "target" not in settings else ():
        pipeline = Options.of(target, threads=1, cache=False).pipeline
        found[target] = {**settings, "target": "interpret", "pipeline": pipeline}
    return found


def _program(model: onnx.ModelProto, settings: Mapping[str, Any]) -> str:
    """The digest of what the graph passes make of `model`, which decides its code."""
    compilation = begin(model, make_options(**{"target": "cpu", **settings}))
    compilation.graph_passes()
    return digest(normalised(compilation.module), compilation.module)


def quantized_inputs(case: DrawnGraph) -> list[Inputs]:
    """The inputs that `case` was drawn with, and others of other values and sizes."""
    random = np.random.default_rng([case.seed, case.index, 1])

    def evaluate(feeds: Feeds) -> Inputs | None:
        expected = expected_outputs(case.model, feeds)
        return None if expected is None else Inputs(feeds, expected)

    others = evaluated_inputs(case.model, case.feeds, evaluate, random)
    return [Inputs(case.feeds, case.expected), *others]


def _check(
    model: onnx.ModelProto, everything: Sequence[Inputs], settings: Mapping[str, Any]
) -> CheckResult:
    with closing(compile(model, **settings)) as compiled:
        return _check_calls(model, compiled, everything, settings)


def _check_calls(
    model: onnx.ModelProto,
    compiled: CompiledModel,
    everything: Sequence[Inputs],
    settings: Mapping[str, Any],
) -> CheckResult:
    known: dict[int, list[np.ndarray]] = {}
    is_compiled = settings.get("target") != "interpret"
    numbers = range(len(everything))
    for number in order_of_calls(len(everything)) if is_compiled else numbers:
        inputs = everything[number]
        results = compiled.run(list(inputs.expected), dict(inputs.feeds))
        if number in known:
            if not _equal(known[number], results):
                detail = "the results of a call depend on earlier ones"
                return CheckResult(GraphStatus.WRONG, detail, number, alone=False)
            continue
        known[number] = results
        have = dict(zip(inputs.expected, results, strict=True))
        problem = _problem(have, inputs.expected)
        if problem:
            problem = _judge_layers(model, inputs, have, settings)
        if problem:
            return CheckResult(GraphStatus.WRONG, problem, number)
    return CheckResult(GraphStatus.PASS)


def _equal(have: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(have, wanted, strict=True))


def _problem(have: Feeds, expected: Feeds) -> str:
    """A description of the first result that is not as `expected`, floats within their
    tolerance."""
    for name, wanted in expected.items():
        given = have[name]
        if (given.dtype, given.shape) != (wanted.dtype, wanted.shape):
            types = [f"{each.dtype}{list(each.shape)}" for each in (given, wanted)]
            return f"'{name}' is {types[0]}, not {types[1]}"
        apart = difference(given, wanted)
        if apart.relative > tolerance_of(wanted.dtype, None):
            return f"'{name}' is off by {apart.relative:.2e}: at {apart.place}"
    return ""


def _judge_layers(
    model: onnx.ModelProto, inputs: Inputs, have: Feeds, settings: Mapping[str, Any]
) -> str:
    """Judge the program with all quantised values as outputs; return the first problem."""
    exposed = with_quantized_outputs(model, inputs.feeds)
    names = [info.name for info in exposed.graph.output]
    with closing(compile(exposed, **settings)) as compiled:
        given = dict(zip(names, compiled.run(names, dict(inputs.feeds)), strict=True))
    allows_steps = settings.get("precision") != "strict"
    for layer in LayerEvaluation(model).layers(inputs.feeds, given):
        problem = problem_of_layer(layer, given[layer.name], allows_steps)
        if problem:
            return problem
    for name, array in have.items():
        if given[name].tobytes() != array.tobytes():
            apart = _problem({name: array}, {name: given[name]}) or "by rounding"
            return f"changes if all quantised values are outputs: {apart}"
    return ""


def with_quantized_outputs(model: onnx.ModelProto, feeds: Feeds) -> onnx.ModelProto:
    """`model` with all its quantised values as outputs, too."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    outputs = {info.name for info in model.graph.output}
    written = {name for node in model.graph.node for name in node.output}
    for name, array in LayerEvaluation(model).computed(feeds).items():
        if is_quantized_type(array.dtype) and name in written - outputs:
            kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            info = onnx.helper.make_tensor_value_info(name, kind, [None] * array.ndim)
            copy.graph.output.append(info)
    return copy


def problem_of_layer(layer: JudgedLayer, have: np.ndarray, allows_steps: bool) -> str:
    """A description of what is wrong with `have` as the result of `layer`; empty if nothing is."""
    wanted = layer.wanted
    if (have.dtype, have.shape) != (wanted.dtype, wanted.shape):
        return _problem({layer.name: have}, {layer.name: wanted})
    if not is_quantized_type(wanted.dtype):
        is_right = (layer.low <= have) & (have <= layer.high)
        return _problem({layer.name: np.where(is_right, wanted, have)}, {layer.name: wanted})
    numbers, low, high = (array.astype(np.int64) for array in (have, layer.low, layer.high))
    beyond = np.maximum(low - numbers, numbers - high)
    off = int((beyond > 0).sum())
    most = most_steps(have.size) if allows_steps else 0
    if off > most or (off and beyond.max() > 1):
        at = tuple(map(int, np.unravel_index(np.argmax(beyond), beyond.shape)))
        return (
            f"layer '{layer.name}': {off} of {have.size} elements are up to {beyond.max()} steps "
            f"off, at {list(at)} {numbers[at]}, not {layer.wanted[at]}"
        )
    return ""


@cache
def most_steps(count: int) -> int:
    """The smallest number that chance exceeds with a probability below `SIGNIFICANCE` if each of
    `count` elements is a step off with the probability `RARE`."""
    left, most = 1.0, -1
    while left > SIGNIFICANCE:
        most += 1
        left -= math.comb(count, most) * RARE**most * (1 - RARE) ** (count - most)
    return most
