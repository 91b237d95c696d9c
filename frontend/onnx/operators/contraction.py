"""Matmuls."""

from collections.abc import Callable, Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op

Product = Callable[[ir.Value, ir.Value], ir.Value]


def matmul_of_any_rank(a: ir.Value, b: ir.Value, product: Product = graph.matmul) -> ir.Value:
    """numpy's matmul: a vector on the left is a row, on the right a column, of a matrix."""
    a_shape, b_shape = graph.type_of(a).shape, graph.type_of(b).shape
    if not a_shape or not b_shape:
        raise graph.TypeRuleError("cannot multiply matrices with a scalar")
    if len(a_shape) == 1:
        a = graph.reshape(a, shape=[1, *a_shape])
    if len(b_shape) == 1:
        b = graph.reshape(b, shape=[*b_shape, 1])
    y = product(a, b)
    *batch, rows, columns = graph.type_of(y).shape
    if len(a_shape) > 1 and len(b_shape) > 1:
        return y
    kept = [rows] * (len(a_shape) > 1) + [columns] * (len(b_shape) > 1)
    return graph.reshape(y, shape=[*batch, *kept])


@onnx_op("MatMul")
def matmul(a, b):
    return matmul_of_any_rank(a, b)


@onnx_op("Gemm", since=7)
def gemm(a, b, c=None, *, alpha=1.0, beta=1.0, transA=0, transB=0):  # noqa: N803
    """``alpha * A' B' + beta * C``.

    A vector for A is one row, as ONNX Runtime has it: squeezed values are vectors in some runs.
    """
    if graph.type_of(a).rank == 1 and not transA:
        a = graph.reshape(a, shape=[1, *graph.type_of(a).shape])
    y = graph.matmul(_transposed(a, transA), _transposed(b, transB))
    y = _scaled(y, alpha)
    return y if c is None or beta == 0 else graph.add(y, _scaled(c, beta))


def _transposed(x: ir.Value, wanted: int) -> ir.Value:
    if graph.type_of(x).rank != 2:
        raise graph.TypeRuleError(f"needs a matrix, not {graph.type_of(x)}")
    return graph.transpose(x, perm=[1, 0]) if wanted else x


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    if factor == 1:
        return x
    if graph.is_integer(graph.type_of(x).dtype) and factor != int(factor):
        raise UnsupportedError(f"integers scaled by {factor}")
    return graph.mul(x, graph.splat_like(factor, x))


@onnx_op("MatMulInteger", since=10)
def matmul_integer(a, b, a_zero_point=None, b_zero_point=None):
    """Zero points have one element, or one per row of `a` and one per column of `b`."""
    a_zero = _zero_point(a_zero_point, row=True)
    b_zero = _zero_point(b_zero_point, row=False)
    return matmul_of_any_rank(a, b, lambda a, b: integer_matmul(a, b, a_zero, b_zero))


def _zero_point(value: ir.Value | None, *, row: bool) -> ir.Value | None:
    """A zero point in a form that broadcasts to the operand it belongs to."""
    if value is None or graph.type_of(value).rank != 1:
        return value
    (count,) = graph.type_of(value).shape
    shape = [] if count == 1 else [count, 1] if row else [1, count]
    return graph.reshaped_constant(value, shape)


def integer_matmul(
    a: ir.Value, b: ir.Value, a_zero: ir.Value | None, b_zero: ir.Value | None
) -> ir.Value:
    """``(a - a_zero) (b - b_zero)`` of 8-bit matrices as i32, the product itself on 8 bits.

    ``a b - a_zero colsum(b) - (rowsum(a) - K a_zero) b_zero``, where what belongs to weights is
    constant. Unsigned operands move to the signed range first, with their zero points: targets
    multiply signed bytes best.
    """
    a, a_zero = as_signed(a, a_zero)
    b, b_zero = as_signed(b, b_zero)
    columns = None if a_zero is None else graph.mul(a_zero, sum_over(b, [-2]))
    y = graph.matmul(a, b)  # behind what is subtracted, which its kernel may then do
    y = y if columns is None else graph.sub(y, columns)
    if b_zero is not None:
        rows = sum_over(a, [-1])
        if a_zero is not None:
            (k,) = graph.type_of(a).shape[-1:]
            count = graph.cast(graph.size_scalar(k), to=np.int32)
            rows = graph.sub(rows, graph.mul(a_zero, count))
        y = graph.sub(y, graph.mul(rows, b_zero))
    return y


def as_signed(x: ir.Value, zero: ir.Value | None) -> tuple[ir.Value, ir.Value | None]:
    """`x` as i8, and its zero point as i32, None when it is 0."""
    dtype = graph.type_of(x).dtype
    if dtype not in (np.int8, np.uint8):
        raise graph.TypeRuleError(f"needs integers of 8 bits, not {dtype}")
    shift = 0 if dtype == np.int8 else 128
    middle = graph.constant(value=np.array(shift, np.int32))
    constant = graph.graph_op(x.owner)
    if shift and isinstance(constant, graph.ConstantOp):  # however large it would be in between
        signed = (constant.attrs["value"] ^ np.uint8(128)).view(np.int8)
        x = graph.constant(value=signed)
    elif shift:
        x = graph.cast(graph.sub(graph.cast(x, to=np.int32), middle), to=np.int8)
    if zero is None:
        return x, graph.constant(value=np.array(-shift, np.int32)) if shift else None
    owner = graph.graph_op(zero.owner)
    if isinstance(owner, graph.ConstantOp):
        array = owner.attrs["value"].astype(np.int32) - shift
        return x, graph.constant(value=array) if array.any() else None
    zero = graph.cast(zero, to=np.int32)
    return x, graph.sub(zero, middle) if shift else zero


def sum_over(x: ir.Value, axes: Sequence[int]) -> ir.Value:
    """The sums of a tensor of i8 along `axes`, as i32, with these axes kept. Those of weights are
    constants, however large they would be in between."""
    axes = [axis % graph.type_of(x).rank for axis in axes]
    owner = graph.graph_op(x.owner)
    if isinstance(owner, graph.ConstantOp):
        sums = owner.attrs["value"].sum(tuple(axes), dtype=np.int32, keepdims=True)
        return graph.constant(value=sums)
    return graph.reduce_sum(graph.cast(x, to=np.int32), axes=axes, keepdims=True)
