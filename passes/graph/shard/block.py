"""Blocks: what a rank computes for its part of a value, from there back to what each rank has.

A block is planned before anything is built. It ends at column-parallel matmuls, whose other operand
all ranks have, at constants, and at values that ranks have as a whole and take a part of.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ....dialects import graph
from ....dialects.locations import node_name
from ....mlir import ir
from ...infra.query import producer
from ...infra.rewrite import Decline
from .rules import local_form
from .sharding import LocalForm, Mesh, Request, Sharding, whole_axis

MAX_OPS = 256
"""Maximum number of ops in a block: longer chains run through several layers."""

WHOLE_BYTES = 4096
"""Maximum size of weights that a rank computes as a whole and takes a part of."""

WEIGHT_DEPTH = 6
"""Maximum number of ops between the constants and the matmul of a weight."""

Matmul = graph.MatmulOp | graph.EinsumOp


@dataclass
class LocalValue:
    """The part of `value` that a rank has."""

    value: ir.Value
    sharding: Sharding
    op: Any = None
    """The op that is computed for the part alone; None if the part is taken of the whole."""
    form: LocalForm | None = None
    reason: str = ""
    """The reason why the part is taken of the whole, unless the whole is a constant."""


@dataclass
class ParallelBlock:
    """The parts that a rank computes, operands before users."""

    mesh: Mesh
    parts: dict[tuple[ir.Value, Sharding], LocalValue] = field(
        default_factory=dict[tuple[ir.Value, Sharding], LocalValue]
    )

    def plan(self, value: ir.Value, sharding: Sharding) -> None:
        """Add what a rank needs for its part of `value`. Raises `Decline`."""
        key = value, sharding
        if key in self.parts:
            return
        if problem := sharding.problem(self.mesh):
            raise Decline(problem)
        part = self._part(value, sharding)
        if part.reason and _is_large_weight(value):
            raise Decline(f"each rank would need all of its weights: {part.reason}")
        if part.form is None and sharding.repeats != 1:
            raise Decline(part.reason)  # the elements of a part are not in a few sections
        if part.form is not None:
            for each, request in part.form.parts(part.op):
                self.plan(each, request)
        if len(self.parts) >= MAX_OPS:
            raise Decline(f"its block has more than {MAX_OPS} ops")
        self.parts[key] = part

    @property
    def has_weights(self) -> bool:
        """True if ranks have parts of the weights of a matmul."""
        return any(
            is_weight(value)
            for part in self.parts.values()
            if isinstance(part.op, graph.MatmulOp | graph.EinsumOp) and part.form is not None
            for value, _ in part.form.parts(part.op)
        )

    @property
    def reasons(self) -> list[str]:
        """The reasons why parts are taken of whole values."""
        return [part.reason for part in self.parts.values() if part.reason]

    def constants(self) -> Iterator[tuple[ir.Value, Sharding]]:
        """The constants that ranks have parts of."""
        for part in self.parts.values():
            if producer(part.value, graph.ConstantOp):
                yield part.value, part.sharding

    def build(self) -> dict[tuple[ir.Value, Sharding], ir.Value]:
        """Build the ops; the parts by value and sharding."""
        built: dict[tuple[ir.Value, Sharding], ir.Value] = {}
        for key, part in self.parts.items():
            built[key] = self._built(part, built)
        return built

    def build_op(self, op: Any, form: LocalForm) -> ir.Value:
        """Build `op` on one rank, all of whose requests were planned, and its block."""
        return self._local(op, form, self.build())

    def all_reduce(self, value: ir.Value, reduction: str = "sum") -> ir.Value:
        """`value` of all ranks, combined."""
        mesh = self.mesh
        return graph.all_reduce(value, ranks=mesh.ranks, mesh_axis=mesh.axis, reduction=reduction)

    def all_gather(self, value: ir.Value, sharding: Sharding) -> ir.Value:
        """The whole of which each rank has the part `value`."""
        return graph.all_gather(value, **self._attributes(sharding))

    @property
    def is_taken(self) -> bool:
        """True if the program takes all these parts of constants already."""
        parts = [*self.constants()]
        return bool(parts) and all(
            any(each.attrs == self._attributes(sharding) for each in _slices(value))
            for value, sharding in parts
        )

    def taken_sections(self) -> set[tuple[int, ...]]:
        """The sections of the parts that the program takes of the constants already."""
        return {each.sections for value, _ in self.constants() for each in _slices(value)}

    def _part(self, value: ir.Value, sharding: Sharding) -> LocalValue:
        op: Any = graph.graph_op(value.owner)
        if op is None:
            return LocalValue(value, sharding, reason="it is an input")
        if isinstance(op, graph.ConstantOp):
            return LocalValue(value, sharding)
        try:
            form = local_form(op, sharding, self.mesh)
            self._require_form(op, form, sharding)
        except Decline as decline:
            reason = f"'{node_name(op)}' ({_short_name(op)}) {decline.reason}"
            return LocalValue(value, sharding, reason=reason)
        return LocalValue(value, sharding, op, form)

    def _require_form(self, op: Any, form: LocalForm, sharding: Sharding) -> None:
        """Raise `Decline` unless the op on one rank has a result of the type of its part."""
        types = form.map(op, self._type)
        try:
            found = type(op).infer_types(types, {**op.attrs, **form.attrs})
        except graph.TypeRuleError as error:
            raise Decline(f"does not take parts: {error}") from error
        if found != (self._type(op.operation.results[0], sharding),):
            raise Decline("gives something else on one rank")

    def _type(self, value: ir.Value, request: Request) -> graph.TensorType:
        type_ = graph.type_of(value)
        if request is None:
            return type_
        if problem := request.problem(self.mesh):
            raise Decline(f"has an operand that cannot be divided: {problem}")
        return type_.with_shape(request.local(type_.shape, self.mesh))

    def _built(
        self, part: LocalValue, built: dict[tuple[ir.Value, Sharding], ir.Value]
    ) -> ir.Value:
        if part.form is None:
            return graph.all_slice(part.value, **self._attributes(part.sharding))
        return self._local(part.op, part.form, built)

    def _local(
        self, op: Any, form: LocalForm, built: dict[tuple[ir.Value, Sharding], ir.Value]
    ) -> ir.Value:
        def of(value: ir.Value, request: Request) -> ir.Value:
            return value if request is None else built[value, request]

        operands = form.map(op, of)
        return graph.build(type(op), operands, {**op.attrs, **form.attrs})

    def _attributes(self, sharding: Sharding) -> dict[str, Any]:
        return {
            "axis": sharding.axis, "sections": sharding.sections,
            "ranks": self.mesh.ranks, "mesh_axis": self.mesh.axis,
        }  # fmt: skip


def taken_block(value: ir.Value, axis: int, mesh: Mesh) -> tuple[ParallelBlock, Sharding]:
    """The block of `value`, divided along `axis`, if ranks have all parts of its weights already.
    Raises `Decline`."""
    whole = whole_axis(value, axis)
    block = ParallelBlock(mesh)
    block.plan(value, whole)
    for sections in sorted({*block.taken_sections(), whole.sections}):
        sharding = replace(whole, sections=sections)
        found = ParallelBlock(mesh)
        if sharding.size == whole.size:
            with suppress(Decline):
                found.plan(value, sharding)
                if found.has_weights and found.is_taken:
                    return found, sharding
    raise Decline(next(iter(block.reasons), "no weight that it comes from is divided"))


def first_taken(value: ir.Value, axes: Iterable[int], mesh: Mesh) -> tuple[ParallelBlock, Sharding]:
    """`taken_block` along the first of `axes` for which there is one. Raises `Decline`."""
    reasons: list[str] = []
    for axis in axes:
        try:
            return taken_block(value, axis, mesh)
        except Decline as decline:
            reasons.append(decline.reason)
    raise Decline(next(iter(reasons), "it has no axes"))


def _slices(value: ir.Value) -> Iterator[graph.AllSliceOp]:
    """The parts that are taken of `value`."""
    for use in value.uses:
        user = graph.graph_op(use.owner)
        if isinstance(user, graph.AllSliceOp):
            yield user


def is_weight(value: ir.Value, depth: int = WEIGHT_DEPTH) -> bool:
    """Return whether `value` is computed from constants alone, in a few steps."""
    op: Any = graph.graph_op(value.owner)
    if op is None or depth == 0 or not op.pure or op.per_rank or len(op.operation.regions):
        return False
    if isinstance(op, graph.ConstantOp):
        return True
    operands = list(op.operation.operands)
    return bool(operands) and all(is_weight(each, depth - 1) for each in operands)


def _is_large_weight(value: ir.Value) -> bool:
    return graph.known_bytes(graph.type_of(value)) > WHOLE_BYTES and is_weight(value)


def weight_bytes(value: ir.Value) -> int:
    """Bytes of the constants that a weight is computed from."""
    op: Any = graph.graph_op(value.owner)
    if isinstance(op, graph.ConstantOp):
        return graph.known_bytes(graph.type_of(value))
    return sum(map(weight_bytes, op.operation.operands))


def _short_name(op: graph.GraphOp) -> str:
    return op.operation.name.removeprefix("graph.")
