"""Batches of blocks: sizes, padding, and models that have no rows."""

import numpy as np
import pytest

from graphc.distributed.batching import DEFAULT_BATCH_SIZE, batching, feed_of
from graphc.errors import ExecutionError, FeedError, UsageError
from graphc.runtime import TensorSpec, ValueSpec


def spec(name, *shape, dtype="float32"):
    return TensorSpec(name, shape, dtype)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 8, 9])
@pytest.mark.parametrize("first", ["batch", 4, ""])
def test_every_row_is_computed_once(first, count):
    plan = batching([spec("x", first, 2)], [spec("y", first, 2)], 4)
    sizes, x = [], np.arange(2.0 * count, dtype=np.float32).reshape(count, 2)

    def double(feeds):
        sizes.append(len(feeds["x"]))
        return {"y": 2 * feeds["x"]}

    np.testing.assert_array_equal(plan.run(double, {"x": x}, count)["y"], 2 * x)
    assert sum(sizes) == (-(-count // 4) * 4 if first == 4 else count)
    assert max(sizes, default=4) <= 4


def test_sizes():
    assert batching([spec("x", "n")], [spec("y", "n")], None).size == DEFAULT_BATCH_SIZE
    assert batching([spec("x", 7)], [spec("y", 7)], None).size == 7
    assert batching([spec("x", 7)], [spec("y", 7)], 7).fixed


@pytest.mark.parametrize(
    ("inputs", "outputs", "text"),
    [
        ([], [spec("y", 4)], "no inputs"),
        ([spec("x", 4)], [spec("y", 3)], r"output y: float32\[3\] has another first axis"),
        ([spec("x", "n")], [spec("y", "2*n")], "another first axis"),
        ([spec("x", "n")], [spec("y")], "no axis of rows"),
        ([spec("x")], [spec("y", 4)], "input x: .* no axis of rows"),
        ([spec("x", 4), spec("z", "n")], [spec("y", 4)], r"differ .* \(x: 4, z: n\)"),
        ([spec("x", 4), spec("z", 5)], [spec("y", 4)], "differ in their first axis"),
        ([ValueSpec("x", "seq(float32)")], [spec("y", 4)], "is no tensor"),
        ([spec("x", 8)], [spec("y", 8)], "takes 8 rows in a call, not 4"),
    ],
)
def test_models_without_rows_are_refused(inputs, outputs, text):
    with pytest.raises(UsageError, match=text):
        batching(inputs, outputs, 4)


def test_outputs_without_rows_are_refused_when_they_come():
    plan = batching([spec("x", "n")], [spec("y", "")], 4)
    with pytest.raises(ExecutionError, match=r"output 'y' has shape \[1\] for 3 rows"):
        plan.run(lambda feeds: {"y": np.zeros(1)}, {"x": np.zeros(3)}, 3)
    with pytest.raises(ExecutionError, match="rows of different shapes"):
        plan.run(
            lambda feeds: {"y": np.zeros((len(feeds["x"]), len(feeds["x"])))},
            {"x": np.zeros(5)}, 5,
        )  # fmt: skip


def test_flat_columns_get_the_shape_of_the_input():
    flat = np.arange(24, dtype=np.float32).reshape(2, 12)
    assert feed_of(flat, spec("x", "n", 3, 2, 2)).shape == (2, 3, 2, 2)
    with pytest.raises(FeedError, match=r"cannot take rows of shape \[12\]"):
        feed_of(flat, spec("x", "n", 3, 2, 3))
