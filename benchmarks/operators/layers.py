"""Cases of the layers of com.microsoft that few models have, and of operators that ONNX once had.

ONNX Runtime lacks some of them on CPUs.
"""

import numpy as np

from .case import (
    Array,
    Initializer,
    OperatorCase,
    cases,
    f32,
    fed,
    given,
    integers,
    s8,
    u8,
    uniform,
)

MS = "com.microsoft"
TOKENS, WIDE = (1, 128, 768), (1, 128, 4, 768)


def _unit(*shape: int) -> Array:
    """Vectors of length 1, as delta rules have for keys."""

    def draw(generator: np.random.Generator) -> np.ndarray:
        x = generator.standard_normal(shape, np.float32)
        return x / np.linalg.norm(x, axis=-1, keepdims=True)

    return draw


def _scaled(scale: float, zero: int, dtype: type = np.uint8) -> tuple[Initializer, Initializer]:
    return given(np.float32(scale)), given(dtype(zero))


def _linear_attention(length: int, rule: str, **more) -> list[OperatorCase]:
    inputs = {
        "q": f32(1, length, 512),
        "k": _unit(1, length, 512),
        "v": f32(1, length, 512),
        "s": f32(1, 8, 64, 64),
        "d": uniform(-1, 0, 1, length, 8) if "gated" in rule else None,
        "b": uniform(0, 1, 1, length, 8) if "delta" in rule else None,
    }
    attributes = {"q_num_heads": 8, "kv_num_heads": 8, "update_rule": rule}
    size = (f"{rule} {length} of 8 heads", inputs)
    return cases("LinearAttention", size, _domain=MS, _outputs=2, **attributes, **more)


def _gated_delta_net() -> list[OperatorCase]:
    inputs = {
        "q": f32(1, 128, 8, 64),
        "k": _unit(1, 128, 8, 64),
        "v": f32(1, 128, 8, 64),
        "l": None,
        "d": uniform(-1, 0, 1, 128, 8),
        "b": uniform(0, 1, 1, 128, 8),
        "s": f32(1, 8, 64, 64),
    }
    size = ("128 of 8 heads", inputs)
    return cases("GatedDeltaNet", size, named=(128,), _domain=MS, _outputs=2)


def _causal_conv(length: int) -> list[OperatorCase]:
    inputs = {
        "x": f32(1, 1024, length),
        "w": Initializer(f32(1024, 1, 4)),
        "b": Initializer(f32(1024)),
        "p": f32(1, 1024, 3),
    }
    return cases(
        "CausalConvWithState",
        (f"1024 channels of {length}", inputs),
        named=(length,),
        _domain=MS,
        _outputs=2,
        activation="silu",
    )


def _mixture(rows: int) -> list[OperatorCase]:
    def layer(outputs: int, inputs: int) -> tuple[Initializer, Initializer, Initializer]:
        weights = u8(8, outputs, inputs // 2)
        scales = uniform(0.01, 0.02, 8, outputs)
        return Initializer(weights), Initializer(scales), Initializer(f32(8, outputs))

    values = [f32(rows, 256), f32(rows, 8), *layer(512, 256), *layer(256, 512)]
    inputs = dict(zip("xr123456", values, strict=True))
    return cases(
        "QMoE",
        (f"{rows} rows of 8 experts", inputs),
        named=(rows,),
        _domain=MS,
        k=2,
        expert_weight_bits=4,
        activation_type="silu",
    )


def _positions_of_three() -> list[OperatorCase]:
    inputs = {
        "x": f32(1, 128, 1024),
        "p": integers(0, 1000, 3, 1, 128),
        "c": Initializer(f32(1000, 32)),
        "s": Initializer(f32(1000, 32)),
    }
    return cases(
        "MRotaryEmbedding",
        ("16 heads", inputs),
        named=(128,),
        _domain=MS,
        mrope_section=[16, 8, 8],
        num_heads=16,
    )


def _embeddings() -> list[OperatorCase]:
    scales, zeros = zip(*(_scaled(0.02, 120) for _ in range(5)), strict=True)
    values = [
        integers(0, 8000, 1, 128, dtype=np.int32),
        integers(0, 2, 1, 128, dtype=np.int32),
        *(Initializer(u8(rows, 768)) for rows in (8000, 512, 2)),
        *(Initializer(u8(768)) for _ in range(2)),
        integers(1, 2, 1, 128, dtype=np.int32),
        *scales,
        *zeros,
    ]
    inputs = {f"i{number}": value for number, value in enumerate(values)}
    size = ("128 tokens", inputs)
    return cases("QEmbedLayerNormalization", size, named=(128,), _domain=MS, _outputs=2)


def _masked_attention() -> list[OperatorCase]:
    past = f32(1, 12, 256, 64)
    inputs = {
        **{name: f32(1, 1, 768) for name in "qkv"},
        "m": None,
        "a": None,
        "pk": past,
        "pv": past,
        "l": fed([200], np.int32),
    }
    return cases(
        "DecoderMaskedMultiHeadAttention",
        ("12 heads, 200 tokens", inputs),
        _domain=MS,
        _outputs=3,
        num_heads=12,
        past_present_share_buffer=1,
    )


def _group_norm(operator: str, **more) -> list[OperatorCase]:
    image = (1, 64, 64, 320)
    inputs = {"x": f32(*image), "g": Initializer(f32(320)), "b": Initializer(f32(320)), **more}
    size = ("image", inputs)
    return cases(operator, size, named=(64,), _domain=MS, groups=32, activation=1)


def _quantized_conv() -> list[OperatorCase]:
    scale, zero = _scaled(0.02, 128)
    weight_scale, weight_zero = _scaled(0.01, 0, np.int8)
    y_scale, y_zero = _scaled(0.1, 128)
    inputs = {
        "x": u8(1, 56, 56, 64),
        "xs": scale,
        "xz": zero,
        "w": Initializer(s8(64, 64, 3, 3)),
        "ws": weight_scale,
        "wz": weight_zero,
        "ys": y_scale,
        "yz": y_zero,
    }
    size = ("channels-last 3x3", inputs)
    return cases("QLinearConv", size, _domain=MS, channels_last=1, pads=[1] * 4)


def _once() -> list[OperatorCase]:
    """Operators of opset 8 that models of that time have."""
    found, image = [], {"x": f32(1, 3, 480, 640)}
    for operator, attributes in (
        ("Affine", {"alpha": 2.0, "beta": -0.5}),
        ("Scale", {"scale": 3.0}),
        ("ScaledTanh", {"alpha": 1.5, "beta": 0.5}),
        ("ParametricSoftplus", {"alpha": 1.5, "beta": 0.5}),
    ):
        size = ("1 MB", {"x": f32(512, 512)})
        found += cases(operator, size, named=(512,), _opset=8, **attributes)
    bias = {"bias": [1.0, -2.0, 0.5], "scale": 0.25}
    found += cases("ImageScaler", ("image", image), named=(480, 640), _opset=8, **bias)
    found += cases("Crop", ("image", image), named=(480, 640), _opset=8, border=[16, 8, 16, 8])
    sliced = {**image, "s": given([16, 8]), "e": given([-16, -8]), "a": given([2, 3])}
    return found + cases("DynamicSlice", ("image", sliced), named=(480, 640), _opset=8)


CASES: list[OperatorCase] = [
    *_once(),
    *cases("ScaledSiLU", ("1 MB", {"x": f32(512, 512)}), named=(512,), _domain=MS, alpha=0.7),
    *cases(
        "GatedAdd",
        ("rows", {"x": f32(*TOKENS), "y": f32(*TOKENS), "g": f32(1, 128, 1)}),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "LinearAttentionGate",
        (
            "32 heads",
            {"a": f32(1, 512, 32), "d": f32(32), "s": uniform(-1, 0, 32), "b": f32(1, 512, 32)},
        ),
        named=(512,),
        _domain=MS,
        _outputs=2,
    ),
    *cases(
        "GatedRMSNorm",
        ("rows", {"x": f32(*TOKENS), "s": Initializer(f32(64)), "g": f32(*TOKENS)}),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "BranchwiseRMSNorm",
        ("4 branches", {"x": f32(*WIDE), "s": Initializer(f32(4, 768))}),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "HyperConnectionPreMix",
        ("4 branches", {"x": f32(*WIDE), "m": f32(1, 128, 4)}),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "HyperConnectionPostMix",
        (
            "4 branches",
            {"x": f32(*WIDE), "y": f32(*TOKENS), "p": f32(1, 128, 4), "m": f32(1, 128, 4, 4)},
        ),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "EngramGate",
        (
            "4 branches",
            {
                "k": f32(*WIDE),
                "q": f32(*WIDE),
                "v": f32(*TOKENS),
                "ks": Initializer(f32(4, 768)),
                "qs": Initializer(f32(4, 768)),
                "cs": Initializer(f32(4, 768)),
            },
        ),
        named=(128,),
        _domain=MS,
        _outputs=2,
    ),
    *_causal_conv(1),
    *_causal_conv(128),
    *_linear_attention(1, "gated_delta"),
    *_linear_attention(128, "gated_delta", named=(128,)),
    *_linear_attention(128, "linear"),
    *_linear_attention(128, "gated"),
    *_gated_delta_net(),
    *_positions_of_three(),
    *_masked_attention(),
    *_embeddings(),
    *_mixture(1),
    *_mixture(64),
    *_quantized_conv(),
    *cases(
        "MatMulInteger16",
        (
            "128x256x256",
            {
                "a": integers(-999, 999, 128, 256, dtype=np.int16),
                "b": integers(-999, 999, 256, 256, dtype=np.int16),
            },
        ),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "ConvTransposeWithDynamicPads",
        (
            "2x2",
            {
                "x": f32(1, 64, 56, 56),
                "w": Initializer(f32(64, 32, 2, 2)),
                "p": given([0, 0, 0, 0]),
                "b": Initializer(f32(32)),
            },
        ),
        _domain=MS,
        strides=[2, 2],
    ),
    *_group_norm("GroupNorm"),
    *_group_norm("SkipGroupNorm", s=f32(1, 64, 64, 320)),
    *cases(
        "BiasSplitGelu",
        ("image", {"x": f32(1, 1024, 2560), "b": Initializer(f32(2560))}),
        named=(1024,),
        _domain=MS,
    ),
    *cases(
        "BiasAdd",
        ("image", {"x": f32(1, 4096, 320), "b": Initializer(f32(320)), "s": f32(1, 4096, 320)}),
        named=(4096,),
        _domain=MS,
    ),
    *cases(
        "ComplexMul",
        ("1 MB", {"a": f32(512, 256, 2), "b": f32(512, 256, 2)}),
        named=(512,),
        _domain=MS,
    ),
    *cases("Rfft", ("512", {"x": f32(16, 512)}), named=(16,), _domain=MS, signal_ndim=1),
    *cases("Irfft", ("512", {"x": f32(16, 257, 2)}), named=(16,), _domain=MS, signal_ndim=1),
    *cases(
        "GemmFastGelu",
        ("128x768x768", {"x": f32(128, 768), "w": Initializer(f32(768, 768))}),
        named=(128,),
        _domain=MS,
    ),
    *cases(
        "NhwcConv",
        ("3x3", {"x": f32(1, 56, 56, 64), "w": Initializer(f32(64, 64, 3, 3))}),
        named=(56,),
        _domain=MS,
        pads=[1] * 4,
        kernel_shape=[3, 3],
    ),
    *cases(
        "RestorePadding",
        (
            "4 of 128",
            {
                "x": f32(300, 768),
                "o": lambda generator: np.arange(512, dtype=np.int32).reshape(4, 128),
            },
        ),
        named=(300,),
        _domain=MS,
    ),
    *cases(
        "RemovePadding",
        ("4 of 128", {"x": f32(4, 128, 768), "l": fed([128, 50, 30, 92], np.int32)}),
        named=(4,),
        _domain=MS,
        _outputs=4,
    ),
    *cases(
        "RelativePositionBias",
        ("128 tokens", {"t": Initializer(f32(32, 12)), "q": given(128), "k": given(128)}),
        _domain=MS,
        max_distance=128,
        is_bidirectional=1,
    ),
    *cases(
        "TorchEmbedding",
        ("rows", {"w": f32(8000, 256), "i": integers(0, 8000, 4, 128)}),
        named=(4,),
        _domain=MS,
    ),
]
