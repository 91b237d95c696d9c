"""Values with one element per row, and the reductions of rows that read them."""

from ....mlir import ir
from .compute_barriers import readings


def is_spread_into_reduction(use: ir.OpOperand) -> bool:
    """Return whether the value read by `use` reaches a reduction through elementwise ops alone, and
    is broadcast along an axis on the way or in the reduction."""
    waiting, seen = [(use, False)], set()
    while waiting:
        use, spread = waiting.pop()
        reader = use.owner.operation
        if reader.name != "linalg.generic":
            continue
        spread = spread or _is_spread_by(reader, use.operand_number)
        if not is_elementwise(reader):
            if spread:
                return True
        elif (reader, spread) not in seen:
            seen.add((reader, spread))
            waiting += [(each, spread) for result in reader.results for each in readings(result)]
    return False


def _is_spread_by(generic: ir.Operation, operand: int) -> bool:
    """Return whether `generic` broadcasts an operand along one of its loops; along a reduction loop
    if it has any."""
    maps = ir.ArrayAttr(generic.attributes["indexing_maps"])
    read = ir.AffineMapAttr(maps[operand]).value
    kinds = iterators(generic)
    own = {each.position for each in read.results if isinstance(each, ir.AffineDimExpr)}
    wanted = "reduction" if "reduction" in kinds else "parallel"
    return any(kind == wanted and loop not in own for loop, kind in enumerate(kinds))


def is_elementwise(op: ir.Operation) -> bool:
    return op.name == "linalg.generic" and "reduction" not in iterators(op)


def iterators(generic: ir.Operation) -> list[str]:
    kinds = ir.ArrayAttr(generic.attributes["iterator_types"])
    return ["reduction" if "reduction" in str(kind) else "parallel" for kind in kinds]
