"""Plans of fast Fourier transforms: the factors of a length, and the tables of its roots of unity.

A transform of n points is a sequence of stages, one for each factor of n (Stockham's autosort FFT:
Cochran et al., 1967; Van Loan, "Computational Frameworks for the FFT", 1992, 1.7). Lengths with
large prime factors are convolutions with a chirp (Bluestein, 1970), computed by transforms of a
length that has none.
"""

import functools
import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .sizes import Index

LARGEST_PRIME = 13
"""Largest prime factor that is a stage of its own."""
MANY_LANES = 2
"""A first stage has at most this many vectors of points."""


@dataclass(frozen=True)
class FftStage:
    """A stage of `radix`: ``groups`` groups of `radix` x `stride` points.

    ``y[q + stride * (radix * p + j)]`` is, for each group p and q in [0, stride), the j-th
    frequency of the points ``x[q + stride * (p + k * groups)]``, times ``w ** (j * p)`` with the
    root w of order ``radix * groups``. These factors are in a table from `offset` on.
    """

    radix: int
    stride: Index
    groups: Index
    offset: Index


def least_power(lanes: int) -> int:
    """The least power of two for stages of radix `lanes`, 2 and 4."""
    return max(lanes * lanes, 32)


@functools.cache
def radices(length: int, lanes: int) -> tuple[int, ...] | None:
    """The radices of the stages of a transform; None if a prime factor is too large, or the length
    too small for vectors of `lanes` points.

    The first one is `lanes` if possible, because its results are then a square of vectors to
    transpose, or else one after which each stage works on whole vectors.
    """
    primes = list(_prime_factors(length))
    if primes[-1] > LARGEST_PRIME:
        return None
    firsts = [n for n in range(lanes, MANY_LANES * lanes + 1) if length % n == 0]
    choices = [(n, *_merged(list(_prime_factors(length // n)))) for n in firsts]
    choices += [tuple(_merged(primes)), tuple(sorted(_merged(primes)))]
    choices += [tuple(primes), tuple(reversed(primes))]
    return next((each for each in choices if _fills_vectors(each, lanes)), None)


def _fills_vectors(factors: Sequence[int], lanes: int) -> bool:
    """Return whether all stages have vectors of points, and the last one does not scatter."""
    *strides, length = itertools.accumulate(factors, operator.mul, initial=1)
    return strides[-1] >= lanes and all(
        stride >= lanes or length // factor >= lanes
        for stride, factor in zip(strides, factors, strict=True)
    )


def _merged(primes: Sequence[int]) -> list[int]:
    """`primes` with their twos merged to radices of 8 and 4, as few as possible."""
    twos = primes.count(2)
    odd = sorted((p for p in primes if p > 2), reverse=True)
    if twos == 1 and odd:
        return [*odd[:-1], 2 * odd[-1]] if odd[-1] < 7 else [*odd, 2]
    fours = (-twos) % 3
    if twos < 2 * fours:
        return [*odd, 2**twos]
    return [*odd, *[8] * ((twos - 2 * fours) // 3), *[4] * fours]


def largest_prime(n: int) -> int:
    """The largest prime factor of `n`; of 0 and 1, 1."""
    return max(_prime_factors(max(n, 1)))


def _prime_factors(n: int) -> Iterator[int]:
    """The prime factors of `n` in ascending order; of 1, 1."""
    if n == 1:
        yield 1
    factor = 2
    while n > 1:
        if factor * factor > n:
            factor = n
        while n % factor == 0:
            yield factor
            n //= factor
        factor += 1


def stages(length: int, lanes: int, offset: int = 0) -> list[FftStage]:
    """The stages of a transform, whose table begins at `offset`."""
    found, stride = [], 1
    factors = radices(length, lanes)
    assert factors is not None
    for radix in factors:
        groups = length // stride // radix
        found.append(FftStage(radix, stride, groups, offset))
        offset += twiddle_count(found[-1], lanes)
        stride *= radix
    return found


def twiddle_count(stage: FftStage, lanes: int) -> int:
    """The elements of the table of a stage of known sizes."""
    assert isinstance(stage.stride, int)
    assert isinstance(stage.groups, int)
    if stage.groups == 1:
        return 0
    return 2 * (stage.radix - 1) * stage.groups * (stage.stride if stage.stride < lanes else 1)


def twiddles(length: int, lanes: int) -> np.ndarray:
    """The tables of all stages of a transform, in f64.

    For strides of at least `lanes`, [groups, radix - 1, 2]: real and imaginary part are factors of
    vectors. Else [radix - 1, 2, groups * stride], in vectors.
    """
    parts = [np.zeros(0)]
    for stage in stages(length, lanes):
        assert isinstance(stage.stride, int)
        assert isinstance(stage.groups, int)
        if stage.groups == 1:
            continue
        p, j = np.arange(stage.groups), np.arange(1, stage.radix)
        order = stage.groups * stage.radix
        if stage.stride >= lanes:
            factors = roots(np.outer(p, j), order)
            parts.append(np.stack([np.real(factors), np.imag(factors)], -1).ravel())
        else:
            factors = roots(np.outer(j, np.repeat(p, stage.stride)), order)
            parts.append(np.stack([np.real(factors), np.imag(factors)], 1).ravel())
    return np.concatenate(parts)


def roots(powers: np.ndarray, order: int) -> np.ndarray:
    """``exp(-2 pi i * powers / order)``, exact at quarters of a turn."""
    powers = powers % order
    quarter = (4 * powers + order // 2) // order  # the nearest
    angle = (powers - quarter * (order / 4)) * (2 * math.pi / order)
    turned = np.array([1, -1j, -1, 1j])[quarter % 4]
    return turned * (np.cos(angle) - 1j * np.sin(angle))


def chirp(length: int) -> np.ndarray:
    """``exp(-pi i * k * k / length)`` for k in [0, `length`)."""
    k = np.arange(length, dtype=np.int64)
    return roots(k * k % (2 * length), 2 * length)


def chirp_spectrum(length: int, padded: int) -> np.ndarray:
    """The transform of the conjugate chirp that a signal is convolved with, over its length."""
    signal = np.zeros(padded, np.complex128)
    signal[:length] = chirp(length).conj()
    signal[padded - length + 1 :] = signal[1:length][::-1]
    return np.fft.fft(signal) / padded


@functools.cache
def padded_length(length: int, lanes: int) -> int:
    """The length of the transforms that convolve a signal of `length` with its chirp."""
    least = max(2 * length - 1, least_power(lanes))
    power = 1 << (least - 1).bit_length()
    choices = [power // 16 * k for k in (9, 10, 12, 15, 16)]
    return min(n for n in choices if n >= least)
