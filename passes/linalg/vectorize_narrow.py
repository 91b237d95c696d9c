"""Vectors of elements narrower than f32, in ops that the backend tiles as if they were f32."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...cpu_model import GENERIC_CPU, CpuModel
from ...dialects import iree
from ...dialects.locations import node_name
from ...mlir import arith, ir, linalg, tensor
from ..graph_to_linalg.generic import generic
from ..graph_to_linalg.tiles import elementwise_hint
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .elementwise_trees import (
    ElementwiseTree,
    elementwise_tree,
    generic_of,
    is_elementwise,
    is_view_of_memory,
    maps_of,
    merge_trees,
    move_body,
)
from .narrow_bodies import loops_of, uses_positions, width_of, widths_along, works_on_vectors

Size = int | ir.Value

BACKEND_BITS = 32
"""The elements that the backend fills vectors with."""
LEAST_BYTES = 1 << 13
"""Bytes of a result: with smaller ones, the width of vectors does not count."""
LEAST_GAIN = 1.3
"""Vectors and single elements in place of which one is computed."""
UNKNOWN_ROW = 16
"""Elements of a vector at most, along rows of unknown size: what is left of it is computed element
by element."""
WORKGROUP = 1 << 14
"""Elements that a workgroup computes."""


@register
@dataclass(frozen=True)
class VectorizeNarrow(Pass):
    """Compute elements of 8 and 16 bits in whole vector registers.

    %1 = linalg.generic {parallel} ins(%x, %y : tensor<512x1xi8>, tensor<768xi8>)
    -->
    %1 = flow.dispatch.region {
      linalg.generic {parallel, compilation_info = tiles of 1x32} ins(%x, %y)
    }

    The backend computes as many elements of an elementwise op at a time as a register holds of f32
    (IREE 3.13, ``setElementwiseGenericOpRootConfig`` in ``KernelDispatch.cpp``): 8 bytes of 32.
    Only ops get tiles that the backend fuses with nothing else. Those that read one another become
    one op, and axes that all operands have in the same order one axis.
    """

    name = "linalg-vectorize-narrow"
    anchor = FUNCTION
    optional = True
    cpu: CpuModel = GENERIC_CPU
    """The CPU to compile for; without vectors the pass does nothing."""

    def run(self, op: Any, state: PassState) -> None:
        if not self.cpu.has_vectors:
            return
        statistics = state.statistics("vectorize-narrow")
        for block in op.operation.regions[0].blocks:
            for tree in _trees(block):
                node = node_name(tree.last.operation)
                if _vectorize(tree, self.cpu.vector_bits):
                    statistics.record_fired(node)
                else:
                    statistics.record_declined(node, "its rows hold few vectors")


def _trees(block: ir.Block) -> list[ElementwiseTree]:
    """Trees in `block` with results of narrow elements."""
    positions = {each.operation: number for number, each in enumerate(block)}
    trees = [_tree(op, positions) for op in positions if _has_narrow_result(op)]
    return [tree for tree in trees if tree is not None]


def _tree(op: ir.Operation, positions: dict[ir.Operation, int]) -> ElementwiseTree | None:
    rank = len(ir.RankedTensorType(op.results[0].type).shape)

    def is_apart(producer: ir.Operation) -> bool:
        """Return whether `producer` has a dispatch of its own: it computes something for each row,
        or nothing."""
        is_smaller = is_elementwise(producer) and _rank(producer) < rank
        return is_smaller or is_view_of_memory(producer)

    def may_join(each: ir.Operation) -> bool:
        return is_elementwise(each) and works_on_vectors(each)

    return elementwise_tree(op, positions, may_join, is_apart)


def _has_narrow_result(op: ir.Operation) -> bool:
    """Return whether `op` has one result, not a small one, of elements narrower than those that
    the backend counts on."""
    if op.name != "linalg.generic" or len(op.results) != 1 or not _rank(op):
        return False
    empty = generic_of(op).outputs[0].owner
    type_ = ir.RankedTensorType(op.results[0].type)
    if isinstance(empty, ir.Block) or empty.operation.name != "tensor.empty":
        return False
    width = width_of(op.results[0])
    if width >= BACKEND_BITS:
        return False
    return not type_.has_static_shape or math.prod(type_.shape) * width // 8 >= LEAST_BYTES


def _rank(op: ir.Operation) -> int:
    return len(ir.RankedTensorType(op.results[0].type).shape)


def _vectorize(tree: ElementwiseTree, vector_bits: int) -> bool:
    """Compute `tree` in a dispatch of its own, in vectors, unless they would not be fewer; return
    whether it is."""
    groups = _merged_loops(tree)
    domain = tree.domain
    row = _product_of_known([domain[loop] for loop in groups[-1]])
    vector = _vector(row, len(groups), widths_along(tree), vector_bits)
    if vector is None:
        return False
    if len(tree.ops) > 1:
        (result,) = merge_trees([tree])
        op = generic_of(ir.OpResult(result).owner.operation)
    else:
        op = tree.last
    _replace(op, groups, domain, vector)
    return True


def _vector(row: int | None, loops: int, widths: Sequence[int], vector_bits: int) -> int | None:
    """The elements of a vector, for `row` elements; None if the backend's are as good."""
    usual = vector_bits // BACKEND_BITS
    most = vector_bits // min(widths)
    if row is None:
        return most if loops == 1 else min(most, UNKNOWN_ROW)
    registers = max(widths) / vector_bits

    def cost(vector: int) -> float:
        return row // vector * max(1, vector * registers) + row % vector

    choices = [vector for vector in (usual << n for n in range(1, 4)) if vector <= min(most, row)]
    best = min(choices, key=cost, default=None)
    return None if best is None or cost(usual) < LEAST_GAIN * cost(best) else best


def _merged_loops(tree: ElementwiseTree) -> list[list[int]]:
    """The loops of `tree`, those together that are one in the memory of all tensors."""
    rank = len(tree.domain)
    if any(map(uses_positions, tree.ops)):
        return [[loop] for loop in range(rank)]
    accesses = [loops_of(map_) for op in tree.ops for map_ in maps_of(op)]
    groups = [[0]]
    for loop in range(1, rank):
        if all(_are_adjacent(loop - 1, loop, access) for access in accesses):
            groups[-1].append(loop)
        else:
            groups.append([loop])
    return groups


def _are_adjacent(first: int, second: int, access: Sequence[int | None]) -> bool:
    if first not in access:
        return second not in access
    following = access.index(first) + 1
    return following < len(access) and access[following] == second


def _replace(
    op: linalg.GenericOp, groups: Sequence[Sequence[int]], domain: Sequence[Size], vector: int
) -> None:
    """Replace `op` by one with a loop for each of the `groups`, in a dispatch of its own."""
    old = op.operation.results[0]
    type_ = ir.RankedTensorType(old.type)
    with ir.InsertionPoint(op), op.operation.location:
        sizes = [_product([domain[loop] for loop in group]) for group in groups]
        inputs, maps = [], []
        for x, map_ in zip(op.inputs, maps_of(op), strict=False):
            merged, at = _merged(x, loops_of(map_), groups)
            inputs.append(merged)
            maps.append(ir.AffineMap.get(len(groups), 0, at))
        shape = [_static(size) for size in sizes]
        dynamic = [size for size in sizes if isinstance(size, ir.Value)]

        def build() -> ir.Value:
            empty = tensor.empty(sizes, type_.element_type)
            identity = ir.AffineMap.get_identity(len(groups))
            count = len(inputs)
            (y,) = generic(
                inputs, maps, [empty], [identity], ["parallel"] * len(groups),
                lambda *elements: move_body(op, elements[:count]),
            )  # fmt: skip
            tiles = _distribution(shape, vector)
            hint = elementwise_hint(tiles, [*[1] * (len(groups) - 1), vector])
            ir.OpResult(y).owner.attributes["compilation_info"] = hint
            return y

        flat = ir.RankedTensorType.get(shape, type_.element_type)
        new = iree.dispatch_region(flat, dynamic, build)
        if len(groups) != type_.rank:
            unknown = [size for size in domain if isinstance(size, ir.Value)]
            new = tensor.expand_shape(type_, new, groups, unknown, list(type_.shape))
    old.replace_all_uses_with(new)
    op.operation.erase()


def _merged(
    x: ir.Value, access: Sequence[int | None], groups: Sequence[Sequence[int]]
) -> tuple[ir.Value, list[ir.AffineExpr]]:
    """The tensor `x`, with one axis for each of the `groups` that it has, and its indices."""
    first = {group[0]: number for number, group in enumerate(groups)}
    axes = list[list[int]]()
    indices = list[ir.AffineExpr]()
    for axis, loop in enumerate(access):
        if loop is None:
            axes.append([axis])
            indices.append(ir.AffineExpr.get_constant(0))
        elif loop in first:
            axes.append([axis])
            indices.append(ir.AffineExpr.get_dim(first[loop]))
        else:
            axes[-1].append(axis)
    type_ = ir.RankedTensorType(x.type)
    if len(axes) != type_.rank:
        sizes = [[type_.shape[axis] for axis in group] for group in axes]
        unknown = ir.ShapedType.get_dynamic_size()
        shape = [unknown if unknown in each else math.prod(each) for each in sizes]
        x = tensor.collapse_shape(ir.RankedTensorType.get(shape, type_.element_type), x, axes)
    return x, indices


def _distribution(shape: Sequence[int], vector: int) -> list[int]:
    """The sizes of the tile of a workgroup, for loops of `shape`: whole rows if they are short."""
    tiles, left = list[int](), WORKGROUP
    for size in reversed(shape):
        multiple = vector if not tiles else 1
        tile = left if size < 0 else _divisor(size, left, multiple)
        tiles.insert(0, max(1, tile))
        left = left // tile if size >= 0 and tile == size else 1
    return tiles


def _divisor(size: int, most: int, multiple: int) -> int:
    """The largest divisor of `size` up to `most`, a `multiple` or `size` itself; if that is less
    than half, what remains is a smaller tile."""
    if size <= most:
        return size
    found = (n for n in range(most // multiple * multiple, most // 2, -multiple) if size % n == 0)
    return next(found, most)


def _product(sizes: Sequence[Size]) -> Size:
    """The product of `sizes`."""
    known = _product_of_known(sizes)
    if known is not None:
        return known
    values = [_index(size) for size in sizes]
    total = values[0]
    for value in values[1:]:
        total = arith.muli(total, value)
    return total


def _product_of_known(sizes: Sequence[Size]) -> int | None:
    """The product of `sizes`; None if one is not known."""
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None


def _index(size: Size) -> ir.Value:
    return arith.constant(ir.IndexType.get(), size) if isinstance(size, int) else size


def _static(size: Size) -> int:
    return size if isinstance(size, int) else ir.ShapedType.get_dynamic_size()
