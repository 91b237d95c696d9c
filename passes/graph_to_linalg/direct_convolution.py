"""Calls of the direct convolution kernel, with or without an epilogue."""

from collections.abc import Sequence

from ...dialects import graph
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..kernels.direct_conv_shape import DirectConvShape, Planes, in_segments
from ..kernels.direct_convolution import DirectConvEmitter
from ..kernels.epilogue import VectorEpilogue
from .image_extents import dynamic_sizes, known_extents
from .kernel_calls import compute
from .kernel_rules import always, lowers_with_epilogue
from .lowering import Lowering, Size


@lowers_with_epilogue(graph.DirectConvOp, narrows=always)
def direct_conv(ctx: Lowering, op: graph.DirectConvOp, epilogue: VectorEpilogue) -> ir.Value:
    """Compute a direct convolution and its `epilogue`."""
    shape, sizes = shape_of(op), dynamic_sizes_of(op)
    shape = in_segments(shape, ctx.cpu, 4 * shape.image[3])
    return compute(ctx, DirectConvEmitter, "direct_conv", shape, op, epilogue, sizes=sizes)


def shape_of(op: graph.DirectConvOp) -> DirectConvShape:
    """The kernel shape of a direct convolution."""
    attrs = op.attrs
    image, result = extents_of(op)
    _, *kernel, _, panel = graph.type_of(op.w).static_shape
    return DirectConvShape(
        known_extents(image), known_extents(result),
        along_axes(kernel, 1), along_axes(attrs["strides"], 1),
        along_axes(attrs["dilations"], 1),
        along_axes(attrs["low"], 0), nr=panel, groups=attrs["groups"], tile_w=attrs["tile_w"],
        lanes=attrs["lanes"], planar=attrs["layout"] == "channels_first", planes=planes_of(op),
    )  # fmt: skip


def dynamic_sizes_of(op: graph.DirectConvOp | graph.Int8DirectConvOp) -> list[Dim]:
    """The dynamic sizes of the image, then those of the result, then the planes of both."""
    image, result = extents_of(op)
    return [*dynamic_sizes(image, result), *(n for n in _planes(op) if isinstance(n, Dim))]


def extents_of(
    op: graph.DirectConvOp | graph.Int8DirectConvOp,
) -> tuple[graph.Shape, graph.Shape]:
    """The image and the result as [N, H, W, C]; a sequence is an image of one row, and the planes
    of a volume are left out (`planes_of`)."""
    batch, channels, extents = graph.split_layout(graph.type_of(op.x).shape, _layout_of(op))
    out, *sizes, features = graph.type_of(op.result).shape
    row = [1] * (2 - len(extents))
    return (batch, *row, *extents[-2:], channels), (out, *row, *sizes[-2:], features)


def planes_of(op: graph.DirectConvOp | graph.Int8DirectConvOp) -> Planes:
    """The axis of a volume that an image does not have."""
    if not (planes := _planes(op)):
        return Planes()
    window = (op.attrs[name][0] for name in ("strides", "dilations", "low"))
    image, result = (size if isinstance(size, int) else None for size in planes)
    return Planes(image, result, graph.type_of(op.w).static_shape[1], *window)


def _planes(op: graph.DirectConvOp | graph.Int8DirectConvOp) -> Sequence[Size]:
    """The planes of a volume and of the result; nothing for an image."""
    _, _, extents = graph.split_layout(graph.type_of(op.x).shape, _layout_of(op))
    return () if len(extents) < 3 else (extents[0], graph.type_of(op.result).shape[1])


def _layout_of(op: graph.DirectConvOp | graph.Int8DirectConvOp) -> str:
    return op.attrs["layout"] if isinstance(op, graph.DirectConvOp) else "channels_last"


def along_axes(values: Sequence[int], above: int) -> tuple[int, int]:
    """`values` along both axes of an image; a sequence is an image of one row, and a volume one of
    its planes."""
    return (above, values[0]) if len(values) == 1 else (values[-2], values[-1])
