"""Matrix products against ONNX Runtime, and where it lacks them the reference evaluator."""

import ml_dtypes
import numpy as np
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare,
    compare_with_onnxruntime,
    const,
    evaluate,
    run_compiled,
    summable,
)
from onnx import helper

from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx
from graphc.frontend.onnx.operators.einsum import normalize_equation

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


def _integers(*shape: int, dtype: type) -> np.ndarray:
    low, high = (0, 256) if dtype == np.uint8 else (-128, 128)
    return summable(_random.integers(low, high, shape).astype(dtype))


def test_gathered_matrices_by_a_column_each():
    """Mixture-of-experts layers are written like this: each token picks the weights of its
    expert."""
    nodes = [
        helper.make_node("Gather", ["w", "chosen"], ["gathered"], axis=0),
        helper.make_node("MatMul", ["gathered", "x"], ["y"]),
    ]
    inputs = {"x": (np.float32, ["n", 32, 1]), "chosen": (np.int64, ["n"])}
    model = build_model(nodes, inputs, ["y"], {"w": _floats(4, 128, 32)})
    feeds = {"x": _floats(5, 32, 1), "chosen": np.array([3, 0, 0, 1, 3])}
    compare_with_onnxruntime(model, feeds, tolerances={"y": 1e-5})


def test_matmul():
    cases = Cases(opset=13)
    for a, b in [
        ((3, 4), (4, 5)),
        ((4,), (4, 5)),
        ((3, 4), (4,)),
        ((4,), (4,)),
        ((2, 3, 4), (4,)),
        ((4,), (2, 4, 5)),
        ((2, 3, 4), (4, 5)),
        ((2, 3, 4), (1, 4, 5)),
        ((2, 3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (1, 6, 4, 5)),
        ((3, 4), (2, 4, 5)),
        ((1, 3, 4), (2, 4, 5)),
        ((2, 6, 1, 3, 4), (6, 2, 4, 5)),
        ((0, 4), (4, 5)),
        ((3, 0), (0, 5)),
    ]:
        cases.add("MatMul", _floats(*a), _floats(*b), tolerance=1e-5)
    dims = ["batch", "rows", 4]
    cases.add("MatMul", Feed(_floats(2, 3, 4), dims), _floats(4, 5), tolerance=1e-5)
    cases.add(
        "MatMul",
        Feed(_floats(2, 3, 4), dims),
        Feed(_floats(2, 4, 3), ["batch", 4, "rows"]),
        tolerance=1e-5,
    )
    cases.add(
        "MatMul", Feed(_floats(1, 3, 4), ["one", 3, 4]), Feed(_floats(2, 4, 3), ["batch", 4, 3]),
        tolerance=1e-5,
    )  # fmt: skip
    cases.add("MatMul", _floats(3, 4, dtype=np.float64), _floats(4, 5, dtype=np.float64))
    cases.add("MatMul", _floats(3, 64, dtype=np.float16), _floats(64, 5, dtype=np.float16))
    for dtype in (np.int32, np.int64, np.uint32):
        a, b = (_integers(*shape, dtype=np.uint8).astype(dtype) for shape in ((3, 4), (4, 5)))
        cases.add("MatMul", a, b)
    cases.compare_with_onnxruntime()


def test_brain_floats_and_products_with_transposed():
    cases = Cases(opset=13)
    a, b = _floats(3, 64).astype(ml_dtypes.bfloat16), _floats(64, 5).astype(ml_dtypes.bfloat16)
    cases.add("MatMul", a, b)
    a, b = _floats(16, 4), _floats(5, 4)
    cases.add("Gemm", a, b, transB=1, tolerance=1e-5)
    fed = Feed(a, ["n", "k"]), Feed(b, ["m", "k"])
    cases.add("Gemm", *fed, transB=1, tolerance=1e-5)
    cases.compare_compiled_with_evaluation()


def test_gemm():
    cases = Cases(opset=13)
    a, b, c = _floats(3, 4), _floats(4, 5), _floats(3, 5)
    cases.add("Gemm", a, b, c, tolerance=1e-5)
    cases.add("Gemm", a, b, tolerance=1e-5)
    cases.add("Gemm", a.T.copy(), b, transA=1, tolerance=1e-5)
    cases.add("Gemm", a, b.T.copy(), c[0], transB=1, alpha=0.5, beta=2.0, tolerance=1e-5)
    cases.add("Gemm", a.T.copy(), b.T.copy(), c[:, :1], transA=1, transB=1, tolerance=1e-5)
    cases.add("Gemm", a, b, const(1.5), tolerance=1e-5)
    cases.add("Gemm", a, b, c, beta=0.0, tolerance=1e-5)
    cases.compare_with_onnxruntime()


EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bhqk,bhkd->bqhd", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("bsd,dhk->bshk", (2, 3, 4), (4, 5, 6)),
    ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)),
    ("nchw,ncuv->nhuwv", (2, 3, 4, 5), (2, 3, 2, 3)),
    ("i,j->ij", (3,), (4,)),
    ("i,i->", (3,), (3,)),
    ("bi,bi->b", (2, 3), (2, 3)),
    ("ij,ij->ji", (3, 4), (3, 4)),
    ("abc,cd->", (2, 3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)),
    ("ij->ji", (3, 4)),
    ("ij->i", (3, 4)),
    ("...ij->...ji", (2, 3, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("i,ij,j->", (3,), (3, 4), (4,)),
]


def test_matrices_of_wide_floats():
    """A register tile of them is twice as large."""
    cases = Cases()
    cases.add("MatMul", *(_floats(64, 64, dtype=np.float64) for _ in range(2)))
    pair = _floats(3, 5, dtype=np.float64), _floats(5, 4, dtype=np.float64)
    cases.add("MatMul", Feed(pair[0], ["m", "k"]), Feed(pair[1], ["k", "n"]))
    cases.compare_with_onnxruntime()


def test_einsum():
    cases = Cases(opset=12)
    for equation, *shapes in EQUATIONS:
        cases.add("Einsum", *(_floats(*s) for s in shapes), equation=equation, tolerance=1e-5)
    cases.add(
        "Einsum",
        Feed(_floats(2, 3, 4), ["b", "s", 4]),
        Feed(_floats(4, 5, 6), [4, "h", "d"]),
        equation="bsd,dhk->bshk",
        tolerance=1e-5,
    )
    cases.add("Einsum", _floats(1, 3), Feed(_floats(1, 3), ["i", 3]), equation="ij,ij->")
    three = [Feed(_floats(*s), d) for s, d in (((2, 3), "ij"), ((4, 3), "kj"), ((5, 4), "lk"))]
    cases.add("Einsum", *three, equation="ij,kj,lk->il", tolerance=1e-5)
    cases.add("Einsum", *three, equation="ij,kj,lk->jl", tolerance=1e-5)
    either = (
        Feed(_floats(2, 3, 4, 6), ["b", 3, "q", "k"]),
        Feed(_floats(2, 3, 6, 5), [2, "h", 6, 5]),
    )
    for equation in ("bhqk,bhkd->bqhd", "bhqk,bhkd->dbqh", "hbqk,hbke->qebh"):
        cases.add("Einsum", *either, equation=equation, tolerance=1e-5)
    other = Feed(_floats(3, 4), ["i", "j"]), Feed(_floats(4, 5), ["l", "k"])
    cases.add("Einsum", *other, equation="ij,jk->ki", tolerance=1e-5)
    windows = [Feed(_floats(2, 6, 3, *s, 5), ["n", "w", 3, *s, 5]) for s in ((4,), (7,))]
    cases.add("Einsum", *windows, equation="bghid,bghjd->bghij", tolerance=1e-5)
    cases.add("Einsum", *windows, equation="bghid,bghjd->ibghj", tolerance=1e-5)
    cases.compare_with_onnxruntime()


def test_batches_of_matrices_by_vectors():
    """Read by the rows of the matrices or by their columns; sizes that no tile divides."""
    cases = Cases()
    row, column = (2, 3, 1, 37), (2, 3, 37, 1)
    for dtype in (np.float32, np.float64):
        cases.add("MatMul", _floats(*row, dtype=dtype), _floats(2, 3, 37, 70, dtype=dtype))
        cases.add("MatMul", _floats(2, 3, 70, 37, dtype=dtype), _floats(*column, dtype=dtype))
    matrix = Feed(_floats(5, 37, 70), ["n", "k", "m"])
    cases.add("MatMul", Feed(_floats(5, 1, 37), ["n", 1, "k"]), matrix)
    cases.add("MatMul", matrix, Feed(_floats(5, 70, 1), ["n", "m", 1]))
    cases.add("MatMul", Feed(_floats(5, 1, 1), ["n", 1, "k"]), _floats(5, 1, 9))
    cases.add("MatMul", Feed(_floats(2, 1, 1, 4), ["b", "c", 1, "k"]), _floats(1, 3, 4, 5))
    a, b = Feed(_floats(2, 3, 1, 1), [2, "h", 1, "d"]), Feed(_floats(2, 3, 6, 1), [2, 3, "j", "e"])
    cases.add("Einsum", a, b, equation="bhid,bhjd->bhij")
    cases.add("Einsum", _floats(2, 3, 5, 7), _floats(2, 5, 7), equation="bmhk,bhk->bhm")
    cases.add("Einsum", _floats(3, 7, 20), _floats(7, 20), equation="kib,ib->kb")
    cases.add("MatMul", _integers(3, 1, 9, dtype=np.int8).astype(np.int32),
              _integers(3, 9, 17, dtype=np.int8).astype(np.int32))  # fmt: skip
    cases.tolerances |= {name: 1e-5 for name in cases.outputs}
    cases.compare_with_onnxruntime()


def test_transposed_matrix_by_vector():
    nodes = [
        helper.make_node("Transpose", ["keys"], ["across"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["query", "across"], ["y"]),
    ]
    inputs = {"keys": (np.float32, [2, 3, "n", 8]), "query": (np.float32, [2, 3, 1, 8])}
    feeds = {"keys": _floats(2, 3, 19, 8), "query": _floats(2, 3, 1, 8)}
    compare_with_onnxruntime(build_model(nodes, inputs, ["y"]), feeds, tolerances={"y": 1e-5})


def test_einsum_that_onnxruntime_refuses():
    """Diagonals that are summed, and ellipses of different ranks."""
    cases = Cases(opset=12)
    cases.add("Einsum", _floats(2, 3, 4), _floats(4, 5), equation="...ij,...jk->...ik")
    cases.add("Einsum", _floats(6, 2, 3, 4), _floats(2, 4, 5), equation="...ij,...jk")
    cases.add("Einsum", _floats(2, 3, 4), _floats(3, 4, 5), equation="B...i,...ij->B...j")
    cases.add("Einsum", _floats(3, 3), equation="ii->i")
    cases.add("Einsum", _floats(3, 3), equation="ii->")
    cases.add("Einsum", _floats(2, 3, 3), equation="...ii->...i")
    cases.add("Einsum", _floats(3, 3), _floats(3, 4), equation="ii,ij->j")
    cases.add("Einsum", Feed(_floats(3, 3), ["n", "n"]), equation="ii->i")
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_matmul_integer():
    cases = Cases(opset=10)
    for left in (np.uint8, np.int8):
        for right in (np.uint8, np.int8):
            a, b = _integers(3, 40, dtype=left), _integers(40, 5, dtype=right)
            zeros = _integers(1, dtype=left), _integers(5, dtype=right)
            if (left, right) != (np.int8, np.uint8):  # ONNX Runtime has none of these
                cases.add("MatMulInteger", a, b)
                cases.add("MatMulInteger", a, const(b), zeros[0], const(zeros[1]))
    a, b = _integers(2, 3, 40, dtype=np.uint8), _integers(40, 5, dtype=np.int8)
    cases.add("MatMulInteger", a, b, const(np.uint8(3)), const(np.int8(0)))
    cases.add("MatMulInteger", Feed(a, ["b", "n", "k"]), b, const(np.uint8(3)), const(np.int8(1)))
    cases.compare_with_onnxruntime()


def test_matmul_integer_zero_point_per_row():
    """Neither ONNX Runtime nor the reference evaluator has all of these."""
    cases = Cases(opset=10)
    a, b = _integers(3, 4, dtype=np.int8), _integers(4, 5, dtype=np.uint8)
    rows, columns = _integers(3, dtype=np.int8), _integers(5, dtype=np.uint8)
    cases.add("MatMulInteger", a, b, rows, columns)
    cases.add("MatMulInteger", a, b)
    wide, wide_b = a.astype(np.int32), b.astype(np.int32)
    expected = [(wide - rows[:, None]) @ (wide_b - columns), wide @ wide_b]
    compare(evaluate(cases.model(), cases.feeds), expected, cases.outputs)
    compare(run_compiled(cases.model(), cases.feeds), expected, cases.outputs)


@pytest.mark.parametrize(
    ("equation", "ranks", "expected"),
    [
        ("ij, jk", [2, 2], "ab,bc->ac"),
        ("Ab->bA", [2], "ab->ba"),
        ("...a,a...->...", [3, 2], "bca,ac->bc"),
        ("...->...", [0], "->"),
    ],
)
def test_normalize_equation(equation, ranks, expected):
    operands, result = normalize_equation(equation, ranks)
    assert f"{','.join(operands)}->{result}" == expected


@pytest.mark.parametrize(
    ("equation", "shapes", "reason"),
    [
        ("ij,jk->ik", [(3, 4)], "operands"),
        ("ij->ijk", [(3, 4)], "new one"),
        ("ij->ii", [(3, 4)], "doubles"),
        ("i1->i", [(3, 4)], "is not an einsum equation"),
        ("ijk->i", [(3, 4)], "names 3 axes of 2"),
        ("ij,jk->ik", [(3, 4), (5, 6)], "do not broadcast"),
    ],
)
def test_einsum_refuses(equation, shapes, reason):
    cases = Cases(opset=12)
    cases.add("Einsum", *(_floats(*shape) for shape in shapes), equation=equation)
    with pytest.raises(InvalidModelError, match=reason):
        import_onnx(cases.model())
