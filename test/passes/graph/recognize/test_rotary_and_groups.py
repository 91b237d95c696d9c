"""Rotary embeddings, and keys that several query heads share."""

import numpy as np
import pytest
from rewriting import rewrite

from graphc.dialects import graph
from graphc.dialects.symbolic_syntax import parse_dim


def half(x, which):
    *leading, size = graph.type_of(x).shape
    starts = [0] * len(leading) + [which * size // 2]
    return graph.slice_(x, starts=starts, sizes=[*leading, size // 2], steps=[1] * len(starts))


def last(x):
    return graph.type_of(x).rank - 1


def rotated(x):
    return graph.concat([graph.neg(half(x, 1)), half(x, 0)], axis=last(x))


def turned(x, cos, sin):
    return graph.add(graph.mul(x, cos), graph.mul(rotated(x), sin))


def doubled(x):
    return graph.concat([x, x], axis=last(x))


def angles(*shape, dtype=np.float32):
    array = np.random.default_rng(3).random(shape).astype(dtype)
    return np.concatenate([array, array], axis=-1)


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_constant_angles(dtype):
    def body(x):
        of = graph.type_of(x).dtype
        cos = graph.constant(value=angles(5, 4, dtype=of))
        sin = graph.constant(value=angles(1, 1, 5, 4, dtype=of))
        return turned(x, cos, sin)

    outcome = rewrite(body, f"2x3x5x8x{dtype}", passes="graph-recognize")
    assert outcome.ops == {"rotary_embedding": 1}
    assert outcome.attributes("rotary_embedding") == {"interleaved": False}


def test_computed_angles():
    """Angles as language models compute them, from frequencies concatenated with themselves."""

    def body(x, frequencies):
        both = graph.reshape(doubled(frequencies), shape=[2, 1, 5, 8])
        half_scale = graph.constant(value=np.float32(0.5))
        return turned(x, graph.mul(graph.cos(both), half_scale), graph.sin(both))

    outcome = rewrite(body, "2x3x5x8xf32", "2x5x4xf32", passes="graph-recognize")
    assert outcome.counts == {"recognize-rotary-embedding": 1}
    assert outcome.ops["slice"] == 2


def test_other_angles_decline():
    def body(x, cos, frequencies):
        alike = graph.constant(value=angles(5, 4))
        random = np.random.default_rng(0).random((5, 8)).astype(np.float32)
        other = graph.constant(value=random)
        return turned(x, cos, alike), turned(x, doubled(frequencies), other)

    types = ["2x3x5x8xf32", "5x8xf32", "5x4xf32"]
    outcome = rewrite(body, *types, passes="graph-recognize")
    assert outcome.counts == {}
    assert outcome.reasons == {"the halves of the angles are not known to be alike"}


def test_rotary_near_misses():
    def body(x):
        cos, sin = (graph.constant(value=angles(5, 4)) for _ in range(2))
        other_sign = graph.concat([half(x, 1), half(x, 0)], axis=3)
        other_order = graph.concat([graph.neg(half(x, 0)), half(x, 1)], axis=3)
        other_operand = graph.add(graph.mul(graph.abs_(x), cos), graph.mul(rotated(x), sin))
        pairs = [graph.mul(turn, sin) for turn in (other_sign, other_order)]
        return other_operand, *(graph.add(graph.mul(x, cos), pair) for pair in pairs)

    outcome = rewrite(body, "2x3x5x8xf32", passes="graph-recognize")
    assert (outcome.counts, outcome.reasons) == ({}, set())


def repeated(x, count):
    batch, heads, rows, size = graph.type_of(x).shape
    x = graph.reshape(x, shape=[batch, heads, 1, rows, size])
    x = graph.expand(x, shape=[batch, heads, count, rows, size])
    return graph.reshape(x, shape=[batch, heads * count, rows, size])


def attend(q, k, v, mask=None):
    return graph.attention(q, k, v, mask, scale=0.5, causal=False)


@pytest.mark.parametrize("mask", [None, "5x6xf32", "2x1x5x6xf32", "2x1x1x6xi1", "1x4x5x6xf32"])
def test_grouped_heads(mask):
    def body(q, k, v, mask=None):
        return attend(q, repeated(k, 2), repeated(v, 2), mask)

    types = ["2x4x5x8xf32", "2x2x6x8xf32", "2x2x6x7xf32", *([mask] if mask else [])]
    outcome = rewrite(body, *types, passes="graph-recognize")
    assert outcome.counts == {"recognize-grouped-heads": 1}
    assert "expand" not in outcome.ops


def test_grouped_heads_of_any_batch_and_length():
    batch, size = parse_dim("b"), parse_dim("s")

    def body(q, k):
        k = graph.reshape(k, shape=[batch, 2, 1, size, 8])
        k = graph.expand(k, shape=[batch, 2, 3, size, 8])
        k = graph.reshape(k, shape=[batch, 6, size, 8])
        return attend(q, k, k)

    outcome = rewrite(body, "bx6xsx8xf32", "bx2xsx8xf32", passes="graph-recognize")
    assert outcome.counts == {"recognize-grouped-heads": 1}


def test_grouped_heads_decline():
    def body(q, k, v):
        return attend(q, repeated(k, 2), repeated(v, 4))

    outcome = rewrite(body, "2x4x5x8xf32", "2x2x6x8xf32", "2x1x6x7xf32", passes="graph-recognize")
    assert outcome.counts == {}
    assert outcome.reasons == {"keys and values are repeated differently"}


def test_grouped_near_misses():
    """Repeated in the other order, or the keys alone."""

    def body(q, k, v, w):
        tiled = graph.expand(graph.reshape(k, shape=[2, 1, 2, 6, 8]), shape=[2, 2, 2, 6, 8])
        tiled = graph.reshape(tiled, shape=[2, 4, 6, 8])
        return attend(q, tiled, tiled), attend(q, repeated(k, 2), w)

    types = ["2x4x5x8xf32", "2x2x6x8xf32", "2x2x6x7xf32", "2x4x6x7xf32"]
    outcome = rewrite(body, *types, passes="graph-recognize")
    assert (outcome.counts, outcome.reasons) == ({}, set())
