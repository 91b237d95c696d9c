"""The target ``interpret``: any model at once, after any passes, and the same results."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from test_hybrid import X, sandwich
from tool_models import BIAS, WEIGHTS, dense, dense_result, model, write

import graphc
from graphc.errors import ExecutionError, FeedError, UnsupportedModelError, UsageError
from graphc.tools import gc_compile, gc_run

EXPORTED = "test/exported/bert-tiny.onnx"


def interpret(source, **options):
    return graphc.compile(source, target="interpret", **options)


def test_it_behaves_as_compiled_models_do():
    with interpret(dense()) as compiled:
        assert [str(spec) for spec in compiled.inputs] == ["x: float32[batch, 4]"]
        assert [str(spec) for spec in compiled.outputs] == ["y: float32[batch, 3]"]
        assert (compiled.target, compiled.native) == ("interpret:numpy", True)
        np.testing.assert_allclose(compiled(X), dense_result(X), rtol=1e-6)
        np.testing.assert_allclose(compiled(x=X), dense_result(X), rtol=1e-6)
        np.testing.assert_allclose(compiled.run(["y"], {"x": X})[0], dense_result(X), rtol=1e-6)
        with pytest.raises(FeedError, match="'x' must be float32"):
            compiled(X.astype(np.float64))
        with pytest.raises(UsageError, match="no output 'z'"):
            compiled.run(["z"], {"x": X})
        with pytest.raises(UsageError, match="interpreted: there is no code to save"):
            compiled.save("dense.vmfb")
    with pytest.raises(UsageError, match="closed"):
        compiled(X)


@pytest.mark.parametrize("passes", [None, "graph-simplify", "cpu"])
def test_models_after_any_passes(passes):
    from graphc.cpu_model import CpuModel
    from graphc.passes.pipelines import graph_pipeline

    pipeline = graph_pipeline("cpu", CpuModel(512)) if passes == "cpu" else passes
    ids = np.random.default_rng(0).integers(40, size=(2, 9))
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": ids % 2}
    found = interpret(EXPORTED, pipeline=pipeline).run(None, feeds)
    for result, want in zip(
        found, onnxruntime.InferenceSession(EXPORTED).run(None, feeds), strict=True
    ):
        np.testing.assert_allclose(result, want, atol=1e-5)


def test_any_value_can_be_an_output():
    compiled = interpret(dense(), outputs=["xw", "b", "x", "y"])
    xw, b, x, y = compiled(X)
    np.testing.assert_allclose(xw, X @ WEIGHTS, rtol=1e-6)
    np.testing.assert_array_equal(b, BIAS)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_allclose(y, dense_result(X), rtol=1e-6)
    with pytest.raises(UsageError, match="no value 'xwbb'; did you mean 'xwb'"):
        interpret(dense(), outputs=["xwbb"])
    with pytest.raises(UsageError, match="different names"):
        interpret(dense(), outputs=["y", "y"])


def test_results_belong_to_the_caller():
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["w"], ["z"])]
    made = model(
        nodes, {"x": [4]}, {"y": [4], "z": [4, 3]}, [numpy_helper.from_array(WEIGHTS, "w")]
    )
    compiled, x = interpret(made), np.ones(4, np.float32)
    for result in compiled(x):
        result[:] = 7
    assert x[0] == 1
    np.testing.assert_array_equal(compiled(x)[1], WEIGHTS)


def test_nodes_on_the_host_run_there():
    compiled = interpret(sandwich())
    assert [part.native for part in compiled.parts] == [True, False, True]
    positive = np.maximum(np.concatenate([X * 2, X]), 0)
    np.testing.assert_array_equal(compiled.run(["positive"], {"x": X})[0], positive)
    with pytest.raises(UnsupportedModelError):
        interpret(sandwich(), host=False)


def test_failures_name_the_node():
    nodes = [helper.make_node("Reshape", ["x", "s"], ["y"], name="pairs")]
    made = model(
        nodes, {"x": ["n"]}, {"y": [2, 2]}, [numpy_helper.from_array(np.array([2, 2]), "s")]
    )
    with pytest.raises(
        ExecutionError, match=r"graph\.reshape at 'pairs' has no result: ValueError"
    ):
        interpret(made)(np.ones(3, np.float32))


def test_threads_take_turns():
    compiled = interpret(EXPORTED)
    feeds = {spec.name: np.ones((1, 5), np.int64) for spec in compiled.inputs}
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: compiled.run(None, feeds)[0], range(8)))
    for result in found[1:]:
        np.testing.assert_array_equal(result, found[0])


def test_the_tools(tmp_path, capsys):
    path = str(write(dense(), tmp_path / "dense.onnx"))
    assert gc_run.main([path, "--target=interpret", "--compare=onnxruntime"]) == 0
    assert gc_compile.main([path, "--target=interpret", "--emit=graph", "-o", "-"]) == 0
    assert "graph.matmul" in capsys.readouterr().out
    for arguments in (["--emit=vmfb"], ["--emit=linalg"], ["--target=cpu,interpret"]):
        assert gc_compile.main([path, "--target=interpret", *arguments]) == 2
        assert "error: for interpret nothing is compiled" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.vmfb"))


def test_what_it_holds_is_bounded():
    """Values are let go when nothing uses them any more: a long chain is no long list."""
    import tracemalloc

    nodes = [helper.make_node("Relu", [f"x{i}"], [f"x{i + 1}"]) for i in range(64)]
    compiled = interpret(model(nodes, {"x0": [1 << 16]}, {"x64": [1 << 16]}))
    x = np.ones(1 << 16, np.float32)
    tracemalloc.start()
    compiled(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * x.nbytes


def test_model_protos_stay_as_they_are():
    made = dense()
    before = made.SerializeToString()
    interpret(made, outputs=["xw"])
    assert made.SerializeToString() == before
    assert [o.name for o in onnx.load_from_string(before).graph.output] == ["y"]
