"""Scalar rules of elementwise ops, by family; see `scalar_rules`."""

import functools
import math as pymath
from collections.abc import Callable, Sequence

import numpy as np

from ...dialects import graph
from ...mlir import arith, ir, math
from ..kernels import scalar_functions
from ..kernels.error_function import erf, rounded_erf
from ..kernels.scalar_functions import element_of, integer_like, like, with_element
from . import bfloat16
from .conversion import convert_scalar
from .lowering import plain_element, scalar_constant
from .scalar_rules import (
    IN_F64,
    INTEGERS,
    NOT_F32,
    NUMBERS,
    UNMEASURED,
    Scalar,
    ScalarRule,
    scalar_rule,
)


def _operand_dtype(op: graph.GraphOp) -> np.dtype:
    return graph.element_dtype_of(op.operation.operands[0])


# Floats. Functions that no target computes in 16 bits run in f32.


def _in_f32(function: Callable[..., Scalar]) -> ScalarRule:
    def rule(op: graph.GraphOp, *operands: Scalar) -> Scalar:
        return _computed_in_f32(lambda *wide: function(op, *wide), operands)

    return rule


def _computed_in_f32(function: Callable[..., Scalar], operands: Sequence[Scalar]) -> Scalar:
    """`function` of `operands`, computed in f32 and rounded if these have 16 bits."""
    narrow = element_of(operands[0])
    if not isinstance(narrow, ir.F16Type | ir.BF16Type):
        return function(*operands)
    f32 = with_element(operands[0], ir.F32Type.get())
    result = function(*[arith.extf(f32, x) for x in operands])
    if isinstance(narrow, ir.BF16Type):
        return bfloat16.narrowed(result, computed=True)
    return arith.truncf(operands[0].type, result)


def _float(
    op_class: type[graph.GraphOp],
    function: Callable[[Scalar], Scalar],
    vector: graph.Fact = True,
) -> None:
    scalar_rule(op_class, vector=vector)(_in_f32(lambda op, x: function(x)))


_float(graph.ExpOp, math.exp)
_float(graph.LogOp, math.log)
_float(graph.SqrtOp, math.sqrt)
_float(graph.RsqrtOp, math.rsqrt)
_float(graph.SinOp, scalar_functions.sin, vector=IN_F64)
_float(graph.CosOp, scalar_functions.cos, vector=IN_F64)
_float(graph.TanOp, scalar_functions.tan, vector=IN_F64)
_float(graph.AsinOp, scalar_functions.asin, vector=UNMEASURED)
_float(graph.AcosOp, scalar_functions.acos, vector=UNMEASURED)
_float(graph.AtanOp, scalar_functions.atan, vector=UNMEASURED)
_float(graph.SinhOp, scalar_functions.sinh, vector=UNMEASURED)
_float(graph.CoshOp, scalar_functions.cosh, vector=UNMEASURED)
_float(graph.TanhOp, scalar_functions.tanh)
_float(graph.AsinhOp, scalar_functions.asinh, vector=UNMEASURED)
_float(graph.AcoshOp, scalar_functions.acosh, vector=UNMEASURED)
_float(graph.AtanhOp, scalar_functions.atanh, vector=UNMEASURED)
_float(graph.ErfOp, erf)
_float(graph.FloorOp, math.floor)
_float(graph.CeilOp, math.ceil)
_float(graph.RoundOp, scalar_functions.round_half_even)
_float(graph.ReciprocalOp, lambda x: arith.divf(like(1, x), x))


def _expm1_below_0(x: Scalar) -> Scalar:
    return scalar_functions.expm1(arith.minimumf(x, like(0, x)))


def _is(predicate: str, a: Scalar, b: Scalar) -> Scalar:
    return arith.cmpf(getattr(arith.CmpFPredicate, predicate), a, b)


_float(graph.SigmoidOp, scalar_functions.sigmoid)
_float(graph.SoftplusOp, scalar_functions.softplus)
_float(
    graph.MishOp,
    lambda x: scalar_functions.product(x, scalar_functions.tanh(scalar_functions.softplus(x))),
)
_float(graph.SoftsignOp, lambda x: arith.divf(x, arith.addf(like(1, x), math.absf(x))))


def _is_rounded(op: graph.GraphOp) -> bool:
    """Return whether `op` is in the epilogue of a bf16 matmul and its result is rounded to bf16.

    Such matmuls exist only on request; a model's own conversions to bf16 round exact values.
    """
    group = graph.graph_op(op.operation.parent)
    if not isinstance(group, graph.FusedOp) or not isinstance(group.ops[0], graph.Bf16MatmulOp):
        return False
    (result,) = op.operation.results
    casts = [graph.graph_op(use.owner) for use in result.uses]
    return bool(casts) and all(
        isinstance(cast, graph.CastOp) and cast.attrs["to"] == graph.BF16 for cast in casts
    )


@scalar_rule(graph.GeluOp, vector=True)
@_in_f32
def gelu(op, x):
    half = arith.mulf(x, like(0.5, x))
    if op.attrs["approximate"] != "tanh":
        scaled = arith.mulf(x, like(pymath.sqrt(0.5), x))
        bent = (rounded_erf if _is_rounded(op) else erf)(scaled)
        return scalar_functions.product(half, arith.addf(bent, like(1, x)))
    cube = arith.mulf(arith.mulf(x, x), x)
    inner = arith.addf(x, arith.mulf(cube, like(0.044715, x)))
    bent = scalar_functions.tanh(arith.mulf(inner, like(pymath.sqrt(2 / pymath.pi), x)))
    return scalar_functions.product(half, arith.addf(bent, like(1, x)))


@scalar_rule(graph.LeakyReluOp, vector=True)
@_in_f32
def leaky_relu(op, x):
    bent = scalar_functions.product(x, like(op.attrs["alpha"], x))
    return arith.select(_is("OLT", x, like(0, x)), bent, x)


@scalar_rule(graph.EluOp, vector=True)
@_in_f32
def elu(op, x):
    below = scalar_functions.product(like(op.attrs["alpha"], x), _expm1_below_0(x))
    return arith.select(_is("OLT", x, like(0, x)), below, x)


@scalar_rule(graph.SeluOp, vector=True)
@_in_f32
def selu(op, x):
    below = arith.mulf(like(op.attrs["alpha"], x), _expm1_below_0(x))
    both = arith.select(_is("OLE", x, like(0, x)), below, x)
    return scalar_functions.product(like(op.attrs["gamma"], x), both)


@scalar_rule(graph.CeluOp, vector=True)
@_in_f32
def celu(op, x):
    alpha, zero = like(op.attrs["alpha"], x), like(0, x)
    bent = scalar_functions.expm1(arith.divf(arith.minimumf(x, zero), alpha))
    return arith.addf(arith.maximumf(x, zero), arith.minimumf(zero, arith.mulf(alpha, bent)))


@scalar_rule(graph.SwishOp, vector=True)
@_in_f32
def swish(op, x):
    return scalar_functions.product(
        x, scalar_functions.sigmoid(arith.mulf(x, like(op.attrs["alpha"], x)))
    )


@scalar_rule(graph.HardSigmoidOp, vector=True)
@_in_f32
def hard_sigmoid(op, x):
    line = arith.addf(arith.mulf(x, like(op.attrs["alpha"], x)), like(op.attrs["beta"], x))
    return arith.minimumf(arith.maximumf(line, like(0, x)), like(1, x))


@scalar_rule(graph.ThresholdedReluOp, vector=True)
@_in_f32
def thresholded_relu(op, x):
    return arith.select(_is("OGT", x, like(op.attrs["alpha"], x)), x, like(0, x))


@scalar_rule(graph.ShrinkOp, vector=True)
@_in_f32
def shrink(op, x):
    bias, lambd = like(op.attrs["bias"], x), like(op.attrs["lambd"], x)
    above = arith.select(_is("OGT", x, lambd), arith.subf(x, bias), like(0, x))
    return arith.select(_is("OLT", x, arith.negf(lambd)), arith.addf(x, bias), above)


@scalar_rule(graph.IsNanOp, vector=NOT_F32, plain=NUMBERS)
def is_nan(op, x):
    return arith.cmpf(arith.CmpFPredicate.UNO, x, x)


@scalar_rule(graph.IsInfOp, vector=NOT_F32, plain=NUMBERS)
def is_inf(op, x):
    found = _is("AlwaysFalse", x, x)
    for asked, value in (("negative", -pymath.inf), ("positive", pymath.inf)):
        if op.attrs[asked]:
            found = arith.ori(found, _is("OEQ", x, like(value, x)))
    return found


# Numbers: a float, a signed and an unsigned form.


def _number(
    op_class: type[graph.GraphOp],
    for_float: Callable[..., Scalar],
    for_signed: Callable[..., Scalar],
    for_unsigned: Callable[..., Scalar] | None = None,
    vector: graph.Fact = True,
    any_vector: bool = False,
    plain: frozenset[np.dtype] = NUMBERS,
) -> None:
    def on_numbers(dtype: np.dtype, *operands: Scalar) -> Scalar:
        if graph.is_float(dtype):
            return for_float(*operands)
        if graph.is_unsigned(dtype) or dtype == np.bool_:
            return (for_unsigned or for_signed)(*operands)
        return for_signed(*operands)

    _number_rules[op_class] = on_numbers
    rule = scalar_rule(op_class, vector=vector, any_vector=any_vector, plain=plain)
    rule(lambda op, *operands: on_numbers(_operand_dtype(op), *operands))


_number_rules: dict[type[graph.GraphOp], ScalarRule] = {}


def apply_number_rule(op_class: type[graph.GraphOp], dtype: np.dtype, *operands: Scalar) -> Scalar:
    """Apply `op_class`, an arithmetic op without attributes, to scalars of `dtype`."""
    return _number_rules[op_class](dtype, *operands)


def multiply(dtype: np.dtype, a: Scalar, b: Scalar) -> Scalar:
    """``a * b``, rounded. (Reductions use `apply_number_rule`: their products are combined with
    nothing else, and the backend vectorises them.)"""
    return _product(a, b) if graph.is_float(dtype) else arith.muli(a, b)


def _sign_float(x: Scalar) -> Scalar:
    one, zero = like(1, x), like(0, x)
    return arith.select(_is("OGT", x, zero), one, arith.select(_is("OLT", x, zero), like(-1, x), x))


def _sign_signed(x: Scalar) -> Scalar:
    return arith.maxsi(integer_like(-1, x), arith.minsi(integer_like(1, x), x))


def _rounded(function: Callable[..., Scalar]) -> Callable[..., Scalar]:
    """`function`, rounded to bf16 for bf16 operands, which the backend would not do (`bfloat16`).

    The backend rounds f16 itself. In either case, f32 is precise enough to be rounded once more.
    """

    def call(*operands: Scalar) -> Scalar:
        if isinstance(element_of(operands[0]), ir.BF16Type):
            return _computed_in_f32(function, operands)
        return function(*operands)

    return call


_product = _rounded(scalar_functions.product)
_number(graph.AddOp, _rounded(arith.addf), arith.addi, any_vector=True)
_number(graph.SubOp, _rounded(arith.subf), arith.subi, any_vector=True)
_number(graph.MulOp, _rounded(arith.mulf), arith.muli)
_number(graph.MaxOp, arith.maximumf, arith.maxsi, arith.maxui)
_number(graph.MinOp, arith.minimumf, arith.minsi, arith.minui)
_number(graph.AbsOp, math.absf, math.absi, lambda x: x)
_number(graph.NegOp, arith.negf, lambda x: arith.subi(integer_like(0, x), x))
_number(
    graph.SignOp, _sign_float, _sign_signed, lambda x: arith.minui(integer_like(1, x), x),
    vector=UNMEASURED,
)  # fmt: skip
_number(
    graph.ReluOp,
    lambda x: arith.maximumf(x, like(0, x)),
    lambda x: arith.maxsi(x, integer_like(0, x)),
    lambda x: x,
)


def _guarded(divide: Callable[[Scalar, Scalar], Scalar], signed: bool) -> Callable[..., Scalar]:
    """Make an integer division that never traps: by 0 it gives 0, and MIN / -1 wraps to MIN."""

    def call(a: Scalar, b: Scalar) -> Scalar:
        zero, one = integer_like(0, b), integer_like(1, b)
        unsafe = arith.cmpi(arith.CmpIPredicate.eq, b, zero)
        result_for_zero = zero
        minus = None
        if signed:
            minus = arith.cmpi(arith.CmpIPredicate.eq, b, integer_like(-1, b))
            unsafe_or_minus = arith.ori(unsafe, minus)
        else:
            unsafe_or_minus = unsafe
        quotient = divide(a, arith.select(unsafe_or_minus, one, b))
        if minus is not None:
            by_minus = arith.subi(zero, a) if divide is arith.divsi else zero
            quotient = arith.select(minus, by_minus, quotient)
        return arith.select(unsafe, result_for_zero, quotient)

    return call


def _remainder(truncated: Callable[..., Scalar]) -> Callable[..., Scalar]:
    """Make a remainder with the sign of the divisor from a truncated one, as in C."""

    def call(a: Scalar, b: Scalar) -> Scalar:
        rest = truncated(a, b)
        zero = integer_like(0, b)
        differs = arith.cmpi(arith.CmpIPredicate.slt, arith.xori(rest, b), zero)
        nonzero = arith.cmpi(arith.CmpIPredicate.ne, rest, zero)
        return arith.select(arith.andi(differs, nonzero), arith.addi(rest, b), rest)

    return call


def _remainder_float(a: Scalar, b: Scalar) -> Scalar:
    rest = scalar_functions.remainder(a, b)
    zero = like(0, b)
    differs = arith.xori(_is("OLT", rest, zero), _is("OLT", b, zero))
    return arith.select(arith.andi(differs, _is("ONE", rest, zero)), arith.addf(rest, b), rest)


_number(
    graph.DivOp, _rounded(arith.divf), _guarded(arith.divsi, True), _guarded(arith.divui, False)
)
_number(
    graph.FmodOp,
    _rounded(scalar_functions.remainder),
    _guarded(arith.remsi, True),
    _guarded(arith.remui, False),
    vector=UNMEASURED,
    plain=INTEGERS,
)
_number(
    graph.ModOp,
    _rounded(_remainder_float),
    _remainder(_guarded(arith.remsi, True)),
    _guarded(arith.remui, False),
    vector=UNMEASURED,
    plain=INTEGERS,
)


scalar_rule(graph.MulOp, vector=True, any_vector=True, plain=NUMBERS)(
    lambda op, a, b: multiply(_operand_dtype(op), a, b)
)


scalar_rule(graph.FmaOp, vector=True)(lambda op, a, b, c: math.fma(a, b, c))


@scalar_rule(graph.PreluOp, vector=True, plain=NUMBERS)
def prelu(op, x, slope):
    if graph.is_float(_operand_dtype(op)):
        return arith.select(_is("OLT", x, like(0, x)), _product(x, slope), x)
    if graph.is_unsigned(_operand_dtype(op)):
        return x
    negative = arith.cmpi(arith.CmpIPredicate.slt, x, integer_like(0, x))
    return arith.select(negative, arith.muli(x, slope), x)


@scalar_rule(graph.PowOp, vector=IN_F64)
def pow_(op, a, b):
    dtype = _operand_dtype(op)
    if graph.is_float(dtype):
        return _in_f32(lambda op, a, b: scalar_functions.power(a, b))(op, a, b)
    return _integer_power(a, b, signed=not graph.is_unsigned(dtype))


def _integer_power(a: Scalar, b: Scalar, signed: bool) -> Scalar:
    """Integer power by squaring; negative powers are 0 except those of 1 and -1.

    Six squarings suffice: a larger exponent overflows, unless the base is 0, 1 or -1, for which its
    parity decides.
    """
    one, zero = integer_like(1, a), integer_like(0, a)
    parity = arith.andi(b, one)
    exponent = arith.select(
        arith.cmpi(arith.CmpIPredicate.ugt, b, integer_like(63, a)),
        arith.addi(integer_like(62, a), parity),
        b,
    )
    result, factor = one, a
    for bit in range(6):
        chosen = scalar_functions.is_bit_set(exponent, bit)
        result = arith.select(chosen, arith.muli(result, factor), result)
        factor = arith.muli(factor, factor)
    if not signed:
        return result
    unit = arith.cmpi(arith.CmpIPredicate.ule, arith.addi(a, one), integer_like(2, a))
    unit = arith.andi(unit, arith.cmpi(arith.CmpIPredicate.ne, a, zero))
    vanishes = arith.cmpi(arith.CmpIPredicate.slt, b, zero)
    vanishes = arith.andi(vanishes, arith.xori(unit, scalar_constant(True, np.dtype(np.bool_))))
    return arith.select(vanishes, zero, result)


# Comparisons and logic


def _comparison(op_class: type[graph.GraphOp], on_floats: str, on_integers: str) -> None:
    def rule(op: graph.GraphOp, a: Scalar, b: Scalar) -> Scalar:
        dtype = _operand_dtype(op)
        if graph.is_float(dtype):
            return _is(on_floats, a, b)
        unsigned = graph.is_unsigned(dtype) or dtype == np.bool_
        sign = "" if on_integers == "eq" else "u" if unsigned else "s"
        return arith.cmpi(getattr(arith.CmpIPredicate, sign + on_integers), a, b)

    scalar_rule(op_class, vector=NOT_F32, plain=NUMBERS)(rule)


_comparison(graph.EqualOp, "OEQ", "eq")
_comparison(graph.LessOp, "OLT", "lt")
_comparison(graph.LessOrEqualOp, "OLE", "le")
_comparison(graph.GreaterOp, "OGT", "gt")
_comparison(graph.GreaterOrEqualOp, "OGE", "ge")

_logic = functools.partial(scalar_rule, vector=NOT_F32, plain=NUMBERS)
_logic(graph.AndOp, graph.BitwiseAndOp)(lambda op, a, b: arith.andi(a, b))
_logic(graph.OrOp, graph.BitwiseOrOp)(lambda op, a, b: arith.ori(a, b))
_logic(graph.XorOp, graph.BitwiseXorOp)(lambda op, a, b: arith.xori(a, b))
_logic(graph.NotOp)(lambda op, x: arith.xori(x, integer_like(1, x)))
_logic(graph.BitwiseNotOp)(lambda op, x: arith.xori(x, integer_like(-1, x)))


def _shift(op: graph.GraphOp, a: Scalar, b: Scalar) -> Scalar:
    width = ir.IntegerType(element_of(a)).width
    fits = arith.cmpi(arith.CmpIPredicate.ult, b, integer_like(width, b))
    zero, last = integer_like(0, a), integer_like(width - 1, a)
    if isinstance(op, graph.ShiftLeftOp):
        return arith.select(fits, arith.shli(a, arith.select(fits, b, zero)), zero)
    if graph.is_unsigned(_operand_dtype(op)):
        return arith.select(fits, arith.shrui(a, arith.select(fits, b, zero)), zero)
    return arith.shrsi(a, arith.select(fits, b, last))


_logic(graph.ShiftLeftOp, graph.ShiftRightOp)(_shift)
_logic(graph.WhereOp, on_bits=True)(lambda op, condition, a, b: arith.select(condition, a, b))


@scalar_rule(graph.CastOp, vector=NOT_F32, on_bits=True, any_vector=True, plain=NUMBERS)
def cast(op, x):
    return convert_scalar(x, _operand_dtype(op), op.attrs["to"])


@scalar_rule(graph.CastFloat8Op, vector=NOT_F32, on_bits=True)
def cast_float8(op, x):
    attrs = op.attrs
    return convert_scalar(
        x, _operand_dtype(op), attrs["to"], attrs["saturate"], attrs["round_mode"]
    )


@scalar_rule(graph.BitCastOp, vector=NOT_F32, on_bits=True)
def bit_cast(op, x):
    source, target = _operand_dtype(op), op.attrs["to"]
    if np.dtype(np.bool_) in (source, target):
        return convert_scalar(x, source, target)
    wanted = plain_element(target)
    wanted = with_element(x, wanted)
    return x if x.type == wanted else arith.bitcast(wanted, x)
