"""RoiAlign, MaxRoiPool, DeformConv, Col2Im, MaxUnpool against ONNX Runtime and ONNX's reference."""

import numpy as np
import pytest
from numerics import Cases, Feed, build_model, compare_with_onnxruntime, const, evaluate
from onnx import TensorProto, helper

from graphc.errors import InvalidModelError

_random = np.random.default_rng(0)


def _floats(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return _random.standard_normal(shape).astype(dtype)


X = _floats(2, 3, 8, 7)
CORNERS = np.array([[1, 0, 9, 12], [0, 2, 3, 5], [4, 4, 4, 4], [-9, 3, 20, 30]], np.float32)
BATCH = np.array([0, 1, 1, 0])


def test_roi_align():
    cases = Cases(opset=16)
    for mode in ("avg", "max"):
        form = {"output_height": 2, "output_width": 3, "spatial_scale": 0.5, "mode": mode}
        cases.add("RoiAlign", X, CORNERS, BATCH, sampling_ratio=2, **form)
    cases.add("RoiAlign", X, CORNERS, BATCH, output_height=2, output_width=2, spatial_scale=0.6)
    named = Feed(X, ["n", 3, "h", "w"]), Feed(CORNERS, ["r", 4]), Feed(BATCH, ["r"])
    cases.add(
        "RoiAlign", *named, output_height=2, output_width=2, sampling_ratio=1,
        coordinate_transformation_mode="output_half_pixel",
    )  # fmt: skip
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_roi_align_of_opset_10_and_max_roi_pool():
    cases = Cases(opset=10)
    cases.add("RoiAlign", X, CORNERS, BATCH, output_height=2, output_width=2, spatial_scale=0.7)
    rois = np.concatenate([BATCH[:, None].astype(np.float32), np.abs(CORNERS)], axis=1)
    cases.add("MaxRoiPool", X, rois, pooled_shape=[2, 3], spatial_scale=0.5)
    named = Feed(X, ["n", 3, "h", "w"]), Feed(rois, ["r", 5])
    cases.add("MaxRoiPool", *named, pooled_shape=[3, 2], spatial_scale=0.4)
    cases.compare_with_onnxruntime()


def test_deform_conv():
    cases = Cases(opset=19)
    weights, offset = _floats(4, 3, 2, 3), _floats(2, 12, 7, 5)
    mask, bias = _floats(2, 6, 7, 5), _floats(4)
    cases.add("DeformConv", X, weights, offset, bias, mask, tolerance=2e-5)
    cases.add(
        "DeformConv", _floats(1, 4, 5, 6), _floats(6, 2, 3, 3), _floats(1, 36, 3, 2),
        strides=[2, 2], pads=[1, 0, 1, 0], group=2, offset_group=2, tolerance=2e-5,
    )  # fmt: skip
    cases.add(
        "DeformConv", X[:1], _floats(2, 3, 2, 2), _floats(1, 8, 6, 4), dilations=[2, 3],
        tolerance=2e-5,
    )  # fmt: skip
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_col2im_and_max_unpool():
    cases = Cases(opset=18)
    cases.add("Col2Im", _floats(2, 12, 20), const([5, 6]), const([2, 2]))
    form = {"strides": [2, 1], "dilations": [1, 2], "pads": [1, 0, 0, 2]}
    cases.add("Col2Im", _floats(1, 12, 18), const([6, 6]), const([2, 2]), **form)
    named = Feed(_floats(1, 6, 8), ["n", 6, "l"])
    cases.add("Col2Im", named, np.array([2, 6]), const([1, 3]))
    cases.add("MaxUnpool", _floats(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]]),
              kernel_shape=[2, 2], strides=[2, 2])  # fmt: skip
    cases.compare_with_onnxruntime()


def test_max_unpool_to_a_larger_image():
    cases = Cases(opset=18)
    maxima = np.array([[[[5, 7], [13, 15]]]])
    for shape in (const([1, 1, 5, 5]), np.array([1, 1, 4, 6])):
        cases.add("MaxUnpool", _floats(1, 1, 2, 2), maxima, shape,
                  kernel_shape=[2, 2], strides=[2, 2])  # fmt: skip
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_conv_transpose_to_a_larger_shape():
    cases = Cases(opset=11)
    image, weights = _floats(1, 1, 3, 3), _floats(1, 2, 3, 3)
    for auto_pad in ("NOTSET", "SAME_UPPER", "SAME_LOWER"):
        cases.add(
            "ConvTranspose", image, weights, output_shape=[10, 8], strides=[3, 2],
            auto_pad=auto_pad, tolerance=1e-5,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_blocks_in_both_orders():
    cases = Cases(opset=28)
    for mode in ("DCR", "CRD"):
        cases.add("SpaceToDepth", _floats(1, 3, 4, 6), blocksize=2, mode=mode)
        cases.add("DepthToSpace", _floats(1, 12, 2, 3), blocksize=2, mode=mode)
    cases.compare_evaluation()


@pytest.mark.parametrize(
    ("op_type", "inputs", "attributes", "message"),
    [
        ("RoiAlign", (X, CORNERS[:, :3], BATCH), {}, "columns of the table"),
        ("RoiAlign", (X, CORNERS, BATCH[:2]), {}, "regions and batch indices"),
        ("RoiAlign", (X, CORNERS, BATCH), {"mode": "mean"}, "mode 'mean'"),
        ("MaxRoiPool", (X, CORNERS), {"pooled_shape": [2]}, "pooled_shape"),
        ("Col2Im", (X[0], const([5, 6]), const([2, 2])), {}, "hold"),
        ("DeformConv", (X, _floats(4, 2, 2, 2), X), {}, "do not make 1 groups"),
        ("SpaceToDepth", (X[:, :, :6, :6],), {"blocksize": 2, "mode": "up"}, "mode 'up'"),
    ],
)
def test_refused(op_type, inputs, attributes, message):
    cases = Cases(opset=28)
    cases.add(op_type, *inputs, **attributes)
    with pytest.raises(InvalidModelError, match=message):
        evaluate(cases.model(), cases.feeds)


def test_images_that_are_cast():
    """Widening casts of the inputs, which the loops over a bin do not compute again."""
    nodes = [
        helper.make_node("Cast", ["x"], ["image"], to=TensorProto.FLOAT),
        helper.make_node("RoiAlign", ["image", "rois", "batch"], ["aligned"], output_width=2),
        helper.make_node("Cast", ["columns"], ["wide"], to=TensorProto.FLOAT),
        helper.make_node("Col2Im", ["wide", "size", "block"], ["folded"]),
    ]
    inputs = {
        "x": (np.uint8, ["n", 3, "h", "w"]),
        "rois": (np.float32, ["r", 4]),
        "batch": (np.int64, ["r"]),
        "columns": (np.float16, ["k", 8, 9]),
    }
    constants = {"size": np.array([4, 4]), "block": np.array([2, 2])}
    model = build_model(nodes, inputs, ["aligned", "folded"], constants)
    columns = _floats(1, 8, 9, dtype=np.float16)
    image = (np.abs(X) * 50).astype(np.uint8)
    feeds = {"x": image, "rois": np.abs(CORNERS), "batch": BATCH, "columns": columns}
    compare_with_onnxruntime(model, feeds, tolerances={"aligned": 1e-5})
