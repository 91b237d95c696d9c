"""Attention to a cache of keys and values, and caches that are updated in place."""

import gc
from dataclasses import dataclass

import numpy as np
import onnxruntime
import pytest
from devices import needs_vulkan
from numerics import build_model
from onnx import helper

import graphc
from graphc.errors import ExecutionError, UsageError
from harness.marks import long

DONATED = ["past_*"]


@dataclass(frozen=True)
class CacheStep:
    """The sizes of a step: `queries` tokens behind as many as `past` says of each batch."""

    batch: int
    queries: int
    heads: int
    shared: int
    features: int
    capacity: int
    past: tuple[int, ...]
    window: int = -1
    named: bool = False

    @property
    def total(self) -> int:
        return max(self.past) + self.queries


STEPS = (
    CacheStep(1, 1, 4, 2, 16, 24, (10,)),
    CacheStep(2, 1, 9, 3, 32, 24, (3, 23)),
    CacheStep(1, 5, 4, 1, 16, 24, (7,), window=6),
    CacheStep(1, 1, 8, 8, 48, 30, (29,), named=True),
    CacheStep(1, 3, 4, 2, 16, 24, (0,), window=2, named=True),
)


def step_model(sizes: CacheStep):
    """A GroupQueryAttention with a cache of `capacity` rows."""
    angles = np.outer(np.arange(sizes.capacity), 0.1 * np.arange(1, sizes.features // 2 + 1))
    node = helper.make_node(
        "GroupQueryAttention",
        ["q", "k", "v", "past_key", "past_value", "seqlens_k", "total", "cos", "sin"],
        ["y", "key", "value"], domain="com.microsoft", num_heads=sizes.heads,
        kv_num_heads=sizes.shared, do_rotary=1, local_window_size=sizes.window,
    )  # fmt: skip
    batch, queries, capacity = sizes.batch, sizes.queries, sizes.capacity
    if sizes.named:
        batch, queries, capacity = "batch", "queries", "capacity"
    cache = (np.float32, (batch, sizes.shared, capacity, sizes.features))
    wide = {"q": sizes.heads, "k": sizes.shared, "v": sizes.shared}
    inputs = {
        **{n: (np.float32, (batch, queries, h * sizes.features)) for n, h in wide.items()},
        "past_key": cache, "past_value": cache, "seqlens_k": (np.int32, (batch,)),
        "total": (np.int32, (1,)),
    }  # fmt: skip
    tables = {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    model = build_model([node], inputs, ["y", "key", "value"], tables, opset=17)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def draw(sizes: CacheStep, seed: int = 0) -> dict[str, np.ndarray]:
    """Random inputs; rows of the cache that are not in use are 0."""
    random = np.random.default_rng(seed)
    features = sizes.features
    feeds = {
        name: random.standard_normal((sizes.batch, sizes.queries, heads * features), np.float32)
        for name, heads in (("q", sizes.heads), ("k", sizes.shared), ("v", sizes.shared))
    }
    past = np.array(sizes.past, np.int32)
    used = np.arange(sizes.capacity).reshape(-1, 1) < past.reshape(-1, 1, 1, 1)
    for name in ("past_key", "past_value"):
        shape = (sizes.batch, sizes.shared, sizes.capacity, features)
        feeds[name] = np.where(used, random.standard_normal(shape, np.float32), np.float32(0))
    feeds["seqlens_k"] = past + np.int32(sizes.queries - 1)
    feeds["total"] = np.array([sizes.total], np.int32)
    return feeds


def expected(model, feeds) -> list[np.ndarray]:
    return onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)


def compare(results, truths) -> None:
    for result, truth in zip(results, truths, strict=True):
        np.testing.assert_allclose(np.asarray(result), truth, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("sizes", STEPS, ids=str)
@pytest.mark.parametrize("donate", [long(()), DONATED], ids=["kept", "donated"])
def test_compiled(sizes, donate):
    model, feeds = step_model(sizes), draw(sizes)
    with graphc.compile(model, donate=donate, threads=2) as compiled:
        given = {name: x.copy() for name, x in feeds.items()}
        compare(compiled.run(None, given), expected(model, feeds))
        for name, x in feeds.items():
            assert np.array_equal(given[name], x)  # arrays of the caller stay as they are


def test_without_vectors():
    """The kernel has vectors of its own choice; the mask is for targets without kernels."""
    sizes = STEPS[2]
    model, feeds = step_model(sizes), draw(sizes)
    truths = expected(model, feeds)
    for pipeline in ("cse", "graph-expand-cached-attention"):
        with graphc.compile(model, pipeline=pipeline) as compiled:
            compare(compiled.run(None, feeds), truths)
    compare(graphc.compile(model, "interpret").run(None, feeds), truths)


def test_steps_share_the_memory_of_a_donated_cache():
    """Outputs of a step are the memory of its inputs, and no step allocates another cache."""
    sizes = CacheStep(1, 1, 2, 1, 16, 4096, (4000,))
    model = step_model(sizes)
    feeds = draw(sizes)
    names = {"past_key": "key", "past_value": "value"}
    with graphc.compile(model, donate=DONATED, threads=2) as compiled:
        caches = {name: compiled.to_device(feeds.pop(name)) for name in names}
        first = {name: _address(cache) for name, cache in caches.items()}
        for past in range(4000, 4010):
            step = {**feeds, "seqlens_k": np.array([past], np.int32)}
            step["total"] = np.array([past + 1], np.int32)
            given = {**step, **{name: np.array(cache) for name, cache in caches.items()}}
            y, *rest = compiled.run(None, {**step, **caches}, on_device=[*names.values()])
            compare([y, *rest], expected(model, given))
            caches = dict(zip(names, rest, strict=True))
            assert {name: _address(cache) for name, cache in caches.items()} == first
            del rest
            gc.collect()


def _address(tensor) -> int:
    return tensor.numpy().__array_interface__["data"][0]


def test_a_tensor_that_was_given_away_cannot_be_used():
    sizes = STEPS[0]
    feeds = draw(sizes)
    with graphc.compile(step_model(sizes), donate=DONATED) as compiled:
        cache = feeds["past_key"] = compiled.to_device(feeds["past_key"])
        compiled.run(None, feeds)
        for use in (cache.numpy, lambda: compiled.run(None, feeds), lambda: np.from_dlpack(cache)):
            with pytest.raises(UsageError, match="takes over its memory"):
                use()


def test_a_pattern_that_no_input_matches():
    with pytest.raises(UsageError, match=r"no input matches 'past\.\*' \(inputs: q, k"):
        graphc.compile(step_model(STEPS[0]), donate=["past.*"])


def test_a_donated_cache_that_is_full():
    sizes = STEPS[0]
    feeds = draw(sizes) | {"total": np.array([25], np.int32)}
    compiled = graphc.compile(step_model(sizes), donate=DONATED)
    with compiled, pytest.raises(ExecutionError, match="positions do not fit into 24"):
        compiled.run(None, feeds)


def test_a_donated_input_that_is_needed_later():
    """A copy is updated if there are other readers."""
    nodes = [
        helper.make_node("TensorScatter", ["past_x", "new", "at"], ["y"]),
        helper.make_node("Neg", ["past_x"], ["z"]),
        helper.make_node("TensorScatter", ["past_x", "new", "other"], ["w"]),
    ]
    row = (np.float32, (2, 1, 8))
    inputs = {"past_x": (np.float32, (2, 5, 8)), "new": row}
    inputs |= {name: (np.int64, (2,)) for name in ("at", "other")}
    model = build_model(nodes, inputs, ["y", "z", "w"], opset=24)
    x, new = np.arange(80, dtype=np.float32).reshape(2, 5, 8), np.full((2, 1, 8), 0.5, np.float32)
    at, other = np.array([1, 4]), np.array([0, 2])

    def written(where):
        y = x.copy()
        y[[0, 1], where] = 0.5
        return y

    for donate in ((), DONATED):
        with graphc.compile(model, donate=donate, threads=2) as compiled:
            feeds = {"past_x": x.copy(), "new": new, "at": at, "other": other}
            compare(compiled.run(None, feeds), [written(at), -x, written(other)])


@needs_vulkan
@pytest.mark.parametrize("donate", [(), DONATED], ids=["kept", "donated"])
def test_vulkan(donate):
    sizes = STEPS[4]
    model, feeds = step_model(sizes), draw(sizes)
    with graphc.compile(model, "vulkan", donate=donate) as compiled:
        given = dict(feeds)
        for name in ("past_key", "past_value"):
            given[name] = compiled.to_device(feeds[name])
        compare(compiled.run(None, given), expected(model, feeds))
