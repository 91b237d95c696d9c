"""Sibling fusion: independent elementwise computations over the same domain become one op."""

import math
from dataclasses import dataclass, field
from typing import Any

from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .elementwise_trees import (
    ElementwiseTree,
    elementwise_tree,
    generic_of,
    is_elementwise,
    merge_trees,
    users_of,
)

MAX_RESULTS = 16
"""Results of a fused op. Compiling 96 sums of 16x64 elements takes 3.9 s of CPU time one by one,
1.1 s by 8, 1.0 s by 16 and 0.9 s by 32 (Zen 4)."""
MAX_BYTES = 1 << 18
"""Bytes of a result: with larger ones, the time of a dispatch no longer counts."""
MAX_STREAMS = 8
"""Results of a fused op if they may be large, because sizes are known when the model runs."""
MAX_OPS = 128
"""Ops in the body of a fused op."""
MAX_TENSORS = 28
"""Tensors that a fused op reads or writes; the backend's runtime passes 32 to a dispatch."""


@dataclass
class _Group:
    """Trees that can become one op: all end before `limit`, the position of the first use of a
    result."""

    limit: int
    trees: list[ElementwiseTree] = field(default_factory=list[ElementwiseTree])

    def has_room(self, tree: ElementwiseTree, position: int) -> bool:
        """Return whether a tree that ends at `position` can join."""
        trees = [*self.trees, tree]
        results = sum(len(each.last.operation.results) for each in trees)
        tensors = results + len(set[ir.Value]().union(*(each.read for each in trees)))
        size = sum(each.size for each in trees)
        most = MAX_RESULTS if tree.has_known_sizes else MAX_STREAMS
        fits = size <= MAX_OPS and results <= most and tensors <= MAX_TENSORS
        return fits and position < self.limit


@register
@dataclass(frozen=True)
class FuseSiblings(Pass):
    """Compute elementwise results together that the backend would compile one by one.

    %1 = linalg.generic {parallel} ins(%x, %a : tensor<64xf32>, tensor<64xf32>) { arith.addf }
    %2 = linalg.generic {parallel} ins(%x, %b : tensor<64xf32>, tensor<64xf32>) { arith.mulf }
    -->
    %0:2 = linalg.generic {parallel} ins(%x, %a, %x, %b) { arith.addf, arith.mulf }

    A dispatch costs 40 ms to compile and a microsecond to run, whatever it computes, and a model
    with a thousand outputs has as many. Only ops are fused that the backend fuses with nothing but
    each other: no other op of linalg reads them or is read by them. Their sizes are small, or not
    known.
    """

    name = "linalg-fuse-siblings"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        for block in op.operation.regions[0].blocks:
            for trees in _groups(block):
                if len(trees) > 1:
                    merge_trees(trees)


def _groups(block: ir.Block) -> list[list[ElementwiseTree]]:
    """The trees in `block` that can become one op, each group in the order of the block."""
    positions = {each.operation: number for number, each in enumerate(block)}
    open_: dict[tuple[int | ir.Value, ...], _Group] = {}
    found: list[list[ElementwiseTree]] = []
    for op, number in positions.items():
        tree = elementwise_tree(op, positions, _is_small_elementwise)
        if tree is None:
            continue
        group = open_.get(tree.domain)
        if group is None or not group.has_room(tree, number):
            group = open_[tree.domain] = _Group(len(positions))
            found.append(group.trees)
        group.trees.append(tree)
        group.limit = min(group.limit, _first_use(op, positions))
    return found


def _first_use(op: ir.Operation, positions: dict[ir.Operation, int]) -> int:
    """The position of the first op of the block that uses a result of `op`, or that contains one
    which does."""
    first = len(positions)
    for user in users_of(op):
        holder: ir.Operation | None = user
        while holder is not None and holder not in positions:
            holder = holder.parent
        first = min(first, 0 if holder is None else positions[holder])
    return first


def _is_small_elementwise(op: ir.Operation) -> bool:
    """Return whether `op` is elementwise, with results of small sizes, or of sizes that are not
    known."""
    return is_elementwise(op) and all(map(_is_small, generic_of(op).outputs))


def _is_small(output: ir.Value) -> bool:
    """Return whether a result in place of `output` is small, or its sizes are those of an empty
    tensor."""
    type_ = ir.RankedTensorType(output.type)
    element = type_.element_type
    if not isinstance(element, ir.FloatType | ir.IntegerType):
        return False
    if not type_.has_static_shape:
        owner = output.owner
        return not isinstance(owner, ir.Block) and owner.operation.name == "tensor.empty"
    return 0 < math.prod(type_.shape) * -(-element.width // 8) <= MAX_BYTES
