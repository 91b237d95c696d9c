"""Nets of one kind of layer each, in f32, at sizes at which the layers take most of the time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

NAMED_BATCH = "n"
"""The name of the first size of inputs, if it has one."""


class Net:
    """Nodes that are added one by one, each with a new output, on one input ``x``."""

    def __init__(self, *shape: int):
        self.shape = shape
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._random = np.random.default_rng(len(shape))

    def weight(self, *shape: int, fan_in: int | None = None) -> str:
        """The name of random weights, as large as keeps activations alive; `fan_in` products make
        a result, those of a filter [features, channels, kernel...] by default."""
        terms = int(np.prod(shape[1:])) if fan_in is None else fan_in
        array = self._random.standard_normal(shape, np.float32) / np.float32(max(terms, 1) ** 0.5)
        return self.constant(array)

    def constant(self, array: np.ndarray) -> str:
        """The name of a constant."""
        name = f"w{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(array, name))
        return name

    def add(self, op_type: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """The first output of a new node."""
        number = len(self._nodes)
        names = [f"{op_type}_{number}"] + [f"{op_type}_{number}_{i}" for i in range(1, outputs)]
        self._nodes.append(
            helper.make_node(op_type, list(inputs), names, name=names[0], **attributes)
        )
        return names[0]

    def model(self, output: str, named_batch: bool = False) -> onnx.ModelProto:
        """The model of the nodes, with the result `output`."""
        shape = (NAMED_BATCH, *self.shape[1:]) if named_batch else self.shape
        self._nodes.append(helper.make_node("Identity", [output], ["y"]))
        graph = helper.make_graph(
            self._nodes,
            "net",
            [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape)],
            [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)],
            self._weights,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        return onnx.shape_inference.infer_shapes(model, data_prop=True)


@dataclass(frozen=True)
class NetKind:
    """A kind of net: the shape of its input, and a function that adds its nodes."""

    shape: tuple[int, ...]
    build: Callable[[Net, str], str]

    def model(self, named_batch: bool = False) -> onnx.ModelProto:
        """The f32 model."""
        net = Net(*self.shape)
        return net.model(self.build(net, "x"), named_batch)

    def feed(self, seed: int = 0) -> dict[str, np.ndarray]:
        """A random input."""
        return {"x": np.random.default_rng(seed).standard_normal(self.shape, np.float32)}


def _conv(net: Net, x: str, features: int, channels: int, *kernel: int, **attributes: Any) -> str:
    """A convolution that keeps the size of the image if its kernel is odd, with a bias and ReLU."""
    low = [size // 2 for size in kernel]
    attributes = {"pads": [*low, *low], **attributes}
    w = net.weight(features, channels // attributes.get("group", 1), *kernel)
    b = net.weight(features, fan_in=100)
    return net.add("Relu", net.add("Conv", x, w, b, **attributes))


def _convs(times: int, *sizes: int, **attributes: Any) -> Callable[[Net, str], str]:
    """`times` convolutions of `sizes`, one after the other."""

    def build(net: Net, x: str) -> str:
        for _ in range(times):
            x = _conv(net, x, *sizes, **attributes)
        return x

    return build


def _between(middle: Callable[[Net, str], str], channels: int = 64) -> Callable[[Net, str], str]:
    """Two 3x3 convolutions of `channels` channels, and `middle` between them."""

    def build(net: Net, x: str) -> str:
        x = middle(net, _conv(net, x, channels, channels, 3, 3))
        return _conv(net, x, channels, channels, 3, 3)

    return build


def _linear(net: Net, x: str, k: int, n: int) -> str:
    y = net.add("MatMul", x, net.weight(k, n, fan_in=k))
    return net.add("Add", y, net.weight(n, fan_in=100))


def _linears(middle: Callable[[Net, str], str], k: int = 512, n: int = 1024):
    """Two matmuls, of k by n and back, and `middle` between them."""
    return lambda net, x: _linear(net, middle(net, _linear(net, x, k, n)), n, k)


def _op(op_type: str, **attributes: Any) -> Callable[[Net, str], str]:
    return lambda net, x: net.add(op_type, x, **attributes)


def _nothing(net: Net, x: str) -> str:
    del net
    return x


def _gemms(net: Net, x: str) -> str:
    for k, n in ((768, 1024), (1024, 768)):
        w, b = net.weight(n, k), net.weight(n, fan_in=100)
        x = net.add("Relu", net.add("Gemm", x, w, b, transB=1))
    return x


def _batched(net: Net, x: str) -> str:
    """Products of computed matrices."""
    a = _linear(net, x, 256, 256)
    b = _linear(net, x, 256, 256)
    return net.add("MatMul", a, net.add("Transpose", b, perm=[0, 2, 1]))


def _attention(net: Net, x: str) -> str:
    """Self-attention of 8 heads of 64 features."""

    def heads(perm: Sequence[int]) -> str:
        shape = net.constant(np.int64([0, 0, 8, 64]))
        return net.add("Transpose", net.add("Reshape", _linear(net, x, 512, 512), shape), perm=perm)

    q, k, v = heads([0, 2, 1, 3]), heads([0, 2, 3, 1]), heads([0, 2, 1, 3])
    scores = net.add("Mul", net.add("MatMul", q, k), net.constant(np.float32(0.125)))
    context = net.add("MatMul", net.add("Softmax", scores, axis=-1), v)
    back = net.add("Transpose", context, perm=[0, 2, 1, 3])
    return _linear(net, net.add("Reshape", back, net.constant(np.int64([0, 0, 512]))), 512, 512)


def _layer_norm(net: Net, x: str) -> str:
    scale, bias = net.weight(1024, fan_in=1), net.weight(1024, fan_in=1)
    return net.add("LayerNormalization", x, scale, bias, axis=-1)


def _residual(net: Net, x: str) -> str:
    w = net.weight(64, 64, 3, 3)
    return net.add("Relu", net.add("Add", x, net.add("Conv", x, w, pads=[1] * 4)))


def _squeeze(net: Net, x: str) -> str:
    """Squeeze and excitation."""
    s = net.add("GlobalAveragePool", x)
    s = net.add("Relu", net.add("Conv", s, net.weight(16, 64, 1, 1)))
    s = net.add("Sigmoid", net.add("Conv", s, net.weight(64, 16, 1, 1)))
    return net.add("Mul", x, s)


def _resize(net: Net, x: str, mode: str) -> str:
    scales = net.constant(np.float32([1, 1, 2, 2]))
    y = net.add("Resize", x, "", scales, mode=mode)
    return net.add("MaxPool", y, kernel_shape=[2, 2], strides=[2, 2])


def _concat(net: Net, x: str) -> str:
    y = net.add("Concat", x, _conv(net, x, 64, 64, 1, 1), axis=1)
    return _conv(net, y, 64, 128, 1, 1)


def _swish(net: Net, x: str) -> str:
    return net.add("Mul", x, net.add("Sigmoid", x))


def _normalized(net: Net, x: str) -> str:
    scale = net.constant(np.float32([1] * 64))
    return net.add("InstanceNormalization", x, scale, net.weight(64, fan_in=100))


def _transposed(net: Net, x: str) -> str:
    """Two convolutions, with a transposed one between, and a stride."""
    x = _conv(net, x, 64, 64, 3, 3)
    w = net.weight(64, 32, 2, 2, fan_in=64)
    x = net.add("Relu", net.add("ConvTranspose", x, w, strides=[2, 2]))
    return _conv(net, x, 64, 32, 3, 3, strides=[2, 2])


def _inverted(net: Net, x: str) -> str:
    """An inverted residual."""
    y = _conv(net, x, 192, 32, 1, 1)
    y = _conv(net, y, 192, 192, 3, 3, group=192)
    return net.add("Add", x, net.add("Conv", y, net.weight(32, 192, 1, 1)))


def _separable(net: Net, x: str) -> str:
    for _ in range(2):
        x = _conv(net, x, 128, 128, 3, 3, group=128)
        x = _conv(net, x, 128, 128, 1, 1)
    return x


def _recurrent(op_type: str, gates: int) -> Callable[[Net, str], str]:
    def build(net: Net, x: str) -> str:
        """A recurrent layer between matmuls."""
        x = _linear(net, x, 256, 256)
        w = net.weight(1, gates * 128, 256, fan_in=256)
        r = net.weight(1, gates * 128, 128, fan_in=128)
        b = net.weight(1, 2 * gates * 128, fan_in=100)
        y = net.add(op_type, x, w, r, b, hidden_size=128, direction="forward")
        return _linear(net, net.add("Squeeze", y, net.constant(np.int64([1]))), 128, 256)

    return build


IMAGE, TOKENS = (1, 64, 56, 56), (1, 128, 512)

NETS: Mapping[str, NetKind] = {
    "conv1d": NetKind((1, 128, 1000), _convs(2, 128, 128, 5)),
    "conv2d": NetKind(IMAGE, _convs(2, 64, 64, 3, 3)),
    "conv2d-5x5": NetKind((1, 64, 28, 28), _convs(2, 64, 64, 5, 5)),
    "conv2d-1x1": NetKind((1, 256, 28, 28), _convs(2, 256, 256, 1, 1)),
    "conv2d-strided": NetKind(
        IMAGE, lambda net, x: _convs(1, 128, 64, 3, 3, strides=[2, 2])(net, x)
    ),
    "conv2d-dilated": NetKind(IMAGE, _convs(2, 64, 64, 3, 3, dilations=[2, 2], pads=[2] * 4)),
    "conv2d-first": NetKind((1, 3, 224, 224), _convs(1, 64, 3, 7, 7, strides=[2, 2])),
    "conv2d-small": NetKind((1, 512, 7, 7), _convs(2, 512, 512, 3, 3)),
    "conv3d": NetKind((1, 32, 8, 28, 28), _convs(2, 32, 32, 3, 3, 3)),
    "conv3d-1x3x3": NetKind((1, 64, 8, 28, 28), _convs(2, 64, 64, 1, 3, 3)),
    "conv3d-3x1x1": NetKind((1, 64, 8, 28, 28), _convs(2, 64, 64, 3, 1, 1)),
    "conv3d-strided": NetKind((1, 32, 16, 28, 28), _convs(1, 64, 32, 3, 3, 3, strides=[2] * 3)),
    "conv3d-depthwise": NetKind((1, 64, 8, 28, 28), _convs(2, 64, 64, 3, 3, 3, group=64)),
    "conv3d-first": NetKind((1, 3, 16, 56, 56), _convs(1, 64, 3, 3, 3, 3, strides=[1, 2, 2])),
    "depthwise": NetKind((1, 128, 56, 56), _separable),
    "depthwise-alone": NetKind((1, 128, 56, 56), _convs(2, 128, 128, 3, 3, group=128)),
    "depthwise-1d": NetKind((1, 256, 1000), _convs(2, 256, 256, 9, group=256)),
    "inverted-residual": NetKind((1, 32, 56, 56), _inverted),
    "grouped": NetKind((1, 128, 28, 28), _convs(2, 128, 128, 3, 3, group=4)),
    "transposed": NetKind((1, 64, 28, 28), _transposed),
    "residual": NetKind(IMAGE, _residual),
    "max-pool": NetKind(
        IMAGE, _between(_op("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    ),
    "average-pool": NetKind(
        IMAGE, _between(_op("AveragePool", kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4))
    ),
    "global-pool": NetKind(
        IMAGE, lambda net, x: _op("GlobalAveragePool")(net, _convs(1, 64, 64, 3, 3)(net, x))
    ),
    "resize-nearest": NetKind(IMAGE, _between(lambda net, x: _resize(net, x, "nearest"))),
    "resize-linear": NetKind(IMAGE, _between(lambda net, x: _resize(net, x, "linear"))),
    "concat": NetKind(IMAGE, _between(_concat)),
    "squeeze-excitation": NetKind(IMAGE, _between(_squeeze)),
    "swish": NetKind(IMAGE, _between(_swish)),
    "hard-swish": NetKind(IMAGE, _between(_op("HardSwish"))),
    "leaky-relu": NetKind(IMAGE, _between(_op("LeakyRelu", alpha=0.1))),
    "instance-norm": NetKind(IMAGE, _between(_normalized)),
    "gemm": NetKind((128, 768), _gemms),
    "gemm-few-rows": NetKind((4, 768), _gemms),
    "matmul": NetKind(TOKENS, _linears(_nothing)),
    "matmul-one-row": NetKind((1, 1, 512), _linears(_nothing, 512, 2048)),
    "matmul-batched": NetKind((8, 128, 256), _batched),
    "relu-matmul": NetKind(TOKENS, _linears(_op("Relu"))),
    "gelu-matmul": NetKind(TOKENS, _linears(_op("Gelu"))),
    "softmax-matmul": NetKind(TOKENS, _linears(_op("Softmax", axis=-1))),
    "layer-norm-matmul": NetKind(TOKENS, _linears(_layer_norm)),
    "attention": NetKind(TOKENS, _attention),
    "lstm": NetKind((64, 4, 256), _recurrent("LSTM", 4)),
    "gru": NetKind((64, 4, 256), _recurrent("GRU", 3)),
}
"""The kinds of nets, by their names."""
