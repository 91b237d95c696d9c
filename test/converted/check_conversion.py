"""Check one converted model: compare the compiled model with ONNX Runtime."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import onnx

import graphc
from converted.conversion_outcome import ConversionOutcome, ConversionStatus
from fuzz.rounds import Inputs, is_unsteady
from graphc.debugging.difference import difference, tolerance_of
from graphc.debugging.onnx.evaluators import open_runtime
from graphc.errors import (
    BackendTimeoutError,
    ReferenceRunError,
    UnsupportedModelError,
)
from harness.variation import order_of_calls, other_sizes, other_values

TIMEOUT = 90.0
"""Seconds for the backend, per model."""
ONE_THREAD = ("--mlir-disable-threading",)
"""Backend flags: one thread, because each core already compiles a case of its own."""
TRIES = 3
"""Number of attempts to draw other inputs that ONNX Runtime accepts."""

Feeds = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Converted:
    """A model, its inputs, and optionally the results of the framework."""

    model: onnx.ModelProto
    feeds: Feeds
    expected: Sequence[Any] | None = None


def check(name: str, converted: Converted) -> ConversionOutcome:
    """Compile one model and compare its results with ONNX Runtime."""
    model, outputs = converted.model, [info.name for info in converted.model.graph.output]
    try:
        run = open_runtime(model, outputs)
        first, again = (list(run(converted.feeds).values()) for _ in range(2))
    except ReferenceRunError as error:
        return ConversionOutcome(name, ConversionStatus.NO_REFERENCE, _line(error))
    if problem := _problem(again, first):
        return ConversionOutcome(
            name, ConversionStatus.NO_REFERENCE, f"from call to call, {problem}"
        )
    if converted.expected is not None and (problem := _problem(first, converted.expected)):
        return ConversionOutcome(
            name, ConversionStatus.NO_REFERENCE, f"ONNX Runtime beside the framework: {problem}"
        )
    everything = [(converted.feeds, first), *_others(converted, run)]
    try:
        made = graphc.compile(
            model,
            threads=1,
            cache=False,
            timeout=TIMEOUT,
            extra_flags=ONE_THREAD,
        )
        with closing(made) as compiled:
            return _calls(name, model, compiled, everything)
    except UnsupportedModelError as error:
        return ConversionOutcome(name, ConversionStatus.UNSUPPORTED, _line(error))
    except BackendTimeoutError:
        return ConversionOutcome(name, ConversionStatus.HANG, f"not compiled after {TIMEOUT:g} s")
    except Exception as error:  # an exception of any other class is a finding, too
        return ConversionOutcome(
            name, ConversionStatus.ERROR, f"{type(error).__name__}: {_line(error)}", 1
        )


def _calls(
    name: str,
    model: onnx.ModelProto,
    compiled: graphc.CompiledModel,
    everything: Sequence[tuple[Feeds, list[Any]]],
) -> ConversionOutcome:
    """The first call whose results differ from those of ONNX Runtime."""
    order, decided = order_of_calls(len(everything)), set[int]()
    for call, number in enumerate(order):
        feeds, expected = everything[number]
        if number in decided:
            continue
        problem = _problem(compiled.run(None, dict(feeds)), expected)
        if problem and (_is_random(model) or _rounding_decides(model, feeds, expected)):
            decided.add(number)
        elif problem:
            detail = f"call {call}, inputs {number}: {problem}"
            return ConversionOutcome(name, ConversionStatus.WRONG, detail, 1, call, compiled.native)
    if 0 in decided:
        detail = "rounding of the inputs, or chance, changes ONNX Runtime's results as much"
        return ConversionOutcome(
            name, ConversionStatus.NO_REFERENCE, detail, 1, len(order), compiled.native
        )
    return ConversionOutcome(name, ConversionStatus.PASS, "", 1, len(order), compiled.native)


def _others(
    converted: Converted, run: Callable[[Feeds], Mapping[str, Any]]
) -> Iterator[tuple[Feeds, list[Any]]]:
    """Inputs with other values, and with larger and smaller sizes, with the results of ONNX
    Runtime."""
    random = np.random.default_rng(0)
    feeds = converted.feeds
    dims = {
        info.name: [dim.dim_value or "any" for dim in info.type.tensor_type.shape.dim]
        for info in converted.model.graph.input
    }

    def values() -> Feeds | None:
        return {name: other_values(array, random) for name, array in feeds.items()}

    ways = [
        values,
        *(partial(other_sizes, dims, feeds, random, larger) for larger in (True, False)),
    ]
    for way in ways:
        for _ in range(TRIES):
            found = way()
            given = _given(run, found) if found else None
            if found and given is not None:
                yield found, given
                break


def _given(run: Callable[[Feeds], Mapping[str, Any]], feeds: Feeds) -> list[Any] | None:
    """The results of ONNX Runtime; None if it rejects `feeds`, or if a result is not finite."""
    try:
        results = list(run(feeds).values())
    except ReferenceRunError:
        return None
    return results if all(map(_is_finite, results)) else None


def _is_finite(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fc":
        return True
    return bool(np.isfinite(value).all())


_RANDOM = ("Bernoulli", "Dropout", "Multinomial", "Random")
"""Beginnings of the names of operators that draw numbers."""


def _is_random(model: onnx.ModelProto) -> bool:
    """Return whether an operator draws numbers, in the graph or in a function."""
    nodes = [model.graph.node, *(function.node for function in model.functions)]
    return any(node.op_type.startswith(_RANDOM) for node in chain.from_iterable(nodes))


def _rounding_decides(model: onnx.ModelProto, feeds: Feeds, expected: Sequence[Any]) -> bool:
    names = [info.name for info in model.graph.output]
    wanted = dict(zip(names, expected, strict=True))
    if not all(isinstance(value, np.ndarray) and value.dtype.kind in "biuf" for value in expected):
        return False
    tolerances = {name: tolerance_of(value.dtype, None) for name, value in wanted.items()}
    random = np.random.default_rng(0)
    return is_unsteady(model, Inputs(feeds, wanted), tolerances, "onnxruntime", random)


def _problem(have: Any, want: Any) -> str:
    """The first difference of `have` from `want`, which are arrays, lists or dicts; empty if they
    agree."""
    if _are_maps(have) and _are_maps(want):
        have, want = _joined(have), _joined(want)
    if isinstance(want, list | tuple):
        if not isinstance(have, list | tuple) or len(have) != len(want):
            return f"{_kind(have)}, not {_kind(want)}"
        found = (_problem(a, b) for a, b in zip(have, want, strict=True))
        return next((f"[{i}] {problem}" for i, problem in enumerate(found) if problem), "")
    if isinstance(want, dict):
        if not isinstance(have, dict):
            return f"{_kind(have)}, not {_kind(want)}"
        return _problem(list(have), list(want)) or _problem(_values(have), _values(want))
    a, b = np.asarray(have), np.asarray(want)
    if a.shape != b.shape or (isinstance(want, np.ndarray) and _name(a) != _name(b)):
        return f"{_kind(a)}, not {_kind(b)}"
    if b.dtype.kind in "OUST":
        return "" if np.array_equal(a.astype(str), b.astype(str)) else f"{a.tolist()[:4]}"
    apart = difference(a, b)
    close = apart.relative <= tolerance_of(_precision(b), None) or math.isclose(apart.absolute, 0)
    return "" if close else f"off by {apart.relative:.2e}: at {apart.place}"


def _are_maps(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _joined(maps: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    return {(i, key): value for i, each in enumerate(maps) for key, value in each.items()}


def _values(of: Mapping[Any, Any]) -> np.ndarray | list[Any]:
    """The values of a map. Numbers become one array, because their tolerance depends on the
    largest."""
    values = list(of.values())
    return np.array(values) if all(isinstance(each, float) for each in values) else values


def _precision(array: np.ndarray) -> np.dtype:
    """The type it was computed in: numbers in maps, and scores of a support vector machine cast to
    f64, are f32. Whole numbers say nothing of that."""
    narrow = np.dtype(np.float32)
    if array.dtype != np.float64 or np.array_equal(np.rint(array), array, equal_nan=True):
        return array.dtype
    with np.errstate(over="ignore"):
        is_narrow = np.array_equal(array.astype(narrow), array, equal_nan=True)
    return narrow if is_narrow else array.dtype


def _name(array: np.ndarray) -> str:
    return "string" if array.dtype.kind in "OUST" else array.dtype.name


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{_name(value)}{list(value.shape)}"
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else repr(value)


def _line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text.partition(" reproducer: ")[0][:300]
