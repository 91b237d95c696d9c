"""Node-by-node evaluation of a model, each node by the first evaluator that supports it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...errors import ReferenceRunError
from ...onnx_names import read_names
from .evaluators import arrays, by_evaluator, by_runtime
from .graphs import value_info

RUNTIME, EVALUATOR = "onnxruntime", "onnx"

_REFUSALS = ("[ShapeInferenceError]", "status code returned while running")
"""Parts of what ONNX Runtime says of arrays that an operator does not take."""
_OTHER_FLOATS = ("float64", "float16", "bfloat16")


def evaluate_node(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], model: onnx.ModelProto, threads: int = 0
) -> tuple[dict[str, np.ndarray], str]:
    """The results of `node` of `model` on `feeds`, by name, and the evaluator that computed them.

    That is ONNX Runtime on so many `threads` (0 for one for each core), or ONNX's own evaluator if
    ONNX Runtime lacks the operator or the type. Raises ReferenceRunError if neither can, or if ONNX
    Runtime has the operator and refuses the arrays, or such of float32: the evaluator takes some
    that mean nothing, as a ``Split`` into sizes that do not add up.
    """
    names = [name for name in node.output if name]
    alone = model_of_node(node, feeds, model)
    try:
        return arrays(by_runtime(alone, feeds, names, threads)), RUNTIME
    except ReferenceRunError as error:
        if _is_refusal(error):
            raise
    _require_not_refused(node, feeds, model)
    return arrays(by_evaluator(alone, feeds, names)), EVALUATOR


def _is_refusal(error: ReferenceRunError) -> bool:
    """True if ONNX Runtime has the operator and the type, but does not take the arrays."""
    said = str(error)
    return "NOT_IMPLEMENTED" not in said and any(part in said for part in _REFUSALS)


def _require_not_refused(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], model: onnx.ModelProto
) -> None:
    """Raise what ONNX Runtime has against the arrays where these are float32 rather than other
    floats, which it may lack the operator for."""
    wide = {
        name: array.astype(np.float32) if array.dtype.name in _OTHER_FLOATS else array
        for name, array in feeds.items()
    }
    if all(wide[name] is array for name, array in feeds.items()):
        return
    try:
        by_runtime(model_of_node(node, wide, model), wide, [n for n in node.output if n])
    except ReferenceRunError as error:
        if _is_refusal(error):
            raise


def model_of_node(
    node: onnx.NodeProto, feeds: Mapping[str, np.ndarray], model: onnx.ModelProto
) -> onnx.ModelProto:
    """A model with the single node `node`, and with the opsets and functions of `model`."""
    graph = helper.make_graph(
        [node],
        "node",
        [value_info(name, array) for name, array in feeds.items()],
        [onnx.ValueInfoProto(name=name) for name in node.output if name],
    )
    made = helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version)
    made.functions.extend(model.functions)
    return made


def by_nodes(
    model: onnx.ModelProto, feeds: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    """The values `names`, computed node by node. Raises ReferenceRunError if a node fails."""
    values = {name: np.asarray(array) for name, array in feeds.items()}
    for tensor in model.graph.initializer:
        values.setdefault(tensor.name, numpy_helper.to_array(tensor))
    for node in model.graph.node:
        read = dict.fromkeys(read_names(node))
        missing = [name for name in read if name not in values]
        if missing:
            raise ReferenceRunError(f"node '{node.name}' reads '{missing[0]}', which is no array")
        values |= evaluate_node(node, {name: values[name] for name in read}, model)[0]
    return {name: values[name] for name in names if name in values}
