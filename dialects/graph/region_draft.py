"""Regions that are built before the ops that hold them, and names for the sizes of results."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from ...mlir import ir
from ..symbolic import Dim
from .base import TypeRuleError, create
from .control_flow import IfOp, RegionOp, YieldAllOp, bound_names
from .types import TensorType, to_mlir

FreshName = Callable[[str], str]
"""A name for a size from a hint, unique in the program."""


class RankError(TypeRuleError):
    """A value whose rank would depend on the run; a tensor type has one rank."""


class ResultNaming:
    """Names for the sizes that results have outside a region, where `inner` names mean nothing."""

    def __init__(self, fresh: FreshName, inner: Collection[str]):
        self.fresh, self.inner = fresh, inner
        self.names: list[str] = []

    def fresh_size(self, hint: str) -> Dim:
        self.names.append(self.fresh(hint))
        return Dim.symbol(self.names[-1])

    def join(self, a: TensorType, b: TensorType, hint: str) -> TensorType:
        """The type of a value that is of type `a` or `b`."""
        if a.dtype != b.dtype:
            raise TypeRuleError(f"a value is {a} or {b}, of different element type")
        if a.rank != b.rank:
            raise RankError(f"a value is {a} or {b}, of different rank")
        sizes = enumerate(zip(a.shape, b.shape, strict=True))
        return a.with_shape(
            x if x == y and self.leaves(x) else self.fresh_size(f"{hint}_{axis}")
            for axis, (x, y) in sizes
        )

    def leave(self, type_: TensorType, hint: str) -> TensorType:
        """The type that a value of `type_` has outside."""
        return self.join(type_, type_, hint)

    def leaves(self, size: int | Dim) -> bool:
        """Return whether `size` means something outside."""
        return isinstance(size, int) or not size.symbols() & set(self.inner)


class RegionDraft:
    """An op with regions before its results are known: they follow from what the regions yield.

    The blocks are built in a stand-in, where they see the values around them, and then moved.
    """

    def __enter__(self) -> "RegionDraft":
        self._stand_in = ir.Operation.create(IfOp.OPERATION_NAME, regions=2)
        self.blocks: list[ir.Block] = []
        return self

    def __exit__(self, *_: object) -> None:
        self._stand_in.erase()

    def add_block(
        self,
        build: Callable[..., Sequence[ir.Value]],
        arguments: Sequence[TensorType] = (),
    ) -> ir.Block:
        """The block of the next region: what `build` builds on its arguments, and returns."""
        region = self._stand_in.regions[len(self.blocks)]
        locations = [ir.Location.current] * len(arguments)
        block = ir.Block.create_at_start(region, list(map(to_mlir, arguments)), locations)
        self.blocks.append(block)
        with ir.InsertionPoint(block):
            create(YieldAllOp, [list(build(*block.arguments))], {}, [])
        return block

    def inner_names(self) -> set[str]:
        """The names of sizes that are bound in the blocks."""
        return set[str]().union(*map(bound_names, self.blocks))

    def finish(
        self,
        op_class: type[RegionOp],
        operands: Sequence[Any],
        attributes: dict[str, Any],
        results: Sequence[TensorType],
    ) -> list[ir.Value]:
        """The results of an op of `op_class` that has the blocks."""
        kinds = op_class.attribute_kinds
        written = {name: kinds[name].write(value) for name, value in attributes.items()}
        made = create(op_class, operands, written, results, regions=len(self.blocks)).operation
        for region, block in zip(made.regions, self.blocks, strict=True):
            block.append_to(region)
        return list(made.results)
