"""Operators that move data: any axes, steps and amounts, empty tensors."""

import numpy as np
from hypothesis import strategies as st
from numerics import const
from random_cases import RandomNode, arrays, axes, checks, feeds, shapes, some_axes, tensors


@st.composite
def _transpose(draw):
    shape = draw(shapes())
    perm = draw(st.permutations(range(len(shape))))
    return RandomNode("Transpose", [draw(tensors(shape))], {"perm": perm} if perm else {})


@st.composite
def _reshape(draw):
    shape = draw(shapes(low=1))
    parts = list(shape)
    while len(parts) > 1 and draw(st.booleans()):
        at = draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [parts[at] * parts[at + 1]]
    if parts and draw(st.booleans()):
        parts[draw(st.integers(0, len(parts) - 1))] = -1
    return RandomNode("Reshape", [draw(tensors(shape)), const(np.array(parts, np.int64))])


@st.composite
def _slice(draw):
    shape = draw(shapes(rank=(1, 4)))
    which = draw(some_axes(len(shape)))
    bounds = st.one_of(st.integers(-7, 7), st.sampled_from((2**31, -(2**31), 2**63 - 1, -(2**63))))
    steps = [draw(st.sampled_from((1, 2, 3, -1, -2))) for _ in which]
    starts, ends = ([draw(bounds) for _ in which] for _ in range(2))
    # ONNX has a backward slice to the largest number end behind its beginning, as any number that
    # large; ONNX Runtime takes it to mean the very front.
    ends = [2**31 if s < 0 and e == 2**63 - 1 else e for s, e in zip(steps, ends, strict=True)]
    lists = [np.array(values, np.int64) for values in (starts, ends, which, steps)]
    given = [const(lists[0]), const(lists[1]), const(lists[2]), const(lists[3])]
    if draw(st.booleans()) and all(abs(v) < 100 for v in (*starts, *ends)):
        given[:2] = lists[:2]
    return RandomNode("Slice", [draw(tensors(shape)), *given])


@st.composite
def _concat(draw):
    shape = draw(shapes(rank=(1, 4)))
    axis = draw(axes(len(shape)))
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        shape[axis] = draw(st.integers(0, 3))
        parts.append(draw(tensors(list(shape))))
    # ONNX Runtime leaves out what is empty, whatever its other sizes; ONNX wants these to agree.
    full = all(0 not in part.array.shape for part in parts)
    return RandomNode("Concat", parts, {"axis": axis}, other_sizes=full)


@st.composite
def _split(draw):
    shape = draw(shapes(rank=(1, 4)))
    axis = draw(axes(len(shape)))
    parts = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    shape[axis] = sum(parts)
    inputs = [draw(tensors(shape)), const(np.array(parts, np.int64))]
    return RandomNode("Split", inputs, {"axis": axis}, outputs=len(parts))


@st.composite
def _pad(draw):
    mode = draw(st.sampled_from(("constant", "edge", "reflect", "wrap")))
    shape = draw(shapes(rank=(1, 4), low=0 if mode == "constant" else 2))
    amounts = [draw(st.integers(0, 3)) for _ in range(2 * len(shape))]
    if mode in ("reflect", "wrap"):
        amounts = [min(a, s - 1) for a, s in zip(amounts, shape * 2, strict=True)]
    inputs = [draw(tensors(shape)), const(np.array(amounts, np.int64))]
    if mode == "constant" and draw(st.booleans()):
        inputs.append(np.array(1.5, np.float32))
    return RandomNode("Pad", inputs, {"mode": mode}, other_sizes=mode == "constant")


@st.composite
def _expand(draw):
    shape = draw(shapes())
    own = [1 if draw(st.booleans()) else size for size in shape[draw(st.integers(0, 4)) :]]
    target = [1 if draw(st.integers(0, 4)) == 0 else size for size in shape]
    x = draw(arrays(own))
    try:
        np.broadcast_shapes(tuple(own), tuple(target))
    except ValueError:
        target = shape
    return RandomNode("Expand", [draw(feeds(x)), const(np.array(target, np.int64))])


@st.composite
def _tile(draw):
    shape = draw(shapes(rank=(1, 4)))
    counts = [draw(st.integers(0, 3)) for _ in shape]
    return RandomNode("Tile", [draw(tensors(shape)), const(np.array(counts, np.int64))])


test_movement = checks(
    st.one_of(
        _transpose(),
        _reshape(),
        _slice(),
        _slice(),
        _concat(),
        _split(),
        _pad(),
        _expand(),
        _tile(),
    )
)
