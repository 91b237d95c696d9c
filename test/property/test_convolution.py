"""Convolutions: any strides, dilations, padding and groups, in one to three dimensions."""

from hypothesis import strategies as st
from numerics import Const
from random_cases import RandomNode, arrays, checks, feeds, sizes


@st.composite
def windows(draw, rank):
    """Attributes of a window, and an image that it fits."""
    kernel = [draw(sizes(1, 3)) for _ in range(rank)]
    dilations = [draw(sizes(1, 2)) for _ in range(rank)]
    strides = [draw(sizes(1, 3)) for _ in range(rank)]
    extents = [(k - 1) * d + 1 + draw(sizes(0, 5)) for k, d in zip(kernel, dilations, strict=True)]
    attributes = {"kernel_shape": kernel, "dilations": dilations, "strides": strides}
    padding = draw(st.sampled_from(("none", "pads", "SAME_UPPER", "SAME_LOWER", "VALID")))
    if padding == "pads":
        sides = kernel * 2
        attributes["pads"] = [draw(sizes(0, k - 1)) for k in sides]
    elif padding != "none":
        attributes["auto_pad"] = padding
        if padding.startswith("SAME"):
            attributes["dilations"] = [1] * rank
    return attributes, extents


@st.composite
def _conv(draw):
    attributes, extents = draw(windows(draw(sizes(1, 3))))
    groups, channels, each = draw(sizes(1, 3)), draw(sizes(1, 4)), draw(sizes(1, 4))
    x = draw(arrays([draw(sizes(1, 2)), groups * channels, *extents]))
    weights = draw(arrays([groups * each, channels, *attributes["kernel_shape"]]))
    inputs = [x, Const(weights) if draw(st.booleans()) else weights]
    if draw(st.booleans()):
        inputs.append(draw(arrays([groups * each])))
    if "auto_pad" not in attributes:
        inputs[0] = draw(feeds(x))
    return RandomNode("Conv", inputs, {**attributes, "group": groups}, tolerance=1e-4)


@st.composite
def _conv_transpose(draw):
    attributes, extents = draw(windows(draw(sizes(1, 2))))
    attributes.pop("auto_pad", None)
    groups, channels, each = draw(sizes(1, 2)), draw(sizes(1, 3)), draw(sizes(1, 3))
    x = draw(arrays([draw(sizes(1, 2)), groups * channels, *extents]))
    weights = draw(arrays([groups * channels, each, *attributes["kernel_shape"]]))
    attributes["output_padding"] = [draw(sizes(0, s - 1)) for s in attributes["strides"]]
    return RandomNode(
        "ConvTranspose", [x, weights], {**attributes, "group": groups}, tolerance=1e-4
    )


test_convolution = checks(st.one_of(_conv(), _conv(), _conv_transpose()))
