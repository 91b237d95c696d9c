"""Activation functions that exporters write out."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Rewrite
from .algebra import (
    Polynomial,
    constant_number,
    is_close,
    is_number,
    operands_within,
    polynomial,
)
from .uses import used_elsewhere

_ROOT_HALF = float(np.sqrt(1 / 2))
_TANH = float(np.sqrt(2 / np.pi))
_CUBIC = 0.044715
_REACH = 5
"""Maximum number of arithmetic ops between the last op of an activation and its core."""

_BOUNDS = (graph.MinOp, graph.MaxOp, graph.ReluOp)
_HALVES: Polynomial = {(1, 0): 0.5, (1, 1): 0.5}  # in x and the core: 0.5 * x + 0.5 * x * core
_PRODUCT: Polynomial = {(1, 1): 1.0}  # x * core


class _Activation(Rewrite):
    """A function of `x` that consists of arithmetic around one expensive value, `core`."""

    def check(self, op: Any, *, x: ir.Value, core: ir.Value, **captures: Any) -> str | None:
        del captures
        if x.type != op.result.type:
            return "its constants broadcast the operand to another shape"
        return used_elsewhere(op, [x], core)


class Gelu(_Activation):
    """``x * 0.5 * (1 + erf(x / sqrt(2)))``, in any algebraic form, ``-->  gelu(x)``.

    Likewise its approximation ``x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))``, also
    as ``x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x**3))``. Exact but for rounding; constants
    may differ from these by 1e-5, or by two ulp.
    """

    name = "recognize-gelu"
    root = (graph.MulOp, graph.DivOp, graph.AddOp)

    _forms = (
        (graph.ErfOp, _HALVES, {(1,): _ROOT_HALF}, "none"),
        (graph.TanhOp, _HALVES, {(1,): _TANH, (3,): _TANH * _CUBIC}, "tanh"),
        (graph.SigmoidOp, _PRODUCT, {(1,): 2 * _TANH, (3,): 2 * _TANH * _CUBIC}, "tanh"),
    )
    """Class of the core, the whole as a polynomial in x and the core, the core's operand as a
    polynomial in x, and the approximation."""

    def pattern(self, op: graph.BinaryOp):
        dtype = graph.type_of(op.result).dtype
        for core in _cores(op, (graph.ErfOp, graph.TanhOp, graph.SigmoidOp)):
            forms = [form for form in self._forms if isinstance(core, form[0])]
            for x in operands_within(core.x):
                inner = polynomial(core.x, x)
                for _, whole, argument, approximate in forms:
                    if is_close(inner, argument, dtype) and is_close(
                        polynomial(op.result, x, core.result), whole, dtype
                    ):
                        return {"x": x, "core": core.result, "approximate": approximate}
        return None

    def rewrite(self, op: graph.BinaryOp, *, x, core, approximate):
        return graph.gelu(x, approximate=approximate)


class Swish(_Activation):
    """``x * sigmoid(alpha * x)  -->  swish(x) {alpha}``; also from ``0.5 * x * (1 + tanh(x / 2))``.

    Exact but for rounding.
    """

    name = "recognize-swish"
    root = (graph.MulOp, graph.DivOp, graph.AddOp)

    def pattern(self, op: graph.BinaryOp):
        dtype = graph.type_of(op.result).dtype
        for core in _cores(op, (graph.SigmoidOp, graph.TanhOp)):
            is_tanh = isinstance(core, graph.TanhOp)
            for x in operands_within(core.x):
                inner = polynomial(core.x, x)
                if inner is None or inner.keys() != {(1,)}:
                    continue
                whole = polynomial(op.result, x, core.result)
                if is_close(whole, _HALVES if is_tanh else _PRODUCT, dtype):
                    alpha = inner[(1,)] * (2 if is_tanh else 1)
                    return {"x": x, "core": core.result, "alpha": alpha}
        return None

    def rewrite(self, op: graph.BinaryOp, *, x, core, alpha):
        return graph.swish(x, alpha=alpha)


class Mish(_Activation):
    """``x * tanh(softplus(x))  -->  mish(x)``. Exact but for rounding."""

    name = "recognize-mish"
    root = graph.MulOp

    def pattern(self, op: graph.BinaryOp):
        for tanh, x in ((op.a, op.b), (op.b, op.a)):
            core = producer(tanh, graph.TanhOp)
            inner = producer(core.x, graph.SoftplusOp) if core is not None else None
            if core is not None and inner is not None and inner.x == x:
                return {"x": x, "core": core.result}
        return None

    def rewrite(self, op: graph.BinaryOp, *, x, core):
        return graph.mish(x)


class Softplus(Rewrite):
    """``log(1 + exp(x))  -->  softplus(x)``.

    Exact but for rounding, and where ``exp(x)`` overflows: there the result is x, not infinity.
    """

    name = "recognize-softplus"
    root = graph.LogOp

    def pattern(self, op: graph.UnaryOp):
        exp = _one_plus_exp(op.x)
        return None if exp is None else {"x": exp.x}

    def check(self, op: graph.UnaryOp, *, x):
        if x.type != op.result.type:
            return "its constants broadcast the operand to another shape"
        return used_elsewhere(op, [x])

    def rewrite(self, op: graph.UnaryOp, *, x):
        return graph.softplus(x)


class Sigmoid(Rewrite):
    """``1 / (1 + exp(-x))  -->  sigmoid(x)``, and ``y / (1 + exp(-x))  -->  y * sigmoid(x)``.

    Exact but for rounding.
    """

    name = "recognize-sigmoid"
    root = (graph.DivOp, graph.ReciprocalOp)

    def pattern(self, op: graph.BinaryOp | graph.UnaryOp):
        divisor = op.b if isinstance(op, graph.BinaryOp) else op.x
        exp = _one_plus_exp(divisor)
        if exp is None:
            return None
        dividend = op.a if isinstance(op, graph.BinaryOp) else None
        if dividend is not None and constant_number(dividend) == 1:
            dividend = None
        return {"dividend": dividend, "exp": exp.result, "minus_x": exp.x}

    def check(self, op: graph.BinaryOp | graph.UnaryOp, *, dividend, exp, minus_x):
        if dividend is None and minus_x.type != op.result.type:
            return "its constants broadcast the operand to another shape"
        return used_elsewhere(op, [minus_x], exp)

    def rewrite(self, op: graph.BinaryOp | graph.UnaryOp, *, dividend, exp, minus_x):
        negated = producer(minus_x, graph.NegOp)
        sigmoid = graph.sigmoid(graph.neg(minus_x) if negated is None else negated.x)
        return sigmoid if dividend is None else graph.mul(dividend, sigmoid)


class HardSigmoid(Rewrite):
    """``clip(x + 3, 0, 6) / 6  -->  hard_sigmoid(x) {alpha = 1/6, beta = 1/2}``.

    Any scaling that ends up between 0 and 1 will do; ``x * clip(x + 3, 0, 6) / 6`` (hard swish)
    becomes ``x * hard_sigmoid(x)``. Exact but for rounding.
    """

    name = "recognize-hard-sigmoid"
    root = (graph.MulOp, graph.DivOp, *_BOUNDS)

    def pattern(self, op):
        dtype = graph.type_of(op.result).dtype
        for clip in _cores(op, _BOUNDS):
            bounds = _clip_bounds(clip)
            if bounds is None:
                continue
            argument, low, high = bounds
            for x in reversed(list(operands_within(argument))):
                found = _scale_and_factor(op, x, clip)
                inner = polynomial(argument, x)
                if found is None or inner is None or not _is_affine(inner):
                    continue
                scale, factor = found
                if low == 0 and is_number(scale * high, 1.0, dtype):
                    alpha, beta = scale * inner[(1,)], scale * inner.get((0,), 0.0)
                    return {"x": x, "clip": clip.result, "factor": factor, "line": (alpha, beta)}
        return None

    def check(self, op, *, x, clip, factor, line):
        if line == (1.0, 0.0):
            return "it clips its operand and scales nothing"
        if x.type != op.result.type:
            return "its constants broadcast the operand to another shape"
        return used_elsewhere(op, [x], clip)

    def rewrite(self, op, *, x, clip, factor, line):
        alpha, beta = line
        result = graph.hard_sigmoid(x, alpha=alpha, beta=beta)
        return result if factor is None else graph.mul(factor, result)


REWRITES = (Sigmoid, Softplus, Gelu, Swish, Mish, HardSigmoid)


def _cores(op: Any, classes: tuple[type[graph.GraphOp], ...]) -> Iterator[Any]:
    """The ops of `classes` whose results enter the arithmetic of the float op `op`."""
    if not graph.is_float(graph.type_of(op.result).dtype):
        return
    for value in operands_within(op.result, _REACH):
        core = graph.graph_op(value.owner)
        if isinstance(core, classes):
            yield core


def _one_plus_exp(value: ir.Value) -> graph.UnaryOp | None:
    """The exponential in ``1 + exp(x)``."""
    add = producer(value, graph.AddOp)
    if add is None:
        return None
    for one, exp in ((add.a, add.b), (add.b, add.a)):
        found = producer(exp, graph.ExpOp)
        if found is not None and constant_number(one) == 1:
            return found
    return None


def _clip_bounds(op: Any) -> tuple[ir.Value, float, float] | None:
    """Operand and bounds of ``min(max(x, low), high)`` or ``max(min(x, high), low)``."""
    outer = _bound(op)
    inner_op = None if outer is None else graph.graph_op(outer[0].owner)
    inner = _bound(inner_op)
    if (
        outer is None
        or inner is None
        or isinstance(op, graph.MinOp) == isinstance(inner_op, graph.MinOp)
    ):
        return None
    return inner[0], min(outer[1], inner[1]), max(outer[1], inner[1])


def _bound(op: Any) -> tuple[ir.Value, float] | None:
    """The operand of a min or max with a constant (`relu` is ``max(x, 0)``), and the constant."""
    if isinstance(op, graph.ReluOp):
        return op.x, 0.0
    if isinstance(op, graph.MinOp | graph.MaxOp):
        for x, other in ((op.a, op.b), (op.b, op.a)):
            number = constant_number(other)
            if number is not None:
                return x, number
    return None


def _is_affine(p: Polynomial | None) -> bool:
    return p is not None and (1,) in p and p.keys() <= {(0,), (1,)}


def _scale_and_factor(op: Any, x: ir.Value, clip: Any) -> tuple[float, ir.Value | None] | None:
    """``(c, None)`` when `op` is ``c * clip``, ``(c, x)`` when it is ``c * x * clip``."""
    if op.result == clip.result:
        return 1.0, None
    whole = polynomial(op.result, x, clip.result)
    if whole is None or len(whole) != 1:
        return None
    ((degrees, scale),) = whole.items()
    return {(0, 1): (scale, None), (1, 1): (scale, x)}.get(degrees)  # type: ignore[return-value]
