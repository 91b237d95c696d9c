"""The kernel that assembles images from columns of blocks, against its meaning in numpy."""

import numpy as np
import pytest
from numerics import Cases, Feed, build_model, const
from onnx import helper

import graphc
from graphc.cpu_model import CpuModel
from graphc.dialects.graph import Col2ImOp
from graphc.dialects.graph.col2im import block_positions
from graphc.passes.pipelines import graph_pipeline

_CASES = [
    ((9, 40), (3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
    ((9, 11), (2, 3), (2, 3), (1, 1), (0, 0), (0, 0)),
    ((8, 50), (3, 2), (1, 1), (2, 3), (2, 0), (1, 2)),
    ((7, 9), (3, 3), (2, 2), (1, 2), (1, 3), (2, 0)),
    ((33,), (5,), (1,), (1,), (2,), (2,)),
    ((4, 5, 20), (2, 2, 3), (1, 2, 1), (1, 1, 1), (0, 1, 1), (0, 0, 1)),
]


def _run(case, dtype, named, vector_bits):
    image, block, strides, dilations, low, high = case
    window = {"strides": strides, "dilations": dilations, "low": low, "high": high}
    positions = int(np.prod(block_positions(image, block, **window)))
    rng = np.random.default_rng(0)
    x = rng.integers(-50, 50, (2, 3 * int(np.prod(block)), positions)).astype(dtype)
    node = helper.make_node(
        "Col2Im", ["x", "i", "b"], ["y"], strides=strides, dilations=dilations, pads=[*low, *high]
    )
    shape = ["n", *x.shape[1:]] if named else list(x.shape)
    model = build_model(
        [node], {"x": (dtype, shape)}, ["y"], {"i": np.int64(image), "b": np.int64(block)}
    )
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2, cache=False) as compiled:
        assert compiled.report.rewrites["col2im-kernel"].count == 1
        expected = Col2ImOp.evaluate(x, image=image, block=block, **window)
        np.testing.assert_array_equal(compiled(x), expected)


@pytest.mark.parametrize("case", _CASES)
def test_blocks(case):
    _run(case, np.float32, named=False, vector_bits=512)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("vector_bits", [128, 256])
def test_types_and_named_sizes(dtype, vector_bits):
    _run(_CASES[2], dtype, named=True, vector_bits=vector_bits)


def test_sizes_of_the_image_from_the_run():
    """Without the kernel, as lowered for any target."""
    cases = Cases(opset=18)
    x = np.random.default_rng(0).standard_normal((1, 8, 12), np.float32)
    cases.add("Col2Im", Feed(x, ["n", 8, "l"]), const([4, 5]), const([2, 2]))
    cases.compare_with_onnxruntime()
