"""Models in files, and what every tool owes its user."""

import pytest
from tool_models import dense, write

from graphc.tools import gc_compile


@pytest.fixture
def onnx_file(tmp_path):
    """The dense model as ``dense.onnx``."""
    return write(dense(), tmp_path / "dense.onnx")


@pytest.fixture(scope="session")
def vmfb_file(tmp_path_factory):
    """The dense model, compiled."""
    folder = tmp_path_factory.mktemp("compiled")
    path = folder / "dense.vmfb"
    assert gc_compile.main([str(write(dense(), folder / "dense.onnx")), "-o", str(path)]) == 0
    return path


@pytest.fixture
def refused(capsys):
    """``refused(main, [..arguments..], code, text)``: one clear error and nothing on stdout."""

    def check(main, arguments, code, text):
        assert main([str(argument) for argument in arguments]) == code
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")
        assert err.count("error: ") == 1
        assert "Traceback" not in err
        assert text in err

    return check
