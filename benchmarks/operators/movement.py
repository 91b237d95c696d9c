"""Cases of operators that move data."""

from .case import OperatorCase, cases, f16, f32, given, integers, mask, u8

TRANSPOSES = {
    "matrix": ((1024, 1024), [1, 0]),
    "small matrix": ((64, 64), [1, 0]),
    "heads": ((4, 128, 12, 64), [0, 2, 1, 3]),
    "to last": ((1, 64, 112, 112), [0, 2, 3, 1]),
    "from last": ((1, 112, 112, 64), [0, 3, 1, 2]),
    "rgb": ((1, 3, 640, 640), [0, 2, 3, 1]),
    "from rgb": ((1, 640, 640, 3), [0, 3, 1, 2]),
    "5-D": ((2, 3, 16, 20, 85), [0, 1, 3, 4, 2]),
    "shuffle": ((1, 2, 58, 28, 28), [0, 2, 1, 3, 4]),
    "windows": ((1, 8, 7, 8, 7, 96), [0, 1, 3, 2, 4, 5]),
    "reversed": ((50, 30, 20, 10), [3, 2, 1, 0]),
    "6-D": ((2, 4, 8, 16, 8, 6), [5, 3, 1, 0, 2, 4]),
    "keys": ((4, 128, 12, 64), [0, 2, 3, 1]),
    "anchors": ((1, 255, 20, 20), [0, 2, 3, 1]),
    "pixels": ((1, 4, 2, 2, 128, 128), [0, 1, 4, 2, 5, 3]),
}


KINDS = {"f32": f32, "f16": f16, "u8": u8, "int64": lambda *shape: integers(0, 9, *shape)}


def _transposes() -> list[OperatorCase]:
    found = []
    for size, (shape, perm) in TRANSPOSES.items():
        found += cases(
            "Transpose",
            (size, {"x": f32(*shape)}),
            named=tuple({*shape[:1], *shape[2:]} - {1, 3}),
            perm=perm,
        )
    for kind, draw in {**KINDS, "bool": mask}.items():
        if kind == "f32":
            continue
        found += cases("Transpose", (f"matrix {kind}", {"x": draw(512, 784)}), perm=[1, 0])
        found += cases(
            "Transpose", (f"to last {kind}", {"x": draw(1, 64, 56, 56)}), perm=[0, 2, 3, 1]
        )
    return found


IMAGE = (2, 64, 56, 56)
PADS = [0, 0, 3, 3, 0, 0, 3, 3]


def _pads(mode: str) -> list[OperatorCase]:
    found = cases(
        "Pad", (f"{mode} image", {"x": f32(*IMAGE), "p": given(PADS)}), named=(2, 56), mode=mode
    )
    found += cases(
        "Pad",
        (f"{mode} row", {"x": f32(1, 160000), "p": given([0, 200, 0, 200])}),
        named=(160000,),
        mode=mode,
    )
    found += cases(
        "Pad",
        (f"{mode} rgb", {"x": f32(1, 3, 480, 640), "p": given([0, 0, 80, 0, 0, 0, 80, 0])}),
        mode=mode,
    )
    found += cases(
        "Pad",
        (
            f"{mode} volume",
            {"x": f32(1, 16, 16, 32, 32), "p": given([0, 0, 1, 1, 1, 0, 0, 1, 1, 1])},
        ),
        mode=mode,
    )
    return found + cases("Pad", (f"{mode} u8", {"x": u8(*IMAGE), "p": given(PADS)}), mode=mode)


def _slice(size: str, shape, starts, ends, axes, steps, draw=f32, named=()) -> list[OperatorCase]:
    inputs = {
        "x": draw(*shape),
        "s": given(starts),
        "e": given(ends),
        "a": given(axes),
        "t": given(steps),
    }
    return cases("Slice", (size, inputs), named=named)


CASES = (
    *_transposes(),
    *(case for mode in ("constant", "reflect", "edge", "wrap") for case in _pads(mode)),
    *cases("Concat", ("axis 1", {"x": f32(*IMAGE), "y": f32(*IMAGE)}), named=(2, 56), axis=1),
    *cases("Concat", ("last", {"x": f32(512, 300), "y": f32(512, 200)}), named=(512,), axis=1),
    *cases(
        "Concat", ("columns", {"x": f32(100000, 1), "y": f32(100000, 1)}), named=(100000,), axis=1
    ),
    *cases(
        "Concat", ("int64", {"x": integers(0, 9, 4, 1000), "y": integers(0, 9, 4, 1000)}), axis=1
    ),
    *cases(
        "Concat", ("eight", {f"x{i}": f32(4, 128, 64) for i in range(8)}), named=(4, 128), axis=2
    ),
    *_slice("rows", (4, 128, 768), [10], [100], [1], [1], named=(4, 128)),
    *_slice("last", (4, 128, 768), [100], [400], [2], [1], named=(4, 128)),
    *_slice("steps", IMAGE, [0, 1], [56, 55], [2, 3], [2, 2], named=(2, 56)),
    *(
        case
        for kind, draw in KINDS.items()
        for case in (
            *_slice(f"every second {kind}", (256, 512), [1], [512], [1], [2], draw=draw),
            *cases(
                "Expand", (f"middle {kind}", {"x": draw(64, 1, 200), "s": given([64, 50, 200])})
            ),
            *cases("Tile", (f"last {kind}", {"x": draw(64, 3, 64), "r": given([1, 1, 5])})),
            *cases(
                "Concat",
                (f"sixteen {kind}", {f"x{n}": draw(160, 16 + n % 3) for n in range(16)}),
                axis=1,
            ),
        )
    ),
    *_slice("backwards", (512, 768), [-1], [-1000], [1], [-1]),
    *_slice("rows backwards", (512, 768), [-1], [-1000], [0], [-1]),
    *_slice("u8", (1, 480, 640, 3), [10, 20], [400, 600], [1, 2], [1, 1], draw=u8),
    *_slice("channel", (1, 640, 640, 3), [0], [1], [3], [1]),
    *cases(
        "Split", ("channels", {"x": f32(*IMAGE)}), named=(2, 56), axis=1, num_outputs=2, _outputs=2
    ),
    *cases(
        "Split",
        ("last", {"x": f32(4, 128, 768)}),
        named=(4, 128),
        axis=2,
        num_outputs=3,
        _outputs=3,
    ),
    *cases(
        "Split",
        ("columns", {"x": f32(100000, 4)}),
        named=(100000,),
        axis=1,
        num_outputs=4,
        _outputs=4,
    ),
    *cases("Tile", ("image", {"x": f32(*IMAGE), "r": given([1, 2, 1, 2])}), named=(2, 56)),
    *cases("Tile", ("row", {"x": f32(1, 1000), "r": given([256, 1])})),
    *cases("Tile", ("elements", {"x": f32(1000, 1), "r": given([1, 256])})),
    *cases("Expand", ("rows", {"x": f32(4, 1, 768), "s": given([4, 128, 768])})),
    *cases("Expand", ("last", {"x": f32(4, 128, 1), "s": given([4, 128, 768])}), named=(128,)),
    *cases("Expand", ("middle", {"x": f32(1, 8, 1, 128, 64), "s": given([1, 8, 4, 128, 64])})),
    *cases("Reshape", ("1 MB", {"x": f32(4, 128, 512), "s": given([4, 128, 8, 64])})),
    *cases("Flatten", ("1 MB", {"x": f32(4, 128, 512)})),
    *cases("Squeeze", ("1 MB", {"x": f32(1, 128, 2048), "a": given([0])})),
    *cases("Unsqueeze", ("1 MB", {"x": f32(128, 2048), "a": given([0])})),
    *cases("Shape", ("1 MB", {"x": f32(128, 2048)}), named=(128,)),
    *cases("Size", ("1 MB", {"x": f32(128, 2048)}), named=(128,)),
    *cases("DepthToSpace", ("DCR", {"x": f32(1, 64, 112, 112)}), blocksize=2, named=(112,)),
    *cases("DepthToSpace", ("CRD", {"x": f32(1, 64, 112, 112)}), blocksize=2, mode="CRD"),
    *cases(
        "DepthToSpace", ("super-resolution", {"x": f32(1, 9, 224, 224)}), blocksize=3, mode="CRD"
    ),
    *cases("SpaceToDepth", ("image", {"x": f32(1, 16, 224, 224)}), blocksize=2, named=(224,)),
    *cases("SpaceToDepth", ("rgb", {"x": f32(1, 3, 640, 640)}), blocksize=2),
    *cases(
        "CenterCropPad", ("image", {"x": f32(3, 256, 256), "s": given([224, 224])}), axes=[1, 2]
    ),
    *cases(
        "Col2Im",
        ("apart", {"x": f32(1, 32, 4096), "i": given([128, 128]), "b": given([2, 2])}),
        strides=[2, 2],
    ),
    *cases("Col2Im", ("image", {"x": f32(1, 576, 3136), "i": given([58, 58]), "b": given([3, 3])})),
    *cases(
        "TensorScatter",
        ("cache", {"p": f32(1, 8, 1024, 64), "u": f32(1, 8, 1, 64), "i": integers(500, 501, 1)}),
        _opset=24,
    ),
    *cases(
        "UnfoldTensor",
        ("row", {"x": f32(4, 16000)}),
        named=(16000,),
        dim=1,
        size=400,
        step=160,
        _domain="com.microsoft",
    ),
    *cases("BitCast", ("1 MB", {"x": f32(512, 512)}), to=6, _opset=26),
)
