"""Matmuls and convolutions of 8-bit integers, computed in f32."""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array
from ..infra.registry import register
from ..infra.rewrite import Rewrite
from .exact_sums import EXACT

_F32 = np.dtype(np.float32)


@register
@dataclass(frozen=True)
class Int8MatmulToF32(Pass):
    """Compute matmuls and convolutions of 8-bit integers in f32.

    %1 = "graph.matmul"(%x, %w) : 128x768xui8, 768x768xi8
    -->
    %1 = "graph.cast"(%x) : 128x768xf32
    %2 = "graph.matmul"(%1, %w') : 128x768xf32, 768x768xf32
    %3 = "graph.cast"(%2) : 128x768xi32

    Exact: along K, f32 accumulates no more terms than it holds without rounding; such partial sums
    are added as integers. Machines without int8 dot products are as fast that way, and layouts,
    panels and kernels for floats serve integers too. Constant weights take four times the memory.
    """

    name = "int8-matmul-to-f32"
    anchor = FUNCTION
    only_rewrites = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [FloatMatmul(), FloatConv()], state)


def _magnitude(dtype: np.dtype) -> int:
    limits = np.iinfo(dtype)
    return max(-int(limits.min), int(limits.max))


def exact_terms(a: np.dtype, b: np.dtype) -> int:
    """The number of products of elements of types `a` and `b` that f32 sums without rounding."""
    return EXACT // (_magnitude(a) * _magnitude(b))


def _check(a: ir.Value, b: ir.Value, terms: Any, step: int) -> str | None:
    """The reason not to sum the products in f32, or None. `terms` products are summed, in parts of
    at least `step`."""
    types = [graph.type_of(value).dtype for value in (a, b)]
    if any(dtype not in (np.int8, np.uint8) for dtype in types):
        return "only integers of 8 bits are multiplied as floats"
    if not isinstance(terms, int) or terms < 1:
        return "the number of terms is not known at compile time, or 0"
    return None if step <= exact_terms(*types) else "K is too large"


def _as_float(x: ir.Value) -> ir.Value:
    array = constant_array(x)
    return graph.cast(x, to=_F32) if array is None else graph.constant(value=array.astype(_F32))


def _part(x: ir.Value, axis: int, start: int, size: int) -> ir.Value:
    """The slice of `x` along `axis`, `size` elements from `start` on."""
    array = constant_array(x)
    shape = graph.type_of(x).shape
    axis %= len(shape)
    if size == shape[axis]:
        return x
    if array is not None:
        return graph.constant(value=np.take(array, range(start, start + size), axis))
    starts, sizes = [0] * len(shape), list(shape)
    starts[axis], sizes[axis] = start, size
    return graph.slice_(x, starts=starts, sizes=sizes, steps=[1] * len(shape))


def _summed(
    length: int, most: int, build: Callable[[int, int], ir.Value], to: np.dtype
) -> ir.Value:
    """The sum of the results of `build` for the parts of `length`, each of at most `most`."""
    parts = [
        graph.cast(build(start, min(most, length - start)), to=to)
        for start in range(0, length, most)
    ]
    return functools.reduce(graph.add, parts)


class FloatMatmul(Rewrite):
    """``matmul(bytes, bytes)  -->  cast(matmul(floats, floats))``."""

    name = "float-matmul"
    root = graph.MatmulOp

    def pattern(self, op: graph.MatmulOp) -> dict[str, Any] | None:
        return {} if graph.is_integer(graph.type_of(op.a).dtype) else None

    def check(self, op: graph.MatmulOp) -> str | None:
        return _check(op.a, op.b, graph.type_of(op.a).shape[-1], 1)

    def rewrite(self, op: graph.MatmulOp) -> ir.Value:
        length = graph.static_size(graph.type_of(op.a).shape[-1])
        most = exact_terms(*(graph.type_of(value).dtype for value in (op.a, op.b)))

        def partial_sum(start: int, size: int) -> ir.Value:
            a, b = _part(op.a, -1, start, size), _part(op.b, -2, start, size)
            return graph.matmul(_as_float(a), _as_float(b))

        return _summed(length, most, partial_sum, graph.type_of(op.result).dtype)


class FloatConv(Rewrite):
    """``conv(bytes, bytes)  -->  cast(conv(floats, floats))``."""

    name = "float-conv"
    root = graph.ConvOp

    def pattern(self, op: graph.ConvOp) -> dict[str, Any] | None:
        if not graph.is_integer(graph.type_of(op.x).dtype):
            return None
        first = op.attrs["layout"] == "channels_first"
        shape = graph.type_of(op.w).shape
        taps = math.prod(map(graph.static_size, shape[2:] if first else shape[:-2]))
        channels = shape[1 if first else -2]
        return {"axis": 1 if first else -1, "channels": channels, "taps": taps} if taps else None

    def check(self, op: graph.ConvOp, axis: int, channels: Any, taps: int) -> str | None:
        if op.attrs["groups"] == 1:  # channels are split where it takes that
            return _check(op.x, op.w, channels, taps)
        terms = channels * taps
        return _check(op.x, op.w, terms, terms)

    def rewrite(self, op: graph.ConvOp, axis: int, channels: Any, taps: int) -> ir.Value:
        most = exact_terms(*(graph.type_of(value).dtype for value in (op.x, op.w))) // taps

        def partial_sum(start: int, size: int) -> ir.Value:
            whole = size == channels
            x = op.x if whole else _part(op.x, axis, start, size)
            w = op.w if whole else _part(op.w, 1 if axis == 1 else -2, start, size)
            return graph.conv(_as_float(x), _as_float(w), **op.attrs)

        return _summed(channels, most, partial_sum, graph.type_of(op.result).dtype)
