"""Ways in which exporters write a graph: wrong declarations, unknown sizes, unusual orders.

Each way changes the declarations around the nodes, not the computation. A change is kept if ONNX
Runtime loads the model and gives the same results.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from graphc.debugging.onnx.evaluators import arrays, open_runtime
from graphc.errors import ReferenceRunError

Random = np.random.Generator
Way = Callable[[onnx.ModelProto, Random], Any]
NO_NAMES = ("?", "None", "unk__0", "-1", "dynamic")
"""Placeholder names that exporters write for unknown sizes, the same on every axis."""
_OPSETS = range(11, 26)


def names_that_are_none(model: onnx.ModelProto, random: Random) -> None:
    """Use one name for all sizes that have names."""
    name = str(random.choice(NO_NAMES))
    for info in model.graph.input:
        for dim in info.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = name


def results_of_other_sizes(model: onnx.ModelProto, random: Random) -> None:
    """Declare outputs with sizes that they do not have, or without a rank."""
    for info in model.graph.output:
        _misdeclare(info, random)


def values_of_other_sizes(model: onnx.ModelProto, random: Random) -> None:
    """Do the same for intermediate values whose types are known from the outputs alone."""
    outputs = {info.name for info in model.graph.output}
    inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
    for info in inferred:
        if info.name not in outputs and random.random() < 0.5:
            _misdeclare(info, random)
            model.graph.value_info.append(info)


def _misdeclare(info: onnx.ValueInfoProto, random: Random) -> None:
    tensor = info.type.tensor_type
    if random.random() < 0.3:
        tensor.ClearField("shape")
        return
    for dim in tensor.shape.dim:
        if random.random() < 0.5:
            dim.dim_value = int(random.integers(1, 9))


def nodes_in_any_order(model: onnx.ModelProto, random: Random) -> None:
    """Place nodes before the nodes whose results they read."""
    nodes = list(model.graph.node)
    del model.graph.node[:]
    model.graph.node.extend(nodes[int(i)] for i in random.permutation(len(nodes)))


def weights_among_the_inputs(model: onnx.ModelProto, random: Random) -> None:
    """Make initializers inputs that a caller may replace, as all were before IR version 4."""
    for tensor in model.graph.initializer:
        if random.random() < 0.5:
            kind, name = tensor.data_type, tensor.name
            model.graph.input.append(helper.make_tensor_value_info(name, kind, tensor.dims))


def an_output_twice(model: onnx.ModelProto, random: Random) -> None:
    """List one of the outputs a second time, at the end."""
    model.graph.output.append(model.graph.output[int(random.integers(len(model.graph.output)))])


def a_function_of_another_opset(model: onnx.ModelProto, random: Random) -> None:
    """Move a node into a model-local function whose opset has the operator unchanged."""
    (opset,) = (each.version for each in model.opset_import)
    index = int(random.integers(len(model.graph.node)))
    node = model.graph.node[index]
    since = onnx.defs.get_schema(node.op_type, opset).since_version
    others = [each for each in _OPSETS if each >= since and each != opset]
    alike = [n for n in others if onnx.defs.get_schema(node.op_type, n).since_version == since]
    if not alike or any(attribute.HasField("g") for attribute in node.attribute):
        return
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    version = int(random.choice(alike))
    function = helper.make_function(
        "local", "f", list(dict.fromkeys(filter(None, node.input))), list(node.output), [inner],
        [helper.make_opsetid("", version)],
    )  # fmt: skip
    call = helper.make_node("f", function.input, node.output, domain="local", name=node.name)
    node.CopyFrom(call)
    model.functions.append(function)
    model.opset_import.append(helper.make_opsetid("local", 1))


WAYS: tuple[Way, ...] = (
    names_that_are_none, results_of_other_sizes, values_of_other_sizes, nodes_in_any_order,
    weights_among_the_inputs, an_output_twice, a_function_of_another_opset,
)  # fmt: skip


def declared_otherwise(
    model: onnx.ModelProto,
    feeds: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    random: Random,
) -> tuple[onnx.ModelProto, list[str]]:
    """`model` written in one or two other ways, and their names.

    The model is unchanged if ONNX Runtime then gives other results than `expected` for `feeds`.
    """
    changed, names = model, []
    for number in random.permutation(len(WAYS))[: int(random.integers(1, 3))]:
        way = WAYS[int(number)]
        copy = onnx.ModelProto()
        copy.CopyFrom(changed)
        way(copy, random)
        before = changed.SerializeToString(deterministic=True)
        if copy.SerializeToString(deterministic=True) != before and _gives(copy, feeds, expected):
            changed, names = copy, [*names, way.__name__]
    return changed, names


def replaced_weights(model: onnx.ModelProto, random: Random) -> dict[str, np.ndarray]:
    """The values of some of the weights that are also inputs, for a caller to feed."""
    inputs = {info.name for info in model.graph.input}
    return {
        tensor.name: numpy_helper.to_array(tensor)
        for tensor in model.graph.initializer
        if tensor.name in inputs and random.random() < 0.5
    }


def _gives(
    model: onnx.ModelProto, feeds: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]
) -> bool:
    try:
        found = arrays(open_runtime(model, list(expected))(feeds))
    except ReferenceRunError:
        return False
    return all(found[name].tobytes() == array.tobytes() for name, array in expected.items())
