"""Types that ONNX's shape inference leaves open: those of look-ups, tokens and hashes."""

from collections.abc import Callable, Mapping

import onnx
from onnx import TensorProto, helper

_ML = "ai.onnx.ml"

Attributes = Mapping[str, onnx.AttributeProto]


def lookup_types(
    node: onnx.NodeProto, types: Mapping[str, onnx.TypeProto | None]
) -> dict[str, onnx.TypeProto]:
    """The type of the output of `node`, if it is of an operator that has a rule here."""
    rule = _RULES.get((node.domain, node.op_type))
    if rule is None or not node.input or not any(node.output[:1]):
        return {}
    attributes = {attribute.name: attribute for attribute in node.attribute}
    type_ = rule(attributes, types.get(node.input[0]))
    return {} if type_ is None else {node.output[0]: type_}


def _dict_vectorizer(given: Attributes, x: onnx.TypeProto | None) -> onnx.TypeProto | None:
    if x is None or not x.HasField("map_type"):
        return None
    words = [given[name] for name in ("string_vocabulary", "int64_vocabulary") if name in given]
    width = max((len(each.strings) + len(each.ints) for each in words), default=0)
    value = x.map_type.value_type.tensor_type.elem_type
    return helper.make_tensor_type_proto(value, [1, width])


def _cast_map(given: Attributes, _: onnx.TypeProto | None) -> onnx.TypeProto:
    kinds = {b"TO_STRING": TensorProto.STRING, b"TO_INT64": TensorProto.INT64}
    to = given["cast_to"].s if "cast_to" in given else b""
    sparse = "map_form" in given and given["map_form"].s == b"SPARSE"
    most = given["max_map"].i if "max_map" in given else 1
    return helper.make_tensor_type_proto(
        kinds.get(to, TensorProto.FLOAT), [1, most if sparse else None]
    )


def _tokenizer(_: Attributes, x: onnx.TypeProto | None) -> onnx.TypeProto | None:
    if x is None or not x.tensor_type.HasField("shape"):
        return None
    type_ = onnx.TypeProto()
    type_.CopyFrom(x)
    type_.tensor_type.shape.dim.add()
    return type_


def _murmur_hash(given: Attributes, x: onnx.TypeProto | None) -> onnx.TypeProto | None:
    if x is None or not x.HasField("tensor_type"):
        return None
    signed = "positive" in given and not given["positive"].i
    type_ = onnx.TypeProto()
    type_.CopyFrom(x)
    type_.tensor_type.elem_type = TensorProto.INT32 if signed else TensorProto.UINT32
    return type_


_RULES: Mapping[
    tuple[str, str], Callable[[Attributes, onnx.TypeProto | None], onnx.TypeProto | None]
] = {
    (_ML, "DictVectorizer"): _dict_vectorizer,
    (_ML, "CastMap"): _cast_map,
    ("com.microsoft", "MurmurHash3"): _murmur_hash,
    ("com.microsoft", "Tokenizer"): _tokenizer,
}
