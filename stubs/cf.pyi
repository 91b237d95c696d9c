"""Types of MLIR's `cf`. Written by `make stubs`; edits here are lost."""

from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class AssertOp(ir.OpView):
    def __init__(
        self, arg: ir.Value, msg: str | ir.StringAttr, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def arg(self) -> ir.Value[ir.IntegerType]: ...
    @property
    def msg(self) -> ir.StringAttr: ...

def assert_(arg: ir.Value, msg: str | ir.StringAttr, **where: Unpack[ir.Where]) -> AssertOp: ...

class BranchOp(ir.OpView):
    def __init__(
        self, destOperands: Sequence[ir.Value], dest: ir.Block, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def destOperands(self) -> ir.OpOperandList: ...

def br(
    dest_operands: Sequence[ir.Value], dest: ir.Block, **where: Unpack[ir.Where]
) -> BranchOp: ...

class CondBranchOp(ir.OpView):
    def __init__(
        self,
        condition: ir.Value,
        trueDestOperands: Sequence[ir.Value],
        falseDestOperands: Sequence[ir.Value],
        trueDest: ir.Block,
        falseDest: ir.Block,
        *,
        branch_weights: Sequence[int] | ir.DenseI32ArrayAttr | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def condition(self) -> ir.Value[ir.IntegerType]: ...
    @property
    def trueDestOperands(self) -> ir.OpOperandList: ...
    @property
    def falseDestOperands(self) -> ir.OpOperandList: ...
    @property
    def branch_weights(self) -> ir.DenseI32ArrayAttr | None: ...

def cond_br(
    condition: ir.Value,
    true_dest_operands: Sequence[ir.Value],
    false_dest_operands: Sequence[ir.Value],
    true_dest: ir.Block,
    false_dest: ir.Block,
    *,
    branch_weights: Sequence[int] | ir.DenseI32ArrayAttr | None = None,
    **where: Unpack[ir.Where],
) -> CondBranchOp: ...

class SwitchOp(ir.OpView):
    def __init__(
        self,
        flag: ir.Value,
        defaultOperands: Sequence[ir.Value],
        caseOperands: Sequence[ir.Value],
        case_operand_segments: Sequence[int] | ir.DenseI32ArrayAttr,
        defaultDestination: ir.Block,
        caseDestinations: Sequence[ir.Block],
        *,
        case_values: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def flag(self) -> ir.Value[ir.IntegerType]: ...
    @property
    def defaultOperands(self) -> ir.OpOperandList: ...
    @property
    def caseOperands(self) -> ir.OpOperandList: ...
    @property
    def case_values(self) -> ir.DenseIntElementsAttr | None: ...
    @property
    def case_operand_segments(self) -> ir.DenseI32ArrayAttr: ...

def switch(
    flag: ir.Value,
    default_operands: Sequence[ir.Value],
    case_operands: Sequence[ir.Value],
    case_operand_segments: Sequence[int] | ir.DenseI32ArrayAttr,
    default_destination: ir.Block,
    case_destinations: Sequence[ir.Block],
    *,
    case_values: Any = None,
    **where: Unpack[ir.Where],
) -> SwitchOp: ...
