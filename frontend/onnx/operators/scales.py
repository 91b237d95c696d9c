"""Checks of scales and zero points of quantised values."""

from collections.abc import Collection

import numpy as np

from ....dialects import graph
from ....mlir import ir

_INTEGERS = {f"{sign}int{bits}" for sign in ("u", "") for bits in (2, 4, 8, 16)}
_ZERO_POINTS = _INTEGERS | {
    *("float4_e2m1fn", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
}
"""Types that QuantizeLinear-25 gives."""


def require_quantized(dtype: np.dtype) -> None:
    """Raise TypeRuleError for a type that QuantizeLinear does not give."""
    if dtype.name not in _ZERO_POINTS:
        raise graph.TypeRuleError(
            f"the zero point is {dtype}, which values are not quantized to: it must be of 16 bits "
            "or fewer"
        )


def require_scale(scale: ir.Value, what: str = "scale", *, divides: bool = False) -> None:
    """Raise TypeRuleError for a constant scale that gives no numbers.

    One that `divides` must not have a zero. A zero in others is a channel of zeros, but not
    the only scale.
    """
    owner = graph.graph_op(scale.owner)
    if not isinstance(owner, graph.ConstantOp):
        return
    values = np.asarray(owner.attrs["value"], np.float64)
    problem = _problem(values, divides)
    if problem:
        raise graph.TypeRuleError(f"the {what} {problem}")


def _problem(values: np.ndarray, divides: bool) -> str:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        return f"is {values[tuple(wrong[0])]}{_place(wrong[0])}: scales are finite"
    zeros = np.argwhere(values == 0)
    if len(zeros) and (divides or len(zeros) == values.size):
        return f"is 0{_place(zeros[0])}: values are multiples of it"
    return ""


def _place(index: Collection[int]) -> str:
    return f" at {[int(each) for each in index]}" if len(index) else ""
