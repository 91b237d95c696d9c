"""Discrete Fourier transforms as matmuls by tables of the roots of unity."""

import math

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.fft_plan import roots

Size = int | Dim


def dft_matrix(
    used: int, count: int, length: int, parts: int, *, inverse: bool, onesided: bool
) -> np.ndarray:
    """[used * parts, count * parts of the result], f64: what each number adds to each of the
    result, where `used` points are read and `count` written."""
    factors = roots(np.outer(np.arange(used), np.arange(count)), length)
    if inverse:
        factors = factors.conj() / length
    real, imaginary = np.real(factors), np.imag(factors)
    if inverse and onesided:
        k = np.arange(used)
        twice = np.where((k > 0) & (2 * k < length), 2, 1)  # for those that were left out
        table = np.stack([real, -imaginary], 1) * twice[:, None, None]
        return table.reshape(used * 2, count)
    lines = [np.stack([real, imaginary], -1), np.stack([-imaginary, real], -1)]
    return np.stack(lines[:parts], 1).reshape(used * parts, count * 2)


def run_time_matrix(
    used: Size,
    count: Size,
    length: Size,
    dtype: np.dtype,
    parts: int,
    *,
    inverse: bool,
    onesided: bool,
) -> ir.Value:
    """`dft_matrix` in `dtype`, computed when the program runs."""
    rows = graph.reshape(_positions(used), shape=[used, 1, 1, 1])
    columns = graph.reshape(_positions(count), shape=[1, 1, count, 1])
    whole = graph.max_(graph.size_scalar(length), graph.size_scalar(1))
    cos, sin = _cos_and_sin(graph.mod(graph.mul(rows, columns), whole), whole, dtype)
    if inverse:
        scale = graph.reciprocal(graph.cast(whole, to=dtype))
        if onesided:
            twice = graph.cast(_has_mirror(used, length), to=dtype)
            twice = graph.reshape(graph.add(twice, _scalar(1, dtype)), shape=[used, 1, 1, 1])
            scale = graph.mul(scale, twice)
        cos, sin = graph.mul(cos, scale), graph.mul(sin, scale)
    real, imaginary = (graph.neg(sin), sin) if inverse else (sin, graph.neg(sin))
    if inverse and onesided:
        table = graph.concat([cos, real], axis=1)
    else:
        table = graph.concat([cos, imaginary], axis=3)
        if parts == 2:
            table = graph.concat([table, graph.concat([real, cos], axis=3)], axis=1)
    sizes = graph.type_of(table).shape
    return graph.reshape(table, shape=[used * sizes[1], count * sizes[3]])


def _cos_and_sin(part: ir.Value, whole: ir.Value, dtype: np.dtype) -> tuple[ir.Value, ir.Value]:
    """Cosine and sine of ``part / whole`` of a turn, both integers; exact at each quarter."""
    fourfold = graph.mul(part, graph.size_scalar(4))
    quarter = graph.div(fourfold, whole)
    rest = graph.cast(graph.sub(fourfold, graph.mul(quarter, whole)), to=dtype)
    angle = graph.div(graph.mul(rest, _scalar(math.pi / 2, dtype)), graph.cast(whole, to=dtype))
    cos, sin = graph.cos(angle), graph.sin(angle)
    is_odd = graph.equal(graph.mod(quarter, graph.size_scalar(2)), graph.size_scalar(1))
    cos, sin = graph.where(is_odd, sin, cos), graph.where(is_odd, cos, sin)
    is_first = graph.equal(quarter, graph.size_scalar(0))
    is_left = graph.or_(
        graph.equal(quarter, graph.size_scalar(1)), graph.equal(quarter, graph.size_scalar(2))
    )
    is_above = graph.or_(is_first, graph.equal(quarter, graph.size_scalar(1)))
    return graph.where(is_left, graph.neg(cos), cos), graph.where(is_above, sin, graph.neg(sin))


def _has_mirror(used: Size, length: Size) -> ir.Value:
    """A mask of the frequencies that have a mirror frequency: all but 0 and half the length."""
    position = _positions(used)
    doubled = graph.add(position, position)
    inner = graph.less(doubled, graph.size_scalar(length))
    return graph.and_(inner, graph.greater(position, graph.size_scalar(0)))


def _scalar(value: float, dtype: np.dtype) -> ir.Value:
    return graph.constant(value=np.array(value).astype(dtype))


def _positions(size: Size) -> ir.Value:
    """``0, 1, ... size - 1`` as i64."""
    return graph.range_(graph.size_scalar(0), graph.size_scalar(1), size=size)
