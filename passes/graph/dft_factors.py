"""Discrete Fourier transforms as matmuls of fewer points, for devices without a kernel of ours.

A transform of n1 * n2 points is n2 transforms of n1 points, a multiplication by roots of unity, and
n1 transforms of n2 points (the four-step algorithm: Bailey, 1990). Large prime factors are left to
a convolution with a chirp (Bluestein, 1970), of a length that is a power of two.
"""

import math

import numpy as np

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.fft_plan import chirp, chirp_spectrum, largest_prime, roots
from .dft_matrix import dft_matrix

MAX_DENSE = 512
"""Most points of one matmul by a table."""


def complex_dft(x: ir.Value, *, inverse: bool = False) -> ir.Value:
    """The transform of x, [rows, length, 2], of known length; inverse, not divided by it."""
    rows, length, _ = graph.type_of(x).shape
    assert isinstance(length, int)
    if length <= MAX_DENSE:
        return _dense(x, inverse)
    first = _factor(length)
    if first is None:
        return _by_chirp(x, inverse)
    second = length // first
    columns = _reordered(x, [rows, first, second, 2])
    inner = complex_dft(graph.reshape(columns, shape=[rows * second, first, 2]), inverse=inverse)
    factors = roots(np.outer(np.arange(second), np.arange(first)), length)
    turned = times_constant(
        graph.reshape(inner, shape=[rows, second, first, 2]), _oriented(factors, inverse)
    )
    lines = graph.transpose(turned, perm=[0, 2, 1, 3])
    outer = complex_dft(graph.reshape(lines, shape=[rows * first, second, 2]), inverse=inverse)
    y = _reordered(outer, [rows, first, second, 2])
    return graph.reshape(y, shape=[rows, length, 2])


def _reordered(x: ir.Value, shape: list[int | Dim]) -> ir.Value:
    return graph.transpose(graph.reshape(x, shape=shape), perm=[0, 2, 1, 3])


def _factor(length: int) -> int | None:
    """The largest factor up to the square root; None if a prime factor is too large for a table."""
    factor = next(n for n in range(math.isqrt(length), 0, -1) if length % n == 0)
    return factor if factor > 1 and largest_prime(length) <= MAX_DENSE else None


def _dense(x: ir.Value, inverse: bool) -> ir.Value:
    rows, length, _ = graph.type_of(x).shape
    assert isinstance(length, int)
    table = dft_matrix(length, length, length, 2, inverse=inverse, onesided=False)
    table = table * (length if inverse else 1)
    flat = graph.reshape(x, shape=[rows, length * 2])
    y = graph.matmul(flat, graph.constant(value=table.astype(graph.type_of(x).dtype)))
    return graph.reshape(y, shape=[rows, length, 2])


def _by_chirp(x: ir.Value, inverse: bool) -> ir.Value:
    rows, length, _ = graph.type_of(x).shape
    assert isinstance(length, int)
    padded = 1 << (2 * length - 2).bit_length()
    factors = _oriented(chirp(length), inverse)
    signal = times_constant(x, factors)
    zero = graph.splat_like(0, x)
    signal = graph.pad(signal, zero, low=[0, 0, 0], high=[0, padded - length, 0])
    spectrum = _oriented(chirp_spectrum(length, padded), inverse)
    y = times_constant(complex_dft(signal, inverse=inverse), spectrum)
    y = complex_dft(y, inverse=not inverse)
    y = graph.slice_(y, starts=[0, 0, 0], sizes=[rows, length, 2], steps=[1, 1, 1])
    return times_constant(y, factors)


def _oriented(factors: np.ndarray, inverse: bool) -> np.ndarray:
    return factors.conj() if inverse else factors


def times_constant(x: ir.Value, factors: np.ndarray) -> ir.Value:
    """`x`, whose last axis holds real and imaginary part, times complex `factors`."""
    dtype, rank = graph.type_of(x).dtype, graph.type_of(x).rank
    real, imaginary = np.real(factors), np.imag(factors)
    same = np.stack([real, real], -1).astype(dtype)
    other = np.stack([-imaginary, imaginary], -1).astype(dtype)
    starts, steps = [0] * (rank - 1) + [1], [1] * (rank - 1) + [-1]
    swapped = graph.slice_(x, starts=starts, sizes=graph.type_of(x).shape, steps=steps)
    return graph.add(
        graph.mul(x, graph.constant(value=same)), graph.mul(swapped, graph.constant(value=other))
    )
