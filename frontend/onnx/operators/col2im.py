"""Col2Im."""

from ....dialects import graph
from ..importing.registry import onnx_op
from .shapes import require_sizes


@onnx_op("Col2Im", since=18)
def col2im(x, image_shape, block_shape, *, node, dilations=None, pads=None, strides=None):
    image = require_sizes(image_shape, node, "image_shape")
    block = require_sizes(block_shape, node, "block_shape")
    axes = len(image)
    pads = [0] * (2 * axes) if pads is None else pads
    if len(pads) != 2 * axes:
        raise graph.TypeRuleError(f"pads {pads} does not fit {axes} spatial axes")
    return graph.col2im(
        x,
        image=image,
        block=block,
        strides=[1] * axes if strides is None else strides,
        dilations=[1] * axes if dilations is None else dilations,
        low=pads[:axes],
        high=pads[axes:],
    )
