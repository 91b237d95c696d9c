"""Operators as opsets 1 to 6 spelled them: limited broadcasting, attributes that became inputs."""

from collections.abc import Callable

from onnx import TensorProto

from ....dialects import graph
from ....mlir import ir
from ..importing.registry import UnsupportedError, onnx_op
from .contraction import gemm
from .elementwise import cast
from .movement import reshape_to, split_2, tile_by
from .normalization import batch_normalization_7
from .padding import pad_2
from .pooling import global_lp_pool, lp_pool
from .shapes import normalize_axis, require_constant, require_sizes


def _aligned(a: ir.Value, b: ir.Value, axis: int | None, broadcast: int) -> ir.Value:
    """`b` in a shape that broadcasts to `a` as numpy does.

    With `broadcast`, the axes of `b` are those of `a` from `axis` on; the last ones by default.
    """
    shape, own = graph.type_of(a).shape, graph.type_of(b).shape
    if not broadcast:
        known = all(isinstance(size, int) for size in (*shape, *own))
        if len(shape) != len(own) or (known and shape != own):
            raise graph.TypeRuleError(
                f"operands {graph.type_of(a)} and {graph.type_of(b)} need broadcast=1"
            )
        return b
    first = len(shape) - len(own) if axis is None else normalize_axis(axis, len(shape))
    behind = len(shape) - len(own) - first
    if first < 0 or behind < 0:
        raise graph.TypeRuleError(f"{graph.type_of(b)} does not fit {graph.type_of(a)} at {first}")
    return graph.reshape(b, shape=[*own, *[1] * behind]) if behind else b


def _binary(op_type: str, build: Callable[..., ir.Value]) -> None:
    @onnx_op(op_type)
    def convert(a, b, *, axis=None, broadcast=0):
        return build(a, _aligned(a, b, axis, broadcast))


_binary("Add", graph.add)
_binary("And", graph.and_)
_binary("Div", graph.div)
_binary("Equal", graph.equal)
_binary("Greater", graph.greater)
_binary("Less", graph.less)
_binary("Mul", graph.mul)
_binary("Or", graph.or_)
_binary("Pow", graph.pow_)
_binary("Sub", graph.sub)
_binary("Xor", graph.xor)


@onnx_op("PRelu")
def prelu(x, slope):
    """One slope, or one for each channel."""
    type_ = graph.type_of(slope)
    if type_.shape in ((), (1,)):
        return graph.prelu(x, graph.reshape(slope, shape=[]))
    return graph.prelu(x, _aligned(x, slope, min(1, graph.type_of(x).rank - 1), broadcast=1))


@onnx_op("Gemm")
def gemm_1(a, b, c, *, alpha=1.0, beta=1.0, broadcast=0, transA=0, transB=0):  # noqa: N803
    del broadcast  # without it, `c` is of the result's shape
    return gemm(a, b, c, alpha=alpha, beta=beta, transA=transA, transB=transB)


@onnx_op("BatchNormalization")
def batch_normalization_1(
    x, scale, bias, mean, variance, *, node, epsilon=1e-5, is_test=0, momentum=0.9, spatial=1
):
    del is_test  # training is asked for by its outputs
    return batch_normalization_7(
        x, scale, bias, mean, variance,
        node=node, epsilon=epsilon, momentum=momentum, spatial=spatial,
    )  # fmt: skip


@onnx_op("Concat")
def concat_1(*xs, axis=1):
    return graph.concat(xs, axis=normalize_axis(axis, graph.type_of(xs[0]).rank))


@onnx_op("Reshape")
def reshape_1(x, *, shape):
    return reshape_to(x, shape, allowzero=0)


@onnx_op("Pad")
def pad_1(x, *, paddings, mode="constant", value=0.0):
    return pad_2(x, pads=paddings, mode=mode, value=value)


@onnx_op("Clip")
def clip_1(x, *, min=None, max=None):
    if min is not None:
        x = graph.max_(x, graph.splat_like(min, x))
    return x if max is None else graph.min_(x, graph.splat_like(max, x))


@onnx_op("Tile")
def tile_1(x, tiles, axis):
    """`tiles` copies, one after the other, along `axis`."""
    at = int(require_constant(axis, "axis").reshape(()))
    count = int(require_constant(tiles, "tiles").reshape(()))
    counts = [1] * graph.type_of(x).rank
    counts[normalize_axis(at, len(counts))] = count
    return tile_by(x, counts)


@onnx_op("Selu")
def selu_1(x, *, alpha=1.6732, gamma=1.0507):
    return graph.selu(x, alpha=alpha, gamma=gamma)


@onnx_op("Cast")
def cast_1(x, *, to):
    """The target is named: ``FLOAT``."""
    try:
        target = TensorProto.DataType.Value(to)
    except ValueError:
        raise graph.TypeRuleError(f"'{to}' is not an element type") from None
    return cast(x, to=target)


@onnx_op("Split")
def split_1(x, sizes=None, *, node, axis=0, split=None):
    if sizes is not None:
        split = require_sizes(sizes, node, "split")
    return split_2(x, node=node, axis=axis, split=split)


@onnx_op("LpPool")
def lp_pool_1(x, *, kernel_shape, auto_pad="NOTSET", p=2.0, pads=None, strides=None):
    return lp_pool(
        x, kernel_shape=kernel_shape, auto_pad=auto_pad, p=_whole(p), pads=pads, strides=strides
    )


@onnx_op("GlobalLpPool")
def global_lp_pool_1(x, *, p=2.0):
    return global_lp_pool(x, p=p)


def _whole(p: float) -> int:
    if p != int(p):
        raise UnsupportedError(f"a norm of order {p}")
    return int(p)
