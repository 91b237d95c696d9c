"""Tests of the attention kernel for tensor cores, interpreted."""

import math

import numpy as np
import pytest

from graphc.benchmarks.measure import largest_difference
from graphc.dialects import graph, iree
from graphc.mlir import ir
from graphc.passes.graph_to_linalg.strided_view import row_major
from graphc.passes.kernels.mma_attention import (
    MaskStrides,
    MmaAttentionEmitter,
    MmaAttentionShape,
    StridedRows,
)
from harness import simt
from harness.marks import long

F16 = np.dtype(np.float16)


def rows_of(sizes):
    *lead, row, _ = row_major(sizes)
    return StridedRows(0, tuple(lead), row)


def run(context, shape, operands, mask):
    """The result of the kernel, flat."""
    context.allow_unregistered_dialects = True
    module = ir.Module.create()
    count = math.prod(shape.lead) * shape.queries * shape.value_size
    buffers = [*operands, *([] if mask is None else [mask]), np.full(count, np.nan, F16)]
    types = [iree.Buffer(graph.element_type(each.dtype), each.size) for each in buffers]

    def kernel(number, q, k, v, *others):
        *masks, result = others
        emitter = MmaAttentionEmitter(shape, q, k, v, masks[0] if masks else None, result)
        emitter.workgroup(number)

    with ir.InsertionPoint(module.body):
        executable = iree.define_kernel("k", types, kernel, threads=shape.threads)
    module.operation.verify()
    (function,) = simt.find_all(executable, "func.func")
    simt.run_kernel(function, shape.threads, shape.workgroups, buffers)
    return buffers[-1]


def expected(q, k, v, seen):
    """Attention in f64; `seen` is added to the scores."""
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1]) + seen
    weights = np.exp(scores - np.maximum(scores.max(-1, keepdims=True), -1e30))
    total = weights.sum(-1, keepdims=True)
    return weights @ v / np.where(total == 0, 1, total)


@pytest.mark.parametrize(
    ("lead", "queries", "keys", "size", "value_size", "warps"),
    [
        ((2,), 40, 70, 64, 64, 2),  # borders of queries and keys
        ((1, 3), 40, 150, 32, 48, 1),
        ((), 16, 130, 128, 128, 4),
    ],
)
@pytest.mark.parametrize("kind", ["all", long("causal"), long("bool"), "float"])
def test_attention(context, lead, queries, keys, size, value_size, warps, kind):
    rng = np.random.default_rng(0)
    shapes = [(*lead, queries, size), (*lead, keys, size), (*lead, keys, value_size)]
    q, k, v = (rng.standard_normal(each).astype(F16) for each in shapes)
    seen, mask, strides = np.zeros((queries, keys)), None, None
    if kind == "causal":
        seen[np.arange(keys) > np.arange(queries)[:, None]] = -np.inf
    elif kind == "bool":
        mask = (rng.random((queries, keys)) < 0.6).astype(np.int8)
        mask[3] = 0  # this one sees nothing
        seen[mask == 0] = -np.inf
        strides = MaskStrides((*[0] * len(lead), keys, 1), is_bool=True)
    elif kind == "float":
        mask = np.where(rng.random(keys) < 0.6, 0, -np.inf).astype(F16)
        seen += mask
        strides = MaskStrides((*[0] * len(lead), 0, 1), is_bool=False)
    shape = MmaAttentionShape(
        *(lead, queries, keys, size, value_size),
        *map(rows_of, shapes),
        rows_of((*lead, queries, value_size)),
        *(strides, 1 / math.sqrt(size), kind == "causal", F16, warps),
    )
    flat = None if mask is None else mask.reshape(-1)
    y = run(context, shape, [each.reshape(-1) for each in (q, k, v)], flat)
    wanted = expected(q, k, v, seen)
    assert largest_difference(y.reshape(wanted.shape), wanted) <= 1e-3


def test_operands_within_one_tensor(context):
    """Queries, keys and values of three heads, ``[tokens, 3, heads, size]``; the result has the
    heads behind the tokens."""
    tokens, heads, size = 48, 3, 64
    both = np.random.default_rng(0).standard_normal((tokens, 3, heads, size)).astype(F16)
    parts = [StridedRows(part * heads * size, (size,), 3 * heads * size) for part in range(3)]
    result = StridedRows(0, (size,), heads * size)
    shape = MmaAttentionShape(
        *((heads,), tokens, tokens, size, size, *parts, result),
        *(None, 1 / math.sqrt(size), False, F16, 1),
    )
    y = run(context, shape, [both.reshape(-1)] * 3, None)
    wanted = expected(*(both[:, part].swapaxes(0, 1) for part in range(3)), 0).swapaxes(0, 1)
    assert largest_difference(y.reshape(wanted.shape), wanted) <= 1e-3
