"""Scalars that kernels take as arguments, because kernels are equal but for them."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...mlir import ir
from ..graph_to_linalg.aliasing import ops_within
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .hidden_constants import HiddenConstants

_WORDS = 64
"""Words of 32 bits that the runtime hands over to a dispatch, at most: each tensor and each named
size takes two, a scalar one or two."""
_SIZES = 8
"""Named sizes for which a dispatch has room."""
_BY_VALUE = {
    **dict.fromkeys(("arith.divf", "arith.remf", "arith.divsi", "arith.divui"), (1,)),
    **dict.fromkeys(("arith.remsi", "arith.remui", "arith.ceildivsi", "arith.floordivsi"), (1,)),
    **dict.fromkeys(("arith.shli", "arith.shrsi", "arith.shrui"), (1,)),
    **dict.fromkeys(("math.powf", "math.fpowi", "math.ipowi"), (1,)),
}
"""Operands, by number, of ops for which the backend has faster code if it knows them."""
_FUSED = ("linalg.", "tensor.")
_INSERTION = "tensor.insert_slice"
_PURE = ("arith.", "math.", *_FUSED)


@register
@dataclass(frozen=True)
class VaryingScalars(Pass):
    """Hide from the backend the scalars in which ops of linalg differ that are equal otherwise.

    linalg.generic { arith.mulf %in, 0.5 }
    linalg.generic { arith.mulf %in, 0.25 }
    -->
    %0 = util.optimization_barrier 0.5
    linalg.generic { arith.mulf %in, %0 }
    %1 = util.optimization_barrier 0.25
    linalg.generic { arith.mulf %in, %1 }

    The backend compiles one kernel for what it finds to be equal: the layers of a quantized model
    have scales and zero points of their own. Divisors, exponents and distances of shifts stay, for
    which the code depends on the number; so does what is computed from constants, by the compiler.
    """

    name = "linalg-varying-scalars"
    anchor = FUNCTION

    def run(self, op: Any, state: PassState) -> None:
        del state
        groups = defaultdict[object, list[_Constants]](list)
        for each in _computed_generics(op.operation):
            found = _Constants(each)
            groups[tuple(_form(each, found))].append(found)
        dispatches = _FusibleOps(op.operation)
        for group in groups.values():
            columns = list(zip(*(each.values for each in group), strict=True))
            varying = {n for n, column in enumerate(columns) if len(set(column)) > 1}
            for each in group if varying else ():
                each.varying = varying
                dispatches.use(each.op, {each.values[n] for n in varying})
        hidden = HiddenConstants(op.entry_block)
        for each in chain.from_iterable(groups.values()):
            if dispatches.has_room(each.op):
                each.hide(hidden)


@dataclass
class _Constants:
    """The constants of an op, the operands that are one of them, by number, and the numbers of
    those in which equal ops differ."""

    op: ir.Operation
    values: list[ir.Attribute] = field(default_factory=list[ir.Attribute])
    uses: list[tuple[ir.Operation, int, int]] = field(
        default_factory=list[tuple[ir.Operation, int, int]]
    )
    varying: Collection[int] = ()

    def hide(self, hidden: HiddenConstants) -> None:
        """Replace the constants in which equal ops differ."""
        for op, operand, number in self.uses:
            if number in self.varying:
                op.operands[operand] = hidden[self.values[number]]


class _FusibleOps:
    """Ops of a function that the backend may fuse into one dispatch, and what that takes.

    It computes a value with its reader, in the same block, if that is the only one.
    """

    def __init__(self, function: ir.Operation):
        self._last: dict[ir.Operation, ir.Operation] = {}
        """The op that ends the dispatch of each op."""
        self._ops = defaultdict[ir.Operation, list[ir.Operation]](list)
        self._scalars = defaultdict[ir.Operation, set[ir.Attribute]](set)
        self._rooms: dict[ir.Operation, bool] = {}
        for op in reversed(ops_within(function)):
            if op.name.startswith(_FUSED) and op.name != "tensor.empty":
                reader = _only_reader(op)
                last = op if reader is None else self._last.get(reader, op)
                self._last[op] = last
                self._ops[last].append(op)

    def use(self, op: ir.Operation, scalars: Collection[ir.Attribute]) -> None:
        """Let the dispatch of `op` take `scalars` as arguments."""
        self._scalars[self._last[op]].update(scalars)

    def has_room(self, op: ir.Operation) -> bool:
        """Return whether the runtime hands over as much as the dispatch of `op` takes, after all
        `use`."""
        last = self._last[op]
        if last not in self._rooms:
            self._rooms[last] = self._has_room(last)
        return self._rooms[last]

    def _has_room(self, last: ir.Operation) -> bool:
        words = sum(1 if _width(each.type) <= 32 else 2 for each in self._scalars[last])
        read = {x for each in self._ops[last] for x in each.operands if self._is_read(x, last)}
        return words + 2 * (len(read) + len(last.results) + _SIZES) <= _WORDS

    def _is_read(self, x: ir.Value, last: ir.Operation) -> bool:
        """Return whether the dispatch that `last` ends reads `x`, a tensor, from memory."""
        if not isinstance(x.type, ir.RankedTensorType):
            return False
        maker = None if isinstance(x.owner, ir.Block) else x.owner.operation
        if maker is None:
            return True
        is_inner = maker in self._last and self._last[maker] == last
        return maker.name != "tensor.empty" and not is_inner


def _only_reader(op: ir.Operation) -> ir.Operation | None:
    """The op of the same block that alone uses the results of `op`, if the backend may compute both
    together; or None. Slices are inserted one by one."""
    readers = {use.owner.operation for x in op.results for use in x.uses}
    reader = readers.pop() if len(readers) == 1 else None
    if reader is None or reader.block != op.block or op.name == reader.name == _INSERTION:
        return None
    return reader


def _width(type_: ir.Type) -> int:
    """The width of a number of `type_` in bits."""
    assert isinstance(type_, ir.FloatType | ir.IntegerType)
    return type_.width


def _computed_generics(function: ir.Operation) -> Iterator[ir.Operation]:
    """The ``linalg.generic`` that read something that is not constant."""
    known = set[ir.Value]()
    for each in ops_within(function):
        if each.name.startswith(_PURE) and all(x in known for x in each.operands):
            known.update(each.results)
        elif each.name == "linalg.generic":
            yield each


def _form(op: ir.Operation, constants: _Constants) -> Iterator[object]:
    """All of the ``linalg.generic`` `op` but its scalar constants, which `constants` gets."""
    yield frozenset(op.attributes.items())
    yield from (x.type for x in op.operands)
    block = op.regions[0].blocks[0]
    numbers: dict[ir.Value, int] = {x: number for number, x in enumerate(block.arguments)}
    for each in block.operations:
        inner = each.operation
        if len(inner.regions):
            yield inner  # equal to nothing else
        types = (x.type for x in inner.results)
        yield inner.name, frozenset(inner.attributes.items()), *types
        for operand, x in enumerate(inner.operands):
            value = _scalar(x)
            if x in numbers:
                yield numbers[x]
            elif value is None or operand in _BY_VALUE.get(inner.name, ()):
                yield x if value is None else value
            else:
                yield value.type
                constants.uses.append((inner, operand, len(constants.values)))
                constants.values.append(value)
        numbers.update((x, len(numbers) + n) for n, x in enumerate(inner.results))


def _scalar(x: ir.Value) -> Any:
    """The number that `x` is, as an attribute; None unless it is a constant."""
    if isinstance(x.owner, ir.Block) or x.owner.operation.name != "arith.constant":
        return None
    value = x.owner.operation.attributes["value"]
    is_scalar = isinstance(value, ir.FloatAttr | ir.IntegerAttr)
    return value if is_scalar and not isinstance(x.type, ir.IndexType) else None
