"""Simplifications of images assembled from blocks."""

import pytest
from graph_programs import build_module, op_names
from simplify_examples import Example, check_example

from graphc.dialects import graph
from graphc.passes.infra.pipeline import run_pipeline

TILES = ["reshape", "transpose", "reshape"]


def _col2im(image, block, **more):
    axes = len(image)
    window = {"strides": block, "dilations": [1] * axes, "low": [0] * axes, "high": [0] * axes}
    return lambda x: graph.col2im(x, image=image, block=block, **{**window, **more})


EXAMPLES = [
    Example("col2im-of-tiles", _col2im(image, block), TILES, (x,), exact=False)
    for image, block, x in [
        ([6, 4], [2, 2], "2x12x6xf32"),
        ([6], [3], "1x6x2xf32"),
        ([4, 2, 9], [2, 1, 3], "1x12x12xi32"),
    ]
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.types[0])
def test_tiles_of_an_image(context, example):
    check_example(example)


@pytest.mark.parametrize(
    ("image", "block", "x", "more"),
    [
        ([7, 4], [2, 2], "1x4x6xf32", {}),
        ([6, 4], [2, 2], "1x4x6xf32", {"low": [1, 0], "high": [0, 0]}),
        ([6, 4], [2, 2], "1x4x15xf32", {"strides": [1, 1]}),
        ([7, 4], [2, 2], "1x4x6xf32", {"dilations": [2, 1]}),
        ([4, 6], [2, 2], "1x4x9xf32", {"low": [1, 0], "high": [1, 0]}),
    ],
)
def test_others_stay(context, image, block, x, more):
    module = build_module(_col2im(image, block, **more), x)
    run_pipeline(module, "graph-simplify")
    assert op_names(module) == ["col2im"]
