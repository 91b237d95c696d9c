"""Pooling: any windows, with and without what padding counts for."""

from hypothesis import strategies as st
from random_cases import RandomNode, arrays, checks, sizes


@st.composite
def _pool(draw):
    op_type = draw(st.sampled_from(("MaxPool", "AveragePool", "LpPool")))
    rank = draw(sizes(1, 2 if op_type == "LpPool" else 3))
    kernel = [draw(sizes(1, 3)) for _ in range(rank)]
    strides = [draw(sizes(1, 3)) for _ in range(rank)]
    attributes = {"kernel_shape": kernel, "strides": strides}
    attributes["pads"] = [draw(sizes(0, k - 1)) for k in kernel * 2]
    if op_type == "AveragePool":
        attributes["count_include_pad"] = draw(st.integers(0, 1))
    if op_type == "MaxPool" and draw(st.booleans()):
        attributes["dilations"] = [draw(sizes(1, 2)) for _ in range(rank)]
    extents = [2 * k + draw(sizes(0, 5)) for k in kernel]
    x = draw(arrays([draw(sizes(1, 2)), draw(sizes(1, 4)), *extents]))
    outputs = 2 if op_type == "MaxPool" and draw(st.integers(0, 3)) == 0 else 1
    return RandomNode(op_type, [x], attributes, outputs=outputs, tolerance=1e-4)


test_pooling = checks(_pool())
