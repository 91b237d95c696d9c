"""Direct convolutions give the numbers of the convolutions they replace."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import graphc
from graphc.passes.graph_direct_conv import DirectConv

PIPELINE = (
    "graph-layout,graph-fold-constants,canonicalize,graph-direct-conv{{vector-bits={}}},"
    "graph-fuse-epilogue,canonicalize"
)


@dataclass(frozen=True)
class Case:
    """A convolution of [N, C, H, W]: its weights [F, C/group, ...], attributes and epilogue."""

    image: tuple[int, ...]
    weights: tuple[int, ...]
    epilogue: str = "bias"
    attributes: tuple[tuple[str, Any], ...] = ()


CASES = [
    Case((1, 5, 9, 14), (64, 5, 3, 3), "relu", (("pads", [1, 1, 1, 1]),)),
    Case((2, 3, 20, 23), (16, 3, 7, 7), "relu", (("pads", [3] * 4), ("strides", [2, 2]))),
    Case((1, 8, 6, 31), (48, 8, 2, 3), "residual", (("dilations", [2, 3]), ("pads", [1, 2, 3, 4]))),
    Case((1, 32, 8, 8), (32, 32, 3, 3), "residual", (("pads", [1] * 4),)),
    Case((1, 8, 7, 9), (16, 8, 1, 1), "hard_swish", (("strides", [2, 2]),)),
    Case((1, 4, 4, 5), (16, 4, 3, 3), "sigmoid", (("pads", [2, 4, 2, 4]),)),
    Case((2, 32, 6, 7), (64, 4, 3, 3), "relu", (("group", 8), ("pads", [1] * 4))),
    Case((1, 6, 6, 7), (64, 3, 3, 1), "bias", (("group", 2),)),
    Case((1, 32, 9, 14), (32, 1, 5, 5), "relu", (("group", 32), ("pads", [2] * 4))),
    Case((2, 64, 11, 30), (64, 1, 4, 7), "residual", (("group", 64), ("strides", [2, 3]))),
    Case((1, 16, 9, 12), (16, 1, 4, 4), "bias", (("group", 16), ("dilations", [2, 3]),
                                                 ("pads", [3, 1, 5, 4]))),
    Case((2, 5, 31), (64, 5, 3), "relu", (("pads", [1, 1]),)),
    Case((2, 32, 40), (32, 1, 16), "residual", (("group", 32), ("pads", [3, 9]))),
    Case((3, 8, 37), (16, 8, 4), "bias", (("strides", [3]), ("dilations", [2]))),
]  # fmt: skip


def _model(seed: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    random = np.random.default_rng(seed)
    nodes, inputs, outputs, constants, feeds = [], [], [], [], {}

    def feed(name, shape):
        feeds[name] = random.standard_normal(shape, np.float32)
        inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))

    def constant(name, array):
        constants.append(numpy_helper.from_array(array.astype(np.float32), name))

    for i, case in enumerate(CASES):
        feed(f"x{i}", case.image)
        scale = np.sqrt(np.prod(case.weights[1:]))
        constant(f"w{i}", random.standard_normal(case.weights) / scale)
        constant(f"b{i}", random.standard_normal(case.weights[0]))
        names = [f"x{i}", f"w{i}", f"b{i}"]
        nodes.append(helper.make_node("Conv", names, [f"c{i}"], **dict(case.attributes)))
        if case.epilogue == "residual":
            shape = _shape(case)
            feed(f"r{i}", shape)
            constant(f"s{i}", random.standard_normal((shape[1], *[1] * (len(shape) - 2))))
            nodes += [
                helper.make_node("Mul", [f"c{i}", f"s{i}"], [f"m{i}"]),
                helper.make_node("Add", [f"r{i}", f"m{i}"], [f"y{i}"]),
            ]
        else:
            op_type = {"relu": "Relu", "hard_swish": "HardSwish", "sigmoid": "Sigmoid"}
            nodes.append(
                helper.make_node(op_type.get(case.epilogue, "Identity"), [f"c{i}"], [f"y{i}"])
            )
        outputs.append(helper.make_empty_tensor_value_info(f"y{i}"))
    graph = helper.make_graph(nodes, "g", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feeds


def _shape(case: Case) -> tuple[int, ...]:
    axes = len(case.image) - 2
    attributes = {"pads": [0] * 2 * axes, "strides": [1] * axes, "dilations": [1] * axes}
    attributes |= dict(case.attributes)
    sizes = [
        (case.image[2 + i] + attributes["pads"][i] + attributes["pads"][axes + i]
         - attributes["dilations"][i] * (case.weights[2 + i] - 1) - 1) // attributes["strides"][i]
        + 1
        for i in range(axes)
    ]  # fmt: skip
    return (case.image[0], case.weights[0], *sizes)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
def test_compiled(vector_bits):
    model, feeds = _model(vector_bits)
    expected = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    ).run(None, feeds)
    compiled = graphc.compile(model, pipeline=PIPELINE.format(vector_bits))
    assert compiled.report.rewrites["direct-conv"].count == len(CASES)
    for ours, theirs in zip(compiled.run(None, feeds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("vector_bits", [128, 256, 512])
@pytest.mark.parametrize("features", [16, 32, 48, 64, 96, 112, 512])
@pytest.mark.parametrize("places", [4, 7, 14, 17, 56, 112])
def test_tiles(places, features, vector_bits):
    rewrite = DirectConv(vector_bits)
    weights = np.zeros((3, 3, 64, features), np.float32)
    tile = rewrite._tile(places, weights, 1)
    assert features % (tile.vectors * rewrite.lanes) == 0
    assert 1 <= tile.places <= places
    assert tile.places * tile.vectors < rewrite.registers
    assert tile.places * tile.vectors >= 4  # fewer sums wait for each other
