"""Padding of images."""

from collections.abc import Sequence

from ...dialects import graph
from .movement import insert_slice
from .operands import Operand


def border_type(
    image: graph.TensorType, low: Sequence[int], high: Sequence[int]
) -> graph.TensorType:
    """The type of `image` [N, spatial..., C] with padded spatial axes."""
    return _extended(image, (0, *low, 0), (0, *high, 0))


def padded(x: Operand, low: Sequence[int], high: Sequence[int], value: float) -> Operand:
    """Pad the spatial axes of `x` [N, spatial..., C] with `value`, as a copy."""
    return padded_axes(x, (0, *low, 0), (0, *high, 0), value)


def padded_axes(x: Operand, low: Sequence[int], high: Sequence[int], value: float) -> Operand:
    """Pad each axis of `x` with `value`, before and after, as a copy.

    With a fused ``tensor.pad`` instead, the backend fails at one in seven of the pools and
    depthwise convolutions of small images, or never finishes.
    """
    if not any((*low, *high)):
        return x
    type_ = _extended(x.type, low, high)
    copy = insert_slice(x.ctx, x.value, x.ctx.filled(type_, value), low, x.shape)
    return Operand(x.ctx, type_, copy)


def _extended(type_: graph.TensorType, low: Sequence[int], high: Sequence[int]) -> graph.TensorType:
    sizes = (a + size + b for a, size, b in zip(low, type_.shape, high, strict=True))
    return type_.with_shape(sizes)
