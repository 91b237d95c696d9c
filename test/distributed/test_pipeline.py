"""Models in stages: where they are cut, and pipelines of real processes."""

import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from tool_models import model, write

import graphc
from graphc.distributed import StagePipeline, compile_stages, partition
from graphc.errors import ClusterError, FeedError, InvalidModelError, UsageError

LAYERS = 4
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def layers():
    """Four pairs of dense layers with few values between them."""
    drawn, nodes, weights = np.random.default_rng(5), [], []
    for n in range(LAYERS):
        for name, shape in ((f"v{n}", (64, 16)), (f"w{n}", (16, 64))):
            weights.append(
                numpy_helper.from_array(drawn.standard_normal(shape, np.float32) / 8, name)
            )
        nodes += [
            helper.make_node(
                "MatMul", [f"h{n}" if n else "x", f"v{n}"], [f"narrow{n}"], f"narrow{n}"
            ),
            helper.make_node("Relu", [f"narrow{n}"], [f"relu{n}"], f"relu{n}"),
            helper.make_node("MatMul", [f"relu{n}", f"w{n}"], [f"h{n + 1}"], f"wide{n}"),
        ]
    nodes.append(helper.make_node("Relu", [f"h{LAYERS}"], ["y"]))
    return model(nodes, {"x": [8, 64]}, {"y": [8, 64]}, weights)


@pytest.fixture(scope="module")
def batches():
    """Six micro-batches."""
    return np.random.default_rng(6).standard_normal((6, 8, 64), np.float32)


@pytest.fixture(scope="module")
def expected(layers, batches):
    """The results of the whole model."""
    with graphc.compile(layers, threads=1) as whole:
        return np.stack([whole(x) for x in batches])


def feeds(batches):
    return ({"x": x} for x in batches)


@pytest.mark.parametrize("count", [2, 4])
def test_processes_give_the_results_of_the_whole(layers, batches, expected, count):
    with StagePipeline(partition(layers, count)) as pipeline:
        found = np.stack([outputs["y"] for outputs in pipeline.run(feeds(batches))])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("count", "crossing"),
    [
        (1, []),
        (2, [8 * 16 * 4]),  # the narrow place next to the middle
        (4, [8 * 64 * 4] * 3),  # no narrow places are balanced
    ],
)
def test_cuts_are_balanced_and_narrow(layers, count, crossing):
    stages = partition(layers, count)
    assert [stage.crossing_bytes for stage in stages[:-1]] == crossing
    assert sum(stage.time_share for stage in stages) == pytest.approx(1)
    assert max(stage.time_share for stage in stages) <= 1.3 / count
    assert sum(stage.weight_bytes for stage in stages) == LAYERS * 2 * 64 * 16 * 4
    for stage in stages:
        onnx.checker.check_model(stage.model, full_check=True)


def test_few_bytes_of_weights(layers):
    quarter = 2 * 64 * 16 * 4
    stages = partition(layers, 4, max_weight_bytes=quarter)
    assert all(stage.weight_bytes <= quarter for stage in stages)
    with pytest.raises(UsageError, match="no 3 stages have at most"):
        partition(layers, 3, max_weight_bytes=quarter)


def test_values_pass_stages_that_do_not_need_them():
    nodes = [helper.make_node("Exp", ["x"], ["a"])]
    nodes += [helper.make_node("Neg", [f"b{n}" if n else "a"], [f"b{n + 1}"]) for n in range(2)]
    nodes += [helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.float32(2)))]
    nodes += [
        helper.make_node("Add", ["b2", "a"], ["d"]),
        helper.make_node("Mul", ["d", "c"], ["e"]),
    ]
    nodes += [helper.make_node("Add", ["e", "x"], ["y"])]
    whole = model(nodes, {"x": ["n", 3]}, {"y": ["n", 3], "a": ["n", 3]})
    stages = partition(whole, 3, dims={"n": 4})
    assert set(stages[0].passed_on) >= {"a", "x"}
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    with ThreadPoolExecutor(1) as one, StagePipeline(stages, executors=[one] * 3) as pipeline:
        (found,) = pipeline.run([{"x": x}])
    np.testing.assert_allclose(found["y"], 4 * np.exp(x) + x, rtol=1e-5)
    np.testing.assert_allclose(found["a"], np.exp(x), rtol=1e-5)


def test_a_stage_may_hold_control_flow():
    branch = [
        helper.make_graph([helper.make_node(op, ["a"], [f"r{op}"])], op, [],
                          [helper.make_tensor_value_info(f"r{op}", 1, [3])])
        for op in ("Exp", "Neg")
    ]  # fmt: skip
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["flag"], to=onnx.TensorProto.BOOL),
        helper.make_node("If", ["flag"], ["y"], then_branch=branch[0], else_branch=branch[1]),
    ]
    stages = partition(model(nodes, {"x": [3]}, {"y": [3]}), 2)
    assert "a" in stages[0].passed_on
    x = np.array([1, 2, 3], np.float32)
    with ThreadPoolExecutor(1) as one, StagePipeline(stages, executors=[one] * 2) as pipeline:
        found = [outputs["y"] for outputs in pipeline.run([{"x": x}, {"x": 0 * x}])]
    np.testing.assert_allclose(found, [np.exp(-x), 0 * x], rtol=1e-5)


def test_a_branch_may_return_an_outer_value():
    graphs = [
        helper.make_graph([], name, [], [helper.make_tensor_value_info(name, 1, [3])])
        for name in ("a", "b")
    ]
    nodes = [
        helper.make_node("Exp", ["x"], ["a"]),
        helper.make_node("Neg", ["x"], ["b"]),
        helper.make_node("If", ["flag"], ["y"], then_branch=graphs[0], else_branch=graphs[1]),
    ]
    whole = model(nodes, {"x": [3]}, {"y": [3]})
    whole.graph.input.append(helper.make_tensor_value_info("flag", onnx.TensorProto.BOOL, []))
    stages = partition(whole, 3)
    assert set(stages[1].passed_on) == {"a", "b", "flag"}


def test_nodes_in_any_order(layers, batches, expected):
    shuffled = onnx.ModelProto()
    shuffled.CopyFrom(layers)
    del shuffled.graph.node[:]
    shuffled.graph.node.extend(reversed(layers.graph.node))
    stages = partition(shuffled, 2)
    with ThreadPoolExecutor(1) as one, StagePipeline(stages, executors=[one] * 2) as pipeline:
        found = np.stack([outputs["y"] for outputs in pipeline.run(feeds(batches))])
    np.testing.assert_array_equal(found, expected)


def test_no_border_where_a_type_is_unknown():
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("FastGelu", ["a"], ["b"], domain="com.microsoft"),
        helper.make_node("Neg", ["b"], ["y"]),
    ]
    whole = model(nodes, {"x": [3]}, {"y": [3]})
    whole.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    first, second = partition(whole, 2)
    assert first.passed_on == ("a",)
    assert second.inputs == ("a",)
    with pytest.raises(UsageError, match="no 3 stages pass on values of known types alone"):
        partition(whole, 3)


def test_a_cancelled_stage_ends_the_call(layers):
    with ThreadPoolExecutor(1) as one, StagePipeline(partition(layers, 1), executors=[one]) as each:
        busy = threading.Event()
        one.submit(busy.wait)
        calls = each.run([{"x": np.zeros((8, 64), np.float32)}])
        waiting = threading.Timer(0.2, lambda: one.shutdown(wait=False, cancel_futures=True))
        waiting.start()
        with pytest.raises(ClusterError, match="cancelled"):
            next(calls)
        busy.set()


def test_calls_that_are_refused(layers, tmp_path):
    with pytest.raises(UsageError, match="a model of 13 nodes has no 14 stages"):
        partition(layers, 14)
    with pytest.raises(UsageError, match="has no 0 stages"):
        partition(layers, 0)
    with pytest.raises(InvalidModelError):
        partition(tmp_path / "none.onnx", 2)
    stages = compile_stages(partition(layers, 2), tmp_path)
    with pytest.raises(FeedError, match="input 'x' is missing"):
        stages[0].run({"z": np.zeros(1)})


def run_on_two_ranks(layers, batches, tmp_path):
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("there is no mpiexec")
    write(layers, tmp_path / "layers.onnx")
    np.save(tmp_path / "x.npy", batches)
    command = [launcher, "-n", "2", sys.executable, str(ROOT / "pipeline_on_ranks.py")]
    command += [str(tmp_path / name) for name in ("layers.onnx", "x.npy", "y.npz")]
    return subprocess.run(command, timeout=300, stderr=subprocess.PIPE, text=True)


def test_an_error_ends_all_ranks(layers, batches, tmp_path):
    ended = run_on_two_ranks(layers, batches[..., :3], tmp_path)
    assert ended.returncode != 0
    assert "graphc.errors.FeedError" in ended.stderr


def test_ranks_of_mpi(layers, batches, expected, tmp_path):
    ended = run_on_two_ranks(layers, batches, tmp_path)
    assert ended.returncode == 0, ended.stderr
    with np.load(tmp_path / "y.npz") as arrays:
        np.testing.assert_array_equal(arrays["y"], expected)


def test_actors_of_ray(layers, batches, expected, tmp_path):
    ray = pytest.importorskip("ray")
    from graphc.distributed.pipeline_actors import run_on_actors

    ray.init(num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        stages = compile_stages(partition(layers, 2), tmp_path)
        found = [outputs["y"] for outputs in run_on_actors(stages, feeds(batches))]
    finally:
        ray.shutdown()
    np.testing.assert_array_equal(found, expected)
