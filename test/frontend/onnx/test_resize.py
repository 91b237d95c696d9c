"""Resize and Upsample against ONNX Runtime and ONNX's reference evaluator."""

import numpy as np
import pytest
from numerics import Cases, Feed, const, evaluate

from graphc.errors import InvalidModelError

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


X = _floats(1, 2, 4, 6)
NAMED = Feed(X, ["batch", 2, "height", "width"])
EMPTY = const(np.zeros(0, np.float32))
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")


def test_known_scales_and_sizes():
    cases = Cases(opset=19)
    for coordinates in COORDINATES:
        form = {"coordinate_transformation_mode": coordinates}
        cases.add("Resize", X, None, const([1.0, 1.0, 2.0, 1.5]), mode="linear", **form)
        cases.add("Resize", X, None, None, const([1, 2, 3, 1]), mode="cubic", **form)
    for rounding in ROUNDINGS:
        scales = const([1.0, 1.0, 2.0, 0.5])
        cases.add("Resize", X, None, scales, mode="nearest", nearest_mode=rounding)
    cases.add("Resize", X, None, None, const([3, 9]), axes=[-2, 3], mode="linear")
    cases.add("Resize", _floats(3, 5), None, const([2.0, 0.6]), mode="linear")
    cases.add("Resize", X.astype(np.float16), None, const([1.0, 1, 2, 2]), mode="linear")
    cases.add(
        "Resize", X, None, const([1.0, 1, 1.5, 0.8]), mode="cubic", cubic_coeff_a=-0.5,
        exclude_outside=1,
    )  # fmt: skip
    cases.add(
        "Resize", X, const([0, 0, 0.4, -0.2, 1, 1, 1.3, 0.7]), None, const([1, 2, 5, 4]),
        mode="linear", coordinate_transformation_mode="tf_crop_and_resize",
        extrapolation_value=7.0,
    )  # fmt: skip
    for policy in ("not_larger", "not_smaller"):
        cases.add(
            "Resize", X, None, None, const([7, 8]), axes=[2, 3], mode="linear",
            keep_aspect_ratio_policy=policy,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_sizes_of_the_run():
    """Sizes and scales that are fed, and extents that are not known."""
    cases = Cases(opset=19)
    scales = np.array([1, 1, 2, 0.5], np.float32)
    for mode in ("nearest", "cubic"):
        cases.add("Resize", X, None, scales, mode=mode)
    cases.add("Resize", X, None, Feed(scales, ["k"]), mode="nearest")
    cases.add("Resize", NAMED, None, None, np.array([3, 9]), axes=[2, 3], mode="linear")
    cases.add("Resize", NAMED, EMPTY, const([1.0, 1.0, 2.0, 1.5]), mode="linear")
    cases.add("Resize", NAMED, None, const([1.0, 1.0, 2.0, 2.0]), mode="nearest")
    cases.add(
        "Resize", NAMED, None, None, np.array([9, 8]), axes=[2, 3], mode="linear",
        keep_aspect_ratio_policy="not_larger",
    )  # fmt: skip
    whole = _random.integers(-128, 128, (1, 1, 4, 4)).astype(np.int8)
    cases.add("Resize", whole, None, np.array([1, 1, 2, 2], np.float32), mode="linear")
    roi = np.array([0.4, -0.2, 1.3, 0.7], np.float32)
    cases.add(
        "Resize", NAMED, roi, None, np.array([5, 4]), axes=[2, 3], mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0,
    )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_against_reference():
    """Forms that ONNX Runtime lacks, or means otherwise."""
    cases = Cases(opset=19)
    for mode in ("linear", "cubic"):
        cases.add("Resize", X, None, const([1.0, 1.0, 0.6, 0.4]), antialias=1, mode=mode)
    fed = np.array([0.5, 2], np.float32)
    cases.add("Resize", X, None, fed, axes=[2, 3], antialias=1, mode="linear")
    for exclude in (0, 1):
        cases.add(
            "Resize", X, None, const([1.0, 1.0, 0.3, 0.6]), mode="cubic", antialias=1,
            exclude_outside=exclude,
        )  # fmt: skip
    for coordinates in ("align_corners", "half_pixel_symmetric"):
        scales = const([1.0, 1.0, 1.3, 0.6])
        cases.add(
            "Resize", X, None, scales, mode="linear", coordinate_transformation_mode=coordinates
        )
    whole = _random.integers(-128, 128, (1, 1, 4, 4)).astype(np.int8)
    cases.add("Resize", whole, None, const([1.0, 1, 2, 2]), mode="nearest")
    cases.add("Resize", X.astype(np.float64), None, const([1.0, 1, 1.5, 2]), mode="nearest")
    cases.add("Resize", X, None, None, const([1, 2, 0, 3]), mode="linear")
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


@pytest.mark.parametrize("opset", [7, 9])
def test_upsample(opset):
    cases = Cases(opset=opset)
    for mode in ("nearest", "linear"):
        if opset == 7:
            cases.add("Upsample", X, scales=[1.0, 1.0, 2.0, 3.0], mode=mode)
        else:
            cases.add("Upsample", X, const([1.0, 1.0, 2.0, 3.0]), mode=mode)
            cases.add("Upsample", NAMED, np.array([1, 1, 2, 2], np.float32), mode=mode)
    cases.compare_with_onnxruntime()


def test_upsample_by_two_attributes():
    cases = Cases(opset=1)
    cases.add("Upsample", X, height_scale=2.0, width_scale=3.0)
    cases.compare_compiled_with_evaluation()
    (y,) = evaluate(cases.model(), cases.feeds)
    np.testing.assert_array_equal(y, X.repeat(2, axis=2).repeat(3, axis=3))


def test_opset_10_and_11():
    for opset, mode in ((10, "nearest"), (10, "linear")):
        cases = Cases(opset=opset)
        cases.add("Resize", X, const([1.0, 1.0, 0.5, 3.0]), mode=mode)
        cases.compare_with_onnxruntime()
    cases = Cases(opset=11)
    cases.add("Resize", X, EMPTY, const([1.0, 1.0, 2.0, 2.0]), mode="linear")
    cases.add(
        "Resize", X, EMPTY, const([1.0, 1, 2, 3]), mode="nearest", nearest_mode="floor",
        coordinate_transformation_mode="tf_half_pixel_for_nn",
    )  # fmt: skip
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ((None, None, None), {}, "either scales or sizes"),
        ((None, const([1.0, 2.0])), {}, "scales must have 4 elements"),
        ((None, const([1.0, 1.0, 0.0, 1.0])), {}, "not all positive"),
        ((None, const([1.0] * 4)), {"mode": "bent"}, "mode 'bent'"),
        ((None, const([1.0] * 4)), {"nearest_mode": "up"}, "nearest_mode 'up' is unknown"),
        ((None, const([1.0] * 4)), {"antialias": 1}, "no antialiasing"),
        (
            (None, const([1.0] * 4)),
            {"coordinate_transformation_mode": "tf_crop_and_resize"},
            "needs a roi of 8",
        ),
        (
            (None, None, const([1, 2, 3, 3])),
            {"keep_aspect_ratio_policy": "bend"},
            "keep_aspect_ratio_policy 'bend'",
        ),
    ],
)
def test_refused(inputs, attributes, message):
    cases = Cases(opset=19)
    cases.add("Resize", X, *inputs, **attributes)
    with pytest.raises(InvalidModelError, match=message):
        evaluate(cases.model(), cases.feeds)
