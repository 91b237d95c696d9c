"""Scalar algebra on the graph: canonical forms of expressions.

``(x * 0.5) * (1 + erf(x / 1.41))``, ``0.5 * x + x * erf(0.707 * x) / 2`` and a dozen others are
equivalent, and have one form here: a polynomial in some values, or a product of powers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_scalar

MAX_DEPTH = 12
MAX_DEGREE = 4

Degrees = tuple[int, ...]
Polynomial = Mapping[Degrees, float]
"""Coefficients by the degrees of the variables; absent ones are 0."""

_ARITHMETIC = (graph.AddOp, graph.SubOp, graph.MulOp, graph.DivOp, graph.NegOp, graph.PowOp)


def polynomial(value: ir.Value, *variables: ir.Value, depth: int = MAX_DEPTH) -> Polynomial | None:
    """Read `value` as a polynomial in `variables` with scalar coefficients; None if it is none."""
    if value in variables:
        return {tuple(int(v == value) for v in variables): 1.0}
    op: Any = graph.graph_op(value.owner)
    constant = (0,) * len(variables)
    if isinstance(op, graph.ConstantOp):
        number = constant_number(value)
        return None if number is None else {constant: number}
    if depth == 0 or not isinstance(op, _ARITHMETIC):
        return None
    if isinstance(op, graph.PowOp):
        power = constant_number(op.b)
        base = None if power is None else polynomial(op.a, *variables, depth=depth - 1)
        return None if base is None or power is None else _raised(base, power)
    parts = [polynomial(v, *variables, depth=depth - 1) for v in op.operation.operands]
    if any(part is None for part in parts):
        return None
    return _combined(op, parts, constant)  # type: ignore[arg-type]


def _combined(op: graph.GraphOp, parts: list[Polynomial], constant: Degrees) -> Polynomial | None:
    if isinstance(op, graph.NegOp):
        return _scaled(parts[0], -1.0)
    a, b = parts
    if isinstance(op, graph.MulOp):
        return _multiplied(a, b)
    if isinstance(op, graph.DivOp):
        is_scalar = b.keys() == {constant} and b[constant] != 0
        return _scaled(a, 1 / b[constant]) if is_scalar else None
    return _summed(a, b if isinstance(op, graph.AddOp) else _scaled(b, -1.0))


def constant_number(value: ir.Value) -> float | None:
    """The element of a constant that holds exactly one; else None."""
    number = constant_scalar(value)
    return None if number is None else float(number)


def tolerance(dtype: np.dtype) -> float:
    """The relative error allowed for a constant of a formula, which may be rounded or truncated."""
    return max(1e-5, 2 * float(ml_dtypes.finfo(dtype).eps))


def is_number(found: float, wanted: float, dtype: np.dtype) -> bool:
    """Return whether `found` is the formula's constant `wanted` up to rounding."""
    return abs(found - wanted) <= tolerance(dtype) * abs(wanted)


def is_close(found: Polynomial | None, wanted: Polynomial, dtype: np.dtype) -> bool:
    """Return whether `found` is the polynomial `wanted` up to the rounding of constants."""
    return found is not None and all(
        is_number(found.get(degrees, 0.0), wanted.get(degrees, 0.0), dtype)
        for degrees in found.keys() | wanted.keys()
    )


def operands_within(value: ir.Value, depth: int = MAX_DEPTH) -> Iterator[ir.Value]:
    """`value` and the operands of the arithmetic behind it, without constants, nearest first."""
    seen: set[ir.Value] = set()
    level = [value]
    for _ in range(depth + 1):
        below: list[ir.Value] = []
        for current in level:
            op: Any = graph.graph_op(current.owner)
            if current in seen or isinstance(op, graph.ConstantOp):
                continue
            seen.add(current)
            yield current
            if isinstance(op, _ARITHMETIC):
                below += op.operation.operands
        level = below


@dataclass
class Product:
    """`coefficient` times the product of ``value ** exponent`` over `powers`."""

    coefficient: float = 1.0
    powers: dict[ir.Value, float] = field(default_factory=dict)


def product(value: ir.Value, *atoms: ir.Value, through_casts: bool = False) -> Product:
    """Read `value` as a product of values that are not products themselves, or are in `atoms`.

    With `through_casts`, conversions between float types are looked through.
    """
    result = Product()
    stack = [(value, 1.0)]
    while stack:
        value, exponent = stack.pop()
        whole = value in atoms or not exponent.is_integer()
        parts = None if whole else _factors(value, through_casts)
        if parts is None:
            # A power of 0 stays: x / x is not 1 everywhere.
            result.powers[value] = result.powers.get(value, 0.0) + exponent
            continue
        result.coefficient *= parts[0] ** exponent
        stack += [(factor, exponent * power) for factor, power in parts[1]]
    return result


def _factors(
    value: ir.Value, through_casts: bool
) -> tuple[float, list[tuple[ir.Value, float]]] | None:
    """A coefficient and powers with product `value`, one op deep; None if it is no product."""
    op: Any = graph.graph_op(value.owner)
    if isinstance(op, graph.ConstantOp):
        number = constant_number(value)
        return (number, []) if number else None
    if isinstance(op, graph.MulOp):
        return 1.0, [(op.a, 1.0), (op.b, 1.0)]
    if isinstance(op, graph.DivOp):
        return 1.0, [(op.a, 1.0), (op.b, -1.0)]
    if isinstance(op, graph.NegOp):
        return -1.0, [(op.x, 1.0)]
    if isinstance(op, graph.ReciprocalOp):
        return 1.0, [(op.x, -1.0)]
    if isinstance(op, graph.SqrtOp):
        return 1.0, [(op.x, 0.5)]
    if isinstance(op, graph.RsqrtOp):
        return 1.0, [(op.x, -0.5)]
    if isinstance(op, graph.PowOp):
        power = constant_number(op.b)
        return None if power is None else (1.0, [(op.a, power)])
    if isinstance(op, graph.CastOp) and through_casts:
        return (1.0, [(op.x, 1.0)]) if graph.is_float(graph.type_of(op.x).dtype) else None
    return None


def without_casts(value: ir.Value) -> ir.Value:
    """`value` without the conversions between float types that precede it."""
    op: Any = graph.graph_op(value.owner)
    while isinstance(op, graph.CastOp) and graph.is_float(graph.type_of(op.x).dtype):
        value = op.x
        op: Any = graph.graph_op(value.owner)
    return value


def _scaled(p: Polynomial, factor: float) -> Polynomial:
    return {degrees: c * factor for degrees, c in p.items()}


def _summed(a: Polynomial, b: Polynomial) -> Polynomial:
    return {d: a.get(d, 0.0) + b.get(d, 0.0) for d in a.keys() | b.keys()}


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial | None:
    result: dict[Degrees, float] = {}
    for left, x in a.items():
        for right, y in b.items():
            degrees = tuple(map(int.__add__, left, right))
            if sum(degrees) > MAX_DEGREE:
                return None
            result[degrees] = result.get(degrees, 0.0) + x * y
    return result


def _raised(p: Polynomial, power: float) -> Polynomial | None:
    if not power.is_integer() or not 1 <= power <= MAX_DEGREE:
        return None
    result: Polynomial | None = p
    for _ in range(int(power) - 1):
        result = None if result is None else _multiplied(result, p)
    return result
