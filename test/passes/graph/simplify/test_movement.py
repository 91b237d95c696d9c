"""Simplifications of ops that move data: transposes, reshapes, expansions, slices, joins."""

import numpy as np
import pytest
from simplify_examples import Example, N, c, check_example

from graphc.dialects import graph

EXAMPLES = [
    Example("identity-transpose", lambda x: graph.transpose(x, perm=[0, 1]), []),
    Example(
        "transpose-of-transpose",
        lambda x: graph.transpose(graph.transpose(x, perm=[1, 2, 0]), perm=[1, 0, 2]),
        ["transpose"],
        ("2x3x4xf32",),
    ),
    Example(
        "transpose-of-unit-axes",
        lambda x: graph.transpose(x, perm=[2, 0, 1, 3]),
        ["reshape"],
        ("3x4x1x1xf32",),
    ),
    Example("identity-reshape", lambda x: graph.reshape(x, shape=[4, 3]), []),
    Example(
        "reshape-of-reshape",
        lambda x: graph.reshape(graph.reshape(x, shape=[2, 6]), shape=[12]),
        ["reshape"],
    ),
    Example(
        "reshape-of-reshape",
        lambda x: graph.reshape(graph.reshape(x, shape=[N * 3]), shape=[3, N]),
        ["reshape"],
        ("nx3xf32",),
    ),
    Example("identity-expand", lambda x: graph.expand(x, shape=[4, 3]), []),
    Example(
        "expand-of-expand",
        lambda x: graph.expand(graph.expand(x, shape=[4, 3]), shape=[2, 4, 3]),
        ["expand"],
        ("1x3xf32",),
    ),
    Example(
        "full-slice",
        lambda x: graph.slice_(x, starts=[0, 0], sizes=[N, 3], steps=[1, 1]),
        [],
        ("nx3xf32",),
    ),
    Example(
        "slice-of-concat",
        lambda x, y: graph.slice_(
            graph.concat([x, y], axis=0), starts=[N, 0], sizes=[2, 3], steps=[1, 1]
        ),
        [],
        ("nx3xf32", "2x3xf32"),
    ),
    Example(
        "slice-of-concat",
        lambda x, y: graph.slice_(
            graph.concat([x, y], axis=0), starts=[6, 2], sizes=[2, 3], steps=[-2, -1]
        ),
        ["slice"],
        ("3x3xf32", "5x3xf32"),
    ),
    Example(
        "slice-of-slice",
        lambda x: graph.slice_(
            graph.slice_(x, starts=[9, 0], sizes=[5, 3], steps=[-2, 1]),
            starts=[4, 1],
            sizes=[2, 2],
            steps=[-3, 1],
        ),
        ["slice"],
        ("10x3xf32",),
    ),
    Example(
        "slice-of-slice",
        lambda x: graph.slice_(
            graph.slice_(x, starts=[1], sizes=[N - 1], steps=[1]),
            starts=[N - 3],
            sizes=[2],
            steps=[1],
        ),
        ["slice"],
        ("nxf32",),
    ),
    Example(
        "concat-of-one",
        lambda x: graph.concat([x, c(np.zeros((0, 3)))], axis=0),
        [],
    ),
    Example(
        "concat-of-concat",
        lambda x, y: graph.concat([y, graph.concat([x, y], axis=0), x], axis=0),
        ["concat"],
        ("4xf32", "2xf32"),
    ),
    Example("pad-by-nothing", lambda x: graph.pad(x, c(9), low=[0, 0], high=[0, 0]), []),
    Example(
        "mask-of-expand",
        lambda m: graph.where(graph.expand(m, shape=[5, N]), c(0), c(-1)),
        ["where", "expand"],
        ("nxi1",),
    ),
    Example(
        "mask-of-expand",
        lambda m, y: graph.and_(y, graph.expand(m, shape=[5, N])),
        ["and"],
        ("nxi1", "5xnxi1"),
    ),
    Example(
        "attention-of-expanded-mask",
        lambda q, m: graph.attention(
            q, q, q, graph.expand(m, shape=[2, 1, N, N]), scale=1.0, causal=False
        ),
        ["attention"],
        ("2x3xnx4xf32", "nxi1"),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
