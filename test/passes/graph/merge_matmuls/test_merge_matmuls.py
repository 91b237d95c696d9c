"""Products of one operand, merged, and heads taken from merged ones: numbers and reasons."""

import numpy as np
import pytest
from rewriting import rewrite, weights

from graphc.dialects import graph

PASS = "graph-merge-matmuls,cse"
HEADS = [0, 2, 1, 3]


def project(x, width, bias=True, seed=0):
    size = graph.type_of(x).shape[-1]
    y = graph.matmul(x, weights(size, width, seed=seed))
    return graph.add(weights(width, seed=seed + 1), y) if bias else y


def split(x, heads, perm=HEADS):
    *leading, width = graph.type_of(x).shape
    return graph.transpose(graph.reshape(x, shape=[*leading, heads, width // heads]), perm=perm)


@pytest.mark.parametrize("type_", ["2x5x6xf32", "bxsx6xf32", "2x5x6xf16"])
@pytest.mark.parametrize("biases", [(True, True, True), (False, True, False), (False,) * 3])
def test_heads_of_attention(type_, biases):
    def body(x):
        dtype = graph.type_of(x).dtype
        wide = graph.cast(x, to=np.float32)
        parts = [split(project(wide, 8, bias, 10 * i), 2) for i, bias in enumerate(biases)]
        return [graph.cast(part, to=dtype) for part in parts]

    outcome = rewrite(body, type_, passes=f"graph-simplify,{PASS}")
    assert outcome.counts["merge-matmuls"] == 1
    assert outcome.counts["heads-from-first-axis"] == 1
    assert outcome.ops["matmul"] == 1
    assert outcome.ops.get("add", 0) == any(biases)
    assert (outcome.ops["slice"], outcome.ops["transpose"]) == (3, 1)


def test_fewer_heads_of_keys_and_values():
    def body(x):
        return [split(project(x, 4 * heads, seed=heads), heads) for heads in (4, 2, 1)]

    outcome = rewrite(body, "2x5x6xf32", passes=PASS)
    assert outcome.ops == {
        "matmul": 1,
        "add": 1,
        "reshape": 1,
        "transpose": 1,
        "slice": 3,
    }


def test_heads_of_a_product_that_was_merged_already():
    def body(x):
        y = project(x, 24)
        slices = [
            graph.slice_(y, starts=[0, 0, 8 * i], sizes=[2, 5, 8], steps=[1, 1, 1])
            for i in (2, 0, 1)
        ]
        return [split(part, 2) for part in slices]

    outcome = rewrite(body, "2x5x6xf32", passes=PASS)
    assert outcome.counts == {"heads-from-first-axis": 1}
    assert outcome.ops["transpose"] == 1


def test_elementwise_readers():
    """The gate and the value of a gated layer."""

    def body(x):
        gate, value = project(x, 8, bias=False), project(x, 8, bias=False, seed=5)
        return graph.mul(graph.swish(gate, alpha=1.0), value)

    outcome = rewrite(body, "2x5x6xf32", passes=PASS)
    assert outcome.ops == {"matmul": 1, "slice": 2, "swish": 1, "mul": 1}


def test_parts_that_are_used_alike_are_merged():
    """Two pairs, and one that is used like no other."""

    def body(x):
        heads = [split(project(x, 8, seed=i), 2) for i in (1, 2)]
        plain = [graph.relu(project(x, 8, seed=i)) for i in (3, 4)]
        return *heads, *plain, split(project(x, 8, seed=5), 4)

    outcome = rewrite(body, "2x5x6xf32", passes=PASS)
    assert outcome.counts == {"merge-matmuls": 2, "heads-from-first-axis": 1}
    assert outcome.ops["matmul"] == 3
    assert outcome.reasons == {"no other matmul is used alike"}


def test_declined():
    def body(x, y):
        shared = weights(6, 8)
        products = [project(x, 8, seed=i) for i in range(3)]
        return (
            graph.softmax(products[0], axis=2),
            products[1],
            graph.matmul(x, shared),
            graph.matmul(y, shared),
            graph.relu(products[2]),
        )

    outcome = rewrite(body, "2x5x6xf32", "2x5x6xf32", passes=PASS)
    assert outcome.counts == {}
    assert outcome.reasons == {
        "'graph.softmax' would read a copy",
        "'func.return' would read a copy",
        "the weights are shared",
        "no other matmul is used alike",
    }


def test_other_products_stay():
    """Different operands, computed or batched weights, one product alone."""

    def body(x, y, w):
        return (
            graph.relu(project(x, 8)),
            graph.relu(project(y, 8, seed=3)),
            graph.relu(graph.matmul(x, w)),
            graph.relu(graph.matmul(x, weights(2, 6, 8))),
        )

    outcome = rewrite(body, "2x5x6xf32", "2x5x6xf32", "6x8xf32", passes=PASS)
    assert (outcome.counts, outcome.reasons) == ({}, set())


def test_heads_declined():
    def part(y, start, size):
        return graph.slice_(y, starts=[0, 0, start], sizes=[2, 5, size], steps=[1, 1, 1])

    def body(x):
        kept, mixed, odd, turned = (project(x, 24, seed=10 * i) for i in range(4))
        return (
            split(part(kept, 0, 8), 2),
            graph.relu(kept),
            split(part(mixed, 0, 8), 2),
            graph.relu(part(mixed, 8, 16)),
            split(part(odd, 2, 16), 2),
            split(part(turned, 0, 8), 2),
            split(part(turned, 8, 8), 2, [0, 2, 3, 1]),
        )

    outcome = rewrite(body, "2x5x6xf32", passes=PASS)
    assert outcome.counts == {}
    assert outcome.reasons == {
        "'graph.slice' would read a copy",
        "what the heads are taken from is used elsewhere",
        "its parts are used in different ways",
        "its parts do not start at a head",
    }
