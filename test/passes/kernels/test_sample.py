"""Images sampled by a kernel of our own, against the meaning of the op in numpy."""

import numpy as np
import pytest
from numerics import Cases, Feed, evaluate

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.pipelines import graph_pipeline

_random = np.random.default_rng(0)


def _cases():
    """Modes, paddings, channels of any number, sequences to volumes, and named sizes."""
    cases, forms = Cases(opset=20), []
    for mode in ("nearest", "linear", "cubic"):
        forms += [(mode, padding) for padding in ("zeros", "border", "reflection")]
    for number, (mode, padding) in enumerate(forms):
        channels = (4, 21, 150)[number % 3]
        x = _random.standard_normal((2, channels, 6, 7)).astype(np.float32)
        x[0, :, 0, 0], x[1, :, -1, -1] = np.inf, np.nan  # outside, nothing but zeros is read
        grid = _random.uniform(-1.4, 1.4, (2, 3, 5, 2)).astype(np.float32)
        feeds = Feed(x, ["n", channels, "h", "w"]), Feed(grid, ["n", "i", "j", 2])
        feeds = (x, grid) if number % 2 else feeds
        form = {"mode": mode, "padding_mode": padding, "align_corners": number % 2}
        cases.add("GridSample", *feeds, **form)
    volume = _random.standard_normal((1, 20, 3, 4, 5)).astype(np.float32)
    grid = _random.uniform(-1.4, 1.4, (1, 2, 3, 4, 3)).astype(np.float32)
    cases.add("GridSample", volume, grid)
    return cases


@pytest.mark.parametrize("vector_bits", [256, 512])
def test_forms(vector_bits):
    cases = _cases()
    model = cases.model()
    pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=2)
    with graphc.compile(model, pipeline=pipeline, threads=2, cache=False) as compiled:
        assert compiled.report.rewrites["sample-kernel"].count == len(cases.outputs)
        found = compiled.run(None, cases.feeds)
    for ours, wanted in zip(found, evaluate(model, cases.feeds), strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-4, atol=1e-4)


def test_what_declines():
    cases = Cases(opset=20)
    x, grid = _random.random((1, 3, 4, 4)), _random.random((1, 2, 2, 2))
    cases.add("GridSample", x.astype(np.float32), grid.astype(np.float32))
    cases.add("GridSample", x, grid)
    volume, points = _random.random((1, 8, 3, 4, 5)), _random.random((1, 2, 3, 4, 3))
    cases.add("GridSample", volume.astype(np.float32), points.astype(np.float32), mode="cubic")
    with graphc.compile(cases.model()) as compiled:
        assert len(compiled.report.rewrites["sample-kernel"].declined) == 3
