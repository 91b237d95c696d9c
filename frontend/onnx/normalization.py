"""Normalisations."""

import numpy as np

from ...dialects import graph
from ...mlir import ir
from .registry import UnsupportedError, onnx_op
from .shapes import normalize_axis


def _flattened(build, x: ir.Value, axis: int) -> ir.Value:
    """Before opset 13: `x` as a matrix of the axes before `axis` and those from it on."""
    shape = graph.type_of(x).shape
    axis = normalize_axis(axis, len(shape))
    if axis == len(shape) - 1:
        return build(x, axis=axis)
    rows, columns = graph.element_count(shape[:axis]), graph.element_count(shape[axis:])
    return graph.reshape(build(graph.reshape(x, shape=[rows, columns]), axis=1), shape=shape)


@onnx_op("Softmax")
def softmax_1(x, *, axis=1):
    return _flattened(graph.softmax, x, axis)


@onnx_op("Softmax", since=13)
def softmax(x, *, axis=-1):
    return graph.softmax(x, axis=normalize_axis(axis, graph.type_of(x).rank))


@onnx_op("LogSoftmax")
def log_softmax_1(x, *, axis=1):
    return _flattened(graph.log_softmax, x, axis)


@onnx_op("LogSoftmax", since=13)
def log_softmax(x, *, axis=-1):
    return graph.log_softmax(x, axis=normalize_axis(axis, graph.type_of(x).rank))


@onnx_op("BatchNormalization", since=7)
def batch_normalization_7(x, scale, bias, mean, variance, *, node, epsilon=1e-5, momentum=0.9):
    del momentum
    if any(node.wants(i) for i in range(1, 5)):
        raise UnsupportedError("training mode")
    return graph.batch_norm(x, scale, bias, mean, variance, axis=1, epsilon=epsilon)


@onnx_op("BatchNormalization", since=14)
def batch_normalization(
    x, scale, bias, mean, variance, *, node, epsilon=1e-5, momentum=0.9, training_mode=0
):
    if training_mode:
        raise UnsupportedError("training mode")
    dtype = graph.type_of(x).dtype
    scale, bias, mean, variance = (
        v if graph.type_of(v).dtype == dtype else graph.cast(v, to=dtype)
        for v in (scale, bias, mean, variance)
    )
    return batch_normalization_7(
        x, scale, bias, mean, variance, node=node, epsilon=epsilon, momentum=momentum
    )


@onnx_op("InstanceNormalization", since=6)
def instance_normalization(x, scale, bias, *, epsilon=1e-5):
    return graph.instance_norm(x, scale, bias, epsilon=epsilon)


@onnx_op("LRN")
def lrn(x, *, size, alpha=1e-4, beta=0.75, bias=1.0):
    return graph.lrn(x, axis=1, alpha=alpha, beta=beta, bias=bias, size=size)


@onnx_op("LayerNormalization", since=17)
def layer_normalization(x, scale, bias=None, *, node, axis=-1, epsilon=1e-5, stash_type=1):
    del stash_type  # statistics are always computed in f32 at least
    type_ = graph.type_of(x)
    axis = normalize_axis(axis, type_.rank)
    result = graph.layer_norm(x, scale, bias, axis=axis, epsilon=epsilon)
    if not node.wants(1) and not node.wants(2):
        return result
    wide = x if type_.dtype in (np.float32, np.float64) else graph.cast(x, to=np.float32)
    axes = list(range(axis, type_.rank))
    mean = graph.reduce_mean(wide, axes=axes, keepdims=True)
    centred = graph.sub(wide, mean)
    variance = graph.reduce_mean(graph.mul(centred, centred), axes=axes, keepdims=True)
    deviation = graph.rsqrt(graph.add(variance, graph.splat_like(epsilon, variance)))
    return result, mean, deviation


@onnx_op("RMSNormalization", since=23)
def rms_normalization(x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    del stash_type
    axis = normalize_axis(axis, graph.type_of(x).rank)
    return graph.rms_norm(x, scale, axis=axis, epsilon=epsilon)


@onnx_op("LpNormalization")
def lp_normalization(x, *, axis=-1, p=2):
    axis = normalize_axis(axis, graph.type_of(x).rank)
    if p not in (1, 2):
        raise graph.TypeRuleError(f"p is {p}; it must be 1 or 2")
    powers = graph.abs_(x) if p == 1 else graph.mul(x, x)
    total = graph.reduce_sum(powers, axes=[axis], keepdims=True)
    norm = total if p == 1 else graph.sqrt(total)
    zero = graph.equal(norm, graph.splat_like(0, norm))
    return graph.div(x, graph.where(zero, graph.splat_like(1, norm), norm))
