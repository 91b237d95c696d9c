"""Values around images."""

from collections.abc import Sequence

from ...dialects import graph
from .movement import insert_slice
from .operands import Operand


def border_type(
    image: graph.TensorType, low: Sequence[int], high: Sequence[int]
) -> graph.TensorType:
    """The type of `image` [N, spatial..., C] with a border around its spatial axes."""
    return _extended(image, (0, *low, 0), (0, *high, 0))


def padded(x: Operand, low: Sequence[int], high: Sequence[int], value: float) -> Operand:
    """`x` [N, spatial..., C] with `value` around its spatial axes, in memory."""
    return padded_axes(x, (0, *low, 0), (0, *high, 0), value)


def padded_axes(x: Operand, low: Sequence[int], high: Sequence[int], value: float) -> Operand:
    """`x` with `value` before and behind each of its axes, in memory.

    The backend could read through a ``tensor.pad`` instead, and fails at, or never ends with, one
    in seven of the pools and depthwise convolutions of small images that do.
    """
    if not any((*low, *high)):
        return x
    type_ = _extended(x.type, low, high)
    copy = insert_slice(x.ctx, x.value, x.ctx.filled(type_, value), low, x.shape)
    return Operand(x.ctx, type_, copy)


def _extended(type_: graph.TensorType, low: Sequence[int], high: Sequence[int]) -> graph.TensorType:
    sizes = (a + size + b for a, size, b in zip(low, type_.shape, high, strict=True))
    return type_.with_shape(sizes)
