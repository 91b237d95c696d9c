"""Placement of each node of a model: compiled, or on the host.

The placement is found by importing. A node that the importer refuses goes to the host if ONNX's
reference implementation can run it, and so does a node on values that compiled code cannot take
(strings, sequences, optionals, tensors of unknown rank). The types of the results of such nodes
come from ONNX's shape inference, so that the import continues after them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import onnx

from ....dialects import graph
from ....dialects.symbolic import Dim
from ....dialects.symbolic_syntax import parse_dim
from ....errors import InvalidModelError, UnsupportedModelError
from ....mlir import func, ir
from ....onnx_names import read_names
from ..importing.choices import Answers
from ..importing.importer import Importer, Scope, define
from ..importing.initializers import read_initializers
from ..importing.opsets import read_opsets
from ..importing.tensors import check_shape, dtype_of
from .host_types import infer_types, is_ranked, kind_of, to_type_proto

WhyNot = Callable[[bytes], str | None]
"""A function that explains why the host cannot run a model of one node, given as bytes; None if it
can."""

ValueType = graph.TensorType | onnx.TypeProto | None
"""A `TensorType` for what compiled code takes and gives; for anything else what ONNX says."""


class Where(StrEnum):
    """The place at which a node runs."""

    NATIVE = "native"
    HOST = "host"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True)
class NodePlacement:
    """The placement of one node, and the reason if it is not compiled."""

    name: str
    domain: str
    op_type: str
    opset: int
    where: Where
    reason: str = ""


@dataclass
class Placement:
    """A model with a place for each of its nodes, in their order, and the types of all values."""

    model: onnx.ModelProto
    folder: Path | None
    nodes: list[NodePlacement] = field(default_factory=list)
    types: dict[str, ValueType] = field(default_factory=dict)
    answers: Answers = field(default_factory=dict)
    has_choices: bool = False
    """True if nodes asked questions that `answers` leaves open."""


class TrackingImporter(Importer):
    """An importer that says for each of the model's nodes whether it was refused."""

    def import_tracked(self, node: onnx.NodeProto, scope: Scope) -> str:
        """Import `node`; why it is refused, or nothing."""
        before = len(self.unsupported)
        super()._import_nodes([node], scope)
        refused = self.unsupported[before:]
        inner = [f"{n.op_type} in it: {n.reason}" for n in refused if n.name != node.name]
        return "; ".join(dict.fromkeys(inner or [n.reason for n in refused]))


class Placer(TrackingImporter):
    """Places the nodes of `model`, all of which have names.

    `forced` holds nodes, by their first output, that are not to be compiled, and why.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        folder: Path | None,
        dims: Mapping[str, int],
        forced: Mapping[str, str],
        why_not: WhyNot,
        answers: Answers,
    ):
        super().__init__(model, folder, dict(dims), owned=False, answers=answers)
        self.forced = forced
        self.why_not = why_not
        self.placement = Placement(model, folder, answers=answers)
        self.host_only: dict[str, str] = {}
        self.constants = {t.name: t for t in model.graph.initializer}
        declared = (*model.graph.value_info, *model.graph.output)
        self.declared = {info.name: info.type for info in declared}

    def place(self) -> Placement:
        """Place every node."""
        self._check_sizes()
        proto = self.model.graph
        initializers = read_initializers(proto)
        for tensor in proto.initializer:
            type_ = onnx.helper.make_tensor_type_proto(tensor.data_type, tensor.dims)
            if tensor.data_type == onnx.TensorProto.STRING:
                self._keep(tensor.name, type_)
            else:
                self.placement.types[tensor.name] = type_
        self.module = ir.Module.create()
        with ir.InsertionPoint(self.module.body):
            self.block = func.FuncOp("main", ([], [])).add_entry_block()
        opsets = read_opsets(self.model.opset_import)
        self.scope = Scope(opsets, initializers=initializers, block=self.block)
        with ir.InsertionPoint(self.block):
            for info in proto.input:
                if info.name not in self.constants:
                    self._place_input(info)
            self._check_dim_names()
            self.input_symbols = frozenset(self.names.taken)
            for node in proto.node:
                self._place_node(node)
        for output in proto.output:
            if output.name not in self.placement.types:
                raise InvalidModelError(f"graph output uses '{output.name}', which nothing defines")
        self.placement.has_choices = bool(self.choices.open)
        return self.placement

    def _place_input(self, info: onnx.ValueInfoProto) -> None:
        try:
            type_ = self._input_type(info)
        except UnsupportedModelError:
            self._keep(info.name, info.type)
        else:
            self._enter(info.name, type_)

    def _require_defined(self, node: onnx.NodeProto) -> None:
        """Raise the errors that the importer would raise for the names of `node`, which may not be
        imported."""
        what = f"node '{node.name}' ({node.op_type})"
        for name in read_names(node):
            if name not in self.placement.types:
                raise InvalidModelError(f"{what} uses '{name}', which nothing before it defines")
        for name in filter(None, node.output):
            if name in self.placement.types:
                raise InvalidModelError(f"{what} defines '{name}', which is already defined")

    def _place_node(self, node: onnx.NodeProto) -> None:
        self._require_defined(node)
        asked = len(self.choices.open)
        reason = self.forced.get(first_output(node), "") or self._host_only_input(node)
        reason = reason or self.import_tracked(node, self.scope)
        where = Where.HOST if reason else Where.NATIVE
        if not reason:
            for name in filter(None, node.output):
                self.placement.types[name] = graph.type_of(self.scope.values[name])
            if node.op_type == "Constant" and node.attribute[0].HasField("t"):
                self.constants[node.output[0]] = node.attribute[0].t
        else:
            why_not = self.why_not(self._alone(node))
            where = Where.HOST if why_not is None else Where.IMPOSSIBLE
            reason = reason if why_not is None else f"{reason}, {why_not}"
            self._place_outputs(node, has_rank=asked == len(self.choices.open))
        opset = self.scope.opsets.get(node.domain, 0)
        self.placement.nodes.append(
            NodePlacement(node.name, node.domain, node.op_type, opset, where, reason)
        )

    def _host_only_input(self, node: onnx.NodeProto) -> str:
        for name in read_names(node):
            if name in self.host_only:
                return f"'{name}' is {self.host_only[name]}"
        return ""

    def _place_outputs(self, node: onnx.NodeProto, has_rank: bool) -> None:
        """Give the outputs of a node on the host a type, and a value to import with.

        The model's own word is taken where ONNX's rules give no rank; not where the rank differs
        from run to run, and so there is none (`has_rank`).
        """
        self.scope.poisoned -= set(node.output)
        types = {name: self._type_proto(name) for name in read_names(node)}
        inferred = infer_types(node, self.model, types, self.constants)
        for name in filter(None, node.output):
            type_, declared = inferred.get(name), self.declared.get(name)
            if is_ranked(type_):
                known = True
            elif is_ranked(declared) and has_rank:
                type_, known = declared, False
            else:
                type_, known = type_ or declared, False
            self._enter(name, self._tensor_type(name, type_, known) or type_)

    def _type_proto(self, name: str) -> onnx.TypeProto | None:
        type_ = self.placement.types.get(name)
        return to_type_proto(type_) if isinstance(type_, graph.TensorType) else type_

    def _tensor_type(
        self, name: str, type_: onnx.TypeProto | None, trusted: bool
    ) -> graph.TensorType | None:
        """A type as compiled code takes it; the names of sizes are believed where `trusted`."""
        if type_ is None or not is_ranked(type_):
            return None
        tensor = type_.tensor_type
        if tensor.elem_type in (onnx.TensorProto.STRING, onnx.TensorProto.UNDEFINED):
            return None
        sizes = [
            dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else
            (self._known_size(dim.dim_param) if trusted else None)
            or Dim.symbol(self.names.fresh(f"{name}_{axis}"))
            for axis, dim in enumerate(tensor.shape.dim)
        ]  # fmt: skip
        dtype = dtype_of(tensor.elem_type, f"'{name}'")
        check_shape([size for size in sizes if isinstance(size, int)], dtype, f"'{name}'")
        return graph.TensorType(tuple(sizes), dtype)

    def _known_size(self, text: str) -> Dim | None:
        """The size that `text` names, if it is made of names that the model's inputs have."""
        try:
            size = parse_dim(text)
        except ValueError:
            return None
        return size if isinstance(size, Dim) and size.symbols() <= self.names.taken else None

    def _enter(self, name: str, type_: ValueType) -> None:
        """Have a value of `type_` for the nodes that follow."""
        if not isinstance(type_, graph.TensorType):
            self._keep(name, type_)
            return
        try:
            argument = self.block.add_argument(graph.to_mlir(type_), ir.Location.name(name))
        except KeyError:
            self._keep(name, to_type_proto(type_), f"of element type {type_.dtype.name}")
            return
        define(self.scope, name, argument, "value")
        self.placement.types[name] = type_

    def _keep(self, name: str, type_: onnx.TypeProto | None, why: str = "") -> None:
        """Have a value that stays on the host."""
        self.host_only[name] = why or kind_of(type_)
        self.placement.types[name] = type_

    def _alone(self, node: onnx.NodeProto) -> bytes:
        """A model of `node` alone."""
        types = ((name, self._type_proto(name)) for name in node.input if name)
        inputs = [onnx.ValueInfoProto(name=name, type=type_) for name, type_ in types]
        outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        return onnx.helper.make_model(
            onnx.helper.make_graph([node], "node", inputs, outputs),
            opset_imports=self.model.opset_import,
            ir_version=self.model.ir_version,
            functions=[f for f in self.model.functions if f.name == node.op_type],
        ).SerializeToString()


def first_output(node: onnx.NodeProto) -> str:
    """The key of a node: the first value it defines."""
    return next(filter(None, node.output), "")


def impossible(placement: Placement, live: Sequence[int]) -> list[NodePlacement]:
    """The nodes that can run nowhere, and whose results are used."""
    return [placement.nodes[i] for i in live if placement.nodes[i].where is Where.IMPOSSIBLE]
