"""Folding of scale, bias and conversions into an adjacent normalisation."""

from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array, has_one_use, producer
from ...infra.rewrite import Rewrite

Norm = graph.LayerNormOp | graph.RmsNormOp
_NORMS = (graph.LayerNormOp, graph.RmsNormOp)


class NormScale(Rewrite):
    """``norm(x, scale, bias) * c  -->  norm(x, scale * c, bias * c)`` for constants.

    `norm` is `layer_norm` or `rms_norm`. Exact for a scale of ones without a bias, else but for
    rounding.
    """

    name = "recognize-norm-scale"
    root = graph.MulOp

    def pattern(self, op: graph.BinaryOp):
        return _norm_and_constant(op, _NORMS)

    def check(self, op: graph.BinaryOp, *, norm: Norm, c: ir.Value):
        return _fit_problem(op, norm, c)

    def rewrite(self, op: graph.BinaryOp, *, norm: Norm, c: ir.Value):
        bias = _bias(norm)
        bias = None if bias is None else _combined(np.multiply, bias, c, norm)
        return _rebuilt(norm, _combined(np.multiply, norm.scale, c, norm), bias)


class NormBias(Rewrite):
    """``layer_norm(x, scale, bias) + c  -->  layer_norm(x, scale, bias + c)`` for constants.

    Exact without a bias, else but for rounding.
    """

    name = "recognize-norm-bias"
    root = graph.AddOp

    def pattern(self, op: graph.BinaryOp):
        return _norm_and_constant(op, graph.LayerNormOp)

    def check(self, op: graph.BinaryOp, *, norm: Norm, c: ir.Value):
        return _fit_problem(op, norm, c)

    def rewrite(self, op: graph.BinaryOp, *, norm: Norm, c: ir.Value):
        bias = _bias(norm)
        if bias is None:
            zero = np.zeros((), graph.type_of(c).dtype)
            bias = graph.constant(value=zero)
        return _rebuilt(norm, norm.scale, _combined(np.add, bias, c, norm))


class NormInNarrowType(Rewrite):
    """``cast(norm(cast(x : f16 to f32), scale) to f16)  -->  norm(x, scale)``.

    Also for bf16: norms of narrow types compute in f32 anyway. Exact.
    """

    name = "recognize-norm-in-narrow-type"
    root = graph.CastOp

    def pattern(self, op: graph.CastOp):
        norm = producer(op.x, _NORMS)
        cast = None if norm is None else producer(norm.x, graph.CastOp)
        return None if cast is None else {"norm": norm, "x": cast.x}

    def check(self, op: graph.CastOp, *, norm: Norm, x: ir.Value):
        if x.type != op.result.type:
            return "its operand is not of the type that it is converted to"
        if not has_one_use(norm.result):
            return "its unconverted result is used elsewhere"
        dtype = graph.type_of(x).dtype
        for value in (norm.scale, _bias(norm)):
            array = None if value is None else constant_array(value)
            if value is not None and (array is None or not _is_exact(array, dtype)):
                return f"its scale or bias is not a constant that {dtype} can hold"
        return None

    def rewrite(self, op: graph.CastOp, *, norm: Norm, x: ir.Value):
        dtype = graph.type_of(x).dtype
        bias = _bias(norm)
        narrow = None if bias is None else _narrowed(bias, dtype)
        return _rebuilt(norm, _narrowed(norm.scale, dtype), narrow, x=x)


REWRITES = (NormScale, NormBias, NormInNarrowType)


def fitted(array: np.ndarray, inner: graph.Shape) -> np.ndarray | None:
    """`array` without leading axes of size 1, or None if it does not broadcast to `inner`."""
    extra = max(array.ndim - len(inner), 0)
    if any(size != 1 for size in array.shape[:extra]):
        return None
    array = array.reshape(array.shape[extra:])
    try:
        fits = graph.broadcast_shapes(array.shape, inner) == inner
    except graph.TypeRuleError:
        return None
    return array if fits else None


def _norm_and_constant(
    op: graph.BinaryOp, classes: type[Norm] | tuple[type[Norm], ...]
) -> dict[str, Any] | None:
    for value, other in ((op.a, op.b), (op.b, op.a)):
        norm = producer(value, classes)
        if norm is not None and producer(other, graph.ConstantOp) is not None:
            return {"norm": norm, "c": other}
    return None


def _fit_problem(op: graph.BinaryOp, norm: Norm, c: ir.Value) -> str | None:
    """The reason why a constant cannot be folded into `norm`, or None."""
    inner = graph.type_of(norm.x).shape[norm.attrs["axis"] :]
    array = constant_array(c)
    if op.result.type != norm.result.type or array is None or fitted(array, inner) is None:
        return "the constant does not broadcast to the normalised axes"
    if not has_one_use(norm.result):
        return "the result without the constant is used elsewhere"
    if any(v is not None and constant_array(v) is None for v in (norm.scale, _bias(norm))):
        return "its scale or bias is not a constant"
    return None


def _combined(function: np.ufunc, value: ir.Value, c: ir.Value, norm: Norm) -> ir.Value:
    """The constant ``function(value, c)``, computed in f64."""
    inner = graph.type_of(norm.x).shape[norm.attrs["axis"] :]
    left, right = constant_array(value), constant_array(c)
    assert left is not None
    assert right is not None
    right = fitted(right, inner)
    assert right is not None
    array = function(left.astype(np.float64), right.astype(np.float64))
    return graph.constant(value=array.astype(left.dtype))


def _narrowed(value: ir.Value, dtype: np.dtype) -> ir.Value:
    array = constant_array(value)
    assert array is not None
    return graph.constant(value=array.astype(dtype))


def _bias(norm: Norm) -> ir.Value | None:
    return norm.operand_groups.get("bias")


def _rebuilt(
    norm: Norm,
    scale: ir.Value,
    bias: ir.Value | None,
    x: ir.Value | None = None,
) -> ir.Value:
    """Build `norm` with other operands."""
    x = norm.x if x is None else x
    if isinstance(norm, graph.LayerNormOp):
        return graph.layer_norm(x, scale, bias, **norm.attrs)
    return graph.rms_norm(x, scale, **norm.attrs)


def _is_exact(array: np.ndarray, dtype: np.dtype) -> bool:
    return bool(np.array_equal(array.astype(dtype).astype(array.dtype), array))
