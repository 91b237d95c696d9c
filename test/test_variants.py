"""Calls that a program was not compiled for have programs of their own."""

import numpy as np
import pytest
from numerics import build_model, run_onnxruntime
from onnx import TensorProto, helper

import graphc
from graphc.errors import FeedError, UsageError

X = np.arange(6, dtype=np.float32).reshape(2, 3)
S, W = np.array([3, -1]), np.float32([[1, 2, 3]])


def with_defaults(ir_version=8):
    """``reshape(x * w, s)``, `w` and `s` being inputs with a default."""
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["m"]),
        helper.make_node("Reshape", ["m", "s"], ["y"]),
    ]
    model = build_model(nodes, {"x": (np.float32, ["n", 3])}, ["y"], {"w": W, "s": S}, opset=13)
    model.graph.input.extend(
        helper.make_tensor_value_info(name, kind, shape)
        for name, kind, shape in (("w", TensorProto.FLOAT, [1, 3]), ("s", TensorProto.INT64, [2]))
    )
    model.ir_version = ir_version
    return model


def compare(compiled, model, **feeds):
    for got, want in zip(compiled.run(None, feeds), run_onnxruntime(model, feeds), strict=True):
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)


def test_inputs_with_defaults(caplog):
    model = with_defaults()
    compiled = graphc.compile(model, "interpret")
    assert [spec.name for spec in compiled.inputs] == ["x"]
    assert compiled.overridable == ("w", "s")
    compare(compiled, model, x=X)
    assert not caplog.records
    compare(compiled, model, x=X, w=2 * W)
    compare(compiled, model, x=X, s=np.array([1, 6]))
    compare(compiled, model, x=X, s=np.array([-1, 2]))
    compare(compiled, model, x=X, w=W + 1, s=np.array([6, 1]))
    compare(compiled, model, x=X)
    np.testing.assert_array_equal(compiled(X, w=3 * W), (X * W * 3).reshape(3, 2))
    assert len(caplog.records) == 3  # a program for each set of inputs
    message = "model 'model' is compiled anew for such calls: overridden=['w']"
    assert caplog.records[0].getMessage() == message
    with pytest.raises(FeedError, match=r"input 'w' must be float32\[1, 3\]"):
        compiled.run(None, {"x": X, "w": X})
    compiled.close()
    with pytest.raises((FeedError, UsageError)):
        compiled.run(None, {"x": X, "w": W})


def test_defaults_are_constants_of_what_is_compiled(tmp_path):
    """So that a model whose calls leave them alone is as fast as one that has them inside."""
    compiled = graphc.compile(with_defaults(), cache=False)
    np.testing.assert_array_equal(compiled(X), (X * W).reshape(3, 2))
    compiled.save(path := tmp_path / "model.vmfb")
    loaded = graphc.load(path)
    np.testing.assert_array_equal(loaded(X), (X * W).reshape(3, 2))
    with pytest.raises(FeedError, match=r"compile the model with overridden=\['w'\]"):
        loaded.run(None, {"x": X, "w": W})
    np.testing.assert_array_equal(compiled(X, w=W * 2), (X * W * 2).reshape(3, 2))
    given = graphc.compile(with_defaults(), "interpret", overridden=["w"])
    assert [spec.name for spec in given.inputs] == ["x", "w"]
    with pytest.raises(FeedError, match="input 'w' is missing"):
        given.run(None, {"x": X})


def test_initializers_of_old_models_are_inputs_in_name():
    """Before version 4 of the IR every one was; ONNX Runtime takes no values for them."""
    compiled = graphc.compile(with_defaults(ir_version=3), "interpret")
    assert compiled.overridable == ()
    with pytest.raises(FeedError, match="no input 'w'"):
        compiled.run(None, {"x": X, "w": W})


def test_what_has_no_default():
    with pytest.raises(UsageError, match="no initializer 'x' is an input, too; such are: w, s"):
        graphc.compile(with_defaults(), "interpret", overridden=["x"])


def test_defaults_of_a_model_with_parts_on_the_host():
    """A shape that is given is known to neither side."""
    model = with_defaults()
    model.graph.node[0].output[0] = "r"
    model.graph.node.insert(1, helper.make_node("Cast", ["r"], ["t"], to=TensorProto.STRING))
    model.graph.node.insert(2, helper.make_node("Cast", ["t"], ["m"], to=TensorProto.FLOAT))
    compiled = graphc.compile(model, "interpret")
    assert not compiled.native
    assert compiled.overridable == ("w", "s")
    compare(compiled, model, x=X)
    compare(compiled, model, x=X, w=2 * W)
    compare(compiled, model, x=X, s=np.array([1, 6]))


def test_sizes_that_a_saved_program_was_not_compiled_for(tmp_path):
    nodes = [helper.make_node("Squeeze", ["x"], ["s"]), helper.make_node("Exp", ["s"], ["y"])]
    model = build_model(nodes, {"x": (np.float32, ["n", 3])}, ["y"], opset=13)
    compiled = graphc.compile(model, cache=False)
    compiled.save(path := tmp_path / "model.vmfb")
    loaded = graphc.load(path)
    np.testing.assert_allclose(loaded(X), np.exp(X), rtol=1e-6)
    with pytest.raises(FeedError, match=r"compile the model with assume=\{'n == 1': True\}"):
        loaded(X[:1])
    assert compiled(X[:1]).shape == (3,)
    assert compiled(X).shape == (2, 3)
    assert compiled([[1, 2, 3]]).shape == (3,)
    assert compiled.peak_memory({"x": X[:1]}) < compiled.peak_memory({"x": np.tile(X, (50, 1))})


def two_inputs(op):
    """A model of ``op(x, z)`` and ``-x``, where both inputs have a size ``n``."""
    nodes = [helper.make_node(op, ["x", "z"], ["y"]), helper.make_node("Neg", ["x"], ["w"])]
    inputs = {"x": (np.float32, ["n", 3]), "z": (np.float32, ["n", 3])}
    attributes = [helper.make_attribute("axis", 0)] if op == "Concat" else []
    nodes[0].attribute.extend(attributes)
    return build_model(nodes, inputs, ["y", "w"], opset=13)


@pytest.mark.parametrize(("op", "rows"), [("Concat", 5), ("Add", 1), ("Sub", 1)])
def test_sizes_of_one_name_that_differ(op, rows, caplog):
    """ONNX Runtime does not look at names; masks with one row for all are fed so."""
    model = two_inputs(op)
    compiled = graphc.compile(model, "interpret")
    compare(compiled, model, x=X, z=X)
    assert not caplog.records
    for z in (np.ones((rows, 3), np.float32), np.zeros((rows, 3), np.float32)):
        compare(compiled, model, x=X, z=z)
    (record,) = caplog.records
    assert "independent_dims=['n']" in record.getMessage()


def test_sizes_of_one_name_that_must_not_differ(tmp_path):
    """An error about the sizes, with the error of the run as its cause."""
    compiled = graphc.compile(two_inputs("Add"), cache=False)
    differing = {"x": X, "z": np.ones((5, 3), np.float32)}
    message = "input 'z' has n = 5, but input 'x' has n = 2"
    for _ in range(2):
        with pytest.raises(FeedError, match=message) as caught:
            compiled.run(None, differing)
        assert "Add_0" in str(caught.value.__cause__)
    np.testing.assert_array_equal(compiled(X, np.ones((1, 3), np.float32))[0], X + 1)
    with pytest.raises(FeedError, match="input 'z' must be"):
        compiled.run(None, {"x": X, "z": np.ones((5, 4), np.float32)})
    compiled.save(path := tmp_path / "model.vmfb")
    with pytest.raises(FeedError, match=message):
        graphc.load(path).run(None, differing)
