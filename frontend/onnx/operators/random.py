"""Random numbers: distributions as arithmetic on `graph.random_bits`.

A node gives the same numbers in every run. Nodes with equal seeds give equal numbers; a node
without one has a seed of its own, made from its name.
"""

import math
import zlib

import numpy as np

from ....dialects import graph
from ....dialects.graph.random import MASK_32
from ....dialects.symbolic import Dim
from ....mlir import ir
from ..importing.registry import Node, onnx_op
from ..importing.tensors import dtype_of
from .shapes import required

_F32 = np.dtype(np.float32)


def _seed(given: float | None, node: Node) -> int:
    """A seed of 32 bits: whole numbers are themselves, others the bits of the f32."""
    if given is None:
        return zlib.crc32(node.name.encode())
    if math.isfinite(given) and given == int(given):
        return int(given) & MASK_32
    return int(np.float32(given).view(np.uint32))


def _wide(dtype: np.dtype) -> np.dtype:
    """The element type in which numbers of `dtype` are computed."""
    return dtype if dtype == np.float64 else _F32


def _number(value: float, dtype: np.dtype) -> ir.Value:
    return graph.constant(value=np.array(value, dtype))


def _unit(sizes: tuple[int | Dim, ...], seed: int, dtype: np.dtype) -> ir.Value:
    """Uniform in [0, 1): as many bits as a number of `dtype` (f32 or f64) holds."""
    digits = np.finfo(dtype).nmant + 1
    bits = graph.random_bits(sizes=sizes, seed=seed)
    top = graph.shift_right(bits, _number(64 - digits, np.dtype(np.uint64)))
    return graph.mul(graph.cast(top, to=dtype), _number(2.0**-digits, dtype))


def _uniform(sizes: tuple[int | Dim, ...], seed: int, dtype: np.dtype, low: float, high: float):
    wide = _wide(dtype)
    unit = _unit(sizes, seed, wide)
    scaled = graph.mul(unit, _number(high - low, wide))
    return _cast(graph.add(scaled, _number(low, wide)), dtype)


def _normal(sizes: tuple[int | Dim, ...], seed: int, dtype: np.dtype, mean: float, scale: float):
    """By Box and Muller (1958): a radius and an angle, of 32 bits each."""
    wide, bits = _wide(dtype), graph.random_bits(sizes=sizes, seed=seed)
    half = _number(32, np.dtype(np.uint64))
    above = graph.cast(graph.shift_right(bits, half), to=wide)
    below = graph.cast(graph.cast(bits, to=np.uint32), to=wide)
    first = graph.mul(graph.add(above, _number(1, wide)), _number(2.0**-32, wide))
    radius = graph.sqrt(graph.mul(graph.log(first), _number(-2, wide)))
    angle = graph.mul(below, _number(2 * math.pi * 2.0**-32, wide))
    scaled = graph.mul(graph.mul(radius, graph.cos(angle)), _number(scale, wide))
    return _cast(graph.add(scaled, _number(mean, wide)), dtype)


def _cast(x: ir.Value, dtype: np.dtype) -> ir.Value:
    return x if graph.type_of(x).dtype == dtype else graph.cast(x, to=dtype)


def _result_dtype(dtype: int | None, like: ir.Value | None = None) -> np.dtype:
    if dtype is not None:
        found = dtype_of(dtype, "attribute 'dtype'")
    else:
        found = _F32 if like is None else graph.type_of(like).dtype
    if not graph.is_float(found):
        raise graph.TypeRuleError(f"gives floating-point numbers, not {found}")
    return found


@onnx_op("RandomUniform")
def random_uniform(*, node, shape, dtype=None, high=1.0, low=0.0, seed=None):
    return _uniform(tuple(shape), _seed(seed, node), _result_dtype(dtype), low, high)


@onnx_op("RandomUniformLike")
def random_uniform_like(x, *, node, dtype=None, high=1.0, low=0.0, seed=None):
    sizes = graph.type_of(x).shape
    return _uniform(sizes, _seed(seed, node), _result_dtype(dtype, x), low, high)


@onnx_op("RandomNormal")
def random_normal(*, node, shape, dtype=None, mean=0.0, scale=1.0, seed=None):
    return _normal(tuple(shape), _seed(seed, node), _result_dtype(dtype), mean, scale)


@onnx_op("RandomNormalLike")
def random_normal_like(x, *, node, dtype=None, mean=0.0, scale=1.0, seed=None):
    sizes = graph.type_of(x).shape
    return _normal(sizes, _seed(seed, node), _result_dtype(dtype, x), mean, scale)


@onnx_op("Bernoulli", since=15)
def bernoulli(x, *, node, dtype=None, seed=None):
    """1 with the probability that each element says."""
    type_ = graph.type_of(x)
    wide = _wide(type_.dtype)
    drawn = graph.less(_unit(type_.shape, _seed(seed, node), wide), _cast(x, wide))
    target = type_.dtype if dtype is None else dtype_of(dtype, "attribute 'dtype'")
    return graph.cast(drawn, to=target)


@onnx_op("Multinomial", since=7)
def multinomial(x, *, node, dtype=6, sample_size=1, seed=None):
    """Classes whose logarithms of weights are given, drawn by the sums of the weights up to each.

    The sums are in f64, so that a number below 1 stays below the last of them.
    """
    target = dtype_of(dtype, "attribute 'dtype'")
    if graph.type_of(x).rank != 2:
        raise graph.TypeRuleError(f"needs a row of classes for each batch, not {graph.type_of(x)}")
    rows, classes = graph.type_of(x).shape
    f64 = np.dtype(np.float64)
    x = _cast(x, _wide(graph.type_of(x).dtype))
    shifted = graph.sub(x, graph.reduce_max(x, axes=[1], keepdims=True))
    weights = graph.cast(graph.exp(shifted), to=f64)
    total = graph.reduce_sum(weights, axes=[1], keepdims=True)
    sums = graph.cumsum(weights, axis=1, exclusive=False, reverse=False)
    drawn = graph.mul(_unit((rows, sample_size), _seed(seed, node), f64), total)
    drawn = graph.reshape(drawn, shape=[rows, sample_size, 1])
    passed = graph.less_or_equal(graph.reshape(sums, shape=[rows, 1, classes]), drawn)
    count = graph.reduce_sum(graph.cast(passed, to=np.int32), axes=[2], keepdims=False)
    last = graph.cast(graph.sizes(sizes=[classes - 1]), to=np.int32)
    return graph.cast(graph.min_(count, last), to=target)


@onnx_op("Dropout", since=12)
def dropout(x, ratio=None, training_mode=None, *, node, seed=None):
    """The identity but for training, which drops elements and scales up what is left."""
    mode = np.array(False) if training_mode is None else graph.symbolic_value(training_mode)
    if mode is not None and not mode.any():
        return _with_mask(x, None, node)
    type_ = graph.type_of(x)
    wide = _wide(type_.dtype)
    ratio = _number(0.5, wide) if ratio is None else graph.cast(ratio, to=wide)
    ratio = graph.reshape(ratio, shape=[])
    kept = graph.greater_or_equal(_unit(type_.shape, _seed(seed, node), wide), ratio)
    scaled = graph.div(_cast(x, wide), graph.sub(_number(1, wide), ratio))
    if mode is None:
        training = graph.reshape(required(training_mode, "training_mode"), shape=[])
        kept = graph.or_(kept, graph.not_(training))
        scaled = graph.where(training, scaled, _cast(x, wide))
    y = graph.where(kept, _cast(scaled, type_.dtype), graph.splat_like(0, x))
    return _with_mask(y, kept, node)


def _with_mask(y: ir.Value, mask: ir.Value | None, node: Node):
    """`y`, and the mask where it is asked for: all true when `mask` is None."""
    if not node.wants(1):
        return y
    if mask is None:
        true = graph.constant(value=np.array(True))
        mask = graph.expand(true, shape=graph.type_of(y).shape)
    return y, mask if node.opset >= 10 else graph.cast(mask, to=graph.type_of(y).dtype)


# `ratio` was an attribute before opset 12.
@onnx_op("Dropout", since=7)
def dropout_7(x, *, node, ratio=0.5):
    del ratio
    return dropout(x, node=node)


@onnx_op("Dropout")
def dropout_1(x, *, node, is_test=0, ratio=0.5):
    mode = graph.constant(value=np.array(not is_test))
    return dropout(x, _number(ratio, _F32), mode, node=node)
