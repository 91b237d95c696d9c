"""Models of every form are imported, and damaged ones refused with an error that says where."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from numerics import IR_VERSION, build_model, compare_with_onnxruntime
from onnx import TensorProto, helper, numpy_helper

from graphc.dialects import graph
from graphc.errors import (
    ExternalDataError,
    InvalidDimError,
    InvalidModelError,
    UnsupportedModelError,
)
from graphc.frontend.onnx import import_onnx
from graphc.mlir import ir

FLOAT = TensorProto.FLOAT
X = {"x": (np.float32, [2, 3])}


def _relu(**changes) -> onnx.ModelProto:
    return build_model([helper.make_node("Relu", ["x"], ["y"], name="act")], X, ["y"], **changes)


def _returned(model: onnx.ModelProto, **options) -> list[str]:
    module = import_onnx(model, **options)
    with module.context:
        (function,) = module.body.operations
        *_, returned = function.entry_block.operations
        return [str(graph.type_of(value)) for value in returned.operation.operands]


def _refused(model, error: type[Exception] = InvalidModelError, **options) -> str:
    with pytest.raises(error) as caught:
        import_onnx(model, **options)
    assert type(caught.value) is error
    return str(caught.value)


# Files


def test_models_come_as_path_bytes_or_proto(tmp_path):
    model = _relu()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for source in (model, model.SerializeToString(), path, str(path)):
        assert _returned(source) == ["2x3xf32"]
    assert _returned(model) == ["2x3xf32"], "a proto can be imported again"


def test_the_given_context_is_used():
    context = ir.Context()
    assert import_onnx(_relu(), context=context).context is context


def test_what_is_not_a_model_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    data = _relu().SerializeToString()
    for content, message in [
        (b"", "is empty"),
        (b"\x00\x01 not a protobuf \xff", "is not an ONNX model"),
        (b"# a text file\n" * 9, "is not an ONNX model"),
        (data[: len(data) // 2], "is not an ONNX model, or is truncated"),
        (b"\x08\x0a", "is not an ONNX model: it holds no graph"),
    ]:
        path.write_bytes(content)
        assert message in _refused(path)
        assert str(path) in _refused(path)
        assert message in _refused(content)


@pytest.mark.parametrize("cut", range(5, 60, 6))
def test_a_model_cut_anywhere_is_refused(cut):
    data = _relu().SerializeToString()
    with pytest.raises(InvalidModelError):
        import_onnx(data[: len(data) - cut])


def test_files_that_cannot_be_read(tmp_path):
    missing = tmp_path / "nowhere.onnx"
    assert f"cannot read '{missing}': No such file" in _refused(missing)
    assert "cannot read" in _refused(tmp_path)


# External data


def _external(folder: Path, location: str, size: int = 24, **fields: str) -> Path:
    """A model with a weight in `location`; a file of `size` bytes is beside the model."""
    weight = TensorProto(name="w", data_type=FLOAT, dims=[2, 3])
    weight.data_location = TensorProto.EXTERNAL
    entries = {"location": location, "offset": "0", "length": "24", **fields}
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    model = build_model([helper.make_node("Add", ["x", "w"], ["y"], name="sum")], X, ["y"])
    model.graph.initializer.append(weight)
    (folder / "weights.bin").write_bytes(np.arange(6, dtype=np.float32).tobytes()[:size])
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def test_external_data_is_read(tmp_path):
    assert _returned(_external(tmp_path, "weights.bin")) == ["2x3xf32"]
    (tmp_path / "sub").mkdir()
    (tmp_path / "weights.bin").rename(tmp_path / "sub" / "w.bin")
    assert _returned(_external(tmp_path, "sub/w.bin")) == ["2x3xf32"]


@pytest.mark.parametrize(
    ("location", "size", "fields", "message"),
    [
        ("missing.bin", 24, {}, "external data file 'missing.bin' is missing"),
        ("weights.bin", 20, {}, "is truncated: bytes 0 to 24 are wanted, the file has 20"),
        ("weights.bin", 24, {"offset": "8"}, "bytes 8 to 32 are wanted"),
        ("weights.bin", 24, {"length": "20"}, "states 20 bytes, but [2, 3] of float32 takes 24"),
        ("weights.bin", 24, {"offset": "-8"}, "'-8' is not a position in a file"),
        ("../weights.bin", 24, {}, "'../weights.bin' lies outside the model's folder"),
        ("sub/../../weights.bin", 24, {}, "lies outside the model's folder"),
        ("/etc/passwd", 24, {}, "'/etc/passwd' lies outside the model's folder"),
        ("", 24, {}, "lies outside the model's folder"),
        (".", 24, {}, "is missing"),
    ],
)
def test_external_data_that_cannot_be_read(tmp_path, location, size, fields, message):
    path = _external(tmp_path, location, size, **fields)
    error = _refused(path, ExternalDataError)
    assert message in error
    assert "tensor 'w'" in error
    assert "node 'sum'" in error


def test_external_data_behind_a_link_out_of_the_folder(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(24))
    path = _external(tmp_path / "model", "link.bin")
    os.symlink(tmp_path / "secret.bin", tmp_path / "model" / "link.bin")
    assert "lies outside the model's folder" in _refused(path, ExternalDataError)


def test_external_data_without_a_path(tmp_path):
    data = _external(tmp_path, "weights.bin").read_bytes()
    assert "was not read from a file; pass its path" in _refused(data, ExternalDataError)


# Names


def _nodes(*nodes: onnx.NodeProto, **options) -> onnx.ModelProto:
    return build_model(nodes, X, ["y"], **options)


def test_undefined_names():
    model = _nodes(helper.make_node("Add", ["x", "nothing"], ["y"], name="sum"))
    assert "node 'sum' uses 'nothing', which nothing before it defines" in _refused(model)
    model = _relu()
    model.graph.output[0].name = "z"
    assert "graph output uses 'z', which nothing before it defines" in _refused(model)


def test_use_before_definition():
    """Which is also what a cycle is."""
    first = helper.make_node("Relu", ["b"], ["a"], name="first")
    second = helper.make_node("Relu", ["a"], ["b"], name="second")
    last = helper.make_node("Add", ["x", "a"], ["y"])
    assert "node 'first' uses 'b', which nothing before it" in _refused(_nodes(first, second, last))


def test_names_defined_twice():
    node = helper.make_node("Relu", ["x"], ["y"], name="again")
    assert "node 'again' defines 'y', which is already defined" in _refused(_nodes(node, node))
    model = _nodes(helper.make_node("Relu", ["x"], ["x"], name="same"))
    assert "node 'same' defines 'x', which is already" in _refused(model)
    model = _relu()
    model.graph.input.append(model.graph.input[0])
    assert "graph input defines 'x', which is already defined" in _refused(model)
    model = _nodes(helper.make_node("Relu", ["x"], ["y"]), initializers={"w": [1.0]})
    model.graph.initializer.append(model.graph.initializer[0])
    assert "initializer 'w' is unnamed or defined twice" in _refused(model)


def test_outputs_that_nobody_asked_for():
    nodes = [helper.make_node("Dropout", ["x"], ["y", ""]), helper.make_node("Relu", ["x"], [""])]
    assert _returned(_nodes(*nodes)) == ["2x3xf32"]


def test_inputs_may_be_outputs():
    model = build_model([], X, ["x"])
    assert _returned(model) == ["2x3xf32"]


# Nodes


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (helper.make_node("Relu", ["x", "x"], ["y"]), "too many positional arguments"),
        (helper.make_node("Add", ["x"], ["y"]), "missing a required argument: 'b'"),
        (helper.make_node("Add", ["x", ""], ["y"]), "('b') is left out"),
        (helper.make_node("Concat", ["x", ""], ["y"], axis=0), "input 1 ('xs') is left out"),
        (helper.make_node("Relu", ["x"], ["y"], slope=1.0), "unexpected keyword argument 'slope'"),
        (helper.make_node("Concat", ["x"], ["y"]), "missing a required argument: 'axis'"),
        (helper.make_node("Concat", ["x"], ["y"], axis=0.5), "'axis' is of kind FLOAT, not INT"),
        (helper.make_node("LeakyRelu", ["x"], ["y"], alpha="1"), "kind STRING, not FLOAT"),
        (helper.make_node("Concat", ["x"], ["y"], axis=2), "axis 2 is outside"),
    ],
)  # fmt: skip
def test_nodes_that_do_not_fit_their_operator(node, message):
    node.name = "odd one"
    error = _refused(_nodes(node))
    assert message in error
    assert "node 'odd one'" in error


def test_attributes_given_twice_or_without_a_kind():
    node = helper.make_node("Concat", ["x"], ["y"], axis=0, name="joined")
    node.attribute.append(node.attribute[0])
    assert "node 'joined' (Concat): attribute 'axis' is doubled" in _refused(_nodes(node))
    node = helper.make_node("Concat", ["x"], ["y"], axis=0, name="joined")
    node.attribute[0].type = onnx.AttributeProto.UNDEFINED
    assert "attribute 'axis' has no type" in _refused(_nodes(node))


def test_domains_must_be_imported():
    node = helper.make_node("Relu", ["x"], ["y"], domain="com.acme")
    assert "domain 'com.acme' is not among the opset imports" in _refused(_nodes(node))


def test_the_standard_domain_has_two_names():
    model = _nodes(helper.make_node("Relu", ["x"], ["y"], domain="ai.onnx"))
    assert _returned(model) == ["2x3xf32"]


@pytest.mark.parametrize(("opset", "known"), [(28, True), (29, False), (999, False)])
def test_opsets_that_are_too_new(opset, known):
    model = _relu(opset=opset)
    if known:
        assert _returned(model) == ["2x3xf32"]
    else:
        assert f"uses opset {opset} of ai.onnx; this version knows up to 28" in _refused(model)


def test_all_unsupported_nodes_are_listed():
    nodes = [
        helper.make_node("StringNormalizer", ["x"], ["a"], name="text"),
        helper.make_node("Wobble", ["x"], ["b"], name="w1", domain="com.acme"),
        helper.make_node("Relu", ["b"], ["c"], name="behind"),
        helper.make_node("Wiggle", ["c"], ["d"], name="w2", domain="org.other"),
        helper.make_node("Gelu", ["x"], ["e"], name="form", approximate="cubic"),
        helper.make_node("Bogus", ["e"], ["f"], name="unknown"),
        helper.make_node("Relu", ["x"], ["y"], name="fine"),
    ]
    model = _nodes(*nodes, opset=20)
    model.opset_import.extend(helper.make_opsetid(d, 3) for d in ("com.acme", "org.other"))
    with pytest.raises(UnsupportedModelError) as caught:
        import_onnx(model)
    found = {node.name: node for node in caught.value.nodes}
    assert list(found) == ["text", "w1", "w2", "form", "unknown"]
    assert (found["w2"].domain, found["w2"].op_type, found["w2"].opset) == (
        "org.other",
        "Wiggle",
        3,
    )
    assert found["form"].reason == "approximate='cubic'"
    assert found["unknown"].reason == "no such operator is known"
    message = str(caught.value)
    assert message.startswith("5 unsupported node(s):")
    assert "com.acme.Wobble (opset 3) at node 'w1'" in message
    assert "ai.onnx.StringNormalizer (opset 20) at node 'text'" in message


def test_nodes_without_names_are_named_by_place():
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Bogus", ["a"], ["y"])]
    with pytest.raises(UnsupportedModelError, match="at node 'Bogus_1'"):
        import_onnx(_nodes(*nodes))


# Types


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        (TensorProto.INT32, [2, 3], "output 'y' is declared as int32, but is float32"),
        (FLOAT, [2, 4], r"output 'y' is declared as [2, 4], but is 2x3xf32"),
        (FLOAT, [2], "output 'y' is declared as [2], but is 2x3xf32"),
    ],
)
def test_outputs_that_contradict_their_declaration(dtype, shape, message):
    model = _relu()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", dtype, shape))
    assert message in _refused(model)


def test_outputs_may_be_declared_by_name():
    model = _relu()
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", FLOAT, ["n", "m"]))
    assert _returned(model) == ["2x3xf32"]


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ([2, -3], "input 'x' has a negative dimension: [2, -3]"),
        ([2**40, 2**40], "input 'x' is absurdly large"),
        ([2**62, 2], "input 'x' is absurdly large"),
    ],
)
def test_impossible_inputs(shape, message):
    model = _relu()
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", FLOAT, shape))
    assert message in _refused(model)


@pytest.mark.parametrize("dims", [[2, -3], [2**40, 2**40]])
def test_impossible_initializers(dims):
    model = _nodes(helper.make_node("Add", ["x", "w"], ["y"]))
    model.graph.initializer.append(TensorProto(name="w", data_type=FLOAT, dims=dims, raw_data=b""))
    assert "tensor 'w'" in _refused(model)


def test_initializers_whose_data_does_not_fit():
    model = _nodes(helper.make_node("Add", ["x", "w"], ["y"], name="sum"))
    tensor = TensorProto(name="w", data_type=FLOAT, dims=[2, 3], raw_data=bytes(20))
    model.graph.initializer.append(tensor)
    error = _refused(model)
    assert "tensor 'w' is damaged" in error
    assert "node 'sum'" in error
    model.graph.initializer[0].data_type = 99
    assert "tensor 'w': 99 is not an ONNX element type" in _refused(model)


def test_inputs_that_are_not_tensors_of_numbers():
    for change, reason in [
        (helper.make_tensor_value_info("x", TensorProto.STRING, [2]), "string tensors"),
        (helper.make_tensor_value_info("x", FLOAT, None), "inputs of unknown rank"),
        (helper.make_tensor_sequence_value_info("x", FLOAT, None), "inputs of kind sequence_type"),
        (onnx.ValueInfoProto(name="x"), "inputs of kind no type"),
    ]:
        model = _relu()
        model.graph.input[0].CopyFrom(change)
        error = _refused(model, UnsupportedModelError)
        assert reason in error
        assert "'x'" in error
    undefined = _relu()
    undefined.graph.input[0].type.tensor_type.elem_type = 0
    assert "input 'x': 0 is not an ONNX element type" in _refused(undefined)


def test_initializers_of_strings():
    model = _nodes(helper.make_node("Relu", ["words"], ["y"], name="act"))
    model.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [1], [b"a"]))
    assert "initializer 'words' holds strings" in _refused(model, UnsupportedModelError)
    unused = _relu()
    unused.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [1], [b"a"]))
    assert _returned(unused) == ["2x3xf32"]


def test_initializers_may_be_inputs_too():
    """As models before IR version 4 wrote all of them: they are no inputs of the program."""
    model = _nodes(helper.make_node("Add", ["x", "w"], ["y"]), initializers={"w": [[1.0, 2, 3]]})
    model.graph.input.append(helper.make_tensor_value_info("w", FLOAT, [1, 3]))
    module = import_onnx(model)
    with module.context:
        (function,) = module.body.operations
        assert len(function.arguments) == 1


# Dimensions


def _symbolic(*dims: int | str) -> onnx.ModelProto:
    return build_model([helper.make_node("Relu", ["x"], ["y"])], {"x": (np.float32, dims)}, ["y"])


def test_symbolic_dimensions():
    assert _returned(_symbolic("batch", 3)) == ["batchx3xf32"]
    assert _returned(_symbolic("2*n + 1", "n")) == ["2*n + 1xnxf32"]
    assert _returned(_symbolic("past_sequence_length + 1")) == ["past_sequence_length + 1xf32"]
    assert _returned(_symbolic("floor(n/2)", "a-b")) == ["floor_n_2_xa - bxf32"]
    assert _returned(_symbolic("a b", "5x")) == ["a_bxd_5xxf32"]
    model = _symbolic("n")
    model.graph.input[0].type.tensor_type.shape.dim[0].ClearField("dim_param")
    assert _returned(model) == ["x_0xf32"]


def test_dimensions_are_given_sizes():
    model = _symbolic("n", "2*n + m")
    assert _returned(model, dims={"n": 4}) == ["4xm + 8xf32"]
    assert _returned(model, dims={"n": 4, "m": 1}) == ["4x9xf32"]
    assert _returned(model, dims={"n": 0, "m": 0}) == ["0x0xf32"]


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
    assert message in _refused(_symbolic("n", 3), InvalidDimError, dims=dims)


# Functions


def _with_functions(nodes, functions, opset: int = 18) -> onnx.ModelProto:
    model = build_model(nodes, X, ["y"], opset=opset)
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.functions.extend(functions)
    return model


def _function(name, inputs, outputs, nodes, attributes=(), defaults=()) -> onnx.FunctionProto:
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_function(
        "local", name, inputs, outputs, nodes, imports, list(attributes), list(defaults)
    )


def _reference(node: onnx.NodeProto, attribute: str, parameter: str, kind: int) -> onnx.NodeProto:
    node.attribute.add(name=attribute, ref_attr_name=parameter, type=kind)
    return node


def test_model_local_functions():
    """Nested, with attributes that are passed on, have defaults, or are left to the operator."""
    kind = onnx.AttributeProto.FLOAT
    leaky = _reference(helper.make_node("LeakyRelu", ["a"], ["b"]), "alpha", "slope", kind)
    inner = _function("Inner", ["a"], ["b"], [leaky], ["slope"])
    passed = _reference(helper.make_node("Inner", ["p"], ["q"], domain="local"), "slope", "s", kind)
    plain = helper.make_node("Inner", ["q"], ["r"], domain="local")
    total = helper.make_node("Sum", ["q", "r"], ["t"])
    outer = _function("Outer", ["p"], ["t"], [passed, plain, total], [],
                      [helper.make_attribute("s", 0.5)])  # fmt: skip
    nodes = [
        helper.make_node("Outer", ["x"], ["u"], domain="local"),
        helper.make_node("Outer", ["u"], ["y"], domain="local", s=0.25),
    ]
    model = _with_functions(nodes, [outer, inner])
    assert _returned(model) == ["2x3xf32"]
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    compare_with_onnxruntime(model, {"x": x})


def test_functions_take_precedence_over_operators():
    """A model may say itself what an operator does."""
    double = _function("Relu", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])])
    double.domain = ""
    model = _with_functions([helper.make_node("Relu", ["x"], ["y"])], [double])
    assert "graph.add" in str(import_onnx(model))


def test_functions_see_only_what_they_are_given():
    body = [helper.make_node("Add", ["a", "x"], ["b"], name="reach")]
    model = _with_functions(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="call")],
        [_function("F", ["a"], ["b"], body)],
    )
    error = _refused(model)
    assert "node 'call/reach' uses 'x', which nothing before it defines" in error


def test_functions_with_too_many_inputs_or_missing_outputs():
    relu = helper.make_node("Relu", ["a"], ["b"])
    call = helper.make_node("F", ["x", "x"], ["y"], domain="local", name="call")
    error = _refused(_with_functions([call], [_function("F", ["a"], ["b"], [relu])]))
    assert "F takes at most 1 inputs" in error
    call = helper.make_node("F", ["x"], ["y"], domain="local", name="call")
    error = _refused(_with_functions([call], [_function("F", ["a"], ["c"], [relu])]))
    assert "function 'F' uses 'c'" in error
    assert "node 'call'" in error


def test_functions_that_call_themselves():
    call = helper.make_node("F", ["a"], ["b"], domain="local", name="again")
    model = _with_functions(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="call")],
        [_function("F", ["a"], ["b"], [call])],
    )
    assert "F calls itself" in _refused(model)


def test_unsupported_nodes_within_functions():
    bogus = helper.make_node("Bogus", ["a"], ["b"], name="inside")
    model = _with_functions(
        [helper.make_node("F", ["x"], ["y"], domain="local", name="call")],
        [_function("F", ["a"], ["b"], [bogus])],
    )
    error = _refused(model, UnsupportedModelError)
    assert "at node 'call/inside'" in error


def test_operators_with_a_standard_body():
    """What has no converter is expanded as ONNX defines it, with its operator's defaults."""
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    labels = np.array([1, 2])
    nodes = [helper.make_node("NegativeLogLikelihoodLoss", ["x", "labels"], ["y"], name="loss")]
    inputs = {**X, "labels": (np.int64, [2])}
    model = build_model(nodes, inputs, ["y"], opset=13)
    compare_with_onnxruntime(model, {"x": x, "labels": labels})


# What the module holds


def test_names_of_inputs_outputs_and_nodes_are_kept():
    model = _nodes(
        helper.make_node("Relu", ["x"], ["a"], name="layer/0/act"),
        helper.make_node("Add", ["a", "w"], ["y"], name='odd "name"\n'),
        initializers={"w": [1.0]},
    )
    module = import_onnx(model)
    text = module.operation.get_asm(enable_debug_info=True)
    assert 'graph.name = "x"' in text
    assert 'graph.name = "y"' in text
    assert '"layer/0/act"' in text
    assert r"odd \22name\22\0A" in text


def test_weights_are_shared_with_the_file(tmp_path):
    weight = np.arange(1 << 16, dtype=np.float32).reshape(1 << 8, 1 << 8)
    model = build_model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": (np.float32, [1, 256])}, ["y"]
    )
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    module = import_onnx(path)
    with module.context:
        (function,) = module.body.operations
        constant = next(
            op.opview for op in function.entry_block.operations if "constant" in op.operation.name
        )
        assert constant.attrs["value"][3, 7] == weight[3, 7]
    assert model.ir_version == IR_VERSION
