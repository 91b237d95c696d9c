"""The regions of a placement file, as a graph, and their devices."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from .program_graphs import BlockGraph, NodeView
from .stage import draw_graph

COLORS = 6
"""Number of colours of devices; further ones begin anew."""


def check_placement(placement: Any) -> dict[str, Any]:
    """The contents of a placement file if they are valid. Raises UsageError.

    A device that was edited counts in place of the one that was chosen. A file without reasons has
    no regions.
    """
    try:
        nodes = {str(name): str(device) for name, device in placement["nodes"].items()}
        why = placement.get("why") or {}
        regions = [_region(each, nodes) for each in why.get("regions", ())]
        values = [_value(each, len(regions)) for each in why.get("values", ())]
        totals = {"seconds": why.get("seconds"), "single": dict(why.get("single") or {})}
        used = [*placement.get("devices", ()), *nodes.values()]
        devices = list(dict.fromkeys(map(str, used)))
        measured = {str(name): float(s) for name, s in dict(why.get("measured") or {}).items()}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"no placement: {error}; gc-place -o writes such a file") from error
    return {
        "devices": devices, "nodes": nodes, **totals, "measured": measured, "regions": regions,
        "values": values,
    }  # fmt: skip


def _region(region: Mapping[str, Any], nodes: Mapping[str, str]) -> dict[str, Any]:
    names = [str(name) for name in region["nodes"]]
    devices = dict.fromkeys(nodes.get(name, str(region["device"])) for name in names)
    return {
        "nodes": names,
        "device": ", ".join(devices) or str(region["device"]),
        "seconds": {str(name): float(value) for name, value in region["seconds"].items()},
        "moving": {str(name): float(value) for name, value in region["moving"].items()},
    }


def _value(value: Mapping[str, Any], regions: int) -> dict[str, Any]:
    producer = value["producer"]
    consumers = [int(each) for each in value["consumers"]]
    known = [*consumers, *([] if producer is None else [int(producer)])]
    if any(not 0 <= each < regions for each in known):
        raise ValueError(f"value {value['name']!r} names a region that is not there")
    return {
        "name": str(value["name"]),
        "bytes": int(value["bytes"]),
        "producer": None if producer is None else int(producer),
        "consumers": consumers,
        "is_output": bool(value["is_output"]),
        "crossings": {str(name): float(s) for name, s in value["crossings"].items()},
    }


def placement_program(placement: Mapping[str, Any]) -> dict[str, Any]:
    """A program with one stage, whose nodes are the regions of a checked placement."""
    found = BlockGraph("regions")
    values = placement["values"]
    outside = [value for value in values if value["producer"] is None]
    for value in outside:
        found.nodes.append(NodeView("input", "input", (value["name"],)))
    makers = {value["name"]: number for number, value in enumerate(outside)}
    for number, region in enumerate(placement["regions"]):
        family = device_color(region["device"], placement["devices"])
        node = NodeView(region["device"], family, tuple(region["nodes"]), position=number)
        made = [value for value in values if value["producer"] == number]
        node.outputs = [_spell(value) for value in made]
        _connect(found, node, [v for v in values if number in v["consumers"]], makers)
        makers |= {value["name"]: len(found.nodes) - 1 for value in made}
    for value in values:
        if value["is_output"] and value["name"] in makers:
            _connect(found, NodeView("output", "output", (value["name"],)), [value], makers)
    drawn = draw_graph(found)
    stage = {"name": "regions", "graphs": [drawn], "memory": None, "removed": 0, "lost": 0}
    return {"name": "regions and devices", "stages": [stage]}


def _connect(
    found: BlockGraph,
    node: NodeView,
    operands: Sequence[Mapping[str, Any]],
    makers: Mapping[str, int],
) -> None:
    """Add `node`, with an edge from what gives it each of the `operands`."""
    for value in operands:
        source = makers.get(value["name"])
        node.inputs.append((source, _spell(value)))
        if source is not None:
            found.edges.append((source, len(found.nodes)))
    found.nodes.append(node)


def device_color(device: str, devices: list[str]) -> str:
    """The name of the colour of `device`; that of `other` nodes for several at once."""
    return f"device{devices.index(device) % COLORS}" if device in devices else "other"


def _spell(value: Mapping[str, Any]) -> str:
    return f"{value['name']}: {value['bytes']} bytes"
