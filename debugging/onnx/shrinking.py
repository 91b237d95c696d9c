"""Simplifications of a test case: smaller sizes, simpler constants, fewer attributes."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import onnx
from onnx import numpy_helper

from .test_case import ReductionCase


def smaller_sizes(subject: ReductionCase) -> Iterator[ReductionCase]:
    """The variants of the model with all occurrences of one size replaced by a smaller one."""
    arrays = [*subject.feeds.values(), *map(numpy_helper.to_array, subject.model.graph.initializer)]
    sizes = sorted({size for array in arrays for size in array.shape if size > 1}, reverse=True)
    for size in sizes:
        for smaller in dict.fromkeys((1, 2, size // 2, size - 1)):
            if 0 < smaller < size:
                yield _resized(subject, size, smaller)


def _resized(subject: ReductionCase, old: int, new: int) -> ReductionCase:
    copy = _copy(subject.model)
    for tensor in copy.graph.initializer:
        array = _cut(numpy_helper.to_array(tensor), old, new)
        if array.dtype == np.int64 and array.ndim <= 1:  # a shape or a size
            array = np.where(array == old, new, array)
        tensor.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), tensor.name))
    for node in copy.graph.node:
        for attribute in node.attribute:
            if attribute.ints:
                attribute.ints[:] = [new if value == old else value for value in attribute.ints]
            elif attribute.i == old and attribute.type == onnx.AttributeProto.INT:
                attribute.i = new
    feeds = {
        name: np.ascontiguousarray(_cut(array, old, new)) for name, array in subject.feeds.items()
    }
    return _with_feeds(replace(subject, model=copy), feeds)


def _cut(array: np.ndarray, old: int, new: int) -> np.ndarray:
    return array[tuple(slice(new if size == old else size) for size in array.shape)]


def plainer_constants(subject: ReductionCase) -> Iterator[ReductionCase]:
    """The variants of the model with one weight or input set to zeros, ones, or rounded values."""
    for tensor in subject.model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        for plain in _plainer(array):
            copy = _copy(subject.model)
            (target,) = [t for t in copy.graph.initializer if t.name == tensor.name]
            target.CopyFrom(numpy_helper.from_array(plain, tensor.name))
            yield replace(subject, model=copy)
    for name, array in subject.feeds.items():
        for plain in _plainer(array):
            yield replace(subject, feeds={**subject.feeds, name: plain})


def _plainer(array: np.ndarray) -> Iterator[np.ndarray]:
    """Simpler contents for `array`, simplest first, up to those that it has already."""
    if array.dtype.kind not in "f" or array.size == 0:
        return
    for plain in (np.zeros_like(array), np.ones_like(array), np.round(array), np.round(array, 1)):
        if np.array_equal(plain, array):
            return
        yield plain


def fewer_attributes(subject: ReductionCase) -> Iterator[ReductionCase]:
    """The variants of the model without one attribute, which then has its default."""
    for index, node in enumerate(subject.model.graph.node):
        for position in range(len(node.attribute)):
            copy = _copy(subject.model)
            del copy.graph.node[index].attribute[position]
            yield replace(subject, model=copy)


def _with_feeds(subject: ReductionCase, feeds: dict[str, np.ndarray]) -> ReductionCase:
    """`subject` with other inputs, and with matching declarations."""
    for info in subject.model.graph.input:
        for dim, size in zip(info.type.tensor_type.shape.dim, feeds[info.name].shape, strict=False):
            if dim.HasField("dim_value"):
                dim.dim_value = size
    for info in subject.model.graph.output:
        for dim in info.type.tensor_type.shape.dim:
            dim.Clear()
    return replace(subject, feeds=feeds)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy
