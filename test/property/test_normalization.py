"""Normalisations and softmax: any axes, large numbers, long rows."""

import numpy as np
from hypothesis import strategies as st
from random_cases import RandomNode, arrays, axes, checks, feeds, shapes, sizes


@st.composite
def _softmax(draw):
    shape = draw(shapes(rank=(1, 4), high=70))
    shape = [min(size, 6) for size in shape[:-1]] + shape[-1:]
    x = draw(arrays(shape)) * draw(st.sampled_from((1, 30)))
    op_type = draw(st.sampled_from(("Softmax", "LogSoftmax")))
    inputs = [draw(feeds(x.astype(np.float32)))]
    return RandomNode(op_type, inputs, {"axis": draw(axes(len(shape)))}, tolerance=1e-5)


def _spread(*args, **options):
    """A node on values as they were drawn: equal ones have rounding errors for a deviation."""
    return RandomNode(*args, **options, other_values=False, other_sizes=False)


@st.composite
def _layer_norm(draw):
    shape = draw(shapes(rank=(1, 4), low=2, high=40))
    axis = draw(axes(len(shape)))
    scale, bias = (draw(arrays(shape[axis:])) for _ in range(2))
    inputs = [draw(feeds(draw(arrays(shape)))), scale, *([bias] if draw(st.booleans()) else [])]
    return _spread("LayerNormalization", inputs, {"axis": axis}, tolerance=1e-4)


@st.composite
def _of_channels(draw):
    channels = draw(sizes(1, 6))
    shape = [draw(sizes(1, 3)), channels, *draw(shapes(rank=(1, 3), low=2, high=5))]
    x, parameters = draw(arrays(shape)), [draw(arrays([channels])) for _ in range(3)]
    if draw(st.booleans()):
        return _spread("InstanceNormalization", [x, *parameters[:2]], tolerance=1e-3)
    variance = np.abs(draw(arrays([channels])))
    return RandomNode("BatchNormalization", [x, *parameters, variance], tolerance=1e-3)


@st.composite
def _lrn(draw):
    shape = [draw(sizes(1, 2)), draw(sizes(1, 8)), *draw(shapes(rank=(2, 2), low=1))]
    size = draw(st.sampled_from((1, 3, 5)))
    return RandomNode("LRN", [draw(arrays(shape))], {"size": size, "alpha": 0.2}, tolerance=1e-5)


test_normalization = checks(st.one_of(_softmax(), _layer_norm(), _of_channels(), _lrn()))
