"""No model makes a file be opened that lies outside its folder, or that is none."""

import os
import threading
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from importing import refused, returned
from numerics import build_model
from onnx import TensorProto, helper

import graphc
from graphc.errors import ExternalDataError
from graphc.frontend.onnx import external_files, import_onnx, make_plan
from graphc.frontend.onnx.importing import external_data
from graphc.runtime.host.part import why_not

WANTED = np.arange(3)
SECRET = np.full(3, 777_777_777)


@pytest.fixture
def model(tmp_path):
    """``model("w.bin", offset="8")``: a model whose tensor lies there; traps are around it."""
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(SECRET.tobytes())
    for name in ("w.bin", "sub/w.bin"):
        (folder / name).write_bytes(WANTED.tobytes())
    links = {
        "link": "../secret.bin",
        "inner": "w.bin",
        "out": "..",
        "loop": "loop",
        "null": "/dev/zero",
    }
    for name, to in links.items():
        (folder / name).symlink_to(to)
    os.mkfifo(folder / "pipe")

    def write(location, *more, **entries):
        tensor = TensorProto(name="w", data_type=TensorProto.INT64, dims=[3])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in [("location", location), *entries.items(), *more]:
            tensor.external_data.add(key=key, value=value)
        proto = build_model([helper.make_node("Neg", ["w"], ["y"], name="neg")], {}, ["y"])
        proto.graph.initializer.append(tensor)
        path = folder / "model.onnx"
        path.write_bytes(proto.SerializeToString())
        return path

    return write


@pytest.mark.parametrize("location", ["w.bin", "./w.bin", "sub/w.bin", "sub//w.bin", "inner"])
def test_files_that_are_read(model, location):
    assert returned(model(location)) == ["3xi64"]


OUTSIDE = "lies outside the model's folder"


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("../secret.bin", OUTSIDE), ("sub/../../secret.bin", OUTSIDE), ("sub/../w.bin", OUTSIDE),
        ("link", OUTSIDE), ("out/secret.bin", OUTSIDE), ("out/model/../secret.bin", OUTSIDE),
        ("/etc/passwd", OUTSIDE), ("//etc/passwd", OUTSIDE), ("..", OUTSIDE), (".", OUTSIDE),
        ("", OUTSIDE), ("C:secret.bin", OUTSIDE), ("C:/secret.bin", OUTSIDE), ("null", OUTSIDE),
        ("..\\secret.bin", "ONNX spells paths with '/'"), ("w.bin\0", "ONNX spells paths with '/'"),
        ("\\\\host\\share", "ONNX spells paths with '/'"), ("pipe", "is no regular file"),
        ("sub", "is no regular file"), ("loop", "cannot be read"), ("w.bin/x", "cannot be read"),
        ("w" * 300, "cannot be read"), ("W.BIN", "is missing"), ("none.bin", "is missing"),
        ("~/x", "is missing"),
    ],
)  # fmt: skip
def test_files_that_are_not(model, location, message):
    path = model(location)
    start = time.perf_counter()
    error = refused(path, ExternalDataError)
    assert message in error
    assert "tensor 'w'" in error
    with pytest.raises(ExternalDataError):  # nor by what looks for the files of a model
        external_files(path)
    assert time.perf_counter() - start < 5, "a pipe is not waited for"


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="case decides on this system")
def test_the_way_is_spelled_as_it_is_on_a_disk_without_case(model, monkeypatch):
    """On a case-insensitive disk, ``W.BIN`` is the file, and ``LINK`` still leads outside."""
    real = os.open

    def folded(path, flags, *rest, dir_fd=None, **options):
        if dir_fd is not None:
            path = path.lower()
        return real(path, flags, *rest, dir_fd=dir_fd, **options)

    monkeypatch.setattr(external_data.os, "open", folded)
    monkeypatch.setattr(external_data, "_HAS_DIR_FD", True)
    assert returned(model("W.BIN")) == ["3xi64"]
    with pytest.raises(ExternalDataError):
        import_onnx(model("LINK"))
    with pytest.raises(ExternalDataError):
        import_onnx(model("OUT/secret.bin"))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("offset", "-8", "is not a position"), ("offset", "1e3", "is not a position"),
        ("offset", "", "is not a position"), ("offset", "٣", "is not a position"),
        ("offset", "9" * 5000, "is not a position"), ("offset", str(2**63), "is truncated"),
        ("offset", str(2**64), "is not a position"), ("offset", "8", "is truncated: bytes 8 to 32"),
        ("length", "-1", "is not a position"), ("length", "16", "states 16 bytes"),
        ("length", str(2**62), "states 46"),
    ],
)  # fmt: skip
def test_places_in_files(model, key, value, message):
    assert message in refused(model("w.bin", **{key: value}), ExternalDataError)


def test_what_is_stated_twice(model):
    path = model("w.bin", ("location", "sub/w.bin"))
    assert "states 'location' twice" in refused(path, ExternalDataError)


def test_a_folder_that_becomes_a_link_while_it_is_looked_at(model, tmp_path, monkeypatch):
    path = model("sub/w.bin")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "w.bin").write_bytes(SECRET.tobytes())
    real = Path.resolve

    def resolve(self, *args, **kwargs):
        resolved = real(self, *args, **kwargs)
        sub = path.parent / "sub"
        if resolved == sub / "w.bin" and not sub.is_symlink():
            sub.rename(path.parent / "before")
            sub.symlink_to(outside)
        return resolved

    monkeypatch.setattr(Path, "resolve", resolve)
    assert "cannot be read" in refused(path, ExternalDataError)


def test_no_race_is_won(model, tmp_path):
    """A link that comes and goes is never followed."""
    path, sub = model("sub/w.bin"), tmp_path / "model" / "sub"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "w.bin").write_bytes(SECRET.tobytes())
    done = threading.Event()

    def swap():
        while not done.is_set():
            sub.rename(tmp_path / "aside")
            sub.symlink_to(outside)
            sub.unlink()
            (tmp_path / "aside").rename(sub)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(200):
            tensor = onnx.load_model(path, load_external_data=False).graph.initializer[0]
            try:
                found = external_data.map_data(tensor, np.dtype(np.int64), 24, path.parent)
            except ExternalDataError:
                continue
            np.testing.assert_array_equal(found, WANTED)
    finally:
        done.set()
        thread.join()


def test_data_of_attributes_of_nodes_on_the_host_comes_along(tmp_path, monkeypatch):
    """And from the model's folder, wherever the program runs."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "w.bin").write_bytes(np.arange(3, dtype=np.float32).tobytes())
    (tmp_path / "w.bin").write_bytes(np.full(3, 9, np.float32).tobytes())
    monkeypatch.chdir(tmp_path)
    constant = helper.make_node("Constant", [], ["c"])
    tensor = constant.attribute.add(name="value", type=onnx.AttributeProto.TENSOR).t
    tensor.CopyFrom(TensorProto(name="c", data_type=TensorProto.FLOAT, dims=[3]))
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    branch = helper.make_graph(
        [constant, helper.make_node("SequenceConstruct", ["c"], ["s"])],
        "branch", [], [onnx.ValueInfoProto(name="s")],
    )  # fmt: skip
    nodes = [
        helper.make_node("If", ["f"], ["s"], then_branch=branch, else_branch=branch),
        helper.make_node("SequenceAt", ["s", "zero"], ["y"]),
    ]
    proto = build_model(nodes, {"f": (np.bool_, [])}, ["y"])
    proto.graph.initializer.append(helper.make_tensor("zero", TensorProto.INT64, [], [0]))
    path = tmp_path / "model" / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    plan = make_plan(path, dims=None, why_not=why_not)
    with graphc.compile(path, cache=False) as compiled:
        np.testing.assert_array_equal(compiled(np.array(True)), np.arange(3))
    assert len(plan.parts) >= 1


def test_packed_elements(tmp_path):
    weight = np.arange(-3, 4).astype(ml_dtypes.int4)
    packed = helper.make_tensor("w", TensorProto.INT4, [7], weight.astype(np.int64))
    proto = build_model([helper.make_node("Cast", ["w"], ["y"], to=TensorProto.INT64)], {}, ["y"])
    tensor = proto.graph.initializer.add(name="w", data_type=TensorProto.INT4, dims=[7])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    data = packed.raw_data or bytes(packed.int32_data)
    (tmp_path / "w.bin").write_bytes(data)
    path = tmp_path / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    assert returned(path) == ["7xi64"]
