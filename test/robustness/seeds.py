"""The models to mutate: small ones, so that many can be tried in an hour."""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

from conformance.cases import SuiteCase, load_cases

MAX_BYTES = 6000
"""Largest size of models of ONNX's suite. Larger ones take longer and contain more of the same."""


@functools.cache
def suite_models() -> tuple[bytes, ...]:
    """The small models of ONNX's backend test suite, without duplicates."""
    found = (case.model().SerializeToString() for case in load_cases() if _is_at_hand(case))
    return tuple(dict.fromkeys(data for data in found if len(data) <= MAX_BYTES))


def _is_at_hand(case: SuiteCase) -> bool:
    folder = case.source.model_dir
    return case.source.model is not None or (
        folder is not None and Path(folder, "model.onnx").is_file()
    )


def own_models() -> tuple[bytes, ...]:
    """Models with features that are rare in the suite: functions, nesting, named sizes, Microsoft's
    operators."""
    return tuple(model.SerializeToString() for model in _own_models())


def _model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    initializers: Sequence[TensorProto] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    **domains: int,
) -> onnx.ModelProto:
    opsets = [helper.make_opsetid("", 21)]
    opsets += [helper.make_opsetid(name.replace("_", "."), 1) for name in domains]
    return helper.make_model(
        helper.make_graph(nodes, "seed", inputs, outputs, list(initializers)),
        opset_imports=opsets,
        functions=list(functions),
        ir_version=10,
    )


def _tensor(
    name: str, dims: Sequence[int | str] = ("N", 4), kind: int = TensorProto.FLOAT
) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def _untyped(name: str) -> onnx.ValueInfoProto:
    return onnx.ValueInfoProto(name=name)


def _int64(name: str, values: list[int]) -> TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(values)], values)


def _own_models() -> Iterator[onnx.ModelProto]:
    node = helper.make_node
    yield _model(
        [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"]),
         node("Concat", ["n", "minus"], ["t"], axis=0), node("Reshape", ["x", "t"], ["y"])],
        [_tensor("x", ("N", "M", 4))], [_untyped("y")],
        [_int64("zero", [0]), _int64("minus", [-1])],
    )  # fmt: skip
    yield _model(
        [node("Conv", ["x", "w", "b"], ["c"], name="conv", pads=[1, 1, 1, 1]),
         node("Relu", ["c"], ["r"]), node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2]),
         node("GlobalAveragePool", ["p"], ["y"])],
        [_tensor("x", ("N", 3, 8, 8))], [_untyped("y")],
        [helper.make_tensor("w", 1, [4, 3, 3, 3], [0.1] * 108),
         helper.make_tensor("b", 1, [4], [0.5] * 4)],
    )  # fmt: skip
    yield _model(
        [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["a"]),
         node("Softmax", ["a"], ["y"], axis=-1)],
        [_tensor("x")], [_tensor("y", ("N", 5))],
        [helper.make_tensor("w", 1, [4, 5], [0.1] * 20), helper.make_tensor("b", 1, [5], [1] * 5)],
    )  # fmt: skip
    yield _with_control_flow()
    yield _with_functions()
    yield _model(
        [node("QuantizeLinear", ["x", "s", "z"], ["q"]),
         node("DequantizeLinear", ["q", "s", "z"], ["y"])],
        [_tensor("x")], [_untyped("y")],
        [helper.make_tensor("s", 1, [], [0.5]), helper.make_tensor("z", 3, [], [1])],
    )  # fmt: skip
    yield _model(
        [node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=2)],
        [_tensor("x", ("T", 1, 3))], [_untyped("y"), _untyped("h")],
        [helper.make_tensor("w", 1, [1, 8, 3], [0.1] * 24),
         helper.make_tensor("r", 1, [1, 8, 2], [0.1] * 16)],
    )  # fmt: skip
    yield _model(
        [node("SkipLayerNormalization", ["x", "x", "g"], ["s"], domain="com.microsoft"),
         node("FastGelu", ["s"], ["y"], domain="com.microsoft")],
        [_tensor("x", ("N", 3, 4))], [_untyped("y")],
        [helper.make_tensor("g", 1, [4], [1] * 4)], com_microsoft=1,
    )  # fmt: skip
    yield _model(
        [node("StringSplit", ["x"], ["a", "b"], delimiter=" "), node("Cast", ["b"], ["y"], to=1)],
        [_tensor("x", ("N",), TensorProto.STRING)], [_untyped("a"), _untyped("y")],
    )  # fmt: skip
    yield _model(
        [node("SplitToSequence", ["x"], ["s"], axis=1), node("SequenceAt", ["s", "i"], ["e"]),
         node("Neg", ["e"], ["y"])],
        [_tensor("x", (2, 4))], [_untyped("y")], [helper.make_tensor("i", 7, [], [1])],
    )  # fmt: skip


def _with_control_flow() -> onnx.ModelProto:
    node = helper.make_node
    body = helper.make_graph(
        [node("Add", ["c", "x"], ["c_out"]), node("Identity", ["go"], ["go_out"])],
        "body",
        [_tensor("i", [], 7), _tensor("go", [], 9), _untyped("c")],
        [_untyped("go_out"), _untyped("c_out"), _untyped("c_out")],
    )
    branches: dict[str, Any] = {
        "then_branch": helper.make_graph([node("Neg", ["l"], ["t"])], "t", [], [_untyped("t")]),
        "else_branch": helper.make_graph([node("Abs", ["l"], ["e"])], "e", [], [_untyped("e")]),
    }
    return _model(
        [
            node("Loop", ["n", "", "x"], ["l", "all"], body=body),
            node("If", ["f"], ["y"], **branches),
        ],
        [_tensor("x"), _tensor("f", [], 9)],
        [_untyped("y"), _untyped("all")],
        [helper.make_tensor("n", 7, [], [3])],
    )


def _with_functions() -> onnx.ModelProto:
    node = helper.make_node
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    scaled = helper.make_function(
        "own", "Scaled", ["x"], ["y"],
        [node("Constant", [], ["c"]), node("Mul", ["x", "c"], ["y"])],
        opsets, attributes=["factor"],
    )  # fmt: skip
    reference = scaled.node[0].attribute.add(name="value_float", type=onnx.AttributeProto.FLOAT)
    reference.ref_attr_name = "factor"
    twice = helper.make_function(
        "own", "Twice", ["x"], ["y"],
        [node("Scaled", ["x"], ["a"], domain="own", factor=2.0),
         node("Scaled", ["a"], ["y"], domain="own", factor=3.0)],
        opsets,
    )  # fmt: skip
    nodes = [node("Twice", ["x"], ["y"], domain="own")]
    return _model(nodes, [_tensor("x")], [_untyped("y")], functions=[scaled, twice], own=1)
