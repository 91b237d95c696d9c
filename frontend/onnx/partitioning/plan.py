"""From a model that cannot be compiled as a whole to parts that can, and parts for the host."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from ....aliases import takes_old_arguments
from ....dialects import graph
from ....errors import UnsupportedModelError, UnsupportedNode
from ....mlir import create_context, ir
from ..importing.choices import Answers
from ..importing.dimension_names import without_names
from ..importing.importer import Scope
from ..importing.initializers import settle_initializers
from ..importing.loading import Source, load_model
from ..importing.model_import import report_oddities, settle_choices, verify
from ..importing.model_nodes import choose_outputs, node_name, overridable, override
from ..importing.node_order import in_order
from ..importing.opsets import domain_of
from ..importing.sequences import without_sequences
from ..importing.stacked_sequences import has_joins
from .host_types import spell
from .inlining import inline_functions
from .lookups import split_lookups
from .part_model import part_model
from .partition import Part, Partitioner
from .placement import (
    NodePlacement,
    Placement,
    Placer,
    TrackingImporter,
    Where,
    WhyNot,
    first_output,
    impossible,
)


@dataclass(frozen=True)
class NativePartModel:
    """A part to compile, imported."""

    part: Part
    module: ir.Module


@dataclass(frozen=True)
class HostPartModel:
    """A part for the host, as the bytes of an ONNX model."""

    part: Part
    contents: bytes


@dataclass(frozen=True)
class PartitionPlan:
    """A model in parts, in the order in which they run."""

    placement: Placement
    parts: list[NativePartModel | HostPartModel]

    def nodes(self, part: Part) -> list[NodePlacement]:
        """The nodes of `part`."""
        return [self.placement.nodes[index] for index in part.nodes]

    def inputs(self) -> list[tuple[str, graph.TensorType | str]]:
        """Names and types of the model's inputs; a text for what is no tensor of numbers."""
        constants = {tensor.name for tensor in self.placement.model.graph.initializer}
        infos = self.placement.model.graph.input
        return [(i.name, self._type(i.name)) for i in infos if i.name not in constants]

    def outputs(self) -> list[tuple[str, graph.TensorType | str]]:
        """Names and types of the model's outputs."""
        return [(o.name, self._type(o.name)) for o in self.placement.model.graph.output]

    @property
    def overridable(self) -> list[str]:
        """Names of the model's inputs with defaults, which are constants in the parts."""
        return overridable(self.placement.model)

    def _type(self, name: str) -> graph.TensorType | str:
        type_ = self.placement.types.get(name)
        return type_ if isinstance(type_, graph.TensorType) else spell(type_)


@takes_old_arguments
def make_plan(
    source: Source,
    *,
    dims: Mapping[str, int] | None,
    why_not: WhyNot,
    outputs: Sequence[str] | None = None,
    overridden: Collection[str] = (),
    independent_dims: Collection[str] = (),
) -> PartitionPlan:
    """Divide the model between compiled code and the host; `why_not` tells what the host cannot
    run.

    `outputs`, `overridden` and `independent_dims` are those of `import_onnx`.

    Raises InvalidModelError, InvalidDimError, or UnsupportedModelError with all nodes that can run
    nowhere.
    """
    model, folder = _prepare(source, overridden, independent_dims)
    chosen = choose_outputs(model, outputs)
    del model.graph.output[:]
    model.graph.output.extend(chosen)
    placement, parts = _divide(_settled(model, folder, dims or {}, why_not), dims or {}, why_not)
    live = Partitioner(placement).live()
    nowhere = impossible(placement, live)
    if nowhere:
        raise UnsupportedModelError(
            [UnsupportedNode(n.name, n.domain, n.op_type, n.opset, n.reason) for n in nowhere]
        )
    return PartitionPlan(placement, parts)


def place_nodes(
    source: Source, *, dims: Mapping[str, int] | None, why_not: WhyNot, one_program: bool
) -> list[NodePlacement]:
    """The placement of each node of the model, which may be impossible.

    A model that compiles as a whole is not divided into parts, in which more nodes may be refused.
    Unless `one_program` is required, ranks that depend on sizes do not prevent that.
    """
    for joins in (True, False):
        model, folder = _prepare(source, joins=joins)
        placement = _settled(model, folder, dims or {}, why_not)
        if _is_native(placement):
            return placement.nodes
        if not has_joins(model):
            break
    if placement.has_choices and not one_program and not _is_cheap_on_host(placement):
        answers = settle_choices(model, folder, dims or {}).first
        assumed = _place(model, folder, dims or {}, {}, why_not, answers)
        if _is_native(assumed):
            return assumed.nodes
    placement, _ = _divide(placement, dims or {}, why_not)
    return placement.nodes


def _is_native(placement: Placement) -> bool:
    return all(node.where is Where.NATIVE for node in placement.nodes)


def _is_cheap_on_host(placement: Placement) -> bool:
    """True if only Squeeze nodes would run on the host, which move no data."""
    elsewhere = [node for node in placement.nodes if node.where is not Where.NATIVE]
    return all(node.op_type == "Squeeze" for node in elsewhere)


def _settled(
    model: onnx.ModelProto, folder: Path | None, dims: Mapping[str, int], why_not: WhyNot
) -> Placement:
    """A place for each node; nodes with a choice that what follows leaves open are refused."""
    placement = _place(model, folder, dims, {}, why_not, {})
    answers = settle_choices(model, folder, dims).necessary if placement.has_choices else {}
    return _place(model, folder, dims, {}, why_not, answers) if answers else placement


def _divide(
    placement: Placement, dims: Mapping[str, int], why_not: WhyNot
) -> tuple[Placement, list[NativePartModel | HostPartModel]]:
    model, folder, answers = placement.model, placement.folder, placement.answers
    forced: dict[str, str] = {}
    while True:
        parts: list[NativePartModel | HostPartModel] = []
        refused: dict[str, str] = {}
        warnings: list[str] = []
        for part in Partitioner(placement).parts():
            proto = part_model(placement, part)
            if not part.native:
                parts.append(HostPartModel(part, proto.SerializeToString()))
                continue
            importer, module = _import_part(proto, placement)
            refused |= importer.refused
            warnings += importer.warnings
            parts.append(NativePartModel(part, module))
        if not refused:
            report_oddities(warnings)
            return placement, parts
        forced |= refused
        placement = _place(model, folder, dims, forced, why_not, answers)


def _place(
    model: onnx.ModelProto,
    folder: Path | None,
    dims: Mapping[str, int],
    forced: Mapping[str, str],
    why_not: WhyNot,
    answers: Answers,
) -> Placement:
    with create_context(), ir.Location.unknown():
        graph.Graph.load()
        return Placer(model, folder, dims, forced, why_not, answers).place()


def _prepare(
    source: Source,
    overridden: Collection[str] = (),
    independent_dims: Collection[str] = (),
    joins: bool = False,
) -> tuple[onnx.ModelProto, Path | None]:
    """The model with its functions in place of their calls, and a name for every node; `joins` is
    that of `without_sequences`."""
    model, folder = load_model(source)
    if isinstance(source, onnx.ModelProto):
        model = onnx.ModelProto()
        model.CopyFrom(source)
    model = without_names(override(model, overridden), independent_dims)
    inline_functions(model)
    model = without_sequences(model, joins)
    settle_initializers(model.graph)
    for index, node in enumerate(model.graph.node):
        node.name = node_name(node, index)
        node.domain = domain_of(node.domain)
    order = in_order(model.graph.node)
    if any(index != position for position, (index, _) in enumerate(order)):
        nodes = [onnx.NodeProto.FromString(node.SerializeToString()) for _, node in order]
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    for opset in model.opset_import:
        opset.domain = domain_of(opset.domain)
    split_lookups(model)
    return model, folder


class _PartImporter(TrackingImporter):
    """Imports a part; knows which nodes were refused that went through as part of the whole."""

    refused: dict[str, str]

    def _import_nodes(self, nodes: Iterable[onnx.NodeProto], scope: Scope) -> None:
        if scope.outer is not None or scope.prefix:
            super()._import_nodes(nodes, scope)
            return
        self.refused = {}
        for node in nodes:
            reason = self.import_tracked(node, scope)
            if reason:
                self.refused[first_output(node)] = reason


def _import_part(proto: onnx.ModelProto, placement: Placement) -> tuple[_PartImporter, ir.Module]:
    with create_context(), ir.Location.unknown():
        graph.Graph.load()
        module = ir.Module.create()
        importer = _PartImporter(proto, placement.folder, {}, owned=True, answers=placement.answers)
        with ir.InsertionPoint(module.body):
            try:
                importer.import_model()
            except UnsupportedModelError:
                if not importer.refused:
                    raise
                return importer, module
        verify(module)
    return importer, module
