"""Value numbering across programs: values are equal if their expressions are."""

import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..dialects import graph
from ..mlir import ir

MOVES = ("graph.transpose", "graph.reshape")
"""Ops that only change the order or shape of a value."""


class Expressions:
    """The expression of each value of a function's body, as a number.

    Two values have the same number if the same ops with the same attributes compute them from the
    same arguments and constants; names, locations and the order of ops do not matter. One table can
    be used for several programs.
    """

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def of(self, function: Any) -> dict[ir.Value, int]:
        """The number of every value of `function`, including those inside fused groups."""
        found: dict[ir.Value, int] = {}
        (block,) = function.regions[0].blocks
        self._block(block, found, ("main",))
        return found

    def _block(self, block: ir.Block, found: dict[ir.Value, int], path: tuple[Any, ...]) -> Any:
        for index, argument in enumerate(block.arguments):
            found[argument] = self._number((*path, index, str(argument.type)))
        last: Any = ()
        for op in block.operations:
            operation = op.operation
            key = (operation.name, _attributes(operation), self._operands(operation, found))
            for region in operation.regions:
                for inner in region.blocks:
                    key = (*key, self._block(inner, found, (*path, key)))
            for index, result in enumerate(operation.results):
                found[result] = self._number((key, index, str(result.type)))
            last = key
        return last  # that of the terminator

    def _operands(self, operation: Any, found: dict[ir.Value, int]) -> tuple[int, ...]:
        return tuple(found[operand] for operand in operation.operands)

    def _number(self, key: Any) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _attributes(operation: Any) -> tuple[Any, ...]:
    view = graph.graph_op(operation)
    if isinstance(view, graph.ConstantOp):
        array = np.ascontiguousarray(view.attrs["value"])
        return (zlib.crc32(array.reshape(-1).view(np.uint8).data), array.shape, array.dtype.name)
    return tuple((name, str(operation.attributes[name])) for name in operation.attributes)


def behind_moves(value: ir.Value) -> Iterator[ir.Value]:
    """`value`, and the values that it is a reordering or reshape of, step by step."""
    yield value
    owner = value.owner
    while not isinstance(owner, ir.Block) and owner.operation.name in MOVES:
        value = owner.operation.operands[0]
        yield value
        owner = value.owner
