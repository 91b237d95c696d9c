"""Kernels and values of layers that are equal but for their scalars."""

import re

import ml_dtypes
import numpy as np
import pytest
from node_list import NodeList
from numerics import Const, build_model
from onnx import TensorProto, helper

import graphc
from graphc.mlir import ir
from graphc.passes.infra.pipeline import run_pipeline

WIDTH = 24
DTYPES = [
    *map(np.dtype, ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64")),
    np.dtype(ml_dtypes.bfloat16),
]


def _layers(net, x, layers, dtype):
    """Scale, shift and clip rows, each time by other numbers; return their sums and the last."""
    sums = []
    for layer in range(layers):
        scale, shift, low, high = (
            net.constant(np.array(each, dtype))
            for each in (layer + 2, 3 * layer, layer, 50 + layer)
        )
        y = net.node("Add", [net.node("Mul", [x, scale]), shift])
        y = net.node("Min", [net.node("Max", [y, low]), high])
        rows = net.node("Cast", [y], to=1)
        sums.append(net.node("ReduceSum", [rows, net.constant(np.array([1]))]))
        x = net.node("Transpose", [y], perm=[0, 2, 1])
    return [*sums, x]


def _model(layers, dtypes):
    net = NodeList()
    outputs = [y for dtype in dtypes for y in _layers(net, f"x_{dtype}", layers, dtype)]
    inputs = {f"x_{dtype}": (dtype, ["n", WIDTH, WIDTH]) for dtype in dtypes}
    constants = {name: Const(array) for name, array in net.constants.items()}
    return build_model(net.nodes, inputs, outputs, constants)


def _kernels(model, folder):
    folder.mkdir()
    graphc.compile(model, save_temps=folder)
    return set(re.findall(rb"main_dispatch_\d+_", (folder / "module.vmfb").read_bytes()))


def test_each_layer_has_the_same_kernels(tmp_path):
    few, many = (
        _kernels(_model(layers, [np.dtype("float32")]), tmp_path / f"{layers}") for layers in (3, 9)
    )
    assert len(few) == len(many) < 6


def test_each_class_has_the_same_kernels(tmp_path):
    """The numbers of classes, each for as many elements as exceed a threshold, in a row."""

    def model(classes):
        net = NodeList()
        parts = list[str]()
        for number in range(classes):
            limit = net.constant(np.float32(number / 10))
            kept = net.node("Compress", ["x", net.node("Greater", ["x", limit])], axis=0)
            value = helper.make_tensor("value", TensorProto.INT64, [1], [number])
            parts.append(net.node("ConstantOfShape", [net.node("Shape", [kept])], value=value))
        constants = {name: Const(array) for name, array in net.constants.items()}
        inputs = {"x": (np.float32, ["n"])}
        return build_model(net.nodes, inputs, [net.node("Concat", parts, axis=0)], constants)

    assert len(_kernels(model(40), tmp_path / "kernels")) < 6


def test_values():
    """The runtime hands over numbers of all widths."""
    model = _model(3, DTYPES)
    x = np.random.default_rng(0).integers(0, 5, (2, WIDTH, WIDTH))
    feeds = {f"x_{dtype}": x.astype(dtype) for dtype in DTYPES}
    expected = graphc.compile(model, target="interpret").run(None, feeds)
    for actual, wanted in zip(graphc.compile(model).run(None, feeds), expected, strict=True):
        np.testing.assert_array_equal(actual, wanted)


def _chain(length, reads):
    """Additions of different numbers, which the backend fuses, to what is read several times."""
    lines, x = ["#id = affine_map<(d0) -> (d0)>"], "%x"
    lines += ["func.func @main(%x: tensor<9xf32>) -> tensor<9xf32> {"]
    lines += ["%e = tensor.empty() : tensor<9xf32>"]
    for n in range(length):
        lines += [
            f"%c{n} = arith.constant {n + 0.5} : f32",
            f"%y{n} = linalg.generic {{indexing_maps = [{', '.join(['#id'] * (reads + 1))}],"
            f" iterator_types = ['parallel']}} ins({', '.join([x] * reads)} : "
            f"{', '.join(['tensor<9xf32>'] * reads)}) outs(%e : tensor<9xf32>) {{",
            f"^bb0(%a: f32, {'%b: f32, ' * (reads - 1)}%out: f32):",
            f"%s = arith.addf %a, %c{n} : f32",
            "linalg.yield %s : f32 } -> tensor<9xf32>",
        ]
        x = f"%y{n}"
    return "\n".join([*lines, f"return {x} : tensor<9xf32> }}"]).replace("'", '"')


@pytest.mark.parametrize("reads", [1, 2])
@pytest.mark.parametrize(("length", "hidden"), [(40, 40), (50, 0)])
def test_a_dispatch_takes_no_more_than_the_runtime_hands_over(context, length, hidden, reads):
    """64 words, beside those of two tensors and of eight sizes."""
    module = ir.Module.parse(_chain(length, reads))
    run_pipeline(module, "linalg-varying-scalars")
    assert str(module).count('"util.optimization_barrier"') == hidden
