"""Matmuls by weights of few bits that are quantized by blocks."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numerics import build_model
from onnx import ModelProto, helper

import graphc
from graphc.compiler.driver import make_options, to_module
from graphc.cpu_model import CpuModel
from graphc.dialects import graph
from graphc.passes.pipelines import graph_pipeline
from graphc.runtime.targets import cpu_features


@dataclass(frozen=True)
class Case:
    """A MatMulNBits: rows, K, columns, and how its weights are quantized."""

    rows: int
    k: int
    columns: int
    bits: int = 4
    block: int = 32
    zeros: str = "none"
    """Zero points: none, packed integers, or floats."""
    scales: type = np.float16
    """The type that holds the scales exactly."""
    level: int = 0
    """The accuracy level."""

    @property
    def common_block(self) -> int:
        """The block of the panels, of which K is a multiple."""
        return math.gcd(self.k, self.block)


CASES = (
    Case(1, 96, 64),
    Case(1, 96, 130, zeros="integers"),
    Case(2, 64, 64, zeros="floats", scales=np.float32),
    Case(3, 128, 80, block=64, zeros="integers"),
    Case(9, 64, 64, bits=8, zeros="integers"),
    Case(1, 64, 70, bits=8, block=16, scales=np.float32),
    Case(2, 64, 64, bits=2, block=16, zeros="integers"),
    Case(5, 80, 40, block=32),  # the last block has fewer weights
)


def _packed(q: np.ndarray, bits: int) -> np.ndarray:
    """Integers along the last axis as bytes, the first in the lowest bits."""
    per_byte = 8 // bits
    q = np.pad(q, [(0, 0)] * (q.ndim - 1) + [(0, -q.shape[-1] % per_byte)])
    fields = q.reshape(*q.shape[:-1], -1, per_byte).astype(np.uint32)
    shifts = np.arange(per_byte, dtype=np.uint32) * bits
    return (fields << shifts).sum(-1).astype(np.uint8)


def _quantized(x: np.ndarray, block: int) -> np.ndarray:
    """`x` as 8 bits with a scale for each `block` of a row say."""
    blocks = x.reshape(len(x), -1, block)
    scale = abs(blocks).max(-1, keepdims=True) / np.float32(127)
    q = np.rint(blocks * (np.float32(1) / scale))
    return (q.astype(np.float64) * scale).reshape(x.shape)


class Writer:
    """Writes the nodes of cases, and computes their results in float64; from activations of 8 bits
    if they are `quantized`."""

    def __init__(self, quantized: bool = False) -> None:
        self.quantized = quantized
        self.random = np.random.default_rng(1)
        self.nodes, self.inputs, self.constants = [], {}, {}
        self.feeds, self.truths = {}, {}

    def zero_points(self, case: Case, blocks: int) -> np.ndarray:
        """The zero point of each block, in the type in which it is given."""
        if case.zeros == "floats":
            return self.random.uniform(0, 1 << case.bits, (case.columns, blocks)).astype(np.float32)
        if case.zeros == "none":
            return np.full((case.columns, blocks), 1 << (case.bits - 1))
        return self.random.integers(0, 1 << case.bits, (case.columns, blocks))

    def add(self, case: Case, dims: str | None = None) -> None:
        """Add ``relu(x w) + r``; rows are named `dims`, if that is given."""
        number, blocks = len(self.truths), -(-case.k // case.block)
        q = self.random.integers(0, 1 << case.bits, (case.columns, blocks, case.block))
        scale = self.random.uniform(-1, 1, (case.columns, blocks)).astype(case.scales)
        zero = self.zero_points(case, blocks)
        self.constants[f"w{number}"] = _packed(q, case.bits)
        self.constants[f"s{number}"] = scale.astype(np.float32).ravel()
        names = [f"{part}{number}" for part in "xws"]
        if case.zeros != "none":
            given = zero if case.zeros == "floats" else _packed(zero, case.bits)
            self.constants[f"z{number}"] = given.ravel()
            names.append(f"z{number}")
        self.nodes += [
            helper.make_node(
                "MatMulNBits", names, [f"m{number}"], domain="com.microsoft", K=case.k,
                N=case.columns, bits=case.bits, block_size=case.block, accuracy_level=case.level,
            ),
            helper.make_node("Relu", [f"m{number}"], [f"n{number}"]),
            helper.make_node("Add", [f"n{number}", f"r{number}"], [f"y{number}"]),
        ]  # fmt: skip
        w = (q - zero[..., None].astype(np.float64)) * scale[..., None].astype(np.float64)
        w = w.reshape(case.columns, -1)[:, : case.k]
        x = self._input(f"x{number}", (case.rows, case.k), dims)
        if self.quantized:
            x = _quantized(self.feeds[f"x{number}"], case.common_block)
        r = self._input(f"r{number}", (case.rows, case.columns), dims)
        self.truths[f"y{number}"] = np.maximum(x @ w.T, 0) + r

    def _input(self, name: str, shape: tuple[int, ...], dims: str | None) -> np.ndarray:
        x = self.feeds[name] = self.random.standard_normal(shape, np.float32)
        self.inputs[name] = (np.float32, (dims or shape[0], *shape[1:]))
        return x.astype(np.float64)

    def model(self) -> ModelProto:
        """All cases."""
        outputs = list(self.truths)
        model = build_model(self.nodes, self.inputs, outputs, self.constants, opset=17)
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        return model

    def check(self, tolerance: float = 2e-6, **options) -> graphc.CompiledModel:
        """Compile all cases, run them and compare the results."""
        compiled = graphc.compile(self.model(), threads=2, **options)
        for result, truth in zip(compiled.run(None, self.feeds), self.truths.values(), strict=True):
            assert result.shape == truth.shape
            assert abs(result - truth).max() <= tolerance * abs(truth).max()
        return compiled


@pytest.mark.parametrize("bits", graph.NBITS)
@pytest.mark.parametrize("zeros", [False, True])
def test_packing_keeps_weights(bits, zeros):
    random = np.random.default_rng(bits)
    half = 1 << (bits - 1)
    q = random.integers(-half, half, (96, 40))
    scale = random.standard_normal((6, 40)).astype(np.float16).astype(np.float32)
    zero = random.integers(-half, half, (6, 40)).astype(np.float32) if zeros else None
    layout = graph.NbitsFormat(bits, 16, 16, "f16", zeros, offset=1)
    panels = layout.pack(q, scale, zero)
    assert panels.shape == (3, 6, 16 * 16 * bits // 32 + 8 * (1 + zeros))
    back = layout.unpack(panels)
    wide = 0 if zero is None else np.repeat(zero, 16, axis=0)
    assert np.array_equal(back[:, :40], (q + 1 - wide) * np.repeat(scale, 16, axis=0))
    assert not back[:, 40:].any()


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu"])
@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_compiled(target, precision):
    writer = Writer()
    for case in CASES:
        writer.add(case)
    with writer.check(target=target, precision=precision) as compiled:
        assert compiled.report.rewrites["pack-nbits-matmul"].count == len(CASES)
        assert compiled.report.rewrites["fuse-epilogue"].count == len(CASES)


def test_named_rows():
    """Rows are cut into tiles when the model runs."""
    writer = Writer()
    writer.add(Case(7, 64, 64, zeros="integers"), dims="n")
    with writer.check() as compiled:
        for rows in (1, 2, 11):
            feeds = {name: np.repeat(x[:1], rows, axis=0) for name, x in writer.feeds.items()}
            (result,) = compiled.run(None, feeds)
            truth = np.repeat(writer.truths["y0"][:1], rows, axis=0)
            assert abs(result - truth).max() <= 2e-6 * abs(truth).max()


@pytest.mark.parametrize("target", ["cpu:x86-64-v3", "cpu"])
@pytest.mark.parametrize("dims", [None, "n"])
def test_many_rows(target, dims):
    """Weights are widened once for many rows, a block of K at a time."""
    writer = Writer()
    writer.add(Case(37, 288, 130, zeros="integers"), dims)
    writer.add(Case(37, 1024, 40, bits=8, block=256, scales=np.float32), dims)
    with writer.check(target=target) as compiled:
        if dims is not None:
            feeds = {name: x[:3] for name, x in writer.feeds.items()}
            for result, truth in zip(
                compiled.run(None, feeds), writer.truths.values(), strict=True
            ):
                assert abs(result - truth[:3]).max() <= 2e-6 * abs(truth).max()


LEVEL_4 = (
    *(replace(case, level=4) for case in CASES),
    Case(37, 288, 130, zeros="integers", level=4),
    Case(37, 1024, 40, bits=8, block=256, zeros="floats", scales=np.float32, level=4),
    Case(18, 128, 80, bits=2, block=64, level=4),
)
has_vnni = pytest.mark.skipif(
    cpu_features.int8_unit("host") != "avx512vnni", reason="the CPU has no AVX512-VNNI"
)
has_avx2 = pytest.mark.skipif(cpu_features.host_vector_bits() < 256, reason="the CPU has no AVX2")
has_int8 = pytest.mark.skipif(
    cpu_features.int8_unit("host") in ("amx", "none"), reason="tiles of AMX multiply bf16 terms"
)


@has_int8
def test_level_4():
    """Activations are quantized by blocks, exactly as said; f32 is within the steps of 8 bits."""
    writer, exact = Writer(quantized=True), Writer()
    for case in LEVEL_4:
        writer.add(case)
        exact.add(case)
    with writer.check() as compiled:
        assert compiled.report.rewrites["quantize-nbits-activations"].count == len(LEVEL_4)
        assert compiled.report.rewrites["fuse-epilogue"].count == len(LEVEL_4)
        for truth, quantized in zip(exact.truths.values(), writer.truths.values(), strict=True):
            assert 0 < abs(truth - quantized).max() <= 1e-2 * abs(truth).max()


@has_int8
def test_level_4_of_named_rows():
    """Few and many rows have kernels of their own, which give the same bits."""
    writer = Writer(quantized=True)
    writer.add(Case(40, 576, 70, zeros="integers", level=4), dims="n")
    writer.add(Case(40, 64, 40, bits=8, level=4), dims="n")
    with writer.check() as compiled:
        wholes = compiled.run(None, writer.feeds)
        for rows in (1, 3, 16):
            feeds = {name: x[:rows] for name, x in writer.feeds.items()}
            for part, whole in zip(compiled.run(None, feeds), wholes, strict=True):
                assert np.array_equal(part, whole[:rows])


@has_int8
def test_level_4_of_numbers_that_are_not_finite():
    """They make their row alone so, and zeros give zeros."""
    writer = Writer()
    writer.add(Case(3, 64, 64, level=4))
    feeds = dict(writer.feeds, x0=np.zeros((3, 64), np.float32))
    feeds["x0"][0, 3], feeds["x0"][1, 40] = np.nan, np.inf
    with writer.check(tolerance=1e-2) as compiled:
        (result,) = compiled.run(None, feeds)
    assert np.isnan(result[0]).all()
    assert np.isinf(result[1]).any()
    assert np.array_equal(result[2], feeds["r0"][2])


@pytest.mark.parametrize(
    ("options", "level", "reason"),
    [
        ({"target": "cpu", "precision": "strict"}, 4, "are to stay as they are"),
        ({"target": "cpu:x86-64-v2"}, 4, "no kernel of 8 bits"),
        ({"target": "cpu"}, 1, None),  # the model asks for f32
    ],
)
def test_activations_that_stay(options, level, reason):
    writer = Writer()
    writer.add(Case(3, 64, 64, level=level))
    with writer.check(**options) as compiled:
        statistics = compiled.report.rewrites.get("quantize-nbits-activations")
        assert (statistics is None) == (reason is None)
        if statistics is not None:
            assert statistics.count == 0
            assert [reason in text for text in statistics.declined] == [True]


@pytest.mark.parametrize(
    ("bits", "unit", "options"),
    [
        (512, "avx512vnni", {"target": "interpret", "check_rewrites": True}),
        pytest.param(256, "avxvnni", {}, marks=[has_vnni, pytest.mark.long]),
        pytest.param(256, "avx2", {}, marks=has_avx2),
    ],
)
def test_level_4_by_other_means(bits, unit, options):
    """The interpreter computes the same, and the rewrite is checked by its bound; so do vectors of
    256 bits, whose instructions CPUs with AVX-512 have, too."""
    writer = Writer(quantized=True)
    for case in LEVEL_4:
        writer.add(case)
    pipeline = graph_pipeline("cpu", CpuModel(bits), int8_unit=unit)
    with writer.check(pipeline=pipeline, **options) as compiled:
        assert compiled.report.rewrites["quantize-nbits-activations"].count == len(LEVEL_4)


@pytest.mark.parametrize(
    ("cpu", "count"), [("haswell", 2), ("alderlake", 2), ("sapphirerapids", 1)]
)
def test_level_4_of_other_cpus(cpu, count):
    """Tiles of AMX multiply many rows as bf16 terms."""
    writer = Writer()
    writer.add(Case(3, 1024, 64, level=4))
    writer.add(Case(128, 1024, 1024, level=4))
    code, report = to_module(writer.model(), make_options(f"cpu:{cpu}", threads=1))
    statistics = report.rewrites["quantize-nbits-activations"]
    assert statistics.count == count
    assert all("fill tiles" in reason for reason in statistics.declined)
    assert b"quantize_blocks" in code


@pytest.mark.skipif(not cpu_features.request_tiles(), reason="the CPU has no AMX")
@pytest.mark.parametrize("dims", [None, "n"])
def test_on_tiles(dims):
    """Rows that fill tiles are split into bf16 terms, with the weights; others are not."""
    writer = Writer()
    writer.add(Case(50, 1024, 1400, zeros="integers"), dims)
    writer.add(Case(50, 2048, 704, bits=8, block=64, scales=np.float32), dims)
    with writer.check(tolerance=1e-5) as compiled:
        assert compiled.report.rewrites["pack-nbits-matmul"].count == 2
        if dims is not None:
            feeds = {name: x[:3] for name, x in writer.feeds.items()}
            for result, truth in zip(
                compiled.run(None, feeds), writer.truths.values(), strict=True
            ):
                assert abs(result - truth[:3]).max() <= 2e-6 * abs(truth).max()
