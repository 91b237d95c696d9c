"""Cases of elementwise operators."""

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto

from .case import Array, OperatorCase, cases, f16, f32, fed, given, integers, mask, s8, u8, uniform

SHAPES = {"256": (1, 256), "1 MB": (4, 128, 512), "6 MB": (8, 64, 56, 56)}
NAMED = (4, 128)
APART = (512, 768)


def _unary(
    operator: str, low: float = -3, high: float = 3, kind: str = "", **more: Any
) -> list[OperatorCase]:
    sizes = [(kind + size, {"x": uniform(low, high, *shape)}) for size, shape in SHAPES.items()]
    return cases(operator, *sizes, named=NAMED, **more)


def _binary(
    operator: str, draw: Callable[..., Array] = f32, kind: str = "", **more: Any
) -> list[OperatorCase]:
    sizes = [(kind + size, {"a": draw(*s), "b": draw(*s)}) for size, s in SHAPES.items()]
    sizes.insert(1, (kind + "channels", {"a": draw(8, 64, 28, 28), "b": draw(64, 1, 1)}))
    sizes.insert(1, (kind + "outer", {"a": draw(512, 1), "b": draw(1, 768)}))
    return cases(operator, *sizes, named=NAMED, **more)


def _apart(
    operator: str, draw: Callable[..., Array], kind: str, condition: bool = False
) -> list[OperatorCase]:
    """Operands whose sizes the run may broadcast, and does for rows."""
    mine = {"c": mask(*APART)} if condition else {}
    sizes = [
        (f"{kind} apart", {**mine, "a": draw(*APART), "b": draw(*APART)}),
        (f"{kind} rows apart", {**mine, "a": draw(*APART), "b": draw(1, APART[-1])}),
    ]
    return [
        case
        for size in sizes
        for case in cases(operator, size, named=APART, _apart=True)
        if case.named
    ]


def _integers(*shape: int):
    return integers(1, 60, *shape)


def _f64(*shape: int) -> Array:
    return lambda generator: generator.standard_normal(shape)


def _words(*shape: int):
    return integers(0, 30, *shape, dtype=np.uint32)


def _cast(source: str, draw, target: int) -> list[OperatorCase]:
    return cases(
        "Cast", (f"{source} to {TensorProto.DataType.Name(target)}", {"x": draw}), to=target
    )


PLAIN = (
    "Abs Atan Ceil Cos Elu Erf Exp Floor HardSigmoid HardSwish IsInf IsNaN LeakyRelu Neg Relu "
    "Round Selu Sigmoid Sign Sin Softplus Softsign Tan Tanh Celu ThresholdedRelu Mish Gelu Shrink "
    "Sinh Cosh Asinh Identity"
)
SHAPE = (4, 128, 512)
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Sum", "Mean")

CASES = (
    *(case for name in PLAIN.split() for case in _unary(name)),
    *cases("Tanh", ("f64 2 MB", {"x": _f64(4, 128, 512)})),
    *_unary("Acos", -1, 1),
    *_unary("Asin", -1, 1),
    *_unary("Atanh", -0.9, 0.9),
    *_unary("Acosh", 1, 5),
    *_unary("Log", 0.1, 5),
    *_unary("Sqrt", 0, 5),
    *_unary("Reciprocal", 0.5, 5),
    *_unary("Gelu", kind="tanh ", approximate="tanh"),
    *(
        case
        for name in ("Gelu", "FastGelu", "QuickGelu")
        for case in _unary(name, _domain="com.microsoft")
    ),
    *(case for name in ARITHMETIC for case in _binary(name)),
    *(
        case
        for name in ["Equal", "Less", "Greater", "GreaterOrEqual", "LessOrEqual"]
        for case in _binary(name)
    ),
    *(case for name in ["And", "Or", "Xor"] for case in _binary(name, mask)),
    *(case for name in ["BitwiseAnd", "BitwiseOr", "BitwiseXor"] for case in _binary(name, _words)),
    *_binary("BitShift", _words, direction="LEFT"),
    *(case for name in ["Add", "Less", "Max"] for case in _binary(name, u8, "u8 ")),
    *cases("Sign", ("u8 1 MB", {"x": u8(1024, 1024)}), ("i8 1 MB", {"x": s8(1024, 1024)})),
    *(
        case
        for name in ["Add", "Mul", "Div", "Mod", "Less", "Equal", "Max"]
        for case in _binary(name, _integers, "int64 ")
    ),
    *_binary("Mod", fmod=1),
    *(case for name in ("And", "Equal") for case in _apart(name, mask, "bool")),
    *(
        case
        for kind, draw in (("u8", u8), ("int64", _integers), ("f16", f16), ("f32", f32))
        for case in (
            *_apart("Add", draw, kind),
            *_apart("Less", draw, kind),
            *_apart("Where", draw, kind, condition=True),
        )
    ),
    *cases("Not", *((size, {"x": mask(*shape)}) for size, shape in SHAPES.items())),
    *cases("BitwiseNot", *((size, {"x": _words(*shape)}) for size, shape in SHAPES.items())),
    *cases(
        "Pow",
        *(
            (size, {"x": uniform(0.1, 2, *shape), "e": given(np.float32(3))})
            for size, shape in SHAPES.items()
        ),
    ),
    *cases("Pow", ("any exponents", {"x": uniform(0.1, 2, *SHAPE), "e": uniform(-2, 2, *SHAPE)})),
    *cases(
        "PRelu",
        *(
            (size, {"x": f32(*shape), "s": given(np.full((shape[-1],), 0.1, np.float32))})
            for size, shape in SHAPES.items()
        ),
    ),
    *cases(
        "Clip",
        *(
            (size, {"x": f32(*shape), "l": given(np.float32(-1)), "h": given(np.float32(1))})
            for size, shape in SHAPES.items()
        ),
    ),
    *cases(
        "Clip",
        ("computed bounds", {"x": f32(*SHAPE), "l": fed(np.float32(-1)), "h": fed(np.float32(1))}),
    ),
    *cases(
        "Where",
        *(
            (size, {"c": mask(*shape), "a": f32(*shape), "b": f32(*shape)})
            for size, shape in SHAPES.items()
        ),
        named=NAMED,
    ),
    *cases(
        "Where",
        (
            "broadcast",
            {"c": mask(1, 1, 256, 256), "a": f32(8, 4, 256, 256), "b": given(np.float32(-1))},
        ),
    ),
    *cases(
        "Where",
        ("int64", {"c": mask(*SHAPE), "a": integers(0, 9, *SHAPE), "b": integers(0, 9, *SHAPE)}),
    ),
    *_cast("f32", f32(*SHAPE), TensorProto.INT64),
    *_cast("f32", f32(*SHAPE), TensorProto.FLOAT16),
    *_cast("f16", f16(*SHAPE), TensorProto.FLOAT),
    *_cast("f32", f32(*SHAPE), TensorProto.INT32),
    *_cast("f32", uniform(0, 255, *SHAPE), TensorProto.UINT8),
    *_cast("u8", u8(*SHAPE), TensorProto.FLOAT),
    *_cast("f32", f32(*SHAPE), TensorProto.BOOL),
    *_cast("bool", mask(*SHAPE), TensorProto.FLOAT),
    *_cast("int64", integers(0, 9, *SHAPE), TensorProto.FLOAT),
    *_cast("int64", integers(0, 9, *SHAPE), TensorProto.INT32),
    *_cast("bool", mask(*SHAPE), TensorProto.INT64),
    *_cast("f32", f32(*SHAPE), TensorProto.BFLOAT16),
    *_cast("f32", f32(*SHAPE), TensorProto.DOUBLE),
    *_cast("f32", f32(*SHAPE), TensorProto.FLOAT8E4M3FN),
    *cases("CastLike", ("1 MB", {"x": f32(*SHAPE), "l": integers(0, 9, 1)})),
    *cases("Dropout", ("1 MB", {"x": f32(*SHAPE)})),
    *cases(
        "QuantizeLinear",
        *(
            (size, {"x": f32(*shape), "s": given(np.float32(0.02)), "z": given(np.uint8(128))})
            for size, shape in SHAPES.items()
        ),
        named=NAMED,
    ),
    *cases(
        "QuantizeLinear",
        (
            "per channel",
            {
                "x": f32(*SHAPE),
                "s": given(np.full(512, 0.02, np.float32)),
                "z": given(np.zeros(512, np.int8)),
            },
        ),
        axis=-1,
    ),
    *cases(
        "DequantizeLinear",
        *(
            (size, {"x": u8(*shape), "s": given(np.float32(0.02)), "z": given(np.uint8(128))})
            for size, shape in SHAPES.items()
        ),
        named=NAMED,
    ),
    *cases(
        "DequantizeLinear",
        ("per channel", {"x": s8(*SHAPE), "s": given(np.full(512, 0.02, np.float32))}),
        axis=-1,
    ),
    *cases(
        "DynamicQuantizeLinear",
        *((size, {"x": f32(*shape)}) for size, shape in SHAPES.items()),
        named=NAMED,
        _outputs=3,
    ),
    *cases("BiasGelu", ("1 MB", {"x": f32(*SHAPE), "b": f32(512)}), _domain="com.microsoft"),
    *cases(
        "BiasSoftmax",
        ("1 MB", {"x": f32(*SHAPE), "b": f32(*SHAPE)}),
        axis=2,
        is_inner_broadcast=0,
        _domain="com.microsoft",
    ),
    *cases("IsAllFinite", ("1 MB", {"x": f32(*SHAPE)}), _domain="com.microsoft"),
    *(
        case
        for name in ("QLinearAdd", "QLinearMul")
        for case in cases(
            name,
            (
                "1 MB",
                {
                    "a": u8(8, *SHAPE[1:]),
                    "as": given(np.float32(0.02)),
                    "az": given(np.uint8(128)),
                    "b": u8(8, *SHAPE[1:]),
                    "bs": given(np.float32(0.03)),
                    "bz": given(np.uint8(120)),
                    "ys": given(np.float32(0.04)),
                    "yz": given(np.uint8(128)),
                },
            ),
            _domain="com.microsoft",
        )
    ),
    *(
        case
        for name in ("QLinearSigmoid", "QLinearLeakyRelu")
        for case in cases(
            name,
            (
                "1 MB",
                {
                    "a": u8(8, *SHAPE[1:]),
                    "as": given(np.float32(0.02)),
                    "az": given(np.uint8(128)),
                    "ys": given(np.float32(0.004)),
                    "yz": given(np.uint8(0)),
                },
            ),
            _domain="com.microsoft",
        )
    ),
)
