"""Models of convolutions and what follows them, for tests of the ways to compute them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper


@dataclass(frozen=True)
class ConvCase:
    """A convolution of [N, C, H, W]: its weights [F, C/group, ...], attributes and epilogue.

    The epilogue ``residual`` adds another input, ``skip`` the image, others are activations.
    """

    image: tuple[int, ...]
    weights: tuple[int, ...]
    epilogue: str = "bias"
    attributes: tuple[tuple[str, Any], ...] = ()

    def resized(self, axes: Sequence[int], change: int) -> "ConvCase":
        """The case with `change` more images, rows or pixels along `axes`."""
        sizes = [size + change * (axis in axes) for axis, size in enumerate(self.image)]
        return replace(self, image=tuple(sizes))


def convolution_model(
    cases: Sequence[ConvCase], seed: int, named: Sequence[int] = ()
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """A model with an output for each of `cases`, whose images have named sizes along the axes
    `named`, and what to feed it."""
    random = np.random.default_rng(seed)
    nodes, inputs, outputs, constants, feeds = [], [], [], [], {}

    def feed(name, shape):
        feeds[name] = random.standard_normal(shape, np.float32)
        dims = [f"{name}_{axis}" if axis in named else size for axis, size in enumerate(shape)]
        inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims))

    def constant(name, array):
        constants.append(numpy_helper.from_array(array.astype(np.float32), name))

    for i, case in enumerate(cases):
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
        elif case.epilogue == "skip":
            nodes += [
                helper.make_node("Abs", [f"x{i}"], [f"m{i}"]),
                helper.make_node("Add", [f"m{i}", f"c{i}"], [f"y{i}"]),
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


def _shape(case: ConvCase) -> tuple[int, ...]:
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
