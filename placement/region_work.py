"""Work of the regions of a model, from the types of its values and the sizes of its inputs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..dialects import graph
from ..dialects.symbolic import Dim
from ..frontend.onnx.node_work import GraphSizes, RegionWork
from ..frontend.onnx.partitioning.placement import Placement, ValueType
from .regions import ModelRegion

TEXT_BYTES = 4096
"""Assumed size of a value that is no tensor of numbers."""


def named_sizes(placement: Placement, feeds: Mapping[str, Any]) -> dict[str, int]:
    """The sizes of named dimensions that the shapes of `feeds` give."""
    sizes: dict[str, int] = {}
    for name, value in feeds.items():
        type_ = placement.types.get(name)
        if isinstance(type_, graph.TensorType) and np.ndim(value) == type_.rank:
            for size, actual in zip(type_.shape, np.shape(value), strict=True):
                if isinstance(size, Dim) and size.is_symbol:
                    sizes[str(size)] = actual
    return sizes


def shape_of(type_: ValueType, sizes: Mapping[str, int]) -> tuple[int, ...] | None:
    """The shape of a tensor of `type_`; sizes that are unknown count as 1. None for no tensor."""
    if not isinstance(type_, graph.TensorType):
        return None
    return tuple(_size(size, sizes) for size in type_.shape)


def _size(size: int | Dim, sizes: Mapping[str, int]) -> int:
    known = size if isinstance(size, int) else size.evaluate(sizes)
    return max(known, 0) if isinstance(known, int) else 1


def value_bytes(type_: ValueType, sizes: Mapping[str, int]) -> int:
    """The size of a value of `type_` in memory."""
    shape = shape_of(type_, sizes)
    if shape is None or not isinstance(type_, graph.TensorType):
        return TEXT_BYTES
    return graph.known_bytes(type_.with_shape(shape))


def graph_sizes(placement: Placement, sizes: Mapping[str, int]) -> GraphSizes:
    """The sizes of all values of a model, with the `sizes` of named dimensions."""
    proto = placement.model.graph
    whole = GraphSizes.of(proto, sizes)  # for the weights
    shapes = {name: whole.shapes[name] for name in whole.weights}
    item_bytes = {name: whole.item_bytes[name] for name in whole.weights}
    for name, type_ in placement.types.items():
        shape = shape_of(type_, sizes)
        if shape is not None and isinstance(type_, graph.TensorType):
            shapes[name] = shape
            item_bytes[name] = graph.bit_width(type_.dtype) / 8
    return GraphSizes(shapes, item_bytes, whole.weights)


def works_of(
    placement: Placement, regions: Sequence[ModelRegion], sizes: Mapping[str, int]
) -> list[RegionWork]:
    """The work of each region."""
    found, nodes = graph_sizes(placement, sizes), placement.model.graph.node
    return [
        found.work([nodes[i] for i in each.part.nodes], each.part.inputs, each.part.outputs)
        for each in regions
    ]
