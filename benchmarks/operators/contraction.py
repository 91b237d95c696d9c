"""Cases of matmuls, attention, recurrent layers and classical models."""

import numpy as np

from .case import Array, Initializer, OperatorCase, cases, f16, f32, given, integers, s8, u8

MATMULS = {
    "128x768x768": ((128, 768), (768, 768)),
    "row": ((1, 768), (768, 3072)),
    "column": ((3072, 768), (768, 1)),
    "dot": ((1, 4096), (4096, 1)),
    "outer": ((768, 1), (1, 768)),
    "tall": ((10000, 16), (16, 16)),
    "deep": ((16, 20000), (20000, 16)),
    "few features": ((2048, 96), (96, 10)),
    "odd": ((197, 193), (193, 191)),
    "heads": ((12, 128, 64), (12, 64, 128)),
    "small batch": ((1000, 8, 8), (1000, 8, 8)),
    "tiny": ((4, 4), (4, 4)),
    "shared right": ((16, 32, 64), (64, 64)),
    "shared left": ((64, 64), (16, 64, 32)),
    "vectors": ((64, 1, 128), (64, 128, 64)),
    "3 x 3": ((4096, 3, 3), (4096, 3, 1)),
    "points": ((100000, 3), (3, 3)),
}


def _matmuls() -> list[OperatorCase]:
    found = []
    for size, (left, right) in MATMULS.items():
        named = tuple({left[0]} - {1})
        found += cases(
            "MatMul", (f"inputs {size}", {"a": f32(*left), "b": f32(*right)}), named=named
        )
        if len(right) == 2:
            found += cases(
                "MatMul",
                (f"weights {size}", {"a": f32(*left), "b": Initializer(f32(*right))}),
                named=named,
            )
    return found


EQUATIONS = {
    "bhid,bhjd->bhij": ((2, 12, 128, 64), (2, 12, 128, 64)),
    "bij,bjk->bik": ((12, 128, 64), (12, 64, 128)),
    "ij,j->i": ((1000, 1000), (1000,)),
    "i,j->ij": ((1000,), (1000,)),
    "bhwc,hkc->bhwk": ((8, 14, 14, 64), (14, 14, 64)),
    "bnc,bmc->bnm": ((4, 200, 64), (4, 200, 64)),
    "abc,cd->abd": ((16, 32, 64), (64, 64)),
    "bi,bi->b": ((1000, 256), (1000, 256)),
    "bchw,bkc->bkhw": ((1, 64, 56, 56), (1, 20, 64)),
    "bthd,bshd->bhts": ((2, 64, 8, 32), (2, 64, 8, 32)),
}
UNARY_EQUATIONS = {
    "ii->i": (1000, 1000),
    "bij->bji": (8, 200, 300),
    "bij->j": (8, 200, 300),
    "bii->b": (64, 100, 100),
}


def _recurrent(operator: str, gates: int) -> list[OperatorCase]:
    found = []
    for size, (steps, batch, width, directions) in {
        "64 steps": (64, 1, 128, 1),
        "batch 16": (20, 16, 64, 1),
        "both directions": (50, 2, 96, 2),
        "one step": (1, 1, 256, 1),
        "wide": (10, 1, 512, 1),
        "narrow": (200, 1, 8, 1),
    }.items():

        def weight(*shape: int) -> Initializer:
            return Initializer(f32(*shape, scale=0.1))

        inputs = {
            "x": f32(steps, batch, width),
            "w": weight(directions, gates * width, width),
            "r": weight(directions, gates * width, width),
            "b": weight(directions, 2 * gates * width),
        }
        found += cases(
            operator,
            (size, inputs),
            named=(64, 16, 50),
            hidden_size=width,
            direction="bidirectional" if directions == 2 else "forward",
        )
    return [case for case in found if not case.named or set(case.named) & {64, 16, 50}]


def _trees(operator: str, rows: int) -> list[OperatorCase]:
    depth, count = 6, 100
    nodes = 2 ** (depth + 1) - 1
    inner = 2**depth - 1
    generator = np.random.default_rng(5)
    ids = [node for _ in range(count) for node in range(nodes)]
    trees = [tree for tree in range(count) for _ in range(nodes)]
    leaves = [node for node in range(nodes) if node >= inner]
    attributes = {
        "nodes_treeids": trees,
        "nodes_nodeids": ids,
        "nodes_featureids": [int(generator.integers(20)) if node < inner else 0 for node in ids],
        "nodes_modes": ["BRANCH_LEQ" if node < inner else "LEAF" for node in ids],
        "nodes_values": [
            float(generator.standard_normal()) if node < inner else 0.0 for node in ids
        ],
        "nodes_truenodeids": [2 * node + 1 if node < inner else 0 for node in ids],
        "nodes_falsenodeids": [2 * node + 2 if node < inner else 0 for node in ids],
        "nodes_missing_value_tracks_true": [0] * len(ids),
    }
    kind = "target" if operator.endswith("Regressor") else "class"
    attributes |= {
        f"{kind}_treeids": [tree for tree in range(count) for _ in leaves],
        f"{kind}_nodeids": leaves * count,
        f"{kind}_ids": [0] * len(leaves) * count
        if kind == "target"
        else [int(v) for v in generator.integers(0, 3, len(leaves) * count)],
        f"{kind}_weights": [float(value) for value in generator.random(len(leaves) * count)],
    }
    if kind == "target":
        attributes["n_targets"] = 1
    else:
        attributes["classlabels_int64s"] = [0, 1, 2]
    return cases(
        operator,
        (f"{rows} rows", {"x": f32(rows, 20)}),
        named=(rows,) if rows > 1 else (),
        _domain="ai.onnx.ml",
        _outputs=1 if kind == "target" else 2,
        **attributes,
    )


def _heads(length: int, past: int = 0) -> dict[str, Array]:
    return {name: f32(1, 12, length + (past if name != "q" else 0), 64) for name in "qkv"}


CASES = (
    *_matmuls(),
    *(
        case
        for equation, (left, right) in EQUATIONS.items()
        for case in cases(
            "Einsum",
            (equation, {"a": f32(*left), "b": f32(*right)}),
            named=tuple({left[0]} - {1}),
            equation=equation,
        )
    ),
    *(
        case
        for equation, shape in UNARY_EQUATIONS.items()
        for case in cases("Einsum", (equation, {"a": f32(*shape)}), equation=equation)
    ),
    *cases(
        "Gemm",
        ("transposed", {"a": f32(64, 256), "b": f32(512, 256), "c": f32(512)}),
        transB=1,
        named=(64,),
    ),
    *cases(
        "Gemm",
        (
            "weights row",
            {"a": f32(1, 2048), "b": Initializer(f32(1000, 2048)), "c": Initializer(f32(1000))},
        ),
        transB=1,
    ),
    *cases(
        "Gemm",
        ("both transposed", {"a": f32(256, 64), "b": f32(512, 256), "c": f32(512)}),
        transA=1,
        transB=1,
        alpha=0.5,
    ),
    *cases(
        "MatMul",
        (
            "int32",
            {
                "a": integers(0, 9, 128, 128, dtype=np.int32),
                "b": integers(0, 9, 128, 128, dtype=np.int32),
            },
        ),
    ),
    *cases("MatMul", ("int64", {"a": integers(0, 9, 128, 128), "b": integers(0, 9, 128, 128)})),
    *cases(
        "MatMul",
        (
            "f64",
            {
                "a": lambda g: g.standard_normal((128, 128)),
                "b": lambda g: g.standard_normal((128, 128)),
            },
        ),
    ),
    *cases("MatMul", ("f16", {"a": f16(128, 128), "b": f16(128, 128)})),
    *(
        case
        for rows in (1, 4, 128)
        for case in cases(
            "MatMulInteger",
            (f"{rows} rows, inputs", {"a": u8(rows, 768), "b": s8(768, 768)}),
            named=(4, 128),
        )
    ),
    *(
        case
        for rows in (1, 128)
        for case in cases(
            "MatMulInteger",
            (f"{rows} rows", {"a": u8(rows, 768), "b": Initializer(s8(768, 768))}),
            named=(128,),
        )
    ),
    *cases("MatMulInteger", ("heads", {"a": u8(12, 128, 64), "b": u8(12, 64, 128)})),
    *cases(
        "MatMulIntegerToFloat",
        (
            "128 rows",
            {
                "a": u8(128, 768),
                "b": Initializer(s8(768, 768)),
                "s": given(np.float32(0.1)),
                "t": given(np.float32(0.1)),
            },
        ),
        _domain="com.microsoft",
    ),
    *cases(
        "DynamicQuantizeMatMul",
        (
            "128 rows",
            {"a": f32(128, 768), "b": Initializer(s8(768, 768)), "t": given(np.float32(0.1))},
        ),
        _domain="com.microsoft",
    ),
    *cases(
        "QLinearMatMul",
        (
            "128 rows",
            {
                "a": u8(128, 768),
                "as": given(np.float32(0.1)),
                "az": given(np.uint8(128)),
                "b": Initializer(s8(768, 768)),
                "bs": given(np.float32(0.1)),
                "bz": given(np.int8(0)),
                "ys": given(np.float32(2)),
                "yz": given(np.uint8(128)),
            },
        ),
    ),
    *(
        case
        for rows in (1, 64)
        for case in cases(
            "MatMulNBits",
            (
                f"{rows} rows",
                {
                    "a": f32(rows, 1024),
                    "b": Initializer(u8(1024, 32, 16)),
                    "s": Initializer(f32(1024, 32)),
                },
            ),
            K=1024,
            N=1024,
            bits=4,
            block_size=32,
            named=(64,),
            _domain="com.microsoft",
        )
    ),
    *cases(
        "FusedMatMul",
        ("transposed", {"a": f32(12, 128, 64), "b": f32(12, 128, 64)}),
        transB=1,
        alpha=0.125,
        _domain="com.microsoft",
    ),
    *cases(
        "CDist",
        ("sqeuclidean", {"a": f32(500, 64), "b": f32(300, 64)}),
        metric="sqeuclidean",
        _domain="com.microsoft",
    ),
    *cases("Inverse", ("64 of 8x8", {"x": f32(64, 8, 8)}), _domain="com.microsoft"),
    *cases(
        "Det",
        ("64 of 8x8", {"x": f32(64, 8, 8)}),
        ("1000 of 3x3", {"x": f32(1000, 3, 3)}),
        ("100x100", {"x": f32(100, 100)}),
    ),
    *cases(
        "Attention",
        ("128", _heads(128)),
        ("1 of 512", _heads(1, 511)),
        ("512", _heads(512)),
        named=(128,),
        _opset=23,
    ),
    *cases(
        "MultiHeadAttention",
        ("128", {"q": f32(1, 128, 768), "k": f32(1, 128, 768), "v": f32(1, 128, 768)}),
        num_heads=12,
        named=(128,),
        _domain="com.microsoft",
    ),
    *cases(
        "Attention",
        (
            "128",
            {
                "x": f32(1, 128, 256),
                "w": Initializer(f32(256, 768, scale=0.1)),
                "b": Initializer(f32(768)),
            },
        ),
        num_heads=4,
        _domain="com.microsoft",
    ),
    *cases(
        "RotaryEmbedding",
        (
            "128",
            {
                "x": f32(1, 128, 512),
                "p": integers(0, 128, 1, 128),
                "c": Initializer(f32(2048, 32)),
                "s": Initializer(f32(2048, 32)),
            },
        ),
        num_heads=8,
        _domain="com.microsoft",
    ),
    *cases(
        "EmbedLayerNormalization",
        (
            "128",
            {
                "i": integers(0, 1000, 1, 128, dtype=np.int32),
                "t": integers(0, 2, 1, 128, dtype=np.int32),
                "w": Initializer(f32(1000, 768)),
                "p": Initializer(f32(512, 768)),
                "e": Initializer(f32(2, 768)),
                "g": Initializer(f32(768)),
                "b": Initializer(f32(768)),
            },
        ),
        _domain="com.microsoft",
        _outputs=2,
    ),
    *_recurrent("LSTM", 4),
    *_recurrent("GRU", 3),
    *_recurrent("RNN", 1),
    *_trees("TreeEnsembleRegressor", 1),
    *_trees("TreeEnsembleRegressor", 1000),
    *_trees("TreeEnsembleClassifier", 1),
    *_trees("TreeEnsembleClassifier", 1000),
    *cases(
        "LinearClassifier",
        ("1000 rows", {"x": f32(1000, 20)}),
        _domain="ai.onnx.ml",
        _outputs=2,
        coefficients=[0.1 * value for value in range(60)],
        intercepts=[0.1, 0.2, 0.3],
        classlabels_ints=[0, 1, 2],
        post_transform="SOFTMAX",
    ),
    *cases(
        "LinearRegressor",
        ("1000 rows", {"x": f32(1000, 20)}),
        _domain="ai.onnx.ml",
        coefficients=[0.1 * value for value in range(20)],
        intercepts=[0.1],
    ),
    *cases(
        "SVMRegressor",
        ("1000 rows", {"x": f32(1000, 20)}),
        _domain="ai.onnx.ml",
        kernel_type="RBF",
        kernel_params=[0.1, 0.0, 3.0],
        n_supports=50,
        rho=[0.3],
        coefficients=[0.1] * 50,
        support_vectors=[0.01 * (value % 97) for value in range(1000)],
    ),
    *cases("Normalizer", ("1000 rows", {"x": f32(1000, 100)}), _domain="ai.onnx.ml", norm="L2"),
    *cases(
        "Scaler",
        ("1000 rows", {"x": f32(1000, 100)}),
        _domain="ai.onnx.ml",
        offset=[0.1] * 100,
        scale=[2.0] * 100,
    ),
    *cases(
        "Imputer",
        ("1000 rows", {"x": f32(1000, 100)}),
        _domain="ai.onnx.ml",
        imputed_value_floats=[0.5] * 100,
        replaced_value_float=float("nan"),
    ),
    *cases("Binarizer", ("1000 rows", {"x": f32(1000, 100)}), _domain="ai.onnx.ml", threshold=0.5),
    *cases(
        "FeatureVectorizer",
        ("1000 rows", {"x": f32(1000, 50), "y": f32(1000, 50)}),
        _domain="ai.onnx.ml",
        inputdimensions=[50, 50],
    ),
    *cases(
        "OneHotEncoder",
        ("1000 rows", {"x": integers(0, 20, 1000, 5)}),
        _domain="ai.onnx.ml",
        cats_int64s=list(range(20)),
        zeros=1,
    ),
    *cases(
        "LabelEncoder",
        ("100000", {"x": integers(0, 1000, 100000)}),
        _domain="ai.onnx.ml",
        keys_int64s=list(range(1000)),
        values_int64s=list(range(1000, 0, -1)),
        default_int64=-1,
    ),
)
