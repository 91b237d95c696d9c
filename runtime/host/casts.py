"""Casts between numbers and strings, spelled as in ONNX Runtime."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from .reference import implementation_of
from .registry import HostError, host_op
from .strings import as_strings

_FLOAT = re.compile(
    r"\s*([+-]?(?:inf(?:inity)?|nan|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?))", re.IGNORECASE | re.ASCII
)
_HEX = re.compile(r"\s*([+-]?0x[0-9a-f]+\.?[0-9a-f]*(?:p[+-]?\d+)?)", re.IGNORECASE | re.ASCII)
_INTEGER = re.compile(r"\s*([+-]?\d+)", re.ASCII)


@host_op("Cast", since=6)
def cast(*, to: int, **others: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Cast from strings and to strings; `onnx.reference` computes all other casts."""
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))

    def convert(x: np.ndarray) -> np.ndarray:
        if dtype.hasobject:
            return as_strings(_spelled(x), x.shape)
        if x.dtype.hasobject:
            return _read(x, dtype)
        evaluate = implementation_of("Cast", onnx.defs.onnx_opset_version())
        return evaluate(x, to=to, **others)

    return convert


def _spelled(x: np.ndarray) -> list[str]:
    """Floats with eight digits, NaN, INF and -INF; booleans as 1 and 0."""
    if x.dtype.hasobject:
        return x.ravel().tolist()
    if x.dtype.kind == "b" or np.issubdtype(x.dtype, np.integer):
        return [str(int(value)) for value in x.ravel().tolist()]
    return [_spell(value) for value in x.ravel().astype(np.float64).tolist()]


def _spell(value: float) -> str:
    text = f"{value:.8g}"
    return {"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(text, text)


def _read(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Parse the number at the beginning of each string."""
    if dtype.kind == "b":
        return np.array([_integer(text) != 0 for text in x.ravel()], dtype).reshape(x.shape)
    if dtype.kind in "iu":
        wide = [_integer(text) % 2**64 for text in x.ravel()]
        return np.array(wide, np.uint64).astype(dtype).reshape(x.shape)
    return np.array([_float(text) for text in x.ravel()], np.float64).astype(dtype).reshape(x.shape)


def _integer(text: str) -> int:
    found = _INTEGER.match(text)
    if found is None:
        raise HostError(f"{text!r} is no integer")
    return int(found[1])


def _float(text: str) -> float:
    if found := _HEX.match(text):
        return float.fromhex(found[1])
    if found := _FLOAT.match(text):
        return float(found[1])
    raise HostError(f"{text!r} is no number")
