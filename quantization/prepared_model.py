"""A model in the form that the quantiser takes: folded, with shapes, and every node with a name."""

import contextlib
import difflib
import fnmatch
import io
import logging
import tempfile
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from ..debugging.onnx.evaluators import read_model
from ..debugging.onnx.graphs import all_nodes
from ..errors import ExternalDataError, InvalidModelError, QuantizationError, UsageError
from ..frontend.onnx import ModelNode, list_nodes
from .portable_model import keep_used_domains

PER_CHANNEL_OPSET, WIDE_OPSET = 13, 21
"""First versions whose DequantizeLinear has an axis, and types of 16 bits."""
INTEGER_TYPES = (
    *("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger"),
    "ConvInteger",
)
MAX_BYTES = 2**31 - 1
"""Size of a message of Protocol Buffers."""


@dataclass(frozen=True)
class PreparedModel:
    """An f32 model whose nodes the quantiser can be told by name."""

    proto: onnx.ModelProto
    titles: Mapping[str, str]
    """For each node, the name of the node of the original model that it computes."""

    @property
    def nodes(self) -> list[onnx.NodeProto]:
        """The nodes of the main graph."""
        return list(self.proto.graph.node)

    def chosen(self, patterns: Iterable[str]) -> set[str]:
        """The nodes whose original names, or own, match `patterns`. UsageError if none does."""
        found: set[str] = set()
        for pattern in patterns:
            matching = {
                name
                for name, title in self.titles.items()
                if pattern in (name, title) or fnmatch.fnmatchcase(title, pattern)
            }
            if not matching:
                near = difflib.get_close_matches(pattern, [*self.titles.values()], n=1)
                hint = f"; did you mean '{near[0]}'?" if near else ""
                raise UsageError(f"no node is named '{pattern}'{hint}")
            found |= matching
        return found


def prepare(source: Any, *, opset: int = PER_CHANNEL_OPSET) -> PreparedModel:
    """Read the model `source` and prepare it, in `opset` or the later one that it has.

    ONNX Runtime folds constants and batch normalisations, which would else be quantised apart.
    Raises InvalidModelError, ExternalDataError and QuantizationError.
    """
    original = list_nodes(source)  # checks the model, too
    _require_floats(original)
    titles = {name: node.name for node in original for name in node.outputs}
    model = _whole(source)
    if model.ByteSize() > MAX_BYTES:
        raise QuantizationError(f"the model has {model.ByteSize()} bytes; 2 GiB is the most")
    model = _in_opset(_folded(_in_opset(model, opset)), opset)
    _flatten_biases(model.graph)
    _name_nodes(model.graph)
    own = {node.name for node in original}
    return PreparedModel(model, {node.name: _title(node, own, titles) for node in model.graph.node})


def _require_floats(nodes: Iterable[ModelNode]) -> None:
    """Raise QuantizationError for a model that is quantised already."""
    for node in nodes:
        if node.op_type in INTEGER_TYPES or node.op_type.startswith("QLinear"):
            raise QuantizationError(
                f"the model is quantised already: node '{node.name}' is a {node.op_type}; give the "
                "f32 model that it was made from"
            )


def _whole(source: Any) -> onnx.ModelProto:
    """The model with its external data. Raises ExternalDataError."""
    try:
        return read_model(source)
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ExternalDataError(f"cannot read the weights of the model: {error}") from error


def _title(node: onnx.NodeProto, own: Collection[str], producers: Mapping[str, str]) -> str:
    """The node of the original model that `node` computes, which has its name, or the beginning of
    it if it was fused, or else its result."""
    beginnings = [node.name[:at] for at in range(len(node.name), 0, -1) if node.name[:at] in own]
    results = [producers[name] for name in node.output if name in producers]
    return next(iter([*beginnings[:1], *results, node.name]))


def _in_opset(model: onnx.ModelProto, opset: int) -> onnx.ModelProto:
    """`model` converted to `opset` if it has an earlier one. Raises QuantizationError."""
    if all(each.version >= opset for each in model.opset_import if each.domain in ("", "ai.onnx")):
        return model
    try:
        return onnx.version_converter.convert_version(model, opset)
    except RuntimeError as error:
        raise QuantizationError(
            f"the model cannot be converted to opset {opset}, which its quantised form needs: "
            f"{error}"
        ) from error


def _folded(model: onnx.ModelProto) -> onnx.ModelProto:
    from onnxruntime.quantization.quant_utils import add_infer_metadata
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory(prefix="graphc-quantize-") as folder, quiet():
        source, path = Path(folder, "model.onnx"), Path(folder, "prepared.onnx")
        onnx.save(model, source)
        try:
            quant_pre_process(source, path, skip_symbolic_shape=True)
            prepared = onnx.load(path)
        except Exception as error:  # those of ONNX Runtime and onnx have no common base class
            raise InvalidModelError(f"ONNX Runtime cannot load the model: {error}") from error
    keep_used_domains(prepared)
    add_infer_metadata(prepared)  # or each quantiser would infer shapes again
    return prepared


def _flatten_biases(graph: onnx.GraphProto) -> None:
    """Give each Gemm whose bias is a row of a matrix a vector, as the quantiser takes it."""
    constants = {tensor.name: tensor for tensor in graph.initializer}
    replaced: set[str] = set()
    for node in graph.node:
        has_bias = node.op_type == "Gemm" and len(node.input) > 2
        bias = constants.get(node.input[2]) if has_bias else None
        if bias is not None and len(bias.dims) == 2 and bias.dims[0] == 1 < bias.dims[1]:
            vector = onnx.numpy_helper.to_array(bias).ravel()
            node.input[2] = f"{bias.name}/{node.output[0]}"
            graph.initializer.append(onnx.numpy_helper.from_array(vector, node.input[2]))
            replaced.add(bias.name)
    used = {name for node in all_nodes(graph) for name in node.input}
    for name in replaced - used - {info.name for info in graph.output}:
        graph.initializer.remove(constants[name])


def _name_nodes(graph: onnx.GraphProto) -> None:
    """Give each node of `graph` a name of its own."""
    taken: set[str] = set()
    for index, node in enumerate(graph.node):
        name = node.name or f"{node.op_type}_{index}"
        while name in taken:
            name += "_"
        node.name = name
        taken.add(name)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Hide the quantiser's remarks, on the root logger, standard output and as warnings."""
    disabled = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
