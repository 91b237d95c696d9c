"""Cases of convolutions, pools, resampling and signals."""

import numpy as np

from .case import Initializer, OperatorCase, cases, f32, given, integers, s8, u8, uniform


def _conv(
    size: str, image, weights, named=(), bias=True, operator="Conv", **more
) -> list[OperatorCase]:
    features = weights[1] * more.get("group", 1) if operator == "ConvTranspose" else weights[0]
    inputs = {"x": f32(*image), "w": Initializer(f32(*weights, scale=0.1))}
    if bias:
        inputs["b"] = Initializer(f32(features))
    return cases(operator, (size, inputs), named=named, **more)


def _transposed(size: str, image, weights, **more) -> list[OperatorCase]:
    return _conv(size, image, weights, operator="ConvTranspose", **more)


def _resize(mode: str, size: str, image, scales, named=(), **more) -> list[OperatorCase]:
    inputs = {"x": f32(*image), "r": None, "s": given(np.float32(scales))}
    return cases("Resize", (f"{mode} {size}", inputs), named=named, mode=mode, **more)


def _regions(count: int, size: int):
    def draw(generator: np.random.Generator) -> np.ndarray:
        starts = generator.uniform(0, size / 2, (count, 2))
        ends = starts + generator.uniform(size / 8, size / 2, (count, 2))
        return np.concatenate([starts, ends], axis=1).astype(np.float32)

    return draw


def _pools(operator: str) -> list[OperatorCase]:
    kinds = {
        "3x3 stride 2": {"kernel_shape": [3, 3], "strides": [2, 2]},
        "2x2 stride 2": {"kernel_shape": [2, 2], "strides": [2, 2]},
        "3x3 pads": {"kernel_shape": [3, 3], "pads": [1] * 4},
        "5x5 pads": {"kernel_shape": [5, 5], "pads": [2] * 4},
        "ceil": {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        "13x13": {"kernel_shape": [13, 13], "pads": [6] * 4},
        "dilated": {"kernel_shape": [3, 3], "dilations": [2, 2]},
        "1x3": {"kernel_shape": [1, 3]},
        "7x7 global": {"kernel_shape": [56, 56]},
    }
    found = []
    for size, attributes in kinds.items():
        found += cases(
            operator,
            (size, {"x": f32(1, 64, 56, 56)}),
            named=(56,) if "pads" in size or "stride" in size else (),
            **attributes,
        )
    found += cases(
        operator, ("1-D", {"x": f32(8, 64, 2000)}), kernel_shape=[3], strides=[2], named=(8, 2000)
    )
    found += cases(
        operator,
        ("3-D", {"x": f32(1, 32, 16, 56, 56)}),
        kernel_shape=[2, 2, 2],
        strides=[2, 2, 2],
        named=(16,),
    )
    return found + cases(
        operator, ("3-D pads", {"x": f32(1, 32, 16, 28, 28)}), kernel_shape=[3, 3, 3], pads=[1] * 6
    )


IMAGE = (1, 64, 56, 56)
CASES = (
    *_conv("1x1", IMAGE, (128, 64, 1, 1), named=(56,)),
    *_conv("3x3", IMAGE, (64, 64, 3, 3), named=(56,), pads=[1] * 4),
    *_conv(
        "3x3 rgb stride 2",
        (1, 3, 224, 224),
        (32, 3, 3, 3),
        named=(224,),
        pads=[1] * 4,
        strides=[2, 2],
    ),
    *_conv("7x7 rgb stride 2", (1, 3, 224, 224), (64, 3, 7, 7), pads=[3] * 4, strides=[2, 2]),
    *_conv("grey 5x5", (1, 1, 224, 224), (64, 1, 5, 5), pads=[2] * 4),
    *_conv("to one channel", (1, 64, 112, 112), (1, 64, 3, 3), pads=[1] * 4),
    *_conv("to three channels 9x9", (1, 32, 128, 128), (3, 32, 9, 9), pads=[4] * 4),
    *_conv("1x1 to one channel", (1, 64, 112, 112), (1, 64, 1, 1)),
    *_conv("depthwise", IMAGE, (64, 1, 3, 3), named=(56,), pads=[1] * 4, group=64),
    *_conv("depthwise x2", IMAGE, (128, 1, 3, 3), pads=[1] * 4, group=64),
    *_conv("groups of 16", IMAGE, (64, 16, 3, 3), named=(56,), pads=[1] * 4, group=4),
    *_conv("groups of 2", IMAGE, (64, 2, 3, 3), pads=[1] * 4, group=32),
    *_conv("groups of 10", (1, 60, 28, 28), (120, 10, 1, 1), group=6),
    *_conv("dilated", IMAGE, (64, 64, 3, 3), pads=[2] * 4, dilations=[2, 2]),
    *_conv("1x7", IMAGE, (64, 64, 1, 7), pads=[0, 3, 0, 3]),
    *_conv("odd channels", (1, 37, 50, 50), (53, 37, 3, 3)),
    *_conv("patches 16x16", (1, 3, 224, 224), (384, 3, 16, 16), strides=[16, 16]),
    *_conv("small 7x7 image", (1, 512, 7, 7), (512, 512, 3, 3), pads=[1] * 4),
    *_conv("tiny", (1, 8, 8, 8), (8, 8, 3, 3), pads=[1] * 4),
    *_conv("1-D", (1, 80, 3000), (384, 80, 3), named=(3000,), pads=[1, 1]),
    *_conv("1-D depthwise", (1, 256, 1000), (256, 1, 31), named=(1000,), pads=[15, 15], group=256),
    *_conv("1-D samples", (1, 1, 16000), (64, 1, 400), strides=[160]),
    *_conv("1-D dilated", (1, 64, 2000), (64, 64, 3), pads=[4, 4], dilations=[4]),
    *_conv("1-D groups", (1, 768, 500), (768, 48, 128), pads=[64, 64], group=16),
    *_conv("3-D", (1, 16, 16, 28, 28), (32, 16, 3, 3, 3), named=(16,), pads=[1] * 6),
    *_conv("3-D rgb", (1, 3, 8, 112, 112), (32, 3, 3, 7, 7), strides=[1, 2, 2], pads=[1, 3, 3] * 2),
    *_conv("3-D depthwise", (1, 32, 8, 28, 28), (32, 1, 3, 3, 3), pads=[1] * 6, group=32),
    *_conv("3-D groups", (1, 32, 8, 28, 28), (32, 8, 3, 3, 3), pads=[1] * 6, group=4),
    *cases("Conv", ("input weights", {"x": f32(*IMAGE), "w": f32(64, 64, 3, 3)}), pads=[1] * 4),
    *_transposed("2x2", IMAGE, (64, 32, 2, 2), named=(56,), strides=[2, 2]),
    *_transposed("4x4", IMAGE, (64, 64, 4, 4), strides=[2, 2], pads=[1] * 4),
    *_transposed(
        "3x3 output padding",
        IMAGE,
        (64, 32, 3, 3),
        strides=[2, 2],
        pads=[1] * 4,
        output_padding=[1, 1],
    ),
    *_transposed(
        "to one channel 2x2", (1, 24, 184, 240), (24, 1, 2, 2), named=(184, 240), strides=[2, 2]
    ),
    *_transposed(
        "to one channel 4x4", (1, 21, 64, 64), (21, 1, 4, 4), strides=[2, 2], pads=[1] * 4
    ),
    *_transposed(
        "to three channels 4x4", (1, 64, 64, 64), (64, 3, 4, 4), strides=[2, 2], pads=[1] * 4
    ),
    *_transposed("depthwise", (1, 21, 64, 64), (21, 1, 4, 4), strides=[2, 2], group=21),
    *_transposed("1-D", (1, 128, 400), (128, 64, 16), strides=[8], pads=[4, 4]),
    *_transposed("1-D to one channel", (1, 32, 4000), (32, 1, 16), strides=[8], pads=[4, 4]),
    *_transposed("3-D", (1, 32, 8, 16, 16), (32, 16, 2, 2, 2), strides=[2, 2, 2]),
    *_pools("MaxPool"),
    *_pools("AveragePool"),
    *_pools("LpPool"),
    *cases(
        "MaxPool", ("indices", {"x": f32(*IMAGE)}), kernel_shape=[2, 2], strides=[2, 2], _outputs=2
    ),
    *(
        case
        for name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
        for case in cases(
            name, ("image", {"x": f32(*IMAGE)}), ("7x7", {"x": f32(8, 512, 7, 7)}), named=(56,)
        )
    ),
    *cases(
        "MaxUnpool",
        (
            "image",
            {
                "x": f32(1, 64, 28, 28),
                "i": lambda generator: np.arange(64 * 28 * 28).reshape(1, 64, 28, 28) * 4,
            },
        ),
        kernel_shape=[2, 2],
        strides=[2, 2],
    ),
    *(
        case
        for mode in ("nearest", "linear", "cubic")
        for case in (
            *_resize(mode, "up 2", IMAGE, [1, 1, 2, 2], named=(56,)),
            *_resize(mode, "down 2", (1, 64, 112, 112), [1, 1, 0.5, 0.5]),
            *_resize(mode, "rgb", (1, 3, 480, 640), [1, 1, 1.3, 0.7], named=(480, 640)),
            *_resize(mode, "up 4", (1, 21, 64, 64), [1, 1, 4, 4]),
        )
    ),
    *_resize(
        "linear",
        "align corners",
        IMAGE,
        [1, 1, 2, 2],
        coordinate_transformation_mode="align_corners",
    ),
    *_resize("linear", "antialias", (1, 3, 480, 640), [1, 1, 0.5, 0.5], antialias=1),
    *_resize("cubic", "antialias", (1, 3, 480, 640), [1, 1, 0.5, 0.5], antialias=1),
    *_resize("linear", "1-D", (1, 64, 2000), [1, 1, 2]),
    *_resize("linear", "3-D", (1, 16, 16, 32, 32), [1, 1, 2, 2, 2]),
    *_resize("nearest", "3-D", (1, 16, 16, 32, 32), [1, 1, 2, 2, 2]),
    *_resize("linear", "last", (1, 56, 56, 64), [1, 2, 2, 1]),
    *_resize("nearest", "last", (1, 56, 56, 64), [1, 2, 2, 1]),
    *cases(
        "Resize",
        (
            "u8 linear",
            {"x": u8(1, 3, 480, 640), "r": None, "s": given(np.float32([1, 1, 0.5, 0.5]))},
        ),
        mode="linear",
    ),
    *cases(
        "Upsample",
        ("nearest", {"x": f32(*IMAGE), "s": given(np.float32([1, 1, 2, 2]))}),
        mode="nearest",
        _opset=9,
    ),
    *(
        case
        for mode in ("linear", "nearest", "cubic")
        for case in cases(
            "GridSample",
            (mode, {"x": f32(1, 64, 56, 56), "g": uniform(-1, 1, 1, 56, 56, 2)}),
            mode=mode,
            named=(56,),
        )
    ),
    *cases(
        "GridSample",
        ("few channels", {"x": f32(1, 3, 256, 256), "g": uniform(-1, 1, 1, 256, 256, 2)}),
        mode="linear",
    ),
    *cases(
        "GridSample",
        ("one channel", {"x": f32(8, 1, 128, 128), "g": uniform(-1, 1, 8, 128, 128, 2)}),
        mode="linear",
        padding_mode="border",
    ),
    *cases(
        "GridSample",
        ("3-D", {"x": f32(1, 8, 16, 16, 16), "g": uniform(-1, 1, 1, 16, 16, 16, 3)}),
        mode="linear",
    ),
    *cases(
        "GridSample",
        ("reflection", {"x": f32(1, 64, 56, 56), "g": uniform(-2, 2, 1, 56, 56, 2)}),
        mode="linear",
        padding_mode="reflection",
    ),
    *cases("AffineGrid", ("2-D", {"t": f32(4, 2, 3), "s": given([4, 3, 128, 128])})),
    *(
        case
        for mode in ("avg", "max")
        for case in cases(
            "RoiAlign",
            (mode, {"x": f32(1, 64, 50, 50), "r": _regions(100, 50), "i": integers(0, 1, 100)}),
            named=(100,),
            output_height=7,
            output_width=7,
            sampling_ratio=2,
            mode=mode,
        )
    ),
    *cases(
        "RoiAlign",
        ("adaptive", {"x": f32(1, 64, 50, 50), "r": _regions(100, 50), "i": integers(0, 1, 100)}),
        output_height=7,
        output_width=7,
    ),
    *cases(
        "MaxRoiPool",
        (
            "100",
            {
                "x": f32(1, 64, 50, 50),
                "r": lambda g: np.concatenate(
                    [np.zeros((100, 1), np.float32), _regions(100, 50)(g)], axis=1
                ),
            },
        ),
        pooled_shape=[7, 7],
    ),
    *cases(
        "DeformConv",
        (
            "3x3",
            {
                "x": f32(1, 64, 28, 28),
                "w": Initializer(f32(64, 64, 3, 3, scale=0.1)),
                "o": f32(1, 18, 28, 28),
            },
        ),
        pads=[1] * 4,
        kernel_shape=[3, 3],
        _opset=22,
    ),
    *cases(
        "CropAndResize",
        (
            "100",
            {
                "x": f32(1, 16, 50, 50),
                "r": uniform(0, 1, 100, 4),
                "i": integers(0, 1, 100, dtype=np.int32),
                "s": given([14, 14]),
            },
        ),
        _domain="com.microsoft",
    ),
    *cases(
        "ConvInteger", ("3x3", {"x": u8(*IMAGE), "w": Initializer(u8(64, 64, 3, 3))}), pads=[1] * 4
    ),
    *cases(
        "QLinearConv",
        (
            "3x3",
            {
                "x": u8(*IMAGE),
                "xs": given(np.float32(0.02)),
                "xz": given(np.uint8(128)),
                "w": Initializer(s8(64, 64, 3, 3)),
                "ws": given(np.float32(0.01)),
                "wz": given(np.int8(0)),
                "ys": given(np.float32(0.1)),
                "yz": given(np.uint8(128)),
            },
        ),
        pads=[1] * 4,
    ),
    *cases(
        "QLinearGlobalAveragePool",
        (
            "image",
            {
                "x": u8(*IMAGE),
                "xs": given(np.float32(0.02)),
                "xz": given(np.uint8(128)),
                "ys": given(np.float32(0.01)),
                "yz": given(np.uint8(128)),
            },
        ),
        _domain="com.microsoft",
    ),
    *cases("DFT", ("512", {"x": f32(16, 512, 1)}), named=(16,), axis=1, _opset=17),
    *cases("DFT", ("odd", {"x": f32(16, 400, 2)}), axis=1, _opset=17),
    *cases("DFT", ("one sided", {"x": f32(100, 400, 1)}), axis=1, onesided=1, _opset=17),
    *cases(
        "STFT",
        (
            "16000",
            {
                "x": f32(1, 16000, 1),
                "s": given(160),
                "w": given(np.hanning(400).astype(np.float32)),
                "l": given(400),
            },
        ),
        _opset=17,
    ),
    *(
        case
        for name in ("HannWindow", "HammingWindow", "BlackmanWindow")
        for case in cases(name, ("400", {"n": integers(400, 401)}), _opset=17)
    ),
)
