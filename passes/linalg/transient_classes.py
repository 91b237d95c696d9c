"""Transients of similar sizes that are known only at run time in size classes."""

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects.iree.dispatches import Dispatch, each_dispatch
from ...dialects.locations import node_name
from ...mlir import arith, ir
from ..analysis.size_classes import LARGE, USUAL, size_classes
from ..graph_to_linalg.buffer_views import bytes_of
from ..graph_to_linalg.dispatch import VIEWS
from ..infra.base import MODULE, Pass, PassState
from ..infra.registry import register

_DYNAMIC = ir.ShapedType.get_dynamic_size()


@register
@dataclass(frozen=True)
class TransientSizeClasses(Pass):
    """Give transients of similar dynamic sizes one size, so that the backend reuses their memory.

    %1 = flow.dispatch @a(%0) : (tensor<?x8xf32>{%n}) -> tensor<?x8xf32>{%n}
    %2 = flow.dispatch @b(%1) : (tensor<?x8xf32>{%n}) -> tensor<?x6xf32>{%n}
    -->
    %size = arith.maxui %n * 32, %n * 24
    %1 = flow.dispatch @a(%0) : (tensor<?x8xf32>{%n}) -> tensor<?xi8>{%size}
    %2 = flow.tensor.bitcast %1 : tensor<?xi8>{%size} -> tensor<?x8xf32>{%n}
    ...

    The backend packs what is not alive at the same time into the same memory only if the sizes are
    the same value (`packDynamicSlicesConservatively` of LayoutSlices.cpp), so that each layer of a
    network writes to memory of its own, which no cache holds. A kernel takes its sizes as scalars,
    and writes to the front of what it is given. A class has transients whose sizes are within a
    factor of four of one another at several sizes of the inputs.
    """

    name = "transient-size-classes"
    anchor = MODULE

    def run(self, op: Any, state: PassState) -> None:
        statistics = state.statistics(self.name)
        by_block: dict[ir.Block, list[_Transient]] = {}
        for dispatch in each_dispatch(op):
            by_block.setdefault(dispatch.op.block, []).extend(_dynamic_results(dispatch))
        for block, results in by_block.items():
            sizes, transients = _Sizes(block), list[_Transient]()
            for each in results:
                if (reason := _reason_against(each, sizes)) is None:
                    transients.append(each)
                else:
                    statistics.record_declined(node_name(each.dispatch.op), reason)
            for dispatch, larger in _enlarged(block, transients, sizes):
                statistics.record_fired(node_name(dispatch.op))
                dispatch.enlarge(larger)


def _enlarged(
    block: ir.Block, transients: Sequence["_Transient"], sizes: "_Sizes"
) -> list[tuple[Dispatch, dict[int, "_Memory"]]]:
    """The dispatches of a block some of whose results, by number, become larger, with the memory
    that they get."""
    classes = [each for each in _classes(transients, sizes) if len(_counts(each)) > 1]
    larger: dict[ir.Value, dict[int, _Memory]] = {}
    dispatches: dict[ir.Value, Dispatch] = {}
    with ir.InsertionPoint.at_block_begin(block):
        for members in classes:
            memory = _largest(members, sizes)
            for each in members:
                first = each.dispatch.op.results[0]
                dispatches[first] = each.dispatch
                larger.setdefault(first, {})[each.number] = memory
    return [(dispatches[first], numbers) for first, numbers in larger.items()]


_Memory = tuple[ir.Type, ir.Value]
"""Elements, of another type than those of what is stored there, and how many."""


@dataclass(frozen=True)
class _Transient:
    """A result of a kernel that is an intermediate result of a block, with its dynamic sizes."""

    dispatch: Dispatch
    number: int
    """The number of the result."""
    sizes: tuple[ir.Value, ...]

    @property
    def value(self) -> ir.Value:
        return self.dispatch.op.results[self.number]

    @property
    def type(self) -> ir.RankedTensorType:
        return ir.RankedTensorType(self.value.type)

    @property
    def known(self) -> int:
        """The product of its static sizes."""
        return math.prod(size for size in self.type.shape if size != _DYNAMIC)


def _dynamic_results(dispatch: Dispatch) -> Iterator[_Transient]:
    """The results of a dispatch with dynamic sizes and memory of their own."""
    for number, tie in enumerate(dispatch.ties):
        if tie is None and (sizes := dispatch.sizes_of(number)):
            yield _Transient(dispatch, number, tuple(sizes))


def _reason_against(result: _Transient, sizes: "_Sizes") -> str | None:
    """The reason why a result of a kernel keeps its size, None if it may become larger."""
    if not _is_only_read(result.value):
        return "its result is handed on, or written to again"
    if not sizes.inputs_of(result.sizes):
        return "its sizes do not follow from those of arguments"
    return None


def _is_only_read(value: ir.Value) -> bool:
    """Return whether ops of the block read `value`, and none writes to it or hands it on."""
    for use in value.uses:
        op: Any = use.owner.operation
        if op.name in VIEWS:
            if not _is_only_read(op.results[0]):
                return False
        elif op.name == "flow.dispatch":
            dispatch = Dispatch(op)
            tied = [dispatch.tensor_arguments[tie] for tie in dispatch.ties if tie is not None]
            if value in tied:
                return False
        elif op.name.startswith("linalg."):
            if value in list(op.operands)[-len(op.results) :]:
                return False
        elif op.name not in _READERS:
            return False
    return True


_READERS = ("tensor.dim", "tensor.extract", "tensor.extract_slice", "tensor.pad")


class _Sizes:
    """Sizes that a block computes from those of its arguments."""

    def __init__(self, block: ir.Block):
        self._block = block
        self._known: dict[ir.Value, set[ir.Value] | None] = {}
        self._copies: dict[ir.Value, ir.Value] = {}

    def inputs_of(self, values: Sequence[ir.Value]) -> set[ir.Value]:
        """The sizes of arguments that `values` are computed from; none if one of `values` is
        computed otherwise."""
        return self._union(values) or set()

    def _inputs(self, value: ir.Value) -> set[ir.Value] | None:
        if value not in self._known:
            self._known[value] = self._new_inputs(value)
        return self._known[value]

    def _new_inputs(self, value: ir.Value) -> set[ir.Value] | None:
        op: Any = value.owner
        if isinstance(op, ir.Block) or op.operation.block != self._block:
            return None
        if op.operation.name == _DIM:
            return {value} if op.operation.operands[0].owner == self._block else None
        if op.operation.name not in (*_ARITHMETIC, _CONSTANT):
            return None
        return self._union(op.operation.operands)

    def _union(self, values: Iterable[ir.Value]) -> set[ir.Value] | None:
        found = set[ir.Value]()
        for value in values:
            inputs = self._inputs(value)
            if inputs is None:
                return None
            found |= inputs
        return found

    def samples(self, transient: _Transient, inputs: Sequence[ir.Value]) -> list[int]:
        """The number of elements of `transient` if all `inputs` are usual, and if each is large."""

        def elements(*large: ir.Value) -> int:
            known: dict[ir.Value, int] = {}
            factors = (self._evaluate(size, large, known) for size in transient.sizes)
            return transient.known * math.prod(factors)

        return [elements(), *map(elements, inputs)]

    def _evaluate(
        self, value: ir.Value, large: Sequence[ir.Value], known: dict[ir.Value, int]
    ) -> int:
        """`value` for inputs of which some are `large`; `known` holds what was evaluated before."""
        if value not in known:
            op: Any = value.owner
            if op.operation.name == _DIM:
                known[value] = LARGE if value in large else USUAL
            elif op.operation.name == _CONSTANT:
                known[value] = ir.IntegerAttr(op.operation.attributes["value"]).value
            else:
                operands = (self._evaluate(x, large, known) for x in op.operation.operands)
                known[value] = _ARITHMETIC[op.operation.name](*operands)
        return known[value]

    def product(self, known: int, factors: Sequence[ir.Value]) -> ir.Value:
        """`known` times `factors`, at the start of the block, which is the insertion point."""
        count = arith.constant(ir.IndexType.get(), known)
        for factor in factors:
            count = arith.muli(count, self._copy(factor))
        return count

    def _copy(self, value: ir.Value) -> ir.Value:
        """A copy of `value` at the insertion point."""
        if value not in self._copies:
            op: Any = value.owner
            operands = [x if x.owner == self._block else self._copy(x) for x in op.operands]
            copy = op.operation.clone()
            for number, operand in enumerate(operands):
                copy.operands[number] = operand
            self._copies[value] = copy.results[0]
        return self._copies[value]


def _quotient(a: int, b: int) -> int:
    return a // max(b, 1)


def _quotient_up(a: int, b: int) -> int:
    return -(-a // max(b, 1))


_DIM, _CONSTANT = "tensor.dim", "arith.constant"
_ARITHMETIC: Mapping[str, Callable[..., int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": _quotient,
    "arith.floordivsi": _quotient,
    "arith.ceildivui": _quotient_up,
    "arith.ceildivsi": _quotient_up,
    "arith.maxui": max,
    "arith.maxsi": max,
    "arith.minui": min,
    "arith.minsi": min,
}


def _classes(transients: Sequence[_Transient], sizes: _Sizes) -> list[list[_Transient]]:
    """The `transients` that belong together, by their elements and sizes."""
    inputs = list(dict.fromkeys(x for each in transients for x in sizes.inputs_of(each.sizes)))
    by_element: dict[ir.Type, list[_Transient]] = {}
    for each in transients:
        by_element.setdefault(each.type.element_type, []).append(each)
    return [
        [alike[number] for number in members]
        for alike in by_element.values()
        for members in size_classes([sizes.samples(each, inputs) for each in alike])
    ]


def _counts(members: Sequence[_Transient]) -> list[tuple[int, tuple[ir.Value, ...]]]:
    """The different numbers of elements of `members`, as factors."""
    return list(dict.fromkeys((each.known, each.sizes) for each in members))


def _largest(members: Sequence[_Transient], sizes: _Sizes) -> _Memory:
    """Memory for the largest of `members`, whose size is computed at the start of the block."""
    width = bytes_of(members[0].type.element_type)
    with members[0].dispatch.op.location:
        counts = [sizes.product(known * width, factors) for known, factors in _counts(members)]
        size = functools.reduce(arith.maxui, counts)
        if width > 1:
            return ir.IntegerType.get_signless(8), size
        half = arith.ceildivui(size, arith.constant(size.type, 2))
        return ir.IntegerType.get_signless(16), half
