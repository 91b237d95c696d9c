"""Multi-node patterns that exporters write for one operation and that the passes recognize."""

import math
from typing import Any

import numpy as np

from ..builder import GraphBuilder
from ..draw_registry import draws
from ..drawn_values import Value
from ..node_evaluation import Rejected
from .contraction import scaled
from .convolution import image
from .normalization import _spread as spread
from .normalization import row


def _scalar(b: GraphBuilder, value: float, of: Value) -> Value:
    return b.known(np.array(value, of.dtype))


@draws(weight=1.5)
def gelu_by_erf(b: GraphBuilder) -> None:
    """Gelu as ``x / 2 * (1 + erf(x / sqrt(2)))``."""
    x = b.take(types=("float32",))
    (a,) = b.add("Div", [x, _scalar(b, math.sqrt(2), x)])
    (e,) = b.add("Erf", [a])
    (s,) = b.add("Add", [e, _scalar(b, 1, x)])
    if b.chance(0.5):
        (h,) = b.add("Mul", [x, s])
        b.add("Mul", [h, _scalar(b, 0.5, x)])
    else:
        (h,) = b.add("Mul", [x, _scalar(b, 0.5, x)])
        b.add("Mul", [s, h] if b.chance(0.5) else [h, s])


@draws(weight=1.5)
def silu(b: GraphBuilder) -> None:
    """SiLU as ``x * sigmoid(x)``."""
    x = b.take(types=("float32", "float64"))
    (s,) = b.add("Sigmoid", [x])
    b.add("Mul", [x, s])


@draws(weight=2)
def layer_norm_by_parts(b: GraphBuilder) -> None:
    """Layer normalization as mean, variance, square root, scale and shift."""
    x = b.take((2, 4), ("float32",), where=spread)
    over = [b.ints([-1])] if b.opset >= 18 else []
    keep: dict[str, Any] = {} if over else {"axes": [-1]}
    (mean,) = b.add("ReduceMean", [x, *over], **keep)
    (d,) = b.add("Sub", [x, mean])
    square = b.choose(("Pow", "Mul"))
    (sq,) = b.add(square, [d, _scalar(b, 2, x) if square == "Pow" else d])
    (variance,) = b.add("ReduceMean", [sq, *over], **keep)
    (shifted,) = b.add("Add", [variance, _scalar(b, 1e-5, x)])
    (root,) = b.add("Sqrt", [shifted])
    (y,) = b.add("Div", [d, root])
    if b.chance(0.7):
        (y,) = b.add("Mul", [y, row(b, x)])
        b.add("Add", [y, row(b, x)])


@draws(weight=2)
def group_norm_by_rows(b: GraphBuilder) -> None:
    """Group normalization of a convolution as an instance normalization of [N, groups, elements],
    scaled and shifted behind it, and read by another convolution."""
    x = image(b, ("float32",))
    channels, ones = b.choose((4, 6, 8, 16, 33)), [1] * (x.rank - 2)
    weights = scaled(b, [channels, x.shape[1], *ones], x.dtype, x.shape[1], weight=True)
    (a,) = b.add("Conv", [x, weights])
    groups = b.choose([g for g in range(1, channels + 1) if channels % g == 0])
    (rows,) = b.add("Reshape", [a, b.ints([0, groups, -1])])
    if not spread(rows):
        raise Rejected("no spread")
    one, zero = (b.known(np.full(groups, value, np.float32)) for value in (1, 0))
    (y,) = b.add("InstanceNormalization", [rows, one, zero])
    (y,) = b.add("Reshape", [y, *b.add("Shape", [a])])
    per_channel = [channels, *ones]
    (y,) = b.add("Mul", [y, b.new(per_channel, x.dtype, 0.5, 1.5, weight=True)])
    (y,) = b.add("Add", [y, b.new(per_channel, x.dtype, weight=True)])
    b.add("Conv", [y, scaled(b, [3, channels, *ones], x.dtype, channels, weight=True)])


@draws(weight=2)
def attention_by_parts(b: GraphBuilder) -> None:
    """Attention as scores, scale, mask, softmax, and weighted sum."""
    x = b.take((3, 4), ("float32",), empty=False)
    *lead, rows, width = x.shape
    columns = b.choose((1, 4, 9, 16, 17))
    k = scaled(b, [*lead, columns, width], x.dtype, 4)
    v = b.like([*lead, columns, b.choose((1, 4, 8, 17))], x.dtype)
    swapped = [*range(len(lead)), x.rank - 1, x.rank - 2]
    (t,) = b.add("Transpose", [k], perm=swapped)
    (scores,) = b.add("MatMul", [x, t])
    if b.chance(0.7):
        op_type = b.choose(("Mul", "Div"))
        (scores,) = b.add(op_type, [scores, _scalar(b, b.choose((0.5, 2.0)), x)])
    if b.chance(0.5):
        (scores,) = b.add("Add", [scores, b.new([rows, columns], x.dtype)])
    (weights,) = b.add("Softmax", [scores], axis=-1 if b.opset >= 13 else x.rank - 1)
    b.add("MatMul", [weights, v])


@draws(weight=2)
def products_of_one(b: GraphBuilder) -> None:
    """Several matmuls of one value, as for queries, keys and values."""
    x = b.take((2, 3), ("float32",), empty=False)
    k = x.shape[-1]
    columns = b.choose((1, 4, 8, 16, 17, 32))
    for _ in range(b.integer(2, 3)):
        (y,) = b.add("MatMul", [x, scaled(b, [k, columns], x.dtype, k, weight=True)])
        if b.chance(0.7):
            b.add("Add", [y, b.new([columns], x.dtype, weight=True)])


@draws(weight=2)
def residual(b: GraphBuilder) -> None:
    """A value added to a function of itself."""
    x = b.take(types=("float32", "float64", "float16"))
    (y,) = b.add(b.choose(("Tanh", "Relu", "Sigmoid", "Sin")), [x])
    if b.chance(0.5):
        (y,) = b.add("Mul", [y, b.partner(y)])
    b.add("Add", [x, y] if b.chance(0.5) else [y, x])


@draws(weight=1.5)
def there_and_back(b: GraphBuilder) -> None:
    """Two transposes, possibly canceling, with an operator between them."""
    x = b.take((2, 4), ("float32",))
    perm = [int(axis) for axis in b.random.permutation(x.rank)]
    (t,) = b.add("Transpose", [x], exact=True, perm=perm)
    (y,) = b.add(b.choose(("Relu", "Neg", "Sigmoid")), [t])
    b.add("Transpose", [y], perm=[int(axis) for axis in np.argsort(perm)])


@draws(weight=1)
def casts_there_and_back(b: GraphBuilder) -> None:
    """Casts to another type and back, with or without loss of digits."""
    from ..drawn_values import element_type

    x = b.take(types=("float32", "float64", "int32", "int64"))
    between = b.choose(("float64", "float32", "float16"))
    (y,) = b.add("Cast", [x], exact=between != "float16", to=element_type(between))
    if x.dtype.kind != "f" and not y.clear_of():
        return
    b.add("Cast", [y], exact=True, to=element_type(x.dtype.name))
