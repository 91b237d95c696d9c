"""Models divided among ranks, as one program and as a program for each rank."""

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from lockstep_ranks import lockstep_ranks, run_in_lockstep
from onnx import helper, numpy_helper
from tiny_language_models import write_model_folder
from tool_models import model

from graphc.compiler.model_signature import main_function
from graphc.compiler.sharding import ONE_SHOT_BYTES, DividedInput, all_reduce, shard
from graphc.dialects import graph
from graphc.errors import FeedError, UnsupportedModelError, UsageError
from graphc.passes.infra.pipeline import run_pipeline

EXPORTED = Path(__file__).parent.parent / "exported"
SIZES = {
    "batch": 2, "seq": 7, "batch_size": 1, "sequence_length": 3, "past_sequence_length": 5,
    "total_sequence_length": 8,
}  # fmt: skip
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Small models by name."""
    found = {name: EXPORTED / f"{name}.onnx" for name in ("bert-tiny", "gpt2-tiny")}
    for name in ("llama", "phi3"):
        folder = tmp_path_factory.mktemp(name)
        found[name] = write_model_folder(folder, name) / "model.onnx"
    return found


def draw(path):
    """Feeds of a model, and what ONNX Runtime gives for them."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds = {}
    for each in session.get_inputs():
        shape = [SIZES.get(size, size) for size in each.shape]
        if each.type == "tensor(float)":
            feeds[each.name] = RNG.standard_normal(shape).astype(np.float32)
        else:
            high = 2 if "type" in each.name else 30
            drawn = np.ones(shape) if "mask" in each.name else RNG.integers(0, high, shape)
            feeds[each.name] = drawn.astype(np.int64)
    return feeds, session.run(None, feeds)


def on_ranks(sharded, feeds, ranks):
    """The outputs of each rank; all are the same bits."""
    models = [sharded.compile(rank) for rank in ranks]
    found = run_in_lockstep(lambda rank: models[rank.rank].run(None, feeds), ranks)
    for others in found[1:]:
        for first, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(first, other)
    return found[0]


def assert_close(found, expected):
    for have, want in zip(found, expected, strict=True):
        assert have.dtype == want.dtype
        np.testing.assert_allclose(have, want, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(
    ("name", "ranks", "sums"),
    [("bert-tiny", 4, 4), ("gpt2-tiny", 2, 4), ("llama", 2, 2), ("phi3", 2, 2)],
)
def test_ranks_give_what_the_whole_model_gives(paths, name, ranks, sums):
    feeds, expected = draw(paths[name])
    sharded = shard(paths[name], ranks, gather_bytes=4096, target="interpret", check_rewrites=True)
    fired = sharded.report.rewrites["row-parallel"]
    assert fired.count == fired.checked == sums
    assert_close(sharded.interpret().run(None, feeds), expected)
    assert_close(on_ranks(sharded, feeds, lockstep_ranks(ranks)), expected)


@pytest.mark.parametrize("name", ["llama", "phi3"])
def test_ranks_keep_their_parts_of_caches(paths, name):
    feeds, expected = draw(paths[name])
    carried = {"past_key_values.*": "present.*"}
    sharded = shard(paths[name], 2, target="interpret", carried=carried, check_rewrites=True)
    assert_close(sharded.interpret().run(None, feeds), expected)
    local = sharded.local_inputs
    assert {*local} == {*sharded.carried} == {each for each in feeds if each.startswith("past")}

    def run(rank):
        mine = {name: local[name].part(name, x, rank.rank) if name in local else x
                for name, x in feeds.items()}  # fmt: skip
        return models[rank.rank].run(None, mine)

    ranks = lockstep_ranks(2)
    models = [sharded.compile(rank) for rank in ranks]
    logits, *caches = zip(*run_in_lockstep(run, ranks), strict=True)
    assert_close([logits[0], *(np.concatenate(parts, axis=1) for parts in caches)], expected)
    assert ranks[0].exchanges == 2  # a sum for each layer: no cache is gathered


def test_caches_whose_heads_are_not_divided(paths):
    feeds, expected = draw(paths["llama"])
    carried = {"past_key_values.*": "present.*"}
    sharded = shard(paths["llama"], 4, target="interpret", carried=carried)
    assert not sharded.local_inputs
    assert "gather-result" in sharded.report.rewrites
    assert_close(on_ranks(sharded, feeds, lockstep_ranks(4)), expected)


def test_a_rank_has_its_share_of_the_weights(paths):
    whole, part = (
        shard(paths["gpt2-tiny"], ranks, gather_bytes=0, target="interpret").weight_bytes
        for ranks in (1, 4)
    )
    assert part < 0.32 * whole


def feed_forward(columns=8, batch: int | str = "n"):
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["h"], name="up"),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="down"),
    ]
    shapes = {"v": (4, columns), "w": (columns, 3)}
    weights = [numpy_helper.from_array(RNG.standard_normal(shape, np.float32), name)
               for name, shape in shapes.items()]  # fmt: skip
    return model(nodes, {"x": [batch, 4]}, {"y": [batch, 3]}, weights)


def feed_forward_result(made, x):
    v, w = (numpy_helper.to_array(each) for each in made.graph.initializer)
    return np.maximum(x @ v, 0) @ w


def test_compiled_ranks():
    made, x = feed_forward(), RNG.standard_normal((5, 4), np.float32)
    sharded = shard(made, 2, threads=1)
    ranks = lockstep_ranks(2)
    (y,) = on_ranks(sharded, {"x": x}, ranks)
    np.testing.assert_allclose(y, feed_forward_result(made, x), rtol=1e-5, atol=1e-5)
    assert [rank.exchanges for rank in ranks] == [1, 1]


def constants(module):
    with module.context:
        ops = main_function(module).entry_block.operations
        return [op.attrs["value"] for op in ops if isinstance(op, graph.ConstantOp)]


def test_weights_stay_in_their_file(tmp_path):
    """A weight of a megabyte that is transposed is mapped, and so are the rows of a rank."""
    nodes = [
        helper.make_node("Gemm", ["x", "v"], ["h"], name="up", transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w"], ["y"], name="down"),
    ]
    weights = [numpy_helper.from_array(RNG.standard_normal(shape, np.float32), name)
               for name, shape in {"v": (2048, 128), "w": (2048, 128)}.items()]  # fmt: skip
    made = model(nodes, {"x": [3, 128]}, {"y": [3, 128]}, weights)
    path = tmp_path / "wide.onnx"

    onnx.save(made, path, save_as_external_data=True, location="wide.data")
    sharded = shard(path, 2, target="interpret")
    rank = sharded._copy()
    run_pipeline(rank, "graph-specialize-rank{rank=1},canonicalize")
    for part, whole in zip(constants(rank), constants(sharded.module), strict=True):
        assert (part.shape, whole.shape) == ((1024, 128), (2048, 128))
        assert np.shares_memory(part, whole)
    x = RNG.standard_normal((3, 128), np.float32)
    v, w = (numpy_helper.to_array(each) for each in weights)
    (y,) = sharded.interpret().run(None, {"x": x})
    np.testing.assert_allclose(y, np.maximum(x @ v.T, 0) @ w, rtol=1e-3, atol=1e-3)


def test_one_rank_is_the_model_itself():
    made, x = feed_forward(), RNG.standard_normal((5, 4), np.float32)
    (y,) = on_ranks(shard(made, 1, target="interpret"), {"x": x}, lockstep_ranks(1))
    np.testing.assert_allclose(y, feed_forward_result(made, x), rtol=1e-5)


def test_what_is_not_divided_is_reported():
    sharded = shard(feed_forward(columns=9), 2, target="interpret")
    declined = sharded.report.rewrites["row-parallel"].declined
    assert declined["2 ranks do not divide 9"] == ["down"]
    assert sharded.weight_bytes == 4 * 9 * (4 + 3)


def test_parts_of_a_rank_are_listed():
    rank = lockstep_ranks(2)[0]
    parts = shard(feed_forward(), 2, target="interpret").compile(rank).parts
    assert [part.native for part in parts] == [True, False]
    assert "graph.all_reduce of 2 ranks" in str(parts[1])


def test_calls_that_are_refused():
    sharded = shard(feed_forward(), 2, target="interpret")
    with pytest.raises(UsageError, match="divided among 2 ranks, not 3"):
        sharded.compile(lockstep_ranks(3)[0])
    with pytest.raises(UsageError, match="ranks must be positive, not 0"):
        shard(feed_forward(), 0)
    with pytest.raises(UsageError, match="cannot be donated"):
        shard(feed_forward(), 2, donate=["x"])
    for names, problem in (
        ({"z*": "y"}, "no input matches 'z\\*' \\(x\\)"),
        ({"*": "y.*"}, "there is no output 'y.x' \\(y\\)"),
    ):
        with pytest.raises(UsageError, match=problem):
            shard(feed_forward(), 2, target="interpret", carried=names)
    with pytest.raises(FeedError, match="axis 1, which is divided among ranks, must have 2"):
        DividedInput(1, (2,), 2).part("cache", np.zeros((1, 1, 3)), 0)
    with pytest.raises(FeedError, match="input 'x' is missing"):
        sharded.compile(lockstep_ranks(2)[0]).run(None, {})
    unknown = model([helper.make_node("Frobnicate", ["x"], ["y"])], {"x": [4]}, {"y": [4]})
    with pytest.raises(UnsupportedModelError):
        shard(unknown, 2)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [1, ONE_SHOT_BYTES // 2 + 1])
def test_sums_are_in_the_order_of_the_ranks(dtype, ranks, size):
    dtype = np.dtype(getattr(ml_dtypes, dtype, dtype))
    xs = [(100 * RNG.standard_normal((1, size))).astype(dtype) for _ in range(ranks)]
    expected = graph.sum_in_rank_order(xs)
    found = run_in_lockstep(lambda rank: all_reduce(xs[rank.rank], rank), lockstep_ranks(ranks))
    for y in found:
        assert y.dtype == dtype
        np.testing.assert_array_equal(y, expected)


def test_the_largest_of_all_ranks():
    xs = [RNG.standard_normal((3, ONE_SHOT_BYTES), np.float32) for _ in range(4)]
    found = run_in_lockstep(lambda rank: all_reduce(xs[rank.rank], rank, "max"), lockstep_ranks(4))
    for y in found:
        np.testing.assert_array_equal(y, np.max(xs, axis=0))


def test_large_sums_take_two_exchanges():
    ranks = lockstep_ranks(4)
    run_in_lockstep(lambda rank: all_reduce(np.ones(ONE_SHOT_BYTES, np.float32), rank), ranks)
    run_in_lockstep(lambda rank: all_reduce(np.ones(1, np.float32), rank), ranks)
    assert [rank.exchanges for rank in ranks] == [3] * 4
