"""Names of sizes: where ops use them, and what keeps the ops that bind them."""

from collections.abc import Iterable, Iterator
from typing import Any

from ...mlir import ext, ir
from ..symbolic import Dim
from .base import GraphOp, graph_op, is_several
from .shapes import ConstantOp
from .types import type_of


def names_in(operation: Any) -> set[str]:
    """The names of sizes of the operands, results and attributes of an op, and of those in it.

    Ops of other dialects have none of their own.
    """
    op = graph_op(operation)
    if isinstance(op, ConstantOp):  # whose data may be large
        return set()
    found = set[str]() if op is None else _own_names(op)
    for inner in _inner_ops(operation):
        found |= names_in(inner)
    return found


def _own_names(op: GraphOp) -> set[str]:
    values = (*op.operation.operands, *op.operation.results)
    found = names_of(size for value in values for size in type_of(value).shape)
    for attribute in op.attrs.values():
        found |= names_of(attribute if is_several(attribute) else (attribute,))
    return found


def names_of(sizes: Iterable[Any]) -> set[str]:
    """The names in `sizes`, among which may be other things than sizes."""
    return {name for size in sizes if isinstance(size, Dim) for name in size.symbols()}


def _inner_ops(operation: Any) -> Iterator[Any]:
    for region in operation.operation.regions:
        for block in region.blocks:
            yield from block.operations


def binds_used_names(operation: Any) -> bool:
    """Return whether another op of its block uses a name that `operation`, which runs regions,
    binds."""
    names = {ir.StringAttr(name).value for name in ir.ArrayAttr(operation.attributes["names"])}
    return bool(names) and any(
        names & names_in(each)
        for each in operation.operation.block.operations
        if each.operation != operation.operation
    )


class PureUnlessNamed:
    """A trait of ops that run regions: they touch no memory, and stay as long as something uses
    the sizes that they name, though nothing uses their results."""

    class WritesNames(ir.MemoryEffectsOpInterface):
        """To MLIR, an op that writes must not be erased."""

        @staticmethod
        def get_effects(op: Any, effects: ir.MemoryEffectInstancesList) -> None:
            if len(ir.ArrayAttr(op.attributes["names"])) == 0:
                return
            is_used = any(True for result in op.results for _ in result.uses)
            if is_used or binds_used_names(op):
                effects.append(ir.MemoryEffect.Write)

    @staticmethod
    def attach(op_name: str) -> None:
        """Called by the bindings for each op class when the dialect is loaded."""
        PureUnlessNamed.WritesNames.attach(op_name)
        ext.Pure.AlwaysSpeculatable.attach(op_name)
