"""The assignment of regions to devices beside the best of all assignments."""

import numpy as np
import pytest
from region_graphs import best_by_trying, draw_graph, draw_table, fits

from graphc.errors import UsageError
from graphc.placement.region_graph import HOST, DeviceTable, Link, Region, RegionGraph, RegionValue
from graphc.placement.solver import assign

pytest.importorskip("scipy")


@pytest.mark.parametrize("devices", [2, 3])
@pytest.mark.parametrize("limited", [False, True])
def test_the_assignment_is_the_best_of_all(devices, limited):
    random = np.random.default_rng(devices)
    for _ in range(50):
        graph = draw_graph(random, int(random.integers(1, 7)), devices)
        table = draw_table(random, devices, limited)
        best = best_by_trying(graph, table)
        if best is None:
            with pytest.raises(UsageError, match="do not fit"):
                assign(graph, table)
            continue
        found = assign(graph, table)
        assert fits(graph, table, found)
        assert graph.seconds(found, table) == pytest.approx(best, rel=1e-6)


def _chain(cpu: float, gpu: float, size: int) -> RegionGraph:
    """Three regions in a row, the middle one of which gains most on the GPU."""
    seconds = [{"cpu": cpu, "gpu": cpu}, {"cpu": 10 * cpu, "gpu": gpu}, {"cpu": cpu, "gpu": cpu}]
    regions = [Region(f"r{i}", (f"n{i}",), each) for i, each in enumerate(seconds)]
    values = [
        RegionValue("x", size, None, (0,)),
        RegionValue("a", size, 0, (1,)),
        RegionValue("b", size, 1, (2,)),
        RegionValue("y", size, 2, (), is_output=True),
    ]
    return RegionGraph(regions, values)


def _linked(latency: float) -> DeviceTable:
    link = Link(latency, 1e-10)
    pairs = [(HOST, "gpu"), ("cpu", "gpu"), ("gpu", HOST), ("gpu", "cpu")]
    return DeviceTable(("cpu", "gpu"), dict.fromkeys(pairs, link))


@pytest.mark.parametrize(
    ("latency", "used"), [(1e-6, True), (4e-4, True), (5e-4, False), (1e-2, False)]
)
def test_a_fast_device_behind_a_slow_link_is_used_when_it_pays(latency, used):
    graph = _chain(cpu=1e-4, gpu=1e-4, size=1000)  # the GPU saves 0.9 ms, for two transfers
    found = assign(graph, _linked(latency))
    assert ("gpu" in found) == used


def test_an_equal_device_with_memory_of_its_own_is_left_alone():
    regions = [Region(f"r{i}", (f"n{i}",), {"cpu": 1e-4, "gpu": 1e-4}) for i in range(5)]
    values = [RegionValue("x", 100, None, (0,))]
    values += [RegionValue(f"v{i}", 100, i, (i + 1,)) for i in range(4)]
    values.append(RegionValue("y", 100, 4, (), is_output=True))
    assert assign(RegionGraph(regions, values), _linked(1e-5)) == ["cpu"] * 5


def test_constants_that_do_not_fit_are_refused():
    graph = RegionGraph([Region("r", ("n",), {"gpu": 1e-4}, 1000)], [])
    with pytest.raises(UsageError, match="do not fit the devices: gpu has 500 bytes"):
        assign(graph, DeviceTable(("gpu",), capacity={"gpu": 500}))


def test_a_region_that_no_device_can_run_is_named():
    graph = RegionGraph([Region("decoder", ("n",), {"npu": 1e-4})], [])
    with pytest.raises(UsageError, match="'decoder' runs on none of cpu, gpu"):
        assign(graph, DeviceTable(("cpu", "gpu")))
