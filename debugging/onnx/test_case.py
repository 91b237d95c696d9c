"""Test cases of a reduction: a model with its inputs."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...onnx_names import read_names
from .evaluators import read_model
from .graphs import value_info

KEPT_CONSTANT = 1024
"""Maximum number of elements of integer values (shapes, axes, indices) that become constants of a
part, instead of inputs."""


@dataclass(frozen=True)
class ReductionCase:
    """An ONNX model, arrays for its inputs, and known intermediate values."""

    model: onnx.ModelProto
    feeds: Mapping[str, np.ndarray]
    values: Mapping[str, np.ndarray]
    stated: Mapping[str, onnx.ValueInfoProto] = field(default_factory=dict)
    """Declarations of inputs and outputs of parts that are not derived from their arrays."""

    @property
    def nodes(self) -> int:
        """The number of nodes."""
        return len(self.model.graph.node)

    @property
    def names(self) -> list[str]:
        """The names of all values that nodes define."""
        return [name for node in self.model.graph.node for name in node.output if name]

    def digest(self) -> bytes:
        """A digest of the model and its inputs."""
        digest = hashlib.sha256(self.model.SerializeToString(deterministic=True))
        for name, array in self.feeds.items():
            digest.update(f"{name} {array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
        return digest.digest()

    def part(self, kept: Collection[int]) -> "ReductionCase | None":
        """The part with the nodes of the indices `kept`; values from other nodes become inputs.

        None if such a value is not a known array.
        """
        graph = self.model.graph
        nodes = [graph.node[index] for index in sorted(kept)]
        defined = {name for node in nodes for name in node.output}
        used = dict.fromkeys(name for node in nodes for name in read_names(node))
        weights = {tensor.name: tensor for tensor in graph.initializer}
        known = {**self.values, **self.feeds}
        missing = [name for name in used if name not in defined and name not in weights]
        if not nodes or any(name not in known for name in missing):
            return None
        constants = [n for n in missing if n not in self.feeds and _is_small_integer(known[n])]
        inputs = [name for name in missing if name not in constants]
        tensors = [weights[name] for name in used if name in weights]
        tensors += [numpy_helper.from_array(known[name], name) for name in constants]
        others = [node for index, node in enumerate(graph.node) if index not in set(kept)]
        wanted = {name for node in others for name in read_names(node)}
        wanted |= {info.name for info in graph.output}
        results = [n for node in nodes for n in node.output if n and (n in wanted or n not in used)]
        part = helper.make_graph(
            nodes,
            graph.name or "reduced",
            [self._declared(name, known) for name in inputs],
            [self._declared(name, known) for name in results],
            tensors,
        )
        whole = self.model
        made = helper.make_model(
            part, ir_version=whole.ir_version, opset_imports=whole.opset_import
        )
        made.functions.extend(whole.functions)
        return replace(self, model=made, feeds={name: known[name] for name in inputs})

    def with_sizes_as_stated(self) -> "ReductionCase":
        """A copy whose parts keep the model's symbolic sizes."""
        graph = self.model.graph
        return replace(self, stated={info.name: info for info in (*graph.input, *graph.output)})

    def _declared(self, name: str, known: Mapping[str, np.ndarray]) -> onnx.ValueInfoProto:
        if name in self.stated:
            return self.stated[name]
        return value_info(name, known[name]) if name in known else onnx.ValueInfoProto(name=name)

    def with_outputs(self, names: Iterable[str]) -> "ReductionCase":
        """A copy with the outputs `names`."""
        copy = _copy(self.model)
        kept = [info for info in copy.graph.output if info.name in set(names)]
        del copy.graph.output[:]
        copy.graph.output.extend(kept)
        return replace(self, model=copy)

    def save(self, folder: Path) -> dict[str, str]:
        """Write ``model.onnx`` and an ``.npy`` file for each input; return the files by input
        name."""
        onnx.save(self.model, folder / "model.onnx")
        files: dict[str, str] = {}
        for index, (name, array) in enumerate(self.feeds.items()):
            files[name] = f"input{index}.npy"
            np.save(folder / files[name], array)
        return files


def reduction_case(source: object, feeds: Mapping[str, np.ndarray]) -> ReductionCase:
    """The test case for a model (a path, bytes or ModelProto), with constants as initializers."""
    model = _copy(read_model(source))
    nodes = list(model.graph.node)
    del model.graph.node[:]
    for node in nodes:
        tensor = _constant(node)
        if tensor is None:
            model.graph.node.append(node)
        else:
            model.graph.initializer.append(tensor)
    model.ir_version = max(model.ir_version, 4)  # before, initializers had to be inputs, too
    fixed = {tensor.name for tensor in model.graph.initializer}
    inputs = [info for info in model.graph.input if info.name not in fixed]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    del model.graph.value_info[:]
    return ReductionCase(model, dict(feeds), {})


def _constant(node: onnx.NodeProto) -> onnx.TensorProto | None:
    if node.op_type != "Constant" or not node.attribute[0].HasField("t"):
        return None
    tensor = onnx.TensorProto()
    tensor.CopyFrom(node.attribute[0].t)
    tensor.name = node.output[0]
    return tensor


def _is_small_integer(array: np.ndarray) -> bool:
    return array.dtype.kind in "iub" and array.size <= KEPT_CONSTANT


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy
