"""Models that calibrate devices: for each class of operators chains of layers, in several sizes.

A chain shares the cost of its call among its layers, finds its operands where the layer before it
left them, and has weights that fill the caches as those of real models do.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


@dataclass
class _Chain:
    """A model under construction, whose `value` is that of the last node."""

    shape: tuple[int, ...]
    value: str = "x"
    nodes: list[onnx.NodeProto] = field(default_factory=list[onnx.NodeProto])
    weights: list[onnx.TensorProto] = field(default_factory=list[onnx.TensorProto])
    others: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        values = np.random.default_rng(len(self.weights)).standard_normal(shape, np.float32)
        scale = max(1.0, float(np.prod(shape[1:])) ** 0.5)
        self.weights.append(numpy_helper.from_array(values / np.float32(scale), name))
        return name

    def int8_weight(self, *shape: int) -> str:
        """A weight of 8 bits, dequantized."""
        name = f"w{len(self.weights)}"
        values = np.random.default_rng(len(self.weights)).integers(-127, 128, shape, np.int8)
        self.weights.append(numpy_helper.from_array(values, name))
        scale = self.scalar(np.float32(1 / (64 * np.prod(shape[1:]) ** 0.5)))
        dequantized = f"{name}_dequantized"
        self.nodes.append(helper.make_node("DequantizeLinear", [name, scale], [dequantized]))
        return dequantized

    def scalar(self, value: np.generic) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def quantized(self) -> "_Chain":
        """Quantize and dequantize `value`."""
        scale, zero = self.scalar(np.float32(0.05)), self.scalar(np.uint8(128))
        return self.node("QuantizeLinear", scale, zero).node("DequantizeLinear", scale, zero)

    def integers(self, values: Sequence[int]) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def other(self, *shape: int) -> str:
        """Another input."""
        name = f"x{len(self.others)}"
        self.others[name] = shape
        return name

    def node(self, operator: str, *inputs: str, **attributes: Any) -> "_Chain":
        """Append a node on `value` and `inputs`, whose result is the new `value`."""
        result = f"v{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(operator, [self.value, *inputs], [result], name=result, **attributes)
        )
        self.value = result
        return self

    def model(self) -> onnx.ModelProto:
        inputs = {"x": self.shape, **self.others}
        infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
                 for name, shape in inputs.items()]  # fmt: skip
        result = onnx.ValueInfoProto(name=self.value)
        result.type.tensor_type.elem_type = TensorProto.FLOAT
        proto = helper.make_graph(self.nodes, "calibration", infos, [result], self.weights)
        return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def _matmuls(rows: int, *widths: int) -> _Chain:
    chain = _Chain((rows, widths[0]))
    for before, after in pairwise(widths):
        chain.node("MatMul", chain.weight(before, after)).node("Relu")
    return chain


def _int8_matmuls(rows: int, *widths: int) -> _Chain:
    chain = _Chain((rows, widths[0])).quantized()
    for before, after in pairwise(widths):
        chain.node("MatMul", chain.int8_weight(before, after)).quantized()
    return chain


def _int8_convolutions(size: int, kernel: int, stride: int, *channels: int) -> _Chain:
    chain = _Chain((1, channels[0], size, size)).quantized()
    pads = [kernel // 2] * 4
    for before, after in pairwise(channels):
        weight = chain.int8_weight(after, before, kernel, kernel)
        chain.node("Conv", weight, strides=[stride] * 2, pads=pads).quantized()
    return chain


def _int8_depthwise(size: int, kernel: int, stride: int, channels: int) -> _Chain:
    chain = _Chain((1, channels, size, size)).quantized()
    for _ in range(3):
        weight = chain.int8_weight(channels, 1, kernel, kernel)
        pads = [kernel // 2] * 4
        chain.node("Conv", weight, strides=[stride] * 2, pads=pads, group=channels).quantized()
    return chain


def _batch_matmuls(heads: int, rows: int, depth: int, layers: int) -> _Chain:
    chain = _Chain((heads, rows, depth))
    for _ in range(layers):
        chain.node("MatMul", chain.other(heads, depth, rows))
        chain.node("MatMul", chain.other(heads, rows, depth))
    return chain


def _attention(heads: int, rows: int, depth: int) -> _Chain:
    chain = _Chain((1, heads, rows, depth))
    for _ in range(2):
        chain.node(
            "Attention", chain.other(1, heads, rows, depth), chain.other(1, heads, rows, depth)
        )
    return chain


def _convolutions(size: int, kernel: int, stride: int, *channels: int) -> _Chain:
    chain = _Chain((1, channels[0], size, size))
    pads = [kernel // 2] * 4
    for before, after in pairwise(channels):
        weight = chain.weight(after, before, kernel, kernel)
        chain.node("Conv", weight, strides=[stride] * 2, pads=pads).node("Relu")
    return chain


def _depthwise(size: int, kernel: int, stride: int, channels: int, layers: int = 3) -> _Chain:
    chain = _Chain((1, channels, size, size))
    for _ in range(layers):
        weight = chain.weight(channels, 1, kernel, kernel)
        chain.node(
            "Conv", weight, strides=[stride] * 2, pads=[kernel // 2] * 4, group=channels
        ).node("Relu")  # fmt: skip
    return chain


def _recurrent(steps: int, width: int) -> _Chain:
    chain = _Chain((steps, 1, width))
    return chain.node(
        "LSTM", chain.weight(1, 4 * width, width), chain.weight(1, 4 * width, width),
        hidden_size=width,
    )  # fmt: skip


def _normalizations(rows: int, width: int) -> _Chain:
    chain = _Chain((rows, width))
    return chain.node("LayerNormalization", chain.weight(width), chain.weight(width))


def _elementwise(*shape: int) -> _Chain:
    chain = _Chain(shape)
    return chain.node("Add", chain.other(*shape)).node("Relu")


def _each(*shape: int, operator: str, **attributes: Any) -> _Chain:
    return _Chain(shape).node(operator, **attributes)


def _reduction(*shape: int, axis: int) -> _Chain:
    chain = _Chain(shape)
    return chain.node("ReduceMean", chain.integers([axis]))


def _concat(*shape: int) -> _Chain:
    chain = _Chain(shape)
    return chain.node("Concat", chain.other(*shape), axis=1)


_MATMULS = (
    (128, 768, 768, 768, 768), (128, 768, 3072, 768, 3072, 768), (197, 384, 1536, 384),
    (16, 256, 256, 256, 256, 256), (512, 512, 512, 512), (1, 512, 512, 512, 512),
    (1, 2048, 2048, 2048, 2048), (1, 1280, 1000), (1, 768, 3072, 768, 3072),
)  # fmt: skip
"""Rows, and the widths of the layers."""
_CONVOLUTIONS = (
    (112, 3, 1, 32, 32, 32), (56, 3, 1, 64, 64, 64), (28, 3, 1, 128, 128, 128),
    (14, 3, 1, 256, 256, 256), (7, 3, 1, 512, 512, 512), (14, 3, 1, 64, 64, 64),
    (56, 3, 2, 64, 128, 256), (112, 3, 2, 64, 64, 128), (224, 7, 2, 3, 64),
    (28, 3, 2, 256, 512, 512), (56, 5, 1, 32, 32, 32), (224, 3, 2, 3, 32),
    (56, 1, 1, 64, 256, 64, 256, 64), (28, 1, 1, 128, 512, 128, 512),
    (14, 1, 1, 256, 1024, 256, 1024), (7, 1, 1, 512, 2048, 512, 2048),
    (56, 1, 1, 24, 144, 24, 144), (14, 1, 1, 96, 576, 96, 576),
    (7, 1, 1, 160, 960, 160, 960, 320), (56, 1, 2, 256, 512, 1024),
)  # fmt: skip
"""Height and width, those of the kernel, strides, and the channels between the layers."""
_DEPTHWISE = (
    (112, 3, 1, 32), (112, 3, 2, 96), (56, 3, 1, 144), (28, 3, 1, 192), (14, 3, 1, 384),
    (7, 3, 1, 960), (14, 5, 1, 240),
)  # fmt: skip
_INT8_MATMULS = (
    (128, 768, 768, 768), (128, 768, 3072, 768), (16, 256, 256, 256), (1, 1280, 1000),
)  # fmt: skip
_INT8_CONVOLUTIONS = (
    (56, 3, 1, 64, 64, 64), (14, 3, 1, 256, 256, 256), (28, 3, 2, 128, 256, 256),
    (224, 3, 2, 3, 32), (56, 1, 1, 64, 256, 64), (14, 1, 1, 256, 1024, 256),
    (14, 1, 1, 96, 576, 96),
)  # fmt: skip
_INT8_DEPTHWISE = ((112, 3, 1, 32), (56, 3, 1, 144), (14, 3, 1, 384))
_BATCH_MATMULS = ((12, 128, 64, 2), (12, 197, 64, 2), (4, 64, 32, 3), (12, 16, 64, 3))
_ATTENTION = ((12, 128, 64), (12, 197, 64), (8, 512, 64), (4, 32, 32))
_RECURRENT = ((16, 128), (64, 256))
_ROWS = ((128, 768), (1536, 128), (16, 256), (12 * 197, 197))
_ELEMENTWISE = ((1, 4096), (128, 768), (128, 3072), (1024, 1024), (2048, 2048))
_REDUCTIONS = (((128, 768), 1), ((1024, 1024), 1), ((1, 512, 784), 2), ((64, 4096), 0))
_POOLS = (((1, 64, 112, 112), 3), ((1, 192, 28, 28), 2), ((1, 32, 56, 56), 3))
_GLOBAL_POOLS = ((1, 1280, 7, 7), (1, 576, 14, 14))
_COPIES = ((1, 128, 12, 64), (1, 512, 16, 64), (4, 64, 56, 56), (1, 16, 4, 32))


def _chains() -> Iterator[Callable[[], _Chain]]:
    for make, sizes in (
        (_matmuls, _MATMULS),
        (_convolutions, _CONVOLUTIONS),
        (_depthwise, _DEPTHWISE),
        (_int8_matmuls, _INT8_MATMULS),
        (_int8_convolutions, _INT8_CONVOLUTIONS),
        (_int8_depthwise, _INT8_DEPTHWISE),
        (_batch_matmuls, _BATCH_MATMULS),
        (_attention, _ATTENTION),
        (_recurrent, _RECURRENT),
        (_normalizations, _ROWS),
        (_elementwise, _ELEMENTWISE),
        (_concat, _COPIES),
    ):
        yield from (partial(make, *each) for each in sizes)
    yield from (partial(_reduction, *shape, axis=axis) for shape, axis in _REDUCTIONS)
    for operator in ("Erf", "Sigmoid"):
        yield from (partial(_each, *shape, operator=operator) for shape in _ELEMENTWISE)
    yield from (partial(_each, *shape, operator="Softmax") for shape in _ROWS)
    yield from (partial(_each, *shape, operator="GlobalAveragePool") for shape in _GLOBAL_POOLS)
    for shape, size in _POOLS:
        window = {"kernel_shape": [size] * 2, "strides": [2, 2]}
        yield partial(_each, *shape, operator="MaxPool", **window)
    yield from (partial(_each, *s, operator="Transpose", perm=[0, 2, 1, 3]) for s in _COPIES)


def calibration_models() -> Iterator[onnx.ModelProto]:
    """All of them, one at a time, as their weights take memory."""
    for make in _chains():
        yield make().model()


COUNT = sum(1 for _ in _chains())


def random_feeds(model: onnx.ModelProto) -> dict[str, np.ndarray]:
    """Values for the inputs of `model`."""
    random = np.random.default_rng(0)
    return {
        each.name: random.standard_normal(
            [dim.dim_value for dim in each.type.tensor_type.shape.dim], np.float32
        )
        for each in model.graph.input
    }
