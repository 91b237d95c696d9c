"""Transposes sink towards the results until they meet their inverse.

Each rewrite takes an op whose operand is a transpose and does the op first, on the untransposed
operand, with its attributes permuted. ``y = transpose(x, p)`` gives ``y`` axis ``i`` from ``x``
axis ``p[i]``, so an attribute of one axis ``i`` becomes ``p[i]``, and a list ``a`` over the axes
becomes ``a'`` with ``a'[p[i]] = a[i]``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...analysis.permutations import Perm, compose, inverse, is_identity, moves_only_units
from ...infra.query import constant_array, producer
from ...infra.rewrite import Decline, Rewrite, rewrite
from .permutation import transposed, transposes_freely

ELEMENTWISE_OPS = graph.op_classes_of(graph.ElementwiseOp)
ALONG_ONE_AXIS = tuple(
    op_class for op_class in graph.op_classes_of(graph.GraphOp) if op_class.along_axis is True
)


def transposed_by(value: ir.Value) -> Perm | None:
    """The permutation of the transpose that makes `value`; None if no transpose does."""
    op = producer(value, graph.TransposeOp)
    return None if op is None else op.attrs["perm"]


def _source(value: ir.Value) -> ir.Value:
    return ir.OpResult(value).owner.operands[0]


def rebuild(op: Any, operands: Sequence[Any], **changed: Any) -> Any:
    """Build `op` on other operands, with some attributes changed."""
    return graph.build(type(op), operands, {**op.attrs, **changed})


def _unpermuted(values: Sequence[Any], perm: Perm) -> list[Any]:
    """Reorder a list over the axes of a transposed tensor to one over the axes of its source."""
    result: list[Any] = [None] * len(perm)
    for axis, value in zip(perm, values, strict=True):
        result[axis] = value
    return result


@rewrite(graph.TransposeOp)
def merge_transposes(op: graph.TransposeOp):
    """``transpose(transpose(x, p), q)  -->  transpose(x, p*q)``, or ``x``."""
    first = transposed_by(op.x)
    perm = op.attrs["perm"]
    if first is None:
        return op.x if is_identity(perm) else None
    return transposed(_source(op.x), compose(first, perm))


@rewrite(graph.TransposeOp)
def transpose_of_units(op: graph.TransposeOp):
    """``transpose(x)  -->  reshape(x)`` if only axes of size 1 move.

    It first sinks through elementwise ops, which can join the kernel of a contraction then, and
    through slices and pads, which may stand before such.
    """
    type_, perm = graph.type_of(op.x), op.attrs["perm"]
    if is_identity(perm) or not moves_only_units(type_.shape, perm):
        return None
    users = [graph.graph_op(use.owner) for use in op.result.uses]
    if any(isinstance(user, graph.ElementwiseOp | graph.SliceOp | graph.PadOp) for user in users):
        return Decline("what uses it can be computed before it")
    return graph.reshape(op.x, shape=[type_.shape[axis] for axis in perm])


class SinkThroughElementwise(Rewrite):
    """``f(transpose(a, p), b)  -->  transpose(f(a, transpose(b, p^-1)), p)``.

    Every other operand must be transposed by `p` too, or be transposable without moving data.
    """

    name = "sink-through-elementwise"
    root = ELEMENTWISE_OPS

    def pattern(self, op: Any) -> dict[str, Any] | None:
        rank = graph.type_of(op.operation.results[0]).rank
        for value in op.operation.operands:
            perm = transposed_by(value)
            if perm is not None and len(perm) == rank:
                return {"perm": perm}
        return None

    def check(self, op: Any, perm: Perm) -> str | None:
        for value in op.operation.operands:
            if transposed_by(value) != perm and not moves_back_freely(value, perm):
                return "another operand would have to be transposed at run time"
        return None

    def rewrite(self, op: Any, perm: Perm) -> ir.Value:
        operands = [self._operand(value, perm) for value in op.operation.operands]
        return graph.transpose(rebuild(op, operands), perm=perm)

    def _operand(self, value: ir.Value, perm: Perm) -> ir.Value:
        return _source(value) if transposed_by(value) == perm else moved_back(value, perm)


def moves_back_freely(value: ir.Value, perm: Perm) -> bool:
    """Return whether `moved_back` moves no data at run time."""
    shape = graph.type_of(value).shape
    if all(size == 1 for size in shape):
        return True
    padded = (1,) * (len(perm) - len(shape)) + shape
    return moves_only_units(padded, inverse(perm)) or constant_array(value) is not None


def moved_back(value: ir.Value, perm: Perm) -> ir.Value:
    """`value`, which is broadcast to what `perm` has transposed, as it was before."""
    shape = graph.type_of(value).shape
    if all(size == 1 for size in shape):
        return value
    padded = (1,) * (len(perm) - len(shape)) + shape
    array = constant_array(value)
    if array is not None:
        array = array.reshape((1,) * (len(perm) - array.ndim) + array.shape)
        return graph.constant(value=np.transpose(array, inverse(perm)))
    if padded != shape:
        value = graph.reshape(value, shape=padded)
    return transposed(value, inverse(perm))


@rewrite(*graph.op_classes_of(graph.Reduction))
def sink_through_reduction(op):
    """``reduce(transpose(x, p), axes)  -->  transpose(reduce(x, p[axes]), p')``."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    axes = op.attrs["axes"]
    reduced = rebuild(op, [_source(op.x)], axes=sorted(perm[axis] for axis in axes))
    if op.attrs["keepdims"]:
        return graph.transpose(reduced, perm=perm)
    kept = [perm[axis] for axis in range(len(perm)) if axis not in axes]
    return transposed(reduced, [sorted(kept).index(axis) for axis in kept])


@rewrite(graph.ConcatOp)
def sink_through_concat(op: graph.ConcatOp):
    """``concat(transpose(a, p), transpose(b, p))  -->  transpose(concat(a, b), p)``."""
    perms = {transposed_by(x) for x in op.xs}
    found = [perm for perm in perms if perm is not None]
    if not found:
        return None
    perm = found[0]
    others = [x for x in op.xs if transposed_by(x) != perm]
    if not all(transposes_freely(x, inverse(perm)) for x in others):
        return Decline("not all operands are transposed alike")
    xs = [_source(x) if transposed_by(x) == perm else transposed(x, inverse(perm)) for x in op.xs]
    return graph.transpose(graph.concat(xs, axis=perm[op.attrs["axis"]]), perm=perm)


@rewrite(graph.SliceOp)
def sink_through_slice(op: graph.SliceOp):
    """``slice(transpose(x, p))  -->  transpose(slice(x), p)``."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    attrs = {name: _unpermuted(values, perm) for name, values in op.attrs.items()}
    return graph.transpose(graph.slice_(_source(op.x), **attrs), perm=perm)


@rewrite(graph.RepeatOp)
def sink_through_repeat(op: graph.RepeatOp):
    """``repeat(transpose(x, p))  -->  transpose(repeat(x), p)``."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    repeats = _unpermuted(op.repeats, perm)
    return graph.transpose(graph.repeat(_source(op.x), repeats=repeats), perm=perm)


@rewrite(graph.GatherOp, graph.InterpolateOp)
def sink_through_gather(op: graph.GatherOp | graph.InterpolateOp):
    """``gather(transpose(x, p), i, axis)  -->  transpose(gather(x, i, p[axis]), p)``, for a list of
    indices, and ``interpolate`` likewise: an image that is resized."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    if isinstance(op, graph.GatherOp) and graph.type_of(op.indices).rank != 1:
        return Decline("the indices are no list")
    operands = [_source(op.x), *list(op.operation.operands)[1:]]
    return graph.transpose(rebuild(op, operands, axis=perm[op.attrs["axis"]]), perm=perm)


@rewrite(graph.PadOp)
def sink_through_pad(op: graph.PadOp):
    """``pad(transpose(x, p))  -->  transpose(pad(x), p)``, if others than channels-last images use
    it: their kernels read an image without its padding."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    users = [graph.graph_op(use.owner) for use in op.result.uses]
    if all(user is not None and user.attrs.get("layout") == "channels_last" for user in users):
        return Decline("it pads an image that is channels-last")
    attrs = {name: _unpermuted(values, perm) for name, values in op.attrs.items()}
    return graph.transpose(graph.pad(_source(op.x), op.value, **attrs), perm=perm)


@rewrite(graph.PadFromDataOp)
def sink_through_pad_from_data(op: graph.PadFromDataOp):
    """``pad_from_data(transpose(x, p))  -->  transpose(pad_from_data(x), p)``."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    around = {side: _unpermuted(op.attrs[side], perm) for side in ("low", "high")}
    padded = graph.pad_from_data(_source(op.x), **around, mode=op.attrs["mode"])
    return graph.transpose(padded, perm=perm)


@rewrite(*ALONG_ONE_AXIS)
def sink_through_axis_op(op):
    """``f(transpose(x, p), axis)  -->  transpose(f(x, p[axis]), p)``."""
    perm = transposed_by(op.operation.operands[0])
    if perm is None:
        return None
    operands = [_source(op.operation.operands[0]), *list(op.operation.operands)[1:]]
    return graph.transpose(rebuild(op, operands, axis=perm[op.attrs["axis"]]), perm=perm)


@rewrite(graph.DynamicQuantizeOp)
def sink_through_dynamic_quantize(op: graph.DynamicQuantizeOp):
    """``dynamic_quantize(transpose(x, p))  -->  transpose(dynamic_quantize(x), p)``: a range does
    not depend on the order of elements."""
    perm = transposed_by(op.x)
    if perm is None:
        return None
    quantized, *parameters = graph.dynamic_quantize(_source(op.x))
    return graph.transpose(quantized, perm=perm), *parameters


@rewrite(graph.ExpandOp)
def sink_through_expand(op: graph.ExpandOp):
    """``expand(transpose(x, p))  -->  transpose(expand(x), p)``, at equal rank."""
    perm = transposed_by(op.x)
    shape = op.attrs["shape"]
    if perm is None or len(perm) != len(shape):
        return None
    return graph.transpose(graph.expand(_source(op.x), shape=_unpermuted(shape, perm)), perm=perm)


@rewrite(graph.ReshapeOp)
def sink_through_reshape(op: graph.ReshapeOp):
    """``reshape(transpose(x, p))  -->  transpose(reshape(x), q)``.

    This requires that each run of axes that the reshape merges or splits is a run of `x` as well.
    """
    perm = transposed_by(op.x)
    if perm is None:
        return None
    target = op.attrs["shape"]
    groups = graph.reassociation(graph.type_of(op.x).shape, target)
    runs = [[perm[axis] for axis in old] for old, _ in groups]
    if any(run != list(range(run[0], run[0] + len(run))) for run in runs if run):
        return Decline("the reshape mixes axes that are apart before the transpose")
    if not all(runs):
        return None
    order = sorted(range(len(groups)), key=lambda i: runs[i][0])
    axes = [axis for i in order for axis in groups[i][1]]
    reshaped = graph.reshape(_source(op.x), shape=[target[axis] for axis in axes])
    return transposed(reshaped, inverse(axes))


SINK_TRANSPOSES = (
    merge_transposes,
    transpose_of_units,
    SinkThroughElementwise,
    sink_through_reduction,
    sink_through_concat,
    sink_through_slice,
    sink_through_repeat,
    sink_through_gather,
    sink_through_pad,
    sink_through_pad_from_data,
    sink_through_axis_op,
    sink_through_dynamic_quantize,
    sink_through_expand,
    sink_through_reshape,
)
