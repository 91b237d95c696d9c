"""Convolutions, products and attention through the whole pipeline, around the widths of vectors."""

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
from graphc.passes.cpu import winograd
from graphc.passes.pipelines import graph_pipeline
from harness.variation import order_of_calls, other_values, with_shape

BATCH = 12
"""Chains of nodes in one model."""
WIDTHS = st.sampled_from((1, 3, 4, 8, 15, 16, 17, 24, 31, 32, 33, 48, 64, 65, 80))
ACTIVATIONS = st.sampled_from(("Relu", "Sigmoid", "Tanh", "HardSwish", "Elu", None))
TOLERANCE = 1e-5
"""Tolerance relative to the largest element of a convolution or matmul, as Winograd's algorithm
needs it."""


@dataclass
class Chain:
    """A matmul or convolution, with an optional bias, residual and activation."""

    op_type: str
    x: np.ndarray
    w: np.ndarray
    attributes: dict
    residual: bool
    activation: str | None
    named: tuple[int, ...] = ()
    """The axes of `x` whose sizes are known only at run time."""

    def dims(self, name: str) -> list[int | str]:
        """The dimensions of `x` in the model; names begin with `name`."""
        sizes = enumerate(self.x.shape)
        return [f"{name}_{axis}" if axis in self.named else size for axis, size in sizes]

    def longer(self) -> list[int]:
        """The shape of `x`, with larger sizes where they are known only at run time."""
        return [size + 5 * (axis in self.named) for axis, size in enumerate(self.x.shape)]

    def tolerance(self, product: np.ndarray) -> float:
        """Allowed difference of the result from the truth, for the true `product`.

        The residual squares the product and adds it, which amplifies differences; activations
        hardly do.
        """
        largest = max(np.abs(product).max(initial=0), 1)
        return TOLERANCE * largest * (1 + 2 * largest if self.residual else 1)


@st.composite
def _matmul(draw):
    counted = draw(st.booleans())
    rows, k, columns = draw(sizes(1 - counted, 70)), draw(sizes(1, 300)), draw(WIDTHS)
    lead = draw(st.sampled_from(([], [1], [2])))
    x, w = draw(arrays([*lead, rows, k])), draw(arrays([k, columns]))
    named = (x.ndim - 2,) if counted else ()
    return Chain("MatMul", x, w, {}, draw(st.booleans()), draw(ACTIVATIONS), named)


@st.composite
def _conv(draw):
    rank = draw(st.sampled_from((1, 2, 2, 2)))
    kind = draw(st.sampled_from(("dense", "dense", "three", "depthwise", "grouped")))
    features, channels, groups = draw(WIDTHS), draw(WIDTHS), 1
    if kind == "depthwise":
        channels = groups = features
    elif kind == "grouped":
        groups = draw(st.sampled_from((2, 4)))
        features, channels = features * groups, draw(sizes(1, 9)) * groups
    plain = kind == "three"
    kernel = [3 if plain else draw(st.sampled_from((1, 2, 3, 5))) for _ in range(rank)]
    strides = [1 if plain else draw(sizes(1, 2)) for _ in range(rank)]
    dilations = [1 if plain else draw(sizes(1, 2)) for _ in range(rank)]
    extents = [(k - 1) * d + 1 + draw(sizes(0, 16)) for k, d in zip(kernel, dilations, strict=True)]
    pads = [draw(sizes(0, k - 1)) for k in kernel * 2]
    x = draw(arrays([draw(sizes(1, 2)), channels, *extents]))
    w = draw(arrays([features, channels // groups, *kernel]))
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "group": groups}
    axes = (0, *range(2, rank + 2))
    named = draw(st.sampled_from(((), (0,), axes, axes[1:], axes[-1:])))
    return Chain("Conv", x, w, attributes, draw(st.booleans()), draw(ACTIVATIONS), named)


def _model(
    chains: list[Chain], dtype: type, kinds: str = "y"
) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """The chains side by side; `kinds` of outputs: results (y), products with their bias (p)."""
    nodes, inputs, weights, feeds = [], {}, {}, {}
    for i, chain in enumerate(chains):
        scale = np.sqrt(chain.w.size / chain.w.shape[0 if chain.op_type == "Conv" else -1]) * 3
        features = chain.w.shape[0] if chain.op_type == "Conv" else chain.w.shape[1]
        weights[f"w{i}"] = Const((chain.w / scale).astype(np.float32).astype(dtype))
        weights[f"b{i}"] = Const(np.linspace(-1, 1, features, dtype=np.float32).astype(dtype))
        feeds[f"x{i}"] = chain.x.astype(dtype)
        last = f"p{i}"
        if chain.op_type == "Conv":
            operands = [f"x{i}", f"w{i}", f"b{i}"]
            nodes.append(helper.make_node("Conv", operands, [last], **chain.attributes))
        else:
            nodes.append(helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]))
            nodes.append(helper.make_node("Add", [f"m{i}", f"b{i}"], [last]))
        if chain.residual:
            nodes.append(helper.make_node("Mul", [last, last], [f"s{i}"]))
            nodes.append(helper.make_node("Add", [f"s{i}", last], [f"r{i}"]))
            last = f"r{i}"
        nodes.append(helper.make_node(chain.activation or "Identity", [last], [f"y{i}"]))
        inputs[f"x{i}"] = dtype, chain.dims(f"n{i}")
    outputs = [f"{kind}{i}" for kind in kinds for i in range(len(chains))]
    return build_model(nodes, inputs, outputs, weights, opset=22), feeds


@settings(
    max_examples=-(-CASES // BATCH),
    deadline=None,
    derandomize=CASES <= 2 * BATCH,
    database=None,
    phases=[Phase.generate],
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.lists(st.one_of(_matmul(), _conv(), _conv()), min_size=BATCH, max_size=BATCH),
    st.sampled_from((128, 256, 512)),
    st.sampled_from(("f32", "strict")),
)
def test_kernels(record_property, chains, vector_bits, precision):
    """Against float64, in numpy. Winograd's algorithm is taken wherever it can be. Each model is
    called with other values, too, and with sizes that it did not have before."""
    record_property("chains of kernels", len(chains))
    everything = [chains, *others(chains)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(winograd, "GAIN", 0)
        model, _ = _model(chains, np.float32)
        pipeline = graph_pipeline("cpu", CpuModel(vector_bits), precision)
        with graphc.compile(model, pipeline=pipeline, threads=1) as compiled:
            calls = [
                (number, compiled.run(None, _model(everything[number], np.float32)[1]))
                for number in order_of_calls(len(everything))
            ]
    truths = [evaluate(*_model(each, np.float64, "yp")) for each in everything]
    for number, results in calls:
        how = f"with {vector_bits} bits, {precision}, inputs {number}"
        check(everything[number], results, truths[number], how)


def others(chains: list[Chain]) -> list[list[Chain]]:
    """The chains on other values, and on larger images or more rows where sizes are named."""
    random = np.random.default_rng(0)
    return [
        [replace(chain, x=other_values(chain.x, random)) for chain in chains],
        [replace(chain, x=with_shape(chain.x, chain.longer(), random)) for chain in chains],
    ]


def check(
    chains: list[Chain], results: list[np.ndarray], evaluated: list[np.ndarray], how: str
) -> None:
    truths, products = evaluated[: len(chains)], evaluated[len(chains) :]
    for chain, result, truth, product in zip(chains, results, truths, products, strict=True):
        largest = np.abs(truth).max(initial=0)
        difference = np.abs(result - truth).max(initial=0)
        where = f"{difference:.1e} of {largest:.1e} {how}: "
        where += f"{chain.op_type} {chain.attributes}, {chain.x.shape} by {chain.w.shape}, "
        where += f"{chain.residual}, {chain.activation}"
        assert difference <= chain.tolerance(product), where
