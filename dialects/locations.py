"""Source nodes of ops, carried by MLIR locations.

The frontend locates each op by its node, ``loc("conv1")``. Passes fuse the locations of what they
replace, so that an op, a diagnostic and a profile row can name every source node they stand for.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from ..mlir import ir

MAX_FUSED = 16
"""A fused location keeps at most this many sources; the first ones win."""


def leaves(location: ir.Location) -> Iterator[ir.Location]:
    """The sources of `location`: fused locations taken apart, unknown ones left out."""
    if type(location) is ir.Location:  # as exceptions carry them: not of their own class yet
        location = ir.Location.from_attr(location.attr, location.context)
    if isinstance(location, ir.FusedLoc):
        for part in location.locations:
            yield from leaves(part)
    elif isinstance(location, ir.CallSiteLoc):
        yield from leaves(location.callee)
    elif not isinstance(location, ir.UnknownLoc):
        yield location


def location_names(location: ir.Location) -> tuple[str, ...]:
    """The distinct source names of `location`; ``file:line:column`` for a position in a file."""
    return tuple(dict.fromkeys(map(_leaf_name, leaves(location))))


def node_name(op: Any) -> str:
    """The source names of `op` joined by ``+``, or its op name when it is not located."""
    return "+".join(location_names(op.operation.location)) or op.operation.name


def fuse_locations(locations: Iterable[ir.Location]) -> ir.Location:
    """One location for all of `locations`: distinct sources in order, at most `MAX_FUSED`."""
    sources = [leaf for location in locations for leaf in leaves(location)]
    # Keyed by attribute: equal locations have different hashes in the bindings.
    distinct = list({source.attr: source for source in sources}.values())[:MAX_FUSED]
    if not distinct:
        return ir.Location.unknown()
    return distinct[0] if len(distinct) == 1 else ir.Location.fused(distinct)


def _leaf_name(location: ir.Location) -> str:
    if isinstance(location, ir.NameLoc):
        return location.name_str
    if isinstance(location, ir.FileLineColLoc):
        return f"{location.filename}:{location.start_line}:{location.start_col}"
    return str(location)
