"""A part of a model as a model of its own."""

from pathlib import Path

import onnx
from onnx import helper, numpy_helper

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....onnx_names import read_names
from ..importing.external_files import external_tensors
from ..importing.tensors import to_array
from .host_types import to_type_proto
from .partition import Part
from .placement import Placement, ValueType


def part_model(placement: Placement, part: Part) -> onnx.ModelProto:
    """The nodes of `part` with the constants they read. Initializers of a part for the host are
    whole; those of a compiled one may still lie in the model's folder."""
    model = placement.model
    nodes = [model.graph.node[index] for index in part.nodes]
    read = {name for node in nodes for name in read_names(node)} | set(part.outputs)
    constants = [tensor for tensor in model.graph.initializer if tensor.name in read]
    declared = {output.name: output for output in model.graph.output}
    spell = _Sizes([placement.types.get(name) for name in part.inputs])
    if not part.native:
        constants = [_whole(tensor, placement.folder) for tensor in constants]
        nodes = [_with_data(node, placement.folder) for node in nodes]
    proto = helper.make_graph(
        nodes,
        model.graph.name or "part",
        [_info(name, spell.type_proto(name, placement.types[name])) for name in part.inputs],
        [declared.get(name, onnx.ValueInfoProto(name=name)) for name in part.outputs],
        constants,
    )
    if not part.native:
        inside = {name for node in nodes for name in node.output if name}
        types = {name: placement.types.get(name) for name in inside}
        proto.value_info.extend(_info(n, spell.type_proto(n, t)) for n, t in types.items())
    return helper.make_model(
        proto,
        opset_imports=model.opset_import,
        ir_version=model.ir_version or 10,
        functions=model.functions,
    )


def _whole(tensor: onnx.TensorProto, folder: Path | None) -> onnx.TensorProto:
    if tensor.data_location != onnx.TensorProto.EXTERNAL:
        return tensor
    return numpy_helper.from_array(to_array(tensor, folder), tensor.name)


def _with_data(node: onnx.NodeProto, folder: Path | None) -> onnx.NodeProto:
    """`node` with the data of its attributes."""
    if not any(external_tensors(node)):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    for tensor in list(external_tensors(copy)):
        tensor.CopyFrom(_whole(tensor, folder))
    return copy


def _info(name: str, type_: onnx.TypeProto | None) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name, type=type_)


class _Sizes:
    """Spells sizes for one part.

    An expression of names stays where the inputs of the part have each of these names as a size;
    otherwise it becomes a name itself, the same one each time.
    """

    def __init__(self, types: list[ValueType]):
        sizes = [size for type_ in types if isinstance(type_, graph.TensorType)
                 for size in type_.shape if isinstance(size, Dim)]  # fmt: skip
        self.named = {str(size) for size in sizes if size.is_symbol}
        self.taken = set().union(*(size.symbols() for size in sizes))
        self.renamed: dict[str, str] = {}

    def type_proto(self, name: str, type_: ValueType) -> onnx.TypeProto | None:
        """The type of value `name`."""
        if not isinstance(type_, graph.TensorType):
            return type_
        proto = to_type_proto(type_)
        for dim, size in zip(proto.tensor_type.shape.dim, type_.shape, strict=True):
            if isinstance(size, Dim) and not size.symbols() <= self.named:
                dim.dim_param = self.renamed.setdefault(str(size), self._fresh())
        return proto

    def _fresh(self) -> str:
        serial = len(self.renamed)
        while (name := f"size_{serial}") in self.taken:
            serial += 1
        return name
