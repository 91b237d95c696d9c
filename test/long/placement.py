"""``make placement``: the cheapest assignment of regions to devices beside all assignments."""

import numpy as np
import pytest
from region_graphs import best_by_trying, draw_graph, draw_table, fits

from graphc.errors import UsageError
from graphc.placement.solver import assign

PARTS = 20
GRAPHS = 10_000 // PARTS


@pytest.mark.parametrize("part", range(PARTS))
def test_the_assignment_is_the_best_of_all(part, record_property):
    random = np.random.default_rng(part)
    refused = 0
    for _ in range(GRAPHS):
        devices = int(random.integers(2, 4))
        graph = draw_graph(random, int(random.integers(1, 13)), devices)
        table = draw_table(random, devices, capacity=random.random() < 0.3)
        best = best_by_trying(graph, table)
        if best is None:
            refused += 1
            with pytest.raises(UsageError):
                assign(graph, table)
            continue
        found = assign(graph, table)
        assert fits(graph, table, found)
        assert graph.seconds(found, table) == pytest.approx(best, rel=1e-6)
    record_property("graphs", GRAPHS)
    record_property("of them without an assignment that fits", refused)
