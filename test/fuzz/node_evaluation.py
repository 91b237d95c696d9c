"""Evaluation of a single node."""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import helper

from graphc.debugging.onnx import nodes
from graphc.errors import ReferenceRunError

IR_VERSION = 10


class Rejected(Exception):  # the draw is given up; drawing continues
    """The draw cannot be part of a graph; the message gives the reason in a few words."""


def evaluate_node(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int
) -> tuple[list[np.ndarray], str]:
    """The results of `node` for `feeds`, and the evaluator that computed them.

    Raises `Rejected` if no evaluator can, or if the node does not fit the operator's schema.
    """
    around = helper.make_model(
        helper.make_graph([], "node", [], []),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=IR_VERSION,
    )
    names = [name for name in node.output if name]
    try:
        found, by = nodes.evaluate_node(node, feeds, around)
    except ReferenceRunError as error:
        raise Rejected("no reference") from error
    if len(found) < len(names):
        raise Rejected("no reference")
    _check(nodes.model_of_node(node, feeds, around), found)
    return [found[name] for name in names], by


def _check(model: onnx.ModelProto, results: Mapping[str, np.ndarray]) -> None:
    """Check a model of one node against the operator's schema."""
    del model.graph.output[:]
    for name, array in results.items():
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        sizes = [None] * array.ndim
        model.graph.output.append(helper.make_tensor_value_info(name, kind, sizes))
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        raise Rejected("invalid") from error
