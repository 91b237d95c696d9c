"""Assignment of the rows of a profile to the nodes of a graph."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import UsageError
from .program_graphs import BlockGraph

SHOWN = ("kernel", "seconds", "share", "calls", "workers", "gflops", "gigabytes")


def check_profile(profile: Any) -> Mapping[str, Any]:
    """Return `profile` if it is valid. Raises UsageError that names the missing field."""
    if not isinstance(profile, Mapping) or not isinstance(profile.get("rows"), list):
        raise UsageError("the profile has no rows: gc-profile --json writes such a file")
    for row in profile["rows"]:
        lacks = [key for key in (*SHOWN, "nodes") if not isinstance(row, Mapping) or key not in row]
        if lacks:
            raise UsageError(f"a row of the profile has no {lacks[0]}: gc-profile --json writes it")
    return profile


def place_rows(
    profile: Mapping[str, Any], graphs: Sequence[BlockGraph]
) -> tuple[dict[tuple[int, int], list[int]], float]:
    """The row numbers of each (graph, node), and the share of rows without a node.

    A row is assigned to the node that shares most names with it, the first of several.
    """
    by_name: dict[str, list[tuple[int, int]]] = {}
    for g, graph in enumerate(graphs):
        for n, node in enumerate(graph.nodes):
            if node.position >= 0:
                for name in node.origin:
                    by_name.setdefault(name, []).append((g, n))
    placed: dict[tuple[int, int], list[int]] = {}
    lost = 0.0
    for number, row in enumerate(profile["rows"]):
        votes: dict[tuple[int, int], int] = {}
        for name in row["nodes"]:
            for at in by_name.get(name, ()):
                votes[at] = votes.get(at, 0) + 1
        if votes:
            placed.setdefault(max(votes, key=votes.__getitem__), []).append(number)
        else:
            lost += row["share"]
    return placed, lost
