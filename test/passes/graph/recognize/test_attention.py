"""Attention in all the ways in which it is written."""

import numpy as np
import pytest
from rewriting import number, rewrite, weights

from graphc.dialects import graph

Q = "2x4x5x8xf32"
K = "2x4x6x8xf32"
V = "2x4x6x7xf32"
SCALE = 8**-0.5
LOWEST = float(np.finfo(np.float32).min)


def swap(x):
    rank = graph.type_of(x).rank
    return graph.transpose(x, perm=[*range(rank - 2), rank - 1, rank - 2])


def softmax(x):
    return graph.softmax(x, axis=graph.type_of(x).rank - 1)


def attend(q, k, v, between=lambda scores: scores):
    return graph.matmul(softmax(between(graph.matmul(q, swap(k)))), v)


def scaled(x, factor=SCALE):
    return graph.mul(x, number(factor, x))


SCALES = {
    "after": lambda q, k, v: attend(q, k, v, scaled),
    "divided": lambda q, k, v: attend(q, k, v, lambda s: graph.div(s, number(8**0.5, s))),
    "on the queries": lambda q, k, v: attend(scaled(q), k, v),
    "split": lambda q, k, v: graph.matmul(
        softmax(graph.matmul(scaled(q, SCALE**0.5), scaled(swap(k), SCALE**0.5))), v
    ),
    "absent": attend,
}


@pytest.mark.parametrize("name", SCALES)
def test_scales(name):
    outcome = rewrite(SCALES[name], Q, K, V, passes="graph-recognize")
    assert outcome.ops == {"attention": 1}
    attributes = outcome.attributes("attention")
    assert attributes["scale"] == pytest.approx(1 if name == "absent" else SCALE)
    assert attributes["causal"] is False


@pytest.mark.parametrize("shapes", [("5x8xf32", "6x8xf32", "6x7xf32"), ("bxsx8xf32",) * 3])
def test_ranks_and_symbolic_sizes(shapes):
    outcome = rewrite(lambda *x: attend(*x, scaled), *shapes, passes="graph-recognize")
    assert outcome.ops == {"attention": 1}


TRANSPOSES = {
    "heads and keys at once": (
        "2x6x4x8xf32",
        lambda k: graph.transpose(k, perm=[0, 2, 3, 1]),
        {"transpose": 1, "attention": 1},
    ),
    "in batches": (
        K,
        lambda k: graph.reshape(swap(graph.reshape(k, shape=[8, 6, 8])), shape=[2, 4, 8, 6]),
        {"attention": 1},
    ),
    "not at all": ("2x4x8x6xf32", lambda k: k, {"transpose": 1, "attention": 1}),
}


@pytest.mark.parametrize("name", TRANSPOSES)
def test_transposes_of_the_keys(name):
    type_, transposed, expected = TRANSPOSES[name]

    def body(q, k, v):
        return graph.matmul(softmax(scaled(graph.matmul(q, transposed(k)))), v)

    assert rewrite(body, Q, type_, V, passes="graph-recognize").ops == expected


def guarded(p):
    zero = graph.constant(value=np.zeros((1,), np.float32))
    return graph.where(graph.is_nan(p), zero, p)


@pytest.mark.parametrize("filler", [LOWEST, -np.inf, -10000.0])
@pytest.mark.parametrize("shape", ["2x1x5x6xi1", "5x6xi1", "2x1x1x6xi1"])
def test_added_masks(shape, filler):
    """Added masks, as written for boolean masks, with a guard: rows that see nothing give zeros."""

    def body(q, k, v, mask):
        added = graph.where(mask, number(0, q), number(filler, q))
        scores = graph.add(scaled(graph.matmul(q, swap(k))), added)
        return graph.matmul(guarded(softmax(scores)), v)

    masks = np.random.default_rng(0).random([int(s) for s in shape.split("x")[:-1]]) < 0.5
    masks[..., 0, :] = filler != -np.inf and masks[..., 0, :]
    q, k, v = (np.random.default_rng(i).standard_normal(s).astype(np.float32)
               for i, s in enumerate([(2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 7)]))  # fmt: skip
    outcome = rewrite(body, Q, K, V, shape, passes="graph-recognize", inputs=[q, k, v, masks])
    assert outcome.ops == {"where": 1, "attention": 1}


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("filler", [-1e9, -np.inf])
def test_chosen_masks(keeps, filler):
    def body(q, k, v, mask):
        def between(scores):
            other = number(filler, scores)
            choices = (scaled(scores), other) if keeps else (other, scaled(scores))
            return graph.where(mask, *choices)

        return attend(q, k, v, between)

    mask = np.random.default_rng(0).random((2, 1, 1, 6)) < 0.5
    mask[..., :2] = [True, False]
    q, k, v = (np.random.default_rng(i).standard_normal(s).astype(np.float32)
               for i, s in enumerate([(2, 4, 5, 8), (2, 4, 6, 8), (2, 4, 6, 7)]))  # fmt: skip
    outcome = rewrite(body, Q, K, V, "2x1x1x6xi1", passes="graph-recognize", inputs=[q, k, v, mask])
    prepared = {"where": 1} if filler == -1e9 else {} if keeps else {"not": 1}
    assert outcome.ops == {**prepared, "attention": 1}


def causal(rows, columns, hidden):
    visible = np.tri(rows, columns, dtype=bool)
    return np.where(visible, 0, hidden).astype(np.float32)


@pytest.mark.parametrize("hidden", [LOWEST, -np.inf, -10000.0])
def test_constant_causal_masks(hidden):
    def body(q, k, v):
        mask = graph.constant(value=causal(5, 6, hidden)[None, None])
        triangle = graph.constant(value=np.tri(5, 6, dtype=bool))
        chosen = attend(q, k, v, lambda s: graph.where(triangle, s, number(hidden, s)))
        hidden_ones = graph.constant(value=~np.tri(5, 6, dtype=bool))
        filled = attend(q, k, v, lambda s: graph.where(hidden_ones, number(hidden, s), s))
        return attend(q, k, v, lambda s: graph.add(mask, scaled(s))), chosen, filled

    outcome = rewrite(body, Q, K, V, passes="graph-recognize")
    assert outcome.ops == {"attention": 3}
    assert str(outcome.module).count("causal = true") == 3


@pytest.mark.parametrize("mask", [causal(5, 6, -1.0), causal(5, 6, -np.inf)[::-1]])
def test_other_constant_masks_stay(mask):
    def body(q, k, v):
        return attend(q, k, v, lambda s: graph.add(s, graph.constant(value=mask)))

    outcome = rewrite(body, Q, K, V, passes="graph-recognize")
    assert outcome.ops == {"attention": 1}
    assert "causal = false" in str(outcome.module)


def test_masks_that_hide_nothing_are_dropped():
    def body(q, k, v):
        zeros = graph.constant(value=np.zeros((1, 1, 5, 6), np.float32))
        everything = graph.constant(value=np.ones((5, 6), bool))
        first = attend(q, k, v, lambda s: graph.add(s, zeros))
        return first, attend(q, k, v, lambda s: graph.where(everything, s, number(-np.inf, s)))

    outcome = rewrite(body, Q, K, V, passes="graph-recognize")
    assert outcome.ops == {"attention": 2}
    assert str(outcome.module).count("array<i32: 1, 1, 1, 0>") == 2


def test_softmax_in_f32():
    def body(q, k, v):
        scores = graph.cast(scaled(graph.matmul(q, swap(k))), to=np.float32)
        return graph.matmul(graph.cast(softmax(scores), to=np.float16), v)

    types = [t.replace("f32", "f16") for t in (Q, K, V)]
    assert rewrite(body, *types, passes="graph-recognize").ops == {"attention": 1}


def test_written_out_softmax():
    def body(q, k, v):
        scores = scaled(graph.matmul(q, swap(k)))
        largest = graph.reduce_max(scores, axes=(3,), keepdims=True)
        powers = graph.exp(graph.sub(scores, largest))
        total = graph.reduce_sum(powers, axes=(3,), keepdims=True)
        return graph.matmul(graph.div(powers, total), v)

    outcome = rewrite(body, Q, K, V, passes="graph-recognize")
    assert outcome.counts == {"recognize-softmax": 1, "recognize-attention": 1}


def test_weights_that_are_results_decline():
    def body(q, k, v):
        weights = softmax(scaled(graph.matmul(q, swap(k))))
        return graph.matmul(weights, v), weights

    outcome = rewrite(body, Q, K, V, passes="graph-recognize")
    assert outcome.counts == {}
    assert outcome.reasons == {"'graph.softmax' is used elsewhere"}


def test_heads_and_batches_in_one_axis():
    """As BLOOM has it: a bias of distances is added there, and the mask to scores of heads."""

    def body(q, k, v, bias, mask):
        q, k, v = (graph.reshape(x, shape=[8, *graph.type_of(x).shape[2:]]) for x in (q, k, v))
        scores = graph.add(scaled(graph.matmul(q, swap(k))), graph.reshape(bias, shape=[8, 1, 6]))
        scores = graph.add(graph.reshape(scores, shape=[2, 4, 5, 6]), mask)
        return graph.matmul(graph.reshape(softmax(scores), shape=[8, 5, 6]), v)

    types = (Q, K, V, "2x4x6xf32", "2x1x5x6xf32")
    outcome = rewrite(body, *types, passes="graph-recognize")
    assert outcome.counts == {"recognize-attention": 1}
    assert outcome.ops == {"attention": 1, "add": 1, "reshape": 2}  # of the bias and the result


def test_two_added_masks_become_one():
    def body(q, k, v, bias, mask):
        return attend(q, k, v, lambda s: graph.add(graph.add(scaled(s), bias), mask))

    types = (Q, K, V, "4x1x6xf32", "2x1x5x6xf32")
    assert rewrite(body, *types, passes="graph-recognize").ops == {"attention": 1, "add": 1}


def test_two_masks_decline():
    def body(q, k, v, mask):
        bias = weights(4, 5, 6)
        return attend(q, k, v, lambda s: graph.where(mask, graph.add(s, bias), number(-1e9, s)))

    outcome = rewrite(body, Q, K, V, "2x1x1x6xi1", passes="graph-recognize")
    assert outcome.reasons == {"it has two masks"}


def test_a_mask_that_broadcasts_the_scores_declines():
    def body(q, k, v, mask):
        return attend(q, k, v, lambda s: graph.where(mask, s, number(-np.inf, s)))

    outcome = rewrite(
        body, "5x8xf32", "6x8xf32", "6x7xf32", "3x5x6xi1", passes="graph-recognize",
        inputs=[np.ones(s, t) for s, t in (((5, 8), "f4"), ((6, 8), "f4"), ((6, 7), "f4"),
                                           ((3, 5, 6), "?"))],
    )  # fmt: skip
    assert "attention" not in outcome.ops


def test_near_misses():
    def body(q, k, v):
        first_axis = graph.matmul(graph.softmax(graph.matmul(q, swap(k)), axis=2), v)
        shifted = attend(
            q, k, v, lambda s: graph.where(graph.greater(s, number(0, s)), s, v_like(s))
        )
        squashed = attend(q, k, v, lambda s: graph.tanh(s))
        return first_axis, shifted, squashed

    def v_like(scores):
        return number(-1, scores)

    outcome = rewrite(body, Q, K, V, passes="graph-recognize")
    assert (outcome.counts, outcome.reasons) == ({}, set())
