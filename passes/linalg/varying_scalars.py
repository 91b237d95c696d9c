"""Scalars that kernels take as arguments, because kernels are equal but for them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...mlir import ir
from ..graph_to_linalg.aliasing import ops_within
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.registry import register
from .hidden_constants import HiddenConstants

MOST = 8
"""Arguments that an op gets, at most: the runtime hands over 64 words in all."""
_BY_VALUE = {
    **dict.fromkeys(("arith.divf", "arith.remf", "arith.divsi", "arith.divui"), (1,)),
    **dict.fromkeys(("arith.remsi", "arith.remui", "arith.ceildivsi", "arith.floordivsi"), (1,)),
    **dict.fromkeys(("arith.shli", "arith.shrsi", "arith.shrui"), (1,)),
    **dict.fromkeys(("math.powf", "math.fpowi", "math.ipowi"), (1,)),
}
"""Operands, by number, of ops for which the backend has faster code if it knows them."""
_PURE = ("arith.", "linalg.", "math.", "tensor.")


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
            found = _Constants()
            groups[tuple(_form(each, found))].append(found)
        hidden = HiddenConstants(op.entry_block)
        for group in groups.values():
            columns = list(zip(*(each.values for each in group), strict=True))
            varying = {column for column in columns if len(set(column)) > 1}
            if len(varying) <= MOST:
                for each in group:
                    each.hide([column in varying for column in columns], hidden)


@dataclass
class _Constants:
    """The constants of an op, and the operands that are one of them, by number."""

    values: list[ir.Attribute] = field(default_factory=list[ir.Attribute])
    uses: list[tuple[ir.Operation, int, int]] = field(
        default_factory=list[tuple[ir.Operation, int, int]]
    )

    def hide(self, varying: Sequence[bool], hidden: HiddenConstants) -> None:
        """Replace the constants that `varying` marks."""
        for op, operand, number in self.uses:
            if varying[number]:
                op.operands[operand] = hidden[self.values[number]]


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
