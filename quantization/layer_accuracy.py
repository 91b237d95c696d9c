"""Accuracy of a quantised model layer by layer: each value against that of the f32 model."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from ..debugging.onnx.evaluators import arrays, open_runtime
from .calibration_data import Feed
from .error_power import ErrorPower
from .prepared_model import PreparedModel

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
REMOVABLE = ("Relu", "Clip")
"""Activations that the range of a quantised value stands for."""


@dataclass(frozen=True)
class LayerAccuracy:
    """The result of one node in the quantised model against that in f32."""

    node: str
    """The name of the node in the original model."""
    name: str
    """The name of the node in the quantised model, which differs for fused nodes."""
    op_type: str
    value: str
    quantized: bool
    """True if the node computes with integers; false if it stays in f32."""
    sqnr: float
    """Signal-to-quantisation-noise ratio of the value in dB; its error has that of its operands."""
    alone: float | None = None
    """Relative RMS error of the model's outputs if only this node is quantised; None if it was
    not measured."""


def layer_accuracies(
    prepared: PreparedModel,
    quantized: onnx.ModelProto,
    feeds: Iterable[Feed],
    op_types: Collection[str],
) -> list[LayerAccuracy]:
    """The accuracy of each node's result over all `feeds`, in the order of the model.

    `op_types` are the types of the nodes that could be quantised.
    """
    counterparts = Counterparts(prepared.proto, quantized)
    rows = {node.name: counterparts.find(node) for node in prepared.nodes}
    pairs = {row.value: row.counterpart for row in rows.values() if row is not None}
    powers = _compare(prepared.proto, quantized, pairs, feeds)
    integer = quantized_nodes(prepared.proto, quantized, op_types)
    return [
        LayerAccuracy(
            prepared.titles[name], name, row.op_type, row.value, name in integer,
            powers[row.value].sqnr,
        )
        for name, row in rows.items()
        if row is not None and row.value in powers
    ]  # fmt: skip


def _compare(
    original: onnx.ModelProto,
    quantized: onnx.ModelProto,
    pairs: Mapping[str, str],
    feeds: Iterable[Feed],
) -> dict[str, ErrorPower]:
    """The power of the error of each value, by its name in `original`."""
    want_run = open_runtime(original, list(pairs))
    have_run = open_runtime(quantized, [*dict.fromkeys(pairs.values())])
    powers: dict[str, ErrorPower] = {}
    for feed in feeds:
        want, have = arrays(want_run(feed)), arrays(have_run(feed))
        for name, where in pairs.items():
            if name in want and want[name].dtype.kind == "f":
                powers.setdefault(name, ErrorPower()).add(np.asarray(have[where]), want[name])
    return powers


@dataclass(frozen=True)
class ValuePair:
    """A value of the f32 model, and the one of the quantised model that stands for it."""

    op_type: str
    value: str
    counterpart: str


class Counterparts:
    """Finds the values of a quantised model that stand for those of the original model.

    They are what later nodes read: behind QuantizeLinear and DequantizeLinear, if these follow. The
    quantiser leaves out activations that a range of integers stands for: the node before gives the
    result of the activation then.
    """

    def __init__(self, original: onnx.ModelProto, quantized: onnx.ModelProto):
        self._after = _passed_on(quantized)
        self._names = {name for node in quantized.graph.node for name in node.output}
        left = {node.name for node in quantized.graph.node}
        self._activations = {
            node.input[0]: node
            for node in original.graph.node
            if node.op_type in REMOVABLE and node.name not in left
        }
        self._removed = {node.name for node in self._activations.values()}

    def find(self, node: onnx.NodeProto) -> ValuePair | None:
        """The result of `node` of the original model; None for one that is not there."""
        if not node.output or node.op_type == "Constant" or node.name in self._removed:
            return None
        name, op_type = node.output[0], node.op_type
        if activation := self._activations.get(name):
            name, op_type = activation.output[0], f"{op_type} + {activation.op_type}"
        return (
            ValuePair(op_type, name, self._after.get(name, name)) if name in self._names else None
        )


def _passed_on(model: onnx.ModelProto) -> dict[str, str]:
    """For each value that is quantised, the result of its DequantizeLinear."""
    to_integer = {n.output[0]: n.input[0] for n in model.graph.node if n.op_type == QUANTIZE}
    return {
        to_integer[node.input[0]]: node.output[0]
        for node in model.graph.node
        if node.op_type == DEQUANTIZE and node.input[0] in to_integer
    }


def quantized_nodes(
    original: onnx.ModelProto, quantized: onnx.ModelProto, op_types: Collection[str]
) -> set[str]:
    """Names of the nodes of `original`, of these types, that compute with integers in `quantized`.

    In a QDQ model all their inputs of floats are dequantised; dynamic quantisation replaces them.
    """
    left = {node.name: node for node in quantized.graph.node}
    dequantized = {node.output[0] for node in quantized.graph.node if node.op_type == DEQUANTIZE}
    constants = {tensor.name for tensor in quantized.graph.initializer}

    def is_quantized(name: str) -> bool:
        read = [each for each in left[name].input if each not in constants]
        return bool(read) and dequantized.issuperset(read)

    return {
        node.name
        for node in original.graph.node
        if node.op_type in op_types
        if (is_quantized(node.name) if node.name in left else node.op_type not in REMOVABLE)
    }
