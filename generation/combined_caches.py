"""Caches that hold keys and values in one tensor, ``[2, batch, heads, length, head size]``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..errors import ModelFolderError

PAST_NAMES, PRESENT_NAMES = "past_%d", "present_%d"
"""The names that ONNX Runtime's exporter of GPT-2 gives to inputs and outputs."""
_INDICES = ("combined_cache.keys", "combined_cache.values")
_AXES = "combined_cache.axes"


def split_caches(
    graph: onnx.GraphProto,
    path: Path,
    pairs: Sequence[tuple[str, str]],
    names: Sequence[tuple[str, str]],
) -> None:
    """Let `graph` take and return keys and values apart, where it has both as one tensor.

    `pairs` are an input and an output for each layer, `names` the same for the keys and the values
    that take their place, in turns. Raises `ModelFolderError` for the model at `path` where a
    tensor is no pair.
    """
    inputs, outputs = ({x.name: x for x in part} for part in (graph.input, graph.output))
    before, behind = list[onnx.NodeProto](), list[onnx.NodeProto]()
    if all(past not in inputs for past, _ in pairs):
        return
    for layer, (past, present) in enumerate(pairs):
        if past not in inputs or present not in outputs:
            continue  # the check of the names says so
        parts = names[2 * layer : 2 * layer + 2]
        _replace(path, graph.input, inputs[past], [own for own, _ in parts])
        _replace(path, graph.output, outputs[present], [own for _, own in parts])
        before += _joined([own for own, _ in parts], past)
        behind += [
            helper.make_node("Gather", [present, index], [own], name=own, axis=0)
            for index, (_, own) in zip(_INDICES, parts, strict=True)
        ]
    nodes = [*before, *graph.node, *behind]
    del graph.node[:]
    graph.node.extend(nodes)
    values = dict(zip((*_INDICES, _AXES), (0, 1, [0]), strict=True))
    graph.initializer.extend(
        numpy_helper.from_array(np.array(value, np.int64), name) for name, value in values.items()
    )


def _replace(path: Path, values: Any, given: onnx.ValueInfoProto, parts: Sequence[str]) -> None:
    """Put a tensor for each of `parts` in place of the one that has both."""
    dims = given.type.tensor_type.shape.dim
    if len(dims) != 5 or dims[0].dim_value not in (0, 2):
        sizes = [each.dim_value or each.dim_param for each in dims]
        raise ModelFolderError(
            f"{path}: cache '{given.name}' is {sizes}, not [2, batch, heads, length, head size]"
        )
    found = []
    for name in parts:
        part = onnx.ValueInfoProto()
        part.CopyFrom(given)
        part.name = name
        del part.type.tensor_type.shape.dim[0]
        found.append(part)
    values.remove(given)
    values.extend(found)


def _joined(parts: Sequence[str], whole: str) -> list[onnx.NodeProto]:
    """Nodes that make `whole` of its parts."""
    members = [f"{name}.member" for name in parts]
    unsqueezed = [
        helper.make_node("Unsqueeze", [name, _AXES], [member], name=member)
        for name, member in zip(parts, members, strict=True)
    ]
    return [*unsqueezed, helper.make_node("Concat", members, [whole], name=whole, axis=0)]
