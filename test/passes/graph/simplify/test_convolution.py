"""Simplifications of convolutions along axes of one element."""

import pytest
from simplify_examples import FIRST, Example, check_example

from graphc.dialects import graph


def _conv(strides, dilations, low, high, groups=1):
    def build(x, w):
        return graph.conv(
            x, w, strides=strides, dilations=dilations, low=low, high=high, groups=groups,
            layout=FIRST,
        )  # fmt: skip

    return build


EXAMPLES = [
    Example(
        "conv-of-unit-axis",
        _conv([2, 1], [1, 1], [1, 0], [2, 0]),
        ["reshape", "reshape", "conv", "reshape"],
        ("2x3x7x1xf32", "4x3x3x1xf32"),
    ),
    Example(
        "conv-of-unit-axis",
        _conv([1, 3], [1, 2], [0, 2], [0, 3], groups=2),
        ["reshape", "slice", "reshape", "conv", "reshape"],
        ("1x4x6x1xf32", "6x2x2x3xf32"),
        exact=False,
    ),
    Example(
        "conv-of-unit-axis",
        _conv([1, 1], [1, 1], [1, 1], [1, 1]),
        ["slice", "conv"],
        ("1x2x1x1xf32", "3x2x3x3xf32"),
        exact=False,
    ),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.rewrite)
def test_fires_and_keeps_the_meaning(context, example):
    check_example(example)
