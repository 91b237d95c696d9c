"""Optimizers of ``ai.onnx.preview.training``: one step each, on any number of tensors.

The inputs are the learning rate, the count of updates so far, and then, group by group, the
tensors, their gradients and what the optimizer keeps for each.
"""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op

_DOMAIN = "ai.onnx.preview.training"


def _groups(values: Sequence[ir.Value], size: int) -> list[tuple[ir.Value, ...]]:
    """The tensors that belong together, from `values` that list them kind by kind."""
    if not values or len(values) % size:
        raise graph.TypeRuleError(f"{len(values)} tensors do not make groups of {size}")
    count = len(values) // size
    return [tuple(values[first::count]) for first in range(count)]


def _flat(rows: Sequence[tuple[ir.Value, ...]]) -> tuple[ir.Value, ...]:
    """Results kind by kind, from those of each group."""
    return tuple(value for kind in zip(*rows, strict=True) for value in kind)


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    return x if factor == 1 else graph.mul(x, graph.splat_like(factor, x))


def _regularized(x: ir.Value, gradient: ir.Value, coefficient: float) -> ir.Value:
    return gradient if coefficient == 0 else graph.add(_scaled(x, coefficient), gradient)


def _as_scalar(value: ir.Value, like: ir.Value) -> ir.Value:
    return graph.cast(graph.reshape(value, shape=[]), to=graph.type_of(like).dtype)


def _is_first(updates: ir.Value) -> ir.Value:
    zero = graph.constant(value=np.zeros((), graph.type_of(updates).dtype))
    return graph.less_or_equal(graph.reshape(updates, shape=[]), zero)


@onnx_op("Adagrad", domain=_DOMAIN)
def adagrad(rate, updates, *tensors, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0):
    """Adaptive subgradients (Duchi, Hazan and Singer, 2011)."""

    def step(x: ir.Value, g: ir.Value, h: ir.Value) -> tuple[ir.Value, ...]:
        decay = _scaled(_as_scalar(updates, x), decay_factor)
        r = graph.div(_as_scalar(rate, x), graph.add(decay, graph.splat_like(1, x)))
        g = _regularized(x, g, norm_coefficient)
        h = graph.add(h, graph.mul(g, g))
        scale = graph.add(graph.sqrt(h), graph.splat_like(epsilon, x))
        return graph.sub(x, graph.div(graph.mul(r, g), scale)), h

    return _flat([step(*group) for group in _groups(tensors, 3)])


@onnx_op("Adam", domain=_DOMAIN)
def adam(
    rate,
    updates,
    *tensors,
    alpha=0.9,
    beta=0.999,
    epsilon=1e-6,
    norm_coefficient=0.0,
    norm_coefficient_post=0.0,
):
    """Adaptive moments (Kingma and Ba, 2014), not corrected for bias in the first update."""

    def correction(x: ir.Value) -> ir.Value:
        one, count = graph.splat_like(1, x), _as_scalar(updates, x)
        first = graph.sub(one, graph.pow_(graph.splat_like(alpha, x), count))
        second = graph.sub(one, graph.pow_(graph.splat_like(beta, x), count))
        return graph.where(_is_first(updates), one, graph.div(graph.sqrt(second), first))

    def step(x: ir.Value, g: ir.Value, v: ir.Value, h: ir.Value) -> tuple[ir.Value, ...]:
        g = _regularized(x, g, norm_coefficient)
        v = graph.add(_scaled(v, alpha), _scaled(g, 1 - alpha))
        h = graph.add(_scaled(h, beta), _scaled(graph.mul(g, g), 1 - beta))
        r = graph.mul(_as_scalar(rate, x), correction(x))
        scale = graph.add(graph.sqrt(h), graph.splat_like(epsilon, x))
        x = graph.sub(x, graph.mul(r, graph.div(v, scale)))
        return _scaled(x, 1 - norm_coefficient_post), v, h

    return _flat([step(*group) for group in _groups(tensors, 4)])


@onnx_op("Momentum", domain=_DOMAIN)
def momentum(rate, updates, *tensors, alpha, beta, mode, norm_coefficient):
    """Gradient descent with momentum; the first gradient has the full weight."""
    if mode not in ("standard", "nesterov"):
        raise UnsupportedError(f"mode '{mode}'")

    def step(x: ir.Value, g: ir.Value, v: ir.Value) -> tuple[ir.Value, ...]:
        g = _regularized(x, g, norm_coefficient)
        one, later = graph.splat_like(1, x), graph.splat_like(beta, x)
        weight = graph.where(_is_first(updates), one, later)
        v = graph.add(_scaled(v, alpha), graph.mul(weight, g))
        way = v if mode == "standard" else graph.add(g, _scaled(v, alpha))
        return graph.sub(x, graph.mul(_as_scalar(rate, x), way)), v

    return _flat([step(*group) for group in _groups(tensors, 3)])
