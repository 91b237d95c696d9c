"""Normalizations and attention."""

from typing import Any

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value
from ..node_evaluation import Rejected
from .contraction import scaled
from .convolution import image


def _spread(value: Value) -> bool:
    """Return whether every row of the last axis has a variance that rounding does not decide."""
    return value.size > 0 and bool((value.wide.std(axis=-1) > 0.05).all())


def row(b: GraphBuilder, x: Value, low: float = 0.5, high: float = 1.5) -> Value:
    """A weight for each element of the last axis."""
    return b.new([x.shape[-1]], x.dtype, low, high, weight=True)


@draws(weight=5)
def softmax(b: GraphBuilder) -> None:
    """Softmax along one axis, or before opset 13 over all axes from one on."""
    x = b.take((1, 4), ("float32", "float64", "float16"), empty=False)
    axis = b.axis(x.rank) if b.opset >= 11 else b.integer(0, x.rank - 1)
    b.add(b.choose(("Softmax", "Softmax", "LogSoftmax")), [x], axis=axis)


@draws(weight=0.5)
def hardmax(b: GraphBuilder) -> None:
    """Hardmax of exact values."""
    b.add("Hardmax", [b.take((1, 3), ("float32",), exact=True, empty=False)], axis=-1)


@draws(weight=3, since=17)
def layer_norm(b: GraphBuilder) -> None:
    """Layer normalization over the last axis or the last two."""
    x = b.take((1, 4), ("float32", "float64"), where=_spread)
    axis = -1 if x.rank == 1 or b.chance(0.8) else -2
    shape = x.shape[axis:]
    weights = [b.new(shape, x.dtype, 0.5, 1.5, weight=True)]
    weights += [b.new(shape, x.dtype, weight=True)] if b.chance(0.7) else []
    b.add("LayerNormalization", [x, *weights], axis=axis, epsilon=b.choose((1e-5, 1e-3)))


@draws(weight=1, since=23)
def rms_norm(b: GraphBuilder) -> None:
    """RMS normalization over the last axis."""
    x = b.take((1, 4), ("float32",), where=_spread)
    b.add("RMSNormalization", [x, row(b, x)], axis=-1)


@draws(weight=1)
def instance_norm(b: GraphBuilder) -> None:
    """Instance normalization over the positions of each feature."""
    x = image(b, ("float32",))
    if (x.wide.std(axis=tuple(range(2, x.rank))) < 0.05).any():
        raise Rejected("no spread")
    n = x.shape[1]
    parts = [b.new([n], x.dtype, 0.5, 1.5, weight=True), b.new([n], x.dtype, weight=True)]
    b.add("InstanceNormalization", [x, *parts])


@draws(weight=0.7, since=21)
def group_norm(b: GraphBuilder) -> None:
    """Group normalization over the positions of groups of features."""
    x = image(b, ("float32",))
    n = x.shape[1]
    groups = b.choose([g for g in range(1, n + 1) if n % g == 0])
    if x.size // x.shape[0] // groups < 3:
        raise Rejected("no spread")
    parts = [b.new([n], x.dtype, 0.5, 1.5, weight=True), b.new([n], x.dtype, weight=True)]
    b.add("GroupNormalization", [x, *parts], num_groups=groups)


@draws(weight=0.7)
def lp_norm(b: GraphBuilder) -> None:
    """Normalization by the L1 or L2 norm."""
    x = b.take((1, 3), ("float32",), where=_spread)
    b.add("LpNormalization", [x], axis=-1, p=b.integer(1, 2))


@draws(weight=0.7)
def local_response(b: GraphBuilder) -> None:
    """Local response normalization across features."""
    b.add("LRN", [image(b, ("float32",))], size=b.choose((1, 3, 5)), alpha=0.1)


@draws(weight=0.7, since=13)
def mean_variance(b: GraphBuilder) -> None:
    """Mean-variance normalization, which ONNX defines as a function."""
    x = b.take((3, 4), ("float32",), where=_spread)
    b.add("MeanVarianceNormalization", [x], axes=[-1 % x.rank])


@draws(weight=2, since=23)
def attention(b: GraphBuilder) -> None:
    """Attention, also with fewer key heads than query heads, plain, masked or causal."""
    heads, groups = b.choose((1, 2, 3)), b.choose((1, 1, 2))
    batch, rows, columns = b.integer(1, 2), b.choose((1, 3, 8, 17)), b.choose((1, 4, 9, 16))
    width = b.choose((1, 4, 8, 17))
    q = b.new([batch, heads * groups, rows, width], named=False)
    k = scaled(b, [batch, heads, columns, width], q.dtype, 4, named=False)
    v = b.new([batch, heads, columns, width], q.dtype, named=False)
    # The default scale of ONNX is rounded to f32.
    own: dict[str, Any] = {"scale": 0.25} if q.dtype == "float64" else {}
    if b.chance(0.3) and columns >= rows:
        b.add("Attention", [q, k, v], is_causal=1, **own)
    elif b.chance(0.5):
        b.add("Attention", [q, k, v, b.new([rows, columns], q.dtype)], **own)
    else:
        b.add("Attention", [q, k, v], scale=b.choose((0.25, 1.0)))
