"""Matmuls with weights that ranks have parts of (Megatron-LM; Shoeybi et al., 2019)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ....dialects import graph
from ....dialects.locations import node_name
from ....mlir import ir
from ...infra.base import FUNCTION, PassState
from ...infra.query import producer
from ...infra.rewrite import Decline, Rewrite
from .block import Matmul, ParallelBlock, first_taken, is_weight, weight_bytes
from .rules import local_form
from .sharding import LocalForm, Mesh, Sharding, whole_axis

NESTED = "it is within a loop or a branch, and only the function is cut at collectives"


def is_nested(op: Any) -> bool:
    """Return whether `op` is within another op of the function."""
    return op.operation.parent.name != FUNCTION


class RowParallel(Rewrite):
    """``f(x @ v) @ w  -->  all_reduce(f(x @ part of v) @ part of w)``.

    Of `v` a rank has columns, of `w` the rows that meet them, and of all between, such as heads of
    attention, what belongs to these. Exact but for the order of sums.
    """

    name = "row-parallel"
    root = (graph.MatmulOp, graph.EinsumOp)

    def __init__(self, mesh: Mesh):
        self.mesh = mesh

    def pattern(self, op: Matmul):
        found = self.block(op)
        return None if isinstance(found, str) else {"block": found[0], "form": found[1]}

    def rewrite(self, op: Matmul, *, block: ParallelBlock, form: LocalForm):
        return block.all_reduce(block.build_op(op, form))

    def block(self, op: Matmul) -> tuple[ParallelBlock, LocalForm] | str:
        """The block before `op` and the form of `op` on one rank, or why there is none."""
        if is_nested(op):
            return NESTED
        reasons: list[str] = []
        for form in _contractions(op):
            block = ParallelBlock(self.mesh)
            try:
                for value, sharding in form.parts(op):
                    block.plan(value, sharding)
            except Decline as decline:
                reasons.append(decline.reason)
                continue
            if block.has_weights:
                return block, form
            reasons += block.reasons
        return next(iter(reasons), "nothing is summed that ranks may have parts of")


class ReduceParts(Rewrite):
    """``max(f(x @ w))  -->  all_reduce(max(f(x @ part of w)))``, and the same for ``min`` and sums.

    Where ranks have parts of the weights already, as for the scales of operands that are quantised
    dynamically. Exact but for the order of sums.
    """

    name = "reduce-parts"
    root = (graph.ReduceMaxOp, graph.ReduceMinOp, graph.ReduceSumOp)

    def __init__(self, mesh: Mesh):
        self.mesh = mesh

    def pattern(self, op: Any):
        if is_nested(op) or graph.type_of(op.x).dtype == np.bool_:
            return None
        try:
            block, sharding = first_taken(op.x, op.axes, self.mesh)
        except Decline:
            return None
        return {"block": block, "sharding": sharding}

    def rewrite(self, op: Any, *, block: ParallelBlock, sharding: Sharding):
        part = block.build()[op.x, sharding]
        return block.all_reduce(graph.build(type(op), [part], op.attrs), _REDUCTIONS[type(op)])


_REDUCTIONS = {graph.ReduceMaxOp: "max", graph.ReduceMinOp: "min", graph.ReduceSumOp: "sum"}


class GatherColumns(Rewrite):
    """``x @ w  -->  all_gather(x @ part of w)``, and the same for rows of a table, ``w[x]``.

    For weights of `gather_bytes` at least, and for those that ranks have parts of already. Exact.
    """

    name = "gather-columns"
    root = (graph.MatmulOp, graph.EinsumOp, graph.GatherOp)

    def __init__(self, mesh: Mesh, gather_bytes: int):
        self.mesh, self.gather_bytes = mesh, gather_bytes

    def pattern(self, op: Any):
        found = self.block(op)
        return None if isinstance(found, str) else {"block": found[0], "sharding": found[1]}

    def rewrite(self, op: Any, *, block: ParallelBlock, sharding: Sharding):
        form = local_form(op, sharding, self.mesh)
        return block.all_gather(block.build_op(op, form), sharding)

    def block(self, op: Any) -> tuple[ParallelBlock, Sharding] | str:
        """The block of `op` and the sharding of its result, or why it is not divided."""
        if is_nested(op):
            return NESTED
        try:
            columns = _columns(op)
            block = self._planned(op, columns)
        except Decline as decline:
            return decline.reason
        for sections in sorted({*block.taken_sections(), columns.sections}):
            taken = self._taken(op, replace(columns, sections=sections))
            if taken is not None:
                return taken
        size = sum(weight_bytes(value) for value, _ in block.constants())
        if size < self.gather_bytes:
            return f"its weights of {size} bytes are less than gather-bytes"
        return block, columns

    def _taken(self, op: Any, sharding: Sharding) -> tuple[ParallelBlock, Sharding] | None:
        """The block and the sharding of the result, if ranks have these parts already."""
        try:
            block = self._planned(op, sharding)
        except Decline:
            return None
        return (block, sharding) if block.is_taken else None

    def _planned(self, op: Any, sharding: Sharding) -> ParallelBlock:
        """The block of the weights of `op`. Raises `Decline`."""
        if problem := sharding.problem(self.mesh):
            raise Decline(problem)
        if sharding.size != graph.type_of(op.result).shape[sharding.axis]:
            raise Decline("its weights are divided along another axis")
        block = ParallelBlock(self.mesh)
        for value, request in local_form(op, sharding, self.mesh).parts(op):
            if not is_weight(value):
                raise Decline("its columns are not those of a weight")
            block.plan(value, request)
        return block


def _contractions(op: Matmul) -> Iterator[LocalForm]:
    """The forms of `op` on a rank that sums its part of one axis of a weight and of another
    value."""
    if isinstance(op, graph.MatmulOp):
        if is_weight(op.a) != is_weight(op.b):
            yield from _matmul_contraction(op)
    elif len(op.xs) == 2 and is_weight(op.xs[0]) != is_weight(op.xs[1]):
        yield from _einsum_contractions(op)


def _matmul_contraction(op: graph.MatmulOp) -> Iterator[LocalForm]:
    x, axis = (op.b, -2) if is_weight(op.a) else (op.a, -1)
    size = graph.type_of(x).shape[axis]
    if isinstance(size, int):
        axes = graph.type_of(op.a).rank - 1, graph.type_of(op.b).rank - 2
        sections = _natural_sections(x, axis, size)
        yield LocalForm([Sharding(each, sections) for each in axes])


def _einsum_contractions(op: graph.EinsumOp) -> Iterator[LocalForm]:
    letters, result = graph.parse_equation(op.equation)
    first, second = letters
    for letter in first:
        if letter in result or first.count(letter) != 1 or second.count(letter) != 1:
            continue
        axes = first.index(letter), second.index(letter)
        sizes = [graph.type_of(x).shape[axis] for x, axis in zip(op.xs, axes, strict=True)]
        if isinstance(sizes[0], int) and sizes[0] == sizes[1]:
            yield LocalForm([[Sharding(axis, (sizes[0],)) for axis in axes]])


def _natural_sections(value: ir.Value, axis: int, size: int) -> tuple[int, ...]:
    """The sizes of what `value` was joined from along `axis`; or the axis as a whole."""
    joined = producer(value, graph.ConcatOp)
    rank = graph.type_of(value).rank
    if joined is None or joined.axis != axis % rank:
        return (size,)
    sizes = [graph.type_of(x).shape[joined.axis] for x in joined.xs]
    return tuple(each for each in sizes if isinstance(each, int))


def _columns(op: Any) -> Sharding:
    """The sharding of the axis of the result that a weight alone has. Raises `Decline`."""
    if isinstance(op, graph.MatmulOp):
        return whole_axis(op.result, -2 if is_weight(op.a) else -1)
    if isinstance(op, graph.GatherOp):
        after = graph.type_of(op.x).rank - op.axis - 1
        if after == 0:
            raise Decline("it gathers single elements")
        return whole_axis(op.result, -1)
    letters, result = graph.parse_equation(op.equation)
    constant = [names for x, names in zip(op.xs, letters, strict=True) if is_weight(x)]
    others = "".join(names for x, names in zip(op.xs, letters, strict=True) if not is_weight(x))
    for axis, letter in reversed([*enumerate(result)]):
        if letter not in others and any(letter in names for names in constant):
            return whole_axis(op.result, axis)
    raise Decline("no axis of the result is that of a weight alone")


def report_whole(block: ir.Block, mesh: Mesh, gather_bytes: int, state: PassState) -> None:
    """Report the matmuls by weights that each rank computes as a whole, and why."""
    row, gather = RowParallel(mesh), GatherColumns(mesh, gather_bytes)
    for operation in block.operations:
        for region in operation.operation.regions:
            for inner in region.blocks:
                report_whole(inner, mesh, gather_bytes, state)
        op: Any = graph.graph_op(operation)
        if isinstance(op, graph.MatmulOp | graph.EinsumOp) and any(_contractions(op)):
            for each in (row, gather):
                reason = each.block(op)
                if isinstance(reason, str):  # else there was no fuel to rewrite it
                    state.statistics(each.name).record_declined(node_name(op), reason)
