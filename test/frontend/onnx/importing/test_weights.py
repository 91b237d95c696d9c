"""Large weights stay in the model's file; what comes of them is what would come of a copy."""

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from importing import model_of, refused
from numerics import build_model, run_onnxruntime
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.frontend.onnx import import_onnx
from graphc.frontend.onnx.importing.loading import load_model
from graphc.frontend.onnx.importing.weights import MIN_BYTES

COUNT = MIN_BYTES


def model_with(*weights: TensorProto) -> onnx.ModelProto:
    """A model that returns its weights."""
    nodes = [helper.make_node("Identity", [w.name], [f"{w.name}_out"]) for w in weights]
    model = build_model(nodes, {}, [f"{w.name}_out" for w in weights])
    model.graph.initializer.extend(weights)
    return model


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def constants(path: Path) -> list[np.ndarray]:
    """Copies of the constants of the imported program."""
    module = import_onnx(path)
    with module.context:
        (function,) = module.body.operations
        ops = [op.opview for op in function.entry_block.operations]
        return [op.attrs["value"].copy() for op in ops if op.operation.name == "graph.constant"]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, ml_dtypes.bfloat16, np.int8])
def test_weights_are_read_from_the_file(tmp_path, dtype):
    first, second = np.arange(2 * COUNT).reshape(2, 2, -1).astype(dtype)
    tensors = (numpy_helper.from_array(first, "w"), numpy_helper.from_array(second, "odd"))
    path = saved(model_with(*tensors), tmp_path)
    model, folder = load_model(path)
    assert folder == tmp_path
    for tensor in model.graph.initializer:
        assert tensor.data_location == TensorProto.EXTERNAL
        assert not tensor.raw_data
    for got, want in zip(constants(path), (first, second), strict=True):
        np.testing.assert_array_equal(got, want)


def test_elements_that_share_a_byte(tmp_path):
    weight = (np.arange(2 * COUNT) % 16 - 8).astype(ml_dtypes.int4)
    path = saved(model_with(numpy_helper.from_array(weight, "w")), tmp_path)
    assert load_model(path)[0].graph.initializer[0].data_location == TensorProto.EXTERNAL
    np.testing.assert_array_equal(constants(path)[0], weight)


def test_small_weights_and_those_of_lists_of_numbers_are_copied(tmp_path):
    small = numpy_helper.from_array(np.arange(24, dtype=np.float32), "small")
    listed = helper.make_tensor("listed", TensorProto.FLOAT, [COUNT], np.arange(COUNT))
    large = numpy_helper.from_array(np.arange(COUNT, dtype=np.float32), "large")
    path = saved(model_with(small, listed, large), tmp_path)
    locations = [t.data_location for t in load_model(path)[0].graph.initializer]
    assert locations == [TensorProto.DEFAULT, TensorProto.DEFAULT, TensorProto.EXTERNAL]
    assert [array.size for array in constants(path)] == [24, COUNT, COUNT]


def test_a_model_behind_a_link(tmp_path):
    weight = np.arange(COUNT, dtype=np.float32)
    (tmp_path / "blobs").mkdir()
    (tmp_path / "link.onnx").symlink_to(
        saved(model_with(numpy_helper.from_array(weight, "w")), tmp_path / "blobs")
    )
    np.testing.assert_array_equal(constants(tmp_path / "link.onnx")[0], weight)


@pytest.mark.parametrize("change", [-1, 1])
def test_data_of_another_length_than_its_tensor_is_refused(tmp_path, change):
    data = bytes(4 * COUNT + change)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[COUNT], raw_data=data)
    assert "tensor 'w' is damaged" in refused(saved(model_with(tensor), tmp_path))


def test_an_unknown_element_type_is_refused(tmp_path):
    tensor = TensorProto(name="w", data_type=99, dims=[COUNT], raw_data=bytes(4 * COUNT))
    assert "99 is not an ONNX element type" in refused(saved(model_with(tensor), tmp_path))


@pytest.mark.parametrize("kept", [0.01, 0.3, 0.6, 0.99])
def test_a_model_cut_in_its_weights_is_refused(tmp_path, kept):
    tensors = [numpy_helper.from_array(np.zeros(COUNT, np.float32), name) for name in "ab"]
    path = saved(model_with(*tensors), tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * kept)])
    assert "is not an ONNX model, or is truncated" in refused(path)


@pytest.mark.parametrize("noise", [b"\x0b", b"\xff" * 20, b"\x38\x01", b"\x3a\xff\xff\xff\x7f"])
def test_what_is_no_message_is_refused(tmp_path, noise):
    path = tmp_path / "model.onnx"
    path.write_bytes(noise + bytes(MIN_BYTES))
    assert "is not an ONNX model" in refused(path)


@pytest.mark.parametrize("start", [b"", b"\x08\x0a\x3a\xff\xff\xff\xff\x7f"])
def test_a_large_file_of_nothing_is_not_read(tmp_path, start):
    path = tmp_path / "model.onnx"
    path.write_bytes(start)
    os.truncate(path, 1 << 40)  # zeros that take no room, neither here nor in memory
    assert "is not an ONNX model" in refused(path)


def test_weights_compute(tmp_path):
    """The data may also be at an odd offset in the file."""
    random = np.random.default_rng(0)
    weight = random.standard_normal((3, COUNT)).astype(np.float32)
    model = model_of(helper.make_node("MatMul", ["x", "w"], ["y"]))
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    feeds = {"x": random.standard_normal((2, 3)).astype(np.float32)}
    expected = run_onnxruntime(model, feeds)[0]
    for doc in ("", "1", "12", "123"):
        model.doc_string = doc
        compiled = graphc.compile(saved(model, tmp_path), threads=1)
        np.testing.assert_allclose(compiled(feeds["x"]), expected, rtol=1e-5, atol=1e-5)
