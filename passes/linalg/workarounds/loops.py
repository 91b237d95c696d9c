"""The loops of generics, and the axes of their operands that these iterate over."""

from ....mlir import ir


def loops_along(use: ir.OpOperand) -> list[int]:
    """The loops of the reader that iterate over the axes of the operand."""
    map_ = _maps(use.owner.operation)[use.operand_number]
    return [each.position for each in map_.results if isinstance(each, ir.AffineDimExpr)]


def extents_of(generic: ir.Operation) -> list[int | None]:
    """The trip count of each loop, None if it is dynamic."""
    maps = _maps(generic)
    extents: list[int | None] = [None] * maps[0].n_dims
    for x, map_ in zip(generic.operands, maps, strict=True):
        if not isinstance(x.type, ir.RankedTensorType):
            continue
        for axis, each in enumerate(map_.results):
            if isinstance(each, ir.AffineDimExpr) and not x.type.is_dynamic_dim(axis):
                extents[each.position] = x.type.get_dim_size(axis)
    return extents


def _maps(generic: ir.Operation) -> list[ir.AffineMap]:
    return [
        ir.AffineMapAttr(each).value for each in ir.ArrayAttr(generic.attributes["indexing_maps"])
    ]
