"""Rounding to the steps of 16 bits, against integers."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import graphc
from graphc.dialects import graph

STEPS = (0.15827936, 6.6499283e-06, 2.0**-9, 1.5383128e-05, 1e-30)
"""Scales: reciprocals that are more or less exact, a power of two, one that is divided by."""
SPECIAL = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, -3e38])


def _inputs(scale, random):
    """Numbers at and beside steps, and the middles between them."""
    x = (random.integers(-80_000, 160_000, 8192) / 2 * np.float64(scale)).astype(np.float32)
    beside = x.view(np.int32) + random.integers(-3, 4, x.size).astype(np.int32)
    return np.concatenate([SPECIAL, -scale * SPECIAL[:1], beside.view(np.float32)])


def test_values_are_those_of_integers():
    random, nodes, feeds, wanted = np.random.default_rng(0), [], {}, {}
    constants = []
    for number, (step, dtype) in enumerate(zip(STEPS, 3 * [np.uint16, np.int16], strict=False)):
        scale, zero = np.float32(step), dtype(1000 * number)
        x = _inputs(scale, random)
        feeds[f"x{number}"] = x
        constants += [numpy_helper.from_array(scale, f"s{number}")]
        constants += [numpy_helper.from_array(np.asarray(zero), f"z{number}")]
        for op_type, source, target in (("Quantize", "x", "q"), ("Dequantize", "q", "y")):
            inputs = [f"{name}{number}" for name in (source, "s", "z")]
            nodes += [helper.make_node(f"{op_type}Linear", inputs, [f"{target}{number}"])]
        with np.errstate(all="ignore"):
            integers = graph.QuantizeOp.evaluate(x, scale, np.asarray(zero))
        f32 = np.dtype(np.float32)
        wanted[f"y{number}"] = graph.DequantizeOp.evaluate(
            integers, scale, np.asarray(zero), to=f32
        )
    values = [
        [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape)
         for name, array in arrays.items()]
        for arrays in (feeds, wanted)
    ]  # fmt: skip
    model = helper.make_model(
        helper.make_graph(nodes, "rounding", *values, constants),
        opset_imports=[helper.make_opsetid("", 21)],
        ir_version=10,
    )
    compiled = graphc.compile(model, cache=False)
    assert f"{len(STEPS)} x fake-quantize" in str(compiled.report)
    for have, (name, want) in zip(compiled.run(list(wanted), feeds), wanted.items(), strict=True):
        assert np.array_equal(have.view(np.int32), want.view(np.int32)), name
