"""Tables of 256 bytes in place of activations between dequantization and quantization."""

import itertools

import numpy as np
import onnxruntime
import pytest
from node_list import NodeList
from numerics import build_model
from onnx import helper

import graphc
from graphc.compiler.driver import make_options, to_module
from graphc.runtime.targets import cpu_features

UNITS = {"avx2": ("avx2", 256), "avx512bw": ("avx512bw", 512)}
"""The feature of the CPU and the bits of vectors, by unit."""
PIPELINE = (
    "graph-simplify,graph-recognize,cpu-byte-tables{{unit={0}}},cpu-integer-contractions{{unit={1}}},"
    "graph-convert-layout,graph-simplify,graph-fold-constants,canonicalize,cse,"
    "cpu-select-int8-kernels{{vector-bits={2} unit={1}}},graph-direct-conv{{vector-bits={2}}},"
    "cpu-select-matmul-kernels{{vector-bits={2}}},graph-fuse-epilogue,canonicalize"
)
ACTIVATIONS = {
    "Sigmoid": {}, "HardSwish": {}, "LeakyRelu": {"alpha": 0.1}, "Tanh": {}, "Gelu": {},
    "Elu": {"alpha": 0.7}, "Relu": {}, "HardSigmoid": {"alpha": 0.3}, "Mish": {}, "Exp": {},
    "Reciprocal": {}, "Neg": {}, "Swish": {},
}  # fmt: skip


@pytest.fixture(params=list(UNITS))
def unit(request):
    if UNITS[request.param][0] not in cpu_features.host_features():
        pytest.skip(f"this CPU lacks {request.param}")
    return request.param


def pipeline_of(unit: str) -> str:
    multiplies = cpu_features.int8_unit("host").replace("amx", "avx512vnni")
    return PIPELINE.format(unit, multiplies, UNITS[unit][1])


class _Net(NodeList):
    """Nodes between quantizations, as a QDQ model has them."""

    def dequantize(self, x: str, scale: float, zero: np.generic) -> str:
        parameters = [self.constant(np.float32(scale)), self.constant(zero)]
        return self.node("DequantizeLinear", [x, *parameters])

    def quantize(self, x: str, scale: float, zero: np.generic) -> str:
        parameters = [self.constant(np.float32(scale)), self.constant(zero)]
        return self.node("QuantizeLinear", [x, *parameters])

    def swish(self, x: str) -> str:
        """``x * sigmoid(x)``, whose parts are quantized, as ONNX Runtime's quantizer has it."""
        zero = np.uint8(0)
        s = self.quantize(self.node("Sigmoid", [x]), 1 / 256, zero)
        return self.node("Mul", [x, self.dequantize(s, 1 / 256, zero)])

    def model(self, inputs, outputs):
        model = build_model(self.nodes, inputs, outputs, self.constants, opset=22)
        made = {node.output[0]: node for node in self.nodes}
        for output in model.graph.output:
            dtype = self.constants[made[output.name].input[2]].dtype
            output.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(dtype)
        return model


def _plain(model, feeds):
    """The results of ONNX Runtime, node by node."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, feeds)


@pytest.mark.parametrize("precision", ["f32", "strict"])
def test_every_byte(precision):
    """The default pipelines, on all bytes: what ONNX Runtime gives."""
    net, outputs = _Net(), []
    pairs = itertools.cycle(itertools.product((np.uint8, np.int8), repeat=2))
    for (given, wanted), (op_type, attrs) in zip(pairs, ACTIVATIONS.items(), strict=False):
        x = net.dequantize(f"x_{np.dtype(given)}", 0.037, given(100))
        y = net.swish(x) if op_type == "Swish" else net.node(op_type, [x], **attrs)
        outputs.append(net.quantize(y, 0.021, wanted(np.iinfo(wanted).max // 2)))
    bytes_ = np.arange(256, dtype=np.uint8)
    feeds = {"x_uint8": bytes_, "x_int8": bytes_.view(np.int8)}
    model = net.model({name: (x.dtype, ("n",)) for name, x in feeds.items()}, outputs)
    compiled = graphc.compile(model, threads=1, precision=precision)
    assert compiled.report.rewrites["byte-table"].count >= len(outputs)
    for ours, theirs in zip(compiled.run(None, feeds), _plain(model, feeds), strict=True):
        np.testing.assert_array_equal(ours, theirs)


SIZES = [(1, 16, 8), (5, 20, 136), (17, 8, 33)]
"""Rows, K, columns: few and many vectors in a register tile, and parts of one."""


def test_epilogues(unit):
    """Powers of two, with which the sums and their quantization are exact."""
    random, net = np.random.default_rng(0), _Net()
    inputs, feeds, outputs = {}, {}, []
    for number, (rows, k, columns) in enumerate(SIZES):
        for kind in ("int8", "f32"):
            name = f"x{number}_{kind}"
            shape = (1, k, rows, 7) if number % 2 else (rows, k)
            feeds[name] = random.integers(0, 256, shape, np.uint8)
            inputs[name] = (np.uint8, shape)
            w = random.integers(-127, 128, (columns, k, 1, 1) if number % 2 else (k, columns))
            x = net.dequantize(name, 2**-5, np.uint8(120))
            if kind == "int8":
                weights = net.dequantize(net.constant(w.astype(np.int8)), 2**-7, np.int8(0))
            else:
                weights = net.constant(w.astype(np.float32) * np.float32(2**-7))
            y = net.node("Conv" if number % 2 else "MatMul", [x, weights])
            y = net.dequantize(net.quantize(y, 0.25, np.uint8(115)), 0.25, np.uint8(115))
            y = net.node("LeakyRelu", [y], alpha=0.3) if number == 2 else net.swish(y)
            outputs.append(net.quantize(y, 0.11, np.uint8(7)))
    model = net.model(inputs, outputs)
    compiled = graphc.compile(model, pipeline=pipeline_of(unit), threads=1)
    assert compiled.report.rewrites["fuse-epilogue"].count == len(outputs)
    for ours, theirs in zip(compiled.run(None, feeds), _plain(model, feeds), strict=True):
        assert len(np.unique(theirs)) > min(20, theirs.size // 2)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("cpu", ["haswell", "cascadelake"])
def test_other_cpus(cpu):
    """Code for CPUs that this one is not. An i8 activation becomes u8 in the table."""
    net = _Net()
    x = net.dequantize("x", 0.05, np.int8(0))
    x = net.dequantize(net.quantize(net.swish(x), 0.05, np.int8(-9)), 0.05, np.int8(-9))
    w = net.dequantize(net.constant(np.ones((16, 24), np.int8)), 0.01, np.int8(0))
    y = net.dequantize(net.quantize(net.node("MatMul", [x, w]), 0.1, np.int8(3)), 0.1, np.int8(3))
    model = net.model({"x": (np.int8, (4, 16))}, [net.quantize(net.swish(y), 0.07, np.int8(5))])
    _, report = to_module(model, make_options(f"cpu:{cpu}", threads=1))
    assert report.rewrites["pack-int8-matmul"].count == 1
    assert report.rewrites["byte-table"].count == 4
