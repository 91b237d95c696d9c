"""Regions of interest by a kernel of our own, against ONNX's reference evaluator."""

import numpy as np
import onnx.reference
import pytest
from numerics import Cases, Feed, run_onnxruntime

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline

RANDOM = np.random.default_rng(0)
CORNERS = np.array([[1, 0, 9, 12], [0, 2, 3, 5], [4, 4, 4, 4], [-9, 3, 20, 30]], np.float32)
BATCH = np.array([0, 1, 1, 0])


def _compiled(model, vector_bits=512):
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    return graphc.compile(model, pipeline=pipeline, threads=2, cache=False)


@pytest.mark.parametrize("vector_bits", [256, 512])
def test_forms(vector_bits):
    cases = Cases(opset=16)
    form = {"output_height": 2, "output_width": 3, "spatial_scale": 0.5}
    for channels in (3, 16, 200):
        x = RANDOM.standard_normal((2, channels, 8, 7)).astype(np.float32)
        for mode in ("avg", "max"):
            cases.add("RoiAlign", x, CORNERS, BATCH, sampling_ratio=2, mode=mode, **form)
        named = Feed(x, ["n", channels, "h", "w"]), Feed(CORNERS, ["r", 4]), Feed(BATCH, ["r"])
        cases.add("RoiAlign", *named, **form)
        old = {"coordinate_transformation_mode": "output_half_pixel"}
        cases.add("RoiAlign", *named, sampling_ratio=1, **old, **form)
    model = cases.model()
    expected = onnx.reference.ReferenceEvaluator(model).run(None, dict(cases.feeds))
    with _compiled(model, vector_bits) as compiled:
        assert compiled.report.rewrites["roi-align-kernel"].count == len(cases.outputs)
        for found, wanted in zip(compiled.run(None, dict(cases.feeds)), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_pools():
    cases = Cases(opset=16)
    form = {"pooled_shape": [2, 3], "spatial_scale": 0.5}
    rois = np.concatenate([BATCH[:, None].astype(np.float32), np.abs(CORNERS)], axis=1)
    for channels in (3, 20):
        x = RANDOM.standard_normal((2, channels, 8, 7)).astype(np.float32)
        cases.add("MaxRoiPool", x, rois, **form)
        named = Feed(x, ["n", channels, "h", "w"]), Feed(rois, ["r", 5])
        cases.add("MaxRoiPool", *named, **form)
    model = cases.model()
    with _compiled(model) as compiled:
        assert compiled.report.rewrites["roi-pool-kernel"].count == len(cases.outputs)
        found = compiled.run(None, dict(cases.feeds))
    for each, wanted in zip(found, run_onnxruntime(model, cases.feeds), strict=True):
        np.testing.assert_array_equal(each, wanted)


def test_any_number_of_regions_and_numbers_that_are_none():
    """Corners that are no numbers, and images that do not exist, read nothing outside."""
    cases = Cases(opset=16)
    x = RANDOM.standard_normal((2, 20, 8, 7)).astype(np.float32)
    feeds = Feed(x, [2, 20, 8, 7]), Feed(CORNERS, ["r", 4]), Feed(BATCH, ["r"])
    cases.add("RoiAlign", *feeds, output_height=2, output_width=2, sampling_ratio=2)
    special = np.float32([np.nan, np.inf, -np.inf, 1e38])
    with _compiled(cases.model()) as compiled:
        names = list(cases.feeds)
        for corners in (CORNERS[:0], np.stack([np.roll(special, n) for n in range(4)])):
            batch = np.full(len(corners), 1 << 40)
            given = dict(zip(names, (x, corners, batch), strict=True))
            (found,) = compiled.run(None, given)
            assert found.shape == (len(corners), 20, 2, 2)
