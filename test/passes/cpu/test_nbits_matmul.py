"""Matmuls by weights of few bits that are quantized by blocks."""

from dataclasses import dataclass

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.dialects import graph
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


class Writer:
    """Writes the nodes of cases, and computes their results in float64."""

    def __init__(self) -> None:
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
                N=case.columns, bits=case.bits, block_size=case.block,
            ),
            helper.make_node("Relu", [f"m{number}"], [f"n{number}"]),
            helper.make_node("Add", [f"n{number}", f"r{number}"], [f"y{number}"]),
        ]  # fmt: skip
        w = (q - zero[..., None].astype(np.float64)) * scale[..., None].astype(np.float64)
        w = w.reshape(case.columns, -1)[:, : case.k]
        x = self._input(f"x{number}", (case.rows, case.k), dims)
        r = self._input(f"r{number}", (case.rows, case.columns), dims)
        self.truths[f"y{number}"] = np.maximum(x @ w.T, 0) + r

    def _input(self, name: str, shape: tuple[int, ...], dims: str | None) -> np.ndarray:
        x = self.feeds[name] = self.random.standard_normal(shape, np.float32)
        self.inputs[name] = (np.float32, (dims or shape[0], *shape[1:]))
        return x.astype(np.float64)

    def check(self, tolerance: float = 2e-6, **options) -> graphc.CompiledModel:
        """Compile all cases, run them and compare the results."""
        outputs = list(self.truths)
        model = build_model(self.nodes, self.inputs, outputs, self.constants, opset=17)
        model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        compiled = graphc.compile(model, threads=2, **options)
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
