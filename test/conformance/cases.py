"""The cases of ONNX's backend test suite."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

from graphc.debugging.onnx.graphs import all_nodes

from .suite_results import CaseInfo, operator_key

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")

DataSet = tuple[list[Any], list[Any]]
"""Inputs and outputs: arrays, lists of arrays for sequences, None for empty optionals."""

_HOST_OPERATORS = {"ImageDecoder", "StringNormalizer", "TfIdfVectorizer", "RegexFullMatch"}


@dataclass
class SuiteCase:
    """One case; its files are read on demand."""

    name: str
    kind: str
    rtol: float
    atol: float
    source: Any

    def model(self) -> onnx.ModelProto:
        """The model."""
        if self.source.model is not None:
            return self.source.model
        return onnx.load(Path(self.source.model_dir, "model.onnx"))

    def data_sets(self) -> Iterator[DataSet]:
        """The inputs and the expected outputs of each data set."""
        if self.source.data_sets is not None:
            for inputs, outputs in self.source.data_sets:
                yield [_as_array(value) for value in inputs], [_as_array(v) for v in outputs]
            return
        graph = self.model().graph
        for folder in sorted(Path(self.source.model_dir).glob("test_data_set_*")):
            yield _read(folder, "input", graph.input), _read(folder, "output", graph.output)


def load_cases() -> list[SuiteCase]:
    """All cases, in ONNX's order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # infinities and NaN in the examples are intended
        return [
            SuiteCase(test.name, kind, test.rtol, test.atol, test)
            for kind in KINDS
            for test in load_model_tests(kind=kind)
        ]


def case_info(case: SuiteCase) -> CaseInfo:
    """The properties of `case` for the statistics. Expanded function bodies do not count for
    operators."""
    model = case.model()
    operators: set[str] = set()
    if case.kind == "node" and "_expanded" not in case.name:
        operators = {operator_key(node.domain, node.op_type) for node in all_nodes(model.graph)}
    return CaseInfo(
        case.name, holds_tensors_only(model), sorted(operators), sorted(set(_types(model)))
    )


def holds_tensors_only(model: onnx.ModelProto) -> bool:
    """Return whether all inputs, outputs and intermediate values are tensors of numbers."""
    ends = [*model.graph.input, *model.graph.output]
    numbers = all(
        end.type.HasField("tensor_type")
        and end.type.tensor_type.elem_type != onnx.TensorProto.STRING
        for end in ends
    )
    return numbers and not any(_is_for_the_host(node) for node in all_nodes(model.graph))


def _is_for_the_host(node: onnx.NodeProto) -> bool:
    return (
        node.op_type in _HOST_OPERATORS
        or "Sequence" in node.op_type
        or ("Optional" in node.op_type)
    )


def _types(model: onnx.ModelProto) -> Iterator[str]:
    for info in model.graph.input:
        if info.type.HasField("tensor_type"):
            yield onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type).lower()
        else:
            yield str(info.type.WhichOneof("value")).removesuffix("_type")


def _read(folder: Path, prefix: str, infos: Any) -> list[Any]:
    files = sorted(folder.glob(f"{prefix}_*.pb"), key=lambda path: int(path.stem.split("_")[1]))
    return [_parse(path.read_bytes(), info.type) for path, info in zip(files, infos, strict=False)]


def _parse(data: bytes, type_: onnx.TypeProto) -> Any:
    match type_.WhichOneof("value"):
        case "sequence_type":
            return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        case "optional_type":
            return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def _as_array(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value
