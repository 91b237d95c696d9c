"""Comparison of the output types that a model declares with those that are computed."""

import onnx

from ....dialects import graph
from ....errors import InvalidModelError
from .tensors import dtype_of


def contradiction(info: onnx.ValueInfoProto, type_: graph.TensorType) -> str | None:
    """Describe how the declared shape of an output differs from the computed one; None if it does
    not.

    ONNX Runtime takes such models: exporters write the shapes that tracing saw, and ONNX's own
    inference has been wrong about some (AveragePool with ceil_mode). InvalidModelError for another
    element type, which it refuses, too.
    """
    tensor = info.type.tensor_type
    if not info.type.HasField("tensor_type") or not tensor.elem_type:
        return None
    dtype = dtype_of(tensor.elem_type, f"output '{info.name}'")
    if dtype != type_.dtype:
        raise InvalidModelError(
            f"output '{info.name}' is declared as {dtype}, but is {type_.dtype}"
        )
    if not tensor.HasField("shape") or _agree(tensor.shape, type_):
        return None
    dims = (dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?"
            for dim in tensor.shape.dim)  # fmt: skip
    declared = ", ".join(map(str, dims))
    computed = ", ".join(map(str, type_.shape))
    return f"output '{info.name}' is declared as [{declared}]; it is [{computed}], which counts"


def _agree(shape: onnx.TensorShapeProto, type_: graph.TensorType) -> bool:
    declared = [d.dim_value if d.HasField("dim_value") else -1 for d in shape.dim]
    return len(declared) == type_.rank and all(
        want < 0 or not isinstance(have, int) or want == have
        for want, have in zip(declared, type_.shape, strict=True)
    )
