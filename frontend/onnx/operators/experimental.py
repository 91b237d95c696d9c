"""Operators that were experimental before opset 10, in the form that ONNX Runtime keeps."""

from collections.abc import Sequence

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import onnx_op
from .normalization import mean_variance_normalization
from .slicing import slice_


@onnx_op("Affine")
def affine(x, *, alpha=1.0, beta=0.0):
    return graph.add(_scaled(x, alpha), graph.splat_like(beta, x))


@onnx_op("Scale")
def scale(x, *, scale=1.0):
    return _scaled(x, scale)


def _scaled(x: ir.Value, factor: float) -> ir.Value:
    return graph.mul(x, graph.splat_like(factor, x))


@onnx_op("ScaledTanh")
def scaled_tanh(x, *, alpha, beta):
    return _scaled(graph.tanh(_scaled(x, beta)), alpha)


@onnx_op("ParametricSoftplus")
def parametric_softplus(x, *, alpha, beta):
    return _scaled(graph.softplus(_scaled(x, beta)), alpha)


@onnx_op("ThresholdedRelu")
def thresholded_relu(x, *, alpha=1.0):
    return graph.thresholded_relu(x, alpha=alpha)


@onnx_op("ImageScaler")
def image_scaler(x, *, bias: Sequence[float], scale=1.0):
    """Each channel of an image times `scale`, plus its bias."""
    type_ = graph.type_of(x)
    if type_.rank != 4 or (isinstance(type_.shape[1], int) and type_.shape[1] != len(bias)):
        raise graph.TypeRuleError(f"{len(bias)} biases for the channels of {type_}")
    column = np.array(bias, type_.dtype).reshape(-1, 1, 1)
    return graph.add(_scaled(x, scale), graph.constant(value=column))


@onnx_op("Crop")
def crop(x, *, border: Sequence[int], scale: Sequence[int] = ()):
    """An image without its border: left, top, right, bottom; or `scale` of it, from left and top.

    `scale` is a height and a width.
    """
    type_ = graph.type_of(x)
    if type_.rank != 4 or len(border) != 4 or len(scale) not in (0, 2) or min(*border, *scale) < 0:
        raise graph.TypeRuleError(f"a border of {list(border)}, a scale of {list(scale)}")
    left, top, right, bottom = border
    batch, channels, height, width = type_.shape
    extent = list(scale) if scale else [height - top - bottom, width - left - right]
    sizes = [batch, channels, *extent]
    return graph.slice_(x, starts=[0, 0, top, left], sizes=sizes, steps=[1] * 4)


@onnx_op("DynamicSlice")
def dynamic_slice(x, starts, ends, axes=None, *, node):
    return slice_(x, starts, ends, axes, node=node)


@onnx_op("MeanVarianceNormalization")
def mean_variance_normalization_1(x, *, across_channels=0, normalize_variance=1):
    """Normalize each channel, or with `across_channels` all of them together."""
    every = range(graph.type_of(x).rank)
    axes = [axis for axis in every if across_channels or axis != 1]
    if normalize_variance:
        return mean_variance_normalization(x, axes=axes)
    return graph.sub(x, graph.reduce_mean(x, axes=axes, keepdims=True))
