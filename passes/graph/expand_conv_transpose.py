"""The pass `graph-expand-conv-transpose`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...dialects import graph
from ...mlir import ir
from ..infra.base import FUNCTION, Pass, PassState
from ..infra.greedy import apply_rewrites
from ..infra.query import constant_array, producer
from ..infra.registry import register
from ..infra.rewrite import Rewrite

_ELEMENTWISE = graph.op_classes_of(graph.ElementwiseOp)
_MOVES = (graph.ReshapeOp, graph.TransposeOp, graph.SliceOp)
"""Ops that interleave the results of a convolution."""


@register
@dataclass(frozen=True)
class GraphExpandConvTranspose(Pass):
    """Compute transposed convolutions by sub-pixel convolutions, whose results are interleaved.

    %1 = "graph.conv_transpose"(%x, %w) {strides = [2, 2], ...} : 1x8x8x16, 16x4x2x2 -> 1x16x16x4
    %2 = "graph.relu"(%1)
    -->
    %1 = "graph.conv"(%x, %w') : 1x8x8x16, 1x1x16x16 -> 1x8x8x16
    %2 = "graph.relu"(%1)
    %3 = "graph.reshape"(%2)                                   : 1x8x8x2x8
    %4 = "graph.transpose"(%3) {perm = [0, 1, 3, 2, 4]}        : 1x8x2x8x8
    %5 = "graph.reshape"(%4)                                   : 1x16x16x4

    For channels-last images and sequences of floats, with constant weights. Results within a stride
    are features of the convolution. Elementwise ops behind it, but for those that read other
    tensors, are computed before its results move, so that they can join its kernel. Exact up to the
    order of sums.
    """

    name = "graph-expand-conv-transpose"
    anchor = FUNCTION
    only_rewrites = True
    optional = True

    def run(self, op: Any, state: PassState) -> None:
        apply_rewrites(op, [ExpandConvTranspose(), ElementwiseBeforeInterleaving()], state)


class ExpandConvTranspose(Rewrite):
    """``conv_transpose(x, w)  -->  slice(reshape(transpose(reshape(conv(x, w')))))``."""

    name = "expand-conv-transpose"
    root = graph.ConvTransposeOp

    def pattern(self, op: graph.ConvTransposeOp) -> dict[str, Any] | None:
        return {} if op.attrs["layout"] == "channels_last" else None

    def check(self, op: graph.ConvTransposeOp) -> str | None:
        if constant_array(op.w) is None:
            return "the weights are not constant"
        if not graph.is_float(graph.type_of(op.x).dtype):
            return "only floats are convolved so"
        pairs = zip(op.attrs["strides"], op.attrs["dilations"], strict=True)
        if any(stride > 1 and dilation > 1 for stride, dilation in pairs):
            return "taps are apart along an axis with a stride"
        return None

    def rewrite(self, op: graph.ConvTransposeOp) -> ir.Value:
        attrs, weights = op.attrs, constant_array(op.w)
        assert weights is not None
        groups, strides = attrs["groups"], attrs["strides"]
        axes = [_Axis.of(attrs, weights.shape[2:], axis) for axis in range(len(strides))]
        y = graph.conv(
            op.x,
            graph.constant(value=graph.sub_pixel_weights(weights, groups, strides)),
            strides=[1] * len(axes),
            dilations=[axis.dilation for axis in axes],
            low=[axis.low for axis in axes],
            high=[axis.high for axis in axes],
            groups=groups,
            layout="channels_last",
        )
        y = _interleaved(y, groups, strides)
        return _cropped(y, [axis.start for axis in axes], graph.type_of(op.result).shape)


@dataclass(frozen=True)
class _Axis:
    """The window of the sub-pixel convolution along an axis; `start` results of it are cut off."""

    dilation: int
    low: int
    high: int
    start: int

    @classmethod
    def of(cls, attrs: dict[str, Any], kernel: Sequence[int], axis: int) -> "_Axis":
        """The window along `axis` of a transposed convolution, which has as few results as
        possible beyond those that are needed."""
        stride, dilation, cut, behind, extra = (
            attrs[name][axis] for name in ("strides", "dilations", "low", "high", "output_padding")
        )
        reach = dilation * (kernel[axis] - 1)  # within a stride of each other, if there is one
        span = reach // stride  # from the first input of a result to the last one
        before = min(cut // stride, span)
        start = cut - before * stride
        positions = -(-(start + reach + 1 + extra - cut - behind) // stride)  # beyond the first
        return cls(dilation, span - before, max(positions - 1 + before, 0), start)


def _interleaved(y: ir.Value, groups: int, strides: Sequence[int]) -> ir.Value:
    """[N, spatial..., groups * strides... * F], with the results within a stride beside each other
    along the spatial axes: [N, strides * spatial..., groups * F]."""
    batch, *spatial, features = graph.type_of(y).shape
    per_group = graph.static_size(features) // (groups * math.prod(strides))
    sizes = [stride * size for stride, size in zip(strides, spatial, strict=True)]
    shape = [batch, *sizes, groups * per_group]
    if groups > 1:
        split = [groups, *strides, per_group]
    elif math.prod(strides[:-1]) > 1:
        split = [*strides[:-1], strides[-1] * per_group]
    else:  # results within the last stride are where they belong
        return graph.reshape(y, shape=shape) if strides[-1] > 1 else y
    y = graph.reshape(y, shape=[batch, *spatial, *split])
    return graph.reshape(graph.transpose(y, perm=_order(len(spatial), len(split))), shape=shape)


def _order(axes: int, parts: int) -> tuple[int, ...]:
    """The order of the axes [N, spatial..., features...] in which results are interleaved, for
    features in so many `parts`: all but those of the last axis, or the groups and all."""
    grouped = parts > axes
    first, last = 1 + axes + grouped, axes + parts
    pairs = [axis for i in range(axes) for axis in (1 + i, first + i) if axis < last]
    return (0, *pairs, *([1 + axes] if grouped else []), last)


def _cropped(y: ir.Value, starts: Sequence[int], shape: graph.Shape) -> ir.Value:
    """Slice `y` to `shape`, from `starts` on along its spatial axes."""
    if graph.type_of(y).shape == shape:
        return y
    return graph.slice_(y, starts=[0, *starts, 0], sizes=shape, steps=[1] * len(shape))


class ElementwiseBeforeInterleaving(Rewrite):
    """``f(moved(y), c)  -->  moved(f(y, c'))`` for a convolution's result `y`.

    ``moved`` are reshapes, transposes and slices; every other operand must be moved likewise, or be
    a constant that varies along the channels at most.
    """

    name = "elementwise-before-interleaving"
    root = _ELEMENTWISE

    def pattern(self, op: Any) -> dict[str, Any] | None:
        result = graph.type_of(op.operation.results[0]).shape
        for value in op.operation.operands:
            moves = _Moves.of(value)
            if moves is not None and graph.type_of(value).shape == result:
                return {"moves": moves}
        return None

    def check(self, op: Any, moves: "_Moves") -> str | None:
        for value in op.operation.operands:
            if self._before(value, moves) is None:
                return "another operand would have to be moved"
            if _Moves.of(value) and not all(_is_elementwise(use.owner) for use in value.uses):
                return "what moves is used otherwise, too"
        return None

    def rewrite(self, op: Any, moves: "_Moves") -> ir.Value:
        operands = [self._before(value, moves) for value in op.operation.operands]
        operands = [
            graph.constant(value=each) if isinstance(each, np.ndarray) else each
            for each in operands
        ]
        return moves.again(graph.build(type(op), operands, op.attrs))

    def _before(self, value: ir.Value, moves: "_Moves") -> ir.Value | np.ndarray | None:
        """The operand `value` before the `moves`, as a value or an array; None if there is none."""
        own = _Moves.of(value)
        if own is not None:
            return own.source if own.are(moves) else None
        array = constant_array(value)
        if array is None:
            return None
        return value if array.size == 1 else moves.channels_before(array)


@dataclass(frozen=True)
class _Moves:
    """The `ops` that move the result `source` of a convolution, and elementwise ops on it."""

    source: ir.Value
    ops: tuple[Any, ...]

    @classmethod
    def of(cls, value: ir.Value) -> "_Moves | None":
        """The moves that make `value`; None if they split no axis, or leave out channels."""
        ops: list[Any] = []
        while (op := producer(value, _MOVES)) is not None:
            ops.insert(0, op)
            value = op.x
        splits = any(isinstance(op, graph.ReshapeOp) and _splits(op) for op in ops)
        if not splits or any(map(_cuts_channels, ops)) or not _is_convolved(value):
            return None
        return cls(value, tuple(ops))

    def are(self, others: "_Moves") -> bool:
        """Return whether `others` move values of the same shape likewise."""
        shapes = [graph.type_of(each.source).shape for each in (self, others)]
        moves = [[(type(op), op.attrs) for op in each.ops] for each in (self, others)]
        return shapes[0] == shapes[1] and moves[0] == moves[1]

    def again(self, value: ir.Value) -> ir.Value:
        """Move `value` likewise."""
        for op in self.ops:
            value = graph.build(type(op), [value], op.attrs)
        return value

    def channels_before(self, array: np.ndarray) -> np.ndarray | None:
        """`array`, which varies along the channels of an interleaved value, for the features of
        the convolution, of which each channel has several; None if this is something else."""
        groups, channels = self._groups(), array.shape[-1]
        features = graph.type_of(self.source).shape[-1]
        if groups is None or array.size != channels or not isinstance(features, int):
            return None
        each = array.reshape(groups, 1, channels // groups)
        return np.broadcast_to(each, (groups, features // channels, each.shape[-1])).reshape(-1)

    def _groups(self) -> int | None:
        """The number of groups of an interleaving; None if these moves are something else."""
        batch, *spatial, _ = shape = graph.type_of(self.source).shape
        first, *others = [op for op in self.ops if not isinstance(op, graph.SliceOp)]
        split = first.attrs.get("shape", ())
        if not others:
            return 1 if len(split) == len(shape) and split[:-2] == shape[:-2] else None
        parts, axes = split[len(shape) - 1 :], len(spatial)
        kinds = [type(op) for op in (first, *others)]
        if (
            kinds != [graph.ReshapeOp, graph.TransposeOp, graph.ReshapeOp]
            or split[: len(shape) - 1] != (batch, *spatial)
            or others[0].attrs["perm"] != _order(axes, len(parts))
            or graph.type_of(others[1].result).rank != len(shape)
        ):
            return None
        return parts[0] if len(parts) > axes else 1


def _splits(op: graph.ReshapeOp) -> bool:
    """Return whether a reshape does more than add or remove axes of one element."""
    shapes = [graph.type_of(value).shape for value in (op.x, op.result)]
    before, after = ([size for size in shape if size != 1] for shape in shapes)
    return before != after


def _cuts_channels(op: Any) -> bool:
    """Return whether `op` leaves out channels, whose elements need not be computed then."""
    if not isinstance(op, graph.SliceOp):
        return False
    return graph.type_of(op.x).shape[-1] != graph.type_of(op.result).shape[-1]


def _is_convolved(value: ir.Value) -> bool:
    """Return whether `value` is the result of a convolution, or of elementwise ops on one."""
    while (op := producer(value, _ELEMENTWISE)) is not None:
        shape = graph.type_of(value).shape
        values = [each for each in op.operation.operands if graph.type_of(each).shape == shape]
        computed = [each for each in values if constant_array(each) is None]
        if not computed:
            return False
        value = computed[0]
    return producer(value, graph.ConvOp) is not None


def _is_elementwise(op: ir.Operation) -> bool:
    return isinstance(graph.graph_op(op), graph.ElementwiseOp)
