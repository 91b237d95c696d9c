"""Programs that the backend compiles only with each op in a dispatch of its own."""

import os

import numpy as np
import pytest
from tool_models import dense, dense_result

import graphc
from graphc.errors import BackendError
from harness.failing_compiler import failing_compiler

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the fake compilers are scripts")


@pytest.fixture
def failing(tmp_path, monkeypatch):
    """``failing("*separated*")``: a compiler that fails but for commands of that pattern."""
    return failing_compiler(tmp_path, monkeypatch)


def test_what_fails_is_compiled_with_each_op_in_a_dispatch_of_its_own(failing, caplog):
    failing("*separated*")
    with graphc.compile(dense(), threads=2, cache=False) as made:
        np.testing.assert_allclose(made(X), dense_result(X), rtol=1e-6)
    assert "with each op in a dispatch of its own, as the backend failed otherwise" in caplog.text


def test_what_fails_either_way_is_reported_as_it_first_failed(failing, caplog):
    failing("nothing")
    with pytest.raises(BackendError, match="too large") as caught:
        graphc.compile(dense(), threads=2, cache=False)
    assert "separated" not in str(caught.value)
    assert "separated" not in caught.value.command
    assert "dispatch of its own" not in caplog.text
