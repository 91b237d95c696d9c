"""Suppression of overlapping boxes against ONNX Runtime."""

import numpy as np
import pytest
from devices import cpu_like
from numerics import Cases, Feed, compile_model, const, run_onnxruntime

import graphc
from graphc.errors import ExecutionError, InvalidModelError
from graphc.frontend.onnx import import_onnx

_random = np.random.default_rng(0)


def _boxes(batch: int, count: int) -> np.ndarray:
    """Pairs of any two opposite corners."""
    return _random.random((batch, count, 4)).astype(np.float32)


def _scores(*shape: int) -> np.ndarray:
    return _random.random(shape).astype(np.float32)


def _suppressions(all_limits: bool = False) -> Cases:
    """Limits, thresholds, forms of boxes, equal scores, and named sizes."""
    cases = Cases(opset=11)
    boxes, scores = _boxes(2, 40), _scores(2, 3, 40)
    few, some, half = const([4]), const([0.3]), const([0.5])
    if all_limits:
        cases.add("NonMaxSuppression", boxes, scores, const([1000]), some)
        cases.add("NonMaxSuppression", boxes, scores, few, some, half)
        cases.add("NonMaxSuppression", boxes, scores)
    cases.add("NonMaxSuppression", boxes, scores, few, center_point_box=1)
    fed = Feed(boxes, ["b", "n", 4]), Feed(scores, ["b", "c", "n"])
    cases.add("NonMaxSuppression", *fed, *(given.array for given in (few, some, half)))
    ties = np.round(_scores(1, 1, 40), 1)
    cases.add("NonMaxSuppression", boxes[:1], ties, few, some, const([0.2]))
    flat = boxes[:1] * np.array([1, 0, 1, 0], np.float32)  # boxes of no area overlap nothing
    cases.add("NonMaxSuppression", flat, scores[:1, :1], const([9]), some)
    return cases


def test_non_max_suppression():
    _suppressions(all_limits=True).compare_with_onnxruntime()


def test_rounds_select_the_same():
    """The program for GPUs, computed by a CPU."""
    cases = _suppressions()
    model = cases.model()
    compiled = graphc.compile(model, target=cpu_like("gpu"))
    expected = run_onnxruntime(model, cases.feeds)
    for found, wanted in zip(compiled.run(None, cases.feeds), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_kernel_selects_the_same():
    """The kernel of CPUs with vectors; two thousand boxes, and named sizes that are 0 or 1."""
    cases = _suppressions()
    boxes, scores = _boxes(2, 2000), _scores(2, 11, 2000)
    cases.add("NonMaxSuppression", Feed(boxes, ["B", "N", 4]), Feed(scores, ["B", "C", "N"]),
              const([300]), const([0.4]), const([0.2]))  # fmt: skip
    cases.add("NonMaxSuppression", boxes[:1], scores[:1, :1], const([-1]), const([0.5]))
    model = cases.model()
    compiled = graphc.compile(model, target="cpu:host", cache=False)
    named = [name for name, value in cases.feeds.items() if value is boxes or value is scores]
    for size in (2000, 1, 0):
        feeds = dict(cases.feeds)
        for name in named[:2]:
            value = feeds[name]
            feeds[name] = value[:, :size] if value is boxes else value[:, :, :size]
        expected = run_onnxruntime(model, feeds)
        for found, wanted in zip(compiled.run(None, feeds), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_one_box_and_none():
    cases = Cases(opset=10)
    cases.add("NonMaxSuppression", _boxes(1, 1), _scores(1, 1, 1), const([3]), const([0.5]))
    cases.add("NonMaxSuppression", _boxes(1, 0), _scores(1, 2, 0), const([3]), const([0.5]))
    cases.add("NonMaxSuppression", _boxes(1, 5), _scores(1, 2, 5), const([-1]), const([0.5]))
    cases.compare_compiled_with_evaluation()


def test_boxes_must_fit_scores():
    cases = Cases(opset=11)
    cases.add("NonMaxSuppression", _boxes(1, 5)[..., :3], _scores(1, 1, 5), const([1]))
    with pytest.raises(InvalidModelError, match=r"'NonMaxSuppression_0'"):
        import_onnx(cases.model())
    cases = Cases(opset=11)
    boxes = Feed(_boxes(1, 5), [1, "n", 4])
    cases.add("NonMaxSuppression", boxes, Feed(_scores(1, 1, 6), [1, 1, "m"]), const([1]))
    with pytest.raises(ExecutionError, match=r"NonMaxSuppression_0: has .* boxes for scores of"):
        compile_model(cases.model()).run(None, cases.feeds)
