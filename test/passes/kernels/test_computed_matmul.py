"""The kernel that multiplies computed matrices, against numpy."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long

_random = np.random.default_rng(0)


def _floats(*shape):
    return _random.standard_normal(shape, np.float32)


def _compiled(a, b, perm=None, vector_bits=512, dtype=np.float32):
    """``a @ b``, or ``a @ b.transpose(perm)``."""
    nodes = [helper.make_node("MatMul", ["a", "t" if perm else "b"], ["y"], name="product")]
    if perm:
        nodes.insert(0, helper.make_node("Transpose", ["b"], ["t"], perm=perm))
    model = build_model(nodes, {"a": (dtype, a), "b": (dtype, b)}, ["y"])
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    return graphc.compile(model, pipeline=pipeline, threads=2, cache=False)


def _check(compiled, a, b, perm=None):
    (found,) = compiled.run(None, {"a": a, "b": b})
    wide = b.astype(np.float64)
    expected = a.astype(np.float64) @ (wide.transpose(perm) if perm else wide)
    bound = 1e-6 * max(1.0, np.sqrt(a.shape[-1])) * max(1.0, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(found, expected, 0, bound, err_msg=f"{a.shape} {b.shape}")


@pytest.mark.parametrize("vector_bits", [long(128), long(256), 512])
@pytest.mark.parametrize("perm", [None, (1, 0)])
def test_named_sizes(vector_bits, perm):
    """Few rows, many, which are packed, and none; rest of columns and of K, and blocks of both."""
    sizes = [(1, 5, 3), (4, 33, 130), (7, 300, 65), (23, 16, 64), (24, 17, 200), (200, 40, 129)]
    sizes += [(1, 64, 300), (0, 4, 5), (3, 0, 4), (30, 0, 4), (30, 4, 0), (30, 8, 1)]
    with _compiled(["m", "k"], ["n", "k"] if perm else ["k", "n"], perm, vector_bits) as compiled:
        assert compiled.report.rewrites["computed-matmul"].count == 1
        for m, k, n in sizes:
            _check(compiled, _floats(m, k), _floats(*((n, k) if perm else (k, n))), perm)


@pytest.mark.parametrize("folds", [False, True])
def test_a_matrix_that_the_backend_may_compute(folds, tmp_path):
    """It is scattered among zeros; where the pipeline does not fold that, the backend packs it when
    it compiles."""
    k, n, count = 513, 128, 1032
    values, places = _floats(count), _random.choice(k * n, (count, 1), replace=False)
    constants = {"v": values, "i": places, "size": [k * n], "shape": [k, n]}
    nodes = [
        helper.make_node("ConstantOfShape", ["size"], ["zeros"]),
        helper.make_node("ScatterND", ["zeros", "i", "v"], ["flat"]),
        helper.make_node("Reshape", ["flat", "shape"], ["w"]),
        helper.make_node("MatMul", ["a", "w"], ["y"]),
    ]
    model = build_model(nodes, {"a": (np.float32, [125, k])}, ["y"], constants)
    pipeline = graph_pipeline("cpu", CpuModel(256), threads=2)
    if not folds:
        pipeline = pipeline.replace("graph-fold-constants", "graph-fold-constants{max-bytes=0}")
        pipeline = pipeline.replace("max-bytes=0}{", "max-bytes=0 ")
    w = np.zeros(k * n, np.float32)
    w[places[:, 0]] = values
    # with files of its own it is not compiled together with others, and then nothing is evaluated
    with graphc.compile(model, pipeline=pipeline, threads=2, save_temps=tmp_path) as compiled:
        assert ("computed-matmul" in compiled.report.rewrites) != folds
        a = _floats(125, k)
        (found,) = compiled.run(None, {"a": a})
    np.testing.assert_allclose(found, a @ w.reshape(k, n), 0, 1e-5)


@pytest.mark.parametrize("named", [False, True])
def test_batches(named):
    """Equal, broadcast on either side, and of sizes that are 1 or not, as only the run knows."""
    cases = [
        ([2, 3, 5, 20], [2, 3, 20, 40], [["p", 3, "m", 20], ["p", 3, 20, "n"]]),
        ([2, 3, 5, 20], [3, 20, 40], [["p", 3, "m", 20], [3, 20, "n"]]),
        ([3, 1, 5, 20], [1, 2, 20, 40], [["p", 1, "m", 20], ["q", "r", 20, "n"]]),
        ([5, 20], [4, 20, 40], [["m", 20], ["q", 20, "n"]]),
        ([4, 2, 5, 20], [20, 40], [["p", "q", "m", 20], [20, "n"]]),
        ([2, 30, 20], [2, 20, 70], [["p", "m", 20], ["q", 20, "n"]]),
    ]
    for a, b, dims in cases:
        with _compiled(*(dims if named else (a, b))) as compiled:
            _check(compiled, _floats(*a), _floats(*b))
            if named:
                a[-2], b[-1] = 1, 33
                _check(compiled, _floats(*a), _floats(*b))


def test_known_sizes():
    """Few rows or columns, columns that tiles do not divide, a long K."""
    perm = (0, 2, 1)
    for a, b, transposed in [
        ([1, 50], [50, 200], None),
        ([3, 7, 50], [3, 30, 50], perm),
        ([3, 1, 64], [3, 64, 64], None),
        ([200, 50], [50, 1], None),
        ([3, 2, 50], [3, 50, 1], None),
        ([3, 200, 48], [3, 1, 48], perm),
        ([2, 40, 20], [2, 50, 20], perm),
        ([30, 512], [512, 32], None),
    ]:
        with _compiled(a, b, transposed) as compiled:
            assert compiled.report.rewrites["computed-matmul"].count == 1
            _check(compiled, _floats(*a), _floats(*b), transposed)


@pytest.mark.parametrize(
    ("named", "sizes"), [("k", (70, 33, 130)), ("m", (30, 20, 64)), ("n", (70, 20, 33))]
)
def test_some_known_sizes(named, sizes):
    """Rows that are packed for, columns that fill panels, and one size that only the run knows."""
    m, k, n = [name if name == named else size for name, size in zip("mkn", sizes, strict=True)]
    with _compiled([m, k], [k, n]) as compiled:
        assert compiled.report.rewrites["computed-matmul"].count == 1
        for size in (1, sizes["mkn".index(named)]):
            m, k, n = [
                size if name == named else each for name, each in zip("mkn", sizes, strict=True)
            ]
            _check(compiled, _floats(m, k), _floats(k, n))


@pytest.mark.parametrize(
    ("a", "b", "dtype", "reason"),
    [
        (
            [64, 20],
            [20, 64],
            np.float32,
            "there are rows enough for the backend's tiles, which divide the columns",
        ),
        (["m", 20], [20, 4], np.float32, "the columns fill no vector"),
        (["m", 20], [20, 40], np.float64, "only f32 is multiplied by it"),
    ],
)
def test_reasons_against_it(a, b, dtype, reason):
    with _compiled(a, b, dtype=dtype) as compiled:
        assert compiled.report.rewrites["computed-matmul"].declined == {reason: ["product"]}
