"""Models that detect objects."""

from onnx import ModelProto, TensorProto, helper


def suppression(batch: int, classes: int, count: int | str) -> ModelProto:
    """NonMaxSuppression of any number of boxes by three of its thresholds."""
    shapes = {
        "boxes": (batch, count, 4), "scores": (batch, classes, count), "limit": (1,),
        "overlap": (1,), "least": (1,),
    }  # fmt: skip
    infos = [
        helper.make_tensor_value_info(
            name, TensorProto.INT64 if name == "limit" else TensorProto.FLOAT, shape
        )
        for name, shape in shapes.items()
    ]
    result = helper.make_tensor_value_info("selected", TensorProto.INT64, ("m", 3))
    node = helper.make_node("NonMaxSuppression", [*shapes], ["selected"])
    graph = helper.make_graph([node], "g", infos, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
