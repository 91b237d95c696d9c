"""Matrix products: any ranks, broadcast batches, empty sides."""

import numpy as np
from hypothesis import strategies as st
from random_cases import RandomNode, arrays, broadcastable, checks, feeds, shapes, sizes, tensors


@st.composite
def _matmul(draw):
    rows, k, columns = (draw(sizes(1, 20)) for _ in range(3))
    batch = draw(shapes(rank=(0, 2), low=1, high=3))
    dtype = draw(st.sampled_from((np.float32, np.float64)))
    a = [*draw(broadcastable(batch)), rows, k]
    b = [*draw(broadcastable(batch)), k, columns]
    if draw(st.integers(0, 5)) == 0:
        a = [k]
    elif draw(st.integers(0, 5)) == 0:
        b = [k]
    return RandomNode("MatMul", [draw(tensors(a, dtype)), draw(tensors(b, dtype))], tolerance=1e-4)


@st.composite
def _gemm(draw):
    rows, k, columns = (draw(sizes(1, 20)) for _ in range(3))
    flipped = [draw(st.integers(0, 1)) for _ in range(2)]
    a = draw(arrays([rows, k][:: 1 - 2 * flipped[0]]))
    b = draw(arrays([k, columns][:: 1 - 2 * flipped[1]]))
    c = draw(st.sampled_from((None, [columns], [1, columns], [rows, 1], [1], [])))
    attributes = {"transA": flipped[0], "transB": flipped[1]}
    attributes |= {"alpha": draw(st.sampled_from((1.0, 0.5))), "beta": 2.0}
    inputs = [draw(feeds(a)), draw(feeds(b)), *([] if c is None else [draw(tensors(c))])]
    return RandomNode("Gemm", inputs, attributes, tolerance=1e-4)


_EQUATIONS = (
    "ij,jk->ik", "bij,bkj->bik", "bhid,bhjd->bhij", "ii->i", "ij->ji", "i,j->ij", "ij,ij->",
    "...ij,jk->...ik", "ijk,k->ij", "ij,kj,lk->il",
)  # fmt: skip


@st.composite
def _einsum(draw):
    equation = draw(st.sampled_from(_EQUATIONS))
    extents = {letter: draw(sizes(1, 6)) for letter in "bhijkld"}
    terms = equation.split("->")[0].split(",")
    wide = draw(shapes(rank=(0, 2), low=1, high=3))
    operands = []
    for term in terms:
        own = [extents[letter] for letter in term.replace("...", "")]
        operands.append(draw(tensors([*wide, *own] if term.startswith("...") else own)))
    return RandomNode("Einsum", operands, {"equation": equation}, tolerance=1e-4)


test_contraction = checks(st.one_of(_matmul(), _gemm(), _einsum()))
