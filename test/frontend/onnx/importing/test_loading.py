"""Models come from files and their weights from files beside them; damaged ones are refused."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from importing import FLOAT, X, refused, relu, returned
from numerics import IR_VERSION, build_model
from onnx import TensorProto, helper, numpy_helper

from graphc.errors import (
    ExternalDataError,
    InvalidModelError,
)
from graphc.frontend.onnx import import_onnx
from graphc.mlir import ir


def test_models_come_as_path_bytes_or_proto(tmp_path):
    model = relu()
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    for source in (model, model.SerializeToString(), path, str(path)):
        assert returned(source) == ["2x3xf32"]
    assert returned(model) == ["2x3xf32"], "a proto can be imported again"


def test_the_given_context_is_used():
    context = ir.Context()
    assert import_onnx(relu(), context=context).context is context


def test_what_is_not_a_model_is_refused(tmp_path):
    path = tmp_path / "model.onnx"
    data = relu().SerializeToString()
    for content, message in [
        (b"", "is empty"),
        (b"\x00\x01 not a protobuf \xff", "is not an ONNX model"),
        (b"# a text file\n" * 9, "is not an ONNX model"),
        (data[: len(data) // 2], "is not an ONNX model, or is truncated"),
        (b"\x08\x0a", "is not an ONNX model: it holds no graph"),
    ]:
        path.write_bytes(content)
        assert message in refused(path)
        assert str(path) in refused(path)
        assert message in refused(content)


@pytest.mark.parametrize("cut", range(5, 60, 6))
def test_a_model_cut_anywhere_is_refused(cut):
    data = relu().SerializeToString()
    with pytest.raises(InvalidModelError):
        import_onnx(data[: len(data) - cut])


def test_files_that_cannot_be_read(tmp_path):
    missing = tmp_path / "nowhere.onnx"
    assert f"cannot read '{missing}': No such file" in refused(missing)
    assert "cannot read" in refused(tmp_path)


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
    assert returned(_external(tmp_path, "weights.bin")) == ["2x3xf32"]
    (tmp_path / "sub").mkdir()
    (tmp_path / "weights.bin").rename(tmp_path / "sub" / "w.bin")
    assert returned(_external(tmp_path, "sub/w.bin")) == ["2x3xf32"]


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
        (".", 24, {}, "lies outside the model's folder"),
    ],
)
def test_external_data_that_cannot_be_read(tmp_path, location, size, fields, message):
    path = _external(tmp_path, location, size, **fields)
    error = refused(path, ExternalDataError)
    assert message in error
    assert "tensor 'w'" in error
    assert "node 'sum'" in error


def test_external_data_behind_a_link_out_of_the_folder(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(24))
    path = _external(tmp_path / "model", "link.bin")
    os.symlink(tmp_path / "secret.bin", tmp_path / "model" / "link.bin")
    assert "lies outside the model's folder" in refused(path, ExternalDataError)


def test_external_data_without_a_path(tmp_path):
    data = _external(tmp_path, "weights.bin").read_bytes()
    assert "was not read from a file; pass its path" in refused(data, ExternalDataError)


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
