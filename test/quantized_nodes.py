"""Nodes of models in 8 bits, for tests."""

import numpy as np
from node_list import NodeList


class QuantizedNodes(NodeList):
    """A model whose nodes are quantized as ONNX Runtime's quantizer does it."""

    def __init__(self, activations: type, seed: int, powers: bool = False):
        """All scales are `powers` of two, if that is set."""
        super().__init__()
        self.random, self.activations = np.random.default_rng(seed), activations
        self.powers = powers

    def scales(self, values) -> str:
        """A constant of scales."""
        rounded = 2.0 ** np.round(np.log2(values)) if self.powers else values
        return self.constant(np.float32(rounded))

    def quantize(self, x: str, scale: float, zero: int, back: bool = True) -> str:
        parameters = [self.scales(scale), self.constant(self.activations(zero))]
        y = self.node("QuantizeLinear", [x, *parameters])
        return self.node("DequantizeLinear", [y, *parameters]) if back else y

    def weights(self, shape, axis: int) -> str:
        """Constants with a scale for each feature."""
        scales = self.scales(self.random.uniform(0.002, 0.01, shape[axis]))
        integers = self.random.integers(-127, 127, shape, np.int8, endpoint=True)
        names = [self.constant(integers), scales]
        names.append(self.constant(np.zeros(shape[axis], np.int8)))
        return self.node("DequantizeLinear", names, axis=axis)

    def bias(self, size: int) -> str:
        integers = self.random.integers(-20_000, 20_000, size, np.int32)
        scale = self.scales(np.full(size, 1e-5))
        zero = self.constant(np.zeros(size, np.int32))
        return self.node("DequantizeLinear", [self.constant(integers), scale, zero], axis=0)

    def conv(self, x: str, channels: int, features: int, size: int, **attrs) -> str:
        shape = (features, channels // attrs.get("group", 1), size, size)
        w = self.weights(shape, axis=0)
        return self.node("Conv", [x, w, self.bias(features)], **attrs)
