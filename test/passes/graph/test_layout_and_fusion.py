"""Layout and fusion leave what a program computes as it is; evaluated in numpy."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rewriting import number, rewrite, weights

from graphc.dialects import graph

X = "2x4x6x6xf32"
PASSES = "graph-convert-layout,graph-fuse-epilogue,graph-fuse-elementwise"


def conv(x, *shape, **changed):
    """A convolution with weights of `shape` that keeps the spatial sizes of a 3x3 kernel."""
    attrs = {"strides": [1, 1], "dilations": [1, 1], "low": [1, 1], "high": [1, 1], "groups": 1}
    return graph.conv(x, weights(*shape), **{**attrs, **changed}, layout="channels_first")


def pool(build, x, **extra):
    return build(
        x, kernel=[2, 2], strides=[2, 2], dilations=[1, 1], low=[0, 0], high=[0, 0],
        layout="channels_first", **extra,
    )  # fmt: skip


def bias(x, channels):
    return graph.add(x, weights(1, channels, 1, 1))


def residual(x):
    y = graph.relu(bias(conv(x, 4, 4, 3, 3), 4))
    return graph.relu(graph.add(conv(y, 4, 4, 3, 3), y))


def classifier(x):
    y = pool(graph.max_pool, graph.relu(conv(x, 8, 4, 3, 3)))
    y = graph.reduce_mean(y, axes=[2, 3], keepdims=False)
    return graph.softmax(graph.matmul(y, weights(8, 5)), axis=1)


def inception(x):
    branches = [
        conv(x, 2, 4, 3, 3),
        graph.sigmoid(conv(x, 3, 4, 3, 3)),
        conv(x, 4, 2, 3, 3, groups=2),
    ]
    return graph.concat(branches, axis=1)


def attention_map(x):
    y = conv(x, 4, 4, 3, 3)
    flat = graph.reshape(y, shape=[2, 4, 36])
    return graph.matmul(graph.transpose(flat, perm=[0, 2, 1]), flat)


def squeeze_excite(x):
    y = conv(x, 4, 4, 3, 3)
    gate = graph.sigmoid(graph.reduce_mean(y, axes=[2, 3], keepdims=True))
    return graph.mul(y, gate)


def excitation(x):
    """The convolutions of squeeze and excitation, of images of one pixel."""
    x = graph.reduce_mean(x, axes=[2, 3], keepdims=True)
    y = graph.relu(bias(conv(x, 3, 4, 1, 1, low=[0, 0], high=[0, 0]), 3))
    return graph.sigmoid(bias(conv(y, 4, 3, 1, 1, low=[0, 0], high=[0, 0]), 4))


def patches(x):
    y = conv(x, 8, 4, 2, 2, strides=[2, 2], low=[0, 0], high=[0, 0])
    return graph.transpose(graph.reshape(y, shape=[2, 8, 9]), perm=[0, 2, 1])


def slice_and_pad(x):
    y = conv(x, 4, 4, 3, 3)
    y = graph.slice_(y, starts=[0, 1, 0, 5], sizes=[2, 3, 6, 3], steps=[1, 1, 1, -2])
    return graph.pad(y, number(1.5, y), low=[0, 0, 1, 0], high=[0, 1, 0, 2])


def transposed_convolution(x):
    y = graph.conv_transpose(
        x, weights(4, 3, 3, 3), strides=[2, 2], dilations=[1, 1], low=[1, 0], high=[0, 1],
        output_padding=[1, 0], groups=1, layout="channels_first",
    )  # fmt: skip
    return graph.tanh(bias(y, 3))


def rows(x):
    """A matmul of rows as exporters write it."""
    steps = graph.reshape(x, shape=[2, 4, 36])
    y = graph.matmul(graph.reshape(x, shape=[8, 36]), weights(36, 36))
    y = graph.gelu(graph.reshape(y, shape=[2, 4, 36]), approximate="none")
    y = graph.layer_norm(graph.add(y, steps), weights(36), None, axis=2, epsilon=1e-5)
    return graph.matmul(graph.reshape(y, shape=[8, 36]), weights(36, 5))


def averages(x):
    y = pool(graph.average_pool, conv(x, 4, 4, 3, 3), extra=[0, 0], count_include_pad=True)
    return pool(graph.lp_pool, y, p=2)


@pytest.mark.parametrize(
    ("body", "transposes"),
    [
        (residual, 2),
        (classifier, 1),
        (inception, 2),
        (attention_map, 2),
        (squeeze_excite, 2),
        (patches, 1),
        (slice_and_pad, 2),
        (transposed_convolution, 2),
        (averages, 1),  # the last is 1x1: a reshape
    ],
)
def test_transposes_stand_at_the_borders(body, transposes):
    """One where the input comes in, one where the result leaves, unless both want it there."""
    outcome = rewrite(body, X, passes="graph-convert-layout,cse", tolerance=1e-5)
    assert outcome.ops.get("transpose", 0) == transposes
    assert all(
        op.attrs["layout"] == "channels_last"
        for op in outcome.module.body.operations[0].entry_block.operations
        if "layout" in op.operation.attributes
    )


@pytest.mark.parametrize(
    ("body", "groups"),
    [
        (residual, {"epilogue": 2}),
        (transposed_convolution, {"epilogue": 1}),
        (inception, {"epilogue": 1}),
        (excitation, {"epilogue": 2}),
        (rows, {"epilogue": 1}),
        (squeeze_excite, {}),
    ],
)
def test_epilogues(body, groups):
    outcome = rewrite(
        body, X, passes="graph-convert-layout,cse,graph-fuse-epilogue", tolerance=1e-5
    )
    assert outcome.ops.get("fused", 0) == sum(groups.values())
    assert outcome.counts.get("fuse-epilogue", 0) == groups.get("epilogue", 0)


def test_symbolic_sizes():
    outcome = rewrite(residual, "nx4xhxwxf32", passes=PASSES, tolerance=1e-5)
    assert outcome.counts["fuse-epilogue"] == 2


class Programs:
    """Draws programs: each step applies an op to values that are there already."""

    def __init__(self, data: Any):
        self.data = data

    def __call__(self, *inputs: Any) -> list[Any]:
        values = list(inputs)
        for _ in range(self.data.draw(st.integers(2, 7))):
            step = self.data.draw(st.sampled_from(STEPS))
            values.append(step(self, self.pick(values), values))
        return [values[-1], self.pick(values)]

    def pick(self, values: list[Any]) -> Any:
        return values[self.data.draw(st.integers(0, len(values) - 1))]

    def axis(self, x: Any) -> int:
        return self.data.draw(st.integers(0, graph.type_of(x).rank - 1))

    def perm(self, x: Any) -> list[int]:
        return self.data.draw(st.permutations(range(graph.type_of(x).rank)))


def shape_of(x: Any) -> tuple[Any, ...]:
    return graph.type_of(x).shape


def step_conv(draw: Programs, x: Any, values: list[Any]) -> Any:
    if len(shape_of(x)) != 4:
        return graph.tanh(x)
    return conv(x, 3, shape_of(x)[1], 3, 3)


def step_combine(draw: Programs, x: Any, values: list[Any]) -> Any:
    alike = [value for value in values if shape_of(value) == shape_of(x)]
    return graph.add(x, draw.pick(alike))


def step_concat(draw: Programs, x: Any, values: list[Any]) -> Any:
    alike = [value for value in values if shape_of(value) == shape_of(x)]
    return graph.concat([x, draw.pick(alike)], axis=draw.axis(x))


def step_bias(draw: Programs, x: Any, values: list[Any]) -> Any:
    axis = draw.axis(x)
    shape = [size if i == axis else 1 for i, size in enumerate(shape_of(x))]
    return graph.mul(x, weights(*shape))


def step_reduce(draw: Programs, x: Any, values: list[Any]) -> Any:
    return graph.reduce_max(x, axes=[draw.axis(x)], keepdims=True)


def step_slice(draw: Programs, x: Any, values: list[Any]) -> Any:
    axis, shape = draw.axis(x), shape_of(x)
    starts = [size - 1 if i == axis else 0 for i, size in enumerate(shape)]
    steps = [-1 if i == axis else 1 for i in range(len(shape))]
    return graph.slice_(x, starts=starts, sizes=shape, steps=steps)


def step_pad(draw: Programs, x: Any, values: list[Any]) -> Any:
    axis, rank = draw.axis(x), len(shape_of(x))
    low = [int(i == axis) for i in range(rank)]
    return graph.pad(x, number(2.0, x), low=low, high=[0] * rank)


def step_merge(draw: Programs, x: Any, values: list[Any]) -> Any:
    """Merge two neighbouring axes, or split the last."""
    shape = list(shape_of(x))
    if len(shape) < 3:
        return graph.reshape(x, shape=[*shape, 1])
    axis = draw.data.draw(st.integers(0, len(shape) - 2))
    return graph.reshape(
        x, shape=[*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :]]
    )


def step_split(draw: Programs, x: Any, values: list[Any]) -> Any:
    """Put an axis before all others, or a part of the first one."""
    first, *rest = shape_of(x)
    return graph.reshape(x, shape=[2 - first % 2, first // (2 - first % 2), *rest])


STEPS = (
    step_conv,
    step_combine,
    step_concat,
    step_bias,
    step_reduce,
    step_slice,
    step_pad,
    step_merge,
    step_split,
    lambda draw, x, values: graph.transpose(x, perm=draw.perm(x)),
    lambda draw, x, values: graph.softmax(x, axis=draw.axis(x)),
    lambda draw, x, values: graph.relu(x),
    lambda draw, x, values: graph.reshape(
        graph.relu(step_split(draw, x, values)), shape=shape_of(x)
    ),
)


@settings(max_examples=60, derandomize=True)
@given(st.data())
def test_random_programs(data):
    rewrite(Programs(data), "1x2x3x4xf32", "2x3x3x3xf32", passes=PASSES, tolerance=1e-4)


def test_a_group_waits_for_an_operand_computed_after_the_root():
    def body(x):
        product = graph.matmul(x, weights(4, 4))
        later = graph.softmax(x, axis=1)
        return graph.mul(product, later)

    outcome = rewrite(body, "4x4xf32", passes="graph-fuse-epilogue")
    assert outcome.counts == {"fuse-epilogue": 1}


def test_a_contraction_after_the_root_stays_there():
    def body(x):
        product = graph.matmul(x, weights(4, 4))
        later = graph.reduce_sum(graph.matmul(x, x), axes=[0], keepdims=True)
        return graph.mul(product, later)

    outcome = rewrite(body, "4x4xf32", passes="graph-fuse-epilogue")
    assert outcome.counts == {}


def test_groups_read_no_more_than_they_may():
    def body(*xs):
        total = graph.matmul(xs[0], weights(4, 4))
        for x in xs[1:]:
            total = graph.add(total, x)
        return total

    outcome = rewrite(body, *["4x4xf32"] * 8, passes="graph-fuse-epilogue{max-operands=5}")
    (fused,) = [
        op
        for op in outcome.module.body.operations[0].entry_block.operations
        if op.operation.name == "graph.fused"
    ]
    assert len(fused.captured) == 5
    assert np.prod(outcome.ops["add"]) == 4
