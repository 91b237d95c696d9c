"""Cases of com.microsoft's operators on floats, of random numbers, and of the newest of ONNX."""

import numpy as np

from .case import Initializer, OperatorCase, cases, f32, fed, given, integers, uniform

ROWS, IMAGE = (128, 768), (1, 64, 56, 56)
MS = "com.microsoft"

CASES: list[OperatorCase] = [
    *cases(
        "FusedConv",
        ("3x3", {"x": f32(*IMAGE), "w": Initializer(f32(64, 64, 3, 3)), "b": Initializer(f32(64))}),
        named=(56,),
        _domain=MS,
        activation="Relu",
        pads=[1] * 4,
        kernel_shape=[3, 3],
    ),
    *cases(
        "FusedGemm",
        (
            "128x768x768",
            {"a": f32(*ROWS), "b": Initializer(f32(768, 768)), "c": Initializer(f32(768))},
        ),
        named=(128,),
        _domain=MS,
        activation="Relu",
    ),
    *cases(
        "TransposeMatMul",
        ("heads", {"a": f32(12, 128, 64), "b": f32(12, 128, 64)}),
        named=(12,),
        _domain=MS,
        transB=1,
    ),
    *cases(
        "ExpandDims",
        ("1 MB", {"x": f32(512, 512), "a": given(np.int32(1))}),
        named=(512,),
        _domain=MS,
    ),
    *cases("Trilu", ("1 MB", {"x": f32(512, 512)}), named=(512,), _domain=MS),
    *cases(
        "GatherND",
        ("rows", {"x": f32(1000, 64), "i": integers(0, 1000, 500, 1)}),
        named=(500,),
        _domain=MS,
    ),
    *cases(
        "GridSample",
        ("image", {"x": f32(*IMAGE), "g": uniform(-1, 1, 1, 56, 56, 2)}),
        named=(56,),
        _domain=MS,
    ),
    *cases(
        "Pad", ("image", {"x": f32(*IMAGE), "p": given([0, 0, 1, 1] * 2)}), named=(56,), _domain=MS
    ),
    *cases(
        "Range",
        ("1000 numbers", {"s": fed(np.int64(0)), "e": fed(np.int64(1000)), "d": fed(np.int64(1))}),
        _domain=MS,
    ),
    *cases("Unique", ("10000", {"x": uniform(0, 9, 10000)}), _domain=MS, _outputs=3),
    *cases(
        "MurmurHash3",
        ("10000", {"x": integers(0, 1 << 30, 10000, dtype=np.int32)}),
        named=(10000,),
        _domain=MS,
    ),
    *cases(
        "NGramRepeatBlock",
        ("4 x 128", {"i": integers(0, 99, 4, 128), "s": f32(4, 32000)}),
        named=(128,),
        _domain=MS,
        ngram_size=3,
    ),
    *cases(
        "GroupQueryAttention",
        (
            "64 of 8 heads",
            {
                "q": f32(1, 64, 512),
                "k": f32(1, 64, 128),
                "v": f32(1, 64, 128),
                "pk": f32(1, 2, 64, 64),
                "pv": f32(1, 2, 64, 64),
                "l": given([63], np.int32),
                "t": given(64, np.int32),
            },
        ),
        _domain=MS,
        _outputs=3,
        num_heads=8,
        kv_num_heads=2,
    ),
    *cases(
        "MoE",
        (
            "64 rows of 8 experts",
            {
                "x": f32(64, 256),
                "p": f32(64, 8),
                "w1": Initializer(f32(8, 512, 256, scale=0.05)),
                "b1": Initializer(f32(8, 512)),
                "w2": Initializer(f32(8, 256, 512, scale=0.05)),
                "b2": Initializer(f32(8, 256)),
            },
        ),
        named=(64,),
        _domain=MS,
        k=2,
        activation_type="relu",
    ),
    *cases(
        "RotaryEmbedding",
        (
            "of ONNX",
            {
                "x": f32(1, 8, 128, 64),
                "c": f32(1, 128, 32),
                "s": f32(1, 128, 32),
            },
        ),
        named=(128,),
        _opset=23,
    ),
    *cases("Swish", ("1 MB", {"x": f32(512, 512)}), named=(512,), _opset=24),
    *cases(
        "MelWeightMatrix",
        (
            "80",
            {
                name: given(value, dtype)
                for name, value, dtype in (
                    ("n", 80, np.int64),
                    ("d", 512, np.int64),
                    ("r", 16000, np.int64),
                    ("l", 0.0, np.float32),
                    ("h", 8000.0, np.float32),
                )
            },
        ),
    ),
    *cases("RandomNormal", ("1 MB", {}), shape=[512, 512]),
    *cases("RandomUniform", ("1 MB", {}), shape=[512, 512]),
    *cases("RandomNormalLike", ("1 MB", {"x": f32(512, 512)}), named=(512,)),
    *cases("RandomUniformLike", ("1 MB", {"x": f32(512, 512)}), named=(512,)),
    *cases("Bernoulli", ("1 MB", {"x": uniform(0, 1, 512, 512)}), named=(512,)),
    *cases("Multinomial", ("100 of 1000", {"x": f32(8, 1000)}), sample_size=100),
    *cases(
        "SVMClassifier",
        ("1000 rows", {"x": f32(1000, 20)}),
        _domain="ai.onnx.ml",
        _outputs=2,
        kernel_type="RBF",
        kernel_params=[0.1, 0.0, 3.0],
        vectors_per_class=[25, 25],
        rho=[0.3],
        coefficients=[0.1] * 50,
        support_vectors=[0.01 * (value % 97) for value in range(1000)],
        classlabels_ints=[0, 1],
    ),
]
