"""Divided models on real ranks of MPI: `make distributed`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnx import helper, numpy_helper
from tiny_language_models import write_model_folder
from tool_models import model, write

HERE = Path(__file__).parent.parent
RNG = np.random.default_rng(0)
CALLS = 2
SIZES = {
    "n": 5, "batch": 2, "seq": 7, "batch_size": 1, "sequence_length": 3,
    "past_sequence_length": 5, "total_sequence_length": 8,
}  # fmt: skip


def feed_forward(folder):
    """A layer with a bias and a gate."""
    nodes = [
        helper.make_node("MatMul", ["x", "u"], ["up"]),
        helper.make_node("Gemm", ["x", "v", "b"], ["gate"], transB=1),
        helper.make_node("Sigmoid", ["gate"], ["sigmoid"]),
        helper.make_node("Mul", ["sigmoid", "up"], ["hidden"]),
        helper.make_node("MatMul", ["hidden", "w"], ["product"]),
        helper.make_node("Reshape", ["product", "shape"], ["y"]),
    ]
    shapes = {"u": (16, 32), "v": (32, 16), "b": (32,), "w": (32, 12)}
    weights = [numpy_helper.from_array(RNG.standard_normal(shape, np.float32), name)
               for name, shape in shapes.items()]  # fmt: skip
    weights.append(numpy_helper.from_array(np.array([5, -1]), "shape"))
    made = model(nodes, {"x": ["n", 16]}, {"y": [5, "m"]}, weights)
    return write(made, folder / "feed_forward.onnx")


def bert(folder):
    """An encoder of two layers."""
    del folder
    return HERE / "exported" / "bert-tiny.onnx"


def gpt2(folder):
    """A decoder with queries, keys and values in one matrix."""
    del folder
    return HERE / "exported" / "gpt2-tiny.onnx"


def llama(folder):
    """A decoder with grouped heads, a cache and weights in another file."""
    (folder / "llama").mkdir()
    return write_model_folder(folder / "llama", "llama") / "model.onnx"


def draw(path):
    """Feeds of a model, and what ONNX Runtime gives for them."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {}
    for each in session.get_inputs():
        shape = [CALLS, *(SIZES.get(size, size) for size in each.shape)]
        if each.type == "tensor(float)":
            feeds[each.name] = RNG.standard_normal(shape).astype(np.float32)
        else:
            high = 2 if "type" in each.name else 30
            drawn = np.ones(shape) if "mask" in each.name else RNG.integers(0, high, shape)
            feeds[each.name] = drawn.astype(np.int64)
    names = [each.name for each in session.get_outputs()]
    calls = [{name: x[call] for name, x in feeds.items()} for call in range(CALLS)]
    expected = [dict(zip(names, session.run(None, call), strict=True)) for call in calls]
    return feeds, {name: np.stack([each[name] for each in expected]) for name in names}


def run(folder, ranks, path, feeds, **options):
    """The finished job of `ranks` processes."""
    pytest.importorskip("mpi4py")
    launcher = shutil.which("mpiexec", path=Path(sys.executable).parent) or shutil.which("mpiexec")
    if launcher is None:
        pytest.skip("there is no mpiexec")
    np.savez(folder / "feeds.npz", **feeds)
    command = [launcher, "-n", str(ranks), sys.executable, str(HERE / "shard_on_ranks.py")]
    command += [str(path), str(folder / "feeds.npz"), str(folder / "out"), json.dumps(options)]
    return subprocess.run(command, timeout=600, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("build", [feed_forward, bert, gpt2, llama])
def test_ranks_give_what_the_whole_model_gives(tmp_path, build, ranks):
    path = build(tmp_path)
    feeds, expected = draw(path)
    ended = run(tmp_path, ranks, path, feeds, gather_bytes=4096)
    assert ended.returncode == 0, ended.stderr
    found = [dict(np.load(tmp_path / f"out.{rank}.npz")) for rank in range(ranks)]
    for name, want in expected.items():
        np.testing.assert_allclose(found[0][name], want, rtol=2e-5, atol=2e-5)
        for other in found[1:]:
            np.testing.assert_array_equal(other[name], found[0][name])


def test_caches_that_ranks_carry(tmp_path):
    path = llama(tmp_path)
    feeds, expected = draw(path)
    carried = {"past_key_values.*": "present.*"}
    ended = run(tmp_path, 2, path, feeds, carried=carried)
    assert ended.returncode == 0, ended.stderr
    for rank in range(2):
        with np.load(tmp_path / f"out.{rank}.npz") as found:
            assert [*found] == ["logits"]
            np.testing.assert_allclose(found["logits"], expected["logits"], rtol=2e-5, atol=2e-5)


def messages(ended):
    assert ended.returncode != 0
    return [line for line in ended.stderr.splitlines() if line.startswith("rank ")]


def test_feeds_that_do_not_fit(tmp_path):
    path = feed_forward(tmp_path)
    feeds = {"x": np.zeros((1, 3, 15), np.float32)}
    (message,) = messages(run(tmp_path, 2, path, feeds, target="interpret"))
    assert message.startswith("rank 0 of 2: graphc.errors.FeedError: input 'x'")


@pytest.mark.parametrize("target", ["interpret", "cpu"])
def test_an_error_that_all_ranks_meet_in_a_call(tmp_path, target):
    path = feed_forward(tmp_path)
    feeds = {"x": np.zeros((1, 2, 16), np.float32)}  # results of 24 elements do not have 5 rows
    (message,) = messages(run(tmp_path, 2, path, feeds, target=target))
    assert message.startswith("rank 0 of 2: graphc.errors.ExecutionError: ")


@pytest.mark.parametrize(
    ("options", "first"), [({"target": "cray"}, 0), ({"1": {"target": "cray"}}, 1)]
)
def test_an_error_before_the_first_call(tmp_path, options, first):
    path = feed_forward(tmp_path)
    feeds = {"x": np.zeros((1, 3, 16), np.float32)}
    (message,) = messages(run(tmp_path, 2, path, feeds, **options))
    assert message.startswith(f"rank {first} of 2: graphc.errors.UnknownTargetError: ")
