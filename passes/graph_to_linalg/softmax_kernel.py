"""Softmax along the last axis of f32: a kernel of our own, row by row."""

import math as pymath
from collections.abc import Callable
from dataclasses import dataclass

from ...mlir import arith, ir, math, scf, vector

LANES = 16
"""Elements in a vector; narrower machines take several registers for one."""

_SMALLEST = -87.0
"""Below, ``exp`` is less than the smallest normal number: 0."""
_ROUND = 1.5 * 2.0**23
"""Added to a small number and taken away again, it rounds to an integer, which is in the low bits
of the sum."""
_DEGREE = 7
"""Of the Taylor polynomial of ``exp``: up to ``log(2) / 2`` its error is 5e-9."""


@dataclass(frozen=True)
class SoftmaxRows:
    """Rows of `length` elements, `chunk` of them in a piece of work."""

    rows: int
    length: int

    @property
    def chunk(self) -> int:
        """A divisor of the number of rows."""
        wanted = max(1, 16384 // self.length)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)

    @property
    def pieces(self) -> int:
        return self.rows // self.chunk

    def write(self, number: ir.Value, source: ir.Value, target: ir.Value) -> None:
        """The piece of work `number`."""
        first = arith.muli(number, _index(self.chunk))
        loop = scf.ForOp(first, arith.addi(first, _index(self.chunk)), _index(1))
        with ir.InsertionPoint(loop.body):
            start = arith.muli(loop.induction_variable, _index(self.length))
            self._row(_Row(start, self.length, source), _Row(start, self.length, target))
            scf.YieldOp([])

    def _row(self, x: "_Row", y: "_Row") -> None:
        """NaN need not win the maximum: what is taken from a NaN stays one."""
        lowest = float("-inf")
        flags = ir.Attribute.parse("#arith.fastmath<nnan>")
        best = x.fold(
            lowest, lowest, lambda place, value, best: arith.maxnumf(value, best, fastmath=flags)
        )
        top = _spread(vector.reduction(_f32(), vector.CombiningKind.MAXNUMF, best))

        def power(place: _Place, value: ir.Value, total: ir.Value) -> ir.Value:
            result = exp_below_zero(arith.subf(value, top))
            y.store(place, result)
            return arith.addf(total, result)

        total = vector.reduction(_f32(), vector.CombiningKind.ADD, x.fold(0, lowest, power))
        share = _spread(arith.divf(arith.constant(_f32(), 1.0), total))

        def scale(place: _Place, value: ir.Value, total: ir.Value) -> ir.Value:
            y.store(place, arith.mulf(value, share))
            return total

        y.fold(0, 0, scale)


@dataclass(frozen=True)
class _Place:
    """Where a vector lies: the index of its first element, and the lanes it has, if not all."""

    index: ir.Value
    mask: ir.Value | None


@dataclass(frozen=True)
class _Row:
    """A row of `length` elements of `memory`, from `start` on."""

    start: ir.Value
    length: int
    memory: ir.Value

    def fold(
        self,
        initial: float,
        missing: float,
        step: Callable[[_Place, ir.Value, ir.Value], ir.Value],
    ) -> ir.Value:
        """Run `step` on each vector of the row; `missing` stands in the last one's empty lanes."""
        whole = self.length // LANES * LANES
        loop = scf.ForOp(_index(0), _index(whole), _index(LANES), [_splat(initial)])
        with ir.InsertionPoint(loop.body):
            at = arith.addi(self.start, loop.induction_variable)
            value = vector.load(_vector(), self.memory, [at])
            scf.YieldOp([step(_Place(at, None), value, loop.inner_iter_args[0])])
        total = loop.results[0]
        if whole == self.length:
            return total
        at = arith.addi(self.start, _index(whole))
        mask = vector.create_mask(
            ir.VectorType.get([LANES], ir.IntegerType.get_signless(1)),
            [_index(self.length - whole)],
        )
        value = vector.maskedload(_vector(), self.memory, [at], mask, _splat(missing))
        return step(_Place(at, mask), value, total)

    def store(self, place: _Place, value: ir.Value) -> None:
        """Write a vector to its place."""
        if place.mask is None:
            vector.store(value, self.memory, [place.index])
        else:
            vector.maskedstore(self.memory, [place.index], place.mask, value)


def exp_below_zero(x: ir.Value) -> ir.Value:
    """``exp`` of a vector of numbers of which none is positive; NaN stays NaN.

    ``exp(n log(2) + r)`` is the polynomial of ``r`` with ``n`` added to its exponent.
    """
    rounded = math.fma(x, _splat(pymath.log2(pymath.e)), _splat(_ROUND))
    n = arith.subf(rounded, _splat(_ROUND))
    high = 0.693359375  # few bits, so that n times it is exact
    r = math.fma(n, _splat(-high), x)
    r = math.fma(n, _splat(high - pymath.log(2)), r)
    y = _splat(1 / pymath.factorial(_DEGREE))
    for power in range(_DEGREE - 1, -1, -1):
        y = math.fma(y, r, _splat(1 / pymath.factorial(power)))
    integers = ir.VectorType.get([LANES], ir.IntegerType.get_signless(32))
    bits = [arith.bitcast(integers, value) for value in (y, rounded)]
    places = ir.IntegerAttr.get(integers.element_type, 23)
    shift = arith.constant(integers, ir.DenseElementsAttr.get_splat(integers, places))
    scaled = arith.addi(bits[0], arith.shli(bits[1], shift))
    vanishes = arith.cmpf(arith.CmpFPredicate.OLT, x, _splat(_SMALLEST))
    return arith.select(vanishes, _splat(0), arith.bitcast(_vector(), scaled))


def _f32() -> ir.Type:
    return ir.F32Type.get()


def _vector() -> ir.VectorType:
    return ir.VectorType.get([LANES], _f32())


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)


def _splat(value: float) -> ir.Value:
    element = ir.FloatAttr.get_f32(value)
    return arith.constant(_vector(), ir.DenseElementsAttr.get_splat(_vector(), element))


def _spread(x: ir.Value) -> ir.Value:
    return vector.broadcast(_vector(), x)
