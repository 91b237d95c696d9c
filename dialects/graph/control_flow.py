"""Control flow: ops whose regions run by a condition, or many times.

Regions use the values around them directly. Sizes inside may differ from run to run; a name that
is bound in a region is visible there only. Where such a size leaves a region, the op gives it a
new name: `names` lists those that the op binds, each the size of an axis of a result, or of an
argument of the region.

The ops are built by `if_` and `loop` of `regions`.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...mlir import ir
from ..symbolic import Dim
from .attributes import Size, Str, Strs
from .base import GraphOp, Results, Tensor, TensorValue, TypeRuleError, Values, graph_op
from .shapes import BindSizesOp
from .size_names import PureUnlessNamed
from .traits import ExcessPrecision, MixedPrecision
from .types import Shape, TensorType, type_of


class YieldAllOp(
    GraphOp, name="yield_all", pure=False, has_result=False, traits=[ir.IsTerminatorTrait]
):
    """Ends a region of control flow; `xs` are its results."""

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    xs: Values

    @staticmethod
    def infer(xs: Any) -> tuple[()]:
        del xs
        return ()


class RegionOp(GraphOp):
    """Base of ops that run their regions."""

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER
    purity = PureUnlessNamed

    if TYPE_CHECKING:
        names: Strs

    @property
    def bodies(self) -> list[ir.Block]:
        """The blocks of the regions, one each."""
        return [region.blocks[0] for region in self.operation.regions]

    @property
    def own_names(self) -> frozenset[str]:
        """The names of sizes that this op binds."""
        return frozenset(self.attrs["names"])


class IfOp(RegionOp, name="if"):
    """The results of `then_body` where `condition` (bool, rank 0) holds, else of `else_body`.

    From ONNX ``If``.
    """

    condition: Tensor
    names: Strs
    then_body: ir.Region
    else_body: ir.Region
    ys: Results

    def verify_op(self) -> None:
        _require_condition(type_of(self.condition))
        results = list(map(type_of, self.operation.results))
        for body in self.bodies:
            _require_matching(yielded_types(body), results, self.own_names, "a branch yields")


class LoopOp(RegionOp):
    """Base of loops: what they carry from one iteration to the next, and what they collect.

    The region has one argument per carried value. It yields the new values, then the *collected*
    ones, which the results hold stacked along a new first axis.
    """

    if TYPE_CHECKING:
        carried: Values
        count: Size
        index: Str

    @property
    def initial(self) -> list[TensorValue]:
        """The carried values before the first iteration."""
        return self.carried

    @property
    def body(self) -> ir.Block:
        return self.bodies[0]

    @property
    def yielded(self) -> tuple[list[ir.Value], list[ir.Value]]:
        """Inside the region: the new carried values, and the collected ones."""
        values = list(terminator(self.body).operands)[self.leading :]
        return values[: len(self.initial)], values[len(self.initial) :]

    leading = 0
    """The number of values that the region yields before the carried ones."""

    def first_sizes(self) -> list[Shape]:
        """The sizes that collected values have if an iteration gets the initial values.

        Results have these sizes if there is no iteration. A size that only the region determines,
        or that depends on the iteration number, keeps its name.
        """
        initial = [size for value in self.initial for size in type_of(value).shape]
        received = [size for value in self.body.arguments for size in type_of(value).shape]
        names = {str(have): size for have, size in zip(received, initial, strict=True)}
        own = {name: size for name, size in names.items() if name in self.own_names}
        return [
            tuple(self._first_size(size, own) for size in type_of(value).shape)
            for value in self.yielded[1]
        ]

    def _first_size(self, size: int | Dim, own: Mapping[str, int | Dim]) -> int | Dim:
        if isinstance(size, int) or self.attrs["index"] in size.symbols():
            return size
        return size.evaluate(own)

    def verify_op(self) -> None:
        initial = list(map(type_of, self.initial))
        arguments = list(map(type_of, self.body.arguments))
        carried, collected = (list(map(type_of, group)) for group in self.yielded)
        results = list(map(type_of, self.operation.results))
        own = self.own_names
        _require_matching(initial, arguments, own, "the loop starts with")
        _require_matching(carried, arguments, own, "an iteration yields")
        _require_matching(arguments, results[: len(initial)], own, "an iteration receives")
        count = self.attrs["count"]
        stacked = [t.with_shape((count, *t.shape)) for t in collected]
        _require_matching(stacked, results[len(initial) :], own, "the loop collects")


class ForOp(LoopOp, name="for"):
    """`count` iterations of `body`; in it, the size `index` is the number of the iteration.

    From ONNX ``Scan``, and from ``Loop`` where its condition never ends it.
    """

    carried: Values
    count: Size
    index: Str
    names: Strs
    region: ir.Region
    ys: Results


class WhileOp(LoopOp, name="while"):
    """Iterations of `body` while a condition holds, `count` of them at most.

    `condition` (bool, rank 0) is that of the first iteration; the region yields the next one
    before all else. From ONNX ``Loop``.
    """

    condition: Tensor
    carried: Values
    count: Size
    index: Str
    names: Strs
    region: ir.Region
    ys: Results

    leading = 1

    def verify_op(self) -> None:
        _require_condition(type_of(self.condition))
        _require_condition(yielded_types(self.body)[0])
        super().verify_op()


def terminator(block: ir.Block) -> Any:
    """The last op of `block`."""
    return block.operations[len(block.operations) - 1].operation


def yielded_types(block: ir.Block) -> list[TensorType]:
    """The types of what `block` yields."""
    return list(map(type_of, terminator(block).operands))


def bound_names(block: ir.Block) -> set[str]:
    """The names of sizes that are bound in `block` or within its ops."""
    names: set[str] = set()
    for operation in block.operations:
        op = graph_op(operation)
        if isinstance(op, BindSizesOp | RegionOp):
            names |= set(op.attrs["names"])
        if isinstance(op, LoopOp):
            names.add(op.attrs["index"])
        for region in operation.operation.regions:
            for inner in region.blocks:
                names |= bound_names(inner)
    return names


def _require_condition(type_: TensorType) -> None:
    if type_.rank or type_.dtype != np.bool_:
        raise TypeRuleError(f"a condition is one bool, not {type_}")


def _require_matching(
    given: Sequence[TensorType], wanted: Sequence[TensorType], own: frozenset[str], what: str
) -> None:
    """Raise TypeRuleError unless types agree, but for sizes that the op names."""
    if len(given) != len(wanted):
        raise TypeRuleError(f"{what} {len(given)} values where there are {len(wanted)}")
    for have, want in zip(given, wanted, strict=True):
        fits = have.dtype == want.dtype and have.rank == want.rank
        fits = fits and all(
            a == b or str(b) in own for a, b in zip(have.shape, want.shape, strict=True)
        )
        if not fits:
            raise TypeRuleError(f"{what} {have} where {want} is wanted")
