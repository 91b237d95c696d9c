"""Whole models, small: the default pipeline, against ONNX Runtime, and which rewrites fired.

The transformers in ``exported/`` are BERT and GPT-2 with two narrow layers, as PyTorch's exporters
write them: ``python -m graphc.benchmarks.models bert-tiny gpt2-tiny [--exporter dynamo]``.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from graphc.benchmarks.light import light_model
from graphc.benchmarks.measure import largest_difference
from graphc.compiler.driver import begin, main_function, make_options
from graphc.dialects.graph.interpreter import evaluate_function
from graphc.runtime import Target

EXPORTED = Path(__file__).parent / "exported"
TOLERANCE = 1e-4
Feed = Mapping[str, np.ndarray]


FEW_BITS = 2e-2
"""The same where floats of 16 bits are computed with."""


def compare(
    model: onnx.ModelProto,
    feeds: list[Feed],
    target: str | Target = "cpu",
    precision: str = "f32",
    *,
    check_rewrites: bool = True,
) -> Mapping[str, int]:
    """Check one compilation of `model` on all `feeds`; how often each rewrite fired."""
    tolerance = TOLERANCE if precision == "f32" else FEW_BITS
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    made = graphc.compile(
        model, target, threads=2, precision=precision, check_rewrites=check_rewrites
    )
    with closing(made) as compiled:
        for feed in feeds:
            expected = session.run(None, dict(feed))
            for result, reference in zip(compiled.run(None, dict(feed)), expected, strict=True):
                assert largest_difference(result, reference) <= tolerance
        rewrites = compiled.report.rewrites
    return {name: statistics.count for name, statistics in rewrites.items() if statistics.count}


class Network:
    """A chain of layers with random weights, channels first."""

    def __init__(self):
        self.rng = np.random.default_rng(0)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def node(self, op_type: str, *inputs: str, **attributes) -> str:
        result = f"{op_type.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [result], name=result, **attributes))
        return result

    def weight(self, *shape: int, low: float = -1.0, high: float = 1.0) -> str:
        name = f"w{len(self.weights)}"
        values = self.rng.uniform(low, high, shape).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, x: str, inputs: int, outputs: int, kernel: int, **attributes) -> str:
        """A convolution that keeps the size, and a batch normalisation."""
        group = attributes.get("group", 1)
        scale = (3 * group / inputs) ** 0.5 / kernel
        w = self.weight(outputs, inputs // group, kernel, kernel, low=-scale, high=scale)
        pads = [kernel // 2] * 4
        x = self.node("Conv", x, w, pads=pads, kernel_shape=[kernel] * 2, **attributes)
        scale_and_shift = [self.weight(outputs, low=0.5), self.weight(outputs)]
        moments = [self.weight(outputs), self.weight(outputs, low=0.5)]
        return self.node("BatchNormalization", x, *scale_and_shift, *moments)

    def excited(self, x: str, channels: int) -> str:
        """Squeeze and excitation."""
        y = self.node("GlobalAveragePool", x)
        y = self.node("Relu", self.node("Conv", y, self.weight(4, channels, 1, 1)))
        y = self.node("Sigmoid", self.node("Conv", y, self.weight(channels, 4, 1, 1)))
        return self.node("Mul", x, y)

    def model(self, output: str, shape: list[int | str]) -> onnx.ModelProto:
        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
        outputs = [onnx.ValueInfoProto(name=output)]
        proto = helper.make_graph(self.nodes, "network", inputs, outputs, self.weights)
        opset = [helper.make_opsetid("", 17)]
        return helper.make_model(proto, opset_imports=opset, ir_version=10)


def small_cnn() -> onnx.ModelProto:
    net = Network()
    x = net.node("Relu", net.conv("x", 3, 16, 3, strides=[2, 2]))
    x = net.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = net.node("LRN", x, size=5)
    y = net.node("HardSwish", net.conv(x, 16, 32, 1))
    y = net.node("HardSwish", net.conv(y, 32, 32, 5, group=32))
    y = net.conv(net.excited(y, 32), 32, 16, 1)
    x = net.node("Add", x, y)
    x = net.node("AveragePool", net.node("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    x = net.node("Flatten", net.node("GlobalAveragePool", x))
    x = net.node("Gemm", x, net.weight(10, 16), net.weight(10), transB=1)
    return net.model(net.node("Softmax", x, axis=1), ["batch", 3, 33, 47])


def test_small_cnn():
    rng = np.random.default_rng(1)
    images = [rng.standard_normal((batch, 3, 33, 47), np.float32) for batch in (1, 3)]
    fired = compare(small_cnn(), [{"x": image} for image in images])
    assert fired["batch-norm-into-weights"] == 4
    assert fired["conv-channels-last"] == 6  # those of squeeze and excitation included
    assert fired["pool-channels-last"] == 2
    assert fired["fuse-epilogue"] >= 4


def test_squeezenet():
    model = light_model("light_squeezenet")
    image = np.random.default_rng(2).standard_normal((1, 3, 224, 224), np.float32)
    fired = compare(model, [{"data_0": image}], check_rewrites=False)  # large for numpy
    assert fired["conv-channels-last"] == 26
    assert fired["fuse-epilogue"] == 26


def prompts(names: list[str], sizes: list[tuple[int, int]]) -> list[Feed]:
    """Token ids, and masks that hide the end of every other prompt."""
    rng = np.random.default_rng(3)
    feeds = []
    for batch, length in sizes:
        mask = np.ones((batch, length), np.int64)
        mask[::2, length // 2 + 1 :] = 0
        ids = rng.integers(40, size=(batch, length))
        known = {"input_ids": ids, "attention_mask": mask, "token_type_ids": ids % 2}
        feeds.append({name: known[name] for name in names})
    return feeds


def exported(name: str) -> tuple[onnx.ModelProto, list[Feed]]:
    model = onnx.load(EXPORTED / f"{name}.onnx")
    names = [info.name for info in model.graph.input]
    return model, prompts(names, [(1, 128), (3, 17), (2, 1)])


def test_encoder_of_any_batch_and_length():
    fired = compare(*exported("bert-tiny"))
    assert fired["recognize-attention"] == 2
    assert fired["recognize-gelu"] == 2
    assert fired["merge-matmuls"] == 2
    assert fired["attention-of-expanded-mask"] == 2


def test_decoder_of_any_batch_and_length():
    fired = compare(*exported("gpt2-tiny-dynamo"))
    assert fired["recognize-attention"] == 2
    assert fired["fuse-epilogue"] == 8


@pytest.mark.parametrize(
    ("name", "ordered"),
    [
        ("bert-tiny", "gather-in-order"),
        ("bert-tiny-dynamo", "gather-nd-in-order"),
        ("gpt2-tiny", "gather-in-order"),
        ("gpt2-tiny-dynamo", "gather-nd-in-order"),
    ],
)
def test_both_exporters_come_to_the_same(name, ordered):
    """The rewritten graphs, interpreted: no backend, so that all can be tried."""
    model, feeds = exported(name)
    compilation = begin(model, make_options("cpu"))
    compilation.graph_passes()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for feed in feeds:
        with compilation.module.context:
            results = evaluate_function(main_function(compilation.module), list(feed.values()))
        for result, reference in zip(results, session.run(None, dict(feed)), strict=True):
            assert largest_difference(result, reference) <= TOLERANCE
    assert compilation.report.statistics("recognize-attention").count == 2
    assert compilation.report.statistics(ordered).count == 1
