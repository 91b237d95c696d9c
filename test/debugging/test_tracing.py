"""graphc.trace: every value by its name, and breakpoints."""

import numpy as np
import pytest
from tool_models import BIAS, WEIGHTS, dense, dense_result

import graphc
from graphc.errors import FeedError, UsageError

X = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
EXPORTED = "test/exported/bert-tiny.onnx"


def test_every_value_by_its_name():
    values = graphc.trace(dense(), {"x": X})
    assert list(values) == ["xw", "xwb", "y"]
    assert values.outputs == ("y",)
    np.testing.assert_allclose(values["xw"], X @ WEIGHTS, rtol=1e-6)
    np.testing.assert_allclose(values["xwb"], X @ WEIGHTS + BIAS, rtol=1e-6)
    np.testing.assert_allclose(values["y"], dense_result(X), rtol=1e-6)


def test_values_that_survive_a_pipeline():
    ids = np.random.default_rng(0).integers(40, size=(2, 9))
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": ids % 2}
    plain = graphc.trace(EXPORTED, feeds)
    after = graphc.trace(EXPORTED, feeds, pipeline="graph-recognize,canonicalize,cse")
    assert set(after) < set(plain)
    erf = [name for name in plain if "Erf" in name]
    assert erf
    assert not set(erf) & set(after)  # inside gelu now
    for name, array in after.items():
        np.testing.assert_allclose(array, plain[name], atol=1e-5)


def test_breakpoints_stop_where_they_say():
    seen = []
    at = ["sum", "y", lambda step: (step.results[0] > 3).any()]
    graphc.trace(dense(), {"x": X + 2}, at=at, stop=seen.append)
    assert [step.nodes for step in seen] == [("product",), ("sum",), ("activation",)]
    step = seen[1]
    assert step.names == ("xwb",)
    np.testing.assert_array_equal(step.operands[0], step.values["xw"])
    assert str(step) == "graph.add at sum: float32[2, 3]"


def test_the_debugger_is_entered(monkeypatch, capsys):
    monkeypatch.setattr("sys.breakpointhook", lambda *args: print("stopped"))
    graphc.trace(dense(), {"x": X}, at="sum")
    assert capsys.readouterr().out == "graph.add at sum: float32[2, 3]\nstopped\n"


def test_errors():
    with pytest.raises(UsageError, match="called 'sun' that could stop it; did you mean 'sum'"):
        graphc.trace(dense(), {"x": X}, at="sun")
    with pytest.raises(FeedError, match="'x' must be float32"):
        graphc.trace(dense(), {"x": X.astype(int)})
