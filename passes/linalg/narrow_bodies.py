"""Elementwise ops that compute vectors along their last loop."""

from collections.abc import Iterator

from ...mlir import ir, linalg
from .elementwise_trees import ElementwiseTree, generic_of, maps_of


def widths_along(tree: ElementwiseTree) -> list[int]:
    """The widths in bits of the elements that `tree` reads or writes along its last loop."""
    last, read = loop_count(tree.last) - 1, tree.read
    along = list(tree.last.outputs)
    for op in tree.ops:
        tensors = zip(op.inputs, maps_of(op), strict=False)
        along += [x for x, map_ in tensors if x in read and last in loops_of(map_)]
    return [width_of(x) for x in along]


def width_of(x: ir.Value) -> int:
    """The width in bits of an element of the tensor `x` in memory."""
    element = ir.RankedTensorType(x.type).element_type
    known = isinstance(element, ir.FloatType | ir.IntegerType)
    return max(8, element.width) if known else 64


def loop_count(op: linalg.GenericOp) -> int:
    """The number of loops of `op`."""
    return len(ir.ArrayAttr(op.operation.attributes["iterator_types"]))


def loops_of(map_: ir.AffineMap) -> list[int | None]:
    """The loop along each axis of a tensor; None where the index is no loop."""
    return [each.position if isinstance(each, ir.AffineDimExpr) else None for each in map_.results]


def uses_positions(op: linalg.GenericOp) -> bool:
    """Return whether the body of `op` knows its position along a loop."""
    return any(each.name == "linalg.index" for each in _body(op.operation))


def works_on_vectors(op: ir.Operation) -> bool:
    """Return whether the elementwise `op` reads nothing but consecutive elements along its last
    loop, or one element for all."""
    view = generic_of(op)
    last = loop_count(view) - 1
    for map_ in maps_of(view):
        if last in loops_of(map_)[:-1]:
            return False
    arguments = zip(op.regions[0].blocks[0].arguments, maps_of(view), strict=True)
    varying: set[ir.Value] = {x for x, map_ in arguments if last in loops_of(map_)}
    positions = set[ir.Value]()
    """The values that are the position along the last loop."""
    for each in _body(op):
        if each.name == "linalg.index":
            if ir.IntegerAttr(each.attributes["dim"]).value == last:
                positions.add(each.results[0])
        elif each.name == "tensor.extract":
            *outer, along = [None, *list(each.operands)[1:]]
            if any(x in varying or x in positions for x in outer) or along in varying:
                return False
            if along in positions:
                varying.add(each.results[0])
        elif each.regions or any(x in positions for x in each.operands):
            return False
        elif any(x in varying for x in each.operands):
            varying |= set(each.results)
    return True


def _body(op: ir.Operation) -> Iterator[ir.Operation]:
    return (each.operation for each in op.regions[0].blocks[0])
