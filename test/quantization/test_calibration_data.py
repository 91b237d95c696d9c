"""Calibration data: folders, iterables and pictures, and one clear error for each fault."""

import itertools

import numpy as np
import pytest
from onnx import TensorProto, helper
from quantization_models import three_layers
from tool_models import model

from graphc.errors import FeedError, UsageError
from graphc.quantization.calibration_data import read_data
from graphc.quantization.pictures import PictureFormat

X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(2, 16)
PLAIN = PictureFormat()


def image_model(shape=(1, 3, 4, 6), kind=TensorProto.FLOAT):
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": shape}, {"y": shape})
    made.graph.input[0].type.tensor_type.elem_type = kind
    return made


def two_inputs():
    nodes = [helper.make_node("Add", ["a", "b"], ["y"])]
    return model(nodes, {"a": ["n", 2], "b": ["n", 2]}, {"y": ["n", 2]})


def read(source, made=None, limit=None, format_=PLAIN):
    return read_data(source, made or three_layers(), limit, format_)


def test_folder_of_npy_and_npz_in_order(tmp_path):
    np.save(tmp_path / "b.npy", 2 * X)
    np.savez(tmp_path / "a.npz", x=X)
    (tmp_path / "notes.txt").write_text("not data")
    found = [feed["x"] for feed in read(tmp_path)]
    np.testing.assert_array_equal(found, [X, 2 * X])
    assert len(read(tmp_path, limit=1)) == 1
    assert len(read(tmp_path / "a.npz")) == 1


def test_iterables_of_arrays_and_mappings():
    endless = itertools.repeat(X)
    assert len(read(endless, limit=3)) == 3
    assert len(read(iter([{"x": X}, X]))) == 2
    assert len(read({"x": X})) == 1
    data = read([X * i for i in range(1, 11)])
    assert [feed["x"][0, 0] for feed in data.first(3)] == [-1, -5, -10]
    assert len(data.first(99)) == len(data) == 10


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 15), np.float32), r"must be float32\[n, 16\], given float32\[2, 15\]"),
        (np.zeros(16, np.float32), "rank 1 instead of 2"),
        (np.zeros((2, 16)), r"x.astype\(np.float32\)"),
        (np.full((2, 16), np.nan, np.float32), "input 'x' has a NaN or an infinity"),
        (np.full((2, 16), np.inf, np.float32), "input 'x' has a NaN or an infinity"),
        (np.zeros((0, 16), np.float32), "input 'x' has no elements"),
    ],
)
def test_files_that_do_not_fit_are_named(tmp_path, array, message):
    np.save(tmp_path / "0.npy", X)
    np.save(tmp_path / "1.npy", array)
    with pytest.raises(FeedError, match=message) as raised:
        read(tmp_path)
    assert "1.npy" in str(raised.value)
    with pytest.raises(FeedError, match=f"feed 1: .*{message}"):
        read([X, array])


def test_names_that_the_model_lacks(tmp_path):
    np.savez(tmp_path / "a.npz", images=X)
    with pytest.raises(FeedError, match=r"a.npz': input 'x' is missing"):
        read(tmp_path)
    with pytest.raises(FeedError, match="no input 'y'"):
        read([{"x": X, "y": X}])


def test_several_inputs_need_names(tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(FeedError, match=r"the model has inputs a, b: write \.npz files"):
        read(tmp_path, two_inputs())
    with pytest.raises(FeedError, match="a mapping from the names of the inputs"):
        read([X], two_inputs())
    with pytest.raises(FeedError, match="input 'b' has n = 3, but input 'a' has n = 2"):
        read([{"a": X[:2, :2], "b": np.zeros((3, 2), np.float32)}], two_inputs())


def test_nothing_to_calibrate_with(tmp_path):
    with pytest.raises(FeedError, match="is empty"):
        read(tmp_path)
    with pytest.raises(FeedError, match="is empty"):
        read([])
    with pytest.raises(FeedError, match="there is no calibration data at"):
        read(tmp_path / "missing")
    for wrong in (X, 7, None):
        with pytest.raises(FeedError, match="a folder or an iterable of feeds"):
            read(wrong)


@pytest.mark.parametrize("name", ["a.npy", "a.npz", "a.png"])
@pytest.mark.parametrize("contents", [b"", b"garbage", b"\x93NUMPY\x01\x00"])
def test_broken_files_are_named(tmp_path, name, contents):
    pytest.importorskip("PIL")
    (tmp_path / name).write_bytes(contents)
    with pytest.raises(FeedError, match=name):
        read(tmp_path, image_model())


def test_pictures_are_resized_and_normalised(tmp_path):
    image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((8, 12, 3), np.uint8)
    pixels[..., 0] = 255
    image.fromarray(pixels).save(tmp_path / "red.png")
    normal = PictureFormat(mean=(0.5, 0, 0), std=(0.5, 1, 1))
    (feed,) = read(tmp_path, image_model(), format_=normal)
    np.testing.assert_allclose(feed["x"][0, :, 0, 0], [1, 0, 0])
    assert feed["x"].shape == (1, 3, 4, 6)
    (feed,) = read(tmp_path, image_model(), format_=PictureFormat(bgr=True))
    np.testing.assert_allclose(feed["x"][0, :, 0, 0], [0, 0, 1])
    (feed,) = read(tmp_path, image_model((1, 4, 6, 3), TensorProto.UINT8))
    assert feed["x"][0, 0, 0].tolist() == [255, 0, 0]
    grey = image_model(("n", 1, "h", "w"))
    (feed,) = read(tmp_path, grey, format_=PictureFormat(size=(5, 7)))
    assert feed["x"].shape == (1, 1, 5, 7)
    with pytest.raises(FeedError, match="leaves the size of pictures open"):
        read(tmp_path, grey)
    with pytest.raises(FeedError, match="takes no pictures"):
        read(tmp_path, three_layers())


def test_a_standard_deviation_of_zero():
    with pytest.raises(UsageError, match="std has a zero"):
        PictureFormat(std=(1, 0, 1))
