"""Decoders with two branches, without a cache and with one, as ``optimum`` merges them."""

from pathlib import Path

import onnx

from ..errors import ModelFolderError

CONDITION = "use_cache_branch"
"""The input that chooses the branch with a cache."""


def inline_cached_branch(graph: onnx.GraphProto, path: Path) -> None:
    """Put the branch with a cache in place of the choice; an empty cache makes it the other one.

    Raises `ModelFolderError` for the model at `path` where anything else depends on the choice.
    """
    if all(each.name != CONDITION for each in graph.input):
        return
    users = [node for node in graph.node if CONDITION in node.input]
    if len(users) != 1 or users[0].op_type != "If":
        raise ModelFolderError(f"{path}: '{CONDITION}' is no condition of one If")
    (choice,) = users
    (branch,) = (each.g for each in choice.attribute if each.name == "then_branch")
    names = {own.name: name for own, name in zip(branch.output, choice.output, strict=True) if name}
    index = [*graph.node].index(choice)
    graph.node.remove(choice)
    for node in reversed(branch.node):
        graph.node.insert(index, renamed_node(node, names))
    graph.initializer.extend(branch.initializer)
    graph.node.extend(_copies(graph, branch, names))
    (condition,) = (each for each in graph.input if each.name == CONDITION)
    graph.input.remove(condition)


def renamed_node(node: onnx.NodeProto, names: dict[str, str]) -> onnx.NodeProto:
    """`node` with other names, also for what its own branches use."""
    renamed = onnx.NodeProto()
    renamed.CopyFrom(node)
    renamed.input[:] = [names.get(name, name) for name in node.input]
    renamed.output[:] = [names.get(name, name) for name in node.output]
    for attribute in renamed.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            inner = [renamed_node(each, names) for each in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(inner)
            for output in attribute.g.output:
                output.name = names.get(output.name, output.name)
    return renamed


def _copies(
    graph: onnx.GraphProto, branch: onnx.GraphProto, names: dict[str, str]
) -> list[onnx.NodeProto]:
    """Nodes for outputs that the branch does not compute, but takes from elsewhere."""
    made = {name for node in branch.node for name in node.output}
    return [
        onnx.helper.make_node("Identity", [own], [name])
        for own, name in names.items()
        if own not in made
    ]
