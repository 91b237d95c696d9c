"""Elementary functions of a float, f32 or f64, built on the functions that the backend does well.

The backend has good polynomials for exp, log, sqrt and, in f32, for expm1, log1p, tanh, erf, asin
and acos. Its other functions lose accuracy (sin beyond a few periods, atan, powers of negative
numbers) or do not exist in f64. Each function here keeps the signs of zeros, gives NaN and
infinities as C does, and has an error of a few ulp.

Subnormal numbers count as 0, because the runtime sets the CPU to flush them.
"""

import functools
import math as pymath
from collections.abc import Callable, Sequence

import numpy as np

from ...mlir import arith, ir, math

_ROUND = 1.5 * 2.0**23
_ROUND_DOUBLE = 1.5 * 2.0**52
LN2 = (float.fromhex("0x1.62e42fefa38p-1"), float.fromhex("0x1.ef35793c7673p-45"))
"""The first has 42 bits, so that products with exponents are exact; the second is the rest."""
SMALL = 1 << 20
"""Magnitude of integers up to which `round_small` rounds."""

Scalar = ir.Value
Function = Callable[[Scalar], Scalar]


def like(value: float, x: Scalar) -> Scalar:
    """A constant of the type of `x`, a float or a vector of such."""
    if isinstance(x.type, ir.VectorType):
        element = ir.FloatAttr.get(x.type.element_type, float(value))
        return arith.constant(x.type, ir.DenseElementsAttr.get_splat(x.type, element))
    return arith.constant(x.type, float(value))


def integer_like(value: int, x: Scalar) -> Scalar:
    """A constant of the type of `x`, an integer or a vector of such."""
    if isinstance(x.type, ir.VectorType):
        element = ir.IntegerAttr.get(x.type.element_type, value)
        return arith.constant(x.type, ir.DenseElementsAttr.get_splat(x.type, element))
    return arith.constant(x.type, ir.IntegerAttr.get(x.type, value))


def is_known(x: Scalar) -> bool:
    """Return whether `x` is a constant."""
    return isinstance(x.owner, ir.Operation) and x.owner.name == "arith.constant"


def element_of(x: Scalar) -> ir.Type:
    """The type of `x`, or of its elements if it is a vector."""
    return x.type.element_type if isinstance(x.type, ir.VectorType) else x.type


def with_element(x: Scalar, element: ir.Type) -> ir.Type:
    """The type of `x` with elements of the type `element`."""
    if isinstance(x.type, ir.VectorType):
        return ir.VectorType.get(x.type.shape, element)
    return element


def is_double(x: Scalar) -> bool:
    return isinstance(x.type, ir.F64Type)


def compare(predicate: str, a: Scalar, b: Scalar | float) -> Scalar:
    """Compare `a` with `b` by an MLIR predicate, as "OLT" for ``a < b``."""
    b = like(b, a) if isinstance(b, float | int) else b
    return arith.cmpf(getattr(arith.CmpFPredicate, predicate), a, b)


def round_half_even(x: Scalar) -> Scalar:
    """Round to the nearest integer, halves to even; keeps the sign of zeros, infinities and NaN."""
    return math.roundeven(x)


def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """`x` where it lies between `low` and `high`, else the end that it exceeds; NaN gives `low`."""
    inside = arith.select(compare("OGT", x, low), x, low)
    return arith.select(compare("OLT", inside, high), inside, high)


def round_small(x: Scalar) -> Scalar:
    """The integer, i32, nearest to an f32 `x` of at most `SMALL`, halves to even.

    The sum with a number whose last bit is worth 1 is rounded to it, and its bits count up from
    those of the number.
    """
    total = arith.addf(x, like(_ROUND, x))
    bits = arith.bitcast(with_element(x, ir.IntegerType.get_signless(32)), total)
    return arith.subi(bits, integer_like(int(np.float32(_ROUND).view(np.int32)), bits))


def round_small_float(x: Scalar) -> Scalar:
    """The integer nearest to an f32 `x` of at most `SMALL`, as f32, halves to even; 0 has no
    sign."""
    return arith.subf(arith.addf(x, like(_ROUND, x)), like(_ROUND, x))


def product(a: Scalar, b: Scalar) -> Scalar:
    """``a * b``, rounded before anything is added to it, as between two graph ops.

    The backend allows a product and a following sum to be contracted to an FMA (``contract``), but
    only for `arith.mulf`. Adding ``-0.0`` changes no product and is free: LLVM removes it.
    """
    return math.fma(a, b, like(-0.0, a))


def with_sign_of(x: Scalar, magnitude: Scalar) -> Scalar:
    return math.copysign(magnitude, x)


def odd(function: Function) -> Function:
    """Extend a function on nonnegative numbers to an odd function."""
    return lambda x: with_sign_of(x, function(math.absf(x)))


def polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """``c[0] + c[1] * x + ...``."""
    total = like(coefficients[-1], x)
    for coefficient in reversed(coefficients[:-1]):
        total = arith.addf(arith.mulf(total, x), like(coefficient, x))
    return total


@functools.cache
def fit(
    function: Callable[[float], float], low: float, high: float, degree: int
) -> tuple[float, ...]:
    """Coefficients of the Chebyshev interpolation of `function` between `low` and `high`."""
    values = np.vectorize(function, otypes=[np.float64])
    series = np.polynomial.Chebyshev.interpolate(values, degree, domain=[low, high])
    return tuple(series.convert(kind=np.polynomial.Polynomial).coef)


# Exponentials and logarithms


def expm1(x: Scalar) -> Scalar:
    """``exp(x) - 1``; in f64 ``2 * (s * p + (s - 1/2))`` with ``x = k * ln(2) + r``,
    ``s = 2**(k - 1)`` and ``p = expm1(r)``, which is a series."""
    if not is_double(x):
        return math.expm1(x)
    bounded = clamp(x, like(-60, x), like(710, x))  # where the result is -1, and infinite
    turns = arith.mulf(bounded, like(1 / pymath.log(2), x))
    shifted = arith.addf(turns, like(_ROUND_DOUBLE, x))
    k = arith.subf(shifted, like(_ROUND_DOUBLE, x))
    r = bounded
    for part in LN2:
        r = arith.subf(r, arith.mulf(k, like(part, x)))
    series = polynomial(r, [1 / pymath.factorial(n) for n in range(2, 14)])
    p = arith.addf(arith.mulf(arith.mulf(r, r), series), r)
    # The last bits of `shifted` are those of k, and become the exponent.
    bits = arith.bitcast(with_element(x, ir.IntegerType.get_signless(64)), shifted)
    exponent = arith.shli(arith.addi(bits, integer_like(1022, bits)), integer_like(52, bits))
    s = arith.bitcast(x.type, exponent)
    half = arith.addf(arith.mulf(s, p), arith.subf(s, like(0.5, x)))
    result = arith.mulf(like(2, x), half)
    itself = arith.ori(compare("OEQ", x, 0), compare("UNO", x, x))
    return arith.select(itself, x, result)


def log1p(x: Scalar) -> Scalar:
    """``log(1 + x)``. In f64 the rounding of ``1 + x`` is compensated."""
    if not is_double(x):
        return math.log1p(x)
    one = like(1, x)
    u = arith.addf(one, x)
    lost = arith.divf(arith.subf(arith.subf(u, one), x), u)
    corrected = arith.subf(math.log(u), lost)
    return arith.select(compare("OLT", math.absf(x), 1), corrected, math.log(u))


def softplus(x: Scalar) -> Scalar:
    """``max(x, 0) + log1p(exp(-|x|))``, a form that does not overflow."""
    tail = log1p(math.exp(arith.negf(math.absf(x))))
    return arith.addf(arith.maximumf(x, like(0, x)), tail)


def sigmoid(x: Scalar) -> Scalar:
    one = like(1, x)
    return arith.divf(one, arith.addf(one, math.exp(arith.negf(x))))


# Hyperbolic functions


def tanh(x: Scalar) -> Scalar:
    """``tanh(x)``; in f64 ``-t / (t + 2)`` with ``t = expm1(-2|x|)``."""
    if not is_double(x):
        return math.tanh(x)
    t = expm1(arith.mulf(like(-2, x), math.absf(x)))
    return with_sign_of(x, arith.divf(arith.negf(t), arith.addf(t, like(2, x))))


def _half_exp(x: Scalar) -> Scalar:
    """``exp(x) / 2``, which overflows later than ``exp(x)``."""
    half = like(0.5, x)
    root = math.exp(arith.mulf(half, x))
    return arith.mulf(arith.mulf(half, root), root)


@odd
def sinh(x: Scalar) -> Scalar:
    """``(t + t / (t + 1)) / 2`` with ``t = expm1(x)`` below 1, above from ``exp(x) / 2``."""
    half, one = like(0.5, x), like(1, x)
    t = expm1(arith.minimumf(x, one))
    small = arith.mulf(half, arith.addf(t, arith.divf(t, arith.addf(t, one))))
    e = _half_exp(x)
    large = arith.subf(e, arith.divf(like(0.25, x), e))
    return arith.select(compare("OLT", x, 1), small, large)


def cosh(x: Scalar) -> Scalar:
    e = _half_exp(math.absf(x))
    return arith.addf(e, arith.divf(like(0.25, x), e))


def _is_huge(x: Scalar) -> Scalar:
    """True if ``x**2 + 1`` rounds to ``x**2``, or overflows."""
    return compare("OGT", x, 1e9 if is_double(x) else 1e5)


def _log_of_double(x: Scalar) -> Scalar:
    return arith.addf(math.log(x), like(pymath.log(2), x))


@odd
def asinh(x: Scalar) -> Scalar:
    """``log1p(x + x**2 / (1 + sqrt(x**2 + 1)))``; for huge `x`, ``log(2 * x)``."""
    one, square = like(1, x), arith.mulf(x, x)
    root = math.sqrt(arith.addf(square, one))
    inner = log1p(arith.addf(x, arith.divf(square, arith.addf(one, root))))
    return arith.select(_is_huge(x), _log_of_double(x), inner)


def acosh(x: Scalar) -> Scalar:
    """``log1p(t + sqrt(2 * t + t**2))`` with ``t = x - 1``; for huge `x`, ``log(2 * x)``."""
    t = arith.subf(x, like(1, x))
    root = math.sqrt(arith.mulf(t, arith.addf(t, like(2, x))))
    inner = log1p(arith.addf(t, root))
    result = arith.select(_is_huge(x), _log_of_double(x), inner)
    return arith.select(compare("ULT", x, 1), like(pymath.nan, x), result)


@odd
def atanh(x: Scalar) -> Scalar:
    """``log1p(2 * x / (1 - x)) / 2``."""
    quotient = arith.divf(arith.addf(x, x), arith.subf(like(1, x), x))
    inside = arith.mulf(like(0.5, x), log1p(quotient))
    return arith.select(compare("OGT", x, 1), like(pymath.nan, x), inside)


# Circular functions


def _quarter_turns(x: Scalar) -> tuple[Scalar, Scalar]:
    """The number of quarter turns nearest to `x` (i32, modulo 4), and the rest, in the type of `x`.

    Computed in f64 with pi / 2 in three parts, the first two short enough for exact products.
    The rest is accurate to f32 precision for |x| up to about 1e9, and small for every `x`.
    """
    narrow = x.type
    f64 = ir.F64Type.get()
    x = x if is_double(x) else arith.extf(f64, x)
    turns = round_half_even(arith.mulf(x, like(2 / pymath.pi, x)))
    rest = x
    for part in _HALF_PI:
        rest = arith.subf(rest, arith.mulf(turns, like(part, x)))
    rest = arith.minimumf(arith.maximumf(rest, like(-0.8, x)), like(0.8, x))
    whole = arith.mulf(like(4, x), math.floor(arith.mulf(turns, like(0.25, x))))
    left = arith.subf(turns, whole)
    finite = compare("OLT", math.absf(left), 4)
    quadrant = arith.fptosi(ir.IntegerType.get_signless(32), arith.select(finite, left, like(0, x)))
    return quadrant, rest if narrow == f64 else arith.truncf(narrow, rest)


_HALF_PI = (
    float.fromhex("0x1.921fb544p+0"),  # 33 bits each, then the rest
    float.fromhex("0x1.0b4611a6p-34"),
    float.fromhex("0x1.3198a2e037073p-69"),
)


def _sin_cos(x: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """The quarter turns in `x`, and the sine and cosine of the rest, by their Taylor series."""
    turns, rest = _quarter_turns(x)
    square = arith.mulf(rest, rest)
    terms = 9 if is_double(rest) else 6
    sine, cosine = (
        [(-1) ** k / pymath.factorial(2 * k + first) for k in range(1, terms)] for first in (1, 0)
    )
    bend = arith.mulf(square, polynomial(square, sine))
    drop = arith.mulf(square, polynomial(square, cosine))
    one = like(1, rest)  # added last, for accuracy
    return turns, arith.addf(rest, arith.mulf(rest, bend)), arith.addf(one, drop)


def is_bit_set(number: Scalar, bit: int) -> Scalar:
    """True (an i1) if bit `bit` of an integer is 1."""
    mask, zero = (arith.constant(number.type, value) for value in (1 << bit, 0))
    return arith.cmpi(arith.CmpIPredicate.ne, arith.andi(number, mask), zero)


def _by_turns(turns: Scalar, even: Scalar, odd: Scalar) -> Scalar:
    """`even` or `odd` by the parity of `turns`, negated for every other pair of turns."""
    value = arith.select(is_bit_set(turns, 0), odd, even)
    return arith.select(is_bit_set(turns, 1), arith.negf(value), value)


def sin(x: Scalar) -> Scalar:
    turns, sine, cosine = _sin_cos(x)
    result = _by_turns(turns, sine, cosine)
    return arith.select(compare("OEQ", x, 0), x, result)


def cos(x: Scalar) -> Scalar:
    turns, sine, cosine = _sin_cos(x)
    ahead = arith.addi(turns, arith.constant(turns.type, 1))  # cos(x) = sin(x + pi / 2)
    return _by_turns(ahead, sine, cosine)


def tan(x: Scalar) -> Scalar:
    turns, sine, cosine = _sin_cos(x)
    odd = is_bit_set(turns, 0)
    above = arith.select(odd, arith.negf(cosine), sine)
    result = arith.divf(above, arith.select(odd, sine, cosine))
    return arith.select(compare("OEQ", x, 0), x, result)


def _atan_slope(square: float) -> float:
    """``atan(x) / x``."""
    x = pymath.sqrt(square)
    return pymath.atan(x) / x


@odd
def atan(x: Scalar) -> Scalar:
    """A polynomial below tan(pi / 8), after reduction by ``pi/2 - atan(1/x)`` and
    ``pi/4 + atan((x-1) / (x+1))``."""
    one = like(1, x)
    inverted = compare("OGT", x, 1)
    x = arith.select(inverted, arith.divf(one, x), x)
    turned = compare("OGT", x, pymath.tan(pymath.pi / 8))
    x = arith.select(turned, arith.divf(arith.subf(x, one), arith.addf(x, one)), x)
    limit = pymath.tan(pymath.pi / 8) ** 2
    slope = fit(_atan_slope, 0, limit, _degree(x, 6, 13))
    angle = arith.mulf(x, polynomial(arith.mulf(x, x), slope))
    angle = arith.select(turned, arith.addf(like(pymath.pi / 4, x), angle), angle)
    return arith.select(inverted, arith.subf(like(pymath.pi / 2, x), angle), angle)


def _degree(x: Scalar, single: int, double: int) -> int:
    return double if is_double(x) else single


def asin(x: Scalar) -> Scalar:
    """``asin(x)``; in f64 ``atan(x / sqrt(1 - x**2))``."""
    if not is_double(x):
        return math.asin(x)
    one = like(1, x)
    square = arith.mulf(arith.subf(one, x), arith.addf(one, x))
    return atan(arith.divf(x, math.sqrt(square)))


def acos(x: Scalar) -> Scalar:
    """``acos(x)``; in f64 ``2 * atan(sqrt((1 - x) / (1 + x)))``."""
    if not is_double(x):
        return math.acos(x)
    one = like(1, x)
    half = atan(math.sqrt(arith.divf(arith.subf(one, x), arith.addf(one, x))))
    return arith.addf(half, half)


# Powers


def power(a: Scalar, b: Scalar) -> Scalar:
    """``a ** b`` as C's pow, for f32 or f64: ``exp(b * log|a|)`` in f64, plus the special cases."""
    exponent = _constant(b)
    if exponent in _PRODUCTS:
        return _PRODUCTS[exponent](a)
    narrow = a.type
    if not is_double(a):
        a, b = (arith.extf(ir.F64Type.get(), x) for x in (a, b))
    result = _power_double(a, b)
    return result if result.type == narrow else arith.truncf(narrow, result)


def _constant(x: Scalar) -> float | None:
    """The value of a scalar constant; None for other values."""
    op = x.owner
    if isinstance(op, ir.Block) or op.operation.name != "arith.constant":
        return None
    return ir.FloatAttr(op.operation.attributes["value"]).value


def _square(x: Scalar) -> Scalar:
    return arith.mulf(x, x)


_PRODUCTS: dict[float | None, Function] = {
    0.0: lambda x: arith.constant(x.type, 1.0),
    1.0: lambda x: x,
    2.0: _square,
    3.0: lambda x: arith.mulf(_square(x), x),
    4.0: lambda x: _square(_square(x)),
}


def _power_double(a: Scalar, b: Scalar) -> Scalar:
    size = math.absf(a)
    result = math.exp(arith.mulf(b, math.log(size)))
    result = arith.select(compare("OEQ", size, 1), like(1, a), result)
    whole = compare("OEQ", math.trunc(b), b)
    half = arith.mulf(b, like(0.5, b))
    odd = arith.andi(whole, compare("UNE", math.trunc(half), half))
    result = arith.select(odd, with_sign_of(a, result), result)
    below = arith.andi(compare("OLT", a, 0), compare("OGT", a, -pymath.inf))
    fraction = arith.andi(compare("UNE", math.trunc(b), b), compare("ORD", b, b))
    result = arith.select(arith.andi(below, fraction), like(pymath.nan, a), result)
    result = arith.select(compare("UNO", b, b), b, result)
    sure = arith.ori(compare("OEQ", a, 1), compare("OEQ", b, 0))
    return arith.select(sure, like(1, a), result)


# Remainders


def remainder(a: Scalar, b: Scalar) -> Scalar:
    """``a - trunc(a / b) * b``, exactly; in f64 for quotients below 2**52."""
    if not is_double(a):
        return arith.remf(a, b)
    size, step = math.absf(a), math.absf(b)
    turns = math.trunc(arith.divf(size, step))
    product, lost = _exact_product(turns, step)
    rest = arith.subf(arith.subf(size, product), lost)
    rest = arith.select(compare("OLT", rest, 0), arith.addf(rest, step), rest)  # turns was rounded
    rest = arith.select(compare("OGE", rest, step), arith.subf(rest, step), rest)
    rest = arith.select(compare("OEQ", step, pymath.inf), size, rest)
    infinite = compare("OEQ", size, pymath.inf)
    rest = arith.select(infinite, like(pymath.nan, a), rest)
    return with_sign_of(a, rest)


def _exact_product(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """``a * b`` in f64 as a rounded product and its rounding error."""
    product = arith.mulf(a, b)
    (a_high, a_low), (b_high, b_low) = map(_halves, (a, b))
    lost = arith.subf(arith.mulf(a_high, b_high), product)
    for x, y in ((a_high, b_low), (a_low, b_high), (a_low, b_low)):
        lost = arith.addf(lost, arith.mulf(x, y))
    return product, lost


def _halves(x: Scalar) -> tuple[Scalar, Scalar]:
    """Split an f64 into a sum of two with at most 26 bits each."""
    i64 = ir.IntegerType.get_signless(64)
    mask = arith.constant(i64, -(1 << 27))
    high = arith.bitcast(x.type, arith.andi(arith.bitcast(i64, x), mask))
    return high, arith.subf(x, high)
