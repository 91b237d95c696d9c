"""The pass `graph-fold-loop-arguments`."""

from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...dialects.locations import node_name
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.query import constant_scalar, ops_within
from ..infra.registry import register

REWRITE = "fold-loop-arguments"


@register
@dataclass(frozen=True)
class FoldLoopArguments(Pass):
    """Carry a value from iteration to iteration once, and none that nothing reads.

    %1:3 = "graph.for"(%a, %a, %b) ({  ^bb0(%x, %y, %z):
      %2 = "graph.exp"(%x)
      "graph.yield_all"(%2, %2, %2)
    -->
    %1 = "graph.for"(%a) ({            ^bb0(%x):
      %2 = "graph.exp"(%x)
      "graph.yield_all"(%2)

    Exporters carry all variables of a body, also those that are only assigned. Each may need memory
    of its own, and copies in each iteration.
    """

    name = "graph-fold-loop-arguments"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics(REWRITE)
        for loop in ops_within(op, graph.LoopOp):
            folded = _Folding(loop).find()
            if folded:
                statistics.record_fired(node_name(loop))
                _without(loop, folded)


class _Folding:
    """The carried values of a loop that need not be carried."""

    def __init__(self, loop: graph.LoopOp):
        self._loop = loop
        self._arguments = list(loop.body.arguments)
        self._results = list(loop.operation.results)
        self._yielded = loop.yielded[0]
        self._runs = _surely_runs(loop)

    def find(self) -> set[int]:
        """Their numbers. What reads them reads others then."""
        folded, numbers = set[int](), range(len(self._arguments))
        for number in numbers:
            if self._names_sizes(number):
                continue
            other = next((n for n in numbers if self._can_be(number, n, folded)), None)
            if other is not None:
                self._arguments[number].replace_all_uses_with(self._arguments[other])
                self._results[number].replace_all_uses_with(self._results[other])
            if other is not None or self._is_dead(number):
                folded.add(number)
        return folded

    def _names_sizes(self, number: int) -> bool:
        """Return whether the value has sizes of its own in the loop, or behind it."""
        sizes = [
            size
            for value in (self._arguments[number], self._results[number])
            for size in graph.type_of(value).shape
        ]
        return not self._loop.own_names.isdisjoint(graph.names_of(sizes))

    def _can_be(self, number: int, other: int, folded: set[int]) -> bool:
        """Return whether value `other` is the same, wherever one is read."""
        if other == number or other in folded or self._yielded[number] != self._yielded[other]:
            return False
        if self._arguments[number].type != self._arguments[other].type:
            return False
        if self._loop.initial[number] == self._loop.initial[other]:
            return True
        return self._runs and not self._is_read(number)

    def _is_dead(self, number: int) -> bool:
        is_used = next(iter(self._results[number].uses), None) is not None
        return not is_used and not self._is_read(number)

    def _is_read(self, number: int) -> bool:
        """Return whether an iteration does more with the value than to hand it on."""
        end = graph.terminator(self._loop.body)
        place = self._loop.leading + number
        return any(
            use.owner.operation != end or use.operand_number != place
            for use in self._arguments[number].uses
        )


def _surely_runs(loop: graph.LoopOp) -> bool:
    """Return whether the loop has an iteration at least."""
    count = loop.attrs["count"]
    if not isinstance(count, int) or count < 1:
        return False
    return not isinstance(loop, graph.WhileOp) or bool(constant_scalar(loop.condition))


def _without(loop: graph.LoopOp, folded: set[int]) -> None:
    """Build `loop` again without some carried values."""
    kept = [n for n in range(len(loop.initial)) if n not in folded]
    results = list(loop.operation.results)
    stay = [*(results[n] for n in kept), *results[len(loop.initial) :]]
    operands: list[Any] = [loop.condition] if isinstance(loop, graph.WhileOp) else []
    operands.append([loop.initial[n] for n in kept])
    attributes = {name: loop.operation.attributes[name] for name in loop.attribute_kinds}
    with ir.InsertionPoint(loop.operation), loop.operation.location:
        types = [graph.type_of(value) for value in stay]
        made = graph.create(type(loop), operands, attributes, types, regions=1).operation
    body = loop.body
    body.append_to(made.regions[0])
    _yield_without(made.regions[0].blocks[0], loop.leading, folded)
    for number in sorted(folded, reverse=True):
        made.regions[0].blocks[0].erase_argument(number)
    for old, new in zip(stay, made.results, strict=True):
        old.replace_all_uses_with(new)
    loop.operation.erase()


def _yield_without(block: ir.Block, leading: int, folded: set[int]) -> None:
    end = graph.terminator(block)
    values = [v for n, v in enumerate(end.operands) if n - leading not in folded]
    with ir.InsertionPoint(end), end.location:
        graph.create(graph.YieldAllOp, [values], {}, [])
    end.erase()
