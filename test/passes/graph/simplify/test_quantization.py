"""Simplifications of what is dequantized and quantized again."""

import numpy as np
import pytest
from graph_programs import build_module, op_names
from simplify_examples import FIRST, Example, c, check_example, window

from graphc.dialects import graph
from graphc.passes.infra.pipeline import run_pipeline


def _dequantized(x, scale=0.25, zero=3):
    return graph.dequantize(x, c(scale), c(zero, np.uint8), to=np.dtype(np.float32))


def _bytes():
    return c(np.arange(-12, 12).reshape(6, 4), np.int8)


EXAMPLES = [
    Example(
        "dequantize-spelled",
        lambda: graph.mul(graph.cast(_bytes(), to=np.float32), c(np.linspace(1, 2, 4))),
        ["dequantize"],
        (),
    ),
    Example(
        "dequantize-spelled",
        lambda: graph.mul(
            c(np.linspace(1, 2, 6)[:, None]),
            graph.sub(graph.cast(_bytes(), to=np.float32), c(np.arange(4) - 7)),
        ),
        ["dequantize"],
        (),
    ),
    Example(
        "requantize-alike",
        lambda x: graph.quantize(_dequantized(x), c(0.25), c(3, np.uint8)),
        [],
        ("2x5xui8",),
    ),
    Example(
        "quantize-clamped",
        lambda x: graph.quantize(graph.relu(x), c(0.25), c(0, np.uint8)),
        ["quantize"],
        ("2x5xf32",),
    ),
    Example(
        "quantize-clamped",
        lambda x: graph.quantize(
            graph.min_(graph.max_(x, c(-0.76)), c(63.0)), c(0.25), c(3, np.uint8)
        ),
        ["quantize"],
        ("2x5xf32",),
    ),
    Example(
        "requantize-moved",
        lambda x: graph.quantize(
            graph.reshape(graph.transpose(_dequantized(x), perm=[1, 0, 2]), shape=[5, 6]),
            c(0.25),
            c(3, np.uint8),
        ),
        ["transpose", "reshape"],
        ("2x5x3xui8",),
    ),
    Example(
        "pool-quantized",
        lambda x: graph.max_pool(
            _dequantized(x), **window([3, 2], low=[1, 0], high=[1, 1]), layout=FIRST
        ),
        ["max_pool", "dequantize"],
        ("1x2x7x3xui8",),
    ),
    Example(
        "move-quantized",
        lambda x: graph.reshape(_dequantized(x), shape=[10]),
        ["reshape", "dequantize"],
        ("2x5xui8",),
    ),
    Example(
        "move-quantized",
        lambda x: graph.slice_(_dequantized(x), starts=[0, 1], sizes=[2, 3], steps=[1, 1]),
        ["slice", "dequantize"],
        ("2x5xui8",),
    ),
    Example(
        "move-quantized",
        lambda x: graph.gather(_dequantized(x), c([[1], [0]], np.int64), axis=0),
        ["gather", "dequantize"],
        ("3x5xui8",),
    ),
    Example(
        "move-quantized",
        lambda x: graph.expand(_dequantized(x), shape=[3, 2, 5]),
        ["expand", "dequantize"],
        ("2x5xui8",),
    ),
    Example(
        "quantize-parts",
        lambda x, y, z: graph.quantize(
            graph.concat([_dequantized(x), y, _dequantized(z, 0.5)], axis=1),
            c(0.25),
            c(3, np.uint8),
        ),
        ["dequantize", "quantize", "quantize", "concat"],
        ("2x5xui8", "2x3xf32", "2x1xui8"),
    ),
    Example(
        "pad-quantized",
        lambda x: graph.pad(_dequantized(x), c(0.0), low=[0, 1], high=[2, 0]),
        ["pad", "dequantize"],
        ("2x5xui8",),
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)


@pytest.mark.parametrize("border", [-0.0, 0.25, np.nan])
def test_other_borders_are_kept(context, border):
    module = build_module(
        lambda x: graph.pad(_dequantized(x), c(border), low=[0, 1], high=[2, 0]), "2x5xui8"
    )
    run_pipeline(module, "graph-simplify,canonicalize")
    assert op_names(module) == ["dequantize", "pad"]


@pytest.mark.parametrize(
    ("clamp", "zero"),
    [
        (graph.relu, 3),
        (lambda x: graph.max_(x, c(0.13)), 0),
        (lambda x: graph.min_(x, c(63.0)), 0),
        (lambda x: graph.max_(x, c(np.nan)), 0),
        (lambda x: graph.max_(x, c([[0.0], [1.0]])), 0),
    ],
)
def test_clamps_that_quantization_does_not_repeat_are_kept(context, clamp, zero):
    module = build_module(lambda x: graph.quantize(clamp(x), c(0.25), c(zero, np.uint8)), "2x5xf32")
    run_pipeline(module, "graph-simplify,canonicalize")
    assert len(op_names(module)) == 2


@pytest.mark.parametrize(
    ("indices", "zero", "moves"),
    [([0, 3], 3, False), ([0, 2], 3, True), ([0, 3], 0, True), (None, 3, False), (None, 0, True)],
)
def test_elements_outside_of_a_table_stay_zeros(context, indices, zero, moves):
    """A gather gives zeros for them, which windows of unknown size are padded with."""

    def build(x, at):
        taken = at if indices is None else c(indices, np.int64)
        return graph.gather(_dequantized(x, zero=zero), taken, axis=0)

    module = build_module(build, "3x5xui8", "2xi64")
    run_pipeline(module, "graph-simplify,canonicalize")
    names = ["gather", "dequantize"]
    assert op_names(module) == (names if moves else names[::-1])


@pytest.mark.parametrize(
    ("shape", "moves"), [("1x2xhx8", False), ("1x2x1x8", False), ("1x2x2x8", True)]
)
def test_windows_that_leap_over_the_image_are_of_floats(context, shape, moves):
    """A window of padding alone is -inf, and no integer stands for that."""
    leaping = window([2, 3], low=[1, 0], high=[1, 0]) | {"dilations": [2, 1]}
    module = build_module(
        lambda x: graph.max_pool(_dequantized(x), **leaping, layout=FIRST), f"{shape}xui8"
    )
    run_pipeline(module, "graph-simplify,canonicalize")
    names = ["max_pool", "dequantize"]
    assert op_names(module) == (names if moves else names[::-1])


@pytest.mark.parametrize(
    ("scale", "zero"), [(0.5, 3), (0.25, 4), (np.nan, 3), (1e-45, 3), (np.inf, 3)]
)
def test_other_scales_are_kept(context, scale, zero):
    module = build_module(
        lambda x: graph.quantize(_dequantized(x, scale, zero), c(0.25), c(3, np.uint8)), "2x5xui8"
    )
    run_pipeline(module, "graph-simplify,canonicalize")
    assert op_names(module) == ["dequantize", "quantize"]
