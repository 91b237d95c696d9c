"""Matmuls of bf16 and of f32 as bf16x3, on CPUs with a unit for them."""

import math

import ml_dtypes
import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.compiler.compile import compile_to_file
from graphc.compiler.driver import make_options
from graphc.cpu_model import GENERIC_CPU
from graphc.dialects import graph
from graphc.errors import DeviceError
from graphc.passes.cpu.matmul_forms import Bf16x3Form
from graphc.passes.kernels.bf16_matmul import PairsMatmulShape
from graphc.runtime.files import module_file
from graphc.runtime.targets import cpu_features

BF16 = ml_dtypes.bfloat16
FEATURES = cpu_features.host_features()
NEEDED = {"amx": {"amx_tile", "amx_bf16"}, "avx512bf16": {"avx512_bf16"}}
PIPELINE = "cpu-select-matmul-kernels{{vector-bits=512 bf16={}}},graph-fuse-epilogue,canonicalize"

# rows, K, columns: around the sizes of tiles and vectors, and below them
SIZES = [(1, 32, 64), (8, 41, 128), (17, 64, 33), (33, 96, 100), (197, 36, 192), (5, 1040, 200),
         (2100, 256, 16)]  # fmt: skip


@pytest.fixture(params=list(NEEDED))
def unit(request):
    if not NEEDED[request.param] <= set(FEATURES):
        pytest.skip(f"this CPU lacks {request.param}")
    if request.param == "amx" and not cpu_features.request_tiles():
        pytest.skip("the system does not let this process use tiles")
    return request.param


def _rounded(x):
    return x.astype(BF16).astype(np.float64)


def _model(known):
    """One output per size: relu(x w + bias); how many rows may not be known."""
    random = np.random.default_rng(0)
    nodes, inputs, weights, feeds, expected = [], {}, {}, {}, []
    for i, (rows, k, columns) in enumerate(SIZES):
        x = random.standard_normal((rows, k), np.float32)
        w = random.standard_normal((k, columns), np.float32)
        bias = random.standard_normal(columns, np.float32)
        feeds[f"x{i}"], weights[f"w{i}"], weights[f"b{i}"] = x, w, bias
        inputs[f"x{i}"] = (np.float32, (rows if known else f"rows{i}", k))
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"y{i}"]),
        ]
        expected.append(np.maximum(_rounded(x) @ _rounded(w) + bias, 0))
    outputs = [f"y{i}" for i in range(len(SIZES))]
    return build_model(nodes, inputs, outputs, weights, opset=17), feeds, expected


@pytest.mark.parametrize(("known", "threads"), [(True, 1), (False, 2)])
def test_products_of_rounded_factors(unit, known, threads):
    model, feeds, expected = _model(known)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(unit), threads=threads)
    assert compiled.report.rewrites["pack-matmul"].count == len(SIZES)
    for ours, truth in zip(compiled.run(None, feeds), expected, strict=True):
        assert np.abs(ours - truth).max() <= 1e-5 * np.abs(truth).max()
    if not known:
        nothing = {name: array[:0] for name, array in feeds.items()}
        for y, truth in zip(compiled.run(None, nothing), expected, strict=True):
            assert y.shape == (0, truth.shape[1])


def _chain():
    """A product of a product, and what an elementwise op makes of it."""
    random = np.random.default_rng(0)
    x = random.standard_normal((40, 96), np.float32)
    weights = {"w": random.standard_normal((96, 200), np.float32) / 9,
               "v": random.standard_normal((200, 96), np.float32) / 9}  # fmt: skip
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Tanh", ["m"], ["t"]),
        helper.make_node("MatMul", ["t", "v"], ["n"]),
        helper.make_node("Add", ["n", "x"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, x.shape)}, ["y"], weights, opset=17)
    truth = np.tanh(x.astype(np.float64) @ weights["w"]) @ weights["v"] + x
    return model, x, truth


def test_what_lies_between_two_products_is_stored_rounded(unit, tmp_path):
    model, x, truth = _chain()
    compiled = graphc.compile(model, pipeline=PIPELINE.format(unit), save_temps=tmp_path)
    (program,) = tmp_path.glob("*.linalg.mlir")
    text, second_entry, _ = program.read_text().partition("@main_into")
    assert second_entry
    assert text.count("linalg.generic") == 1  # which rounds the input
    assert "arith.truncf" in text.partition('"flow.dispatch"')[0]  # in the first kernel
    (y,) = compiled.run(None, {"x": x})
    assert np.abs(y - truth).max() <= 1e-2 * np.abs(truth).max()


def test_gelu_between_two_products(unit):
    """Gelu to bf16 precision takes fewer terms: an error of 7e-5 beside rounding, and 0 far
    below."""
    x = _rounded(np.random.default_rng(0).uniform(-9, 9, (64, 64)).astype(np.float32))
    x = x.astype(np.float32)
    x[0, :3] = [-(2.0**90), -64, 0]
    same = np.eye(64, dtype=np.float32)
    nodes = [
        helper.make_node("MatMul", ["x", "same"], ["m"]),
        helper.make_node("Gelu", ["m"], ["g"]),
        helper.make_node("MatMul", ["g", "same"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, x.shape)}, ["y"], {"same": same}, opset=20)
    (y,) = graphc.compile(model, pipeline=PIPELINE.format(unit)).run(None, {"x": x})
    wide = x.astype(np.float64)
    truth = wide * (0.5 + 0.5 * np.vectorize(math.erf)(wide / math.sqrt(2)))
    assert (np.abs(y - truth) <= 7e-5 + np.abs(truth) * 2.0**-8).all()
    assert not y[0, :3].any()


def test_interpreted_and_compiled_agree(unit):
    model, x, _ = _chain()
    results = [
        graphc.compile(model, target, pipeline=PIPELINE.format(unit)).run(None, {"x": x})[0]
        for target in ("cpu", "interpret")
    ]
    assert np.abs(results[0] - results[1]).max() <= 1e-2 * np.abs(results[1]).max()


@pytest.mark.parametrize(
    ("variant", "kernel"),
    [("sapphirerapids", b"amx_matmul"), ("znver4", b"bf16_matmul"), ("x86-64-v4", b"matmul_0")],
)
def test_each_processor_gets_its_instructions(variant, kernel):
    contents, _ = compile_to_file(_chain()[0], f"cpu:{variant}", precision="bf16")
    assert kernel in contents
    narrow = {b"amx_matmul", b"bf16_matmul"} - {kernel}
    assert not any(other in contents for other in narrow)


@pytest.mark.parametrize(
    ("vendor", "flags", "found"),
    [("GenuineIntel", "avx512_bf16", "none"), ("AuthenticAMD", "avx512_bf16", "avx512bf16"),
     ("AuthenticAMD", "avx512f", "none"), ("GenuineIntel", "amx_tile amx_bf16", "amx")],
)  # fmt: skip
def test_the_unit_of_a_processor(vendor, flags, found, tmp_path, monkeypatch):
    path = tmp_path / "cpuinfo"
    path.write_text(f"vendor_id\t: {vendor}\nflags\t\t: {flags}\n")
    monkeypatch.setattr(cpu_features, "request_tiles", lambda: True)
    assert cpu_features.bf16_unit("host", path) == found
    monkeypatch.setattr(cpu_features, "request_tiles", lambda: False)
    assert cpu_features.bf16_unit("host", path) == ("none" if found == "amx" else found)


@pytest.mark.parametrize(
    ("variant", "precision", "form"),
    [("sapphirerapids", "f32", "bf16=none bf16x3=amx"), ("znver4", "f32", "bf16=none bf16x3=none"),
     ("sapphirerapids", "strict", "bf16=none bf16x3=none"),
     ("sapphirerapids", "bf16", "bf16=amx bf16x3=none")],
)  # fmt: skip
def test_what_each_precision_allows(variant, precision, form):
    assert form in make_options(f"cpu:{variant}", precision=precision).pipeline


def _large(rows, known, k=1001, columns=1100):
    """A product that is large enough to be split, and its result in float64."""
    random = np.random.default_rng(3)
    x = random.standard_normal((rows, k), np.float32)
    w = random.standard_normal((k, columns), np.float32)
    shape = (rows if known else "rows", k)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    model = build_model(nodes, {"x": (np.float32, shape)}, ["y"], {"w": w}, opset=17)
    return model, x, np.maximum(x.astype(np.float64) @ w, 0)


BF16X3 = "cpu-select-matmul-kernels{vector-bits=512 bf16x3=amx},graph-fuse-epilogue,canonicalize"


@pytest.mark.parametrize("unit", ["amx"], indirect=True)
@pytest.mark.parametrize(("known", "threads"), [(True, 1), (False, 2)])
def test_products_of_terms(unit, known, threads):
    model, x, truth = _large(67, known)
    compiled = graphc.compile(model, pipeline=BF16X3, threads=threads)
    assert compiled.metadata.options["matrix_unit"] == unit
    for rows in [67] if known else [67, 1, 16, 0]:
        (y,) = compiled.run(None, {"x": x[:rows]})
        assert y.shape == (rows, truth.shape[1])
        assert np.abs(y - truth[:rows]).max(initial=0) <= 1e-5 * np.abs(truth).max()


def test_terms_of_what_is_not_finite_or_exact():
    x = np.array([[np.inf, -np.inf, np.nan, 1, 2.0**-140, 1 + 2.0**-9, -0.0, 3e38]], np.float32)
    high, low = graph.hi_lo_terms(x)
    assert np.array_equal(high[0, :2], x[0, :2])
    assert np.isnan(high[0, 2])
    assert high[0, 5] + np.float32(low[0, 5]) == x[0, 5]
    assert not low[0, [0, 1, 3, 6]].any()


@pytest.mark.parametrize("unit", ["amx"], indirect=True)
def test_an_infinite_factor(unit):
    del unit
    model, x, truth = _large(67, known=True)
    x[5, 7] = np.inf
    (y,) = graphc.compile(model, pipeline=BF16X3).run(None, {"x": x})
    others = [row for row in range(67) if row != 5]
    assert np.abs(y[others] - truth[others]).max() <= 1e-5 * np.abs(truth).max()
    assert not np.isfinite(y[5][y[5] != 0]).any()


def test_refused_tiles_are_an_error(unit, monkeypatch):
    if unit != "amx":
        pytest.skip("needs no permission")
    contents, _ = compile_to_file(_chain()[0], "cpu", precision="bf16")
    monkeypatch.setattr(module_file, "has_tiles", lambda code: False)
    with pytest.raises(DeviceError, match="tiles of AMX"):
        graphc.load(contents)


@pytest.mark.parametrize("weight", [np.inf, np.nan, np.finfo(np.float32).max])
def test_weights_without_terms_stay_f32(weight):
    rewrite = Bf16x3Form(512)
    weights = np.ones((1024, 1024), np.float32)
    assert rewrite.pays(128, weights)
    weights[3, 5] = weight
    assert not rewrite.pays(128, weights)


@pytest.mark.parametrize(
    ("rows", "shape", "pays"),
    [
        (128, (768, 768), True),
        (128, (512, 768), False),  # 3/4 of 2^26 multiplications
        (3136, (128, 192), False),  # more of them, by few columns
        (3136, (384, 192), True),
        (25088, (256, 64), True),
        (25088, (64, 256), False),  # sums of few products
    ],
)
def test_terms_are_for_large_products(rows, shape, pays):
    assert Bf16x3Form.pays(rows, np.ones(shape, np.float32)) == pays


def test_both_factors_of_a_pair_count():
    product = PairsMatmulShape(rows=5, k=8, columns=7, nr=64, lanes=16, mr=6, cpu=GENERIC_CPU)
    assert product.flops == 2 * 5 * (2 * 8) * 7
