"""Evaluation of a single node."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from graphc.debugging.onnx import nodes
from graphc.errors import ReferenceRunError

from .qdq.qlinear_bodies import DOMAIN, body_of

IR_VERSION = 10


class Rejected(Exception):  # the draw is given up; drawing continues
    """The draw cannot be part of a graph; the message gives the reason in a few words."""


def evaluate_node(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], opset: int
) -> tuple[list[np.ndarray], str]:
    """The results of `node` for `feeds`, and the evaluator that computed them.

    Raises `Rejected` if no evaluator can, or if the node does not fit the operator's schema.
    """
    body = body_of(node)
    if body is not None:
        return _evaluate_body(body, feeds, opset)
    around = helper.make_model(
        helper.make_graph([], "node", [], []),
        opset_imports=opsets_of([node], opset),
        ir_version=IR_VERSION,
    )
    names = [name for name in node.output if name]
    try:
        found, by = nodes.evaluate_node(node, feeds, around, threads=1)
    except ReferenceRunError as error:
        raise Rejected("no reference") from error
    if len(found) < len(names):
        raise Rejected("no reference")
    _check(nodes.model_of_node(node, feeds, around), found)
    return [found[name] for name in names], by


def opsets_of(used: Iterable[onnx.NodeProto], opset: int) -> list[onnx.OperatorSetIdProto]:
    """The operator sets of a model of the nodes `used`."""
    found = [helper.make_opsetid("", opset)]
    if any(node.domain == DOMAIN for node in used):
        found.append(helper.make_opsetid(DOMAIN, 1))
    return found


def _evaluate_body(
    body: Sequence[onnx.NodeProto], feeds: Mapping[str, np.ndarray], opset: int
) -> tuple[list[np.ndarray], str]:
    """The results of the last node of `body`, and the evaluator that computed the least."""
    values, evaluators = dict(feeds), list[str]()
    for node in body:
        found, by = evaluate_node(node, {name: values[name] for name in node.input if name}, opset)
        values |= zip((name for name in node.output if name), found, strict=True)
        evaluators.append(by)
    return [values[name] for name in body[-1].output], max(evaluators, key=_is_fallback)


def _is_fallback(by: str) -> bool:
    return by == nodes.EVALUATOR


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
