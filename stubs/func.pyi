"""Types of MLIR's `func`. Written by `make stubs`; edits here are lost."""

from collections.abc import Callable, Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class CallIndirectOp(ir.OpView):
    def __init__(
        self,
        results_: Sequence[ir.Type],
        callee: ir.Value,
        callee_operands: Sequence[ir.Value],
        *,
        arg_attrs: Any = None,
        res_attrs: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def callee(self) -> ir.Value: ...
    @property
    def callee_operands(self) -> ir.OpOperandList: ...
    @property
    def arg_attrs(self) -> ir.ArrayAttr | None: ...
    @property
    def res_attrs(self) -> ir.ArrayAttr | None: ...
    @property
    def results_(self) -> ir.OpResultList: ...

def call_indirect(
    results_: Sequence[ir.Type],
    callee: ir.Value,
    callee_operands: Sequence[ir.Value],
    *,
    arg_attrs: Any = None,
    res_attrs: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | CallIndirectOp: ...

class CallOp(ir.OpView):
    def __init__(
        self,
        calleeOrResults: FuncOp | list[ir.Type],
        argumentsOrCallee: list[Any] | ir.FlatSymbolRefAttr | str,
        arguments: list[Any] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operands_(self) -> ir.OpOperandList: ...
    @property
    def callee(self) -> ir.FlatSymbolRefAttr: ...
    @property
    def arg_attrs(self) -> ir.ArrayAttr | None: ...
    @property
    def res_attrs(self) -> ir.ArrayAttr | None: ...
    @property
    def no_inline(self) -> bool: ...

def call(
    result: Sequence[ir.Type],
    callee: str | ir.FlatSymbolRefAttr,
    operands_: Sequence[ir.Value],
    *,
    arg_attrs: Any = None,
    res_attrs: Any = None,
    no_inline: bool | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult | ir.OpResultList | CallOp: ...

class ConstantOp(ir.OpView):
    def __init__(
        self, result: ir.Type, value: str | ir.FlatSymbolRefAttr, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def value(self) -> ir.FlatSymbolRefAttr: ...
    @property
    def type(self) -> ir.Type: ...

def constant(
    result: _T, value: str | ir.FlatSymbolRefAttr, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class FuncOp(ir.OpView):
    def __init__(
        self,
        name: str,
        type: ir.FunctionType | tuple[Sequence[ir.Type], Sequence[ir.Type]],
        *,
        visibility: str | None = None,
        body_builder: Callable[[FuncOp], object] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def sym_name(self) -> ir.StringAttr: ...
    @property
    def function_type(self) -> ir.TypeAttr: ...
    @property
    def sym_visibility(self) -> ir.StringAttr | None: ...
    @property
    def arg_attrs(self) -> ir.ArrayAttr: ...
    @arg_attrs.setter
    def arg_attrs(self, attribute: ir.ArrayAttr | Sequence[ir.Attribute]) -> None: ...
    @property
    def res_attrs(self) -> ir.ArrayAttr | None: ...
    @property
    def no_inline(self) -> bool: ...
    @property
    def body(self) -> ir.Region: ...
    @property
    def is_external(self) -> bool: ...
    @property
    def type(self) -> ir.FunctionType: ...
    @property
    def visibility(self) -> ir.Attribute: ...
    @property
    def name(self) -> ir.StringAttr: ...
    @property
    def entry_block(self) -> ir.Block: ...
    def add_entry_block(self, arg_locs: Sequence[ir.Location] | None = None) -> ir.Block: ...
    @property
    def arguments(self) -> ir.BlockArgumentList: ...
    @property
    def result_attrs(self) -> ir.Attribute: ...
    @result_attrs.setter
    def result_attrs(self, attribute: ir.ArrayAttr) -> None: ...
    @classmethod
    def from_py_func(
        FuncOp, *inputs: ir.Type, results: Sequence[ir.Type] | None = None, name: str | None = None
    ) -> Any: ...

class ReturnOp(ir.OpView):
    def __init__(self, operands_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> None: ...
    @property
    def operands_(self) -> ir.OpOperandList: ...

def return_(operands_: Sequence[ir.Value], **where: Unpack[ir.Where]) -> ReturnOp: ...
