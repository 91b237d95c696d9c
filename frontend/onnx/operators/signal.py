"""Fourier transforms of signals and their frames, and mel weights."""

import math

import numpy as np
import onnx

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv, minimum
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from .shapes import normalize_axis, positions, require_constant, require_sizes

Size = int | Dim
_F64 = np.dtype(np.float64)


@onnx_op("DFT", since=17)
def dft_17(x, dft_length=None, *, node, axis=1, inverse=0, onesided=0):
    rank = graph.type_of(x).rank
    length = None if dft_length is None else require_sizes(dft_length, node, "dft_length")[0]
    axis = _transformed_axis(axis, rank)
    return transform(x, axis, length, inverse=bool(inverse), onesided=bool(onesided))


@onnx_op("DFT", since=20)
def dft(x, dft_length=None, axis=None, *, node, inverse=0, onesided=0):
    length = None if dft_length is None else require_sizes(dft_length, node, "dft_length")[0]
    try:
        which = -2 if axis is None else int(require_constant(axis, "axis").item())
    except UnsupportedError:
        assert axis is not None
        return _dft_along_any(x, length, axis, node, bool(inverse), bool(onesided))
    which = _transformed_axis(which, graph.type_of(x).rank)
    return transform(x, which, length, inverse=bool(inverse), onesided=bool(onesided))


def _transformed_axis(axis: int, rank: int) -> int:
    axis = normalize_axis(axis, rank)
    if axis == rank - 1:
        raise graph.TypeRuleError("the last axis holds the parts of a number; it is no signal")
    return axis


def transform(
    x: ir.Value, axis: int, length: Size | None, *, inverse: bool, onesided: bool
) -> ir.Value:
    """The transform of `length` along `axis` of `x`, whose last axis holds real and imaginary part.

    A signal is cut or continued with zeros to `length`. `onesided` leaves out the frequencies that
    follow from the others; inverse, it takes such, and the result is real.
    """
    type_ = graph.type_of(x)
    extent = type_.shape[axis]
    if length is None:
        length = 2 * (extent - 1) if inverse and onesided else extent
    perm = [*(i for i in range(type_.rank - 1) if i != axis), axis, type_.rank - 1]
    narrow = type_.dtype.itemsize < 4
    rows = graph.transpose(graph.cast(x, to=np.float32) if narrow else x, perm=perm)
    y = graph.dft(rows, length=length, inverse=inverse, onesided=onesided)
    y = graph.transpose(y, perm=[perm.index(i) for i in range(type_.rank)])
    return graph.cast(y, to=type_.dtype) if narrow else y


def _scalar(value: float, dtype: np.dtype) -> ir.Value:
    return graph.constant(value=np.array(value).astype(dtype))


def _dft_along_any(
    x: ir.Value, length: Size | None, axis: ir.Value, node: Node, inverse: bool, onesided: bool
) -> ir.Value:
    """Along an axis that only the run knows: along each, keeping the result where it is the one."""
    if inverse and onesided:
        raise UnsupportedError("an onesided inverse along an axis not known at compile time")
    type_ = graph.type_of(x)
    axes = type_.rank - 1
    axis = graph.reshape(graph.cast(axis, to=np.int64), shape=[])
    negative = graph.less(axis, graph.size_scalar(0))
    axis = graph.where(negative, graph.add(axis, graph.size_scalar(type_.rank)), axis)
    chosen = graph.equal(positions(axes), axis)
    if type_.shape[-1] == 1:
        x = graph.pad(x, graph.splat_like(0, x), low=[0] * type_.rank, high=[0] * axes + [1])
    if length is not None:
        sizes = graph.where(chosen, graph.size_scalar(length), graph.sizes(sizes=type_.shape[:-1]))
        x = _fitted(x, require_sizes(sizes, node, "dft_length"))
    shape = graph.type_of(x).shape
    for i in range(axes):
        here = graph.equal(axis, graph.size_scalar(i))
        y = transform(x, i, None, inverse=inverse, onesided=False)
        x = graph.where(here, y, x)
    if not onesided:
        return x
    halves = graph.sizes(sizes=[floordiv(size, 2) + 1 for size in shape[:-1]])
    sizes = graph.where(chosen, halves, graph.sizes(sizes=shape[:-1]))
    return _fitted(x, require_sizes(sizes, node, "onesided"))


def _fitted(x: ir.Value, sizes) -> ir.Value:
    """`x` cut or continued with zeros to `sizes`, the last axis aside."""
    shape = graph.type_of(x).shape
    kept = [minimum(have, want) for have, want in zip(shape[:-1], sizes, strict=True)]
    rank = len(shape)
    x = graph.slice_(x, starts=[0] * rank, sizes=[*kept, shape[-1]], steps=[1] * rank)
    more = [want - have for want, have in zip(sizes, kept, strict=True)]
    return graph.pad(x, graph.splat_like(0, x), low=[0] * rank, high=[*more, 0])


@onnx_op("STFT", since=17)
def stft(signal, frame_step, window=None, frame_length=None, *, node, onesided=1):
    type_ = graph.type_of(signal)
    if type_.rank == 2:  # real signals without an axis of parts, which ONNX Runtime takes
        signal = graph.reshape(signal, shape=[*type_.shape, 1])
    elif type_.rank != 3:
        raise graph.TypeRuleError(f"needs a batch of signals, not {type_}")
    (step,) = require_sizes(frame_step, node, "frame_step")
    if isinstance(step, int) and step < 1:
        raise graph.TypeRuleError(f"frame_step {step} is not positive")
    width = type_.shape[1] if window is None else graph.type_of(window).shape[0]
    length = width
    if frame_length is not None:
        (length,) = require_sizes(frame_length, node, "frame_length")
        width = length if window is None else width
    x = _frames(signal, width, length, step)
    if window is not None:
        x = graph.mul(x, graph.reshape(window, shape=[width, 1]))
    return transform(x, 2, length, inverse=False, onesided=bool(onesided))


def _frames(signal: ir.Value, width: Size, length: Size, step: Size) -> ir.Value:
    """[batch, frames, width, parts]: the first `width` of each `length` points, `step` apart."""
    batch, points, parts = graph.type_of(signal).shape
    frames = floordiv(points - length, step) + 1
    if isinstance(width, int) and isinstance(step, int) and width > 0:
        kept = (batch, points - length + width, parts)
        if kept != (batch, points, parts):
            signal = graph.slice_(signal, starts=[0] * 3, sizes=kept, steps=[1] * 3)
        rows = graph.im2col(
            signal, kernel=[width], strides=[step], dilations=[1], low=[0], high=[0]
        )
        return graph.reshape(rows, shape=[batch, frames, width, parts])
    starts = graph.mul(graph.reshape(positions(frames), shape=[frames, 1]), graph.size_scalar(step))
    return graph.gather(signal, graph.add(starts, positions(width)), axis=1)


@onnx_op("MelWeightMatrix", since=17)
def mel_weight_matrix(
    num_mel_bins,
    dft_length,
    sample_rate,
    lower_edge_hertz,
    upper_edge_hertz,
    *,
    node,
    output_datatype=onnx.TensorProto.FLOAT,
):
    """Triangles over the frequencies of a spectrum, evenly apart in mel."""
    (bins,) = require_sizes(num_mel_bins, node, "num_mel_bins")
    (length,) = require_sizes(dft_length, node, "dft_length")
    rate = graph.cast(graph.reshape(sample_rate, shape=[]), to=_F64)
    low, high = (_mel(graph.reshape(e, shape=[])) for e in (lower_edge_hertz, upper_edge_hertz))
    step = graph.div(graph.sub(high, low), graph.cast(graph.size_scalar(bins + 2), to=_F64))

    def edge(number: int) -> ir.Value:
        """The index in the spectrum of the frequency where triangle i begins (0), peaks, ends."""
        position = graph.cast(graph.add(positions(bins), graph.size_scalar(number)), to=_F64)
        mel = graph.add(graph.mul(position, step), low)
        ratio = graph.mul(mel, _scalar(math.log(10) / 2595, _F64))
        hertz = graph.mul(graph.sub(graph.exp(ratio), _scalar(1, _F64)), _scalar(700, _F64))
        return graph.floor(
            graph.div(graph.mul(hertz, graph.cast(graph.size_scalar(length + 1), to=_F64)), rate)
        )

    start, peak, end = (edge(i) for i in range(3))
    spectrum = floordiv(length, 2) + 1
    position = graph.reshape(graph.cast(positions(spectrum), to=_F64), shape=[spectrum, 1])
    zero, one = _scalar(0, _F64), _scalar(1, _F64)
    rising, falling = graph.sub(peak, start), graph.sub(end, peak)
    up = graph.div(graph.sub(position, start), graph.max_(rising, one))
    up = graph.where(graph.equal(position, peak), one, up)
    is_up = graph.and_(graph.greater_or_equal(position, start), graph.less_or_equal(position, peak))
    down = graph.div(graph.sub(end, position), graph.max_(falling, one))
    is_down = graph.and_(graph.greater(position, peak), graph.less(position, end))
    weights = graph.where(is_up, up, graph.where(is_down, down, zero))
    return graph.cast(weights, to=onnx.helper.tensor_dtype_to_np_dtype(output_datatype))


def _mel(hertz: ir.Value) -> ir.Value:
    ratio = graph.div(graph.cast(hertz, to=_F64), _scalar(700, _F64))
    scaled = graph.log(graph.add(ratio, _scalar(1, _F64)))
    return graph.mul(scaled, _scalar(2595 / math.log(10), _F64))
