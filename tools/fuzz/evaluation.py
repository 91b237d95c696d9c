"""What one node computes."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from ...debugging.onnx.reference import reference_values
from ...debugging.onnx.subject import value_info
from ...errors import ReferenceRunError

IR_VERSION = 10
_BY_ONNX_RUNTIME, _BY_ONNX = "onnxruntime", "onnx"


class Rejected(Exception):  # a draw that is given up, which the drawing goes on after
    """What was drawn cannot be part of a graph; says why in few words."""


def evaluate_node(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int
) -> tuple[Sequence[np.ndarray], str]:
    """The results of `node` on what it reads, and who computed them.

    That is ONNX Runtime, or ONNX's own evaluator where ONNX Runtime lacks the operator or the type.
    Raises `Rejected` where neither can.
    """
    names = [name for name in node.output if name]
    graph = helper.make_graph(
        [node],
        "node",
        [value_info(name, array) for name, array in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in names],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=IR_VERSION
    )
    for by in (_BY_ONNX_RUNTIME, _BY_ONNX):
        try:
            found = reference_values(model, feeds, names, by)
        except ReferenceRunError:
            continue
        if len(found) == len(names):
            _check(model, found)
            return [found[name] for name in names], by
    raise Rejected("no reference")


def _check(model: onnx.ModelProto, results: Mapping[str, np.ndarray]) -> None:
    """Hold a model of one node against the operator's schema."""
    del model.graph.output[:]
    for name, array in results.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        sizes = [None] * array.ndim
        model.graph.output.append(helper.make_tensor_value_info(name, kind, sizes))
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise Rejected("invalid") from error
