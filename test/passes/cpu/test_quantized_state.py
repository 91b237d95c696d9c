"""LSTMs that quantize their outputs between two steps, on each unit that multiplies integers."""

import numpy as np
import onnxruntime
import pytest
from int8_pipeline import require
from node_list import NodeList
from numerics import build_model, summable
from onnx import helper

import graphc
from graphc.compiler.driver import make_options, to_module
from graphc.cpu_model import CpuModel
from graphc.passes.graph_to_linalg import recurrent, recurrent_dispatch
from graphc.passes.pipelines import graph_pipeline
from graphc.runtime.targets import cpu_features
from harness.marks import long

BITS = {"none": 256, "avx2": 256, "avxvnni": 256, "avx512vnni": 512}
OWN = cpu_features.int8_unit("host")
none_or_own_unit = pytest.mark.parametrize(
    "unit", [unit if unit in ("none", OWN) else long(unit) for unit in BITS]
)
HIDDEN = 42  # neither whole groups nor whole panels
INPUTS = 5
STEPS = 9


def _some_large(weights):
    """A few weights whose products with u8 exceed 16 bits in pairs."""
    weights[:, :8, :64] = 127
    return weights


WEIGHTS = {
    "small": lambda weights: weights >> 1,
    "some": _some_large,
    "large": lambda weights: np.where(weights < 0, np.int8(-127), np.int8(127)),
}
"""Recurrences of i8, of which products are added in pairs, some of them are, or none."""


def _node(nodes, x, kind, directions=1, lengths="", each=False):
    """The output of a layer with a recurrence of a `kind`."""
    rng, wide = np.random.default_rng(directions), 4 * HIDDEN
    w, r = (
        rng.integers(-120, 120, (directions, size, wide)).astype(np.int8)
        for size in (INPUTS, HIDDEN)
    )
    shape = (directions, wide) if each else (directions,)
    scales = [rng.uniform(0.001, 0.002, shape).astype(np.float32) for _ in range(2)]
    zero = np.zeros(shape, np.int8)
    bias = rng.standard_normal((directions, 2 * wide)).astype(np.float32)
    given = [summable(w), WEIGHTS[kind](r), bias, scales[0], zero, scales[1], zero]
    w, r, bias, *quantization = (nodes.constant(each) for each in given)
    inputs = [x, w, r, bias, lengths, "", "", "", *quantization]
    return nodes.node(
        "DynamicQuantizeLSTM", inputs, domain="com.microsoft", hidden_size=HIDDEN,
        direction="bidirectional" if directions == 2 else "forward",
    )  # fmt: skip


def _model(layers):
    """A model on "one" [steps, 1, 5] and "many" [steps, sequences, 5], with lengths."""
    nodes = NodeList()
    outputs = [_node(nodes, x, *layer) for x, *layer in layers]
    used = {layer[0] for layer in layers}
    inputs = {"one": (np.float32, ["s", 1, INPUTS]), "many": (np.float32, ["s", "n", INPUTS])}
    inputs = {name: type_ for name, type_ in inputs.items() if name in used}
    if any("lengths" in layer for layer in layers):
        inputs["lengths"] = (np.int32, ["n"])
    model = build_model(nodes.nodes, inputs, outputs, nodes.constants)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


def _feeds(model):
    rng = np.random.default_rng(0)
    feeds = {
        "one": rng.standard_normal((STEPS, 1, INPUTS)).astype(np.float32),
        "many": rng.standard_normal((STEPS, 5, INPUTS)).astype(np.float32),
        "lengths": np.array([STEPS, 3, 0, 7, 1], np.int32),
    }
    return {each.name: feeds[each.name] for each in model.graph.input}


def _pipeline(unit):
    cpu = CpuModel(BITS[unit])
    return graph_pipeline("cpu", cpu, int8_unit=unit, threads=2)


def _compare(found, expected):
    """Equal up to the rounding of floats, which may move an integer of a state by one step."""
    for ours, truth in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, truth, atol=5e-4)
        assert np.isclose(ours, truth, atol=2e-6).mean() > 0.95


def _require(unit):
    if unit != "none":
        require(unit)


@none_or_own_unit
def test_one_sequence_as_onnxruntime(unit):
    _require(unit)
    model = _model([("one", "small"), ("one", "small", 2, "", True)])
    feeds = _feeds(model)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with graphc.compile(model, pipeline=_pipeline(unit), threads=2) as compiled:
        packed = compiled.report.rewrites["pack-nbits-recurrence"].count
        assert packed == (0 if unit == "none" else 3)
        _compare(compiled.run(None, feeds), session.run(None, feeds))


@pytest.mark.parametrize(
    ("unit", "shared"),
    [
        (unit, shared) if (unit, shared) in ((OWN, False), ("none", True)) else long(unit, shared)
        for unit in BITS
        for shared in (False, True)
    ],
)
def test_several_sequences(unit, shared, monkeypatch):
    """Each has its own range; threads share sequences, or the panels of each step."""
    _require(unit)
    monkeypatch.setattr(recurrent_dispatch, "TEAM_BYTES", 0 if shared else 1 << 30)
    model = _model([("many", kind, 1, "lengths") for kind in WEIGHTS] + [("many", "small", 2)])
    feeds = _feeds(model)
    expected = graphc.compile(model, "interpret", pipeline="canonicalize").run(None, feeds)
    with graphc.compile(model, pipeline=_pipeline(unit), threads=2) as compiled:
        if unit == "avx2":
            pairs = compiled.report.rewrites["byte-pairs"]
            assert len(pairs.declined) == 1  # the large ones
        _compare(compiled.run(None, feeds), expected)


def test_a_loop_of_steps(monkeypatch):
    """Where the recurrence is too large for the kernel."""
    monkeypatch.setattr(recurrent, "L3_SHARE", 0)
    model = _model([("many", "small", 2, "lengths")])
    feeds = _feeds(model)
    expected = graphc.compile(model, "interpret", pipeline="canonicalize").run(None, feeds)
    with graphc.compile(model, pipeline=_pipeline("none"), threads=2) as compiled:
        _compare(compiled.run(None, feeds), expected)


CPUS = {"haswell": "pmadd.ub.sw", "alderlake": "dpbusd.256", "icelake-server": "dpbusd.512"}
"""CPUs, and what multiplies integers on them."""


@pytest.mark.parametrize("cpu", [long(cpu) if cpu != "alderlake" else cpu for cpu in CPUS])
def test_strict_multiplies_integers(cpu, tmp_path):
    """Sums of integers are exact, and the weights those of the model; also in code for CPUs that
    this one is not."""
    model = _model([("one", "small")])
    options = make_options(f"cpu:{cpu}", precision="strict", cache=False, save_temps=tmp_path)
    _, report = to_module(model, options)
    assert report.rewrites["pack-nbits-recurrence"].count == 1
    (program,) = tmp_path.glob("*.linalg.mlir")
    assert CPUS[cpu] in program.read_text()


def test_nothing_to_do():
    model = _model([("many", "small", 2)])
    with graphc.compile(model, threads=2) as compiled:
        for steps, sequences in ((0, 3), (3, 0)):
            x = np.zeros((steps, sequences, INPUTS), np.float32)
            (y,) = compiled.run(None, {"many": x})
            assert y.shape == (steps, 2, sequences, HIDDEN)
