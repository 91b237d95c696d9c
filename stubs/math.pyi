"""Types of MLIR's `math`. Written by `make stubs`; edits here are lost."""

from collections.abc import Sequence
from typing import Any, Unpack

from typing_extensions import TypeVar

from . import ir

_T = TypeVar("_T", bound=ir.Type)

class AbsFOp(ir.OpView):
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

def absf(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AbsIOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def absi(
    operand: ir.Value[_T], *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class AcosOp(ir.OpView):
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

def acos(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AcoshOp(ir.OpView):
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

def acosh(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AsinOp(ir.OpView):
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

def asin(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AsinhOp(ir.OpView):
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

def asinh(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class Atan2Op(ir.OpView):
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

def atan2(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AtanOp(ir.OpView):
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

def atan(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class AtanhOp(ir.OpView):
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

def atanh(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CbrtOp(ir.OpView):
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

def cbrt(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CeilOp(ir.OpView):
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

def ceil(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ClampFOp(ir.OpView):
    def __init__(
        self,
        value: ir.Value,
        min: ir.Value,
        max: ir.Value,
        *,
        fastmath: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def value(self) -> ir.Value: ...
    @property
    def min(self) -> ir.Value: ...
    @property
    def max(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def result(self) -> ir.OpResult: ...

def clampf(
    value: ir.Value[_T],
    min: ir.Value,
    max: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CopySignOp(ir.OpView):
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

def copysign(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CosOp(ir.OpView):
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

def cos(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CoshOp(ir.OpView):
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

def cosh(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class CountLeadingZerosOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def ctlz(
    operand: ir.Value[_T], *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class CountTrailingZerosOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def cttz(
    operand: ir.Value[_T], *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class CtPopOp(ir.OpView):
    def __init__(
        self,
        operand: ir.Value,
        *,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def operand(self) -> ir.Value: ...
    @property
    def result(self) -> ir.OpResult: ...

def ctpop(
    operand: ir.Value[_T], *, results: Sequence[ir.Type] | None = None, **where: Unpack[ir.Where]
) -> ir.OpResult[_T]: ...

class ErfOp(ir.OpView):
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

def erf(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ErfcOp(ir.OpView):
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

def erfc(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class Exp2Op(ir.OpView):
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

def exp2(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ExpM1Op(ir.OpView):
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

def expm1(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class ExpOp(ir.OpView):
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

def exp(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class FPowIOp(ir.OpView):
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

def fpowi(
    lhs: ir.Value,
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class FloorOp(ir.OpView):
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

def floor(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class FmaOp(ir.OpView):
    def __init__(
        self,
        a: ir.Value,
        b: ir.Value,
        c: ir.Value,
        *,
        fastmath: Any = None,
        roundingmode: Any = None,
        results: Sequence[ir.Type] | None = None,
        **where: Unpack[ir.Where],
    ) -> None: ...
    @property
    def a(self) -> ir.Value: ...
    @property
    def b(self) -> ir.Value: ...
    @property
    def c(self) -> ir.Value: ...
    @property
    def fastmath(self) -> ir.Attribute: ...
    @property
    def roundingmode(self) -> ir.Attribute | None: ...
    @property
    def result(self) -> ir.OpResult: ...

def fma(
    a: ir.Value[_T],
    b: ir.Value,
    c: ir.Value,
    *,
    fastmath: Any = None,
    roundingmode: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class IPowIOp(ir.OpView):
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

def ipowi(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class IsFiniteOp(ir.OpView):
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

def isfinite(
    operand: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class IsInfOp(ir.OpView):
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

def isinf(
    operand: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class IsNaNOp(ir.OpView):
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

def isnan(
    operand: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class IsNormalOp(ir.OpView):
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

def isnormal(
    operand: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult: ...

class Log1pOp(ir.OpView):
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

def log1p(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class Log2Op(ir.OpView):
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

def log2(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class Log10Op(ir.OpView):
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

def log10(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class LogOp(ir.OpView):
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

def log(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class PowFOp(ir.OpView):
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

def powf(
    lhs: ir.Value[_T],
    rhs: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class RoundEvenOp(ir.OpView):
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

def roundeven(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class RoundOp(ir.OpView):
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

def round(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class RsqrtOp(ir.OpView):
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

def rsqrt(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SinOp(ir.OpView):
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

def sin(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SincosOp(ir.OpView):
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
    def sin(self) -> ir.OpResult: ...
    @property
    def cos(self) -> ir.OpResult: ...

def sincos(
    operand: ir.Value,
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResultList: ...

class SinhOp(ir.OpView):
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

def sinh(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class SqrtOp(ir.OpView):
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

def sqrt(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class TanOp(ir.OpView):
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

def tan(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class TanhOp(ir.OpView):
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

def tanh(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...

class TruncOp(ir.OpView):
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

def trunc(
    operand: ir.Value[_T],
    *,
    fastmath: Any = None,
    results: Sequence[ir.Type] | None = None,
    **where: Unpack[ir.Where],
) -> ir.OpResult[_T]: ...
