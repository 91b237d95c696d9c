"""Cases of com.microsoft's operators on 8 bits."""

import numpy as np

from .case import Array, Initializer, OperatorCase, cases, f32, given, integers, mask, s8, u8

ROWS, IMAGE = (128, 768), (1, 64, 56, 56)
MS = "com.microsoft"


def _scale(value: float) -> Initializer:
    return given(np.float32(value))


def _zero(value: int = 128) -> Initializer:
    return given(np.uint8(value))


def _operand(name: str, array: Array | Initializer, scale: float) -> dict[str, Array | Initializer]:
    """A quantized operand with its scale and zero point."""
    return {name: array, f"{name}s": _scale(scale), f"{name}z": _zero()}


RESULT = {"ys": _scale(0.04), "yz": _zero()}

CASES: list[OperatorCase] = [
    *cases("QuantizeLinear", ("1 MB", {"x": f32(8, 256, 128), **RESULT}), named=(8,), _domain=MS),
    *cases("DequantizeLinear", ("1 MB", _operand("x", u8(8, 256, 512), 0.1)), _domain=MS),
    *cases(
        "QGemm",
        (
            "128x768x768",
            {
                **_operand("a", u8(*ROWS), 0.02),
                **_operand("b", Initializer(u8(768, 768)), 0.01),
                "c": Initializer(integers(-999, 999, 768, dtype=np.int32)),
                **RESULT,
            },
        ),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "QLinearAveragePool",
        ("3x3", {**_operand("x", u8(*IMAGE), 0.02), **RESULT}),
        _domain=MS,
        kernel_shape=[3, 3],
        pads=[1] * 4,
    ),
    *cases(
        "QLinearConcat",
        (
            "channels",
            {**RESULT, **_operand("a", u8(*IMAGE), 0.02), **_operand("b", u8(*IMAGE), 0.03)},
        ),
        named=(56,),
        _domain=MS,
        axis=1,
    ),
    *cases(
        "QLinearSoftmax",
        ("rows", {**_operand("x", u8(*ROWS), 0.1), "ys": _scale(1 / 256), "yz": _zero(0)}),
        named=(128,),
        _domain=MS,
        axis=-1,
        opset=13,
    ),
    *cases(
        "QLinearWhere",
        (
            "1 MB",
            {
                "c": mask(8, 256, 512),
                **_operand("a", u8(8, 256, 512), 0.02),
                **_operand("b", u8(8, 256, 512), 0.03),
                **RESULT,
            },
        ),
        _domain=MS,
    ),
    *cases(
        "QAttention",
        (
            "128 of 12 heads",
            {
                "x": u8(1, *ROWS),
                "w": Initializer(s8(768, 2304)),
                "b": Initializer(f32(2304)),
                "xs": _scale(0.02),
                "ws": _scale(0.001),
                "m": None,
                "xz": _zero(),
                "wz": given(np.int8(0)),
            },
        ),
        named=(128,),
        _domain=MS,
        num_heads=12,
    ),
    *cases(
        "DynamicQuantizeLSTM",
        (
            "32 steps",
            {
                "x": f32(32, 1, 128),
                "w": Initializer(s8(1, 128, 512)),
                "r": Initializer(s8(1, 128, 512)),
                "b": Initializer(f32(1, 1024)),
                "l": None,
                "h": None,
                "c": None,
                "p": None,
                "ws": given(np.full(1, 0.005, np.float32)),
                "wz": given(np.zeros(1, np.int8)),
                "rs": given(np.full(1, 0.005, np.float32)),
                "rz": given(np.zeros(1, np.int8)),
            },
        ),
        named=(32,),
        _domain=MS,
        hidden_size=128,
    ),
    *cases(
        "NhwcMaxPool",
        ("3x3", {"x": u8(1, 56, 56, 64)}),
        named=(56,),
        _domain=MS,
        kernel_shape=[3, 3],
        pads=[1] * 4,
    ),
    *cases(
        "MatMulBnb4",
        (
            "row",
            {
                "x": f32(1, 768),
                "w": Initializer(u8(768 * 768 // 2)),
                "s": Initializer(f32(768 * 768 // 64)),
            },
        ),
        _domain=MS,
        K=768,
        N=768,
        block_size=64,
        quant_type=1,
    ),
]
