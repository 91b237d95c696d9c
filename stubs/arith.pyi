"""Types of MLIR's `arith`. Written by `make stubs`; edits here are lost."""

import enum
from array import array as _array
from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class AddFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        roundingmode: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def result(self) -> ir.OpResult: ...

def addf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    roundingmode: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AddIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def addi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    overflow_flags: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AddUIExtendedOp(ir.OpView):
    def __init__(
        self,
        sum: ir.Type,
        overflow: ir.Type,
        lhs: ir.Value,
        rhs: ir.Value,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def sum(self) -> ir.OpResult: ...
    @property
    def overflow(self) -> ir.OpResult: ...

def addui_extended(
    sum: ir.Type, overflow: ir.Type, lhs: ir.Value, rhs: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResultList: ...

class AndIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def andi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class BitcastOp(ir.OpView):
    def __init__(self, out: ir.Type, in_: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

def bitcast(out: _T, in_: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class CeilDivSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def ceildivsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CeilDivUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def ceildivui(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CmpFOp(ir.OpView):
    def __init__(
        self,
        predicate: Any,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def predicate(self) -> ir.Attribute: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def cmpf(
    predicate: Any,
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class CmpIOp(ir.OpView):
    def __init__(
        self,
        predicate: Any,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def predicate(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def cmpi(
    predicate: Any,
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class ConstantOp(ir.OpView):
    def __init__(
        self,
        result: ir.Type,
        value: int | float | _array[Any] | ir.Attribute,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def value(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...
    @classmethod
    def create_index(cls, value: int, **where: Unpack[ir.Where]) -> ConstantOp: ...
    @property
    def type(self) -> ir.Type: ...
    @property
    def literal_value(self) -> int | float: ...

def constant(
    result: _T, value: int | float | _array[Any] | ir.Attribute, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class ConvertFOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        roundingmode: Any = None,
        fastmath: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @property
    def out(self) -> ir.OpResult: ...

def convertf(
    out: _T,
    in_: ir.Value,
    *,
    roundingmode: Any = None,
    fastmath: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class DivFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        roundingmode: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def result(self) -> ir.OpResult: ...

def divf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    roundingmode: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class DivSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        isExact: bool | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def isExact(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult: ...

def divsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    is_exact: bool | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class DivUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        isExact: bool | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def isExact(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult: ...

def divui(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    is_exact: bool | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ExtFOp(ir.OpView):
    def __init__(
        self, out: ir.Type, in_: ir.Value, *, fastmath: Any = None, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @property
    def out(self) -> ir.OpResult: ...

def extf(
    out: _T, in_: ir.Value, *, fastmath: Any = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class ExtSIOp(ir.OpView):
    def __init__(self, out: ir.Type, in_: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

def extsi(out: _T, in_: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class ExtUIOp(ir.OpView):
    def __init__(
        self, out: ir.Type, in_: ir.Value, *, nonNeg: bool | None = None, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def nonNeg(self) -> bool: ...
    @property
    def out(self) -> ir.OpResult: ...

def extui(
    out: _T, in_: ir.Value, *, non_neg: bool | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class FPToSIOp(ir.OpView):
    def __init__(self, out: ir.Type, in_: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

def fptosi(out: _T, in_: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class FPToUIOp(ir.OpView):
    def __init__(self, out: ir.Type, in_: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

def fptoui(out: _T, in_: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class FloorDivSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def floordivsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class FlushDenormalsOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def flush_denormals(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class IndexCastOp(ir.OpView):
    def __init__(self, out: ir.Type, in_: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

def index_cast(out: _T, in_: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class IndexCastUIOp(ir.OpView):
    def __init__(
        self, out: ir.Type, in_: ir.Value, *, nonNeg: bool | None = None, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def nonNeg(self) -> bool: ...
    @property
    def out(self) -> ir.OpResult: ...

def index_castui(
    out: _T, in_: ir.Value, *, non_neg: bool | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class MaxNumFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def maxnumf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MaxSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def maxsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MaxUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def maxui(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MaximumFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def maximumf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MinNumFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def minnumf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MinSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def minsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MinUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def minui(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MinimumFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def minimumf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MulFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        roundingmode: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def result(self) -> ir.OpResult: ...

def mulf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    roundingmode: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MulIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def muli(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    overflow_flags: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class MulSIExtendedOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def low(self) -> ir.OpResult: ...
    @property
    def high(self) -> ir.OpResult: ...

def mulsi_extended(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResultList: ...

class MulUIExtendedOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def low(self) -> ir.OpResult: ...
    @property
    def high(self) -> ir.OpResult: ...

def mului_extended(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResultList: ...

class NegFOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def negf(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class OrIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def ori(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class RemFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def remf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class RemSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def remsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class RemUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def remui(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SIToFPOp(ir.OpView):
    def __init__(self, out: ir.Type, in_: ir.Value, **where: Unpack[ir.Where]) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def out(self) -> ir.OpResult: ...

def sitofp(out: _T, in_: ir.Value, **where: Unpack[ir.Where]) -> ir.OpResult[_T]: ...

class ScalingExtFOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        scale: ir.Value,
        *,
        fastmath: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def scale(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @property
    def out(self) -> ir.OpResult: ...

def scaling_extf(
    out: _T, in_: ir.Value, scale: ir.Value, *, fastmath: Any = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class ScalingTruncFOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        scale: ir.Value,
        *,
        roundingmode: Any = None,
        fastmath: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def scale(self) -> ir.Value: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @property
    def out(self) -> ir.OpResult: ...

def scaling_truncf(
    out: _T,
    in_: ir.Value,
    scale: ir.Value,
    *,
    roundingmode: Any = None,
    fastmath: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ShLIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def shli(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    overflow_flags: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ShRSIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        isExact: bool | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def isExact(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult: ...

def shrsi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    is_exact: bool | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ShRUIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        isExact: bool | None = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def isExact(self) -> bool: ...
    @property
    def result(self) -> ir.OpResult: ...

def shrui(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    is_exact: bool | None = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SubFOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        fastmath: Any = None,
        roundingmode: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def result(self) -> ir.OpResult: ...

def subf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    roundingmode: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SubIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        overflowFlags: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def subi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    overflow_flags: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SubUIExtendedOp(ir.OpView):
    def __init__(
        self,
        diff: ir.Type,
        borrow: ir.Type,
        lhs: ir.Value,
        rhs: ir.Value,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def diff(self) -> ir.OpResult: ...
    @property
    def borrow(self) -> ir.OpResult: ...

def subui_extended(
    diff: ir.Type, borrow: ir.Type, lhs: ir.Value, rhs: ir.Value, **where: Unpack[ir.Where]
) -> ir.OpResultList: ...

class TruncFOp(ir.OpView):
    def __init__(
        self,
        out: ir.Type,
        in_: ir.Value,
        *,
        roundingmode: Any = None,
        fastmath: Any = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def fastmath(self) -> ir.Attribute | None: ...
    @property
    def out(self) -> ir.OpResult: ...

def truncf(
    out: _T,
    in_: ir.Value,
    *,
    roundingmode: Any = None,
    fastmath: Any = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class TruncIOp(ir.OpView):
    def __init__(
        self, out: ir.Type, in_: ir.Value, *, overflowFlags: Any = None, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def overflowFlags(self) -> ir.Attribute: ...
    @property
    def out(self) -> ir.OpResult: ...

def trunci(
    out: _T, in_: ir.Value, *, overflow_flags: Any = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class UIToFPOp(ir.OpView):
    def __init__(
        self, out: ir.Type, in_: ir.Value, *, nonNeg: bool | None = None, **where: Unpack[ir.Where]
    ) -> None: ...
    @property
    def in_(self) -> ir.Value: ...
    @property
    def nonNeg(self) -> bool: ...
    @property
    def out(self) -> ir.OpResult: ...

def uitofp(
    out: _T, in_: ir.Value, *, non_neg: bool | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class XOrIOp(ir.OpView):
    def __init__(
        self,
        lhs: ir.Value,
        rhs: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def lhs(self) -> ir.Value: ...
    @property
    def rhs(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def xori(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SelectOp(ir.OpView):
    def __init__(
        self,
        condition: ir.Value,
        true_value: ir.Value,
        false_value: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def condition(self) -> ir.Value: ...
    @property
    def true_value(self) -> ir.Value: ...
    @property
    def false_value(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def select(
    condition: ir.Value,
    true_value: ir.Value[_T],
    false_value: ir.Value[_T],
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CmpFPredicate(enum.IntEnum):
    AlwaysFalse = 0
    OEQ = 1
    OGT = 2
    OGE = 3
    OLT = 4
    OLE = 5
    ONE = 6
    ORD = 7
    UEQ = 8
    UGT = 9
    UGE = 10
    ULT = 11
    ULE = 12
    UNE = 13
    UNO = 14
    AlwaysTrue = 15

class CmpIPredicate(enum.IntEnum):
    eq = 0
    ne = 1
    slt = 2
    sle = 3
    sgt = 4
    sge = 5
    ult = 6
    ule = 7
    ugt = 8
    uge = 9

class IntegerOverflowFlags(enum.IntFlag):
    nsw = 1
    nuw = 2

class RoundingMode(enum.IntEnum):
    to_nearest_even = 0
    downward = 1
    upward = 2
    toward_zero = 3
    to_nearest_away = 4

class AtomicRMWKind(enum.IntEnum):
    addf = 0
    addi = 1
    andi = 2
    assign = 3
    maximumf = 4
    maxnumf = 5
    maxs = 6
    maxu = 7
    minimumf = 8
    minnumf = 9
    mins = 10
    minu = 11
    mulf = 12
    muli = 13
    ori = 14
    xori = 15

class FastMathFlags(enum.IntFlag):
    reassoc = 1
    nnan = 2
    ninf = 4
    nsz = 8
    arcp = 16
    contract = 32
    afn = 64
