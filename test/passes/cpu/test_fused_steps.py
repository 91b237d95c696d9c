"""Biases and activations of convolutions are computed with them, in the pipeline of the CPU."""

import numpy as np
import pytest
from node_list import NodeList
from numerics import build_model

from graphc.compiler import driver
from graphc.dialects import graph

CHANNELS = 32


def _weights(net, *shape):
    return net.constant(np.random.default_rng(shape).standard_normal(shape).astype(np.float32))


def _gates(net, x):
    """Squeeze-and-excitation (Hu et al., 2018)."""
    y = net.node("GlobalAveragePool", [x])
    for name, features, inputs in (("Relu", 16, CHANNELS), ("HardSigmoid", CHANNELS, 16)):
        y = net.node("Conv", [y, _weights(net, features, inputs, 1, 1), _weights(net, features)])
        y = net.node(name, [y])
    return net.node("Mul", [x, y])


def _sequence(net, x):
    """A convolution of a sequence that is written as an image of one row, as by Keras."""
    y = net.node("GlobalAveragePool", [net.node("Transpose", [x], perm=[0, 2, 1, 3])])
    y = net.node("Transpose", [y], perm=[0, 2, 3, 1])
    y = net.node("Conv", [y, _weights(net, 16, 1, 1, 3), _weights(net, 16)], pads=[0, 1, 0, 1])
    return net.node("Relu", [y])


@pytest.mark.parametrize("build", [_gates, _sequence])
def test_activations_are_computed_with_convolutions(build):
    net = NodeList()
    y = build(net, "x")
    model = build_model(
        net.nodes, {"x": (np.float32, ["n", CHANNELS, "h", "w"])}, [y], net.constants
    )
    compilation = driver.begin(model, driver.make_options("cpu"))
    compilation.graph_passes()
    with compilation.module.context:
        (main,) = compilation.module.body.operations
        alone = [
            op.operation.name
            for op in main.regions[0].blocks[0].operations
            if isinstance(op.operation.opview, graph.ElementwiseOp)
        ]
    assert set(alone) <= {"graph.mul"}  # of the image and its gates
