"""Recurrent kernels that read weights of 8 bits, against ONNX Runtime in f32."""

import dataclasses

import numpy as np
import onnxruntime
import pytest
from node_list import NodeList
from numerics import build_model

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline
from harness.marks import long

HIDDEN = 40  # a whole panel and a part of one, or more
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
UNITS = {256: "avx2", 512: "avx512vnni"}
"""Units that multiply 8-bit integers, for which weights stay quantized, by bits of a vector."""
CELLS = [
    ("RNN", {}),
    ("GRU", {"linear_before_reset": 1}),
    long("GRU", {"linear_before_reset": 0}),
    ("LSTM", {"direction": "reverse"}),
]


def _layer(kind, dtype, per_column, **attributes):
    """A layer on ``x`` ["s", 3, 5] whose recurrence is dequantized."""
    rng, wide, nodes = np.random.default_rng(0), GATES[kind] * HIDDEN, NodeList()
    first, zero = (3, 130) if dtype == np.uint8 else (-127, 0)
    q = rng.integers(first, first + 252, (1, wide, HIDDEN)).astype(dtype)
    scales = rng.uniform(0.001, 0.002, wide).astype(np.float32)
    zeros = np.full(wide, zero, dtype)
    if not per_column:
        scales, zeros = scales[0], zeros[0]
    recurrence = nodes.node(
        "DequantizeLinear", [nodes.constant(each) for each in (q, scales, zeros)], axis=1
    )
    w = nodes.constant(rng.standard_normal((1, wide, 5)).astype(np.float32) / 4)
    bias = nodes.constant(rng.standard_normal((1, 2 * wide)).astype(np.float32))
    y = nodes.node(kind, ["x", w, recurrence, bias], hidden_size=HIDDEN, **attributes)
    return build_model(
        nodes.nodes, {"x": (np.float32, ["s", 3, 5])}, [y], nodes.constants, opset=21
    )


def _pipeline(vector_bits, l2_bytes):
    cpu = dataclasses.replace(CpuModel(vector_bits), l2_bytes=l2_bytes)
    return graph_pipeline("cpu", cpu, int8_unit=UNITS[vector_bits], threads=2)


@pytest.mark.parametrize("vector_bits", [long(256), 512])
@pytest.mark.parametrize(("kind", "attributes"), CELLS, ids=str)
def test_compiled(kind, attributes, vector_bits):
    """In the program that is chosen where the L2 is too small for the recurrence as f32."""
    pipeline = _pipeline(vector_bits, l2_bytes=1 << 10)
    for dtype, per_column in ((np.int8, True), (np.uint8, False)):
        model = _layer(kind, dtype, per_column, **attributes)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
            assert compiled.report.rewrites["pack-nbits-recurrence"].count == 1
            for steps in (7, 1):
                x = np.random.default_rng(1).standard_normal((steps, 3, 5)).astype(np.float32)
                (found,), (wanted,) = compiled.run(None, {"x": x}), session.run(None, {"x": x})
                np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("share", [1, 2])
def test_a_recurrence_in_the_l2_is_converted_once(share):
    """One that fills the L2 is not: the inputs of the steps would displace it."""
    pipeline = _pipeline(256, l2_bytes=share * 4 * GATES["LSTM"] * HIDDEN**2)
    report = graphc.compile(_layer("LSTM", np.int8, True), pipeline=pipeline).report
    assert report.rewrites["pack-nbits-recurrence"].count == 2 - share
    assert ("L2" in str(report)) == (share == 2)
