"""Depthwise convolutions with what is before and after them, through the whole pipeline."""

from dataclasses import dataclass, replace

import numpy as np
import onnx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numerics import Const, build_model, evaluate
from onnx import helper
from random_cases import CASES, arrays, sizes

import graphc
from graphc.cpu_model import CpuModel
from graphc.passes.cpu import fused_depthwise
from graphc.passes.pipelines import graph_pipeline
from harness.variation import order_of_calls, with_shape

BATCH = 6
"""Blocks in one model."""
ACTIVATIONS = st.sampled_from(("Relu", "HardSwish", "Sigmoid", None))
TOLERANCE = 1e-5
"""Tolerance relative to the largest element."""


@dataclass
class Block:
    """A depthwise convolution, perhaps a convolution before and a product after it."""

    x: np.ndarray
    first: np.ndarray | None
    depthwise: np.ndarray
    last: np.ndarray | None
    window: dict
    activation: str | None
    residual: bool
    names: tuple[str | None, ...]
    """The names of images, rows and pixels, None for those that are known when compiling."""
    other: tuple[int, ...]
    """Other sizes of `x`, where they have names."""


@st.composite
def _block(draw):
    channels = draw(st.sampled_from((16, 32, 48, 80)))
    kernel = draw(st.sampled_from((3, 5)))
    strides, dilations = [draw(sizes(1, 2)) for _ in range(2)], [draw(sizes(1, 2))] * 2
    pads = [draw(sizes(0, kernel - 1)) for _ in range(4)]
    extents = [(kernel - 1) * d + 1 + draw(sizes(6, 14)) for d in dilations]
    before = draw(st.sampled_from((None, 1, 1, 3)))
    input_channels = channels if before is None else draw(st.sampled_from((16, 24)))
    first = None if before is None else draw(arrays([channels, input_channels, before, before]))
    after = before is None or draw(st.booleans())
    shape = [draw(sizes(1, 2)), input_channels, *extents]
    names = [draw(st.sampled_from((None, axis))) for axis in "nhw"]
    others = [draw(sizes(1, 5)), *(extent + draw(sizes(-4, 40)) for extent in extents)]
    kept = [shape[0], *extents]
    changed = [o if name else size for o, name, size in zip(others, names, kept, strict=True)]
    last = draw(arrays([draw(st.sampled_from((16, 24, 40))), channels, 1, 1])) if after else None
    return Block(
        draw(arrays(shape)),
        first, draw(arrays([channels, 1, kernel, kernel])), last,
        {"strides": strides, "dilations": dilations, "pads": pads, "group": channels},
        draw(ACTIVATIONS), draw(st.booleans()), tuple(names),
        (changed[0], input_channels, *changed[1:]),
    )  # fmt: skip


class _Builder:
    """A model of blocks side by side, in one element type."""

    def __init__(self, dtype: type):
        self.dtype, self.nodes = dtype, []
        self.inputs, self.weights, self.feeds, self.outputs = {}, {}, {}, []

    def add(self, block: Block) -> None:
        number = len(self.outputs)
        value = f"x{number}"
        images, rows, pixels = (f"{name}{number}" if name else None for name in block.names)
        named = zip((images, None, rows, pixels), block.x.shape, strict=True)
        self.inputs[value] = self.dtype, [name or size for name, size in named]
        self.feeds[value] = block.x.astype(self.dtype)
        if block.first is not None:
            pad = block.first.shape[-1] // 2
            value = self.conv(value, block.first, pads=[pad] * 4)
            value = self.apply(block.activation, value)
        value = self.apply(block.activation, self.conv(value, block.depthwise, **block.window))
        if block.last is not None:
            value = self.conv(value, block.last)
            if block.residual:
                value = self.apply("Add", value, value)
        self.outputs.append(self.apply("Identity", value))

    def conv(self, x: str, w: np.ndarray, **attributes: object) -> str:
        name = f"w{len(self.nodes)}"
        scale = 3 * np.sqrt(w.size / w.shape[0])
        self.weights[name] = Const((w / scale).astype(np.float32).astype(self.dtype))
        bias = np.linspace(-1, 1, len(w), dtype=np.float32).astype(self.dtype)
        self.weights[f"b{name}"] = Const(bias)
        return self.apply("Conv", x, name, f"b{name}", **attributes)

    def apply(self, op_type: str | None, *operands: str, **attributes: object) -> str:
        if op_type is None:
            return operands[0]
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, operands, [result], **attributes))
        return result

    def build(self) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
        model = build_model(self.nodes, self.inputs, self.outputs, self.weights, opset=22)
        return model, self.feeds


def _model(blocks: list[Block], dtype: type) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    builder = _Builder(dtype)
    for block in blocks:
        builder.add(block)
    return builder.build()


@settings(
    max_examples=-(-CASES // BATCH // 2),
    deadline=None,
    derandomize=CASES <= 2 * BATCH,
    database=None,
    phases=[Phase.generate],
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.lists(_block(), min_size=BATCH, max_size=BATCH),
    st.sampled_from((128, 256, 512)),
    st.integers(1, 5),
    st.sampled_from((1 << 14, 1 << 16, 1 << 20)),
)
def test_row_tiles(record_property, blocks, vector_bits, threads, scratch):
    """Against float64, in numpy, with two values of each input, of other sizes where these have
    names. Row tiles are taken wherever they can be."""
    record_property("blocks in row tiles", len(blocks))
    record_property("with named rows or pixels", sum(any(each.names[1:]) for each in blocks))
    random = np.random.default_rng(0)
    others = [replace(each, x=with_shape(each.x, each.other, random)) for each in blocks]
    everything = [blocks, others]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fused_depthwise, "MAX_COST", np.inf)
        patch.setattr(fused_depthwise, "SCRATCH_SHARE", scratch / CpuModel().l2_bytes)
        model, _ = _model(blocks, np.float32)
        pipeline = graph_pipeline("cpu", CpuModel(vector_bits), threads=threads)
        with graphc.compile(model, pipeline=pipeline, threads=2) as compiled:
            calls = [
                (number, compiled.run(None, _model(everything[number], np.float32)[1]))
                for number in order_of_calls(len(everything))
            ]
    truths = [evaluate(*_model(each, np.float64)) for each in everything]
    for number, results in calls:
        how = f"with {vector_bits} bits, {threads} threads, {scratch}, inputs {number}"
        check(everything[number], results, truths[number], how)


def check(
    blocks: list[Block], results: list[np.ndarray], truths: list[np.ndarray], how: str
) -> None:
    for block, result, truth in zip(blocks, results, truths, strict=True):
        largest = max(np.abs(truth).max(initial=0), 1)
        difference = np.abs(result - truth).max(initial=0)
        where = f"{difference:.1e} of {largest:.1e} {how}: {block.x.shape}, {block.window}"
        assert difference <= TOLERANCE * largest, where
