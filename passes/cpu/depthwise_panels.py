"""Depthwise convolutions in panels of the width of those of the matmul before them."""

from collections.abc import Callable

from ...cpu_model import CpuModel
from ...dialects import graph
from ...dialects.graph.direct_convolution import pack_kernel, side_by_side
from ...dialects.symbolic import Dim
from ...mlir import ir
from ..infra.query import constant_array
from .pixel_tiles import accumulated_pixels


def share_panels(
    matmul: graph.PackedMatmulOp, convolution: graph.DirectConvOp, cpu: CpuModel
) -> Callable[[], None]:
    """Move the constant weights of the depthwise `convolution` into panels of the same channels as
    those of `matmul`, whose result it convolves, so that both can be computed panel by panel.
    Returns a function that undoes this."""
    panels, _, width = graph.type_of(matmul.w).static_shape
    features, lanes, old = convolution.attrs["features"], convolution.attrs["lanes"], convolution.w
    array, vectors = constant_array(old), width // lanes
    if array is None or panels * width != features or width % lanes:
        return lambda: None
    if width == array.shape[-1] or not cpu.has_vectors or vectors > cpu.registers // 2:
        return lambda: None
    tile_w = convolution.attrs["tile_w"]
    length = graph.type_of(convolution.result).shape[-2]
    pixels = None if isinstance(length, Dim) else length
    with ir.InsertionPoint(old.owner):
        new = graph.constant(value=pack_kernel(side_by_side(array, features), width))
    _set(convolution, new, accumulated_pixels(cpu, vectors, pixels))
    return lambda: _set(convolution, old, tile_w)


def _set(convolution: graph.DirectConvOp, weights: ir.Value, tile_w: int) -> None:
    operation = convolution.operation
    operation.operands[1] = weights
    operation.attributes["tile_w"] = convolution.attribute_kinds["tile_w"].write(tile_w)
