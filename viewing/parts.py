"""The parts of a hybrid model, as a graph."""

from collections.abc import Sequence
from typing import Any

from .program_graphs import BlockGraph, NodeView
from .stage import draw_graph


def parts_program(parts: Sequence[Any]) -> dict[str, Any]:
    """A program with one stage, whose nodes are `parts` (`PartSpec`)."""
    found = BlockGraph("parts")
    makers: dict[str, int] = {}
    produced = {name for part in parts for name in part.outputs}
    used = {name for part in parts for name in part.inputs}
    for name in sorted(used - produced):
        makers[name] = len(found.nodes)
        found.nodes.append(NodeView("input", "input", (name,)))
    for number, part in enumerate(parts):
        side = "native" if part.native else "host"
        node = NodeView(f"part {number}: {side}", side, tuple(part.nodes), position=number)
        node.attributes = dict(part.reasons)
        index = len(found.nodes)
        for name in part.inputs:
            node.inputs.append((makers[name], name))
            found.edges.append((makers[name], index))
        node.outputs = list(part.outputs)
        makers |= dict.fromkeys(part.outputs, index)
        found.nodes.append(node)
    drawn = draw_graph(found)
    for node, shown in zip(found.nodes, drawn["nodes"], strict=True):
        if node.family == "native":
            shown["program"] = f".part{node.position}"
    stage = {"name": "parts", "graphs": [drawn], "memory": None, "removed": 0, "lost": 0}
    return {"name": "all parts", "stages": [stage]}
