"""Embeddings that are gathered from the weights of a matmul."""

import numpy as np
import pytest
from numerics import build_model
from onnx import helper

import graphc
from graphc.dialects import graph

VOCAB, BLOCK, BLOCKS = 100, 32, 3
IDS = np.array([[0, 5, 99], [64, 63, -1]], np.int64)


def tied(other=False):
    """Embeddings in bytes, and logits by the same table, or by an `other` one."""
    random = np.random.default_rng(0)
    table = random.integers(0, 256, (VOCAB, BLOCKS, BLOCK)).astype(np.uint8)
    scales = random.uniform(0.1, 1, (VOCAB, BLOCKS)).astype(np.float16).astype(np.float32)
    constants = {"table": table, "scales": scales.ravel(), "other": table[::-1].copy()}
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["q"], axis=0),
        helper.make_node(
            "MatMulNBits", ["x", "other" if other else "table", "scales"], ["y"],
            domain="com.microsoft", K=BLOCKS * BLOCK, N=VOCAB, bits=8, block_size=BLOCK,
        ),
    ]  # fmt: skip
    inputs = {"ids": (np.int64, IDS.shape), "x": (np.float32, (1, BLOCKS * BLOCK))}
    model = build_model(nodes, inputs, ["q", "y"], constants, opset=17)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model, table, scales


@pytest.mark.usefixtures("compiled_alone")
@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_a_table_of_embeddings_and_of_logits(precision):
    model, table, scales = tied()
    compiled = graphc.compile(model, threads=1, precision=precision)
    assert compiled.report.statistics("gather-from-panels").count == 1
    assert compiled.constant_bytes < 1.4 * table.nbytes  # with scales and padding
    x = np.random.default_rng(1).normal(size=(1, BLOCKS * BLOCK)).astype(np.float32)
    found, logits = compiled.run(None, {"ids": IDS, "x": x})
    np.testing.assert_array_equal(found, table[IDS])
    weights = ((table.astype(np.float64) - 128) * scales[..., None]).reshape(VOCAB, -1)
    np.testing.assert_allclose(logits, x @ weights.T, rtol=1e-4, atol=1e-3)
    outside = np.full(IDS.shape, VOCAB)
    assert not compiled.run(["q"], {"ids": outside, "x": x})[0].any()


def test_another_table():
    model, table, _ = tied(other=True)
    compiled = graphc.compile(model, threads=1)
    assert compiled.report.statistics("gather-from-panels").count == 0
    x = np.zeros((1, BLOCKS * BLOCK), np.float32)
    np.testing.assert_array_equal(compiled.run(["q"], {"ids": IDS, "x": x})[0], table[IDS])


@pytest.mark.parametrize("bits", graph.NBITS)
def test_semantics(bits):
    random = np.random.default_rng(bits)
    half = 1 << (bits - 1)
    q = random.integers(-half, half, (96, 40))
    layout = graph.NbitsFormat(bits, 16, 16, "f16", zeros=True)
    panels = layout.pack(q, np.ones((6, 40), np.float32), np.ones((6, 40), np.float32))
    found = graph.NbitsGatherOp.evaluate(
        panels, IDS % 40, columns=40, bits=bits, block=16, nr=16, scales="f16", slice=(2, 48),
        middle=half, to=np.dtype(np.uint8),
    )  # fmt: skip
    np.testing.assert_array_equal(found, (q.T.reshape(40, 2, 48) + half)[IDS % 40])
