"""Suppression sorts no boxes but those above the threshold, against ONNX Runtime."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

import graphc


@pytest.mark.parametrize("boxes", [300, "boxes"])
def test_boxes_above_the_threshold(boxes):
    """None of them, few, and all; equal scores keep their order."""
    shapes = {"boxes": [1, boxes, 4], "scores": [1, 3, boxes], "least": [1]}
    infos = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    result = helper.make_tensor_value_info("selected", TensorProto.INT64, ["n", 3])
    constants = [
        helper.make_tensor("limit", TensorProto.INT64, [], [40]),
        helper.make_tensor("overlap", TensorProto.FLOAT, [], [0.5]),
    ]
    node = helper.make_node(
        "NonMaxSuppression", ["boxes", "scores", "limit", "overlap", "least"], ["selected"]
    )
    graph = helper.make_graph([node], "g", infos, [result], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    random = np.random.default_rng(0)
    corners = random.uniform(0, 100, (1, 300, 2))
    feeds = {
        "boxes": np.concatenate([corners, corners + random.uniform(1, 30, corners.shape)], 2),
        "scores": random.integers(0, 50, (1, 3, 300)) / 50,
    }
    feeds = {name: array.astype(np.float32) for name, array in feeds.items()}
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with graphc.compile(model, threads=2) as compiled:
        counts = []
        for least in (2, 0.9, 0.5, 0):
            feeds["least"] = np.array([least], np.float32)
            (expected,) = session.run(None, feeds)
            np.testing.assert_array_equal(compiled.run(None, feeds)[0], expected)
            counts.append(len(expected))
    assert counts[0] == 0 < counts[1] < counts[-1] == 3 * 40
