"""Normalisations: elements relative to statistics of their neighbours along some axes."""

import numpy as np

from .attributes import Float, Int
from .base import GraphOp, OptionalTensor, Tensor, TypeRuleError, builder
from .elementwise import broadcast_shapes, require_float
from .movement import require_axis
from .types import TensorType


def _widened(x: np.ndarray) -> np.ndarray:
    return x if x.dtype in (np.float32, np.float64) else x.astype(np.float32)


class _AlongAxis(GraphOp):
    """Base: one float tensor, normalised along one axis."""

    @staticmethod
    def infer(x: TensorType, *, axis: int) -> TensorType:
        require_float(x)
        require_axis(axis, x.rank)
        return x


class SoftmaxOp(_AlongAxis, name="softmax"):
    """``exp(x) / sum(exp(x))`` along `axis` (ONNX Softmax 13)."""

    x: Tensor
    axis: Int

    @staticmethod
    def evaluate(x, *, axis):
        wide = _widened(x)
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-np.inf))
        return (powers / powers.sum(axis=axis, keepdims=True)).astype(x.dtype)


class LogSoftmaxOp(_AlongAxis, name="log_softmax"):
    """``log(softmax(x))`` along `axis` (ONNX LogSoftmax 13)."""

    x: Tensor
    axis: Int

    @staticmethod
    def evaluate(x, *, axis):
        wide = _widened(x)
        shifted = wide - wide.max(axis=axis, keepdims=True, initial=-np.inf)
        return (shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))).astype(x.dtype)


def _require_scale(x: TensorType, scale: TensorType | None, axis: int) -> None:
    """`scale` must broadcast to the normalised axes of `x`."""
    if scale is None:
        return
    inner = x.shape[axis:]
    if scale.dtype != x.dtype or broadcast_shapes(scale.shape, inner) != inner:
        raise TypeRuleError(f"a scale or bias of type {scale} does not fit axes {axis}.. of {x}")


class LayerNormOp(GraphOp, name="layer_norm"):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias`` (ONNX LayerNormalization 17).

    Mean and variance are taken over all axes from `axis` on; `scale` and `bias` broadcast to them.
    """

    x: Tensor
    scale: Tensor
    bias: OptionalTensor
    axis: Int
    epsilon: Float

    @staticmethod
    def infer(x, scale, bias, *, axis, epsilon):
        del epsilon
        require_float(x)
        require_axis(axis, x.rank)
        _require_scale(x, scale, axis)
        _require_scale(x, bias, axis)
        return x

    @staticmethod
    def evaluate(x, scale, bias, *, axis, epsilon):
        wide, axes = _widened(x), tuple(range(axis, x.ndim))
        centred = wide - wide.mean(axis=axes, keepdims=True)
        variance = np.square(centred).mean(axis=axes, keepdims=True)
        result = centred / np.sqrt(variance + wide.dtype.type(epsilon)) * scale
        return (result if bias is None else result + bias).astype(x.dtype)


class RmsNormOp(GraphOp, name="rms_norm"):
    """``x / sqrt(mean(x^2) + epsilon) * scale`` (ONNX RMSNormalization 23), as `layer_norm`."""

    x: Tensor
    scale: Tensor
    axis: Int
    epsilon: Float

    @staticmethod
    def infer(x, scale, *, axis, epsilon):
        del epsilon
        require_float(x)
        require_axis(axis, x.rank)
        _require_scale(x, scale, axis)
        return x

    @staticmethod
    def evaluate(x, scale, *, axis, epsilon):
        wide, axes = _widened(x), tuple(range(axis, x.ndim))
        square = np.square(wide).mean(axis=axes, keepdims=True)
        return (wide / np.sqrt(square + wide.dtype.type(epsilon)) * scale).astype(x.dtype)


class BatchNormOp(GraphOp, name="batch_norm"):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias`` with given statistics.

    Inference (ONNX BatchNormalization 15). The other operands have one element per channel;
    `axis` is the channels' axis.
    """

    x: Tensor
    scale: Tensor
    bias: Tensor
    mean: Tensor
    variance: Tensor
    axis: Int
    epsilon: Float

    @staticmethod
    def infer(x, scale, bias, mean, variance, *, axis, epsilon):
        del epsilon
        require_float(x)
        require_axis(axis, x.rank)
        for operand in (scale, bias, mean, variance):
            if operand.rank != 1 or broadcast_shapes(operand.shape, (x.shape[axis],)) != (
                x.shape[axis],
            ):
                raise TypeRuleError(f"{operand} does not have one element per channel of {x}")
        return x

    @staticmethod
    def evaluate(x, scale, bias, mean, variance, *, axis, epsilon):
        shape = [-1 if i == axis else 1 for i in range(x.ndim)]
        wide = _widened(x)
        scale, bias, mean, variance = (
            a.astype(wide.dtype).reshape(shape) for a in (scale, bias, mean, variance)
        )
        factor = scale / np.sqrt(variance + wide.dtype.type(epsilon))
        return ((wide - mean) * factor + bias).astype(x.dtype)


class InstanceNormOp(GraphOp, name="instance_norm"):
    """Each channel of each image by its own mean and variance (ONNX InstanceNormalization 22).

    `x` is [N, C, spatial...]; `scale` and `bias` are [C].
    """

    x: Tensor
    scale: Tensor
    bias: Tensor
    epsilon: Float

    @staticmethod
    def infer(x, scale, bias, *, epsilon):
        del epsilon
        require_float(x)
        if x.rank < 3 or scale.rank != 1 or bias.rank != 1:
            raise TypeRuleError(f"needs an image, scale [C] and bias [C], not {x}, {scale}, {bias}")
        return x

    @staticmethod
    def evaluate(x, scale, bias, *, epsilon):
        wide, axes = _widened(x), tuple(range(2, x.ndim))
        shape = (-1, *[1] * (x.ndim - 2))
        centred = wide - wide.mean(axis=axes, keepdims=True)
        variance = np.square(centred).mean(axis=axes, keepdims=True)
        result = centred / np.sqrt(variance + wide.dtype.type(epsilon))
        return (result * scale.reshape(shape) + bias.reshape(shape)).astype(x.dtype)


class LrnOp(GraphOp, name="lrn"):
    """Local response normalisation across `axis` (ONNX LRN 13).

    ``x / (bias + alpha / size * square_sum) ** beta``, the squares summed over `size` neighbours.
    """

    x: Tensor
    axis: Int
    alpha: Float
    beta: Float
    bias: Float
    size: Int

    @staticmethod
    def infer(x, *, axis, alpha, beta, bias, size):
        del alpha, beta, bias
        require_float(x)
        require_axis(axis, x.rank)
        if size < 1:
            raise TypeRuleError("size must be positive")
        return x

    @staticmethod
    def evaluate(x, *, axis, alpha, beta, bias, size):
        wide = np.moveaxis(_widened(x), axis, -1)
        before, after = (size - 1) // 2, size // 2
        pads = [(0, 0)] * (x.ndim - 1) + [(before, after)]
        squares = np.lib.stride_tricks.sliding_window_view(np.pad(wide**2, pads), size, axis=-1)
        result = wide / (bias + alpha / size * squares.sum(axis=-1)) ** beta
        return np.moveaxis(result, -1, axis).astype(x.dtype)


softmax = builder(SoftmaxOp)
log_softmax = builder(LogSoftmaxOp)
layer_norm = builder(LayerNormOp)
rms_norm = builder(RmsNormOp)
batch_norm = builder(BatchNormOp)
instance_norm = builder(InstanceNormOp)
lrn = builder(LrnOp)
