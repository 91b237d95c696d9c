"""Cases of `graphc.benchmarks.families`: one or a few operators, and their inputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class FamilyCase:
    """One case: nodes from inputs to the output ``y``."""

    family: str
    name: str
    nodes: Sequence[onnx.NodeProto]
    inputs: Callable[[np.random.Generator], Inputs]
    weights: Callable[[np.random.Generator], Inputs] = lambda generator: {}
    opset: int = 21
    output_type: int = onnx.TensorProto.FLOAT
    note: str = ""
    """Explanation for a slow case."""
    dims: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    """Shapes of inputs with named sizes."""

    def feed(self) -> Inputs:
        """The inputs, deterministic."""
        return self.inputs(np.random.default_rng(0))

    def model(self) -> onnx.ModelProto:
        """The ONNX model of the case."""
        inputs = [
            helper.make_tensor_value_info(
                name,
                helper.np_dtype_to_tensor_dtype(array.dtype),
                self.dims.get(name, array.shape),
            )
            for name, array in self.feed().items()
        ]
        weights = self.weights(np.random.default_rng(1))
        graph = helper.make_graph(
            list(self.nodes),
            self.name,
            inputs,
            [helper.make_tensor_value_info("y", self.output_type, None)],
            [numpy_helper.from_array(array, name) for name, array in weights.items()],
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _floats(
    spread: float = 1.0, **shapes: Sequence[int]
) -> Callable[[np.random.Generator], Inputs]:
    def draw(generator: np.random.Generator) -> Inputs:
        return {
            name: np.float32(spread) * generator.standard_normal(shape, np.float32)
            for name, shape in shapes.items()
        }

    return draw


def _known(**values: Any) -> Callable[[np.random.Generator], Inputs]:
    return lambda generator: {name: np.asarray(value) for name, value in values.items()}


def _both(*parts: Callable[[np.random.Generator], Inputs]) -> Callable[..., Inputs]:
    def draw(generator: np.random.Generator) -> Inputs:
        return {name: array for part in parts for name, array in part(generator).items()}

    return draw


def _integers(low: int, high: int, dtype: Any = np.int64, **shapes: Sequence[int]):
    def draw(generator: np.random.Generator) -> Inputs:
        return {
            name: generator.integers(low, high, shape).astype(dtype)
            for name, shape in shapes.items()
        }

    return draw


def _regions(count: int, size: int) -> Callable[[np.random.Generator], Inputs]:
    """Corners of `count` regions of an image of `size` by `size` pixels."""

    def draw(generator: np.random.Generator) -> Inputs:
        starts = generator.uniform(0, size / 2, (count, 2))
        ends = starts + generator.uniform(size / 8, size / 2, (count, 2))
        return {"r": np.concatenate([starts, ends], axis=1).astype(np.float32)}

    return draw


def _boxes(count: int) -> Callable[[np.random.Generator], Inputs]:
    """Corners of `count` boxes in a batch of one."""

    def draw(generator: np.random.Generator) -> Inputs:
        starts = generator.uniform(0, 500, (1, count, 2))
        ends = starts + generator.uniform(10, 100, (1, count, 2))
        return {"r": np.concatenate([starts, ends], axis=-1).astype(np.float32)}

    return draw


def _scores(count: int) -> Callable[[np.random.Generator], Inputs]:
    return lambda generator: {"s": generator.random((1, 1, count), np.float32)}


def _node(op_type: str, inputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node from `inputs`, separated by spaces (``-`` for an omitted one), to ``y``."""
    names = ["" if name == "-" else name for name in inputs.split()]
    return helper.make_node(op_type, names, ["y"], **attributes)


def _case(family: str, name: str, node: onnx.NodeProto, inputs: Any, **more: Any) -> FamilyCase:
    return FamilyCase(family, name, [node], inputs, **more)


IMAGE = _floats(x=(1, 64, 56, 56))
TOKENS = _floats(x=(4, 128, 768))
INT64 = onnx.TensorProto.INT64

CASES: tuple[FamilyCase, ...] = (
    _case("elementwise", "erf", _node("Erf", "x"), TOKENS),
    _case("elementwise", "tanh", _node("Tanh", "x"), TOKENS),
    _case("elementwise", "sin", _node("Sin", "x"), TOKENS),
    _case("elementwise", "pow", _node("Pow", "x b"), TOKENS, weights=_known(b=np.float32(3))),
    _case("elementwise", "add-bias", _node("Add", "x b"), TOKENS, weights=_floats(b=(768,))),
    _case("elementwise", "add-channels", _node("Add", "x b"), IMAGE, weights=_floats(b=(64, 1, 1))),
    _case("elementwise", "where", _node("Where", "c x b"),
          _both(TOKENS, _integers(0, 2, bool, c=(4, 128, 768))), weights=_known(b=np.float32(0))),
    _case("elementwise", "cast", _node("Cast", "x", to=INT64), TOKENS, output_type=INT64),
    _case("reduction", "sum-last", _node("ReduceSum", "x a"), TOKENS, weights=_known(a=[2])),
    _case("reduction", "mean-first", _node("ReduceMean", "x a"), TOKENS, weights=_known(a=[0, 1])),
    _case("reduction", "max-middle", _node("ReduceMax", "x a"), TOKENS, weights=_known(a=[1])),
    _case("reduction", "argmax", _node("ArgMax", "x", axis=-1), TOKENS, output_type=INT64),
    _case("reduction", "cumsum", _node("CumSum", "x a"), TOKENS, weights=_known(a=1),
          note="the backend adds one element at a time, through tiles on its stack"),
    _case("normalization", "softmax", _node("Softmax", "x", axis=-1), _floats(x=(12, 128, 128))),
    _case("normalization", "softmax-odd", _node("Softmax", "x", axis=-1),
          _floats(x=(12, 197, 197))),
    _case("normalization", "log-softmax", _node("LogSoftmax", "x", axis=-1),
          _floats(x=(64, 30522))),
    _case("normalization", "hardmax", _node("Hardmax", "x", axis=-1), _floats(x=(64, 1000))),
    _case("normalization", "layer-norm", _node("LayerNormalization", "x g b", axis=-1), TOKENS,
          weights=_floats(g=(768,), b=(768,))),
    _case("normalization", "rms-norm", _node("RMSNormalization", "x g", axis=-1), TOKENS,
          weights=_floats(g=(768,)), opset=23),
    _case("normalization", "instance-norm", _node("InstanceNormalization", "x g b"), IMAGE,
          weights=_floats(g=(64,), b=(64,))),
    _case("normalization", "group-norm", _node("GroupNormalization", "x g b", num_groups=8), IMAGE,
          weights=_floats(g=(64,), b=(64,))),
    _case("normalization", "lrn", _node("LRN", "x", size=5), IMAGE),
    _case("movement", "transpose-heads", _node("Transpose", "x", perm=[0, 2, 1, 3]),
          _floats(x=(4, 128, 12, 64))),
    _case("movement", "transpose-matrix", _node("Transpose", "x", perm=[1, 0]),
          _floats(x=(1024, 1024))),
    _case("movement", "transpose-planes", _node("Transpose", "x", perm=[1, 0]),
          _floats(x=(24, 176640))),
    _case("movement", "concat", _node("Concat", "x x", axis=1), IMAGE),
    _case("movement", "slice", _node("Slice", "x s e a t"), IMAGE,
          weights=_known(s=[0, 1], e=[56, 55], a=[2, 3], t=[2, 2])),
    _case("movement", "pad-reflect", _node("Pad", "x p", mode="reflect"), IMAGE,
          weights=_known(p=[0, 0, 3, 3, 0, 0, 3, 3])),
    _case("movement", "pad-reflect-named", _node("Pad", "x p", mode="reflect"), IMAGE,
          weights=_known(p=[0, 0, 3, 3, 0, 0, 3, 3]), dims={"x": ["n", 64, "h", "w"]}),
    _case("movement", "pad-edge", _node("Pad", "x p", mode="edge"), IMAGE,
          weights=_known(p=[0, 0, 3, 3, 0, 0, 3, 3])),
    FamilyCase("movement", "split", [helper.make_node("Split", ["x"], ["y", "z"], axis=1,
                                                      num_outputs=2)], IMAGE),
    _case("movement", "col2im", _node("Col2Im", "x i b"), _floats(x=(1, 576, 3136)),
          weights=_known(i=[58, 58], b=[3, 3])),
    _case("movement", "tile", _node("Tile", "x r"), IMAGE, weights=_known(r=[1, 2, 1, 2])),
    _case("movement", "expand", _node("Expand", "x s"), _floats(x=(4, 1, 768)),
          weights=_known(s=[4, 128, 768])),
    _case("indexing", "gather-rows", _node("Gather", "w i"), _integers(0, 30522, i=(4, 128)),
          weights=_floats(w=(30522, 768))),
    _case("indexing", "gather-elements", _node("GatherElements", "x i", axis=2),
          _both(TOKENS, _integers(0, 768, i=(4, 128, 64)))),
    _case("indexing", "scatter-nd", _node("ScatterND", "x i u"),
          _both(_floats(x=(1024, 256), u=(512, 256)), _integers(0, 1024, i=(512, 1)))),
    _case("indexing", "one-hot", _node("OneHot", "i d v"), _integers(0, 1000, i=(4, 128)),
          weights=_known(d=np.int64(1000), v=np.float32([0, 1]))),
    FamilyCase("indexing", "top-k", [helper.make_node("TopK", ["x", "k"], ["y", "i"])],
               _floats(x=(64, 1000)), _known(k=[5])),
    FamilyCase("indexing", "top-k-million", [helper.make_node("TopK", ["x", "k"], ["y", "i"])],
               _floats(x=(1_000_000,)), _known(k=[100])),
    FamilyCase("indexing", "top-k-boxes", [helper.make_node("TopK", ["x", "k"], ["y", "i"])],
               _floats(x=(1, 8400)), _known(k=[300])),
    FamilyCase("indexing", "top-k-tokens", [helper.make_node("TopK", ["x", "k"], ["y", "i"])],
               _floats(x=(1, 50257)), _known(k=[5])),
    _case("indexing", "compress", _node("Compress", "x c", axis=1),
          _both(TOKENS, _integers(0, 2, bool, c=(128,)))),
    _case("indexing", "reverse-sequence", _node("ReverseSequence", "x l"),
          _both(_floats(x=(128, 4, 768)), _known(l=np.int64([128, 100, 70, 3])))),
    _case("indexing", "eye-like", _node("EyeLike", "x"), _floats(x=(1000, 1000)),
          dims={"x": ["n", "m"]}),
    _case("indexing", "trilu", _node("Trilu", "x"), _floats(x=(1000, 1000))),
    _case("indexing", "nonzero", _node("NonZero", "x"), _integers(0, 2, x=(128, 768)),
          output_type=INT64),
    _case("contraction", "matmul", _node("MatMul", "x w"), TOKENS, weights=_floats(w=(768, 768))),
    _case("contraction", "matmul-batch", _node("MatMul", "x z"),
          _floats(x=(12, 128, 64), z=(12, 64, 128))),
    _case("contraction", "vector-matrix", _node("MatMul", "x w"), _floats(x=(1, 768)),
          weights=_floats(w=(768, 3072))),
    _case("contraction", "matmul-inputs", _node("MatMul", "x z"),
          _floats(x=(128, 768), z=(768, 768)), dims={"x": ["n", 768]}),
    _case("contraction", "vector-matrix-input", _node("MatMul", "x z"),
          _floats(x=(1, 768), z=(768, 3072)), dims={"x": ["n", 768]}),
    _case("contraction", "vector-matrix-transposed", _node("Gemm", "x z", transB=1),
          _floats(x=(1, 768), z=(3072, 768)), dims={"x": ["n", 768]}),
    _case("contraction", "matrix-vector", _node("MatMul", "x z"),
          _floats(x=(3072, 768), z=(768, 1))),
    _case("contraction", "few-features", _node("MatMul", "x w"), _floats(x=(2048, 96)),
          weights=_floats(w=(96, 10))),
    _case("contraction", "einsum", _node("Einsum", "x z", equation="bhid,bhjd->bhij"),
          _floats(x=(2, 12, 128, 64), z=(2, 12, 128, 64))),
    _case("convolution", "conv-3x3", _node("Conv", "x w", pads=[1, 1, 1, 1]), IMAGE,
          weights=_floats(w=(64, 64, 3, 3))),
    _case("convolution", "conv-depthwise", _node("Conv", "x w", pads=[1, 1, 1, 1], group=64), IMAGE,
          weights=_floats(w=(64, 1, 3, 3))),
    _case("convolution", "conv-depthwise-7x7", _node("Conv", "x w", pads=[3] * 4, group=64), IMAGE,
          weights=_floats(w=(64, 1, 7, 7))),
    _case("convolution", "conv-1d", _node("Conv", "x w", pads=[1, 1]), _floats(x=(1, 80, 3000)),
          weights=_floats(w=(384, 80, 3))),
    _case("convolution", "conv-grouped", _node("Conv", "x w", pads=[1] * 4, group=4), IMAGE,
          weights=_floats(w=(64, 16, 3, 3))),
    _case("convolution", "conv-transpose", _node("ConvTranspose", "x w", strides=[2, 2]), IMAGE,
          weights=_floats(w=(64, 32, 2, 2))),
    _case("convolution", "conv-transpose-1", _node("ConvTranspose", "x w", strides=[2, 2]),
          _floats(x=(1, 24, 184, 240)), weights=_floats(w=(24, 1, 2, 2)),
          note="alone, most of the time goes to making the image channels-last"),
    _case("convolution", "conv-transpose-4x4",
          _node("ConvTranspose", "x w", strides=[2, 2], pads=[1] * 4), IMAGE,
          weights=_floats(w=(64, 64, 4, 4))),
    _case("convolution", "conv-computed-weights", _node("Conv", "x w", pads=[1] * 4),
          _floats(x=(1, 64, 56, 56), w=(64, 64, 3, 3))),
    _case("pooling", "max-pool", _node("MaxPool", "x", kernel_shape=[3, 3], strides=[2, 2]), IMAGE),
    _case("pooling", "average-pool", _node("AveragePool", "x", kernel_shape=[3, 3], pads=[1] * 4),
          IMAGE),
    _case("pooling", "global-average-pool", _node("GlobalAveragePool", "x"), IMAGE),
    _case("vision", "resize-linear", _node("Resize", "x - s", mode="linear"), IMAGE,
          weights=_known(s=np.float32([1, 1, 2, 2]))),
    _case("vision", "resize-nearest", _node("Resize", "x - s", mode="nearest"), IMAGE,
          weights=_known(s=np.float32([1, 1, 2, 2]))),
    _case("vision", "resize-cubic", _node("Resize", "x - s", mode="cubic"), IMAGE,
          weights=_known(s=np.float32([1, 1, 1.5, 1.5]))),
    _case("vision", "grid-sample", _node("GridSample", "x g"),
          _floats(x=(1, 64, 56, 56), g=(1, 56, 56, 2))),
    _case("vision", "roi-align",
          _node("RoiAlign", "x r i", output_height=7, output_width=7, sampling_ratio=2),
          _both(IMAGE, _regions(100, 56), _integers(0, 1, i=(100,)))),
    _case("vision", "nms", _node("NonMaxSuppression", "r s m i t"),
          _both(_boxes(1000), _scores(1000)),
          weights=_known(m=np.int64([100]), i=np.float32([0.5]), t=np.float32([0.1])),
          output_type=INT64),
    _case("vision", "depth-to-space", _node("DepthToSpace", "x", blocksize=2), IMAGE),
    _case("attention", "attention", _node("Attention", "q k v"),
          _floats(q=(1, 12, 128, 64), k=(1, 12, 128, 64), v=(1, 12, 128, 64)), opset=23),
    _case("recurrent", "lstm", _node("LSTM", "x w r b", hidden_size=128), _floats(x=(64, 1, 128)),
          weights=_floats(0.1, w=(1, 512, 128), r=(1, 512, 128), b=(1, 1024))),
    _case("recurrent", "gru", _node("GRU", "x w r b", hidden_size=128), _floats(x=(64, 1, 128)),
          weights=_floats(0.1, w=(1, 384, 128), r=(1, 384, 128), b=(1, 768))),
    _case("quantization", "quantize", _node("QuantizeLinear", "x s z"), TOKENS,
          weights=_known(s=np.float32(0.05), z=np.int8(3)), output_type=onnx.TensorProto.INT8),
    _case("quantization", "matmul-integer", _node("MatMulInteger", "x w"),
          _integers(0, 255, np.uint8, x=(128, 768)),
          weights=_integers(-128, 127, np.int8, w=(768, 768)),
          output_type=onnx.TensorProto.INT32),
    _case("quantization", "matmul-integer-inputs", _node("MatMulInteger", "x z"),
          _both(_integers(0, 255, np.uint8, x=(128, 768)),
                _integers(-128, 127, np.int8, z=(768, 768))),
          output_type=onnx.TensorProto.INT32),
    _case("signal", "dft", _node("DFT", "x"), _floats(x=(16, 512, 1))),
)  # fmt: skip
