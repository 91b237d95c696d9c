"""Region graphs drawn at random, and the best assignment of each by trying all."""

import itertools

import numpy as np

from graphc.placement.region_graph import HOST, DeviceTable, Link, Region, RegionGraph, RegionValue

DEVICES = ("cpu", "gpu", "npu")


def draw_graph(random: np.random.Generator, regions: int, devices: int) -> RegionGraph:
    """A graph of `regions` regions, some of which cannot run on some of `devices` devices."""
    names = DEVICES[:devices]
    drawn: list[Region] = []
    for index in range(regions):
        able = [name for name in names if random.random() < 0.8] or [str(random.choice(names))]
        seconds = {
            name: float(random.choice([1e-6, 1e-5, 1e-4]) * random.random()) for name in able
        }
        size = int(random.integers(0, 1000))
        edge = {name: float(random.choice([0.0, 1e-6, 1e-5])) for name in able}
        drawn.append(Region(f"region{index}", (f"node{index}",), seconds, size, edge))
    values = []
    for index in range(-1 - regions // 4, regions):
        later = range(max(index, -1) + 1, regions)
        count = int(random.integers(0, 3)) if later else 0
        consumers = {int(random.choice(later)) for _ in range(count)}
        output = index >= 0 and (not consumers or random.random() < 0.1)
        producer = index if index >= 0 else None
        size = int(random.integers(0, 10_000))
        name = f"value{index}"
        values.append(RegionValue(name, size, producer, tuple(sorted(consumers)), output))
    return RegionGraph(drawn, values)


def draw_table(random: np.random.Generator, devices: int, capacity: bool = False) -> DeviceTable:
    """Devices, the first of which is on the host, and links of very different speeds."""
    names = DEVICES[:devices]
    memories = (HOST, *names[1:])
    links = {
        pair: Link(float(random.choice([0, 1e-6, 1e-5])), float(random.choice([1e-11, 1e-9])))
        for pair in itertools.permutations(memories, 2)
    }
    links |= {("cpu", to): link for (source, to), link in links.items() if source == HOST}
    links |= {(source, "cpu"): link for (source, to), link in links.items() if to == HOST}
    limits = {name: int(random.integers(500, 3000)) for name in names[1:]} if capacity else {}
    return DeviceTable(names, links, limits)


def best_by_trying(graph: RegionGraph, table: DeviceTable) -> float | None:
    """The least time of all assignments that fit; None if none does."""
    able = [
        [number for number, name in enumerate(table.devices) if name in region.seconds]
        for region in graph.regions
    ]
    grids = np.meshgrid(*map(np.array, able), indexing="ij")
    devices = np.stack([grid.reshape(-1) for grid in grids], axis=1)  # [assignments, regions]
    seconds = np.zeros(len(devices))
    allowed = np.ones(len(devices), bool)
    for column, region in enumerate(graph.regions):
        by_device = [region.seconds.get(name, np.inf) for name in table.devices]
        seconds += np.array(by_device)[devices[:, column]]
    for value in graph.values:
        seconds += _crossings(graph, value, devices, table)
    for name, limit in table.capacity.items():
        here = devices == table.devices.index(name)
        allowed &= here @ np.array([region.resident_bytes for region in graph.regions]) <= limit
    return float(seconds[allowed].min()) if allowed.any() else None


def _crossings(graph, value, devices, table) -> np.ndarray:
    """Seconds that `value` takes to cross in each assignment of `devices`."""
    total = np.zeros(len(devices))
    for number, memory in enumerate((*table.devices, HOST)):
        if memory == HOST:
            read = np.full(len(devices), value.is_output)
        else:
            read = (devices[:, list(value.consumers)] == number).any(axis=1)
        sources = (HOST,) if value.producer is None else table.devices
        costs = [graph.crossing_seconds(value, source, memory, table) for source in sources]
        made_in = 0 if value.producer is None else devices[:, value.producer]
        total += np.where(read, np.array(costs)[made_in], 0.0)
    return total


def fits(graph: RegionGraph, table: DeviceTable, assignment) -> bool:
    """True if the constants of the regions on each device fit its capacity."""
    placed = list(zip(graph.regions, assignment, strict=True))
    return all(
        sum(region.resident_bytes for region, device in placed if device == name) <= limit
        for name, limit in table.capacity.items()
    )
