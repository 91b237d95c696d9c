"""Random inputs for any ONNX model: seeded, with the right shapes, and within valid ranges."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import helper, numpy_helper

from graphc import aligned_empty
from graphc.errors import UsageError

DEFAULT_DIMS: Mapping[str, int] = {"batch": 1, "seq": 128}
# Ops through which a token id reaches the embedding table unchanged.
_FORWARDING = frozenset({"Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten"})
# Ops through which an embedding table keeps its shape.
_STORAGE = frozenset({"Cast", "Identity", "DequantizeLinear"})
_GATHERS = frozenset({"Gather", "GatherElements"})


class FeedSpecError(UsageError):
    """An input that cannot be generated without more information, which the message names."""


def example_inputs(
    path: str | Path, seed: int = 0, dims: Mapping[str, int] | None = None
) -> dict[str, np.ndarray]:
    """Make one feed for the ONNX model at `path`.

    Floats are standard normal, integers that index a table stay within it, masks are ones. `dims`
    gives sizes to symbolic dimensions by name; ``batch`` and ``seq`` have defaults. Arrays are
    aligned, so that any runtime uses them without a copy, as it would outputs of a previous step.
    """
    model = load_structure(path)
    graph = model.graph
    initialised = {tensor.name for tensor in graph.initializer}
    rng = np.random.default_rng(seed)
    sizes = {**DEFAULT_DIMS, **(dims or {})}
    return {
        value.name: _aligned(_make(value, graph, rng, sizes))
        for value in graph.input
        if value.name not in initialised
    }


def _aligned(array: np.ndarray) -> np.ndarray:
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def load_structure(path: str | Path) -> onnx.ModelProto:
    """The model at `path` without external data. Raises FeedSpecError if it is not a model."""
    try:
        return onnx.load(path, load_external_data=False)
    except DecodeError as error:
        raise FeedSpecError(f"'{path}' is not an ONNX model: {error}") from error


def _make(
    value: onnx.ValueInfoProto,
    graph: onnx.GraphProto,
    rng: np.random.Generator,
    sizes: Mapping[str, int],
) -> np.ndarray:
    if not value.type.HasField("tensor_type"):
        kind = value.type.WhichOneof("value")
        raise FeedSpecError(f"input '{value.name}' is a {kind}, only tensors can be made up")
    shape = _shape(value, sizes)
    dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
    if dtype == np.dtype(object) or dtype.kind in "SU":
        raise FeedSpecError(f"input '{value.name}' holds strings")
    if "mask" in value.name or dtype == np.bool_:
        return np.ones(shape, dtype)
    if dtype.kind in "iu":
        return rng.integers(_bound(value.name, graph), size=shape).astype(dtype)
    if dtype.kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape, np.float32).astype(dtype)


def _shape(value: onnx.ValueInfoProto, sizes: Mapping[str, int]) -> tuple[int, ...]:
    tensor_type = value.type.tensor_type
    if not tensor_type.HasField("shape"):
        raise FeedSpecError(f"input '{value.name}' has no shape")
    shape = []
    for axis, dim in enumerate(tensor_type.shape.dim):
        name = dim.dim_param or f"{value.name}.{axis}"
        if dim.HasField("dim_value"):
            shape.append(dim.dim_value)
        elif name in sizes:
            shape.append(sizes[name])
        elif axis == 0:
            shape.append(1)
        else:
            raise FeedSpecError(f"dimension '{name}' of input '{value.name}' needs a size")
    return tuple(shape)


def _bound(name: str, graph: onnx.GraphProto) -> int:
    """The size of the smallest table that input `name` indexes, or 2 (a flag) if there is none."""
    return min((size for size in _tables(name, graph) if size > 0), default=2)


def _tables(name: str, graph: onnx.GraphProto) -> Iterator[int]:
    """The sizes of all tables that are indexed by `name` or a reshaped copy of it."""
    same = {name}
    for node in graph.node:
        if node.op_type in _FORWARDING and node.input and node.input[0] in same:
            same.add(node.output[0])
        elif node.op_type in _GATHERS and node.input[1] in same:
            shape = _constant_shape(node.input[0], graph)
            axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
            if shape is not None:
                yield shape[axis]


def _constant_shape(name: str, graph: onnx.GraphProto) -> tuple[int, ...] | None:
    """The shape of a constant, including one that is stored in another type and converted."""
    for tensor in graph.initializer:
        if tensor.name == name:
            return tuple(tensor.dims)
    for node in graph.node:
        if name not in node.output:
            continue
        if node.op_type in _STORAGE:
            return _constant_shape(node.input[0], graph)
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            return numpy_helper.to_array(node.attribute[0].t).shape
    return None
