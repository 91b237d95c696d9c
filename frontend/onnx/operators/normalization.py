"""Normalisations and softmax."""

from collections.abc import Callable
from functools import partial

import numpy as np

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .shapes import normalize_axis, positions

AlongAxis = Callable[..., ir.Value]


def _along_axis(op_type: str, build: AlongAxis) -> None:
    """Register `op_type`. Before opset 13 it works on `x` flattened to a matrix at `axis`."""

    @onnx_op(op_type)
    def flattened(x, *, axis=1):
        shape = graph.type_of(x).shape
        axis = normalize_axis(axis, len(shape))
        if axis == len(shape) - 1:
            return build(x, axis=axis)
        rows, columns = graph.element_count(shape[:axis]), graph.element_count(shape[axis:])
        y = build(graph.reshape(x, shape=[rows, columns]), axis=1)
        return graph.reshape(y, shape=shape)

    @onnx_op(op_type, since=13)
    def along(x, *, axis=-1):
        return build(x, axis=normalize_axis(axis, graph.type_of(x).rank))


def _hardmax(x: ir.Value, *, axis: int) -> ir.Value:
    """1 at the first of the largest elements, else 0; none is the largest beside NaN."""
    type_ = graph.type_of(x)
    if type_.shape[axis] == 0:
        return x
    first = graph.arg_max(x, axis=axis, keepdims=True, last_index=False)
    behind = [1] * (type_.rank - 1 - axis)
    along = graph.reshape(positions(type_.shape[axis]), shape=[type_.shape[axis], *behind])
    # Some GPUs have no vectors of i64.
    first, along = (graph.cast(each, to=np.int32) for each in (first, along))
    is_first = graph.and_(graph.equal(along, first), graph.equal(x, x))
    return graph.cast(is_first, to=type_.dtype)


_along_axis("Softmax", graph.softmax)
_along_axis("LogSoftmax", graph.log_softmax)
_along_axis("Hardmax", _hardmax)


def _cast(x: ir.Value, dtype: np.dtype) -> ir.Value:
    return x if graph.type_of(x).dtype == dtype else graph.cast(x, to=dtype)


@onnx_op("LayerNormalization", since=17)
def layer_normalization(x, scale, bias=None, *, node, axis=-1, epsilon=1e-5, stash_type=1):
    del stash_type  # statistics are taken in f32 at least
    x = _fitted(x, scale)
    axis = normalize_axis(axis, graph.type_of(x).rank)
    if _may_differ(x, scale, bias):
        y = _scaled_after(
            lambda x, one: graph.layer_norm(x, one, None, axis=axis, epsilon=epsilon),
            x, scale, bias,
        )  # fmt: skip
    else:
        y = graph.layer_norm(x, scale, bias, axis=axis, epsilon=epsilon)
    return y if not (node.wants(1) or node.wants(2)) else (y, *_statistics(x, axis, epsilon))


def _fitted(x: ir.Value, scale: ir.Value) -> ir.Value:
    """`x` with the sizes of `scale` on the axes where its own are not known, which is checked."""
    shape, given = list(graph.type_of(x).shape), graph.type_of(scale).shape
    for axis in range(1, min(len(shape), len(given)) + 1):
        if isinstance(shape[-axis], Dim) and isinstance(given[-axis], int) and given[-axis] != 1:
            shape[-axis] = given[-axis]
    return x if tuple(shape) == graph.type_of(x).shape else graph.reshape(x, shape=shape)


def _may_differ(x: ir.Value, *parameters: ir.Value | None) -> bool:
    """True if only the run can tell that `parameters` broadcast to `x`."""
    type_ = graph.type_of(x)
    return any(
        isinstance(size, Dim) or isinstance(of, Dim)
        for given in parameters
        if given is not None and not graph.broadcasts_to(graph.type_of(given), type_)
        for size, of in zip(
            reversed(graph.type_of(given).shape), reversed(type_.shape), strict=False
        )
    )


def _scaled_after(
    normal: Callable[[ir.Value, ir.Value], ir.Value],
    x: ir.Value,
    scale: ir.Value,
    bias: ir.Value | None = None,
) -> ir.Value:
    """``normal(x, 1) * scale + bias``, whose sizes the run checks; rounded once."""
    type_ = graph.type_of(x)
    wide = type_.dtype if type_.dtype.itemsize > 2 else np.dtype(np.float32)
    x = _cast(x, wide)
    y = graph.mul(normal(x, graph.splat_like(1, x)), _cast(scale, wide))
    if bias is not None:
        y = graph.add(y, _cast(bias, wide))
    return _cast(graph.reshape(y, shape=type_.shape), type_.dtype)


def _statistics(x: ir.Value, axis: int, epsilon: float) -> tuple[ir.Value, ir.Value]:
    """Mean and inverse deviation over the axes from `axis` on, in f32."""
    axes = list(range(axis, graph.type_of(x).rank))
    x = _cast(x, np.dtype(np.float32))
    mean = graph.reduce_mean(x, axes=axes, keepdims=True)
    centred = graph.sub(x, mean)
    variance = graph.reduce_mean(graph.mul(centred, centred), axes=axes, keepdims=True)
    return mean, graph.rsqrt(graph.add(variance, graph.splat_like(epsilon, variance)))


@onnx_op("RMSNormalization", since=23)
def rms_normalization(x, scale, *, axis=-1, epsilon=1e-5, stash_type=1):
    """The result has the element type of `scale`."""
    del stash_type
    kinds = graph.type_of(x).dtype, graph.type_of(scale).dtype
    wide = max(kinds, key=lambda dtype: dtype.itemsize)
    x = _fitted(x, scale)
    axis = normalize_axis(axis, graph.type_of(x).rank)
    x, scale = _cast(x, wide), _cast(scale, wide)
    normal = partial(graph.rms_norm, axis=axis, epsilon=epsilon)
    y = _scaled_after(normal, x, scale) if _may_differ(x, scale) else normal(x, scale)
    return _cast(y, kinds[1])


@onnx_op("BatchNormalization", since=7)
def batch_normalization_7(
    x, scale, bias, mean, variance, *, node, epsilon=1e-5, momentum=0.9, spatial=1
):
    """Without `spatial` each position has statistics of its own, as if it were a channel."""
    shape = graph.type_of(x).shape
    if not spatial:
        features = graph.element_count(shape[1:])
        x = graph.reshape(x, shape=[shape[0], features])
        scale, bias, mean, variance = (
            graph.reshape(value, shape=[features]) for value in (scale, bias, mean, variance)
        )
    y = batch_normalization_9(
        x, scale, bias, mean, variance, node=node, epsilon=epsilon, momentum=momentum
    )
    return y if spatial else graph.reshape(y, shape=shape)


@onnx_op("BatchNormalization", since=9)
def batch_normalization_9(x, scale, bias, mean, variance, *, node, epsilon=1e-5, momentum=0.9):
    del momentum
    if any(node.outputs[1:]):
        raise UnsupportedError("training mode before opset 14")
    return graph.batch_norm(x, scale, bias, mean, variance, axis=1, epsilon=epsilon)


@onnx_op("BatchNormalization", since=14)
def batch_normalization(
    x, scale, bias, mean, variance, *, epsilon=1e-5, momentum=0.9, training_mode=0
):
    """Training takes the statistics of the batch, and gives their running means as well."""
    if not training_mode:
        return graph.batch_norm(x, scale, bias, mean, variance, axis=1, epsilon=epsilon)
    axes = [axis for axis in range(graph.type_of(x).rank) if axis != 1]
    wide = _cast(x, np.dtype(np.float32)) if graph.type_of(x).dtype.itemsize < 4 else x
    batch_mean = graph.reduce_mean(wide, axes=axes, keepdims=True)
    centred = graph.sub(wide, batch_mean)
    batch_variance = graph.reduce_mean(graph.mul(centred, centred), axes=axes, keepdims=False)
    batch_mean = graph.reshape(batch_mean, shape=graph.type_of(batch_variance).shape)
    y = graph.batch_norm(x, scale, bias, batch_mean, batch_variance, axis=1, epsilon=epsilon)
    pairs = ((mean, batch_mean), (variance, batch_variance))
    return y, *(_running_mean(old, new, momentum) for old, new in pairs)


def _running_mean(old: ir.Value, new: ir.Value, momentum: float) -> ir.Value:
    new = _cast(new, graph.type_of(old).dtype)
    kept = graph.mul(old, graph.splat_like(momentum, old))
    return graph.add(kept, graph.mul(new, graph.splat_like(1 - momentum, new)))


def _per_channel(parameter: ir.Value, x: ir.Value) -> ir.Value:
    """A parameter of rank 1 in a shape that broadcasts along axis 1 of `x`."""
    (count,), (_, channels, *spatial) = (graph.type_of(each).shape for each in (parameter, x))
    known = count if isinstance(count, int) else channels
    return graph.reshape(parameter, shape=[known, *[1] * len(spatial)])


@onnx_op("InstanceNormalization")
def instance_normalization(x, scale, bias, *, epsilon=1e-5):
    scale, bias = _per_channel(scale, x), _per_channel(bias, x)
    return graph.layer_norm(x, scale, bias, axis=2, epsilon=epsilon)


@onnx_op("MeanVarianceNormalization", since=9)
def mean_variance_normalization(x, *, axes=(0, 2, 3)):
    """``(x - mean) / (deviation + 1e-9)``, in f32 at least."""
    type_ = graph.type_of(x)
    axes = [normalize_axis(axis, type_.rank) for axis in axes]
    wide = _cast(x, np.dtype(np.float32)) if type_.dtype.itemsize < 4 else x
    centred = graph.sub(wide, graph.reduce_mean(wide, axes=axes, keepdims=True))
    variance = graph.reduce_mean(graph.mul(centred, centred), axes=axes, keepdims=True)
    deviation = graph.add(graph.sqrt(variance), graph.splat_like(1e-9, variance))
    return _cast(graph.div(centred, deviation), type_.dtype)


def _group_normalization(
    x: ir.Value, scale: ir.Value, bias: ir.Value, groups: int, epsilon: float, per_group: bool
) -> ir.Value:
    """Channels split into groups: ``[N, G, C / G, ...]``, normalised from axis 2 on."""
    batch, channels, *spatial = shape = graph.type_of(x).shape
    if groups < 1 or (isinstance(channels, int) and channels % groups):
        raise graph.TypeRuleError(f"{channels} channels in {groups} groups")
    channels_per_group = channels // groups
    ones = [1] * len(spatial)
    kept = [groups, 1, *ones] if per_group else [groups, channels_per_group, *ones]
    grouped = graph.reshape(x, shape=[batch, groups, channels_per_group, *spatial])
    scale, bias = graph.reshape(scale, shape=kept), graph.reshape(bias, shape=kept)
    y = graph.layer_norm(grouped, scale, bias, axis=2, epsilon=epsilon)
    return graph.reshape(y, shape=shape)


@onnx_op("GroupNormalization", since=18)
def group_normalization_18(x, scale, bias, *, num_groups, epsilon=1e-5):
    return _group_normalization(x, scale, bias, num_groups, epsilon, per_group=True)


@onnx_op("GroupNormalization", since=21)
def group_normalization(x, scale, bias, *, num_groups, epsilon=1e-5, stash_type=1):
    del stash_type
    return _group_normalization(x, scale, bias, num_groups, epsilon, per_group=False)


@onnx_op("LRN")
def lrn(x, *, size, alpha=0.0001, beta=0.75, bias=1.0):
    return graph.lrn(x, axis=1, alpha=alpha, beta=beta, bias=bias, size=size)


@onnx_op("LpNormalization")
def lp_normalization(x, *, axis=-1, p=2):
    """``x / norm``, and 0 where the norm is 0."""
    if p not in (1, 2):
        raise graph.TypeRuleError(f"p must be 1 or 2, not {p}")
    dtype = graph.type_of(x).dtype
    axes = [normalize_axis(axis, graph.type_of(x).rank)]
    wide = _cast(x, np.dtype(np.float32)) if dtype.itemsize < 4 else x
    if p == 1:
        norm = graph.reduce_sum(graph.abs_(wide), axes=axes, keepdims=True)
    else:
        norm = graph.sqrt(graph.reduce_sum(graph.mul(wide, wide), axes=axes, keepdims=True))
    zero = graph.splat_like(0, norm)
    ratio = graph.div(wide, norm)
    return _cast(graph.where(graph.equal(norm, zero), zero, ratio), dtype)
