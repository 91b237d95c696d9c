"""Groups of ops that become one kernel."""

from collections.abc import Sequence
from typing import Any

from ...mlir import ir
from .attributes import STR, Str
from .base import GraphOp, Tensor, TypeRuleError, create
from .traits import ExcessPrecision, MixedPrecision
from .types import type_of


class YieldOp(GraphOp, name="yield", pure=False, has_result=False, traits=[ir.IsTerminatorTrait]):
    """Ends a region; `x` is the region's result."""

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    x: Tensor

    @staticmethod
    def infer(x: Any) -> tuple[()]:
        del x
        return ()


class GroupOp(GraphOp):
    """Base of ops whose region holds ops that are computed together.

    The region uses the values around it directly; its last op yields the result.
    """

    amp = MixedPrecision.KEEP
    excess = ExcessPrecision.NEVER

    def verify_op(self) -> None:
        if self.yielded.type != self.operation.results[0].type:
            raise TypeRuleError("its region yields another type than its result")

    @property
    def ops(self) -> list[GraphOp]:
        """The ops of the region, in order, without its terminator."""
        views = [op.operation.opview for op in list(self._block.operations)[:-1]]
        return [view for view in views if isinstance(view, GraphOp)]

    @property
    def yielded(self) -> ir.Value:
        """The value inside the region that is the result."""
        return list(self._block.operations)[-1].operation.operands[0]

    @property
    def captured(self) -> list[ir.Value]:
        """The values from outside that the region uses, each once, in order of first use."""
        inside = {op.operation.results[0] for op in self.ops}
        used = (value for op in self.ops for value in op.operation.operands)
        return [value for value in dict.fromkeys(used) if value not in inside]

    @property
    def _block(self) -> ir.Block:
        return self.operation.regions[0].blocks[0]


class FusedOp(GroupOp, name="fused"):
    """Ops that are computed in one pass over memory.

    `kind` is ``epilogue`` (the first op is a contraction, the rest elementwise on its result),
    ``elementwise``, or ``broadcast`` (elementwise ops, and repeats of their operands).
    """

    kind: Str
    body: ir.Region

    def verify_op(self) -> None:
        super().verify_op()
        if self.attrs["kind"] not in ("epilogue", "elementwise", "broadcast"):
            raise TypeRuleError(f"kind '{self.attrs['kind']}' is unknown")


def fuse(ops: Sequence[GraphOp], *, kind: str) -> ir.Value:
    """Build a `graph.fused` of copies of `ops`, as `group` does."""
    return group(FusedOp, ops, {"kind": STR.write(kind)})


def group(
    op_class: type[GroupOp], ops: Sequence[GraphOp], attributes: dict[str, ir.Attribute]
) -> ir.Value:
    """Build a group of copies of `ops` at the current insertion point.

    `ops` are in order of definition, each with one result; the last one's is the result. Of groups
    among them, the ops within are copied. The originals stay, for the caller to erase.
    """
    last = ops[-1].operation.results[0]
    grouped = create(op_class, [], attributes, [type_of(last)], regions=1)
    block = ir.Block.create_at_start(grouped.operation.regions[0], [])
    copies: dict[ir.Value, ir.Value] = {}
    with ir.InsertionPoint(block):
        for op in ops:
            inner = op.ops if isinstance(op, GroupOp) else [op]
            for each in inner:
                _copy(each, copies)
            if isinstance(op, GroupOp):
                copies[op.operation.results[0]] = copies[op.yielded]
        with grouped.operation.location:
            create(YieldOp, [copies[last]], {}, [])
    return grouped.operation.results[0]


def _copy(op: GraphOp, copies: dict[ir.Value, ir.Value]) -> None:
    """Copy `op` to where ops are built, on the copies of its operands."""
    copy = op.operation.clone()
    for index, operand in enumerate(op.operation.operands):
        copy.operands[index] = copies.get(operand, operand)
    copies[op.operation.results[0]] = copy.results[0]
