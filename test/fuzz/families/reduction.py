"""Reductions, running sums, and indices of maxima and minima."""

from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value, is_float
from ..node_evaluation import Rejected

_REDUCTIONS = ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL1",
               "ReduceL2", "ReduceProd", "ReduceLogSumExp", "ReduceLogSum")  # fmt: skip
_EXACT = ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1")
_INTEGERS = ("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd")


@draws(weight=8)
def reduce(b: GraphBuilder) -> None:
    """Reduction over some or all axes, with or without keeping them."""
    op_type = b.choose(_REDUCTIONS)
    types = ("float32", "float64", "float16")
    types += ("int32", "int64") if op_type in _INTEGERS else ()
    ranges = {"ReduceLogSum": (0.1, 5), "ReduceProd": (-1.5, 1.5), "ReduceLogSumExp": (-20, 20)}
    low, high = ranges.get(op_type, (-3.0, 3.0))
    x = b.take((1, 4), types, low=low, high=high, empty=op_type == "ReduceSum")
    attributes = {"keepdims": b.integer(0, 1)}
    axes = [axis % x.rank for axis in b.axes(x.rank)] if not x.size else b.axes(x.rank)
    exact = op_type in _EXACT
    over_all = b.chance(0.2)
    if not fits(x, op_type, None if over_all else axes):
        raise Rejected("overflows")
    if over_all:
        b.add(op_type, [x], exact=exact, **attributes)
    elif b.opset >= (13 if op_type == "ReduceSum" else 18):
        b.add(op_type, [x, b.ints(axes)], exact=exact, **attributes)
    else:
        b.add(op_type, [x], exact=exact, axes=[axis % x.rank for axis in axes], **attributes)


def fits(x: Value, op_type: str, axes: list[int] | None) -> bool:
    """Return whether a reduction of integers stays in range in any order of evaluation.

    The range is that of their type and of exact float64 integers, because ONNX Runtime combines
    them in float64. Values beyond it wrap around, are rounded, or are clamped.
    """
    combine = {"ReduceSum": np.sum, "ReduceProd": np.prod}.get(op_type)
    if combine is None or is_float(x.dtype):
        return True
    axis = None if axes is None else tuple(axes)
    with np.errstate(over="ignore"):
        largest = combine(np.maximum(np.abs(x.wide), 1), axis=axis)
    return bool((largest <= min(np.iinfo(x.dtype).max, 2**53)).all())


@draws(weight=2)
def arg(b: GraphBuilder) -> None:
    """Index of the maximum or minimum of exact values, or of floats that are clearly apart."""
    x = b.take((1, 4), ("float32", "int32"), empty=False)
    axis = b.integer(0, x.rank - 1)
    if not x.exact:
        ordered = np.sort(x.wide, axis=axis)
        apart = np.diff(ordered, axis=axis)
        if (apart < 0.02 * max(float(np.abs(x.wide).max()), 1)).any():
            raise Rejected("near ties")
    attributes: dict[str, Any] = {
        "axis": axis - x.rank if b.opset >= 11 and b.chance(0.3) else axis
    }
    if b.opset >= 12:
        attributes["select_last_index"] = b.integer(0, 1)
    b.add(b.choose(("ArgMax", "ArgMin")), [x], keepdims=b.integer(0, 1), **attributes)


@draws(weight=1.5, since=11)
def running_sum(b: GraphBuilder) -> None:
    """Cumulative sums."""
    x = b.take((1, 4), ("float32", "float64", "int32", "int64"))
    flags = {name: b.integer(0, 1) for name in ("exclusive", "reverse")}
    b.add("CumSum", [x, b.known(np.array(b.axis(x.rank)))], exact=True, **flags)


@draws(weight=1.5, since=11)
def top_k(b: GraphBuilder) -> None:
    """The largest or smallest of exact values, or of floats that are clearly apart."""

    def apart(x: Value) -> bool:
        return x.exact or bool((np.diff(np.sort(x.wide, axis=-1)) > 0.02 * 3).all())

    x = b.take((1, 3), ("float32", "int64", "int32"), empty=False, where=apart)
    k = b.integer(1, x.shape[-1])
    count = b.ints([k])
    b.add("TopK", [x, count], 2, exact=True, axis=-1, largest=b.integer(0, 1))
