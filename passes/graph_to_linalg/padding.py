"""Values around the spatial axes of images, [N, spatial..., C]."""

from collections.abc import Sequence

from ...dialects import graph
from .movement import insert_slice, pad_tensor
from .operands import Operand


def padded(x: Operand, low: Sequence[int], high: Sequence[int], value: float) -> Operand:
    """`x` with `value` around it, which the backend reads through where it can.

    Of images that are padded along one spatial axis only it cannot: it fails, or never ends.
    """
    read_through = len(low) > 1 and all(map(any, zip(low, high, strict=True)))
    if not read_through:
        return padded_copy(x, low, high, value)
    type_ = _padded_type(x, low, high)
    scalar = x.ctx.scalar(value, type_.dtype)
    low, high = (0, *low, 0), (0, *high, 0)
    return Operand(x.ctx, type_, pad_tensor(x.ctx, x.value, scalar, low, high, type_))


def padded_copy(x: Operand, low: Sequence[int], high: Sequence[int], value: float) -> Operand:
    """`x` with `value` around it, in memory."""
    if not any((*low, *high)):
        return x
    type_ = _padded_type(x, low, high)
    copy = insert_slice(x.ctx, x.value, x.ctx.filled(type_, value), (0, *low, 0), x.shape)
    return Operand(x.ctx, type_, copy)


def _padded_type(x: Operand, low: Sequence[int], high: Sequence[int]) -> graph.TensorType:
    sizes = zip((0, *low, 0), x.shape, (0, *high, 0), strict=True)
    return x.type.with_shape(a + size + b for a, size, b in sizes)
