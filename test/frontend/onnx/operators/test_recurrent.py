"""RNN, GRU and LSTM against ONNX Runtime."""

import numpy as np
import pytest
from numerics import Cases, Feed, compare, const, evaluate

import graphc
from graphc.errors import InvalidModelError
from graphc.frontend.onnx import import_onnx
from graphc.passes.cpu import recurrent as pack_recurrence
from graphc.passes.graph_to_linalg import recurrent, recurrent_dispatch
from harness.marks import long

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
RNG = np.random.default_rng(3)


def floats(*shape):
    return RNG.uniform(-0.8, 0.8, shape).astype(np.float32)


def layer(gates, directions=1, dims=None, states=1, bias=True, lengths=None, constant=True):
    """The inputs of a node up to the initial states."""
    held = const if constant else np.asarray
    x = floats(STEPS, BATCH, INPUTS)
    return [
        x if dims is None else Feed(x, dims),
        held(floats(directions, gates * HIDDEN, INPUTS)),
        held(floats(directions, gates * HIDDEN, HIDDEN)),
        held(floats(directions, 2 * gates * HIDDEN)) if bias else None,
        None if lengths is None else np.array(lengths, np.int32),
        *(floats(directions, BATCH, HIDDEN) for _ in range(states)),
    ]


def test_rnn():
    cases = Cases()
    attrs = {"hidden_size": HIDDEN, "outputs": 2}
    cases.add("RNN", *layer(1, bias=False, states=0), **attrs)
    cases.add("RNN", *layer(1, dims=["t", "n", INPUTS]), direction="reverse", **attrs)
    cases.add("RNN", *layer(1, 2, lengths=[5, 2, 1]), direction="bidirectional", **attrs)
    cases.add("RNN", *layer(1, constant=False), clip=0.3, activations=["Relu"], **attrs)
    cases.compare_with_onnxruntime()


ACTIVATIONS = {
    "Affine": ([0.7], [0.1]),
    "Elu": ([1.3], []),
    "HardSigmoid": ([0.3], [0.4]),
    "LeakyRelu": ([0.2], []),
    "Relu": ([], []),
    "ScaledTanh": ([1.4], [0.6]),
    "Sigmoid": ([], []),
    "Softplus": ([], []),
    "Softsign": ([], []),
    "Tanh": ([], []),
    "ThresholdedRelu": ([0.1], []),
}


def test_activations():
    cases = Cases()
    for name, (alpha, beta) in ACTIVATIONS.items():
        cases.add(
            "RNN", *layer(1), hidden_size=HIDDEN, outputs=2, activations=[name], tolerance=1e-5,
            **({"activation_alpha": alpha} if alpha else {}),
            **({"activation_beta": beta} if beta else {}),
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_gru():
    cases = Cases()
    attrs = {"hidden_size": HIDDEN, "outputs": 2}
    both = {"direction": "bidirectional", **attrs}
    for after in (0, 1):
        cases.add("GRU", *layer(3, bias=False, states=0), linear_before_reset=after, **attrs)
        lengths = [4, 5, 1]
        cases.add("GRU", *layer(3, 2, lengths=lengths), linear_before_reset=after, **both)
        inputs = layer(3, dims=["t", "n", INPUTS], constant=False)
        cases.add(
            "GRU", *inputs, linear_before_reset=after, clip=0.4, direction="reverse",
            activations=["HardSigmoid", "Softsign"], activation_alpha=[0.3],
            activation_beta=[0.45], **attrs,
        )  # fmt: skip
    cases.compare_with_onnxruntime()


def test_lstm():
    cases = Cases()
    attrs = {"hidden_size": HIDDEN, "outputs": 3}
    holes = floats(1, 3 * HIDDEN)
    cases.add("LSTM", *layer(4, bias=False, states=0), **attrs)
    cases.add("LSTM", *layer(4, states=2), const(holes), direction="reverse", **attrs)
    inputs = layer(4, 2, states=2, lengths=[1, 5, 3], dims=["t", "n", INPUTS])
    cases.add(
        "LSTM", *inputs, floats(2, 3 * HIDDEN), direction="bidirectional",
        activations=["Sigmoid", "Tanh", "ScaledTanh", "HardSigmoid", "Elu", "Tanh"],
        activation_alpha=[1.2, 0.3, 0.9], activation_beta=[0.7, 0.4], **attrs,
    )  # fmt: skip
    cases.add("LSTM", *layer(4, states=2, constant=False), clip=0.5, **attrs)
    cases.add("LSTM", *layer(4, states=2), const(holes), input_forget=1, **attrs)
    cases.compare_with_onnxruntime()


@pytest.mark.parametrize(("op_type", "gates", "states"), [("GRU", 3, 1), ("LSTM", 4, 2)])
def test_a_batch_may_come_first(op_type, gates, states):
    """The same numbers, other axes."""
    x, *weights = layer(gates, 2, states=0)
    initial = [floats(2, BATCH, HIDDEN) for _ in range(states)]
    attrs = {"hidden_size": HIDDEN, "direction": "bidirectional", "outputs": 1 + states}
    cases, first = Cases(), Cases()
    cases.add(op_type, x, *weights, *initial, **attrs)
    moved = [state.transpose(1, 0, 2) for state in initial]
    first.add(op_type, x.transpose(1, 0, 2), *weights, *moved, layout=1, **attrs)
    y, *last = evaluate(cases.model(), cases.feeds)
    expected = [y.transpose(2, 0, 1, 3), *(state.transpose(1, 0, 2) for state in last)]
    compare(evaluate(first.model(), first.feeds), expected, first.outputs)


def test_halves_and_doubles():
    cases = Cases()
    for dtype, tolerance in ((np.float16, 4e-3), (np.float64, 1e-6)):
        inputs = [None if x is None else getattr(x, "array", x) for x in layer(4, states=2)]
        inputs = [x if x is None else x.astype(dtype) for x in inputs]
        cases.add("LSTM", *inputs, hidden_size=HIDDEN, outputs=3, tolerance=tolerance)
    cases.compare_evaluation()
    cases.compare_compiled_with_evaluation()


def test_what_does_not_fit_is_refused():
    refusals = {
        "3 activations": {"activations": ["Tanh"] * 3},
        "activations Sine": {"activations": ["Sine"]},
        "direction 'up'": {"direction": "up"},
        "2 directions": {"direction": "bidirectional"},
    }
    for message, attrs in refusals.items():
        cases = Cases()
        cases.add("RNN", *layer(1), hidden_size=HIDDEN, outputs=2, **attrs)
        with pytest.raises(InvalidModelError, match=message):
            import_onnx(cases.model())


KINDS = pytest.mark.parametrize(
    ("op_type", "gates", "states"), [("RNN", 1, 1), ("GRU", 3, 1), ("LSTM", 4, 2)]
)
FEW_KINDS = pytest.mark.parametrize(
    ("op_type", "gates", "states"), [("RNN", 1, 1), long("GRU", 3, 1), ("LSTM", 4, 2)]
)


def layers(op_type, gates, states, sizes, cases=None):
    """Layers without known sizes in time and batch, backwards."""
    cases = cases or Cases()
    for steps, batch, hidden in sizes:
        for form in (0, 1) if op_type == "GRU" else (None,):
            attrs = {} if form is None else {"linear_before_reset": form}
            cases.add(
                op_type,
                Feed(floats(steps, batch, 3), ["t", "n", 3]),
                const(floats(1, gates * hidden, 3)),
                const(floats(1, gates * hidden, hidden) / np.float32(np.sqrt(hidden))),
                const(floats(1, 2 * gates * hidden)),
                None,
                *(floats(1, batch, hidden) for _ in range(states)),
                hidden_size=hidden, outputs=1 + states, direction="reverse", **attrs,
            )  # fmt: skip
    return cases


SOME = {"RNN": slice(0, None, 2), "GRU": slice(1, None, 2), "LSTM": slice(None)}
"""Which of several sizes are those of a kind: a kernel has as many gates as the kind, and else the
same code."""


@FEW_KINDS
def test_sizes_around_the_width_of_vectors(op_type, gates, states):
    """Batches, too, that fill the rows of the kernel and that do not."""
    sizes = [(3, 1, 1), (4, 2, 15), (2, 3, 16), (3, 5, 17), (2, 4, 33), (2, 1, 70)]
    layers(op_type, gates, states, sizes[SOME[op_type]]).compare_with_onnxruntime()


@pytest.fixture
def packed(monkeypatch):
    """However small a recurrence is, it is laid out in panels, and threads share it."""
    monkeypatch.setattr(pack_recurrence, "MIN_SHARE", 0)
    monkeypatch.setattr(recurrent_dispatch, "TEAM_BYTES", 0)


def all_layers(sizes):
    """For each kind, layers with unknown time and batch sizes, and a bidirectional layer with three
    lengths."""
    cases = Cases()
    for op_type, gates, states in (("RNN", 1, 1), ("GRU", 3, 1), ("LSTM", 4, 2)):
        layers(op_type, gates, states, sizes[SOME[op_type]] or sizes, cases)
        for form in (0, 1) if op_type == "GRU" else (None,):
            attrs = {} if form is None else {"linear_before_reset": form}
            both = layer(gates, 2, lengths=[5, 2, 1], states=states)
            attrs.update(hidden_size=HIDDEN, outputs=1 + states)
            cases.add(op_type, *both, direction="bidirectional", **attrs)
    return cases


@pytest.mark.parametrize(
    "sizes", [[(4, 9, 96), (0, 3, 70)], long([(5, 5, 33), (9, 1, 260)])], ids=str
)
def test_recurrences_in_panels(sizes, packed):
    """The panels fill the registers or not. Threads share them; there may be more panels than
    cores."""
    cases = all_layers(sizes)
    with graphc.compile(cases.model(), threads=3) as compiled:
        half = len(sizes) // 2
        expected = half + 2 * half + len(sizes) + 8  # RNN, both forms of GRU, LSTM, two directions
        assert compiled.report.rewrites["pack-recurrence"].count == expected
        results = compiled.run(None, cases.feeds)
    compare(results, evaluate(cases.model(), cases.feeds), cases.outputs)


def test_one_thread_does_the_work_of_a_team(packed, tmp_path):
    """The others that the program was compiled for need not be there."""
    cases = all_layers([(7, 1, 130)])
    with graphc.compile(cases.model(), threads=2) as compiled:
        compiled.save(tmp_path / "team.vmfb")
    with graphc.load(tmp_path / "team.vmfb", threads=1) as alone:
        results = alone.run(None, cases.feeds)
    compare(results, evaluate(cases.model(), cases.feeds), cases.outputs)


@KINDS
def test_no_steps_and_no_sequences(op_type, gates, states):
    """The last states are the initial ones then; ONNX Runtime 1.31 aborts, or says 0."""
    sizes = [(0, 2, 5), (3, 0, 5)]
    layers(op_type, gates, states, sizes).compare_compiled_with_evaluation()


@FEW_KINDS
def test_recurrences_too_large_for_a_cache_are_a_loop(op_type, gates, states, monkeypatch):
    monkeypatch.setattr(recurrent, "L3_SHARE", 0)
    cases = Cases()
    attrs = {"hidden_size": HIDDEN, "outputs": 1 + states}
    both = layer(gates, 2, lengths=[5, 2, 1], states=states)
    cases.add(op_type, *both, direction="bidirectional", **attrs)
    cases.add(op_type, *layer(gates, dims=["t", "n", INPUTS]), **attrs)
    if op_type == "GRU":
        cases.add(op_type, *layer(gates), linear_before_reset=1, **attrs)
    cases.compare_with_onnxruntime()
