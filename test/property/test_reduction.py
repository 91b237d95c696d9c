"""Reductions: any axes, empty tensors, special values."""

import numpy as np
from hypothesis import strategies as st
from numerics import const
from random_cases import RandomNode, axes, checks, shapes, some_axes, tensors

_OPERATORS = (
    "ReduceL1", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "ReduceLogSumExp",
)  # fmt: skip
_DTYPES = (np.float32, np.float64, np.int32)
_FLOATS_ONLY = ("ReduceL2", "ReduceLogSumExp", "ReduceMean")


@st.composite
def _reduce(draw):
    op_type = draw(st.sampled_from(_OPERATORS))
    dtype = np.float32 if op_type in _FLOATS_ONLY else draw(st.sampled_from(_DTYPES))
    keepdims = draw(st.integers(0, 1))
    # Of products that int32 cannot hold, ONNX's evaluator wraps and ONNX Runtime takes the largest.
    rank, high = (3, 2) if (op_type, dtype) == ("ReduceProd", np.int32) else (4, 9)
    shape = draw(shapes(rank=(1, rank), low=int(op_type != "ReduceSum"), high=high))
    x = draw(tensors(shape, dtype, special=op_type == "ReduceSum"))
    attributes = {"keepdims": keepdims}
    which = draw(some_axes(len(shape)))
    if 0 in shape:  # of which ONNX Runtime 1.31 keeps axes that are counted from the end
        which = [axis % len(shape) for axis in which]
    if not which:
        attributes["noop_with_empty_axes"] = 0
    inputs = [x, const(np.array(which, np.int64))] if which or draw(st.booleans()) else [x]
    fits = op_type != "ReduceProd"  # of more elements, products that the type cannot hold
    return RandomNode(op_type, inputs, attributes, tolerance=1e-5, other_sizes=fits)


@st.composite
def _arg(draw):
    shape = draw(shapes(rank=(1, 4), low=1, high=9))
    attributes = {"axis": draw(axes(len(shape))), "keepdims": draw(st.integers(0, 1))}
    attributes["select_last_index"] = draw(st.integers(0, 1))
    dtype = draw(st.sampled_from((np.float32, np.int32)))
    return RandomNode(
        draw(st.sampled_from(("ArgMax", "ArgMin"))), [draw(tensors(shape, dtype))], attributes
    )


@st.composite
def _cumsum(draw):
    shape = draw(shapes(rank=(1, 4), high=9))
    axis = const(np.array(draw(axes(len(shape))), np.int64))
    attributes = {name: draw(st.integers(0, 1)) for name in ("exclusive", "reverse")}
    dtype = draw(st.sampled_from(_DTYPES))
    return RandomNode("CumSum", [draw(tensors(shape, dtype)), axis], attributes, tolerance=1e-5)


test_reduction = checks(st.one_of(_reduce(), _reduce(), _arg(), _cumsum()))
