"""Regions of a model with their cost on each device, and the values that pass between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

HOST = "host"
"""Memory of the caller, where inputs come from and outputs go."""


@dataclass(frozen=True)
class Region:
    """Nodes that run on one device: what fusion would make one kernel of, or a node alone.

    `seconds` has the predicted time on each device that can run the region, `resident_bytes` the
    size of the constants that must lie in that device's memory. `boundary_seconds` is what a value
    that enters or leaves the device here costs beyond its transfer: fusion with what is computed
    elsewhere is lost, and layouts are converted.
    """

    name: str
    nodes: tuple[str, ...]
    seconds: Mapping[str, float]
    resident_bytes: int = 0
    boundary_seconds: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class RegionValue:
    """A tensor that a region or the caller gives to regions or back to the caller.

    `producer` is the index of a region, or None for an input of the model; `consumers` are indices
    of regions; `is_output` is True for an output of the model.
    """

    name: str
    bytes: int
    producer: int | None
    consumers: tuple[int, ...]
    is_output: bool = False


@dataclass(frozen=True)
class Link:
    """Transfers from one memory to another: seconds per transfer, and per byte."""

    latency: float
    seconds_per_byte: float

    def seconds(self, size: int) -> float:
        """The time to transfer `size` bytes."""
        return self.latency + self.seconds_per_byte * size

    def __add__(self, other: "Link") -> "Link":
        """This link and then `other`."""
        return Link(self.latency + other.latency, self.seconds_per_byte + other.seconds_per_byte)


@dataclass(frozen=True)
class DeviceTable:
    """The devices to choose from, in order of preference, and the links between memories.

    Memories are the devices' own and `HOST`; a pair without a link shares its memory, so that
    nothing is transferred. `capacity` limits the constants on a device, in bytes.
    """

    devices: tuple[str, ...]
    links: Mapping[tuple[str, str], Link] = field(default_factory=dict[tuple[str, str], Link])
    capacity: Mapping[str, int] = field(default_factory=dict[str, int])

    def transfer(self, size: int, source: str, destination: str) -> float:
        """Seconds to make `size` bytes in the memory of `source` available in `destination`'s."""
        link = self.links.get((source, destination))
        return 0.0 if link is None or source == destination else link.seconds(size)


@dataclass(frozen=True)
class RegionGraph:
    """Regions in topological order, and the values between them."""

    regions: Sequence[Region]
    values: Sequence[RegionValue]

    def source(self, value: RegionValue, assignment: Sequence[str]) -> str:
        """The memory that `value` is computed in."""
        return HOST if value.producer is None else assignment[value.producer]

    def destinations(self, value: RegionValue, assignment: Sequence[str]) -> set[str]:
        """The memories in which `value` is read."""
        read = {assignment[consumer] for consumer in value.consumers}
        return read | ({HOST} if value.is_output else set())

    def seconds(self, assignment: Sequence[str], table: DeviceTable) -> float:
        """Predicted time of a call: the regions one after the other, and every transfer.

        A value crosses once to each memory in which it is read.
        """
        moved = sum(
            self.crossing_seconds(value, self.source(value, assignment), destination, table)
            for value in self.values
            for destination in sorted(self.destinations(value, assignment))
        )
        return moved + sum(
            region.seconds[device] for region, device in zip(self.regions, assignment, strict=True)
        )

    def crossing_seconds(
        self, value: RegionValue, source: str, destination: str, table: DeviceTable
    ) -> float:
        """Seconds to have `value` of device `source` on `destination`; either may be `HOST`."""
        seconds = table.transfer(value.bytes, source, destination)
        if source == destination or value.producer is None:
            return seconds
        readers = [self.regions[index].boundary_seconds for index in value.consumers]
        entering = max((each.get(destination, 0.0) for each in readers), default=0.0)
        if destination == HOST and not entering:  # an output, which leaves either way
            return seconds
        return seconds + self.regions[value.producer].boundary_seconds.get(source, 0.0) + entering
