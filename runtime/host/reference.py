"""Operators from `onnx.reference`, or from the function bodies that ONNX ships.

The first operator loads that package, which takes as long as loading `onnx`: parts with
implementations of their own alone do without.
"""

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import helper

from .registry import HostError

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

UNKNOWN = "ONNX has no reference implementation of it that could run on the host"


@dataclass(frozen=True)
class FunctionBody:
    """A function body that ONNX ships; for some operators it depends on the input types."""

    node: onnx.NodeProto
    schema: Any
    opsets: Mapping[str, int]

    def of(self, inputs: Sequence[Any]) -> onnx.FunctionProto:
        """The body for `inputs`."""
        body = onnx.FunctionProto()
        if self.schema.has_function:
            body.CopyFrom(self.schema.function_body)
        else:
            types = [_type_of(value).SerializeToString() for value in inputs]
            data = self.schema.get_context_dependent_function(self.node.SerializeToString(), types)
            body.ParseFromString(data)
        if not body.node:
            raise HostError(UNKNOWN)
        known = {entry.domain for entry in body.opset_import}
        for domain in sorted({node.domain for node in body.node} - known):
            body.opset_import.append(helper.make_opsetid(domain, self.opsets.get(domain, 1)))
        defaults = (a.default_value for a in self.schema.attributes.values())
        body.attribute_proto.extend(default for default in defaults if default.type)
        return body


def _type_of(value: Any) -> onnx.TypeProto:
    if not isinstance(value, np.ndarray):
        return onnx.TypeProto()
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def find_operator(
    node: onnx.NodeProto, opsets: Mapping[str, int]
) -> Callable[[list[Any], Any], Sequence[Any]] | FunctionBody:
    """The implementation of `node`. Raises `HostError` if ONNX has none that runs on the host."""
    operator = _implementation(node, opsets)
    if operator is None:
        schema = _schema(node, opsets)
        if schema is not None and (schema.has_function or schema.has_context_dependent_function):
            return FunctionBody(node, schema, opsets)
        raise HostError(UNKNOWN)
    if operator.need_context() or operator.has_subgraph:
        raise HostError(UNKNOWN)
    return lambda inputs, _: [*map(_clean, operator.run(*_without_trailing(inputs)))]


@cache
def implementation_of(op_type: str, version: int) -> Callable[..., Any]:
    """The function in `onnx.reference` that computes an operator of ONNX's own domain."""
    from onnx.reference.ops import load_op

    return load_op("", op_type, version).eval


def _clean(value: Any) -> Any:
    """`value` with numpy scalars as arrays, and strings as Python strings."""
    if isinstance(value, np.ndarray):
        return value.astype(object) if value.dtype.kind in "US" else value
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return np.asarray(value) if isinstance(value, np.generic) else value


def _without_trailing(inputs: list[Any]) -> list[Any]:
    """`inputs` without omitted trailing ones, for which `onnx.reference` has defaults."""
    count = len(inputs)
    while count and inputs[count - 1] is None:
        count -= 1
    return inputs[:count]


def _schema(node: onnx.NodeProto, opsets: Mapping[str, int]) -> Any:
    try:
        return onnx.defs.get_schema(node.op_type, opsets[node.domain], node.domain)
    except onnx.defs.SchemaError:
        return None


_MODULES = {
    "": "onnx.reference.ops",
    "ai.onnx.ml": "onnx.reference.ops.aionnxml",
    "ai.onnx.preview": "onnx.reference.ops.aionnx_preview",
    "ai.onnx.preview.training": "onnx.reference.ops.aionnx_preview_training",
}


def _implementation(node: onnx.NodeProto, opsets: Mapping[str, int]) -> "OpRun | None":
    """The implementation of `node` in `onnx.reference`, or None if it has none."""
    if node.domain not in _MODULES:
        return None
    from onnx.reference import ReferenceEvaluator

    parameters = {
        "log": lambda *_: None,
        "opsets": dict(opsets),
        "verbose": 0,
        "new_ops": {},
        "existing_functions": {},
        "evaluator_cls": ReferenceEvaluator,
    }
    try:
        load = importlib.import_module(_MODULES[node.domain]).load_op
        return load(node.domain, node.op_type, opsets[node.domain])(node, parameters)
    except Exception:  # `onnx.reference` signals this in many ways
        return None
