"""Elementwise ops: one result element from the operands' elements at the same position.

Binary ops, comparisons and `where` broadcast as numpy does. Arithmetic needs equal element
types; the frontend casts where ONNX allows otherwise.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, Protocol

import numpy as np

from ...mlir import ir
from ..symbolic import Dim, broadcast
from .attributes import Bool, Float, Str
from .base import GraphOp, Tensor, TensorValue, TypeRuleError, builder
from .error_function import erf_array
from .shape_constraints import require_broadcast
from .traits import ExcessPrecision, MixedPrecision
from .types import Shape, TensorType, is_float, is_integer

_FOLLOW, _KEEP = MixedPrecision.FOLLOW, MixedPrecision.KEEP
_DECIDES: dict[str, Any] = {"amp": _KEEP, "excess": ExcessPrecision.NEVER}


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The numpy broadcast of `shapes`, symbolic sizes included. TypeRuleError if there is none."""
    rank = max(map(len, shapes), default=0)
    result: list[int | Dim] = [1] * rank
    for shape in shapes:
        for axis, size in enumerate(shape, start=rank - len(shape)):
            require_broadcast(result[axis], size)
            try:
                result[axis] = broadcast(result[axis], size)
            except ValueError:
                listing = " and ".join(f"[{', '.join(map(str, s))}]" for s in shapes)
                raise TypeRuleError(f"shapes {listing} do not broadcast") from None
    return tuple(result)


def require_float(type_: TensorType) -> None:
    if not is_float(type_.dtype):
        raise TypeRuleError(f"needs a floating-point operand, not {type_.dtype}")


def require_number(type_: TensorType) -> None:
    if not is_float(type_.dtype) and not is_integer(type_.dtype):
        raise TypeRuleError(f"needs a numeric operand, not {type_.dtype}")


def require_integer(type_: TensorType) -> None:
    if not is_integer(type_.dtype):
        raise TypeRuleError(f"needs an integer operand, not {type_.dtype}")


def require_bool(type_: TensorType) -> None:
    if type_.dtype != np.bool_:
        raise TypeRuleError(f"needs a boolean operand, not {type_.dtype}")


def require_any(type_: TensorType) -> None:
    del type_


class ElementwiseOp(GraphOp):
    """Base of the ops that compute each element from the operands' elements at its position."""


class UnaryOp(ElementwiseOp):
    """Base of ops from one tensor to one of the same shape."""

    if TYPE_CHECKING:
        x: Tensor

    requirement = staticmethod(require_float)
    result_dtype = None

    @classmethod
    def infer(cls, x: TensorType, **attrs: Any) -> TensorType:
        del attrs
        cls.requirement(x)
        return x if cls.result_dtype is None else x.with_dtype(cls.result_dtype)


class BinaryOp(ElementwiseOp):
    """Base of broadcasting ops from two tensors of one element type."""

    if TYPE_CHECKING:
        a: Tensor
        b: Tensor

    requirement = staticmethod(require_number)
    result_dtype = None
    commutative = False

    @classmethod
    def infer(cls, a: TensorType, b: TensorType, **attrs: Any) -> TensorType:
        del attrs
        cls.requirement(a)
        if a.dtype != b.dtype:
            raise TypeRuleError(f"operands have element types {a.dtype} and {b.dtype}")
        dtype = a.dtype if cls.result_dtype is None else np.dtype(cls.result_dtype)
        return TensorType(broadcast_shapes(a.shape, b.shape), dtype)


UnaryMeaning = Callable[Concatenate[np.ndarray, ...], np.ndarray]
"""A function of an array, and of attributes."""

BinaryMeaning = Callable[Concatenate[np.ndarray, np.ndarray, ...], np.ndarray]
"""A function of two arrays, and of attributes."""


class UnaryBuilder(Protocol):
    def __call__(self, x: ir.Value, /, **attrs: Any) -> TensorValue: ...


class BinaryBuilder(Protocol):
    def __call__(self, a: ir.Value, b: ir.Value, /, **attrs: Any) -> TensorValue: ...


_CLASS_FIELDS = ("amp", "commutative", "excess", "requirement", "result_dtype")


def _define(
    base: type[GraphOp], name: str, meaning: Callable[..., np.ndarray], doc: str, **fields: Any
) -> Any:
    """An op class of `base` named `name` whose numpy meaning is `meaning`, and its builder.

    Keyword arguments are attribute kinds, or class fields (`_CLASS_FIELDS`).
    """
    operands = ("x",) if base is UnaryOp else ("a", "b")
    kinds = {key: kind for key, kind in fields.items() if key not in _CLASS_FIELDS}
    body: dict[str, Any] = {
        "__doc__": doc,
        "__module__": __name__,
        "__annotations__": {**dict.fromkeys(operands, Tensor), **kinds},
        "evaluate": staticmethod(meaning),
        **{key: value for key, value in fields.items() if key in _CLASS_FIELDS},
    }
    if "requirement" in fields:
        body["requirement"] = staticmethod(fields["requirement"])
    class_name = "".join(part.capitalize() for part in name.split("_")) + "Op"
    metaclass: Any = type(base)
    op_class = metaclass(class_name, (base,), body, name=name)
    return op_class, builder(op_class)


def unary(
    name: str, meaning: UnaryMeaning, doc: str, **fields: Any
) -> tuple[type[UnaryOp], UnaryBuilder]:
    """Define a unary op: class and builder. Keyword arguments declare its attributes."""
    return _define(UnaryOp, name, meaning, doc, **fields)


def binary(
    name: str, meaning: BinaryMeaning, doc: str, **fields: Any
) -> tuple[type[BinaryOp], BinaryBuilder]:
    """Define a broadcasting binary op: class and builder."""
    return _define(BinaryOp, name, meaning, doc, **fields)


def _wide(function: UnaryMeaning) -> UnaryMeaning:
    """Run `function` in at least f32: numpy has no transcendental functions for small floats."""

    def call(x: np.ndarray, *rest: Any, **attrs: Any) -> np.ndarray:
        if x.dtype in (np.dtype(np.float32), np.dtype(np.float64)):
            return function(x, *rest, **attrs)
        wide = [array.astype(np.float32) for array in (x, *rest)]
        return function(*wide, **attrs).astype(x.dtype)

    return call


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.where(
        x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x)))
    )


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _gelu(x: np.ndarray, *, approximate: str) -> np.ndarray:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + erf_array(x / np.sqrt(2)))


def _leaky_relu(x: np.ndarray, *, alpha: float) -> np.ndarray:
    return np.where(x < 0, alpha * x, x)


def _elu(x: np.ndarray, *, alpha: float) -> np.ndarray:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _selu(x: np.ndarray, *, alpha: float, gamma: float) -> np.ndarray:
    return gamma * np.where(x <= 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _celu(x: np.ndarray, *, alpha: float) -> np.ndarray:
    return np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(np.minimum(x, 0) / alpha))


def _swish(x: np.ndarray, *, alpha: float) -> np.ndarray:
    return x * _sigmoid(alpha * x)


def _hard_sigmoid(x: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    return np.clip(alpha * x + beta, 0, 1)


def _thresholded_relu(x: np.ndarray, *, alpha: float) -> np.ndarray:
    return np.where(x > alpha, x, 0)


def _shrink(x: np.ndarray, *, bias: float, lambd: float) -> np.ndarray:
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0))


def _is_inf(x: np.ndarray, *, negative: bool, positive: bool) -> np.ndarray:
    wide = x.astype(np.float32)
    return (np.isneginf(wide) & negative) | (np.isposinf(wide) & positive)


AbsOp, abs_ = unary("abs", np.abs, "``|x|``.", requirement=require_number, amp=_FOLLOW)
NegOp, neg = unary("neg", np.negative, "``-x``.", requirement=require_number, amp=_FOLLOW)
SignOp, sign = unary("sign", np.sign, "-1, 0 or 1.", requirement=require_number, **_DECIDES)
ExpOp, exp = unary("exp", _wide(np.exp), "Natural exponential.", amp=_KEEP)
LogOp, log = unary("log", _wide(np.log), "Natural logarithm.", amp=_KEEP)
SqrtOp, sqrt = unary("sqrt", _wide(np.sqrt), "Square root.", amp=_KEEP)
RsqrtOp, rsqrt = unary("rsqrt", _wide(lambda x: 1 / np.sqrt(x)), "``1 / sqrt(x)``.", amp=_KEEP)
ReciprocalOp, reciprocal = unary("reciprocal", _wide(lambda x: 1 / x), "``1 / x``.", amp=_KEEP)
SinOp, sin = unary("sin", _wide(np.sin), "Sine of radians.", amp=_KEEP)
CosOp, cos = unary("cos", _wide(np.cos), "Cosine of radians.", amp=_KEEP)
TanOp, tan = unary("tan", _wide(np.tan), "Tangent of radians.", amp=_KEEP)
AsinOp, asin = unary("asin", _wide(np.arcsin), "Arc sine, in radians.", amp=_KEEP)
AcosOp, acos = unary("acos", _wide(np.arccos), "Arc cosine, in radians.", amp=_KEEP)
AtanOp, atan = unary("atan", _wide(np.arctan), "Arc tangent, in radians.", amp=_KEEP)
SinhOp, sinh = unary("sinh", _wide(np.sinh), "Hyperbolic sine.", amp=_KEEP)
CoshOp, cosh = unary("cosh", _wide(np.cosh), "Hyperbolic cosine.", amp=_KEEP)
TanhOp, tanh = unary("tanh", _wide(np.tanh), "Hyperbolic tangent.", amp=_FOLLOW)
AsinhOp, asinh = unary("asinh", _wide(np.arcsinh), "Inverse hyperbolic sine.", amp=_KEEP)
AcoshOp, acosh = unary("acosh", _wide(np.arccosh), "Inverse hyperbolic cosine.", amp=_KEEP)
AtanhOp, atanh = unary("atanh", _wide(np.arctanh), "Inverse hyperbolic tangent.", amp=_KEEP)
ErfOp, erf = unary("erf", _wide(erf_array), "The error function.", amp=_FOLLOW)
SigmoidOp, sigmoid = unary("sigmoid", _wide(_sigmoid), "``1 / (1 + exp(-x))``.", amp=_FOLLOW)
ReluOp, relu = unary(
    "relu",
    lambda x: np.maximum(x, np.zeros((), x.dtype)),
    "``max(x, 0)``.",
    requirement=require_number,
    amp=_FOLLOW,
)
FloorOp, floor = unary("floor", _wide(np.floor), "Largest integer not above.", **_DECIDES)
CeilOp, ceil = unary("ceil", _wide(np.ceil), "Smallest integer not below.", **_DECIDES)
RoundOp, round_ = unary("round", _wide(np.rint), "Nearest integer, halves to even.", **_DECIDES)
SoftplusOp, softplus = unary("softplus", _wide(_softplus), "``log(1 + exp(x))``.", amp=_KEEP)
SoftsignOp, softsign = unary(
    "softsign", _wide(lambda x: x / (1 + np.abs(x))), "``x / (1 + |x|)``.", amp=_KEEP
)
MishOp, mish = unary(
    "mish", _wide(lambda x: x * np.tanh(_softplus(x))), "``x * tanh(softplus(x))``.", amp=_FOLLOW
)
GeluOp, gelu = unary(
    "gelu",
    _wide(_gelu),
    "Gaussian error linear unit (Hendrycks and Gimpel, 2016); `approximate`: ``none``, ``tanh``.",
    approximate=Str,
    amp=_FOLLOW,
)
LeakyReluOp, leaky_relu = unary(
    "leaky_relu",
    _wide(_leaky_relu),
    "``alpha * x`` below 0, else ``x``.",
    alpha=Float,
    amp=_FOLLOW,
)
EluOp, elu = unary(
    "elu",
    _wide(_elu),
    "``alpha * (exp(x) - 1)`` below 0, else ``x``.",
    alpha=Float,
    amp=_FOLLOW,
)
SeluOp, selu = unary(
    "selu",
    _wide(_selu),
    "``gamma * elu(x)`` with its own `alpha`.",
    alpha=Float,
    gamma=Float,
    amp=_KEEP,
)
CeluOp, celu = unary(
    "celu",
    _wide(_celu),
    "Continuously differentiable elu.",
    alpha=Float,
    amp=_KEEP,
)
SwishOp, swish = unary(
    "swish",
    _wide(_swish),
    "``x * sigmoid(alpha * x)``.",
    alpha=Float,
    amp=_FOLLOW,
)
HardSigmoidOp, hard_sigmoid = unary(
    "hard_sigmoid",
    _wide(_hard_sigmoid),
    "``clip(alpha * x + beta, 0, 1)``.",
    alpha=Float,
    beta=Float,
    amp=_FOLLOW,
)
ThresholdedReluOp, thresholded_relu = unary(
    "thresholded_relu",
    _wide(_thresholded_relu),
    "``x`` above `alpha`, else 0.",
    alpha=Float,
    **_DECIDES,
)
ShrinkOp, shrink = unary(
    "shrink",
    _wide(_shrink),
    "Soft or hard shrinkage: 0 within ``[-lambd, lambd]``, outside moved by `bias`.",
    bias=Float,
    lambd=Float,
    **_DECIDES,
)
IsNanOp, is_nan = unary("is_nan", np.isnan, "Whether NaN.", result_dtype=np.bool_, amp=_KEEP)
IsInfOp, is_inf = unary(
    "is_inf",
    _is_inf,
    "Whether infinite, of the signs asked for.",
    result_dtype=np.bool_,
    negative=Bool,
    positive=Bool,
    amp=_KEEP,
)
NotOp, not_ = unary("not", np.logical_not, "Logical negation.", requirement=require_bool, amp=_KEEP)
BitwiseNotOp, bitwise_not = unary(
    "bitwise_not", np.bitwise_not, "Each bit inverted.", requirement=require_integer, amp=_KEEP
)


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Division; integers truncate towards zero, as in C, and by 0 give 0."""
    if not is_integer(a.dtype):
        return np.divide(a, b)
    quotient = np.floor_divide(a, b)
    exact = (quotient * b == a) | (b == 0)
    return np.where(~exact & ((a < 0) != (b < 0)), quotient + 1, quotient).astype(a.dtype)


def _power(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    if not is_integer(a.dtype):
        return np.power(a.astype(np.float64), b.astype(np.float64)).astype(a.dtype)
    a, b = np.broadcast_arrays(a, b)
    exponent = np.where(b.astype(np.uint64) > 63, 62 + (b & 1), b)  # of the same parity
    result, factor = np.ones_like(a), a
    for bit in range(6):
        result = np.where(exponent >> bit & 1, result * factor, result)
        factor = factor * factor
    return np.where((b < 0) & (abs(a) != 1), 0, result).astype(a.dtype)


def _shift_left(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    fits = (b >= 0) & (b < a.dtype.itemsize * 8)
    return np.where(fits, np.left_shift(a, np.where(fits, b, 0)), 0).astype(a.dtype)


def _shift_right(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    fits = (b >= 0) & (b < a.dtype.itemsize * 8)
    filling = np.where(a < 0, -1, 0).astype(a.dtype)
    return np.where(fits, np.right_shift(a, np.where(fits, b, 0)), filling)


AddOp, add = binary("add", np.add, "``a + b``.", amp=_FOLLOW, commutative=True)
SubOp, sub = binary("sub", np.subtract, "``a - b``.", amp=_FOLLOW)
MulOp, mul = binary("mul", np.multiply, "``a * b``.", amp=_FOLLOW, commutative=True)
DivOp, div = binary(
    "div", _divide, "``a / b``; integers truncate towards zero, by 0 give 0.", amp=_FOLLOW
)
PowOp, pow_ = binary(
    "pow",
    _power,
    "``a ** b``. Powers of integers are cut to integers; what does not fit is unspecified.",
    amp=_KEEP,
)
ModOp, mod = binary("mod", np.mod, "Remainder with the sign of `b`.", **_DECIDES)
FmodOp, fmod = binary("fmod", np.fmod, "Remainder with the sign of `a`, as in C.", **_DECIDES)
MaxOp, max_ = binary("max", np.maximum, "The larger; NaN wins.", amp=_FOLLOW, commutative=True)
MinOp, min_ = binary("min", np.minimum, "The smaller; NaN wins.", amp=_FOLLOW, commutative=True)
PreluOp, prelu = binary(
    "prelu",
    lambda a, b: np.where(a < 0, a * b, a),
    "``a * b`` where `a` is negative, else `a`.",
    amp=_FOLLOW,
)
EqualOp, equal = binary(
    "equal",
    np.equal,
    "``a == b``.",
    requirement=require_any,
    result_dtype=np.bool_,
    amp=_KEEP,
    commutative=True,
)
LessOp, less = binary("less", np.less, "``a < b``.", result_dtype=np.bool_, amp=_KEEP)
LessOrEqualOp, less_or_equal = binary(
    "less_or_equal", np.less_equal, "``a <= b``.", result_dtype=np.bool_, amp=_KEEP
)
GreaterOp, greater = binary("greater", np.greater, "``a > b``.", result_dtype=np.bool_, amp=_KEEP)
GreaterOrEqualOp, greater_or_equal = binary(
    "greater_or_equal", np.greater_equal, "``a >= b``.", result_dtype=np.bool_, amp=_KEEP
)
AndOp, and_ = binary(
    "and", np.logical_and, "Logical and.", requirement=require_bool, amp=_KEEP, commutative=True
)
OrOp, or_ = binary(
    "or", np.logical_or, "Logical or.", requirement=require_bool, amp=_KEEP, commutative=True
)
XorOp, xor = binary(
    "xor",
    np.logical_xor,
    "Logical exclusive or.",
    requirement=require_bool,
    amp=_KEEP,
    commutative=True,
)
BitwiseAndOp, bitwise_and = binary(
    "bitwise_and",
    np.bitwise_and,
    "Bits set in both.",
    requirement=require_integer,
    amp=_KEEP,
    commutative=True,
)
BitwiseOrOp, bitwise_or = binary(
    "bitwise_or",
    np.bitwise_or,
    "Bits set in either.",
    requirement=require_integer,
    amp=_KEEP,
    commutative=True,
)
BitwiseXorOp, bitwise_xor = binary(
    "bitwise_xor",
    np.bitwise_xor,
    "Bits set in one of both.",
    requirement=require_integer,
    amp=_KEEP,
    commutative=True,
)
ShiftLeftOp, shift_left = binary(
    "shift_left",
    _shift_left,
    "`a` moved left by `b` bits; 0 where `b` is negative or no less than the type's bits.",
    requirement=require_integer,
    amp=_KEEP,
)
ShiftRightOp, shift_right = binary(
    "shift_right",
    _shift_right,
    "`a` moved right by `b` bits, filled with the sign of a signed type; nothing but the filling\n"
    "where `b` is negative or no less than the type's bits.",
    requirement=require_integer,
    amp=_KEEP,
)


class WhereOp(ElementwiseOp, name="where"):
    """``a`` where `condition` holds, else ``b``; the three broadcast."""

    amp = _FOLLOW

    condition: Tensor
    a: Tensor
    b: Tensor

    @staticmethod
    def infer(condition: TensorType, a: TensorType, b: TensorType) -> TensorType:
        require_bool(condition)
        if a.dtype != b.dtype:
            raise TypeRuleError(f"operands have element types {a.dtype} and {b.dtype}")
        return TensorType(broadcast_shapes(condition.shape, a.shape, b.shape), a.dtype)

    @staticmethod
    def evaluate(condition: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(condition, a, b)


where = builder(WhereOp)
