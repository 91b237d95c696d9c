"""Calls of divided models on ranks, which are threads here."""

import contextlib

import numpy as np
import onnxruntime
import pytest
from lockstep_ranks import AbortedError, LockstepMPI, lockstep_ranks, run_in_lockstep
from onnx import helper, numpy_helper
from tiny_language_models import write_model_folder
from tool_models import model

from graphc.distributed import shard
from graphc.distributed.shard_ranks import run_on_ranks

RNG = np.random.default_rng(0)
CARRIED = {"past_key_values.*": "present.*"}


@pytest.fixture(scope="module")
def feed_forward():
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["z"]),
        helper.make_node("Reshape", ["z", "shape"], ["y"]),
    ]
    weights = [numpy_helper.from_array(RNG.standard_normal(shape, np.float32), name)
               for name, shape in {"v": (4, 8), "w": (8, 3)}.items()]  # fmt: skip
    weights.append(numpy_helper.from_array(np.array([2, -1]), "shape"))
    return model(nodes, {"x": ["n", 4]}, {"y": [2, "m"]}, weights)


def on_threads(count, function):
    """``function(comm, rank)`` on ranks, or None where it was aborted."""

    def guarded(rank):
        with contextlib.suppress(AbortedError):
            return function(LockstepMPI(rank), rank.rank)

    return run_in_lockstep(guarded, lockstep_ranks(count))


def outputs(made, feeds, count=2, **options):
    """The outputs of all calls on each rank; rank 0 alone reads `feeds`."""

    def run(comm, rank):
        given = feeds if rank == 0 else ()
        return list(run_on_ranks(made, given, comm, target="interpret", **options))

    return on_threads(count, run)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_all_ranks_yield_the_outputs_of_every_call(feed_forward, count):
    xs = [RNG.standard_normal((n, 4), np.float32) for n in (2, 4, 6)]
    v, w, _ = map(numpy_helper.to_array, feed_forward.graph.initializer)
    found = outputs(feed_forward, [{"x": x} for x in xs], count)
    for calls in found:
        for x, each in zip(xs, calls, strict=True):
            expected = np.reshape(np.maximum(x @ v, 0) @ w, (2, -1))
            np.testing.assert_allclose(each["y"], expected, rtol=1e-5, atol=1e-5)


def test_a_model_that_was_divided_before(feed_forward):
    sharded = shard(feed_forward, 1, target="interpret")
    x = np.ones((2, 4), np.float32)
    (calls,) = on_threads(1, lambda comm, _: list(run_on_ranks(sharded, [{"x": x}], comm)))
    assert calls[0]["y"].shape == (2, 3)


def decoder(path, steps):
    """The logits of ONNX Runtime for all tokens in one call, and feeds for a call for each."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    tokens = RNG.integers(0, 30, (1, steps))
    empty = {
        each.name: np.zeros((1, each.shape[1], 0, each.shape[3]), np.float32)
        for each in session.get_inputs()
        if each.name.startswith("past")
    }
    whole = {"input_ids": tokens, "attention_mask": np.ones((1, steps), np.int64)}
    (logits,) = session.run(["logits"], whole | empty)
    feeds = [
        {"input_ids": tokens[:, n : n + 1], "attention_mask": np.ones((1, n + 1), np.int64)}
        for n in range(steps)
    ]
    feeds[0] |= empty
    return logits, feeds


@pytest.mark.parametrize("name", ["llama", "phi3"])
def test_each_rank_carries_its_part_of_the_caches(tmp_path, name):
    path = write_model_folder(tmp_path, name) / "model.onnx"
    expected, feeds = decoder(path, 4)
    for calls in outputs(path, [*feeds, *feeds], carried=CARRIED):  # the second time anew
        assert {*calls[0]} == {"logits"}
        found = np.concatenate([each["logits"] for each in calls], axis=1)
        np.testing.assert_allclose(found[:, :4], expected, rtol=2e-5, atol=2e-5)
        np.testing.assert_allclose(found[:, 4:], expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("feeds", "options", "error"),
    [
        ([{"x": np.zeros((2, 5), np.float32)}], {}, "FeedError: input 'x'"),
        ([{"z": np.zeros((2, 4), np.float32)}], {}, "FeedError: input 'x' is missing"),
        ((1 / 0 for _ in range(1)), {}, "Traceback"),
        ([], {"carried": {"z": "y"}}, "UsageError: carried: no input matches 'z'"),
    ],
)
def test_errors_end_all_ranks_with_one_message(feed_forward, feeds, options, error, capfd):
    assert outputs(feed_forward, feeds, **options) == [None, None]
    said = capfd.readouterr().err
    assert said.startswith("rank 0 of 2: ")
    assert error in said
    assert said.count("rank ") == 1


def test_the_number_of_ranks_is_that_of_the_model(feed_forward, capfd):
    sharded = shard(feed_forward, 2, target="interpret")
    found = on_threads(1, lambda comm, _: list(run_on_ranks(sharded, [], comm)))
    assert found == [None]
    assert "divided among 2 ranks, not 1" in capfd.readouterr().err
