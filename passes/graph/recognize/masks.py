"""Attention masks that are known at compile time, and the fillers of those that are not."""

import numpy as np

from ....mlir import ir
from ...infra.query import constant_array
from .algebra import constant_number

HIDDEN = -1e4
"""Added values up to this hide a position: models use anything from here to -inf."""


def is_hidden(value: ir.Value) -> bool:
    """Return whether `value` is a scalar constant that hides a position."""
    number = constant_number(value)
    return number is not None and number <= HIDDEN


def is_minus_infinity(value: ir.Value) -> bool:
    """Return whether `value` is the scalar constant minus infinity."""
    return constant_number(value) == -np.inf


def hides_nothing(mask: ir.Value, keeps: bool = True) -> bool:
    """Return whether `mask` is a constant that changes no score.

    A boolean mask keeps the positions at which it equals `keeps`.
    """
    array = constant_array(mask)
    return array is not None and bool((array == (array.dtype == np.bool_ and keeps)).all())


def is_causal(mask: ir.Value, keeps: bool = True) -> bool:
    """Return whether `mask` is a constant causal mask, which hides the positions after each row's
    own, in all batches and heads if it has such axes."""
    array = constant_array(mask)
    if array is None or array.ndim < 2 or array.shape[-2] < 2:
        return False
    if array.dtype == np.bool_:
        visible, hidden = array == keeps, array != keeps
    else:
        visible, hidden = array == 0, array.astype(np.float64) <= HIDDEN
    triangle = np.tri(*array.shape[-2:], dtype=bool)
    return bool((visible == triangle).all() and (hidden == ~triangle).all())
