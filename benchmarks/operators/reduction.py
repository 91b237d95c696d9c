"""Cases of reductions, cumulative operators and normalizations."""

import numpy as np

from .case import Array, OperatorCase, cases, f16, f32, f64, given, integers, mask, u8, uniform

SHAPES = {"256": (1, 256), "1 MB": (4, 128, 512), "6 MB": (8, 64, 56, 56)}
NAMED = (4, 128)


def _reduce(operator: str, **more) -> list[OperatorCase]:
    def draw(*shape: int) -> Array:
        return uniform(0.5, 1.5, *shape)

    found = cases(
        operator,
        *((size, {"x": draw(*shape), "a": given([-1])}) for size, shape in SHAPES.items()),
        named=NAMED,
        _opset=18,
        **more,
    )
    placed = {
        "axis 1 of 4": ((8, 64, 56, 56), [1]),
        "axes 2 3": ((8, 64, 56, 56), [2, 3]),
        "axis 0": ((512, 768), [0]),
        "axes 0 2": ((16, 64, 300), [0, 2]),
        "odd last": ((1024, 197), [-1]),
        "few last": ((100000, 3), [-1]),
        "all": ((512, 768), [0, 1]),
    }
    for size, (shape, axes) in placed.items():
        found += cases(
            operator,
            (size, {"x": draw(*shape), "a": given(axes)}),
            _opset=18,
            named=(8, 512, 16, 1024, 100000) if size in ("axis 0", "few last", "axes 2 3") else (),
            **more,
        )
    return found


def _arg(operator: str) -> list[OperatorCase]:
    found = cases(
        operator,
        *((size, {"x": f32(*shape)}) for size, shape in SHAPES.items()),
        named=NAMED,
        axis=-1,
    )
    found += cases(operator, ("axis 1 of 4", {"x": f32(1, 21, 256, 256)}), named=(256,), axis=1)
    found += cases(operator, ("axis 0", {"x": f32(512, 768)}), axis=0)
    found += cases(operator, ("u8", {"x": u8(64, 5000)}), axis=-1)
    found += cases(operator, ("few last", {"x": f32(100000, 3)}), named=(100000, 3), axis=-1)
    found += cases(operator, ("u8 few last", {"x": u8(100000, 3)}), named=(100000, 3), axis=-1)
    found += cases(operator, ("f16 few last", {"x": f16(100000, 3)}), named=(100000, 3), axis=-1)
    found += cases(operator, ("ten last", {"x": f32(20000, 10)}), named=(20000, 10), axis=-1)
    found += cases(operator, ("f64", {"x": f64(512, 512)}), named=(512,), axis=-1)
    found += cases(operator, ("u8 square", {"x": u8(512, 512)}), named=(512,), axis=-1)
    found += cases(operator, ("int64 axis 0", {"x": integers(0, 999, 512, 768)}), axis=0)
    return found + cases(
        operator, ("one row", {"x": f32(1, 50257)}), named=(50257,), axis=-1, select_last_index=1
    )


def _softmax(operator: str) -> list[OperatorCase]:
    shapes = {**SHAPES, "odd last": (1024, 197), "one row": (1, 50257), "few last": (100000, 3)}
    found = cases(
        operator, *((size, {"x": f32(*shape)}) for size, shape in shapes.items()), axis=-1
    )
    found += cases(operator, ("4x128x512", {"x": f32(4, 128, 512)}), named=NAMED, axis=-1)
    found += cases(operator, ("named last", {"x": f32(12, 128, 200)}), named=(128, 200), axis=-1)
    return found + cases(
        operator, ("axis 1 of 4", {"x": f32(1, 21, 256, 256)}), named=(256,), axis=1
    )


def _norm(operator: str, *names: str, **more) -> list[OperatorCase]:
    shapes = {
        "128x768": (128, 768),
        "1 MB": (4, 128, 512),
        "few": (1, 2048),
        "odd": (300, 197),
        "512x768": (512, 768),
    }
    sizes = [
        (
            size,
            {
                "x": f32(*shape),
                **{name: given(np.linspace(0.5, 1, shape[-1], dtype=np.float32)) for name in names},
            },
        )
        for size, shape in shapes.items()
    ]
    sizes[-2:] = sizes[:-3:-1]
    return cases(operator, *sizes, named=(4, 128, 512) if operator == "x" else (512,), **more)


REDUCTIONS = "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare"
IMAGE = (2, 64, 56, 56)
CHANNELS = {
    "g": given(np.linspace(0.5, 1, 64, dtype=np.float32)),
    "b": given(np.linspace(0.5, 1, 64, dtype=np.float32)),
}

CASES = (
    *(case for name in REDUCTIONS.split() for case in _reduce(f"Reduce{name}")),
    *cases("ReduceSum", ("int64", {"x": integers(0, 9, 512, 512), "a": given([-1])})),
    *cases("ReduceMax", ("int64", {"x": integers(0, 9, 512, 512), "a": given([-1])}), _opset=18),
    *cases("ReduceMax", ("u8", {"x": u8(512, 512), "a": given([-1])}), _opset=18),
    *_arg("ArgMax"),
    *_arg("ArgMin"),
    *(case for name in ("Softmax", "LogSoftmax", "Hardmax") for case in _softmax(name)),
    *(
        case
        for axis in (0, 1, 2)
        for case in cases(
            "CumSum", (f"axis {axis}", {"x": f32(64, 128, 100), "a": given(axis)}), named=(64, 128)
        )
    ),
    *cases(
        "CumProd",
        ("axis 2", {"x": f32(64, 128, 100), "a": given(2)}),
        named=(64, 128),
        _opset=26,
    ),
    *cases("CumSum", ("one row", {"x": f32(1, 100000), "a": given(1)})),
    *cases("CumSum", ("int64", {"x": integers(0, 2, 64, 2048), "a": given(1)}), named=(64, 2048)),
    *cases("CumSum", ("reverse", {"x": f32(256, 1000), "a": given(1)}), reverse=1, exclusive=1),
    *_norm("LayerNormalization", "g", "b"),
    *_norm("RMSNormalization", "g", _opset=23),
    *_norm("SimplifiedLayerNormalization", "g"),
    *cases(
        "SkipLayerNormalization",
        (
            "1 MB",
            {
                "x": f32(4, 128, 512),
                "s": f32(4, 128, 512),
                **{name: given(np.linspace(0.5, 1, 512, dtype=np.float32)) for name in "gb"},
            },
        ),
        named=(4, 128),
        _domain="com.microsoft",
    ),
    *cases(
        "SkipSimplifiedLayerNormalization",
        (
            "1 MB",
            {
                "x": f32(4, 128, 512),
                "s": f32(4, 128, 512),
                "g": given(np.linspace(0.5, 1, 512, dtype=np.float32)),
            },
        ),
        named=(4, 128),
        _domain="com.microsoft",
    ),
    *cases(
        "BatchNormalization",
        ("1.6 MB", {"x": f32(*IMAGE), **CHANNELS, "m": CHANNELS["b"], "v": CHANNELS["g"]}),
        named=(2, 56),
    ),
    *cases("InstanceNormalization", ("1.6 MB", {"x": f32(*IMAGE), **CHANNELS}), named=(2, 56)),
    *cases("InstanceNormalization", ("1-D", {"x": f32(2, 64, 3000), **CHANNELS})),
    *cases(
        "GroupNormalization",
        ("1.6 MB", {"x": f32(*IMAGE), **CHANNELS}),
        named=(2, 56),
        num_groups=8,
    ),
    *cases("LpNormalization", ("1 MB", {"x": f32(4, 128, 512)}), named=NAMED),
    *cases("LpNormalization", ("channels", {"x": f32(2, 64, 56, 56)}), axis=1, p=1),
    *cases("MeanVarianceNormalization", ("1.6 MB", {"x": f32(*IMAGE)}), named=(2, 56)),
    *cases("LRN", ("1.6 MB", {"x": f32(*IMAGE)}), named=(2, 56), size=5),
    *cases("ReduceMax", ("bool", {"x": mask(512, 512), "a": given([-1])}), _opset=20),
)
