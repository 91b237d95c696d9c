"""Division among ranks: forms of layers, each compared with the undivided one in numpy."""

import numpy as np
import pytest
from rewriting import number, rewrite, weights

from graphc.dialects import graph
from graphc.dialects.symbolic import Dim

B, S, H, D = 2, 3, 4, 2
WIDTH = H * D


def shard(body, *types, ranks=2, gather_bytes=1 << 20):
    return rewrite(body, *types, passes=f"graph-shard{{ranks={ranks} gather-bytes={gather_bytes}}}")


def dense(x, rows, columns, seed):
    bias = weights(columns, seed=seed + 100)
    return graph.add(graph.matmul(x, weights(rows, columns, seed=seed)), bias)


def heads(x, count=H):
    return graph.transpose(graph.reshape(x, shape=[B, S, count, D]), perm=[0, 2, 1, 3])


def merged(x):
    return graph.reshape(graph.transpose(x, perm=[0, 2, 1, 3]), shape=[B, S, WIDTH])


def attend(q, k, v, mask=None):
    return graph.attention(q, k, v, mask, scale=0.5, causal=False)


def output(x):
    return dense(x, WIDTH, 5, 9)


def sliced(x, start, size):
    return graph.slice_(x, starts=[0, 0, start], sizes=[B, S, size], steps=[1, 1, 1])


def separate_heads(x, rows=5):
    q, k, v = (heads(dense(x, rows, WIDTH, seed)) for seed in range(3))
    return output(merged(attend(q, k, v)))


def packed_heads(x):
    packed = dense(x, 5, 3 * WIDTH, 0)
    q, k, v = (heads(sliced(packed, n * WIDTH, WIDTH)) for n in range(3))
    return output(merged(attend(q, k, v)))


def packed_groups(x):
    """Twice as many heads of queries as of keys."""
    packed = dense(x, 5, 2 * WIDTH, 0)
    q = graph.reshape(heads(sliced(packed, 0, WIDTH)), shape=[B, 2, 2, S, D])
    k, v = (
        graph.reshape(heads(sliced(packed, start, WIDTH // 2), 2), shape=[B, 2, 1, S, D])
        for start in (WIDTH, WIDTH + WIDTH // 2)
    )
    return output(merged(graph.reshape(attend(q, k, v), shape=[B, H, S, D])))


def stacked_heads(x):
    """Queries, keys and values on an axis of their own."""
    packed = graph.reshape(dense(x, 5, 3 * WIDTH, 0), shape=[B, S, 3, H, D])
    moved = graph.transpose(packed, perm=[2, 0, 3, 1, 4])
    index = (graph.constant(value=np.int64(n)) for n in range(3))
    q, k, v = (graph.gather(moved, n, axis=0) for n in index)
    return output(merged(attend(q, k, v)))


def one_head_of_keys(x):
    q = heads(dense(x, 5, WIDTH, 0))
    k, v = (heads(dense(x, 5, D, seed), 1) for seed in (1, 2))
    return output(merged(attend(q, k, v)))


def decomposed(x):
    q, k, v = (heads(dense(x, 5, WIDTH, seed)) for seed in range(3))
    scores = graph.matmul(q, graph.transpose(k, perm=[0, 1, 3, 2]))
    bias = weights(1, H, S, S, seed=50)
    probabilities = graph.softmax(graph.add(scores, bias), axis=3)
    return output(merged(graph.matmul(probabilities, v)))


def rotated(x):
    cos, sin = (weights(1, 1, S, D // 2, seed=seed) for seed in (60, 61))
    q, k = (
        graph.rotary_embedding(heads(dense(x, 5, WIDTH, seed)), cos, sin, interleaved=False)
        for seed in range(2)
    )
    normalised = graph.rms_norm(q, weights(D, seed=62), axis=3, epsilon=1e-5)
    return output(merged(attend(normalised, k, heads(dense(x, 5, WIDTH, 2)))))


def feed_forward(x):
    return dense(graph.gelu(dense(x, 5, 8, 0), approximate="none"), 8, 5, 1)


def gated(x):
    gate = graph.swish(graph.matmul(x, weights(5, 8)), alpha=1.0)
    return graph.matmul(graph.mul(gate, graph.matmul(x, weights(5, 8, seed=1))), weights(8, 5))


def packed_gate(x):
    packed = graph.matmul(x, weights(5, 16))
    gate, up = (
        graph.slice_(packed, starts=[0, 0, start], sizes=[B, S, 8], steps=[1, 1, 1])
        for start in (0, 8)
    )
    return graph.matmul(graph.mul(graph.swish(gate, alpha=1.0), up), weights(8, 5))


def transposed_weights(x):
    def linear(x, rows, columns, seed):
        return graph.matmul(x, graph.transpose(weights(columns, rows, seed=seed), perm=[1, 0]))

    return linear(graph.relu(linear(x, 5, 8, 0)), 8, 5, 1)


def einsums(x):
    hidden = graph.einsum([x, weights(5, H, D)], equation="bsd,dhk->bshk")
    return graph.einsum([graph.relu(hidden), weights(H, D, 5)], equation="bshk,hkd->bsd")


def side_by_side(x):
    """Attention and feed-forward layer share their output matmul."""
    joined = graph.concat([graph.relu(dense(x, 5, 8, 0)), dense(x, 5, 4, 1)], axis=2)
    return dense(joined, 12, 5, 2)


def weights_on_the_left(x):
    hidden = graph.relu(graph.matmul(weights(8, 3), x))
    return graph.matmul(weights(5, 8, seed=1), hidden)


def pooled(x):
    hidden = graph.relu(dense(x, 5, 8, 0))
    return dense(graph.reduce_mean(hidden, axes=[1], keepdims=False), 8, 5, 1)


def quantized(x):
    zero = graph.constant(value=np.zeros((1, 8), np.int8))
    scale = weights(1, 8, seed=2)
    integers = graph.constant(value=np.arange(40, dtype=np.int8).reshape(5, 8))
    w = graph.dequantize(integers, scale, zero, to=np.float32)
    return dense(graph.relu(graph.matmul(x, w)), 8, 5, 1)


LAYERS = [
    separate_heads, packed_heads, packed_groups, stacked_heads, one_head_of_keys, decomposed,
    rotated, feed_forward, gated, packed_gate, transposed_weights, einsums, side_by_side,
    weights_on_the_left, pooled, quantized,
]  # fmt: skip


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_layers_need_one_sum(layer):
    outcome = shard(layer, f"{B}x{S}x5xf32")
    assert outcome.counts == {"row-parallel": 1}
    assert outcome.ops["all_reduce"] == 1
    assert "all_gather" not in outcome.ops


@pytest.mark.parametrize("layer", [separate_heads, packed_heads, gated])
def test_four_ranks(layer):
    assert shard(layer, f"{B}x{S}x5xf32", ranks=4).counts == {"row-parallel": 1}


def test_named_sizes_stay():
    outcome = shard(feed_forward, "batchxseqx5xf32")
    assert outcome.counts == {"row-parallel": 1}


def test_heads_of_a_named_batch_in_one_axis():
    """Attention by matmuls of three axes, as BLOOM and DeBERTa have it."""
    n = Dim.symbol("batch")

    def flat(x, seed):
        split = graph.reshape(dense(x, 5, WIDTH, seed), shape=[n, S, H, D])
        return graph.reshape(graph.transpose(split, perm=[0, 2, 1, 3]), shape=[n * H, S, D])

    def body(x):
        q, k, v = (flat(x, seed) for seed in range(3))
        scores = graph.matmul(q, graph.transpose(k, perm=[0, 2, 1]))
        slopes = graph.reshape(weights(H, seed=50), shape=[1, H, 1])
        bias = graph.reshape(graph.expand(slopes, shape=[n, H, S]), shape=[n * H, 1, S])
        found = graph.matmul(graph.softmax(graph.add(scores, bias), axis=2), v)
        joined = graph.transpose(graph.reshape(found, shape=[n, H, S, D]), perm=[0, 2, 1, 3])
        return output(graph.reshape(joined, shape=[n, S, WIDTH]))

    for ranks in (2, 4):
        outcome = shard(body, f"batchx{S}x5xf32", ranks=ranks)
        assert outcome.counts == {"row-parallel": 1}
        assert "all_gather" not in outcome.ops


def test_an_input_with_batch_and_heads_in_one_axis():
    """Its parts are no sections, whose number would be the batch."""
    n = Dim.symbol("batch")

    def body(x, keys):
        q = graph.transpose(graph.reshape(dense(x, 5, WIDTH, 0), shape=[n, S, H, D]),
                            perm=[0, 2, 1, 3])  # fmt: skip
        scores = graph.matmul(graph.reshape(q, shape=[n * H, S, D]), keys)
        joined = graph.transpose(graph.reshape(scores, shape=[n, H, S, D]), perm=[0, 2, 1, 3])
        return output(graph.reshape(joined, shape=[n, S, WIDTH]))

    shapes = (2, S, 5), (2 * H, D, D)
    inputs = [np.random.default_rng(0).standard_normal(shape, np.float32) for shape in shapes]
    types = f"batchx{S}x5xf32", f"{H}*batchx{D}x{D}xf32"
    outcome = rewrite(body, *types, passes="graph-shard", inputs=inputs)
    assert not outcome.counts
    assert "it is an input" in outcome.reasons


def test_16_bits():
    def body(x):
        hidden = graph.relu(graph.matmul(x, weights(5, 8, dtype=np.float16)))
        return graph.matmul(hidden, weights(8, 5, dtype=np.float16))

    outcome = rewrite(body, "3x5xf16", passes="graph-shard", tolerance=2e-2)
    assert outcome.counts == {"row-parallel": 1}


def test_a_chain_is_divided_in_pairs():
    def body(x):
        for seed in range(4):
            x = graph.relu(dense(x, 8, 8, seed))
        return x

    assert shard(body, "3x8xf32").counts == {"row-parallel": 2}


def test_a_matmul_before_attention_is_no_part_of_a_pair():
    outcome = shard(lambda x: separate_heads(dense(x, 5, 6, 20), 6), f"{B}x{S}x5xf32")
    assert outcome.counts == {"row-parallel": 1}
    assert outcome.ops["all_reduce"] == 1


def test_a_residual_stream_is_no_block():
    def body(x):
        for seed in range(0, 6, 2):
            x = graph.add(x, dense(graph.relu(dense(x, 8, 8, seed)), 8, 8, seed + 1))
        return x

    assert shard(body, "3x8xf32").counts == {"row-parallel": 3}


def test_what_others_use_is_gathered_once():
    def body(x):
        hidden = dense(x, 5, 8, 0)
        return dense(graph.relu(hidden), 8, 5, 1), hidden

    outcome = shard(body, "3x5xf32")
    assert outcome.counts == {"row-parallel": 1, "gather-columns": 1}


@pytest.mark.parametrize("reduce", [graph.reduce_max, graph.reduce_min, graph.reduce_sum])
def test_scales_are_of_all_parts(reduce):
    """Nothing is gathered for the scale of an operand, as of one that is quantised dynamically."""

    def body(x):
        hidden = graph.relu(graph.add(dense(x, 5, 8, 0), number(1.0, x)))
        scale = graph.add(reduce(hidden, axes=[0, 1, 2], keepdims=False), number(1.0, x))
        return graph.mul(graph.matmul(graph.div(hidden, scale), weights(8, 5, seed=1)), scale)

    outcome = shard(body, f"{B}x{S}x5xf32")
    assert outcome.counts == {"row-parallel": 1, "reduce-parts": 1}
    assert "all_gather" not in outcome.ops


def test_tables_and_logits_are_gathered():
    def body(ids):
        rows = graph.gather(weights(16, 6), ids, axis=0)
        return graph.matmul(rows, graph.transpose(weights(16, 6), perm=[1, 0]))

    outcome = shard(body, "nxi64", gather_bytes=16)
    assert outcome.counts == {"gather-columns": 2}
    assert outcome.ops == {
        "all_slice": 2,
        "gather": 1,
        "all_gather": 2,
        "transpose": 1,
        "matmul": 1,
    }


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (lambda x: dense(graph.relu(dense(x, 5, 9, 0)), 9, 5, 1), "2 ranks do not divide 9"),
        (lambda x: dense(graph.softmax(dense(x, 5, 8, 0), axis=2), 8, 5, 1),
         "needs all elements of the axis"),
        (lambda x: dense(graph.layer_norm(dense(x, 5, 8, 0), weights(8), None, axis=2,
                                          epsilon=1e-5), 8, 5, 1), "normalises over the axis"),
        (lambda x: dense(graph.cumsum(dense(x, 5, 8, 0), axis=2, exclusive=False, reverse=False),
                         8, 5, 1), "needs all elements of the axis"),
        (lambda x: dense(x, 5, 8, 0), "2 ranks do not divide 5"),
        (lambda x: dense(graph.reshape(dense(x, 5, 12, 0), shape=[B, S, 12]), 12, 5, 1), None),
    ],
)  # fmt: skip
def test_layers_that_stay_whole(body, reason):
    outcome = shard(body, f"{B}x{S}x5xf32")
    assert ("row-parallel" in outcome.counts) == (reason is None)
    assert reason is None or any(reason in each for each in outcome.reasons)


def test_heads_that_ranks_do_not_divide():
    def body(x):
        q, k, v = (
            graph.transpose(graph.reshape(dense(x, 5, 12, seed), shape=[B, S, 3, 4]),
                            perm=[0, 2, 1, 3])
            for seed in range(3)
        )  # fmt: skip
        joined = graph.transpose(attend(q, k, v), perm=[0, 2, 1, 3])
        return dense(graph.reshape(joined, shape=[B, S, 12]), 12, 5, 9)

    outcome = shard(body, f"{B}x{S}x5xf32")
    assert not outcome.counts
    assert any("2 ranks do not divide its 3x4 elements" in each for each in outcome.reasons)


def blocks(x, rows, columns, count, seed):
    """A matmul by integers with a scale for each of `count` blocks of the rows of a column."""
    shape = (columns, count, rows // count)
    integers = np.arange(rows * columns).reshape(shape).astype(np.int8)
    zeros = graph.constant(value=np.zeros((columns, count, 1), np.int8))
    scales = weights(columns, count, 1, seed=seed)
    w = graph.dequantize(graph.constant(value=integers), scales, zeros, to=np.float32)
    w = graph.transpose(graph.reshape(w, shape=[columns, rows]), perm=[1, 0])
    return graph.matmul(x, w)


@pytest.mark.parametrize(("count", "fired"), [(4, {"row-parallel": 1}), (3, {})])
def test_blocks_of_quantized_weights_are_whole(count, fired):
    """Half of three blocks of 32 rows is no block: a rank would widen all of the weight."""

    def body(x):
        return blocks(graph.relu(blocks(x, 32, 96, 1, 0)), 96, 32, count, 1)

    outcome = shard(body, "3x32xf32")
    assert outcome.counts == fired
    reason = "2 ranks do not divide its 3x32 elements"
    assert any(reason in each for each in outcome.reasons) == (not fired)


def test_loops_and_branches_stay_whole():
    """Collectives cut the function, not what is within its ops."""

    def body(x, flag):
        def layer():
            return [feed_forward(x)]

        return graph.if_(flag, layer, lambda: [x], lambda name: name)

    outcome = rewrite(body, f"{B}x{S}x5xf32", "i1", passes="graph-shard{gather-bytes=0}")
    assert not outcome.counts
    assert any("within a loop or a branch" in reason for reason in outcome.reasons)


def test_inputs_are_no_weights():
    outcome = shard(lambda x, v, w: graph.matmul(graph.matmul(x, v), w), "3x4xf32", "4x8xf32",
                    "8x2xf32")  # fmt: skip
    assert not outcome.counts
    assert not outcome.reasons
