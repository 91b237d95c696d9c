"""Borders on some axes alone around what windows give, in images with axes of one element.

A backend that takes one axis for another gets nearly every element wrong, so values say enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import pytest
from numerics import build_model, compare, compare_with_onnxruntime, output_names, run_onnxruntime
from onnx import helper

import graphc

TOLERANCE = {"float64": 1e-11, "float32": 2e-5, "float16": 1e-2}


@dataclass(frozen=True)
class NodeSpec:
    """A node; weights of the given shapes, or the given array, are its other inputs."""

    op_type: str
    weights: Sequence[tuple[int, ...] | np.ndarray] = ()
    attributes: tuple[tuple[str, Any], ...] = ()


def _conv(*weights: int, **attributes: Any) -> NodeSpec:
    return NodeSpec("Conv", [weights], tuple(attributes.items()))


def _max(*kernel: int, **attributes: Any) -> NodeSpec:
    return NodeSpec("MaxPool", (), (("kernel_shape", kernel), *attributes.items()))


def _average(*kernel: int, **attributes: Any) -> NodeSpec:
    return NodeSpec("AveragePool", (), (("kernel_shape", kernel), *attributes.items()))


def _pad(*pads: int, mode: str = "constant") -> NodeSpec:
    return NodeSpec("Pad", [np.array(pads)], (("mode", mode),))


AROUND = {"pads": [1, 1, 1, 1]}
ON_WIDTH = {"pads": [0, 1, 0, 1]}
HALF = {"strides": [2, 2]}

CHAINS = {
    "last axis": [
        ([1, 8, 6, 7], [_max(3, 3, **AROUND), _average(2, 2, **HALF, ceil_mode=1)]),
        ([1, 8, 6, 7], [_max(2, 2), _max(2, 2, strides=[2, 1], **ON_WIDTH)]),
        ([1, 3, 6, 7], [_average(3, 3, **AROUND), _average(1, 3, pads=[0, 0, 0, 2])]),
        ([1, 3, 6, 7], [_conv(4, 3, 3, 3, **AROUND), _conv(4, 4, 3, 3, **ON_WIDTH)]),
        ([1, 3, 6, 7], [_conv(4, 3, 3, 3), NodeSpec("Relu"), _max(2, 2, **ON_WIDTH)]),
        ([1, 6, 6, 7], [_conv(6, 1, 3, 3, group=6), _conv(6, 1, 1, 5, group=6, pads=[0, 2, 0, 2])]),
        ([1, 6, 6, 7], [_conv(6, 2, 3, 3, group=3), _max(2, 3, **ON_WIDTH)]),
        ([2, 3, 6, 7], [_max(2, 2), _max(2, 2, **ON_WIDTH)]),
        ([1, 3, 9], [_max(3), _max(2, pads=[1, 1])]),
        ([1, 2, 4, 5, 6], [_max(2, 2, 2), _max(2, 2, 2, pads=[0, 0, 1, 0, 0, 1])]),
    ],
    "others": [
        ([1, 3, 6, 7], [_max(2, 2), _pad(0, 0, 0, 1, 0, 0, 0, 2)]),
        ([1, 3, 6, 7], [_max(2, 2), _pad(0, 2, 0, 0, 0, 1, 0, 0), _max(2, 2)]),
        ([1, 3, 6, 7], [_max(2, 2), NodeSpec("LRN", (), (("size", 3),))]),
        ([1, 3, 1, 7], [_max(1, 2), _max(2, 2, pads=[1, 0, 0, 0])]),
        ([1, 3, 1, 7], [_conv(4, 3, 1, 2), _max(2, 2, pads=[1, 0, 0, 0])]),
        ([1, 3, 6, 1], [_max(2, 1), _average(2, 2, **ON_WIDTH)]),
        ([1, 3, 6, 7], [_max(2, 2), _pad(1, 0, 0, 0, 1, 0, 0, 0)]),
        ([2, 3, 6, 7], [_conv(1, 3, 2, 3), _pad(0, 0, 0, 1, 0, 0, 0, 1), _max(3, 2, pads=[1] * 4)]),
        ([1, 1, 1, 5], [_pad(0, 0, 0, 1, 0, 0, 0, 1), _max(2, 2, pads=[1, 0, 1, 0])]),
    ],
}  # fmt: skip


def _model(
    chains: Sequence[tuple[list[int], Sequence[NodeSpec]]], dtype: Any
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    random = np.random.default_rng(0)
    nodes, inputs, feeds, constants, outputs = [], {}, {}, {}, []
    for shape, steps in chains:
        name = f"x{len(feeds)}"
        inputs[name], feeds[name] = (dtype, shape), random.standard_normal(shape).astype(dtype)
        for step in steps:
            names = [name]
            for given in step.weights:
                names.append(f"w{len(constants)}")
                array = given if isinstance(given, np.ndarray) else random.standard_normal(given)
                constants[names[-1]] = array if array.dtype == np.int64 else array.astype(dtype)
            name = f"y{len(nodes)}"
            nodes.append(helper.make_node(step.op_type, names, [name], **dict(step.attributes)))
        outputs.append(name)
    return build_model(nodes, inputs, outputs, constants, opset=19), feeds


@pytest.mark.parametrize("axes", CHAINS)
def test_borders_behind_windows(axes):
    model, feeds = _model(CHAINS[axes], np.float32)
    tolerances = dict.fromkeys(output_names(model), TOLERANCE["float32"])
    compare_with_onnxruntime(model, feeds, tolerances=tolerances)  # each op by itself
    with graphc.compile(model) as compiled:  # channels last, with epilogues
        compare(
            compiled.run(None, feeds),
            run_onnxruntime(model, feeds),
            output_names(model),
            tolerances,
        )


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_element_types(dtype):
    pools = [chain for chain in CHAINS["last axis"] if chain[1][0].op_type == "MaxPool"]
    only = [(shape, steps) for shape, steps in pools if steps[1].op_type == "MaxPool"]
    model, feeds = _model(only, dtype)
    compare_with_onnxruntime(model, feeds)


def test_bytes():
    model, feeds = _model(CHAINS["last axis"][1:2], np.uint8)
    compare_with_onnxruntime(model, feeds)
