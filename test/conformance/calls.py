"""Calls of one model with the inputs of a case and with others."""

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
from harness.variation import order_of_calls, other_values

from .cases import Case


def check_calls(
    case: Case, prepared: GraphcBackendRep, inputs: Sequence[Any], expected: Sequence[Any]
) -> None:
    """Call the model with `inputs` and with others of the same shapes by turns.

    AssertionError where `inputs` do not give what is `expected`, or not the same bits each time, or
    where others give something else than they do in a model that was not called before. What these
    must give, the suite does not say.
    """
    first = list(prepared.run(inputs))
    _compare(list(expected), first, case)
    random = np.random.default_rng(0)
    others = [_other(value, random) for value in inputs]
    alone = _alone(prepared, others)
    for number in order_of_calls(1 if alone is None else 2):
        if number == 0:
            _require_same(first, prepared.run(inputs), "called again, output")
        else:
            _require_same(alone, prepared.run(others), "called with other values, output")


def _other(value: Any, random: np.random.Generator) -> Any:
    if isinstance(value, list):
        return [_other(each, random) for each in value]
    return other_values(value, random) if isinstance(value, np.ndarray) else value


def _alone(prepared: GraphcBackendRep, inputs: Sequence[Any]) -> list[Any] | None:
    """The results for `inputs` of a model that was not called before. None if the model fails for
    such values, or if there is no code that could be loaded again."""
    try:
        with _loaded_anew(prepared) as fresh:
            return list(fresh.run(inputs))
    except GraphcError:
        return None


@contextmanager
def _loaded_anew(prepared: GraphcBackendRep) -> Iterator[GraphcBackendRep]:
    """The same code as a model of its own. UsageError where there is none: it is interpreted."""
    with tempfile.TemporaryDirectory(prefix="graphc-") as folder:
        path = Path(folder, "model")
        prepared.model.save(path)
        with closing(load(path, threads=1)) as fresh:
            yield GraphcBackendRep(fresh)


def _require_same(wanted: Any, given: Any, what: str) -> None:
    """AssertionError where `given` is not `wanted`, to the bit."""
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


def _compare(expected: Any, given: Any, case: Case) -> None:
    """AssertionError where `given` is something else. Sequences are compared item by item, which
    ONNX's own comparison does only where their items are no scalars."""
    if isinstance(expected, list):
        assert isinstance(given, list), f"a {type(given).__name__} instead of a sequence"
        assert len(given) == len(expected), f"{len(given)} values instead of {len(expected)}"
        for wanted, value in zip(expected, given, strict=True):
            _compare(wanted, value, case)
    elif expected is None:
        assert given is None, f"{given} instead of an empty optional"
    else:
        Runner.assert_similar_outputs([expected], [given], rtol=case.rtol, atol=case.atol)
