"""Tests that declared types and sizes hold, or else the model is refused with an error that names
the place."""

import numpy as np
import onnx
import pytest
from importing import FLOAT, model_of, refused, relu, returned
from numerics import build_model
from onnx import TensorProto, helper

from graphc.errors import (
    InvalidDimError,
    UnsupportedModelError,
)
from graphc.frontend.onnx import import_onnx


def test_outputs_of_another_element_type_than_declared():
    model = relu()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT32, [2, 3]))
    assert "output 'y' is declared as int32, but is float32" in refused(model)


def test_declared_shapes_of_outputs_that_are_wrong(caplog):
    """ONNX Runtime warns, and goes by what it computes."""
    model = build_model(
        [helper.make_node("Relu", ["x"], ["y"])], {"x": (np.float32, ["T", 3])}, ["y"]
    )
    for shape in ([1, "seqlen", 3], [4, 2], ["a"]):
        caplog.clear()
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, shape))
        assert returned(model) == ["Tx3xf32"]
        (record,) = caplog.records
        declared = ", ".join(map(str, shape))
        assert f"output 'y' is declared as [{declared}]; it is [T, 3]" in record.getMessage()


def test_declared_shapes_of_outputs_that_say_less(caplog):
    model = build_model(
        [helper.make_node("Relu", ["x"], ["y"])], {"x": (np.float32, ["T", 3])}, ["y"]
    )
    for shape in ([4, "?"], [-1, 3], ["a", "b"]):
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, shape))
        assert returned(model) == ["Tx3xf32"]
    assert not caplog.records


def test_outputs_may_be_declared_by_name():
    model = relu()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, ["n", "m"]))
    assert returned(model) == ["2x3xf32"]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([2**40, 2**40], "input 'x' is absurdly large"),
        ([2**62, 2], "input 'x' is absurdly large"),
    ],
)
def test_impossible_inputs(shape, message):
    model = relu()
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", FLOAT, shape))
    assert message in refused(model)


@pytest.mark.parametrize("dims", [[2, -3], [2**40, 2**40]])
def test_impossible_initializers(dims):
    model = model_of(helper.make_node("Add", ["x", "w"], ["y"]))
    model.graph.initializer.append(TensorProto(name="w", data_type=FLOAT, dims=dims, raw_data=b""))
    assert "tensor 'w'" in refused(model)


def test_initializers_whose_data_does_not_fit():
    model = model_of(helper.make_node("Add", ["x", "w"], ["y"], name="sum"))
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[2, 3], raw_data=bytes(20))
    model.graph.initializer.append(tensor)
    error = refused(model)
    assert "tensor 'w' is damaged" in error
    assert "node 'sum'" in error
    model.graph.initializer[0].data_type = 99
    assert "tensor 'w': 99 is not an ONNX element type" in refused(model)


def test_inputs_that_are_not_tensors_of_numbers():
    for change, reason in [
        (helper.make_tensor_value_info("x", TensorProto.STRING, [2]), "string tensors"),
        (helper.make_tensor_value_info("x", FLOAT, None), "inputs of unknown rank"),
        (helper.make_tensor_sequence_value_info("x", FLOAT, None), "inputs of kind sequence_type"),
        (onnx.ValueInfoProto(name="x"), "inputs of kind no type"),
    ]:
        model = relu()
        model.graph.input[0].CopyFrom(change)
        error = refused(model, UnsupportedModelError)
        assert reason in error
        assert "'x'" in error
    undefined = relu()
    undefined.graph.input[0].type.tensor_type.elem_type = 0
    assert "input 'x': 0 is not an ONNX element type" in refused(undefined)


def test_initializers_of_strings():
    model = model_of(helper.make_node("Relu", ["words"], ["y"], name="act"))
    model.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [1], [b"a"]))
    assert "initializer 'words' holds strings" in refused(model, UnsupportedModelError)
    unused = relu()
    unused.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [1], [b"a"]))
    assert returned(unused) == ["2x3xf32"]


def test_initializers_may_be_inputs_too():
    """Models before IR version 4 list all initializers so. They are not inputs of the program."""
    model = model_of(helper.make_node("Add", ["x", "w"], ["y"]), initializers={"w": [[1.0, 2, 3]]})
    model.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [1, 3]))
    module = import_onnx(model)
    with module.context:
        (function,) = module.body.operations
        assert len(function.arguments) == 1


def _symbolic(*dims: int | str) -> onnx.ModelProto:
    return build_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (np.float32, dims)}, ["y"])


def test_symbolic_dimensions():
    assert returned(_symbolic("batch", 3)) == ["batchx3xf32"]
    assert returned(_symbolic("2*n + 1", "n")) == ["2*n + 1xnxf32"]
    past = _symbolic("past_sequence_length + 1", "past_sequence_length")
    assert returned(past) == ["past_sequence_length + 1xpast_sequence_lengthxf32"]
    assert returned(_symbolic("floor(n/2)", "a-b")) == ["floor_n_2_xa_bxf32"]
    assert returned(_symbolic("a b", "5x")) == ["a_bxd_5xxf32"]
    model = _symbolic("n")
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    assert returned(model) == ["x_0xf32"]


def test_dimensions_are_given_sizes():
    model = _symbolic("n", "2*n + m")
    assert returned(model, dims={"n": 4}) == ["4xd_2_n___mxf32"]
    assert returned(model, dims={"m": 1}) == ["nx2*n + 1xf32"]
    assert returned(model, dims={"n": 4, "m": 1}) == ["4x9xf32"]
    assert returned(_symbolic("past + 1"), dims={"past": 16}) == ["17xf32"]
    assert returned(model, dims={"n": 0, "m": 0}) == ["0x0xf32"]


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({"k": 1}, "no dimension named k; the model has: n"),
        ({"k": 1, "z": 2, "n": 3}, "no dimension named k, z; the model has: n"),
        ({"n": -1}, "dimension 'n' cannot be -1"),
        ({"n": 2.5}, "dimension 'n' cannot be 2.5"),
        ({"n": True}, "dimension 'n' cannot be True"),
        ({"n": 2**60}, "absurdly large"),
    ],
)
def test_sizes_that_cannot_be(dims, message):
    assert message in refused(_symbolic("n", 3), InvalidDimError, dims=dims)
