"""Mixtures of experts by the kernels that multiply the rows of each expert alone."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphc
from harness.marks import long

DOMAIN = "com.microsoft"
SELECTED = "pack-mixture"
RNG = np.random.default_rng(0)


def _floats(*shape, scale=0.1):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


def _plain(experts, rows, columns, inside):
    """Weights and biases by number of the input of MoE."""
    return {
        2: _floats(experts, inside, columns), 3: _floats(experts, inside),
        4: _floats(experts, columns, rows), 5: _floats(experts, columns),
    }  # fmt: skip


def _quantized(experts, rows, columns, inside, bits, block, zeros):
    """The same for QMoE, whose scales lie between; without `block`, rows have one scale each."""
    arrays = {}
    for at, zero_at, width, k in ((2, 11, inside, columns), (5, 12, columns, rows)):
        scales = (experts, width, k // block) if block else (experts, width)
        arrays[at] = RNG.integers(0, 256, (experts, width, k * bits // 8), np.uint8)
        arrays[at + 1] = RNG.uniform(0.005, 0.01, scales).astype(np.float32)
        arrays[at + 2] = _floats(experts, width)
        if zeros:
            shape = (experts, width, -(-scales[-1] * bits // 8))
            arrays[zero_at] = RNG.integers(0, 256, shape, np.uint8)
    return arrays


def _model(layers, tokens, columns, experts, op="MoE", **attributes):
    """Layers of a router and a mixture each, whose result is added to its input."""
    nodes, constants, x = [], [], "x"
    for number, arrays in enumerate(layers):
        router = numpy_helper.from_array(_floats(columns, experts, scale=1), f"router{number}")
        names = {at: f"w{number}_{at}" for at in arrays}
        constants += [router, *(numpy_helper.from_array(arrays[at], names[at]) for at in arrays)]
        inputs = [x, f"p{number}", *(names.get(at, "") for at in range(2, 1 + max(arrays)))]
        nodes += [
            helper.make_node("MatMul", [x, router.name], [f"p{number}"]),
            helper.make_node(op, inputs, [f"m{number}"], domain=DOMAIN, **attributes),
            helper.make_node("Add", [x, f"m{number}"], [f"y{number}"]),
        ]
        x = f"y{number}"
    ends = [
        helper.make_tensor_value_info(n, TensorProto.FLOAT, [tokens, columns]) for n in ("x", x)
    ]
    graph = helper.make_graph(nodes, "mixtures", ends[:1], ends[1:], constants)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid(DOMAIN, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _check(model, sizes, columns, count, threads=2, tolerance=1e-4, **options):
    session = ort.InferenceSession(model.SerializeToString())
    with graphc.compile(model, threads=threads, **options) as compiled:
        assert compiled.report.statistics(SELECTED).count == count
        for size in sizes:
            feed = {"x": _floats(size, columns, scale=1)}
            (expected,) = session.run(None, feed)
            (found,) = compiled.run(None, feed)
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


SWIGLU = {
    "activation_type": "swiglu", "swiglu_fusion": 1, "swiglu_limit": 0.5,
    "activation_alpha": 1.702, "activation_beta": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("k", "attributes"),
    [
        long(1, {"activation_type": "gelu"}),
        long(2, {"activation_type": "relu"}),
        (3, {"activation_type": "silu", "normalize_routing_weights": 1}),
        (4, SWIGLU),
    ],
)
def test_named_numbers_of_tokens(k, attributes):
    """Columns that fill no panel, experts without rows, and all that there are."""
    fused = 2 if "swiglu_fusion" in attributes else 1
    layers = [_plain(4, 40, 72, 40 * fused) for _ in range(2)]
    model = _model(layers, "n", 72, 4, k=k, **attributes)
    _check(model, (1, 2, 64, 7, 3, 200), 72, 2)


@pytest.mark.parametrize(
    ("bits", "block", "zeros", "attributes"),
    [
        long(4, 32, False, {"activation_type": "silu"}),
        (4, 32, True, {"normalize_routing_weights": 1}),
        (8, 0, False, SWIGLU),
    ],
)
def test_weights_of_few_bits(bits, block, zeros, attributes):
    fused = 2 if "swiglu_fusion" in attributes else 1
    layers = [_quantized(4, 64, 64, 64 * fused, bits, block, zeros) for _ in range(2)]
    form = {"k": 2, "expert_weight_bits": bits, **attributes}
    form |= {"block_size": block} if block else {}
    model = _model(layers, "n", 64, 4, op="QMoE", **form)
    _check(model, (1, 5, 70, 2), 64, 2, tolerance=2e-3)


def test_one_token_and_many_rows_of_an_expert():
    """Rows of fixed number, of which an expert has more than a block."""
    one = [_plain(8, 32, 32, 32)]
    _check(_model(one, 1, 32, 8, k=2), (1, 1), 32, 1)
    many = _model([_plain(2, 16, 16, 16)], 9000, 16, 2, k=1)
    _check(many, (9000,), 16, 1)


def test_experts_without_biases_and_third_layers():
    model = _model([_plain(4, 32, 32, 32)], 6, 32, 4, k=2, activation_type="silu")
    (node,) = (each for each in model.graph.node if each.op_type == "MoE")
    node.input[3] = ""
    _check(model, (6,), 32, 1)


def test_others_are_expanded():
    """Weights that the caller gives, too few columns, and K of no whole vector."""
    few = _model([_plain(4, 8, 8, 8)], "n", 8, 4, k=2)
    _check(few, (5, 3), 8, 0)
    given = _model([_plain(4, 32, 32, 32)], 6, 32, 4, k=2)
    (weights,) = (each for each in given.graph.initializer if each.name == "w0_2")
    array = numpy_helper.to_array(weights)
    given.graph.initializer.remove(weights)
    given.graph.input.append(helper.make_tensor_value_info("w0_2", TensorProto.FLOAT, array.shape))
    session = ort.InferenceSession(given.SerializeToString())
    with graphc.compile(given, threads=1) as compiled:
        assert compiled.report.statistics(SELECTED).count == 0
        feeds = {"x": _floats(6, 32, scale=1), "w0_2": array}
        (expected,), (found,) = session.run(None, feeds), compiled.run(None, feeds)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
