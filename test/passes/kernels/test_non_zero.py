"""NonZero by the kernel against numpy."""

import numpy as np
import pytest
from numerics import build_model
from onnx.helper import make_node

import graphc

_random = np.random.default_rng(0)
_SHAPES = [(7,), (3, 5), (4, 1, 33), (2, 0, 3)]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("dtype", [np.bool_, np.float32, np.int64, np.uint8])
def test_positions(dtype, named):
    nodes = [make_node("NonZero", [f"x{n}"], [f"y{n}"]) for n in range(len(_SHAPES))]
    inputs = {
        f"x{n}": (dtype, [f"size{n}_{axis}" for axis in range(len(shape))] if named else shape)
        for n, shape in enumerate(_SHAPES)
    }
    model = build_model(nodes, inputs, [f"y{n}" for n in range(len(_SHAPES))], opset=18)
    compiled = graphc.compile(model, cache=False)
    for share in (0.5, 0.0, 1.0):
        feeds = {
            f"x{n}": ((_random.random(shape) < share) * 3).astype(dtype)
            for n, shape in enumerate(_SHAPES)
        }
        for found, x in zip(compiled.run(None, feeds), feeds.values(), strict=True):
            np.testing.assert_array_equal(found, np.stack(np.nonzero(x)))


def test_signs_and_numbers_that_are_none():
    x = np.array([0.0, -0.0, np.nan, -1.0, np.inf], np.float32)
    model = build_model(
        [make_node("NonZero", ["x"], ["y"])], {"x": (np.float32, [5])}, ["y"], opset=18
    )
    np.testing.assert_array_equal(graphc.compile(model, cache=False)(x), [[2, 3, 4]])
