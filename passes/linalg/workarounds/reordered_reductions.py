"""Workaround for IREE 3.13 FormDispatchRegions: a reduction that one op reads by several index maps
is fused into it, and tiled for one of them. Compute barriers keep the two apart. Remove when
``reordered_reductions`` (`test_faults.py`) computes the right values.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ....dialects import iree
from ....mlir import ir, linalg
from ...graph_to_linalg.aliasing import kernel_of, ops_within
from ...graph_to_linalg.dispatch import has_reduction
from ...graph_to_linalg.generic import linalg_inputs
from ...infra.base import FUNCTION, Pass, PassState
from ...infra.registry import register

Coordinate = Hashable
"""The index of an axis in a read: a loop of the reader, several loops, or a part of one; None for
an axis of one element."""


class _Several(tuple[Coordinate, ...]):
    """The coordinates of several axes that were collapsed into one."""


_Read = tuple[ir.Value, tuple[Coordinate, ...]]
"""A value, and the coordinates of an element of it."""
_Known = dict[_Read, frozenset[_Read]]
"""The reductions that elements are computed from."""


@register
@dataclass(frozen=True)
class WorkaroundReorderedReductions(Pass):
    """Materialize a reduction that an op reads by several index maps.

    %sum = linalg.generic {parallel, reduction} ... -> tensor<3xf32>
    %neg = linalg.generic {parallel} ins(%sum) -> tensor<3xf32>
    %max = linalg.generic {(i, j) -> (i), (i, j) -> (j)} ins(%sum, %neg)
    -->
    %0 = iree_tensor_ext.compute_barrier.end %sum
    %1 = iree_tensor_ext.compute_barrier.end %neg
    %max = linalg.generic {(i, j) -> (i), (i, j) -> (j)} ins(%0, %1)

    The backend would fuse the reduction into the op, and use the element of one index map for that
    of the other. Matrices of one column times one row are such a reader, and convolutions and
    matmuls are reductions.
    """

    name = "workaround-reordered-reductions"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        known: _Known = {}
        for each in ops_within(op.operation):
            if _is_reader(each) and kernel_of(each) is None:
                _insert_barriers(each, known)


def _is_reader(op: ir.Operation) -> bool:
    """Return whether `op` is a generic, or a matmul that the backend turns into one because its
    reduction has one element."""
    if op.name not in _MATMULS:
        return op.name == "linalg.generic"
    return ir.RankedTensorType(op.operands[0].type).shape[-1] == 1


def _is_reduction(x: ir.Value) -> bool:
    if isinstance(x.owner, ir.Block):
        return False
    op = x.owner.operation
    return has_reduction(op) or op.name.startswith(_NAMED_REDUCTIONS)


def _insert_barriers(reader: ir.Operation, known: _Known) -> None:
    reads = _reads(reader)
    if len(reads) < 2:
        return
    reductions_read = [_reductions_read(read, known) for read in reads]
    orders: dict[ir.Value, set[Coordinate]] = defaultdict(set)
    for reduction, order in set().union(*reductions_read):
        orders[reduction].add(order)
    for number, found in enumerate(reductions_read):
        if any(len(orders[reduction]) > 1 for reduction, _ in found):
            x = reader.operands[number]
            with ir.InsertionPoint(reader), reader.location:
                reader.operands[number] = iree.compute_barrier(x, iree.dynamic_sizes(x))


def _reductions_read(read: _Read, known: _Known) -> frozenset[_Read]:
    """The reductions that `read` is computed from, through elementwise ops and views, and the
    elements of them that are read. `known` has those of earlier ops, which stay as they are."""
    waiting = [read]
    while waiting:
        sources = _sources(waiting[-1])
        unknown = [each for each in sources if each not in known]
        if unknown:
            waiting += unknown
            continue
        last = waiting.pop()
        known[last] = (
            frozenset([last])
            if _is_reduction(last[0])
            else _union(known[source] for source in sources)
        )
    return known[read]


def _sources(read: _Read) -> list[_Read]:
    """The reads of the elementwise op or the view that computes `read`."""
    x, coordinates = read
    if isinstance(x.owner, ir.Block) or _is_reduction(x):
        return []
    op = x.owner.operation
    if op.name == "linalg.generic":
        return _reads(op, coordinates)
    if op.name in _VIEWS:
        source = op.operands[0]
        return [(source, _only_long(source, _VIEWS[op.name](op, coordinates)))]
    return []


def _union(sets: Iterable[frozenset[_Read]]) -> frozenset[_Read]:
    """The union of `sets`: one of them if that holds the others, as along chains of ops."""
    union = frozenset[_Read]()
    for each in sets:
        if not each <= union:
            union = each if union <= each else union | each
    return union


def _reads(reader: ir.Operation, coordinates: Sequence[Coordinate] | None = None) -> list[_Read]:
    """The inputs of `reader`, and the element of each that the result at `coordinates` reads, in
    terms of the loops of `reader` if `coordinates` is None."""
    maps = [ir.AffineMapAttr(each).value for each in linalg.get_indexing_maps(reader) or ()]
    loops: list[Coordinate] = [*range(maps[-1].n_dims)]
    if coordinates is not None:
        loops = [None] * len(loops)
        for expression, coordinate in zip(maps[-1].results, coordinates, strict=True):
            loops[ir.AffineDimExpr(expression).position] = coordinate
    generic = reader.name == "linalg.generic"
    inputs = zip(linalg_inputs(reader) if generic else reader.operands, maps[:-1], strict=False)
    return [
        (x, _only_long(x, [_coordinate(each, loops) for each in map_.results]))
        for x, map_ in inputs
        if isinstance(x.type, ir.RankedTensorType)
    ]


def _coordinate(expression: ir.AffineExpr, loops: Sequence[Coordinate]) -> Coordinate:
    if isinstance(expression, ir.AffineDimExpr):
        return loops[expression.position]
    return str(expression)


def _only_long(x: ir.Value, coordinates: Sequence[Coordinate]) -> tuple[Coordinate, ...]:
    """`coordinates` with None for axes of one element."""
    shape = ir.RankedTensorType(x.type).shape
    return tuple(None if size == 1 else at for size, at in zip(shape, coordinates, strict=True))


def _expanded(view: ir.Operation, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    shape = ir.RankedTensorType(view.result.type).shape
    return [
        _join([coordinates[axis] for axis in group if shape[axis] != 1]) for group in _groups(view)
    ]


def _join(coordinates: Sequence[Coordinate]) -> Coordinate:
    if len(coordinates) == 1:
        return coordinates[0]
    return _Several(coordinates) if coordinates else None


def _collapsed(view: ir.Operation, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    shape = ir.RankedTensorType(view.operands[0].type).shape
    source: list[Coordinate] = [None] * len(shape)
    for group, at in zip(_groups(view), coordinates, strict=True):
        long = [axis for axis in group if shape[axis] != 1]
        for axis, part in zip(long, _split(at, len(long)), strict=True):
            source[axis] = part
    return source


def _split(coordinate: Coordinate, count: int) -> Sequence[Coordinate]:
    if count == 1:
        return [coordinate]
    if isinstance(coordinate, _Several) and len(coordinate) == count:
        return coordinate
    return [(coordinate, part) for part in range(count)]


def _groups(view: ir.Operation) -> list[list[int]]:
    """The axes of the longer shape that each axis of the shorter one stands for."""
    return [
        [ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)]
        for group in ir.ArrayAttr(view.attributes["reassociation"])
    ]


def _transposed(view: ir.Operation, coordinates: Sequence[Coordinate]) -> list[Coordinate]:
    source: list[Coordinate] = [None] * len(coordinates)
    for axis, at in zip(
        ir.DenseI64ArrayAttr(view.attributes["permutation"]), coordinates, strict=True
    ):
        source[axis] = at
    return source


def _as_it_is(view: ir.Operation, coordinates: Sequence[Coordinate]) -> Sequence[Coordinate]:
    del view
    return coordinates


_MATMULS = ("linalg.matmul", "linalg.batch_matmul")
_NAMED_REDUCTIONS = (*_MATMULS, "linalg.conv", "linalg.depthwise_conv", "linalg.pooling")
"""How the names of the ops of `linalg` begin that reduce, beside generics."""

_VIEWS = {
    "tensor.cast": _as_it_is,
    "tensor.collapse_shape": _collapsed,
    "tensor.expand_shape": _expanded,
    "linalg.transpose": _transposed,
}
"""Functions that map an element of a view to the element of its source, by op."""
