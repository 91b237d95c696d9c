"""Instance and group normalizations of channels-last images.

ONNX has them on channels-first images, exporters write a group normalization as an instance
normalization of [N, groups, elements]. A convolution before it and one behind it are channels-last:
from moments of groups of channels, what lies between them is elementwise.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....dialects import graph
from ....mlir import ir
from ...infra.query import constant_array, producer
from ...infra.rewrite import Decline, rewrite
from .permutation import to_channels_first
from .sink import transposed_by


@dataclass(frozen=True)
class _Normalized:
    """The channels-last image that a normalization works on, and the number of `groups` of its
    channels."""

    source: ir.Value
    shape: graph.Shape
    """The shape of the image, which has the elements of `source` in their order."""
    groups: int
    restored: Callable[[ir.Value], ir.Value]
    """Gives a result of the shape of the image the shape of the normalization's."""

    @property
    def channels(self) -> int:
        return graph.static_size(self.shape[-1])

    def image(self) -> ir.Value:
        """Build the image."""
        if graph.type_of(self.source).shape == tuple(self.shape):
            return self.source
        return graph.reshape(self.source, shape=self.shape)


@rewrite(graph.LayerNormOp)
def group_norm_of_channels_last(op: graph.LayerNormOp) -> Any:
    """``layer_norm(reshape(transpose(x)), scale, bias, axis=2)  -->
    reshape(transpose((x - mean) * factor * scale' + bias'))``, with mean and factor from
    ``group_moments(x)``, for [N, C, ...] as [N, groups, elements]."""
    if op.attrs["axis"] != 2:
        return None
    rows = graph.type_of(op.x)
    reshape = producer(op.x, graph.ReshapeOp)
    found = _split_channels(op.x) if reshape is None else _rows_of_channels(reshape)
    if found is None or isinstance(found, Decline):
        return found
    if rows.dtype != np.float32:
        return Decline("moments are taken of f32")
    parameters = [op.scale] if op.bias is None else [op.scale, op.bias]
    if not all(_is_per_channel(each, rows.shape, found) for each in parameters):
        return Decline("its scale or bias is not for channels or groups")
    image = found.image()
    mean, factor = graph.group_moments(image, groups=found.groups, epsilon=op.attrs["epsilon"])
    scale, *bias = (_per_channel(each, found) for each in parameters)
    y = graph.mul(graph.sub(image, mean), factor)
    if not _is_all(scale, 1):
        y = graph.mul(y, scale)
    if bias and not _is_all(bias[0], 0):
        y = graph.add(y, bias[0])
    return found.restored(y)


def _rows_of_channels(op: graph.ReshapeOp) -> _Normalized | Decline | None:
    """The image and the groups of `op`, ``reshape(transpose(x))`` to [N, groups, elements]."""
    rank, rows = graph.type_of(op.x).rank, graph.type_of(op.result).shape
    if rank < 3 or transposed_by(op.x) != to_channels_first(rank):
        return None
    groups = _groups(graph.type_of(op.x).shape, rows)
    if groups is None:
        return Decline("its rows are no groups of whole channels of one image")

    def restored(y: ir.Value) -> ir.Value:
        return graph.reshape(graph.transpose(y, perm=to_channels_first(rank)), shape=rows)

    image = ir.OpResult(op.x).owner.operands[0]
    return _Normalized(image, graph.type_of(image).shape, groups, restored)


def _split_channels(x: ir.Value) -> _Normalized | None:
    """The image and the groups of `x`, of [N, C, ...] or [N, groups, C / groups, ...], which is a
    transpose of [N, ..., C] or [N, ..., groups, C / groups]."""
    perm, shape = transposed_by(x), graph.type_of(x).shape
    if perm is None:
        return None
    rank = len(shape)
    for split in (1, 2):
        behind = range(rank - split, rank)
        if rank < split + 2 or perm != (0, *behind, *range(1, rank - split)):
            continue
        sizes = [shape[axis] for axis in range(1, 1 + split)]
        if not all(isinstance(size, int) and size > 0 for size in sizes):
            return None
        source = ir.OpResult(x).owner.operands[0]
        own = graph.type_of(source).shape
        merged = (*own[: rank - split], math.prod(map(graph.static_size, sizes)))

        def restored(y: ir.Value, own: graph.Shape = own) -> ir.Value:
            return graph.transpose(graph.reshape(y, shape=own), perm=perm)

        return _Normalized(source, merged, graph.static_size(sizes[0]), restored)
    return None


def _groups(image: graph.Shape, rows: graph.Shape) -> int | None:
    """The number of groups of channels of `image`, of [N, C, ...], in `rows`, [N, groups, ...]."""
    (images, channels, *spatial), (outer, groups, *inner) = image, rows
    if outer != images or not isinstance(channels, int) or not isinstance(groups, int):
        return None
    if groups < 1 or channels % groups:
        return None
    elements = graph.element_count([channels // groups, *spatial])
    return groups if elements == graph.element_count(inner) else None


def _is_per_channel(value: ir.Value, rows: graph.Shape, of: _Normalized) -> bool:
    """Return whether a scale or a bias of `rows` is one for each channel or group, or for all."""
    shape = graph.type_of(value).shape
    padded = (*[1] * (len(rows) - len(shape)), *shape)
    count = graph.element_count(shape)
    if count == 1:
        return True
    if padded[0] != 1 or padded[1] != of.groups:
        return False
    each = of.channels // of.groups
    return count == of.groups or (count == of.channels and _begins(padded[2:], each))


def _per_channel(value: ir.Value, of: _Normalized) -> ir.Value:
    """A scale or a bias, as one for each channel or for all."""
    count = graph.element_count(graph.type_of(value).shape)
    if count == 1:
        return graph.reshape(value, shape=[])
    if count == of.channels:
        return graph.reshape(value, shape=[of.channels])
    each, array = of.channels // of.groups, constant_array(value)
    if array is not None:
        return graph.constant(value=np.repeat(array.reshape(-1), each))
    repeated = graph.expand(graph.reshape(value, shape=[of.groups, 1]), shape=[of.groups, each])
    return graph.reshape(repeated, shape=[of.channels])


def _begins(sizes: Sequence[Any], count: int) -> bool:
    """Return whether `sizes` are `count` and ones, or nothing but ones for a count of one."""
    return count == 1 or (bool(sizes) and sizes[0] == count)


def _is_all(value: ir.Value, number: float) -> bool:
    array = constant_array(value)
    return array is not None and bool(np.all(array == number))
