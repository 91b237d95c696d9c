"""Sibling fusion: independent elementwise computations over the same domain become one op."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...mlir import ir, linalg
from ..graph_to_linalg.generic import generic
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register

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


@dataclass(frozen=True)
class _Tree:
    """Elementwise ops in the order of the block, of which the `last` one reads the others directly
    or indirectly, and nothing else does."""

    ops: tuple[linalg.GenericOp, ...]

    @property
    def last(self) -> linalg.GenericOp:
        return self.ops[-1]

    @property
    def domain(self) -> tuple[int | ir.Value, ...]:
        """The sizes of the results; a size that is not known is the value that it has."""
        result, (empty, *_) = self.last.operation.results[0], self.last.outputs
        shape = ir.RankedTensorType(result.type).shape
        dynamic = ir.ShapedType.get_dynamic_size()
        if dynamic not in shape:
            return tuple(shape)
        given = iter(() if isinstance(empty.owner, ir.Block) else empty.owner.operands)
        return tuple(next(given) if size == dynamic else size for size in shape)

    @property
    def has_known_sizes(self) -> bool:
        return all(isinstance(size, int) for size in self.domain)

    @property
    def read(self) -> set[ir.Value]:
        """The tensors that the ops read, by their operands or in their bodies."""
        inner = {each for op in self.ops for each in op.operation.regions[0].blocks[0]}
        readers = [op.operation for op in (*self.ops, *inner)]
        own = {result for op in self.ops for result in op.operation.results}
        values = {value for reader in readers for value in reader.operands}
        return {value for value in values - own if isinstance(value.type, ir.RankedTensorType)}

    @property
    def size(self) -> int:
        """The number of ops in the bodies."""
        return sum(len(list(op.operation.regions[0].blocks[0])) for op in self.ops)


@dataclass
class _Group:
    """Trees that can become one op: all end before `limit`, the position of the first use of a
    result."""

    limit: int
    trees: list[_Tree] = field(default_factory=list[_Tree])

    def has_room(self, tree: _Tree, position: int) -> bool:
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
                    _fuse(trees)


def _groups(block: ir.Block) -> list[list[_Tree]]:
    """The trees in `block` that can become one op, each group in the order of the block."""
    positions = {each.operation: number for number, each in enumerate(block)}
    open_: dict[tuple[int | ir.Value, ...], _Group] = {}
    found: list[list[_Tree]] = []
    for op, number in positions.items():
        tree = _tree(op, positions)
        if tree is None:
            continue
        group = open_.get(tree.domain)
        if group is None or not group.has_room(tree, number):
            group = open_[tree.domain] = _Group(len(positions))
            found.append(group.trees)
        group.trees.append(tree)
        group.limit = min(group.limit, _first_use(op, positions))
    return found


def _tree(op: ir.Operation, positions: dict[ir.Operation, int]) -> _Tree | None:
    """The tree that ends in `op`; None if the backend may fuse more with it."""
    if not _is_small_elementwise(op) or any(_is_fused(user) for user in _users(op)):
        return None
    found, pending = {op}, [op]
    while pending:
        for value in pending.pop().operands:
            producer = None if isinstance(value.owner, ir.Block) else value.owner.operation
            if producer is None or producer not in positions:  # nothing is fused across blocks
                continue
            if producer in found or not _is_fused(producer):
                continue
            if not _is_small_elementwise(producer) or not _is_read_as_it_is(producer, found):
                return None
            found.add(producer)
            pending.append(producer)
    return _Tree(tuple(_generic(each) for each in sorted(found, key=positions.__getitem__)))


def _is_read_as_it_is(producer: ir.Operation, users: set[ir.Operation]) -> bool:
    """Return whether `users` alone read the results of `producer`, by the element of each."""
    for result in producer.results:
        for use in result.uses:
            user = use.owner.operation
            if user not in users:
                return False
            maps = _maps(_generic(user))
            if maps[use.operand_number] != maps[-1]:
                return False
    return True


def _first_use(op: ir.Operation, positions: dict[ir.Operation, int]) -> int:
    """The position of the first op of the block that uses a result of `op`, or that contains one
    which does."""
    first = len(positions)
    for user in _users(op):
        holder: ir.Operation | None = user
        while holder is not None and holder not in positions:
            holder = holder.parent
        first = min(first, 0 if holder is None else positions[holder])
    return first


def _users(op: ir.Operation) -> list[ir.Operation]:
    return [use.owner.operation for result in op.results for use in result.uses]


def _is_small_elementwise(op: ir.Operation) -> bool:
    """Return whether `op` is elementwise, with results of small sizes, or of sizes that are not
    known."""
    if op.name != "linalg.generic":
        return False
    view = _generic(op)
    kinds = ir.ArrayAttr(op.attributes["iterator_types"])
    identity = ir.AffineMap.get_identity(len(kinds))
    results = _maps(view)[len(view.inputs) :]
    is_elementwise = all("parallel" in str(kind) for kind in kinds)
    is_plain = all(each == identity for each in results)
    read = list(op.regions[0].blocks[0].arguments)[len(view.inputs) :]
    is_written_alone = not any(True for element in read for _ in element.uses)
    fits = all(map(_is_small, view.outputs))
    return is_elementwise and is_plain and is_written_alone and fits


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


def _is_fused(op: ir.Operation) -> bool:
    """Return whether the backend may fuse `op` with what reads it, or what it reads."""
    is_kernel = op.name.startswith(("linalg.", "iree_linalg_ext.", "tensor."))
    return is_kernel and op.name not in ("tensor.empty", "linalg.yield")


def _generic(op: ir.Operation) -> linalg.GenericOp:
    view = op.opview
    assert isinstance(view, linalg.GenericOp)
    return view


def _maps(op: linalg.GenericOp) -> list[ir.AffineMap]:
    attributes = ir.ArrayAttr(op.operation.attributes["indexing_maps"])
    return [ir.AffineMapAttr(each).value for each in attributes]


def _fuse(trees: Sequence[_Tree]) -> None:
    """Replace `trees` by one op, where the last of them ends."""
    ops = [op for tree in trees for op in tree.ops]
    inner = {result for op in ops for result in op.operation.results}
    read = [
        (value, map_)
        for op in ops
        for value, map_ in zip(op.inputs, _maps(op), strict=False)
        if value not in inner
    ]
    outputs = [value for tree in trees for value in tree.last.outputs]
    domain = ir.AffineMap.get_identity(len(trees[0].domain))

    def body(*elements: ir.Value) -> list[ir.Value]:
        given = iter(elements)
        scalars: dict[ir.Value, ir.Value] = {}
        for op in ops:
            arguments = [scalars[x] if x in inner else next(given) for x in op.inputs]
            yielded = _move_body(op, arguments)
            scalars |= zip(op.operation.results, yielded, strict=True)
        return [scalars[x] for tree in trees for x in tree.last.operation.results]

    location = ir.Location.fused([op.location for op in ops])
    with ir.InsertionPoint(trees[-1].last), location:
        results = generic(
            [value for value, _ in read],
            [map_ for _, map_ in read],
            outputs,
            [domain] * len(outputs),
            ["parallel"] * domain.n_dims,
            body,
        )
    before = [x for tree in trees for x in tree.last.operation.results]
    for old, new in zip(before, results, strict=True):
        old.replace_all_uses_with(new)
    for op in reversed(ops):
        op.operation.erase()


def _move_body(op: linalg.GenericOp, inputs: Sequence[ir.Value]) -> list[ir.Value]:
    """Move the ops in the body of `op` to the insertion point, with `inputs` for the elements that
    it reads; return what it yields."""
    block = op.operation.regions[0].blocks[0]
    for argument, element in zip(block.arguments, inputs, strict=False):
        argument.replace_all_uses_with(element)
    *inner, terminator = list(block)
    for each in inner:
        ir.InsertionPoint.current.insert(each.operation.detach_from_parent())
    return list(terminator.operation.operands)
