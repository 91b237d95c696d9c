"""Trees of elementwise ops, which the backend computes in one dispatch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...mlir import ir, linalg
from ..graph_to_linalg.dispatch import VIEWS, origin
from ..graph_to_linalg.generic import generic


@dataclass(frozen=True)
class ElementwiseTree:
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


def elementwise_tree(
    op: ir.Operation,
    positions: dict[ir.Operation, int],
    may_join: Callable[[ir.Operation], bool],
    is_apart: Callable[[ir.Operation], bool] = lambda producer: False,
) -> ElementwiseTree | None:
    """The tree of ops that `may_join` and end in `op`; None if the backend may fuse more with it.

    `positions` are those of the ops in the block. What `is_apart` is read from memory.
    """
    if not may_join(op) or any(_is_fused(user) for user in users_of(op)):
        return None
    found, pending = {op}, [op]
    while pending:
        for value in pending.pop().operands:
            producer = None if isinstance(value.owner, ir.Block) else value.owner.operation
            if producer is None or producer not in positions:  # nothing is fused across blocks
                continue
            if producer in found or not _is_fused(producer) or is_apart(producer):
                continue
            if not may_join(producer) or not _is_read_as_it_is(producer, found):
                return None
            found.add(producer)
            pending.append(producer)
    return ElementwiseTree(
        tuple(generic_of(each) for each in sorted(found, key=positions.__getitem__))
    )


def is_elementwise(op: ir.Operation) -> bool:
    """Return whether `op` computes each element of its results at the position of that element,
    and reads no results."""
    if op.name != "linalg.generic":
        return False
    view = generic_of(op)
    kinds = ir.ArrayAttr(op.attributes["iterator_types"])
    identity = ir.AffineMap.get_identity(len(kinds))
    results = maps_of(view)[len(view.inputs) :]
    read = list(op.regions[0].blocks[0].arguments)[len(view.inputs) :]
    return (
        all("parallel" in str(kind) for kind in kinds)
        and all(each == identity for each in results)
        and not any(True for element in read for _ in element.uses)
    )


def users_of(op: ir.Operation) -> list[ir.Operation]:
    """The ops that use a result of `op`."""
    return [use.owner.operation for result in op.results for use in result.uses]


def generic_of(op: ir.Operation) -> linalg.GenericOp:
    """`op` as the ``linalg.generic`` that it is."""
    view = op.opview
    assert isinstance(view, linalg.GenericOp)
    return view


def maps_of(op: linalg.GenericOp) -> list[ir.AffineMap]:
    """The indexing maps of the inputs, then of the outputs."""
    attributes = ir.ArrayAttr(op.operation.attributes["indexing_maps"])
    return [ir.AffineMapAttr(each).value for each in attributes]


def is_view_of_memory(op: ir.Operation) -> bool:
    """Return whether `op` is a reshape of what an argument, a constant or a kernel is."""
    if op.name not in VIEWS:
        return False
    first = origin(op.results[0], VIEWS).owner
    return isinstance(first, ir.Block) or not _is_fused(first.operation)


def merge_trees(trees: Sequence[ElementwiseTree]) -> list[ir.Value]:
    """Replace `trees` by one op, where the last of them ends; its results."""
    ops = [op for tree in trees for op in tree.ops]
    inner = {result for op in ops for result in op.operation.results}
    read = [
        (value, map_)
        for op in ops
        for value, map_ in zip(op.inputs, maps_of(op), strict=False)
        if value not in inner
    ]
    outputs = [value for tree in trees for value in tree.last.outputs]
    domain = ir.AffineMap.get_identity(len(trees[0].domain))

    def body(*elements: ir.Value) -> list[ir.Value]:
        given = iter(elements)
        scalars: dict[ir.Value, ir.Value] = {}
        for op in ops:
            arguments = [scalars[x] if x in inner else next(given) for x in op.inputs]
            yielded = move_body(op, arguments)
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
    return results


def move_body(op: linalg.GenericOp, inputs: Sequence[ir.Value]) -> list[ir.Value]:
    """Move the ops in the body of `op` to the insertion point, with `inputs` for the elements that
    it reads; return what it yields."""
    block = op.operation.regions[0].blocks[0]
    for argument, element in zip(block.arguments, inputs, strict=False):
        argument.replace_all_uses_with(element)
    *inner, terminator = list(block)
    for each in inner:
        ir.InsertionPoint.current.insert(each.operation.detach_from_parent())
    return list(terminator.operation.operands)


def _is_read_as_it_is(producer: ir.Operation, users: set[ir.Operation]) -> bool:
    """Return whether `users` alone read the results of `producer`, by the element of each."""
    for result in producer.results:
        for use in result.uses:
            user = use.owner.operation
            if user not in users:
                return False
            maps = maps_of(generic_of(user))
            if maps[use.operand_number] != maps[-1]:
                return False
    return True


def _is_fused(op: ir.Operation) -> bool:
    """Return whether the backend may fuse `op` with what reads it, or what it reads."""
    is_kernel = op.name.startswith(("linalg.", "iree_linalg_ext.", "tensor."))
    return is_kernel and op.name not in ("tensor.empty", "linalg.yield")
