"""Reads and writes at drawn positions: negative indices, empty tensors, repeated positions."""

import numpy as np
from hypothesis import strategies as st
from numerics import const
from random_cases import RandomNode, arrays, axes, checks, feeds, shapes, tensors


@st.composite
def _indices(draw, shape, extent):
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtype = draw(st.sampled_from((np.int32, np.int64)))
    return random.integers(-extent, extent, shape).astype(dtype)


@st.composite
def _gather(draw):
    shape = draw(shapes(rank=(1, 4), low=1))
    axis = draw(axes(len(shape)))
    indices = draw(_indices(draw(shapes(rank=(0, 3))), shape[axis]))
    return RandomNode("Gather", [draw(tensors(shape)), draw(feeds(indices))], {"axis": axis})


@st.composite
def _gather_elements(draw):
    shape = draw(shapes(rank=(1, 4), low=1))
    axis = draw(axes(len(shape)))
    positions = list(shape)
    positions[axis] = draw(st.integers(0, 6))
    indices = draw(_indices(positions, shape[axis]))
    x = draw(tensors(shape))
    return RandomNode("GatherElements", [x, draw(feeds(indices))], {"axis": axis})


def _positions(draw, extents, count):
    rows = [draw(_indices([count], extent)).astype(np.int64) for extent in extents]
    return np.stack(rows, axis=-1)


@st.composite
def _gather_nd(draw):
    shape = draw(shapes(rank=(1, 4), low=1))
    depth = draw(st.integers(1, len(shape)))
    indices = _positions(draw, shape[:depth], draw(st.integers(0, 5)))
    return RandomNode("GatherND", [draw(tensors(shape)), indices])


@st.composite
def _scatter_nd(draw):
    shape = draw(shapes(rank=(1, 4), low=1))
    depth = draw(st.integers(1, len(shape)))
    reduction = draw(st.sampled_from(("none", "add", "mul", "max", "min")))
    indices = _positions(draw, shape[:depth], draw(st.integers(1, 5)))
    if reduction == "none":  # of equal positions, which comes last is not said
        positive = indices % np.array(shape[:depth])
        indices = indices[np.unique(positive, axis=0, return_index=True)[1]]
    updates = draw(arrays([len(indices), *shape[depth:]]))
    inputs = [draw(tensors(shape)), indices, updates]
    # Of equal positions, which others may be, which comes last is not said.
    free = reduction != "none"
    return RandomNode("ScatterND", inputs, {"reduction": reduction}, other_values=free)


@st.composite
def _scatter_elements(draw):
    shape = draw(shapes(rank=(1, 3), low=1))
    axis = draw(axes(len(shape)))
    positions = list(shape)
    positions[axis] = draw(st.integers(1, 4))
    indices = draw(_indices(positions, shape[axis]))
    reduction = draw(st.sampled_from(("add", "mul", "max", "min")))
    inputs = [draw(tensors(shape)), draw(feeds(indices)), draw(arrays(positions))]
    attributes = {"axis": axis, "reduction": reduction}
    return RandomNode("ScatterElements", inputs, attributes, tolerance=1e-5)


@st.composite
def _top_k(draw):
    shape = draw(shapes(rank=(1, 3), low=1, high=9))
    axis = draw(axes(len(shape)))
    k = const(np.array([draw(st.integers(0, shape[axis]))], np.int64))
    attributes = {"axis": axis, "largest": draw(st.integers(0, 1))}
    return RandomNode("TopK", [draw(tensors(shape)), k], attributes, outputs=2)


@st.composite
def _one_hot(draw):
    depth = draw(st.integers(1, 6))
    shape = draw(shapes(rank=(1, 3)))
    indices = draw(_indices(shape, depth)).astype(np.int64)
    inputs = [draw(feeds(indices)), const(np.array(depth)), const(np.array([2.0, 5.0]))]
    return RandomNode("OneHot", inputs, {"axis": draw(axes(len(shape) + 1))})


@st.composite
def _non_zero(draw):
    return RandomNode("NonZero", [draw(tensors(draw(shapes(rank=(1, 4))), np.int32))])


test_indexing = checks(
    st.one_of(
        _gather(), _gather_elements(), _gather_nd(), _scatter_nd(), _scatter_elements(), _top_k(),
        _one_hot(), _non_zero(),
    )
)  # fmt: skip
