"""Padding of images."""

from collections.abc import Sequence

from ...dialects import graph
from ...mlir import arith, ir, tensor
from .dispatch import read_in_loops
from .generic import loop_index, parallel
from .gpu_lowering_config import image_attribute
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

    At a fused ``tensor.pad`` instead the backend fails or crashes, for some pools and depthwise
    convolutions of small images.
    """
    if not any((*low, *high)):
        return x
    type_ = _extended(x.type, low, high)
    if (y := _padded_by_vectors(x, low, high, value)) is not None:
        return y
    copy = insert_slice(x.ctx, x.value, x.ctx.filled(type_, value), low, x.shape)
    return Operand(x.ctx, type_, copy)


def _extended(type_: graph.TensorType, low: Sequence[int], high: Sequence[int]) -> graph.TensorType:
    sizes = (a + size + b for a, size, b in zip(low, type_.shape, high, strict=True))
    return type_.with_shape(sizes)


def _padded_by_vectors(
    x: Operand, low: Sequence[int], high: Sequence[int], value: float
) -> Operand | None:
    """Pad the spatial axes of `x` by one op for the border and the image, 16 bytes at a time.

    The backend would fill the border and copy the image, element by element.

    None for other targets, unknown sizes, and channels that are no whole vectors.
    """
    ctx, type_ = x.ctx, _extended(x.type, low, high)
    if not ctx.mma_sync or not x.type.is_static or 0 in x.shape or low[-1] or high[-1]:
        return None
    batch = 1 if type_.shape[0] == 1 else 0  # the backend drops loops of one step, and the tiles
    plain = type_.with_shape(type_.shape[batch:])
    hint = image_attribute(plain)
    if hint is None:
        return None
    source = x.reshaped(x.shape[batch:])
    image = read_in_loops(ctx, source.value, source.type)
    pads = list(zip(low, high, strict=True))[batch:]

    def body() -> ir.Value:
        element, inside = _element(image, source.type.static_shape, pads)
        return arith.select(inside, element, ctx.scalar(value, type_.dtype))

    y = parallel([], [], ctx.empty(plain), body)
    ir.OpResult(y).owner.attributes["compilation_info"] = hint
    return Operand(ctx, plain, y).reshaped(type_.shape)


def _element(
    image: ir.Value, sizes: Sequence[int], pads: Sequence[tuple[int, int]]
) -> tuple[ir.Value, ir.Value]:
    """The element of `image` at the position of the loops, or the nearest one, and whether it is
    inside; to be built in a body of loops over the padded image."""
    inside: ir.Value = arith.constant(ir.IntegerType.get_signless(1), 1)
    coordinates: list[ir.Value] = []
    for axis, (size, (low, high)) in enumerate(zip(sizes, pads, strict=True)):
        coordinate: ir.Value = loop_index(axis)
        if low or high:
            coordinate = arith.subi(coordinate, _index(low))
            within = arith.cmpi(arith.CmpIPredicate.ult, coordinate, _index(size))
            inside = arith.andi(inside, within)
            coordinate = arith.minsi(arith.maxsi(coordinate, _index(0)), _index(size - 1))
        coordinates.append(coordinate)
    return tensor.extract(image, coordinates), inside


def _index(value: int) -> ir.Value:
    return arith.constant(ir.IndexType.get(), value)
