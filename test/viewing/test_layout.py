"""Pictures of graphs: no node over another, lines that go down, and a picture in good time."""

import random
import time

import pytest

from graphc.viewing.layering import layered
from graphc.viewing.layout import NODE_GAP, lay_out
from graphc.viewing.ordering import crossings, order_layers


def drawn_graph(count: int, seed: int = 0):
    """Sizes and edges: a long chain with branches, and some edges over many layers."""
    draw = random.Random(seed)
    edges = []
    for node in range(1, count):
        edges.append((max(0, node - draw.choice([1, 1, 2, 3])), node))
        if draw.random() < 0.3:
            edges.append((draw.randint(max(0, node - 12), node - 1), node))
        if node > 60 and draw.random() < 0.02:
            edges.append((node - 60, node))
    sizes = [(float(draw.randint(60, 200)), draw.choice([28.0, 60.0])) for _ in range(count)]
    return sizes, edges


@pytest.mark.parametrize("count", [1, 2, 40, 400])
def test_nodes_do_not_overlap(count):
    sizes, edges = drawn_graph(count)
    layout = lay_out(sizes, edges)
    boxes = sorted((y, x, y + h, x + w) for (x, y), (w, h) in zip(layout.nodes, sizes, strict=True))
    for number, (top, left, bottom, right) in enumerate(boxes):
        assert left >= -0.01
        assert right <= layout.width + 0.01
        for other_top, other_left, _, other_right in boxes[number + 1 :]:
            if other_top >= bottom:
                break
            apart = other_left >= right + NODE_GAP - 0.01 or left >= other_right + NODE_GAP - 0.01
            assert apart, (top, left)


def test_lines_go_down_from_source_to_target():
    sizes, edges = drawn_graph(200)
    layout = lay_out(sizes, edges)
    for (source, target), line in zip(edges, layout.edges, strict=True):
        heights = [y for _, y in line]
        assert heights == sorted(heights)
        assert heights[0] == layout.nodes[source][1] + sizes[source][1]
        assert heights[-1] == layout.nodes[target][1]


def test_a_long_edge_bends_beside_the_nodes_it_passes():
    chain = [(node, node + 1) for node in range(5)]
    layout = lay_out([(100.0, 30.0)] * 6, [*chain, (0, 5)])
    passing = layout.edges[-1][1:-1]
    assert len(passing) == 8  # in and out of each of the four layers between
    for x, y in passing:
        for left, top in layout.nodes:
            assert not (left <= x <= left + 100 and top <= y <= top + 30)


def test_orders_have_few_crossings():
    """Two chains whose nodes come in turns do not cross, and large graphs cross less than they
    would in the order of their nodes."""
    edges = [(0, 3), (1, 2), (2, 5), (3, 4), (4, 7), (5, 6)]
    graph = layered(8, edges)
    assert crossings(graph, graph.layers()) > 0
    assert crossings(graph, order_layers(graph)) == 0
    _, edges = drawn_graph(400)
    graph = layered(400, edges)
    assert crossings(graph, order_layers(graph)) < 0.25 * crossings(graph, graph.layers())


def test_what_is_used_everywhere_is_not_a_line_to_everywhere():
    """A shared operand of a long chain: its far edges are remote, the chain's own never."""
    chain = [(node, node + 1) for node in range(1, 3000)]
    shared = [(0, node) for node in range(2, 3000, 5)]
    hubs = [(hub, node) for hub in range(1, 40) for node in range(hub + 50, 3000, 50)]
    graph = layered(3001, [*chain, *shared, *hubs])
    assert graph.remote
    assert not graph.remote & set(chain)
    assert len(graph.rank) < 6 * 3001


def test_three_thousand_nodes_take_a_moment():
    sizes, edges = drawn_graph(3000)
    start = time.process_time()
    lay_out(sizes, edges)
    assert time.process_time() - start < 6  # a second where nobody else works
