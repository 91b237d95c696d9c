"""Operators that ONNX defines by a function body: those that need no converter."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from ....dialects import graph
from ....mlir import ir
from .attributes import read_attribute
from .opsets import MAX_OPSET, domain_of, read_opsets
from .registry import UnsupportedError


def standard_schema(proto: onnx.NodeProto, opset: int) -> Any:
    """ONNX's ``OpSchema`` of a standard operator. UnsupportedError if there is none.

    Any, because onnx's stubs leave out what concerns function bodies.
    """
    try:
        return onnx.defs.get_schema(proto.op_type, opset, domain_of(proto.domain))
    except onnx.defs.SchemaError:
        raise UnsupportedError("no such operator is known") from None


def defaults_of(schema: Any) -> dict[str, Any]:
    """The defaults of optional attributes, which the function body does not contain."""
    given = (attribute.default_value for attribute in schema.attributes.values())
    return {default.name: read_attribute(default, None) for default in given if default.type}


def standard_body(
    schema: Any,
    proto: onnx.NodeProto,
    inputs: Sequence[ir.Value | None],
    opsets: Mapping[str, int],
) -> onnx.FunctionProto:
    """The function body that ONNX ships for a standard operator. UnsupportedError if none.

    A body that does not say which opset it is written against uses those of the model.
    """
    if schema.has_function:
        body = schema.function_body
    elif schema.has_context_dependent_function:
        types = [_type_proto(value) for value in inputs]
        data = schema.get_context_dependent_function(
            proto.SerializeToString(), [t.SerializeToString() for t in types]
        )
        body = onnx.FunctionProto()
        body.ParseFromString(data)
    else:
        raise UnsupportedError("the operator is not supported")
    if not body.node:
        raise UnsupportedError("the operator is not supported in this form")
    known = read_opsets(body.opset_import)
    for missing in sorted({domain_of(node.domain) for node in body.node} - known.keys()):
        body.opset_import.append(onnx.helper.make_opsetid(missing, opsets.get(missing, MAX_OPSET)))
    return body


def resolved(proto: onnx.NodeProto, attributes: Mapping[str, Any]) -> onnx.NodeProto:
    """`proto` with the attributes that refer to those of an enclosing function filled in."""
    if not any(attribute.ref_attr_name for attribute in proto.attribute):
        return proto
    resolved = onnx.NodeProto()
    resolved.CopyFrom(proto)
    del resolved.attribute[:]
    for attribute in proto.attribute:
        if not attribute.ref_attr_name:
            resolved.attribute.append(attribute)
        elif attribute.name in attributes:
            value = attributes[attribute.name]
            if isinstance(value, np.ndarray):
                value = onnx.numpy_helper.from_array(value)
            resolved.attribute.append(onnx.helper.make_attribute(attribute.name, value))
    return resolved


def _type_proto(value: ir.Value | None) -> onnx.TypeProto:
    if value is None:
        return onnx.TypeProto()
    type_ = graph.type_of(value)
    shape = [size if isinstance(size, int) else str(size) for size in type_.shape]
    elem_type = onnx.helper.np_dtype_to_tensor_dtype(type_.dtype)
    return onnx.helper.make_tensor_type_proto(elem_type, shape)
