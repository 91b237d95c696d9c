"""Means and deviations as exporters write them, looking through conversions between float types."""

from collections.abc import Iterator
from dataclasses import dataclass

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from .algebra import constant_number, product, without_casts


@dataclass(frozen=True)
class Scaled:
    """``coefficient * d**degree * product(factors) / sqrt(mean(d**2) + epsilon)``."""

    d: ir.Value
    degree: int
    axes: tuple[int, ...]
    epsilon: float
    coefficient: float
    factors: tuple[ir.Value, ...]
    mean: ir.Value
    """The mean of the squares."""


@dataclass(frozen=True)
class Mean:
    """The mean of `x` over `axes`, which are kept with size 1."""

    x: ir.Value
    axes: tuple[int, ...]


def scaled_by_deviation(value: ir.Value) -> Scaled | None:
    """Read `value` as a quotient by the root mean square of `d`; the degree of `d` is 0 or 1."""
    if not graph.is_float(graph.type_of(value).dtype):
        return None
    roots = [v for v, e in product(value, through_casts=True).powers.items() if e == -0.5]
    if len(roots) != 1:
        return None
    mean, epsilon = _without_epsilon(roots[0])
    squares = mean_of(mean)
    d = None if squares is None else _root_of(squares.x)
    if squares is None or d is None:
        return None
    whole = product(value, d, through_casts=True)
    powers = {v: e for v, e in whole.powers.items() if v != roots[0]}
    degree = powers.pop(d, 0)
    if degree not in (0, 1) or any(exponent != 1 for exponent in powers.values()):
        return None
    return Scaled(d, int(degree), squares.axes, epsilon, whole.coefficient, tuple(powers), mean)


def mean_of(value: ir.Value) -> Mean | None:
    """Read `value` as a mean, with the reduced axes kept by it or by a reshape."""
    value = without_casts(value)
    view = producer(value, graph.ReshapeOp)
    mean = producer(value if view is None else view.x, graph.ReduceMeanOp)
    if mean is None:
        return None
    axes = mean.attrs["axes"]
    kept = graph.reduced_shape(graph.type_of(mean.x).shape, axes, keepdims=True)
    return Mean(mean.x, axes) if graph.type_of(value).shape == kept else None


def centred_operand(value: ir.Value, axes: tuple[int, ...]) -> tuple[ir.Value, ir.Value] | None:
    """``x`` and ``mean(x)`` if `value` is ``x - mean(x)`` over `axes`; else None."""
    sub = producer(without_casts(value), graph.SubOp)
    mean = None if sub is None else mean_of(sub.b)
    if sub is None or mean is None or mean.axes != axes:
        return None
    x = without_casts(sub.a)
    return (x, sub.b) if without_casts(mean.x) == x else None


def _root_of(value: ir.Value) -> ir.Value | None:
    """``d`` if `value` is ``d * d``; else None."""
    value = without_casts(value)
    mul = producer(value, graph.MulOp)
    if mul is not None and without_casts(mul.a) == without_casts(mul.b):
        return without_casts(mul.a)
    power = producer(value, graph.PowOp)
    if power is not None and constant_number(power.b) == 2:
        return without_casts(power.a)
    return None


def _without_epsilon(value: ir.Value) -> tuple[ir.Value, float]:
    """Split ``v + epsilon`` into its two parts; epsilon is 0 if there is none."""
    value = without_casts(value)
    for v, other in _operand_orders(producer(value, graph.AddOp)):
        number = constant_number(without_casts(other))
        if number is not None and number > 0:
            return without_casts(v), number
    return value, 0.0


def _operand_orders(op: graph.BinaryOp | None) -> Iterator[tuple[ir.Value, ir.Value]]:
    if op is not None:
        yield op.a, op.b
        yield op.b, op.a
