"""Products by blocks, with fewer multiplications."""

import re
from dataclasses import replace

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.compiler.driver import make_options
from graphc.cpu_model import GENERIC_CPU
from graphc.dialects import graph
from graphc.mlir import arith, func, ir
from graphc.passes.cpu import strassen
from graphc.passes.cpu.strassen import BlocksOfMany, best_blocks, best_blocks_of_many
from graphc.passes.infra.report import Report
from graphc.passes.kernels.strassen_shape import StrassenShape
from harness.marks import long

F32 = np.dtype(np.float32)
SIZES = [(65, 288, 401), (64, 96, 96), (131, 64, 257), (2, 48, 1000), (390, 144, 290), (7, 32, 35)]
"""Rows, K and columns: even blocks and others; one block of rows or of K for a kernel
and several; rows that the last blocks lack."""


@pytest.mark.parametrize("name", graph.ALGORITHMS)
def test_algorithms_multiply(name):
    """Each coefficient of the product of two matrices, exactly."""
    a = graph.ALGORITHMS[name]
    found = np.einsum("pl,pr,op->olr", a.left, a.right, a.result)
    expected = np.zeros_like(found)
    for i, j, k in np.ndindex(a.rows, a.columns, a.k):
        expected[i * a.columns + j, i * a.k + k, k * a.columns + j] = 1
    assert np.array_equal(found, expected)


def _model(lead):
    """relu(x w + b) + r for each of the sizes, and the results in float64."""
    random = np.random.default_rng(1)
    nodes, inputs, constants, feeds, truths = [], {}, {}, {}, []
    for i, (rows, k, columns) in enumerate(SIZES):
        w = random.standard_normal((k, columns), np.float32)
        b = random.standard_normal(columns, np.float32)
        x = feeds[f"x{i}"] = random.standard_normal((*lead, rows, k), np.float32)
        r = feeds[f"r{i}"] = random.standard_normal((*lead, rows, columns), np.float32)
        inputs |= {f"x{i}": (np.float32, x.shape), f"r{i}": (np.float32, r.shape)}
        constants |= {f"w{i}": w, f"b{i}": b}
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"n{i}"]),
            helper.make_node("Add", [f"n{i}", f"r{i}"], [f"y{i}"]),
        ]
        truths.append(np.maximum(x.astype(np.float64) @ w + b, 0) + r)
    outputs = [f"y{i}" for i in range(len(SIZES))]
    return build_model(nodes, inputs, outputs, constants, opset=17), feeds, truths


@pytest.fixture
def any_size(monkeypatch):
    """Small products by blocks, too."""
    for name in ("BLOCK_ROWS", "BLOCK_SIZE", "BLOCK_PANEL", "BLOCK_MULTIPLICATIONS"):
        monkeypatch.setattr(strassen, name, 1)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize(("vector_bits", "threads"), [long(128, 1), (256, 2), (512, 1)])
def test_compiled(vector_bits, threads):
    lead = (3,) if threads > 1 else ()
    model, feeds, truths = _model(lead)
    pipeline = (
        f"cpu-select-matmul-kernels{{vector-bits={vector_bits} allow-strassen=true "
        f"threads={threads}}},graph-fuse-epilogue,canonicalize"
    )
    program = str(graphc.run_pipeline(graphc.import_onnx(model), pipeline))
    assert program.count("graph.strassen_matmul") == len(SIZES)
    assert f"replicas = {threads} : i64" in program
    compiled = graphc.compile(model, pipeline=pipeline, threads=threads)
    for size, found, truth in zip(SIZES, compiled.run(None, feeds), truths, strict=True):
        assert found.shape == truth.shape, size
        assert np.abs(found - truth).max() <= 3e-6 * np.abs(truth).max(), size


@pytest.mark.usefixtures("any_size")
def test_interpreted():
    model, feeds, truths = _model(())
    pipeline = "cpu-select-matmul-kernels{vector-bits=512 allow-strassen=true}"
    compiled = graphc.compile(model, target="interpret", pipeline=pipeline, check_rewrites=True)
    for found, truth in zip(compiled.run(None, feeds), truths, strict=True):
        assert np.abs(found - truth).max() <= 3e-6 * np.abs(truth).max()


NAMED_ROWS = [1, 7, 40, 41, 7, 131, 130, 131, 390, 1, 64, 0]
"""Rows of successive runs: fewer than pay and more, odd ones, growing and shrinking."""
BY_ROWS = [(288, 401), (96, 96), (144, 290), (48, 1000)]
"""K and columns of matmuls of these."""


@pytest.fixture
def from_forty_rows(any_size, monkeypatch):
    """Small products by blocks, of 40 rows or more."""
    del any_size
    monkeypatch.setattr(strassen, "BLOCK_ROWS", 20)


def _model_of_named_rows():
    """relu(x w + b) + r for the matrices of `BY_ROWS` and rows that are named, and a function that
    gives inputs and results in float64 for a number of rows."""
    random = np.random.default_rng(1)
    nodes, inputs, constants = [], {}, {}
    for i, (k, columns) in enumerate(BY_ROWS):
        constants[f"w{i}"] = random.standard_normal((k, columns), np.float32)
        constants[f"b{i}"] = random.standard_normal(columns, np.float32)
        inputs[f"x{i}"] = (np.float32, ("batch", "rows", k))
        inputs[f"r{i}"] = (np.float32, ("batch", "rows", columns))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"n{i}"]),
            helper.make_node("Add", [f"n{i}", f"r{i}"], [f"y{i}"]),
        ]

    def truth(feeds, i):
        product = feeds[f"x{i}"].astype(np.float64) @ constants[f"w{i}"]
        return np.maximum(product + constants[f"b{i}"], 0) + feeds[f"r{i}"]

    def feed(rows):
        lead = (2, rows // 2) if rows % 2 == 0 else (1, rows)
        feeds = {
            name: random.standard_normal((*lead, shape[-1]), np.float32)
            for name, (_, shape) in inputs.items()
        }
        return feeds, [truth(feeds, i) for i in range(len(BY_ROWS))]

    outputs = [f"y{i}" for i in range(len(BY_ROWS))]
    return build_model(nodes, inputs, outputs, constants, opset=17), feed


def _compare(compiled, feed, rows):
    feeds, truths = feed(rows)
    for size, found, truth in zip(BY_ROWS, compiled.run(None, feeds), truths, strict=True):
        assert found.shape == truth.shape, (rows, size)
        largest = np.abs(truth).max(initial=0)
        assert np.abs(found - truth).max(initial=0) <= 3e-6 * largest, (rows, size)


@pytest.mark.usefixtures("from_forty_rows")
@pytest.mark.parametrize(("vector_bits", "threads"), [long(256, 2), (512, 1)])
def test_compiled_for_named_rows(vector_bits, threads):
    model, feed = _model_of_named_rows()
    pipeline = (
        f"cpu-select-matmul-kernels{{vector-bits={vector_bits} allow-strassen=true "
        f"threads={threads}}},graph-fuse-epilogue,canonicalize"
    )
    program = str(graphc.run_pipeline(graphc.import_onnx(model), pipeline))
    assert program.count("graph.plain_or_strassen_matmul") == len(BY_ROWS)
    assert program.count("least = 40") == len(BY_ROWS)
    compiled = graphc.compile(model, pipeline=pipeline, threads=threads)
    assert len(compiled.report.rewrites["strassen-by-rows"].nodes) == len(BY_ROWS)
    for rows in NAMED_ROWS:
        _compare(compiled, feed, rows)


SPLIT = [(1536, 192), (288, 180), (64, 256)]
"""K and columns of matmuls by split weights: of several K blocks, of panels that are not full."""


@pytest.mark.usefixtures("from_forty_rows")
@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_few_rows_of_a_named_batch(target):
    """Five rows, one less than a register tile has, are multiplied by 24 bits of the weights; more
    rows by all bits, joined while a full tile is multiplied by them, or beforehand."""
    random = np.random.default_rng(3)
    weights = {f"w{i}": random.standard_normal(size, np.float32) for i, size in enumerate(SPLIT)}
    nodes = [helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]) for i in range(len(SPLIT))]
    inputs = {f"x{i}": (np.float32, ("n", k)) for i, (k, _) in enumerate(SPLIT)}
    outputs = [f"y{i}" for i in range(len(SPLIT))]
    model = build_model(nodes, inputs, outputs, weights, opset=17)
    options = "vector-bits=512 l2-bytes=4096 allow-strassen=true allow-f24=true threads=2"
    pipeline = f"cpu-select-matmul-kernels{{{options}}}"
    program = str(graphc.run_pipeline(graphc.import_onnx(model), pipeline))
    assert program.count("few_rows = 5") == program.count("least = 40") == len(SPLIT)
    compiled = graphc.compile(model, target=target, pipeline=pipeline, threads=2)
    for rows in [1, 5, 6, 2, 7, 39, 40, 41, 85, 131, 3, 0]:
        feeds = {
            name: random.standard_normal((rows, shape[-1]), np.float32)
            for name, (_, shape) in inputs.items()
        }
        found = compiled.run(None, feeds)
        for y, x, w in zip(found, feeds.values(), weights.values(), strict=True):
            truth = x.astype(np.float64) @ w
            assert y.shape == truth.shape
            error = np.abs(y - truth).max(initial=0) / np.abs(truth).max(initial=1e-9)
            assert error <= (2e-5 if rows < 6 else 3e-6)
            assert not 0 < rows < 6 or error > 5e-7  # it is rounded, indeed


@pytest.mark.usefixtures("from_forty_rows")
@pytest.mark.parametrize(
    ("lead", "few_rows"), [(("n", 1), 5), (("n", "m"), 0), ((1, "m"), 0), (("n", 3), 0)]
)
def test_rows_of_a_named_length_are_seldom_few(lead, few_rows):
    """They read weights of 32 bits, as those of a known length do."""
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    w = np.random.default_rng(5).standard_normal((64, 256), np.float32)
    model = build_model([node], {"x": (np.float32, (*lead, 64))}, ["y"], {"w": w}, opset=17)
    options = "vector-bits=512 l2-bytes=4096 allow-strassen=true allow-f24=true"
    pipeline = f"cpu-select-matmul-kernels{{{options}}}"
    report = Report()
    program = str(graphc.run_pipeline(graphc.import_onnx(model), pipeline, report=report))
    assert f"few_rows = {few_rows} : i64" in program
    assert ("a named length is seldom so small" in str(report)) == (few_rows == 0)


def test_words_of_24_and_8_bits():
    random = np.random.default_rng(4)
    lines = random.standard_normal((32, 64), np.float32) * 2.0 ** random.integers(
        -130, 100, (32, 64)
    )
    lines = lines.astype(np.float32)
    lines[0, :6] = 0, -0.0, 1e-40, -1e-42, 3e38, -3e38
    words = graph.split_words(lines)
    assert words.size == lines.size
    np.testing.assert_array_equal(graph.joined_words(words).view("u4"), lines.view("u4"))
    first = graph.joined_words(words, only_first=True)
    assert not (first.view("u4") & 0xFF).any()
    np.testing.assert_allclose(first, lines, rtol=2.0**-16, atol=1e-42)


@pytest.mark.usefixtures("from_forty_rows")
def test_compiled_for_named_images():
    """The rows of a pointwise convolution are pixels."""
    random = np.random.default_rng(2)
    w = random.standard_normal((40, 64, 1, 1), np.float32)
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    inputs = {"x": (np.float32, ("n", 64, 3, 5))}
    model = build_model([node], inputs, ["y"], {"w": w}, opset=17)
    pipeline = (
        "graph-convert-layout,graph-fold-constants,"
        "cpu-select-matmul-kernels{vector-bits=256 allow-strassen=true}"
    )
    compiled = graphc.compile(model, pipeline=pipeline, threads=1)
    assert len(compiled.report.rewrites["strassen-by-rows-conv"].nodes) == 1
    for n in (1, 4, 2, 3, 4):
        x = random.standard_normal((n, 64, 3, 5), np.float32)
        truth = np.einsum("nchw,oc->nohw", x.astype(np.float64), w[:, :, 0, 0])
        assert np.abs(compiled(x) - truth).max() <= 3e-6 * np.abs(truth).max()


@pytest.mark.usefixtures("from_forty_rows")
def test_interpreted_for_named_rows():
    model, feed = _model_of_named_rows()
    pipeline = "cpu-select-matmul-kernels{vector-bits=512 allow-strassen=true}"
    compiled = graphc.compile(model, target="interpret", pipeline=pipeline, check_rewrites=True)
    for rows in NAMED_ROWS:
        _compare(compiled, feed, rows)


@pytest.mark.parametrize(("name", "places"), [("2x2x2", 9), ("2x3x3", 18)])
def test_blocks_that_are_multiplied_as_they_are_have_one_place(name, places):
    """Beside the sums, each block of the weights is stored once, for both kernels."""
    algorithm = graph.ALGORITHMS[name]
    assert (algorithm.right[algorithm.sums :] >= 0).all()
    assert (algorithm.right[algorithm.sums :].sum(1) == 1).all()
    assert algorithm.slots[-1] == places == algorithm.sums + algorithm.k * algorithm.columns
    w = np.random.default_rng(0).standard_normal((24, 50), np.float32)
    panels, sums = graph.pack_sums_and_blocks(w, name, 8), graph.pack_sums(w, name, 8)
    assert np.array_equal(panels[:, algorithm.slots[:-1]], sums)


@pytest.mark.parametrize(
    ("weights", "threads", "found"),
    [
        ((768, 768), 2, BlocksOfMany("2x3x3", 114)),  # 2^26 multiplications
        ((768, 3072), 2, BlocksOfMany("2x3x3", 64)),  # blocks of 32 rows
        ((768, 768), 9, BlocksOfMany("2x3x3", 192)),  # four pieces of 32 rows by 256 columns
        ((1024, 512), 2, BlocksOfMany("2x2x2", 128)),
        ((768, 500), 1, "blocks would have fewer than 256 lines or columns, or K no whole vectors"),
        ((1000, 1000), 1, "blocks would have fewer"),
    ],
)
def test_rows_from_which_it_pays(weights, threads, found):
    chosen = best_blocks_of_many(np.ones(weights, np.float32), 16, threads)
    assert chosen == found or (isinstance(chosen, str) and chosen.startswith(found))


@pytest.mark.parametrize(
    ("rows", "weights", "blocks"),
    [
        ((128,), (768, 768), "2x3x3"),
        ((1, 197), (768, 3072), "2x3x3"),
        ((8, 14, 14), (1024, 512), "2x2x2"),  # K has no even thirds
        ((128,), (512, 512), None),  # half of 2^26 multiplications
        ((32,), (768, 50257), None),  # blocks of 16 rows
        ((50000,), (768, 500), None),  # of 250 columns
        ((50000,), (256, 768), None),  # of 128 elements of K
        ((200,), (1000, 1000), None),  # of 500 elements, no whole vectors
        (("rows",), (768, 768), None),
    ],
)
def test_what_pays(rows, weights, blocks):
    x = graph.TensorType((*rows, weights[0]), F32)
    assert best_blocks(x, np.ones(weights, np.float32), 16) == blocks


def test_threads_have_enough_to_share():
    """64 rows of 256 columns are eight pieces of 32 by 64."""
    x, weights = graph.TensorType((128, 768), F32), np.ones((768, 768), np.float32)
    assert best_blocks(x, weights, 16, threads=8) == "2x3x3"
    assert best_blocks(x, weights, 16, threads=9) == "2x2x2"
    assert best_blocks(x, weights, 16, threads=13) is None
    shape = StrassenShape(128, 256, 768, "2x3x3", nr=64, lanes=16, mr=6, wanted=8, cpu=GENERIC_CPU)
    assert (shape.mc, shape.nc_panels, shape.workgroups) == (32, 1, 8)
    assert replace(shape, wanted=4).workgroups == 4
    assert replace(shape, columns=3072, wanted=4).workgroups == 4
    assert replace(shape, rows=134, wanted=8).workgroups == 4  # blocks of 67 rows do not split


def shared(shape, rows):
    """Groups of rows, panels in a group and groups of panels of `rows` dynamic rows."""
    with ir.Context(), ir.Location.unknown():
        module, index = ir.Module.create(), ir.IndexType.get()
        with ir.InsertionPoint(module.body):
            main = func.FuncOp("main", ([], [index] * 3))
        with ir.InsertionPoint(main.add_entry_block()):
            found = shape.sharing(arith.constant(index, rows))
            func.return_([found.m_blocks, found.nc_panels, found.n_blocks])
        text = str(graphc.run_pipeline(module, "canonicalize"))
    values = dict(re.findall(r"(%\w+) = arith.constant (\d+) : index", text))
    names = re.search(r"return (.*) :", text)[1]
    return tuple(int(values[name]) for name in names.split(", "))


@pytest.mark.parametrize(
    ("rows", "columns", "wanted", "found"),
    [
        (591, 2304, 4, (3, 6, 2)),  # and not nine panels and three
        (591, 768, 4, (3, 2, 2)),
        (1024, 2304, 4, (5, 6, 2)),  # ten workgroups for two threads, and not five
        (788, 2304, 4, (4, 12, 1)),
        (8192, 2304, 4, (36, 12, 1)),
        (591, 768, 16, (4, 1, 4)),  # no more than there are panels
    ],
)
def test_threads_get_the_same_share_of_dynamic_rows(rows, columns, wanted, found):
    cpu = replace(GENERIC_CPU, l2_bytes=1 << 20)
    shape = StrassenShape(
        None, 256, columns, "2x3x3", nr=64, lanes=16, mr=6, wanted=wanted, cpu=cpu
    )  # fmt: skip
    assert shared(shape, rows) == found
    groups, _, panels = found
    assert groups * panels <= shape.most_workgroups(rows)


@pytest.mark.parametrize(
    ("rows", "threads", "replicas"),
    [
        (128, 1, 1),
        (128, 2, 2),
        (128, 4, 1),  # who reads less than it would sum
        (1568, 2, 1),  # blocks of rows enough: each thread reads its own
    ],
)
def test_threads_have_sums_of_their_own(rows, threads, replicas):
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    inputs, weights = {"x": (np.float32, (rows, 768))}, {"w": np.ones((768, 768), np.float32)}
    model = build_model([node], inputs, ["y"], weights, opset=17)
    pipeline = f"cpu-select-matmul-kernels{{vector-bits=512 allow-strassen=true threads={threads}}}"
    program = str(graphc.run_pipeline(graphc.import_onnx(model), pipeline))
    assert f"replicas = {replicas} : i64" in program


@pytest.mark.parametrize("weight", [np.inf, np.nan, np.finfo(np.float32).max])
def test_weights_whose_sums_are_not_finite_stay(weight):
    x = graph.TensorType((128, 768), F32)
    weights = np.ones((768, 768), np.float32)
    assert best_blocks(x, weights, 16)
    weights[3, 5] = weight
    assert best_blocks(x, weights, 16) is None
    assert isinstance(best_blocks_of_many(weights, 16), str)


@pytest.mark.parametrize(("precision", "allowed"), [("f32", "true"), ("strict", "false")])
def test_what_each_precision_allows(precision, allowed):
    options = make_options("cpu:znver4", precision=precision)
    assert f"strassen={allowed}" in options.pipeline


@pytest.mark.parametrize("rows", [128, "n"])
def test_directions_of_short_rows(rows):
    """Rows of zeros stay zeros, and short ones keep their directions: other rows are not added to
    what is divided by the length of a vector, even in parts, or moved."""
    random = np.random.default_rng(0)
    x = random.standard_normal((128, 768), np.float32)
    x[64:96], x[96:] = 0, 1e-6 * x[96:]
    w = random.standard_normal((768, 768), np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Reshape", ["m", "shape"], ["r"]),
        helper.make_node("Transpose", ["r"], ["heads"], perm=[1, 2, 0, 3]),
        helper.make_node("Split", ["heads", "halves"], ["part", "rest"], axis=0),
        helper.make_node("ReduceL2", ["part"], ["lengths"], axes=[-1], keepdims=1),
        helper.make_node("Clip", ["lengths", "least"], ["bounded"]),
        helper.make_node("Div", ["part", "bounded"], ["y"]),
    ]
    constants = {
        "w": w, "shape": np.int64([-1, 2, 12, 32]), "least": np.float32(1e-12),
        "halves": np.int64([1, 1]),
    }  # fmt: skip
    inputs = {"x": (np.float32, (rows, 768))}
    model = build_model(nodes, inputs, ["y", "rest"], constants, opset=17)
    compiled = graphc.compile(model)
    part, rest = (x.astype(np.float64) @ w).reshape(-1, 2, 12, 32).transpose(1, 2, 0, 3)
    lengths = np.maximum(np.linalg.norm(part, axis=-1, keepdims=True), 1e-12)
    y, other = compiled(x)
    np.testing.assert_allclose(y[0], part / lengths, atol=1e-5)
    np.testing.assert_allclose(other[0], rest, atol=1e-3)
