"""Elementwise operators."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import (
    BOOL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    UNSIGNED,
    Value,
    element_type,
    is_float,
)
from ..node_evaluation import Rejected


@dataclass(frozen=True)
class Unary:
    """A unary function: its domain, its jumps, and its attributes."""

    op_type: str
    low: float = -50.0
    high: float = 50.0
    types: tuple[str, ...] = FLOATS
    exact: bool = False
    since: int = 1
    jumps: Callable[[Value], bool] = lambda value: True
    """Returns whether a value is away from all jumps."""
    attributes: dict[str, tuple[float, float]] = field(default_factory=dict)


_NARROW = ("float32", "float16", "bfloat16")
"""Types for functions that ONNX's evaluator computes with half of the digits of float64. ONNX
Runtime is no better: it has a constant, or the whole function, in float32."""
_UNARY = (
    Unary("Abs", types=(*FLOATS, *INTEGERS), exact=True),
    Unary("Neg", types=(*FLOATS, *SIGNED), exact=True),
    Unary("Relu", exact=True), Unary("Identity", types=(*NUMBERS, *BOOL), exact=True),
    Unary("Exp", high=5), Unary("Log", 0.1), Unary("Sqrt", 0.01), Unary("Sigmoid"), Unary("Tanh"),
    Unary("Erf", types=_NARROW),
    Unary("Sin"), Unary("Cos"), Unary("Tan", -1.2, 1.2), Unary("Asin", -0.9, 0.9),
    Unary("Acos", -0.9, 0.9), Unary("Atan"), Unary("Sinh", -4, 4), Unary("Cosh", -4, 4),
    Unary("Asinh"), Unary("Acosh", 1.1), Unary("Atanh", -0.9, 0.9), Unary("Softplus"),
    Unary("Softsign"), Unary("HardSwish", types=_NARROW, since=14), Unary("Mish", since=18),
    Unary("Reciprocal", 0.1), Unary("Reciprocal", high=-0.1),
    Unary("Elu", attributes={"alpha": (0.5, 2)}), Unary("Selu", attributes={"alpha": (1, 2)}),
    Unary("Celu", types=("float32",), since=12, attributes={"alpha": (0.5, 2)}),
    Unary("LeakyRelu", attributes={"alpha": (0.01, 0.5)}),
    Unary("HardSigmoid", attributes={"alpha": (0.1, 0.4), "beta": (0.2, 0.8)}),
    Unary("Floor", jumps=lambda v: v.clear_of(), exact=True),
    Unary("Ceil", jumps=lambda v: v.clear_of(), exact=True),
    Unary("Round", since=11, jumps=lambda v: v.clear_of(offset=0.5), exact=True),
    Unary("Sign", types=NUMBERS, jumps=lambda v: v.clear_of(0), exact=True),
    Unary("IsNaN", since=13), Unary("IsInf", types=("float32", "float64"), since=10),
    Unary("Not", types=BOOL), Unary("BitwiseNot", types=INTEGERS, since=18),
)  # fmt: skip


@draws(weight=14)
def unary(b: GraphBuilder) -> None:
    """A unary function."""
    kind: Unary = b.choose(_UNARY)
    if b.opset < kind.since:
        raise Rejected("later opset")
    x = b.take(types=kind.types, where=kind.jumps, low=kind.low, high=kind.high)
    attributes: dict[str, Any] = {
        name: float(b.random.uniform(*bounds))
        for name, bounds in kind.attributes.items()
        if b.chance(0.7)
    }
    b.add(kind.op_type, [x], exact=kind.exact, **attributes)


@draws(since=20)
def gelu(b: GraphBuilder) -> None:
    """Both forms of Gelu."""
    b.add("Gelu", [b.take(types=_NARROW)], approximate=b.choose(("none", "tanh")))


@draws(since=24)
def swish(b: GraphBuilder) -> None:
    """Swish with its factor."""
    b.add("Swish", [b.take()], alpha=float(b.random.uniform(0.5, 1.5)))


@draws(weight=0.5)
def thresholds(b: GraphBuilder) -> None:
    """Functions that jump at a threshold attribute."""
    x = b.take(types=("float32",), exact=True)
    if b.chance(0.5):
        b.add("ThresholdedRelu", [x], exact=True, alpha=b.choose((0.5, 1.0, 0.0)))
    else:
        b.add("Shrink", [x], lambd=b.choose((0.5, 1.0)), bias=b.choose((0.0, 0.25)))


_BINARY_TYPES = {
    "Add": NUMBERS, "Sub": NUMBERS, "Mul": NUMBERS, "Max": NUMBERS, "Min": NUMBERS,
}  # fmt: skip


@draws(weight=14)
def binary(b: GraphBuilder) -> None:
    """Sums, products, maxima and minima of two tensors."""
    op_type = b.choose(tuple(_BINARY_TYPES))
    x = b.take(types=_BINARY_TYPES[op_type])
    y = x if b.chance(0.05) else b.partner(x)
    pair = [x, y] if b.chance(0.5) else [y, x]
    exact = op_type in ("Max", "Min") or op_type != "Mul" or x.dtype.name in ("float32", "float64")
    b.add(op_type, pair, exact=exact)


@draws(weight=3)
def division(b: GraphBuilder) -> None:
    """Division by values that are not near zero."""
    x = b.take(types=(*FLOATS, "int32", "int64"))
    if is_float(x.dtype):
        y = b.partner(x, low=0.5, high=4) if b.chance(0.7) else b.partner(x, low=-4, high=-0.5)
    else:
        y = b.partner(x, low=1, high=5, weight=b.chance(0.5))
    b.add("Div", [x, y])


@draws(weight=2)
def power(b: GraphBuilder) -> None:
    """Powers of positive bases, and integer powers of any base."""
    if b.chance(0.5):
        x = b.take(low=0.3, high=5)
        y = b.partner(x, low=-2, high=2)
    else:
        x = b.take(low=-5, high=5)
        y = b.known(np.array(b.choose((0, 1, 2, 3, 0.5, -1)), x.dtype))
        if y.array < 1 and y.array != 0 and not x.within(0.3, 5):
            raise Rejected("a root of what is not positive")
    b.add("Pow", [x, y])


@draws(weight=1, since=10)
def modulo(b: GraphBuilder) -> None:
    """Modulo of integers, with either sign convention, and of exact floats."""
    if b.chance(0.6):
        x = b.take(types=("int32", "int64", "int8", "int16", "uint8"))
        b.add("Mod", [x, b.partner(x, low=1, high=6)], fmod=b.integer(0, 1))
    else:
        x = b.take(types=("float32", "float64"), exact=True)
        b.add("Mod", [x, b.partner(x, low=1, high=6, exact=True)], exact=True, fmod=1)


@draws(weight=5)
def comparison(b: GraphBuilder) -> None:
    """Comparison of exact values, or of floats that are not near each other."""
    op_type = b.choose(("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"))
    if op_type.endswith("OrEqual") and b.opset < 12:
        raise Rejected("later opset")
    x = b.take(types=("float32", "float64", "int32", "int64"))
    y = b.partner(x)
    if not (x.exact and y.exact):
        apart = np.abs(x.wide - y.wide) if x.size and y.size else np.ones(1)
        if (apart < 0.02 * np.maximum(np.abs(x.wide), 1)).any():
            raise Rejected("near ties")
    b.add(op_type, [x, y])


@draws(weight=2)
def logic(b: GraphBuilder) -> None:
    """Logical operators on booleans."""
    x = b.take(types=BOOL)
    b.add(b.choose(("And", "Or", "Xor")), [x, b.partner(x)])


@draws(weight=1, since=18)
def bitwise(b: GraphBuilder) -> None:
    """Bitwise operators on integers."""
    x = b.take(types=INTEGERS)
    b.add(b.choose(("BitwiseAnd", "BitwiseOr", "BitwiseXor")), [x, b.partner(x)])


@draws(weight=0.7, since=11)
def shift(b: GraphBuilder) -> None:
    """Shift by less than the bit width."""
    x = b.take(types=UNSIGNED)
    b.add("BitShift", [x, b.partner(x, low=0, high=7)], direction=b.choose(("LEFT", "RIGHT")))


@draws(weight=2)
def variadic(b: GraphBuilder) -> None:
    """Sum, mean, maximum or minimum of one to four tensors."""
    op_type = b.choose(("Sum", "Mean", "Max", "Min"))
    x = b.take()
    rest = [b.partner(x) for _ in range(b.integer(0, 3))]
    b.add(op_type, [x, *rest], exact=op_type != "Mean")


@draws(weight=4)
def where(b: GraphBuilder) -> None:
    """Selection of one of two values by a condition."""
    x = b.take(types=("float32", "float64", "int32", "int64", "uint8", "float16", "bool"))
    condition = b.like(x.shape, np.dtype(bool))
    b.add("Where", [condition, x, b.partner(x)], exact=True)


@draws(weight=2)
def clip(b: GraphBuilder) -> None:
    """Clip with one bound, both, or none."""
    x = b.take(types=("float32", "float64", "float16", "int32", "int64", "int8", "uint8"))
    low, high = sorted(b.random.integers(-4, 5, 2).tolist())
    if x.dtype.name in UNSIGNED:
        low, high = low + 4, high + 4
    if b.opset < 11:
        b.add("Clip", [x], exact=True, min=float(low), max=float(high))
        return
    bounds = [b.known(np.array(bound, x.dtype)) if b.chance(0.7) else None for bound in (low, high)]
    b.add("Clip", [x, *bounds], exact=True)


@draws(weight=1)
def prelu(b: GraphBuilder) -> None:
    """PRelu with a slope that broadcasts in one direction."""
    x = b.take()
    kept = x.shape[b.integer(0, x.rank) :]
    b.add("PRelu", [x, b.new([1 if b.chance(0.3) else size for size in kept], x.dtype)])


_CASTS = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "bool", "int16",
          "uint32", "uint16", "uint64", "bfloat16")  # fmt: skip


@draws(weight=4)
def cast(b: GraphBuilder) -> None:
    """Cast to a type that can hold the values; floats are cast to integers only if they are not
    near a jump."""
    to = b.choose(_CASTS)
    x = b.take(types=(*NUMBERS, *BOOL), where=lambda v: _holds(to, v))
    if b.opset >= 15 and b.chance(0.15):
        b.add("CastLike", [x, b.new([1], to)], exact=to not in ("float16", "bfloat16"))
    else:
        b.add("Cast", [x], exact=to not in ("float16", "bfloat16"), to=element_type(to))


def _holds(to: str, value: Value) -> bool:
    if to in FLOATS:
        return True
    if to == "bool":
        return value.clear_of(0)
    bounds = np.iinfo(to)
    return value.within(float(bounds.min), float(bounds.max)) and value.clear_of()
