"""Types of values that the importer does not compute: those of nodes on the host."""

from collections.abc import Mapping

import onnx

from ....dialects import graph
from ....errors import InvalidModelError
from ..importing.tensors import dtype_of
from .lookup_types import lookup_types


def infer_types(
    node: onnx.NodeProto,
    model: onnx.ModelProto,
    types: Mapping[str, onnx.TypeProto | None],
    constants: Mapping[str, onnx.TensorProto],
) -> dict[str, onnx.TypeProto]:
    """The types of the outputs of `node` by ONNX's own rules, as far as these know them.

    InvalidModelError for a node that is at odds with its operator's schema.
    """
    function = next((f for f in model.functions if (f.domain, f.name) == _name_of(node)), None)
    for each in (node,) if function is None else function.node:
        _require_counted_outputs(each)
    try:
        if function is not None:
            return _infer_function(function, node, types)
        return _infer_node(node, model, types, constants) | lookup_types(node, types)
    except onnx.checker.ValidationError as error:
        raise InvalidModelError(f"node '{node.name}' ({node.op_type}): {error}") from error
    except (
        onnx.defs.SchemaError,
        onnx.shape_inference.InferenceError,
        KeyError,
        ValueError,
        TypeError,
        RuntimeError,
    ):
        return lookup_types(node, types)


def _name_of(node: onnx.NodeProto) -> tuple[str, str]:
    return node.domain, node.op_type


def _infer_node(
    node: onnx.NodeProto,
    model: onnx.ModelProto,
    types: Mapping[str, onnx.TypeProto | None],
    constants: Mapping[str, onnx.TensorProto],
) -> dict[str, onnx.TypeProto]:
    opset = next((o.version for o in model.opset_import if o.domain == node.domain), 0)
    return onnx.shape_inference.infer_node_outputs(
        onnx.defs.get_schema(node.op_type, opset, node.domain),
        node,
        {name: type_ for name, type_ in types.items() if type_ is not None},
        {name: constants[name] for name in types if name in constants},
        opset_imports=list(model.opset_import),
        ir_version=model.ir_version,
    )


def _infer_function(
    function: onnx.FunctionProto,
    node: onnx.NodeProto,
    types: Mapping[str, onnx.TypeProto | None],
) -> dict[str, onnx.TypeProto]:
    given = [types.get(name) or onnx.TypeProto() for name in node.input]
    inferred = onnx.shape_inference.infer_function_output_types(
        function, given, list(node.attribute)
    )
    known = zip(node.output, inferred, strict=False)
    return {name: type_ for name, type_ in known if type_.WhichOneof("value")}


def _require_counted_outputs(node: onnx.NodeProto) -> None:
    """InvalidModelError for a Split whose attribute counts fewer outputs than it has: ONNX's rule
    would end the process."""
    counts = [a.i for a in node.attribute if a.name == "num_outputs"]
    if node.op_type == "Split" and counts and counts[0] != len(node.output):
        raise InvalidModelError(
            f"node '{node.name}' (Split): num_outputs is {counts[0]}, but it has "
            f"{len(node.output)} outputs"
        )


def is_ranked(type_: onnx.TypeProto | None) -> bool:
    """Return whether `type_` is a tensor type of known rank."""
    return type_ is not None and type_.tensor_type.HasField("shape")


def to_type_proto(type_: graph.TensorType) -> onnx.TypeProto:
    """A type of ours as ONNX spells it."""
    shape = [size if isinstance(size, int) else str(size) for size in type_.shape]
    elem_type = onnx.helper.np_dtype_to_tensor_dtype(type_.dtype)
    return onnx.helper.make_tensor_type_proto(elem_type, shape)


def kind_of(type_: onnx.TypeProto | None) -> str:
    """Describe a value that is not a tensor of numbers with a known rank: ``a sequence``."""
    match type_.WhichOneof("value") if type_ is not None else None:
        case "sequence_type":
            return "a sequence"
        case "optional_type":
            return "an optional"
        case "map_type":
            return "a map"
        case "sparse_tensor_type":
            return "a sparse tensor"
        case "tensor_type" if type_ is not None:
            strings = type_.tensor_type.elem_type == onnx.TensorProto.STRING
            return "a tensor of strings" if strings else "a tensor of unknown rank"
    return "of unknown type"


def spell(type_: onnx.TypeProto | None) -> str:
    """``seq(float32[N, 3])``, ``optional(string[])``, ``float32`` where the rank is unknown."""
    match type_.WhichOneof("value") if type_ is not None else None:
        case "sequence_type" if type_ is not None:
            return f"seq({spell(type_.sequence_type.elem_type)})"
        case "optional_type" if type_ is not None:
            return f"optional({spell(type_.optional_type.elem_type)})"
        case "map_type" if type_ is not None:
            return f"map({_element(type_.map_type.key_type)}, {spell(type_.map_type.value_type)})"
        case "tensor_type" if type_ is not None:
            tensor = type_.tensor_type
            if not tensor.HasField("shape"):
                return _element(tensor.elem_type)
            dims = (d.dim_param or (d.dim_value if d.HasField("dim_value") else "?")
                    for d in tensor.shape.dim)  # fmt: skip
            return f"{_element(tensor.elem_type)}[{', '.join(map(str, dims))}]"
    return "unknown"


def _element(elem_type: int) -> str:
    if elem_type == onnx.TensorProto.STRING:
        return "string"
    return dtype_of(elem_type, "a value").name
