"""The constants of a graph, in every form in which there are some."""

import math

import numpy as np
import onnx
from onnx import numpy_helper

from ....errors import InvalidModelError
from .limits import current_limits
from .tensors import check_shape, to_array


def read_initializers(graph: onnx.GraphProto) -> dict[str, onnx.TensorProto]:
    """The initializers by name. As for ONNX Runtime, the last one of a name counts, and one without
    a name is none."""
    tensors = {tensor.name: tensor for tensor in graph.initializer if tensor.name}
    for sparse in graph.sparse_initializer:
        if sparse.values.name:
            tensors[sparse.values.name] = dense(sparse)
    return tensors


def settle_initializers(graph: onnx.GraphProto) -> None:
    """Leave `graph` the initializers that count, and none that are sparse."""
    tensors = read_initializers(graph)
    if len(tensors) == len(graph.initializer) and not graph.sparse_initializer:
        return
    copies = [onnx.TensorProto.FromString(t.SerializeToString()) for t in tensors.values()]
    graph.ClearField("sparse_initializer")
    del graph.initializer[:]
    graph.initializer.extend(copies)


def dense(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    """A sparse tensor with its zeros; its indices count through the tensor, or by axis."""
    what = f"sparse tensor '{sparse.values.name}'"
    values, indices = to_array(sparse.values, None), to_array(sparse.indices, None)
    shape = list(sparse.dims)
    check_shape(shape, values.dtype, what)
    current_limits().require("computed_bytes", math.prod(shape) * values.itemsize, what)
    array = np.zeros(shape, values.dtype)
    try:
        where = np.unravel_index(indices, shape) if indices.ndim == 1 else tuple(indices.T)
        if any(along_axis.size and along_axis.min() < 0 for along_axis in where):
            raise ValueError("an index below 0")
        array[where] = values
    except (ValueError, TypeError, IndexError) as error:
        raise InvalidModelError(f"{what} is damaged: {error}") from error
    return numpy_helper.from_array(array, sparse.values.name)
