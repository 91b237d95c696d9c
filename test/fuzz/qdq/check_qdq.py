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
only if both programs give the same ones: quantised outputs to the bit, those of floats up to the
order of a sum, which is another one where the backend fuses other loops into it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from functools import cache, partial
from typing import Any

import numpy as np
import onnx

from graphc.compiler.compile import compile
from graphc.compiler.options import Options
from graphc.debugging.difference import difference, tolerance_of
from graphc.errors import BackendTimeoutError, UnsupportedModelError
from graphc.runtime import CompiledModel
from harness.variation import order_of_calls

from ..check_graph import (
    COMPILE,
    ONE_THREAD,
    Check,
    CheckResult,
    error_text,
    first_problem,
    one_line,
)
from ..draw import DrawnGraph
from ..graph_outcome import GraphStatus
from ..rounds import Feeds, Inputs, evaluated_inputs
from .layer_evaluation import JudgedLayer, LayerEvaluation, expected_outputs
from .qdq_programs import GraphProgram, GraphPrograms
from .quantized_values import is_quantized_type

PRECISIONS = ("strict", "f32")
UNITS = ("cpu:znver4", "cpu:sapphirerapids")
"""Targets with units that multiply 8-bit integers, of which this machine may have none: the graph
that the passes for one of them make is interpreted."""
RARE = 1e-3
"""Largest share of the elements of a layer that may be one step off by default."""
SIGNIFICANCE = 1e-6
"""Probability that more are, by chance."""


def checks_of(case: DrawnGraph, timeout: float, **options: Any) -> Iterator[Check]:
    """Checks that compile `case` in each precision, call it repeatedly and judge its results.

    Each precision has half of `timeout` seconds. `options` are further options of `compile`.
    """
    units = UNITS[case.index % len(UNITS) :][:1]
    return _checks(case.model, quantized_inputs(case), timeout, units, **options)


def check_inputs(
    model: onnx.ModelProto,
    everything: Sequence[Inputs],
    timeout: float,
    units: Sequence[str] = UNITS,
    only: str = "",
    **options: Any,
) -> CheckResult:
    """Make the checks `checks_of` a model and its inputs: in each precision, and for each of
    `units`, or in `only` one of these ways."""
    return first_problem(_checks(model, everything, timeout, units, only, **options))


def _checks(
    model: onnx.ModelProto,
    everything: Sequence[Inputs],
    timeout: float,
    units: Sequence[str],
    only: str = "",
    **options: Any,
) -> Iterator[Check]:
    """A check for each way that gives another program than those before."""
    settings = {**COMPILE, "extra_flags": ONE_THREAD, "timeout": timeout / 2, **options}
    ending, programs = partial(_ending, timeout / 2), GraphPrograms(model)
    for name, way in _ways(settings, units).items():
        if only not in ("", name):
            continue
        try:
            program = programs.new(way)
        except Exception as error:
            yield partial(ending, name, partial(_raise, error))
            return
        if program is not None:
            yield partial(ending, name, partial(_check, everything, program))


def _ending(seconds: float, name: str, check: Check) -> CheckResult:
    """The result of `check`, which has `seconds` for the backend, in the way `name`."""
    try:
        found = check()
    except UnsupportedModelError as error:
        return CheckResult(GraphStatus.UNSUPPORTED, one_line(error))
    except BackendTimeoutError:
        return CheckResult(GraphStatus.HANG, f"not compiled after {seconds:g} s")
    except Exception as error:  # an exception of any class is a finding
        return CheckResult(GraphStatus.ERROR, f"{name}: {error_text(error)}")
    if found.status is GraphStatus.PASS:
        return found
    return found._replace(detail=f"{name}: {found.detail}")


def _raise(error: Exception) -> CheckResult:
    raise error


def _ways(settings: Mapping[str, Any], units: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The settings of each precision, and those that interpret the passes for `units`."""
    found = {each: {**settings, "precision": each} for each in PRECISIONS}
    for target in units if "target" not in settings else ():
        pipeline = Options.of(target, threads=1, cache=False).pipeline
        found[target] = {**settings, "target": "interpret", "pipeline": pipeline}
    return found


def quantized_inputs(case: DrawnGraph) -> list[Inputs]:
    """The inputs that `case` was drawn with, and others of other values and sizes."""
    random = np.random.default_rng([case.seed, case.index, 1])

    def evaluate(feeds: Feeds) -> Inputs | None:
        expected = expected_outputs(case.model, feeds)
        return None if expected is None else Inputs(feeds, expected)

    others = evaluated_inputs(case.model, case.feeds, evaluate, random)
    return [Inputs(case.feeds, case.expected), *others]


def _check(everything: Sequence[Inputs], program: GraphProgram) -> CheckResult:
    with closing(program.compiled()) as compiled:
        return _check_calls(program, compiled, everything)


def _check_calls(
    program: GraphProgram, compiled: CompiledModel, everything: Sequence[Inputs]
) -> CheckResult:
    known: dict[int, list[np.ndarray]] = {}
    numbers = range(len(everything))
    for number in numbers if program.is_interpreted else order_of_calls(len(everything)):
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
            problem = _judge_layers(program.model, inputs, have, program.settings)
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
        if not problem and layer.name in have:
            problem = problem_of_change(layer, given[layer.name], have[layer.name], allows_steps)
        if problem:
            return problem
    return ""


def problem_of_change(
    layer: JudgedLayer, given: np.ndarray, have: np.ndarray, allows_steps: bool
) -> str:
    """A description of what is wrong with `have`, an output of the first program, beside `given`,
    that of the program with all quantised values as outputs."""
    if given.tobytes() == have.tobytes():
        return ""
    if is_quantized_type(have.dtype):
        apart = _problem({layer.name: have}, {layer.name: given}) or "by a step"
    else:
        apart = problem_of_layer(layer, have, allows_steps)
    return f"changes if all quantised values are outputs: {apart}" if apart else ""


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
    rare, most = Decimal(RARE), 0  # many elements are beyond the range of floats
    share = (1 - rare) ** count
    left = 1 - share
    while left > SIGNIFICANCE:
        share *= rare * (count - most) / ((1 - rare) * (most + 1))
        most += 1
        left -= share
    return most
