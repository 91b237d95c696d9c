"""gc-map as its users call it, with what they get wrong."""

import numpy as np
import pytest
from tool_models import dense_result

from graphc.tools import gc_map


@pytest.fixture
def data(tmp_path):
    """A file with 30 rows."""
    x = np.random.default_rng(1).standard_normal((30, 4), np.float32)
    np.savez(tmp_path / "data.npz", features=x, id=np.arange(30))
    return tmp_path / "data.npz"


def test_a_data_set_is_mapped_and_counted(vmfb_file, data, tmp_path, capsys):
    command = [str(vmfb_file), "--input", str(data), "--output", str(tmp_path / "out")]
    command += ["--workers", "1", "--column", "x=features", "--keep", "id"]
    assert gc_map.main(command) == 0
    assert capsys.readouterr().out == f"30 rows, 1 blocks in {tmp_path / 'out'}\n"
    assert gc_map.main(command) == 0
    assert "30 rows, 1 blocks (1 by an earlier run)" in capsys.readouterr().out
    (path,) = tmp_path.glob("out/*.npz")
    with np.load(path) as arrays, np.load(data) as given:
        assert set(arrays) == {"id", "y"}
        expected = dense_result(given["features"])
        np.testing.assert_allclose(arrays["y"], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--column", "x"], 2, "write INPUT=COLUMN"),
        (["--column", "z=features"], 2, "no input 'z'"),
        (["--input", "missing"], 1, "there is no data set at 'missing'"),
        (["--workers", "0"], 2, "workers must be a positive number"),
        (["--batch-size", "0"], 2, "batch_size must be positive"),
        (["--cluster", "tcp://localhost:1"], 2, "choose the engine ray or dask"),
        (["--output", "{data}"], 1, "cannot write"),
    ],
)
def test_mistakes_are_refused(refused, vmfb_file, data, tmp_path, arguments, code, text):
    given = [each.format(data=data) for each in arguments]
    command = [vmfb_file, "--input", data, "--output", tmp_path / "out", *given]
    refused(gc_map.main, command, code, text)


def test_a_model_that_is_none(refused, data, tmp_path):
    (tmp_path / "page.onnx").write_text("<html>not found</html>")
    command = [tmp_path / "page.onnx", "--input", data, "--output", tmp_path / "out"]
    refused(gc_map.main, command, 1, "is not an ONNX model")
    refused(gc_map.main, ["none.onnx", *command[1:]], 1, "cannot read 'none.onnx'")
    refused(gc_map.main, ["none.vmfb", *command[1:]], 1, "cannot read 'none.vmfb'")
