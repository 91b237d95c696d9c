"""Rules for one rank: an op on parts of its operands gives the part of its result."""

import numpy as np
import pytest
from graph_programs import build_module, ops_of
from rewriting import random_inputs

from graphc.dialects import graph
from graphc.passes.graph.shard.rules import local_form
from graphc.passes.graph.shard.sharding import Mesh, Sharding
from graphc.passes.infra.rewrite import Decline

MESH = Mesh(2, "tensor")


def attention(**attrs):
    return lambda q, k, v, *mask: graph.attention(q, k, v, *(mask or (None,)), **attrs)


CASES = [
    # builder, types of its operands, axes of the result that may be divided, others need a reason
    (graph.add, ["4x8xf32", "8xf32"], {0, 1}),
    (graph.add, ["4x1xf32", "1x8xf32"], {0, 1}),
    (graph.where, ["4x1xi1", "8xf32", "4x8xf32"], {0, 1}),
    (lambda x: graph.cast(x, to=np.float16), ["4x8xf32"], {0, 1}),
    (graph.matmul, ["4x3xf32", "3x8xf32"], {0, 1}),
    (graph.matmul, ["4x2x3xf32", "4x3x8xf32"], {0, 1, 2}),
    (graph.matmul, ["4x4x2x3xf32", "4x1x3x8xf32"], {0, 1, 2, 3}),
    (lambda *xs: graph.einsum(xs, equation="abc,cd->adb"), ["4x2x3xf32", "3x8xf32"], {0, 1, 2}),
    (lambda *xs: graph.einsum(xs, equation="aab,bc->ac"), ["4x4x3xf32", "3x8xf32"], {1}),
    (attention(scale=0.5, causal=True), ["2x4x3x5xf32"] * 2 + ["2x4x3x8xf32"], {0, 1, 3}),
    (attention(scale=0.5, causal=False), ["2x4x4x5xf32", "2x1x3x5xf32", "2x1x3x8xf32", "4x4x3xf32"],
     {0, 1, 3}),
    (lambda *xs: graph.cached_attention(*xs, scale=0.5, softcap=2.0, left=-1, right=0),
     ["2x8x4x5xf32", "2x4x6x5xf32", "2x4x6x4xf32", "2xi64", "2xi64", "1x8x4x6xf32", "8xf32",
      "2xi64"], {1}),
    (lambda *xs: graph.extend_cache(*xs, axis=2, size=8),
     ["2x4x6x8xf32", "2x4x2x8xf32", "2xi64"], {1, 3}),
    (lambda *xs: graph.tensor_scatter(*xs, axis=2, used=0),
     ["5x4x6x8xf32", "2x4x2x8xf32", "2xi64", "2xi64"], {1, 3}),
    (lambda *xs: graph.rotary_embedding(*xs, interleaved=True),
     ["2x4x4x8xf32", "4x4xf32", "2x1x4x4xf32"], {0, 1, 2}),
    (lambda x, s, b: graph.layer_norm(x, s, b, axis=2, epsilon=1e-5),
     ["4x2x8xf32", "8xf32", "2x1xf32"], {0, 1}),
    (lambda x, s: graph.rms_norm(x, s, axis=1, epsilon=1e-5), ["4x2x8xf32", "8xf32"], {0}),
    (lambda x: graph.softmax(x, axis=1), ["4x2x8xf32"], {0, 2}),
    (lambda *xs: graph.batch_norm(*xs, axis=1, epsilon=1e-5), ["4x2x8xf32", *["2xf32"] * 4],
     {0, 2}),
    (lambda x: graph.cumsum(x, axis=1, exclusive=False, reverse=True), ["4x2x8xf32"], {0, 2}),
    (lambda x: graph.reduce_sum(x, axes=[1], keepdims=False), ["4x3x8xf32"], {0, 1}),
    (lambda x: graph.reduce_max(x, axes=[0], keepdims=True), ["3x4x8xf32"], {1, 2}),
    (lambda x, i: graph.gather(x, i, axis=1), ["4x5x8xf32", "2x4xi64"], {0, 1, 2, 3}),
    (lambda x: graph.transpose(x, perm=[2, 0, 1]), ["4x2x8xf32"], {0, 1, 2}),
    (lambda x: graph.expand(x, shape=[2, 4, 8]), ["4x1xf32"], {0, 1, 2}),
    (lambda x: graph.repeat(x, repeats=[1, 2]), ["4x4xf32"], {0, 1}),
    (lambda x: graph.reshape(x, shape=[4, 3, 2, 4]), ["4x24xf32"], {0, 2, 3}),
    (lambda x: graph.reshape(x, shape=[4, 24]), ["4x3x2x4xf32"], {0}),
    (lambda x: graph.reshape(x, shape=[4, 24]), ["4x4x6xf32"], {0, 1}),
    (lambda x: graph.reshape(x, shape=[1, 4, 1, 8]), ["4x8xf32"], {1, 3}),
    (lambda x: graph.reshape(x, shape=[6, 4]), ["4x6xf32"], {0}),
    (lambda x, v: graph.pad(x, v, low=[0, 1], high=[0, 5]), ["4x2xf32", "f32"], {0}),
    (lambda *xs: graph.concat(xs, axis=0), ["2x8xf32", "2x8xf32"], {1}),
    (lambda x: graph.slice_(x, starts=[0, 4], sizes=[4, 4], steps=[1, 1]), ["4x8xf32"], {0, 1}),
    (lambda x: graph.slice_(x, starts=[3, 0], sizes=[4, 4], steps=[-1, 2]), ["4x8xf32"], set()),
    (lambda x: graph.arg_max(x, axis=1, keepdims=False, last_index=False), ["4x8xf32"], set()),
]  # fmt: skip


def parts(form, op, arrays, rank):
    """The operand groups of one rank."""
    waiting = iter(arrays)

    def part(value, request):
        del value
        x = next(waiting)
        if request is None:
            return x
        return graph.part_of_rank(x, request.axis, request.sections, MESH.ranks, rank)

    return form.map(op, part)


def form_of(op, sharding):
    """The form of `op` on one rank, or None if ranks do not have equal parts."""
    try:
        form = local_form(op, sharding, MESH)
    except Decline:
        return None
    return None if any(request.problem(MESH) for _, request in form.parts(op)) else form


def sections_of(size):
    yield (size,)
    if size == 8:
        yield (4, 4)
        yield (2, 6)


@np.errstate(invalid="ignore")  # variances are drawn below 0, too
@pytest.mark.parametrize("number", range(len(CASES)))
def test_parts_of_operands_give_the_part_of_the_result(number, context):
    body, types, divisible = CASES[number]
    module = build_module(body, *types)
    (op,) = ops_of(module)
    arrays = random_inputs(module)
    waiting = iter(arrays)
    groups = [graph.map_group(lambda _: next(waiting), g) for g in op.operand_groups.values()]
    whole = np.asarray(type(op).evaluate(*groups, **op.attrs))
    divided = set()
    for axis, size in enumerate(whole.shape):
        for sections in sections_of(size) if size % 2 == 0 else ():
            sharding = Sharding(axis, sections)
            form = form_of(op, sharding)
            if form is None:
                continue
            divided |= {axis}
            for rank in range(MESH.ranks):
                own = {**op.attrs, **form.attrs}
                found = type(op).evaluate(*parts(form, op, arrays, rank), **own)
                expected = graph.part_of_rank(whole, axis, sections, MESH.ranks, rank)
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert divided == divisible
