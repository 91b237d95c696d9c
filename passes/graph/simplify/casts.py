"""Conversions of element type."""

from typing import Any

import ml_dtypes
import numpy as np

from ....dialects import graph
from ....dialects.graph.types import is_float, is_integer
from ...infra.query import producer, same_type
from ...infra.rewrite import Rewrite, rewrite

WIDE_FLOATS = tuple(map(np.dtype, (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)))


@rewrite(graph.CastOp)
def cast_to_same(op: graph.CastOp) -> Any:
    """``cast(x : T) to T  -->  x``. Exact."""
    return op.x if same_type(op.x, op.operation.results[0]) else None


class CastChain(Rewrite):
    """``cast(cast(x : A) to B) to C  -->  cast(x) to C`` where B holds every value of A. Exact.

    Declined if values of A beyond the range of C saturate only by way of B.
    """

    name = "cast-chain"
    root = graph.CastOp

    def pattern(self, op: graph.CastOp) -> dict[str, Any] | None:
        inner = producer(op.x, graph.CastOp)
        return None if inner is None else {"inner": inner}

    def check(self, op: graph.CastOp, inner: graph.CastOp) -> str | None:
        source, between, target = graph.type_of(inner.x).dtype, inner.attrs["to"], op.attrs["to"]
        if not holds(between, source):
            return f"{between} does not hold every {source}"
        if is_integer(source) and is_float(between) and is_integer(target):
            return None if holds(target, source) else f"{target} does not hold every {source}"
        if source == target and graph.is_minifloat(source):
            return f"infinities of {source} become finite by way of {between}"
        return None

    def rewrite(self, op: graph.CastOp, inner: graph.CastOp) -> Any:
        return graph.cast(inner.x, to=op.attrs["to"])


def holds(wide: np.dtype, narrow: np.dtype) -> bool:
    """Return whether every value of `narrow` is a value of `wide`."""
    if wide == narrow:
        return True
    if narrow == np.bool_:
        return True
    if is_integer(narrow):
        info = ml_dtypes.iinfo(narrow)
        if is_integer(wide):
            other = ml_dtypes.iinfo(wide)
            return other.min <= info.min and info.max <= other.max
        bits = int(info.max).bit_length()
        return wide in WIDE_FLOATS and bits <= ml_dtypes.finfo(wide).nmant + 1
    if not is_float(narrow) or wide not in WIDE_FLOATS:
        return False
    small, large = ml_dtypes.finfo(narrow), ml_dtypes.finfo(wide)
    return (
        large.nmant >= small.nmant
        and large.maxexp >= small.maxexp
        and large.minexp <= small.minexp
        and large.minexp - large.nmant <= small.minexp - small.nmant
    )


REWRITES = (cast_to_same, CastChain())
