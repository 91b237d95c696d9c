"""Types of MLIR's `llvm`, in so far as graphc uses it."""

from collections.abc import Sequence
from typing import TypeVar, Unpack, overload

from . import ir

_T = TypeVar("_T", bound=ir.Type)

@overload
def call_intrinsic(
    results_: None,
    intrin: str | ir.StringAttr,
    args: Sequence[ir.Value],
    op_bundle_operands: Sequence[ir.Value],
    op_bundle_sizes: Sequence[int] | ir.DenseI32ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpView: ...
@overload
def call_intrinsic(
    results_: _T,
    intrin: str | ir.StringAttr,
    args: Sequence[ir.Value],
    op_bundle_operands: Sequence[ir.Value],
    op_bundle_sizes: Sequence[int] | ir.DenseI32ArrayAttr,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...
def extractvalue(
    res: _T, container: ir.Value, position: ir.DenseI64ArrayAttr, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...
@overload
def inline_asm(
    res: None,
    operands_: Sequence[ir.Value],
    asm_string: str | ir.StringAttr,
    constraints: str | ir.StringAttr,
    *,
    has_side_effects: bool | None = None,
    is_align_stack: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpView: ...
@overload
def inline_asm(
    res: _T,
    operands_: Sequence[ir.Value],
    asm_string: str | ir.StringAttr,
    constraints: str | ir.StringAttr,
    *,
    has_side_effects: bool | None = None,
    is_align_stack: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...
def inttoptr(res: _T, arg: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...
