"""Normalisations: elements scaled by statistics of their neighbourhood.

Statistics are taken in f32 for f16 and bf16.
"""

from collections.abc import Callable

import numpy as np

from ..symbolic import Dim
from .attributes import Float, Int
from .base import GraphOp, OptionalTensor, Result, Tensor, TypeRuleError, builder, tuple_builder
from .contraction import require_equal_sizes
from .elementwise import require_float
from .movement import require_axis
from .traits import MixedPrecision
from .types import TensorType


def _in_f32(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Run a meaning on operands that are f32 at least; the result takes the type of the first."""

    def call(x: np.ndarray, *rest: np.ndarray | None, **attrs: float) -> np.ndarray:
        wide = [
            operand.astype(np.float32)
            if operand is not None and operand.dtype.itemsize < 4
            else operand
            for operand in (x, *rest)
        ]
        return function(*wide, **attrs).astype(x.dtype)

    return call


class _SoftmaxOp(GraphOp):
    """Base of the ops that normalise exponentials along one axis."""

    @staticmethod
    def infer(x: TensorType, *, axis: int) -> TensorType:
        require_float(x)
        require_axis(axis, x.rank)
        return x


def _shifted(x: np.ndarray, axis: int) -> np.ndarray:
    """`x` less its largest element along `axis`."""
    return x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)


class SoftmaxOp(_SoftmaxOp, name="softmax"):
    """``exp(x) / sum(exp(x))`` along `axis` (ONNX Softmax from opset 13 on)."""

    amp = MixedPrecision.FOLLOW
    along_axis = True

    x: Tensor
    axis: Int

    @staticmethod
    @_in_f32
    def evaluate(x: np.ndarray, *, axis: int) -> np.ndarray:
        e = np.exp(_shifted(x, axis))
        return e / np.sum(e, axis=axis, keepdims=True)


class LogSoftmaxOp(_SoftmaxOp, name="log_softmax"):
    """``log(softmax(x))`` along `axis` (ONNX LogSoftmax from opset 13 on)."""

    amp = MixedPrecision.KEEP
    along_axis = True

    x: Tensor
    axis: Int

    @staticmethod
    @_in_f32
    def evaluate(x: np.ndarray, *, axis: int) -> np.ndarray:
        shifted = _shifted(x, axis)
        return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def _fits(size: int | Dim, of: int | Dim) -> bool:
    """Return whether an axis broadcasts to one of size `of`: a named size may be that number at run
    time."""
    return size in (1, of) or (isinstance(size, int) and not isinstance(of, int))


def broadcasts_to(parameter: TensorType, x: TensorType) -> bool:
    """True if a scale or bias of type `parameter` broadcasts to `x`, as far as sizes are known."""
    pairs = zip(reversed(parameter.shape), reversed(x.shape), strict=False)
    return parameter.rank <= x.rank and all(_fits(size, of) for size, of in pairs)


def _infer_norm(x: TensorType, *parameters: TensorType | None, axis: int) -> TensorType:
    require_float(x)
    require_axis(axis, x.rank)
    for parameter in parameters:
        if parameter is None:
            continue
        if parameter.dtype != x.dtype:
            raise TypeRuleError(f"{x} is scaled or shifted by a {parameter}")
        if not broadcasts_to(parameter, x):
            raise TypeRuleError(f"{parameter} does not broadcast to {x}")
    return x


class LayerNormOp(GraphOp, name="layer_norm"):
    """Mean 0 and variance 1 over the axes from `axis` on, then scaled and shifted.

    ``(x - mean) / sqrt(variance + epsilon) * scale + bias`` (ONNX LayerNormalization; with a scale
    per channel also InstanceNormalization and GroupNormalization). `scale` and `bias` broadcast
    to `x`.
    """

    amp = MixedPrecision.FOLLOW
    along_axis = "works along all axes from `axis` on"

    x: Tensor
    scale: Tensor
    bias: OptionalTensor
    axis: Int
    epsilon: Float

    @staticmethod
    def infer(
        x: TensorType, scale: TensorType, bias: TensorType | None, *, axis: int, epsilon: float
    ) -> TensorType:
        del epsilon
        return _infer_norm(x, scale, bias, axis=axis)

    @staticmethod
    @_in_f32
    def evaluate(
        x: np.ndarray, scale: np.ndarray, bias: np.ndarray | None, *, axis: int, epsilon: float
    ) -> np.ndarray:
        axes = tuple(range(axis, x.ndim))
        centred = x - np.mean(x, axis=axes, keepdims=True)
        variance = np.mean(np.square(centred), axis=axes, keepdims=True)
        y = centred / np.sqrt(variance + x.dtype.type(epsilon)) * scale
        return y if bias is None else y + bias


class RmsNormOp(GraphOp, name="rms_norm"):
    """Mean square 1 over the axes from `axis` on, then scaled (ONNX RMSNormalization).

    ``x / sqrt(mean(x * x) + epsilon) * scale``; `scale` broadcasts to `x`.
    """

    amp = MixedPrecision.FOLLOW
    along_axis = "works along all axes from `axis` on"

    x: Tensor
    scale: Tensor
    axis: Int
    epsilon: Float

    @staticmethod
    def infer(x: TensorType, scale: TensorType, *, axis: int, epsilon: float) -> TensorType:
        del epsilon
        return _infer_norm(x, scale, axis=axis)

    @staticmethod
    @_in_f32
    def evaluate(x: np.ndarray, scale: np.ndarray, *, axis: int, epsilon: float) -> np.ndarray:
        square = np.mean(np.square(x), axis=tuple(range(axis, x.ndim)), keepdims=True)
        return x / np.sqrt(square + x.dtype.type(epsilon)) * scale


class GroupMomentsOp(GraphOp, name="group_moments"):
    """Mean and inverse deviation of `groups` of channels, of an `x` of [N, spatial..., C].

    Statistics are taken for each image over all positions and ``C / groups`` adjacent channels.
    Both results have the shape [N, 1..., C], the channels of a group equal elements: `factor` is
    ``1 / sqrt(variance + epsilon)``, so that ``(x - mean) * factor`` is a group normalisation (Wu
    and He, 2018), or with as many groups as channels an instance normalisation.
    """

    amp = MixedPrecision.KEEP

    x: Tensor
    mean: Result
    factor: Result
    groups: Int
    epsilon: Float

    @staticmethod
    def infer(x: TensorType, *, groups: int, epsilon: float) -> tuple[TensorType, TensorType]:
        del epsilon
        if x.dtype != np.float32:
            raise TypeRuleError(f"takes moments of f32, not {x}")
        if x.rank < 2:
            raise TypeRuleError(f"{x} has no channels behind its images")
        channels = x.shape[-1]
        if groups < 1 or not isinstance(channels, int) or channels % groups:
            raise TypeRuleError(f"{channels} channels in {groups} groups")
        moments = x.with_shape((x.shape[0], *[1] * (x.rank - 2), channels))
        return moments, moments

    @staticmethod
    def evaluate(x: np.ndarray, *, groups: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        images, *spatial, channels = x.shape
        each = channels // groups
        grouped = x.reshape(images, -1, groups, each)
        mean = np.mean(grouped, axis=(1, 3), keepdims=True)
        variance = np.mean(np.square(grouped - mean), axis=(1, 3), keepdims=True)
        factor = 1 / np.sqrt(variance + x.dtype.type(epsilon))
        shape = (images, *[1] * len(spatial), channels)
        results = (np.repeat(moment, each, axis=3).reshape(shape) for moment in (mean, factor))
        mean, factor = (moment.astype(x.dtype) for moment in results)
        return mean, factor


class BatchNormOp(GraphOp, name="batch_norm"):
    """Normalisation by given statistics of each channel (ONNX BatchNormalization, inference).

    ``(x - mean) / sqrt(variance + epsilon) * scale + bias``; the four parameters have rank 1,
    the size of channel axis `axis`, and may be of a wider float type than `x`.
    """

    amp = MixedPrecision.FOLLOW
    along_axis = True

    x: Tensor
    scale: Tensor
    bias: Tensor
    mean: Tensor
    variance: Tensor
    axis: Int
    epsilon: Float

    @staticmethod
    def infer(x: TensorType, *parameters: TensorType, axis: int, epsilon: float) -> TensorType:
        del epsilon
        require_float(x)
        require_axis(axis, x.rank)
        for parameter in parameters:
            require_float(parameter)
            if parameter.rank != 1:
                raise TypeRuleError(f"needs one parameter per channel, not {parameter}")
            require_equal_sizes(
                x.shape[axis], parameter.shape[0], f"channels of {x} and its statistics"
            )
        return x

    @staticmethod
    @_in_f32
    def evaluate(
        x: np.ndarray,
        scale: np.ndarray,
        bias: np.ndarray,
        mean: np.ndarray,
        variance: np.ndarray,
        *,
        axis: int,
        epsilon: float,
    ) -> np.ndarray:
        def along(parameter: np.ndarray) -> np.ndarray:
            return parameter.reshape([-1 if i == axis else 1 for i in range(x.ndim)])

        deviation = np.sqrt(variance + variance.dtype.type(epsilon))
        return (x - along(mean)) * along(scale / deviation) + along(bias)


def lrn_window(size: int) -> tuple[int, int]:
    """The numbers of neighbours before and after an element in its window of `size`."""
    return (size - 1) // 2, size // 2


class LrnOp(GraphOp, name="lrn"):
    """Local response normalisation across `axis` (ONNX LRN; Krizhevsky et al., 2012).

    ``x / (bias + alpha / size * sum(x * x)) ** beta``, the sum over a window of `size` elements
    around each one.
    """

    amp = MixedPrecision.KEEP
    along_axis = True

    x: Tensor
    axis: Int
    alpha: Float
    beta: Float
    bias: Float
    size: Int

    @staticmethod
    def infer(
        x: TensorType, *, axis: int, alpha: float, beta: float, bias: float, size: int
    ) -> TensorType:
        del alpha, beta, bias
        require_float(x)
        require_axis(axis, x.rank)
        if size < 1:
            raise TypeRuleError(f"a window of {size} elements")
        return x

    @staticmethod
    @_in_f32
    def evaluate(
        x: np.ndarray, *, axis: int, alpha: float, beta: float, bias: float, size: int
    ) -> np.ndarray:
        pads = [lrn_window(size) if i == axis else (0, 0) for i in range(x.ndim)]
        squares = np.square(np.pad(x, pads))
        windows = np.lib.stride_tricks.sliding_window_view(squares, size, axis=axis)
        return x / (bias + alpha / size * windows.sum(axis=-1)) ** beta


softmax = builder(SoftmaxOp)
log_softmax = builder(LogSoftmaxOp)
layer_norm = builder(LayerNormOp)
rms_norm = builder(RmsNormOp)
group_moments = tuple_builder(GroupMomentsOp)
batch_norm = builder(BatchNormOp)
lrn = builder(LrnOp)
