"""AttributeProto to Python values."""

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import onnx

from ....errors import InvalidModelError
from .initializers import dense
from .registry import UnsupportedError
from .tensors import to_array

Kind = onnx.AttributeProto


def read_attributes(
    node: onnx.NodeProto, enclosing: Mapping[str, Any], folder: Path | None
) -> dict[str, Any]:
    """The attributes of `node` as Python values: str, int, float, numpy arrays, GraphProto, lists.

    `enclosing` holds the attributes of the function call whose body `node` belongs to; a
    reference to one that was not given is left out, so that the operator's default applies.
    """
    values: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in values:
            raise InvalidModelError(f"attribute '{attribute.name}' is doubled")
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in enclosing:
                values[attribute.name] = enclosing[attribute.ref_attr_name]
        else:
            values[attribute.name] = read_attribute(attribute, folder)
    return values


def check_kinds(node: onnx.NodeProto, opset: int, domain: str) -> None:
    """InvalidModelError for an attribute of another kind than its operator's schema says."""
    kinds = _declared_kinds(node.op_type, opset, domain)
    for attribute in node.attribute:
        declared = kinds.get(attribute.name)
        kind = Kind.AttributeType.Name(attribute.type)
        if declared is not None and kind not in (declared, "UNDEFINED"):
            raise InvalidModelError(
                f"attribute '{attribute.name}' is of kind {kind}, not {declared}"
            )


@functools.cache
def _declared_kinds(op_type: str, opset: int, domain: str) -> Mapping[str, str]:
    """The kinds of an operator's attributes by name; none for one that ONNX does not know."""
    if not onnx.defs.has(op_type, opset, domain):
        return {}
    schema: Any = onnx.defs.get_schema(op_type, opset, domain)  # stubs leave out enumerations
    return {name: declared.type.name for name, declared in schema.attributes.items()}


def read_attribute(attribute: onnx.AttributeProto, folder: Path | None) -> Any:
    """One attribute as a Python value."""
    match attribute.type:
        case Kind.FLOAT | Kind.INT | Kind.GRAPH:
            return onnx.helper.get_attribute_value(attribute)
        case Kind.FLOATS:
            return list(attribute.floats)
        case Kind.INTS:
            return list(attribute.ints)
        case Kind.GRAPHS:
            return list(attribute.graphs)
        case Kind.STRING:
            return _text(attribute.name, attribute.s)
        case Kind.STRINGS:
            return _texts(attribute.name, attribute.strings)
        case Kind.TENSOR:
            return to_array(attribute.t, folder)
        case Kind.SPARSE_TENSOR:
            return to_array(dense(attribute.sparse_tensor), folder)
        case Kind.UNDEFINED:
            raise InvalidModelError(f"attribute '{attribute.name}' has no type")
    kind = Kind.AttributeType.Name(attribute.type)
    raise UnsupportedError(f"attribute '{attribute.name}' of kind {kind}")


def _texts(name: str, strings: Iterable[bytes]) -> list[str]:
    """The texts of `strings`, equal ones as one object: a forest names the modes of its nodes."""
    known: dict[bytes, str] = {}
    texts = []
    for data in strings:
        text = known.get(data)
        if text is None:
            text = known[data] = _text(name, data)
        texts.append(text)
    return texts


def _text(name: str, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidModelError(f"attribute '{name}' is not UTF-8 text") from None
