"""Rules of ops: what a rank needs of the operands for its part of the result.

A rule gets an op, the sharding of its result and the mesh, and returns the op's `LocalForm`. It
raises `Decline` where no rank has what its part needs.
"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ....dialects import graph
from ....mlir import ir
from ...infra.rewrite import Decline
from .sharding import (
    LocalForm,
    Mesh,
    Request,
    Sharding,
    aligned,
    merged_axis,
    split_axis,
)

Rule = Callable[[Any, Sharding, Mesh], LocalForm]

_rules: dict[type[graph.GraphOp], Rule] = {}


def _rule(*classes: type[graph.GraphOp]) -> Callable[[Rule], Rule]:
    """Make a function the rule of ops that have one of the base classes."""

    def decorate(function: Rule) -> Rule:
        _rules.update(dict.fromkeys(classes, function))
        return function

    return decorate


def local_form(op: graph.GraphOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """The form of `op` on one rank whose result has `sharding`. Raises `Decline`."""
    for cls in type(op).__mro__:
        if cls in _rules:
            return _rules[cls](op, sharding, mesh)
    if op.along_axis is True:
        return _along_axis(op, sharding)
    raise Decline("has no rule for parts of its result")


def _along_axis(op: graph.GraphOp, sharding: Sharding) -> LocalForm:
    """Each line along the op's axis by itself."""
    if op.attrs["axis"] == sharding.axis:
        raise Decline("needs all elements of the axis")
    return LocalForm([sharding, *[None] * (len(op.operand_groups) - 1)])


@_rule(graph.ElementwiseOp)
def _elementwise(op: graph.GraphOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    (result,) = op.operation.results
    return LocalForm([aligned(x, result, sharding) for x in op.operand_groups.values()])


@_rule(graph.MatmulOp)
def matmul(op: graph.MatmulOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """Columns of `b`, rows of `a`, or matrices of both."""
    del mesh
    a, b, rank = op.a, op.b, graph.type_of(op.result).rank
    if sharding.axis == rank - 1:
        return LocalForm([None, sharding.on(graph.type_of(b).rank - 1)])
    if sharding.axis == rank - 2:
        return LocalForm([sharding.on(graph.type_of(a).rank - 2), None])
    return LocalForm([aligned(a, op.result, sharding), aligned(b, op.result, sharding)])


@_rule(graph.EinsumOp)
def _einsum(op: graph.EinsumOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    letters, result = graph.parse_equation(op.equation)
    letter = result[sharding.axis]
    return LocalForm([[along_letter(x, names, letter, sharding)
                       for x, names in zip(op.xs, letters, strict=True)]])  # fmt: skip


def along_letter(value: ir.Value, names: str, letter: str, sharding: Sharding) -> Request:
    """The need of the operand `value`, whose axes are `names`, if `letter` has `sharding`."""
    if names.count(letter) > 1:
        raise Decline(f"takes a diagonal of '{letter}'")
    axis = names.find(letter)
    return None if axis < 0 or graph.type_of(value).shape[axis] == 1 else sharding.on(axis)


@_rule(graph.AttentionOp)
def _attention(op: graph.AttentionOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """Heads, which are leading axes, or parts of values."""
    del mesh
    rank = graph.type_of(op.result).rank
    if sharding.axis == rank - 1:
        return LocalForm([None, None, sharding, None])
    if sharding.axis == rank - 2:
        raise Decline("divides queries")
    mask = None if op.mask is None else aligned(op.mask, op.result, sharding)
    needs = [aligned(x, op.result, sharding) for x in (op.q, op.k, op.v)]
    return LocalForm([*needs, mask])


@_rule(graph.CachedAttentionOp)
def _cached_attention(op: graph.CachedAttentionOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """Heads of queries with the heads of keys that they share."""
    if sharding.axis != 1 or len(sharding.sections) > 1:
        raise Decline("divides queries, or heads otherwise than in order")
    shared = graph.type_of(op.k).shape[1]
    assert isinstance(shared, int), "its type rule wants a number"
    keys = Sharding(1, (shared,))
    if problem := keys.problem(mesh):
        raise Decline(f"shares heads of keys: {problem}")
    mask = None if op.mask is None else aligned(op.mask, op.result, sharding)
    sinks = None if op.sink is None else sharding.on(0)
    return LocalForm([sharding, keys, keys, None, None, mask, sinks, None])


@_rule(graph.ExtendCacheOp)
def _extend_cache(op: graph.ExtendCacheOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    if sharding.axis in (0, op.axis):
        raise Decline("extends rows by numbers of its own")
    return LocalForm([sharding, sharding, None])


@_rule(graph.TensorScatterOp)
def _tensor_scatter(op: graph.TensorScatterOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    if sharding.axis in (0, op.axis):
        raise Decline("writes rows at positions of its own")
    return LocalForm([sharding, sharding, None, None])


@_rule(graph.RotaryEmbeddingOp)
def _rotary_embedding(op: graph.RotaryEmbeddingOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    if sharding.axis == graph.type_of(op.result).rank - 1:
        raise Decline("turns pairs of elements")
    return LocalForm([sharding, *(aligned(x, op.result, sharding) for x in (op.cos, op.sin))])


@_rule(graph.LayerNormOp, graph.RmsNormOp)
def _norm(op: Any, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    if sharding.axis >= op.axis:
        raise Decline("normalises over the axis")
    first, *others = op.operand_groups.values()
    del first
    needs = [None if x is None else aligned(x, op.result, sharding) for x in others]
    return LocalForm([sharding, *needs])


@_rule(graph.Reduction)
def _reduction(op: Any, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    axes, axis = op.attrs["axes"], sharding.axis
    if not op.attrs["keepdims"]:
        kept = [i for i in range(graph.type_of(op.x).rank) if i not in axes]
        axis = kept[axis]
    return LocalForm([sharding.on(axis)])


@_rule(graph.Cumulative)
def _cumulative(op: Any, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    return _along_axis(op, sharding)


@_rule(graph.GatherOp)
def _gather(op: graph.GatherOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """Parts of rows, of the rows that are gathered."""
    del mesh
    count = graph.type_of(op.indices).rank
    if sharding.axis < op.axis:
        return LocalForm([sharding, None])
    if sharding.axis < op.axis + count:
        return LocalForm([None, sharding.on(sharding.axis - op.axis)])
    return LocalForm([sharding.on(sharding.axis - count + 1), None])


@_rule(graph.TransposeOp)
def _transpose(op: graph.TransposeOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    return LocalForm([sharding.on(op.perm[sharding.axis])])


@_rule(graph.ExpandOp)
def _expand(op: graph.ExpandOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    need = aligned(op.x, op.result, sharding)
    return LocalForm([need], {"shape": sharding.local(op.shape, mesh)})


@_rule(graph.RepeatOp)
def _repeat(op: graph.RepeatOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """Whole groups of equal elements."""
    del mesh
    count = op.repeats[sharding.axis]
    if any(size % count for size in sharding.sections):
        raise Decline("repeats elements across the ends of sections")
    sections = tuple(size // count for size in sharding.sections)
    return LocalForm([replace(sharding, sections=sections)])


@_rule(graph.ReshapeOp)
def _reshape(op: graph.ReshapeOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    have, want = graph.type_of(op.x).shape, op.shape
    groups = [] if 0 in have else graph.matching_axes(have, want) or []
    old, new = next((pair for pair in groups if sharding.axis in pair[1]), ([], []))
    if not new:
        raise Decline("mixes its axes")
    whole = split_axis(sharding, [want[i] for i in new], new.index(sharding.axis))
    found = merged_axis(whole, [have[i] for i in old], mesh)
    return LocalForm([found.on(old[found.axis])], {"shape": sharding.local(want, mesh)})


@_rule(graph.PadOp)
def _pad(op: graph.PadOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    del mesh
    if op.low[sharding.axis] != 0 or op.high[sharding.axis] != 0:
        raise Decline("pads the axis")
    return LocalForm([sharding, None])


@_rule(graph.ConcatOp)
def _concat(op: graph.ConcatOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """Operands divided alike, or each with the sections that it is."""
    del mesh
    needs = list[Request]()
    if op.axis != sharding.axis:
        needs += [sharding] * len(op.xs)
        return LocalForm([needs])
    left = list(sharding.sections)
    for x in op.xs:
        size, mine = graph.type_of(x).shape[op.axis], list[int]()
        while left and isinstance(size, int) and sum(mine) < size:
            mine.append(left.pop(0))
        if sum(mine) != size:
            raise Decline("joins what lies on different ranks")
        needs.append(Sharding(sharding.axis, tuple(mine)))
    return LocalForm([needs])


@_rule(graph.SliceOp)
def _slice(op: graph.SliceOp, sharding: Sharding, mesh: Mesh) -> LocalForm:
    """All of the axis, or whole sections of it."""
    axis = sharding.axis
    size = graph.type_of(op.x).shape[axis]
    if op.steps[axis] == 1 and op.starts[axis] == 0 and op.sizes[axis] == size:
        return LocalForm([sharding], {"sizes": sharding.local(op.sizes, mesh)})
    if op.steps[axis] != 1 or not isinstance(size, int):
        raise Decline("takes elements of the axis that are apart")
    start = op.starts[axis]
    if not isinstance(start, int):
        raise Decline("takes elements of the axis at a position that is not known")
    ends = {*_noted_ends(op, axis), *(start + end for _, end in _with_ends(sharding.sections))}
    ordered = sorted({0, start, size} | ends)
    sections = tuple(b - a for a, b in itertools.pairwise(ordered))
    first = sum(section for section, end in _with_ends(sections) if end <= start)
    starts = [first // mesh.ranks if i == axis else n for i, n in enumerate(op.starts)]
    return LocalForm(
        [Sharding(axis, sections)], {"starts": starts, "sizes": sharding.local(op.sizes, mesh)}
    )


_ENDS = "graph.section_ends"
"""The attribute of a slice that lists, for each axis, where slices of the same value begin and
end."""


def note_sections(block: ir.Block) -> None:
    """Note on each slice the sections that all slices of its value make. Slices that are replaced
    later, such as that of queries, are no longer there when keys and values are looked at."""
    for op in _slices(block):
        ends = [ir.DenseI64ArrayAttr.get(sorted(_ends(op.x, axis)))
                for axis in range(graph.type_of(op.x).rank)]  # fmt: skip
        op.operation.attributes[_ENDS] = ir.ArrayAttr.get(ends)


def forget_sections(block: ir.Block) -> None:
    """Remove the notes."""
    for op in _slices(block):
        if _ENDS in op.operation.attributes:
            del op.operation.attributes[_ENDS]


def _slices(block: ir.Block) -> list[graph.SliceOp]:
    found = map(graph.graph_op, block.operations)
    return [op for op in found if isinstance(op, graph.SliceOp)]


def _noted_ends(op: graph.SliceOp, axis: int) -> tuple[int, ...]:
    attributes = op.operation.attributes
    if _ENDS not in attributes:
        return tuple(_ends(op.x, axis))
    return tuple(ir.DenseI64ArrayAttr(ir.ArrayAttr(attributes[_ENDS])[axis]))


def _ends(value: ir.Value, axis: int) -> set[int]:
    """The positions along `axis` at which slices of `value` begin and end, if known."""
    ends: set[int] = set()
    for use in value.uses:
        user = graph.graph_op(use.owner)
        if isinstance(user, graph.SliceOp) and user.steps[axis] == 1:
            first, count = user.starts[axis], user.sizes[axis]
            if isinstance(first, int) and isinstance(count, int):
                ends |= {first, first + count}
    return ends


def _with_ends(sections: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(size, sum(sections[: number + 1])) for number, size in enumerate(sections)]
