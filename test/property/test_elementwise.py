"""Elementwise operators: broadcasting, element types, special values."""

import numpy as np
from hypothesis import strategies as st
from random_cases import RandomNode, arrays, broadcastable, checks, feeds, shapes, tensors

_FLOATS = (np.float32, np.float64)
_NUMBERS = (*_FLOATS, np.int32, np.int64)
_UNARY = (
    "Abs", "Ceil", "Exp", "Floor", "IsNaN", "Neg", "Reciprocal", "Relu", "Round", "Sigmoid",
    "Sign", "Sqrt", "Tanh",
)  # fmt: skip
_BINARY = ("Add", "Sub", "Mul", "Max", "Min")
_COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_LOGIC = ("And", "Or", "Xor")


@st.composite
def _unary(draw):
    op_type = draw(st.sampled_from(_UNARY))
    return RandomNode(op_type, [draw(tensors(draw(shapes()), np.float32, special=True))])


@st.composite
def _binary(draw):
    op_type = draw(st.sampled_from((*_BINARY, *_COMPARISONS, *_LOGIC, "Div")))
    logic, division = op_type in _LOGIC, op_type == "Div"
    dtype = np.bool_ if logic else draw(st.sampled_from(_FLOATS if division else _NUMBERS))
    shape = draw(shapes())
    a = draw(arrays(draw(broadcastable(shape)), dtype, special=True))
    b = draw(arrays(draw(broadcastable(shape)), dtype, special=True))
    pair = [draw(feeds(a)), draw(feeds(b))]
    return RandomNode(op_type, pair[:: draw(st.sampled_from((1, -1)))])


@st.composite
def _where(draw):
    shape = draw(shapes())
    dtypes = (np.bool_, *[draw(st.sampled_from(_NUMBERS))] * 2)
    parts = [draw(tensors(draw(broadcastable(shape)), dtype, special=True)) for dtype in dtypes]
    return RandomNode("Where", parts)


@st.composite
def _clip(draw):
    x = draw(arrays(draw(shapes()), np.float32, special=True))
    x = draw(feeds(np.where(np.isinf(x), np.float32(9), x)))  # or a bound left out may be finite
    low, high = sorted(draw(arrays([2])).tolist())
    bounds = [draw(st.sampled_from((None, np.array(b, np.float32)))) for b in (low, high)]
    return RandomNode("Clip", [x, *bounds])


@st.composite
def _cast(draw):
    source = draw(st.sampled_from((*_NUMBERS, np.uint8, np.bool_)))
    target = draw(st.sampled_from((1, 6, 7, 9, 11)))
    return RandomNode("Cast", [draw(tensors(draw(shapes()), source))], {"to": target})


test_elementwise = checks(st.one_of(_unary(), _binary(), _binary(), _where(), _clip(), _cast()))
