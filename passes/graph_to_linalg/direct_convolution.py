"""Calls of the direct convolution kernel, with or without an epilogue."""

from collections.abc import Sequence

from ...dialects import graph
from ...mlir import ir
from ..kernels.direct_convolution import DirectConvEmitter, DirectConvShape
from ..kernels.epilogue import VectorEpilogue
from .kernel_calls import compute
from .kernel_rules import lowers_with_epilogue
from .lowering import Lowering


@lowers_with_epilogue(graph.DirectConvOp)
def direct_conv(ctx: Lowering, op: graph.DirectConvOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a direct convolution and its `epilogue`."""
    return compute(ctx, DirectConvEmitter, "direct_conv", shape_of(op), op, epilogue)


def shape_of(op: graph.DirectConvOp) -> DirectConvShape:
    """The kernel shape of a direct convolution."""
    attrs = op.attrs
    planar = attrs["layout"] == "channels_first"
    batch, *sizes = graph.type_of(op.x).static_shape
    channels, *extents = sizes if planar else (sizes[-1], *sizes[:-1])
    _, *kernel, _, panel = graph.type_of(op.w).static_shape
    _, *out, features = graph.type_of(op.result).static_shape
    return DirectConvShape(
        (batch, *_along_axes(extents, 1), channels), (batch, *_along_axes(out, 1), features),
        _along_axes(kernel, 1), _along_axes(attrs["strides"], 1),
        _along_axes(attrs["dilations"], 1),
        _along_axes(attrs["low"], 0), nr=panel, groups=attrs["groups"], tile_w=attrs["tile_w"],
        lanes=attrs["lanes"], planar=planar,
    )  # fmt: skip


def _along_axes(values: Sequence[int], above: int) -> tuple[int, int]:
    """`values` along both axes of an image; a sequence is an image of one row."""
    return (above, values[0]) if len(values) == 1 else (values[0], values[1])
