"""Fourier transforms as matmuls with tables of sines, window functions, and mel weights."""

import math

import numpy as np
import onnx

from ....dialects import graph
from ....dialects.symbolic import Dim, floordiv, minimum
from ....mlir import ir
from ..importing.registry import Node, UnsupportedError, onnx_op
from .evaluation import evaluated
from .shapes import normalize_axis, positions, require_constant, require_sizes, size_scalar

Size = int | Dim
_F64 = np.dtype(np.float64)
_LARGE = 1 << 22
"""Tables of more elements are computed when the model runs."""


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
    parts = type_.shape[-1]
    if not graph.is_float(type_.dtype) or not isinstance(parts, int) or parts not in (1, 2):
        raise graph.TypeRuleError(f"needs floats with one or two parts in the last axis: {type_}")
    if onesided and parts != (2 if inverse else 1):
        raise graph.TypeRuleError("onesided is for real signals and their spectra")
    extent = type_.shape[axis]
    if length is None:
        length = 2 * (extent - 1) if inverse and onesided else extent
    half = floordiv(length, 2) + 1
    used = minimum(extent, half if inverse and onesided else length)
    count = half if onesided and not inverse else length
    x = _first(x, axis, used)
    table = _table(used, count, length, type_.dtype, parts, inverse, onesided)
    others = [i for i in range(type_.rank - 1) if i != axis]
    perm = [*others, axis, type_.rank - 1]
    outer = [type_.shape[i] for i in others]
    rows = graph.reshape(graph.transpose(x, perm=perm), shape=[*outer, used * parts])
    wide = 1 if inverse and onesided else 2
    product = graph.matmul(rows if outer else graph.reshape(rows, shape=[1, used * parts]), table)
    y = graph.reshape(product, shape=[*outer, count, wide])
    return graph.transpose(y, perm=[perm.index(i) for i in range(type_.rank)])


def _first(x: ir.Value, axis: int, count: Size) -> ir.Value:
    shape = list(graph.type_of(x).shape)
    if shape[axis] == count:
        return x
    shape[axis] = count
    return graph.slice_(x, starts=[0] * len(shape), sizes=shape, steps=[1] * len(shape))


def _table(used, count, length, dtype, parts: int, inverse: bool, onesided: bool) -> ir.Value:
    """[used * parts, count * parts of the result]: what each number adds to each of the result."""
    known = all(isinstance(size, int) for size in (used, count, length))
    if known and used * count * 4 <= _LARGE:
        (table,) = evaluated(lambda: [_waves(used, count, length, _F64, parts, inverse, onesided)])
        return graph.constant(value=_data(table).astype(dtype))
    wide = dtype if dtype.itemsize >= 4 else np.dtype(np.float32)
    waves = _waves(used, count, length, wide, parts, inverse, onesided)
    return waves if wide == dtype else graph.cast(waves, to=dtype)


def _data(value: ir.Value) -> np.ndarray:
    return require_constant(value, "a table")


def _waves(used, count, length, dtype, parts: int, inverse: bool, onesided: bool) -> ir.Value:
    rows = graph.reshape(positions(used), shape=[used, 1, 1, 1])
    columns = graph.reshape(positions(count), shape=[1, 1, count, 1])
    whole = graph.max_(size_scalar(length), size_scalar(1))
    cos, sin = _cos_and_sin(graph.mod(graph.mul(rows, columns), whole), whole, dtype)
    if inverse:
        scale = graph.reciprocal(graph.cast(whole, to=dtype))
        if onesided:  # the frequencies that were left out are as large as those given
            twice = graph.cast(_has_mirror(used, length), to=dtype)
            twice = graph.reshape(graph.add(twice, _scalar(1, dtype)), shape=[used, 1, 1, 1])
            scale = graph.mul(scale, twice)
        cos, sin = graph.mul(cos, scale), graph.mul(sin, scale)
    real, imaginary = (graph.neg(sin), sin) if inverse else (sin, graph.neg(sin))
    if inverse and onesided:
        table = graph.concat([cos, real], axis=1)
    else:
        table = graph.concat([cos, imaginary], axis=3)
        if parts == 2:
            table = graph.concat([table, graph.concat([real, cos], axis=3)], axis=1)
    sizes = graph.type_of(table).shape
    return graph.reshape(table, shape=[used * sizes[1], count * sizes[3]])


def _cos_and_sin(part: ir.Value, whole: ir.Value, dtype: np.dtype) -> tuple[ir.Value, ir.Value]:
    """Cosine and sine of ``part / whole`` of a turn, both integers; exact at each quarter."""
    fourfold = graph.mul(part, size_scalar(4))
    quarter = graph.div(fourfold, whole)
    rest = graph.cast(graph.sub(fourfold, graph.mul(quarter, whole)), to=dtype)
    angle = graph.div(graph.mul(rest, _scalar(math.pi / 2, dtype)), graph.cast(whole, to=dtype))
    cos, sin = graph.cos(angle), graph.sin(angle)
    is_odd = graph.equal(graph.mod(quarter, size_scalar(2)), size_scalar(1))
    cos, sin = graph.where(is_odd, sin, cos), graph.where(is_odd, cos, sin)
    is_first = graph.equal(quarter, size_scalar(0))
    is_left = graph.or_(graph.equal(quarter, size_scalar(1)), graph.equal(quarter, size_scalar(2)))
    is_above = graph.or_(is_first, graph.equal(quarter, size_scalar(1)))
    return graph.where(is_left, graph.neg(cos), cos), graph.where(is_above, sin, graph.neg(sin))


def _has_mirror(used: Size, length: Size) -> ir.Value:
    """A mask of the frequencies that have a mirror frequency: all but 0 and half the length."""
    position = positions(used)
    doubled = graph.add(position, position)
    inner = graph.less(doubled, size_scalar(length))
    return graph.and_(inner, graph.greater(position, size_scalar(0)))


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
    negative = graph.less(axis, size_scalar(0))
    axis = graph.where(negative, graph.add(axis, size_scalar(type_.rank)), axis)
    chosen = graph.equal(positions(axes), axis)
    if type_.shape[-1] == 1:
        x = graph.pad(x, graph.splat_like(0, x), low=[0] * type_.rank, high=[0] * axes + [1])
    if length is not None:
        sizes = graph.where(chosen, size_scalar(length), graph.sizes(sizes=type_.shape[:-1]))
        x = _fitted(x, require_sizes(sizes, node, "dft_length"))
    shape = graph.type_of(x).shape
    for i in range(axes):
        here = graph.equal(axis, size_scalar(i))
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
    if type_.rank != 3:
        raise graph.TypeRuleError(f"needs a batch of signals, not {type_}")
    (step,) = require_sizes(frame_step, node, "frame_step")
    if isinstance(step, int) and step < 1:
        raise graph.TypeRuleError(f"frame_step {step} is not positive")
    width = type_.shape[1] if window is None else graph.type_of(window).shape[0]
    length = width
    if frame_length is not None:
        (length,) = require_sizes(frame_length, node, "frame_length")
        width = length if window is None else width
    frames = floordiv(type_.shape[1] - length, step) + 1
    starts = graph.mul(graph.reshape(positions(frames), shape=[frames, 1]), size_scalar(step))
    x = graph.gather(signal, graph.add(starts, positions(width)), axis=1)
    if window is not None:
        x = graph.mul(x, graph.reshape(window, shape=[width, 1]))
    return transform(x, 2, length, inverse=False, onesided=bool(onesided))


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
    step = graph.div(graph.sub(high, low), graph.cast(size_scalar(bins + 2), to=_F64))

    def edge(number: int) -> ir.Value:
        """The index in the spectrum of the frequency where triangle i begins (0), peaks, ends."""
        position = graph.cast(graph.add(positions(bins), size_scalar(number)), to=_F64)
        mel = graph.add(graph.mul(position, step), low)
        ratio = graph.mul(mel, _scalar(math.log(10) / 2595, _F64))
        hertz = graph.mul(graph.sub(graph.exp(ratio), _scalar(1, _F64)), _scalar(700, _F64))
        return graph.floor(
            graph.div(graph.mul(hertz, graph.cast(size_scalar(length + 1), to=_F64)), rate)
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
