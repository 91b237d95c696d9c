"""Resize and Upsample against ONNX Runtime and ONNX's reference evaluator."""

import numpy as np
import pytest
from numerics import (
    Cases,
    Feed,
    build_model,
    compare_with_onnxruntime,
    const,
    evaluate,
    run_compiled,
    run_onnxruntime,
)  # fmt: skip
from onnx import helper

from graphc.errors import InvalidModelError
from harness.marks import long

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
        if coordinates in COORDINATES[::2]:
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
    cases.add(
        "Resize", X, None, const([1.0, 1.0, 1.3, 0.6]), mode="linear",
        coordinate_transformation_mode="half_pixel_symmetric",
    )  # fmt: skip
    whole = _random.integers(-128, 128, (1, 1, 4, 4)).astype(np.int8)
    cases.add("Resize", whole, None, const([1.0, 1, 2, 2]), mode="nearest")
    cases.add("Resize", X.astype(np.float64), None, const([1.0, 1, 1.5, 2]), mode="nearest")
    cases.add("Resize", X, None, None, const([1, 2, 0, 3]), mode="linear")
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


LENGTHS = ("align_corners", "pytorch_half_pixel", "half_pixel_symmetric")


@pytest.mark.parametrize("is_named", [False, long(True)])
def test_scales_that_leave_a_fraction(is_named):
    """The length of the result is that of the tensor: 2 for 4 elements scaled by 0.6, not 2.4.

    The operator's specification says so (`length_resized`, beside a fractional `output_width` for
    half_pixel_symmetric only), and so do ONNX Runtime and PyTorch. ONNX's evaluator uses 2.4.
    """
    cases, evaluated = Cases(opset=19), Cases(opset=19)
    x = Feed(X, ["n", 2, "h", "w"]) if is_named else X
    row = _floats(1, 4)
    row = Feed(row, [1, "w"]) if is_named else row
    roi = [0, 0, 0.1, -0.2, 1, 1, 0.7, 1.1]
    for number, coordinates in enumerate(LENGTHS):
        form = {"coordinate_transformation_mode": coordinates}
        cases.add("Resize", x, None, const([1.0, 1.0, 0.6, 1.7]), mode="linear", **form)
        some = evaluated if is_named and number else cases
        some.add("Resize", x, None, const([1.0, 1.0, 1.3, 0.3]), mode="cubic", **form)
        some.add("Resize", row, None, const([1.0, 0.3]), mode="linear", **form)
        for place, rounding in enumerate(ROUNDINGS[:1] if is_named else ROUNDINGS):
            some = cases if is_named or (number + place) % 2 == 0 else evaluated
            scales = const([1.0, 1.0, 0.6, 1.7])
            some.add("Resize", x, None, scales, nearest_mode=rounding, **form)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    cases.add("Resize", x, const(roi), const([1.0, 1.0, 0.6, 1.7]), mode="linear", **crop)
    evaluated.compare_evaluation_with_onnxruntime()
    cases.compare_with_onnxruntime()


def test_align_corners_of_pytorch():
    """``interpolate(arange(4), scale_factor=0.6 or 1.7, align_corners=True)``"""
    row = np.arange(4, dtype=np.float32)[None]
    cases = Cases(opset=19)
    for scale in (0.6, 1.7):
        form = {"mode": "linear", "coordinate_transformation_mode": "align_corners"}
        cases.add("Resize", row, None, const([1.0, scale]), **form)
    few, more = evaluate(cases.model(), cases.feeds)
    np.testing.assert_allclose(few, [[0, 3]])
    np.testing.assert_allclose(more, [[0, 0.6, 1.2, 1.8, 2.4, 3]], rtol=1e-6)


@pytest.mark.parametrize("is_named", [False, True])
def test_sizes_are_products_in_f32(is_named):
    """1.3 in f32 is a little less: 116 of 90, as in ONNX Runtime, where 117 is the true product;
    5 by 2.6 are 13, since that product is rounded up to it."""
    cases = Cases(opset=19)
    for extent, scale in ((90, 1.3), (45, 2.6), (5, 2.6), (27, 7 / 3), (30, 1 / 3), (35, 1.2)):
        x = _floats(1, extent)
        x = Feed(x, [1, "w"]) if is_named else x
        cases.add("Resize", x, None, const([1.0, scale]), mode="nearest")
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize("is_named", [long(False), True])
def test_nearest_by_whole_factors(is_named):
    """Elements are repeated or left out, where the coordinates allow that. Of two factors, one is
    that of known sizes, the other that of named ones."""
    cases, evaluated = Cases(opset=19), Cases(opset=19)
    x = _floats(1, 2, 5, 13)
    x = Feed(x, ["n", 2, "h", "w"]) if is_named else x
    for first, coordinates in enumerate(COORDINATES):
        for second, rounding in enumerate(ROUNDINGS):
            form = {"coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
            is_larger = (first + second) % 2 == is_named
            scales = [1.0, 1.0, 3.0, 0.25] if is_larger else [1.0, 1.0, 0.5, 2.0]
            some = evaluated if is_named and second % 2 == first // 2 else cases
            some.add("Resize", x, None, const(scales), **form)
    cases.add("Resize", x, None, None, const([1, 2, 10, 39]))
    cases.add("Resize", x, None, const([1.0, 1.0, 1 / 3, 100.0]))
    if is_named:
        evaluated.compare_evaluation_with_onnxruntime()
    cases.compare_with_onnxruntime()


def test_scales_that_change_no_size():
    """No axis gets another size: a copy, whatever the scales. With antialias, this goes for each
    axis. A crop is cropped nevertheless, which ONNX Runtime leaves out."""
    cases = Cases(opset=19)
    small = _floats(1, 1, 3, 2)
    named = Feed(small, ["n", 1, "h", "w"])
    for x in (small, named):
        for mode in ("nearest", "cubic"):
            cases.add("Resize", x, None, const([1.0, 1.0, 1.3, 1.4]), mode=mode)
        cases.add("Resize", x, None, np.array([1, 1, 1.3, 1.4], np.float32), mode="linear")
        cases.add("Resize", x, None, const([1.0, 1.0, 1.3, 2.0]), mode="linear")
        cases.add("Resize", x, None, const([1.0, 1.0, 0.5, 1.4]), mode="linear", antialias=1)
    cases.compare_with_onnxruntime()
    crops = Cases(opset=19)
    crop = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
    row = np.arange(3, dtype=np.float32)[None]
    crops.add("Resize", row, const([0, 0.5, 1, 1]), const([1.0, 1.3]), **crop)
    np.testing.assert_allclose(evaluate(crops.model(), crops.feeds)[0], [[1, 1.5, 2]])


@pytest.mark.parametrize("dims", [None, long(["n", 1, "h", "w"])])
def test_integers_with_antialias(dims):
    """Rounded, halves up, where sums without antialias are cut off, as in ONNX Runtime; that
    rounds behind each axis, we once. It has no negative results of int8 (0 instead)."""
    whole = _random.integers(0, 256, (1, 1, 11, 17)).astype(np.uint8)
    cases, floats = Cases(opset=19), Cases(opset=19)
    forms = [
        (dtype, mode) for dtype in (np.uint8, np.int8, np.int32) for mode in ("linear", "cubic")
    ]
    for dtype, mode in forms if dims is None else [forms[0], forms[3]]:
        size = const([1, 1, 11, 6] if mode == "cubic" else [1, 1, 5, 8])
        x = (whole.astype(np.int32) - 128 * (dtype == np.int8)).astype(dtype)
        fed = x if dims is None else Feed(x, dims)
        cases.add("Resize", fed, None, None, size, mode=mode, antialias=1)
        floats.add("Resize", x.astype(np.float32), None, None, size, mode=mode, antialias=1)
    expected = run_onnxruntime(floats.model(), floats.feeds)
    for found in (evaluate(cases.model(), cases.feeds), run_compiled(cases.model(), cases.feeds)):
        for y, exact in zip(found, expected, strict=True):
            info = np.iinfo(y.dtype)
            distance = np.abs(y - np.clip(exact, info.min, info.max))
            assert distance.max() < 0.501


def test_ties_of_nearest():
    """14.5 is the coordinate of element 4 of 6 from 20, less in f32: a tie nevertheless."""
    row = np.arange(20, dtype=np.float32)[None]
    cases, evaluated = Cases(opset=19), Cases(opset=19)
    for number, rounding in enumerate(("round_prefer_floor", "round_prefer_ceil")):
        cases.add("Resize", row, None, None, const([1, 6]), nearest_mode=rounding)
        for coordinates in ("half_pixel", "half_pixel_symmetric", "asymmetric"):
            form = {"nearest_mode": rounding, "coordinate_transformation_mode": coordinates}
            for place, scale in enumerate((1.3, 2 / 3, 0.3, 1.2)):
                some = cases if (number + place) % 2 == 0 else evaluated
                some.add("Resize", row, None, const([1.0, scale]), **form)
    evaluated.compare_evaluation_with_onnxruntime()
    cases.compare_with_onnxruntime()
    assert evaluate(cases.model(), cases.feeds)[0].ravel()[4] == 14


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


def test_nearest_within_a_network_of_named_sizes():
    """An image is resized to the size of another between convolutions, as in feature pyramids: it
    stays channels-last, and its rows are moved as vectors."""
    weights = _random.integers(-3, 4, (4, 4, 3, 3)).astype(np.float32)  # exact in any order
    floor = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    model = build_model(
        [
            helper.make_node("Conv", ["x", "weights"], ["image"]),
            helper.make_node("Shape", ["image"], ["leading"], end=2),
            helper.make_node("Shape", ["other"], ["extents"], start=2),
            helper.make_node("Concat", ["leading", "extents"], ["sizes"], axis=0),
            helper.make_node("Resize", ["image", "", "", "sizes"], ["large"], **floor),
            helper.make_node("Conv", ["large", "weights"], ["y"]),
        ],
        {"x": (np.float32, ["n", 4, "h", "w"]), "other": (np.float32, ["n", 1, "H", "W"])},
        ["y"],
        {"weights": weights},
    )
    feeds = [
        {"x": np.round(_floats(1, 4, *size)), "other": _floats(1, 1, *other)}
        for size, other in (((6, 9), (11, 17)), ((8, 5), (4, 4)))
    ]
    compare_with_onnxruntime(model, *feeds[:1], others=feeds[1:])
