"""Products by weights of 24 bits."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.compiler.driver import make_options
from graphc.dialects import graph

SIZES = [(1, 300, 130), (2, 40, 64), (4, 171, 100), (3, 17, 1000)]
"""Rows, K and columns: one block of K and several, full panels and others."""


@pytest.mark.parametrize("columns", [64, 130, 63])
def test_packing_rounds_to_16_significant_bits(columns):
    random = np.random.default_rng(columns)
    exponents = random.integers(-140, 120, (33, columns))
    w = np.ldexp(random.uniform(-2, 2, exponents.shape), exponents).astype(np.float32)
    back = graph.unpack_f24(graph.pack_f24(w))
    assert back.shape == (33, -(-columns // 64) * 64)
    assert not back[:, columns:].any()
    assert not (back.view(np.uint32) & 0xFF).any()
    assert np.all(abs(back[:, :columns] - w) <= np.maximum(abs(w) * 2.0**-16, 2.0**-142))


def test_ties_go_to_even():
    w = np.array([[0x3F800080, 0x3F800180, 0x3F8001FF, 0xBF800081]], np.uint32).view(np.float32)
    bits = graph.unpack_f24(graph.pack_f24(w))[0, :4].view(np.uint32)
    assert [hex(each) for each in bits] == ["0x3f800000", "0x3f800200", "0x3f800200", "0xbf800100"]


def _model():
    """relu(x w + b) + r for each of the sizes, and the results in float64 by packed weights."""
    random = np.random.default_rng(1)
    nodes, inputs, constants, feeds, truths = [], {}, {}, {}, []
    for i, (rows, k, columns) in enumerate(SIZES):
        w = random.standard_normal((k, columns), np.float32)
        b = random.standard_normal(columns, np.float32)
        x = feeds[f"x{i}"] = random.standard_normal((rows, k), np.float32)
        r = feeds[f"r{i}"] = random.standard_normal((rows, columns), np.float32)
        inputs |= {f"x{i}": (np.float32, x.shape), f"r{i}": (np.float32, r.shape)}
        constants |= {f"w{i}": w, f"b{i}": b}
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]),
            helper.make_node("Add", [f"m{i}", f"b{i}"], [f"a{i}"]),
            helper.make_node("Relu", [f"a{i}"], [f"n{i}"]),
            helper.make_node("Add", [f"n{i}", f"r{i}"], [f"y{i}"]),
        ]
        rounded = graph.unpack_f24(graph.pack_f24(w))[:, :columns].astype(np.float64)
        truths.append(np.maximum(x @ rounded + b, 0) + r)
    outputs = [f"y{i}" for i in range(len(SIZES))]
    return build_model(nodes, inputs, outputs, constants, opset=17), feeds, truths


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
def test_compiled(vector_bits):
    """Results are accurate to the last bits of f32: the weights equal their packed form."""
    model, feeds, truths = _model()
    form = f"cpu-select-matmul-kernels{{vector-bits={vector_bits} allow-f24=true l2-bytes=0}}"
    with graphc.compile(model, pipeline=f"{form},graph-fuse-epilogue", threads=2) as compiled:
        assert compiled.report.rewrites["fuse-epilogue"].count == len(SIZES)
        results = compiled.run(None, feeds)
    for result, truth in zip(results, truths, strict=True):
        assert abs(result - truth).max() <= 1e-6 * abs(truth).max()


@pytest.mark.parametrize(("precision", "allow_f24"), [("f32", "true"), ("strict", "false")])
def test_strict_keeps_all_bits(precision, allow_f24):
    assert f"allow-f24={allow_f24}" in make_options("cpu", precision=precision).pipeline
