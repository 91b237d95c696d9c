"""Flat memory as buffers of several axes, and the types of elements in memory."""

from collections.abc import Sequence

from ...mlir import arith, ir, memref


def extent_of(count: int | ir.Value) -> int:
    return count if isinstance(count, int) else ir.ShapedType.get_dynamic_size()


def in_memory(element: ir.Type) -> ir.Type:
    """The type of elements in memory."""
    bit = ir.IntegerType.get_signless(1)
    return ir.IntegerType.get_signless(8) if element == bit else element


def bytes_of(element: ir.Type) -> int:
    """The size of an element in memory."""
    if isinstance(element, ir.IndexType):
        return 8
    width = element.width if isinstance(element, ir.IntegerType | ir.FloatType) else 64
    return -(-width // 8)


def shaped(buffer: ir.Value, type_: ir.MemRefType, sizes: Sequence[ir.Value]) -> ir.Value:
    """The flat `buffer` as one of `type_`, in row-major order, with dynamic `sizes`."""
    if buffer.type == type_:
        return buffer
    dynamic, index = iter(sizes), ir.IndexType.get()
    extents = [
        next(dynamic) if type_.is_dynamic_dim(axis) else type_.get_dim_size(axis)
        for axis in range(type_.rank)
    ]
    strides: list[int | ir.Value] = []
    stride: int | ir.Value = 1
    for extent in reversed(extents):
        strides.insert(0, stride)
        if isinstance(stride, int) and isinstance(extent, int):
            stride *= extent
        else:
            a, b = (
                arith.constant(index, each) if isinstance(each, int) else each
                for each in (stride, extent)
            )
            stride = arith.muli(a, b)
    parts = [_split(each) for each in (extents, strides)]
    return memref.reinterpret_cast(
        type_, buffer, [], parts[0][1], parts[1][1], [0], parts[0][0], parts[1][0]
    )


def _split(sizes: Sequence[int | ir.Value]) -> tuple[list[int], list[ir.Value]]:
    """Split sizes into MLIR's static attribute and dynamic operands."""
    values = [size for size in sizes if not isinstance(size, int)]
    return list(map(extent_of, sizes)), values
