"""The nodes of a model and the values they define, by name."""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import onnx

from ....errors import UsageError
from .loading import Source, load_model


@dataclass(frozen=True)
class ModelNode:
    """A node of the main graph, by the name that locations give it."""

    name: str
    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def list_nodes(source: Source) -> list[ModelNode]:
    """The nodes of the main graph in the model's order. Raises InvalidModelError."""
    model, _ = load_model(source)
    return [
        ModelNode(
            node_name(node, index),
            node.op_type,
            tuple(filter(None, node.input)),
            tuple(filter(None, node.output)),
        )
        for index, node in enumerate(model.graph.node)
    ]


def node_name(node: onnx.NodeProto, index: int) -> str:
    """The name of the `index`-th node of its graph, which it may lack."""
    return node.name or f"{node.op_type}_{index}"


_FIRST_WITH_CONSTANTS = 4
"""The version of the IR since which an initializer need not be an input, too, to be a constant."""


def overridable(model: onnx.ModelProto) -> list[str]:
    """Names of the initializers that are inputs, too: defaults, in place of which calls may give
    values of their own."""
    if model.ir_version < _FIRST_WITH_CONSTANTS:
        return []
    constants = {tensor.name for tensor in model.graph.initializer}
    return [info.name for info in model.graph.input if info.name in constants]


def override(model: onnx.ModelProto, names: Collection[str]) -> onnx.ModelProto:
    """`model` without defaults for the inputs `names`. UsageError where one has none."""
    if not names:
        return model
    known = overridable(model)
    if unknown := [name for name in names if name not in known]:
        listed = ", ".join(known) or "none"
        raise UsageError(f"no initializer '{unknown[0]}' is an input, too; such are: {listed}")
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    kept = [tensor for tensor in copy.graph.initializer if tensor.name not in names]
    del copy.graph.initializer[:]
    copy.graph.initializer.extend(kept)
    return copy


def choose_outputs(
    model: onnx.ModelProto, names: Sequence[str] | None
) -> list[onnx.ValueInfoProto]:
    """The declarations of the values `names` of the main graph; of the model's outputs for None.

    A model may have an output twice. Raises UsageError for a name that no node, input or
    initializer defines.
    """
    graph = model.graph
    if names is None:
        return list(graph.output)
    if isinstance(names, str):
        raise UsageError(f"outputs must be a sequence of names, not the string '{names}'")
    declared = {info.name: info for info in graph.output}
    known = {name for node in graph.node for name in node.output if name}
    known |= {info.name for info in graph.input} | {tensor.name for tensor in graph.initializer}
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, sorted(known), n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise UsageError(f"the model has no value '{name}'{hint}")
    if len(set(names)) != len(names) or not names:
        raise UsageError("outputs must be one or more different names")
    return [declared.get(name) or onnx.ValueInfoProto(name=name) for name in names]
