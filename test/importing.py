"""Models to import, and what comes of them."""

import numpy as np
import onnx
import pytest
from numerics import build_model
from onnx import TensorProto, helper

from graphc.dialects import graph
from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx

FLOAT = TensorProto.FLOAT
X = {"x": (np.float32, [2, 3])}


def relu(**changes) -> onnx.ModelProto:
    return build_model([helper.make_node("Relu", ["x"], ["y"], name="act")], X, ["y"], **changes)


def returned(model: onnx.ModelProto, **options) -> list[str]:
    module = import_onnx(model, **options)
    with module.context:
        (function,) = module.body.operations
        *_, returned = function.entry_block.operations
        return [str(graph.type_of(value)) for value in returned.operation.operands]


def refused(model, error: type[Exception] = InvalidModelError, **options) -> str:
    with pytest.raises(error) as caught:
        import_onnx(model, **options)
    assert type(caught.value) is error
    return str(caught.value)


def model_of(*nodes: onnx.NodeProto, **options) -> onnx.ModelProto:
    return build_model(nodes, X, ["y"], **options)
