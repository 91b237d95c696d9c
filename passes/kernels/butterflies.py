"""Discrete Fourier transforms of a few points, each point a vector of numbers in registers."""

import math
from collections.abc import Sequence

from ...mlir import arith, ir
from ...mlir import math as math_
from .scalar_functions import like

Complex = tuple[ir.Value, ir.Value]
"""Real and imaginary part: floats, or vectors of them."""


def add(a: Complex, b: Complex) -> Complex:
    return arith.addf(a[0], b[0]), arith.addf(a[1], b[1])


def subtract(a: Complex, b: Complex) -> Complex:
    return arith.subf(a[0], b[0]), arith.subf(a[1], b[1])


def multiply(a: Complex, b: Complex) -> Complex:
    (ar, ai), (br, bi) = a, b
    real = math_.fma(ar, br, arith.negf(arith.mulf(ai, bi)))
    return real, math_.fma(ar, bi, arith.mulf(ai, br))


def conjugate(a: Complex) -> Complex:
    return a[0], arith.negf(a[1])


def scaled(a: Complex, factor: ir.Value) -> Complex:
    return arith.mulf(a[0], factor), arith.mulf(a[1], factor)


def swapped(a: Complex) -> Complex:
    """``i * conjugate(a)``. A transform between two of these is the inverse one."""
    return a[1], a[0]


def butterfly(points: Sequence[Complex]) -> list[Complex]:
    """The frequencies of `points`, in order, by factors of their number."""
    count = len(points)
    if count == 1:
        return list(points)
    if count == 2:
        return [add(*points), subtract(*points)]
    if count == 4:
        return _radix_4(points)
    factor = next((n for n in (4, 2, 3, 5, 7) if count % n == 0), count)
    if factor == count:
        return _odd_prime(points)
    return _composite(points, factor)


def _radix_4(points: Sequence[Complex]) -> list[Complex]:
    a, b, c, d = points
    even, odd = [add(a, c), subtract(a, c)], [add(b, d), subtract(b, d)]
    turned = odd[1][1], arith.negf(odd[1][0])
    return [
        add(even[0], odd[0]),
        add(even[1], turned),
        subtract(even[0], odd[0]),
        subtract(even[1], turned),
    ]


def _odd_prime(points: Sequence[Complex]) -> list[Complex]:
    """By the sums and differences of each point and its mirror image."""
    count, half = len(points), len(points) // 2
    first, *rest = points
    pairs = [(rest[k], rest[-1 - k]) for k in range(half)]
    sums, differences = [add(*pair) for pair in pairs], [subtract(*pair) for pair in pairs]
    total = first
    for each in sums:
        total = add(total, each)
    low, high = list[Complex](), list[Complex]()
    for j in range(1, half + 1):
        real, odd = first, None
        for k, (even, difference) in enumerate(zip(sums, differences, strict=True), start=1):
            cos, sin = _root(j * k, count)
            real = _multiply_add(even, cos, real)
            turned = difference[1], arith.negf(difference[0])
            odd = _multiply_add(turned, -sin, odd)
        assert odd is not None
        low.append(add(real, odd))
        high.append(subtract(real, odd))
    return [total, *low, *reversed(high)]


def _multiply_add(a: Complex, factor: float, total: Complex | None) -> Complex:
    constant = like(factor, a[0])
    if total is None:
        return scaled(a, constant)
    return math_.fma(a[0], constant, total[0]), math_.fma(a[1], constant, total[1])


def _composite(points: Sequence[Complex], factor: int) -> list[Complex]:
    """Cooley and Tukey (1965): transforms of `factor` points, then of their frequencies."""
    count = len(points)
    other = count // factor
    inner = [butterfly(points[start::other]) for start in range(other)]
    result = list(points)
    for j in range(factor):
        column = [_turned(inner[k][j], j * k, count) for k in range(other)]
        result[j::factor] = butterfly(column)
    return result


def _turned(a: Complex, power: int, order: int) -> Complex:
    """`a` times a root of unity to a power; quarters and eighths of a turn take less."""
    eighths, rest = divmod(8 * (power % order), order)
    real, imaginary = a
    if rest:
        cos, sin = _root(power, order)
        return multiply(a, (like(cos, real), like(sin, real)))
    for _ in range(eighths // 2):
        real, imaginary = imaginary, arith.negf(real)
    if eighths % 2:
        half = like(math.sqrt(0.5), real)
        total, difference = arith.addf(real, imaginary), arith.subf(imaginary, real)
        real, imaginary = arith.mulf(total, half), arith.mulf(difference, half)
    return real, imaginary


def _root(power: int, order: int) -> tuple[float, float]:
    """Real and imaginary part of ``exp(-2 pi i * power / order)``."""
    angle = 2 * math.pi * (power % order) / order
    return math.cos(angle), -math.sin(angle)
