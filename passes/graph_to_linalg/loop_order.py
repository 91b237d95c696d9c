"""The order of the loops of a ``linalg.generic`` on buffers, for vectors.

LLVM vectorizes the innermost loop. It is to read and write consecutive elements: in a matmul by a
row-major matrix, the columns of that matrix, not K. Sums along an innermost loop may be added up in
another order.
"""

from collections.abc import Sequence

from ...mlir import ir, linalg

_REASSOCIABLE = "#arith.fastmath<reassoc>"
_SUMS = ("arith.addf", "arith.mulf")


def order_loops(op: ir.Operation) -> None:
    """Reorder the loops of the ``linalg.generic`` `op`, and allow reordering its sums."""
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(op.attributes["indexing_maps"])]
    kinds = list(ir.ArrayAttr(op.attributes["iterator_types"]))
    innermost = _innermost(maps, len(kinds))
    if innermost is not None and innermost != len(kinds) - 1:
        order = [*(loop for loop in range(len(kinds)) if loop != innermost), innermost]
        _reorder(op, maps, kinds, order)
    if any("reduction" in str(kind) for kind in kinds):
        for total in list(op.regions[0].blocks[0].arguments)[-_results(op) :]:
            for use in total.uses:
                if use.owner.operation.name in _SUMS:
                    use.owner.operation.attributes["fastmath"] = ir.Attribute.parse(_REASSOCIABLE)


def _results(op: ir.Operation) -> int:
    view = op.opview
    assert isinstance(view, linalg.GenericOp)
    return len(view.outputs)


def _innermost(maps: Sequence[ir.AffineMap], count: int) -> int | None:
    """The last loop along which all operands have consecutive elements, or always the same one;
    None if there is none."""
    good = [loop for loop in range(count) if all(_is_consecutive(each, loop) for each in maps)]
    return good[-1] if good else None


def _is_consecutive(map_: ir.AffineMap, loop: int) -> bool:
    position = ir.AffineExpr.get_dim(loop)
    *outer, last = [*map_.results] or [None]
    uses = [each for each in outer if each is not None and _depends(each, loop)]
    return not uses and (last is None or last == position or not _depends(last, loop))


def _depends(expression: ir.AffineExpr, loop: int) -> bool:
    return f"d{loop}" in str(expression).replace("(", " ").replace(")", " ").split()


def _reorder(
    op: ir.Operation, maps: Sequence[ir.AffineMap], kinds: Sequence[ir.Attribute], order: list[int]
) -> None:
    """Make old loop ``order[i]`` loop ``i``."""
    now = [ir.AffineExpr.get_dim(order.index(loop)) for loop in range(len(order))]
    change = ir.AffineMap.get(len(order), 0, now)
    composed = [
        ir.AffineMap.get(len(order), 0, [each.compose(change) for each in map_.results])
        for map_ in maps
    ]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(list(map(ir.AffineMapAttr.get, composed)))
    op.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[loop] for loop in order])
    for inner in op.regions[0].blocks[0].operations:
        if inner.operation.name == "linalg.index":
            old = ir.IntegerAttr(inner.operation.attributes["dim"])
            new = ir.IntegerAttr.get(old.type, order.index(old.value))
            inner.operation.attributes["dim"] = new
