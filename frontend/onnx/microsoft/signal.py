"""Fourier transforms of real signals."""

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError
from ..operators.signal import transform
from .registry import microsoft_op


@microsoft_op("Rfft")
def rfft(x, *, normalized=0, onesided=1, signal_ndim=1):
    """``[..., n]`` to its frequencies that are not negative, ``[..., n / 2 + 1, 2]``."""
    _require_plain(normalized, onesided, signal_ndim)
    rank = graph.type_of(x).rank
    return transform(_in_parts(x), rank - 1, None, inverse=False, onesided=True)


@microsoft_op("Irfft")
def irfft(x, *, signal_ndim, normalized=0, onesided=1):
    """The inverse of `rfft`, for signals of even length."""
    _require_plain(normalized, onesided, signal_ndim)
    y = transform(x, graph.type_of(x).rank - 2, None, inverse=True, onesided=True)
    return graph.reshape(y, shape=graph.type_of(y).shape[:-1])


def _in_parts(x: ir.Value) -> ir.Value:
    return graph.reshape(x, shape=[*graph.type_of(x).shape, 1])


def _require_plain(normalized: int, onesided: int, signal_ndim: int) -> None:
    if normalized or not onesided:
        raise graph.TypeRuleError("normalized must be 0, and onesided 1")
    if signal_ndim != 1:
        raise UnsupportedError(f"signals of {signal_ndim} dimensions")
