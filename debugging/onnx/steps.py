"""Quantisation steps of the values of a model."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import numpy_helper

from .evaluators import read_model

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class QuantizationStep:
    """The distance of neighbouring values: one number, or one for each position on `axis`."""

    scale: np.ndarray
    axis: int = 1

    def largest(self, have: np.ndarray, want: np.ndarray) -> float | None:
        """The largest difference of two arrays in steps; None if shapes or scales do not fit."""
        scale = np.abs(self.scale.astype(np.float64))
        if scale.ndim and have.ndim:
            axis = self.axis % have.ndim
            scale = scale.reshape([-1 if each == axis else 1 for each in range(have.ndim)])
            if scale.size != have.shape[axis]:
                return None
        if have.shape != want.shape or not scale.all():
            return None
        apart = np.abs(have.astype(np.float64) - want.astype(np.float64))
        return float((apart / scale).max(initial=0.0))


ONE = QuantizationStep(np.ones(()))


def quantization_steps(source: Any) -> Mapping[str, QuantizationStep]:
    """The steps of the values that DequantizeLinear gives or QuantizeLinear reads, if their scales
    are constants for a tensor or an axis."""
    graph = read_model(source).graph
    scales = {tensor.name: tensor for tensor in graph.initializer}
    steps: dict[str, QuantizationStep] = {}
    for node in graph.node:
        if node.op_type not in (QUANTIZE, DEQUANTIZE) or node.input[1] not in scales:
            continue
        attributes = {each.name: each.i for each in node.attribute}
        scale = numpy_helper.to_array(scales[node.input[1]])
        if scale.ndim > 1 or attributes.get("block_size"):
            continue
        scale = scale.reshape(()) if scale.size == 1 else scale
        value = node.output[0] if node.op_type == DEQUANTIZE else node.input[0]
        steps[value] = QuantizationStep(scale, attributes.get("axis", 1))
    return steps


def in_steps(step: QuantizationStep | None, have: np.ndarray, want: np.ndarray) -> float | None:
    """The largest difference in steps: of bytes in ones, of others by `step`; None without."""
    step = ONE if want.dtype.name in BYTES else step
    return None if step is None else step.largest(have, want)
