"""The pass `graph-hoist-sizes`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...mlir import ir
from ..analysis.liveness import operands_of
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register

_WORD = re.compile(r"[\w.]+")


@register
@dataclass(frozen=True)
class HoistSizes(Pass):
    """Compute sizes that depend on data together, before what does not need to come first.

    %n = "graph.bind_sizes"(%a) {names = ["n"]}      %n = "graph.bind_sizes"(%a) {names = ["n"]}
    %x = ... tensor<?xf32, ["n"]>              -->   %m = "graph.bind_sizes"(%b) {names = ["m"]}
    %m = "graph.bind_sizes"(%b) {names = ["m"]}      %x = ... tensor<?xf32, ["n"]>

    The host waits for all that was submitted before it reads a size, and submits the rest then.
    The experts of a decoder, each of which counts its tokens, make it wait once instead of once
    for each. Ops in the bodies of control flow stay where they are.
    """

    name = "graph-hoist-sizes"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        *ops, end = (each.operation for each in op.regions[0].blocks[0].operations)
        if sum(map(_binds, ops)) < 2:
            return
        order = _order(ops, _needed(ops))
        if order == list(range(len(ops))):
            return
        for number in order:
            ops[number].move_before(end)
        state.statistics(self.name).record_fired(
            f"@{ir.StringAttr(op.attributes['sym_name']).value}"
        )


def _binds(op: ir.Operation) -> bool:
    return op.name == graph.BindSizesOp.OPERATION_NAME


def _needed(ops: Sequence[ir.Operation]) -> list[set[int]]:
    """The numbers of the ops that must come before each of `ops`: those that compute its operands,
    name its sizes, and require what may be assumed behind them."""
    makers: dict[ir.Value, int] = {}
    binders: dict[str, int] = {}
    requirement: int | None = None
    needed: list[set[int]] = []
    for number, op in enumerate(ops):
        before = {makers[value] for value in operands_of(op) if value in makers}
        before.update(binders[name] for name in _words(op) if name in binders)
        before.update(() if requirement is None else (requirement,))
        binders.update(dict.fromkeys(_names(op), number))
        if op.name == graph.RequireOp.OPERATION_NAME:
            requirement = number
        makers.update(dict.fromkeys(op.results, number))
        needed.append(before)
    return needed


def _names(op: ir.Operation) -> list[str]:
    """The names of sizes that `op` binds: those of its operand, or of results of control flow."""
    if "names" not in op.attributes:
        return []
    return [ir.StringAttr(name).value for name in ir.ArrayAttr(op.attributes["names"])]


def _words(op: ir.Operation) -> set[str]:
    """The words of the types and attributes of `op`, among which are the names of its sizes.

    Not of its text: to write that, MLIR numbers all values of the function.
    """
    words, waiting = set[str](), [op]
    while waiting:
        each = waiting.pop()
        values: list[ir.Value] = list(each.results)
        if each.name != graph.ConstantOp.OPERATION_NAME:
            words.update(_WORD.findall(" ".join(map(str, each.attributes.values()))))
        for region in each.regions:
            for block in region.blocks:
                values += list(block.arguments)
                waiting += (inner.operation for inner in block.operations)
        for value in values:
            words.update(_WORD.findall(str(ir.RankedTensorType(value.type).encoding)))
    return words


def _order(ops: Sequence[ir.Operation], needed: Sequence[set[int]]) -> list[int]:
    """The ops that sizes need, then those sizes; likewise for sizes that depend on these, and so
    on; then the others. Otherwise the order is kept."""
    rounds = [0] * len(ops)
    """How many sizes in a row must be known before an op."""
    for number, before in enumerate(needed):
        counts = (rounds[each] + _binds(ops[each]) for each in before)
        rounds[number] = max(counts, default=0)
    wanted = [_binds(op) for op in ops]
    for number in reversed(range(len(ops))):
        if wanted[number]:
            for before in needed[number]:
                wanted[before] = True

    def key(number: int) -> tuple[bool, int, bool, int]:
        if not wanted[number]:
            return True, 0, False, number
        return False, rounds[number], _binds(ops[number]), number

    return sorted(range(len(ops)), key=key)
