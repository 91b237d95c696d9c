"""One stage of a program, as JSON values for the page."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..cpu_model import CpuModel
from ..passes.analysis.arena import allocation, place_buffers
from ..passes.analysis.liveness import Liveness, liveness
from ..passes.infra.report import Stage
from .layout import lay_out
from .program_graphs import BlockGraph, NodeView, read_program
from .timing import place_rows

LINE, PADDING, CHARACTER = 17, 14, 7.2
NARROWEST, WIDEST = 92, 236
LONGEST_NAME = 30


def make_stage(
    stage: Stage,
    before: Counter[Any] | None,
    profile: Mapping[str, Any] | None,
    sizes: Mapping[str, int],
    cpu: CpuModel,
) -> tuple[dict[str, Any], Counter[Any]]:
    """The data of a stage, and the keys of its nodes, for comparison with the next stage.

    `before` holds the keys of the previous stage.
    """
    program = read_program(stage.text)
    graphs, memory = program.graphs, liveness(program.main, sizes, cpu=cpu)
    drawn = [draw_graph(found) for found in graphs]
    keys = Counter(node.key for found in graphs for node in found.nodes)
    left = before.copy() if before else keys.copy()
    for found, picture in zip(graphs, drawn, strict=True):
        for node, shown in zip(found.nodes, picture["nodes"], strict=True):
            if left[node.key]:
                left[node.key] -= 1
            else:
                shown["new"] = 1
    lost = _add_times(graphs, drawn, profile)
    data = {
        "name": stage.name,
        "graphs": drawn,
        "memory": _memory(memory, graphs[0], allocation(program.main, memory)),
        "removed": left.total(),
        "lost": lost,
    }
    return data, keys


def draw_graph(found: BlockGraph) -> dict[str, Any]:
    """A graph with the positions of its nodes and the lines of its edges, in pixels."""
    shown = [_node(node) for node in found.nodes]
    boxes = [(node["w"], node["h"]) for node in shown]
    layout = lay_out(boxes, found.edges)
    for node, (x, y) in zip(shown, layout.nodes, strict=True):
        node["x"], node["y"] = round(x), round(y)
    edges = [
        [*edge, [round(c) for point in line for c in point], int(edge in layout.remote)]
        for edge, line in zip(found.edges, layout.edges, strict=True)
    ]
    return {
        "title": found.title,
        "nodes": shown,
        "edges": edges,
        "width": round(layout.width),
        "height": round(layout.height),
    }


def _node(node: NodeView) -> dict[str, Any]:
    rows = node.inner or [(node.op, node.family)]
    lines = [op for op, _ in rows] + [short_name(node.origin), *node.outputs[:1]]
    longest = max(map(len, lines))
    width = min(max(NARROWEST, round(longest * CHARACTER) + 2 * PADDING), WIDEST)
    shown = {
        "op": node.op,
        "family": node.family,
        "origin": node.origin,
        "label": short_name(node.origin),
        "ins": node.inputs,
        "outs": node.outputs,
        "attributes": node.attributes,
        "inner": node.inner,
        "bodies": node.bodies,
        "w": width,
        "h": LINE * (len(rows) + bool(node.origin) + bool(node.outputs)) + PADDING,
    }
    return {name: value for name, value in shown.items() if value or name in ("op", "family")}


def short_name(origin: Sequence[str]) -> str:
    """The end of the first name, and the number of other names."""
    if not origin:
        return ""
    more = f" +{len(origin) - 1}" if len(origin) > 1 else ""
    name, room = origin[0], LONGEST_NAME - len(more)
    return (name if len(name) <= room else "…" + name[1 - room :]) + more


def _add_times(
    graphs: Sequence[BlockGraph], drawn: Sequence[dict[str, Any]], profile: Mapping[str, Any] | None
) -> float:
    """Add the rows of the profile to their nodes; return the share of all other rows."""
    if profile is None:
        return 0.0
    placed, lost = place_rows(profile, graphs)
    for (graph, node), rows in placed.items():
        drawn[graph]["nodes"][node]["rows"] = rows
    return lost


def _memory(found: Liveness, graph: BlockGraph, allocated: int) -> dict[str, Any]:
    """The memory data of the page; a step is a node of the graph."""
    offsets, arena = place_buffers(found.buffers)
    at = {node.position: number for number, node in enumerate(graph.nodes) if node.position >= 0}
    return {
        "live": found.live,
        "peak": found.peak,
        "allocated": allocated,
        "constants": found.constants,
        "inputs": found.inputs,
        "arena": arena,
        "assumed": {name: found.sizes[name] for name in found.assumed},
        "sizes": found.sizes,
        "steps": [at[step.position] for step in found.steps],
        "buffers": [
            [buffer.name, buffer.bytes, buffer.begin, buffer.end, buffer.kind, offset]
            for buffer, offset in zip(found.buffers, offsets, strict=True)
        ],
    }
