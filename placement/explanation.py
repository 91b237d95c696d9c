"""A placement in words: the devices of its regions, and what other devices would cost."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

SHOWN = 3
"""Maximum number of nodes that a line names."""
BAR = 16
"""Length of the bar of the part that takes longest."""

Reasons = Mapping[str, Any]
"""The result of `PlacementPlan.reasons`."""


def summarize(reasons: Reasons) -> Iterator[str]:
    """The times of a call, and a line for each region."""
    yield from _totals(reasons)
    width = max((len(region["device"]) for region in reasons["regions"]), default=0)
    for region in reasons["regions"]:
        times = ", ".join(f"{n} {_milliseconds(s)}" for n, s in region["seconds"].items())
        moved = ", ".join(f"on {n} {_milliseconds(s, sign=True)}" for n, s in _moving(region))
        line = f"{region['device'].ljust(width)}  {_names(region['nodes'])}: {times}"
        yield line + (f"; {moved}" if moved else "")


def explain(reasons: Reasons, devices: Sequence[str]) -> Iterator[str]:
    """The placement as a drawing, and the reason for the device of each region."""
    yield from _totals(reasons)
    yield ""
    yield from _drawing(reasons, devices)
    for number, region in enumerate(reasons["regions"]):
        yield ""
        yield f"region {number} on {region['device']}: {_names(region['nodes'])}"
        yield from (f"  {line}" for line in _reason(reasons, number, region))


def _totals(reasons: Reasons) -> Iterator[str]:
    yield f"predicted: {_milliseconds(reasons['seconds'])} a call"
    for name, seconds in reasons["single"].items():
        yield f"  all on {name}: {_milliseconds(seconds)}"
    for name, seconds in reasons["measured"].items():
        yield f"measured: {name} {_milliseconds(seconds)}"


def _drawing(reasons: Reasons, devices: Sequence[str]) -> Iterator[str]:
    """A column for each device, and a row for each run of regions on one of them."""
    regions = reasons["regions"]
    runs = [
        [number for number, _ in group]
        for _, group in groupby(enumerate(regions), key=lambda pair: pair[1]["device"])
    ]
    seconds = [sum(regions[n]["seconds"].get(regions[n]["device"], 0.0) for n in each)
               for each in runs]  # fmt: skip
    width = BAR + 14
    yield "    ".join(["regions".ljust(9), *(name.ljust(width) for name in devices)]).rstrip()
    longest = max(seconds, default=0.0) or 1.0
    for each, time in zip(runs, seconds, strict=True):
        numbers = f"{each[0]}-{each[-1]}" if len(each) > 1 else f"{each[0]}"
        bar = "#" * max(1, round(BAR * time / longest)) + f" {_milliseconds(time)}"
        here = regions[each[0]]["device"]
        cells = [(bar if name == here else ".").ljust(width) for name in devices]
        yield "    ".join([numbers.ljust(9), *cells]).rstrip()


def _reason(reasons: Reasons, number: int, region: Mapping[str, Any]) -> Iterator[str]:
    times = region["seconds"]
    if not times:
        return
    yield "takes " + ", ".join(f"{_milliseconds(s)} on {n}" for n, s in times.items())
    here = times.get(region["device"], 0.0)
    for name, total in _moving(region):
        own = times[name] - here
        yield (
            f"moving it to {name} costs {_milliseconds(total, sign=True)} a call: "
            f"{_milliseconds(own, sign=True)} for itself, "
            f"{_milliseconds(total - own, sign=True)} for its values"
        )
    if not region["moving"]:
        yield "no other device runs it"
    for value in reasons["values"]:
        for destination, seconds in value["crossings"].items():
            readers = {reasons["regions"][index]["device"] for index in value["consumers"]
                       if index == number}  # fmt: skip
            if destination in readers:
                yield f"takes '{value['name']}', {_moved(value, seconds)}"
            elif value["producer"] == number:
                yield f"gives '{value['name']}' to {destination}, {_moved(value, seconds)}"


def _moved(value: Mapping[str, Any], seconds: float) -> str:
    return f"{value['bytes']} bytes, in {_milliseconds(seconds)}"


def _moving(region: Mapping[str, Any]) -> list[tuple[str, float]]:
    return list(region["moving"].items())


def _names(nodes: Sequence[str]) -> str:
    more = f" and {len(nodes) - SHOWN} more" if len(nodes) > SHOWN else ""
    return ", ".join(nodes[:SHOWN]) + more


def _milliseconds(seconds: float | None, *, sign: bool = False) -> str:
    return "unknown" if seconds is None else f"{seconds * 1e3:{'+' if sign else ''}.3f} ms"
