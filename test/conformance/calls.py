"""Calls of one model with the inputs of a case and with other inputs."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from onnx.backend.test.runner import Runner

from graphc.errors import GraphcError
from graphc.onnx_backend import GraphcBackendRep
from graphc.runtime import load
from harness.variation import ROUNDS, order_of_calls, other_values

from .cases import SuiteCase


def check_calls(
    case: SuiteCase,
    prepared: GraphcBackendRep,
    inputs: Sequence[Any],
    expected: Sequence[Any],
    rounds: int = ROUNDS,
) -> None:
    """Call the model alternately with `inputs` and with other inputs of the same shapes, each twice
    in a row, in `rounds`.

    Raises AssertionError if `inputs` do not give `expected` or not the same bits each time, or if
    other inputs give other results than in a model without earlier calls. The suite does not define
    expected results for the other inputs.
    """
    first = list(prepared.run(inputs))
    _compare(list(expected), first, case)
    random = np.random.default_rng(0)
    others = [_other(value, random) for value in inputs]
    alone = _alone(prepared, others)
    for number in reversed(order_of_calls(1 if alone is None else 2, rounds)):
        if number == 0:
            _require_same(first, prepared.run(inputs), "called again, output")
        else:
            _require_same(alone, prepared.run(others), "called with other values, output")


def _other(value: Any, random: np.random.Generator) -> Any:
    if isinstance(value, list):
        return [_other(each, random) for each in value]
    return other_values(value, random) if isinstance(value, np.ndarray) else value


def _alone(prepared: GraphcBackendRep, inputs: Sequence[Any]) -> list[Any] | None:
    """The results for `inputs` of a model without earlier calls.

    None if the model fails for such values, or if there is no code to load again.
    """
    try:
        with _loaded_anew(prepared) as fresh:
            return list(fresh.run(inputs))
    except GraphcError:
        return None


@contextmanager
def _loaded_anew(prepared: GraphcBackendRep) -> Iterator[GraphcBackendRep]:
    """The same code, loaded as a separate model. Raises UsageError if the model is interpreted."""
    with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
        path = Path(folder, "model")
        prepared.model.save(path)
        with closing(load(path, threads=1)) as fresh:
            yield GraphcBackendRep(fresh)


def _require_same(wanted: Any, given: Any, what: str) -> None:
    """Raise AssertionError if `given` is not bitwise identical to `wanted`."""
    for number, (a, b) in enumerate(zip(wanted, given, strict=True)):
        assert _is_same(a, b), f"{what} {number} is another: {_shown(b)}, not {_shown(a)}"


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_is_same, a, b))
    if not isinstance(a, np.ndarray):
        return type(a) is type(b) and a == b
    if not isinstance(b, np.ndarray) or (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return a.tobytes() == b.tobytes() if a.dtype != object else np.array_equal(a, b)


def _shown(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def _compare(expected: Any, given: Any, case: SuiteCase) -> None:
    """Raise AssertionError if `given` differs from `expected`.

    Sequences are compared item by item. ONNX's own comparison does so only if the items are not
    scalars.
    """
    if isinstance(expected, list):
        assert isinstance(given, list), f"a {type(given).__name__} instead of a sequence"
        assert len(given) == len(expected), f"{len(given)} values instead of {len(expected)}"
        for wanted, value in zip(expected, given, strict=True):
            _compare(wanted, value, case)
    elif expected is None:
        assert given is None, f"{given} instead of an empty optional"
    else:
        Runner.assert_similar_outputs([expected], [given], rtol=case.rtol, atol=case.atol)
