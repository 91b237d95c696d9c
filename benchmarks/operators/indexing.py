"""Cases of operators that look up, sort, scatter or select."""

import numpy as np

from .case import Initializer, OperatorCase, cases, f16, f32, fed, given, integers, mask, u8


def _top_k() -> list[OperatorCase]:
    shapes = {
        "5 of 64x1000": (5, (64, 1000)),
        "1 of 50257": (1, (1, 50257)),
        "5 of 50257": (5, (1, 50257)),
        "300 of 8400": (300, (1, 8400)),
        "1000 of 8400": (1000, (1, 8400)),
        "100 of 1e6": (100, (1, 1_000_000)),
        "40 of 32000, 8 rows": (40, (8, 32000)),
        "all of 16x1000": (1000, (16, 1000)),
        "2 of 512x8": (2, (512, 8)),
    }
    found = []
    for size, (k, shape) in shapes.items():
        found += cases(
            "TopK", (size, {"x": f32(*shape), "k": given([k])}), _outputs=2, named=(shape[-1],)
        )
    found += cases(
        "TopK", ("axis 1 of 3", {"x": f32(8, 200, 100), "k": given([5])}), _outputs=2, axis=1
    )
    return found + cases(
        "TopK",
        ("int64", {"x": integers(0, 10000, 16, 2000), "k": given([10])}),
        _outputs=2,
        largest=0,
    )


def _boxes(batch: int, count: int):
    def draw(generator: np.random.Generator) -> np.ndarray:
        starts = generator.uniform(0, 500, (batch, count, 2))
        ends = starts + generator.uniform(10, 100, (batch, count, 2))
        return np.concatenate([starts, ends], axis=-1).astype(np.float32)

    return draw


def _nms(classes: int, count: int, score: float, kept: int):
    def scores(generator: np.random.Generator) -> np.ndarray:
        return generator.random((1, classes, count), np.float32)

    inputs = {
        "b": _boxes(1, count),
        "s": scores,
        "m": given([kept]),
        "i": given(np.float32([0.5])),
        "t": given(np.float32([score])),
    }
    return f"{classes} of {count}, {score}", inputs


def _permutation(size: int):
    return lambda generator: generator.permutation(size).reshape(-1, 1)


def _numbers(*shape: int):
    return integers(0, 1000, *shape)


TOKENS = (4, 128, 768)
CASES = (
    *cases(
        "Gather",
        ("rows", {"w": Initializer(f32(30522, 768)), "i": integers(0, 30522, 4, 128)}),
        named=(4, 128),
    ),
    *cases(
        "Gather", ("few rows", {"w": Initializer(f32(30522, 768)), "i": integers(0, 30522, 1, 4)})
    ),
    *cases(
        "Gather",
        ("axis 1", {"x": f32(64, 1000, 16), "i": integers(0, 1000, 200)}),
        named=(64, 200),
        axis=1,
    ),
    *cases(
        "Gather",
        ("last axis", {"x": f32(512, 1000), "i": integers(0, 1000, 100)}),
        named=(512,),
        axis=1,
    ),
    *(
        case
        for kind, draw in {"f16": f16, "u8": u8, "int64": _numbers}.items()
        for case in cases(
            "Gather", (f"rows {kind}", {"x": draw(1000, 1000), "i": integers(0, 1000, 500)})
        )
    ),
    *cases("GatherND", ("rows u8", {"x": u8(64, 128, 256), "i": integers(0, 64, 1000, 2)})),
    *cases(
        "GatherElements",
        ("last axis", {"x": f32(1000, 1000), "i": integers(0, 1000, 1000, 500)}),
        axis=1,
    ),
    *cases("Compress", ("axis 0 u8", {"x": u8(8400, 85), "c": mask(8400)}), axis=0),
    *cases("ArgMax", ("axis 0 int64", {"x": _numbers(1000, 1000)}), axis=0),
    *cases("Gather", ("int64", {"x": integers(0, 9, 100000), "i": integers(0, 100000, 50000)})),
    *cases(
        "GatherElements",
        ("axis 2", {"x": f32(*TOKENS), "i": integers(0, 768, 4, 128, 64)}),
        named=(4, 128),
        axis=2,
    ),
    *cases(
        "GatherElements",
        ("axis 1", {"x": f32(1, 8400, 80), "i": integers(0, 8400, 1, 300, 80)}),
        named=(300,),
        axis=1,
    ),
    *cases(
        "GatherND", ("rows", {"x": f32(64, 128, 256), "i": integers(0, 64, 1000, 2)}), named=(1000,)
    ),
    *cases(
        "GatherND",
        ("elements", {"x": f32(256, 512), "i": integers(0, 256, 50000, 2)}),
        named=(50000,),
    ),
    *cases(
        "GatherND",
        ("batch", {"x": f32(16, 1000, 64), "i": integers(0, 1000, 16, 100, 1)}),
        batch_dims=1,
    ),
    *cases(
        "ScatterND",
        ("rows", {"x": f32(1024, 256), "i": _permutation(1024), "u": f32(1024, 256)}),
        named=(1024,),
    ),
    *cases(
        "ScatterND",
        ("elements", {"x": f32(512, 512), "i": integers(0, 512, 50000, 2), "u": f32(50000)}),
        named=(50000,),
    ),
    *cases(
        "ScatterND",
        ("add", {"x": f32(512, 512), "i": integers(0, 512, 50000, 2), "u": f32(50000)}),
        reduction="add",
    ),
    *cases(
        "ScatterElements",
        ("axis 0", {"x": f32(1024, 256), "i": integers(0, 1024, 512, 256), "u": f32(512, 256)}),
        named=(512,),
    ),
    *cases(
        "ScatterElements",
        ("axis 1", {"x": f32(512, 512), "i": integers(0, 512, 512, 100), "u": f32(512, 100)}),
        named=(512,),
        axis=1,
    ),
    *cases(
        "ScatterElements",
        ("add", {"x": f32(1024, 256), "i": integers(0, 1024, 512, 256), "u": f32(512, 256)}),
        reduction="add",
    ),
    *cases(
        "ScatterElements",
        ("max", {"x": f32(1024, 256), "i": integers(0, 1024, 512, 256), "u": f32(512, 256)}),
        reduction="max",
    ),
    *cases(
        "Scatter",
        ("axis 0", {"x": f32(1024, 256), "i": integers(0, 1024, 512, 256), "u": f32(512, 256)}),
        _opset=10,
    ),
    *cases(
        "OneHot",
        (
            "last",
            {"i": integers(0, 1000, 4, 128), "d": given([1000]), "v": given(np.float32([0, 1]))},
        ),
        named=(4, 128),
    ),
    *cases(
        "OneHot",
        (
            "axis 1",
            {"i": integers(0, 21, 1, 256, 256), "d": given([21]), "v": given(np.float32([0, 1]))},
        ),
        axis=1,
    ),
    *cases(
        "OneHot",
        (
            "int64",
            {"i": integers(0, 1000, 4, 128), "d": given([1000]), "v": given(np.int64([0, 1]))},
        ),
    ),
    *_top_k(),
    *cases("Compress", ("axis 1", {"x": f32(*TOKENS), "c": mask(128)}), named=(4, 128), axis=1),
    *cases("Compress", ("axis 0", {"x": f32(8400, 85), "c": mask(8400)}), named=(8400,), axis=0),
    *cases("Compress", ("flat", {"x": f32(512, 512), "c": mask(512 * 512)})),
    *cases("Compress", ("small", {"x": f32(100, 4), "c": mask(100)}), axis=0),
    *cases("NonZero", ("dense", {"x": mask(512, 768)}), named=(512, 768)),
    *cases("NonZero", ("f32", {"x": f32(8, 128, 100)})),
    *cases(
        "NonZero",
        ("sparse", {"x": lambda generator: generator.random((1, 8400)) > 0.99}),
        named=(8400,),
    ),
    *cases("NonZero", ("small", {"x": mask(100)})),
    *cases("Unique", ("f32", {"x": integers(0, 5000, 20000, dtype=np.float32)}), _outputs=4),
    *cases("Unique", ("int64", {"x": integers(0, 5000, 20000)}), _outputs=1, named=(20000,)),
    *cases("Unique", ("small", {"x": integers(0, 50, 100)}), _outputs=1),
    *cases("Unique", ("unsorted", {"x": integers(0, 5000, 20000)}), sorted=0),
    *cases("Unique", ("axis 0", {"x": integers(0, 9, 2000, 3)}), axis=0),
    *cases("NonMaxSuppression", _nms(1, 1000, 0.1, 100), named=(1000,)),
    *cases("NonMaxSuppression", _nms(80, 8400, 0.95, 100)),
    *cases("NonMaxSuppression", _nms(1, 100, 0.5, 100)),
    *cases("NonMaxSuppression", _nms(1, 25200, 0.25, 300)),
    *cases("NonMaxSuppression", _nms(20, 1917, 0.3, 10)),
    *cases("ReverseSequence", ("128x4x768", {"x": f32(128, 4, 768), "l": fed([128, 100, 70, 3])})),
    *cases(
        "ReverseSequence",
        ("batch first", {"x": f32(16, 200, 64), "l": integers(1, 200, 16)}),
        batch_axis=0,
        time_axis=1,
        named=(16, 200),
    ),
    *cases("EyeLike", ("1000", {"x": f32(1000, 1000)})),
    *cases("Trilu", ("1000", {"x": f32(1000, 1000)}), named=(1000,)),
    *cases("Trilu", ("batch lower", {"x": f32(16, 128, 128)}), upper=0),
    *cases(
        "Range",
        ("100000", {"s": fed(np.int64(0)), "e": fed(np.int64(100000)), "d": fed(np.int64(1))}),
    ),
    *cases(
        "Range", ("small", {"s": fed(np.int64(0)), "e": fed(np.int64(128)), "d": fed(np.int64(1))})
    ),
    *cases("ConstantOfShape", ("1 MB", {"s": fed([512, 512])})),
    *cases(
        "ArrayFeatureExtractor",
        ("columns", {"x": f32(1000, 100), "i": given([[3, 5, 99, 7]])}),
        _domain="ai.onnx.ml",
    ),
    *cases(
        "TfIdfVectorizer",
        ("pairs", {"x": integers(0, 50, 16, 200, dtype=np.int32)}),
        mode="TF",
        min_gram_length=2,
        max_gram_length=2,
        max_skip_count=0,
        ngram_counts=[0, 0],
        ngram_indexes=list(range(100)),
        pool_int64s=[
            value for pair in range(100) for value in (pair % 50, (pair * 7 + pair // 50) % 50)
        ],
    ),
    *cases(
        "GatherBlockQuantized",
        (
            "rows",
            {
                "w": Initializer(u8(8000, 256)),
                "i": integers(0, 8000, 4, 32),
                "s": Initializer(f32(8000, 16)),
            },
        ),
        bits=4,
        block_size=32,
        quantize_axis=1,
        _domain="com.microsoft",
    ),
)
